"""Observations of each key: values sent by each client, their outcomes, and values observed at each offset.

Most anomalies are decided from these indexes. The *log* of a key is what was observed at each offset: by a poll of any
outcome, or by a committed send whose offset was acknowledged. It only grows, so values are looked up in payloads on
request, each once.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from cluster_model.checker.anomalies.operations import FAIL, INFO, OK, Begin, Empty, Payload, Run, Send
from cluster_model.util.ranges import Range, RangeSet, add_range, load_all, save_all, subtract

UNKNOWN: Final = 1 << 62
"""Start offset of a log branch whose start is not known."""


class ValueExtent(NamedTuple):
    """``size`` values of a client from ``sequence`` on, at ``offset`` of a log branch."""

    client: str
    sequence: int
    size: int
    log_branch: int
    offset: int


class KeyObservations:
    """Observations of one key, as ranges."""

    __slots__ = (
        "_fresh_log", "_fresh_read", "begin", "caught_up", "contested", "duplicated", "empty", "ended",
        "found_committed", "had_leader", "key", "log", "log_values", "payload", "read", "read_committed", "resent",
        "seen", "sent", "start", "values",
    )  # fmt: skip

    def __init__(self, key: str, payload: Payload, empty: Empty, begin: Begin) -> None:
        self.begin = begin
        self.key = key
        self.payload = payload
        self.empty = empty
        self.sent: dict[str, RangeSet] = {}
        """Client → values that it has sent, with any outcome."""
        self.resent: dict[str, RangeSet] = {}
        """Client → values sent again with the same numbers, so that a failure does not decide their outcome."""
        self.found_committed: dict[str, RangeSet] = {}
        """Client → values of sends with unknown outcome that turned out to be committed."""
        self.ended: dict[str, dict[str, RangeSet]] = {OK: {}, INFO: {}, FAIL: {}}
        """Outcome → client → values of its sends."""
        self.log: dict[int, RangeSet] = {}
        """Log branch → offsets observed in it."""
        self.read: dict[int, RangeSet] = {}
        """Log branch → offsets returned by a successful poll."""
        self.read_committed: dict[int, RangeSet] = {}
        """Log branch → offsets returned by a successful poll of a read_committed process."""
        self.seen = RangeSet()
        """Offsets observed in any log branch."""
        self.contested = RangeSet()
        """Offsets observed in more than one log branch."""
        self.log_values: dict[str, RangeSet] = {}
        """Client → values in the log, as far as they have been looked up."""
        self.duplicated: dict[str, RangeSet] = {}
        """Client → values found in the log more than once."""
        self.values: dict[str, RangeSet] = {}
        """Client → values returned by a successful poll, as far as they have been looked up."""
        self.start = 0
        """Log start offset of the key: lower offsets have been deleted on purpose."""
        self.caught_up = True
        """Whether the final read reached the end of the log."""
        self.had_leader = True
        """Whether a leader served the final read."""
        self._fresh_log: list[list[int]] = []
        """(log branch, start, end) of log ranges whose values have not been looked up yet."""
        self._fresh_read: list[list[int]] = []

    def sends(self, client: str, sequence: int, count: int) -> None:
        """Record that a client sends values."""
        spans = self.sent.get(client)
        if spans is None:
            spans = self.sent[client] = RangeSet()
        end, ends = sequence + count, spans.ends
        if ends and ends[-1] == sequence:
            ends[-1] = end
            return
        if not spans.ends or sequence > spans.ends[-1]:
            spans.add(sequence, end)
            return
        for low, high in spans.within(sequence, end):
            add_range(self.resent, client, low, high)
        spans.add(sequence, end)

    def acked(self, client: str, sequence: int, count: int) -> None:
        """Record that a send was ok."""
        spans = self.ended[OK].get(client)
        if spans is not None and spans.ends[-1] == sequence:  # nearly always
            spans.ends[-1] = sequence + count
        else:
            add_range(self.ended[OK], client, sequence, sequence + count)

    def observe(self, log_branch: int, start: int, end: int) -> None:
        """Record that ``[start, end)`` of a log branch was observed."""
        spans = self.log.get(log_branch)
        if spans is None:
            spans = self.log[log_branch] = RangeSet()
        elif spans.ends[-1] == start:
            seen = self.seen.ends
            if seen and seen[-1] == start:
                seen[-1] = spans.ends[-1] = end
                waiting = self._fresh_log
                if waiting and waiting[-1][2] == start and waiting[-1][0] == log_branch:
                    waiting[-1][2] = end
                else:
                    waiting.append([log_branch, start, end])
                return
        else:
            if spans.starts[-1] <= start and end <= spans.ends[-1]:
                return
            start, end = self._bridged(spans, log_branch, start, end)
        fresh = spans.add(start, end)
        if not fresh:
            return
        if self.seen.add(start, end) != fresh:
            self._contest(log_branch, fresh)
        waiting = self._fresh_log
        for low, high in fresh:
            _queue(waiting, log_branch, low, high)

    def _bridged(self, spans: RangeSet, log_branch: int, start: int, end: int) -> Range:
        """Return the range extended by adjacent markers, which are never delivered and would leave holes."""
        return spans.bridged(start, end, lambda low, high: self.empty(self.key, log_branch, low, high))

    def put(self, into: dict[int, RangeSet], log_branch: int, start: int, end: int) -> list[Range]:
        """Add ``[start, end)`` and adjacent markers to the ranges of a log branch, and return the new parts."""
        spans = into.get(log_branch)
        if spans is None:
            spans = into[log_branch] = RangeSet()
        elif spans.ends and spans.ends[-1] != start:
            start, end = self._bridged(spans, log_branch, start, end)
        return spans.add(start, end)

    def _contest(self, log_branch: int, fresh: list[tuple[int, int]]) -> None:
        for other, spans in self.log.items():
            if other != log_branch:
                for low, high in fresh:
                    for part in spans.within(low, high):
                        self.contested.add(*part)

    def returned(self, log_branch: int, start: int, end: int) -> None:
        """Record that a successful poll returned ``[start, end)`` of a log branch."""
        spans, waiting = self.read.get(log_branch), self._fresh_read
        if spans is not None and spans.ends[-1] == start and waiting:
            last = waiting[-1]
            if last[2] == start and last[0] == log_branch:
                last[2] = spans.ends[-1] = end
                return
        for low, high in self.put(self.read, log_branch, start, end):
            _queue(self._fresh_read, log_branch, low, high)

    def returned_committed(self, log_branch: int, start: int, end: int) -> None:
        """Record that a successful poll of a read_committed process returned ``[start, end)`` of a log branch."""
        spans = self.read_committed.get(log_branch)
        if spans is not None and spans.ends[-1] == start:
            spans.ends[-1] = end
        else:
            self.put(self.read_committed, log_branch, start, end)

    def ended_with(self, outcome: str, client: str, sequence: int, count: int) -> None:
        """Record the outcome of a send."""
        spans = self.ended[outcome].get(client)
        if spans is None or not spans.extend(sequence, sequence + count):
            add_range(self.ended[outcome], client, sequence, sequence + count)

    def settle(self) -> None:
        """Look up the values of all new ranges."""
        fresh, self._fresh_log = self._fresh_log, []
        for log_branch, first, last in fresh:
            for _offset, client, sequence, count in self.payload(self.key, log_branch, first, last):
                end = sequence + count
                seen_values = self.log_values.get(client)
                if seen_values is None:
                    seen_values = self.log_values[client] = RangeSet()
                added = seen_values.add(sequence, end)
                for low, high in subtract([(sequence, end)], added):
                    add_range(self.duplicated, client, low, high)
        fresh, self._fresh_read = self._fresh_read, []
        for log_branch, first, last in fresh:
            for _offset, client, sequence, count in self.payload(self.key, log_branch, first, last):
                add_range(self.values, client, sequence, sequence + count)

    @property
    def log_branches(self) -> list[int]:
        """Observed log branches, ascending."""
        return sorted(self.log)

    def places(self, wanted: dict[str, RangeSet], among: dict[int, RangeSet] | None = None) -> Iterator[ValueExtent]:
        """Yield where wanted values are in the log, or in the ranges ``among``, by log branch and offset."""
        if not wanted:
            return
        parts = self.log if among is None else among
        for log_branch in sorted(parts):
            for start, end in parts[log_branch].ranges():
                for run in self.payload(self.key, log_branch, start, end):
                    yield from _picked(run, log_branch, wanted)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (
            save_all(self.sent), save_all(self.resent), save_all(self.found_committed), (self.caught_up,
            self.had_leader), tuple([(outcome, save_all(spans)) for outcome, spans in self.ended.items()]),
            save_all(self.log), save_all(self.read), save_all(self.read_committed), self.seen.save(),
            self.contested.save(), save_all(self.log_values), save_all(self.duplicated), save_all(self.values),
            self.start, tuple(map(tuple, self._fresh_log)), tuple(map(tuple, self._fresh_read)),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        (
            sent, again, guaranteed, (self.caught_up, self.had_leader), ended, log, read, read_committed, seen,
            contested, log_values, doubles, values, self.start, fresh, unread,
        ) = saved  # fmt: skip
        self.sent, self.log, self.read = load_all(sent), load_all(log), load_all(read)
        self.read_committed, self.resent, self.found_committed = (
            load_all(read_committed),
            load_all(again),
            load_all(guaranteed),
        )
        self.ended = {outcome: load_all(spans) for outcome, spans in ended}
        self.seen, self.contested = RangeSet.from_saved(seen), RangeSet.from_saved(contested)
        self.log_values, self.duplicated, self.values = load_all(log_values), load_all(doubles), load_all(values)
        self._fresh_log, self._fresh_read = list(map(list, fresh)), list(map(list, unread))

    @property
    def entries(self) -> int:
        """Number of ranges kept."""
        spans = [self.seen, self.contested]
        for each in (
            self.sent,
            self.resent,
            self.found_committed,
            *self.ended.values(),
            self.log_values,
            self.duplicated,
            self.values,
        ):
            spans += each.values()
        for by_log_branch in (self.log, self.read, self.read_committed):
            spans += by_log_branch.values()
        return sum(len(each.starts) for each in spans) + len(self._fresh_log) + len(self._fresh_read)


def seen_between(
    facts: KeyObservations, start: int, end: int, log_branches: Range | None = None
) -> Iterator[tuple[int, Range]]:
    """Yield the observed parts of ``[start, end)``: (log branch, part); at a shared offset the newest one counts.

    ``log_branches`` limits it to a log from the first log branch to the second: only these and the log branches between
    them count, and from the start of the second only the second.
    """
    oldest, newest = (0, UNKNOWN) if log_branches is None else log_branches
    shared = end if log_branches is None else min(end, facts.begin(facts.key, newest))
    taken = RangeSet()
    for log_branch in reversed(facts.log_branches):
        if oldest <= log_branch <= newest:
            for low, high in facts.log[log_branch].within(start, end if log_branch == newest else shared):
                for part in taken.add(low, high):
                    yield log_branch, part


def values_between(facts: KeyObservations, start: int, end: int, log_branches: Range | None = None) -> list[Run]:
    """Return the observed values of ``[start, end)`` of the log, in order."""
    seen = seen_between(facts, start, end, log_branches)
    return sorted(run for log_branch, part in seen for run in facts.payload(facts.key, log_branch, *part))


def _queue(waiting: list[list[int]], log_branch: int, start: int, end: int) -> None:
    if waiting and waiting[-1][0] == log_branch and waiting[-1][2] == start:
        waiting[-1][2] = end
    else:
        waiting.append([log_branch, start, end])


def _picked(run: Run, log_branch: int, wanted: dict[str, RangeSet]) -> Iterator[ValueExtent]:
    offset, client, sequence, count = run
    spans = wanted.get(client)
    if spans is not None:
        for low, high in spans.within(sequence, sequence + count):
            yield ValueExtent(client, low, high - low, log_branch, offset + low - sequence)


class UnresolvedOperation(NamedTuple):
    """A send or transaction with unknown outcome: it is committed once any of its values is read."""

    sends: tuple[Send, ...]


class KeyIndex:
    """Observations of all keys, and the sends with unknown outcome."""

    __slots__ = ("begin", "empty", "keys", "payload", "undecided")

    def __init__(self, payload: Payload, empty: Empty | None = None, begin: Begin | None = None) -> None:
        """``empty`` returns whether a range has only markers, ``begin`` a log branch's start; both may be unknown."""
        self.payload = payload
        self.empty: Empty = empty or (lambda *_part: False)
        self.begin: Begin = begin or (lambda _key, _log_branch: UNKNOWN)
        self.keys: dict[str, KeyObservations] = {}
        self.undecided: list[UnresolvedOperation] = []
        """Sends with unknown outcome whose values may have been read."""

    def key(self, name: str) -> KeyObservations:
        """Return the observations of a key, created on first use."""
        facts = self.keys.get(name)
        if facts is None:
            facts = self.keys[name] = KeyObservations(name, self.payload, self.empty, self.begin)
        return facts

    def settle(self) -> None:
        """Look up all new values, and add sends that turned out to be committed to the log."""
        for facts in self.keys.values():
            facts.settle()
        left: list[UnresolvedOperation] = []
        for each in self.undecided:
            if self.committed(each.sends):
                for send in each.sends:
                    facts = self.key(send.key)
                    add_range(facts.found_committed, send.client, send.sequence, send.sequence + send.size)
                    if send.offset >= 0:
                        facts.observe(send.log_branch, send.offset, send.offset + send.size)
            else:
                left.append(each)
        if len(left) < len(self.undecided):
            self.undecided = left
            for facts in self.keys.values():
                facts.settle()

    def committed(self, sends: tuple[Send, ...]) -> bool:
        """Return whether a successful poll has read any value of an operation."""
        for send in sends:
            values = self.key(send.key).values.get(send.client)
            if values is not None and values.any_within(send.sequence, send.sequence + send.size):
                return True
        return False

    def reset(self, name: str) -> None:
        """Reset a deleted key; one created again with its name is new, but senders continue their numbering."""
        sent, again = self.key(name).sent, self.key(name).resent
        facts = self.keys[name] = KeyObservations(name, self.payload, self.empty, self.begin)
        facts.sent, facts.resent = sent, again
        self.undecided = [each for each in self.undecided if all(send.key != name for send in each.sends)]

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (tuple([(name, facts.save()) for name, facts in self.keys.items()]), tuple(self.undecided))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        keys, undecided = saved
        self.keys = {}
        for name, state in keys:
            self.key(name).load(state)
        self.undecided = list(undecided)
