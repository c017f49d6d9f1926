"""Settings of KRaft controllers, and of how brokers deal with them, in model units."""

from collections.abc import Mapping
from dataclasses import dataclass

from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import MS
from cluster_model.protocol.versions import Profile


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """What an active controller goes by, and a broker that registers, with the defaults of the version."""

    session_us: int
    """``broker.session.timeout.ms``."""
    rebalance_us: int
    """``leader.imbalance.check.interval.seconds``; 0 with ``auto.leader.rebalance.enable`` off."""
    unclean_us: int
    """``unclean.leader.election.interval.ms``; 0 before 3.9, when only events brought such elections about."""

    registration_us: int
    """``initial.broker.registration.timeout.ms``, which brokers go by."""
    controlled_shutdown: bool
    """``controlled.shutdown.enable``, of brokers too."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "ControllerSettings":
        """Settings for a profile; ``config`` overrides by Kafka's names."""
        rebalances = bool(config.get("auto.leader.rebalance.enable", True))
        interval = int(config.get("leader.imbalance.check.interval.seconds", 300)) * 1_000 * MS
        sweep = int(config.get("unclean.leader.election.interval.ms", 300_000)) * MS
        return ControllerSettings(
            session_us=int(config.get("broker.session.timeout.ms", 9_000)) * MS,
            rebalance_us=interval if rebalances else 0,
            unclean_us=sweep if profile.number >= (3, 9, 0) else 0,
            registration_us=int(config.get("initial.broker.registration.timeout.ms", 60_000)) * MS,
            controlled_shutdown=bool(config.get("controlled.shutdown.enable", True)),
        )
