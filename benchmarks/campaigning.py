"""One campaign three times: by plain processes, on a local Spark, and on a standalone cluster; equal, and how fast.

``python -m benchmarks.campaigning [RUNS]`` does it with a storm and with a grid, prints runs a second of each, once
warm, and fails where the rows or the fleet tables differ. The cluster's executors take the simulator from the file that
is shipped to them.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.standalone import cluster
from playbooks.campaign.run_rows import RunRow
from playbooks.campaign.runner import run_campaign
from playbooks.campaign.store import CampaignWorkload, open_campaign, rows_kept
from playbooks.campaign.workloads.fuzz_workload import plan_of as storm_of
from playbooks.campaign.workloads.fuzz_workload import write_plan
from playbooks.campaign.workloads.grid_workload import Varying
from playbooks.campaign.workloads.grid_workload import plan_of as grid_of
from playbooks.model.playbook import Grid, GridAxis
from playbooks.parser.loader import loads
from spark_report.campaigns.job import CampaignJob, CampaignOptions
from spark_report.fleet.report import compute
from spark_report.fleet.sources import look
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

Came = tuple[dict[int, RunRow], dict[str, Any]]
"""Rows by their runs, and the fleet's tables."""


def works(runs: int) -> dict[str, CampaignWorkload]:
    """A storm, and a grid of as many cells."""
    playbook = loads(TEXT.lstrip(), "campaigns.yaml")
    axes = (GridAxis("acks", ("1", "all")), GridAxis("seed", tuple([str(seed) for seed in range(1, runs // 2 + 1)])))
    storm = storm_of(playbook, 1)
    return {"storm": storm, "grid": grid_of(Varying(playbook, Grid(axes), 1, {}))}


def made(folder: Path, work: CampaignWorkload) -> Path:
    """A campaign's directory. All have one name, since it stands in every table."""
    path = folder / "campaign"
    open_campaign(path, work, "campaigns", rows=False)
    write_plan(path, work)
    return path


def by_processes(folder: Path, work: CampaignWorkload, runs: int) -> tuple[float, dict[int, RunRow]]:
    """Runs a second of the local engine, and the rows."""
    campaign = open_campaign(made(folder, work), work, "campaigns")
    began = time.monotonic()
    run_campaign(campaign, work, runs, workers=CORES)
    return runs / (time.monotonic() - began), campaign.rows


def by_spark(spark: "SparkSession", folder: Path, work: CampaignWorkload, runs: int) -> tuple[float, Came]:
    """Runs a second once warm, and the rows and the fleet's tables."""
    timed(spark, made(folder / "warm", work), min(WARM_UP, runs))
    path = made(folder, work)
    spent = timed(spark, path, runs)
    tables, _counts = compute(spark, look([path])[0])
    return runs / spent, (rows_kept(path), {name: sorted(table.to_pylist(), key=str) for name, table in tables.items()})


def timed(spark: "SparkSession", path: Path, runs: int) -> float:
    """Seconds that the tasks take."""
    began: list[float] = []
    ended: list[float] = []

    def stage(words: str) -> None:
        print(f"    {words}", flush=True)
        began.append(time.monotonic())

    campaign = CampaignJob(CampaignOptions(path, runs, spark=spark), stage)
    campaign.run(lambda _spark, _come: None, landed=lambda: ended.append(time.monotonic()))
    return ended[-1] - began[0]


def shipped_to(spark: "SparkSession") -> set[str]:
    """Where executors have the simulator from."""

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

    def on(spark: "SparkSession", place: Path, words: str) -> dict[str, Came]:
        """Both kinds on one Spark."""
        found = {}
        for kind, work in works(runs).items():
            speed, found[kind] = by_spark(spark, place / kind, work, runs)
            print(f"{kind:5}  {words:18} {speed:8.1f} runs/s, {speed / plain[kind]:.0%}", flush=True)
            assert found[kind][0] == rows[kind], f"the rows of the {kind} by {words} are others"
        return found

    with tempfile.TemporaryDirectory(prefix="floodmark-campaigning-") as scratch:
        place = Path(scratch)
        for kind, work in works(runs).items():
            plain[kind], rows[kind] = by_processes(place / "processes" / kind, work, runs)
            print(f"{kind:5}  {'plain processes':18} {plain[kind]:8.1f} runs/s", flush=True)
        with session.start(f"local[{CORES}]") as started:
            here = on(started.spark, place / "local", f"Spark local[{CORES}]")
        with cluster(workers=CORES) as url, session.start(url) as started:
            there = on(started.spark, place / "cluster", "standalone cluster")
            print(f"simulator from {sorted(shipped_to(started.spark))}", flush=True)
        for kind, (_rows, tables) in here.items():
            assert tables == there[kind][1], f"the fleet's tables of the {kind} differ"
            counts = ", ".join(f"{name} {len(table)}" for name, table in tables.items())
            print(f"{kind:5}  equal: {len(rows[kind])} rows; fleet tables: {counts}")


if __name__ == "__main__":
    main()
