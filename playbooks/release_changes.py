"""Differences between two Kafka releases: known issues, rules, and defaults of configurations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.known_issues import KNOWN_ISSUES, KnownIssue
from cluster_model.protocol.config_defaults import DEFAULTS
from cluster_model.protocol.releases import PATCH_RELEASES, PATCHES, ReleaseRule, Version, line_of, number_of
from cluster_model.protocol.versions import CLIENT_FLAGS, FLAGS, modes_of
from playbooks.reference_text import releases

ABSENT: Final = "not there"
"""Text for the default of a configuration that a release does not have."""


@dataclass(frozen=True, slots=True)
class DefaultChange:
    """A configuration whose default differs; ``ABSENT`` where a release does not have it, empty for no default."""

    scopes: tuple[str, ...]
    """Of what it is: ``broker``, ``topic``, ``producer``, ``consumer``, ``admin``."""
    name: str
    before: str
    after: str
    without: str = ""
    """Value in effect in the release that does not have the configuration, empty for none."""

    @property
    def kind(self) -> str:
        """``changed``, ``added`` or ``removed``."""
        return "added" if self.before == ABSENT else "removed" if self.after == ABSENT else "changed"


@dataclass(frozen=True, slots=True)
class ReleaseChanges:
    """Changes by an upgrade, or a downgrade, from one release to another."""

    before: str
    after: str
    fixed: tuple[KnownIssue, ...]
    """Known issues of the first release that the second does not have."""
    gained: tuple[KnownIssue, ...]
    """Known issues of the second release that the first does not have."""
    kept: tuple[KnownIssue, ...]
    """Known issues of both."""
    new_rules: tuple[ReleaseRule, ...]
    """Rules of the second release alone, without those of fixed and gained issues."""
    dropped_rules: tuple[ReleaseRule, ...]
    """Rules of the first release alone, without those of fixed and gained issues."""
    defaults: tuple[DefaultChange, ...]
    """Changed defaults of brokers, topics and clients."""


def changes_between(before: str, after: str) -> ReleaseChanges:
    """Return the differences between two release lines or patch releases, in either order.

    Raises:
        KeyError: there is no such release.
    """
    old, new = issues_of(before), issues_of(after)
    fixed = tuple(issue for issue in old if issue not in new)
    gained = tuple(issue for issue in new if issue not in old)
    by_issue = {issue.rule for issue in (*fixed, *gained)}
    rules = [rule for rule in (*FLAGS, *CLIENT_FLAGS) if rule.name not in by_issue]
    first, second = number_of(before), number_of(after)
    return ReleaseChanges(
        before,
        after,
        fixed=fixed,
        gained=gained,
        kept=tuple(issue for issue in old if issue in new),
        new_rules=tuple(rule for rule in rules if rule.holds(second) and not rule.holds(first)),
        dropped_rules=tuple(rule for rule in rules if rule.holds(first) and not rule.holds(second)),
        defaults=tuple(_changed_defaults(first, second)),
    )


def issues_of(release: str) -> tuple[KnownIssue, ...]:
    """Return the known issues of a release line, which is its last patch, or of a patch release, by number."""
    return tuple(issue for issue in KNOWN_ISSUES if release in issue.affected)


def _changed_defaults(before: Version, after: Version) -> list[DefaultChange]:
    changes: dict[tuple[str, str, str, str], list[str]] = {}
    for scope, entries in DEFAULTS.items():
        for entry in entries.values():
            old, new = (_text(entry.default(each)) if entry.exists(each) else ABSENT for each in (before, after))
            if old != new:
                without = _text(entry.value_elsewhere) if ABSENT in (old, new) else ""
                changes.setdefault((entry.name, old, new, without), []).append(scope)
    return [DefaultChange(tuple(scopes), *change) for change, scopes in changes.items()]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def value_text(value: str) -> str:
    """Return the value of a changed default as printed: ``none`` for no default."""
    return value or "none"


def direction(before: str, after: str) -> str:
    """Return ``upgrade``, ``downgrade``, or ``same`` for two names of one release.

    Raises:
        KeyError: there is no such release.
    """
    first, second = number_of(before), number_of(after)
    return "same" if first == second else "upgrade" if first < second else "downgrade"


# The differences as a published document.


def changes_json(changes: ReleaseChanges) -> dict[str, Any]:
    """Return the document of ``profiles --diff``, with which the one of ``upgrade`` begins: plain dicts and lists."""
    return {
        "from": changes.before,
        "to": changes.after,
        "direction": direction(changes.before, changes.after),
        "fixed": [issue_json(each) for each in changes.fixed],
        "new": [issue_json(each) for each in changes.gained],
        "kept": [issue_json(each) for each in changes.kept],
        "new_rules": [_rule_json(each) for each in changes.new_rules],
        "dropped_rules": [_rule_json(each) for each in changes.dropped_rules],
        "changed_defaults": [_default_json(each) for each in changes.defaults],
    }


def issue_json(issue: KnownIssue) -> dict[str, Any]:
    """Return a known issue as a plain dict."""
    return {
        "issue": issue.number,
        "title": issue.title,
        "effect": issue.effect,
        "of": "clients" if issue.is_of_clients else "brokers",
        "mode": issue.mode,
        "affected": affected_text(issue),
        "fixed": list(issue.fixed),
        "needs": issue.needs,
        "seen": issue.seen,
        "workaround": issue.workaround,
        "rule": issue.rule,
        "playbook": issue.playbook,
    }


def _rule_json(rule: ReleaseRule) -> dict[str, str]:
    return {"rule": rule.name, "kafka": releases(rule), "meaning": rule.meaning}


def _default_json(default: DefaultChange) -> dict[str, Any]:
    """Return a changed default; null where the release has no default for it, or not the configuration."""
    old, new = (None if each in ("", ABSENT) else each for each in (default.before, default.after))
    return {
        "configuration": default.name,
        "scopes": list(default.scopes),
        "change": default.kind,
        "from": old,
        "to": new,
    }


# Known issues as text.


def affected_text(issue: KnownIssue) -> str:
    """Return the affected releases as ranges: ``2.1-2.8.1, 3.0.0``, or ``3.7+`` where the newest one is affected."""
    modes = [name for name in PATCH_RELEASES if issue.mode is None or issue.mode in modes_of(name)]
    spans: list[list[str]] = []
    for before, name in zip(("", *modes), modes, strict=False):
        if name not in issue.affected:
            continue
        if spans and spans[-1][-1] == before:
            spans[-1].append(name)
        else:
            spans.append([name])
    return ", ".join(_span_text(span) for span in spans)


def _span_text(span: Sequence[str]) -> str:
    first, last = _line_if(span[0], 0), _line_if(span[-1], -1)
    if span[-1] == PATCH_RELEASES[-1]:
        return f"{first}+"
    if len(span) == 1:
        return span[0]
    return first if first == last else f"{first}-{last}"


def _line_if(patch: str, end: int) -> str:
    """Return the line of a patch release that is the first (0) or last (-1) of its line, else the patch release."""
    line = line_of(patch)
    return line if PATCHES[line][end] == patch else patch


def fixed_text(issue: KnownIssue) -> str:
    """Return the first fixed release of each line, comma-separated; ``no release`` for none."""
    return ", ".join(issue.fixed) or "no release"
