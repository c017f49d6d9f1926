"""Storage settings by scope and version, and the rules that depend on them: sizes, flushes, jitter."""

from itertools import pairwise
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.partition.producer_state_manager import batch_error, unchecked_size
from cluster_model.cluster import Cluster
from cluster_model.log.batch_store import BatchStore
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.segments import Segments
from cluster_model.protocol.config_defs import LONG_MAX, ConfigValue, check
from cluster_model.protocol.configs import DAY_US, NEVER, BrokerConfig, LogConfig, TopicConfig, log_rules, millionths
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import ProduceRefused
from cluster_model.protocol.messages import ProduceRequest
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec

E = KafkaError
SECOND = 1_000_000
HOUR = 3_600 * SECOND
P = "orders-0"
V39 = Profile.of("3.9")

BOTH: list[tuple[str, str, ConfigValue, str, object]] = [
    ("flush.ms", "log.flush.interval.ms", 7, "flush_us", 7_000),
    ("segment.jitter.ms", "log.roll.jitter.ms", 7, "jitter_us", 7_000),
    ("max.message.bytes", "message.max.bytes", 7, "max_message", 7),
    ("delete.retention.ms", "log.cleaner.delete.retention.ms", 7, "tombstone_us", 7_000),
    ("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms", 7, "min_lag_us", 7_000),
    ("max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms", 7, "max_lag_us", 7_000),
    ("min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio", "0.25", "min_dirty_ppm", 250_000),
]


@pytest.mark.parametrize(("topic", "broker", "value", "field", "expected"), BOTH)
def test_a_setting_is_the_topics_else_the_brokers(
    topic: str, broker: str, value: ConfigValue, field: str, expected: object
) -> None:
    other: ConfigValue = "0.75" if isinstance(value, str) else 99
    assert getattr(log_rules(V39, {}, {topic: value}), field) == expected
    assert getattr(log_rules(V39, {broker: value}, {}), field) == expected
    assert getattr(log_rules(V39, {broker: other}, {topic: value}), field) == expected
    changed = log_rules(V39, {}, {topic: value})
    plain = LogConfig()
    assert [name for name in LogConfig.__slots__ if getattr(changed, name) != getattr(plain, name)] == [field]


@pytest.mark.parametrize(
    ("policy", "compact", "delete"),
    [("delete", False, True), ("compact", True, False), ("compact,delete", True, True), ("delete,compact", True, True)],
)
def test_cleanup_policies(policy: str, compact: bool, delete: bool) -> None:
    for broker, topic in (({}, {"cleanup.policy": policy}), ({"log.cleanup.policy": policy}, {})):
        rules = log_rules(V39, broker, topic)
        assert (rules.compact, rules.delete) == (compact, delete)


def test_infinite_durations_stay_infinite() -> None:
    config: dict[str, ConfigValue] = {"flush.ms": LONG_MAX, "max.compaction.lag.ms": LONG_MAX, "segment.ms": LONG_MAX}
    rules = log_rules(V39, {"log.retention.ms": LONG_MAX}, config)
    assert {rules.flush_us, rules.max_lag_us, rules.roll_us, rules.retention_us} == {NEVER}


def test_hours_of_jitter_give_way_to_milliseconds() -> None:
    assert log_rules(V39, {"log.roll.jitter.hours": 2}, {}).jitter_us == 2 * HOUR
    assert log_rules(V39, {"log.roll.jitter.hours": 2, "log.roll.jitter.ms": 5}, {}).jitter_us == 5_000


def test_a_compacted_log_rolls_within_its_compaction_lag() -> None:
    lag: dict[str, ConfigValue] = {"max.compaction.lag.ms": 5_000}
    compacted: dict[str, ConfigValue] = {**lag, "cleanup.policy": "compact"}
    assert log_rules(V39, {}, compacted).roll_us == 5 * SECOND
    assert log_rules(V39, {}, {**compacted, "segment.ms": 3_000}).roll_us == 3 * SECOND
    assert log_rules(V39, {}, lag).roll_us == 7 * DAY_US
    assert log_rules(Profile.of("2.2"), {}, compacted).roll_us == 7 * DAY_US


@pytest.mark.parametrize("kafka", RELEASE_LINES)
def test_defaults_by_release(kafka: str) -> None:
    profile = Profile.of(kafka)
    number = profile.number
    asked: dict[str, ConfigValue] = {
        "min.compaction.lag.ms": 5, "max.compaction.lag.ms": 5, "message.timestamp.type": "LogAppendTime",
    }  # fmt: skip
    rules = log_rules(profile, {}, asked)
    assert log_rules(profile, {}, {}).max_message == (1_048_588 if number >= (2, 5, 0) else 1_000_012)
    assert rules.min_lag_us == (5_000 if number >= (0, 10, 1) else 0)
    assert rules.max_lag_us == (5_000 if number >= (2, 3, 0) else NEVER)
    assert rules.by_timestamp is (number >= (0, 10, 1))
    assert rules.log_append_time is (number >= (0, 10, 0))
    broker = BrokerConfig.of(profile, {})
    assert (broker.cleaner, broker.flush_check_us, broker.cleaner_backoff_us) == (kafka != "0.8.2", NEVER, 15 * SECOND)
    assert broker.recovery_threads == (2 if number >= (4, 0, 0) else 1)
    assert broker.cleaner_keys == (19_660_800 if kafka == "0.8.2" else 5_033_164)


# --- ratios ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "text", "ppm"),
    [("0.5", "0.5", 500_000), (0, "0", 0), (1, "1", 1_000_000), ("0.000001", "0.000001", 1), ("1.0", "1.0", 1_000_000)],
)
def test_a_ratio_is_kept_as_its_text(given: object, text: str, ppm: int) -> None:
    assert check("topic", "min.cleanable.dirty.ratio", given) == text
    assert millionths(text) == ppm


@pytest.mark.parametrize("wrong", ["1.1", "-0.1", 2, True, "half", "0.1234567", ".5", None, "1e-3"])
def test_nothing_else_is_a_ratio(wrong: object, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        check("topic", "min.cleanable.dirty.ratio", wrong)
    assert caught.value.code == "not_a_ratio"
    assert str(caught.value) == snapshot


# --- sizes ----------------------------------------------------------------------------------------------------------


def log_of(**rules: Any) -> ReplicaLog:
    return ReplicaLog(BatchStore(), uses_epochs=True, replaces=True, rules=LogConfig(**rules))


def refused(kafka: str, log: ReplicaLog, size: int, records: int = 1, codec: int = 0) -> KafkaError:
    request = ProduceRequest(1, P, 1, 1, "p", -1, 0, records, size, (), -1, codec)
    return batch_error(Profile.of(kafka), log, request, 0)


@pytest.mark.parametrize("kafka", RELEASE_LINES)
def test_the_size_limit_applies_to_the_unit_of_the_message_format(kafka: str) -> None:
    log = log_of(max_message=100)
    single = Profile.of(kafka).number < (0, 11, 0)
    assert refused(kafka, log, 100) is E.NONE
    assert refused(kafka, log, 101) is E.MESSAGE_TOO_LARGE
    assert refused(kafka, log, 1_000, records=10) is (E.NONE if single else E.MESSAGE_TOO_LARGE)
    assert refused(kafka, log, 1_001, records=10) is E.MESSAGE_TOO_LARGE
    assert refused(kafka, log, 1_000, records=10, codec=1) is E.MESSAGE_TOO_LARGE


def test_a_batch_that_no_segment_takes_is_another_error_and_comes_second() -> None:
    assert refused("3.9", log_of(max_message=100, segment_bytes=50), 51) is E.RECORD_LIST_TOO_LARGE
    assert refused("3.9", log_of(max_message=100, segment_bytes=50), 50) is E.NONE
    assert refused("3.9", log_of(max_message=100, segment_bytes=50), 101) is E.MESSAGE_TOO_LARGE
    assert refused("0.10.2", log_of(max_message=100, segment_bytes=50), 60, records=2) is E.RECORD_LIST_TOO_LARGE


def test_only_batches_of_unusual_size_are_looked_at() -> None:
    assert unchecked_size(log_of(max_message=100, segment_bytes=50)) == 50
    assert unchecked_size(log_of(max_message=40, segment_bytes=50)) == 40
    assert unchecked_size(log_of(compact=True)) == unchecked_size(log_of(oldest_us=9)) == 0


@pytest.mark.parametrize("kafka", RELEASE_LINES)
def test_which_setting_bounds_the_age_of_a_timestamp(kafka: str) -> None:
    profile, number = Profile.of(kafka), Profile.of(kafka).number
    difference: dict[str, ConfigValue] = {"message.timestamp.difference.max.ms": 5}
    before: dict[str, ConfigValue] = {"message.timestamp.before.max.ms": 7}
    broker: dict[str, ConfigValue] = {f"log.{name}": value for name, value in {**difference, **before}.items()}
    by_difference = 5_000 if (0, 10, 0) <= number < (4, 0, 0) else NEVER
    by_both = 7_000 if number >= (3, 6, 0) else by_difference
    assert log_rules(profile, {}, difference).oldest_us == by_difference
    assert log_rules(profile, {}, {**difference, **before}).oldest_us == log_rules(profile, broker, {}).oldest_us
    assert log_rules(profile, broker, {}).oldest_us == by_both


@pytest.mark.parametrize(
    ("stamp", "append_time", "error"),
    [(89, False, E.INVALID_TIMESTAMP), (90, False, E.NONE), (89, True, E.NONE), (-1, False, E.NONE)],
)
def test_a_timestamp_too_old_is_refused(stamp: int, append_time: bool, error: KafkaError) -> None:
    log = log_of(oldest_us=10, log_append_time=append_time)
    request = ProduceRequest(1, P, 1, 1, "p", -1, 0, 1, 10, (), stamp)
    assert batch_error(V39, log, request, 100) is error


def test_a_batch_that_waited_too_long_for_a_leader_is_refused_for_good() -> None:
    cluster = build(topic={"message.timestamp.before.max.ms": 5_000})
    cluster.run(5 * SECOND)
    cluster.pause(1)
    cluster.run(60 * SECOND)
    producer = cluster.producers["checkout"]
    refused = {event.error for event in cluster.drain() if isinstance(event, ProduceRefused)}
    assert "INVALID_TIMESTAMP" in refused  # Batches in flight after it are out of order, and are sent in a new epoch.
    assert producer.failed > 0
    cluster.resume(1)
    cluster.stop_producers()
    cluster.run(300 * SECOND)
    assert cluster.query.acked_lost() == 0


def build(
    kafka: str = "3.9", *, topic: dict[str, Any] | None = None, broker: dict[str, Any] | None = None, batch: int = 10
) -> Cluster:
    topics = (TopicSpec("orders", 1, 3, ((1, 2, 3),), topic or {}),)
    maker = ProducerSpec("checkout", "orders", 100_000, batch, config={"acks": "all"})
    brokers = tuple(BrokerSpec(number) for number in (1, 2, 3))
    return Cluster.build(ClusterSpec(kafka, None, brokers, topics, (maker,), config=broker or {}), 7)


@pytest.mark.parametrize(("largest", "error"), [(199, "MESSAGE_TOO_LARGE"), (200, "")])
def test_a_record_above_the_limit_fails_for_good(largest: int, error: str) -> None:
    cluster = build(topic={"max.message.bytes": largest}, batch=1)
    cluster.run(5 * SECOND)
    producer = cluster.producers["checkout"]
    assert producer.last_error == error
    assert (producer.failed > 0, producer.unknown, producer.acked > 0) == (bool(error), 0, not error)


# --- flushes --------------------------------------------------------------------------------------------------------


def test_flush_ms_alone_does_nothing_without_the_scheduler() -> None:
    cluster = build(topic={"flush.ms": 1_000})
    cluster.run(60 * SECOND)
    assert cluster.brokers[1].replicas[P].log.recovery_point == 0


def test_the_scheduler_flushes_what_was_not_flushed_for_long_enough() -> None:
    cluster = build(topic={"flush.ms": 5_000}, broker={"log.flush.scheduler.interval.ms": 2_000})
    log = cluster.brokers[1].replicas[P].log
    flushed = [log.flushed_us]
    for at in range(29, 60):
        cluster.run(at * SECOND)
        if log.flushed_us != flushed[-1]:
            flushed.append(log.flushed_us)
            assert log.recovery_point > log.leo - 20
    # First after log.initial.task.delay.ms, then at the first check that is five seconds or more later.
    assert flushed == [0, *(at * SECOND for at in range(30, 60, 6))]


def test_flush_ms_is_by_default_what_the_scheduler_says() -> None:
    cluster = build(broker={"log.flush.scheduler.interval.ms": 4_000, "log.initial.task.delay.ms": 0})
    cluster.run(21 * SECOND)
    assert cluster.brokers[2].replicas[P].log.flushed_us == 20 * SECOND
    cluster = build(
        broker={
            "log.flush.scheduler.interval.ms": 4_000,
            "log.initial.task.delay.ms": 0,
            "log.flush.interval.ms": 9_000,
        }
    )
    cluster.run(21 * SECOND)
    assert cluster.brokers[2].replicas[P].log.flushed_us == 12 * SECOND


def test_a_roll_is_a_flush_and_puts_the_next_one_off() -> None:
    cluster = build(
        topic={"flush.ms": 5_000, "segment.bytes": 80_000},
        broker={"log.flush.scheduler.interval.ms": 1_000, "log.initial.task.delay.ms": 0},
    )
    log = cluster.brokers[1].replicas[P].log
    flushed = [0]
    for at in range(1, 300):
        cluster.run(at * SECOND // 10)
        if log.flushed_us != flushed[-1]:
            flushed.append(log.flushed_us)
    # A segment takes four seconds of records, give or take the jitter of links, so it is never five seconds.
    assert all(39 * SECOND // 10 < later - earlier < 5 * SECOND for earlier, later in pairwise(flushed))
    assert len(flushed) == 8


def test_flushed_records_survive_a_power_loss() -> None:
    broker = {"log.flush.scheduler.interval.ms": 3_000, "log.initial.task.delay.ms": 0}
    cluster = build(broker=broker)
    cluster.run(10 * SECOND)
    log = cluster.brokers[3].replicas[P].log
    point = log.recovery_point
    assert point > 800
    cluster.power_loss(3, tail="flushed")
    assert log.leo == point


# --- jitter ---------------------------------------------------------------------------------------------------------


def test_jitter_makes_segments_roll_earlier_and_never_later() -> None:
    rules = LogConfig(roll_us=1_000, jitter_us=400)
    limits: list[int] = []
    for salt in range(200):
        segments = Segments(rules)
        segments.set_jitter_seed(salt)
        segments.count_append(1, 0, 0, 0)
        limits.append(next(at for at in range(2_000) if segments.roll_reason(1, 1, at, 0)))
    assert 601 <= min(limits) < 650
    assert 950 < max(limits) <= 1_001
    assert len(set(limits)) > 100


def test_each_segment_draws_its_own_and_keeps_it() -> None:
    rules = LogConfig(roll_us=1_000, jitter_us=5_000)
    segments = Segments(rules)
    segments.set_jitter_seed(7)

    def limit() -> int:
        segments.count_append(1, 0, 0, 0)
        return next(at for at in range(2_000) if segments.roll_reason(1, 1, at, 0))

    limits = []
    for base in range(20):
        segments.roll(base, 0)
        limits.append(limit())
        again = Segments(rules)
        again.set_jitter_seed(7)
        again.load(segments.save())
        assert next(at for at in range(2_000) if again.roll_reason(1, 1, at, 0)) == limits[-1]
    assert len(set(limits)) > 10
    assert max(limits) <= 1_001, "never more than the whole of segment.ms"


def test_replicas_of_a_topic_with_jitter_do_not_roll_together() -> None:
    cluster = build(topic={"segment.ms": 20_000, "segment.jitter.ms": 10_000})
    cluster.run(40 * SECOND)
    bases = [tuple(one.base for one in cluster.brokers[broker].replicas[P].log.segments.all) for broker in (1, 2, 3)]
    assert len(set(bases)) == 3
    same = build(topic={"segment.ms": 20_000, "segment.jitter.ms": 10_000})
    same.run(40 * SECOND)
    assert same.digest() == cluster.digest()


def test_without_jitter_they_do() -> None:
    cluster = build(topic={"segment.ms": 20_000})
    cluster.run(40 * SECOND)
    bases = [tuple(one.base for one in cluster.brokers[broker].replicas[P].log.segments.all) for broker in (1, 2, 3)]
    assert len(set(bases)) == 1
    assert TopicConfig.of(V39, {}, {}).log.jitter_us == 0


def test_rolling_jitter_does_not_touch_the_first_segment() -> None:
    segments = Segments(LogConfig(roll_us=1_000, jitter_us=400))
    untouched = segments.active
    segments.set_jitter_seed(7)
    assert segments.active == untouched
    assert (untouched.base, untouched.created_us, untouched.modified_us) == (0, 0, 0)
