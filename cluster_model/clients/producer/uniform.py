"""One partition for a batch's worth of bytes, then another: the default since 3.3 (KIP-794, ``BuiltInPartitioner``)."""

from typing import Any

from cluster_model.clients.producer.interface import Rule, Topic
from cluster_model.clients.producer.loads import load_table
from cluster_model.kernel.rng import Stream
from cluster_model.util.murmur import partition_for_key


class UniformPartitioner(Rule):
    """Records without a key stick to a partition for ``batch.size`` bytes, up to twice as many while a batch is open.

    The next partition is drawn by how short the queues are, if they differ and ``adaptive``
    (``partitioner.adaptive.partitioning.enable``), else among those with a leader. It may be the same one again.
    ``ignore_keys`` is ``partitioner.ignore.keys``.
    """

    __slots__ = ("_adaptive", "_batch_bytes", "_ignore_keys", "_produced", "_stream", "_stuck_to")

    sticks = True

    def __init__(self, stream: Stream, batch_bytes: int, *, adaptive: bool = True, ignore_keys: bool = False) -> None:
        self._stream = stream
        self._batch_bytes = max(1, batch_bytes)
        self._adaptive = adaptive
        self._ignore_keys = ignore_keys
        self._stuck_to: int | None = None
        self._produced = 0
        """Bytes since the partition was drawn."""

    @property
    def asks_again(self) -> bool:
        """The try that fails closes the batch, so that a switch which it held up can be made."""
        return self._produced >= self._batch_bytes

    def partition(self, key: bytes | None, topic: Topic) -> int:
        """The next record's. A switch that an open batch held up is made here once that batch is full or gone."""
        if key is not None and not self._ignore_keys:
            return partition_for_key(key, topic.total)
        partition = self._stuck_to
        if partition is None or self._done_with(partition, topic):
            partition = self._draw(topic)
        return partition

    def on_append(self, key: bytes | None, partition: int, size: int, topic: Topic) -> None:
        """Count the bytes of records that were not placed by their key, and move on when there are enough."""
        if key is not None and not self._ignore_keys:
            return
        self._produced += size
        if self._produced >= 2 * self._batch_bytes or self._done_with(partition, topic):
            self._draw(topic)

    def _done_with(self, partition: int, topic: Topic) -> bool:
        return self._produced >= self._batch_bytes and topic.full(partition)

    def _draw(self, topic: Topic) -> int:
        stream = self._stream
        odds = load_table(topic.queues(), topic.total) if self._adaptive else None
        if odds is not None:
            partition = odds.partition(stream.below(odds.range))
        elif topic.available:
            partition = topic.available[stream.below(len(topic.available))]
        else:
            partition = stream.below(topic.total)
        self._stuck_to = partition
        self._produced = 0
        return partition

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._stuck_to, self._produced)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._stuck_to, self._produced = saved
