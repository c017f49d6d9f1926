"""Requests and responses of transactions, between clients, transaction coordinators and leaders, named after Kafka's.

InitProducerId is in :mod:`cluster_model.protocol.messages`: without a transactional id any broker answers it.
Partitions have names such as ``orders-0``. ``error`` is a number of
:class:`~cluster_model.protocol.errors.KafkaError`.
"""

from typing import Final, NamedTuple

FIRST_VERIFIED: Final = 11
"""First ``version`` of Produce whose clients know TRANSACTION_ABORTABLE (KIP-890)."""
FIRST_IMPLICIT: Final = 12
"""First ``version`` of Produce where a write adds its partition to the transaction (KIP-890, part 2)."""
FIRST_BUMPING: Final = 5
"""First ``version`` of EndTxn, and of TxnOffsetCommit, where the epoch rises with every transaction."""
WITH_TRANSACTION_VERSION: Final = 2
"""First ``version`` of WriteTxnMarkers with the version of the transaction (KIP-1228)."""


class AddPartitionsToTxnRequest(NamedTuple):
    """A request to add partitions to the open transaction, beginning one if there is none.

    With ``verify_only`` a leader only verifies that they are part of it (KIP-890).
    """

    correlation_id: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[str, ...]
    verify_only: bool = False


class AddPartitionsToTxnResponse(NamedTuple):
    """One result for all partitions; with ``verify_only`` also the partitions that are not part of the transaction."""

    correlation_id: int
    error: int
    missing: tuple[str, ...] = ()


class AddOffsetsToTxnRequest(NamedTuple):
    """A request to add a group's partition of ``__consumer_offsets`` to the transaction."""

    correlation_id: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str


class AddOffsetsToTxnResponse(NamedTuple):
    """The result of an :class:`AddOffsetsToTxnRequest`."""

    correlation_id: int
    error: int


class EndTxnRequest(NamedTuple):
    """A request to commit the open transaction, or to abort it."""

    correlation_id: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    version: int = 4


class EndTxnResponse(NamedTuple):
    """Response to EndTxn, sent once the decision is persisted and before markers are written.

    ``producer_id`` and ``producer_epoch`` are those for the next transaction, -1 before version 5.
    """

    correlation_id: int
    error: int
    producer_id: int = -1
    producer_epoch: int = -1


class TxnMarker(NamedTuple):
    """A commit or abort marker of one producer's transaction, for the partitions led by one broker."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    partitions: tuple[str, ...]
    transaction_version: int = 0
    """Version of transactions by which it was ended (KIP-1228); at 2 the epoch is newer than that of the records."""


class WriteTxnMarkersRequest(NamedTuple):
    """A coordinator's request to write a marker to partitions led by the broker."""

    correlation_id: int
    marker: TxnMarker
    version: int = 1
    """Newest version of the request that the coordinator supports."""
    is_fixed: bool = True
    """Whether it is sent in that version; if not, in the newest that the leader's ApiVersions response allows."""


class MarkerConnectionClosed(NamedTuple):
    """The end of a coordinator's connection: the leader's SocketServer closes it at a request of unknown version."""

    correlation_id: int


class WriteTxnMarkersResponse(NamedTuple):
    """The result of each partition, as (partition, error)."""

    correlation_id: int
    partitions: tuple[tuple[str, int], ...]


# Admin requests about transactions and producers, and their responses (KIP-664).


NOTHING: Final = -1
"""Stands for no sequence, no coordinator epoch and no open transaction."""


class ListTransactionsRequest(NamedTuple):
    """A request for the transactional ids that a broker coordinates, filtered by ``producer_ids`` unless empty."""

    correlation_id: int
    producer_ids: tuple[int, ...] = ()


class ListedTransaction(NamedTuple):
    """A transactional id with its producer id and state."""

    transactional_id: str
    producer_id: int
    state: str


class ListTransactionsResponse(NamedTuple):
    """The transactional ids of a coordinator in the order of their creation; ``broker`` is the one that answers."""

    correlation_id: int
    error: int
    broker: int
    transactions: tuple[ListedTransaction, ...]


class DescribeTransactionsRequest(NamedTuple):
    """A request for the state of one transactional id."""

    correlation_id: int
    transactional_id: str


class DescribeTransactionsResponse(NamedTuple):
    """The state of a transactional id; ``partitions`` are those without a marker yet."""

    correlation_id: int
    error: int
    transactional_id: str
    producer_id: int = NOTHING
    producer_epoch: int = NOTHING
    state: str = ""
    timeout_us: int = 0
    start_us: int = NOTHING
    partitions: tuple[str, ...] = ()


class DescribeProducersRequest(NamedTuple):
    """A request to a partition's leader for its active producers."""

    correlation_id: int
    partition: str


class ActiveProducer(NamedTuple):
    """The state that a leader has of a producer (``ProducerState``); -1 stands for none."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_us: int
    """Time of its last append or marker."""
    coordinator_epoch: int
    """Coordinator epoch of its last marker."""
    start_offset: int
    """First offset of its open transaction."""


class DescribeProducersResponse(NamedTuple):
    """The active producers of a partition, in the order of their first append."""

    correlation_id: int
    error: int
    partition: str
    producers: tuple[ActiveProducer, ...] = ()
