"""Records of ``__consumer_offsets`` as named records: ``KEY=VALUE``, compact JSON arrays, and ``KEY=`` a tombstone.

A key begins with Kafka's key version: 1 for an offset, 2 for a group (``OffsetCommitKey``, ``GroupMetadataKey``).
"""

import json
from typing import Any, Final, NamedTuple

from cluster_model.protocol.group_messages import NOTHING, Assignment, Subscription

_OFFSET: Final = 1
_GROUP: Final = 2


class OffsetAndMetadata(NamedTuple):
    """A committed offset, the next to be read (``OffsetCommitValue``). ``expires_us`` -1: by the broker's retention."""

    offset: int
    leader_epoch: int
    metadata: str
    committed_us: int
    expires_us: int = -1


class StoredMember(NamedTuple):
    """A member of a stored group (``GroupMetadataValue.MemberMetadata``)."""

    member_id: str
    group_instance_id: str
    client_id: str
    host: int
    rebalance_us: int
    session_us: int
    subscription: Subscription
    assignment: Assignment = NOTHING


class GroupValue(NamedTuple):
    """A group as it is stored (``GroupMetadataValue``); ``since_us`` is when it came to its state."""

    protocol_type: str
    generation: int
    protocol: str
    leader: str
    since_us: int
    members: tuple[StoredMember, ...]


class OffsetRecord(NamedTuple):
    """A commit; without a value its tombstone."""

    group_id: str
    partition: str
    value: OffsetAndMetadata | None


class GroupRecord(NamedTuple):
    """A group's members and generation; without a value its tombstone."""

    group_id: str
    value: GroupValue | None


def encode(record: OffsetRecord | GroupRecord) -> str:
    """The record's text."""
    if isinstance(record, OffsetRecord):
        topic, _dash, number = record.partition.rpartition("-")
        key: list[Any] = [_OFFSET, record.group_id, topic, int(number)]
    else:
        key = [_GROUP, record.group_id]
    return f"{_text(key)}={'' if record.value is None else _text(record.value)}"


def decode(text: str) -> OffsetRecord | GroupRecord:
    """Undo of :func:`encode`.

    Raises:
        ValueError: a record of something else.
    """
    key_text, _sign, value_text = text.partition("=")
    version, group_id, *place = json.loads(key_text)
    value = json.loads(value_text) if value_text else None
    if version == _OFFSET:
        topic, number = place
        return OffsetRecord(group_id, f"{topic}-{number}", None if value is None else OffsetAndMetadata(*value))
    if version == _GROUP:
        return GroupRecord(group_id, None if value is None else _group(value))
    raise ValueError(f"no record of a group: {text!r}")


def _group(value: list[Any]) -> GroupValue:
    protocol_type, generation, protocol, leader, since_us, members = value
    return GroupValue(protocol_type, generation, protocol, leader, since_us, tuple(map(_member, members)))


def _member(value: list[Any]) -> StoredMember:
    member_id, instance, client_id, host, rebalance_us, session_us, subscription, assignment = value
    (topics, owned, *more), (partitions, user_data) = subscription, assignment
    return StoredMember(
        member_id, instance, client_id, host, rebalance_us, session_us,
        Subscription(tuple(topics), tuple(owned), *more), Assignment(tuple(partitions), user_data),
    )  # fmt: skip


def _text(value: Any) -> str:
    # A record's key ends at its first "=", so there is none inside: the sign only ever stands in a JSON string.
    return json.dumps(value, separators=(",", ":")).replace("=", "\\u003d")
