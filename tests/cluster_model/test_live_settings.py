"""Settings of topics and brokers that change while a cluster runs."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.log.segments import BY_SIZE
from cluster_model.protocol.config_defs import BROKER, TOPIC
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import (
    BrokerConfigChanged,
    LogCleaned,
    LogStartMoved,
    ProduceRefused,
    SegmentRolled,
    TopicConfigChanged,
)
from cluster_model.snapshots import pack, unpack
from tests.cluster_model.cluster_driver import ClusterDriver, new_driver, one_controller

SOON: dict[str, Any] = {"log.retention.check.interval.ms": 1_000, "log.initial.task.delay.ms": 500}


@pytest.fixture(autouse=True)
def _planes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster_model.cluster.make_plane", one_controller)


def configure(at: ClusterDriver, topic: str, **given: Any) -> None:
    """Commit a topic's settings, and tell every broker."""
    overrides = {name.replace("_", "."): value for name, value in given.items()}
    at.topics.configure(topic, overrides, at.cluster.now_us)
    for broker in at.cluster.brokers.values():
        broker.configure_topic(topic, overrides)


def refused(at: ClusterDriver) -> set[str]:
    return {event.error for event in at.cluster.drain() if isinstance(event, ProduceRefused)}


def test_min_isr_counts_from_the_next_produce_on() -> None:
    at = new_driver()
    at.run(1)
    at.decide("orders-0", isr=(1,))
    at.cluster.pause(2)
    at.cluster.pause(3)
    at.run(1)
    assert refused(at) == set()
    configure(at, "orders", min_insync_replicas=2)
    at.run(1)
    assert refused(at) == {"NOT_ENOUGH_REPLICAS"}
    assert at.cluster.cluster_state.effective_min_isr("orders-0") == 2
    assert at.cluster.cluster_state.effective_min_isr("base-0") == 1
    assert at.cluster.query.under_min_isr() == 1
    configure(at, "orders")
    at.cluster.drain()
    at.run(1)
    assert refused(at) == set()
    assert at.cluster.query.under_min_isr() == 0


def test_segments_and_retention_follow_a_topics_new_settings() -> None:
    at = new_driver(config=SOON)
    at.run(5)
    at.cluster.drain()
    configure(at, "orders", segment_bytes=4_000, retention_ms=2_000)
    (event,) = [event for event in at.cluster.drain() if isinstance(event, TopicConfigChanged)]
    assert (event.target, event.detail) == ("orders", "segment.bytes=4000, retention.ms=2000")
    at.run(5)
    events = at.cluster.drain()
    assert {event.broker for event in events if isinstance(event, SegmentRolled) and event.rule == BY_SIZE} == {1, 2, 3}
    assert {event.broker for event in events if isinstance(event, LogStartMoved)} == {1, 2, 3}
    assert at.cluster.query.log_start("orders-0") > 100
    assert at.cluster.query.acked_lost() == 0


def test_a_topic_that_is_compacted_from_now_on_finds_a_cleaner() -> None:
    at = new_driver(config={"log.cleaner.backoff.ms": 500, **SOON})
    at.run(3)
    configure(at, "orders", cleanup_policy="compact", segment_bytes=4_000, min_cleanable_dirty_ratio="0")
    assert at.replica("orders-0", 1).usual_size == 0
    at.run(2)
    cleaned = [event for event in at.cluster.drain() if isinstance(event, (LogCleaned, ProduceRefused))]
    assert isinstance(cleaned[0], ProduceRefused)  # its records have no keys
    assert cleaned[0].error == "INVALID_RECORD"
    configure(at, "orders", segment_bytes=4_000)
    at.cluster.drain()
    at.run(2)
    assert not any(isinstance(event, ProduceRefused) for event in at.cluster.drain()[200:])
    configure(at, "orders", cleanup_policy="compact", segment_bytes=4_000, min_cleanable_dirty_ratio="0")
    at.run(4)
    assert {event.broker for event in at.cluster.drain() if isinstance(event, LogCleaned)} == {1, 2, 3}


def test_replicas_that_come_later_have_the_settings_too() -> None:
    at = new_driver()
    configure(at, "orders", segment_bytes=5_000)
    at.decide("orders-0", replicas=(1, 2, 3, 4), adding=(4,))
    assert [replica.log.rules.segment_bytes for replica in at.cluster.cluster_state.replicas["orders-0"].values()] == [
        5_000
    ] * 4
    assert at.cluster.committed.records["orders-0"].topic_config.log.segment_bytes == 5_000
    at.delete("orders")
    at.create("orders", (1, 4))
    assert at.replica("orders-0", 4).log.rules.segment_bytes == 1 << 30


def test_a_policy_that_the_version_lacks_changes_nothing(snapshot: SnapshotAssertion) -> None:
    at = new_driver("0.9")
    with pytest.raises(ModelError) as caught:
        configure(at, "orders", cleanup_policy="compact,delete")
    assert caught.value.code == "not_in_version"
    assert str(caught.value) == snapshot
    with pytest.raises(ModelError) as caught:
        at.cluster.brokers[1].configure_topic("orders", {"cleanup.policy": "compact,delete"})
    assert caught.value.code == "not_in_version"
    assert str(caught.value) == snapshot
    assert not at.replica("orders-0", 1).log.rules.compact
    assert at.topics.overrides("orders") == {}
    with pytest.raises(ModelError) as caught:
        configure(at, "nothing")
    assert caught.value.code == "no_topic"
    assert str(caught.value) == snapshot


def test_each_broker_has_settings_of_its_own() -> None:
    at = new_driver(config=SOON)
    at.run(4)
    broker = at.cluster.brokers[2]
    assert broker.update_config({"log.segment.bytes": 4_000, "log.retention.ms": 1_000}) is KafkaError.NONE
    (event,) = [event for event in at.cluster.drain() if isinstance(event, BrokerConfigChanged)]
    assert (event.broker, event.detail) == (2, "log.segment.bytes=4000, log.retention.ms=1000")
    at.run(4)
    assert {event.broker for event in at.cluster.drain() if isinstance(event, LogStartMoved)} == {2}
    configure(at, "orders", segment_bytes=9_000)
    assert at.replica("orders-0", 2).log.rules.segment_bytes == 9_000
    assert at.replica("base-0", 2).log.rules.segment_bytes == 4_000
    assert broker.update_config({}) is KafkaError.NONE
    assert at.replica("base-0", 2).log.rules.segment_bytes == 1 << 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kafka", "given", "error"),
    [
        ("3.9", {"replica.lag.time.max.ms": 1}, KafkaError.INVALID_REQUEST),
        ("3.9", {"log.retention.hours": 1}, KafkaError.INVALID_REQUEST),
        ("3.9", {"log.retention.ms": 1, "replica.fetch.max.bytes": 9}, KafkaError.INVALID_REQUEST),
        ("3.9", {"log.retention.ms": "soon"}, KafkaError.INVALID_CONFIG),
        ("3.9", {"no.such.thing": 1}, KafkaError.INVALID_CONFIG),
        ("3.9", {"num.replica.fetchers": 3}, KafkaError.INVALID_REQUEST),
        ("3.9", {"num.replica.fetchers": 2}, KafkaError.NONE),
        ("1.1", {"log.retention.ms": 1}, KafkaError.NONE),
        ("1.0", {"log.retention.ms": 1}, KafkaError.INVALID_REQUEST),
        ("1.0", {"leader.replication.throttled.rate": 1}, KafkaError.NONE),
        ("0.10.0", {"leader.replication.throttled.rate": 1}, KafkaError.INVALID_REQUEST),
    ],
)
def test_broker_configs_that_are_dynamic(kafka: str, given: dict[str, Any], error: KafkaError) -> None:
    broker = new_driver(kafka).cluster.brokers[1]
    before = broker.save()
    assert broker.update_config(given) is error
    assert (broker.save() == before) is (error is not KafkaError.NONE)


def test_threads_may_be_halved_but_not_more() -> None:
    broker = new_driver(config={"num.replica.fetchers": 5}).cluster.brokers[1]
    assert broker.update_config({"num.replica.fetchers": 2}) is KafkaError.INVALID_REQUEST
    assert broker.update_config({"num.replica.fetchers": 3}) is KafkaError.NONE
    assert broker.update_config({"num.replica.fetchers": 7}) is KafkaError.INVALID_REQUEST
    assert broker.update_config({"num.replica.fetchers": 6}) is KafkaError.NONE


def test_more_fetcher_threads_redistribute_partitions() -> None:
    at = new_driver()
    at.create("late", *[(1, 2, 3)] * 6)
    at.run(1)
    follower = at.cluster.brokers[2]
    assert {index for _leader, index in follower._fetchers.running} == {0}
    assert follower.update_config({"num.replica.fetchers": 2}) is KafkaError.NONE
    assert {index for _leader, index in follower._fetchers.running} == {0, 1}
    assert all(
        sum(fetcher.has(f"late-{number}") for fetcher in follower._fetchers.running.values()) == 1
        for number in range(6)
    )
    at.run(3)
    assert at.cluster.query.under_replicated() == 0
    assert at.cluster.query.leo("orders-0") - at.cluster.query.leo("orders-0", 2) < 10


@pytest.mark.slow
def test_a_throttle_begins_and_ends() -> None:
    at = new_driver(config={"replica.fetch.max.bytes": 20_000})
    configure(at, "orders", leader_replication_throttled_replicas="0:1", follower_replication_throttled_replicas="*")
    at.run(1)
    at.cluster.pause(3)
    at.decide("orders-0", isr=(1, 2))
    at.run(20)
    at.cluster.resume(3)
    leader = at.cluster.brokers[1]
    assert leader.update_config({"leader.replication.throttled.rate": 1_000}) is KafkaError.NONE
    assert leader.leader_quota.active
    at.run(5)
    behind = at.cluster.query.leo("orders-0") - at.cluster.query.leo("orders-0", 3)
    assert behind > 500
    assert leader.update_config({}) is KafkaError.NONE
    at.run(5)
    assert at.cluster.query.leo("orders-0") - at.cluster.query.leo("orders-0", 3) < 20


@pytest.mark.slow
def test_keyframes_keep_the_settings_of_their_time() -> None:
    at = new_driver()
    at.run(1)
    early = pack(at.cluster.save())
    configure(at, "orders", min_insync_replicas=2, segment_bytes=5_000)
    at.cluster.brokers[3].update_config({"num.replica.fetchers": 2, "follower.replication.throttled.rate": 9_999})
    at.run(2)
    late = pack(at.cluster.save())
    at.run(2)
    end = at.cluster.digest()
    twin = ClusterDriver(at.cluster.twin())
    for packed, min_isr, segment, fetchers, active in (
        (late, 2, 5_000, 2, True), (early, 1, 1 << 30, 1, False), (late, 2, 5_000, 2, True),
    ):  # fmt: skip
        twin.cluster.load(unpack(packed)[0])
        replica, broker = twin.replica("orders-0", 3), twin.cluster.brokers[3]
        assert (replica.min_isr, replica.log.rules.segment_bytes) == (min_isr, segment)
        assert twin.cluster.committed.records["orders-0"].topic_config.min_isr == min_isr
        assert (broker._config.fetchers, broker.follower_quota.active) == (fetchers, active)
        assert broker.leader_quota.applies_to("orders-0", "*" if active else "", 3) is active
    twin.run(2)
    assert twin.cluster.digest() == end


def test_cluster_wide_defaults_count_for_the_truth_too() -> None:
    at = new_driver()
    at.topics.configure_brokers({"min.insync.replicas": 3})
    configure(at, "orders", min_insync_replicas=1)
    assert [at.cluster.cluster_state.effective_min_isr(name) for name in ("base-0", "orders-0")] == [3, 1]


def test_every_topic_setting_is_dynamic_and_every_broker_setting_says_whether_it_is() -> None:
    assert {key.dynamic for key in TOPIC.values()} == {"cluster-wide"}
    assert {key.name for key in BROKER.values() if key.dynamic == "per-broker"} == {
        "leader.replication.throttled.rate", "follower.replication.throttled.rate",
    }  # fmt: skip
    read_only = {key.name for key in BROKER.values() if key.dynamic == "read-only"}
    assert {"replica.lag.time.max.ms", "log.retention.hours", "log.cleaner.enable"} < read_only
    assert not {"log.retention.ms", "min.insync.replicas", "num.replica.fetchers"} & read_only
