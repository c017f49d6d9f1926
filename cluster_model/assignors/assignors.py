"""Kafka's range, round robin and uniform assignors, and all assignors by the names that the protocols use."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from cluster_model.assignors.base import (
    Assignment,
    Assignor,
    MemberSubscription,
    TopicPartition,
    Topics,
    finished,
    in_order,
    same_subscriptions,
    subscribers,
)
from cluster_model.assignors.sticky import CooperativeStickyAssignor, StickyAssignor, racks_matter

# Kafka's ``RangeAssignor`` and ``RoundRobinAssignor``.


class _Sharing:
    """One topic while it is shared out (``RangeAssignor.TopicAssignmentState``)."""

    __slots__ = ("_each", "_extra", "_taken", "_topic", "free", "members", "racks", "racks_matter")

    def __init__(self, topic: str, members: list[MemberSubscription], topics: Topics) -> None:
        self.members = members
        self.free = dict.fromkeys(range(topics.sizes[topic]))
        self._topic = topic
        self._taken = {member.id: 0 for member in members}
        self._each, self._extra = divmod(len(self.free), len(members))
        in_racks = [member.rack for member in members if member.rack]
        replicas = {partition: topics.racks.get(partition, ()) for partition in topics.partitions(topic)}
        self.racks = replicas if in_racks else {}
        """Partition → racks of its replicas; empty where no member has a rack."""
        self.racks_matter = racks_matter(in_racks, self.racks)

    def near(self, member: MemberSubscription, number: int) -> bool:
        """Whether a replica is in the member's rack, or the member has none."""
        return not member.rack or member.rack in self.racks.get(TopicPartition(self._topic, number), ())

    def room(self, member: MemberSubscription) -> int:
        """How many more partitions a member may get."""
        return max(0, self._each + (self._extra > 0) - self._taken[member.id])

    def give(self, member: MemberSubscription, numbers: list[int], shares: dict[str, list[TopicPartition]]) -> None:
        """Those partitions are a member's."""
        shares[member.id].extend(TopicPartition(self._topic, number) for number in numbers)
        self._taken[member.id] += len(numbers)
        if self._taken[member.id] > self._each:
            self._extra -= 1
        for number in numbers:
            del self.free[number]

    def give_ranges(
        self, may_have: Callable[[MemberSubscription, int], bool], shares: dict[str, list[TopicPartition]]
    ) -> None:
        """Each member in turn gets the first of what is free and it may have, as much as it has room for."""
        for member in self.members:
            numbers = [number for number in self.free if may_have(member, number)][: self.room(member)]
            if numbers:
                self.give(member, numbers, shares)


class RangeAssignor:
    """The first members of each topic get one partition more where it does not come out even.

    The same members are first in every topic, so that their extras add up. Where racks matter (see
    :func:`~cluster_model.assignors.sticky.racks_matter`), members get what is in their rack before the rest is
    shared out. The coordinator's own ``range`` of KIP-848 has the same result without racks.
    """

    name = "range"
    cooperative = False

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """See the class."""
        shares: dict[str, list[TopicPartition]] = {member.id: [] for member in members}
        sharings = [
            _Sharing(topic, subscribed, topics) for topic, subscribed in subscribers(in_order(members), topics).items()
        ]
        if any(sharing.racks_matter for sharing in sharings):
            _match_racks(sharings, shares)
        for sharing in sharings:
            sharing.give_ranges(lambda _member, _number: True, shares)
        return finished(members, shares)


def _match_racks(sharings: list[_Sharing], shares: dict[str, list[TopicPartition]]) -> None:
    """Give what is in a member's rack, topics with the same members and the same size together, to keep joins local."""
    alike: dict[tuple[tuple[str, ...], int], list[_Sharing]] = {}
    for sharing in sharings:
        key = (tuple(member.id for member in sharing.members), len(sharing.racks))
        alike.setdefault(key, []).append(sharing)
    for (_members, size), together in alike.items():
        if len(together) > 1:
            _match_together(together, size, shares)
        elif together[0].racks_matter:
            together[0].give_ranges(together[0].near, shares)


def _match_together(together: list[_Sharing], size: int, shares: dict[str, list[TopicPartition]]) -> None:
    """The partitions of one number in all these topics go to the first member that all of them are near to."""
    for number in range(size):
        for member in together[0].members:
            if all(sharing.near(member, number) and sharing.room(member) > 0 for sharing in together):
                for sharing in together:
                    sharing.give(member, [number], shares)
                break


# ``RoundRobinAssignor``: all partitions in a row, members in a circle.


class RoundRobinAssignor:
    """Each partition goes to the next member in the circle that subscribes to its topic."""

    name = "roundrobin"
    cooperative = False

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """See the class. The place in the circle is kept from one topic to the next."""
        circle = in_order(members)
        shares: dict[str, list[TopicPartition]] = {member.id: [] for member in members}
        turn = 0
        for topic in subscribers(members, topics):
            for partition in topics.partitions(topic):
                while topic not in circle[turn].topics:
                    turn = (turn + 1) % len(circle)
                shares[circle[turn].id].append(partition)
                turn = (turn + 1) % len(circle)
        return finished(members, shares)


# ``UniformAssignor``, the group coordinator's default assignor of the consumer protocol (KIP-848).
#
# ``owned`` of a member is its target assignment, which the coordinator keeps; racks are not looked at.


# Which member gets the next partition of a topic, and which gives one up (``MemberAssignmentBalancer``).


class Levels:
    """A topic's subscribers by how many partitions they have, of any topic.

    At the low end stands a stretch of members with the fewest, at the high end one with the most. A stretch is gone
    through once, each member in it getting or giving one partition; then its level is one higher or lower, and members
    that are at that level already join it. Sizes are looked up as they are now: the caller keeps them up to date.
    """

    __slots__ = (
        "_high",
        "_high_end",
        "_high_next",
        "_high_start",
        "_low",
        "_low_end",
        "_low_next",
        "_members",
        "_sizes",
    )

    def __init__(self, sizes: Sequence[int], members: Sequence[int]) -> None:
        """``members`` are places in ``sizes``; at least one."""
        self._sizes = sizes
        self._members = sorted(members, key=lambda place: (sizes[place], place))
        self._low = sizes[self._members[0]] - 1
        """The level of the low stretch before this turn through it."""
        self._low_end = 0
        self._low_next = 0
        self._high = sizes[self._members[-1]] + 1
        self._high_start = self._high_end = len(members)
        self._high_next = len(members) - 1

    @property
    def difference(self) -> int:
        """Between the most and the fewest that a member has."""
        return self._sizes[self._members[-1]] - self._sizes[self._members[0]]

    @property
    def level(self) -> bool:
        """Whether handing over from high to low gains nothing any more."""
        return self._high - self._low <= 1

    def least(self) -> int:
        """The member that is next to get a partition."""
        if self._low_next >= self._low_end:
            self._low += 1
            while self._low_end < len(self._members) and self._size_at(self._low_end) == self._low:
                self._low_end += 1
            self._low_next = 0
        self._low_next += 1
        return self._members[self._low_next - 1]

    def most(self) -> int | None:
        """The member that is next to give one up, None if there is no other."""
        if self._high_next < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                # All of the stretch were left out: go down to the next member there is.
                self._high = self._size_at(self._high_start - 1)
            else:
                self._high -= 1
            while self._high_start > 0 and self._size_at(self._high_start - 1) == self._high:
                self._high_start -= 1
            self._high_next = self._high_end - 1
        if self._high_next < 0:
            return None
        self._high_next -= 1
        return self._members[self._high_next + 1]

    def leave_out(self) -> None:
        """The member that :meth:`most` named has nothing to give: it leaves the high stretch."""
        members, place, end = self._members, self._high_next + 1, self._high_end - 1
        members[place], members[end] = members[end], members[place]
        self._high_end -= 1

    def _size_at(self, place: int) -> int:
        return self._sizes[self._members[place]]


ROUNDS = 16
"""How often all topics are gone through at most (``MAX_ITERATION_COUNT``)."""


class UniformAssignor:
    """Two ways: one for members that all subscribe to the same, one for others."""

    name = "uniform"
    cooperative = True

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """See the class."""
        by_id = sorted(members, key=lambda member: member.id)
        if same_subscriptions(members):
            return finished(members, _homogeneous(by_id, topics))
        return finished(members, Heterogeneous(by_id, topics).shares())


def _homogeneous(members: list[MemberSubscription], topics: Topics) -> dict[str, list[TopicPartition]]:
    """The first members get one more where it does not come out even (``UniformHomogeneousAssignmentBuilder``).

    Each keeps what it has up to its quota; what is over, and what nobody had, fills up those below theirs.
    """
    partitions = [partition for topic in subscribers(members, topics) for partition in topics.partitions(topic)]
    kept: dict[str, list[TopicPartition]] = {}
    released: list[TopicPartition] = []
    nobodys = dict.fromkeys(partitions)
    quotas: dict[str, int] = {}
    least, extra = divmod(len(partitions), len(members) or 1)
    for place, member in enumerate(members):
        quotas[member.id] = least + (place < extra)
        owned = [partition for partition in sorted(dict.fromkeys(member.owned)) if partition in nobodys]
        for partition in owned:
            del nobodys[partition]
        kept[member.id] = owned[: quotas[member.id]]
        released.extend(owned[quotas[member.id] :])
    free = iter((*nobodys, *released))
    for member in members:
        while len(kept[member.id]) < quotas[member.id]:
            kept[member.id].append(next(free))
    return kept


class Heterogeneous:
    """Members subscribe to different topics (``UniformHeterogeneousAssignmentBuilder``).

    Members keep what they still subscribe to. Then topic by topic, the one with the most partitions per subscriber
    first, what is free goes to the subscribers with the fewest partitions; and then again topic by topic, subscribers
    with many hand over to those with few, until nothing moves any more or all topics had :data:`ROUNDS` turns.
    """

    __slots__ = ("_members", "_owners", "_sizes", "_subscribers", "_topics")

    def __init__(self, members: list[MemberSubscription], topics: Topics) -> None:
        """``members`` are in order of their ids."""
        self._members = members
        self._sizes = [0] * len(members)
        """Member, by its place → how many partitions it has."""
        places = {member.id: place for place, member in enumerate(members)}
        self._subscribers = {
            topic: [places[member.id] for member in whole] for topic, whole in subscribers(members, topics).items()
        }
        self._owners: dict[str, list[int | None]] = {topic: [None] * topics.sizes[topic] for topic in self._subscribers}
        """Topic → the owner of each of its partitions, by place."""
        self._topics = sorted(self._subscribers, key=self._rank)
        self._keep(topics)
        self._give_out()
        self._balance()

    def _rank(self, topic: str) -> tuple[Fraction, int, str]:
        """Most partitions per subscriber first, then fewest subscribers, then by name."""
        subscribed = len(self._subscribers[topic])
        return Fraction(-len(self._owners[topic]), subscribed), subscribed, topic

    def _keep(self, topics: Topics) -> None:
        for place, member in enumerate(self._members):
            for partition in member.owned:
                if partition.topic in member.topics and topics.has(partition):
                    self._assign(partition.topic, partition.partition, place)

    def _assign(self, topic: str, number: int, place: int) -> None:
        before = self._owners[topic][number]
        if before is not None:
            self._sizes[before] -= 1
        self._owners[topic][number] = place
        self._sizes[place] += 1

    def _give_out(self) -> None:
        for topic in self._topics:
            levels = Levels(self._sizes, self._subscribers[topic])
            for number, owner in enumerate(self._owners[topic]):
                if owner is None:
                    self._assign(topic, number, levels.least())

    def _balance(self) -> None:
        movable = [topic for topic in self._topics if len(self._subscribers[topic]) > 1]
        last: str | None = None
        """The topic at which something last moved: when its turn comes again, all is done."""
        for _round in range(ROUNDS):
            for topic in movable:
                if topic == last:
                    return
                if self._balanced(topic) or last is None:
                    last = topic

    def _balanced(self, topic: str) -> bool:
        """Hand partitions of a topic over from those with the most to those with the fewest; whether any was."""
        levels = Levels(self._sizes, self._subscribers[topic])
        if levels.difference <= 1:
            return False
        owned: dict[int, list[int]] = {}
        for number, owner in enumerate(self._owners[topic]):
            if owner is not None:
                owned.setdefault(owner, []).append(number)
        moved = False
        while not levels.level:
            giver = levels.most()
            while giver is not None and not owned.get(giver):
                levels.leave_out()
                giver = levels.most()
            if giver is None:
                break
            number = owned[giver].pop()
            taker = levels.least()
            if levels.level:
                break
            self._assign(topic, number, taker)
            moved = True
        return moved

    def shares(self) -> dict[str, list[TopicPartition]]:
        """Member → its partitions."""
        shares: dict[str, list[TopicPartition]] = {member.id: [] for member in self._members}
        for topic, owners in self._owners.items():
            for number, owner in enumerate(owners):
                if owner is not None:
                    shares[self._members[owner].id].append(TopicPartition(topic, number))
        return shares


# The assignors by the names that the protocols use.


_RANGE: Final = RangeAssignor()
_CLIENT: Final[tuple[Assignor, ...]] = (_RANGE, RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor())

CLIENT_ASSIGNORS: Final = {assignor.name: assignor for assignor in _CLIENT}
"""What a consumer's ``partition.assignment.strategy`` can hold, by the names in its JoinGroup."""

SERVER_ASSIGNORS: Final[dict[str, Assignor]] = {"uniform": UniformAssignor(), "range": _RANGE}
"""What ``group.remote.assignor`` can name under KIP-848, the default first. The coordinator gives no racks."""
