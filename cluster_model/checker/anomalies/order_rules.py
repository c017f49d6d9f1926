"""Anomalies of order: polls and sends out of order or with gaps, and realtime lag and order.

A client numbers what it sends, so its order is known however its sends overlap; failed ones are left out. Inside a
transaction consecutive values of a key are held against each other (``int-``), otherwise each value against the one
that its process sent to the key before. The place of a value is the offset that its sender was told, or where it was
read if nobody was told.
"""

from bisect import bisect_right
from collections import deque
from itertools import pairwise
from typing import Any, Final, NamedTuple

from cluster_model.checker.anomalies.anomaly_case import AnomalyCounter, Example
from cluster_model.checker.anomalies.index import KeyIndex, seen_between, values_between
from cluster_model.checker.anomalies.operations import COMMITTED, FAIL, Send
from cluster_model.util.ranges import Range, RangeSet, union

# Steps over offsets that nobody has seen so far: whether they skip anything is known when somebody sees some of them.
#
# Markers of transactions and aborted data leave holes that are nobody's loss, so a step over unseen offsets is in
# doubt. The log only grows: a step is a skip as soon as anything between is seen, and is dropped from here; whatever
# is left at the end went over holes. What is known to be markers is nobody's loss, and no doubt: also if another
# leader writes there later. Values of a log that is gone are not skipped either: a reader steps over what stands in
# the log that it has reached. The strands of both ends show it: nothing older than the first or newer than the
# second counts, and from the start of the second on nothing but its own.


class OffsetJump(NamedTuple):
    """From one offset of a key to another that is not the next."""

    name: str
    who: str
    key: str
    manner: str
    source: int
    target: int
    strands: Range | None = None
    """The oldest and the newest strand of the log that was read; None: whatever was seen there counts."""


class Gaps:
    """Steps in doubt, and how often each was taken."""

    __slots__ = ("_facts", "_waiting", "tally")

    def __init__(self, facts: KeyIndex, tally: AnomalyCounter) -> None:
        self._facts = facts
        self.tally = tally
        self._waiting: dict[OffsetJump, tuple[int, int]] = {}
        """Step → how often, and when first."""

    def took(self, step: OffsetJump, now: int) -> None:
        """Somebody went from an offset to one further up."""
        if COMMITTED not in step.manner and self._skipped(step):
            self._tell(self.tally, step, 1, now)
        elif not self._over_markers(step):
            count, first = self._waiting.get(step, (0, now))
            self._waiting[step] = (count + 1, first)

    def _over_markers(self, step: OffsetJump) -> bool:
        """Whether it is known by now that there is nothing but markers between."""
        facts, gap = self._facts.key(step.key), (step.source + 1, step.target)
        seen = list(seen_between(facts, *gap, step.strands))
        if union(part for _strand, part in seen) != [gap]:
            return False
        return not any(facts.payload(facts.key, strand, *part) for strand, part in seen)

    def _skipped(self, step: OffsetJump) -> int:
        """How many offsets of the log a step leaves out.

        Who reads committed data only leaves out what was aborted, which others may have seen: that is no loss.
        """
        facts = self._facts.key(step.key)
        wanted, failed = 0, facts.ended[FAIL] if COMMITTED in step.manner else {}
        for low, high in facts.seen.within(step.source + 1, step.target):
            for _offset, client, sequence, count in values_between(facts, low, high, step.strands):
                known = failed.get(client)
                gone = known.within(sequence, sequence + count) if known else []
                wanted += count - sum(last - first for first, last in gone)
        return wanted

    def _tell(self, tally: AnomalyCounter, step: OffsetJump, count: int, now: int) -> None:
        skipped = self._skipped(step)
        words = f"{step.who} went from offset {step.source} to {step.target} of {step.key}, over {skipped} records"
        tally.note(step.name, step.who, step.key, Example(now, step.source, step.target, words), count, step.manner)

    def decide(self, tally: AnomalyCounter) -> None:
        """Count those of which it is known by now."""
        for step, (count, first) in self._waiting.items():
            if self._skipped(step):
                self._tell(tally, step, count, first)

    def forget(self, key: str) -> None:
        """A key is gone: nobody will see more of it."""
        self._waiting = {step: counted for step, counted in self._waiting.items() if step.key != key}

    @property
    def entries(self) -> int:
        """How many are in doubt."""
        return len(self._waiting)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._waiting.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._waiting = dict(saved)


# int-nonmonotonic-poll, int-poll-skip, nonmonotonic-poll, poll-skip: what a process reads goes back, or leaves out.
#
# Inside one operation consecutive values of a key are held against each other (``int-``), and the first value of an
# operation against the last one that its process read before. The difference of two values is how many offsets of the
# log lie from the one to the other: below 1 it goes back (0: a repeat), above 1 something was left out. Whether a
# value that stands at two offsets was read in order is judged by the one where it was read. With its last one, one
# duplicate would be told again as a skip and a step back of every reader.
#
# What happens inside an operation is excused by a rebalance that moved the key meanwhile. Across operations a process
# that is assigned partitions by a group goes by the group's commits, so there both are legal.


NONMONOTONIC_POLL: Final = "nonmonotonic-poll"
POLL_SKIP: Final = "poll-skip"
INTERNAL_NONMONOTONIC_POLL: Final = f"int-{NONMONOTONIC_POLL}"
INTERNAL_POLL_SKIP: Final = f"int-{POLL_SKIP}"


class PollOrder:
    """By process and key the last offset that it was returned, in all operations and in the one at hand."""

    __slots__ = ("_gaps", "_inside", "_last", "_tally")

    def __init__(self, gaps: Gaps, tally: AnomalyCounter) -> None:
        self._gaps = gaps
        self._tally = tally
        self._last: dict[str, dict[str, Range]] = {}
        """Process → key → (offset, strand that it was read from)."""
        self._inside: dict[str, dict[str, Range]] = {}

    def begin(self, process: str) -> None:
        """What is returned from here on is another operation's."""
        inside = self._inside.get(process)
        if inside:
            inside.clear()

    def polled(
        self, who: tuple[str, str], key: str, strand: int, start: int, end: int, now: int, *,
        moved: bool = False, ok: bool = True,
    ) -> None:  # fmt: skip
        """The operation at hand has returned ``[start, end)`` of a strand to ``who``: the process, and how it reads.

        ``moved``: a rebalance moved the key meanwhile.
        """
        process = who[0]
        last = self._last.get(process)
        if last is None:
            last, inside = self._last[process], self._inside[process] = {}, {}
        else:
            inside = self._inside[process]
        before = inside.get(key)
        if before is not None:
            if start != before[0] + 1 and not moved:
                names = (INTERNAL_NONMONOTONIC_POLL, INTERNAL_POLL_SKIP)
                self._compare(names, (*who, key), before, (start, strand), now)
        else:
            before = last.get(key)
            if before is not None and start != before[0] + 1:
                self._compare((NONMONOTONIC_POLL, POLL_SKIP), (*who, key), before, (start, strand), now)
        inside[key] = (end - 1, strand)
        if ok:
            last[key] = (end - 1, strand)

    def _compare(
        self, names: tuple[str, str], who: tuple[str, str, str], source: Range, target: Range, now: int
    ) -> None:
        """Judge a step by its ends, (offset, strand) each; ``names`` are those of a step back and of a skip."""
        process, manner, key = who
        (before, old), (after, new) = source, target
        back, skip = names
        name = client_of(process)
        if after > before:
            self._gaps.took(OffsetJump(skip, name, key, manner, before, after, (min(old, new), new)), now)
            return
        words = f"{name} was handed offset {after} of {key} after offset {before}"
        self._tally.note(back, name, key, Example(now, after, before + 1, words), 1, manner)

    def keep(self, process: str, keys: tuple[str, ...]) -> None:
        """An assign or subscribe that succeeded lists these: of others nothing is remembered."""
        last = self._last.get(process, {})
        for key in [key for key in last if key not in keys]:
            del last[key]

    def sought(self, process: str, key: str) -> None:
        """The application itself has gone elsewhere."""
        self._last.get(process, {}).pop(key, None)
        self._inside.get(process, {}).pop(key, None)

    def over(self, process: str) -> None:
        """A process has ended."""
        self._last.pop(process, None)
        self._inside.pop(process, None)

    def forget(self, key: str) -> None:
        """A key is gone."""
        for last in (*self._last.values(), *self._inside.values()):
            last.pop(key, None)

    @property
    def entries(self) -> int:
        """How many offsets are remembered."""
        return sum(map(len, self._last.values()))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(
            tuple([(process, tuple(last.items())) for process, last in known.items()])
            for known in (self._last, self._inside)
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        last, inside = saved
        self._last = {process: dict(each) for process, each in last}
        self._inside = {process: dict(each) for process, each in inside}


def client_of(process: str) -> str:
    """The client that a process is one life of: ``billing/0#2`` is ``billing/0``."""
    return process.partition("#")[0]


NONMONOTONIC_SEND: Final = "nonmonotonic-send"
INTERNAL_NONMONOTONIC_SEND: Final = f"int-{NONMONOTONIC_SEND}"
INTERNAL_SEND_SKIP: Final = "int-send-skip"

_Chain = tuple[str, str]
"""(process, key)."""


class ValueRun:
    """Values in the order of sending whose places are known; ``operation`` -1: every value is an operation.

    Only the last piece of a chain grows, and only where :class:`SendOrder` keeps it.
    """

    __slots__ = ("end", "first", "last", "operation", "start")

    def __init__(self, start: int, end: int, first: int, last: int, operation: int) -> None:
        self.start = start
        self.end = end
        self.first = first
        """Offset of the first value ..."""
        self.last = last
        """... and of the last."""
        self.operation = operation

    def save(self) -> tuple[int, int, int, int, int]:
        """All state."""
        return (self.start, self.end, self.first, self.last, self.operation)


class _Untold(NamedTuple):
    """A send of which nobody can tell."""

    process: str
    send: Send
    operation: int


class SendOrder:
    """By process and key the values sent whose places are known, as few pieces as there are gaps among them."""

    __slots__ = ("_chains", "_facts", "_gaps", "_untold")

    def __init__(self, facts: KeyIndex, gaps: Gaps) -> None:
        self._facts = facts
        self._gaps = gaps
        self._chains: dict[_Chain, list[ValueRun]] = {}
        self._untold: list[_Untold] = []

    def placed(self, process: str, key: str, sequence: int, count: int, offset: int, operation: int, now: int) -> None:
        """Values stand from ``offset`` on, as their sender was told."""
        chain = self._chains.get((process, key))
        if chain is None:
            chain = self._chains[process, key] = []
        end, last = sequence + count, offset + count - 1
        if chain:
            top = chain[-1]
            # Nearly always: the next batch, behind the last one.
            if top.end == sequence and top.last + 1 == offset:
                top.end, top.last, top.operation = end, last, operation
                return
        self._insert(chain, (process, key), ValueRun(sequence, end, offset, last, operation), self._gaps, now)

    def _insert(self, chain: list[ValueRun], where: _Chain, piece: ValueRun, gaps: Gaps, now: int) -> None:
        index = bisect_right(chain, piece.start, key=lambda each: each.start)
        before = chain[index - 1] if index else None
        after = chain[index] if index < len(chain) else None
        if (before is not None and before.end > piece.start) or (after is not None and after.start < piece.end):
            return  # Sent again under the same numbers: its first place stands.
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

    def _compare(self, where: _Chain, one: ValueRun, other: ValueRun, gaps: Gaps, now: int) -> None:
        """The last value of one piece and the first of the other follow each other."""
        process, key = where
        client = client_of(process)
        inside = one.operation == other.operation >= 0
        if other.first > one.last:
            if inside and other.first > one.last + 1:
                gaps.took(OffsetJump(INTERNAL_SEND_SKIP, client, key, "", one.last, other.first), now)
            return
        words = f"record {other.start} of {client} stands at offset {other.first}, and the one before it at {one.last}"
        example = Example(now, other.first, one.last + 1, words)
        gaps.tally.note(INTERNAL_NONMONOTONIC_SEND if inside else NONMONOTONIC_SEND, client, key, example)

    def untold(self, process: str, send: Send, operation: int) -> None:
        """A send has ended, and nobody can tell."""
        self._untold.append(_Untold(process, send, operation))

    def find(self, tally: AnomalyCounter, now: int) -> None:
        """What has to wait for the end: sends of which nobody could tell, and failed ones between others."""
        gaps = Gaps(self._facts, tally)
        chains = {where: list(chain) for where, chain in self._chains.items()}
        for each in self._untold:
            chain = chains.setdefault((each.process, each.send.key), [])
            for piece in self._found(each):
                self._insert(chain, (each.process, each.send.key), piece, gaps, now)
        for where, chain in chains.items():
            failed = self._facts.key(where[1]).ended[FAIL].get(client_of(where[0]))
            if failed is None:
                continue
            for one, other in pairwise(chain):
                if failed.within(one.end, other.start) == [(one.end, other.start)]:
                    self._compare(where, one, other, gaps, now)
        gaps.decide(tally)

    def _found(self, each: _Untold) -> list[ValueRun]:
        """Where values are of which nobody told: they were read there, or some of the operation's were."""
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
        """A key is gone."""
        self._chains = {where: chain for where, chain in self._chains.items() if where[1] != key}
        self._untold = [each for each in self._untold if each.send.key != key]

    @property
    def entries(self) -> int:
        """How many pieces are kept."""
        return sum(map(len, self._chains.values())) + len(self._untold)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        chains = [(where, tuple([piece.save() for piece in chain])) for where, chain in self._chains.items()]
        return (tuple(chains), tuple(self._untold))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        chains, untold = saved
        self._chains = {where: [ValueRun(*piece) for piece in chain] for where, chain in chains}
        self._untold = list(untold)


# realtime-lag: how long before a poll it was known that there is more than what it returned.
#
# It is no anomaly but a measure of the other ones' reach: a reader that lags has not seen what it is said to miss.


REALTIME_LAG: Final = "realtime-lag"

_KEPT: Final = 1_024
"""Times per key. Beyond that every second one is forgotten, and lags come out so much shorter."""


_Worst = dict[tuple[str, str], tuple[int, int, int, int]]
"""(client, key) → (polls that lagged, the worst lag, when that was, offset)."""


class Lags:
    """By key since when offsets were known to exist, and by client and key its polls that lagged and the worst lag."""

    __slots__ = ("_at_hand", "_ends", "_times", "_worst")

    def __init__(self) -> None:
        self._ends: dict[str, list[int]] = {}
        self._times: dict[str, list[int]] = {}
        self._at_hand: dict[tuple[str, str], tuple[int, int]] = {}
        """(process, key) → (when called, last offset) of its newest poll."""
        self._worst: _Worst = {}

    def known(self, key: str, end: int, now: int) -> None:
        """Offsets below ``end`` exist, as somebody was told."""
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
        """A poll that was called at ``invoked_us`` has returned up to offset ``last``, and maybe goes on."""
        who = (process, key)
        before = self._at_hand.get(who)
        if before is not None and before[0] != invoked_us:
            self._enter(self._worst, who, before)
        self._at_hand[who] = (invoked_us, last)

    def _enter(self, worst: "_Worst", who: tuple[str, str], poll: tuple[int, int]) -> None:
        """A poll is over. What became known since it was called does not matter to it."""
        invoked_us, last = poll
        key = who[1]
        ends = self._ends.get(key)
        if ends is None or ends[-1] <= last + 1:
            return
        lag = invoked_us - self._times[key][bisect_right(ends, last + 1)]
        if lag > 0:
            client = (client_of(who[0]), key)
            count, most, at, offset = worst.get(client, (0, 0, 0, 0))
            if lag > most:
                most, at, offset = lag, invoked_us, last
            worst[client] = (count + 1, most, at, offset)

    def find(self, tally: AnomalyCounter) -> None:
        """Count polls."""
        worst = dict(self._worst)
        for who, poll in self._at_hand.items():
            self._enter(worst, who, poll)
        for (client, key), (count, most, at, offset) in worst.items():
            words = f"{client} was handed up to offset {offset} of {key}, {most} us after the next was known to exist"
            tally.note(REALTIME_LAG, client, key, Example(at, offset, offset + 1, words), count)

    def forget(self, key: str) -> None:
        """A key is gone."""
        self._at_hand = {who: poll for who, poll in self._at_hand.items() if who[1] != key}
        self._ends.pop(key, None)
        self._times.pop(key, None)

    @property
    def entries(self) -> int:
        """How many times are kept."""
        return sum(map(len, self._ends.values()))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        times = [(key, tuple(ends), tuple(self._times[key])) for key, ends in self._ends.items()]
        return (tuple(times), tuple(self._worst.items()), tuple(self._at_hand.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        times, worst, at_hand = saved
        self._at_hand = dict(at_hand)
        self._ends = {key: list(ends) for key, ends, _times in times}
        self._times = {key: list(each) for key, _ends, each in times}
        self._worst = dict(worst)


# realtime-order: a value was acknowledged at an offset before one that was known when it was sent.
#
# Whatever was acknowledged before a send is in the log by then, so what is sent later must stand behind it.


REALTIME_ORDER: Final = "realtime-order"


class _Way:
    """What one client sends to a key."""

    __slots__ = ("ended", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[int, int]] = deque()
        """(first sequence, highest offset when it was sent), for sends of which not all have ended."""
        self.ended = RangeSet()


class RealtimeOrder:
    """By key the highest offset acknowledged, and by client the highest one at the time of each send under way."""

    __slots__ = ("_high", "_tally", "_ways")

    def __init__(self, tally: AnomalyCounter) -> None:
        self._tally = tally
        self._high: dict[str, int] = {}
        self._ways: dict[tuple[str, str], _Way] = {}
        """By (client, key)."""

    def sent(self, client: str, key: str, sequence: int) -> None:
        """Values from ``sequence`` on are sent."""
        high = self._high.get(key, -1)
        way = self._ways.get((client, key))
        if way is None:
            way = self._ways[client, key] = _Way()
        waiting = way.waiting
        if not waiting or waiting[-1][1] != high:
            waiting.append((sequence, high))

    def acknowledged(self, client: str, key: str, sequence: int, count: int, offset: int, now: int) -> None:
        """... and have come to their end: their client was told that they stand from ``offset`` on."""
        high, who = self._high.get(key, -1), (client, key)
        if offset <= high and who in self._ways:
            self._late(who, sequence, count, offset, now)
        if offset + count - 1 > high:
            self._high[key] = offset + count - 1
        self._end(who, sequence, sequence + count)

    def _late(self, who: tuple[str, str], sequence: int, count: int, offset: int, now: int) -> None:
        """Something behind it was acknowledged before: see whether that was so already when this was sent."""
        starts = [(max(first, sequence), high) for first, high in self._ways[who].waiting]
        for index, (first, high) in enumerate(starts):
            end = starts[index + 1][0] if index + 1 < len(starts) else sequence + count
            late = min(end, sequence + count, sequence + high + 1 - offset) - first
            if late > 0:
                client, key = who
                at = offset + first - sequence
                words = f"record {first} of {client} stands at offset {at}; {high} was acknowledged before it was sent"
                self._tally.note(REALTIME_ORDER, client, key, Example(now, at, high + 1, words), late)

    def ended(self, client: str, key: str, sequence: int, count: int) -> None:
        """Sends have come to their end, whatever that is."""
        self._end((client, key), sequence, sequence + count)

    def _end(self, who: tuple[str, str], start: int, end: int) -> None:
        way = self._ways.get(who)
        if way is None:
            way = self._ways[who] = _Way()
        ends, waiting = way.ended.ends, way.waiting
        if ends and ends[-1] == start:
            ends[-1] = end
        else:
            way.ended.add(start, end)
        while len(waiting) > 1 and waiting[1][0] <= ends[0]:
            waiting.popleft()

    def forget(self, key: str) -> None:
        """A key is gone."""
        self._high.pop(key, None)
        self._ways = {who: way for who, way in self._ways.items() if who[1] != key}

    @property
    def entries(self) -> int:
        """How many sends are remembered."""
        return sum(len(way.waiting) for way in self._ways.values())

    def save(self) -> tuple[Any, ...]:
        """All state."""
        ways = tuple([(who, tuple(way.waiting), way.ended.save()) for who, way in self._ways.items()])
        return (tuple(self._high.items()), ways)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        high, ways = saved
        self._high = dict(high)
        self._ways = {}
        for who, waiting, ended in ways:
            way = self._ways[who] = _Way()
            way.waiting.extend(waiting)
            way.ended = RangeSet.loaded(ended)
