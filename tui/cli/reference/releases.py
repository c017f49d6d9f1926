"""Commands on Kafka's releases: ``profiles`` with the fidelity card, differences of two releases, and ``issues``."""

from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console

from cluster_model.fidelity import Area
from cluster_model.known_issues import EFFECTS, KNOWN_ISSUES, UNMODELLED, KnownIssue, UnmodelledIssue
from cluster_model.protocol.releases import (
    PATCHES,
    RELEASE_LINES,
    RELEASES,
    ReleaseRule,
    Version,
    unknown_hint,
)
from cluster_model.protocol.versions import CLIENT_FLAGS, FLAGS, Profile, modes_of
from cluster_model.util.quantities import counted
from playbooks.errors import BAD_INPUT, OK, shown
from playbooks.reference_text import areas_of, changes, document, releases, versions
from playbooks.release_changes import (
    DefaultChange,
    ReleaseChanges,
    affected_text,
    changes_between,
    changes_json,
    fixed_text,
    issue_json,
    issues_of,
    value_text,
)
from tui.output.command_end import to_text
from tui.output.console import print_document, print_error, print_line, stdout_console, table

RULES: Final = {"broker rule": FLAGS, "client rule": CLIENT_FLAGS}
"""The tables of versioned rules by heading."""


def is_modelled(version: str | None) -> bool:
    """Return whether a requested Kafka version is modelled; prints an error if not."""
    if version is None or version in RELEASES:
        return True
    print_error(
        f"no Kafka version {shown(version)}{unknown_hint(version)}; "
        f"known versions: {', '.join(RELEASE_LINES)}, and their patches, such as 3.6.1"
    )
    return False


def profiles(version: str | None) -> int:
    """List the modelled Kafka versions, or the rules of one; return the exit code."""
    if not is_modelled(version):
        return BAD_INPUT
    console = stdout_console()
    if version is None:
        rows = [
            (each, PATCHES[each][-1], " or ".join(modes_of(each)), str(len(issues_of(each))), ", ".join(_new_in(each)))
            for each in RELEASE_LINES
        ]
        table(console, ("kafka", "patch", "mode", "known issues", "new rules"), rows)
        for heading, flags in RULES.items():
            rules = [(flag.name, releases(flag), flag.meaning) for flag in _by_age(flags)]
            table(console, (heading, "kafka", "meaning"), rules)
        return OK
    number = Profile.of(version).number
    patch = f" (its last patch, {PATCHES[version][-1]})" if version in PATCHES else ""
    print_line(console, f"{version}{patch} with {' or '.join(modes_of(version))}", "bold")
    found = [(each.number, fixed_text(each), each.title) for each in issues_of(version)]
    if found:
        table(console, ("known issue", "fixed in", "title"), found)
    for heading, flags in RULES.items():
        table(console, (heading, "meaning"), [(flag.name, flag.meaning) for flag in _by_age(flags, number)])
    return OK


def _by_age(flags: Sequence[ReleaseRule], number: Version | None = None) -> list[ReleaseRule]:
    """Return rules in the order of the releases that introduced them: all, or those of one release."""
    return sorted([flag for flag in flags if number is None or flag.holds(number)], key=lambda flag: flag.since)


def _new_in(version: str) -> list[str]:
    position = RELEASE_LINES.index(version)
    now = Profile.of(version).number
    before = Profile.of(RELEASE_LINES[position - 1]).number if position else None
    flags = (*FLAGS, *CLIENT_FLAGS)
    return [flag.name for flag in flags if flag.holds(now) and (before is None or not flag.holds(before))]


# ``floodmark profiles --card``: what is modelled, from which sources, and what is not modelled.


def print_card(version: str | None, *, json: bool = False) -> int:
    """Print the fidelity card: every area, or those of one Kafka version; return the exit code."""
    if not is_modelled(version):
        return BAD_INPUT
    areas = areas_of(version)
    if json:
        print_document(to_text([document(area) for area in areas]))
        return OK
    for area in areas:
        _print_area(area)
    return OK


def _print_area(area: Area) -> None:
    console = stdout_console()
    print_line(console, f"{area.name} ({versions(area)})", "bold")
    print_line(console, f"  {area.what}")
    print_line(console, f"  sources: {area.sources}")
    print_line(console, f"  tests: {', '.join(area.test_ids)}")
    for each in area.left_out:
        print_line(console, f"  not modelled: {each}")
    if area.flags:
        table(console, ("rule", "kafka", "meaning"), changes(area))
    print_line(console, "")


# ``floodmark profiles --diff``: what changes from one release to another.


def print_changes(before: str, after: str, *, json: bool = False) -> int:
    """Print what an upgrade from one release to another changes, fixed bugs first; return the exit code."""
    if not (is_modelled(before) and is_modelled(after)):
        return BAD_INPUT
    changes = changes_between(before, after)
    if json:
        print_document(to_text(changes_json(changes)))
        return OK
    console = stdout_console()
    print_changed_issues(console, changes)
    rows = [("new", each.name, each.meaning) for each in changes.new_rules]
    rows += [("dropped", each.name, each.meaning) for each in changes.dropped_rules]
    print_line(console, f"other changes: {counted(len(rows), 'rule')}, {counted(len(changes.defaults), 'default')}")
    if rows:
        table(console, ("change", "rule", "meaning"), rows)
    if changes.defaults:
        table(console, ("configuration", "of", before, after), [_default_row(each) for each in changes.defaults])
    return OK


def print_changed_issues(console: Console, changes: ReleaseChanges) -> None:
    """Print the known issues that an upgrade fixes, brings and keeps."""
    print_line(console, f"from Kafka {changes.before} to {changes.after}", "bold")
    for text, issues in (("fixed", changes.fixed), ("new", changes.gained), ("in both", changes.kept)):
        print_line(console, f"{text}: {counted(len(issues), 'known issue')}")
        if issues:
            table(console, ("issue", "effect", "title"), [(each.number, each.effect, each.title) for each in issues])


def _default_row(change: DefaultChange) -> tuple[str, str, str, str]:
    return change.name, ", ".join(change.scopes), value_text(change.before), value_text(change.after)


# ``floodmark issues``: known issues of Kafka, all, of one release, or one in detail.


def issues(name: str | None, *, json: bool = False) -> int:
    """List known issues, those of one release, or details of one; return the exit code."""
    every: list[KnownIssue | UnmodelledIssue] = [*KNOWN_ISSUES, *UNMODELLED]
    numbers = {each.number: each for each in every}
    wanted = None if name is None else name.upper()
    if wanted is not None and wanted.isdigit():
        wanted = f"KAFKA-{wanted}"
    if wanted in numbers:
        return _print_issue(numbers[wanted], json=json)
    if wanted is not None and wanted.startswith("KAFKA-"):
        print_error(f"no issue {shown(wanted)}; see: floodmark issues")
        return BAD_INPUT
    if not is_modelled(name):
        return BAD_INPUT
    chosen = KNOWN_ISSUES if name is None else issues_of(name)
    if json:
        print_document(to_text([_issue_entry(each) for each in chosen]))
        return OK
    console = stdout_console()
    if name is not None:
        print_line(console, f"Kafka {name} has {len(chosen)} of {counted(len(KNOWN_ISSUES), 'known issue')}", "bold")
    if chosen and name is None:
        rows = [(each.number, affected_text(each), fixed_text(each), each.effect, each.title) for each in chosen]
        table(console, ("issue", "affected", "fixed in", "effect", "title"), rows)
    elif chosen:
        short = [(each.number, fixed_text(each), each.effect, each.title) for each in chosen]
        table(console, ("issue", "fixed in", "effect", "title"), short)
    if chosen:
        print_line(console, f"details and a playbook: floodmark issues {chosen[0].number}")
    if name is None:
        print_line(console, "")
        unmodelled = [(each.number, each.affected, each.fixed, each.title, each.reason) for each in UNMODELLED]
        table(console, ("not modelled", "affected", "fixed in", "title", "reason"), unmodelled)
    return OK


def _print_issue(issue: KnownIssue | UnmodelledIssue, *, json: bool) -> int:
    if json:
        print_document(to_text(_issue_entry(issue)))
        return OK
    console = stdout_console()
    print_line(console, f"{issue.number}: {issue.title}", "bold")
    if isinstance(issue, UnmodelledIssue):
        rows = [("affected", issue.affected), ("fixed in", issue.fixed), ("not modelled", issue.reason)]
    else:
        rows = [
            ("affected", affected_text(issue)),
            ("fixed in", fixed_text(issue)),
            ("of", _nodes_text(issue)),
            ("mode", f"{issue.mode} only" if issue.mode else ""),
            ("effect", f"{issue.effect}: {EFFECTS[issue.effect]}"),
            ("needs", issue.needs),
            ("seen", issue.seen),
            ("workaround", issue.workaround),
            ("rule", issue.rule),
            ("run affected", _run_command(issue, issue.affected[-1:])),
            ("run fixed", _run_command(issue, issue.fixed[:1])),
        ]
    for head, text in rows:
        if text:
            print_line(console, f"{head:<14}{text}")
    return OK


def _run_command(issue: KnownIssue, releases: Sequence[str]) -> str:
    """Return the command that runs its playbook under a release, empty for no release."""
    return "".join(f"floodmark run {issue.playbook} --set {issue.setting}={release}" for release in releases)


def _nodes_text(issue: KnownIssue) -> str:
    if issue.in_upgrades:
        return "brokers, in a rolling upgrade to an affected release"
    return "clients" if issue.is_of_clients else "brokers and controllers"


def _issue_entry(issue: KnownIssue | UnmodelledIssue) -> dict[str, Any]:
    if isinstance(issue, UnmodelledIssue):
        return {
            "issue": issue.number,
            "title": issue.title,
            "affected": issue.affected,
            "fixed": issue.fixed,
            "not_modelled": issue.reason,
        }
    return issue_json(issue)
