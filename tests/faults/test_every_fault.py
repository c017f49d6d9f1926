"""Every fault of the catalogue on a whole, busy cluster: it heals, all is well afterwards, and it can be told again."""

import pytest

from cluster_model.cluster import Cluster
from faults.catalogue import CATALOGUE
from faults.declarations.fault import Behaviour, Fault
from faults.injector import FaultInjector
from tests.faults.rigs import unsettled
from tests.faults.whole import SECOND, elsewhere, fits_plane, ledger_faults, settle, struck
from tests.support.breadth import EVENING, spread_sample

pytestmark = pytest.mark.slow


def _turned(targets: tuple[str, ...], by: int) -> tuple[str, ...]:
    at = by % len(targets) if targets else 0
    return targets[at:] + targets[:at]


TELLING = {
    "kraft": tuple(CATALOGUE),
    "zookeeper": ("crash", "halves", "lost_writeback", "session_expiry", "controller_failover", "quorum_loss"),
    "old": ("crash", "majority_ring", "zombie_producer"),
}
"""Of the older planes those that sessions, controllers, ISRs and producers' ids have to do with."""
CASES = [
    pytest.param(plane, fault, id=f"{plane}-{fault.name}", marks=() if plane == "kraft" else pytest.mark.slow)
    for plane, telling in TELLING.items()
    for fault in CATALOGUE.values()
    if fits_plane(fault, plane) and (EVENING or fault.name in telling)
]
ELSEWHERE = [
    pytest.param(fault, target, id=f"{fault.name}-{target}")
    for number, fault in spread_sample([*enumerate(CATALOGUE.values())], 12)
    if fits_plane(fault, "kraft")
    for target in spread_sample(_turned(elsewhere(fault), number), 1)
]
"""Faults on another than their usual target."""


def _all_is_well(cluster: Cluster, board: FaultInjector) -> None:
    acked = cluster.query.acked()
    settle(cluster, board)
    assert board.active() == ()
    assert unsettled(cluster) == []
    assert ledger_faults(cluster) == []
    assert cluster.query.acked() > acked + 20


@pytest.mark.parametrize(("plane", "fault"), CASES)
def test_all_is_well_after_a_fault_that_went_back_with_its_cluster(plane: str, fault: Fault) -> None:
    """A keyframe in the middle of a fault holds all of it: what follows is the same again, and ends well."""
    cluster, board = struck(plane, fault)
    cluster.run(cluster.now_us + 2 * SECOND)
    saved, active = (cluster.save(), board.save()), board.active()

    def go_on() -> tuple[str, object]:
        cluster.run(cluster.now_us + (3 if plane == "kraft" else 5) * SECOND)  # a broker's session ends
        board.heal("all")
        cluster.run(cluster.now_us + SECOND)
        return cluster.digest(), board.active()

    first = go_on()
    cluster.load(saved[0])
    board.load(saved[1])
    assert board.active() == active
    assert go_on() == first
    _all_is_well(cluster, board)


@pytest.mark.parametrize(("fault", "target"), ELSEWHERE)
def test_all_is_well_after_a_fault_elsewhere(fault: Fault, target: str) -> None:
    cluster, board = struck("kraft", fault, target)
    cluster.run(cluster.now_us + 8 * SECOND)
    board.heal("all")
    _all_is_well(cluster, board)


@pytest.mark.parametrize("fault", [pytest.param(fault, id=name) for name, fault in CATALOGUE.items()])
def test_only_what_lasts_is_healed(fault: Fault) -> None:
    behaviour = type(fault.behaviour)
    assert (behaviour.heal is not Behaviour.heal) == fault.is_lasting
