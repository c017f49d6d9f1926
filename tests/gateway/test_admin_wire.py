"""Administrators on the wire: what is made, what is only looked at, and what is no topic."""

from typing import Any

import pytest

from cluster_model.protocol.errors import KafkaError as E
from gateway.handlers.configs import ALL_BROKERS, DEFAULT
from gateway.protocol import api_versions
from tests.gateway.hosting import playbook
from tests.gateway.wire import Wire

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
    return {name.rpartition("-")[0] for name in wire.session.cluster.world.records}


def create(wire: Wire, name: str, *, validate_only: bool = False, **said: Any) -> Any:
    topic = {"name": name, "num_partitions": -1, "replication_factor": -1, "assignments": (), "configs": (), **said}
    answer = wire.ask(
        controller(wire), api_versions.CREATE_TOPICS, 5, topics=[topic], timeout=9_000, validate_only=validate_only
    )
    (told,) = answer.topics
    return told


@pytest.mark.parametrize("kafka", MODES)
class TestCreateTopics:
    def test_the_answer_has_the_real_numbers_and_all_configurations(self, kafka: str) -> None:
        told = create(wired(kafka), "made", configs=[{"name": "retention.ms", "value": "60000"}])
        assert (told.error_code, told.num_partitions, told.replication_factor) == (E.NONE, 3, 3)
        configs = {each.name: (each.value, each.config_source) for each in told.configs}
        assert configs["retention.ms"] == ("60000", 1)
        by_elr = wired(kafka).session.cluster.profile.elr
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

    def test_what_is_only_looked_at_is_not_made(self, kafka: str) -> None:
        wire = wired(kafka)
        told = create(wire, "made", validate_only=True)
        assert (told.error_code, told.num_partitions, told.replication_factor) == (E.NONE, 3, 3)
        assert create(wire, "orders", validate_only=True).error_code == E.TOPIC_ALREADY_EXISTS
        assert create(wire, "made", validate_only=True, replication_factor=9).error_code == E.INVALID_REPLICATION_FACTOR
        assert topics(wire) == {"orders"}

    @pytest.mark.parametrize(
        "name", ["a b", "..", "", "a" * 250, "é"], ids=["blank", "dots", "empty", "long", "accent"]
    )
    def test_what_is_no_name_is_refused(self, kafka: str, name: str) -> None:
        wire = wired(kafka)
        told = create(wire, name)
        assert (told.error_code, told.num_partitions, told.replication_factor) == (E.INVALID_TOPIC_EXCEPTION, -1, -1)
        assert told.configs == ()
        assert topics(wire) == {"orders"}


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
        assert len(wire.session.cluster.world.records) == count


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
    def test_what_is_only_looked_at_is_not_changed(self, kafka: str) -> None:
        wire = wired(kafka)
        expected = [E.UNKNOWN_TOPIC_OR_PARTITION, E.NONE]
        assert altered(wire, TOPIC, "nope", validate_only=True) == expected
        assert retention(wire) is None
        assert altered(wire, TOPIC, "nope") == expected
        assert retention(wire) == 70_000

    @pytest.mark.parametrize(("operation", "given", "policy"), [
        (2, "compact", "delete,compact"), (2, "delete", "delete"), (3, "delete", ""), (3, "compact", "delete"),
    ])  # fmt: skip
    def test_a_list_that_nobody_gave_begins_as_kafkas_default(
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

    def test_what_is_no_topic_is_not_taken_for_one(self, kafka: str) -> None:
        wire = wired(kafka)
        assert altered(wire, GROUP, "billing") == [E.INVALID_REQUEST, E.INVALID_REQUEST]
        assert retention(wire) is None


@pytest.mark.parametrize(("kafka", "error"), [("2.8", E.LEADER_NOT_AVAILABLE), ("4.1", E.UNKNOWN_TOPIC_OR_PARTITION)])
class TestMetadata:
    def asked(self, wire: Wire, *names: str, creates: bool = True) -> list[int]:
        asked = [{"name": name} for name in names]
        answer = wire.ask(2, api_versions.METADATA, 5, topics=asked, allow_auto_topic_creation=creates)
        return [each.error_code for each in answer.topics]

    def test_a_topic_that_is_asked_for_is_made(self, kafka: str, error: E) -> None:
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
    def test_what_is_no_name_is_told_so_and_not_made(self, kafka: str, error: E, creates: bool) -> None:
        wire = wired(kafka)
        found = self.asked(wire, "a b", "..", "made", creates=creates)
        assert found == [E.INVALID_TOPIC_EXCEPTION] * 2 + [error if creates else E.UNKNOWN_TOPIC_OR_PARTITION]
        assert topics(wire) == ({"orders", "made"} if creates else {"orders"})
