"""Campaigns: many numbered runs over many processes, with their results on disk.

runner: starts the missing runs over all cores, keeps each as it ends, and sums up.
store: a campaign's directory, the work that it has to do, and a line for every run.
run_rows: what one run came to as a row; totals, groups of findings, and coverage of protocol states over rows.
parquet_rows: the same rows as Parquet, for campaigns on Spark.

What a run does is up to `workloads`, which this folder never imports. `parquet_rows` loads pyarrow, and is
imported only where such files are.
"""

__all__ = [
    "parquet_rows",
    "run_rows",
    "runner",
    "store",
]
