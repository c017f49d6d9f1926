"""One partition until its batch is done with: the default from 2.4 to 3.2 (KIP-480, ``StickyPartitionCache``).

A new partition is drawn when a record needs a new batch. Without ``linger.ms`` a slow broker's batches stay open
longest, so that it gets the most: what KIP-794 mended.
"""

from typing import Any

from cluster_model.clients.producer.interface import Rule, Topic
from cluster_model.kernel.rng import Stream
from cluster_model.util.murmur import partition_for_key


class StickyPartitioner(Rule):
    """``DefaultPartitioner`` of those versions; with ``ignore_keys``, ``UniformStickyPartitioner``."""

    __slots__ = ("_ignore_keys", "_stream", "_stuck_to")

    sticks = True
    asks_again = True

    def __init__(self, stream: Stream, *, ignore_keys: bool = False) -> None:
        self._stream = stream
        self._ignore_keys = ignore_keys
        self._stuck_to: int | None = None

    def partition(self, key: bytes | None, topic: Topic) -> int:
        """The next record's."""
        if key is not None and not self._ignore_keys:
            return partition_for_key(key, topic.total)
        if self._stuck_to is None:
            self._stuck_to = self._drawn(topic)
        return self._stuck_to

    def on_new_batch(self, partition: int, topic: Topic) -> None:
        """Move on, if it is this partition that is stuck to; a record with a key can bring that about as well."""
        if self._stuck_to is None or self._stuck_to == partition:
            self._stuck_to = self._drawn(topic)

    def _drawn(self, topic: Topic) -> int:
        """Any partition that has a leader, another one than now if there are two; any at all if none has one."""
        available = topic.available
        if not available:
            return self._stream.below(topic.total)
        if len(available) == 1:
            return available[0]
        while (partition := available[self._stream.below(len(available))]) == self._stuck_to:
            pass
        return partition

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._stuck_to,)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (self._stuck_to,) = saved
