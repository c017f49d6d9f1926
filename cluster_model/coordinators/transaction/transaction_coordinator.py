"""A broker's transaction coordinator (``TransactionCoordinator``, KIP-98), for its part of ``__transaction_state``.

It is hosted by its broker. Its decisions are in the log of that partition, so a new coordinator continues where its
predecessor stopped: a decided transaction gets its markers from any coordinator.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.broker.control_plane_client import Handlers
from cluster_model.broker.hosted_coordinators import CoordinatorHost, ProducerIdManager
from cluster_model.connections.process_connections import ProcessConnections
from cluster_model.coordinators.transaction.transaction_state_manager import (
    LOADED,
    NO_EPOCH,
    NO_ID,
    PREPARED,
    RETRY,
    PendingTransition,
    TransactionMetadata,
    TransactionStateManager,
    TransitMetadata,
    TxnState,
    TxnValue,
    WritePurpose,
)
from cluster_model.coordinators.transaction.transaction_verification import LIVENESS, TransactionVerifier
from cluster_model.coordinators.transaction.transaction_verification import Write as Checked
from cluster_model.coordinators.transaction.txn_markers import AGAIN, MarkerSender, MarkerWriter
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.config_defaults import EffectiveConfig
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import InitProducerIdRequest, InitProducerIdResponse
from cluster_model.protocol.transaction_messages import (
    FIRST_BUMPING,
    WITH_TRANSACTION_VERSION,
    ActiveProducer,
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    EndTxnRequest,
    EndTxnResponse,
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
    MarkerConnectionClosed,
    TxnMarker,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import OFFSETS, TRANSACTIONS, coordinator_partition

# Settings of a transaction coordinator in model units (``TransactionStateManagerConfig``).


VERIFICATION: Final = "transaction.partition.verification.enable"


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    """Settings of a transaction coordinator, with Kafka's defaults."""

    max_timeout_us: int
    expiration_us: int
    abort_check_us: int
    remove_check_us: int
    request_timeout_us: int
    verifies: bool
    """Whether leaders verify a transaction before its first write to a partition (KIP-890, 3.6)."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "TransactionConfig":
        """Return the settings of a profile; ``config`` overrides them by Kafka's names."""
        own = EffectiveConfig("broker", profile.number, config)
        can_be_off = own.exists(VERIFICATION)
        return TransactionConfig(
            max_timeout_us=own.us("transaction.max.timeout.ms"),
            expiration_us=own.us("transactional.id.expiration.ms"),
            abort_check_us=own.us("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
            remove_check_us=own.us("transaction.remove.expired.transaction.cleanup.interval.ms"),
            request_timeout_us=own.us("request.timeout.ms"),
            verifies=profile.verifies_transactions and (own.boolean(VERIFICATION) or not can_be_off),
        )


# Descriptions and lists of transactions and producers (KIP-664, 3.0). Coordinators describe transactional ids, the
# leader of a partition the producers that wrote to it. A hanging transaction is known only to the latter. ``error`` is
# a number of :class:`~cluster_model.protocol.errors.KafkaError`.


STATE_NAMES: Final = {
    TxnState.EMPTY: "Empty",
    TxnState.ONGOING: "Ongoing",
    TxnState.PREPARE_COMMIT: "PrepareCommit",
    TxnState.PREPARE_ABORT: "PrepareAbort",
    TxnState.COMPLETE_COMMIT: "CompleteCommit",
    TxnState.COMPLETE_ABORT: "CompleteAbort",
    TxnState.DEAD: "Dead",
    TxnState.PREPARE_EPOCH_FENCE: "PrepareEpochFence",
}
"""Names of states in the tools' output (``TransactionState``)."""


class TransactionDescriptions:
    """Handles requests for descriptions at one broker; it has no state of its own."""

    __slots__ = ("_hosted", "_left", "_port", "_profile", "_registry", "handlers")

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        hosted: CoordinatorHost,
        registry: TransactionStateManager,
        left: Callable[[str], tuple[str, ...]],
    ) -> None:
        """``left`` returns the partitions that have not confirmed an id's marker while it is being sent."""
        self._port = port
        self._profile = profile
        self._hosted = hosted
        self._registry = registry
        self._left = left
        self.handlers: Handlers = {
            ListTransactionsRequest: self._list,
            DescribeTransactionsRequest: self._describe,
            DescribeProducersRequest: self._producers,
        }

    def _list(self, source: int, request: ListTransactionsRequest) -> None:
        """List transactions (``listTransactionStates``); rejected during loading, when the list would be incomplete."""
        error = KafkaError.COORDINATOR_LOAD_IN_PROGRESS if self._registry.loading else KafkaError.NONE
        if not self._profile.transaction_tools:
            error = KafkaError.UNSUPPORTED_VERSION
        transactions: tuple[ListedTransaction, ...] = ()
        if not error:
            producer_ids = request.producer_ids
            transactions = tuple([
                ListedTransaction(known.id, known.value.producer_id, STATE_NAMES[known.state])
                for known in self._registry.ids.values()
                if not producer_ids or known.value.producer_id in producer_ids
            ])  # fmt: skip
        self._port.send(
            source, ListTransactionsResponse(request.correlation_id, error, self._port.node_id, transactions)
        )

    def _describe(self, source: int, request: DescribeTransactionsRequest) -> None:
        error = KafkaError.UNSUPPORTED_VERSION
        metadata = self._registry.ids.get(request.transactional_id)
        if self._profile.transaction_tools:
            error = self._registry.status(request.transactional_id)
        if not error and metadata is None:
            error = KafkaError.TRANSACTIONAL_ID_NOT_FOUND
        answer = DescribeTransactionsResponse(request.correlation_id, error, request.transactional_id)
        if not error and metadata is not None:
            value = metadata.value
            answer = answer._replace(
                producer_id=value.producer_id, producer_epoch=value.producer_epoch, state=STATE_NAMES[metadata.state],
                timeout_us=value.timeout_us, start_us=value.start_us, partitions=self._unmarked(metadata),
            )  # fmt: skip
        self._port.send(source, answer)

    def _unmarked(self, metadata: TransactionMetadata) -> tuple[str, ...]:
        """Partitions without a marker; each is removed with its marker (``TransactionMetadata.removePartition``)."""
        return self._left(metadata.id) if metadata.state in PREPARED else metadata.value.partitions

    def _producers(self, source: int, request: DescribeProducersRequest) -> None:
        partition = request.partition
        error, found = self._hosted.producers(partition)
        if not self._profile.describe_producers:
            error, found = KafkaError.UNSUPPORTED_VERSION, ()
        producers = tuple([ActiveProducer(*entry) for entry in found])
        self._port.send(source, DescribeProducersResponse(request.correlation_id, error, partition, producers))


TIMEOUTS: Final = "transaction timeouts"
EXPIRY: Final = "transactional id expiry"

NONE: Final = KafkaError.NONE


class TransactionCoordinator:
    """Transaction coordinator of one broker (``TransactionCoordinator``)."""

    __slots__ = (
        "_config", "_expiry", "_hosted", "_ids", "_marker_channel", "_marker_version", "_partitions", "_port",
        "_profile", "_since", "_timeouts", "handlers", "marking", "registry", "sender", "topic", "verifier",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        config: TransactionConfig,
        hosted: CoordinatorHost,
        partitions: Mapping[str, int],
        ids: ProducerIdManager,
        written: Callable[[str, TxnMarker], None],
        resume: Callable[[int, Checked, KafkaError], None],
        connections: ProcessConnections,
    ) -> None:
        """``partitions`` is the partition count of each internal topic; ``connections`` are those of the process.

        ``written``: see :class:`MarkerWriter`; ``resume``: see :class:`TransactionVerifier`.
        """
        self.topic = TRANSACTIONS
        self._port = port
        self._profile = profile
        self._config = config
        self._hosted = hosted
        self._partitions = partitions
        self._ids = ids
        self.registry = TransactionStateManager(
            port, hosted, partitions[TRANSACTIONS], self._written, start_never_falls=profile.start_time_never_falls
        )
        own = port.node_id
        verifying = connections.open(config.request_timeout_us, asks_versions=True)
        self.verifier = TransactionVerifier(
            verifying.client, hosted, partitions[TRANSACTIONS], config.request_timeout_us,
            lambda request: self._add_partitions(own, request), resume, v2=profile.transactions_v2,
            rejects_old=profile.rejects_old_epoch, checks_epoch=profile.checks_epoch_first,
        )  # fmt: skip
        new_token, marked = self.registry.new_token, self.verifier.marked
        self.marking = MarkerWriter(hosted, config.request_timeout_us, new_token, self._marked, marked, written)
        verifying.failed = self.verifier.on_disconnect
        self._marker_version = WITH_TRANSACTION_VERSION if profile.strict_markers else 1
        asks = profile.asks_marker_versions
        self._marker_channel = connections.open(config.request_timeout_us, asks_versions=asks)
        self.sender = MarkerSender(
            self._marker_channel.client, hosted, config.request_timeout_us, self._all_marked,
            lambda request: self.marking.write_markers(own, request), old_cancel=profile.old_markers_cancel,
            storage_cancels=profile.storage_errors_cancel, version=self._marker_version, asks_versions=asks,
        )  # fmt: skip
        self._marker_channel.failed = self.sender.on_disconnect
        self._since = 0
        """Time at which the process registered."""
        self._timeouts = DeadlineTimer(port, TIMEOUTS)
        self._expiry = DeadlineTimer(port, EXPIRY)
        self.handlers: Handlers = {
            InitProducerIdRequest: self._init,
            AddPartitionsToTxnRequest: self._add_partitions,
            AddPartitionsToTxnResponse: self.verifier.on_response,
            AddOffsetsToTxnRequest: self._add_offsets,
            EndTxnRequest: self._end,
            WriteTxnMarkersRequest: self._write_markers,
            WriteTxnMarkersResponse: self.sender.on_response,
            MarkerConnectionClosed: self._markers_refused,
            **TransactionDescriptions(port, profile, hosted, self.registry, self.sender.unconfirmed).handlers,
        }

    def _request_error(self, transactional_id: str) -> KafkaError:
        """Error of a request of an id before any check of the id, NONE if there is none."""
        if not self._profile.transactions:
            return KafkaError.UNSUPPORTED_VERSION
        if not transactional_id:
            return KafkaError.INVALID_REQUEST
        return self.registry.status(transactional_id)

    # -- InitProducerId ---------------------------------------------------------------------------------------------

    def _init(self, source: int, request: InitProducerIdRequest) -> None:
        transactional_id = request.transactional_id
        if transactional_id is None:
            self._ids.handle_init_producer_id(source, request)
            return
        error = self._request_error(transactional_id)
        if error in (NONE, KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS) and not (
            0 < request.timeout_us <= self._config.max_timeout_us
        ):
            error = KafkaError.INVALID_TRANSACTION_TIMEOUT
        if not error:
            error = self._initialize(source, request, transactional_id)
        if error:
            self._port.send(source, InitProducerIdResponse(request.correlation_id, error, NO_ID, NO_EPOCH))

    def _initialize(self, source: int, request: InitProducerIdRequest, transactional_id: str) -> KafkaError:
        """Initialise a producer (``prepareInitProducerIdTransit``); NONE: the response is sent later."""
        now = self._port.wall_now
        metadata = self.registry.ids.get(transactional_id)
        if metadata is None:
            producer_id = self._ids.generate()
            if producer_id < 0:
                return KafkaError.COORDINATOR_LOAD_IN_PROGRESS
            value = TxnValue(producer_id, NO_EPOCH, request.timeout_us, TxnState.EMPTY, last_update_us=now)
            metadata = self.registry.ids[transactional_id] = TransactionMetadata(transactional_id, value)
            self._schedule(self._expiry, self._config.remove_check_us)
        if metadata.pending is not None:
            return KafkaError.CONCURRENT_TRANSACTIONS
        expected = request.producer_id != NO_ID
        if expected and not metadata.knows(request.producer_id, request.producer_epoch):
            return KafkaError.PRODUCER_FENCED
        if metadata.state in PREPARED:
            return KafkaError.CONCURRENT_TRANSACTIONS
        if metadata.state is TxnState.ONGOING:
            self._abort_for(metadata, WritePurpose("fence", source, request.correlation_id))
            return NONE
        transit: TransitMetadata | None
        if metadata.exhausted:
            producer_id = self._ids.generate()
            if producer_id < 0:
                return KafkaError.COORDINATOR_LOAD_IN_PROGRESS
            transit = metadata.prepare_rotation(producer_id, request.timeout_us, now, expected=expected)
        else:
            transit = metadata.prepare_epoch(request.timeout_us, request.producer_epoch if expected else NO_EPOCH, now)
        if transit is None:
            return KafkaError.PRODUCER_FENCED
        self.registry.write(metadata, transit, WritePurpose("init", source, request.correlation_id))
        return NONE

    def _abort_for(self, metadata: TransactionMetadata, after: WritePurpose) -> None:
        """Abort an open transaction in place of its producer, with an epoch that fences the producer.

        In 4.0.0 the end raises the epoch once more, so it is two above that of the producer (KAFKA-19367).
        """
        fence = metadata.prepare_fence()
        is_v2 = self._profile.transactions_v2
        transit = metadata.prepare_end(
            committed=False, now=self._port.wall_now, fence=fence, bumps=is_v2 and self._profile.fences_twice,
            client_version=2 if self._profile.strict_markers and is_v2 else 0,
        )  # fmt: skip
        self.registry.write(metadata, transit, after)

    # -- partitions -------------------------------------------------------------------------------------------------

    def _add_partitions(self, source: int, request: AddPartitionsToTxnRequest) -> None:
        error = self._request_error(request.transactional_id)
        missing: tuple[str, ...] = ()
        if not error and request.verify_only:
            error, missing = self.registry.verify(
                request.transactional_id, request.producer_id, request.producer_epoch, request.partitions
            )
        elif not error and any(partition not in self._hosted.states for partition in request.partitions):
            error = KafkaError.UNKNOWN_TOPIC_OR_PARTITION
        elif not error:
            after = WritePurpose("add", source, request.correlation_id)
            if self._add(
                request.transactional_id, request.producer_id, request.producer_epoch, request.partitions, after
            ):
                return
            error = self._add_error(request.transactional_id, request.producer_id, request.producer_epoch)
        self._added(source, AddPartitionsToTxnResponse(request.correlation_id, error, missing))

    def _added(self, source: int, response: AddPartitionsToTxnResponse) -> None:
        if source == self._port.node_id:
            self.verifier.on_response(source, response)
        else:
            self._port.send(source, response)

    def _add_error(self, transactional_id: str, producer_id: int, epoch: int) -> KafkaError:
        metadata = self.registry.ids.get(transactional_id)
        return KafkaError.INVALID_PRODUCER_ID_MAPPING if metadata is None else metadata.check_add(producer_id, epoch)

    def _add(
        self, transactional_id: str, producer_id: int, epoch: int, partitions: tuple[str, ...], after: WritePurpose
    ) -> bool:
        """Add partitions to a transaction; False if rejected, or if they are in it already and nothing is written."""
        metadata = self.registry.ids.get(transactional_id)
        if metadata is None or metadata.check_add(producer_id, epoch):
            return False
        if metadata.state is TxnState.ONGOING and all(
            partition in metadata.value.partitions for partition in partitions
        ):
            return False
        self._schedule(self._timeouts, self._config.abort_check_us)
        transit = metadata.prepare_partitions(
            partitions, self._port.wall_now, keeps_previous=not self._profile.forgets_replaced_id
        )
        self.registry.write(metadata, transit, after)
        return True

    def _add_offsets(self, source: int, request: AddOffsetsToTxnRequest) -> None:
        error = self._request_error(request.transactional_id)
        if not error:
            # The topic's existence is not checked: it is created when the group's coordinator is looked up.
            partition = f"{OFFSETS}-{coordinator_partition(request.group_id, self._partitions[OFFSETS])}"
            after = WritePurpose("offsets", source, request.correlation_id)
            if self._add(request.transactional_id, request.producer_id, request.producer_epoch, (partition,), after):
                return
            error = self._add_error(request.transactional_id, request.producer_id, request.producer_epoch)
        self._port.send(source, AddOffsetsToTxnResponse(request.correlation_id, error))

    # -- end of a transaction ------------------------------------------------------------------------------------------

    def _end(self, source: int, request: EndTxnRequest) -> None:
        error = self._request_error(request.transactional_id)
        metadata = self.registry.ids.get(request.transactional_id)
        if not error and metadata is None:
            error = KafkaError.INVALID_PRODUCER_ID_MAPPING
        bumps = self._profile.transactions_v2 and request.version >= FIRST_BUMPING
        if not error and metadata is not None:
            error, done = metadata.may_end(
                request.producer_id, request.producer_epoch, committed=request.committed, bumps=bumps
            )
            if not error and not done:
                next_id = self._ids.generate() if bumps and metadata.exhausted else NO_ID
                transit = metadata.prepare_end(
                    committed=request.committed, now=self._port.wall_now, bumps=bumps, next_id=next_id,
                    keeps_previous=not self._profile.forgets_replaced_id,
                )  # fmt: skip
                after = WritePurpose("end", source, request.correlation_id, FIRST_BUMPING if bumps else 0)
                self.registry.write(metadata, transit, after)
                return
            if not error and bumps:
                value = metadata.value
                self._port.send(
                    source, EndTxnResponse(request.correlation_id, NONE, value.producer_id, value.producer_epoch)
                )
                return
        self._port.send(source, EndTxnResponse(request.correlation_id, error))

    def _written(self, write: PendingTransition, error: KafkaError, metadata: TransactionMetadata | None) -> None:
        """Handle the result of a write of a state change."""
        kind = write.after.kind
        if write.after.source >= 0:
            self._respond(write.transit.value, error, write.after)
        if kind == "fence" and error and metadata is not None:
            metadata.failed_fence = True
        elif kind in ("fence", "end") and not error and metadata is not None:
            self._mark(metadata)

    def _respond(self, value: TxnValue, error: KafkaError, after: WritePurpose) -> None:
        """Respond to the request that caused a state change."""
        kind, source, correlation_id, version = after
        if kind == "init":
            found = (NO_ID, NO_EPOCH) if error else (value.producer_id, value.producer_epoch)
            self._port.send(source, InitProducerIdResponse(correlation_id, error, *found))
        elif kind == "fence":
            response_error = error or KafkaError.CONCURRENT_TRANSACTIONS
            self._port.send(source, InitProducerIdResponse(correlation_id, response_error, NO_ID, NO_EPOCH))
        elif kind == "add":
            self._added(source, AddPartitionsToTxnResponse(correlation_id, error))
        elif kind == "offsets":
            self._port.send(source, AddOffsetsToTxnResponse(correlation_id, error))
        elif kind == "end":
            self._port.send(source, _ended(correlation_id, error, value, version))

    def _mark(self, metadata: TransactionMetadata) -> None:
        """Send the markers of a decided transaction to every partition; no request waits for them."""
        value = metadata.value
        committed = metadata.state is TxnState.PREPARE_COMMIT
        epoch = self.registry.epoch_of(metadata.id)
        version = value.client_version if self._profile.strict_markers else 0
        marker = TxnMarker(value.producer_id, value.producer_epoch, epoch, committed, value.partitions, version)
        metadata.prepare_complete(self._port.wall_now)  # written after the last marker; until then the id is locked
        self.sender.begin(metadata.id, marker)

    def _all_marked(self, transactional_id: str) -> None:
        """Write the completion of a transaction, all of whose markers are written (``maybeWriteTxnCompletion``)."""
        metadata = self.registry.ids.get(transactional_id)
        if metadata is not None and metadata.state in PREPARED:
            metadata.pending = None
            self.registry.write(metadata, metadata.prepare_complete(self._port.wall_now), WritePurpose("complete"))

    def _write_markers(self, source: int, request: WriteTxnMarkersRequest) -> None:
        """Write markers as the leader; at a version that it does not support, close the connection (``SocketServer``).

        ``parseRequestHeader`` throws UnsupportedVersionException, before there could be a response.
        """
        if request.is_fixed and request.version > self._marker_version:
            self._port.send(source, MarkerConnectionClosed(request.correlation_id))
        else:
            self.marking.write_markers(source, request)

    def _markers_refused(self, source: int, message: MarkerConnectionClosed) -> None:
        """Reconnect and send the unanswered markers again, to the current leaders."""
        if self.sender.is_in_flight(message.correlation_id):
            self._marker_channel.disconnected(source)

    def _marked(self, source: int, response: WriteTxnMarkersResponse) -> None:
        if source == self._port.node_id:
            self.sender.on_response(source, response)
        else:
            self._port.send(source, response)

    # -- coordinator lifecycle ---------------------------------------------------------------------------------------

    def started(self) -> None:
        """The process registered."""
        self._since = self._port.now

    def stopped(self) -> None:
        """The process died."""
        self.registry.stopped()
        self.sender.stopped()
        self.marking.stopped()
        self.verifier.stopped()
        self._timeouts.forget()
        self._expiry.forget()

    def _schedule(self, timer: DeadlineTimer, period: int) -> None:
        """Schedule the next run of a periodic check; it is not scheduled when there is nothing to check."""
        timer.arm(self._since + ((self._port.now - self._since) // period + 1) * period)

    def on_timer(self, timer: Payload) -> bool:
        """Handle a timer: a loaded partition, a retry, or a periodic check."""
        if timer[0] == LOADED:
            self._loaded(self.registry.read(timer[1], timer[2]))
        elif timer[0] == RETRY:
            self.registry.retry(timer[1])
        elif timer[0] == AGAIN:
            self.sender.on_timer()
        elif timer[0] == LIVENESS:
            self.verifier.on_timer()
        elif timer[0] == TIMEOUTS:
            self._abort_timed_out()
        elif timer[0] == EXPIRY:
            self._expire()
        else:
            return False
        return True

    def _loaded(self, loaded: list[TransactionMetadata]) -> None:
        if loaded:
            self._schedule(self._timeouts, self._config.abort_check_us)
            self._schedule(self._expiry, self._config.remove_check_us)
        for metadata in loaded:
            if metadata.state in PREPARED:
                self._mark(metadata)

    def _abort_timed_out(self) -> None:
        if not self._timeouts.take_expired():
            return
        for metadata in list(self.registry.ids.values()):
            if metadata.timed_out(self._port.wall_now):
                self._abort_timed_out_transaction(metadata)
        if any(metadata.state is TxnState.ONGOING for metadata in self.registry.ids.values()):
            self._schedule(self._timeouts, self._config.abort_check_us)

    def _abort_timed_out_transaction(self, metadata: TransactionMetadata) -> None:
        """Abort a transaction that is open for too long; up to 0.11.0.1 its producer is not fenced (KAFKA-6119)."""
        if self._profile.keeps_epoch_at_timeout:
            transit = metadata.prepare_end(committed=False, now=self._port.wall_now)
            self.registry.write(metadata, transit, WritePurpose("end"))
        else:
            self._abort_for(metadata, WritePurpose("fence"))

    def _expire(self) -> None:
        if not self._expiry.take_expired():
            return
        ids = self.registry.ids.values()
        self.registry.remove([known for known in ids if known.expired(self._port.wall_now, self._config.expiration_us)])
        if self.registry.ids:
            self._schedule(self._expiry, self._config.remove_check_us)

    def on_disconnect(self, peer: int) -> None:
        """Does nothing: its connections are the broker's, which notify their users themselves."""

    def leads(self, partition: str, leader_epoch: int) -> None:
        """The broker became leader of a partition of ``__transaction_state``: a new coordinator in each epoch."""
        number = _index(partition)
        before = [name for name in self.registry.ids if self.registry.partition_of(name) == number]
        if self.registry.leads(number, leader_epoch):
            self.sender.forget(before)

    def resigned(self, partition: str) -> None:
        """The broker lost the leadership of a partition of ``__transaction_state``."""
        number = _index(partition)
        self.sender.forget([name for name in self.registry.ids if self.registry.partition_of(name) == number])
        self.registry.resigned(number)

    def deleted(self, partition: str) -> None:
        """Do nothing: the markers of a deleted partition are dropped at their next send."""

    def appended(self, token: int, error: KafkaError, base: int) -> None:
        """Handle the result of a write."""
        if not self.registry.appended(token, error):
            self.marking.appended(token, error)

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            self.registry.save(), self.sender.save(), self.marking.save(), self._since, self._timeouts.save(),
            self._expiry.save(), self.verifier.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        registry, sender, marking, self._since, timeouts, expiry, verifier = saved
        self.verifier.load(verifier)
        self.registry.load(registry)
        self.sender.load(sender)
        self.marking.load(marking)
        self._timeouts.load(timeouts)
        self._expiry.load(expiry)


def _ended(correlation_id: int, error: KafkaError, value: TxnValue, version: int) -> EndTxnResponse:
    if error or version < FIRST_BUMPING:
        return EndTxnResponse(correlation_id, error)
    if value.next_producer_id != NO_ID:
        return EndTxnResponse(correlation_id, error, value.next_producer_id, 0)
    return EndTxnResponse(correlation_id, error, value.producer_id, value.producer_epoch)


def _index(partition: str) -> int:
    return int(partition.rpartition("-")[2])
