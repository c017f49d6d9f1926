"""A topic's storage settings (``LogConfig``): its own configuration, else the broker's, else the version's default."""

from collections.abc import Mapping
from typing import Final

from cluster_model.protocol.config_key import ConfigValue
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.rules import NEVER, LogRules
from cluster_model.protocol.versions import Profile

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
    )


def _policies(profile: Profile, broker: Config, topic: Config) -> list[str]:
    text = str(topic.get("cleanup.policy", broker.get("log.cleanup.policy", "delete")))
    policies = text.split(",")
    if len(policies) > 1 and profile.number < (0, 10, 1):
        raise ModelError(f"cleanup.policy takes one policy before Kafka 0.10.1 (KIP-71), found {text!r}")
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
