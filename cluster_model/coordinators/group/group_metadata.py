"""A consumer group at its coordinator (``GroupMetadata``): members, offsets, records and settings. Sans-IO.

Nothing here sends, writes or sets a timer: pending actions are in ``effects``, and ``wakes`` is the time of the next
check of the group. The rules of joining and rebalancing are in :mod:`cluster_model.coordinators.group.membership`.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from cluster_model.protocol.config_defaults import EffectiveConfig
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import MS
from cluster_model.protocol.group_messages import (
    CONSUMER_PROTOCOL,
    NOTHING,
    Assignment,
    GroupResponse,
    JoinGroupMember,
    MemberProtocol,
    Subscription,
)
from cluster_model.protocol.versions import Profile

# Settings of a group coordinator in model units (``GroupCoordinatorConfig``).


MINUTE: Final = 60_000 * MS
NEW_MEMBER_US: Final = 5 * MINUTE
"""Time after which a new member without a join response is removed (``NewMemberJoinTimeoutMs``)."""


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Settings of a group coordinator, with the defaults of the version."""

    retention_us: int
    retention_check_us: int
    commit_timeout_us: int
    metadata_bytes: int
    initial_delay_us: int
    """0 where the version has no delay (before KIP-134, 0.11)."""
    min_session_us: int
    max_session_us: int
    max_size: int

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "GroupConfig":
        """Return the settings of a profile; ``config`` overrides them by Kafka's names."""
        own = EffectiveConfig("broker", profile.number, config)
        return GroupConfig(
            retention_us=own.number("offsets.retention.minutes") * MINUTE,
            retention_check_us=own.us("offsets.retention.check.interval.ms"),
            commit_timeout_us=own.us("offsets.commit.timeout.ms"),
            metadata_bytes=own.number("offset.metadata.max.bytes"),
            initial_delay_us=own.us("group.initial.rebalance.delay.ms"),
            min_session_us=own.us("group.min.session.timeout.ms"),
            max_session_us=own.us("group.max.session.timeout.ms"),
            max_size=own.number("group.max.size"),
        )


# A member of a group at its coordinator (``MemberMetadata``).


class ResponseTarget(NamedTuple):
    """Target of a response: the node, and the correlation of its request."""

    source: int
    correlation_id: int


class JoinMetadata(NamedTuple):
    """Metadata that a member sends when it joins."""

    client_id: str
    host: int
    rebalance_us: int
    session_us: int
    protocols: tuple[MemberProtocol, ...]


class MemberMetadata:
    """A member of a group. ``deadline`` is the end of its session, -1 for none and while a join or sync waits."""

    __slots__ = ("assignment", "deadline", "instance", "is_new", "join_metadata", "joining", "member_id", "syncing")

    def __init__(self, member_id: str, instance: str, says: JoinMetadata) -> None:
        self.member_id = member_id
        self.instance = instance
        """Instance id of a static member (KIP-345), else empty."""
        self.join_metadata = says
        self.assignment: Assignment = NOTHING
        self.joining: ResponseTarget | None = None
        self.syncing: ResponseTarget | None = None
        self.is_new = True
        """Whether its first join has not been answered yet."""
        self.deadline = -1

    @property
    def exempt(self) -> bool:
        """Whether its session cannot expire, because its own request waits; a new member's can."""
        return not self.is_new and (self.joining is not None or self.syncing is not None)

    def metadata(self, protocol: str) -> Subscription:
        """Subscription of the member for one assignor."""
        return next(known.metadata for known in self.join_metadata.protocols if known.name == protocol)

    def vote(self, candidates: list[str]) -> str:
        """First of the member's assignors that is a candidate."""
        return next(known.name for known in self.join_metadata.protocols if known.name in candidates)

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            self.member_id, self.instance, self.join_metadata, self.assignment, self.joining, self.syncing, self.is_new,
            self.deadline,
        )  # fmt: skip

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "MemberMetadata":
        """Restore the state that :meth:`save` returned."""
        member_id, instance, says, *rest = saved
        self = cls(member_id, instance, says)
        self.assignment, self.joining, self.syncing, self.is_new, self.deadline = rest
        return self


# Records of ``__consumer_offsets`` as text: ``KEY=VALUE``, compact JSON arrays; ``KEY=`` is a tombstone. A key starts
# with Kafka's key version: 1 for an offset, 2 for a group (``OffsetCommitKey``, ``GroupMetadataKey``).


_OFFSET: Final = 1
_GROUP: Final = 2


class OffsetAndMetadata(NamedTuple):
    """A committed offset, the next to read (``OffsetCommitValue``). ``expires_us`` -1: use the broker's retention."""

    offset: int
    leader_epoch: int
    metadata: str
    committed_us: int
    expires_us: int = -1


class StoredMember(NamedTuple):
    """A member in the record of a group (``GroupMetadataValue.MemberMetadata``)."""

    member_id: str
    group_instance_id: str
    client_id: str
    host: int
    rebalance_us: int
    session_us: int
    subscription: Subscription
    assignment: Assignment = NOTHING


class GroupValue(NamedTuple):
    """Value of a group's record (``GroupMetadataValue``); ``since_us`` is the time of its last state change."""

    protocol_type: str
    generation: int
    protocol: str
    leader: str
    since_us: int
    members: tuple[StoredMember, ...]


class OffsetRecord(NamedTuple):
    """Record of a committed offset; without a value a tombstone."""

    group_id: str
    partition: str
    value: OffsetAndMetadata | None


class GroupRecord(NamedTuple):
    """Record of a group's members and generation; without a value a tombstone."""

    group_id: str
    value: GroupValue | None


def encode(record: OffsetRecord | GroupRecord) -> str:
    """Encode a record as text."""
    if isinstance(record, OffsetRecord):
        topic, _dash, number = record.partition.rpartition("-")
        key: list[Any] = [_OFFSET, record.group_id, topic, int(number)]
    else:
        key = [_GROUP, record.group_id]
    return f"{_text(key)}={'' if record.value is None else _text(record.value)}"


def decode(text: str) -> OffsetRecord | GroupRecord:
    """Undo :func:`encode`.

    Raises:
        ValueError: the record is of another kind.
    """
    key_text, _sign, value_text = text.partition("=")
    version, group_id, *fields = json.loads(key_text)
    value = json.loads(value_text) if value_text else None
    if version == _OFFSET:
        topic, number = fields
        return OffsetRecord(group_id, f"{topic}-{number}", None if value is None else OffsetAndMetadata(*value))
    if version == _GROUP:
        return GroupRecord(group_id, None if value is None else _group(value))
    allowed = f"{_OFFSET} (offset) and {_GROUP} (group)"
    raise ValueError(f"record of __consumer_offsets: found key version {version}, expected {allowed}: {text!r}")


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
    # A record's key ends at its first "=", so the character is escaped inside JSON strings, the only place for it.
    return json.dumps(value, separators=(",", ":")).replace("=", "\\u003d")


# Committed and pending offsets of a group (``GroupMetadata``). A commit is effective once it is replicated; until then
# it is pending. The last one appended wins, so an offset can go backwards. Commits of a transaction stay pending until
# its end is known.


Offsets = tuple[tuple[str, OffsetAndMetadata], ...]
"""Offsets by partition."""


class GroupOffsets:
    """Committed and pending offsets of one group."""

    __slots__ = ("_bases", "_pending", "_transactional", "committed")

    def __init__(self) -> None:
        self.committed: dict[str, OffsetAndMetadata] = {}
        self._bases: dict[str, int] = {}
        """Partition → base offset of the batch with its commit."""
        self._pending: dict[str, OffsetAndMetadata] = {}
        self._transactional: dict[int, dict[str, tuple[int, OffsetAndMetadata]]] = {}
        """Producer id → partition → (base offset of its batch, -1 if unknown; the commit)."""

    @property
    def empty(self) -> bool:
        """Whether the group has no offsets at all (``hasOffsets``)."""
        return not (self.committed or self._pending or self._transactional)

    def unstable(self, partition: str) -> bool:
        """Whether a commit of a partition is pending (``hasPendingOffsetCommitsForTopicPartition``)."""
        return partition in self._pending or any(partition in staged for staged in self._transactional.values())

    def put(self, partition: str, value: OffsetAndMetadata, base: int) -> None:
        """Apply a commit from the log."""
        self.committed[partition] = value
        self._bases[partition] = base

    # -- commits ----------------------------------------------------------------------------------------------------

    def prepare(self, offsets: Offsets) -> None:
        """Add commits that are about to be written."""
        self._pending.update(offsets)

    def appended(self, offsets: Offsets, base: int) -> None:
        """Apply commits that are replicated; partitions removed in the meantime stay removed."""
        for partition, value in offsets:
            if partition in self._pending and self._bases.get(partition, -1) < base:
                self.put(partition, value, base)
            if self._pending.get(partition) == value:
                del self._pending[partition]

    def failed(self, offsets: Offsets) -> None:
        """Drop pending commits whose write failed."""
        for partition, value in offsets:
            if self._pending.get(partition) == value:
                del self._pending[partition]

    # -- commits of transactions ------------------------------------------------------------------------------------

    def prepare_in_transaction(self, producer_id: int, offsets: Offsets) -> None:
        """Add a transaction's commits that are about to be written."""
        staged = self._transactional.setdefault(producer_id, {})
        staged.update({partition: (-1, value) for partition, value in offsets})

    def appended_in_transaction(self, producer_id: int, offsets: Offsets, base: int) -> None:
        """Record that a transaction's commits are replicated; they wait for its end."""
        staged = self._transactional.get(producer_id, {})
        for partition, value in offsets:
            if partition in staged and staged[partition][1] == value:
                staged[partition] = (base, value)

    def failed_in_transaction(self, producer_id: int, offsets: Offsets) -> None:
        """Drop a transaction's commits whose write failed."""
        staged = self._transactional.get(producer_id, {})
        for partition, value in offsets:
            if partition in staged and staged[partition][1] == value:
                del staged[partition]
        if not staged:
            self._transactional.pop(producer_id, None)

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        """End a transaction: its commits become effective unless newer ones exist, or are dropped."""
        for partition, (base, value) in self._transactional.pop(producer_id, {}).items():
            if committed and base >= 0 and self._bases.get(partition, -1) < base:
                self.put(partition, value, base)

    # -- removal ----------------------------------------------------------------------------------------------------

    def remove(self, partitions: Iterable[str]) -> list[str]:
        """Remove partitions, including pending commits; return those that had a committed offset."""
        removed: list[str] = []
        for partition in partitions:
            self._pending.pop(partition, None)
            for staged in self._transactional.values():
                staged.pop(partition, None)
            if self.committed.pop(partition, None) is not None:
                del self._bases[partition]
                removed.append(partition)
        self._transactional = {producer: staged for producer, staged in self._transactional.items() if staged}
        return removed

    def expire(self, partitions: Iterable[str]) -> list[str]:
        """Remove expired commits; pending commits of transactions are kept (``GroupMetadata.removeExpiredOffsets``)."""
        removed = [partition for partition in partitions if self.committed.pop(partition, None) is not None]
        for partition in removed:
            del self._bases[partition]
        return removed

    def clear(self) -> list[str]:
        """Remove everything; return the partitions that had a committed offset."""
        self._transactional.clear()
        removed = self.remove(list(self.committed))
        self._pending.clear()
        return removed

    def expired(
        self, now: int, retention_us: int, since: Callable[[OffsetAndMetadata], int], kept: Collection[str] = ()
    ) -> list[str]:
        """Return partitions with expired commits; not those with pending commits, nor those of the topics ``kept``."""
        return [
            partition
            for partition, value in self.committed.items()
            if partition not in self._pending
            and partition.rpartition("-")[0] not in kept
            and (now >= value.expires_us if value.expires_us >= 0 else now - since(value) >= retention_us)
        ]

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        staged = tuple((producer, tuple(offsets.items())) for producer, offsets in self._transactional.items())
        return (tuple(self.committed.items()), tuple(self._bases.items()), tuple(self._pending.items()), staged)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        committed, bases, pending, staged = saved
        self.committed, self._bases, self._pending = dict(committed), dict(bases), dict(pending)
        self._transactional = {producer: dict(offsets) for producer, offsets in staged}


class GroupState(StrEnum):
    """State of a group, as in DescribeGroups."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class ResponseEffect(NamedTuple):
    """Effect of a group: a message to be sent."""

    target: int
    message: GroupResponse


class GroupEmptied(NamedTuple):
    """Purpose of a write: the group has become empty."""


class AssignmentSynced(NamedTuple):
    """Purpose of a write: the leader has assigned the partitions."""

    generation: int
    assignments: tuple[tuple[str, Assignment], ...]


class StaticMemberReplaced(NamedTuple):
    """Purpose of a write: a static member rejoined with another id. ``before`` is its metadata under the old id."""

    caller: ResponseTarget
    asked_id: str
    old_id: str
    new_id: str
    before: JoinMetadata
    leader: str
    """Leader of the group before."""
    skip: bool
    """Whether the request's version supports a leader that skips the assignment."""


Purpose = GroupEmptied | AssignmentSynced | StaticMemberReplaced


class AppendEffect(NamedTuple):
    """Effect of a group: a record to be written, whose result goes to ``rebalancing.stored``."""

    purpose: Purpose
    record: str


Effect = ResponseEffect | AppendEffect

NEVER: Final = -1


class GroupMetadata:
    """State of one group of the classic protocol; members are in order of arrival."""

    __slots__ = (
        "effects", "generation", "group_id", "initial_delay_us", "initial_left_us", "instances",
        "is_initial", "join_deadline", "leader", "members", "new_member_added", "offsets", "pending", "protocol",
        "protocol_type", "serial", "since_us", "state", "sync_deadline", "topics", "unsynced", "wakes",
    )  # fmt: skip

    def __init__(self, group_id: str, serial: int, now: int) -> None:
        """``serial`` distinguishes it from a former group of that name."""
        self.group_id = group_id
        self.serial = serial
        self.state = GroupState.EMPTY
        self.since_us = now
        """Time of its last state change in µs; -1 if an old record did not hold it."""
        self.protocol_type = ""
        """Empty for a group that has only committed offsets."""
        self.generation = 0
        self.protocol = ""
        self.leader = ""
        self.members: dict[str, MemberMetadata] = {}
        self.instances: dict[str, str] = {}
        """Instance id of a static member → its member id."""
        self.pending: dict[str, int] = {}
        """Member ids without a join yet → time at which they expire."""
        self.topics: tuple[str, ...] | None = None
        """Topics subscribed to in this generation, None if unknown."""
        self.new_member_added = False
        """Whether a member joined during the initial delay."""
        self.join_deadline = NEVER
        """Latest end of the joining phase."""
        self.is_initial = False
        self.initial_delay_us = 0
        self.initial_left_us = 0
        """Longest further extension of the initial delay."""
        self.sync_deadline = NEVER
        self.unsynced: dict[str, None] = {}
        """Members that have the generation and have not sent a SyncGroup."""
        self.offsets = GroupOffsets()
        self.effects: list[Effect] = []
        self.wakes = NEVER

    # -- time and effects -------------------------------------------------------------------------------------------

    def wake_at(self, at: int) -> int:
        """Schedule a check of the group; return ``at``."""
        if self.wakes < 0 or at < self.wakes:
            self.wakes = at
        return at

    def answer(self, caller: ResponseTarget, message: GroupResponse) -> None:
        """Queue a response."""
        self.effects.append(ResponseEffect(caller.source, message))

    def store(self, purpose: Purpose, assignments: dict[str, Assignment]) -> None:
        """Queue a write of the group's current state with these assignments."""
        members = tuple(
            [
                StoredMember(
                    member.member_id, member.instance, member.join_metadata.client_id, member.join_metadata.host,
                    member.join_metadata.rebalance_us, member.join_metadata.session_us, member.metadata(self.protocol),
                    assignments.get(member.member_id, NOTHING),
                )
                for member in self.members.values()
            ]
        )  # fmt: skip
        value = GroupValue(self.protocol_type, self.generation, self.protocol, self.leader, self.since_us, members)
        self.effects.append(AppendEffect(purpose, encode(GroupRecord(self.group_id, value))))

    def stay_alive(self, member: MemberMetadata, now: int) -> None:
        """Restart a member's session after a request of it."""
        member.deadline = self.wake_at(now + member.join_metadata.session_us)

    def transition_to(self, state: GroupState, now: int) -> None:
        """Change the state."""
        self.state = state
        self.since_us = now

    # -- members ----------------------------------------------------------------------------------------------------

    def add(self, member: MemberMetadata, protocol_type: str) -> None:
        """Add a member; the first one is the leader."""
        if not self.members:
            self.protocol_type = protocol_type
        if member.instance:
            self.instances[member.instance] = member.member_id
        self.leader = self.leader or member.member_id
        self.members[member.member_id] = member
        self.pending.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Remove a member, or a member id without a join."""
        member = self.members.pop(member_id, None)
        if member is not None and self.instances.get(member.instance) == member_id:
            del self.instances[member.instance]
        if self.leader == member_id:
            self.leader = next(iter(self.members), "")
        self.pending.pop(member_id, None)
        self.unsynced.pop(member_id, None)

    def rename(self, old_id: str, new_id: str) -> MemberMetadata:
        """Change the id of a static member."""
        member = self.members.pop(old_id)
        member.member_id = new_id
        self.members[new_id] = member
        self.instances[member.instance] = new_id
        if self.leader == old_id:
            self.leader = new_id
        return member

    @property
    def joined(self) -> int:
        """Number of members with a delayed join."""
        return sum(member.joining is not None for member in self.members.values())

    @property
    def all_joined(self) -> bool:
        """Whether every member and every id given out has joined."""
        return not self.pending and all(member.joining is not None for member in self.members.values())

    @property
    def rebalance_us(self) -> int:
        """Longest rebalance timeout of any member."""
        return max((member.join_metadata.rebalance_us for member in self.members.values()), default=0)

    def elect(self) -> bool:
        """Elect a leader among the joined members, the old one if possible; False if none joined."""
        leader = self.members.get(self.leader)
        if leader is None:
            return False
        if leader.joining is None:
            joined = next((member for member in self.members.values() if member.joining is not None), None)
            if joined is None:
                return False
            self.leader = joined.member_id
        return True

    # -- common assignors --------------------------------------------------------------------------------------------

    def candidates(self) -> list[str]:
        """Assignors that every member supports."""
        names = [[protocol.name for protocol in member.join_metadata.protocols] for member in self.members.values()]
        return [name for name in names[0] if all(name in supported for supported in names)]

    def supports(self, protocol_type: str, protocols: tuple[MemberProtocol, ...]) -> bool:
        """Whether a member's protocols are compatible with those of the current members."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        if protocol_type != self.protocol_type:
            return False
        common = self.candidates() if self.members else [protocol.name for protocol in protocols]
        return any(protocol.name in common for protocol in protocols)

    def vote(self) -> str:
        """Return the assignor that is the first choice of most members; of equals the one named first."""
        candidates = self.candidates()
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def subscribed(self) -> tuple[str, ...] | None:
        """Topics of all members under the chosen assignor, None for groups of another protocol type."""
        if self.protocol_type != CONSUMER_PROTOCOL:
            return None
        topics: dict[str, None] = {}
        for member in self.members.values() if self.protocol else ():
            topics.update(dict.fromkeys(member.metadata(self.protocol).topics))
        return tuple(topics)

    def member_list(self) -> tuple[JoinGroupMember, ...]:
        """Members as they are sent to the leader."""
        return tuple(
            [
                JoinGroupMember(member.member_id, member.instance, member.metadata(self.protocol))
                for member in self.members.values()
            ]
        )

    # -- state ------------------------------------------------------------------------------------------------------

    def restore(self, value: GroupValue, now: int) -> None:
        """Restore the state in the log: Stable with the members of the last sync, or Empty; sessions restart."""
        self.generation, self.protocol, self.protocol_type = value.generation, value.protocol, value.protocol_type
        self.leader = value.leader
        for stored in value.members:
            protocols = (MemberProtocol(value.protocol, stored.subscription),)
            says = JoinMetadata(stored.client_id, stored.host, stored.rebalance_us, stored.session_us, protocols)
            member = MemberMetadata(stored.member_id, stored.group_instance_id, says)
            member.assignment = stored.assignment
            member.is_new = False
            self.add(member, value.protocol_type)
            self.stay_alive(member, now)
        self.state = GroupState.STABLE if value.members else GroupState.EMPTY
        self.since_us = value.since_us
        self.topics = self.subscribed()

    def save(self) -> tuple[Any, ...]:
        """Return all state; effects are always executed before."""
        return (
            self.group_id, self.serial, self.state.value, self.since_us, self.protocol_type, self.generation,
            self.protocol, self.leader, tuple([member.save() for member in self.members.values()]),
            tuple(self.instances.items()), tuple(self.pending.items()), self.topics, self.new_member_added,
            self.join_deadline, self.is_initial, self.initial_delay_us, self.initial_left_us, self.sync_deadline,
            tuple(self.unsynced), self.offsets.save(),
        )  # fmt: skip

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "GroupMetadata":
        """Restore the state that :meth:`save` returned."""
        group_id, serial, state, since_us, *fields = saved
        self = cls(group_id, serial, since_us)
        self.state = GroupState(state)
        (
            self.protocol_type, self.generation, self.protocol, self.leader, members, instances, pending, self.topics,
            self.new_member_added, self.join_deadline, self.is_initial, self.initial_delay_us, self.initial_left_us,
            self.sync_deadline, unsynced, offsets,
        ) = fields  # fmt: skip
        self.members = {each[0]: MemberMetadata.from_saved(each) for each in members}
        self.instances, self.pending = dict(instances), dict(pending)
        self.unsynced = dict.fromkeys(unsynced)
        self.offsets.load(offsets)
        return self
