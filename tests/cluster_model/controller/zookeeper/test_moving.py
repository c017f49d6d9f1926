"""Reassignments, topics and configurations in ZooKeeper mode: requested, rejected, cancelled and resumed."""

from typing import Any

import pytest

from cluster_model.protocol.admin_messages import (
    AlterableConfig,
    AlterConfigsResource,
    AlterPartitionReassignmentsRequest,
    CreatableTopic,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    NewPartitions,
    ReassignablePartition,
)
from cluster_model.protocol.errors import KafkaError
from tests.cluster_model.controller.zookeeper.rigs import SECOND, Watched

ONE = ((1, 2, 3),)


def moving(kafka: str) -> Watched:
    """orders-0 is to move from broker 1 to broker 4, which is paused: phase A."""
    rig = Watched.of(kafka, placement=ONE, brokers=4)
    rig.run(1)
    rig.cluster.pause(4)
    assert asked(rig, (4, 2, 3)) is KafkaError.NONE
    rig.run(1)
    return rig


def asked(rig: Watched, replicas: tuple[int, ...] | None, partition: str = "orders-0") -> KafkaError:
    request = AlterPartitionReassignmentsRequest(1, (ReassignablePartition(partition, replicas),))
    return KafkaError(rig.ask(rig.plane.active(), request).partitions[0].error)


def test_while_it_moves_both_sets_of_replicas_are_there() -> None:
    rig = moving("2.8")
    state = rig.record("orders-0")
    assert (state.replicas, state.adding, state.removing) == ((4, 2, 3, 1), (4,), (1,))
    assert (state.leader, state.leader_epoch, state.isr) == (1, 1, (1, 2, 3))
    listed = rig.ask(1, ListPartitionReassignmentsRequest(2))
    assert [(each.partition, each.adding, each.removing) for each in listed.partitions] == [("orders-0", (4,), (1,))]


def test_a_reassignment_can_be_cancelled_since_2_4() -> None:
    rig = moving("2.8")
    assert asked(rig, None) is KafkaError.NONE
    rig.run(1)
    state = rig.record("orders-0")
    assert (sorted(state.replicas), state.adding, state.removing) == ([1, 2, 3], (), ())
    assert (state.leader, state.isr) == (1, (1, 2, 3))
    rig.cluster.resume(4)
    rig.run(2)
    assert "orders-0" not in rig.cluster.brokers[4].replicas
    assert asked(rig, None) is KafkaError.NO_REASSIGNMENT_IN_PROGRESS


def test_a_leader_that_stays_begins_an_epoch_as_the_move_begins_and_as_it_ends() -> None:
    rig = Watched.of("3.9", placement=ONE, brokers=4)
    rig.run(1)
    assert asked(rig, (1, 4)) is KafkaError.NONE
    rig.run(2)
    elected = [line.split(" isr=")[0] for line in rig.lines if "* leader_elected" in line]
    assert [line.rpartition("partition=orders-0 ")[2] for line in elected] == [
        "leader=1 leader_epoch=1 partition_epoch=1", "leader=1 leader_epoch=2 partition_epoch=3",
    ]  # fmt: skip
    state = rig.record("orders-0")
    assert (state.replicas, state.isr, state.leader_epoch) == (
        (1, 4),
        (1, 4),
        4,
    )  # one more for each replica that left the ISR


def test_before_2_4_a_reassignment_can_neither_be_changed_nor_cancelled() -> None:
    rig = moving("2.3")
    assert asked(rig, None) is KafkaError.UNSUPPORTED_VERSION
    assert asked(rig, (1, 2, 4)) is KafkaError.UNSUPPORTED_VERSION
    rig.cluster.resume(4)
    rig.run(2)
    assert rig.record("orders-0").replicas == (4, 2, 3)


def test_a_new_wish_replaces_one_under_way() -> None:
    rig = moving("2.8")
    assert asked(rig, (1, 2)) is KafkaError.NONE
    rig.run(1)
    state = rig.record("orders-0")
    assert (state.replicas, state.adding, state.removing, state.isr) == ((1, 2), (), (), (1, 2))
    assert "orders-0" not in rig.cluster.brokers[3].replicas


@pytest.mark.parametrize("replicas", [(), (1, 1), (9, 2)])
def test_impossible_targets_are_refused(replicas: tuple[int, ...]) -> None:
    rig = Watched.of("2.8", placement=ONE, brokers=4)
    assert asked(rig, replicas) is KafkaError.INVALID_REPLICA_ASSIGNMENT
    assert asked(rig, (1, 2), "none-0") is KafkaError.UNKNOWN_TOPIC_OR_PARTITION


def test_the_next_controller_continues_with_a_reassignment() -> None:
    rig = moving("2.8")
    rig.cluster.crash(1)
    rig.cluster.resume(4)
    rig.run(rig.plane.session_us / SECOND + 6)
    state = rig.record("orders-0")
    assert rig.plane.active() != 1
    assert (state.replicas, state.adding, state.removing) == ((4, 2, 3), (), ())
    assert state.leader == 4


def test_a_topic_being_deleted_waits_for_its_reassignment() -> None:
    rig = moving("2.8")
    answer = rig.ask(1, DeleteTopicsRequest(1, ("orders",), timeout_us=100_000))
    assert answer.topics[0].error == KafkaError.REQUEST_TIMED_OUT
    rig.run(2)
    assert "orders-0" in rig.cluster.committed.records
    assert not any("delete" in line.split("StopReplica")[-1] for line in rig.lines if "StopReplica" in line)
    rig.cluster.resume(4)
    rig.run(3)
    assert "orders-0" not in rig.cluster.committed.records
    assert not any("orders-0" in broker.replicas for broker in rig.cluster.brokers.values())


def test_a_broker_that_is_back_does_not_end_that_wait() -> None:
    rig = moving("2.8")
    answer = rig.ask(1, DeleteTopicsRequest(1, ("orders",), timeout_us=100_000))
    assert answer.topics[0].error == KafkaError.REQUEST_TIMED_OUT
    rig.cluster.shutdown(3)
    rig.run(1)
    rig.cluster.restart(3)
    rig.run(4)
    assert rig.plane.is_live(3)
    assert not any("delete" in line.split("StopReplica")[-1] for line in rig.lines if "StopReplica" in line)


def error(rig: Watched, request: Any) -> KafkaError:
    answer = rig.ask(rig.plane.active(), request)
    return KafkaError((answer.topics if hasattr(answer, "topics") else answer.resources)[0].error)


def test_topics_that_cannot_be_are_refused() -> None:
    rig = Watched.of("2.8")
    new = CreatableTopic("new", 1, 3)
    assert error(rig, CreateTopicsRequest(1, (new._replace(replication=4),))) is KafkaError.INVALID_REPLICATION_FACTOR
    assert error(rig, CreateTopicsRequest(1, (new._replace(partitions=0),))) is KafkaError.INVALID_PARTITIONS
    assert (
        error(rig, CreateTopicsRequest(1, (new._replace(assignment=((1, 9),)),)))
        is KafkaError.INVALID_REPLICA_ASSIGNMENT
    )
    assert error(rig, CreateTopicsRequest(1, (new._replace(config=(("no.such", "1"),)),))) is KafkaError.INVALID_CONFIG
    assert error(rig, CreateTopicsRequest(1, (new._replace(name="orders"),))) is KafkaError.TOPIC_ALREADY_EXISTS
    assert error(rig, CreatePartitionsRequest(1, (NewPartitions("orders", 2),))) is KafkaError.INVALID_PARTITIONS
    assert error(rig, DeleteTopicsRequest(1, ("new",))) is KafkaError.UNKNOWN_TOPIC_OR_PARTITION
    assert "new" not in str(rig.plane.service.tree.children("/brokers/topics"))


def test_a_new_topic_is_spread_and_has_only_live_replicas_in_sync() -> None:
    rig = Watched.of("2.8", brokers=4)
    rig.run(1)
    rig.cluster.crash(4)
    rig.run(1)
    made = CreatableTopic("new", assignment=((4, 2), (1, 3)))
    assert error(rig, CreateTopicsRequest(1, (made, CreatableTopic("spread", 6, 2)))) is KafkaError.NONE
    rig.run(1)
    # The controller has not noticed yet: broker 4 is alive to it.
    assert rig.record("new-0").leader == 4
    assert sorted({broker for n in range(6) for broker in rig.record(f"spread-{n}").replicas}) == [1, 2, 3, 4]
    rig.run(20)
    assert rig.record("new-0").leader == 2
    late = CreateTopicsRequest(1, (CreatableTopic("late", assignment=((4, 2, 1), (4,))),), timeout_us=100_000)
    assert error(rig, late) is KafkaError.REQUEST_TIMED_OUT
    rig.run(1)
    assert (rig.record("late-0").leader, rig.record("late-0").isr) == (2, (2, 1))
    assert "late-1" not in rig.cluster.committed.records  # no eligible leader: still new
    rig.cluster.restart(4)
    rig.run(5)
    assert rig.record("late-1").leader == 4


def test_configurations_reach_every_broker_and_outlive_its_process() -> None:
    rig = Watched.of("2.8", placement=ONE)
    rig.run(1)
    change = AlterConfigsResource("topic", "orders", (AlterableConfig("min.insync.replicas", "2"),))
    assert error(rig, IncrementalAlterConfigsRequest(1, (change,))) is KafkaError.NONE
    rig.run(1)
    assert [broker.replicas["orders-0"].min_isr for broker in rig.cluster.brokers.values()] == [2, 2, 2]
    rig.cluster.shutdown(3)
    rig.run(1)
    back = AlterConfigsResource("topic", "orders", (AlterableConfig("min.insync.replicas", operation=1),))
    assert error(rig, IncrementalAlterConfigsRequest(1, (back,))) is KafkaError.NONE
    rig.run(1)
    rig.cluster.restart(3)
    rig.run(5)
    assert [broker.replicas["orders-0"].min_isr for broker in rig.cluster.brokers.values()] == [1, 1, 1]


def test_a_broker_that_is_not_the_controller_answers_not_controller() -> None:
    rig = Watched.of("2.8")
    answer = rig.ask(2, CreateTopicsRequest(1, (CreatableTopic("new", 1, 1),)))
    assert answer.topics[0].error == KafkaError.NOT_CONTROLLER
    moved = AlterPartitionReassignmentsRequest(2, (ReassignablePartition("orders-0", (1,)),))
    assert rig.ask(3, moved).error == KafkaError.NOT_CONTROLLER
