"""Compaction keeps the newest: no pass of a cleaner takes what a reader of the whole log would end with."""

from bisect import bisect_right
from typing import Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.ground import Heard, Property
from cluster_model.checker.invariants.promise import Promise
from cluster_model.log.keys import Key, keys_of
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.batch import ABORT
from cluster_model.protocol.events import LogCleaned
from cluster_model.protocol.records import Cleaned, Swept
from cluster_model.protocol.rules import NEVER

KEEPS_NEWEST: Final = Promise(
    "compaction-keeps-newest",
    "Compaction keeps the newest",
    "A compaction pass takes no record that is the newest committed one of its key in that log, but for a tombstone "
    "that has been kept for delete.retention.ms: since 3.1 from the first pass on that kept it, before by the age of "
    "its segment's file.",
    "Cleaner.shouldRetainRecord, KIP-534",
)

VALUE: Final = -1
"""In the place of a batch's base: the record deletes nothing."""


class KeepsNewest(Property):
    """Looked at after every pass that took anything, by the log as it was before."""

    __slots__ = ()
    promise = KEEPS_NEWEST

    def hears(self) -> Heard:
        """Passes."""
        return {LogCleaned: self._cleaned}

    def _cleaned(self, event: LogCleaned) -> None:
        replica = self.world.replicas[event.partition][event.broker]
        log = replica.log
        after, swept = log.cleaned, replica.swept
        if after is None or swept is None:
            return
        first = _first_taken(swept.before, after)
        if first < 0:
            return
        taken = _taken(_newest(log, swept.before, first, replica.lso), after)
        horizons = dict(swept.before.horizons) if taken and replica.profile.delete_horizon else {}
        told: dict[str, None] = {}
        for offset, base in taken:
            due_us = horizons.get(base, NEVER)
            if base != VALUE and (due_us <= replica.wall_time(event.at_us) or _is_old(replica, swept, event, offset)):
                continue
            what, words = ("value", "is gone") if base == VALUE else ("tombstone", "is gone before its time")
            if what not in told:
                told[what] = None
                self.ground.report(
                    self.promise, event.at_us, event.partition, event.broker,
                    f"broker {event.broker} compacted its log, and the {what} at offset {offset}, the newest record "
                    f"of its key, {words}",
                    fault=what, offsets=(offset, offset + 1), epoch=log.lineage_at(offset).epoch,
                )  # fmt: skip


def _first_taken(before: Cleaned, after: Cleaned) -> int:
    """The first offset that a pass took, -1 for none."""
    return next((low for start, end in after.holes for low, _high in before.left(start, end)), -1)


def _newest(log: ReplicaLog, before: Cleaned, start: int, stable: int) -> dict[Key, tuple[int, int]]:
    """The newest committed record from ``start`` on of every key, as a log had it: (offset, base of the batch).

    The base is that of a tombstone, :data:`VALUE` otherwise. What was aborted is nobody's newest.
    """
    newest: dict[Key, tuple[int, int]] = {}
    for _lineage, batch, low, high in log.batches_between(start, stable):
        parts = before.left(low, high)
        if not parts or batch.kind >= ABORT or (batch.kind and log.transactions.is_aborted(batch)):
            continue
        keys, deletes = keys_of(log.lineages.keys, batch)
        for first, end in parts:
            for offset in range(first, end):
                key = keys[offset - batch.base]
                if key is not None:
                    newest[key] = (offset, batch.base if offset - batch.base in deletes else VALUE)
    return newest


def _taken(newest: dict[Key, tuple[int, int]], after: Cleaned) -> list[tuple[int, int]]:
    """Those of them that are there no more, in order."""
    found: list[tuple[int, int]] = []
    holes, at = after.holes, 0
    for each in sorted(newest.values()):
        while at < len(holes) and holes[at][1] <= each[0]:
            at += 1
        if at == len(holes):
            break
        if holes[at][0] <= each[0]:
            found.append(each)
    return found


def _is_old(replica: Replica, swept: Swept, event: LogCleaned, offset: int) -> bool:
    """Whether a tombstone may go by its file's age, beside the newest one that was clean already."""
    if replica.profile.delete_horizon:
        return False
    clean = [modified_us for start, modified_us in swept.files if start < event.log_offset]
    _base, modified_us = swept.files[bisect_right(swept.files, offset, key=lambda each: each[0]) - 1]
    return bool(clean) and modified_us <= clean[-1] - replica.log.rules.tombstone_us
