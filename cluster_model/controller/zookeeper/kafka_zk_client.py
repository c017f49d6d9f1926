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
"""Paths that the first broker creates before any other (``KafkaZkClient.createTopLevelPaths``)."""


class BrokerNode(NamedTuple):
    """``/brokers/ids/<id>``: registration of a live broker. Its czxid is the broker epoch."""

    rack: str


class ReplicaAssignment(NamedTuple):
    """One partition in a topic's znode. ``adding`` and ``removing`` are those of a reassignment (KIP-455)."""

    number: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class TopicNode(NamedTuple):
    """``/brokers/topics/<topic>``. Topics have ids since 2.8 (KIP-516); before, ``topic_id`` is for observers."""

    topic_id: int
    partitions: tuple[ReplicaAssignment, ...]


class StateNode(NamedTuple):
    """``/brokers/topics/<topic>/partitions/<index>/state``; its version is the partition epoch.

    ``by`` and ``clean`` describe the last write for observers; brokers do not read them.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    recovering: bool = False
    by: str = ""
    clean: bool = True


def topic_of(partition: str) -> str:
    """Topic of a partition: ``orders`` for ``orders-0``."""
    return partition.rpartition("-")[0]


def index_of(partition: str) -> int:
    """Index of a partition: 0 for ``orders-0``."""
    return int(partition.rpartition("-")[2])


def broker_path(broker: int) -> str:
    """Path of a broker's registration."""
    return f"{BROKER_IDS}/{broker}"


def topic_path(topic: str) -> str:
    """Path of a topic's assignment."""
    return f"{TOPICS}/{topic}"


def state_path(partition: str) -> str:
    """Path of a partition's leader and ISR."""
    topic, _, index = partition.rpartition("-")
    return f"{TOPICS}/{topic}/partitions/{index}/state"


def partition_paths(partition: str) -> tuple[str, str]:
    """Paths of the znodes above a partition's state, which hold no data."""
    topic, _, index = partition.rpartition("-")
    return f"{TOPICS}/{topic}/partitions", f"{TOPICS}/{topic}/partitions/{index}"


def partition_at(path: str) -> str:
    """Partition whose state znode is at the path, empty for any other path."""
    parts = path.split("/")
    if len(parts) == 7 and parts[:3] == ["", "brokers", "topics"] and parts[4] == "partitions" and parts[6] == "state":
        return f"{parts[3]}-{parts[5]}"
    return ""


def topic_at(path: str) -> str:
    """Topic whose znode is at the path, empty for any other path."""
    parts = path.split("/")
    return parts[3] if len(parts) == 4 and parts[:3] == ["", "brokers", "topics"] else ""


def topic_with_config_at(path: str) -> str:
    """Topic whose own configuration is at the path, empty for any other path."""
    return path[len(TOPIC_CONFIGS) + 1 :] if path.startswith(f"{TOPIC_CONFIGS}/") else ""


def state_of(partition: str, topic: TopicNode, node: StateNode, version: int) -> PartitionState:
    """Combine the state of a partition from its topic's znode and its state znode."""
    index = index_of(partition)
    _number, replicas, adding, removing = next(entry for entry in topic.partitions if entry.number == index)
    return PartitionState(
        partition, node.leader, node.leader_epoch, node.isr, version, replicas, adding, removing,
        recovering=node.recovering, topic_id=topic.topic_id,
    )  # fmt: skip


def config_path(topic: str) -> str:
    """Path of a topic's own configuration."""
    return f"{TOPIC_CONFIGS}/{topic}"


def broker_config_path(name: str) -> str:
    """Path of a broker's dynamic configuration; ``<default>`` for that of all brokers (KIP-226)."""
    return f"{BROKER_CONFIGS}/{name or '<default>'}"


# ZooKeeper operations of controller and brokers, with their results.


class ZkResult(NamedTuple):
    """Result of one operation. ``moved``: its condition on the controller epoch failed."""

    error: ZkError
    data: Any = ()
    version: int = -1
    czxid: int = -1
    owner: int = 0
    children: tuple[str, ...] = ()
    moved: bool = False

    @property
    def ok(self) -> bool:
        """Whether the operation succeeded."""
        return self.error is ZkError.OK

    @property
    def missing(self) -> bool:
        """Whether there is no such znode."""
        return self.error is ZkError.NO_NODE

    @property
    def node_exists(self) -> bool:
        """Whether the znode exists already."""
        return self.error is ZkError.NODE_EXISTS

    @property
    def outdated(self) -> bool:
        """Whether the znode has another version."""
        return self.error is ZkError.BAD_VERSION and not self.moved

    @staticmethod
    def of(operation: Any, result: OpResult) -> "ZkResult":
        """Convert the result of an operation; for a guarded operation that of the inner one."""
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
    """Create a znode."""
    return Create(path, data, ephemeral, sequential)


def delete(path: str, version: int = -1) -> Delete:
    """Delete a znode; -1: of any version."""
    return Delete(path, version)


def put(path: str, data: tuple[Any, ...], version: int = -1) -> SetData:
    """Replace the data of a znode of that version; -1: of any version."""
    return SetData(path, data, version)


def get(path: str, *, watch: bool = False) -> GetData:
    """Read a znode."""
    return GetData(path, watch)


def exists(path: str, *, watch: bool = False) -> Exists:
    """Check whether a znode exists."""
    return Exists(path, watch)


def children(path: str, *, watch: bool = False) -> GetChildren:
    """List a znode's children."""
    return GetChildren(path, watch)


def guarded(operation: Any, path: str, version: int) -> Multi:
    """Run an operation only if another znode has that version."""
    return Multi((Check(path, version), operation))
