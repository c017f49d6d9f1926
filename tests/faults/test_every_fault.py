"""Every fault of the catalogue on a whole, busy cluster: it heals, all is well afterwards, and it can be told again."""

import pytest

from faults.catalogue import CATALOGUE
from faults.fault import Behaviour, Fault
from tests.faults.rigs import unsettled
from tests.faults.whole import PLANES, SECOND, elsewhere, fits_plane, healed, ledger_faults, struck

CASES = [
    pytest.param(plane, fault, "", id=f"{plane}-{name}")
    for plane in ("kraft", "zookeeper")
    for name, fault in CATALOGUE.items()
    if fits_plane(fault, plane)
]
MORE = [
    pytest.param(plane, fault, target, id=f"{plane}-{name}-{target}")
    for plane in PLANES
    for name, fault in CATALOGUE.items()
    if fits_plane(fault, plane)
    for target in ("", *elsewhere(fault))
    if (plane == "kraft" and target) or (plane == "old" and not target)
]


def _all_is_well(plane: str, fault: Fault, target: str) -> None:
    cluster, board = struck(plane, fault, target)
    healed(cluster, board, 15 * SECOND)
    assert board.active() == ()
    assert unsettled(cluster) == []
    assert ledger_faults(cluster) == []
    assert cluster.query.acked() > 500


@pytest.mark.parametrize(("plane", "fault", "target"), CASES)
def test_all_is_well_after_a_fault(plane: str, fault: Fault, target: str) -> None:
    _all_is_well(plane, fault, target)


@pytest.mark.thorough
@pytest.mark.parametrize(("plane", "fault", "target"), MORE)
def test_all_is_well_after_a_fault_elsewhere(plane: str, fault: Fault, target: str) -> None:
    _all_is_well(plane, fault, target)


@pytest.mark.parametrize(
    ("plane", "fault", "target"),
    [
        pytest.param(*case.values, id=case.id, marks=() if case.values[0] == "kraft" else pytest.mark.thorough)
        for case in CASES
    ],
)
def test_a_fault_goes_back_with_its_cluster(plane: str, fault: Fault, target: str) -> None:
    """A keyframe in the middle of a fault holds all of it."""
    cluster, board = struck(plane, fault, target)
    cluster.run(cluster.now_us + 3 * SECOND)
    saved, active = (cluster.save(), board.save()), board.active()

    def go_on() -> tuple[str, object]:
        cluster.run(cluster.now_us + 4 * SECOND)
        board.heal("all")
        cluster.run(cluster.now_us + 6 * SECOND)
        return cluster.digest(), board.active()

    first = go_on()
    cluster.load(saved[0])
    board.load(saved[1])
    assert board.active() == active
    assert go_on() == first


@pytest.mark.parametrize("fault", [pytest.param(fault, id=name) for name, fault in CATALOGUE.items()])
def test_only_what_lasts_is_healed(fault: Fault) -> None:
    behaviour = type(fault.behaviour)
    assert (behaviour.heal is not Behaviour.heal) == fault.lasting
