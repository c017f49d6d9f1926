"""Kafka's nodes in ZooKeeper: their paths, and what stands in them (``ZkData``)."""

from typing import Final, NamedTuple

from cluster_model.protocol.messages import PartitionState

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


class Assignment(NamedTuple):
    """One partition in a topic's node. ``adding`` and ``removing`` are those of a reassignment (KIP-455)."""

    number: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class TopicNode(NamedTuple):
    """``/brokers/topics/<topic>``. Topics have ids since 2.8 (KIP-516); before, ``topic_id`` is for the observer."""

    topic_id: int
    partitions: tuple[Assignment, ...]


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
