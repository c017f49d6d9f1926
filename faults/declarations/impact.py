"""What losing nodes or links, or waiting for them, would mean now: leaders, min.insync.replicas, majorities, clients.

It looks at everything, as an operator would who knows the cluster; nothing is changed by asking.
"""

from collections.abc import Collection
from typing import Final

from cluster_model.broker.topic_configs import topic_of
from cluster_model.cluster import Cluster
from cluster_model.protocol.messages import NOBODY
from cluster_model.spec.internal_topics import INTERNAL
from faults.declarations.client_fates import client_fate
from faults.declarations.fault import Aim, Expectation
from faults.declarations.foresight import Net, Outcome, foresee, groups_on, transactional_on
from faults.declarations.quorums import group_of, what_it_is
from faults.declarations.spelling import spelled

ALL: Final = -1
"""``acks=all``."""


def silence(cluster: Cluster, fault: str, nodes: tuple[int, ...], for_us: int = -1) -> Expectation:
    """Nodes that nobody hears any more: dead, paused or cut off, longer than their sessions.

    ``for_us``: how long, where that is known. What is over before the session is costs nobody a leader.
    """
    if 0 <= for_us < cluster.plane.session_us and any(node in cluster.brokers for node in nodes):
        down = tuple(node for node in nodes if node in cluster.brokers and cluster.is_up(node))
        return _short(cluster, nodes, for_us, down)
    outcome = foresee(cluster, nodes)
    sentence = _silent_line(cluster, fault, nodes[0]) if len(nodes) == 1 else _together(cluster, nodes, outcome)
    return _told(cluster, sentence, nodes, outcome)


def parting(cluster: Cluster, fault: str, nodes: tuple[int, ...]) -> Expectation:
    """Nodes that end in order: what they hand over first, and what is missing then."""
    outcome = foresee(cluster, nodes)
    sentence = _parting_line(cluster, fault, nodes[0]) if len(nodes) == 1 else _together(cluster, nodes, outcome)
    return _told(cluster, sentence, nodes, outcome)


def slowness(cluster: Cluster, fault: str, nodes: tuple[int, ...]) -> Expectation:
    """Nodes that answer late."""
    if len(nodes) == 1:
        sentence = _slow_line(cluster, fault, nodes[0])
    else:
        sentence = f"{names(cluster, nodes)}: no partition loses its leader"
    return Expectation(sentence, clients=hit(cluster, nodes, ()))


def severance(cluster: Cluster, fault: str, aim: Aim) -> Expectation:
    """Links that let nothing pass, in the directions that the aim says; the other nodes still speak to each other."""
    net = Net(cluster, (), aim.links)
    others = [node for node in cluster.nodes() if node not in aim.nodes] or cluster.nodes()
    if not any(net.linked(node, other) for node in aim.nodes for other in others if other != node):
        return silence(cluster, fault, aim.nodes, aim.for_us)
    if 0 <= aim.for_us < min(cluster.plane.session_us, lag_time_us(cluster)):
        return _short(cluster, aim.nodes, aim.for_us, foresee(cluster, links=aim.links).down)
    outcome = foresee(cluster, links=aim.links)
    return _told(cluster, _severed_line(cluster, aim.nodes, outcome), (), outcome)


def plain(sentence: str, clients: tuple[str, ...] = ()) -> Expectation:
    """Something that moves no leader."""
    return Expectation(sentence, clients=clients)


def names(cluster: Cluster, nodes: Collection[int]) -> str:
    """Nodes as people call them: ``broker 1, broker 2``."""
    return ", ".join(cluster.name_of(node) for node in nodes)


def each_of(cluster: Cluster, nodes: Collection[int]) -> str:
    """The subject of a sentence that is true of each of the nodes."""
    return names(cluster, nodes) if len(nodes) == 1 else f"each of {names(cluster, nodes)}"


def lag_time_us(cluster: Cluster) -> int:
    """``replica.lag.time.max.ms`` of the brokers."""
    replicas = (replica for of in cluster.world.replicas.values() for replica in of.values())
    return next((replica.config.lag_time_us for replica in replicas), 0)


def losses(cluster: Cluster, lost: Collection[int]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Partitions that would get another leader, those left without one, and those under min.insync.replicas."""
    outcome = foresee(cluster, lost)
    return outcome.moved, outcome.offline, outcome.under


def hit(cluster: Cluster, nodes: Collection[int], partitions: Collection[str]) -> tuple[str, ...]:
    """Clients that are among the nodes, produce to a topic of the partitions, or read one of them."""
    topics = {topic_of(partition) for partition in partitions}
    of_producers = {each.name: each.topic for each in cluster.spec.producers}
    found = []
    for node, name in cluster.clients.names.items():
        if node in nodes:
            found.append(name)
        elif name in of_producers:
            if of_producers[name] in topics:
                found.append(name)
        elif any(each in partitions for each in cluster.consumers[name].assignment):
            found.append(name)
    return tuple(found)


def waiting(cluster: Cluster, partitions: Collection[str]) -> tuple[str, ...]:
    """Producers to a topic of the partitions that wait for all replicas in sync (``acks=all``)."""
    topics = [topic_of(partition) for partition in partitions]
    return tuple(
        each.name
        for each in cluster.spec.producers
        if each.topic in topics and cluster.producers[each.name].acks == ALL
    )


def _told(cluster: Cluster, sentence: str, nodes: Collection[int], outcome: Outcome) -> Expectation:
    """All that an outcome says, with who notices."""
    unled = (*outcome.moved, *outcome.offline)
    groups, transactional = groups_on(cluster, unled), transactional_on(cluster, unled)
    noticing = [
        *hit(cluster, nodes, unled), *waiting(cluster, (*outcome.under, *outcome.stuck)), *outcome.deaf, *transactional,
        *[name for name, consumer in cluster.consumers.items() if consumer.group in groups],
    ]  # fmt: skip
    active = cluster.plane.active()
    decided = Net(cluster, (), ()).decides()
    return Expectation(
        sentence, outcome.moved, outcome.offline, outcome.under,
        clients=tuple(name for name in cluster.clients.names.values() if name in noticing),
        shrunk=outcome.shrunk,
        groups=groups,
        transactional=transactional,
        down=outcome.down,
        controller_moves=outcome.decides and active not in (NOBODY, outcome.controller),
        quorum_lost=decided and not outcome.decides,
    )  # fmt: skip


def _short(cluster: Cluster, nodes: tuple[int, ...], for_us: int, down: tuple[int, ...]) -> Expectation:
    """Silence that is over before anybody gives up: requests wait; ``down`` are heard by nobody who decides."""
    who = names(cluster, nodes)
    session = spelled(cluster.plane.session_us)
    sentence = f"{who}: requests wait {spelled(for_us)}, less than a session of {session}: no leader moves"
    led = [name for name, record in cluster.world.records.items() if record.leader in nodes]
    return Expectation(sentence, clients=hit(cluster, nodes, led), down=down)


def _together(cluster: Cluster, nodes: tuple[int, ...], outcome: Outcome) -> str:
    return f"{names(cluster, nodes)}: {', '.join(_consequences(cluster, outcome)) or 'no partition loses its leader'}"


def _severed_line(cluster: Cluster, nodes: tuple[int, ...], outcome: Outcome) -> str:
    parts = []
    if outcome.down:
        session = spelled(cluster.plane.session_us)
        who = "" if outcome.down == nodes else f"{names(cluster, outcome.down)} "
        parts.append(f"{who}cut off from the controller and fenced after {session}")
    parts += _consequences(cluster, outcome)
    if outcome.shrunk and not outcome.down:
        lag = spelled(lag_time_us(cluster))
        parts.append(f"{counted(outcome.shrunk)} with a smaller ISR after {lag}")
    if not outcome.moved and not outcome.offline:
        parts.append("no leader moves")
    return f"{names(cluster, nodes)}: {', '.join(parts)}"


def _consequences(cluster: Cluster, outcome: Outcome) -> list[str]:
    lost = not outcome.decides and Net(cluster, (), ()).decides()
    return [
        *(["no majority is left to decide anything"] if lost else []),
        *([f"{counted(outcome.moved)} another leader"] if outcome.moved else []),
        *([f"{counted(outcome.offline)} left without one"] if outcome.offline else []),
        *([f"{counted(outcome.under)} under min.insync.replicas"] if outcome.under else []),
    ]


def counted(partitions: tuple[str, ...]) -> str:
    """One partition by its name, several by their number; Kafka's own only where there are no others."""
    own = tuple(each for each in partitions if topic_of(each) not in INTERNAL) or partitions
    return own[0] if len(own) == 1 else f"{len(own)} partitions"


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
    if node in group_of(cluster) and not Net(cluster, (node,), ()).decides():
        return f"{who} {_leads(cluster, node)}, and {control_fate(cluster, node)}"
    if not any(record.leader == node for record in cluster.world.records.values()):
        return f"{who} leads nothing{_short_of(cluster, node)}"
    session = spelled(cluster.plane.session_us)
    return f"{who} {_leads(cluster, node)}; new leaders after its session of {session}{_short_of(cluster, node)}"


def _short_of(cluster: Cluster, node: int) -> str:
    """What acks=all would miss without it."""
    below = len(losses(cluster, (node,))[2])
    return f"; without it {below} would be under min.insync.replicas" if below else ""


def _parting_line(cluster: Cluster, fault: str, node: int) -> str:
    if node not in cluster.brokers or not cluster.is_up(node):
        return _silent_line(cluster, fault, node)
    return (
        f"{cluster.name_of(node)} {_leads(cluster, node)}, hands over what it can, and ends{_short_of(cluster, node)}"
    )


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
    group = group_of(cluster)
    what = what_it_is(cluster)
    net = Net(cluster, (node,), ())
    left = sum(net.runs(each) for each in group)
    if 2 * left <= len(group):
        return f"is needed: without it {what} has no majority; leaders and ISRs stay as they are"
    if cluster.profile.kraft and node == cluster.plane.active():
        return f"is the controller; {left} of {len(group)} are left to elect another"
    return f"is not needed: {left} of {len(group)} are a majority, {what} goes on"
