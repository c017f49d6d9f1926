"""Typed settings of brokers, topics, consumers and controllers, in model units, as Kafka's ``LogConfig`` and others.

Values are those given by Kafka's configuration keys, else the defaults of the release. The keys with their types and
ranges are in :mod:`cluster_model.protocol.config_defs`. Durations are in microseconds, sizes in bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from cluster_model.protocol.config_defaults import (
    COARSER_UNITS,
    TOPIC_DEFAULTS,
    TOPIC_SYNONYMS,
    EffectiveConfig,
    check_release,
)
from cluster_model.protocol.config_defs import (
    PRODUCERS_CHOICE,
    RECONNECT,
    RECONNECT_MAX,
    SETUP_TIMEOUT,
    SETUP_TIMEOUT_MAX,
    UNCOMPRESSED,
    ConfigValue,
)
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.records import codec_of
from cluster_model.protocol.versions import ClientProfile, Profile

# Connection settings of clients, brokers and controllers.


BETWEEN_BROKERS_US: Final = 50_000
"""Constant backoff after a failed connection between brokers (the clients of ``InterBrokerSendThread``)."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Backoffs and timeouts of a process's connections."""

    backoff_us: int
    """The first backoff after a connection was lost or refused."""
    backoff_max_us: int
    """Maximum of the backoff, which doubles and varies by a fifth (KIP-144, 0.11); before, it is constant.

    It is constant too where ``reconnect.backoff.ms`` is given and ``reconnect.backoff.max.ms`` is not
    (``CommonClientConfigs.postProcessReconnectBackoffConfigs``).
    """
    setup_us: int
    """Timeout of the first connection attempt; 0 before KIP-601 (2.7): that of the operating system."""
    setup_max_us: int
    asks_versions: bool
    """Whether a new connection begins with an ApiVersions request (KIP-97)."""
    capped: bool
    """Whether maximums also apply after the random part was added, and to the first backoff (KIP-580)."""

    @staticmethod
    def of(own: EffectiveConfig, client: ClientProfile) -> "ConnectionSettings":
        """Make the settings of a client from its configuration and its release's rules."""
        backoff_us = own.us(RECONNECT)
        grows = own.exists(RECONNECT_MAX) and (own.is_given(RECONNECT_MAX) or not own.is_given(RECONNECT))
        most_us = own.us(RECONNECT_MAX) if grows else backoff_us
        setup_us = own.us(SETUP_TIMEOUT) if own.exists(SETUP_TIMEOUT) else 0
        setup_max_us = own.us(SETUP_TIMEOUT_MAX) if own.exists(SETUP_TIMEOUT_MAX) else 0
        capped = client.caps_backoff
        if capped:
            backoff_us, setup_us = min(backoff_us, most_us), min(setup_us, setup_max_us)
        return ConnectionSettings(
            backoff_us,
            max(backoff_us, most_us),
            setup_us,
            max(setup_us, setup_max_us),
            client.asks_api_versions,
            capped,
        )

    @staticmethod
    def between_brokers(own: EffectiveConfig, client: ClientProfile) -> "ConnectionSettings":
        """Make the settings of a broker or controller for its connections to other nodes.

        Its backoff is not configurable. Whether it requests API versions depends on the purpose of the connection
        (``discoverBrokerVersions``): the caller enables it where needed.
        """
        setup_us = own.us(SETUP_TIMEOUT) if own.exists(SETUP_TIMEOUT) else 0
        setup_max_us = own.us(SETUP_TIMEOUT_MAX) if own.exists(SETUP_TIMEOUT_MAX) else 0
        capped = client.caps_backoff
        if capped:
            setup_us = min(setup_us, setup_max_us)
        return ConnectionSettings(
            BETWEEN_BROKERS_US, BETWEEN_BROKERS_US, setup_us, max(setup_us, setup_max_us), False, capped
        )


# Log settings: the part of a topic's configuration that its storage uses (``LogConfig``).


NEVER: Final = 2**63 - 1
"""Kafka's ``Long.MAX_VALUE``, which stands for "no limit"."""
DAY_US: Final = 86_400_000_000
WRITEBACK_US: Final = 30_000_000
"""Age at which the operating system writes a dirty page back (Linux: dirty_expire_centisecs, 30 s)."""
PRODUCERS_CODEC: Final = -1
"""Codec number of a topic that keeps the compression of its producers."""


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Log settings of one topic: rolling, indexing, flushing, retention and compaction; the defaults are Kafka's."""

    segment_bytes: int = 1 << 30
    roll_us: int = 7 * DAY_US
    index_bytes: int = 10_485_760
    """Maximum size of each index file: 8 bytes per offset entry, 12 per time entry."""
    index_interval: int = 4_096
    flush_messages: int = NEVER
    retention_us: int = 7 * DAY_US
    """-1: no limit."""
    retention_bytes: int = -1
    """-1: no limit."""
    delete_delay_us: int = 60_000_000
    by_timestamp: bool = True
    """Rolling and retention use record timestamps (KIP-33, 0.10.1); before, the age and the mtime of files."""
    log_append_time: bool = False
    """``message.timestamp.type`` is LogAppendTime (KIP-32): timestamps are the leader's, not the producer's."""
    oldest_us: int = NEVER
    """How far a record's timestamp may be before the leader's clock."""
    newest_us: int = NEVER
    """How far a record's timestamp may be after the leader's clock; it only matters with clock skew."""
    flush_us: int = NEVER
    """Age of unflushed records at which the flush scheduler, if enabled, flushes the log."""
    jitter_us: int = 0
    """Maximum jitter by which a segment rolls early, so that not all logs roll at once."""
    max_message: int = 1_048_588
    """Largest batch that a leader accepts; before message format 2 the largest uncompressed message."""
    delete: bool = True
    """``cleanup.policy`` includes delete: retention by size and time applies."""
    compact: bool = False
    """``cleanup.policy`` includes compact."""
    writeback_us: int = WRITEBACK_US
    """Age at which the operating system writes a dirty page to disk; not a Kafka setting."""
    min_dirty_ppm: int = 500_000
    """``min.cleanable.dirty.ratio`` in millionths: above it a log is cleaned."""
    tombstone_us: int = DAY_US
    """``delete.retention.ms``: how long a tombstone stays after the first cleaning that kept it."""
    min_lag_us: int = 0
    """Minimum age of a segment to be cleaned."""
    max_lag_us: int = NEVER
    """Age of a dirty record at which its log is cleaned at any ratio (KIP-354)."""
    codec: int = PRODUCERS_CODEC
    """Codec with which the leader compresses batches (``compression.type``)."""
    preallocate: bool = False
    """Whether segment files are preallocated; it has no effect on the model."""


DEFAULT_RULES: Final = LogConfig()
"""Log settings without any configuration."""


# A topic's log settings (``LogConfig``): its own configuration, else the broker's, else the version's default.


_MS: Final = 1_000
_MILLION_DIGITS: Final = 6

Config = Mapping[str, ConfigValue]


def duration_us(millis: int) -> int:
    """Convert milliseconds to microseconds; ``Long.MAX_VALUE`` stays :data:`NEVER`."""
    return NEVER if millis > NEVER // _MS else millis * _MS


def millionths(ratio: str) -> int:
    """Convert a validated ratio such as ``0.5`` to millionths."""
    whole, _point, fraction = ratio.partition(".")
    return int(whole) * 10**_MILLION_DIGITS + int(fraction.ljust(_MILLION_DIGITS, "0"))


def log_rules(profile: Profile, broker: Config, topic: Config) -> LogConfig:
    """Return the log settings of a topic; of the broker's settings the one in the finest unit wins.

    Raises:
        ModelError: a cleanup policy that the version lacks.
    """
    values = topic_values(profile, broker, topic)

    def number(name: str) -> int:
        return int(values[name] or 0)

    def us(name: str) -> int:
        return duration_us(number(name))

    policies = _policies(profile, str(values["cleanup.policy"]))
    roll_us, max_lag_us = us("segment.ms"), us("max.compaction.lag.ms")
    return LogConfig(
        segment_bytes=number("segment.bytes"),
        roll_us=min(roll_us, max_lag_us) if "compact" in policies else roll_us,
        index_bytes=number("segment.index.bytes"),
        index_interval=number("index.interval.bytes"),
        flush_messages=number("flush.messages"),
        retention_us=-1 if number("retention.ms") < 0 else us("retention.ms"),
        retention_bytes=number("retention.bytes"),
        delete_delay_us=us("file.delete.delay.ms"),
        by_timestamp=profile.time_index,
        log_append_time=values["message.timestamp.type"] == "LogAppendTime",
        oldest_us=us("message.timestamp.before.max.ms"),
        newest_us=us("message.timestamp.after.max.ms"),
        flush_us=us("flush.ms"),
        jitter_us=us("segment.jitter.ms"),
        max_message=number("max.message.bytes"),
        delete="delete" in policies,
        compact="compact" in policies,
        min_dirty_ppm=millionths(str(values["min.cleanable.dirty.ratio"])),
        tombstone_us=us("delete.retention.ms"),
        min_lag_us=us("min.compaction.lag.ms"),
        max_lag_us=max_lag_us,
        codec=_codec(profile, str(values["compression.type"])),
        preallocate=values["preallocate"] is True,
    )


def topic_values(profile: Profile, broker: Config, topic: Config) -> dict[str, ConfigValue | None]:
    """Return all configurations of a topic: its own values, else its broker's, else the release's defaults.

    Configurations that the release does not have get the values in effect in their place.
    """
    number = profile.number
    own, beneath = EffectiveConfig("topic", number, topic), EffectiveConfig("broker", number, broker)
    values: dict[str, ConfigValue | None] = {}
    for name in TOPIC_DEFAULTS:
        synonym = TOPIC_SYNONYMS.get(name)
        if synonym is None or (name in topic and own.exists(name)):
            values[name] = own.value(name)
            continue
        value = beneath.value(synonym)
        for coarser, millis in COARSER_UNITS.get(synonym, ()):
            given = beneath.value(coarser) if value is None else None
            value = value if given is None else _times(int(given), millis)
        values[name] = value
    _bound_by_difference(values)
    return values


def _times(count: int, millis: int) -> int:
    """Convert hours or minutes to milliseconds, at most :data:`NEVER`; a negative count (no limit) is unchanged."""
    return count if count < 0 else min(count * millis, NEVER)


def _bound_by_difference(values: dict[str, ConfigValue | None]) -> None:
    """Apply ``message.timestamp.difference.max.ms`` to each side without a limit of its own (KIP-937).

    As ``LogConfig.getMessageTimestampBeforeMaxMs`` and ``getMessageTimestampAfterMaxMs`` of 3.6 to 3.9; before 3.6
    there is only the difference.
    """
    difference = values["message.timestamp.difference.max.ms"]
    for side in ("before", "after"):
        name = f"message.timestamp.{side}.max.ms"
        if values[name] == NEVER:
            values[name] = difference


def _codec(profile: Profile, name: str) -> int:
    """Return the codec number of a ``compression.type`` (``BrokerCompressionType.targetCompression``).

    Raises:
        ModelError: zstd before 2.1 (KIP-110).
    """
    if name == PRODUCERS_CHOICE:
        return PRODUCERS_CODEC
    return codec_of(profile, "none" if name == UNCOMPRESSED else name).code


def _policies(profile: Profile, text: str) -> list[str]:
    policies = text.split(",")
    if len(policies) > 1 and not profile.compact_and_delete:
        raise ModelError(
            f"cleanup.policy takes one policy before Kafka 0.10.1 (KIP-71), found {text!r}; use compact or delete",
            code="not_in_version",
        )
    return policies


MS: Final = 1_000
"""Microseconds per millisecond, the unit of Kafka's configurations."""
MAP_ENTRY: Final = 24
"""Bytes per key in the cleaner's offset map, which is filled to nine tenths (``SkimpyOffsetMap``)."""


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """A broker's settings, with the defaults of the version."""

    lag_time_us: int
    lag_messages: int
    fetch_wait_us: int
    fetch_bytes: int
    fetch_min_bytes: int
    fetch_response_bytes: int
    """Maximum size of a fetch response to a follower, 0 for no limit."""
    fetch_max_bytes: int
    """Maximum size of any fetch response, whatever is requested (KIP-541); 0 for no limit."""
    fetch_backoff_us: int
    socket_timeout_us: int
    hw_checkpoint_us: int
    heartbeat_us: int
    session_us: int
    shrink_period_us: int
    task_delay_us: int
    """Delay of the first retention check and offset checkpoint after a start."""
    retention_check_us: int
    recovery_checkpoint_us: int
    start_checkpoint_us: int
    recovery_threads: int
    flush_check_us: int
    """How often ``flush.ms`` of the logs is checked; NEVER by default."""
    cleaner: bool
    """Whether compacted topics are cleaned: not by default in 0.8.2."""
    cleaner_backoff_us: int
    cleaner_keys: int
    """Maximum keys that one pass of the cleaner can map."""
    fetchers: int
    io_threads: int
    """Request handler threads; their number only matters while a disk is slow."""
    rack_aware: bool
    """Whether a leader directs consumers to a replica in their rack (``RackAwareReplicaSelector``)."""
    session_slots: int
    leader_rate: int
    """Bytes per second sent to throttled replicas, LONG_MAX for no limit."""
    follower_rate: int
    """Bytes per second fetched by throttled replicas, LONG_MAX for no limit."""
    producer_expiry_us: int
    """Idle time after which the state of a producer id expires."""
    connections: ConnectionSettings
    """Settings of its connections to other brokers and to controllers."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "BrokerConfig":
        """Make the settings for a profile; ``config`` overrides defaults by Kafka's names."""
        own = EffectiveConfig("broker", profile.number, config)
        number, us = own.number, own.us
        lag_us = us("replica.lag.time.max.ms")
        if profile.kraft:
            session_us, heartbeat_us = us("broker.session.timeout.ms"), us("broker.heartbeat.interval.ms")
        else:
            session_us = us("zookeeper.session.timeout.ms")
            heartbeat_us = max(1, session_us // 3)
        return BrokerConfig(
            lag_time_us=lag_us,
            lag_messages=number("replica.lag.max.messages"),
            fetch_wait_us=us("replica.fetch.wait.max.ms"),
            fetch_bytes=number("replica.fetch.max.bytes"),
            fetch_min_bytes=number("replica.fetch.min.bytes"),
            fetch_response_bytes=number("replica.fetch.response.max.bytes"),
            fetch_max_bytes=number("fetch.max.bytes"),
            fetch_backoff_us=us("replica.fetch.backoff.ms"),
            socket_timeout_us=us("replica.socket.timeout.ms"),
            hw_checkpoint_us=us("replica.high.watermark.checkpoint.interval.ms"),
            heartbeat_us=heartbeat_us,
            session_us=session_us,
            shrink_period_us=lag_us // 2 if profile.shrink_half else lag_us,
            task_delay_us=us("log.initial.task.delay.ms"),
            retention_check_us=us("log.retention.check.interval.ms"),
            recovery_checkpoint_us=us("log.flush.offset.checkpoint.interval.ms"),
            start_checkpoint_us=us("log.flush.start.offset.checkpoint.interval.ms"),
            recovery_threads=number("num.recovery.threads.per.data.dir"),
            flush_check_us=us("log.flush.scheduler.interval.ms"),
            cleaner=own.boolean("log.cleaner.enable"),
            cleaner_backoff_us=us("log.cleaner.backoff.ms"),
            cleaner_keys=number("log.cleaner.dedupe.buffer.size") * 9 // 10 // MAP_ENTRY,
            fetchers=number("num.replica.fetchers"),
            io_threads=number("num.io.threads"),
            rack_aware=own.text("replica.selector.class").endswith("RackAwareReplicaSelector"),
            session_slots=number("max.incremental.fetch.session.cache.slots"),
            leader_rate=number("leader.replication.throttled.rate"),
            follower_rate=number("follower.replication.throttled.rate"),
            producer_expiry_us=us(producer_expiry(own)),
            connections=ConnectionSettings.between_brokers(own, profile.client),
        )


def producer_expiry(broker: EffectiveConfig) -> str:
    """Return the name of the configuration that sets when producer state expires (KIP-854, 3.4)."""
    name = "producer.id.expiration.ms"
    return name if broker.exists(name) else "transactional.id.expiration.ms"


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """A topic's settings, with the broker's as defaults."""

    min_isr: int
    """``min.insync.replicas`` as configured."""
    unclean: bool
    log: LogConfig
    leader_throttled: str = ""
    """``*``, or ``partition:broker,...``, as configured."""
    follower_throttled: str = ""

    @staticmethod
    def of(profile: Profile, broker: Mapping[str, ConfigValue], topic: Mapping[str, ConfigValue]) -> "TopicConfig":
        """Make the settings of a topic: its own, else the broker's, else the version's defaults.

        Raises:
            ModelError: a cleanup policy that the version lacks.
        """
        merged = EffectiveConfig("broker", profile.number, {**broker, **topic})
        own = EffectiveConfig("topic", profile.number, topic)
        return TopicConfig(
            min_isr=merged.number("min.insync.replicas"),
            unclean=merged.boolean("unclean.leader.election.enable"),
            log=log_rules(profile, broker, topic),
            leader_throttled=own.text("leader.replication.throttled.replicas"),
            follower_throttled=own.text("follower.replication.throttled.replicas"),
        )

    def effective_min_isr(self, profile: Profile, replicas: int) -> int:
        """Return the minimum ISR of acks=all: since 3.7 at most the replica count (``Partition.effectiveMinIsr``)."""
        return min(self.min_isr, replicas) if profile.effective_min_isr else self.min_isr


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """A consumer's settings, with the defaults of the version."""

    fetch_wait_us: int
    fetch_bytes: int
    fetch_min_bytes: int
    fetch_max_bytes: int
    """0 before 0.10.1 (KIP-74): no limit."""
    max_poll_records: int
    reset: str
    """``auto.offset.reset`` as configured."""
    request_timeout_us: int
    backoff_us: int
    metadata_age_us: int
    connections: ConnectionSettings
    rack: str = ""
    committed_only: bool = False
    """``isolation.level`` is read_committed (KIP-98)."""
    check_crcs: bool = True
    """Whether checksums are verified."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "ConsumerConfig":
        """Make the settings of a client of the cluster's own version or of its ``client.version``.

        Raises:
            ConfigConflictError: a configuration that the version does not have, or a client that these brokers reject.
        """
        client = profile.for_client(str(config.get("client.version", ""))).client
        version = client.number
        for name in config:
            check_release("consumer", name, version)
        own = EffectiveConfig("consumer", version, config)
        return ConsumerConfig(
            fetch_wait_us=own.us("fetch.max.wait.ms"),
            fetch_bytes=own.number("max.partition.fetch.bytes"),
            fetch_min_bytes=own.number("fetch.min.bytes"),
            fetch_max_bytes=own.number("fetch.max.bytes"),
            max_poll_records=own.number("max.poll.records"),
            reset=own.text("auto.offset.reset"),
            request_timeout_us=own.us("request.timeout.ms"),
            backoff_us=own.us("retry.backoff.ms"),
            metadata_age_us=own.us("metadata.max.age.ms"),
            connections=ConnectionSettings.of(own, client),
            rack=own.text("client.rack"),
            committed_only=own.text("isolation.level") == "read_committed",
            check_crcs=own.boolean("check.crcs"),
        )


# Settings of KRaft controllers, and of brokers that register with them.


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """Settings of an active KRaft controller and of brokers that register with it, with the version's defaults."""

    session_us: int
    """``broker.session.timeout.ms``."""
    rebalance_us: int
    """``leader.imbalance.check.interval.seconds``; 0 with ``auto.leader.rebalance.enable`` off."""
    unclean_us: int
    """``unclean.leader.election.interval.ms``; 0 before 3.9, where such elections have no periodic task."""

    registration_us: int
    """``initial.broker.registration.timeout.ms``, used by brokers."""
    controlled_shutdown: bool
    """``controlled.shutdown.enable``, used by brokers too."""
    heartbeat_retry_flat: bool
    """Whether brokers repeat a failed heartbeat after its interval, without a growing backoff (KAFKA-19294)."""
    heartbeat_backoff_halved: bool
    """Whether that backoff grows to half the session timeout, not to all of it."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "ControllerSettings":
        """Make the settings for a profile; ``config`` overrides defaults by Kafka's names."""
        own = EffectiveConfig("broker", profile.number, config)
        sweep = "unclean.leader.election.interval.ms"
        return ControllerSettings(
            session_us=own.us("broker.session.timeout.ms"),
            rebalance_us=_rebalance_us(own),
            unclean_us=own.us(sweep) if own.exists(sweep) else 0,
            registration_us=own.us("initial.broker.registration.timeout.ms"),
            controlled_shutdown=own.boolean("controlled.shutdown.enable"),
            heartbeat_retry_flat=profile.heartbeat_retry_flat,
            heartbeat_backoff_halved=profile.heartbeat_backoff_halved,
        )


def _rebalance_us(own: EffectiveConfig) -> int:
    """Return the interval of the leader imbalance check, 0 for never."""
    interval_us = own.number("leader.imbalance.check.interval.seconds") * 1_000 * MS
    return interval_us if own.boolean("auto.leader.rebalance.enable") else 0


RECONNECT_US: Final = 50 * MS
"""First reconnect backoff, which doubles per failure (``KafkaRaftManager``)."""
RECONNECT_MAX_US: Final = 500 * MS
FIRST_REBALANCE_US: Final = 5_000 * MS
"""Delay of the first leader imbalance check after a failover (``KafkaController.onControllerFailover``)."""


@dataclass(frozen=True, slots=True)
class QuorumConfig:
    """``controller.quorum.*`` settings of every quorum node, with the defaults of Kafka's ``QuorumConfig``."""

    election_timeout_us: int
    fetch_timeout_us: int
    backoff_max_us: int
    request_timeout_us: int
    retry_backoff_us: int
    linger_us: int
    idle_interval_us: int
    """``metadata.max.idle.interval.ms``: interval of NoOp records of an idle leader; 0 never."""
    check_quorum: bool
    """Whether a leader without fetches from a majority resigns (3.7)."""
    pre_vote: bool
    """Whether a voter requests pre-votes before it raises the epoch (KIP-996, 4.0)."""
    hw_push: bool
    """Whether a leader completes delayed fetches as its high watermark rises (KIP-1166, 4.1)."""
    waits_out: bool
    """Whether a candidate that lost waits for the end of its election timeout (KAFKA-18345, 4.1)."""
    jitters: bool
    """Whether the longest backoff of a candidate that lost has a random part (KAFKA-18345, 3.9.2 and 4.0.1)."""

    @property
    def check_quorum_us(self) -> int:
        """Time without a majority after which a leader resigns (``LeaderState.CHECK_QUORUM_TIMEOUT_FACTOR``)."""
        return self.fetch_timeout_us * 3 // 2

    @property
    def shortest_timeout_us(self) -> int:
        """The shortest timeout for a missing response."""
        return min(self.fetch_timeout_us, self.request_timeout_us)

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "QuorumConfig":
        """Make the settings for a profile; ``config`` overrides defaults by Kafka's names."""
        us = EffectiveConfig("broker", profile.number, config).us
        return QuorumConfig(
            election_timeout_us=us("controller.quorum.election.timeout.ms"),
            fetch_timeout_us=us("controller.quorum.fetch.timeout.ms"),
            backoff_max_us=us("controller.quorum.election.backoff.max.ms"),
            request_timeout_us=us("controller.quorum.request.timeout.ms"),
            retry_backoff_us=us("controller.quorum.retry.backoff.ms"),
            linger_us=us("controller.quorum.append.linger.ms"),
            idle_interval_us=us("metadata.max.idle.interval.ms"),
            check_quorum=profile.check_quorum,
            pre_vote=profile.pre_vote,
            hw_push=profile.quorum_hw_push,
            waits_out=profile.election_waits_out,
            jitters=profile.election_jitters,
        )


# Settings of a ZooKeeper-mode controller, and of brokers that communicate with it.


class ZkControllerSettings(NamedTuple):
    """Settings of a ZooKeeper-mode controller and its brokers, with the defaults of the version."""

    rebalance_us: int
    """``leader.imbalance.check.interval.seconds``; 0 with ``auto.leader.rebalance.enable`` off."""
    imbalance_percentage: int
    """``leader.imbalance.per.broker.percentage``."""
    controlled_shutdown: bool
    """``controlled.shutdown.enable``."""
    shutdown_retries: int
    """``controlled.shutdown.max.retries``."""
    shutdown_backoff_us: int
    """``controlled.shutdown.retry.backoff.ms``."""
    socket_timeout_us: int
    """``controller.socket.timeout.ms``: timeout of requests to and from the controller."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "ZkControllerSettings":
        """Make the settings for a profile in ZooKeeper mode; ``config`` overrides defaults by Kafka's names."""
        own = EffectiveConfig("broker", profile.number, config)
        return ZkControllerSettings(
            rebalance_us=_rebalance_us(own),
            imbalance_percentage=own.number("leader.imbalance.per.broker.percentage"),
            controlled_shutdown=own.boolean("controlled.shutdown.enable"),
            shutdown_retries=own.number("controlled.shutdown.max.retries"),
            shutdown_backoff_us=own.us("controlled.shutdown.retry.backoff.ms"),
            socket_timeout_us=own.us("controller.socket.timeout.ms"),
        )


# Settings of a ZooKeeper ensemble, by the names of ``zoo.cfg``.


class ZkSettings(NamedTuple):
    """Settings of a ZooKeeper ensemble; the defaults are those of the ``zoo_sample.cfg`` that ships with it.

    They are ``tickTime`` 2000, ``initLimit`` 10, ``syncLimit`` 5.
    """

    tick_us: int = 2_000 * MS
    """``tickTime``: unit of the other limits, of the leader's pings and of session expiry."""
    init_limit: int = 10
    """Ticks for followers to connect to a new leader and to catch up."""
    sync_limit: int = 5
    """Ticks without contact after which leader and follower drop their connection."""
    finalize_us: int = 200 * MS
    """``FastLeaderElection.finalizeWait``: how long a majority waits for a better vote."""

    @property
    def min_session_us(self) -> int:
        """``minSessionTimeout``: 2 ticks."""
        return 2 * self.tick_us

    @property
    def max_session_us(self) -> int:
        """``maxSessionTimeout``: 20 ticks."""
        return 20 * self.tick_us
