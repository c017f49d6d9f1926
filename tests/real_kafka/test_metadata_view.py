"""State of a real cluster from its metadata records, and the conditions that it answers."""

from typing import Any

import pytest

from playbooks.conditions.condition import parse
from tests.real_kafka.metadata_view import MetadataView, PartitionRegistrationView, RealClusterQuery

TOPIC: dict[str, Any] = {"topicId": "T", "name": "orders"}
PARTITION: dict[str, Any] = {
    "partitionId": 0, "topicId": "T", "replicas": [1, 2, 3], "isr": [1, 2, 3], "removingReplicas": [],
    "addingReplicas": [], "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0,
}  # fmt: skip


class Records:
    """Records with consecutive offsets, added to a view."""

    def __init__(self) -> None:
        self.view = MetadataView()
        self.offset = 0

    def add(self, kind: str, epoch: int = 1, **data: Any) -> None:
        self.view.add({"offset": self.offset, "epoch": epoch, "type": kind, "data": data})
        self.offset += 1

    def change(self, epoch: int = 1, **data: Any) -> PartitionRegistrationView:
        self.add("PARTITION_CHANGE_RECORD", epoch, partitionId=0, topicId="T", **data)
        return self.view.partitions["orders-0"]


@pytest.fixture
def records() -> Records:
    made = Records()
    made.add("TOPIC_RECORD", **TOPIC)
    made.add("PARTITION_RECORD", **PARTITION)
    return made


def test_a_new_isr_keeps_the_leader_and_its_epoch(records: Records) -> None:
    state = records.change(isr=[1, 2])
    assert (state.leader, state.leader_epoch, state.partition_epoch, state.isr) == (1, 0, 1, (1, 2))


def test_a_new_leader_has_a_new_epoch(records: Records) -> None:
    state = records.change(isr=[2, 3], leader=2)
    assert (state.leader, state.leader_epoch, state.partition_epoch, state.isr) == (2, 1, 1, (2, 3))
    assert records.change(leader=-1).leader_epoch == 2


def test_eligible_leader_replicas_and_reassignments(records: Records) -> None:
    state = records.change(eligibleLeaderReplicas=[2], addingReplicas=[4], replicas=[1, 2, 4, 3])
    assert (state.elr, state.adding, state.replicas) == ((2,), (4,), (1, 2, 4, 3))
    assert records.change(eligibleLeaderReplicas=[]).elr == ()


def test_a_topic_that_is_deleted(records: Records) -> None:
    records.add("REMOVE_TOPIC_RECORD", topicId="T")
    assert records.view.partitions == {}


def test_fenced_brokers(records: Records) -> None:
    records.add("REGISTER_BROKER_RECORD", brokerId=1, fenced=True)
    records.add("BROKER_REGISTRATION_CHANGE_RECORD", brokerId=1, fenced=-1)
    records.add("REGISTER_BROKER_RECORD", brokerId=2, fenced=True)
    records.add("BROKER_REGISTRATION_CHANGE_RECORD", brokerId=1)
    assert records.view.fenced == {1: False, 2: True}
    records.add("BROKER_REGISTRATION_CHANGE_RECORD", brokerId=1, fenced=1)
    assert records.view.fenced[1]


def test_records_of_a_newer_epoch_replace_those_that_were_not_committed(records: Records) -> None:
    records.change(leader=2)
    records.offset -= 1
    state = records.change(epoch=2, leader=3)
    assert (state.leader, state.leader_epoch) == (3, 1)
    assert not records.view.add({"offset": 2, "epoch": 1, "type": "PARTITION_CHANGE_RECORD", "data": {}})
    assert len(records.view.records()) == 3


def test_records_that_are_not_modelled_change_nothing(records: Records) -> None:
    before = dict(records.view.partitions)
    records.add("NO_OP_RECORD")
    assert records.view.partitions == before


def query(view: MetadataView) -> RealClusterQuery:
    group = {"state": "Stable", "members": 2, "committed": {"orders-0": 7}}
    return RealClusterQuery(
        view, (1, 2, 3), 2, lambda: 5_000_000, lambda broker: broker != 3, lambda: 1001, lambda name: group,
        lambda: 1, lambda name: 2 if name in ("", "crash") else 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "leader(orders-0) == 1 and isr(orders-0) == [1, 3] and replicas(orders-0) == [1, 2, 3]",
        "epoch(orders-0) == 0 and partition_epoch(orders-0) == 1 and elr(orders-0) == []",
        "under_replicated() == 1 and at_min_isr() == 1 and under_min_isr() == 0 and offline_partitions() == 0",
        "up(1) and not up(3) and fenced() == 3 and fenced(2) == 1",
        "controller() == 1001 and operations() == 1 and faults() == 2 and faults(crash) == 2 and faults(lag) == 0",
        'group_state(billing) == "Stable" and members(billing) == 2 and committed(billing, orders-0) == 7',
        "now() >= 5s and now() < 6s and leader(other-0) == -1",
    ],
)
def test_conditions(records: Records, text: str) -> None:
    records.change(isr=[3, 1])
    assert parse(text).holds(query(records.view))


def test_a_topic_has_its_own_least_number_of_replicas_in_sync(records: Records) -> None:
    records.add("CONFIG_RECORD", resourceType=2, resourceName="orders", name="min.insync.replicas", value="3")
    records.change(isr=[1, 2])
    assert query(records.view).under_min_isr() == 1
    records.add("CONFIG_RECORD", resourceType=2, resourceName="orders", name="min.insync.replicas", value=None)
    assert query(records.view).under_min_isr() == 0
