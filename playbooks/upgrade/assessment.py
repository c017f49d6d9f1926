"""Runs of playbooks under two Kafka releases, and the search for what makes their outcomes differ.

Each playbook is run under both releases with the same seed. Where the outcomes differ,
:mod:`~playbooks.upgrade.cause_search` finds the rules, defaults or the controller mode that make each difference. The
runs of all searches are distributed over the processes together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cluster_model.protocol.releases import line_of
from playbooks.engine.worker_pool import JobOutcome, KeptWorkers, run_all
from playbooks.errors import INTERRUPTED, PlaybookError
from playbooks.model.playbook import Playbook, Step
from playbooks.parser.settings import SettingError
from playbooks.release_changes import ReleaseChanges, changes_between
from playbooks.upgrade.candidates import TriedChange, release_settings
from playbooks.upgrade.cause_search import Batch, CauseSearch, DifferenceCause
from playbooks.upgrade.compared_run import ComparedRunJob, Outcome, RunRecord


class UpgradeError(ValueError):
    """A playbook that cannot be run under one of the releases; the message says why."""


@dataclass(frozen=True, slots=True)
class PlaybookDifference:
    """One playbook under both releases."""

    playbook: str
    before: Outcome
    after: Outcome
    causes: Mapping[str, DifferenceCause]
    """Differing entry of the outcomes → what makes it."""
    tries: int = 0
    """Number of runs of the search."""
    untried: tuple[TriedChange, ...] = ()
    """Changes that neither release can make alone."""
    other_test: str = ""
    """Releases that are not in its ``profiles``, and steps and expectations that are for one release only, as text."""

    @property
    def differs(self) -> bool:
        """Whether anything comes out differently."""
        return bool(self.causes)


@dataclass(frozen=True, slots=True)
class UpgradeAssessment:
    """Result: what changes between the releases, and each playbook's outcome under both."""

    changes: ReleaseChanges
    playbooks: tuple[PlaybookDifference, ...]
    wanted: int
    """Number of playbooks to compare: more than there are if it was stopped."""
    is_stopped: bool = False
    """Whether Ctrl-C ended it."""


@dataclass(frozen=True, slots=True)
class UpgradeProgress:
    """Progress of an assessment."""

    compared: int
    """Number of playbooks that were run under both releases."""
    playbooks: int
    searched: int
    """Number of different playbooks whose search has ended."""
    different: int
    tries: int
    """Number of runs of all searches so far."""


def suitable(playbook: Playbook, before: str, after: str) -> bool:
    """Return whether a playbook is meant for both releases."""
    return all({release, line_of(release)} & set(playbook.profiles) for release in (before, after))


def assess(
    playbooks: Sequence[Playbook],
    before: str,
    after: str,
    *,
    workers: int = 0,
    on_progress: Callable[[UpgradeProgress], None] = lambda progress: None,
) -> UpgradeAssessment:
    """Run playbooks under two releases and find the causes of every difference.

    Ctrl-C ends it with what is known so far.

    Args:
        playbooks: to be run, each with its own seed.
        before: release line or patch release.
        after: release line or patch release.
        workers: number of processes, 0 for the number of cores.
        on_progress: called after every run.

    Raises:
        KeyError: there is no such release.
        UpgradeError: a playbook cannot be run under one of the releases.
    """
    return _Assessment(playbooks, changes_between(before, after), workers, on_progress).run()


class _Assessment:
    """The state of an assessment while it runs."""

    def __init__(
        self,
        playbooks: Sequence[Playbook],
        changes: ReleaseChanges,
        workers: int,
        on_progress: Callable[[UpgradeProgress], None],
    ) -> None:
        self._playbooks = playbooks
        self._changes = changes
        self._workers = workers
        self._kept = KeptWorkers()
        self._on_progress = on_progress
        self._searches: list[CauseSearch] = []
        self._pairs: list[tuple[RunRecord, RunRecord]] = []
        self._other_tests: list[str] = []
        self._searched = 0

    def run(self) -> UpgradeAssessment:
        """Compare all playbooks, then search."""
        jobs = [self._jobs(playbook) for playbook in self._playbooks]
        stopped = False
        try:
            with self._kept:
                self._compare(jobs)
                self._search()
        except KeyboardInterrupt:
            stopped = True
        found = tuple(
            self._difference(*each) for each in zip(self._searches, self._pairs, self._other_tests, strict=False)
        )
        return UpgradeAssessment(self._changes, found, len(self._playbooks), stopped)

    def _jobs(self, playbook: Playbook) -> tuple[ComparedRunJob, ComparedRunJob]:
        """Return the runs of a playbook under both releases, and note how the playbook itself differs.

        Raises:
            UpgradeError: it is invalid under one of the releases.
        """
        old, new = (
            ComparedRunJob.of(playbook, release_settings(playbook, each))
            for each in (self._changes.before, self._changes.after)
        )
        texts = _not_written_for(playbook, (self._changes.before, self._changes.after))
        self._other_tests.append(", ".join(texts + _other_test(*(_loaded(playbook, each) for each in (old, new)))))
        return old, new

    def _compare(self, pairs: Sequence[tuple[ComparedRunJob, ComparedRunJob]]) -> None:
        ended = [0] * len(pairs)

        def count(number: int, _outcome: JobOutcome) -> None:
            ended[number // 2] += 1
            self._report(sum(each == len(pairs[0]) for each in ended))

        outcomes = run_all(
            [job for pair in pairs for job in pair], workers=self._workers, kept=self._kept, on_end=count
        )
        for playbook, old, new in zip(self._playbooks, outcomes[::2], outcomes[1::2], strict=True):
            if INTERRUPTED in (old.code, new.code):
                continue
            pair = (_completed(playbook, self._changes.before, old), _completed(playbook, self._changes.after, new))
            self._pairs.append(pair)
            self._searches.append(CauseSearch(playbook, self._changes, *pair))
        if len(self._pairs) < len(self._playbooks):
            raise KeyboardInterrupt

    def _search(self) -> None:
        """Run the next batch of every search, until all have ended."""
        open_searches = [(each, each.run()) for each in self._searches if each.causes]
        different = len(open_searches)
        batches: list[Batch] = []
        answers: list[list[RunRecord] | None] = [None] * different
        while open_searches:
            batches, waiting = [], []
            for (search, steps), answer in zip(open_searches, answers, strict=True):
                try:
                    batches.append(next(steps) if answer is None else steps.send(answer))
                    waiting.append((search, steps))
                except StopIteration:
                    self._searched += 1
            open_searches = waiting
            answers = list(self._run(batches))

    def _run(self, batches: Sequence[Batch]) -> list[list[RunRecord]]:
        jobs = [job for batch in batches for job in batch]
        outcomes = run_all(
            jobs, workers=self._workers, kept=self._kept, on_end=lambda _number, _outcome: self._report()
        )
        if any(each.code == INTERRUPTED for each in outcomes):
            raise KeyboardInterrupt
        records = iter([each.found or RunRecord(error=each.error) for each in outcomes])
        return [[next(records) for _job in batch] for batch in batches]

    def _report(self, compared: int | None = None) -> None:
        self._on_progress(
            UpgradeProgress(
                len(self._playbooks) if compared is None else compared,
                len(self._playbooks),
                self._searched,
                sum(bool(each.causes) for each in self._searches),
                sum(each.tries for each in self._searches),
            )
        )

    @staticmethod
    def _difference(search: CauseSearch, pair: tuple[RunRecord, RunRecord], other_test: str) -> PlaybookDifference:
        old, new = (each.outcome or {} for each in pair)
        name, causes = search.playbook.name, dict(search.causes)
        return PlaybookDifference(name, old, new, causes, search.tries, search.untried, other_test)


def _loaded(playbook: Playbook, job: ComparedRunJob) -> Playbook:
    try:
        return job.load()
    except (SettingError, PlaybookError) as error:
        first = str(error).splitlines()[0]
        raise UpgradeError(f"{playbook.name} under Kafka {job.settings['cluster.kafka']}: {first}") from None


def _not_written_for(playbook: Playbook, releases: Sequence[str]) -> list[str]:
    """Return that a playbook's ``profiles`` are without these releases, empty if they have them."""
    missing = [each for each in releases if not {each, line_of(each)} & set(playbook.profiles)]
    return (
        [f"not written for Kafka {' and '.join(missing)}"]
        if missing and playbook.profiles != (playbook.spec.kafka,)
        else []
    )


def _other_test(old: Playbook, new: Playbook) -> list[str]:
    """Return which steps and expectations are limited to one of the releases."""
    texts = []
    for kind, before, after in (
        ("step", [_step(each) for each in old.steps], [_step(each) for each in new.steps]),
        ("expectation", [each.text for each in old.expectations], [each.text for each in new.expectations]),
    ):
        for place, (some, others) in (("before", (before, after)), ("after", (after, before))):
            alone = sum(each not in others for each in some)
            if alone:
                texts.append(f"{alone} {kind}{'' if alone == 1 else 's'} only {place}")
    return texts


def _step(step: Step) -> tuple[str, ...]:
    return (str(step.where), step.verb, step.name, step.target)


def _completed(playbook: Playbook, release: str, outcome: JobOutcome) -> RunRecord:
    """Return the record of a run.

    Raises:
        UpgradeError: it ended with an error.
    """
    record = outcome.found
    if not isinstance(record, RunRecord) or record.outcome is None:
        raise UpgradeError(f"{playbook.name} under Kafka {release}: {outcome.error}")
    return record
