"""Defaults of Kafka's configurations by release, for brokers, topics, producers, consumers and admin clients.

Each entry has the releases with the configuration, its default in each, and the KIP, KAFKA number or class that set
it. The values were compared with the ``ConfigDef`` of every release line: ``KafkaConfig``, ``LogConfig``,
``ProducerConfig``, ``ConsumerConfig``, ``AdminClientConfig``. Broker and consumer of 0.8.2 have no ``ConfigDef``: its
values are from its ``KafkaConfig`` and from the consumer in its ``core``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Final, Literal

from cluster_model.protocol.config_defs import INT_MAX, LONG_MAX, ConfigValue
from cluster_model.protocol.errors import ConfigConflictError
from cluster_model.protocol.releases import RELEASE_LINES, Version, is_within, name_of, parse_version
from cluster_model.protocol.versions import ELR_FEATURE, TRANSACTION_FEATURE

DefaultScope = Literal["broker", "topic", "producer", "consumer", "admin"]

OLDEST: Final = RELEASE_LINES[0]


@dataclass(frozen=True, slots=True)
class ReleaseDefault:
    """A default value from one release line on; None where the configuration is unset."""

    since: str
    value: ConfigValue | None
    source: str = ""
    """The KIP, KAFKA number or class that made it the default."""


@dataclass(frozen=True, slots=True)
class ConfigHistory:
    """The history of one configuration: the releases that have it, and its default in each of them."""

    name: str
    defaults: tuple[ReleaseDefault, ...]
    """Oldest first; the first is of the release that introduced the configuration."""
    until: str = ""
    """The last release line that has it; empty if all later ones do."""
    removed_by: str = ""
    """Why it was removed: KIP or reason."""
    replacement: str = ""
    """The configuration used in its place by the other releases."""
    value_elsewhere: ConfigValue | None = None
    """The value in effect in releases that do not have it; None for none."""

    @property
    def since(self) -> str:
        """The release line that introduced it."""
        return self.defaults[0].since

    def exists(self, version: Version) -> bool:
        """Return whether a release has it."""
        return is_within(version, parse_version(self.since), parse_version(self.until) if self.until else None)

    def default(self, version: Version) -> ConfigValue | None:
        """Return its default in a release; in one that does not have it, the value in effect there (``without``)."""
        if not self.exists(version):
            return self.value_elsewhere
        return [each.value for each in self.defaults if parse_version(each.since) <= version][-1]


Change = tuple[str, ConfigValue | None, str]
"""(release line, new default, KIP or other source)."""


def _of(
    name: str,
    value: ConfigValue | None,
    *changes: Change,
    since: str = OLDEST,
    by: str = "",
    until: str = "",
    removed_in: str = "",
    instead: str = "",
    without: ConfigValue | None = None,
) -> ConfigHistory:
    """Make an entry: the first default, the release and the KIP that introduced it, and the changes of the default."""
    defaults = (ReleaseDefault(since, value, by), *(ReleaseDefault(*change) for change in changes))
    return ConfigHistory(name, defaults, until, removed_in, instead, without)


def _table(*entries: ConfigHistory) -> Mapping[str, ConfigHistory]:
    return MappingProxyType({entry.name: entry for entry in entries})


_ZOOKEEPER_ONLY: Final = "ZooKeeper mode ended with 3.9"
_GIB: Final = 1 << 30
_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
_DAY_MS: Final = 24 * _HOUR_MS
_WEEK_MS: Final = 7 * _DAY_MS

_SETUP: Final = (
    _of("socket.connection.setup.timeout.ms", 10_000, since="2.7", by="KIP-601"),
    _of(
        "socket.connection.setup.timeout.max.ms", 127_000, ("2.8", 30_000, "CommonClientConfigs"), since="2.7",
        by="KIP-601",
    ),
)  # fmt: skip
"""Defaults of connections: of clients, and between brokers and controllers (``CommonClientConfigs``)."""

_REPLICATION: Final = (
    _of("replica.lag.time.max.ms", 10_000, ("2.5", 30_000, "KIP-537")),
    _of(
        "replica.lag.max.messages", 4_000, until="0.8.2", removed_in="KIP-16", instead="replica.lag.time.max.ms",
        without=4_000,
    ),
    _of("replica.fetch.wait.max.ms", 500),
    _of("replica.fetch.max.bytes", 1_048_576),
    _of("replica.fetch.min.bytes", 1),
    _of("replica.fetch.response.max.bytes", 10_485_760, since="0.10.1", by="KIP-74", without=0),
    _of("fetch.max.bytes", 57_671_680, since="2.5", by="KIP-541", without=0),
    _of("replica.fetch.backoff.ms", 1_000, since="0.9", by="KAFKA-1461", without=1_000),
    _of("replica.socket.timeout.ms", 30_000),
    _of("replica.high.watermark.checkpoint.interval.ms", 5_000),
    _of("broker.heartbeat.interval.ms", 2_000, since="2.8", by="KIP-631", instead="zookeeper.session.timeout.ms"),
    _of("broker.session.timeout.ms", 9_000, since="2.8", by="KIP-631", instead="zookeeper.session.timeout.ms"),
    _of(
        "zookeeper.session.timeout.ms", 6_000, ("2.5", 18_000, "KIP-537"), until="3.9", removed_in=_ZOOKEEPER_ONLY,
        instead="broker.session.timeout.ms",
    ),
    _of("num.io.threads", 8),
    _of("num.replica.fetchers", 1),
    _of("replica.selector.class", None, since="2.4", by="KIP-392"),
    _of("max.incremental.fetch.session.cache.slots", 1_000, since="1.1", by="KIP-227", without=0),
    _of("leader.replication.throttled.rate", LONG_MAX, since="0.10.1", by="KIP-73", without=LONG_MAX),
    _of("follower.replication.throttled.rate", LONG_MAX, since="0.10.1", by="KIP-73", without=LONG_MAX),
    _of("request.timeout.ms", 30_000, since="0.9", by="KIP-19", without=30_000),
    *_SETUP,
)  # fmt: skip
"""Broker defaults of replication, heartbeats and sessions."""

_LOGS: Final = (
    _of("log.flush.interval.messages", LONG_MAX),
    _of("log.segment.bytes", _GIB),
    _of("log.roll.hours", 168),
    _of("log.roll.ms", None),
    _of("log.index.interval.bytes", 4_096),
    _of("log.index.size.max.bytes", 10_485_760),
    _of("log.retention.hours", 168),
    _of("log.retention.minutes", None),
    _of("log.retention.ms", None),
    _of("log.retention.bytes", -1),
    _of("log.retention.check.interval.ms", 300_000),
    _of("log.initial.task.delay.ms", 30_000, since="3.8", by="KAFKA-16552", without=30_000),
    _of("log.segment.delete.delay.ms", 60_000),
    _of("log.flush.interval.ms", None),
    _of("log.flush.scheduler.interval.ms", LONG_MAX),
    _of("log.roll.jitter.hours", 0),
    _of("log.roll.jitter.ms", None),
    _of("message.max.bytes", 1_000_012, ("2.5", 1_048_588, "KAFKA-4203")),
    _of(
        "log.message.timestamp.difference.max.ms", LONG_MAX, since="0.10.0", by="KIP-32", until="3.9",
        removed_in="KIP-937", instead="log.message.timestamp.before.max.ms", without=LONG_MAX,
    ),
    _of(
        "log.message.timestamp.before.max.ms", LONG_MAX, since="3.6", by="KIP-937",
        instead="log.message.timestamp.difference.max.ms", without=LONG_MAX,
    ),
    _of(
        "log.message.timestamp.after.max.ms", LONG_MAX, ("4.0", 3_600_000, "KIP-1030"), since="3.6", by="KIP-937",
        instead="log.message.timestamp.difference.max.ms", without=LONG_MAX,
    ),
    _of("log.cleanup.policy", "delete"),
    _of("log.cleaner.enable", False, ("0.9", True, "KAFKA-2988")),
    _of("log.cleaner.backoff.ms", 15_000),
    _of("log.cleaner.dedupe.buffer.size", 524_288_000, ("0.9", 134_217_728, "KAFKA-2988")),
    _of("log.cleaner.min.cleanable.ratio", "0.5"),
    _of("log.cleaner.delete.retention.ms", _DAY_MS),
    _of("log.cleaner.min.compaction.lag.ms", 0, since="0.10.1", by="KIP-58", without=0),
    _of("log.cleaner.max.compaction.lag.ms", LONG_MAX, since="2.3", by="KIP-354", without=LONG_MAX),
    _of("log.flush.offset.checkpoint.interval.ms", 60_000),
    _of("log.flush.start.offset.checkpoint.interval.ms", 60_000, since="0.11", by="KIP-107", without=60_000),
    _of("num.recovery.threads.per.data.dir", 1, ("4.0", 2, "KIP-1030")),
    _of("log.message.timestamp.type", "CreateTime", since="0.10.0", by="KIP-32", without="CreateTime"),
    _of("compression.type", "producer", since="0.9", by="KAFKA-1499", without="producer"),
    _of("log.preallocate", False, since="0.9", by="KIP-20", without=False),
)  # fmt: skip
"""Broker defaults of logs: segments, retention, flushing and compaction."""

_COORDINATION: Final = (
    _of("offsets.topic.num.partitions", 50),
    _of("offsets.topic.replication.factor", 3),
    _of("offsets.topic.segment.bytes", 104_857_600),
    _of("offsets.retention.minutes", 1_440, ("2.0", 10_080, "KIP-186")),
    _of("offsets.retention.check.interval.ms", 600_000),
    _of("offsets.commit.timeout.ms", 5_000),
    _of("offset.metadata.max.bytes", 4_096),
    _of("group.initial.rebalance.delay.ms", 3_000, since="0.11", by="KIP-134", without=0),
    _of("group.min.session.timeout.ms", 6_000, since="0.9", by="GroupCoordinator", without=6_000),
    _of(
        "group.max.session.timeout.ms", 30_000, ("0.10.0", 300_000, "KAFKA-3636"), ("2.3", 1_800_000, "KIP-345"),
        since="0.9", by="GroupCoordinator", without=30_000,
    ),
    _of("group.max.size", INT_MAX, since="2.2", by="KIP-389", without=INT_MAX),
    _of(
        "group.coordinator.rebalance.protocols", "classic", ("4.0", "classic,consumer", "KIP-848"),
        ("4.1", "classic,consumer,streams", "KIP-1071"), since="3.7", by="KIP-848", without="classic",
    ),
    _of("group.consumer.session.timeout.ms", 45_000, since="3.5", by="KIP-848", without=45_000),
    _of("group.consumer.heartbeat.interval.ms", 5_000, since="3.5", by="KIP-848", without=5_000),
    _of("group.consumer.assignment.interval.ms", 1_000, since="4.3", by="KIP-1263", without=0),
    _of("group.consumer.max.size", INT_MAX, since="3.5", by="KIP-848", without=INT_MAX),
    _of(
        "group.consumer.assignors", "", ("3.6", "range", "KAFKA-14462"), ("3.7", "uniform,range", "KIP-848"),
        since="3.5", by="KIP-848", without="uniform,range",
    ),
    _of("transaction.state.log.num.partitions", 50, since="0.11", by="KIP-98", without=50),
    _of("transaction.state.log.replication.factor", 3, since="0.11", by="KIP-98", without=3),
    _of("transaction.state.log.min.isr", 2, since="0.11", by="KIP-98", without=2),
    _of("transaction.state.log.segment.bytes", 104_857_600, since="0.11", by="KIP-98", without=104_857_600),
    _of("transaction.max.timeout.ms", 900_000, since="0.11", by="KIP-98", without=900_000),
    _of("transactional.id.expiration.ms", _WEEK_MS, since="0.11", by="KIP-98", without=_WEEK_MS),
    _of(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", 60_000, ("2.5", 10_000, "KAFKA-9417"),
        since="0.11", by="KIP-98", without=60_000,
    ),
    _of(
        "transaction.remove.expired.transaction.cleanup.interval.ms", 3_600_000, since="0.11", by="KIP-98",
        without=3_600_000,
    ),
    _of("transaction.partition.verification.enable", True, since="3.6", by="KIP-890", without=False),
    _of("producer.id.expiration.ms", _DAY_MS, since="3.4", by="KIP-854", instead="transactional.id.expiration.ms"),
    _of(TRANSACTION_FEATURE, 2, since="4.0", by="KIP-890"),
)  # fmt: skip
"""Broker defaults of group and transaction coordinators, and of producer state."""

_CONTROLLERS: Final = (
    _of("controller.quorum.election.timeout.ms", 1_000, since="2.8", by="KIP-595"),
    _of("controller.quorum.fetch.timeout.ms", 2_000, since="2.8", by="KIP-595"),
    _of("controller.quorum.election.backoff.max.ms", 1_000, since="2.8", by="KIP-595"),
    _of("controller.quorum.request.timeout.ms", 2_000, since="2.8", by="KIP-595"),
    _of("controller.quorum.retry.backoff.ms", 20, since="2.8", by="KIP-595"),
    _of("controller.quorum.append.linger.ms", 25, since="2.8", by="KIP-595"),
    _of("metadata.max.idle.interval.ms", 500, since="3.3", by="KIP-835"),
    _of("auto.leader.rebalance.enable", True),
    _of("leader.imbalance.check.interval.seconds", 300),
    _of("leader.imbalance.per.broker.percentage", 10, until="3.9", removed_in=_ZOOKEEPER_ONLY),
    _of("unclean.leader.election.interval.ms", 300_000, since="3.9", by="KAFKA-12670"),
    _of(ELR_FEATURE, 0, ("4.1", 1, "KIP-966"), since="4.0", by="KIP-966"),
    _of("num.partitions", 1),
    _of("default.replication.factor", 1),
    _of("initial.broker.registration.timeout.ms", 60_000, since="2.8", by="KIP-631"),
    _of("controlled.shutdown.enable", True),
    _of("controlled.shutdown.max.retries", 3, until="3.9", removed_in=_ZOOKEEPER_ONLY),
    _of("controlled.shutdown.retry.backoff.ms", 5_000, until="3.9", removed_in=_ZOOKEEPER_ONLY),
    _of("controller.socket.timeout.ms", 30_000),
    _of("min.insync.replicas", 1),
    _of("unclean.leader.election.enable", True, ("0.11", False, "KIP-106")),
)  # fmt: skip
"""Broker defaults of controllers and elections."""

BROKER_DEFAULTS: Final = _table(*_REPLICATION, *_LOGS, *_COORDINATION, *_CONTROLLERS)
"""Broker defaults: ``KafkaConfig``; throttled rates from ``DynamicConfig.Broker``, feature levels from ``Feature``."""

TOPIC_SYNONYMS: Final[Mapping[str, str]] = MappingProxyType({
    "cleanup.policy": "log.cleanup.policy",
    "compression.type": "compression.type",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "index.interval.bytes": "log.index.interval.bytes",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.difference.max.ms": "log.message.timestamp.difference.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
})  # fmt: skip
"""Topic configuration → broker configuration that is its default (``ServerTopicConfigSynonyms``)."""

COARSER_UNITS: Final[Mapping[str, tuple[tuple[str, int], ...]]] = MappingProxyType({
    "log.flush.interval.ms": (("log.flush.scheduler.interval.ms", 1),),
    "log.retention.minutes": (("log.retention.hours", _HOUR_MS),),
    "log.retention.ms": (("log.retention.minutes", _MINUTE_MS), ("log.retention.hours", _HOUR_MS)),
    "log.roll.jitter.ms": (("log.roll.jitter.hours", _HOUR_MS),),
    "log.roll.ms": (("log.roll.hours", _HOUR_MS),),
})  # fmt: skip
"""Broker configuration → fallbacks in coarser units, the finest first, each with the milliseconds of its unit.

``DynamicBrokerConfig.brokerConfigSynonyms``.
"""

_TOPICS_OWN: Final[Mapping[str, ConfigValue]] = MappingProxyType(
    {"flush.ms": LONG_MAX, "retention.ms": _WEEK_MS, "segment.jitter.ms": 0, "segment.ms": _WEEK_MS}
)
"""Topic defaults where the broker's configuration of the same unit is unset and a coarser one applies."""

LOG_CONFIGS: Final = frozenset(TOPIC_SYNONYMS.values())
"""Broker configurations that are defaults of topics (``DynamicLogConfig.ReconfigurableConfigs``)."""

UNIT_DEFAULTS: Final[Mapping[str, ConfigValue]] = MappingProxyType(
    {TOPIC_SYNONYMS[name]: value for name, value in _TOPICS_OWN.items()}
)
"""Broker configurations with coarser units → the defaults of topics, which ignore these units."""


def _beneath(name: str, broker: str) -> ConfigHistory:
    """Derive the entry of a topic configuration from the broker's."""
    entry = BROKER_DEFAULTS[broker]
    own = _TOPICS_OWN.get(name)
    defaults = entry.defaults if own is None else tuple(replace(each, value=own) for each in entry.defaults)
    return replace(entry, name=name, defaults=defaults, replacement=entry.replacement.removeprefix("log."))


TOPIC_DEFAULTS: Final = _table(
    *(_beneath(name, broker) for name, broker in TOPIC_SYNONYMS.items()),
    _of("leader.replication.throttled.replicas", "", since="0.10.1", by="KIP-73", without=""),
    _of("follower.replication.throttled.replicas", "", since="0.10.1", by="KIP-73", without=""),
)
"""Topic defaults (``LogConfig``), where neither the topic nor its brokers are configured."""

_CONNECTIONS: Final = (
    _of("reconnect.backoff.max.ms", 1_000, since="0.11", by="KIP-144", instead="reconnect.backoff.ms"),
    *_SETUP,
)
"""Connection defaults of all clients (``CommonClientConfigs``)."""

PRODUCER_DEFAULTS: Final = _table(
    *_CONNECTIONS,
    _of("reconnect.backoff.ms", 10, ("0.9", 50, "KAFKA-1760")),
    _of("acks", "1", ("3.0", "all", "KIP-679")),
    _of("retries", 0, ("2.1", INT_MAX, "KIP-91")),
    _of("retry.backoff.ms", 100),
    _of("retry.backoff.max.ms", 1_000, since="3.7", by="KIP-580", instead="retry.backoff.ms"),
    _of("request.timeout.ms", 30_000, since="0.9", by="KIP-19", instead="timeout.ms", without=30_000),
    _of("delivery.timeout.ms", 120_000, since="2.1", by="KIP-91", instead="request.timeout.ms with retries"),
    _of("max.in.flight.requests.per.connection", 5),
    _of("linger.ms", 0, ("4.0", 5, "KIP-1030")),
    _of("batch.size", 16_384),
    _of("compression.type", "none"),
    _of("enable.idempotence", False, ("3.0", True, "KIP-679"), since="0.11", by="KIP-98", without=False),
    _of("metadata.max.age.ms", 300_000),
    _of("metadata.max.idle.ms", 300_000, since="2.5", by="KIP-526"),
    _of("max.request.size", 1_048_576),
    _of("buffer.memory", 33_554_432),
    _of("max.block.ms", 60_000, since="0.9", by="KIP-19", instead="metadata.fetch.timeout.ms", without=60_000),
    _of("partitioner.class", "DefaultPartitioner", ("3.3", None, "KIP-794"), since="0.9", by="KIP-22"),
    _of("partitioner.ignore.keys", False, since="3.3", by="KIP-794", without=False),
    _of("partitioner.adaptive.partitioning.enable", True, since="3.3", by="KIP-794", without=True),
    _of("partitioner.availability.timeout.ms", 0, since="3.3", by="KIP-794", without=0),
    _of("transactional.id", None, since="0.11", by="KIP-98"),
    _of("transaction.timeout.ms", 60_000, since="0.11", by="KIP-98", without=60_000),
    _of("client.version", None),
)
"""Producer defaults: ``ProducerConfig`` of the Java client; ``client.version`` is not a Kafka configuration."""

CONSUMER_DEFAULTS: Final = _table(
    *_CONNECTIONS,
    _of("client.version", None),
    _of("reconnect.backoff.ms", 50, since="0.9", by="ConsumerConfig of the Java client", without=50),
    _of("fetch.min.bytes", 1),
    _of("fetch.max.bytes", 52_428_800, since="0.10.1", by="KIP-74", instead="max.partition.fetch.bytes", without=0),
    _of("fetch.max.wait.ms", 100, ("0.9", 500, "ConsumerConfig of the Java client")),
    _of("max.partition.fetch.bytes", 1_048_576),
    _of(
        "max.poll.records", INT_MAX, ("0.10.1", 500, "KIP-62"), since="0.10.0", by="KIP-41",
        instead="max.partition.fetch.bytes", without=INT_MAX,
    ),
    _of("auto.offset.reset", "latest"),
    _of("isolation.level", "read_uncommitted", since="0.11", by="KIP-98", without="read_uncommitted"),
    _of("check.crcs", True),
    _of(
        "request.timeout.ms", 30_000, ("0.9", 40_000, "KIP-19"), ("0.10.1", 305_000, "KIP-62"),
        ("2.0", 30_000, "KIP-266"),
    ),
    _of("retry.backoff.ms", 100),
    _of("metadata.max.age.ms", 300_000),
    _of(
        "session.timeout.ms", 30_000, ("0.10.1", 10_000, "KIP-62"), ("3.0", 45_000, "KIP-735"), since="0.9",
        by="ConsumerConfig of the Java client",
    ),
    _of("heartbeat.interval.ms", 3_000, since="0.9", by="ConsumerConfig of the Java client"),
    _of("max.poll.interval.ms", 300_000, since="0.10.1", by="KIP-62", instead="session.timeout.ms"),
    _of("enable.auto.commit", True),
    _of("auto.commit.interval.ms", 60_000, ("0.9", 5_000, "ConsumerConfig of the Java client")),
    _of("default.api.timeout.ms", 60_000, since="2.0", by="KIP-266"),
    _of(
        "partition.assignment.strategy", "RangeAssignor",
        ("3.0", "RangeAssignor,CooperativeStickyAssignor", "KIP-726"), since="0.9",
        by="ConsumerConfig of the Java client",
    ),
    _of("group.instance.id", None, since="2.3", by="KIP-345"),
    _of("group.protocol", "classic", since="3.7", by="KIP-848", without="classic"),
    _of("group.remote.assignor", None, since="3.7", by="KIP-848"),
    _of("client.rack", "", since="2.3", by="KAFKA-8365", without=""),
)  # fmt: skip
"""Consumer defaults: ``ConsumerConfig`` of the Java client; 0.8.2 has those of the consumer in ``core``.

The values of 0.8.2 are listed by their later names.
"""

ADMIN_DEFAULTS: Final = _table(
    *_CONNECTIONS,
    _of("reconnect.backoff.ms", 50, since="0.11", by="KIP-117", without=50),
    _of("request.timeout.ms", 120_000, ("2.5", 30_000, "KIP-533"), since="0.11", by="KIP-117", without=120_000),
    _of(
        "default.api.timeout.ms", 60_000, since="2.5", by="KIP-533", instead="request.timeout.ms", without=120_000
    ),
    _of("retries", 5, ("2.5", INT_MAX, "KIP-533"), since="0.11", by="KIP-117", without=INT_MAX),
    _of("retry.backoff.ms", 100, since="0.11", by="KIP-117", without=100),
)  # fmt: skip
"""Admin client defaults: ``AdminClientConfig``.

There is no such client before 0.11: the tools of those releases write to ZooKeeper.
"""

DEFAULTS: Final[Mapping[DefaultScope, Mapping[str, ConfigHistory]]] = MappingProxyType({
    "broker": BROKER_DEFAULTS,
    "topic": TOPIC_DEFAULTS,
    "producer": PRODUCER_DEFAULTS,
    "consumer": CONSUMER_DEFAULTS,
    "admin": ADMIN_DEFAULTS,
})  # fmt: skip


@cache
def defaults_of(scope: DefaultScope, version: Version) -> Mapping[str, ConfigValue | None]:
    """Return the defaults of all configurations that a release has."""
    return MappingProxyType({
        name: entry.default(version) for name, entry in DEFAULTS[scope].items() if entry.exists(version)
    })  # fmt: skip


def check_release(scope: DefaultScope, name: str, version: Version) -> None:
    """Reject a configuration that a release does not have.

    Raises:
        ConfigConflictError: the release does not have it; the message names the releases that do, and the replacement.
    """
    entry = DEFAULTS[scope].get(name)
    if entry is None or entry.exists(version):
        return
    early = version < parse_version(entry.since)
    why = entry.defaults[0].source if early else entry.removed_by
    text = f"{name} exists {'since' if early else 'until'} Kafka {entry.since if early else entry.until}"
    instead = f"; use {entry.replacement} instead" if entry.replacement else ""
    raise ConfigConflictError(
        name, f"{text}{f' ({why})' if why else ''}, this is {name_of(version)}{instead}", code="not_in_version"
    )


class EffectiveConfig:
    """The configuration of one broker or client under one release: given values over the release's defaults."""

    __slots__ = ("_given", "_scope", "_version")

    def __init__(self, scope: DefaultScope, version: Version, given: Mapping[str, ConfigValue]) -> None:
        self._scope: DefaultScope = scope
        self._version = version
        self._given = given

    @property
    def version(self) -> Version:
        """The release whose defaults apply."""
        return self._version

    def exists(self, name: str) -> bool:
        """Return whether the release has this configuration."""
        return DEFAULTS[self._scope][name].exists(self._version)

    def is_given(self, name: str) -> bool:
        """Return whether a value was given for a configuration that the release has."""
        return name in self._given and self.exists(name)

    def value(self, name: str) -> ConfigValue | None:
        """Return the given value if the release has the configuration, else its default; None where it is unset."""
        if self.is_given(name):
            return self._given[name]
        return DEFAULTS[self._scope][name].default(self._version)

    def number(self, name: str) -> int:
        """Return a whole number.

        Raises:
            LookupError: it is unset.
        """
        value = self.value(name)
        if value is None:
            raise LookupError(f"{name} has no value under Kafka {name_of(self._version)}")
        return int(value)

    def us(self, name: str) -> int:
        """Return a duration in milliseconds as microseconds; ``Long.MAX_VALUE`` is unchanged."""
        millis = self.number(name)
        return LONG_MAX if millis > LONG_MAX // 1_000 else millis * 1_000

    def text(self, name: str) -> str:
        """Return a text, empty where it is unset."""
        value = self.value(name)
        return "" if value is None else str(value)

    def boolean(self, name: str) -> bool:
        """Return whether a boolean configuration is true."""
        return self.value(name) is True
