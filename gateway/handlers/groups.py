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
from gateway.protocol.context import (
    CLIENT_HOST,
    ApiCall,
    Flow,
    ask,
    by_topic,
    ms,
    named,
    of_group,
    split,
    state_of,
    topic_id_in,
    topic_named,
)

# Offsets of groups: OffsetCommit, OffsetFetch, OffsetDelete, and TxnOffsetCommit of a transaction.


_MANY_GROUPS = 8
"""Version of OffsetFetch from which it has several groups (KIP-709)."""


def _offsets(call: ApiCall) -> tuple[CommittedOffset, ...]:
    return tuple(
        CommittedOffset(
            named(topic.name, each.partition_index), each.committed_offset,
            getattr(each, "committed_leader_epoch", -1), each.committed_metadata or "",
        )
        for topic in call.request.topics
        for each in topic.partitions
    )  # fmt: skip


def _verdicts(partitions: tuple[tuple[str, int], ...]) -> dict[str, Any]:
    rows = [(name, {"partition_index": split(name)[1], "error_code": error}) for name, error in partitions]
    return {"topics": [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


def offset_commit(call: ApiCall) -> Flow:
    """Commit; answered when it is replicated."""
    request = call.request
    (answer,) = yield ask(
        OffsetCommitRequest(
            0, request.group_id, request.generation_id_or_member_epoch, request.member_id, _offsets(call),
            call.get("group_instance_id") or "", _retention_us(call), call.version,
        )
    )  # fmt: skip
    return _verdicts(answer.partitions)


def _retention_us(call: ApiCall) -> int:
    kept = call.get("retention_time")
    return -1 if kept is None else ms(kept)


def txn_offset_commit(call: ApiCall) -> Flow:
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


def offset_fetch(call: ApiCall) -> Flow:
    """What is committed."""
    request = call.request
    groups = request.groups if call.version >= _MANY_GROUPS else (request,)
    stable = bool(call.get("require_stable", False))
    answers = yield ask(
        *[
            OffsetFetchRequest(0, each.group_id, _partitions(each.topics), stable, *_member_and_epoch(each))
            for each in groups
        ]
    )  # fmt: skip
    told = [{"group_id": each.group_id, **_fetched(answer)} for each, answer in zip(groups, answers, strict=True)]
    return {"groups": told} if call.version >= _MANY_GROUPS else told[0]


def _member_and_epoch(group: Any) -> tuple[str, int]:
    """Who asks, and in which epoch: a member by the consumer protocol says so."""
    return getattr(group, "member_id", None) or "", getattr(group, "member_epoch", -1)


def _partitions(topics: Any) -> tuple[str, ...] | None:
    if topics is None:
        return None
    return tuple(named(topic.name, number) for topic in topics for number in topic.partition_indexes)


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


def offset_delete(call: ApiCall) -> Flow:
    """Delete what is committed for some partitions."""
    names = tuple(named(topic.name, each.partition_index) for topic in call.request.topics for each in topic.partitions)
    (answer,) = yield ask(OffsetDeleteRequest(0, call.request.group_id, names))
    return {"error_code": answer.error, **_verdicts(answer.partitions)}


# Groups by the consumer protocol (KIP-848): ConsumerGroupHeartbeat and ConsumerGroupDescribe.
#
# On the wire topics have ids. An id that the broker does not know stands for a partition that nobody has. Racks are
# taken and not looked at, as Kafka's own two assignors do not look at them.


NO_EPOCH: Final = LEAVE_FOR_NOW - 1
"""Below every epoch that there is: what is asked in it is an INVALID_REQUEST."""
BY_ITSELF: Final = 1
"""A member's type: by this protocol (KIP-1099)."""


def consumer_group_heartbeat(call: ApiCall) -> Flow:
    """A member joins, lives, tells what it owns, or leaves."""
    request = call.request
    nameless = request.instance_id == "" or request.rack_id == ""  # null is no name, empty is a wrong one
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
        named(topic_named(call.house, call.broker, topic.topic_id) or topic.topic_id, number)
        for topic in topics
        for number in topic.partitions
    )


def _topics(call: ApiCall, partitions: Iterable[str]) -> list[dict[str, Any]]:
    """Partitions by topic, with its id and its name, which versions without it pass over."""
    states = call.house.states(call.broker)
    rows = [(name, {"id": topic_id_in(states, name), "number": split(name)[1]}) for name in partitions]
    return [
        {"topic_id": found[0]["id"], "topic_name": topic, "partitions": [each["number"] for each in found]}
        for topic, found in by_topic(rows).items()
    ]


def describe_consumer_groups(call: ApiCall) -> Flow:
    """The state of groups, with the epoch, the assignment and the target of each member."""
    (answer,) = yield ask(ConsumerGroupDescribeRequest(0, tuple(call.request.group_ids)))
    told = [_describe_consumer_group(call, each) for each in answer.groups]
    return {"groups": [{**each, **_operations(call, each["error_code"])} for each in told]}


def _operations(call: ApiCall, error: int) -> dict[str, int]:
    """What a client may do with a group, if it asks."""
    if error or not call.get("include_authorized_operations", False):
        return {}
    return {"authorized_operations": of_group(call.house.cluster.profile)}


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
        "member_type": BY_ITSELF,
    }


# The embedded protocol of consumers (``ConsumerProtocol``): passed on as it is, read only for its topics.


WIRE: Final = "wire:"
"""Begins the model's user data that is a real member's whole message; byte for byte, as Latin-1."""
_VERSION: Final = 2
_read_subscription: Final = entity_reader(ConsumerProtocolSubscription)
_read_assignment: Final = entity_reader(ConsumerProtocolAssignment)
_write_subscription: Final = entity_writer(ConsumerProtocolSubscription)
_write_assignment: Final = entity_writer(ConsumerProtocolAssignment)


def _kept(data: bytes) -> str:
    return WIRE + data.decode("latin-1")


def subscription(data: bytes, protocol_type: str) -> Subscription:
    """A member's metadata; only that of consumers says anything to a coordinator."""
    if protocol_type != "consumer":
        return Subscription((), user_data=_kept(data))
    try:
        found, _size = _read_subscription(data[_VERSION:], 0)
    except Exception:  # a member may say what it likes: a coordinator passes it on
        return Subscription((), user_data=_kept(data))
    return Subscription(tuple(found.topics), user_data=_kept(data))


def subscription_bytes(told: Subscription | None) -> bytes:
    """As a real leader reads it."""
    if told is None:
        return b""
    if told.user_data.startswith(WIRE):
        return told.user_data[len(WIRE) :].encode("latin-1")
    return _written(_write_subscription, ConsumerProtocolSubscription(topics=told.topics, user_data=None))


def assignment(data: bytes, protocol_type: str) -> Assignment:
    """What a leader gives a member."""
    if protocol_type not in ("", "consumer") or not data:
        return Assignment(user_data=_kept(data))
    try:
        found, _size = _read_assignment(data[_VERSION:], 0)
    except Exception:
        return Assignment(user_data=_kept(data))
    given = tuple(
        named(each.topic, number) for each in found.assigned_partitions for number in each.partitions if number >= 0
    )
    return Assignment(given, _kept(data))


def assignment_bytes(told: Assignment) -> bytes:
    """As a real member reads it."""
    if told.user_data.startswith(WIRE):
        return told.user_data[len(WIRE) :].encode("latin-1")
    if not told.partitions:
        return b""
    topics = by_topic((each, {"number": split(each)[1]}) for each in told.partitions)
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
"""Version of FindCoordinator from which it has several keys (KIP-699)."""
_SEVERAL_LEAVE = 3


def find_coordinator(call: ApiCall) -> Flow:
    """Who coordinates groups, or transactional ids."""
    kind = call.get("key_type", 0)
    keys = tuple(call.request.coordinator_keys) if call.version >= _MANY_KEYS else (call.request.key,)
    answers = yield ask(*[FindCoordinatorRequest(0, key, kind) for key in keys])
    found = [{"key": key, **_place(call, answer)} for key, answer in zip(keys, answers, strict=True)]
    return {"coordinators": found} if call.version >= _MANY_KEYS else found[0]


def _place(call: ApiCall, answer: FindCoordinatorResponse) -> dict[str, Any]:
    host, port = call.house.addresses.get(answer.node_id, ("", -1))
    return {"error_code": answer.error, "node_id": answer.node_id, "host": host, "port": port}


def join_group(call: ApiCall) -> Flow:
    """Become a member; answered when the generation is complete."""
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


def sync_group(call: ApiCall) -> Flow:
    """Ask for one's assignment; the leader brings everybody's."""
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


def heartbeat(call: ApiCall) -> Flow:
    """A member is alive."""
    request = call.request
    instance = call.get("group_instance_id") or ""
    (answer,) = yield ask(
        HeartbeatRequest(0, request.group_id, request.generation_id, request.member_id, instance)
    )  # fmt: skip
    return {"error_code": answer.error}


def leave_group(call: ApiCall) -> Flow:
    """Members leave."""
    request = call.request
    if call.version < _SEVERAL_LEAVE:
        members: tuple[LeavingMember, ...] = (LeavingMember(request.member_id),)
    else:
        members = tuple(LeavingMember(each.member_id, each.group_instance_id or "") for each in request.members)
    (answer,) = yield ask(LeaveGroupRequest(0, request.group_id, members))
    if call.version < _SEVERAL_LEAVE:
        return {"error_code": answer.error or answer.members[0]}
    told = [
        {"member_id": member, "group_instance_id": instance or None, "error_code": error}
        for (member, instance), error in zip(members, answer.members, strict=False)
    ]
    return {"error_code": answer.error, "members": told}


def describe_groups(call: ApiCall) -> Flow:
    """The state of groups whose members join and sync, members' metadata included while they are stable."""
    (answer,) = yield ask(DescribeGroupsRequest(0, tuple(call.request.groups), classic=True))
    told = [_describe_group(call, each) for each in answer.groups]
    return {"groups": [{**each, **_operations(call, each["error_code"])} for each in told]}


DEAD = "Dead"
_TELLS_UNKNOWN = 6
"""Version of DescribeGroups from which a group that is not there is an error, and not a Dead group (KIP-1043)."""


def _describe_group(call: ApiCall, group: DescribedGroup) -> dict[str, Any]:
    unknown = call.version >= _TELLS_UNKNOWN and not group.error and state_of(group) == DEAD
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


def list_groups(call: ApiCall) -> Flow:
    """The groups that this broker coordinates."""
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


def delete_groups(call: ApiCall) -> Flow:
    """Delete groups and what they have committed."""
    (answer,) = yield ask(DeleteGroupsRequest(0, tuple(call.request.groups_names)))
    results = [{"group_id": group, "error_code": error} for group, error in answer.groups]
    return {"error_code": KafkaError.NONE, "results": results}
