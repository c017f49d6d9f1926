"""The controller in a quorum member (``QuorumController``): its events, admin requests and settings.

Events run one at a time. Each is decided on the controller's own image, which also holds uncommitted records; its
records are appended to the log, and the response is sent once they are committed. On loss of leadership all outstanding
requests fail with NOT_CONTROLLER, and the image reverts to the committed one. Broker sessions exist only in the memory
of the active controller.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.broker.control_plane_client import Handlers
from cluster_model.controller.kraft.cluster_control_manager import (
    NEVER,
    BrokerHeartbeatManager,
    ClusterControlManager,
)
from cluster_model.controller.kraft.feature_control_manager import FeatureControlManager
from cluster_model.controller.kraft.messages import (
    AlterPartitionBatchRequest,
    AlterPartitionBatchResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from cluster_model.controller.kraft.metadata import InitialImage, MetadataImage, Record
from cluster_model.controller.kraft.replication_control_manager import (
    ConfigurationControlManager,
    ReassignmentControlManager,
    ReplicationControlManager,
    TopicControlManager,
    UnexpectedServerError,
)
from cluster_model.controller.raft.raft_client import MetadataLog
from cluster_model.controller.rules.replica_placement import Draw
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.admin_messages import (
    AdminRequest,
    AdminResponse,
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeQuorumRequest,
    ElectLeadersRequest,
    EnvelopeRequest,
    EnvelopeResponse,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    UpdateFeaturesRequest,
    refusal,
)
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import ControllerSettings
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.protocol.versions import Profile

# Requests of administrators to the active controller (``ControllerApis``): each yields records and one response.


REQUESTS: Final[tuple[type[Any], ...]] = (
    CreateTopicsRequest, DeleteTopicsRequest, CreatePartitionsRequest, AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest, ElectLeadersRequest, IncrementalAlterConfigsRequest, UnregisterBrokerRequest,
    UpdateFeaturesRequest, DescribeQuorumRequest,
)  # fmt: skip
"""Requests that an administrator can send to a controller directly (KIP-919); brokers forward them in an envelope."""


MOST_RECORDS: Final = 10_000
"""Most records of one request (``QuorumController.MAX_RECORDS_PER_USER_OP``)."""


class ControllerApis:
    """Decides about admin requests, from the image of one controller."""

    __slots__ = ("_bounds_operations", "_cluster", "_configs", "_features", "_partitions", "_topics")

    REQUESTS: Final = (*REQUESTS, EnvelopeRequest)

    def __init__(
        self,
        image: MetadataImage,
        profile: Profile,
        replication: ReplicationControlManager,
        cluster: ClusterControlManager,
        features: FeatureControlManager,
        defaults: Mapping[str, ConfigValue],
        draw: Callable[[str], Draw],
    ) -> None:
        self._bounds_operations = profile.bounds_operations
        self._cluster = cluster
        self._features = features
        self._topics = TopicControlManager(image, profile, draw, defaults)
        self._configs = ConfigurationControlManager(image, profile)
        self._partitions = ReassignmentControlManager(image, profile, replication)

    def handle(self, request: AdminRequest, end: int) -> tuple[list[Record], AdminResponse]:
        """Decide about a request; no records if it is to be validated only. ``end``: offset of the next record."""
        records, response = self._handle(request, end)
        if len(records) > MOST_RECORDS and not isinstance(request, ElectLeadersRequest):
            # Up to 3.4 they did not fit into an atomic batch, which the controller did not expect (KAFKA-14996).
            if not self._bounds_operations:
                raise UnexpectedServerError
            message = f"The request needs {len(records)} records, and at most {MOST_RECORDS} are allowed."
            return [], refusal(request, KafkaError.POLICY_VIOLATION, message)
        if getattr(request, "validate_only", False):
            records = []
        return records, response

    def _handle(self, request: AdminRequest, end: int) -> tuple[list[Record], AdminResponse]:
        if isinstance(request, CreateTopicsRequest):
            return self._topics.create(request, end)
        if isinstance(request, DeleteTopicsRequest):
            return self._topics.delete(request)
        if isinstance(request, CreatePartitionsRequest):
            return self._topics.add_partitions(request)
        if isinstance(request, AlterPartitionReassignmentsRequest):
            return self._partitions.reassign(request)
        if isinstance(request, ListPartitionReassignmentsRequest):
            return [], self._partitions.list_reassignments(request)
        if isinstance(request, ElectLeadersRequest):
            return self._partitions.elect(request)
        if isinstance(request, IncrementalAlterConfigsRequest):
            return self._configs.alter(request)
        if isinstance(request, UpdateFeaturesRequest):
            return self._features.update(request)
        error, records = self._cluster.unregister(request.broker)
        return records, UnregisterBrokerResponse(request.correlation_id, error)


def _enveloped(request: Any, response: Any) -> Any:
    """Return a response, in an envelope if its request came in one."""
    if isinstance(request, EnvelopeRequest):
        return EnvelopeResponse(request.correlation_id, KafkaError.NONE, response)
    return response


SESSIONS: Final = "kraft sessions"
REBALANCE: Final = "kraft rebalance"
UNCLEAN: Final = "kraft unclean"


class DeferredReply(NamedTuple):
    """A response that waits until the record at ``offset`` is committed; ``failure`` is sent if it never is.

    Records that the controller writes on its own also wait here, without a target.
    """

    offset: int
    target: int = NO_LEADER
    answer: Any = None
    failure: Any = None


class QuorumController:
    """Controller of one node; it is active only between :meth:`on_leader` and :meth:`on_resigned`."""

    __slots__ = (
        "_admin", "_began", "_cluster", "_committed", "_deferred", "_heartbeats", "_image", "_log", "_next", "_port",
        "_replication", "_settings", "_timer", "active", "handlers",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        log: MetadataLog,
        committed: MetadataImage,
        base: InitialImage,
        profile: Profile,
        settings: ControllerSettings,
        defaults: Mapping[str, ConfigValue],
        draw: Callable[[str], Draw],
        began: Callable[[int, int], None],
    ) -> None:
        """``committed`` is the image of what the node has replayed; the owner of the node keeps it up to date.

        ``began`` is called with node id and epoch when the controller becomes active; it is for observers.
        """
        self.active = False
        self._port = port
        self._log = log
        self._committed = committed
        self._settings = settings
        self._image = MetadataImage(base)
        """While active: the committed image plus all later decisions."""
        self._heartbeats = BrokerHeartbeatManager(settings.session_us)
        self._replication = ReplicationControlManager(self._image, profile, defaults)
        features = FeatureControlManager(self._image, profile, defaults)
        self._cluster = ClusterControlManager(self._image, profile, self._replication, self._heartbeats, features)
        self._admin = ControllerApis(self._image, profile, self._replication, self._cluster, features, defaults, draw)
        self._timer = DeadlineTimer(port, SESSIONS)
        self._began = began
        self._deferred: list[DeferredReply] = []
        self._next = 0
        """Offset of the next record, while active."""
        self.handlers: Handlers = {
            BrokerRegistrationRequest: self._register,
            BrokerHeartbeatRequest: self._heartbeat,
            AlterPartitionBatchRequest: self._alter_partitions,
            **dict.fromkeys(ControllerApis.REQUESTS, self._administer),
        }

    @property
    def node(self) -> int:
        """Id of the node."""
        return self._port.node_id

    @property
    def epoch(self) -> int:
        """The newest epoch that the node knows; while it is active, the epoch that it leads."""
        return self._log.epoch

    # -- leadership ---------------------------------------------------------------------------------------------------

    def on_leader(self, epoch: int) -> None:
        """Activate: all committed records are replayed, and every broker counts as contacted now."""
        self.active = True
        self._began(self.node, epoch)
        self._image.copy_of(self._committed)
        self._next = self._log.end
        self._heartbeats.activate(self._image.brokers, self._port.now)
        self._watch_sessions()
        if self._settings.rebalance_us:
            self._port.timer(self._settings.rebalance_us, REBALANCE, epoch)
        if self._settings.unclean_us:
            self._port.timer(self._settings.unclean_us, UNCLEAN, epoch)

    def on_resigned(self) -> None:
        """Deactivate: records that are not committed may never be, so their requests fail."""
        self.active = False
        self._heartbeats.clear()
        deferred, self._deferred = self._deferred, []
        for waiting in deferred:
            self._reply(waiting.target, waiting.failure)

    def on_committed(self, end: int) -> None:
        """Send the responses that waited for records below ``end`` to be committed."""
        done = 0
        for waiting in self._deferred:
            if waiting.offset >= end:
                break
            done += 1
        for waiting in self._deferred[:done]:
            self._reply(waiting.target, waiting.answer)
        del self._deferred[:done]

    def stopped(self) -> None:
        """The process died."""
        self.active = False
        self._heartbeats.clear()
        self._deferred.clear()
        self._timer.forget()

    def _reply(self, target: int, answer: Any) -> None:
        if target != NO_LEADER:
            self._port.send(target, answer)

    def _append(self, records: list[Record]) -> None:
        """Apply records to the image at once, and append them to the log."""
        if records:
            self._image.replay(self._next, records)
            self._next = self._log.append(tuple(records)) + 1

    def _write(self, records: list[Record]) -> None:
        """Append records of the controller's own; later requests see them, and are answered only after their commit."""
        self._append(records)
        if records:
            self._deferred.append(DeferredReply(self._next - 1))

    def _answer(self, target: int, records: list[Record], answer: Any, failure: Any) -> None:
        """Append records, and respond once they are committed.

        A request without records waits for all earlier records, because it has seen state that may never be committed
        (``ControllerWriteEvent`` and its ``DeferredEventQueue``, formerly ``ControllerPurgatory``).
        """
        self._append(records)
        if records or self._deferred:
            offset = self._next - 1 if records else self._deferred[-1].offset
            self._deferred.append(DeferredReply(offset, target, answer, failure))
        else:
            self._port.send(target, answer)

    # -- events -------------------------------------------------------------------------------------------------------

    def _register(self, source: int, request: BrokerRegistrationRequest) -> None:
        failure = BrokerRegistrationResponse(request.correlation_id, KafkaError.NOT_CONTROLLER, -1)
        if not self.active:
            self._port.send(source, failure)
            return
        records, response = self._cluster.register(request, self._next, self._port.now)
        self._answer(source, records, response, failure)

    def _heartbeat(self, source: int, request: BrokerHeartbeatRequest) -> None:
        failure = BrokerHeartbeatResponse(request.correlation_id, KafkaError.NOT_CONTROLLER)
        if not self.active:
            self._port.send(source, failure)
            return
        records, response = self._cluster.heartbeat(request, self._next, self._port.now)
        self._answer(source, records, response, failure)
        self._watch_sessions()

    def _alter_partitions(self, source: int, request: AlterPartitionBatchRequest) -> None:
        failure = AlterPartitionBatchResponse(request.correlation_id, KafkaError.NOT_CONTROLLER, ())
        if not self.active:
            self._port.send(source, failure)
            return
        records, response = self._replication.alter_partitions(request)
        self._answer(source, records, response, failure)

    def _administer(self, source: int, request: Any) -> None:
        wrapped = isinstance(request, EnvelopeRequest)
        inner = request.request if wrapped else request
        if isinstance(inner, DescribeQuorumRequest):  # the quorum member answers at once, whether active or not
            self._port.send(source, _enveloped(request, self._log.describe(inner.correlation_id)))
            return
        failure = (
            EnvelopeResponse(request.correlation_id, KafkaError.NOT_CONTROLLER, None) if wrapped
            else refusal(inner, KafkaError.NOT_CONTROLLER, "This is not the active controller.")
        )  # fmt: skip
        if not self.active:
            self._port.send(source, failure)
            return
        try:
            records, response = self._admin.handle(inner, self._next)
        except UnexpectedServerError:
            error = refusal(inner, KafkaError.UNKNOWN_SERVER_ERROR)
            self._port.send(source, _enveloped(request, error))
            self._log.resign()
            return
        self._answer(source, records, _enveloped(request, response), failure)

    def elect_leader(self, partition: str, *, unclean: bool) -> KafkaError:
        """Elect a leader on an operator's request, without a network message; return the result at once."""
        error, records = self._replication.elect(partition, unclean=unclean)
        self._write(records)
        return error

    def expire_session(self, broker: int) -> bool:
        """Fence a broker now, regardless of its heartbeats; False if it has no session."""
        records = self._cluster.expire(broker)
        self._write(records)
        return bool(records)

    def _watch_sessions(self) -> None:
        deadline = self._heartbeats.next_deadline()
        if deadline != NEVER:
            self._timer.arm(max(deadline, self._port.now))

    def on_timer(self, timer: Payload) -> bool:
        """Handle the timers of sessions, rebalancing and unclean elections; False for any other timer."""
        name = timer[0]
        if name == SESSIONS:
            if self._timer.take_expired() and self.active:
                self._write(self._cluster.fence_stale(self._port.now))
                self._watch_sessions()
        elif name == REBALANCE:
            if self._is_mine(timer):
                records, more = self._replication.rebalance()
                self._write(records)
                self._port.timer(0 if more else self._settings.rebalance_us, *timer)
        elif name == UNCLEAN:
            if self._is_mine(timer):
                self._write(self._replication.elect_unclean())
                self._port.timer(self._settings.unclean_us, *timer)
        else:
            return False
        return True

    def _is_mine(self, timer: Payload) -> bool:
        """Whether a timer was set in the current epoch of leadership."""
        return self.active and timer[1] == self._log.epoch

    def save(self) -> tuple[Any, ...]:
        """Return all state but the committed image; its own image only if it holds uncommitted records."""
        ahead = self._image.save() if self.active and self._image.next_offset != self._committed.next_offset else ()
        return (
            self.active, ahead, self._heartbeats.save(), self._timer.save(), tuple(self._deferred), self._next,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned, after that of the committed image."""
        self.active, ahead, heartbeats, timer, deferred, self._next = saved
        if ahead:
            self._image.load(ahead)
        else:
            self._image.copy_of(self._committed)
        self._heartbeats.load(heartbeats)
        self._timer.load(timer)
        self._deferred = list(deferred)
