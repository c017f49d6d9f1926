"""A member of a group, as its coordinator sees it (``MemberMetadata``)."""

from typing import Any, NamedTuple

from cluster_model.protocol.group_messages import NOTHING, Assignment, MemberProtocol, Subscription


class Caller(NamedTuple):
    """Whom an answer goes to: the node, and the number of its request."""

    source: int
    correlation: int


class Profession(NamedTuple):
    """What a member says of itself when it joins."""

    client_id: str
    host: int
    rebalance_us: int
    session_us: int
    protocols: tuple[MemberProtocol, ...]


class Member:
    """A member. ``deadline`` is when it counts as gone, -1 while it does not: not while its join or sync is parked."""

    __slots__ = ("assignment", "deadline", "instance", "is_new", "joining", "member_id", "says", "syncing")

    def __init__(self, member_id: str, instance: str, says: Profession) -> None:
        self.member_id = member_id
        self.instance = instance
        """Of a static member (KIP-345), else empty."""
        self.says = says
        self.assignment: Assignment = NOTHING
        self.joining: Caller | None = None
        self.syncing: Caller | None = None
        self.is_new = True
        """Its first join has not been answered yet."""
        self.deadline = -1

    @property
    def exempt(self) -> bool:
        """Whether it need not give signs of life: it waits itself. A new member's patience has an end."""
        return not self.is_new and (self.joining is not None or self.syncing is not None)

    def metadata(self, protocol: str) -> Subscription:
        """What it said for one assignor."""
        return next(each.metadata for each in self.says.protocols if each.name == protocol)

    def vote(self, candidates: list[str]) -> str:
        """Its first choice among these."""
        return next(each.name for each in self.says.protocols if each.name in candidates)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.member_id, self.instance, self.says, self.assignment, self.joining, self.syncing, self.is_new,
            self.deadline,
        )  # fmt: skip

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "Member":
        """Undo of :meth:`save`."""
        member_id, instance, says, *rest = saved
        self = cls(member_id, instance, says)
        self.assignment, self.joining, self.syncing, self.is_new, self.deadline = rest
        return self
