"""What one key on the screen does: an operation with sensible parameters for the partition and broker under the cursor.

Like a target selector, this looks at everything: it stands for an operator who knows the cluster.
"""

from collections.abc import Sequence
from typing import Final

from cluster_model.broker.topic_configs import topic_of
from cluster_model.cluster import Cluster
from cluster_model.protocol.messages import NOBODY
from faults.declarations.action import Action, Value
from faults.declarations.fault import SECOND

RESTART_US: Final = 5 * SECOND
"""How long a broker stays down that one key shuts down and starts again."""


def usual(name: str, cluster: Cluster, partition: str, broker: int) -> Action:
    """The operation as a key asks for it; ``partition`` may be empty where there is none."""
    params = _parameters(name, cluster, partition, broker)
    return Action("admin", name, "", {key: value for key, value in params.items() if value not in ("", None)})


def _parameters(name: str, cluster: Cluster, partition: str, broker: int) -> dict[str, Value]:
    topic = topic_of(partition)
    records = cluster.world.records
    of_topic = [each for each in records if topic_of(each) == topic]
    replicas = tuple(records[partition].assignment) if partition in records else ()
    if name == "create_topic":
        return {"topic": _free_name(cluster), "partitions": 3, "replication": min(3, len(cluster.brokers))}
    if name == "add_partitions":
        return {"topic": topic, "total": len(of_topic) + 1}
    if name == "reassign":
        return {"partition": partition, "brokers": _moved(replicas, broker, tuple(cluster.brokers))}
    if name == "set_replication":
        more = len(replicas) < len(cluster.brokers)
        return {"topic": topic, "factor": len(replicas) + 1 if more else max(1, len(replicas) - 1)}
    if name == "elect_leaders":
        offline = partition in records and records[partition].leader == NOBODY
        return {"partition": partition, "unclean": True} if offline else {"partition": partition}
    if name == "alter_topic_config":
        needed = cluster.world.effective_min_isr(partition) if partition in records else 1
        return {"topic": topic, "set": (("min.insync.replicas", 2 if needed < 2 else 1),)}
    if name == "alter_broker_config":
        return {"set": (("unclean.leader.election.enable", True),)}
    if name in ("delete_records", "describe_producers", "abort_transaction"):
        return {"partition": partition}
    if name == "reset_offsets":
        return {"group": _group(cluster, topic), "topics": (topic,), "to_earliest": True, "execute": True}
    if name in ("describe_group", "delete_group"):
        return {"group": _group(cluster, topic)}
    if name == "delete_offsets":
        return {"group": _group(cluster, topic), "topics": (topic,)}
    if name == "shutdown":
        return {"broker": broker, "restart_after": RESTART_US}
    if name == "decommission":
        return {"broker": broker}
    return {"topic": topic} if name in ("delete_topic", "find_hanging") else {}


def _group(cluster: Cluster, topic: str) -> str:
    """A group that reads the topic, else any; empty if there is none."""
    names = [spec.name for spec in cluster.spec.groups]
    return next((spec.name for spec in cluster.spec.groups if topic in spec.topics), names[0] if names else "")


def _free_name(cluster: Cluster) -> str:
    """``topic-1``, or the first such name that is free."""
    taken = [topic_of(partition) for partition in cluster.world.records]
    number = 1
    while f"topic-{number}" in taken:
        number += 1
    return f"topic-{number}"


def _moved(replicas: Sequence[int], broker: int, brokers: Sequence[int]) -> tuple[int, ...]:
    """On to the broker in the place of the last replica; off it, to the first one that has none, if it has one."""
    others = [each for each in brokers if each not in replicas]
    if broker not in replicas:
        return (*replicas[:-1], broker)
    if not others:
        return (*replicas[1:], *replicas[:1])
    return tuple(others[0] if each == broker else each for each in replicas)
