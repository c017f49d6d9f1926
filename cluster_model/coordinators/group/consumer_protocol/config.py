"""A coordinator's settings for the consumer protocol (``GroupCoordinatorConfig``): its times are the broker's."""

from collections.abc import Mapping
from dataclasses import dataclass

from cluster_model.protocol.config_key import INT_MAX, ConfigValue
from cluster_model.protocol.configs import MS
from cluster_model.protocol.versions import Profile

CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class ModernConfig:
    """Settings, with the defaults of the version."""

    enabled: bool
    """``group.coordinator.rebalance.protocols`` has it: by default since 4.0, before that where it is asked for."""
    session_us: int
    heartbeat_us: int
    max_size: int
    assignors: tuple[str, ...]
    """The first one is taken where members name none."""
    write_timeout_us: int
    """How long an answer waits for the in-sync replicas to have what it tells."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "ModernConfig":
        """Settings for a profile; ``config`` overrides by Kafka's names."""
        return ModernConfig(
            enabled=enabled(profile, config),
            session_us=int(config.get("group.consumer.session.timeout.ms", 45_000)) * MS,
            heartbeat_us=int(config.get("group.consumer.heartbeat.interval.ms", 5_000)) * MS,
            max_size=int(config.get("group.consumer.max.size", INT_MAX)),
            assignors=_listed(config.get("group.consumer.assignors", "uniform,range")),
            write_timeout_us=int(config.get("offsets.commit.timeout.ms", 5_000)) * MS,
        )


def enabled(profile: Profile, config: Mapping[str, ConfigValue]) -> bool:
    """Whether a cluster's coordinators take members by this protocol (KRaft only, since 3.7)."""
    usual = "classic,consumer" if profile.number >= (4, 0, 0) else "classic"
    asked = _listed(config.get("group.coordinator.rebalance.protocols", usual))
    return profile.kraft and profile.consumer_protocol and CONSUMER in asked


def _listed(value: ConfigValue) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in str(value).split(",")))
