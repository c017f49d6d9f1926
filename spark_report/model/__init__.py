"""The report before it is rendered: verdicts, sentences and comparisons made from computed tables.

report: SessionStory and Story: a session's or a report's tables with its verdict, the settings in which
  it differs from others, and the sentences that sum it up.
comparison: sessions side by side, best and worst, changes against a baseline; the summary
  and quarantine tables.
format: numbers, durations and names as text, the same for page and terminal; which topics are Kafka's own.

It reads rows of tables and knows no output format.
"""

__all__ = [
    "comparison",
    "format",
    "report",
]
