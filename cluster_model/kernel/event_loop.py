"""The event loop: integer time, a heap of plain-data events, a table of handlers.

An event is ``(time, order, kind, target, payload)``. Time and order are unique together, so the rest is never compared.
Ordinary events are ordered by submission; those of a *lane* come after all ordinary ones of the same microsecond, by
lane, regardless of when they were submitted: an event that was skipped and is added later still gets its position.
Events hold no reference to live objects, so the queue can be copied, printed and compared, and a snapshot is a copy of
a list. Events are never removed to cancel them: a handler checks whether its event still applies.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Final

Payload = tuple[Any, ...]
KernelEvent = tuple[int, int, int, int, Payload]
Handler = Callable[[int, Payload], None]
"""Called with the event's target and payload; ``EventLoop.now`` is the event's time."""

KernelState = tuple[int, int, int, int, tuple[int, int], tuple[KernelEvent, ...]]

LANES: Final = 1 << 56
"""First order of lanes; ordinary events never reach it."""
FIRST: Final = -1 << 60
"""First order of events that come before all others of their microsecond; they never reach 0."""
LAST: Final = 1 << 58
"""Order after every event of a microsecond: everything due has been handled."""


class _Halted(Exception):  # noqa: N818 - a signal, not an error
    """Raised by the event that ends :meth:`EventLoop.run_until`."""


def _halt(_target: int, _payload: Payload) -> None:
    raise _Halted


class EventLoop:
    """Clock and event queue; times are microseconds since the start of the session."""

    __slots__ = ("_handlers", "_heap", "_laned", "_late_order", "_sequence", "now", "order")

    def __init__(self, handlers: tuple[Handler, ...]) -> None:
        """Start at time 0; ``handlers[kind]`` handles the events of that kind."""
        self.now = 0
        self.order = 0
        """Order of the current or last event."""
        self._late_order = (-1, 0)
        """(time, order) at which an ordinary event was added while a lane's event was handled: it comes late."""
        self._sequence = 0
        self._laned = 0
        self._heap: list[KernelEvent] = []
        self._handlers = (*handlers, _halt)

    def after(self, delay: int, kind: int, target: int, payload: Payload) -> None:
        """Schedule an event after ``delay`` microseconds."""
        if delay <= 0:
            self._check_now(self.now + delay)
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (self.now + delay, sequence, kind, target, payload))

    def schedule(self, at: int, kind: int, target: int, payload: Payload) -> None:
        """Schedule an event at an absolute time, which must not be before now."""
        if at <= self.now:
            self._check_now(at)
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (at, sequence, kind, target, payload))

    def schedule_first(self, kind: int, target: int, payload: Payload) -> None:
        """Schedule an event now, before all others of this microsecond except those scheduled the same way."""
        self._check_now(self.now)
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (self.now, FIRST + sequence, kind, target, payload))

    def _check_now(self, at: int) -> None:
        """Check an ordinary event for this microsecond or earlier; an earlier one is rejected."""
        if at < self.now:
            raise ValueError(f"event for {at} us scheduled at {self.now} us, which is later")
        if self.order >= LANES:
            self._late_order = (self.now, self.reached)

    @property
    def reached(self) -> int:
        """Order before which all lane events of the current time are over."""
        at, order = self._late_order
        return max(order, self.order) if at == self.now else self.order

    def schedule_in_lane(self, at: int, order: int, kind: int, target: int, payload: Payload) -> None:
        """Schedule an event at an absolute time and order; ``order`` is from LANES on, and unique at that time."""
        if at < self.now:
            raise ValueError(f"event for {at} us scheduled at {self.now} us, which is later")
        self._laned += 1
        heappush(self._heap, (at, order, kind, target, payload))

    def void(self, kind: int, meant: Callable[[int, int, Payload], bool]) -> None:
        """Void the pending events for which ``meant`` is True (by kind, target and payload).

        Each becomes an empty event of ``kind``: it keeps its position, and counts as handled.
        """
        heap = self._heap
        for index, (at, order, event_kind, target, payload) in enumerate(heap):
            if meant(event_kind, target, payload):
                heap[index] = (at, order, kind, target, ())

    def next_at(self) -> int:
        """Return the time of the next event, -1 if there is none."""
        return self._heap[0][0] if self._heap else -1

    @property
    def executed(self) -> int:
        """Number of events handled so far: those submitted that are not pending."""
        return self._sequence + self._laned - len(self._heap)

    @property
    def pending(self) -> int:
        """Number of pending events."""
        return len(self._heap)

    def waiting(self) -> tuple[KernelEvent, ...]:
        """Return all pending events, unordered, for observers."""
        return tuple(self._heap)

    def step(self) -> bool:
        """Handle one event; False if there was none.

        A time without further events is over, so that clock and event count alone identify a position.
        """
        if not self._heap:
            return False
        self.now, self.order, kind, target, payload = heappop(self._heap)
        self._handlers[kind](target, payload)
        if not self._heap or self._heap[0][0] > self.now:
            self.order = LAST
        return True

    def run_until(self, until: int) -> None:
        """Handle everything due up to and including ``until``; the clock is then exactly there."""
        if until < self.now:
            return
        heap = self._heap
        handlers = self._handlers
        # A last event that ends the run is cheaper than checking the end time for every event.
        end = (until, LAST, len(handlers) - 1, 0, ())
        self._laned += 1
        heappush(heap, end)
        try:
            while True:
                self.now, self.order, kind, target, payload = heappop(heap)
                handlers[kind](target, payload)
        except _Halted:
            pass
        finally:
            self._laned -= 1
            if self.order != LAST:
                heap.remove(end)
                heapify(heap)

    def advance(self, until: int) -> None:
        """Advance the clock without handling anything; never backwards, never past a pending event."""
        if self._heap and self._heap[0][0] <= until:
            raise ValueError(f"an event is due at {self._heap[0][0]} us, before {until} us")
        self.now = max(self.now, until)
        self.order = LAST

    def save(self) -> KernelState:
        """Return clock, counters and queue."""
        return (self.now, self.order, self._sequence, self._laned, self._late_order, tuple(self._heap))

    def load(self, saved: KernelState) -> None:
        """Restore the state returned by :meth:`save`. The queue list object stays, as callers may hold it."""
        self.now, self.order, self._sequence, self._laned, self._late_order, heap = saved
        self._heap[:] = heap
