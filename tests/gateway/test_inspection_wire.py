"""Administrators' questions and moves on the wire."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cluster_model.protocol.errors import KafkaError as E
from faults.declarations import Action
from gateway.handlers.configs import ALL_BROKERS, BOOLEAN, DEFAULT, INT, LIST, LONG, OWN, RUN_TIME, START, STRING
from gateway.handlers.inspection import METADATA_TOPIC
from gateway.protocol import api_versions as api
from gateway.protocol.context import LOG_DIR
from tests.gateway.hosting import playbook
from tests.gateway.test_admin_wire import BROKER, GROUP, TOPIC, controller, create
from tests.gateway.test_transactions_wire import Shop
from tests.gateway.wire import BEGAN_MS, Wire

HELD = ", log.retention.ms: 86400000"


def wired(kafka: str, topic: str = ", retention.ms: 60000") -> Wire:
    wire = Wire(playbook(kafka, config=HELD, topic=topic))
    wire.run(2)
    return wire


@pytest.fixture(scope="module")
def shop() -> Shop:
    """With a transaction open on one partition."""
    shop = Shop("4.1")
    assert shop.send(b"v", 0).error_code == E.NONE
    return shop


class TestTransactions:
    def test_an_open_one_is_described(self, shop: Shop) -> None:
        nobodys = next(name for name in map(str, range(99)) if shop.place(name, 1) == shop.at)
        elsewhere = next(name for name in map(str, range(99)) if shop.place(name, 1) != shop.at)
        answer = shop.wire.ask(shop.at, api.DESCRIBE_TRANSACTIONS, 0, transactional_ids=("t", nobodys, elsewhere))
        told, unknown, others = answer.transaction_states
        assert (told.error_code, told.transaction_state, told.producer_id) == (E.NONE, "Ongoing", shop.pid)
        assert told.transaction_start_time > datetime(2023, 11, 14, tzinfo=UTC)
        assert [(each.topic, each.partitions) for each in told.topics] == [("orders", (0,))]
        assert (unknown.error_code, unknown.transactional_id) == (E.TRANSACTIONAL_ID_NOT_FOUND, nobodys)
        assert (others.error_code, others.transactional_id) == (E.NOT_COORDINATOR, elsewhere)

    @pytest.mark.parametrize(("filters", "found"), [
        ({}, ["t"]),
        ({"state_filters": ("Ongoing", "Odd")}, ["t"]),
        ({"state_filters": ("Empty",)}, []),
        ({"state_filters": ("Odd",)}, []),
        ({"producer_id_filters": (987_654,)}, []),
        ({"duration_filter": 0}, ["t"]),
        ({"duration_filter": 900_000}, []),
        ({"transactional_id_pattern": "t.*"}, ["t"]),
        ({"transactional_id_pattern": "x.*"}, []),
    ])  # fmt: skip
    def test_they_are_listed_by_what_they_are(self, shop: Shop, filters: dict[str, Any], found: list[str]) -> None:
        said = {"state_filters": (), "producer_id_filters": (), "duration_filter": -1, "transactional_id_pattern": None}
        shop.wire.run(0.2)
        answer = shop.wire.ask(shop.at, api.LIST_TRANSACTIONS, 2, **{**said, **filters})
        assert answer.error_code == E.NONE
        assert [each.transactional_id for each in answer.transaction_states] == found
        odd = "Odd" in filters.get("state_filters", ())
        assert answer.unknown_state_filters == (("Odd",) if odd else ())

    def test_a_pattern_that_is_none_is_refused(self, shop: Shop) -> None:
        answer = shop.wire.ask(
            shop.at, api.LIST_TRANSACTIONS, 2, state_filters=(), producer_id_filters=(), duration_filter=-1,
            transactional_id_pattern="(",
        )  # fmt: skip
        assert answer.error_code == E.INVALID_REGULAR_EXPRESSION

    def test_producers_are_reported_by_the_leader_of_what_they_wrote(self, shop: Shop) -> None:
        asked = [{"name": "orders", "partition_indexes": (0, -1)}]
        answer = shop.wire.ask(shop.leader("orders-0"), api.DESCRIBE_PRODUCERS, 0, topics=asked)
        told, unknown = (each for topic in answer.topics for each in topic.partitions)
        (producer,) = told.active_producers
        assert (told.error_code, producer.producer_id, producer.last_sequence) == (E.NONE, shop.pid, 0)
        assert producer.current_txn_start_offset == 0
        assert (unknown.partition_index, unknown.error_code) == (-1, E.UNKNOWN_TOPIC_OR_PARTITION)


def test_producers_are_described_from_2_8_on() -> None:
    """The other questions of KIP-664 came with 3.0."""
    wire = wired("2.8")
    leader = wire.session.cluster.cluster_state.records["orders-0"].leader
    asked = [{"name": "orders", "partition_indexes": (0,)}]
    (told,) = wire.ask(leader, api.DESCRIBE_PRODUCERS, 0, topics=asked).topics[0].partitions
    assert (told.error_code, told.active_producers) == (E.NONE, ())
    assert not {api.LIST_TRANSACTIONS, api.DESCRIBE_TRANSACTIONS} & set(wire.context.ranges)


@pytest.mark.parametrize("kafka", ["2.8", "4.1"])
class TestReassignments:
    def test_replicas_are_moved_listed_and_taken_back(self, kafka: str) -> None:
        wire = wired(kafka)

        def move(replicas: tuple[int, ...] | None, topic: str = "orders") -> int:
            asked = [{"name": topic, "partitions": [{"partition_index": 0, "replicas": replicas}]}]
            answer = wire.ask(controller(wire), api.ALTER_PARTITION_REASSIGNMENTS, 0, timeout=9_000, topics=asked)
            assert answer.error_code == E.NONE
            ((told,),) = [each.partitions for each in answer.responses]
            return int(told.error_code)

        def moving(topics: Any = None) -> list[tuple[int, tuple[int, ...]]]:
            answer = wire.ask(controller(wire), api.LIST_PARTITION_REASSIGNMENTS, 0, timeout=9_000, topics=topics)
            return [
                (each.partition_index, each.removing_replicas) for topic in answer.topics for each in topic.partitions
            ]

        assert moving() == []
        assert move((1, 2)) == E.NONE
        wire.run(2)
        assert move((1, 1)) == E.INVALID_REPLICA_ASSIGNMENT
        assert move((1, 2), "nope") == E.UNKNOWN_TOPIC_OR_PARTITION
        assert move(None) == E.NO_REASSIGNMENT_IN_PROGRESS
        assert moving(()) == []
        assert set(wire.session.cluster.cluster_state.records["orders-0"].assignment) == {1, 2}


def test_the_replication_factor_stays_where_the_client_says_so() -> None:
    wire = wired("4.1")
    for may_change, error in ((False, E.INVALID_REPLICATION_FACTOR), (True, E.NONE)):
        asked = [{"name": "orders", "partitions": [{"partition_index": 0, "replicas": (1, 2)}]}]
        answer = wire.ask(
            1, api.ALTER_PARTITION_REASSIGNMENTS, 1, timeout=9_000, topics=asked,
            allow_replication_factor_change=may_change,
        )  # fmt: skip
        ((told,),) = [each.partitions for each in answer.responses]
        assert (told.error_code, answer.allow_replication_factor_change) == (error, may_change)


def quorum(wire: Wire, version: int = 2, topic: str = METADATA_TOPIC, broker: int = 2) -> Any:
    asked = [{"topic_name": topic, "partitions": [{"partition_index": 0}]}]
    answer = wire.ask(broker, api.DESCRIBE_QUORUM, version, topics=asked)
    assert answer.error_code == E.NONE
    ((told,),) = [each.partitions for each in answer.topics]
    return told


class TestDescribeQuorum:
    """``LeaderState``: what the quorum's leader knows by the fetches of voters and observers."""

    @pytest.mark.slow
    def test_voters_and_observers_have_ends_and_times(self) -> None:
        wire = wired("4.1")
        wire.run(3)
        told = quorum(wire)
        cluster = wire.session.cluster
        voters, brokers = set(cluster.spec.voters), set(cluster.brokers)
        assert (told.error_code, told.leader_id, told.leader_epoch) == (E.NONE, cluster.plane.active(), 1)
        assert {each.replica_id for each in told.current_voters} == voters
        assert {each.replica_id for each in told.observers} == brokers - voters
        now = BEGAN_MS + cluster.now_us // 1_000
        for each in (*told.current_voters, *told.observers):
            assert each.log_end_offset == told.high_watermark
            assert now - 2_000 < each.last_fetch_timestamp <= now
            assert now - 2_000 < each.last_caught_up_timestamp <= now

    def test_an_observer_that_pauses_falls_behind(self) -> None:
        wire = wired("4.1")
        wire.engine.act(Action("inject", "gc_pause", "broker(3)", {}, 6_000_000))
        wire.run(5)
        create(wire, "made", assignments=[{"partition_index": 0, "broker_ids": (1, 2)}])
        told = quorum(wire)
        paused, other = (next(each for each in told.observers if each.replica_id == broker) for broker in (3, 1))
        assert paused.log_end_offset < other.log_end_offset == told.high_watermark
        assert other.last_fetch_timestamp - paused.last_fetch_timestamp > 4_000
        assert paused.last_caught_up_timestamp <= paused.last_fetch_timestamp

    def test_versions_without_times_have_ends(self) -> None:
        told = quorum(Wire(playbook("3.9")), version=0)
        assert len(told.current_voters) == 3
        assert not hasattr(told.current_voters[0], "last_fetch_timestamp")

    def test_another_topic_is_unknown(self) -> None:
        assert quorum(wired("4.1"), topic="orders").error_code == E.UNKNOWN_TOPIC_OR_PARTITION

    @pytest.mark.parametrize(("kafka", "highest"), [("2.8", None), ("3.3", 1), ("3.9", 2)])
    def test_only_kraft_offers_it(self, kafka: str, highest: int | None) -> None:
        wire = Wire(playbook(kafka))
        assert wire.context.ranges.get(api.DESCRIBE_QUORUM) == (None if highest is None else (0, highest))


class TestDescribeCluster:
    """``AuthHelper.computeDescribeClusterResponse``."""

    def test_describe_cluster_includes_fenced_brokers_on_request(self) -> None:
        wire = wired("4.1")
        wire.engine.act(Action("inject", "crash", "broker(3)", {}, 60_000_000))
        wire.run(12)
        asked = {"include_cluster_authorized_operations": False, "endpoint_type": 1}
        for includes, expected in ((False, [(1, False), (2, False)]), (True, [(1, False), (2, False), (3, True)])):
            told = wire.ask(1, api.DESCRIBE_CLUSTER, 2, include_fenced_brokers=includes, **asked)
            assert [(each.broker_id, each.is_fenced) for each in told.brokers] == expected
            assert told.error_code == E.NONE

    @pytest.mark.parametrize(("kind", "error"), [(2, E.MISMATCHED_ENDPOINT_TYPE), (7, E.UNSUPPORTED_ENDPOINT_TYPE)])
    def test_a_broker_does_not_describe_controllers(self, kind: int, error: E) -> None:
        asked = {"include_cluster_authorized_operations": False, "endpoint_type": kind}
        told = wired("4.1").ask(1, api.DESCRIBE_CLUSTER, 2, include_fenced_brokers=False, **asked)
        assert (told.error_code, told.brokers) == (error, ())


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "of_group"), [("3.9", 1 << 3 | 1 << 6 | 1 << 8), ("4.1", 0b1101_0100_1000)])
def test_everything_is_allowed_where_there_is_no_authorizer(kafka: str, of_group: int) -> None:
    wire = wired(kafka)

    def orders(*, asks: bool) -> Any:
        return wire.ask(
            1, api.METADATA, 8, topics=[{"name": "orders"}], allow_auto_topic_creation=False,
            include_cluster_authorized_operations=asks, include_topic_authorized_operations=asks,
        )  # fmt: skip

    told = orders(asks=True)
    assert told.topics[0].topic_authorized_operations == 0b1101_1111_1000
    assert told.cluster_authorized_operations == 0b1_1111_1010_0000
    plain = orders(asks=False)
    assert plain.topics[0].topic_authorized_operations == -(2**31)
    place = wire.ask(1, api.FIND_COORDINATOR, 1, key="billing", key_type=0)
    wire.run(2)
    place = wire.ask(1, api.FIND_COORDINATOR, 1, key="billing", key_type=0)
    joined = wire.ask(
        place.node_id, api.JOIN_GROUP, 2, group_id="billing", session_timeout=10_000, rebalance_timeout=10_000,
        member_id="", protocol_type="connect", protocols=[{"name": "a", "metadata": b"x"}],
    )  # fmt: skip
    assert joined.error_code == E.NONE
    (group,) = wire.ask(
        place.node_id, api.DESCRIBE_GROUPS, 4, groups=("billing",), include_authorized_operations=True
    ).groups
    assert (group.error_code, group.authorized_operations) == (E.NONE, of_group)


def described(wire: Wire, kind: int, name: str, version: int = 3, **said: Any) -> Any:
    asked = [{"resource_type": kind, "resource_name": name, "configuration_keys": None}]
    extra = {"include_documentation": False} if version >= 3 else {}
    answer = wire.ask(1, api.DESCRIBE_CONFIGS, version, resources=asked, **{"include_synonyms": True, **extra, **said})
    (told,) = answer.results
    return told


def synonyms(wire: Wire, kind: int, name: str, config: str) -> list[tuple[str, str, int]]:
    (found,) = [each for each in described(wire, kind, name).configs if each.name == config]
    return [(each.name, each.value, each.source) for each in found.synonyms]


class TestDescribeConfigs:
    def test_a_topics_have_types_and_what_is_beneath_them(self) -> None:
        told = described(wired("4.1"), TOPIC, "orders")
        found = {each.name: each for each in told.configs}
        retention = found["retention.ms"]
        assert (retention.value, retention.config_source, retention.config_type) == ("60000", OWN, LONG)
        assert [(each.name, each.value, each.source) for each in retention.synonyms] == [
            ("retention.ms", "60000", OWN),
            ("log.retention.ms", "86400000", START),
            ("log.retention.hours", "168", DEFAULT),
        ]
        names = ("cleanup.policy", "unclean.leader.election.enable", "min.insync.replicas", "message.timestamp.type")
        kinds = [found[name].config_type for name in names]
        assert kinds == [LIST, BOOLEAN, INT, STRING]
        assert found["flush.ms"].value == "9223372036854775807"
        assert not any(each.read_only for each in told.configs)

    def test_a_topic_config_has_its_broker_synonym_alone(self) -> None:
        found = {each.name: each for each in described(wired("4.1"), TOPIC, "orders").configs}
        assert list(found) == sorted(found)
        assert (found["segment.ms"].value, found["segment.ms"].config_source) == ("604800000", DEFAULT)
        assert [found[name].synonyms for name in ("segment.ms", "segment.jitter.ms", "flush.ms")] == [(), (), ()]
        assert [each.name for each in found["segment.bytes"].synonyms] == ["log.segment.bytes"]

    @pytest.mark.slow
    def test_coarser_units_of_a_brokers_are_synonyms_where_they_are_given(self) -> None:
        wire = Wire(playbook("4.1", config=", log.retention.minutes: 90, log.retention.hours: 24"))
        wire.run(2)
        file_and_default = [
            ("log.retention.minutes", "90", START), ("log.retention.hours", "24", START),
            ("log.retention.hours", "168", DEFAULT),
        ]  # fmt: skip
        assert synonyms(wire, BROKER, "1", "log.retention.ms") == synonyms(wire, TOPIC, "orders", "retention.ms") == []
        assert synonyms(wire, BROKER, "1", "log.retention.minutes") == file_and_default
        assert synonyms(wire, BROKER, "1", "log.retention.hours") == file_and_default[1:]
        config = [{"name": "log.retention.ms", "config_operation": 0, "value": "70000"}]
        wire.ask(1, api.INCREMENTAL_ALTER_CONFIGS, 0, validate_only=False,
                 resources=[{"resource_type": BROKER, "resource_name": "1", "configs": config}])  # fmt: skip
        wire.run(1)
        expected = [("log.retention.ms", "70000", RUN_TIME), *file_and_default]
        assert synonyms(wire, BROKER, "1", "log.retention.ms") == expected
        assert synonyms(wire, TOPIC, "orders", "retention.ms") == expected
        assert synonyms(wire, BROKER, "1", "log.retention.minutes") == file_and_default

    def test_a_brokers_are_read_only_where_they_do_not_change(self) -> None:
        found = {each.name: each for each in described(wired("4.1"), BROKER, "1").configs}
        assert (found["log.retention.ms"].config_source, found["log.retention.ms"].read_only) == (START, False)
        assert (found["num.partitions"].config_source, found["num.partitions"].read_only) == (START, True)

    def test_cluster_wide_broker_configs_have_an_empty_resource_name(self) -> None:
        wire = wired("4.1")
        (elr,) = described(wire, BROKER, "").configs
        assert (elr.name, elr.value, elr.config_source) == ("min.insync.replicas", "1", ALL_BROKERS)
        config = [{"name": "log.retention.ms", "config_operation": 0, "value": "70000"}]
        wire.ask(1, api.INCREMENTAL_ALTER_CONFIGS, 0, validate_only=False,
                 resources=[{"resource_type": BROKER, "resource_name": "", "configs": config}])  # fmt: skip
        wire.run(1)
        told, _elr = described(wire, BROKER, "").configs
        assert (told.name, told.value, told.config_source) == ("log.retention.ms", "70000", ALL_BROKERS)
        assert [(each.value, each.source) for each in told.synonyms] == [("70000", ALL_BROKERS)]
        beneath = next(each for each in described(wire, TOPIC, "orders").configs if each.name == "retention.ms")
        assert [(each.value, each.source) for each in beneath.synonyms][:2] == [("60000", OWN), ("70000", ALL_BROKERS)]

    @pytest.mark.slow
    @pytest.mark.parametrize("kafka", ["2.8", "4.1"])
    def test_a_brokers_own_go_before_those_of_all_and_are_not_among_them(self, kafka: str) -> None:
        wire = wired(kafka)
        for name, value in (("", "70000"), ("1", "80000")):
            config = [{"name": "log.retention.ms", "config_operation": 0, "value": value}]
            resources = [{"resource_type": BROKER, "resource_name": name, "configs": config}]
            asked = {"validate_only": False, "resources": resources}
            answer = wire.ask(1, api.INCREMENTAL_ALTER_CONFIGS, 1, **asked)
            assert [each.error_code for each in answer.responses] == [E.NONE]
            wire.run(1)
        found = {each.name: each for each in described(wire, BROKER, "1").configs}["log.retention.ms"]
        assert (found.value, found.config_source) == ("80000", RUN_TIME)
        assert [(each.value, each.source) for each in found.synonyms] == [
            ("80000", RUN_TIME), ("70000", ALL_BROKERS), ("86400000", START), ("168", DEFAULT),
        ]  # fmt: skip
        everybodys = described(wire, BROKER, "").configs[0]
        assert (everybodys.value, everybodys.config_source) == ("70000", ALL_BROKERS)
        wire.ask(1, api.ALTER_CONFIGS, 1, validate_only=False,
                 resources=[{"resource_type": BROKER, "resource_name": "1", "configs": ()}])  # fmt: skip
        wire.run(1)
        assert described(wire, BROKER, "").configs[0].value == "70000"
        assert wire.session.cluster.brokers[1].settings.dynamic_defaults == {"log.retention.ms": 70_000}

    def test_a_broker_has_the_address_at_which_it_listens(self) -> None:
        wire = wired("4.1")
        found = {each.name: each for each in described(wire, BROKER, "1").configs}
        host, port = wire.context.addresses[1]
        assert found["advertised.listeners"].value == f"PLAINTEXT://{host}:{port}"
        assert {(found[name].config_source, found[name].value) for name in ("broker.id", "node.id")} == {(START, "1")}
        assert len({each.name for each in described(wire, BROKER, "1").configs}) == len(found)

    @pytest.mark.parametrize(("kind", "name", "error"), [
        (TOPIC, "nope", E.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "no pe", E.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", E.INVALID_REQUEST),
        (GROUP, "g", E.INVALID_REQUEST),
    ])  # fmt: skip
    def test_describe_configs_rejects_unknown_resources(self, kind: int, name: str, error: E) -> None:
        told = described(wired("4.1"), kind, name)
        assert (told.error_code, told.configs) == (error, ())

    @pytest.mark.parametrize(("keys", "whole"), [(None, True), ((), True), (("flush.ms",), False)])
    def test_no_keys_are_all_keys(self, keys: tuple[str, ...] | None, whole: bool) -> None:
        asked = [{"resource_type": TOPIC, "resource_name": "orders", "configuration_keys": keys}]
        answer = wired("4.1").ask(1, api.DESCRIBE_CONFIGS, 2, resources=asked, include_synonyms=False)
        assert (len(answer.results[0].configs) > 10) is whole
        assert "flush.ms" in {each.name for each in answer.results[0].configs}

    def test_describe_configs_includes_documentation_and_synonyms_on_request(self) -> None:
        wire = wired("4.1")
        plain = described(wire, TOPIC, "orders", include_synonyms=False)
        assert {(each.synonyms, each.documentation) for each in plain.configs} == {((), None)}
        told = described(wire, TOPIC, "orders", include_documentation=True)
        assert all(each.documentation for each in told.configs)


@pytest.mark.parametrize("kafka", ["2.8", "4.1"])
def test_alter_configs_takes_back_what_it_does_not_name(kafka: str) -> None:
    wire = wired(kafka)
    settings = wire.session.cluster.brokers[1].settings
    config = [{"name": "segment.ms", "value": "5000"}]
    before, after = {"min.insync.replicas": 2, "retention.ms": 60_000}, {"segment.ms": 5_000}
    for validate_only, expected in ((True, before), (False, after)):
        answer = wire.ask(
            controller(wire), api.ALTER_CONFIGS, 1, validate_only=validate_only,
            resources=[{"resource_type": TOPIC, "resource_name": "orders", "configs": config},
                       {"resource_type": GROUP, "resource_name": "orders", "configs": ()}],
        )  # fmt: skip
        assert [each.error_code for each in answer.responses] == [E.NONE, E.INVALID_REQUEST]
        wire.run(1)
        assert dict(settings.overrides("orders")) == expected


@pytest.mark.parametrize("configs", [
    [{"name": "segment.ms", "value": None}],
    [{"name": "segment.ms", "value": "5000"}, {"name": "segment.ms", "value": "6000"}],
])  # fmt: skip
@pytest.mark.parametrize("number", [api.ALTER_CONFIGS, api.INCREMENTAL_ALTER_CONFIGS])
def test_a_change_that_is_none_is_refused(number: int, configs: list[dict[str, Any]]) -> None:
    wire = wired("4.1")
    if number == api.INCREMENTAL_ALTER_CONFIGS:
        configs = [{**each, "config_operation": 0} for each in configs]
    asked = [{"resource_type": TOPIC, "resource_name": "orders", "configs": configs},
             {"resource_type": BROKER, "resource_name": "2", "configs": ()}]  # fmt: skip
    answer = wire.ask(1, number, 1, validate_only=False, resources=asked)
    assert [each.error_code for each in answer.responses] == [E.INVALID_REQUEST] * 2
    wire.run(1)
    assert wire.session.cluster.brokers[1].settings.overrides("orders")["retention.ms"] == 60_000


def test_a_brokers_disk_is_reported() -> None:
    shop = Shop("4.1")
    assert shop.send(b"v", 0).error_code == E.NONE
    leader = shop.leader("orders-0")
    answer = shop.wire.ask(leader, api.DESCRIBE_LOG_DIRS, 4, topics=[{"topic": "orders", "partitions": (0, 7)}])
    (directory,) = answer.results
    assert (directory.error_code, directory.log_dir, directory.total_bytes) == (E.NONE, LOG_DIR, -1)
    ((told,),) = [topic.partitions for topic in directory.topics]
    assert (told.partition_index, told.offset_lag, told.is_future_key) == (0, 0, False)
    assert told.partition_size > 60
    everything = shop.wire.ask(leader, api.DESCRIBE_LOG_DIRS, 4, topics=None)
    assert sum(len(topic.partitions) for topic in everything.results[0].topics) > 3


def test_quotas_are_empty_and_acls_disabled() -> None:
    wire = wired("4.1")
    assert wire.ask(1, api.DESCRIBE_CLIENT_QUOTAS, 1, components=(), strict=False).entries == ()
    anything = {"resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1,
                "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}  # fmt: skip
    assert wire.ask(1, api.DESCRIBE_ACLS, 3, **anything).error_code == E.SECURITY_DISABLED
    (refused,) = wire.ask(1, api.DELETE_ACLS, 3, filters=[anything]).filter_results
    assert (refused.error_code, refused.matching_acls) == (E.SECURITY_DISABLED, ())
    new = {"resource_type": 2, "resource_name": "t", "resource_pattern_type": 3, "principal": "User:a", "host": "*",
           "operation": 3, "permission_type": 3}  # fmt: skip
    assert [each.error_code for each in wire.ask(1, api.CREATE_ACLS, 3, creations=[new, new]).results] == [
        E.SECURITY_DISABLED, E.SECURITY_DISABLED,
    ]  # fmt: skip
