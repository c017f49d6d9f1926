"""Any instant of a session made again from a keyframe before it: exact, cheap by count, within its budget."""

import gc
import tracemalloc
from collections.abc import Iterable
from itertools import pairwise

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.kernel.rng import RandomStream
from faults.declarations.fault import Action, FaultError
from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.timetravel.timeline import Timeline, TimelineError
from tests.support.playbooks import CLUSTER, CRASH
from tests.support.wording import masked_text

pytestmark = pytest.mark.slow

SECOND = 1_000_000
FOREVER = 1 << 62
PLAYBOOK = loads(CRASH.replace("rate: 100/s", "rate: 20/s"), "crash.yaml")
LIVE = loads(CLUSTER.replace("rate: 100/s", "rate: 20/s") + "settle: 2s\n", "live.yaml")
NEAREST = 150
OFTEN = {"nearest": NEAREST, "bytes_per_event": 100}
"""A keyframe for every so many events, whatever its bytes."""

ACTIONS = (
    (1_000_000, Action("inject", "lag", "followers(orders-0)", {"latency": 20_000}, 4_000_000)),
    (2_500_000, Action("inject", "power_loss", "leader(orders-0)")),
    (2_500_000, Action("inject", "gc_pause", "random(followers(orders-0))", {}, 700_000)),
    (3_000_000, Action("inject", "restart", "broker(2)")),  # refused: it is up
    (9_000_000, Action("inject", "restart", "broker(1)")),
    (14_000_000, Action("admin", "elect_leaders", "", {"partition": "orders-0", "unclean": False})),
    (15_000_000, Action("heal", "all")),
)
"""What an operator does, and when; one is refused, two share an instant."""
LIVE_END = 20_000_000


def play(session: Session | Timeline, until_us: int = LIVE_END) -> None:
    """The operator's evening, or as much of it as fits and is still to come."""
    now_us = session.session.cluster.now_us if isinstance(session, Timeline) else session.cluster.now_us
    for at_us, action in ACTIONS:
        if now_us < at_us <= until_us:
            session.advance(at_us)
            try:
                session.act(action)
            except FaultError:
                assert action.name == "restart"
    session.advance(until_us)


def timed() -> Timeline:
    timeline = Timeline(Session.start(PLAYBOOK), **OFTEN)
    while timeline.advance(timeline.session.cluster.now_us + 700_000):
        pass
    return timeline


def lived(**settings: int) -> Timeline:
    timeline = Timeline(Session.start(LIVE, open_ended=True), **{**OFTEN, **settings})
    play(timeline)
    return timeline


def state(session: Session) -> tuple[object, ...]:
    """Everything that can be seen of a session at an instant."""
    cluster = session.cluster
    return (cluster.digest(), cluster.view(), session.position(), session.phase, session.board.active())


def live_states(places: Iterable[int]) -> dict[int, tuple[object, ...]]:
    """What the operator's evening stands at, at each of these instants, in one that is never left."""
    seen = {}
    unbroken = Session.start(LIVE, open_ended=True)
    for at_us in sorted(set(places)):
        play(unbroken, at_us)
        seen[at_us] = state(unbroken)
    return seen


def instants(last: int, count: int) -> list[int]:
    """Somewhere, everywhere: the ends, and draws in no order."""
    draw = RandomStream(5, "instants")
    return [last, 0, *(draw.below(last) for _ in range(count)), last]


def test_any_time_of_a_timed_session_is_as_it_was() -> None:
    timeline = timed()
    places = instants(timeline.session.cluster.now_us, 30)
    seen = {}
    unbroken = Session.start(PLAYBOOK)
    for at_us in sorted(set(places)):
        unbroken.advance(at_us)
        seen[at_us] = state(unbroken)
    for at_us in places:
        assert state(timeline.seek_time(at_us)) == seen[at_us]


def test_right_after_any_event_of_a_timed_session_it_is_as_it_was() -> None:
    timeline = timed()
    places = instants(timeline.session.cluster.executed, 30)
    seen = {}
    unbroken = Session.start(PLAYBOOK)
    for executed in sorted(set(places)):
        if executed:
            unbroken.advance(FOREVER, executed - unbroken.cluster.executed)
        seen[executed] = state(unbroken)
    for executed in places:
        assert state(timeline.seek_event(executed)) == seen[executed]


def test_any_time_of_a_live_session_is_as_it_was() -> None:
    timeline = lived()
    places = (*instants(LIVE_END, 30), *(at_us for at_us, _action in ACTIONS))
    seen = live_states(places)
    for at_us in places:
        assert state(timeline.seek_time(at_us)) == seen[at_us]


def test_right_after_any_event_of_a_live_session_it_is_as_it_was() -> None:
    timeline = lived()
    places = sorted(instants(timeline.session.cluster.executed, 40))
    seen = {}
    unbroken = Session.start(LIVE, open_ended=True)
    waiting = list(ACTIONS)
    for executed in places:
        while unbroken.cluster.executed < executed:
            until = waiting[0][0] if waiting else LIVE_END
            unbroken.advance(until, executed - unbroken.cluster.executed)
            if unbroken.cluster.executed < executed and waiting:
                try:
                    unbroken.act(waiting.pop(0)[1])
                except FaultError:
                    continue
        seen[executed] = state(unbroken)
    for executed in instants(timeline.session.cluster.executed, 40)[1:-1]:
        assert state(timeline.seek_event(executed)) == seen[executed]


def test_a_live_session_settles_in_the_past_where_it_did() -> None:
    timeline = lived()
    timeline.settle()
    timeline.advance(LIVE_END + SECOND)
    at_us = LIVE_END + SECOND // 2

    unbroken = Session.start(LIVE, open_ended=True)
    play(unbroken)
    unbroken.settle()
    unbroken.advance(at_us)

    past = timeline.seek_time(at_us)
    assert past.phase == "settling"
    assert state(past) == state(unbroken)


def test_keyframes_and_seeks_leave_the_session_alone() -> None:
    timeline = timed()
    for at_us in instants(timeline.session.cluster.now_us, 10):
        timeline.seek_time(at_us)
    assert timeline.finish().to_json() == Session.start(PLAYBOOK).finish().to_json()


def test_a_live_session_that_remembers_finishes_as_one_that_does_not() -> None:
    plain = Session.start(LIVE, open_ended=True)
    play(plain)
    assert lived().finish().to_json() == plain.finish().to_json()


def test_right_after_an_event_comes_before_what_the_operator_did_then() -> None:
    timeline = lived()
    for at_us, _action in ACTIONS[:3]:
        unbroken = Session.start(LIVE, open_ended=True)
        play(unbroken, at_us - 1)
        unbroken.advance(at_us)
        executed = unbroken.cluster.executed
        done = len(timeline.seek_time(at_us).board.active())
        assert len(timeline.seek_event(executed).board.active()) == len(unbroken.board.active()) < done


@pytest.mark.parametrize("first", [0, 2_500_000, 9_000_000, 16_000_000])
def test_the_past_runs_on_to_the_same_end(first: int) -> None:
    timeline = timed()
    timeline.seek_time(timeline.session.cluster.now_us)  # nothing of it may stay in the twin
    past = timeline.seek_time(first)
    while past.advance(past.cluster.now_us + SECOND):
        pass
    assert past.cluster.digest() == timeline.session.cluster.digest()
    assert past.finish().expectations == timeline.finish().expectations


def test_another_action_in_the_past_changes_nothing_of_the_present() -> None:
    timeline = lived()
    before = state(timeline.session)
    past = timeline.seek_time(2 * SECOND)
    past.act(Action("inject", "crash", "leader(orders-0)"))
    past.advance(2 * LIVE_END)

    assert past.cluster.digest() != timeline.session.cluster.digest()
    assert state(timeline.session) == before
    places = instants(LIVE_END, 8)
    seen = live_states(places)
    for at_us in places:
        assert state(timeline.seek_time(at_us)) == seen[at_us]
    play_on = Session.start(LIVE, open_ended=True)
    play(play_on)
    for session in (play_on, timeline.session):
        session.advance(LIVE_END + 5 * SECOND)
    assert state(timeline.session) == state(play_on)


def test_replayed_events_are_not_drained_again() -> None:
    timeline = timed()
    past = timeline.seek_time(2_500_000)
    assert past.drain() == []
    past.advance(2_600_000)
    told = past.drain()
    assert told
    assert all(event.at_us > 2_500_000 for event in told)  # type: ignore[attr-defined]


def test_a_seek_repeats_no_more_than_lies_between_two_keyframes() -> None:
    timeline = timed()
    executed = timeline.session.cluster.executed
    assert timeline.widest == NEAREST
    assert timeline.keyframes == executed // NEAREST + 1
    for place in instants(executed, 20):
        timeline.seek_event(place)
        assert timeline.replayed == place % NEAREST


def test_large_keyframes_are_taken_further_apart() -> None:
    playbook = loads(CLUSTER.replace("placement: [[1, 2, 3]]", "partitions: 60, replication: 3"), "wide.yaml")
    timeline = Timeline(Session.start(playbook, open_ended=True), nearest=50, bytes_per_event=10)
    timeline.advance(12 * SECOND)
    assert 200 < timeline.widest <= timeline.bytes // timeline.keyframes // 10 * 2
    # All but the last are paid for by then, and the last is larger than the mean: more has happened.
    assert timeline.bytes <= 10 * timeline.session.cluster.executed + timeline.bytes // timeline.keyframes * 3 // 2


def test_keyframes_stay_within_their_budget_and_grow_sparse_with_age() -> None:
    budget = 100_000
    timeline = lived(nearest=50, bytes_per_event=1_000, budget=budget)
    assert timeline.bytes <= budget
    places = timeline.kept
    assert places[0] == 0
    assert len(places) == timeline.keyframes > 8
    now = timeline.session.cluster.executed
    gaps = [end - start for start, end in pairwise(places)]
    assert gaps[0] >= 4 * gaps[-1]
    for start, gap in zip(places, gaps, strict=False):
        assert gap <= 50 + (now - start) // 2
    places_us = instants(LIVE_END, 10)
    seen = live_states(places_us)
    for at_us in places_us:
        assert state(timeline.seek_time(at_us)) == seen[at_us]
        assert timeline.replayed <= timeline.widest


def test_the_bytes_counted_are_the_bytes_held() -> None:
    session = Session.start(PLAYBOOK)
    session.advance(SECOND)
    gc.collect()
    tracemalloc.start()
    timeline = Timeline(session, nearest=8, bytes_per_event=200)
    while timeline.keyframes <= 8:
        timeline.advance(timeline.session.cluster.now_us + SECOND // 4)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    counted = timeline.bytes
    timeline._frames.clear()
    gc.collect()
    held = before - tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert 0.9 * counted < held <= counted


@pytest.mark.parametrize(("at_us", "executed"), [(-1, -1), (20_000_001, 1 << 40)])
def test_a_time_outside_of_the_session_is_refused(at_us: int, executed: int, snapshot: SnapshotAssertion) -> None:
    timeline = lived()
    with pytest.raises(TimelineError) as time:
        timeline.seek_time(at_us)
    with pytest.raises(TimelineError) as event:
        timeline.seek_event(executed)
    assert (time.value.code, event.value.code) == ("not_seen", "not_seen")
    present = timeline.session.cluster.executed
    assert [masked_text(each.value, present=present) for each in (time, event)] == snapshot


def test_positions_before_the_first_keyframe_are_refused(snapshot: SnapshotAssertion) -> None:
    session = Session.start(PLAYBOOK)
    session.advance(SECOND)
    timeline = Timeline(session)
    timeline.advance(2 * SECOND)
    with pytest.raises(TimelineError) as caught:
        timeline.seek_time(SECOND - 1)
    assert caught.value.code == "not_seen"
    assert str(caught.value) == snapshot
    assert timeline.seek_time(SECOND).cluster.now_us == SECOND


@pytest.mark.parametrize("playbook", [PLAYBOOK, LIVE])
def test_small_slices_make_the_same_keyframes(playbook: Playbook) -> None:
    kept = []
    for slices in ((SECOND, 0), (8_000, 7), (FOREVER, 1)):
        timeline = Timeline(Session.start(playbook, open_ended=True), nearest=100)
        while timeline.session.cluster.executed < 2_000:
            timeline.advance(timeline.session.cluster.now_us + slices[0], slices[1] or 2_000)
        kept.append([executed for executed in timeline.kept if executed <= 2_000])
    assert kept[0] == kept[1] == kept[2]


@pytest.mark.parametrize("slices", [(1_300_000, 0), (SECOND, 77), (FOREVER, 1)])
def test_from_an_time_on_the_past_goes_as_it_went_up_to_the_present(slices: tuple[int, int]) -> None:
    timeline = lived()
    kept, present = timeline.kept, state(timeline.session)
    for first in (13_500_000, 2_500_000) if slices[1] != 1 else (14_900_000,):
        past = timeline.seek_time(first)
        while timeline.continue_past(min(past.cluster.now_us, FOREVER - slices[0]) + slices[0], slices[1]):
            if slices[1] == 0:
                unbroken = Session.start(LIVE, open_ended=True)
                play(unbroken, past.cluster.now_us)
                assert state(past) == state(unbroken)
        assert state(past) == present
    assert timeline.kept == kept


def test_seeks_by_events_move_by_the_requested_count() -> None:
    timeline = lived()
    past = timeline.seek_time(2_400_000)
    before = past.cluster.executed
    for count in (1, 250, 3):
        assert timeline.continue_past(FOREVER, count)
        assert past.cluster.executed == before + count
        before = past.cluster.executed


def test_after_an_event_what_the_operator_did_then_comes_again() -> None:
    timeline = lived()
    executed = timeline.seek_time(999_999).cluster.executed
    past = timeline.seek_event(executed)
    timeline.continue_past(SECOND)
    assert [fault.name for fault in past.board.active()] == ["lag"]


def test_nothing_continues_before_an_time_was_sought(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(TimelineError) as caught:
        lived().continue_past(LIVE_END)
    assert caught.value.code == "nothing_sought"
    assert str(caught.value) == snapshot
