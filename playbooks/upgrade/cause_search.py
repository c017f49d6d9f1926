"""Search for the changes that make the outcomes of a playbook differ between two releases.

The search yields runs in batches and receives their records, so that the batches of several playbooks can be run
together. It proceeds in these steps:

0. *Is it chance?* Both releases are run with two other seeds. A measure that then does not differ in the same
   direction is left alone, unless records are lost under one release and none under the other.
1. *Which changes matter at all?* A rule that the run under the first release never read cannot matter. The other
   candidates are applied in groups; a group whose run has the very same events as the run without it does not matter,
   and such a run ends at its first other event. Groups that matter are halved.
2. *Which change is enough alone?* Each change that matters is applied alone, and its outcome compared.
3. Where no change is enough: *without which change is the difference gone?* The same under the second release, with
   changes reverted.
4. Where that is none or several: *which changes make it together?* Those of step 3, else the least set that is found
   by delta debugging (ddmin), of which none can be left out.

A change is only named after a run in which it was the only one switched, or, for several, after runs with all of them
and without each of them. What is found does not depend on the number of processes.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from playbooks.model.playbook import Playbook
from playbooks.release_changes import ReleaseChanges
from playbooks.upgrade.candidates import TriedChange, candidates, release_settings
from playbooks.upgrade.compared_run import ComparedRunJob, Outcome, RunRecord, differing, differs, value_of

MOST_TRIES: Final = 150
"""Maximum number of runs for one playbook, without the two that are compared."""
OTHER_SEEDS: Final = 2
"""Number of other seeds with which a measure has to differ, too."""
_LOSSES: Final = ("acked_lost", "committed_lost", "wrong_outcome")
_GROUP: Final = 16
"""Number of changes that are first applied together."""

CauseKind = Literal["alone", "needed", "together", "none", "none_alone", "seed", "not_searched", "limit"]
"""Kind of a cause; :data:`HOW` says what each one means."""

HOW: Final[Mapping[CauseKind, str]] = {
    "alone": "each of these changes alone makes the difference",
    "needed": "without any of these changes there is no difference; none of them is enough alone",
    "together": "these changes make the difference together, and none can be left out",
    "none": "no change that can be switched makes the difference, alone or with the others",
    "none_alone": "no change makes the difference alone, and all together cannot be run",
    "seed": "chance: with other seeds there is no such difference",
    "not_searched": "the search was stopped",
    "limit": "not found within the maximum number of runs",
}


@dataclass(frozen=True, slots=True)
class DifferenceCause:
    """The cause of one differing entry of the outcomes, or why there is none."""

    how: CauseKind
    changes: tuple[TriedChange, ...] = ()
    detail: str = ""
    """Error of the run with all changes, for ``none_alone``."""


NOT_SEARCHED: Final = DifferenceCause("not_searched")

Batch = list[ComparedRunJob]
_Runs = Generator[Batch, list[RunRecord], None]


class _LimitError(Exception):
    """The maximum number of runs is reached."""


@dataclass(slots=True)
class _Side:
    """One of the two releases, and the runs under it with changes applied or reverted."""

    base: RunRecord
    """Its run without changes."""
    settings: Mapping[str, str]
    reverts: bool
    """Whether changes are reverted, under the second release."""
    runs: dict[frozenset[TriedChange], RunRecord] = field(default_factory=dict)
    """Complete runs by the changes that were switched."""

    def settings_of(self, change: TriedChange) -> tuple[tuple[str, str], ...]:
        """Return the settings that switch a change."""
        return change.revert if self.reverts else change.apply

    def can_matter(self, change: TriedChange) -> bool:
        """Return whether a change can be switched, and its rule was read."""
        return bool(self.settings_of(change)) and (not change.rule or change.rule in self.base.rules)


class CauseSearch:
    """The search for one playbook; ``causes`` has what is known so far."""

    def __init__(self, playbook: Playbook, changes: ReleaseChanges, old: RunRecord, new: RunRecord) -> None:
        assert old.outcome is not None
        assert new.outcome is not None
        self.playbook = playbook
        self.tries = 0
        self._old, self._new = old.outcome, new.outcome
        names = differing(self._old, self._new)
        self.causes: dict[str, DifferenceCause] = dict.fromkeys(names, NOT_SEARCHED)
        self._changes = candidates(playbook, changes) if names else []
        before, after = (release_settings(playbook, each) for each in (changes.before, changes.after))
        self._before, self._after = _Side(old, before, reverts=False), _Side(new, after, reverts=True)
        self.untried = tuple(each for each in self._changes if not (each.apply or each.revert))
        """Changes that neither release can make alone, such as a controller mode that only one of them has."""

    def run(self) -> _Runs:
        """Yield batches of jobs, and receive their records, until every difference has a cause or none is found."""
        if not self.causes:
            return
        try:
            yield from self._chance()
            if self._open():
                yield from self._alone()
            if self._open():
                yield from self._needed()
            for name in self._open():
                yield from self._together(name)
        except _LimitError:
            for name in self._open():
                self.causes[name] = DifferenceCause("limit")

    def _open(self) -> list[str]:
        return [name for name, cause in self.causes.items() if cause is NOT_SEARCHED]

    # Steps.

    def _chance(self) -> _Runs:
        unsure = [name for name in self._open() if self._may_be_chance(name)]
        if not unsure:
            return
        seeds = [self.playbook.seed + each for each in range(1, OTHER_SEEDS + 1)]
        jobs = [
            ComparedRunJob.of(self.playbook, side.settings, seed=seed)
            for seed in seeds
            for side in (self._before, self._after)
        ]
        records = yield from self._batch(jobs)
        for old, new in zip(records[::2], records[1::2], strict=True):
            for name in unsure:
                if not self._differs_alike(name, old, new):
                    self.causes[name] = DifferenceCause("seed")

    def _may_be_chance(self, name: str) -> bool:
        old, new = (value_of(each, name) for each in (self._old, self._new))
        return isinstance(old, int) and not (name in _LOSSES and 0 in (old, new))

    def _differs_alike(self, name: str, old: RunRecord, new: RunRecord) -> bool:
        """Return whether a measure of two runs differs in the direction of the compared runs."""
        if old.outcome is None or new.outcome is None:
            return False
        first, second = value_of(old.outcome, name), value_of(new.outcome, name)
        rises = int(value_of(self._new, name)) > int(value_of(self._old, name))
        return differs(name, first, second) and (int(second) > int(first)) is rises

    def _alone(self) -> _Runs:
        active = yield from self._active(self._before)
        for name in self._open():
            found = tuple(each for each in active if self._makes(name, self._before.runs[frozenset([each])]))
            if found:
                self.causes[name] = DifferenceCause("alone", found)

    def _needed(self) -> _Runs:
        active = yield from self._active(self._after)
        for name in self._open():
            causing = tuple(each for each in active if self._removes(name, self._after.runs[frozenset([each])]))
            if not causing:
                continue
            self.causes[name] = DifferenceCause("needed", causing)
            applied = frozenset(each for each in causing if each.apply)
            if len(applied) < len(causing) or len(causing) == 1:
                continue
            together = yield from self._least(name, [each for each in self._changes if each in applied])
            if together:
                self.causes[name] = DifferenceCause("together", together)

    def _together(self, name: str) -> _Runs:
        every = [each for each in self._changes if each.apply]
        found = yield from self._least(name, every)
        if found:
            self.causes[name] = DifferenceCause("together" if len(found) > 1 else "alone", found)
            return
        failed = self._before.runs[frozenset(every)]
        if failed.outcome is None:
            self.causes[name] = DifferenceCause("none_alone", detail=failed.error)
        else:
            self.causes[name] = DifferenceCause("none")

    def _makes(self, name: str, record: RunRecord) -> bool:
        return self._is_from(name, self._old, self._new, record)

    def _removes(self, name: str, record: RunRecord) -> bool:
        return self._is_from(name, self._new, self._old, record)

    @staticmethod
    def _is_from(name: str, base: Outcome, wanted: Outcome, record: RunRecord) -> bool:
        """Return whether a run has the wanted entry, and not that of the base."""
        if record.outcome is None:
            return False
        found = value_of(record.outcome, name)
        return differs(name, value_of(base, name), found) and not differs(name, value_of(wanted, name), found)

    # Runs.

    def _active(self, side: _Side) -> Generator[Batch, list[RunRecord], list[TriedChange]]:
        """Return the changes that alone change the events of the run of one side; their runs are complete."""
        wanted = [each for each in self._changes if side.can_matter(each)]
        groups = [wanted[first : first + _GROUP] for first in range(0, len(wanted), _GROUP)]
        active: set[TriedChange] = set()
        while groups:
            records = yield from self._batch([self._job(side, each, probes=len(each) > 1) for each in groups])
            halves: list[list[TriedChange]] = []
            for group, record in zip(groups, records, strict=True):
                if len(group) == 1:
                    side.runs[frozenset(group)] = record
                    if record.outcome is not None and record.digests != side.base.digests:
                        active.add(group[0])
                elif record.deviates or record.outcome is None:
                    middle = len(group) // 2
                    halves += [group[:middle], group[middle:]]
            groups = halves
        return [each for each in wanted if each in active]

    def _least(
        self, name: str, every: Sequence[TriedChange]
    ) -> Generator[Batch, list[RunRecord], tuple[TriedChange, ...]]:
        """Return a least set of changes that makes a difference, empty if all of them do not (ddmin)."""
        if not (yield from self._first(name, [every])):
            return ()
        read = self._before.runs[frozenset(every)].rules  # the run is the same without rules that it never read
        wanted: Sequence[TriedChange] = [each for each in every if not each.rule or each.rule in read]
        self._before.runs[frozenset(wanted)] = self._before.runs[frozenset(every)]
        parts = 2
        while len(wanted) > 1:
            size = -(-len(wanted) // parts)
            subsets = [wanted[first : first + size] for first in range(0, len(wanted), size)]
            rest = [[each for each in wanted if each not in subset] for subset in subsets]
            smaller = (yield from self._first(name, subsets)) or (
                (yield from self._first(name, rest)) if len(subsets) > 2 else None
            )
            if smaller is not None:
                parts = 2 if smaller in subsets else max(len(subsets) - 1, 2)
                wanted = smaller
            elif size == 1:
                break
            else:
                parts = min(2 * len(subsets), len(wanted))
        return tuple(wanted)

    def _first(
        self, name: str, sets: Sequence[Sequence[TriedChange]]
    ) -> Generator[Batch, list[RunRecord], Sequence[TriedChange] | None]:
        """Return the first set of changes that makes a difference, None if none does."""
        runs = self._before.runs
        missing = [each for each in sets if frozenset(each) not in runs]
        records = yield from self._batch([self._job(self._before, each, probes=False) for each in missing])
        runs.update(zip(map(frozenset, missing), records, strict=True))
        return next((each for each in sets if self._makes(name, runs[frozenset(each)])), None)

    def _job(self, side: _Side, changes: Iterable[TriedChange], *, probes: bool) -> ComparedRunJob:
        """Return the run with changes switched, which ends at its first other event if it ``probes``."""
        settings = dict(side.settings)
        for change in changes:
            settings.update(side.settings_of(change))
        expected = side.base.digests if probes else ()
        return ComparedRunJob.of(self.playbook, settings, expected=expected)

    def _batch(self, jobs: Batch) -> Generator[Batch, list[RunRecord], list[RunRecord]]:
        if self.tries + len(jobs) > MOST_TRIES:
            raise _LimitError
        self.tries += len(jobs)
        return (yield jobs) if jobs else []
