"""Clients that are killed, closed, paused and stalled at random, while brokers crash: what holds all the same."""

from random import Random

import pytest

from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.events import OffsetsCommitted, RecordsRead
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.support.breadth import EVENING, covering_cases

MS = 1_000
SECOND = 1_000_000
ALL = "with acks=all"
KINDS = [
    ("3.9", "kraft", "RangeAssignor", ""),
    ("3.9", "kraft", "CooperativeStickyAssignor", ""),
    ("4.1", "kraft", "RangeAssignor", "desk"),
    ("2.8", "zookeeper", "CooperativeStickyAssignor", "desk"),
]


def spec_of(random: Random, kafka: str, mode: str, assignor: str, instance: str) -> ClusterSpec:
    consumer: dict[str, int | str | bool] = {
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 1_000,
        "max.poll.interval.ms": 8_000,
        "auto.commit.interval.ms": random.choice([500, 5_000]),
        "partition.assignment.strategy": assignor,
    }
    if instance:
        consumer["group.instance.id"] = instance
    commit = random.choice(["auto", "sync", "async"])
    return ClusterSpec(
        kafka,
        mode,
        tuple(BrokerSpec(number) for number in (1, 2, 3)),
        (TopicSpec("t", 3, 3, config={"min.insync.replicas": 2}),),
        (
            ProducerSpec(ALL, "t", 50 * MS, 3, config={"acks": "all"}, resends=random.random() < 0.5),
            ProducerSpec("with acks=1", "t", 70 * MS, 1, config={"acks": "1"}, send=random.choice(["async", "sync"])),
        ),
        (GroupSpec("g", ("t",), 3, random.choice([0, 2 * MS]), consumer, commit=commit),),
        NetworkSpec(random.choice([500, 5_000]), random.choice([0, 2_000])),
        {"offsets.topic.num.partitions": 3, "min.insync.replicas": 2},
    )


class Weather:
    """A cluster whose clients have a hard time."""

    def __init__(self, seed: int, kafka: str, mode: str, assignor: str, instance: str) -> None:
        self.random = Random(f"{seed} {kafka} {assignor} {instance}")
        self.cluster = Cluster.build(spec_of(self.random, kafka, mode, assignor, instance), seed)
        self.handed: dict[str, int] = {}
        """Partition → the furthest that anybody was handed records."""

    def run(self, span_us: int) -> None:
        """Let time pass; nobody may commit what the group was not handed."""
        cluster = self.cluster
        cluster.run(cluster.now_us + span_us)
        for event in cluster.drain():
            if isinstance(event, RecordsRead):
                self.handed[event.partition] = max(self.handed.get(event.partition, 0), event.log_offset + event.count)
            elif isinstance(event, OffsetsCommitted):
                assert event.log_offset <= self.handed.get(event.partition, 0), event

    def act(self) -> None:
        """Strike somebody, or let somebody go on."""
        random, cluster = self.random, self.cluster
        node = random.choice([*cluster.clients.names, *cluster.clients.names, 1, 2, 3])
        state = cluster.state_of(node)
        what = random.choice(["crash", "end", "pause", "stall"])
        if state is ProcessState.PAUSED and random.random() < 0.5:
            cluster.resume(node)
        elif state in (ProcessState.DOWN, ProcessState.OFF):
            cluster.restart(node)
        elif what == "crash" or state is ProcessState.PAUSED:
            cluster.crash(node)
        elif what == "pause":
            cluster.pause(node)
        elif what == "end":
            cluster.shutdown(node)
        elif cluster.clients.names.get(node) in cluster.consumers:
            more_us = random.choice([0, 300 * MS, 9 * SECOND])
            if more_us:
                cluster.clients.faults.stall(node, 1, more_us)
            else:
                cluster.clients.faults.lift(node, 1)

    def heal(self) -> None:
        """Everybody is well."""
        for node in self.cluster.nodes():
            if self.cluster.state_of(node) is ProcessState.PAUSED:
                self.cluster.resume(node)
            elif self.cluster.state_of(node) is not ProcessState.RUNNING:
                self.cluster.restart(node)
        for node, name in self.cluster.clients.names.items():
            if name in self.cluster.consumers:
                self.cluster.clients.faults.lift(node, 1)
            if self.cluster.processes.is_leaving(node):
                self.cluster.processes.start_again(node)


@pytest.mark.parametrize(
    ("kafka", "mode", "assignor", "instance", "seed"), covering_cases(KINDS, range(3 if EVENING else 2))
)
def test_guarantees_of_clients_hold_with_any_disturbances(
    kafka: str, mode: str, assignor: str, instance: str, seed: int
) -> None:
    disturbances = Weather(seed, kafka, mode, assignor, instance)
    cluster, query = disturbances.cluster, disturbances.cluster.query
    disturbances.run(8 * SECOND)
    for _act in range(30):
        disturbances.act()
        disturbances.run(disturbances.random.choice([1 * MS, 200 * MS, 2 * SECOND]))
    disturbances.heal()
    disturbances.run(20 * SECOND)
    cluster.stop_producers()
    disturbances.run(160 * SECOND)
    assert (query.members("g"), query.owned("g"), query.lag("g")) == (3, 3, 0)
    assert sorted(name for each in cluster.consumers.values() for name in each.assignment) == ["t-0", "t-1", "t-2"]
    assert query.skipped("g") == 0
    assert query.sent() == query.acked() + query.failed() + query.unknown()
    assert query.unexpected_violations() == 0
    cluster.close()
    assert query.acked_lost(ALL) == 0
