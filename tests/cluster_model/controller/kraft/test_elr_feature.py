"""The feature level ``eligible.leader.replicas.version`` of a formed cluster (KIP-966, KIP-584)."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import ELR_FEATURE, Profile, modes_of
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec
from tests.cluster_model.timelines import Watched

P = "orders-0"


def spec(kafka: str, mode: str, level: int) -> ClusterSpec:
    config: dict[str, ConfigValue] = {ELR_FEATURE: level}
    return ClusterSpec(kafka, mode, (BrokerSpec(1),), (), config=config)


def test_it_is_on_by_default_since_4_1_in_kraft_mode() -> None:
    on = [version for version in RELEASE_LINES if Profile.of(version).elr]
    assert on == ["4.1", "4.2", "4.3", "4.4"]


@pytest.mark.parametrize("kafka", ["3.9", "4.0", "4.1"])
@pytest.mark.parametrize("level", [0, 1])
def test_levels_that_a_release_has(kafka: str, level: int, snapshot: SnapshotAssertion) -> None:
    asked = spec(kafka, "kraft", level)
    if kafka == "3.9":
        with pytest.raises(ModelError) as caught:
            Cluster.build(asked, 1)
        assert caught.value.code == "not_in_version"
        assert str(caught.value) == snapshot
    else:
        assert asked.profile.elr == bool(level)
        assert asked.profile.name == f"{kafka}-kraft"
        Cluster.build(asked, 1).run(1_000)


def test_zookeeper_mode_has_none() -> None:
    for version in RELEASE_LINES:
        if "zookeeper" in modes_of(version):
            assert not spec(version, "zookeeper", 0).profile.elr
            with pytest.raises(ModelError) as caught:
                _ = spec(version, "zookeeper", 1).profile
            assert caught.value.code == "not_in_version"


@pytest.mark.parametrize(
    ("kafka", "level", "elr", "isr"),
    [("4.0", None, (), (1,)), ("4.0", 1, (1, 2), ()), ("4.1", None, (1, 2), ()), ("4.1", 0, (), (1,))],
)
def test_the_last_member_stays_in_the_isr_only_without_it(
    kafka: str, level: int | None, elr: tuple[int, ...], isr: tuple[int, ...]
) -> None:
    features: dict[str, ConfigValue] = {} if level is None else {ELR_FEATURE: level}
    watched = Watched(kafka, config={"min.insync.replicas": 2, **features})
    for broker in (3, 2, 1):
        watched.run(10)
        watched.cluster.crash(broker)
    watched.run(10)
    state = watched.cluster.cluster_state.records[P].state
    assert (state.isr, state.elr) == (isr, elr)
