"""Guards of a ZooKeeper-mode controller and its broker against acting twice, too early, or on missing knowledge."""

from typing import Any

import pytest

from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.broker_side import REGISTER_AGAIN, BrokerTasks
from cluster_model.controller.zookeeper.controller_context import ReplicaMachineState
from cluster_model.controller.zookeeper.controller_event_queue import SideEffects
from cluster_model.controller.zookeeper.kafka_zk_client import BrokerNode, ZkResult
from cluster_model.protocol.admin_messages import CreatableTopic, CreateTopicsRequest, DeleteTopicsRequest
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.zookeeper.messages import ZkError
from tests.cluster_model.controller.zookeeper.rigs import SECOND, Watched


@pytest.mark.parametrize("kafka", ["2.0", "2.8"])
def test_a_reelected_zookeeper_controller_checks_imbalance_once_per_period(kafka: str) -> None:
    """The timer of its earlier epoch finds a later one, and ends."""
    rig = Watched.of(kafka, config={"leader.imbalance.check.interval.seconds": 10})
    looked: list[int] = []
    controller = rig.control(1).controller
    rebalance = controller._events["rebalance"]

    def counted() -> Any:
        looked.append(rig.cluster.now_us)
        return rebalance()

    controller._events["rebalance"] = counted
    rig.run(1)
    rig.cluster.pause(2)
    rig.cluster.pause(3)
    rig.control(1).session.send(kafka_zk_client.delete("/controller"), ("errands", -1))
    rig.run(1)
    rig.cluster.resume(2)
    rig.cluster.resume(3)
    assert (rig.plane.active(), rig.plane.controller_epoch()) == (1, 2)
    rig.run(60)
    assert len(looked) == 6
    assert all(6_000_000 <= at % 10_000_000 < 6_100_000 for at in looked)


class Still:
    """A port that sends nothing, and records the timers that were set."""

    now = 0

    def __init__(self) -> None:
        self.timers: list[tuple[Any, ...]] = []

    def timer(self, delay: int, *timer: Any) -> None:
        self.timers.append((delay, *timer))


@pytest.mark.parametrize(
    ("made", "owner", "registered"), [(True, 77, True), (False, 77, True), (False, 76, False), (False, 0, False)]
)
def test_a_broker_is_registered_by_the_node_of_its_own_session_alone(made: bool, owner: int, registered: bool) -> None:
    """A create over a broken connection may have been done without a response: the second try finds the node.

    A node of the previous session looks the same except for its owner, and will be removed soon.
    """
    asked: list[Any] = []
    tokens: list[Any] = []
    epochs: list[int] = []
    port = Still()

    def ask(operation: Any, token: Any) -> None:
        asked.append(operation)
        tokens.append(token)

    effects = SideEffects(port, lambda _event: None)  # type: ignore[arg-type]
    tasks = BrokerTasks(3, "a", 5 * SECOND, effects, ask, epochs.append, lambda *_given: None, lambda _found: None)
    tasks.thread.put("register", 77)
    assert asked == [kafka_zk_client.create("/brokers/ids/3", BrokerNode("a"), ephemeral=True)]
    tasks.thread.on_response(tokens[-1], ZkResult(ZkError.OK if made else ZkError.NODE_EXISTS))
    assert asked[1:] == [kafka_zk_client.get("/brokers/ids/3")]
    tasks.thread.on_response(tokens[-1], ZkResult(ZkError.OK, BrokerNode("a"), 0, 123, owner))
    assert epochs == ([123] if registered else [])
    assert port.timers == ([] if registered else [(5 * SECOND, REGISTER_AGAIN, 77)])


def test_a_znode_lost_between_create_and_read_is_created_later() -> None:
    """The old session ended between the create and the read: no node exists, and the broker is not registered."""
    epochs: list[int] = []
    tokens: list[Any] = []
    port = Still()
    effects = SideEffects(port, lambda _event: None)  # type: ignore[arg-type]
    tasks = BrokerTasks(
        3,
        "",
        5,
        effects,
        lambda _operation, token: tokens.append(token),
        epochs.append,
        lambda *_: None,
        lambda _: None,
    )
    tasks.thread.put("register", 77)
    tasks.thread.on_response(tokens[-1], ZkResult(ZkError.NODE_EXISTS))
    tasks.thread.on_response(tokens[-1], ZkResult(ZkError.NO_NODE))
    assert (epochs, port.timers) == ([], [(5, REGISTER_AGAIN, 77)])


def with_doomed_topic(kafka: str) -> Watched:
    """A topic of brokers 2 and 3, of which 3 is dead, is to be deleted."""
    rig = Watched.of(kafka, brokers=4, placement=((1, 4),))
    rig.run(1)
    made = CreatableTopic("doomed", assignment=((2, 3),))
    assert not rig.ask(1, CreateTopicsRequest(1, (made,))).topics[0].error
    rig.run(1)
    rig.cluster.crash(3)
    rig.run(rig.plane.session_us / SECOND + 3)
    return rig


@pytest.mark.parametrize("kafka", ["1.0", "2.8"])
def test_a_topic_with_a_dead_replica_may_not_be_deleted_from_the_start(kafka: str) -> None:
    rig = with_doomed_topic(kafka)
    assert not rig.ask(1, DeleteTopicsRequest(1, ("doomed",))).topics[0].error
    rig.run(1)
    context = rig.control(1).controller.work.context
    assert tuple(context.deletion_ineligible) == ("doomed",)
    assert context.replicas["doomed-0", 2] is ReplicaMachineState.DELETION_SUCCESSFUL
    assert "doomed-0" in rig.cluster.committed.records
    rig.cluster.restart(3)
    rig.run(5)
    assert "doomed-0" not in rig.cluster.committed.records
    assert "doomed" not in context.deletion_ineligible


@pytest.mark.parametrize("kafka", ["1.0", "2.8"])
def test_a_broker_that_dies_before_it_has_deleted_its_replica_makes_the_topic_wait(kafka: str) -> None:
    """``failReplicaDeletion``: replicas that other brokers have deleted by then stay deleted."""
    rig = Watched.of(kafka, placement=((1, 2, 3),))
    rig.run(1)
    rig.cluster.pause(3)
    assert not rig.ask(1, DeleteTopicsRequest(1, ("orders",))).topics[0].error
    rig.run(1)
    context = rig.control(1).controller.work.context
    assert context.replicas["orders-0", 3] is ReplicaMachineState.DELETION_STARTED
    rig.cluster.crash(3)
    rig.cluster.crash(2)
    rig.run(rig.plane.session_us / SECOND + 3)
    assert [context.replicas["orders-0", broker] for broker in (1, 2, 3)] == [
        ReplicaMachineState.DELETION_SUCCESSFUL, ReplicaMachineState.DELETION_SUCCESSFUL, ReplicaMachineState.OFFLINE,
    ]  # fmt: skip
    assert tuple(context.deletion_ineligible) == ("orders",)
    rig.cluster.restart(3)
    rig.run(5)
    assert "orders-0" not in rig.cluster.brokers[3].replicas
    assert "orders-0" not in rig.cluster.committed.records


@pytest.mark.parametrize("kafka", ["1.0", "2.8"])
def test_a_returning_broker_deletes_its_replica_while_others_are_down(kafka: str) -> None:
    """``onBrokerStartup`` resumes the deletion; a broker that is still dead makes the topic ineligible again."""
    rig = Watched.of(kafka, placement=((2, 3, 4),), brokers=4)
    rig.run(1)
    rig.cluster.crash(3)
    rig.cluster.crash(4)
    rig.run(rig.plane.session_us / SECOND + 3)
    assert not rig.ask(1, DeleteTopicsRequest(1, ("orders",))).topics[0].error
    rig.run(1)
    rig.cluster.restart(3)
    rig.run(5)
    context = rig.control(1).controller.work.context
    assert ["orders-0" in rig.cluster.brokers[broker].replicas for broker in (2, 3, 4)] == [False, False, True]
    assert tuple(context.deletion_ineligible) == ("orders",)
    assert "orders-0" in rig.cluster.committed.records
    rig.cluster.restart(4)
    rig.run(5)
    assert "orders-0" not in rig.cluster.brokers[4].replicas
    assert "orders-0" not in rig.cluster.committed.records


@pytest.mark.parametrize("kafka", ["1.0", "2.8"])
def test_a_new_controller_begins_no_deletion_while_a_replica_is_dead(kafka: str) -> None:
    """``fetchTopicDeletionsInProgress``: topics with offline replicas are ineligible from the start."""
    rig = with_doomed_topic(kafka)
    assert not rig.ask(1, DeleteTopicsRequest(1, ("doomed",))).topics[0].error
    rig.run(1)
    rig.cluster.crash(1)
    rig.lines.clear()
    rig.run(rig.plane.session_us / SECOND + 3)
    active = rig.plane.active()
    assert active in (2, 4)
    assert tuple(rig.control(active).controller.work.context.deletion_ineligible) == ("doomed",)
    assert not any("StopReplica" in line and "doomed" in line and "delete" in line for line in rig.lines)
    rig.cluster.restart(3)
    rig.run(5)
    assert "doomed-0" not in rig.cluster.committed.records
    assert not any("doomed-0" in broker.replicas for broker in rig.cluster.brokers.values())


@pytest.mark.parametrize(("kafka", "unclean", "left"), [("1.0", True, ()), ("1.0", False, (2,)), ("1.1", True, (2,))])
def test_a_new_controller_reads_whether_the_last_isr_member_may_go(
    kafka: str, unclean: bool, left: tuple[int, ...]
) -> None:
    """Up to 1.0 it leaves where unclean elections are allowed by the topic's own setting, read at that time."""
    topic = {"unclean.leader.election.enable": unclean}
    rig = Watched.of(kafka, placement=((2, 3),), brokers=4, topic=topic)
    rig.run(1)
    rig.cluster.shutdown(3)
    rig.run(2)
    rig.cluster.crash(2)
    rig.run(3)
    rig.cluster.crash(1)
    rig.run(rig.plane.session_us / SECOND + 3)
    state = rig.record("orders-0")
    assert rig.plane.active() == 4
    assert (state.leader, state.isr) == (NO_LEADER, left)
