"""The event kernel: integer time, a heap of plain-data events, a table of handlers.

An event is ``(time, sequence, kind, target, payload)``. Time and sequence are unique together, so nothing behind them
is ever compared and ties fall in order of submission. Events hold no reference to live objects, so the queue can be
copied, printed and compared, and a snapshot is a copy of a list. Nothing is cancelled by removal: a handler checks
that its event still means something.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Payload = tuple[Any, ...]
KernelEvent = tuple[int, int, int, int, Payload]
Handler = Callable[[int, Payload], None]
"""Called with the event's target and payload; ``Kernel.now`` is the event's time."""

KernelState = tuple[int, int, tuple[KernelEvent, ...]]


class Kernel:
    """Clock and queue. Times are microseconds since the session began."""

    __slots__ = ("_handlers", "_heap", "_sequence", "now")

    def __init__(self, handlers: tuple[Handler, ...]) -> None:
        """``handlers[kind]`` handles the events of that kind."""
        self.now = 0
        self._sequence = 0
        self._heap: list[KernelEvent] = []
        self._handlers = handlers

    def schedule(self, at: int, kind: int, target: int, payload: Payload) -> None:
        """Put an event at an absolute time, which must not be before now."""
        if at < self.now:
            raise ValueError(f"event for {at} us submitted at {self.now} us: the past is closed")
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (at, sequence, kind, target, payload))

    def next_at(self) -> int:
        """Time of the next event, -1 when there is none."""
        return self._heap[0][0] if self._heap else -1

    @property
    def executed(self) -> int:
        """Events handled so far: all that were ever submitted and wait no longer."""
        return self._sequence - len(self._heap)

    @property
    def pending(self) -> int:
        """Events waiting."""
        return len(self._heap)

    def step(self) -> bool:
        """Handle one event; False when there was none."""
        if not self._heap:
            return False
        event = heappop(self._heap)
        self.now = event[0]
        self._handlers[event[2]](event[3], event[4])
        return True

    def run_until(self, until: int) -> None:
        """Handle everything due up to and including ``until``, then stand exactly there."""
        heap = self._heap
        handlers = self._handlers
        while heap and heap[0][0] <= until:
            self.now, _sequence, kind, target, payload = heappop(heap)
            handlers[kind](target, payload)
        self.advance(until)

    def advance(self, until: int) -> None:
        """Move the clock without handling anything; never backwards, never past a pending event."""
        if self._heap and self._heap[0][0] <= until:
            raise ValueError(f"an event is due at {self._heap[0][0]} us, before {until} us")
        self.now = max(self.now, until)

    def save(self) -> KernelState:
        """Clock, counters and queue."""
        return (self.now, self._sequence, tuple(self._heap))

    def load(self, saved: KernelState) -> None:
        """Stand exactly where :meth:`save` stood. The queue list itself is kept: callers may hold it."""
        self.now, self._sequence, heap = saved
        self._heap[:] = heap
