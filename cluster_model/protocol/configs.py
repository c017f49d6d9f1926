"""Settings in model units: a version's defaults beneath Kafka's own configuration keys (``LogConfig`` among them).

The keys themselves, with their types and ranges, are in :mod:`cluster_model.protocol.config_defs`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.config_defaults import COARSER, TOPIC_DEFAULTS, TOPIC_SYNONYMS, Configured, check_release
from cluster_model.protocol.config_defs import PRODUCERS_CHOICE, UNCOMPRESSED, ConfigValue
from cluster_model.protocol.connection_settings import ConnectionSettings
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.records import codec_of
from cluster_model.protocol.versions import Profile

# Log settings: the part of a topic's configuration that its storage uses (``LogConfig``), in model units.


NEVER: Final = 2**63 - 1
"""Kafka's ``Long.MAX_VALUE`` where it stands for "no limit"."""
DAY_US: Final = 86_400_000_000
WRITEBACK_US: Final = 30_000_000
"""Age at which the operating system has written a dirty page back (Linux: dirty_expire_centisecs, 30 s)."""
PRODUCERS_CODEC: Final = -1
"""Stands for the codec of a topic whose batches stay as their producers compress them."""


@dataclass(frozen=True, slots=True)
class LogRules:
    """Rolling, indexing, flushing, retention and compaction of one topic's logs; the defaults are Kafka's."""

    segment_bytes: int = 1 << 30
    roll_us: int = 7 * DAY_US
    index_bytes: int = 10_485_760
    """Room of each index file: 8 bytes an offset entry, 12 a time entry."""
    index_interval: int = 4_096
    flush_messages: int = NEVER
    retention_us: int = 7 * DAY_US
    """-1: for ever."""
    retention_bytes: int = -1
    """-1: no limit."""
    delete_delay_us: int = 60_000_000
    by_timestamp: bool = True
    """Rolling and retention go by record timestamps (KIP-33, 0.10.1); before, by the age and the mtime of files."""
    log_append_time: bool = False
    """``message.timestamp.type`` is LogAppendTime (KIP-32): the leader stamps batches, not the producer."""
    oldest_us: int = NEVER
    """How far behind the leader's clock a producer's timestamp may be."""
    newest_us: int = NEVER
    """How far ahead of it; looked at once clocks differ, for before that none is."""
    flush_us: int = NEVER
    """Age at which the flush scheduler, if there is one, forces the log to disk."""
    jitter_us: int = 0
    """The most that a segment rolls early by time, so that not all logs roll at once."""
    max_message: int = 1_048_588
    """Largest batch that a leader takes; before message format 2 the largest uncompressed message."""
    delete: bool = True
    """``cleanup.policy`` names delete: retention by size and time holds."""
    compact: bool = False
    """``cleanup.policy`` names compact."""
    writeback_us: int = WRITEBACK_US
    """Not Kafka's: age at which the disk has what was written to the page cache."""
    min_dirty_ppm: int = 500_000
    """``min.cleanable.dirty.ratio`` in millionths: above it a log is worth cleaning."""
    tombstone_us: int = DAY_US
    """``delete.retention.ms``: how long a tombstone stays after the first cleaning that kept it."""
    min_lag_us: int = 0
    """Age below which no segment is cleaned."""
    max_lag_us: int = NEVER
    """Age of a dirty record at which its log is cleaned whatever the ratio (KIP-354)."""
    codec: int = PRODUCERS_CODEC
    """Codec that the leader compresses batches with (``compression.type``)."""
    preallocate: bool = False
    """Whether files are as large as their segment may get; no log here depends on it."""


DEFAULT_RULES: Final = LogRules()
"""A log that nobody configured."""


# A topic's storage settings (``LogConfig``): its own configuration, else the broker's, else the version's default.


_MS: Final = 1_000
_MILLION_DIGITS: Final = 6

Config = Mapping[str, ConfigValue]


def duration_us(millis: int) -> int:
    """Milliseconds in model units; ``Long.MAX_VALUE`` stays "never"."""
    return NEVER if millis > NEVER // _MS else millis * _MS


def millionths(ratio: str) -> int:
    """A ratio as the check of configurations leaves it, such as ``0.5``, in millionths."""
    whole, _point, fraction = ratio.partition(".")
    return int(whole) * 10**_MILLION_DIGITS + int(fraction.ljust(_MILLION_DIGITS, "0"))


def log_rules(profile: Profile, broker: Config, topic: Config) -> LogRules:
    """Storage settings of a topic; among the broker's, the finer unit goes first.

    Raises:
        ModelError: a cleanup policy that the version lacks.
    """
    found = topic_values(profile, broker, topic)

    def number(name: str) -> int:
        return int(found[name] or 0)

    def us(name: str) -> int:
        return duration_us(number(name))

    policies = _policies(profile, str(found["cleanup.policy"]))
    roll_us, max_lag_us = us("segment.ms"), us("max.compaction.lag.ms")
    return LogRules(
        segment_bytes=number("segment.bytes"),
        roll_us=min(roll_us, max_lag_us) if "compact" in policies else roll_us,
        index_bytes=number("segment.index.bytes"),
        index_interval=number("index.interval.bytes"),
        flush_messages=number("flush.messages"),
        retention_us=-1 if number("retention.ms") < 0 else us("retention.ms"),
        retention_bytes=number("retention.bytes"),
        delete_delay_us=us("file.delete.delay.ms"),
        by_timestamp=profile.time_index,
        log_append_time=found["message.timestamp.type"] == "LogAppendTime",
        oldest_us=us("message.timestamp.before.max.ms"),
        newest_us=us("message.timestamp.after.max.ms"),
        flush_us=us("flush.ms"),
        jitter_us=us("segment.jitter.ms"),
        max_message=number("max.message.bytes"),
        delete="delete" in policies,
        compact="compact" in policies,
        min_dirty_ppm=millionths(str(found["min.cleanable.dirty.ratio"])),
        tombstone_us=us("delete.retention.ms"),
        min_lag_us=us("min.compaction.lag.ms"),
        max_lag_us=max_lag_us,
        codec=_codec(profile, str(found["compression.type"])),
        preallocate=found["preallocate"] is True,
    )


def topic_values(profile: Profile, broker: Config, topic: Config) -> dict[str, ConfigValue | None]:
    """Every configuration of a topic: its own, else its broker's, else the release's default.

    Those that the release does not have have the values that hold in their place.
    """
    number = profile.number
    own, beneath = Configured("topic", number, topic), Configured("broker", number, broker)
    found: dict[str, ConfigValue | None] = {}
    for name in TOPIC_DEFAULTS:
        synonym = TOPIC_SYNONYMS.get(name)
        if synonym is None or (name in topic and own.exists(name)):
            found[name] = own.value(name)
            continue
        value = beneath.value(synonym)
        for coarser, millis in COARSER.get(synonym, ()):
            given = beneath.value(coarser) if value is None else None
            value = value if given is None else _times(int(given), millis)
        found[name] = value
    _bound_by_difference(found)
    return found


def _times(count: int, millis: int) -> int:
    """A number of hours or minutes in milliseconds; none, and what is beyond Kafka's numbers, stays what it is."""
    return count if count < 0 else min(count * millis, NEVER)


def _bound_by_difference(found: dict[str, ConfigValue | None]) -> None:
    """``message.timestamp.difference.max.ms`` holds for a side whose own configuration is without limit (KIP-937).

    ``LogConfig.getMessageTimestampBeforeMaxMs`` and ``getMessageTimestampAfterMaxMs`` of 3.6 to 3.9, and before 3.6
    there are no configurations of the sides.
    """
    difference = found["message.timestamp.difference.max.ms"]
    for side in ("before", "after"):
        name = f"message.timestamp.{side}.max.ms"
        if found[name] == NEVER:
            found[name] = difference


def _codec(profile: Profile, name: str) -> int:
    """``BrokerCompressionType.targetCompression`` as the number of a codec.

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
            f"cleanup.policy takes one policy before Kafka 0.10.1 (KIP-71), found {text!r}", code="not_in_version"
        )
    return policies


MS: Final = 1_000
"""Microseconds in the millisecond that Kafka's configurations count in."""
MAP_ENTRY: Final = 24
"""Bytes of a key in the cleaner's offset map, of which nine tenths are filled (``SkimpyOffsetMap``)."""


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """A broker's settings in model units, with the defaults of the version."""

    lag_time_us: int
    lag_messages: int
    fetch_wait_us: int
    fetch_bytes: int
    fetch_min_bytes: int
    fetch_response_bytes: int
    """The most that one answer to a follower has, 0 for no limit."""
    fetch_max_bytes: int
    """The most that an answer to any fetch has, whatever it asks for (KIP-541); 0 for no limit."""
    fetch_backoff_us: int
    socket_timeout_us: int
    hw_checkpoint_us: int
    heartbeat_us: int
    session_us: int
    shrink_period_us: int
    task_delay_us: int
    """Until the first run of retention and of the offset checkpoints after a start."""
    retention_check_us: int
    recovery_checkpoint_us: int
    start_checkpoint_us: int
    recovery_threads: int
    flush_check_us: int
    """How often logs are looked at whose ``flush.ms`` may be over; NEVER by default."""
    cleaner: bool
    """Whether compacted topics are cleaned at all: not by default in 0.8.2."""
    cleaner_backoff_us: int
    cleaner_keys: int
    """Keys that one pass of the cleaner can map."""
    fetchers: int
    io_threads: int
    """Threads that handle requests; there is no telling them apart while no disk is slow."""
    rack_aware: bool
    """Whether a leader sends consumers to the nearest replica (``RackAwareReplicaSelector``)."""
    session_slots: int
    leader_rate: int
    """Bytes a second to and from throttled replicas, LONG_MAX for no limit."""
    follower_rate: int
    producer_expiry_us: int
    """Silence after which an idempotent producer is forgotten."""
    connections: ConnectionSettings
    """Of its connections to other brokers and to controllers."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "BrokerConfig":
        """Settings for a profile; ``config`` overrides by Kafka's names."""
        own = Configured("broker", profile.number, config)
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
            cleaner=own.truth("log.cleaner.enable"),
            cleaner_backoff_us=us("log.cleaner.backoff.ms"),
            cleaner_keys=number("log.cleaner.dedupe.buffer.size") * 9 // 10 // MAP_ENTRY,
            fetchers=number("num.replica.fetchers"),
            io_threads=number("num.io.threads"),
            rack_aware=own.text("replica.selector.class").endswith("RackAwareReplicaSelector"),
            session_slots=number("max.incremental.fetch.session.cache.slots"),
            leader_rate=number("leader.replication.throttled.rate"),
            follower_rate=number("follower.replication.throttled.rate"),
            producer_expiry_us=us(producer_expiry(own)),
            connections=ConnectionSettings.between_brokers(own),
        )


def producer_expiry(broker: Configured) -> str:
    """The configuration that says when an idempotent producer is forgotten (KIP-854, 3.4)."""
    name = "producer.id.expiration.ms"
    return name if broker.exists(name) else "transactional.id.expiration.ms"


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """A topic's settings, the broker's defaults beneath them."""

    min_isr: int
    """As configured."""
    unclean: bool
    log: LogRules
    leader_throttled: str = ""
    """``*``, or ``partition:broker,...``, as configured."""
    follower_throttled: str = ""

    @staticmethod
    def of(profile: Profile, broker: Mapping[str, ConfigValue], topic: Mapping[str, ConfigValue]) -> "TopicConfig":
        """Settings of a topic: its own, else the broker's, else the version's.

        Raises:
            ModelError: a cleanup policy that the version lacks.
        """
        merged = Configured("broker", profile.number, {**broker, **topic})
        own = Configured("topic", profile.number, topic)
        return TopicConfig(
            min_isr=merged.number("min.insync.replicas"),
            unclean=merged.truth("unclean.leader.election.enable"),
            log=log_rules(profile, broker, topic),
            leader_throttled=own.text("leader.replication.throttled.replicas"),
            follower_throttled=own.text("follower.replication.throttled.replicas"),
        )

    def effective_min_isr(self, profile: Profile, replicas: int) -> int:
        """What acks=all needs: since 3.7 at most the number of replicas (``Partition.effectiveMinIsr``)."""
        return min(self.min_isr, replicas) if profile.effective_min_isr else self.min_isr


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """A consumer's settings in model units."""

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
    """Whether checksums are looked at."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "ConsumerConfig":
        """Settings for a client of the cluster's own version, Kafka's defaults beneath.

        Raises:
            ConfigConflictError: a configuration that the version does not have.
        """
        for name in config:
            check_release("consumer", name, profile.number)
        own = Configured("consumer", profile.number, config)
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
            connections=ConnectionSettings.of(own),
            rack=own.text("client.rack"),
            committed_only=own.text("isolation.level") == "read_committed",
            check_crcs=own.truth("check.crcs"),
        )
