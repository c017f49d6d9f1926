"""A broker's requests to the active controller (``NodeToControllerChannelManager``): ISR changes, forwarding.

Requests queue, and one is in flight at a time. They wait while no controller is known. A broken connection, a
NOT_CONTROLLER response or a timeout closes the connection, and the same request is sent again to the active controller
of that time, which the quorum's own traffic reveals.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster_model.controller.kraft.messages import AlterPartitionBatchRequest, AlterPartitionBatchResponse
from cluster_model.controller.kraft.quorum_controller import REQUESTS
from cluster_model.controller.raft.raft_client import MetadataLog
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.admin_messages import EnvelopeRequest, EnvelopeResponse
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER, AlterPartitionRequest, AlterPartitionResponse

POLL_US: Final = 100_000
"""Interval at which a waiting request checks whether a controller is known (``InterBrokerSendThread``)."""
RECONNECT_US: Final = 50_000
"""Pause before a retry (``reconnect.backoff.ms``)."""


class ControllerQueueItem(NamedTuple):
    """A waiting request, and the time at which it was queued first in µs (``NodeToControllerQueueItem``)."""

    request: Any
    created_at: int


class RequestInFlight(NamedTuple):
    """A request that was sent, its target node, and the times at which it times out and was queued in µs."""

    target: int
    request: Any
    deadline: int
    created_at: int


class ControllerChannel:
    """Queue of requests to the active controller, one in flight at a time; a broker has one per kind of request."""

    __slots__ = ("_log", "_name", "_port", "_queue", "_ready_at", "_timeout_us", "_timer", "in_flight", "on_timeout")

    def __init__(self, port: NodeContext, name: str, log: MetadataLog, timeout_us: int) -> None:
        """``name`` names its timer; a request without a response for ``timeout_us`` is sent again."""
        self.on_timeout: Callable[[], None] | None = None
        """Called in place of sending a request again that was queued ``timeout_us`` ago; None if none is dropped."""
        self._port = port
        self._name = name
        self._log = log
        self._timeout_us = timeout_us
        self._timer = DeadlineTimer(port, name)
        self._queue: list[ControllerQueueItem] = []
        self._ready_at = 0
        self.in_flight: RequestInFlight | None = None

    @property
    def busy(self) -> bool:
        """Whether a request is in flight or waiting."""
        return self.in_flight is not None or bool(self._queue)

    def send(self, request: Any) -> None:
        """Queue a request; its ``correlation_id`` is unique in this channel."""
        self._queue.append(ControllerQueueItem(request, self._port.now))
        self._send_ready()

    def _send_ready(self) -> None:
        if self.in_flight is not None or not self._queue:
            return
        now = self._port.now
        leader = self._log.leader
        if self.on_timeout is not None and now - self._queue[0].created_at >= self._timeout_us:
            self._queue.pop(0)
            self.on_timeout()
            self._send_ready()
        elif now < self._ready_at:
            self._timer.arm(self._ready_at)
        elif leader == NO_LEADER:
            self._timer.arm(now + POLL_US)
        else:
            request, created_at = self._queue.pop(0)
            self.in_flight = RequestInFlight(leader, request, now + self._timeout_us, created_at)
            self._port.send(leader, request)
            self._timer.arm(now + self._timeout_us)

    def take_response(self, response: Any) -> Any | None:
        """Return the request that a response belongs to; None if it is to be retried, or is unknown by now."""
        flying = self.in_flight
        if flying is None or flying.request.correlation_id != response.correlation_id:
            return None
        self.in_flight = None
        if response.error == KafkaError.NOT_CONTROLLER:
            self._port.abandon(flying.target)
            self._retry(flying)
            return None
        self._send_ready()
        return flying.request

    def _retry(self, flying: RequestInFlight) -> None:
        self._queue.insert(0, ControllerQueueItem(flying.request, flying.created_at))
        self._ready_at = self._port.now + RECONNECT_US
        self._send_ready()

    def on_timer(self) -> None:
        """Handle its timer: time out the request in flight, or send a waiting one."""
        if not self._timer.take_expired():
            return
        flying = self.in_flight
        if flying is None:
            self._send_ready()
        elif flying.deadline <= self._port.now:
            self.in_flight = None
            self._port.abandon(flying.target)
            self._retry(flying)
        else:
            self._timer.arm(flying.deadline)

    def on_disconnect(self, peer: int) -> None:
        """A connection broke: retry the request that was sent over it."""
        flying = self.in_flight
        if flying is not None and flying.target == peer:
            self.in_flight = None
            self._retry(flying)

    def clear(self) -> None:
        """Drop all requests."""
        self._queue.clear()
        self.in_flight = None

    def stopped(self) -> None:
        """The process died."""
        self.clear()
        self._ready_at = 0
        self._timer.forget()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (tuple(self._queue), self._ready_at, self.in_flight, self._timer.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        queue, self._ready_at, self.in_flight, timer = saved
        self._queue = list(queue)
        self._timer.load(timer)


# ISR changes proposed by the leaders on one broker (``AlterPartitionManager``, KIP-497). One request is in flight at a
# time and carries all waiting proposals; later ones go into the next. Proposals do not expire: each is repeated until
# it is answered.


RETRY_US: Final = 50_000
"""Pause after a response that rejected the whole request."""
AGAIN: Final = "alter partition again"


class AlterPartitionManager:
    """Sends the ISR changes that the leaders on one broker propose (``AlterPartitionManager``)."""

    __slots__ = ("_broker_epoch", "_correlation", "_flying", "_port", "_take", "_waiting", "channel")

    def __init__(
        self,
        port: NodeContext,
        channel: ControllerChannel,
        broker_epoch: Callable[[], int],
        take: Callable[[AlterPartitionResponse], None],
    ) -> None:
        """``take`` receives the response of each partition."""
        self._port = port
        self.channel = channel
        self._broker_epoch = broker_epoch
        self._take = take
        self._waiting: dict[str, AlterPartitionRequest] = {}
        """Unanswered proposals, including those in flight; a newer one of a partition replaces an older one."""
        self._correlation = 0
        self._flying = False

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """Queue the ISR change that a leader proposes."""
        self._waiting[proposal.partition] = proposal
        self.propagate()

    def propagate(self) -> None:
        """Send the waiting proposals, unless a request is in flight."""
        if self._flying or not self._waiting:
            return
        self._flying = True
        self._correlation += 1
        epoch = self._broker_epoch()
        partitions = tuple(proposal._replace(broker_epoch=epoch) for proposal in self._waiting.values())
        self.channel.send(AlterPartitionBatchRequest(self._correlation, self._port.node_id, epoch, partitions))

    def on_response(self, response: AlterPartitionBatchResponse) -> None:
        """Deliver the results of partitions to their leaders; proposals without a result are sent again."""
        request = self.channel.take_response(response)
        if request is None:
            return
        if response.error != KafkaError.NONE:
            self._port.timer(RETRY_US, AGAIN, self._correlation)
            return
        # Each leader epoch numbers its proposals anew: a later one with the same number may be waiting by now.
        sent_epochs = {proposal.partition: proposal.leader_epoch for proposal in request.partitions}
        for answer in response.partitions:
            waiting = self._waiting.get(answer.partition)
            if waiting is not None and (waiting.leader_epoch, waiting.correlation_id) == (
                sent_epochs.get(answer.partition), answer.correlation_id,
            ):  # fmt: skip
                del self._waiting[answer.partition]
                self._take(answer)
        # Not earlier: new proposals caused by these results go into one request, and no answered one is sent again.
        self._flying = False
        self.propagate()

    def on_timer(self, timer: tuple[Any, ...]) -> None:
        """Send again after the pause that follows a rejection."""
        if self._flying and timer[1] == self._correlation and not self.channel.busy:
            self._flying = False
            self.propagate()

    def stopped(self) -> None:
        """The process died."""
        self._waiting.clear()
        self._flying = False
        self.channel.stopped()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (tuple(self._waiting.values()), self._correlation, self._flying, self.channel.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        waiting, self._correlation, self._flying, channel = saved
        self._waiting = {proposal.partition: proposal for proposal in waiting}
        self.channel.load(channel)


# Requests of administrators, forwarded to the active controller (``ForwardingManager``, KIP-590).


class ForwardingManager:
    """Forwards the admin requests that one broker receives (``ForwardingManager``)."""

    __slots__ = ("_correlation", "_port", "_sources", "channel")

    REQUESTS: Final = REQUESTS

    def __init__(self, port: NodeContext, channel: ControllerChannel) -> None:
        self.channel = channel
        self._port = port
        self._correlation = 0
        self._sources: dict[int, int] = {}
        """Correlation of an envelope → node that waits for its response."""

    def forward(self, source: int, request: Any) -> None:
        """Forward a request in an envelope."""
        self._correlation += 1
        self._sources[self._correlation] = source
        self.channel.send(EnvelopeRequest(self._correlation, request))

    def on_response(self, response: EnvelopeResponse) -> None:
        """Return the response in an envelope to the node that sent the request."""
        if self.channel.take_response(response) is not None:
            source = self._sources.pop(response.correlation_id, None)
            if source is not None and response.response is not None:
                self._port.send(source, response.response)

    def stopped(self) -> None:
        """The process died."""
        self._sources.clear()
        self.channel.stopped()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (self._correlation, tuple(self._sources.items()), self.channel.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self._correlation, sources, channel = saved
        self._sources = dict(sources)
        self.channel.load(channel)
