"""One campaign three times: by plain processes, on a local Spark, and on a standalone cluster; equal, and how fast.

``python -m benchmarks.campaigning [RUNS]`` prints runs a second of each, once warm, and fails where the rows or the
fleet tables differ. The cluster's executors take the simulator from the file that is shipped to them.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.standalone import cluster
from playbooks.campaigns.campaign import run_campaign
from playbooks.campaigns.columns import rows_in
from playbooks.campaigns.keeping import PARTS, open_campaign
from playbooks.campaigns.plan_file import write_plan
from playbooks.campaigns.rows import Row
from playbooks.loader import loads
from playbooks.storms.plan import Plan, plan_of
from spark_report import session
from spark_report.campaigns.job import Campaign, Wanted
from spark_report.fleet.job import compute
from spark_report.fleet.sources import look

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


def made(folder: Path) -> tuple[Path, Plan]:
    """A campaign's directory. All have one name, since it stands in every table."""
    plan = plan_of(loads(TEXT.lstrip(), "campaigns.yaml"), 1)
    path = folder / "campaign"
    open_campaign(path, plan, "campaigns", rows=False)
    write_plan(path, plan)
    return path, plan


def by_processes(folder: Path, runs: int) -> tuple[float, dict[int, Row]]:
    """Runs a second of the local engine, and the rows."""
    path, plan = made(folder)
    campaign = open_campaign(path, plan, "campaigns")
    began = time.monotonic()
    run_campaign(campaign, plan, runs, workers=CORES)
    return runs / (time.monotonic() - began), campaign.rows


def by_spark(spark: "SparkSession", folder: Path, runs: int) -> tuple[float, dict[int, Row], dict[str, Any]]:
    """Runs a second once warm, the rows, and the fleet's tables."""
    warm, _plan = made(folder / "warm")
    timed(spark, warm, WARM_UP)
    path, _plan = made(folder)
    spent = timed(spark, path, runs)
    rows = {row.run: row for file in (path / PARTS).glob("*.parquet") for row in rows_in(file)}
    tables, _counts = compute(spark, look([path])[0])
    return runs / spent, rows, {name: sorted(table.to_pylist(), key=str) for name, table in tables.items()}


def timed(spark: "SparkSession", path: Path, runs: int) -> float:
    """Seconds that the tasks take."""
    began: list[float] = []
    ended: list[float] = []

    def stage(words: str) -> None:
        print(f"    {words}", flush=True)
        began.append(time.monotonic())

    campaign = Campaign(Wanted(path, runs, spark=spark), stage)
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
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with tempfile.TemporaryDirectory(prefix="floodmark-campaigning-") as scratch:
        place = Path(scratch)
        plain, rows = by_processes(place / "processes", runs)
        print(f"plain processes    {plain:8.1f} runs/s", flush=True)
        with session.start(f"local[{CORES}]") as started:
            here, local_rows, local_tables = by_spark(started.spark, place / "local", runs)
        print(f"Spark local[{CORES}]     {here:8.1f} runs/s, {here / plain:.0%}", flush=True)
        assert local_rows == rows, "the rows of Spark on this machine are others"
        with cluster(workers=CORES) as url, session.start(url) as started:
            there, cluster_rows, cluster_tables = by_spark(started.spark, place / "cluster", runs)
            places = shipped_to(started.spark)
        print(
            f"standalone cluster {there:8.1f} runs/s, {there / plain:.0%}; simulator from {sorted(places)}", flush=True
        )
        assert cluster_rows == rows, "the rows of the cluster are others"
        assert cluster_tables == local_tables, "the fleet's tables differ"
        counts = ", ".join(f"{name} {len(table)}" for name, table in local_tables.items())
        print(f"equal: {len(rows)} rows; fleet tables: {counts}")


if __name__ == "__main__":
    main()
