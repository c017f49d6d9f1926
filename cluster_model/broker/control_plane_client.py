"""The interface between a broker and its control plane, the same in ZooKeeper mode and KRaft mode.

ZooKeeper mode and KRaft mode differ in how a broker registers, stays alive, hears decisions and has an ISR changed.
All of that is one object behind this protocol; replication itself is the same in both. A controller that shares the
broker's process lives in that object too, so that what befalls the process befalls both.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from cluster_model.kernel.event_loop import Payload
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.messages import AlterPartitionRequest, PartitionState

Handlers = dict[type[Any], Callable[[int, Any], None]]
"""Type of message → what takes (source, message)."""


class MetadataUpdate(NamedTuple):
    """What a broker has been told: states of partitions, and the brokers that live, with their epochs and racks.

    ``racks`` stand in the order of ``brokers``; empty where nobody has any.
    """

    partitions: tuple[PartitionState, ...]
    brokers: tuple[int, ...]
    broker_epochs: tuple[int, ...]
    racks: tuple[str, ...] = ()


class ListenerState(IntEnum):
    """What a broker's port does with who comes (``SocketServer``)."""

    CLOSED = 0
    """Nobody listens: connections are refused."""
    SILENT = 1
    """The system takes connections in, and nobody reads them: no acceptor runs yet."""
    OPEN = 2


class Control(Protocol):
    """One broker's side of the control plane."""

    handlers: Handlers
    """Messages that are for it."""
    registered: bool
    """Whether the running process has registered."""

    @property
    def broker_epoch(self) -> int:
        """Of the broker's registration, as it knows it; -1 for none."""

    @property
    def listening(self) -> ListenerState:
        """What the port for clients does, as far as the process has come up; paused or not."""

    def told_controller(self) -> int:
        """Whom an administrator's requests go to, as this broker knows; NOBODY while it does not."""

    def dynamic_config(self, name: str) -> Mapping[str, ConfigValue]:
        """Dynamic configurations of this broker, by its id, or of all by an empty name, as it knows them."""

    def fenced_brokers(self) -> tuple[int, ...]:
        """Registered brokers that are fenced, as this broker knows; in ZooKeeper mode there are none."""

    def started(self, after_us: int) -> None:
        """The process runs again; its logs are loaded after ``after_us``."""

    def stopped(self) -> None:
        """The process died: memory is gone."""

    def shut_down(self) -> None:
        """SIGTERM: leave in order, and end by :meth:`Broker.halt`."""

    def on_timer(self, timer: Payload) -> bool:
        """Handle one of its timers; False if the timer is not its own."""

    def on_disconnect(self, peer: int) -> None:
        """A connection to ``peer`` broke."""

    def propose(self, proposal: AlterPartitionRequest) -> None:
        """Have an ISR changed, the broker epoch still to be filled in; :meth:`Broker.isr_answered` gets the answer."""

    def save(self) -> tuple[Any, ...]:
        """All state."""

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""


def is_older(state: PartitionState, known: PartitionState) -> bool:
    """Whether a decision is older than another; one for another topic of that name goes by its id."""
    if state.topic_id and known.topic_id and state.topic_id != known.topic_id:
        return state.topic_id < known.topic_id
    return (state.leader_epoch, state.partition_epoch) < (known.leader_epoch, known.partition_epoch)
