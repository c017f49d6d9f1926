"""A producer's I/O thread: in-flight requests, responses, callbacks, statistics (``Sender``, ``NetworkClient``)."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.partitioners import NodeLatencies
from cluster_model.clients.producer.record_accumulator import (
    NEVER,
    BatchExpiry,
    BatchReadiness,
    PartitionQueue,
    ProducerBatch,
    RecordAccumulator,
)
from cluster_model.clients.producer.transaction_manager import GAP, ProducerIdRequest, ProducerSequences
from cluster_model.clients.workload import Pacing, RecordSizes
from cluster_model.connections.network_client import CONNECTIONS, NetworkClient
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.kernel.process import Node
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.errors import AMBIGUOUS_WITH_ACKS_ALL, INVALID_METADATA, PROVES_NOT_WRITTEN, KafkaError
from cluster_model.protocol.events import (
    Event,
    ProduceRefused,
    ProduceRetried,
    RecordsAcked,
    RecordsFailed,
    RecordsSent,
    RecordsUnknown,
)
from cluster_model.protocol.messages import ALL, NO_LEADER, InitProducerIdResponse, ProduceRequest, ProduceResponse
from cluster_model.spec.cluster_spec import ProducerSpec

# Outcomes of a producer's records as reported to its application: counted, and emitted as events.


DIED: Final = "process died"
"""Error of records whose process was killed before their outcome; not a Kafka error."""


class DeliveryStats:
    """Counters of a producer's records by outcome: *acked*, *failed* (not written), *unknown* (may be written)."""

    __slots__ = ("_acks", "_emit", "_name", "_pace", "aborted", "acked", "failed", "last_error", "refused", "sent",
                 "unknown")  # fmt: skip

    def __init__(self, name: str, acks: int, emit: Callable[[Event], None], pace: Pacing) -> None:
        """Make empty counters; ``pace`` receives outcomes, which trigger the next records in a closed loop."""
        self._pace = pace
        self._name = name
        self._acks = acks
        self._emit = emit
        self.sent = self.acked = self.failed = self.unknown = self.refused = self.aborted = 0
        self.last_error = ""

    def sent_records(self, now: int, partition: str, sequence: int, count: int) -> None:
        """Count records passed to ``send``."""
        self.sent += count
        self._emit(RecordsSent(now, self._name, partition, sequence, count, self._acks))

    def send_failed(self, now: int, where: str, count: int, error: str, waited: int) -> None:
        """Count records for which ``send`` failed before they were in a batch; they have no record number."""
        self.sent_records(now, where, -1, count)
        self.failed += count
        self.last_error = error
        self._pace.settled(count, waited)
        self._emit(RecordsFailed(now, self._name, where, -1, count, self._acks, error, waited))

    def acknowledged(
        self, now: int, batch: ProducerBatch, broker: int, epoch: int, offset: int, epoch_branch: int
    ) -> None:
        """Count the success callbacks of a batch; records sent at the same time share an event."""
        self.acked += batch.records
        self._pace.settled(batch.records, now - batch.created_us)
        for start, records, sent_us in batch.by_send_time():
            self._emit(
                RecordsAcked(
                    now, self._name, batch.partition, batch.sequence + start, records, self._acks, broker, epoch,
                    offset + start if offset >= 0 else offset, now - sent_us, epoch_branch,
                )
            )  # fmt: skip

    def attempt_failed(self, now: int, batch: ProducerBatch, broker: int, error: KafkaError) -> None:
        """Count an attempt that ended in an error."""
        self.refused += 1
        self.last_error = error.name
        self._emit(
            ProduceRefused(
                now, self._name, batch.partition, broker, self._acks, error.name, batch.sequence, batch.records
            )
        )

    def retried(self, now: int, batch: ProducerBatch, broker: int) -> None:
        """Report a retry."""
        self._emit(ProduceRetried(now, self._name, batch.partition, broker, batch.sequence, batch.records))

    def batch_failed(self, now: int, batch: ProducerBatch, error: str) -> None:
        """Count the error callbacks of a batch: failed if it was certainly not written, else unknown."""
        self._pace.settled(batch.records, now - batch.created_us)
        if batch.written:
            self.unknown += batch.records
            ended: type[RecordsUnknown] | type[RecordsFailed] = RecordsUnknown
        else:
            self.failed += batch.records
            ended = RecordsFailed
        self._emit(
            ended(
                now, self._name, batch.partition, batch.sequence, batch.records, self._acks, error,
                now - batch.created_us,
            )
        )  # fmt: skip

    def process_died(self, now: int, batch: ProducerBatch) -> None:
        """Count a batch of a killed process: unknown if it was ever sent, else failed."""
        sent = batch.written or batch.in_flight
        if sent:
            self.unknown += batch.records
        else:
            self.failed += batch.records
        self.last_error = DIED
        ended: type[RecordsUnknown] | type[RecordsFailed] = RecordsUnknown if sent else RecordsFailed
        self._emit(
            ended(
                now, self._name, batch.partition, batch.sequence, batch.records, self._acks, DIED,
                now - batch.created_us,
            )
        )  # fmt: skip

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self.sent, self.acked, self.failed, self.unknown, self.refused, self.last_error)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self.sent, self.acked, self.failed, self.unknown, self.refused, self.last_error = saved


# A producer's in-flight requests by broker (``InFlightRequests``).
#
# A request for several partitions is one message per partition on the network. It counts once against the limit, and
# is complete with the response for its last partition: no response is handled before.


Flight = tuple[int, int, ProducerBatch, int]
"""(broker, sent at, batch, request: number of its first message)."""
Answer = tuple[int, ProducerBatch, ProduceResponse]
"""(broker, batch, response)."""


class InFlightRequests:
    """The in-flight messages of a producer by their number, oldest first."""

    __slots__ = ("_held", "counts", "flights", "left")

    def __init__(self) -> None:
        self.flights: dict[int, Flight] = {}
        self.counts: dict[int, int] = {}
        """Broker → number of requests in flight."""
        self.left: dict[int, int] = {}
        """Request for several partitions → number of pending responses."""
        self._held: dict[int, tuple[ProduceResponse, ...]] = {}
        """Request for several partitions → responses received so far."""

    def count(self, broker: int) -> int:
        """Return the number of requests in flight to a broker."""
        return self.counts.get(broker, 0)

    def batches(self) -> list[ProducerBatch]:
        """Return all batches in flight, completed or not."""
        return [flight[2] for flight in self.flights.values()]

    @property
    def oldest(self) -> int:
        """Send time of the oldest request, -1 for none."""
        for flight in self.flights.values():
            return flight[1]
        return -1

    def sent(self, broker: int, now: int, first: int, batches: list[ProducerBatch]) -> None:
        """Add a request whose messages are numbered from ``first``."""
        self.counts[broker] = self.counts.get(broker, 0) + 1
        for index, batch in enumerate(batches):
            self.flights[first + index] = (broker, now, batch, first)
        if len(batches) > 1:
            self.left[first] = len(batches)
            self._held[first] = ()

    def complete(self, response: ProduceResponse) -> list[Answer]:
        """Return the batches completed by a response; none if the request is no longer in flight, or incomplete."""
        flight = self.flights.get(response.correlation_id)
        if flight is None:
            return []
        broker, _sent_at, _batch, request = flight
        self.left[request] -= 1
        held = self._held[request] = (*self._held[request], response)
        if self.left[request]:
            return []
        del self.left[request], self._held[request]
        self.counts[broker] -= 1
        return [(broker, self.flights.pop(each.correlation_id)[2], each) for each in held]

    def remove_broker(self, broker: int) -> list[tuple[int, ProducerBatch]]:
        """Remove the requests of a lost connection; return their (request, batch)."""
        removed = [(number, flight) for number, flight in self.flights.items() if flight[0] == broker]
        for number, flight in removed:
            del self.flights[number]
            self.left.pop(flight[3], None)
            self._held.pop(flight[3], None)
        self.counts.pop(broker, None)
        return [(flight[3], flight[2]) for _number, flight in removed]

    def timed_out(self, before: int) -> dict[int, int]:
        """Return broker → its oldest request, where that was sent at ``before`` or earlier."""
        late: dict[int, int] = {}
        for broker, sent_at, _batch, request in self.flights.values():
            if sent_at > before:
                break
            late.setdefault(broker, request)
        return late

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        flights = tuple(
            [(number, broker, at, batch.save(), request)
             for number, (broker, at, batch, request) in self.flights.items()]
        )  # fmt: skip
        return flights, tuple(self.left.items()), tuple(self._held.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        flights, left, held = saved
        self.flights = {
            number: (broker, at, ProducerBatch.from_saved(batch), request)
            for number, broker, at, batch, request in flights
        }
        self.left, self._held = dict(left), dict(held)
        requests = dict.fromkeys((flight[0], flight[3]) for flight in self.flights.values())
        self.counts = dict(Counter(broker for broker, _request in requests))


class Sender:
    """Sends the batches of the accumulator and reports their outcomes to the statistics."""

    __slots__ = (
        "_accumulator", "_config", "_correlation", "_expiry", "_extra_fields", "_flight", "_id_request", "_jitter",
        "_latencies", "_muting", "_name", "_next_line", "_patience_us", "_port", "_ready", "_sent_as_of", "_sequences",
        "_spec", "_stalled", "_stats", "_timer", "acks", "at_once", "metadata",
    )  # fmt: skip

    def __init__(
        self,
        port: NetworkClient,
        spec: ProducerSpec,
        config: ProducerConfig,
        brokers: tuple[int, ...],
        accumulator: RecordAccumulator,
        stats: DeliveryStats,
        jitter: RandomStream,
        sizes: RecordSizes,
        latencies: NodeLatencies,
    ) -> None:
        self._latencies = latencies
        self._port = port
        self._spec = spec
        self._config = config
        self._accumulator = accumulator
        self._stats = stats
        self._jitter = jitter
        self._flight = InFlightRequests()
        self._expiry = BatchExpiry(config, sizes, port.wall)
        self.metadata = Metadata(
            port,
            brokers,
            config.client,
            age_us=config.metadata_age_us,
            backoff_us=config.backoff_us,
            timeout_us=config.request_timeout_us,
            busy=self._busy,
        )
        self._ready = BatchReadiness(config, self.metadata, sizes)
        self._sequences = ProducerSequences(config.client, on=config.idempotent)
        self._id_request = ProducerIdRequest(
            port, self.metadata, backoff_us=config.backoff_us, timeout_us=config.request_timeout_us
        )
        self._extra_fields: tuple[int, int, str, int] | tuple[()] = ()
        """Further fields of its requests, in their order (``TransactionalSender``)."""
        self._correlation = port.first_number
        self._timer = DeadlineTimer(port, "sender")
        self.acks = config.acks
        self._name = spec.name
        self._stalled = False
        client = config.client
        # A queue is safe from expiry behind a batch in flight (KAFKA-3388) only if the partition is muted meanwhile.
        mutes = not client.sends_past_in_flight or (client.expires_batches and not client.expires_behind_retries)
        self._muting = config.max_in_flight == 1 and config.acks != 0 and mutes
        self.at_once = config.linger_us == 0 and config.codec.nanos_per_byte == 0
        """Whether a batch with a free connection is sent at once, without linger or compression time."""
        self._patience_us = min(config.request_timeout_us, config.delivery_timeout_us)
        self._sent_as_of = -1
        """Metadata version at which the partitions of all batches had leaders, -1 if one had none."""
        self._next_line: dict[int, str] = {}
        """Broker → partition that did not fit into its last request: the next request begins with it."""

    def stall(self, *, on: bool) -> None:
        """Stop sending while callbacks block this thread, or resume."""
        self._stalled = on
        self._sent_as_of = -1

    def set_no_linger(self, on: bool) -> None:
        """Turn lingering off while something waits for memory, a flush or a close, or on again."""
        self._ready.no_linger = on

    @property
    def in_flight(self) -> InFlightRequests:
        """The requests in flight."""
        return self._flight

    def incomplete_batches(self) -> list[ProducerBatch]:
        """Return the batches without an outcome, in flight or not, by partition and order of their records."""
        accumulator = self._accumulator
        found = [batch for batch in self._flight.batches() if not batch.done]
        found += [batch for line in accumulator.busy.values() for batch in line.waiting]
        place = {name: index for index, name in enumerate(accumulator.queues)}
        return sorted(found, key=lambda batch: (place[batch.partition], batch.sequence))

    def begin(self) -> None:
        """Start: an idempotent client requests its producer id at once."""
        if not self._sequences.ready:
            self._id_request.want()

    def send_newest(self, partition: str, now: int) -> None:
        """Do the same as :meth:`send_ready`, faster, where this partition's newest batch is the only one to send."""
        leader = self.metadata.leader(partition)
        line = self._accumulator.queues[partition]
        if (
            not self.at_once
            or self._sent_as_of != self.metadata.version
            or self._sequences.unsettled
            or leader not in self._port.open
            or len(line.waiting) != 1
            or line.muted
            or self._flight.counts.get(leader, 0) >= self._config.max_in_flight
            or not self._sequences.allows(line, line.waiting[0])
        ):
            self.send_ready()
            return
        self._send_one(leader, line, now)
        if self._timer.at > now + self._patience_us or self._timer.at < 0:
            self._rearm(-1)

    def send_ready(self) -> None:
        """Send all batches that may be sent, and set the timer of the next deadline."""
        if self._stalled:
            return
        now = self._port.clock.now
        sequences = self._sequences
        if sequences.unsettled:
            sequences.settle()
        lost = False
        nodes: dict[int, list[PartitionQueue]] = {}
        for line in tuple(self._accumulator.busy.values()):
            while line.waiting and sequences.has_former_id(line.waiting[0]):
                self._give_up(line.waiting[0], GAP, for_good=False)
            leader = self.metadata.leader(line.name)
            if leader == NO_LEADER:
                lost = True
            elif leader in nodes:
                nodes[leader].append(line)
            else:
                nodes[leader] = [line]
        if sequences.ready:
            for leader, lines in nodes.items():
                connected = leader in self._port.open
                if (self._latencies.watched or not connected) and self._ready.any_of(lines, now):
                    connected = self._port.ready(leader)
                    if self._latencies.watched:
                        self._latencies.on_ready(leader, now, can_take=connected and self._can_take(leader))
                while connected and self._can_take(leader) and self._request(leader, lines, now):
                    pass
        else:
            self._id_request.want()
        self._sent_as_of = -1 if lost or self._stalled else self.metadata.version
        if lost:
            self.metadata.refresh()
        self._rearm(self._ready.next(nodes, now))

    def _can_take(self, leader: int) -> bool:
        return self._flight.count(leader) < self._config.max_in_flight

    def _request(self, leader: int, lines: list[PartitionQueue], now: int) -> bool:
        """Send a request with the first batches of all partitions that may go along; return False if none is ready."""
        if not self._ready.any_of(lines, now):
            return False
        begin = self._next_line.pop(leader, "")
        first = next((index for index, line in enumerate(lines) if line.name == begin), 0)
        chosen: list[PartitionQueue] = []
        size = 0
        for line in lines[first:] + lines[:first]:
            if not line.waiting or line.muted:
                continue
            head = line.waiting[0]
            if self._ready.ready_to_join_at(line) > now or not self._sequences.allows(line, head):
                continue
            more = self._config.codec.size(self._ready.size(head))
            if chosen and size + more > self._config.request_bytes:
                self._next_line[leader] = line.name
                break
            chosen.append(line)
            size += more
        if len(chosen) == 1:
            self._send_one(leader, chosen[0], now)
        elif chosen:
            self._send(leader, chosen, now)
        return bool(chosen)

    def _send_one(self, leader: int, line: PartitionQueue, now: int) -> None:
        """Send a request with the first batch of one partition."""
        batch = self._depart(leader, line, self._correlation + 1)
        if self.acks:
            flight, number = self._flight, self._correlation
            flight.counts[leader] = flight.counts.get(leader, 0) + 1
            flight.flights[number] = (leader, now, batch, number)
        else:
            self._accumulator.complete(batch)
            self._stats.acknowledged(now, batch, leader, -1, -1, -1)

    def _depart(self, leader: int, line: PartitionQueue, first: int) -> ProducerBatch:
        """Send the first batch of a partition, in the request whose first message is numbered ``first``."""
        config = self._config
        accumulator = self._accumulator
        waiting = line.waiting
        batch = waiting.pop(0)
        if not waiting:
            del accumulator.busy[line.name]
        accumulator.waiting -= 1
        batch.in_flight = True
        batch.attempts += 1
        state = self.metadata.states[line.name]
        batch.leader_epoch = state.leader_epoch
        if batch.producer_id < 0 and config.idempotent:
            self._sequences.stamp(line, batch)
        self._correlation += 1
        codec = config.codec
        size = codec.size(self._ready.size(batch)) if codec.code else self._ready.size(batch)
        request = ProduceRequest(
            self._correlation, line.name, self.acks, config.request_timeout_us, self._name, batch.producer_id,
            batch.sequence, batch.records, size, (), batch.newest_us - batch.aged_us + self._expiry.wall.ahead_us,
            codec.code, batch.epoch, batch.sequence - batch.first, first, *self._extra_fields,
        )  # fmt: skip
        self._port.send(leader, request)
        if batch.attempts > 1:
            self._stats.retried(self._port.clock.now, batch, leader)
        line.muted = self._muting
        return batch

    def _send(self, leader: int, lines: list[PartitionQueue], now: int) -> None:
        """Send a request with the first batches of several partitions."""
        first = self._correlation + 1
        batches = [self._depart(leader, line, first) for line in lines]
        if self.acks:
            self._flight.sent(leader, now, first, batches)
            return
        for batch in batches:
            self._accumulator.complete(batch)
            self._stats.acknowledged(now, batch, leader, -1, -1, -1)

    def _rearm(self, wake: int) -> None:
        """Set the timer to the next deadline.

        A set timer is never later than the deadline of any batch that existed when it was set, so batches are searched
        only when it is not set. Before KIP-91 the deadline of a batch moves earlier when the batch becomes full.
        """
        config = self._config
        at = wake
        if self._timer.at < 0 or not self._expiry.bounds_flights:
            first = self._expiry.first(self._accumulator, self._flight.batches())
            if first < NEVER and (at < 0 or first < at):
                at = first
        sent_at = self._flight.oldest
        if sent_at >= 0 and (at < 0 or sent_at + config.request_timeout_us < at):
            at = sent_at + config.request_timeout_us
        if at >= 0:
            self._timer.arm(at)

    def clock_stepped(self, by: int) -> None:
        """Make batches older by a step of the machine's clock; some may expire."""
        self._expiry.clock_stepped(by, self.incomplete_batches())
        self._timer.arm(self._port.now)

    def on_timer(self, name: str) -> None:
        """Handle a timer of this thread by its name."""
        if name in ("metadata", "producer id"):
            silent = self.metadata.on_timer() if name == "metadata" else self._id_request.on_timer()
            if silent != NO_LEADER:
                self._close(silent)
                self.send_ready()
        elif name == CONNECTIONS:
            for broker in self._port.on_timer():
                self.connection_lost(broker)
            self.send_ready()
        elif self._timer.take_expired():
            self._expire()
            self.send_ready()

    def _expire(self) -> None:
        """Fail requests that timed out, then batches that expired, queued or in flight."""
        now = self._port.clock.now
        for broker, request in self._flight.timed_out(now - self._config.request_timeout_us).items():
            self._close(broker, request)
        self.expire_batches(now)

    def expire_batches(self, now: int) -> None:
        """Fail expired batches (``sendProducerData``)."""
        expiry = self._expiry
        for line in tuple(self._accumulator.busy.values()):
            while line.waiting:
                at, batch = expiry.queued(line)
                if at > now:
                    break
                self._give_up(batch, KafkaError.REQUEST_TIMED_OUT, for_good=False)
        if expiry.bounds_flights:
            for batch in self._flight.batches():
                if not batch.done and expiry.in_flight(batch) <= now:
                    self._give_up(batch, KafkaError.REQUEST_TIMED_OUT, for_good=False)

    def identified(self, response: InitProducerIdResponse) -> None:
        """Handle the response to a request for a producer id."""
        if self._id_request.on_response(response):
            self._sequences.assign(response.producer_id, response.producer_epoch)
            self.send_ready()

    def disconnected(self, peer: int) -> None:
        """Handle a broken connection: all requests in flight to ``peer`` failed without a response."""
        if self._port.broke(peer):
            self.connection_lost(peer)

    def connection_lost(self, peer: int) -> None:
        """Fail all requests on a connection that was lost or could not be made."""
        self._connection_lost(peer, -1)
        self.send_ready()

    def _close(self, broker: int, timed_out: int = -1) -> None:
        """Close a connection whose request timed out (``NetworkClient.handleTimedOutRequests``)."""
        self._port.abandon(broker)
        self._connection_lost(broker, timed_out)

    def closed_by(self, broker: int) -> None:
        """Handle a connection closed by a broker after an error of a request with acks=0; the error is not sent."""
        self._port.disconnect(broker)
        self.metadata.disconnected(broker)

    def _connection_lost(self, broker: int, timed_out: int) -> None:
        """Fail all requests on a connection (``NetworkClient.processDisconnection``).

        Before 2.0 the newest fails first (``InFlightRequests.clearAll``): without idempotence the batches, each put
        back at the front of the queue, are in their original order again.
        """
        self.metadata.disconnected(broker)
        self._id_request.disconnected(broker)
        lost = self._flight.remove_broker(broker)
        for request, batch in lost if self._config.client.fails_oldest_first else reversed(lost):
            error = KafkaError.REQUEST_TIMED_OUT if request == timed_out else KafkaError.NETWORK_EXCEPTION
            self._on_failed_attempt(batch, broker, error, -1)

    def on_response(self, response: ProduceResponse) -> None:
        """Handle a broker's response for a batch."""
        flight = self._flight
        alone = flight.flights.get(response.correlation_id)
        if alone is None or alone[3] in flight.left:
            for broker, batch, completed in self._flight.complete(response):
                self._complete_batch(broker, batch, completed)
        else:
            del flight.flights[response.correlation_id]
            flight.counts[alone[0]] -= 1
            self._complete_batch(alone[0], alone[2], response)
        if self._accumulator.waiting or self._sent_as_of != self.metadata.version or self._sequences.unsettled:
            self.send_ready()

    def _complete_batch(self, broker: int, batch: ProducerBatch, response: ProduceResponse) -> None:
        if response.error and response.error != KafkaError.DUPLICATE_SEQUENCE_NUMBER:
            self._on_failed_attempt(batch, broker, KafkaError(response.error), response.log_start)
            if response.current is not None and self._config.client.learns_leaders:
                self.metadata.learn(batch.partition, response.current)
            return
        accumulator = self._accumulator
        line = accumulator.queues[batch.partition]
        line.muted = False
        if batch.producer_id >= 0:
            self._sequences.acked(line, batch, response.log_offset)
        if not batch.done:
            accumulator.complete(batch)
            now = self._port.clock.now
            self._stats.acknowledged(
                now, batch, broker, response.leader_epoch, response.log_offset, response.epoch_branch
            )

    def _on_failed_attempt(self, batch: ProducerBatch, broker: int, error: KafkaError, log_start: int) -> None:
        """Handle an attempt that ended in an error: retry, split or fail the batch (``Sender.completeBatch``)."""
        config = self._config
        line = self._accumulator.queues[batch.partition]
        line.muted = False
        unknown = error is KafkaError.UNKNOWN_TOPIC_OR_PARTITION
        if error in INVALID_METADATA and (config.client.unknown_topic_is_stale or not unknown):
            self.metadata.refresh()
        if batch.done:
            return
        now = self._port.clock.now
        if error not in PROVES_NOT_WRITTEN and (error not in AMBIGUOUS_WITH_ACKS_ALL or config.acks == ALL):
            batch.written = True
        batch.in_flight = False
        self._stats.attempt_failed(now, batch, broker, error)
        if error is KafkaError.MESSAGE_TOO_LARGE and batch.records > 1 and config.client.splits_batches:
            room = max(1, config.batch_bytes * batch.records // max(1, self._ready.size(batch)))
            self._accumulator.replace(batch, batch.split(room))
            return
        waited = now - batch.created_us + batch.aged_us
        in_time = waited < config.delivery_timeout_us and batch.attempts <= config.retries
        if not (in_time and self._sequences.may_retry(line, batch, error, log_start)):
            self._give_up(batch, error, for_good=in_time)
            return
        batch.retry_at = now + config.pause_us(batch.attempts, self._jitter)
        self._accumulator.requeue(batch)

    def _busy(self, broker: int) -> bool:
        return self._flight.count(broker) > 0

    def abort(self, error: str) -> None:
        """Fail every batch without an outcome, without waiting for responses (``abortIncompleteBatches``)."""
        now = self._port.clock.now
        for batch in self.incomplete_batches():
            self._accumulator.drop(batch)
            self._accumulator.complete(batch)
            batch.written = batch.written or batch.in_flight
            self._stats.batch_failed(now, batch, error)
        for line in self._accumulator.queues.values():
            line.drained.clear()
        self._flight = InFlightRequests()

    def _give_up(self, batch: ProducerBatch, error: KafkaError, *, for_good: bool) -> None:
        self._accumulator.drop(batch)
        self._accumulator.complete(batch)
        batch.written = batch.written or batch.in_flight
        self._sequences.batch_failed(self._accumulator.queues[batch.partition], batch, error, for_good=for_good)
        self._stats.batch_failed(self._port.clock.now, batch, error.name)

    def save(self) -> tuple[Any, ...]:
        """Return all state, including that of the accumulator."""
        return (
            self._accumulator.save(), self._flight.save(), self._sequences.save(), self._id_request.save(),
            self.metadata.save(), self._port.save(), self._timer.save(), self._correlation, self._ready.no_linger,
            tuple(self._next_line.items()),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            accumulator, flight, sequences, id_request, metadata, port, timer, self._correlation, self._ready.no_linger,
            lines,
        ) = saved  # fmt: skip
        self._port.load(port)
        self._accumulator.load(accumulator)
        self._flight.load(flight)
        self._accumulator.loaded_flights(accumulator, self._flight.batches())
        self._sequences.load(sequences, self._accumulator.queues)
        self._id_request.load(id_request)
        self.metadata.load(metadata)
        self._timer.load(timer)
        self._next_line = dict(lines)
        self._sent_as_of = -1


# Slow callbacks: they run on the I/O thread, which also sends, handles responses and checks timeouts.
#
# Until a callback returns, none of that happens for any partition: responses wait in the sockets and records in the
# accumulator. A batch that expires meanwhile fails even if its response has arrived (``Sender.runOnce`` expires
# batches before it polls).


CALLBACKS: Final = "callbacks"
"""Timer of the end of the running callbacks."""
Waiting = tuple[int, Any]
"""(source node, message; None for a broken connection)."""


class IoThread:
    """The I/O thread of a producer whose callbacks take time: it queues everything that arrives while they run."""

    __slots__ = ("_callback_us", "_messages", "_port", "_timers", "_until", "busy", "sender")

    sender: Sender

    def __init__(self, port: NodeContext, callback_us: int) -> None:
        """Make the thread; ``callback_us`` is the duration of the callback of one record."""
        self._port = port
        self._callback_us = callback_us
        self._until = 0
        self.busy = False
        self._messages: list[Waiting] = []
        self._timers: list[Payload] = []

    def connect(self, sender: Sender, stats: DeliveryStats) -> None:
        """Connect it to the sender that it stalls, and to the statistics that report outcomes to it."""
        self.sender = sender
        if isinstance(stats, DeliveryStatsWithCallbacks):
            stats.io = self

    def run_callbacks(self, records: int) -> None:
        """Run the callbacks of a completed batch's records one after the other, after those already running."""
        now = self._port.now
        self._until = max(self._until, now) + records * self._callback_us
        if not self.busy:
            self.busy = True
            self.sender.stall(on=True)
            self._port.timer(self._until - now, CALLBACKS)

    def keep(self, source: int, message: Any) -> None:
        """Queue a message that arrived while callbacks run; None for a broken connection."""
        self._messages.append((source, message))

    def on_timer(self, timer: Payload, node: Node) -> None:
        """Queue a timer while callbacks run; after the last callback deliver the queued messages to ``node``.

        Batches are expired first; messages come before timers, as in ``NetworkClient.poll``.
        """
        now = self._port.now
        if timer[0] != CALLBACKS:
            self._timers.append(timer)
        elif now < self._until:
            self._port.timer(self._until - now, CALLBACKS)
        else:
            self.busy = False
            self.sender.stall(on=False)
            self.sender.expire_batches(now)
            while self._messages and not self.busy:
                source, message = self._messages.pop(0)
                if message is None:
                    node.on_disconnect(source)
                else:
                    node.receive(source, message)
            while self._timers and not self.busy:
                self.sender.on_timer(self._timers.pop(0)[0])
            self.sender.send_ready()

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self._until, self.busy, tuple(self._messages), tuple(self._timers))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._until, self.busy, messages, timers = saved
        self._messages, self._timers = list(messages), list(timers)
        self.sender.stall(on=self.busy)


class DeliveryStatsWithCallbacks(DeliveryStats):
    """Statistics of a producer whose callbacks take time: each outcome starts the callbacks of its records."""

    __slots__ = ("io",)

    io: IoThread

    def acknowledged(
        self, now: int, batch: ProducerBatch, broker: int, epoch: int, offset: int, epoch_branch: int
    ) -> None:
        """Count the success callbacks, and run them."""
        super().acknowledged(now, batch, broker, epoch, offset, epoch_branch)
        self.io.run_callbacks(batch.records)

    def batch_failed(self, now: int, batch: ProducerBatch, error: str) -> None:
        """Count the error callbacks, and run them."""
        super().batch_failed(now, batch, error)
        self.io.run_callbacks(batch.records)
