"""The newest version of each API by release, and what the newest versions bring."""

from typing import Any

import pytest

from cluster_model.protocol.errors import KafkaError as E
from gateway.handlers.metadata import REBOOTSTRAP_REQUIRED
from gateway.protocol import api_versions as api
from gateway.protocol.context import CLUSTER_ID
from tests.gateway.hosting import playbook
from tests.gateway.wire import Wire


@pytest.mark.parametrize(("number", "ceilings"), [
    # As ``validVersions`` of Kafka's message schemas, and ``schemaVersions`` before 2.3, have them.
    (api.LIST_OFFSETS, {"2.0": 3, "2.1": 4, "2.2": 5, "2.8": 6, "3.4": 7, "3.5": 8, "3.9": 9, "4.1": 10, "4.2": 11}),
    (api.OFFSET_COMMIT, {"4.1": 9, "4.2": 10}),
    (api.OFFSET_FETCH, {"4.1": 9, "4.2": 10}),
    (api.DESCRIBE_LOG_DIRS, {"4.2": 4, "4.3": 5}),
    (api.JOIN_GROUP, {"2.4": 6, "2.5": 7, "3.1": 7, "3.2": 9}),
    (api.FIND_COORDINATOR, {"3.7": 4, "3.8": 5, "3.9": 6}),
    (api.DESCRIBE_GROUPS, {"3.9": 5, "4.0": 6}),
    (api.DESCRIBE_CLUSTER, {"2.7": None, "2.8": 0, "3.7": 1, "4.0": 2}),
    (api.CREATE_PARTITIONS, {"2.4": 1, "2.5": 2, "2.7": 3}),
    (api.DELETE_RECORDS, {"2.5": 1, "2.6": 2}),
    (api.API_VERSIONS, {"3.8": 3, "3.9": 4, "4.3": 4, "4.4": 5}),
    (api.TXN_OFFSET_COMMIT, {"4.0": 5, "4.3": 5, "4.4": 6}),
    (api.DELETE_GROUPS, {"4.3": 2, "4.4": 3}),
    (api.DESCRIBE_CONFIGS, {"1.0": None, "1.1": 1, "2.0": 2}),
])  # fmt: skip
def test_the_newest_version_is_that_of_the_release(number: int, ceilings: dict[str, int | None]) -> None:
    found = {}
    for release in ceilings:
        major, minor = map(int, release.split("."))
        _low, found[release] = api.offered((major, minor, 0)).get(number, (0, None))
    assert found == ceilings


@pytest.fixture(scope="module")
def wire() -> Wire:
    wire = Wire(playbook("4.1"))
    wire.run(2)
    return wire


def offsets(wire: Wire, version: int, timestamp: int) -> Any:
    leader = wire.session.cluster.cluster_state.records["orders-0"].leader
    asked = [{"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1}]
    answer = wire.ask(
        leader, api.LIST_OFFSETS, version, replica_id=-1, isolation_level=0,
        topics=[{"name": "orders", "partitions": asked}], **({"timeout": 1_000} if version >= 10 else {}),
    )  # fmt: skip
    ((told,),) = [topic.partitions for topic in answer.topics]
    return told


@pytest.mark.parametrize(("version", "timestamp", "error", "offset"), [
    (6, -3, E.UNSUPPORTED_VERSION, -1), (7, -3, E.NONE, -1),
    (7, -4, E.UNSUPPORTED_VERSION, -1), (8, -4, E.NONE, 0),
    (8, -5, E.UNSUPPORTED_VERSION, -1), (9, -5, E.NONE, -1),
    (10, -6, E.UNSUPPORTED_VERSION, -1), (10, -1, E.NONE, 0), (10, -2, E.NONE, 0),
])  # fmt: skip
def test_special_timestamps_are_supported_since_their_version(
    wire: Wire, version: int, timestamp: int, error: E, offset: int
) -> None:
    told = offsets(wire, version, timestamp)
    assert (told.error_code, told.offset) == (error, offset)


def test_without_tiered_storage_no_offset_waits_for_its_upload() -> None:
    wire = Wire(playbook("4.2"))
    wire.run(2)
    told = offsets(wire, 11, -6)
    assert (told.error_code, told.offset) == (E.NONE, -1)


def test_duplicate_partitions_are_rejected_and_missing_ones_unknown(wire: Wire) -> None:
    leader = wire.session.cluster.cluster_state.records["orders-0"].leader
    asked = [{"partition_index": each, "timestamp": stamp, "current_leader_epoch": -1} for each, stamp in
             ((0, -1), (0, 5), (9, -5))]  # fmt: skip
    answer = wire.ask(
        leader, api.LIST_OFFSETS, 9, replica_id=-1, isolation_level=0, topics=[{"name": "orders", "partitions": asked}]
    )
    found = {each.partition_index: each.error_code for topic in answer.topics for each in topic.partitions}
    assert found == {0: E.INVALID_REQUEST, 9: E.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize(("version", "error"), [(5, E.NONE), (6, E.GROUP_ID_NOT_FOUND)])
def test_a_group_that_is_not_there_is_dead_and_from_version_6_on_an_error(wire: Wire, version: int, error: E) -> None:
    at = -1
    while at < 0:
        wire.run(0.2)
        at = wire.ask(1, api.FIND_COORDINATOR, 3, key="nobodys", key_type=0).node_id
    while True:
        answer = wire.ask(at, api.DESCRIBE_GROUPS, version, groups=("nobodys",))
        (told,) = answer.groups
        if told.error_code not in (E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR):
            break
        wire.run(0.2)
    assert (told.error_code, told.group_state) == (error, "Dead")


def test_share_groups_have_no_coordinator(wire: Wire) -> None:
    answer = wire.ask(1, api.FIND_COORDINATOR, 6, key_type=2, coordinator_keys=("g:id:0",))
    (told,) = answer.coordinators
    assert (told.error_code, told.node_id) == (E.INVALID_REQUEST, -1)


@pytest.fixture(scope="module")
def newest() -> Wire:
    wire = Wire(playbook("4.4"))
    wire.run(2)
    return wire


@pytest.mark.parametrize(("target", "error"), [
    ({}, E.NONE),
    ({"cluster_id": CLUSTER_ID, "node_id": 2}, E.NONE),
    ({"cluster_id": CLUSTER_ID, "node_id": 1}, REBOOTSTRAP_REQUIRED),
    ({"cluster_id": "another", "node_id": 2}, REBOOTSTRAP_REQUIRED),
    ({"cluster_id": CLUSTER_ID}, E.INVALID_REQUEST),
    ({"node_id": 2}, E.INVALID_REQUEST),
])  # fmt: skip
def test_api_versions_rejects_another_expected_node_id(newest: Wire, target: dict[str, Any], error: int) -> None:
    answer = newest.ask(2, api.API_VERSIONS, 5, client_software_name="c", client_software_version="1", **target)
    assert answer.error_code == error
    assert bool(answer.api_keys) == (error == E.NONE)


def test_an_unknown_group_is_not_deleted_and_has_no_message(newest: Wire) -> None:
    empty = "unused"
    at = newest.ask(1, api.FIND_COORDINATOR, 1, key=empty, key_type=0).node_id
    while at < 0:
        newest.run(0.2)
        at = newest.ask(1, api.FIND_COORDINATOR, 1, key=empty, key_type=0).node_id
    newest.run(1)
    answer = newest.ask(at, api.DELETE_GROUPS, 3, groups_names=(empty,))
    assert [(each.group_id, each.error_code, each.error_message) for each in answer.results] == [
        (empty, E.GROUP_ID_NOT_FOUND, None)
    ]
