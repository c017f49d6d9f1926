"""The same risks counted in a run: the brokers of a failure crash together, and the partitions are counted afterwards.

A run also says how long partitions were without a leader, which the placement alone does not.
"""

from dataclasses import dataclass, replace
from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.kernel import ProcessState
from cluster_model.protocol.config_defaults import EffectiveConfig
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.spec import ClusterSpec
from playbooks.cluster_risks.placement_risks import BrokerLoss, Placement, Risk

_SECOND_US: Final = 1_000_000
_CRASH_US: Final = _SECOND_US
_STEP_US: Final = _SECOND_US // 4
_ELECTIONS_US: Final = 10 * _SECOND_US
"""Time after the sessions of the brokers have expired in which all elections end."""


@dataclass(frozen=True, slots=True)
class SimulatedRisk:
    """A risk as counted in a run, and how long elections took."""

    risk: Risk
    leaderless_us: int
    """Virtual microseconds until every partition that is not offline had a leader, to a quarter second."""


def simulate(placement: Placement, failure: BrokerLoss, seed: int = 0) -> SimulatedRisk:
    """Crash the brokers of a failure in a cluster without clients, and count partitions when elections are done.

    Raises:
        ModelError: the cluster cannot be built.
    """
    placed: dict[str, list[tuple[int, ...]]] = {}
    for partition in placement.partitions:
        placed.setdefault(partition.topic, []).append(partition.replicas)
    topics = tuple([replace(topic, placement=tuple(placed[topic.name])) for topic in placement.spec.topics])
    spec = replace(placement.spec, topics=topics, producers=(), groups=(), manual=False)
    cluster = Cluster.build(spec, seed)
    cluster.run(_CRASH_US)
    for broker in sorted(failure.brokers):
        cluster.crash(broker)
    end_us = _CRASH_US + 2 * session_timeout_us(spec) + _ELECTIONS_US
    leaderless: dict[str, int] = {}
    while cluster.now_us < end_us:
        cluster.run(cluster.now_us + _STEP_US)
        for name, record in cluster.committed.records.items():
            if not _serves(cluster, record.leader):
                leaderless[name] = cluster.now_us - _CRASH_US
    risk = _counted(placement, cluster, failure)
    waited = [time for name, time in leaderless.items() if name not in risk.offline]
    return SimulatedRisk(risk, max(waited, default=0))


def _counted(placement: Placement, cluster: Cluster, failure: BrokerLoss) -> Risk:
    offline: list[str] = []
    below: list[str] = []
    for partition in placement.partitions:
        record = cluster.committed.records[partition.name]
        live = [broker for broker in record.isr if _serves(cluster, broker)]
        if not _serves(cluster, record.leader):
            offline.append(partition.name)
        elif len(live) < partition.min_isr <= len(partition.replicas):
            below.append(partition.name)
    return Risk(failure, tuple(offline), tuple(below), placement.has_quorum_without(failure.brokers))


def _serves(cluster: Cluster, broker: int) -> bool:
    """Return whether a broker, or the leader of a partition that may have none, is running."""
    return broker != NO_LEADER and cluster.state_of(broker) is ProcessState.RUNNING


def session_timeout_us(spec: ClusterSpec) -> int:
    """Return the time after which the controller takes a silent broker for dead, in microseconds."""
    name = "broker.session.timeout.ms" if spec.mode == "kraft" else "zookeeper.session.timeout.ms"
    return EffectiveConfig("broker", spec.profile.number, spec.config).number(name) * 1000
