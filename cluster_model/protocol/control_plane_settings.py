"""Settings of control planes in model units: KRaft controllers, their quorum, ZooKeeper mode, and ``zoo.cfg``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

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


RECONNECT_US: Final = 50 * MS
"""First pause after a broken connection; it doubles (``KafkaRaftManager``)."""
RECONNECT_MAX_US: Final = 500 * MS


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

        def number(name: str, default: int) -> int:
            return int(config.get(name, default)) * MS

        return QuorumConfig(
            election_timeout_us=number("controller.quorum.election.timeout.ms", 1_000),
            fetch_timeout_us=number("controller.quorum.fetch.timeout.ms", 2_000),
            backoff_max_us=number("controller.quorum.election.backoff.max.ms", 1_000),
            request_timeout_us=number("controller.quorum.request.timeout.ms", 2_000),
            retry_backoff_us=number("controller.quorum.retry.backoff.ms", 20),
            linger_us=number("controller.quorum.append.linger.ms", 25),
            idle_interval_us=number("metadata.max.idle.interval.ms", 500),
            check_quorum=profile.check_quorum,
            pre_vote=profile.pre_vote,
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
    def of(config: Mapping[str, Any]) -> "ControlSettings":
        """As configured, defaults beneath."""
        rebalances = bool(config.get("auto.leader.rebalance.enable", True))
        interval = int(config.get("leader.imbalance.check.interval.seconds", 300)) * 1_000 * MS
        return ControlSettings(
            rebalance_us=interval if rebalances else 0,
            imbalance_percentage=int(config.get("leader.imbalance.per.broker.percentage", 10)),
            controlled_shutdown=bool(config.get("controlled.shutdown.enable", True)),
            shutdown_retries=int(config.get("controlled.shutdown.max.retries", 3)),
            shutdown_backoff_us=int(config.get("controlled.shutdown.retry.backoff.ms", 5_000)) * MS,
            socket_timeout_us=int(config.get("controller.socket.timeout.ms", 30_000)) * MS,
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
