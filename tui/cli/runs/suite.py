"""Parallel runs of several playbooks: progress, verdicts, and a table at the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from cluster_model.util.quantities import counted, seconds_to_the_millisecond, time_in_seconds
from playbooks.diagnosis.why import LossExplanation
from playbooks.engine.worker_pool import NOT_RUN, JobOutcome, JobProgress, PlaybookJob, run_all
from playbooks.errors import BAD_INPUT, INTERRUPTED, OK
from playbooks.results.baseline import BaselineChange, BaselineDifference, BaselineEntry, entry_of
from tui.output.console import print_line, print_parts, stderr_console, table
from tui.output.result import CAUSES_SHOWN, loss_expected, print_checked

# Verdicts of several playbooks as text, shared by the table, the Markdown and the JUnit document.


STYLES = {
    "pass": "bold green",
    "fail": "bold red",
    "inconclusive": "bold yellow",
    "error": "bold red",
    "refused": "bold red",
    "stopped": "bold yellow",
    "not run": "dim",
}
HEADS = ("playbook", "profile", "verdict", "acked", "lost", "duplicates", "unavailable", "time", "took", "events")


@dataclass(frozen=True, slots=True)
class PlaybookOutcome:
    """A playbook of a run, with its outcome."""

    name: str
    outcome: JobOutcome
    playbook: str
    """The playbook's own name; ``name`` has a number if several have the same."""
    command: str
    """Command that runs only this one again."""
    why: LossExplanation | None = None
    """Explanation of its losses, if requested."""

    @property
    def verdict(self) -> str:
        """The verdict as one word, see :func:`verdict_of`."""
        return verdict_of(self.outcome)

    def to_json(self) -> dict[str, Any]:
        """Return its result as a document; without a result, the error and the seed."""
        result = self.outcome.result
        if result is not None:
            return result.to_json() | ({"why": self.why.to_json()} if self.why is not None else {})
        return {
            "playbook": self.playbook,
            "seed": self.outcome.job.seed,
            "verdict": self.verdict,
            "reason": self.outcome.error,
            "session": self.outcome.session,
            "expectations": [],
        }

    def entry(self) -> BaselineEntry | None:
        """Return its entry in a baseline; None without a verdict."""
        return entry_of(self.outcome.result.to_json()) if self.outcome.result is not None else None


def verdict_of(outcome: JobOutcome) -> str:
    """Return ``pass``, ``fail`` or ``inconclusive``; else ``error``, ``refused``, ``stopped`` or ``not run``."""
    if outcome.result is not None:
        return outcome.result.verdict
    return {BAD_INPUT: "refused", INTERRUPTED: "stopped", NOT_RUN: "not run"}.get(outcome.code, "error")


def row(ended: PlaybookOutcome, *, took: bool = True) -> tuple[str, ...]:
    """Return the cells below :data:`HEADS`; ``took``: with the wall time, which differs from run to run."""
    result = ended.outcome.result
    wall = (f"{ended.outcome.wall_s:.1f}s" if ended.outcome.code != NOT_RUN else "-",) if took else ()
    if result is None:
        return (ended.name, "-", ended.verdict, *["-"] * 5, *wall, "-")
    ledger = result.ledger
    return (
        ended.name,
        result.profile,
        "as expected" if loss_expected(result) else result.verdict,
        str(ledger.acked),
        f"{ledger.acked_lost}/{ledger.committed_lost}",
        str(ledger.duplicates),
        f"{seconds_to_the_millisecond(result.unavailable.us)}s" if result.virtual_us else "-",
        f"{seconds_to_the_millisecond(result.virtual_us)}s" if result.virtual_us else "-",
        *wall,
        str(result.events),
    )


def count_text(all_ended: Sequence[PlaybookOutcome]) -> str:
    """Return ``3 playbooks: 2 pass, 1 fail``, with the verdicts in the order of :data:`STYLES`."""
    verdicts = [each.verdict for each in all_ended]
    counts = [f"{verdicts.count(word)} {word}" for word in STYLES if word in verdicts]
    return f"{counted(len(verdicts), 'playbook')}: {', '.join(counts)}"


def cause_lines(ended: PlaybookOutcome) -> list[str]:
    """Return the causes of losses and of invariant violations, without repetition."""
    result = ended.outcome.result
    if result is None:
        return []
    causes = [each.sentence for each in result.findings]
    causes += [
        f"{each.invariant}{f' of {each.partition}' if each.partition else ''} at {time_in_seconds(each.at_us)}: "
        f"{each.detail}{f' ({each.known})' if each.known else ''}"
        for each in result.violations
    ]
    return list(dict.fromkeys(cause for cause in causes if cause))


class SuiteDisplay:
    """Progress of a suite on a terminal: status lines, and a line for each playbook that did not pass."""

    def __init__(self, console: Console, names: Sequence[str]) -> None:
        self._console = console
        self._names = names
        self._done = 0
        self._failed = 0
        self._tasks: dict[int, TaskID] = {}
        self._running, self._all = _bars(console)
        self._total = self._all.add_task("", total=len(names), failed="")
        self._live: Live | None = None

    def __enter__(self) -> "SuiteDisplay":
        if self._console.is_terminal and not self._console.quiet:
            both = Group(self._running, self._all)
            self._live = Live(both, console=self._console, transient=True, refresh_per_second=8)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, number: int, _job: PlaybookJob) -> None:
        """Show that a playbook starts."""
        if self._live is not None:
            self._tasks[number] = self._running.add_task(f"{self._names[number]}  starting", total=None)

    def moved(self, number: int, stage: JobProgress) -> None:
        """Show the virtual time and stage of a playbook."""
        when = f"{time_in_seconds(stage.now_us)}, " if stage.now_us else ""
        if self._live is not None:
            self._running.update(self._tasks[number], description=f"{self._names[number]}  {when}{stage.stage}")

    def ended(self, number: int, outcome: JobOutcome) -> None:
        """Count a playbook that ended, and print it if it did not pass."""
        self._done += 1
        self._failed += outcome.code != 0
        if self._live is None:
            return
        self._running.remove_task(self._tasks.pop(number))
        failed = f"{self._failed} not passed" if self._failed else ""
        self._all.update(self._total, completed=self._done, failed=failed)
        if outcome.code != 0:
            width = len(str(len(self._names)))
            verdict = verdict_of(outcome)
            count = f"{self._done:>{width}}/{len(self._names)}  "
            parts = [(count, ""), (f"{verdict:<12}  ", STYLES[verdict]), (f"{self._names[number]}{_why(outcome)}", "")]
            print_parts(self._console, parts, " " * len(count))


def _bars(console: Console) -> tuple[Progress, Progress]:
    """Return the progress lines of running playbooks, and the one of the whole suite."""
    words = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    running = Progress(
        SpinnerColumn("line"),
        TextColumn("{task.description}", markup=False, table_column=words),
        TimeElapsedColumn(),
        console=console,
        expand=True,
    )
    failed = TextColumn("{task.fields[failed]}")
    return running, Progress(BarColumn(40), MofNCompleteColumn(), failed, TimeElapsedColumn(), console=console)


def _why(outcome: JobOutcome) -> str:
    """Return the reason why a playbook did not pass, in one line."""
    result = outcome.result
    if result is None:
        return f"  {outcome.error}"
    if result.reason:
        return f"  {result.reason}"
    failed = [each for each in result.expectations if not each.ok]
    if not failed:
        return ""
    more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f"  {failed[0].text}  ({failed[0].detail}){more}"


def run_suite(
    jobs: Sequence[PlaybookJob], names: Sequence[str], *, workers: int, fail_fast: bool
) -> list[JobOutcome]:  # fmt: skip
    """Run all with progress on stderr; return the outcomes in order."""
    with SuiteDisplay(stderr_console(), names) as display:
        return run_all(
            jobs,
            workers=workers,
            on_start=display.started,
            on_progress=display.moved,
            on_end=display.ended,
            stop_after=lambda outcome: fail_fast and outcome.code != 0,
        )


# The end of a suite: a table, then the playbooks that did not pass, then the difference to a baseline.


SHOWN = 10
"""Failed expectations printed of each playbook; the rest is counted."""
LIGHTEST = ("events", "took", "profile", "time")
"""Columns that are left out on a narrow terminal, in this order."""
GAP = 3
"""Spaces between two columns."""
TREND = {-1: ("better", "green"), 0: ("changed", ""), 1: ("worse", "yellow")}


def print_suite(console: Console, all_ended: Sequence[PlaybookOutcome]) -> None:
    """Print the table and every playbook that did not pass; with a document on stdout, only errors on stderr."""
    if console.quiet:
        _print_unended(all_ended)
        return
    print_line(console, "")
    heads, rows = fitting(HEADS, [row(each) for each in all_ended], console.width if console.is_terminal else None)
    table(console, heads, rows)
    for each in all_ended:
        if each.outcome.code not in (OK, NOT_RUN):
            print_line(console, "")
            _print_failed(console, each)
    print_line(console, "")
    print_line(console, count_text(all_ended), "bold")


def _print_unended(all_ended: Sequence[PlaybookOutcome]) -> None:
    """Print playbooks without a result on stderr, because a document on stdout does not show them to the user."""
    broken = [each for each in all_ended if each.outcome.result is None and each.outcome.code != NOT_RUN]
    for each in broken:
        _print_failed(stderr_console(), each)
    if broken:
        print_line(stderr_console(), count_text(all_ended), "bold")


def fitting(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int | None
) -> tuple[list[str], list[list[str]]]:
    """Return the table without its least important columns, as far as the width requires (None: any width)."""
    kept = list(range(len(heads)))
    for name in LIGHTEST:
        needed = sum(max(len(cells[column]) for cells in [heads, *rows]) + GAP for column in kept)
        if width is None or needed <= width:
            break
        kept.remove(heads.index(name))
    return [heads[column] for column in kept], [[cells[column] for column in kept] for cells in rows]


def _print_failed(console: Console, ended: PlaybookOutcome) -> None:
    outcome, result = ended.outcome, ended.outcome.result
    reason = outcome.error or (result.reason if result else "")
    head = f"{ended.verdict.upper()}  {ended.name}" + (f": {reason}" if reason else "")
    print_line(console, head, STYLES[ended.verdict])
    failed = [each for each in result.expectations if not each.ok] if result is not None else []
    for checked in failed[:SHOWN]:
        print_checked(console, checked)
    if len(failed) > SHOWN:
        print_line(console, f"         and {counted(len(failed) - SHOWN, 'more expectation')}")
    causes = cause_lines(ended)
    for cause in causes[:CAUSES_SHOWN]:
        print_line(console, f"cause    {cause}", "red")
    if len(causes) > CAUSES_SHOWN:
        print_line(console, f"         and {counted(len(causes) - CAUSES_SHOWN, 'more cause')}", "red")
    if outcome.session:
        print_line(console, f"session  {outcome.session}")
    if outcome.crash_report:
        print_line(console, f"log      {outcome.crash_report}")
    print_line(console, f"rerun    {ended.command}")


def print_differences(console: Console, path: str, differences: Sequence[BaselineDifference]) -> None:
    """Print the differences to the baseline at ``path``, and the playbooks with a regression."""
    changed = [each for each in differences if each.changes]
    print_line(console, "")
    if not changed:
        print_line(console, f"baseline {path}: no difference in {counted(len(differences), 'playbook')}")
        return
    print_line(console, f"baseline {path}: {counted(sum(len(each.changes) for each in changed), 'difference')}")
    for each in changed:
        for change in each.changes:
            _print_change(console, each.playbook, change)
    regressed = [each.playbook for each in changed if each.regression]
    if regressed:
        print_line(console, regression_words(regressed), "bold red")


def regression_words(playbooks: Sequence[str]) -> str:
    """Return the message that the run fails because of regressions in these playbooks."""
    return f"REGRESSION: worse than the baseline, so the run fails (exit code 1): {', '.join(playbooks)}"


def _print_change(console: Console, playbook: str, change: BaselineChange) -> None:
    word, style = TREND[change.trend]
    if change.regression:
        style = "bold red"
    print_parts(console, [(f"{word:<9}", style), (f"{playbook}  {change}", "")], " " * 9)
