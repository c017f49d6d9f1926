"""A member's timers (``Heartbeat``): when the next heartbeat is due, how long the coordinator has been silent."""

from typing import Any

from cluster_model.clients.consumer.config import GroupSettings


class Heartbeat:
    """Times in virtual µs."""

    __slots__ = ("_asked", "_heard_at", "_next_at", "_settings", "running")

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self.running = False
        self._next_at = 0
        self._heard_at = 0
        self._asked = 0
        """Correlation of the one under way, 0 for none."""

    def start(self, now: int) -> None:
        """The member has joined."""
        self.running = True
        self._heard_at = now
        self._next_at = now + self._settings.heartbeat_us
        self._asked = 0

    def stop(self) -> None:
        """It joins anew, or is none; whatever is under way is of no interest."""
        self.running = False

    def due_now(self, now: int) -> bool:
        """Whether the next one is to be sent."""
        return self.running and not self._asked and now >= self._next_at

    def session_over(self, now: int) -> bool:
        """Whether nothing was heard for a whole session: the coordinator is looked for anew."""
        return self.running and now - self._heard_at >= self._settings.session_us

    def sent(self, now: int, correlation: int) -> None:
        """One is under way; the next is due an interval after it."""
        self._asked = correlation
        self._next_at = now + self._settings.heartbeat_us

    def expects(self, correlation: int) -> bool:
        """Whether that one is under way."""
        return self.running and self._asked == correlation

    def heard(self, now: int) -> None:
        """The session begins anew, whatever is under way."""
        self._heard_at = now

    def answered(self, now: int) -> None:
        """The coordinator knows the member."""
        self._asked = 0
        self._heard_at = now

    def failed(self, now: int) -> None:
        """It was refused or lost: the next one after the back-off."""
        self._asked = 0
        self._next_at = now + self._settings.backoff_us

    def due(self) -> int:
        """When something is to be looked at, -1 never."""
        if not self.running:
            return -1
        over = self._heard_at + self._settings.session_us
        return over if self._asked else min(over, self._next_at)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.running, self._next_at, self._heard_at, self._asked)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.running, self._next_at, self._heard_at, self._asked = saved
