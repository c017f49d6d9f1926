"""A producer: records at a steady rate, batches, in-flight limits, retries, timeouts (``KafkaProducer``, ``Sender``).

A batch ends in one of three ways that are never mixed: *acked* (the success callback), *failed* (every attempt ended
in an error that proves that nothing was written), or *unknown* (some attempt may have been written). An expired batch
that was ever under way is unknown: it may be in the log, or still get there.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.accumulator import Accumulator, Outgoing
from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer_config import ProducerConfig
from cluster_model.errors import INVALID_METADATA, PROVES_NOT_WRITTEN, RETRIABLE, WHILE_WAITING_TOO, KafkaError
from cluster_model.events import Event, ProduceRefused, RecordsAcked, RecordsFailed, RecordsSent, RecordsUnknown
from cluster_model.kernel.kernel import Payload
from cluster_model.kernel.port import Alarm, Port
from cluster_model.messages import (
    ALL,
    NOBODY,
    Message,
    MetadataResponse,
    PartitionState,
    ProduceRequest,
    ProduceResponse,
)
from cluster_model.spec import ProducerSpec

MAX_BLOCK_US: Final = 60_000_000
"""How long ``send`` waits for metadata (``max.block.ms``)."""
_NEXT_IDENTITY: Final = 1 << 20
"""Step from one producer identity to the next: stands for the epoch that KIP-360 raises."""


class Producer:
    """The node."""

    __slots__ = (
        "_accumulator", "_alarm", "_at_once", "_available", "_available_as_of", "_blocked_at", "_config",
        "_correlation", "_emit", "_in_flight", "_metadata", "_partitions", "_patience_us", "_pid", "_port",
        "_pumped_as_of", "_room", "_running", "_spec", "_turn", "_under_way", "_usual_size", "acked",
        "acks", "failed", "last_error",
        "refused", "sent", "unknown",
    )  # fmt: skip

    def __init__(
        self,
        port: Port,
        spec: ProducerSpec,
        config: ProducerConfig,
        partitions: tuple[str, ...],
        brokers: tuple[int, ...],
        emit: Callable[[Event], None],
    ) -> None:
        self.sent = self.acked = self.failed = self.unknown = self.refused = 0
        self.last_error = ""
        self._port = port
        self._spec = spec
        self._config = config
        self.acks = config.acks
        """-1 for all."""
        self._room = max(spec.batch, config.batch_bytes // max(1, spec.record_bytes))
        """Records that a batch takes."""
        self._at_once = config.linger_us == 0 and config.codec.cost_us(spec.batch * spec.record_bytes) == 0
        """A batch of the usual size that has a free connection is sent without waiting for anything."""
        self._patience_us = min(config.request_timeout_us, config.delivery_timeout_us)
        self._usual_size = spec.batch * spec.record_bytes
        self._partitions = partitions
        self._available = partitions
        self._blocked_at = -1
        """Since when the application waits in ``send``, -1 if it does not."""
        self._available_as_of = -1
        """Version of the metadata that :attr:`_available` was read from."""
        self._pumped_as_of = -1
        """Version of the metadata by which every batch's partition had a leader, -1 if one had none."""
        self._emit = emit
        self._pid = port.node_id if config.idempotent else -1
        self._accumulator = Accumulator(partitions)
        self._correlation = 0
        self._in_flight: dict[int, tuple[int, int, Outgoing]] = {}
        """Correlation → (broker, sent at, batch), oldest first."""
        self._under_way: dict[int, int] = {}
        """Broker → how many of those it has."""
        self._turn = 0
        self._running = True
        self._alarm = Alarm(port, "sender")
        self._metadata = Metadata(
            port,
            brokers,
            age_us=config.metadata_age_us,
            backoff_us=config.backoff_us,
            timeout_us=config.request_timeout_us,
            busy=self._busy,
        )

    @property
    def in_flight(self) -> int:
        """Batches under way."""
        return self._accumulator.in_flight

    @property
    def queued(self) -> int:
        """Records waiting."""
        return self._accumulator.queued

    def begin(self, states: tuple[PartitionState, ...]) -> None:
        """Start with knowledge of the cluster's first instant."""
        self._metadata.begin(states)
        self._port.timer(self._spec.start_us + self._spec.interval_us, "make")

    def stop(self) -> None:
        """Make no more records; what is on its way goes on."""
        self._running = False

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        if isinstance(message, ProduceResponse):
            self._answered(message)
        elif isinstance(message, MetadataResponse) and self._metadata.answered(message):
            self._pump()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        if timer[0] == "make":
            self._make()
        elif timer[0] == "metadata":
            self._metadata.rang()
        elif self._alarm.rang():
            self._expire()
            self._pump()

    def on_disconnect(self, peer: int) -> None:
        """Everything under way to ``peer`` failed without an answer."""
        self._metadata.disconnected(peer)
        self._connection_lost(peer, -1)
        self._pump()

    def _busy(self, broker: int) -> bool:
        return self._under_way.get(broker, 0) > 0

    def _make(self) -> None:
        spec = self._spec
        now = self._port.clock.now
        if not self._running or 0 <= spec.stop_us <= now:
            return
        self._port.timer(spec.interval_us, "make")
        if self._available_as_of != self._metadata.version:
            self._see_partitions()
        if not self._partitions:
            self._blocked(now)
            return
        self._blocked_at = -1
        partition = self._next_partition()
        quiet = self._accumulator.waiting == 0 and self._pumped_as_of == self._metadata.version
        sequence = self._accumulator.add(partition, spec.batch, self._room, now)
        self.sent += spec.batch
        self._emit(RecordsSent(now, spec.name, partition, sequence, spec.batch, self.acks))
        if quiet:
            self._pump_one(partition, now)
        else:
            self._pump()

    def _pump_one(self, partition: str, now: int) -> None:
        """What :meth:`_pump` does when all but this partition's newest batch is under way."""
        leader = self._metadata.leader(partition)
        if leader == NOBODY:
            self._pump()
            return
        queue = self._accumulator.queues[partition]
        batch = queue[0]
        if len(queue) == 1 and self._at_once and self._under_way.get(leader, 0) < self._config.max_in_flight:
            self._send(leader, batch, now)
            if self._alarm.at > now + self._patience_us or self._alarm.at < 0:
                self._rearm(-1)
            return
        ready_at = self._send_ready(leader, queue, now)
        self._rearm(ready_at if ready_at > now else -1)

    def _see_partitions(self) -> None:
        """Which partitions the topic has, and which of them a leader, by the newest metadata."""
        self._available_as_of = self._metadata.version
        self._partitions = tuple(self._metadata.partitions_of(self._spec.topic))
        led = tuple(name for name in self._partitions if self._metadata.leader(name) != NOBODY)
        self._available = led or self._partitions

    def _blocked(self, now: int) -> None:
        """There is no such topic: ``send`` waits for it to come, up to ``max.block.ms``, and then throws.

        The application's thread waits with it, so that of all the records of that time only the first are made.
        """
        self._metadata.refresh()
        if self._blocked_at < 0:
            self._blocked_at = now
        elif now - self._blocked_at >= MAX_BLOCK_US:
            spec, error, waited = self._spec, KafkaError.REQUEST_TIMED_OUT, now - self._blocked_at
            self._blocked_at = now
            self.sent += spec.batch
            self.failed += spec.batch
            self.last_error = error.name
            self._emit(RecordsSent(now, spec.name, spec.topic, -1, spec.batch, self.acks))
            self._emit(RecordsFailed(now, spec.name, spec.topic, -1, spec.batch, self.acks, error.name, waited))

    def _next_partition(self) -> str:
        """In turn over the partitions that have a leader, over all when none has (``RoundRobinPartitioner``)."""
        available = self._available
        self._turn += 1
        return available[(self._turn - 1) % len(available)]

    def _pump(self) -> None:
        """Send what may be sent, and see to the next deadline."""
        now = self._port.clock.now
        lost = False
        wake = -1
        for partition, queue in tuple(self._accumulator.queues.items()):
            if not queue:
                continue
            leader = self._metadata.leader(partition)
            if leader == NOBODY:
                lost = True
                continue
            ready_at = self._send_ready(leader, queue, now)
            if ready_at > now and (wake < 0 or ready_at < wake):
                wake = ready_at
        self._pumped_as_of = -1 if lost else self._metadata.version
        if lost:
            self._metadata.refresh()
        self._rearm(wake)

    def _send_ready(self, leader: int, queue: list[Outgoing], now: int) -> int:
        """Send from the head of a partition's queue; returns when its next batch becomes ready, -1 if it waits."""
        config = self._config
        waiting = queue if len(queue) == 1 else tuple(queue)
        stale = any(batch.attempts and batch.producer_id != self._pid for batch in queue)
        for index, batch in enumerate(waiting):
            if batch.in_flight:
                if config.max_in_flight == 1:
                    return -1
                continue
            ready_at = batch.retry_at if batch.attempts else batch.created_us + config.linger_us
            closed = index + 1 < len(waiting) or batch.records * self._spec.record_bytes >= config.batch_bytes
            if ready_at > now and (batch.attempts or not closed):
                return ready_at
            packed_at = batch.newest_us + config.codec.cost_us(batch.records * self._spec.record_bytes)
            if packed_at > now:
                return packed_at
            if stale and not batch.attempts:
                return -1
            if config.idempotent and batch.attempts and index:
                return -1
            if self._under_way.get(leader, 0) >= config.max_in_flight:
                return -1
            self._send(leader, batch, now)
            if config.idempotent and batch.attempts > 1:
                return -1
        return -1

    def _send(self, leader: int, batch: Outgoing, now: int) -> None:
        self._correlation += 1
        batch.attempts += 1
        if batch.attempts == 1:
            batch.producer_id = self._pid
        request = ProduceRequest(
            self._correlation, batch.partition, self.acks, self._config.request_timeout_us, self._spec.name,
            batch.producer_id, batch.sequence, batch.records,
            self._config.codec.size(self._size(batch.records)), (), batch.newest_us, self._config.codec.code,
        )  # fmt: skip
        self._port.send(leader, request)
        if self.acks == 0:
            self._accumulator.remove(batch)
            self._ack(batch, leader, -1, -1, -1)
            return
        self._accumulator.under_way(batch)
        self._under_way[leader] = self._under_way.get(leader, 0) + 1
        self._in_flight[self._correlation] = (leader, now, batch)

    def _size(self, records: int) -> int:
        """Bytes of that many records; one number serves all batches of the usual size."""
        return self._usual_size if records == self._spec.batch else records * self._spec.record_bytes

    def _rearm(self, wake: int) -> None:
        """See to it that the alarm rings at the next deadline.

        While it is armed, it is for no later than the deadline of any batch that was there when it was: those only
        need to be searched when it is not.
        """
        config = self._config
        at = wake
        if self._alarm.at < 0:
            oldest = self._accumulator.oldest()
            if oldest >= 0 and (at < 0 or oldest + config.delivery_timeout_us < at):
                at = oldest + config.delivery_timeout_us
        for _broker, sent_at, _batch in self._in_flight.values():
            if at < 0 or sent_at + config.request_timeout_us < at:
                at = sent_at + config.request_timeout_us
            break
        if at >= 0:
            self._alarm.want(at)

    def _expire(self) -> None:
        now = self._port.clock.now
        for broker, sent_at, _batch in tuple(self._in_flight.values()):
            if now - sent_at >= self._config.request_timeout_us and self._busy(broker):
                timed_out = next(key for key, entry in self._in_flight.items() if entry[0] == broker)
                self._connection_lost(broker, timed_out)
        for queue in tuple(self._accumulator.queues.values()):
            while queue and now - queue[0].created_us >= self._config.delivery_timeout_us:
                self._give_up(queue[0], KafkaError.REQUEST_TIMED_OUT)

    def _connection_lost(self, broker: int, timed_out: int) -> None:
        """A timed-out request closes the connection, and all requests on it fail (``processDisconnection``)."""
        gone = [(key, entry[2]) for key, entry in self._in_flight.items() if entry[0] == broker]
        self._under_way.pop(broker, None)
        for correlation, batch in gone:
            del self._in_flight[correlation]
            error = KafkaError.REQUEST_TIMED_OUT if correlation == timed_out else KafkaError.NETWORK_EXCEPTION
            self._attempt_failed(batch, broker, error)
        if gone:
            self._metadata.avoid(broker)
            self._metadata.refresh()

    def _answered(self, response: ProduceResponse) -> None:
        entry = self._in_flight.pop(response.correlation, None)
        if entry is None:
            return
        broker, _sent_at, batch = entry
        self._under_way[broker] -= 1
        if response.error:
            self._attempt_failed(batch, broker, KafkaError(response.error))
        else:
            self._accumulator.remove(batch)
            self._ack(batch, broker, response.leader_epoch, response.log_offset, response.lineage)
        if self._accumulator.waiting or self._pumped_as_of != self._metadata.version:
            self._pump()

    def _ack(self, batch: Outgoing, broker: int, epoch: int, offset: int, lineage: int) -> None:
        now = self._port.clock.now
        self.acked += batch.records
        self._emit(
            RecordsAcked(
                now, self._spec.name, batch.partition, batch.sequence, batch.records, self.acks, broker, epoch, offset,
                now - batch.created_us, lineage,
            )
        )  # fmt: skip

    def _attempt_failed(self, batch: Outgoing, broker: int, error: KafkaError) -> None:
        now = self._port.clock.now
        self._accumulator.came_back(batch)
        self.refused += 1
        self.last_error = error.name
        if error not in PROVES_NOT_WRITTEN and (error not in WHILE_WAITING_TOO or self.acks == ALL):
            batch.written = True
        self._emit(
            ProduceRefused(
                now, self._spec.name, batch.partition, broker, self.acks, error.name, batch.sequence, batch.records
            )
        )
        if error in INVALID_METADATA:
            self._metadata.refresh()
        expired = now - batch.created_us >= self._config.delivery_timeout_us
        out_of_order = self._config.idempotent and error is KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
        if out_of_order and batch is self._accumulator.queues[batch.partition][0]:
            self._begin_anew(batch.partition)
        again = error in RETRIABLE or out_of_order
        if not again or expired or batch.attempts > self._config.retries:
            self._give_up(batch, error)
            return
        pause = min(self._config.backoff_us << min(batch.attempts - 1, 20), self._config.backoff_max_us)
        batch.retry_at = now + pause

    def _begin_anew(self, partition: str) -> None:
        """The broker's sequence has a gap that no retry will fill: go on under a new identity (KIP-360)."""
        self._pid += _NEXT_IDENTITY
        for batch in self._accumulator.queues[partition]:
            batch.producer_id = self._pid

    def _give_up(self, batch: Outgoing, error: KafkaError) -> None:
        now = self._port.clock.now
        for correlation in [key for key, entry in self._in_flight.items() if entry[2] is batch]:
            self._under_way[self._in_flight.pop(correlation)[0]] -= 1
        self._accumulator.remove(batch)
        latency = now - batch.created_us
        if batch.written or batch.in_flight:
            self.unknown += batch.records
            ended: type[RecordsUnknown] | type[RecordsFailed] = RecordsUnknown
        else:
            self.failed += batch.records
            ended = RecordsFailed
        name = self._spec.name
        self._emit(ended(now, name, batch.partition, batch.sequence, batch.records, self.acks, error.name, latency))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        flight = tuple(
            (key, broker, sent_at, batch.partition, batch.sequence)
            for key, (broker, sent_at, batch) in self._in_flight.items()
        )
        books = (self.sent, self.acked, self.failed, self.unknown, self.refused, self.last_error)
        return (
            books, self._accumulator.save(), self._correlation, flight, self._turn, self._running, self._pid,
            self._alarm.save(), self._metadata.save(), self._blocked_at,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (
            books, accumulator, self._correlation, flight, self._turn, self._running, self._pid, alarm, metadata,
            self._blocked_at,
        ) = saved  # fmt: skip
        self.sent, self.acked, self.failed, self.unknown, self.refused, self.last_error = books
        self._accumulator.load(accumulator)
        batches = {(b.partition, b.sequence): b for queue in self._accumulator.queues.values() for b in queue}
        self._in_flight = {
            key: (broker, sent_at, batches[partition, sequence]) for key, broker, sent_at, partition, sequence in flight
        }
        self._under_way = dict(Counter(broker for broker, _sent_at, _batch in self._in_flight.values()))
        self._alarm.load(alarm)
        self._metadata.load(metadata)
        self._available_as_of = -1
        self._pumped_as_of = -1
