"""Which anomalies the books of a partition show. The rules are those of the page on anomalies.

Everything is held against everything else record by record, as sorted arrays of numbers: a *value*, a client's record
by its number, is one, and so is a *place*, an offset of a stint.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from spark_report.tables.books import Books, Piece, Process, Step

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

    def __init__(self, books: Books, sent: Sequence[tuple[str, int, int]], *, last: bool) -> None:
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
        self._newest = _newest(seen, seqs + [_AT_THE_END] * len(books.last_read))
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

    def _steps(self, steps: Iterable[Step]) -> None:
        """Steps back, and those over values that anybody has seen.

        Who is handed committed data only does not miss what has failed. Of a partition that is gone nobody sees any
        more: what is in doubt by then stays so.
        """
        offsets, values, seqs = self._newest
        kept = ~_among(values, self._failed)
        for step in steps:
            if step.target <= step.source:
                self.found[step.anomaly, step.client] += 1
                continue
            low, high = np.searchsorted(offsets, [step.source + 1, step.target])
            between = kept[low:high] if step.committed else np.ones(high - low, bool)
            if not self._last:
                between = between & (seqs[low:high] < step.seq) & (not step.committed)
            self.found[step.anomaly, step.client] += bool(between.any())

    def _send_order(self) -> None:
        """What a process sent, held against what it sent before; nothing or only what has failed is between."""
        chains: dict[Process, list[Piece]] = {}
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
                    self._steps([Step("int-send-skip", client, last, other.offset, False, other.seq)])

    def _all_failed(self, client: str, start: int, end: int) -> bool:
        """Whether nothing that was sent between two may be anywhere."""
        if not self._last or end - start > len(self._failed):
            return False
        between = np.arange(start, end) + (self._code(client) << _SHIFT)
        return bool(_among(between, self._failed).all())

    def _untold(self, process: Process, start: int, end: int, txn: int, seq: int) -> list[Piece]:
        """Where values stand of which their sender could not tell."""
        base = self._code(process[0]) << _SHIFT
        low, high = np.searchsorted(self._known, [base + start, base + end])
        numbers = (self._known[low:high] - base).tolist()
        return [
            Piece(number, number + 1, offset, txn, seq)
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


def _newest(seen: tuple[Numbers, Numbers, Numbers], seqs: Sequence[int]) -> tuple[Numbers, Numbers, Numbers]:
    """Each offset once, with the value that the newest stint has there, and when one was first seen there."""
    places, values, which = seen
    order = np.lexsort((places >> _SHIFT, places & _LOW))
    offsets = places[order] & _LOW
    if not len(offsets):
        return _NONE, _NONE, _NONE
    begins = np.flatnonzero(np.append(True, offsets[1:] != offsets[:-1]))
    ends = np.append(begins[1:], len(offsets)) - 1
    times = np.array(seqs, np.int64)[which[order]]
    return offsets[begins], values[order][ends], np.minimum.reduceat(times, begins)


def _insert(chain: list[Piece], piece: Piece) -> None:
    """Put a piece in its place; what was sent again under any number of others is left out."""
    at = bisect(chain, piece)
    if at and chain[at - 1].end > piece.sequence:
        return
    if at < len(chain) and chain[at].sequence < piece.end:
        return
    chain.insert(at, piece)


def _size(books: Books) -> int:
    """How many records are to be held against each other."""
    ranges = [(first, end) for _client, first, end, _high in books.sent]
    ranges += [(first, end) for _client, first, end, _stint, _offset in books.acked]
    ranges += [(first, end) for _client, first, end in books.failed]
    ranges += [(start, end) for _stint, start, end, _client, _first in books.wrote]
    ranges += [(start, end) for _stint, start, end, _seq in books.seen]
    ranges += [(start, end) for _stint, start, end in books.last_read]
    return sum(abs(end - start) for start, end in ranges)


def judged(partition: list[Books], most: int) -> Found:
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
