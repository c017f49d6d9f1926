"""Tables of a report: their registry, their computation, and their collection on the driver.

registry: every table and column with type, unit and meaning.
  ``python -m docs.generate report-tables`` prints the manual's list of them.
compute: computes all tables of recorded sessions with concurrent Spark jobs.
collect: short plans, and results as Arrow tables with the columns of the registry.
anomaly_recount: recounts 16 of the checker's anomalies and the ledger from events, independently of the checker.
  result_recount: recounts numbers of the result likewise.

The queries are in tables.queries. Both recounts are sent to executors by value and import no other floodmark package.
Nothing here depends on the output formats.
"""

__all__ = [
    "collect",
    "compute",
    "registry",
]
