"""What a broker makes of its controller's requests: LeaderAndIsr, UpdateMetadata, StopReplica (``KafkaApis``).

A process that has started but not yet registered does not listen: what comes earlier waits, as it would in the
controller's retries.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.controller.zookeeper.fencing import judge_request, judge_state, judge_stop
from cluster_model.controller.zookeeper.isr_writer import IsrWriter
from cluster_model.controller.zookeeper.messages import (
    DURING_DELETE,
    ControlRequest,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from cluster_model.errors import KafkaError
from cluster_model.kernel.port import Port
from cluster_model.messages import NOBODY, PartitionState
from cluster_model.replication.broker import Broker
from cluster_model.replication.control import Decisions


class Obedience:
    """One per broker."""

    __slots__ = (
        "_broker", "_broker_epoch", "_early", "_open", "_port", "_writer", "controller", "controller_epoch",
    )  # fmt: skip

    def __init__(self, broker: Broker, port: Port, writer: IsrWriter, broker_epoch: Callable[[], int]) -> None:
        self._broker = broker
        self._port = port
        self._writer = writer
        self._broker_epoch = broker_epoch
        self.controller_epoch = 0
        """The highest that any request had: older controllers are not obeyed."""
        self._open = True
        self._early: list[tuple[int, ControlRequest]] = []
        self.controller = NOBODY
        """Who the controller is, by the last UpdateMetadata."""

    def begin(self, request: UpdateMetadataRequest, controller_epoch: int) -> None:
        """Have been told at the first instant."""
        self.controller_epoch = controller_epoch
        self.controller = request.controller
        self.know(request)

    def open(self) -> None:
        """The process has registered: it listens from here on."""
        self._open = True
        early, self._early = self._early, []
        for source, request in early:
            if isinstance(request, LeaderAndIsrRequest):
                self.lead_and_follow(source, request)
            elif isinstance(request, UpdateMetadataRequest):
                self.update_metadata(source, request)
            else:
                self.stop_replicas(source, request)

    def _judge(self, source: int, request: ControlRequest) -> KafkaError | None:
        """None: not now."""
        if not self._open:
            self._early.append((source, request))
            return None
        error = judge_request(request, self.controller_epoch, self._broker_epoch())
        if error is KafkaError.NONE:
            self.controller_epoch = request.controller_epoch
        return error

    def lead_and_follow(self, source: int, request: LeaderAndIsrRequest) -> None:
        """LeaderAndIsr."""
        error = self._judge(source, request)
        if error is None:
            return
        refused: list[tuple[str, int]] = []
        if error is KafkaError.NONE:
            refused = self._lead_and_follow(request)
        self._port.send(source, LeaderAndIsrResponse(request.correlation, error, tuple(refused)))

    def _lead_and_follow(self, request: LeaderAndIsrRequest) -> list[tuple[str, int]]:
        known = self._leader_epochs()
        accepted: list[PartitionState] = []
        refused: list[tuple[str, int]] = []
        for state in request.partitions:
            wrong = judge_state(state, self._broker.id, known) or self._broker.refusal(state)
            if wrong:
                refused.append((state.partition, wrong))
                continue
            accepted.append(state)
            if state.leader == self._broker.id:
                self._writer.leads_by(state.partition, request.controller_epoch)
        if accepted:
            self.act(tuple(accepted))
        return refused

    def update_metadata(self, source: int, request: UpdateMetadataRequest) -> None:
        """UpdateMetadata."""
        error = self._judge(source, request)
        if error is None:
            return
        if error is KafkaError.NONE:
            self.controller = request.controller
            self.know(request)
        self._port.send(source, UpdateMetadataResponse(request.correlation, error))

    def know(self, request: UpdateMetadataRequest) -> None:
        """Take up what is told of partitions and brokers."""
        told = tuple([state for state in request.partitions if state.leader != DURING_DELETE])
        gone = tuple([state.partition for state in request.partitions if state.leader == DURING_DELETE])
        racks = request.racks if any(request.racks) else ()
        self._broker.take(Decisions(told, request.brokers, request.broker_epochs, racks), act=False)
        for partition in gone:
            self._broker.forget(partition)

    def act(self, states: tuple[PartitionState, ...]) -> None:
        """Lead and follow."""
        self._broker.take(Decisions(states, (), ()), know=False)

    def _leader_epochs(self) -> dict[str, int]:
        return {partition: replica.leader_epoch for partition, replica in self._broker.replicas.items()}

    def stop_replicas(self, source: int, request: StopReplicaRequest) -> None:
        """StopReplica."""
        error = self._judge(source, request)
        if error is None:
            return
        answers: list[tuple[str, int]] = []
        if error is KafkaError.NONE:
            known = self._leader_epochs()
            for stopped in request.partitions:
                wrong = judge_stop(stopped, known)
                answers.append((stopped.partition, wrong))
                if wrong is KafkaError.NONE:
                    self._broker.stop_replica(stopped.partition, delete=stopped.delete)
        self._port.send(source, StopReplicaResponse(request.correlation, error, tuple(answers)))

    def stopped(self) -> None:
        """The process died."""
        self._open = False
        self._early.clear()
        self.controller_epoch = 0
        self.controller = NOBODY

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.controller_epoch, self._open, tuple(self._early), self.controller)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.controller_epoch, self._open, early, self.controller = saved
        self._early = list(early)
