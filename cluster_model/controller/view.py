"""The view of one member of the control plane, as screens and conditions see it."""

from dataclasses import dataclass
from typing import Literal

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
