"""A broker's handling of the end of its ZooKeeper session, and of the next one."""

import pytest

from cluster_model.controller.zookeeper.zk_admin_manager import RandomPlacement
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.admin_messages import CreatableTopic, CreateTopicsRequest
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import AlterPartitionRequest, AlterPartitionResponse
from cluster_model.zookeeper.messages import ConnectResponse
from tests.cluster_model.controller.zookeeper.rigs import Watched


def expire(rig: Watched, broker: int) -> None:
    """End a broker's session, and have it notified before any other event."""
    assert rig.plane.service.expire_session(broker)
    client = rig.control(broker).session.client
    client.receive(client.server, ConnectResponse(client._attempt, 0, 0, 0))


@pytest.mark.parametrize("kafka", ["0.8.2", "2.3", "3.9"])
def test_a_broker_about_to_stop_asks_the_next_session_who_the_controller_is(kafka: str) -> None:
    rig = Watched.of(kafka)
    rig.run(1)
    rig.cluster.shutdown(2)
    expire(rig, 2)
    rig.run(5)
    assert rig.cluster.network.processes[2].state in (ProcessState.DOWN, ProcessState.OFF)
    assert any("2 > 1 ControlledShutdown of 2" in line for line in rig.lines)
    assert not rig.plane.is_live(2)


def test_requests_between_two_sessions_are_dropped_when_the_next_begins() -> None:
    """It is never answered: a task, or the write of an ISR, would block all later ones."""
    rig = Watched.of("2.3", placement=((3, 1, 2),), brokers=4)
    rig.run(1)
    control = rig.control(3)
    refused: list[AlterPartitionResponse] = []
    control.writer._deliver = refused.append
    expire(rig, 3)
    assert not control.registered
    control.tasks.thread.put("configs_changed")
    control.propose(AlterPartitionRequest("orders-0", 3, 0, 0, 0, (3, 1), (), 41))
    assert control.tasks.thread.busy
    assert control.writer.lane.busy
    assert refused == []
    rig.run(3)
    assert control.registered
    assert not control.tasks.thread.busy
    assert [(each.error, each.correlation_id) for each in refused] == [(KafkaError.INVALID_UPDATE_VERSION, 41)]
    assert not control.writer.lane.busy
    rig.lines.clear()
    control.propose(AlterPartitionRequest("orders-0", 3, 0, 1, rig.record("orders-0").partition_epoch, (3, 1), (), 42))
    rig.run(1)
    assert any("/brokers/topics/orders/partitions/0/state" in line and "by='leader'" in line for line in rig.lines)


def test_requests_of_an_expired_session_are_dropped() -> None:
    """The write may have been done; the broker cannot know, and considers it failed."""
    rig = Watched.of("2.3", placement=((3, 1, 2),), brokers=4)
    rig.run(1)
    control = rig.control(3)
    refused: list[AlterPartitionResponse] = []
    control.writer._deliver = refused.append
    control.tasks.thread.put("configs_changed")
    control.requests.put(
        3, CreateTopicsRequest(1, (CreatableTopic("new", 1, 1),)), ((1, ""),), (RandomPlacement(9, 0, 0),)
    )
    control.propose(AlterPartitionRequest("orders-0", 3, 0, 0, 0, (3, 1), (), 41))
    assert (control.tasks.thread.busy, control.requests.busy, control.writer.lane.busy) == (True, True, True)
    expire(rig, 3)
    assert (control.tasks.thread.busy, control.requests.busy, control.writer.lane.busy) == (False, False, False)
    assert [(each.error, each.correlation_id) for each in refused] == [(KafkaError.INVALID_UPDATE_VERSION, 41)]


def test_a_controller_whose_session_ends_drops_what_it_was_doing() -> None:
    rig = Watched.of("2.3")
    rig.run(1)
    controller = rig.control(1).controller
    controller.lane.put("topic_change")
    controller.lane.put("rebalance")
    assert controller.lane.busy
    expire(rig, 1)
    assert not controller.lane.busy
    assert not controller.lane.waits("rebalance")
    assert not controller.is_active
    assert controller.work.context.partitions == {}
    rig.run(3)
    assert rig.plane.controller_epoch() == 2
