"""Grids as campaigns: the rows of the cells, what comes back of them, and what cannot be gone on with."""

import re
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.errors import ModelError
from playbooks.campaign.parquet_rows import batch_of, rows_in
from playbooks.campaign.run_rows import RunRow
from playbooks.campaign.runner import keep_first, run_campaign
from playbooks.campaign.store import CampaignError, CampaignWorkload, open_campaign, read_head
from playbooks.campaign.workloads.fuzz_workload import FuzzPlanError, read_plan, write_plan
from playbooks.campaign.workloads.grid_workload import (
    GridPlan,
    GridRun,
    matrix_of,
    plan_of,
    result_of,
    run_jobs,
    text_of,
)
from playbooks.engine.replay import replay
from playbooks.engine.session_runner import start_session
from playbooks.engine.worker_pool import run_all
from playbooks.model.playbook import Grid, GridAxis
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from tests.playbooks.fuzz.small import plan as storm
from tests.support.playbooks import CLUSTER, CRASH, MANUAL

TEXT = CLUSTER + (
    "settle: 2s\nsteps:\n  - {at: 1s, inject: power_loss, target: leader(orders-0), for: 1s}\n"
    "expect:\n  - end: acked_lost() == 0\n"
)
AXES = (GridAxis("min.insync.replicas", ("1", "2")), GridAxis("acks", ("1", "all")), GridAxis("seed", ("3", "4")))


def varying(axes: tuple[GridAxis, ...] = AXES, *, text: str = TEXT, until_us: int = -1) -> GridRun:
    read = loads(text, "small.yaml")
    return GridRun(read, Grid(axes), 3, {"settle": "2s"}, until_us=until_us)


def plan(axes: tuple[GridAxis, ...] = AXES) -> GridPlan:
    return plan_of(varying(axes))


def rows(asked: GridPlan) -> list[RunRow]:
    return [asked.row(run) for run in range(1, asked.grid.size + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("text", [CRASH, MANUAL, CRASH.replace("acked_lost() == 0", "acked_lost() == 1")])
def test_a_result_comes_back_from_its_text_as_it_was(text: str) -> None:
    result = start_session(loads(text, "small.yaml"), seed=5).finish()
    assert result_of(text_of(result)) == result
    assert result_of(text_of(result)).to_json() == result.to_json()
    assert bool(result.refused) == (text == MANUAL)


@pytest.mark.slow
def test_grid_rows_equal_the_results_of_their_sessions() -> None:
    asked = varying()
    matrix, outcomes = run_jobs(asked, partial(run_all, workers=1))
    made = rows(plan_of(asked))
    assert [row.digest for row in made] == [outcome.result.digest for outcome in outcomes if outcome.result]
    assert len(made) == 8
    assert len({row.digest for row in made}) == 4  # min.insync.replicas does nothing here
    again = [plan_of(asked).outcome(row) for row in made]
    assert [replace(each, wall_s=0.0) for each in again] == [replace(each, wall_s=0.0) for each in outcomes]
    assert matrix_of(asked, again) == matrix
    assert [row.seed for row in made[:2]] == [3, 4]
    assert made[0].swarm == {"cell": {"min.insync.replicas": "1", "acks": "1", "seed": "3"}}
    lossy = [row for row in made if row.counts["acked_lost"]]
    assert lossy
    assert all(row.code == 1 and row.found for row in lossy)


def test_rows_come_back_from_lines_and_files(tmp_path: Path) -> None:
    made = [plan().row(1), plan((GridAxis("acks", ("seven",)),)).row(1)]
    assert [RunRow.of_line(row.line()) for row in made] == made
    pq.write_table(pa.Table.from_batches([batch_of(made)]), tmp_path / "rows.parquet")
    assert list(rows_in(tmp_path / "rows.parquet")) == made


def test_rows_of_before_there_were_grids_are_read(tmp_path: Path) -> None:
    made = storm().row(1)
    assert '"code"' not in made.line()
    pq.write_table(pa.Table.from_batches([batch_of([made])]).drop(["code", "result"]), tmp_path / "rows.parquet")
    assert list(rows_in(tmp_path / "rows.parquet")) == [made]


def test_a_cell_that_breaks_is_a_row_with_its_error(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    bad = plan((GridAxis("acks", ("seven", "1")),))
    row = bad.row(1)
    assert (row.code, row.digest, row.result) == (2, "", "")
    assert row.error == snapshot(name="row")
    assert [found.key for found in row.found] == ["error:PlaybookError"]
    assert bad.row(2).code in (0, 1)
    for error, code in (
        (ModelError("no such broker", code="no_broker"), 2),
        (ZeroDivisionError("a wheel came off"), 70),
    ):

        def raised(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr("playbooks.campaign.workloads.grid_workload.start_session", raised)
        outcome = bad.outcome(bad.row(2))
        assert outcome.code == code
        assert re.sub(r"line \d+", "line <n>", outcome.error) == snapshot(name=f"code {code}")


def test_a_row_that_holds_no_result_is_reported(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(CampaignError) as refused:
        plan().outcome(replace(plan().row(1), result="[{}]"))
    assert refused.value.code == "no_result"
    assert str(refused.value) == snapshot


def test_a_plan_comes_back_from_its_file(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    cases = Grid((), ((("acks", "1"), ("kafka", '"2.0"')), (("acks", "all"), ("kafka", '"3.9"'))))
    asked = replace(plan(), grid=cases, until_us=2_000_000, fragments=(("a.yaml", "b"),))
    write_plan(tmp_path, asked)
    assert read_plan(tmp_path) == asked
    write_plan(tmp_path, storm())
    assert read_plan(tmp_path) == storm()
    (tmp_path / "plan.json").write_text('{"kind": "grid"}')
    with pytest.raises(FuzzPlanError) as unread:
        read_plan(tmp_path)
    with pytest.raises(CampaignError) as unkept:
        write_plan(tmp_path / "nowhere", asked)
    assert unkept.value.code == "cannot_be_kept"
    assert [str(each.value).replace(str(tmp_path), "<tmp>") for each in (unread, unkept)] == snapshot


def test_every_cell_has_a_command_of_its_own(snapshot: SnapshotAssertion) -> None:
    until = replace(plan(), until_us=90_000_000)
    commands = [plan().again(4, "small.yaml"), until.again(1, "a b.yaml")]
    assert [shlex.split(command)[:5] for command in commands] == [
        ["floodmark", "run", "small.yaml", "--seed", "4"],
        ["floodmark", "run", "a b.yaml", "--seed", "3"],
    ]
    assert [shlex.split(command)[-1] for command in commands] == ["--no-vary"] * 2
    assert commands == snapshot


@pytest.mark.slow
def test_a_resumed_campaign_has_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = plan()
    run_campaign(open_campaign(tmp_path / "whole", asked, "small"), asked, 8, workers=1)
    run_campaign(open_campaign(tmp_path / "parts", asked, "small"), asked, 3, workers=1)
    done: list[int] = []
    real = GridPlan.row
    monkeypatch.setattr(GridPlan, "row", lambda self, run: done.append(run) or real(self, run))  # type: ignore[func-returns-value]
    campaign = open_campaign(tmp_path / "parts", asked, "small")
    come = run_campaign(campaign, asked, 8, workers=1)
    assert done == [4, 5, 6, 7, 8]
    lines = [(tmp_path / name / "runs.jsonl").read_text() for name in ("whole", "parts")]
    assert lines[0] == lines[1]
    assert (come.totals.runs, come.coverage.pairs) == (8, 0)
    kept = keep_first(asked, campaign, come.groups, lambda _number, _of: None)
    assert {run: replay(read_session(each.session)).digest for run, each in kept.items()} == {
        run: campaign.rows[run].digest for run in kept
    }
    campaign.keep({})
    assert keep_first(asked, open_campaign(tmp_path / "parts", asked, "small"), come.groups, lambda *_: None) == kept


def test_another_grid_is_not_gone_on_with(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    many = (AXES[1], GridAxis("seed", tuple(map(str, range(3, 23)))))
    open_campaign(tmp_path / "c", plan(many), "small")
    assert read_head(tmp_path / "c")["grid"].split("; ") == ["acks: 1, all", "seed: 3..22"]
    others = {
        "another_grid": plan(AXES[1:]),
        "another_seed": replace(plan(many), seed=9),
        "another_until": replace(plan(many), until_us=5),
        "another_text": replace(plan(many), text=TEXT.replace("rate: 100/s", "rate: 50/s")),
        "another_kind": storm(),
    }
    said = [refusal(tmp_path / "c", code, other) for code, other in others.items()]
    open_campaign(tmp_path / "s", storm(), "small")
    said.append(refusal(tmp_path / "s", "another_kind", plan()))
    assert [each.replace(str(tmp_path), "<tmp>") for each in said] == snapshot


def refusal(path: Path, code: str, work: CampaignWorkload) -> str:
    """What is said to who wants to go on with other work; the reason is that of the code."""
    with pytest.raises(CampaignError) as refused:
        open_campaign(path, work, "small")
    assert refused.value.code == code
    return str(refused.value)
