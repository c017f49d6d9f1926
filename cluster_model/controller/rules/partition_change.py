"""A decision about a partition, the kinds of election, and the states of a registered broker. Pure."""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from cluster_model.protocol.messages import NOBODY, PartitionState


class BrokerControlState(Enum):
    """A broker as its controller has it."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"
    """It may end its process."""


def next_state(
    now: BrokerControlState,
    *,
    want_fence: bool,
    want_shut_down: bool,
    metadata_offset: int,
    registration_offset: int,
    leads: bool,
    shutdown_offset: int = -1,
    lowest_active_offset: int | None = None,
) -> BrokerControlState:
    """The state that a heartbeat leads to.

    ``metadata_offset`` is how far the broker has the metadata log, ``registration_offset`` where its registration is;
    ``leads`` whether it leads any partition. A shutdown that began at ``shutdown_offset`` ends once every active broker
    has got there: ``lowest_active_offset`` is where the last of them is, None without any.
    """
    if now is BrokerControlState.FENCED:
        if want_shut_down:
            return BrokerControlState.SHUTDOWN_NOW
        caught_up = not want_fence and metadata_offset >= registration_offset
        return BrokerControlState.UNFENCED if caught_up else BrokerControlState.FENCED
    if now is BrokerControlState.UNFENCED:
        if want_fence:
            return BrokerControlState.SHUTDOWN_NOW if want_shut_down else BrokerControlState.FENCED
        if want_shut_down:
            return BrokerControlState.CONTROLLED_SHUTDOWN if leads else BrokerControlState.SHUTDOWN_NOW
        return BrokerControlState.UNFENCED
    if now is BrokerControlState.CONTROLLED_SHUTDOWN:
        told = lowest_active_offset is None or shutdown_offset <= lowest_active_offset
        return BrokerControlState.CONTROLLED_SHUTDOWN if leads or not told else BrokerControlState.SHUTDOWN_NOW
    return BrokerControlState.SHUTDOWN_NOW


# A decision about a partition, and the kinds of election. What all rules return.


LEADER: Final = "leader"
"""``by`` of a change that the partition's own leader proposed (AlterPartition, or its write to ZooKeeper)."""

LAST_KNOWN: Final = "the last known leader"
"""How ``by`` ends where nobody eligible was left, and who had led last was elected (KIP-966)."""

Brokers = Callable[[int], bool]
"""Whether a broker is one of those meant: live, active, shutting down."""


class Election(Enum):
    """How a leader is looked for (``PartitionChangeBuilder.Election``)."""

    ONLINE = "online"
    """Keep the leader if it may lead, else anyone who may; unclean where the topic allows it."""
    PREFERRED = "preferred"
    """The first replica, if it may lead."""
    UNCLEAN = "unclean"
    """As ONLINE, and unclean whatever the topic says."""


class Change(NamedTuple):
    """The state that a partition is to have next."""

    state: PartitionState
    by: str
    """Why: :data:`LEADER`, or words for people."""
    clean: bool = True
    """False if it gives the lead to a replica that may lack committed records."""


def created(partition: str, replicas: tuple[int, ...], live: Brokers) -> PartitionState:
    """A new partition: every live replica is in sync, the first of them leads, epochs 0; nobody leads if none lives.

    The same in both modes, but KRaft refuses a partition without a live replica (``PartitionStateMachine``,
    ``ReplicationControlManager.createTopic``).
    """
    isr = tuple(broker for broker in replicas if live(broker))
    return PartitionState(partition, isr[0] if isr else NOBODY, 0, isr, 0, replicas)
