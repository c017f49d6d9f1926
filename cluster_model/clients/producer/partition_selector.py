"""Where a producer's records go: its partitioner, told of what the producer knows, has waiting and sends."""

from collections.abc import Iterator
from typing import Any, Final

from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.partitioners import (
    NodeLatencies,
    Placement,
    Queue,
    Topic,
    UniformPartitioner,
    by_key,
    partitioner_of,
)
from cluster_model.clients.producer.record_accumulator import Accumulator
from cluster_model.clients.workload import RecordSizes
from cluster_model.kernel.rng import Stream
from cluster_model.log.record_keys import Hot, Pool, ProducerKeys, pool
from cluster_model.protocol.messages import NOBODY
from cluster_model.spec.cluster_spec import ProducerSpec

_NOTHING: Final = ("", -1)


class Destinations:
    """The partitions of a producer's topic, and which of them is next.

    A record that goes by its key is placed without one: its partition is drawn by how often the keys come that go
    there, and which of them it has is a function of its place (:mod:`cluster_model.log.record_keys`).
    """

    __slots__ = (
        "_accumulator", "_keys", "_latencies", "_metadata", "_newest", "_numbers", "_own", "_placement", "_pool",
        "_records", "_single", "_sizes", "_stream", "_topic", "_topic_name", "as_of", "listens", "names", "there",
        "together",
    )  # fmt: skip

    def __init__(
        self,
        spec: ProducerSpec,
        config: ProducerConfig,
        stream: Stream,
        metadata: Metadata,
        accumulator: Accumulator,
        sizes: RecordSizes,
        latencies: NodeLatencies,
        keys: ProducerKeys | None = None,
    ) -> None:
        """``stream`` is the partitioner's own; ``keys`` are those of the records, None for records without."""
        self._topic_name = spec.topic
        self._metadata = metadata
        self._accumulator = accumulator
        self._sizes = sizes
        self._latencies = latencies
        self._stream = stream
        self._own = spec.partition if spec.partition >= 0 else None
        hashed = by_key(config.client, config.partitioner) or spec.partitioner is not None
        self._keys = keys if hashed and self._own is None else None
        self._pool: Pool | None = None
        """Where keys go as of now, None where they do not matter."""
        partitioner = partitioner_of(config.client, config.partitioner._replace(batch_bytes=config.batch_bytes), stream)
        self._placement = Placement(partitioner)
        self._single = config.batch_bytes == 0
        self.together = self._own is not None or (
            self._keys is None and partitioner.sticks and not self._single
        )  # fmt: skip
        """Whether records that are handed over together all go to one partition."""
        self.listens = self._keys is None and self._own is None and isinstance(partitioner, UniformPartitioner)
        """Whether it wants to be told of what was :meth:`appended`."""
        self.as_of = -1
        """Version of the metadata that was last looked at."""
        self.names: tuple[str, ...] = ()
        """The topic's partitions, by number; none: there is no such topic."""
        self._numbers: dict[str, int] = {}
        """Of all partitions that were ever heard of, by name."""
        self.there = False
        """Whether there is anywhere to send to."""
        self._topic = Topic((), 0, self._full, self._queues)
        self._records = 1
        """How many records are being placed."""
        self._newest = _NOTHING
        """Partition and first number of the records that are being appended."""

    def look(self) -> None:
        """See by the newest metadata which partitions the topic has, and which of them a leader."""
        metadata = self._metadata
        self.as_of = metadata.version
        self.names = tuple(metadata.partitions_of(self._topic_name))
        self._numbers |= {name: number for number, name in enumerate(self.names)}
        total = len(self.names)
        led = tuple(number for number, name in enumerate(self.names) if metadata.leader(name) != NOBODY)
        self._topic = Topic(led, total, self._full, self._queues)
        self.there = total > 0 and (self._own is None or self._own < total)
        if self._keys is not None and total:
            self._tell_keys_apart(self._keys, total)

    def _tell_keys_apart(self, keys: ProducerKeys, total: int) -> None:
        """From the next record of each partition on, keys go by so many partitions; what is written keeps its own."""
        if not keys.placed or keys.placed[-1][0] != total:
            keys.placed = (*keys.placed, (total, self._next_numbers()))
        self._pool = pool(keys.keys._replace(hot=keys.hot), total)

    def _next_numbers(self) -> tuple[int, ...]:
        lines = self._accumulator.lines
        numbers = {int(name.rpartition("-")[2]): line.next_number for name, line in lines.items()}
        return tuple(numbers.get(number, 0) for number in range(max(numbers, default=-1) + 1))

    @property
    def keyed(self) -> bool:
        """Whether records go by their keys."""
        return self._keys is not None

    def heat(self, hot: Hot) -> None:
        """From the next record of each partition on these keys have so many of all records, and no others are hot."""
        keys = self._keys
        if keys is not None and hot != keys.hot:
            keys.heated = (*keys.heated, (self._next_numbers(), hot))
            self.as_of = -1

    def next(self, records: int) -> str:
        """The partition of so many records, which stay together."""
        if self._pool is not None:
            return self._name(self._pool.partition(self._stream.next64()))
        self._records = records
        number = self._placement.place(self._own, None, self._topic, self._fits)
        names = self.names
        return names[number] if number < len(names) else self._name(number)

    def runs(self, records: int) -> Iterator[tuple[str, int]]:
        """Partitions of records that are placed each on its own, with how many go there at a time.

        What is told here is to be appended before the next is asked for.
        """
        if self._pool is not None:
            counts = self._pool.counts(records, self._stream.next64)
            yield from ((self._name(number), count) for number, count in counts.items())
        elif self._single or self._placement.partitioner.asks_again:
            for _record in range(records):
                yield self.next(1), 1
        else:
            found: dict[str, int] = {}
            for _record in range(records):
                name = self.next(1)
                found[name] = found.get(name, 0) + 1
            yield from found.items()

    def appended(self, partition: str, number: int, records: int) -> None:
        """Records from ``number`` on are in a batch of ``partition``, where :meth:`next` sent them."""
        self._newest = (partition, number)
        size = self._sizes.of(partition, number, records)
        self._placement.appended(self._own, None, self._numbers[partition], size, self._topic)
        self._newest = _NOTHING

    def _name(self, number: int) -> str:
        """An application's own partitioner may name a partition that does not exist (yet, or any more)."""
        return self.names[number] if number < len(self.names) else f"{self._topic_name}-{number}"

    def _fits(self, number: int) -> bool:
        return self._accumulator.fits(self._name(number), self._records)

    def _full(self, number: int) -> bool:
        return self._accumulator.full(self._name(number))

    def _began(self) -> bool:
        """Whether the records that are being appended have begun a batch."""
        name, number = self._newest
        if not name:
            return False
        waiting = self._accumulator.lines[name].waiting
        return bool(waiting) and waiting[-1].sequence == number

    def _queues(self) -> list[Queue]:
        """As of the last look before sending: the batch that was begun just now has not been seen yet.

        None are told where none can differ, for nothing waits and all have a leader.
        """
        queues: list[Queue] = []
        if self._accumulator.waiting <= self._began() and len(self._topic.available) == self._topic.total:
            return queues
        for number, name in enumerate(self.names):
            line = self._accumulator.lines.get(name)
            if line is None or not line.next_number:
                continue
            waiting = line.waiting
            unseen = bool(waiting) and self._newest == (name, waiting[-1].sequence)
            if not (unseen and self._newest[1] == 0):
                leader = self._metadata.leader(name)
                queues.append(Queue(number, len(waiting) - unseen, leader != NOBODY, self._latencies.slow(leader)))
        return queues

    def save(self) -> tuple[Any, ...]:
        """All state but the stream's."""
        return (
            self._placement.partitioner.save(),
            () if self._keys is None else (self._keys.placed, self._keys.heated),
            self._latencies.save(),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        partitioner, placed, latencies = saved
        self._placement.partitioner.load(partitioner)
        self._latencies.load(latencies)
        if self._keys is not None:
            self._keys.placed, self._keys.heated = placed
        self.as_of = -1
