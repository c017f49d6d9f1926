"""Faults on top of each other, drawn by Hypothesis: whatever they were, all is settled and whole after they heal."""

from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from faults.catalogue import CATALOGUE
from faults.declarations.fault import Action, FaultError
from tests.faults.rigs import begun, unsettled
from tests.faults.whole import (
    OWN,
    PLANES,
    SECOND,
    TARGETS,
    action_of,
    elsewhere,
    fits_plane,
    ledger_faults,
    settle,
    whole_cluster,
)
from tests.support.breadth import EVENING, sample_count

pytestmark = pytest.mark.slow

DAMAGING = ("power_loss", "lost_writeback", "corrupt_batch", "log_dir_failure", "disk_loss")
"""Faults that several of at once may take what acks=all had promised."""


class Strike(NamedTuple):
    """A fault, whom it strikes, for how long, and what passes until the next."""

    action: Action
    then_us: int


@st.composite
def strikes(draw: st.DrawFn, plane: str, names: tuple[str, ...]) -> Strike:
    fault = CATALOGUE[draw(st.sampled_from(names))]
    targets = (*([TARGETS[fault.accepts]] if fault.at_least == 1 else []), *elsewhere(fault))
    target = "" if fault.name in OWN else draw(st.sampled_from(targets))
    for_us = draw(st.sampled_from((-1, 2 * SECOND, 9 * SECOND)))
    return Strike(action_of(fault, target, for_us), draw(st.integers(0, 8)) * SECOND)


def _strategy(plane: str, names: tuple[str, ...]) -> st.SearchStrategy[list[Strike]]:
    return st.lists(strikes(plane, names), min_size=2, max_size=5)


def _names(plane: str, *, damaging: bool) -> tuple[str, ...]:
    return tuple(
        name for name, fault in CATALOGUE.items() if fits_plane(fault, plane) and (damaging or name not in DAMAGING)
    )


def _survives(plane: str, blows: list[Strike], *, promises: bool) -> None:
    cluster, board = begun(10 * SECOND, whole_cluster, plane=plane)
    landed = 0
    for action, then_us in blows:
        try:
            board.inject(action)
            landed += 1
        except FaultError:
            assert board.active() is not None
        cluster.run(cluster.now_us + then_us)
    assume(landed)
    cluster.run(cluster.now_us + 5 * SECOND)
    board.heal("all")
    settle(cluster, board)
    assert board.active() == ()
    if promises:
        assert unsettled(cluster) == []
        assert ledger_faults(cluster) == []
    else:
        assert [line for line in ledger_faults(cluster) if "settled" in line] == []


def _budget(examples: int) -> Any:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        database=None,
        phases=(
            Phase.explicit,
            Phase.generate,
        ),
    )


@_budget(sample_count(2, 8))
@given(st.data())
@pytest.mark.parametrize("plane", ["kraft", "zookeeper"])
def test_guarantees_are_kept_under_any_mix(plane: str, data: st.DataObject) -> None:
    blows = data.draw(_strategy(plane, _names(plane, damaging=False)))
    _survives(plane, blows, promises=True)


@_budget(sample_count(2, 40))
@given(st.data())
@pytest.mark.parametrize("plane", list(PLANES) if EVENING else ["old"])
def test_guarantees_are_kept_under_many_mixes(plane: str, data: st.DataObject) -> None:
    blows = data.draw(_strategy(plane, _names(plane, damaging=False)))
    _survives(plane, blows, promises=True)


@_budget(sample_count(2, 25))
@given(st.data())
@pytest.mark.parametrize("plane", ["kraft", "zookeeper"])
def test_statistics_are_settled_whatever_disks_lose(plane: str, data: st.DataObject) -> None:
    blows = data.draw(_strategy(plane, _names(plane, damaging=True)))
    _survives(plane, blows, promises=False)
