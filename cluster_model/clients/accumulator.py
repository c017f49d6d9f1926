"""A producer's batches: one queue per partition, in the order of their sequences (``RecordAccumulator``)."""

from typing import Any

from cluster_model.clients.sizes import RecordSizes


class Outgoing:
    """A batch on its way. ``written`` stays True once an attempt may have reached a log."""

    __slots__ = (
        "attempts", "created_us", "in_flight", "newest_us", "partition", "producer_id", "records", "retry_at",
        "sequence", "written",
    )  # fmt: skip

    def __init__(self, partition: str, sequence: int, records: int, created_us: int) -> None:
        self.partition = partition
        self.sequence = sequence
        self.records = records
        self.created_us = created_us
        self.newest_us = created_us
        """When the last record joined."""
        self.producer_id = -1
        """Stamped at the first attempt and kept by retries, so that the broker can tell a duplicate."""
        self.attempts = 0
        self.retry_at = 0
        self.in_flight = False
        self.written = False

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.partition, self.sequence, self.records, self.created_us, self.attempts, self.retry_at,
            self.in_flight, self.written, self.producer_id, self.newest_us,
        )  # fmt: skip

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "Outgoing":
        """Undo of :meth:`save`."""
        batch = cls(*saved[:4])
        batch.attempts, batch.retry_at, batch.in_flight, batch.written, batch.producer_id, batch.newest_us = saved[4:]
        return batch


class Accumulator:
    """Batches that are not settled yet, oldest first per partition; those under way stay in their place.

    ``queues`` has the partitions with something in them only, so that the work goes with the traffic and not with the
    number of partitions.
    """

    __slots__ = ("_limit", "_next_sequence", "_sizes", "queues", "waiting")

    def __init__(self, partitions: tuple[str, ...], sizes: RecordSizes, limit: int) -> None:
        """``limit`` is the bytes that a batch of several handovers has at most (``batch.size``)."""
        self._sizes = sizes
        self._limit = limit
        self.queues: dict[str, list[Outgoing]] = {}
        self.waiting = 0
        """Batches that are not under way."""
        self._next_sequence = dict.fromkeys(partitions, 0)

    def add(self, partition: str, records: int, now: int) -> int:
        """Put records into the last batch if it still has room, else into a new one; returns their first sequence."""
        sequence = self._next_sequence.get(partition, 0)
        self._next_sequence[partition] = sequence + records
        queue = self.queues.get(partition)
        if queue is None:
            queue = self.queues[partition] = []
        last = queue[-1] if queue else None
        if last is not None and last.attempts == 0 and self._fits(last, last.records + records):
            last.records += records
            last.newest_us = now
        else:
            queue.append(Outgoing(partition, sequence, records, now))
            self.waiting += 1
        return sequence

    def _fits(self, batch: Outgoing, records: int) -> bool:
        return self._sizes.of(batch.partition, batch.sequence, records) <= self._limit

    def remove(self, batch: Outgoing) -> None:
        """A batch is settled."""
        queue = self.queues[batch.partition]
        queue.remove(batch)
        if not queue:
            del self.queues[batch.partition]
        if not batch.in_flight:
            self.waiting -= 1

    def under_way(self, batch: Outgoing) -> None:
        """A request with the batch was sent."""
        batch.in_flight = True
        self.waiting -= 1

    def came_back(self, batch: Outgoing) -> None:
        """The request failed."""
        batch.in_flight = False
        self.waiting += 1

    @property
    def queued(self) -> int:
        """Records that are not under way."""
        return sum(batch.records for queue in self.queues.values() for batch in queue if not batch.in_flight)

    @property
    def in_flight(self) -> int:
        """Batches under way."""
        return sum(batch.in_flight for queue in self.queues.values() for batch in queue)

    def oldest(self) -> int:
        """When the oldest unsettled batch was created, -1 when there is none."""
        return min((queue[0].created_us for queue in self.queues.values()), default=-1)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        queues = tuple((name, tuple(batch.save() for batch in queue)) for name, queue in self.queues.items())
        return (queues, self._next_sequence.copy())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        queues, sequences = saved
        self.queues = {name: [Outgoing.loaded(batch) for batch in queue] for name, queue in queues}
        self._next_sequence = dict(sequences)
        self.waiting = sum(not batch.in_flight for queue in self.queues.values() for batch in queue)
