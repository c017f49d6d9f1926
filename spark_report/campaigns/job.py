"""The campaign job on Spark: missing runs as tasks, their rows as Parquet, and their totals."""

import contextlib
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812

from cluster_model.util.quantities import elapsed
from playbooks.campaign.run_rows import MOST_CRASHES_LISTED, Coverage, FailureGroup, Met, RunCrash, RunRow, Totals
from playbooks.campaign.runner import CampaignResult, write_result
from playbooks.campaign.store import PARTS, RUNS, CampaignWorkload, rows_of_lines
from playbooks.campaign.workloads.fuzz_workload import FuzzPlanError, read_plan
from playbooks.fuzz.protocol_states import STEADY
from spark_report.spark.errors import ReportError
from spark_report.spark.session import RunningSpark, cancel, cores, failures_converted, shares_this_python, start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Totals of a campaign's runs, groups by key, coverage: functions from DataFrames to DataFrames.


def totals(runs: "DataFrame") -> "DataFrame":
    """Return one row with the numbers of runs, injected faults and errors."""
    return runs.agg(
        F.count(F.lit(1)).alias("runs"),
        F.coalesce(F.sum(F.col("counts")["strikes"]), F.lit(0)).alias("strikes"),
        F.count_if(F.col("error") != "").alias("errors"),
    )


def broken(runs: "DataFrame") -> "DataFrame":
    """Return the first runs with an internal error."""
    there = runs.filter(F.col("error") != "").select("run", "seed", "error")
    return there.orderBy("run").limit(MOST_CRASHES_LISTED)


def groups(runs: "DataFrame") -> "DataFrame":
    """Return a row for each key: number of runs, and the representative: the first surprising run, else the first."""
    each = runs.select("run", F.explode("found").alias("found")).select("run", "found.*")
    spoken = F.struct((F.col("expected") != "").alias("late"), "run", "expected", "sentence")
    by_key = each.groupBy("key").agg(F.count(F.lit(1)).alias("count"), F.min(spoken).alias("one"))
    return by_key.select("key", "count", "one.run", "one.expected", "one.sentence")


def met(runs: "DataFrame") -> "DataFrame":
    """Return a row for each fault and cluster state with the number of injections."""
    by_fault = runs.select(F.explode("coverage").alias("fault", "states"))
    each = by_fault.select("fault", F.explode("states").alias("state", "strikes"))
    return each.groupBy("fault", "state").agg(F.sum("strikes").alias("strikes"))


def totals_at_hand(runs: "DataFrame") -> Totals:
    """Collect the results of :func:`totals` and, if there are errors, of :func:`broken`."""
    row = totals(runs).collect()[0]
    first = [RunCrash(*each) for each in broken(runs).collect()] if row.errors else []
    return Totals(row.runs, row.strikes, row.errors, tuple(first))


def groups_at_hand(frame: "DataFrame") -> tuple[FailureGroup, ...]:
    """Collect the result of :func:`groups`, surprising ones first, then by number of runs."""
    found = [
        FailureGroup(row["key"], row["expected"], row["count"], row["run"], row["sentence"]) for row in frame.collect()
    ]
    return tuple(sorted(found, key=lambda group: (bool(group.expected), -group.count, group.key)))


def coverage_at_hand(frame: "DataFrame", faults: Sequence[str], states: Sequence[str]) -> Coverage:
    """Collect the result of :func:`met` as the coverage of all faults and states."""
    counts: Met = {fault: {} for fault in faults}
    for row in sorted(frame.collect()):
        counts.setdefault(row.fault, {})[row.state] = row.strikes
    return Coverage(tuple(faults), (STEADY, *states), counts)


# Distribution of missing runs over tasks: enough tasks to keep every core busy, none too small for its overhead.


Share = tuple[tuple[int, int], ...]
"""Runs of one task, as half-open ranges ``[first, end)``."""

TASK_SECONDS: Final = 4.0
"""Target duration of a task; starting and committing one takes a tenth of a second."""
LEAST_SECONDS: Final = 0.5
SHARES_A_CORE: Final = 4
"""Minimum tasks per core if there are enough runs, so that cores that finish early get more work."""


class RunSet:
    """Set of the runs that are done, with one byte per run, so that it can have millions."""

    def __init__(self, runs: int) -> None:
        self._done = bytearray(runs + 1)
        self.count = 0

    def add(self, runs: Iterable[int]) -> None:
        """Add runs that are done; numbers beyond the last requested run are ignored."""
        for run in runs:
            if 0 < run < len(self._done) and not self._done[run]:
                self._done[run] = 1
                self.count += 1

    def missing(self, first: int = 1, limit: int = 0) -> list[tuple[int, int]]:
        """Return the missing runs as half-open ranges in order, at most ``limit`` runs (0: all)."""
        pieces: list[tuple[int, int]] = []
        left = limit or len(self._done)
        while left and (begin := self._done.find(0, first)) >= 0:
            end = self._done.find(1, begin)
            first = min(begin + left, end if end >= 0 else len(self._done))
            pieces.append((begin, first))
            left -= first - begin
            if first >= len(self._done):
                break
        return pieces


def how_many(runs: int, seconds_a_run: float, cores: int) -> int:
    """Return the number of shares for a number of runs."""
    total = runs * seconds_a_run
    wanted = max(total / TASK_SECONDS, min(SHARES_A_CORE * cores, total / LEAST_SECONDS), cores)
    return max(1, min(runs, round(wanted)))


def distribute(pieces: Sequence[tuple[int, int]], shares: int) -> list[Share]:
    """Distribute ranges of runs over shares of equal size (plus or minus one run), in order."""
    total = sum(end - begin for begin, end in pieces)
    sizes = [total // shares + (number < total % shares) for number in range(shares)]
    all_shares: list[Share] = []
    left = [*reversed(pieces)]
    for size in filter(None, sizes):
        own: list[tuple[int, int]] = []
        wanted = size
        while wanted:
            begin, end = left.pop()
            taken = min(wanted, end - begin)
            own.append((begin, begin + taken))
            wanted -= taken
            if begin + taken < end:
                left.append((begin + taken, end))
        all_shares.append(tuple(own))
    return all_shares


# Work of an executor: the runs of its shares, with a row for each run, also for a failed one.


BATCH: Final = 32
"""Rows that a task buffers before it writes them."""


def runs_of(spark: "SparkSession", work: CampaignWorkload, shares: Sequence[Share]) -> "DataFrame":
    """Return a frame that executes the runs when it is written, with one task for each share."""
    from playbooks.campaign.parquet_rows import DDL  # noqa: PLC0415 - Arrow

    tasks = spark.range(0, len(shares), 1, len(shares))
    return tasks.mapInArrow(worker(work, tuple(shares)), DDL)


def worker(work: CampaignWorkload, shares: Sequence[Share]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function for executors, from batches of share numbers to batches of rows."""

    def do(batches: Iterator[Any]) -> Iterator[Any]:
        from playbooks.campaign.parquet_rows import batch_of  # noqa: PLC0415 - of the executor's own floodmark

        for batch in batches:
            for number in batch.column(0).to_pylist():
                runs = [run for begin, end in shares[number] for run in range(begin, end)]
                for first in range(0, len(runs), BATCH):
                    # A run with an error is a row, too: a failing task would be retried, and then fail the job.
                    yield batch_of([work.row(run) for run in runs[first : first + BATCH]])

    return do


# Tracks the files that executors write: the number of finished runs, and their findings.
#
# Each task commits its own file (version 2 of Hadoop's committer), so finished runs are kept when the job is stopped.


COMMIT: Final = {"mapreduce.fileoutputcommitter.algorithm.version": "2", "compression": "zstd"}
"""Options with which Spark writes the files."""
_DAMAGED: Final = "_{}.damaged"
"""New name of an unreadable file; Spark ignores names that start with an underscore."""


@dataclass(slots=True)
class FinishedRuns:
    """The finished runs of a campaign, and their findings."""

    folder: Path
    done: RunSet
    stop_on: str = ""
    """Pattern of the keys that stop the campaign; empty for none."""
    keys: set[str] = field(default_factory=set)
    surprising: set[str] = field(default_factory=set)
    first_hit: int = 0
    """The first known run with a matching key; 0 for none."""
    damaged: list[str] = field(default_factory=list)
    """Names of files that could not be read, and were renamed."""
    _seen: set[str] = field(default_factory=set)

    def read_new_files(self) -> None:
        """Read the new files."""
        for path in sorted(self.folder.glob("*.parquet")):
            if path.name in self._seen:
                continue
            try:
                table = pq.ParquetFile(path).read(columns=["run", "found"])
            except (OSError, pa.ArrowException):
                path.rename(path.with_name(_DAMAGED.format(path.name)))
                self.damaged.append(path.name)
                continue
            self._seen.add(path.name)
            self.done.add(table.column("run").to_pylist())
            for run, found in zip(table.column("run").to_pylist(), table.column("found").to_pylist(), strict=True):
                for each in found:
                    self._note(run, each["key"], expected=bool(each["expected"]))

    def take(self, rows: list[RunRow]) -> None:
        """Add runs from ``runs.jsonl``, which this machine executed."""
        self.done.add(row.run for row in rows)
        for row in rows:
            for each in row.found:
                self._note(row.run, each.key, expected=bool(each.expected))

    def _note(self, run: int, key: str, *, expected: bool) -> None:
        self.keys.add(key)
        if not expected:
            self.surprising.add(key)
        if self.stop_on and fnmatchcase(key, self.stop_on) and (not self.first_hit or run < self.first_hit):
            self.first_hit = run


# The simulator as one zip file, for executors without floodmark: the packages that it needs, with their data files.


PACKAGES: Final = ("cluster_model", "faults", "playbooks", "spark_report")
_DATA: Final = {".py", ".yaml", ".json", ".tables", ".lark", ".css", ".j2", ".typed"}
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""Constant file time, so that the zip file is reproducible."""


def send_simulator(spark: "SparkSession", folder: Path) -> None:
    """Send the simulator to the executors; the file must exist as long as they may request it.

    The name has the folder's name in it, because Spark accepts a file name only once.
    """
    spark.addArtifact(str(pack(folder / f"floodmark-{folder.name}.zip")), pyfile=True)


def pack(archive: Path) -> Path:
    """Write the installed packages into a zip file that Python can import from."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for room in PACKAGES:
            spec = find_spec(room)
            assert spec is not None
            assert spec.origin is not None
            root = Path(spec.origin).parent
            for path in sorted(root.rglob("*")):
                if path.suffix in _DATA and "__pycache__" not in path.parts:
                    inside = zipfile.ZipInfo(str(Path(room) / path.relative_to(root)), _EPOCH)
                    file.writestr(inside, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive


LOOK_SECONDS: Final = 1.0
"""Seconds between two checks of the finished runs."""
WAVE_TASKS: Final = 2 * SHARES_A_CORE
"""Tasks per core that are started at once if a finding stops the campaign."""


@dataclass(frozen=True, slots=True)
class CampaignOptions:
    """The options of a campaign job."""

    folder: Path
    runs: int
    master: str | None = None
    memory: str | None = None
    stop_on: str = ""
    spark: "SparkSession | None" = None
    """An existing session, which stays running."""


class CampaignJob:
    """A campaign job: executes the missing runs, then computes the totals."""

    def __init__(self, wanted: CampaignOptions, stage: Callable[[str], None]) -> None:
        self._wanted = wanted
        self._stage = stage
        try:
            self._work: CampaignWorkload = read_plan(wanted.folder)
        except FuzzPlanError as error:
            raise ReportError(str(error), code="no_plan") from None
        self.landed = FinishedRuns(wanted.folder / PARTS, RunSet(wanted.runs), wanted.stop_on)
        self.interrupted = False

    def run(
        self, after: Callable[["SparkSession", CampaignResult], None], *, landed: Callable[[], None] = lambda: None
    ) -> CampaignResult:
        """Execute the runs; call ``landed`` when all are done, and ``after`` with the totals while Spark is running.

        Raises:
            ReportError: an error that the caller can fix.
            JobError: Spark failed.
        """
        folder = self._wanted.folder
        self._take_stock()
        seconds = self._seconds_a_run()
        with self._spark() as started, failures_converted(started, self._wanted.master):
            self._waves(started.spark, seconds)
            landed()
            result = self._result(started.spark)
            write_result(folder, result)
            if not result.interrupted:
                after(started.spark, result)
        return result

    def _take_stock(self) -> None:
        """Read the runs that are done already."""
        folder, landed = self._wanted.folder, self.landed
        if (folder / RUNS).is_file():
            landed.take(list(rows_of_lines(folder / RUNS).values()))
        landed.read_new_files()
        for name in landed.damaged:
            self._stage(f"set aside: {folder / PARTS / name} cannot be read; its runs are repeated")
        if landed.done.count:
            self._stage(f"{landed.done.count:,} of {self._wanted.runs:,} runs are done already")

    def _seconds_a_run(self) -> float:
        """Measure the CPU time of the first missing run on this machine, to size the tasks.

        A short run is executed twice, so that one-time work such as reading the playbook does not count.
        """
        missing = self.landed.done.missing(1, 1)
        seconds = 0.0
        for _turn in range(2):
            if missing and seconds < LEAST_SECONDS:
                began = time.process_time()  # CPU time does not depend on other load of this machine
                self._work.row(missing[0][0])
                seconds = time.process_time() - began
        return seconds

    @contextlib.contextmanager
    def _spark(self) -> Iterator[RunningSpark]:
        wanted = self._wanted
        with contextlib.ExitStack() as stack:
            if wanted.spark is not None:
                started = RunningSpark(wanted.spark, "given", None)
            else:
                self._stage("starting Spark")
                started = stack.enter_context(start(wanted.master, memory=wanted.memory))
                self._stage(f"Spark {started.spark.version} started ({started.origin})")
            if not shares_this_python(started.spark):
                send_simulator(started.spark, Path(stack.enter_context(tempfile.TemporaryDirectory())))
            yield started

    def _waves(self, spark: "SparkSession", seconds: float) -> None:
        """Start tasks until every run is done, or one has a finding that stops the campaign."""
        landed, slots = self.landed, cores(spark)
        limit = 0
        if self._wanted.stop_on:
            limit = max(slots, round(WAVE_TASKS * slots * TASK_SECONDS / max(seconds, 1e-3)))
        while not self.interrupted and (pieces := landed.done.missing(1, limit)):
            if landed.first_hit and pieces[0][0] > landed.first_hit:
                return
            before = landed.done.count
            self._wave(spark, pieces, seconds, slots)
            landed.read_new_files()
            if landed.done.count == before and not self.interrupted:
                raise ReportError(
                    f"{landed.folder}: found no files of the executors, expected a directory shared with them",
                    code="nothing_arrived",
                )

    def _wave(self, spark: "SparkSession", pieces: list[tuple[int, int]], seconds: float, slots: int) -> None:
        runs = sum(end - begin for begin, end in pieces)
        shares = distribute(pieces, how_many(runs, seconds, slots))
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
        """Print the number of finished runs while the block runs."""
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
        printed = before
        while not over.wait(LOOK_SECONDS):
            with contextlib.suppress(OSError):
                self.landed.read_new_files()
            done = self.landed.done.count
            if done == printed:
                continue
            printed = done
            speed = (done - before) / (time.monotonic() - began)
            left = (self._wanted.runs - done) / speed
            self._stage(
                f"{done:,} of {self._wanted.runs:,} runs, {speed:.1f}/s, {elapsed(round(left))} left: "
                f"{len(self.landed.keys)} found, {len(self.landed.surprising)} surprising"
            )

    def _result(self, spark: "SparkSession") -> CampaignResult:
        from spark_report.fleet.sources import read_runs  # noqa: PLC0415

        faults, states = self._work.frame()
        hit = self.landed.first_hit
        if self.interrupted:
            # After Ctrl-C nothing more is computed; finished runs are counted from the files.
            finished = Totals(self.landed.done.count, 0, 0, ())
            nothing: tuple[FailureGroup, ...] = ()
            return CampaignResult(finished, nothing, Coverage(faults, states), interrupted=True)
        runs = read_runs(spark, self._wanted.folder).filter(f"run <= {hit or self._wanted.runs}").persist()
        try:
            return CampaignResult(
                totals_at_hand(runs),
                groups_at_hand(groups(runs)),
                coverage_at_hand(met(runs), faults, states),
                stopped=bool(hit),
            )
        finally:
            runs.unpersist()
