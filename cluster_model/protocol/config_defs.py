"""Definitions of the Kafka configuration keys that the model supports: types, ranges and validation.

As Kafka's ``ConfigDef``. Only keys with an effect in the model are listed: an unknown or misspelt key is an error, and
never ignored.
"""

import difflib
import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.releases import RELEASES
from cluster_model.protocol.versions import ELR_FEATURE, TRANSACTION_FEATURE

# A configuration key: its type, its range, and where it may change.


ConfigValue = int | str | bool
Dynamic = Literal["read-only", "per-broker", "cluster-wide"]
"""Update mode of a dynamic setting (KIP-226): not at run time, for one broker, or for the whole cluster too."""

LONG_MAX: Final = 2**63 - 1
INT_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One configuration key: its type, the range of an ``int``, the choices of a ``str``, and its description ``doc``.

    A ``str`` without choices takes any text that ``pattern`` matches; ``form`` describes the pattern, or many choices.
    """

    name: str
    type: Literal["int", "bool", "str", "ratio"]
    """``ratio`` is a number from 0 to 1 with at most six decimals, kept as text."""
    doc: str
    low: int = 0
    high: int = INT_MAX
    choices: tuple[str, ...] = ()
    pattern: str = ""
    form: str = ""
    dynamic: Dynamic = "read-only"


# Configuration keys of the consumer group protocol (KIP-848).


COORDINATOR: Final = (
    ConfigKey(
        "group.coordinator.rebalance.protocols",
        "str",
        "Group protocols the coordinator accepts: classic, and consumer (3.7).",
        pattern="classic( *, *consumer)?|consumer *, *classic",
        form="classic or classic,consumer",
    ),
    ConfigKey("group.consumer.session.timeout.ms", "int", "Session timeout of consumer protocol members.", 1),
    ConfigKey("group.consumer.heartbeat.interval.ms", "int", "Heartbeat interval of consumer protocol members.", 1),
    ConfigKey(
        "group.consumer.assignment.interval.ms", "int", "Shortest time between two target assignments of a group.", 0,
        15_000,
    ),
    ConfigKey("group.consumer.max.size", "int", "Maximum members of a consumer protocol group.", 1),
    ConfigKey(
        "group.consumer.assignors",
        "str",
        "Server-side assignors, the default one first.",
        pattern="(uniform|range)( *, *(uniform|range))*",
        form="uniform and range, separated by commas",
    ),
)  # fmt: skip
"""Broker keys of the consumer group protocol."""

MEMBER: Final = (
    ConfigKey(
        "group.protocol", "str", "Group protocol of the members: classic, or consumer (3.7, KRaft).",
        choices=("classic", "consumer"),
    ),
    ConfigKey(
        "group.remote.assignor", "str", "Server-side assignor that a member requests, with group.protocol=consumer.",
        choices=("uniform", "range"),
    ),
)  # fmt: skip
"""Consumer keys of the consumer group protocol."""


# Configuration keys of a producer's partitioner.


PARTITIONER_CLASS: Final = "partitioner.class"
IGNORE_KEYS: Final = "partitioner.ignore.keys"
ADAPTIVE: Final = "partitioner.adaptive.partitioning.enable"
AVAILABILITY: Final = "partitioner.availability.timeout.ms"

PARTITIONERS: Final = tuple(
    f"{package}{name}"
    for package, name in (
        ("org.apache.kafka.clients.producer.internals.", "DefaultPartitioner"),
        ("org.apache.kafka.clients.producer.", "RoundRobinPartitioner"),
        ("org.apache.kafka.clients.producer.", "UniformStickyPartitioner"),
    )
)
"""Java class names of the partitioners; a configuration may name the class without its package."""

PARTITIONING: Final = (
    ConfigKey(
        PARTITIONER_CLASS, "str", "Partitioner class; the version's default partitioning if unset.",
        choices=(*(name.rpartition(".")[2] for name in PARTITIONERS), *PARTITIONERS),
    ),
    ConfigKey(IGNORE_KEYS, "bool", "Whether partitioning ignores record keys (3.3)."),
    ConfigKey(ADAPTIVE, "bool", "Whether partitions with shorter queues get more records (3.3)."),
    ConfigKey(
        AVAILABILITY, "int", "Time a broker cannot take requests until its partitions are skipped; 0 never (3.3).", 0,
        LONG_MAX,
    ),
)  # fmt: skip


# Configuration keys of transaction coordinators and transactional producers.


TRANSACTION_COORDINATOR: Final = (
    ConfigKey("transaction.state.log.num.partitions", "int", "Partitions of __transaction_state.", 1, 1_000),
    ConfigKey("transaction.state.log.replication.factor", "int", "Replicas of __transaction_state.", 1, 100),
    ConfigKey("transaction.state.log.min.isr", "int", "min.insync.replicas of __transaction_state.", 1),
    ConfigKey("transaction.max.timeout.ms", "int", "Maximum transaction.timeout.ms a producer may request.", 1),
    ConfigKey("transactional.id.expiration.ms", "int", "Idle time after which a transactional id expires.", 1),
    ConfigKey(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", "int",
        "How often the coordinator aborts transactions that have timed out.", 1,
    ),
    ConfigKey(
        "transaction.remove.expired.transaction.cleanup.interval.ms", "int",
        "How often the coordinator removes expired transactional ids.", 1,
    ),
    ConfigKey(
        "transaction.partition.verification.enable", "bool",
        "Whether leaders verify that a partition is part of the transaction (3.6).",
    ),
    ConfigKey(
        TRANSACTION_FEATURE, "int", "Feature level: at 2 every transaction has an epoch (KRaft; default since 4.0).",
        0, 2,
    ),
)  # fmt: skip
"""Broker keys of transactions."""

TRANSACTIONAL_PRODUCER: Final = (
    ConfigKey(
        "transactional.id",
        "str",
        "Makes the producer transactional; fences other producers with the same id (0.11).",
        pattern="[a-zA-Z0-9._-]{1,200}",
        form="a name",
    ),
    ConfigKey("transaction.timeout.ms", "int", "Time a transaction may be open before it is aborted (0.11).", 1),
)  # fmt: skip
"""Producer keys of transactions."""

Scope = Literal["broker", "topic", "producer", "consumer"]

_PER_BROKER: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Keys that are dynamic per broker (``DynamicConfig.Broker``)."""
_CLUSTER_WIDE: Final = (
    "log.flush.interval.messages", "log.flush.interval.ms", "log.segment.bytes", "log.roll.ms", "log.roll.jitter.ms",
    "log.index.interval.bytes", "log.index.size.max.bytes", "log.retention.ms", "log.retention.bytes",
    "log.segment.delete.delay.ms", "message.max.bytes", "log.message.timestamp.type",
    "log.message.timestamp.difference.max.ms", "log.message.timestamp.before.max.ms",
    "log.message.timestamp.after.max.ms", "log.cleanup.policy",
    "log.cleaner.backoff.ms", "log.cleaner.dedupe.buffer.size", "log.cleaner.min.cleanable.ratio",
    "log.cleaner.delete.retention.ms", "log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms",
    "num.io.threads", "num.recovery.threads.per.data.dir", "num.replica.fetchers", "min.insync.replicas",
    "unclean.leader.election.enable", "compression.type", "log.preallocate",
)  # fmt: skip
"""Keys that are dynamic cluster-wide.

``DynamicLogConfig``, ``DynamicThreadPool``, ``LogCleaner.ReconfigurableConfigs``. Of keys for the same setting in
several units only the finest is dynamic: ``log.retention.ms``, not ``log.retention.hours``.
"""
THREADS: Final = ("num.io.threads", "num.recovery.threads.per.data.dir", "num.replica.fetchers")
"""Thread pool sizes, which a change may at most halve or double (``DynamicThreadPool``)."""


def _table(*keys: ConfigKey, dynamic: Dynamic | None = None) -> dict[str, ConfigKey]:
    return {key.name: replace(key, dynamic=dynamic or _dynamic(key.name)) for key in keys}


def _dynamic(name: str) -> Dynamic:
    return "per-broker" if name in _PER_BROKER else "cluster-wide" if name in _CLUSTER_WIDE else "read-only"


LISTS: Final = (
    "cleanup.policy",
    "log.cleanup.policy",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)
"""List configurations: only these accept APPEND and SUBTRACT."""
LIST_DEFAULTS: Final = {"cleanup.policy": "delete", "log.cleanup.policy": "delete"}
"""Kafka's non-empty defaults of list configurations; these may also be set to an empty list."""


def apply_list_operation(name: str, now: ConfigValue | None, given: str, *, appends: bool) -> str:
    """Return a list configuration after APPEND of its missing entries, or after SUBTRACT (KIP-339).

    An unset list counts as Kafka's own default (``ConfigurationControlManager.getParts``).

    Raises:
        ModelError: the configuration is no list.
    """
    if name not in LISTS:
        raise ModelError(f"{name} is not a list configuration; lists: {', '.join(LISTS)}", code="not_a_list")
    text = LIST_DEFAULTS.get(name, "") if now is None else str(now)
    entries = [entry for entry in text.split(",") if entry]
    named = [entry for entry in given.split(",") if entry]
    if appends:
        return ",".join([*entries, *dict.fromkeys(entry for entry in named if entry not in entries)])
    return ",".join([entry for entry in entries if entry not in named])


PRODUCERS_CHOICE: Final = "producer"
"""The ``compression.type`` of a topic that keeps the compression of its producers."""
UNCOMPRESSED: Final = "uncompressed"
BROKER_COMPRESSION_TYPES: Final = (UNCOMPRESSED, "zstd", "lz4", "snappy", "gzip", PRODUCERS_CHOICE)
"""Values of ``compression.type`` on brokers and topics (``BrokerCompressionType``)."""
_COMPRESSION: Final = ConfigKey(
    "compression.type", "str", "Compression of stored batches; producer keeps the producer's codec.",
    choices=BROKER_COMPRESSION_TYPES,
)  # fmt: skip
MIN_ISR: Final = "min.insync.replicas"
_MIN_ISR: Final = ConfigKey(MIN_ISR, "int", "In-sync replicas that acks=all requires.", 1)
_POLICIES: Final = ("delete", "compact", "compact,delete", "delete,compact")
_UNCLEAN: Final = ConfigKey(
    "unclean.leader.election.enable", "bool", "Whether a replica outside the ISR may be elected leader."
)

_THROTTLED: Final = (r"\*|[0-9]+:[0-9]+(,[0-9]+:[0-9]+)*", "* or a list of partition:broker, as in 0:1,0:2")

_SELECTORS: Final = tuple(
    f"{package}{name}"
    for name in ("LeaderSelector", "RackAwareReplicaSelector")
    for package in ("org.apache.kafka.common.replica.", "")
)

_GROUPS: Final = (
    ConfigKey("offsets.retention.minutes", "int", "Retention of committed offsets of an empty group.", 1),
    ConfigKey("offsets.retention.check.interval.ms", "int", "How often expired offsets are removed.", 1, LONG_MAX),
    ConfigKey("offsets.commit.timeout.ms", "int", "How long an offset commit waits for the in-sync replicas.", 1),
    ConfigKey("offset.metadata.max.bytes", "int", "Maximum size of the metadata of a committed offset."),
    ConfigKey("group.initial.rebalance.delay.ms", "int", "Wait for more members of a new group (0.11)."),
    ConfigKey("group.min.session.timeout.ms", "int", "Minimum session timeout that a member may request."),
    ConfigKey("group.max.session.timeout.ms", "int", "Maximum session timeout that a member may request."),
    ConfigKey("group.max.size", "int", "Maximum members of a group (2.2).", 1),
    *COORDINATOR,
)

_BROKER_FETCHING: Final = (
    ConfigKey("num.io.threads", "int", "Request handler threads; a slow disk blocks them.", 1),
    ConfigKey("num.replica.fetchers", "int", "Fetcher threads of a broker per leader broker.", 1, 255),
    ConfigKey(
        "replica.selector.class", "str", "Selector of the replica that a consumer reads from (2.4).",
        choices=_SELECTORS,
    ),
    ConfigKey("max.incremental.fetch.session.cache.slots", "int", "Fetch sessions that a broker keeps (1.1)."),
    ConfigKey(
        "leader.replication.throttled.rate", "int", "Bytes per second a leader sends to throttled replicas (0.10.1).",
        1, LONG_MAX,
    ),
    ConfigKey(
        "follower.replication.throttled.rate", "int", "Bytes per second that throttled replicas fetch (0.10.1).", 1,
        LONG_MAX,
    ),
)  # fmt: skip
"""Broker keys of replica fetching and replica selection."""

_TOPIC_FETCHING: Final = tuple(
    ConfigKey(
        f"{side}.replication.throttled.replicas", "str", doc, pattern=_THROTTLED[0], form=_THROTTLED[1]
    )
    for side, doc in (
        ("leader", "Replicas whose replication is throttled on the leader side (0.10.1)."),
        ("follower", "Replicas whose replication is throttled on the follower side (0.10.1)."),
    )
)  # fmt: skip

_QUORUM: Final = (
    ConfigKey("controller.quorum.election.timeout.ms", "int", "How long a candidate waits for votes (KRaft).", 1),
    ConfigKey(
        "controller.quorum.fetch.timeout.ms", "int",
        "Time without a response from the leader until a voter starts an election (KRaft).", 1,
    ),
    ConfigKey("controller.quorum.election.backoff.max.ms", "int", "Maximum backoff after a failed election (KRaft)."),
    ConfigKey("controller.quorum.request.timeout.ms", "int", "Timeout of requests in the quorum (KRaft).", 1),
    ConfigKey("controller.quorum.retry.backoff.ms", "int", "Backoff before a quorum request is retried (KRaft)."),
    ConfigKey("controller.quorum.append.linger.ms", "int", "How long metadata records wait to be batched (KRaft)."),
    ConfigKey("metadata.max.idle.interval.ms", "int", "Interval of NoOp records in an idle cluster; 0 none (KRaft)."),
)  # fmt: skip
"""Keys of the KRaft quorum, the same on every node of it."""

_CONTROLLER: Final = (
    ConfigKey("auto.leader.rebalance.enable", "bool", "Whether the controller elects preferred leaders regularly."),
    ConfigKey("leader.imbalance.check.interval.seconds", "int", "How often leader imbalance is checked.", 1, LONG_MAX),
    ConfigKey(
        "leader.imbalance.per.broker.percentage", "int", "Leader imbalance allowed per broker, in percent (ZooKeeper).",
    ),
    ConfigKey(
        "unclean.leader.election.interval.ms", "int", "How often unclean elections are tried (KRaft, 3.9).", 1,
        LONG_MAX,
    ),
    ConfigKey(ELR_FEATURE, "int", "Feature level: 1 turns KIP-966 on (KRaft, 4.0; default since 4.1).", 0, 1),
    ConfigKey("num.partitions", "int", "Default number of partitions of a new topic.", 1),
    ConfigKey("initial.broker.registration.timeout.ms", "int", "How long a broker tries to register (KRaft).", 1),
    ConfigKey("controlled.shutdown.enable", "bool", "Whether a stopping broker first moves its leaderships."),
    ConfigKey("controlled.shutdown.max.retries", "int", "Retries of a controlled shutdown (ZooKeeper)."),
    ConfigKey(
        "controlled.shutdown.retry.backoff.ms", "int",
        "Backoff between retries of a controlled shutdown (ZooKeeper).",
    ),
    ConfigKey(
        "controller.socket.timeout.ms", "int", "Timeout of requests between controller and brokers (ZooKeeper).", 1
    ),
)  # fmt: skip
"""Broker keys of controllers, elections and controlled shutdown."""

RECONNECT: Final = "reconnect.backoff.ms"
RECONNECT_MAX: Final = "reconnect.backoff.max.ms"
SETUP_TIMEOUT: Final = "socket.connection.setup.timeout.ms"
SETUP_TIMEOUT_MAX: Final = "socket.connection.setup.timeout.max.ms"
_SETUP: Final = (
    ConfigKey(SETUP_TIMEOUT, "int", "Timeout of a connection attempt (2.7).", 1),
    ConfigKey(SETUP_TIMEOUT_MAX, "int", "Maximum timeout of a connection attempt; it doubles per failure (2.7).", 1),
)
"""Keys of connections: of clients, and between brokers and controllers."""

BROKER: Final = _table(
    ConfigKey("replica.lag.time.max.ms", "int", "How long a follower may be behind before it leaves the ISR.", 1),
    ConfigKey("replica.lag.max.messages", "int", "How many records a follower may be behind (0.8.x only).", 1),
    ConfigKey("replica.fetch.wait.max.ms", "int", "Maximum wait of a follower's fetch on the leader.", 1),
    ConfigKey("replica.fetch.max.bytes", "int", "Bytes per partition in a follower's fetch.", 1),
    ConfigKey("replica.fetch.min.bytes", "int", "Bytes that a follower's fetch waits for."),
    ConfigKey("replica.fetch.response.max.bytes", "int", "Bytes of a whole fetch response to a follower (0.10.1).", 1),
    ConfigKey("fetch.max.bytes", "int", "Maximum bytes of any fetch response, whatever is requested (2.5).", 1_024),
    ConfigKey("replica.fetch.backoff.ms", "int", "Backoff of a follower after a fetch error.", 1),
    ConfigKey("replica.socket.timeout.ms", "int", "Timeout of a follower's connections and requests.", 1),
    *_SETUP,
    ConfigKey("replica.high.watermark.checkpoint.interval.ms", "int", "How often the HW is written to disk.", 1),
    ConfigKey("broker.heartbeat.interval.ms", "int", "How often a broker sends a heartbeat (KRaft).", 1),
    ConfigKey(
        "broker.session.timeout.ms", "int", "Time without a heartbeat until the controller fences a broker (KRaft).", 1
    ),
    ConfigKey(
        "zookeeper.session.timeout.ms", "int", "Time without contact until a broker's session expires (ZooKeeper).", 1
    ),
    ConfigKey("log.flush.interval.messages", "int", "Records appended before a log is flushed to disk.", 1, LONG_MAX),
    ConfigKey("log.segment.bytes", "int", "Maximum size of a segment.", 14),
    ConfigKey("log.roll.hours", "int", "Age of a segment at which the next append rolls a new one.", 1),
    ConfigKey("log.roll.ms", "int", "log.roll.hours in milliseconds, which it overrides.", 1, LONG_MAX),
    ConfigKey("log.index.interval.bytes", "int", "Bytes between two entries of a sparse index."),
    ConfigKey("log.index.size.max.bytes", "int", "Maximum size of an index; a full one rolls a new segment.", 24),
    ConfigKey("log.retention.hours", "int", "Age at which segments are deleted; -1 never.", -1),
    ConfigKey("log.retention.minutes", "int", "log.retention.hours in minutes, which it overrides.", -1),
    ConfigKey(
        "log.retention.ms", "int",
        "Age in ms at which segments are deleted; overrides minutes and hours.", -1, LONG_MAX,
    ),
    ConfigKey("log.retention.bytes", "int", "Log size above which old segments are deleted; -1 none.", -1, LONG_MAX),
    ConfigKey("log.retention.check.interval.ms", "int", "How often retention is checked.", 1, LONG_MAX),
    ConfigKey("log.initial.task.delay.ms", "int", "Delay of the log's periodic tasks after a start.", 0, LONG_MAX),
    ConfigKey("log.segment.delete.delay.ms", "int", "How long files of a deleted segment are kept.", 0, LONG_MAX),
    ConfigKey("log.flush.interval.ms", "int", "Age of unflushed records at which a log is flushed.", 0, LONG_MAX),
    ConfigKey(
        "log.flush.scheduler.interval.ms", "int",
        "How often log.flush.interval.ms is checked; never by default.", 1, LONG_MAX,
    ),
    ConfigKey("log.roll.jitter.hours", "int", "Maximum jitter subtracted from log.roll.hours."),
    ConfigKey("log.roll.jitter.ms", "int", "log.roll.jitter.hours in milliseconds, which it overrides.", 0, LONG_MAX),
    ConfigKey("message.max.bytes", "int", "Maximum size of a batch that a leader accepts."),
    ConfigKey(
        "log.message.timestamp.difference.max.ms",
        "int",
        "Maximum difference between a record's timestamp and the leader's clock, in either direction (0.10.0 to 3.9).",
        0,
        LONG_MAX,
    ),
    ConfigKey(
        "log.message.timestamp.before.max.ms", "int",
        "How far a record's timestamp may be before the leader's clock (3.6).", 0, LONG_MAX,
    ),
    ConfigKey(
        "log.message.timestamp.after.max.ms", "int",
        "How far a record's timestamp may be after the leader's clock (3.6).", 0, LONG_MAX,
    ),
    ConfigKey("log.cleanup.policy", "str", "Retention policy of old segments.", choices=_POLICIES),
    ConfigKey("log.cleaner.enable", "bool", "Whether compacted topics are cleaned."),
    ConfigKey("log.cleaner.backoff.ms", "int", "Sleep of the cleaner when no log needs cleaning.", 0, LONG_MAX),
    ConfigKey(
        "log.cleaner.dedupe.buffer.size", "int", "Memory of the cleaner, 24 bytes per key.", 1_048_576, LONG_MAX
    ),
    ConfigKey("log.cleaner.min.cleanable.ratio", "ratio", "Dirty ratio above which a log is cleaned."),
    ConfigKey("log.cleaner.delete.retention.ms", "int", "How long cleaned tombstones are kept.", 0, LONG_MAX),
    ConfigKey("log.cleaner.min.compaction.lag.ms", "int", "Minimum age of records to be compacted.", 0, LONG_MAX),
    ConfigKey(
        "log.cleaner.max.compaction.lag.ms", "int", "Age of dirty records at which a log is cleaned at any ratio.", 1,
        LONG_MAX,
    ),
    ConfigKey("log.flush.offset.checkpoint.interval.ms", "int", "How often recovery points are written to disk.", 1),
    ConfigKey(
        "log.flush.start.offset.checkpoint.interval.ms", "int", "How often log start offsets are written to disk.", 1
    ),
    ConfigKey("num.recovery.threads.per.data.dir", "int", "Logs recovered in parallel after an unclean stop.", 1),
    ConfigKey(
        "log.message.timestamp.type", "str", "Timestamp of records: the producer's or that of the append.",
        choices=("CreateTime", "LogAppendTime"),
    ),
    _COMPRESSION,
    ConfigKey("log.preallocate", "bool", "Whether files of new segments are preallocated; no effect on the model."),
    ConfigKey("offsets.topic.num.partitions", "int", "Partitions of __consumer_offsets.", 1, 1_000),
    ConfigKey("offsets.topic.replication.factor", "int", "Replicas of __consumer_offsets.", 1, 100),
    *_GROUPS,
    *TRANSACTION_COORDINATOR,
    ConfigKey("default.replication.factor", "int", "Default replication factor of a new topic.", 1),
    ConfigKey("producer.id.expiration.ms", "int", "Idle time after which the state of a producer id expires.", 1),
    *_BROKER_FETCHING,
    *_QUORUM,
    *_CONTROLLER,
    _MIN_ISR,
    _UNCLEAN,
)  # fmt: skip
"""Broker configurations; the last two and those of segments and retention are also the defaults of every topic."""

TOPIC: Final = _table(
    _MIN_ISR,
    _UNCLEAN,
    ConfigKey("flush.messages", "int", "Records appended before this topic's log is flushed to disk.", 1, LONG_MAX),
    ConfigKey("segment.bytes", "int", "Maximum size of a segment.", 14),
    ConfigKey("segment.ms", "int", "Age of a segment at which the next append rolls a new one.", 1, LONG_MAX),
    ConfigKey("index.interval.bytes", "int", "Bytes between two entries of a sparse index."),
    ConfigKey("segment.index.bytes", "int", "Maximum size of an index; a full one rolls a new segment.", 24),
    ConfigKey("retention.ms", "int", "Age at which segments are deleted; -1 never.", -1, LONG_MAX),
    ConfigKey("retention.bytes", "int", "Log size above which old segments are deleted; -1 none.", -1, LONG_MAX),
    ConfigKey("flush.ms", "int", "Age of unflushed records at which this log is flushed.", 0, LONG_MAX),
    ConfigKey("segment.jitter.ms", "int", "Maximum jitter subtracted from segment.ms.", 0, LONG_MAX),
    ConfigKey("max.message.bytes", "int", "Maximum size of a batch that a leader accepts."),
    ConfigKey(
        "message.timestamp.difference.max.ms",
        "int",
        "Maximum difference between a record's timestamp and the leader's clock, in either direction (0.10.0 to 3.9).",
        0,
        LONG_MAX,
    ),
    ConfigKey(
        "message.timestamp.before.max.ms", "int",
        "How far a record's timestamp may be before the leader's clock (3.6).", 0, LONG_MAX,
    ),
    ConfigKey(
        "message.timestamp.after.max.ms", "int", "How far a record's timestamp may be after the leader's clock (3.6).",
        0, LONG_MAX,
    ),
    ConfigKey("cleanup.policy", "str", "Retention policy of old segments.", choices=_POLICIES),
    ConfigKey("min.cleanable.dirty.ratio", "ratio", "Dirty ratio above which this log is cleaned."),
    ConfigKey("delete.retention.ms", "int", "How long cleaned tombstones are kept.", 0, LONG_MAX),
    ConfigKey("min.compaction.lag.ms", "int", "Minimum age of records to be compacted.", 0, LONG_MAX),
    ConfigKey(
        "max.compaction.lag.ms", "int", "Age of dirty records at which this log is cleaned at any ratio.", 1, LONG_MAX
    ),
    ConfigKey("file.delete.delay.ms", "int", "How long files of a deleted segment are kept.", 0, LONG_MAX),
    ConfigKey(
        "message.timestamp.type", "str", "Timestamp of records: the producer's or that of the append.",
        choices=("CreateTime", "LogAppendTime"),
    ),
    _COMPRESSION,
    ConfigKey("preallocate", "bool", "Whether files of new segments are preallocated; no effect on the model."),
    *_TOPIC_FETCHING,
    dynamic="cluster-wide",
)  # fmt: skip
"""Topic configurations."""

_CLIENT_VERSION: Final = ConfigKey(
    "client.version", "str", "Kafka release of the client library; the cluster's by default.",
    choices=RELEASES, form="a release line such as 3.6, or a patch release such as 3.6.0",
)  # fmt: skip
"""Not a Kafka configuration: with Kafka it is the version of the library that the application is built with."""

_CONNECTIONS: Final = (
    ConfigKey(RECONNECT, "int", "Backoff before reconnecting to a broker.", 0, LONG_MAX),
    ConfigKey(RECONNECT_MAX, "int", "Maximum backoff before reconnecting; it doubles per failure (0.11).", 0, LONG_MAX),
    *_SETUP,
)

PRODUCER: Final = _table(
    ConfigKey("acks", "str", "Replicas that must have a record before it is acknowledged.", choices=("0", "1", "all")),
    ConfigKey("retries", "int", "Maximum retries of a failed request."),
    ConfigKey("retry.backoff.ms", "int", "Backoff before a retry.", 0, LONG_MAX),
    ConfigKey("retry.backoff.max.ms", "int", "Maximum backoff before a retry, where it grows (3.7).", 0, LONG_MAX),
    ConfigKey("request.timeout.ms", "int", "How long to wait for a response.", 1),
    *_CONNECTIONS,
    ConfigKey("delivery.timeout.ms", "int", "Time from send to the result of a record, retries included.", 1),
    ConfigKey("max.in.flight.requests.per.connection", "int", "Maximum unanswered requests per broker.", 1),
    ConfigKey("linger.ms", "int", "How long a batch waits for more records."),
    ConfigKey("batch.size", "int", "Maximum size of a batch in bytes."),
    ConfigKey(
        "compression.type", "str", "Compression codec of batches.", choices=("none", "gzip", "snappy", "lz4", "zstd")
    ),
    ConfigKey(
        "enable.idempotence",
        "bool",
        "Whether the producer numbers its batches, so that a broker does not append a retried batch twice.",
    ),
    ConfigKey("metadata.max.age.ms", "int", "Age at which metadata is refreshed.", 1),
    ConfigKey(
        "metadata.max.idle.ms", "int", "Idle time after which a topic's metadata is dropped (2.5).", 5_000, LONG_MAX
    ),
    ConfigKey("max.request.size", "int", "Maximum size of a request, and so of a record."),
    ConfigKey("buffer.memory", "int", "Memory for batches that are not yet completed.", 0, LONG_MAX),
    ConfigKey("max.block.ms", "int", "How long send blocks for metadata and memory.", 0, LONG_MAX),
    *PARTITIONING,
    *TRANSACTIONAL_PRODUCER,
    _CLIENT_VERSION,
)
"""Producer configurations."""

_RESET: Final = (
    r"(earliest|latest|none|"
    r"by_duration:P(?=[0-9T])([0-9]{1,5}D)?(T(?=[0-9])([0-9]{1,5}H)?([0-9]{1,7}M)?([0-9]{1,9}(\.[0-9]{1,6})?S)?)?)"
)

_STRATEGY: Final = (
    r"(org\.apache\.kafka\.clients\.consumer\.)?(Range|RoundRobin|Sticky|CooperativeSticky)Assignor|"
    r"range|roundrobin|sticky|cooperative-sticky"
)

_MEMBER: Final = (
    ConfigKey("session.timeout.ms", "int", "Time without a heartbeat until a member is removed from its group.", 1),
    ConfigKey("heartbeat.interval.ms", "int", "How often a member sends a heartbeat to its coordinator.", 1),
    ConfigKey("max.poll.interval.ms", "int", "Time between two polls after which a member leaves (0.10.1).", 1),
    ConfigKey("enable.auto.commit", "bool", "Whether poll commits the offsets of earlier polls."),
    ConfigKey("auto.commit.interval.ms", "int", "Interval of automatic commits."),
    ConfigKey("default.api.timeout.ms", "int", "Timeout of commitSync."),
    ConfigKey(
        "partition.assignment.strategy", "str", "Assignors, the preferred one first.",
        pattern=rf"({_STRATEGY})( *, *({_STRATEGY}))*", form="assignors separated by commas, as in RangeAssignor",
    ),
    ConfigKey(
        "group.instance.id", "str", "Makes members static; each appends its number to the id (2.3).",
        pattern="[a-zA-Z0-9._-]{1,200}", form="a name",
    ),
    *MEMBER,
)  # fmt: skip
"""Consumer keys of group members."""

CONSUMER: Final = _table(
    ConfigKey("fetch.min.bytes", "int", "Bytes that a fetch waits for."),
    ConfigKey("fetch.max.bytes", "int", "Maximum bytes of a whole fetch response (0.10.1).", 1),
    ConfigKey("fetch.max.wait.ms", "int", "Maximum wait of a fetch on the broker.", 1),
    ConfigKey("max.partition.fetch.bytes", "int", "Maximum bytes per partition in a fetch.", 1),
    ConfigKey("max.poll.records", "int", "Maximum records returned by one poll.", 1),
    ConfigKey(
        "auto.offset.reset",
        "str",
        "Position to start from without a committed offset, or when the offset is out of range.",
        pattern=_RESET,
        form="earliest, latest, none or by_duration:P1DT2H3M4S",
    ),
    ConfigKey(
        "isolation.level",
        "str",
        "Whether to read transactional records before their commit or only after it (0.11).",
        choices=("read_uncommitted", "read_committed"),
    ),
    ConfigKey("check.crcs", "bool", "Whether to verify the checksums of fetched batches."),
    ConfigKey("request.timeout.ms", "int", "How long to wait for a response.", 1),
    ConfigKey("retry.backoff.ms", "int", "Backoff after a fetch error.", 0, LONG_MAX),
    *_CONNECTIONS,
    ConfigKey("metadata.max.age.ms", "int", "Age at which metadata is refreshed.", 1),
    *_MEMBER,
    ConfigKey(
        "client.rack", "str", "Rack of the consumer: it reads from a replica there if possible (2.4).",
        pattern=".+", form="a name",
    ),
)  # fmt: skip
"""Consumer configurations."""

SCOPES: Final[dict[Scope, dict[str, ConfigKey]]] = {
    "broker": BROKER,
    "topic": TOPIC,
    "producer": PRODUCER,
    "consumer": CONSUMER,
}


def check(scope: Scope, name: str, value: object) -> ConfigValue:
    """Validate a configuration value and return it in its own type.

    Raises:
        ModelError: an unknown name (the message suggests the nearest one), a wrong type, or a value out of range.
    """
    table = SCOPES[scope]
    key = table.get(name)
    if key is None:
        other_scopes = [known for known, keys in SCOPES.items() if name in keys]
        near = difflib.get_close_matches(name, table, n=1)
        suggestion = f"; did you mean {near[0]}?" if near else ""
        hint = f"; it is a {other_scopes[0]} configuration" if other_scopes else suggestion
        raise ModelError(f"unknown {scope} configuration {name!r}{hint}", code="no_config")
    if key.type == "bool":
        return _bool(key, value)
    if value == "" and name in LIST_DEFAULTS:
        return ""
    if key.type == "str":
        return _choice(key, value) if key.choices else _text(key, value)
    if key.type == "ratio":
        return _ratio(key, value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ModelError(f"{name} takes a whole number, found {value!r}", code="not_a_whole_number")
    if not key.low <= value <= key.high:
        raise ModelError(f"{name} takes {key.low} to {key.high}, found {value}", code="out_of_range")
    return value


def _bool(key: ConfigKey, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return value == "true"
    raise ModelError(f"{key.name} takes true or false, found {value!r}", code="not_a_bool")


def _ratio(key: ConfigKey, value: object) -> str:
    text = "" if isinstance(value, bool) else str(value)
    if not re.fullmatch(r"0(\.[0-9]{1,6})?|1(\.0{1,6})?", text, re.ASCII):
        raise ModelError(f"{key.name} takes a number from 0 to 1, found {value!r}", code="not_a_ratio")
    return text


def _text(key: ConfigKey, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or not re.fullmatch(key.pattern, str(value)):
        raise ModelError(f"{key.name} takes {key.form}, found {value!r}", code="wrong_form")
    return str(value)


def _choice(key: ConfigKey, value: object) -> str:
    text = "all" if key.name == "acks" and str(value) == "-1" else str(value)
    if isinstance(value, bool) or text not in key.choices:
        raise ModelError(f"{key.name} takes {key.form or ', '.join(key.choices)}, found {value!r}", code="not_a_choice")
    return text
