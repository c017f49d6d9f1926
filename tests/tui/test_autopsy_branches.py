"""From the autopsy into branches: at a frame, and with one thing set otherwise; and out of it as a playbook."""

from contextlib import asynccontextmanager

import pytest

from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder
from tests.playbooks.diagnosis.test_point_of_no_return import TAIL
from tests.tui.driving import driving, trimmed
from tui.screens.autopsy import AutopsyScreen
from tui.screens.cluster import MainScreen
from tui.screens.time_travel import CompareScreen
from tui.session.background_tasks import Explanation
from tui.viewmodel import finding_page

pytestmark = pytest.mark.slow

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
SECOND = 1_000_000


def remedy(change, setting, verdict="saves", after=0):
    return {
        "change": change, "set": [setting] if setting else [], "because": "", "verdict": verdict, "before": 24,
        "after": after, "rejected": 3, "unavailable_us": 0, "note": "", "seeds_kept": 5, "seeds": 5,
    }  # fmt: skip


FOUND = {
    "remedies": [
        remedy("acks=all", "clients.producers.clicks.config.acks=all"),
        remedy("kafka 4.1", "cluster.kafka=4.1", "would not have helped", 24),
        remedy("enable.idempotence=true", "clients.producers.clicks.config.enable.idempotence=true", "refused"),
    ],
    "no_return": None,
}


@asynccontextmanager
async def opened(tmp_path, monkeypatch, size=(120, 40)):
    async def answer(*_asked):
        return Explanation(FOUND)

    monkeypatch.setattr("tui.screens.autopsy.explain", answer)
    session = Session.start(loads(TAIL, "tail.yaml"), recorder=Recorder(tmp_path, live=True), open_ended=True)
    async with driving(size, session=session) as driver:
        driver.app.recorder = session.recorder
        driver.session_controller.session.advance(15 * SECOND)
        driver.session_controller.refresh_view()
        await driver.press("n")
        yield driver


async def arrived(driver):
    for _ in range(2000):
        if driver.session_controller.growing is None and not driver.session_controller.news:
            break
        driver.app.frame()
    await driver.settle()


async def test_a_branch_begins_at_the_marked_frame_and_what_saves_is_reported(tmp_path, monkeypatch, snapshot):
    async with opened(tmp_path, monkeypatch) as driver:
        page = driver.app.screen
        await driver.press("s")
        await driver.until(lambda: page.answered)
        await driver.press("right", "w")
        await arrived(driver)
        branch = driver.session_controller.branches.current
        assert branch.letter == "B"
        assert branch.left_us == page.case.frames[1].at_us == driver.session_controller.view.now_us
        assert isinstance(driver.app.screen, MainScreen)
        assert finding_page.in_short(FOUND) in driver.toasts()
        assert sorted(driver.toasts()) == snapshot


async def test_what_if_lists_no_remedies_before_they_are_computed(tmp_path, monkeypatch, snapshot):
    async with opened(tmp_path, monkeypatch) as driver:
        await driver.press("w")
        await arrived(driver)
        assert finding_page.in_short(FOUND) not in driver.toasts()
        assert driver.toasts() == snapshot


async def test_a_change_is_marked_and_run_as_a_branch_beside_the_session(tmp_path, monkeypatch, snapshot):
    async with opened(tmp_path, monkeypatch) as driver:
        await driver.press("tab", "enter")
        assert driver.toasts() == [driver.toasts()[0]] * 2
        assert driver.app.screen.marked == -1
        assert driver.toasts()[0] == snapshot
        page = driver.app.screen
        await driver.press("s")
        await driver.until(lambda: page.answered)
        await driver.press("tab")
        assert "▌ ✓ acks=all" in driver.text()
        await driver.press("tab")
        assert "▌ ✕ kafka 4.1" in driver.text()
        await driver.press("tab", "shift+tab", "shift+tab")
        assert "▌ ✓ acks=all" in driver.text(), "what was refused cannot be run"
        missing = driver.session_controller.view.ledger.missing
        assert missing
        await driver.press("enter")
        await arrived(driver)
        assert isinstance(driver.app.screen, CompareScreen)
        assert driver.session_controller.branches.current.began == "acks=all"
        assert driver.session_controller.view.now_us == 15 * SECOND
        assert driver.session_controller.view.ledger.missing == 0
        assert driver.session_controller.comparison.branch.letter == "main"
        assert str(missing) in driver.toasts()[-1].split()
        assert driver.toasts()[-1] == snapshot


@pytest.mark.parametrize("size", SIZES)
async def test_the_marked_change_is_brought_into_sight(tmp_path, monkeypatch, size, golden):
    async with opened(tmp_path, monkeypatch, SIZES[size]) as driver:
        page = driver.app.screen
        await driver.press("s")
        await driver.until(lambda: page.answered)
        await driver.press("tab", "tab")
        assert "▌ ✕ kafka 4.1" in driver.text()
        assert trimmed(driver.text()) == golden(f"autopsy-marked-{size}")
        await driver.press(*["pageup"] * 9)
        assert "1 of " in driver.text(), "scrolling is not undone by the mark"


async def test_another_finding_forgets_what_was_marked(tmp_path, monkeypatch):
    async with opened(tmp_path, monkeypatch) as driver:
        page = driver.app.screen
        await driver.press("s")
        await driver.until(lambda: page.answered)
        await driver.press("tab", "n")
        assert (page.marked, page.choices) == (-1, ())
        await driver.press("enter")
        assert isinstance(driver.app.screen, AutopsyScreen)


async def test_a_branch_that_cannot_be_had_is_reported(tmp_path, monkeypatch):
    async with opened(tmp_path, monkeypatch) as driver:
        page = driver.app.screen
        page.choices = (finding_page.RemedyChoice("no such version", {"cluster.kafka": "0.1"}, 1),)
        page.marked = 0
        await driver.press("enter")
        assert driver.toasts()[-1].startswith("no such version: ")
        assert len(driver.session_controller.branches) == 1


async def test_the_session_is_copied_as_a_playbook(tmp_path, monkeypatch, snapshot):
    async with opened(tmp_path, monkeypatch) as driver:
        await driver.press("c")
        await driver.until(lambda: driver.app.clipboard)
        await driver.settle()
        assert driver.toasts() == snapshot
        assert loads(driver.app.clipboard, "copied.yaml").seed == 5
        monkeypatch.setattr(Recorder, "flush", _full)
        await driver.press("c")
        await driver.until(lambda: driver.toasts()[-1] == "disk full")


def _full(_recorder):
    raise OSError("disk full")


def test_remedies_are_summarised(snapshot):
    assert finding_page.in_short(None) == ""
    assert [finding_page.in_short(each) for each in (FOUND, {"remedies": FOUND["remedies"][1:]})] == snapshot
    assert [(each.name, each.line) for each in finding_page.choices(FOUND)] == [("acks=all", 1), ("kafka 4.1", 2)]
