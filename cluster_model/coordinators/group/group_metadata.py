"""A consumer group at its coordinator: its state, its members, what they agree on (``GroupMetadata``). Sans-IO.

Nothing here sends, writes or sets a timer: what is to be done stands in ``effects``, and ``wakes`` says when the group
wants to be looked at. The rules of joining and rebalancing are in :mod:`cluster_model.coordinators.group.rebalance` and
:mod:`cluster_model.coordinators.group.membership`.
"""

from enum import StrEnum
from typing import Any, Final, NamedTuple

from cluster_model.coordinators.group.member import Caller, Member, Profession
from cluster_model.coordinators.group.offsets import GroupOffsets
from cluster_model.coordinators.group.records import GroupRecord, GroupValue, StoredMember, encode
from cluster_model.protocol.group_messages import (
    CONSUMER_PROTOCOL,
    NOTHING,
    Assignment,
    GroupResponse,
    JoinGroupMember,
    MemberProtocol,
)


class State(StrEnum):
    """A group's state, as DescribeGroups tells it."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Answer(NamedTuple):
    """An effect: a message to be sent."""

    target: int
    message: GroupResponse


class Emptied(NamedTuple):
    """Why a group is stored: its last member is gone."""


class Synced(NamedTuple):
    """... its leader has assigned its partitions."""

    generation: int
    assignments: tuple[tuple[str, Assignment], ...]


class Replaced(NamedTuple):
    """... a static member is back under another member id. ``before`` is what the old one said of itself."""

    caller: Caller
    asked_id: str
    old_id: str
    new_id: str
    before: Profession
    leader: str
    """Who led before."""
    skip: bool
    """Whether the request's version knows that a leader may skip the assignment."""


Purpose = Emptied | Synced | Replaced


class Store(NamedTuple):
    """An effect: a record to be written; the group is told how it went (``rebalancing.stored``)."""

    purpose: Purpose
    record: str


Effect = Answer | Store

NEVER: Final = -1


class Group:
    """One group. Members stand in the order in which they came."""

    __slots__ = (
        "effects", "generation", "group_id", "initial_delay_us", "initial_left_us", "instances",
        "is_initial", "join_deadline", "leader", "members", "newcomer", "offsets", "pending", "protocol",
        "protocol_type", "serial", "since_us", "state", "sync_deadline", "topics", "unsynced", "wakes",
    )  # fmt: skip

    def __init__(self, group_id: str, serial: int, now: int) -> None:
        """``serial`` tells it from a former group of that name."""
        self.group_id = group_id
        self.serial = serial
        self.state = State.EMPTY
        self.since_us = now
        """When it came to its state; -1: a record of old did not say."""
        self.protocol_type = ""
        """Empty for a group that only ever committed offsets."""
        self.generation = 0
        self.protocol = ""
        self.leader = ""
        self.members: dict[str, Member] = {}
        self.instances: dict[str, str] = {}
        """Instance id of a static member → its member id."""
        self.pending: dict[str, int] = {}
        """Ids given out with which nobody has joined yet → until when they hold."""
        self.topics: tuple[str, ...] | None = None
        """What its members subscribe to as of this generation; None unknown."""
        self.newcomer = False
        """Whether a member joined during the initial delay."""
        self.join_deadline = NEVER
        """When the joining phase is over at the latest."""
        self.is_initial = False
        self.initial_delay_us = 0
        self.initial_left_us = 0
        """How much longer the initial delay may get."""
        self.sync_deadline = NEVER
        self.unsynced: dict[str, None] = {}
        """Members that have been told the generation and have not asked for their assignment."""
        self.offsets = GroupOffsets()
        self.effects: list[Effect] = []
        self.wakes = NEVER

    # -- time and effects -------------------------------------------------------------------------------------------

    def wake_at(self, at: int) -> int:
        """Have the group looked at then; returns ``at``."""
        if self.wakes < 0 or at < self.wakes:
            self.wakes = at
        return at

    def answer(self, caller: Caller, message: GroupResponse) -> None:
        """Have somebody answered."""
        self.effects.append(Answer(caller.source, message))

    def store(self, purpose: Purpose, assignments: dict[str, Assignment]) -> None:
        """Have the group written as it is, with these assignments."""
        members = tuple(
            [
                StoredMember(
                    member.member_id, member.instance, member.says.client_id, member.says.host,
                    member.says.rebalance_us, member.says.session_us, member.metadata(self.protocol),
                    assignments.get(member.member_id, NOTHING),
                )
                for member in self.members.values()
            ]
        )  # fmt: skip
        value = GroupValue(self.protocol_type, self.generation, self.protocol, self.leader, self.since_us, members)
        self.effects.append(Store(purpose, encode(GroupRecord(self.group_id, value))))

    def stay_alive(self, member: Member, now: int) -> None:
        """A member has given a sign of life: its session begins anew."""
        member.deadline = self.wake_at(now + member.says.session_us)

    def become(self, state: State, now: int) -> None:
        """Go to a state."""
        self.state = state
        self.since_us = now

    # -- members ----------------------------------------------------------------------------------------------------

    def add(self, member: Member, protocol_type: str) -> None:
        """Take a member in; the first one is the leader."""
        if not self.members:
            self.protocol_type = protocol_type
        if member.instance:
            self.instances[member.instance] = member.member_id
        self.leader = self.leader or member.member_id
        self.members[member.member_id] = member
        self.pending.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Forget a member, or an id that was given out."""
        member = self.members.pop(member_id, None)
        if member is not None and self.instances.get(member.instance) == member_id:
            del self.instances[member.instance]
        if self.leader == member_id:
            self.leader = next(iter(self.members), "")
        self.pending.pop(member_id, None)
        self.unsynced.pop(member_id, None)

    def rename(self, old_id: str, new_id: str) -> Member:
        """A static member has another id from now on."""
        member = self.members.pop(old_id)
        member.member_id = new_id
        self.members[new_id] = member
        self.instances[member.instance] = new_id
        if self.leader == old_id:
            self.leader = new_id
        return member

    @property
    def joined(self) -> int:
        """How many members' joins are parked."""
        return sum(member.joining is not None for member in self.members.values())

    @property
    def all_joined(self) -> bool:
        """Whether nobody is missing: no member, and nobody who was given an id to join with."""
        return not self.pending and all(member.joining is not None for member in self.members.values())

    @property
    def rebalance_us(self) -> int:
        """The longest time that any member may take."""
        return max((member.says.rebalance_us for member in self.members.values()), default=0)

    def elect(self) -> bool:
        """Have a leader that joined: the old one if it did, else another; False where nobody did."""
        leader = self.members.get(self.leader)
        if leader is None:
            return False
        if leader.joining is None:
            joined = next((member for member in self.members.values() if member.joining is not None), None)
            if joined is None:
                return False
            self.leader = joined.member_id
        return True

    # -- what they agree on -----------------------------------------------------------------------------------------

    def candidates(self) -> list[str]:
        """Assignors that every member can go by."""
        names = [[each.name for each in member.says.protocols] for member in self.members.values()]
        return [name for name in names[0] if all(name in each for each in names)]

    def supports(self, protocol_type: str, protocols: tuple[MemberProtocol, ...]) -> bool:
        """Whether somebody can go along with the members that there are."""
        if self.state is State.EMPTY:
            return bool(protocol_type and protocols)
        if protocol_type != self.protocol_type:
            return False
        common = self.candidates() if self.members else [each.name for each in protocols]
        return any(each.name in common for each in protocols)

    def vote(self) -> str:
        """The assignor that most members would choose first; of equals the one that was named first."""
        candidates = self.candidates()
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def subscribed(self) -> tuple[str, ...] | None:
        """The topics of all members by the chosen assignor, None for groups that are not consumers'."""
        if self.protocol_type != CONSUMER_PROTOCOL:
            return None
        topics: dict[str, None] = {}
        for member in self.members.values() if self.protocol else ():
            topics.update(dict.fromkeys(member.metadata(self.protocol).topics))
        return tuple(topics)

    def roll(self) -> tuple[JoinGroupMember, ...]:
        """The members, as told to the leader."""
        return tuple(
            [
                JoinGroupMember(member.member_id, member.instance, member.metadata(self.protocol))
                for member in self.members.values()
            ]
        )

    # -- state ------------------------------------------------------------------------------------------------------

    def restore(self, value: GroupValue, now: int) -> None:
        """Be as the log says: Stable with the members of the last sync, or Empty; sessions begin anew."""
        self.generation, self.protocol, self.protocol_type = value.generation, value.protocol, value.protocol_type
        self.leader = value.leader
        for stored in value.members:
            protocols = (MemberProtocol(value.protocol, stored.subscription),)
            says = Profession(stored.client_id, stored.host, stored.rebalance_us, stored.session_us, protocols)
            member = Member(stored.member_id, stored.group_instance_id, says)
            member.assignment = stored.assignment
            member.is_new = False
            self.add(member, value.protocol_type)
            self.stay_alive(member, now)
        self.state = State.STABLE if value.members else State.EMPTY
        self.since_us = value.since_us
        self.topics = self.subscribed()

    def save(self) -> tuple[Any, ...]:
        """All state; effects are carried out before anybody saves."""
        return (
            self.group_id, self.serial, self.state.value, self.since_us, self.protocol_type, self.generation,
            self.protocol, self.leader, tuple([member.save() for member in self.members.values()]),
            tuple(self.instances.items()), tuple(self.pending.items()), self.topics, self.newcomer, self.join_deadline,
            self.is_initial, self.initial_delay_us, self.initial_left_us, self.sync_deadline, tuple(self.unsynced),
            self.offsets.save(),
        )  # fmt: skip

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "Group":
        """Undo of :meth:`save`."""
        group_id, serial, state, since_us, *rest = saved
        self = cls(group_id, serial, since_us)
        self.state = State(state)
        (
            self.protocol_type, self.generation, self.protocol, self.leader, members, instances, pending, self.topics,
            self.newcomer, self.join_deadline, self.is_initial, self.initial_delay_us, self.initial_left_us,
            self.sync_deadline, unsynced, offsets,
        ) = rest  # fmt: skip
        self.members = {each[0]: Member.loaded(each) for each in members}
        self.instances, self.pending = dict(instances), dict(pending)
        self.unsynced = dict.fromkeys(unsynced)
        self.offsets.load(offsets)
        return self
