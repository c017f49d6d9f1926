"""The controller's cache of ZooKeeper's data and of the state of each partition and replica (``ControllerContext``).

Only events of the controller's event thread change it.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final, NamedTuple

from cluster_model.controller.zookeeper.kafka_zk_client import ReplicaAssignment, StateNode, index_of, topic_of
from cluster_model.protocol.messages import NO_LEADER, PartitionState

UNDECIDED: Final = -1
"""``leader_epoch`` of a partition whose state was never written."""


class PartitionMachineState(IntEnum):
    """State of a partition (``PartitionState`` of ``PartitionStateMachine``)."""

    NEW = 0
    ONLINE = 1
    OFFLINE = 2


class ReplicaMachineState(IntEnum):
    """State of a replica (``ReplicaState`` of ``ReplicaStateMachine``)."""

    NEW = 0
    ONLINE = 1
    OFFLINE = 2
    DELETION_STARTED = 3
    DELETION_SUCCESSFUL = 4
    DELETION_INELIGIBLE = 5


class LiveBroker(NamedTuple):
    """A registered broker. ``epoch`` is the czxid of its znode."""

    epoch: int
    rack: str


class ControllerContext:
    """Everything that the controller knows; empty while this broker is not the controller (``ControllerContext``)."""

    __slots__ = (
        "active",
        "brokers",
        "configs",
        "defaults",
        "deleting",
        "deletion_ineligible",
        "deletion_started",
        "epoch",
        "epoch_version",
        "leader",
        "partition_states",
        "partitions",
        "replicas",
        "shutting_down",
        "topic_ids",
        "topics",
    )  # fmt: skip

    def __init__(self) -> None:
        self.active = False
        """Whether this broker acts as the controller."""
        self.leader = NO_LEADER
        """The controller, as far as this broker knows."""
        self.defaults: dict[str, Any] = {}
        """Dynamic configuration of this broker, whether it is the controller or not (KIP-226)."""
        self.epoch = 0
        self.epoch_version = 0
        """Version of the znode /controller_epoch, the condition of every write since 2.1 (KAFKA-6082)."""
        self.brokers: dict[int, LiveBroker] = {}
        self.shutting_down: dict[int, None] = {}
        self.topics: dict[str, tuple[str, ...]] = {}
        """Topic → its partitions, ordered by index."""
        self.topic_ids: dict[str, int] = {}
        self.partitions: dict[str, PartitionState] = {}
        self.partition_states: dict[str, PartitionMachineState] = {}
        self.replicas: dict[tuple[str, int], ReplicaMachineState] = {}
        self.configs: dict[str, tuple[tuple[str, Any], ...]] = {}
        """Topic → its own configuration, as last read."""
        self.deleting: dict[str, None] = {}
        self.deletion_started: dict[str, None] = {}
        self.deletion_ineligible: dict[str, None] = {}

    def clear(self) -> None:
        """Forget everything: no longer the controller."""
        leader, defaults = self.leader, self.defaults
        self.load(ControllerContext().save())
        self.leader, self.defaults = leader, defaults

    def is_live(self, broker: int) -> bool:
        """Whether a broker is registered and not shutting down (``isReplicaOnline``)."""
        return broker in self.brokers and broker not in self.shutting_down

    @property
    def live(self) -> tuple[int, ...]:
        """Brokers that are registered and not shutting down."""
        return tuple(broker for broker in self.brokers if broker not in self.shutting_down)

    @property
    def reachable(self) -> tuple[int, ...]:
        """All registered brokers, including those that are shutting down."""
        return tuple(self.brokers)

    def on(self, brokers: Iterable[int]) -> list[tuple[str, int]]:
        """Replicas on these brokers, as (partition, broker)."""
        wanted = tuple(brokers)
        return [
            (name, broker) for name, state in self.partitions.items() for broker in state.replicas if broker in wanted
        ]

    def has_state(self, partition: str) -> bool:
        """Whether a state was ever written for the partition."""
        return self.partitions[partition].leader_epoch != UNDECIDED

    def is_deleting(self, partition: str) -> bool:
        """Whether the partition's topic is queued for deletion."""
        return topic_of(partition) in self.deleting

    def assign(self, topic: str, topic_id: int, assignments: tuple[ReplicaAssignment, ...]) -> list[str]:
        """Apply a topic's assignment as read; return its new partitions."""
        added: list[str] = []
        names: list[str] = []
        self.topic_ids[topic] = topic_id
        for index, replicas, adding, removing in assignments:
            name = f"{topic}-{index}"
            names.append(name)
            current = self.partitions.get(name)
            if current is None:
                added.append(name)
                current = PartitionState(name, NO_LEADER, UNDECIDED, (), -1, ())
            self.partitions[name] = current._replace(
                replicas=replicas, adding=adding, removing=removing, topic_id=topic_id
            )
        self.topics[topic] = tuple(sorted(names, key=index_of))
        return added

    def update_state(self, partition: str, node: StateNode, version: int) -> None:
        """Apply the content of a partition's state znode."""
        self.partitions[partition] = self.partitions[partition]._replace(
            leader=node.leader,
            leader_epoch=node.leader_epoch,
            isr=node.isr,
            partition_epoch=version,
            recovering=node.recovering,
        )

    def forget(self, topic: str) -> None:
        """Remove a deleted topic."""
        for name in self.topics.pop(topic, ()):
            for broker in self.partitions.pop(name).replicas:
                self.replicas.pop((name, broker), None)
            self.partition_states.pop(name, None)
        for table in (self.topic_ids, self.configs, self.deleting, self.deletion_started, self.deletion_ineligible):
            table.pop(topic, None)

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            self.active, self.leader, self.epoch, self.epoch_version, tuple(self.brokers.items()),
            tuple(self.shutting_down), tuple(self.topics.items()), tuple(self.topic_ids.items()),
            tuple(self.partitions.values()),
            tuple(self.partition_states.items()), tuple(self.replicas.items()), tuple(self.configs.items()),
            tuple(self.deleting), tuple(self.deletion_started), tuple(self.deletion_ineligible),
            tuple(self.defaults.items()),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        (
            self.active, self.leader, self.epoch, self.epoch_version, brokers, shutting_down, topics, topic_ids,
            partitions, partition_states, replicas, configs, deleting, started, ineligible, defaults,
        ) = saved  # fmt: skip
        self.defaults = dict(defaults)
        self.brokers = dict(brokers)
        self.shutting_down = dict.fromkeys(shutting_down)
        self.topics = dict(topics)
        self.topic_ids = dict(topic_ids)
        self.partitions = {state.partition: state for state in partitions}
        self.partition_states = dict(partition_states)
        self.replicas = dict(replicas)
        self.configs = dict(configs)
        self.deleting = dict.fromkeys(deleting)
        self.deletion_started = dict.fromkeys(started)
        self.deletion_ineligible = dict.fromkeys(ineligible)
