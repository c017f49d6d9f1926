"""Duplicated and reordered records, by the current leader's log."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster_model.checker.ledger.duplicates import DuplicateTracker, exceeded_remembered_batches
from cluster_model.log.batch_store import BatchStore
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import Appended
from cluster_model.protocol.records import Batch, CompactionOverlay

P = "t-0"


class TwoReplicas:
    """Logs of brokers 1 and 2, and the leader."""

    def __init__(self) -> None:
        self.epoch_branches = BatchStore()
        self.logs = {broker: ReplicaLog(self.epoch_branches, uses_epochs=True, replaces=True) for broker in (1, 2)}
        self.leader = 1
        self.log_branches = {broker: self.epoch_branches.begin(broker, broker, 0) for broker in (1, 2)}
        self.replicas = {P: {broker: SimpleNamespace(log=log) for broker, log in self.logs.items()}}
        self.records = {P: None}
        self.repeats = DuplicateTracker(cast(ClusterState, self))

    def committed_leader(self, partition: str) -> Any:
        return None if self.leader < 0 else self.replicas[partition][self.leader]

    def append(self, sequence: int, count: int = 1, *, client: str = "p", broker: int = 1) -> None:
        log = self.logs[broker]
        base = log.leo
        log.append_batch(self.log_branches[broker], Batch(base, count, 10, 0, client, -1, sequence, 1))
        self.repeats.appended(Appended(0, P, broker, broker, base, count, client, sequence, 1))

    def copy(self, source: int, target: int, end: int) -> None:
        found = self.logs[source].read(self.logs[target].leo, end, 1 << 30)
        self.logs[target].append_slice(found)
        self.log_branches[target] = self.epoch_branches.begin(target, 9, self.logs[target].leo)

    @property
    def counts(self) -> tuple[int, int]:
        return (self.repeats.duplicates(), self.repeats.reordered())


@pytest.fixture
def cluster_state() -> TwoReplicas:
    return TwoReplicas()


def test_records_in_order_are_neither(cluster_state: TwoReplicas) -> None:
    for sequence in range(5):
        cluster_state.append(sequence)
    assert cluster_state.counts == (0, 0)


def test_a_gap_is_neither(cluster_state: TwoReplicas) -> None:
    for sequence in (0, 1, 7, 8):
        cluster_state.append(sequence)
    assert cluster_state.counts == (0, 0)


def test_a_batch_at_two_offsets_counts_each_of_its_records(cluster_state: TwoReplicas) -> None:
    cluster_state.append(0, 3)
    cluster_state.append(0, 3)
    assert cluster_state.counts == (3, 0)


def test_a_compacted_copy_does_not_count(cluster_state: TwoReplicas) -> None:
    cluster_state.append(0, 3)
    cluster_state.append(3)
    cluster_state.append(0, 3)
    cluster_state.append(2)
    assert cluster_state.counts == (4, 0)
    cluster_state.logs[1].cleaned = CompactionOverlay(((0, 2),))
    assert cluster_state.counts == (2, 0)
    cluster_state.logs[1].cleaned = CompactionOverlay(((0, 3), (6, 7)))
    assert cluster_state.counts == (0, 0)


def test_a_third_copy_counts_again(cluster_state: TwoReplicas) -> None:
    for _time in range(3):
        cluster_state.append(0, 2)
    assert cluster_state.counts == (4, 0)


def test_a_batch_after_a_later_one_is_reordered(cluster_state: TwoReplicas) -> None:
    cluster_state.append(1, 2)
    cluster_state.append(0, 1)
    assert cluster_state.counts == (0, 1)


def test_a_copy_after_later_records_is_a_duplicate_and_not_reordered(cluster_state: TwoReplicas) -> None:
    for sequence in (0, 1, 0):
        cluster_state.append(sequence)
    assert cluster_state.counts == (1, 0)


def test_clients_are_kept_apart(cluster_state: TwoReplicas) -> None:
    cluster_state.append(0)
    cluster_state.append(0, client="q")
    assert cluster_state.counts == (0, 0)
    cluster_state.append(0, client="q")
    assert (cluster_state.repeats.duplicates("p"), cluster_state.repeats.duplicates("q")) == (0, 1)
    cluster_state.append(5, client="p")
    cluster_state.append(3, client="p")
    assert (cluster_state.repeats.reordered("p"), cluster_state.repeats.reordered("q")) == (1, 0)


def test_unnumbered_records_do_not_count(cluster_state: TwoReplicas) -> None:
    cluster_state.append(-1)
    cluster_state.append(-1)
    assert cluster_state.counts == (0, 0)


def test_a_retry_of_a_record_that_the_leader_lost_is_no_duplicate(cluster_state: TwoReplicas) -> None:
    cluster_state.append(0, 2)
    cluster_state.append(2, 2)
    cluster_state.logs[1].truncate(2)
    cluster_state.log_branches[1] = cluster_state.epoch_branches.begin(1, 5, 2)
    cluster_state.append(2, 2)
    assert cluster_state.counts == (0, 0)


def test_a_duplicate_with_one_copy_lost_no_longer_counts(cluster_state: TwoReplicas) -> None:
    cluster_state.append(0)
    cluster_state.append(0)
    assert cluster_state.counts == (1, 0)
    cluster_state.logs[1].truncate(1)
    assert cluster_state.counts == (0, 0)


def test_only_the_current_leaders_log_counts(cluster_state: TwoReplicas) -> None:
    cluster_state.append(0)
    cluster_state.copy(1, 2, 1)
    cluster_state.append(0)
    assert cluster_state.counts == (1, 0)
    cluster_state.leader = 2
    assert cluster_state.counts == (0, 0)
    cluster_state.append(0, broker=2)
    assert cluster_state.counts == (1, 0)


def test_without_a_leader_there_is_nothing_to_count(cluster_state: TwoReplicas) -> None:
    cluster_state.append(0)
    cluster_state.append(0)
    cluster_state.leader = -1
    assert cluster_state.counts == (0, 0)


def test_a_rewind_forgets_later_duplicates(cluster_state: TwoReplicas) -> None:
    cluster_state.append(0)
    saved = cluster_state.repeats.save()
    cluster_state.append(0)
    cluster_state.append(9)
    cluster_state.append(3)
    assert cluster_state.counts == (1, 1)
    cluster_state.repeats.load(saved)
    assert (cluster_state.counts, cluster_state.repeats.save()) == ((0, 0), saved)


@pytest.mark.parametrize(("later", "known"), [(4, False), (5, True), (6, True)])
@pytest.mark.parametrize("again", [3, 4, 5])
def test_a_leader_remembers_a_producers_last_five_batches(
    cluster_state: TwoReplicas, again: int, later: int, known: bool
) -> None:
    """The retried record may be at any position of a batch of three records."""
    log, log_branch = cluster_state.logs[1], cluster_state.log_branches[1]
    for sequence in range(0, 6 + 3 * later, 3):
        log.append_batch(log_branch, Batch(log.leo, 3, 30, 0, "p", 7, sequence, 1, producer_epoch=0))
    repeated = Batch(log.leo, 3, 30, 0, "p", 7, 0, 1, producer_epoch=1, origin=again)
    assert exceeded_remembered_batches(log, 0, repeated, log.leo) is known


def test_a_batch_that_was_never_in_the_log_was_not_forgotten(cluster_state: TwoReplicas) -> None:
    log, log_branch = cluster_state.logs[1], cluster_state.log_branches[1]
    for sequence in (0, *range(6, 30, 3)):
        log.append_batch(log_branch, Batch(log.leo, 3, 30, 0, "p", 7, sequence, 1, producer_epoch=0))
    assert not exceeded_remembered_batches(
        log, 0, Batch(log.leo, 3, 30, 0, "p", 7, 0, 1, producer_epoch=1, origin=3), log.leo
    )
