"""The bundled grids: every cell comes out as its playbook says, and the rows tell what the story does."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.campaign.workloads.grid_workload import GridRun, run_jobs
from playbooks.engine.worker_pool import run_all
from playbooks.library import bundled
from playbooks.parser.loader import load, loads
from playbooks.results.sweep_matrix import CellGroup, SweepMatrix, advice
from tests.playbooks.thinned import thinned
from tests.support.breadth import EVENING

pytestmark = pytest.mark.slow

NAMES = tuple(name for name in bundled.names() if name.endswith("-matrix"))
SECOND = 1_000_000
TELLING = ("acks-matrix", "partitions-added-matrix", "retention-matrix", "retry-matrix", "zone-loss-matrix")
"""Those whose cells tell what no incident does; the other stories are told by incidents, and here for an evening."""
RUN = NAMES if EVENING else TELLING


def ran(name: str) -> SweepMatrix:
    """The matrix of a bundled grid, of fewer records."""
    playbook = loads(thinned(name), name)
    assert playbook.grid is not None
    matrix, _outcomes = run_jobs(GridRun(playbook, playbook.grid, playbook.seed, {}), partial(run_all, workers=1))
    return matrix


def at(matrix: SweepMatrix, **wanted: str) -> CellGroup:
    """The one row with these values; an axis goes by its name up to the first dot."""
    found = [group for group in matrix.groups if _has(dict(group.settings), wanted)]
    assert len(found) == 1, found
    return found[0]


def _has(settings: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(any(value == each and name.split(".")[0] == axis for axis, each in wanted.items()) or all(
        name.split(".")[0] != axis for axis in wanted) for name, value in settings.items())  # fmt: skip


def lost(group: CellGroup) -> tuple[int, int]:
    return group.total("acked_lost"), group.total("committed_lost")


def test_the_grids_are_small() -> None:
    assert len(NAMES) >= 10
    grids = [load(bundled.path_of(name)).grid for name in NAMES]
    assert all(grid is not None and 2 <= grid.size <= 6 for grid in grids)


def acks(matrix: SweepMatrix) -> None:
    for least in ("1", "2"):
        nobody, one, everybody = (at(matrix, acks=level, min=least) for level in ("0", "1", "all"))
        assert lost(nobody)[0] > 5 * lost(one)[0] > 0 == lost(everybody)[0]
        assert 0 < nobody.total("unavailable_us") < everybody.total("unavailable_us")
    assert matrix.significant_axes == ("acks",)


def split_leader(matrix: SweepMatrix) -> None:
    assert lost(at(matrix, acks="1", min="2"))[0] > 140
    assert lost(at(matrix, acks="all", min="2")) == (0, 0)
    assert matrix.pareto == (True, True, True, True)
    assert matrix.significant_axes == ("acks",)


def min_isr(matrix: SweepMatrix) -> None:
    """Never both available and safe: the one row without a loss that did not wait is the one that had refused."""
    trap = at(matrix, min="1", unclean="true")
    assert trap.total("committed_lost") > 20
    for least in ("1", "2"):
        waits = at(matrix, min=least, unclean="false")
        assert lost(waits) == (0, 0)
        assert waits.total("unavailable_us") > 60 * SECOND
    assert lost(at(matrix, min="2", unclean="true")) == (0, 0)
    assert matrix.pareto[1]


def power_cut(matrix: SweepMatrix) -> None:
    losses = [lost(group)[0] for group in matrix.groups]
    assert sorted(losses)[:3] == [0, 0, 0]
    assert lost(at(matrix, flush="1000000", steps="all"))[0] > 250


def zone_loss(matrix: SweepMatrix) -> None:
    spread, two, both = "[[1, 2, 3]]", "[[1, 4, 2]]", "[[1, 4]]"
    out = {p: at(matrix, topics=p, min="2").total("unavailable_us") for p in (spread, two, both)}
    # Who is elected is asked for when the attempt to connect to the dark machine is given up, after some ten seconds.
    assert 13 * SECOND < out[spread] < 18 * SECOND < 40 * SECOND < min(out[two], out[both])
    assert at(matrix, topics=two, min="1").total("rejected") == 0 < at(matrix, topics=two, min="2").total("rejected")
    assert lost(at(matrix, topics=both, min="2"))[0] > 20


def retry(matrix: SweepMatrix) -> None:
    duplicates = {group.settings[0][1]: group.total("duplicates") for group in matrix.groups}
    assert duplicates["false"] > 0 == duplicates["true"]
    assert [group.total("reordered") > 0 for group in matrix.groups] == [False, True, False, False]


def last_replica(matrix: SweepMatrix) -> None:
    assert [lost(group)[1] > 0 for group in matrix.groups] == [True, False, False, False]
    assert not matrix.pareto[0]


def rolling_restart(matrix: SweepMatrix) -> None:
    blind = at(matrix, steps="none", min="2").total("unavailable_us")
    waiting = at(matrix, steps="isr", min="2").total("unavailable_us")
    assert waiting < SECOND < blind
    assert all(lost(group) == (0, 0) for group in matrix.groups)


def nothing_is_lost_nor_stops(matrix: SweepMatrix) -> None:
    assert len(matrix.groups) == 4
    assert {(lost(group), group.total("unavailable_us")) for group in matrix.groups} == {((0, 0), 0)}


def partitions_added(matrix: SweepMatrix) -> None:
    """The cluster is as well in every row: what was never read is told by the expectations alone."""
    nothing_is_lost_nor_stops(matrix)
    results = [row.result for row in matrix.rows]
    unread = [result.ledger.acked - result.clients.groups[0].read for result in results if result is not None]
    assert 50 < unread[0] < 750 < unread[1]
    assert unread[2:] == [0, 0]


def delayed_commit(matrix: SweepMatrix) -> None:
    assert [group.total("wrong_outcome") > 20 for group in matrix.groups] == [True, True, False]
    assert matrix.pareto == (False, False, True)


CHECKS: dict[str, Any] = {
    "acks-matrix": acks, "split-leader-matrix": split_leader, "min-isr-matrix": min_isr,
    "power-cut-matrix": power_cut, "zone-loss-matrix": zone_loss, "retry-matrix": retry,
    "last-replica-matrix": last_replica, "rolling-restart-matrix": rolling_restart,
    "retention-matrix": nothing_is_lost_nor_stops, "delayed-commit-matrix": delayed_commit,
    "partitions-added-matrix": partitions_added,
}  # fmt: skip


ADVISED = ("acks-matrix", "retention-matrix", "partitions-added-matrix")
"""Grids whose advice is held word by word."""


def test_every_grid_is_checked() -> None:
    assert set(CHECKS) == set(NAMES)
    assert set(ADVISED) < set(TELLING) < set(NAMES)


@pytest.mark.parametrize("name", RUN)
def test_a_grid_reports_its_story(name: str, snapshot: SnapshotAssertion) -> None:
    matrix = ran(name)
    assert [(row.cell, row.verdict, row.error) for row in matrix.rows if row.verdict != "pass"] == []
    CHECKS[name](matrix)
    if name in ADVISED:
        assert advice(matrix) == snapshot
