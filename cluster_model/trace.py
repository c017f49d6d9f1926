"""The trace: every event in order, to the checker at once and to everybody else on request, and its digest."""

import hashlib
from collections.abc import Callable
from typing import Any

from cluster_model.events import Event


class Trace:
    """Events since the last drain, and a digest over all that ever were."""

    __slots__ = ("_digest", "_events", "_folded", "_observe", "count")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._digest = hashlib.blake2b(digest_size=16)
        self._folded = 0
        self._observe: Callable[[Event], None] | None = None
        self.count = 0
        """Events so far."""

    def set_observer(self, observe: Callable[[Event], None]) -> None:
        """Who hears each event in the state that it left behind."""
        self._observe = observe

    def emit(self, event: Event) -> None:
        """Add an event."""
        self._events.append(event)
        self.count += 1
        if self._observe is not None:
            self._observe(event)

    def drain(self) -> list[Event]:
        """Events since the last drain."""
        self._fold()
        drained, self._events = self._events, []
        self._folded = 0
        return drained

    def _fold(self) -> None:
        """An explicit encoding of kinds and values: the same on every interpreter and for every way of draining."""
        fresh = self._events[self._folded :]
        if fresh:
            lines = "".join([f"{event.kind}{event.values()!r}\n" for event in fresh])
            self._digest.update(lines.encode())
            self._folded = len(self._events)

    def digest(self, now: int, executed: int) -> str:
        """Over every event so far, the clock and the number of kernel events."""
        self._fold()
        whole = self._digest.copy()
        whole.update(f"{now} {executed}".encode())
        return whole.hexdigest()

    def save(self) -> tuple[Any, ...]:
        """All state; events not yet drained are kept too."""
        self._fold()
        return (self._digest.copy(), tuple(self._events), self.count)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        digest, events, self.count = saved
        self._digest = digest.copy()
        self._events = list(events)
        self._folded = len(events)
