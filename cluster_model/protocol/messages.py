"""Requests and responses between clients and brokers, named after Kafka's, with the fields that the model uses.

Messages are immutable: a message is delivered as it was sent.
"""

from typing import Final, NamedTuple

from cluster_model.protocol.records import EpochEntry, Slice

NO_LEADER: Final = -1
"""``leader`` of a partition that has none, or whose leader is not known."""

CONSUMER: Final = -1
"""``replica`` in the requests of consumers."""

LATEST: Final = -1
"""``timestamp_us`` of a ListOffsets request for the latest readable offset."""
EARLIEST: Final = -2
"""``timestamp_us`` of a ListOffsets request for the start of the log."""
MAX_TIMESTAMP: Final = -3
"""``timestamp_us`` of a ListOffsets request for the record with the largest timestamp (KIP-734)."""

READ_UNCOMMITTED: Final = 0
"""``isolation`` of a consumer that reads all records below the high watermark."""
READ_COMMITTED: Final = 1
"""``isolation`` of a consumer that reads below the last stable offset, and no aborted records."""

ALL: Final = -1
"""``acks`` of a request that waits for all in-sync replicas."""


class PartitionState(NamedTuple):
    """The controller's decision about a partition, as LeaderAndIsr and the metadata log carry it."""

    partition: str
    leader: int
    """-1: no leader."""
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    """ZooKeeper mode: the version of the state node."""
    replicas: tuple[int, ...]
    """During a reassignment (KIP-455) the target replicas, then those being removed."""
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    """Eligible leader replicas: outside the ISR, but known to hold all committed records (KIP-966)."""
    last_known: int = NO_LEADER
    """The last leader before the ISR became empty (KIP-966)."""
    recovering: bool = False
    """The leader was elected uncleanly and has not reported since (KIP-704)."""
    topic_id: int = 0
    """Topic id, which distinguishes a recreated topic from the deleted one (KIP-516); 0: not given."""


class ProduceRequest(NamedTuple):
    """A produce request with one batch for one partition; ``sequence`` numbers its client's records from 0.

    ``producer_id`` is -1 without idempotence. Kafka's own sequence (baseSequence) is ``sequence - origin``: it restarts
    with every ``producer_epoch``.

    ``timestamp_us`` is that of its newest record, -1 if it has none; ``size`` is after compression with ``codec``.
    """

    correlation_id: int
    partition: str
    acks: int
    timeout_us: int
    client: str
    producer_id: int
    sequence: int
    records: int
    size: int
    names: tuple[str, ...] = ()
    timestamp_us: int = -1
    codec: int = 0
    producer_epoch: int = -1
    origin: int = 0
    request: int = -1
    """Number of Kafka's request, which has a batch for each of several partitions: that of its first message.

    -1 for a request whose connection keeps the order itself.
    """
    kind: int = 0
    """Kind of the batch, see :mod:`cluster_model.protocol.records`; markers come from coordinators only."""
    coordinator_epoch: int = -1
    """Epoch of the coordinator that sends a marker."""
    transactional_id: str = ""
    version: int = 9
    """Version of the request, where its rules differ (KIP-890)."""
    payload: bytes = b""
    """The batch as written by a client outside the model; the model does not interpret it."""
    oldest_us: int = -1
    """Timestamp of its oldest record, where it is known apart from ``timestamp_us``; -1 unknown."""
    transaction_version: int = 0
    """For a marker: the version of transactions by which it was ended; at 2 its epoch is newer than the records'."""


class ProduceResponse(NamedTuple):
    """The answer to a :class:`ProduceRequest`; ``log_offset`` and ``leader_epoch`` are -1 with an error.

    A response to a request with acks=0 stands for the broker closing the connection (``handleProduceRequest``).
    """

    correlation_id: int
    partition: str
    error: int
    log_offset: int
    leader_epoch: int
    epoch_branch: int
    """Log branch that the batch was appended to, for observers of the model: clients do not use it."""
    log_start: int = -1
    """Log start offset, sent with UNKNOWN_PRODUCER_ID; -1 otherwise."""
    current: tuple[int, int] | None = None
    """(leader, epoch) known to a broker that is not the leader; None if not sent (KIP-951)."""


class InitProducerIdRequest(NamedTuple):
    """A producer's request for an id and an epoch (KIP-98); without a transactional id any broker assigns a new one.

    ``producer_id`` and ``producer_epoch`` are the producer's current ones, -1 for none (KIP-360).
    """

    correlation_id: int
    transactional_id: str | None = None
    timeout_us: int = 60_000_000
    producer_id: int = -1
    producer_epoch: int = -1


class InitProducerIdResponse(NamedTuple):
    """The assigned producer id and epoch, -1 with an error."""

    correlation_id: int
    error: int
    producer_id: int
    producer_epoch: int


class FetchPartition(NamedTuple):
    """One partition of a fetch request; epochs are -1 where the version sends none.

    ``log_start`` is the follower's own log start offset, -1 from a consumer.
    """

    partition: str
    offset: int
    current_leader_epoch: int
    last_fetched_epoch: int
    log_start: int = -1


class FetchRequest(NamedTuple):
    """A fetch request of a follower or a consumer; ``replica`` is the follower's broker id, -1 for a consumer.

    ``broker_epoch`` is -1 before KIP-903. ``incremental``: ``partitions`` has only changes since this fetcher's last
    fetch. ``rack`` is the consumer's, empty if it has none (KIP-392). ``fetcher`` numbers the follower's fetcher
    threads, each with its own connection. ``session_epoch`` counts the fetches of session ``session_id`` (KIP-227): 0
    requests a new session, -1 none. The request waits for ``min_bytes``; a response has at most
    ``response_max_bytes``, 0 for no limit (KIP-74). ``isolation`` is a consumer's (KIP-98).
    """

    correlation_id: int
    replica: int
    broker_epoch: int
    max_wait_us: int
    max_bytes: int
    partitions: tuple[FetchPartition, ...]
    incremental: bool = False
    rack: str = ""
    fetcher: int = 0
    session_id: int = 0
    session_epoch: int = -1
    min_bytes: int = 1
    response_max_bytes: int = 0
    isolation: int = READ_UNCOMMITTED


class FetchData(NamedTuple):
    """One partition of a fetch response; ``diverging`` is (epoch, end offset) where the logs diverge (KIP-595).

    ``preferred`` is the preferred read replica of a consumer, NO_LEADER for none (KIP-392); it comes without records.
    """

    partition: str
    offset: int
    """The requested offset, by which the receiver recognises a response to an outdated request."""
    error: int
    hw: int
    log_start: int
    leader_epoch: int
    records: Slice
    diverging: EpochEntry | None = None
    preferred: int = NO_LEADER
    last_stable_offset: int = -1
    """Sent to consumers; -1 with an error."""
    aborted: tuple[tuple[int, int], ...] = ()
    """(producer id, first offset) of aborted transactions in the records, sent to read_committed consumers."""
    current: tuple[int, int] | None = None
    """As in :class:`ProduceResponse`, with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH to consumers."""


class FetchResponse(NamedTuple):
    """Partitions in the order requested; to a follower only those with something new.

    ``error`` rejects the fetch session, and there are no partitions. ``session_id`` is the session to continue with, 0
    for none.
    """

    correlation_id: int
    partitions: tuple[FetchData, ...]
    error: int = 0
    session_id: int = 0


class EpochEndRequest(NamedTuple):
    """OffsetsForLeaderEpoch for several partitions: (partition, requested epoch, current leader epoch or -1).

    ``replica`` is -1 from a consumer (KIP-320), which is answered on its ordinary connection.
    """

    correlation_id: int
    partitions: tuple[tuple[str, int, int], ...]
    replica: int = 0
    finds_epoch: bool = True
    """Whether the response has the epoch found, as from version 1 on (KIP-279)."""


class EpochEnd(NamedTuple):
    """The end offset of a leader epoch; ``epoch`` is -1 where the version sends none, ``end`` is -1 if unknown."""

    partition: str
    requested_epoch: int
    error: int
    epoch: int
    end: int


class EpochEndResponse(NamedTuple):
    """The end offsets requested by an :class:`EpochEndRequest`, one for each partition."""

    correlation_id: int
    partitions: tuple[EpochEnd, ...]


class ListOffsetsRequest(NamedTuple):
    """A request for the offset of the first record with a timestamp of at least ``timestamp_us`` (KIP-79).

    :data:`LATEST`, :data:`EARLIEST` and :data:`MAX_TIMESTAMP` (KIP-734) request other offsets. ``replica`` is the
    follower's broker id, -1 for a consumer: the latest readable offset depends on it and on ``isolation``.
    """

    correlation_id: int
    partition: str
    timestamp_us: int
    current_leader_epoch: int
    replica: int = CONSUMER
    isolation: int = READ_UNCOMMITTED


class ListOffsetsResponse(NamedTuple):
    """The offset found: -1 with an error, and where no record matches; ``timestamp_us`` is that of its record.

    ``leader_epoch`` is that of the record, -1 if unknown (KIP-320).
    """

    correlation_id: int
    partition: str
    error: int
    log_offset: int
    timestamp_us: int = -1
    leader_epoch: int = -1


class ApiVersionsRequest(NamedTuple):
    """The first request on a client's new connection (KIP-97)."""

    correlation_id: int


class ApiVersionsResponse(NamedTuple):
    """The broker's answer to an :class:`ApiVersionsRequest`: the connection can be used."""

    correlation_id: int


class MetadataRequest(NamedTuple):
    """A client's request for the partitions, their leaders and the live brokers."""

    correlation_id: int


class MetadataResponse(NamedTuple):
    """The metadata cache of the broker: states of all partitions, and the brokers that it considers alive.

    ``controller`` is the node for admin requests, NO_LEADER if the broker knows none. In KRaft mode it is the broker
    itself, which forwards them. ``racks`` are those of the brokers, empty if no broker has one.
    """

    correlation_id: int
    partitions: tuple[PartitionState, ...]
    brokers: tuple[int, ...]
    controller: int = NO_LEADER
    racks: tuple[str, ...] = ()


class DeleteRecordsRequest(NamedTuple):
    """A request to move a partition's log start to ``offset``; -1 stands for its high watermark (KIP-107)."""

    correlation_id: int
    partition: str
    offset: int
    timeout_us: int = 30_000_000


class DeleteRecordsResponse(NamedTuple):
    """The result; ``low_watermark`` is the least log start of the live replicas, -1 with an error."""

    correlation_id: int
    partition: str
    error: int
    low_watermark: int


class AlterPartitionRequest(NamedTuple):
    """A leader's request for an ISR change; ``isr_epochs`` are its members' broker epochs as fetched, -1 unchecked.

    ``correlation_id`` identifies the request; the response repeats it. ``recovering`` is the leader's recovery state
    (KIP-704): false as soon as it leads.
    """

    partition: str
    leader: int
    broker_epoch: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    isr_epochs: tuple[int, ...]
    correlation_id: int = 0
    recovering: bool = False


class AlterPartitionResponse(NamedTuple):
    """The committed partition state, or an error."""

    partition: str
    error: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    correlation_id: int = 0


Message = (
    ProduceRequest
    | ProduceResponse
    | InitProducerIdRequest
    | InitProducerIdResponse
    | FetchRequest
    | FetchResponse
    | EpochEndRequest
    | EpochEndResponse
    | ListOffsetsRequest
    | ListOffsetsResponse
    | ApiVersionsRequest
    | ApiVersionsResponse
    | MetadataRequest
    | MetadataResponse
    | DeleteRecordsRequest
    | DeleteRecordsResponse
    | AlterPartitionRequest
    | AlterPartitionResponse
)
"""Any request or response of this module."""
