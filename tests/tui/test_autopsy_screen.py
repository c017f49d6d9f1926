"""The autopsy on the screen: opened by a key or by its sentence, looked through, explained by another process."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.widgets import Input

from playbooks.engine.session import Session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import load, loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.timetravel.history_view import ReopenedSession
from tests.playbooks.diagnosis.test_point_of_no_return import TAIL
from tests.tui.driving import Driver, driving, trimmed
from tui import launcher
from tui.app import FloodmarkApp
from tui.screen_choice import ScreenChoice
from tui.screens.autopsy import AutopsyScreen
from tui.session import background_tasks
from tui.session.background_tasks import Explanation, explain
from tui.session.session_controller import SessionController
from tui.settings.schema import Settings
from tui.terminal import glyphs
from tui.terminal.frame_clock import StepClock
from tui.viewmodel import finding_page

pytestmark = pytest.mark.slow

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
SECOND = 1_000_000
LOST_US = 45 * SECOND
"""By then the old leader of the tail is back, and has cut its log."""


FAR = TAIL.replace("brokers: 3}", "brokers: 3, network: {latency: 30ms}}")
"""With several batches under way as the leader dies: what it lost is one finding, their order another."""


def tail(recorder=None):
    return Session.start(loads(FAR, "tail.yaml"), recorder=recorder, open_ended=True)


def run_to(driver, at_us):
    """Without frames: the wall clock of a hundred of them is not what is looked at."""
    driver.session_controller.session.advance(at_us)
    driver.session_controller.refresh_view()


@asynccontextmanager
async def opened(session, at_us=LOST_US, size=(120, 40), **more):
    async with driving(size, session=session, **more) as driver:
        driver.app.recorder = getattr(session, "recorder", None)
        run_to(driver, at_us)
        await driver.press("n")
        yield driver


def looked_at(driver):
    """Number, how many there are, and kind of the finding on the page, which says so."""
    case = driver.app.screen.case
    assert f" {finding_page.title(case)} " in driver.text()
    return case.number, case.total, case.finding.kind


def saved(driver):
    """What the page says of what would have saved the records."""
    told = [text for text, _role in driver.app.screen._saved]
    assert all(text[:40] in driver.text() for text in told)
    return told


async def test_there_is_none_yet_and_it_says_so(snapshot):
    async with opened(tail(), SECOND) as driver:
        assert not isinstance(driver.app.screen, AutopsyScreen)
        assert driver.toasts() == snapshot


async def test_missing_records_are_reported_as_missing():
    async with opened(tail(), 15 * SECOND) as driver:
        finding = driver.app.screen.case.finding
        assert (finding.kind, finding.count, finding.partitions) == ("missing", 26, ("orders-0",))
        assert finding_page.headline(finding)[0] in driver.text()
        assert "session ended" not in driver.text()
        assert "★ b2 leader" in driver.text()


async def test_a_zombie_has_its_records_only_once_it_wrote_them():
    zombie = Session.start(load(path_of("zombie-leader")), open_ended=True)
    async with opened(zombie, round(31.5 * SECOND)) as driver:
        drawn = [(each.at_us // SECOND, {one.holds for one in each.replicas}) for each in driver.app.screen.case.frames]
    nothing = {""}
    written, cut = {finding_page.HAS, finding_page.NEVER}, {finding_page.GONE, finding_page.NEVER}
    assert drawn == [(10, nothing), (18, nothing), (18, nothing), (30, written), (30, cut)]


@pytest.fixture(scope="module")
def library_loss():
    """Fifty seconds of a playbook of the library: looked at only, never moved."""
    session_controller = SessionController(
        Session.start(load(path_of("acks-1-lost-tail")), open_ended=True), StepClock()
    )
    session_controller.session.advance(50 * SECOND)
    session_controller.refresh_view()
    return session_controller


@pytest.mark.parametrize("appearance", ["", "ascii", "no-color"])
async def test_the_page(appearance, library_loss, golden, monkeypatch):
    if appearance == "no-color":
        monkeypatch.setenv("NO_COLOR", "1")
    set_of_glyphs = "ascii" if appearance == "ascii" else "unicode"
    app = FloodmarkApp(library_loss, playbook="acks-1-lost-tail", seed=7, glyphs=set_of_glyphs)
    async with app.run_test(size=SIZES["120x40"]) as pilot:
        await pilot.pause()
        driver = Driver(pilot, app, library_loss.clock)
        await driver.press("n", "right")
        async for name in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"autopsy-{'ascii-' if appearance == 'ascii' else ''}{name}")
        if appearance == "no-color":
            styles = [segment.style for line in driver.app.screen._compositor.render_strips() for segment in line]
            assert not any(each and each.color and not each.color.is_default for each in styles)


async def test_frames_are_gone_through_and_the_page_scrolled(snapshot):
    async with opened(tail(), size=(80, 24)) as driver:
        page = driver.app.screen
        headline = finding_page.headline(page.case.finding)[0]
        assert "1 of 4" in driver.text()
        await driver.press("left")
        assert "1 of 4" in driver.text()
        await driver.press(*["right"] * 9)
        assert "4 of 4" in driver.text()
        frame = page.case.frames[page.at]
        assert page.at == 3
        assert frame.title in driver.text()
        assert frame.title == snapshot
        assert f"{glyphs.MINUS} {finding_page.GONE}" in driver.text()
        assert "Event chain" not in driver.text()
        await driver.press(*["pagedown"] * 9)
        assert "Event chain" in driver.text()
        assert headline not in driver.text()
        await driver.press("up", "down", *["pageup"] * 9)
        assert headline in driver.text()
        assert headline == snapshot


async def test_one_finding_after_the_other_from_the_page_and_from_the_main_screen():
    async with opened(tail()) as driver:
        assert looked_at(driver) == (1, 2, "lost")
        await driver.press("n")
        assert looked_at(driver) == (2, 2, "reordered")
        await driver.press("n")
        assert looked_at(driver) == (1, 2, "lost")
        await driver.press("N", "escape")
        assert not isinstance(driver.app.screen, AutopsyScreen)
        await driver.press("N")
        assert looked_at(driver) == (1, 2, "lost")
        await driver.press("escape", "n")
        assert looked_at(driver) == (2, 2, "reordered")


async def test_backwards_begins_with_the_last():
    async with opened(tail(), SECOND) as driver:
        run_to(driver, LOST_US)
        await driver.press("N")
        assert looked_at(driver) == (2, 2, "reordered")


async def test_an_autopsy_stays_as_opened_until_another_finding_is_selected(snapshot):
    async with opened(tail(), 15 * SECOND) as driver:
        run_to(driver, LOST_US)
        assert looked_at(driver) == (1, 2, "missing")
        assert driver.app.screen.case.now_us == 15 * SECOND
        await driver.press("n", "n")
        assert looked_at(driver) == (1, 2, "lost")
        assert driver.app.screen.case.now_us == LOST_US
        assert finding_page.title(driver.app.screen.case) == snapshot


async def test_another_size_shows_as_many_frames_as_fit():
    async with opened(tail(), size=(120, 40)) as driver:
        assert all(f"╭─ {number} " in driver.text() for number in (1, 2, 3, 4))
        await driver.pilot.resize_terminal(80, 24)
        await driver.settle()
        assert "╭─ 3 " in driver.text()
        assert "╭─ 4 " not in driver.text()


async def test_the_sentence_is_copied(snapshot):
    async with opened(tail()) as driver:
        await driver.press("y")
        assert driver.app.clipboard == driver.app.screen.case.finding.sentence
        assert [driver.app.clipboard, *driver.toasts()] == snapshot


async def test_the_session_is_exported_from_the_page(tmp_path, snapshot):
    async with opened(tail(Recorder(tmp_path, live=True)), 4 * SECOND) as driver:
        run_to(driver, 15 * SECOND)
        await driver.press("n", "e")
        assert driver.toasts()[-1] == snapshot
        driver.app.workers.cancel_all()


async def test_the_palette_finds_it_by_its_sentence():
    async with opened(tail(), SECOND) as driver:
        run_to(driver, LOST_US)
        await driver.press("ctrl+p")
        driver.app.screen.query_one(Input).value = "clean election"  # typed, each of its letters is a search
        await driver.until(lambda: "autopsy lost" in driver.text())
        assert "[1, 2, 3]" in driver.text() or "ISR" in driver.text() or "26 acknowledged" in driver.text()
        await driver.press("enter")
        await driver.until(lambda: isinstance(driver.app.screen, AutopsyScreen))
        await driver.settle()
        assert looked_at(driver) == (1, 2, "lost")


async def test_a_recording_is_looked_at_in_the_same_way(tmp_path, snapshot):
    session = tail(Recorder(tmp_path, live=True))
    session.advance(32 * SECOND)
    path = Path(session.finish().session)
    clock = StepClock()
    app = launcher.recording_app(
        ReopenedSession(read_session(path)), ScreenChoice("unicode", "dark", 1.0, Settings()), clock=clock
    )
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        driver = Driver(pilot, app, clock)
        await driver.press("n")
        assert not isinstance(app.screen, AutopsyScreen)
        run_to(driver, 32 * SECOND)
        await driver.press("n")
        assert looked_at(driver)[2] == "lost"
        assert finding_page.headline(app.screen.case.finding)[0] in driver.text()
        assert [*driver.toasts(), *saved(driver)] == snapshot


# -- what would have saved it ----------------------------------------------------------------------------------------


async def test_unrecorded_sessions_cannot_be_explained(snapshot):
    async with opened(tail()) as driver:
        assert saved(driver) == snapshot
        await driver.press("s")
        assert not driver.app.screen.busy


FOUND = {
    "remedies": [
        {
            "change": "acks=all", "set": [], "because": "", "verdict": "saves", "before": 24, "after": 0,
            "rejected": 3, "unavailable_us": 0, "note": "", "seeds_kept": 5, "seeds": 5,
        }
    ],
    "no_return": None,
}  # fmt: skip


async def test_remedies_are_listed_with_their_cost(tmp_path, monkeypatch, snapshot):
    asked, go = [], asyncio.Event()

    async def answer(number, path, at_us, recorder, tell):
        asked.append((number, path, at_us, recorder))
        tell("9 runs over")
        await go.wait()
        return Explanation(FOUND)

    monkeypatch.setattr("tui.screens.autopsy.explain", answer)
    session = tail(Recorder(tmp_path, live=True))
    async with opened(session, 15 * SECOND) as driver:
        run_to(driver, 16 * SECOND)
        await driver.press("s", "s")
        assert asked == [(1, session.recorder.path, 15 * SECOND, session.recorder)]
        meanwhile = saved(driver)
        assert "9 runs over" in meanwhile
        go.set()
        await driver.until(lambda: driver.app.screen.answered)
        await driver.settle()
        assert [*meanwhile, *saved(driver)] == snapshot
        assert "9 runs over" not in driver.text()


async def test_a_refusal_is_reported_on_the_page(tmp_path, monkeypatch):
    async def answer(*_asked):
        return Explanation(None, "error: another digest")

    monkeypatch.setattr("tui.screens.autopsy.explain", answer)
    async with opened(tail(Recorder(tmp_path, live=True)), 15 * SECOND) as driver:
        await driver.press("s")
        await driver.until(lambda: "error: another digest" in driver.text())
        assert "error: another digest" in driver.text()


@pytest.mark.parametrize("key", ["escape", "n"])
async def test_escape_and_another_finding_stop_asking(tmp_path, monkeypatch, key, snapshot):
    begun, stopped = [], []

    async def answer(number, *_asked):
        begun.append(number)
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            stopped.append(number)
            raise

    monkeypatch.setattr("tui.screens.autopsy.explain", answer)
    async with opened(tail(Recorder(tmp_path, live=True)), 15 * SECOND) as driver:
        await driver.press("s")
        await driver.until(lambda: begun)
        await driver.press(key)
        await driver.until(lambda: stopped == [1])
        assert isinstance(driver.app.screen, AutopsyScreen)
        assert saved(driver) == snapshot
        await driver.press("escape")
        assert not isinstance(driver.app.screen, AutopsyScreen)


async def test_another_process_explains_a_running_session(tmp_path, monkeypatch):
    monkeypatch.setattr(background_tasks, "SEEDS", 1)
    session = tail(Recorder(tmp_path, live=True))
    session.advance(15 * SECOND)
    found = (await explain(2, session.recorder.path, 15 * SECOND, session.recorder, lambda told: None)).document
    assert found is not None
    assert (found["kind"], found["number"]) == ("reordered", 2)
    assert "saves" in {each["verdict"] for each in found["remedies"]}


async def test_a_process_that_refuses_says_why(tmp_path, snapshot):
    session = tail(Recorder(tmp_path, live=True))
    session.advance(2 * SECOND)
    told = await explain(1, session.recorder.path, 2 * SECOND, session.recorder, lambda text: None)
    assert told.document is None
    assert told.refusal.replace(str(tmp_path), "<tmp>") == snapshot


# -- pausing by itself -----------------------------------------------------------------------------------------------


async def test_it_pauses_where_the_next_acknowledged_record_goes_missing(snapshot):
    async with driving(session=tail(), speed=1000.0) as driver:
        await driver.press("A")
        assert driver.session_controller.stops_at_loss
        begun = driver.toasts()
        for _ in range(200):
            await driver.frames(1)
            if driver.session_controller.paused:
                break
        assert driver.session_controller.paused
        assert driver.session_controller.view.ledger.missing == 26
        assert driver.session_controller.chronicle.losses == 1
        assert [*begun, driver.toasts()[-1]] == snapshot
        assert not driver.session_controller.stops_at_loss
        await driver.press("n")
        assert looked_at(driver)[2] == "missing"


async def test_a_loss_does_not_pause_the_session_by_default(snapshot):
    async with driving(session=tail(), speed=1000.0) as driver:
        await driver.press("A", "A")
        assert not driver.session_controller.stops_at_loss
        assert driver.toasts()[-1] == snapshot
        for _ in range(200):
            await driver.frames(1)
            if driver.session_controller.chronicle.losses:
                break
        assert driver.session_controller.chronicle.losses
        assert not driver.session_controller.paused
