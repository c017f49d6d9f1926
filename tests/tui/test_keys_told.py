"""Texts that name a key name the one that the user has for it."""

from contextlib import asynccontextmanager

import pytest

from tests.tui import fake_views
from tests.tui.driving import Driver
from tui.app import FloodmarkApp
from tui.keybindings.keymap import KEYS, word_of
from tui.keybindings.scopes import remapped
from tui.session.session_controller import SessionController
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
    session_controller = SessionController(fake_views.session(orders=1, payments=1), clock)
    app = FloodmarkApp(session_controller, playbook="sandbox", seed=7, settings=Settings(keys=OTHER))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Driver(pilot, app, clock)


def test_a_key_within_a_sentence():
    assert (word_of("pause"), word_of("bookmarks"), word_of("right")) == ("space", "ctrl+b", "→")
    assert word_of("bookmarks", remapped({"bookmarks": ("f6", "x")})) == "f6"
    assert word_of("bookmarks", remapped({"bookmarks": ("circumflex_accent",)})) == "^"


@pytest.mark.slow
async def test_toasts_and_panes_show_the_keys_of_the_user(snapshot):
    async with remapped_app() as driver:
        await driver.seconds(1)
        timeline, lanes = driver.main.query_one("#timeline-pane"), driver.main.query_one("#lanes-pane")
        assert timeline.border_title in driver.text()
        said = [*driver.shown("#faults"), timeline.border_title]
        await driver.press("comma")
        said.append(driver.toasts()[-1])
        await driver.press("ctrl+f")
        said += driver.shown("#choice")
        await driver.press("escape", "f6")
        said.append(driver.toasts()[-1])
        await driver.press("f8")
        said.append(driver.toasts()[-1])
        await driver.press("ctrl+c")
        said.append(driver.toasts()[-1])
        await driver.press("shift+left")
        assert lanes.border_subtitle in driver.text()
        assert [*said, lanes.border_subtitle] == snapshot


def test_every_stop_of_the_tour_does(snapshot):
    tour, own = Tour(remapped(OTHER)), Tour()
    told = [tour.filled(f"{stop.text} {stop.keys}") for stop in STOPS]
    assert told == snapshot
    assert tour.rows(60)[-1].pieces[1] == ("x", "key")
    assert all("{" not in own.filled(f"{stop.text} {stop.keys}") for stop in STOPS)
    assert own.filled(STOPS[1].keys) == "→ or l"
    assert len({key.id for key in KEYS}) == len(KEYS)


def test_the_pane_of_faults_does():
    assert faults(fake_views.view(), key="f7")[0].pieces[1] == ("f7", "key")


def test_a_topic_that_nobody_reads_says_so():
    view = fake_views.view()
    rows = [piece for row in replica(view, 0, 0) for piece, _role in row.pieces]
    assert UNREAD not in rows
    rows = [piece for row in replica(fake_views.view(groups=()), 0, 0) for piece, _role in row.pieces]
    assert UNREAD in rows


@pytest.mark.slow
async def test_a_list_of_one_branch_says_how_others_begin(snapshot):
    async with remapped_app() as driver:
        await driver.press("b")
        assert driver.shown("#choice")[-2] == snapshot
