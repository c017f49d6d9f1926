"""``coordinator(GROUP)``: who leads the partition of ``__consumer_offsets`` now, and who cannot be asked for."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import (
    OFFSETS,
    TRANSACTIONS,
    BrokerSpec,
    ClusterSpec,
    GroupSpec,
    ProducerSpec,
    TopicSpec,
    coordinator_partition,
)
from faults.declarations.targets import SELECTORS, Selector, SelectorError, parse, resolve
from tests.faults.rigs import SECOND, board_of, busy_cluster, inject

GROUPS = ("billing", "audits", "shipping.v2", "a/b")


def cluster_of(kafka: str = "3.9", mode: str = "kraft", *, brokers: int = 3, partitions: int = 7) -> Cluster:
    config: dict[str, Any] = {"offsets.topic.num.partitions": partitions}
    groups = tuple(GroupSpec(name, ("orders",)) for name in GROUPS)
    ids = tuple(BrokerSpec(number) for number in range(1, brokers + 1))
    topics = (TopicSpec("orders", 1, 1),)
    return Cluster.build(ClusterSpec(kafka, mode, ids, topics, groups=groups, config=config), 7)


@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper"), ("0.8.2", "zookeeper")])
@pytest.mark.parametrize("group", GROUPS)
def test_it_is_the_leader_of_the_groups_partition(kafka: str, mode: str, group: str) -> None:
    cluster = cluster_of(kafka, mode)
    leader = cluster.query.leader(f"{OFFSETS}-{coordinator_partition(group, 7)}")
    assert resolve(f"coordinator({group})", cluster) == [leader]


def test_groups_have_different_ones() -> None:
    cluster = cluster_of()
    assert len({resolve(f"coordinator({group})", cluster)[0] for group in GROUPS}) > 1


def test_the_partitions_that_there_are_count() -> None:
    for partitions in (1, 5, 50):
        cluster = cluster_of(partitions=partitions)
        name = f"{OFFSETS}-{coordinator_partition('billing', partitions)}"
        assert resolve("coordinator(billing)", cluster) == [cluster.query.leader(name)]


def test_another_one_takes_over() -> None:
    cluster = cluster_of()
    board = board_of(cluster)
    cluster.run(SECOND)
    (before,) = resolve("coordinator(billing)", cluster)
    inject(board, "crash", "coordinator(billing)")
    cluster.run(15 * SECOND)
    assert not cluster.is_up(before)
    (after,) = resolve("coordinator(billing)", cluster)
    assert after != before
    assert cluster.is_up(after)
    assert resolve("coordinator(billing) + random(1, coordinator(billing))", cluster) == [after]


def test_the_coordinator_selector_is_empty_without_a_leader(snapshot: SnapshotAssertion) -> None:
    cluster = cluster_of()
    cluster.run(SECOND)
    for broker in cluster.brokers:
        cluster.crash(broker)
    cluster.run(20 * SECOND)
    with pytest.raises(SelectorError) as caught:
        resolve("coordinator(billing)", cluster)
    assert caught.value.code == "nobody"
    assert str(caught.value) == snapshot


def test_a_group_that_is_not_there_is_refused_with_those_that_are(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(SelectorError) as caught:
        resolve("broker(1) + coordinator(biling)", cluster_of())
    assert caught.value.code == "no_group"
    assert str(caught.value) == snapshot
    assert caught.value.column == 24


def test_without_the_topic_there_is_none(snapshot: SnapshotAssertion) -> None:
    """With fewer brokers than it wants replicas the topic is not made (KIP-115)."""
    with pytest.raises(SelectorError) as caught:
        resolve("coordinator(billing)", busy_cluster())
    assert caught.value.code == "no_coordinator"
    assert str(caught.value) == snapshot


def test_how_it_is_written() -> None:
    assert parse("coordinator(billing)") == Selector("coordinator", "billing")
    for wrong in ("coordinator", "coordinator()", "coordinator(a, b)"):
        with pytest.raises(SelectorError) as caught:
            parse(wrong)
        assert SELECTORS["coordinator"] in str(caught.value)


# --- of transactions ------------------------------------------------------------------------------------------------


def transactional(kafka: str = "3.9", brokers: int = 3) -> Cluster:
    config: dict[str, Any] = {"transaction.state.log.num.partitions": 7}
    producers = tuple(
        ProducerSpec(f"p{number}", "orders", 10_000, config={"transactional.id": f"tx-{number}"} if number else {})
        for number in range(6)
    )
    ids = tuple(BrokerSpec(number) for number in range(1, brokers + 1))
    topics = (TopicSpec("orders", 1, 1),)
    return Cluster.build(ClusterSpec(kafka, "kraft", ids, topics, producers, config=config), 7)


def test_that_of_a_producer_leads_the_partition_of_its_transactional_id() -> None:
    cluster = transactional()
    for number in range(1, 6):
        leader = cluster.query.leader(f"{TRANSACTIONS}-{coordinator_partition(f'tx-{number}', 7)}")
        assert resolve(f"transaction_coordinator(p{number})", cluster) == [leader]
    assert len({resolve(f"transaction_coordinator(p{number})", cluster)[0] for number in range(1, 6)}) > 1


def test_only_a_producer_with_an_id_has_one(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(SelectorError) as caught:
        resolve("transaction_coordinator(p0)", transactional())
    assert caught.value.code == "no_transactional_producer"
    assert str(caught.value) == snapshot
    with pytest.raises(SelectorError) as caught:
        resolve("transaction_coordinator(p1)", transactional(brokers=2))
    assert caught.value.code == "no_coordinator"
    assert str(caught.value) == snapshot
