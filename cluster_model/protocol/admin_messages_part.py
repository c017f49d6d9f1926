"""Requests of administrators about transactions and producers, and their responses (KIP-664)."""

from typing import Final, NamedTuple

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
