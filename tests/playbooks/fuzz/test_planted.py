"""A rule of the protocol that is broken on purpose is found by storms, from a seed alone and within a few runs.

The rules of truncation, fencing and joining, which take a chosen order of events, are planted for the explorer.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest

from cluster_model.broker.partition import partition
from cluster_model.broker.partition.partition import CompletedProduce, PartitionLeaderState, Replica
from cluster_model.broker.partition.producer_state_manager import ProducerStateManager
from cluster_model.controller.kraft import replication_control_manager
from cluster_model.controller.kraft.replication_control_manager import ReplicationControlManager
from cluster_model.controller.rules import kraft_partition_changes
from cluster_model.log.leader_epoch_cache import EpochCache
from cluster_model.log.transaction_index import TransactionIndex
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import PartitionState
from playbooks.campaign.workloads.fuzz_workload import FuzzPlan, plan_of
from playbooks.library.bundled import source_path
from playbooks.parser.loader import changed, load
from tests.playbooks.fuzz.small import plan
from tests.support.breadth import EVENING

pytestmark = pytest.mark.slow

Patch = pytest.MonkeyPatch


@cache
def small() -> FuzzPlan:
    return plan()


@cache
def of_another_seed() -> FuzzPlan:
    return plan(seed=4)


@cache
def transactional() -> FuzzPlan:
    return plan_of(changed(load(source_path("storm-transactions")), {"cluster.kafka": '"4.1"'}), 1)


def surprising(asked: FuzzPlan, run: int) -> set[str]:
    return {each.key for each in asked.row(run).found if not each.expected}


def acknowledges_at_once(patch: Patch) -> None:
    patch.setattr(PartitionLeaderState, "_settled", lambda _self, _required: KafkaError.NONE)


def commits_what_it_has(patch: Patch) -> None:
    patch.setattr(partition, "high_watermark", lambda leo, _needed: leo)


def lets_anybody_join(patch: Patch) -> None:
    patch.setattr(partition, "may_join_isr", lambda *_words: True)


def forgets_who_waits(patch: Patch) -> None:
    patch.setattr(PartitionLeaderState, "resign", lambda _self: None)


def acknowledges_as_it_resigns(patch: Patch) -> None:
    def resign(self: PartitionLeaderState) -> None:
        self.replica.done.extend(CompletedProduce(token, KafkaError.NONE) for _at, token in self._waiting)
        self._waiting = []

    patch.setattr(PartitionLeaderState, "resign", resign)


def elects_whoever_lives(patch: Patch) -> None:
    real = kraft_partition_changes._elect

    def elect(*words: Any, **named: Any) -> None:
        real(*words, **{**named, "may_be_unclean": True})

    patch.setattr(kraft_partition_changes, "_elect", elect)


def notes_no_epochs(patch: Patch) -> None:
    patch.setattr(EpochCache, "assign", lambda _self, _epoch, _start: None)


def obeys_the_past(patch: Patch) -> None:
    def apply(self: Replica, state: PartitionState, now: int) -> bool:
        (self._lead if state.leader == self.broker else self._follow)(state, now)
        return True

    patch.setattr(Replica, "apply", apply)


def keeps_the_dead_in_sync(patch: Patch) -> None:
    patch.setattr(ReplicationControlManager, "handle_broker_fenced", lambda _self, _broker, _by: [])


def takes_any_isr(patch: Patch) -> None:
    patch.setattr(replication_control_manager, "validate_kraft", lambda *_words, **_named: KafkaError.NONE)
    patch.setattr(PartitionLeaderState, "_eligible", lambda _self, _broker, _remote: True)
    lets_anybody_join(patch)


def counts_no_sequences(patch: Patch) -> None:
    patch.setattr(ProducerStateManager, "check_append", lambda _self, *_words: (KafkaError.NONE, -1))


def shows_open_transactions(patch: Patch) -> None:
    patch.setattr(Replica, "lso", property(lambda self: self.hw))


def tells_of_no_aborts(patch: Patch) -> None:
    patch.setattr(TransactionIndex, "aborted_between", lambda _self, _start, _end: ())


class Planted(NamedTuple):
    broken: Callable[[Patch], None]
    key: str
    run: int
    """The first of the plan's seed that finds it."""
    asked: Callable[[], FuzzPlan] = small


PLANTED = (
    Planted(acknowledges_at_once, "violation:min-isr", 1),
    Planted(commits_what_it_has, "violation:leader-completeness", 1),
    Planted(lets_anybody_join, "violation:leader-completeness", 1, of_another_seed),
    Planted(forgets_who_waits, "liveness:delayed-requests", 1),
    Planted(acknowledges_as_it_resigns, "violation:acks-all-durability", 2),
    Planted(elects_whoever_lives, "finding:lost/unclean-election", 4),
    Planted(notes_no_epochs, "violation:weak-isr", 2),
    Planted(obeys_the_past, "violation:zombie-fencing", 1),
    Planted(keeps_the_dead_in_sync, "violation:isr-eligibility", 1),
    Planted(takes_any_isr, "violation:maximal-isr-superset", 1),
    Planted(counts_no_sequences, "anomaly:duplicate", 9),
    Planted(shows_open_transactions, "anomaly:G1a", 1, transactional),
    Planted(tells_of_no_aborts, "anomaly:G1a", 1, transactional),
)


def test_the_sound_model_surprises_in_none_of_these_runs() -> None:
    runs = range(1, 13) if EVENING else sorted({each.run for each in PLANTED})
    assert [run for run in runs if surprising(small(), run)] == []
    assert surprising(of_another_seed(), 1) == surprising(transactional(), 1) == set()
    assert max(each.run for each in PLANTED) <= 12


@pytest.mark.parametrize("planted", PLANTED, ids=lambda each: each.broken.__name__)
def test_a_broken_rule_is_found(planted: Planted, monkeypatch: Patch) -> None:
    planted.broken(monkeypatch)
    assert planted.key in surprising(planted.asked(), planted.run)
