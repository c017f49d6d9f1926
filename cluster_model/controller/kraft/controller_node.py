"""A dedicated controller: a process of its own with a voter of the quorum (``process.roles=controller``)."""

from typing import Any

from cluster_model.controller.kraft.broker_side import ControllerOf, PeerOf, Told
from cluster_model.controller.kraft.metadata import Base, MetadataImage
from cluster_model.controller.kraft.records import Record
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import Port


class ControllerNode:
    """The node."""

    __slots__ = ("_base", "_told", "controller", "image", "peer", "runs")

    def __init__(self, port: Port, base: Base, peer_of: PeerOf, controller_of: ControllerOf, told: Told) -> None:
        self.runs = True
        """Whether there is a process."""
        self._base = base
        self._told = told
        self.image = MetadataImage(base)
        """As committed, as far as this node knows."""
        self.peer = peer_of(port, self)
        self.peer.on_left = lambda: port.exit("shutdown")
        self.controller = controller_of(port, self.peer, self.image)

    def receive(self, source: int, message: Any) -> None:
        """Handle a message."""
        if not self.peer.receive(source, message):
            self.controller.handlers[type(message)](source, message)

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer."""
        if not self.peer.on_timer(timer):
            self.controller.on_timer(timer)

    def on_disconnect(self, peer: int) -> None:
        """A connection broke."""
        self.peer.on_disconnect(peer)

    def on_leader(self, epoch: int) -> None:
        """The node has become the active controller."""
        self.controller.on_leader(epoch)

    def on_resigned(self) -> None:
        """It is no longer."""
        self.controller.on_resigned()

    def on_committed(self, base_offset: int, _epoch: int, records: tuple[Record, ...]) -> None:
        """A committed batch."""
        self._told(base_offset, records)
        self.image.replay(base_offset, records)
        self.controller.on_committed(base_offset + len(records))

    def started(self) -> None:
        """The process runs again, and replays the log as far as the quorum lets it."""
        self.runs = True
        self.image.reset(self._base)
        self.peer.started()

    def shut_down(self) -> None:
        """SIGTERM: a leader resigns first."""
        self.peer.leave()

    def stopped(self) -> None:
        """The process died."""
        self.runs = False
        self.controller.stopped()
        self.peer.stopped()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.runs, self.peer.save(), self.image.save(), self.controller.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after the network's."""
        self.runs, peer, image, controller = saved
        self.peer.load(peer)
        self.image.load(image)
        self.controller.load(controller)
