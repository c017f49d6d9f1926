"""Kafka's partitioners: round robin, sticky and uniform sticky (KIP-480), and the built-in one (KIP-794)."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.versions import ClientProfile
from cluster_model.util.deterministic_math import partition_for_key

# The interface of a partitioner (``Partitioner``, ``BuiltInPartitioner``).
#
# A partitioner serves one topic of one producer. It does no I/O and does not depend on time; its randomness comes from
# the stream that it is made with.


class Queue(NamedTuple):
    """Batch queue of a partition at a readiness check (``RecordAccumulator.partitionReady``), once it had a batch."""

    partition: int
    waiting: int
    """Queued batches, without those in flight."""
    led: bool = True
    """Whether it has a leader in the producer's metadata."""
    slow: bool = False
    """Whether its leader could take no request for longer than ``partitioner.availability.timeout.ms``."""


class Topic(NamedTuple):
    """The producer's view of a topic when it places a record."""

    available: tuple[int, ...]
    """Numbers of the partitions with a leader in the producer's metadata, ascending."""
    total: int
    """Number of partitions, including those without a leader."""
    full: Callable[[int], bool]
    """Return whether a partition's last queued batch is full or closed; True where none is (``allBatchesFull``)."""
    queues: Callable[[], Sequence[Queue]]
    """Return the queues as of the producer's last readiness check, in the order of partitions."""


class Partitioner(Protocol):
    """Interface of a partitioner, which places records without a fixed partition."""

    @property
    def uses_on_new_batch(self) -> bool:
        """Whether a record that needs a new batch is placed a second time, after :meth:`on_new_batch`."""

    @property
    def is_sticky(self) -> bool:
        """Whether records without a key that are sent together go to one partition."""

    def partition(self, key: bytes | None, topic: Topic) -> int:
        """Return the partition of the next record; ``key`` is serialized, None for no key (empty bytes are a key)."""

    def on_new_batch(self, partition: int, topic: Topic) -> None:
        """Handle a record that does not fit into the queued batch (KIP-480); only if :attr:`uses_on_new_batch`."""

    def on_append(self, key: bytes | None, partition: int, size: int, topic: Topic) -> None:
        """Handle the append of a record placed by :meth:`partition`, of ``size`` bytes."""

    def save(self) -> tuple[Any, ...]:
        """Return all state except that of the stream."""

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""


class BasePartitioner:
    """Base class of partitioners that ignore new batches and appends."""

    __slots__ = ()

    def on_new_batch(self, partition: int, topic: Topic) -> None:
        """Do nothing."""

    def on_append(self, key: bytes | None, partition: int, size: int, topic: Topic) -> None:
        """Do nothing."""


# Partition probabilities by queue length (KIP-794, ``BuiltInPartitioner``).


class LoadTable(NamedTuple):
    """Partitions with the cumulative sum of their weights: a shorter queue has a higher weight."""

    partitions: tuple[int, ...]
    sums: tuple[int, ...]

    @property
    def range(self) -> int:
        """Exclusive upper limit of the random number."""
        return self.sums[-1]

    def partition(self, drawn: int) -> int:
        """Return the first partition whose cumulative weight is above the random number."""
        return self.partitions[bisect_right(self.sums, drawn)]


def load_table(queues: Sequence[Queue], total: int) -> LoadTable | None:
    """Return the weights by queue length, None where all partitions are equally likely (``updatePartitionLoadStats``).

    They are equally likely until each of the ``total`` partitions has had a batch, if there is only one, if none is
    eligible, and if all queues are equally long and none is excluded. Excluded are partitions without a leader, and
    those with queued batches whose leader is slow.
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


class NodeLatencies:
    """Time for which brokers accepted no requests of a producer (``RecordAccumulator.updateNodeLatencyStats``)."""

    __slots__ = ("_seen", "_timeout_us")

    def __init__(self, timeout_us: int) -> None:
        """Make it; ``timeout_us`` is ``partitioner.availability.timeout.ms``, 0: no broker is ever slow."""
        self._timeout_us = timeout_us
        self._seen: dict[int, tuple[int, int]] = {}
        """Broker → (last time with a batch ready for it, last time it could take one)."""

    @property
    def watched(self) -> bool:
        """Whether any broker can ever be slow."""
        return self._timeout_us > 0

    def on_ready(self, broker: int, now: int, *, can_take: bool) -> None:
        """Record that a batch is ready for a broker, and whether its connection can take it."""
        if self.watched:
            _ready, drained = self._seen.get(broker, (now, now))
            self._seen[broker] = (now, now if can_take else drained)

    def slow(self, broker: int) -> bool:
        """Return whether the partitions of a leader are to be excluded."""
        ready, drained = self._seen.get(broker, (0, 0))
        return self.watched and ready - drained > self._timeout_us

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return tuple(self._seen.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._seen = dict(saved)


# Round robin: the default for records without a key up to 2.3, and a partitioner class of later releases.


def round_robin_partition(counter: int, topic: Topic) -> int:
    """Return the next partition in turn among those with a leader, or among all if none has one."""
    number = counter & 0x7FFFFFFF
    if topic.available:
        return topic.available[number % len(topic.available)]
    return number % topic.total


def next_counter(counter: int) -> int:
    """Return ``counter`` + 1 as a Java int, which overflows to the least int."""
    return (counter + 1 + (1 << 31)) % (1 << 32) - (1 << 31)


class RoundRobinDefaultPartitioner(BasePartitioner):
    """The default up to 2.3 (``DefaultPartitioner``): keys by hash, other records round robin from a random start."""

    __slots__ = ("_counter", "_stream")

    is_sticky = False
    uses_on_new_batch = False

    def __init__(self, stream: RandomStream) -> None:
        self._stream = stream
        self._counter: int | None = None
        """None until the first record without a key."""

    def partition(self, key: bytes | None, topic: Topic) -> int:
        """Return the partition of the next record."""
        if key is not None:
            return partition_for_key(key, topic.total)
        if self._counter is None:
            self._counter = self._stream.below(1 << 32) - (1 << 31)
        counter = self._counter
        self._counter = next_counter(counter)
        return round_robin_partition(counter, topic)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self._counter,)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (self._counter,) = saved


class RoundRobinPartitioner(BasePartitioner):
    """``RoundRobinPartitioner`` (KIP-369), set by ``partitioner.class``: all records round robin, with or without keys.

    Up to 3.9.1 a record that needs a new batch is placed twice and so takes two turns: with one record per batch and an
    even number of partitions, half of them get nothing. ``asks_again`` is False from 3.9.2 and 4.0 on (KAFKA-17632).
    """

    __slots__ = ("_counter", "uses_on_new_batch")

    is_sticky = False

    def __init__(self, *, asks_again: bool = True) -> None:
        self.uses_on_new_batch = asks_again
        self._counter = 0

    def partition(self, key: bytes | None, topic: Topic) -> int:
        """Return the partition of the next record."""
        counter = self._counter
        self._counter = next_counter(counter)
        return round_robin_partition(counter, topic)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self._counter,)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (self._counter,) = saved


# Sticky: one partition until its batch is complete, the default from 2.4 to 3.2 (KIP-480, ``StickyPartitionCache``).
#
# A new partition is chosen at random when a record needs a new batch. Without ``linger.ms`` the batches of a slow
# broker stay open longest, so that it gets the most records; KIP-794 fixed this.


class StickyPartitioner(BasePartitioner):
    """``DefaultPartitioner`` of 2.4 to 3.2; with ``ignore_keys`` it is ``UniformStickyPartitioner``."""

    __slots__ = ("_ignore_keys", "_stream", "_stuck_to")

    is_sticky = True
    uses_on_new_batch = True

    def __init__(self, stream: RandomStream, *, ignore_keys: bool = False) -> None:
        self._stream = stream
        self._ignore_keys = ignore_keys
        self._stuck_to: int | None = None

    def partition(self, key: bytes | None, topic: Topic) -> int:
        """Return the partition of the next record."""
        if key is not None and not self._ignore_keys:
            return partition_for_key(key, topic.total)
        if self._stuck_to is None:
            self._stuck_to = self._drawn(topic)
        return self._stuck_to

    def on_new_batch(self, partition: int, topic: Topic) -> None:
        """Choose a new partition if this is the sticky one; a record with a key can cause that too."""
        if self._stuck_to is None or self._stuck_to == partition:
            self._stuck_to = self._drawn(topic)

    def _drawn(self, topic: Topic) -> int:
        """Choose a partition with a leader, another than the current one if possible; any if none has a leader."""
        available = topic.available
        if not available:
            return self._stream.below(topic.total)
        if len(available) == 1:
            return available[0]
        while (partition := available[self._stream.below(len(available))]) == self._stuck_to:
            pass
        return partition

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self._stuck_to,)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (self._stuck_to,) = saved


# Uniform sticky: one partition for ``batch.size`` bytes, the default since 3.3 (KIP-794, ``BuiltInPartitioner``).


class BuiltInPartitioner(BasePartitioner):
    """Sticks records without a key to a partition for ``batch.size`` bytes, up to twice as many while a batch is open.

    The next partition is chosen at random, weighted by queue length if the queues differ and ``adaptive`` is set
    (``partitioner.adaptive.partitioning.enable``), else uniformly among those with a leader. It may be the same one
    again. ``ignore_keys`` is ``partitioner.ignore.keys``.
    """

    __slots__ = ("_adaptive", "_batch_bytes", "_ignore_keys", "_produced", "_stream", "_stuck_to")

    is_sticky = True

    def __init__(
        self, stream: RandomStream, batch_bytes: int, *, adaptive: bool = True, ignore_keys: bool = False
    ) -> None:
        self._stream = stream
        self._batch_bytes = max(1, batch_bytes)
        self._adaptive = adaptive
        self._ignore_keys = ignore_keys
        self._stuck_to: int | None = None
        self._produced = 0
        """Bytes since the partition was chosen."""

    @property
    def uses_on_new_batch(self) -> bool:
        """Whether to place again: a failed append closes the batch, so that a delayed switch becomes possible."""
        return self._produced >= self._batch_bytes

    def partition(self, key: bytes | None, topic: Topic) -> int:
        """Return the next record's partition; a switch delayed by an open batch is made once it is full or sent."""
        if key is not None and not self._ignore_keys:
            return partition_for_key(key, topic.total)
        partition = self._stuck_to
        if partition is None or self._done_with(partition, topic):
            partition = self._draw(topic)
        return partition

    def on_append(self, key: bytes | None, partition: int, size: int, topic: Topic) -> None:
        """Count the bytes of records not placed by their key, and switch the partition when there are enough."""
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
        """Return all state."""
        return (self._stuck_to, self._produced)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._stuck_to, self._produced = saved


PACKAGE: Final = "org.apache.kafka.clients.producer."
CLASSES: Final[dict[str, Callable[[ClientProfile], bool]]] = {
    "DefaultPartitioner": lambda client: client.default_partitioner,
    "RoundRobinPartitioner": lambda client: client.round_robin_partitioner,
    "UniformStickyPartitioner": lambda client: client.uniform_sticky_partitioner,
}
"""Class in ``partitioner.class`` → predicate of whether a client release has it."""


class PartitionerConfig(NamedTuple):
    """Partitioner settings of a producer."""

    partitioner_class: str = ""
    """``partitioner.class``, with or without its Java package; empty for the version's default."""
    ignore_keys: bool = False
    """``partitioner.ignore.keys`` (3.3), used by the default partitioner only."""
    adaptive: bool = True
    """``partitioner.adaptive.partitioning.enable`` (3.3)."""
    batch_bytes: int = 16_384
    """``batch.size``."""

    @property
    def name(self) -> str:
        """The class without its package."""
        return self.partitioner_class.removeprefix(PACKAGE).removeprefix("internals.")


class RecordPlacement:
    """Places the records of one producer and topic with its partitioner (``KafkaProducer.partition``).

    For each record call :meth:`place`, append it, then call :meth:`appended`. If the append had to wait for memory,
    place the record again.
    """

    __slots__ = ("partitioner",)

    def __init__(self, partitioner: Partitioner) -> None:
        self.partitioner = partitioner

    def select(self, own: int | None, key: bytes | None, topic: Topic, fits: Callable[[int], bool]) -> int:
        """Return the partition of a record; ``own`` is its fixed partition, None for none.

        ``fits`` returns whether the record fits into the queued batch of a partition. If not, it closes the batch,
        which then counts as full for the partitioner.
        """
        partitioner = self.partitioner
        partition = partitioner.partition(key, topic) if own is None else own
        if partitioner.uses_on_new_batch and not fits(partition):
            partitioner.on_new_batch(partition, topic)
            if own is None:
                partition = partitioner.partition(key, topic)
        return partition

    def appended(self, own: int | None, key: bytes | None, partition: int, size: int, topic: Topic) -> None:
        """Report that the record was appended to a batch, with ``size`` bytes."""
        if own is None:
            self.partitioner.on_append(key, partition, size, topic)


def check_partitioner(client: ClientProfile, config: PartitionerConfig) -> None:
    """Validate ``partitioner.class`` for a client release.

    Raises:
        ValueError: a producer of that release does not have the class.
    """
    name = config.name
    if name and not (name in CLASSES and CLASSES[name](client)):
        raise ValueError(f"producers of Kafka {client.version} have no partitioner {name}")


def never_returns(client: ClientProfile, config: PartitionerConfig, *, keys: int) -> bool:
    """Return whether ``send`` loops for ever with ``batch.size`` 0: each partition has had its 0 bytes (KAFKA-14303).

    ``keys`` is the number of distinct keys, 0 for records without keys.
    """
    return client.loops_without_batching and not config.name and (config.ignore_keys or not keys)


def by_key(client: ClientProfile, config: PartitionerConfig) -> bool:
    """Return whether the configured partitioner of that release uses the hash of a record's key."""
    name = config.name
    return name == "DefaultPartitioner" or (not name and not (config.ignore_keys and client.built_in_partitioner))


def partitioner_of(client: ClientProfile, config: PartitionerConfig, stream: RandomStream) -> Partitioner:
    """Make the configured partitioner of a client release.

    Raises:
        ValueError: a producer of that release does not have ``partitioner.class``.
    """
    check_partitioner(client, config)
    name = config.name
    if name == "RoundRobinPartitioner":
        return RoundRobinPartitioner(asks_again=client.round_robin_two_turns)
    if name == "UniformStickyPartitioner":
        return StickyPartitioner(stream, ignore_keys=True)
    if not client.sticky_partitioner:
        return RoundRobinDefaultPartitioner(stream)
    if name or not client.built_in_partitioner:
        return StickyPartitioner(stream)
    return BuiltInPartitioner(stream, config.batch_bytes, adaptive=config.adaptive, ignore_keys=config.ignore_keys)
