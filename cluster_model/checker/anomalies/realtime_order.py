"""realtime-order: a value was acknowledged at an offset before one that was known when it was sent.

Whatever was acknowledged before a send is in the log by then, so what is sent later must stand behind it.
"""

from collections import deque
from typing import Any, Final

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.util.spans import Spans

NAME: Final = "realtime-order"


class _Way:
    """What one client sends to a key."""

    __slots__ = ("ended", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[int, int]] = deque()
        """(first sequence, highest offset when it was sent), for sends of which not all have ended."""
        self.ended = Spans()


class RealtimeOrder:
    """By key the highest offset acknowledged, and by client the highest one at the time of each send under way."""

    __slots__ = ("_high", "_tally", "_ways")

    def __init__(self, tally: Tally) -> None:
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
                self._tally.note(NAME, client, key, Example(now, at, high + 1, words), late)

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
            way.ended = Spans.loaded(ended)
