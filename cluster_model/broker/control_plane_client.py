"""Interface between a broker and its control plane, the same in ZooKeeper mode and KRaft mode.

The modes differ in how a broker registers, keeps its session, receives metadata and changes an ISR. One object behind
this protocol does all of that; replication itself is the same in both modes. A controller that shares the broker's
process belongs to that object too, so that a fault of the process affects both.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from cluster_model.kernel.event_loop import Payload
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.messages import AlterPartitionRequest, PartitionState

Handlers = dict[type[Any], Callable[[int, Any], None]]
"""Message type → handler of (source node, message)."""


class MetadataUpdate(NamedTuple):
    """Metadata sent to a broker: partition states, and the live brokers with their epochs and racks.

    ``racks`` is in the order of ``brokers``; empty if no broker has a rack.
    """

    partitions: tuple[PartitionState, ...]
    brokers: tuple[int, ...]
    broker_epochs: tuple[int, ...]
    racks: tuple[str, ...] = ()


class ListenerState(IntEnum):
    """State of a broker's listener, which decides what happens to new connections (``SocketServer``)."""

    CLOSED = 0
    """No process listens: connections are refused."""
    SILENT = 1
    """The operating system accepts connections, but no acceptor thread runs yet: nothing reads them."""
    OPEN = 2


class ControlPlaneClient(Protocol):
    """One broker's side of the control plane."""

    handlers: Handlers
    """Handlers of the messages for it."""
    registered: bool
    """Whether the running process has registered."""

    @property
    def broker_epoch(self) -> int:
        """Broker epoch of the registration, as the broker knows it; -1 for none."""

    @property
    def listening(self) -> ListenerState:
        """State of the listener for clients, as far as the process has started; also while it is paused."""

    def known_controller(self) -> int:
        """Return the node for administrators' requests, as this broker knows it; NO_LEADER while it is unknown."""

    def dynamic_config(self, name: str) -> Mapping[str, ConfigValue]:
        """Return the dynamic configs known for a broker id, or the cluster-wide ones for an empty name."""

    def fenced_brokers(self) -> tuple[int, ...]:
        """Return the fenced registered brokers known to this broker; empty in ZooKeeper mode."""

    def started(self, after_us: int) -> None:
        """Start the process again; its logs are loaded after ``after_us``."""

    def stopped(self) -> None:
        """Discard everything that a process that died had in memory."""

    def shut_down(self) -> None:
        """Shut down cleanly (SIGTERM), ending with :meth:`Broker.halt`."""

    def on_timer(self, timer: Payload) -> bool:
        """Handle one of its timers; False if the timer is not its own."""

    def on_disconnect(self, peer: int) -> None:
        """Handle a broken connection to ``peer``."""

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """Propose an ISR change; the broker epoch is filled in here. :meth:`Broker.isr_answered` gets the response."""

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""


def is_older(state: PartitionState, cached: PartitionState) -> bool:
    """Whether a partition state is older than the known one; states of different topic ids are ordered by id."""
    if state.topic_id and cached.topic_id and state.topic_id != cached.topic_id:
        return state.topic_id < cached.topic_id
    return (state.leader_epoch, state.partition_epoch) < (cached.leader_epoch, cached.partition_epoch)
