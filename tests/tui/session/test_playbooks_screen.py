"""Mode playbooks on the screen: looked through, filtered, taken over, left for another playbook or a recording."""

import shutil
from pathlib import Path

import pytest

from playbooks.engine.session import Session
from playbooks.library.index import library_entries
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from tests.support.playbooks import CRASH
from tests.tui.driving import driving, trimmed
from tui.screens.cluster import MainScreen
from tui.screens.modes.playbooks import PlaybooksScreen
from tui.session.destination import PLAYBOOK, SESSION, WELCOME, Destination
from tui.viewmodel import playbook_pages

pytestmark = pytest.mark.slow

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
SECOND = 1_000_000


def crash(recorder=None):
    return Session.start(loads(CRASH, "crash.yaml"), recorder=recorder, open_ended=True)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    session = crash(Recorder(tmp_path_factory.mktemp("sealed")))
    session.advance(SECOND)
    return Path(session.finish().session)


async def at(driver, seconds, *keys):
    """So far into the session, without frames; the mode is open then."""
    driver.session_controller.session.advance(round(seconds * SECOND))
    driver.session_controller.refresh_view()
    await driver.press("P", *keys)


def said(driver):
    """The line above the bar, which is painted as far as it fits."""
    text = "".join(piece for row in driver.app.screen._message_rows.rows for piece, _role in row.pieces)
    assert text[:60] in driver.text()
    return text


@pytest.mark.parametrize("size", SIZES)
async def test_the_steps_as_they_run(size, golden):
    async with driving(SIZES[size], session=crash()) as driver:
        await at(driver, 3)
        assert trimmed(driver.text()) == golden(f"playbooks-{size}")


async def test_the_mark_continues_with_the_steps_and_back_with_time():
    async with driving((120, 40), session=crash()) as driver:
        await at(driver, 1)
        assert "▶ 14   - at: 2s" in driver.text()
        driver.session_controller.session.advance(3 * SECOND)
        await driver.frames(1)
        assert "✓ 14   - at: 2s" in driver.text()
        assert "▶ 18   - when: leader(orders-0) == 2" in driver.text()
        await driver.press("{", "{")
        assert "▶ 14   - at: 2s" in driver.text()
        instant = driver.session_controller.session.viewed_session
        assert instant.next_step.index == 0
        told = playbook_pages.progress_text(instant.playbook, driver.app.screen._progress())
        assert told in " ".join(driver.shown("#plays-about"))


async def test_another_playbook_is_read_and_its_text_scrolled(snapshot):
    async with driving((120, 40), session=crash()) as driver:
        await at(driver, 1, "down")
        (shelved,) = [each for each in library_entries() if each.name == "acks-0-leader-crash"]
        assert shelved.title in " ".join(driver.shown("#plays-about"))
        assert "acks-0-leader-crash.yaml" in driver.text()
        assert f" {driver.app.screen._expected_pane.border_title} ─" in driver.text()
        assert driver.app.screen._expected_pane.border_title == snapshot
        before = driver.text()
        await driver.press("K")
        assert driver.text() != before
        await driver.press(*"KKKKKKK")
        assert "  2 floodmark: 1" in driver.text()
        await driver.press("up")
        assert "▶ 14   - at: 2s" in driver.text()


async def test_the_filter_takes_what_is_typed_and_lets_it_go_again(snapshot):
    async with driving((80, 24), session=crash()) as driver:
        await at(driver, 1)
        everything = driver.app.screen.entries()
        await driver.press("slash", *"zone mat")
        assert "Playbooks · zone mat" in driver.text()
        assert "▌ zone-loss-matrix" in driver.text()
        assert not driver.session_controller.paused
        await driver.press("enter")
        assert "Playbooks · zone mat" in driver.text()
        assert driver.app.request is None
        await driver.press("escape")
        assert driver.app.screen.entries() == everything
        assert everything[0].text in driver.text()
        await driver.press("slash", *"xyz")
        assert driver.shown("#plays-list") == snapshot
        await driver.press("enter", "enter")
        assert driver.app.request is None
        await driver.press("escape", "escape")
        assert isinstance(driver.app.screen, MainScreen)


async def test_enter_wishes_for_the_playbook_and_ends_the_app():
    async with driving((80, 24), session=crash()) as driver:
        await at(driver, 1, "slash", *"leader-crash", "enter", "enter")
        assert driver.app.request == Destination(PLAYBOOK, "acks-0-leader-crash")
        assert driver.app.return_code == 0


async def test_opening_the_current_session_stays(snapshot):
    async with driving((120, 40), session=crash()) as driver:
        await at(driver, 1, "enter")
        already = said(driver)
        await driver.press("b")
        assert [already, said(driver)] == snapshot
        assert driver.app.request is None
        driver.app.previous_destination = Destination(WELCOME)
        await driver.press("b")
        assert driver.app.request == Destination(WELCOME)


async def test_one_that_is_stepped_by_hand_is_reported_how_to_be_played(snapshot):
    async with driving((120, 40), session=crash()) as driver:
        await at(driver, 1, "slash", *"expand-race", "enter", "enter")
        assert said(driver) == snapshot
        assert driver.app.request is None


async def test_bad_input_is_one_line_and_nothing_is_lost(tmp_path, snapshot):
    bad = tmp_path / "bad.yaml"
    bad.write_text(CRASH.replace("inject: crash", "inject: crsh").replace("brokers: 3", "brokrs: 3"))
    async with driving((200, 60), session=crash()) as driver:
        await at(driver, 1, "o", *"zone-los", "enter")
        told = [said(driver)]
        driver.app.screen._prompt.value = str(bad)
        await driver.press("enter")
        told.append(said(driver))
        driver.app.screen._prompt.value = str(tmp_path)
        await driver.press("enter")
        told.append(said(driver))
        assert [each.replace(str(tmp_path), "<tmp>") for each in told] == snapshot
        assert (driver.app.request, driver.session_controller.session.viewed_session.phase) == (None, "steps")
        bad.write_text(CRASH)
        driver.app.screen._prompt.value = str(bad)
        await driver.press("enter")
        assert driver.app.request == Destination(PLAYBOOK, str(bad))


async def test_the_rest_is_taken_over_by_hand(tmp_path, snapshot):
    session = crash(Recorder(tmp_path, live=True))
    async with driving((120, 40), session=session) as driver:
        await at(driver, 3, "T")
        assert session.next_step is None
        assert session.steps_taken == 1
        assert driver.shown("#plays-about")[-1] == snapshot
        assert "✕ 18   - when: leader(orders-0) == 2" in driver.text()
        await driver.press("T")
        assert driver.toasts() == snapshot
    session.finish()
    assert [each.verb for each in read_session(session.recorder.path).actions] == ["take_over", "settle"]


async def test_recorded_sessions(golden, tmp_path, sealed):
    for name in ("20260131T101500-small-s3-0001", "20260131T101600-small-s3-0002"):
        shutil.copytree(sealed, tmp_path / f"session_id={name}")
    for start in tmp_path.glob("*/start.json"):
        start.write_text(start.read_text().replace(read_session(sealed).start.wall_start, "2026-01-31T10:15:00.000"))
    (tmp_path / "session_id=20260131T101500-small-s3-0001" / "manifest.json").unlink()
    async with driving(session=crash()) as driver:
        driver.app.sessions = tmp_path
        await at(driver, 3, "tab", "down")
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text().replace(str(tmp_path), "/sessions").split("/sessions")[0]) == golden(
                f"sessions-{size}"
            )
        await driver.press("up")
        assert "✓ pass" in driver.text() or "? inconclusive" in driver.text()


async def test_enter_wishes_for_a_session_unless_it_cannot_be_read(tmp_path, sealed, snapshot):
    good = shutil.copytree(sealed, tmp_path / "session_id=20260131T101600-a")
    bad = tmp_path / "session_id=20260131T101500-b"
    bad.mkdir()
    async with driving((200, 60), session=crash()) as driver:
        driver.app.sessions = tmp_path
        await at(driver, 1, "tab", "down", "enter")
        assert said(driver).replace(str(tmp_path), "<tmp>") == snapshot
        assert driver.app.request is None
        await driver.press("up", "enter")
        assert driver.app.request == Destination(SESSION, str(good))


async def test_no_session_at_all_is_reported_and_a_click_marks_a_line(tmp_path, snapshot):
    async with driving((120, 40), session=crash()) as driver:
        driver.app.sessions = tmp_path / "none"
        await at(driver, 1, "tab")
        (nothing,) = driver.app.screen.entries()
        assert nothing.text[:12] in driver.text()
        assert nothing.text.replace(str(tmp_path), "<tmp>") == snapshot
        await driver.press("enter", "tab")
        await driver.pilot.click("#plays-list", offset=(6, 4))
        assert "acks-1-lost-tail.yaml" in driver.text()
        assert isinstance(driver.app.screen, PlaybooksScreen)
