"""A producer's queued batches, one queue for each partition, and their memory (``RecordAccumulator``).

It is Kafka's ``RecordAccumulator`` with its ``BufferPool``: memory comes back when a batch is settled, not when it is
sent.
"""

from typing import Any, Final, NamedTuple

from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.workload import OneSize, RecordSizes
from cluster_model.kernel.wall_clocks import WallClock


class SentTogether(NamedTuple):
    """Records of a batch that were handed over at one time."""

    start: int
    """The first of them, counted from the batch's first record."""
    records: int
    sent_us: int


class Outgoing:
    """A batch on its way. ``written`` stays True once an attempt may have reached a log."""

    __slots__ = (
        "aged_us", "attempts", "closed", "created_us", "done", "epoch", "first", "in_flight", "leader_epoch",
        "newest_us", "partition", "producer_id", "records", "renumbered", "retry_at", "sent_at", "sequence", "written",
    )  # fmt: skip

    def __init__(self, partition: str, sequence: int, records: int, created_us: int) -> None:
        self.partition = partition
        self.sequence = sequence
        """Number of the first record: the application's count in this partition."""
        self.records = records
        self.created_us = created_us
        self.aged_us = 0
        """How much older a jump of the machine's clock has made it, as the client reckons."""
        self.newest_us = created_us
        """When the last record joined."""
        self.sent_at: tuple[tuple[int, int], ...] = ((0, created_us),)
        """(first record, counted from the batch's first one, when it and those after it were handed over)."""
        self.producer_id = -1
        """Stamped at the first attempt with epoch and sequence; retries keep them, so a broker can tell a duplicate."""
        self.epoch = -1
        self.first = 0
        """Kafka's sequence of the first record."""
        self.attempts = 0
        self.retry_at = 0
        self.leader_epoch = -1
        """What was known of the partition at the last attempt."""
        self.in_flight = False
        self.done = False
        """Settled. A request with it may still be under way."""
        self.written = False
        self.renumbered = False
        """Its sequence has been reset while it was under way (``ProducerBatch.sequenceHasBeenReset``)."""
        self.closed = False
        """It takes no more records: it is a piece of a batch that was too large, or one did not fit into it."""

    def join(self, records: int, now: int) -> None:
        """Take more records."""
        if now != self.newest_us:
            self.sent_at += ((self.records, now),)
            self.newest_us = now
        self.records += records

    def sent_together(self) -> list[SentTogether]:
        """Its records by the time at which they were handed over."""
        ends = [*[start for start, _at in self.sent_at[1:]], self.records]
        return [SentTogether(start, end - start, at) for (start, at), end in zip(self.sent_at, ends, strict=True)]

    def pieces(self, room: int) -> list["Outgoing"]:
        """Batches of at most ``room`` records each in its stead (``ProducerBatch.split``)."""
        pieces: list[Outgoing] = []
        for start in range(0, self.records, room):
            piece = Outgoing(
                self.partition, self.sequence + start, min(room, self.records - start), self.created_us
            )  # fmt: skip
            piece.newest_us, piece.aged_us = self.newest_us, self.aged_us
            piece.producer_id, piece.epoch, piece.first = self.producer_id, self.epoch, self.first + start
            piece.written, piece.closed = self.written, True
            piece.sent_at = tuple(
                [
                    (max(0, each.start - start), each.sent_us)
                    for each in self.sent_together()
                    if each.start < start + piece.records and start < each.start + each.records
                ]
            )
            pieces.append(piece)
        return pieces

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.partition, self.sequence, self.records, self.created_us, self.attempts, self.retry_at,
            self.in_flight, self.written, self.producer_id, self.newest_us, self.epoch, self.first, self.leader_epoch,
            self.done, self.renumbered, self.closed, self.aged_us, self.sent_at,
        )  # fmt: skip

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "Outgoing":
        """Undo of :meth:`save`."""
        batch = cls(*saved[:4])
        (
            batch.attempts, batch.retry_at, batch.in_flight, batch.written, batch.producer_id, batch.newest_us,
            batch.epoch, batch.first, batch.leader_epoch, batch.done, batch.renumbered, batch.closed, batch.aged_us,
            batch.sent_at,
        ) = saved[4:]  # fmt: skip
        return batch


class PartitionBatches:
    """One partition's batches, and its numbering."""

    __slots__ = (
        "drained", "epoch", "last_acked", "last_offset", "muted", "name", "next_number", "next_sequence",
        "producer_id", "unresolved", "waiting",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiting: list[Outgoing] = []
        """Not under way, oldest first."""
        self.drained: list[Outgoing] = []
        """Idempotence: those with a sequence that are not settled, in its order, whether under way or not."""
        self.muted = False
        """With one request in flight: nothing is sent while an answer is due."""
        self.next_number = 0
        """Of the next record."""
        self.producer_id = -1
        self.epoch = -1
        self.next_sequence = 0
        self.last_acked = -1
        """Sequence of the last record that was acknowledged in this epoch, -1 for none."""
        self.last_offset = -1
        self.unresolved = -1
        """Sequence behind a batch that was given up after it had been sent, -1 for none: nobody knows if it is in the
        log, and nothing new is sent until the others under way tell."""

    def save(self) -> tuple[Any, ...]:
        """All state but the batches."""
        return (
            self.name, self.muted, self.next_number, self.producer_id, self.epoch, self.next_sequence,
            self.last_acked, self.last_offset, self.unresolved,
        )  # fmt: skip

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "PartitionBatches":
        """Undo of :meth:`save`."""
        line = cls(saved[0])
        (
            line.muted, line.next_number, line.producer_id, line.epoch, line.next_sequence, line.last_acked,
            line.last_offset, line.unresolved,
        ) = saved[1:]  # fmt: skip
        return line


class Accumulator:
    """All lines of a producer.

    ``busy`` has the partitions with something waiting only, so that the work goes with the traffic and not with the
    number of partitions.
    """

    __slots__ = ("_batch_bytes", "_sizes", "busy", "lines", "unsettled", "used", "waiting")

    def __init__(self, batch_bytes: int = 16_384, sizes: RecordSizes | None = None) -> None:
        """``sizes`` are those of the records, 200 bytes unless given."""
        self.lines: dict[str, PartitionBatches] = {}
        self.busy: dict[str, PartitionBatches] = {}
        self.waiting = 0
        """Batches that are not under way."""
        self.unsettled = 0
        """Batches without an outcome."""
        self.used = 0
        """Bytes of memory that they take."""
        self._batch_bytes = batch_bytes
        self._sizes = OneSize(200) if sizes is None else sizes

    def line(self, partition: str) -> PartitionBatches:
        """The line of a partition."""
        line = self.lines.get(partition)
        if line is None:
            line = self.lines[partition] = PartitionBatches(partition)
        return line

    def _memory(self, partition: str, number: int, records: int) -> int:
        size = self._sizes.of(partition, number, records)
        return size if size > self._batch_bytes else self._batch_bytes

    def _takes(self, batch: Outgoing, records: int) -> bool:
        """Whether a batch that waits has room for more."""
        if batch.attempts or batch.closed:
            return False
        return self._sizes.of(batch.partition, batch.sequence, batch.records + records) <= self._batch_bytes

    def needs(self, partition: str, records: int) -> int:
        """Bytes that :meth:`add` would take from the pool."""
        line = self.line(partition)
        joins = bool(line.waiting) and self._takes(line.waiting[-1], records)
        return 0 if joins else self._memory(partition, line.next_number, records)

    def fits(self, partition: str, records: int) -> bool:
        """Whether records have room in the batch that waits last; a batch without room is closed by the try."""
        line = self.lines.get(partition)
        if line is None or not line.waiting:
            return False
        last = line.waiting[-1]
        if self._takes(last, records):
            return True
        last.closed = True
        return False

    def full(self, partition: str) -> bool:
        """Whether no waiting batch takes another record, there being none, too (``allBatchesFull``)."""
        line = self.lines.get(partition)
        if line is None or not line.waiting:
            return True
        last = line.waiting[-1]
        if last.attempts or last.closed:
            return True
        return self._sizes.of(partition, last.sequence, last.records) >= self._batch_bytes

    def add(self, partition: str, records: int, now: int) -> int:
        """Put records into the last batch if it still has room, else into a new one; returns their first number."""
        line = self.lines.get(partition)
        if line is None:
            line = self.lines[partition] = PartitionBatches(partition)
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
        waiting.append(Outgoing(partition, number, records, now))
        self.waiting += 1
        self.unsettled += 1
        self.used += self._memory(partition, number, records)
        return number

    def again(self, partition: str, number: int, records: int, now: int) -> None:
        """Put records in a batch of their own under the numbers that they had in an earlier process."""
        line = self.line(partition)
        batch = Outgoing(partition, number, records, now)
        batch.closed = True
        line.waiting.append(batch)
        self.busy[partition] = line
        self.waiting += 1
        self.unsettled += 1
        self.used += self._memory(partition, number, records)

    def number_on(self, former: "Accumulator") -> None:
        """Number records on where an earlier process of the application stopped."""
        for line in former.lines.values():
            self.line(line.name).next_number = line.next_number

    def back(self, batch: Outgoing) -> None:
        """It is to be sent again: at the front, with idempotence in the order of the sequences."""
        line = self.lines[batch.partition]
        batch.in_flight = False
        self._insert(line, batch)

    def _insert(self, line: PartitionBatches, batch: Outgoing) -> None:
        waiting = line.waiting
        place = 0
        if batch.producer_id >= 0:
            while place < len(waiting) and waiting[place].producer_id >= 0 and waiting[place].sequence < batch.sequence:
                place += 1
        waiting.insert(place, batch)
        self.busy[line.name] = line
        self.waiting += 1

    def replace(self, batch: Outgoing, pieces: list[Outgoing]) -> None:
        """A batch that came back is split."""
        line = self.lines[batch.partition]
        if batch in line.drained:
            place = line.drained.index(batch)
            line.drained[place : place + 1] = pieces
        self.settle(batch)
        for piece in reversed(pieces):
            self._insert(line, piece)
            self.unsettled += 1
            self.used += self._memory(piece.partition, piece.sequence, piece.records)

    def drop(self, batch: Outgoing) -> None:
        """Take a batch out of its queue, if it waits there."""
        line = self.lines[batch.partition]
        if batch in line.waiting:
            line.waiting.remove(batch)
            self.waiting -= 1
            if not line.waiting:
                del self.busy[line.name]

    def settle(self, batch: Outgoing) -> None:
        """A batch has its outcome, and its memory is free."""
        batch.done = True
        self.unsettled -= 1
        self.used -= self._memory(batch.partition, batch.sequence, batch.records)

    @property
    def queued(self) -> int:
        """Records that are not under way."""
        return sum(batch.records for line in self.busy.values() for batch in line.waiting)

    def save(self) -> tuple[Any, ...]:
        """All state but what is under way."""
        lines = tuple(
            (
                line.save(),
                tuple([batch.save() for batch in line.waiting]),
                tuple([batch.sequence for batch in line.drained]),
            )
            for line in self.lines.values()
        )
        return lines, tuple(self.busy), self.unsettled, self.used

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`; :meth:`loaded_flights` is to follow."""
        lines, busy, self.unsettled, self.used = saved
        self.lines = {}
        for state, waiting, _drained in lines:
            line = PartitionBatches.loaded(state)
            line.waiting = [Outgoing.loaded(batch) for batch in waiting]
            self.lines[line.name] = line
        self.busy = {name: self.lines[name] for name in busy}
        self.waiting = sum(len(line.waiting) for line in self.busy.values())

    def loaded_flights(self, saved: tuple[Any, ...], flights: list[Outgoing]) -> None:
        """What is under way is loaded, too: each line knows again which of its batches have a sequence."""
        under_way = {(batch.partition, batch.sequence): batch for batch in flights if not batch.done}
        for state, _waiting, drained in saved[0]:
            line = self.lines[state[0]]
            known = {batch.sequence: batch for batch in line.waiting}
            line.drained = [known.get(number) or under_way[line.name, number] for number in drained]


# Expiry of batches.
#
# Since 2.1 (KIP-91) a batch has ``delivery.timeout.ms`` from its creation, wherever it is. Before, from 0.9 on
# (KIP-19), ``request.timeout.ms`` bounded the wait in the queue alone, each time anew, and ``retries`` bounded the
# rest; 0.8.2 kept what it could not send for ever.


NEVER: Final = 1 << 62


class Expiry:
    """Deadlines of batches, by the release of the client."""

    __slots__ = ("_config", "_sizes", "bounds_flights", "wall")

    def __init__(self, config: ProducerConfig, sizes: RecordSizes, wall: WallClock | None = None) -> None:
        self.wall = WallClock() if wall is None else wall
        """The machine's clock: what it shows stamps records."""
        self._config = config
        self._sizes = sizes
        self.bounds_flights = config.client.delivery_timeout
        """Whether a batch under way can expire, too."""

    def waiting(self, line: PartitionBatches) -> int:
        """When the head of a line is given up; those behind it never go before it."""
        config = self._config
        head = line.waiting[0]
        if self.bounds_flights:
            return head.created_us - head.aged_us + config.delivery_timeout_us
        if not config.client.expires_batches or line.muted:
            return NEVER
        patience = config.request_timeout_us + 1
        if head.attempts:
            return head.retry_at + patience
        at = head.created_us - head.aged_us + config.linger_us
        closed = len(line.waiting) > 1 or head.closed
        if closed or self._sizes.of(head.partition, head.sequence, head.records) >= config.batch_bytes:
            at = min(at, head.newest_us - head.aged_us)
        return at + patience

    def under_way(self, batch: Outgoing) -> int:
        """The same of a batch whose answer is due."""
        if not self.bounds_flights:
            return NEVER
        return batch.created_us - batch.aged_us + self._config.delivery_timeout_us

    def clock_stepped(self, by: int, batches: list[Outgoing]) -> None:
        """The machine's clock was set: a batch's age goes by it, but what was made before keeps its timestamps."""
        for batch in batches:
            batch.aged_us += by

    def first(self, accumulator: Accumulator, flights: list[Outgoing]) -> int:
        """The earliest deadline, :data:`NEVER` for none."""
        at = min(map(self.waiting, accumulator.busy.values()), default=NEVER)
        if self.bounds_flights:
            for batch in flights:
                if not batch.done:
                    at = min(at, self.under_way(batch))
        return at


# When the head of a partition's queue may be sent (``RecordAccumulator.batchReady``, ``shouldBackoff``).


class Readiness:
    """Looks at lines that have something waiting."""

    __slots__ = ("_config", "_metadata", "_sizes", "hurry")

    def __init__(self, config: ProducerConfig, metadata: Metadata, sizes: RecordSizes) -> None:
        self._config = config
        self._metadata = metadata
        self._sizes = sizes
        self.hurry = False
        """Somebody waits for memory, for a flush, or for the end: nothing lingers."""

    def size(self, batch: Outgoing) -> int:
        """Bytes of its records, not compressed."""
        return self._sizes.of(batch.partition, batch.sequence, batch.records)

    def any_of(self, lines: list[PartitionBatches], now: int) -> bool:
        """Whether the head of any line is ready."""
        return any(line.waiting and not line.muted and self.at(line) <= now for line in lines)

    def at(self, line: PartitionBatches) -> int:
        """When the head of a line is ready to be sent."""
        batch = line.waiting[0]
        config = self._config
        if batch.attempts:
            return self._backs_off_until(line, batch)
        full = len(line.waiting) > 1 or batch.closed or self.size(batch) >= config.batch_bytes
        linger = 0 if full or self.hurry else config.linger_us
        # Who lingers waits the longer for a clock that was set back, others do not (``ProducerBatch.waitedTimeMs``).
        at = batch.created_us - batch.aged_us + linger if linger else batch.created_us
        return max(at, self._packed_at(batch))

    def along_at(self, line: PartitionBatches) -> int:
        """When it may go along with another that is ready: that it lingers does not matter then."""
        head = line.waiting[0]
        return self._backs_off_until(line, head) if head.attempts else self._packed_at(head)

    def _backs_off_until(self, line: PartitionBatches, batch: Outgoing) -> int:
        """A new leader epoch ends the pause."""
        if self._config.client.skips_backoff and self._metadata.epoch(line.name) > batch.leader_epoch:
            return 0
        return batch.retry_at

    def _packed_at(self, batch: Outgoing) -> int:
        return batch.newest_us + self._config.codec.cost_us(self.size(batch))

    def next(self, nodes: dict[int, list[PartitionBatches]], now: int) -> int:
        """When the next batch that now waits for nothing but time becomes ready, -1 for none."""
        wake = -1
        for lines in nodes.values():
            for line in lines:
                if line.waiting and not line.muted:
                    at = self.at(line)
                    if at > now and (wake < 0 or at < wake):
                        wake = at
        return wake
