"""Administrators on the wire: what is made, what is only looked at, and what is no topic."""

from pathlib import Path
from typing import Any

import pytest

from cluster_model.protocol.errors import KafkaError as E
from faults.declarations import Action
from gateway.handlers.configs import ALL_BROKERS, DEFAULT
from gateway.protocol import api_versions
from gateway.protocol.context import LOG_DIR
from playbooks.engine.replay import replay
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from tests.gateway.hosting import playbook
from tests.gateway.wire import Wire

ALONE = """
floodmark: 1
name: alone
seed: 5
cluster: {{kafka: "{kafka}", brokers: 1{extra}, config: {{num.partitions: 2, default.replication.factor: 1}}}}
topics: [{{name: orders, partitions: 1, replication: 1}}]
settle: 1s
"""
TOPIC, BROKER, GROUP = 2, 4, 32
MODES = ["2.8", "4.1"]
"""In ZooKeeper mode and in KRaft mode."""


def wired(kafka: str) -> Wire:
    wire = Wire(playbook(kafka))
    wire.run(2)
    return wire


def controller(wire: Wire) -> int:
    return int(wire.ask(1, api_versions.METADATA, 5, topics=(), allow_auto_topic_creation=False).controller_id)


def topics(wire: Wire) -> set[str]:
    wire.run(1)
    return {name.rpartition("-")[0] for name in wire.session.cluster.cluster_state.records}


def create(wire: Wire, name: str, *, validate_only: bool = False, version: int = 5, **said: Any) -> Any:
    topic = {"name": name, "num_partitions": -1, "replication_factor": -1, "assignments": (), "configs": (), **said}
    answer = wire.ask(
        controller(wire), api_versions.CREATE_TOPICS, version, topics=[topic], timeout=9_000,
        validate_only=validate_only,
    )  # fmt: skip
    (told,) = answer.topics
    return told


@pytest.mark.parametrize("kafka", MODES)
class TestCreateTopics:
    def test_the_answer_has_the_real_numbers_and_all_configurations(self, kafka: str) -> None:
        wire = wired(kafka)
        told = create(wire, "made", configs=[{"name": "retention.ms", "value": "60000"}])
        assert (told.error_code, told.num_partitions, told.replication_factor) == (E.NONE, 3, 3)
        configs = {each.name: (each.value, each.config_source) for each in told.configs}
        assert configs["retention.ms"] == ("60000", 1)
        by_elr = wire.session.cluster.profile.elr
        assert configs["min.insync.replicas"] == ("1", ALL_BROKERS if by_elr else DEFAULT)
        assert configs["flush.messages"][0] == "9223372036854775807"

    def test_every_broker_learns_the_configurations_of_a_new_topic(self, kafka: str) -> None:
        wire = wired(kafka)
        configs = [{"name": "min.insync.replicas", "value": "3"}]
        for name in ("made", "again"):
            assert create(wire, name, configs=configs if name == "made" else []).error_code == E.NONE
            wire.run(1)
        for broker in wire.session.cluster.brokers.values():
            assert broker.settings.overrides("made") == {"min.insync.replicas": 3}
            assert broker.settings.overrides("again") == {}
            assert [broker.replicas[f"made-{number}"].min_isr for number in range(3)] == [3, 3, 3]

    def test_given_assignments_are_counted(self, kafka: str) -> None:
        placed = [{"partition_index": each, "broker_ids": (1, 2)} for each in range(2)]
        told = create(wired(kafka), "made", assignments=placed)
        assert (told.error_code, told.num_partitions, told.replication_factor) == (E.NONE, 2, 2)

    def test_validate_only_creates_no_topic(self, kafka: str) -> None:
        wire = wired(kafka)
        told = create(wire, "made", validate_only=True)
        assert (told.error_code, told.num_partitions, told.replication_factor) == (E.NONE, 3, 3)
        assert create(wire, "orders", validate_only=True).error_code == E.TOPIC_ALREADY_EXISTS
        assert create(wire, "made", validate_only=True, replication_factor=9).error_code == E.INVALID_REPLICATION_FACTOR
        assert topics(wire) == {"orders"}

    @pytest.mark.parametrize(
        "name", ["a b", "..", "", "a" * 250, "é"], ids=["blank", "dots", "empty", "long", "accent"]
    )
    def test_invalid_topic_names_are_rejected(self, kafka: str, name: str) -> None:
        wire = wired(kafka)
        told = create(wire, name)
        assert (told.error_code, told.num_partitions, told.replication_factor) == (E.INVALID_TOPIC_EXCEPTION, -1, -1)
        assert told.configs == ()
        assert topics(wire) == {"orders"}


@pytest.mark.parametrize(("kafka", "extra"), [("2.8", ""), ("3.9", ", controllers: [1]")])
def test_a_client_that_makes_a_topic_finds_it(kafka: str, extra: str) -> None:
    """``DelayedCreatePartitions`` and ``DelayedDeleteTopics``; a controller that is the broker itself has no delay."""
    wire = Wire(loads(ALONE.format(kafka=kafka, extra=extra), "alone.yaml"))
    wire.run(2)

    def found() -> dict[str, list[int]]:
        answer = wire.ask(1, api_versions.METADATA, 5, topics=None, allow_auto_topic_creation=False)
        return {each.name: [one.leader_id for one in each.partitions] for each in answer.topics}

    assert create(wire, "made").error_code == E.NONE
    assert found() == {"orders": [1], "made": [1, 1]}
    more = [{"name": "made", "count": 4, "assignments": None}]
    wire.ask(1, api_versions.CREATE_PARTITIONS, 1, timeout=9_000, validate_only=False, topics=more)
    assert found()["made"] == [1, 1, 1, 1]
    wire.ask(1, api_versions.DELETE_TOPICS, 3, topic_names=("made",), timeout=9_000)
    assert found() == {"orders": [1]}


@pytest.mark.parametrize(("timeout_ms", "error"), [(300, E.REQUEST_TIMED_OUT), (0, E.NONE)])
def test_a_topic_without_a_leader_is_answered_after_the_timeout(timeout_ms: int, error: E) -> None:
    wire = wired("2.8")
    lead = controller(wire)
    wire.engine.act(Action("inject", "stale_metadata", f"broker({lead})", {}, 9_000_000))
    began = wire.session.cluster.now_us
    answer = wire.ask(
        lead, api_versions.CREATE_TOPICS, 3, timeout=timeout_ms, validate_only=False,
        topics=[{"name": "made", "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}],
    )  # fmt: skip
    assert [each.error_code for each in answer.topics] == [error]
    assert (wire.session.cluster.now_us - began >= 300_000) is (timeout_ms > 0)


@pytest.mark.parametrize("kafka", MODES)
class TestElectLeaders:
    """``ReplicationControlManager.electLeaders``, ``KafkaApis.handleElectLeaders`` in ZooKeeper mode."""

    def asked(self, wire: Wire, numbers: tuple[int, ...] | None, kind: int = 0, topic: str = "orders") -> Any:
        topics = None if numbers is None else [{"topic": topic, "partitions": numbers}] if numbers else ()
        answer = wire.ask(
            controller(wire), api_versions.ELECT_LEADERS, 2, election_type=kind, topic_partitions=topics, timeout=9_000
        )
        rows = [
            (each.partition_id, each.error_code) for told in answer.replica_election_results
            for each in told.partition_result
        ]  # fmt: skip
        return answer.error_code, rows

    def test_nothing_is_to_be_done(self, kafka: str) -> None:
        wire = wired(kafka)
        assert self.asked(wire, (0, 1)) == (E.NONE, [(0, E.ELECTION_NOT_NEEDED), (1, E.ELECTION_NOT_NEEDED)])
        assert self.asked(wire, (0,), 1) == (E.NONE, [(0, E.ELECTION_NOT_NEEDED)])
        assert self.asked(wire, (7,)) == (E.NONE, [(7, E.UNKNOWN_TOPIC_OR_PARTITION)])
        assert self.asked(wire, None) == (E.NONE, [])

    @pytest.mark.slow
    def test_the_preferred_leader_is_elected_of_what_is_named(self, kafka: str) -> None:
        wire = wired(kafka)
        preferred = wire.session.cluster.cluster_state.records["orders-0"].state.replicas[0]
        wire.engine.act(Action("inject", "crash", f"broker({preferred})", {}, 3_000_000))
        wire.run(30)
        assert wire.session.cluster.cluster_state.records["orders-0"].state.leader != preferred
        assert self.asked(wire, ()) == (E.NONE, [])
        wire.run(1)
        assert wire.session.cluster.cluster_state.records["orders-0"].state.leader != preferred
        assert self.asked(wire, (0,)) == (E.NONE, [(0, E.NONE)])
        wire.run(1)
        assert wire.session.cluster.cluster_state.records["orders-0"].state.leader == preferred

    def test_another_kind_of_election_is_refused(self, kafka: str) -> None:
        assert self.asked(wired(kafka), (0,), 9) == (E.INVALID_REQUEST, [(0, E.INVALID_REQUEST)])


class TestDescribeTopicPartitions:
    """``DescribeTopicPartitionsRequestHandler`` (KIP-966)."""

    def page(self, wire: Wire, *names: str, limit: int = 2_000, cursor: tuple[str, int] | None = None) -> Any:
        following = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
        return wire.ask(
            2, api_versions.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[{"name": name} for name in names],
            response_partition_limit=limit, cursor=following,
        )  # fmt: skip

    def test_pages_follow_each_other(self) -> None:
        wire = wired("4.1")
        assert create(wire, "made").error_code == E.NONE
        wire.run(1)
        found: list[tuple[str, int]] = []
        cursor, pages = None, 0
        while pages == 0 or cursor is not None:
            told = self.page(wire, limit=2, cursor=cursor)
            found += [(topic.name, each.partition_index) for topic in told.topics for each in topic.partitions]
            following = told.next_cursor
            cursor = None if following is None else (following.topic_name, following.partition_index)
            pages += 1
        assert found == [(name, number) for name in ("made", "orders") for number in range(3)]
        assert pages == 3

    def test_requested_unknown_topics_get_an_error(self) -> None:
        told = self.page(wired("4.1"), "nope", "no pe", "orders")
        assert {each.name: (each.error_code, len(each.partitions)) for each in told.topics} == {
            "nope": (E.UNKNOWN_TOPIC_OR_PARTITION, 0), "no pe": (E.INVALID_TOPIC_EXCEPTION, 0), "orders": (E.NONE, 3),
        }  # fmt: skip

    def test_replicas_that_may_lead_though_they_are_out_of_the_isr_are_reported(self) -> None:
        wire = wired("4.1")
        for broker in (2, 3):
            wire.engine.act(Action("inject", "crash", f"broker({broker})", {}, 90_000_000))
            wire.run(12)
        asked = {"topics": [{"name": "orders"}], "response_partition_limit": 9, "cursor": None}
        told = wire.ask(1, api_versions.DESCRIBE_TOPIC_PARTITIONS, 0, **asked)
        states = wire.session.cluster.brokers[1].states
        for each in told.topics[0].partitions:
            state = states[f"orders-{each.partition_index}"]
            assert each.isr_nodes == (1,)
            assert each.eligible_leader_replicas == state.elr != ()
            assert set(each.offline_replicas) == {2, 3}

    @pytest.mark.parametrize("cursor", [("other", 0), ("orders", -1)])
    def test_a_cursor_that_fits_nothing_is_refused(self, cursor: tuple[str, int]) -> None:
        told = self.page(wired("4.1"), "orders", cursor=cursor)
        assert [each.error_code for each in told.topics] == [E.INVALID_REQUEST]


def test_resources_with_configurations_are_listed_by_type() -> None:
    """``KafkaApis.handleListConfigResources`` (KIP-1142)."""
    wire = wired("4.1")
    told = wire.ask(1, api_versions.LIST_CONFIG_RESOURCES, 1, resource_types=(TOPIC, BROKER))
    found = [(each.resource_type, each.resource_name) for each in told.config_resources]
    assert found == [(TOPIC, "orders"), *[(BROKER, name) for name in "123"]]
    odd = wire.ask(1, api_versions.LIST_CONFIG_RESOURCES, 1, resource_types=(99,))
    assert (odd.error_code, odd.config_resources) == (E.UNSUPPORTED_VERSION, ())
    assert wire.ask(1, api_versions.LIST_CONFIG_RESOURCES, 0).config_resources == ()


def test_a_broker_is_forgotten_for_good() -> None:
    """``ClusterControlManager.unregisterBroker``."""
    wire = wired("4.1")
    assert wire.ask(1, api_versions.UNREGISTER_BROKER, 0, broker_id=77).error_code == E.BROKER_ID_NOT_REGISTERED
    wire.engine.act(Action("inject", "crash", "broker(3)", {}, 90_000_000))
    wire.run(12)
    assert wire.session.cluster.brokers[1].control.fenced_brokers() == (3,)
    assert wire.ask(1, api_versions.UNREGISTER_BROKER, 0, broker_id=3).error_code == E.NONE
    wire.run(1)
    assert wire.session.cluster.brokers[1].control.fenced_brokers() == ()
    assert api_versions.UNREGISTER_BROKER not in Wire(playbook("2.8")).context.ranges


def test_replicas_are_in_the_only_directory() -> None:
    """``ReplicaManager.alterReplicaLogDirs``."""
    wire = wired("4.1")
    placed = [{"partition_index": 0, "broker_ids": (2,)}]
    assert create(wire, "elsewhere", assignments=placed).error_code == E.NONE
    wire.run(1)
    dirs = [
        {"path": path, "topics": [{"name": topic, "partitions": (0,)}]}
        for path, topic in ((LOG_DIR, "orders"), (LOG_DIR, "elsewhere"), (LOG_DIR, "nope"), ("/tmp/other", "made"))
    ]
    told = wire.ask(1, api_versions.ALTER_REPLICA_LOG_DIRS, 2, dirs=dirs)
    assert [(each.topic_name, each.partitions[0].error_code) for each in told.results] == [
        ("orders", E.NONE), ("elsewhere", E.REPLICA_NOT_AVAILABLE), ("nope", E.UNKNOWN_TOPIC_OR_PARTITION),
        ("made", E.LOG_DIR_NOT_FOUND),
    ]  # fmt: skip


@pytest.mark.parametrize("kafka", MODES)
def test_partitions_that_are_only_looked_at_are_not_added(kafka: str) -> None:
    wire = wired(kafka)
    for validate_only, count in ((True, 3), (False, 5)):
        answer = wire.ask(
            controller(wire), api_versions.CREATE_PARTITIONS, 1, timeout=9_000, validate_only=validate_only,
            topics=[{"name": "orders", "count": 5, "assignments": None}],
        )  # fmt: skip
        assert [each.error_code for each in answer.results] == [E.NONE]
        wire.run(1)
        assert len(wire.session.cluster.cluster_state.records) == count


def altered(wire: Wire, kind: int, name: str, *, validate_only: bool = False) -> list[int]:
    config = {"name": "retention.ms", "config_operation": 0, "value": "70000"}
    answer = wire.ask(
        controller(wire), api_versions.INCREMENTAL_ALTER_CONFIGS, 0, validate_only=validate_only,
        resources=[{"resource_type": kind, "resource_name": name, "configs": [config]},
                   {"resource_type": kind, "resource_name": "orders", "configs": [config]}],
    )  # fmt: skip
    wire.run(1)
    return [each.error_code for each in answer.responses]


def retention(wire: Wire) -> Any:
    return wire.session.cluster.brokers[1].settings.overrides("orders").get("retention.ms")


@pytest.mark.parametrize("kafka", MODES)
class TestIncrementalAlterConfigs:
    def test_validate_only_changes_no_config(self, kafka: str) -> None:
        wire = wired(kafka)
        expected = [E.UNKNOWN_TOPIC_OR_PARTITION, E.NONE]
        assert altered(wire, TOPIC, "nope", validate_only=True) == expected
        assert retention(wire) is None
        assert altered(wire, TOPIC, "nope") == expected
        assert retention(wire) == 70_000

    @pytest.mark.slow
    @pytest.mark.parametrize(("operation", "given", "policy"), [
        (2, "compact", "delete,compact"), (2, "delete", "delete"), (3, "delete", ""), (3, "compact", "delete"),
    ])  # fmt: skip
    def test_appending_to_an_unset_list_config_starts_from_the_default(
        self, kafka: str, operation: int, given: str, policy: str
    ) -> None:
        wire = wired(kafka)
        config = {"name": "cleanup.policy", "config_operation": operation, "value": given}
        answer = wire.ask(
            controller(wire), api_versions.INCREMENTAL_ALTER_CONFIGS, 0, validate_only=False,
            resources=[{"resource_type": TOPIC, "resource_name": "orders", "configs": [config]}],
        )  # fmt: skip
        assert [each.error_code for each in answer.responses] == [E.NONE]
        wire.run(1)
        broker = wire.session.cluster.brokers[1]
        assert broker.settings.overrides("orders").get("cleanup.policy", "delete") == policy
        rules = broker.replicas["orders-0"].log.rules
        assert (rules.delete, rules.compact) == ("delete" in policy, "compact" in policy)

    def test_configs_of_other_resources_do_not_change_topics(self, kafka: str) -> None:
        wire = wired(kafka)
        assert altered(wire, GROUP, "billing") == [E.INVALID_REQUEST, E.INVALID_REQUEST]
        assert retention(wire) is None


@pytest.mark.parametrize("broker", [1, 2, 3])
def test_every_broker_changes_configurations_in_zookeeper_and_reads_them_there(broker: int, tmp_path: Path) -> None:
    """``KafkaApis.handleAlterConfigsRequest`` needs no controller, ``describeConfigs`` reads ZooKeeper."""
    wire = Wire(playbook("2.4"), tmp_path)
    wire.run(2)
    config = {"name": "cleanup.policy", "value": "compact"}
    asked = [{"resource_type": TOPIC, "resource_name": "orders", "configs": [config]}]
    answer = wire.ask(broker, api_versions.ALTER_CONFIGS, 1, validate_only=False, resources=asked)
    assert [each.error_code for each in answer.responses] == [E.NONE]
    wanted = [{"resource_type": TOPIC, "resource_name": "orders", "configuration_keys": ("cleanup.policy",)}]
    told = wire.ask(broker, api_versions.DESCRIBE_CONFIGS, 2, resources=wanted, include_synonyms=False)
    assert [(each.value, each.config_source) for each in told.results[0].configs] == [("compact", 1)]
    result = wire.close()
    recorder = wire.session.recorder
    assert recorder is not None
    assert replay(read_session(recorder.path)).digest == result.digest


@pytest.mark.parametrize(("kafka", "error"), [("2.8", E.LEADER_NOT_AVAILABLE), ("4.1", E.UNKNOWN_TOPIC_OR_PARTITION)])
class TestMetadata:
    def asked(self, wire: Wire, *names: str, creates: bool = True) -> list[int]:
        asked = [{"name": name} for name in names]
        answer = wire.ask(2, api_versions.METADATA, 5, topics=asked, allow_auto_topic_creation=creates)
        return [each.error_code for each in answer.topics]

    def test_metadata_requests_create_missing_topics(self, kafka: str, error: E) -> None:
        wire = wired(kafka)
        assert self.asked(wire, "orders", "made") == [E.NONE, error]
        assert topics(wire) == {"orders", "made"}
        assert self.asked(wire, "made") == [E.NONE]

    def test_not_where_the_client_does_not_want_it(self, kafka: str, error: E) -> None:
        wire = wired(kafka)
        assert self.asked(wire, "made", creates=False) == [E.UNKNOWN_TOPIC_OR_PARTITION]
        assert topics(wire) == {"orders"}
        assert error != E.NONE

    @pytest.mark.parametrize("creates", [True, False])
    def test_invalid_names_are_not_auto_created(self, kafka: str, error: E, creates: bool) -> None:
        wire = wired(kafka)
        found = self.asked(wire, "a b", "..", "made", creates=creates)
        assert found == [E.INVALID_TOPIC_EXCEPTION] * 2 + [error if creates else E.UNKNOWN_TOPIC_OR_PARTITION]
        assert topics(wire) == ({"orders", "made"} if creates else {"orders"})
