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


def outcome_rows(found: PlaybookDifference) -> list[tuple[str, str, str, str]]:
    """Return a row for each differing entry: its name, its value under both releases, and what makes it differ."""
    return [
        (_name(name), _value(name, found.before), _value(name, found.after), cause_text(cause))
        for name, cause in found.causes.items()
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


def is_chance(found: PlaybookDifference) -> bool:
    """Return whether nothing but chance makes a playbook come out differently."""
    return found.differs and all(cause.how == CHANCE for cause in found.causes.values())


def notes(found: PlaybookDifference) -> list[str]:
    """Return what a reader of a playbook's differences has to know."""
    texts = []
    if found.other_test:
        texts.append(f"limits of the playbook: {found.other_test}")
    texts += [f"cannot be tried alone in either release: {each.name} ({each.meaning})" for each in found.untried]
    return texts


def change_rows(found: UpgradeAssessment) -> list[tuple[str, str, str]]:
    """Return a row for each change that makes a difference: its name, its meaning, and the playbooks."""
    changes: dict[str, TriedChange] = {}
    where: dict[str, list[str]] = {}
    for playbook in found.playbooks:
        for change in _changes(playbook):
            changes.setdefault(change.name, change)
            names = where.setdefault(change.name, [])
            if playbook.playbook not in names:
                names.append(playbook.playbook)
    order = sorted(where, key=lambda name: -len(where[name]))
    return [(_change_text(changes[name]), changes[name].meaning, ", ".join(where[name])) for name in order]


def _changes(found: PlaybookDifference) -> Iterator[TriedChange]:
    for cause in found.causes.values():
        yield from cause.changes


def used_explanations(found: UpgradeAssessment) -> list[str]:
    """Return the meaning of the words in the last column, as far as they are used."""
    used = {cause.how for each in found.playbooks for cause in each.causes.values()}
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


def assessment_json(found: UpgradeAssessment) -> dict[str, Any]:
    """Return the published document: plain dicts, lists, numbers and strings."""
    return {
        **changes_json(found.changes),
        "stopped": found.is_stopped,
        "wanted": found.wanted,
        "playbooks": [_playbook(each) for each in found.playbooks],
    }


def _playbook(found: PlaybookDifference) -> dict[str, Any]:
    return {
        "playbook": found.playbook,
        "differs": found.differs,
        "chance": is_chance(found),
        "before": dict(found.before),
        "after": dict(found.after),
        "tries": found.tries,
        "other_test": found.other_test,
        "not_tried": [each.name for each in found.untried],
        "differences": {
            name: {
                "from": value_of(found.before, name),
                "to": value_of(found.after, name),
                "cause": cause.how,
                "detail": cause.detail,
                "changes": [_change(each) for each in cause.changes],
            }
            for name, cause in found.causes.items()
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


def assessment_markdown(found: UpgradeAssessment) -> str:
    """Return the assessment as Markdown."""
    changes = found.changes
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
    if found.playbooks:
        parts.append(f"\n## Playbooks\n\n{safe(summary(found))}\n")
        parts += [f"\n{safe(each)}\n" for each in (chance_text(found), *used_explanations(found)) if each]
        made = change_rows(found)
        if made:
            parts.append("\n" + table_text(("change", "meaning", "playbooks"), made))
    for each in found.playbooks:
        if each.differs and not is_chance(each):
            heads = ("outcome", changes.before, changes.after, "because of")
            parts.append(f"\n### {escaped(each.playbook)}\n\n{table_text(heads, outcome_rows(each))}")
            parts += [f"\n{safe(note)}\n" for note in notes(each)]
    return "".join(parts)


def summary(found: UpgradeAssessment) -> str:
    """Return how many playbooks come out differently, as text."""
    different = sum(each.differs for each in found.playbooks)
    chance = sum(map(is_chance, found.playbooks))
    by_chance = f", {chance} of them by chance alone" if chance else ""
    missing = found.wanted - len(found.playbooks)
    stopped = f"; stopped, {missing} not compared" if found.is_stopped else ""
    return f"playbooks with another outcome: {different} of {len(found.playbooks)}{by_chance}{stopped}"


def chance_text(found: UpgradeAssessment) -> str:
    """Return the playbooks that come out differently by chance alone, empty for none."""
    names = [each.playbook for each in found.playbooks if is_chance(each)]
    return f"by chance alone, as other seeds do not differ in this way: {', '.join(names)}" if names else ""
