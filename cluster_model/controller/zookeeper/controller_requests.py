"""A broker's handling of LeaderAndIsr, UpdateMetadata and StopReplica, and the fencing of old controllers.

A process that has started but not yet registered does not listen: what comes earlier waits, as it would in the
controller's retries.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from cluster_model.broker import topic_of
from cluster_model.broker.broker import Broker
from cluster_model.broker.control_plane_client import MetadataUpdate
from cluster_model.controller.committed_state import Holdback
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
from cluster_model.kernel.node_context import Alarm, NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NOBODY, PartitionState

# Fencing: which requests of a controller a broker accepts (``ReplicaManager``, ``KafkaApis``). Pure.


def judge_request(request: ControlRequest, controller_epoch: int, broker_epoch: int) -> KafkaError:
    """Whether it is of a controller of the past, or for a process of the past (KIP-380, from 2.2 on)."""
    if request.controller_epoch < controller_epoch:
        return KafkaError.STALE_CONTROLLER_EPOCH
    if request.broker_epoch != -1 and request.broker_epoch < broker_epoch:
        return KafkaError.STALE_BROKER_EPOCH
    return KafkaError.NONE


def judge_state(state: PartitionState, broker: int, known: Mapping[str, int]) -> KafkaError:
    """One partition of a LeaderAndIsr, ``known`` being the leader epochs here: only a greater one is news."""
    if state.leader_epoch <= known.get(state.partition, -1):
        return KafkaError.STALE_CONTROLLER_EPOCH
    if broker not in state.replicas:
        return KafkaError.UNKNOWN_TOPIC_OR_PARTITION
    return KafkaError.NONE


def judge_stop(stopped: StoppedReplica, known: Mapping[str, int]) -> KafkaError:
    """One partition of a StopReplica; one that deletes its topic, or comes from before 2.6, is never stale."""
    if stopped.leader_epoch in (-1, DELETE_EPOCH):
        return KafkaError.NONE
    stale = stopped.leader_epoch < known.get(stopped.partition, -1)
    return KafkaError.FENCED_LEADER_EPOCH if stale else KafkaError.NONE


HELD: Final = "held control requests"
"""Name of the timer."""


class Obedience:
    """One per broker."""

    __slots__ = (
        "_alarm", "_broker", "_broker_epoch", "_early", "_new_topic", "_news", "_open", "_port", "_requests", "_writer",
        "controller", "controller_epoch",
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
        """The highest that any request had: older controllers are not obeyed."""
        self._open = True
        self._early: list[tuple[int, ControlRequest]] = []
        self.controller = NOBODY
        """Who the controller is, by the last UpdateMetadata."""
        self._requests = Holdback()
        """Requests that wait unanswered."""
        self._news = Holdback()
        """UpdateMetadata that was answered and is taken up late."""
        self._alarm = Alarm(port, HELD)

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
            self._handle(source, request)

    def receive(self, source: int, request: ControlRequest) -> None:
        """A request of the controller's, or of one that takes itself for it."""
        if self._requests.holds or self._requests.waits:
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

    # -- what comes late ----------------------------------------------------------------------------------------------

    def hold_metadata(self, fault: int, delay_us: int, *, cache_only: bool) -> None:
        """Take up the controller's requests that late, 0: not until :meth:`pass_metadata`, and answer them then.

        ``cache_only``: UpdateMetadata alone; it is answered at once, or the others could not pass it on the
        controller's connection.
        """
        (self._news if cache_only else self._requests).hold(fault, delay_us)

    def pass_metadata(self, fault: int) -> None:
        """Undo of :meth:`hold_metadata` by that fault; the process takes up what is due when it next runs."""
        self._requests.release(fault)
        self._news.release(fault)
        if self._requests.waits or self._news.waits:
            self._alarm.want(self._port.now)

    def rang(self) -> None:
        """The alarm: something is due."""
        if self._alarm.rang():
            self.catch_up()

    def catch_up(self) -> None:
        """Take up what is due, in the order in which it came."""
        while (waiting := self._requests.due(self._port.now)) is not None:
            self._handle(*waiting)
        self._catch_up_on_news()
        self._ring_for(self._requests)

    def _catch_up_on_news(self) -> None:
        while (news := self._news.due(self._port.now)) is not None:
            self._take_up(news)
        self._ring_for(self._news)

    def _ring_for(self, held: Holdback) -> None:
        at = held.next_at()
        if at >= 0:
            self._alarm.want(at)

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
            self._look_at_topics(accepted)
            self.act(tuple(accepted))
        return refused

    def _look_at_topics(self, states: Iterable[PartitionState]) -> None:
        """Have the configurations of new topics read (``ZkConfigRepository``): no change notification names them."""
        broker = self._broker
        for topic in dict.fromkeys([topic_of(state.partition) for state in states]):
            first = f"{topic}-0"
            if not (first in broker.states or first in broker.replicas or broker.settings.knows(topic)):
                broker.configure_topic(topic, {})
                self._new_topic(topic)

    def update_metadata(self, source: int, request: UpdateMetadataRequest) -> None:
        """UpdateMetadata."""
        error = self._judge(source, request)
        if error is None:
            return
        if error is KafkaError.NONE and (self._news.holds or self._news.waits):
            self._news.put(request, self._port.now)
            self._catch_up_on_news()
        elif error is KafkaError.NONE:
            self._take_up(request)
        self._port.send(source, UpdateMetadataResponse(request.correlation, error))

    def _take_up(self, request: UpdateMetadataRequest) -> None:
        self.controller = request.controller
        self._look_at_topics(state for state in request.partitions if state.leader != DURING_DELETE)
        self.know(request)

    def know(self, request: UpdateMetadataRequest) -> None:
        """Take up what is told of partitions and brokers."""
        told = tuple([state for state in request.partitions if state.leader != DURING_DELETE])
        gone = tuple([state.partition for state in request.partitions if state.leader == DURING_DELETE])
        racks = request.racks if any(request.racks) else ()
        self._broker.take(MetadataUpdate(told, request.brokers, request.broker_epochs, racks), act=False)
        for partition in gone:
            self._broker.forget(partition)

    def act(self, states: tuple[PartitionState, ...]) -> None:
        """Lead and follow."""
        self._broker.take(MetadataUpdate(states, (), ()), know=False)

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
        self._requests.clear()
        self._news.clear()
        self._alarm.forget()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        held = (self._requests.save(), self._news.save(), self._alarm.save())
        return (self.controller_epoch, self._open, tuple(self._early), self.controller, held)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.controller_epoch, self._open, early, self.controller, held = saved
        self._early = list(early)
        self._requests.load(held[0])
        self._news.load(held[1])
        self._alarm.load(held[2])
