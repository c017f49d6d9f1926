"""The tour, end to end: the keys that it asks for are pressed, and an acknowledged record is lost and explained."""

from dataclasses import replace

import pytest

from playbooks.engine.session import Session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import load
from playbooks.recording.recorder import Recorder
from tests.tui.driving import driving, trimmed
from tests.tui.test_autopsy_screen import FOUND
from tui.keybindings import keymap
from tui.screens.autopsy import AutopsyScreen
from tui.session.background_tasks import Explanation
from tui.tour import CRASH_TASK, NAME, PAUSE_TASK, STOPS, WIDTH, CoachPane, Tour, TourContext

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
SECOND = 1_000_000
BEGIN = TourContext(0, True, False, False, 2, False, 0, False, False, False)
DOINGS = (
    {"now_us": SECOND, "paused": False},
    {"at_follower": True},
    {"follower_paused": True},
    {"in_sync": 1},
    {"leader_down": True, "at_follower": False},
    {"missing": 5},
    {"autopsy": True},
    {"prevention_requested": True},
    {"autopsy": False, "in_past": True},
)
"""What changes where each stop is done."""


def session(recorder=None):
    return Session.start(load(path_of(NAME)), recorder=recorder, open_ended=True)


# -- how far it is ---------------------------------------------------------------------------------------------------


def test_every_stop_is_done_by_its_own_doing_and_by_nothing_before():
    tour, sight = Tour(), BEGIN
    assert len(DOINGS) == len(STOPS) - 1
    for number, change in enumerate(DOINGS):
        assert not tour.advance(sight)
        assert tour.at == number
        sight = replace(sight, **change)
        assert tour.advance(sight) is STOPS[number].stops_time
        assert tour.at == number + 1
    assert tour.over
    tour.advance(BEGIN)
    assert tour.over


@pytest.mark.parametrize("at", [3, 4, 5])
def test_a_chance_that_has_gone_comes_again(at):
    tour = Tour()
    tour.at = at
    tour.advance(replace(BEGIN, now_us=SECOND, paused=False))
    assert tour.at == PAUSE_TASK


def test_the_tour_ignores_the_past_before_its_step():
    tour = Tour()
    tour.at = 4
    tour.advance(replace(BEGIN, in_past=True, leader_down=True))
    assert tour.at == 4


def test_every_text_fits_a_small_terminal_and_names_keys_that_there_are():
    known = {word for key in keymap.KEYS for word in key.shown.split()} | {"c", "g", "s"}
    tour = Tour()
    for tour.at in range(len(STOPS)):
        assert len(tour.rows(WIDTH - 4)) <= 5
    for stop in STOPS:
        named = [word for word in tour.filled(stop.keys).replace(",", "").replace(";", "").split() if len(word) == 1]
        assert set(named) <= known


# -- end to end ------------------------------------------------------------------------------------------------------


def coach(driver):
    (pane,) = driver.app.screen.query(CoachPane)
    return pane.border_title


async def shown(driver):
    """The pane is mounted by one look, and painted by the next."""
    for _ in range(3):
        driver.app.guide.refresh()
        await driver.settle()


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
async def test_a_stop_of_the_tour(size, golden):
    async with driving(SIZES[size], session=session()) as driver:
        driver.app.begin_tour()
        driver.session_controller.pause(False)
        await driver.frames(2)
        driver.session_controller.pause(True)
        await shown(driver)
        assert driver.app.guide.tour.at == 1
        assert trimmed(driver.text()) == golden(f"tour-{size}")


async def arrive(driver, stop):
    """The guide has gone on to a stop, and says so."""
    await driver.frames(1)
    await shown(driver)
    assert coach(driver) == f"Tour · {stop} of 10"


@pytest.mark.slow
async def test_the_tour_requires_the_named_broker():
    async with driving((80, 24), session=session()) as driver:
        driver.app.begin_tour()
        tour = driver.app.guide.tour
        await driver.press("space")
        await driver.frames(2)
        await driver.press("l")
        await arrive(driver, 3)
        await driver.press("h", "f", "g")  # the leader
        await driver.frames(1)
        assert (tour.at, tour.amiss.split()[0]) == (PAUSE_TASK, "b1")
        await driver.press("H", "l", "f", "g")
        await arrive(driver, 4)
        assert tour.amiss == ""
        await run(driver, 5)
        await arrive(driver, 5)
        await driver.press("f", "c")  # the follower, where the cursor still is
        await driver.frames(1)
        assert (tour.at, tour.amiss.split()[0]) == (CRASH_TASK, "b2")
        assert tour.amiss in driver.text()
        await driver.press("H", "h", "f", "c")
        await arrive(driver, 6)


async def run(driver, seconds):
    """So long without frames, then one."""
    driver.session_controller.session.advance(driver.session_controller.view.now_us + round(seconds * SECOND))
    await driver.frames(1)


async def lose_records(driver):
    """The first seven stops, up to the loss."""
    await arrive(driver, 1)
    await driver.press("space")
    await driver.frames(2)
    await arrive(driver, 2)
    await driver.press("l")
    await arrive(driver, 3)
    await driver.press("f")
    await shown(driver)
    assert "Tour · 3 of 10" in driver.text().split("\n")[2]
    await driver.press("g")
    await arrive(driver, 4)
    await run(driver, 5)
    await arrive(driver, 5)
    assert driver.session_controller.paused
    await driver.press("h", "f", "c")
    await arrive(driver, 6)
    await driver.press("space")
    for _ in range(60):
        await driver.frames(1)
        if driver.session_controller.paused:
            break
        driver.session_controller.session.advance(driver.session_controller.view.now_us + SECOND // 5)
    await arrive(driver, 7)


@pytest.mark.slow
async def test_the_whole_tour_loses_a_record_and_finds_out_why(tmp_path, monkeypatch):
    async def answer(number, path, at_us, recorder, tell):
        return Explanation(FOUND)

    monkeypatch.setattr("tui.screens.autopsy.explain", answer)
    recorder = Recorder(tmp_path, live=True)
    live = session(recorder)
    async with driving((80, 24), session=live) as driver:
        driver.app.recorder = recorder
        driver.app.begin_tour()
        await shown(driver)
        await lose_records(driver)
        assert driver.session_controller.view.partitions[0].isr == (2,)
        assert driver.session_controller.view.ledger.missing > 50
        assert "†" in driver.text()
        await driver.press("n")
        await arrive(driver, 8)
        await driver.press("s")
        await driver.app.workers.wait_for_complete()
        await arrive(driver, 9)
        assert isinstance(driver.app.screen, AutopsyScreen)
        assert driver.app.screen.answered
        await driver.press("escape", "<")
        await arrive(driver, 10)
        assert driver.session_controller.session.in_past
    result = live.finish()
    assert result.ledger.acked_lost > 50
    assert (result.verdict, result.expectations[0].ok) == ("fail", False)


@pytest.mark.slow
async def test_it_can_be_left_and_gone_on_with(snapshot):
    async with driving((80, 24), session=session()) as driver:
        driver.app.begin_tour()
        await shown(driver)
        await driver.press("ctrl+t")
        assert not driver.app.screen.query(CoachPane)
        assert driver.toasts()[-1] == snapshot
        await driver.press("space")
        await driver.frames(2)
        assert driver.app.guide.tour.at == 0
        await driver.press("ctrl+t")
        await shown(driver)
        assert coach(driver) == "Tour · 2 of 10"


async def test_another_session_has_no_tour(snapshot):
    async with driving((80, 24), session=session()) as driver:
        await driver.press("ctrl+t")
        assert not driver.app.screen.query(CoachPane)
        assert driver.toasts()[-1] == snapshot
