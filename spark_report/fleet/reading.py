"""The runs of a campaign as a frame, whichever engine did them."""

from functools import reduce
from typing import TYPE_CHECKING

from playbooks.campaign.parquet_rows import DDL
from playbooks.campaign.store import PARTS, RUNS
from spark_report.spark.hadoop_fs import Somewhere, spelled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_runs(spark: "SparkSession", folder: Somewhere) -> "DataFrame":
    """A row for each run, once, of ``runs.jsonl`` and the Parquet files beside it."""
    frames: list[DataFrame] = []
    if any((folder / PARTS).glob("*.parquet")):
        frames.append(spark.read.schema(DDL).parquet(spelled(folder / PARTS)))
    if (folder / RUNS).is_file() and (folder / RUNS).stat().st_size:
        frames.append(spark.read.schema(DDL).json(spelled(folder / RUNS)))
    if not frames:
        return spark.createDataFrame([], DDL)
    # A task that was tried again, or another engine, may have done a run twice: the rows are the same.
    whole = reduce(lambda one, other: one.unionByName(other), frames).filter("run is not null")
    return whole.dropDuplicates(["run"])
