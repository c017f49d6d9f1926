"""Effective configs, with their values and sources; the defaults are the version's own."""

from cluster_model.cluster import Cluster
from cluster_model.observation.cluster_state import ConfigEntry, format_value, of_broker, of_topic
from cluster_model.protocol.config_defs import BROKER, TOPIC
from cluster_model.protocol.configs import NEVER
from playbooks.parser.loader import loads

TEXT = """\
floodmark: 1
name: settings
cluster: {kafka: "%s", brokers: 2, config: {min.insync.replicas: 2, log.segment.bytes: 5000}}
topics:
  - {name: orders, placement: [[1, 2]], config: {retention.ms: 1000}}
  - {name: plain, placement: [[1, 2]]}
"""


def cluster(kafka: str = "3.9") -> Cluster:
    return Cluster.build(loads(TEXT % kafka, "settings.yaml").spec, 1)


def topic(found: Cluster, name: str) -> dict[str, ConfigEntry]:
    return {each.key.name: each for each in of_topic(found.brokers[1].settings, found.cluster_state.profile, name)}


def broker(found: Cluster) -> dict[str, ConfigEntry]:
    return {each.key.name: each for each in of_broker(found.brokers[1].settings, found.cluster_state.profile)}


def test_a_topic_has_its_own_else_the_brokers_else_the_versions() -> None:
    found = topic(cluster(), "orders")
    assert set(found) <= set(TOPIC)
    assert (found["retention.ms"].value, found["retention.ms"].source) == ("1000", "own")
    assert (found["segment.bytes"].value, found["segment.bytes"].source) == ("5000", "brokers")
    assert (found["min.insync.replicas"].value, found["min.insync.replicas"].source) == ("2", "brokers")
    assert found["max.message.bytes"].value == "1048588"
    assert found["flush.messages"].value == "never"
    assert topic(cluster(), "plain")["retention.ms"].value == "604800000"


def test_defaults_are_those_of_the_version() -> None:
    old, new = topic(cluster("0.10.0"), "orders"), topic(cluster("3.9"), "orders")
    assert (old["unclean.leader.election.enable"].value, new["unclean.leader.election.enable"].value) == (
        "true",
        "false",
    )
    assert old["max.message.bytes"].value == "1000012"
    assert broker(cluster("2.4"))["replica.lag.time.max.ms"].value == "10000"
    assert broker(cluster("3.9"))["replica.lag.time.max.ms"].value == "30000"


def test_a_broker_has_every_key_of_its_release_and_says_where_it_is_from() -> None:
    found = cluster()
    lacking = {
        "replica.lag.max.messages", "transaction.version", "eligible.leader.replicas.version",
        "group.consumer.assignment.interval.ms",
    }  # fmt: skip
    assert list(broker(found)) == [name for name in BROKER if name not in lacking]
    assert broker(found)["log.segment.bytes"].source == "start"
    assert broker(found)["num.io.threads"] == ConfigEntry(BROKER["num.io.threads"], "8", "default")
    assert broker(found)["num.partitions"].value == "1"
    assert broker(found)["log.roll.ms"].value == "", "it is unset: log.roll.hours holds"
    found.brokers[1].update_config({"log.segment.bytes": 9000})
    assert (broker(found)["log.segment.bytes"].value, broker(found)["log.segment.bytes"].source) == ("9000", "run time")


def test_asking_changes_nothing() -> None:
    found = cluster()
    before = found.brokers[1].settings.save()
    broker(found), topic(found, "orders")
    assert found.brokers[1].settings.save() == before


def test_values_as_they_are_written() -> None:
    assert [format_value(each) for each in (True, 7, "delete", NEVER)] == ["true", "7", "delete", "never"]
