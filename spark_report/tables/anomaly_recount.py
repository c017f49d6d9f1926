"""Recount of client-side anomalies and the ledger from events, as one Spark query with a pass in plain Python.

Records are compared as sorted arrays of numbers: a *value* encodes a client and the number of its record, a
*place* encodes a log branch (``log_branch``) and an offset.
"""

import sys
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from spark_report.spark.by_value import rows_by_session
from spark_report.tables import result_recount
from spark_report.tables.result_recount import KINDS as NUMBER_KINDS
from spark_report.tables.result_recount import LAST, Event, ResultClaims, disagreements

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


# Writes and reads of clients at one partition, collected in a pass over a session's events.
#
# An event is a tuple of :data:`FIELDS`. A *process* is one life of a client. A *log branch* is what a broker writes
# as leader after one ``became_leader``; they are numbered by partition in the order of their first batches. A
# recreated partition is collected separately.


FIELDS: Final = (
    *("seq", "at_us", "kind", "partition", "broker", "node", "client", "group_id", "sequence", "count"),
    *("log_offset", "end_offset", "log_branch", "latency_us", "leader_epoch"),
)
"""Fields of an event, in the order of :class:`Event`; parts of the final read have the kind :data:`LAST`."""

COMMITTED: Final = "committed"
SUBSCRIBE: Final = "subscribe"
NOT_OURS: Final = "__"
"""Prefix of the names of internal topics."""

_OUTPUT: Final = ".output"
"""Suffix of a member's name for the producer of its output, which runs in the member's process."""
_MOVED: Final = frozenset(("partitions_assigned", "partitions_revoked", "partitions_lost"))
_ENDED: Final = frozenset(("transaction_committed", "transaction_aborted", "transaction_unknown"))
_FAILED: Final = frozenset(("records_failed", "records_aborted"))

KINDS: Final = (
    *("became_leader", "appended", "records_sent", "records_acked", "records_unknown", "records_read"),
    *("records_abandoned", "offsets_committed", "node_up", "partition_deleted", "transaction_begun"),
    *sorted(_MOVED | _ENDED | _FAILED),
)
"""Kinds of events that are used."""

Process = tuple[str, int]
"""A client, and the number of its life."""


class ReadJump(NamedTuple):
    """A step of a process from one offset of the log to another that is not the next."""

    anomaly: str
    client: str
    source: int
    target: int
    committed: bool
    """Whether it reads committed data only."""
    seq: int
    log_branches: tuple[int, int] | None = None
    """The oldest and the newest log branch that it read; None: all branches count."""


class SendRun(NamedTuple):
    """Records that a process sent consecutively and that are contiguous in the log; ``txn`` -1: no transaction."""

    sequence: int
    end: int
    offset: int
    txn: int
    seq: int


class PartitionObservations:
    """Writes, acknowledgements and reads of one partition."""

    def __init__(self) -> None:
        self.wrote: list[tuple[int, int, int, str, int]] = []
        """(log branch, offset, end, client, number of the first record), without records that have none."""
        self.sent: list[tuple[str, int, int, int]] = []
        """(client, number, end, highest acknowledged offset at that time)."""
        self.acked: list[tuple[str, int, int, int, int]] = []
        """(client, number, end, log branch, offset)."""
        self.failed: list[tuple[str, int, int]] = []
        self.unknown: list[tuple[Process, int, int, int, int]] = []
        """(process, number, end, transaction, seq)."""
        self.reads: list[tuple[Process, bool, int, int, int, int]] = []
        """(process, whether it uses group assignment, log branch, offset, end, seq)."""
        self.given_back: dict[Process, list[tuple[int, int, int]]] = {}
        """(offset, end, seq) each."""
        self.seen: list[tuple[int, int, int, int]] = []
        """(log branch, offset, end, seq), by a read or an acknowledgement."""
        self.last_read: list[tuple[int, int, int]] = []
        self.log_start: int | None = None
        """Log start offset at the final read; None without a final read."""
        self.steps: list[ReadJump] = []
        self.pieces: dict[Process, list[SendRun]] = {}
        self.high = -1
        self.regressions: dict[str, int] = {}
        self.begins: dict[int, int] = {}
        """Log branch → the first offset that it wrote."""
        self._at: dict[Process, tuple[int, int, int]] = {}
        """Process → position, number of its last poll, and log branch."""
        self._committed: dict[str, int] = {}

    def read(self, process: Process, poll: int, manner: str, event: tuple[Any, ...]) -> None:
        """Add records delivered to a process; records delivered at one time are one poll."""
        seq, offset, end, log_branch = event[0], event[10], event[11], event[12]
        position = self._at.get(process)
        if position is not None and position[0] != offset:
            inside = "int-" if position[1] == poll else ""
            anomaly = f"{inside}{'poll-skip' if offset > position[0] else 'nonmonotonic-poll'}"
            log_branches = (min(position[2], log_branch), log_branch)
            self.steps.append(
                ReadJump(anomaly, process[0], position[0] - 1, offset, COMMITTED in manner, seq, log_branches)
            )
        self._at[process] = (end, poll, log_branch)
        self.reads.append((process, manner.startswith(SUBSCRIBE), log_branch, offset, end, seq))
        self.seen.append((log_branch, offset, end, seq))

    def give_back(self, process: Process, offset: int, end: int, seq: int) -> None:
        """Add records that an application did not process and will read again, which is no anomaly."""
        self._at.pop(process, None)
        self.given_back.setdefault(process, []).append((offset, end, seq))

    def commit(self, group: str, client: str, offset: int) -> None:
        """Add an accepted commit of a group."""
        if offset < self._committed.get(group, -1):
            self.regressions[client] = self.regressions.get(client, 0) + 1
        self._committed[group] = offset


class _Partition:
    """All partitions of one name, in order: a recreated partition is a new one."""

    def __init__(self) -> None:
        self.observations = [PartitionObservations()]
        self.log_branches = 0
        self.first = 0
        """The first log branch of the current partition of this name."""
        self.writing: dict[int, int] = {}
        """Broker → its log branch, after its first append."""


class HistoryCollector:
    """Collects the writes and reads of a session, event by event."""

    def __init__(self, readers: Mapping[str, str]) -> None:
        """Take the mode of reading of each group's members."""
        self._readers = readers
        self._partitions: dict[str, _Partition] = {}
        self._lives: dict[str, int] = {}
        self._polls: dict[str, tuple[int, int]] = {}
        """Client → time and number of its current poll."""
        self._txns: dict[str, int] = {}
        self._number = 0

    def take(self, events: Iterable[tuple[Any, ...]]) -> None:
        """Process events, in the order of their sequence numbers."""
        for event in events:
            kind, partition = event[2], event[3]
            if kind == "node_up":
                self._up(event)
            elif kind in _MOVED:
                self._polls.pop(event[6], None)
            elif kind == "transaction_begun":
                self._number += 1
                self._txns[event[6]] = self._number
            elif kind in _ENDED:
                self._txns.pop(event[6], None)
            elif partition and not partition.startswith(NOT_OURS):
                own = self._partitions.get(partition)
                if own is None:
                    own = self._partitions[partition] = _Partition()
                self._of_partition(kind, own, event)

    def observations(self) -> Iterable[tuple[str, list[PartitionObservations]]]:
        """Return the partition names, each with all its partitions; the last one is the current."""
        return [(name, own.observations) for name, own in sorted(self._partitions.items())]

    def _of_partition(self, kind: str, own: _Partition, event: tuple[Any, ...]) -> None:
        observations = own.observations[-1]
        if kind == "records_read":
            self._read(own, event)
        elif kind == "records_abandoned":
            self._polls.pop(event[6], None)
            observations.give_back(self._process(event[6]), event[10], event[10] + event[9], event[0])
        elif kind == "offsets_committed":
            observations.commit(event[7], event[6], event[10])
        elif kind == "became_leader":
            own.writing.pop(event[4], None)
        elif kind == "appended":
            self._appended(own, event)
        elif kind == "partition_deleted":
            own.observations.append(PartitionObservations())
            own.first = own.log_branches
        elif kind == LAST:
            observations.log_start = event[9]
            if event[12] >= 0:
                observations.last_read.append((event[12], event[10], event[11]))
        elif event[8] is not None and event[8] >= 0:
            self._add_produced(kind, own, event)

    def _read(self, own: _Partition, event: tuple[Any, ...]) -> None:
        client, now = event[6], event[1]
        at, poll = self._polls.get(client, (-1, 0))
        if at != now:
            self._number += 1
            poll = self._number
            self._polls[client] = (now, poll)
        if event[12] >= own.first:
            own.observations[-1].read(self._process(client), poll, self._readers.get(event[7], ""), event)

    def _appended(self, own: _Partition, event: tuple[Any, ...]) -> None:
        log_branch = own.writing.get(event[4])
        if log_branch is None:
            log_branch = own.writing[event[4]] = own.log_branches
            own.log_branches += 1
            own.observations[-1].begins[log_branch] = event[10]
        if event[8] is not None and event[8] >= 0:
            own.observations[-1].wrote.append((log_branch, event[10], event[10] + event[9], event[6], event[8]))

    def _add_produced(self, kind: str, own: _Partition, event: tuple[Any, ...]) -> None:
        """Add records that a producer sent, or their outcome."""
        observations, client, sequence, count = own.observations[-1], event[6], event[8], event[9]
        end, txn = sequence + count, self._txns.get(client, -1)
        if kind == "records_sent":
            observations.sent.append((client, sequence, end, observations.high))
        elif kind in _FAILED:
            observations.failed.append((client, sequence, end))
        elif kind == "records_unknown":
            observations.unknown.append((self._process(client), sequence, end, txn, event[0]))
        elif kind == "records_acked" and (event[12] is None or not 0 <= event[12] < own.first):
            log_branch, offset = -1 if event[12] is None else event[12], -1 if event[10] is None else event[10]
            observations.acked.append((client, sequence, end, log_branch, offset))
            if log_branch >= 0 and offset >= 0:
                observations.seen.append((log_branch, offset, offset + count, event[0]))
                observations.pieces.setdefault(self._process(client), []).append(
                    SendRun(sequence, end, offset, txn, event[0])
                )
                observations.high = max(observations.high, offset + count - 1)

    def _up(self, event: tuple[Any, ...]) -> None:
        """Start a new life of a client's process."""
        if event[4] is None or event[4] < 0:
            for client in (event[5], f"{event[5]}{_OUTPUT}"):
                self._lives[client] = self._lives.get(client, 0) + 1
                self._polls.pop(client, None)
                self._txns.pop(client, None)

    def _process(self, client: str) -> Process:
        return client, self._lives.get(client, 0)


Found = Counter[tuple[str, str]]
"""(anomaly, client) → count."""
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

RECOUNTED: Final = (
    *("inconsistent-offsets", "duplicate", "lost-write", "unseen", "G1a", "phantom", "realtime-order"),
    *("int-nonmonotonic-poll", "int-poll-skip", "nonmonotonic-poll", "poll-skip"),
    *("int-nonmonotonic-send", "int-send-skip", "nonmonotonic-send", "consume-dup", "commit-regression"),
)
"""The anomalies that are recounted; the others need cycles over all transactions, or measure time."""

_AT_THE_END: Final = 1 << 62
_SHIFT: Final = 40
_LOW: Final = (1 << _SHIFT) - 1


class AnomalyFinder:
    """Finds the anomalies of one partition."""

    def __init__(
        self, observations: PartitionObservations, sent: Sequence[tuple[str, int, int]], *, last: bool
    ) -> None:
        """Take all records ever sent to the partition's name; ``last``: it existed to the end of the session."""
        self._observations = observations
        self._last = last
        self._clients: dict[str, int] = {}
        self._sent, times = np.unique(self._values(sent), return_counts=True)
        self._again = self._sent[times > 1]
        self._failed = np.unique(self._values(observations.failed))
        places, values = self._written()
        order = np.argsort(places, kind="stable")
        self._places, self._held = places[order], values[order]
        ends = [(log_branch, start, end) for log_branch, start, end, _seq in observations.seen]
        seen = self._seen([*ends, *observations.last_read])
        self.found: Found = Counter()
        self._log_offsets, self._log_values = _distinct(seen[0] & _LOW, seen[1])
        seqs = [seq for *_range, seq in observations.seen]
        self._all = (seen[0], seen[1], np.array(seqs + [_AT_THE_END] * len(observations.last_read), np.int64)[seen[2]])
        self._newest = _newest(*self._all)
        self._log_branches = len(np.unique(seen[0] >> _SHIFT))
        self._read = np.unique(self._handed()[1])
        self._bounds()

    def judge(self) -> Found:
        """Return the anomalies found."""
        self.found.update(
            {("commit-regression", client): count for client, count in self._observations.regressions.items()}
        )
        self._of_values()
        if self._last:
            self._at_the_end()
        self._realtime_order()
        self._steps(self._observations.steps)
        self._send_order()
        self._consumed_twice()
        return +self.found

    # -- positions of values

    def _code(self, client: str) -> int:
        return self._clients.setdefault(client, len(self._clients))

    def _values(self, ranges: Iterable[tuple[str, int, int]]) -> Numbers:
        """Return the values of ranges ``(client, number, end)``, in this order."""
        return _spread([(self._code(client), start, end) for client, start, end in ranges])[0]

    def _written(self) -> tuple[Numbers, Numbers]:
        wrote = self._observations.wrote
        places = _spread([(log_branch, start, end) for log_branch, start, end, _client, _first in wrote])[0]
        return places, self._values(
            (client, first, first + end - start) for _log_branch, start, end, client, first in wrote
        )

    def _seen(self, ranges: Sequence[tuple[int, int, int]]) -> tuple[Numbers, Numbers, Numbers]:
        """Return the places in ranges that have values, these values, and the range of each."""
        wanted, which = _spread(ranges)
        if not len(self._places):
            return _NONE, _NONE, _NONE
        at = np.minimum(np.searchsorted(self._places, wanted), len(self._places) - 1)
        there = self._places[at] == wanted
        return wanted[there], self._held[at[there]], which[there]

    def _handed(self) -> tuple[Numbers, Numbers, Numbers]:
        reads = [(log_branch, start, end) for _who, _group, log_branch, start, end, _seq in self._observations.reads]
        return self._seen([*reads, *self._observations.last_read])

    def _bounds(self) -> None:
        """Compute the values of the log, ascending, with their first and last offsets, and their numbers."""
        order = np.lexsort((self._log_offsets, self._log_values))
        values, offsets = self._log_values[order], self._log_offsets[order]
        self._known, begin, self._stands = np.unique(values, return_index=True, return_counts=True)
        self._first = offsets[begin]
        self._top = offsets[begin + self._stands - 1]

    def _tell(self, anomaly: str, values: Numbers) -> None:
        names = list(self._clients)
        codes, counts = np.unique(values >> _SHIFT, return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            self.found[anomaly, names[code]] += count

    # -- anomalies of values

    def _of_values(self) -> None:
        self._tell("duplicate", self._known[self._stands > 1])
        self._tell("phantom", self._known[~_among(self._known, self._sent)])
        aborted = self._failed[_among(self._failed, self._read) & ~_among(self._failed, self._again)]
        self._tell("G1a", aborted)
        _offsets, held = np.unique(self._log_offsets, return_counts=True)
        self.found["inconsistent-offsets", ""] += int((held > 1).sum())

    def _at_the_end(self) -> None:
        """Find anomalies that need the final read, not below the log start offset at that time."""
        start = self._observations.log_start
        if start is None:
            return
        ok = np.unique(
            self._values((client, first, end) for client, first, end, _log_branch, _at in self._observations.acked)
        )
        unread = ok[~_among(ok, self._read)]
        below = self._known[self._first < start]
        self._tell("unseen", unread[~_among(unread, below)])
        read = _among(self._known, self._read)
        if read.any():
            bound = self._first[read].max()
            lost = ~read & (self._top <= bound) & (self._top >= start) & _among(self._known, ok)
            self._tell("lost-write", self._known[lost])

    def _realtime_order(self) -> None:
        """Find values acknowledged at an offset not above one that was acknowledged before they were sent."""
        observations = self._observations
        values, which = _spread([(self._code(client), first, end) for client, first, end, _high in observations.sent])
        acked = [each for each in observations.acked if each[3] >= 0 and each[4] >= 0]
        acked_values, of_ack = _spread(
            [(self._code(client), first, end) for client, first, end, _log_branch, _at in acked]
        )
        if not len(values) or not len(acked_values):
            return
        highs = np.array([high for *_sent, high in observations.sent], np.int64)[which]
        # If a record was sent again with the same number, the last time counts.
        order = np.argsort(values, kind="stable")
        values, highs = values[order], highs[order]
        at = np.searchsorted(values, acked_values, side="right") - 1
        known = (at >= 0) & (values[np.maximum(at, 0)] == acked_values)
        shifts = np.array([offset - first for _client, first, _end, _log_branch, offset in acked], np.int64)[of_ack]
        late = known & ((acked_values & _LOW) + shifts <= highs[np.maximum(at, 0)])
        self._tell("realtime-order", acked_values[late])

    # -- the order of reading and of sending

    def _steps(self, steps: Iterable[ReadJump]) -> None:
        """Find steps back, and steps over values that were seen.

        A reader of committed data does not miss failed records. A deleted partition cannot be read any more, so records
        with an unknown outcome stay unknown.
        """
        for step in steps:
            if step.target <= step.source:
                self.found[step.anomaly, step.client] += 1
                continue
            offsets, values, seqs = self._newest if self._log_branches < 2 else self._log_of(step)
            low, high = np.searchsorted(offsets, [step.source + 1, step.target])
            between = ~_among(values[low:high], self._failed) if step.committed else np.ones(high - low, bool)
            if not self._last:
                between = between & (seqs[low:high] < step.seq) & (not step.committed)
            self.found[step.anomaly, step.client] += bool(between.any())

    def _log_of(self, step: ReadJump) -> tuple[Numbers, Numbers, Numbers]:
        """Return the seen part of the log that a step skips, of the log branches between its ends.

        From the start of the newest branch on, only that branch counts.
        """
        if step.log_branches is None:
            return self._newest
        oldest, newest = step.log_branches
        places, values, seqs = self._all
        log_branches, offsets = places >> _SHIFT, places & _LOW
        near = (step.source < offsets) & (offsets < step.target) & (oldest <= log_branches) & (log_branches <= newest)
        near &= (log_branches == newest) | (offsets < self._observations.begins.get(newest, _LOW))
        return _newest(places[near], values[near], seqs[near])

    def _send_order(self) -> None:
        """Compare records of a process with those sent directly before them, without failed ones between."""
        chains: dict[Process, list[SendRun]] = {}
        untold = self._observations.unknown if self._last else ()
        found = ((process, self._untold(process, *sent)) for process, *sent in untold)
        for process, pieces in (*self._observations.pieces.items(), *found):
            for piece in pieces:
                _insert(chains.setdefault(process, []), piece)
        for (client, _life), chain in chains.items():
            for one, other in pairwise(chain):
                if one.end < other.sequence and not self._all_failed(client, one.end, other.sequence):
                    continue
                inside = one.txn == other.txn >= 0
                last = one.offset + one.end - one.sequence - 1
                if other.offset <= last:
                    self.found[f"{'int-' if inside else ''}nonmonotonic-send", client] += 1
                elif inside and other.offset > last + 1:
                    self._steps([ReadJump("int-send-skip", client, last, other.offset, False, other.seq)])

    def _all_failed(self, client: str, start: int, end: int) -> bool:
        """Return whether all records between two record numbers failed."""
        if not self._last or end - start > len(self._failed):
            return False
        between = np.arange(start, end) + (self._code(client) << _SHIFT)
        return bool(_among(between, self._failed).all())

    def _untold(self, process: Process, start: int, end: int, txn: int, seq: int) -> list[SendRun]:
        """Return the log positions of records with an unknown outcome."""
        base = self._code(process[0]) << _SHIFT
        low, high = np.searchsorted(self._known, [base + start, base + end])
        numbers = (self._known[low:high] - base).tolist()
        return [
            SendRun(number, number + 1, offset, txn, seq)
            for number, offset in zip(numbers, self._top[low:high].tolist(), strict=True)
        ]

    def _consumed_twice(self) -> None:
        """Find values delivered twice to a process of a group, unless it requested them again."""
        by_process: dict[Process, list[tuple[int, int, int, int]]] = {}
        for process, grouped, log_branch, start, end, seq in self._observations.reads:
            if grouped:
                by_process.setdefault(process, []).append((log_branch, start, end, seq))
        for process, reads in by_process.items():
            places, values, which = self._seen([each[:3] for each in reads])
            seqs = np.array([seq for *_range, seq in reads], np.int64)[which]
            order = np.lexsort((seqs, places))
            places, values, seqs = places[order], values[order], seqs[order]
            repeated = places[1:] == places[:-1]
            last = np.append(~repeated, True)[: len(places)]
            for start, end, when in self._observations.given_back.get(process, ()):
                inside = ((places & _LOW) >= start) & ((places & _LOW) < end)
                repeated &= ~(inside[1:] & (seqs[:-1] < when) & (when < seqs[1:]))
                last &= ~(inside & (seqs < when))
            distinct, times = np.unique(values[last], return_counts=True)
            twice = np.union1d(values[1:][repeated], distinct[times > 1])
            self.found["consume-dup", process[0]] += len(twice)


_NONE: Final[Numbers] = np.zeros(0, np.int64)


def _spread(ranges: Iterable[tuple[int, int, int]]) -> tuple[Numbers, Numbers]:
    """Return every number of ranges ``(key, start, end)``, encoded with its key, and its range's index."""
    keys, starts, ends = np.array(list(ranges), np.int64).reshape(-1, 3).T
    sizes = np.maximum(ends - starts, 0)
    which = np.repeat(np.arange(len(sizes)), sizes)
    inside = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return (keys[which] << _SHIFT) + starts[which] + inside, which


def _among(values: Numbers, ascending: Numbers) -> Flags:
    if not len(ascending):
        return np.zeros(len(values), bool)
    at = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    found: Flags = ascending[at] == values
    return found


def _distinct(offsets: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct pairs of offsets and values."""
    order = np.lexsort((values, offsets))
    offsets, values = offsets[order], values[order]
    new = np.ones(len(offsets), bool)
    new[1:] = (offsets[1:] != offsets[:-1]) | (values[1:] != values[:-1])
    return offsets[new], values[new]


def _newest(places: Numbers, values: Numbers, seqs: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return each offset once, with the value of the newest log branch, and the first time that it was seen."""
    order = np.lexsort((places >> _SHIFT, places & _LOW))
    offsets = places[order] & _LOW
    if not len(offsets):
        return _NONE, _NONE, _NONE
    begins = np.flatnonzero(np.append(True, offsets[1:] != offsets[:-1]))
    ends = np.append(begins[1:], len(offsets)) - 1
    times = seqs[order]
    return offsets[begins], values[order][ends], np.minimum.reduceat(times, begins)


def _insert(chain: list[SendRun], piece: SendRun) -> None:
    """Insert a piece in order; one that overlaps others, because it was sent again, is left out."""
    at = bisect(chain, piece)
    if at and chain[at - 1].end > piece.sequence:
        return
    if at < len(chain) and chain[at].sequence < piece.end:
        return
    chain.insert(at, piece)


def _size(observations: PartitionObservations) -> int:
    """Return the number of records to compare."""
    ranges = [(first, end) for _client, first, end, _high in observations.sent]
    ranges += [(first, end) for _client, first, end, _log_branch, _offset in observations.acked]
    ranges += [(first, end) for _client, first, end in observations.failed]
    ranges += [(start, end) for _log_branch, start, end, _client, _first in observations.wrote]
    ranges += [(start, end) for _log_branch, start, end, _seq in observations.seen]
    ranges += [(start, end) for _log_branch, start, end in observations.last_read]
    return sum(abs(end - start) for start, end in ranges)


def judged(partition: list[PartitionObservations], limit: int) -> Found:
    """Return the anomalies of all partitions of one name.

    Raises:
        ValueError: there are more records than ``limit``.
    """
    counts: Found = Counter()
    sent: list[tuple[str, int, int]] = []
    for current in partition:
        if _size(current) > limit:
            raise ValueError("too many records")
        sent += [(client, first, end) for client, first, end, _high in current.sent]
        counts.update(AnomalyFinder(current, sent, last=current is partition[-1]).judge())
    return counts


# The recount as one query: a session's events to one pass in plain Python, its findings back as rows.
#
# All other queries use Spark's built-ins. Here every event depends on the state of a session: with windows and joins
# the plan had some fifty sorts, and took longer to make than to run. Modules are sent to executors by value, so that
# their Python needs pyarrow and numpy, but no floodmark.


RECOUNT_TABLES: Final = ("anomalies", "disagreements", "left_out")
MOST_EVENTS: Final = 3_000_000
"""Most events of a session that is recounted, because one task has all of them in memory."""
MOST_RECORDS: Final = 50_000_000
"""Most records of a partition that is recounted."""

IN_LEDGER: Final = "in ledger"
"""Kind of a row of ``ledger.parquet``; its ``node`` is the term."""
TERMS: Final[dict[str, str]] = {
    **{f"records_{term}": term for term in ("sent", "acked", "failed", "unknown", "aborted")},
    "records_lost": "acked_lost",
}
"""Kind of event → term of the ledger that it increments."""

SCHEMA: Final = (
    "finding string, session_id string, anomaly string, partition string, client string, found bigint, "
    "source string, name string, reported bigint, table string, left_out bigint"
)
_NUMBERS: Final = frozenset(
    (
        "seq",
        "at_us",
        "broker",
        "sequence",
        "count",
        "log_offset",
        "end_offset",
        "log_branch",
        "latency_us",
        "leader_epoch",
    ),
)
_BROKEN: Final = (ArithmeticError, MemoryError, ValueError)
"""Exceptions from numbers in a recording that cannot be true."""


class SessionClaims(NamedTuple):
    """Values of a session's own result that are compared with its events."""

    readers: Mapping[str, str]
    """Group → its members' mode of reading."""
    anomalies: Mapping[str, int] | None
    """Anomaly → count in its result; None if the recording lacks data to recount them."""
    ledger: bool
    """Whether it has a table of its records."""
    clients: bool = True
    """Whether it has clients; manual steps have none, and so no anomalies."""
    claims: ResultClaims = ResultClaims()
    """Numbers of its result that are recounted."""


def recounted(
    events: "DataFrame", last_reads: "DataFrame", ledgers: "DataFrame", claims: Mapping[str, SessionClaims]
) -> "DataFrame":
    """Return the rows of the tables :data:`RECOUNT_TABLES`; ``claims`` has the sessions to recount."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - executors do not need it

    none = {name: F.lit(-1 if name in _NUMBERS else "").alias(name) for name in FIELDS}
    whole = [F.coalesce(name, none[name]).alias(name) for name in FIELDS]
    relevant = events.filter(F.col("kind").isin(*KINDS, *TERMS, *NUMBER_KINDS)).select("session_id", *whole)
    last = last_reads.select(
        "session_id",
        *(none[name] for name in FIELDS[:2]),
        F.lit(LAST).alias("kind"),
        "partition",
        *(none[name] for name in FIELDS[4:9]),
        F.col("log_start").alias("count"),
        *("log_offset", "end_offset", "log_branch"),
        none["latency_us"],
        none["leader_epoch"],
    )
    lost = F.when(F.col("location") == "lost", F.lit("acked_lost"))
    outcome = F.when(F.col("outcome") != "sent", F.col("outcome"))
    terms = F.array_compact(F.array(F.lit("sent"), outcome, lost))
    kept = ledgers.select(
        "session_id",
        *(none[name] for name in FIELDS[:2]),
        F.lit(IN_LEDGER).alias("kind"),
        "partition",
        none["broker"],
        F.explode(terms).alias("node"),
        *(none[name] for name in FIELDS[6:9]),
        F.col("records").alias("count"),
        *(none[name] for name in FIELDS[10:]),
    )
    rows = relevant.unionByName(last).unionByName(kept).filter(F.col("session_id").isin(*claims))
    claims_by_session = dict(claims)

    def find(session_id: str, table: "pa.Table") -> list[dict[str, Any]]:
        order = table.select(list(FIELDS)).sort_by("seq")
        events = list(zip(*(order[name].to_pylist() for name in FIELDS), strict=True))
        return of_events(events, claims_by_session[session_id])

    return rows_by_session(rows, find, SCHEMA, sys.modules[__name__], result_recount)


def of_events(events: Sequence[tuple[Any, ...]], claims: SessionClaims) -> list[dict[str, Any]]:
    """Return the rows of one session, whose events are tuples of :data:`FIELDS`."""
    disagreements = _ledger(events) if claims.ledger else []
    if not claims.clients:
        return disagreements
    disagreements += _numbers(events, claims.claims)
    try:
        again = anomalies((event for event in events if event[2] in KINDS or event[2] == LAST), claims.readers)
    except _BROKEN:
        return [*disagreements, {"finding": "left_out", "table": "anomalies"}]
    totals: Counter[str] = Counter()
    for (anomaly, partition, client), count in sorted(again.items()):
        totals[anomaly] += count
        row = {"anomaly": anomaly, "partition": partition, "client": client, "found": count}
        disagreements.append({"finding": "anomalies", **row})
    if claims.anomalies is not None:
        claimed = {name: claims.anomalies.get(name, 0) for name in RECOUNTED}
        disagreements += _otherwise("result.json", "", totals, claimed)
    return disagreements


def _numbers(events: Iterable[tuple[Any, ...]], claims: ResultClaims) -> list[dict[str, Any]]:
    """Return the numbers in which a result, or an event, differs from the recount."""
    if not claims.numbers:
        return []
    kinds = frozenset((*NUMBER_KINDS, LAST))
    walk = [Event(*event) for event in events if event[2] in kinds and not event[3].startswith(NOT_OURS)]
    walk.sort(key=lambda event: event.kind == LAST)  # it has no number of its own
    return [{"finding": "disagreements", **each._asdict()} for each in disagreements(walk, claims)]


def anomalies(events: Iterable[tuple[Any, ...]], readers: Mapping[str, str]) -> Counter[tuple[str, str, str]]:
    """Return (anomaly, partition, client) → count. Raises ValueError if there are too many records."""
    walk = HistoryCollector(readers)
    whole = list(events)
    walk.take(event for event in whole if event[2] != LAST)
    # It has no number of its own.
    walk.take(event for event in whole if event[2] == LAST)
    found: Counter[tuple[str, str, str]] = Counter()
    for partition, own in walk.observations():
        for (anomaly, client), count in judged(own, MOST_RECORDS).items():
            found[anomaly, partition, client] += count
    return found


def _ledger(events: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Return the sums in which the table of records differs from the events."""
    counted: Counter[tuple[str, str]] = Counter()
    recorded: Counter[tuple[str, str]] = Counter()
    for event in events:
        if event[2] == IN_LEDGER:
            recorded[event[3], event[5]] += event[9]
        elif event[2] in TERMS:
            counted[event[3], TERMS[event[2]]] += event[9]
    rows = []
    for partition in sorted({partition for partition, _term in counted | recorded}):
        found, said = ({term: sums[partition, term] for term in TERMS.values()} for sums in (counted, recorded))
        rows += _otherwise("ledger.parquet", partition, found, said)
    return rows


def _otherwise(
    source: str, partition: str, recounted: Mapping[str, int], reported: Mapping[str, int]
) -> list[dict[str, Any]]:
    return [
        {
            "finding": "disagreements",
            "source": source,
            "partition": partition,
            "name": name,
            "found": recounted.get(name, 0),
            "reported": reported.get(name, 0),
        }
        for name in dict.fromkeys((*recounted, *reported))
        if recounted.get(name, 0) != reported.get(name, 0)
    ]
