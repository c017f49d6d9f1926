"""``floodmark run`` of a grid that is kept as a campaign, and ``--repeat``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.campaign.parquet_rows import batch_of
from playbooks.campaign.run_rows import coverage_of, groups_of, totals_of
from playbooks.campaign.runner import CampaignResult, write_result
from playbooks.campaign.store import PARTS, rows_kept
from playbooks.campaign.workloads.fuzz_workload import read_plan
from playbooks.campaign.workloads.grid_workload import GridPlan
from playbooks.session_format import session_files
from tests.cli.running import Typed
from tests.support.playbooks import CLUSTER

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]

STEPS = "settle: 1s\nsteps:\n  - at: 1s\n    heal: all\nexpect:\n  - acked() > 0\n"
FAILING = CLUSTER + (
    "vary:\n  min.insync.replicas: [1, 2]\nsettle: 1s\nsteps:\n  - at: 1s\n    heal: all\n"
    "expect:\n  - end: acked() == 0\n    given: {min.insync.replicas: 2}\n"
)
CAMPAIGN = Path("grids/small-3")


@pytest.fixture(autouse=True)
def files(here: Path) -> None:
    (here / "fails.yaml").write_text(FAILING)
    (here / "plain.yaml").write_text(CLUSTER + STEPS)


def apart_from_sessions(text: str) -> Any:
    document = json.loads(text)
    for cell in document["cells"]:
        cell["result"]["session"] = ""
    return document


def test_a_kept_grid_has_the_same_rows_as_its_sessions(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    words = ("run", "fails.yaml", "--repeat", "2")
    plain = typed(*words, "--json", "--junit", "a.xml", "--out", "elsewhere")
    kept = typed(*words, "--json", "--junit", "b.xml", "--engine", "local")
    assert plain.code == kept.code == 1
    assert apart_from_sessions(kept.out) == apart_from_sessions(plain.out)
    assert (here / "a.xml").read_text().count("<testsuite ") == (here / "b.xml").read_text().count("<testsuite ") == 4
    text = typed(*words, "--out", "elsewhere").out.splitlines()
    told = [line for line in text if "failed:" in line or line.startswith(("*", "Over"))]
    assert told
    again = typed(*words, "--engine", "local").out.splitlines()
    assert [line for line in again if line in told] == told
    # Only the first run that shows something is recorded.
    (session,) = session_files.sessions_under(here / CAMPAIGN / "sessions")
    recorded = [cell["result"]["session"] for cell in json.loads(kept.out)["cells"]]
    assert recorded == ["", "", str(CAMPAIGN / "sessions" / session.name), ""]
    head = json.loads((here / CAMPAIGN / "campaign.json").read_text())
    assert {"command": head["command"], "where it is": again[-2:]} == snapshot
    assert (head["kind"], head["runs"], head["exit_code"]) == ("grid", 4, 1)


def test_finished_cells_are_not_run_again(
    typed: Type, here: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    first = typed("run", "fails.yaml", "--engine", "local", "--out", "kept")
    lines = (here / "kept" / "runs.jsonl").read_text().splitlines(keepends=True)
    (here / "kept" / "runs.jsonl").write_text(lines[0])
    done: list[int] = []
    real = GridPlan.row

    def row(self: GridPlan, run: int) -> Any:
        done.append(run)
        return real(self, run)

    monkeypatch.setattr(GridPlan, "row", row)
    again = typed("run", "fails.yaml", "--engine", "local", "--out", "kept")
    assert done == [2]
    assert (again.code, again.out, again.err) == (first.code, first.out, "")
    refused = typed("run", "fails.yaml", "--engine", "local", "--out", "kept", "--repeat", "2")
    assert refused.code == 2
    assert refused.err == snapshot
    assert done == [2]


def test_a_stopped_run_prints_how_to_resume(
    typed: Type, here: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    real = GridPlan.row

    def row(self: GridPlan, run: int) -> Any:
        if run == 3:
            raise KeyboardInterrupt
        return real(self, run)

    monkeypatch.setattr(GridPlan, "row", row)
    done = typed("run", "fails.yaml", "--repeat", "3", "--engine", "local", "--json", "--junit", "j.xml")
    assert (done.code, done.out) == (130, "")
    assert done.err == snapshot
    assert not (here / "j.xml").exists()
    monkeypatch.setattr(GridPlan, "row", real)
    assert typed("run", "fails.yaml", "--repeat", "3", "--engine", "local").code == 1


def test_a_cell_with_an_internal_error_is_kept_and_reported(
    typed: Type, here: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a wheel came off")

    monkeypatch.setattr("playbooks.campaign.workloads.grid_workload.start_session", broken)
    done = typed("run", "fails.yaml", "--engine", "local")
    assert done.code == 70
    lines = [line for line in done.out.splitlines() if "ZeroDivisionError" in line]
    assert [line.partition(" (broken, line ")[0] for line in lines] == snapshot
    rows = rows_kept(here / CAMPAIGN)
    assert [(row.run, row.seed, row.code) for row in rows.values()] == [(1, 3, 70), (2, 3, 70)]


def stand_in(code: int, *, rows: int, interrupted: bool = False) -> Callable[[list[str]], int]:
    """What another process does: it does so many runs, and says what they came to."""

    def perform(command: list[str]) -> int:
        folder = Path(command[3])
        work = read_plan(folder)
        made = [work.row(run) for run in range(1, rows + 1)]
        (folder / PARTS).mkdir()
        pq.write_table(pa.Table.from_batches([batch_of(made)]), folder / PARTS / "part-0.parquet")
        come = CampaignResult(totals_of(made), groups_of(made), coverage_of(made, *work.frame()), interrupted)
        write_result(folder, come)
        return code

    return perform


def test_spark_is_given_the_plan_and_believed(
    typed: Type, here: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    commands: list[list[str]] = []
    perform = stand_in(0, rows=2)
    monkeypatch.setattr(
        "tui.cli.runs.spark_jobs.run_subprocess", lambda command: commands.append(command) or perform(command)
    )  # type: ignore[func-returns-value]
    done = typed("run", "fails.yaml", "--engine", "spark", "--master", "local[2]", "--memory", "1g", "--json")
    assert done.code == 1
    assert commands[0][3:] == [str(CAMPAIGN), "--runs", "2", "--master", "local[2]", "--memory", "1g", "--quiet"]
    assert apart_from_sessions(done.out) == apart_from_sessions(typed("run", "fails.yaml", "--json").out)
    head = json.loads((here / CAMPAIGN / "campaign.json").read_text())
    assert head["command"] == snapshot
    assert not (here / CAMPAIGN / "runs.jsonl").exists()  # the rows are there once


@pytest.mark.parametrize(
    ("perform", "code"),
    [
        pytest.param(lambda _command: 70, 70, id="breaks"),
        pytest.param(lambda _command: 2, 2, id="refuses"),
        pytest.param(lambda _command: 130, 130, id="stopped before it began"),
        pytest.param(stand_in(130, rows=1, interrupted=True), 130, id="stopped between"),
        pytest.param(stand_in(130, rows=2), 130, id="stopped at the end"),
    ],
)
def test_spark_that_did_not_end_is_not_believed(
    typed: Type,
    monkeypatch: pytest.MonkeyPatch,
    perform: Callable[[list[str]], int],
    code: int,
    snapshot: SnapshotAssertion,
) -> None:
    monkeypatch.setattr("tui.cli.runs.spark_jobs.run_subprocess", perform)
    done = typed("run", "fails.yaml", "--engine", "spark", "--json")
    assert (done.code, done.out) == (code, "")
    assert "verdict" not in done.err
    assert done.err == snapshot


def test_repeat_is_an_axis_of_seeds(typed: Type) -> None:
    done = json.loads(typed("run", "plain.yaml", "--repeat", "2", "--seed", "8", "--json").out)
    assert done["axes"] == {"seed": ["8", "9"]}
    assert [cell["result"]["seed"] for cell in done["cells"]] == [8, 9]
    done = json.loads(typed("run", "fails.yaml", "--vary", "acks=1", "--repeat", "1", "--json").out)
    assert done["axes"] == {"min.insync.replicas": ["1", "2"], "acks": ["1"], "seed": ["3"]}


@pytest.mark.parametrize(
    "words",
    [
        ("plain.yaml", "--engine", "spark"),
        ("fails.yaml", "--engine", "sprak"),
        ("fails.yaml", "--master", "local"),
        ("fails.yaml", "--engine", "local", "--memory", "1g"),
        ("fails.yaml", "--engine", "spark", "-j", "2"),
        ("fails.yaml", "--engine", "spark", "--memory", "x"),
        ("fails.yaml", "--engine", "local", "--fail-fast"),
        ("fails.yaml", "--engine", "local", "--no-vary"),
        ("fails.yaml", "--engine", "local", "--dry-run"),
        ("fails.yaml", "--engine", "local", "--plain"),
        ("fails.yaml", "plain.yaml", "--engine", "local"),
        ("fails.yaml", "--engine", "local", "--vary", "acsk=1"),
        ("fails.yaml", "--engine", "local", "--vary", "acks=seven"),
        ("none.yaml", "--engine", "local", "--repeat", "2"),
        ("fails.yaml", "--engine", "local", "--out", "full"),
        ("fails.yaml", "--engine", "local", "--out", "fails.yaml/x"),
        ("plain.yaml", "--repeat", "0"),
        ("plain.yaml", "--repeat", "1001"),
        ("plain.yaml", "--repeat", "20001", "--engine", "local"),
        ("plain.yaml", "--vary", "seed=1,2", "--repeat", "2"),
        ("plain.yaml", "--repeat", "2", "--no-vary"),
        ("plain.yaml", "--repeat", "2", "--plain"),
        ("plain.yaml", "fails.yaml", "--repeat", "2"),
    ],
    ids=" ".join,
)
def test_directories_with_other_files_are_rejected(
    typed: Type, here: Path, words: tuple[str, ...], snapshot: SnapshotAssertion
) -> None:
    (here / "full").mkdir()
    (here / "full" / "letter.txt").write_text("dear")
    done = typed("run", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot
    assert not (here / "grids").exists()
    assert not (here / "sessions").exists()
