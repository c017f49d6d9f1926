"""A group of the consumer protocol (``ConsumerGroup``, KIP-848): its patterns, records, commits and settings.

It changes by :meth:`ModernGroup.replay` alone, whether a record has just been written or is read by a new coordinator.
Clocks are not written: a new coordinator gives every member a whole session, and all its time to give things up.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from cluster_model.protocol.config_defaults import Configured
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import OffsetCommitRequest, OffsetFetchRequest, TxnOffsetCommitRequest
from cluster_model.protocol.versions import Profile

# Regular expressions of subscriptions, compiled by a function that the builder of a cluster chooses.
#
# Kafka's coordinator compiles them with RE2/J, which the standard library has no match for.


PatternMatcher = Callable[[str], bool]
"""Returns whether the whole of a name matches."""

PatternCompiler = Callable[[str], PatternMatcher]
"""Makes a matcher of a regular expression, or raises :class:`PatternError`.

A group calls it with the same expression for every topic, so it keeps what it has compiled.
"""

COMPILED_PATTERNS: Final = 32
"""Expressions that a compiler keeps."""


class PatternError(ValueError):
    """A regular expression that does not compile; the message says why."""


@lru_cache(maxsize=COMPILED_PATTERNS)
def compile_python_pattern(pattern: str) -> PatternMatcher:
    """Compile an expression by Python's ``re``, which backtracks: only for expressions that are trusted.

    Raises:
        PatternError: it is no regular expression.
    """
    try:
        compiled = re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(str(error)) from None
    return lambda name: compiled.fullmatch(name) is not None


def compiles(pattern: str, compile_pattern: PatternCompiler) -> bool:
    """Return whether an expression compiles."""
    try:
        compile_pattern(pattern)
    except PatternError:
        return False
    return True


# A coordinator's settings for the consumer protocol (``GroupCoordinatorConfig``): its times are the broker's.


CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class ModernConfig:
    """Settings, with the defaults of the version."""

    enabled: bool
    """``group.coordinator.rebalance.protocols`` has it: by default since 4.0, before that where it is asked for."""
    session_us: int
    heartbeat_us: int
    max_size: int
    assignors: tuple[str, ...]
    """The first one is taken where members name none."""
    write_timeout_us: int
    """How long an answer waits for the in-sync replicas to have what it tells."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "ModernConfig":
        """Settings for a profile; ``config`` overrides by Kafka's names."""
        own = Configured("broker", profile.number, config)
        return ModernConfig(
            enabled=enabled(profile, config),
            session_us=own.us("group.consumer.session.timeout.ms"),
            heartbeat_us=own.us("group.consumer.heartbeat.interval.ms"),
            max_size=own.number("group.consumer.max.size"),
            assignors=_listed(own.text("group.consumer.assignors")),
            write_timeout_us=own.us("offsets.commit.timeout.ms"),
        )


def enabled(profile: Profile, config: Mapping[str, ConfigValue]) -> bool:
    """Whether a cluster's coordinators take members by this protocol (KRaft only, since 3.7)."""
    own = Configured("broker", profile.number, config)
    asked = _listed(own.text("group.coordinator.rebalance.protocols"))
    return profile.kraft and profile.consumer_protocol and CONSUMER in asked


def _listed(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",")))


# Records of a group of the consumer protocol in ``__consumer_offsets``: the only way in which it changes.
#
# Keys begin with Kafka's key versions (``ConsumerGroupMetadataKey`` and its like); None is a tombstone.


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


UNSEEN: Final = (-1, -1)


class ModernState(StrEnum):
    """A group's state."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class ModernGroup:
    """One group."""

    __slots__ = (
        "current", "epoch", "group_id", "instances", "members", "owners", "revocations", "seen", "serial", "sessions",
        "target", "target_epoch", "topics",
    )  # fmt: skip

    def __init__(self, group_id: str, serial: int) -> None:
        """``serial`` tells it from a former group of that name."""
        self.group_id = group_id
        self.serial = serial
        self.epoch = 0
        self.target_epoch = 0
        self.topics: tuple[tuple[str, int], ...] = ()
        """Subscribed topics with their numbers of partitions, as the group last took note of them."""
        self.members: dict[str, MemberValue] = {}
        self.target: dict[str, tuple[str, ...]] = {}
        self.current: dict[str, CurrentValue] = {}
        self.owners: dict[str, str] = {}
        """Partition → the member that has it, or has not said yet that it has not."""
        self.instances: dict[str, str] = {}
        """Instance id of a static member → its member id."""
        self.sessions: dict[str, int] = {}
        """Member → when it counts as gone."""
        self.revocations: dict[str, int] = {}
        """Member that has to give something up → until when."""
        self.seen = UNSEEN
        """Which state of the broker's metadata has been looked at."""

    @property
    def state(self) -> ModernState:
        """``maybeUpdateGroupState``."""
        if not self.members:
            return ModernState.EMPTY
        if self.epoch > self.target_epoch:
            return ModernState.ASSIGNING
        reconciled = all(
            each.state == STABLE and each.epoch == self.target_epoch for each in self.current.values()
        )  # fmt: skip
        return ModernState.STABLE if reconciled else ModernState.RECONCILING

    # -- records ----------------------------------------------------------------------------------------------------

    def replay(self, record: ModernRecord) -> None:
        """Be as a record says."""
        kind, _group_id, member_id, value = record
        if kind == EPOCH:
            self.epoch = value or 0
        elif kind == TOPICS:
            self.topics = value or ()
        elif kind == TARGET_EPOCH:
            self.target_epoch = value or 0
        elif kind == MEMBER:
            self._member(member_id, value)
        elif kind == TARGET:
            self.target.pop(member_id, None)
            if value is not None:
                self.target[member_id] = value
        elif kind == CURRENT:
            self._current(member_id, value)

    def _member(self, member_id: str, value: MemberValue | None) -> None:
        before = self.members.get(member_id)
        if before is not None and self.instances.get(before.group_instance_id) == member_id:
            del self.instances[before.group_instance_id]
        if value is None:
            self.members.pop(member_id, None)
            self.sessions.pop(member_id, None)
            self.revocations.pop(member_id, None)
            return
        self.members[member_id] = value
        if value.group_instance_id:
            self.instances[value.group_instance_id] = member_id

    def _current(self, member_id: str, value: CurrentValue | None) -> None:
        before = self.current.pop(member_id, None)
        if before is not None:
            for partition in (*before.assigned, *before.revoking):
                if self.owners.get(partition) == member_id:
                    del self.owners[partition]
        if value is not None:
            self.current[member_id] = value
            for partition in (*value.assigned, *value.revoking):
                self.owners[partition] = member_id

    # -- clocks -----------------------------------------------------------------------------------------------------

    def heard_of(self, member_id: str, until: int) -> None:
        """A sign of life: its session lasts until then."""
        self.sessions[member_id] = until

    def time_revocation(self, member_id: str, now: int) -> None:
        """A member's progress was written: it has its rebalance timeout to give up what it has to, if anything."""
        current = self.current.get(member_id)
        self.revocations.pop(member_id, None)
        if current is not None and current.state == UNREVOKED:
            self.revocations[member_id] = now + self.members[member_id].rebalance_us

    def begin_anew(self, now: int, session_us: int) -> None:
        """A new coordinator has read the group."""
        for member_id in self.members:
            self.heard_of(member_id, now + session_us)
            self.time_revocation(member_id, now)

    def overdue(self, now: int) -> list[str]:
        """Members whose session is over, or that have kept for too long what they were to give up."""
        late = [
            member_id for clock in (self.sessions, self.revocations) for member_id, at in clock.items() if at <= now
        ]
        return list(dict.fromkeys(late))

    def due(self) -> int:
        """When somebody may be overdue, -1 never."""
        return min((*self.sessions.values(), *self.revocations.values()), default=-1)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.group_id, self.serial, self.epoch, self.target_epoch, self.topics, tuple(self.members.items()),
            tuple(self.target.items()), tuple(self.current.items()), tuple(self.owners.items()),
            tuple(self.instances.items()), tuple(self.sessions.items()), tuple(self.revocations.items()), self.seen,
        )  # fmt: skip

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "ModernGroup":
        """Undo of :meth:`save`."""
        (
            group_id, serial, epoch, target_epoch, topics, members, target, current, owners, instances, sessions,
            revocations, seen,
        ) = saved  # fmt: skip
        self = cls(group_id, serial)
        self.epoch, self.target_epoch, self.topics, self.seen = epoch, target_epoch, topics, seen
        self.members, self.target, self.current = dict(members), dict(target), dict(current)
        self.owners, self.instances = dict(owners), dict(instances)
        self.sessions, self.revocations = dict(sessions), dict(revocations)
        return self


# Checks of commits and offset fetches in such a group (``ConsumerGroup.validateOffset...``).
#
# Sans-IO: functions of a group, None where there is no such, and a request.


KNOWS_EPOCHS: Final = 9
"""Version of OffsetCommit from which it is a member's by this protocol."""


def may_commit(group: ModernGroup | None, request: OffsetCommitRequest) -> KafkaError | None:
    """Whether a commit is a member's of today; None: no such group.

    A member that tells the version of its request has to use one that knows of epochs (since 3.8).
    """
    if group is None:
        return None
    member_id, epoch = request.member_id, request.generation_id
    if epoch < 0 and not group.members:
        return KafkaError.NONE
    if member_id in group.current and 0 < request.version < KNOWS_EPOCHS:
        return KafkaError.UNSUPPORTED_VERSION
    return _in_step(group, member_id, epoch)


def may_commit_in_transaction(group: ModernGroup | None, request: TxnOffsetCommitRequest) -> KafkaError | None:
    """The same for a transaction's: whoever says to be a member must be one."""
    if group is None:
        return None
    member_id, epoch = request.member_id, request.generation_id
    if epoch < 0 and not (group.members and (member_id or request.group_instance_id)):
        return KafkaError.NONE
    error = _in_step(group, member_id, epoch)
    return KafkaError.ILLEGAL_GENERATION if error is KafkaError.STALE_MEMBER_EPOCH else error


def may_fetch(group: ModernGroup | None, request: OffsetFetchRequest) -> KafkaError:
    """Whether somebody may ask what is committed: everybody who does not claim to be a member."""
    if group is None or (request.member_epoch < 0 and not request.member_id):
        return KafkaError.NONE
    return _in_step(group, request.member_id, request.member_epoch)


def unknown(version: int) -> KafkaError:
    """What a member of a group that nobody knows is told of its commit (``OffsetMetadataManager``)."""
    return KafkaError.GROUP_ID_NOT_FOUND if version >= KNOWS_EPOCHS else KafkaError.ILLEGAL_GENERATION


def _in_step(group: ModernGroup, member_id: str, epoch: int) -> KafkaError:
    current = group.current.get(member_id)
    if current is None:
        return KafkaError.UNKNOWN_MEMBER_ID
    return KafkaError.NONE if current.epoch == epoch else KafkaError.STALE_MEMBER_EPOCH
