"""Members and partitions that share a rack (KIP-881, consumers since 3.5)."""

from collections.abc import Iterable, Mapping, Sequence

from cluster_model.assignors.base import Member, TopicPartition, Topics


def racks_matter(member_racks: Iterable[str], partition_racks: Mapping[TopicPartition, tuple[str, ...]]) -> bool:
    """Whether to look at racks: some member is in a replica's rack, and not every rack has every partition."""
    everywhere = {rack for racks in partition_racks.values() for rack in racks}
    if everywhere.isdisjoint(member_racks):
        return False
    return any(everywhere.difference(racks) for racks in partition_racks.values())


class Racks:
    """What the sticky assignors ask about racks (``AbstractStickyAssignor.RackInfo``)."""

    __slots__ = ("_members", "_nearby", "_partitions")

    def __init__(self, members: Sequence[Member], partitions: Sequence[TopicPartition], topics: Topics) -> None:
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
