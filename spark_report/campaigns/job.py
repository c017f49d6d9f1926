"""The campaign job: the runs that are missing as tasks of Spark, their rows as Parquet, and what they come to."""

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from playbooks.campaign.come_file import write_come
from playbooks.campaign.coverage import Coverage
from playbooks.campaign.grouping import Group
from playbooks.campaign.runner import Come
from playbooks.campaign.store import PARTS, RUNS, rows_of_lines
from playbooks.campaign.totals import Totals
from playbooks.campaign.work import Work
from playbooks.campaign.workloads.plan_file import PlanError, read_plan
from spark_report.campaigns.landing import COMMIT, Landed
from spark_report.campaigns.shares import LEAST_SECONDS, SHARES_A_CORE, TASK_SECONDS, Done, dealt, how_many
from spark_report.campaigns.shipping import ship
from spark_report.spark.errors import ReportError
from spark_report.spark.session import Started, cancel, cores, failures_told, shares_this_python, start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_SECONDS: Final = 1.0
"""Between two looks at what has landed."""
WAVE_TASKS: Final = 2 * SHARES_A_CORE
"""Tasks a core that are begun at once where a finding is to end the campaign."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be run, and where."""

    folder: Path
    runs: int
    master: str | None = None
    memory: str | None = None
    stop_on: str = ""
    spark: "SparkSession | None" = None
    """One at hand, which is left running."""


class Campaign:
    """One call of the job: runs what is missing, then adds up."""

    def __init__(self, wanted: Wanted, stage: Callable[[str], None]) -> None:
        self._wanted = wanted
        self._stage = stage
        try:
            self._work: Work = read_plan(wanted.folder)
        except PlanError as error:
            raise ReportError(str(error)) from None
        self.landed = Landed(wanted.folder / PARTS, Done(wanted.runs), wanted.stop_on)
        self.interrupted = False

    def run(self, after: Callable[["SparkSession", Come], None], *, landed: Callable[[], None] = lambda: None) -> Come:
        """Do the runs; ``after`` is given what they came to while Spark is up, ``landed`` told when all are there.

        Raises:
            ReportError: something that the caller can put right.
            JobError: Spark failed.
        """
        folder = self._wanted.folder
        self._take_stock()
        seconds = self._seconds_a_run()
        with self._spark() as started, failures_told(started, self._wanted.master):
            self._waves(started.spark, seconds)
            landed()
            come = self._come(started.spark)
            write_come(folder, come)
            if not come.interrupted:
                after(started.spark, come)
        return come

    def _take_stock(self) -> None:
        """See what is there already."""
        folder, landed = self._wanted.folder, self.landed
        if (folder / RUNS).is_file():
            landed.take(list(rows_of_lines(folder / RUNS).values()))
        landed.look()
        for name in landed.damaged:
            self._stage(f"set aside: {folder / PARTS / name} cannot be read; its runs are done again")
        if landed.done.count:
            self._stage(f"{landed.done.count:,} of {self._wanted.runs:,} runs are there already")

    def _seconds_a_run(self) -> float:
        """How long a run takes here: the first that is missing, for tasks of a sensible size.

        A short one is done twice: what is done once, as reading the playbook, should not count.
        """
        missing = self.landed.done.missing(1, 1)
        seconds = 0.0
        for _turn in range(2):
            if missing and seconds < LEAST_SECONDS:
                began = time.process_time()  # what others do on this machine makes no task longer than it should be
                self._work.row(missing[0][0])
                seconds = time.process_time() - began
        return seconds

    @contextlib.contextmanager
    def _spark(self) -> Iterator[Started]:
        wanted = self._wanted
        with contextlib.ExitStack() as stack:
            if wanted.spark is not None:
                started = Started(wanted.spark, "given", None)
            else:
                self._stage("starting Spark")
                started = stack.enter_context(start(wanted.master, memory=wanted.memory))
                self._stage(f"Spark {started.spark.version} is up ({started.origin})")
            if not shares_this_python(started.spark):
                ship(started.spark, Path(stack.enter_context(tempfile.TemporaryDirectory())))
            yield started

    def _waves(self, spark: "SparkSession", seconds: float) -> None:
        """Begin tasks until every run is there, or one has found what is looked for."""
        landed, slots = self.landed, cores(spark)
        most = 0
        if self._wanted.stop_on:
            most = max(slots, round(WAVE_TASKS * slots * TASK_SECONDS / max(seconds, 1e-3)))
        while not self.interrupted and (pieces := landed.done.missing(1, most)):
            if landed.first_hit and pieces[0][0] > landed.first_hit:
                return
            before = landed.done.count
            self._wave(spark, pieces, seconds, slots)
            landed.look()
            if landed.done.count == before and not self.interrupted:
                raise ReportError(f"{landed.folder}: nothing of what the executors wrote arrived; do they share it?")

    def _wave(self, spark: "SparkSession", pieces: list[tuple[int, int]], seconds: float, slots: int) -> None:
        from spark_report.campaigns.executing import runs_of  # noqa: PLC0415 - imports PySpark

        runs = sum(end - begin for begin, end in pieces)
        shares = dealt(pieces, how_many(runs, seconds, slots))
        self._stage(f"{runs:,} runs in {len(shares):,} tasks on {slots} cores")
        with self._progress():
            try:
                runs_of(spark, self._work, shares).write.mode("append").options(**COMMIT).parquet(
                    f"file:{self.landed.folder.absolute()}"
                )
            except KeyboardInterrupt:
                self.interrupted = True
                with contextlib.suppress(Exception):
                    cancel(spark)

    @contextlib.contextmanager
    def _progress(self) -> Iterator[None]:
        """Tell how many runs have landed for as long as the block runs."""
        over = threading.Event()
        thread = threading.Thread(target=self._tell, args=(over,), name="floodmark-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _tell(self, over: threading.Event) -> None:
        began, before = time.monotonic(), self.landed.done.count
        said = before
        while not over.wait(LOOK_SECONDS):
            with contextlib.suppress(OSError):
                self.landed.look()
            done = self.landed.done.count
            if done == said:
                continue
            said = done
            speed = (done - before) / (time.monotonic() - began)
            left = (self._wanted.runs - done) / speed
            self._stage(
                f"{done:,} of {self._wanted.runs:,} runs, {speed:.1f}/s, {clock(left)} left: "
                f"{len(self.landed.keys)} found, {len(self.landed.surprising)} surprising"
            )

    def _come(self, spark: "SparkSession") -> Come:
        from spark_report.campaigns import adding_up  # noqa: PLC0415 - imports PySpark
        from spark_report.fleet.reading import read_runs  # noqa: PLC0415

        faults, states = self._work.frame()
        hit = self.landed.first_hit
        if self.interrupted:
            # Whoever pressed Ctrl-C waits for nothing more; what has landed is counted from the files.
            told = Totals(self.landed.done.count, 0, 0, ())
            nothing: tuple[Group, ...] = ()
            return Come(told, nothing, Coverage(faults, states), interrupted=True)
        runs = read_runs(spark, self._wanted.folder).filter(f"run <= {hit or self._wanted.runs}").persist()
        try:
            return Come(
                adding_up.totals_at_hand(runs),
                adding_up.groups_at_hand(adding_up.groups(runs)),
                adding_up.coverage_at_hand(adding_up.met(runs), faults, states),
                stopped=bool(hit),
            )
        finally:
            runs.unpersist()


def clock(seconds: float) -> str:
    """``0:01:40``."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
