"""The assessment of an upgrade as JSON, as Markdown for a change ticket, and as rows of a table."""

from collections.abc import Sequence
from typing import Any, Final

from cluster_model.known_issues import KnownIssue
from cluster_model.util.quantities import counted, short_seconds
from playbooks.release_changes import fixed_text
from playbooks.text import escaped, table_text
from playbooks.upgrade.assessment import PlaybookDifference, TriedChange, UpgradeAssessment

_NAMES: Final = {
    "verdict": "verdict",
    "violated": "violated invariants",
    "acked_lost": "acknowledged records lost",
    "committed_lost": "committed records lost",
    "wrong_outcome": "records with another transaction outcome than reported",
    "duplicates": "records written twice",
    "reordered": "records out of order",
    "rejected": "records failed or unknown",
    "unavailable_us": "producers out of service",
    "skipped": "records skipped",
    "reread": "records read again",
    "read_stall_us": "longest read stall",
}
SEVERAL: Final = "no single change that was tried"


def outcome_rows(found: PlaybookDifference) -> list[tuple[str, str, str, str]]:
    """Return a row for each differing entry: its name, its value under both releases, and what makes it differ."""
    return [
        (_NAMES[name], _value(name, found.before[name]), _value(name, found.after[name]), _causes_text(causes))
        for name, causes in found.causes.items()
    ]


def _value(name: str, value: int | str) -> str:
    if isinstance(value, str):
        return value or "none"
    return short_seconds(value) if name.endswith("_us") else str(value)


def _causes_text(causes: Sequence[TriedChange]) -> str:
    texts = [f"{each.issue} ({each.name})" if each.issue else each.name for each in causes]
    return ", ".join(texts) or SEVERAL


def assessment_json(found: UpgradeAssessment) -> dict[str, Any]:
    """Return the published document: plain dicts, lists, numbers and strings."""
    changes = found.changes
    return {
        "from": changes.before,
        "to": changes.after,
        "fixed_issues": [_issue(each) for each in changes.fixed],
        "new_issues": [_issue(each) for each in changes.gained],
        "kept_issues": [_issue(each) for each in changes.kept],
        "new_rules": [each.name for each in changes.new_rules],
        "dropped_rules": [each.name for each in changes.dropped_rules],
        "changed_defaults": [
            {"configuration": each.name, "scope": each.scope, "from": each.before, "to": each.after}
            for each in changes.defaults
        ],
        "playbooks": [_playbook(each) for each in found.playbooks],
    }


def _issue(issue: KnownIssue) -> dict[str, str]:
    return {"issue": issue.number, "effect": issue.effect, "title": issue.title, "workaround": issue.workaround}


def _playbook(found: PlaybookDifference) -> dict[str, Any]:
    return {
        "playbook": found.playbook,
        "differs": found.differs,
        "before": dict(found.before),
        "after": dict(found.after),
        "differences": {
            name: [
                {"change": each.name, "issue": each.issue, "set": [f"{path}={value}" for path, value in each.settings]}
                for each in causes
            ]
            for name, causes in found.causes.items()
        },
    }


def assessment_markdown(found: UpgradeAssessment) -> str:
    """Return the assessment as Markdown."""
    changes = found.changes
    parts = [f"# Upgrade of Kafka {changes.before} to {changes.after}\n"]
    for title, issues in (("Fixed", changes.fixed), ("New", changes.gained), ("In both", changes.kept)):
        parts.append(f"\n## {title}: {counted(len(issues), 'known issue')}\n")
        if issues:
            rows = [(each.number, each.effect, each.title, each.workaround, fixed_text(each)) for each in issues]
            parts.append("\n" + table_text(("issue", "effect", "title", "workaround", "fixed in"), rows))
    if found.playbooks:
        parts.append(f"\n## Playbooks\n\n{summary(found)}\n")
    for each in found.playbooks:
        if each.differs:
            heads = ("outcome", changes.before, changes.after, "because of")
            parts.append(f"\n### {escaped(each.playbook)}\n\n{table_text(heads, outcome_rows(each))}")
    return "".join(parts)


def summary(found: UpgradeAssessment) -> str:
    """Return how many playbooks come out differently, as text."""
    different = sum(each.differs for each in found.playbooks)
    return f"playbooks with another outcome: {different} of {len(found.playbooks)}"
