"""Memory of the checker grows with the records in doubt, not with time."""

import pytest

from cluster_model.checker.ledger.delivery_tracker import ACKED, SENT, DeliveryTracker
from cluster_model.checker.ledger.duplicates import DuplicateTracker
from cluster_model.checker.ledger.ledger import Ledger
from cluster_model.cluster import Cluster
from faults.injector import FaultInjector
from tests.cluster_model.checker.ledger.test_duplicates import TwoReplicas
from tests.cluster_model.hand_stepped_cluster import P
from tests.cluster_model.test_cluster import SECOND, inject, small


def entries(ledger: Ledger) -> int:
    """Number of ranges, ISRs at acknowledgements, causes and duplicates kept."""
    acked = ledger._acked.values()
    return (
        ledger.deliveries.entries
        + sum(each.entries for books in acked for each in (*books.by_log_branch.values(), *books.committed.values()))
        + sum(len(intervals) for intervals in ledger._missing.values())
        + sum(len(causes) for causes in ledger._causes.values())
        + ledger._suspects.count
        + ledger.ack_isrs.count
        + ledger.deletions.count
        + ledger.repeats.count
        + len(ledger.exposed.save())
    )


def quiet(seconds: int) -> Cluster:
    cluster = Cluster.build(small(each_us=20_000), 7)
    cluster.run(seconds * SECOND)
    cluster.stop_producers()
    cluster.run((seconds + 5) * SECOND)
    return cluster


@pytest.mark.slow
def test_a_clean_run_ten_times_as_long_keeps_no_more() -> None:
    short, long = quiet(5), quiet(50)
    assert long.query.acked() > 9 * short.query.acked()
    assert entries(long.checker.ledger) == entries(short.checker.ledger)


@pytest.mark.slow
@pytest.mark.parametrize("acks", ["1", "all"])
def test_a_failover_costs_as_much_however_long_the_run(acks: str) -> None:
    def failed_over(before: int) -> Cluster:
        cluster = Cluster.build(small(acks=acks, each_us=20_000), 7)
        board = FaultInjector(cluster)
        cluster.run(before * SECOND)
        inject(board, "crash", f"leader({P})", 20)
        cluster.run((before + 30) * SECOND)
        cluster.stop_producers()
        cluster.run((before + 35) * SECOND)
        return cluster

    short, long = failed_over(5), failed_over(20)
    assert long.query.acked() > short.query.acked()
    assert abs(entries(long.checker.ledger) - entries(short.checker.ledger)) <= 8
    assert entries(short.checker.ledger) < entries(quiet(5).checker.ledger) + 30


def test_a_million_records_are_one_range_for_each_outcome() -> None:
    books = DeliveryTracker()
    for number in range(0, 1_000_000, 100):
        books.sent("p", P, number, 100)
        books.decided(ACKED, "p", P, number, 100)
    assert books.entries == 3
    (told,) = books.partition_deliveries()
    assert (told.sent, told.acked, told.pending) == ([(0, 1_000_000)], [(0, 1_000_000)], [])
    assert books.totals["p"][SENT] == books.totals["p"][ACKED] == 1_000_000


def test_acknowledgements_out_of_order_are_merged() -> None:
    books = DeliveryTracker()
    books.sent("p", P, 0, 10_000)
    for number in range(0, 10_000, 20):
        books.decided(ACKED, "p", P, number + 10, 10)
        books.decided(ACKED, "p", P, number, 10)
        assert books.entries == 3


def test_adjacent_duplicates_are_one_entry() -> None:
    cluster_state = TwoReplicas()
    for sequence in range(0, 200, 2):
        cluster_state.append(sequence, 2)
    for sequence in range(0, 200, 2):
        cluster_state.append(sequence, 2)
    assert cluster_state.counts == (200, 0)
    assert count_of(cluster_state.repeats) == 1
    assert cluster_state.repeats.duplicates_in("p", "t-0") == [(0, 200)]
    cluster_state.append(300)
    for sequence in range(200, 260):
        cluster_state.append(sequence)
    assert cluster_state.counts == (200, 60)
    assert count_of(cluster_state.repeats) == 2


def test_a_truncation_within_merged_copies_removes_the_truncated_ones() -> None:
    cluster_state = TwoReplicas()
    for _time in range(2):
        for sequence in range(10):
            cluster_state.append(sequence)
    assert count_of(cluster_state.repeats) == 1
    cluster_state.logs[1].truncate(14)
    assert cluster_state.counts == (4, 0)
    assert cluster_state.repeats.duplicates_in("p", "t-0") == [(0, 4)]


def count_of(repeats: DuplicateTracker) -> int:
    """Number of entries, without the highest sequence number of each client."""
    return repeats.count - len(repeats._highest)


def test_records_after_a_gap_extend_their_own_range() -> None:
    """An application may skip sequence numbers: the records between were never sent."""
    books = DeliveryTracker()
    for sequence in (0, 10, 15):
        books.sent("p", P, sequence, 5)
    (told,) = books.partition_deliveries()
    assert told.pending == [(0, 5), (10, 20)]
    assert books.totals["p"][SENT] == 15
