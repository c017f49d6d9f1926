"""When producers make records: by a rate that changes, or as their earlier records are settled."""

from typing import Any

import pytest

from cluster_model.clients.workload import AT_ONCE_US, RateCurve
from cluster_model.cluster import Cluster
from cluster_model.protocol.events import Event, RecordsAcked, RecordsFailed, RecordsSent, RecordsUnknown
from cluster_model.spec.cluster_spec import (
    RATE_UNITS,
    BrokerSpec,
    ClosedLoop,
    ClusterSpec,
    NetworkSpec,
    ProducerSpec,
    RateProfile,
    RateSegment,
    TopicSpec,
)

SECOND = 1_000_000
LATENCY = 1_000


def per_second(number: int) -> int:
    return number * 3_600 * RATE_UNITS


SAWTOOTH = RateProfile(
    (RateSegment(2 * SECOND, 0, per_second(300)), RateSegment(SECOND, per_second(37), per_second(37))), repeats=True
)
ENDING = RateProfile((RateSegment(SECOND, per_second(100), per_second(100)), RateSegment(-1, 0, 0)))


def build(
    batch: int = 1, *, acks: str = "all", brokers: int = 2, config: dict[str, Any] | None = None, **keys: Any
) -> Cluster:
    topic = TopicSpec("orders", 2, brokers)
    maker = ProducerSpec("p", "orders", SECOND, batch, config={"acks": acks, "linger.ms": 0, **(config or {})}, **keys)
    servers = tuple(BrokerSpec(number) for number in range(1, brokers + 1))
    return Cluster.build(ClusterSpec("3.9", "kraft", servers, (topic,), (maker,), network=NetworkSpec(LATENCY, 0)), 7)


def events(cluster: Cluster, until: int, step: int = 0) -> list[Event]:
    found: list[Event] = []
    while cluster.now_us < until:
        cluster.run(min(until, cluster.now_us + (step or until)))
        found += cluster.drain()
    return found


def sent(found: list[Event]) -> list[int]:
    return [event.at_us for event in found if isinstance(event, RecordsSent)]


def outstanding(found: list[Event]) -> list[int]:
    """Records that are not settled, after every event."""
    now, counts = 0, []
    for event in found:
        if isinstance(event, RecordsSent):
            now += event.count
        elif isinstance(event, (RecordsAcked, RecordsFailed, RecordsUnknown)):
            now -= event.count
        counts.append(now)
    return counts


@pytest.mark.parametrize("batch", [1, 7])
def test_batches_come_when_the_curve_has_made_them(batch: int) -> None:
    start = 300_000
    times = sent(events(build(batch, profile=SAWTOOTH, start_us=start), 10 * SECOND))
    curve = RateCurve(SAWTOOTH)
    made = curve.made(10 * SECOND - start) // batch
    assert times == [start + curve.when(number * batch) for number in range(1, made + 1)]
    assert len(times) > 100


def test_a_rate_that_ends_makes_nothing_more() -> None:
    times = sent(events(build(profile=ENDING), 5 * SECOND))
    assert times == [10_000 * number for number in range(1, 101)]


def test_slices_of_time_change_nothing() -> None:
    loop = ClosedLoop(6, 3_000)
    whole, sliced = build(2, profile=SAWTOOTH), build(2, profile=SAWTOOTH)
    assert events(whole, 4 * SECOND) == events(sliced, 4 * SECOND, 7_777)
    assert whole.digest() == sliced.digest()
    whole, sliced = build(2, loop=loop), build(2, loop=loop)
    assert events(whole, SECOND) == events(sliced, SECOND, 777)
    assert whole.digest() == sliced.digest()


def test_a_resumed_application_does_not_catch_up_on_missed_records() -> None:
    cluster = build(profile=RateProfile((RateSegment(-1, per_second(100), per_second(100)),)))
    events(cluster, SECOND)
    node = next(node for node in cluster.nodes() if cluster.name_of(node) == "p")
    cluster.pause(node)
    events(cluster, 3 * SECOND + 4_000)
    cluster.resume(node)
    times = sent(events(cluster, 4 * SECOND))
    assert times[:3] == [3 * SECOND + 4_000, 3 * SECOND + 10_000, 3 * SECOND + 20_000]
    assert len(times) == 101


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "batch"), [(1, 1), (10, 1), (10, 5), (11, 5)])
def test_no_more_than_so_many_records_are_outstanding(limit: int, batch: int) -> None:
    found = events(build(batch, loop=ClosedLoop(limit)), SECOND)
    most = limit // batch * batch
    assert max(outstanding(found)) == most
    assert len(sent(found)) > 50
    settled = outstanding(found)[-1]
    assert most - batch <= settled <= most


def test_the_next_record_follows_the_answer_after_thinking() -> None:
    found = events(build(loop=ClosedLoop(1, 5_000), start_us=40_000), SECOND)
    acked = [event.at_us for event in found if isinstance(event, RecordsAcked)]
    times = sent(found)
    assert times[0] == 40_000
    assert times[1:] == [at + 5_000 for at in acked][: len(times) - 1]
    assert len(times) > 100


def test_a_slow_cluster_gets_less_load_in_a_closed_loop_only() -> None:
    def load(**keys: Any) -> tuple[int, int]:
        cluster = build(acks="1", **keys)
        before = len(sent(events(cluster, SECOND)))
        for source in cluster.nodes():
            for target in (1, 2):
                if source not in (1, 2):
                    cluster.add_lag(source, target, 1, 20_000, 0)
                    cluster.add_lag(target, source, 1, 20_000, 0)
        return before, len(sent(events(cluster, 2 * SECOND)))

    before, slow = load(loop=ClosedLoop(1))
    assert slow * 10 < before
    before, slow = load(profile=RateProfile((RateSegment(-1, per_second(100), per_second(100)),)))
    assert before == slow == 100


@pytest.mark.slow
def test_with_acks_0_time_continues() -> None:
    times = sent(events(build(acks="0", loop=ClosedLoop(3)), SECOND))
    assert times[:6] == [0, 0, 0, AT_ONCE_US, AT_ONCE_US, AT_ONCE_US]
    assert len(times) == 3 * (SECOND // AT_ONCE_US + 1)


@pytest.mark.slow
def test_a_closed_loop_outlives_failures() -> None:
    cluster = build(brokers=1, loop=ClosedLoop(4))
    events(cluster, SECOND)
    cluster.crash(1)
    found = events(cluster, 200 * SECOND)
    ended = [event for event in found if isinstance(event, (RecordsFailed, RecordsUnknown))]
    assert ended
    assert max(outstanding(found)) <= 4
    cluster.restart(1)
    assert len([event for event in events(cluster, 205 * SECOND) if isinstance(event, RecordsAcked)]) > 100


def test_a_closed_loop_continues_when_its_topic_comes_back() -> None:
    cluster = build(loop=ClosedLoop(2))
    producer = cluster.producers["p"]
    events(cluster, SECOND)
    producer._forgotten = True
    times = sent(events(cluster, 2 * SECOND))  # it asks for metadata, which has the topic
    assert times[0] >= SECOND
    assert len(times) > 50


@pytest.mark.slow
def test_a_keyframe_keeps_what_was_settled_and_has_no_successor_yet() -> None:
    cluster = build(3, loop=ClosedLoop(6), acks="1")
    events(cluster, SECOND)
    pace = cluster.producers["p"]._pace
    pace.settled(2, 500)
    frame = cluster.save()
    first = events(cluster, 2 * SECOND)
    cluster.load(frame)
    assert pace.save() == (2, True, 2, 0)
    assert events(cluster, 2 * SECOND) == first


@pytest.mark.slow
@pytest.mark.parametrize("send", ["sync", "async"])
def test_a_closed_loop_continues_after_waiting_for_memory(send: str) -> None:
    config = {"batch.size": 1_000, "buffer.memory": 3_000, "max.block.ms": 500}
    cluster = build(brokers=1, loop=ClosedLoop(20), config=config, send=send)
    events(cluster, SECOND)
    cluster.crash(1)
    events(cluster, 140 * SECOND)
    cluster.restart(1)
    found = events(cluster, 150 * SECOND)
    assert len([event for event in found if isinstance(event, RecordsAcked)]) > 100


def test_records_that_are_never_taken_are_followed_by_others() -> None:
    found = events(build(loop=ClosedLoop(1), config={"max.request.size": 250}), SECOND)
    failed = [event for event in found if isinstance(event, RecordsFailed)]
    assert len(failed) == len(sent(found)) == SECOND // AT_ONCE_US + 1
