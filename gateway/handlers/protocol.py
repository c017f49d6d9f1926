"""What consumers say to each other in a group (``ConsumerProtocol``): handed on as it is, read only for its topics."""

import io
from typing import Any, Final

from kio.schema.consumer_protocol_assignment.v0.data import ConsumerProtocolAssignment
from kio.schema.consumer_protocol_assignment.v0.data import TopicPartition as Assigned
from kio.schema.consumer_protocol_subscription.v0.data import ConsumerProtocolSubscription
from kio.schema.types import TopicName
from kio.serial import entity_reader, entity_writer

from cluster_model.protocol.group_messages import Assignment, Subscription
from gateway.protocol.codec import RequestError
from gateway.protocol.context import by_topic, split

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
    except Exception as error:  # a member may say what it likes
        raise RequestError(f"found a subscription that is none: {error}") from None
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
    given = tuple(f"{each.topic}-{number}" for each in found.assigned_partitions for number in each.partitions)
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
