"""Texts that name a key name the one that the user has for it."""

from contextlib import asynccontextmanager

from tests.tui import fake_views
from tests.tui.driving import Driver
from tui.app import FloodmarkApp
from tui.keybindings.keymap import KEYS, word_of
from tui.keybindings.scopes import remapped
from tui.session.session_controller import SimBridge
from tui.settings.schema import Settings
from tui.terminal.frame_clock import StepClock
from tui.tour import STOPS, Tour
from tui.viewmodel.side_panes import UNREAD, faults, replica

OTHER = {
    "pause": ("x",), "present": ("f5",), "bookmark": ("f6",), "bookmarks": ("ctrl+f",), "fault": ("f7",),
    "tour": ("f8",), "quit": ("ctrl+x",), "playbooks": ("f9",), "mode_timeline": ("f10",), "log_tail": ("f11",),
}  # fmt: skip


@asynccontextmanager
async def remapped_app(size=(120, 60)):
    clock = StepClock()
    bridge = SimBridge(fake_views.session(orders=1, payments=1), clock)
    app = FloodmarkApp(bridge, playbook="sandbox", seed=7, settings=Settings(keys=OTHER))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Driver(pilot, app, clock)


def test_a_key_within_a_sentence():
    assert (word_of("pause"), word_of("bookmarks"), word_of("right")) == ("space", "ctrl+b", "→")
    assert word_of("bookmarks", remapped({"bookmarks": ("f6", "x")})) == "f6"
    assert word_of("bookmarks", remapped({"bookmarks": ("circumflex_accent",)})) == "^"


async def test_toasts_and_panes_tell_the_keys_of_the_user():
    async with remapped_app() as driver:
        await driver.seconds(1)
        assert "no faults active, press f7" in driver.text()
        assert "f10: more of it" in driver.text()
        await driver.press("comma")
        assert driver.toasts()[-1].endswith("x plays it on, f5: back to the present")
        await driver.press("ctrl+f")
        assert "no bookmarks yet: f6 puts one" in driver.text()
        await driver.press("escape", "f6")
        assert driver.toasts()[-1].endswith("; ctrl+f: all of them")
        await driver.press("f8")
        assert driver.toasts()[-1].endswith("tour among the playbooks (f9)")
        await driver.press("ctrl+c")
        assert driver.toasts()[-1] == "ctrl+x quits and seals the session"
        await driver.press("shift+left")
        assert "f11: follow the tail" in driver.text()


def test_every_stop_of_the_tour_does():
    tour, own = Tour(remapped(OTHER)), Tour()
    told = [tour.told(f"{stop.text} {stop.keys}") for stop in STOPS]
    assert told[0].endswith(" x")
    assert told[2].endswith("f7, then g")
    assert "f9 opens the library" in told[-1]
    assert told[-1].endswith("^x seals this session")
    assert tour.rows(60)[-1].pieces[1] == ("x", "key")
    assert all("{" not in own.told(f"{stop.text} {stop.keys}") for stop in STOPS)
    assert own.told(STOPS[1].keys) == "→ or l"
    assert len({key.id for key in KEYS}) == len(KEYS)


def test_the_pane_of_faults_does():
    assert faults(fake_views.view(), key="f7")[0].pieces[1] == ("f7", "key")


def test_a_topic_that_nobody_reads_says_so():
    view = fake_views.view()
    rows = [piece for row in replica(view, 0, 0) for piece, _role in row.pieces]
    assert UNREAD not in rows
    rows = [piece for row in replica(fake_views.view(groups=()), 0, 0) for piece, _role in row.pieces]
    assert UNREAD in rows


async def test_a_list_of_one_branch_says_how_others_begin():
    async with remapped_app() as driver:
        await driver.press("b")
        assert "only main so far: w begins a branch, and so does u or acting in the past" in driver.text()
