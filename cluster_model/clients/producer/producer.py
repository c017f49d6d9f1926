"""A producer and its application, from start to close: what ``KafkaProducer.send`` does with each record.

A batch ends in one of three ways that are never mixed: *acked* (the success callback), *failed* (every attempt ended
in an error that proves that nothing was written), or *unknown* (some attempt may have been written). An expired batch
that was ever under way is unknown: it may be in the log, or still get there.

The application is one thread. While ``send`` blocks, for metadata or for memory, it makes no records; one that sends
synchronously makes none either until it has the outcome of its last record.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.partition_selector import Destinations
from cluster_model.clients.producer.partitioners import NodeLatencies
from cluster_model.clients.producer.record_accumulator import Accumulator
from cluster_model.clients.producer.sender import CALLBACKS, BooksWithCallbacks, DeliveryStats, IoThread, Sender
from cluster_model.clients.workload import LARGEST, every, pacing_of, sizes_of
from cluster_model.connections.network_client import READY, NetworkClient
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import Stream
from cluster_model.log.record_keys import Hot, ProducerKeys
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event, InterceptorFailed
from cluster_model.protocol.messages import (
    NOBODY,
    InitProducerIdResponse,
    Message,
    MetadataResponse,
    PartitionState,
    ProduceResponse,
)
from cluster_model.spec.cluster_spec import Interceptor, ProducerSpec

# Before a record has a partition: interceptors, whose errors are only logged, and the serializer.
#
# Interceptors (KIP-42) run one after the other, each on what the one before it made of the record. What one throws is
# logged and ignored, and the next gets the record as it was before. What a serializer throws goes to the caller of
# ``send``, and the record is not sent (``KafkaProducer.doSend``).


UNSERIALIZED: Final = "SerializationException"
"""The error of a record that the serializer refuses; it is thrown, and Kafka gives it no code."""


class ProducerInterceptors:
    """A producer's interceptors. Of every so many records of a partition the last is the one that one throws at."""

    __slots__ = ("_client", "_emit", "_failing", "interceptors", "most")

    def __init__(self, client: str, interceptors: tuple[Interceptor, ...], emit: Callable[[Event], None]) -> None:
        self._client = client
        self._emit = emit
        self.interceptors = interceptors
        self._failing = tuple(each for each in interceptors if each.fails)
        self.most = sum(each.adds for each in interceptors)
        """Bytes that a record gets at most."""

    def passed(self, now: int, partition: str, number: int, count: int) -> None:
        """Records have gone through: what was thrown is in the log of the application."""
        for each in self._failing:
            failed = every(each.fails, number, count)
            if failed:
                first = number + (each.fails - 1 - number) % each.fails
                self._emit(InterceptorFailed(now, self._client, each.name, partition, first, failed))


# ``flush()`` and ``close(timeout)`` of a producer: everything goes out at once, and somebody waits for it.


CLOSE: Final = "close"
"""The timer at which a producer that is closing has waited long enough."""
FORCED: Final = "KafkaException"
"""The error of what is thrown away by a forced close ("Producer is closed forcefully"); Kafka gives it no code."""
FOREVER_US: Final = 1 << 53
"""``close()`` without a timeout waits for so long, at least."""


class ProducerClose:
    """Of one producer. Its one application thread sends nothing while it flushes, so that waits for all there is."""

    __slots__ = ("_accumulator", "_books", "_port", "_sender", "closed", "closing", "flushing")

    def __init__(self, port: NodeContext, accumulator: Accumulator, sender: Sender, books: DeliveryStats) -> None:
        self._port = port
        self._accumulator = accumulator
        self._sender = sender
        self._books = books
        self.flushing = False
        self.closing = False
        self.closed = False

    @property
    def waits(self) -> bool:
        """Whether somebody waits until nothing is left."""
        return self.flushing or (self.closing and not self.closed)

    def flush(self) -> None:
        """Nothing lingers until all batches have their outcome (``RecordAccumulator.awaitFlushCompletion``)."""
        if self._accumulator.unsettled:
            self.flushing = True
            self._sender.hurry(True)
            self._sender.pump()

    def close(self, timeout_us: int) -> None:
        """Send what is there; what has no outcome after ``timeout_us`` is given up."""
        self.closing = True
        if timeout_us <= 0:
            self._force()
            return
        self._sender.hurry(True)
        self._sender.pump()
        self.look()
        if not self.closed and timeout_us < FOREVER_US:
            self._port.timer(timeout_us, CLOSE)

    def rang(self) -> None:
        """The time for closing is over."""
        if not self.closed:
            self._force()

    def _force(self) -> None:
        self._sender.abort(FORCED)
        self.look()

    def look(self) -> None:
        """Something may have been settled."""
        if self._accumulator.unsettled == 0:
            self.flushing = False
            self.closed = self.closing

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.flushing, self.closing, self.closed)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.flushing, self.closing, self.closed = saved


STOP: Final = "stop"
"""The timer at which an application stops that closes its producer then."""
Unconfirmed = tuple[str, int, int]
"""(partition, number of the first, how many) of records whose application was never told what became of them."""
RECORD_OVERHEAD: Final = 61 + 21
"""The most that a record needs beside key and value: a batch's header, its own lengths (``ensureValidRecordSize``)."""
EXHAUSTED: Final = "BufferExhaustedException"
"""The error of records for which there was no memory in time; Kafka gives it no code."""


class Producer:
    """A producer process: its application, from start to close, and what ``KafkaProducer`` does for it."""

    __slots__ = (
        "_accumulator", "_blocked_at", "_books", "_chain", "_config", "_ending", "_flushed", "_forgotten", "_held",
        "_io", "_late", "_metadata", "_most", "_owed", "_pace", "_places", "_plenty", "_port", "_running", "_sender",
        "_serialized", "_single", "_sizes", "_spec", "_sync", "_taken", "_used_at", "_waits", "acks",
    )  # fmt: skip

    _waits: bool
    """Whether an outcome may let the application go on."""
    _flushed: int
    """Records that were sent before the newest flush."""
    _serialized: int
    """Records that the serializer has seen, where it may refuse some."""
    _blocked_at: int
    """Since when the application waits in ``send``, -1 if it does not."""
    _held: deque[tuple[str, int]]
    """Records that wait for memory, and those behind them: partition and how many, in order. Where they wait for
    metadata it is the topic."""
    _owed: int
    """Records that were made and not handed over yet, because each waits for the one before it."""
    _late: bool
    """The time for the next records came while the application was waiting for an outcome."""

    def __init__(
        self,
        port: NodeContext,
        spec: ProducerSpec,
        config: ProducerConfig,
        brokers: tuple[int, ...],
        emit: Callable[[Event], None],
        jitter: Stream,
        partitioning: Stream,
        keys: ProducerKeys | None = None,
        seed: int = 0,
    ) -> None:
        """``jitter`` and ``partitioning`` are the streams that pauses between attempts and partitions are drawn from.

        Attempts are those to send a batch, and those to connect.

        ``keys`` are those of its records, None for records without; ``seed`` is the session's.
        """
        self._port = port = NetworkClient(port, config.connections, config.request_timeout_us, jitter)
        self._spec = spec
        self._config = config
        self.acks = config.acks
        """-1 for all."""
        self._pace = pacing_of(port, spec)
        self._sizes = sizes_of(spec, seed)
        self._chain = ProducerInterceptors(spec.name, spec.interceptors, emit) if spec.interceptors else None
        self._most = (spec.record_bytes if spec.sizes is None else LARGEST) + (self._chain.most if self._chain else 0)
        """No record has more bytes."""
        self._io = IoThread(port, spec.callback_us) if spec.callback_us else None
        """None: callbacks take no time."""
        self._books = self._make_books(emit)
        self._accumulator = Accumulator(config.batch_bytes, self._sizes)
        latencies = NodeLatencies(config.availability_us)
        self._sender = self._make_sender(
            (port, spec, config, brokers, self._accumulator, self._books, jitter, self._sizes, latencies)
        )  # fmt: skip
        if self._io is not None:
            self._io.join(self._sender, self._books)
        self._ending = ProducerClose(port, self._accumulator, self._sender, self._books)
        self._metadata: Metadata = self._sender.metadata
        self._places = Destinations(
            spec, config, partitioning, self._metadata, self._accumulator, self._sizes, latencies, keys
        )
        self._sync = spec.send == "sync"
        self._single = config.batch_bytes == 0
        """Every record has a batch of its own."""
        self._taken = min(config.request_bytes, config.memory_bytes) - RECORD_OVERHEAD
        """Bytes of the largest record that is taken."""
        self._plenty = config.memory_bytes - max(config.batch_bytes, spec.batch * self._most)
        """With no more memory than this in use, the next batch has room in any case."""
        self._running = True
        self._blocked_at = -1
        self._held = deque()
        self._serialized = self._flushed = self._owed = 0
        self._late = self._waits = False
        self._used_at = 0
        """When the application sent last."""
        self._forgotten = False
        """Nothing has been sent for so long that metadata has the topic no more (``ProducerMetadata.retainTopic``)."""

    @property
    def sent(self) -> int:
        """Records handed over so far."""
        return self._books.sent

    @property
    def acked(self) -> int:
        """... of which were acknowledged."""
        return self._books.acked

    @property
    def failed(self) -> int:
        """... of which certainly were not written."""
        return self._books.failed

    @property
    def unknown(self) -> int:
        """... of which nobody can tell."""
        return self._books.unknown

    @property
    def aborted(self) -> int:
        """... of which went with a transaction that was aborted."""
        return self._books.aborted

    @property
    def refused(self) -> int:
        """Attempts that ended in an error."""
        return self._books.refused

    @property
    def last_error(self) -> str:
        """The newest error, empty for none."""
        return self._books.last_error

    @property
    def queued(self) -> int:
        """Records waiting."""
        return self._accumulator.queued

    @property
    def in_flight(self) -> int:
        """Batches under way."""
        return sum(not batch.done for batch in self._sender.flight.batches())

    @property
    def unconnected(self) -> tuple[tuple[int, str], ...]:
        """Leaders for which records wait without a ready connection, with the state that it is in."""
        leaders = dict.fromkeys(self._metadata.leader(name) for name in self._accumulator.busy)
        states = [(leader, self._port.state(leader)) for leader in leaders if leader != NOBODY]
        return tuple([(leader, state.words) for leader, state in states if state is not READY])

    @property
    def metadata(self) -> Metadata:
        """What it has been told of the cluster."""
        return self._metadata

    def begin(self, states: tuple[PartitionState, ...]) -> None:
        """Start with knowledge of the cluster's first instant; with none if it starts later."""
        if not states:
            self._port.start_cold()
        self._metadata.begin(states)
        self._sender.begin()
        self._pace.begin()
        if self._spec.close_us >= 0 and self._spec.stop_us >= 0:
            self._port.timer(max(0, self._spec.stop_us - self._port.now), STOP)

    def pace(self, ppm: int) -> None:
        """The application makes records at so many millionths of its usual pace."""
        self._pace.pace(ppm)

    def heat(self, hot: Hot) -> None:
        """The application gives some keys so many of its records, where it sends records by their keys."""
        self._places.heat(hot)

    @property
    def keyed(self) -> bool:
        """Whether records go by their keys."""
        return self._places.keyed

    def awaits(self, number: int) -> bool:
        """Whether the answer to that message is still waited for."""
        return number in self._sender.flight.flights

    def died(self) -> tuple[Unconfirmed, ...]:
        """The process was killed. What its application had not been told the outcome of, in the order of sending."""
        now = self._port.now
        batches = self._sender.unsettled()
        for batch in batches:
            self._books.died(now, batch)
        return tuple([(batch.partition, batch.sequence, batch.records) for batch in batches])

    def succeed(self, former: "Producer") -> None:
        """Be the next process of the same application: of the former one it has nothing but what is counted."""
        self._books.load(former._books.save())
        self._metadata.old.load(former._metadata.old.save())
        self._accumulator.number_on(former._accumulator)
        self._flushed, self._serialized = self._books.sent, former._serialized

    def clock_stepped(self, by: int, *, runs: bool) -> None:
        """The machine's clock was set: ``delivery.timeout.ms`` and timestamps go by it."""
        if by and runs:
            self._sender.clock_stepped(by)

    def send_again(self, records: tuple[Unconfirmed, ...]) -> None:
        """``send`` what an earlier process was not told the outcome of, under the numbers that it had there."""
        now = self._port.now
        for partition, number, count in records:
            self._accumulator.again(partition, number, count, now)
            self._books.made(now, partition, number, count)
        self._sender.pump()

    def stop(self) -> None:
        """Make no more records; what is on its way goes on, or is waited for if the producer is to be closed."""
        self._running = False
        if self._spec.close_us >= 0:
            self._port.timer(0, STOP)

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
        self._refuse_held(FORCED)
        self._owed = 0
        self._late = False
        self._ending.close(timeout_us)
        self._waits = self._ending.waits

    def _refuse_held(self, error: str) -> None:
        """Whoever waits in ``send`` gets an exception, and so does what would have been sent next."""
        now = self._port.now
        held = list(self._held)
        self._held.clear()
        for partition, count in held:
            self._books.never_taken(now, partition, count + self._owed, error, now - self._blocked_at)
            self._owed = 0

    @property
    def closed(self) -> bool:
        """Whether it has been closed, and has nothing more to do."""
        return self._ending.closed

    def _make_books(self, emit: Callable[[Event], None]) -> DeliveryStats:
        return (BooksWithCallbacks if self._io else DeliveryStats)(self._spec.name, self._config.acks, emit, self._pace)

    def _make_sender(self, parts: tuple[Any, ...]) -> Sender:
        return Sender(*parts)

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
                self._forgotten = self._port.clock.now - self._used_at >= self._config.metadata_idle_us
                self._sender.pump()
        elif isinstance(message, InitProducerIdResponse):
            self._sender.identified(message)
        elif self._port.heard(source, message):
            self._sender.pump()
        elif self._port.refused(source, message):
            self._sender.connection_lost(source)
        if self._waits:
            self._go_on()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        name = timer[0]
        if name == "make":
            if timer == self._pace.timer:
                self._make()
            return
        if self._ending.closed:
            return
        if name == "blocked":
            self._give_way()
        elif name == STOP:
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
        places = self._places
        if places.as_of != self._metadata.version:
            places.look()
        if not places.there or self._forgotten:
            self._wait_for_topic(count, now)
            return
        self._used_at = now
        if self._spec.serializer_fails:
            count -= self._unserialized(count, now)
            if not count:
                return
        if count == 1 or places.together:
            partition = places.next(count)
            alone = self._accumulator.waiting == 0
            if self._put(partition, count, now):
                if alone:
                    self._sender.pump_one(partition, now)
                else:
                    self._sender.pump()
            return
        for partition, records in places.runs(count):
            self._put(partition, records, now)
        self._sender.pump()

    def _put(self, partition: str, count: int, now: int) -> bool:
        """``send`` records to a partition; False if none of them is in a batch yet, or ever will be."""
        if self._most > self._taken and self._too_large(partition, count):
            self._books.never_taken(now, partition, count, KafkaError.MESSAGE_TOO_LARGE.name, 0)
            return False
        if self._single and count > 1:
            before = self._books.sent
            for _each in range(count):
                self._append(partition, 1, now)
            return self._books.sent > before
        return self._append(partition, count, now)

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

    def _append(self, partition: str, count: int, now: int) -> bool:
        """Put records into a batch, or have them wait for memory (``RecordAccumulator.append``)."""
        accumulator = self._accumulator
        if self._held:
            self._held.append((partition, count))
            return False
        if accumulator.used > self._plenty:
            need = accumulator.needs(partition, count)
            if need and accumulator.used + need > self._config.memory_bytes:
                self._wait_for_memory(partition, count, now)
                return False
        self._add(partition, count, now)
        return True

    def _add(self, partition: str, count: int, now: int) -> None:
        number = self._accumulator.add(partition, count, now)
        self._books.made(now, partition, number, count)
        if self._chain is not None:
            self._chain.passed(now, partition, number, count)
        if self._places.listens:
            self._places.appended(partition, number, count)

    def _wait_for_memory(self, partition: str, count: int, now: int) -> None:
        """The thread blocks until batches are settled, up to ``max.block.ms`` (``BufferPool.allocate``)."""
        self._wait((partition, count), now)
        self._sender.hurry(True)
        self._sender.pump()

    def _wait(self, records: tuple[str, int], now: int) -> None:
        self._held.append(records)
        self._waits = True
        if self._blocked_at < 0:
            self._blocked_at = now
            self._port.timer(self._config.block_us, "blocked", now)

    def _give_way(self) -> None:
        """The wait for memory or metadata is over: the records fail."""
        if self._held and self._port.now - self._blocked_at >= self._config.block_us:
            timed_out = self._held[0][0] == self._spec.topic
            self._refuse_held(KafkaError.REQUEST_TIMED_OUT.name if timed_out else EXHAUSTED)
            self._released()

    def _released(self) -> None:
        self._blocked_at = -1
        draining = self._ending.waits
        self._sender.hurry(draining)
        self._waits = self._sync or draining

    def _go_on(self) -> None:
        """Something may have been settled: whoever waits for memory or an outcome looks again."""
        now = self._port.now
        accumulator = self._accumulator
        if self._ending.waits:
            self._ending.look()
            if not self._ending.waits and not self._held:
                self._released()
        if self._held and self._held[0][0] == self._spec.topic and not self._topic_came(now):
            return
        if self._held:
            while self._held:
                partition, count = self._held[0]
                if accumulator.used + accumulator.needs(partition, count) > self._config.memory_bytes:
                    return
                self._held.popleft()
                if not self._held:
                    self._released()
                self._add(partition, count, now)
                self._sender.pump()
            if self._spec.flush_every:
                self._flush_now_and_then()
            return
        while self._sync and not self._held and accumulator.unsettled == 0:
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

    def _wait_for_topic(self, count: int, now: int) -> None:
        """The thread blocks until metadata names the topic, up to ``max.block.ms`` (``waitOnMetadata``)."""
        self._used_at = now
        self._metadata.refresh()
        self._wait((self._spec.topic, count), now)

    def _topic_came(self, now: int) -> bool:
        """Whether who waits for the topic can go on; what is left of its time is for memory."""
        if self._places.as_of != self._metadata.version:
            self._places.look()
        if not self._places.there or self._forgotten:
            self._metadata.refresh()
            return False
        _topic, count = self._held.popleft()
        self._hand_over(count, now)
        if not self._held:
            self._released()
        return True

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self._books.save(), self._sender.save(), self._places.save(), self._running, self._blocked_at,
            tuple(self._held), self._owed, self._late, self._waits, self._pace.save(), self._ending.save(),
            self._flushed, self._serialized, self._io.save() if self._io else (), self._used_at, self._forgotten,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (
            books, sender, places, self._running, self._blocked_at, held, self._owed, self._late, self._waits, pace,
            ending, self._flushed, self._serialized, io, self._used_at, self._forgotten,
        ) = saved  # fmt: skip
        self._held = deque(held)
        self._pace.load(pace)
        self._ending.load(ending)
        self._books.load(books)
        self._sender.load(sender)
        if self._io:
            self._io.load(io)
        self._places.load(places)
