"""Log matching: replicas that agree on an epoch at an offset agree on everything before it."""

from itertools import combinations
from typing import Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.ground import Heard, Property
from cluster_model.checker.invariants.promise import LOSSY_MENDS, Mend, Promise
from cluster_model.log.compare import differing
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.events import BecameFollower, BecameLeader, IsrChanged, Truncated

LOG_MATCHING: Final = Promise(
    "log-matching",
    "Log matching",
    "Two replicas whose records at an offset are of one leader epoch hold the same records up to there, and in-sync "
    "replicas hold the same records below their leader's HW, but for what compaction took.",
    "KIP-101, KIP-279, KIP-320",
    (
        Mend("epoch_truncation", "KIP-101", "0.11"),
        Mend("kip_279", "KIP-279", "2.0"),
        Mend("kip_320", "KIP-320", "2.1"),
        *LOSSY_MENDS,
    ),
)


class LogMatching(Property):
    """Looked at when a HW rises above what not all hold alike, when the ISR changes, and when a replica changes."""

    __slots__ = ()
    promise = LOG_MATCHING

    def hears(self) -> Heard:
        """Changes of the ISR, and what makes two logs one again or parts them."""
        return {
            IsrChanged: self._isr_changed,
            BecameLeader: self._replica_changed,
            BecameFollower: self._replica_changed,
            Truncated: self._replica_changed,
        }

    def _isr_changed(self, event: IsrChanged) -> None:
        if event.leader >= 0 and event.by == "leader":
            self.parted(event.partition, event.at_us)
        for one, other in combinations(self.world.replicas[event.partition].values(), 2):
            self._match(event.partition, one, other, event.at_us)

    def _replica_changed(self, event: BecameLeader | BecameFollower | Truncated) -> None:
        replicas = self.world.replicas[event.partition]
        changed = replicas[event.broker]
        for other in replicas.values():
            self._match(event.partition, changed, other, event.at_us)

    def parted(self, partition: str, now: int) -> None:
        """What the leader counts as committed must be the same records on every in-sync replica."""
        record, leader = self.world.records[partition], self.world.true_leader(partition)
        if leader is None:
            return
        replicas = self.world.replicas[partition]
        for broker in record.isr:
            replica = replicas.get(broker)  # A new partition's may not have been made yet.
            if replica is None or replica.log.extents == leader.log.extents or replica.topic_id != leader.topic_id:
                continue
            found = [(start, end) for start, end in differing(leader.log, replica.log) if start < leader.hw]
            if found:
                start, end = found[0]
                detail = (
                    f"brokers {record.leader} and {broker} are in sync with HW {leader.hw}, and hold different records "
                    f"from offset {start} to {end - 1}"
                )
                # Whoever leads later sees the same fault from the other side: the newer of the two tells which it is.
                epochs = (leader.log.lineage_at(start).epoch, replica.log.lineage_at(start).epoch)
                when = self.ground.circumstances(partition, epochs[0])
                self._report(partition, broker, (start, end), now, detail, max(epochs), when)

    def _match(self, partition: str, one: Replica, other: Replica, now: int) -> None:
        """The same epoch at an offset, and other records at or below it."""
        if one is other or one.topic_id != other.topic_id or one.log.extents == other.log.extents:
            return
        parts = differing(one.log, other.log)
        if not parts:
            return
        start, end = parts[0]
        epoch = _agreed_epoch(one.log, other.log, start)
        if epoch >= 0:
            detail = (
                f"brokers {one.broker} and {other.broker} both have records of epoch {epoch}, and hold different "
                f"records from offset {start} to {end - 1}"
            )
            when = self.ground.circumstances(partition, epoch)
            self._report(partition, max(one.broker, other.broker), (start, end), now, detail, epoch, when)

    def _report(
        self,
        partition: str,
        broker: int,
        offsets: tuple[int, int],
        now: int,
        detail: str,
        epoch: int,
        when: tuple[str, ...],
    ) -> None:
        self.ground.report(self.promise, now, partition, broker, detail, offsets=offsets, epoch=epoch, when=when)


def _agreed_epoch(one: ReplicaLog, other: ReplicaLog, start: int) -> int:
    """The first epoch in which both have written at or behind ``start`` at the same offset, -1 for none."""
    at, end = start, min(one.leo, other.leo)
    by_id = one.lineages.by_id
    while at < end:
        left, right = one.extent_index(at), other.extent_index(at)
        epoch = by_id[one.extents[left][1]].epoch
        if epoch == by_id[other.extents[right][1]].epoch:
            return epoch
        at = min(_next(one, left, end), _next(other, right, end))
    return -1


def _next(log: ReplicaLog, index: int, end: int) -> int:
    return log.extents[index + 1][0] if index + 1 < len(log.extents) else end
