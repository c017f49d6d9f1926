"""Campaigns: many numbered runs over many processes, with their results on disk.

runner: starts the missing runs over all cores, stores each result, and sums up.
store: a campaign's directory: its workload, and a row for every run.
run_rows: the result of one run as a row; totals, groups of findings, and coverage of protocol states over rows.
parquet_rows: the same rows as Parquet, for campaigns on Spark.

The runs are defined by `workloads`, which this folder never imports. `parquet_rows` loads pyarrow, and is
imported only where such files exist.
"""

__all__ = [
    "parquet_rows",
    "run_rows",
    "runner",
    "store",
]
