"""Mode playbooks on the screen: looked through, filtered, taken over, left for another playbook or a recording."""

import shutil
from pathlib import Path

import pytest

from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from tests.support.playbooks import CRASH
from tests.tui.driving import driving
from tui.screens.cluster import MainScreen
from tui.screens.modes.playbooks import PlaybooksScreen
from tui.session.destination import PLAYBOOK, SESSION, WELCOME, Wish

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
    driver.bridge.session.advance(round(seconds * SECOND))
    driver.bridge.look()
    await driver.press("P", *keys)
    await driver.pilot.pause()


@pytest.mark.parametrize("size", SIZES)
async def test_the_steps_as_they_run(size, golden):
    async with driving(SIZES[size], session=crash()) as driver:
        await at(driver, 3)
        golden(f"playbooks-{size}", driver.text())


async def test_the_mark_goes_on_with_the_steps_and_back_with_time():
    async with driving((120, 40), session=crash()) as driver:
        await at(driver, 1)
        assert "▶ 14   - at: 2s" in driver.text()
        driver.bridge.session.advance(3 * SECOND)
        await driver.frames(1)
        assert "✓ 14   - at: 2s" in driver.text()
        assert "▶ 18   - when: leader(orders-0) == 2" in driver.text()
        await driver.press("{", "{")
        assert "▶ 14   - at: 2s" in driver.text()
        assert "next step 1 of 2" in driver.text()


async def test_another_playbook_is_read_and_its_text_scrolled():
    async with driving((120, 40), session=crash()) as driver:
        await at(driver, 1, "down")
        assert "With acks=0 a leader dies and nobody is told" in driver.text()
        assert "acks-0-leader-crash.yaml" in driver.text()
        assert "What must hold ─" in driver.text()
        before = driver.text()
        await driver.press("K")
        assert driver.text() != before
        await driver.press(*"KKKKKKK")
        assert "  1 floodmark: 1" in driver.text()
        await driver.press("up")
        assert "▶ 14   - at: 2s" in driver.text()


async def test_the_filter_takes_what_is_typed_and_lets_it_go_again():
    async with driving((80, 24), session=crash()) as driver:
        await at(driver, 1, "slash", *"zone mat")
        assert "Playbooks · zone mat" in driver.text()
        assert "▌ zone-loss-matrix" in driver.text()
        assert not driver.bridge.paused
        await driver.press("enter")
        assert "Playbooks · zone mat" in driver.text()
        assert driver.app.wish is None
        await driver.press("escape")
        assert "On the screen" in driver.text()
        await driver.press("slash", *"xyz")
        assert "no playbook fits xyz" in driver.text()
        await driver.press("enter", "enter")
        assert driver.app.wish is None
        await driver.press("escape", "escape")
        assert isinstance(driver.app.screen, MainScreen)


async def test_enter_wishes_for_the_playbook_and_ends_the_app():
    async with driving((80, 24), session=crash()) as driver:
        await at(driver, 1, "slash", *"leader-crash", "enter", "enter")
        assert driver.app.wish == Wish(PLAYBOOK, "acks-0-leader-crash")
        assert driver.app.return_code == 0


async def test_what_is_on_the_screen_is_not_left_for_itself():
    async with driving((120, 40), session=crash()) as driver:
        await at(driver, 1, "enter")
        assert "this is on the screen already" in driver.text()
        await driver.press("b")
        assert "there is nothing to go back to" in driver.text()
        assert driver.app.wish is None
        driver.app.back = Wish(WELCOME)
        await driver.press("b")
        assert driver.app.wish == Wish(WELCOME)


async def test_one_that_is_stepped_by_hand_is_told_how_to_be_played():
    async with driving((120, 40), session=crash()) as driver:
        await at(driver, 1, "slash", *"expand-race", "enter", "enter")
        assert "play it with floodmark run expand-race" in driver.text()
        assert driver.app.wish is None


async def test_bad_input_is_one_line_and_nothing_is_lost(tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text(CRASH.replace("inject: crash", "inject: crsh").replace("brokers: 3", "brokrs: 3"))
    async with driving((200, 60), session=crash()) as driver:
        await at(driver, 1, "o", *"zone-los", "enter")
        assert "zone-los:1:1: no such file, and no bundled playbook (did you mean 'zone-loss'?)" in driver.text()
        driver.app.screen._prompt.value = str(bad)
        await driver.press("enter")
        (line,) = [line for line in driver.text().split("\n") if "bad.yaml:5:" in line]
        assert "brokrs" in line
        assert "more)" in line
        driver.app.screen._prompt.value = str(tmp_path)
        await driver.press("enter")
        assert "is no session: it has no start.json" in driver.text()
        assert (driver.app.wish, driver.bridge.session.instant.phase) == (None, "steps")
        bad.write_text(CRASH)
        driver.app.screen._prompt.value = str(bad)
        await driver.press("enter")
        assert driver.app.wish == Wish(PLAYBOOK, str(bad))


async def test_the_rest_is_taken_over_by_hand(tmp_path):
    session = crash(Recorder(tmp_path, live=True))
    async with driving((120, 40), session=session) as driver:
        await at(driver, 3, "T")
        assert driver.toasts()[-1].startswith("take over: 1 step of the playbook left out")
        assert "1 of 2 steps done, the rest left out" in driver.text()
        assert "✕ 18   - when: leader(orders-0) == 2" in driver.text()
        await driver.press("T")
        assert driver.toasts()[-1] == "refused: no step of the playbook is left to be taken over from"
    session.finish()
    assert [each.verb for each in read_session(session.recorder.path).actions] == ["take_over", "settle"]


@pytest.mark.parametrize("size", SIZES)
async def test_recorded_sessions(size, golden, tmp_path, sealed):
    for name in ("20260131T101500-small-s3-0001", "20260131T101600-small-s3-0002"):
        shutil.copytree(sealed, tmp_path / f"session_id={name}")
    for start in tmp_path.glob("*/start.json"):
        start.write_text(start.read_text().replace(read_session(sealed).start.wall_start, "2026-01-31T10:15:00.000"))
    (tmp_path / "session_id=20260131T101500-small-s3-0001" / "manifest.json").unlink()
    async with driving(SIZES[size], session=crash()) as driver:
        driver.app.sessions = tmp_path
        await at(driver, 3, "tab", "down")
        text = driver.text()
        golden(f"sessions-{size}", text.replace(str(tmp_path), "/sessions").split("/sessions")[0])
        await driver.press("up")
        assert "✓ pass" in driver.text() or "? inconclusive" in driver.text()


async def test_enter_wishes_for_a_session_unless_it_cannot_be_read(tmp_path, sealed):
    good = shutil.copytree(sealed, tmp_path / "session_id=20260131T101600-a")
    bad = tmp_path / "session_id=20260131T101500-b"
    bad.mkdir()
    async with driving((200, 60), session=crash()) as driver:
        driver.app.sessions = tmp_path
        await at(driver, 1, "tab", "down", "enter")
        assert "nothing is recorded in it yet" in driver.text()
        assert driver.app.wish is None
        await driver.press("up", "enter")
        assert driver.app.wish == Wish(SESSION, str(good))


async def test_no_session_at_all_is_told_and_a_click_marks_a_line(tmp_path):
    async with driving((120, 40), session=crash()) as driver:
        driver.app.sessions = tmp_path / "none"
        await at(driver, 1, "tab")
        assert "no session in" in driver.text()
        await driver.press("enter", "tab")
        await driver.pilot.click("#plays-list", offset=(6, 4))
        assert "acks-1-lost-tail.yaml" in driver.text()
        assert isinstance(driver.app.screen, PlaybooksScreen)
