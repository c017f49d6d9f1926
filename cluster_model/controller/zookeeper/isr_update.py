"""A leader's ISR changes: written to ZooKeeper up to 2.6, proposed to the controller since 2.7 (KIP-497).

A failure changes nothing, and the change is retried at the next occasion, indefinitely, until a new LeaderAndIsr brings
another version (KAFKA-2729). From 0.9 on the controller learns of a change through /isr_change_notification, after a
delay (``ReplicaManager.maybePropagateIsrChanges``).

The write is synchronous in Kafka: its thread holds the partition's lock. Of that the model keeps that a broker's writes
are sequential, and that the partition's next change waits. Appends and fetches, which the lock delays briefly, continue
here, by the more careful of both ISRs.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.controller_event_queue import ControllerEventThread, SideEffects, Steps, Task
from cluster_model.controller.zookeeper.kafka_zk_client import ISR_CHANGES, StateNode, state_path
from cluster_model.controller.zookeeper.messages import AlterPartitionsRequest, AlterPartitionsResponse
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER, AlterPartitionRequest, AlterPartitionResponse
from cluster_model.protocol.versions import Profile

PERIOD_US: Final = 2_500_000
"""Interval at which a broker checks for changes to propagate (``isr-change-propagation``)."""
QUIET_US: Final = 5_000_000
"""Changes are propagated when no further change occurred for this long ..."""
LONGEST_US: Final = 60_000_000
"""... or when nothing was propagated for this long."""
PROPAGATE: Final = "isr change propagation"


class IsrWriter:
    """Writes the ISR changes of one broker's partitions to ZooKeeper (up to 2.6)."""

    __slots__ = (
        "_changed", "_deliver", "_epochs", "_last_change", "_last_propagation", "_port", "_profile", "_since",
        "_writing", "lane",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        effects: SideEffects,
        ask: Callable[[Any, Task], None],
        deliver: Callable[[AlterPartitionResponse], Any],
    ) -> None:
        self._port = port
        self._profile = profile
        self._deliver = deliver
        self._epochs: dict[str, int] = {}
        """Partition → controller epoch of the LeaderAndIsr that made this broker its leader."""
        self._writing: dict[str, AlterPartitionRequest] = {}
        self._changed: dict[str, None] = {}
        """Changed partitions that the controller does not know of yet."""
        self._last_change = 0
        self._last_propagation = 0
        self._since = 0
        """Time at which the process began to serve, the start of the periods."""
        self.lane = ControllerEventThread("isr", lambda task: self._begin(task, effects), ask, effects, tuple, _nothing)

    def serving(self) -> None:
        """Start the periodic task; without changes it sets no timer."""
        self._since = self._last_propagation = self._port.now

    def set_controller_epoch(self, partition: str, controller_epoch: int) -> None:
        """Record the controller epoch of the LeaderAndIsr that a partition is led by."""
        self._epochs[partition] = controller_epoch

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """Write a proposed ISR."""
        self._writing[proposal.partition] = proposal
        self.lane.put("write", proposal, self._epochs.get(proposal.partition, 0))

    def _begin(self, task: Task, effects: SideEffects) -> Steps:
        if task[0] == "propagate":
            yield (kafka_zk_client.create(f"{ISR_CHANGES}/isr_change_", task[1], sequential=True),)
            return
        proposal: AlterPartitionRequest = task[1]
        path = state_path(proposal.partition)
        node = StateNode(proposal.leader, proposal.leader_epoch, proposal.isr, task[2], by="leader")
        (answer,) = yield (kafka_zk_client.put(path, node, proposal.partition_epoch),)
        if answer.outdated:
            # Possibly by this very write, whose response was lost (``checkLeaderAndIsrZkData``).
            (answer,) = yield (kafka_zk_client.get(path),)
            if answer.ok and answer.data != node:
                answer = answer._replace(version=-1)
        effects.do(self._on_written, proposal, answer.version if answer.ok else -1)

    def _on_written(self, proposal: AlterPartitionRequest, version: int) -> None:
        if self._writing.get(proposal.partition) == proposal:
            del self._writing[proposal.partition]
        if version >= 0:
            self._note(proposal.partition)
        self._deliver(_answer(proposal, version))

    def _note(self, partition: str) -> None:
        if not self._profile.isr_change_notification:
            return
        if not self._changed:
            self._schedule()
        self._changed[partition] = None
        self._last_change = self._port.now

    def _schedule(self) -> None:
        since = self._port.now - self._since
        self._port.timer(PERIOD_US - since % PERIOD_US, PROPAGATE)

    def on_timer(self) -> None:
        """A period ended: propagate changes, or wait for the next period."""
        now = self._port.now
        if not self._changed:
            return
        if now - self._last_change > QUIET_US or now - self._last_propagation > LONGEST_US:
            self.lane.put("propagate", tuple(self._changed))
            self._changed.clear()
            self._last_propagation = now
        else:
            self._schedule()

    def expired(self) -> None:
        """The session expired: writes in progress count as failed."""
        self.lane.abandon()
        failed, self._writing = self._writing, {}
        for proposal in failed.values():
            self._deliver(_answer(proposal, -1))

    def stopped(self) -> None:
        """The process died."""
        self.lane.abandon()
        for table in (self._epochs, self._writing, self._changed):
            table.clear()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            self.lane.save(), tuple(self._epochs.items()), tuple(self._writing.items()), tuple(self._changed),
            self._last_change, self._last_propagation, self._since,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        lane, epochs, writing, changed, self._last_change, self._last_propagation, self._since = saved
        self._epochs, self._writing, self._changed = dict(epochs), dict(writing), dict.fromkeys(changed)
        self.lane.load(lane)


def _answer(proposal: AlterPartitionRequest, version: int) -> AlterPartitionResponse:
    error = KafkaError.NONE if version >= 0 else KafkaError.INVALID_UPDATE_VERSION
    name, epoch, isr, number = proposal.partition, proposal.leader_epoch, proposal.isr, proposal.correlation_id
    return AlterPartitionResponse(name, error, epoch, isr, version, number)


def _nothing(_saved: Any) -> None:
    """Restore nothing: the thread's tasks change no saved state."""


# Since 2.7 a leader proposes its ISR to the controller (KIP-497): all waiting proposals in one request, one at a time.


RETRY_US: Final = 50_000
"""Pause after a response that requests a retry (``AlterPartitionManager``)."""
SEND: Final = "alter partition"
AGAIN: Final = "alter partition again"
TIMED_OUT: Final = "alter partition timeout"


class AlterIsrManager:
    """Sends the ISR proposals of one broker's partitions to the controller (``AlterPartitionManager``, since 2.7)."""

    __slots__ = (
        "_controller", "_correlation", "_deliver", "_epoch", "_port", "_propose_again", "_retrying", "_sent_to",
        "_timeout_us", "_timer", "_unsettled", "_waits",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        timeout_us: int,
        controller: Callable[[], int],
        epoch: Callable[[], int],
        deliver: Callable[[AlterPartitionResponse], bool],
        propose_again: Callable[[str], None],
    ) -> None:
        """``controller`` returns the controller in this broker's metadata, ``epoch`` its own broker epoch.

        A request times out after ``timeout_us``.
        """
        self._port = port
        self._timeout_us = timeout_us
        self._controller = controller
        self._epoch = epoch
        self._deliver = deliver
        self._propose_again = propose_again
        self._unsettled: dict[str, AlterPartitionRequest] = {}
        self._sent_to = NO_LEADER
        """Target of the request in flight, NO_LEADER if there is none."""
        self._waits = False
        """Whether the next request has to wait for the end of a pause."""
        self._correlation = 0
        self._retrying: dict[str, None] = {}
        self._timer = DeadlineTimer(port, TIMED_OUT)

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """Queue the ISR that a leader proposes."""
        unchecked = (-1,) * len(proposal.isr)
        self._unsettled[proposal.partition] = proposal._replace(isr_epochs=unchecked)
        self._send()

    def _send(self) -> None:
        if self._sent_to != NO_LEADER or self._waits or not self._unsettled:
            return
        controller = self._controller()
        if controller == NO_LEADER:
            self._pause()
            return
        epoch = self._epoch()
        proposals = tuple(proposal._replace(broker_epoch=epoch) for proposal in self._unsettled.values())
        self._correlation += 1
        self._sent_to = controller
        request = AlterPartitionsRequest(self._correlation, self._port.node_id, epoch, proposals)
        self._port.send(controller, request)
        self._timer.forget()
        self._timer.arm(self._port.now + self._timeout_us)

    def _pause(self) -> None:
        self._sent_to = NO_LEADER
        if not self._waits:
            self._waits = True
            self._port.timer(RETRY_US, SEND)

    def receive(self, response: AlterPartitionsResponse) -> None:
        """Handle the controller's response."""
        if response.correlation_id != self._correlation or self._sent_to == NO_LEADER:
            return
        self._timer.forget()
        if response.error:
            self._pause()
            return
        self._sent_to = NO_LEADER
        for answer in response.partitions:
            known = self._unsettled.get(answer.partition)
            if known is not None and known.correlation_id == answer.correlation_id:
                del self._unsettled[answer.partition]
            if self._deliver(answer) and answer.partition not in self._retrying:
                self._retrying[answer.partition] = None
                self._port.timer(RETRY_US, AGAIN, answer.partition)
        self._send()

    def on_disconnect(self, peer: int) -> None:
        """The connection to ``peer`` broke: a request in flight to it is lost."""
        if peer == self._sent_to:
            self._timer.forget()
            self._pause()

    def on_timer(self, timer: tuple[Any, ...]) -> bool:
        """Handle a timer; False if it is not one of the proposals."""
        if timer[0] == SEND:
            self._waits = False
            self._send()
        elif timer[0] == AGAIN:
            self._retrying.pop(timer[1], None)
            self._propose_again(timer[1])
        elif timer[0] == TIMED_OUT:
            if self._timer.take_expired() and self._sent_to != NO_LEADER:
                self._port.abandon(self._sent_to)
                self._pause()
        else:
            return False
        return True

    def stopped(self) -> None:
        """The process died."""
        self._unsettled.clear()
        self._retrying.clear()
        self._sent_to = NO_LEADER
        self._waits = False
        self._timer.forget()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            tuple(self._unsettled.values()), self._sent_to, self._waits, self._correlation, tuple(self._retrying),
            self._timer.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        unsettled, self._sent_to, self._waits, self._correlation, retrying, timer = saved
        self._unsettled = {proposal.partition: proposal for proposal in unsettled}
        self._retrying = dict.fromkeys(retrying)
        self._timer.load(timer)
