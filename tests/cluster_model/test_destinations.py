"""Where a producer sends its records, version by version: what its partitioner is told, and what follows from it."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from cluster_model.cluster import Cluster
from cluster_model.log.record_keys import keys_of
from cluster_model.protocol.events import RecordsFailed, RecordsSent
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.spec.cluster_spec import (
    BrokerSpec,
    ClusterSpec,
    CustomPartitioner,
    HotKeys,
    NetworkSpec,
    ProducerSpec,
    TopicSpec,
)
from cluster_model.util.deterministic_math import partition_for_key
from faults.declarations.fault import Action
from faults.injector import FaultInjector
from tests.cluster_model.rigs import MS, ProducerRig

SECOND = 1_000_000


def rig_of(**settings: Any) -> ProducerRig:
    """A producer as it is, over four partitions unless told otherwise, led in turn by two brokers."""
    return ProducerRig(**{"leaders": (1, 2, 1, 2), "turns": False, **settings})


def sent(rig: ProducerRig) -> list[tuple[int, int]]:
    """Partition and count of all that was handed over."""
    return [(int(event.partition[2:]), event.count) for event in rig.events if isinstance(event, RecordsSent)]


def run_all(rig: ProducerRig) -> list[int]:
    """Partition of every record, each acknowledged before the next is made."""
    answered = 0
    while rig.now < rig.producer._spec.stop_us:
        rig.run(MS)
        requests = [(broker, request) for broker in rig.brokers for request in rig.produced(broker)]
        for broker, request in requests[answered:]:
            rig.answer(request, broker=broker)
        answered = len(requests)
    return [partition for partition, count in sent(rig) for _record in range(count)]


EVERY_TURN = {"2.3": {}, "4.0": {"partitioner.class": "RoundRobinPartitioner", "linger.ms": 0}}


@pytest.mark.parametrize("kafka", EVERY_TURN)
def test_turn_and_turn_about(kafka: str) -> None:
    rig = rig_of(kafka=kafka, config=EVERY_TURN[kafka], batches=12)
    rig.make_all()
    placed = [partition for partition, _count in sent(rig)]
    assert len(placed) == 12
    assert all((second - first) % 4 == 1 for first, second in pairwise(placed))


@pytest.mark.parametrize("kafka", EVERY_TURN)
def test_records_passed_together_take_turns_too(kafka: str) -> None:
    rig = rig_of(kafka=kafka, config=EVERY_TURN[kafka], batch=10)
    rig.make_all()
    assert sorted(count for _partition, count in sent(rig)) == [2, 2, 3, 3]
    assert sorted(partition for partition, _count in sent(rig)) == [0, 1, 2, 3]


@pytest.mark.parametrize(("version", "starved"), [("3.8", {0, 2}), ("3.9", set()), ("4.0", set())])
def test_the_round_robin_class_starves_half_the_partitions_before_3_9(version: str, starved: set[int]) -> None:
    config = {"partitioner.class": "RoundRobinPartitioner", "client.version": version, "linger.ms": 0}
    placed = run_all(rig_of(config=config, batches=12))
    assert set(range(4)) - set(placed) == starved


def test_batches_without_a_leader_take_one_round_robin_turn() -> None:
    rig = rig_of(kafka="3.8", config={"partitioner.class": "RoundRobinPartitioner", "linger.ms": 5_000}, batches=12)
    rig.make_all()
    # 0 has no batch: 1. Then 2 has none: 3. Then 0 has none: 1, which has room by now, and so on.
    assert [partition for partition, _count in sent(rig)][:4] == [1, 3, 1, 3]


@pytest.mark.parametrize("kafka", ["2.4", "3.2"])
def test_sticky_moves_on_with_every_new_batch(kafka: str) -> None:
    placed = run_all(rig_of(kafka=kafka, batches=10))
    assert all(first != second for first, second in pairwise(placed))
    lingering = rig_of(kafka=kafka, config={"linger.ms": 10_000, "batch.size": 1_000}, batches=15)
    lingering.make_all()
    assert [count for _partition, count in Counter(runs(sent(lingering))).items()] == [1, 1, 1]
    assert [length for _partition, length in runs(sent(lingering))] == [5, 5, 5]


def runs(placed: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """(partition, records in a row)."""
    found: list[list[int]] = []
    for partition, count in placed:
        if found and found[-1][0] == partition:
            found[-1][1] += count
        else:
            found.append([partition, count])
    return [(partition, length) for partition, length in found]


def test_since_3_3_a_partition_is_kept_for_a_batch_of_bytes() -> None:
    placed = run_all(rig_of(config={"batch.size": 1_000}, batches=100))
    in_a_row = runs([(partition, 1) for partition in placed])
    assert all(length % 5 == 0 for _partition, length in in_a_row)
    assert len({partition for partition, _length in in_a_row}) == 4


def test_a_batch_that_lingers_holds_the_switch_up_until_it_is_full() -> None:
    rig = rig_of(config={"batch.size": 1_000, "linger.ms": 10_000}, batches=120, record_bytes=300)
    rig.make_all()
    # Three take 900 bytes, which are not enough to switch when the fourth has no room and closes their batch. With the
    # fourth there are 1 200, but its batch is open: two more fill that, and the seventh may go elsewhere.
    lengths = [length for _partition, length in runs(sent(rig))]
    assert all(length % 6 == 0 for length in lengths)
    assert len(lengths) > 8


@pytest.mark.parametrize("kafka", ["2.3", "2.8", "3.9"])
def test_records_without_keys_go_where_there_is_a_leader(kafka: str) -> None:
    rig = rig_of(kafka=kafka, leaders=(1, NO_LEADER, 1, NO_LEADER), config={"batch.size": 400}, batches=30)
    rig.make_all()
    assert {partition for partition, _count in sent(rig)} == {0, 2}


@pytest.mark.parametrize("kafka", ["2.3", "2.8", "3.9"])
def test_keyed_records_go_to_their_partition_without_a_leader(kafka: str) -> None:
    rig = rig_of(kafka=kafka, leaders=(1, NO_LEADER, 1, NO_LEADER), batches=200, interval=MS, keys=100)
    rig.make_all()
    counts = Counter(partition for partition, _count in sent(rig))
    share = Counter(partition_for_key(b"key-%d" % key, 4) for key in range(100))
    for partition in range(4):
        assert abs(counts[partition] - 2 * share[partition]) < 4 * (2 * share[partition]) ** 0.5
    assert {request.partition for broker in rig.brokers for request in rig.produced(broker)} == {"t-0", "t-2"}


@pytest.mark.parametrize(
    "settings",
    [
        {"kafka": "3.9", "config": {"partitioner.ignore.keys": True}},
        {"kafka": "3.2", "config": {"partitioner.class": "UniformStickyPartitioner"}},
        {"kafka": "4.0", "config": {"partitioner.class": "RoundRobinPartitioner"}},
    ],
)
def test_a_partitioner_that_ignores_keys_spreads_one_key(settings: dict[str, Any]) -> None:
    rig = rig_of(**{**settings, "config": {**settings["config"], "batch.size": 400}}, batches=40, keys=1)
    rig.make_all()
    assert {partition for partition, _count in sent(rig)} == {0, 1, 2, 3}
    assert rig.keys is not None
    assert rig.keys.placed == ()


def test_records_passed_together_go_each_by_its_key() -> None:
    rig = rig_of(batch=1_000, keys=400)
    rig.make_all()
    counts = dict(sent(rig))
    share = Counter(partition_for_key(b"key-%d" % key, 4) for key in range(400))
    assert (sum(counts.values()), len(sent(rig))) == (1_000, 4)
    for partition in range(4):
        assert abs(counts[partition] - 2.5 * share[partition]) < 60
    # One request for each broker takes them along.
    assert [len(rig.produced(broker)) for broker in (1, 2)] == [2, 2]


def test_an_applications_own_partitioner() -> None:
    rig = rig_of(batches=60, keys=50, partitioner=CustomPartitioner((), 3))
    rig.make_all()
    assert {partition for partition, _count in sent(rig)} == {3}
    hot = rig_of(batches=60, keys=50, skew=HotKeys(999_999), partitioner=CustomPartitioner(((0, 2),)))
    hot.make_all()
    assert {partition for partition, _count in sent(hot)} == {2}


def test_a_partition_that_does_not_exist_is_waited_for() -> None:
    own = rig_of(config={"max.block.ms": 1_000}, batches=300, partition=4)
    own.make_all()
    failed = [event for event in own.events if isinstance(event, RecordsFailed)]
    assert {(event.error, event.partition) for event in failed} == {("REQUEST_TIMED_OUT", "t")}
    assert own.producer.sent == own.producer.failed == len(failed) == 3
    there = rig_of(batches=3, partition=3)
    there.make_all()
    assert sent(there) == [(3, 1)] * 3


def test_a_partitioner_that_names_one_has_its_records_wait_until_they_expire() -> None:
    config = {"delivery.timeout.ms": 2_000, "request.timeout.ms": 1_000}
    rig = rig_of(config=config, batches=2, keys=5, partitioner=CustomPartitioner((), 9))
    rig.make_all()
    rig.run(3 * SECOND)
    assert sent(rig) == [(9, 1)] * 2
    assert rig.books() == {"acked": 0, "failed": 2, "unknown": 0}


# --- in a cluster ---------------------------------------------------------------------------------------------------


def cluster_of(producer: ProducerSpec, partitions: int = 4, **config: Any) -> Cluster:
    brokers = tuple(BrokerSpec(number) for number in (1, 2, 3))
    placement = tuple(((number % 3) + 1,) for number in range(partitions))
    topics = (TopicSpec("t", partitions, 1, placement, config),)
    return Cluster.build(ClusterSpec("3.9", "kraft", brokers, topics, (producer,), network=NetworkSpec(500, 200)), 5)


def keys_in(cluster: Cluster, partition: str) -> list[int]:
    """The key of every record of a partition, in order."""
    epoch_branches = cluster.epoch_branches[partition]
    batches = [
        batch
        for epoch_branch in epoch_branches.by_id
        for batch in (epoch_branch.batch(i) for i in range(epoch_branch.length))
    ]
    return [int(key) for batch in batches for key in keys_of(epoch_branches.keys, batch).keys if key is not None]


@pytest.mark.slow
def test_a_topic_that_grows_takes_its_keys_elsewhere_from_then_on() -> None:
    cluster = cluster_of(ProducerSpec("p", "t", 2_000, 1, keys=300, config={"metadata.max.age.ms": 500}), 3)
    cluster.run(4 * SECOND)
    FaultInjector(cluster).admin(Action("admin", "add_partitions", params={"topic": "t", "total": 8}))
    cluster.run(6 * SECOND)
    cluster.stop_producers()
    cluster.run(8 * SECOND)
    moved = 0
    for partition in range(3):
        keys = keys_in(cluster, f"t-{partition}")
        small = [partition_for_key(b"key-%d" % key, 3) == partition for key in keys]
        large = [partition_for_key(b"key-%d" % key, 8) == partition for key in keys]
        change = next(index for index in range(len(keys)) if all(large[index:]))
        assert all(small[:change])
        assert 200 < change < len(keys) - 50
        moved += sum(large[:change])
    assert moved < 400
    for partition in range(3, 8):
        keys = keys_in(cluster, f"t-{partition}")
        assert len(keys) > 15
        assert all(partition_for_key(b"key-%d" % key, 8) == partition for key in keys)


@pytest.mark.slow
def test_snapshots_restore_record_keys() -> None:
    cluster = cluster_of(ProducerSpec("p", "t", 2_000, 3, keys=300, config={"metadata.max.age.ms": 500}), 3)
    cluster.run(2 * SECOND)
    early = cluster.save()
    model = cluster.epoch_branches["t-0"].keys["p"].producer
    placed = model.placed
    FaultInjector(cluster).admin(Action("admin", "add_partitions", params={"topic": "t", "total": 8}))
    cluster.run(4 * SECOND)
    assert [total for total, _starts in model.placed] == [3, 8]
    cluster.load(early)
    assert model.placed == placed
    cluster.run(4 * SECOND)
    for partition in range(3):
        keys = keys_in(cluster, f"t-{partition}")
        assert len(keys) > 1_000
        assert all(partition_for_key(b"key-%d" % key, 3) == partition for key in keys)


@pytest.mark.slow
@pytest.mark.parametrize("producer", [
    {"keys": 50}, {"batch": 7}, {"config": {"client.version": "2.3"}}, {"config": {"client.version": "2.8"}},
    {"batch": 5, "config": {"partitioner.class": "RoundRobinPartitioner"}},
    {"batch": 3, "keys": 50, "config": {"batch.size": 0}}, {"config": {"batch.size": 700, "linger.ms": 20}},
    {"config": {"batch.size": 700, "linger.ms": 20, "partitioner.availability.timeout.ms": 1}},
])  # fmt: skip
def test_a_cluster_that_goes_back_continues_the_same(producer: dict[str, Any]) -> None:
    cluster = cluster_of(ProducerSpec("p", "t", 3_000, **producer))
    cluster.run(SECOND)
    early = cluster.save()
    cluster.run(3 * SECOND)
    once = cluster.digest(), [cluster.query.hw(f"t-{number}") for number in range(4)]
    cluster.load(early)
    cluster.run(3 * SECOND)
    assert (cluster.digest(), [cluster.query.hw(f"t-{number}") for number in range(4)]) == once


def slowed(**config: Any) -> tuple[int, ...]:
    """What each of three partitions gets in six seconds in which the broker of the first one stands still."""
    settings = {"batch.size": 600, "linger.ms": 5, "max.in.flight.requests.per.connection": 2, **config}
    cluster = cluster_of(ProducerSpec("p", "t", 1_000, config=settings), 3)
    cluster.run(SECOND)
    cluster.pause(1)
    before = Counter(event.partition for event in cluster.drain() if isinstance(event, RecordsSent))
    assert min(before.values()) > 200
    cluster.run(7 * SECOND)
    told = Counter(event.partition for event in cluster.drain() if isinstance(event, RecordsSent))
    return tuple(told[f"t-{number}"] for number in range(3))


@pytest.mark.slow
def test_a_slow_broker_gets_less_unless_adaptive_partitioning_is_off() -> None:
    evenly = slowed(**{"partitioner.adaptive.partitioning.enable": False})
    assert min(evenly) > 1_700
    by_load = slowed()
    assert by_load[0] < 250
    assert min(by_load[1:]) > 2_500


@pytest.mark.slow
def test_a_leader_out_of_reach_gets_nothing_after_the_availability_timeout() -> None:
    at_once, late = (slowed(**{"partitioner.availability.timeout.ms": timeout})[0] for timeout in (20, 0))
    assert at_once < 60
    assert late > 100
