"""Read, process, write: each record's output is there once, whatever happens, if it is written in transactions."""

from typing import Any

import pytest

from cluster_model.protocol.events import (
    ConsumerFailed,
    PartitionsAssigned,
    PartitionsLost,
    ProducerFenced,
    RecordsAbandoned,
    RecordsRead,
    RecordsSent,
    TransactionAborted,
    TransactionBegun,
    TransactionCommitted,
    TransactionUnknown,
)
from cluster_model.spec.cluster_spec import ProducerSpec
from tests.cluster_model.copying import M0, M1, OUT, SECOND, Copying
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

MODERN = {"group.protocol": "consumer"}


def once(copying: Copying) -> None:
    """Every record's output is there once, and every input offset in one committed transaction."""
    assert copying.source > 200
    assert copying.copies == copying.source
    covered = copying.committed()
    for name, offsets in covered.items():
        assert len(set(offsets)) == len(offsets)
        assert set(offsets) <= set(range(copying.cluster.query.leo(name)))
    told = sum(len(offsets) for offsets in covered.values())
    assert told <= copying.source <= told + sum(event.count for event in copying.of(TransactionUnknown))


@pytest.mark.parametrize("kafka", spread_sample(["0.11", "2.4", "2.6", "3.5", "3.9", "4.1"], 3))
def test_in_calm_every_record_is_copied_once(kafka: str) -> None:
    copying = Copying(kafka).run(5).end(5)
    once(copying)
    assert sum(event.count for event in copying.of(TransactionCommitted)) == copying.source
    assert copying.of(TransactionAborted) == copying.of(RecordsAbandoned) == []
    assert [copying.books(0)[1] + copying.books(1)[1], copying.books(0)[2:], copying.books(1)[2:]] == [
        copying.source, [0, 0, 0], [0, 0, 0],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kafka", "commit"),
    spread_sample([("0.9", "sync"), ("2.0", "auto"), ("3.9", "async"), ("3.9", "before"), ("4.1", "sync")], 3),
)
def test_in_calm_other_ways_to_commit_do_as_well(kafka: str, commit: str) -> None:
    copying = Copying(kafka, commit=commit).run(5).end(8)
    assert copying.source == copying.copies > 200
    assert copying.of(TransactionBegun) == []


def crashed(kafka: str, seed: int, commit: str, settle: float = 15, **more: Any) -> Copying:
    """A member that crashes again and again, each time with something on its way."""
    copying = Copying(kafka, seed=seed, fast=True, commit=commit, **more).run(1.5)
    for moment in (0.002, 0.004, 0.006):
        copying.step(RecordsSent, OUT)
        copying.run(moment)
        copying.cluster.crash(M0)
        copying.run(0.5)
        copying.cluster.restart(M0)
        copying.run(2.5)
    return copying.end(settle)


@pytest.mark.parametrize(
    ("kafka", "seed"), spread_sample([("0.11", 1), ("2.6", 2), ("3.5", 1), ("3.9", 2), ("4.1", 3)], 3)
)
def test_a_member_that_crashes_leaves_each_record_copied_once(kafka: str, seed: int) -> None:
    copying = crashed(kafka, seed, "transaction")
    once(copying)
    assert sum(copying.books()[2:]) > 0


@pytest.mark.parametrize("seed", spread_sample([1, 2], 1))
def test_without_transactions_a_crash_makes_copies_twice(seed: int) -> None:
    copying = crashed("3.9", seed, "sync")
    assert copying.copies > copying.source > 200


def test_by_the_new_group_protocol_it_is_the_same() -> None:
    # A member that died is one for another 45 s.
    once(crashed("4.1", 5, "transaction", settle=70, config=MODERN))


def zombie(kafka: str, seed: int = 4, commit: str = "transaction", **more: Any) -> Copying:
    """A member that takes so long that the group goes on without it, and then writes."""
    copying = Copying(kafka, seed=seed, fast=True, commit=commit, **more).run(1.5)
    copying.step(RecordsRead, "copier/0")
    copying.cluster.pause(M0)
    copying.run(5)
    copying.cluster.resume(M0)
    return copying.run(1).end(15)


@pytest.mark.parametrize("kafka", spread_sample(["2.6", "3.9", "4.1"], 2))
def test_a_client_that_was_left_behind_is_refused_and_aborts(kafka: str) -> None:
    copying = zombie(kafka)
    aborted = copying.of(TransactionAborted, OUT)
    assert [event.detail for event in aborted] != []
    assert {event.error for event in aborted} <= {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"}
    assert {event.by for event in copying.of(RecordsAbandoned)} == {"transaction aborted"}
    assert copying.of(PartitionsLost, "copier/0")
    once(copying)


@pytest.mark.parametrize("kafka", spread_sample(["0.11", "2.4"], 1))
def test_before_kip_447_a_zombie_copies_records_twice(kafka: str) -> None:
    copying = zombie(kafka)
    assert copying.of(TransactionAborted, OUT) == []
    assert copying.copies > copying.source


@pytest.mark.parametrize(("kafka", "seed"), spread_sample([("2.6", 1), ("3.9", 2), ("4.1", 3)], 2))
def test_brokers_that_crash_one_after_the_other_change_nothing(kafka: str, seed: int) -> None:
    # Each leads something: the transactions' coordinator, the group's, or a topic's partition.
    copying = Copying(kafka, seed=seed, fast=True).run(1.5)
    for broker in (1, 2, 3):
        copying.step(RecordsSent, OUT)
        copying.run(0.003)
        copying.cluster.crash(broker)
        copying.run(2)
        copying.cluster.restart(broker)
        copying.run(4)
    once(copying.end(20))


def test_output_that_gets_nowhere_has_its_transaction_aborted_and_its_records_copied_later() -> None:
    config = {"delivery.timeout.ms": 1_500, "request.timeout.ms": 1_000, "linger.ms": 0}
    copying = Copying("3.9", fast=True, output_config=config).run(1.5)
    for member in (M0, M1):
        copying.cluster.cut(member, 3, 1)
    copying.run(3)
    for member in (M0, M1):
        copying.cluster.heal_cut(member, 3, 1)
    copying.run(1).end(15)
    assert copying.of(TransactionAborted) != []
    assert {event.by for event in copying.of(RecordsAbandoned)} == {"transaction aborted"}
    once(copying)


def test_a_member_whose_id_is_taken_over_ends_and_a_new_process_continues() -> None:
    # The members' ids are their names: a producer of that id fences the one that has it.
    thief = ProducerSpec(
        "thief", "out", SECOND, start_us=2 * SECOND, stop_us=4 * SECOND, config={"transactional.id": "copier/0"}
    )
    copying = Copying("3.9", fast=True, more=(thief,)).run(4)
    (fenced,) = copying.of(ProducerFenced)
    assert (fenced.client, fenced.error) == (OUT, "PRODUCER_FENCED")
    assert [(event.client, event.error) for event in copying.of(ConsumerFailed)] == [
        ("copier/0", "ProducerFencedException")
    ]
    assert not copying.cluster.is_up(M0)
    copying.run(3)
    copying.cluster.restart(M0)
    copying.run(4).end(15)
    assert {event.client for event in copying.of(PartitionsAssigned)[-2:]} == {"copier/0", "copier/1"}
    assert copying.copies == copying.source + copying.cluster.query.acked("thief") > copying.source


def place_of(copying: Copying) -> str:
    """The partition that the first member was given."""
    return str(copying.of(PartitionsAssigned, "copier/0")[-1].detail.rpartition(": ")[2])


def pending(kafka: str) -> Copying:
    """A member that dies when its offsets have reached the group's coordinator, before it asks for the commit."""
    copying = Copying(
        kafka, fast=True, each_us=40_000,
        output_config={"transaction.timeout.ms": 8_000}, config={"max.poll.interval.ms": 60_000},
    ).run(1.5)  # fmt: skip
    cluster = copying.cluster
    coordinator = cluster.coordinators[cluster.query.leader("__consumer_offsets-0")]
    place = place_of(copying)
    for there in (False, True):  # what is pending at first may be about to be committed
        while bool(coordinator.registry.groups["copier"].offsets.unstable(place)) is not there:
            cluster.run(cluster.now_us + 100)
    copying.cluster.crash(M0)
    return copying.run(0)


def taken_over(copying: Copying) -> float:
    """Seconds until somebody reads on where that member was."""
    start, partition = copying.cluster.now_us, place_of(copying)
    while True:
        event = copying.step(RecordsRead)
        if event.partition == partition and event.client.startswith("copier"):
            return float(event.at_us - start) / SECOND


@pytest.mark.parametrize(
    ("kafka", "low", "high"), spread_sample([("2.4", 1, 4), ("2.6", 7.5, 10), ("3.9", 7.5, 10), ("4.1", 7.5, 10)], 2)
)
def test_offsets_that_are_pending_keep_the_next_owner_waiting(kafka: str, low: float, high: float) -> None:
    copying = pending(kafka)
    assert low < taken_over(copying) < high
    copying.run(1)
    copying.cluster.restart(M0)
    once(copying.run(1).end(15))


@pytest.mark.parametrize("kafka", spread_sample(["2.6", "3.9", "4.1"], 2))
def test_the_next_process_of_that_name_ends_the_wait(kafka: str) -> None:
    copying = pending(kafka)
    copying.run(0.5)
    copying.cluster.restart(M0)
    assert taken_over(copying) < 4
    once(copying.run(2).end(15))
