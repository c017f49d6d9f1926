"""Read, process, write: each record's output is there once, whatever happens, if it is written in transactions."""

from typing import Any

import pytest

from cluster_model.events import (
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
from tests.cluster_model.copying import M0, M1, MS, OUT, SECOND, Copying

MODERN = {"group.protocol": "consumer"}


def once(copying: Copying) -> None:
    """Every record's output is there once, and every input offset in one committed transaction."""
    assert copying.source > 1_000
    assert copying.copies == copying.source
    covered = copying.committed()
    for name, offsets in covered.items():
        assert len(set(offsets)) == len(offsets)
        assert set(offsets) <= set(range(copying.cluster.query.leo(name)))
    told = sum(len(offsets) for offsets in covered.values())
    assert told <= copying.source <= told + sum(event.count for event in copying.of(TransactionUnknown))


@pytest.mark.parametrize("kafka", ["0.11", "2.4", "2.6", "3.5", "3.9", "4.1"])
def test_in_calm_every_record_is_copied_once(kafka: str) -> None:
    copying = Copying(kafka).run(10).end()
    once(copying)
    assert sum(event.count for event in copying.of(TransactionCommitted)) == copying.source
    assert copying.of(TransactionAborted) == copying.of(RecordsAbandoned) == []
    assert [copying.books(0)[1] + copying.books(1)[1], copying.books(0)[2:], copying.books(1)[2:]] == [
        copying.source, [0, 0, 0], [0, 0, 0],
    ]  # fmt: skip


@pytest.mark.parametrize("kafka", ["0.9", "2.0", "3.9"])
@pytest.mark.parametrize("commit", ["sync", "auto", "async", "before"])
def test_in_calm_other_ways_to_commit_do_as_well(kafka: str, commit: str) -> None:
    copying = Copying(kafka, commit=commit).run(10).end()
    assert copying.source == copying.copies > 1_000
    assert copying.of(TransactionBegun) == []


def crashed(kafka: str, seed: int, commit: str, **more: Any) -> Copying:
    """A member that crashes again and again, each time with something on its way."""
    copying = Copying(kafka, seed=seed, fast=True, commit=commit, **more).run(5)
    for _again in range(4):
        copying.step(RecordsSent, OUT)
        copying.run(0.006)
        copying.cluster.crash(M0)
        copying.run(1)
        copying.cluster.restart(M0)
        copying.run(6)
    return copying.end(60)


@pytest.mark.parametrize("kafka", ["0.11", "2.6", "3.5", "3.9", "4.1"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_member_that_crashes_leaves_each_record_copied_once(kafka: str, seed: int) -> None:
    copying = crashed(kafka, seed, "transaction")
    once(copying)
    assert copying.books()[4] + copying.books()[3] > 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_without_transactions_a_crash_makes_copies_twice(seed: int) -> None:
    copying = crashed("3.9", seed, "sync")
    assert copying.copies > copying.source > 1_000


def test_by_the_new_group_protocol_it_is_the_same() -> None:
    once(crashed("4.1", 5, "transaction", config=MODERN))


def zombie(kafka: str, seed: int = 4, commit: str = "transaction", **more: Any) -> Copying:
    """A member that takes so long that the group goes on without it, and then writes."""
    copying = Copying(kafka, seed=seed, fast=True, commit=commit, **more).run(5)
    copying.step(RecordsRead, "copier/0")
    copying.cluster.pause(M0)
    copying.run(15)
    copying.cluster.resume(M0)
    return copying.run(10).end(60)


@pytest.mark.parametrize("kafka", ["2.6", "3.5", "3.9", "4.1"])
def test_who_was_left_behind_is_refused_and_aborts(kafka: str) -> None:
    copying = zombie(kafka)
    aborted = copying.of(TransactionAborted, OUT)
    assert [event.detail for event in aborted] != []
    assert {event.error for event in aborted} <= {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"}
    assert {event.by for event in copying.of(RecordsAbandoned)} == {"transaction aborted"}
    assert copying.of(PartitionsLost, "copier/0")
    once(copying)


@pytest.mark.parametrize("kafka", ["0.11", "2.4"])
def test_before_kip_447_nobody_refuses_it_and_records_are_copied_twice(kafka: str) -> None:
    copying = zombie(kafka)
    assert copying.of(TransactionAborted, OUT) == []
    assert copying.copies > copying.source
