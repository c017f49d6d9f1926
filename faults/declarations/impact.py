"""The impact of losing nodes or links, or of waiting for them, now: leaders, min.insync.replicas, majorities, clients.

It looks at everything, as an operator would who knows the cluster; nothing is changed by asking.
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
from cluster_model.protocol.messages import NOBODY
from cluster_model.spec import FIRST_ZOOKEEPER, INTERNAL, OFFSETS, TRANSACTIONS, coordinator_partition
from cluster_model.util.quantities import counted, exact_duration
from faults.declarations.fault import Aim, ExpectedImpact

# What a fault would do to a producer or a consumer now, in one line, from the state of things.


def client_fate(cluster: Cluster, fault: str, node: int) -> str:
    """The line for a fault that fits the client."""
    who = cluster.clients.names[node]
    if fault == "restart":
        if cluster.is_up(node):
            return f"{who} is up: nothing to restart"
        return f"{who} starts with nothing in memory"
    if fault == "poll_stall":
        return _stall(cluster, cluster.consumers[who])
    if not cluster.is_up(node):
        return f"{who} is down already"
    if who in cluster.producers:
        return _of_producer(cluster.producers[who], who, fault)
    return _of_consumer(cluster.consumers[who], fault)


def _of_producer(producer: Producer, who: str, fault: str) -> str:
    open_records = producer.sent - producer.acked - producer.failed - producer.unknown
    if fault == "crash":
        return f"{who} forgets {open_records} records without an outcome; those under way may be written all the same"
    if fault == "clean_shutdown":
        return f"{who} delivers {open_records} records, and ends"
    if fault in ("partition", "isolate"):
        return f"{who} hears and is heard by nobody; records wait until delivery.timeout.ms"
    if fault == "slow_cpu":
        return f"{who} is late with every record and every answer"
    return (
        f"{who} sends nothing meanwhile"
        if fault in ("gc_pause", "pause_train")
        else f"{who} waits longer for every answer"
    )


def _of_consumer(consumer: Consumer, fault: str) -> str:
    who, count = consumer.name, len(consumer.assignment)
    owned = f"{count} partition" if count == 1 else f"{count} partitions"
    settings = _settings(consumer)
    if settings is None:
        return f"nobody reads its {owned} meanwhile"
    # By the consumer protocol (KIP-848) the coordinator alone knows how long a session is.
    session = "its session" if settings.modern else f"its session of {settings.session_us // 1_000_000} s"
    if fault == "clean_shutdown":
        if settings.instance:
            return f"{who} does not leave as {settings.instance}: its {owned} wait for it until {session} is over"
        return f"{who} leaves {consumer.group}, and its {owned} are given to others at once"
    if fault in ("lag", "pause_train", "slow_cpu"):
        return f"{who} reads its {owned} later"
    return f"its {owned} are given to others only when {session} is over"


def _settings(consumer: Consumer) -> GroupSettings | None:
    """None for one that has no group to be a member of."""
    return None if consumer.coordination is None else consumer.coordination.settings


def _stall(cluster: Cluster, consumer: Consumer) -> str:
    settings = _settings(consumer)
    if settings is None or settings.max_poll_us < 0:
        return f"{consumer.name} reads so much later"
    return f"{consumer.name} leaves {consumer.group} if no poll comes within {settings.max_poll_us // 1_000_000} s"


# Quorums now, and how many nodes a majority can spare. It looks at everything.


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


# The impact if nodes fall silent, or links let nothing pass: computed from the current state.
#
# It looks at everything and changes nothing. Only what would be different from how things are now is told, so a fault
# is not blamed for what another one does already.


T = TypeVar("T", int, str)

Links = Collection[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class PredictedImpact:
    """What would be, once sessions and replica.lag.time.max.ms are over. Partitions by name."""

    down: tuple[int, ...] = ()
    """Brokers that are dead or cut off from whoever may be the controller."""
    moved: tuple[str, ...] = ()
    """Partitions with another leader."""
    offline: tuple[str, ...] = ()
    """Partitions whose leader is gone, with nobody to replace it."""
    shrunk: tuple[str, ...] = ()
    """Partitions with a smaller ISR and a leader."""
    under: tuple[str, ...] = ()
    """Partitions with a leader and too few in sync for acks=all."""
    stuck: tuple[str, ...] = ()
    """Partitions whose ISR ought to shrink and cannot, for nobody decides: acks=all waits there."""
    deaf: tuple[str, ...] = ()
    """Clients that cannot speak to a leader which they need."""
    controller: int = NOBODY
    """Who would be the controller, if the one that is now could go on; NOBODY: another, or nobody."""
    decides: bool = True
    """Whether the control plane would have a majority."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """How many would be in the ISR of a partition with a leader."""

    def beyond(self, now: "PredictedImpact") -> "PredictedImpact":
        """What of it is not so already."""
        smaller = [each for each in self.shrunk if self.sizes[each] < now.sizes.get(each, 0)]
        return replace(
            self,
            down=_new(self.down, now.down),
            moved=_new(self.moved, now.moved),
            offline=_new(self.offline, now.offline),
            shrunk=tuple(smaller),
            under=_new(self.under, now.under),
            stuck=_new(self.stuck, now.stuck),
            deaf=_new(self.deaf, now.deaf),
        )


def foresee(cluster: Cluster, lost: Collection[int] = (), links: Links = ()) -> PredictedImpact:
    """What would be new if these nodes were gone and these links, (source, target), were cut."""
    if not lost and not links:
        return PredictedImpact(controller=cluster.plane.active(), decides=Reachability(cluster, (), ()).decides())
    now = _outcome(cluster, Reachability(cluster, (), ()), severed=bool(links))
    return _outcome(cluster, Reachability(cluster, lost, links), severed=bool(links)).beyond(now)


class Reachability:
    """Who could still speak with whom."""

    def __init__(self, cluster: Cluster, lost: Collection[int], links: Links) -> None:
        self._cluster = cluster
        self._lost = frozenset(lost)
        self._cut = frozenset(links)

    def lives(self, node: int) -> bool:
        """Whether it would be there, running or merely paused as it is now."""
        return node not in self._lost and self._cluster.is_up(node)

    def runs(self, node: int) -> bool:
        """The same of one that does something."""
        return node not in self._lost and self._cluster.state_of(node) is ProcessState.RUNNING

    def linked(self, one: int, other: int) -> bool:
        """Whether an exchange between two nodes succeeds: a request and its answer need both directions."""
        return self.passes(one, other) and self.passes(other, one)

    def passes(self, source: int, target: int) -> bool:
        """Whether what one node sends to another arrives."""
        return source == target or (
            (source, target) not in self._cut and not self._cluster.network.is_cut(source, target)
        )

    def speakers(self) -> tuple[int, ...]:
        """Members of the quorum or the ensemble that could lead it: a majority, themselves included, hears them."""
        group = group_of(self._cluster)
        alive = [node for node in group if self.runs(node)]
        return tuple(node for node in alive if 2 * sum(self.linked(node, other) for other in alive) > len(group))

    def decides(self) -> bool:
        """Whether anything can be decided at all."""
        return bool(self.speakers())

    def counted(self, brokers: Iterable[int]) -> tuple[int, ...]:
        """Brokers that live and are heard by whoever decides: the controller, or a server of the ensemble.

        A session with ZooKeeper lasts as long as pings arrive, whether or not their answers do. A KRaft broker closes
        the connection on which a heartbeat is not answered, and does not get the next one.
        """
        speakers, active = self.speakers(), self._cluster.plane.active()
        if self._cluster.profile.kraft:
            heard = (active,) if active in speakers else speakers
            return tuple(
                node for node in brokers if self.lives(node) and any(self.linked(node, each) for each in heard)
            )
        group = group_of(self._cluster)
        heard = tuple(node for node in group if self.runs(node) and any(self.linked(node, other) for other in speakers))
        return tuple(node for node in brokers if self.lives(node) and any(self.passes(node, each) for each in heard))


def _outcome(cluster: Cluster, net: Reachability, *, severed: bool) -> PredictedImpact:
    """``severed``: links are cut, so that a client may miss a leader that lives."""
    speakers = net.speakers()
    live = net.counted(cluster.brokers)
    down = tuple(node for node in cluster.brokers if node not in live)
    active = cluster.plane.active()
    stays = active in (speakers if cluster.profile.kraft else live)
    found: dict[str, list[str]] = {"moved": [], "offline": [], "shrunk": [], "under": [], "stuck": []}
    leaders: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for name, record in cluster.world.records.items():
        leaders[name] = _judge(cluster, net, record, live, bool(speakers), found, sizes)
    return PredictedImpact(
        down,
        tuple(found["moved"]),
        tuple(found["offline"]),
        tuple(found["shrunk"]),
        tuple(found["under"]),
        tuple(found["stuck"]),
        _deaf(cluster, net, leaders) if severed else (),
        active if stays else NOBODY,
        bool(speakers),
        sizes,
    )


def _judge(
    cluster: Cluster,
    net: Reachability,
    record: CommittedPartition,
    live: tuple[int, ...],
    decides: bool,
    found: dict[str, list[str]],
    sizes: dict[str, int],
) -> int:
    """Enter a partition where it belongs; who would lead it, NOBODY if nobody did."""
    name, leader = record.name, record.leader
    if not decides:  # Nothing changes any more: who leads goes on as long as it lives.
        if leader == NOBODY or not net.lives(leader):
            found["offline"] += [name] if leader != NOBODY else []
            return NOBODY
        if not all(net.lives(each) and net.linked(each, leader) for each in record.isr):
            found["stuck"].append(name)
        sizes[name] = len(record.isr)
        return leader
    left = [each for each in record.isr if each in live]
    if leader not in live:
        leader, left = _elected(record, left, live)
    if leader == NOBODY:
        found["offline"] += [name] if record.leader != NOBODY else []
        return NOBODY
    if leader != record.leader:
        found["moved"].append(name)
    kept = [each for each in left if net.linked(each, leader)]
    sizes[name] = len(kept)
    if len(kept) < len(record.isr):
        found["shrunk"].append(name)
    if len(kept) < cluster.world.effective_min_isr(name):
        found["under"].append(name)
    return leader


def _elected(record: CommittedPartition, left: list[int], live: tuple[int, ...]) -> tuple[int, list[int]]:
    """The new leader and the ISR: the first that is in sync, else eligible (KIP-966), else anybody if that may be."""
    eligible = (*left, *[each for each in record.state.elr if each in live])
    clean = next((each for each in record.assignment if each in eligible), NOBODY)
    if clean != NOBODY:
        return clean, left if clean in left else [clean]
    unclean = next((each for each in record.assignment if each in live), NOBODY) if record.topic.unclean else NOBODY
    return unclean, [unclean] if unclean != NOBODY else []


def _deaf(cluster: Cluster, net: Reachability, leaders: dict[str, int]) -> tuple[str, ...]:
    """Clients with a leader that lives and cannot be spoken with."""
    topics = {each.name: each.topic for each in cluster.spec.producers}
    found = []
    for node, name in cluster.clients.names.items():
        topic = topics.get(name, "")
        wanted = [each for each in leaders if topic_of(each) == topic] if topic else cluster.consumers[name].assignment
        if any(leaders.get(each, NOBODY) != NOBODY and not net.linked(node, leaders[each]) for each in wanted):
            found.append(name)
    return tuple(found)


def groups_on(cluster: Cluster, partitions: Collection[str]) -> tuple[str, ...]:
    """Groups whose coordinator leads one of these partitions of ``__consumer_offsets``."""
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
    """Producers whose transaction coordinator leads one of these partitions of ``__transaction_state``."""
    if not any(topic_of(each) == TRANSACTIONS for each in partitions):
        return ()
    count = _count_of(cluster, TRANSACTIONS)
    ids = {each.name: str(each.config.get("transactional.id", "")) for each in cluster.spec.producers}
    return tuple(
        name
        for name, whose in ids.items()
        if whose and f"{TRANSACTIONS}-{coordinator_partition(whose, count)}" in partitions
    )


def _count_of(cluster: Cluster, topic: str) -> int:
    return sum(topic_of(each) == topic for each in cluster.world.records)


def _new(then: tuple[T, ...], now: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(each for each in then if each not in now)


ALL: Final = -1
"""``acks=all``."""


def silence(cluster: Cluster, fault: str, nodes: tuple[int, ...], for_us: int = -1) -> ExpectedImpact:
    """Nodes that nobody hears any more: dead, paused or cut off, longer than their sessions.

    ``for_us``: how long, where that is known. What is over before the session is costs nobody a leader.
    """
    if 0 <= for_us < cluster.plane.session_us and any(node in cluster.brokers for node in nodes):
        down = tuple(node for node in nodes if node in cluster.brokers and cluster.is_up(node))
        return _short(cluster, nodes, for_us, down)
    outcome = foresee(cluster, nodes)
    sentence = _silent_line(cluster, fault, nodes[0]) if len(nodes) == 1 else _together(cluster, nodes, outcome)
    return _told(cluster, sentence, nodes, outcome)


def parting(cluster: Cluster, fault: str, nodes: tuple[int, ...]) -> ExpectedImpact:
    """Nodes that end in order: what they hand over first, and what is missing then."""
    outcome = foresee(cluster, nodes)
    sentence = _parting_line(cluster, fault, nodes[0]) if len(nodes) == 1 else _together(cluster, nodes, outcome)
    return _told(cluster, sentence, nodes, outcome)


def slowness(cluster: Cluster, fault: str, nodes: tuple[int, ...]) -> ExpectedImpact:
    """Nodes that answer late."""
    if len(nodes) == 1:
        sentence = _slow_line(cluster, fault, nodes[0])
    else:
        sentence = f"{names(cluster, nodes)}: no partition loses its leader"
    return ExpectedImpact(sentence, clients=hit(cluster, nodes, ()))


def severance(cluster: Cluster, fault: str, aim: Aim) -> ExpectedImpact:
    """Links that let nothing pass, in the directions that the aim says; the other nodes still speak to each other."""
    net = Reachability(cluster, (), aim.links)
    others = [node for node in cluster.nodes() if node not in aim.nodes] or cluster.nodes()
    if not any(net.linked(node, other) for node in aim.nodes for other in others if other != node):
        return silence(cluster, fault, aim.nodes, aim.for_us)
    if 0 <= aim.for_us < min(cluster.plane.session_us, lag_time_us(cluster)):
        return _short(cluster, aim.nodes, aim.for_us, foresee(cluster, links=aim.links).down)
    outcome = foresee(cluster, links=aim.links)
    return _told(cluster, _severed_line(cluster, aim.nodes, outcome), (), outcome)


def plain(sentence: str, clients: tuple[str, ...] = ()) -> ExpectedImpact:
    """Something that moves no leader."""
    return ExpectedImpact(sentence, clients=clients)


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


def _told(cluster: Cluster, sentence: str, nodes: Collection[int], outcome: PredictedImpact) -> ExpectedImpact:
    """All that an outcome says, with who notices."""
    unled = (*outcome.moved, *outcome.offline)
    groups, transactional = groups_on(cluster, unled), transactional_on(cluster, unled)
    noticing = [
        *hit(cluster, nodes, unled), *waiting(cluster, (*outcome.under, *outcome.stuck)), *outcome.deaf, *transactional,
        *[name for name, consumer in cluster.consumers.items() if consumer.group in groups],
    ]  # fmt: skip
    active = cluster.plane.active()
    decided = Reachability(cluster, (), ()).decides()
    return ExpectedImpact(
        sentence, outcome.moved, outcome.offline, outcome.under,
        clients=tuple(name for name in cluster.clients.names.values() if name in noticing),
        shrunk=outcome.shrunk,
        groups=groups,
        transactional=transactional,
        down=outcome.down,
        controller_moves=outcome.decides and active not in (NOBODY, outcome.controller),
        quorum_lost=decided and not outcome.decides,
    )  # fmt: skip


def _short(cluster: Cluster, nodes: tuple[int, ...], for_us: int, down: tuple[int, ...]) -> ExpectedImpact:
    """Silence that is over before anybody gives up: requests wait; ``down`` are heard by nobody who decides."""
    who = names(cluster, nodes)
    session = exact_duration(cluster.plane.session_us)
    sentence = f"{who}: requests wait {exact_duration(for_us)}, less than a session of {session}: no leader moves"
    led = [name for name, record in cluster.world.records.items() if record.leader in nodes]
    return ExpectedImpact(sentence, clients=hit(cluster, nodes, led), down=down)


def _together(cluster: Cluster, nodes: tuple[int, ...], outcome: PredictedImpact) -> str:
    return f"{names(cluster, nodes)}: {', '.join(_consequences(cluster, outcome)) or 'no partition loses its leader'}"


def _severed_line(cluster: Cluster, nodes: tuple[int, ...], outcome: PredictedImpact) -> str:
    parts = []
    if outcome.down:
        session = exact_duration(cluster.plane.session_us)
        who = "" if outcome.down == nodes else f"{names(cluster, outcome.down)} "
        parts.append(f"{who}cut off from the controller and fenced after {session}")
    parts += _consequences(cluster, outcome)
    if outcome.shrunk and not outcome.down:
        lag = exact_duration(lag_time_us(cluster))
        parts.append(f"{partitions_text(outcome.shrunk)} with a smaller ISR after {lag}")
    if not outcome.moved and not outcome.offline:
        parts.append("no leader moves")
    return f"{names(cluster, nodes)}: {', '.join(parts)}"


def _consequences(cluster: Cluster, outcome: PredictedImpact) -> list[str]:
    lost = not outcome.decides and Reachability(cluster, (), ()).decides()
    return [
        *(["no majority is left to decide anything"] if lost else []),
        *([f"{partitions_text(outcome.moved)} another leader"] if outcome.moved else []),
        *([f"{partitions_text(outcome.offline)} left without one"] if outcome.offline else []),
        *([f"{partitions_text(outcome.under)} under min.insync.replicas"] if outcome.under else []),
    ]


def partitions_text(partitions: tuple[str, ...]) -> str:
    """One partition by its name, several by their number; Kafka's own only where there are no others."""
    own = tuple(each for each in partitions if topic_of(each) not in INTERNAL) or partitions
    return own[0] if len(own) == 1 else counted(len(own), "partition")


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
    if node in group_of(cluster) and not Reachability(cluster, (node,), ()).decides():
        return f"{who} {_leads(cluster, node)}, and {control_fate(cluster, node)}"
    if not any(record.leader == node for record in cluster.world.records.values()):
        return f"{who} leads nothing{_short_of(cluster, node)}"
    session = exact_duration(cluster.plane.session_us)
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
    net = Reachability(cluster, (node,), ())
    left = sum(net.runs(each) for each in group)
    if 2 * left <= len(group):
        return f"is needed: without it {what} has no majority; leaders and ISRs stay as they are"
    if cluster.profile.kraft and node == cluster.plane.active():
        return f"is the controller; {left} of {len(group)} are left to elect another"
    return f"is not needed: {left} of {len(group)} are a majority, {what} goes on"
