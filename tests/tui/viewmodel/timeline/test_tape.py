"""The bins of the timeline: nothing is lost in them, and a long session makes them no longer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.protocol import events
from cluster_model.protocol.events import DATA_KINDS, KINDS
from tests.tui.viewmodel.timeline.test_feed import elected, sample
from tui.keybindings.scopes import LANES as LANE_KEYS
from tui.viewmodel.timeline import event_feed, event_text
from tui.viewmodel.timeline.event_feed import LOAD_BIN_US, MOST, QUIET_KINDS, Load, Mark, TapeLane, TimelineMarks
from tui.viewmodel.timeline.event_text import CLIENTS, CLUSTER, FAULTS, LANES, SAFETY
from tui.viewmodel.timeline.timeline_rows import LOAD, Drawer, TimelineView, Window, fit

SECOND = 1_000_000
ALL = (*LANES, LOAD)


def down(at_us, broker=1):
    return events.NodeDown(at_us, f"broker {broker}", broker, "crash")


def acked(at_us, count):
    return sample("records_acked", at_us=at_us, count=count)


def taped(*happened):
    made = TimelineMarks()
    made.take(happened)
    return made


def marks(lane):
    return list(lane.marks(0, 1 << 60))


def test_every_rare_kind_has_its_lane_and_its_names():
    rare = set(KINDS) - DATA_KINDS - QUIET_KINDS
    assert set(event_text.EVENT_NOUNS) == rare
    assert {sort.lane for sort in event_text.EVENT_NOUNS.values()} == set(LANES)
    assert tuple(event_feed.WEIGHTS)[-1] == "lost"


def test_every_rare_kind_makes_a_mark_with_a_short_name():
    for kind in event_text.EVENT_NOUNS:
        made = taped(sample(kind))
        (mark,) = [mark for lane in made.lanes.values() for mark in marks(lane)]
        assert event_text.mark_label(mark.first, 1, mark.records, mark.role), kind
        assert mark.role in event_feed.WEIGHTS, kind


def test_data_and_the_operators_own_steps_make_no_mark():
    made = taped(acked(1, 5), sample("appended"), events.StepTaken(10, "operator", "broker(1)", "crash", ""))
    assert not any(len(lane) for lane in made.lanes.values())


def test_events_stand_in_the_lane_of_their_kind():
    made = taped(
        events.FaultInjected(1, 1, "crash", "broker 1", -1, ""), down(2), sample("consumer_reset", at_us=3),
        sample("records_lost", at_us=4),
    )  # fmt: skip
    assert {name: [mark.first.kind for mark in marks(made.lanes[name])] for name in LANES} == {
        FAULTS: ["fault_injected"], CLUSTER: ["node_down"], CLIENTS: ["consumer_reset"], SAFETY: ["records_lost"],
    }  # fmt: skip


def test_equal_events_of_an_time_are_one_mark_and_an_unclean_election_is_another():
    unclean = events.LeaderElected(10, "orders-9", 2, 4, 7, (2,), False, "operator")
    made = taped(elected("orders-0"), elected("orders-1"), unclean)
    assert [(mark.times, mark.role) for mark in marks(made.lanes[CLUSTER])] == [(2, "strong"), (1, "alarm")]


@given(st.lists(st.integers(0, 400), min_size=1, max_size=60), st.integers(0, 5))
def test_bins_that_grow_keep_every_event(gaps, doublings):
    made, at_us = TapeLane(), 0
    for gap in gaps:
        at_us += gap
        made.add(Mark(down(at_us), "x", "down", at_us, 1, 2))
    for _ in range(doublings):
        made._widen()
    there = marks(made)
    assert sum(mark.times for mark in there) == len(gaps)
    assert sum(mark.records for mark in there) == 2 * len(gaps)
    assert max(mark.last_us for mark in there) == at_us
    assert len({mark.at_us // made.width_us for mark in there}) == len(made)


@pytest.mark.slow
@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.integers(0, 2000), st.integers(0, 6))
def test_the_neighbours_of_a_time_are_found_however_wide_the_bins(gaps, at_us, doublings):
    made, now_us, times = TapeLane(), 0, []
    for gap in gaps:
        now_us += gap
        made.add(Mark(down(now_us), "x", "down", now_us))
    for _ in range(doublings):
        made._widen()
    times = [mark.at_us for mark in marks(made)]
    assert made.after(at_us) == min((each for each in times if each >= at_us), default=-1)
    assert made.before(at_us) == max((each for each in times if each < at_us), default=-1)
    assert [mark.at_us for mark in made.marks(at_us, at_us + 50)] == [t for t in times if at_us <= t < at_us + 50]


@pytest.mark.slow
def test_a_long_session_makes_no_longer_a_lane_and_no_slower_a_frame():
    """Work is counted, not timed: a picture of all of it touches the bins and never the events."""
    made = TapeLane()
    for number in range(20 * MOST):
        made.add(Mark(down(number * 700_000, number % 3), "x", "down", number * 700_000))
    assert MOST // 2 <= len(made) <= MOST
    assert sum(mark.times for mark in marks(made)) == 20 * MOST
    assert made.work < 4 * 20 * MOST, "adding an event must cost the same, early and late"


@pytest.mark.slow
def test_a_frame_costs_no_more_late_than_early_and_nothing_where_nothing_changed():
    made, drawer, costs = TimelineMarks(), Drawer(), []
    for number in range(1, 8 * MOST + 1):
        made.take([down(number * 500_000), acked(number * 500_000, 3)])
        if number % (2 * MOST) == 0:
            before = made.lanes[CLUSTER].work
            shown = TimelineView(Window(fit(number * 500_000, 180), 0, 180), number * 500_000, number * 500_000, ALL)
            drawer.rows(made, shown, ALL, 2, keys=LANE_KEYS)
            costs.append(made.lanes[CLUSTER].work - before)
            drawer.rows(made, shown, ALL, 2, keys=LANE_KEYS)
            assert made.lanes[CLUSTER].work - before == costs[-1], "a lane that did not change was drawn again"
    assert max(costs) <= MOST
    assert len(made.load.counts) <= MOST


def test_the_load_is_kept_however_wide_its_bins_are():
    load = Load()
    for number in range(3 * MOST):
        load.add(number * LOAD_BIN_US, 2)
    assert sum(load.counts) == 6 * MOST
    assert len(load.counts) <= MOST
    assert load.width_us == 4 * LOAD_BIN_US
    assert load.rate(0, 8 * LOAD_BIN_US) == 2 * SECOND // LOAD_BIN_US
    assert load.rate(1 << 50, 1 << 51) == 0


def test_a_pause_in_the_load_is_seen():
    load = Load()
    load.add(0, 10)
    load.add(5 * SECOND, 10)
    assert [bool(load.rate(at * SECOND, (at + 1) * SECOND)) for at in range(6)] == [True] + [False] * 4 + [True]
