"""Hanging transactions, and the tables of ``kafka-transactions.sh`` (``TransactionsCommand``, KIP-664)."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from cluster_model.protocol.transaction_messages import NOTHING, ActiveProducer, ListedTransaction, TxnMarker

MS: Final = 1_000
MINUTE: Final = 60_000_000

Table = list[tuple[str, ...]]
LIST_COLUMNS: Final = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
PRODUCER_COLUMNS: Final = (
    "ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp",
    "CurrentTransactionStartOffset",
)  # fmt: skip
HANGING_COLUMNS: Final = (
    "Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp",
    "Duration(min)",
)  # fmt: skip


class OpenTransaction(NamedTuple):
    """A transaction that is open at the leader of a partition."""

    partition: str
    producer: ActiveProducer


def candidates(
    partition: str, producers: Iterable[ActiveProducer], now: int, largest_timeout_us: int
) -> tuple[OpenTransaction, ...]:
    """Return open transactions whose producer has been silent for longer than the largest timeout.

    ``collectCandidateOpenTransactions``; ordered by start offset.
    """
    open_transactions = [
        OpenTransaction(partition, each)
        for each in producers
        if each.start_offset != NOTHING and now - each.last_us > largest_timeout_us
    ]
    return tuple(sorted(open_transactions, key=lambda each: each.producer.start_offset))


def hanging(
    suspects: Iterable[OpenTransaction], ids: Mapping[int, str], expected: Mapping[str, tuple[str, ...]]
) -> tuple[OpenTransaction, ...]:
    """Return the transactions for which no coordinator will write a marker (``filterHangingTransactions``).

    ``ids`` maps producer ids to transactional ids, ``expected`` transactional ids to the partitions that await a
    marker. A transaction hangs if its producer id has no coordinator, or if its coordinator does not list the
    partition.
    """
    return tuple([
        each for each in suspects if each.partition not in expected.get(ids.get(each.producer.producer_id, ""), ())
    ])  # fmt: skip


def open_at(partition: str, producers: Iterable[ActiveProducer], start_offset: int) -> OpenTransaction | None:
    """Return the transaction that starts at an offset, hanging or not; None if there is none."""
    found = (OpenTransaction(partition, each) for each in producers if each.start_offset == start_offset)
    return None if start_offset == NOTHING else next(found, None)


def abort_marker(transaction: OpenTransaction) -> TxnMarker:
    """Return the marker that aborts a transaction from outside.

    It carries the epochs that the leader knows, so that it is not fenced. Without a previous marker no coordinator
    epoch is known; 0 is never newer than any (``TransactionsCommand.AbortTransactionCommand``).
    """
    producer = transaction.producer
    epoch = max(producer.coordinator_epoch, 0)
    return TxnMarker(producer.producer_id, producer.producer_epoch, epoch, False, (transaction.partition,))


def list_table(transactions: Iterable[tuple[int, ListedTransaction]]) -> Table:
    """Table of ``list``: each transactional id with its coordinator."""
    rows = [
        (known.transactional_id, str(broker), str(known.producer_id), known.state) for broker, known in transactions
    ]
    return [LIST_COLUMNS, *rows]


def producer_table(producers: Iterable[ActiveProducer]) -> Table:
    """Table of ``describe-producers``. Times are milliseconds of virtual time."""
    rows = [
        (
            str(each.producer_id), str(each.producer_epoch), str(each.coordinator_epoch), str(each.last_sequence),
            str(each.last_us // MS), "None" if each.start_offset == NOTHING else str(each.start_offset),
        )
        for each in producers
    ]  # fmt: skip
    return [PRODUCER_COLUMNS, *rows]


def hanging_table(transactions: Iterable[OpenTransaction], now: int) -> Table:
    """Table of ``find-hanging``: the arguments that ``abort`` needs."""
    rows: Table = [HANGING_COLUMNS]
    for partition, each in transactions:
        topic, _dash, number = partition.rpartition("-")
        rows.append((
            topic, number, str(each.producer_id), str(each.producer_epoch), str(each.coordinator_epoch),
            str(each.start_offset), str(each.last_us // MS), str((now - each.last_us) // MINUTE),
        ))  # fmt: skip
    return rows
