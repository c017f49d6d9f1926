"""Mutation tests of the control plane's invariants: each reports a model broken on purpose, and nothing before.

Every mutation changes one rule for the length of a test, in a scenario that the unmodified model passes first.
"""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.partition import partition
from cluster_model.broker.partition.partition import PartitionLeaderState
from cluster_model.broker.partition.replication_rules import RemoteReplicaState
from cluster_model.cluster import Cluster
from cluster_model.controller.committed_state import CommittedState
from cluster_model.controller.kraft import replication_control_manager
from cluster_model.controller.kraft.cluster_control_manager import ClusterControlManager
from cluster_model.controller.kraft.replication_control_manager import ReplicationControlManager
from cluster_model.controller.rules import alter_partition
from cluster_model.controller.rules.partition_change import PartitionChange
from cluster_model.controller.zookeeper import controller_requests
from cluster_model.controller.zookeeper.control_plane import ZooKeeperControlPlane
from cluster_model.controller.zookeeper.messages import LeaderAndIsrRequest
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import ControllerChanged, InvariantViolated, PartitionOffline
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.snapshots import pack, unpack
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster, P

SECOND = 1_000_000

LEADER_COMPLETENESS = "leader-completeness"
MAXIMAL_ISR = "maximal-isr-superset"
ELIGIBILITY = "isr-eligibility"
RECOVERY = "recovery-barrier"
FENCING = "zombie-fencing"
EXCLUSION = "unclean-exclusion"
EPOCHS = "epoch-monotonicity"


def build(kafka: str = "3.9", mode: str = "kraft", brokers: int = 3, **config: Any) -> Cluster:
    """One partition on all brokers, led by the first; acks=1 succeeds with any ISR."""
    ids = tuple(range(1, brokers + 1))
    named = {key.replace("_", "."): value for key, value in config.items()}
    topic = TopicSpec("orders", 1, brokers, (ids,), {"unclean.leader.election.enable": False, **named})
    producer = ProducerSpec("checkout", "orders", 50_000, config={"acks": "1"})
    return Cluster.build(ClusterSpec(kafka, mode, tuple(map(BrokerSpec, ids)), (topic,), (producer,)), 7)


def broken(cluster: Cluster) -> set[str]:
    return set(cluster.checker.invariants.violations)


def later(cluster: Cluster, seconds: int) -> None:
    cluster.run(cluster.now_us + seconds * SECOND)


def told(cluster: Cluster, invariant: str) -> list[str]:
    return [e.detail for e in cluster.drain() if isinstance(e, InvariantViolated) and e.invariant == invariant]


# -- leader completeness ----------------------------------------------------------------------------------------------


def test_an_isr_member_that_lacks_committed_records_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def alone(leader_leo: int, _needed: tuple[RemoteReplicaState, ...]) -> int:
        return leader_leo

    def shrunk() -> HandSteppedCluster:
        stepped = HandSteppedCluster("3.9")
        stepped.notify(1, 2, 3)
        stepped.append(1, "a")
        stepped.do("shrink_isr", broker=1, out=[3])
        return stepped

    assert shrunk().broken() == set()
    monkeypatch.setattr(partition, "high_watermark", alone)
    assert shrunk().broken() == {LEADER_COMPLETENESS, "weak-isr"}


def test_old_versions_are_known_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition, "high_watermark", lambda leo, _needed: leo)
    stepped = HandSteppedCluster("2.0")
    stepped.notify(1, 2, 3)
    stepped.append(1, "a")
    stepped.do("shrink_isr", broker=1, out=[3])
    assert LEADER_COMPLETENESS in stepped.broken()
    assert stepped.cluster.checker.invariants.unexpected == {}


@pytest.mark.slow
@pytest.mark.parametrize("sound", [True, False])
def test_an_eligible_leader_replica_that_lacks_committed_records_is_reported(
    sound: bool, snapshot: SnapshotAssertion
) -> None:
    cluster = build("4.1", brokers=4, min_insync_replicas=3)
    later(cluster, 5)
    cluster.crash(4)
    later(cluster, 12)
    cluster.crash(3)
    later(cluster, 12)
    assert cluster.cluster_state.records[P].state.elr == (3,)
    if not sound:
        cluster.cluster_state.replicas[P][1].min_isr = 1  # The HW must not advance below min.insync.replicas (KIP-966).
    later(cluster, 3)
    cluster.crash(2)
    later(cluster, 12)
    assert cluster.cluster_state.records[P].state.elr == (2, 3)
    assert broken(cluster) == (set() if sound else {LEADER_COMPLETENESS})
    details = told(cluster, LEADER_COMPLETENESS)
    assert bool(details) != sound
    assert details == snapshot


# -- ISR members -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper")])
def test_a_leader_that_ignores_its_proposed_isr_member_is_reported(
    kafka: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def comes_back() -> Cluster:
        cluster = build(kafka, mode)
        later(cluster, 3)
        cluster.crash(3)
        later(cluster, 30)
        cluster.restart(3)
        later(cluster, 30)
        assert sorted(cluster.cluster_state.records[P].isr) == [1, 2, 3]
        return cluster

    assert broken(comes_back()) == set()
    monkeypatch.setattr(PartitionLeaderState, "maximal_isr", property(lambda self: self.isr))
    assert MAXIMAL_ISR in broken(comes_back())


def test_a_fenced_broker_that_stays_in_the_isr_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies() -> Cluster:
        cluster = build()
        later(cluster, 3)
        cluster.crash(3)
        later(cluster, 15)
        return cluster

    assert broken(dies()) == set()
    monkeypatch.setattr(ReplicationControlManager, "handle_broker_fenced", lambda _self, _broker, _by: [])
    assert broken(dies()) == {ELIGIBILITY}


@pytest.mark.slow
def test_a_fenced_broker_that_joins_an_isr_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    real = replication_control_manager.validate_kraft

    def lenient(*words: Any, **named: Any) -> KafkaError:
        error = real(*words, **named)
        return KafkaError.NONE if error is KafkaError.INELIGIBLE_REPLICA else error

    def cut_off() -> Cluster:
        """Broker 3 fetches from its leader but is cut off from the controllers."""
        cluster = build()
        later(cluster, 3)
        for controller in cluster.plane.controllers():
            cluster.cut(3, controller, 1)
        later(cluster, 30)
        return cluster

    assert broken(cut_off()) == set()
    monkeypatch.setattr(PartitionLeaderState, "_eligible", lambda _self, _broker, _remote: True)
    monkeypatch.setattr(replication_control_manager, "validate_kraft", lenient)
    assert broken(cut_off()) == {ELIGIBILITY}


def test_a_recovering_leader_with_another_isr_member_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    real = CommittedState.commit

    def recovering(self: CommittedState, change: PartitionChange, now: int) -> bool:
        return real(self, change._replace(state=change.state._replace(recovering=True)), now)

    stepped = HandSteppedCluster("3.9")
    stepped.do("elect", leader=2)
    assert stepped.broken() == set()
    monkeypatch.setattr(CommittedState, "commit", recovering)
    stepped.do("elect", leader=3)
    assert stepped.broken() == {RECOVERY}


# -- zombies -----------------------------------------------------------------------------------------------------------


def test_a_broker_that_accepts_an_old_controller_epoch_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def late_request() -> Cluster:
        cluster = build("3.9", "zookeeper")
        later(cluster, 3)
        assert isinstance(cluster.plane, ZooKeeperControlPlane)
        state = cluster.cluster_state.records[P].state
        words = state._replace(leader_epoch=state.leader_epoch + 1, partition_epoch=state.partition_epoch + 1)
        request = LeaderAndIsrRequest(1, 1, cluster.plane.controller_epoch() - 1, -1, (words,))
        cluster.plane.controls[2].controller_requests.lead_and_follow(1, request)
        return cluster

    assert broken(late_request()) == set()
    monkeypatch.setattr(controller_requests, "fence_request", lambda _request, _controller, _broker: KafkaError.NONE)
    assert broken(late_request()) == {FENCING}


def test_a_restarted_broker_may_accept_any_controller_epoch() -> None:
    """It remembers no controller epoch and accepts that of the current controller."""
    cluster = build("3.9", "zookeeper")
    later(cluster, 3)
    cluster.crash(1)
    later(cluster, 40)
    assert cluster.plane.controller_epoch() == 2
    cluster.crash(2)
    cluster.restart(2)
    later(cluster, 40)
    assert broken(cluster) == set()


def test_an_isr_change_of_a_deposed_leader_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def zombie() -> HandSteppedCluster:
        stepped = HandSteppedCluster("3.9")
        stepped.notify(1, 2, 3)
        stepped.lead(2, notify=(2, 3))
        stepped.do("shrink_isr", broker=1, out=[3])
        return stepped

    assert zombie().broken() == set()
    monkeypatch.setattr(alter_partition, "validate_kraft", lambda *_words, **_named: KafkaError.NONE)
    assert zombie().broken() == {FENCING}


# -- lost logs ---------------------------------------------------------------------------------------------------------


def test_a_leader_that_lost_its_log_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def last_one_back() -> Cluster:
        cluster = build("4.1", min_insync_replicas=2)
        later(cluster, 5)
        cluster.crash(3)
        later(cluster, 12)
        cluster.power_loss(2, keep=0)
        later(cluster, 12)
        assert cluster.cluster_state.records[P].state.elr == (2,)
        cluster.crash(1)
        later(cluster, 12)
        cluster.restart(2)
        later(cluster, 15)
        return cluster

    sound = last_one_back()
    assert broken(sound) == set()
    assert sound.cluster_state.records[P].leader == NO_LEADER
    monkeypatch.setattr(ReplicationControlManager, "handle_unclean_shutdown", lambda _self, _broker, _by: [])
    assert EXCLUSION in broken(last_one_back())


# -- epochs ------------------------------------------------------------------------------------------------------------


def test_a_decreasing_partition_epoch_is_reported_at_every_decision() -> None:
    stepped = HandSteppedCluster("3.9")
    stepped.do("elect", leader=2)
    stepped.cluster.emit(PartitionOffline(0, P, 2, 0, (1,)))
    assert stepped.broken() == {EPOCHS}


@pytest.mark.slow
def test_a_decreasing_broker_epoch_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def restarts(cluster: Cluster) -> Cluster:
        cluster.crash(3)
        later(cluster, 12)
        cluster.restart(3)
        later(cluster, 20)
        return cluster

    cluster = restarts(build())
    before = cluster.plane.broker_epoch(3)
    assert before > 0
    assert broken(restarts(cluster)) == set()
    assert cluster.plane.broker_epoch(3) > before
    real = ClusterControlManager.register
    monkeypatch.setattr(ClusterControlManager, "register", lambda self, request, _end, now: real(self, request, 1, now))
    assert broken(restarts(cluster)) == {EPOCHS}


def test_controllers_with_a_shared_or_decreasing_epoch_are_reported(snapshot: SnapshotAssertion) -> None:
    cluster = build()
    for epoch, node in [(2, "a"), (3, "b"), (4, "a")]:
        cluster.emit(ControllerChanged(0, node, NO_LEADER, epoch))
    assert broken(cluster) == set()
    cluster.emit(ControllerChanged(0, "b", NO_LEADER, 4))
    cluster.emit(ControllerChanged(0, "a", NO_LEADER, 2))
    assert told(cluster, EPOCHS) == snapshot


@pytest.mark.parametrize("entries", [((0, 0), (0, 1)), ((0, 1), (1, 1)), ((0, 0), (1, 9))])
def test_an_epoch_cache_that_does_not_increase_or_ends_after_the_log_is_reported(
    entries: tuple[tuple[int, int], ...],
) -> None:
    stepped = HandSteppedCluster("3.9")
    stepped.notify(1, 2, 3)
    stepped.append(1, "a", "b")
    stepped.cluster.cluster_state.replicas[P][3].log.epochs.entries = entries
    stepped.lead(2, notify=(3,))
    assert stepped.broken() == {EPOCHS}


def test_decreasing_batch_epochs_along_a_log_are_reported() -> None:
    stepped = HandSteppedCluster("3.9")
    stepped.notify(1, 2, 3)
    stepped.append(1, "a", "b")
    stepped.fetch(2)
    stepped.lead(2, notify=(2, 1))
    stepped.append(2, "c")
    assert stepped.broken() == set()
    log = stepped.cluster.cluster_state.replicas[P][2].log
    (_start, old), (_between, new) = log.extents
    log.extents[:] = [(0, new), (2, old)]
    stepped.lead(3, notify=(2,))
    assert EPOCHS in stepped.broken()


# -- memory ------------------------------------------------------------------------------------------------------------


def test_a_rewound_checker_restores_its_state() -> None:
    cluster = build("4.1", min_insync_replicas=2)
    later(cluster, 5)
    cluster.power_loss(3, keep=0)
    later(cluster, 12)
    cluster.emit(ControllerChanged(cluster.now_us, "a", NO_LEADER, 7))
    known = cluster.checker.invariants.save()
    twin = cluster.twin()
    keyframe, _rest = unpack(pack(cluster.save(), ()))
    twin.load(keyframe)
    assert twin.checker.invariants.save() == known
    twin.emit(ControllerChanged(twin.now_us, "b", NO_LEADER, 7))
    assert broken(twin) == {EPOCHS}
    assert broken(cluster) == set()
