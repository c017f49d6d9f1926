"""Selection of the partition of each record, with the partitioner and the producer's metadata and queues."""

from collections.abc import Iterator
from typing import Any, Final

from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.partitioners import (
    BuiltInPartitioner,
    NodeLatencies,
    Queue,
    RecordPlacement,
    Topic,
    by_key,
    partitioner_of,
)
from cluster_model.clients.producer.record_accumulator import RecordAccumulator
from cluster_model.clients.workload import RecordSizes
from cluster_model.kernel.rng import RandomStream
from cluster_model.log.record_keys import Hot, KeyPool, ProducerKeys, pool
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.spec.cluster_spec import ProducerSpec

_NOTHING: Final = ("", -1)


class PartitionSelector:
    """The partitions of a producer's topic, and the selection of the next one.

    For records partitioned by key no key is generated: a partition is sampled by the total frequency of its keys, and
    the key of a record is a function of its position (:mod:`cluster_model.log.record_keys`).
    """

    __slots__ = (
        "_accumulator", "_keys", "_latencies", "_metadata", "_newest", "_numbers", "_own", "_placement", "_pool",
        "_records", "_single", "_sizes", "_stream", "_topic", "_topic_name", "exists", "listens", "metadata_version",
        "names", "together",
    )  # fmt: skip

    def __init__(
        self,
        spec: ProducerSpec,
        config: ProducerConfig,
        stream: RandomStream,
        metadata: Metadata,
        accumulator: RecordAccumulator,
        sizes: RecordSizes,
        latencies: NodeLatencies,
        keys: ProducerKeys | None = None,
    ) -> None:
        """Make it; ``stream`` is the partitioner's random stream, ``keys`` the record keys, None for none."""
        self._topic_name = spec.topic
        self._metadata = metadata
        self._accumulator = accumulator
        self._sizes = sizes
        self._latencies = latencies
        self._stream = stream
        self._own = spec.partition if spec.partition >= 0 else None
        hashed = by_key(config.client, config.partitioner) or spec.partitioner is not None
        self._keys = keys if hashed and self._own is None else None
        self._pool: KeyPool | None = None
        """Current partitions of the keys, None if records are not partitioned by key."""
        partitioner = partitioner_of(config.client, config.partitioner._replace(batch_bytes=config.batch_bytes), stream)
        self._placement = RecordPlacement(partitioner)
        self._single = config.batch_bytes == 0
        self.together = self._own is not None or (
            self._keys is None and partitioner.is_sticky and not self._single
        )  # fmt: skip
        """Whether records sent together all go to one partition."""
        self.listens = self._keys is None and self._own is None and isinstance(partitioner, BuiltInPartitioner)
        """Whether :meth:`appended` must be called."""
        self.metadata_version = -1
        """Version of the metadata that was last used."""
        self.names: tuple[str, ...] = ()
        """The topic's partitions, by number; empty if the topic does not exist."""
        self._numbers: dict[str, int] = {}
        """Numbers by name of all partitions ever seen."""
        self.exists = False
        """Whether the topic, or the producer's fixed partition, exists."""
        self._topic = Topic((), 0, self._full, self._queues)
        self._records = 1
        """Number of records being placed."""
        self._newest = _NOTHING
        """(partition, first number) of the records being appended."""

    def update(self) -> None:
        """Update the topic's partitions and leaders from the newest metadata."""
        metadata = self._metadata
        self.metadata_version = metadata.version
        self.names = tuple(metadata.partitions_of(self._topic_name))
        self._numbers |= {name: number for number, name in enumerate(self.names)}
        total = len(self.names)
        led = tuple(number for number, name in enumerate(self.names) if metadata.leader(name) != NO_LEADER)
        self._topic = Topic(led, total, self._full, self._queues)
        self.exists = total > 0 and (self._own is None or self._own < total)
        if self._keys is not None and total:
            self._distribute_keys(self._keys, total)

    def _distribute_keys(self, keys: ProducerKeys, total: int) -> None:
        """Distribute the keys of the next records over ``total`` partitions; written records keep their keys."""
        if not keys.placed or keys.placed[-1][0] != total:
            keys.placed = (*keys.placed, (total, self._next_numbers()))
        self._pool = pool(keys.keys._replace(hot=keys.hot), total)

    def _next_numbers(self) -> tuple[int, ...]:
        lines = self._accumulator.queues
        numbers = {int(name.rpartition("-")[2]): line.next_number for name, line in lines.items()}
        return tuple(numbers.get(number, 0) for number in range(max(numbers, default=-1) + 1))

    @property
    def keyed(self) -> bool:
        """Whether records are partitioned by their keys."""
        return self._keys is not None

    def heat(self, hot: Hot) -> None:
        """Set the hot keys and their share of all records, from the next record of each partition on."""
        keys = self._keys
        if keys is not None and hot != keys.hot:
            keys.heated = (*keys.heated, (self._next_numbers(), hot))
            self.metadata_version = -1

    def next(self, records: int) -> str:
        """Return the partition of ``records`` records that stay together."""
        if self._pool is not None:
            return self._name(self._pool.partition(self._stream.next64()))
        self._records = records
        number = self._placement.select(self._own, None, self._topic, self._fits)
        names = self.names
        return names[number] if number < len(names) else self._name(number)

    def runs(self, records: int) -> Iterator[tuple[str, int]]:
        """Place each record on its own; yield partitions with the number of records for each.

        The records yielded must be appended before the next are requested.
        """
        if self._pool is not None:
            counts = self._pool.counts(records, self._stream.next64)
            yield from ((self._name(number), count) for number, count in counts.items())
        elif self._single or self._placement.partitioner.uses_on_new_batch:
            for _record in range(records):
                yield self.next(1), 1
        else:
            run_lengths: dict[str, int] = {}
            for _record in range(records):
                name = self.next(1)
                run_lengths[name] = run_lengths.get(name, 0) + 1
            yield from run_lengths.items()

    def appended(self, partition: str, number: int, records: int) -> None:
        """Report that records from ``number`` on were appended to ``partition``, as returned by :meth:`next`."""
        self._newest = (partition, number)
        size = self._sizes.of(partition, number, records)
        self._placement.appended(self._own, None, self._numbers[partition], size, self._topic)
        self._newest = _NOTHING

    def _name(self, number: int) -> str:
        """Return a partition's name; an application's own partitioner may return one that does not exist."""
        return self.names[number] if number < len(self.names) else f"{self._topic_name}-{number}"

    def _fits(self, number: int) -> bool:
        return self._accumulator.fits(self._name(number), self._records)

    def _full(self, number: int) -> bool:
        return self._accumulator.full(self._name(number))

    def _began_batch(self) -> bool:
        """Return whether the records being appended began a new batch."""
        name, number = self._newest
        if not name:
            return False
        waiting = self._accumulator.queues[name].waiting
        return bool(waiting) and waiting[-1].sequence == number

    def _queues(self) -> list[Queue]:
        """Return the queues as of the last readiness check, without the batch that was begun just now.

        The result is empty if the queues cannot differ: nothing is queued and all partitions have a leader.
        """
        queues: list[Queue] = []
        if self._accumulator.waiting <= self._began_batch() and len(self._topic.available) == self._topic.total:
            return queues
        for number, name in enumerate(self.names):
            line = self._accumulator.queues.get(name)
            if line is None or not line.next_number:
                continue
            waiting = line.waiting
            unseen = bool(waiting) and self._newest == (name, waiting[-1].sequence)
            if not (unseen and self._newest[1] == 0):
                leader = self._metadata.leader(name)
                queues.append(Queue(number, len(waiting) - unseen, leader != NO_LEADER, self._latencies.slow(leader)))
        return queues

    def save(self) -> tuple[Any, ...]:
        """Return all state except that of the stream."""
        return (
            self._placement.partitioner.save(),
            () if self._keys is None else (self._keys.placed, self._keys.heated),
            self._latencies.save(),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        partitioner, placed, latencies = saved
        self._placement.partitioner.load(partitioner)
        self._latencies.load(latencies)
        if self._keys is not None:
            self._keys.placed, self._keys.heated = placed
        self.metadata_version = -1
