"""Every generation loses what it is known to lose, the fenced ones lose nothing, and a removed rule is detected."""

from collections.abc import Callable
from typing import Any

import pytest

from cluster_model.broker.fetch import fetch_reads
from cluster_model.broker.partition import partition
from cluster_model.model_checker import transitions
from cluster_model.model_checker.search import (
    LOG_BOUNDS,
    LOG_MATCHING,
    STRONG_ISR,
    STUCK,
    WEAK_ISR,
    SearchResult,
    StateSpaceSearch,
)
from cluster_model.model_checker.transitions import ExplorationBounds, Transitions
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import FetchData, FetchPartition
from cluster_model.protocol.versions import Profile, with_rules
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow


FIXES = (("isr_epoch_start", True), ("epoch_on_elect", True))
"""KAFKA-7128 and KAFKA-7415, which came to 2.0.1 after KIP-279 had come to 2.0.0."""


def explored(
    kafka: str, *, first: bool = False, rules: tuple[tuple[str, bool], ...] = (), **bounds: Any
) -> SearchResult:
    moves = Transitions(with_rules(Profile.of(kafka), rules), ExplorationBounds(**bounds))
    return StateSpaceSearch(moves, symmetry=True).run(stop_on_first=first)


@pytest.mark.parametrize(
    ("kafka", "rules", "epochs", "broken"),
    [
        ("0.10.2", (), 2, {STRONG_ISR: 10, WEAK_ISR: 10}),
        ("0.11", (), 2, {STRONG_ISR: 11}),
        ("1.1", (), 3, {WEAK_ISR: 10}),
        ("1.1", FIXES, 3, {LOG_MATCHING: 9}),
        ("2.0", (), 3, {WEAK_ISR: 10}),
    ],
)
def test_the_search_finds_shortest_counterexamples_of_each_generation(
    kafka: str, rules: tuple[tuple[str, bool], ...], epochs: int, broken: dict[str, int]
) -> None:
    seen = explored(kafka, first=True, rules=rules, epochs=epochs)
    assert {name: len(each.steps) for name, each in seen.violated.items()} == broken


@pytest.mark.parametrize("kafka", spread_sample(["2.1", "2.7", "3.9", "4.1"], 2))
def test_fenced_generations_break_nothing(kafka: str) -> None:
    assert explored(kafka, epochs=2, records=1, restarts=1).violated == {}


def never(*_args: object, **_kwargs: object) -> KafkaError:
    return KafkaError.NONE


def joins(*_args: object) -> bool:
    return True


def keeps(_cache: object, leo: int, *_args: object) -> tuple[int, bool]:
    return (leo, True)


def stands_still(_leader_leo: int, _needed: object) -> int:
    return 0


def leaders_own(leader_leo: int, _needed: object) -> int:
    return leader_leo


@pytest.mark.parametrize(
    ("where", "name", "planted", "breaks"),
    [
        ([fetch_reads, transitions], "check_epoch", never, WEAK_ISR),
        ([partition], "may_join_isr", joins, STRONG_ISR),
        ([partition], "truncation_by_epoch_end", keeps, LOG_MATCHING),
        ([partition], "high_watermark", leaders_own, STRONG_ISR),
        ([partition], "high_watermark", stands_still, STUCK),
    ],
)
def test_a_rule_that_is_left_out_is_found(
    monkeypatch: pytest.MonkeyPatch, where: list[Any], name: str, planted: Callable[..., Any], breaks: str
) -> None:
    for module in where:
        monkeypatch.setattr(module, name, planted)
    kafka, epochs = ("4.1", 1) if breaks == STUCK else ("2.1", 3)
    assert breaks in explored(kafka, first=True, epochs=epochs).violated


def test_a_follower_that_takes_its_leaders_high_watermark_as_it_is_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = partition.FollowerState.apply_fetch

    def answer(
        self: partition.FollowerState, now: int, asked: FetchPartition, data: FetchData
    ) -> partition.FetcherAction:
        outcome = real(self, now, asked, data)
        if not data.error and data.diverging is None:
            self.replica.hw = data.hw + 1
        return outcome

    monkeypatch.setattr(partition.FollowerState, "apply_fetch", answer)
    assert LOG_BOUNDS in explored("4.1", epochs=1, records=2).violated


@pytest.mark.parametrize("kafka", ["1.1", "4.1"])
def test_a_start_that_forgets_the_epoch_cache_is_found(monkeypatch: pytest.MonkeyPatch, kafka: str) -> None:
    """The epochs of a replica's records do not compensate for it: states keep the cache as it is."""
    real = partition.Replica.recovered

    def recovered(self: partition.Replica) -> None:
        real(self)
        self.log.epochs.clear()

    monkeypatch.setattr(partition.Replica, "recovered", recovered)
    assert STRONG_ISR in explored(kafka, first=True, epochs=2, records=1, restarts=1).violated


def test_a_restart_finds_what_had_been_written_down() -> None:
    """With one record and one restart, a follower of 0.10.2 loses it without any race of elections."""
    seen = explored("0.10.2", first=True, epochs=2, records=1, log_size=1, restarts=1)
    assert seen.violated


def test_only_steps_that_are_allowed_are_taken() -> None:
    seen = explored("4.1", actions=frozenset({"elect", "lead"}))
    assert seen.depth == 4  # two elections, of which two replicas learn
    assert seen.violated == {}
