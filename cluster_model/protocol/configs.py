"""Settings in model units: a version's defaults beneath Kafka's own configuration keys (``LogConfig`` among them).

The keys themselves, with their types and ranges, are in :mod:`cluster_model.protocol.config_defs`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.config_defs import (
    LONG_MAX,
    PRODUCERS_CHOICE,
    UNCOMPRESSED,
    ConfigValue,
)
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
_HOUR_MS: Final = 3_600_000
_WEEK_HOURS: Final = 168
_DAY_MS: Final = 86_400_000
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

    def number(name: str, broker_name: str, default: int) -> int:
        return int(topic.get(name, broker.get(broker_name, default)))

    hours = int(broker.get("log.retention.hours", _WEEK_HOURS))
    minutes = int(broker.get("log.retention.minutes", hours * 60))
    retention_ms = number("retention.ms", "log.retention.ms", minutes * 60_000)
    scheduler_ms = int(broker.get("log.flush.scheduler.interval.ms", NEVER))
    stamped_by = topic.get("message.timestamp.type", broker.get("log.message.timestamp.type", "CreateTime"))
    policies = _policies(profile, broker, topic)
    max_lag_us = _max_lag_us(profile, broker, topic)
    ratio = topic.get("min.cleanable.dirty.ratio", broker.get("log.cleaner.min.cleanable.ratio", "0.5"))
    min_lag_ms = number("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms", 0)
    default_max_message = 1_048_588 if profile.number >= (2, 5, 0) else 1_000_012
    return LogRules(
        segment_bytes=number("segment.bytes", "log.segment.bytes", 1 << 30),
        roll_us=_roll_us(broker, topic, max_lag_us if "compact" in policies else NEVER),
        index_bytes=number("segment.index.bytes", "log.index.size.max.bytes", 10_485_760),
        index_interval=number("index.interval.bytes", "log.index.interval.bytes", 4_096),
        flush_messages=number("flush.messages", "log.flush.interval.messages", NEVER),
        retention_us=-1 if retention_ms < 0 else duration_us(retention_ms),
        retention_bytes=number("retention.bytes", "log.retention.bytes", -1),
        delete_delay_us=duration_us(number("file.delete.delay.ms", "log.segment.delete.delay.ms", 60_000)),
        by_timestamp=profile.number >= (0, 10, 1),
        log_append_time=stamped_by == "LogAppendTime" and profile.number >= (0, 10, 0),
        oldest_us=_bound_us(profile, broker, topic, "before", NEVER),
        newest_us=_bound_us(profile, broker, topic, "after", _HOUR_MS if profile.number >= (4, 0, 0) else NEVER),
        flush_us=duration_us(number("flush.ms", "log.flush.interval.ms", scheduler_ms)),
        jitter_us=_jitter_us(broker, topic),
        max_message=number("max.message.bytes", "message.max.bytes", default_max_message),
        delete="delete" in policies,
        compact="compact" in policies,
        min_dirty_ppm=millionths(str(ratio)),
        tombstone_us=duration_us(number("delete.retention.ms", "log.cleaner.delete.retention.ms", _DAY_MS)),
        min_lag_us=duration_us(min_lag_ms) if profile.number >= (0, 10, 1) else 0,
        max_lag_us=max_lag_us,
        codec=_codec(profile, broker, topic),
        preallocate=bool(topic.get("preallocate", broker.get("log.preallocate", False))),
    )


def _codec(profile: Profile, broker: Config, topic: Config) -> int:
    """``BrokerCompressionType.targetCompression`` as the number of a codec.

    Raises:
        ModelError: zstd before 2.1 (KIP-110).
    """
    name = str(topic.get("compression.type", broker.get("compression.type", PRODUCERS_CHOICE)))
    if name == PRODUCERS_CHOICE:
        return PRODUCERS_CODEC
    return codec_of(profile, "none" if name == UNCOMPRESSED else name).code


def _policies(profile: Profile, broker: Config, topic: Config) -> list[str]:
    text = str(topic.get("cleanup.policy", broker.get("log.cleanup.policy", "delete")))
    policies = text.split(",")
    if len(policies) > 1 and profile.number < (0, 10, 1):
        raise ModelError(
            f"cleanup.policy takes one policy before Kafka 0.10.1 (KIP-71), found {text!r}", code="not_in_version"
        )
    return policies


def _max_lag_us(profile: Profile, broker: Config, topic: Config) -> int:
    """KIP-354, 2.3."""
    if profile.number < (2, 3, 0):
        return NEVER
    lag_ms = topic.get("max.compaction.lag.ms", broker.get("log.cleaner.max.compaction.lag.ms", NEVER))
    return duration_us(int(lag_ms))


def _bound_us(profile: Profile, broker: Config, topic: Config, side: str, default_ms: int) -> int:
    """KIP-32, 0.10, one setting for both sides; one for each since 3.6 (KIP-937), by those alone since 4.0.

    An hour ahead is the most by default since 4.0 (KIP-1030).
    """
    limit_ms = default_ms
    for setting, since, until in (("difference", (0, 10, 0), (4, 0, 0)), (side, (3, 6, 0), (99, 0, 0))):
        if since <= profile.number < until:
            name = f"message.timestamp.{setting}.max.ms"
            limit_ms = int(topic.get(name, broker.get(f"log.{name}", limit_ms)))
    return duration_us(limit_ms)


def _roll_us(broker: Config, topic: Config, max_lag_us: int) -> int:
    """A compacted log rolls within the compaction lag too, or its active segment would outlive it."""
    broker_ms = int(broker.get("log.roll.ms", int(broker.get("log.roll.hours", _WEEK_HOURS)) * _HOUR_MS))
    return min(duration_us(int(topic.get("segment.ms", broker_ms))), max_lag_us)


def _jitter_us(broker: Config, topic: Config) -> int:
    broker_ms = int(broker.get("log.roll.jitter.ms", int(broker.get("log.roll.jitter.hours", 0)) * _HOUR_MS))
    return duration_us(int(topic.get("segment.jitter.ms", broker_ms)))


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

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "BrokerConfig":
        """Settings for a profile; ``config`` overrides by Kafka's names."""
        since_25 = profile.number >= (2, 5, 0)

        def number(name: str, default: int) -> int:
            return int(config.get(name, default))

        lag_us = number("replica.lag.time.max.ms", 30_000 if since_25 else 10_000) * MS
        if profile.kraft:
            session_us = number("broker.session.timeout.ms", 9_000) * MS
            heartbeat_us = number("broker.heartbeat.interval.ms", 2_000) * MS
        else:
            session_us = number("zookeeper.session.timeout.ms", 18_000 if since_25 else 6_000) * MS
            heartbeat_us = max(1, session_us // 3)
        return BrokerConfig(
            lag_time_us=lag_us,
            lag_messages=number("replica.lag.max.messages", 4_000),
            fetch_wait_us=number("replica.fetch.wait.max.ms", 500) * MS,
            fetch_bytes=number("replica.fetch.max.bytes", 1_048_576),
            fetch_min_bytes=number("replica.fetch.min.bytes", 1),
            fetch_response_bytes=(
                number("replica.fetch.response.max.bytes", 10_485_760) if profile.number >= (0, 10, 1) else 0
            ),
            fetch_max_bytes=number("fetch.max.bytes", 57_671_680) if since_25 else 0,
            fetch_backoff_us=number("replica.fetch.backoff.ms", 1_000) * MS,
            socket_timeout_us=number("replica.socket.timeout.ms", 30_000) * MS,
            hw_checkpoint_us=number("replica.high.watermark.checkpoint.interval.ms", 5_000) * MS,
            heartbeat_us=heartbeat_us,
            session_us=session_us,
            shrink_period_us=lag_us // 2 if profile.shrink_half else lag_us,
            task_delay_us=number("log.initial.task.delay.ms", 30_000) * MS,
            retention_check_us=number("log.retention.check.interval.ms", 300_000) * MS,
            recovery_checkpoint_us=number("log.flush.offset.checkpoint.interval.ms", 60_000) * MS,
            start_checkpoint_us=number("log.flush.start.offset.checkpoint.interval.ms", 60_000) * MS,
            recovery_threads=number("num.recovery.threads.per.data.dir", 2 if profile.number >= (4, 0, 0) else 1),
            flush_check_us=duration_us(number("log.flush.scheduler.interval.ms", NEVER)),
            cleaner=bool(config.get("log.cleaner.enable", profile.cleaner_default)),
            cleaner_backoff_us=duration_us(number("log.cleaner.backoff.ms", 15_000)),
            cleaner_keys=number("log.cleaner.dedupe.buffer.size", 134_217_728) * 9 // 10 // MAP_ENTRY,
            fetchers=number("num.replica.fetchers", 1),
            io_threads=number("num.io.threads", 8),
            rack_aware=str(config.get("replica.selector.class", "")).endswith("RackAwareReplicaSelector"),
            session_slots=number("max.incremental.fetch.session.cache.slots", 1_000),
            leader_rate=number("leader.replication.throttled.rate", LONG_MAX),
            follower_rate=number("follower.replication.throttled.rate", LONG_MAX),
            producer_expiry_us=number("producer.id.expiration.ms", 86_400_000) * MS,
        )


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
        merged = {**broker, **topic}
        return TopicConfig(
            min_isr=int(merged.get("min.insync.replicas", 1)),
            unclean=bool(merged.get("unclean.leader.election.enable", not profile.unclean_default_false)),
            log=log_rules(profile, broker, topic),
            leader_throttled=str(topic.get("leader.replication.throttled.replicas", "")),
            follower_throttled=str(topic.get("follower.replication.throttled.replicas", "")),
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
        """Settings for a client of the cluster's own version, Kafka's defaults beneath."""
        return ConsumerConfig(
            fetch_wait_us=int(config.get("fetch.max.wait.ms", 500)) * MS,
            fetch_bytes=int(config.get("max.partition.fetch.bytes", 1_048_576)),
            fetch_min_bytes=int(config.get("fetch.min.bytes", 1)),
            fetch_max_bytes=int(config.get("fetch.max.bytes", 52_428_800)) if profile.number >= (0, 10, 1) else 0,
            max_poll_records=int(config.get("max.poll.records", 500)),
            reset=str(config.get("auto.offset.reset", "latest")),
            request_timeout_us=int(config.get("request.timeout.ms", 30_000)) * MS,
            backoff_us=int(config.get("retry.backoff.ms", 100)) * MS,
            metadata_age_us=int(config.get("metadata.max.age.ms", 300_000)) * MS,
            connections=ConnectionSettings.of(profile.number, config),
            rack=str(config.get("client.rack", "")),
            committed_only=profile.transactions and config.get("isolation.level") == "read_committed",
            check_crcs=bool(config.get("check.crcs", True)),
        )
