"""Recounts client-side anomalies and the ledger from events, as one Spark query of a walk in plain Python.

Everything is held against everything else record by record, as sorted arrays of numbers: a *value*, a client's record
by its number, is one, and so is a *place*, an offset of a stint.
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


# What clients were told and read of one partition, collected in a walk over a session's events.
#
# An event is a tuple of :data:`FIELDS`. A *process* is one life of a client; a *stint* is one broker leading from one
# ``became_leader`` on, as long as it writes, numbered by partition in the order of their first batches. A partition
# that is made anew under its name has books of its own.


FIELDS: Final = (
    *("seq", "at_us", "kind", "partition", "broker", "node", "client", "group_id", "sequence", "count"),
    *("log_offset", "end_offset", "stint", "latency_us", "leader_epoch"),
)
"""What is known of an event, in the order of :class:`Event`; parts of the read at the end are of kind :data:`LAST`."""

COMMITTED: Final = "committed"
SUBSCRIBE: Final = "subscribe"
NOT_OURS: Final = "__"
"""How the names of partitions begin that are Kafka's own."""

_OUTPUT: Final = ".output"
"""Behind a member's name: the producer that writes what it reads. It lives and dies with it."""
_MOVED: Final = frozenset(("partitions_assigned", "partitions_revoked", "partitions_lost"))
_ENDED: Final = frozenset(("transaction_committed", "transaction_aborted", "transaction_unknown"))
_FAILED: Final = frozenset(("records_failed", "records_aborted"))

KINDS: Final = (
    *("became_leader", "appended", "records_sent", "records_acked", "records_unknown", "records_read"),
    *("records_abandoned", "offsets_committed", "node_up", "partition_deleted", "transaction_begun"),
    *sorted(_MOVED | _ENDED | _FAILED),
)
"""Kinds of events that histories are told by."""

Process = tuple[str, int]
"""A client, and which of its lives."""


class ReadJump(NamedTuple):
    """A process went from one offset of the log to another that is not the next."""

    anomaly: str
    client: str
    source: int
    target: int
    committed: bool
    """Whether it is handed committed data only."""
    seq: int
    stints: tuple[int, int] | None = None
    """The oldest and the newest stint of the log that it read; None: whatever was seen there counts."""


class SendRun(NamedTuple):
    """Records that a process sent in a row, which stand in a row; ``txn`` -1: outside of any transaction."""

    sequence: int
    end: int
    offset: int
    txn: int
    seq: int


class PartitionReads:
    """A partition's."""

    def __init__(self) -> None:
        self.wrote: list[tuple[int, int, int, str, int]] = []
        """(stint, offset, end, client, number of the first record); what has no number is left out."""
        self.sent: list[tuple[str, int, int, int]] = []
        """(client, number, end, highest offset that anybody had been told of by then)."""
        self.acked: list[tuple[str, int, int, int, int]] = []
        """(client, number, end, stint, offset)."""
        self.failed: list[tuple[str, int, int]] = []
        self.unknown: list[tuple[Process, int, int, int, int]] = []
        """(process, number, end, transaction, seq)."""
        self.reads: list[tuple[Process, bool, int, int, int, int]] = []
        """(process, whether it goes by its group, stint, offset, end, seq)."""
        self.given_back: dict[Process, list[tuple[int, int, int]]] = {}
        """(offset, end, seq) each."""
        self.seen: list[tuple[int, int, int, int]] = []
        """(stint, offset, end, seq), by a read or an acknowledgement."""
        self.last_read: list[tuple[int, int, int]] = []
        self.log_start: int | None = None
        """Where the log begins at the end; None: nobody has read it to its end."""
        self.steps: list[ReadJump] = []
        self.pieces: dict[Process, list[SendRun]] = {}
        self.high = -1
        self.regressions: dict[str, int] = {}
        self.begins: dict[int, int] = {}
        """Stint → the first offset that it wrote."""
        self._at: dict[Process, tuple[int, int, int]] = {}
        """Process → offset behind the last record handed, in which poll, and of which stint."""
        self._committed: dict[str, int] = {}

    def read(self, process: Process, poll: int, manner: str, event: tuple[Any, ...]) -> None:
        """A process was handed records; a poll is what it was handed at one instant."""
        seq, offset, end, stint = event[0], event[10], event[11], event[12]
        known = self._at.get(process)
        if known is not None and known[0] != offset:
            inside = "int-" if known[1] == poll else ""
            anomaly = f"{inside}{'poll-skip' if offset > known[0] else 'nonmonotonic-poll'}"
            stints = (min(known[2], stint), stint)
            self.steps.append(ReadJump(anomaly, process[0], known[0] - 1, offset, COMMITTED in manner, seq, stints))
        self._at[process] = (end, poll, stint)
        self.reads.append((process, manner.startswith(SUBSCRIBE), stint, offset, end, seq))
        self.seen.append((stint, offset, end, seq))

    def give_back(self, process: Process, offset: int, end: int, seq: int) -> None:
        """Its application has not processed these, and asks for them again: it has gone elsewhere by itself."""
        self._at.pop(process, None)
        self.given_back.setdefault(process, []).append((offset, end, seq))

    def commit(self, group: str, client: str, offset: int) -> None:
        """A commit of a group was accepted."""
        if offset < self._committed.get(group, -1):
            self.regressions[client] = self.regressions.get(client, 0) + 1
        self._committed[group] = offset


class _Partition:
    """A name, and the books of all partitions that bore it."""

    def __init__(self) -> None:
        self.books = [PartitionReads()]
        self.stints = 0
        self.first = 0
        """The first stint of the one that bears it now."""
        self.writing: dict[int, int] = {}
        """Broker → its stint, once it has written."""


class EventWalk:
    """Writes the books of a session, event by event."""

    def __init__(self, readers: Mapping[str, str]) -> None:
        """``readers`` tells how the members of each group read."""
        self._readers = readers
        self._partitions: dict[str, _Partition] = {}
        self._lives: dict[str, int] = {}
        self._polls: dict[str, tuple[int, int]] = {}
        """Client → when its poll at hand was, and its number."""
        self._txns: dict[str, int] = {}
        self._number = 0

    def take(self, events: Iterable[tuple[Any, ...]]) -> None:
        """Walk over events, in the order of their numbers."""
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

    def books(self) -> Iterable[tuple[str, list[PartitionReads]]]:
        """The partitions, each with its books; the last ones are of what bears the name in the end."""
        return [(name, own.books) for name, own in sorted(self._partitions.items())]

    def _of_partition(self, kind: str, own: _Partition, event: tuple[Any, ...]) -> None:
        books = own.books[-1]
        if kind == "records_read":
            self._read(own, event)
        elif kind == "records_abandoned":
            self._polls.pop(event[6], None)
            books.give_back(self._process(event[6]), event[10], event[10] + event[9], event[0])
        elif kind == "offsets_committed":
            books.commit(event[7], event[6], event[10])
        elif kind == "became_leader":
            own.writing.pop(event[4], None)
        elif kind == "appended":
            self._appended(own, event)
        elif kind == "partition_deleted":
            own.books.append(PartitionReads())
            own.first = own.stints
        elif kind == LAST:
            books.log_start = event[9]
            if event[12] >= 0:
                books.last_read.append((event[12], event[10], event[11]))
        elif event[8] is not None and event[8] >= 0:
            self._told(kind, own, event)

    def _read(self, own: _Partition, event: tuple[Any, ...]) -> None:
        client, now = event[6], event[1]
        at, poll = self._polls.get(client, (-1, 0))
        if at != now:
            self._number += 1
            poll = self._number
            self._polls[client] = (now, poll)
        if event[12] >= own.first:
            own.books[-1].read(self._process(client), poll, self._readers.get(event[7], ""), event)

    def _appended(self, own: _Partition, event: tuple[Any, ...]) -> None:
        stint = own.writing.get(event[4])
        if stint is None:
            stint = own.writing[event[4]] = own.stints
            own.stints += 1
            own.books[-1].begins[stint] = event[10]
        if event[8] is not None and event[8] >= 0:
            own.books[-1].wrote.append((stint, event[10], event[10] + event[9], event[6], event[8]))

    def _told(self, kind: str, own: _Partition, event: tuple[Any, ...]) -> None:
        """A producer sends records, or is told what became of them."""
        books, client, sequence, count = own.books[-1], event[6], event[8], event[9]
        end, txn = sequence + count, self._txns.get(client, -1)
        if kind == "records_sent":
            books.sent.append((client, sequence, end, books.high))
        elif kind in _FAILED:
            books.failed.append((client, sequence, end))
        elif kind == "records_unknown":
            books.unknown.append((self._process(client), sequence, end, txn, event[0]))
        elif kind == "records_acked" and (event[12] is None or not 0 <= event[12] < own.first):
            stint, offset = -1 if event[12] is None else event[12], -1 if event[10] is None else event[10]
            books.acked.append((client, sequence, end, stint, offset))
            if stint >= 0 and offset >= 0:
                books.seen.append((stint, offset, offset + count, event[0]))
                books.pieces.setdefault(self._process(client), []).append(SendRun(sequence, end, offset, txn, event[0]))
                books.high = max(books.high, offset + count - 1)

    def _up(self, event: tuple[Any, ...]) -> None:
        """A client's process starts once more."""
        if event[4] is None or event[4] < 0:
            for client in (event[5], f"{event[5]}{_OUTPUT}"):
                self._lives[client] = self._lives.get(client, 0) + 1
                self._polls.pop(client, None)
                self._txns.pop(client, None)

    def _process(self, client: str) -> Process:
        return client, self._lives.get(client, 0)


Found = Counter[tuple[str, str]]
"""(anomaly, client) → how often."""
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

RECOUNTED: Final = (
    *("inconsistent-offsets", "duplicate", "lost-write", "unseen", "G1a", "phantom", "realtime-order"),
    *("int-nonmonotonic-poll", "int-poll-skip", "nonmonotonic-poll", "poll-skip"),
    *("int-nonmonotonic-send", "int-send-skip", "nonmonotonic-send", "consume-dup", "commit-regression"),
)
"""The anomalies that are counted again; the others need circles over all transactions, or are a measure of time."""

_AT_THE_END: Final = 1 << 62
_SHIFT: Final = 40
_LOW: Final = (1 << _SHIFT) - 1


class Judge:
    """Holds the books of one partition against each other."""

    def __init__(self, books: PartitionReads, sent: Sequence[tuple[str, int, int]], *, last: bool) -> None:
        """``sent`` is all that was ever sent under the partition's name; ``last``: it was there to the end."""
        self._books = books
        self._last = last
        self._clients: dict[str, int] = {}
        self._sent, times = np.unique(self._values(sent), return_counts=True)
        self._again = self._sent[times > 1]
        self._failed = np.unique(self._values(books.failed))
        places, values = self._written()
        order = np.argsort(places, kind="stable")
        self._places, self._held = places[order], values[order]
        ends = [(stint, start, end) for stint, start, end, _seq in books.seen]
        seen = self._seen([*ends, *books.last_read])
        self.found: Found = Counter()
        self._log_offsets, self._log_values = _distinct(seen[0] & _LOW, seen[1])
        seqs = [seq for *_range, seq in books.seen]
        self._all = (seen[0], seen[1], np.array(seqs + [_AT_THE_END] * len(books.last_read), np.int64)[seen[2]])
        self._newest = _newest(*self._all)
        self._stints = len(np.unique(seen[0] >> _SHIFT))
        self._read = np.unique(self._handed()[1])
        self._bounds()

    def judge(self) -> Found:
        """Everything that is in these books."""
        self.found.update({("commit-regression", client): count for client, count in self._books.regressions.items()})
        self._of_values()
        if self._last:
            self._at_the_end()
        self._realtime_order()
        self._steps(self._books.steps)
        self._send_order()
        self._consumed_twice()
        return +self.found

    # -- what stands where

    def _code(self, client: str) -> int:
        return self._clients.setdefault(client, len(self._clients))

    def _values(self, ranges: Iterable[tuple[str, int, int]]) -> Numbers:
        """The values of ``(client, number, end)`` each, in this order."""
        return _spread([(self._code(client), start, end) for client, start, end in ranges])[0]

    def _written(self) -> tuple[Numbers, Numbers]:
        wrote = self._books.wrote
        places = _spread([(stint, start, end) for stint, start, end, _client, _first in wrote])[0]
        return places, self._values((client, first, first + end - start) for _stint, start, end, client, first in wrote)

    def _seen(self, ranges: Sequence[tuple[int, int, int]]) -> tuple[Numbers, Numbers, Numbers]:
        """The places of ranges that hold values, these, and of which range each is."""
        wanted, which = _spread(ranges)
        if not len(self._places):
            return _NONE, _NONE, _NONE
        at = np.minimum(np.searchsorted(self._places, wanted), len(self._places) - 1)
        there = self._places[at] == wanted
        return wanted[there], self._held[at[there]], which[there]

    def _handed(self) -> tuple[Numbers, Numbers, Numbers]:
        reads = [(stint, start, end) for _who, _group, stint, start, end, _seq in self._books.reads]
        return self._seen([*reads, *self._books.last_read])

    def _bounds(self) -> None:
        """The values of the log, ascending, with the offsets at which they stand first and last, and how many."""
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

    # -- what is told of values

    def _of_values(self) -> None:
        self._tell("duplicate", self._known[self._stands > 1])
        self._tell("phantom", self._known[~_among(self._known, self._sent)])
        aborted = self._failed[_among(self._failed, self._read) & ~_among(self._failed, self._again)]
        self._tell("G1a", aborted)
        _offsets, held = np.unique(self._log_offsets, return_counts=True)
        self.found["inconsistent-offsets", ""] += int((held > 1).sum())

    def _at_the_end(self) -> None:
        """What nobody can tell without the read at the end, and not below where the log begins by then."""
        start = self._books.log_start
        if start is None:
            return
        ok = np.unique(self._values((client, first, end) for client, first, end, _stint, _at in self._books.acked))
        unread = ok[~_among(ok, self._read)]
        below = self._known[self._first < start]
        self._tell("unseen", unread[~_among(unread, below)])
        read = _among(self._known, self._read)
        if read.any():
            bound = self._first[read].max()
            lost = ~read & (self._top <= bound) & (self._top >= start) & _among(self._known, ok)
            self._tell("lost-write", self._known[lost])

    def _realtime_order(self) -> None:
        """A value was acknowledged at an offset before one that its sender could know when it was sent."""
        books = self._books
        values, which = _spread([(self._code(client), first, end) for client, first, end, _high in books.sent])
        acked = [each for each in books.acked if each[3] >= 0 and each[4] >= 0]
        told, of_ack = _spread([(self._code(client), first, end) for client, first, end, _stint, _at in acked])
        if not len(values) or not len(told):
            return
        highs = np.array([high for *_sent, high in books.sent], np.int64)[which]
        # Sent again under the same number: the last time counts.
        order = np.argsort(values, kind="stable")
        values, highs = values[order], highs[order]
        at = np.searchsorted(values, told, side="right") - 1
        known = (at >= 0) & (values[np.maximum(at, 0)] == told)
        shifts = np.array([offset - first for _client, first, _end, _stint, offset in acked], np.int64)[of_ack]
        late = known & ((told & _LOW) + shifts <= highs[np.maximum(at, 0)])
        self._tell("realtime-order", told[late])

    # -- the order of reading and of sending

    def _steps(self, steps: Iterable[ReadJump]) -> None:
        """Steps back, and those over values that anybody has seen.

        Who is handed committed data only does not miss what has failed. Of a partition that is gone nobody sees any
        more: what is in doubt by then stays so.
        """
        for step in steps:
            if step.target <= step.source:
                self.found[step.anomaly, step.client] += 1
                continue
            offsets, values, seqs = self._newest if self._stints < 2 else self._log_of(step)
            low, high = np.searchsorted(offsets, [step.source + 1, step.target])
            between = ~_among(values[low:high], self._failed) if step.committed else np.ones(high - low, bool)
            if not self._last:
                between = between & (seqs[low:high] < step.seq) & (not step.committed)
            self.found[step.anomaly, step.client] += bool(between.any())

    def _log_of(self, step: ReadJump) -> tuple[Numbers, Numbers, Numbers]:
        """What was seen of the log that a step goes over: nothing of stints outside of those at its ends.

        Behind the start of the newest there is nothing but its own.
        """
        if step.stints is None:
            return self._newest
        oldest, newest = step.stints
        places, values, seqs = self._all
        stints, offsets = places >> _SHIFT, places & _LOW
        near = (step.source < offsets) & (offsets < step.target) & (oldest <= stints) & (stints <= newest)
        near &= (stints == newest) | (offsets < self._books.begins.get(newest, _LOW))
        return _newest(places[near], values[near], seqs[near])

    def _send_order(self) -> None:
        """What a process sent, held against what it sent before; nothing or only what has failed is between."""
        chains: dict[Process, list[SendRun]] = {}
        untold = self._books.unknown if self._last else ()
        found = ((process, self._untold(process, *sent)) for process, *sent in untold)
        for process, pieces in (*self._books.pieces.items(), *found):
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
        """Whether nothing that was sent between two may be anywhere."""
        if not self._last or end - start > len(self._failed):
            return False
        between = np.arange(start, end) + (self._code(client) << _SHIFT)
        return bool(_among(between, self._failed).all())

    def _untold(self, process: Process, start: int, end: int, txn: int, seq: int) -> list[SendRun]:
        """Where values stand of which their sender could not tell."""
        base = self._code(process[0]) << _SHIFT
        low, high = np.searchsorted(self._known, [base + start, base + end])
        numbers = (self._known[low:high] - base).tolist()
        return [
            SendRun(number, number + 1, offset, txn, seq)
            for number, offset in zip(numbers, self._top[low:high].tolist(), strict=True)
        ]

    def _consumed_twice(self) -> None:
        """A process of a group was handed a value again that it had not given back."""
        by_process: dict[Process, list[tuple[int, int, int, int]]] = {}
        for process, grouped, stint, start, end, seq in self._books.reads:
            if grouped:
                by_process.setdefault(process, []).append((stint, start, end, seq))
        for process, reads in by_process.items():
            places, values, which = self._seen([each[:3] for each in reads])
            seqs = np.array([seq for *_range, seq in reads], np.int64)[which]
            order = np.lexsort((seqs, places))
            places, values, seqs = places[order], values[order], seqs[order]
            repeated = places[1:] == places[:-1]
            last = np.append(~repeated, True)[: len(places)]
            for start, end, when in self._books.given_back.get(process, ()):
                inside = ((places & _LOW) >= start) & ((places & _LOW) < end)
                repeated &= ~(inside[1:] & (seqs[:-1] < when) & (when < seqs[1:]))
                last &= ~(inside & (seqs < when))
            standing, times = np.unique(values[last], return_counts=True)
            twice = np.union1d(values[1:][repeated], standing[times > 1])
            self.found["consume-dup", process[0]] += len(twice)


_NONE: Final[Numbers] = np.zeros(0, np.int64)


def _spread(ranges: Iterable[tuple[int, int, int]]) -> tuple[Numbers, Numbers]:
    """Every number of ``(key, start, end)`` each, with its key, as one number; and of which range it is."""
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
    """Each offset with each value that it was seen with, once."""
    order = np.lexsort((values, offsets))
    offsets, values = offsets[order], values[order]
    new = np.ones(len(offsets), bool)
    new[1:] = (offsets[1:] != offsets[:-1]) | (values[1:] != values[:-1])
    return offsets[new], values[new]


def _newest(places: Numbers, values: Numbers, seqs: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Each offset once, with the value that the newest stint has there, and when one was first seen there."""
    order = np.lexsort((places >> _SHIFT, places & _LOW))
    offsets = places[order] & _LOW
    if not len(offsets):
        return _NONE, _NONE, _NONE
    begins = np.flatnonzero(np.append(True, offsets[1:] != offsets[:-1]))
    ends = np.append(begins[1:], len(offsets)) - 1
    times = seqs[order]
    return offsets[begins], values[order][ends], np.minimum.reduceat(times, begins)


def _insert(chain: list[SendRun], piece: SendRun) -> None:
    """Put a piece in its place; what was sent again under any number of others is left out."""
    at = bisect(chain, piece)
    if at and chain[at - 1].end > piece.sequence:
        return
    if at < len(chain) and chain[at].sequence < piece.end:
        return
    chain.insert(at, piece)


def _size(books: PartitionReads) -> int:
    """How many records are to be held against each other."""
    ranges = [(first, end) for _client, first, end, _high in books.sent]
    ranges += [(first, end) for _client, first, end, _stint, _offset in books.acked]
    ranges += [(first, end) for _client, first, end in books.failed]
    ranges += [(start, end) for _stint, start, end, _client, _first in books.wrote]
    ranges += [(start, end) for _stint, start, end, _seq in books.seen]
    ranges += [(start, end) for _stint, start, end in books.last_read]
    return sum(abs(end - start) for start, end in ranges)


def judged(partition: list[PartitionReads], most: int) -> Found:
    """What is in the books of all partitions that bore one name.

    Raises:
        ValueError: there are more records than ``most``.
    """
    found: Found = Counter()
    sent: list[tuple[str, int, int]] = []
    for books in partition:
        if _size(books) > most:
            raise ValueError("too many records")
        sent += [(client, first, end) for client, first, end, _high in books.sent]
        found.update(Judge(books, sent, last=books is partition[-1]).judge())
    return found


# The recount as one query: a session's events to one walk in plain Python, its findings back as rows.
#
# Everywhere else built-ins of Spark serve. Here a session is a history with state that every next event is held
# against: as windows and joins that took a plan of some fifty sorts, which cost more to make than to run. Modules go
# to the executors by value, so that their Python needs pyarrow and numpy, and no floodmark.


RECOUNT_TABLES: Final = ("anomalies", "disagreements", "left_out")
MOST_EVENTS: Final = 3_000_000
"""Of a session with more nothing is counted again: all of one is in the memory of one task."""
MOST_RECORDS: Final = 50_000_000
"""... nor of one with more records in a partition."""

IN_LEDGER: Final = "in ledger"
"""Kind of a row of ``ledger.parquet``; its ``node`` is the term."""
TERMS: Final[dict[str, str]] = {
    **{f"records_{term}": term for term in ("sent", "acked", "failed", "unknown", "aborted")},
    "records_lost": "acked_lost",
}
"""Kind of event → the term of the ledger that it adds to."""

SCHEMA: Final = (
    "finding string, session_id string, anomaly string, partition string, client string, found bigint, "
    "source string, name string, told bigint, table string, left_out bigint"
)
_NUMBERS: Final = frozenset(
    ("seq", "at_us", "broker", "sequence", "count", "log_offset", "end_offset", "stint", "latency_us", "leader_epoch"),
)
_BROKEN: Final = (ArithmeticError, MemoryError, ValueError)
"""What numbers that cannot be true lead to."""


class SessionClaims(NamedTuple):
    """What a session says of itself."""

    readers: Mapping[str, str]
    """How the members of each group read."""
    anomalies: Mapping[str, int] | None
    """Anomaly → how often, as its result says; None: not all is known that they are told from."""
    ledger: bool
    """Whether it has a table of its records."""
    clients: bool = True
    """Whether clients wrote and read; steps by hand do so as nobody, who can see no anomaly."""
    claims: ResultClaims = ResultClaims()
    """Numbers of its result that are counted again."""


def recounted(
    events: "DataFrame", last_reads: "DataFrame", ledgers: "DataFrame", said: Mapping[str, SessionClaims]
) -> "DataFrame":
    """Rows of :data:`RECOUNT_TABLES`; ``said`` has the sessions that are to be counted again."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - executors have no need of it

    none = {name: F.lit(-1 if name in _NUMBERS else "").alias(name) for name in FIELDS}
    whole = [F.coalesce(name, none[name]).alias(name) for name in FIELDS]
    told = events.filter(F.col("kind").isin(*KINDS, *TERMS, *NUMBER_KINDS)).select("session_id", *whole)
    last = last_reads.select(
        "session_id",
        *(none[name] for name in FIELDS[:2]),
        F.lit(LAST).alias("kind"),
        "partition",
        *(none[name] for name in FIELDS[4:9]),
        F.col("log_start").alias("count"),
        *("log_offset", "end_offset", "stint"),
        none["latency_us"],
        none["leader_epoch"],
    )
    lost = F.when(F.col("place") == "lost", F.lit("acked_lost"))
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
    rows = told.unionByName(last).unionByName(kept).filter(F.col("session_id").isin(*said))
    known = dict(said)

    def find(session_id: str, table: "pa.Table") -> list[dict[str, Any]]:
        order = table.select(list(FIELDS)).sort_by("seq")
        events = list(zip(*(order[name].to_pylist() for name in FIELDS), strict=True))
        return of_events(events, known[session_id])

    return rows_by_session(rows, find, SCHEMA, sys.modules[__name__], result_recount)


def of_events(events: Sequence[tuple[Any, ...]], said: SessionClaims) -> list[dict[str, Any]]:
    """The rows of one session, whose events are tuples of :data:`FIELDS`."""
    found = _ledger(events) if said.ledger else []
    if not said.clients:
        return found
    found += _numbers(events, said.claims)
    try:
        again = anomalies((event for event in events if event[2] in KINDS or event[2] == LAST), said.readers)
    except _BROKEN:
        return [*found, {"finding": "left_out", "table": "anomalies"}]
    totals: Counter[str] = Counter()
    for (anomaly, partition, client), count in sorted(again.items()):
        totals[anomaly] += count
        row = {"anomaly": anomaly, "partition": partition, "client": client, "found": count}
        found.append({"finding": "anomalies", **row})
    if said.anomalies is not None:
        told = {name: said.anomalies.get(name, 0) for name in RECOUNTED}
        found += _otherwise("result.json", "", totals, told)
    return found


def _numbers(events: Iterable[tuple[Any, ...]], claims: ResultClaims) -> list[dict[str, Any]]:
    """Where a result has other numbers than its events give, or an event than the others do."""
    if not claims.numbers:
        return []
    kinds = frozenset((*NUMBER_KINDS, LAST))
    walk = [Event(*event) for event in events if event[2] in kinds and not event[3].startswith(NOT_OURS)]
    walk.sort(key=lambda event: event.kind == LAST)  # it has no number of its own
    return [{"finding": "disagreements", **each._asdict()} for each in disagreements(walk, claims)]


def anomalies(events: Iterable[tuple[Any, ...]], readers: Mapping[str, str]) -> Counter[tuple[str, str, str]]:
    """(anomaly, partition, client) → how often. Raises ValueError where there are too many records."""
    walk = EventWalk(readers)
    whole = list(events)
    walk.take(event for event in whole if event[2] != LAST)
    # It has no number of its own.
    walk.take(event for event in whole if event[2] == LAST)
    found: Counter[tuple[str, str, str]] = Counter()
    for partition, own in walk.books():
        for (anomaly, client), count in judged(own, MOST_RECORDS).items():
            found[anomaly, partition, client] += count
    return found


def _ledger(events: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Where the table of records has other sums than the events."""
    counted: Counter[tuple[str, str]] = Counter()
    told: Counter[tuple[str, str]] = Counter()
    for event in events:
        if event[2] == IN_LEDGER:
            told[event[3], event[5]] += event[9]
        elif event[2] in TERMS:
            counted[event[3], TERMS[event[2]]] += event[9]
    rows = []
    for partition in sorted({partition for partition, _term in counted | told}):
        found, said = ({term: sums[partition, term] for term in TERMS.values()} for sums in (counted, told))
        rows += _otherwise("ledger.parquet", partition, found, said)
    return rows


def _otherwise(source: str, partition: str, found: Mapping[str, int], told: Mapping[str, int]) -> list[dict[str, Any]]:
    return [
        {
            "finding": "disagreements",
            "source": source,
            "partition": partition,
            "name": name,
            "found": found.get(name, 0),
            "told": told.get(name, 0),
        }
        for name in dict.fromkeys((*found, *told))
        if found.get(name, 0) != told.get(name, 0)
    ]
