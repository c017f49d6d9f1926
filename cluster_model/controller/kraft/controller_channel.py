"""A broker's requests to the active controller: ISR changes, forwarded requests (``NodeToControllerChannelManager``).

Requests wait in a queue, one is under way at a time. While no controller is known they wait; a broken connection, an
answer NOT_CONTROLLER or none in time closes the connection and brings the same request to whoever is the controller by
then. The quorum's own traffic says who that is.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster_model.controller.kraft.messages import AlterPartitionBatchRequest, AlterPartitionBatchResponse
from cluster_model.controller.kraft.quorum_controller import REQUESTS
from cluster_model.controller.raft.raft_client import MetadataLog
from cluster_model.kernel.node_context import Alarm, NodeContext
from cluster_model.protocol.admin_messages import EnvelopeRequest, EnvelopeResponse
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NOBODY, AlterPartitionRequest, AlterPartitionResponse

POLL_US: Final = 100_000
"""How often a request that waits looks whether a controller is known by now (``InterBrokerSendThread``)."""
RECONNECT_US: Final = 50_000
"""Pause before another try (``reconnect.backoff.ms``)."""


class RequestInFlight(NamedTuple):
    """A request that was sent, to whom, and when it will have taken too long."""

    target: int
    request: Any
    deadline: int


class ControllerChannel:
    """One of them; the broker has several, as each lets one request pass at a time."""

    __slots__ = ("_alarm", "_log", "_name", "_port", "_queue", "_ready_at", "_timeout_us", "flying")

    def __init__(self, port: NodeContext, name: str, log: MetadataLog, timeout_us: int) -> None:
        """``name`` is that of its timer; a request is given up after ``timeout_us`` without an answer, and repeated."""
        self._port = port
        self._name = name
        self._log = log
        self._timeout_us = timeout_us
        self._alarm = Alarm(port, name)
        self._queue: list[Any] = []
        self._ready_at = 0
        self.flying: RequestInFlight | None = None

    @property
    def busy(self) -> bool:
        """Whether a request is under way or waits."""
        return self.flying is not None or bool(self._queue)

    def send(self, request: Any) -> None:
        """Have a request sent; it has a ``correlation`` that no other one of this channel has."""
        self._queue.append(request)
        self._pump()

    def _pump(self) -> None:
        if self.flying is not None or not self._queue:
            return
        now = self._port.now
        leader = self._log.leader
        if now < self._ready_at:
            self._alarm.want(self._ready_at)
        elif leader == NOBODY:
            self._alarm.want(now + POLL_US)
        else:
            request = self._queue.pop(0)
            self.flying = RequestInFlight(leader, request, now + self._timeout_us)
            self._port.send(leader, request)
            self._alarm.want(now + self._timeout_us)

    def answered(self, response: Any) -> Any | None:
        """An answer came: the request it belongs to; None if it is to be asked again, or is not asked any more."""
        flying = self.flying
        if flying is None or flying.request.correlation != response.correlation:
            return None
        self.flying = None
        if response.error == KafkaError.NOT_CONTROLLER:
            self._port.abandon(flying.target)
            self._again(flying.request)
            return None
        self._pump()
        return flying.request

    def _again(self, request: Any) -> None:
        self._queue.insert(0, request)
        self._ready_at = self._port.now + RECONNECT_US
        self._pump()

    def on_timer(self) -> None:
        """Its timer rang: perhaps a request took too long, or one that waits can go."""
        if not self._alarm.rang():
            return
        flying = self.flying
        if flying is None:
            self._pump()
        elif flying.deadline <= self._port.now:
            self.flying = None
            self._port.abandon(flying.target)
            self._again(flying.request)
        else:
            self._alarm.want(flying.deadline)

    def on_disconnect(self, peer: int) -> None:
        """A connection broke; what was asked through it is asked again."""
        flying = self.flying
        if flying is not None and flying.target == peer:
            self.flying = None
            self._again(flying.request)

    def clear(self) -> None:
        """Nothing is asked any more."""
        self._queue.clear()
        self.flying = None

    def stopped(self) -> None:
        """The process died."""
        self.clear()
        self._ready_at = 0
        self._alarm.forget()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._queue), self._ready_at, self.flying, self._alarm.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        queue, self._ready_at, self.flying, alarm = saved
        self._queue = list(queue)
        self._alarm.load(alarm)


# ISR changes proposed by the leaders on one broker (``AlterPartitionManager``, KIP-497).
#
# One request is under way at a time, with everything that waits; what comes meanwhile goes with the next. No proposal
# is given up: it is repeated until it is answered.


RETRY_US: Final = 50_000
"""Pause after an answer that refused everything."""
AGAIN: Final = "alter partition again"


class AlterPartitionManager:
    """One broker's."""

    __slots__ = ("_broker_epoch", "_correlation", "_flying", "_port", "_take", "_waiting", "channel")

    def __init__(
        self,
        port: NodeContext,
        channel: ControllerChannel,
        broker_epoch: Callable[[], int],
        take: Callable[[AlterPartitionResponse], None],
    ) -> None:
        """``take`` gets the answers for partitions."""
        self._port = port
        self.channel = channel
        self._broker_epoch = broker_epoch
        self._take = take
        self._waiting: dict[str, AlterPartitionRequest] = {}
        """Proposals without an answer, those under way included; a newer one takes the place of the older."""
        self._correlation = 0
        self._flying = False

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """A leader wants another ISR."""
        self._waiting[proposal.partition] = proposal
        self.propagate()

    def propagate(self) -> None:
        """Send what waits, unless a request is under way."""
        if self._flying or not self._waiting:
            return
        self._flying = True
        self._correlation += 1
        epoch = self._broker_epoch()
        partitions = tuple(proposal._replace(broker_epoch=epoch) for proposal in self._waiting.values())
        self.channel.send(AlterPartitionBatchRequest(self._correlation, self._port.node_id, epoch, partitions))

    def answered(self, response: AlterPartitionBatchResponse) -> None:
        """Hand the answers out; whatever was not answered is asked again."""
        request = self.channel.answered(response)
        if request is None:
            return
        if response.error != KafkaError.NONE:
            self._port.timer(RETRY_US, AGAIN, self._correlation)
            return
        # Every leadership numbers its proposals anew: a later one with the same number may wait by now.
        asked = {proposal.partition: proposal.leader_epoch for proposal in request.partitions}
        for answer in response.partitions:
            waiting = self._waiting.get(answer.partition)
            if waiting is not None and (waiting.leader_epoch, waiting.correlation) == (
                asked.get(answer.partition), answer.correlation,
            ):  # fmt: skip
                del self._waiting[answer.partition]
                self._take(answer)
        # Only now: what the answers made leaders propose anew goes together, and nothing that was answered goes again.
        self._flying = False
        self.propagate()

    def on_timer(self, timer: tuple[Any, ...]) -> None:
        """The pause after a refusal is over."""
        if self._flying and timer[1] == self._correlation and not self.channel.busy:
            self._flying = False
            self.propagate()

    def stopped(self) -> None:
        """The process died."""
        self._waiting.clear()
        self._flying = False
        self.channel.stopped()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._waiting.values()), self._correlation, self._flying, self.channel.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        waiting, self._correlation, self._flying, channel = saved
        self._waiting = {proposal.partition: proposal for proposal in waiting}
        self.channel.load(channel)


# Administrators' requests forwarded to the active controller (``ForwardingManager``).


class Forwarding:
    """One broker's."""

    __slots__ = ("_asking", "_correlation", "_port", "channel")

    REQUESTS: Final = REQUESTS

    def __init__(self, port: NodeContext, channel: ControllerChannel) -> None:
        self.channel = channel
        self._port = port
        self._correlation = 0
        self._asking: dict[int, int] = {}
        """Number of an envelope → who waits for what comes back in it."""

    def forward(self, source: int, request: Any) -> None:
        """Hand a request on."""
        self._correlation += 1
        self._asking[self._correlation] = source
        self.channel.send(EnvelopeRequest(self._correlation, request))

    def answered(self, response: EnvelopeResponse) -> None:
        """Bring an answer back."""
        if self.channel.answered(response) is not None:
            source = self._asking.pop(response.correlation, None)
            if source is not None and response.response is not None:
                self._port.send(source, response.response)

    def stopped(self) -> None:
        """The process died."""
        self._asking.clear()
        self.channel.stopped()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._correlation, tuple(self._asking.items()), self.channel.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._correlation, asking, channel = saved
        self._asking = dict(asking)
        self.channel.load(channel)
