"""Interface of assignors: input, output and common helpers (``ConsumerPartitionAssignor``, ``PartitionAssignor``).

An assignor is a pure function without state between calls. The leader of a group runs it under the classic protocol,
the coordinator under KIP-848. Where Kafka iterates a hash map in arbitrary order, the order here is that of member ids
and topic names.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol


class TopicPartition(NamedTuple):
    """A partition; ``str`` gives Kafka's notation, ``orders-0``."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


NO_RACKS: Final[Mapping[TopicPartition, tuple[str, ...]]] = MappingProxyType({})


class Topics(NamedTuple):
    """The existing topics, as known to the leader or coordinator that assigns."""

    sizes: Mapping[str, int]
    """Topic → number of partitions."""
    racks: Mapping[TopicPartition, tuple[str, ...]] = NO_RACKS
    """Partition → racks of its replicas; empty for a consumer before 3.5, which ignores racks (KIP-881)."""

    def partitions(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic, ascending; none if the topic does not exist."""
        return [TopicPartition(topic, number) for number in range(self.sizes.get(topic, 0))]

    def has(self, partition: TopicPartition) -> bool:
        """Return whether a partition exists."""
        return 0 <= partition.partition < self.sizes.get(partition.topic, 0)


class MemberSubscription(NamedTuple):
    """A member with its subscription, the input of an assignor."""

    id: str
    topics: tuple[str, ...]
    instance: str = ""
    """``group.instance.id``, empty for a dynamic member."""
    rack: str = ""
    """``client.rack``, empty for none."""
    owned: tuple[TopicPartition, ...] = ()
    """Partitions that it claims to own; for an eager member the last owned, under KIP-848 its target assignment."""
    generation: int = -1
    """Generation in which they were assigned, -1 if not given."""


class AssignorRules(NamedTuple):
    """Rules of client-side assignors that differ between releases; the defaults are those of the newest."""

    static_member_order: bool = True
    """Range and round robin put static members first, by instance id (KAFKA-8355, KAFKA-8356)."""
    sticky_generations: bool = True
    """Sticky members report the generation of what they own (KIP-341)."""
    constrained_sticky: bool = True
    """Sticky assignors have an algorithm of their own for equal subscriptions (KAFKA-9987)."""
    cooperative_generation: bool = True
    """Cooperative members report the generation of what they own (KAFKA-12984)."""
    even_sticky: bool = True
    """Members with equal subscriptions keep one partition more only while extras are left (KAFKA-12464)."""
    claims_by_partition: bool = True
    """The newest claim on each partition counts, not only claims of the newest generation (KAFKA-14639)."""
    keeps_lowest: bool = True
    """Members keep their lowest partition numbers, not the first of their list (KAFKA-16277)."""
    exact_racks: bool = True
    """Extras given out by rack are counted, and partitions not kept for their racks are revoked (KAFKA-15170)."""


NEWEST_RULES: Final = AssignorRules()


class ServerAssignorRules(NamedTuple):
    """Rules of server-side assignors (KIP-848) that differ between releases; the defaults are those of the newest."""

    keeps_extra_partition: bool = True
    """Uniform: a member that owns one partition more than others keeps it (KAFKA-18688)."""
    uniform_by_member: bool = True
    """Uniform, equal subscriptions: one member after another gets all that it lacks, not in turns (KAFKA-16864)."""
    uniform_by_topic: bool = True
    """Uniform, different subscriptions: partitions are balanced topic by topic, not one by one (KAFKA-17710)."""
    contiguous_ranges: bool = True
    """Range: each assignment has contiguous ranges, no member keeps what it owns (KAFKA-16944)."""


NEWEST_SERVER_RULES: Final = ServerAssignorRules()


Assignment = dict[str, tuple[TopicPartition, ...]]
"""Member id → its partitions, sorted by topic and number; every member has an entry."""


class AssignmentError(Exception):
    """An assignor found no assignment (``PartitionAssignorException``, or IllegalStateException in a client)."""


class Assignor(Protocol):
    """Interface of a partition assignor, client-side or server-side."""

    @property
    def name(self) -> str:
        """Name in the protocol, for ``partition.assignment.strategy`` or ``group.remote.assignor``."""

    @property
    def cooperative(self) -> bool:
        """Whether members keep what they own during a rebalance (KIP-429)."""

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """Assign every partition of every subscribed topic to one of the topic's subscribers."""


def in_order(members: Sequence[MemberSubscription], rules: AssignorRules = NEWEST_RULES) -> list[MemberSubscription]:
    """Sort members: static ones first by instance id, then the others by member id (``MemberInfo.compareTo``)."""
    if not rules.static_member_order:
        return sorted(members, key=lambda member: member.id)
    return sorted(members, key=lambda member: (not member.instance, member.instance, member.id))


def subscribers(members: Sequence[MemberSubscription], topics: Topics) -> dict[str, list[MemberSubscription]]:
    """Return the subscribers of each existing topic, in the given order; topics by name."""
    found: dict[str, list[MemberSubscription]] = {}
    for topic in sorted({topic for member in members for topic in member.topics}):
        if topics.sizes.get(topic, 0) > 0:
            found[topic] = [member for member in members if topic in member.topics]
    return found


def same_subscriptions(members: Sequence[MemberSubscription]) -> bool:
    """Return whether all members subscribe to the same topics, existing or not."""
    return len({tuple(sorted(set(member.topics))) for member in members}) <= 1


def finished(members: Sequence[MemberSubscription], shares: Mapping[str, Sequence[TopicPartition]]) -> Assignment:
    """Return shares as an assignment: in the order of members, each share sorted."""
    return {member.id: tuple(sorted(shares.get(member.id, ()))) for member in members}
