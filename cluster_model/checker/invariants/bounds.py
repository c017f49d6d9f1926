"""Bounds of every log's markers: log start, HW, recovery point, segments, log end."""

from itertools import pairwise
from typing import Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.ground import Heard, Property, listed
from cluster_model.checker.invariants.promise import Promise
from cluster_model.controller.committed import PartitionRecord
from cluster_model.protocol.events import (
    BecameFollower,
    BecameLeader,
    HwAdvanced,
    LogStartMoved,
    RecoveryFinished,
    SegmentRolled,
    Truncated,
)

BOUNDS: Final = Promise(
    "log-bounds",
    "Bounds of a log",
    "On every replica log start <= HW <= log end, the recovery point is at most the log end, and the segments are "
    "disjoint and in ascending order.",
    "UnifiedLog, LogSegments",
)


class LogBounds(Property):
    """The markers with every HW that rises; the segments when one comes, goes or is cut."""

    __slots__ = ()
    promise = BOUNDS

    def hears(self) -> Heard:
        """What moves a marker other than by an append."""
        return {
            **dict.fromkeys((BecameLeader, BecameFollower, Truncated, LogStartMoved), self._moved),
            SegmentRolled: self._rolled,
            RecoveryFinished: self._recovered,
        }

    def hw_advanced(self, event: HwAdvanced, replica: Replica, _record: PartitionRecord) -> None:
        """Of a leader."""
        log = replica.log
        leo = log.leo
        if not log.log_start <= replica.hw <= leo or log.recovery_point > leo:
            self._markers(event.partition, replica, event.at_us)

    def _moved(self, event: BecameLeader | BecameFollower | Truncated | LogStartMoved) -> None:
        self._look(event.partition, self.world.replicas[event.partition][event.broker], event.at_us)

    def _rolled(self, event: SegmentRolled) -> None:
        """In the middle of an append: the markers are not yet where they will be."""
        replica = self.world.replicas[event.partition][event.broker]
        self._segments(event.partition, replica, event.at_us, event.log_offset)

    def _recovered(self, event: RecoveryFinished) -> None:
        for partition, replicas in self.world.replicas.items():
            replica = replicas.get(event.broker)
            if replica is not None:
                self._look(partition, replica, event.at_us)

    def _look(self, partition: str, replica: Replica, now: int) -> None:
        self._markers(partition, replica, now)
        self._segments(partition, replica, now, replica.log.leo)

    def _segments(self, partition: str, replica: Replica, now: int, end: int) -> None:
        log = replica.log
        bases = [segment.base for segment in log.segments.all]
        if any(one >= two for one, two in pairwise(bases)) or bases[-1] > end:
            detail = f"broker {replica.broker}: segments begin at {listed(bases)}, LEO {log.leo}"
            self._report(partition, replica, "segments", now, detail)

    def _markers(self, partition: str, replica: Replica, now: int) -> None:
        log = replica.log
        if not log.log_start <= replica.hw <= log.leo:
            detail = f"broker {replica.broker}: log start {log.log_start}, HW {replica.hw}, LEO {log.leo}"
            self._report(partition, replica, "HW", now, detail)
        if log.recovery_point > log.leo:
            detail = f"broker {replica.broker}: recovery point {log.recovery_point}, LEO {log.leo}"
            self._report(partition, replica, "recovery point", now, detail)

    def _report(self, partition: str, replica: Replica, fault: str, now: int, detail: str) -> None:
        offsets = (replica.log.log_start, replica.log.leo)
        epoch = replica.leader_epoch
        self.ground.report(
            self.promise, now, partition, replica.broker, detail, fault=fault, offsets=offsets, epoch=epoch
        )
