"""Multiple fetcher threads to a leader: assignment of partitions, and independence of the threads."""

from typing import Any

import pytest

from cluster_model.broker import request_handler
from cluster_model.broker.fetch.replica_fetcher import fetcher_id, fetcher_of, first_correlation, java_hash
from cluster_model.broker.request_handler import RequestHandler
from cluster_model.cluster import Cluster
from cluster_model.protocol.messages import FetchRequest
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.cluster_model.again import comes_out_again
from tests.support.breadth import covering_cases

pytestmark = pytest.mark.slow

SECOND = 1_000_000


# --- the formula ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99_162_322),
        ("orders", -1_008_770_331),
        ("polygenelubricants", -(2**31)),
        ("GydZG_", -(2**31)),
    ],
)
def test_strings_are_hashed_as_java_does(text: str, value: int) -> None:
    assert java_hash(text) == value


@pytest.mark.parametrize(
    ("partition", "fetchers", "index"),
    [
        ("orders-0", 1, 0),
        ("a-0", 4, 3),  # 31 * 97 = 3007
        ("a-1", 4, 0),
        ("a-6", 4, 1),
        ("my-topic-a-3", 1, 0),
        ("polygenelubricants-0", 7, 0),  # the only number without an absolute value
        ("polygenelubricants-1", 4, 3),  # 2**31 - 1
    ],
)
def test_a_partition_belongs_to_a_thread_by_the_hash_of_its_topic_and_its_number(
    partition: str, fetchers: int, index: int
) -> None:
    assert fetcher_id(partition, fetchers) == index


def test_a_negative_sum_is_made_positive_and_a_topics_own_dashes_are_part_of_it() -> None:
    total = 31 * java_hash("my-topic") + 2
    wrapped = (total + 2**31) % 2**32 - 2**31
    assert fetcher_id("my-topic-2", 5) == abs(wrapped) % 5


def test_correlations_show_thread_and_life() -> None:
    seen = {first_correlation(life, index) + count for life in (0, 1, 2) for index in (0, 1, 255) for count in (1, 9)}
    assert len(seen) == 18
    assert [fetcher_of(first_correlation(3, index) + 77) for index in (0, 1, 255)] == [0, 1, 255]


# --- in a cluster -----------------------------------------------------------------------------------------------------


def cluster(
    fetchers: int, *, partitions: int = 12, kafka: str = "3.9", acks: str = "all", each_us: int = 10_000
) -> Cluster:
    spec = ClusterSpec(
        kafka,
        "kraft" if kafka == "3.9" else "zookeeper",
        (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3)),
        (TopicSpec("orders", partitions, 3, ((1, 2, 3),) * partitions),),
        (ProducerSpec("p", "orders", each_us, 12, config={"acks": acks}, keys=1_000),),
        network=NetworkSpec(500, 200),
        config={"num.replica.fetchers": fetchers},
    )
    return Cluster.build(spec, 2)


@pytest.fixture
def fetches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, FetchRequest]]:
    found: list[tuple[int, FetchRequest]] = []
    original = RequestHandler.fetch

    def noted(self: RequestHandler, source: int, request: FetchRequest) -> None:
        found.append((source, request))
        original(self, source, request)

    monkeypatch.setattr(RequestHandler, "fetch", noted)
    return found


@pytest.mark.parametrize("fetchers", [1, 2, 3])
def test_each_thread_asks_for_its_own_partitions(fetchers: int, fetches: list[tuple[int, FetchRequest]]) -> None:
    found = cluster(fetchers)
    found.run(2 * SECOND)
    assert {request.fetcher for _source, request in fetches} == set(range(fetchers))
    for _source, request in fetches:
        for asked in request.partitions:
            assert fetcher_id(asked.partition, fetchers) == request.fetcher
            assert fetcher_of(request.correlation_id) == request.fetcher


def test_each_thread_has_one_request_under_way_and_a_session_of_its_own(
    fetches: list[tuple[int, FetchRequest]],
) -> None:
    found = cluster(3)
    found.run(2 * SECOND)
    delayed_request = [fetch.session for fetch in found.brokers[1].purgatory.fetches.values()]
    sources = [session.source for session in delayed_request if session is not None]
    assert len(sources) == len(set(sources))
    sessions = {
        (source, request.fetcher): request.session_id for source, request in fetches if request.session_epoch > 0
    }
    assert sorted(sessions) == [(source, index) for source in (2, 3) for index in (0, 1, 2)]
    assert len(set(sessions.values())) == 6


@pytest.mark.parametrize(("fetchers", "kafka"), covering_cases([1, 3], ["0.9", "2.0", "2.6", "3.9"]))
def test_replication_is_the_same_through_crashes_and_pauses(kafka: str, fetchers: int) -> None:
    found = cluster(fetchers, partitions=6, kafka=kafka, each_us=60_000)
    found.run(SECOND)
    found.crash(2)
    found.run(22 * SECOND)
    assert all(len(found.query.isr(name)) == 2 for name in found.cluster_state.records)
    found.restart(2)
    found.run(30 * SECOND)
    found.pause(3)
    found.run(35 * SECOND)
    found.resume(3)
    found.run(40 * SECOND)
    found.stop_producers()
    found.run(45 * SECOND)
    assert found.query.leo("orders-0") > 100
    for name in found.cluster_state.records:
        replicas = found.cluster_state.replicas[name].values()
        assert len({replica.log.leo for replica in replicas}) == 1
        assert len({replica.hw for replica in replicas}) == 1
        assert len(found.query.isr(name)) == 3


def test_a_thread_that_must_wait_holds_up_only_its_own_partitions() -> None:
    found = cluster(2, acks="1")
    found.run(2 * SECOND)
    mine = [
        fetcher for (leader, index), fetcher in found.brokers[2]._fetchers.running.items() if (leader, index) == (1, 0)
    ]
    for fetcher in mine:
        fetcher._outstanding = -1  # as if its response never came
    led = [name for name in found.cluster_state.records if found.query.leader(name) == 1]
    before = {name: found.cluster_state.replica(name, 2).log.leo for name in led}
    found.run(3 * SECOND)
    moved = {name: found.cluster_state.replica(name, 2).log.leo > before[name] for name in led}
    assert {fetcher_id(name, 2) for name, moves in moved.items() if moves} == {1}
    assert all(moves for name, moves in moved.items() if fetcher_id(name, 2) == 1)


@pytest.mark.parametrize("fetchers", [2, 3])
def test_a_keyframe_restores_every_thread(fetchers: int) -> None:
    found = cluster(fetchers)
    found.run(SECOND)
    assert comes_out_again(found, lambda it: it.run(3 * SECOND))


def test_slices_leave_no_mark() -> None:
    one, other = cluster(3), cluster(3)
    one.run(3 * SECOND)
    for step in range(1, 301):
        other.run(step * 10_000)
    assert one.digest() == other.digest()


def test_idle_threads_look_at_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    served = [0]
    original = request_handler.serve_fetch

    def counted(*args: Any, **options: Any) -> Any:
        served[0] += 1
        return original(*args, **options)

    monkeypatch.setattr(request_handler, "serve_fetch", counted)
    found = cluster(4, partitions=60)
    found.stop_producers()
    found.run(3 * SECOND)
    served[0] = 0
    found.run(10 * SECOND)
    assert served[0] == 0
