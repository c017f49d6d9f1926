"""A ledger of one object per record, straight from the definitions, that looks at the world after every event.

Nothing here is clever: it is what the ledger of the product is held against.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.checker import Checker
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import (
    Appended,
    LogStartMoved,
    PartitionDeleted,
    RecordsAborted,
    RecordsAcked,
    RecordsFailed,
    RecordsSent,
    RecordsUnknown,
    TraceEvent,
)

OUTCOMES: dict[type[TraceEvent], str] = {
    RecordsAcked: "acked",
    RecordsFailed: "failed",
    RecordsUnknown: "unknown",
    RecordsAborted: "aborted",
}
Number = tuple[str, str, int]
"""(client, partition, sequence)."""


@dataclass
class Copy:
    """One record as a leader wrote it, at one offset."""

    partition: str
    log_branch: int
    offset: int
    number: Number
    topic_id: int
    acked: bool = False
    committed: bool = False
    deleted: bool = False
    """On purpose."""
    late: bool = False
    """As it was appended, a later record of its client stood before it in that log, and it did not."""
    buried: bool = False
    """Lost, and then its topic was deleted."""


@dataclass
class Shape:
    """What a replica's log covered: (offset, log branch) of every record."""

    records: dict[int, int]
    log_start: int


@dataclass
class Readable:
    """What can be read of a replica's log: all records but those in damaged ranges."""

    records: dict[int, int]
    damaged: list[tuple[int, int]]

    def holds(self, copy: Copy) -> bool:
        """Whether it has just this record."""
        if any(low <= copy.offset < high for low, high in self.damaged):
            return False
        return self.records.get(copy.offset) == copy.log_branch


@dataclass
class PlainLedger:
    """Hears every event behind the checker."""

    cluster_state: ClusterState
    outcomes: dict[Number, str] = field(default_factory=dict)
    unnumbered: int = 0
    copies: dict[tuple[str, int, int], Copy] = field(default_factory=dict)
    blind: dict[Number, None] = field(default_factory=dict)
    shapes: dict[int, Shape] = field(default_factory=dict)
    """By id of the replica, which lives as long as this."""
    replicas: list[Replica] = field(default_factory=list)
    absent: dict[tuple[str, int, int], None] = field(default_factory=dict)
    """Copies that were missing before the event."""
    lost: dict[tuple[str, int, int], None] = field(default_factory=dict)
    """Copies that were lost before the event."""
    deleted_now: str = ""
    """The partition that the event deletes: its state is still there while the event is looked at."""
    _covers: dict[int, tuple[Any, dict[int, int]]] = field(default_factory=dict)
    """By id of the replica: what its log is made of, and (offset, log branch) of every record; few events change it."""

    def hear(self, event: TraceEvent) -> None:
        """An event, in the state that it left behind."""
        self._doomed()
        self.deleted_now = event.partition if isinstance(event, PartitionDeleted) else ""
        if isinstance(event, RecordsSent):
            for number in self._numbers(event):
                assert self.outcomes.setdefault(number, "pending") == "pending"
        elif type(event) in OUTCOMES:
            self._told(event)
        elif isinstance(event, Appended):
            self._appended(event)
        elif isinstance(event, LogStartMoved) and event.by != "out of range":
            self._deleted(event)
        elif isinstance(event, PartitionDeleted):
            self._gone(event.partition)
        self._look()

    def _numbers(self, event: Any) -> Iterator[Number]:
        if event.sequence < 0:
            self.unnumbered += event.count
            return
        for sequence in range(event.sequence, event.sequence + event.count):
            yield event.client, event.partition, sequence

    def _told(self, event: Any) -> None:
        for index, number in enumerate(self._numbers(event)):
            assert self.outcomes[number] == "pending", (number, self.outcomes[number], event)
            self.outcomes[number] = OUTCOMES[type(event)]
            if isinstance(event, RecordsAcked):
                if event.log_branch >= 0:
                    copy = self.copies[event.partition, event.log_branch, event.log_offset + index]
                    assert copy.number == number, "acknowledged is what was written there"
                    copy.acked = True
                elif event.acks == 0:
                    self.blind[number] = None

    def _appended(self, event: Appended) -> None:
        replica = self.cluster_state.replicas[event.partition][event.broker]
        log_branch = replica.log.branch_at(event.log_offset).id
        before = [
            copy.number[2]
            for offset, owner in _covered(replica.log)
            if offset < event.log_offset
            and (copy := self.copies.get((event.partition, owner, offset))) is not None
            and copy.number[0] == event.client
        ]
        for index in range(event.count):
            number = (event.client, event.partition, event.sequence + index)
            offset = event.log_offset + index
            copy = Copy(event.partition, log_branch, offset, number, replica.topic_id)
            record = self.cluster_state.records.get(event.partition)
            copy.deleted = record is None or record.topic_id != replica.topic_id or self._is_doomed(event.partition)
            self.copies[event.partition, log_branch, offset] = copy
            copy.late = number[2] not in before and any(other > number[2] >= 0 for other in before)
            if event.acks == 0:
                copy.acked = True
                self.blind.pop(number, None)

    def _deleted(self, event: LogStartMoved) -> None:
        """What the log covered until now, and does not any more, unless it was missed already."""
        replica = self.cluster_state.replicas[event.partition][event.broker]
        before = self.shapes[id(replica)]
        for offset, log_branch in before.records.items():
            if offset < replica.log.log_start:
                copy = self.copies.get((event.partition, log_branch, offset))
                if copy is not None and (event.partition, log_branch, offset) not in self.absent:
                    copy.deleted = True

    def _is_doomed(self, partition: str) -> bool:
        return self.cluster_state.being_deleted(partition.rpartition("-")[0])

    def _doomed(self) -> None:
        """The deletion of a topic is committed: what is not lost by then goes on purpose."""
        for where, copy in self.copies.items():
            if not copy.deleted and not copy.buried and self._is_doomed(copy.partition):
                copy.buried = where in self.lost
                copy.deleted = not copy.buried

    def _gone(self, partition: str) -> None:
        _absent, lost = self._absent_and_lost()
        for copy in self.copies.values():
            if copy.partition == partition and not copy.deleted and not copy.buried:
                copy.buried = (copy.partition, copy.log_branch, copy.offset) in lost
                copy.deleted = not copy.buried

    def _look(self) -> None:
        """Take the shapes of all logs, and see who shows what and what is missing."""
        for name, record in self.cluster_state.records.items():
            for replica in self.cluster_state.replicas[name].values():
                if replica.topic_id == record.topic_id:
                    self._look_at(replica)
        self.absent, self.lost = self._absent_and_lost()

    def _absent_and_lost(self) -> tuple[dict[tuple[str, int, int], None], dict[tuple[str, int, int], None]]:
        """Acknowledged, and not in the current leader's log; acknowledged, and in no replica's log."""
        absent, lost = dict[tuple[str, int, int], None](), dict[tuple[str, int, int], None]()
        logs: dict[str, list[Readable]] = {}
        leaders: dict[str, Readable | None] = {}
        for where, copy in self.copies.items():
            if not self._in_question(copy):
                continue
            name = copy.partition
            if name not in logs:
                logs[name] = [self._readable(replica) for replica in self.cluster_state.replicas.get(name, {}).values()]
                leader = self.cluster_state.committed_leader(name) if name in self.cluster_state.records else None
                leaders[name] = None if leader is None else self._readable(leader)
            led = leaders[name]
            if led is not None and not led.holds(copy):
                absent[where] = None
            if not any(log.holds(copy) for log in logs[name]):
                lost[where] = None
        return absent, lost

    def _readable(self, replica: Replica) -> "Readable":
        return Readable(self._covered(replica), [(low, high) for low, high, _kind in replica.damages])

    def _covered(self, replica: Replica) -> dict[int, int]:
        log = replica.log
        made_of = (log.log_start, log.leo, tuple(log.extents))
        if id(replica) not in self._covers:
            self.replicas.append(replica)
        elif self._covers[id(replica)][0] == made_of:
            return self._covers[id(replica)][1]
        self._covers[id(replica)] = (made_of, dict(_covered(log)))
        return self._covers[id(replica)][1]

    def _look_at(self, replica: Replica) -> None:
        log = replica.log
        covered = self._covered(replica)
        self.shapes[id(replica)] = Shape(covered, log.log_start)
        if replica.leadership is not None:
            for offset, log_branch in covered.items():
                copy = self.copies.get((replica.partition, log_branch, offset))
                if copy is not None and offset < replica.hw:
                    copy.committed = True

    # -- the terms ---------------------------------------------------------------------------------------------------

    def _in_question(self, copy: Copy) -> bool:
        return copy.acked and not copy.deleted and not copy.buried

    def counts(self, *, anew: bool = True) -> dict[str, dict[tuple[str, str], list[int]]]:
        """Term → (client, partition) → the numbers that it is about, ascending; one for each copy.

        Right after an event what is absent and lost need not be found ``anew``.
        """
        absent, lost_now = self._absent_and_lost() if anew else (self.absent, self.lost)
        found: dict[str, dict[tuple[str, str], list[int]]] = {}
        for (client, partition, sequence), outcome in self.outcomes.items():
            for term in ("sent", outcome):
                found.setdefault(term, {}).setdefault((client, partition), []).append(sequence)
        for where, copy in self.copies.items():
            client, partition, sequence = copy.number
            lost = copy.buried or where in lost_now
            for term, holds in (
                ("missing", where in absent),
                ("acked_lost", lost),
                ("committed_lost", lost and copy.committed),
            ):
                if holds:
                    found.setdefault(term, {}).setdefault((client, partition), []).append(sequence)
        for term, (client, partition, sequence) in self._repeated():
            found.setdefault(term, {}).setdefault((client, partition), []).append(sequence)
        return {term: {key: sorted(each) for key, each in table.items()} for term, table in found.items()}

    def _repeated(self) -> Iterator[tuple[str, Number]]:
        """Numbers that stand in a leader's log a second time, and those that stand behind a higher one."""
        for name in self.cluster_state.records:
            leader = self.cluster_state.committed_leader(name)
            if leader is None or name == self.deleted_now:
                continue
            last: dict[Number, int] = {}
            for offset, log_branch in self._covered(leader).items():
                copy = self.copies.get((name, log_branch, offset))
                if copy is None or copy.number[2] < 0 or not _left(leader.log, offset):
                    continue
                if copy.number in last:
                    yield "duplicates", copy.number
                if copy.late:
                    yield "reordered", copy.number
                last[copy.number] = offset


def _covered(log: ReplicaLog) -> Iterator[tuple[int, int]]:
    for log_branch, start, end in log.pieces(log.log_start, log.leo):
        for offset in range(start, end):
            yield offset, log_branch


def _left(log: ReplicaLog, offset: int) -> bool:
    return bool(log.remaining(offset, offset + 1))


def spread(ranges: list[tuple[int, int]]) -> list[int]:
    """Ranges as numbers."""
    return sorted(at for low, high in ranges for at in range(low, high))


def counts_of(cluster_state: ClusterState, checker: Checker) -> dict[str, dict[tuple[str, str], list[int]]]:
    """The same terms by the ledger of the product."""
    ledger = checker.ledger
    found: dict[str, dict[tuple[str, str], list[int]]] = {}

    def put(term: str, client: str, partition: str, numbers: list[int]) -> None:
        if numbers:
            table = found.setdefault(term, {})
            table[client, partition] = sorted([*table.get((client, partition), []), *numbers])

    for told in ledger.deliveries.partition_deliveries():
        for term in ("sent", "acked", "failed", "unknown", "aborted", "pending"):
            put(term, told.client, told.partition, spread(getattr(told, term)))
        where = (told.client, told.partition)
        put("duplicates", *where, spread(ledger.repeats.duplicates_in(*where)))
        put("reordered", *where, spread(ledger.repeats.reordered_in(*where)))
        put("acked_lost", *where, spread(ledger.deletions.lost_in(*where, committed=False)))
        put("committed_lost", *where, spread(ledger.deletions.lost_in(*where, committed=True)))
    for partition in cluster_state.records:
        for term, intervals in (
            ("missing", ledger.missing_in(partition)),
            ("acked_lost", ledger.lost_in(partition)),
        ):
            for _log_branch, run in ledger._runs(partition, intervals):
                numbers = list(range(run.sequence, run.sequence + run.end - run.start))
                put(term, run.client, partition, numbers)
                if term == "acked_lost" and run.committed:
                    put("committed_lost", run.client, partition, numbers)
    return found


class Watch:
    """Holds both against each other after every event of a cluster, timed or stepped by hand."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.checker: Checker = cluster.checker
        self.plain = PlainLedger(cluster.cluster_state)
        self.compared = 0
        self._depth = 0
        """Findings of the checker are events, too, within the one that it is looking at."""
        self.most: dict[str, int] = {}
        """Term → the most records that it ever was about: a schedule in which nothing happens proves nothing."""
        checker = self.checker
        listeners = {kind: self._after(hear) for kind, hear in checker.handlers().items()}
        cluster.trace.set_observer(self._after(checker.observe), listeners)
        self.plain._look()

    def _after(self, hear: Callable[[Any], None]) -> Callable[[Any], None]:
        def both(event: TraceEvent) -> None:
            self._depth += 1
            hear(event)
            self._depth -= 1
            if not self._depth:
                self.plain.hear(event)
                self.compare(event)

        return both

    def compare(self, event: TraceEvent | None = None) -> None:
        """Every term, by client and partition, number by number."""
        self.compared += 1
        plain, real = self.plain.counts(anew=event is None), counts_of(self.cluster.cluster_state, self.checker)
        for term in sorted(plain.keys() | real.keys()):
            assert real.get(term, {}) == plain.get(term, {}), (term, event, real.get(term), plain.get(term))
            count = sum(map(len, plain.get(term, {}).values()))
            self.most[term] = max(self.most.get(term, 0), count)
        self._totals(plain, event)

    def _totals(self, plain: dict[str, dict[tuple[str, str], list[int]]], event: TraceEvent | None) -> None:
        query = self.cluster.query
        for term in ("missing", "acked_lost", "committed_lost", "duplicates", "reordered"):
            count = sum(map(len, plain.get(term, {}).values()))
            assert getattr(query, term)() == count, (term, event)
        assert self.checker.ledger.deliveries.contradicted == 0
