"""The controller's connections to brokers: one request under way on each, the others in order behind it.

A request is sent again until it is answered or the broker is given up (``ControllerChannelManager``,
``RequestSendThread``), so brokers can be in different states for any length of time.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from cluster_model.controller.zookeeper.messages import ControlRequest, ControlResponse
from cluster_model.kernel.node_context import Alarm, Port

BACKOFF_US: Final = 100_000
"""Until a request that could not be sent is tried again."""
RETRY: Final = "controller channel"
TIMEOUTS: Final = "controller sockets"
"""Names of timers."""


class Channel:
    """The connection to one broker."""

    __slots__ = ("deadline", "queue", "resting")

    def __init__(self) -> None:
        self.queue: deque[ControlRequest] = deque()
        """The first is under way, unless ``resting``."""
        self.deadline = -1
        """When the first counts as unanswered, -1 while nothing is under way."""
        self.resting = False
        """A retry waits for its time."""


class Channels:
    """All of them."""

    __slots__ = ("_alarm", "_answered", "_channels", "_correlation", "_port", "_timeout_us")

    def __init__(
        self, port: Port, timeout_us: int, answered: Callable[[int, ControlRequest, ControlResponse], None]
    ) -> None:
        self._port = port
        self._timeout_us = timeout_us
        self._answered = answered
        self._channels: dict[int, Channel] = {}
        self._correlation = 0
        self._alarm = Alarm(port, TIMEOUTS)

    def add(self, broker: int) -> None:
        """A broker is there; with nothing under way to it yet."""
        self._channels.setdefault(broker, Channel())

    def remove(self, broker: int) -> None:
        """A broker is given up, and with it what was still to be sent."""
        self._channels.pop(broker, None)

    def clear(self) -> None:
        """Not the controller any more, or dead."""
        self._channels.clear()

    def stopped(self) -> None:
        """The process died."""
        self._channels.clear()
        self._alarm.forget()

    def send(self, broker: int, request: ControlRequest) -> None:
        """Put a request behind the others; nothing for a broker that is not there."""
        channel = self._channels.get(broker)
        if channel is None:
            return
        self._correlation += 1
        channel.queue.append(request._replace(correlation=self._correlation))
        if len(channel.queue) == 1 and not channel.resting:
            self._transmit(broker, channel)

    def _transmit(self, broker: int, channel: Channel) -> None:
        self._port.send(broker, channel.queue[0])
        channel.deadline = self._port.now + self._timeout_us
        self._alarm.want(channel.deadline)

    def receive(self, source: int, response: ControlResponse) -> None:
        """A broker's answer; one to a request that is not under way any more means nothing."""
        channel = self._channels.get(source)
        if channel is None or channel.deadline < 0 or channel.queue[0].correlation != response.correlation:
            return
        request = channel.queue.popleft()
        channel.deadline = -1
        if channel.queue:
            self._transmit(source, channel)
        self._answered(source, request, response)

    def on_disconnect(self, peer: int) -> None:
        """What is under way to ``peer`` is lost; it is sent again a little later."""
        channel = self._channels.get(peer)
        if channel is not None and channel.deadline >= 0:
            self._rest(peer, channel)

    def _rest(self, broker: int, channel: Channel) -> None:
        channel.deadline = -1
        channel.resting = True
        self._port.timer(BACKOFF_US, RETRY, broker)

    def on_retry(self, broker: int) -> None:
        """A timer: try again."""
        channel = self._channels.get(broker)
        if channel is not None and channel.resting:
            channel.resting = False
            if channel.queue:
                self._transmit(broker, channel)

    def on_timeouts(self) -> None:
        """A timer: perhaps an answer is overdue (``controller.socket.timeout.ms``)."""
        if not self._alarm.rang():
            return
        for broker, channel in self._channels.items():
            if 0 <= channel.deadline <= self._port.now:
                self._port.abandon(broker)
                self._rest(broker, channel)
        deadlines = [channel.deadline for channel in self._channels.values() if channel.deadline >= 0]
        if deadlines:
            self._alarm.want(min(deadlines))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        channels = tuple((b, tuple(c.queue), c.deadline, c.resting) for b, c in self._channels.items())
        return (channels, self._correlation, self._alarm.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        channels, self._correlation, alarm = saved
        self._channels.clear()
        for broker, queue, deadline, resting in channels:
            channel = self._channels[broker] = Channel()
            channel.queue.extend(queue)
            channel.deadline, channel.resting = deadline, resting
        self._alarm.load(alarm)
