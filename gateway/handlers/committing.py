"""Offsets of groups: OffsetCommit, OffsetFetch, OffsetDelete, and TxnOffsetCommit of a transaction."""

from typing import Any

from cluster_model.protocol.group_messages import (
    CommittedOffset,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TxnOffsetCommitRequest,
)
from gateway.protocol.context import Call, Flow, ask, by_topic, ms, split

_MANY_GROUPS = 8
"""Version of OffsetFetch from which it has several groups (KIP-709)."""


def _offsets(call: Call) -> tuple[CommittedOffset, ...]:
    return tuple(
        CommittedOffset(
            f"{topic.name}-{each.partition_index}", each.committed_offset,
            getattr(each, "committed_leader_epoch", -1), each.committed_metadata or "",
        )
        for topic in call.request.topics
        for each in topic.partitions
    )  # fmt: skip


def _verdicts(partitions: tuple[tuple[str, int], ...]) -> dict[str, Any]:
    rows = [(name, {"partition_index": split(name)[1], "error_code": error}) for name, error in partitions]
    return {"topics": [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


def offset_commit(call: Call) -> Flow:
    """Commit; answered when it is replicated."""
    request = call.request
    (answer,) = yield ask(
        OffsetCommitRequest(
            0, request.group_id, request.generation_id_or_member_epoch, request.member_id, _offsets(call),
            call.get("group_instance_id") or "", _retention_us(call), call.version,
        )
    )  # fmt: skip
    return _verdicts(answer.partitions)


def _retention_us(call: Call) -> int:
    kept = call.get("retention_time")
    return -1 if kept is None else ms(kept)


def txn_offset_commit(call: Call) -> Flow:
    """Commit as part of a transaction."""
    request = call.request
    (answer,) = yield ask(
        TxnOffsetCommitRequest(
            0, request.transactional_id, request.group_id, request.producer_id, request.producer_epoch,
            _offsets(call), call.get("generation_id", -1), call.get("member_id", ""),
            call.get("group_instance_id") or "", call.version,
        )
    )  # fmt: skip
    return _verdicts(answer.partitions)


def offset_fetch(call: Call) -> Flow:
    """What is committed."""
    request = call.request
    groups = request.groups if call.version >= _MANY_GROUPS else (request,)
    stable = bool(call.get("require_stable", False))
    answers = yield ask(
        *[
            OffsetFetchRequest(0, each.group_id, _partitions(each.topics), stable, *_member(each))
            for each in groups
        ]
    )  # fmt: skip
    told = [{"group_id": each.group_id, **_fetched(answer)} for each, answer in zip(groups, answers, strict=True)]
    return {"groups": told} if call.version >= _MANY_GROUPS else told[0]


def _member(group: Any) -> tuple[str, int]:
    """Who asks, and in which epoch: a member by the consumer protocol says so."""
    return getattr(group, "member_id", None) or "", getattr(group, "member_epoch", -1)


def _partitions(topics: Any) -> tuple[str, ...] | None:
    if topics is None:
        return None
    return tuple(f"{topic.name}-{number}" for topic in topics for number in topic.partition_indexes)


def _fetched(answer: OffsetFetchResponse) -> dict[str, Any]:
    rows = [
        (
            each.partition,
            {
                "partition_index": split(each.partition)[1], "committed_offset": each.offset,
                "committed_leader_epoch": each.leader_epoch, "metadata": each.metadata, "error_code": each.error,
            },
        )
        for each in answer.partitions
    ]  # fmt: skip
    topics = [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]
    return {"topics": topics, "error_code": answer.error}


def offset_delete(call: Call) -> Flow:
    """Delete what is committed for some partitions."""
    names = tuple(f"{topic.name}-{each.partition_index}" for topic in call.request.topics for each in topic.partitions)
    (answer,) = yield ask(OffsetDeleteRequest(0, call.request.group_id, names))
    return {"error_code": answer.error, **_verdicts(answer.partitions)}
