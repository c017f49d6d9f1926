"""The other formats: kcat's JSON, server.properties, Strimzi's resources; and inputs together."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playbooks.cluster_import import read_inputs
from playbooks.cluster_import.description import NO_LEADER, ClusterDescription
from playbooks.errors import PlaybookError, Problem

KCAT: dict[str, Any] = {
    "originating_broker": {"id": 1, "name": "h:9092/1"},
    "query": {"topic": "*"},
    "controllerid": 1,
    "brokers": [{"id": 1, "name": "h:9092"}, {"id": 2, "name": "g:9092"}],
    "topics": [
        {
            "topic": "orders",
            "partitions": [
                {"partition": 0, "leader": 2, "replicas": [{"id": 1}, {"id": 2}], "isrs": [{"id": 2}]},
                {"partition": 1, "leader": -1, "error": "no leader", "replicas": [{"id": 2}], "isrs": []},
            ],
        }
    ],
}
PROPERTIES = """\
# a broker
broker.id=3
broker.rack = eu-west-1a
zookeeper.connect=a:2181,b:2181,c:2181/kafka
min.insync.replicas=2
log.dirs=/a,\\
  /b
inter.broker.protocol.version=2.8
"""
STRIMZI = """\
apiVersion: v1
kind: List
items:
- apiVersion: kafka.strimzi.io/v1beta2
  kind: Kafka
  metadata: {name: shop}
  spec:
    kafka:
      version: 3.9.0
      rack: {topologyKey: topology.kubernetes.io/zone}
      config: {min.insync.replicas: 2, default.replication.factor: 3}
- apiVersion: kafka.strimzi.io/v1beta2
  kind: KafkaNodePool
  metadata: {name: brokers, labels: {strimzi.io/cluster: shop}}
  spec: {replicas: 3, roles: [broker]}
  status: {nodeIds: [0, 1, 2]}
- apiVersion: kafka.strimzi.io/v1beta2
  kind: KafkaNodePool
  metadata:
    {name: controllers, labels: {strimzi.io/cluster: shop}, annotations: {strimzi.io/next-node-ids: "[100-102]"}}
  spec: {replicas: 3, roles: [controller]}
- apiVersion: kafka.strimzi.io/v1beta2
  kind: KafkaTopic
  metadata: {name: orders, labels: {strimzi.io/cluster: shop}}
  spec: {partitions: 6, replicas: 3, config: {retention.ms: 1000}}
- apiVersion: kafka.strimzi.io/v1beta2
  kind: KafkaTopic
  metadata: {name: consumer-offsets---84e7a, labels: {strimzi.io/cluster: shop}}
  spec: {topicName: __consumer_offsets, partitions: 50, replicas: 3}
"""

Read = Callable[..., ClusterDescription]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read_texts(**texts: str) -> ClusterDescription:
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        return read_inputs([str(tmp_path / name) for name in texts])

    return read_texts


def refused(read: Read, **texts: str) -> list[Problem]:
    with pytest.raises(PlaybookError) as raised:
        read(**texts)
    return list(raised.value.problems)


def test_kcat_has_placement_leaders_and_isr(read: Read) -> None:
    description = read(kcat=json.dumps(KCAT))
    rows = [(each.replicas, each.leader, each.isr) for each in description.topics["orders"].partitions.values()]
    assert rows == [((1, 2), 2, (2,)), ((2,), NO_LEADER, ())]
    assert sorted(description.brokers) == [1, 2]


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        (("brokers", 0, "id"), "one", "brokers[1].id"),
        (("brokers",), None, "brokers"),
        (("topics", 0, "topic"), 7, "topics[1].topic"),
        (("topics", 0, "error"), "unauthorized", "topics[1].error"),
        (("topics", 0, "partitions", 1, "partition"), 5, "topics[1].partitions"),
        (("topics", 0, "partitions", 0, "replicas"), [{"id": 1}, {"id": 1}], "topics[1].partitions[1].replicas"),
        (("topics", 0, "partitions", 0, "leader"), True, "topics[1].partitions[1].leader"),
    ],
)
def test_wrong_values_of_kcat_are_named(read: Read, path: tuple[Any, ...], value: Any, key: str) -> None:
    document = json.loads(json.dumps(KCAT))
    node = document
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    assert key in [problem.key for problem in refused(read, kcat=json.dumps(document))]


def test_json_that_was_cut_is_named_with_its_line(read: Read) -> None:
    assert refused(read, kcat=json.dumps(KCAT, indent=1)[:-20])[0].line > 1


def test_server_properties_are_a_broker_with_its_configs(read: Read) -> None:
    description = read(**{"server.properties": PROPERTIES})
    broker = description.brokers[3]
    assert (broker.rack, description.zookeepers) == ("eu-west-1a", 3)
    assert {name: given.value for name, given in broker.configs.items()} == {
        "min.insync.replicas": "2",
        "log.dirs": "/a,/b",
    }
    assert description.protocol is not None
    assert (description.protocol.value, description.protocol.place.line) == ("2.8", 8)


def test_a_folder_has_brokers_and_controllers(read: Read, tmp_path: Path) -> None:
    voters = "controller.quorum.voters=1@a:9093,2@b:9093,3@c:9093\n"
    for number, roles in ((1, "controller"), (2, "broker,controller"), (4, "broker")):
        (tmp_path / f"node{number}").mkdir()
        (tmp_path / f"node{number}" / "server.properties").write_text(
            f"node.id={number}\nprocess.roles={roles}\n{voters}"
        )
    (tmp_path / "log4j.properties").write_text("log4j.rootLogger=INFO\n")
    (tmp_path / "meta.properties").write_text("node.id=9\nversion=1\n")
    description = read_inputs([str(tmp_path)])
    assert sorted(description.brokers) == [2, 4]
    assert description.voters == (1, 2, 3)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("node.id=x\nprocess.roles=broker\n", 1),
        ("node.id=1\nbroker.id=2\n", 2),
        ("num.io.threads=4\nbroker.id=-1\n", 2),
        ("num.io.threads=4\n", 0),
        ("node.id=1\nprocess.roles=broker,leader\n", 2),
        ("node.id=1\nprocess.roles=broker\n\ncontroller.quorum.voters=1@a:1,x\n", 4),
        ("node.id=1\na=\\u00zz\n", 2),
    ],
)
def test_wrong_properties_are_named_with_their_lines(read: Read, text: str, line: int) -> None:
    assert [problem.line for problem in refused(read, **{"server.properties": text})] == [line]


def test_strimzi_has_nodes_by_pool_and_topics_without_placement(read: Read) -> None:
    description = read(resources=STRIMZI)
    assert sorted(description.brokers) == [0, 1, 2]
    assert description.voters == (100, 101, 102)
    assert description.kafka is not None
    assert description.kafka.value == "3.9.0"
    topics = {name: (topic.partition_count, topic.replication) for name, topic in description.topics.items()}
    assert topics == {"orders": (6, 3), "__consumer_offsets": (50, 3)}
    assert len(description.notes) == 2


def test_a_strimzi_cluster_without_pools_has_zookeeper(read: Read) -> None:
    text = "apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: a}\n"
    description = read(kafka=text + "spec: {kafka: {version: 3.3.1, replicas: 2}, zookeeper: {replicas: 5}}\n")
    assert sorted(description.brokers) == [0, 1]
    assert description.zookeepers == 5
    assert description.mode is not None
    assert description.mode.value == "zookeeper"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("partitions: 6", "partitions: six"), 25),
        (("roles: [broker]", "roles: [leader]"), 15),
        (("{retention.ms: 1000}", "{retention.ms: [1]}"), 25),
        (("strimzi.io/cluster: shop}}\n  spec: {partitions", "strimzi.io/cluster: other}}\n  spec: {partitions"), 22),
        (("items:", "items: ["), 4),
    ],
)
def test_wrong_resources_are_named_with_their_lines(read: Read, change: tuple[str, str], line: int) -> None:
    assert line in [problem.line for problem in refused(read, resources=STRIMZI.replace(*change))]


def test_deep_yaml_is_refused(read: Read) -> None:
    assert len(refused(read, resources="apiVersion: v1\nx: " + "[" * 100_000)) == 1


def test_inputs_complete_each_other(read: Read) -> None:
    description = read(kcat=json.dumps(KCAT), node="broker.id=2\nbroker.rack=b\nnum.io.threads=4\n")
    assert description.brokers[2].rack == "b"
    assert description.topics["orders"].partitions[0].leader == 2


def test_contradictions_are_named_with_both_places(read: Read) -> None:
    moved = json.loads(json.dumps(KCAT))
    moved["topics"][0]["partitions"][0]["replicas"] = [{"id": 2}, {"id": 1}]
    found = refused(read, kcat=json.dumps(KCAT), later=json.dumps(moved))
    assert [problem.key for problem in found] == ["topics[1].partitions[1]"]


@pytest.mark.parametrize("text", ["", "hello\nworld\n", "\0"])
def test_text_of_no_known_format_is_refused(read: Read, text: str) -> None:
    assert len(refused(read, some=text)) == 1


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"Topic: \xe9")
    (tmp_path / "empty").mkdir()
    for name in ("none", "latin", "empty"):
        with pytest.raises(PlaybookError):
            read_inputs([str(tmp_path / name)])
