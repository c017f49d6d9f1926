"""Kafka's configurations: names, types, ranges, and the defaults of each version."""

from dataclasses import fields

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.config_defs import (
    BROKER,
    LONG_MAX,
    SCOPES,
    TOPIC,
    ConfigKey,
    ConfigValue,
    Scope,
    check,
)
from cluster_model.protocol.configs import BrokerConfig, LogConfig, TopicConfig
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import Profile

SECOND, MINUTE = 1_000_000, 60_000_000
ALL_KEYS = [(scope, key) for scope, table in SCOPES.items() for key in table.values()]
OTHER_NAMES = {
    "flush.messages": "log.flush.interval.messages",
    "preallocate": "log.preallocate",
    "segment.bytes": "log.segment.bytes",
    "segment.ms": "log.roll.ms",
    "index.interval.bytes": "log.index.interval.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "retention.ms": "log.retention.ms",
    "retention.bytes": "log.retention.bytes",
    "flush.ms": "log.flush.interval.ms",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.difference.max.ms": "log.message.timestamp.difference.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "cleanup.policy": "log.cleanup.policy",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "message.timestamp.type": "log.message.timestamp.type",
}
"""Topic settings that go by another name where the broker gives the default (``ServerTopicConfigSynonyms``)."""
TOPIC_ONLY = {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}
INTS = [(scope, key) for scope, key in ALL_KEYS if key.type == "int"]


def ids(value: object) -> str:
    return value.name if isinstance(value, ConfigKey) else str(value)


@pytest.mark.slow
@pytest.mark.parametrize(("scope", "key"), INTS, ids=ids)
def test_whole_numbers_are_taken_within_their_range_only(scope: Scope, key: ConfigKey) -> None:
    assert check(scope, key.name, key.low) == key.low
    assert check(scope, key.name, key.high) == key.high
    for wrong in (key.low - 1, key.high + 1):
        with pytest.raises(ModelError) as caught:
            check(scope, key.name, wrong)
        assert caught.value.code == "out_of_range"
        told = str(caught.value).replace(",", "").split()
        assert {key.name, str(key.low), str(key.high)} < set(told)
        assert told[-1] == str(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["10", 1.5, True, None, [1], "ten"])
def test_nothing_but_a_whole_number_will_do_for_one(wrong: object) -> None:
    for scope, key in INTS:
        with pytest.raises(ModelError) as caught:
            check(scope, key.name, wrong)
        assert caught.value.code == "not_a_whole_number"
        assert str(caught.value).startswith(f"{key.name} ")
        assert str(caught.value).endswith(f" {wrong!r}")


@pytest.mark.parametrize("wrong", [-1, "10"])
def test_invalid_numbers_are_rejected(wrong: object, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        check("producer", "linger.ms", wrong)
    assert str(caught.value) == snapshot


@pytest.mark.parametrize(("given", "meant"), [(True, True), (False, False), ("true", True), ("false", False)])
def test_truth_values_may_be_written_as_kafka_writes_them(given: object, meant: bool) -> None:
    assert check("topic", "unclean.leader.election.enable", given) is meant


@pytest.mark.parametrize("wrong", [1, 0, "yes", "True", None, []])
def test_nothing_else_is_a_truth_value(wrong: object, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        check("topic", "unclean.leader.election.enable", wrong)
    assert caught.value.code == "not_a_bool"
    assert str(caught.value) == snapshot


@pytest.mark.parametrize(
    ("given", "meant"), [("all", "all"), (-1, "all"), ("-1", "all"), (0, "0"), (1, "1"), ("1", "1"), ("0", "0")]
)
def test_acks_may_be_a_number_or_a_word(given: object, meant: str) -> None:
    assert check("producer", "acks", given) == meant


@pytest.mark.parametrize("wrong", [2, -2, "ALL", "quorum", True, False, None])
def test_other_acks_are_refused(wrong: object, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        check("producer", "acks", wrong)
    assert caught.value.code == "not_a_choice"
    assert str(caught.value) == snapshot


def test_minus_one_means_all_for_acks_alone(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        check("consumer", "auto.offset.reset", -1)
    assert caught.value.code == "wrong_form"
    assert str(caught.value) == snapshot


@pytest.mark.parametrize(
    ("scope", "name", "hint"),
    [
        ("broker", "replica.lag.time.max", "replica.lag.time.max.ms?"),
        ("broker", "min.insync.replica", "min.insync.replicas?"),
        ("producer", "retry.backof.ms", "retry.backoff.ms?"),
        ("producer", "linger", "linger.ms?"),
        ("topic", "acks", "producer"),
        ("producer", "min.insync.replicas", "broker"),
        ("consumer", "linger.ms", "producer"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_or_with_its_place(
    scope: Scope, name: str, hint: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(ModelError) as caught:
        check(scope, name, 1)
    assert caught.value.code == "no_config"
    assert hint in str(caught.value).partition(";")[2].split()
    assert str(caught.value) == snapshot


def test_a_name_like_no_other_is_refused_without_a_guess(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        check("topic", "zzz", 1)
    assert caught.value.code == "no_config"
    assert str(caught.value) == snapshot


@pytest.mark.slow
@pytest.mark.parametrize(("scope", "key"), ALL_KEYS, ids=ids)
def test_every_key_is_described(scope: Scope, key: ConfigKey) -> None:
    assert SCOPES[scope][key.name] is key
    assert key.doc.endswith(".")
    assert (key.type == "str") == bool(key.choices or (key.pattern and key.form))
    assert key.low <= key.high


def test_topic_settings_can_be_given_to_the_broker_too() -> None:
    for name in TOPIC:
        if name in TOPIC_ONLY:
            continue
        assert OTHER_NAMES.get(name, name) in BROKER, name


# --- defaults -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "lag_s", "shrink_ms"),
    [("0.8.2", 10, 10_000), ("0.10.1", 10, 10_000), ("0.10.2", 10, 5_000), ("2.4", 10, 5_000), ("2.5", 30, 15_000)],
)
def test_lag_time_and_the_period_of_the_shrink_task(version: str, lag_s: int, shrink_ms: int) -> None:
    config = BrokerConfig.of(Profile.of(version), {})
    assert (config.lag_time_us, config.shrink_period_us) == (lag_s * SECOND, shrink_ms * 1_000)


@pytest.mark.parametrize(
    ("version", "mode", "session_s"),
    [
        ("0.9", "zookeeper", 6),
        ("2.4", "zookeeper", 6),
        ("2.5", "zookeeper", 18),
        ("3.9", "zookeeper", 18),
        ("3.3", "kraft", 9),
        ("4.1", "kraft", 9),
    ],
)
def test_sessions_last_as_long_as_the_version_says(version: str, mode: str, session_s: int) -> None:
    config = BrokerConfig.of(Profile.of(version, mode), {})
    assert config.session_us == session_s * SECOND
    assert config.heartbeat_us == (2 * SECOND if mode == "kraft" else session_s * SECOND // 3)


@pytest.mark.parametrize("version", ["0.8.2", "2.4", "3.9", "4.1"])
def test_defaults_that_never_changed(version: str) -> None:
    config = BrokerConfig.of(Profile.of(version), {})
    assert config.lag_messages == 4_000
    assert config.fetch_wait_us == SECOND // 2
    assert config.fetch_bytes == 1_048_576
    assert config.fetch_backoff_us == SECOND
    assert config.socket_timeout_us == 30 * SECOND
    assert config.hw_checkpoint_us == 5 * SECOND


def test_each_mode_listens_to_its_own_session_settings() -> None:
    settings: dict[str, ConfigValue] = {
        "broker.session.timeout.ms": 4_000,
        "broker.heartbeat.interval.ms": 700,
        "zookeeper.session.timeout.ms": 12_000,
    }
    kraft = BrokerConfig.of(Profile.of("3.9", "kraft"), settings)
    zookeeper = BrokerConfig.of(Profile.of("3.9", "zookeeper"), settings)
    assert (kraft.session_us, kraft.heartbeat_us) == (4 * SECOND, 700_000)
    assert (zookeeper.session_us, zookeeper.heartbeat_us) == (12 * SECOND, 4 * SECOND)


def test_the_shrink_period_follows_the_lag_time_that_is_set() -> None:
    config = BrokerConfig.of(Profile.of("3.9"), {"replica.lag.time.max.ms": 8_000})
    assert (config.lag_time_us, config.shrink_period_us) == (8 * SECOND, 4 * SECOND)


BROKER_FIELDS = {
    "replica.lag.time.max.ms": ("lag_time_us", 7_000_000),
    "replica.lag.max.messages": ("lag_messages", 7_000),
    "replica.fetch.wait.max.ms": ("fetch_wait_us", 7_000_000),
    "replica.fetch.max.bytes": ("fetch_bytes", 7_000),
    "fetch.max.bytes": ("fetch_max_bytes", 7_000),
    "replica.fetch.backoff.ms": ("fetch_backoff_us", 7_000_000),
    "replica.socket.timeout.ms": ("socket_timeout_us", 7_000_000),
    "replica.high.watermark.checkpoint.interval.ms": ("hw_checkpoint_us", 7_000_000),
    "broker.heartbeat.interval.ms": ("heartbeat_us", 7_000_000),
    "broker.session.timeout.ms": ("session_us", 7_000_000),
    "log.initial.task.delay.ms": ("task_delay_us", 7_000_000),
    "log.retention.check.interval.ms": ("retention_check_us", 7_000_000),
    "log.flush.offset.checkpoint.interval.ms": ("recovery_checkpoint_us", 7_000_000),
    "log.flush.start.offset.checkpoint.interval.ms": ("start_checkpoint_us", 7_000_000),
    "num.recovery.threads.per.data.dir": ("recovery_threads", 7_000),
    "num.replica.fetchers": ("fetchers", 7_000),
    "max.incremental.fetch.session.cache.slots": ("session_slots", 7_000),
    "leader.replication.throttled.rate": ("leader_rate", 7_000),
    "follower.replication.throttled.rate": ("follower_rate", 7_000),
    "producer.id.expiration.ms": ("producer_expiry_us", 7_000_000),
}


@pytest.mark.parametrize("name", BROKER_FIELDS)
def test_a_broker_setting_changes_its_own_field(name: str) -> None:
    field, expected = BROKER_FIELDS[name]
    profile = Profile.of("0.8.2" if name == "replica.lag.max.messages" else "3.9")
    before, after = BrokerConfig.of(profile, {}), BrokerConfig.of(profile, {name: 7_000})
    changed = {f.name for f in fields(BrokerConfig) if getattr(before, f.name) != getattr(after, f.name)}
    assert getattr(after, field) == expected
    assert changed - {"shrink_period_us"} == {field}


@pytest.mark.parametrize(("version", "most"), [("2.4", 0), ("2.5", 57_671_680)])
def test_a_broker_bounds_every_fetch_since_2_5(version: str, most: int) -> None:
    assert BrokerConfig.of(Profile.of(version), {}).fetch_max_bytes == most


def test_a_broker_knows_its_defaults_for_fetching() -> None:
    config = BrokerConfig.of(Profile.of("3.9"), {})
    assert (config.fetchers, config.rack_aware, config.session_slots) == (1, False, 1_000)
    assert (config.leader_rate, config.follower_rate) == (LONG_MAX, LONG_MAX)


@pytest.mark.parametrize(
    ("name", "aware"),
    [
        ("org.apache.kafka.common.replica.RackAwareReplicaSelector", True),
        ("RackAwareReplicaSelector", True),
        ("org.apache.kafka.common.replica.LeaderSelector", False),
        ("LeaderSelector", False),
    ],
)
def test_a_replica_selector_is_named_with_or_without_its_package(name: str, aware: bool) -> None:
    value = check("broker", "replica.selector.class", name)
    assert BrokerConfig.of(Profile.of("3.9"), {"replica.selector.class": value}).rack_aware is aware


@pytest.mark.parametrize("given", ["*", "0:1", "0:1,12:3"])
def test_throttled_replicas_are_all_or_a_list(given: str) -> None:
    for side in ("leader", "follower"):
        name = f"{side}.replication.throttled.replicas"
        value = check("topic", name, given)
        config = TopicConfig.of(Profile.of("3.9"), {}, {name: value})
        assert (config.leader_throttled, config.follower_throttled) == (
            (given, "") if side == "leader" else ("", given)
        )


@pytest.mark.parametrize("wrong", ["", "1", "0:1,", "all", 1, True, None, "0:x"])
def test_anything_else_is_refused_with_the_form_it_takes(wrong: object, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        check("topic", "leader.replication.throttled.replicas", wrong)
    assert caught.value.code == "wrong_form"
    assert str(caught.value) == snapshot


@pytest.mark.parametrize(("version", "unclean"), [("0.8.2", True), ("0.10.2", True), ("0.11", False), ("4.1", False)])
def test_unclean_elections_were_the_default_until_0_10_2(version: str, unclean: bool) -> None:
    config = TopicConfig.of(Profile.of(version), {}, {})
    assert (config.unclean, config.min_isr, config.log.flush_messages) == (unclean, 1, LONG_MAX)


def test_a_topics_own_setting_beats_the_brokers_which_beats_the_versions() -> None:
    profile = Profile.of("3.9")
    broker: dict[str, ConfigValue] = {
        "min.insync.replicas": 2,
        "unclean.leader.election.enable": True,
        "log.flush.interval.messages": 50,
    }
    assert TopicConfig.of(profile, broker, {}) == TopicConfig(2, unclean=True, log=LogConfig(flush_messages=50))
    topic: dict[str, ConfigValue] = {
        "min.insync.replicas": 3,
        "unclean.leader.election.enable": False,
        "flush.messages": 1,
    }
    assert TopicConfig.of(profile, broker, topic) == TopicConfig(3, unclean=False, log=LogConfig(flush_messages=1))


@pytest.mark.parametrize(("version", "effective"), [("3.6", 3), ("3.7", 2)])
def test_since_3_7_min_insync_replicas_is_at_most_the_number_of_replicas(version: str, effective: int) -> None:
    profile = Profile.of(version)
    config = TopicConfig.of(profile, {}, {"min.insync.replicas": 3})
    assert config.effective_min_isr(profile, 2) == effective
    assert config.effective_min_isr(profile, 5) == 3
