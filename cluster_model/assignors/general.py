"""Sticky assignment where members subscribe to different topics (``GeneralAssignmentBuilder``)."""

from bisect import bisect_left, insort
from collections.abc import Sequence

from cluster_model.assignors.base import Member, TopicPartition, Topics
from cluster_model.assignors.claims import Claims
from cluster_model.assignors.movements import Movements
from cluster_model.assignors.racks import Racks

Shares = dict[str, dict[TopicPartition, None]]
Previous = dict[TopicPartition, tuple[int, str]]
"""Partition → (generation, member) of the newest claim of an older generation."""


class General:
    """Keep what is still subscribed to, give the rest to those with the fewest, then move until it is even."""

    __slots__ = (
        "_by_size", "_lost_some", "_movements", "_owner", "_partitions", "_potential", "_previous", "_racks",
        "_subscribers", "_topics", "shares",
    )  # fmt: skip

    def __init__(
        self, members: Sequence[Member], subscribers: dict[str, list[Member]], topics: Topics, claims: Claims,
        racks: Racks,
    ) -> None:  # fmt: skip
        self._racks = racks
        self._subscribers = {topic: [member.id for member in whole] for topic, whole in subscribers.items()}
        self._topics: dict[str, list[str]] = {member: [] for member in claims.owned}
        """Member → the topics that it subscribes to."""
        for topic, subscribed in self._subscribers.items():
            for member in subscribed:
                self._topics[member].append(topic)
        self._potential = {
            member: sum(topics.sizes[topic] for topic in wanted) for member, wanted in self._topics.items()
        }
        """Member → how many partitions it could have at most."""
        by_need = sorted(self._subscribers, key=lambda topic: (len(self._subscribers[topic]), topic))
        self._partitions = [partition for topic in by_need for partition in topics.partitions(topic)]
        """Those with the fewest subscribers first."""
        self._previous = _previous(members)
        self._movements = Movements()
        self._lost_some = False
        """Whether a member lost something for another reason than balance."""
        self.shares: Shares = {member: {} for member in claims.owned}
        self._owner: dict[TopicPartition, str] = {}
        self._keep(claims)
        self._by_size = sorted((len(share), member) for member, share in self.shares.items())
        self._balance([partition for partition in self._partitions if partition not in self._owner])

    def _keep(self, claims: Claims) -> None:
        for member, owned in claims.owned.items():
            for partition in owned:
                if partition.topic in self._topics[member] and not self._racks.apart(member, partition):
                    self.shares[member][partition] = None
                    self._owner[partition] = member
                else:
                    self._lost_some = True

    def _balance(self, free: list[TopicPartition]) -> None:
        left = [partition for partition in free if not self._given(partition, near=True)] if self._racks else free
        for partition in left:
            self._given(partition, near=False)
        fixed = self._set_fixed_aside()
        free = [partition for partition in free if self._is_movable(partition)]
        movable = [partition for partition in self._partitions if self._is_movable(partition)]
        if not self._lost_some:
            self._move(free)
        self._move(movable)
        self.shares.update(fixed)

    def _given(self, partition: TopicPartition, *, near: bool) -> bool:
        """Give a partition to the member with the fewest that may have it, and, if ``near``, is not apart from it."""
        for _size, member in self._by_size:
            if partition.topic in self._topics[member] and not (near and self._racks.apart(member, partition)):
                self._put(partition, member)
                return True
        return False

    def _is_movable(self, partition: TopicPartition) -> bool:
        return len(self._subscribers[partition.topic]) > 1

    def _set_fixed_aside(self) -> Shares:
        """Take out the members that have all they could have, nothing of which anybody else could have."""
        fixed: Shares = {}
        for member, share in list(self.shares.items()):
            if len(share) >= self._potential[member] and not any(map(self._is_movable, share)):
                self._by_size.remove((len(share), member))
                fixed[member] = self.shares.pop(member)
        return fixed

    def _move(self, partitions: list[TopicPartition]) -> None:
        """Move partitions to members that have at least two fewer, until nothing is left to gain."""
        moved = True
        while moved:
            moved = False
            balanced = self._is_balanced()
            for partition in partitions:
                if balanced:
                    return
                if self._moved(partition):
                    moved = True
                    balanced = self._is_balanced()

    def _moved(self, partition: TopicPartition) -> bool:
        """Move a partition, to the member that had it before if that is one to gain by, else to the least loaded."""
        size = len(self.shares[self._owner[partition]])
        _generation, before = self._previous.get(partition, (0, ""))
        if before in self.shares and partition.topic in self._topics[before] and size > len(self.shares[before]) + 1:
            self._move_to(partition, before)
            return True
        least = next(member for _size, member in self._by_size if partition.topic in self._topics[member])
        if size > len(self.shares[least]) + 1:
            self._move_to(partition, least)
            return True
        return False

    def _move_to(self, partition: TopicPartition, target: str) -> None:
        """Move a partition, or in its place one whose earlier move that undoes.

        The other one may belong to somebody else by now: it is taken only where that is a gain too. So every move makes
        the group more even: balancing comes to an end, and need not be taken back, as Kafka does if it was for nothing.
        """
        instead = self._movements.better(partition, self._owner[partition], target)
        if len(self.shares[self._owner[instead]]) > len(self.shares[target]) + 1:
            partition = instead
        source = self._owner[partition]
        self._resize(source, -1)
        del self.shares[source][partition]
        self._movements.moved(partition, source, target)
        self._put(partition, target)

    def _put(self, partition: TopicPartition, member: str) -> None:
        self._resize(member, 1)
        self.shares[member][partition] = None
        self._owner[partition] = member

    def _resize(self, member: str, change: int) -> None:
        """Keep the order by size, before a share gets larger or smaller."""
        size = len(self.shares[member])
        del self._by_size[bisect_left(self._by_size, (size, member))]
        insort(self._by_size, (size + change, member))

    def _is_balanced(self) -> bool:
        """Whether no member could have a partition of one that has at least two more."""
        if not self._by_size or self._by_size[0][0] >= self._by_size[-1][0] - 1:
            return True
        largest: dict[str, int] = {}
        """Topic → the most that an owner of any of its partitions has."""
        for share in self.shares.values():
            for topic in dict.fromkeys(partition.topic for partition in share):
                largest[topic] = max(len(share), largest.get(topic, 0))
        return not any(
            size + 1 < largest.get(topic, 0) for size, member in self._by_size for topic in self._topics[member]
        )


def _previous(members: Sequence[Member]) -> Previous:
    """The claims that are older than the newest generation of the group, the newest of them for each partition."""
    newest = max(member.generation for member in members)
    found: Previous = {}
    for member in sorted(members, key=lambda member: member.id):
        if member.generation < newest:
            for partition in member.owned:
                if partition not in found or found[partition][0] < member.generation:
                    found[partition] = (member.generation, member.id)
    return found
