"""The event loop: order, clock, and return to an earlier state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.kernel.event_loop import LANES, EventLoop, Payload


class Log:
    """Recorder of handled events; a payload ``("again", delay)`` schedules another event when handled."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int, int, Payload]] = []
        self.kernel = EventLoop((lambda target, payload: self._note(0, target, payload), self._second))

    def _note(self, kind: int, target: int, payload: Payload) -> None:
        self.seen.append((self.kernel.now, kind, target, payload))
        if payload and payload[0] == "again":
            self.kernel.schedule(self.kernel.now + payload[1], 0, target, ("follow-up",))

    def _second(self, target: int, payload: Payload) -> None:
        self._note(1, target, payload)


def test_events_are_handled_in_order_of_time() -> None:
    log = Log()
    for at in (30, 10, 20):
        log.kernel.schedule(at, 0, at, ())
    log.kernel.run_until(100)
    assert [seen[0] for seen in log.seen] == [10, 20, 30]


def test_ties_fall_in_order_of_submission() -> None:
    log = Log()
    for name in ("z", "a", "m"):
        log.kernel.schedule(5, 0, 0, (name,))
    log.kernel.run_until(5)
    assert [seen[3] for seen in log.seen] == [("z",), ("a",), ("m",)]


def test_payloads_that_cannot_be_compared_are_no_matter() -> None:
    log = Log()
    for payload in ((object(),), ({},), (None,), ("x",)):
        log.kernel.schedule(1, 0, 0, payload)
    log.kernel.run_until(1)
    assert log.kernel.executed == 4


def test_an_event_submitted_while_its_time_is_being_handled_comes_after_those_already_there() -> None:
    log = Log()
    log.kernel.schedule(5, 0, 1, ("again", 0))
    log.kernel.schedule(5, 0, 2, ("second",))
    log.kernel.run_until(5)
    assert [seen[3][0] for seen in log.seen] == ["again", "second", "follow-up"]


def test_each_kind_goes_to_its_own_handler_with_its_target() -> None:
    log = Log()
    log.kernel.schedule(1, 1, 42, ("x",))
    log.kernel.schedule(2, 0, 43, ("y",))
    log.kernel.run_until(2)
    assert log.seen == [(1, 1, 42, ("x",)), (2, 0, 43, ("y",))]


def test_the_past_is_closed(snapshot: SnapshotAssertion) -> None:
    log = Log()
    log.kernel.run_until(10)
    with pytest.raises(ValueError, match="9 us") as caught:
        log.kernel.schedule(9, 0, 0, ())
    assert str(caught.value) == snapshot
    assert log.kernel.pending == 0
    log.kernel.schedule(10, 0, 0, ())
    assert log.kernel.next_at() == 10


def test_run_until_handles_events_due_at_its_time() -> None:
    log = Log()
    log.kernel.schedule(10, 0, 0, ("due",))
    log.kernel.schedule(11, 0, 0, ("later",))
    log.kernel.run_until(10)
    assert (log.kernel.now, log.kernel.executed, log.kernel.pending) == (10, 1, 1)
    log.kernel.run_until(10)
    assert (log.kernel.now, log.kernel.executed) == (10, 1)


def test_run_until_advances_time_without_events() -> None:
    log = Log()
    log.kernel.run_until(123_456_789)
    assert log.kernel.now == 123_456_789


def test_run_until_an_earlier_time_does_not_turn_the_clock_back() -> None:
    log = Log()
    log.kernel.run_until(50)
    log.kernel.run_until(20)
    assert log.kernel.now == 50


def test_an_ordinary_event_that_a_lane_brings_on_leaves_over_what_is_over() -> None:
    log = Log()
    reached: list[int] = []
    log.kernel = EventLoop(
        (lambda target, payload: log._note(0, target, payload), lambda *_: reached.append(log.kernel.reached))
    )
    log.kernel.schedule_in_lane(5, LANES + 7, 0, 0, ("again", 0))
    log.kernel.schedule(5, 1, 0, ())
    log.kernel.run_until(4)
    log.kernel.step()
    log.kernel.step()
    log.kernel.schedule(5, 1, 0, ())
    log.kernel.schedule(6, 1, 0, ())
    log.kernel.run_until(6)
    assert reached[:2] == [1, LANES + 7]
    assert reached[2] < LANES


def test_advance_refuses_to_pass_a_pending_event(snapshot: SnapshotAssertion) -> None:
    log = Log()
    log.kernel.schedule(10, 0, 0, ())
    log.kernel.advance(9)
    assert log.kernel.now == 9
    with pytest.raises(ValueError, match="10 us") as caught:
        log.kernel.advance(10)
    assert str(caught.value) == snapshot
    assert log.kernel.now == 9


def test_step_says_whether_there_was_anything() -> None:
    log = Log()
    assert (log.kernel.step(), log.kernel.next_at()) == (False, -1)
    log.kernel.schedule(7, 0, 0, ())
    assert log.kernel.step()
    assert (log.kernel.now, log.kernel.executed, log.kernel.next_at()) == (7, 1, -1)


def test_a_loaded_kernel_continues_exactly_as_it_did_the_first_time() -> None:
    log = Log()
    for at in (5, 5, 8, 20):
        log.kernel.schedule(at, 0, at, ("again", 3))
    log.kernel.run_until(6)
    saved = log.kernel.save()
    first_part = len(log.seen)
    log.kernel.run_until(40)
    first, state = log.seen[first_part:], log.kernel.save()
    del log.seen[first_part:]
    log.kernel.load(saved)
    assert (log.kernel.now, log.kernel.executed) == (6, 2)
    log.kernel.run_until(40)
    assert log.seen[first_part:] == first
    assert log.kernel.save() == state


def test_loading_restores_the_sequence_so_that_new_ties_fall_the_same_way() -> None:
    log = Log()
    log.kernel.schedule(9, 0, 0, ("old",))
    saved = log.kernel.save()
    log.kernel.schedule(9, 0, 0, ("discarded",))
    log.kernel.load(saved)
    log.kernel.schedule(9, 0, 0, ("new",))
    log.kernel.run_until(9)
    assert [seen[3] for seen in log.seen] == [("old",), ("new",)]


@pytest.mark.slow
@given(st.lists(st.integers(0, 40), max_size=30), st.lists(st.integers(0, 15), max_size=10))
def test_slices_of_any_size_give_the_same_history(times: list[int], slices: list[int]) -> None:
    whole, sliced = Log(), Log()
    for log in (whole, sliced):
        for number, at in enumerate(times):
            log.kernel.schedule(at, number % 2, number, ("again", number % 4))
    whole.kernel.run_until(100)
    at = 0
    for length in slices:
        at += length
        sliced.kernel.run_until(min(at, 100))
    sliced.kernel.run_until(100)
    assert sliced.seen == whole.seen
    assert sliced.kernel.executed == whole.kernel.executed


@given(st.lists(st.integers(0, 20), min_size=1, max_size=40))
def test_the_order_is_that_of_a_stable_sort_by_time(times: list[int]) -> None:
    log = Log()
    for number, at in enumerate(times):
        log.kernel.schedule(at, 0, number, ())
    while log.kernel.step():
        pass
    assert [(seen[0], seen[2]) for seen in log.seen] == sorted(
        ((at, number) for number, at in enumerate(times)), key=lambda pair: pair[0]
    )
