"""Rolling upgrades lose nothing, finalize new levels, and come out the same in slices and after seeking."""

import pytest

from cluster_model.protocol.events import FaultInjected, FeatureFinalized, NodeUpgraded
from tests.determinism.upgrades import LONG, UPGRADES, Upgrade, answers, run
from tests.support.breadth import EVENING, spread_sample

pytestmark = pytest.mark.slow

SEEDS = (1, 2) if EVENING else (1,)
FEW = [UPGRADES[5], *LONG[2:]]
"""One upgrade in ZooKeeper mode, and one in each mode of a KRaft quorum."""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "upgrade", UPGRADES if EVENING else FEW, ids=lambda upgrade: f"{upgrade.before}-{upgrade.after}-{upgrade.mode}"
)
def test_an_upgrade_keeps_every_acknowledged_record(upgrade: Upgrade, seed: int) -> None:
    """The cluster is mixed for some time, a broker crashes meanwhile, and the new levels are finalized at the end."""
    result, events, text = run(upgrade, "whole", seed)
    assert [error for _operation, error in answers(events)] == ["", "", ""]
    assert sum(isinstance(event, FaultInjected) for event in events) == 2
    assert sum(isinstance(event, NodeUpgraded) for event in events) >= 3
    if upgrade.mode == "kraft":
        assert any(isinstance(event, FeatureFinalized) for event in events)
    assert [violation for violation in result.violations if not violation.known] == []
    assert [violation for violation in result.liveness_violations if not violation.known] == []
    assert result.ledger.acked_lost == 0
    assert min(producer.acked for producer in result.clients.producers) > 100
    assert min(group.read for group in result.clients.groups) > 100
    for slices in spread_sample(["slice", "keyframes"], 1 + (upgrade in LONG)):
        assert (slices, run(upgrade, slices, seed)[2]) == (slices, text)
