"""Runner of a campaign: the missing runs over all cores, each stored as it ends, and their totals."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from playbooks.campaign.run_rows import (
    ERROR,
    Coverage,
    FailureGroup,
    RunCrash,
    RunRow,
    Totals,
    coverage_of,
    groups_of,
    totals_of,
)
from playbooks.campaign.store import CampaignStore, CampaignWorkload, SavedRun
from playbooks.engine.worker_pool import JobOutcome, JobProgress, PlaybookJob, cores, run_all
from playbooks.errors import INTERNAL, INTERRUPTED, OK
from playbooks.session_format.filesystem import put_in_place

# Jobs of a few runs each for worker processes.


@dataclass(frozen=True, slots=True)
class CampaignRunsJob(PlaybookJob):
    """Job that executes some runs one after the other; ``found`` of its outcome has a row for each."""

    work: CampaignWorkload | None = None
    runs: tuple[int, ...] = ()

    def execute(self, on_progress: Callable[[JobProgress], None]) -> JobOutcome:
        """Execute the runs; never raises."""
        assert self.work is not None
        rows: list[RunRow] = []
        try:
            for run in self.runs:
                on_progress(JobProgress(0, f"run {run}", ""))
                rows.append(self.work.row(run))
        except KeyboardInterrupt:
            return JobOutcome(self, error="stopped", code=INTERRUPTED, found=tuple(rows))
        return JobOutcome(self, code=OK, found=tuple(rows))


AT_A_TIME: Final = 4
"""Maximum number of runs in a job: a second or two of work."""


@dataclass(frozen=True, slots=True)
class CampaignProgress:
    """Progress of a campaign: runs done, keys found, and speed."""

    done: int
    runs: int
    found: int
    """Number of different keys."""
    unexpected: int
    """Number of unexpected keys."""
    reached: int
    pairs: int
    per_second: float
    """Runs per second of this process's work so far; 0 at first."""

    @property
    def left_s(self) -> float:
        """Seconds until the end at this speed, -1 if unknown."""
        return (self.runs - self.done) / self.per_second if self.per_second else -1.0


@dataclass(slots=True)
class CampaignResult:
    """Result of a campaign, or of its interrupted part."""

    totals: Totals
    """Totals of the runs that count."""
    groups: tuple[FailureGroup, ...]
    coverage: Coverage
    interrupted: bool = False
    stopped: bool = False
    """Whether it stopped at the first unexpected finding, as requested."""
    lost: list[str] = field(default_factory=list)
    """Reasons for missing runs: workers that died."""

    @property
    def surprising(self) -> int:
        """Number of unexpected groups, without errors."""
        return sum(not group.expected and not group.key.startswith(f"{ERROR}:") for group in self.groups)


def keep_first(
    work: CampaignWorkload,
    campaign: CampaignStore,
    groups: Iterable[FailureGroup],
    on_progress: Callable[[int, int], None],
) -> dict[int, SavedRun]:
    """Record the representative runs of groups, unless that was done before; ``on_progress`` receives the progress.

    Raises:
        CampaignError, RecordingError, OSError: a run cannot be stored.
    """
    wanted = dict.fromkeys(group.first for group in groups if not group.key.startswith(f"{ERROR}:"))
    kept: dict[int, SavedRun] = {}
    for number, run in enumerate(wanted, 1):
        on_progress(number, len(wanted))
        kept[run] = work.keep(run, campaign)
    return kept


def run_campaign(
    campaign: CampaignStore,
    work: CampaignWorkload,
    runs: int,
    *,
    workers: int = 0,
    stops: Callable[[RunRow], bool] = lambda row: False,
    on_progress: Callable[[CampaignProgress], None] = lambda progress: None,
) -> CampaignResult:
    """Execute the missing runs of 1 to ``runs``.

    The first row for which ``stops`` returns True is the last one that counts.
    """
    faults, states = work.frame()
    missing = [run for run in range(1, _end(campaign, runs, stops) + 1) if run not in campaign.rows]
    workers = workers or cores()
    at_a_time = max(1, min(AT_A_TIME, len(missing) // (2 * workers)))  # spread few runs over all workers
    chunks = [tuple(missing[start : start + at_a_time]) for start in range(0, len(missing), at_a_time)]
    jobs = [CampaignRunsJob("", work.path, work=work, runs=chunk) for chunk in chunks]
    began, before = time.monotonic(), len(campaign.rows)
    lost: list[str] = []

    def stand() -> CampaignProgress:
        rows = [row for row in campaign.rows.values() if row.run <= runs]
        keys = {found.key: found for row in rows for found in row.found}
        surprising = {found.key for row in rows for found in row.found if not found.expected}
        seen = coverage_of(rows, faults, states)
        spent = time.monotonic() - began
        speed = (len(campaign.rows) - before) / spent if spent > 0 else 0.0
        return CampaignProgress(len(rows), runs, len(keys), len(surprising), seen.reached, seen.pairs, speed)

    def on_end(_number: int, outcome: JobOutcome) -> None:
        campaign.add(outcome.found or ())
        if outcome.code == INTERNAL:
            lost.append(outcome.error)
        on_progress(stand())

    outcomes = run_all(
        jobs,
        workers=min(workers, max(1, len(jobs))),
        on_end=on_end,
        stop_after=lambda outcome: any(map(stops, outcome.found or ())),
    )
    campaign.close()
    end = _end(campaign, runs, stops)
    rows = [campaign.rows[run] for run in sorted(campaign.rows) if run <= end]
    hit = any(map(stops, rows[-1:]))
    interrupted = not hit and any(outcome.code == INTERRUPTED for outcome in outcomes)
    return CampaignResult(totals_of(rows), groups_of(rows), coverage_of(rows, faults, states), interrupted, hit, lost)


def _end(campaign: CampaignStore, runs: int, stops: Callable[[RunRow], bool]) -> int:
    """Return the last run that counts: the first one that stops, if all before it exist."""
    hits = [row.run for row in campaign.rows.values() if row.run <= runs and stops(row)]
    return min(hits, default=runs)


# The result of a campaign as a file, to pass it between processes.


COME: Final = "come.json"


def write_result(folder: Path, result: CampaignResult) -> None:
    """Write the result to the campaign's directory."""
    put_in_place(folder / COME, json.dumps(asdict(result), ensure_ascii=False) + "\n")


def take_result(folder: Path) -> CampaignResult | None:
    """Read the result and delete the file; None if there is none."""
    path = folder / COME
    if not path.is_file():
        return None
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    totals, seen = document["totals"], document["coverage"]
    broken = tuple([RunCrash(**each) for each in totals["broken"]])
    return CampaignResult(
        Totals(**{**totals, "broken": broken}),
        tuple([FailureGroup(**each) for each in document["groups"]]),
        Coverage(tuple(seen["faults"]), tuple(seen["states"]), seen["met"]),
        document["interrupted"],
        document["stopped"],
        document["lost"],
    )
