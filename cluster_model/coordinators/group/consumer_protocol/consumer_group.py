"""A group of the consumer protocol at its coordinator (``ConsumerGroup``): what its records say, and its clocks.

It changes by :meth:`ModernGroup.replay` alone, whether a record has just been written or is read by a new coordinator.
Clocks are not written: a new coordinator gives every member a whole session, and all its time to give things up.
"""

from enum import StrEnum
from typing import Any, Final

from cluster_model.coordinators.group.consumer_protocol.records import (
    CURRENT,
    EPOCH,
    MEMBER,
    STABLE,
    TARGET,
    TARGET_EPOCH,
    TOPICS,
    UNREVOKED,
    CurrentValue,
    MemberValue,
    ModernRecord,
)

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
