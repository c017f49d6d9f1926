"""Offsets on the wire: whose may be deleted (KIP-496), and topics by id (KIP-848)."""

import uuid
from typing import Any

import pytest

from cluster_model.protocol.errors import KafkaError as E
from gateway.handlers.metadata import UNKNOWN_TOPIC_ID
from gateway.protocol import api_versions as api
from gateway.protocol.context import topic_uuid
from tests.gateway.hosting import playbook
from tests.gateway.wire import Wire

pytestmark = pytest.mark.slow
GROUP = "billing"


@pytest.fixture(scope="module", params=["2.8", "4.1"])
def wire(request: pytest.FixtureRequest) -> Wire:
    wire = Wire(playbook(request.param))
    wire.run(2)
    coordinator(wire)
    wire.run(3)
    return wire


def coordinator(wire: Wire) -> int:
    return int(wire.ask(1, api.FIND_COORDINATOR, 1, key=GROUP, key_type=0).node_id)


def commit(wire: Wire, *numbers: int) -> None:
    """Commit without a generation, as for a group without members."""
    partitions = [
        {"partition_index": number, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": ""}
        for number in numbers
    ]
    answer = wire.ask(
        coordinator(wire), api.OFFSET_COMMIT, 8, group_id=GROUP, generation_id_or_member_epoch=-1, member_id="",
        group_instance_id=None, topics=[{"name": "orders", "partitions": partitions}],
    )  # fmt: skip
    assert {each.error_code for topic in answer.topics for each in topic.partitions} == {E.NONE}


def committed(wire: Wire) -> dict[int, int]:
    asked = [{"name": "orders", "partition_indexes": (0, 1)}]
    answer = wire.ask(coordinator(wire), api.OFFSET_FETCH, 7, group_id=GROUP, topics=asked, require_stable=False)
    return {each.partition_index: each.committed_offset for topic in answer.topics for each in topic.partitions}


def delete(wire: Wire, group: str, *places: tuple[str, int]) -> Any:
    topics = [{"name": topic, "partitions": [{"partition_index": number}]} for topic, number in places]
    answer = wire.ask(coordinator(wire), api.OFFSET_DELETE, 0, group_id=group, topics=topics)
    found = [
        (topic.name, each.partition_index, each.error_code) for topic in answer.topics for each in topic.partitions
    ]
    return answer.error_code, found


def test_offsets_of_a_group_without_members_go(wire: Wire) -> None:
    commit(wire, 0, 1)
    assert committed(wire) == {0: 5, 1: 5}
    told = delete(wire, GROUP, ("orders", 0), ("nope", 0), ("orders", 9))
    assert told[0] == E.NONE
    assert set(told[1]) == {
        ("orders", 0, E.NONE), ("nope", 0, E.UNKNOWN_TOPIC_OR_PARTITION), ("orders", 9, E.UNKNOWN_TOPIC_OR_PARTITION),
    }  # fmt: skip
    assert committed(wire) == {0: -1, 1: 5}


def test_a_group_that_is_none_has_none(wire: Wire) -> None:
    error, _found = delete(wire, next(name for name in map(str, range(99)) if same(wire, name)), ("orders", 0))
    assert error == E.GROUP_ID_NOT_FOUND


def same(wire: Wire, group: str) -> bool:
    """Whether a group has the same coordinator."""
    return int(wire.ask(1, api.FIND_COORDINATOR, 1, key=group, key_type=0).node_id) == coordinator(wire)


def test_from_4_2_on_topics_are_named_by_id() -> None:
    wire = Wire(playbook("4.2"))
    wire.run(2)
    coordinator(wire)
    wire.run(3)
    state = wire.session.cluster.brokers[1].states["orders-0"]
    known, unknown = topic_uuid("orders", state.topic_id), uuid.UUID(int=7, version=4)
    told = [
        {"topic_id": topic, "partitions": [
            {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": ""}
        ]}
        for topic in (known, unknown)
    ]  # fmt: skip
    answer = wire.ask(
        coordinator(wire), api.OFFSET_COMMIT, 10, group_id=GROUP, generation_id_or_member_epoch=-1, member_id="",
        group_instance_id=None, topics=told,
    )  # fmt: skip
    errors = {each.topic_id: [found.error_code for found in each.partitions] for each in answer.topics}
    assert errors == {known: [E.NONE], unknown: [UNKNOWN_TOPIC_ID]}
    asked = [{"topic_id": topic, "partition_indexes": (0,)} for topic in (known, unknown)]
    for topics in (asked, None):
        groups = [{"group_id": GROUP, "member_id": None, "member_epoch": -1, "topics": topics}]
        (group,) = wire.ask(coordinator(wire), api.OFFSET_FETCH, 10, groups=groups, require_stable=False).groups
        found = {
            each.topic_id: [(row.error_code, row.committed_offset) for row in each.partitions] for each in group.topics
        }
        assert found.pop(unknown, [(UNKNOWN_TOPIC_ID, -1)]) == [(UNKNOWN_TOPIC_ID, -1)]
        assert found == {known: [(E.NONE, 5)]}
        assert len(group.topics) == (2 if topics else 1)
