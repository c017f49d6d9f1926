"""``floodmark run`` over a grid: the matrix, the documents, the exit code, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.results.sweep_matrix import SweepTable
from playbooks.session_format import session_files
from tests.cli.running import Typed
from tests.support.playbooks import CLUSTER
from tui.cli.runs.sweep import fitted

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]

STEPS = "settle: 1s\nsteps:\n  - at: 1s\n    heal: all\nexpect:\n  - acked() > 0\n"
GRID = CLUSTER + "vary:\n  min.insync.replicas: [1, 2]\n" + STEPS
FAILING = CLUSTER + (
    "vary:\n  min.insync.replicas: [1, 2]\n  seed: [1, 2]\nsettle: 1s\nsteps:\n  - at: 1s\n    heal: all\n"
    "expect:\n  - end: acked() == 0\n    given: {min.insync.replicas: 2}\n"
)


@pytest.fixture(autouse=True)
def files(here: Path) -> None:
    for name, text in (("grid", GRID), ("fails", FAILING), ("plain", CLUSTER + STEPS)):
        (here / f"{name}.yaml").write_text(text)


def sessions(here: Path) -> int:
    return len(session_files.sessions_under(here / "sessions"))


def test_a_grid_runs_and_prints_its_matrix(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("run", "grid.yaml")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    (head,) = [line for line in lines if "verdict" in line]
    assert head.split() == ["min.insync.replicas", "verdict", "acked"]
    assert [line.split()[1] for line in lines[lines.index(head) + 1 :][:2]] == ["1", "2"]
    assert done.out == snapshot
    assert sessions(here) == 2


def test_without_its_grid_it_runs_once(typed: Type, here: Path) -> None:
    done = typed("run", "grid.yaml", "--no-vary")
    assert done.code == 0
    assert "PASS" in done.out
    assert sessions(here) == 1


def test_the_document(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("run", "fails.yaml", "--json")
    assert done.code == 1
    document = json.loads(done.out)
    assert list(document) == ["playbook", "axes", "exit_code", "cells", "groups", "pareto", "advice"]
    assert document["axes"] == {"min.insync.replicas": ["1", "2"], "seed": ["1", "2"]}
    assert [cell["exit_code"] for cell in document["cells"]] == [0, 0, 1, 1]
    assert [cell["settings"]["seed"] for cell in document["cells"]] == ["1", "2", "1", "2"]
    assert [cell["result"]["seed"] for cell in document["cells"]] == [1, 2, 1, 2]
    assert [(group["verdict"], group["passed"]) for group in document["groups"]] == [("pass", 2), ("fail", 0)]
    assert document["pareto"] == [{"min.insync.replicas": "1"}, {"min.insync.replicas": "2"}]
    failed = [line for line in typed("run", "fails.yaml").out.splitlines() if ": failed: " in line]
    assert {"advice": document["advice"], "failed": failed} == snapshot


def test_junit_has_a_suite_for_each_cell(typed: Type, here: Path) -> None:
    assert typed("run", "fails.yaml", "--junit", "j.xml").code == 1
    suites = ElementTree.fromstring((here / "j.xml").read_text()).findall("testsuite")
    assert [suite.get("name", "").partition(" ")[2] for suite in suites] == [
        f"[min.insync.replicas={least} seed={seed}]" for least in (1, 2) for seed in (1, 2)
    ]
    assert [suite.get("failures") for suite in suites] == ["0", "0", "1", "1"]


def test_an_axis_is_added_or_given_other_values(typed: Type) -> None:
    done = typed("run", "plain.yaml", "--vary", "cluster.brokers=3,4", "--vary", "seed=1..2", "--json")
    assert done.code == 0
    assert json.loads(done.out)["axes"] == {"cluster.brokers": ["3", "4"], "seed": ["1", "2"]}
    done = typed("run", "grid.yaml", "--vary", "min.insync.replicas=1", "--json")
    assert json.loads(done.out)["axes"] == {"min.insync.replicas": ["1"]}


def test_settings_are_made_before_the_cells(typed: Type) -> None:
    done = typed("run", "grid.yaml", "--set", "settle=2s", "--seed", "5", "--json")
    cells = json.loads(done.out)["cells"]
    assert {cell["result"]["virtual_us"] for cell in cells} == {3_000_000}
    assert {cell["result"]["seed"] for cell in cells} == {5}


@pytest.mark.parametrize(
    "options",
    [
        "--vary acsk=1",
        "--vary seed",
        "--vary seed=[1",
        "--vary seed=1,1",
        "--vary cluster.brokers=1,3",
        "--vary seed=1,2 --seed 7",
        "--vary seed=1,2 --no-vary",
        "--plain",
    ],
)
def test_invalid_grid_options_are_rejected(typed: Type, here: Path, options: str, snapshot: SnapshotAssertion) -> None:
    done = typed("run", "grid.yaml", *options.split())
    assert (done.code, done.out, sessions(here)) == (2, "", 0)
    assert done.err == snapshot


def test_a_seed_is_taken_where_the_axis_of_seeds_is_not_run(typed: Type, snapshot: SnapshotAssertion) -> None:
    refused = typed("run", "fails.yaml", "--seed", "7")
    assert refused.code == 2
    assert refused.err == snapshot
    assert json.loads(typed("run", "fails.yaml", "--seed", "7", "--no-vary", "--json").out)["seed"] == 7


def test_grids_run_once_beside_plain_playbooks(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("run", "grid.yaml", "plain.yaml")
    assert done.code == 0
    assert sessions(here) == 2
    refused = typed("run", "grid.yaml", "plain.yaml", "--vary", "seed=1,2")
    assert refused.code == 2
    assert refused.err == snapshot


def test_markdown_is_the_matrix(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("run", "grid.yaml", "--markdown", "-")
    assert done.out == snapshot
    assert (done.err, typed("run", "grid.yaml", "--markdown", "m.md").code) == ("", 0)
    assert (here / "m.md").read_text().rstrip() == done.out.rstrip()


def test_a_baseline_reports_cells_apart(typed: Type, here: Path) -> None:
    assert typed("run", "grid.yaml", "--save-baseline", "b.json").code == 0
    assert (here / "b.json").read_text().count("[min.insync.replicas=") == 2
    assert typed("run", "grid.yaml", "--baseline", "b.json").code == 0


def test_markdown_of_a_grid_reports_how_it_differs_from_a_baseline(
    typed: Type, here: Path, snapshot: SnapshotAssertion
) -> None:
    typed("run", "grid.yaml", "--save-baseline", "b.json")
    same = typed("run", "grid.yaml", "--baseline", "b.json", "--markdown", "-").out
    (here / "grid.yaml").write_text(GRID.replace("acked() > 0", "acked() == 0"))
    done = typed("run", "grid.yaml", "--baseline", "b.json", "--markdown", "m.md")
    assert (done.code, done.err) == (1, "")
    told = (here / "m.md").read_text()
    assert told.count("| verdict | pass | fail |") == 2
    assert {"same": same.splitlines()[-2:], "worse": told} == snapshot


def test_cells_never_begun_are_not_run(typed: Type) -> None:
    done = typed("run", "fails.yaml", "--vary", "min.insync.replicas=2", "--fail-fast", "--jobs", "1", "--json")
    assert done.code == 1
    assert [cell["verdict"] for cell in json.loads(done.out)["cells"]] == ["fail", "not run"]
    assert "not started" not in done.err


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_matrix_fits_a_terminal(width: int) -> None:
    heads = ("", "min.insync.replicas", "unclean.leader.election.enable", "verdict", "out")
    rows = tuple(("*", least, "false", "pass", "75.1 s") for least in "12")
    lines = fitted(SweepTable(heads, rows, (), 2), width)
    assert max(map(len, lines)) <= max(width, 61)
    assert all(sum(cell in line for line in lines) >= 2 for cell in ("75.1 s", "false", "pass"))
    broken = [line for line in lines if line.startswith("a  min.insync.replicas=1 unclean")]
    assert len(broken) == (width == 40)
    assert lines[-1].split() == (
        ["*", "b", "pass", "75.1", "s"] if width == 40 else ["*", "2", "false", "pass", "75.1", "s"]
    )
