"""Kafka's partitioners: round robin, sticky (KIP-480) and uniform sticky (KIP-794), with their interface."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.kernel.rng import Stream
from cluster_model.protocol.versions import ClientProfile
from cluster_model.util.deterministic_math import partition_for_key

# The interface of a partitioner (``Partitioner``, ``BuiltInPartitioner``).
#
# A partitioner serves one topic of one producer. It sends nothing and knows no time: what is random in it comes from
# the stream that it is made with.


class Queue(NamedTuple):
    """A partition that there has been a batch for, at a readiness check (``RecordAccumulator.partitionReady``)."""

    partition: int
    waiting: int
    """Batches that wait; those under way are no longer among them."""
    led: bool = True
    """Whether it has a leader by the producer's metadata."""
    slow: bool = False
    """Whether its leader has been out of reach for longer than ``partitioner.availability.timeout.ms``."""


class Topic(NamedTuple):
    """What a producer knows of a topic when it places a record."""

    available: tuple[int, ...]
    """Numbers of the partitions that have a leader by the producer's metadata, lowest first."""
    total: int
    """How many partitions there are, those without a leader counted too."""
    full: Callable[[int], bool]
    """Whether a partition's last waiting batch is full or closed; True where none waits (``allBatchesFull``)."""
    queues: Callable[[], Sequence[Queue]]
    """As of the producer's last readiness check, as before every sending; lowest partition first."""


class Partitioner(Protocol):
    """A rule that places records without a partition of their own."""

    @property
    def asks_again(self) -> bool:
        """Whether a record that needs a new batch is placed a second time, after :meth:`on_new_batch`."""

    @property
    def sticks(self) -> bool:
        """Whether records without a key that are handed over together go to one partition."""

    def partition(self, key: bytes | None, topic: Topic) -> int:
        """The partition of the next record. A key is serialized; None is no key, empty bytes are one."""

    def on_new_batch(self, partition: int, topic: Topic) -> None:
        """A record does not fit into what waits for ``partition`` (KIP-480); only where :attr:`asks_again`."""

    def on_append(self, key: bytes | None, partition: int, size: int, topic: Topic) -> None:
        """A record that :meth:`partition` placed is in a batch, where it takes ``size`` bytes."""

    def save(self) -> tuple[Any, ...]:
        """All state but the stream's."""

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""


class BasePartitioner:
    """What most partitioners do not care about; a base for them."""

    __slots__ = ()

    def on_new_batch(self, partition: int, topic: Topic) -> None:
        """Nothing."""

    def on_append(self, key: bytes | None, partition: int, size: int, topic: Topic) -> None:
        """Nothing."""


# Odds of partitions by the length of their queues (KIP-794, ``BuiltInPartitioner``).


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


class NodeLatencies:
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


# Round robin: records without a key up to 2.3, and a partitioner class of later releases.


def turn(counter: int, topic: Topic) -> int:
    """The partition whose turn it is among those with a leader, or among all if none has one."""
    number = counter & 0x7FFFFFFF
    if topic.available:
        return topic.available[number % len(topic.available)]
    return number % topic.total


def after(counter: int) -> int:
    """The next number, as a Java int: the greatest is followed by the least."""
    return (counter + 1 + (1 << 31)) % (1 << 32) - (1 << 31)


class RoundRobinDefault(BasePartitioner):
    """The default up to 2.3 (``DefaultPartitioner``): keys by their hash, the rest in turn from a random number on."""

    __slots__ = ("_counter", "_stream")

    sticks = False
    asks_again = False

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._counter: int | None = None
        """None until the first record without a key."""

    def partition(self, key: bytes | None, topic: Topic) -> int:
        """The next record's."""
        if key is not None:
            return partition_for_key(key, topic.total)
        if self._counter is None:
            self._counter = self._stream.below(1 << 32) - (1 << 31)
        counter = self._counter
        self._counter = after(counter)
        return turn(counter, topic)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._counter,)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (self._counter,) = saved


class RoundRobinPartitioner(BasePartitioner):
    """``RoundRobinPartitioner`` (KIP-369), which a producer's config names: every record in turn, keys or not.

    Before 4.0 a record that needs a new batch is placed twice and so takes two turns: with a batch per record and an
    even number of partitions half of them get nothing. ``asks_again`` is False from 4.0 on.
    """

    __slots__ = ("_counter", "asks_again")

    sticks = False

    def __init__(self, *, asks_again: bool = True) -> None:
        self.asks_again = asks_again
        self._counter = 0

    def partition(self, key: bytes | None, topic: Topic) -> int:
        """The next record's."""
        counter = self._counter
        self._counter = after(counter)
        return turn(counter, topic)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._counter,)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (self._counter,) = saved


# Sticky: one partition until its batch is done, the default from 2.4 to 3.2 (KIP-480, ``StickyPartitionCache``).
#
# A new partition is drawn when a record needs a new batch. Without ``linger.ms`` a slow broker's batches stay open
# longest, so that it gets the most: what KIP-794 mended.


class StickyPartitioner(BasePartitioner):
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


# Uniform sticky: one partition for ``batch.size`` bytes, the default since 3.3 (KIP-794, ``BuiltInPartitioner``).


class UniformPartitioner(BasePartitioner):
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


PACKAGE: Final = "org.apache.kafka.clients.producer."
CLASSES: Final[dict[str, Callable[[ClientProfile], bool]]] = {
    "DefaultPartitioner": lambda client: client.default_partitioner,
    "RoundRobinPartitioner": lambda client: client.round_robin_partitioner,
    "UniformStickyPartitioner": lambda client: client.uniform_sticky_partitioner,
}
"""What ``partitioner.class`` may name → whether a release of the clients has it."""


class PartitionerConfig(NamedTuple):
    """A producer's settings, by Kafka's names."""

    partitioner_class: str = ""
    """``partitioner.class``, with or without its Java package; empty: the version's default."""
    ignore_keys: bool = False
    """``partitioner.ignore.keys`` (3.3), which only the default partitioner reads."""
    adaptive: bool = True
    """``partitioner.adaptive.partitioning.enable`` (3.3)."""
    batch_bytes: int = 16_384
    """``batch.size``."""

    @property
    def name(self) -> str:
        """The class without its package."""
        return self.partitioner_class.removeprefix(PACKAGE).removeprefix("internals.")


class Placement:
    """Places the records of one producer and topic (``KafkaProducer.partition``), and keeps its partitioner informed.

    For each record: :meth:`place`, append it there, :meth:`appended`. When the append has to wait for memory in
    between, place it again.
    """

    __slots__ = ("partitioner",)

    def __init__(self, partitioner: Partitioner) -> None:
        self.partitioner = partitioner

    def place(self, own: int | None, key: bytes | None, topic: Topic, fits: Callable[[int], bool]) -> int:
        """The partition of a record; ``own`` is the one it names itself, None for none.

        ``fits`` tries a partition: whether the record has room in a batch that waits there. A batch without room is
        closed by the try, and full for the partitioner from then on.
        """
        partitioner = self.partitioner
        partition = partitioner.partition(key, topic) if own is None else own
        if partitioner.asks_again and not fits(partition):
            partitioner.on_new_batch(partition, topic)
            if own is None:
                partition = partitioner.partition(key, topic)
        return partition

    def appended(self, own: int | None, key: bytes | None, partition: int, size: int, topic: Topic) -> None:
        """The record is in a batch, where it takes ``size`` bytes."""
        if own is None:
            self.partitioner.on_append(key, partition, size, topic)


def check_partitioner(client: ClientProfile, config: PartitionerConfig) -> None:
    """ValueError where ``partitioner.class`` names nothing that a producer of that version has."""
    name = config.name
    if name and not (name in CLASSES and CLASSES[name](client)):
        raise ValueError(f"a producer of Kafka {'.'.join(map(str, client.number))} has no {name}")


def by_key(client: ClientProfile, config: PartitionerConfig) -> bool:
    """Whether the partitioner of a producer of that version goes by the hash of a record's key."""
    name = config.name
    return name == "DefaultPartitioner" or (not name and not (config.ignore_keys and client.built_in_partitioner))


def partitioner_of(client: ClientProfile, config: PartitionerConfig, stream: Stream) -> Partitioner:
    """The partitioner of a producer of that version; ValueError where ``partitioner.class`` names none of it."""
    check_partitioner(client, config)
    name = config.name
    if name == "RoundRobinPartitioner":
        return RoundRobinPartitioner(asks_again=client.on_new_batch)
    if name == "UniformStickyPartitioner":
        return StickyPartitioner(stream, ignore_keys=True)
    if not client.sticky_partitioner:
        return RoundRobinDefault(stream)
    if name or not client.built_in_partitioner:
        return StickyPartitioner(stream)
    return UniformPartitioner(stream, config.batch_bytes, adaptive=config.adaptive, ignore_keys=config.ignore_keys)
