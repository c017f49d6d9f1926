"""Several playbooks as one suite: in parallel processes, with what happens told on the way and a table at the end."""

import time
from collections.abc import Callable, Sequence
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from playbooks.engine.expectations import seconds
from playbooks.engine.job import Job, Outcome
from playbooks.engine.job import Progress as Stage
from playbooks.engine.worker_pool import run_all
from tui.cli.runs.verdicts import STYLES, verdict_of
from tui.output.console import say
from tui.output.progress import EVERY_S


class Display:
    """Tells how far a suite is: lines that move on a terminal, one line for each end (and now and then) in a pipe."""

    def __init__(self, console: Console, names: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._names = names
        self._clock = clock
        self._said = clock()
        self._stages: dict[int, str] = {}
        """Of what runs: how far it is."""
        self._done = 0
        self._failed = 0
        self._tasks: dict[int, TaskID] = {}
        self._running, self._all = _bars(console)
        self._total = self._all.add_task("", total=len(names), failed="")
        self._live: Live | None = None

    def __enter__(self) -> "Display":
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

    def started(self, number: int, _job: Job) -> None:
        """A playbook begins."""
        self._stages[number] = "begins"
        if self._live is not None:
            self._tasks[number] = self._running.add_task(f"{self._names[number]}  begins", total=None)

    def moved(self, number: int, stage: Stage) -> None:
        """A playbook is further."""
        when = f"{seconds(stage.now_us)}, " if stage.now_us else ""
        self._stages[number] = f"{when}{stage.stage}"
        if self._live is not None:
            self._running.update(self._tasks[number], description=f"{self._names[number]}  {self._stages[number]}")
        elif self._clock() - self._said >= EVERY_S:
            self._said = self._clock()
            told = "; ".join(f"{self._names[each]}: {words}" for each, words in self._stages.items())
            say(self._console, f"{self._done} of {len(self._names)} done; {told}")

    def ended(self, number: int, outcome: Outcome) -> None:
        """A playbook has its verdict, or an error."""
        self._done += 1
        self._stages.pop(number, None)
        self._said = self._clock()
        self._failed += outcome.code != 0
        if self._live is not None:
            self._running.remove_task(self._tasks.pop(number))
            failed = f"{self._failed} not passed" if self._failed else ""
            self._all.update(self._total, completed=self._done, failed=failed)
            if outcome.code == 0:
                return
        width = len(str(len(self._names)))
        verdict = verdict_of(outcome)
        count = f"{self._done:>{width}}/{len(self._names)}"
        word = f"{verdict:<12}"
        if self._console.is_terminal:
            word = f"[{STYLES[verdict]}]{word}[/]"
        told = f"{count}  {word}  {escape(self._names[number])}{escape(_why(outcome))}"
        self._console.print(told)


def _bars(console: Console) -> tuple[Progress, Progress]:
    """The lines of what runs, and the one of all."""
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


def _why(outcome: Outcome) -> str:
    """What is to be said at once of a playbook that did not pass."""
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
    console: Console, jobs: Sequence[Job], names: Sequence[str], *, workers: int, fail_fast: bool
) -> list[Outcome]:
    """Run all, telling how far they are; how each ended, in order."""
    with Display(console, names) as display:
        return run_all(
            jobs,
            workers=workers,
            on_start=display.started,
            on_progress=display.moved,
            on_end=display.ended,
            stop_after=lambda outcome: fail_fast and outcome.code != 0,
        )
