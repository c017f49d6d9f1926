"""Mutation tests of the liveness properties: with one rule broken, only the expected property becomes overdue.

Each mutation changes one rule for the length of a test, in a scenario that the unmodified model passes first.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from cluster_model.broker.partition.partition import FollowerState, PartitionLeaderState, Replica
from cluster_model.broker.request_handler import RequestHandler
from cluster_model.checker.liveness.liveness_checker import NAMES, PROPERTIES
from cluster_model.cluster import Cluster
from cluster_model.controller.kraft.replication_control_manager import ReplicationControlManager
from cluster_model.controller.raft import raft
from cluster_model.controller.zookeeper import kafka_controller, state_machines
from cluster_model.log.leader_epoch_cache import EpochCache
from cluster_model.protocol.events import LivenessViolated
from cluster_model.protocol.messages import PartitionState
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import Action
from faults.injector import FaultInjector

pytestmark = pytest.mark.slow

SECOND = 1_000_000
P = "orders-0"
Patch = pytest.MonkeyPatch


def build(
    kafka: str = "3.9",
    mode: str = "kraft",
    acks: str = "1",
    placed: tuple[int, ...] = (1, 2, 3),
    readers: int = 0,
    **config: Any,
) -> Cluster:
    """One partition on three brokers, led by the first of them; elections are clean."""
    named = {key.replace("_", "."): value for key, value in config.items()}
    topic = TopicSpec("orders", 1, 3, (placed,), {"unclean.leader.election.enable": False})
    producer = ProducerSpec("checkout", "orders", 200_000, config={"acks": acks})
    groups = (GroupSpec("billing", ("orders",), readers),) if readers else ()
    brokers = tuple(map(BrokerSpec, (1, 2, 3)))
    spec = ClusterSpec(kafka, mode, brokers, (topic,), (producer,), groups, config=named)
    return Cluster.build(spec, 7)


def later(cluster: Cluster, seconds: int) -> Cluster:
    cluster.run(cluster.now_us + seconds * SECOND)
    return cluster


def quiet(cluster: Cluster, seconds: int = 150) -> Cluster:
    """Stop all producers and let the cluster settle."""
    cluster.stop_producers()
    later(cluster, seconds)
    cluster.close()
    return cluster


def overdue(cluster: Cluster) -> Counter[tuple[str, int]]:
    """Number of overdue reports by property and broker."""
    found = [event for event in cluster.drain() if isinstance(event, LivenessViolated)]
    return Counter((event.property, event.broker) for event in found)


# -- scenarios that the unmodified model passes ------------------------------------------------------------------------


def controller_dies(kafka: str, mode: str) -> Cluster:
    """For good; nobody else does."""
    cluster = later(build(kafka, mode), 5)
    cluster.crash(cluster.plane.active())
    return quiet(later(cluster, 30), 30)


def leader_dies(kafka: str, mode: str) -> Cluster:
    """For good; in ZooKeeper mode the controller is another broker."""
    cluster = later(build(kafka, mode, placed=(2, 3, 1)), 5)
    cluster.crash(2)
    return quiet(later(cluster, 60))


def follower_comes_back(kafka: str, mode: str) -> Cluster:
    cluster = later(build(kafka, mode), 5)
    cluster.crash(3)
    later(cluster, 40)
    cluster.restart(3)
    return quiet(later(cluster, 60))


def nothing_happens(kafka: str, mode: str) -> Cluster:
    return quiet(later(build(kafka, mode), 5))


def readers_wait(kafka: str, mode: str) -> Cluster:
    return quiet(later(build(kafka, mode, readers=1), 5))


def follower_is_fenced(kafka: str, _mode: str) -> Cluster:
    """Up to 3.5 a smaller ISR raises the leader epoch; a follower without the new epoch is fenced."""
    cluster = later(build(kafka, "kraft"), 5)
    board = FaultInjector(cluster)
    board.inject(Action("inject", "stale_metadata", "broker(3)"))
    cluster.crash(2)
    later(cluster, 20)
    following = cluster.cluster_state.replicas[P][3].following
    assert following is not None
    assert following.failed
    board.heal("all")
    return quiet(later(cluster, 60))


def leadership_moves(kafka: str, mode: str) -> Cluster:
    """The preferred leader crashes and restarts, and is elected again by the rebalance task."""
    cluster = later(build(kafka, mode, leader_imbalance_check_interval_seconds=20), 5)
    cluster.crash(1)
    later(cluster, 60)
    cluster.restart(1)
    return quiet(later(cluster, 60))


def zombie_writes(kafka: str, mode: str) -> Cluster:
    """A leader resumes from a pause and writes for producers that have not learned of its successor."""
    cluster = later(build(kafka, mode), 5)
    cluster.pause(1)
    later(cluster, 30)
    cluster.resume(1)
    return quiet(later(cluster, 60))


# -- mutations ---------------------------------------------------------------------------------------------------------


def no_votes(patch: Patch) -> None:
    patch.setattr(raft, "can_grant_vote", lambda _node, _request: False)


def nobody_after_a_leader(patch: Patch) -> None:
    patch.setattr(ReplicationControlManager, "handle_broker_fenced", lambda _self, _broker, _by: [])


def nobody_after_a_leader_zk(patch: Patch) -> None:
    patch.setattr(state_machines, "offline_election", lambda *_args, **_named: None)


def decisions_to_lead_are_ignored(patch: Patch) -> None:
    real = Replica.apply

    def apply(self: Replica, state: PartitionState, now: int) -> bool:
        return not (state.leader == self.broker and state.leader_epoch > 0) and real(self, state, now)

    patch.setattr(Replica, "apply", apply)


def isr_never_grows(patch: Patch) -> None:
    patch.setattr(PartitionLeaderState, "_maybe_expand", lambda _self, _follower, _remote: None)


def hw_stands(patch: Patch) -> None:
    patch.setattr(PartitionLeaderState, "maybe_advance_hw", lambda _self, _now: False)


def followers_keep_their_hw(patch: Patch) -> None:
    real = FollowerState.apply_fetch

    def answer(self: FollowerState, *words: Any) -> Any:
        before = self.replica.hw
        found = real(self, *words)
        self.replica.hw = min(before, self.replica.log.leo)
        return found

    patch.setattr(FollowerState, "apply_fetch", answer)


def nothing_expires(patch: Patch) -> None:
    patch.setattr(RequestHandler, "expire", lambda _self: None)


def failed_for_good(patch: Patch) -> None:
    real = FollowerState.start

    def start(self: FollowerState, now: int, *, changed_leader: bool) -> None:
        failed = self.failed
        real(self, now, changed_leader=changed_leader)
        self.failed = failed

    patch.setattr(FollowerState, "start", start)


def answers_are_ignored(patch: Patch) -> None:
    patch.setattr(PartitionLeaderState, "confirmed", lambda _self, _now, _response: False)


def proposals_are_forgotten(patch: Patch) -> None:
    patch.setattr(PartitionLeaderState, "take_proposal", lambda _self: None)


def no_rebalancing(patch: Patch) -> None:
    patch.setattr(ReplicationControlManager, "rebalance", lambda _self: ([], False))


def no_rebalancing_zk(patch: Patch) -> None:
    patch.setattr(kafka_controller, "imbalanced_zk", lambda *_args, **_named: [])


def followers_keep_everything(patch: Patch) -> None:
    patch.setattr(EpochCache, "end_offset_for", lambda _self, epoch, leo: (epoch, leo))


Scenario = Callable[[str, str], Cluster]

BROKEN: list[tuple[str, str, Scenario, Callable[[Patch], None], str]] = [
    ("3.9", "kraft", controller_dies, no_votes, "active-controller"),
    ("3.9", "kraft", leader_dies, nobody_after_a_leader, "leader-elected"),
    ("3.9", "zookeeper", leader_dies, nobody_after_a_leader_zk, "leader-elected"),
    ("3.9", "kraft", leader_dies, decisions_to_lead_are_ignored, "leader-elected"),
    ("3.9", "kraft", follower_comes_back, isr_never_grows, "isr-rejoined"),
    ("2.5", "zookeeper", follower_comes_back, isr_never_grows, "isr-rejoined"),
    ("4.1", "kraft", nothing_happens, hw_stands, "hw-reaches-leo"),
    ("2.8", "zookeeper", nothing_happens, hw_stands, "hw-reaches-leo"),
    ("3.9", "kraft", nothing_happens, followers_keep_their_hw, "follower-hw"),
    ("0.11", "zookeeper", nothing_happens, followers_keep_their_hw, "follower-hw"),
    ("3.9", "kraft", readers_wait, nothing_expires, "delayed-requests"),
    ("3.3", "kraft", follower_is_fenced, failed_for_good, "fetcher-resumes"),
    ("3.9", "kraft", follower_comes_back, proposals_are_forgotten, "alter-partition"),
    ("2.8", "zookeeper", follower_comes_back, answers_are_ignored, "alter-partition"),
    ("3.9", "kraft", leadership_moves, no_rebalancing, "preferred-leader"),
    ("3.9", "zookeeper", leadership_moves, no_rebalancing_zk, "preferred-leader"),
    ("3.9", "kraft", zombie_writes, followers_keep_everything, "convergence"),
]


TIMES = {"fetcher-resumes": 2}
"""Maximum number of reports per broker, if it is not one: a newer leader epoch is a new obligation."""


@pytest.mark.parametrize(
    ("kafka", "mode", "scenario", "breakage", "name"),
    BROKEN,
    ids=[f"{kafka}-{mode}-{breakage.__name__}" for kafka, mode, _scenario, breakage, _name in BROKEN],
)
def test_only_the_expected_property_is_overdue(
    kafka: str, mode: str, scenario: Scenario, breakage: Callable[[Patch], None], name: str, monkeypatch: Patch
) -> None:
    assert overdue(scenario(kafka, mode)) == {}
    breakage(monkeypatch)
    found = overdue(scenario(kafka, mode))
    assert {property_ for property_, _broker in found} == {name}
    assert max(found.values()) == TIMES.get(name, 1)


def test_every_property_has_a_breakage() -> None:
    assert {name for *_rest, name in BROKEN} == set(NAMES) == {each.name for each in PROPERTIES}
