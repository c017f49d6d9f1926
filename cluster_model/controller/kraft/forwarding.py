"""A broker hands administrators' requests on to the active controller, and its answers back (``ForwardingManager``)."""

from typing import Any, Final

from cluster_model.controller.kraft.admin import REQUESTS
from cluster_model.controller.kraft.controller_channel import ControllerChannel
from cluster_model.kernel.node_context import Port
from cluster_model.protocol.admin_messages import EnvelopeRequest, EnvelopeResponse


class Forwarding:
    """One broker's."""

    __slots__ = ("_asking", "_correlation", "_port", "channel")

    REQUESTS: Final = REQUESTS

    def __init__(self, port: Port, channel: ControllerChannel) -> None:
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
