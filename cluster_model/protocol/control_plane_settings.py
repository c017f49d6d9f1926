"""Settings of control planes in model units: KRaft controllers, their quorum, ZooKeeper mode, and ``zoo.cfg``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from cluster_model.protocol.config_defaults import Configured
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import MS
from cluster_model.protocol.versions import Profile

# Settings of KRaft controllers, and of how brokers deal with them, in model units.


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
        own = Configured("broker", profile.number, config)
        sweep = "unclean.leader.election.interval.ms"
        return ControllerSettings(
            session_us=own.us("broker.session.timeout.ms"),
            rebalance_us=_rebalance_us(own),
            unclean_us=own.us(sweep) if own.exists(sweep) else 0,
            registration_us=own.us("initial.broker.registration.timeout.ms"),
            controlled_shutdown=own.truth("controlled.shutdown.enable"),
        )


def _rebalance_us(own: Configured) -> int:
    """How often preferred leaders are looked at, 0 for never."""
    interval_us = own.number("leader.imbalance.check.interval.seconds") * 1_000 * MS
    return interval_us if own.truth("auto.leader.rebalance.enable") else 0


RECONNECT_US: Final = 50 * MS
"""First pause after a broken connection; it doubles (``KafkaRaftManager``)."""
RECONNECT_MAX_US: Final = 500 * MS
FIRST_REBALANCE_US: Final = 5_000 * MS
"""From a failover to the first look at how leaderships are spread (``KafkaController.onControllerFailover``)."""


@dataclass(frozen=True, slots=True)
class QuorumConfig:
    """``controller.quorum.*`` of every node that takes part, with the defaults of ``QuorumConfig`` in Kafka."""

    election_timeout_us: int
    fetch_timeout_us: int
    backoff_max_us: int
    request_timeout_us: int
    retry_backoff_us: int
    linger_us: int
    idle_interval_us: int
    """``metadata.max.idle.interval.ms``: a leader with nothing to write wakes its followers this often; 0 never."""
    check_quorum: bool
    """Whether a leader resigns that has not heard from a majority (3.7)."""
    pre_vote: bool
    """Whether a voter asks before it raises the epoch (KIP-996, 4.0)."""
    hw_push: bool
    """Whether a leader answers fetches that wait as its high watermark rises (KIP-1166, 4.1)."""

    @property
    def check_quorum_us(self) -> int:
        """Silence of a majority after which a leader resigns (``LeaderState.CHECK_QUORUM_TIMEOUT_FACTOR``)."""
        return self.fetch_timeout_us * 3 // 2

    @property
    def patience_us(self) -> int:
        """The shortest time after which silence has consequences."""
        return min(self.fetch_timeout_us, self.request_timeout_us)

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "QuorumConfig":
        """Settings for a profile; ``config`` overrides by Kafka's names."""
        us = Configured("broker", profile.number, config).us
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
        )


# Settings of a ZooKeeper-mode controller, and of brokers that deal with it.


class ControlSettings(NamedTuple):
    """In model units, by Kafka's names and defaults."""

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
    """``controller.socket.timeout.ms``: of requests to and from the controller."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "ControlSettings":
        """Settings for a profile in ZooKeeper mode; ``config`` overrides by Kafka's names."""
        own = Configured("broker", profile.number, config)
        return ControlSettings(
            rebalance_us=_rebalance_us(own),
            imbalance_percentage=own.number("leader.imbalance.per.broker.percentage"),
            controlled_shutdown=own.truth("controlled.shutdown.enable"),
            shutdown_retries=own.number("controlled.shutdown.max.retries"),
            shutdown_backoff_us=own.us("controlled.shutdown.retry.backoff.ms"),
            socket_timeout_us=own.us("controller.socket.timeout.ms"),
        )


# Settings of an ensemble, by the names of ``zoo.cfg``.


class ZkSettings(NamedTuple):
    """``tickTime`` 2000, ``initLimit`` 10, ``syncLimit`` 5 are those of the ``zoo_sample.cfg`` that ships."""

    tick_us: int = 2_000 * MS
    """Leader's pings to its followers, and the grain of session expiry."""
    init_limit: int = 10
    """Ticks that followers have to connect to a new leader and to catch up."""
    sync_limit: int = 5
    """Ticks of silence between leader and follower after which they give each other up."""
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
