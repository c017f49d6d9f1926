"""Records of the metadata log by Kafka's names (``common/metadata/*.json``): what the controller decided, in order.

Each holds what the rules use. A change of a partition carries the whole new state, not only the fields that change: it
comes to the same, and says at a glance what was decided. ``by`` and ``clean`` are for the observer; nobody who follows
the protocol looks at them.
"""

from typing import Final, NamedTuple

from cluster_model.protocol.config_key import ConfigValue
from cluster_model.protocol.messages import PartitionState

UNCHANGED: Final = 0
FENCE: Final = 1
UNFENCE: Final = -1
"""``fenced`` of a :class:`BrokerRegistrationChangeRecord`."""


class RegisterBrokerRecord(NamedTuple):
    """A process registered as a broker. ``epoch`` is this record's own offset, unless it registers once more."""

    broker: int
    incarnation: int
    epoch: int
    rack: str
    fenced: bool = True
    in_controlled_shutdown: bool = False


class BrokerRegistrationChangeRecord(NamedTuple):
    """A registered broker is fenced, unfenced, or begins its controlled shutdown."""

    broker: int
    epoch: int
    fenced: int = UNCHANGED
    in_controlled_shutdown: bool = False
    why: str = ""


class UnregisterBrokerRecord(NamedTuple):
    """A broker is forgotten."""

    broker: int
    epoch: int


class TopicRecord(NamedTuple):
    """A topic exists; ``topic_id`` tells it from another that had its name."""

    name: str
    topic_id: int


class PartitionRecord(NamedTuple):
    """A partition exists."""

    state: PartitionState
    by: str = "created"


class PartitionChangeRecord(NamedTuple):
    """A partition's leader, ISR or replicas are others."""

    state: PartitionState
    by: str
    clean: bool = True


class RemoveTopicRecord(NamedTuple):
    """A topic is gone, and all its partitions with it."""

    name: str
    topic_id: int


class ConfigRecord(NamedTuple):
    """A configuration of a resource is ``value`` from here on, or the default again with None."""

    type: str
    """``topic`` or ``broker``."""
    name: str
    """The topic, or the broker's id; empty for all brokers."""
    key: str
    value: ConfigValue | None


class ClearElrRecord(NamedTuple):
    """Nobody is an eligible leader replica any more, nor a last known leader: of a topic, or of all (KIP-966)."""

    topic: str = ""
    """Empty for all."""


Record = (
    RegisterBrokerRecord
    | BrokerRegistrationChangeRecord
    | UnregisterBrokerRecord
    | TopicRecord
    | PartitionRecord
    | PartitionChangeRecord
    | RemoveTopicRecord
    | ConfigRecord
    | ClearElrRecord
)


def topic_of(partition: str) -> str:
    """The topic of a partition as Kafka prints it: ``orders-0`` is of ``orders``."""
    return partition.rpartition("-")[0]
