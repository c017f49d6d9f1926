"""What an assignor is given and what it answers (``ConsumerPartitionAssignor``, ``PartitionAssignor``).

An assignor is a pure function: it keeps nothing between two calls. The leader of a group runs it under the classic
protocol, the coordinator under KIP-848. Where Kafka goes through a hash map, whose order means nothing, the order here
is that of the member ids and topic names.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol


class TopicPartition(NamedTuple):
    """A partition; ``str`` is Kafka's way to write it, ``orders-0``."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


NO_RACKS: Final[Mapping[TopicPartition, tuple[str, ...]]] = MappingProxyType({})


class Topics(NamedTuple):
    """The topics that exist, as the one who assigns knows them."""

    sizes: Mapping[str, int]
    """Topic → how many partitions it has."""
    racks: Mapping[TopicPartition, tuple[str, ...]] = NO_RACKS
    """Partition → the racks of its replicas. Leave it out for a consumer before 3.5, which does not look (KIP-881)."""

    def partitions(self, topic: str) -> list[TopicPartition]:
        """All of a topic, lowest first; none if there is no such topic."""
        return [TopicPartition(topic, number) for number in range(self.sizes.get(topic, 0))]

    def has(self, partition: TopicPartition) -> bool:
        """Whether there is such a partition."""
        return 0 <= partition.partition < self.sizes.get(partition.topic, 0)


class MemberSubscription(NamedTuple):
    """A member as its subscription shows it."""

    id: str
    topics: tuple[str, ...]
    instance: str = ""
    """``group.instance.id``, empty for a dynamic member."""
    rack: str = ""
    """``client.rack``, empty where it has none."""
    owned: tuple[TopicPartition, ...] = ()
    """What it says that it owns; of an eager member, what it owned last; under KIP-848, its target assignment."""
    generation: int = -1
    """The generation in which it got that, -1 if it does not say."""


Assignment = dict[str, tuple[TopicPartition, ...]]
"""Member id → its partitions by topic and number; every member has an entry."""


class Assignor(Protocol):
    """A way to share partitions out."""

    @property
    def name(self) -> str:
        """What ``partition.assignment.strategy`` or ``group.remote.assignor`` stand for in the protocol."""

    @property
    def cooperative(self) -> bool:
        """Whether members keep what they own during a rebalance (KIP-429)."""

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """Give every partition of every topic that somebody subscribes to, to one who does."""


def in_order(members: Sequence[MemberSubscription]) -> list[MemberSubscription]:
    """Static members first by their instance ids, then the others by member id (``MemberInfo.compareTo``)."""
    return sorted(members, key=lambda member: (not member.instance, member.instance, member.id))


def subscribers(members: Sequence[MemberSubscription], topics: Topics) -> dict[str, list[MemberSubscription]]:
    """Topic → who subscribes to it, in the order given; only topics that exist, by name."""
    found: dict[str, list[MemberSubscription]] = {}
    for topic in sorted({topic for member in members for topic in member.topics}):
        if topics.sizes.get(topic, 0) > 0:
            found[topic] = [member for member in members if topic in member.topics]
    return found


def same_subscriptions(members: Sequence[MemberSubscription]) -> bool:
    """Whether all members name the same topics, whether these exist or not."""
    return len({tuple(sorted(set(member.topics))) for member in members}) <= 1


def finished(members: Sequence[MemberSubscription], shares: Mapping[str, Sequence[TopicPartition]]) -> Assignment:
    """Shares as an assignment: in the members' order, each sorted."""
    return {member.id: tuple(sorted(shares.get(member.id, ()))) for member in members}
