"""The group coordinator's assignors as they were before 4.0, while the consumer protocol (KIP-848) was a preview.

3.8 has the uniform assignor's algorithm for equal subscriptions that later releases have (KAFKA-16864), 3.9 their range
assignor (KAFKA-16944), and 4.0 their algorithm for different subscriptions (KAFKA-17710). Racks are left out: 3.7 uses
them, but no Java consumer sends its rack before 4.1, and later assignors ignore it.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from fractions import Fraction

from cluster_model.assignors.base import (
    Assignment,
    AssignmentError,
    MemberSubscription,
    TopicPartition,
    Topics,
    finished,
    subscribers,
)

Shares = dict[str, list[TopicPartition]]
"""Member id → its partitions."""


class StickyRangeAssignor:
    """The server-side ``RangeAssignor`` before KAFKA-16944: members keep their partitions up to their share of a topic.

    The first members get one partition more, unless others that own as many come before them.
    """

    name = "range"
    cooperative = True

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """Assign the partitions of each topic to its subscribers."""
        shares: Shares = {member.id: [] for member in members}
        by_id = sorted(members, key=lambda member: member.id)
        for topic, subscribed in subscribers(by_id, topics).items():
            _share_topic(topics.partitions(topic), subscribed, shares)
        return finished(members, shares)


def _share_topic(partitions: list[TopicPartition], members: list[MemberSubscription], shares: Shares) -> None:
    least, extra = divmod(len(partitions), len(members))
    free = dict.fromkeys(partitions)
    below: list[tuple[str, int]] = []
    """Members that do not keep an extra partition, and how many they lack to the least number."""
    for member in members:
        owned = sorted(partition for partition in dict.fromkeys(member.owned) if partition in free)
        keeps_extra = len(owned) > least and extra > 0
        extra -= keeps_extra
        for partition in owned[: least + keeps_extra]:
            shares[member.id].append(partition)
            del free[partition]
        if not keeps_extra:
            below.append((member.id, least - len(owned)))
    free_members = iter(free)
    for name, lacking in below:
        wanted = lacking + (extra > 0)
        extra -= extra > 0
        shares[name].extend(next(free_members) for _ in range(wanted))


def homogeneous_by_turns(members: list[MemberSubscription], topics: Topics) -> Shares:
    """Assign with equal subscriptions as 3.7 does (``OptimizedUniformAssignmentBuilder``).

    ``members`` are sorted by id. Members keep their partitions up to the least number; the first of those with more
    keep one extra. Then each free partition goes to the next member in turn that has room.
    """
    partitions = [partition for topic in subscribers(members, topics) for partition in topics.partitions(topic)]
    least, extra = divmod(len(partitions), len(members) or 1)
    free = dict.fromkeys(partitions)
    shares: Shares = {}
    room: dict[str, int] = {}
    """Members that may get more → partitions that they lack to the least number."""
    for member in members:
        owned = sorted(partition for partition in dict.fromkeys(member.owned) if partition in free)
        keeps_extra = len(owned) > least and extra > 0
        extra -= keeps_extra
        shares[member.id] = owned[: least + keeps_extra]
        for partition in shares[member.id]:
            del free[partition]
        if len(owned) <= least:
            room[member.id] = least - len(owned)
    turns = deque(room)
    for partition in free:
        while True:
            name = turns.popleft()
            if room[name] > 0 or extra > 0:
                break
            turns.append(name)
        shares[name].append(partition)
        is_extra = room[name] == 0
        extra -= is_extra
        room[name] -= not is_extra
        if not is_extra and (room[name] > 0 or extra > 0):
            turns.append(name)
    return shares


class PartitionBalancing:
    """Assignment with different subscriptions before KAFKA-17710 (``UniformHeterogeneousAssignmentBuilder``).

    Members keep the partitions of topics that they still subscribe to. Each free partition goes to the subscriber with
    the fewest. Then each partition, those of topics with the most partitions per subscriber first, moves to the
    subscriber with the fewest if its owner has at least two more, until nothing moves or the members that could get
    more are even. No partition moves twice, and members that have all they can get do not count, so the result need
    not be even.
    """

    __slots__ = (
        "_limits",
        "_members",
        "_moved",
        "_moves",
        "_open",
        "_order",
        "_owners",
        "_sizes",
        "_subscribers",
        "_topics",
    )

    def __init__(self, members: list[MemberSubscription], topics: Topics) -> None:
        """Compute the assignment; ``members`` are sorted by id.

        Raises:
            AssignmentError: a partition would have to move back to a member from which one of its topic came.
        """
        self._members = members
        self._topics = topics
        places = {member.id: place for place, member in enumerate(members)}
        self._subscribers = {
            topic: [places[member.id] for member in subscribed]
            for topic, subscribed in subscribers(members, topics).items()
        }
        self._limits = [sum(topics.sizes[topic] for topic in self._existing(member)) for member in members]
        """Number of partitions of the topics that a member subscribes to, by its place."""
        self._sizes = [0] * len(members)
        self._open = {place for place, limit in enumerate(self._limits) if limit > 0}
        """Members below their limit."""
        self._owners: dict[TopicPartition, int] = {}
        self._moved: set[TopicPartition] = set()
        self._moves: set[tuple[str, int, int]] = set()
        """Topic, old owner and new owner of each partition that moved."""
        self._order = self._ranked()
        self._keep()
        self._give_out()
        self._balance()

    def shares(self) -> Shares:
        """Return the partitions of each member."""
        shares: Shares = {member.id: [] for member in self._members}
        for partition, place in self._owners.items():
            shares[self._members[place].id].append(partition)
        return shares

    def _existing(self, member: MemberSubscription) -> Iterator[str]:
        return (topic for topic in dict.fromkeys(member.topics) if topic in self._subscribers)

    def _ranked(self) -> list[TopicPartition]:
        """Return all partitions: most partitions per subscriber first, then fewest subscribers, then by number."""
        partitions = [partition for topic in self._subscribers for partition in self._topics.partitions(topic)]

        def rank(partition: TopicPartition) -> tuple[Fraction, int, int]:
            subscribed = len(self._subscribers[partition.topic])
            return Fraction(-self._topics.sizes[partition.topic], subscribed), subscribed, partition.partition

        return sorted(partitions, key=rank)

    def _keep(self) -> None:
        for place, member in enumerate(self._members):
            for partition in member.owned:
                if partition.topic in member.topics and self._topics.has(partition) and partition not in self._owners:
                    self._assign(partition, place)

    def _assign(self, partition: TopicPartition, member: int) -> None:
        self._owners[partition] = member
        self._sizes[member] += 1
        if self._sizes[member] >= self._limits[member]:
            self._open.discard(member)

    def _revoke(self, partition: TopicPartition) -> None:
        place = self._owners.pop(partition)
        self._sizes[place] -= 1
        self._open.add(place)

    def _smallest(self, topic: str) -> int:
        """Return the subscriber below its limit with the fewest partitions."""
        able = [place for place in self._subscribers[topic] if place in self._open]
        return min(able, key=self._sizes.__getitem__)

    def _give_out(self) -> None:
        for partition in self._order:
            if partition not in self._owners:
                self._assign(partition, self._smallest(partition.topic))

    def _balance(self) -> None:
        movable = [partition for partition in self._order if len(self._subscribers[partition.topic]) > 1]
        modified = True
        while modified:
            modified = moved = False
            movable = [partition for partition in movable if partition not in self._moved]
            for partition in movable:
                if moved and self._is_balanced():
                    return
                most = self._sizes[self._owners[partition]]
                moved = any(most > self._sizes[place] + 1 for place in self._subscribers[partition.topic])
                if moved:
                    self._reassign(partition)
                    modified = True

    def _is_balanced(self) -> bool:
        """Return whether no member below its limit can take a partition of a member with at least two more."""
        able = sorted(self._open)
        sizes = [self._sizes[place] for place in able]
        if min(sizes) >= max(sizes) - 1:
            return True
        return not any(
            self._sizes[place] + 1 < self._sizes[self._owners[partition]]
            for place in able
            for topic in self._existing(self._members[place])
            for partition in self._topics.partitions(topic)
        )

    def _reassign(self, partition: TopicPartition) -> None:
        """Move a partition to the subscriber with the fewest.

        Kafka prefers one of its topic that moved from there to its owner before, and then fails.
        """
        owner = self._owners[partition]
        taker = self._smallest(partition.topic)
        if (partition.topic, taker, owner) in self._moves:
            raise AssignmentError(f"a partition of topic {partition.topic} would move back")
        self._moves.add((partition.topic, owner, taker))
        self._moved.add(partition)
        self._revoke(partition)
        self._assign(partition, taker)
