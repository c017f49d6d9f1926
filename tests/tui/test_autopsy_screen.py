"""The autopsy on the screen: opened by a key or by its sentence, looked through, explained by another process."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from playbooks.engine.session import Session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import load, loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.timetravel.history_view import Reopened
from tests.playbooks.diagnosis.test_point_of_no_return import TAIL
from tests.tui.driving import Driver, driving
from tests.tui.screens.test_ask import until
from tui import launcher
from tui.screen_choice import ScreenChoice
from tui.screens.finding import AutopsyScreen
from tui.session import background_tasks
from tui.session.background_tasks import Explanation, explain
from tui.settings.schema import Settings
from tui.terminal.frame_clock import StepClock

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
SECOND = 1_000_000
LOST_US = 45 * SECOND
"""By then the old leader of the tail is back, and has cut its log."""


def tail(recorder=None):
    return Session.start(loads(TAIL, "tail.yaml"), recorder=recorder, open_ended=True)


def run_to(driver, at_us):
    """Without frames: the wall clock of a hundred of them is not what is looked at."""
    driver.bridge.session.advance(at_us)
    driver.bridge.look()


@asynccontextmanager
async def opened(session, at_us=LOST_US, size=(120, 40), **more):
    async with driving(size, session=session, **more) as driver:
        driver.app.recorder = getattr(session, "recorder", None)
        run_to(driver, at_us)
        await driver.press("n")
        yield driver


async def test_there_is_none_yet_and_it_says_so():
    async with opened(tail(), SECOND) as driver:
        assert not isinstance(driver.app.screen, AutopsyScreen)
        assert driver.toasts() == ["no finding so far: nothing is wrong with any record"]


async def test_what_is_only_missing_is_told_as_such():
    async with opened(tail(), 15 * SECOND) as driver:
        assert "24 acknowledged records of orders-0 are missing so far, and not lost yet" in driver.text()
        assert "as the session ended" not in driver.text()
        assert "★ b2 leads" in driver.text()


@pytest.mark.parametrize("look", ["", "ascii", "no-color"])
async def test_the_page(look, golden, monkeypatch):
    if look == "no-color":
        monkeypatch.setenv("NO_COLOR", "1")
    session = Session.start(load(path_of("acks-1-lost-tail")), open_ended=True)
    async with opened(session, 50 * SECOND, glyphs="ascii" if look == "ascii" else "unicode") as driver:
        await driver.press("right")
        for name, size in SIZES.items():
            await driver.pilot.resize_terminal(*size)
            await driver.pilot.pause()
            golden(f"autopsy-{'ascii-' if look == 'ascii' else ''}{name}", driver.text())
        if look == "no-color":
            styles = [segment.style for line in driver.app.screen._compositor.render_strips() for segment in line]
            assert not any(each and each.color and not each.color.is_default for each in styles)


async def test_frames_are_gone_through_and_the_page_scrolled():
    async with opened(tail(), size=(80, 24)) as driver:
        assert "1 of 4" in driver.text()
        await driver.press("left")
        assert "1 of 4" in driver.text()
        await driver.press(*["right"] * 9)
        assert "4 of 4" in driver.text()
        assert "b1 cuts its log" in driver.text()
        assert "† gone" in driver.text()
        assert "All that led there" not in driver.text()
        await driver.press(*["pagedown"] * 9)
        assert "All that led there" in driver.text()
        assert "are gone" not in driver.text()
        await driver.press("up", "down", *["pageup"] * 9)
        assert "24 acknowledged records of orders-0 are gone" in driver.text()


async def test_one_finding_after_the_other_from_the_page_and_from_the_main_screen():
    async with opened(tail()) as driver:
        assert "finding 1 of 2 · lost" in driver.text()
        await driver.press("n")
        assert "finding 2 of 2 · reordered" in driver.text()
        await driver.press("n")
        assert "finding 1 of 2" in driver.text()
        await driver.press("N", "escape")
        assert not isinstance(driver.app.screen, AutopsyScreen)
        await driver.press("N")
        assert "finding 1 of 2" in driver.text()
        await driver.press("escape", "n")
        assert "finding 2 of 2" in driver.text()


async def test_backwards_begins_with_the_last():
    async with opened(tail(), SECOND) as driver:
        run_to(driver, LOST_US)
        await driver.press("N")
        assert "finding 2 of 2" in driver.text()


async def test_it_stands_as_it_was_opened_until_another_finding_is_asked_for():
    async with opened(tail(), 15 * SECOND) as driver:
        run_to(driver, LOST_US)
        assert "as of 00:15.000" in driver.text()
        await driver.press("n", "n")
        assert "finding 1 of 2 · lost · as of 00:45.000" in driver.text()


async def test_another_size_shows_as_many_frames_as_fit():
    async with opened(tail(), size=(120, 40)) as driver:
        assert all(f"╭─ {number} " in driver.text() for number in (1, 2, 3, 4))
        await driver.pilot.resize_terminal(80, 24)
        await driver.pilot.pause()
        assert "╭─ 3 " in driver.text()
        assert "╭─ 4 " not in driver.text()


async def test_the_sentence_is_copied():
    async with opened(tail()) as driver:
        await driver.press("y")
        assert driver.app.clipboard.startswith("24 records of clicks at offsets 100 to 123 of orders-0 had been")
        assert driver.toasts()[-1] == "copied the sentence"


async def test_the_session_is_exported_from_the_page(tmp_path):
    async with opened(tail(Recorder(tmp_path, live=True)), 4 * SECOND) as driver:
        run_to(driver, 15 * SECOND)
        await driver.press("n", "e")
        assert driver.toasts()[-1] == "making a playbook of the session so far"
        driver.app.workers.cancel_all()


async def test_the_palette_finds_it_by_its_sentence():
    async with opened(tail(), SECOND) as driver:
        run_to(driver, LOST_US)
        await driver.press("ctrl+p", *"clean election")
        await until(driver, lambda: "autopsy lost" in driver.text())
        assert "[1, 2, 3]" in driver.text() or "ISR" in driver.text() or "24 acknowledged" in driver.text()
        await driver.press("enter")
        await until(driver, lambda: isinstance(driver.app.screen, AutopsyScreen))
        await driver.pilot.pause()
        assert "finding 1 of 2" in driver.text()


async def test_a_recording_is_looked_at_in_the_same_way(tmp_path):
    session = tail(Recorder(tmp_path, live=True))
    session.advance(32 * SECOND)
    path = Path(session.finish().session)
    clock = StepClock()
    app = launcher.recording_app(
        Reopened(read_session(path)), ScreenChoice("unicode", "dark", 1.0, Settings()), clock=clock
    )
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        driver = Driver(pilot, app, clock)
        await driver.press("n")
        assert driver.toasts()[-1].startswith("no finding so far")
        run_to(driver, 32 * SECOND)
        await driver.press("n")
        assert "24 acknowledged records of orders-0 are gone" in driver.text()
        assert "s: run it again" in driver.text()


# -- what would have saved it ----------------------------------------------------------------------------------------


async def test_what_is_not_recorded_cannot_be_run_again():
    async with opened(tail()) as driver:
        assert "this session is not being recorded" in driver.text()
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


async def test_what_would_have_saved_it_stands_with_its_price(tmp_path, monkeypatch):
    asked, go = [], asyncio.Event()

    async def answer(number, path, at_us, recorder, tell):
        asked.append((number, path, at_us, recorder))
        tell("4 changes, 9 runs over")
        await go.wait()
        return Explanation(FOUND)

    monkeypatch.setattr("tui.screens.finding.explain", answer)
    session = tail(Recorder(tmp_path, live=True))
    async with opened(session, 15 * SECOND) as driver:
        run_to(driver, 16 * SECOND)
        await driver.press("s", "s")
        assert asked == [(1, session.recorder.path, 15 * SECOND, session.recorder)]
        assert "4 changes, 9 runs over" in driver.text()
        go.set()
        await until(driver, lambda: "✓ acks=all: 0 of 24 left, rejected +3, unavailable 0, in 5 of 5" in driver.text())
        assert "runs over" not in driver.text()


async def test_a_refusal_is_told_on_the_page(tmp_path, monkeypatch):
    async def answer(*_asked):
        return Explanation(None, "error: it does not come to the same")

    monkeypatch.setattr("tui.screens.finding.explain", answer)
    async with opened(tail(Recorder(tmp_path, live=True)), 15 * SECOND) as driver:
        await driver.press("s")
        await until(driver, lambda: "error: it does not come to the same" in driver.text())


@pytest.mark.parametrize("key", ["escape", "n"])
async def test_escape_and_another_finding_stop_asking(tmp_path, monkeypatch, key):
    stopped = []

    async def answer(number, *_asked):
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            stopped.append(number)
            raise

    monkeypatch.setattr("tui.screens.finding.explain", answer)
    async with opened(tail(Recorder(tmp_path, live=True)), 15 * SECOND) as driver:
        await driver.press("s")
        await driver.pilot.pause(0.05)
        await driver.press(key)
        await until(driver, lambda: stopped == [1])
        assert isinstance(driver.app.screen, AutopsyScreen)
        assert ("never mind" in driver.text()) == (key == "escape")
        await driver.press("escape")
        assert not isinstance(driver.app.screen, AutopsyScreen)


async def test_another_process_explains_a_running_session(tmp_path, monkeypatch):
    monkeypatch.setattr(background_tasks, "SEEDS", 1)
    session = tail(Recorder(tmp_path, live=True))
    session.advance(15 * SECOND)
    found = (await explain(2, session.recorder.path, 15 * SECOND, session.recorder, lambda told: None)).found
    assert found is not None
    assert (found["kind"], found["number"]) == ("reordered", 2)
    assert "saves" in {each["verdict"] for each in found["remedies"]}


async def test_a_process_that_refuses_says_why(tmp_path):
    session = tail(Recorder(tmp_path, live=True))
    session.advance(2 * SECOND)
    told = await explain(1, session.recorder.path, 2 * SECOND, session.recorder, lambda text: None)
    assert told.found is None
    assert "there is no finding 1 by then" in told.refusal


# -- pausing by itself -----------------------------------------------------------------------------------------------


async def test_it_pauses_where_the_next_acknowledged_record_goes_missing():
    async with driving(session=tail(), speed=1000.0) as driver:
        await driver.press("A")
        assert driver.toasts()[-1].startswith("pausing where the next acknowledged record")
        for _ in range(200):
            await driver.frames(1)
            if driver.bridge.paused:
                break
        assert driver.bridge.paused
        assert driver.bridge.view.ledger.missing == 24
        assert driver.bridge.chronicle.losses == 1
        assert "n tells why" in driver.toasts()[-1]
        assert not driver.bridge.stops_at_loss
        await driver.press("n")
        assert "are missing so far" in driver.text()


async def test_unless_it_is_asked_to_it_goes_on():
    async with driving(session=tail(), speed=1000.0) as driver:
        await driver.press("A", "A")
        assert driver.toasts()[-1] == "not pausing by itself any more"
        for _ in range(200):
            await driver.frames(1)
            if driver.bridge.chronicle.losses:
                break
        assert driver.bridge.chronicle.losses
        assert not driver.bridge.paused
