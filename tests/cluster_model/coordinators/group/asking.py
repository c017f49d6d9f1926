"""Requests to a coordinator, and short forms of their responses."""

from typing import Any

from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    NO_GENERATION,
    CommittedOffset,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from tests.cluster_model.coordinators.group.members import MS, SECOND, Member, Talk
from tests.cluster_model.coordinators.group.tables import RANGE

OWNER = 2
"""Coordinator of the group ``g`` without faults: the leader of partition 1 of 3."""
MINUTE = 60 * SECOND
ERROR = KafkaError


def commit(offset: int = 5, *, group: str = "g", partition: str = "orders-0", metadata: str = "", **more: Any) -> Any:
    """A commit, from outside of the group unless given a member."""
    offsets = (CommittedOffset(partition, offset, -1, metadata),)
    return OffsetCommitRequest(0, group, more.pop("generation", NO_GENERATION), more.pop("member", ""), offsets, **more)


def fetch(*partitions: str, group: str = "g", stable: bool = False) -> OffsetFetchRequest:
    return OffsetFetchRequest(0, group, partitions or None, stable)


def errors(answer: Any) -> list[KafkaError]:
    return [KafkaError(error) for _partition, error in answer.partitions]


def offsets(answer: Any) -> dict[str, int]:
    return {each.partition: each.offset for each in answer.partitions}


def join(member_id: str = "", *, session: int = 10 * SECOND, instance: str = "", version: int = 9) -> JoinGroupRequest:
    return JoinGroupRequest(0, "g", "app", member_id, session, 60 * SECOND, RANGE, instance, version=version)


def started(kafka: str = "3.9", **more: Any) -> Talk:
    talk = Talk(kafka, **more)
    talk.run(1)
    return talk


def with_member(talk: Talk, **more: str) -> Member:
    """A stable group with one member."""
    member = talk.member("a", **more)
    talk.run(4)
    assert member.assignment is not None
    return member


def read_until_loading(talk: Talk, broker: int) -> Any:
    """Run until a broker has started to read a partition; return its registry."""
    registry = talk.cluster.coordinators[broker].registry
    for _ in range(60_000):
        if registry.loading:
            return registry
        talk.cluster.run(talk.cluster.now_us + MS)
    raise AssertionError("nothing is loading")
