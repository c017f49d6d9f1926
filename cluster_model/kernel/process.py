"""One process as the network sees it: its state, its incarnation, and what waits for it while it is paused."""

from enum import IntEnum
from typing import Any, Final, Protocol

from cluster_model.kernel.kernel import Payload

MESSAGE: Final = 0
TIMER: Final = 1
CONTROL: Final = 2
GIVE_UP: Final = 3
"""Kinds of kernel events."""


class ProcessState(IntEnum):
    """Whether a process handles events; ``OFF`` is down without its peers having been told."""

    RUNNING = 0
    PAUSED = 1
    DOWN = 2
    OFF = 3


RUNNING: Final = ProcessState.RUNNING


class Node(Protocol):
    """What the network delivers to."""

    def receive(self, source: int, message: Any) -> None:
        """Handle a message."""

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer set through :meth:`Port.timer`."""

    def on_disconnect(self, peer: int) -> None:
        """A connection to ``peer`` broke: answers to outstanding requests will not come."""


class Process:
    """A node's life: state, and an incarnation that a restart raises."""

    __slots__ = ("held", "id", "incarnation", "name", "node", "on_timer", "receive", "state", "wakeful")

    def __init__(self, node_id: int, name: str, node: Node) -> None:
        self.id = node_id
        self.name = name
        self.node = node
        self.receive = node.receive
        self.on_timer = node.on_timer
        self.state = RUNNING
        self.incarnation = 0
        self.held: list[tuple[int, Payload]] = []
        self.wakeful = False
        """Whether no exchange may leave out what it would answer: it may not get to it at once."""

    def run(self, node: Node) -> None:
        """Another program is to run in its next life."""
        self.node = node
        self.receive = node.receive
        self.on_timer = node.on_timer
