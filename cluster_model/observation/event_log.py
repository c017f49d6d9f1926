"""The event log: every event in order, for the checker at once and for others on request, and its digest."""

import hashlib
import marshal
from collections.abc import Callable, Mapping
from typing import Any, Final

from cluster_model.protocol.events import Event, TraceEvent

_ENCODING: Final = 2
"""Version of marshal's format: the last one whose bytes depend only on the values."""

PLAYBOOK_KINDS: Final = frozenset({"step_taken", "expectation_checked"})
"""Event kinds of a playbook's own steps and results; the digest excludes them.

A session and the playbook made of it therefore have the same digest.
"""

REQUESTED_KINDS: Final = frozenset({"admin_requested", "admin_answered"})
"""Event kinds with a requester, a step or an operator; the digest excludes their field ``by``."""
_SPECIAL_KINDS: Final = PLAYBOOK_KINDS | REQUESTED_KINDS

Observer = Callable[[Any], None]


def _encode_without_requester(event: Event) -> bytes:
    """Return the bytes of an event that count for the digest, without its requester."""
    if event.kind in PLAYBOOK_KINDS:
        return b""
    values = tuple(["" if name == "by" else getattr(event, name) for name in event.fields()])
    return marshal.dumps((event.kind, values), _ENCODING)


def _ignore(_event: TraceEvent) -> None:
    """Ignore an event, as there is no observer."""


class EventLog:
    """Events since the last drain, and a digest of all events."""

    __slots__ = ("_before", "_digest", "_events", "_folded", "_listeners", "_observe", "emit")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._digest = hashlib.blake2b(digest_size=16)
        self._folded = 0
        self._before = 0
        """Number of drained events."""
        self._listeners: dict[type[TraceEvent], Observer] = {}
        self._observe: Observer = _ignore
        self.emit = self._emitter()
        """Adds an event: a stored function, because it is called several times for every batch."""

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
        """Number of events so far."""
        return self._before + len(self._events)

    def set_observer(self, observe: Observer, listeners: Mapping[type[TraceEvent], Observer]) -> None:
        """Set the observer, called with each event at once; ``listeners`` replace it for their event types."""
        self._observe = observe
        self._listeners.clear()
        self._listeners.update(listeners)

    def drain(self) -> list[Event]:
        """Return the events since the last drain."""
        self._fold()
        drained = self._events.copy()
        self._events.clear()
        self._before += len(drained)
        self._folded = 0
        return drained

    def _fold(self) -> None:
        """Add events to the digest by an explicit encoding, independent of the interpreter and of drains."""
        fresh = self._events[self._folded :] if self._folded else self._events
        if fresh:
            encoded = [
                marshal.dumps((event.kind, event.values()), _ENCODING)
                if event.kind not in _SPECIAL_KINDS
                else _encode_without_requester(event)
                for event in fresh
            ]
            self._digest.update(b"".join(encoded))
            self._folded = len(self._events)

    def digest(self, now: int, executed: int) -> str:
        """Return the digest of all events except :data:`PLAYBOOK_KINDS`, of the clock and the number of kernel events.

        The requester of an operation, an operator or a step, does not affect it.
        """
        self._fold()
        whole = self._digest.copy()
        whole.update(f"{now} {executed}".encode())
        return whole.hexdigest()

    def save(self) -> tuple[Any, ...]:
        """Return all state, including events not yet drained."""
        self._fold()
        return (self._digest.copy(), tuple(self._events), self.count)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        digest, events, count = saved
        self._digest = digest.copy()
        self._events[:] = events
        self._before = count - len(self._events)
        self._folded = len(events)
