"""Admin requests to a KRaft cluster: errors of rejected requests, and effects of the others."""

from typing import Any

import pytest

from cluster_model.protocol.admin_messages import (
    AdminError,
    AlterableConfig,
    AlterConfigsResource,
    AlterPartitionReassignmentsRequest,
    ConfigOperation,
    CreatableTopic,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    NewPartitions,
    OngoingReassignment,
    ReassignablePartition,
    UnregisterBrokerRequest,
    refusal,
)
from cluster_model.protocol.errors import KafkaError
from tests.cluster_model.timelines import Watched

NONE = KafkaError.NONE
P = "orders-0"


@pytest.fixture(scope="module")
def shared() -> Watched:
    """A cluster that no test of this file changes."""
    watched = Watched(brokers=4)
    watched.run(1)
    return watched


def errors(answers: tuple[AdminError, ...]) -> list[KafkaError]:
    return [KafkaError(answer.error) for answer in answers]


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (CreatableTopic("orders", 1, 1), KafkaError.TOPIC_ALREADY_EXISTS),
        (CreatableTopic("a/b", 1, 1), KafkaError.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("..", 1, 1), KafkaError.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("t", 0, 1), KafkaError.INVALID_PARTITIONS),
        (CreatableTopic("t", 1, 0), KafkaError.INVALID_REPLICATION_FACTOR),
        (CreatableTopic("t", 1, 5), KafkaError.INVALID_REPLICATION_FACTOR),
        (CreatableTopic("t", 1, assignment=((1,),)), KafkaError.INVALID_REQUEST),
        (CreatableTopic("t", assignment=((1, 1),)), KafkaError.INVALID_REPLICA_ASSIGNMENT),
        (CreatableTopic("t", assignment=((9,),)), KafkaError.INVALID_REPLICA_ASSIGNMENT),
        (CreatableTopic("t", assignment=((1, 2), (3,))), KafkaError.INVALID_REPLICA_ASSIGNMENT),
        (CreatableTopic("t", 1, 1, config=(("min.insync.replicas", "0"),)), KafkaError.INVALID_CONFIG),
        (CreatableTopic("t", 1, 1, config=(("min.isr", "1"),)), KafkaError.INVALID_CONFIG),
    ],
)
def test_topics_that_cannot_be_made(shared: Watched, topic: CreatableTopic, error: KafkaError) -> None:
    assert errors(shared.ask(CreateTopicsRequest(0, (topic,))).topics) == [error]
    assert list(shared.cluster.cluster_state.records) == [P]


def test_each_topic_of_a_request_is_answered_for_itself() -> None:
    watched = Watched()
    twice = CreatableTopic("twice", 1, 1)
    topics = (CreatableTopic("good", assignment=((3, 1), (2, 3)), config=(("min.insync.replicas", "2"),)), twice, twice)
    answer = watched.ask(CreateTopicsRequest(0, topics))
    assert errors(answer.topics) == [NONE, KafkaError.INVALID_REQUEST, KafkaError.INVALID_REQUEST]
    cluster_state = watched.cluster.cluster_state
    assert [(name, record.assignment, record.isr, record.leader) for name, record in cluster_state.records.items()][
        1:
    ] == [
        ("good-0", (3, 1), (3, 1), 3),
        ("good-1", (2, 3), (2, 3), 2),
    ]
    assert cluster_state.effective_min_isr("good-0") == 2
    assert cluster_state.replica("good-1", 3).topic.min_isr == 2


def test_a_topic_without_a_live_replica_is_refused() -> None:
    watched = Watched(brokers=4)
    watched.run(1)
    watched.cluster.crash(4)
    watched.run(10)
    given = CreatableTopic("given", assignment=((4,),))
    answer = watched.ask(CreateTopicsRequest(0, (given, given._replace(name="half", assignment=((4, 1),)))))
    assert errors(answer.topics) == [KafkaError.INVALID_REPLICA_ASSIGNMENT, NONE]
    record = watched.cluster.cluster_state.records["half-0"]
    assert (record.assignment, record.isr, record.leader) == ((4, 1), (1,), 1)


def test_a_topic_made_again_under_its_name_is_another_one_also_to_a_broker_that_was_away() -> None:
    watched = Watched()
    watched.run(1)
    topic = CreatableTopic("again", assignment=((1, 3),))
    watched.ask(CreateTopicsRequest(0, (topic, topic._replace(name="gone"))))
    first = watched.cluster.cluster_state.records["again-0"].state.topic_id
    watched.cluster.crash(3)
    watched.run(1)
    assert errors(watched.ask(DeleteTopicsRequest(0, ("again", "gone"))).topics) == [NONE, NONE]
    assert errors(watched.ask(CreateTopicsRequest(0, (topic._replace(assignment=((1, 2),)),))).topics) == [NONE]
    assert watched.cluster.cluster_state.records["again-0"].state.topic_id > first
    assert sorted(watched.cluster.cluster_state.replicas["again-0"]) == [1, 2, 3]
    watched.cluster.restart(3)
    watched.run(20)
    assert sorted(watched.cluster.cluster_state.replicas["again-0"]) == [1, 2]
    assert "gone-0" not in watched.cluster.cluster_state.replicas
    for name in ("again-0", "gone-0"):
        assert watched.told(
            "replica_deleted", f"partition={name}", "broker=3", "log_offset=0", "end_offset=0", "by=stray"
        )


def test_partitions_are_added_where_the_topic_ended_and_never_taken_away() -> None:
    watched = Watched()
    request = CreatePartitionsRequest(
        0, (NewPartitions("orders", 2), NewPartitions("never", 2), NewPartitions("orders", 1))
    )
    answer = watched.ask(request)
    assert errors(answer.topics) == [
        NONE, KafkaError.UNKNOWN_TOPIC_OR_PARTITION, KafkaError.INVALID_PARTITIONS,
    ]  # fmt: skip
    records = watched.cluster.cluster_state.records
    assert list(records) == [P, "orders-1"]
    assert sorted(records["orders-1"].assignment) == [1, 2, 3]
    assert records["orders-1"].state.topic_id == records[P].state.topic_id
    unequal = watched.ask(CreatePartitionsRequest(0, (NewPartitions("orders", 4, ((1, 2, 3),)),)))
    assert errors(unequal.topics) == [KafkaError.INVALID_REPLICA_ASSIGNMENT]


def alter(watched: Watched, type_: str, name: str, *configs: AlterableConfig) -> KafkaError:
    request = IncrementalAlterConfigsRequest(0, (AlterConfigsResource(type_, name, configs),))
    return KafkaError(watched.ask(request).resources[0].error)


def test_configurations_change_live_all_of_a_resource_or_none() -> None:
    watched = Watched()
    cluster_state = watched.cluster.cluster_state
    policy, minimum = "cleanup.policy", "min.insync.replicas"
    assert alter(watched, "topic", "orders", AlterableConfig(minimum, "2")) is NONE
    assert cluster_state.replica(P, 3).topic.min_isr == 2
    wrong = (AlterableConfig(minimum, "3"), AlterableConfig("retention.ms", "soon"))
    assert alter(watched, "topic", "orders", *wrong) is KafkaError.INVALID_CONFIG
    assert cluster_state.replica(P, 1).topic.min_isr == 2
    assert alter(watched, "topic", "orders", AlterableConfig(minimum, "", ConfigOperation.DELETE)) is NONE
    assert cluster_state.replica(P, 1).topic.min_isr == 1
    assert alter(watched, "topic", "orders", AlterableConfig(policy, "compact", ConfigOperation.APPEND)) is NONE
    assert cluster_state.replica(P, 1).topic.log.compact
    assert alter(watched, "topic", "orders", AlterableConfig(policy, "compact", ConfigOperation.SUBTRACT)) is NONE
    assert not cluster_state.replica(P, 1).topic.log.compact
    append = AlterableConfig(minimum, "1", ConfigOperation.APPEND)
    assert alter(watched, "topic", "orders", append) is KafkaError.INVALID_CONFIG
    assert alter(watched, "topic", "never", append) is KafkaError.UNKNOWN_TOPIC_OR_PARTITION
    assert alter(watched, "broker", "9", append) is KafkaError.BROKER_ID_NOT_REGISTERED
    assert alter(watched, "group", "x", append) is KafkaError.INVALID_REQUEST


def test_brokers_configurations_go_to_all_or_one_and_a_restarted_one_learns_of_them() -> None:
    watched = Watched()
    rate = "leader.replication.throttled.rate"
    assert alter(watched, "broker", "", AlterableConfig("min.insync.replicas", "2")) is NONE
    assert alter(watched, "broker", "2", AlterableConfig(rate, "1000")) is NONE
    brokers = watched.cluster.brokers
    assert [broker.leader_quota.active for broker in brokers.values()] == [False, True, False]
    assert {watched.cluster.cluster_state.replica(P, broker).topic.min_isr for broker in brokers} == {2}
    watched.cluster.crash(2)
    watched.run(10)
    assert alter(watched, "broker", "2", AlterableConfig(rate, operation=ConfigOperation.DELETE)) is NONE
    watched.cluster.restart(2)
    watched.run(6)
    assert not brokers[2].leader_quota.active
    assert watched.cluster.cluster_state.replica(P, 2).topic.min_isr == 2


@pytest.mark.parametrize("replicas", [(), (1, 1), (1, 9)])
def test_reassignments_to_invalid_replicas_are_rejected(shared: Watched, replicas: tuple[int, ...]) -> None:
    wanted = (
        ReassignablePartition(P, replicas),
        ReassignablePartition("never-0", (1,)),
        ReassignablePartition(P, None),
    )
    answer = shared.ask(AlterPartitionReassignmentsRequest(0, wanted))
    assert errors(answer.partitions) == [
        KafkaError.INVALID_REPLICA_ASSIGNMENT,
        KafkaError.UNKNOWN_TOPIC_OR_PARTITION,
        KafkaError.NO_REASSIGNMENT_IN_PROGRESS,
    ]


def test_ongoing_reassignments_are_listed() -> None:
    watched = Watched(brokers=4)
    watched.run(1)
    watched.cluster.crash(4)
    watched.run(10)
    watched.ask(AlterPartitionReassignmentsRequest(0, (ReassignablePartition(P, (4, 2, 3)),)))
    listed = watched.ask(ListPartitionReassignmentsRequest(0))
    assert listed.partitions == (OngoingReassignment(P, (4, 2, 3, 1), (4,), (1,)),)
    assert watched.ask(ListPartitionReassignmentsRequest(0, ("never-0",))).partitions == ()


def test_unneeded_elections_are_reported_for_named_partitions_only(shared: Watched) -> None:
    asked = shared.ask(ElectLeadersRequest(0, False, (P, "never-0")))
    assert errors(asked.partitions) == [KafkaError.ELECTION_NOT_NEEDED, KafkaError.UNKNOWN_TOPIC_OR_PARTITION]
    assert shared.ask(ElectLeadersRequest(0, False)).partitions == ()


REQUESTS = (
    CreateTopicsRequest(0, (CreatableTopic("t", 1, 1),)),
    DeleteTopicsRequest(0, ("orders",)),
    CreatePartitionsRequest(0, (NewPartitions("orders", 9),)),
    AlterPartitionReassignmentsRequest(0, (ReassignablePartition(P, (1,)),)),
    ListPartitionReassignmentsRequest(0),
    ElectLeadersRequest(0, False, (P,)),
    IncrementalAlterConfigsRequest(0, (AlterConfigsResource("topic", "orders", ()),)),
    UnregisterBrokerRequest(0, 3),
)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_a_controller_that_is_not_active_refuses(shared: Watched, request_: Any) -> None:
    answer = shared.ask(request_, node=1002)
    text = "This is not the active controller."
    assert answer == refusal(request_._replace(correlation_id=answer.correlation_id), KafkaError.NOT_CONTROLLER, text)
    assert list(shared.cluster.cluster_state.records) == [P]


def test_an_uncommitted_request_is_unanswered_and_done_once_by_the_new_controller() -> None:
    """The active controller is isolated from the other voters: it applies the topic, and has to revert it."""
    watched = Watched()
    cluster = watched.cluster
    node: Any = cluster.plane.servers[1001][1]
    watched.run(2)
    for voter in (1002, 1003):
        cluster.cut(1001, voter, 1)
        cluster.cut(voter, 1001, 1)
    with pytest.raises(AssertionError):
        watched.ask(CreateTopicsRequest(0, (CreatableTopic("made", 1, 3),)))
    old = node.controller
    assert old.active
    assert "made" in old._image.topics
    assert list(cluster.cluster_state.records) == [P]
    watched.run(3)
    assert not old.active
    watched.run(8)
    (answer,) = watched.admin.got
    assert errors(answer.topics) == [NONE]
    assert watched.text().count("partition_created") == 1
    assert "made" not in node.image.topics
    for voter in (1002, 1003):
        cluster.heal_cut(1001, voter, 1)
        cluster.heal_cut(voter, 1001, 1)
    watched.run(5)
    assert "made" in node.image.topics
    assert list(cluster.cluster_state.records) == [P, "made-0"]
    assert watched.text().count("partition_created") == 1
