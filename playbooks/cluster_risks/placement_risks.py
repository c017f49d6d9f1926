"""Risks of a placement: partitions that each failure takes offline or below min ISR, computed from the placement.

A failure is the loss of a broker, a rack, or two racks. All replicas are in sync before it, and elections are done
after it; then the numbers follow from the placement. :mod:`~playbooks.cluster_risks.simulated_failures` counts the same
in a run.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

from cluster_model.controller import assign_replicas
from cluster_model.kernel import RandomStreams
from cluster_model.protocol.configs import TopicConfig
from cluster_model.spec import OFFSETS, TRANSACTIONS, ClusterSpec

LossKind = Literal["broker", "rack", "two racks"]

COUNTED_TOPICS: Final = (OFFSETS, TRANSACTIONS)
"""Internal topics, whose leaders are the coordinators of groups and of transactions."""


@dataclass(frozen=True, slots=True)
class PlacedPartition:
    """A partition as placed: its replicas, its leader, and the number of in-sync replicas that acks=all needs."""

    name: str
    topic: str
    replicas: tuple[int, ...]
    leader: int
    min_isr: int


@dataclass(frozen=True, slots=True)
class BrokerLoss:
    """A loss of brokers at once."""

    kind: LossKind
    names: tuple[str, ...]
    """The broker's id, or the names of the racks."""
    brokers: frozenset[int]

    @property
    def label(self) -> str:
        """The failure as text: ``broker 1``, ``rack a``, ``racks a, b``."""
        noun = {"broker": "broker", "rack": "rack", "two racks": "racks"}[self.kind]
        return f"{noun} {', '.join(self.names)}"


@dataclass(frozen=True, slots=True)
class Risk:
    """The effect of a failure on partitions, by name; a partition is in at most one of the two lists."""

    failure: BrokerLoss
    offline: tuple[str, ...]
    """Without a leader: neither writes nor reads."""
    below_min_isr: tuple[str, ...]
    """With fewer in-sync replicas than acks=all needs, and enough before: writes with acks=all fail."""
    has_quorum: bool = True
    """Whether a majority of the controllers remains; without one no leader is elected."""

    @property
    def coordinators(self) -> dict[str, int]:
        """Offline partitions by internal topic: their groups or transactional ids have no coordinator."""
        topics = [name.rpartition("-")[0] for name in self.offline]
        return {topic: topics.count(topic) for topic in COUNTED_TOPICS}

    @property
    def has_effect(self) -> bool:
        """Whether any partition is affected, or the quorum is lost."""
        return bool(self.offline or self.below_min_isr) or not self.has_quorum


class Placement:
    """The placement of a cluster's topics; those without a placement are placed as the model places them."""

    def __init__(self, spec: ClusterSpec, seed: int = 0) -> None:
        """Place all topics of a cluster; the seed decides where the file does not.

        Raises:
            ModelError: more replicas than brokers, or an unknown broker.
        """
        self.spec = spec
        profile, streams = spec.profile, RandomStreams(seed)
        self.partitions: list[PlacedPartition] = []
        for topic in spec.topics:
            config, leaders = TopicConfig.of(profile, spec.config, topic.config), dict(topic.leaders)
            for number, replicas in enumerate(assign_replicas(topic, spec, streams)):
                leader = leaders.get(number, replicas[0])
                needed = config.effective_min_isr(profile, len(replicas))
                self.partitions.append(PlacedPartition(f"{topic.name}-{number}", topic.name, replicas, leader, needed))
        self.leads = Counter(partition.leader for partition in self.partitions)
        """Broker → number of partitions that it leads."""
        self._of_broker: dict[int, list[PlacedPartition]] = {}
        for partition in self.partitions:
            for broker in partition.replicas:
                self._of_broker.setdefault(broker, []).append(partition)
        self.brokers = tuple(sorted(broker.id for broker in spec.brokers))
        self.racks: dict[str, frozenset[int]] = {}
        for each in spec.brokers:
            if each.rack:
                self.racks[each.rack] = self.racks.get(each.rack, frozenset()) | {each.id}

    def failures(self) -> Iterator[BrokerLoss]:
        """Yield the loss of every broker, every rack with more than one broker, and every pair of racks."""
        for broker in self.brokers:
            yield BrokerLoss("broker", (str(broker),), frozenset({broker}))
        if len(self.racks) < 2:
            return
        for rack, brokers in sorted(self.racks.items()):
            yield BrokerLoss("rack", (rack,), brokers)
        if len(self.racks) > 2:
            for first, second in combinations(sorted(self.racks), 2):
                yield BrokerLoss("two racks", (first, second), self.racks[first] | self.racks[second])

    def has_quorum_without(self, lost: frozenset[int]) -> bool:
        """Return whether a majority of the controllers remains; those apart from the brokers are not lost with them."""
        voters = self.spec.combined
        return self.spec.mode != "kraft" or not voters or 2 * len(set(voters) - lost) > len(voters)

    def risk(self, failure: BrokerLoss) -> Risk:
        """Return the effect of a failure."""
        has_quorum = self.has_quorum_without(failure.brokers)
        offline: list[str] = []
        below: list[str] = []
        for partition in self.partitions:
            live = [broker for broker in partition.replicas if broker not in failure.brokers]
            if not live or (partition.leader in failure.brokers and not has_quorum):
                offline.append(partition.name)
            elif len(live) < partition.min_isr <= len(partition.replicas):
                below.append(partition.name)
        return Risk(failure, tuple(offline), tuple(below), has_quorum)

    def always_below_min_isr(self) -> list[PlacedPartition]:
        """Return the partitions with fewer replicas than acks=all needs, before any failure."""
        return [partition for partition in self.partitions if len(partition.replicas) < partition.min_isr]

    def risks(self) -> list[Risk]:
        """Return the effect of every failure."""
        return [self.risk(failure) for failure in self.failures()]

    def single_points_of_failure(self) -> list[PlacedPartition]:
        """Return the partitions with one replica, or with all replicas in one of several racks."""
        rack_of = {broker: rack for rack, brokers in self.racks.items() for broker in brokers}
        return [
            partition
            for partition in self.partitions
            if len(partition.replicas) == 1
            or (len(self.racks) > 1 and len({rack_of.get(each, each) for each in partition.replicas}) == 1)
        ]

    def restart_order(self) -> "RestartOrder":
        """Return an order of a rolling restart in which no partition falls below min ISR.

        Brokers are restarted in rounds, all of a round at once. Controllers are in the last rounds, each alone.
        """
        blocked = {broker: self._hit_by(broker, set()) for broker in self.brokers}
        free = [broker for broker in self.brokers if not blocked[broker]]
        controllers = [broker for broker in free if broker in self.spec.combined]
        waiting = [broker for broker in free if broker not in controllers]
        rounds: list[tuple[int, ...]] = []
        while waiting:
            chosen: set[int] = set()
            for broker in waiting:
                if not self._hit_by(broker, chosen):
                    chosen.add(broker)
            rounds.append(tuple(sorted(chosen)))
            waiting = [broker for broker in waiting if broker not in chosen]
        rounds += [(broker,) for broker in controllers]
        return RestartOrder(tuple(rounds), {broker: names for broker, names in blocked.items() if names})

    def _hit_by(self, broker: int, others: set[int]) -> tuple[str, ...]:
        """Return the partitions of a broker that its loss, besides that of others, takes below min ISR or offline."""
        lost = {*others, broker}
        return tuple(
            partition.name
            for partition in self._of_broker.get(broker, ())
            if len([each for each in partition.replicas if each not in lost]) < max(partition.min_isr, 1)
        )


@dataclass(frozen=True, slots=True)
class RestartOrder:
    """An order of a rolling restart."""

    rounds: tuple[tuple[int, ...], ...]
    """Brokers that may be restarted at once; the next round begins when all replicas are in sync again."""
    blocked: dict[int, tuple[str, ...]]
    """Broker → partitions that any restart of it takes below min ISR or offline."""
