"""Requests and responses of the transaction coordinator and of partition leaders, by Kafka's names.

InitProducerId is among the ordinary messages: without a transactional id any broker answers it. Partitions are named
as everywhere, ``orders-0``. ``error`` is a number of :class:`~cluster_model.protocol.errors.KafkaError`.
"""

from typing import Final, NamedTuple

FIRST_VERIFIED: Final = 11
"""``version`` of Produce from which a client knows TRANSACTION_ABORTABLE (KIP-890)."""
FIRST_IMPLICIT: Final = 12
"""... and from which a partition is added to the transaction by the first write to it (KIP-890, part 2)."""
FIRST_BUMPING: Final = 5
"""``version`` of EndTxn, and of TxnOffsetCommit, from which the epoch rises with every transaction."""


class AddPartitionsToTxnRequest(NamedTuple):
    """Let partitions be part of the open transaction, or begin one.

    ``verify_only`` is a partition leader's question whether they are (KIP-890): nothing changes.
    """

    correlation: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[str, ...]
    verify_only: bool = False


class AddPartitionsToTxnResponse(NamedTuple):
    """One verdict for all partitions; to a question the partitions that are missing."""

    correlation: int
    error: int
    missing: tuple[str, ...] = ()


class AddOffsetsToTxnRequest(NamedTuple):
    """Let a group's partition of ``__consumer_offsets`` be part of the transaction."""

    correlation: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str


class AddOffsetsToTxnResponse(NamedTuple):
    """Whether it is."""

    correlation: int
    error: int


class EndTxnRequest(NamedTuple):
    """Commit the open transaction, or abort it."""

    correlation: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    version: int = 4


class EndTxnResponse(NamedTuple):
    """It is decided, which is before any marker is written. Id and epoch to go on with, -1 before version 5."""

    correlation: int
    error: int
    producer_id: int = -1
    producer_epoch: int = -1


class TxnMarker(NamedTuple):
    """The end of one producer's transaction, for the partitions that a broker leads."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    partitions: tuple[str, ...]


class WriteTxnMarkersRequest(NamedTuple):
    """A coordinator asks a broker to write a marker to partitions that it leads."""

    correlation: int
    marker: TxnMarker


class WriteTxnMarkersResponse(NamedTuple):
    """(partition, error) each."""

    correlation: int
    partitions: tuple[tuple[str, int], ...]


# Requests of administrators about transactions and producers, and their responses (KIP-664).


NOTHING: Final = -1
"""No sequence, no coordinator's epoch, no open transaction."""


class ListTransactionsRequest(NamedTuple):
    """Ask a broker for the transactional ids that it coordinates; ``producer_ids`` empty: of whatever producer."""

    correlation: int
    producer_ids: tuple[int, ...] = ()


class ListedTransaction(NamedTuple):
    """A transactional id."""

    transactional_id: str
    producer_id: int
    state: str


class ListTransactionsResponse(NamedTuple):
    """In the order in which the coordinator came to know them; ``broker`` is who answers."""

    correlation: int
    error: int
    broker: int
    transactions: tuple[ListedTransaction, ...]


class DescribeTransactionsRequest(NamedTuple):
    """Ask a coordinator about one of its ids."""

    correlation: int
    transactional_id: str


class DescribeTransactionsResponse(NamedTuple):
    """``partitions`` are those to which a marker is yet to be written."""

    correlation: int
    error: int
    transactional_id: str
    producer_id: int = NOTHING
    producer_epoch: int = NOTHING
    state: str = ""
    timeout_us: int = 0
    start_us: int = NOTHING
    partitions: tuple[str, ...] = ()


class DescribeProducersRequest(NamedTuple):
    """Ask a partition's leader who has written to it."""

    correlation: int
    partition: str


class ActiveProducer(NamedTuple):
    """A producer as a leader knows it (``ProducerState``); -1 stands for what there is none of."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_us: int
    """When it wrote last, or had a marker."""
    coordinator_epoch: int
    """Of the coordinator whose marker was its last."""
    start_offset: int
    """Where its open transaction begins."""


class DescribeProducersResponse(NamedTuple):
    """Producers in the order in which the leader came to know them."""

    correlation: int
    error: int
    partition: str
    producers: tuple[ActiveProducer, ...] = ()
