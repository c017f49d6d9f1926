"""Settings of playbooks as Kafka's configurations and as settings of the Java clients."""

import re
from dataclasses import replace

import pytest

from cluster_model.spec import (
    BrokerSpec,
    ClosedLoop,
    ClusterSpec,
    GroupSpec,
    ProducerSpec,
    TopicSpec,
    TransactionPlan,
    ZipfKeys,
)
from playbooks.parser import loader
from tests.real_kafka.settings import (
    consumer_settings,
    features,
    producer_settings,
    properties_text,
    refused_group,
    refused_producer,
    server_config,
    with_small_cluster,
)

WHERE = "10.77.0.1:9092"


def cluster(**config: int | str | bool) -> ClusterSpec:
    return ClusterSpec("4.1", "kraft", (BrokerSpec(1),), (), config=dict(config))


def test_servers_have_the_configurations_of_the_playbook_and_few_threads() -> None:
    found = server_config(cluster(**{"replica.lag.time.max.ms": 5_000, "unclean.leader.election.enable": True}))
    assert found["replica.lag.time.max.ms"] == "5000"
    assert found["unclean.leader.election.enable"] == "true"
    assert int(found["num.network.threads"]) < 3


def test_a_playbook_overrides_the_small_cluster() -> None:
    spec = with_small_cluster(cluster(**{"offsets.topic.num.partitions": 50}))
    assert server_config(spec)["offsets.topic.num.partitions"] == "50"
    assert with_small_cluster(cluster()).config["offsets.topic.num.partitions"] == 5


def test_feature_levels_are_for_the_formatter() -> None:
    spec = cluster(**{"eligible.leader.replicas.version": 1, "num.partitions": 2})
    assert features(spec) == {"eligible.leader.replicas.version": 1}
    assert "eligible.leader.replicas.version" not in server_config(spec)


def producer(**changes: object) -> dict[str, str]:
    fields: dict[str, object] = {"name": "checkout", "topic": "orders", "interval_us": 5_000} | changes
    return producer_settings(ProducerSpec(**fields), WHERE, 3)  # type: ignore[arg-type]


def test_a_producer_has_its_configurations_and_load() -> None:
    found = producer(config={"acks": "all", "linger.ms": 5, "enable.idempotence": False}, keys=7)
    kafka = {name: value for name, value in found.items() if name.startswith("config.")}
    assert kafka == {
        "config.bootstrap.servers": WHERE, "config.client.id": "checkout", "config.acks": "all",
        "config.linger.ms": "5", "config.enable.idempotence": "false",
    }  # fmt: skip
    wanted = {"interval_ns": "5000000", "batch": "1", "keys": "7", "send": "async"}
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("rate", "interval_ns"),
    [("200/s", 5_000_000), ("300/s", 3_333_333), ("1/m", 60_000_000_000), ("2500/s", 400_000)],
)
def test_rates_as_playbooks_write_them(rate: str, interval_ns: int) -> None:
    text = f"""\
floodmark: 1
cluster: {{kafka: "4.1"}}
topics: [{{name: orders, replication: 3}}]
clients: {{producers: [{{name: checkout, topic: orders, rate: {rate}}}]}}
"""
    (spec,) = loader.loads(text, "some.yaml").spec.producers
    found = producer_settings(spec, WHERE, 0)
    assert int(found["interval_ns"]) // int(found["batch"]) == interval_ns
    assert list(refused_producer(spec)) == []


def test_a_closed_loop_and_transactions() -> None:
    found = producer(loop=ClosedLoop(4, 1_000), transactions=TransactionPlan(records=10, abort=3))
    assert (found["loop.outstanding"], found["loop.think_us"]) == ("4", "1000")
    assert (found["transaction.records"], found["transaction.abort"]) == ("10", "3")


def test_class_names_without_their_package() -> None:
    found = producer(config={"partitioner.class": "RoundRobinPartitioner"})
    assert found["config.partitioner.class"] == "org.apache.kafka.clients.producer.RoundRobinPartitioner"
    assignors = {"partition.assignment.strategy": "CooperativeStickyAssignor, range"}
    group = consumer_settings(GroupSpec("billing", ("orders",), config=dict(assignors)), 0, WHERE)
    assert group["config.partition.assignment.strategy"].split(",") == [
        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        "org.apache.kafka.clients.consumer.RangeAssignor",
    ]


@pytest.mark.parametrize(("commit", "automatic"), [("auto", "true"), ("sync", "false"), ("before", "false")])
def test_commits_of_a_group(commit: str, automatic: str) -> None:
    found = consumer_settings(GroupSpec("billing", ("orders", "refunds"), 2, 500, commit=commit), 1, WHERE)
    assert found["config.enable.auto.commit"] == automatic
    wanted = ("billing/1", "orders,refunds", commit, "500")
    assert (found["name"], found["topics"], found["commit"], found["processing_us"]) == wanted


def test_members_that_are_static() -> None:
    numbered = GroupSpec("billing", ("orders",), 2, config={"group.instance.id": "m"})
    assert [consumer_settings(numbered, member, WHERE)["config.group.instance.id"] for member in (0, 1)] == [
        "m-0",
        "m-1",
    ]
    named = GroupSpec("billing", ("orders",), 2, instances=("x", "x"), racks=("a", "b"))
    found = consumer_settings(named, 1, WHERE)
    assert (found["config.group.instance.id"], found["config.client.rack"]) == ("x", "b")


def test_clients_that_the_java_program_does_not_have() -> None:
    assert len(list(refused_producer(ProducerSpec("checkout", "orders", 5, skew=ZipfKeys(1_000), resends=True)))) == 2
    assert len(list(refused_group(GroupSpec("billing", ("orders",), commit="handed_off", output_topic="paid")))) == 2


def test_properties_survive_their_separators() -> None:
    text = properties_text({"a": "x=y:z # ü\\"})
    name, _, value = text.rstrip("\n").partition("=")
    plain = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), value)
    assert (name, plain) == ("a", "x=y:z # ü\\")
    assert text.isascii()
    assert text.count("=") == 1


def test_a_group_without_a_coordinator_shares_the_partitions_in_ranges() -> None:
    group = GroupSpec("audit", ("orders",), 2, config={"auto.offset.reset": "earliest"}, coordinated=False)
    found = [consumer_settings(group, member, WHERE, {"orders": 3}) for member in (0, 1)]
    assert [each["assign"] for each in found] == ["orders-0,orders-1", "orders-2"]
    assert {each["coordinated"] for each in found} == {"false"}
    assert [("config.group.id" in each, each["config.enable.auto.commit"]) for each in found] == [(False, "false")] * 2


def test_an_internal_topic_of_the_playbook_has_its_own_number_of_partitions() -> None:
    spec = replace(cluster(), topics=(TopicSpec("__transaction_state", placement=((2, 3, 1),)),))
    assert with_small_cluster(spec).config["transaction.state.log.num.partitions"] == 1
