"""Takes a history in, each operation once, and tells which anomalies are in it.

What depends on what somebody will be told later, such as whether a write is lost, is decided at the end; until then the
history is kept as ranges. There are two ways in: :meth:`Anomalies.take` for operations of the language, and the
methods behind it for who has their parts one by one and would rather not make any objects.
"""

from typing import Any, Protocol

from cluster_model.checker.anomalies import rules
from cluster_model.checker.anomalies.anomaly_case import AnomalyCase, AnomalyCounter
from cluster_model.checker.anomalies.cycles import Cycles
from cluster_model.checker.anomalies.index import KeyFacts, KeyIndex, Undecided
from cluster_model.checker.anomalies.operations import (
    ASSIGN,
    COMMITTED,
    CRASH,
    FAIL,
    INFO,
    OK,
    SUBSCRIBE,
    TXN,
    Begin,
    Empty,
    Op,
    Payload,
    ReadOperation,
    Send,
)
from cluster_model.checker.anomalies.order_rules import Gaps, Lags, PollOrder, RealtimeOrder, SendOrder
from cluster_model.checker.anomalies.rules import Consumed, GroupChecks

Reader = tuple[str, str]
"""(process, how it reads): ``assign`` or ``subscribe``, and ``committed`` behind it if it reads committed data only."""


class _Part(Protocol):
    def save(self) -> tuple[Any, ...]: ...
    def load(self, saved: tuple[Any, ...]) -> None: ...


class _Counted(Protocol):
    @property
    def entries(self) -> int: ...


class Anomalies:
    """All of them over one history."""

    __slots__ = (
        "_closed", "_operations", "_parts", "_sent_in_order", "consumed", "cycles", "facts", "gaps", "groups", "lags",
        "polls", "realtime", "tally",
    )  # fmt: skip

    def __init__(self, payload: Payload, empty: Empty | None = None, begin: Begin | None = None) -> None:
        self.tally = AnomalyCounter()
        """What is decided for good."""
        self.facts = KeyIndex(payload, empty, begin)
        self.gaps = Gaps(self.facts, self.tally)
        self.polls = PollOrder(self.gaps, self.tally)
        self._sent_in_order = SendOrder(self.facts, self.gaps)
        self.consumed = Consumed(self.facts)
        self.cycles = Cycles(self.facts)
        self.lags = Lags()
        self.realtime = RealtimeOrder(self.tally)
        self.groups = GroupChecks(self.tally)
        self._operations = 0
        self._closed: tuple[AnomalyCase, ...] | None = None
        self._parts: tuple[_Part, ...] = (
            self.tally, self.facts, self.gaps, self.polls, self._sent_in_order, self.consumed, self.cycles, self.lags,
            self.realtime, self.groups,
        )  # fmt: skip

    # -- operations of the language ---------------------------------------------------------------------------------

    def take(self, op: Op, manner: str = ASSIGN) -> None:
        """An operation has come to its end; ``manner`` is how its process reads."""
        if op.f == CRASH:
            self.over(op.process)
        elif op.f in (ASSIGN, SUBSCRIBE):
            if op.type == OK:
                self.polls.keep(op.process, op.keys)
        else:
            self._operations += 1
            self._take_sends(op)
            self._take_reads(op, manner)
            self.transaction(op, manner)

    def _take_sends(self, op: Op) -> None:
        for send in op.sends:
            self.facts.key(send.key).sends(send.client, send.sequence, send.size)
        if op.type == INFO and op.sends:
            self.facts.undecided.append(Undecided(op.sends))
        for send in op.sends:
            if op.type == OK:
                self.acked(op.process, *send, self._operations, op.time_us)
            else:
                self.ended(op.type, op.process, send, self._operations)

    def _take_reads(self, op: Op, manner: str) -> None:
        self.polls.begin(op.process)
        for read in op.reads:
            if op.type == OK:
                self.polled((op.process, manner), *read, op.invoked_us, op.time_us, moved=read.key in op.moved)
            else:
                self.glimpsed((op.process, manner), read, op.time_us, moved=read.key in op.moved)

    # -- their parts ------------------------------------------------------------------------------------------------

    @property
    def _payload(self) -> Payload:
        return self.facts.payload

    def acked(
        self, process: str, key: str, client: str, sequence: int, count: int, strand: int, offset: int, operation: int,
        now: int,
    ) -> None:  # fmt: skip
        """A send was ok; its offset -1: nobody was told."""
        facts = self.facts.key(key)
        facts.acked(client, sequence, count)
        if offset >= 0:
            facts.observe(strand, offset, offset + count)
            self._sent_in_order.placed(process, key, sequence, count, offset, operation, now)
            self.lags.known(key, offset + count, now)

    def ended(self, outcome: str, process: str, send: Send, operation: int) -> None:
        """A send came to another end."""
        self.facts.key(send.key).end_of(outcome, send.client, send.sequence, send.size)
        if outcome == INFO:
            self._sent_in_order.untold(process, send, operation)

    def polled(
        self, reader: Reader, key: str, strand: int, start: int, end: int, called_us: int, now: int, *,
        moved: bool = False,
    ) -> None:  # fmt: skip
        """A poll that was called at ``called_us`` and was ok has returned something."""
        process, manner = reader
        facts = self.facts.key(key)
        facts.observe(strand, start, end)
        facts.returned(strand, start, end)
        if COMMITTED in manner:
            facts.returned_committed(strand, start, end)
        self.polls.polled(reader, key, strand, start, end, now, moved=moved)
        self.lags.polled(process, key, end - 1, called_us)
        self.lags.known(key, end, now)
        if manner.startswith(SUBSCRIBE):
            self.consumed.polled(process, key, strand, start, end)

    def glimpsed(self, reader: Reader, read: ReadOperation, now: int, *, moved: bool) -> None:
        """A poll that was not ok has returned something all the same: it is in the log, but nobody has seen it."""
        key, strand, start, end = read
        self.facts.key(key).observe(strand, start, end)
        self.polls.polled(reader, key, strand, start, end, now, moved=moved, ok=False)

    def transaction(self, op: Op, manner: str) -> None:
        """Several sends and reads were one operation; its parts are known by themselves."""
        if op.sends and op.reads:
            rules.find_precommitted_reads(op, self._payload, COMMITTED if COMMITTED in manner else "", self.tally)
        if op.f == TXN and op.type != FAIL:
            self.cycles.ended(op, committed_only=COMMITTED in manner)

    def over(self, process: str) -> None:
        """A process is gone."""
        self.polls.over(process)
        self.groups.over(process)

    def deleted(self, key: str, now: int) -> None:
        """A key is gone with all that was in it, on purpose. What was found there so far stays found."""
        self.facts.settle()
        facts = self.facts.keys.get(key)
        if facts is None:
            return
        _find_in(facts, self.tally, now)
        consumed = AnomalyCounter()
        self.consumed.find(consumed, now, key)
        self.tally.add(consumed)
        self.facts.begin_anew(key)
        parts = (self.gaps, self.polls, self._sent_in_order, self.consumed, self.cycles, self.lags, self.realtime)
        for part in (*parts, self.groups):
            part.forget(key)

    # -- what was found ---------------------------------------------------------------------------------------------

    def close(self, now: int) -> None:
        """The history is complete."""
        tally = self._so_far(now)
        for facts in self.facts.keys.values():
            rules.find_lost_writes(facts, tally, now)
            rules.find_unseen_writes(facts, tally, now)
        self._sent_in_order.find(tally, now)
        self.gaps.decide(tally)
        self.cycles.find(tally, now)
        self.lags.find(tally)
        self._closed = tuple(tally.cases())

    def cases(self, now: int) -> tuple[AnomalyCase, ...]:
        """What was found; before the end only what does not depend on it."""
        return self._closed if self._closed is not None else tuple(self._so_far(now).cases())

    def _so_far(self, now: int) -> AnomalyCounter:
        self.facts.settle()
        tally = AnomalyCounter()
        tally.add(self.tally)
        for facts in self.facts.keys.values():
            _find_in(facts, tally, now)
        self.consumed.find(tally, now)
        return tally

    @property
    def entries(self) -> int:
        """How many ranges, offsets and times are kept: what memory goes with."""
        parts: tuple[_Counted, ...] = (
            self.gaps, self.polls, self._sent_in_order, self.consumed, self.cycles, self.lags, self.realtime,
            self.groups, *self.facts.keys.values(),
        )  # fmt: skip
        return sum(part.entries for part in parts)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._operations, self._closed, *[part.save() for part in self._parts])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._operations, self._closed, *states = saved
        for part, state in zip(self._parts, states, strict=True):
            part.load(state)


def _find_in(facts: KeyFacts, tally: AnomalyCounter, now: int) -> None:
    """What of one key can be told at any time."""
    for find in (rules.find_inconsistent_offsets, rules.find_duplicates, rules.find_aborted_reads, rules.find_phantoms):
        find(facts, tally, now)
