"""Mode timeline: where marks and their names stand, going through them, and the screen."""

from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.protocol import events
from faults.declarations.fault import Action
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from tests.playbooks.diagnosis.test_point_of_no_return import TAIL
from tests.support.playbooks import timed
from tests.tui.driving import Driver, driving, in_feed, trimmed
from tests.tui.viewmodel.timeline.test_feed import elected
from tests.tui.viewmodel.timeline.test_tape import ALL, acked, down, taped
from tui.app import FloodmarkApp
from tui.keybindings.scopes import LANES as LANE_KEYS
from tui.screens import layout
from tui.screens.autopsy import AutopsyScreen
from tui.screens.modes.timeline import TimelineScreen
from tui.session.background_tasks import findings_so_far
from tui.session.session_controller import SessionController
from tui.terminal import glyphs
from tui.terminal.frame_clock import StepClock
from tui.terminal.theme import Appearance
from tui.viewmodel.timeline import selection
from tui.viewmodel.timeline.event_text import CLIENTS, CLUSTER, FAULTS, LANES, SAFETY
from tui.viewmodel.timeline.timeline_rows import (
    LABEL,
    LOAD,
    LONGEST,
    UNITS,
    Drawer,
    TimelineView,
    Window,
    across,
    around,
    fit,
    step,
    stop_at,
    stops,
    tick_text,
    ticks,
    unit_text,
    zoomed,
)
from tui.widgets.timeline import paint

SECOND = 1_000_000
SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
LOST_US = 45 * SECOND


def injected(at_us, broker=1, fault="crash"):
    return events.FaultInjected(at_us, broker, fault, f"broker {broker}", -1, "")


def isr(at_us, partition, out=2):
    return events.IsrChanged(at_us, partition, 1, 4, 7, (1,), (1, out), "leader")


def shown(columns=60, unit_us=SECOND, now_us=30 * SECOND, first=0, present_us=None, lanes=ALL, selected=None):
    return TimelineView(
        Window(unit_us, first, columns), now_us, now_us if present_us is None else present_us, lanes, selected
    )


def text(row):
    return "".join(piece for piece, *_appearance in row.spans)


def drawn(tape, looked, lines=1):
    """Lane → its lines as text."""
    found = {}
    for row in Drawer().rows(tape, looked, ALL, lines, keys=LANE_KEYS):
        found.setdefault(row.lane, []).append(text(row))
    return found


# -- windows ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**12), st.integers(1, 250))
def test_the_whole_session_fits_and_zooming_stays_on_the_ladder(present_us, columns):
    unit_us = fit(present_us, columns)
    assert present_us // unit_us < columns or unit_us == UNITS[-1]
    assert zoomed(unit_us, -3, unit_us) == unit_us
    assert zoomed(unit_us, 2, unit_us) <= unit_us
    assert zoomed(UNITS[0], 1, unit_us) == UNITS[0]


@given(st.integers(0, 10**9), st.integers(1, 250), st.sampled_from(UNITS[:20]))
def test_a_window_holds_what_it_is_wanted_for_and_stays_while_it_does(at_us, columns, unit_us):
    window = around(at_us, unit_us, columns)
    assert window.holds(at_us)
    assert around(window.start_us, unit_us, columns, window) is window
    assert all(0 <= column < columns for column, _text in ticks(window))


@pytest.mark.parametrize(
    ("at_us", "told"), [(0, "0s"), (2_500_000, "2.5s"), (80_000_000, "01:20"), (60_500_000, "01:00.500")]
)
def test_times_on_the_ruler_are_short(at_us, told):
    assert tick_text(at_us) == told


def test_every_width_of_a_column_has_a_name_of_its_own():
    told = [unit_text(unit_us) for unit_us in UNITS]
    assert len({*told}) == len(told)
    assert told[:2] == ["100us", "150us"]
    assert {"1.5ms", "200ms", "1.5s", "2m30s"} <= {*told}


# -- lanes -----------------------------------------------------------------------------------------------------------


def test_marks_stand_where_they_happened_with_their_names():
    lanes = drawn(taped(injected(5 * SECOND), down(5 * SECOND), elected("orders-0", 9 * SECOND)), shown())
    assert lanes[FAULTS][0].startswith("─────▾crash b1──")
    assert lanes[CLUSTER][0].startswith("─────✕")
    assert lanes[CLUSTER][0][9:16] == "★b2 e4─"
    assert lanes[CLUSTER][0][30] == glyphs.RULE
    assert lanes[CLUSTER][0][31:].strip() == "", "nothing has passed there yet"


def test_merged_marks_carry_their_number():
    tape = taped(*[isr(SECOND, f"orders-{number}") for number in range(12)], down(SECOND + 5))
    (stop,) = stops(CLUSTER, tape.lanes[CLUSTER], Window(SECOND, 0, 60))
    assert (stop.text, stop.glyph, stop.times) == ("b1 down +12", glyphs.DOWN, 13)
    near = stops(CLUSTER, tape.lanes[CLUSTER], Window(1, SECOND, 60))
    assert [each.text for each in near] == ["12 ISR changes", "b1 down"]


def test_the_tape_stays_as_it_is_when_marks_are_merged_for_a_picture():
    tape = taped(isr(SECOND, "orders-0"), isr(SECOND + 1, "orders-1"))
    for _ in range(3):
        (stop,) = stops(CLUSTER, tape.lanes[CLUSTER], Window(SECOND, 0, 60))
        assert stop.text == "2 ISR changes"


def test_where_names_would_overlap_those_that_matter_least_give_way():
    tape = taped(isr(5 * SECOND, "orders-0"), down(8 * SECOND), elected("orders-0", 11 * SECOND))
    assert drawn(tape, shown())[CLUSTER][0].startswith("─────◆──✕──★b2 e4───")
    first, second = drawn(tape, shown(), 2)[CLUSTER]
    assert first.startswith("─────◆──✕──★b2 e4───")
    assert second.startswith("        ✕b1 down ")


def test_a_mark_is_never_left_out():
    tape = taped(*[down(at * SECOND) for at in range(40)])
    assert drawn(tape, shown())[CLUSTER][0].count(glyphs.DOWN) == 40


def test_long_and_wide_names_are_cut_to_cells():
    tape = taped(events.GuardActed(0, "全角" * 3, "d" * 60, "crash", "x", "y"))
    (stop,) = stops(FAULTS, tape.lanes[FAULTS], Window(SECOND, 0, 60))
    assert len(stop.text) == LONGEST
    assert stop.text.startswith("guard ??????")


def test_the_load_shows_where_there_was_none():
    tape = taped(*[acked(at * SECOND // 2, 50 if at < 10 else 400) for at in range(60) if not 20 <= at < 30])
    line = drawn(tape, shown())[LOAD][0]
    assert line[:5] == glyphs.SPARK[0] * 5
    assert line[5:10] == glyphs.SPARK[-1] * 5
    assert line[10:15] == glyphs.NOTHING * 5
    assert line[30:].strip() == ""


def test_the_time_reports_the_past_from_the_present_and_from_what_is_to_come():
    rows = Drawer().rows(taped(), shown(now_us=10 * SECOND, present_us=20 * SECOND), ALL, 1, keys=LANE_KEYS)
    time, ruler = text(rows[-2]), text(rows[-1])
    assert time == glyphs.PASSED * 10 + glyphs.IN_SYNC + glyphs.EDGE * 9 + glyphs.PLAY + glyphs.FUTURE * 39
    assert ruler.startswith("0s        ▲ 00:10.000")
    assert ruler[40:43] == "40s"


def test_the_time_is_reported_at_the_right_edge_too():
    rows = Drawer().rows(taped(), shown(now_us=58 * SECOND), ALL, 1, keys=LANE_KEYS)
    assert text(rows[-1])[48:59] == "00:58.000 ▲"


def test_a_hidden_lane_says_so_and_is_not_gone_through():
    tape = taped(injected(5 * SECOND), down(6 * SECOND))
    looked = shown(lanes=(CLUSTER, LOAD))
    assert "hidden" in drawn(tape, looked)[FAULTS][0]
    assert step(tape, looked, -1).lane == CLUSTER


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 3)), max_size=60), st.integers(1, 200), st.integers(1, 3))
def test_every_line_is_as_wide_as_the_lanes_whatever_happened(happened, columns, lines):
    kinds = (injected, down, lambda at: isr(at, "orders-0"), lambda at: elected("orders-0", at))
    tape = taped(*[kinds[kind](at * SECOND) for at, kind in sorted(happened)])
    looked = shown(columns, fit(90 * SECOND, columns), 90 * SECOND, selected=(CLUSTER, 30 * SECOND))
    for row in Drawer().rows(tape, looked, ALL, lines, keys=LANE_KEYS):
        assert sum(len(piece) for piece, *_appearance in row.label) == LABEL
        assert len(text(row)) in (0, columns) or "hidden" in text(row)
        for appearance in (Appearance(), Appearance(colour=False), Appearance(glyphs="ascii")):
            assert paint(row, LABEL + columns, appearance).cell_length == LABEL + columns
        assert "".join(part.text for part in paint(row, LABEL + columns, Appearance(glyphs="ascii"))).isascii()


# -- going through ---------------------------------------------------------------------------------------------------

STORY = (injected(5 * SECOND), down(5 * SECOND), isr(9 * SECOND, "orders-0"), injected(20 * SECOND, 2))


def test_all_marks_are_gone_through_in_the_order_of_time_and_of_lanes():
    tape, selected, seen = taped(*STORY), None, []
    while (stop := step(tape, shown(selected=selected), -1)) is not None:
        selected = (stop.lane, stop.at_us)
        seen.append(selected)
    assert seen == [(FAULTS, 20 * SECOND), (CLUSTER, 9 * SECOND), (CLUSTER, 5 * SECOND), (FAULTS, 5 * SECOND)]
    back = [selected]
    while (stop := step(tape, shown(selected=selected), 1)) is not None:
        selected = (stop.lane, stop.at_us)
        back.append(selected)
    assert back == seen[::-1]


def test_with_nothing_selected_it_begins_at_the_time_looked_at():
    tape = taped(*STORY)
    looked = shown(now_us=10 * SECOND, present_us=30 * SECOND)
    assert step(tape, looked, -1).at_us == 9 * SECOND
    assert step(tape, looked, 1).at_us == 20 * SECOND
    assert step(tape, shown(), 1) is None


def test_marks_outside_of_the_window_are_found_too():
    tape = taped(*STORY)
    looked = shown(first=100, now_us=130 * SECOND)
    assert step(tape, looked, -1).at_us == 20 * SECOND


def test_up_and_down_lead_to_the_nearest_mark_of_another_lane():
    tape = taped(*STORY)
    assert across(tape, shown(selected=(FAULTS, 20 * SECOND)), 1).at_us == 9 * SECOND
    assert across(tape, shown(selected=(CLUSTER, 9 * SECOND)), -1).at_us == 5 * SECOND
    assert across(tape, shown(selected=(CLUSTER, 9 * SECOND)), 1) is None
    assert across(tape, shown(), 1).lane == FAULTS
    assert across(taped(), shown(), 1) is None


def test_a_selection_outlives_that_marks_grow_together():
    tape = taped(*[down(at * SECOND) for at in range(8)])
    lane = tape.lanes[CLUSTER]
    while lane.width_us < 8 * SECOND:
        lane._widen()
    assert stop_at(tape, CLUSTER, 5 * SECOND, SECOND).times == 8
    assert stop_at(taped(), CLUSTER, 5 * SECOND, SECOND) is None


# -- what is known of a mark -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lost():
    """A bridge 45 seconds into a session that has lost records: in the past only while a test wants it there."""
    session_controller = SessionController(Session.start(loads(TAIL, "tail.yaml"), open_ended=True), StepClock())
    session_controller.session.advance(LOST_US)
    session_controller.pause(True)
    session_controller.refresh_view()
    return session_controller


def page(session_controller, lane, kind, width=100):
    """The page of the last mark of a kind, in lines."""
    marks = [mark for mark in session_controller.tape.lanes[lane].marks(0, 1 << 60) if mark.first.kind == kind]
    stop = stop_at(session_controller.tape, lane, marks[-1].at_us, 1)
    happened = selection.events_of_stop(session_controller.notable_events(stop.first_us, stop.last_us, 400), stop)
    told = selection.findings_about(findings_so_far(session_controller), happened)
    rows = selection.build_mark(stop, happened, told, (), width)
    return ["".join(piece for piece, _role in row.pieces).rstrip() for row in rows]


@pytest.mark.slow
def test_a_mark_reports_its_events_in_the_words_of_the_feed(lost):
    lines = page(lost, CLUSTER, "node_down")
    assert in_feed(events.NodeDown(0, "broker 1", 1, "crash")) in lines[1]
    assert any(line.startswith("broker     b1") for line in lines)


def test_a_mark_reports_the_findings_that_it_led_to_with_itself_in_the_chain(lost, snapshot):
    lines = page(lost, CLUSTER, "leader_elected", 200)
    (first,) = [line for line in lines if line.startswith("finding 1")]
    (here,) = [line for line in lines if line.startswith(f"  {glyphs.MARKER}")]
    assert first.split()[2:] == findings_so_far(lost)[0].sentence.split()[: len(first.split()) - 2]
    assert [first, here] == snapshot


def test_a_loss_reports_its_whole_chain(lost, snapshot):
    lines = page(lost, SAFETY, "records_missing", 200)
    assert sum(line.startswith("finding 1") for line in lines) == 1
    chain = lines[next(at for at, line in enumerate(lines) if line.startswith("finding 1")) :]
    assert chain[: 2 + len(findings_so_far(lost)[0].chain)] == snapshot


def test_of_many_events_the_first_are_reported_and_the_rest_counted(snapshot):
    tape = taped(*[elected(f"orders-{number}", leader=number) for number in range(500)])
    stop = stop_at(tape, CLUSTER, 10, SECOND)
    told = [elected(f"orders-{number}", leader=number) for number in range(selection.EVENTS_READ)]
    rows = selection.build_mark(stop, told, (), (), 80)
    assert [row.pieces[0][0] for row in rows if "400" in row.pieces[0][0]] == snapshot
    assert len(rows) < selection.LINES + 6


def test_notable_events_are_found_by_time_span(lost):
    happened = lost.notable_events(0, LOST_US, 10_000)
    assert happened == sorted(happened, key=lambda event: event.at_us)
    first, last = happened[3].at_us, happened[-3].at_us
    assert lost.notable_events(first, last, 10_000) == [each for each in happened if first <= each.at_us <= last]
    assert lost.notable_events(first, last, 2) == lost.notable_events(first, last, 10_000)[:2]


# -- the screen ------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def over(session_controller, size="120x40", mode="4", **more):
    app = FloodmarkApp(session_controller, playbook="tail", seed=7, **more)
    try:
        async with app.run_test(size=SIZES[size]) as pilot:
            await pilot.pause()
            driver = Driver(pilot, app, session_controller.clock)
            await driver.press(mode)
            await pilot.pause()
            yield driver
    finally:
        session_controller.to_present()


@pytest.mark.slow
@pytest.mark.parametrize("appearance", ["", "ascii"])
async def test_the_page(lost, golden, appearance):
    async with over(lost, glyphs=appearance or "unicode") as driver:
        assert isinstance(driver.app.screen, TimelineScreen)
        await driver.press("left", "left", "left", "left")
        async for name in driver.at_sizes({"120x40": SIZES["120x40"]} if appearance else SIZES):
            assert trimmed(driver.text()) == golden(f"timeline-{appearance}{'-' * bool(appearance)}{name}")


@pytest.mark.slow
async def test_a_mark_is_gone_to_and_left_again(lost, snapshot):
    async with over(lost) as driver:
        await driver.press("enter")
        unchosen = driver.toasts()[-1]
        assert not lost.session.in_past
        await driver.press("left", "enter")
        screen = driver.app.screen
        assert lost.session.in_past
        assert lost.view.now_us == screen.selected[1]
        assert "PAST" in driver.text()
        back = screen._page_pane.border_subtitle
        assert back in driver.text()
        assert [unchosen, back] == snapshot
        await driver.press("enter")
        assert not lost.session.in_past
        await driver.press("shift+left")
        assert lost.view.now_us == LOST_US - SECOND


@pytest.mark.slow
async def test_it_moves_on_with_the_session():
    async with driving((80, 24), session=Session.start(timed(), open_ended=True)) as driver:
        await driver.press("4")
        await driver.seconds(1)
        before = driver.text()
        assert "▲ 00:01.000" in before
        driver.session_controller.act(Action("inject", "crash", "broker(1)"))
        await driver.seconds(1)
        assert "00:02.000" in driver.text()
        assert "crash b1" in driver.text()
        assert "crash b1" not in before


@pytest.mark.slow
async def test_zoom_scroll_and_follow(lost, snapshot):
    async with over(lost) as driver:
        screen = driver.app.screen
        await driver.press("pageup")
        assert driver.toasts()[-1] == snapshot
        whole = screen.shown().window
        await driver.press("plus", "plus", "plus")
        near = screen.shown().window
        assert near.unit_us < whole.unit_us
        assert near.holds(LOST_US)
        await driver.press("pageup")
        assert screen.shown().window.first == near.first - near.columns // 2
        await driver.press("end")
        assert screen.shown().window.holds(LOST_US)
        await driver.press("minus", "minus", "minus", "minus")
        assert screen.shown().window == whole
        await driver.press("equals_sign", "z")
        assert screen.shown().window == whole


@pytest.mark.slow
async def test_lanes_are_hidden_by_their_keys_and_by_a_click_on_their_names(lost):
    async with over(lost) as driver:
        await driver.press("t", "down")
        assert driver.app.screen.selected[0] == CLUSTER
        await driver.press("c")
        assert driver.app.screen.selected is None
        assert driver.text().count("· hidden") == 2
        await driver.pilot.click("#timeline-lanes", offset=(2, 0))
        await driver.settle()
        assert driver.text().count("· hidden") == 1


@pytest.mark.slow
async def test_a_click_goes_to_that_time(lost):
    async with over(lost) as driver:
        screen = driver.app.screen
        window = screen.shown().window
        await driver.pilot.click("#timeline-lanes", offset=(LABEL + 12, len(screen.lanes.rows) - 2))
        await driver.settle()
        assert lost.view.now_us == 12 * window.unit_us
        lane = lost.tape.lanes[CLUSTER]
        stop = stops(CLUSTER, lane, window)[0]
        row = next(at for at, each in enumerate(screen.lanes.rows) if each.lane == CLUSTER)
        spot = (LABEL + window.column(stop.first_us), row)
        await driver.pilot.click("#timeline-lanes", offset=spot)
        await driver.settle()
        assert screen.selected == (CLUSTER, stop.at_us)
        assert lost.view.now_us == 12 * window.unit_us, "a click chooses a mark, two go there"
        await driver.pilot.double_click("#timeline-lanes", offset=spot)
        await driver.settle()
        assert lost.view.now_us == stop.at_us


@pytest.mark.slow
async def test_a_strip_of_it_stands_at_the_foot_of_a_tall_screen(lost):
    async with over(lost, "200x60", "1") as driver:
        strip = driver.main.timeline
        assert [row.lane for row in strip.rows][:3] == [FAULTS, CLUSTER, SAFETY]
        assert "missing" in text(strip.rows[2])
        await driver.pilot.click("#timeline", offset=(LABEL + 20, 3))
        await driver.settle()
        assert lost.view.now_us == 20 * strip.window.unit_us
        built = strip.built
        driver.main.present()
        await driver.settle()
        assert strip.built == built


def test_the_strip_is_there_where_everything_else_keeps_its_room():
    for size, there in {(80, 24): False, (120, 40): False, (120, 52): True, (200, 60): True}.items():
        boxes = layout.plan(*size, partitions=10, replicas=3, clients=7)
        assert ("timeline-pane" in boxes) == there
        assert boxes["lanes-pane"].height >= 7
        assert boxes["feed-pane"].height >= 5


# -- from the autopsy ------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_number_in_the_autopsy_goes_to_that_frame(lost, snapshot):
    async with over(lost, "120x40", "n") as driver:
        assert isinstance(driver.app.screen, AutopsyScreen)
        frames = driver.app.screen.case.frames
        await driver.press("5")
        assert len(frames) == 4
        assert driver.toasts()[-1] == snapshot
        await driver.press("2")
        assert not isinstance(driver.app.screen, AutopsyScreen)
        assert lost.view.now_us == frames[1].at_us
        assert lost.paused
        assert "PAST" in driver.text()


def test_clients_and_their_lane():
    reset = events.ConsumerReset(SECOND, "billing/0", "billing", "orders-0", 7, 3)
    assert drawn(taped(reset), shown())[CLIENTS][0].startswith("─↺reset to 7─")
    assert LANES == (FAULTS, CLUSTER, CLIENTS, SAFETY)
