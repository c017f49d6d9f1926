"""Definitions of Kafka's configuration keys that the model honours: types, ranges, and the check of a value.

Only keys that change something here are listed: an unknown or misspelt key is refused, never ignored.
"""

import difflib
import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import ELR_FEATURE, PROFILE_VERSIONS, TRANSACTION_FEATURE

# A configuration key: its type, its range, and where it may change.


ConfigValue = int | str | bool
Dynamic = Literal["read-only", "per-broker", "cluster-wide"]
"""Whether a setting may change while the cluster runs, and for whom it is meant to (KIP-226)."""

LONG_MAX: Final = 2**63 - 1
INT_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One configuration: its type, the range of an ``int``, the choices of a ``str``, and what it does.

    A ``str`` without choices takes what ``pattern`` matches; ``form`` says in words what that is.
    """

    name: str
    type: Literal["int", "bool", "str", "ratio"]
    """``ratio``: a number from 0 to 1 with at most six decimals, kept as its text."""
    doc: str
    low: int = 0
    high: int = INT_MAX
    choices: tuple[str, ...] = ()
    pattern: str = ""
    form: str = ""
    dynamic: Dynamic = "read-only"


# Configuration keys of groups by the consumer protocol (KIP-848).


COORDINATOR: Final = (
    ConfigKey(
        "group.coordinator.rebalance.protocols",
        "str",
        "Whether groups may use the consumer protocol (3.7).",
        pattern="classic( *, *consumer)?|consumer *, *classic",
        form="classic or classic,consumer",
    ),
    ConfigKey("group.consumer.session.timeout.ms", "int", "Session of members by the consumer protocol.", 1),
    ConfigKey("group.consumer.heartbeat.interval.ms", "int", "How often such members are to be heard of.", 1),
    ConfigKey("group.consumer.max.size", "int", "Most members of such a group.", 1),
    ConfigKey(
        "group.consumer.assignors",
        "str",
        "Assignors of the coordinator, the default one first.",
        pattern="(uniform|range)( *, *(uniform|range))*",
        form="uniform and range, separated by commas",
    ),
)  # fmt: skip
"""Of brokers."""

MEMBER: Final = (
    ConfigKey(
        "group.protocol", "str", "How members and their coordinator come to terms: classic, or consumer (3.7, KRaft).",
        choices=("classic", "consumer"),
    ),
    ConfigKey(
        "group.remote.assignor", "str", "The coordinator's assignor that a member wants, with group.protocol consumer.",
        choices=("uniform", "range"),
    ),
)  # fmt: skip
"""Of consumers."""


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
"""By their Java names; the last part is enough."""

PARTITIONING: Final = (
    ConfigKey(
        PARTITIONER_CLASS, "str", "Who chooses partitions; the version's default unless given.",
        choices=(*(name.rpartition(".")[2] for name in PARTITIONERS), *PARTITIONERS),
    ),
    ConfigKey(IGNORE_KEYS, "bool", "Whether records with keys are spread like those without (3.3)."),
    ConfigKey(ADAPTIVE, "bool", "Whether partitions with shorter queues get more (3.3)."),
    ConfigKey(
        AVAILABILITY, "int", "Silence of a leader after which its partitions are left out; 0 never (3.3).", 0,
        LONG_MAX // 1_000,
    ),
)  # fmt: skip


# Configuration keys of transactions: of their coordinators, and of producers that write in them.


TRANSACTION_COORDINATOR: Final = (
    ConfigKey("transaction.state.log.num.partitions", "int", "Partitions of __transaction_state.", 1, 1_000),
    ConfigKey("transaction.state.log.replication.factor", "int", "Replicas of __transaction_state.", 1, 100),
    ConfigKey("transaction.state.log.min.isr", "int", "In-sync replicas that __transaction_state needs.", 1),
    ConfigKey("transaction.max.timeout.ms", "int", "Longest timeout that a transaction may ask for.", 1),
    ConfigKey("transactional.id.expiration.ms", "int", "Silence after which a transactional id is forgotten.", 1),
    ConfigKey(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", "int",
        "How often transactions are looked for that have been open for too long.", 1,
    ),
    ConfigKey(
        "transaction.remove.expired.transaction.cleanup.interval.ms", "int",
        "How often transactional ids are looked for that nobody uses.", 1,
    ),
    ConfigKey(
        "transaction.partition.verification.enable", "bool",
        "Whether leaders check that a partition is part of a transaction (3.6).",
    ),
    ConfigKey(
        TRANSACTION_FEATURE, "int", "Feature level: at 2 every transaction has an epoch (KRaft; default since 4.0).",
        0, 2,
    ),
)  # fmt: skip
"""Of brokers."""

TRANSACTIONAL_PRODUCER: Final = (
    ConfigKey(
        "transactional.id",
        "str",
        "Makes the producer write in transactions, as the only one of that name (0.11).",
        pattern="[a-zA-Z0-9._-]{1,200}",
        form="a name",
    ),
    ConfigKey("transaction.timeout.ms", "int", "How long a transaction may be open (0.11).", 1),
)  # fmt: skip
"""Of producers."""

Scope = Literal["broker", "topic", "producer", "consumer"]

_PER_BROKER: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""``DynamicConfig.Broker``."""
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
"""``DynamicLogConfig``, ``DynamicThreadPool``, ``LogCleaner.ReconfigurableConfigs``: of the ways to write a setting
only the finest, so ``log.retention.ms`` and not ``log.retention.hours``."""
THREADS: Final = ("num.io.threads", "num.recovery.threads.per.data.dir", "num.replica.fetchers")
"""``DynamicThreadPool``: at most halved or doubled at a time."""


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
"""Configurations that are lists: only those take APPEND and SUBTRACT."""
LIST_DEFAULTS: Final = {"cleanup.policy": "delete", "log.cleanup.policy": "delete"}
"""Kafka's defaults of lists that are not empty where they are not set; these may be set to an empty list, too."""


def listed(name: str, now: ConfigValue | None, given: str, *, appends: bool) -> str:
    """A list with entries appended that it lacks, or taken away (KIP-339).

    A list that is not set begins as Kafka's own default (``ConfigurationControlManager.getParts``).

    Raises:
        ModelError: the configuration is no list.
    """
    if name not in LISTS:
        raise ModelError(f"{name} is not a list", code="not_a_list")
    text = LIST_DEFAULTS.get(name, "") if now is None else str(now)
    entries = [entry for entry in text.split(",") if entry]
    named = [entry for entry in given.split(",") if entry]
    if appends:
        return ",".join([*entries, *dict.fromkeys(entry for entry in named if entry not in entries)])
    return ",".join([entry for entry in entries if entry not in named])


PRODUCERS_CHOICE: Final = "producer"
"""The ``compression.type`` of a topic whose batches stay as they come."""
UNCOMPRESSED: Final = "uncompressed"
BROKER_COMPRESSION_TYPES: Final = (UNCOMPRESSED, "zstd", "lz4", "snappy", "gzip", PRODUCERS_CHOICE)
"""``BrokerCompressionType``."""
_COMPRESSION: Final = ConfigKey(
    "compression.type", "str", "How brokers compress batches; producer: as they come.", choices=BROKER_COMPRESSION_TYPES
)
MIN_ISR: Final = "min.insync.replicas"
_MIN_ISR: Final = ConfigKey(MIN_ISR, "int", "In-sync replicas that acks=all needs.", 1)
_POLICIES: Final = ("delete", "compact", "compact,delete", "delete,compact")
_UNCLEAN: Final = ConfigKey("unclean.leader.election.enable", "bool", "Whether a replica outside the ISR may lead.")

_THROTTLED: Final = (r"\*|[0-9]+:[0-9]+(,[0-9]+:[0-9]+)*", "* or a list of partition:broker, as in 0:1,0:2")

_SELECTORS: Final = tuple(
    f"{package}{name}"
    for name in ("LeaderSelector", "RackAwareReplicaSelector")
    for package in ("org.apache.kafka.common.replica.", "")
)

_GROUPS: Final = (
    ConfigKey("offsets.retention.minutes", "int", "How long offsets of an empty group are kept.", 1),
    ConfigKey("offsets.retention.check.interval.ms", "int", "How often such offsets are looked for.", 1, LONG_MAX),
    ConfigKey("offsets.commit.timeout.ms", "int", "How long a commit waits for the in-sync replicas.", 1),
    ConfigKey("offset.metadata.max.bytes", "int", "Longest note beside a committed offset."),
    ConfigKey("group.initial.rebalance.delay.ms", "int", "Wait for more members of an empty group (0.11)."),
    ConfigKey("group.min.session.timeout.ms", "int", "Shortest session that a member may ask for."),
    ConfigKey("group.max.session.timeout.ms", "int", "Longest session that a member may ask for."),
    ConfigKey("group.max.size", "int", "Most members of a group (2.2).", 1),
    *COORDINATOR,
)

_BROKER_FETCHING: Final = (
    ConfigKey("num.io.threads", "int", "Threads that handle requests; a slow disk holds them up.", 1),
    ConfigKey("num.replica.fetchers", "int", "Threads with which a broker fetches from each other broker.", 1, 255),
    ConfigKey("replica.selector.class", "str", "Who chooses the replica a consumer reads (2.4).", choices=_SELECTORS),
    ConfigKey("max.incremental.fetch.session.cache.slots", "int", "Fetch sessions a leader keeps (1.1 and later)."),
    ConfigKey(
        "leader.replication.throttled.rate", "int", "Bytes a second a leader sends to throttled replicas (0.10.1).",
        1, LONG_MAX,
    ),
    ConfigKey(
        "follower.replication.throttled.rate", "int", "Bytes a second that throttled replicas fetch (0.10.1).", 1,
        LONG_MAX,
    ),
)  # fmt: skip
"""How replicas are fetched, and by whom."""

_TOPIC_FETCHING: Final = tuple(
    ConfigKey(
        f"{side}.replication.throttled.replicas", "str", doc, pattern=_THROTTLED[0], form=_THROTTLED[1]
    )
    for side, doc in (
        ("leader", "Replicas that a throttled leader may hold back (0.10.1)."),
        ("follower", "Replicas that a throttled follower may leave unfetched (0.10.1)."),
    )
)  # fmt: skip

_QUORUM: Final = (
    ConfigKey("controller.quorum.election.timeout.ms", "int", "How long a candidate waits for votes (KRaft).", 1),
    ConfigKey("controller.quorum.fetch.timeout.ms", "int", "Silence of its leader after which a voter stands.", 1),
    ConfigKey("controller.quorum.election.backoff.max.ms", "int", "Longest pause of a candidate that failed."),
    ConfigKey("controller.quorum.request.timeout.ms", "int", "How long a voter waits for an answer (KRaft).", 1),
    ConfigKey("controller.quorum.retry.backoff.ms", "int", "Pause of a voter before it asks again (KRaft)."),
    ConfigKey("controller.quorum.append.linger.ms", "int", "How long metadata records wait for company (KRaft)."),
    ConfigKey("metadata.max.idle.interval.ms", "int", "Pause between NoOp records when nothing happens; 0 none."),
)
"""The KRaft quorum; every node of it has the same."""

_CONTROLLER: Final = (
    ConfigKey("auto.leader.rebalance.enable", "bool", "Whether leadership goes back to preferred replicas."),
    ConfigKey("leader.imbalance.check.interval.seconds", "int", "How often that is looked at.", 1),
    ConfigKey(
        "leader.imbalance.per.broker.percentage", "int", "Percentage of a broker's leaderships that may stray.",
    ),
    ConfigKey("unclean.leader.election.interval.ms", "int", "How often unclean elections are tried (KRaft, 3.9).", 1),
    ConfigKey(ELR_FEATURE, "int", "Feature level: 1 turns KIP-966 on (KRaft, 4.0; default since 4.1).", 0, 1),
    ConfigKey("num.partitions", "int", "Partitions of a topic that names no number.", 1),
    ConfigKey("initial.broker.registration.timeout.ms", "int", "How long a broker tries to register (KRaft).", 1),
    ConfigKey("controlled.shutdown.enable", "bool", "Whether a stopping broker hands over first."),
    ConfigKey("controlled.shutdown.max.retries", "int", "How often it asks the controller to (ZooKeeper)."),
    ConfigKey("controlled.shutdown.retry.backoff.ms", "int", "Pause between those (ZooKeeper)."),
    ConfigKey(
        "controller.socket.timeout.ms", "int", "How long controller and brokers wait for each other (ZooKeeper).", 1
    ),
)  # fmt: skip
"""What controllers go by, and how leaderships are handed over."""

RECONNECT: Final = "reconnect.backoff.ms"
RECONNECT_MAX: Final = "reconnect.backoff.max.ms"
SETUP_TIMEOUT: Final = "socket.connection.setup.timeout.ms"
SETUP_TIMEOUT_MAX: Final = "socket.connection.setup.timeout.max.ms"
_SETUP: Final = (
    ConfigKey(SETUP_TIMEOUT, "int", "How long a connection attempt may take (2.7).", 1),
    ConfigKey(SETUP_TIMEOUT_MAX, "int", "Longest such time; it doubles with every failed attempt (2.7).", 1),
)
"""Of whatever connects: clients, and brokers and controllers to each other."""

BROKER: Final = _table(
    ConfigKey("replica.lag.time.max.ms", "int", "How long a follower may be behind before it leaves the ISR.", 1),
    ConfigKey("replica.lag.max.messages", "int", "How many records a follower may be behind (0.8.x only).", 1),
    ConfigKey("replica.fetch.wait.max.ms", "int", "How long a leader parks a follower's fetch.", 1),
    ConfigKey("replica.fetch.max.bytes", "int", "Bytes a follower's fetch takes from a partition.", 1),
    ConfigKey("replica.fetch.min.bytes", "int", "Bytes that a follower's fetch waits for."),
    ConfigKey("replica.fetch.response.max.bytes", "int", "Bytes a follower's fetch takes in all (0.10.1).", 1),
    ConfigKey("fetch.max.bytes", "int", "Most bytes of an answer to a fetch, whatever it asks for (2.5).", 1_024),
    ConfigKey("replica.fetch.backoff.ms", "int", "Pause of a follower after a fetch error.", 1),
    ConfigKey("replica.socket.timeout.ms", "int", "How long a follower waits for a connection or an answer.", 1),
    *_SETUP,
    ConfigKey("replica.high.watermark.checkpoint.interval.ms", "int", "How often the HW is written to disk.", 1),
    ConfigKey("broker.heartbeat.interval.ms", "int", "How often a broker tells the controller it lives (KRaft).", 1),
    ConfigKey("broker.session.timeout.ms", "int", "Silence after which the controller fences a broker (KRaft).", 1),
    ConfigKey("zookeeper.session.timeout.ms", "int", "Silence after which a broker's session expires (ZooKeeper).", 1),
    ConfigKey("log.flush.interval.messages", "int", "Records appended before the log is forced to disk.", 1, LONG_MAX),
    ConfigKey("log.segment.bytes", "int", "Bytes after which a new segment begins.", 14),
    ConfigKey("log.roll.hours", "int", "Age of a segment at which the next append begins a new one.", 1),
    ConfigKey("log.roll.ms", "int", "The same in milliseconds; it goes before log.roll.hours.", 1, LONG_MAX),
    ConfigKey("log.index.interval.bytes", "int", "Bytes between two entries of a sparse index."),
    ConfigKey("log.index.size.max.bytes", "int", "Room of a segment's index; a full one begins a new segment.", 24),
    ConfigKey("log.retention.hours", "int", "Age at which segments are deleted; -1 never.", -1),
    ConfigKey("log.retention.minutes", "int", "The same in minutes; it goes before log.retention.hours.", -1),
    ConfigKey("log.retention.ms", "int", "The same in milliseconds; it goes before the others.", -1, LONG_MAX),
    ConfigKey("log.retention.bytes", "int", "Size above which old segments are deleted; -1 none.", -1, LONG_MAX),
    ConfigKey(
        "log.retention.check.interval.ms", "int", "How often segments to be deleted are looked for.", 1, LONG_MAX
    ),
    ConfigKey("log.initial.task.delay.ms", "int", "First run of the log's periodic tasks after a start.", 0, LONG_MAX),
    ConfigKey("log.segment.delete.delay.ms", "int", "How long the files of a deleted segment stay.", 0, LONG_MAX),
    ConfigKey("log.flush.interval.ms", "int", "Age at which the scheduler forces a log to disk.", 0, LONG_MAX),
    ConfigKey(
        "log.flush.scheduler.interval.ms", "int", "How often that age is looked at; never unless given.", 1, LONG_MAX
    ),
    ConfigKey("log.roll.jitter.hours", "int", "The most that a segment rolls early by time."),
    ConfigKey("log.roll.jitter.ms", "int", "The same in milliseconds; it goes before the other.", 0, LONG_MAX),
    ConfigKey("message.max.bytes", "int", "Largest batch that a leader takes."),
    ConfigKey(
        "log.message.timestamp.difference.max.ms",
        "int",
        "How old a producer's timestamp may be (0.10.0 to 3.9).",
        0,
        LONG_MAX,
    ),
    ConfigKey("log.message.timestamp.before.max.ms", "int", "The same since 3.6; it goes first.", 0, LONG_MAX),
    ConfigKey("log.message.timestamp.after.max.ms", "int", "How far ahead it may be, since 3.6.", 0, LONG_MAX),
    ConfigKey("log.cleanup.policy", "str", "What becomes of old records.", choices=_POLICIES),
    ConfigKey("log.cleaner.enable", "bool", "Whether compacted topics are cleaned."),
    ConfigKey("log.cleaner.backoff.ms", "int", "Pause of the cleaner when nothing is worth cleaning.", 0, LONG_MAX),
    ConfigKey("log.cleaner.dedupe.buffer.size", "int", "Memory of the cleaner: 24 bytes a key.", 1_048_576, LONG_MAX),
    ConfigKey("log.cleaner.min.cleanable.ratio", "ratio", "Dirty part of a log above which it is cleaned."),
    ConfigKey("log.cleaner.delete.retention.ms", "int", "How long tombstones are kept once cleaned.", 0, LONG_MAX),
    ConfigKey("log.cleaner.min.compaction.lag.ms", "int", "Age below which nothing is cleaned.", 0, LONG_MAX),
    ConfigKey("log.cleaner.max.compaction.lag.ms", "int", "Age at which a log is cleaned at any ratio.", 1, LONG_MAX),
    ConfigKey("log.flush.offset.checkpoint.interval.ms", "int", "How often recovery points are written to disk.", 1),
    ConfigKey(
        "log.flush.start.offset.checkpoint.interval.ms", "int", "How often log start offsets are written to disk.", 1
    ),
    ConfigKey("num.recovery.threads.per.data.dir", "int", "Logs recovered at a time after an unclean stop.", 1),
    ConfigKey(
        "log.message.timestamp.type", "str", "Whose clock stamps records.", choices=("CreateTime", "LogAppendTime")
    ),
    _COMPRESSION,
    ConfigKey("log.preallocate", "bool", "Whether files of new segments are preallocated; nothing else changes."),
    ConfigKey("offsets.topic.num.partitions", "int", "Partitions of __consumer_offsets.", 1, 1_000),
    ConfigKey("offsets.topic.replication.factor", "int", "Replicas of __consumer_offsets.", 1, 100),
    *_GROUPS,
    *TRANSACTION_COORDINATOR,
    ConfigKey("default.replication.factor", "int", "Replicas of a topic that names no number.", 1),
    ConfigKey("producer.id.expiration.ms", "int", "Silence after which an idempotent producer is forgotten.", 1),
    *_BROKER_FETCHING,
    *_QUORUM,
    *_CONTROLLER,
    _MIN_ISR,
    _UNCLEAN,
)
"""Broker configurations; the last two and those of segments and retention are also the default of every topic."""

TOPIC: Final = _table(
    _MIN_ISR,
    _UNCLEAN,
    ConfigKey("flush.messages", "int", "Records appended before this topic's log is forced to disk.", 1, LONG_MAX),
    ConfigKey("segment.bytes", "int", "Bytes after which a new segment begins.", 14),
    ConfigKey("segment.ms", "int", "Age of a segment at which the next append begins a new one.", 1, LONG_MAX),
    ConfigKey("index.interval.bytes", "int", "Bytes between two entries of a sparse index."),
    ConfigKey("segment.index.bytes", "int", "Room of a segment's index; a full one begins a new segment.", 24),
    ConfigKey("retention.ms", "int", "Age at which segments are deleted; -1 never.", -1, LONG_MAX),
    ConfigKey("retention.bytes", "int", "Size above which old segments are deleted; -1 none.", -1, LONG_MAX),
    ConfigKey("flush.ms", "int", "Age at which the flush scheduler forces this log to disk.", 0, LONG_MAX),
    ConfigKey("segment.jitter.ms", "int", "The most that a segment rolls early by time.", 0, LONG_MAX),
    ConfigKey("max.message.bytes", "int", "Largest batch that a leader takes."),
    ConfigKey(
        "message.timestamp.difference.max.ms",
        "int",
        "How old a producer's timestamp may be (0.10.0 to 3.9).",
        0,
        LONG_MAX,
    ),
    ConfigKey("message.timestamp.before.max.ms", "int", "The same since 3.6; it goes first.", 0, LONG_MAX),
    ConfigKey("message.timestamp.after.max.ms", "int", "How far ahead it may be, since 3.6.", 0, LONG_MAX),
    ConfigKey("cleanup.policy", "str", "What becomes of old records.", choices=_POLICIES),
    ConfigKey("min.cleanable.dirty.ratio", "ratio", "Dirty part of this log above which it is cleaned."),
    ConfigKey("delete.retention.ms", "int", "How long tombstones are kept once cleaned.", 0, LONG_MAX),
    ConfigKey("min.compaction.lag.ms", "int", "Age below which nothing is cleaned.", 0, LONG_MAX),
    ConfigKey("max.compaction.lag.ms", "int", "Age at which this log is cleaned at any ratio.", 1, LONG_MAX),
    ConfigKey("file.delete.delay.ms", "int", "How long the files of a deleted segment stay.", 0, LONG_MAX),
    ConfigKey("message.timestamp.type", "str", "Whose clock stamps records.", choices=("CreateTime", "LogAppendTime")),
    _COMPRESSION,
    ConfigKey("preallocate", "bool", "Whether files of new segments are preallocated; nothing else changes."),
    *_TOPIC_FETCHING,
    dynamic="cluster-wide",
)
"""Topic configurations."""

FLAWED_CLIENTS: Final = ("3.0.0", "3.1.0")
"""Patches whose producers were idempotent only if told to (KAFKA-13598, mended in 3.0.1 and 3.1.1)."""
_CLIENT_VERSION: Final = ConfigKey(
    "client.version", "str", "Release of the client; the cluster's own unless given.",
    choices=(*PROFILE_VERSIONS, *FLAWED_CLIENTS),
)  # fmt: skip
"""No configuration of Kafka's: there it is the library that the application has been built with."""

_CONNECTIONS: Final = (
    ConfigKey(RECONNECT, "int", "Pause before a broker is connected to again."),
    ConfigKey(RECONNECT_MAX, "int", "Longest such pause; it doubles with every failure (0.11)."),
    *_SETUP,
)

PRODUCER: Final = _table(
    ConfigKey("acks", "str", "Who must have the record before it counts as sent.", choices=("0", "1", "all")),
    ConfigKey("retries", "int", "How often a failed request is tried again."),
    ConfigKey("retry.backoff.ms", "int", "Pause before a retry."),
    ConfigKey("retry.backoff.max.ms", "int", "Longest pause before a retry, where pauses grow (3.7 and later)."),
    ConfigKey("request.timeout.ms", "int", "How long to wait for an answer.", 1),
    *_CONNECTIONS,
    ConfigKey("delivery.timeout.ms", "int", "Time a record has to be acknowledged, retries included.", 1),
    ConfigKey("max.in.flight.requests.per.connection", "int", "Unanswered requests to one broker.", 1),
    ConfigKey("linger.ms", "int", "How long a batch waits for company."),
    ConfigKey("batch.size", "int", "Bytes a batch may grow to."),
    ConfigKey(
        "compression.type", "str", "How batches are compressed.", choices=("none", "gzip", "snappy", "lz4", "zstd")
    ),
    ConfigKey("enable.idempotence", "bool", "Whether the broker removes duplicates of retried batches."),
    ConfigKey("metadata.max.age.ms", "int", "Age at which metadata is asked for again.", 1),
    ConfigKey("metadata.max.idle.ms", "int", "Idle time after which a topic's metadata is dropped (2.5).", 5_000),
    ConfigKey("max.request.size", "int", "Bytes that one request, and so one record, may have."),
    ConfigKey("buffer.memory", "int", "Bytes for batches that are not settled yet.", 0, LONG_MAX),
    ConfigKey("max.block.ms", "int", "How long send waits for metadata and memory.", 0, LONG_MAX // 1_000),
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
    ConfigKey("session.timeout.ms", "int", "Silence after which a member is out of its group.", 1),
    ConfigKey("heartbeat.interval.ms", "int", "How often a member tells its coordinator that it lives.", 1),
    ConfigKey("max.poll.interval.ms", "int", "Time between two polls after which a member leaves (0.10.1).", 1),
    ConfigKey("enable.auto.commit", "bool", "Whether polls commit what earlier polls handed out."),
    ConfigKey("auto.commit.interval.ms", "int", "How often they do."),
    ConfigKey("default.api.timeout.ms", "int", "How long a commitSync tries."),
    ConfigKey(
        "partition.assignment.strategy", "str", "Assignors, the preferred one first.",
        pattern=rf"({_STRATEGY})( *, *({_STRATEGY}))*", form="assignors separated by commas, as in RangeAssignor",
    ),
    ConfigKey(
        "group.instance.id", "str", "Makes members static ones; each gets its number behind it (2.3).",
        pattern="[a-zA-Z0-9._-]{1,200}", form="a name",
    ),
    *MEMBER,
)  # fmt: skip
"""Of members of a group that its coordinator shares partitions out to."""

CONSUMER: Final = _table(
    ConfigKey("fetch.min.bytes", "int", "Bytes that a fetch waits for."),
    ConfigKey("fetch.max.bytes", "int", "Bytes that a fetch takes in all (0.10.1).", 1),
    ConfigKey("fetch.max.wait.ms", "int", "How long a broker parks an empty fetch.", 1),
    ConfigKey("max.partition.fetch.bytes", "int", "Bytes a fetch takes from a partition.", 1),
    ConfigKey("max.poll.records", "int", "Records handed out by one poll.", 1),
    ConfigKey(
        "auto.offset.reset",
        "str",
        "Where to go without a position, or when it is gone.",
        pattern=_RESET,
        form="earliest, latest, none or by_duration:P1DT2H3M4S",
    ),
    ConfigKey(
        "isolation.level",
        "str",
        "Whether to read what transactions wrote only once they are committed (0.11).",
        choices=("read_uncommitted", "read_committed"),
    ),
    ConfigKey("check.crcs", "bool", "Whether to look at the checksums of what was fetched."),
    ConfigKey("request.timeout.ms", "int", "How long to wait for an answer.", 1),
    ConfigKey("retry.backoff.ms", "int", "Pause after a fetch error."),
    *_CONNECTIONS,
    ConfigKey("metadata.max.age.ms", "int", "Age at which metadata is asked for again.", 1),
    *_MEMBER,
    ConfigKey(
        "client.rack", "str", "The rack to read from where there is a choice (2.4).", pattern=".+", form="a name"
    ),
)
"""Consumer configurations."""

SCOPES: Final[dict[Scope, dict[str, ConfigKey]]] = {
    "broker": BROKER,
    "topic": TOPIC,
    "producer": PRODUCER,
    "consumer": CONSUMER,
}


def check(scope: Scope, name: str, value: object) -> ConfigValue:
    """The value of a configuration in its own type.

    Raises:
        ModelError: an unknown name (the nearest known one is told), a wrong type, or a value out of range.
    """
    table = SCOPES[scope]
    key = table.get(name)
    if key is None:
        elsewhere = [other for other, names in SCOPES.items() if name in names]
        near = difflib.get_close_matches(name, table, n=1)
        hint = f"; it is a {elsewhere[0]} configuration" if elsewhere else f"; did you mean {near[0]}?" if near else ""
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
        raise ModelError(f"{key.name} takes {', '.join(key.choices)}, found {value!r}", code="not_a_choice")
    return text
