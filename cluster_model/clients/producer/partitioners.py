"""Where a producer's records go: their own partition, a configured partitioner, or the default one of the version."""

from collections.abc import Callable
from typing import Final, NamedTuple

from cluster_model.clients.producer.interface import Partitioner, Topic
from cluster_model.clients.producer.round_robin import RoundRobinDefault, RoundRobinPartitioner
from cluster_model.clients.producer.sticky import StickyPartitioner
from cluster_model.clients.producer.uniform import UniformPartitioner
from cluster_model.kernel.rng import Stream

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


def check_partitioner(version: Version, config: PartitionerConfig) -> None:
    """ValueError where ``partitioner.class`` names nothing that a producer of that version has."""
    name = config.name
    if name:
        first, gone = CLASSES.get(name, (KAFKA_4, KAFKA_4))
        if version < first or (gone is not None and version >= gone):
            raise ValueError(f"a producer of Kafka {'.'.join(map(str, version))} has no {name}")


def by_key(version: Version, config: PartitionerConfig) -> bool:
    """Whether the partitioner of a producer of that version goes by the hash of a record's key."""
    name = config.name
    return name == "DefaultPartitioner" or (not name and not (config.ignore_keys and version >= KIP_794))


def partitioner_of(version: Version, config: PartitionerConfig, stream: Stream) -> Partitioner:
    """The partitioner of a producer of that version; ValueError where ``partitioner.class`` names none of it."""
    check_partitioner(version, config)
    name = config.name
    if name == "RoundRobinPartitioner":
        return RoundRobinPartitioner(asks_again=version < KAFKA_4)
    if name == "UniformStickyPartitioner":
        return StickyPartitioner(stream, ignore_keys=True)
    if version < KIP_480:
        return RoundRobinDefault(stream)
    if name or version < KIP_794:
        return StickyPartitioner(stream)
    return UniformPartitioner(stream, config.batch_bytes, adaptive=config.adaptive, ignore_keys=config.ignore_keys)
