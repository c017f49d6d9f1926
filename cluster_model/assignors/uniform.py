"""``uniform``, the coordinator's own assignor by default (KIP-848, ``UniformAssignor``): even, then sticky.

``owned`` of a member is its target assignment, which the coordinator keeps; racks are not looked at.
"""

from collections.abc import Sequence
from fractions import Fraction

from cluster_model.assignors.base import (
    Assignment,
    Member,
    TopicPartition,
    Topics,
    finished,
    same_subscriptions,
    subscribers,
)
from cluster_model.assignors.levels import Levels

ROUNDS = 16
"""How often all topics are gone through at most (``MAX_ITERATION_COUNT``)."""


class UniformAssignor:
    """Two ways: one for members that all subscribe to the same, one for others."""

    name = "uniform"
    cooperative = True

    def assign(self, members: Sequence[Member], topics: Topics) -> Assignment:
        """See the class."""
        by_id = sorted(members, key=lambda member: member.id)
        if same_subscriptions(members):
            return finished(members, _homogeneous(by_id, topics))
        return finished(members, Heterogeneous(by_id, topics).shares())


def _homogeneous(members: list[Member], topics: Topics) -> dict[str, list[TopicPartition]]:
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

    def __init__(self, members: list[Member], topics: Topics) -> None:
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
