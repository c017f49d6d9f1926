"""Kafka's configurations: names, types, ranges, and the defaults of each version."""

from dataclasses import fields

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.producer.config import Era, ProducerConfig
from cluster_model.clients.producer.partitioners import PartitionerConfig
from cluster_model.protocol.config_defs import (
    BROKER,
    CONSUMER,
    INT_MAX,
    LONG_MAX,
    PRODUCER,
    SCOPES,
    TOPIC,
    ConfigKey,
    ConfigValue,
    Scope,
    check,
)
from cluster_model.protocol.configs import BrokerConfig, ConsumerConfig, LogRules, TopicConfig
from cluster_model.protocol.errors import ConfigConflictError, ModelError
from cluster_model.protocol.records import CODECS, Codec
from cluster_model.protocol.versions import Profile

SECOND, MINUTE = 1_000_000, 60_000_000
ALL_KEYS = [(scope, key) for scope, table in SCOPES.items() for key in table.values()]
OTHER_NAMES = {
    "flush.messages": "log.flush.interval.messages",
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


@pytest.mark.parametrize("wrong", ["10", 1.5, True, None, [1], "ten"])
@pytest.mark.parametrize(("scope", "key"), INTS, ids=ids)
def test_nothing_but_a_whole_number_will_do_for_one(scope: Scope, key: ConfigKey, wrong: object) -> None:
    with pytest.raises(ModelError) as caught:
        check(scope, key.name, wrong)
    assert caught.value.code == "not_a_whole_number"
    assert str(caught.value).startswith(f"{key.name} ")
    assert str(caught.value).endswith(f" {wrong!r}")


@pytest.mark.parametrize("wrong", [-1, "10"])
def test_what_is_told_of_a_number_that_will_not_do(wrong: object, snapshot: SnapshotAssertion) -> None:
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
    profile = Profile.of("3.9")
    before, after = BrokerConfig.of(profile, {}), BrokerConfig.of(profile, {name: 7_000})
    changed = {f.name for f in fields(BrokerConfig) if getattr(before, f.name) != getattr(after, f.name)}
    assert getattr(after, field) == expected
    assert changed - {"shrink_period_us"} == {field}


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
def test_a_selector_goes_by_its_class_with_or_without_its_package(name: str, aware: bool) -> None:
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
    assert TopicConfig.of(profile, broker, {}) == TopicConfig(2, unclean=True, log=LogRules(flush_messages=50))
    topic: dict[str, ConfigValue] = {
        "min.insync.replicas": 3,
        "unclean.leader.election.enable": False,
        "flush.messages": 1,
    }
    assert TopicConfig.of(profile, broker, topic) == TopicConfig(3, unclean=False, log=LogRules(flush_messages=1))


@pytest.mark.parametrize(("version", "effective"), [("3.6", 3), ("3.7", 2)])
def test_since_3_7_min_insync_replicas_is_at_most_the_number_of_replicas(version: str, effective: int) -> None:
    profile = Profile.of(version)
    config = TopicConfig.of(profile, {}, {"min.insync.replicas": 3})
    assert config.effective_min_isr(profile, 2) == effective
    assert config.effective_min_isr(profile, 5) == 3


# --- producers ------------------------------------------------------------------------------------------------------


def producer(version: str, **settings: ConfigValue) -> ProducerConfig:
    config = {name.replace("_", "."): value for name, value in settings.items()}
    return ProducerConfig.of(Profile.of(version), config)


@pytest.mark.parametrize(
    ("version", "acks", "retries", "linger_us", "idempotent"),
    [
        ("0.8.2", 1, 0, 0, False),
        ("0.11", 1, 0, 0, False),
        ("2.0", 1, 0, 0, False),
        ("2.1", 1, INT_MAX, 0, False),
        ("2.8", 1, INT_MAX, 0, False),
        ("3.0", -1, INT_MAX, 0, True),
        ("3.9", -1, INT_MAX, 0, True),
        ("4.0", -1, INT_MAX, 5_000, True),
        ("4.1", -1, INT_MAX, 5_000, True),
    ],
)
def test_a_producers_defaults_by_era(version: str, acks: int, retries: int, linger_us: int, idempotent: bool) -> None:
    config = producer(version)
    assert (config.acks, config.retries, config.linger_us, config.idempotent) == (acks, retries, linger_us, idempotent)


def test_a_producers_defaults_that_stay() -> None:
    config = producer("3.9")
    assert config.request_timeout_us == 30 * SECOND
    assert config.delivery_timeout_us == 2 * MINUTE
    assert config.max_in_flight == 5
    assert config.batch_bytes == 16_384
    assert config.metadata_age_us == 5 * MINUTE


@pytest.mark.parametrize(("version", "longest_us"), [("3.6", 100_000), ("3.7", SECOND), ("4.1", SECOND)])
def test_pauses_between_retries_grow_since_3_7(version: str, longest_us: int) -> None:
    config = producer(version)
    assert (config.backoff_us, config.backoff_max_us) == (100_000, longest_us)


def test_the_longest_pause_is_not_heard_of_before_3_7() -> None:
    assert producer("3.6", retry_backoff_max_ms=9_000).backoff_max_us == 100_000
    assert producer("3.7", retry_backoff_max_ms=9_000).backoff_max_us == 9 * SECOND


CONFLICTS: list[tuple[str, ConfigValue, str]] = [
    ("acks", "1", "acks"),
    ("acks", "0", "acks"),
    ("retries", 0, "retries"),
    ("max_in_flight_requests_per_connection", 6, "max.in.flight.requests.per.connection"),
]
"""A setting by its name here, a value that rules idempotence out, and Kafka's name of the setting."""


@pytest.mark.parametrize(("name", "value", "key"), CONFLICTS)
def test_idempotence_by_default_gives_way_to_what_rules_it_out(name: str, value: ConfigValue, key: str) -> None:
    assert key in PRODUCER
    assert not producer("3.9", **{name: value}).idempotent


@pytest.mark.parametrize(("name", "value", "key"), CONFLICTS)
def test_idempotence_that_was_asked_for_does_not(
    name: str, value: ConfigValue, key: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(ConfigConflictError) as caught:
        producer("3.9", enable_idempotence=True, **{name: value})
    assert (caught.value.code, caught.value.key) == ("conflicts_with_idempotence", key)
    assert str(caught.value) == snapshot


def test_idempotence_can_be_switched_off() -> None:
    assert not producer("3.9", enable_idempotence=False).idempotent


def test_five_in_flight_and_one_retry_are_enough_for_idempotence() -> None:
    assert producer("3.9", enable_idempotence=True, retries=1, max_in_flight_requests_per_connection=5).idempotent


def test_idempotence_exists_since_0_11(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        producer("0.10.2", enable_idempotence=True, acks="all", retries=3)
    assert caught.value.code == "not_in_version"
    assert str(caught.value) == snapshot
    assert producer("0.11", enable_idempotence=True).idempotent


@pytest.mark.parametrize(("version", "in_flight"), [("0.11", 1), ("1.0", 5), ("2.8", 5), ("4.1", 5)])
def test_who_asks_for_idempotence_gets_the_defaults_that_it_needs(
    version: str, in_flight: int, snapshot: SnapshotAssertion
) -> None:
    config = producer(version, enable_idempotence=True)
    assert (config.acks, config.retries, config.max_in_flight) == (-1, INT_MAX, in_flight)
    with pytest.raises(ModelError) as caught:
        producer(version, enable_idempotence=True, acks="1")
    assert caught.value.code == "conflicts_with_idempotence"
    assert str(caught.value) == snapshot


def test_in_0_11_idempotence_takes_one_request_in_flight_only(snapshot: SnapshotAssertion) -> None:
    wanted = {"enable_idempotence": True, "max_in_flight_requests_per_connection": 2}
    with pytest.raises(ModelError) as caught:
        producer("0.11", **wanted)
    assert caught.value.code == "conflicts_with_idempotence"
    assert str(caught.value) == snapshot
    assert producer("1.0", **wanted).max_in_flight == 2


def test_a_delivery_timeout_is_refused_where_there_is_none(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ConfigConflictError) as caught:
        producer("2.0", delivery_timeout_ms=120_000)
    assert caught.value.code == "not_in_version"
    assert str(caught.value) == snapshot
    assert producer("2.0", client_version="2.1", delivery_timeout_ms=120_000).delivery_timeout_us == 120 * SECOND


def test_since_4_0_more_than_five_in_flight_are_an_error_even_where_idempotence_is_only_the_default(
    snapshot: SnapshotAssertion,
) -> None:
    with pytest.raises(ConfigConflictError) as caught:
        producer("4.0", max_in_flight_requests_per_connection=6)
    assert caught.value.code == "conflicts_with_idempotence"
    assert str(caught.value) == snapshot
    assert caught.value.key == "max.in.flight.requests.per.connection"
    assert not producer("4.0", max_in_flight_requests_per_connection=6, enable_idempotence=False).idempotent
    assert not producer("4.0", acks="1").idempotent


@pytest.mark.parametrize("version", ["3.0", "3.1"])
def test_the_first_patches_of_3_0_and_3_1_are_idempotent_only_if_told_to(version: str) -> None:
    assert producer(version).idempotent
    first = producer(version, client_version=f"{version}.0")
    assert (first.acks, first.idempotent) == (-1, False)
    assert producer(version, client_version=f"{version}.0", enable_idempotence=True).idempotent


def test_a_client_has_the_defaults_of_its_own_version() -> None:
    old = producer("4.1", client_version="2.0")
    assert (old.acks, old.retries, old.linger_us, old.idempotent, old.backoff_max_us) == (1, 0, 0, False, 100_000)
    new = producer("2.0", client_version="4.1")
    assert (new.acks, new.retries, new.linger_us, new.idempotent, new.backoff_max_us) == (
        -1, INT_MAX, 5_000, True, SECOND
    )  # fmt: skip


def test_brokers_before_0_11_know_no_idempotence(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ConfigConflictError) as caught:
        producer("0.10.2", client_version="3.9")
    assert caught.value.code == "not_in_version"
    assert str(caught.value) == snapshot
    assert not producer("0.10.2", client_version="3.9", enable_idempotence=False).idempotent


def test_a_delivery_timeout_too_short_is_refused_if_given_and_raised_if_not(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ConfigConflictError) as caught:
        producer("3.9", delivery_timeout_ms=30_009, linger_ms=10)
    assert (caught.value.code, caught.value.key) == ("delivery_timeout_too_short", "delivery.timeout.ms")
    assert str(caught.value) == snapshot
    assert producer("3.9", delivery_timeout_ms=30_010, linger_ms=10).delivery_timeout_us == 30_010_000
    assert producer("3.9", request_timeout_ms=130_000, linger_ms=10).delivery_timeout_us == 130_010_000


@pytest.mark.parametrize(
    ("version", "fencing", "bumps"),
    [
        ("2.3", "none", False),
        ("2.4", "none", False),
        ("2.5", "generation", True),
        ("3.2", "generation", True),
        ("3.3", "generation", True),
        ("3.6", "verified", True),
        ("4.0", "transactions 2", True),
    ],
)
def test_what_else_changed_with_the_era(version: str, fencing: str, bumps: bool) -> None:
    era = Era.of(version)
    assert (era.offset_fencing, era.bumps_epoch) == (fencing, bumps)


PRODUCER_FIELDS: dict[str, tuple[ConfigValue, str, int | bool | str | Codec | Era | PartitionerConfig]] = {
    "acks": ("1", "acks", 1),
    "retries": (7, "retries", 7),
    "retry.backoff.ms": (7, "backoff_us", 7_000),
    "retry.backoff.max.ms": (7, "backoff_max_us", 7_000),
    "request.timeout.ms": (7, "request_timeout_us", 7_000),
    "delivery.timeout.ms": (70_000, "delivery_timeout_us", 70 * SECOND),
    "max.in.flight.requests.per.connection": (2, "max_in_flight", 2),
    "linger.ms": (7, "linger_us", 7_000),
    "compression.type": ("lz4", "codec", CODECS["lz4"]),
    "batch.size": (7, "batch_bytes", 7),
    "enable.idempotence": (False, "idempotent", False),
    "metadata.max.age.ms": (7, "metadata_age_us", 7_000),
    "metadata.max.idle.ms": (7_000, "metadata_idle_us", 7 * SECOND),
    "max.request.size": (7, "request_bytes", 7),
    "buffer.memory": (7, "memory_bytes", 7),
    "max.block.ms": (7, "block_us", 7_000),
    "client.version": ("3.8", "era", Era.of("3.8")),
    "transactional.id": ("tx", "transactional_id", "tx"),
    "transaction.timeout.ms": (7, "transaction_timeout_us", 7_000),
    "partitioner.class": ("DefaultPartitioner", "partitioner", PartitionerConfig("DefaultPartitioner")),
    "partitioner.ignore.keys": (True, "partitioner", PartitionerConfig(ignore_keys=True)),
    "partitioner.adaptive.partitioning.enable": (False, "partitioner", PartitionerConfig(adaptive=False)),
    "partitioner.availability.timeout.ms": (7, "availability_us", 7_000),
}


@pytest.mark.parametrize("name", PRODUCER)
def test_a_producer_setting_changes_its_own_field(name: str) -> None:
    value, field, expected = PRODUCER_FIELDS[name]
    before, after = ProducerConfig.of(Profile.of("3.9"), {}), ProducerConfig.of(Profile.of("3.9"), {name: value})
    changed = {f.name for f in fields(ProducerConfig) if getattr(before, f.name) != getattr(after, f.name)}
    assert getattr(after, field) == expected
    assert changed - ({"idempotent"} if name == "acks" else set()) == {field}


CONSUMER_FIELDS: dict[str, tuple[ConfigValue, str, int | bool | str]] = {
    "fetch.max.wait.ms": (7, "fetch_wait_us", 7_000),
    "max.partition.fetch.bytes": (7, "fetch_bytes", 7),
    "max.poll.records": (7, "max_poll_records", 7),
    "fetch.min.bytes": (7, "fetch_min_bytes", 7),
    "fetch.max.bytes": (7, "fetch_max_bytes", 7),
    "auto.offset.reset": ("earliest", "reset", "earliest"),
    "request.timeout.ms": (7, "request_timeout_us", 7_000),
    "retry.backoff.ms": (7, "backoff_us", 7_000),
    "metadata.max.age.ms": (7, "metadata_age_us", 7_000),
    "client.rack": ("b", "rack", "b"),
    "isolation.level": ("read_committed", "committed_only", True),
    "check.crcs": (False, "check_crcs", False),
}

MEMBER_FIELDS: dict[str, tuple[ConfigValue, str, int | bool | str | tuple[str, ...]]] = {
    "session.timeout.ms": (7_000, "session_us", 7 * SECOND),
    "heartbeat.interval.ms": (7, "heartbeat_us", 7_000),
    "max.poll.interval.ms": (7, "max_poll_us", 7_000),
    "enable.auto.commit": (False, "auto_commit", False),
    "auto.commit.interval.ms": (7, "auto_commit_us", 7_000),
    "default.api.timeout.ms": (7, "api_timeout_us", 7_000),
    "partition.assignment.strategy": ("RoundRobinAssignor, range", "assignors", ("roundrobin", "range")),
}


PROTOCOL_FIELDS = ("group.protocol", "group.remote.assignor")


@pytest.mark.parametrize("name", [*MEMBER_FIELDS, "group.instance.id"])
def test_a_members_setting_changes_its_own_field(name: str) -> None:
    profile = Profile.of("3.9")
    before = GroupSettings.of(profile, {})
    if name == "group.instance.id":
        assert GroupSettings.of(profile, {}, "a").instance == "a"
        return
    value, field, expected = MEMBER_FIELDS[name]
    after = GroupSettings.of(profile, {name: check("consumer", name, value)})
    changed = {f.name for f in fields(GroupSettings) if getattr(before, f.name) != getattr(after, f.name)}
    assert getattr(after, field) == expected
    assert changed == {field} | ({"rebalance_us"} if name == "max.poll.interval.ms" else set())


@pytest.mark.parametrize(
    ("kafka", "session_us", "assignors", "own_thread", "version"),
    [
        ("0.9", 30 * SECOND, ("range",), False, 0),
        ("0.10.1", 10 * SECOND, ("range",), True, 1),
        ("2.2", 10 * SECOND, ("range",), True, 4),
        ("2.8", 10 * SECOND, ("range",), True, 5),
        ("3.0", 45 * SECOND, ("range", "cooperative-sticky"), True, 5),
        ("4.1", 45 * SECOND, ("range", "cooperative-sticky"), True, 9),
    ],
)
def test_a_members_defaults_by_version(
    kafka: str, session_us: int, assignors: tuple[str, ...], own_thread: bool, version: int
) -> None:
    found = GroupSettings.of(Profile.of(kafka), {})
    assert (found.session_us, found.assignors, found.own_thread, found.version) == (
        session_us, assignors, own_thread, version,
    )  # fmt: skip
    assert found.rebalance_us == (300 * SECOND if own_thread else session_us)
    assert not found.cooperative


def test_a_member_is_cooperative_if_all_its_assignors_are() -> None:
    of = {
        text: GroupSettings.of(Profile.of("3.9"), {"partition.assignment.strategy": text}).cooperative
        for text in ("CooperativeStickyAssignor", "cooperative-sticky,range")
    }
    assert list(of.values()) == [True, False]


@pytest.mark.parametrize(
    ("kafka", "config", "instance", "code"),
    [
        ("3.9", {"heartbeat.interval.ms": 9_000, "session.timeout.ms": 9_000}, "", "heartbeat_not_below_session"),
        ("2.2", {}, "a", "not_in_version"),
        (
            "4.0",
            {"group.protocol": "consumer", "session.timeout.ms": 9},
            "",
            "other_protocol",
        ),
        ("2.3", {"partition.assignment.strategy": "CooperativeStickyAssignor"}, "", "not_in_version"),
    ],
)
def test_a_member_that_cannot_be_is_refused(
    kafka: str, config: dict[str, ConfigValue], instance: str, code: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(ModelError) as caught:
        GroupSettings.of(Profile.of(kafka), config, instance)
    assert caught.value.code == code
    assert str(caught.value) == snapshot


@pytest.mark.parametrize("name", [name for name in CONSUMER if name in CONSUMER_FIELDS])
def test_a_consumer_setting_changes_its_own_field(name: str) -> None:
    value, field, expected = CONSUMER_FIELDS[name]
    profile = Profile.of("3.9")
    before, after = ConsumerConfig.of(profile, {}), ConsumerConfig.of(profile, {name: value})
    changed = {f.name for f in fields(ConsumerConfig) if getattr(before, f.name) != getattr(after, f.name)}
    assert getattr(after, field) == expected
    assert changed == {field}


def test_every_consumer_setting_is_somebodys() -> None:
    assert set(CONSUMER) == {*CONSUMER_FIELDS, *MEMBER_FIELDS, *PROTOCOL_FIELDS, "group.instance.id"}


def test_a_consumers_defaults() -> None:
    assert ConsumerConfig.of(Profile.of("3.9"), {}) == ConsumerConfig(
        fetch_wait_us=SECOND // 2,
        fetch_bytes=1_048_576,
        fetch_min_bytes=1,
        fetch_max_bytes=52_428_800,
        max_poll_records=500,
        reset="latest",
        request_timeout_us=30 * SECOND,
        backoff_us=100_000,
        metadata_age_us=5 * MINUTE,
    )


def test_a_fetch_has_no_limit_in_all_before_kip_74() -> None:
    assert ConsumerConfig.of(Profile.of("0.10.0"), {"fetch.max.bytes": 7}).fetch_max_bytes == 0
    assert ConsumerConfig.of(Profile.of("0.10.1"), {"fetch.max.bytes": 7}).fetch_max_bytes == 7


@pytest.mark.parametrize(
    ("version", "settings", "code"),
    [
        ("2.3", {"partitioner.class": "RoundRobinPartitioner"}, "not_in_version"),
        ("4.0", {"partitioner.class": "UniformStickyPartitioner"}, "not_in_version"),
        ("3.2", {"partitioner.ignore.keys": True}, "not_in_version"),
        ("3.2", {"partitioner.adaptive.partitioning.enable": False}, "not_in_version"),
        ("2.8", {"partitioner.availability.timeout.ms": 1}, "not_in_version"),
    ],
)
def test_a_partitioner_that_the_producers_version_lacks_is_refused(
    version: str, settings: dict[str, ConfigValue], code: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(ConfigConflictError) as caught:
        ProducerConfig.of(Profile.of("3.9"), {"client.version": version, **settings})
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert caught.value.key == next(iter(settings))
