"""Kafka's ``RangeAssignor`` and ``RoundRobinAssignor``."""

from collections.abc import Callable, Sequence

from cluster_model.assignors.base import (
    Assignment,
    MemberSubscription,
    TopicPartition,
    Topics,
    finished,
    in_order,
    subscribers,
)
from cluster_model.assignors.sticky import racks_matter


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
