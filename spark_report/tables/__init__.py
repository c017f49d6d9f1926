"""The tables of a report: which there are, how they are computed, and how they reach the driver.

registry: every table and column with type, unit and meaning.
  ``python -m docs.generate report-tables`` prints the manual's list of them.
compute: from recorded sessions to all tables; runs the queries, several Spark jobs side by side.
collect: plans that stay short, and answers as Arrow tables with the columns of the registry.
anomaly_recount: counts 16 of the checker's anomalies and the ledger again from events, independently
  of the checker. result_recount: counts numbers of the result again likewise.

The queries themselves are in tables.queries. Both recounts go to executors by value and import nothing else of
floodmark. Nothing here knows how a table is shown.
"""

__all__ = [
    "collect",
    "compute",
    "registry",
]
