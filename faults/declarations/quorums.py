"""Who decides in a cluster now, and how many of its group a majority can spare. It looks at everything."""

from collections.abc import Iterable

from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.messages import NOBODY
from cluster_model.spec.cluster_spec import FIRST_ZOOKEEPER


def group_of(cluster: Cluster) -> tuple[int, ...]:
    """The nodes whose majority decides: the voters of a KRaft quorum, the servers of a ZooKeeper ensemble."""
    servers = tuple(node for node in cluster.plane.servers if node >= FIRST_ZOOKEEPER)
    return servers or cluster.plane.controllers()


def what_it_is(cluster: Cluster) -> str:
    """What that group is called."""
    return "the quorum" if cluster.profile.kraft else "ZooKeeper"


def runs(cluster: Cluster, node: int) -> bool:
    """Whether a process handles what comes."""
    return node != NOBODY and cluster.state_of(node) is ProcessState.RUNNING


def spare(cluster: Cluster, nodes: Iterable[int]) -> int:
    """How many of these may stop before their majority is gone; -1 when it is gone already."""
    members = tuple(nodes)
    return sum(runs(cluster, node) for node in members) - len(members) // 2 - 1


def leader_of_group(cluster: Cluster) -> int:
    """Who leads the group and runs: the active controller, the ensemble's leader; NOBODY while there is none."""
    role = "active" if cluster.profile.kraft else "leader"
    leaders = [view.node for view in cluster.plane.view() if view.role == role]
    return leaders[0] if leaders and runs(cluster, leaders[0]) else NOBODY
