"""Kafka's znodes: their paths, their contents, and the operations on them (``KafkaZkClient``, ``ZkData``)."""

from typing import Any, Final, NamedTuple

from cluster_model.protocol.messages import PartitionState
from cluster_model.zookeeper.messages import (
    Check,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    OpResult,
    SetData,
    ZkError,
)

CONTROLLER: Final = "/controller"
CONTROLLER_EPOCH: Final = "/controller_epoch"
BROKER_IDS: Final = "/brokers/ids"
TOPICS: Final = "/brokers/topics"
TOPIC_CONFIGS: Final = "/config/topics"
BROKER_CONFIGS: Final = "/config/brokers"
CONFIG_CHANGES: Final = "/config/changes"
DELETE_TOPICS: Final = "/admin/delete_topics"
ISR_CHANGES: Final = "/isr_change_notification"

PERSISTENT: Final = (
    "/brokers", BROKER_IDS, TOPICS, "/config", TOPIC_CONFIGS, BROKER_CONFIGS, CONFIG_CHANGES, "/admin", DELETE_TOPICS,
    ISR_CHANGES,
)  # fmt: skip
"""What the first broker makes before anything else (``KafkaZkClient.createTopLevelPaths``)."""


class BrokerNode(NamedTuple):
    """``/brokers/ids/<id>``: a broker that lives. Its czxid is the broker epoch."""

    rack: str


class ReplicaAssignment(NamedTuple):
    """One partition in a topic's node. ``adding`` and ``removing`` are those of a reassignment (KIP-455)."""

    number: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class TopicNode(NamedTuple):
    """``/brokers/topics/<topic>``. Topics have ids since 2.8 (KIP-516); before, ``topic_id`` is for the observer."""

    topic_id: int
    partitions: tuple[ReplicaAssignment, ...]


class StateNode(NamedTuple):
    """``/brokers/topics/<topic>/partitions/<index>/state``; its version is the partition epoch.

    ``by`` and ``clean`` say why it was last written: they are for the observer, no broker looks at them.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    recovering: bool = False
    by: str = ""
    clean: bool = True


def topic_of(partition: str) -> str:
    """``orders`` of ``orders-0``."""
    return partition.rpartition("-")[0]


def index_of(partition: str) -> int:
    """0 of ``orders-0``."""
    return int(partition.rpartition("-")[2])


def broker_path(broker: int) -> str:
    """Where a broker is registered."""
    return f"{BROKER_IDS}/{broker}"


def topic_path(topic: str) -> str:
    """Where a topic's assignment stands."""
    return f"{TOPICS}/{topic}"


def state_path(partition: str) -> str:
    """Where a partition's leader and ISR stand."""
    topic, _, index = partition.rpartition("-")
    return f"{TOPICS}/{topic}/partitions/{index}/state"


def partition_paths(partition: str) -> tuple[str, str]:
    """The nodes above a partition's state, without data of their own."""
    topic, _, index = partition.rpartition("-")
    return f"{TOPICS}/{topic}/partitions", f"{TOPICS}/{topic}/partitions/{index}"


def partition_at(path: str) -> str:
    """The partition whose state node a path is, empty for any other path."""
    parts = path.split("/")
    if len(parts) == 7 and parts[:3] == ["", "brokers", "topics"] and parts[4] == "partitions" and parts[6] == "state":
        return f"{parts[3]}-{parts[5]}"
    return ""


def topic_at(path: str) -> str:
    """The topic whose node a path is, empty for any other path."""
    parts = path.split("/")
    return parts[3] if len(parts) == 4 and parts[:3] == ["", "brokers", "topics"] else ""


def topic_with_config_at(path: str) -> str:
    """The topic whose own configuration stands there, empty for any other path."""
    return path[len(TOPIC_CONFIGS) + 1 :] if path.startswith(f"{TOPIC_CONFIGS}/") else ""


def state_of(partition: str, topic: TopicNode, node: StateNode, version: int) -> PartitionState:
    """What is decided of a partition, from both of its nodes."""
    number = index_of(partition)
    _number, replicas, adding, removing = next(entry for entry in topic.partitions if entry.number == number)
    return PartitionState(
        partition, node.leader, node.leader_epoch, node.isr, version, replicas, adding, removing,
        recovering=node.recovering, topic_id=topic.topic_id,
    )  # fmt: skip


def config_path(topic: str) -> str:
    """Where a topic's own configuration stands."""
    return f"{TOPIC_CONFIGS}/{topic}"


def broker_config_path(name: str) -> str:
    """Where a broker's dynamic configuration stands; ``<default>`` for all brokers' (KIP-226)."""
    return f"{BROKER_CONFIGS}/{name or '<default>'}"


# Operations on ZooKeeper, as controller and brokers use them, with their results.


class ZkResult(NamedTuple):
    """What came of one operation. ``moved``: its condition on the controller's epoch did not hold."""

    error: ZkError
    data: Any = ()
    version: int = -1
    czxid: int = -1
    owner: int = 0
    children: tuple[str, ...] = ()
    moved: bool = False

    @property
    def ok(self) -> bool:
        """Done."""
        return self.error is ZkError.OK

    @property
    def missing(self) -> bool:
        """There is no such node."""
        return self.error is ZkError.NO_NODE

    @property
    def taken(self) -> bool:
        """There is such a node already."""
        return self.error is ZkError.NODE_EXISTS

    @property
    def outdated(self) -> bool:
        """The node has another version."""
        return self.error is ZkError.BAD_VERSION and not self.moved

    @staticmethod
    def of(operation: Any, result: OpResult) -> "ZkResult":
        """The answer to an operation; a guarded one's is that of what was guarded."""
        moved = False
        if isinstance(operation, Multi) and result.results:
            check, *inner = result.results
            moved = check.error in (ZkError.BAD_VERSION, ZkError.NO_NODE)
            result = check if moved else inner[0]
        stat = result.stat
        if stat is None:
            return ZkResult(result.error, result.data, children=result.children, moved=moved)
        return ZkResult(result.error, result.data, stat.version, stat.czxid, stat.owner, result.children, moved)


def create(path: str, data: tuple[Any, ...] = (), *, ephemeral: bool = False, sequential: bool = False) -> Create:
    """Make a node."""
    return Create(path, data, ephemeral, sequential)


def delete(path: str, version: int = -1) -> Delete:
    """Remove a node; -1: whatever its version."""
    return Delete(path, version)


def put(path: str, data: tuple[Any, ...], version: int = -1) -> SetData:
    """Replace what stands in a node, if it has that version; -1: whatever its version."""
    return SetData(path, data, version)


def get(path: str, *, watch: bool = False) -> GetData:
    """Read a node."""
    return GetData(path, watch)


def exists(path: str, *, watch: bool = False) -> Exists:
    """Ask after a node, there or not."""
    return Exists(path, watch)


def children(path: str, *, watch: bool = False) -> GetChildren:
    """List a node's children."""
    return GetChildren(path, watch)


def guarded(operation: Any, path: str, version: int) -> Multi:
    """Do it only if another node still has that version."""
    return Multi((Check(path, version), operation))
