"""What would come of it if nodes fell silent, or links let nothing pass: computed from the state of things.

It looks at everything and changes nothing. Only what would be different from how things are now is told, so a fault
is not blamed for what another one does already.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from cluster_model import cluster_overview
from cluster_model.broker.topic_configs import topic_of
from cluster_model.cluster import Cluster
from cluster_model.controller.committed import PartitionRecord
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.messages import NOBODY
from cluster_model.spec.internal_topics import OFFSETS, TRANSACTIONS, coordinator_partition
from faults.declarations.quorums import group_of

T = TypeVar("T", int, str)

Links = Collection[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Outcome:
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

    def beyond(self, now: "Outcome") -> "Outcome":
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


def foresee(cluster: Cluster, lost: Collection[int] = (), links: Links = ()) -> Outcome:
    """What would be new if these nodes were gone and these links, (source, target), were cut."""
    if not lost and not links:
        return Outcome(controller=cluster.plane.active(), decides=Net(cluster, (), ()).decides())
    now = _outcome(cluster, Net(cluster, (), ()), severed=bool(links))
    return _outcome(cluster, Net(cluster, lost, links), severed=bool(links)).beyond(now)


class Net:
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

        A session lasts as long as heartbeats arrive, whether or not their answers do.
        """
        speakers, active = self.speakers(), self._cluster.plane.active()
        if self._cluster.profile.kraft:
            heard = (active,) if active in speakers else speakers
        else:
            group = group_of(self._cluster)
            heard = tuple(
                node for node in group if self.runs(node) and any(self.linked(node, other) for other in speakers)
            )
        return tuple(node for node in brokers if self.lives(node) and any(self.passes(node, each) for each in heard))


def _outcome(cluster: Cluster, net: Net, *, severed: bool) -> Outcome:
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
    return Outcome(
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
    net: Net,
    record: PartitionRecord,
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


def _elected(record: PartitionRecord, left: list[int], live: tuple[int, ...]) -> tuple[int, list[int]]:
    """The new leader and the ISR: the first that is in sync, else eligible (KIP-966), else anybody if that may be."""
    eligible = (*left, *[each for each in record.state.elr if each in live])
    clean = next((each for each in record.assignment if each in eligible), NOBODY)
    if clean != NOBODY:
        return clean, left if clean in left else [clean]
    unclean = next((each for each in record.assignment if each in live), NOBODY) if record.topic.unclean else NOBODY
    return unclean, [unclean] if unclean != NOBODY else []


def _deaf(cluster: Cluster, net: Net, leaders: dict[str, int]) -> tuple[str, ...]:
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
