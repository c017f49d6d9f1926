"""Assessment of an upgrade: playbooks run under two Kafka releases, and the rules that make their outcomes differ.

assessment: the runs under both releases, and all searches together; candidates: rules, defaults and the controller
mode as changes that can be made alone; cause_search: the search for those that make a difference; compared_run: one
run as a job; document: the result as JSON, Markdown and lines of text.
"""

from playbooks.upgrade.assessment import (
    PlaybookDifference,
    UpgradeAssessment,
    UpgradeError,
    UpgradeProgress,
    assess,
    suitable,
)
from playbooks.upgrade.document import (
    assessment_json,
    assessment_markdown,
    chance_text,
    change_rows,
    direction_text,
    is_chance,
    notes,
    outcome_rows,
    summary,
    used_explanations,
)

__all__ = [
    "PlaybookDifference",
    "UpgradeAssessment",
    "UpgradeError",
    "UpgradeProgress",
    "assess",
    "assessment_json",
    "assessment_markdown",
    "chance_text",
    "change_rows",
    "direction_text",
    "is_chance",
    "notes",
    "outcome_rows",
    "suitable",
    "summary",
    "used_explanations",
]
