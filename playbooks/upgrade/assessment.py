"""Runs of playbooks under two Kafka releases, and the search for the rules that make their outcomes differ.

Each playbook is run under both releases with the same seed. Where the outcomes differ, it is run under the first
release again, each time with one rule or one default of the second: what then comes out as under the second is the
cause. Known issues are tried first, then other rules, then defaults, until every difference has a cause or nothing is
left to try. A difference that none of these makes alone is reported as such: several changes together make it, or
one that is not tried, such as another controller mode.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.releases import line_of, number_of
from cluster_model.protocol.versions import FLAG_BY_NAME, modes_of
from playbooks.engine.worker_pool import JobOutcome, PlaybookJob, run_all
from playbooks.errors import INTERRUPTED, PlaybookError
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.parser.settings import SettingError, cell_text
from playbooks.release_changes import ABSENT, ReleaseChanges, changes_between
from playbooks.results.sweep_matrix import COSTS, measured

Outcome = Mapping[str, int | str]
"""Verdict and violated invariants as text, and the measures of :data:`MEASURES`."""

MEASURES: Final = (*COSTS, "reordered")
"""Compared measures: records, and virtual microseconds."""
_TIMES: Final = ("unavailable_us", "read_stall_us")
_NOTICEABLE_US: Final = 1_000_000
"""Difference of two times below which it is chance."""
_NOTICEABLE_PART: Final = 10
"""Values differ if they do so by more than one part in this many."""
_CHUNK: Final = 16
"""Changes that are tried before the differences without a cause are looked at again."""


class UpgradeError(ValueError):
    """A playbook that cannot be run under one of the releases; the message says why."""


@dataclass(frozen=True, slots=True)
class TriedChange:
    """One rule or default of the second release, as ``--set`` options for a run under the first."""

    name: str
    """``rule fenced_last_known``, ``default of acks``."""
    settings: tuple[tuple[str, str], ...]
    issue: str = ""
    """Number of the known issue that the rule is, empty for none."""


@dataclass(frozen=True, slots=True)
class PlaybookDifference:
    """One playbook under both releases."""

    playbook: str
    before: Outcome
    after: Outcome
    causes: Mapping[str, tuple[TriedChange, ...]]
    """Differing entry of the outcomes → the changes that make it alone; empty for none."""

    @property
    def differs(self) -> bool:
        """Whether anything comes out differently."""
        return bool(self.causes)


@dataclass(frozen=True, slots=True)
class UpgradeAssessment:
    """Result: what changes between the releases, and each playbook's outcome under both."""

    changes: ReleaseChanges
    playbooks: tuple[PlaybookDifference, ...]


def suitable(playbook: Playbook, before: str, after: str) -> bool:
    """Return whether a playbook is meant for both releases."""
    return all({release, line_of(release)} & set(playbook.profiles) for release in (before, after))


def assess(
    playbooks: Sequence[Playbook],
    before: str,
    after: str,
    *,
    workers: int = 0,
    on_progress: Callable[[str], None] = lambda text: None,
) -> UpgradeAssessment:
    """Run playbooks under two releases and find the causes of every difference.

    Args:
        playbooks: to be run, each with its own seed.
        before: release line or patch release.
        after: release line or patch release.
        workers: number of processes, 0 for the number of cores.
        on_progress: called with a text about the current work.

    Raises:
        KeyError: there is no such release.
        UpgradeError: a playbook cannot be run under one of the releases.
    """
    changes = changes_between(before, after)
    jobs = [_job(playbook, _release(playbook, each)) for playbook in playbooks for each in (before, after)]
    done = iter(_run(jobs, workers, lambda number: on_progress(f"run {number} of {len(jobs)}")))
    pairs = [(_completed(next(done)), _completed(next(done))) for _playbook in playbooks]
    found = []
    for playbook, (old, new) in zip(playbooks, pairs, strict=True):
        causes: dict[str, tuple[TriedChange, ...]] = {name: () for name in old if differs(name, old[name], new[name])}
        if causes:
            on_progress(f"{playbook.name}: looking for what makes the difference")
            causes = _causes(playbook, changes, old, new, list(causes), workers)
        found.append(PlaybookDifference(playbook.name, old, new, causes))
    return UpgradeAssessment(changes, tuple(found))


def differs(name: str, old: int | str, new: int | str) -> bool:
    """Return whether two entries of outcomes differ by more than chance."""
    if isinstance(old, str) or isinstance(new, str):
        return old != new
    apart = abs(old - new) * _NOTICEABLE_PART > max(old, new)
    return apart and (name not in _TIMES or abs(old - new) >= _NOTICEABLE_US)


# Runs.


def _release(playbook: Playbook, release: str) -> dict[str, str]:
    """Return the settings for a release, in the playbook's controller mode if the release has it."""
    modes = modes_of(release)
    mode = playbook.spec.mode if playbook.spec.mode in modes else modes[0]
    return {"cluster.kafka": release, "cluster.mode": mode}


def _job(playbook: Playbook, settings: Mapping[str, str]) -> PlaybookJob:
    """Return the run of a playbook with settings.

    Raises:
        UpgradeError: the playbook is invalid with them.
    """
    try:
        text = cell_text(playbook.source, settings, playbook.fragments, playbook.variables)
        loads(text, playbook.path, playbook.fragments)
    except (SettingError, PlaybookError) as error:
        first = str(error).splitlines()[0]
        raise UpgradeError(f"{playbook.name} under Kafka {settings['cluster.kafka']}: {first}") from None
    return PlaybookJob(text, playbook.path, settings=settings, fragments=playbook.fragments)


def _run(jobs: Sequence[PlaybookJob], workers: int, on_end: Callable[[int], None]) -> list[JobOutcome]:
    ended = [0]

    def count(_number: int, _outcome: JobOutcome) -> None:
        ended[0] += 1
        on_end(ended[0])

    return run_all(jobs, workers=workers, on_end=count)


def _completed(outcome: JobOutcome) -> Outcome:
    """Return what is compared of a run.

    Raises:
        KeyboardInterrupt: the runs were stopped.
        UpgradeError: it ended with an error.
    """
    found = _outcome(outcome)
    if found is None:
        if outcome.code == INTERRUPTED:
            raise KeyboardInterrupt
        raise UpgradeError(f"{outcome.job.path} under Kafka {outcome.job.settings['cluster.kafka']}: {outcome.error}")
    return found


def _outcome(outcome: JobOutcome) -> Outcome | None:
    """Return what is compared of a run, None if it ended with an error."""
    if outcome.result is None:
        return None
    measures = measured(outcome.result)
    violated = ", ".join(sorted({each.invariant for each in outcome.result.violations}))
    verdict: dict[str, int | str] = {"verdict": outcome.result.verdict, "violated": violated}
    return verdict | {name: measures[name] for name in MEASURES}


# The search for causes.


def _causes(
    playbook: Playbook, changes: ReleaseChanges, old: Outcome, new: Outcome, names: Sequence[str], workers: int
) -> dict[str, tuple[TriedChange, ...]]:
    """Return differing entry → the changes that make it alone."""
    found: dict[str, tuple[TriedChange, ...]] = dict.fromkeys(names, ())
    wanted = list(_tried_changes(playbook, changes))
    for first in range(0, len(wanted), _CHUNK):
        if all(found.values()):
            break
        jobs = []
        for change in wanted[first : first + _CHUNK]:
            try:
                jobs.append((change, _job(playbook, _release(playbook, changes.before) | dict(change.settings))))
            except UpgradeError:
                continue  # the first release does not take this value
        for (change, _each), ended in zip(jobs, run_all([job for _change, job in jobs], workers=workers), strict=True):
            if ended.code == INTERRUPTED:
                raise KeyboardInterrupt
            outcome = _outcome(ended)
            if outcome is None:
                continue  # the model cannot combine it with the other rules of the first release
            for name in names:
                if differs(name, old[name], outcome[name]) and not differs(name, new[name], outcome[name]):
                    found[name] = (*found[name], change)
    return found


def _tried_changes(playbook: Playbook, changes: ReleaseChanges) -> Iterator[TriedChange]:
    """Yield known issues, then other rules, then defaults that differ between the releases."""
    first, second = number_of(changes.before), number_of(changes.after)
    for issue in (*changes.fixed, *changes.gained):
        rule = FLAG_BY_NAME[issue.rule]
        if rule.holds(first) != rule.holds(second):
            yield TriedChange(f"rule {rule.name}", _rule(rule.name, on=rule.holds(second)), issue.number)
    for rules, on in ((changes.new_rules, True), (changes.dropped_rules, False)):
        for rule in rules:
            yield TriedChange(f"rule {rule.name}", _rule(rule.name, on=on))
    for default in changes.defaults:
        if ABSENT in (default.before, default.after) or not default.after:
            continue
        settings = tuple(_default_settings(playbook, default.scope, default.name, default.after))
        if settings:
            yield TriedChange(f"default of {default.name}", settings)


def _rule(name: str, *, on: bool) -> tuple[tuple[str, str], ...]:
    return ((f"cluster.rules.{name}", str(on).lower()),)


def _default_settings(playbook: Playbook, scopes: str, name: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield a default as settings of the cluster and of each client that does not set it."""
    spec = playbook.spec
    for scope in scopes.split(", "):
        if scope == "broker" and name not in spec.config:
            yield f"cluster.config.{name}", value
        elif scope == "producer":
            yield from (
                (f"clients.producers.{each.name}.config.{name}", value)
                for each in spec.producers
                if name not in each.config
            )
        elif scope == "consumer":
            yield from (
                (f"clients.groups.{each.name}.config.{name}", value) for each in spec.groups if name not in each.config
            )
