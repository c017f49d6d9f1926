"""Asking for a producer id (InitProducerId without a transactional id, KIP-98): any broker will do."""

from typing import Any

from cluster_model.clients.metadata import Metadata
from cluster_model.kernel.node_context import Alarm, Port
from cluster_model.protocol.messages import NOBODY, InitProducerIdRequest, InitProducerIdResponse


class IdRequest:
    """At most one request under way; repeated after the back-off until it is answered."""

    __slots__ = ("_alarm", "_asked_at", "_backoff_us", "_correlation", "_metadata", "_node", "_port", "_timeout_us")

    def __init__(self, port: Port, metadata: Metadata, *, backoff_us: int, timeout_us: int) -> None:
        self._port = port
        self._metadata = metadata
        self._backoff_us = backoff_us
        self._timeout_us = timeout_us
        self._alarm = Alarm(port, "producer id")
        self._correlation = port.first_number
        self._node = NOBODY
        """Broker that is being asked."""
        self._asked_at = -1
        """When it was asked last, -1 while nothing is wanted."""

    def want(self) -> None:
        """Ask, unless that has been done."""
        if self._asked_at < 0:
            self._ask()

    def _ask(self) -> None:
        now = self._port.now
        self._node = self._metadata.pick()
        self._asked_at = now
        self._correlation += 1
        self._port.send(self._node, InitProducerIdRequest(self._correlation))
        self._alarm.want(now + self._timeout_us)

    def _again(self) -> None:
        self._node = NOBODY
        self._alarm.want(self._port.now + self._backoff_us)

    def rang(self) -> None:
        """The alarm: nobody has answered, or the back-off is over."""
        if not self._alarm.rang() or self._asked_at < 0:
            return
        if self._node == NOBODY:
            self._ask()
        elif self._port.now - self._asked_at >= self._timeout_us:
            self._metadata.avoid(self._node)
            self._ask()
        else:
            self._alarm.want(self._asked_at + self._timeout_us)

    def disconnected(self, peer: int) -> None:
        """The connection to a broker broke."""
        if peer == self._node:
            self._again()

    def answered(self, response: InitProducerIdResponse) -> bool:
        """Whether this is the id that was waited for."""
        if self._node == NOBODY or response.correlation != self._correlation:
            return False
        if response.error:
            self._again()
            return False
        self._node = NOBODY
        self._asked_at = -1
        return True

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._alarm.save(), self._correlation, self._node, self._asked_at)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        alarm, self._correlation, self._node, self._asked_at = saved
        self._alarm.load(alarm)
