"""A producer: an application that hands over records at a steady rate, and what ``KafkaProducer.send`` does with them.

A batch ends in one of three ways that are never mixed: *acked* (the success callback), *failed* (every attempt ended
in an error that proves that nothing was written), or *unknown* (some attempt may have been written). An expired batch
that was ever under way is unknown: it may be in the log, or still get there.

The application is one thread. While ``send`` blocks, for metadata or for memory, it makes no records; one that sends
synchronously makes none either until it has the outcome of its last record.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.accumulator import Accumulator
from cluster_model.clients.before_sending import UNSERIALIZED, Chain
from cluster_model.clients.books import Books
from cluster_model.clients.ending import CLOSE, FORCED, FOREVER_US, Ending
from cluster_model.clients.io_thread import CALLBACKS, BooksWithCallbacks, IoThread
from cluster_model.clients.metadata import Metadata
from cluster_model.clients.mortal import Mortal
from cluster_model.clients.pacing import pacing_of
from cluster_model.clients.producer_config import ProducerConfig
from cluster_model.clients.sender import Sender
from cluster_model.clients.sizes import LARGEST, every, sizes_of
from cluster_model.errors import KafkaError
from cluster_model.events import Event
from cluster_model.kernel.kernel import Payload
from cluster_model.kernel.port import Port
from cluster_model.kernel.streams import Stream
from cluster_model.messages import (
    NOBODY,
    InitProducerIdResponse,
    Message,
    MetadataResponse,
    PartitionState,
    ProduceResponse,
)
from cluster_model.spec import ProducerSpec

RECORD_OVERHEAD: Final = 61 + 21
"""The most that a record needs beside key and value: a batch's header, its own lengths (``ensureValidRecordSize``)."""
EXHAUSTED: Final = "BufferExhaustedException"
"""The error of records for which there was no memory in time; Kafka gives it no code."""


class Producer(Mortal):
    """The node."""

    __slots__ = (
        "_available", "_available_as_of", "_blocked_at", "_chain", "_config", "_ending", "_flushed", "_held", "_io",
        "_late", "_metadata", "_most", "_owed", "_pace", "_partitions", "_plenty", "_running",
        "_serialized", "_single", "_sizes", "_spec", "_sync", "_taken", "_turn", "_waits", "acks",
    )  # fmt: skip

    def __init__(
        self,
        port: Port,
        spec: ProducerSpec,
        config: ProducerConfig,
        partitions: tuple[str, ...],
        brokers: tuple[int, ...],
        emit: Callable[[Event], None],
        jitter: Stream,
        seed: int = 0,
    ) -> None:
        """``jitter`` is the stream that pauses between attempts are drawn from, ``seed`` the session's."""
        self._port = port
        self._spec = spec
        self._config = config
        self.acks = config.acks
        """-1 for all."""
        self._pace = pacing_of(port, spec)
        self._sizes = sizes_of(spec, seed)
        self._chain = Chain(spec.name, spec.interceptors, emit) if spec.interceptors else None
        self._most = (spec.record_bytes if spec.sizes is None else LARGEST) + (self._chain.most if self._chain else 0)
        """No record has more bytes."""
        self._io = IoThread(port, spec.callback_us) if spec.callback_us else None
        """None: callbacks take no time."""
        self._books = self._make_books(emit)
        self._accumulator = Accumulator(config.batch_bytes, self._sizes)
        self._sender = self._make_sender(brokers, jitter)
        if self._io is not None:
            self._io.join(self._sender, self._books)
        self._ending = Ending(port, self._accumulator, self._sender, self._books)
        self._flushed = 0
        """Records that were sent before the newest flush."""
        self._metadata: Metadata = self._sender.metadata
        self._sync = spec.send == "sync"
        self._single = config.batch_bytes == 0
        """Every record has a batch of its own."""
        self._taken = min(config.request_bytes, config.memory_bytes) - RECORD_OVERHEAD
        """Bytes of the largest record that is taken."""
        self._plenty = config.memory_bytes - max(config.batch_bytes, spec.batch * self._most)
        """With no more memory than this in use, the next batch has room in any case."""
        self._partitions = partitions
        self._available = partitions
        self._available_as_of = -1
        """Version of the metadata that :attr:`_available` was read from."""
        self._turn = 0
        self._running = True
        self._blocked_at = -1
        """Since when the application waits in ``send``, -1 if it does not."""
        self._held = ""
        """Partition of the records that wait for memory, empty for none."""
        self._serialized = 0
        """Records that the serializer has seen, where it may refuse some."""
        self._owed = 0
        """Records that were made and not handed over yet, because each waits for the one before it."""
        self._late = False
        """The time for the next records came while the application was waiting for an outcome."""
        self._waits = False
        """Whether an outcome may let the application go on."""

    def _make_books(self, emit: Callable[[Event], None]) -> Books:
        return (BooksWithCallbacks if self._io else Books)(self._spec.name, self._config.acks, emit, self._pace)

    def _make_sender(self, brokers: tuple[int, ...], jitter: Stream) -> Sender:
        return Sender(
            self._port, self._spec, self._config, brokers, self._accumulator, self._books, jitter, self._sizes
        )  # fmt: skip

    @property
    def in_flight(self) -> int:
        """Batches under way."""
        return self._sender.under_way

    def begin(self, states: tuple[PartitionState, ...]) -> None:
        """Start with knowledge of the cluster's first instant; with none if it starts later."""
        self._metadata.begin(states)
        self._sender.begin()
        self._begin_pace()

    def _begin_pace(self) -> None:
        self._pace.begin()
        if self._spec.close_us >= 0 and self._spec.stop_us >= 0:
            self._port.timer(self._spec.stop_us, "stop")

    def stop(self) -> None:
        """Make no more records; what is on its way goes on, or is waited for if the producer is to be closed."""
        self._running = False
        if self._spec.close_us >= 0:
            self._port.timer(0, "stop")

    def flush(self) -> None:
        """Send everything at once; the application sends nothing until all of it has its outcome."""
        self._ending.flush()
        self._waits = self._sync or bool(self._held) or self._ending.waits

    def close(self, timeout_us: int = FOREVER_US) -> None:
        """``close(timeout)``: send what there is, and fail what has no outcome by then; 0 waits for nothing.

        Nobody sends any more: whoever waits in ``send`` gets an exception. A second call changes nothing.
        """
        self._running = False
        if self._ending.closing:
            return
        if self._held:
            now = self._port.now
            self._books.never_taken(now, self._held, self._owed, FORCED, now - self._blocked_at)
            self._held = ""
        self._owed = 0
        self._late = False
        self._ending.close(timeout_us)
        self._waits = self._ending.waits

    @property
    def closed(self) -> bool:
        """Whether it has been closed, and has nothing more to do."""
        return self._ending.closed

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        if self._ending.closed:
            return
        if self._io is not None and self._io.busy:
            self._io.keep(source, message)
            return
        if isinstance(message, ProduceResponse):
            if self.acks:
                self._sender.answered(message)
            else:
                self._sender.closed_by(source)
        elif isinstance(message, MetadataResponse):
            if self._metadata.answered(message):
                self._sender.pump()
        elif isinstance(message, InitProducerIdResponse):
            self._sender.identified(message)
        if self._waits:
            self._go_on()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        name = timer[0]
        if name == "make":
            self._make()
            return
        if self._ending.closed:
            return
        if name == "blocked":
            self._give_way()
        elif name == "stop":
            self.close(self._spec.close_us)
        elif name == CLOSE:
            self._ending.rang()
        elif self._io is not None and (self._io.busy or name == CALLBACKS):
            self._io.rang(timer, self)
        else:
            self._sender.rang(name)
        if self._waits:
            self._go_on()

    def on_disconnect(self, peer: int) -> None:
        """Everything under way to ``peer`` failed without an answer."""
        if self._ending.closed:
            return
        if self._io is not None and self._io.busy:
            self._io.keep(peer, None)
            return
        self._sender.disconnected(peer)
        if self._waits:
            self._go_on()

    def _make(self) -> None:
        """It is time for the next records."""
        spec = self._spec
        now = self._port.clock.now
        if not self._running or 0 <= spec.stop_us <= now:
            return
        self._pace.made()
        if self._sync:
            self._late = True
            self._waits = True
            if not self._held:
                self._go_on()
        elif not self._held and not self._ending.flushing:
            self._hand_over(spec.batch, now)
            if spec.flush_every:
                self._flush_now_and_then()
        else:
            self._pace.blocked()

    def _flush_now_and_then(self) -> None:
        """Every so many records the application waits for all of them."""
        if not self._held and self._books.sent - self._flushed >= self._spec.flush_every:
            self._flushed = self._books.sent
            self.flush()

    def _hand_over(self, count: int, now: int) -> None:
        """``send`` that many records."""
        if self._available_as_of != self._metadata.version:
            self._see_partitions()
        if not self._partitions:
            self._without_topic(now)
            return
        self._blocked_at = -1
        if self._spec.serializer_fails:
            count -= self._unserialized(count, now)
            if not count:
                return
        partition = self._next_partition()
        if self._most > self._taken and self._too_large(partition, count):
            self._books.never_taken(now, partition, count, KafkaError.MESSAGE_TOO_LARGE.name, 0)
            return
        if self._single and count > 1:
            for _each in range(count):
                self._append(partition, 1, now)
        else:
            self._append(partition, count, now)

    def _unserialized(self, count: int, now: int) -> int:
        """How many of the next records the serializer refuses: they have no partition yet, and never get one."""
        failed = every(self._spec.serializer_fails, self._serialized, count)
        self._serialized += count
        if failed:
            self._books.never_taken(now, self._spec.topic, failed, UNSERIALIZED, 0)
        return failed

    def _too_large(self, partition: str, count: int) -> bool:
        """Whether any of the next records is larger than is taken; drawn ones are passed over, for others to come."""
        line = self._accumulator.line(partition)
        first = line.next_number
        if all(self._sizes.of(partition, number, 1) <= self._taken for number in range(first, first + count)):
            return False
        if self._spec.sizes is not None or self._chain is not None:
            line.next_number += count
        return True

    def _append(self, partition: str, count: int, now: int) -> None:
        """Put records into a batch, or wait for memory (``RecordAccumulator.append``)."""
        accumulator = self._accumulator
        config = self._config
        if accumulator.used > self._plenty:
            need = accumulator.needs(partition, count)
            if need and accumulator.used + need > config.memory_bytes:
                self._wait_for_memory(partition, count, now)
                return
        alone = accumulator.waiting == 0
        number = accumulator.add(partition, count, now)
        self._books.made(now, partition, number, count)
        if self._chain is not None:
            self._chain.passed(now, partition, number, count)
        if alone:
            self._sender.pump_one(partition, now)
        else:
            self._sender.pump()

    def _wait_for_memory(self, partition: str, count: int, now: int) -> None:
        """The thread blocks until batches are settled, up to ``max.block.ms`` (``BufferPool.allocate``)."""
        self._held = partition
        self._owed += count
        self._waits = True
        if self._blocked_at < 0:
            self._blocked_at = now
            self._port.timer(self._config.block_us, "blocked", now)
        self._sender.hurry(True)
        self._sender.pump()

    def _give_way(self) -> None:
        """The wait for memory is over: the records fail."""
        now = self._port.now
        if self._held and now - self._blocked_at >= self._config.block_us:
            self._books.never_taken(now, self._held, self._owed, EXHAUSTED, now - self._blocked_at)
            self._owed = 0
            self._released()

    def _released(self) -> None:
        self._held = ""
        self._blocked_at = -1
        draining = self._ending.waits
        self._sender.hurry(draining)
        self._waits = self._sync or draining

    def _go_on(self) -> None:
        """Something may have been settled: whoever waits for memory or an outcome looks again."""
        now = self._port.now
        if self._ending.waits:
            self._ending.look()
            if not self._ending.waits and not self._held:
                self._released()
        if self._held:
            accumulator = self._accumulator
            count = 1 if self._sync or self._single else self._owed
            need = accumulator.needs(self._held, count)
            while self._held and accumulator.used + need <= self._config.memory_bytes:
                partition, self._owed = self._held, self._owed - count
                if not self._owed or self._sync:
                    self._released()
                self._append(partition, count, now)
                need = accumulator.needs(partition, count)
            if self._spec.flush_every:
                self._flush_now_and_then()
            return
        while self._sync and not self._held and self._accumulator.unsettled == 0:
            if not self._owed:
                if not self._late:
                    return
                self._late = False
                self._owed = self._spec.batch
            before = self._books.sent
            self._owed -= 1
            self._hand_over(1, now)
            if self._books.sent == before and not self._held:
                self._owed = 0

    def _see_partitions(self) -> None:
        """Which partitions the topic has, and which of them a leader, by the newest metadata."""
        self._available_as_of = self._metadata.version
        self._partitions = tuple(self._metadata.partitions_of(self._spec.topic))
        led = tuple(name for name in self._partitions if self._metadata.leader(name) != NOBODY)
        self._available = led or self._partitions

    def _without_topic(self, now: int) -> None:
        """There is no such topic: ``send`` waits for it to come, up to ``max.block.ms``, and then throws.

        The application's thread waits with it, so that of all the records of that time only the first are made.
        """
        self._metadata.refresh()
        if self._blocked_at < 0:
            self._blocked_at = now
        elif now - self._blocked_at >= self._config.block_us:
            error, waited = KafkaError.REQUEST_TIMED_OUT.name, now - self._blocked_at
            self._blocked_at = now
            self._books.never_taken(now, self._spec.topic, self._spec.batch, error, waited)
            return
        self._pace.blocked()

    def _next_partition(self) -> str:
        """In turn over the partitions that have a leader, over all when none has (``RoundRobinPartitioner``)."""
        available = self._available
        self._turn += 1
        return available[(self._turn - 1) % len(available)]

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self._books.save(), self._sender.save(), self._turn, self._running, self._blocked_at, self._held,
            self._owed, self._late, self._waits, self._pace.save(), self._ending.save(), self._flushed,
            self._serialized, self._io.save() if self._io else (),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (
            books, sender, self._turn, self._running, self._blocked_at, self._held, self._owed, self._late, self._waits,
            pace, ending, self._flushed, self._serialized, io,
        ) = saved  # fmt: skip
        self._pace.load(pace)
        self._ending.load(ending)
        self._books.load(books)
        self._sender.load(sender)
        if self._io:
            self._io.load(io)
        self._available_as_of = -1
