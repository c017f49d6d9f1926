"""Messages between nodes, by Kafka's names, with the fields that the rules use. Frozen: a message is what was sent."""

from typing import Final, NamedTuple

from cluster_model.protocol.records import EpochEntry, Slice

NOBODY: Final = -1
"""``leader`` of a partition that has none, or that the one who asks has not been told of."""

CONSUMER: Final = -1
"""``replica`` of a consumer's fetch."""

LATEST: Final = -1
"""``timestamp_us`` of a ListOffsets for the end of what can be read."""
EARLIEST: Final = -2
"""... for the start of the log."""
MAX_TIMESTAMP: Final = -3
"""... for the record with the largest timestamp."""

READ_UNCOMMITTED: Final = 0
"""``isolation`` of a consumer that reads whatever is replicated ..."""
READ_COMMITTED: Final = 1
"""... and of one that reads nothing behind an open transaction, and nothing aborted."""

ALL: Final = -1
"""``acks`` of all in-sync replicas."""


class PartitionState(NamedTuple):
    """The controller's decision about a partition, as LeaderAndIsr and the metadata log carry it."""

    partition: str
    leader: int
    """-1: nobody."""
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    """ZooKeeper mode: the version of the state node."""
    replicas: tuple[int, ...]
    """During a reassignment (KIP-455) the target's, then those that leave."""
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    """Eligible leader replicas: out of the ISR, but known to hold all that is committed (KIP-966)."""
    last_known: int = NOBODY
    """Who led last when the ISR became empty (KIP-966)."""
    recovering: bool = False
    """Led by the winner of an unclean election that has not reported since (KIP-704)."""
    topic_id: int = 0
    """Which topic of that name: a topic created again has another (KIP-516). 0: untold."""


class ProduceRequest(NamedTuple):
    """One batch for one partition. ``producer_id`` -1: no idempotence. ``sequence`` numbers records from 0.

    Kafka's own sequence (baseSequence) is ``sequence - origin``: it begins anew with every ``producer_epoch``.

    ``timestamp_us`` is when its newest record was made, -1 untold; ``size`` is as compressed with ``codec``.
    """

    correlation: int
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
    kind: int = 0
    """Of the batch, see :mod:`cluster_model.log.batch_store`; markers come from coordinators only."""
    coordinator_epoch: int = -1
    """Of a marker's sender."""
    transactional_id: str = ""
    version: int = 9
    """Of the request, where its rules differ (KIP-890)."""
    payload: bytes = b""
    """The batch as a client outside of the model wrote it; nobody in the model looks into it."""
    oldest_us: int = -1
    """When its oldest record was made, where that is known apart from ``timestamp_us``; -1 unknown."""


class ProduceResponse(NamedTuple):
    """``log_offset`` and ``leader_epoch`` are -1 with an error.

    One for a request with acks=0 stands for the broker's closing of the connection (``handleProduceRequest``).
    """

    correlation: int
    partition: str
    error: int
    log_offset: int
    leader_epoch: int
    lineage: int
    """Which stint wrote it: identity for the observer, no client looks at it."""
    log_start: int = -1
    """Where the log begins, told with UNKNOWN_PRODUCER_ID; -1 untold."""
    current: tuple[int, int] | None = None
    """(leader, epoch) that a broker believes in that does not lead; None untold (KIP-951)."""


class InitProducerIdRequest(NamedTuple):
    """A producer wants an id and an epoch (KIP-98): without a transactional id any broker gives a new one.

    ``producer_id`` and ``producer_epoch`` are those that the producer believes to have, -1 for none (KIP-360).
    """

    correlation: int
    transactional_id: str | None = None
    timeout_us: int = 60_000_000
    producer_id: int = -1
    producer_epoch: int = -1


class InitProducerIdResponse(NamedTuple):
    """``producer_id`` and ``producer_epoch`` are -1 with an error."""

    correlation: int
    error: int
    producer_id: int
    producer_epoch: int


class FetchPartition(NamedTuple):
    """What a fetch asks of one partition; epochs are -1 where the version sends none.

    ``log_start`` is where the follower's own log begins, -1 from a consumer.
    """

    partition: str
    offset: int
    current_leader_epoch: int
    last_fetched_epoch: int
    log_start: int = -1


class FetchRequest(NamedTuple):
    """``replica`` is the follower's broker id, -1 for a consumer. ``broker_epoch`` -1 before KIP-903.

    ``incremental``: ``partitions`` has only what is asked differently from this fetcher's last fetch. ``rack`` is the
    consumer's, empty where it has none to tell (KIP-392). ``fetcher`` numbers the follower's threads, each of which has
    a connection of its own. ``session_epoch`` counts the fetches of session ``session_id`` (KIP-227): 0 asks for a new
    one, -1 for none. It waits for ``min_bytes``; an answer has at most ``response_max_bytes``, 0 for no limit (KIP-74).
    ``isolation`` is a consumer's (KIP-98).
    """

    correlation: int
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
    """The answer for one partition. ``diverging`` is (epoch, end offset) where the logs part (KIP-595).

    ``preferred`` is the follower that a consumer should rather read from, NOBODY for none (KIP-392); it comes without
    records.
    """

    partition: str
    offset: int
    """As asked, so that an answer to an outdated question can be told."""
    error: int
    hw: int
    log_start: int
    leader_epoch: int
    records: Slice
    diverging: EpochEntry | None = None
    preferred: int = NOBODY
    last_stable_offset: int = -1
    """To consumers; -1 with an error."""
    aborted: tuple[tuple[int, int], ...] = ()
    """(producer id, first offset) of aborted transactions in the records, to who reads committed data only."""
    current: tuple[int, int] | None = None
    """As of :class:`ProduceResponse`, with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH to consumers."""


class FetchResponse(NamedTuple):
    """Answers, in the order asked; to a follower only those that may tell it something new.

    ``error`` refuses the session, and then there are no answers; ``session_id`` is the one to go on with, 0 for none.
    """

    correlation: int
    partitions: tuple[FetchData, ...]
    error: int = 0
    session_id: int = 0


class EpochEndRequest(NamedTuple):
    """OffsetsForLeaderEpoch for several partitions: (partition, epoch asked, current leader epoch or -1).

    ``replica`` is -1 from a consumer (KIP-320), which is answered on its ordinary connection.
    """

    correlation: int
    partitions: tuple[tuple[str, int, int], ...]
    replica: int = 0


class EpochEnd(NamedTuple):
    """``epoch`` is -1 where the leader's version does not tell it; ``end`` -1: unknown."""

    partition: str
    asked: int
    error: int
    epoch: int
    end: int


class EpochEndResponse(NamedTuple):
    """Answers to an :class:`EpochEndRequest`."""

    correlation: int
    partitions: tuple[EpochEnd, ...]


class ListOffsetsRequest(NamedTuple):
    """Somebody asks for the offset of the first record that is not older than ``timestamp_us`` (KIP-79).

    :data:`LATEST`, :data:`EARLIEST` and :data:`MAX_TIMESTAMP` (KIP-734) stand for other questions. ``replica`` is the
    follower's broker id, -1 for a consumer: the latest readable offset is another one for each, and by ``isolation``.
    """

    correlation: int
    partition: str
    timestamp_us: int
    current_leader_epoch: int
    replica: int = CONSUMER
    isolation: int = READ_UNCOMMITTED


class ListOffsetsResponse(NamedTuple):
    """``log_offset`` is -1 with an error, and where no record is as asked. ``timestamp_us`` is its record's.

    ``leader_epoch`` is of the record there, -1 where nobody knows (KIP-320).
    """

    correlation: int
    partition: str
    error: int
    log_offset: int
    timestamp_us: int = -1
    leader_epoch: int = -1


class ApiVersionsRequest(NamedTuple):
    """The first request on a client's new connection (KIP-97)."""

    correlation: int


class ApiVersionsResponse(NamedTuple):
    """The broker's process has answered: the connection can be used."""

    correlation: int


class MetadataRequest(NamedTuple):
    """A client asks a broker who leads what."""

    correlation: int


class MetadataResponse(NamedTuple):
    """What the broker believes: states of all partitions, and the brokers it takes to be alive.

    ``controller`` is whom administrators' requests go to, NOBODY while the broker knows none. In KRaft mode that is
    the broker itself: it hands them on. ``racks`` are the brokers', none where no broker has any.
    """

    correlation: int
    partitions: tuple[PartitionState, ...]
    brokers: tuple[int, ...]
    controller: int = NOBODY
    racks: tuple[str, ...] = ()


class DeleteRecordsRequest(NamedTuple):
    """Let a partition begin at an offset from now on; -1 stands for its high watermark (KIP-107)."""

    correlation: int
    partition: str
    offset: int
    timeout_us: int = 30_000_000


class DeleteRecordsResponse(NamedTuple):
    """``low_watermark`` is the least log start of the live replicas, -1 with an error."""

    correlation: int
    partition: str
    error: int
    low_watermark: int


class AlterPartitionRequest(NamedTuple):
    """A leader proposes an ISR. ``isr_epochs`` are its members' broker epochs as they fetched, -1 unchecked.

    ``correlation`` tells a leader's proposals apart; the answer repeats it. ``recovering`` is the leader's own word on
    its recovery (KIP-704): false from the moment it leads.
    """

    partition: str
    leader: int
    broker_epoch: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    isr_epochs: tuple[int, ...]
    correlation: int = 0
    recovering: bool = False


class AlterPartitionResponse(NamedTuple):
    """The committed state, or why not."""

    partition: str
    error: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    correlation: int = 0


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
"""Anything that crosses a link."""
