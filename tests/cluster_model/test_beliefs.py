"""Who believes what: views and conditions beside what is decided, in a cluster that runs and in one by hand."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.manual.cluster import ManualCluster
from cluster_model.observation.views import BrokerView, PartitionView
from cluster_model.protocol.errors import ModelError
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec

SECOND = 1_000_000
MODES = [("3.9", "kraft"), ("2.8", "zookeeper"), ("1.1", "zookeeper")]


def spec(
    kafka: str = "3.9", mode: str = "kraft", *, manual: bool = False, combined: tuple[int, ...] = ()
) -> ClusterSpec:
    return ClusterSpec(
        kafka, mode, tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("orders", 2, 3, ((2, 1, 3), (3, 2, 1))),), manual=manual, combined=combined,
        config={"min.insync.replicas": 1},
    )  # fmt: skip


def running(kafka: str = "3.9", mode: str = "kraft") -> Cluster:
    cluster = Cluster.build(spec(kafka, mode), 3)
    cluster.run(2 * SECOND)
    return cluster


def broker_of(cluster: Cluster, broker: int) -> BrokerView:
    return next(each for each in cluster.view().brokers if each.id == broker)


def partition_of(cluster: Cluster, name: str) -> PartitionView:
    return next(each for each in cluster.view().partitions if each.name == name)


@pytest.mark.parametrize(("kafka", "mode"), MODES)
def test_brokers_of_a_healthy_cluster_have_current_metadata(kafka: str, mode: str) -> None:
    cluster = running(kafka, mode)
    query = cluster.query
    for view in cluster.view().partitions:
        assert view.beliefs == ()
        assert view.leaders == (view.leader,)
        assert not view.split
        assert query.leaders(view.name) == [view.leader]
        assert [query.believed_leader(view.name, broker) for broker in (1, 2, 3)] == [view.leader] * 3
    for broker in cluster.view().brokers:
        assert (broker.stale, broker.fenced, broker.shutting_down) == (0, False, False)
        assert broker.epoch >= 0
        assert broker.controller == query.controller()
    assert (query.fenced(), query.controller_epoch()) == (0, 1)


@pytest.mark.parametrize(("kafka", "mode"), MODES)
def test_a_leader_that_sleeps_through_its_successor_makes_a_split_view(kafka: str, mode: str) -> None:
    cluster = running(kafka, mode)
    query = cluster.query
    cluster.pause(2)
    while query.leader("orders-0") == 2:
        assert cluster.now_us < 40 * SECOND
        cluster.run(cluster.now_us + SECOND)
    cluster.run(cluster.now_us + SECOND)
    view = partition_of(cluster, "orders-0")
    assert view.leader == 1
    assert view.leaders == (1, 2)
    assert view.split
    assert query.leaders("orders-0") == [1, 2]
    assert [(each.broker, each.leader) for each in view.beliefs] == [(2, 2)]
    assert view.beliefs[0].leader_epoch < view.leader_epoch
    assert query.believed_leader("orders-0", 2) == 2
    assert query.believed_leader("orders-0", 3) == 1
    # Broker 2 was in the ISR of orders-1 too, and has not heard that it left it.
    assert query.stale(2) == broker_of(cluster, 2).stale == 2
    assert query.stale(1) == 0
    assert (query.fenced(), query.fenced(2), query.fenced(1)) == (1, 1, 0)
    assert broker_of(cluster, 2).fenced
    cluster.resume(2)
    cluster.run(cluster.now_us + 10 * SECOND)
    assert not partition_of(cluster, "orders-0").split
    assert (query.stale(2), query.fenced()) == (0, 0)


def test_a_stopped_broker_has_no_cached_metadata() -> None:
    cluster = running()
    cluster.crash(2)
    cluster.run(cluster.now_us + 20 * SECOND)
    assert cluster.query.stale(2) == 0
    assert cluster.query.believed_leader("orders-0", 2) == -1
    assert cluster.query.leaders("orders-0") == [1]
    assert partition_of(cluster, "orders-0").beliefs == ()
    assert broker_of(cluster, 2).controller == -1


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "mode"), MODES)
def test_a_controlled_shutdown_is_seen_while_it_lasts(kafka: str, mode: str) -> None:
    cluster = running(kafka, mode)
    cluster.shutdown(2)
    seen = False
    for _ in range(3_000):
        cluster.run(cluster.now_us + 1_000)
        seen = seen or broker_of(cluster, 2).shutting_down
        assert not broker_of(cluster, 1).shutting_down
    assert seen
    assert broker_of(cluster, 2).state == "down"


def test_a_new_controller_raises_the_epoch_and_the_brokers_learn_of_it() -> None:
    cluster = running()
    query = cluster.query
    assert (query.controller(), query.controllers()) == (1_001, 3)
    cluster.crash(1_001)
    cluster.run(cluster.now_us + 10 * SECOND)
    assert query.controller() in (1_002, 1_003)
    assert query.controllers() == 2
    assert query.controller_epoch() == cluster.view().controller_epoch > 1
    assert [broker.controller for broker in cluster.view().brokers] == [query.controller()] * 3


def test_brokers_that_are_controllers_are_counted_as_such() -> None:
    cluster = Cluster.build(spec(combined=(1, 2, 3)), 3)
    cluster.run(2 * SECOND)
    assert cluster.query.controllers() == 3
    cluster.crash(3)
    assert cluster.query.controllers() == 2


def test_asking_changes_nothing() -> None:
    asked, silent = running(), running()
    for cluster in (asked, silent):
        cluster.pause(2)
    for _ in range(20):
        asked.run(asked.now_us + SECOND)
        asked.view()
        asked.query.stale(2)
    silent.run(asked.now_us)
    assert asked.digest() == silent.digest()


@pytest.mark.parametrize("question", ["stale", "fenced"])
def test_a_broker_that_is_not_there_is_refused_by_name(question: str, snapshot: SnapshotAssertion) -> None:
    cluster = running()
    with pytest.raises(ModelError) as caught:
        getattr(cluster.query, question)(9)
    assert caught.value.code == "no_broker"
    assert str(caught.value) == snapshot
    with pytest.raises(ModelError) as caught:
        cluster.query.believed_leader("orders-0", 9)
    assert caught.value.code == "no_broker"
    assert str(caught.value) == snapshot
    with pytest.raises(ModelError) as caught:
        cluster.query.leaders("orders-9")
    assert caught.value.code == "no_partition"
    assert str(caught.value) == snapshot


# -- by hand --------------------------------------------------------------------------------------------------------


def test_by_hand_a_broker_knows_what_was_delivered_to_it() -> None:
    cluster = ManualCluster(spec(manual=True), 1)
    query = cluster.query
    assert [query.stale(broker) for broker in (1, 2, 3)] == [2, 2, 2]
    assert query.leaders("orders-0") == []
    for broker in (1, 2):
        for partition in ("orders-0", "orders-1"):
            assert cluster.act("deliver", {"broker": broker, "partition": partition}) == ""
    assert [query.stale(broker) for broker in (1, 2, 3)] == [0, 0, 2]
    assert cluster.act("elect", {"partition": "orders-0", "leader": 1}) == ""
    assert cluster.act("deliver", {"broker": 1, "partition": "orders-0"}) == ""
    assert query.leaders("orders-0") == [1, 2]
    assert query.believed_leader("orders-0", 2) == 2
    view = cluster.view()
    assert view.partitions[0].split
    assert [(each.broker, each.leader) for each in view.partitions[0].beliefs] == [(2, 2), (3, -1)]
    assert [broker.stale for broker in view.brokers] == [0, 1, 2]


def test_manual_steps_fence_brokers_and_always_have_a_controller() -> None:
    cluster = ManualCluster(spec(manual=True), 1)
    query = cluster.query
    assert (query.fenced(), query.controllers(), query.controller_epoch()) == (0, 1, 0)
    assert cluster.act("fence", {"broker": 3}) == ""
    assert (query.fenced(), query.fenced(3), query.fenced(1)) == (1, 1, 0)
    before = query.partition_epoch("orders-0")
    assert cluster.act("elect", {"partition": "orders-0", "leader": 1}) == ""
    assert query.partition_epoch("orders-0") == before + 1
    assert query.elr("orders-0") == []
