"""Mutation tests of the ledger: each fault in a log, broker or client shows in the expected count."""

from collections.abc import Callable

import pytest

from cluster_model.broker.partition import partition
from cluster_model.broker.partition.replication_rules import RemoteReplicaState
from cluster_model.checker.ledger.delivery_tracker import ACKED, FAILED, UNKNOWN, DeliveryTracker
from cluster_model.checker.ledger.ledger_report import RecordLocations, unknown_written
from cluster_model.clients.producer.record_accumulator import ProducerBatch
from cluster_model.clients.producer.sender import DeliveryStats
from cluster_model.cluster import Cluster
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.events import HwAdvanced, LogStartMoved, RecordsAcked
from faults.injector import FaultInjector
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster, P
from tests.cluster_model.test_cluster import SECOND, finish, inject, small

TERMS = ("missing", "acked_lost", "committed_lost", "duplicates", "reordered")


def copied() -> HandSteppedCluster:
    """Five records on all three replicas, all of them committed."""
    stepped = HandSteppedCluster("3.9")
    stepped.notify(1, 2, 3)
    stepped.append(1, "a", "b", "c", "d", "e", acks="all")
    stepped.fetch(2, 3, 2, 3)
    return stepped


def log(stepped: HandSteppedCluster, broker: int) -> ReplicaLog:
    return stepped.cluster.cluster_state.replicas[P][broker].log


def found(stepped: HandSteppedCluster) -> dict[str, int]:
    """The non-zero counts of the ledger at the end."""
    missing = stepped.cluster.query.missing()
    stepped.close()
    query = stepped.cluster.query
    counts = {term: getattr(query, term)() for term in TERMS[1:]}
    return {term: count for term, count in {"missing": missing, **counts}.items() if count}


def dropped_silently(stepped: HandSteppedCluster) -> None:
    for broker in (1, 2, 3):
        log(stepped, broker).truncate(3)


def dropped_by_the_next_leader(stepped: HandSteppedCluster) -> None:
    log(stepped, 2).truncate(4)
    stepped.lead(2, notify=(2,))


def appended_twice(stepped: HandSteppedCluster) -> None:
    stepped.cluster._produces._sequences[P] = 1
    stepped.append(1, "b", "c")


def appended_late(stepped: HandSteppedCluster) -> None:
    stepped.cluster._produces._sequences[P] = 9
    stepped.append(1, "later")
    stepped.cluster._produces._sequences[P] = 6
    stepped.append(1, "x", "y")


def start_moved_silently(stepped: HandSteppedCluster) -> None:
    for broker in (1, 2, 3):
        log(stepped, broker).log_start = 2


def start_moved(stepped: HandSteppedCluster) -> None:
    for broker in (1, 2, 3):
        log(stepped, broker).move_start(2)
        stepped.cluster.emit(LogStartMoved(0, P, broker, 0, 2, "retention.bytes"))


def high_watermark_lowered(stepped: HandSteppedCluster) -> None:
    stepped.cluster.cluster_state.replicas[P][1].hw = 1
    stepped.cluster.emit(HwAdvanced(0, P, 1, 0, 1))
    for broker in (1, 2, 3):
        stepped.do("power_loss", broker=broker, keep=3)


def disks_gone(stepped: HandSteppedCluster) -> None:
    """There is no leader any more, and all logs are empty."""
    for broker in (1, 2, 3):
        stepped.do("power_loss", broker=broker, keep=0)


MUTATIONS: list[tuple[Callable[[HandSteppedCluster], None], dict[str, int]]] = [
    (dropped_silently, {"acked_lost": 2, "committed_lost": 2}),
    (dropped_by_the_next_leader, {"missing": 1, "acked_lost": 1, "committed_lost": 1}),
    (appended_twice, {"duplicates": 2}),
    (appended_late, {"reordered": 2}),
    (start_moved_silently, {"acked_lost": 2, "committed_lost": 2}),
    (start_moved, {}),
    (high_watermark_lowered, {"missing": 2, "acked_lost": 2, "committed_lost": 2}),
    (disks_gone, {"missing": 5, "acked_lost": 5, "committed_lost": 5}),
]


def test_the_unmodified_model_loses_nothing() -> None:
    assert found(copied()) == {}


@pytest.mark.parametrize(("mutate", "counts"), MUTATIONS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_mutation_shows_in_the_expected_count(
    mutate: Callable[[HandSteppedCluster], None], counts: dict[str, int]
) -> None:
    stepped = copied()
    mutate(stepped)
    assert found(stepped) == counts


def test_an_acknowledgement_for_a_record_that_is_not_there_is_missing() -> None:
    stepped = copied()
    log_branch = log(stepped, 1).extents[-1][1]
    stepped.append(1, "f")
    log(stepped, 1).truncate(5)
    stepped.cluster.emit(RecordsAcked(0, "hand", P, 6, 1, 1, 1, 0, 5, 0, log_branch))
    assert stepped.cluster.query.missing() == 0, "it was acknowledged before it went"
    stepped.lead(1, notify=(1,))
    assert stepped.cluster.query.missing() == 1


@pytest.mark.parametrize("acks", [0, 1])
def test_records_accepted_by_a_deposed_leader_are_missing_at_once(acks: int) -> None:
    """With an acknowledgement, or with acks=0, where sending counts as acknowledged."""
    stepped = copied()
    stepped.lead(2, notify=(2,))
    stepped.append(1, "f", "g", acks=acks)
    assert stepped.cluster.query.missing() == 2
    stepped.append(2, "h", acks=acks)
    assert stepped.cluster.query.missing() == 2


def test_with_a_premature_high_watermark_lost_records_count_as_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    def ahead(leader_leo: int, _needed: tuple[RemoteReplicaState, ...]) -> int:
        return leader_leo

    def tail() -> HandSteppedCluster:
        stepped = HandSteppedCluster("3.9")
        stepped.notify(1, 2, 3)
        stepped.append(1, "a", "b")
        stepped.lead(2, notify=(2,))
        return stepped

    assert found(tail()) == {"missing": 2, "acked_lost": 2}
    monkeypatch.setattr(partition, "high_watermark", ahead)
    assert found(tail()) == {"missing": 2, "acked_lost": 2, "committed_lost": 2}


def test_records_exposed_by_a_deposed_leader_are_committed() -> None:
    """Its successor has the records but has not received its election: consumers may read from the old leader."""
    stepped = HandSteppedCluster("3.9")
    stepped.notify(1, 2, 3)
    stepped.append(1, "a", "b", acks="all")
    stepped.do("elect", leader=2)
    stepped.fetch(2, 3, 2, 3)
    assert stepped.state(1)["hw"] == 2
    disks_gone(stepped)
    assert found(stepped)["committed_lost"] == 2


def interrupted() -> Cluster:
    """A leader that responds later than the producer's timeout, and has written the records."""
    cluster = Cluster.build(small("3.9", None, "1", each_us=100_000), 7)
    board = FaultInjector(cluster)
    for spec in cluster.producers.values():
        assert spec.acks == 1
    cluster.run(3 * SECOND)
    inject(board, "lag", f"leader({P})", 200, latency=90_000_000, to="clients")
    cluster.run(170 * SECOND)
    finish(cluster, board, 40)
    return cluster


def failed_and_written(cluster: Cluster) -> list[tuple[str, int]]:
    """Sequence numbers of records reported as failed to a client that the leader's log holds."""
    ledger = cluster.checker.ledger
    standing = RecordLocations(cluster.cluster_state, ledger).held_by_leader(P)
    return [
        (told.client, number)
        for told in ledger.deliveries.partition_deliveries()
        for start, end in told.failed
        for number in range(start, end)
        if any(low <= number < high for low, high in standing.get(told.client, []))
    ]


@pytest.mark.slow
def test_records_reported_as_failed_are_in_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = interrupted()
    ledger = sound.checker.ledger
    assert not failed_and_written(sound)
    written = unknown_written(sound.cluster_state, ledger)
    assert 0 < written <= sound.query.unknown()
    assert sound.query.unknown_written() == written
    real = DeliveryStats.batch_failed

    def lying(self: DeliveryStats, now: int, batch: ProducerBatch, error: str) -> None:
        batch.written = False
        real(self, now, batch, error)

    monkeypatch.setattr(DeliveryStats, "batch_failed", lying)
    broken = interrupted()
    assert failed_and_written(broken)


# -- outcomes reported twice -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "totals"),
    [
        (UNKNOWN, ACKED, [10, 4, 0, 2, 0]),
        (FAILED, ACKED, [10, 4, 2, 0, 0]),
        (ACKED, UNKNOWN, [10, 4, 0, 2, 0]),
        (UNKNOWN, FAILED, [10, 0, 2, 4, 0]),
        (ACKED, ACKED, [10, 6, 0, 0, 0]),
    ],
)
def test_only_an_acknowledgement_replaces_an_outcome(first: int, second: int, totals: list[int]) -> None:
    books = DeliveryTracker()
    books.sent("p", P, 0, 10)
    books.decided(first, "p", P, 0, 4)
    books.decided(second, "p", P, 2, 4)
    assert books.contradicted == 2
    (told,) = books.partition_deliveries()
    spread = [told.acked, told.failed, told.unknown]
    assert sum(high - low for each in spread for low, high in each) == 6, "no number has two outcomes"
    assert told.pending == [(6, 10)]
    assert books.totals["p"] == totals
