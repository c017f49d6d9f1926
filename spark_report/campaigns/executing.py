"""What an executor does: the runs of its shares, a row each, whatever becomes of them."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from playbooks.campaign.work import Work
from spark_report.campaigns.shares import Share

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH: Final = 32
"""Rows that a task holds before it hands them to the file."""


def runs_of(spark: "SparkSession", work: Work, shares: Sequence[Share]) -> "DataFrame":
    """A frame that does the runs when it is written: a task for each share."""
    from playbooks.campaign.parquet_rows import DDL  # noqa: PLC0415 - Arrow

    tasks = spark.range(0, len(shares), 1, len(shares))
    return tasks.mapInArrow(worker(work, tuple(shares)), DDL)


def worker(work: Work, shares: Sequence[Share]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What is sent to the executors: numbers of shares in, rows out."""

    def do(batches: Iterator[Any]) -> Iterator[Any]:
        from playbooks.campaign.parquet_rows import batch_of  # noqa: PLC0415 - of the executor's own floodmark

        for batch in batches:
            for number in batch.column(0).to_pylist():
                runs = [run for begin, end in shares[number] for run in range(begin, end)]
                for first in range(0, len(runs), BATCH):
                    # A run that breaks is a row, too: a task that fails would be tried again, and then end everything.
                    yield batch_of([work.row(run) for run in runs[first : first + BATCH]])

    return do
