"""The interface of a control plane: its nodes, every broker's way to them, and the view of its members."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from cluster_model.broker.broker import Broker
from cluster_model.broker.control_plane_client import Control
from cluster_model.kernel.node_context import Port
from cluster_model.kernel.process import Node
from cluster_model.protocol.errors import KafkaError

# The view of one member of the control plane, as screens and conditions see it.


ControllerRole = Literal["active", "leader", "follower", "candidate", "looking", "standby", "zombie", "down"]
"""``active``: acts as controller; ``zombie``: acts as one though there is a newer; ``standby``: waits to be one.

``leader``, ``follower``, ``candidate`` and ``looking`` tell where a quorum's member stands that is not the controller.
"""


@dataclass(frozen=True, slots=True)
class ControllerView:
    """A node of the control plane: a KRaft controller, a ZooKeeper server, or a broker that is the controller."""

    node: int
    name: str
    role: ControllerRole
    """As the node itself believes; ``down`` while its process is not there."""
    epoch: int
    """The newest epoch that it knows of: of the quorum, or the controller epoch of a ZooKeeper-mode controller."""
    end: int
    """End of its log, -1 where it has none."""
    committed: int
    """What it knows to be committed of that, -1 likewise."""
    faults: tuple[str, ...] = ()
    """Names of the faults active on it."""


class Server(Node, Protocol):
    """A process of its own that belongs to the plane: a controller, a ZooKeeper server."""

    def stopped(self) -> None:
        """The process died: memory is gone."""

    def started(self) -> None:
        """The process runs again."""

    def shut_down(self) -> None:
        """SIGTERM: the process ends in order."""


class Plane(Protocol):
    """One of them stands behind each cluster. What it tells here is for views and selectors, not for nodes."""

    servers: dict[int, tuple[str, Server]]
    """Node id → name and node of every process that the plane has besides the brokers'."""

    def join(self, broker: Broker, port: Port, rack: str) -> Control:
        """Make a broker's side of it; every broker joins once, before :meth:`begin`."""

    def begin(self) -> None:
        """Stand in a formed cluster at its first instant: all registered, all decisions told to every broker."""

    def controllers(self) -> tuple[int, ...]:
        """Nodes that are or may become the controller, brokers' among them."""

    def active(self) -> int:
        """The node that acts as controller, NOBODY while none does. The newest by epoch, if several believe it."""

    def controller_epoch(self) -> int:
        """Epoch of the newest controller."""

    def view(self) -> tuple[ControllerView, ...]:
        """Every node of the plane as it sees itself; in ZooKeeper mode the servers, then the broker that is controller.

        ``role`` is ``down`` where the process is not there. A new controller also emits :class:`ControllerChanged`.
        """

    def is_live(self, broker: int) -> bool:
        """Whether a broker counts as alive by the committed state: registered, and not fenced."""

    def is_shutting_down(self, broker: int) -> bool:
        """Whether the controller knows a broker to be in controlled shutdown."""

    def broker_epoch(self, broker: int) -> int:
        """Of a broker's registration as committed, -1 for none."""

    def obeyed_epoch(self, broker: int) -> int:
        """The newest controller epoch that a broker's process has taken up."""

    def controller_known_to(self, broker: int) -> int:
        """Whom a running broker takes for the active controller, NOBODY while it knows none."""

    @property
    def session_us(self) -> int:
        """Silence after which a broker is given up."""

    def expire_session(self, broker: int) -> bool:
        """Give a broker up now, as if it had been silent for its session's time; False where nobody can.

        By the ensemble in ZooKeeper mode, by the active controller in KRaft mode. The broker is told nothing.
        """

    def depose_controller(self) -> bool:
        """Take the active controller's office from it, its process being well; False where it has none or nobody can.

        In ZooKeeper mode an operator deletes /controller, in KRaft mode the quorum's leader resigns its epoch.
        """

    def hold_metadata(self, broker: int, fault: int, delay_us: int, *, cache_only: bool) -> None:
        """Let what a broker is told of metadata take effect that late, 0: not until :meth:`pass_metadata`.

        ``cache_only``: in ZooKeeper mode UpdateMetadata alone, so that it leads and follows as it is told.
        """

    def pass_metadata(self, broker: int, fault: int) -> None:
        """Undo of :meth:`hold_metadata` by that fault."""

    def elect_leaders(self, partition: str, *, unclean: bool) -> KafkaError:
        """An administrator's election."""

    def save(self) -> tuple[Any, ...]:
        """All state but the brokers' sides."""

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
