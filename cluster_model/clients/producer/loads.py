"""How full a producer's queues are, as odds for the next draw (KIP-794, ``BuiltInPartitioner``)."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from cluster_model.clients.producer.interface import Queue


class LoadTable(NamedTuple):
    """Partitions, and the running sum of their odds: the shorter a queue, the likelier its partition."""

    partitions: tuple[int, ...]
    sums: tuple[int, ...]

    @property
    def range(self) -> int:
        """Draws go from 0 to below this."""
        return self.sums[-1]

    def partition(self, drawn: int) -> int:
        """The first partition whose sum is above what was drawn."""
        return self.partitions[bisect_right(self.sums, drawn)]


def load_table(queues: Sequence[Queue], total: int) -> LoadTable | None:
    """The odds, None where all partitions are to be as likely (``updatePartitionLoadStats``).

    They are so until every one of the ``total`` partitions has had a batch, where there is only one, where none can be
    picked, and where all queues are as long and none is left out. Left out are partitions without a leader, and those
    with something waiting whose leader is slow.
    """
    picked = [queue for queue in queues if queue.led and not (queue.slow and queue.waiting)]
    if len(queues) < total or not picked:
        return None
    longest = max(queue.waiting for queue in picked)
    if len(picked) == len(queues) and all(queue.waiting == longest for queue in picked):
        return None
    sums: list[int] = []
    for queue in picked:
        sums.append(longest + 1 - queue.waiting + (sums[-1] if sums else 0))
    return LoadTable(tuple(queue.partition for queue in picked), tuple(sums))


class Latencies:
    """For how long brokers have kept a producer waiting (``RecordAccumulator.updateNodeLatencyStats``)."""

    __slots__ = ("_seen", "_timeout_us")

    def __init__(self, timeout_us: int) -> None:
        """``timeout_us`` is ``partitioner.availability.timeout.ms``; 0: no broker is ever slow."""
        self._timeout_us = timeout_us
        self._seen: dict[int, tuple[int, int]] = {}
        """Broker → (when there was last something ready for it, when it could last take it)."""

    @property
    def watched(self) -> bool:
        """Whether any broker can ever be slow."""
        return self._timeout_us > 0

    def on_ready(self, broker: int, now: int, *, can_take: bool) -> None:
        """There is something ready for a broker; whether its connection can take it."""
        if self.watched:
            _ready, drained = self._seen.get(broker, (now, now))
            self._seen[broker] = (now, now if can_take else drained)

    def slow(self, broker: int) -> bool:
        """Whether partitions that it leads are to be left out."""
        ready, drained = self._seen.get(broker, (0, 0))
        return self.watched and ready - drained > self._timeout_us

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._seen.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._seen = dict(saved)
