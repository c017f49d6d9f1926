"""Handlers of group APIs: membership, offsets, the consumer protocol (KIP-848), and descriptions."""

import io
from collections.abc import Iterable
from typing import Any, Final

from kio.schema.consumer_protocol_assignment.v0.data import ConsumerProtocolAssignment
from kio.schema.consumer_protocol_assignment.v0.data import TopicPartition as Assigned
from kio.schema.consumer_protocol_subscription.v0.data import ConsumerProtocolSubscription
from kio.schema.types import TopicName
from kio.serial import entity_reader, entity_writer

from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    CONSUMER_PROTOCOL,
    LEAVE_FOR_NOW,
    Assignment,
    CommittedOffset,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedGroup,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    ListGroupsRequest,
    MemberProtocol,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Subscription,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)
from cluster_model.protocol.messages import MetadataRequest
from gateway.handlers.metadata import UNKNOWN_TOPIC_ID
from gateway.protocol.api_versions import OFFSET_COMMIT, OFFSET_FETCH, TXN_OFFSET_COMMIT
from gateway.protocol.context import (
    CLIENT_HOST,
    ApiCall,
    RequestHandlerGenerator,
    ask,
    by_topic,
    group_operations,
    ms,
    partition_name,
    split_partition,
    state_of,
    topic_id_in,
    topic_of_id,
    topic_uuid,
)

# Offsets of groups: OffsetCommit, OffsetFetch, OffsetDelete, and TxnOffsetCommit.


_MANY_GROUPS = 8
"""First version of OffsetFetch with several groups (KIP-709)."""
_BY_ID = {OFFSET_COMMIT: 10, OFFSET_FETCH: 10, TXN_OFFSET_COMMIT: 6}
"""API → its first version with topic ids in place of names (KIP-848, 4.2; KIP-1319, 4.4)."""


def _uses_ids(call: ApiCall) -> bool:
    return call.version >= _BY_ID[call.api]


def _named(call: ApiCall, topics: Any) -> tuple[list[tuple[str, Any]], list[Any]]:
    """Return the topics with their names, and those whose id the broker does not know."""
    if not _uses_ids(call):
        return [(topic.name, topic) for topic in topics], []
    pairs = [(topic_of_id(call.context, call.broker, topic.topic_id), topic) for topic in topics]
    return [pair for pair in pairs if pair[0]], [topic for name, topic in pairs if not name]


def _offsets(topics: Iterable[tuple[str, Any]]) -> tuple[CommittedOffset, ...]:
    return tuple(
        CommittedOffset(
            partition_name(name, each.partition_index), each.committed_offset,
            getattr(each, "committed_leader_epoch", -1), each.committed_metadata or "",
        )
        for name, topic in topics
        for each in topic.partitions
    )  # fmt: skip


def _verdicts(partitions: tuple[tuple[str, int], ...]) -> dict[str, Any]:
    rows = [(name, {"partition_index": split_partition(name)[1], "error_code": error}) for name, error in partitions]
    return {"topics": [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


def offset_commit(call: ApiCall) -> RequestHandlerGenerator:
    """Handle OffsetCommit: answered when the offsets are replicated."""
    request = call.request
    topics, unknown = _named(call, request.topics)
    (answer,) = yield ask(
        OffsetCommitRequest(
            0, request.group_id, request.generation_id_or_member_epoch, request.member_id, _offsets(topics),
            call.get("group_instance_id") or "", _retention_us(call), call.version,
        )
    )  # fmt: skip
    return _results(call, answer.partitions, topics, unknown)


def _results(
    call: ApiCall, partitions: tuple[tuple[str, int], ...], topics: list[tuple[str, Any]], unknown: list[Any]
) -> dict[str, Any]:
    """Return the results of a commit, those of topics with an unknown id first."""
    ids = {name: topic.topic_id for name, topic in topics} if _uses_ids(call) else {}
    known = [{**topic, "topic_id": ids.get(topic["name"])} for topic in _verdicts(partitions)["topics"]]
    return {"topics": [*map(_unknown_id, unknown), *known]}


def _unknown_id(topic: Any) -> dict[str, Any]:
    numbers = getattr(topic, "partition_indexes", None) or [each.partition_index for each in topic.partitions]
    rows = [{"partition_index": number, "error_code": UNKNOWN_TOPIC_ID, "committed_offset": -1} for number in numbers]
    return {"topic_id": topic.topic_id, "partitions": rows}


def _retention_us(call: ApiCall) -> int:
    kept = call.get("retention_time")
    return -1 if kept is None else ms(kept)


def txn_offset_commit(call: ApiCall) -> RequestHandlerGenerator:
    """Handle TxnOffsetCommit: commit offsets as part of a transaction.

    Without a topic that the broker knows it does not reach the coordinator, and so opens no transaction.
    """
    request = call.request
    topics, unknown = _named(call, request.topics)
    if unknown and not topics:
        yield ask(MetadataRequest(0))
        return _results(call, (), topics, unknown)
    (answer,) = yield ask(
        TxnOffsetCommitRequest(
            0, request.transactional_id, request.group_id, request.producer_id, request.producer_epoch,
            _offsets(topics), call.get("generation_id", -1),
            call.get("member_id", ""), call.get("group_instance_id") or "", call.version,
        )
    )  # fmt: skip
    return _results(call, answer.partitions, topics, unknown)


def offset_fetch(call: ApiCall) -> RequestHandlerGenerator:
    """Handle OffsetFetch: the committed offsets of groups."""
    request = call.request
    groups = request.groups if call.version >= _MANY_GROUPS else (request,)
    stable = bool(call.get("require_stable", False))
    named = [([], []) if each.topics is None else _named(call, each.topics) for each in groups]
    answers = yield ask(
        *[
            OffsetFetchRequest(
                0, each.group_id, None if each.topics is None else _partitions(topics), stable,
                *_member_and_epoch(each),
            )
            for each, (topics, _unknown) in zip(groups, named, strict=True)
        ]
    )  # fmt: skip
    results = [
        {"group_id": each.group_id, **_fetched(call, answer, unknown)}
        for each, answer, (_topics, unknown) in zip(groups, answers, named, strict=True)
    ]
    return {"groups": results} if call.version >= _MANY_GROUPS else results[0]


def _member_and_epoch(group: Any) -> tuple[str, int]:
    """Return member id and epoch, which members with the consumer protocol send."""
    return getattr(group, "member_id", None) or "", getattr(group, "member_epoch", -1)


def _partitions(topics: Iterable[tuple[str, Any]]) -> tuple[str, ...]:
    return tuple(partition_name(name, number) for name, topic in topics for number in topic.partition_indexes)


def _fetched(call: ApiCall, answer: OffsetFetchResponse, unknown: list[Any]) -> dict[str, Any]:
    rows = [
        (
            each.partition,
            {
                "partition_index": split_partition(each.partition)[1], "committed_offset": each.offset,
                "committed_leader_epoch": each.leader_epoch, "metadata": each.metadata, "error_code": each.error,
            },
        )
        for each in answer.partitions
    ]  # fmt: skip
    topics = [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]
    if _uses_ids(call):
        topics = _with_ids(call, topics)
    return {"topics": topics if answer.error else [*topics, *map(_unknown_id, unknown)], "error_code": answer.error}


def _with_ids(call: ApiCall, topics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return topics with their ids, without those that the broker does not know (``fetchAllOffsetsForGroup``)."""
    states = call.context.states(call.broker)
    ids = {
        split_partition(name)[0]: topic_uuid(split_partition(name)[0], each.topic_id) for name, each in states.items()
    }
    return [{**topic, "topic_id": ids[topic["name"]]} for topic in topics if topic["name"] in ids]


def offset_delete(call: ApiCall) -> RequestHandlerGenerator:
    """Handle OffsetDelete: delete the committed offsets of partitions."""
    names = tuple(
        partition_name(topic.name, each.partition_index) for topic in call.request.topics for each in topic.partitions
    )
    (answer,) = yield ask(OffsetDeleteRequest(0, call.request.group_id, names))
    return {"error_code": answer.error, **_verdicts(answer.partitions)}


# Groups by the consumer protocol (KIP-848): ConsumerGroupHeartbeat and ConsumerGroupDescribe.
#
# Requests contain topic ids; an unknown id becomes a partition that does not exist. Racks are ignored, as in Kafka's
# two assignors.


NO_EPOCH: Final = LEAVE_FOR_NOW - 1
"""Epoch below all valid ones, for which the model returns INVALID_REQUEST."""
CONSUMER_MEMBER_TYPE: Final = 1
"""Member type of the consumer protocol (KIP-1099)."""


def consumer_group_heartbeat(call: ApiCall) -> RequestHandlerGenerator:
    """Handle ConsumerGroupHeartbeat: a member joins, stays, reports its partitions, or leaves."""
    request = call.request
    nameless = request.instance_id == "" or request.rack_id == ""  # null means none, an empty string is invalid
    (answer,) = yield ask(
        ConsumerGroupHeartbeatRequest(
            0, request.group_id, request.member_id, NO_EPOCH if nameless else request.member_epoch, call.client,
            request.instance_id or "", ms(request.rebalance_timeout), _names(request.subscribed_topic_names),
            call.get("subscribed_topic_regex"), request.server_assignor, _owned(call), call.version,
        )
    )  # fmt: skip
    if answer.error:
        return {"error_code": answer.error}
    assignment = None if answer.assignment is None else {"topic_partitions": _topics(call, answer.assignment)}
    return {
        "error_code": answer.error,
        "member_id": answer.member_id,
        "member_epoch": answer.member_epoch,
        "heartbeat_interval": answer.heartbeat_us // 1_000,
        "assignment": assignment,
    }


def _names(topics: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if topics is None else tuple(map(str, topics))


def _owned(call: ApiCall) -> tuple[str, ...] | None:
    topics = call.request.topic_partitions
    if topics is None:
        return None
    return tuple(
        partition_name(topic_of_id(call.context, call.broker, topic.topic_id) or topic.topic_id, number)
        for topic in topics
        for number in topic.partitions
    )


def _topics(call: ApiCall, partitions: Iterable[str]) -> list[dict[str, Any]]:
    """Return partitions by topic, with topic id and name; versions without the name ignore it."""
    states = call.context.states(call.broker)
    rows = [(name, {"id": topic_id_in(states, name), "number": split_partition(name)[1]}) for name in partitions]
    return [
        {"topic_id": found[0]["id"], "topic_name": topic, "partitions": [each["number"] for each in found]}
        for topic, found in by_topic(rows).items()
    ]


def describe_consumer_groups(call: ApiCall) -> RequestHandlerGenerator:
    """Handle ConsumerGroupDescribe: groups with the epoch, assignment and target of each member."""
    (answer,) = yield ask(ConsumerGroupDescribeRequest(0, tuple(call.request.group_ids)))
    groups = [_describe_consumer_group(call, each) for each in answer.groups]
    return {"groups": [{**each, **_operations(call, each["error_code"])} for each in groups]}


def _operations(call: ApiCall, error: int) -> dict[str, int]:
    """Return the authorized operations on a group, if requested."""
    if error or not call.get("include_authorized_operations", False):
        return {}
    return {"authorized_operations": group_operations(call.context.cluster.profile)}


def _describe_consumer_group(call: ApiCall, group: DescribedConsumerGroup) -> dict[str, Any]:
    return {
        "error_code": group.error,
        "group_id": group.group_id,
        "group_state": state_of(group),
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": group.assignor,
        "members": [_describe_member(call, each) for each in group.members],
    }


def _describe_member(call: ApiCall, member: DescribedConsumer) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "instance_id": member.group_instance_id or None,
        "rack_id": None,
        "member_epoch": member.epoch,
        "client_id": member.client_id,
        "client_host": CLIENT_HOST,
        "subscribed_topic_names": member.topics,
        "subscribed_topic_regex": member.pattern or None,
        "assignment": {"topic_partitions": _topics(call, member.assigned)},
        "target_assignment": {"topic_partitions": _topics(call, member.target)},
        "member_type": CONSUMER_MEMBER_TYPE,
    }


# The embedded protocol of consumers (``ConsumerProtocol``): passed on unchanged, parsed only for its topics.


WIRE: Final = "wire:"
"""Prefix of user data in the model that contains a real member's whole message, as Latin-1."""
_VERSION: Final = 2
_read_subscription: Final = entity_reader(ConsumerProtocolSubscription)
_read_assignment: Final = entity_reader(ConsumerProtocolAssignment)
_write_subscription: Final = entity_writer(ConsumerProtocolSubscription)
_write_assignment: Final = entity_writer(ConsumerProtocolAssignment)


def _kept(data: bytes) -> str:
    return WIRE + data.decode("latin-1")


def subscription(data: bytes, protocol_type: str) -> Subscription:
    """Return a member's metadata; the coordinator only parses that of consumers."""
    if protocol_type != "consumer":
        return Subscription((), user_data=_kept(data))
    try:
        found, _size = _read_subscription(data[_VERSION:], 0)
    except Exception:  # members may send any bytes: a coordinator passes them on
        return Subscription((), user_data=_kept(data))
    return Subscription(tuple(found.topics), user_data=_kept(data))


def subscription_bytes(subscription: Subscription | None) -> bytes:
    """Return a subscription as a real group leader parses it."""
    if subscription is None:
        return b""
    if subscription.user_data.startswith(WIRE):
        return subscription.user_data[len(WIRE) :].encode("latin-1")
    return _written(_write_subscription, ConsumerProtocolSubscription(topics=subscription.topics, user_data=None))


def assignment(data: bytes, protocol_type: str) -> Assignment:
    """Return the assignment that a group leader sends for a member."""
    if protocol_type not in ("", "consumer") or not data:
        return Assignment(user_data=_kept(data))
    try:
        body, _size = _read_assignment(data[_VERSION:], 0)
    except Exception:
        return Assignment(user_data=_kept(data))
    given = tuple(
        partition_name(each.topic, number)
        for each in body.assigned_partitions
        for number in each.partitions
        if number >= 0
    )
    return Assignment(given, _kept(data))


def assignment_bytes(assignment: Assignment) -> bytes:
    """Return an assignment as a real member parses it."""
    if assignment.user_data.startswith(WIRE):
        return assignment.user_data[len(WIRE) :].encode("latin-1")
    if not assignment.partitions:
        return b""
    topics = by_topic((each, {"number": split_partition(each)[1]}) for each in assignment.partitions)
    parts = tuple(
        Assigned(topic=TopicName(topic), partitions=tuple(each["number"] for each in found))
        for topic, found in topics.items()
    )
    return _written(_write_assignment, ConsumerProtocolAssignment(assigned_partitions=parts, user_data=None))


def _written(write: Any, message: Any) -> bytes:
    out = io.BytesIO()
    out.write(b"\0\0")
    write(out, message)
    return out.getvalue()


_MANY_KEYS = 4
"""First version of FindCoordinator with several keys (KIP-699)."""
_SEVERAL_LEAVE = 3


def find_coordinator(call: ApiCall) -> RequestHandlerGenerator:
    """Handle FindCoordinator: coordinators of groups or transactional ids."""
    kind = call.get("key_type", 0)
    keys = tuple(call.request.coordinator_keys) if call.version >= _MANY_KEYS else (call.request.key,)
    answers = yield ask(*[FindCoordinatorRequest(0, key, kind) for key in keys])
    found = [{"key": key, **_coordinator(call, answer)} for key, answer in zip(keys, answers, strict=True)]
    return {"coordinators": found} if call.version >= _MANY_KEYS else found[0]


def _coordinator(call: ApiCall, answer: FindCoordinatorResponse) -> dict[str, Any]:
    host, port = call.context.addresses.get(answer.node_id, ("", -1))
    return {"error_code": answer.error, "node_id": answer.node_id, "host": host, "port": port}


def join_group(call: ApiCall) -> RequestHandlerGenerator:
    """Handle JoinGroup: answered when the generation is complete."""
    request = call.request
    session_us = ms(request.session_timeout)
    rebalance = call.get("rebalance_timeout")
    protocols = tuple(
        MemberProtocol(each.name, subscription(each.metadata, request.protocol_type)) for each in request.protocols
    )
    (answer,) = yield ask(
        JoinGroupRequest(
            0, request.group_id, call.client, request.member_id, session_us,
            session_us if rebalance is None else ms(rebalance), protocols, call.get("group_instance_id") or "",
            request.protocol_type, call.version,
        )
    )  # fmt: skip
    members = [
        {
            "member_id": each.member_id,
            "group_instance_id": each.group_instance_id or None,
            "metadata": subscription_bytes(each.metadata),
        }
        for each in answer.members
    ]
    return {
        "error_code": answer.error,
        "generation_id": answer.generation_id,
        "protocol_type": None if answer.error else request.protocol_type,
        "protocol_name": answer.protocol_name or (None if call.version >= 7 else ""),
        "leader": answer.leader,
        "member_id": answer.member_id,
        "skip_assignment": answer.skip_assignment,
        "members": members,
    }


def sync_group(call: ApiCall) -> RequestHandlerGenerator:
    """Handle SyncGroup: a member's assignment; the leader sends those of all members."""
    request = call.request
    kind = call.get("protocol_type") or ""
    given = tuple((each.member_id, assignment(each.assignment, kind)) for each in request.assignments)
    (answer,) = yield ask(
        SyncGroupRequest(
            0, request.group_id, request.generation_id, request.member_id, given,
            call.get("group_instance_id") or "", kind, call.get("protocol_name") or "",
        )
    )  # fmt: skip
    return {
        "error_code": answer.error,
        "protocol_type": None if answer.error else kind or CONSUMER_PROTOCOL,
        "protocol_name": None if answer.error else call.get("protocol_name"),
        "assignment": assignment_bytes(answer.assignment),
    }


def heartbeat(call: ApiCall) -> RequestHandlerGenerator:
    """Handle Heartbeat: keep a member's session alive."""
    request = call.request
    instance = call.get("group_instance_id") or ""
    (answer,) = yield ask(
        HeartbeatRequest(0, request.group_id, request.generation_id, request.member_id, instance)
    )  # fmt: skip
    return {"error_code": answer.error}


def leave_group(call: ApiCall) -> RequestHandlerGenerator:
    """Handle LeaveGroup: remove members."""
    request = call.request
    if call.version < _SEVERAL_LEAVE:
        members: tuple[LeavingMember, ...] = (LeavingMember(request.member_id),)
    else:
        members = tuple(LeavingMember(each.member_id, each.group_instance_id or "") for each in request.members)
    (answer,) = yield ask(LeaveGroupRequest(0, request.group_id, members))
    if call.version < _SEVERAL_LEAVE:
        return {"error_code": answer.error or answer.members[0]}
    results = [
        {"member_id": member, "group_instance_id": instance or None, "error_code": error}
        for (member, instance), error in zip(members, answer.members, strict=False)
    ]
    return {"error_code": answer.error, "members": results}


def describe_groups(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DescribeGroups: classic groups; members' metadata only while the group is stable."""
    (answer,) = yield ask(DescribeGroupsRequest(0, tuple(call.request.groups), classic=True))
    groups = [_describe_group(call, each) for each in answer.groups]
    return {"groups": [{**each, **_operations(call, each["error_code"])} for each in groups]}


DEAD = "Dead"
_UNKNOWN_IS_ERROR = 6
"""First version of DescribeGroups that returns an error instead of a Dead group for an unknown id (KIP-1043)."""


def _describe_group(call: ApiCall, group: DescribedGroup) -> dict[str, Any]:
    unknown = call.version >= _UNKNOWN_IS_ERROR and not group.error and state_of(group) == DEAD
    return {
        "error_code": KafkaError.GROUP_ID_NOT_FOUND if unknown else group.error,
        "error_message": f"Group {group.group_id} not found." if unknown else None,
        "group_id": group.group_id,
        "group_state": state_of(group),
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol,
        "members": [
            {
                "member_id": each.member_id,
                "group_instance_id": each.group_instance_id or None,
                "client_id": each.client_id,
                "client_host": CLIENT_HOST,
                "member_metadata": subscription_bytes(each.metadata),
                "member_assignment": assignment_bytes(each.assignment),
            }
            for each in group.members
        ],
    }


def list_groups(call: ApiCall) -> RequestHandlerGenerator:
    """Handle ListGroups: the groups that this broker coordinates."""
    states, types = tuple(call.get("states_filter", ())), tuple(call.get("types_filter", ()))
    (answer,) = yield ask(ListGroupsRequest(0, states, types))
    groups = [
        {
            "group_id": each.group_id,
            "protocol_type": each.protocol_type,
            "group_state": state_of(each),
            "group_type": each.group_type,
        }
        for each in answer.groups
    ]
    return {"error_code": answer.error, "groups": groups}


def delete_groups(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DeleteGroups: delete groups and their committed offsets."""
    (answer,) = yield ask(DeleteGroupsRequest(0, tuple(call.request.groups_names)))
    results = [{"group_id": group, "error_code": error} for group, error in answer.groups]
    return {"error_code": KafkaError.NONE, "results": results}
