"""Kafka's range, round robin and uniform assignors, and all assignors by their protocol names."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Final

from cluster_model.assignors.base import (
    NEWEST_RULES,
    NEWEST_SERVER_RULES,
    Assignment,
    Assignor,
    AssignorRules,
    MemberSubscription,
    ServerAssignorRules,
    TopicPartition,
    Topics,
    finished,
    in_order,
    same_subscriptions,
    subscribers,
)
from cluster_model.assignors.early_server_assignors import (
    PartitionBalancing,
    StickyRangeAssignor,
    homogeneous_by_turns,
)
from cluster_model.assignors.sticky import CooperativeStickyAssignor, StickyAssignor, racks_matter

# Kafka's ``RangeAssignor`` and ``RoundRobinAssignor``.


class _TopicAssignment:
    """State of one topic during its assignment (``RangeAssignor.TopicAssignmentState``)."""

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
        """Partition → racks of its replicas; empty if no member has a rack."""
        self.racks_matter = racks_matter(in_racks, self.racks)

    def near(self, member: MemberSubscription, number: int) -> bool:
        """Return whether a replica is in the member's rack, or the member has none."""
        return not member.rack or member.rack in self.racks.get(TopicPartition(self._topic, number), ())

    def room(self, member: MemberSubscription) -> int:
        """Return how many more partitions a member may get."""
        return max(0, self._each + (self._extra > 0) - self._taken[member.id])

    def give(self, member: MemberSubscription, numbers: list[int], shares: dict[str, list[TopicPartition]]) -> None:
        """Assign partitions to a member."""
        shares[member.id].extend(TopicPartition(self._topic, number) for number in numbers)
        self._taken[member.id] += len(numbers)
        if self._taken[member.id] > self._each:
            self._extra -= 1
        for number in numbers:
            del self.free[number]

    def give_ranges(
        self, may_have: Callable[[MemberSubscription, int], bool], shares: dict[str, list[TopicPartition]]
    ) -> None:
        """Assign to each member in turn the first free partitions that it may have, up to its limit."""
        for member in self.members:
            numbers = [number for number in self.free if may_have(member, number)][: self.room(member)]
            if numbers:
                self.give(member, numbers, shares)


class RangeAssignor:
    """Kafka's ``RangeAssignor``: contiguous ranges per topic, one partition more for the first members.

    The same members are first in every topic, so their extra partitions add up. Where racks matter (see
    :func:`~cluster_model.assignors.sticky.racks_matter`), members first get the partitions in their rack. The
    coordinator's own ``range`` of KIP-848 has the same result without racks since 3.9.
    """

    name = "range"
    cooperative = False

    def __init__(self, rules: AssignorRules = NEWEST_RULES) -> None:
        self._rules = rules

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """Assign the partitions of all topics to their subscribers."""
        shares: dict[str, list[TopicPartition]] = {member.id: [] for member in members}
        sharings = [
            _TopicAssignment(topic, subscribed, topics)
            for topic, subscribed in subscribers(in_order(members, self._rules), topics).items()
        ]
        if any(sharing.racks_matter for sharing in sharings):
            _match_racks(sharings, shares)
        for sharing in sharings:
            sharing.give_ranges(lambda _member, _number: True, shares)
        return finished(members, shares)


def _match_racks(sharings: list[_TopicAssignment], shares: dict[str, list[TopicPartition]]) -> None:
    """Assign partitions in a member's rack, jointly for topics with the same members and size (co-partitioning)."""
    alike: dict[tuple[tuple[str, ...], int], list[_TopicAssignment]] = {}
    for sharing in sharings:
        key = (tuple(member.id for member in sharing.members), len(sharing.racks))
        alike.setdefault(key, []).append(sharing)
    for (_members, size), together in alike.items():
        if len(together) > 1:
            _match_together(together, size, shares)
        elif together[0].racks_matter:
            together[0].give_ranges(together[0].near, shares)


def _match_together(together: list[_TopicAssignment], size: int, shares: dict[str, list[TopicPartition]]) -> None:
    """Assign the partitions of one number in all these topics to the first member with replicas of all in its rack."""
    for number in range(size):
        for member in together[0].members:
            if all(sharing.near(member, number) and sharing.room(member) > 0 for sharing in together):
                for sharing in together:
                    sharing.give(member, [number], shares)
                break


# ``RoundRobinAssignor``: all partitions in order, members in a circle.


class RoundRobinAssignor:
    """Kafka's ``RoundRobinAssignor``: each partition goes to the next member that subscribes to its topic."""

    name = "roundrobin"
    cooperative = False

    def __init__(self, rules: AssignorRules = NEWEST_RULES) -> None:
        self._rules = rules

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """Assign all partitions in turn; the next topic continues with the next member."""
        circle = in_order(members, self._rules)
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
# ``owned`` of a member is its target assignment, which the coordinator keeps; racks are ignored.
# :mod:`cluster_model.assignors.early_server_assignors` has the algorithms before 4.0.


# Choice of the member that gets the next partition of a topic, or gives one up (``MemberAssignmentBalancer``).


class MemberAssignmentBalancer:
    """Balancer of a topic's subscribers by their number of partitions, of any topic (``MemberAssignmentBalancer``).

    It has a low range of the members with the fewest partitions, and a high range of those with the most. In each pass
    every member of a range gets or gives one partition; then the level of the range rises or falls by one, and members
    already at that level join it. The caller keeps ``sizes`` up to date.
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
        """Make it; ``members`` (at least one) are indices of ``sizes``."""
        self._sizes = sizes
        self._members = sorted(members, key=lambda member: (sizes[member], member))
        self._low = sizes[self._members[0]] - 1
        """Level of the low range before this pass."""
        self._low_end = 0
        self._low_next = 0
        self._high = sizes[self._members[-1]] + 1
        self._high_start = self._high_end = len(members)
        self._high_next = len(members) - 1

    @property
    def difference(self) -> int:
        """Difference between the largest and the smallest number of partitions of a member."""
        return self._sizes[self._members[-1]] - self._sizes[self._members[0]]

    @property
    def level(self) -> bool:
        """Whether moving a partition from high to low no longer improves the balance."""
        return self._high - self._low <= 1

    def least(self) -> int:
        """Return the next member to get a partition."""
        if self._low_next >= self._low_end:
            self._low += 1
            while self._low_end < len(self._members) and self._size_at(self._low_end) == self._low:
                self._low_end += 1
            self._low_next = 0
        self._low_next += 1
        return self._members[self._low_next - 1]

    def next_giver(self) -> int | None:
        """Return the next member to give up a partition, None if there is none."""
        if self._high_next < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                # All members of the range were left out: continue with the next lower member.
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
        """Remove the member returned by :meth:`most` from the high range: it has no partition to give up."""
        members, index, end = self._members, self._high_next + 1, self._high_end - 1
        members[index], members[end] = members[end], members[index]
        self._high_end -= 1

    def _size_at(self, index: int) -> int:
        return self._sizes[self._members[index]]


ROUNDS = 16
"""Maximum rounds of balancing over all topics (``MAX_ITERATION_COUNT``)."""


class UniformAssignor:
    """The server-side ``UniformAssignor``, with one algorithm for equal subscriptions and one for different ones."""

    name = "uniform"
    cooperative = True

    def __init__(self, rules: ServerAssignorRules = NEWEST_SERVER_RULES) -> None:
        self._rules = rules

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """Assign the partitions of all topics evenly, moving few of them.

        Raises:
            AssignmentError: the algorithm before 4.0 fails for these subscriptions.
        """
        by_id = sorted(members, key=lambda member: member.id)
        if same_subscriptions(members):
            if not self._rules.uniform_by_member:
                return finished(members, homogeneous_by_turns(by_id, topics))
            return finished(members, _homogeneous(by_id, topics, keeps_extra=self._rules.keeps_extra_partition))
        if not self._rules.uniform_by_topic:
            return finished(members, PartitionBalancing(by_id, topics).shares())
        return finished(members, HeterogeneousAssignment(by_id, topics).shares())


def _homogeneous(
    members: list[MemberSubscription], topics: Topics, *, keeps_extra: bool
) -> dict[str, list[TopicPartition]]:
    """Assign with equal subscriptions (``UniformHomogeneousAssignmentBuilder``).

    Some members have a quota of one more if the number is not divisible: the first ones or, with ``keeps_extra``, those
    that own as many, and the last ones. Each member keeps its partitions up to its quota; the excess and the unowned
    partitions go to members below their quota.
    """
    partitions = [partition for topic in subscribers(members, topics) for partition in topics.partitions(topic)]
    kept: dict[str, list[TopicPartition]] = {}
    released: list[TopicPartition] = []
    unowned = dict.fromkeys(partitions)
    quotas: dict[str, int] = {}
    least, extra = divmod(len(partitions), len(members) or 1)
    for index, member in enumerate(members):
        owned = [partition for partition in sorted(dict.fromkeys(member.owned)) if partition in unowned]
        for partition in owned:
            del unowned[partition]
        quota = least + (extra > 0)
        if keeps_extra and len(owned) < quota and len(members) - index > extra:
            quota = least
        extra -= quota > least
        quotas[member.id] = quota
        kept[member.id] = owned[:quota]
        released.extend(owned[quota:])
    free = iter((*unowned, *released))
    for member in members:
        while len(kept[member.id]) < quotas[member.id]:
            kept[member.id].append(next(free))
    return kept


class HeterogeneousAssignment:
    """Assignment with different subscriptions (``UniformHeterogeneousAssignmentBuilder``).

    Members keep the partitions of topics that they still subscribe to. Then, topic by topic, the one with the most
    partitions per subscriber first, free partitions go to the subscribers with the fewest partitions. Finally, topic by
    topic, partitions move from subscribers with many to those with few, until nothing moves or after
    :data:`ROUNDS` rounds.
    """

    __slots__ = ("_members", "_owners", "_sizes", "_subscribers", "_topics")

    def __init__(self, members: list[MemberSubscription], topics: Topics) -> None:
        """Compute the assignment; ``members`` are sorted by id."""
        self._members = members
        self._sizes = [0] * len(members)
        """Number of partitions by member index."""
        indices = {member.id: index for index, member in enumerate(members)}
        self._subscribers = {
            topic: [indices[member.id] for member in whole] for topic, whole in subscribers(members, topics).items()
        }
        self._owners: dict[str, list[int | None]] = {topic: [None] * topics.sizes[topic] for topic in self._subscribers}
        """Topic → member index of the owner of each partition."""
        self._topics = sorted(self._subscribers, key=self._rank)
        self._keep(topics)
        self._give_out()
        self._balance()

    def _rank(self, topic: str) -> tuple[Fraction, int, str]:
        """Return the sort key of topics: most partitions per subscriber, then fewest subscribers, then name."""
        subscribed = len(self._subscribers[topic])
        return Fraction(-len(self._owners[topic]), subscribed), subscribed, topic

    def _keep(self, topics: Topics) -> None:
        for index, member in enumerate(self._members):
            for partition in member.owned:
                if partition.topic in member.topics and topics.has(partition):
                    self._assign(partition.topic, partition.partition, index)

    def _assign(self, topic: str, number: int, owner: int) -> None:
        before = self._owners[topic][number]
        if before is not None:
            self._sizes[before] -= 1
        self._owners[topic][number] = owner
        self._sizes[owner] += 1

    def _give_out(self) -> None:
        for topic in self._topics:
            levels = MemberAssignmentBalancer(self._sizes, self._subscribers[topic])
            for number, owner in enumerate(self._owners[topic]):
                if owner is None:
                    self._assign(topic, number, levels.least())

    def _balance(self) -> None:
        movable = [topic for topic in self._topics if len(self._subscribers[topic]) > 1]
        last: str | None = None
        """Topic whose partitions moved last: when its turn comes again, balancing is complete."""
        for _round in range(ROUNDS):
            for topic in movable:
                if topic == last:
                    return
                if self._balanced(topic) or last is None:
                    last = topic

    def _balanced(self, topic: str) -> bool:
        """Move partitions of a topic from members with the most to those with the fewest; return whether any moved."""
        levels = MemberAssignmentBalancer(self._sizes, self._subscribers[topic])
        if levels.difference <= 1:
            return False
        owned: dict[int, list[int]] = {}
        for number, owner in enumerate(self._owners[topic]):
            if owner is not None:
                owned.setdefault(owner, []).append(number)
        moved = False
        while not levels.level:
            giver = levels.next_giver()
            while giver is not None and not owned.get(giver):
                levels.leave_out()
                giver = levels.next_giver()
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
        """Return the partitions of each member."""
        shares: dict[str, list[TopicPartition]] = {member.id: [] for member in self._members}
        for topic, owners in self._owners.items():
            for number, owner in enumerate(owners):
                if owner is not None:
                    shares[self._members[owner].id].append(TopicPartition(topic, number))
        return shares


# Assignors by their protocol names.


@cache
def client_assignors(rules: AssignorRules) -> Mapping[str, Assignor]:
    """Return the assignors of ``partition.assignment.strategy`` with the rules of a release, by their names."""
    made: tuple[Assignor, ...] = (
        RangeAssignor(rules), RoundRobinAssignor(rules), StickyAssignor(rules), CooperativeStickyAssignor(rules)
    )  # fmt: skip
    return MappingProxyType({assignor.name: assignor for assignor in made})


CLIENT_ASSIGNORS: Final = client_assignors(NEWEST_RULES)
"""Assignors of ``partition.assignment.strategy`` of the newest release, by their names in JoinGroup."""


@cache
def server_assignors(rules: ServerAssignorRules) -> Mapping[str, Assignor]:
    """Return the assignors of ``group.remote.assignor`` with the rules of a release, by their names, the default first.

    The coordinator passes them no racks.
    """
    ranges: Assignor = RangeAssignor() if rules.contiguous_ranges else StickyRangeAssignor()
    return MappingProxyType({"uniform": UniformAssignor(rules), "range": ranges})
