"""Transaction markers: sent by the coordinator, written by partition leaders (``TxnMarkerChannelManager``).

Markers are sent after the producer has its response, and until all are written: leaders are looked up again for those
that could not be delivered. Only a newer coordinator, or a newer epoch of the producer, ends the delivery.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from cluster_model.broker.hosted_coordinators import CoordinatorHost
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import ALL, NO_LEADER, ProduceRequest
from cluster_model.protocol.records import ABORT, COMMIT
from cluster_model.protocol.transaction_messages import TxnMarker, WriteTxnMarkersRequest, WriteTxnMarkersResponse
from cluster_model.spec.cluster_spec import TRANSACTIONS

AGAIN: Final = "markers"
RETRY_US: Final = 100_000
"""Pause before undelivered markers are retried. Kafka's sender retries as fast as its connections allow."""

_FENCED: Final = (KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.TRANSACTION_COORDINATOR_FENCED)


class MarkersInProgress(NamedTuple):
    """Markers of one id's transaction; ``left`` are the partitions that have not confirmed theirs."""

    marker: TxnMarker
    left: tuple[str, ...]


class _Flight(NamedTuple):
    id: str
    broker: int
    marker: TxnMarker
    deadline: int


class MarkerSender:
    """Markers that one coordinator has to deliver, by transactional id (``TxnMarkerChannelManager``)."""

    __slots__ = (
        "_asks_versions", "_correlation", "_done", "_flights", "_hosted", "_local", "_old_cancel", "_port",
        "_storage_cancels", "_timeout_us", "_timer", "_version", "sending",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        hosted: CoordinatorHost,
        timeout_us: int,
        done: Callable[[str], None],
        local: Callable[[WriteTxnMarkersRequest], None],
        *,
        old_cancel: bool = False,
        storage_cancels: bool = False,
        version: int = 1,
        asks_versions: bool = False,
    ) -> None:
        """``done`` is called when all markers of an id are written; ``local`` takes requests for this broker itself.

        ``old_cancel``: an outcome from an earlier leadership cancels the markers of this one (KAFKA-16352).
        ``storage_cancels``: markers are never sent again after KAFKA_STORAGE_ERROR (KAFKA-9749).
        ``version`` is the newest version of WriteTxnMarkers of this release, which every leader gets unless the sender
        ``asks_versions`` (KAFKA-20322).
        """
        self._port = port
        self._hosted = hosted
        self._timeout_us = timeout_us
        self._done = done
        self._local = local
        self._old_cancel = old_cancel
        self._storage_cancels = storage_cancels
        self._version = version
        self._asks_versions = asks_versions
        self.sending: dict[str, MarkersInProgress] = {}
        self._flights: dict[int, _Flight] = {}
        self._correlation = 0
        self._timer = DeadlineTimer(port, AGAIN)

    def begin(self, transactional_id: str, marker: TxnMarker) -> None:
        """Deliver a marker to its partitions (``addTxnMarkersToSend``)."""
        self.sending[transactional_id] = MarkersInProgress(marker, marker.partitions)
        self._send(transactional_id)

    def unconfirmed(self, transactional_id: str) -> tuple[str, ...]:
        """Return the partitions that have not confirmed an id's marker."""
        sending = self.sending.get(transactional_id)
        return () if sending is None else sending.left

    def is_in_flight(self, correlation_id: int) -> bool:
        """Whether a request waits for its response."""
        return correlation_id in self._flights

    def forget(self, ids: Iterable[str]) -> None:
        """Stop delivering markers of ids that have another coordinator now."""
        for transactional_id in ids:
            self.sending.pop(transactional_id, None)

    def _send(self, transactional_id: str) -> None:
        """Send markers that are neither confirmed nor in flight; a deleted partition needs no marker."""
        sending = self.sending[transactional_id]
        states = self._hosted.states
        left = tuple([partition for partition in sending.left if partition in states])
        sending = self.sending[transactional_id] = sending._replace(left=left)
        if not left:
            del self.sending[transactional_id]
            self._done(transactional_id)
            return
        in_flight = [
            partition
            for flight in self._flights.values()
            if flight.id == transactional_id and _is_same(flight.marker, sending.marker)
            for partition in flight.marker.partitions
        ]
        by_broker: dict[int, list[str]] = {}
        for partition in left:
            if partition not in in_flight:
                by_broker.setdefault(states[partition].leader, []).append(partition)
        for broker, partitions in by_broker.items():
            if broker == NO_LEADER or broker not in self._hosted.metadata.live:
                self._timer.arm(self._port.now + RETRY_US)
            else:
                self._send_request(transactional_id, broker, sending.marker._replace(partitions=tuple(partitions)))

    def _send_request(self, transactional_id: str, broker: int, marker: TxnMarker) -> None:
        self._correlation += 1
        deadline = self._port.now + self._timeout_us
        self._flights[self._correlation] = _Flight(transactional_id, broker, marker, deadline)
        request = WriteTxnMarkersRequest(self._correlation, marker, self._version, is_fixed=not self._asks_versions)
        if broker == self._port.node_id:
            self._local(request)
        else:
            self._timer.arm(deadline)
            self._port.send(broker, request)

    def on_response(self, _source: int, response: WriteTxnMarkersResponse) -> None:
        """Handle a leader's response about its partitions (``TransactionMarkerRequestCompletionHandler``)."""
        flight = self._flights.pop(response.correlation_id, None)
        if flight is None:
            return
        sending = self.sending.get(flight.id)
        if sending is None or not _is_same(sending.marker, flight.marker):
            self._outdated(flight)
            return
        errors = dict(response.partitions)
        fails = self._storage_cancels and KafkaError.KAFKA_STORAGE_ERROR in errors.values()
        if fails or any(error in _FENCED for error in errors.values()):
            del self.sending[flight.id]
            return
        left = tuple([partition for partition in sending.left if errors.get(partition, 1)])
        self.sending[flight.id] = sending._replace(left=left)
        if not left:
            del self.sending[flight.id]
            self._done(flight.id)
        elif any(errors.values()):
            self._timer.arm(self._port.now + RETRY_US)

    def _outdated(self, flight: _Flight) -> None:
        """Handle the outcome of markers that are not the current ones (``removeMarkersForTxnId``).

        Before KAFKA-16352 a change of the coordinator epoch cancels whatever is pending for the transactional id. The
        transaction is then never completed by this coordinator.
        """
        sending = self.sending.get(flight.id)
        if (
            self._old_cancel
            and sending is not None
            and sending.marker.coordinator_epoch != flight.marker.coordinator_epoch
        ):
            del self.sending[flight.id]

    def on_disconnect(self, peer: int) -> None:
        """The connection to ``peer`` broke: markers in flight are sent again, to the leaders of that time."""
        lost = [number for number, flight in self._flights.items() if flight.broker == peer]
        for number in lost:
            self._outdated(self._flights.pop(number))
        if lost:
            self._timer.arm(self._port.now + RETRY_US)

    def on_timer(self) -> None:
        """Time out requests, and send undelivered markers again."""
        if not self._timer.take_expired():
            return
        self._time_out(self._port.now)
        for transactional_id in list(self.sending):
            self._send(transactional_id)
        remote = [flight.deadline for flight in self._flights.values() if flight.broker != self._port.node_id]
        if remote:
            self._timer.arm(min(remote))

    def _time_out(self, now: int) -> None:
        """Drop requests that timed out; a timeout closes the connection, and fails all requests over it."""
        late = {flight.broker: None for flight in self._flights.values() if flight.deadline <= now}
        for flight in self._flights.values():
            if flight.broker in late:
                self._outdated(flight)
        self._flights = {number: flight for number, flight in self._flights.items() if flight.broker not in late}
        for broker in late:
            if broker != self._port.node_id:
                self._port.abandon(broker)

    def stopped(self) -> None:
        """The process died."""
        self.sending.clear()
        self._flights.clear()
        self._timer.forget()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (tuple(self.sending.items()), tuple(self._flights.items()), self._correlation, self._timer.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        sending, flights, self._correlation, timer = saved
        self.sending, self._flights = dict(sending), dict(flights)
        self._timer.load(timer)


def _is_same(marker: TxnMarker, other: TxnMarker) -> bool:
    """Whether two markers end the same transaction, in any partitions."""
    return marker._replace(partitions=()) == other._replace(partitions=())


# WriteTxnMarkers at a partition's leader: markers are appended like any batch with acks=all (``KafkaApis``).


MARKER_BYTES: Final = 78
"""Size of a batch of one control record: 61 bytes of header, a key of 4, a value of 6, and their framing."""


class _PendingMarker(NamedTuple):
    source: int
    correlation_id: int
    marker: TxnMarker
    verdicts: tuple[tuple[str, int], ...] = ()


class MarkerWriter:
    """Markers that this broker writes for coordinators (``KafkaApis.handleWriteTxnMarkersRequest``)."""

    __slots__ = ("_answer", "_begins", "_hosted", "_next", "_number", "_pending", "_timeout_us", "_tokens", "written")

    def __init__(
        self,
        hosted: CoordinatorHost,
        timeout_us: int,
        next_token: Callable[[], int],
        answer: Callable[[int, WriteTxnMarkersResponse], None],
        begins: Callable[[str, int], None],
        written: Callable[[str, TxnMarker], None],
    ) -> None:
        """``begins`` is called before each marker is written, with partition and producer id.

        ``written`` is called when a marker is replicated: commits of offsets in the transaction become effective then.
        """
        self._hosted = hosted
        self._timeout_us = timeout_us
        self._next = next_token
        self._answer = answer
        self._begins = begins
        self.written = written
        self._pending: dict[int, _PendingMarker] = {}
        self._tokens: dict[int, tuple[int, str]] = {}
        """Token of an append → (request, partition)."""
        self._number = 0

    def write_markers(self, source: int, request: WriteTxnMarkersRequest) -> None:
        """Write the marker to every partition of the request; the response waits for all of them."""
        marker = request.marker
        self._number += 1
        number = self._number
        self._pending[number] = _PendingMarker(source, request.correlation_id, marker)
        for partition in marker.partitions:
            token = self._next()
            self._tokens[token] = (number, partition)
            batch = ProduceRequest(
                0, partition, ALL, self._timeout_us, TRANSACTIONS, marker.producer_id, -1, 1, MARKER_BYTES,
                producer_epoch=marker.producer_epoch, kind=COMMIT if marker.committed else ABORT,
                coordinator_epoch=marker.coordinator_epoch, transaction_version=marker.transaction_version,
            )  # fmt: skip
            self._begins(partition, marker.producer_id)
            self._hosted.submit(TRANSACTIONS, batch, token)

    def appended(self, token: int, error: KafkaError) -> bool:
        """Handle the result of an append; False if it is not one of these."""
        if token not in self._tokens:
            return False
        number, partition = self._tokens.pop(token)
        pending = self._pending[number]
        pending = self._pending[number] = pending._replace(verdicts=(*pending.verdicts, (partition, error)))
        if not error:
            self.written(partition, pending.marker)
        if len(pending.verdicts) == len(pending.marker.partitions):
            del self._pending[number]
            self._answer(pending.source, WriteTxnMarkersResponse(pending.correlation_id, pending.verdicts))
        return True

    def stopped(self) -> None:
        """The process died."""
        self._pending.clear()
        self._tokens.clear()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (tuple(self._pending.items()), tuple(self._tokens.items()), self._number)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        pending, tokens, self._number = saved
        self._pending, self._tokens = dict(pending), dict(tokens)
