"""A decision about a partition, and the kinds of election. What all rules return."""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from cluster_model.protocol.messages import NOBODY, PartitionState

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
