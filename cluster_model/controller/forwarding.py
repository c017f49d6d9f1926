"""A broker hands administrators' requests on to the active controller, and brings the answers back (KIP-590).

KRaft only. Each request travels in an envelope under a number of the broker's own, by the broker's channel to the
controller: the channel waits for a controller, repeats what was lost and passes over NOT_CONTROLLER.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.clients.admin_messages import (
    AdminRequest,
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    EnvelopeRequest,
    EnvelopeResponse,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    UnregisterBrokerRequest,
)
from cluster_model.kernel.port import Port
from cluster_model.replication.control import Handlers

REQUESTS: tuple[type[Any], ...] = (
    CreateTopicsRequest, DeleteTopicsRequest, CreatePartitionsRequest, AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest, ElectLeadersRequest, IncrementalAlterConfigsRequest, UnregisterBrokerRequest,
)  # fmt: skip
"""What a broker hands on."""


class Forwarding:
    """Who waits for an answer through this broker (``ForwardingManagerImpl``)."""

    __slots__ = ("_correlation", "_port", "_send", "_waiting")

    def __init__(self, port: Port, send: Callable[[EnvelopeRequest], None]) -> None:
        """``send`` gives an envelope to the channel."""
        self._port = port
        self._send = send
        self._correlation = 0
        self._waiting: dict[int, tuple[int, int]] = {}
        """Number of the envelope → who asked, and under which number."""

    def handlers(self) -> Handlers:
        """For the broker: everything that is handed on."""
        return dict.fromkeys(REQUESTS, self.forward)

    def forward(self, source: int, request: AdminRequest) -> None:
        """A client's request."""
        self._correlation += 1
        self._waiting[self._correlation] = (source, request.correlation)
        self._send(EnvelopeRequest(self._correlation, request))

    def answered(self, response: EnvelopeResponse) -> None:
        """The controller's word; the channel has passed over those that it asks again for."""
        waiting = self._waiting.pop(response.correlation, None)
        if waiting is not None and response.response is not None:
            source, correlation = waiting
            self._port.send(source, response.response._replace(correlation=correlation))

    def stopped(self) -> None:
        """The process died: whoever waits learns it by the connection."""
        self._waiting.clear()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._correlation, tuple(self._waiting.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._correlation, waiting = saved
        self._waiting = dict(waiting)
