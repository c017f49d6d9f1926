"""The assessment of an upgrade as JSON, as Markdown for a change ticket, and as rows of a table."""

from collections.abc import Iterator
from typing import Any, Final

from cluster_model.util.quantities import counted, short_seconds
from playbooks.release_changes import changes_json, direction, fixed_text
from playbooks.text import escaped, safe, table_text
from playbooks.upgrade.assessment import PlaybookDifference, UpgradeAssessment
from playbooks.upgrade.candidates import TriedChange
from playbooks.upgrade.cause_search import HOW, MOST_TRIES, CauseKind, DifferenceCause
from playbooks.upgrade.compared_run import VIOLATED, Outcome, value_of

_NAMES: Final = {
    "verdict": "verdict",
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
_WITHOUT_CHANGES: Final[dict[CauseKind, str]] = {
    "none": "no change that was tried",
    "none_alone": "no single change that was tried",
    "seed": "chance: other seeds differ otherwise",
    "not_searched": "not searched, stopped",
    "limit": f"not found in {MOST_TRIES} runs",
}
CHANCE: Final[CauseKind] = "seed"


def outcome_rows(difference: PlaybookDifference) -> list[tuple[str, str, str, str]]:
    """Return a row for each differing entry: its name, its value under both releases, and what makes it differ."""
    return [
        (_name(name), _value(name, difference.before), _value(name, difference.after), cause_text(cause))
        for name, cause in difference.causes.items()
    ]


def _name(name: str) -> str:
    return _NAMES[name] if name in _NAMES else f"{name.removeprefix(VIOLATED)} violated"


def _value(name: str, outcome: Outcome) -> str:
    value = value_of(outcome, name)
    if isinstance(value, str):
        return value
    return short_seconds(value) if name.endswith("_us") else str(value)


def cause_text(cause: DifferenceCause) -> str:
    """Return a cause as a cell of a table."""
    if cause.how in _WITHOUT_CHANGES:
        return _WITHOUT_CHANGES[cause.how]
    names = [_change_text(each) for each in cause.changes]
    if cause.how == "alone":
        return " or ".join(names)
    return " and ".join(names) + (" together" if cause.how == "together" else " (needed)")


def _change_text(change: TriedChange) -> str:
    return f"{change.issue} ({change.name})" if change.issue else change.name


def is_chance(difference: PlaybookDifference) -> bool:
    """Return whether nothing but chance makes a playbook come out differently."""
    return difference.differs and all(cause.how == CHANCE for cause in difference.causes.values())


def notes(difference: PlaybookDifference) -> list[str]:
    """Return what a reader of a playbook's differences has to know."""
    texts = []
    if difference.other_test:
        texts.append(f"limits of the playbook: {difference.other_test}")
    texts += [f"cannot be tried alone in either release: {each.name} ({each.meaning})" for each in difference.untried]
    return texts


def change_rows(assessment: UpgradeAssessment) -> list[tuple[str, str, str]]:
    """Return a row for each change that makes a difference: its name, its meaning, and the playbooks."""
    changes: dict[str, TriedChange] = {}
    where: dict[str, list[str]] = {}
    for playbook in assessment.playbooks:
        for change in _changes(playbook):
            changes.setdefault(change.name, change)
            names = where.setdefault(change.name, [])
            if playbook.playbook not in names:
                names.append(playbook.playbook)
    order = sorted(where, key=lambda name: -len(where[name]))
    return [(_change_text(changes[name]), changes[name].meaning, ", ".join(where[name])) for name in order]


def _changes(difference: PlaybookDifference) -> Iterator[TriedChange]:
    for cause in difference.causes.values():
        yield from cause.changes


def used_explanations(assessment: UpgradeAssessment) -> list[str]:
    """Return the meaning of the words in the last column, as far as they are used."""
    used = {cause.how for each in assessment.playbooks for cause in each.causes.values()}
    meanings: tuple[tuple[CauseKind, str], ...] = (
        ("together", "together"), ("needed", "needed"), ("none", "no change that was tried"),
        ("none_alone", "no single change that was tried"),
    )  # fmt: skip
    return [f"{word}: {HOW[how]}" for how, word in meanings if how in used]


def direction_text(before: str, after: str) -> str:
    """Return what to know if the second release is not newer than the first, empty if it is."""
    kind = direction(before, after)
    if kind == "same":
        return f"{before} and {after} are the same release: nothing changes"
    if kind == "downgrade":
        return (
            f"{after} is older than {before}: this is a downgrade. What the older release lacks is listed as new or "
            "dropped. Kafka allows a downgrade of a cluster only until the metadata.version (ZooKeeper mode: "
            "inter.broker.protocol.version) of the newer release is in use."
        )
    return ""


def assessment_json(assessment: UpgradeAssessment) -> dict[str, Any]:
    """Return the published document: plain dicts, lists, numbers and strings."""
    return {
        **changes_json(assessment.changes),
        "stopped": assessment.is_stopped,
        "wanted": assessment.wanted,
        "playbooks": [_playbook(each) for each in assessment.playbooks],
    }


def _playbook(difference: PlaybookDifference) -> dict[str, Any]:
    return {
        "playbook": difference.playbook,
        "differs": difference.differs,
        "chance": is_chance(difference),
        "before": dict(difference.before),
        "after": dict(difference.after),
        "tries": difference.tries,
        "other_test": difference.other_test,
        "not_tried": [each.name for each in difference.untried],
        "differences": {
            name: {
                "from": value_of(difference.before, name),
                "to": value_of(difference.after, name),
                "cause": cause.how,
                "detail": cause.detail,
                "changes": [_change(each) for each in cause.changes],
            }
            for name, cause in difference.causes.items()
        },
    }


def _change(change: TriedChange) -> dict[str, Any]:
    return {
        "change": change.name,
        "issue": change.issue,
        "meaning": change.meaning,
        "set": [f"{path}={value}" for path, value in change.apply],
        "revert": [f"{path}={value}" for path, value in change.revert],
    }


def assessment_markdown(assessment: UpgradeAssessment) -> str:
    """Return the assessment as Markdown."""
    changes = assessment.changes
    what = "Downgrade" if direction(changes.before, changes.after) == "downgrade" else "Upgrade"
    parts = [f"# {what} of Kafka {changes.before} to {changes.after}\n"]
    aside = direction_text(changes.before, changes.after)
    if aside:
        parts.append(f"\n{safe(aside)}\n")
    for title, issues in (("Fixed", changes.fixed), ("New", changes.gained), ("In both", changes.kept)):
        parts.append(f"\n## {title}: {counted(len(issues), 'known issue')}\n")
        if issues:
            rows = [(each.number, each.effect, each.title, each.workaround, fixed_text(each)) for each in issues]
            parts.append("\n" + table_text(("issue", "effect", "title", "workaround", "fixed in"), rows))
    if assessment.playbooks:
        parts.append(f"\n## Playbooks\n\n{safe(summary(assessment))}\n")
        parts += [f"\n{safe(each)}\n" for each in (chance_text(assessment), *used_explanations(assessment)) if each]
        made = change_rows(assessment)
        if made:
            parts.append("\n" + table_text(("change", "meaning", "playbooks"), made))
    for each in assessment.playbooks:
        if each.differs and not is_chance(each):
            heads = ("outcome", changes.before, changes.after, "because of")
            parts.append(f"\n### {escaped(each.playbook)}\n\n{table_text(heads, outcome_rows(each))}")
            parts += [f"\n{safe(note)}\n" for note in notes(each)]
    return "".join(parts)


def summary(assessment: UpgradeAssessment) -> str:
    """Return how many playbooks come out differently, as text."""
    different = sum(each.differs for each in assessment.playbooks)
    chance = sum(map(is_chance, assessment.playbooks))
    by_chance = f", {chance} of them by chance alone" if chance else ""
    missing = assessment.wanted - len(assessment.playbooks)
    stopped = f"; stopped, {missing} not compared" if assessment.is_stopped else ""
    return f"playbooks with another outcome: {different} of {len(assessment.playbooks)}{by_chance}{stopped}"


def chance_text(assessment: UpgradeAssessment) -> str:
    """Return the playbooks that come out differently by chance alone, empty for none."""
    names = [each.playbook for each in assessment.playbooks if is_chance(each)]
    return f"by chance alone, as other seeds do not differ in this way: {', '.join(names)}" if names else ""
