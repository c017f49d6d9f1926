"""The ledger: every record's fate, from what clients were told and what the logs hold.

*Missing* records were acknowledged and are not in the current leader's log; they may come back with an old leader.
They are *lost* once no replica's log holds them, or when the session ends with them missing. A record's identity is
the stint that wrote it and its offset, so a record that took a lost one's place is never mistaken for it. What
retention or DeleteRecords took while nobody missed it was deleted on purpose, and counts as neither. Nor does what
compaction removed: a log holds it, as far as the ledger goes, for as long as it covers its offset. That only the newest
record of a key stays is the topic's contract; if that one is lost, it counts. What goes with its topic was
deleted on purpose too; what was lost before that stays lost. A batch that is damaged is not held: nobody can read it.
"""

from collections.abc import Callable, Iterable
from typing import Any

from cluster_model.checker.acked import AckedRecords, RangeSet
from cluster_model.checker.causes import Run, Trigger, runs_of, sentence
from cluster_model.checker.history import History
from cluster_model.checker.repeats import Repeats
from cluster_model.checker.vouched import Vouched
from cluster_model.events import (
    Appended,
    Event,
    HwAdvanced,
    LogStartMoved,
    PartitionDeleted,
    RecordsAborted,
    RecordsAcked,
    RecordsFailed,
    RecordsLost,
    RecordsMissing,
    RecordsSent,
    RecordsUnknown,
    TraceEvent,
)
from cluster_model.log.compare import Range, subtract, union
from cluster_model.log.lineage import Lineage
from cluster_model.replication.damaging import whole
from cluster_model.replication.replica import Replica
from cluster_model.world import World

_Interval = tuple[int, int, int]
"""(stint, start, end)."""


class Ledger:
    """Books by client and by partition. ``lost_runs`` is complete after :meth:`close`."""

    __slots__ = (
        "_acked", "_buried", "_causes", "_closed", "_deleted", "_emit", "_history", "_missing", "_purged", "_unplaced",
        "_vouched", "_world", "books", "repeats",
    )  # fmt: skip

    def __init__(self, world: World, history: History, emit: Callable[[Event], None]) -> None:
        self._world = world
        self._history = history
        self._emit = emit
        self._acked = {name: AckedRecords(record.topic_id) for name, record in world.records.items()}
        self._missing: dict[str, tuple[_Interval, ...]] = {}
        self._causes: dict[tuple[str, int], list[tuple[int, int, Trigger]]] = {}
        """(partition, stint) → (start, end, what did it) of all that is missing; empty for a stint that has it back."""
        self._vouched = Vouched()
        self._purged: dict[tuple[str, int], RangeSet] = {}
        """(partition, stint) → offsets deleted on purpose."""
        self._deleted: dict[str, int] = {}
        """Partition → the newest topic id of its name that was deleted."""
        self._buried: dict[str, tuple[int, int]] = {}
        """Client → records lost, and committed ones among them, of partitions that have been deleted since."""
        self._unplaced: dict[tuple[str, str], int] = {}
        """(client, partition) → records acknowledged by acks=0 less those that reached a leader."""
        self._closed: dict[str, tuple[_Interval, ...]] | None = None
        self.books: dict[str, list[int]] = {}
        """Client → [sent, acked, failed, unknown, aborted]."""
        self.repeats = Repeats(world)

    def created(self, partition: str) -> None:
        """A partition is there, and nothing in it."""
        self._acked[partition] = AckedRecords(self._world.records[partition].topic_id)

    def deleted(self, event: PartitionDeleted) -> None:
        """A partition is gone. What no log held before that is lost; the rest was deleted on purpose."""
        partition = event.partition
        for stint, run in self._lost_runs(partition):
            lost, committed = self._buried.get(run.client, (0, 0))
            count = run.end - run.start
            self._buried[run.client] = (lost + count, committed + count * run.committed)
            self._say_lost(event.at_us, partition, stint, run)
        self._deleted[partition] = self._acked.pop(partition).topic_id
        self._missing.pop(partition, None)
        self._causes = {key: causes for key, causes in self._causes.items() if key[0] != partition}
        self._vouched.forget(partition)
        self._purged = {key: purged for key, purged in self._purged.items() if key[0] != partition}
        self.repeats.forget(partition)

    def _is_deleted(self, partition: str, lineage: Lineage) -> bool:
        """Whether records went with a topic: news of them may come later than that."""
        return lineage.topic_id <= self._deleted.get(partition, -1)

    def sent(self, event: RecordsSent) -> None:
        """A client made records."""
        books = self.books.get(event.client)
        if books is None:
            self._book(event.client, 0, event.count)
        else:
            books[0] += event.count

    def failed(self, event: RecordsFailed) -> None:
        """A client was told that its records are not written."""
        self._book(event.client, 2, event.count)

    def unknown(self, event: RecordsUnknown) -> None:
        """A client gave up on records that may be written."""
        self._book(event.client, 3, event.count)

    def aborted(self, event: RecordsAborted) -> None:
        """Records went with their transaction: nothing was promised for them."""
        self._book(event.client, 4, event.count)

    def acked(self, event: RecordsAcked) -> None:
        """A client was told that its records are written."""
        self._book(event.client, 1, event.count)
        if event.stint >= 0:
            self._acknowledged(event)
        else:
            self._count_unplaced(event.client, event.partition, event.count)

    def appended(self, event: Appended) -> None:
        """A leader wrote records."""
        if event.acks == 0:
            self._placed(event)
        self.repeats.appended(event)

    def _book(self, client: str, column: int, count: int) -> None:
        books = self.books.get(client)
        if books is None:
            books = self.books[client] = [0, 0, 0, 0, 0]
        books[column] += count

    def _count_unplaced(self, client: str, partition: str, count: int) -> None:
        key = (client, partition)
        self._unplaced[key] = self._unplaced.get(key, 0) + count

    def _placed(self, event: Appended) -> None:
        """An acks=0 record reached a leader's log: from here its identity is known."""
        self._count_unplaced(event.client, event.partition, -event.count)
        lineage = self._world.replicas[event.partition][event.broker].log.lineage_at(event.log_offset)
        if self._deleted and self._is_deleted(event.partition, lineage):
            return
        self._acked[event.partition].add(lineage.id, event.log_offset, event.log_offset + event.count)
        self._vouch(event.partition, lineage.id, event.log_offset, event.log_offset + event.count)
        leader = self._world.true_leader(event.partition)
        if leader is not None and leader.broker != event.broker:
            end = event.log_offset + event.count
            self._acknowledged_in_vain(event.partition, lineage.id, (event.log_offset, end), leader, event)

    def _acknowledged(self, event: RecordsAcked) -> None:
        end = event.log_offset + event.count
        if self._deleted:
            lineage = self._world.lineages[event.partition].by_id[event.stint]
            if self._is_deleted(event.partition, lineage):
                return
        if not self._acked[event.partition].add(event.stint, event.log_offset, end):
            return
        self._vouch(event.partition, event.stint, event.log_offset, end)
        leader = self._world.true_leader(event.partition)
        if leader is not None and (leader.damages or not leader.log.holds(event.stint, event.log_offset, end)):
            self._acknowledged_in_vain(event.partition, event.stint, (event.log_offset, end), leader, event)

    def _vouch(self, partition: str, stint: int, start: int, end: int) -> None:
        """Remember which ISR stood behind an acknowledgement."""
        isr = self._history.isr_of(partition, self._world.lineages[partition].by_id[stint].epoch)
        self._vouched.note(partition, stint, start, end, isr)

    def committed(self, event: HwAdvanced) -> None:
        """A HW rose: if it is the true leader's, what lies below it could be read."""
        record = self._world.records.get(event.partition)
        if record is None or event.broker != record.leader:
            return
        log = self._world.replicas[event.partition][event.broker].log
        acked = self._acked[event.partition]
        end = event.hw
        extents = log.extents
        newest = len(extents) - 1
        # Almost always the HW stands in the newest stint.
        last = newest if extents[newest][0] < end else log.extent_index(end - 1)
        for index in range(last, -1, -1):
            start, stint = extents[index]
            if acked.committed.get(stint, 0) >= end:
                break
            acked.commit(stint, end)
            end = start

    def log_start_moved(self, event: LogStartMoved) -> None:
        """A replica deleted its oldest records on purpose; those missing at that time stay missing."""
        if event.partition not in self._acked:
            return
        missing = self._missing.get(event.partition, ())
        for stint, start, end in self._world.replicas[event.partition][event.broker].log.dropped:
            absent = [(low, high) for other, low, high in missing if other == stint]
            purged = self._purged.setdefault((event.partition, stint), RangeSet())
            for low, high in subtract([(start, end)], absent):
                purged.add(low, high)

    def present(self, partition: str, stint: int, held: Iterable[Range]) -> list[Range]:
        """Offsets of a stint that nobody need look for: held by a log, or deleted on purpose."""
        purged = self._purged.get((partition, stint))
        return union(held if purged is None else (*held, *purged.ranges()))

    def leader_changed(self, partition: str, trigger: TraceEvent) -> None:
        """The leader's log, or who leads, is another: see what is missing now, and say so once per record."""
        if partition not in self._acked:
            return
        leader = self._world.true_leader(partition)
        if leader is None:
            self._missing.pop(partition, None)
            return
        missing: list[_Interval] = []
        for stint, ranges in self._acked[partition].by_stint.items():
            gone = subtract(ranges.ranges(), self.present(partition, stint, whole(leader, stint)))
            missing.extend((stint, start, end) for start, end in gone)
            self._forget_returned(partition, stint, gone)
        self._missing[partition] = tuple(missing)
        for stint, start, end in missing:
            self._report_missing(partition, stint, (start, end), trigger)

    def _acknowledged_in_vain(
        self, partition: str, stint: int, acked: Range, leader: Replica, trigger: TraceEvent
    ) -> None:
        """Somebody vouched for records that the leader does not hold: these are missing, of the others nothing is new.

        A deposed leader may do so for every batch of a long time, so nothing here looks at what came before.
        """
        missing = self._missing.get(partition, ())
        for start, end in subtract([acked], self.present(partition, stint, whole(leader, stint))):
            if missing and missing[-1][0] == stint and missing[-1][2] == start:
                missing = (*missing[:-1], (stint, missing[-1][1], end))
            else:
                missing = (*missing, (stint, start, end))
            self._say_missing(partition, stint, (start, end), trigger)
        self._missing[partition] = missing

    def _forget_returned(self, partition: str, stint: int, gone: list[Range]) -> None:
        """What the leader holds again has no cause any more: should it go again, that will be another."""
        entries = self._causes.get((partition, stint))
        if entries:
            self._causes[partition, stint] = [
                (max(start, low), min(end, high), trigger)
                for start, end, trigger in entries
                for low, high in gone
                if max(start, low) < min(end, high)
            ]

    def _report_missing(self, partition: str, stint: int, gone: Range, trigger: TraceEvent) -> None:
        known = self._causes.setdefault((partition, stint), [])
        for fresh in subtract([gone], union((start, end) for start, end, _trigger in known)):
            self._say_missing(partition, stint, fresh, trigger)

    def _say_missing(self, partition: str, stint: int, fresh: Range, trigger: TraceEvent) -> None:
        lineage = self._world.lineages[partition].by_id[stint]
        committed_end = self._acked[partition].committed.get(stint, 0)
        did_it = Trigger(trigger, self._history.moment)
        self._causes.setdefault((partition, stint), []).append((*fresh, did_it))
        for run in runs_of(lineage, *fresh, committed_end):
            isr = self._vouched.isr_at(partition, stint, run.start)
            cause = sentence(self._history, partition, lineage, run, isr, did_it)
            self._emit(
                RecordsMissing(
                    trigger.at_us, partition, run.client, run.sequence, run.end - run.start, run.start,  # type: ignore[attr-defined]
                    lineage.epoch, run.acks, run.committed, cause,
                )
            )  # fmt: skip

    def missing(self, partition: str) -> int:
        """Acknowledged records that the current leader's log does not hold."""
        return sum(end - start for _stint, start, end in self._missing.get(partition, ()))

    def lost_in(self, partition: str) -> tuple[_Interval, ...]:
        """Acknowledged records that no replica's log holds, and at the end those still missing, by stint."""
        if self._closed is not None:
            return self._closed[partition]
        replicas = self._world.replicas[partition].values()
        lost: list[_Interval] = []
        for stint in dict.fromkeys(stint for name, stint in self._causes if name == partition):
            ranges = self._acked[partition].by_stint.get(stint)
            if ranges is not None:
                held = [part for replica in replicas for part in whole(replica, stint)]
                gone = subtract(ranges.ranges(), self.present(partition, stint, held))
                lost.extend((stint, start, end) for start, end in gone)
        return tuple(lost)

    def acked_lost(self, client: str | None = None) -> int:
        """Acknowledged records that are lost, of one client or of all."""
        never_placed = sum(
            max(0, count)
            for (name, _partition), count in self._unplaced.items()
            if self._closed is not None and client in (None, name)
        )
        buried = sum(lost for name, (lost, _committed) in self._buried.items() if client in (None, name))
        return (
            buried
            + never_placed
            + sum(
                run.end - run.start
                for partition in self._world.records
                for _lineage, run in self._lost_runs(partition)
                if client in (None, run.client)
            )
        )

    def committed_lost(self, client: str | None = None) -> int:
        """Lost records that somebody could have read."""
        return sum(committed for name, (_lost, committed) in self._buried.items() if client in (None, name)) + sum(
            run.end - run.start
            for partition in self._world.records
            for _lineage, run in self._lost_runs(partition)
            if run.committed and client in (None, run.client)
        )

    def _lost_runs(self, partition: str) -> Iterable[tuple[int, Run]]:
        for stint, start, end in self.lost_in(partition):
            lineage = self._world.lineages[partition].by_id[stint]
            for run in runs_of(lineage, start, end, self._acked[partition].committed.get(stint, 0)):
                yield stint, run

    def missing_of(self, client: str | None) -> int:
        """Missing records of one client, or of all."""
        if client is None:
            return sum(self.missing(partition) for partition in self._missing)
        total = 0
        for partition, intervals in self._missing.items():
            for stint, start, end in intervals:
                lineage = self._world.lineages[partition].by_id[stint]
                runs = runs_of(lineage, start, end, 0)
                total += sum(run.end - run.start for run in runs if run.client == client)
        return total

    def close(self, now: int) -> None:
        """The session is over: what is missing is lost. Emits the verdict on every lost record."""
        closed: dict[str, tuple[_Interval, ...]] = {}
        for partition in self._world.records:
            stints: dict[int, list[Range]] = {}
            for stint, start, end in (*self.lost_in(partition), *self._missing.get(partition, ())):
                stints.setdefault(stint, []).append((start, end))
            closed[partition] = tuple(
                (stint, start, end) for stint, ranges in stints.items() for start, end in union(ranges)
            )
        self._closed = closed
        for partition in self._world.records:
            for stint, run in self._lost_runs(partition):
                self._say_lost(now, partition, stint, run)
        for (client, partition), count in self._unplaced.items():
            if count > 0:
                cause = f"{count} records of {client} for {partition} were sent with acks=0 and reached no leader"
                self._emit(RecordsLost(now, partition, client, -1, count, -1, -1, 0, committed=False, cause=cause))

    def _say_lost(self, now: int, partition: str, stint: int, run: Run) -> None:
        lineage = self._world.lineages[partition].by_id[stint]
        cause = self.cause_of(partition, lineage, run)
        self._emit(
            RecordsLost(
                now, partition, run.client, run.sequence, run.end - run.start, run.start, lineage.epoch, run.acks,
                run.committed, cause,
            )
        )  # fmt: skip

    def cause_of(self, partition: str, lineage: Lineage, run: Run) -> str:
        """Why a run of missing or lost records is."""
        isr = self._vouched.isr_at(partition, lineage.id, run.start)
        for start, end, trigger in self._causes.get((partition, lineage.id), ()):
            if start <= run.start < end:
                return sentence(self._history, partition, lineage, run, isr, trigger)
        return "no replica's log holds them any more"

    def is_missing(self, partition: str) -> list[tuple[int, Range]]:
        """Missing records by stint, for views."""
        return [(stint, (start, end)) for stint, start, end in self._missing.get(partition, ())]

    def acked_in(self, partition: str, stint: int) -> list[Range]:
        """Acknowledged offsets of a stint, for views."""
        ranges = self._acked[partition].by_stint.get(stint)
        return [] if ranges is None else ranges.ranges()

    def books_of(self, partition: str) -> AckedRecords:
        """The acknowledged records of a partition, to read."""
        return self._acked[partition]

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple([(name, acked.topic_id, acked.save()) for name, acked in self._acked.items()]),
            tuple(self._missing.items()),
            tuple((key, tuple(causes)) for key, causes in self._causes.items()),
            self._vouched.save(),
            tuple(self._unplaced.items()),
            None if self._closed is None else tuple(self._closed.items()),
            tuple((client, tuple(books)) for client, books in self.books.items()),
            self.repeats.save(),
            tuple((key, purged.save()) for key, purged in self._purged.items()),
            tuple(self._deleted.items()),
            tuple(self._buried.items()),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        acked, missing, causes, vouched, unplaced, closed, books, repeats, purged, deleted, buried = saved
        self._deleted, self._buried = dict(deleted), dict(buried)
        self._acked = {}
        for name, topic_id, state in acked:
            self._acked[name] = AckedRecords(topic_id)
            self._acked[name].load(state)
        self._missing = dict(missing)
        self._causes = {key: list(entries) for key, entries in causes}
        self._vouched.load(vouched)
        self._unplaced = dict(unplaced)
        self._closed = None if closed is None else dict(closed)
        self.books = {client: list(entries) for client, entries in books}
        self.repeats.load(repeats)
        self._purged = {}
        for key, state in purged:
            self._purged[key] = RangeSet()
            self._purged[key].load(state)
