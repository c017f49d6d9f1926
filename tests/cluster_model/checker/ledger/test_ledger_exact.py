"""The ledger compared with a model of one object per record, after every event of random schedules."""

from functools import cache
from random import Random
from typing import Any

import pytest

from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.releases import parse_version
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec, TransactionPlan
from faults.declarations.fault import Action
from faults.injector import FaultInjector
from tests.cluster_model.plain_ledger import Watch
from tests.support.breadth import sample_count
from tests.support.releases import those_of

pytestmark = pytest.mark.slow

MS = 1_000
SECOND = 1_000_000
VERSIONS = ["0.10.2", "1.0", "2.0", "3.9", "4.1"]
FAULT = 9


def spec_of(random: Random, kafka: str) -> ClusterSpec:
    """Three brokers, a topic with retention and a compacted one, and a producer for each acks level."""
    number = parse_version(kafka)
    bounded: dict[str, Any] = {"request.timeout.ms": 2_000}
    if number >= (2, 1, 0):
        bounded["delivery.timeout.ms"] = 5_000
    topics: tuple[TopicSpec, ...] = (
        TopicSpec(
            "t", 1, 3, config={"segment.bytes": 6_000, "retention.bytes": 12_000, **_safety(random)},
        ),
        TopicSpec("k", 1, 3, config={"cleanup.policy": "compact", "segment.bytes": 3_000, **_safety(random)}),
    )  # fmt: skip
    plain = {**bounded, **({"enable.idempotence": False} if number >= (0, 11, 0) else {})}
    pace = random.choice([150, 300]) * MS
    producers = [
        ProducerSpec("all", "t", pace, random.choice([1, 3]), config={**plain, "acks": "all", "retries": 3}),
        ProducerSpec("one", "t", pace, random.choice([1, 3]), config={**plain, "acks": "1", "retries": 3}),
        ProducerSpec("none", "t", pace, 2, config={**plain, "acks": "0"}),
        ProducerSpec("keyed", "k", pace, 2, keys=5, config={**plain, "acks": random.choice(["1", "all"])}),
    ]
    if number >= (2, 0, 0):
        tx = {"transactional.id": "tx", **({"delivery.timeout.ms": 5_000} if number >= (2, 1, 0) else {}),
              "request.timeout.ms": 2_000}  # fmt: skip
        producers.append(ProducerSpec("tx", "t", pace, 1, config=tx, transactions=TransactionPlan(6)))
    config = {
        "replica.lag.time.max.ms": 2_000, "log.retention.check.interval.ms": 3_000, "log.cleaner.backoff.ms": 3_000,
        "log.initial.task.delay.ms": 2_000, "transaction.state.log.num.partitions": 1,
        "broker.session.timeout.ms": 3_000,
    }  # fmt: skip
    known = those_of("broker", kafka, config)
    if number < (2, 5, 0):
        known["zookeeper.session.timeout.ms"] = 3_000
    mode = "kraft" if number >= (3, 3, 0) else "zookeeper"
    return ClusterSpec(kafka, mode, tuple(BrokerSpec(id_) for id_ in (1, 2, 3)), topics, tuple(producers), config=known)


def _safety(random: Random) -> dict[str, Any]:
    return {
        "min.insync.replicas": random.choice([1, 2]),
        "unclean.leader.election.enable": random.random() < 0.6,
    }


class Schedule:
    """Actions that remove records, one after the other."""

    def __init__(self, kafka: str, seed: int) -> None:
        self.random = Random(f"{kafka} {seed}")
        self.cluster = Cluster.build(spec_of(self.random, kafka), seed)
        self.board = FaultInjector(self.cluster)
        self.watch = Watch(self.cluster)
        self.deletes = parse_version(kafka) >= (0, 11, 0)

    def run(self, acts: int) -> "Schedule":
        self._pass(2_000)
        for _number in range(acts):
            self._act()
            self._pass(self.random.choice([50, 300, 1_500, 4_000]))
        for broker in (1, 2, 3):
            self._revive(broker)
        self._mend()
        self.cluster.stop_producers()
        self._pass(12_000)
        return self

    def _pass(self, milliseconds: int) -> None:
        self.cluster.run(self.cluster.now_us + milliseconds * MS)
        self.watch.compare()

    def _mend(self) -> None:
        for pair in list(self.cluster.network._links):
            if self.cluster.network.link(*pair).cuts:
                self.cluster.heal_cut(*pair, FAULT)

    def _revive(self, broker: int) -> None:
        if self.cluster.state_of(broker) is ProcessState.PAUSED:
            self.cluster.resume(broker)
        elif self.cluster.state_of(broker) is not ProcessState.RUNNING:
            self.cluster.restart(broker)

    def _act(self) -> None:
        random, cluster = self.random, self.cluster
        broker = random.choice([1, 2, 3])
        partition = random.choice(
            [name for name in cluster.cluster_state.records if not name.startswith("__")] or ["t-0"]
        )
        what = random.choice(
            ["crash", "power", "power", "pause", "disk", "cut", "cut", "calm", "calm", "unclean", "delete", "topic",
             "damage", "quiet"]
        )  # fmt: skip
        if what == "crash" and cluster.is_up(broker):
            cluster.crash(broker, torn=random.random() < 0.3)
        elif what == "power" and cluster.is_up(broker):
            keep = -1 if random.random() < 0.5 else random.randrange(80)
            cluster.power_loss(broker, keep)
        elif what == "disk" and cluster.is_up(broker) and random.random() < 0.4:
            cluster.disk_loss(broker)
        elif what == "pause" and cluster.state_of(broker) is ProcessState.RUNNING:
            cluster.pause(broker)
        elif what == "cut":
            for other in cluster.nodes():
                if other != broker and other < 1_000 and random.random() < 0.7:
                    cluster.cut(broker, other, FAULT)
                    cluster.cut(other, broker, FAULT)
        elif what == "calm":
            self._mend()
            self._revive(broker)
        elif what == "unclean" and partition in cluster.cluster_state.records:
            cluster.elect_leaders(partition, unclean=True)
        elif what == "delete" and partition == "t-0" and self.deletes and partition in cluster.cluster_state.records:
            cluster.delete_records(partition, cluster.query.hw(partition) - random.randrange(10))
        elif what == "topic":
            self._topic()
        elif what == "damage":
            self._damage(broker, partition)

    def _topic(self) -> None:
        if "t-0" in self.cluster.cluster_state.records:
            if self.random.random() < 0.5:
                self.board.admin(Action("admin", "delete_topic", "", {"topic": "t"}))
        else:
            params = {"topic": "t", "partitions": 1, "replication": 3}
            self.board.admin(Action("admin", "create_topic", "", params))

    def _damage(self, broker: int, partition: str) -> None:
        replica = self.cluster.cluster_state.replicas.get(partition, {}).get(broker)
        if replica is not None and self.cluster.is_up(broker) and replica.hw > replica.log.log_start:
            self.board.inject(Action("inject", "corrupt_batch", f"broker({broker})", {"partition": partition}))


@cache
def watched(kafka: str) -> Watch:
    return Schedule(kafka, 1).run(9).watch


@pytest.mark.parametrize("kafka", VERSIONS)
def test_every_count_is_exact_after_every_event(kafka: str) -> None:
    watch = watched(kafka)
    assert watch.compared > 300
    assert watch.most["acked"] > 80


def test_the_schedules_remove_records_in_every_way() -> None:
    watches = [watched(kafka) for kafka in VERSIONS]
    for term in ("acked", "unknown", "missing", "acked_lost", "committed_lost", "duplicates"):
        assert any(watch.most.get(term, 0) for watch in watches), term


@pytest.mark.parametrize(("kafka", "term", "count"), [("3.9", "reordered", 4), ("2.8", "duplicates", 5)])
def test_duplicates_and_late_records_go_with_their_topic(kafka: str, term: str, count: int) -> None:
    """A leader is paused with requests in flight: they are written late, or by both leaders."""
    mode, session = ("kraft", "broker") if kafka == "3.9" else ("zookeeper", "zookeeper")
    config = {"acks": "1", "enable.idempotence": False, "request.timeout.ms": 2_000}
    topics, writer = (TopicSpec("t", 1, 3),), ProducerSpec("w", "t", 100 * MS, config=config)
    settings = {f"{session}.session.timeout.ms": 3_000}
    brokers = tuple(BrokerSpec(id_) for id_ in (1, 2, 3))
    cluster = Cluster.build(ClusterSpec(kafka, mode, brokers, topics, (writer,), config=settings), 1)
    board, watch = FaultInjector(cluster), Watch(cluster)
    cluster.run(1 * SECOND)
    cluster.pause(cluster.query.leader("t-0"))
    cluster.run(6 * SECOND)
    for broker in (1, 2, 3):
        if cluster.state_of(broker) is ProcessState.PAUSED:
            cluster.resume(broker)
    cluster.run(9 * SECOND)
    assert getattr(cluster.query, term)() == count
    board.admin(Action("admin", "delete_topic", "", {"topic": "t"}))
    cluster.run(10 * SECOND)
    assert getattr(cluster.query, term)() == 0
    board.admin(Action("admin", "create_topic", "", {"topic": "t", "partitions": 1, "replication": 3}))
    cluster.run(12 * SECOND)
    assert cluster.query.leo("t-0") > 10
    assert getattr(cluster.query, term)() == 0
    assert watch.most[term] == count


@pytest.mark.evening
@pytest.mark.parametrize("kafka", VERSIONS)
def test_every_count_is_exact_after_every_event_of_many_schedules(kafka: str) -> None:
    most: dict[str, int] = {}
    for seed in range(sample_count(2, 4)):
        for term, count in Schedule(kafka, seed).run(18).watch.most.items():
            most[term] = max(most.get(term, 0), count)
    assert all(most[term] for term in ("acked", "unknown", "missing", "acked_lost")), most
