"""Sizes of a follower's fetch: at least the bytes it waits for, at most the bytes of a response."""

from typing import Any

import pytest

from cluster_model.broker.fetch.replication_quota import slice_bytes
from cluster_model.broker.request_handler import RequestHandler
from cluster_model.cluster import Cluster
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.events import RecordsAcked, RecordsRead
from cluster_model.protocol.messages import FetchRequest, FetchResponse
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.support.releases import those_of

pytestmark = pytest.mark.slow

SECOND = 1_000_000
BATCH = 1_000
"""Bytes of a batch."""


def cluster(
    broker: dict[str, ConfigValue],
    *,
    kafka: str = "3.9",
    partitions: int = 8,
    acks: str = "1",
    interval_us: int = 1_000,
) -> Cluster:
    """Return a cluster: broker 1 leads everything, broker 2 follows, and batches go to the partitions in turn."""
    producer = ProducerSpec("p", "t", interval_us, 1, record_bytes=BATCH, config={"acks": acks, "linger.ms": 0})
    return Cluster.build(
        ClusterSpec(
            kafka,
            None,
            (BrokerSpec(1), BrokerSpec(2)),
            (TopicSpec("t", partitions, 2, ((1, 2),) * partitions),),
            (producer,),
            network=NetworkSpec(500, 0),
            config=broker,
        ),
        1,
    )


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, int]]:
    """Return bytes by partition of every response to a follower that has records."""
    found: list[dict[str, int]] = []
    original = RequestHandler._send

    def noted(self: RequestHandler, source: int, request: FetchRequest, response: FetchResponse) -> Any:
        sizes = {
            data.partition: slice_bytes(self._replicas[data.partition].log.epoch_branches, data.records)
            for data in response.partitions
            if data.records.extents
        }
        if sizes and request.replica >= 0:
            found.append(sizes)
        return original(self, source, request, response)

    monkeypatch.setattr(RequestHandler, "_send", noted)
    return found


def after_a_second_away(broker: dict[str, ConfigValue], answers: list[dict[str, int]], kafka: str = "3.9") -> Cluster:
    """Run a follower that missed about a thousand batches, and catches up."""
    found = cluster(broker, kafka=kafka)
    found.run(SECOND)
    found.pause(2)
    found.run(2 * SECOND)
    found.stop_producers()
    found.run(2 * SECOND + 100_000)
    answers.clear()
    found.resume(2)
    found.run(20 * SECOND)
    return found


def caught_up(found: Cluster) -> bool:
    return all(found.query.leo(name, 1) == found.query.leo(name, 2) > 0 for name in found.cluster_state.records)


@pytest.mark.parametrize("most", [1, 1_500, 10_000, 55_555])
def test_an_answer_has_no_more_than_the_bound_but_at_least_one_batch(most: int, answers: list[dict[str, int]]) -> None:
    found = after_a_second_away({"replica.fetch.response.max.bytes": most}, answers)
    assert caught_up(found)
    assert max(sum(sizes.values()) for sizes in answers) == max(BATCH, most // BATCH * BATCH)


def test_a_broker_that_was_served_goes_to_the_end(answers: list[dict[str, int]]) -> None:
    """One batch at a time, for eight partitions of equal size: they take turns."""
    after_a_second_away({"replica.fetch.response.max.bytes": 1}, answers)
    served = [name for sizes in answers for name in sizes]
    rounds = [served[start : start + 8] for start in range(0, 80, 8)]
    assert all(len(set(names)) == 8 for names in rounds)


def test_before_kip_74_there_is_no_such_bound(answers: list[dict[str, int]]) -> None:
    after_a_second_away({}, answers, kafka="0.10.0")
    assert max(sum(sizes.values()) for sizes in answers) > 100 * BATCH


@pytest.mark.parametrize(("least", "slow"), [(1, False), (BATCH, False), (BATCH + 1, True), (1 << 20, True)])
def test_a_fetch_waits_for_as_many_bytes(least: int, slow: bool) -> None:
    """With one batch every 700 ms, a fetch for more bytes waits for its full 500 ms."""
    found = cluster({"replica.fetch.min.bytes": least}, partitions=1, acks="all", interval_us=700_000)
    found.run(10 * SECOND)
    latencies = [event.latency_us for event in found.drain() if isinstance(event, RecordsAcked)]
    assert (max(latencies) > 200_000) is slow
    assert max(latencies) < 600_000


def test_many_bytes_over_all_partitions_count_together(answers: list[dict[str, int]]) -> None:
    found = cluster({"replica.fetch.min.bytes": 5 * BATCH})
    found.run(3 * SECOND)
    assert answers
    assert min(sum(sizes.values()) for sizes in answers) >= 5 * BATCH


def test_slices_and_keyframes_leave_no_mark() -> None:
    limits: dict[str, ConfigValue] = {"replica.fetch.min.bytes": 3_000, "replica.fetch.response.max.bytes": 5_000}
    whole, sliced = cluster(limits), cluster(limits)
    whole.run(2 * SECOND)
    for step in range(1, 201):
        sliced.run(step * 10_000)
        if step == 100:
            keyframe = sliced.save()
            sliced.run(step * 10_000 + 7_777)
            sliced.load(keyframe)
    assert whole.digest() == sliced.digest()


# --- consumers


def reads(
    config: dict[str, ConfigValue],
    *,
    partitions: int = 4,
    batches: int = 1_000,
    kafka: str = "3.9",
    broker: dict[str, ConfigValue] | None = None,
) -> list[RecordsRead]:
    """Return a consumer's reads of a batch of 1,000 bytes every millisecond, in one partition after the other."""
    # Before 4.0 that partitioner is called twice for the first record of a batch, and so skips partitions.
    turns: dict[str, ConfigValue] = {"partitioner.class": "RoundRobinPartitioner", "client.version": "4.1"}
    config_of_producer = {"linger.ms": 0, **turns}
    producer = ProducerSpec("p", "t", 1_000, 1, record_bytes=BATCH, stop_us=batches * 1_000, config=config_of_producer)
    spec = ClusterSpec(
        kafka,
        None,
        (BrokerSpec(1), BrokerSpec(2)),
        (TopicSpec("t", partitions, 2, ((1, 2),) * partitions),),
        (producer,),
        (GroupSpec("g", ("t",), 1, config=config, coordinated=False),),
        NetworkSpec(500, 0),
        config=broker or {},
    )
    found = Cluster.build(spec, 1)
    found.run(3 * SECOND)
    return [event for event in found.drain() if isinstance(event, RecordsRead)]


def per_answer(read: list[RecordsRead]) -> list[int]:
    """Return the number of records of each response, which are delivered at once."""
    counts: dict[int, int] = {}
    for event in read:
        counts[event.at_us] = counts.get(event.at_us, 0) + event.count
    return list(counts.values())


def test_a_consumers_fetch_waits_for_as_many_bytes_over_all_partitions_or_for_its_time() -> None:
    answers = per_answer(reads({"fetch.min.bytes": 50 * BATCH}))
    assert sum(answers) == 999
    assert min(answers[:-1]) >= 50
    late = reads({"fetch.min.bytes": 50 * BATCH, "fetch.max.wait.ms": 20})
    assert max(per_answer(late)) < 50


def test_a_consumers_answer_has_no_more_than_its_bound_but_at_least_one_batch() -> None:
    assert max(per_answer(reads({"fetch.max.bytes": 10 * BATCH, "fetch.min.bytes": 40 * BATCH}))) == 10
    assert max(per_answer(reads({"fetch.max.bytes": 1}))) == 1


@pytest.mark.parametrize(("kafka", "most"), [("2.4", 40), ("2.5", 10)])
def test_the_broker_limits_fetch_min_and_max_bytes_since_2_5(kafka: str, most: int) -> None:
    wanted: dict[str, ConfigValue] = {"fetch.min.bytes": 40 * BATCH, "fetch.max.bytes": 40 * BATCH}
    broker: dict[str, ConfigValue] = those_of("broker", kafka, {"fetch.max.bytes": 10 * BATCH})
    assert max(per_answer(reads(wanted, kafka=kafka, broker=broker))) == most


def test_a_bound_starves_no_partition() -> None:
    last = {event.partition: event.log_offset for event in reads({"fetch.max.bytes": 3 * BATCH}, batches=200)}
    assert sorted(last) == ["t-0", "t-1", "t-2", "t-3"]
    assert min(last.values()) > 40
