"""A test double: one controller node that stands where a ZooKeeper-mode controller or a KRaft quorum stands.

It decides by the rules of the profile (:mod:`cluster_model.controller.rules`), in the time that sessions take:
brokers send heartbeats, silence for a session timeout fences them, and decisions travel as messages that each broker
applies when they reach it. What it leaves out of the real ones is their own failover: its state survives its crash as
if every write had been committed; and eligible leader replicas (KIP-966), for nobody tells it how a broker stopped.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.controller.committed_state import CommittedPartition, CommittedState
from cluster_model.controller.immediate_controller import ImmediateController
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.admin_messages import AdminError, ElectLeadersRequest, ElectLeadersResponse, refusal
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import BrokerFenced, BrokerRegistered, ControllerChanged, Event
from cluster_model.protocol.messages import AlterPartitionRequest
from cluster_model.protocol.versions import Profile
from tests.cluster_model.single_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    LeaderAndIsrRequest,
)

CONTROLLER_ID: Final = 1_000
"""Node id of the controller; brokers have small ones."""


class Registration:
    """A broker as the controller knows it."""

    __slots__ = ("deadline", "epoch", "fenced", "incarnation", "rack")

    def __init__(self, epoch: int, incarnation: int, deadline: int, rack: str) -> None:
        self.epoch = epoch
        self.rack = rack
        self.incarnation = incarnation
        self.deadline = deadline
        self.fenced = False


class SingleController:
    """The node."""

    __slots__ = (
        "_config", "_decider", "_emit", "_epoch", "_next_epoch", "_port", "_profile", "_timer", "brokers", "committed",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        config: BrokerConfig,
        committed: CommittedState,
        emit: Callable[[Event], None],
    ) -> None:
        self.committed = committed
        self.brokers: dict[int, Registration] = {}
        self._decider = ImmediateController(committed, profile, elr=False)
        self._port = port
        self._profile = profile
        self._config = config
        self._emit = emit
        self._epoch = 1
        self._next_epoch = 1
        self._timer = DeadlineTimer(port, "sessions")

    @property
    def session_us(self) -> int:
        """Silence after which a broker is fenced."""
        return self._config.session_us

    @property
    def live(self) -> dict[int, int]:
        """Brokers that are not fenced, with their epochs."""
        return {broker: known.epoch for broker, known in self.brokers.items() if not known.fenced}

    def begin(self, racks: dict[int, str]) -> None:
        """Stand in a running cluster at its first instant, every broker registered with its rack."""
        for broker, rack in racks.items():
            deadline = self._port.now + self._config.session_us
            self.brokers[broker] = Registration(self._next_epoch, 0, deadline, rack)
            self._next_epoch += 1
        self._watch_sessions()

    def everything(self) -> LeaderAndIsrRequest:
        """All decisions, as a broker gets them when it registers."""
        return self._decisions(list(self.committed.records.values()))

    def _decisions(self, records: list[CommittedPartition]) -> LeaderAndIsrRequest:
        live = self.live
        states = tuple(record.state for record in records)
        racks = tuple(self.brokers[broker].rack for broker in live)
        return LeaderAndIsrRequest(
            self._epoch, states, tuple(live), tuple(live.values()), racks if any(racks) else ()
        )  # fmt: skip

    def receive(self, source: int, message: Any) -> None:
        """Handle a message."""
        if isinstance(message, BrokerHeartbeatRequest):
            self._heartbeat(source, message)
        elif isinstance(message, AlterPartitionRequest):
            self._alter_partition(source, message)
        elif isinstance(message, BrokerRegistrationRequest):
            self._register(source, message)
        elif isinstance(message, ElectLeadersRequest):
            self._port.send(source, self._elect_leaders_asked(message))
        elif hasattr(message, "correlation"):
            self._port.send(source, refusal(message, KafkaError.UNSUPPORTED_VERSION, "this controller cannot do that"))

    def _elect_leaders_asked(self, request: ElectLeadersRequest) -> ElectLeadersResponse:
        wanted = request.partitions or tuple(self.committed.records)
        answers = []
        for name in wanted:
            if name not in self.committed.records:
                answers.append(AdminError(name, KafkaError.UNKNOWN_TOPIC_OR_PARTITION, "there is no such partition"))
                continue
            error = self.elect_leaders(name, unclean=request.unclean)
            if request.partitions or error is not KafkaError.ELECTION_NOT_NEEDED:
                answers.append(AdminError(name, error))
        return ElectLeadersResponse(request.correlation_id, KafkaError.NONE, tuple(answers))

    def on_timer(self, _timer: Payload) -> None:
        """Sessions may have run out: fence one broker at a time, each with its own decisions."""
        if not self._timer.take_expired():
            return
        now = self._port.now
        for broker, known in self.brokers.items():
            if not known.fenced and known.deadline <= now:
                self._fence(broker, "session timed out")
        self._watch_sessions()

    def on_disconnect(self, peer: int) -> None:
        """Nothing: a broken connection is not a lapsed session."""

    def _watch_sessions(self) -> None:
        deadlines = [known.deadline for known in self.brokers.values() if not known.fenced]
        if deadlines:
            self._timer.arm(min(deadlines))

    def _fence(self, broker: int, why: str) -> None:
        now = self._port.now
        self.brokers[broker].fenced = True
        changed = self._decider.fence(broker, self.live, now)
        self._emit(BrokerFenced(now, broker, why))  # Its partitions are decided with it.
        self._publish(changed)

    def _publish(self, changed: list[CommittedPartition]) -> None:
        """Tell every broker that has a connection to hear it, the fenced ones included: they may only be slow."""
        request = self._decisions(changed)
        for broker in self.brokers:
            self._port.send(broker, request)

    def _heartbeat(self, source: int, message: BrokerHeartbeatRequest) -> None:
        known = self.brokers.get(message.broker)
        if known is None or known.epoch != message.broker_epoch or (known.fenced and not self._profile.kraft):
            self._port.send(source, BrokerHeartbeatResponse(KafkaError.STALE_BROKER_EPOCH))
            return
        known.deadline = self._port.now + self._config.session_us
        if known.fenced:
            self._admit(message.broker, known)
        self._port.send(source, BrokerHeartbeatResponse(KafkaError.NONE))

    def _register(self, source: int, message: BrokerRegistrationRequest) -> None:
        now = self._port.now
        known = self.brokers.get(message.broker)
        if known is not None and not known.fenced and known.incarnation != message.incarnation:
            if self._profile.kraft:
                error = KafkaError.DUPLICATE_BROKER_REGISTRATION
                self._port.send(source, BrokerRegistrationResponse(error, -1))
                return
            if self._profile.bounce_detected:
                self._fence(message.broker, "bounced: registered again within its session")
        deadline = now + self._config.session_us
        registration = Registration(self._next_epoch, message.incarnation, deadline, message.rack)
        self._next_epoch += 1
        self.brokers[message.broker] = registration
        self._port.send(source, BrokerRegistrationResponse(KafkaError.NONE, registration.epoch))
        self._admit(message.broker, registration)
        self._watch_sessions()

    def _admit(self, broker: int, known: Registration) -> None:
        """A broker counts as live again: it gets all decisions, and leaderless partitions may have found a leader."""
        now = self._port.now
        known.fenced = False
        self._emit(BrokerRegistered(now, broker))
        changed = self._decider.unfence(broker, self.live, now)
        self._port.send(broker, self.everything())
        self._publish(changed)

    def _alter_partition(self, source: int, message: AlterPartitionRequest) -> None:
        record = self.committed.records.get(message.partition)
        before = None if record is None else record.partition_epoch
        response = self._decider.alter_partition(message, self.live, self._port.now)
        self._port.send(source, response)
        if record is not None and record.partition_epoch != before:
            self._publish([record])

    def elect_leaders(self, partition: str, *, unclean: bool) -> KafkaError:
        """An administrator's ELECT_LEADERS."""
        now = self._port.now
        error = self._decider.elect_leaders(partition, self.live, now, unclean=unclean)
        if error is KafkaError.NONE:
            self._publish([self.committed.records[partition]])
        return error

    @property
    def epoch(self) -> int:
        """Controller epoch."""
        return self._epoch

    def stopped(self) -> None:
        """The process died; what it had committed stays."""

    def started(self) -> None:
        """A new controller process: a new epoch, and all sessions begin anew (``BrokerHeartbeatManager``)."""
        self._epoch += 1
        self._timer.forget()
        for known in self.brokers.values():
            known.deadline = self._port.now + self._config.session_us
        self._watch_sessions()
        self._emit(ControllerChanged(self._port.now, "controller", -1, self._epoch))
        self._publish(list(self.committed.records.values()))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        brokers = tuple((b, k.epoch, k.incarnation, k.deadline, k.rack, k.fenced) for b, k in self.brokers.items())
        return (self._epoch, self._next_epoch, brokers, self._timer.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo :meth:`save`."""
        self._epoch, self._next_epoch, brokers, alarm = saved
        self.brokers.clear()
        for broker, epoch, incarnation, deadline, rack, fenced in brokers:
            registration = Registration(epoch, incarnation, deadline, rack)
            registration.fenced = fenced
            self.brokers[broker] = registration
        self._timer.load(alarm)
