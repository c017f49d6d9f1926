"""The node of external clients: their requests, the records they read, and the responses they received.

External clients do not mark which records are new and which are retries. A batch of an idempotent producer is
recognised by its sequence number; any other batch that comes again byte for byte, after an attempt that failed, is a
retry of that attempt. A batch with a retriable error has no outcome until it is acknowledged, or until the session
ends: a client that gives up does not inform any broker. Records of a transaction have their outcome when the
transaction ends.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.checker.anomalies.definitions import ProducerSettings
from cluster_model.checker.anomalies.operations import COMMITTED, WIRE
from cluster_model.clients.consumer.fetcher import by_append_time, visible_ranges
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.log.batch_store import BatchStore
from cluster_model.protocol.errors import AMBIGUOUS_WITH_ACKS_ALL, PROVES_NOT_WRITTEN, RETRIABLE, KafkaError
from cluster_model.protocol.events import (
    Event,
    OffsetsCommitted,
    ProduceRefused,
    ProduceRetried,
    RecordsAborted,
    RecordsAcked,
    RecordsFailed,
    RecordsRead,
    RecordsSent,
    RecordsUnknown,
)
from cluster_model.protocol.group_messages import (
    JOIN,
    ConsumerGroupHeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
)
from cluster_model.protocol.messages import (
    ALL,
    FetchData,
    FetchRequest,
    FetchResponse,
    InitProducerIdRequest,
    ProduceRequest,
    ProduceResponse,
)
from cluster_model.protocol.records import PLAIN, readable
from cluster_model.protocol.transaction_messages import FIRST_IMPLICIT, AddPartitionsToTxnRequest, EndTxnRequest

REMEMBERED: Final = 5
"""Number of acknowledged batches per producer and partition that are recognised when repeated, as at a leader."""
GIVEN_UP: Final = "never acknowledged"
"""Error of records without an outcome at the end of the session if no broker rejected them."""
_CRC: Final = slice(17, 21)
"""Position of the CRC in a record batch."""

Mark = tuple[Any, ...]
"""Identity of a batch, by which a retry is recognised."""


class ProduceAttempt(NamedTuple):
    """A client's numbered batch; ``written``: some attempt at it may have reached a log."""

    client: str
    partition: str
    first: int
    records: int
    acks: int
    sent_at: int
    producer_id: int
    mark: Mark
    written: bool = False
    error: str = GIVEN_UP


class ProduceTracker:
    """Tracker of the batches that external clients produce, from request to outcome."""

    __slots__ = ("_acked", "_committing", "_emit", "_in_flight", "_next", "_open", "_retriable")

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._next: dict[tuple[str, str], int] = {}
        """(client, partition) → number of its next record."""
        self._in_flight: dict[int, tuple[int, ProduceAttempt]] = {}
        """Correlation token of a request in flight → (broker, batch)."""
        self._retriable: dict[tuple[str, str, Mark], ProduceAttempt] = {}
        """Batches with a retriable error that wait for another attempt."""
        self._acked: dict[tuple[str, str], tuple[tuple[Mark, int], ...]] = {}
        """(client, partition) → its last acknowledged idempotent batches: (mark, first number)."""
        self._open: dict[int, tuple[RecordsAcked, ...]] = {}
        """Producer id → acknowledged batches of its open transaction."""
        self._committing: dict[int, bool] = {}
        """Producer ids with an EndTxn (commit) request in flight."""

    def sent(self, now: int, token: int, broker: int, request: ProduceRequest) -> ProduceRequest:
        """Record a produce request; returns it with the record number that the model uses."""
        client, partition = key = request.client, request.partition
        idempotent = request.producer_id >= 0
        mark: Mark = (
            (request.producer_id, request.producer_epoch, request.sequence)
            if idempotent
            else (request.payload[_CRC], request.records, request.size)
        )
        attempt = self._retriable.pop((client, partition, mark), None)
        acked_at = next((first for other, first in self._acked.get(key, ()) if other == mark), -1)
        count, acks = request.records, request.acks
        if attempt is None and acked_at < 0:
            first = self._next.get(key, 0)
            self._next[key] = first + count
            attempt = ProduceAttempt(client, partition, first, count, acks, now, request.producer_id, mark)
            self._emit(RecordsSent(now, client, partition, first, count, acks))
        else:
            attempt = attempt or ProduceAttempt(
                client, partition, acked_at, count, acks, now, request.producer_id, mark
            )
            self._emit(ProduceRetried(now, client, partition, broker, attempt.first, count))
        if acks:
            self._in_flight[token] = (broker, attempt)
        else:
            self._emit(RecordsAcked(now, client, partition, attempt.first, count, 0, broker, -1, -1, 0, -1))
        origin = attempt.first - request.sequence if idempotent else 0
        return request._replace(correlation_id=token, sequence=attempt.first, origin=origin)

    def on_response(self, now: int, broker: int, response: ProduceResponse) -> None:
        """Record a broker's produce response."""
        _broker, attempt = self._in_flight.pop(response.correlation_id, (broker, None))
        if attempt is None:
            return
        if response.error and response.error != KafkaError.DUPLICATE_SEQUENCE_NUMBER:
            self._rejected(now, broker, attempt, KafkaError(response.error))
            return
        key, mark = (attempt.client, attempt.partition), attempt.mark
        acked_batches = self._acked.get(key, ())
        if any(other == mark for other, _first in acked_batches):
            return
        if attempt.producer_id >= 0:
            self._acked[key] = (*acked_batches[1 - REMEMBERED :], (mark, attempt.first))
        event = RecordsAcked(
            now, attempt.client, attempt.partition, attempt.first, attempt.records, attempt.acks, broker,
            response.leader_epoch, response.log_offset, now - attempt.sent_at, response.epoch_branch,
        )  # fmt: skip
        if attempt.producer_id in self._open:
            self._open[attempt.producer_id] += (event,)
        else:
            self._emit(event)

    def _rejected(self, now: int, broker: int, attempt: ProduceAttempt, error: KafkaError) -> None:
        may_be_written = error not in PROVES_NOT_WRITTEN and (
            error not in AMBIGUOUS_WITH_ACKS_ALL or attempt.acks == ALL
        )
        attempt = attempt._replace(written=attempt.written or may_be_written, error=error.name)
        client, partition, first, count, acks = attempt[:5]
        self._emit(ProduceRefused(now, client, partition, broker, acks, error.name, first, count))
        if error in RETRIABLE:
            self._retriable[client, partition, attempt.mark] = attempt
        else:
            self._finish(now, attempt)

    def _finish(self, now: int, attempt: ProduceAttempt) -> None:
        event: type[RecordsUnknown] | type[RecordsFailed] = RecordsUnknown if attempt.written else RecordsFailed
        client, partition, first, count, acks, sent_at = attempt[:6]
        self._emit(event(now, client, partition, first, count, acks, attempt.error, now - sent_at))

    def unanswered(self, now: int, token: int) -> None:
        """Record that no response will come: the connection broke, or the client closed it."""
        entry = self._in_flight.pop(token, None)
        if entry is not None:
            self._rejected(now, entry[0], entry[1], KafkaError.NETWORK_EXCEPTION)

    # -- transactions -----------------------------------------------------------------------------------------------

    def begin_transaction(self, producer_id: int) -> None:
        """Record that a transaction has partitions: the outcome of later writes is known when it ends."""
        self._open.setdefault(producer_id, ())

    def commits(self, producer_id: int) -> None:
        """Record an EndTxn (commit) request: until its response comes the transaction may be committed or not."""
        if producer_id in self._open:
            self._committing[producer_id] = True

    def transaction_ended(self, now: int, producer_id: int, *, committed: bool) -> None:
        """Record the outcome of a transaction."""
        self._committing.pop(producer_id, None)
        for each in self._open.pop(producer_id, ()):
            at_us, *identity, latency_us, branch = each.values()
            fields = (now, *identity, latency_us + now - at_us, branch)
            self._emit(RecordsAcked(*fields) if committed else RecordsAborted(*fields))

    def begun_anew(self, now: int, producer_id: int) -> None:
        """Record that a new process has taken the producer id: its open transaction is aborted.

        If its commit was in flight, the outcome of its records is unknown.
        """
        if self._committing.pop(producer_id, False):
            self._left_open(now, self._open.pop(producer_id, ()))
        else:
            self.transaction_ended(now, producer_id, committed=False)

    def _left_open(self, now: int, written: tuple[RecordsAcked, ...]) -> None:
        for each in written:
            identity = (each.client, each.partition, each.sequence, each.count, each.acks)
            self._emit(RecordsUnknown(now, *identity, "transaction left open", each.latency_us))

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self, now: int) -> None:
        """End the session: pending records are unknown or failed."""
        for _broker, attempt in self._in_flight.values():
            self._finish(now, attempt._replace(written=True))
        for attempt in self._retriable.values():
            self._finish(now, attempt)
        for written in self._open.values():
            self._left_open(now, written)
        self._in_flight.clear()
        self._retriable.clear()
        self._open.clear()
        self._committing.clear()

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        tables = (self._next, self._in_flight, self._retriable, self._acked, self._open, self._committing)
        return tuple([tuple(table.items()) for table in tables])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._next, self._in_flight, self._retriable, self._acked, self._open, self._committing = map(dict, saved)


# Settings of external clients, inferred from their requests.
#
# External clients do not publish their configuration. A producer's settings are visible in its requests, and the
# weakest that it ever used is the guarantee it has. A reader chooses its own positions, whatever group it is in.


IN_FLIGHT: Final = 5
"""Highest number of requests in flight that any client may have."""

ProduceTerms = tuple[int, int, bool]
"""(acks, producer id, whether the batch was part of a transaction)."""


class ExternalClientSettings:
    """Inferred settings of all external clients."""

    __slots__ = ("_last", "producers", "readers", "transactional_ids")

    def __init__(self) -> None:
        self.producers: dict[str, ProducerSettings] = {}
        self.readers: dict[str, str] = {}
        self.transactional_ids: dict[str, str] = {}
        """Client → the transactional id of its last InitProducerId request."""
        self._last: dict[str, ProduceTerms] = {}

    def wrote(self, request: ProduceRequest) -> None:
        """Update a producer's settings from a produce request."""
        client = request.client
        terms = (request.acks, request.producer_id, request.kind != PLAIN)
        last = self._last.get(client)
        if terms == last:
            return
        self._last[client] = terms
        acks, producer_id, transactional = terms
        earlier = self.producers.get(client)
        inferred = ProducerSettings(acks, producer_id >= 0, 1, IN_FLIGHT, transactional)
        if earlier is not None and last is not None:
            inferred = ProducerSettings(
                max(acks, earlier.acks) if ALL in (acks, earlier.acks) else min(acks, earlier.acks),
                inferred.idempotent and earlier.idempotent, 1, IN_FLIGHT, transactional or earlier.transactional,
                earlier.resends or last[1] != producer_id,
            )  # fmt: skip
        self.producers[client] = inferred

    def on_init_producer_id(self, client: str, transactional_id: str) -> None:
        """Record a client's InitProducerId request."""
        if transactional_id:
            self.transactional_ids[client] = transactional_id

    def reads(self, client: str, *, committed_only: bool) -> None:
        """Record that a client fetches."""
        if self.readers.get(client) != WIRE:
            self.readers[client] = f"{WIRE} {COMMITTED}" if committed_only else WIRE

    @property
    def _tables(self) -> tuple[dict[str, Any], ...]:
        return (self.producers, self.readers, self.transactional_ids, self._last)

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return tuple([tuple(table.items()) for table in self._tables])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`; the tables stay the same objects, as other modules hold them."""
        for table, rows in zip(self._tables, saved or ((),) * len(self._tables), strict=True):
            table.clear()
            table.update(rows)


# Records fetched by external clients: a record that was sent to a client counts as read.


def reads(
    now: int, client: str, group: str, broker: int, data: FetchData, epoch_branches: Mapping[str, BatchStore]
) -> Iterator[RecordsRead]:
    """Yield the records of a fetch response for one partition, by log branch, without markers and aborted records.

    A response holds whole batches: records before the fetch offset are not counted.
    """
    branches = epoch_branches[data.partition]
    records = readable(data.records, checks=True)
    for start, end in visible_ranges(branches, records, data.aborted):
        for index, (first, branch) in enumerate(records.extents):
            low = max(first, start)
            high = min(records.extents[index + 1][0] if index + 1 < len(records.extents) else end, end)
            if low >= high:
                continue
            for begin, until, count, appended_us in by_append_time(branches.by_id[branch], records, low, high):
                latency_us = now - appended_us
                yield RecordsRead(
                    now,
                    client,
                    group,
                    data.partition,
                    broker,
                    data.leader_epoch,
                    begin,
                    count,
                    latency_us,
                    branch,
                    until,
                )


# Node of all external clients: real clients whose requests a gateway passes on.
#
# It is a process like any other: its links can be cut, slowed and disturbed, its connections break when a broker dies,
# and while it is paused its requests wait. Its links have no latency of their own, because its clients' sockets have.
# It sends the requests that the gateway passes to it and records the responses.
#
# The process does not exist before :meth:`ExternalClients.open`: a cluster without external clients has none.


EXTERNAL_CLIENTS: Final = 20_000
"""Node id of the external clients' process, apart from all others."""
NAME: Final = "outside"
COMMIT: Final = "wire"
"""Kind of an offset commit by an external client, whose reason is unknown."""

PendingRequest = tuple[int, str, Any]
"""(broker, client, request)."""


class ExternalClients:
    """The external clients' node; requests are numbered by tokens, which are their correlation ids."""

    __slots__ = (
        "_emit", "_epoch_branches", "_groups", "_network", "_pending", "_port", "_token", "_writing", "is_open",
        "on_answer", "on_broken", "settings",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        network: Network,
        emit: Callable[[Event], None],
        epoch_branches: Mapping[str, BatchStore],
    ) -> None:
        """Create the node without adding it to the network; ``emit`` takes events."""
        self._port = port
        self._network = network
        self._emit = emit
        self._epoch_branches = epoch_branches
        self._token = 0
        self._pending: dict[int, PendingRequest] = {}
        """Token → request without a response."""
        self._groups: dict[str, str] = {}
        """Client → the group that it last joined."""
        self._writing = ProduceTracker(emit)
        self.settings = ExternalClientSettings()
        self.is_open = False
        self.on_answer: Callable[[int, Any], None] = _ignore_response
        """Called with a token and the response; also with an unexpected one: a failed acks=0 request."""
        self.on_broken: Callable[[int], None] = _ignore_disconnect
        """Called with a broker to which all connections broke."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the groups that external clients have joined, each once."""
        return tuple(dict.fromkeys(self._groups.values()))

    def open(self) -> None:
        """Add the process to the network if it is not there yet."""
        if not self.is_open:
            self.is_open = True
            self._network.add(EXTERNAL_CLIENTS, NAME, self)
            self._network.processes[EXTERNAL_CLIENTS].near = True

    def send_request(self, broker: int, client: str, request: Any) -> int:
        """Send a request in a client's name; returns the token that the response will have."""
        self.open()
        self._token = token = self._token + 1
        now = self._port.now
        if isinstance(request, ProduceRequest):
            self.settings.wrote(request)
            if request.kind != PLAIN and request.version >= FIRST_IMPLICIT:
                self._writing.begin_transaction(request.producer_id)
            message: Any = self._writing.sent(now, token, broker, request)
            if not request.acks:
                self._port.send(broker, message)
                return token
        else:
            message = request._replace(correlation_id=token)
            if isinstance(request, FetchRequest):
                self.settings.reads(client, committed_only=bool(request.isolation))
            elif isinstance(request, JoinGroupRequest) or _joins(request):
                self._groups[client] = request.group_id
            elif isinstance(request, InitProducerIdRequest):
                self.settings.on_init_producer_id(client, request.transactional_id or "")
            elif isinstance(request, AddPartitionsToTxnRequest):
                self._writing.begin_transaction(request.producer_id)
            elif isinstance(request, EndTxnRequest) and request.committed:
                self._writing.commits(request.producer_id)
        kept = request._replace(payload=b"") if isinstance(request, ProduceRequest) else request
        self._pending[token] = (broker, client, kept)
        self._port.send(broker, message)
        return token

    def drop(self, tokens: Iterable[int]) -> None:
        """Discard requests of a disconnected client, whose responses nothing awaits."""
        for token in tokens:
            if self._pending.pop(token, None) is not None:
                self._writing.unanswered(self._port.now, token)

    def receive(self, source: int, message: Any) -> None:
        """Handle a response; one that nothing waits for is ignored, unless it makes the broker close the connection."""
        token = message.correlation_id
        pending = self._pending.pop(token, None)
        if pending is not None:
            self._record(source, pending, message)
            self.on_answer(token, message)
        elif isinstance(message, ProduceResponse) and message.error:
            self.on_answer(token, message)

    def _record(self, source: int, pending: PendingRequest, message: Any) -> None:
        _broker, client, request = pending
        now = self._port.now
        if isinstance(message, ProduceResponse):
            self._writing.on_response(now, source, message)
        elif isinstance(message, FetchResponse):
            group = self._groups.get(client, client)
            for data in message.partitions:
                for event in (
                    reads(now, client, group, source, data, self._epoch_branches) if data.records.extents else ()
                ):
                    self._emit(event)
        elif isinstance(message, OffsetCommitResponse) and isinstance(request, OffsetCommitRequest):
            for each, (_partition, error) in zip(request.offsets, message.partitions, strict=False):
                if not error:
                    commit = (client, request.group_id, each.partition, each.offset, COMMIT)
                    self._emit(OffsetsCommitted(now, *commit))
        elif isinstance(request, InitProducerIdRequest) and request.transactional_id and not message.error:
            self._writing.begun_anew(now, message.producer_id)
        elif isinstance(request, EndTxnRequest) and not message.error:
            self._writing.transaction_ended(now, request.producer_id, committed=request.committed)

    def on_timer(self, _timer: Payload) -> None:
        """Do nothing: there are no timers."""

    def on_disconnect(self, peer: int) -> None:
        """Handle the loss of a broker, and of every client's connection to it."""
        self.drop([token for token, (broker, _client, _request) in self._pending.items() if broker == peer])
        self.on_broken(peer)

    def close(self) -> None:
        """End the session and complete the record of outcomes."""
        self._pending.clear()
        self._writing.close(self._port.now)

    def save(self) -> tuple[Any, ...]:
        """Return all state; empty if no external client ever connected."""
        if not self.is_open:
            return ()
        pending, groups = tuple(self._pending.items()), tuple(self._groups.items())
        return (self._token, pending, groups, self._writing.save(), self.settings.save())

    def prepare(self, saved: tuple[Any, ...]) -> None:
        """Add or remove the process, as in a keyframe, before the network's state is loaded."""
        if saved:
            self.open()
        elif self.is_open:
            self.is_open = False
            del self._network.processes[EXTERNAL_CLIENTS]

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`, after :meth:`prepare`."""
        self._token, pending, groups, writing, manners = saved or (0, (), (), ((),) * 6, ())
        self._pending, self._groups = dict(pending), dict(groups)
        self._writing.load(writing)
        self.settings.load(manners)


def _joins(request: Any) -> bool:
    return isinstance(request, ConsumerGroupHeartbeatRequest) and request.member_epoch == JOIN


def _ignore_response(_token: int, _answer: Any) -> None:
    """Ignore a response: in a replay there are no external clients."""


def _ignore_disconnect(_broker: int) -> None:
    """Ignore a broken connection: in a replay there are no external clients."""
