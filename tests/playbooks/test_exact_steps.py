"""Steps that end a session, act at an exact place within an instant, or heal a fault by its number."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.session import Session
from playbooks.errors import PlaybookError
from playbooks.parser.loader import loads
from playbooks.timetravel.timeline import Timeline
from tests.support.mistakes import keys, messages, mistakes_of
from tests.support.playbooks import timed

SECOND = 1_000_000


def crowded() -> tuple[int, int]:
    """An instant of the small cluster with several events, and how many have been handled after its first."""
    session = Session.start(timed(settle="9s"))
    session.advance(600_000)
    while True:
        session.advance(3 * SECOND, 1)
        if session.cluster.next_event_us() == session.cluster.now_us:
            return session.cluster.now_us, session.cluster.executed


AT_US, EXECUTED = crowded()
EXACT = timed(
    f"- {{at: {AT_US}us, executed: {EXECUTED}, inject: crash, target: leader(orders-0)}}\n"
    f"- {{at: {AT_US}us, executed: {EXECUTED}, inject: lag, target: broker(2)}}\n"
    "- {at: 4s, heal: 2}\n- {at: 5s, settle: now}",
    settle="2s",
)


def test_a_step_acts_between_two_events_of_its_time() -> None:
    session = Session.start(EXACT)
    places = []
    session.on_step = lambda step: places.append((session.cluster.now_us, session.cluster.executed))
    session.finish()
    assert places[:2] == [(AT_US, EXECUTED)] * 2
    later = Session.start(timed(f"- {{at: {AT_US}us, inject: crash, target: leader(orders-0)}}", settle="2s"))
    later.on_step = lambda step: places.append((later.cluster.now_us, later.cluster.executed))
    later.finish()
    assert places[-1][1] > EXECUTED


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.integers(0, SECOND), st.integers(0, 300)), max_size=8))
def test_slices_do_not_move_it(slices: list[tuple[int, int]]) -> None:
    session = Session.start(EXACT)
    for time_us, events in slices:
        session.advance(session.cluster.now_us + time_us, events)
    assert session.finish().digest == whole()


@cache
def whole() -> str:
    """The digest of it in one piece."""
    return Session.start(EXACT).finish().digest


@pytest.mark.slow
def test_going_back_comes_by_it_again() -> None:
    timeline = Timeline(Session.start(EXACT), nearest=100)
    digests = {}
    while timeline.advance(timeline.session.cluster.now_us + 400_000):
        digests[timeline.session.cluster.now_us] = timeline.session.cluster.digest()
    for at_us, digest in digests.items():
        assert timeline.seek_time(at_us).cluster.digest() == digest


@pytest.mark.slow
@pytest.mark.parametrize("executed", [0, 5, 10**9])
def test_a_place_that_is_not_in_its_time_is_the_nearest_one_that_is(executed: int) -> None:
    session = Session.start(timed(f"- {{at: 1s, executed: {executed}, inject: lag, target: broker(2)}}", settle="1s"))
    places: list[int] = []
    session.on_step = lambda step: places.append(session.cluster.now_us)
    assert session.finish().verdict == "pass"
    assert places == [SECOND]


def test_settling_begins_when_the_playbook_says_so() -> None:
    steps = "- {at: 1s, inject: crash, target: broker(2), for: 30s}\n- {at: 2s, settle: now}"
    result = Session.start(timed(steps, "- eventually: under_replicated() == 0\n  since: heal", settle="9s")).finish()
    assert (result.verdict, result.virtual_us) == ("pass", 11 * SECOND)


def test_a_session_stops_with_everything_broken() -> None:
    steps = "- {at: 1s, inject: crash, target: broker(2)}\n- {when: under_replicated() > 0, within: 1m, stop: now}"
    result = Session.start(timed(steps, "- under_replicated() >= 1", settle="9s")).finish()
    assert result.verdict == "pass"
    assert result.reason == ""


def test_the_fault_of_that_number_is_healed_and_no_other() -> None:
    steps = (
        "- {at: 1s, inject: lag, target: broker(2)}\n- {at: 1s, inject: lag, target: broker(3)}\n- {at: 2s, heal: 1}\n"
        "- {at: 3s, stop: now}"
    )
    session = Session.start(timed(steps, settle="1s"))
    session.finish()
    assert [fault.id for fault in session.board.active()] == [2]


@pytest.mark.parametrize(
    ("steps", "wrong"),
    [
        ("- {at: 1s, settle: later}", ["steps[1].settle"]),
        ("- {at: 1s, heal: 0}", ["steps[1].heal"]),
        ("- {at: 1s, heal: 1.5}", ["steps[1].heal"]),
        ("- {after: 1s, executed: 5, heal: all}", ["steps[1].executed"]),
        ("- {at: 1s, executed: -5, heal: all}", ["steps[1].executed"]),
        ("- {at: 1s, stop: now}\n- {at: 2s, heal: all}", ["steps[2]"]),
        ("- {at: 1s, settle: now, for: 3s}", ["steps[1].for"]),
        ("- {at: 1s, settle: now, heal: all}", ["steps[1]"]),
    ],
)
def test_mistakes_are_reported(steps: str, wrong: list[str], snapshot: SnapshotAssertion) -> None:
    problems = mistakes_of(lambda: timed(steps))
    assert keys(problems) == wrong
    assert messages(problems) == snapshot


def test_a_manual_playbook_has_none_of_them() -> None:
    text = "floodmark: 1\nname: m\nstepping: manual\ntopics: [{name: t, placement: [[1]]}]\nsteps:\n  - settle: now\n"
    with pytest.raises(PlaybookError):
        loads(text, "m.yaml")
