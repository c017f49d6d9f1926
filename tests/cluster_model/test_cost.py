"""What a run costs, in counts: events per batch, places looked at per fetch. Never in time."""

from collections.abc import Iterable
from typing import Any

import pytest

from cluster_model.broker import request_handler
from cluster_model.checker.ledger import ledger
from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, NetworkSpec, ProducerSpec, TopicSpec
from cluster_model.util.ranges import Range, union
from playbooks.engine.session_runner import start_session
from playbooks.library import bundled
from playbooks.parser.loader import load

SECOND = 1_000_000


def loaded(
    partitions: int, interval_us: int = 10_000, batch: int = 1, brokers: int = 3, partition: int = -1
) -> Cluster:
    spec = ClusterSpec(
        "3.9",
        "kraft",
        tuple(BrokerSpec(index + 1) for index in range(brokers)),
        (TopicSpec("load", partitions, 3),),
        (ProducerSpec("writer", "load", interval_us, batch, config={"acks": "all"}, partition=partition),),
        network=NetworkSpec(500, 200),
    )
    return Cluster.build(spec, 1)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a leader looked at a follower's question."""
    count = [0]
    original = request_handler.serve_fetch

    def counted(*args: Any, **options: Any) -> Any:
        count[0] += 1
        return original(*args, **options)

    monkeypatch.setattr(request_handler, "serve_fetch", counted)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [3, 60, 300])
def test_the_cost_of_a_batch_is_independent_of_the_partition_count(partitions: int, served: list[int]) -> None:
    cluster = loaded(partitions)
    cluster.run(2 * SECOND)
    served[0] = 0
    before = cluster.executed
    cluster.run(7 * SECOND)

    batches = 500
    assert cluster.executed - before < 10 * batches
    assert served[0] < 8 * batches


def test_an_idle_fetch_reads_no_partition(served: list[int]) -> None:
    cluster = loaded(300)
    cluster.stop_producers()
    cluster.run(3 * SECOND)
    served[0] = 0
    cluster.run(10 * SECOND)
    assert served[0] == 0


def test_idle_followers_cost_no_events() -> None:
    """Sixty exchanges between twelve brokers would be some 720 events a second; what is left are heartbeats."""
    cluster = loaded(60, brokers=12)
    cluster.stop_producers()
    cluster.run(60 * SECOND)
    before = cluster.executed
    cluster.run(120 * SECOND)
    assert (cluster.executed - before) / 60 < 40


def test_followers_that_rest_stay_in_the_isr_however_long_they_do() -> None:
    cluster = loaded(6)
    cluster.run(SECOND)
    cluster.stop_producers()
    cluster.drain()
    cluster.run(120 * SECOND)
    assert [event for event in cluster.drain() if event.kind == "isr_changed"] == []


@pytest.mark.parametrize("kafka", ["0.8.2", "0.10.2", "2.0"])
def test_a_follower_that_rested_is_missed_by_its_last_arrival(kafka: str) -> None:
    """Before 2.4 an idle follower that goes silent leaves the ISR a lag time after its last fetch, no earlier."""
    spec = loaded(2).spec
    cluster = Cluster.build(ClusterSpec(kafka, "zookeeper", spec.brokers, spec.topics, network=spec.network), 1)
    cluster.run(50 * SECOND)
    cluster.pause(3)
    cluster.run(50 * SECOND + cluster.plane.session_us // 2)
    shrunk = [event for event in cluster.drain() if event.kind == "isr_changed"]
    assert shrunk == []
    for partition in ("load-0", "load-1"):
        leadership = cluster.cluster_state.replica(partition, cluster.query.leader(partition)).leadership
        if leadership is not None and 3 in leadership.remotes:
            remote = leadership.remotes[3]
            remote.settle()
            assert 49 * SECOND < remote.last_fetch <= 50 * SECOND + SECOND // 100


def test_a_batch_of_many_records_is_kept_as_one() -> None:
    few, many = loaded(12, batch=1, partition=0), loaded(12, batch=100, partition=0)
    for cluster in (few, many):
        cluster.run(3 * SECOND)
    kept = [
        sum(sum(epoch_branches.save()) for epoch_branches in cluster.epoch_branches.values()) for cluster in (few, many)
    ]
    assert kept[0] == kept[1]


@pytest.mark.slow
def test_batches_of_a_deposed_leader_cost_constant_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cut off from everybody but its clients it goes on for as long as they do."""
    looked = [0]

    def counted(ranges: Iterable[Range]) -> list[Range]:
        ranges = list(ranges)
        looked[0] += len(ranges)
        return union(ranges)

    monkeypatch.setattr(ledger, "union", counted)
    session = start_session(load(bundled.path_of("split-leader")))
    session.advance(40 * SECOND)
    lost = session.cluster.query.missing("clicks")
    assert lost > 2_000
    assert looked[0] < 10 * lost
