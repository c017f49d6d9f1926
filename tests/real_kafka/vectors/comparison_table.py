"""Comparison of the model with recorded answers as text: a table of releases and subjects, or each difference."""

from collections.abc import Mapping, Sequence
from functools import cache

from tests.real_kafka.vectors.recorded import recorded_answers
from tests.real_kafka.vectors.subject import RELEASES, Comparison, Exemption, Subject, compare


@cache
def comparisons(subject: Subject) -> Mapping[str, Comparison]:
    """Return the comparison of each recorded release that the model has, oldest first."""
    found = recorded_answers(subject.name)
    return {release: compare(subject, release, found[release]) for release in subject.modelled(list(found))}


def table(subjects: Sequence[Subject]) -> str:
    """Return a table: a row for each release, and for each subject the numbers of equal items and stated differences.

    The rules that were fixed in the model follow it.
    """
    columns = {subject.name: comparisons(subject) for subject in subjects}
    recorded = {subject.name: recorded_answers(subject.name) for subject in subjects}
    rows = [["release", *columns]]
    for release in RELEASES:
        cells = [_cell(columns[name].get(release), release in recorded[name]) for name in columns]
        if any(cell != "-" for cell in cells):
            rows.append([release, *cells])
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    legend = "equal / stated differences; recorded: the model has no such release; -: not asked"
    fixed = dict.fromkeys(_fixed_line(subject.name, each) for subject in subjects for each in subject.fixed)
    return "\n".join([*lines, "", legend, *(["", "rules fixed in the model:", *fixed] if fixed else [])])


def _fixed_line(name: str, fixed: Exemption) -> str:
    """Return a fixed rule as a line, with its first and last release where they are not those of all."""
    since = "" if fixed.since == RELEASES[0] else f"from {fixed.since}"
    until = "" if fixed.until == RELEASES[-1] else f"until {fixed.until}"
    span = fixed.since if fixed.since == fixed.until else " ".join(filter(None, (since, until)))
    return f"  {name}: {fixed.reason}" + (f"; {span}" if span else "")


def _cell(comparison: Comparison | None, is_recorded: bool) -> str:
    if comparison is None:
        return "recorded" if is_recorded else "-"
    different = len(comparison.stated) + len(comparison.unexplained)
    text = f"{comparison.asked - different} / {len(comparison.stated)}"
    return f"{text} / {len(comparison.unexplained)} unexplained" if comparison.unexplained else text


def differences(subjects: Sequence[Subject]) -> str:
    """Return one line for each difference, with its first and last release, the unexplained ones first."""
    found: dict[tuple[str, str], list[str]] = {}
    for subject in subjects:
        for comparison in comparisons(subject).values():
            for kind, group in (("unexplained", comparison.unexplained), ("stated", comparison.stated)):
                for each in group:
                    found.setdefault((kind, f"{subject.name} {each.text()}"), []).append(each.release)
    lines = [f"{kind} {text} ({_span(releases)})" for (kind, text), releases in found.items()]
    lines.sort(key=lambda line: line.startswith("stated"))
    return "\n".join(lines) or "no differences"


def _span(releases: Sequence[str]) -> str:
    first, last = releases[0], releases[-1]
    between = RELEASES.index(last) - RELEASES.index(first) + 1
    return first if first == last else f"{first} to {last}" if between == len(releases) else ", ".join(releases)
