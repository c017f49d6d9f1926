"""The trace: every event in order, to the checker at once and to everybody else on request, and its digest."""

import hashlib
import marshal
from collections.abc import Callable, Mapping
from typing import Any, Final

from cluster_model.protocol.events import Event, TraceEvent

_ENCODING: Final = 2
"""Version of marshal's format: the last one whose bytes depend on nothing but the values."""

NARRATION: Final = frozenset({"step_taken", "expectation_checked"})
"""Kinds that say what a playbook did and found, not what happened: the digest leaves them out, so that a session and
the playbook made of it have the same."""

ASKED: Final = frozenset({"admin_requested", "admin_answered"})
"""Kinds that also say who asked: a step or an operator, who does the same in its place. The digest leaves out their
field ``by``."""
_TOLD: Final = NARRATION | ASKED

Observer = Callable[[Any], None]


def _untold(event: Event) -> bytes:
    """What counts of an event that also tells who acted."""
    if event.kind in NARRATION:
        return b""
    told = tuple(["" if name == "by" else getattr(event, name) for name in event.fields()])
    return marshal.dumps((event.kind, told), _ENCODING)


def _nobody(_event: TraceEvent) -> None:
    """There is no observer."""


class Trace:
    """Events since the last drain, and a digest over all that ever were."""

    __slots__ = ("_before", "_digest", "_events", "_folded", "_listeners", "_observe", "emit")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._digest = hashlib.blake2b(digest_size=16)
        self._folded = 0
        self._before = 0
        """Events that were drained."""
        self._listeners: dict[type[TraceEvent], Observer] = {}
        self._observe: Observer = _nobody
        self.emit = self._emitter()
        """Adds an event: a function for itself, because it is called several times for every batch."""

    def _emitter(self) -> Callable[[Event], None]:
        events, listen = self._events.append, self._listeners.get

        def emit(event: Event) -> None:
            events(event)
            listener = listen(type(event))
            if listener is None:
                self._observe(event)
            else:
                listener(event)

        return emit

    @property
    def count(self) -> int:
        """Events so far."""
        return self._before + len(self._events)

    def set_observer(self, observe: Observer, listeners: Mapping[type[TraceEvent], Observer]) -> None:
        """Who hears each event in the state that it left behind; ``listeners`` take theirs in the observer's place."""
        self._observe = observe
        self._listeners.clear()
        self._listeners.update(listeners)

    def drain(self) -> list[Event]:
        """Events since the last drain."""
        self._fold()
        drained = self._events.copy()
        self._events.clear()
        self._before += len(drained)
        self._folded = 0
        return drained

    def _fold(self) -> None:
        """An explicit encoding of kinds and values: the same on every interpreter and for every way of draining."""
        fresh = self._events[self._folded :] if self._folded else self._events
        if fresh:
            encoded = [
                marshal.dumps((event.kind, event.values()), _ENCODING) if event.kind not in _TOLD else _untold(event)
                for event in fresh
            ]
            self._digest.update(b"".join(encoded))
            self._folded = len(self._events)

    def digest(self, now: int, executed: int) -> str:
        """Over every event so far but the :data:`NARRATION`, the clock and the number of kernel events.

        Who asked for an operation, an operator or which step, makes no difference to it.
        """
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
        digest, events, count = saved
        self._digest = digest.copy()
        self._events[:] = events
        self._before = count - len(self._events)
        self._folded = len(events)
