"""``StickyAssignor`` (KIP-54) and ``CooperativeStickyAssignor`` (KIP-429): balanced, with few partition moves.

As Kafka's ``AbstractStickyAssignor``, with its rack-aware parts (KIP-881).
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cluster_model.assignors.base import (
    NEWEST_RULES,
    Assignment,
    AssignmentError,
    AssignorRules,
    MemberSubscription,
    TopicPartition,
    Topics,
    finished,
    same_subscriptions,
    subscribers,
)

# Owned partitions that members may keep (``AbstractStickyAssignor.allSubscriptionsEqual``).


class PreviousAssignment(NamedTuple):
    """Owners of partitions before the assignment."""

    owned: dict[str, list[TopicPartition]]
    """Member id (sorted) → partitions; each partition has one owner at most."""
    disputed: dict[TopicPartition, None]
    """Partitions claimed by several members of the same, newest generation: none of them keeps them."""


Previous = dict[TopicPartition, tuple[int, str]]
"""Partition → (generation, member) of its newest claim by an older generation."""


def resolve_claims(
    members: Sequence[MemberSubscription], partitions: Sequence[TopicPartition], rules: AssignorRules = NEWEST_RULES
) -> PreviousAssignment:
    """Resolve the members' claims on ``partitions``: the newest generation wins; other claims are ignored.

    The newest is that of each partition, or before ``claims_by_partition`` that of the group. Up to KAFKA-12984 each
    claimant of the newest generation keeps a partition (``AbstractStickyAssignor.allSubscriptionsEqual``).
    """
    distinct = dict.fromkeys(partitions)
    by_id = sorted(members, key=lambda member: member.id)
    least = -1 if rules.claims_by_partition else max((member.generation for member in members), default=-1)
    newest: dict[TopicPartition, list[MemberSubscription]] = {}
    for member in [member for member in by_id if member.generation >= least]:
        for partition in dict.fromkeys(member.owned):
            if partition not in distinct:
                continue
            claimants = newest.get(partition)
            if claimants is None or member.generation > claimants[0].generation:
                newest[partition] = [member]
            elif member.generation == claimants[0].generation:
                claimants.append(member)
    owned: dict[str, list[TopicPartition]] = {member.id: [] for member in by_id}
    disputed: dict[TopicPartition, None] = {}
    if not rules.cooperative_generation:
        for member in by_id:
            owned[member.id] = [each for each in dict.fromkeys(member.owned) if member in newest.get(each, ())]
        return PreviousAssignment(owned, disputed)
    for partition, claimants in newest.items():
        if len(claimants) > 1:
            disputed[partition] = None
        else:
            owned[claimants[0].id].append(partition)
    return PreviousAssignment(owned, disputed)


def resolve_early_claims(
    members: Sequence[MemberSubscription], partitions: Sequence[TopicPartition], rules: AssignorRules
) -> tuple[PreviousAssignment, Previous]:
    """Resolve claims as the general algorithm did up to 2.8, and return also the second newest claim of each partition.

    Of the claims of one generation the first counts, without a generation the last (``prepopulateCurrentAssignments``).
    Before ``sticky_generations`` no claim had a generation.
    """
    distinct = dict.fromkeys(partitions)
    claims: dict[TopicPartition, dict[int, str]] = {}
    owned: dict[str, list[TopicPartition]] = {member.id: [] for member in sorted(members, key=lambda each: each.id)}
    for member in sorted(members, key=lambda each: each.id):
        for partition in member.owned:
            claimants = claims.setdefault(partition, {})
            if member.generation not in claimants or member.generation < 0:
                claimants[member.generation] = member.id
    previous: Previous = {}
    for partition in in_hash_order(list(claims)) if rules.sticky_generations else claims:
        claimants = claims[partition]
        newest, *older = sorted(claimants, reverse=True)
        if partition in distinct:
            owned[claimants[newest]].append(partition)
        if older:
            previous[partition] = (older[0], claimants[older[0]])
    return PreviousAssignment(owned, {}), previous


# Order of candidates up to 2.4 (``AbstractStickyAssignor.sortPartitions`` before KAFKA-9987).


def in_hash_order(partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
    """Return partitions in the order of a Java ``HashMap`` into which they were put in the given order."""
    buckets = 16
    while len(partitions) > buckets * 3 // 4:
        buckets *= 2
    return sorted(partitions, key=lambda partition: _spread_hash(partition) & (buckets - 1))


def _spread_hash(partition: TopicPartition) -> int:
    """Return ``TopicPartition.hashCode`` as a ``HashMap`` spreads it, unsigned."""
    hashed = 0
    for unit in memoryview(partition.topic.encode("utf-16-le")).cast("H"):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    hashed = (31 * (31 + partition.partition) + hashed) & 0xFFFFFFFF
    return hashed ^ hashed >> 16


def round_robin_candidates(
    partitions: Sequence[TopicPartition], owned: Mapping[str, Sequence[TopicPartition]], previous: Previous
) -> list[TopicPartition]:
    """Return the order in which partitions may move: one at a time of the member with the most that are left.

    Of a member's partitions those that had another owner before come first; partitions without an owner are last.
    """
    left = {member: list(share) for member, share in owned.items()}
    had_another = in_hash_order(list(previous))
    candidates: dict[TopicPartition, None] = {}
    while any(left.values()):
        _size, member = max((len(share), member) for member, share in left.items())
        chosen = next((partition for partition in had_another if partition in left[member]), left[member][0])
        left[member].remove(chosen)
        candidates[chosen] = None
    candidates.update(dict.fromkeys(in_hash_order(partitions)))
    return list(candidates)


# Partition movements between members in one balancing (``AbstractStickyAssignor.PartitionMovements``).


Way = tuple[str, str]
"""(source member, target member) of a move."""


class PartitionMovements:
    """Partition moves of one balancing; undoing an earlier move is preferred to a new move the opposite way."""

    __slots__ = ("_by_topic", "_ways")

    def __init__(self) -> None:
        self._ways: dict[TopicPartition, Way] = {}
        """Partition → (first owner, current owner)."""
        self._by_topic: dict[str, dict[Way, dict[TopicPartition, None]]] = {}

    def record_move(self, partition: TopicPartition, source: str, target: str) -> None:
        """Record the move of a partition."""
        way = self._ways.pop(partition, None)
        if way is not None:
            del self._by_topic[partition.topic][way][partition]
            source = way[0]
        if source != target:
            self._ways[partition] = (source, target)
            self._by_topic.setdefault(partition.topic, {}).setdefault((source, target), {})[partition] = None

    def better(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """Return the partition to move: the lowest of the topic that moved the opposite way, else the given one."""
        way = self._ways.get(partition)
        if way is not None:
            source = way[0]
        opposite = self._by_topic.get(partition.topic, {}).get((target, source), {})
        return min(opposite, default=partition)


# Rack awareness (KIP-881, consumers since 3.5).


def racks_matter(member_racks: Iterable[str], partition_racks: Mapping[TopicPartition, tuple[str, ...]]) -> bool:
    """Return whether to use racks: some member is in a replica's rack, and not every rack has every partition."""
    everywhere = {rack for racks in partition_racks.values() for rack in racks}
    if everywhere.isdisjoint(member_racks):
        return False
    return any(everywhere.difference(racks) for racks in partition_racks.values())


class RackInfo:
    """Rack information for the sticky assignors (``AbstractStickyAssignor.RackInfo``)."""

    __slots__ = ("_members", "_nearby", "_partitions")

    def __init__(
        self, members: Sequence[MemberSubscription], partitions: Sequence[TopicPartition], topics: Topics
    ) -> None:
        in_racks = {member.id: member.rack for member in members if member.rack}
        replicas = {partition: topics.racks.get(partition, ()) for partition in partitions} if in_racks else {}
        matter = racks_matter(in_racks.values(), replicas)
        self._members = in_racks if matter else {}
        """Member → its rack; empty if racks do not matter."""
        self._partitions = replicas if matter else {}
        counts: dict[str, int] = {}
        for rack in self._members.values():
            counts[rack] = counts.get(rack, 0) + 1
        self._nearby = {
            partition: sum(counts.get(rack, 0) for rack in dict.fromkeys(racks))
            for partition, racks in self._partitions.items()
        }
        """Partition → number of members in the racks of its replicas."""

    def __bool__(self) -> bool:
        """Return whether racks matter."""
        return bool(self._members)

    def is_in_other_rack(self, member: str, partition: TopicPartition) -> bool:
        """Return whether a member has a rack without a replica of the partition."""
        rack = self._members.get(member)
        return rack is not None and rack not in self._partitions.get(partition, ())

    def hardest_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Sort partitions by the number of members in their racks, the fewest first (stable)."""
        return sorted(partitions, key=lambda partition: self._nearby.get(partition, 0))

    def next_near(self, partition: TopicPartition, members: Sequence[str], first: int) -> int:
        """Return the index of the next member (from ``first`` on, cyclic) with a replica in its rack; -1 for none."""
        racks = self._partitions.get(partition, ())
        for step in range(len(members)):
            index = (first + step) % len(members)
            if self._members.get(members[index]) in racks:
                return index
        return -1


# Sticky assignment with equal subscriptions (``ConstrainedAssignmentBuilder``).


class ConstrainedAssignment:
    """Sticky assignment with equal subscriptions: members keep up to an even share, the rest is distributed.

    Every member gets ``least`` partitions, and ``extra`` members get one more.
    """

    __slots__ = (
        "_above", "_claims", "_extra", "_free", "_full", "_least", "_racks", "_revoked", "_rules", "_under", "moving",
        "shares",
    )  # fmt: skip

    def __init__(
        self, partitions: list[TopicPartition], claims: PreviousAssignment, racks: RackInfo, rules: AssignorRules
    ) -> None:
        """Compute the assignment; ``partitions`` are those of all topics, sorted."""
        self.shares: dict[str, list[TopicPartition]] = {member: [] for member in claims.owned}
        self.moving: dict[TopicPartition, str] = {}
        """Partition → new owner, for partitions owned by another member until now."""
        self._claims = claims
        self._racks = racks
        self._rules = rules
        self._least, self._extra = divmod(len(partitions), len(claims.owned))
        self._above = 0
        """Number of members with one partition more than the least."""
        self._under: list[str] = []
        """Members with fewer partitions than the least, sorted by id."""
        self._full: list[str] = []
        """Members with the least number of partitions, which may get one more."""
        self._revoked: dict[TopicPartition, str] = {}
        """Partition → former owner that does not keep it."""
        self._keep()
        kept = {partition for share in self.shares.values() for partition in share}
        self._free = racks.hardest_first([partition for partition in partitions if partition not in kept])
        if racks:
            self._deal_by_rack()
        self._deal()

    def _keep(self) -> None:
        """Keep owned partitions, lowest numbers first, up to the least, and one more while extras are left."""
        for member, owned in self._claims.owned.items():
            near = []
            lowest = sorted(owned, key=lambda partition: (partition.partition, partition.topic))
            for partition in lowest if self._rules.keeps_lowest else owned:
                if self._racks.is_in_other_rack(member, partition):
                    if self._rules.exact_racks:
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
        """Assign free partitions to members in their racks, where possible: first to members below the least."""
        first = 0
        left = []
        for partition in self._free:
            index = self._racks.next_near(partition, self._under, first)
            if index >= 0:
                member = self._under[index]
                self._give(partition, member)
                if len(self.shares[member]) >= self._least:
                    del self._under[index]
                    if self._above < self._extra or (self._extra and not self._rules.exact_racks):
                        self._full.append(member)
                else:
                    index += 1
                first = index % len(self._under) if self._under else 0
                continue
            index = self._racks.next_near(partition, self._full, 0)
            if index >= 0:
                self._give(partition, self._full.pop(index))
                if self._rules.exact_racks:
                    self._one_more_above()
            else:
                left.append(partition)
        self._free = left

    def _deal(self) -> None:
        """Assign free partitions round robin to members below the least, then one each to members at the least."""
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
        revoked = (
            self._revoked.get(partition, member) != member if self._rules.exact_racks else partition in self._revoked
        )
        if revoked or partition in self._claims.disputed:
            self.moving[partition] = member


class EarlyConstrainedAssignment:
    """Sticky assignment with equal subscriptions of 2.5 to 2.8: members may keep the least and one more, however many.

    If partitions are missing then, members below the least take them from members above it
    (``AbstractStickyAssignor.constrainedAssign`` before KAFKA-12464). It fails if members claim the same partitions
    and the numbers do not come out (KAFKA-12984).
    """

    __slots__ = ("_claims", "_full", "_least", "_over", "_revoked", "moving", "shares")

    def __init__(self, partitions: list[TopicPartition], claims: PreviousAssignment) -> None:
        """Compute the assignment; ``partitions`` are those of all topics, sorted.

        Raises:
            AssignmentError: members claim the same partitions, and there is no assignment that keeps them.
        """
        self.shares: dict[str, list[TopicPartition]] = {member: [] for member in claims.owned}
        self.moving: dict[TopicPartition, str] = {}
        """Partition → new owner, for partitions owned by another member until now."""
        self._claims = claims
        self._least, extra = divmod(len(partitions), len(claims.owned))
        self._over: list[str] = []
        """Members with one partition more than the least."""
        self._full: list[str] = []
        """Members with the least number of partitions, which may get one more."""
        self._revoked: dict[TopicPartition, None] = {}
        under = self._keep(self._least + (extra > 0))
        kept = {partition for share in self.shares.values() for partition in share}
        free = [partition for partition in partitions if partition not in kept]
        under = self._fill(under, free)
        self._take(under)
        for partition in free:
            if not self._full:
                raise AssignmentError
            self._give(partition, self._full.pop(0))

    def _keep(self, limit: int) -> list[str]:
        """Keep owned partitions up to ``limit``; return the members below the least."""
        under = []
        for member, owned in self._claims.owned.items():
            self.shares[member] = owned[:limit]
            self._revoked.update(dict.fromkeys(owned[limit:]))
            size = len(self.shares[member])
            if len(owned) < self._least:
                under.append(member)
            else:
                if size == self._least:
                    self._full.append(member)
                if size == limit:
                    self._over.append(member)
        return under

    def _fill(self, under: list[str], free: list[TopicPartition]) -> list[str]:
        """Distribute free partitions round robin to members below the least; return those that stay below it."""
        while under and free:
            for member in list(under):
                if not free:
                    break
                self._give(free.pop(0), member)
                if len(self.shares[member]) == self._least:
                    self._full.append(member)
                    under.remove(member)
        return under

    def _take(self, under: list[str]) -> None:
        """Take the first partition of members above the least for members below it."""
        for member in under:
            while len(self.shares[member]) < self._least:
                if not self._over:
                    raise AssignmentError
                partition = self.shares[self._over.pop(0)].pop(0)
                self.shares[member].append(partition)
                self.moving[partition] = member

    def _give(self, partition: TopicPartition, member: str) -> None:
        self.shares[member].append(partition)
        if partition in self._revoked or partition in self._claims.disputed:
            self.moving[partition] = member


# Sticky assignment with different subscriptions (``GeneralAssignmentBuilder``).


Shares = dict[str, dict[TopicPartition, None]]
"""Member → its partitions."""


class GeneralAssignment:
    """Sticky assignment of members with different subscriptions.

    Members keep the partitions of topics that they still subscribe to. The rest goes to the members with the fewest,
    and then partitions move until the assignment is balanced.
    """

    __slots__ = (
        "_by_size", "_lost_some", "_movements", "_owner", "_partitions", "_potential", "_previous", "_racks",
        "_subscribers", "_topics", "shares",
    )  # fmt: skip

    def __init__(
        self, subscribers: dict[str, list[MemberSubscription]], topics: Topics, claims: PreviousAssignment,
        racks: RackInfo, previous: Previous, candidates: list[TopicPartition] | None = None,
    ) -> None:  # fmt: skip
        """Compute the assignment; ``candidates`` are all partitions in another order than that of their topics."""
        self._racks = racks
        self._subscribers = {topic: [member.id for member in whole] for topic, whole in subscribers.items()}
        self._topics: dict[str, list[str]] = {member: [] for member in claims.owned}
        """Member → its subscribed topics."""
        for topic, subscribed in self._subscribers.items():
            for member in subscribed:
                self._topics[member].append(topic)
        self._potential = {
            member: sum(topics.sizes[topic] for topic in wanted) for member, wanted in self._topics.items()
        }
        """Member → maximum number of partitions that it could have."""
        by_need = sorted(self._subscribers, key=lambda topic: (len(self._subscribers[topic]), topic))
        self._partitions = candidates or [partition for topic in by_need for partition in topics.partitions(topic)]
        """All partitions, those of topics with the fewest subscribers first."""
        self._previous = previous
        self._movements = PartitionMovements()
        self._lost_some = False
        """Whether a member lost a partition for another reason than balance."""
        self.shares: Shares = {member: {} for member in claims.owned}
        self._owner: dict[TopicPartition, str] = {}
        self._keep(claims)
        self._by_size = sorted((len(share), member) for member, share in self.shares.items())
        self._balance([partition for partition in self._partitions if partition not in self._owner])

    def _keep(self, claims: PreviousAssignment) -> None:
        for member, owned in claims.owned.items():
            for partition in owned:
                if partition.topic in self._topics[member] and not self._racks.is_in_other_rack(member, partition):
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
        """Assign a partition to the eligible member with the fewest, with ``near`` only in its racks; False if none."""
        for _size, member in self._by_size:
            if partition.topic in self._topics[member] and not (
                near and self._racks.is_in_other_rack(member, partition)
            ):
                self._put(partition, member)
                return True
        return False

    def _is_movable(self, partition: TopicPartition) -> bool:
        return len(self._subscribers[partition.topic]) > 1

    def _set_fixed_aside(self) -> Shares:
        """Remove members that have all the partitions they could have, none of which another member could have."""
        fixed: Shares = {}
        for member, share in list(self.shares.items()):
            if len(share) >= self._potential[member] and not any(map(self._is_movable, share)):
                self._by_size.remove((len(share), member))
                fixed[member] = self.shares.pop(member)
        return fixed

    def _move(self, partitions: list[TopicPartition]) -> None:
        """Move partitions to members that have at least two fewer, until no move improves the balance."""
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
        """Move a partition to its previous owner if that improves the balance, else to the least loaded member."""
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
        """Move a partition, or in its place one whose earlier move is undone by it.

        The replacement may have another owner by now: it is used only if that improves the balance too. So every move
        improves the balance: balancing terminates, and never needs to be reverted, as Kafka does if it had no effect.
        """
        replacement = self._movements.better(partition, self._owner[partition], target)
        if len(self.shares[self._owner[replacement]]) > len(self.shares[target]) + 1:
            partition = replacement
        source = self._owner[partition]
        self._resize(source, -1)
        del self.shares[source][partition]
        self._movements.record_move(partition, source, target)
        self._put(partition, target)

    def _put(self, partition: TopicPartition, member: str) -> None:
        self._resize(member, 1)
        self.shares[member][partition] = None
        self._owner[partition] = member

    def _resize(self, member: str, change: int) -> None:
        """Update the order by size before a share grows or shrinks by ``change``."""
        size = len(self.shares[member])
        del self._by_size[bisect_left(self._by_size, (size, member))]
        insort(self._by_size, (size + change, member))

    def _is_balanced(self) -> bool:
        """Return whether no member could take a partition from one that has at least two more."""
        if not self._by_size or self._by_size[0][0] >= self._by_size[-1][0] - 1:
            return True
        largest: dict[str, int] = {}
        """Topic → largest share among the owners of its partitions."""
        for share in self.shares.values():
            for topic in dict.fromkeys(partition.topic for partition in share):
                largest[topic] = max(len(share), largest.get(topic, 0))
        return not any(
            size + 1 < largest.get(topic, 0) for size, member in self._by_size for topic in self._topics[member]
        )


def _previous(members: Sequence[MemberSubscription]) -> Previous:
    """Return the newest claim on each partition by generations older than the newest of the group."""
    newest = max(member.generation for member in members)
    latest: Previous = {}
    for member in sorted(members, key=lambda member: member.id):
        if member.generation < newest:
            for partition in member.owned:
                if partition not in latest or latest[partition][0] < member.generation:
                    latest[partition] = (member.generation, member.id)
    return latest


class _Outcome(NamedTuple):
    shares: Mapping[str, Sequence[TopicPartition]]
    moving: Mapping[TopicPartition, str]
    """Partition → new owner, for partitions owned by another member now."""


class StickyAssignor:
    """Kafka's ``StickyAssignor``, an eager one: members revoke all partitions before a rebalance and get most back."""

    name = "sticky"
    cooperative = False

    def __init__(self, rules: AssignorRules = NEWEST_RULES) -> None:
        self._rules = rules

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """Assign the partitions of all topics evenly, moving few of them."""
        if not members:
            return {}
        if not self._rules.sticky_generations:
            members = [member._replace(generation=-1) for member in members]
        if self._rules.constrained_sticky and not self._rules.even_sticky:
            members = _read_twice(members)
        return finished(members, _outcome(members, topics, self._rules).shares)


def _read_twice(members: Sequence[MemberSubscription]) -> list[MemberSubscription]:
    """Return members without the claims that 2.5 to 2.8 lose.

    The leader reads the claims of members until it finds one with another subscription than the first, and then reads
    all again from the same buffers: those that it has read are empty (fixed by KAFKA-12675).
    """
    by_id = sorted(members, key=lambda member: member.id)
    first = set(by_id[0].topics)
    read = next((place for place, member in enumerate(by_id) if set(member.topics) != first), 0)
    return [*[member._replace(owned=(), generation=-1) for member in by_id[:read]], *by_id[read:]]


class CooperativeStickyAssignor:
    """Kafka's ``CooperativeStickyAssignor``: the sticky result without partitions still owned by another member.

    A member that has to revoke a partition rejoins at once, and the next rebalance assigns that partition.
    """

    name = "cooperative-sticky"
    cooperative = True

    def __init__(self, rules: AssignorRules = NEWEST_RULES) -> None:
        self._rules = rules

    def assign(self, members: Sequence[MemberSubscription], topics: Topics) -> Assignment:
        """Assign as :class:`StickyAssignor`, except partitions that another member has to revoke first."""
        if not members:
            return {}
        if not self._rules.cooperative_generation:
            members = [member._replace(generation=-1) for member in members]
        shares, moving = _outcome(members, topics, self._rules)
        held = {member: [each for each in share if moving.get(each) != member] for member, share in shares.items()}
        return finished(members, held)


def _outcome(members: Sequence[MemberSubscription], topics: Topics, rules: AssignorRules) -> _Outcome:
    by_id = sorted(members, key=lambda member: member.id)
    by_topic = subscribers(by_id, topics)
    partitions = [partition for topic in by_topic for partition in topics.partitions(topic)]
    settled = resolve_claims(members, partitions, rules)
    racks = RackInfo(members, partitions, topics)
    if rules.constrained_sticky and same_subscriptions(members):
        if not rules.even_sticky:
            early = EarlyConstrainedAssignment(partitions, settled)
            return _Outcome(early.shares, early.moving)
        constrained = ConstrainedAssignment(partitions, settled, racks, rules)
        return _Outcome(constrained.shares, constrained.moving)
    previous = _previous(members)
    candidates = None
    if not rules.even_sticky:
        settled, previous = resolve_early_claims(members, partitions, rules)
        if not rules.constrained_sticky and any(member.owned for member in members):
            everybody = len(members)
            if all(len(subscribed) == everybody for subscribed in by_topic.values()):
                candidates = round_robin_candidates(partitions, settled.owned, previous)
    general = GeneralAssignment(by_topic, topics, settled, racks, previous, candidates)
    shares = {member: list(share) for member, share in general.shares.items()}
    return _Outcome(shares, _moving(members, shares))


def _moving(
    members: Sequence[MemberSubscription], shares: Mapping[str, Sequence[TopicPartition]]
) -> dict[TopicPartition, str]:
    """Return partition → new owner of partitions that move between members (``adjustAssignment``)."""
    given = {member.id: frozenset(shares[member.id]) for member in members}
    owned = {member.id: frozenset(member.owned) for member in members}
    lost = {each for member in members for each in member.owned if each not in given[member.id]}
    return {
        each: member.id
        for member in members
        for each in shares[member.id]
        if each in lost and each not in owned[member.id]
    }
