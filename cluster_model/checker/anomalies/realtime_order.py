"""realtime-order: a value was acknowledged at an offset before one that was known when it was sent.

Whatever was acknowledged before a send is in the log by then, so what is sent later must stand behind it.
"""

from collections import deque
from typing import Any, Final

from cluster_model.checker.anomalies.cases import Example, Tally
from cluster_model.checker.anomalies.spans import Spans, load_all, save_all

NAME: Final = "realtime-order"


class RealtimeOrder:
    """By key the highest offset acknowledged, and by client the highest one at the time of each send under way."""

    __slots__ = ("_ended", "_high", "_tally", "_under_way")

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._high: dict[str, int] = {}
        self._under_way: dict[tuple[str, str], deque[tuple[int, int]]] = {}
        """(client, key) → (first sequence, highest offset when it was sent), for sends of which not all have ended."""
        self._ended: dict[tuple[str, str], Spans] = {}

    def sent(self, client: str, key: str, sequence: int) -> None:
        """Values from ``sequence`` on are sent."""
        high = self._high.get(key, -1)
        waiting = self._under_way.get((client, key))
        if waiting is None:
            waiting = self._under_way[client, key] = deque()
        if not waiting or waiting[-1][1] != high:
            waiting.append((sequence, high))

    def acknowledged(self, client: str, key: str, sequence: int, count: int, offset: int, now: int) -> None:
        """... and were told to stand from ``offset`` on."""
        high = self._high.get(key, -1)
        if offset <= high:
            self._late((client, key), sequence, count, offset, now)
        if offset + count - 1 > high:
            self._high[key] = offset + count - 1

    def _late(self, who: tuple[str, str], sequence: int, count: int, offset: int, now: int) -> None:
        """Something behind it was acknowledged before: see whether that was so already when this was sent."""
        starts = [(max(first, sequence), high) for first, high in self._under_way.get(who, ())]
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
        who = (client, key)
        spans = self._ended.get(who)
        if spans is None:
            spans = self._ended[who] = Spans()
        if not spans.extend(sequence, sequence + count):
            spans.add(sequence, sequence + count)
        waiting = self._under_way.get(who)
        below = spans.ends[0]
        while waiting and len(waiting) > 1 and waiting[1][0] <= below:
            waiting.popleft()

    def forget(self, key: str) -> None:
        """A key is gone."""
        self._high.pop(key, None)
        self._under_way = {who: waiting for who, waiting in self._under_way.items() if who[1] != key}
        self._ended = {who: spans for who, spans in self._ended.items() if who[1] != key}

    @property
    def entries(self) -> int:
        """How many sends are remembered."""
        return sum(map(len, self._under_way.values()))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        under_way = tuple([(who, tuple(each)) for who, each in self._under_way.items()])
        return (tuple(self._high.items()), under_way, save_all(self._ended))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        high, under_way, ended = saved
        self._ended = load_all(ended)
        self._high = dict(high)
        self._under_way = {who: deque(each) for who, each in under_way}
