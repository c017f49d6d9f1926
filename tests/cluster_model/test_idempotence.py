"""What a leader remembers of idempotent producers (KIP-98): duplicates, gaps, and what survives in the log."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.log.lineage import Batch, Lineages
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.replication.idempotence import REMEMBERED, ProducerMemory

PID = 7


def remembering(*batches: tuple[int, int]) -> ProducerMemory:
    """After batches of (first sequence, records), appended one behind the other from offset 100."""
    memory = ProducerMemory()
    base = 100
    for sequence, count in batches:
        memory.note(PID, sequence, count, base)
        base += count
    return memory


def test_the_very_same_batch_is_a_duplicate_with_its_first_offset() -> None:
    memory = remembering((0, 3), (3, 2))
    assert (memory.duplicate_of(PID, 0, 3), memory.duplicate_of(PID, 3, 2)) == (100, 103)


@pytest.mark.parametrize(("sequence", "count"), [(0, 2), (1, 2), (0, 5), (3, 1), (4, 1), (2, 2), (5, 1)])
def test_a_batch_that_only_overlaps_is_none(sequence: int, count: int) -> None:
    assert remembering((0, 3), (3, 2)).duplicate_of(PID, sequence, count) == -1


@pytest.mark.parametrize(
    ("sequence", "follows"),
    [(5, True), (6, False), (4, False), (0, False), (3, False)],
)
def test_a_new_batch_must_follow_on(sequence: int, follows: bool) -> None:
    assert remembering((0, 3), (3, 2)).follows(PID, sequence) is follows


@pytest.mark.parametrize("sequence", [0, 1, 4_711])
def test_an_unknown_producer_may_begin_anywhere(sequence: int) -> None:
    memory = remembering((0, 3))
    assert memory.follows(PID + 1, sequence)
    assert memory.duplicate_of(PID + 1, 0, 3) == -1


def test_five_batches_are_remembered_and_an_older_duplicate_is_out_of_order() -> None:
    memory = remembering(*((sequence, 1) for sequence in range(6)))
    assert REMEMBERED == 5
    assert memory.duplicate_of(PID, 0, 1) == -1
    assert not memory.follows(PID, 0)
    assert [memory.duplicate_of(PID, sequence, 1) for sequence in range(1, 6)] == [101, 102, 103, 104, 105]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), max_size=20))
def test_memory_is_the_last_five_of_each_producer(appends: list[tuple[int, int]]) -> None:
    memory, plain = ProducerMemory(), {producer: deque[tuple[int, int, int]](maxlen=5) for producer in (1, 2, 3)}
    sequences = dict.fromkeys((1, 2, 3), 0)
    base = 0
    for producer, count in appends:
        assert memory.follows(producer, sequences[producer])
        memory.note(producer, sequences[producer], count, base)
        plain[producer].append((sequences[producer], count, base))
        sequences[producer] += count
        base += count
    for producer, kept in plain.items():
        assert [memory.duplicate_of(producer, *entry[:2]) for entry in kept] == [entry[2] for entry in kept]
    again = ProducerMemory()
    again.load(memory.save())
    assert again.save() == memory.save()


def log_of(*batches: tuple[int, int, int]) -> ReplicaLog:
    """A log with batches of (producer id, first sequence, records)."""
    log = ReplicaLog(Lineages(), uses_epochs=True, replaces=True)
    lineage = log.lineages.begin(1, 0, 0)
    for producer, sequence, count in batches:
        log.append_batch(lineage, Batch(log.leo, count, 10, 0, "p", producer, sequence, -1))
    return log


def test_a_new_leader_reads_its_memory_from_the_log() -> None:
    memory = remembering((90, 9))
    memory.rebuild(log_of((PID, 0, 3), (-1, 0, 2), (8, 0, 4), (PID, 3, 1)))
    assert (memory.duplicate_of(PID, 0, 3), memory.duplicate_of(PID, 3, 1)) == (0, 9)
    assert memory.duplicate_of(8, 0, 4) == 5
    assert (memory.follows(PID, 4), memory.follows(PID, 99)) == (True, False)
    assert memory.duplicate_of(-1, 0, 2) == -1


def test_what_was_truncated_is_forgotten() -> None:
    log = log_of((PID, 0, 3), (PID, 3, 2))
    log.truncate(3)
    memory = ProducerMemory()
    memory.rebuild(log)
    assert memory.duplicate_of(PID, 3, 2) == -1
    assert memory.follows(PID, 3)


def test_a_batch_of_which_a_part_is_gone_is_not_remembered() -> None:
    log = log_of((PID, 0, 3), (PID, 3, 4))
    log.truncate(5)
    other = log.lineages.begin(2, 1, 5)
    log.append_batch(other, Batch(5, 6, 10, 0, "q", 9, 0, -1))
    memory = ProducerMemory()
    memory.rebuild(log)
    assert memory.duplicate_of(PID, 3, 4) == -1
    assert memory.duplicate_of(9, 0, 6) == 5
