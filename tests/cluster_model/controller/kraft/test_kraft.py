"""KRaft mode end to end: fencing of brokers, controller failover, and operation without a quorum."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.controller.kraft.cluster_control_manager import BrokerHeartbeatManager
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.admin_messages import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    UnregisterBrokerRequest,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import (
    BrokerFenced,
    BrokerRegistered,
    ControllerChanged,
    ElrChanged,
    IsrChanged,
    LeaderElected,
    NodeDown,
)
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.snapshots import pack, unpack
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec
from tests.cluster_model.timelines import MS, SECOND, Watched

P = "orders-0"
QUORUM = (1001, 1002, 1003)


def spec(kafka: str = "3.9", combined: tuple[int, ...] = (), **config: int | str | bool) -> ClusterSpec:
    named = {key.replace("_", "."): value for key, value in config.items()}
    return ClusterSpec(
        kafka, "kraft", tuple(BrokerSpec(number) for number in (1, 2, 3)),
        (TopicSpec("orders", placement=((1, 2, 3),)),),
        producers=(ProducerSpec("checkout", "orders", 200 * MS, config={"acks": "all"}),),
        config=named, combined=combined,
    )  # fmt: skip


def build(kafka: str = "3.9", combined: tuple[int, ...] = (), **config: int | str | bool) -> Cluster:
    return Cluster.build(spec(kafka, combined, **config), 3)


def times(cluster: Cluster, kind: type[BrokerFenced]) -> list[int]:
    return [event.at_us for event in cluster.drain() if isinstance(event, kind)]


# -- sessions ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("instant", range(0, 2_000, 125))
def test_a_crashed_broker_is_fenced_after_seven_to_nine_seconds(instant: int) -> None:
    cluster = build()
    crashed = 10 * SECOND + instant * MS
    cluster.run(crashed)
    cluster.crash(2)
    cluster.run(crashed + 15 * SECOND)
    (fenced,) = times(cluster, BrokerFenced)
    # The session counts from the last heartbeat's arrival, and the record has to be committed.
    assert 7 * SECOND < fenced - crashed < 9 * SECOND + 40 * MS


def test_one_broker_is_fenced_at_a_time_each_with_its_own_records() -> None:
    cluster = build()
    cluster.run(5 * SECOND)
    for broker in (1, 2):
        cluster.pause(broker)
    cluster.run(20 * SECOND)
    told = [event for event in cluster.drain() if isinstance(event, BrokerFenced | LeaderElected)]
    assert [type(event).__name__ for event in told] == ["LeaderElected", "BrokerFenced"] * 2
    assert [event.leader for event in told if isinstance(event, LeaderElected)] == [2, 3]


def test_a_failover_of_the_controller_gives_every_broker_another_session() -> None:
    cluster = build()
    cluster.run(10 * SECOND)
    cluster.crash(2)
    cluster.run(15 * SECOND)
    cluster.crash(1001)
    cluster.run(40 * SECOND)
    events = cluster.drain()
    (elected,) = [event.at_us for event in events if isinstance(event, ControllerChanged)]
    (fenced,) = [event.at_us for event in events if isinstance(event, BrokerFenced)]
    assert fenced > 19 * SECOND + 100 * MS
    assert 9 * SECOND <= fenced - elected < 9 * SECOND + 60 * MS


def test_a_broker_that_paused_is_back_with_its_epoch_and_one_that_crashed_with_another() -> None:
    cluster = build()
    cluster.run(5 * SECOND)
    cluster.pause(1)
    cluster.run(20 * SECOND)
    assert not cluster.plane.is_live(1)
    cluster.resume(1)
    cluster.run(25 * SECOND)
    assert cluster.plane.is_live(1)
    assert cluster.brokers[1].control.broker_epoch == 0
    cluster.crash(1)
    cluster.run(40 * SECOND)
    cluster.restart(1)
    cluster.run(50 * SECOND)
    assert cluster.brokers[1].control.broker_epoch > 0
    assert cluster.query.isr(P) == [1, 2, 3]


# -- without a quorum --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_without_a_quorum_leaders_serve_but_elections_and_isr_changes_stop() -> None:
    cluster = build(replica_lag_time_max_ms=2_000)
    cluster.run(5 * SECOND)
    for voter in QUORUM[:2]:
        cluster.crash(voter)
    cluster.run(8 * SECOND)
    acked = cluster.query.acked()
    cluster.run(20 * SECOND)
    assert cluster.query.acked() > acked + 40
    cluster.pause(3)
    cluster.run(30 * SECOND)
    stalled = cluster.query.acked()
    cluster.run(60 * SECOND)
    changes = (BrokerFenced, LeaderElected, IsrChanged)
    assert [event for event in cluster.drain() if isinstance(event, changes)] == []
    assert cluster.query.acked() == stalled, "acks=all waits for a follower that cannot be taken out of the ISR"
    assert cluster.plane.active() == NO_LEADER
    cluster.restart(1001)
    cluster.run(80 * SECOND)
    assert cluster.plane.active() != NO_LEADER
    assert cluster.query.isr(P) == [1, 2]
    assert cluster.query.acked() > stalled


@pytest.mark.slow
def test_a_broker_that_cannot_register_for_a_minute_ends_itself(snapshot: SnapshotAssertion) -> None:
    cluster = build()
    cluster.run(5 * SECOND)
    cluster.crash(2)
    for voter in QUORUM[:2]:
        cluster.crash(voter)
    cluster.run(20 * SECOND)
    cluster.restart(2)
    cluster.run(81 * SECOND)
    assert cluster.state_of(2) is ProcessState.RUNNING
    cluster.drain()
    cluster.run(83 * SECOND)
    (down,) = [event for event in cluster.drain() if isinstance(event, NodeDown)]
    assert down.broker == 2
    assert down.detail == snapshot


# -- controllers in brokers --------------------------------------------------------------------------------------------


def test_a_broker_that_is_the_controller_takes_both_down_with_it() -> None:
    cluster = build(combined=(1, 2, 3))
    assert cluster.plane.controllers() == (1, 2, 3)
    assert not cluster.plane.servers
    assert cluster.plane.active() == 1
    cluster.run(5 * SECOND)
    cluster.crash(1)
    cluster.run(40 * SECOND)
    assert cluster.plane.active() in (2, 3)
    assert cluster.query.leader(P) == 2
    assert cluster.query.isr(P) == [2, 3]
    cluster.restart(1)
    cluster.run(60 * SECOND)
    assert cluster.query.isr(P) == [1, 2, 3]


# -- an old controller -------------------------------------------------------------------------------------------------


def test_a_resumed_controller_reverts_to_committed_state() -> None:
    watched = Watched()
    watched.run(5)
    watched.cluster.pause(1001)
    watched.run(10)
    views = {view.node: view.role for view in watched.cluster.plane.member_views()}
    assert views[1001] == "zombie"
    watched.cluster.resume(1001)
    watched.run(2)
    views = {view.node: view.role for view in watched.cluster.plane.member_views()}
    assert sorted(views.values()) == ["active", "follower", "follower"]
    assert views[1001] == "follower"


# -- administration ----------------------------------------------------------------------------------------------------


def test_a_forgotten_broker_leaves_the_isr_and_its_heartbeats_are_refused() -> None:
    watched = Watched()
    watched.run(2)
    answer = watched.ask(UnregisterBrokerRequest(0, 3))
    assert answer.error == KafkaError.NONE
    assert watched.cluster.query.isr(P) == [1, 2]
    watched.run(3)
    assert watched.passed("controller 1001", "broker 3", "Heartbeat: BROKER_ID_NOT_REGISTERED")
    assert watched.ask(UnregisterBrokerRequest(0, 3)).error == KafkaError.BROKER_ID_NOT_REGISTERED


@pytest.mark.slow
def test_preferred_leaders_are_elected_every_five_minutes_without_a_threshold() -> None:
    cluster = build()
    cluster.run(5 * SECOND)
    cluster.crash(1)
    cluster.run(20 * SECOND)
    cluster.restart(1)
    cluster.run(290 * SECOND)
    assert cluster.query.leader(P) == 2
    cluster.drain()
    cluster.run(301 * SECOND)
    (elected,) = [event for event in cluster.drain() if isinstance(event, LeaderElected)]
    assert (elected.leader, elected.by, elected.at_us // SECOND) == (1, "preferred leader", 300)


@pytest.mark.parametrize(("kafka", "leader"), [("3.8", NO_LEADER), ("3.9", 2)])
def test_unclean_elections_also_come_by_a_timer_since_3_9(kafka: str, leader: int) -> None:
    """The topic's setting becomes unclean after every event that could have caused an election."""
    watched = Watched(kafka, placement=((1, 2),), brokers=3)
    watched.run(2)
    watched.cluster.crash(2)
    watched.run(10)
    watched.cluster.crash(1)
    watched.run(10)
    watched.cluster.restart(2)
    watched.run(10)
    change = AlterableConfig("unclean.leader.election.enable", "true")
    resource = AlterConfigsResource("topic", "orders", (change,))
    assert watched.ask(IncrementalAlterConfigsRequest(0, (resource,)), node=2).resources[0].error == KafkaError.NONE
    assert watched.cluster.query.leader(P) == NO_LEADER
    watched.run(290)
    assert watched.cluster.query.leader(P) == leader


# -- determinism -------------------------------------------------------------------------------------------------------


def trouble(cluster: Cluster, slice_us: int) -> str:
    """A minute and a half of faults, advanced in slices."""

    def until(seconds: int) -> None:
        while cluster.now_us < seconds * SECOND:
            cluster.run(min(seconds * SECOND, cluster.now_us + slice_us))

    voters = cluster.plane.controllers()
    until(5)
    cluster.crash(1)
    until(9)
    cluster.restart(1)
    until(20)
    cluster.pause(voters[0])
    until(31)
    cluster.shutdown(2)
    until(45)
    cluster.resume(voters[0])
    if cluster.state_of(2) is not ProcessState.RUNNING:
        cluster.restart(2)
    until(90)
    return cluster.digest()


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "combined"), [("3.3", ()), ("3.9", ()), ("3.9", (1, 2, 3)), ("4.1", ())])
def test_neither_slices_nor_leaving_idle_fetches_out_make_a_difference(kafka: str, combined: tuple[int, ...]) -> None:
    first = build(kafka, combined)
    whole = trouble(first, 3_600 * SECOND)
    assert trouble(build(kafka, combined), 8 * MS) == whole
    naive = Cluster.build(spec(kafka, combined), 3, naive=True)
    trouble(naive, 3_600 * SECOND)
    assert naive.drain() == first.drain()
    assert naive.view().partitions == first.view().partitions


@pytest.mark.slow
@pytest.mark.parametrize("combined", [(), (1, 2, 3)])
def test_a_keyframe_brings_controllers_and_brokers_back_in_a_twin_too(combined: tuple[int, ...]) -> None:
    cluster = build(combined=combined)
    cluster.run(5 * SECOND)
    cluster.crash(1)
    cluster.run(12 * SECOND + 160 * MS)  # the fencing is decided, or about to be committed
    kept, _rest = unpack(pack(cluster.save()))
    cluster.run(14 * SECOND)
    cluster.restart(1)
    cluster.run(40 * SECOND)
    end = (cluster.digest(), cluster.view())
    cluster.load(kept)
    twin = cluster.twin()
    cluster.run(14 * SECOND)
    cluster.restart(1)
    cluster.run(40 * SECOND)
    assert (cluster.digest(), cluster.view()) == end
    twin.load(kept)
    twin.run(14 * SECOND)
    twin.restart(1)
    twin.run(40 * SECOND)
    assert (twin.digest(), twin.view()) == end


def test_it_registers_again_what_was_fenced() -> None:
    cluster = build()
    cluster.run(5 * SECOND)
    cluster.crash(3)
    cluster.run(20 * SECOND)
    cluster.restart(3)
    cluster.run(30 * SECOND)
    events = cluster.drain()
    order = [type(event) for event in events if isinstance(event, BrokerFenced | BrokerRegistered)]
    assert order == [BrokerFenced, BrokerRegistered]


def test_a_new_controller_continues_from_committed_state() -> None:
    cluster = build()
    cluster.run(5 * SECOND)
    cluster.crash(1)
    cluster.run(20 * SECOND)
    cluster.crash(1001)
    cluster.run(30 * SECOND)
    cluster.drain()
    cluster.crash(2)
    cluster.run(45 * SECOND)
    assert (cluster.query.leader(P), cluster.query.isr(P), cluster.query.epoch(P)) == (3, [3], 2)
    assert [event.broker for event in cluster.drain() if isinstance(event, BrokerFenced)] == [2]


@pytest.mark.slow
def test_a_round_of_preferred_elections_comes_every_five_minutes() -> None:
    cluster = build()
    cluster.run(310 * SECOND)
    cluster.crash(1)
    cluster.run(330 * SECOND)
    cluster.restart(1)
    cluster.run(595 * SECOND)
    assert cluster.query.leader(P) == 2
    cluster.run(601 * SECOND)
    assert cluster.query.leader(P) == 1


@pytest.mark.parametrize("clean", [True, False])
def test_a_replica_stays_eligible_only_if_its_broker_had_stopped_cleanly(clean: bool) -> None:
    cluster = build("4.1", min_insync_replicas=3)
    cluster.run(5 * SECOND)
    if clean:
        cluster.shutdown(3)
    else:
        cluster.crash(3)
    cluster.run(20 * SECOND)
    assert cluster.cluster_state.records[P].state.elr == (3,)
    cluster.drain()
    cluster.restart(3)
    cluster.run(30 * SECOND)
    assert cluster.query.isr(P) == [1, 2, 3]
    told = [type(event) for event in cluster.drain() if isinstance(event, ElrChanged | BrokerRegistered)]
    assert told == ([BrokerRegistered, ElrChanged] if clean else [ElrChanged, BrokerRegistered])


def test_sessions_lapse_and_a_shutdown_keeps_its_first_offset() -> None:
    manager = BrokerHeartbeatManager(9 * SECOND)
    manager.touch(1, 0, fenced=False, metadata_offset=5)
    assert manager.valid(1, 9 * SECOND - 1)
    assert not manager.valid(1, 9 * SECOND)
    assert (manager.stale(9 * SECOND - 1), manager.stale(9 * SECOND), manager.next_deadline()) == (-1, 1, 9 * SECOND)
    manager.shutting_down(1, 7)
    manager.shutting_down(1, 9)
    assert manager.sessions[1].shutdown_offset == 7
    manager.fence(1)
    assert (manager.valid(1, 1), manager.next_deadline(), manager.sessions[1].shutdown_offset) == (False, -1, -1)
