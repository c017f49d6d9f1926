"""Every control plane comes out the same everywhere, with all of its operations, its faults and its partitions."""

from functools import cache

import pytest

from cluster_model.protocol.events import (
    ControllerChanged,
    Event,
    FaultInjected,
    FeatureFinalized,
    LeaderElected,
    NodeUpgraded,
    PartitionDeleted,
)
from faults.declarations.operation import OPERATIONS
from tests.determinism.elsewhere import elsewhere
from tests.determinism.planes import PLANES, operations, run
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

OF_COORDINATORS = {
    "reset_offsets", "describe_group", "list_groups", "delete_group", "delete_offsets",
    "list_transactions", "describe_producers", "find_hanging", "abort_transaction",
}  # fmt: skip
"""Operations that ask coordinators and leaders, no controller; bundled playbooks of groups have them."""


@cache
def here(plane: str) -> tuple[list[Event], str]:
    """Once, at one go."""
    _session, events, text = run(plane, "whole")
    return events, text


@pytest.mark.parametrize(("slices", "hash_seed"), spread_sample([("event", "4242"), ("whole", "0"), ("slice", "1")], 1))
@pytest.mark.parametrize("plane", PLANES)
def test_a_digest_is_the_same_everywhere(plane: str, slices: str, hash_seed: str) -> None:
    assert elsewhere("planes", slices, hash_seed=hash_seed)[plane] == here(plane)[1]


@pytest.mark.parametrize("plane", PLANES)
def test_looking_back_in_between_changes_nothing(plane: str) -> None:
    assert run(plane, "keyframes")[2] == here(plane)[1]


@pytest.mark.parametrize("plane", PLANES)
def test_the_digested_run_covers_all_operations(plane: str) -> None:
    """Else these digests would say little."""
    events, _text = here(plane)
    asked, errors = operations(events)
    planned = sorted(set(OPERATIONS) - OF_COORDINATORS)
    if plane == "zookeeper":
        planned[planned.index("upgrade_features")] = "rolling_upgrade"
    assert sorted(asked) == sorted(planned)
    assert {NodeUpgraded, *([] if plane == "zookeeper" else [FeatureFinalized])} <= {type(event) for event in events}
    assert errors == [""] * len(planned)
    assert [event.fault for event in events if isinstance(event, FaultInjected)].count("partition") == 2
    kinds = [type(event) for event in events]
    assert kinds.count(ControllerChanged) >= 2
    assert kinds.count(LeaderElected) > 10
    assert PartitionDeleted in kinds


def test_each_plane_is_one_of_its_own() -> None:
    assert len({here(plane)[1] for plane in PLANES}) == len(PLANES)
