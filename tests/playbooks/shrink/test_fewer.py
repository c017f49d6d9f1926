"""Fewer decisions, with oracles that are made up: what is left is needed, and that takes few questions."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbooks.shrink.candidate import Draft, RemovableStep, Word, read
from playbooks.shrink.oracle import HELD, LOST, CandidateVerdict, Journal
from playbooks.shrink.search import (
    BestDraft,
    Budget,
    BudgetExhaustedError,
    CandidateRunner,
    DraftSearch,
    EditCount,
    Ticket,
)
from playbooks.shrink.shrinker import after_failure, by_parts, chained, parts, refused_steps

Oracle = Callable[[frozenset[int]], bool]


class MadeUp(CandidateRunner):
    """Answers by a rule about which decisions are there; runs nothing."""

    def __init__(self, holds: Oracle, ahead: int = 1) -> None:
        super().__init__((), Journal())
        self._holds = holds
        self._ahead = ahead
        self.asked: list[frozenset[int]] = []

    @property
    def lookahead(self) -> int:
        return self._ahead

    def answer(self, ticket: Ticket) -> CandidateVerdict:
        self.runs += 1
        steps = read(ticket.text)["steps"]
        assert isinstance(steps, tuple)
        there = frozenset(int(str(each["settle"].text)) for each in steps)  # type: ignore[call-overload,index,union-attr]
        self.asked.append(there)
        return CandidateVerdict(HELD if self._holds(there) else LOST)


def draft(count: int) -> Draft:
    steps = [RemovableStep(number, {"settle": Word(str(number))}) for number in range(1, count + 1)]
    return Draft("made-up", 0, {}, tuple(steps))


def left(count: int, bench: MadeUp) -> frozenset[int]:
    search = DraftSearch(BestDraft(draft(count), CandidateVerdict(HELD)), bench)
    while search.sweep(EditCount("steps"), by_parts(len(search.best.draft.steps))):
        pass
    return frozenset(each.number for each in search.best.draft.steps)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(1, n), max_size=6))))
def test_exactly_what_is_needed_is_left(drawn: tuple[int, set[int]]) -> None:
    count, needed = drawn
    bench = MadeUp(lambda there: needed <= there)
    assert left(count, bench) == needed
    assert len(bench.asked) <= (len(needed) + 1) * 4 * (count.bit_length() + 1) + 2 * count


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 14), st.sets(st.frozensets(st.integers(1, 14), max_size=4), min_size=1, max_size=6))
def test_where_one_thing_or_another_is_enough_none_of_the_rest_can_go(count: int, ways: set[frozenset[int]]) -> None:
    everything = frozenset(range(1, count + 1))

    def holds(there: frozenset[int]) -> bool:
        return there == everything or any(way == there & way and len(there) % 3 != 1 for way in ways)

    bench = MadeUp(holds)
    found = left(count, bench)
    assert holds(found)
    assert not any(holds(found - {each}) for each in found)
    assert len(bench.asked) <= 2 * count * count + 8 * count


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 30), st.integers(1, 9), st.randoms(use_true_random=False))
def test_how_many_are_tried_at_a_time_makes_no_difference(count: int, ahead: int, draws: object) -> None:
    seed = draws.random()  # type: ignore[attr-defined]

    def holds(there: frozenset[int]) -> bool:
        return sum(there) * seed % 1 < 0.5

    assert left(count, MadeUp(holds, ahead)) == left(count, MadeUp(holds))


def test_parts_are_all_then_ever_smaller_powers_of_two() -> None:
    assert parts(10) == [10, 8, 4, 2, 1]
    assert parts(8) == [8, 4, 2, 1]
    assert parts(1) == [1]
    assert parts(0) == []
    assert parts(60, 8) == [60, 32, 16, 8]


def test_a_budget_ends_it_with_the_best_so_far() -> None:
    bench = MadeUp(lambda there: 3 in there)
    search = DraftSearch(BestDraft(draft(40), CandidateVerdict(HELD)), bench, Budget(runs=4))
    with pytest.raises(BudgetExhaustedError):
        search.sweep(EditCount("steps"), by_parts(40))
    assert bench.runs == 4
    assert 1 < len(search.best.draft.steps) < 40


def test_steps_after_the_failure_and_refused_ones_are_removed_first() -> None:
    verdict = CandidateVerdict(HELD, refused=(2,), acted=tuple((at, 0) for at in (10, 20, 30, 40)), occurred_us=30)
    best = BestDraft(draft(4), verdict)
    found = [
        [each.number for each in tried.steps]
        for site in chained(after_failure, refused_steps)(best)
        for tried in site.tries
    ]
    assert found == [[1, 2, 3], [1, 3, 4]]
