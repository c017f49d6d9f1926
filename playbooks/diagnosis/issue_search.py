"""Search for the known issue of a Kafka release that causes a failure of a session.

The session is run again with the same seed, steps and operator's actions, and with the rule of one known issue
switched to what it is without the bug. The issue causes a failure that is then gone: in the session's own seed, and
in most of the tried seeds in which the failure occurs, since timing alone may hide it in one. Only issues of the
release in use are tried, and for findings only those with a fitting effect.

A session is run once for each issue, whatever the number of failures, and at most :data:`MOST` times. What was left
out is part of the result. An upgrade is tried only to the first release that has the fix of an issue that was found.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.checker.root_cause import (
    ABANDONED,
    ABORTED_COMMITTED,
    ACKED_ABORTED,
    BY_CODE,
    DUPLICATE,
    LOST,
    MISSING,
    REORDERED,
    SKIPPED,
)
from cluster_model.known_issues import GROUP_ISSUES, KNOWN_ISSUES, Effect, KnownIssue
from cluster_model.util.quantities import listed
from playbooks.diagnosis.remedies import Run
from playbooks.engine.worker_pool import PlaybookJob
from playbooks.model.playbook import Playbook
from playbooks.parser.settings import SettingError, cell_text
from playbooks.results.failure_keys import EXPECTATION, FINDING, Failure, failures_of
from playbooks.results.result import SessionResult

MOST: Final = 40
"""Number of known issues that are tried, those of findings first."""
INCONCLUSIVE: Final = "inconclusive"
"""Kind of the failure of a session without a verdict; its name is the reason."""

_EFFECTS: Final[dict[str, tuple[Effect, ...]]] = {
    LOST: ("durability",),
    MISSING: ("durability",),
    DUPLICATE: ("delivery", "order"),
    REORDERED: ("order", "delivery"),
    SKIPPED: ("delivery", "durability"),
    ABANDONED: ("delivery", "stuck group"),
    ACKED_ABORTED: ("delivery", "availability"),
    ABORTED_COMMITTED: ("delivery", "availability"),
}
"""Kind of findings → effects of the known issues that may cause them; every effect for failures of other kinds."""


@dataclass(frozen=True, slots=True)
class CausingIssue:
    """A known issue that causes a failure, with the runs that prove it."""

    issue: KnownIssue
    seeds_gone: int
    """Number of seeds, of ``seeds``, in which the failure is gone without the bug; always in the session's own."""
    seeds: int
    """Number of tried seeds in which the failure occurs with the bug."""
    upgrade: str = ""
    """First newer release with the fix on which the session was run; empty for none."""
    upgrade_removes: bool = False
    """Whether the failure is gone there."""

    @property
    def is_confirmed(self) -> bool:
        """Whether the failure disappears in more than half of the seeds that have it."""
        return 2 * self.seeds_gone > self.seeds

    @property
    def settings(self) -> tuple[str, ...]:
        """Arguments of ``--set`` of the run without the bug."""
        return _options(_switched(self.issue))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        proofs: list[dict[str, Any]] = [
            {"set": list(self.settings), "removes": True, "seeds_gone": self.seeds_gone, "seeds": self.seeds}
        ]
        if self.upgrade:
            options = list(_options(_release(self.upgrade)))
            gone = int(self.upgrade_removes)
            proofs.append({"set": options, "removes": self.upgrade_removes, "seeds_gone": gone, "seeds": 1})
        return {
            "issue": self.issue.number,
            "title": self.issue.title,
            "effect": self.issue.effect,
            "rule": self.issue.rule,
            "fixed_in": list(self.issue.fixed),
            "workaround": self.issue.workaround,
            "playbook": self.issue.playbook,
            "proven_by": proofs,
            "text": [text for _label, text in issue_words(self)],
        }


@dataclass(frozen=True, slots=True)
class IssueSearch:
    """Result of a search: the causes of each failure, and what was tried for them."""

    causes: Mapping[str, tuple[CausingIssue, ...]]
    """Key of a failure → the known issues that cause it, each alone."""
    tried: tuple[KnownIssue, ...] = ()
    left_out: tuple[tuple[KnownIssue, str], ...] = ()
    """Known issues of the release that were not tried, each with the reason."""
    unconfirmed: tuple[tuple[str, CausingIssue], ...] = ()
    """(Key of a failure, issue) where it is gone in the session's own seed, and in too few others: maybe by chance."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        return {
            "tried": [issue.number for issue in self.tried],
            "not_tried": [
                {"issue": issue.number, "rule": issue.rule, "reason": reason} for issue, reason in self.left_out
            ],
            "unconfirmed": [
                {
                    "failure": key,
                    "issue": each.issue.number,
                    "rule": each.issue.rule,
                    "seeds_gone": each.seeds_gone,
                    "seeds": each.seeds,
                }
                for key, each in self.unconfirmed
            ],
        }


NOTHING_TRIED: Final = IssueSearch({})
"""Search of a session without failures."""


def issue_words(causing: CausingIssue) -> list[tuple[str, str]]:
    """Return a cause as a few lines, each with its label; a label may be empty."""
    issue = causing.issue
    seeds = f", in {causing.seeds_gone} of {causing.seeds} seeds" if causing.seeds > 1 else ""
    lines = [
        ("known issue", f"caused by {issue.number}: {issue.title}; {_fixed_words(issue)}"),
        ("", f"proof: it does not occur with {' '.join(causing.settings)}{seeds}"),
    ]
    if causing.upgrade:
        outcome = "it does not occur there" if causing.upgrade_removes else "it occurs there, too"
        lines.append(("", f"upgrade to {causing.upgrade}: {outcome}"))
    lines += [("", f"workaround: {issue.workaround}"), ("", f"playbook: {issue.playbook}")]
    return lines


def _fixed_words(issue: KnownIssue) -> str:
    if not issue.fixed:
        return "no release has a fix"
    later = "" if issue.is_open else ", and in every later release line"
    return f"fixed in {listed(issue.fixed, 'and')}{later}"


def search_words(search: IssueSearch) -> str:
    """Return how many known issues were tried or not, and which are not confirmed; empty if the release has none."""
    parts = [f"{len(search.tried)} of this release tried, one at a time"] if search.tried else []
    reasons = Counter(reason for _issue, reason in search.left_out)
    parts += [f"{count} not tried ({reason})" for reason, count in reasons.items()]
    for key, each in search.unconfirmed:
        seeds = f"in {each.seeds_gone} of {each.seeds} seeds"
        parts.append(f"not confirmed: {each.issue.number} ({key} is gone without it {seeds}, maybe by chance)")
    return "; ".join(parts)


def failures_to_explain(result: SessionResult) -> tuple[Failure, ...]:
    """Return the failures of a session; one that ended without a verdict has its reason as another failure."""
    reason = (Failure(INCONCLUSIVE, result.reason),) if result.reason else ()
    return (*failures_of(result), *reason)


def search_issues(
    playbook: Playbook,
    seed: int,
    actual: SessionResult,
    failures: Sequence[Failure],
    *,
    run: Run,
    until_us: int = -1,
    seeds: int = 1,
) -> IssueSearch:
    """Find the known issues that cause failures.

    Args:
        playbook: the session as a playbook, without an operator.
        seed: that of the session.
        actual: result of the session.
        failures: those to explain, of :func:`failures_to_explain`.
        run: runs jobs.
        until_us: virtual time at which the session was cut off, -1 for nowhere.
        seeds: number of seeds to confirm a cause, the session's own first.
    """
    wanted, left_out = _selected(playbook, failures)
    cases = _Runs(playbook, run, until_us)
    outcomes = cases.results([(_switched(issue), seed) for issue in wanted])
    causes_by_failure = {
        failure.key: tuple(
            issue
            for issue, result in zip(wanted, outcomes, strict=True)
            if issue.effect in _effects(failure) and is_gone(failure, actual, result)
        )
        for failure in failures
    }
    counted = _counted(cases, causes_by_failure, failures, [seed + number for number in range(1, seeds)])
    confirmed = {key: tuple(cause for cause in causes if cause.is_confirmed) for key, causes in counted.items()}
    doubtful = tuple((key, cause) for key, causes in counted.items() for cause in causes if not cause.is_confirmed)
    tried = tuple(issue for issue, result in zip(wanted, outcomes, strict=True) if result is not None)
    refused = [(issue, "its rule cannot be switched here") for issue in wanted if issue not in tried]
    return IssueSearch(_upgraded(cases, confirmed, failures, actual, seed), tried, (*left_out, *refused), doubtful)


def is_gone(failure: Failure, before: SessionResult, after: SessionResult | None) -> bool:
    """Return whether a failure of one run does not occur in another, nor does one of another cause in its place."""
    if after is None or (after.reason and not before.reason):
        return False
    if failure.kind == INCONCLUSIVE:
        return not after.reason
    if failure.kind == EXPECTATION:
        held = [each.ok for each in after.expectations if each.text == failure.name]
        return bool(held) and all(held)
    keys = {each.key for each in failures_of(after)}
    if failure.kind == FINDING:
        same_kind = f"{FINDING}:{_kind_of(failure)}/"
        new = keys - {each.key for each in failures_of(before)}
        return failure.key not in keys and not any(key.startswith(same_kind) for key in new)
    return failure.key not in keys


# Issues that are worth trying.


def _selected(
    playbook: Playbook, failures: Sequence[Failure]
) -> tuple[list[KnownIssue], tuple[tuple[KnownIssue, str], ...]]:
    """Return the known issues to try, in this order, and those to leave out, each with the reason."""
    effects = {effect for failure in failures for effect in _effects(failure)}
    named = " ".join(BY_CODE[code].see for failure in failures if (code := _cause_of(failure)) in BY_CODE)
    wanted: list[KnownIssue] = []
    left_out: list[tuple[KnownIssue, str]] = []
    for issue in _present(playbook):
        if issue.effect not in effects:
            left_out.append((issue, "other effect"))
        elif issue in GROUP_ISSUES and not playbook.spec.groups and not playbook.spec.manual:
            left_out.append((issue, "no consumer groups"))
        else:
            wanted.append(issue)
    findings = {effect for failure in failures if failure.kind == FINDING for effect in _effects(failure)}
    wanted.sort(key=lambda issue: (issue.number not in named.split(), issue.effect not in findings))
    left_out += [(issue, f"more than {MOST}") for issue in wanted[MOST:]]
    return wanted[:MOST], tuple(left_out)


def _present(playbook: Playbook) -> Iterator[KnownIssue]:
    """Yield the known issues of the releases in use, without those that the playbook switches off."""
    spec = playbook.spec
    configs = [*(each.config for each in spec.producers), *(each.config for each in spec.groups)]
    clients = {str(config.get("client.version", "")) or spec.kafka for config in configs} or {spec.kafka}
    switched = dict(spec.rules)
    for issue in KNOWN_ISSUES:
        releases = clients if issue.is_of_clients else {spec.kafka}
        if issue.mode not in (None, spec.profile.mode) or not releases & set(issue.affected):
            continue
        if switched.get(issue.rule) != issue.fixed_value:
            yield issue


def _effects(failure: Failure) -> tuple[Effect, ...]:
    if failure.kind == FINDING:
        return _EFFECTS.get(_kind_of(failure), ("delivery",))
    return ("durability", "availability", "order", "delivery", "stuck group")


def _kind_of(failure: Failure) -> str:
    return failure.name.partition("/")[0]


def _cause_of(failure: Failure) -> str:
    return failure.name.partition("/")[2]


# Runs with a change, and what they prove.


def _switched(issue: KnownIssue) -> tuple[tuple[str, str], ...]:
    return ((f"cluster.rules.{issue.rule}", str(issue.fixed_value).lower()),)


def _release(release: str) -> tuple[tuple[str, str], ...]:
    return (("cluster.kafka", release),)


def _options(settings: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(f"{path}={value}" for path, value in settings)


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of one playbook with settings and seeds."""

    playbook: Playbook
    run: Run
    until_us: int

    def results(self, wanted: Sequence[tuple[tuple[tuple[str, str], ...], int]]) -> list[SessionResult | None]:
        """Return the result for each settings and seed; None where the playbook does not take the settings."""
        jobs = [self._job(dict(settings), seed) for settings, seed in wanted]
        outcomes = iter(self.run([job for job in jobs if job is not None]) if any(jobs) else [])
        return [None if job is None else next(outcomes).result for job in jobs]

    def _job(self, settings: dict[str, str], seed: int) -> PlaybookJob | None:
        playbook = self.playbook
        try:
            text = cell_text(playbook.source, settings, playbook.fragments, playbook.variables)
        except SettingError:
            return None
        return PlaybookJob(
            text, playbook.path, seed, settings=settings, until_us=self.until_us, fragments=playbook.fragments
        )


def _counted(
    cases: _Runs,
    causes_by_failure: Mapping[str, tuple[KnownIssue, ...]],
    failures: Sequence[Failure],
    seeds: Sequence[int],
) -> dict[str, tuple[CausingIssue, ...]]:
    """Return the issues with the number of seeds in which the failure occurs, and in which they cause it."""
    issues = tuple(dict.fromkeys(issue for causes in causes_by_failure.values() for issue in causes))
    if not issues:
        return {failure.key: () for failure in failures}
    with_bug = cases.results([((), seed) for seed in seeds])
    without = {issue: cases.results([(_switched(issue), seed) for seed in seeds]) for issue in issues}
    counted: dict[str, tuple[CausingIssue, ...]] = {}
    for failure in failures:
        causes = []
        for issue in causes_by_failure[failure.key]:
            verdicts = [
                is_gone(failure, before, after)
                for before, after in zip(with_bug, without[issue], strict=True)
                if before is not None and failure.key in {each.key for each in failures_to_explain(before)}
            ]
            causes.append(CausingIssue(issue, 1 + sum(verdicts), 1 + len(verdicts)))
        counted[failure.key] = tuple(causes)
    return counted


def _upgraded(
    cases: _Runs,
    confirmed: Mapping[str, tuple[CausingIssue, ...]],
    failures: Sequence[Failure],
    actual: SessionResult,
    seed: int,
) -> dict[str, tuple[CausingIssue, ...]]:
    """Run the session on the first newer release that has the fix of each cause."""
    kafka = cases.playbook.spec.kafka
    named = {cause.issue.fixed_after(kafka) for causes in confirmed.values() for cause in causes}
    releases = sorted(named - {""})
    results = dict(zip(releases, cases.results([(_release(name), seed) for name in releases]), strict=True))
    by_key = {failure.key: failure for failure in failures}

    def upgraded(key: str, cause: CausingIssue) -> CausingIssue:
        release = cause.issue.fixed_after(kafka)
        result = results.get(release)
        if result is None:
            return cause
        return replace(cause, upgrade=release, upgrade_removes=is_gone(by_key[key], actual, result))

    return {key: tuple(upgraded(key, cause) for cause in causes) for key, causes in confirmed.items()}
