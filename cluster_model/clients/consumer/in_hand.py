"""What an application has been handed and has not processed yet: in its poll loop, or queued for another thread."""

from collections.abc import Iterable
from typing import Any

from cluster_model.clients.consumer.fetcher import Handed

Left = tuple[str, int, int]
"""(partition, first offset, how many)."""


class InHand:
    """Records of the last poll, and those that another thread is to process, with the time at which it will have."""

    __slots__ = ("_polled", "_queued")

    def __init__(self) -> None:
        self._polled: tuple[Left, ...] = ()
        self._queued: tuple[tuple[int, Left], ...] = ()

    def take(self, handed: Iterable[Handed]) -> None:
        """A poll has ended with these."""
        self._polled = tuple([(each.partition, each.start, each.records) for each in handed])

    def done(self) -> None:
        """They have been processed."""
        self._polled = ()

    def keep(self, left: tuple[Left, ...]) -> None:
        """Of the last poll's only these have not been processed."""
        self._polled = left

    def pass_on(self, now: int, duration_us: int) -> None:
        """Queue them for another thread, which takes so long for them when it comes to them."""
        self._queued = tuple([each for each in self._queued if each[0] > now])
        done_at = max([now, *[at for at, _left in self._queued]]) + duration_us
        self._queued += tuple([(done_at, left) for left in self._polled])
        self._polled = ()

    def left(self, now: int) -> tuple[Left, ...]:
        """What has not been processed."""
        return self._polled + tuple([left for at, left in self._queued if at > now])

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._polled, self._queued)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._polled, self._queued = saved
