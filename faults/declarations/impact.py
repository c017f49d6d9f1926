"""Predicted impact of losing or delaying nodes or links now: leaders, min.insync.replicas, majorities, clients.

The functions read the whole cluster state, as an operator who knows the cluster would, and change nothing.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from cluster_model import cluster_overview
from cluster_model.broker import topic_of
from cluster_model.clients.consumer import Consumer, GroupSettings
from cluster_model.clients.producer import Producer
from cluster_model.cluster import Cluster
from cluster_model.controller import CommittedPartition
from cluster_model.kernel import ProcessState
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.spec import FIRST_ZOOKEEPER, INTERNAL, OFFSETS, TRANSACTIONS, coordinator_partition
from cluster_model.util.quantities import counted, exact_duration
from faults.declarations.fault import ExpectedImpact, ResolvedTarget

# Predicted impact of a fault on a producer or a consumer now, as one line.


def client_impact_line(cluster: Cluster, fault: str, node: int) -> str:
    """Return the predicted impact of a fault on a client, as one line."""
    name = cluster.clients.names[node]
    if fault == "restart":
        if cluster.is_up(node):
            return f"{name} is up: nothing to restart"
        return f"{name} starts with empty memory"
    if fault == "poll_stall":
        return _stall_line(cluster, cluster.consumers[name])
    if not cluster.is_up(node):
        return f"{name} is down already"
    if name in cluster.producers:
        return _producer_line(cluster.producers[name], name, fault)
    return _consumer_line(cluster.consumers[name], fault)


def _producer_line(producer: Producer, name: str, fault: str) -> str:
    open_text = counted(producer.sent - producer.acked - producer.failed - producer.unknown, "record")
    if fault == "crash":
        return f"{name} loses {open_text} without an outcome; those in flight may be written anyway"
    if fault == "clean_shutdown":
        return f"{name} delivers {open_text} and exits"
    if fault in ("partition", "isolate"):
        return f"{name} is isolated; records wait until delivery.timeout.ms"
    if fault == "slow_cpu":
        return f"{name} handles every record and every response late"
    return (
        f"{name} sends nothing during a pause"
        if fault in ("gc_pause", "pause_train")
        else f"{name} waits longer for every response"
    )


def _consumer_line(consumer: Consumer, fault: str) -> str:
    name, count = consumer.name, len(consumer.assignment)
    owned = f"{count} partition" if count == 1 else f"{count} partitions"
    settings = _settings(consumer)
    if settings is None:
        return f"its {owned} are not read meanwhile"
    # With the consumer protocol (KIP-848) only the coordinator knows the session timeout.
    session = "its session" if settings.consumer_protocol else f"its session ({settings.session_us // 1_000_000} s)"
    if fault == "clean_shutdown":
        if settings.instance:
            return f"{name} stays a member as {settings.instance}: its {owned} wait until {session} expires"
        return f"{name} leaves {consumer.group}; its {owned} are reassigned at once"
    if fault in ("lag", "pause_train", "slow_cpu"):
        return f"{name} reads its {owned} later"
    return f"its {owned} are reassigned only when {session} expires"


def _settings(consumer: Consumer) -> GroupSettings | None:
    """Return the group settings of a consumer; None if it is in no group."""
    return None if consumer.coordination is None else consumer.coordination.settings


def _stall_line(cluster: Cluster, consumer: Consumer) -> str:
    settings = _settings(consumer)
    if settings is None or settings.max_poll_us < 0:
        return f"{consumer.name} reads later by that time"
    return f"{consumer.name} leaves {consumer.group} if no poll comes within {settings.max_poll_us // 1_000_000} s"


# Current quorums, and how many nodes a majority can spare.


def quorum_members(cluster: Cluster) -> tuple[int, ...]:
    """Return the nodes whose majority decides: voters of the KRaft quorum, or servers of the ZooKeeper ensemble."""
    servers = tuple(node for node in cluster.plane.servers if node >= FIRST_ZOOKEEPER)
    return servers or cluster.plane.controllers()


def quorum_name(cluster: Cluster) -> str:
    """Return what a message calls that group of nodes."""
    return "the quorum" if cluster.profile.kraft else "ZooKeeper"


def is_running(cluster: Cluster, node: int) -> bool:
    """Return whether a process is running and handles messages."""
    return node != NO_LEADER and cluster.state_of(node) is ProcessState.RUNNING


def spare_members(cluster: Cluster, nodes: Iterable[int]) -> int:
    """Return how many of these nodes may stop before their majority is lost; -1 if it is lost already."""
    members = tuple(nodes)
    return sum(is_running(cluster, node) for node in members) - len(members) // 2 - 1


def quorum_leader(cluster: Cluster) -> int:
    """Return the running leader of the group: the active controller or the ensemble's leader; else NO_LEADER."""
    role = "active" if cluster.profile.kraft else "leader"
    leaders = [view.node for view in cluster.plane.member_views() if view.role == role]
    return leaders[0] if leaders and is_running(cluster, leaders[0]) else NO_LEADER


# Impact of unresponsive nodes or of cut links, computed from the current state.
#
# Only differences from the current state are reported, so a fault is not blamed for the effects of another one.


T = TypeVar("T", int, str)

Links = Collection[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class PredictedImpact:
    """Cluster state after sessions and replica.lag.time.max.ms have expired; partitions are given by name."""

    down: tuple[int, ...] = ()
    """Brokers that are dead or cut off from every possible controller."""
    moved: tuple[str, ...] = ()
    """Partitions with another leader."""
    offline: tuple[str, ...] = ()
    """Partitions without a leader, since no replica can replace it."""
    shrunk: tuple[str, ...] = ()
    """Partitions with a leader and a smaller ISR."""
    under: tuple[str, ...] = ()
    """Partitions with a leader and too few in-sync replicas for acks=all."""
    stuck: tuple[str, ...] = ()
    """Partitions whose ISR should shrink but cannot, without a controller: acks=all waits."""
    unreachable_clients: tuple[str, ...] = ()
    """Clients that cannot reach a leader they need."""
    controller: int = NO_LEADER
    """The current controller if it would stay; NO_LEADER: another one, or none."""
    has_majority: bool = True
    """Whether the control plane would have a majority."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Size of the ISR of each partition with a leader."""

    def difference(self, now: "PredictedImpact") -> "PredictedImpact":
        """Return the impact without what is already true in ``now``."""
        smaller = [each for each in self.shrunk if self.sizes[each] < now.sizes.get(each, 0)]
        return replace(
            self,
            down=_not_in(self.down, now.down),
            moved=_not_in(self.moved, now.moved),
            offline=_not_in(self.offline, now.offline),
            shrunk=tuple(smaller),
            under=_not_in(self.under, now.under),
            stuck=_not_in(self.stuck, now.stuck),
            unreachable_clients=_not_in(self.unreachable_clients, now.unreachable_clients),
        )


def predict_impact(cluster: Cluster, lost: Collection[int] = (), links: Links = ()) -> PredictedImpact:
    """Return what would change if these nodes were lost and these links, (source, target), were cut."""
    if not lost and not links:
        return PredictedImpact(
            controller=cluster.plane.active(), has_majority=Reachability(cluster, (), ()).has_majority()
        )
    now = _outcome(cluster, Reachability(cluster, (), ()), severed=bool(links))
    return _outcome(cluster, Reachability(cluster, lost, links), severed=bool(links)).difference(now)


class Reachability:
    """Reachability between nodes if some nodes were lost and some links were cut."""

    def __init__(self, cluster: Cluster, lost: Collection[int], links: Links) -> None:
        self._cluster = cluster
        self._lost = frozenset(lost)
        self._cut = frozenset(links)

    def lives(self, node: int) -> bool:
        """Return whether the process would exist, running or paused as it is now."""
        return node not in self._lost and self._cluster.is_up(node)

    def runs(self, node: int) -> bool:
        """Return whether the process would be running."""
        return node not in self._lost and self._cluster.state_of(node) is ProcessState.RUNNING

    def linked(self, one: int, other: int) -> bool:
        """Return whether a request succeeds between two nodes: request and response need both directions."""
        return self.delivers(one, other) and self.delivers(other, one)

    def delivers(self, source: int, target: int) -> bool:
        """Return whether messages from one node arrive at the other."""
        return source == target or (
            (source, target) not in self._cut and not self._cluster.network.is_cut(source, target)
        )

    def possible_leaders(self) -> tuple[int, ...]:
        """Return the members of the quorum or ensemble that could lead it: they reach a majority of it."""
        group = quorum_members(self._cluster)
        alive = [node for node in group if self.runs(node)]
        return tuple(node for node in alive if 2 * sum(self.linked(node, other) for other in alive) > len(group))

    def has_majority(self) -> bool:
        """Return whether the control plane has a possible leader."""
        return bool(self.possible_leaders())

    def registered_brokers(self, brokers: Iterable[int]) -> tuple[int, ...]:
        """Return the live brokers that can reach the controller, or a server of the ensemble.

        A ZooKeeper session lasts as long as pings arrive, whether or not their responses do. A KRaft broker closes the
        connection on which a heartbeat is not answered, and does not get the next one.
        """
        speakers, active = self.possible_leaders(), self._cluster.plane.active()
        if self._cluster.profile.kraft:
            reachable = (active,) if active in speakers else speakers
            return tuple(
                node for node in brokers if self.lives(node) and any(self.linked(node, each) for each in reachable)
            )
        group = quorum_members(self._cluster)
        reachable = tuple(
            node for node in group if self.runs(node) and any(self.linked(node, other) for other in speakers)
        )
        return tuple(
            node for node in brokers if self.lives(node) and any(self.delivers(node, each) for each in reachable)
        )


def _outcome(cluster: Cluster, net: Reachability, *, severed: bool) -> PredictedImpact:
    """Return the predicted state; ``severed``: links are cut, so a client may not reach a live leader."""
    speakers = net.possible_leaders()
    live = net.registered_brokers(cluster.brokers)
    down = tuple(node for node in cluster.brokers if node not in live)
    active = cluster.plane.active()
    stays = active in (speakers if cluster.profile.kraft else live)
    partitions: dict[str, list[str]] = {"moved": [], "offline": [], "shrunk": [], "under": [], "stuck": []}
    leaders: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for name, record in cluster.cluster_state.records.items():
        leaders[name] = _classify(cluster, net, record, live, bool(speakers), partitions, sizes)
    return PredictedImpact(
        down,
        tuple(partitions["moved"]),
        tuple(partitions["offline"]),
        tuple(partitions["shrunk"]),
        tuple(partitions["under"]),
        tuple(partitions["stuck"]),
        _unreachable_clients(cluster, net, leaders) if severed else (),
        active if stays else NO_LEADER,
        bool(speakers),
        sizes,
    )


def _classify(
    cluster: Cluster,
    net: Reachability,
    record: CommittedPartition,
    live: tuple[int, ...],
    decides: bool,
    partitions: dict[str, list[str]],
    sizes: dict[str, int],
) -> int:
    """Classify a partition in ``partitions``; return its future leader, NO_LEADER if it has none."""
    name, leader = record.name, record.leader
    if not decides:  # Nothing changes any more: a leader stays leader as long as it lives.
        if leader == NO_LEADER or not net.lives(leader):
            partitions["offline"] += [name] if leader != NO_LEADER else []
            return NO_LEADER
        if not all(net.lives(each) and net.linked(each, leader) for each in record.isr):
            partitions["stuck"].append(name)
        sizes[name] = len(record.isr)
        return leader
    left = [each for each in record.isr if each in live]
    if leader not in live:
        leader, left = _elected(record, left, live)
    if leader == NO_LEADER:
        partitions["offline"] += [name] if record.leader != NO_LEADER else []
        return NO_LEADER
    if leader != record.leader:
        partitions["moved"].append(name)
    kept = [each for each in left if net.linked(each, leader)]
    sizes[name] = len(kept)
    if len(kept) < len(record.isr):
        partitions["shrunk"].append(name)
    if len(kept) < cluster.cluster_state.effective_min_isr(name):
        partitions["under"].append(name)
    return leader


def _elected(record: CommittedPartition, left: list[int], live: tuple[int, ...]) -> tuple[int, list[int]]:
    """Return the new leader and ISR: the first in-sync replica, else an eligible one (KIP-966), else an unclean one."""
    eligible = (*left, *[each for each in record.state.elr if each in live])
    clean = next((each for each in record.assignment if each in eligible), NO_LEADER)
    if clean != NO_LEADER:
        return clean, left if clean in left else [clean]
    unclean = (
        next((each for each in record.assignment if each in live), NO_LEADER)
        if record.topic_config.unclean
        else NO_LEADER
    )
    return unclean, [unclean] if unclean != NO_LEADER else []


def _unreachable_clients(cluster: Cluster, net: Reachability, leaders: dict[str, int]) -> tuple[str, ...]:
    """Return the clients with a live leader that they cannot reach."""
    topics = {each.name: each.topic for each in cluster.spec.producers}
    affected = []
    for node, name in cluster.clients.names.items():
        topic = topics.get(name, "")
        wanted = [each for each in leaders if topic_of(each) == topic] if topic else cluster.consumers[name].assignment
        if any(leaders.get(each, NO_LEADER) != NO_LEADER and not net.linked(node, leaders[each]) for each in wanted):
            affected.append(name)
    return tuple(affected)


def groups_on(cluster: Cluster, partitions: Collection[str]) -> tuple[str, ...]:
    """Return the groups whose coordinator leads one of these partitions of ``__consumer_offsets``."""
    if not any(topic_of(each) == OFFSETS for each in partitions):
        return ()
    count = _count_of(cluster, OFFSETS)
    return tuple(
        spec.name
        for spec in cluster.spec.groups
        if cluster_overview.is_coordinated(cluster, spec)
        and f"{OFFSETS}-{coordinator_partition(spec.name, count)}" in partitions
    )


def transactional_on(cluster: Cluster, partitions: Collection[str]) -> tuple[str, ...]:
    """Return the producers whose coordinator leads one of these partitions of ``__transaction_state``."""
    if not any(topic_of(each) == TRANSACTIONS for each in partitions):
        return ()
    count = _count_of(cluster, TRANSACTIONS)
    ids = {each.name: str(each.config.get("transactional.id", "")) for each in cluster.spec.producers}
    return tuple(
        name
        for name, transactional_id in ids.items()
        if transactional_id and f"{TRANSACTIONS}-{coordinator_partition(transactional_id, count)}" in partitions
    )


def _count_of(cluster: Cluster, topic: str) -> int:
    return sum(topic_of(each) == topic for each in cluster.cluster_state.records)


def _not_in(then: tuple[T, ...], now: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(each for each in then if each not in now)


ALL: Final = -1
"""Value of ``acks=all``."""


def outage_impact(cluster: Cluster, fault: str, nodes: tuple[int, ...], for_us: int = -1) -> ExpectedImpact:
    """Return the impact of nodes that are dead, paused or cut off for longer than their sessions.

    ``for_us``: the duration, if known. An outage shorter than the session moves no leader.
    """
    if 0 <= for_us < cluster.plane.session_us and any(node in cluster.brokers for node in nodes):
        down = tuple(node for node in nodes if node in cluster.brokers and cluster.is_up(node))
        return _brief_outage(cluster, nodes, for_us, down)
    outcome = predict_impact(cluster, nodes)
    sentence = (
        _silent_line(cluster, fault, nodes[0]) if len(nodes) == 1 else _several_nodes_line(cluster, nodes, outcome)
    )
    return _impact_of(cluster, sentence, nodes, outcome)


def shutdown_impact(cluster: Cluster, fault: str, nodes: tuple[int, ...]) -> ExpectedImpact:
    """Return the impact of nodes that shut down cleanly: the leaders they transfer, and their absence afterwards."""
    outcome = predict_impact(cluster, nodes)
    sentence = (
        _parting_line(cluster, fault, nodes[0]) if len(nodes) == 1 else _several_nodes_line(cluster, nodes, outcome)
    )
    return _impact_of(cluster, sentence, nodes, outcome)


def slow_impact(cluster: Cluster, fault: str, nodes: tuple[int, ...]) -> ExpectedImpact:
    """Return the impact of nodes that respond late."""
    if len(nodes) == 1:
        sentence = _slow_line(cluster, fault, nodes[0])
    else:
        sentence = f"{names(cluster, nodes)}: no partition loses its leader"
    return ExpectedImpact(sentence, clients=affected_clients(cluster, nodes, ()))


def link_cut_impact(cluster: Cluster, fault: str, resolved: ResolvedTarget) -> ExpectedImpact:
    """Return the impact of the aim's cut links, per direction; all other links stay intact."""
    net = Reachability(cluster, (), resolved.links)
    others = [node for node in cluster.nodes() if node not in resolved.nodes] or cluster.nodes()
    if not any(net.linked(node, other) for node in resolved.nodes for other in others if other != node):
        return outage_impact(cluster, fault, resolved.nodes, resolved.for_us)
    if 0 <= resolved.for_us < min(cluster.plane.session_us, lag_time_us(cluster)):
        return _brief_outage(
            cluster, resolved.nodes, resolved.for_us, predict_impact(cluster, links=resolved.links).down
        )
    outcome = predict_impact(cluster, links=resolved.links)
    return _impact_of(cluster, _severed_line(cluster, resolved.nodes, outcome), (), outcome)


def impact_without_leader_change(sentence: str, clients: tuple[str, ...] = ()) -> ExpectedImpact:
    """Return an impact that moves no leader."""
    return ExpectedImpact(sentence, clients=clients)


def names(cluster: Cluster, nodes: Collection[int]) -> str:
    """Return nodes as text: ``broker 1, broker 2``."""
    return ", ".join(cluster.name_of(node) for node in nodes)


def each_of(cluster: Cluster, nodes: Collection[int]) -> str:
    """Return the subject of a sentence that is true of each of the nodes."""
    return names(cluster, nodes) if len(nodes) == 1 else f"each of {names(cluster, nodes)}"


def lag_time_us(cluster: Cluster) -> int:
    """Return ``replica.lag.time.max.ms`` of the brokers in microseconds."""
    replicas = (replica for of in cluster.cluster_state.replicas.values() for replica in of.values())
    return next((replica.config.lag_time_us for replica in replicas), 0)


def losses(cluster: Cluster, lost: Collection[int]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the partitions that would get another leader, have none, and be under min.insync.replicas."""
    outcome = predict_impact(cluster, lost)
    return outcome.moved, outcome.offline, outcome.under


def affected_clients(cluster: Cluster, nodes: Collection[int], partitions: Collection[str]) -> tuple[str, ...]:
    """Return the clients that are among the nodes, produce to a topic of the partitions, or read one of them."""
    topics = {topic_of(partition) for partition in partitions}
    of_producers = {each.name: each.topic for each in cluster.spec.producers}
    affected = []
    for node, name in cluster.clients.names.items():
        if node in nodes:
            affected.append(name)
        elif name in of_producers:
            if of_producers[name] in topics:
                affected.append(name)
        elif any(each in partitions for each in cluster.consumers[name].assignment):
            affected.append(name)
    return tuple(affected)


def acks_all_producers(cluster: Cluster, partitions: Collection[str]) -> tuple[str, ...]:
    """Return the producers with ``acks=all`` to a topic of the partitions."""
    topics = [topic_of(partition) for partition in partitions]
    return tuple(
        each.name
        for each in cluster.spec.producers
        if each.topic in topics and cluster.producers[each.name].acks == ALL
    )


def _impact_of(cluster: Cluster, sentence: str, nodes: Collection[int], outcome: PredictedImpact) -> ExpectedImpact:
    """Return the impact of an outcome, with the affected clients."""
    leaderless = (*outcome.moved, *outcome.offline)
    groups, transactional = groups_on(cluster, leaderless), transactional_on(cluster, leaderless)
    affected = [
        *affected_clients(cluster, nodes, leaderless), *acks_all_producers(cluster, (*outcome.under, *outcome.stuck)),
        *outcome.unreachable_clients, *transactional,
        *[name for name, consumer in cluster.consumers.items() if consumer.group in groups],
    ]  # fmt: skip
    active = cluster.plane.active()
    decided = Reachability(cluster, (), ()).has_majority()
    return ExpectedImpact(
        sentence, outcome.moved, outcome.offline, outcome.under,
        clients=tuple(name for name in cluster.clients.names.values() if name in affected),
        shrunk_isr=outcome.shrunk,
        groups=groups,
        transactional=transactional,
        down=outcome.down,
        controller_moves=outcome.has_majority and active not in (NO_LEADER, outcome.controller),
        quorum_lost=decided and not outcome.has_majority,
    )  # fmt: skip


def _brief_outage(cluster: Cluster, nodes: tuple[int, ...], for_us: int, down: tuple[int, ...]) -> ExpectedImpact:
    """Return the impact of an outage that ends before any session: requests wait, ``down`` cannot be reached."""
    shown = names(cluster, nodes)
    session = exact_duration(cluster.plane.session_us)
    sentence = f"{shown}: requests wait {exact_duration(for_us)}, less than the session of {session}: no leader moves"
    led = [name for name, record in cluster.cluster_state.records.items() if record.leader in nodes]
    return ExpectedImpact(sentence, clients=affected_clients(cluster, nodes, led), down=down)


def _several_nodes_line(cluster: Cluster, nodes: tuple[int, ...], outcome: PredictedImpact) -> str:
    return f"{names(cluster, nodes)}: {', '.join(_consequences(cluster, outcome)) or 'no partition loses its leader'}"


def _severed_line(cluster: Cluster, nodes: tuple[int, ...], outcome: PredictedImpact) -> str:
    parts = []
    if outcome.down:
        session = exact_duration(cluster.plane.session_us)
        shown = "" if outcome.down == nodes else f"{names(cluster, outcome.down)} "
        parts.append(f"{shown}cut off from the controller and fenced after {session}")
    parts += _consequences(cluster, outcome)
    if outcome.shrunk and not outcome.down:
        lag = exact_duration(lag_time_us(cluster))
        parts.append(f"{partitions_text(outcome.shrunk)} with a smaller ISR after {lag}")
    if not outcome.moved and not outcome.offline:
        parts.append("no leader moves")
    return f"{names(cluster, nodes)}: {', '.join(parts)}"


def _consequences(cluster: Cluster, outcome: PredictedImpact) -> list[str]:
    lost = not outcome.has_majority and Reachability(cluster, (), ()).has_majority()
    return [
        *(["the control plane loses its majority"] if lost else []),
        *([f"{partitions_text(outcome.moved)} with a new leader"] if outcome.moved else []),
        *([f"{partitions_text(outcome.offline)} without a leader"] if outcome.offline else []),
        *([f"{partitions_text(outcome.under)} under min.insync.replicas"] if outcome.under else []),
    ]


def partitions_text(partitions: tuple[str, ...]) -> str:
    """Return one partition by name, several by count; internal topics only if there are no others."""
    own = tuple(each for each in partitions if topic_of(each) not in INTERNAL) or partitions
    return own[0] if len(own) == 1 else counted(len(own), "partition")


def _silent_line(cluster: Cluster, fault: str, node: int) -> str:
    if node in cluster.clients.names:
        return client_impact_line(cluster, fault, node)
    name = cluster.name_of(node)
    if not cluster.is_up(node):
        return f"{name} is down already"
    if node in cluster.plane.servers:
        return f"{name} {control_plane_impact_line(cluster, node)}"
    if node not in cluster.brokers:
        return f"{name} is isolated"
    if node in quorum_members(cluster) and not Reachability(cluster, (node,), ()).has_majority():
        return f"{name} {_leads_text(cluster, node)}, and {control_plane_impact_line(cluster, node)}"
    if not any(record.leader == node for record in cluster.cluster_state.records.values()):
        return f"{name} leads no partition{_under_min_isr_without(cluster, node)}"
    session = exact_duration(cluster.plane.session_us)
    leads, short = _leads_text(cluster, node), _under_min_isr_without(cluster, node)
    return f"{name} {leads}; new leaders after its session ({session}){short}"


def _under_min_isr_without(cluster: Cluster, node: int) -> str:
    """Return how many partitions would be under min.insync.replicas without the node, as text."""
    below = len(losses(cluster, (node,))[2])
    return f"; without it {below} would be under min.insync.replicas" if below else ""


def _parting_line(cluster: Cluster, fault: str, node: int) -> str:
    if node not in cluster.brokers or not cluster.is_up(node):
        return _silent_line(cluster, fault, node)
    leads = _leads_text(cluster, node)
    return (
        f"{cluster.name_of(node)} {leads}, transfers its leaderships and exits{_under_min_isr_without(cluster, node)}"
    )


def _slow_line(cluster: Cluster, fault: str, node: int) -> str:
    if node in cluster.clients.names:
        return client_impact_line(cluster, fault, node)
    name = cluster.name_of(node)
    if not cluster.is_up(node):
        return f"{name} is down already"
    if node in cluster.plane.servers:
        return f"{name} responds late"
    return f"{name} {_leads_text(cluster, node)}; acks=all waits for it while it is in an ISR"


def _leads_text(cluster: Cluster, node: int) -> str:
    leads = sum(record.leader == node for record in cluster.cluster_state.records.values())
    return "leads 1 partition" if leads == 1 else f"leads {leads} partitions"


def control_plane_impact_line(cluster: Cluster, node: int) -> str:
    """Return what losing a node means to the control plane, given the members that remain."""
    group = quorum_members(cluster)
    what = quorum_name(cluster)
    net = Reachability(cluster, (node,), ())
    left = sum(net.runs(each) for each in group)
    if 2 * left <= len(group):
        return f"is required: without it {what} has no majority; leaders and ISRs do not change"
    if cluster.profile.kraft and node == cluster.plane.active():
        return f"is the controller; the remaining {left} of {len(group)} elect another"
    return f"is not required: {left} of {len(group)} are a majority of {what}"
