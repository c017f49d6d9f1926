"""Assessment of an upgrade: playbooks run under two Kafka releases, and the rules that make their outcomes differ.

assessment: the runs, and the search for the rules; document: the result as JSON, Markdown and lines of text.
"""

from playbooks.upgrade.assessment import PlaybookDifference, UpgradeAssessment, UpgradeError, assess, suitable
from playbooks.upgrade.document import assessment_json, assessment_markdown, outcome_rows, summary

__all__ = [
    "PlaybookDifference",
    "UpgradeAssessment",
    "UpgradeError",
    "assess",
    "assessment_json",
    "assessment_markdown",
    "outcome_rows",
    "suitable",
    "summary",
]
