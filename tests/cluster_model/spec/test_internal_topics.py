from dataclasses import replace

import pytest

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
    java_hash,
    with_internal_topics,
)

SECOND = 1_000_000


def spec(kafka: str, brokers: int, groups: int = 1, **config: int | str | bool) -> ClusterSpec:
    return ClusterSpec(
        kafka, None if kafka != "3.9" else "kraft", tuple(BrokerSpec(i + 1) for i in range(brokers)),
        (TopicSpec("orders", 2, min(3, brokers)),),
        groups=tuple(GroupSpec(f"g{i}", ("orders",)) for i in range(groups)), config=config,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kafka", "brokers", "config", "made"),
    [
        ("3.9", 3, {}, (50, 3)),
        ("3.9", 4, {"offsets.topic.num.partitions": 5, "offsets.topic.replication.factor": 4}, (5, 4)),
        ("3.9", 2, {}, None),
        ("0.11", 2, {}, None),
        ("0.10.2", 2, {}, (50, 2)),
        ("0.10.2", 5, {}, (50, 3)),
        ("3.9", 2, {"offsets.topic.replication.factor": 2}, (50, 2)),
    ],
)
def test_the_offsets_topic_is_made_by_the_rules_of_the_version(
    kafka: str, brokers: int, config: dict[str, int | str | bool], made: tuple[int, int] | None
) -> None:
    topics = {topic.name: topic for topic in with_internal_topics(spec(kafka, brokers, **config)).topics}
    topic = topics.get(OFFSETS)
    assert (None if topic is None else (topic.partitions, topic.replication)) == made
    if topic is not None:
        assert topic.config["cleanup.policy"] == "compact"


@pytest.mark.parametrize(
    ("kafka", "brokers", "config", "made"),
    [
        ("3.9", 3, {}, (50, 3, 2)),
        ("3.9", 2, {}, None),
        (
            "0.11", 2,
            {
                "transaction.state.log.num.partitions": 5, "transaction.state.log.replication.factor": 2,
                "transaction.state.log.min.isr": 1,
            },
            (5, 2, 1),
        ),
        ("0.10.2", 3, {}, None),
    ],
)  # fmt: skip
def test_the_transactions_topic_is_made_for_transactional_producers(
    kafka: str, brokers: int, config: dict[str, int | str | bool], made: tuple[int, int, int] | None
) -> None:
    plain = spec(kafka, brokers, groups=0, **config)
    assert TRANSACTIONS not in [topic.name for topic in with_internal_topics(plain).topics]
    producers = (ProducerSpec("pay", "orders", SECOND, config={"transactional.id": "pay"}),)
    found = {topic.name: topic for topic in with_internal_topics(replace(plain, producers=producers)).topics}
    topic = found.get(TRANSACTIONS)
    assert made == (
        None if topic is None else (topic.partitions, topic.replication, topic.config["min.insync.replicas"])
    )


def test_without_groups_there_is_none() -> None:
    assert with_internal_topics(spec("3.9", 3, groups=0)).topics == spec("3.9", 3, groups=0).topics


def test_it_has_leaders_of_its_own_which_move_when_a_broker_dies() -> None:
    cluster = Cluster.build(spec("3.9", 3, **{"offsets.topic.num.partitions": 6}), 5)
    names = [f"{OFFSETS}-{index}" for index in range(6)]
    led = {name: cluster.query.leader(name) for name in names}
    assert sorted(set(led.values())) == [1, 2, 3]
    cluster.run(5 * SECOND)
    cluster.crash(2)
    cluster.run(20 * SECOND)
    for name in names:
        assert cluster.query.leader(name) != 2
        assert (cluster.query.leader(name) == led[name]) == (led[name] != 2)


@pytest.mark.parametrize(
    ("group", "hashed", "partition"),
    [
        ("", 0, 0),
        ("a", 97, 47),
        ("ab", 97 * 31 + 98, 5),
        ("\u00e9", 233, 33),
        ("group", 98629247, 47),
        ("my-group", -1906497762, 12),
        ("console-consumer-12345", 158455506, 6),
        ("payments", 1382682413, 13),
        ("test", 3556498, 48),
        ("billing", -109829509, 9),
        ("orders-service", 23943117, 17),
        # The only int without an absolute value: Kafka uses 0, where Python's abs would give partition 48.
        ("polygenelubricants", -(1 << 31), 0),
        ("DESIGNING WORKHOUSES", -(1 << 31), 0),
    ],
)
def test_a_groups_partition_is_javas_hash_of_its_id(group: str, hashed: int, partition: int) -> None:
    assert java_hash(group) == hashed
    assert coordinator_partition(group, 50) == partition


def test_a_character_beyond_sixteen_bits_counts_as_two() -> None:
    high, low = 0xD83D, 0xDE00
    assert java_hash("\U0001f600") == 31 * high + low
