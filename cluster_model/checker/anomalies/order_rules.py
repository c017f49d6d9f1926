"""Anomalies of order: polls and sends out of order or with gaps, and realtime lag and order.

A client numbers its sends, so their order is known even if they overlap; failed ones are left out. Within a transaction
consecutive values of a key are compared (``int-``); otherwise each value is compared with the previous one that its
process sent to the key. The offset of a value is the one acknowledged to its sender, or else the one at which it was
read.
"""

from bisect import bisect_right
from collections import deque
from itertools import pairwise
from typing import Any, Final, NamedTuple

from cluster_model.checker.anomalies.anomaly_case import AnomalyCounter, Example
from cluster_model.checker.anomalies.index import KeyIndex, seen_between, values_between
from cluster_model.checker.anomalies.operations import COMMITTED, FAIL, Send
from cluster_model.util.ranges import Range, RangeSet, union

# Jumps over offsets that have not been observed so far: undecided until some of them are observed.
#
# Transaction markers and aborted data leave harmless holes, so a jump over unobserved offsets is undecided. The log
# only grows: a jump is a skip once anything between is observed, and is then no longer kept here; the jumps left at the
# end went over holes. A jump over known markers is never a skip, even if another leader writes there later. Values of a
# discarded log are not skipped either: a reader jumps over what is in the log that it has reached. The log branches of
# both ends delimit it: nothing older than the first or newer than the second counts, and from the start of the second
# only its own values.


class OffsetJump(NamedTuple):
    """A jump from one offset of a key to a higher one that is not the next."""

    name: str
    reader: str
    key: str
    manner: str
    source: int
    target: int
    log_branches: Range | None = None
    """The oldest and the newest log branch of the log that was read; None: all observations count."""


class OffsetJumps:
    """Undecided jumps, and how often each occurred."""

    __slots__ = ("_facts", "_waiting", "counter")

    def __init__(self, facts: KeyIndex, counter: AnomalyCounter) -> None:
        self._facts = facts
        self.counter = counter
        self._waiting: dict[OffsetJump, tuple[int, int]] = {}
        """Jump → (count, virtual time of the first in microseconds)."""

    def add(self, step: OffsetJump, now: int) -> None:
        """Record a jump, and count it at once if it is known to skip values."""
        if COMMITTED not in step.manner and self._skipped(step):
            self._report(self.counter, step, 1, now)
        elif not self._over_markers(step):
            count, first = self._waiting.get(step, (0, now))
            self._waiting[step] = (count + 1, first)

    def _over_markers(self, step: OffsetJump) -> bool:
        """Return whether the skipped offsets are known to hold only markers."""
        facts, gap = self._facts.key(step.key), (step.source + 1, step.target)
        seen = list(seen_between(facts, *gap, step.log_branches))
        if union(part for _log_branch, part in seen) != [gap]:
            return False
        return not any(facts.payload(facts.key, log_branch, *part) for log_branch, part in seen)

    def _skipped(self, step: OffsetJump) -> int:
        """Return how many observed values a jump skips.

        Aborted values, which others may have observed, do not count for a read_committed reader.
        """
        facts = self._facts.key(step.key)
        wanted, failed = 0, facts.ended[FAIL] if COMMITTED in step.manner else {}
        for low, high in facts.seen.within(step.source + 1, step.target):
            for _offset, client, sequence, count in values_between(facts, low, high, step.log_branches):
                known = failed.get(client)
                gone = known.within(sequence, sequence + count) if known else []
                wanted += count - sum(last - first for first, last in gone)
        return wanted

    def _report(self, counter: AnomalyCounter, step: OffsetJump, count: int, now: int) -> None:
        skipped = self._skipped(step)
        text = (
            f"{step.reader} went from offset {step.source} to {step.target} of {step.key}, skipping {skipped} records"
        )
        counter.count(
            step.name, step.reader, step.key, Example(now, step.source, step.target, text), count, step.manner
        )

    def decide(self, counter: AnomalyCounter) -> None:
        """Count the undecided jumps that are now known to skip values."""
        for step, (count, first) in self._waiting.items():
            if self._skipped(step):
                self._report(counter, step, count, first)

    def forget(self, key: str) -> None:
        """Drop the undecided jumps of a deleted key."""
        self._waiting = {step: counted for step, counted in self._waiting.items() if step.key != key}

    @property
    def entries(self) -> int:
        """Number of undecided jumps."""
        return len(self._waiting)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple(self._waiting.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._waiting = dict(saved)


# int-nonmonotonic-poll, int-poll-skip, nonmonotonic-poll, poll-skip: a process reads backwards or skips values.
#
# Within one operation consecutive values of a key are compared (``int-``), and the first value of an operation with the
# last one that its process read before. The difference is the number of log offsets from one to the other: below 1 the
# process went back (0: a repeat), above 1 it skipped values. A value at two offsets is compared by the offset at which
# it was read; by its last one a duplicate would be reported again as a skip and a step back of every reader.
#
# A rebalance that moves the key during an operation makes both legal within it. Across operations both are legal for a
# process whose group assigns partitions, because it uses the group's commits.


NONMONOTONIC_POLL: Final = "nonmonotonic-poll"
POLL_SKIP: Final = "poll-skip"
INTERNAL_NONMONOTONIC_POLL: Final = f"int-{NONMONOTONIC_POLL}"
INTERNAL_POLL_SKIP: Final = f"int-{POLL_SKIP}"


class PollOrder:
    """Last offset that each process received of each key, over all operations and in the current one."""

    __slots__ = ("_counter", "_current", "_gaps", "_last")

    def __init__(self, gaps: OffsetJumps, counter: AnomalyCounter) -> None:
        self._gaps = gaps
        self._counter = counter
        self._last: dict[str, dict[str, Range]] = {}
        """Process → key → (last offset, its log branch)."""
        self._current: dict[str, dict[str, Range]] = {}

    def begin(self, process: str) -> None:
        """Start a new operation of a process."""
        inside = self._current.get(process)
        if inside:
            inside.clear()

    def polled(
        self, reader: tuple[str, str], key: str, log_branch: int, start: int, end: int, now: int, *,
        moved: bool = False, ok: bool = True,
    ) -> None:  # fmt: skip
        """Check that ``[start, end)`` of a log branch follows what ``reader`` (process, manner) received before.

        ``moved``: a rebalance moved the key meanwhile.
        """
        process = reader[0]
        last = self._last.get(process)
        if last is None:
            last, inside = self._last[process], self._current[process] = {}, {}
        else:
            inside = self._current[process]
        before = inside.get(key)
        if before is not None:
            if start != before[0] + 1 and not moved:
                names = (INTERNAL_NONMONOTONIC_POLL, INTERNAL_POLL_SKIP)
                self._compare(names, (*reader, key), before, (start, log_branch), now)
        else:
            before = last.get(key)
            if before is not None and start != before[0] + 1:
                self._compare((NONMONOTONIC_POLL, POLL_SKIP), (*reader, key), before, (start, log_branch), now)
        inside[key] = (end - 1, log_branch)
        if ok:
            last[key] = (end - 1, log_branch)

    def _compare(
        self, names: tuple[str, str], reader: tuple[str, str, str], source: Range, target: Range, now: int
    ) -> None:
        """Compare two (offset, log branch) pairs; ``names`` are the anomalies for a step back and for a skip."""
        process, manner, key = reader
        (before, old), (after, new) = source, target
        back, skip = names
        name = client_of(process)
        if after > before:
            self._gaps.add(OffsetJump(skip, name, key, manner, before, after, (min(old, new), new)), now)
            return
        text = f"{name} received offset {after} of {key} after offset {before}"
        self._counter.count(back, name, key, Example(now, after, before + 1, text), 1, manner)

    def keep(self, process: str, keys: tuple[str, ...]) -> None:
        """Forget all keys but those of a successful assign or subscribe."""
        last = self._last.get(process, {})
        for key in [key for key in last if key not in keys]:
            del last[key]

    def sought(self, process: str, key: str) -> None:
        """Forget a key's position, since the application sought another one."""
        self._last.get(process, {}).pop(key, None)
        self._current.get(process, {}).pop(key, None)

    def process_ended(self, process: str) -> None:
        """Drop the state of a process that ended."""
        self._last.pop(process, None)
        self._current.pop(process, None)

    def forget(self, key: str) -> None:
        """Drop the state of a deleted key."""
        for last in (*self._last.values(), *self._current.values()):
            last.pop(key, None)

    @property
    def entries(self) -> int:
        """Number of offsets kept."""
        return sum(map(len, self._last.values()))

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple(
            tuple([(process, tuple(last.items())) for process, last in known.items()])
            for known in (self._last, self._current)
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        last, inside = saved
        self._last = {process: dict(each) for process, each in last}
        self._current = {process: dict(each) for process, each in inside}


def client_of(process: str) -> str:
    """Return the client of a process: ``billing/0`` for ``billing/0#2``."""
    return process.partition("#")[0]


NONMONOTONIC_SEND: Final = "nonmonotonic-send"
INTERNAL_NONMONOTONIC_SEND: Final = f"int-{NONMONOTONIC_SEND}"
INTERNAL_SEND_SKIP: Final = "int-send-skip"

_Chain = tuple[str, str]
"""(process, key)."""


class ValueRun:
    """Consecutively sent values with known offsets; ``operation`` -1: every value is an operation of its own.

    Only the last run of a chain grows, in :class:`SendOrder`.
    """

    __slots__ = ("end", "first", "last", "operation", "start")

    def __init__(self, start: int, end: int, first: int, last: int, operation: int) -> None:
        self.start = start
        self.end = end
        self.first = first
        """Offset of the first value."""
        self.last = last
        """Offset of the last value."""
        self.operation = operation

    def save(self) -> tuple[int, int, int, int, int]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (self.start, self.end, self.first, self.last, self.operation)


class _UnknownSend(NamedTuple):
    """A send with unknown outcome, which is placed at the end."""

    process: str
    send: Send
    operation: int


class SendOrder:
    """Sent values with known offsets, by process and key, in as few runs as there are gaps among them."""

    __slots__ = ("_chains", "_facts", "_gaps", "_unknown")

    def __init__(self, facts: KeyIndex, gaps: OffsetJumps) -> None:
        self._facts = facts
        self._gaps = gaps
        self._chains: dict[_Chain, list[ValueRun]] = {}
        self._unknown: list[_UnknownSend] = []

    def record_offset(
        self, process: str, key: str, sequence: int, count: int, offset: int, operation: int, now: int
    ) -> None:
        """Record values that are at ``offset`` by the response to their sender."""
        chain = self._chains.get((process, key))
        if chain is None:
            chain = self._chains[process, key] = []
        end, last = sequence + count, offset + count - 1
        if chain:
            top = chain[-1]
            # Nearly always: the next batch, after the last one.
            if top.end == sequence and top.last + 1 == offset:
                top.end, top.last, top.operation = end, last, operation
                return
        self._insert(chain, (process, key), ValueRun(sequence, end, offset, last, operation), self._gaps, now)

    def _insert(self, chain: list[ValueRun], where: _Chain, piece: ValueRun, gaps: OffsetJumps, now: int) -> None:
        index = bisect_right(chain, piece.start, key=lambda each: each.start)
        before = chain[index - 1] if index else None
        after = chain[index] if index < len(chain) else None
        if (before is not None and before.end > piece.start) or (after is not None and after.start < piece.end):
            return  # Sent again with the same numbers: the first offset counts.
        if before is not None and before.end == piece.start:
            self._compare(where, before, piece, gaps, now)
            piece = ValueRun(before.start, piece.end, before.first, piece.last, piece.operation)
            index -= 1
            del chain[index]
        if after is not None and after.start == piece.end:
            self._compare(where, piece, after, gaps, now)
            piece = ValueRun(piece.start, after.end, piece.first, after.last, after.operation)
            del chain[index]
        chain.insert(index, piece)

    def _compare(self, where: _Chain, one: ValueRun, other: ValueRun, gaps: OffsetJumps, now: int) -> None:
        """Compare the last value of one run with the first value of the next."""
        process, key = where
        client = client_of(process)
        inside = one.operation == other.operation >= 0
        if other.first > one.last:
            if inside and other.first > one.last + 1:
                gaps.add(OffsetJump(INTERNAL_SEND_SKIP, client, key, "", one.last, other.first), now)
            return
        text = f"record {other.start} of {client} is at offset {other.first}, but the one before it at {one.last}"
        example = Example(now, other.first, one.last + 1, text)
        gaps.counter.count(INTERNAL_NONMONOTONIC_SEND if inside else NONMONOTONIC_SEND, client, key, example)

    def outcome_unknown(self, process: str, send: Send, operation: int) -> None:
        """Record a send with unknown outcome."""
        self._unknown.append(_UnknownSend(process, send, operation))

    def find(self, counter: AnomalyCounter, now: int) -> None:
        """Check, at the end, sends with unknown outcome, and neighbours of failed sends."""
        gaps = OffsetJumps(self._facts, counter)
        chains = {where: list(chain) for where, chain in self._chains.items()}
        for each in self._unknown:
            chain = chains.setdefault((each.process, each.send.key), [])
            for piece in self._observed(each):
                self._insert(chain, (each.process, each.send.key), piece, gaps, now)
        for where, chain in chains.items():
            failed = self._facts.key(where[1]).ended[FAIL].get(client_of(where[0]))
            if failed is None:
                continue
            for one, other in pairwise(chain):
                if failed.within(one.end, other.start) == [(one.end, other.start)]:
                    self._compare(where, one, other, gaps, now)
        gaps.decide(counter)

    def _observed(self, each: _UnknownSend) -> list[ValueRun]:
        """Return where the values of a send with unknown outcome were observed."""
        send = each.send
        facts = self._facts.key(send.key)
        wanted = RangeSet()
        wanted.add(send.sequence, send.sequence + send.size)
        at: dict[int, int] = {}
        for place in facts.places({send.client: wanted}):
            for index in range(place.size):
                number = place.sequence + index
                at[number] = max(at.get(number, -1), place.offset + index)
        return [ValueRun(number, number + 1, at[number], at[number], each.operation) for number in sorted(at)]

    def forget(self, key: str) -> None:
        """Drop the state of a deleted key."""
        self._chains = {where: chain for where, chain in self._chains.items() if where[1] != key}
        self._unknown = [each for each in self._unknown if each.send.key != key]

    @property
    def entries(self) -> int:
        """Number of runs and undecided sends kept."""
        return sum(map(len, self._chains.values())) + len(self._unknown)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        chains = [(where, tuple([piece.save() for piece in chain])) for where, chain in self._chains.items()]
        return (tuple(chains), tuple(self._unknown))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        chains, untold = saved
        self._chains = {where: [ValueRun(*piece) for piece in chain] for where, chain in chains}
        self._unknown = list(untold)


# realtime-lag: how long before a poll more was known to exist than it returned.
#
# It is a metric rather than an anomaly: a lagging reader has not yet received what other anomalies say it lacks.


REALTIME_LAG: Final = "realtime-lag"

_KEPT: Final = 1_024
"""Number of times kept per key; beyond that every second one is dropped, so that lags are underestimated."""


_Worst = dict[tuple[str, str], tuple[int, int, int, int]]
"""(client, key) → (polls that lagged, worst lag in microseconds, its virtual time, offset)."""


class RealtimeLags:
    """Times at which offsets became known, by key; lagging polls and the worst lag, by client and key."""

    __slots__ = ("_ends", "_newest", "_times", "_worst")

    def __init__(self) -> None:
        self._ends: dict[str, list[int]] = {}
        self._times: dict[str, list[int]] = {}
        self._newest: dict[tuple[str, str], tuple[int, int]] = {}
        """(process, key) → (time of the call, last offset) of its newest poll."""
        self._worst: _Worst = {}

    def record_end_offset(self, key: str, end: int, now: int) -> None:
        """Record that offsets below ``end`` are known to exist."""
        ends = self._ends.get(key)
        if ends is None:
            self._ends[key], self._times[key] = [end], [now]
        elif end > ends[-1]:
            times = self._times[key]
            if times[-1] == now:
                ends[-1] = end
                return
            ends.append(end)
            times.append(now)
            if len(ends) > _KEPT:
                # The newest stays.
                del ends[-3::-2]
                del times[-3::-2]

    def polled(self, process: str, key: str, last: int, invoked_us: int) -> None:
        """Record that a poll called at ``invoked_us`` has returned up to offset ``last`` so far."""
        who = (process, key)
        before = self._newest.get(who)
        if before is not None and before[0] != invoked_us:
            self._count(self._worst, who, before)
        self._newest[who] = (invoked_us, last)

    def _count(self, worst: "_Worst", reader: tuple[str, str], poll: tuple[int, int]) -> None:
        """Count a finished poll if it ended below an offset that clients knew of when it was called."""
        invoked_us, last = poll
        key = reader[1]
        ends = self._ends.get(key)
        if ends is None or ends[-1] <= last + 1:
            return
        lag = invoked_us - self._times[key][bisect_right(ends, last + 1)]
        if lag > 0:
            client = (client_of(reader[0]), key)
            count, most, at, offset = worst.get(client, (0, 0, 0, 0))
            if lag > most:
                most, at, offset = lag, invoked_us, last
            worst[client] = (count + 1, most, at, offset)

    def find(self, counter: AnomalyCounter) -> None:
        """Count lagging polls, by client and key."""
        worst = dict(self._worst)
        for who, poll in self._newest.items():
            self._count(worst, who, poll)
        for (client, key), (count, most, at, offset) in worst.items():
            text = f"{client} received up to offset {offset} of {key}, {most} us after the next one was known to exist"
            counter.count(REALTIME_LAG, client, key, Example(at, offset, offset + 1, text), count)

    def forget(self, key: str) -> None:
        """Drop the state of a deleted key."""
        self._newest = {who: poll for who, poll in self._newest.items() if who[1] != key}
        self._ends.pop(key, None)
        self._times.pop(key, None)

    @property
    def entries(self) -> int:
        """Number of times kept."""
        return sum(map(len, self._ends.values()))

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        times = [(key, tuple(ends), tuple(self._times[key])) for key, ends in self._ends.items()]
        return (tuple(times), tuple(self._worst.items()), tuple(self._newest.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        times, worst, at_hand = saved
        self._newest = dict(at_hand)
        self._ends = {key: list(ends) for key, ends, _times in times}
        self._times = {key: list(each) for key, _ends, each in times}
        self._worst = dict(worst)


# realtime-order: a value was acknowledged at a lower offset than one acknowledged before it was sent.
#
# A value acknowledged before a send is in the log by then, so values sent later must come after it.


REALTIME_ORDER: Final = "realtime-order"


class _PendingSends:
    """Pending sends of one client to a key."""

    __slots__ = ("ended", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[int, int]] = deque()
        """(first sequence, highest acknowledged offset at the send) of sends that have not all ended."""
        self.ended = RangeSet()


class RealtimeOrder:
    """Highest acknowledged offset by key, and its value at each pending send, by client and key."""

    __slots__ = ("_counter", "_highest_acked", "_pending")

    def __init__(self, counter: AnomalyCounter) -> None:
        self._counter = counter
        self._highest_acked: dict[str, int] = {}
        self._pending: dict[tuple[str, str], _PendingSends] = {}
        """(client, key) → pending sends."""

    def sent(self, client: str, key: str, sequence: int) -> None:
        """Record that values from ``sequence`` on are sent."""
        highest = self._highest_acked.get(key, -1)
        pending = self._pending.get((client, key))
        if pending is None:
            pending = self._pending[client, key] = _PendingSends()
        waiting = pending.waiting
        if not waiting or waiting[-1][1] != highest:
            waiting.append((sequence, highest))

    def acknowledged(self, client: str, key: str, sequence: int, count: int, offset: int, now: int) -> None:
        """Record that values were acknowledged at ``offset``, and check their order."""
        highest, producer = self._highest_acked.get(key, -1), (client, key)
        if offset <= highest and producer in self._pending:
            self._check_late(producer, sequence, count, offset, now)
        if offset + count - 1 > highest:
            self._highest_acked[key] = offset + count - 1
        self._end(producer, sequence, sequence + count)

    def _check_late(self, producer: tuple[str, str], sequence: int, count: int, offset: int, now: int) -> None:
        """Check whether the higher acknowledged offset was already acknowledged when these values were sent."""
        starts = [(max(first, sequence), highest) for first, highest in self._pending[producer].waiting]
        for index, (first, highest) in enumerate(starts):
            end = starts[index + 1][0] if index + 1 < len(starts) else sequence + count
            late = min(end, sequence + count, sequence + highest + 1 - offset) - first
            if late > 0:
                client, key = producer
                at = offset + first - sequence
                text = (
                    f"record {first} of {client} is at offset {at}, but {highest} was acknowledged before it was sent"
                )
                self._counter.count(REALTIME_ORDER, client, key, Example(now, at, highest + 1, text), late)

    def record_outcome(self, client: str, key: str, sequence: int, count: int) -> None:
        """Record that sends ended with any other outcome."""
        self._end((client, key), sequence, sequence + count)

    def _end(self, producer: tuple[str, str], start: int, end: int) -> None:
        pending = self._pending.get(producer)
        if pending is None:
            pending = self._pending[producer] = _PendingSends()
        ends, waiting = pending.ended.ends, pending.waiting
        if ends and ends[-1] == start:
            ends[-1] = end
        else:
            pending.ended.add(start, end)
        while len(waiting) > 1 and waiting[1][0] <= ends[0]:
            waiting.popleft()

    def forget(self, key: str) -> None:
        """Drop the state of a deleted key."""
        self._highest_acked.pop(key, None)
        self._pending = {who: pending for who, pending in self._pending.items() if who[1] != key}

    @property
    def entries(self) -> int:
        """Number of pending sends kept."""
        return sum(len(pending.waiting) for pending in self._pending.values())

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        pendings = tuple(
            [(who, tuple(pending.waiting), pending.ended.save()) for who, pending in self._pending.items()]
        )
        return (tuple(self._highest_acked.items()), pendings)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        highest, pendings = saved
        self._highest_acked = dict(highest)
        self._pending = {}
        for who, waiting, ended in pendings:
            pending = self._pending[who] = _PendingSends()
            pending.waiting.extend(waiting)
            pending.ended = RangeSet.from_saved(ended)
