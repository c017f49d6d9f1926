"""Dragging through time, on the timeline and on the strip at the foot of a tall screen."""

import pytest
from textual.events import MouseDown, MouseMove, MouseUp

from playbooks.timetravel import timeline
from tests.tui import fake_views
from tests.tui.driving import driving
from tests.tui.pointing import drag
from tui.session.session_controller import REST_S, SCRUB_S, Scrubbing
from tui.terminal import glyphs
from tui.terminal.frame_clock import StepClock
from tui.viewmodel.timeline.timeline_rows import LABEL, TIME, Window

pytestmark = pytest.mark.slow

SECOND = 1_000_000


def small():
    return fake_views.session(orders=2, payments=1)


def line_of(lanes, name):
    return next(at for at, row in enumerate(lanes.rows) if row.lane == name)


def test_the_newest_wish_counts_and_is_granted_once_a_frame():
    clock, went = StepClock(), []
    scrubbing = Scrubbing(clock, lambda at_us: at_us, lambda at_us, _exact: went.append(at_us))
    assert scrubbing.frame() is None
    assert scrubbing.want(5)
    assert [scrubbing.want(at_us) for at_us in (6, 7, 8)] == [False] * 3
    assert went == [5]
    assert 0 < scrubbing.frame() <= SCRUB_S
    clock.tick(SCRUB_S)
    assert scrubbing.frame() is None
    assert went == [5, 8]
    clock.tick(SCRUB_S)
    assert scrubbing.frame() is None
    assert went == [5, 8]
    assert scrubbing.rewinds == 2


def test_scrubbing_shows_the_nearest_keyframe_then_the_exact_time():
    clock, went = StepClock(), []
    scrubbing = Scrubbing(clock, lambda at_us: at_us // 100 * 100, lambda at_us, exact: went.append((at_us, exact)))
    assert not scrubbing.want(512)
    for at_us in (513, 555, 590, 599):
        clock.tick(SCRUB_S)
        assert not scrubbing.want(at_us)
    assert went == [(500, False)], "the same picture is not made twice"
    clock.tick(SCRUB_S)
    assert not scrubbing.want(612)
    assert went[1:] == [(600, False)]
    assert 0 < scrubbing.frame() <= REST_S
    clock.tick(REST_S)
    assert scrubbing.frame() is None
    assert went[2:] == [(612, True)]
    clock.tick(SCRUB_S)
    assert not scrubbing.want(777)
    scrubbing.settle()
    scrubbing.settle()
    assert went[3:] == [(700, False), (777, True)]
    assert scrubbing.rewinds == len(went)
    clock.tick(SCRUB_S)
    assert not scrubbing.want(888)
    scrubbing.forget()
    clock.tick(1)
    assert scrubbing.frame() is None
    assert went[5:] == [(800, False)], "whoever went elsewhere meanwhile stays there"


async def test_a_drag_over_a_long_way_costs_no_more_rewinds_than_keyframes_and_ends_exactly(monkeypatch):
    monkeypatch.setattr(timeline, "CHEAP", 0)
    async with driving(session=small()) as driver:
        await driver.seconds(4)
        await driver.press("4")
        screen, kept = driver.app.screen, driver.session_controller.session.timeline.keyframes
        line, window = line_of(screen.lanes, TIME), screen.shown().window
        before, places = driver.main.scrubbing.rewinds, [(LABEL + column, line) for column in range(60, 20, -1)]
        await driver.pilot._post_mouse_events([MouseDown], screen.lanes, places[0], button=1)
        for place in places[1:]:
            await driver.pilot._post_mouse_events([MouseMove], screen.lanes, place, button=1)
            await driver.frames(1)
        assert driver.main.scrubbing.rewinds - before <= kept + 1
        assert driver.session_controller.is_approximate
        assert f"PAST{glyphs.ABOUT}" in driver.text()
        await driver.pilot._post_mouse_events([MouseUp], screen.lanes, places[-1], button=1)
        await driver.frames(1)
        assert driver.main.scrubbing.rewinds - before <= kept + 2
        assert driver.session_controller.view.now_us == window.instant(21, driver.session_controller.session.present_us)
        assert f"PAST{glyphs.ABOUT}" not in driver.text()


def test_a_column_is_its_beginning_and_from_that_of_the_present_on_it_is_the_present():
    window = Window(SECOND, 10, 60)
    assert window.instant(0, 40 * SECOND) == 10 * SECOND
    assert window.instant(29, 40 * SECOND + 5) == 39 * SECOND
    assert window.instant(30, 40 * SECOND + 5) == 40 * SECOND + 5
    assert window.instant(50, 40 * SECOND + 5) == 40 * SECOND + 5


async def test_the_scrubber_of_the_timeline_follows_the_pointer_and_stays_there():
    async with driving(session=small()) as driver:
        await driver.seconds(4)
        await driver.press("4")
        screen = driver.app.screen
        line, window = line_of(screen.lanes, TIME), screen.shown().window
        places = [(LABEL + column, line) for column in (60, 50, 40, 30, 20)]
        before = driver.main.scrubbing.rewinds
        await drag(driver, screen.lanes, *places)
        assert driver.main.scrubbing.rewinds == before + 2, "no frame has come meanwhile, and then it was let go"
        assert driver.session_controller.view.now_us == 20 * window.unit_us
        await driver.frames(2)
        assert driver.main.scrubbing.rewinds == before + 2
        assert driver.session_controller.view.now_us == 20 * window.unit_us
        assert driver.session_controller.session.in_past
        assert driver.session_controller.paused
        await driver.frames(5)
        assert driver.session_controller.view.now_us == 20 * window.unit_us
        assert "PAST" in driver.text()


async def test_dragged_beyond_the_end_it_is_the_present_and_beyond_the_lanes_it_continues():
    async with driving(session=small()) as driver:
        await driver.seconds(4)
        await driver.press("4")
        lanes = driver.app.screen.lanes
        line = line_of(lanes, TIME)
        await drag(driver, lanes, (LABEL + 20, line), (LABEL + 30, line + 8), frames=1)
        assert driver.session_controller.view.now_us == 30 * driver.app.screen.shown().window.unit_us
        await drag(driver, lanes, (LABEL + 20, line + 1), (lanes.size.width - 1, line), frames=1)
        assert not driver.session_controller.session.in_past
        await drag(driver, lanes, (LABEL + 20, line), (0, line), frames=1)
        assert driver.session_controller.view.now_us == driver.session_controller.session.timeline.first_us


async def test_a_button_let_go_out_of_sight_ends_the_drag():
    async with driving(session=small()) as driver:
        await driver.seconds(4)
        await driver.press("4")
        lanes = driver.app.screen.lanes
        line = line_of(lanes, TIME)
        await driver.pilot.mouse_down(lanes, offset=(LABEL + 20, line), button=1)
        await driver.pilot.hover(lanes, offset=(LABEL + 25, line))
        await driver.frames(2)
        await driver.pilot.hover(lanes, offset=(LABEL + 30, line))
        await driver.frames(2)
        assert driver.session_controller.view.now_us == 20 * driver.app.screen.shown().window.unit_us
        assert driver.app.mouse_captured is None


async def test_all_of_the_strip_at_the_foot_is_a_scrubber():
    async with driving((120, 60), session=small()) as driver:
        await driver.seconds(4)
        strip = driver.main.timeline
        unit_us = strip.window.unit_us
        await drag(driver, strip, (LABEL + 10, 0), (LABEL + 15, 1), (LABEL + 25, 2), frames=1)
        assert driver.session_controller.view.now_us == 25 * unit_us
        assert driver.session_controller.session.in_past


async def test_dragging_does_not_change_the_session():
    digests = []
    for dragged in (False, True):
        async with driving(session=small()) as driver:
            await driver.seconds(3)
            if dragged:
                await driver.press("4")
                lanes = driver.app.screen.lanes
                line = line_of(lanes, TIME)
                await drag(driver, lanes, *[(LABEL + column, line) for column in (50, 30, 10, 40)], frames=1)
                await driver.press("backspace", "space")
            await driver.seconds(1)
            digests.append((driver.session_controller.view.now_us, driver.session_controller.session.cluster.digest()))
    assert digests[0] == digests[1]
