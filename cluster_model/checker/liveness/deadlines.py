"""How long each property may take: whole microseconds, from the configuration in force and the version.

Where several waits can follow one another they are added up, and where a figure is in doubt the greater one is taken:
an obligation that is met late is worth less than a false alarm.
"""

from dataclasses import dataclass
from typing import Final

from cluster_model.kernel.link import GIVEN_UP_US
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.control_plane_settings import (
    FIRST_REBALANCE_US,
    RECONNECT_MAX_US,
    ControllerSettings,
    ControlSettings,
    QuorumConfig,
    ZkSettings,
)
from cluster_model.spec.cluster_spec import ClusterSpec

SECOND: Final = 1_000_000
ELECTIONS: Final = 5
"""Rounds of voting allowed for: split votes, and voters whose back-off is still running."""
ROUNDS: Final = 20
"""Messages there and back that a controller's decision may take, its commit and its propagation included."""
NEVER_US: Final = 1 << 50
"""Longer than any session."""


@dataclass(frozen=True, slots=True)
class LivenessDeadlines:
    """Microseconds, of one cluster."""

    controller_us: int
    """Until there is an active controller.

    KRaft: a follower's fetch timeout, a request that has to time out, and a few elections of two timeouts and a
    back-off each. ZooKeeper: the ensemble elects and synchronizes, gives every session its whole time again, that of
    the controller that is gone ends, and the next one loads.
    """
    leader_us: int
    """Until a partition whose leader is gone has another: the session, and a second for the controller's work.

    In ZooKeeper mode sessions end by ticks, and elections stand in line with all that the controller does.
    """
    sweep_us: int
    """What comes on top where only an unclean election helps: KRaft controllers look every so often, from 3.9 on; 0:
    they do not."""
    told_us: int
    """Until brokers act on what is committed: metadata fetches of half a second (KRaft), requests one after the other
    (ZooKeeper)."""
    rejoin_us: int
    """Until a follower that has what it needs is proposed for the ISR: metadata is there, and a few fetches.

    While the change waits for its answer the obligation is another one, :attr:`proposal_us`.
    """
    lag_us: int
    """``replica.lag.time.max.ms``: so long a follower out of the ISR that is caught up may hold the high watermark
    back, and up to 0.10.1, where it holds nothing back, load may keep it from reaching that."""
    commit_us: int
    """Until the high watermark is at the log's end: two fetches, and one more."""
    follower_us: int
    """Until a follower has its leader's high watermark: ``replica.fetch.wait.max.ms`` and a fetch."""
    parked_us: int
    """What a request may wait beyond its own time."""
    proposal_us: int
    """Until a proposed ISR is answered, or newer metadata has made it void."""
    preferred_us: int
    """Until the preferred replica leads again: the interval of the task, once all through; 0: the task is off."""
    converge_us: int
    """Until a follower's log is its leader's: until it may rejoin, and a few fetches."""
    silence_us: int
    """Until nobody waits any more for an answer that will never come: the longest of all timeouts. Only after what told
    nobody that connections were dead."""

    @staticmethod
    def of(spec: ClusterSpec) -> "LivenessDeadlines":
        """For a cluster as it was built."""
        profile, config = spec.profile, BrokerConfig.of(spec.profile, spec.config)
        trip = 2 * (spec.network.latency_us + spec.network.jitter_us)
        work = SECOND + ROUNDS * trip
        fetch = config.fetch_wait_us + config.fetch_backoff_us + 2 * trip
        if config.socket_timeout_us <= config.fetch_wait_us + 2 * trip:
            # An idle fetch is given up before it is answered, as may be what goes to the controller: Kafka refuses such
            # a configuration.
            fetch = NEVER_US
        if profile.kraft:
            controller_us, leader_us, told_us, rebalance_us = _kraft(spec, config, trip, work)
        else:
            controller_us, leader_us, told_us, rebalance_us = _zookeeper(spec, config, work)
        sweep_us = ControllerSettings.of(profile, spec.config).unclean_us if profile.kraft else 0
        proposal_us = told_us + 4 * SECOND + work if fetch < NEVER_US else NEVER_US
        rejoin_us = told_us + 3 * fetch
        return LivenessDeadlines(
            controller_us=controller_us,
            leader_us=leader_us,
            sweep_us=sweep_us,
            told_us=told_us,
            rejoin_us=rejoin_us,
            lag_us=config.lag_time_us,
            commit_us=told_us + 3 * fetch,
            follower_us=told_us + 2 * fetch,
            parked_us=SECOND + trip,
            proposal_us=proposal_us,
            preferred_us=rebalance_us + FIRST_REBALANCE_US + leader_us if rebalance_us else 0,
            converge_us=rejoin_us + 4 * fetch,
            silence_us=max(config.socket_timeout_us, GIVEN_UP_US, config.session_us) + fetch + work,
        )


def _kraft(spec: ClusterSpec, config: BrokerConfig, trip: int, work: int) -> tuple[int, int, int, int]:
    quorum = QuorumConfig.of(spec.profile, spec.config)
    election = 2 * quorum.election_timeout_us + quorum.backoff_max_us + RECONNECT_MAX_US + 4 * trip
    controller_us = quorum.fetch_timeout_us + quorum.request_timeout_us + ELECTIONS * election + work
    told_us = quorum.request_timeout_us + work
    return (
        controller_us,
        config.session_us + work,
        told_us,
        ControllerSettings.of(spec.profile, spec.config).rebalance_us,
    )


def _zookeeper(spec: ClusterSpec, config: BrokerConfig, work: int) -> tuple[int, int, int, int]:
    ensemble = ZkSettings()
    session = min(max(config.session_us, ensemble.min_session_us), ensemble.max_session_us) + 2 * ensemble.tick_us
    formed = (ensemble.init_limit + ensemble.sync_limit) * ensemble.tick_us
    work += 4 * SECOND
    return formed + 2 * session + work, session + work, work, ControlSettings.of(spec.profile, spec.config).rebalance_us
