"""Groups by the consumer protocol (KIP-848): ConsumerGroupHeartbeat and ConsumerGroupDescribe.

On the wire topics have ids. An id that the broker does not know stands for a partition that nobody has. Racks are taken
and not looked at, as Kafka's own two assignors do not look at them.
"""

from collections.abc import Iterable
from typing import Any, Final

from cluster_model.protocol.messages_part import (
    LEAVE_FOR_NOW,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DescribedConsumer,
    DescribedConsumerGroup,
)
from gateway.protocol.context import (
    CLIENT_HOST,
    Call,
    Flow,
    ask,
    by_topic,
    ms,
    split,
    state_of,
    topic_id_in,
    topic_named,
)

NO_EPOCH: Final = LEAVE_FOR_NOW - 1
"""Below every epoch that there is: what is asked in it is an INVALID_REQUEST."""
BY_ITSELF: Final = 1
"""A member's type: by this protocol (KIP-1099)."""


def heartbeat(call: Call) -> Flow:
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


def _owned(call: Call) -> tuple[str, ...] | None:
    topics = call.request.topic_partitions
    if topics is None:
        return None
    return tuple(
        f"{topic_named(call.house, call.broker, topic.topic_id) or topic.topic_id}-{number}"
        for topic in topics
        for number in topic.partitions
    )


def _topics(call: Call, partitions: Iterable[str]) -> list[dict[str, Any]]:
    """Partitions by topic, with its id and its name, which versions without it pass over."""
    states = call.house.states(call.broker)
    rows = [(name, {"id": topic_id_in(states, name), "number": split(name)[1]}) for name in partitions]
    return [
        {"topic_id": found[0]["id"], "topic_name": topic, "partitions": [each["number"] for each in found]}
        for topic, found in by_topic(rows).items()
    ]


def describe(call: Call) -> Flow:
    """The state of groups, with the epoch, the assignment and the target of each member."""
    (answer,) = yield ask(ConsumerGroupDescribeRequest(0, tuple(call.request.group_ids)))
    return {"groups": [_described(call, each) for each in answer.groups]}


def _described(call: Call, group: DescribedConsumerGroup) -> dict[str, Any]:
    return {
        "error_code": group.error,
        "group_id": group.group_id,
        "group_state": state_of(group),
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": group.assignor,
        "members": [_member(call, each) for each in group.members],
    }


def _member(call: Call, member: DescribedConsumer) -> dict[str, Any]:
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
