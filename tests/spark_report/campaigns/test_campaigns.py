"""Campaigns on Spark: the rows of this machine, also for runs that break; resumed, added up, and told."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.campaign.parquet_rows import batch_of, rows_in
from playbooks.campaign.run_rows import coverage_of, groups_of, totals_of
from playbooks.campaign.runner import CampaignResult, run_campaign, take_result, write_result
from playbooks.campaign.store import PARTS, open_campaign, rows_kept
from playbooks.campaign.workloads.fuzz_workload import FuzzPlan, FuzzPlanError, read_plan, write_plan
from playbooks.campaign.workloads.fuzz_workload import plan_of as storm_of
from playbooks.campaign.workloads.grid_workload import GridPlan, GridRun, plan_of, run_jobs
from playbooks.engine.worker_pool import run_all
from playbooks.model.playbook import Grid, GridAxis
from playbooks.parser.loader import load
from playbooks.version import VERSION
from spark_report.campaigns.job import (
    CampaignJob,
    CampaignOptions,
    FinishedRuns,
    RunSet,
    distribute,
    how_many,
    pack,
    worker,
)
from spark_report.spark.errors import ReportError
from tests.playbooks.fuzz.small import text
from tests.support.playbooks import CRASH
from tests.support.wording import masked_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
RUNS = 5
BREAKS = Grid((GridAxis("acks", ("1", "seven")),))
"""A grid whose second cell cannot be read: about every other run breaks."""


def plan_at(folder: Path) -> FuzzPlan:
    """A campaign's directory as ``floodmark storm --engine spark`` leaves it to Spark."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    source = folder.parent / "small.yaml"
    source.write_text(text(acks="1", storm="faults: [crash, gc_pause, isolate]"))
    plan = replace(storm_of(load(source), 3), grid=BREAKS)
    open_campaign(folder, plan, "small", rows=False)
    write_plan(folder, plan)
    return plan


@pytest.mark.spark
def test_spark_campaigns_have_the_rows_of_local_ones(
    spark: "SparkSession", tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    folder = tmp_path / "c"
    plan = plan_at(folder)
    told: list[str] = []
    CampaignJob(CampaignOptions(folder, 2, spark=spark), told.append).run(lambda _spark, _come: None)
    first = sorted((folder / PARTS).glob("*.parquet"))
    # A file that cannot be read is put aside, and its runs are repeated; the others are not.
    torn = len(list(rows_in(first[0])))
    first[0].write_bytes(b"torn")
    come = CampaignJob(CampaignOptions(folder, RUNS, spark=spark), told.append).run(lambda _spark, _come: None)
    rows = sorted(
        (row for path in (folder / PARTS).glob("*.parquet") for row in rows_in(path)), key=lambda row: row.run
    )
    assert rows == [plan.row(run) for run in range(1, RUNS + 1)]
    assert any(row.error for row in rows)
    assert not all(row.error for row in rows)
    assert [masked_text(line, file=first[0]) for line in told if first[0].name in line] == snapshot
    assert any(line.startswith(f"{RUNS - 2 + torn} runs in ") for line in told), told
    assert come.totals == totals_of(rows)
    assert come.groups == groups_of(rows)
    assert come.coverage == coverage_of(rows, *plan.frame())
    assert take_result(folder) == come
    # What Spark did, the other engine goes on with.
    assert open_campaign(folder, plan, "small").rows == {row.run: row for row in rows}
    _is_told(spark, folder, tmp_path / "fleet")


def _is_told(spark: "SparkSession", folder: Path, out: Path) -> None:
    """The fleet report of a campaign, against itself."""
    from spark_report.fleet.report import report  # noqa: PLC0415 - imports PySpark

    report([folder], out, spark=spark, stage=lambda _line: None, formats=("html", "md", "json", "parquet"))
    document = json.loads((out / "fleet.json").read_text())
    assert document["fleets"][0]["runs"] == RUNS
    assert document["fleets"][0]["errors"] > 0
    again = [row["again"] for row in document["tables"]["fleet_findings"]]
    assert all(line.startswith("floodmark storm ") and " --only " in line for line in again)
    stored = pq.read_table(out / "tables" / "fleet_findings.parquet").to_pylist()
    assert stored == document["tables"]["fleet_findings"]
    page = (out / "fleet.html").read_text()
    assert "error:" in page
    assert "<script src" not in page
    assert "| finding |" in (out / "fleet.md").read_text()


BROKEN = Grid((GridAxis("acks", ("1", "seven")), GridAxis("kafka", ('"3.9"', '"2.0"')), GridAxis("seed", ("5", "6"))))
"""Two by two cells with two seeds each, of which half cannot be read."""


def grid_at(folder: Path) -> tuple[GridRun, GridPlan]:
    """A campaign's directory as ``floodmark run --engine spark`` leaves it to Spark."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    source = folder.parent / "crash.yaml"
    source.write_text(CRASH)
    varying = GridRun(load(source), BROKEN, 3, {})
    plan = plan_of(varying)
    open_campaign(folder, plan, "small", rows=False).keep({"command": "floodmark run x --engine spark", "word": "x"})
    write_plan(folder, plan)
    return varying, plan


@pytest.mark.evening
@pytest.mark.spark
def test_spark_grids_have_the_rows_of_local_ones(spark: "SparkSession", tmp_path: Path) -> None:
    folder, cells = tmp_path / "spark", BROKEN.size
    varying, plan = grid_at(folder)
    told: list[str] = []
    CampaignJob(CampaignOptions(folder, 3, spark=spark), told.append).run(
        lambda _spark, _come: None
    )  # as if it had been stopped
    come = CampaignJob(CampaignOptions(folder, cells, spark=spark), told.append).run(lambda _spark, _come: None)
    assert sum(line.startswith(f"3 of {cells} ") for line in told) == 1
    assert any(line.startswith(f"{cells - 3} runs in ") for line in told)
    rows = rows_kept(folder)
    local = open_campaign(tmp_path / "local", plan, "small")
    assert run_campaign(local, plan, cells, workers=1) == come
    assert rows == local.rows
    _matrix, outcomes = run_jobs(varying, partial(run_all, workers=1))
    assert [plan.outcome(rows[run]).result for run in range(1, cells + 1)] == [each.result for each in outcomes]
    assert [rows[run].code for run in range(1, cells + 1)] == [each.code for each in outcomes]
    assert [rows[run].code for run in (5, 6, 7, 8)] == [2, 2, 2, 2]
    assert "acks takes 0, 1, all" in rows[5].error
    _is_ranked(spark, folder, tmp_path / "fleet")


def _is_ranked(spark: "SparkSession", folder: Path, out: Path) -> None:
    """The fleet report of a grid: its settings apart from their seeds, each with a command of its own."""
    from spark_report.fleet.report import report  # noqa: PLC0415 - imports PySpark

    report([folder], out, spark=spark, stage=lambda _line: None, formats=("md", "json"))
    document = json.loads((out / "fleet.json").read_text())
    (fleet,) = document["fleets"]
    assert (fleet["runs"], fleet["errors"]) == (8, 4)
    assert all(word in fleet["what"] for word in ("small", "seed 3", VERSION))
    ranked = document["tables"]["fleet_settings"]
    assert sorted(row["settings"] for row in ranked) == ["acks=1 kafka=2.0", "acks=1 kafka=3.9"]
    assert [(row["rank"], row["runs"]) for row in ranked] == [(1, 2), (2, 2)]
    for row in (each for table in document["tables"].values() for each in table):
        assert row["again"] == read_grid(folder).again(row["run"], "x")
    assert "--only" not in (out / "fleet.md").read_text()


@pytest.mark.evening
@pytest.mark.spark
def test_a_machine_that_dies_costs_no_run(workers: str, tmp_path: Path) -> None:
    folder, cells = tmp_path / "c", 20
    _varying, known = grid_at(tmp_path / "known")
    axes = (GridAxis("acks", ("1", "all")), GridAxis("seed", tuple(map(str, range(cells // 2)))))
    plan = replace(known, grid=Grid(axes))
    open_campaign(folder, plan, "small", rows=False)
    write_plan(folder, plan)
    command = (sys.executable, "-m", "spark_report.campaigns", folder, "--runs", cells, "--master", workers, "--quiet")
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    job = subprocess.Popen([*map(str, command)], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    while not (landed := list((folder / PARTS).glob("*.parquet"))) and job.poll() is None:
        time.sleep(0.05)
    before = running("CoarseGrainedExecutorBackend")
    os.kill(before[0], signal.SIGKILL)
    _out, told = job.communicate(timeout=500)
    assert job.returncode == 0, told
    assert len(before) == 2
    (tasks,) = [int(line.split(" runs in ")[1].split()[0]) for line in told.splitlines() if " tasks on " in line]
    assert len(landed) < tasks
    assert rows_kept(folder) == {run: plan.row(run) for run in range(1, cells + 1)}
    assert (folder / "fleet" / "fleet.html").is_file()


def running(program: str) -> list[int]:
    """Processes of one of Spark's programs that this one has started, be it by way of others."""
    parents: dict[int, int] = {}
    named: list[int] = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if program.encode() in (place / "cmdline").read_bytes():
                named.append(int(place.name))
    return sorted(each for each in named if os.getpid() in _line_of(each, parents))


def _line_of(process: int, parents: dict[int, int]) -> list[int]:
    above = parents.get(process, 0)
    return [above, *_line_of(above, parents)] if above else []


def read_grid(folder: Path) -> GridPlan:
    plan = read_plan(folder)
    assert isinstance(plan, GridPlan)
    return plan


def test_runs_come_back_from_a_file_as_they_were(tmp_path: Path) -> None:
    plan = plan_at(tmp_path / "c")
    rows = [plan.row(run) for run in (1, 2, 3, 4)]
    pq.write_table(pa.Table.from_batches([batch_of(rows)]), tmp_path / "rows.parquet")
    assert list(rows_in(tmp_path / "rows.parquet")) == rows
    assert read_plan(tmp_path / "c") == plan
    come = CampaignResult(totals_of(rows), groups_of(rows), coverage_of(rows, *plan.frame()), lost=["a reason"])
    write_result(tmp_path, come)
    assert take_result(tmp_path) == come
    assert take_result(tmp_path) is None


def test_a_folder_without_a_plan_is_refused_in_a_line(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ReportError) as refused:
        CampaignJob(CampaignOptions(tmp_path, 1), lambda _line: None)
    assert refused.value.code == "no_plan"
    (tmp_path / "plan.json").write_text("[]")
    with pytest.raises(FuzzPlanError) as foreign:
        read_plan(tmp_path)
    assert [masked_text(each.value, folder=tmp_path) for each in (refused, foreign)] == snapshot


def test_an_executor_does_the_runs_of_its_shares(tmp_path: Path) -> None:
    plan = plan_at(tmp_path / "c")
    work = worker(plan, (((1, 2), (4, 6)), ((7, 8),)))
    batches = list(work(iter([pa.RecordBatch.from_pydict({"id": [0]}), pa.RecordBatch.from_pydict({"id": [1]})])))
    pq.write_table(pa.Table.from_batches(batches), tmp_path / "rows.parquet")
    assert list(rows_in(tmp_path / "rows.parquet")) == [plan.row(run) for run in (1, 4, 5, 7)]


def test_progress_follows_landed_rows(tmp_path: Path) -> None:
    plan = plan_at(tmp_path / "c")
    rows = [plan.row(run) for run in (1, 2, 3, 4)]
    parts = tmp_path / "c" / PARTS
    parts.mkdir()
    landed = FinishedRuns(parts, RunSet(4), stop_on="error:*")
    landed.read_new_files()
    assert (landed.done.count, landed.first_hit) == (0, 0)
    pq.write_table(pa.Table.from_batches([batch_of(rows[1:])]), parts / "b.parquet")
    landed.read_new_files()
    landed.read_new_files()
    assert landed.done.count == 3
    landed.take(rows)
    assert landed.done.count == 4
    assert landed.first_hit == next(row.run for row in rows if row.error)
    assert landed.keys == {found.key for row in rows for found in row.found}


def test_every_missing_run_is_dealt_once() -> None:
    done = RunSet(20)
    done.add([1, 2, 3, 9, 20, 21, 0])
    assert done.count == 5
    assert done.missing() == [(4, 9), (10, 20)]
    assert done.missing(1, 7) == [(4, 9), (10, 12)]
    for shares in (1, 2, 4, 15):
        dealt_out = distribute(done.missing(), shares)
        runs = [run for share in dealt_out for begin, end in share for run in range(begin, end)]
        assert runs == [*range(4, 9), *range(10, 20)]
        sizes = [sum(end - begin for begin, end in share) for share in dealt_out]
        assert len(sizes) == shares
        assert max(sizes) - min(sizes) <= 1
    done.add(range(21))
    assert done.missing() == []


@pytest.mark.parametrize(
    ("runs", "seconds", "cores", "shares"),
    [(1, 9.0, 2, 1), (4, 0.01, 2, 2), (60, 0.1, 2, 8), (2_000, 0.1, 2, 50), (10, 5.0, 2, 10), (10_000, 0.4, 8, 1_000)],
)
def test_tasks_are_neither_too_small_nor_too_few(runs: int, seconds: float, cores: int, shares: int) -> None:
    assert how_many(runs, seconds, cores) == shares


def test_the_simulator_runs_from_one_file(tmp_path: Path) -> None:
    plan = plan_at(tmp_path / "c")
    shipped = pack(tmp_path / "floodmark.zip")
    assert shipped.read_bytes() == pack(tmp_path / "again.zip").read_bytes()
    program = (
        f"import sys; sys.path.insert(0, {str(shipped)!r})\n"
        "from pathlib import Path\nimport playbooks.campaign.workloads.fuzz_workload as file\n"
        f"assert file.__file__.startswith({str(shipped)!r}), file.__file__\n"
        f"print(file.read_plan(Path({str(tmp_path / 'c')!r})).row(1).line())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == plan.row(1).line()


def test_this_machine_does_the_runs_of_a_damaged_file_again(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    plan = plan_at(folder)
    (folder / PARTS).mkdir(exist_ok=True)
    (folder / PARTS / "part-0.parquet").write_bytes(b"torn")
    assert open_campaign(folder, plan, "small").rows == {}
