"""A broker's way to whoever is the active controller (``NodeToControllerChannelManager``).

Requests wait in a queue, one is under way at a time. While no controller is known they wait; a broken connection, an
answer NOT_CONTROLLER or none in time brings the same request to whoever is the controller by then. The quorum's own
traffic says who that is.
"""

from typing import Any, Final, NamedTuple

from cluster_model.controller.raft.metadata_log import MetadataLog
from cluster_model.kernel.node_context import Alarm, Port
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NOBODY

POLL_US: Final = 100_000
"""How often a request that waits looks whether a controller is known by now (``InterBrokerSendThread``)."""
RECONNECT_US: Final = 50_000
"""Pause before another try (``reconnect.backoff.ms``)."""


class InFlight(NamedTuple):
    """A request that was sent, to whom, and when it will have taken too long."""

    target: int
    request: Any
    deadline: int


class ControllerChannel:
    """One of them; the broker has several, as each lets one request pass at a time."""

    __slots__ = ("_alarm", "_log", "_name", "_port", "_queue", "_ready_at", "_timeout_us", "flying")

    def __init__(self, port: Port, name: str, log: MetadataLog, timeout_us: int) -> None:
        """``name`` is that of its timer; a request is given up after ``timeout_us`` without an answer, and repeated."""
        self._port = port
        self._name = name
        self._log = log
        self._timeout_us = timeout_us
        self._alarm = Alarm(port, name)
        self._queue: list[Any] = []
        self._ready_at = 0
        self.flying: InFlight | None = None

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
            self.flying = InFlight(leader, request, now + self._timeout_us)
            self._port.send(leader, request)
            self._alarm.want(now + self._timeout_us)

    def answered(self, response: Any) -> Any | None:
        """An answer came: the request it belongs to; None if it is to be asked again, or is not asked any more."""
        flying = self.flying
        if flying is None or flying.request.correlation != response.correlation:
            return None
        self.flying = None
        if response.error == KafkaError.NOT_CONTROLLER:
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
