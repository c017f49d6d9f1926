"""The Spark report: recorded sessions in, one report out (HTML page, Markdown, Parquet, JSON, terminal).

__main__: the command `python -m spark_report SESSION...`, which `floodmark report` starts.
submit: the same command as the entry file of `spark-submit`.
job: one report job from start to end, and what every command that starts Spark shares: exit
  codes, options, stages.
aot_cache: the command that makes, shows and clears the JVM's ahead-of-time cache.

Everything else lies below, lowest first: spark, input, tables.queries, tables, model, render. The packages
fleet and campaigns build on all of these. Outside of them the report knows only the record format:
cluster_model.protocol.events, playbooks.text and the modules of playbooks.session_format. This file stays empty of
imports: PySpark is slow to load.
"""

__all__ = [
    "job",
]
