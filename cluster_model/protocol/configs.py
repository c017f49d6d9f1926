"""A version's defaults beneath Kafka's own configuration keys: settings in model units.

The keys themselves, with their types and ranges, are in :mod:`cluster_model.protocol.config_defs`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.config_defs import BROKER, CONSUMER, PRODUCER, SCOPES, TOPIC, Scope, check
from cluster_model.protocol.config_key import INT_MAX, LONG_MAX, ConfigKey, ConfigValue
from cluster_model.protocol.log_config import duration_us, log_rules
from cluster_model.protocol.rules import NEVER, LogRules
from cluster_model.protocol.versions import Profile

__all__ = [
    "BROKER", "CONSUMER", "INT_MAX", "LONG_MAX", "MS", "PRODUCER", "SCOPES", "TOPIC", "BrokerConfig", "ConfigKey",
    "ConfigValue", "ConsumerConfig", "Scope", "TopicConfig", "check",
]  # fmt: skip

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
            rack=str(config.get("client.rack", "")),
            committed_only=profile.transactions and config.get("isolation.level") == "read_committed",
            check_crcs=bool(config.get("check.crcs", True)),
        )
