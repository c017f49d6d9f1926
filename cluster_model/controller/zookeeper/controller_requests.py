"""A broker's handling of LeaderAndIsr, UpdateMetadata and StopReplica, and its fencing of old controllers.

A process that has started but not registered does not listen: earlier requests wait, as they would in the controller's
retries.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from cluster_model.broker import topic_of
from cluster_model.broker.broker import Broker
from cluster_model.broker.control_plane_client import MetadataUpdate
from cluster_model.controller.committed_state import DelayedUpdates
from cluster_model.controller.zookeeper.isr_update import IsrWriter
from cluster_model.controller.zookeeper.messages import (
    DELETE_EPOCH,
    DURING_DELETE,
    ControlRequest,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StoppedReplica,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER, PartitionState

# Fencing: validation of a controller's requests by a broker (``ReplicaManager``, ``KafkaApis``). Pure.


def fence_request(request: ControlRequest, controller_epoch: int, broker_epoch: int) -> KafkaError:
    """Reject requests of an old controller, or for an earlier process of this broker (KIP-380, since 2.2)."""
    if request.controller_epoch < controller_epoch:
        return KafkaError.STALE_CONTROLLER_EPOCH
    if request.broker_epoch != -1 and request.broker_epoch < broker_epoch:
        return KafkaError.STALE_BROKER_EPOCH
    return KafkaError.NONE


def judge_state(state: PartitionState, broker: int, leader_epochs: Mapping[str, int]) -> KafkaError:
    """Check one partition of a LeaderAndIsr: its leader epoch must be above that in ``leader_epochs``."""
    if state.leader_epoch <= leader_epochs.get(state.partition, -1):
        return KafkaError.STALE_CONTROLLER_EPOCH
    if broker not in state.replicas:
        return KafkaError.UNKNOWN_TOPIC_OR_PARTITION
    return KafkaError.NONE


def judge_stop(stopped: StoppedReplica, leader_epochs: Mapping[str, int]) -> KafkaError:
    """Check one partition of a StopReplica; it is never stale if it deletes the topic, or before 2.6."""
    if stopped.leader_epoch in (-1, DELETE_EPOCH):
        return KafkaError.NONE
    stale = stopped.leader_epoch < leader_epochs.get(stopped.partition, -1)
    return KafkaError.FENCED_LEADER_EPOCH if stale else KafkaError.NONE


HELD: Final = "held control requests"
"""Name of the timer of delayed requests."""


class ControllerRequestHandler:
    """Applies the controller's requests to one broker."""

    __slots__ = (
        "_broker", "_broker_epoch", "_delayed_updates", "_early", "_new_topic", "_open", "_port", "_requests", "_timer",
        "_writer", "controller", "controller_epoch",
    )  # fmt: skip

    def __init__(
        self,
        broker: Broker,
        port: NodeContext,
        writer: IsrWriter,
        broker_epoch: Callable[[], int],
        new_topic: Callable[[str], None],
    ) -> None:
        """``new_topic`` is called for a topic whose configuration has not been read yet."""
        self._broker = broker
        self._new_topic = new_topic
        self._port = port
        self._writer = writer
        self._broker_epoch = broker_epoch
        self.controller_epoch = 0
        """Highest controller epoch of any request; requests of older controllers are rejected."""
        self._open = True
        self._early: list[tuple[int, ControlRequest]] = []
        self.controller = NO_LEADER
        """The controller named in the last UpdateMetadata."""
        self._requests = DelayedUpdates()
        """Requests that a fault delays, not answered yet."""
        self._delayed_updates = DelayedUpdates()
        """UpdateMetadata requests that are answered, and that a fault applies late."""
        self._timer = DeadlineTimer(port, HELD)

    def begin(self, request: UpdateMetadataRequest, controller_epoch: int) -> None:
        """Start in a formed cluster with its metadata."""
        self.controller_epoch = controller_epoch
        self.controller = request.controller
        self.update_cache(request)

    def start_listening(self) -> None:
        """The process registered: handle requests from now on, earlier ones first."""
        self._open = True
        early, self._early = self._early, []
        for source, request in early:
            self._handle(source, request)

    def receive(self, source: int, request: ControlRequest) -> None:
        """Handle a request of a broker that acts as the controller."""
        if self._requests.delaying or self._requests.nonempty:
            self._requests.put((source, request), self._port.now)
            self.catch_up()
        else:
            self._handle(source, request)

    def _handle(self, source: int, request: ControlRequest) -> None:
        if isinstance(request, LeaderAndIsrRequest):
            self.lead_and_follow(source, request)
        elif isinstance(request, UpdateMetadataRequest):
            self.update_metadata(source, request)
        else:
            self.stop_replicas(source, request)

    # -- delayed requests ----------------------------------------------------------------------------------------------

    def hold_metadata(self, fault: int, delay_us: int, *, cache_only: bool) -> None:
        """Delay the controller's requests and their responses by ``delay_us``; 0: until :meth:`pass_metadata`.

        ``cache_only``: delay UpdateMetadata alone; it is answered at once, because otherwise other requests could not
        overtake it on the controller's connection.
        """
        (self._delayed_updates if cache_only else self._requests).delay(fault, delay_us)

    def pass_metadata(self, fault: int) -> None:
        """Undo :meth:`hold_metadata` of that fault; the process applies what is due when it next runs."""
        self._requests.release(fault)
        self._delayed_updates.release(fault)
        if self._requests.nonempty or self._delayed_updates.nonempty:
            self._timer.arm(self._port.now)

    def on_timer(self) -> None:
        """Handle the timer of delayed requests."""
        if self._timer.take_expired():
            self.catch_up()

    def catch_up(self) -> None:
        """Apply what is due, in order of arrival."""
        while (waiting := self._requests.take_due(self._port.now)) is not None:
            self._handle(*waiting)
        self._apply_due_updates()
        self._set_alarm(self._requests)

    def _apply_due_updates(self) -> None:
        while (update := self._delayed_updates.take_due(self._port.now)) is not None:
            self._apply(update)
        self._set_alarm(self._delayed_updates)

    def _set_alarm(self, held: DelayedUpdates) -> None:
        at = held.next_at()
        if at >= 0:
            self._timer.arm(at)

    def _judge(self, source: int, request: ControlRequest) -> KafkaError | None:
        """Validate a request; None if the process is not registered, in which case the request is queued."""
        if not self._open:
            self._early.append((source, request))
            return None
        error = fence_request(request, self.controller_epoch, self._broker_epoch())
        if error is KafkaError.NONE:
            self.controller_epoch = request.controller_epoch
        return error

    def lead_and_follow(self, source: int, request: LeaderAndIsrRequest) -> None:
        """Handle LeaderAndIsr."""
        error = self._judge(source, request)
        if error is None:
            return
        rejected: list[tuple[str, int]] = []
        if error is KafkaError.NONE:
            rejected = self._lead_and_follow(request)
        self._port.send(source, LeaderAndIsrResponse(request.correlation_id, error, tuple(rejected)))

    def _lead_and_follow(self, request: LeaderAndIsrRequest) -> list[tuple[str, int]]:
        leader_epochs = self._leader_epochs()
        accepted: list[PartitionState] = []
        rejected: list[tuple[str, int]] = []
        for state in request.partitions:
            error = judge_state(state, self._broker.id, leader_epochs) or self._broker.refusal(state)
            if error:
                rejected.append((state.partition, error))
                continue
            accepted.append(state)
            if state.leader == self._broker.id:
                self._writer.set_controller_epoch(state.partition, request.controller_epoch)
        if accepted:
            self._read_new_topics(accepted)
            self.apply_roles(tuple(accepted))
        return rejected

    def _read_new_topics(self, states: Iterable[PartitionState]) -> None:
        """Have the configurations of new topics read (``ZkConfigRepository``): no change notification names them."""
        broker = self._broker
        for topic in dict.fromkeys([topic_of(state.partition) for state in states]):
            first = f"{topic}-0"
            if not (first in broker.states or first in broker.replicas or broker.settings.knows(topic)):
                broker.configure_topic(topic, {})
                self._new_topic(topic)

    def update_metadata(self, source: int, request: UpdateMetadataRequest) -> None:
        """Handle UpdateMetadata."""
        error = self._judge(source, request)
        if error is None:
            return
        if error is KafkaError.NONE and (self._delayed_updates.delaying or self._delayed_updates.nonempty):
            self._delayed_updates.put(request, self._port.now)
            self._apply_due_updates()
        elif error is KafkaError.NONE:
            self._apply(request)
        self._port.send(source, UpdateMetadataResponse(request.correlation_id, error))

    def _apply(self, request: UpdateMetadataRequest) -> None:
        self.controller = request.controller
        self._read_new_topics(state for state in request.partitions if state.leader != DURING_DELETE)
        self.update_cache(request)

    def update_cache(self, request: UpdateMetadataRequest) -> None:
        """Update the metadata cache from a request."""
        states = tuple([state for state in request.partitions if state.leader != DURING_DELETE])
        gone = tuple([state.partition for state in request.partitions if state.leader == DURING_DELETE])
        racks = request.racks if any(request.racks) else ()
        self._broker.apply_metadata(MetadataUpdate(states, request.brokers, request.broker_epochs, racks), act=False)
        for partition in gone:
            self._broker.forget(partition)

    def apply_roles(self, states: tuple[PartitionState, ...]) -> None:
        """Become leader or follower of partitions."""
        self._broker.apply_metadata(MetadataUpdate(states, (), ()), know=False)

    def _leader_epochs(self) -> dict[str, int]:
        return {partition: replica.leader_epoch for partition, replica in self._broker.replicas.items()}

    def stop_replicas(self, source: int, request: StopReplicaRequest) -> None:
        """Handle StopReplica."""
        error = self._judge(source, request)
        if error is None:
            return
        answers: list[tuple[str, int]] = []
        if error is KafkaError.NONE:
            known = self._leader_epochs()
            for stopped in request.partitions:
                partition_error = judge_stop(stopped, known)
                answers.append((stopped.partition, partition_error))
                if partition_error is KafkaError.NONE:
                    self._broker.stop_replica(stopped.partition, delete=stopped.delete)
        self._port.send(source, StopReplicaResponse(request.correlation_id, error, tuple(answers)))

    def stopped(self) -> None:
        """The process died."""
        self._open = False
        self._early.clear()
        self.controller_epoch = 0
        self.controller = NO_LEADER
        self._requests.clear()
        self._delayed_updates.clear()
        self._timer.forget()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        held = (self._requests.save(), self._delayed_updates.save(), self._timer.save())
        return (self.controller_epoch, self._open, tuple(self._early), self.controller, held)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self.controller_epoch, self._open, early, self.controller, held = saved
        self._early = list(early)
        self._requests.load(held[0])
        self._delayed_updates.load(held[1])
        self._timer.load(held[2])
