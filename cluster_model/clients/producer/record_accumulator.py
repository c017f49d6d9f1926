"""A producer's queued batches, with one queue per partition, and their memory and expiry (``RecordAccumulator``).

As Kafka's ``RecordAccumulator`` with its ``BufferPool``: the memory of a batch is freed when the batch is completed,
not when it is sent.
"""

from typing import Any, Final, NamedTuple

from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.workload import ConstantSize, RecordSizes
from cluster_model.kernel.wall_clocks import WallClock


class RecordsBySendTime(NamedTuple):
    """Records of a batch that were sent by the application at the same time."""

    start: int
    """Index of the first of them in the batch."""
    records: int
    sent_us: int


class ProducerBatch:
    """A batch in the producer (``ProducerBatch``); ``written`` stays True once an attempt may have reached a log."""

    __slots__ = (
        "aged_us", "attempts", "closed", "created_us", "done", "epoch", "first", "in_flight", "leader_epoch",
        "newest_us", "partition", "producer_id", "records", "renumbered", "retry_at", "sent_at", "sequence", "written",
    )  # fmt: skip

    def __init__(self, partition: str, sequence: int, records: int, created_us: int) -> None:
        self.partition = partition
        self.sequence = sequence
        """Number of the first record, as counted by the application in this partition."""
        self.records = records
        self.created_us = created_us
        self.aged_us = 0
        """Additional age from steps of the machine's clock."""
        self.newest_us = created_us
        """Time at which the last record was added."""
        self.sent_at: tuple[tuple[int, int], ...] = ((0, created_us),)
        """(index of a record in the batch, time at which it and those after it were sent by the application)."""
        self.producer_id = -1
        """Set with epoch and sequence at the first attempt; retries keep them, so a broker recognises duplicates."""
        self.epoch = -1
        self.first = 0
        """Kafka's sequence of the first record."""
        self.attempts = 0
        self.retry_at = 0
        self.leader_epoch = -1
        """Leader epoch of the partition at the last attempt."""
        self.in_flight = False
        self.done = False
        """The batch has its outcome; a request with it may still be in flight."""
        self.written = False
        self.renumbered = False
        """Its sequence was reset while it was in flight (``ProducerBatch.sequenceHasBeenReset``)."""
        self.closed = False
        """It accepts no more records: it is a part of a split batch, or a record did not fit into it."""

    def join(self, records: int, now: int) -> None:
        """Add records."""
        if now != self.newest_us:
            self.sent_at += ((self.records, now),)
            self.newest_us = now
        self.records += records

    def by_send_time(self) -> list[RecordsBySendTime]:
        """Return its records grouped by the time at which the application sent them."""
        ends = [*[start for start, _at in self.sent_at[1:]], self.records]
        return [RecordsBySendTime(start, end - start, at) for (start, at), end in zip(self.sent_at, ends, strict=True)]

    def split(self, room: int) -> list["ProducerBatch"]:
        """Split it into batches of at most ``room`` records each (``ProducerBatch.split``)."""
        pieces: list[ProducerBatch] = []
        for start in range(0, self.records, room):
            piece = ProducerBatch(
                self.partition, self.sequence + start, min(room, self.records - start), self.created_us
            )  # fmt: skip
            piece.newest_us, piece.aged_us = self.newest_us, self.aged_us
            piece.producer_id, piece.epoch, piece.first = self.producer_id, self.epoch, self.first + start
            piece.written, piece.closed = self.written, True
            piece.sent_at = tuple(
                [
                    (max(0, each.start - start), each.sent_us)
                    for each in self.by_send_time()
                    if each.start < start + piece.records and start < each.start + each.records
                ]
            )
            pieces.append(piece)
        return pieces

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (
            self.partition, self.sequence, self.records, self.created_us, self.attempts, self.retry_at,
            self.in_flight, self.written, self.producer_id, self.newest_us, self.epoch, self.first, self.leader_epoch,
            self.done, self.renumbered, self.closed, self.aged_us, self.sent_at,
        )  # fmt: skip

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "ProducerBatch":
        """Restore the state returned by :meth:`save`."""
        batch = cls(*saved[:4])
        (
            batch.attempts, batch.retry_at, batch.in_flight, batch.written, batch.producer_id, batch.newest_us,
            batch.epoch, batch.first, batch.leader_epoch, batch.done, batch.renumbered, batch.closed, batch.aged_us,
            batch.sent_at,
        ) = saved[4:]  # fmt: skip
        return batch


def remove_from_heap(heap: list[ProducerBatch], batch: ProducerBatch) -> None:
    """Remove a batch from a heap by sequence, moving the others exactly as ``java.util.PriorityQueue.remove`` does."""
    index = heap.index(batch)
    moved = heap.pop()
    if index == len(heap):
        return
    position = index
    while position < len(heap) // 2:
        child = 2 * position + 1
        if child + 1 < len(heap) and heap[child].first > heap[child + 1].first:
            child += 1
        if moved.first <= heap[child].first:
            break
        heap[position] = heap[child]
        position = child
    heap[position] = moved
    while position == index and index and heap[(index - 1) // 2].first > moved.first:
        parent = (index - 1) // 2
        heap[index], heap[parent] = heap[parent], moved
        position = index = parent


def add_to_heap(heap: list[ProducerBatch], batch: ProducerBatch) -> None:
    """Add a batch to a heap by sequence as ``java.util.PriorityQueue.offer`` does."""
    heap.append(batch)
    place = len(heap) - 1
    while place and heap[(place - 1) // 2].first > batch.first:
        parent = (place - 1) // 2
        heap[place], heap[parent] = heap[parent], batch
        place = parent


class PartitionQueue:
    """Queue of one partition's batches, with its record numbers and idempotent sequence."""

    __slots__ = (
        "drained", "epoch", "last_acked", "last_offset", "muted", "name", "next_number", "next_sequence",
        "producer_id", "unresolved", "waiting",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiting: list[ProducerBatch] = []
        """Queued batches, not in flight, oldest first."""
        self.drained: list[ProducerBatch] = []
        """With idempotence: batches with a sequence and no outcome, in its order, in flight or not."""
        self.muted = False
        """With at most one request in flight: nothing is sent while a response is pending."""
        self.next_number = 0
        """Number of the next record."""
        self.producer_id = -1
        self.epoch = -1
        self.next_sequence = 0
        self.last_acked = -1
        """Sequence of the last record acknowledged in this epoch, -1 for none."""
        self.last_offset = -1
        self.unresolved = -1
        """Sequence after a batch that expired after it was sent, -1 for none: it may or may not be in the log, and no
        new batch is sent until the others in flight have their outcome."""

    def save(self) -> tuple[Any, ...]:
        """Return all state except the batches."""
        return (
            self.name, self.muted, self.next_number, self.producer_id, self.epoch, self.next_sequence,
            self.last_acked, self.last_offset, self.unresolved,
        )  # fmt: skip

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "PartitionQueue":
        """Restore the state returned by :meth:`save`."""
        line = cls(saved[0])
        (
            line.muted, line.next_number, line.producer_id, line.epoch, line.next_sequence, line.last_acked,
            line.last_offset, line.unresolved,
        ) = saved[1:]  # fmt: skip
        return line


class RecordAccumulator:
    """The batch queues of all partitions of a producer.

    ``busy`` has only partitions with queued batches, so that the work grows with the traffic and not with the number
    of partitions.
    """

    __slots__ = ("_batch_bytes", "_by_first", "_sizes", "busy", "incomplete", "queues", "used", "waiting")

    def __init__(self, batch_bytes: int = 16_384, sizes: RecordSizes | None = None, *, by_first: bool = False) -> None:
        """Make it empty; ``sizes`` are the record sizes, 200 bytes by default."""
        self.queues: dict[str, PartitionQueue] = {}
        self.busy: dict[str, PartitionQueue] = {}
        self.waiting = 0
        """Number of batches not in flight."""
        self.incomplete = 0
        """Number of batches without an outcome."""
        self.used = 0
        """Memory in use by them, in bytes."""
        self._batch_bytes = batch_bytes
        self._by_first = by_first
        """Whether the new sequences of batches may have another order than their records (KAFKA-8483)."""
        self._sizes = ConstantSize(200) if sizes is None else sizes

    def queue(self, partition: str) -> PartitionQueue:
        """Return the queue of a partition."""
        line = self.queues.get(partition)
        if line is None:
            line = self.queues[partition] = PartitionQueue(partition)
        return line

    def _memory(self, partition: str, number: int, records: int) -> int:
        size = self._sizes.of(partition, number, records)
        return size if size > self._batch_bytes else self._batch_bytes

    def _takes(self, batch: ProducerBatch, records: int) -> bool:
        """Return whether a queued batch has room for more records."""
        if batch.attempts or batch.closed:
            return False
        return self._sizes.of(batch.partition, batch.sequence, batch.records + records) <= self._batch_bytes

    def needs(self, partition: str, records: int) -> int:
        """Return the bytes that :meth:`add` would take from the pool."""
        line = self.queue(partition)
        joins = bool(line.waiting) and self._takes(line.waiting[-1], records)
        return 0 if joins else self._memory(partition, line.next_number, records)

    def fits(self, partition: str, records: int) -> bool:
        """Return whether records fit into the last queued batch; if not, the batch is closed."""
        line = self.queues.get(partition)
        if line is None or not line.waiting:
            return False
        last = line.waiting[-1]
        if self._takes(last, records):
            return True
        last.closed = True
        return False

    def full(self, partition: str) -> bool:
        """Return whether no queued batch accepts another record, also if there is none (``allBatchesFull``)."""
        line = self.queues.get(partition)
        if line is None or not line.waiting:
            return True
        last = line.waiting[-1]
        if last.attempts or last.closed:
            return True
        return self._sizes.of(partition, last.sequence, last.records) >= self._batch_bytes

    def add(self, partition: str, records: int, now: int) -> int:
        """Add records to the last batch if it has room, else to a new one; return their first number."""
        line = self.queues.get(partition)
        if line is None:
            line = self.queues[partition] = PartitionQueue(partition)
        number = line.next_number
        line.next_number = number + records
        waiting = line.waiting
        if waiting:
            last = waiting[-1]
            if self._takes(last, records):
                last.join(records, now)
                return number
        else:
            self.busy[partition] = line
        waiting.append(ProducerBatch(partition, number, records, now))
        self.waiting += 1
        self.incomplete += 1
        self.used += self._memory(partition, number, records)
        return number

    def add_again(self, partition: str, number: int, records: int, now: int) -> None:
        """Add records in their own batch, under the numbers that they had in a former process."""
        line = self.queue(partition)
        batch = ProducerBatch(partition, number, records, now)
        batch.closed = True
        line.waiting.append(batch)
        self.busy[partition] = line
        self.waiting += 1
        self.incomplete += 1
        self.used += self._memory(partition, number, records)

    def continue_numbers(self, former: "RecordAccumulator") -> None:
        """Continue the record numbers of a former process of the application."""
        for line in former.queues.values():
            self.queue(line.name).next_number = line.next_number

    def requeue(self, batch: ProducerBatch) -> None:
        """Put a batch back for a retry: at the front, or with idempotence in the order of sequences."""
        line = self.queues[batch.partition]
        batch.in_flight = False
        self._insert(line, batch)

    def _insert(self, line: PartitionQueue, batch: ProducerBatch) -> None:
        waiting = line.waiting
        place = 0
        if batch.producer_id >= 0:
            while place < len(waiting) and waiting[place].producer_id >= 0 and self._precedes(waiting[place], batch):
                place += 1
        waiting.insert(place, batch)
        self.busy[line.name] = line
        self.waiting += 1

    def _precedes(self, batch: ProducerBatch, other: ProducerBatch) -> bool:
        return batch.first < other.first if self._by_first else batch.sequence < other.sequence

    def replace(self, batch: ProducerBatch, pieces: list[ProducerBatch]) -> None:
        """Replace a batch by the parts that it was split into."""
        line = self.queues[batch.partition]
        if batch in line.drained and self._by_first:
            remove_from_heap(line.drained, batch)
            for piece in pieces:
                add_to_heap(line.drained, piece)
        elif batch in line.drained:
            place = line.drained.index(batch)
            line.drained[place : place + 1] = pieces
        self.complete(batch)
        for piece in reversed(pieces):
            self._insert(line, piece)
            self.incomplete += 1
            self.used += self._memory(piece.partition, piece.sequence, piece.records)

    def drop(self, batch: ProducerBatch) -> None:
        """Remove a batch from its queue, if it is queued."""
        line = self.queues[batch.partition]
        if batch in line.waiting:
            line.waiting.remove(batch)
            self.waiting -= 1
            if not line.waiting:
                del self.busy[line.name]

    def complete(self, batch: ProducerBatch) -> None:
        """Complete a batch and free its memory."""
        batch.done = True
        self.incomplete -= 1
        self.used -= self._memory(batch.partition, batch.sequence, batch.records)

    @property
    def queued(self) -> int:
        """Number of queued records, not in flight."""
        return sum(batch.records for line in self.busy.values() for batch in line.waiting)

    def save(self) -> tuple[Any, ...]:
        """Return all state except the batches in flight."""
        lines = tuple(
            (
                line.save(),
                tuple([batch.save() for batch in line.waiting]),
                tuple([batch.sequence for batch in line.drained]),
            )
            for line in self.queues.values()
        )
        return lines, tuple(self.busy), self.incomplete, self.used

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`; call :meth:`loaded_flights` afterwards."""
        lines, busy, self.incomplete, self.used = saved
        self.queues = {}
        for state, waiting, _drained in lines:
            line = PartitionQueue.from_saved(state)
            line.waiting = [ProducerBatch.from_saved(batch) for batch in waiting]
            self.queues[line.name] = line
        self.busy = {name: self.queues[name] for name in busy}
        self.waiting = sum(len(line.waiting) for line in self.busy.values())

    def loaded_flights(self, saved: tuple[Any, ...], flights: list[ProducerBatch]) -> None:
        """Restore the batches with a sequence of each queue, after the batches in flight were loaded."""
        under_way = {(batch.partition, batch.sequence): batch for batch in flights if not batch.done}
        for state, _waiting, drained in saved[0]:
            line = self.queues[state[0]]
            known = {batch.sequence: batch for batch in line.waiting}
            line.drained = [known.get(number) or under_way[line.name, number] for number in drained]


# Expiry of batches.
#
# Since 2.1 (KIP-91) a batch expires ``delivery.timeout.ms`` after its creation, queued or in flight. From 0.9 on
# (KIP-19), ``request.timeout.ms`` limited only each wait in the queue, and ``retries`` limited the attempts. 0.8.2
# kept batches that it could not send without limit.


NEVER: Final = 1 << 62


class BatchExpiry:
    """Deadlines of batches, by the release of the client."""

    __slots__ = ("_config", "_sizes", "bounds_flights", "wall")

    def __init__(self, config: ProducerConfig, sizes: RecordSizes, wall: WallClock | None = None) -> None:
        self.wall = WallClock() if wall is None else wall
        """The machine's clock, used for record timestamps."""
        self._config = config
        self._sizes = sizes
        self.bounds_flights = config.client.delivery_timeout
        """Whether a batch in flight can expire too."""

    def queued(self, line: PartitionQueue) -> tuple[int, ProducerBatch]:
        """Return when which batch of a queue is the next to expire: the first, as those after it expire later.

        In 0.9 a batch that waits for its retry does not protect those after it (KAFKA-3388).
        """
        head = line.waiting[0]
        earliest = (self._queued(line, head), head)
        if self._config.client.expires_behind_retries and not self.bounds_flights:
            for batch in line.waiting[1:]:
                if not head.attempts:
                    break
                head = batch
                at = self._queued(line, batch)
                if at < earliest[0]:
                    earliest = (at, batch)
        return earliest

    def _queued(self, line: PartitionQueue, batch: ProducerBatch) -> int:
        config = self._config
        if self.bounds_flights:
            return batch.created_us - batch.aged_us + config.delivery_timeout_us
        if not config.client.expires_batches or line.muted:
            return NEVER
        patience = config.request_timeout_us + 1
        if batch.attempts:
            return batch.retry_at + patience
        at = batch.created_us - batch.aged_us + config.linger_us
        closed = batch is not line.waiting[-1] or batch.closed
        if closed or self._sizes.of(batch.partition, batch.sequence, batch.records) >= config.batch_bytes:
            at = min(at, batch.newest_us - batch.aged_us)
        return at + patience

    def in_flight(self, batch: ProducerBatch) -> int:
        """Return when a batch in flight expires."""
        if not self.bounds_flights:
            return NEVER
        return batch.created_us - batch.aged_us + self._config.delivery_timeout_us

    def clock_stepped(self, by: int, batches: list[ProducerBatch]) -> None:
        """Adjust the age of batches to a step of the machine's clock; existing timestamps are kept."""
        for batch in batches:
            batch.aged_us += by

    def first(self, accumulator: RecordAccumulator, flights: list[ProducerBatch]) -> int:
        """Return the earliest deadline, :data:`NEVER` for none."""
        at = min([self.queued(line)[0] for line in accumulator.busy.values()], default=NEVER)
        if self.bounds_flights:
            for batch in flights:
                if not batch.done:
                    at = min(at, self.in_flight(batch))
        return at


# Readiness of the first batch of a queue to be sent (``RecordAccumulator.batchReady``, ``shouldBackoff``).


class BatchReadiness:
    """Readiness check of queues with batches."""

    __slots__ = ("_config", "_metadata", "_sizes", "no_linger")

    def __init__(self, config: ProducerConfig, metadata: Metadata, sizes: RecordSizes) -> None:
        self._config = config
        self._metadata = metadata
        self._sizes = sizes
        self.no_linger = False
        """Do not linger: something waits for memory, a flush or a close."""

    def size(self, batch: ProducerBatch) -> int:
        """Return the uncompressed size of its records."""
        return self._sizes.of(batch.partition, batch.sequence, batch.records)

    def any_of(self, lines: list[PartitionQueue], now: int) -> bool:
        """Return whether the first batch of any queue is ready."""
        return any(line.waiting and not line.muted and self.at(line) <= now for line in lines)

    def at(self, line: PartitionQueue) -> int:
        """Return when the first batch of a queue is ready to be sent."""
        batch = line.waiting[0]
        config = self._config
        if batch.attempts:
            return self._backs_off_until(line, batch)
        full = len(line.waiting) > 1 or batch.closed or self.size(batch) >= config.batch_bytes
        linger = 0 if full or self.no_linger else config.linger_us
        # A clock that was set back prolongs linger, but nothing else (``ProducerBatch.waitedTimeMs``).
        at = batch.created_us - batch.aged_us + linger if linger else batch.created_us
        return max(at, self._packed_at(batch))

    def ready_to_join_at(self, line: PartitionQueue) -> int:
        """Return when the first batch may go along in the request of another one; linger does not apply then.

        Nor does the backoff of a retry in 0.8.2 (``RecordAccumulator.drain`` before KAFKA-2138).
        """
        head = line.waiting[0]
        if head.attempts and self._config.client.retries_join_early:
            return 0
        return self._backs_off_until(line, head) if head.attempts else self._packed_at(head)

    def _backs_off_until(self, line: PartitionQueue, batch: ProducerBatch) -> int:
        """Return the end of a batch's retry backoff, which a new leader epoch ends at once."""
        if self._config.client.skips_backoff and self._metadata.epoch(line.name) > batch.leader_epoch:
            return 0
        return batch.retry_at

    def _packed_at(self, batch: ProducerBatch) -> int:
        return batch.newest_us + self._config.codec.cost_us(self.size(batch))

    def next(self, nodes: dict[int, list[PartitionQueue]], now: int) -> int:
        """Return when the next batch that waits only for time becomes ready, -1 for none."""
        wake = -1
        for lines in nodes.values():
            for line in lines:
                if line.waiting and not line.muted:
                    at = self.at(line)
                    if at > now and (wake < 0 or at < wake):
                        wake = at
        return wake
