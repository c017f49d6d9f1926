"""A quorum member as controller (``QuorumController``): its events, admin requests and settings.

One event at a time. Each is decided on the controller's own image, which runs ahead of what is committed; its records
go into the log, and whoever asked is answered once they are committed. Losing the lead fails what is outstanding with
NOT_CONTROLLER and goes back to the committed image. Sessions are known only to the memory of the active controller.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.broker.control_plane_client import Handlers
from cluster_model.controller.kraft.cluster_control_manager import (
    NEVER,
    ClusterControl,
    FeatureControl,
    HeartbeatManager,
)
from cluster_model.controller.kraft.messages import (
    AlterPartitionBatchRequest,
    AlterPartitionBatchResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from cluster_model.controller.kraft.metadata import Base, MetadataImage, Record
from cluster_model.controller.kraft.replication_control_manager import (
    ConfigurationControl,
    PartitionControl,
    ReplicationControl,
    TopicControl,
)
from cluster_model.controller.raft.raft_client import MetadataLog
from cluster_model.controller.rules.replica_placement import Draw
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import Alarm, NodeContext
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
from cluster_model.protocol.messages import NOBODY
from cluster_model.protocol.versions import Profile

# Requests of administrators on the active controller (``ControllerApis``): each gets records and one answer.


REQUESTS: Final[tuple[type[Any], ...]] = (
    CreateTopicsRequest, DeleteTopicsRequest, CreatePartitionsRequest, AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest, ElectLeadersRequest, IncrementalAlterConfigsRequest, UnregisterBrokerRequest,
    UpdateFeaturesRequest, DescribeQuorumRequest,
)  # fmt: skip
"""What an administrator may ask of a controller itself (KIP-919); brokers hand the same on in an envelope."""


class AdminControl:
    """Decisions over one image."""

    __slots__ = ("_cluster", "_configs", "_features", "_partitions", "_topics")

    REQUESTS: Final = (*REQUESTS, EnvelopeRequest)

    def __init__(
        self,
        image: MetadataImage,
        profile: Profile,
        replication: ReplicationControl,
        cluster: ClusterControl,
        defaults: Mapping[str, ConfigValue],
        draw: Callable[[str], Draw],
    ) -> None:
        self._cluster = cluster
        self._features = FeatureControl(profile, defaults)
        self._topics = TopicControl(image, profile, draw, defaults)
        self._configs = ConfigurationControl(image, profile)
        self._partitions = PartitionControl(image, profile, replication)

    def handle(self, asked: AdminRequest, end: int) -> tuple[list[Record], AdminResponse]:
        """Decide; ``end`` is the offset of the next record. What is only validated leaves no records."""
        records, response = self._handle(asked, end)
        if getattr(asked, "validate_only", False):
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
            return [], self._features.update(request)
        error, records = self._cluster.unregister(request.broker)
        return records, UnregisterBrokerResponse(request.correlation, error)


def _enveloped(request: Any, response: Any) -> Any:
    """A response, in an envelope where its request came in one."""
    if isinstance(request, EnvelopeRequest):
        return EnvelopeResponse(request.correlation, KafkaError.NONE, response)
    return response


SESSIONS: Final = "kraft sessions"
REBALANCE: Final = "kraft rebalance"
UNCLEAN: Final = "kraft unclean"


class Deferred(NamedTuple):
    """An answer that waits for the record at ``offset`` to be committed; ``failure`` is sent if it never is.

    What the controller writes of its own accord waits, too, and is answered to nobody.
    """

    offset: int
    target: int = NOBODY
    answer: Any = None
    failure: Any = None


class QuorumController:
    """One node's; it is active only between :meth:`on_leader` and :meth:`on_resigned`."""

    __slots__ = (
        "_admin", "_alarm", "_began", "_cluster", "_committed", "_deferred", "_heartbeats", "_image", "_log",
        "_next", "_port", "_replication", "_settings", "active", "handlers",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        log: MetadataLog,
        committed: MetadataImage,
        base: Base,
        profile: Profile,
        settings: ControllerSettings,
        defaults: Mapping[str, ConfigValue],
        draw: Callable[[str], Draw],
        began: Callable[[int, int], None],
    ) -> None:
        """``committed`` is what the node has replayed; whoever owns the node keeps it so.

        ``began`` is told of the node and its epoch when it becomes active; it is for the observer.
        """
        self.active = False
        self._port = port
        self._log = log
        self._committed = committed
        self._settings = settings
        self._image = MetadataImage(base)
        """While active: the committed one and all that was decided since."""
        self._heartbeats = HeartbeatManager(settings.session_us)
        self._replication = ReplicationControl(self._image, profile, defaults)
        self._cluster = ClusterControl(self._image, profile, self._replication, self._heartbeats)
        self._admin = AdminControl(self._image, profile, self._replication, self._cluster, defaults, draw)
        self._alarm = Alarm(port, SESSIONS)
        self._began = began
        self._deferred: list[Deferred] = []
        self._next = 0
        """Offset of the next record, while active."""
        self.handlers: Handlers = {
            BrokerRegistrationRequest: self._register,
            BrokerHeartbeatRequest: self._heartbeat,
            AlterPartitionBatchRequest: self._alter_partitions,
            **dict.fromkeys(AdminControl.REQUESTS, self._administer),
        }

    @property
    def node(self) -> int:
        """Id of the node."""
        return self._port.node_id

    @property
    def epoch(self) -> int:
        """The newest epoch that the node knows of; the one it leads in, while it is active."""
        return self._log.epoch

    # -- leading ------------------------------------------------------------------------------------------------------

    def on_leader(self, epoch: int) -> None:
        """The node leads, and has replayed all that its predecessors committed: every broker counts as heard of now."""
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
        """It leads no longer: what is not committed may never be."""
        self.active = False
        self._heartbeats.clear()
        deferred, self._deferred = self._deferred, []
        for each in deferred:
            self._reply(each.target, each.failure)

    def on_committed(self, end: int) -> None:
        """Everything below ``end`` is committed: answer those who waited for it."""
        done = 0
        for each in self._deferred:
            if each.offset >= end:
                break
            done += 1
        for each in self._deferred[:done]:
            self._reply(each.target, each.answer)
        del self._deferred[:done]

    def stopped(self) -> None:
        """The process died."""
        self.active = False
        self._heartbeats.clear()
        self._deferred.clear()
        self._alarm.forget()

    def _reply(self, target: int, answer: Any) -> None:
        if target != NOBODY:
            self._port.send(target, answer)

    def _append(self, records: list[Record]) -> None:
        """Apply records at once, and have them written."""
        if records:
            self._image.replay(self._next, records)
            self._next = self._log.append(tuple(records)) + 1

    def _write(self, records: list[Record]) -> None:
        """Write of its own accord: who asks meanwhile sees it, and is not answered before it is committed."""
        self._append(records)
        if records:
            self._deferred.append(Deferred(self._next - 1))

    def _answer(self, target: int, records: list[Record], answer: Any, failure: Any) -> None:
        """Write, and answer once it is committed; who changed nothing waits for all that was written before.

        It saw what may never be committed (``ControllerWriteEvent`` and its ``DeferredEventQueue``, once
        ``ControllerPurgatory``).
        """
        self._append(records)
        if records or self._deferred:
            offset = self._next - 1 if records else self._deferred[-1].offset
            self._deferred.append(Deferred(offset, target, answer, failure))
        else:
            self._port.send(target, answer)

    # -- events -------------------------------------------------------------------------------------------------------

    def _register(self, source: int, request: BrokerRegistrationRequest) -> None:
        failure = BrokerRegistrationResponse(request.correlation, KafkaError.NOT_CONTROLLER, -1)
        if not self.active:
            self._port.send(source, failure)
            return
        records, response = self._cluster.register(request, self._next, self._port.now)
        self._answer(source, records, response, failure)

    def _heartbeat(self, source: int, request: BrokerHeartbeatRequest) -> None:
        failure = BrokerHeartbeatResponse(request.correlation, KafkaError.NOT_CONTROLLER)
        if not self.active:
            self._port.send(source, failure)
            return
        records, response = self._cluster.heartbeat(request, self._next, self._port.now)
        self._answer(source, records, response, failure)
        self._watch_sessions()

    def _alter_partitions(self, source: int, request: AlterPartitionBatchRequest) -> None:
        failure = AlterPartitionBatchResponse(request.correlation, KafkaError.NOT_CONTROLLER, ())
        if not self.active:
            self._port.send(source, failure)
            return
        records, response = self._replication.alter_partitions(request)
        self._answer(source, records, response, failure)

    def _administer(self, source: int, request: Any) -> None:
        wrapped = isinstance(request, EnvelopeRequest)
        asked = request.request if wrapped else request
        if isinstance(asked, DescribeQuorumRequest):  # its member of the quorum answers, active or not, and at once
            self._port.send(source, _enveloped(request, self._log.describe(asked.correlation)))
            return
        failure = (
            EnvelopeResponse(request.correlation, KafkaError.NOT_CONTROLLER, None) if wrapped
            else refusal(asked, KafkaError.NOT_CONTROLLER, "This is not the active controller.")
        )  # fmt: skip
        if not self.active:
            self._port.send(source, failure)
            return
        records, response = self._admin.handle(asked, self._next)
        self._answer(source, records, _enveloped(request, response), failure)

    def ask_election(self, partition: str, *, unclean: bool) -> KafkaError:
        """An operator's election, without a message: what would be answered once it is committed."""
        error, records = self._replication.elect(partition, unclean=unclean)
        self._write(records)
        return error

    def expire_session(self, broker: int) -> bool:
        """Fence a broker now, whatever its heartbeats were; False where it has no session."""
        records = self._cluster.expire(broker)
        self._write(records)
        return bool(records)

    def _watch_sessions(self) -> None:
        deadline = self._heartbeats.next_deadline()
        if deadline != NEVER:
            self._alarm.want(max(deadline, self._port.now))

    def on_timer(self, timer: Payload) -> bool:
        """Sessions, rebalancing, unclean elections; False if the timer is none of these."""
        name = timer[0]
        if name == SESSIONS:
            if self._alarm.rang() and self.active:
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
        """Whether a timer was set by the leadership that still lasts."""
        return self.active and timer[1] == self._log.epoch

    def save(self) -> tuple[Any, ...]:
        """All state but the committed image; the other one only where it is ahead."""
        ahead = self._image.save() if self.active and self._image.until != self._committed.until else ()
        return (
            self.active, ahead, self._heartbeats.save(), self._alarm.save(), tuple(self._deferred), self._next,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after the committed image's."""
        self.active, ahead, heartbeats, alarm, deferred, self._next = saved
        if ahead:
            self._image.load(ahead)
        else:
            self._image.copy_of(self._committed)
        self._heartbeats.load(heartbeats)
        self._alarm.load(alarm)
        self._deferred = list(deferred)
