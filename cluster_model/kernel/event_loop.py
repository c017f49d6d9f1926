"""The event loop: integer time, a heap of plain-data events, a table of handlers.

An event is ``(time, order, kind, target, payload)``. Time and order are unique together, so nothing behind them is
ever compared. Ordinary events are ordered by submission; those of a *lane* come after all ordinary ones of the same
microsecond, by lane, whenever they were submitted: what is left out and made up for later falls into its place.
Events hold no reference to live objects, so the queue can be copied, printed and compared, and a snapshot is a copy of
a list. Nothing is cancelled by removal: a handler checks that its event still means something.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Final

Payload = tuple[Any, ...]
KernelEvent = tuple[int, int, int, int, Payload]
Handler = Callable[[int, Payload], None]
"""Called with the event's target and payload; ``Kernel.now`` is the event's time."""

KernelState = tuple[int, int, int, int, tuple[int, int], tuple[KernelEvent, ...]]

LANES: Final = 1 << 56
"""Orders from here on belong to lanes; ordinary ones never get this far."""
FIRST: Final = -1 << 60
"""Orders from here on belong to what goes before everything of its microsecond; none of them gets as far as 0."""
LAST: Final = 1 << 58
"""Behind every order of a microsecond: all that was due has been handled."""


class _Halted(Exception):  # noqa: N818 - a signal, not an error
    """The queue has come to the end of what was asked for."""


def _halt(_target: int, _payload: Payload) -> None:
    raise _Halted


class Kernel:
    """Clock and queue. Times are microseconds since the session began."""

    __slots__ = ("_behind", "_handlers", "_heap", "_laned", "_sequence", "now", "order")

    def __init__(self, handlers: tuple[Handler, ...]) -> None:
        """``handlers[kind]`` handles the events of that kind."""
        self.now = 0
        self.order = 0
        """Of the event that is being handled, or was the last."""
        self._behind = (-1, 0)
        """(time, order) of a lane in which an ordinary event was put at that very time: it comes late."""
        self._sequence = 0
        self._laned = 0
        self._heap: list[KernelEvent] = []
        self._handlers = (*handlers, _halt)

    def after(self, delay: int, kind: int, target: int, payload: Payload) -> None:
        """Put an event at ``delay`` from now."""
        if delay <= 0:
            self._at_once(self.now + delay)
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (self.now + delay, sequence, kind, target, payload))

    def schedule(self, at: int, kind: int, target: int, payload: Payload) -> None:
        """Put an event at an absolute time, which must not be before now."""
        if at <= self.now:
            self._at_once(at)
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (at, sequence, kind, target, payload))

    def schedule_first(self, kind: int, target: int, payload: Payload) -> None:
        """Put an event at this very time, before whatever is still to come in it but for what was put there so."""
        self._at_once(self.now)
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (self.now, FIRST + sequence, kind, target, payload))

    def _at_once(self, at: int) -> None:
        """An ordinary event for this very time, or for one that is over, which is refused."""
        if at < self.now:
            raise ValueError(f"event for {at} us submitted at {self.now} us: the past is closed")
        if self.order >= LANES:
            self._behind = (self.now, self.reached)

    @property
    def reached(self) -> int:
        """Whatever is of a lane and comes before this at this time is over."""
        at, order = self._behind
        return max(order, self.order) if at == self.now else self.order

    def schedule_in_lane(self, at: int, order: int, kind: int, target: int, payload: Payload) -> None:
        """Put an event at an absolute time and place; ``order`` is from LANES on, and no other event's at that time."""
        if at < self.now:
            raise ValueError(f"event for {at} us submitted at {self.now} us: the past is closed")
        self._laned += 1
        heappush(self._heap, (at, order, kind, target, payload))

    def void(self, kind: int, meant: Callable[[int, int, Payload], bool], since: int = 0) -> None:
        """Let what waits, from ``since`` on, come to nothing where it is ``meant`` (by kind, target and payload).

        Each becomes an event of ``kind`` with nothing in it: it keeps its place, and counts as one that was handled.
        """
        heap = self._heap
        for place, (at, order, what, target, payload) in enumerate(heap):
            if at >= since and meant(what, target, payload):
                heap[place] = (at, order, kind, target, ())

    def next_at(self) -> int:
        """Time of the next event, -1 when there is none."""
        return self._heap[0][0] if self._heap else -1

    @property
    def executed(self) -> int:
        """Events handled so far: all that were ever submitted and wait no longer."""
        return self._sequence + self._laned - len(self._heap)

    @property
    def pending(self) -> int:
        """Events waiting."""
        return len(self._heap)

    def waiting(self) -> tuple[KernelEvent, ...]:
        """All events that wait, in no order: for who looks on."""
        return tuple(self._heap)

    def step(self) -> bool:
        """Handle one event; False when there was none.

        A time at which nothing is left to do is over, so that clock and count alone say where one stands.
        """
        if not self._heap:
            return False
        self.now, self.order, kind, target, payload = heappop(self._heap)
        self._handlers[kind](target, payload)
        if not self._heap or self._heap[0][0] > self.now:
            self.order = LAST
        return True

    def run_until(self, until: int) -> None:
        """Handle everything due up to and including ``until``, then stand exactly there."""
        if until < self.now:
            return
        heap = self._heap
        handlers = self._handlers
        # A last event that ends the run spares every other one the question whether it is still due.
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
        """Move the clock without handling anything; never backwards, never past a pending event."""
        if self._heap and self._heap[0][0] <= until:
            raise ValueError(f"an event is due at {self._heap[0][0]} us, before {until} us")
        self.now = max(self.now, until)
        self.order = LAST

    def save(self) -> KernelState:
        """Clock, counters and queue."""
        return (self.now, self.order, self._sequence, self._laned, self._behind, tuple(self._heap))

    def load(self, saved: KernelState) -> None:
        """Stand exactly where :meth:`save` stood. The queue list itself is kept: callers may hold it."""
        self.now, self.order, self._sequence, self._laned, self._behind, heap = saved
        self._heap[:] = heap
