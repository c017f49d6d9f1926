"""Essential results of the procedures of a ZooKeeper-mode controller, by version."""

from itertools import pairwise

import pytest

from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.messages import NO_EPOCH, ControlledShutdownRequest
from cluster_model.protocol.admin_messages import ElectLeadersRequest
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.spec.cluster_spec import ProducerSpec
from tests.cluster_model.controller.zookeeper.rigs import ADMIN, SECOND, Watched
from tests.cluster_model.controller.zookeeper.stories import STORIES, write_one

ONE = ((1, 2, 3),)


def test_a_cluster_is_formed_at_time_0() -> None:
    rig = Watched.of("3.9")
    assert rig.plane.active() == 1
    assert rig.plane.controller_epoch() == 1
    assert [rig.plane.is_live(broker) for broker in (1, 2, 3)] == [True] * 3
    assert rig.record("orders-1").leader == 2
    assert [len(broker.metadata.live) for broker in rig.cluster.brokers.values()] == [3, 3, 3]


def test_an_idle_cluster_costs_session_pings_and_little_else() -> None:
    rig = Watched.of("2.8", config={"auto.leader.rebalance.enable": False})
    rig.run(40)
    lines, before = len(rig.lines), rig.cluster.executed
    rig.run(60)
    assert len(rig.lines) == lines
    # 3 brokers that ping every 6 s, the ensemble's own pings each second, and the brokers' log tasks.
    assert rig.cluster.executed - before < 900


@pytest.mark.parametrize(("kafka", "seen"), [("1.0", False), ("2.1", False), ("2.2", True), ("3.9", True)])
def test_a_bounce_between_two_reads_is_detected_since_2_2(kafka: str, seen: bool) -> None:
    rig = STORIES["bounce"][0](kafka)
    assert (rig.record("orders-0").leader_epoch == 1) is seen
    assert rig.plane.is_live(3)
    # Undetected, the new process gets no requests.
    assert bool(rig.cluster.brokers[3].states) is seen


def test_requests_for_a_process_of_the_past_are_refused_since_2_2() -> None:
    rig = STORIES["bounce"][0]("2.2")
    control = rig.control(3)
    older = control.broker_epoch - 1
    states = (rig.record("orders-0")._replace(leader_epoch=9),)
    from cluster_model.controller.zookeeper.messages import LeaderAndIsrRequest  # noqa: PLC0415

    control.controller_requests.lead_and_follow(1, LeaderAndIsrRequest(77, 1, 1, older, states))
    rig.run(0.01)
    assert rig.lines[-1].endswith("3 > 1 LeaderAndIsrResponse STALE_BROKER_EPOCH")
    assert rig.cluster.brokers[3].replicas["orders-0"].leader_epoch != 9


def shutdown_error(rig: Watched, broker_epoch: int) -> int:
    """The error of the controller to a ControlledShutdown of broker 3 with this broker epoch."""
    control = rig.control(1)
    control.controller.controlled_shutdown(ADMIN, ControlledShutdownRequest(77, 3, broker_epoch))
    rig.run(1)
    return rig.asker.answers[-1].error


@pytest.mark.parametrize(
    ("newer", "error"), [(0, KafkaError.NONE), (1, KafkaError.NONE), (-1, KafkaError.STALE_BROKER_EPOCH)]
)
def test_a_controlled_shutdown_of_a_former_registration_is_refused(newer: int, error: KafkaError) -> None:
    rig = STORIES["bounce"][0]("2.2")
    assert shutdown_error(rig, rig.control(3).broker_epoch + newer) is error


def test_a_controlled_shutdown_without_a_broker_epoch_is_of_an_older_broker() -> None:
    assert shutdown_error(STORIES["bounce"][0]("2.2"), NO_EPOCH) is KafkaError.NONE


@pytest.mark.slow
@pytest.mark.parametrize("kafka", ["0.10.2", "2.0", "2.8", "3.9"])
def test_a_zombie_controller_is_refused_by_its_epoch_and_resigns(kafka: str) -> None:
    rig = STORIES["zombie"][0](kafka)
    refused = [line for line in rig.lines if "> 1 UpdateMetadataResponse STALE_CONTROLLER_EPOCH" in line]
    assert len(refused) == 2
    assert rig.plane.active() == 2
    assert rig.plane.controller_epoch() == 2
    assert not rig.control(1).controller.is_active
    assert rig.plane.is_live(1)


@pytest.mark.parametrize(("kafka", "kept"), [("1.0", (2,)), ("1.1", (2,))])
@pytest.mark.parametrize("unclean", [False, True])
def test_the_last_member_of_an_isr_stays_by_version(kafka: str, kept: tuple[int, ...], unclean: bool) -> None:
    """Up to 1.0 an ISR becomes empty where unclean elections are allowed."""
    rig = Watched.of(kafka, placement=((2, 3),), topic={"unclean.leader.election.enable": unclean})
    rig.run(1)
    rig.cluster.shutdown(3)
    rig.run(1)
    rig.cluster.crash(2)
    rig.run(rig.plane.session_us / SECOND + 3)
    state = rig.record("orders-0")
    assert state.leader == NO_LEADER
    assert state.isr == (() if unclean and kafka == "1.0" else kept)


@pytest.mark.parametrize("kafka", ["1.0", "2.0", "3.9"])
def test_without_an_in_sync_replica_the_partition_is_offline(kafka: str) -> None:
    rig = Watched.of(kafka, placement=((2, 3),), topic={"unclean.leader.election.enable": False})
    rig.run(1)
    rig.cluster.shutdown(3)
    rig.run(1)
    rig.cluster.crash(2)
    rig.run(rig.plane.session_us / SECOND + 3)
    rig.cluster.restart(3)
    rig.run(5)
    assert rig.record("orders-0").leader == NO_LEADER
    rig.cluster.restart(2)
    rig.run(5)
    assert rig.record("orders-0").leader == 2
    assert rig.record("orders-0").leader_epoch == 3


@pytest.mark.parametrize(("kafka", "elected"), [("1.1", False), ("2.0", True), ("3.9", True)])
def test_allowing_unclean_elections_has_one_held(kafka: str, elected: bool) -> None:
    rig = STORIES["unclean"][0](kafka)
    assert (rig.record("orders-0").leader == 3) is elected
    assert rig.record("orders-0").recovering is (kafka == "3.9")


def test_an_administrator_may_have_an_unclean_election_since_2_4() -> None:
    for kafka, error in (("2.3", KafkaError.UNSUPPORTED_VERSION), ("2.4", KafkaError.NONE)):
        rig = Watched.of(kafka, placement=((2, 3),), topic={"unclean.leader.election.enable": False})
        rig.run(1)
        rig.cluster.shutdown(3)
        rig.run(1)
        rig.cluster.crash(2)
        rig.run(rig.plane.session_us / SECOND + 3)
        rig.cluster.restart(3)
        rig.run(5)
        request = ElectLeadersRequest(1, True, ("orders-0",))
        assert [each.error for each in rig.ask(1, request).partitions] == [error]
        rig.run(1)
        assert rig.record("orders-0").leader == (NO_LEADER if error else 3)


@pytest.mark.parametrize("kafka", ["0.8.2", "2.3", "2.8"])
def test_a_controlled_shutdown_leaves_nobody_without_a_leader(kafka: str) -> None:
    rig = Watched.of(kafka, placement=((2, 3, 1), (3, 2, 1), (2, 1, 3)))
    rig.run(1)
    rig.cluster.shutdown(2)
    rig.run(2)
    assert not any("partition_offline" in line for line in rig.lines)
    leaders = [rig.record(f"orders-{number}").leader for number in range(3)]
    assert leaders == [3, 3, 1]
    assert all(2 not in rig.record(f"orders-{number}").isr for number in range(3))
    assert not rig.plane.is_live(2)
    assert not rig.cluster.is_up(2)


def test_a_single_replica_does_not_keep_its_broker_from_stopping() -> None:
    rig = Watched.of("2.8", placement=((2,),))
    rig.run(1)
    rig.cluster.shutdown(2)
    rig.run(0.1)
    assert any("ControlledShutdown answered remaining=[]" in line for line in rig.lines)
    assert not rig.cluster.is_up(2)


def test_a_broker_asks_three_times_and_then_stops_anyway() -> None:
    """The only other in-sync replica is gone: the leadership cannot move."""
    rig = Watched.of("2.8", placement=((2, 3),))
    rig.run(1)
    rig.cluster.shutdown(3)
    rig.run(1)
    rig.cluster.shutdown(2)
    rig.run(9)
    assert rig.cluster.is_up(2)
    rig.run(7)
    assert not rig.cluster.is_up(2)
    asked = [line for line in rig.lines if "ControlledShutdown of 2" in line]
    answered = [line for line in rig.lines if "answered remaining=['orders-0']" in line]
    assert len(asked) == len(answered) == 3


@pytest.mark.parametrize(("kafka", "after_s"), [("0.8.2", 9), ("0.9", 6), ("2.8", 22)])
def test_a_broker_that_is_back_within_its_session_has_to_wait(kafka: str, after_s: int) -> None:
    rig = Watched.of(kafka)
    rig.run(1)
    rig.cluster.crash(3)
    rig.run(0.1)
    rig.cluster.restart(3)
    rig.run(rig.plane.session_us / SECOND - 2.5)
    assert not rig.control(3).registered
    rig.run(after_s)
    assert rig.control(3).registered
    assert rig.record("orders-0").isr == (1, 2, 3)
    assert rig.record("orders-0").leader_epoch == 1


def test_a_broker_that_was_paused_beyond_its_session_registers_again() -> None:
    rig = Watched.of("2.8")
    before = rig.control(3).broker_epoch
    rig.run(1)
    rig.cluster.pause(3)
    rig.run(22)
    assert not rig.plane.is_live(3)
    rig.cluster.resume(3)
    rig.run(5)
    assert rig.plane.is_live(3)
    assert rig.control(3).broker_epoch > before
    assert rig.record("orders-0").isr == (1, 2, 3)


def test_controller_requests_to_a_paused_broker_arrive_in_order_one_at_a_time() -> None:
    rig = Watched.of("2.8", placement=((1, 2, 3), (2, 1, 3)), brokers=4)
    rig.run(1)
    rig.cluster.pause(3)
    rig.cluster.shutdown(2)
    rig.run(2)
    before = len(rig.lines)
    rig.cluster.resume(3)
    rig.run(1)
    to_three = [line.split(" > 3 ")[1] for line in rig.lines[before:] if " 1 > 3 " in line]
    kinds = [text.split()[0] for text in to_three]
    assert kinds[:4] == ["LeaderAndIsr", "UpdateMetadata", "LeaderAndIsr", "UpdateMetadata"]
    times = [float(line.split()[0]) for line in rig.lines[before:] if " 1 > 3 " in line]
    # The first was delivered during the pause; each other one waits for the response to the previous one.
    assert all(later - earlier >= 2 for earlier, later in pairwise(times[1:]))


def test_a_failed_conditional_write_is_repeated_until_a_decision_comes() -> None:
    """KAFKA-2729: the leader's version is not that of ZooKeeper, and the leader is not notified."""
    rig = Watched.of(
        "2.3", placement=ONE, config={"replica.lag.time.max.ms": 2_000, "auto.leader.rebalance.enable": False}
    )
    rig.run(1)
    state = rig.plane.service.tree.nodes["/brokers/topics/orders/partitions/0/state"]
    rig.control(2).session.send(
        kafka_zk_client.put("/brokers/topics/orders/partitions/0/state", state.data), ("isr", -1)
    )
    rig.run(0.1)
    assert rig.record("orders-0").partition_epoch == 1
    config_session = rig.plane.session_us
    rig.cluster.pause(3)
    rig.cluster.brokers[1].receive(4_900, write_one())
    rig.run(config_session / SECOND - 2.5)
    leadership = rig.cluster.brokers[1].replicas["orders-0"].leadership
    assert leadership is not None
    assert rig.record("orders-0").isr == (1, 2, 3) == leadership.isr
    assert leadership.pending is None
    tries = rig.control(1).writer.lane._serial
    assert tries >= 4  # at least two attempts, each with a read of the current node
    rig.cluster.resume(3)
    rig.run(1)
    rig.cluster.shutdown(2)
    rig.run(2)
    rig.cluster.pause(3)
    rig.cluster.brokers[1].receive(4_900, write_one())
    rig.run(3.3)
    assert rig.record("orders-0").isr == (1,)


def isr_told(rig: Watched, broker: int) -> tuple[int, ...]:
    return rig.cluster.brokers[broker].states["orders-0"].isr


@pytest.mark.parametrize(("kafka", "told_s"), [("0.8.2", 0), ("0.9", 5), ("2.6", 5), ("2.7", 0)])
def test_how_late_others_learn_of_an_isr_change(kafka: str, told_s: int) -> None:
    """0.8.2 never propagates; 0.9 to 2.6 after 5 to 7.5 s of quiet; since 2.7 it goes through the controller."""
    config = {"replica.lag.time.max.ms": 2_000, "zookeeper.session.timeout.ms": 20_000}
    rig = Watched.of(kafka, placement=ONE, config=config)
    rig.run(1)
    rig.cluster.pause(3)
    rig.cluster.brokers[1].receive(4_900, write_one())
    while rig.record("orders-0").isr != (1, 2):
        rig.run(0.05)
    rig.run(0.1)
    assert (isr_told(rig, 2) == (1, 2)) is (kafka == "2.7")
    if told_s:
        rig.run(4.8)
        assert isr_told(rig, 2) == (1, 2, 3)
        rig.run(2.8)
        assert isr_told(rig, 2) == (1, 2)
    elif kafka == "0.8.2":
        rig.run(12)
        assert isr_told(rig, 2) == (1, 2, 3)


def test_a_proposal_goes_to_the_next_controller() -> None:
    """AlterPartition: the controller dies with the proposal unanswered; the leader retries at the new one."""
    config = {"replica.lag.time.max.ms": 2_000, "zookeeper.session.timeout.ms": 20_000}
    rig = Watched.of("2.8", placement=((2, 3, 4),), brokers=4, config=config)
    rig.run(1)
    rig.cluster.crash(1)
    rig.cluster.pause(4)
    rig.cluster.brokers[2].receive(4_900, write_one())
    rig.run(12)
    assert rig.record("orders-0").isr == (2, 3, 4)
    rig.run(12)
    assert rig.plane.active() == 2
    assert rig.record("orders-0").isr == (2, 3)
    assert any("2 > 2 AlterPartition" in line for line in rig.lines)


@pytest.mark.slow
@pytest.mark.parametrize(("returned", "goes_back"), [(9, False), (8, True)])
def test_leaderships_go_back_by_themselves_only_above_ten_percent(returned: int, goes_back: bool) -> None:
    rig = Watched.of("2.8", placement=((2, 3),) * 10)
    rig.run(10)
    rig.cluster.shutdown(2)
    rig.run(1)
    rig.cluster.restart(2)
    rig.run(5)
    for number in range(returned):
        assert rig.plane.elect_leaders(f"orders-{number}", unclean=False) is KafkaError.NONE
    rig.run(280)
    assert [rig.record(f"orders-{number}").leader for number in range(10)] == [2] * returned + [3] * (10 - returned)
    rig.run(20)
    astray = [number for number in range(10) if rig.record(f"orders-{number}").leader != 2]
    assert (astray == []) is goes_back


@pytest.mark.slow
@pytest.mark.parametrize("kafka", ["1.0", "2.3", "2.8"])
def test_without_a_quorum_leaders_serve_on_and_nothing_is_decided(kafka: str) -> None:
    """No elections and no ISR changes, by any broker."""
    config = {"replica.lag.time.max.ms": 2_000}
    producers = (ProducerSpec("p", "orders", 100_000, 1, config={"acks": "all"}),)
    rig = Watched.of(kafka, config=config, producers=producers, placement=((1, 2, 3), (3, 1, 2)))
    rig.run(1)
    rig.cluster.crash(1502)
    rig.cluster.crash(1503)
    rig.run(1)
    acked = rig.cluster.query.acked()
    rig.run(5)
    assert rig.cluster.query.acked() - acked > 40
    rig.cluster.crash(3)
    rig.run(40)
    assert rig.record("orders-1").leader == 3
    assert rig.record("orders-0").isr == (1, 2, 3)
    assert rig.record("orders-0").partition_epoch == 0
    rig.cluster.restart(1502)
    rig.run(30)
    assert rig.record("orders-1").leader == 1
    assert 3 not in rig.record("orders-0").isr


def test_views_show_servers_the_controller_and_a_zombie() -> None:
    rig = Watched.of("2.8")
    assert [view.role for view in rig.plane.member_views()] == ["follower", "follower", "leader", "active"]
    rig.cluster.crash(1501)
    rig.cluster.pause(1)
    rig.run(25)
    roles = {view.node: view.role for view in rig.plane.member_views()}
    assert roles == {1501: "down", 1502: "follower", 1503: "leader", 1: "zombie", 2: "active"}
    rig.cluster.resume(1)
    rig.run(5)
    assert {view.node for view in rig.plane.member_views()} == {1501, 1502, 1503, 2}


def test_a_leader_takes_any_live_broker_into_the_isr_whatever_its_epoch() -> None:
    """KIP-903 is of KRaft: in ZooKeeper mode the epoch in a fetch is not checked."""
    rig = Watched.of("3.9", placement=ONE)
    leadership = rig.cluster.brokers[1].replicas["orders-0"].leadership
    assert leadership is not None
    leadership.remotes[3].broker_epoch = 1
    leadership.remotes[3].leo = 0
    assert leadership.may_join(3, leadership.remotes[3])


@pytest.mark.parametrize("kafka", ["1.0", "2.8"])
def test_deleting_the_controllers_node_moves_the_controller(kafka: str) -> None:
    """A manual operation of administrators: the old controller resigns, and the first broker to notice is the next."""
    rig = Watched.of(kafka)
    rig.run(1)
    rig.control(3).session.send(kafka_zk_client.delete("/controller"), ("errands", -1))
    rig.run(1)
    active = [broker for broker in (1, 2, 3) if rig.control(broker).controller.is_active]
    assert active == [rig.plane.active()]
    assert rig.plane.controller_epoch() == 2
    rig.cluster.shutdown(2)
    rig.run(2)
    assert rig.record("orders-1").leader == 3


@pytest.mark.parametrize(("kafka", "writes"), [("2.0", True), ("2.1", False)])
def test_a_controller_of_the_past_cannot_write_since_2_1(kafka: str, writes: bool) -> None:
    """KAFKA-6082: every write has the version of /controller_epoch as its condition."""
    rig = Watched.of(kafka, config={"auto.leader.rebalance.enable": False})
    rig.run(1)
    rig.control(3).session.send(kafka_zk_client.put("/controller_epoch", (7,)), ("errands", -1))
    rig.run(0.1)
    rig.cluster.crash(2)
    rig.run(rig.plane.session_us / SECOND + 3)
    assert (rig.record("orders-1").leader == 3) is writes
    assert rig.control(1).controller.is_active is writes


def test_a_process_that_starts_does_not_listen_before_it_has_registered() -> None:
    """Up to 2.1 requests for its former process are indistinguishable from its own; its socket is not open yet."""
    rig = Watched.of("2.1", brokers=4, placement=((2, 3, 1), (3, 2, 1)))
    rig.run(1)
    rig.cluster.crash(3)
    rig.cluster.restart(3)
    rig.cluster.shutdown(2)
    rig.run(1)
    assert any(" 1 > 3 LeaderAndIsr" in line for line in rig.lines)
    assert rig.cluster.brokers[3].replicas["orders-0"].leader == NO_LEADER
    rig.run(15)
    assert rig.cluster.brokers[3].replicas["orders-0"].leader == rig.record("orders-0").leader != NO_LEADER
