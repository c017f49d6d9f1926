"""Nodes of several releases in one cluster: what each of them follows, and that a change of it loses nothing."""

from collections.abc import Callable, Mapping
from itertools import cycle

import pytest

from cluster_model.cluster import Cluster
from cluster_model.protocol.admin_messages import FeatureUpdate, UpdateFeaturesRequest, UpdateFeaturesResponse
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import FeatureFinalized, NodeUpgraded
from cluster_model.protocol.features import (
    METADATA_FEATURE,
    ClusterLevels,
    at_levels,
    highest_levels,
    levels_of_release,
)
from cluster_model.protocol.metadata_versions import latest_of
from cluster_model.protocol.versions import ELR_FEATURE, GROUP_FEATURE, TRANSACTION_FEATURE, Profile
from cluster_model.spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec

SECOND = 1_000_000
SOON: Mapping[str, Mapping[str, ConfigValue]] = {
    "kraft": {"broker.session.timeout.ms": 3_000}, "zookeeper": {"zookeeper.session.timeout.ms": 3_000}
}  # fmt: skip


def cluster_of(kafka: str, mode: str, *, combined: tuple[int, ...] = ()) -> Cluster:
    """Three brokers with a topic that is written and read all the time."""
    producer = ProducerSpec("checkout", "orders", 20_000, config={"acks": "all"})
    spec = ClusterSpec(
        kafka=kafka, mode=mode, brokers=tuple(BrokerSpec(number) for number in (1, 2, 3)), combined=combined,
        topics=(TopicSpec("orders", 3, 3),), producers=(producer,), groups=(GroupSpec("billing", ("orders",), 2),),
        config=dict(SOON[mode]),
    )  # fmt: skip
    return Cluster.build(spec, 3)


def play(cluster: Cluster, every_us: int, each: Callable[[int], None]) -> tuple[str, int]:
    """A broker crashes and comes back, another pauses; ``each`` is called with a node again and again."""
    nodes = cycle(cluster.releases.nodes)
    actions = {
        3: lambda: cluster.crash(1),
        5: lambda: cluster.restart(1),
        8: lambda: cluster.pause(2),
        10: lambda: cluster.resume(2),
    }
    for second in range(14):
        actions.get(second, lambda: None)()
        while cluster.now_us < (second + 1) * SECOND:
            cluster.run(min(cluster.now_us + every_us, (second + 1) * SECOND))
            each(next(nodes))
    return cluster.digest(), cluster.executed


@pytest.mark.parametrize(("kafka", "mode", "combined"), [
    ("4.4", "kraft", ()), ("3.6", "kraft", (1, 2, 3)), ("2.0", "zookeeper", ()), ("3.9", "zookeeper", ()),
])  # fmt: skip
def test_a_rebuilt_node_continues_unchanged(kafka: str, mode: str, combined: tuple[int, ...]) -> None:
    left, rebuilt = (cluster_of(kafka, mode, combined=combined) for _ in range(2))
    expected = play(left, 310_000, left.network.wake_exchanges)
    assert play(rebuilt, 310_000, lambda node: rebuilt.install(node, rebuilt.profile_of(node))) == expected


def levels(protocol: str, oldest: str, **features: int) -> ClusterLevels:
    return ClusterLevels(latest_of(protocol).name, Profile.of(oldest).number, tuple(features.items()))


def test_rules_of_the_protocol_wait_for_it_and_rules_of_the_software_do_not() -> None:
    newer = Profile.of("2.8", "zookeeper")
    mixed = at_levels(newer, levels("2.6", "2.6"))
    gated = {"diverging_fetch", "alter_partition", "topic_ids"}
    differing = {name for name in Profile.__dataclass_fields__ if getattr(mixed, name) != getattr(newer, name)}
    assert differing == {*gated, "protocol"}
    assert at_levels(newer, levels("2.8", "2.8")) == at_levels(newer, levels("2.8", "2.6"))


def test_features_of_kraft_are_off_until_they_are_finalized() -> None:
    newer = Profile.of("4.1")
    mixed = at_levels(newer, levels("3.9", "3.9"))
    assert (mixed.elr, mixed.transactions_v2, mixed.consumer_protocol) == (False, False, False)
    features = ClusterLevels("4.1-IV1", newer.number, tuple(levels_of_release("4.1").items()))
    whole = at_levels(newer, features)
    assert (whole.elr, whole.transactions_v2, whole.consumer_protocol) == (True, True, True)


def test_a_request_is_used_once_the_oldest_node_understands_it() -> None:
    newer = Profile.of("3.6")
    verifying = [at_levels(newer, levels("3.5", oldest)).verifies_transactions for oldest in ("3.5", "3.6")]
    assert verifying == [False, True]


@pytest.mark.parametrize(("release", "expected"), [
    ("3.9", {METADATA_FEATURE: 21}),
    ("4.0", {METADATA_FEATURE: 25, TRANSACTION_FEATURE: 2, GROUP_FEATURE: 1, ELR_FEATURE: 0}),
    ("4.1", {METADATA_FEATURE: 27, TRANSACTION_FEATURE: 2, GROUP_FEATURE: 1, ELR_FEATURE: 1}),
])  # fmt: skip
def test_levels_of_a_release_are_those_of_its_new_clusters(release: str, expected: dict[str, int]) -> None:
    """``kafka-features.sh version-mapping``."""
    found = levels_of_release(release)
    assert {name: found[name] for name in expected} == expected
    assert all(level <= highest_levels(found[METADATA_FEATURE]).get(name, 0) for name, level in found.items())


def update(cluster: Cluster, feature: str, level: int) -> UpdateFeaturesResponse:
    """Ask the cluster's controller for a level, and wait for the answer."""
    answers: list[UpdateFeaturesResponse] = []
    cluster.admin.on_answer = lambda _token, answer: answers.append(answer)  # type: ignore[arg-type]
    cluster.admin.ask(1, UpdateFeaturesRequest(0, (FeatureUpdate(feature, level),), False))
    cluster.run(cluster.now_us + 3 * SECOND)
    return answers[0]


def upgrade(cluster: Cluster, node: int, version: str, protocol: str = "") -> None:
    cluster.shutdown(node)
    while cluster.is_up(node):
        cluster.run(cluster.now_us + SECOND // 10)
    cluster.upgrade(node, version, protocol)
    cluster.restart(node)
    cluster.run(cluster.now_us + 6 * SECOND)


def test_levels_are_finalized_when_every_broker_supports_them() -> None:
    cluster = cluster_of("3.9", "kraft")
    cluster.run(SECOND)
    for node in (1001, 1002, 1003, 1, 2):
        upgrade(cluster, node, "4.1")
    refused = update(cluster, METADATA_FEATURE, 27)
    assert (refused.error, cluster.profile.version) == (KafkaError.INVALID_UPDATE_VERSION, "3.9")
    upgrade(cluster, 3, "4.1")
    assert (cluster.profile.version, cluster.profile.protocol) == ("4.1", "3.9-IV0")
    assert update(cluster, METADATA_FEATURE, 27).error == KafkaError.NONE
    assert update(cluster, ELR_FEATURE, 1).error == KafkaError.NONE
    assert {cluster.profile_of(node).elr for node in cluster.releases.nodes} == {True}
    assert {cluster.releases.of(node).protocol for node in cluster.releases.nodes} == {"4.1-IV1"}
    events = cluster.drain()
    assert [event.node for event in events if isinstance(event, NodeUpgraded)][-1] == "broker 3"
    assert len([event for event in events if isinstance(event, FeatureFinalized)]) == 2


def test_a_broker_that_is_too_old_for_the_levels_is_not_registered() -> None:
    """``ClusterControlManager.processRegistrationFeature``."""
    cluster = cluster_of("4.0", "kraft")
    cluster.run(SECOND)
    upgrade(cluster, 1, "3.9")
    assert cluster.is_up(1)
    assert not cluster.brokers[1].control.registered
    upgrade(cluster, 1, "4.0.1")
    assert cluster.brokers[1].control.registered


def test_a_keyframe_remembers_what_each_node_ran() -> None:
    cluster = cluster_of("2.6", "zookeeper")
    cluster.run(4 * SECOND)
    before = cluster.save()
    upgrade(cluster, 1, "2.8")
    mixed = cluster.save()
    upgrade(cluster, 2, "2.8", "2.8")
    end = cluster.now_us + 5 * SECOND
    cluster.run(end)
    digest = cluster.digest()
    twin = cluster.twin()
    for each in (cluster, twin):
        each.load(mixed)
        assert [each.releases.of(node).version for node in (1, 2)] == ["2.8", "2.6"]
        upgrade(each, 2, "2.8", "2.8")
        each.run(end)
        assert each.digest() == digest
    twin.load(before)
    assert {twin.profile_of(node) for node in (1, 2, 3)} == {twin.spec.profile}


@pytest.mark.parametrize(("kafka", "mode", "node", "version", "protocol", "code"), [
    ("3.9", "zookeeper", 1, "4.0", "", "no_mode"),
    ("3.9", "kraft", 1, "3.2", "", "no_mode"),
    ("3.9", "kraft", 1, "3.10", "", "no_version"),
    ("3.9", "kraft", 9, "3.9", "", "no_node"),
    ("2.8", "zookeeper", 1, "2.6", "", "unknown_protocol"),
    ("2.6", "zookeeper", 1, "2.7", "2.8", "unknown_protocol"),
])  # fmt: skip
def test_releases_that_a_node_cannot_run_are_rejected(
    kafka: str, mode: str, node: int, version: str, protocol: str, code: str
) -> None:
    releases = cluster_of(kafka, mode).releases
    with pytest.raises(ModelError) as refused:
        releases.upgrade(node, version, protocol)
    assert refused.value.code == code
    assert releases.save() == ()


def test_the_software_of_a_running_process_is_not_replaced() -> None:
    cluster = cluster_of("3.9", "kraft")
    with pytest.raises(ModelError) as refused:
        cluster.upgrade(1, "4.0")
    assert refused.value.code == "running"
