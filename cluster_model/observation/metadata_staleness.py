"""Who believes what: each broker's metadata cache, and its leaderships, beside what is decided. Omniscient.

For views and conditions only. A broker whose process is not there believes nothing.
"""

from typing import Final, Protocol

from cluster_model.observation.cluster_state import World
from cluster_model.observation.views import BeliefView
from cluster_model.protocol.messages import NOBODY, PartitionState

_NOTHING: Final = -1


class Governing(Protocol):
    """Who decides, as told to views and conditions: a control plane, or the controller of a cluster by hand."""

    def controllers(self) -> tuple[int, ...]:
        """Nodes that are or may become the controller."""

    def active(self) -> int:
        """The node that acts as controller, NOBODY while none does."""

    def controller_epoch(self) -> int:
        """Epoch of the newest controller."""

    def is_live(self, broker: int) -> bool:
        """Whether a broker is counted on."""


def stale(world: World, broker: int) -> int:
    """Partitions that a broker knows older than they are by now decided, or not at all; 0 while it is down."""
    if not world.is_up(broker):
        return 0
    known = world.known(broker)
    return sum(_is_behind(known.get(name), record.state) for name, record in world.records.items())


def _is_behind(known: PartitionState | None, decided: PartitionState) -> bool:
    if known is decided:
        return False
    if known is None:
        return True
    if known.topic_id and decided.topic_id and known.topic_id != decided.topic_id:
        return True
    return (known.leader_epoch, known.partition_epoch) < (decided.leader_epoch, decided.partition_epoch)


def outdated(world: World) -> dict[str, list[BeliefView]]:
    """Partition → what the caches of running brokers say of it, where that is older than what is decided."""
    found: dict[str, list[BeliefView]] = {}
    for broker in filter(world.is_up, world.brokers):
        known = world.known(broker)
        for name, record in world.records.items():
            state = known.get(name)
            if state is not record.state and _is_behind(state, record.state):
                found.setdefault(name, []).append(_belief(broker, state))
    return found


def _belief(broker: int, state: PartitionState | None) -> BeliefView:
    if state is None:
        return BeliefView(broker, NOBODY, _NOTHING, _NOTHING, ())
    return BeliefView(broker, state.leader, state.leader_epoch, state.partition_epoch, state.isr)


def believed_leader(world: World, partition: str, broker: int) -> int:
    """Whom a broker's metadata names as leader, NOBODY if it names none, does not know the partition, or is down."""
    world.record(partition)
    state = world.known(broker).get(partition) if world.is_up(broker) else None
    return NOBODY if state is None else state.leader


def leaders(world: World, partition: str) -> tuple[int, ...]:
    """Every running broker that takes itself to lead a partition, in the order of their ids."""
    world.record(partition)
    replicas = world.replicas.get(partition, {})
    return tuple(sorted(b for b, each in replicas.items() if each.leadership is not None and world.is_up(b)))
