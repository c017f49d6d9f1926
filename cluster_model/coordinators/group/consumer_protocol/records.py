"""What a group of the consumer protocol writes to ``__consumer_offsets``: the only way in which it changes.

Keys begin with Kafka's key versions (``ConsumerGroupMetadataKey`` and its like); None is a tombstone.
"""

import json
from typing import Any, Final, NamedTuple

EPOCH: Final = 3
"""The group's epoch ..."""
TOPICS: Final = 4
"""... (topic, partitions) of what its members subscribe to, as last seen ..."""
MEMBER: Final = 5
"""... what a member says of itself ..."""
TARGET_EPOCH: Final = 6
"""... the group epoch that the target assignment is for ..."""
TARGET: Final = 7
"""... a member's part of that ..."""
CURRENT: Final = 8
"""... and where the member is on its way there."""

_OF_MEMBERS: Final = (MEMBER, TARGET, CURRENT)

STABLE: Final = 0
"""It has all that it is to have as of its epoch (``MemberState``) ..."""
UNREVOKED: Final = 1
"""... has yet to give something up ..."""
UNRELEASED: Final = 2
"""... or waits for what somebody else has yet to give up."""


class MemberValue(NamedTuple):
    """A member's words (``ConsumerGroupMemberMetadataValue``)."""

    group_instance_id: str
    client_id: str
    host: int
    topics: tuple[str, ...]
    pattern: str
    assignor: str
    """Empty: whatever the others want."""
    rebalance_us: int


class CurrentValue(NamedTuple):
    """A member's progress (``ConsumerGroupCurrentMemberAssignmentValue``)."""

    epoch: int
    previous: int
    """The epoch before, which it still has if an answer was lost."""
    state: int
    assigned: tuple[str, ...]
    revoking: tuple[str, ...]
    """What it is still taken to own besides."""


class ModernRecord(NamedTuple):
    """A record; ``member_id`` is empty for what is the whole group's."""

    kind: int
    group_id: str
    member_id: str = ""
    value: Any = None


def is_modern(text: str) -> bool:
    """Whether a record is one of these, not an offset's or a classic group's."""
    return int(text[1 : text.index(",")]) >= EPOCH


def encode(record: ModernRecord) -> str:
    """The record's text."""
    key: list[Any] = [record.kind, record.group_id]
    if record.kind in _OF_MEMBERS:
        key.append(record.member_id)
    return f"{_text(key)}={'' if record.value is None else _text(record.value)}"


def decode(text: str) -> ModernRecord:
    """Undo of :func:`encode`."""
    key_text, _sign, value_text = text.partition("=")
    kind, group_id, *member = json.loads(key_text)
    value = json.loads(value_text) if value_text else None
    return ModernRecord(kind, group_id, member[0] if member else "", None if value is None else _value(kind, value))


def _value(kind: int, value: Any) -> Any:
    if kind == MEMBER:
        instance, client_id, host, topics, *rest = value
        return MemberValue(instance, client_id, host, tuple(topics), *rest)
    if kind == CURRENT:
        epoch, previous, state, assigned, revoking = value
        return CurrentValue(epoch, previous, state, tuple(assigned), tuple(revoking))
    if kind == TOPICS:
        return tuple([(topic, count) for topic, count in value])
    return tuple(value) if kind == TARGET else value


def _text(value: Any) -> str:
    # A record's key ends at its first "=", so there is none inside: the sign only ever stands in a JSON string.
    return json.dumps(value, separators=(",", ":")).replace("=", "\\u003d")
