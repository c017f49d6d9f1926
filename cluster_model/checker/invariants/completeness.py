"""What leader completeness and its weaker sister share: whom to compare a presumed leader with, and how."""

from collections.abc import Iterable
from typing import Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.ground import Property
from cluster_model.checker.invariants.promise import LEAVING, LEAVING_MEND, LOSSY_MENDS, Mend
from cluster_model.log.compare import differing

MENDS: Final = (
    Mend("epoch_truncation", "KIP-101", "0.11"),
    Mend("kip_279", "KIP-279", "2.0"),
    Mend("kip_320", "KIP-320", "2.1"),
    *LOSSY_MENDS,
    LEAVING_MEND,
)
"""In which versions what a leader calls committed came to be on all in-sync replicas."""


class Completeness(Property):
    """A presumed leader beside those who must have what it calls committed."""

    __slots__ = ()

    def leaders(self, partition: str) -> list[Replica]:
        """Everybody who presumes to lead, but for those whose losses are excused."""
        topic_id = self.world.records[partition].topic_id
        excuses = self.ground.excuses
        return [
            each
            for each in self.world.replicas[partition].values()
            if each.leadership is not None
            and each.topic_id == topic_id
            and not excuses.covers(partition, each.leader_epoch)
        ]

    def compare(self, partition: str, leader: Replica, members: Iterable[int], whose: str, now: int) -> None:
        """Report every member that lacks what the leader calls committed; a replica that lost its disk may.

        A member that stays behind does so at another offset each time: it is told once in the leader's epoch.
        """
        replicas, excuses = self.world.replicas[partition], self.ground.excuses
        for broker in members:
            member = replicas.get(broker)  # A new partition's may not have been made yet.
            if member is None or member is leader or member.topic_id != leader.topic_id:
                continue
            if excuses.is_wounded(partition, broker):
                continue
            offset = _lacks(member, leader)
            if offset >= 0:
                detail = (
                    f"broker {leader.broker} leads epoch {leader.leader_epoch} with HW {leader.hw}, and "
                    f"broker {broker} of {whose} lacks its record at {offset}"
                )
                epoch, at = leader.leader_epoch, _epoch_at(leader, offset)
                self.ground.report(
                    self.promise, now, partition, broker, detail, offsets=(offset, leader.hw), epoch=epoch,
                    when=(*self._leaving(partition, broker), *self.ground.circumstances(partition, at)),
                )  # fmt: skip

    def _leaving(self, partition: str, broker: int) -> tuple[str, ...]:
        """Whether a reassignment takes it away; or did, and the next one has it come back."""
        state = self.world.records[partition].state
        stays = broker in state.replicas and broker not in (*state.removing, *state.adding)
        return () if stays else (LEAVING,)


def _epoch_at(leader: Replica, offset: int) -> int:
    """Of the record at an offset; that of the leader where its log does not go so far."""
    log = leader.log
    return log.lineage_at(offset).epoch if log.log_start <= offset < log.leo else leader.leader_epoch


def _lacks(member: Replica, leader: Replica) -> int:
    """First offset below the leader's HW that a member does not hold as the leader does, -1 for none."""
    if member.log.extents != leader.log.extents:
        first = next((start for start, _end in differing(leader.log, member.log) if start < leader.hw), -1)
        if first >= 0:
            return first
    return member.log.leo if member.log.leo < leader.hw else -1
