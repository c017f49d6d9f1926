"""Ranges of acknowledged records, the ISR at each acknowledgement, and ranges exposed to consumers."""

from collections.abc import Callable
from typing import Any

from cluster_model.log.replica_log import ReplicaLog
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import BecameLeader, HwAdvanced, ReplicaDeleted, Truncated
from cluster_model.util.ranges import Range, RangeSet, subtract


class AckedRecords:
    """Acknowledged and readable offsets of one partition, by log branch."""

    __slots__ = ("_saved", "by_log_branch", "committed", "topic_id")

    def __init__(self, topic_id: int) -> None:
        self.topic_id = topic_id
        self.by_log_branch: dict[int, RangeSet] = {}
        self.committed: dict[int, RangeSet] = {}
        """Log branch → offsets, acknowledged or not, that were below the HW of a leader."""
        self._saved: tuple[Any, ...] | None = None
        """Cached result of :meth:`save`, until something changes."""

    def add(self, log_branch: int, start: int, end: int) -> bool:
        """Add acknowledged records; return False if they were known."""
        self._saved = None
        ranges = self.by_log_branch.get(log_branch)
        if ranges is None:
            ranges = self.by_log_branch[log_branch] = RangeSet()
        ends = ranges.ends
        if ends and ends[-1] == start:  # nearly always: add() would do the same
            ends[-1] = end
            return True
        return bool(ranges.add(start, end))

    def commit(self, log_branch: int, start: int, end: int) -> None:
        """Record that offsets of a log branch could be read by consumers."""
        self._saved = None
        ranges = self.committed.get(log_branch)
        if ranges is None:
            ranges = self.committed[log_branch] = RangeSet()
        ends = ranges.ends
        if ends and ends[-1] == start:
            ends[-1] = end
        else:
            ranges.add(start, end)

    def committed_in(self, log_branch: int) -> list[Range]:
        """Return the offsets of a log branch that consumers could read."""
        ranges = self.committed.get(log_branch)
        return [] if ranges is None else ranges.ranges()

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        if self._saved is None:
            self._saved = (_saved(self.by_log_branch), _saved(self.committed))
        return self._saved

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._saved = None
        log_branches, committed = saved
        self.by_log_branch, self.committed = _loaded(log_branches), _loaded(committed)


def _saved(table: dict[int, RangeSet]) -> tuple[Any, ...]:
    return tuple([(log_branch, ranges.save()) for log_branch, ranges in table.items()])


def _loaded(saved: tuple[Any, ...]) -> dict[int, RangeSet]:
    table: dict[int, RangeSet] = {}
    for log_branch, ranges in saved:
        table[log_branch] = RangeSet()
        table[log_branch].load(ranges)
    return table


# Committed records: below the high watermark of a leader, so that a consumer could read them.
#
# It does not matter whether the controller had meanwhile elected another leader: a broker and consumers that had not
# learned of it served and read up to that broker's high watermark (``Partition.readRecords``), and acks=all is
# acknowledged by it, too. A leader exposes its records when it becomes leader, up to the high watermark that it had as
# a follower, and then as its high watermark advances.


class ExposedRecords:
    """Recorder of exposed offsets in :class:`AckedRecords`, each offset of a leadership once."""

    __slots__ = ("_acked", "_cluster_state", "_recorded_hw", "_vouch")

    def __init__(
        self, cluster_state: ClusterState, acked: dict[str, AckedRecords], vouch: Callable[[str, int, int, int], None]
    ) -> None:
        """``vouch`` takes (partition, log branch, start, end) passed by a high watermark: acks=all is answered then."""
        self._cluster_state = cluster_state
        self._acked = acked
        self._vouch = vouch
        self._recorded_hw: dict[tuple[str, int], int] = {}
        """(partition, presumed leader) → the high watermark up to which its log has been recorded."""

    def hw_advanced(self, event: HwAdvanced) -> None:
        """Handle a high watermark advance of a leader."""
        key = (event.partition, event.broker)
        before = self._recorded_hw.get(key)
        if before is None:
            self._record(event.partition, event.broker, event.hw)
            return
        self._recorded_hw[key] = event.hw
        if event.hw <= before:
            return  # It must not decrease; exposed records stay exposed.
        log = self._cluster_state.replicas[event.partition][event.broker].log
        start, log_branch = log.extents[-1]
        if start <= before:  # Almost always: the high watermark is in the newest log branch.
            self._acked[event.partition].commit(log_branch, before, event.hw)
            self._vouch(event.partition, log_branch, before, event.hw)
        else:
            self._commit(event.partition, log, before, event.hw)
            for passed, low, high in log.pieces(before, event.hw):
                self._vouch(event.partition, passed, low, high)

    def became_leader(self, event: BecameLeader) -> None:
        """Handle a new or resumed leadership: records below its high watermark are exposed."""
        self._record(event.partition, event.broker, event.hw)

    def changed(self, event: Truncated | ReplicaDeleted) -> None:
        """Handle a truncated or deleted log: if its broker leads, it is recorded again from its start."""
        self._recorded_hw.pop((event.partition, event.broker), None)

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self._recorded_hw = {key: hw for key, hw in self._recorded_hw.items() if key[0] != partition}

    def _record(self, partition: str, broker: int, hw: int) -> None:
        if partition not in self._acked or self._cluster_state.is_stale(partition, broker):
            return
        log = self._cluster_state.replicas[partition][broker].log
        self._recorded_hw[partition, broker] = hw
        self._commit(partition, log, log.log_start, hw)

    def _commit(self, partition: str, log: ReplicaLog, start: int, end: int) -> None:
        acked = self._acked[partition]
        for log_branch, low, high in log.pieces(start, end):
            acked.commit(log_branch, low, high)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple(self._recorded_hw.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._recorded_hw = dict(saved)


# The ISR at each acknowledgement: one entry as long as the ISR stays the same, for any number of records. It is the ISR
# when the leader responded, not when the client received the response or ended its transaction: at the append, or with
# acks=all when the high watermark passed the record.


AckIsrRange = tuple[int, int, tuple[int, ...]]
"""(start, end, ISR at the acknowledgement of these offsets)."""


class _IsrSpan:
    """Consecutive acknowledged offsets of one log branch with the same ISR, still growing."""

    __slots__ = ("end", "isr", "log_branch", "start")

    def __init__(self, log_branch: int, start: int, end: int, isr: tuple[int, ...]) -> None:
        self.log_branch = log_branch
        self.start = start
        self.end = end
        self.isr = isr


class AckIsrs:
    """ISR at each acknowledgement, by partition and log branch."""

    __slots__ = ("_entries", "_open")

    def __init__(self) -> None:
        self._entries: dict[tuple[str, int], tuple[AckIsrRange, ...]] = {}
        self._open: dict[str, _IsrSpan] = {}
        """Partition → the growing span after the last entry of a log branch, which is entered later."""

    def note(self, partition: str, log_branch: int, start: int, end: int, isr: tuple[int, ...]) -> None:
        """Record that records were acknowledged while the leader used this ISR."""
        run = self._open.get(partition)
        if run is not None:
            if run.end == start and run.log_branch == log_branch and run.isr == isr:
                run.end = end
                return
            self._close(partition, run)
        self._open[partition] = _IsrSpan(log_branch, start, end, isr)

    def note_rest(self, partition: str, log_branch: int, start: int, end: int, isr: tuple[int, ...]) -> None:
        """Record the ISR of the records of a range for which none is known yet."""
        run = self._open.get(partition)
        if run is not None and run.log_branch == log_branch:
            if run.start <= start and end <= run.end:
                return
            if run.end == start and run.isr == isr:  # nearly always: the next ones
                run.end = end
                return
        known = sorted((low, high) for low, high, _isr in self.entries(partition, log_branch))
        for low, high in subtract([(start, end)], known):
            self.note(partition, log_branch, low, high, isr)

    def _close(self, partition: str, run: "_IsrSpan") -> None:
        del self._open[partition]
        self._record((partition, run.log_branch), run.start, run.end, run.isr)

    def _settle(self) -> None:
        for partition, run in tuple(self._open.items()):
            self._close(partition, run)

    def _record(self, key: tuple[str, int], start: int, end: int, isr: tuple[int, ...]) -> None:
        recorded = self._entries.get(key, ())
        if recorded:
            first, last, last_isr = recorded[-1]
            if last == start and last_isr == isr:
                self._entries[key] = ((first, end, isr),) if len(recorded) == 1 else (*recorded[:-1], (first, end, isr))
                return
        entries = list(recorded)
        index = len(entries)
        while index and entries[index - 1][0] > start:  # Acknowledgements overtake each other, but not by far.
            index -= 1
        if index < len(entries) and (entries[index][0], entries[index][2]) == (end, isr):
            end = entries.pop(index)[1]
        if index and entries[index - 1][1:] == (start, isr):
            index -= 1
            start = entries.pop(index)[0]
        entries.insert(index, (start, end, isr))
        self._entries[key] = tuple(entries)

    def isr_at(self, partition: str, log_branch: int, offset: int) -> tuple[int, ...]:
        """Return the ISR at a record's acknowledgement, empty if it was never acknowledged."""
        entries = self.entries(partition, log_branch)
        return next((isr for start, end, isr in reversed(entries) if start <= offset < end), ())

    def entries(self, partition: str, log_branch: int) -> tuple[AckIsrRange, ...]:
        """Return all entries of a log branch, in order of offset."""
        if self._open:
            self._settle()
        return self._entries.get((partition, log_branch), ())

    @property
    def count(self) -> int:
        """Number of entries kept."""
        self._settle()
        return sum(map(len, self._entries.values()))

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self._open.pop(partition, None)
        self._entries = {key: entries for key, entries in self._entries.items() if key[0] != partition}

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        self._settle()
        return tuple(self._entries.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._open = {}
        self._entries = dict(saved)
