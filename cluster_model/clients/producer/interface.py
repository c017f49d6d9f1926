"""What a producer tells a partitioner, and what it may ask (``Partitioner``, ``BuiltInPartitioner``).

A partitioner serves one topic of one producer. It sends nothing and knows no time: what is random in it comes from
the stream that it is made with.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol


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


class Rule:
    """What most partitioners do not care about; a base for them."""

    __slots__ = ()

    def on_new_batch(self, partition: int, topic: Topic) -> None:
        """Nothing."""

    def on_append(self, key: bytes | None, partition: int, size: int, topic: Topic) -> None:
        """Nothing."""
