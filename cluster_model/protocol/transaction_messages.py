"""What producers ask of a transaction coordinator, and what it asks of partition leaders, by Kafka's names.

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
