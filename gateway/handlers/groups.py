"""Group membership: FindCoordinator, JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and what administrators ask."""

from typing import Any

from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    CONSUMER_PROTOCOL,
    DeleteGroupsRequest,
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
    SyncGroupRequest,
)
from gateway.handlers.protocol import assignment, assignment_bytes, subscription, subscription_bytes
from gateway.protocol.context import CLIENT_HOST, Call, Flow, ask, ms, state_of

_MANY_KEYS = 4
"""Version of FindCoordinator from which it has several keys (KIP-699)."""
_SEVERAL_LEAVE = 3


def find_coordinator(call: Call) -> Flow:
    """Who coordinates groups, or transactional ids."""
    kind = call.get("key_type", 0)
    keys = tuple(call.request.coordinator_keys) if call.version >= _MANY_KEYS else (call.request.key,)
    answers = yield ask(*[FindCoordinatorRequest(0, key, kind) for key in keys])
    found = [{"key": key, **_place(call, answer)} for key, answer in zip(keys, answers, strict=True)]
    return {"coordinators": found} if call.version >= _MANY_KEYS else found[0]


def _place(call: Call, answer: FindCoordinatorResponse) -> dict[str, Any]:
    host, port = call.house.addresses.get(answer.node_id, ("", -1))
    return {"error_code": answer.error, "node_id": answer.node_id, "host": host, "port": port}


def join_group(call: Call) -> Flow:
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


def sync_group(call: Call) -> Flow:
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


def heartbeat(call: Call) -> Flow:
    """A member is alive."""
    request = call.request
    instance = call.get("group_instance_id") or ""
    (answer,) = yield ask(
        HeartbeatRequest(0, request.group_id, request.generation_id, request.member_id, instance)
    )  # fmt: skip
    return {"error_code": answer.error}


def leave_group(call: Call) -> Flow:
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


def describe_groups(call: Call) -> Flow:
    """The state of groups whose members join and sync, members' metadata included while they are stable."""
    (answer,) = yield ask(DescribeGroupsRequest(0, tuple(call.request.groups), classic=True))
    return {"groups": [_described(each) for each in answer.groups]}


def _described(group: DescribedGroup) -> dict[str, Any]:
    return {
        "error_code": group.error,
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


def list_groups(call: Call) -> Flow:
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


def delete_groups(call: Call) -> Flow:
    """Delete groups and what they have committed."""
    (answer,) = yield ask(DeleteGroupsRequest(0, tuple(call.request.groups_names)))
    results = [{"group_id": group, "error_code": error} for group, error in answer.groups]
    return {"error_code": KafkaError.NONE, "results": results}
