"""``StickyAssignor`` (KIP-54) and ``CooperativeStickyAssignor`` (KIP-429): even, moving few partitions."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cluster_model.assignors.base import (
    Assignment,
    MemberSubscription,
    TopicPartition,
    Topics,
    finished,
    same_subscriptions,
    subscribers,
)

# Which partitions members may keep of those that they own (``AbstractStickyAssignor.allSubscriptionsEqual``).


class PreviousAssignment(NamedTuple):
    """Who owns what before the assignment."""

    owned: dict[str, list[TopicPartition]]
    """Member id, in order of ids → partitions; each partition has one owner at most."""
    disputed: dict[TopicPartition, None]
    """Claimed by two members of the same, newest generation: neither keeps them."""


def claims(members: Sequence[MemberSubscription], partitions: Sequence[TopicPartition]) -> PreviousAssignment:
    """Settle claims on ``partitions``: among several the newest generation has it. Claims on others are left out."""
    wanted = dict.fromkeys(partitions)
    by_id = sorted(members, key=lambda member: member.id)
    newest: dict[TopicPartition, list[MemberSubscription]] = {}
    for member in by_id:
        for partition in dict.fromkeys(member.owned):
            if partition not in wanted:
                continue
            rivals = newest.get(partition)
            if rivals is None or member.generation > rivals[0].generation:
                newest[partition] = [member]
            elif member.generation == rivals[0].generation:
                rivals.append(member)
    owned: dict[str, list[TopicPartition]] = {member.id: [] for member in by_id}
    disputed: dict[TopicPartition, None] = {}
    for partition, rivals in newest.items():
        if len(rivals) > 1:
            disputed[partition] = None
        else:
            owned[rivals[0].id].append(partition)
    return PreviousAssignment(owned, disputed)


# Partition movements between members in one balancing (``AbstractStickyAssignor.PartitionMovements``).


Way = tuple[str, str]
"""From one member to another."""


class Movements:
    """Undoing an earlier move of the same topic is better than a second one the other way round."""

    __slots__ = ("_by_topic", "_ways")

    def __init__(self) -> None:
        self._ways: dict[TopicPartition, Way] = {}
        """Partition → from its first owner to its present one."""
        self._by_topic: dict[str, dict[Way, dict[TopicPartition, None]]] = {}

    def moved(self, partition: TopicPartition, source: str, target: str) -> None:
        """A partition went from one member to another."""
        way = self._ways.pop(partition, None)
        if way is not None:
            del self._by_topic[partition.topic][way][partition]
            source = way[0]
        if source != target:
            self._ways[partition] = (source, target)
            self._by_topic.setdefault(partition.topic, {}).setdefault((source, target), {})[partition] = None

    def better(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """What to move instead: the lowest of the topic that went the other way, else the partition itself."""
        way = self._ways.get(partition)
        if way is not None:
            source = way[0]
        undone = self._by_topic.get(partition.topic, {}).get((target, source), {})
        return min(undone, default=partition)


# Members and partitions that share a rack (KIP-881, consumers since 3.5).


def racks_matter(member_racks: Iterable[str], partition_racks: Mapping[TopicPartition, tuple[str, ...]]) -> bool:
    """Whether to look at racks: some member is in a replica's rack, and not every rack has every partition."""
    everywhere = {rack for racks in partition_racks.values() for rack in racks}
    if everywhere.isdisjoint(member_racks):
        return False
    return any(everywhere.difference(racks) for racks in partition_racks.values())


class Racks:
    """What the sticky assignors ask about racks (``AbstractStickyAssignor.RackInfo``)."""

    __slots__ = ("_members", "_nearby", "_partitions")

    def __init__(
        self, members: Sequence[MemberSubscription], partitions: Sequence[TopicPartition], topics: Topics
    ) -> None:
        in_racks = {member.id: member.rack for member in members if member.rack}
        replicas = {partition: topics.racks.get(partition, ()) for partition in partitions} if in_racks else {}
        matter = racks_matter(in_racks.values(), replicas)
        self._members = in_racks if matter else {}
        """Member → its rack; empty where racks do not matter."""
        self._partitions = replicas if matter else {}
        here: dict[str, int] = {}
        for rack in self._members.values():
            here[rack] = here.get(rack, 0) + 1
        self._nearby = {
            partition: sum(here.get(rack, 0) for rack in dict.fromkeys(racks))
            for partition, racks in self._partitions.items()
        }
        """Partition → how many members are in a rack of its replicas."""

    def __bool__(self) -> bool:
        """Whether racks matter."""
        return bool(self._members)

    def apart(self, member: str, partition: TopicPartition) -> bool:
        """Whether a member has a rack and no replica of the partition is in it."""
        rack = self._members.get(member)
        return rack is not None and rack not in self._partitions.get(partition, ())

    def hardest_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Those with the fewest members nearby first, otherwise as they were."""
        return sorted(partitions, key=lambda partition: self._nearby.get(partition, 0))

    def next_near(self, partition: TopicPartition, members: Sequence[str], first: int) -> int:
        """The place of the first member from ``first`` on, and round, with a replica in its rack; -1 for none."""
        racks = self._partitions.get(partition, ())
        for step in range(len(members)):
            place = (first + step) % len(members)
            if self._members.get(members[place]) in racks:
                return place
        return -1


# Sticky assignment where all members subscribe to the same (``ConstrainedAssignmentBuilder``).


class Constrained:
    """Keep as much as an even share allows, then deal out the rest.

    Every member gets ``least`` partitions, and as many members as there are left over one more.
    """

    __slots__ = (
        "_above", "_claims", "_extra", "_free", "_full", "_least", "_racks", "_revoked", "_under", "moving", "shares",
    )  # fmt: skip

    def __init__(self, partitions: list[TopicPartition], claims: PreviousAssignment, racks: Racks) -> None:
        """``partitions`` are all of the topics, sorted."""
        self.shares: dict[str, list[TopicPartition]] = {member: [] for member in claims.owned}
        self.moving: dict[TopicPartition, str] = {}
        """Partition → who gets it, though another one owned it until now."""
        self._claims = claims
        self._racks = racks
        self._least, self._extra = divmod(len(partitions), len(claims.owned))
        self._above = 0
        """Members that have one more than the least."""
        self._under: list[str] = []
        """Members that have less than the least, in order of ids."""
        self._full: list[str] = []
        """Members that have the least, and may get one more."""
        self._revoked: dict[TopicPartition, str] = {}
        """Partition → the member that does not keep it."""
        self._keep()
        kept = {partition for share in self.shares.values() for partition in share}
        self._free = racks.hardest_first([partition for partition in partitions if partition not in kept])
        if racks:
            self._deal_by_rack()
        self._deal()

    def _keep(self) -> None:
        """What members keep: the lowest numbers, and one more than the least while there are extras."""
        for member, owned in self._claims.owned.items():
            near = []
            for partition in sorted(owned, key=lambda partition: (partition.partition, partition.topic)):
                if self._racks.apart(member, partition):
                    self._revoked[partition] = member
                else:
                    near.append(partition)
            if len(near) < self._least:
                kept = len(near)
                self._under.append(member)
            elif len(near) > self._least and self._above < self._extra:
                kept = self._least + 1
                self._one_more_above()
            else:
                kept = self._least
                if self._above < self._extra:
                    self._full.append(member)
            self.shares[member] = near[:kept]
            self._revoked.update(dict.fromkeys(near[kept:], member))

    def _one_more_above(self) -> None:
        self._above += 1
        if self._above == self._extra:
            self._full.clear()

    def _deal_by_rack(self) -> None:
        """Give partitions to members near them, as far as there are any: first to those that have too few."""
        first = 0
        left = []
        for partition in self._free:
            place = self._racks.next_near(partition, self._under, first)
            if place >= 0:
                member = self._under[place]
                self._give(partition, member)
                if len(self.shares[member]) >= self._least:
                    del self._under[place]
                    if self._above < self._extra:
                        self._full.append(member)
                else:
                    place += 1
                first = place % len(self._under) if self._under else 0
                continue
            place = self._racks.next_near(partition, self._full, 0)
            if place >= 0:
                self._give(partition, self._full.pop(place))
                self._one_more_above()
            else:
                left.append(partition)
        self._free = left

    def _deal(self) -> None:
        """One partition at a time round the members that have too few, then one each to those with the least."""
        turn = 0
        for partition in self._free:
            if not self._under:
                self._give(partition, self._full.pop(0))
                continue
            turn %= len(self._under)
            member = self._under[turn]
            self._give(partition, member)
            if len(self.shares[member]) == self._least:
                del self._under[turn]
                self._full.append(member)
            else:
                turn += 1

    def _give(self, partition: TopicPartition, member: str) -> None:
        self.shares[member].append(partition)
        if self._revoked.get(partition, member) != member or partition in self._claims.disputed:
            self.moving[partition] = member


# Sticky assignment where members subscribe to different topics (``GeneralAssignmentBuilder``).


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
        self, members: Sequence[MemberSubscription], subscribers: dict[str, list[MemberSubscription]], topics: Topics,
        claims: PreviousAssignment,
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

    def _keep(self, claims: PreviousAssignment) -> None:
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


def _previous(members: Sequence[MemberSubscription]) -> Previous:
    """The claims that are older than the newest generation of the group, the newest of them for each partition."""
    newest = max(member.generation for member in members)
    found: Previous = {}
    for member in sorted(members, key=lambda member: member.id):
        if member.generation < newest:
            for partition in member.owned:
                if partition not in found or found[partition][0] < member.generation:
                    found[partition] = (member.generation, member.id)
    return found


class _Outcome(NamedTuple):
    shares: Mapping[str, Sequence[TopicPartition]]
    moving: Mapping[TopicPartition, str]
    """Partition → who gets it, though another one has it now."""


class StickyAssignor:
    """Members give up all they have and get back what they are to keep."""

    name = "sticky"
    cooperative = False

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """See the module."""
        return finished(members, _outcome(members, topics).shares) if members else {}


class CooperativeStickyAssignor:
    """The same result, less every partition that another member has now: that one is given out next time.

    Whoever has to give a partition up joins again at once, and the rebalance after this one hands it out.
    """

    name = "cooperative-sticky"
    cooperative = True

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """See the class."""
        if not members:
            return {}
        shares, moving = _outcome(members, topics)
        held = {member: [each for each in share if moving.get(each) != member] for member, share in shares.items()}
        return finished(members, held)


def _outcome(members: Sequence[MemberSubscription], topics: Topics) -> _Outcome:
    by_id = sorted(members, key=lambda member: member.id)
    who = subscribers(by_id, topics)
    partitions = [partition for topic in who for partition in topics.partitions(topic)]
    settled = claims(members, partitions)
    racks = Racks(members, partitions, topics)
    if same_subscriptions(members):
        constrained = Constrained(partitions, settled, racks)
        return _Outcome(constrained.shares, constrained.moving)
    shares = {member: list(share) for member, share in General(members, who, topics, settled, racks).shares.items()}
    return _Outcome(shares, _moving(members, shares))


def _moving(
    members: Sequence[MemberSubscription], shares: Mapping[str, Sequence[TopicPartition]]
) -> dict[TopicPartition, str]:
    """What is new to a member that gets it, and lost by one that says it has it (``adjustAssignment``)."""
    given = {member.id: frozenset(shares[member.id]) for member in members}
    owned = {member.id: frozenset(member.owned) for member in members}
    lost = {each for member in members for each in member.owned if each not in given[member.id]}
    return {
        each: member.id
        for member in members
        for each in shares[member.id]
        if each in lost and each not in owned[member.id]
    }
