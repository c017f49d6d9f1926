"""The cluster state that liveness properties look at, and the pending obligations that they find."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple, Protocol

from cluster_model.broker.broker import Broker
from cluster_model.broker.fetch.replication_quota import names_replica
from cluster_model.broker.partition.partition import Leadership, Replica
from cluster_model.checker.liveness.deadlines import LivenessDeadlines, Weather
from cluster_model.controller.cluster_parts import Plane
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.messages import NOBODY, PartitionState


@dataclass(slots=True)
class LivenessContext:
    """Eyes on one cluster; it changes nothing."""

    world: World
    plane: Plane
    brokers: Mapping[int, Broker]
    weather: Weather
    bounds: LivenessDeadlines
    voters: tuple[int, ...]
    """KRaft voters, or the servers of the ensemble."""
    imbalance_percentage: int = 0
    """How many of a broker's partitions others may lead before a ZooKeeper-mode controller does anything."""
    now: int = 0
    active: int = NOBODY
    """The active controller, if it runs."""
    controller: int = NOBODY
    """The same if it can decide anything: with a majority of the quorum, or of the ensemble, that nothing disturbs."""
    majorities: tuple[tuple[int, ...], ...] = ()
    """Voters that run, hear each other and are disturbed by nothing, where they are enough: the most first."""
    hw_moved: dict[str, int] = field(default_factory=dict)
    """Partition → when a leader's high watermark last moved."""
    plane_nodes: tuple[int, ...] = ()
    """The controller, the majority that it decides with, and who had its office while their answers may be awaited."""

    def look(self, now: int) -> None:
        """Take in what all properties go by."""
        self.now = now
        self.weather.look(now)
        active, weather, voters = self.plane.active(), self.weather, self.voters
        self.active = active if active != NOBODY and weather.runs(active) else NOBODY
        sizes = range(len(voters), len(voters) // 2, -1)
        self.majorities = tuple(
            [some for size in sizes for some in combinations(voters, size) if weather.is_sound(some, now)]
        )
        kraft = self.world.profile.kraft
        mine = next((some for some in self.majorities if not kraft or self.active in some), ())
        self.controller = self.active if mine else NOBODY
        if self.active != NOBODY:
            weather.in_office(self.active, now)
        lately = weather.lately_in_office(now - self.bounds.silence_us)
        self.plane_nodes = tuple(dict.fromkeys((self.controller, *mine, *lately))) if self.controller != NOBODY else ()

    def imbalanced(self, broker: int) -> bool:
        """Whether others lead more of a broker's partitions than a ZooKeeper-mode controller puts up with."""
        mine = [record for record in self.world.records.values() if record.assignment[0] == broker]
        astray = sum(record.leader != broker for record in mine)
        return astray * 100 > self.imbalance_percentage * len(mine)

    def serves(self, broker: int) -> bool:
        """Whether a broker runs and counts as alive by what is committed.

        One that is back before its old session has ended counts as alive while its new process has yet to register.
        """
        return (
            self.weather.runs(broker) and self.plane.is_live(broker) and self.brokers[broker].control.registered
        )  # fmt: skip

    def eligible(self, broker: int) -> bool:
        """Whether it may lead or be in sync: it serves, and is not about to stop."""
        return self.serves(broker) and not self.plane.is_shutting_down(broker)

    def with_plane(self, *brokers: int) -> tuple[int, ...]:
        """These and whoever has to hear of them and to decide: the active controller with its majority.

        So do controllers before it for a while: a broker sends no request beside the one that it waits for, and gives
        that up only after the socket's timeout (``NodeToControllerRequestThread``).
        """
        return tuple(dict.fromkeys([*[broker for broker in brokers if broker != NOBODY], *self.plane_nodes]))


@dataclass(frozen=True, slots=True)
class PartitionContext:
    """A partition now."""

    state: PartitionState
    """As committed."""
    replicas: Mapping[int, Replica]
    """By broker, those of this very topic."""
    leader: Replica | None
    """Of the committed leader, if it serves and knows that it leads."""
    min_isr: int
    unclean: bool
    following: list[tuple[int, Replica]]
    """What :meth:`followers` answers."""

    @property
    def leadership(self) -> Leadership:
        """Of :attr:`leader`, which must be there."""
        assert self.leader is not None
        assert self.leader.leadership is not None
        return self.leader.leadership

    @property
    def name(self) -> str:
        """As Kafka prints it."""
        return self.state.partition

    def followers(self) -> list[tuple[int, Replica]]:
        """Replicas beside the leader's, in assignment order."""
        return self.following


def scene_of(sight: LivenessContext, name: str) -> PartitionContext:
    """What a partition looks like."""
    world = sight.world
    record = world.records[name]
    state = record.state
    replicas = {
        broker: replica for broker, replica in world.replicas[name].items() if replica.topic_id == state.topic_id
    }
    leader = replicas.get(state.leader) if state.leader != NOBODY and sight.serves(state.leader) else None
    if leader is not None and (leader.leadership is None or leader.leader_epoch != state.leader_epoch):
        leader = None
    following = [
        (broker, replicas[broker]) for broker in state.replicas if broker != state.leader and broker in replicas
    ]
    return PartitionContext(state, replicas, leader, world.effective_min_isr(name), record.topic.unclean, following)


def throttled(replica: Replica, leader: Replica, brokers: Mapping[int, Broker]) -> bool:
    """Whether a quota may hold a follower's catching up back (KIP-73)."""
    by_leader, by_follower = brokers[leader.broker].leader_quota, brokers[replica.broker].follower_quota
    partition = leader.partition
    return (by_leader.active and names_replica(leader.topic.leader_throttled, partition, leader.broker)) or (
        by_follower.active and names_replica(replica.topic.follower_throttled, partition, replica.broker)
    )


def held_up(replica: Replica) -> bool:
    """Whether a follower waits for something that no time brings: newer metadata, or an intact batch."""
    following = replica.following
    return following is not None and (following.failed or following.stuck_at >= 0)


def never_told(sight: LivenessContext, replica: Replica) -> str:
    """Why a follower may know of no leader: before KIP-380 nobody noticed a broker that was back too soon."""
    if sight.world.profile.kraft or sight.world.profile.bounce_detected or replica.following is not None:
        return ""
    return (
        f"known for {sight.world.profile.version}: a broker that is back before its session has ended is told "
        "nothing; KIP-380 fixed it in 2.2"
    )


# A pending obligation, as a property finds it; the liveness checker decides from when on it counts.


class Owed(NamedTuple):
    """Something that has to change. It is the same obligation as long as place and token are the same."""

    partition: str
    """Empty where it concerns no single one."""
    broker: int
    """Who owes it, -1 for nobody in particular."""
    token: Any
    """What may not change without the obligation being another one: an epoch, an offset, a request's number."""
    scope: tuple[int, ...]
    """Nodes whose disturbances, and those of the links between them, stop the clock."""
    bound_us: int
    grace_us: int
    """Waited for in addition after a disturbance: peers that were told nothing find out by their own timeouts."""
    words: str
    """One line of what is still not so; with places for ``facts``."""
    facts: tuple[Any, ...] = ()
    known: str = ""
    """Why this version need not keep it; empty where it must."""
    since_us: int = -1
    """When it began to be owed, as far as records tell; -1 where only looking does. Later decisions about the partition
    count from when they were taken."""


class OfPartition(Protocol):
    """A property of single partitions."""

    def __call__(self, sight: LivenessContext, scene: PartitionContext) -> Iterator[Owed]:
        """What is owed of a partition now."""


class OfCluster(Protocol):
    """A property of the whole cluster, or of its brokers."""

    def __call__(self, sight: LivenessContext) -> Iterator[Owed]:
        """What is owed now."""


@dataclass(frozen=True, slots=True)
class LivenessProperty:
    """One liveness property, in the words of its documentation."""

    name: str
    promise: str
    bound: str
    """How long it may take, in words; the figures are in :mod:`~cluster_model.checker.liveness.deadlines`."""
    disturbed_by: str
    """What stops its clock."""
    known: str = "none"
    """Versions that are known not to keep it, and what mended that."""
