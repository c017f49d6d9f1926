"""Configurations of producers and consumers: defaults by release, and settings that exclude each other."""

from dataclasses import fields, replace

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.partitioners import PartitionerConfig
from cluster_model.protocol.config_defs import (
    CONSUMER,
    INT_MAX,
    PRODUCER,
    ConfigValue,
    check,
)
from cluster_model.protocol.configs import ConnectionSettings, ConsumerConfig
from cluster_model.protocol.errors import ConfigConflictError, ModelError
from cluster_model.protocol.records import CODECS, Codec
from cluster_model.protocol.versions import ClientProfile, Profile

SECOND, MINUTE = 1_000_000, 60_000_000
CONNECTIONS = ConnectionSettings(50_000, SECOND, 10 * SECOND, 30 * SECOND, True, True)
CONNECTION_FIELDS: dict[str, tuple[ConfigValue, str, ConnectionSettings]] = {
    "reconnect.backoff.ms": (7, "connections", replace(CONNECTIONS, backoff_us=7_000, backoff_max_us=7_000)),
    "reconnect.backoff.max.ms": (70, "connections", replace(CONNECTIONS, backoff_max_us=70_000)),
    "socket.connection.setup.timeout.ms": (7, "connections", replace(CONNECTIONS, setup_us=7_000)),
    "socket.connection.setup.timeout.max.ms": (17_000, "connections", replace(CONNECTIONS, setup_max_us=17 * SECOND)),
}


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


def test_the_longest_pause_is_not_learned_before_3_7() -> None:
    assert producer("3.6").backoff_max_us == 100_000
    with pytest.raises(ConfigConflictError) as caught:
        producer("3.6", retry_backoff_max_ms=9_000)
    assert (caught.value.code, caught.value.key) == ("not_in_version", "retry.backoff.max.ms")
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
def test_explicit_idempotence_conflicts_are_rejected(
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
def test_requested_idempotence_changes_defaults(version: str, in_flight: int, snapshot: SnapshotAssertion) -> None:
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
def test_the_first_patches_of_3_0_and_3_1_need_explicit_idempotence(version: str) -> None:
    assert producer(version).idempotent
    first = producer(version, client_version=f"{version}.0")
    assert (first.acks, first.idempotent) == (-1, False)
    assert producer(version, client_version=f"{version}.0", enable_idempotence=True).idempotent


def test_a_client_has_the_defaults_of_its_own_version() -> None:
    old = producer("3.9", client_version="2.0")
    assert (old.acks, old.retries, old.linger_us, old.idempotent, old.backoff_max_us) == (1, 0, 0, False, 100_000)
    new = producer("2.1", client_version="4.1")
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
    ("version", "generations", "epochs"),
    [("2.3", False, False), ("2.4", False, False), ("2.5", True, False), ("3.6", True, False), ("4.0", True, True)],
)
def test_transactional_offset_commits_are_fenced_by_version(version: str, generations: bool, epochs: bool) -> None:
    client = producer("4.1", client_version=version).client
    assert (client.consumer_group_metadata, client.bumps_epoch, client.epoch_per_transaction) == (
        generations, generations, epochs
    )  # fmt: skip


PRODUCER_FIELDS: dict[
    str, tuple[ConfigValue, str, int | str | Codec | ClientProfile | PartitionerConfig | ConnectionSettings]
] = {
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
    "client.version": ("3.8", "client", ClientProfile.of("3.8")),
    "transactional.id": ("tx", "transactional_id", "tx"),
    "transaction.timeout.ms": (7, "transaction_timeout_us", 7_000),
    "partitioner.class": ("DefaultPartitioner", "partitioner", PartitionerConfig("DefaultPartitioner")),
    "partitioner.ignore.keys": (True, "partitioner", PartitionerConfig(ignore_keys=True)),
    "partitioner.adaptive.partitioning.enable": (False, "partitioner", PartitionerConfig(adaptive=False)),
    "partitioner.availability.timeout.ms": (7, "availability_us", 7_000),
    **CONNECTION_FIELDS,
}


@pytest.mark.parametrize("name", PRODUCER)
def test_a_producer_setting_changes_its_own_field(name: str) -> None:
    value, field, expected = PRODUCER_FIELDS[name]
    before, after = ProducerConfig.of(Profile.of("3.9"), {}), ProducerConfig.of(Profile.of("3.9"), {name: value})
    changed = {f.name for f in fields(ProducerConfig) if getattr(before, f.name) != getattr(after, f.name)}
    assert getattr(after, field) == expected
    assert changed - ({"idempotent"} if name == "acks" else set()) == {field}


CONSUMER_FIELDS: dict[str, tuple[ConfigValue, str, int | bool | str | ConnectionSettings]] = {
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
    **CONNECTION_FIELDS,
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
    assert set(CONSUMER) == {*CONSUMER_FIELDS, *MEMBER_FIELDS, *PROTOCOL_FIELDS, "group.instance.id", "client.version"}


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
        connections=CONNECTIONS,
    )


@pytest.mark.parametrize(
    ("version", "backoff_max_us", "setup_us", "setup_max_us", "asks_versions"),
    [
        ("0.10.1", 50_000, 0, None, False),
        ("0.10.2", 50_000, 0, None, True),
        ("0.11", SECOND, 0, None, True),
        ("2.6", SECOND, 0, None, True),
        ("2.7", SECOND, 10 * SECOND, 127 * SECOND, True),
        ("2.8", SECOND, 10 * SECOND, 30 * SECOND, True),
        ("4.1", SECOND, 10 * SECOND, 30 * SECOND, True),
    ],
)
def test_how_a_client_connects_by_version(
    version: str, backoff_max_us: int, setup_us: int, setup_max_us: int | None, asks_versions: bool
) -> None:
    for found in (producer(version).connections, ConsumerConfig.of(Profile.of(version), {}).connections):
        assert (found.backoff_us, found.backoff_max_us) == (50_000, backoff_max_us)
        assert (found.setup_us, found.asks_versions) == (setup_us, asks_versions)
        assert setup_max_us in (None, found.setup_max_us)


@pytest.mark.parametrize(
    ("version", "name", "known"),
    [
        ("0.10.2", "reconnect.backoff.ms", True),
        ("0.10.2", "reconnect.backoff.max.ms", False),
        ("0.11", "reconnect.backoff.max.ms", True),
        ("2.6", "socket.connection.setup.timeout.ms", False),
        ("2.6", "socket.connection.setup.timeout.max.ms", False),
        ("2.7", "socket.connection.setup.timeout.max.ms", True),
    ],
)
def test_how_a_client_connects_is_configured_since_its_kip(version: str, name: str, known: bool) -> None:
    for of in (ProducerConfig.of, ConsumerConfig.of):
        if known:
            of(Profile.of(version), {name: 60_000})
            continue
        with pytest.raises(ConfigConflictError) as caught:
            of(Profile.of(version), {name: 60_000})
        assert (caught.value.code, caught.value.key) == ("not_in_version", name)


def test_a_fetch_has_no_limit_in_all_before_kip_74() -> None:
    assert ConsumerConfig.of(Profile.of("0.10.0"), {}).fetch_max_bytes == 0
    with pytest.raises(ConfigConflictError) as caught:
        ConsumerConfig.of(Profile.of("0.10.0"), {"fetch.max.bytes": 7})
    assert (caught.value.code, caught.value.key) == ("not_in_version", "fetch.max.bytes")
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


# ``client.version``: clients of another release than the brokers.


@pytest.mark.parametrize(
    ("client", "brokers"),
    [("2.0", "4.0"), ("2.0.1", "4.4"), ("4.0", "2.0"), ("0.10.1", "0.10.0"), ("0.9", "0.8.2"), ("2.0", "0.9")],
)
def test_releases_that_cannot_talk_to_each_other_are_refused(client: str, brokers: str) -> None:
    for of in (ProducerConfig.of, ConsumerConfig.of):
        with pytest.raises(ConfigConflictError) as caught:
            of(Profile.of(brokers), {"client.version": client})
        assert (caught.value.key, caught.value.code) == ("client.version", "incompatible_client")


@pytest.mark.parametrize(
    ("client", "brokers"),
    [("2.1", "4.4"), ("4.4", "2.1"), ("0.8.2", "3.9"), ("0.10.2", "0.10.0"), ("0.9.0.1", "0.9.0.0")],
)
def test_releases_that_have_a_version_of_each_request_in_common_are_accepted(client: str, brokers: str) -> None:
    config = {"client.version": client}
    assert ProducerConfig.of(Profile.of(brokers), config).client.version == client
    assert Profile.of(brokers).for_client(client).client.version == client
    assert ConsumerConfig.of(Profile.of(brokers), config)


def test_a_consumer_has_the_defaults_of_its_release_and_the_rules_that_both_have() -> None:
    cluster = Profile.of("3.9")
    old = ConsumerConfig.of(cluster, {"client.version": "1.1"})
    assert old.request_timeout_us == ConsumerConfig.of(Profile.of("1.1"), {}).request_timeout_us
    assert old.request_timeout_us != ConsumerConfig.of(cluster, {}).request_timeout_us
    between = cluster.for_client("1.1")
    assert (between.fetch_sessions, between.kip_320, between.static_members) == (True, False, False)
    assert cluster.for_client("4.4").kip_320
    assert not Profile.of("2.0").for_client("3.9").kip_320
    assert cluster.for_client("") == cluster


def test_a_member_has_the_assignors_and_the_join_request_of_its_release() -> None:
    member = GroupSettings.of(Profile.of("3.9"), {"client.version": "2.2"})
    assert member.version == 4
    assert not member.reports_lost
    with pytest.raises(ModelError) as caught:
        GroupSettings.of(
            Profile.of("3.9"), {"client.version": "2.3", "partition.assignment.strategy": "CooperativeStickyAssignor"}
        )
    assert caught.value.code == "not_in_version"
