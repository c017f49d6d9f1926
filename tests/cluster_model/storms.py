"""Random weather over a cluster and its control plane, in which no disk loses anything; then everything is healed.

Every node may be cut off, paused or killed at any time, in any company: brokers, controllers, ZooKeeper servers. What
must hold all the same is looked at here without the checker's help, except where it is asked for its own findings.
"""

from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.controller.kraft.control_plane import KraftControlPlane
from cluster_model.kernel.process import ProcessState
from cluster_model.log.crash_recovery import TAILS
from cluster_model.protocol.events import Appended, Event, IsrChanged, LeaderElected, PartitionOffline, RecordsMissing
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, NetworkSpec, ProducerSpec, TopicSpec

MS: Final = 1_000
SECOND: Final = 1_000_000
FAULT: Final = 7
"""Whose cuts they are."""
ALL: Final = "with acks=all"
ONE: Final = "with acks=1"


def stormy_spec(random: Random, kafka: str, mode: str, combined: int = 0) -> ClusterSpec:
    """Three or four brokers, ``combined`` of them controllers too; elections are clean, acks=all needs two replicas."""
    brokers = tuple(BrokerSpec(number + 1) for number in range(random.choice([3, 3, 4])))
    config = {"min.insync.replicas": 2, "unclean.leader.election.enable": False}
    pace = random.choice([20, 50, 200]) * MS
    return ClusterSpec(
        kafka=kafka,
        mode=mode,
        brokers=brokers,
        topics=(TopicSpec("t", random.choice([1, 3]), 3, config=config),),
        producers=(
            ProducerSpec(ALL, "t", pace, random.choice([1, 3]), config={"acks": "all"}),
            ProducerSpec(ONE, "t", pace, random.choice([1, 3]), config={"acks": "1"}),
        ),
        network=NetworkSpec(random.choice([100, 1_000, 20_000]), random.choice([0, 200, 5_000])),
        config={"replica.lag.time.max.ms": random.choice([2_000, 10_000])},
        combined=tuple(broker.id for broker in brokers[:combined]),
    )


@dataclass
class Storm:
    """A cluster in bad weather, and what was seen of it."""

    cluster: Cluster
    random: Random
    committed: dict[str, tuple[int, int]] = field(default_factory=dict)
    appenders: dict[tuple[str, int], int] = field(default_factory=dict)
    elections: int = 0
    missing: dict[int, int] = field(default_factory=dict)
    """Records that were acknowledged and found missing, by acks."""

    def __post_init__(self) -> None:
        plane = self.cluster.plane
        self.nodes = sorted({*self.cluster.brokers, *plane.servers})
        self.everybody = sorted(self.cluster.nodes())

    # -- weather ------------------------------------------------------------------------------------------------------

    def blow(self, acts: int) -> None:
        """So many acts, most of them soon after one another.

        They go by the plane's session: what is mended long before anybody is given up moves no leader.
        """
        session = self.cluster.plane.session_us
        for _number in range(acts):
            pause = self.random.choice([self.random.randrange(300 * MS), *[self.random.randrange(session)] * 3])
            self.run(pause)
            self._act()

    def _act(self) -> None:
        random, cluster = self.random, self.cluster
        node = self._victim()
        what = random.choice(["crash", "pause", "alone", "alone", "pair", "pair", "one way", "calm", "calm", "calm"])
        if what == "calm":
            self._calm(random.random() < 0.4)
        elif what == "crash":
            if cluster.is_up(node):
                self._kill(node)
        elif what == "pause":
            if cluster.state_of(node) is ProcessState.RUNNING:
                cluster.pause(node)
        elif what == "alone":
            inside = {node, *random.sample(self.nodes, random.choice([0, 0, 1, 2]))}
            for one in sorted(inside):
                for other in self.everybody:
                    if other not in inside and (other in self.nodes or random.random() < 0.3):
                        self._cut(one, other)
        else:
            other = random.choice([each for each in self.nodes if each != node])
            self._cut(node, other, both=what == "pair")

    def _kill(self, node: int) -> None:
        self.cluster.crash(node, torn=self.random.random() < 0.3)

    def _victim(self) -> int:
        """Anybody, but rather one that matters."""
        cluster = self.cluster
        leaders = [record.leader for record in cluster.cluster_state.records.values() if record.leader != NO_LEADER]
        active = cluster.plane.active()
        choice = self.random.random()
        if choice < 0.3 and leaders:
            return self.random.choice(leaders)
        return active if choice < 0.45 and active != NO_LEADER else self.random.choice(self.nodes)

    def _cut(self, one: int, other: int, *, both: bool = True) -> None:
        self.cluster.cut(one, other, FAULT)
        if both:
            self.cluster.cut(other, one, FAULT)

    def _calm(self, everything: bool) -> None:
        cluster = self.cluster
        cut = [pair for pair in list(cluster.network._links) if cluster.network.link(*pair).cuts]
        for pair in cut:
            if everything or self.random.random() < 0.5:
                cluster.heal_cut(*pair, FAULT)
        for node in self.nodes:
            if everything or self.random.random() < 0.5:
                self._revive(node)

    def _revive(self, node: int) -> None:
        state = self.cluster.state_of(node)
        if state is ProcessState.PAUSED:
            self.cluster.resume(node)
        elif state is not ProcessState.RUNNING:
            self.cluster.restart(node)

    def heal(self) -> None:
        """Whole links, and every process runs; one that exits by itself is started again."""
        self._calm(True)

    # -- what is seen -------------------------------------------------------------------------------------------------

    def run(self, span_us: int) -> None:
        """Let time pass, and look at all that happened."""
        self.cluster.run(self.cluster.now_us + span_us)
        for event in self.cluster.drain():
            self._see(event)

    def _see(self, event: Event) -> None:
        if isinstance(event, Appended):
            first = self.appenders.setdefault((event.partition, event.leader_epoch), event.broker)
            assert first == event.broker, f"two leaders appended in one epoch: {event}"
        elif isinstance(event, LeaderElected | IsrChanged | PartitionOffline):
            before = self.committed.get(event.partition, (0, 0))
            after = (event.leader_epoch, event.partition_epoch)
            assert before[0] <= after[0], event
            assert before[1] <= after[1], event
            self.committed[event.partition] = after
            self.elections += isinstance(event, LeaderElected)
        elif isinstance(event, RecordsMissing):
            self.missing[event.acks] = self.missing.get(event.acks, 0) + event.count

    # -- afterwards ---------------------------------------------------------------------------------------------------

    def is_whole(self) -> bool:
        """Whether there is a controller, every partition has its leader and all its replicas in sync."""
        plane, cluster_state = self.cluster.plane, self.cluster.cluster_state
        return plane.active() != NO_LEADER and all(
            record.leader != NO_LEADER and set(record.isr) == set(record.assignment)
            for record in cluster_state.records.values()
        )

    def settle(self, bound_us: int) -> None:
        """Everything comes back within the bound; then logs and metadata become the same everywhere."""
        self.heal()
        end = self.cluster.now_us + bound_us
        while not self.is_whole() and self.cluster.now_us < end:
            self._watch_over(SECOND)
        self._free_pending(bound_us)
        assert self.is_whole(), self.describe()
        self.cluster.stop_producers()
        for _second in range(40):
            self._watch_over(SECOND)
        # A broker that was started again may have shrunk an ISR meanwhile, whose answer was lost just the same.
        self._free_pending(bound_us)
        assert self.is_whole(), self.describe()

    def _free_pending(self, bound_us: int) -> None:
        for broker in self._left_pending():
            self.cluster.crash(broker)
            self._revive(broker)
            self.run(bound_us)

    def _watch_over(self, span_us: int) -> None:
        """Let time pass, and start again who exited by itself.

        Old versions do so rather than truncate what they must not, new ones when they could not register for a minute;
        that minute may end after the storm.
        """
        self.run(span_us)
        for broker in self.cluster.brokers:
            self._revive(broker)

    def _left_pending(self) -> list[int]:
        """Leaders whose ISR was changed as they asked, but who were told that they asked by an old version.

        In ZooKeeper mode a controller that loses the answer to its write asks again, and finds its own version there.
        The leader then waits for a new epoch (INVALID_UPDATE_VERSION, KIP-497), which nothing else may bring.
        """
        found: dict[int, None] = {}
        for record in self.cluster.cluster_state.records.values():
            leader = self.cluster.cluster_state.committed_leader(record.name)
            if self.cluster.profile.kraft or leader is None or leader.leadership is None:
                continue
            if leader.leadership.pending is not None and leader.partition_epoch < record.partition_epoch:
                found[leader.broker] = None
        return list(found)

    def describe(self) -> str:
        """Where the cluster stands."""
        records = [record.state for record in self.cluster.cluster_state.records.values()]
        return f"at {self.cluster.now_us}: {records} {self.cluster.plane.member_views()}"

    def has_converged(self) -> None:
        """Equal logs, HW at their end, one view of who leads, and the same metadata in every quorum node."""
        cluster_state = self.cluster.cluster_state
        for name, replicas in cluster_state.replicas.items():
            record = cluster_state.records[name]
            leader = cluster_state.committed_leader(name)
            assert leader is not None
            for broker, replica in replicas.items():
                assert replica.log.extents == leader.log.extents, (name, broker)
                assert replica.hw == replica.log.leo, (name, broker)
                assert replica.leader_epoch == record.leader_epoch, (name, broker)
        plane = self.cluster.plane
        if isinstance(plane, KraftControlPlane):
            images = [node.image.save() for node in plane._nodes.values()]
            images += [control.image.save() for control in plane._controls.values()]
            assert all(image == plane._truth.image.save() for image in images)


class LossyStorm(Storm):
    """Most who die lose power, and with it what was on no disk."""

    def _kill(self, node: int) -> None:
        if node in self.cluster.brokers and self.random.random() < 0.7:
            keep, tail = self.random.choice([-1, -1, 0]), self.random.choice(TAILS)
            self.cluster.power_loss(node, keep, tail)
        else:
            super()._kill(node)


def disturbances(seed: int, spec: ClusterSpec, acts: int, kind: type[Storm] = Storm) -> Storm:
    """A storm that has blown; it is still there."""
    storm = kind(Cluster.build(spec, seed), Random(f"storm {seed}"))
    storm.run(SECOND)
    storm.blow(acts)
    return storm


def spec_of(seed: int, kafka: str, mode: str, combined: int = 0, **changes: object) -> ClusterSpec:
    """The spec of a numbered storm."""
    return replace(stormy_spec(Random(f"spec {seed}"), kafka, mode, combined), **changes)  # type: ignore[arg-type]
