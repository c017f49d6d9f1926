"""A leader's state of idempotent producers (KIP-98): duplicates, gaps, and recovery from the log."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.broker.partition.producer_state_manager import REMEMBERED, ProducerStateManager, producer_state
from cluster_model.log.batch_store import BatchStore
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.transaction_index import TransactionIndex
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.records import ABORT, TRANSACTIONAL, Batch
from cluster_model.protocol.versions import Profile

E = KafkaError
PID = 7
MINUTE = 60_000_000
EXPIRY = 24 * 60 * MINUTE
TAKEN = (E.NONE, -1)
OUT_OF_ORDER = (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
MARKER = Batch(200, 1, 0, 0, "", PID, -1, -1, producer_epoch=0, kind=ABORT, coordinator_epoch=1)


def remembering(*batches: tuple[int, int], epoch: int = 0, now: int = 0) -> ProducerStateManager:
    """Return the state after batches of (first sequence, records), appended consecutively from offset 100."""
    memory = ProducerStateManager(EXPIRY)
    base = 100
    for sequence, count in batches:
        memory.note(PID, epoch, sequence, count, base, now)
        base += count
    return memory


def said(
    memory: ProducerStateManager,
    first: int,
    count: int,
    *,
    pid: int = PID,
    epoch: int = 0,
    kafka: str = "3.9",
    now: int = 0,
) -> tuple[KafkaError, int]:
    """Return the result of a batch; the shortcut must agree with the full check."""
    verdict = memory.check_append(Profile.of(kafka), pid, epoch, first, count, now)
    if memory.follows(pid, epoch, first, now):
        assert verdict == TAKEN
    return verdict


def test_the_very_same_batch_is_a_duplicate_with_its_first_offset() -> None:
    memory = remembering((0, 3), (3, 2))
    assert said(memory, 0, 3) == (E.NONE, 100)
    assert said(memory, 3, 2) == (E.NONE, 103)


@pytest.mark.parametrize(("first", "count"), [(0, 2), (1, 2), (0, 5), (3, 1), (4, 1), (2, 2), (6, 1), (4, 2), (0, 9)])
def test_a_batch_that_only_overlaps_or_leaves_a_gap_is_out_of_order(first: int, count: int) -> None:
    memory = remembering((0, 3), (3, 2))
    assert said(memory, first, count) == OUT_OF_ORDER
    assert not memory.follows(PID, 0, first, 0)


def test_a_new_batch_must_follow_on() -> None:
    memory = remembering((0, 3), (3, 2))
    assert said(memory, 5, 7) == TAKEN
    assert memory.follows(PID, 0, 5, 0)


@pytest.mark.parametrize("first", [0, 1, 4_711])
@pytest.mark.parametrize(
    ("kafka", "error"),
    [
        ("0.11", E.OUT_OF_ORDER_SEQUENCE_NUMBER), ("1.0", E.UNKNOWN_PRODUCER_ID), ("2.4", E.UNKNOWN_PRODUCER_ID),
        ("2.5", E.NONE), ("4.1", E.NONE),
    ],
)  # fmt: skip
def test_an_unknown_producer_must_begin_at_0_up_to_2_4(kafka: str, error: KafkaError, first: int) -> None:
    verdict = said(remembering((0, 3)), first, 1, pid=PID + 1, kafka=kafka)
    assert verdict == (error if first else E.NONE, -1)


@pytest.mark.parametrize(
    ("kafka", "error"),
    [
        ("1.1", E.OUT_OF_ORDER_SEQUENCE_NUMBER), ("2.0", E.UNKNOWN_PRODUCER_ID), ("2.4", E.UNKNOWN_PRODUCER_ID),
        ("2.5", E.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ],
)  # fmt: skip
def test_a_producer_known_by_its_marker_begins_at_0(kafka: str, error: KafkaError) -> None:
    memory = remembering()
    memory.written(MARKER, 0)
    assert said(memory, 0, 1, kafka=kafka) == TAKEN
    assert said(memory, 4, 1, kafka=kafka) == (error, -1)


@pytest.mark.parametrize(("kafka", "is_known"), [("0.11", True), ("1.0", False), ("2.3", False), ("2.4", True)])
def test_from_1_0_to_2_3_a_marker_does_not_delay_the_expiry(kafka: str, is_known: bool) -> None:
    """KAFKA-9144."""
    memory = producer_state(Profile.of(kafka), EXPIRY, TransactionIndex())
    memory.note(PID, 0, 0, 1, 100, 0)
    memory.written(MARKER, 20 * MINUTE)
    assert (memory.epoch_of(PID, EXPIRY + 10 * MINUTE) >= 0) is is_known


def test_0_11_remembers_the_last_batch_only() -> None:
    """KAFKA-5494."""
    memory = producer_state(Profile.of("0.11"), EXPIRY, TransactionIndex())
    memory.note(PID, 0, 0, 3, 100, 0)
    memory.note(PID, 0, 3, 1, 103, 0)
    assert said(memory, 3, 1, kafka="0.11") == (E.NONE, 103)
    assert said(memory, 0, 3, kafka="0.11") == OUT_OF_ORDER


def test_an_older_epoch_is_fenced_before_its_sequence_is_looked_at() -> None:
    memory = remembering((0, 3), epoch=4)
    assert said(memory, 3, 1, epoch=3) == (E.INVALID_PRODUCER_EPOCH, -1)
    assert said(memory, 0, 3, epoch=3) == (E.INVALID_PRODUCER_EPOCH, -1)


def test_a_newer_epoch_begins_at_0_and_forgets_the_batches_of_the_former() -> None:
    memory = remembering((0, 3), (3, 2))
    assert said(memory, 5, 1, epoch=1) == OUT_OF_ORDER
    assert said(memory, 0, 3, epoch=1) == TAKEN
    memory.note(PID, 1, 0, 3, 105, 0)
    assert said(memory, 0, 3, epoch=1) == (E.NONE, 105)
    assert said(memory, 3, 2, epoch=1) == TAKEN
    assert said(memory, 3, 2, epoch=0) == (E.INVALID_PRODUCER_EPOCH, -1)


def test_five_batches_are_remembered_and_an_older_duplicate_is_out_of_order() -> None:
    memory = remembering(*((sequence, 1) for sequence in range(6)))
    assert REMEMBERED == 5
    assert said(memory, 0, 1) == OUT_OF_ORDER
    assert [said(memory, sequence, 1) for sequence in range(1, 6)] == [(E.NONE, 100 + n) for n in range(1, 6)]


def test_sequences_continue_at_0_behind_the_largest() -> None:
    memory = remembering((2**31 - 2, 2))
    assert said(memory, 0, 1) == TAKEN
    straddling = remembering((2**31 - 2, 4))
    assert said(straddling, 2, 1) == TAKEN
    assert said(straddling, 2**31 - 2, 4) == (E.NONE, 100)


def test_a_producer_silent_for_too_long_is_forgotten_at_the_next_look() -> None:
    memory = remembering((0, 3), now=MINUTE)
    for now, verdict in ((EXPIRY + 9 * MINUTE, OUT_OF_ORDER), (EXPIRY + 10 * MINUTE, TAKEN)):
        assert said(memory, 7, 1, now=now) == verdict
    assert said(memory, 0, 3, now=EXPIRY + 10 * MINUTE) == TAKEN


def test_a_broker_that_writes_again_is_remembered_from_then_on() -> None:
    memory = remembering((0, 3))
    memory.note(PID, 0, 3, 1, 200, EXPIRY - MINUTE)
    assert said(memory, 9, 1, now=EXPIRY + 10 * MINUTE) == OUT_OF_ORDER


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), max_size=20))
def test_memory_is_the_last_five_of_each_producer(appends: list[tuple[int, int]]) -> None:
    memory, plain = ProducerStateManager(), {producer: deque[tuple[int, int, int]](maxlen=5) for producer in (1, 2, 3)}
    sequences = dict.fromkeys((1, 2, 3), 0)
    base = 0
    for producer, count in appends:
        assert said(memory, sequences[producer], count, pid=producer) == TAKEN
        memory.note(producer, 0, sequences[producer], count, base, 0)
        plain[producer].append((sequences[producer], count, base))
        sequences[producer] += count
        base += count
    for producer, kept in plain.items():
        assert [said(memory, *entry[:2], pid=producer)[1] for entry in kept] == [entry[2] for entry in kept]
    again = ProducerStateManager()
    again.load(memory.save())
    assert again.save() == memory.save()


def log_of(*batches: tuple[int, int, int]) -> ReplicaLog:
    """Return a log with batches of (producer id, first sequence, records)."""
    log = ReplicaLog(BatchStore(), uses_epochs=True, replaces=True)
    epoch_branch = log.epoch_branches.begin(1, 0, 0)
    for producer, sequence, count in batches:
        epoch = -1 if producer < 0 else 0
        log.append_batch(epoch_branch, Batch(log.leo, count, 10, 0, "p", producer, sequence, -1, (), 0, 0, epoch))
    return log


def test_a_new_leader_reads_its_memory_from_the_log() -> None:
    memory = remembering((90, 9))
    memory.rebuild(log_of((PID, 0, 3), (-1, 0, 2), (8, 0, 4), (PID, 3, 1)))
    assert (said(memory, 0, 3), said(memory, 3, 1)) == ((E.NONE, 0), (E.NONE, 9))
    assert said(memory, 0, 4, pid=8) == (E.NONE, 5)
    assert (said(memory, 4, 1), said(memory, 99, 1)) == (TAKEN, OUT_OF_ORDER)
    assert said(memory, 0, 2, pid=-1) == TAKEN


def test_a_new_leader_reads_epochs_and_kafkas_own_sequences() -> None:
    log = log_of((PID, 0, 3))
    epoch_branch = log.epoch_branches.begin(1, 1, 3)
    log.append_batch(epoch_branch, Batch(3, 2, 10, 0, "p", PID, 3, -1, (), 0, 0, 1, 3))
    memory = ProducerStateManager()
    memory.rebuild(log)
    assert said(memory, 0, 2, epoch=1) == (E.NONE, 3)
    assert said(memory, 2, 1, epoch=1) == TAKEN
    assert said(memory, 3, 1) == (E.INVALID_PRODUCER_EPOCH, -1)


def test_a_snapshot_file_keeps_the_last_batch_of_each_producer_only() -> None:
    log = log_of((PID, 0, 1), (8, 0, 1), (PID, 1, 1), (8, 1, 1), (PID, 2, 1))
    memory = ProducerStateManager()
    memory.rebuild(log, 4)
    assert [said(memory, first, 1)[1] for first in range(3)] == [-1, 2, 4]
    assert [said(memory, first, 1, pid=8)[1] for first in range(2)] == [-1, 3]
    memory.rebuild(log, 5)
    assert [said(memory, first, 1)[1] for first in range(3)] == [-1, -1, 4]


def test_truncated_batches_are_not_in_the_producer_state() -> None:
    log = log_of((PID, 0, 3), (PID, 3, 2))
    log.truncate(3)
    memory = ProducerStateManager()
    memory.rebuild(log)
    assert said(memory, 3, 2) == TAKEN


def test_a_batch_of_which_a_part_is_gone_is_not_remembered() -> None:
    log = log_of((PID, 0, 3), (PID, 3, 4))
    log.truncate(5)
    other = log.epoch_branches.begin(2, 1, 5)
    log.append_batch(other, Batch(5, 6, 10, 0, "q", 9, 0, -1, (), 0, 0, 0))
    memory = ProducerStateManager()
    memory.rebuild(log)
    assert said(memory, 3, 4) == TAKEN
    assert said(memory, 0, 6, pid=9) == (E.NONE, 5)


def test_deleting_all_records_of_a_producer_forgets_it() -> None:
    """KAFKA-7190: what remains of the last batch is enough to know the producer."""
    memory = remembering((0, 3), (3, 2))
    memory.truncate_head(104)
    assert said(memory, 5, 1, kafka="2.3") == TAKEN
    memory.truncate_head(105)
    assert said(memory, 5, 1, kafka="2.3") == (E.UNKNOWN_PRODUCER_ID, -1)
    assert said(memory, 5, 1, kafka="0.11") == OUT_OF_ORDER


def test_deleting_all_records_of_a_producer_forgets_its_open_transaction() -> None:
    log = ReplicaLog(BatchStore(), uses_epochs=True, replaces=True)
    branch = log.epoch_branches.begin(1, 0, 0)
    for base, pid in ((0, PID), (1, PID + 1)):
        log.append_batch(branch, Batch(base, 1, 0, 0, "", pid, 0, -1, producer_epoch=0, kind=TRANSACTIONAL))
    log.move_start(1)
    log.forget_deleted_transactions()
    assert list(log.transactions.ongoing) == [PID + 1]
