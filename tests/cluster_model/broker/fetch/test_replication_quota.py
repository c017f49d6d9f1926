"""KIP-73: measured rates, a leader that withholds records, and a follower that leaves partitions out."""

from itertools import pairwise
from typing import Any

import pytest

from cluster_model.broker.fetch.replication_quota import (
    SAMPLES,
    ReplicationQuota,
    SimpleRate,
    names_replica,
    slice_bytes,
)
from cluster_model.cluster import Cluster
from cluster_model.log.batch_store import BatchStore
from cluster_model.protocol.config_defs import LONG_MAX
from cluster_model.protocol.records import Batch, Slice
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.cluster_model.leaders import LeaderRig

SECOND = 1_000_000
ALL = "*"


# --- the rate ---------------------------------------------------------------------------------------------------------


def test_nothing_is_no_rate() -> None:
    assert not SimpleRate().above(SECOND, 0)


def test_the_first_window_counts_as_a_whole_one() -> None:
    rate = SimpleRate()
    rate.record(0, 100)
    assert not rate.above(0, 100)
    assert rate.above(0, 99)
    assert rate.above(SECOND // 2, 99)


def test_later_the_time_since_the_oldest_window_counts() -> None:
    rate = SimpleRate()
    rate.record(0, 1_000)
    assert rate.above(4 * SECOND, 249)
    assert not rate.above(4 * SECOND, 250)
    rate.record(4 * SECOND, 1_000)
    assert rate.above(4 * SECOND, 499)
    assert not rate.above(4 * SECOND, 500)


def test_windows_are_a_second_and_eleven_are_kept() -> None:
    rate = SimpleRate()
    for second in range(30):
        rate.record(second * SECOND, 50)
        rate.record(second * SECOND + SECOND - 1, 50)
        assert len(rate._windows) <= SAMPLES
    # Eleven windows of 100 bytes, of which the oldest began ten seconds ago.
    assert rate.above(29 * SECOND, 109)
    assert not rate.above(29 * SECOND, 110)


def test_the_quota_window_is_eleven_seconds() -> None:
    rate = SimpleRate()
    rate.record(0, 1_000_000)
    assert rate.above(11 * SECOND - 1, 1_000)
    assert not rate.above(11 * SECOND, 0)


def test_a_rate_is_restored_as_it_was() -> None:
    rate, other = SimpleRate(), SimpleRate()
    for second in range(13):
        rate.record(second * SECOND, second)
    other.load(rate.save())
    for each in (rate, other):
        each.record(13 * SECOND, 7)
    assert other.save() == rate.save()
    rate.clear()
    assert rate.save() == SimpleRate().save()


# --- replicas with a quota --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("throttled", "partition", "broker", "named"),
    [
        ("*", "t-0", 1, True),
        ("", "t-0", 1, False),
        ("0:1", "t-0", 1, True),
        ("0:1", "t-0", 2, False),
        ("0:1", "t-1", 1, False),
        ("0:1,1:2", "a-b-1", 2, True),
        ("10:1", "t-0", 1, False),
        ("0:11", "t-0", 1, False),
    ],
)
def test_replicas_are_named_by_partition_and_broker(throttled: str, partition: str, broker: int, named: bool) -> None:
    assert names_replica(throttled, partition, broker) is named


def test_no_limit_is_no_quota_and_neither_is_one_before_0_10_1() -> None:
    assert not ReplicationQuota(LONG_MAX, exists=True).active
    assert not ReplicationQuota(10, exists=False).active
    assert ReplicationQuota(10, exists=True).active


def test_the_bytes_of_a_fetch_are_those_of_its_batches() -> None:
    epoch_branches = BatchStore()
    first, second = epoch_branches.begin(1, 0, 0), epoch_branches.begin(2, 1, 4)
    for base, size in ((0, 10), (2, 20), (4, 80)):
        first.append(Batch(base, 2, size, 0, "p", -1, 0, 1))
    second.append(Batch(4, 3, 40, 0, "p", -1, 0, 1))
    assert slice_bytes(epoch_branches, Slice(0, 7, ((0, 0), (4, 1)))) == 70
    assert slice_bytes(epoch_branches, Slice(2, 4, ((2, 0),))) == 20
    assert slice_bytes(epoch_branches, Slice(7, 7, ())) == 0


# --- the leader -------------------------------------------------------------------------------------------------------


def throttled(kafka: str = "3.9", *, rate: int = 100, topic: str = ALL, isr: tuple[int, ...] = (1, 2)) -> LeaderRig:
    """Return a leader with a quota of 100 bytes per second that has just sent 1,000; broker 3 is not in the ISR."""
    rig = LeaderRig(
        kafka,
        mode="zookeeper" if kafka < "3.3" else None,
        broker={"leader.replication.throttled.rate": rate},
        topic={"leader.replication.throttled.replicas": topic} if topic else {},
        isr=isr,
    )
    rig.append(1, 1_000)
    sent = rig.fetch(3, 0)
    assert sent is not None
    assert sent.records.end == 1
    rig.append(1, 1_000)
    return rig


def test_a_leader_above_its_quota_has_nothing_for_a_follower_outside_the_isr() -> None:
    rig = throttled()
    assert rig.fetch(3, 1) is None
    assert rig.replica.leadership is not None
    assert rig.replica.leadership.remotes[3].leo == 1, "its fetch counts all the same"


def test_the_isr_is_exempt_but_its_bytes_count() -> None:
    rig = throttled(isr=(1, 2, 3))
    data = rig.fetch(2, 0)
    assert data is not None
    assert data.records.end == 2
    assert not rig.throttle.rate.above(0, 3_000)
    assert rig.throttle.rate.above(0, 2_999)


def test_consumers_are_exempt_and_do_not_count() -> None:
    rig = throttled(isr=(1,))
    before = rig.throttle.rate.save()
    data = rig.read(0)
    assert data is not None
    assert data.records.end == 2
    assert rig.throttle.rate.save() == before


def test_a_follower_that_was_held_back_waits_out_its_time_and_is_answered_without_records() -> None:
    rig = throttled()
    assert rig.fetch(3, 1) is None
    rig.append(1, 10)
    assert rig.answers(3) == 1, "no append wakes it"
    rig.wire.now = SECOND // 2
    for _at, (_name, *which) in rig.wire.timers:
        rig.service.on_fetch_wait(*which)
    data = rig.answer(3)
    assert data is not None
    assert (rig.answers(3), data.error, data.records) == (2, 0, Slice(1, 1, ()))


def test_an_append_wakes_it_once_the_rate_is_low_enough() -> None:
    rig = throttled()
    rig.wire.now = 9 * SECOND
    assert rig.fetch(3, 1, wait_us=5 * SECOND) is None
    rig.wire.now = 10 * SECOND
    rig.append(1, 10)
    data = rig.answer(3)
    assert data is not None
    assert (data.records.start, data.records.end) == (1, 3)


@pytest.mark.parametrize(
    ("kafka", "rate", "topic"),
    [("0.10.0", 100, ALL), ("3.9", 1_000, ALL), ("3.9", 100, ""), ("3.9", 100, "0:2,1:1"), ("3.9", LONG_MAX, ALL)],
)
def test_without_version_limit_or_name_nothing_is_held_back(kafka: str, rate: int, topic: str) -> None:
    data = throttled(kafka, rate=rate, topic=topic).fetch(3, 1)
    assert data is not None
    assert data.records.end == 2


@pytest.mark.parametrize("kafka", ["0.10.1", "2.4", "3.9"])
@pytest.mark.parametrize("topic", [ALL, "0:1", "1:1,0:1"])
def test_since_0_10_1_it_is_by_name_or_all(kafka: str, topic: str) -> None:
    assert throttled(kafka, topic=topic).fetch(3, 1) is None


# --- in a cluster -----------------------------------------------------------------------------------------------------


def cluster(side: str, *, rate: int = 20_000, kafka: str = "3.9", names: str = ALL) -> Cluster:
    """Return a cluster with two topics; broker 3 is down for a while and then has half a megabyte of each to fetch."""
    config: dict[str, Any] = {"replica.fetch.max.bytes": 5_000}
    if side:
        config[f"{side}.replication.throttled.rate"] = rate
    topics = tuple(
        TopicSpec(name, 1, 3, ((1, 2, 3),), {f"{side}.replication.throttled.replicas": names} if held else {})
        for name, held in (("held", bool(side)), ("free", False))
    )
    producers = tuple(
        ProducerSpec(f"p-{name}", name, 50_000, 1, record_bytes=1_000, config={"acks": "1"})
        for name in ("held", "free")
    )
    brokers = (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3))
    mode = "kraft" if kafka == "3.9" else "zookeeper"
    found = Cluster.build(
        ClusterSpec(kafka, mode, brokers, topics, producers, network=NetworkSpec(500, 200), config=config), 4
    )
    found.run(2 * SECOND)
    found.crash(3)
    found.run(30 * SECOND)
    found.stop_producers()
    found.restart(3)
    return found


def caught_up_after(found: Cluster, topic: str) -> int:
    """Return the seconds until broker 3 is in the ISR."""
    began = found.now_us
    while 3 not in found.query.isr(f"{topic}-0"):
        found.run(found.now_us + SECOND // 2)
        assert found.now_us < began + 200 * SECOND
    return (found.now_us - began) // SECOND


@pytest.mark.slow
@pytest.mark.parametrize("kafka", ["0.11", "2.6", "3.9"])
@pytest.mark.parametrize("side", ["leader", "follower"])
def test_only_throttled_replicas_are_limited_to_the_quota(side: str, kafka: str) -> None:
    found = cluster(side, kafka=kafka)
    missing = found.cluster_state.replica("held-0", 1).log.leo - found.cluster_state.replica("held-0", 3).log.leo
    free = caught_up_after(found, "free")
    held = caught_up_after(found, "held")
    assert free < 15
    # A fetch may exceed the rate, which is checked in steps of half a second to a second.
    least = missing * 1_000 // 20_000
    assert least - 6 <= held + free <= 2 * least + 15


@pytest.mark.slow
@pytest.mark.parametrize(
    ("side", "options"),
    [
        ("", {}),
        ("leader", {"names": "0:2"}),
        ("follower", {"names": "0:1"}),
    ],
)
def test_others_are_not_held_back(side: str, options: dict[str, Any]) -> None:
    found = cluster(side, **options)
    assert caught_up_after(found, "held") < 15


@pytest.mark.slow
@pytest.mark.parametrize("side", ["leader", "follower"])
def test_replicas_in_sync_are_never_held_back(side: str) -> None:
    """Above the rate no replica leaves the ISR and every record is committed in time."""
    config: dict[str, Any] = {f"{side}.replication.throttled.rate": 100}
    topic = TopicSpec("held", 1, 3, ((1, 2, 3),), {f"{side}.replication.throttled.replicas": ALL})
    producer = ProducerSpec("p", "held", 20_000, 1, record_bytes=1_000, config={"acks": "all"})
    brokers = (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3))
    found = Cluster.build(ClusterSpec("3.9", "kraft", brokers, (topic,), (producer,), config=config), 4)
    found.run(60 * SECOND)
    assert [event for event in found.drain() if event.kind == "isr_changed"] == []
    assert found.producers["p"].sent - found.producers["p"].acked < 5


@pytest.mark.slow
@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_throttled_run_is_the_same_run_in_any_slices_and_from_a_keyframe(side: str) -> None:
    one, other = cluster(side), cluster(side)
    one.run(45 * SECOND)
    while other.now_us < 40 * SECOND:
        other.run(other.now_us + 37_000)
    keyframe = other.save()
    other.run(45 * SECOND)
    assert one.digest() == other.digest()
    other.load(keyframe)
    other.run(45 * SECOND)
    assert one.digest() == other.digest()


def test_a_follower_fetches_at_most_its_maximum_of_a_partition_at_a_time() -> None:
    found = cluster("")
    found.run(found.now_us + SECOND)
    started = found.cluster_state.replica("held-0", 3).log.leo
    sizes = set()
    while 3 not in found.query.isr("held-0"):
        found.run(found.now_us + SECOND, max_events=1)
        leo = found.cluster_state.replica("held-0", 3).log.leo
        sizes.add(leo - started)
        started = leo
    assert max(sizes) == 5, "replica.fetch.max.bytes are five records"


def test_a_fully_throttled_follower_retries_after_the_backoff() -> None:
    config: dict[str, Any] = {
        "follower.replication.throttled.rate": 20_000,
        "replica.fetch.max.bytes": 5_000,
        "replica.fetch.backoff.ms": 700,
    }
    topic = TopicSpec("held", 1, 2, ((1, 2),), {"follower.replication.throttled.replicas": ALL})
    producer = ProducerSpec("p", "held", 50_000, 1, record_bytes=1_000, config={"acks": "1"})
    brokers = (BrokerSpec(1), BrokerSpec(2))
    found = Cluster.build(ClusterSpec("3.9", "kraft", brokers, (topic,), (producer,), config=config), 4)
    found.run(2 * SECOND)
    found.crash(2)
    found.run(20 * SECOND)
    found.stop_producers()
    found.restart(2)
    found.run(26 * SECOND)
    replica = found.cluster_state.replica("held-0", 2)
    times: list[int] = []
    leo = replica.log.leo
    while found.now_us < 40 * SECOND:
        found.run(40 * SECOND, max_events=1)
        if replica.log.leo != leo:
            leo = replica.log.leo
            times.append(found.now_us)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert 600_000 < max(gaps) < 1_500_000
