"""Spark report of recorded sessions as HTML, Markdown, Parquet, JSON and terminal text.

__main__: the command `python -m spark_report SESSION...`, which `floodmark report` starts.
submit: the same command as the entry file of `spark-submit`.
job: one report job from start to end, and code shared by all commands that start Spark: exit codes, options,
  stages.
aot_cache: the command that makes, shows and clears the JVM's ahead-of-time cache.

The packages, lowest first: spark, input, tables.queries, tables, model, render; fleet and campaigns build on all of
these. From other packages the report uses only the record format: cluster_model.protocol.events, playbooks.text and the
modules of playbooks.session_format. This file has no imports, because PySpark is slow to load.
"""

__all__ = [
    "job",
]
