"""Requests to a coordinator, and their answers in short."""

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
"""Broker of the group ``g`` while nothing has happened: partition 1 of 3 is its."""
MINUTE = 60 * SECOND
ERROR = KafkaError


def commit(offset: int = 5, *, group: str = "g", partition: str = "orders-0", metadata: str = "", **more: Any) -> Any:
    """From outside of the group's membership, unless told otherwise."""
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
    """A stable group of one."""
    member = talk.member("a", **more)
    talk.run(4)
    assert member.assignment is not None
    return member


def read_until_loading(talk: Talk, broker: int) -> Any:
    """Go on until a broker has begun to read a partition; returns its registry."""
    registry = talk.cluster.coordinators[broker].registry
    for _ in range(60_000):
        if registry.loading:
            return registry
        talk.cluster.run(talk.cluster.now_us + MS)
    raise AssertionError("nothing is loading")
