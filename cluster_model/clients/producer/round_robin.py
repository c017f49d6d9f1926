"""Turn and turn about: what a producer did with records without a key up to 2.3, and a class of later ones."""

from typing import Any

from cluster_model.clients.producer.interface import Rule, Topic
from cluster_model.kernel.rng import Stream
from cluster_model.util.murmur import partition_for_key


def turn(counter: int, topic: Topic) -> int:
    """The partition whose turn it is among those with a leader, or among all if none has one."""
    number = counter & 0x7FFFFFFF
    if topic.available:
        return topic.available[number % len(topic.available)]
    return number % topic.total


def after(counter: int) -> int:
    """The next number, as a Java int: the greatest is followed by the least."""
    return (counter + 1 + (1 << 31)) % (1 << 32) - (1 << 31)


class RoundRobinDefault(Rule):
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


class RoundRobinPartitioner(Rule):
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
