"""A group of the consumer protocol (``ConsumerGroup``, KIP-848): its patterns, records, commits and settings.

It changes only by :meth:`ConsumerGroup.replay`, whether a record has just been written or is read by a new coordinator.
Deadlines are not written: a new coordinator gives every member a full session, and its full rebalance timeout for
revocations.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from cluster_model.assignors.base import ServerAssignorRules
from cluster_model.protocol.config_defaults import EffectiveConfig
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import OffsetCommitRequest, OffsetFetchRequest, TxnOffsetCommitRequest
from cluster_model.protocol.versions import Profile

# Regular expressions of subscriptions, compiled by a function that the builder of a cluster chooses. Kafka's
# coordinator compiles them with RE2/J, which has no equivalent in the standard library.


PatternMatcher = Callable[[str], bool]
"""Predicate: whether a whole topic name matches."""

PatternCompiler = Callable[[str], PatternMatcher]
"""Compiles a regular expression into a matcher, or raises :class:`PatternError`.

A group calls it with the same expression for every topic, so it caches compiled expressions.
"""

COMPILED_PATTERNS: Final = 32
"""Number of expressions that a compiler caches."""


class PatternError(ValueError):
    """A regular expression that does not compile; the message holds the reason."""


@lru_cache(maxsize=COMPILED_PATTERNS)
def compile_python_pattern(pattern: str) -> PatternMatcher:
    """Compile an expression with Python's ``re``, which backtracks: for trusted expressions only.

    Raises:
        PatternError: it is not a valid regular expression.
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


# Settings of a coordinator for the consumer protocol (``GroupCoordinatorConfig``), taken from the broker.


CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class ConsumerGroupConfig:
    """Settings of the consumer protocol, with the defaults of the version."""

    enabled: bool
    """``group.coordinator.rebalance.protocols`` lists it: the default since 4.0, opt-in before."""
    session_us: int
    heartbeat_us: int
    max_size: int
    assignors: tuple[str, ...]
    """Assignors of the coordinator; the first is used if members name none."""
    assignor_rules: ServerAssignorRules
    """Rules of these assignors."""
    fences_rejoins: bool
    """A known member that joins again is fenced until its session ends (until KAFKA-19233)."""
    assignment_epochs: bool
    """A member may commit with the epoch in which it got the partition, or a later one (KIP-1251)."""
    assignment_interval_us: int
    """Shortest time between two target assignments of a group, 0 before 4.3 (KIP-1263)."""
    first_epoch: int
    """Epoch of a new group and of its empty target assignment (KAFKA-20268)."""
    timed_assignments: bool
    """The record of a target assignment has its time (KIP-1263)."""
    bumps_revoking: bool
    """A member that has to revoke more partitions after others moves to its next epoch (until KAFKA-19974)."""
    assigns_by_new_assignor: bool
    """Another preferred assignor of the group leads to a new target assignment (KAFKA-20434)."""
    ends_empty: bool
    """The assignment epoch of a group follows when its last member leaves (KAFKA-20442)."""
    write_timeout_us: int
    """Longest wait of a response for the in-sync replicas, in µs."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "ConsumerGroupConfig":
        """Return the settings of a profile; ``config`` overrides them by Kafka's names."""
        own = EffectiveConfig("broker", profile.number, config)
        return ConsumerGroupConfig(
            enabled=enabled(profile, config),
            session_us=own.us("group.consumer.session.timeout.ms"),
            heartbeat_us=own.us("group.consumer.heartbeat.interval.ms"),
            max_size=own.number("group.consumer.max.size"),
            assignors=_listed(own.text("group.consumer.assignors")),
            assignor_rules=assignor_rules(profile),
            fences_rejoins=profile.fences_rejoins,
            assignment_epochs=profile.assignment_epochs,
            assignment_interval_us=own.us("group.consumer.assignment.interval.ms"),
            first_epoch=int(profile.first_assignment_epoch),
            timed_assignments=profile.assignment_interval,
            bumps_revoking=not profile.revokes_in_epoch,
            assigns_by_new_assignor=profile.assigns_by_new_assignor,
            ends_empty=profile.empty_group_epoch,
            write_timeout_us=own.us("offsets.commit.timeout.ms"),
        )


def assignor_rules(profile: Profile) -> ServerAssignorRules:
    """Return the rules of the server-side assignors of a release."""
    return ServerAssignorRules(*(getattr(profile, name) for name in ServerAssignorRules._fields))


def enabled(profile: Profile, config: Mapping[str, ConfigValue]) -> bool:
    """Whether a cluster's coordinators support this protocol (KRaft only, since 3.7)."""
    own = EffectiveConfig("broker", profile.number, config)
    protocols = _listed(own.text("group.coordinator.rebalance.protocols"))
    return profile.kraft and profile.consumer_protocol and CONSUMER in protocols


def _listed(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",")))


# Records of a group of the consumer protocol in ``__consumer_offsets``, the only way to change it. Keys start with
# Kafka's key versions (``ConsumerGroupMetadataKey`` and others); None is a tombstone.


EPOCH: Final = 3
"""Kind of record: the group epoch."""
TOPICS: Final = 4
"""Kind of record: (topic, partitions) of the subscribed topics, as last seen."""
MEMBER: Final = 5
"""Kind of record: the metadata of a member."""
TARGET_EPOCH: Final = 6
"""Kind of record: the group epoch of the target assignment; since 4.3 (epoch, its time in µs, 0 for none)."""
TARGET: Final = 7
"""Kind of record: a member's part of the target assignment."""
CURRENT: Final = 8
"""Kind of record: a member's current assignment."""

_OF_MEMBERS: Final = (MEMBER, TARGET, CURRENT)

STABLE: Final = 0
"""Member state: it has its full assignment of its epoch (``MemberState``)."""
UNREVOKED: Final = 1
"""Member state: it still has to revoke partitions."""
UNRELEASED: Final = 2
"""Member state: it waits for partitions that other members still have to revoke."""


class MemberValue(NamedTuple):
    """Metadata of a member in the log (``ConsumerGroupMemberMetadataValue``)."""

    group_instance_id: str
    client_id: str
    host: int
    topics: tuple[str, ...]
    pattern: str
    assignor: str
    """Preferred assignor; empty for no preference."""
    rebalance_us: int


class CurrentValue(NamedTuple):
    """Current assignment of a member (``ConsumerGroupCurrentMemberAssignmentValue``)."""

    epoch: int
    previous: int
    """Previous epoch, which the member still has if a response was lost."""
    state: int
    assigned: tuple[str, ...]
    revoking: tuple[str, ...]
    """Partitions to be revoked, which it still counts as owning."""
    assignment_epochs: tuple[tuple[str, int], ...] = ()
    """Partition that it owns → its epoch when it got the partition (KIP-1251); empty before 4.3."""


class ConsumerGroupRecord(NamedTuple):
    """A record of a group; ``member_id`` is empty for records of the whole group."""

    kind: int
    group_id: str
    member_id: str = ""
    value: Any = None


def is_consumer_group_record(text: str) -> bool:
    """Whether a record is of the consumer protocol, not an offset or a classic group."""
    return int(text[1 : text.index(",")]) >= EPOCH


def encode(record: ConsumerGroupRecord) -> str:
    """Encode a record as text."""
    key: list[Any] = [record.kind, record.group_id]
    if record.kind in _OF_MEMBERS:
        key.append(record.member_id)
    value = record.value
    if record.kind == CURRENT and value is not None and not value.assignment_epochs:
        value = value[:-1]
    return f"{_text(key)}={'' if value is None else _text(value)}"


def decode(text: str) -> ConsumerGroupRecord:
    """Undo :func:`encode`."""
    key_text, _sign, value_text = text.partition("=")
    kind, group_id, *member = json.loads(key_text)
    value = json.loads(value_text) if value_text else None
    return ConsumerGroupRecord(
        kind, group_id, member[0] if member else "", None if value is None else _value(kind, value)
    )


def _value(kind: int, value: Any) -> Any:
    if kind == MEMBER:
        instance, client_id, host, topics, *rest = value
        return MemberValue(instance, client_id, host, tuple(topics), *rest)
    if kind == CURRENT:
        epoch, previous, state, assigned, revoking, *more = value
        epochs = tuple([(partition, number) for partition, number in more[0]]) if more else ()
        return CurrentValue(epoch, previous, state, tuple(assigned), tuple(revoking), epochs)
    if kind == TOPICS:
        return tuple([(topic, count) for topic, count in value])
    return tuple(value) if isinstance(value, list) else value


def _text(value: Any) -> str:
    # A record's key ends at its first "=", so the character is escaped inside JSON strings, the only place for it.
    return json.dumps(value, separators=(",", ":")).replace("=", "\\u003d")


UNSEEN: Final = (-1, -1)


class ConsumerGroupState(StrEnum):
    """State of a group of the consumer protocol."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class ConsumerGroup:
    """State of one group of the consumer protocol (``ConsumerGroup``)."""

    __slots__ = (
        "assigned_at", "current", "epoch", "group_id", "instances", "members", "owners", "revocations", "seen",
        "serial", "sessions", "target", "target_epoch", "topics",
    )  # fmt: skip

    def __init__(self, group_id: str, serial: int, first_epoch: int = 0) -> None:
        """``serial`` distinguishes it from a former group of that name; ``first_epoch`` has no assignment."""
        self.group_id = group_id
        self.serial = serial
        self.epoch = first_epoch
        self.target_epoch = first_epoch
        self.assigned_at = 0
        """Time of the target assignment in µs of the coordinator's clock; 0 for none, or if it is not recorded."""
        self.topics: tuple[tuple[str, int], ...] = ()
        """Subscribed topics with their partition counts, as last recorded by the group."""
        self.members: dict[str, MemberValue] = {}
        self.target: dict[str, tuple[str, ...]] = {}
        self.current: dict[str, CurrentValue] = {}
        self.owners: dict[str, str] = {}
        """Partition → member that owns it, or has not confirmed its revocation."""
        self.instances: dict[str, str] = {}
        """Instance id of a static member → its member id."""
        self.sessions: dict[str, int] = {}
        """Member → end of its session in µs."""
        self.revocations: dict[str, int] = {}
        """Member that has to revoke partitions → deadline in µs."""
        self.seen = UNSEEN
        """Version of the broker's metadata that the group has seen."""

    @property
    def state(self) -> ConsumerGroupState:
        """State of the group (``maybeUpdateGroupState``)."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.target_epoch:
            return ConsumerGroupState.ASSIGNING
        reconciled = all(
            member.state == STABLE and member.epoch == self.target_epoch for member in self.current.values()
        )  # fmt: skip
        return ConsumerGroupState.STABLE if reconciled else ConsumerGroupState.RECONCILING

    # -- records ----------------------------------------------------------------------------------------------------

    def replay(self, record: ConsumerGroupRecord) -> None:
        """Apply a record."""
        kind, _group_id, member_id, value = record
        if kind == EPOCH:
            self.epoch = value or 0
        elif kind == TOPICS:
            self.topics = value or ()
        elif kind == TARGET_EPOCH:
            self.target_epoch, self.assigned_at = value if isinstance(value, tuple) else (value or 0, 0)
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

    # -- deadlines --------------------------------------------------------------------------------------------------

    def extend_session(self, member_id: str, until: int) -> None:
        """Extend a member's session to a time."""
        self.sessions[member_id] = until

    def time_revocation(self, member_id: str, now: int) -> None:
        """Start the revocation timeout of a member whose current assignment was written, if it has to revoke."""
        current = self.current.get(member_id)
        self.revocations.pop(member_id, None)
        if current is not None and current.state == UNREVOKED:
            self.revocations[member_id] = now + self.members[member_id].rebalance_us

    def restart_deadlines(self, now: int, session_us: int) -> None:
        """Restart all deadlines in a new coordinator."""
        for member_id in self.members:
            self.extend_session(member_id, now + session_us)
            self.time_revocation(member_id, now)

    def expired_members(self, now: int) -> list[str]:
        """Members whose session has expired, or that did not revoke partitions in time."""
        late = [
            member_id
            for deadlines in (self.sessions, self.revocations)
            for member_id, at in deadlines.items()
            if at <= now
        ]
        return list(dict.fromkeys(late))

    def next_deadline_us(self) -> int:
        """Time of the next deadline of a member in µs, -1 if there is none."""
        return min((*self.sessions.values(), *self.revocations.values()), default=-1)

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            self.group_id, self.serial, self.epoch, self.target_epoch, self.topics, tuple(self.members.items()),
            tuple(self.target.items()), tuple(self.current.items()), tuple(self.owners.items()),
            tuple(self.instances.items()), tuple(self.sessions.items()), tuple(self.revocations.items()), self.seen,
            self.assigned_at,
        )  # fmt: skip

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "ConsumerGroup":
        """Restore the state that :meth:`save` returned."""
        (
            group_id, serial, epoch, target_epoch, topics, members, target, current, owners, instances, sessions,
            revocations, seen, assigned_at,
        ) = saved  # fmt: skip
        self = cls(group_id, serial)
        self.assigned_at = assigned_at
        self.epoch, self.target_epoch, self.topics, self.seen = epoch, target_epoch, topics, seen
        self.members, self.target, self.current = dict(members), dict(target), dict(current)
        self.owners, self.instances = dict(owners), dict(instances)
        self.sessions, self.revocations = dict(sessions), dict(revocations)
        return self


# Checks of commits and offset fetches in such a group (``ConsumerGroup.validateOffset...``). Sans-IO: functions of a
# group (None if there is no such group) and a request.


KNOWS_EPOCHS: Final = 9
"""First version of OffsetCommit that carries the member epoch of this protocol."""

KNOWS_EPOCHS_IN_TRANSACTIONS: Final = 6
"""First version of TxnOffsetCommit with STALE_MEMBER_EPOCH and GROUP_ID_NOT_FOUND (KIP-1319)."""


def check_commit(
    group: ConsumerGroup | None, request: OffsetCommitRequest, partitions: tuple[str, ...] | None = None
) -> KafkaError | None:
    """Check a commit of a member; None: no such group.

    A member that sends the version of its request has to use one with member epochs (since 3.8). ``partitions`` are
    those to be committed, None where the epoch has to be the member's current one (before 4.3).
    """
    if group is None:
        return None
    member_id, epoch = request.member_id, request.generation_id
    if epoch < 0 and not group.members:
        return KafkaError.NONE
    if member_id in group.current and 0 < request.version < KNOWS_EPOCHS:
        return KafkaError.UNSUPPORTED_VERSION
    return _check_assignment_epochs(group, member_id, epoch, partitions)


def may_commit_in_transaction(
    group: ConsumerGroup | None, request: TxnOffsetCommitRequest, partitions: tuple[str, ...] | None = None
) -> KafkaError | None:
    """Check a commit in a transaction: a request that names a member must come from it; None: no such group."""
    if group is None:
        return None
    member_id, epoch = request.member_id, request.generation_id
    if epoch < 0 and not (group.members and (member_id or request.group_instance_id)):
        return KafkaError.NONE
    error = _check_assignment_epochs(group, member_id, epoch, partitions)
    is_older = request.version < KNOWS_EPOCHS_IN_TRANSACTIONS
    return KafkaError.ILLEGAL_GENERATION if error is KafkaError.STALE_MEMBER_EPOCH and is_older else error


def may_fetch(group: ConsumerGroup | None, request: OffsetFetchRequest) -> KafkaError:
    """Check a fetch of committed offsets: allowed without a member id; otherwise the member must be current."""
    if group is None or (request.member_epoch < 0 and not request.member_id):
        return KafkaError.NONE
    return _check_epoch(group, request.member_id, request.member_epoch)


def unknown_group_error(version: int, first: int = KNOWS_EPOCHS) -> KafkaError:
    """Error of a commit by a member of an unknown group (``OffsetMetadataManager``).

    ``first`` is the first version of the request that has an error for it.
    """
    return KafkaError.GROUP_ID_NOT_FOUND if version >= first else KafkaError.ILLEGAL_GENERATION


def _check_epoch(group: ConsumerGroup, member_id: str, epoch: int) -> KafkaError:
    current = group.current.get(member_id)
    if current is None:
        return KafkaError.UNKNOWN_MEMBER_ID
    return KafkaError.NONE if current.epoch == epoch else KafkaError.STALE_MEMBER_EPOCH


def _check_assignment_epochs(
    group: ConsumerGroup, member_id: str, epoch: int, partitions: tuple[str, ...] | None
) -> KafkaError:
    """Check the epoch of a commit: with an older one each partition must be the member's since then, or for longer.

    As ``ConsumerGroup.createAssignmentEpochValidator``: one partition that is not rejects the whole request.
    """
    error = _check_epoch(group, member_id, epoch)
    if error is not KafkaError.STALE_MEMBER_EPOCH or partitions is None or epoch > group.current[member_id].epoch:
        return error
    epochs = dict(group.current[member_id].assignment_epochs)
    is_valid = all(partition in epochs and epochs[partition] <= epoch for partition in partitions)
    return KafkaError.NONE if is_valid else error
