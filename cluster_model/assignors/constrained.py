"""Sticky assignment where all members subscribe to the same (``ConstrainedAssignmentBuilder``)."""

from cluster_model.assignors.base import TopicPartition
from cluster_model.assignors.claims import Claims
from cluster_model.assignors.racks import Racks


class Constrained:
    """Keep as much as an even share allows, then deal out the rest.

    Every member gets ``least`` partitions, and as many members as there are left over one more.
    """

    __slots__ = (
        "_above", "_claims", "_extra", "_free", "_full", "_least", "_racks", "_revoked", "_under", "moving", "shares",
    )  # fmt: skip

    def __init__(self, partitions: list[TopicPartition], claims: Claims, racks: Racks) -> None:
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
