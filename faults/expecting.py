"""What losing nodes, or waiting for them, would mean now: leaders, min.insync.replicas, majorities, clients.

It looks at everything, as an operator would who knows the cluster; nothing is changed by asking.
"""

from collections.abc import Callable, Collection

from cluster_model.cluster import Cluster
from cluster_model.kernel.processes import ProcessState
from cluster_model.replication.topic_settings import topic_of
from cluster_model.spec import FIRST_ZOOKEEPER
from faults.client_fates import client_fate
from faults.fault import Expectation


def silence(cluster: Cluster, fault: str, nodes: tuple[int, ...]) -> Expectation:
    """Nodes that nobody hears any more: dead, paused or cut off, longer than their sessions."""
    return _told(cluster, fault, nodes, _silent_line, lost=nodes)


def slowness(cluster: Cluster, fault: str, nodes: tuple[int, ...]) -> Expectation:
    """Nodes that answer late."""
    return _told(cluster, fault, nodes, _slow_line, lost=())


def plain(sentence: str, clients: tuple[str, ...] = ()) -> Expectation:
    """Something that moves no leader."""
    return Expectation(sentence, clients=clients)


def names(cluster: Cluster, nodes: Collection[int]) -> str:
    """Nodes as people call them: ``broker 1, broker 2``."""
    return ", ".join(cluster.name_of(node) for node in nodes)


def each_of(cluster: Cluster, nodes: Collection[int]) -> str:
    """The subject of a sentence that is true of each of the nodes."""
    return names(cluster, nodes) if len(nodes) == 1 else f"each of {names(cluster, nodes)}"


def _told(
    cluster: Cluster,
    fault: str,
    nodes: tuple[int, ...],
    line: Callable[[Cluster, str, int], str],
    *,
    lost: tuple[int, ...],
) -> Expectation:
    moved, offline, under = losses(cluster, lost)
    one = len(nodes) == 1
    sentence = line(cluster, fault, nodes[0]) if one else _together(cluster, nodes, (moved, offline, under))
    return Expectation(sentence, moved, offline, under, hit(cluster, nodes, (*moved, *offline, *under)))


def losses(cluster: Cluster, lost: Collection[int]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Partitions that would get another leader, those left without one, and those under min.insync.replicas."""
    moved: list[str] = []
    offline: list[str] = []
    under: list[str] = []
    world = cluster.world
    for partition, record in world.records.items() if lost else ():
        left = [each for each in record.isr if each not in lost and cluster.is_up(each)]
        if record.leader in lost:
            alive = any(each not in lost and cluster.is_up(each) for each in record.assignment)
            unclean = record.topic.unclean and alive
            (moved if left or unclean else offline).append(partition)
        touched = any(each in lost for each in record.isr)
        if touched and left and len(left) < world.effective_min_isr(partition):
            under.append(partition)
    return tuple(moved), tuple(offline), tuple(under)


def hit(cluster: Cluster, nodes: Collection[int], partitions: Collection[str]) -> tuple[str, ...]:
    """Clients that are among the nodes, or produce to or read a topic of the partitions."""
    topics = {topic_of(partition) for partition in partitions}
    of_producers = {each.name: each.topic for each in cluster.spec.producers}
    found = []
    for node, name in cluster.clients.names.items():
        if node in nodes:
            found.append(name)
        elif name in of_producers:
            if of_producers[name] in topics:
                found.append(name)
        elif any(topic_of(each) in topics for each in cluster.consumers[name].assignment):
            found.append(name)
    return tuple(found)


def _together(cluster: Cluster, nodes: tuple[int, ...], found: tuple[tuple[str, ...], ...]) -> str:
    moved, offline, under = found
    parts = [f"{_count(moved)} another leader"] if moved else []
    parts += [f"{_count(offline)} left without one"] if offline else []
    parts += [f"{_count(under)} under min.insync.replicas"] if under else []
    return f"{names(cluster, nodes)}: {', '.join(parts) or 'no partition loses its leader'}"


def _count(partitions: tuple[str, ...]) -> str:
    return f"{partitions[0]}" if len(partitions) == 1 else f"{len(partitions)} partitions"


def _silent_line(cluster: Cluster, fault: str, node: int) -> str:
    if node in cluster.clients.names:
        return client_fate(cluster, fault, node)
    who = cluster.name_of(node)
    if not cluster.is_up(node):
        return f"{who} is down already"
    if node in cluster.plane.servers:
        return f"{who} {control_fate(cluster, node)}"
    if node not in cluster.brokers:
        return f"{who} hears and is heard by nobody"
    below = len(losses(cluster, (node,))[2])
    short = f"; without it {below} would be under min.insync.replicas" if below else ""
    session = cluster.plane.session_us // 1_000_000
    return f"{who} {_leads(cluster, node)}; new leaders after its session of {session} s{short}"


def _slow_line(cluster: Cluster, fault: str, node: int) -> str:
    if node in cluster.clients.names:
        return client_fate(cluster, fault, node)
    who = cluster.name_of(node)
    if not cluster.is_up(node):
        return f"{who} is down already"
    if node in cluster.plane.servers:
        return f"{who} answers late"
    return f"{who} {_leads(cluster, node)}; acks=all waits for it while it is in an ISR"


def _leads(cluster: Cluster, node: int) -> str:
    leads = sum(record.leader == node for record in cluster.world.records.values())
    return "leads 1 partition" if leads == 1 else f"leads {leads} partitions"


def control_fate(cluster: Cluster, node: int) -> str:
    """What a node's silence means to the control plane, by how many members of its group would be left."""
    servers = node >= FIRST_ZOOKEEPER
    group = [each for each in cluster.plane.servers if (each >= FIRST_ZOOKEEPER) == servers]
    left = sum(cluster.state_of(each) is ProcessState.RUNNING for each in group if each != node)
    what = "ZooKeeper" if servers else "the quorum"
    if 2 * left <= len(group):
        return f"is needed: without it {what} has no majority; leaders and ISRs stay as they are"
    if not servers and node == cluster.plane.active():
        return f"is the controller; {left} of {len(group)} are left to elect another"
    return f"is not needed: {left} of {len(group)} are a majority, {what} goes on"
