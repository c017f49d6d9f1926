"""int-nonmonotonic-send, int-send-skip, nonmonotonic-send: what a process sends does not stand in the order of sending.

A client numbers what it sends, so its order is known however its sends overlap; failed ones are left out. Inside a
transaction consecutive values of a key are held against each other (``int-``), otherwise each value against the one
that its process sent to the key before. The place of a value is the offset that its sender was told, or where it was
read if nobody was told.
"""

from bisect import bisect_right
from itertools import pairwise
from typing import Any, Final, NamedTuple

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.checker.anomalies.gaps import Gaps, Step
from cluster_model.checker.anomalies.index import Facts
from cluster_model.checker.anomalies.operations import FAIL, Send
from cluster_model.checker.anomalies.poll_order import client_of
from cluster_model.util.spans import Spans

BACK: Final = "nonmonotonic-send"
INSIDE_BACK: Final = f"int-{BACK}"
INSIDE_SKIP: Final = "int-send-skip"

_Chain = tuple[str, str]
"""(process, key)."""


class Piece:
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

    def __init__(self, facts: Facts, gaps: Gaps) -> None:
        self._facts = facts
        self._gaps = gaps
        self._chains: dict[_Chain, list[Piece]] = {}
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
        self._insert(chain, (process, key), Piece(sequence, end, offset, last, operation), self._gaps, now)

    def _insert(self, chain: list[Piece], where: _Chain, piece: Piece, gaps: Gaps, now: int) -> None:
        index = bisect_right(chain, piece.start, key=lambda each: each.start)
        before = chain[index - 1] if index else None
        after = chain[index] if index < len(chain) else None
        if (before is not None and before.end > piece.start) or (after is not None and after.start < piece.end):
            return  # Sent again under the same numbers: its first place stands.
        if before is not None and before.end == piece.start:
            self._compare(where, before, piece, gaps, now)
            piece = Piece(before.start, piece.end, before.first, piece.last, piece.operation)
            index -= 1
            del chain[index]
        if after is not None and after.start == piece.end:
            self._compare(where, piece, after, gaps, now)
            piece = Piece(piece.start, after.end, piece.first, after.last, after.operation)
            del chain[index]
        chain.insert(index, piece)

    def _compare(self, where: _Chain, one: Piece, other: Piece, gaps: Gaps, now: int) -> None:
        """The last value of one piece and the first of the other follow each other."""
        process, key = where
        client = client_of(process)
        inside = one.operation == other.operation >= 0
        if other.first > one.last:
            if inside and other.first > one.last + 1:
                gaps.took(Step(INSIDE_SKIP, client, key, "", one.last, other.first), now)
            return
        words = f"record {other.start} of {client} stands at offset {other.first}, and the one before it at {one.last}"
        example = Example(now, other.first, one.last + 1, words)
        gaps.tally.note(INSIDE_BACK if inside else BACK, client, key, example)

    def untold(self, process: str, send: Send, operation: int) -> None:
        """A send has ended, and nobody can tell."""
        self._untold.append(_Untold(process, send, operation))

    def find(self, tally: Tally, now: int) -> None:
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

    def _found(self, each: _Untold) -> list[Piece]:
        """Where values are of which nobody told: they were read there, or some of the operation's were."""
        send = each.send
        facts = self._facts.key(send.key)
        wanted = Spans()
        wanted.add(send.sequence, send.sequence + send.size)
        at: dict[int, int] = {}
        for place in facts.places({send.client: wanted}):
            for index in range(place.size):
                number = place.sequence + index
                at[number] = max(at.get(number, -1), place.offset + index)
        return [Piece(number, number + 1, at[number], at[number], each.operation) for number in sorted(at)]

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
        self._chains = {where: [Piece(*piece) for piece in chain] for where, chain in chains}
        self._untold = list(untold)
