"""Sessions as the leader tracks them (``SessionTrackerImpl``, ``ExpiryQueue``). Sans-IO.

A session expires at the first multiple of the tick after its timeout has passed since the leader last heard of it, so
between one timeout and one timeout and a tick. Nothing ticks: a session's deadline is a number, and the leader's alarm
stands for the earliest.
"""

from typing import Any


class SessionTracker:
    """Deadlines of all sessions, and which of its client's connections each belongs to."""

    __slots__ = ("_deadlines", "_owners", "_tick_us", "_timeouts")

    def __init__(self, tick_us: int) -> None:
        self._tick_us = tick_us
        self._timeouts: dict[int, int] = {}
        self._deadlines: dict[int, int] = {}
        self._owners: dict[int, int] = {}

    def add(self, session: int, timeout_us: int, now: int, attempt: int = 0) -> None:
        """A session begins, or a new leader takes it over with a full timeout."""
        self._timeouts[session] = timeout_us
        self._owners[session] = attempt
        self.touch(session, now)

    def touch(self, session: int, now: int) -> None:
        """Its client was heard of; too late for one that is over."""
        timeout_us = self._timeouts.get(session)
        if timeout_us is not None:
            self._deadlines[session] = (now + timeout_us) // self._tick_us * self._tick_us + self._tick_us

    def reopen(self, session: int, attempt: int, now: int) -> int:
        """Its client has reconnected: the timeout, 0 when the session is over."""
        if session not in self._timeouts:
            return 0
        self._owners[session] = max(attempt, self._owners[session])
        self.touch(session, now)
        return self._timeouts[session]

    def moved(self, session: int, attempt: int) -> bool:
        """Whether its client has since come over a newer connection (``SessionMovedException``)."""
        return attempt < self._owners.get(session, 0)

    def remove(self, session: int) -> None:
        """It is over."""
        self._timeouts.pop(session, None)
        self._deadlines.pop(session, None)
        self._owners.pop(session, None)

    def due(self, now: int) -> list[int]:
        """Sessions to expire now, the earliest first."""
        late = [(deadline, session) for session, deadline in self._deadlines.items() if deadline <= now]
        return [session for _deadline, session in sorted(late)]

    def next_at(self) -> int:
        """The earliest deadline, -1 without sessions."""
        return min(self._deadlines.values(), default=-1)

    def clear(self) -> None:
        """Not a leader any more."""
        self._timeouts.clear()
        self._deadlines.clear()
        self._owners.clear()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple([(s, t, self._deadlines[s], self._owners[s]) for s, t in self._timeouts.items()])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.clear()
        for session, timeout_us, deadline, owner in saved:
            self._timeouts[session] = timeout_us
            self._deadlines[session] = deadline
            self._owners[session] = owner
