"""Lines of limited throughput: messages go through one after the other, each for as long as its bytes take."""

from typing import Any, NamedTuple

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.shapes import MILLION


class Queued(NamedTuple):
    """A message in a line: its link, wire and place in the kernel's order (0 for any), and how large it is."""

    source: int
    target: int
    wire: int
    order: int
    payload: Payload
    size: int
    wait_us: int
    """How much later than it leaves the line it is sent."""


class Pipe:
    """One of them. Who owns it sees to it that :meth:`pop` is called at :attr:`done_at`, and only then."""

    __slots__ = ("_from_us", "_left", "done_at", "queue", "rate")

    def __init__(self, rate: int) -> None:
        self.rate = rate
        """Bytes per second."""
        self.queue: list[Queued] = []
        """First the one that is under way."""
        self.done_at = -1
        """When the first is through, never at once; -1 for none."""
        self._left = 0
        """Of the first: bytes times a million that were not through yet ..."""
        self._from_us = 0
        """... at this time."""

    def enter(self, message: Queued, now: int) -> bool:
        """Queue up; whether the line was empty."""
        self.queue.append(message)
        if len(self.queue) == 1:
            self._begin(now)
        return len(self.queue) == 1

    def _begin(self, now: int) -> None:
        self._left = self.queue[0].size * MILLION
        self._aim(now)

    def _aim(self, now: int) -> None:
        self._from_us = now
        self.done_at = now + max(1, -(-self._left // self.rate))

    def limit(self, rate: int, now: int) -> None:
        """Another throughput, for the rest of the message that is under way as well."""
        if self.queue:
            self._left = max(0, self._left - (now - self._from_us) * self.rate)
        self.rate = rate
        if self.queue:
            self._aim(now)

    def pop(self, now: int) -> Queued:
        """The first is through; the next one begins."""
        first = self.queue.pop(0)
        if self.queue:
            self._begin(now)
        else:
            self.done_at = -1
        return first

    def take(self, source: int, target: int, now: int) -> list[Queued]:
        """Take a link's messages out, also one that is under way."""
        taken = [each for each in self.queue if (each.source, each.target) == (source, target)]
        if taken:
            first = self.queue[0]
            self.queue = [each for each in self.queue if (each.source, each.target) != (source, target)]
            if not self.queue:
                self.done_at = -1
            elif self.queue[0] is not first:
                self._begin(now)
        return taken

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.rate, tuple(self.queue), self.done_at, self._left, self._from_us)

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "Pipe":
        """Undo of :meth:`save`."""
        pipe = cls(saved[0])
        _rate, queue, pipe.done_at, pipe._left, pipe._from_us = saved
        pipe.queue = [Queued(*each) for each in queue]
        return pipe
