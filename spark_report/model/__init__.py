"""Model of a report: verdicts, summary sentences and comparisons, made from computed tables.

report: SessionStory and ReportStory: the tables of a session or report, its verdict, the settings in which it differs
  from others, and summary sentences.
comparison: comparison of sessions, best and worst, changes against a baseline; the summary and quarantine tables.
format: shares, changes and acks levels as text; internal topics.

It reads rows of tables, and is independent of output formats.
"""

__all__ = [
    "comparison",
    "format",
    "report",
]
