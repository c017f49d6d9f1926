"""A producer process with its application, from start to close (``KafkaProducer``).

Each batch has one of three outcomes, which are never mixed: *acked* (the success callback), *failed* (every attempt
ended in an error that proves that nothing was written), or *unknown* (some attempt may have been written). An expired
batch that was ever in flight is unknown: it may be in the log, or still get there.

The application has one thread. While ``send`` blocks for metadata or memory it makes no records; an application that
sends synchronously also makes none until it has the outcome of its last record.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.partition_selector import PartitionSelector
from cluster_model.clients.producer.partitioners import NodeLatencies, never_returns
from cluster_model.clients.producer.record_accumulator import RecordAccumulator
from cluster_model.clients.producer.sender import CALLBACKS, DeliveryStats, DeliveryStatsWithCallbacks, IoThread, Sender
from cluster_model.clients.workload import LARGEST, every, pacing_of, sizes_of
from cluster_model.connections.network_client import READY, NetworkClient
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import RandomStream
from cluster_model.log.record_keys import Hot, ProducerKeys
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event, InterceptorFailed
from cluster_model.protocol.messages import (
    NO_LEADER,
    InitProducerIdResponse,
    Message,
    MetadataResponse,
    PartitionState,
    ProduceResponse,
)
from cluster_model.spec.cluster_spec import Interceptor, ProducerSpec

# Interceptors and the serializer, which run before a record has a partition.
#
# Interceptors (KIP-42) run one after the other, each on the result of the one before. An exception of an interceptor
# is logged and ignored, and the next one gets the record unchanged. An exception of a serializer goes to the caller
# of ``send``, and the record is not sent (``KafkaProducer.doSend``).


UNSERIALIZED: Final = "SerializationException"
"""Error of a record rejected by the serializer: a thrown exception without a Kafka error code."""


class ProducerInterceptors:
    """A producer's interceptors; a failing one throws for the last of every ``fails`` records of a partition."""

    __slots__ = ("_client", "_emit", "_failing", "interceptors", "max_added_bytes")

    def __init__(self, client: str, interceptors: tuple[Interceptor, ...], emit: Callable[[Event], None]) -> None:
        self._client = client
        self._emit = emit
        self.interceptors = interceptors
        self._failing = tuple(each for each in interceptors if each.fails)
        self.max_added_bytes = sum(each.adds for each in interceptors)
        """Most bytes that they add to a record."""

    def passed(self, now: int, partition: str, number: int, count: int) -> None:
        """Record the exceptions thrown for ``count`` records from ``number`` on; the application only logs them."""
        for each in self._failing:
            failed = every(each.fails, number, count)
            if failed:
                first = number + (each.fails - 1 - number) % each.fails
                self._emit(InterceptorFailed(now, self._client, each.name, partition, first, failed))


# ``flush()`` and ``close(timeout)`` of a producer: both send all batches at once and wait for their outcome.


CLOSE: Final = "close"
"""Timer of the timeout of ``close``."""
FORCED: Final = "KafkaException"
"""Error of records dropped by a forced close ("Producer is closed forcefully"), without a Kafka error code."""
FOREVER_US: Final = 1 << 53
"""Timeout from which on ``close`` waits without limit."""


class ProducerClose:
    """State of ``flush`` and ``close`` of one producer.

    The application thread sends nothing during a flush, so a flush waits for all batches.
    """

    __slots__ = ("_accumulator", "_port", "_sender", "_stats", "closed", "closing", "flushing")

    def __init__(self, port: NodeContext, accumulator: RecordAccumulator, sender: Sender, stats: DeliveryStats) -> None:
        self._port = port
        self._accumulator = accumulator
        self._sender = sender
        self._stats = stats
        self.flushing = False
        self.closing = False
        self.closed = False

    @property
    def waits(self) -> bool:
        """Whether ``flush`` or ``close`` waits for batches."""
        return self.flushing or (self.closing and not self.closed)

    def flush(self) -> None:
        """Send without lingering until all batches have their outcome (``RecordAccumulator.awaitFlushCompletion``)."""
        if self._accumulator.incomplete:
            self.flushing = True
            self._sender.set_no_linger(True)
            self._sender.send_ready()

    def close(self, timeout_us: int) -> None:
        """Send all batches; those without an outcome after ``timeout_us`` fail."""
        self.closing = True
        if timeout_us <= 0:
            self._force()
            return
        self._sender.set_no_linger(True)
        self._sender.send_ready()
        self.check_completed()
        if not self.closed and timeout_us < FOREVER_US:
            self._port.timer(timeout_us, CLOSE)

    def on_timer(self) -> None:
        """Handle the timeout of ``close``."""
        if not self.closed:
            self._force()

    def _force(self) -> None:
        self._sender.abort(FORCED)
        self.check_completed()

    def check_completed(self) -> None:
        """End the wait if all batches are completed."""
        if self._accumulator.incomplete == 0:
            self.flushing = False
            self.closed = self.closing

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self.flushing, self.closing, self.closed)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self.flushing, self.closing, self.closed = saved


STOP: Final = "stop"
"""Timer of the stop of an application that then closes its producer."""
Unconfirmed = tuple[str, int, int]
"""(partition, first number, count) of records whose outcome the application never received."""
RECORD_OVERHEAD: Final = 61 + 21
"""Most bytes of a record besides key and value: batch header and its own lengths (``ensureValidRecordSize``)."""
EXHAUSTED: Final = "BufferExhaustedException"
"""Error of records that got no memory in time, without a Kafka error code."""


class Producer:
    """A producer process: its application from start to close, and its ``KafkaProducer``."""

    __slots__ = (
        "_accumulator", "_blocked_at", "_chain", "_config", "_ending", "_flushed", "_forgotten", "_held", "_io",
        "_largest_record", "_late", "_max_record_bytes", "_metadata", "_pace", "_places", "_port", "_running",
        "_safe_memory", "_sender", "_serialized", "_single", "_sizes", "_spec", "_stats", "_sync", "_unsent_of_batch",
        "_used_at", "_waits", "acks",
    )  # fmt: skip

    _waits: bool
    """Whether an outcome may let the application continue."""
    _flushed: int
    """Records that were sent before the newest flush."""
    _serialized: int
    """Records passed to the serializer, where it may reject some."""
    _blocked_at: int
    """Time since which the application is blocked in ``send``, -1 if it is not."""
    _held: deque[tuple[str, int]]
    """(partition, count) of records that wait for memory, and of those after them, in order; the topic instead of the
    partition where they wait for metadata."""
    _unsent_of_batch: int
    """Records made but not yet sent, because each waits for the one before it."""
    _late: bool
    """The next records became due while the application was waiting for an outcome."""

    def __init__(
        self,
        port: NodeContext,
        spec: ProducerSpec,
        config: ProducerConfig,
        brokers: tuple[int, ...],
        emit: Callable[[Event], None],
        jitter: RandomStream,
        partitioning: RandomStream,
        keys: ProducerKeys | None = None,
        seed: int = 0,
    ) -> None:
        """Make a producer; ``jitter`` and ``partitioning`` are the random streams of backoffs and partitions.

        Backoffs are those between attempts to send a batch or to connect. ``keys`` are the keys of its records, None
        for records without keys; ``seed`` is the session's.
        """
        self._port = port = NetworkClient(port, config.connections, config.request_timeout_us, jitter)
        self._spec = spec
        self._config = config
        self.acks = config.acks
        """-1 for all."""
        self._pace = pacing_of(port, spec)
        self._sizes = sizes_of(spec, seed)
        self._chain = ProducerInterceptors(spec.name, spec.interceptors, emit) if spec.interceptors else None
        added = self._chain.max_added_bytes if self._chain else 0
        self._max_record_bytes = added + (spec.record_bytes if spec.sizes is None else LARGEST)
        self._io = IoThread(port, spec.callback_us) if spec.callback_us else None
        """None: callbacks take no time."""
        self._stats = self._make_stats(emit)
        self._accumulator = RecordAccumulator(
            config.batch_bytes, self._sizes, by_first=config.client.renumbers_in_heap_order
        )
        latencies = NodeLatencies(config.availability_us)
        self._sender = self._make_sender(
            (port, spec, config, brokers, self._accumulator, self._stats, jitter, self._sizes, latencies)
        )  # fmt: skip
        if self._io is not None:
            self._io.connect(self._sender, self._stats)
        self._ending = ProducerClose(port, self._accumulator, self._sender, self._stats)
        self._metadata: Metadata = self._sender.metadata
        self._places = PartitionSelector(
            spec, config, partitioning, self._metadata, self._accumulator, self._sizes, latencies, keys
        )
        self._sync = spec.send == "sync"
        self._single = config.batch_bytes == 0
        """Whether each record has its own batch."""
        self._largest_record = min(config.request_bytes, config.memory_bytes) - RECORD_OVERHEAD
        """Size of the largest record that ``send`` accepts."""
        self._safe_memory = config.memory_bytes - max(config.batch_bytes, spec.batch * self._max_record_bytes)
        """Memory in use up to which the next batch fits in any case."""
        self._running = not (self._single and never_returns(config.client, config.partitioner, keys=spec.keys))
        self._blocked_at = -1
        self._held = deque()
        self._serialized = self._flushed = self._unsent_of_batch = 0
        self._late = self._waits = False
        self._used_at = 0
        """Time of the application's last ``send``."""
        self._forgotten = False
        """True if the idle topic was dropped from metadata (``ProducerMetadata.retainTopic``)."""

    @property
    def sent(self) -> int:
        """Number of records sent by the application."""
        return self._stats.sent

    @property
    def acked(self) -> int:
        """Number of records acknowledged."""
        return self._stats.acked

    @property
    def failed(self) -> int:
        """Number of records that were certainly not written."""
        return self._stats.failed

    @property
    def unknown(self) -> int:
        """Number of records with unknown outcome."""
        return self._stats.unknown

    @property
    def aborted(self) -> int:
        """Number of records aborted with their transaction."""
        return self._stats.aborted

    @property
    def refused(self) -> int:
        """Number of attempts that ended in an error."""
        return self._stats.refused

    @property
    def last_error(self) -> str:
        """The newest error, empty for none."""
        return self._stats.last_error

    @property
    def queued(self) -> int:
        """Number of records queued, not in flight."""
        return self._accumulator.queued

    @property
    def in_flight(self) -> int:
        """Number of batches in flight."""
        return sum(not batch.done for batch in self._sender.in_flight.batches())

    @property
    def unconnected(self) -> tuple[tuple[int, str], ...]:
        """Leaders with queued records but no ready connection, with the state of their connection."""
        leaders = dict.fromkeys(self._metadata.leader(name) for name in self._accumulator.busy)
        states = [(leader, self._port.state(leader)) for leader in leaders if leader != NO_LEADER]
        return tuple([(leader, state.text) for leader, state in states if state is not READY])

    @property
    def metadata(self) -> Metadata:
        """The producer's metadata cache."""
        return self._metadata

    def begin(self, states: tuple[PartitionState, ...]) -> None:
        """Start with the cluster's initial metadata; without any if it starts later."""
        if not states:
            self._port.start_disconnected()
        self._metadata.begin(states)
        self._sender.begin()
        self._pace.begin()
        if self._spec.close_us >= 0 and self._spec.stop_us >= 0:
            self._port.timer(max(0, self._spec.stop_us - self._port.now), STOP)

    def pace(self, ppm: int) -> None:
        """Set the application's rate to ``ppm`` millionths of its normal rate."""
        self._pace.pace(ppm)

    def set_hot_keys(self, hot: Hot) -> None:
        """Set the hot keys of the application's records, where its records have keys."""
        self._places.heat(hot)

    @property
    def keyed(self) -> bool:
        """Whether records are partitioned by their keys."""
        return self._places.keyed

    def is_in_flight(self, number: int) -> bool:
        """Return whether the response to a message is still pending."""
        return number in self._sender.in_flight.flights

    def died(self) -> tuple[Unconfirmed, ...]:
        """Handle a kill of the process; return the records without an outcome, in the order of sending."""
        now = self._port.now
        batches = self._sender.incomplete_batches()
        for batch in batches:
            self._stats.process_died(now, batch)
        return tuple([(batch.partition, batch.sequence, batch.records) for batch in batches])

    def take_over(self, former: "Producer") -> None:
        """Continue the application of a former process: only its counters and numbering are taken over."""
        self._stats.load(former._stats.save())
        self._metadata.old.load(former._metadata.old.save())
        self._accumulator.continue_numbers(former._accumulator)
        self._flushed, self._serialized = self._stats.sent, former._serialized

    def clock_stepped(self, by: int, *, runs: bool) -> None:
        """Handle a step of the machine's clock, which ``delivery.timeout.ms`` and timestamps depend on."""
        if by and runs:
            self._sender.clock_stepped(by)

    def send_again(self, records: tuple[Unconfirmed, ...]) -> None:
        """Send records again whose outcome a former process did not receive, under their former numbers."""
        now = self._port.now
        for partition, number, count in records:
            self._accumulator.add_again(partition, number, count, now)
            self._stats.sent_records(now, partition, number, count)
        self._sender.send_ready()

    def stop(self) -> None:
        """Make no more records; queued batches are still sent, and the producer is then closed if the spec says so."""
        self._running = False
        if self._spec.close_us >= 0:
            self._port.timer(0, STOP)

    def flush(self) -> None:
        """Send all batches at once; the application sends nothing until all have their outcome."""
        self._ending.flush()
        self._waits = self._sync or bool(self._held) or self._ending.waits

    def close(self, timeout_us: int = FOREVER_US) -> None:
        """Close the producer: send all batches, and fail those without an outcome at the timeout (0: at once).

        A blocked ``send`` gets an exception. A second call has no effect.
        """
        self._running = False
        if self._ending.closing:
            return
        self._refuse_held(FORCED)
        self._unsent_of_batch = 0
        self._late = False
        self._ending.close(timeout_us)
        self._waits = self._ending.waits

    def _refuse_held(self, error: str) -> None:
        """Fail the records of a blocked ``send``, and those that would have been sent next."""
        now = self._port.now
        held = list(self._held)
        self._held.clear()
        for partition, count in held:
            self._stats.send_failed(now, partition, count + self._unsent_of_batch, error, now - self._blocked_at)
            self._unsent_of_batch = 0

    @property
    def closed(self) -> bool:
        """Whether it is closed and has nothing left to send."""
        return self._ending.closed

    def _make_stats(self, emit: Callable[[Event], None]) -> DeliveryStats:
        return (DeliveryStatsWithCallbacks if self._io else DeliveryStats)(
            self._spec.name, self._config.acks, emit, self._pace
        )

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
                self._sender.on_response(message)
            else:
                self._sender.closed_by(source)
        elif isinstance(message, MetadataResponse):
            if self._metadata.handle_response(message):
                self._forgotten = self._port.clock.now - self._used_at >= self._config.metadata_idle_us
                self._sender.send_ready()
        elif isinstance(message, InitProducerIdResponse):
            self._sender.identified(message)
        elif self._port.handle(source, message):
            self._sender.send_ready()
        elif self._port.handle_refused(source, message):
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
            self._on_blocked()
        elif name == STOP:
            self.close(self._spec.close_us)
        elif name == CLOSE:
            self._ending.on_timer()
        elif self._io is not None and (self._io.busy or name == CALLBACKS):
            self._io.on_timer(timer, self)
        else:
            self._sender.on_timer(name)
        if self._waits:
            self._go_on()

    def on_disconnect(self, peer: int) -> None:
        """Handle a broken connection: all requests in flight to ``peer`` failed without a response."""
        if self._ending.closed:
            return
        if self._io is not None and self._io.busy:
            self._io.keep(peer, None)
            return
        self._sender.disconnected(peer)
        if self._waits:
            self._go_on()

    def _make(self) -> None:
        """Make the next records, which are due now."""
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
                self._maybe_flush()
        else:
            self._pace.blocked()

    def _maybe_flush(self) -> None:
        """Flush after every ``flush_every`` records."""
        if not self._held and self._stats.sent - self._flushed >= self._spec.flush_every:
            self._flushed = self._stats.sent
            self.flush()

    def _hand_over(self, count: int, now: int) -> None:
        """Send ``count`` records."""
        places = self._places
        if places.metadata_version != self._metadata.version:
            places.update()
        if not places.exists or self._forgotten:
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
                    self._sender.send_newest(partition, now)
                else:
                    self._sender.send_ready()
            return
        for partition, records in places.runs(count):
            self._put(partition, records, now)
        self._sender.send_ready()

    def _put(self, partition: str, count: int, now: int) -> bool:
        """Send records to a partition; return False if none of them was added to a batch."""
        if self._max_record_bytes > self._largest_record and self._too_large(partition, count):
            self._stats.send_failed(now, partition, count, KafkaError.MESSAGE_TOO_LARGE.name, 0)
            return False
        if self._single and count > 1:
            before = self._stats.sent
            for _each in range(count):
                self._append(partition, 1, now)
            return self._stats.sent > before
        return self._append(partition, count, now)

    def _unserialized(self, count: int, now: int) -> int:
        """Return how many of the next records the serializer rejects; they fail without a partition."""
        failed = every(self._spec.serializer_fails, self._serialized, count)
        self._serialized += count
        if failed:
            self._stats.send_failed(now, self._spec.topic, failed, UNSERIALIZED, 0)
        return failed

    def _too_large(self, partition: str, count: int) -> bool:
        """Return whether any of the next records is too large; generated sizes skip to the next records then."""
        line = self._accumulator.queue(partition)
        first = line.next_number
        if all(self._sizes.of(partition, number, 1) <= self._largest_record for number in range(first, first + count)):
            return False
        if self._spec.sizes is not None or self._chain is not None:
            line.next_number += count
        return True

    def _append(self, partition: str, count: int, now: int) -> bool:
        """Append records to a batch, or block for memory (``RecordAccumulator.append``)."""
        accumulator = self._accumulator
        if self._held:
            self._held.append((partition, count))
            return False
        if accumulator.used > self._safe_memory:
            need = accumulator.needs(partition, count)
            if need and accumulator.used + need > self._config.memory_bytes:
                self._wait_for_memory(partition, count, now)
                return False
        self._add(partition, count, now)
        return True

    def _add(self, partition: str, count: int, now: int) -> None:
        number = self._accumulator.add(partition, count, now)
        self._stats.sent_records(now, partition, number, count)
        if self._chain is not None:
            self._chain.passed(now, partition, number, count)
        if self._places.listens:
            self._places.appended(partition, number, count)

    def _wait_for_memory(self, partition: str, count: int, now: int) -> None:
        """Block until completed batches free memory, up to ``max.block.ms`` (``BufferPool.allocate``)."""
        self._wait((partition, count), now)
        self._sender.set_no_linger(True)
        self._sender.send_ready()

    def _wait(self, records: tuple[str, int], now: int) -> None:
        self._held.append(records)
        self._waits = True
        if self._blocked_at < 0:
            self._blocked_at = now
            self._port.timer(self._config.block_us, "blocked", now)

    def _on_blocked(self) -> None:
        """Fail the records of a ``send`` that was blocked for ``max.block.ms``."""
        if self._held and self._port.now - self._blocked_at >= self._config.block_us:
            timed_out = self._held[0][0] == self._spec.topic
            self._refuse_held(KafkaError.REQUEST_TIMED_OUT.name if timed_out else EXHAUSTED)
            self._released()

    def _released(self) -> None:
        self._blocked_at = -1
        draining = self._ending.waits
        self._sender.set_no_linger(draining)
        self._waits = self._sync or draining

    def _go_on(self) -> None:
        """Continue the application after a possible outcome, if it waits for memory, metadata or an outcome."""
        now = self._port.now
        accumulator = self._accumulator
        if self._ending.waits:
            self._ending.check_completed()
            if not self._ending.waits and not self._held:
                self._released()
        if self._held and self._held[0][0] == self._spec.topic and not self._topic_arrived(now):
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
                self._sender.send_ready()
            if self._spec.flush_every:
                self._maybe_flush()
            return
        while self._sync and not self._held and accumulator.incomplete == 0:
            if not self._unsent_of_batch:
                if not self._late:
                    return
                self._late = False
                self._unsent_of_batch = self._spec.batch
            before = self._stats.sent
            self._unsent_of_batch -= 1
            self._hand_over(1, now)
            if self._stats.sent == before and not self._held:
                self._unsent_of_batch = 0

    def _wait_for_topic(self, count: int, now: int) -> None:
        """Block until metadata has the topic, up to ``max.block.ms`` (``waitOnMetadata``)."""
        self._used_at = now
        self._metadata.refresh()
        self._wait((self._spec.topic, count), now)

    def _topic_arrived(self, now: int) -> bool:
        """Continue a ``send`` that waits for the topic, if it is there; the rest of its time is for memory."""
        if self._places.metadata_version != self._metadata.version:
            self._places.update()
        if not self._places.exists or self._forgotten:
            self._metadata.refresh()
            return False
        _topic, count = self._held.popleft()
        self._hand_over(count, now)
        if not self._held:
            self._released()
        return True

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (
            self._stats.save(), self._sender.save(), self._places.save(), self._running, self._blocked_at,
            tuple(self._held), self._unsent_of_batch, self._late, self._waits, self._pace.save(), self._ending.save(),
            self._flushed, self._serialized, self._io.save() if self._io else (), self._used_at, self._forgotten,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            tracker, sender, places, self._running, self._blocked_at, held, self._unsent_of_batch, self._late,
            self._waits, pace, ending, self._flushed, self._serialized, io, self._used_at, self._forgotten,
        ) = saved  # fmt: skip
        self._held = deque(held)
        self._pace.load(pace)
        self._ending.load(ending)
        self._stats.load(tracker)
        self._sender.load(sender)
        if self._io:
            self._io.load(io)
        self._places.load(places)
