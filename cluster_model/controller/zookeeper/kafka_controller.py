"""The KafkaController that lives in every broker: one of them acts, the others wait for their turn.

Everything it does is an event of one lane: watches that went off, answers of brokers, requests, timers. Once it has
lost its session or is paused it may be a controller of the past without knowing; then brokers refuse its requests by
their epoch, and ZooKeeper its writes (since 2.1). It resigns when it learns.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.controller.zookeeper import (
    administration,
    broker_changes,
    election,
    elections,
    isr_changes,
    reassignment,
    topic_deletion,
    topics,
)
from cluster_model.controller.zookeeper.controller_channels import RETRY, TIMEOUTS, Channels
from cluster_model.controller.zookeeper.controller_context import ControllerContext
from cluster_model.controller.zookeeper.controller_event_queue import Hands, Lane, Steps, Task
from cluster_model.controller.zookeeper.controller_work import ControllerMovedError, Doing, Work
from cluster_model.controller.zookeeper.kafka_zk_client import (
    BROKER_IDS,
    CONTROLLER,
    DELETE_TOPICS,
    ISR_CHANGES,
    TOPICS,
    partition_at,
)
from cluster_model.controller.zookeeper.messages import (
    AlterPartitionsRequest,
    AlterPartitionsResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    ControlRequest,
    ControlResponse,
    StopReplicaRequest,
    StopReplicaResponse,
)
from cluster_model.controller.zookeeper.settings import ControlSettings
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import Port
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.versions import Profile

_WATCHED: Final = {
    CONTROLLER: "controller_change",
    BROKER_IDS: "broker_change",
    TOPICS: "topic_change",
    DELETE_TOPICS: "topic_deletion",
    ISR_CHANGES: "isr_notification",
}
Settings = tuple[tuple[str, Any], ...]
_ALWAYS: Final = ("reelect", "controller_change", "defaults_changed")
"""Events that matter to a broker that is not the controller, too."""


class KafkaController:
    """One per broker process."""

    __slots__ = ("_events", "_given", "_port", "channels", "lane", "work")

    def __init__(
        self,
        port: Port,
        profile: Profile,
        config: BrokerConfig,
        defaults: dict[str, Any],
        hands: Hands,
        ask: Callable[[Any, Task], None],
    ) -> None:
        self._port = port
        self._given: Settings = ()
        """The broker's configuration that was given at run time, perhaps ahead of what the lane has come to."""
        self.channels = Channels(port, ControlSettings.of(defaults).socket_timeout_us, self._answered)
        self.work = Work(port.node_id, profile, config, defaults, hands, self.channels, self._put)
        context = self.work.context
        self.lane = Lane("controller", self._begin, ask, hands, context.save, context.load)
        work = self.work
        self._events: dict[str, Callable[..., Doing]] = {
            "reelect": lambda: election.race(work),
            "controller_change": lambda: election.changed(work),
            "broker_change": lambda: broker_changes.changed(work),
            "topic_change": lambda: topics.changed(work),
            "partitions_change": lambda topic: topics.partitions_changed(work, topic),
            "topic_deletion": lambda: topic_deletion.requested(work),
            "isr_notification": lambda: isr_changes.notified(work),
            "state_change": lambda partition: reassignment.isr_changed(work, partition),
            "stopped": lambda broker, answers: topic_deletion.stopped(work, broker, answers),
            "rebalance": lambda: elections.rebalance(work),
            "defaults_changed": lambda settings: topics.defaults_changed(work, settings),
            "unclean_allowed": lambda names: topics.unclean_allowed(work, list(names)),
            "alter_partition": lambda source, request: isr_changes.proposed(work, source, request),
            "controlled_shutdown": lambda source, request: elections.controlled_shutdown(work, source, request),
            "elect_leaders": lambda source, request: administration.elect_leaders(work, source, request),
            "reassign": lambda source, request: administration.reassign(work, source, request),
            "elect_directly": lambda partition, unclean: administration.elect_directly(work, partition, unclean),
        }

    @property
    def is_active(self) -> bool:
        """Whether it takes itself to be the controller."""
        return self.work.context.active

    def _put(self, *task: Any) -> None:
        self.lane.put(*task)

    def _begin(self, task: Task) -> Steps:
        name, *arguments = task
        if not self.is_active and name not in _ALWAYS:
            self._refuse(name, arguments)
            return
        try:
            yield from self._events[name](*arguments)
        except ControllerMovedError:
            election.resign(self.work)
            yield from election.changed(self.work)

    def _refuse(self, name: str, arguments: list[Any]) -> None:
        """Requests to one that is not the controller (any more)."""
        if name == "alter_partition":
            source, request = arguments
            answer = AlterPartitionsResponse(request.correlation, KafkaError.NOT_CONTROLLER, ())
            self.work.hands.send(source, answer)
        elif name == "controlled_shutdown":
            source, request = arguments
            refused = ControlledShutdownResponse(request.correlation, KafkaError.NOT_CONTROLLER, ())
            self.work.hands.send(source, refused)
        elif name in ("elect_leaders", "reassign"):
            administration.refuse(self.work, *arguments)

    def begin(self) -> None:
        """Be the controller at the first instant, its context filled by who forms the cluster."""
        for broker in self.work.context.brokers:
            self.channels.add(broker)
        election.begin_rebalancing(self.work)

    def elect(self, partition: str, *, unclean: bool) -> KafkaError:
        """An administrator's election whose asker waits for no answer: why it would come to nothing, or it is held.

        Unclean ones too before 2.4, where an administrator had to allow them first and then to move the controller.
        """
        error = elections.needed(self.work.context, partition, unclean=unclean)
        if error is KafkaError.NONE:
            self.lane.put("elect_directly", partition, unclean)
        return error

    # -- what comes from outside ------------------------------------------------------------------------------------

    def configured(self, settings: Settings) -> None:
        """The broker's configuration was altered while it runs: these are given, all others are as they were."""
        self._given = settings
        self.lane.put("defaults_changed", settings)

    def session_began(self) -> None:
        """A new session: run for controller."""
        self.lane.put("reelect")

    def expired(self) -> None:
        """The session is over: whatever was being done failed, and this is no controller (``Expire``)."""
        self.lane.abandon()
        self.work.context.defaults = dict(self._given)
        election.resign(self.work)

    def stopped(self) -> None:
        """The process died."""
        self.lane.abandon()
        self._given = ()
        self.channels.stopped()
        self.work.batch.clear()
        self.work.context.load(ControllerContext().save())

    def watched(self, path: str) -> bool:
        """A watch went off; False if it is not the controller's."""
        if path in _WATCHED:
            self.lane.put(_WATCHED[path])
        elif partition_at(path):
            self.lane.put("state_change", partition_at(path))
        elif path.startswith(f"{TOPICS}/"):
            self.lane.put("partitions_change", path.rpartition("/")[2])
        else:
            return False
        return True

    def on_timer(self, timer: Payload) -> bool:
        """Handle a timer; False if it is not the controller's."""
        name = timer[0]
        if name == RETRY:
            self.channels.on_retry(timer[1])
        elif name == TIMEOUTS:
            self.channels.on_timeouts()
        elif name == election.REBALANCE:
            if self.is_active and self.work.context.epoch == timer[1]:
                self.lane.put("rebalance")
                self._port.timer(self.work.settings.rebalance_us, election.REBALANCE, timer[1])
        else:
            return False
        return True

    def responded(self, source: int, response: ControlResponse) -> None:
        """A broker answered a request."""
        self.channels.receive(source, response)

    def _answered(self, broker: int, request: ControlRequest, response: ControlResponse) -> None:
        if isinstance(request, StopReplicaRequest) and isinstance(response, StopReplicaResponse):
            deleted = [stopped.partition for stopped in request.partitions if stopped.delete]
            answers = tuple([(name, error) for name, error in response.partitions if name in deleted])
            if answers and not response.error:
                self.lane.put("stopped", broker, answers)

    def alter_partitions(self, source: int, request: AlterPartitionsRequest) -> None:
        """A broker proposes ISRs."""
        self.lane.put("alter_partition", source, request)

    def controlled_shutdown(self, source: int, request: ControlledShutdownRequest) -> None:
        """A broker is about to stop."""
        self.lane.put("controlled_shutdown", source, request)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.lane.save(), self.channels.save(), self._given)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        lane, channels, self._given = saved
        self.work.batch.clear()
        self.lane.load(lane)
        self.channels.load(channels)
