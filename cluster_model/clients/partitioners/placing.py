"""Where a producer's records go: their own partition, a configured partitioner, or the default one of the version."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster_model.clients.partitioners.interface import Partitioner, Rule, Topic
from cluster_model.clients.partitioners.round_robin import RoundRobinDefault, RoundRobinPartitioner
from cluster_model.clients.partitioners.sticky import StickyPartitioner
from cluster_model.clients.partitioners.uniform import UniformPartitioner
from cluster_model.kernel.streams import Stream

Version = tuple[int, int, int]

KIP_480: Final = (2, 4, 0)
KIP_794: Final = (3, 3, 0)
KAFKA_4: Final = (4, 0, 0)

PACKAGE: Final = "org.apache.kafka.clients.producer."
CLASSES: Final[dict[str, tuple[Version, Version | None]]] = {
    "DefaultPartitioner": ((0, 0, 0), KAFKA_4),
    "RoundRobinPartitioner": (KIP_480, None),
    "UniformStickyPartitioner": (KIP_480, KAFKA_4),
}
"""What ``partitioner.class`` may name → the first version that has it, and the first that does not."""


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


class FunctionPartitioner(Rule):
    """A partitioner of the application's own, without state: a function of the key and the topic."""

    __slots__ = ("_function", "asks_again")

    def __init__(self, function: Callable[[bytes | None, Topic], int], *, asks_again: bool) -> None:
        """From 2.4 until 4.0 a producer asks a second time when a record needs a new batch (``asks_again``)."""
        self._function = function
        self.asks_again = asks_again

    def partition(self, key: bytes | None, topic: Topic) -> int:
        """The next record's."""
        return self._function(key, topic)

    def save(self) -> tuple[Any, ...]:
        """Nothing to keep."""
        return ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Nothing to take back."""


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
        closed by the try, and full for the partitioner from then on. A negative partition is a ValueError
        (``IllegalArgumentException``).
        """
        partitioner = self.partitioner
        partition = self._asked(own, key, topic)
        if partitioner.asks_again and not fits(partition):
            partitioner.on_new_batch(partition, topic)
            partition = self._asked(own, key, topic)
        return partition

    def appended(self, own: int | None, key: bytes | None, partition: int, size: int, topic: Topic) -> None:
        """The record is in a batch, where it takes ``size`` bytes."""
        if own is None:
            self.partitioner.on_append(key, partition, size, topic)

    def _asked(self, own: int | None, key: bytes | None, topic: Topic) -> int:
        if own is not None:
            return own
        partition = self.partitioner.partition(key, topic)
        if partition < 0:
            raise ValueError(f"the partitioner answered {partition}: a partition number is not negative")
        return partition


def partitioner_of(version: Version, config: PartitionerConfig, stream: Stream) -> Partitioner:
    """The partitioner of a producer of that version; ValueError where ``partitioner.class`` names none of it."""
    name = config.partitioner_class.removeprefix(PACKAGE).removeprefix("internals.")
    if name:
        first, gone = CLASSES.get(name, (KAFKA_4, KAFKA_4))
        if version < first or (gone is not None and version >= gone):
            raise ValueError(f"partitioner.class: a producer of {'.'.join(map(str, version))} has no {name}")
    if name == "RoundRobinPartitioner":
        return RoundRobinPartitioner(asks_again=version < KAFKA_4)
    if name == "UniformStickyPartitioner":
        return StickyPartitioner(stream, ignore_keys=True)
    if version < KIP_480:
        return RoundRobinDefault(stream)
    if name or version < KIP_794:
        return StickyPartitioner(stream)
    return UniformPartitioner(stream, config.batch_bytes, adaptive=config.adaptive, ignore_keys=config.ignore_keys)
