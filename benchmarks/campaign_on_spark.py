"""One campaign run three times, by processes, on local Spark and on a standalone cluster: equality and speed.

``python -m benchmarks.campaign_on_spark [RUNS]`` runs a storm and a grid, prints the warm runs per second of each,
and fails if rows or fleet tables differ. The cluster's executors use the simulator from the file shipped to them.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.spark_servers import cluster
from playbooks.campaign.run_rows import RunRow
from playbooks.campaign.runner import run_campaign
from playbooks.campaign.store import CampaignWorkload, open_campaign, rows_kept
from playbooks.campaign.workloads.fuzz_workload import plan_of as storm_of
from playbooks.campaign.workloads.fuzz_workload import write_plan
from playbooks.campaign.workloads.grid_workload import GridRun
from playbooks.campaign.workloads.grid_workload import plan_of as grid_of
from playbooks.model.playbook import Grid, GridAxis
from playbooks.parser.loader import loads
from spark_report.campaigns.job import CampaignJob, CampaignOptions
from spark_report.fleet.report import compute
from spark_report.fleet.sources import identify_sources
from spark_report.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = """
floodmark: 1
name: campaigns
cluster: {kafka: "3.9", brokers: 3, config: {broker.session.timeout.ms: 1000, replica.lag.time.max.ms: 1000}}
topics:
  - {name: orders, replication: 3, config: {min.insync.replicas: 2}}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 20/s, config: {acks: all}}
settle: 10s
storm: {chaos: [3s, 6s], fault: [100ms, 3s], healthy: [100ms, 1s], faults: [crash, gc_pause, isolate, power_loss]}
vary: {acks: [1, all]}
"""
WARM_UP = 8
CORES = 2

CampaignResult = tuple[dict[int, RunRow], dict[str, Any]]
"""Run rows by run number, and the fleet's tables."""


def works(runs: int) -> dict[str, CampaignWorkload]:
    """Return a storm, and a grid of the same number of runs."""
    playbook = loads(TEXT.lstrip(), "campaigns.yaml")
    axes = (GridAxis("acks", ("1", "all")), GridAxis("seed", tuple([str(seed) for seed in range(1, runs // 2 + 1)])))
    storm = storm_of(playbook, 1)
    return {"storm": storm, "grid": grid_of(GridRun(playbook, Grid(axes), 1, {}))}


def made(folder: Path, work: CampaignWorkload) -> Path:
    """Create a campaign's directory; all have the same name, since it is part of every table."""
    path = folder / "campaign"
    open_campaign(path, work, "campaigns", rows=False)
    write_plan(path, work)
    return path


def by_processes(folder: Path, work: CampaignWorkload, runs: int) -> tuple[float, dict[int, RunRow]]:
    """Return the local engine's runs per second, and the rows."""
    campaign = open_campaign(made(folder, work), work, "campaigns")
    began = time.monotonic()
    run_campaign(campaign, work, runs, workers=CORES)
    return runs / (time.monotonic() - began), campaign.rows


def by_spark(spark: "SparkSession", folder: Path, work: CampaignWorkload, runs: int) -> tuple[float, CampaignResult]:
    """Return warm runs per second on Spark, the rows, and the fleet's tables."""
    timed(spark, made(folder / "warm", work), min(WARM_UP, runs))
    path = made(folder, work)
    spent = timed(spark, path, runs)
    tables, _counts = compute(spark, identify_sources([path])[0])
    return runs / spent, (rows_kept(path), {name: sorted(table.to_pylist(), key=str) for name, table in tables.items()})


def timed(spark: "SparkSession", path: Path, runs: int) -> float:
    """Return the seconds that the Spark tasks take."""
    began: list[float] = []
    ended: list[float] = []

    def stage(text: str) -> None:
        print(f"    {text}", flush=True)
        began.append(time.monotonic())

    campaign = CampaignJob(CampaignOptions(path, runs, spark=spark), stage)
    campaign.run(lambda _spark, _come: None, landed=lambda: ended.append(time.monotonic()))
    return ended[-1] - began[0]


def shipped_to(spark: "SparkSession") -> set[str]:
    """Return the locations from which executors loaded the simulator."""

    def where(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415 - of the executor

        import playbooks  # noqa: PLC0415

        for _batch in batches:
            yield pa.RecordBatch.from_pydict({"place": [str(playbooks.__file__)]})

    return {row.place for row in spark.range(0, 4, 1, 4).mapInArrow(where, "place string").collect()}


def main() -> None:
    runs = int(sys.argv[1]) // 2 * 2 if len(sys.argv) > 1 else 60
    plain: dict[str, float] = {}
    rows: dict[str, dict[int, RunRow]] = {}

    def run_on(spark: "SparkSession", folder: Path, label: str) -> dict[str, CampaignResult]:
        """Run both campaigns on one Spark session."""
        found = {}
        for kind, work in works(runs).items():
            speed, found[kind] = by_spark(spark, folder / kind, work, runs)
            print(f"{kind:5}  {label:18} {speed:8.1f} runs/s, {speed / plain[kind]:.0%}", flush=True)
            assert found[kind][0] == rows[kind], f"the rows of the {kind} on {label} differ"
        return found

    with tempfile.TemporaryDirectory(prefix="floodmark-campaigning-") as scratch:
        folder = Path(scratch)
        for kind, work in works(runs).items():
            plain[kind], rows[kind] = by_processes(folder / "processes" / kind, work, runs)
            print(f"{kind:5}  {'plain processes':18} {plain[kind]:8.1f} runs/s", flush=True)
        with session.start(f"local[{CORES}]") as started:
            here = run_on(started.spark, folder / "local", f"Spark local[{CORES}]")
        with cluster(workers=CORES) as url, session.start(url) as started:
            there = run_on(started.spark, folder / "cluster", "standalone cluster")
            print(f"simulator from {sorted(shipped_to(started.spark))}", flush=True)
        for kind, (_rows, tables) in here.items():
            assert tables == there[kind][1], f"the fleet's tables of the {kind} differ"
            counts = ", ".join(f"{name} {len(table)}" for name, table in tables.items())
            print(f"{kind:5}  equal: {len(rows[kind])} rows; fleet tables: {counts}")


if __name__ == "__main__":
    main()
