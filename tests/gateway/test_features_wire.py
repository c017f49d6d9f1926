"""UpdateFeatures on the wire (KIP-584, KIP-778): what is refused, and by which error."""

from pathlib import Path
from typing import Any

import pytest

from cluster_model.protocol.errors import KafkaError as E
from cluster_model.protocol.features import GROUP_FEATURE, SHARE_FEATURE, STREAMS_FEATURE, features_of
from cluster_model.protocol.versions import Profile
from gateway.protocol import api_versions as api
from playbooks.engine.replay import replay
from playbooks.recording.reader import read_session
from tests.gateway.hosting import playbook
from tests.gateway.test_admin_wire import controller, create
from tests.gateway.test_batches import built
from tests.gateway.test_inspection_wire import quorum
from tests.gateway.test_records_wire import produce
from tests.gateway.wire import Wire

UP, SAFE, UNSAFE, ODD = 1, 2, 3, 9
ELR, METADATA, TRANSACTION, KRAFT = (
    "eligible.leader.replicas.version", "metadata.version", "transaction.version", "kraft.version",
)  # fmt: skip


@pytest.mark.parametrize(("kafka", "metadata", "share", "streams"), [
    ("4.0", (7, 25, 25), None, None), ("4.1", (7, 27, 27), (0, 1, 0), None), ("4.2", (7, 29, 29), (0, 1, 1), (0, 1, 1)),
    ("4.3", (7, 30, 30), (0, 1, 1), (0, 1, 1)), ("4.4", (7, 33, 33), (0, 2, 2), (0, 1, 1)),
])  # fmt: skip
def test_levels_are_those_of_a_new_cluster(
    kafka: str, metadata: tuple[int, int, int], share: tuple[int, int, int] | None,
    streams: tuple[int, int, int] | None,
) -> None:  # fmt: skip
    found = {name: (low, high, level) for name, low, high, level in features_of(Profile.of(kafka), {})}
    assert (found[METADATA], found.get(SHARE_FEATURE), found.get(STREAMS_FEATURE)) == (metadata, share, streams)
    assert found[GROUP_FEATURE] == (0, 1, 1)


def update(
    wire: Wire, *updates: tuple[str, int, int], version: int = 1, validate_only: bool = False, broker: int = 0
) -> Any:
    asked = [{"feature": name, "max_version_level": level, "upgrade_type": kind} for name, level, kind in updates]
    return wire.ask(
        broker or controller(wire), api.UPDATE_FEATURES, version, timeout=9_000, feature_updates=asked,
        validate_only=validate_only,
    )  # fmt: skip


@pytest.fixture(scope="module")
def kraft() -> Wire:
    wire = Wire(playbook("4.1"))
    wire.run(2)
    return wire


@pytest.mark.parametrize(("asked", "error"), [
    ((METADATA, 27, UP), E.NONE),
    ((METADATA, 27, SAFE), E.NONE),
    ((METADATA, 24, SAFE), E.NONE),
    ((METADATA, 24, UP), E.INVALID_UPDATE_VERSION),
    ((METADATA, 22, SAFE), E.INVALID_UPDATE_VERSION),
    ((METADATA, 22, UNSAFE), E.INVALID_UPDATE_VERSION),
    ((METADATA, 28, UP), E.INVALID_UPDATE_VERSION),
    ((METADATA, 6, SAFE), E.INVALID_UPDATE_VERSION),
    ((METADATA, 27, ODD), E.INVALID_UPDATE_VERSION),
    ((TRANSACTION, 1, SAFE), E.NONE),
    ((TRANSACTION, 1, UP), E.INVALID_UPDATE_VERSION),
    ((TRANSACTION, 3, UP), E.INVALID_UPDATE_VERSION),
    ((TRANSACTION, -1, SAFE), E.INVALID_UPDATE_VERSION),
    ((KRAFT, 1, UP), E.NONE),
    ((KRAFT, 1, SAFE), E.INVALID_UPDATE_VERSION),
    (("nope", 1, UP), E.INVALID_UPDATE_VERSION),
])  # fmt: skip
def test_validate_only_feature_updates_return_kafkas_errors(kraft: Wire, asked: tuple[str, int, int], error: E) -> None:
    """``FeatureControlManager.updateFeature``."""
    told = update(kraft, asked, validate_only=True)
    assert told.error_code == error
    assert [(each.feature, each.error_code) for each in told.results] == ([] if error else [(asked[0], E.NONE)])


def finalized(wire: Wire, broker: int) -> tuple[int, dict[str, int]]:
    """Epoch and levels of the finalized features, as a broker reports them."""
    told = wire.ask(broker, api.API_VERSIONS, 3, client_software_name="test", client_software_version="1")
    return told.finalized_features_epoch, {each.name: each.max_version_level for each in told.finalized_features}


def test_every_broker_reports_a_level_that_was_changed() -> None:
    wire = Wire(playbook("4.1"))
    wire.run(2)
    before = {broker: finalized(wire, broker) for broker in (1, 2, 3)}
    assert {levels[TRANSACTION] for _epoch, levels in before.values()} == {2}
    assert update(wire, (TRANSACTION, 1, SAFE)).error_code == E.NONE
    wire.run(1)
    after = {broker: finalized(wire, broker) for broker in (1, 2, 3)}
    assert {levels[TRANSACTION] for _epoch, levels in after.values()} == {1}
    assert all(after[broker][0] > before[broker][0] for broker in after)
    assert not any(
        wire.session.cluster.profile_of(node).transactions_v2 for node in wire.session.cluster.releases.nodes
    )


def test_feature_levels_updated_together_must_be_compatible(kraft: Wire) -> None:
    """``EligibleLeaderReplicasVersion`` depends on a level of ``metadata.version``."""
    fits = update(kraft, (ELR, 1, UP), (METADATA, 24, SAFE), validate_only=True, version=2)
    assert fits.error_code == E.NONE
    refused = update(kraft, (METADATA, 22, SAFE), (ELR, 1, UP), validate_only=True, version=2)
    assert refused.error_code == E.INVALID_UPDATE_VERSION


def test_before_4_0_each_feature_has_an_error_of_its_own() -> None:
    wire = Wire(playbook("3.9"))
    wire.run(2)
    told = update(wire, (METADATA, 22, UP), (KRAFT, 0, UP), ("nope", 1, UP), broker=2)
    found = {each.feature: each.error_code for each in told.results}
    assert told.error_code == E.NONE
    assert found == {METADATA: E.INVALID_UPDATE_VERSION, KRAFT: E.NONE, "nope": E.INVALID_UPDATE_VERSION}
    assert update(wire, (METADATA, 3, SAFE)).results[0].error_code == E.INVALID_UPDATE_VERSION


@pytest.mark.parametrize(("allows", "error"), [(False, E.INVALID_UPDATE_VERSION), (True, E.NONE)])
def test_version_0_says_whether_a_downgrade_is_allowed(allows: bool, error: E) -> None:
    wire = Wire(playbook("4.1"))
    wire.run(2)
    asked = [{"feature": TRANSACTION, "max_version_level": 1, "allow_downgrade": allows}]
    assert wire.ask(1, api.UPDATE_FEATURES, 0, timeout=9_000, feature_updates=asked).error_code == error


@pytest.mark.slow
@pytest.mark.parametrize("kafka", ["2.8", "4.1"])
def test_replays_of_admin_requests_have_the_same_digest(kafka: str, tmp_path: Path) -> None:
    """Topics that wait for their leaders, batches that are compressed anew, and what KRaft's controller is asked."""
    wire = Wire(playbook(kafka, min_isr=1), tmp_path)
    wire.run(2)
    placed = [{"partition_index": 0, "broker_ids": (1,)}]
    packed = [{"name": "compression.type", "value": "lz4"}]
    assert create(wire, "packed", assignments=placed, configs=packed).error_code == E.NONE
    wire.run(1)
    assert produce(wire, 1, "packed", 0, built(1)).error_code == E.NONE
    if kafka == "4.1":
        assert update(wire, (TRANSACTION, 1, SAFE), validate_only=True).error_code == E.NONE
        assert quorum(wire).error_code == E.NONE
        wire.run(1)
        assert quorum(wire, broker=3).error_code == E.NONE
        wire.ask(1, api.UNREGISTER_BROKER, 0, broker_id=77)
    recorder = wire.session.recorder
    assert recorder is not None
    result = wire.close()
    assert replay(read_session(recorder.path)).digest == result.digest


@pytest.mark.slow
def test_in_zookeeper_mode_the_controller_knows_no_feature() -> None:
    """``KafkaController.processFeatureUpdates``: brokers support none."""
    wire = Wire(playbook("2.8"))
    wire.run(2)
    active = controller(wire)
    asked = [{"feature": METADATA, "max_version_level": 1, "allow_downgrade": False}]
    told = wire.ask(active, api.UPDATE_FEATURES, 0, timeout=9_000, feature_updates=asked)
    assert [(each.feature, each.error_code) for each in told.results] == [(METADATA, E.INVALID_REQUEST)]
    other = next(broker for broker in wire.session.cluster.brokers if broker != active)
    told = wire.ask(other, api.UPDATE_FEATURES, 0, timeout=9_000, feature_updates=asked)
    assert (told.error_code, told.results) == (E.NOT_CONTROLLER, ())
