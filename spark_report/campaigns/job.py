"""The campaign job on Spark: missing runs as tasks, their rows as Parquet, and what they add up to."""

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
from playbooks.campaign.run_rows import BROKEN_TOLD, Coverage, FailureGroup, Met, RunCrash, RunRow, Totals
from playbooks.campaign.runner import Come, write_come
from playbooks.campaign.store import PARTS, RUNS, CampaignWorkload, rows_of_lines
from playbooks.campaign.workloads.fuzz_workload import FuzzPlanError, read_plan
from playbooks.fuzz.protocol_states import NOTHING
from spark_report.spark.errors import ReportError
from spark_report.spark.session import Started, cancel, cores, failures_told, shares_this_python, start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Totals of a campaign's runs, groups by key, coverage. DataFrames in, DataFrames out.


def totals(runs: "DataFrame") -> "DataFrame":
    """One row: runs, strikes, errors."""
    return runs.agg(
        F.count(F.lit(1)).alias("runs"),
        F.coalesce(F.sum(F.col("counts")["strikes"]), F.lit(0)).alias("strikes"),
        F.count_if(F.col("error") != "").alias("errors"),
    )


def broken(runs: "DataFrame") -> "DataFrame":
    """The first runs that broke inside."""
    there = runs.filter(F.col("error") != "").select("run", "seed", "error")
    return there.orderBy("run").limit(BROKEN_TOLD)


def groups(runs: "DataFrame") -> "DataFrame":
    """A row for each key: how many runs, and the one that speaks for it: the first that is a surprise, or the first."""
    each = runs.select("run", F.explode("found").alias("found")).select("run", "found.*")
    spoken = F.struct((F.col("expected") != "").alias("late"), "run", "expected", "sentence")
    by_key = each.groupBy("key").agg(F.count(F.lit(1)).alias("count"), F.min(spoken).alias("one"))
    return by_key.select("key", "count", "one.run", "one.expected", "one.sentence")


def met(runs: "DataFrame") -> "DataFrame":
    """A row for each fault and state: how many strikes."""
    by_fault = runs.select(F.explode("coverage").alias("fault", "states"))
    each = by_fault.select("fault", F.explode("states").alias("state", "strikes"))
    return each.groupBy("fault", "state").agg(F.sum("strikes").alias("strikes"))


def totals_at_hand(runs: "DataFrame") -> Totals:
    """The answers of :func:`totals` and, where there are any, of :func:`broken`."""
    row = totals(runs).collect()[0]
    first = [RunCrash(*each) for each in broken(runs).collect()] if row.errors else []
    return Totals(row.runs, row.strikes, row.errors, tuple(first))


def groups_at_hand(frame: "DataFrame") -> tuple[FailureGroup, ...]:
    """The answer of :func:`groups`, surprises first, then by how often."""
    found = [
        FailureGroup(row["key"], row["expected"], row["count"], row["run"], row["sentence"]) for row in frame.collect()
    ]
    return tuple(sorted(found, key=lambda group: (bool(group.expected), -group.count, group.key)))


def coverage_at_hand(frame: "DataFrame", faults: Sequence[str], states: Sequence[str]) -> Coverage:
    """The answer of :func:`met`, beside all that there is."""
    counts: Met = {fault: {} for fault in faults}
    for row in sorted(frame.collect()):
        counts.setdefault(row.fault, {})[row.state] = row.strikes
    return Coverage(tuple(faults), (NOTHING, *states), counts)


# Shares of missing runs: enough to keep every core busy, none too small to pay.


Share = tuple[tuple[int, int], ...]
"""Runs of one task, as pieces ``[first, behind the last)``."""

TASK_SECONDS: Final = 4.0
"""What a task is to take: starting and committing one costs a tenth of a second."""
LEAST_SECONDS: Final = 0.5
SHARES_A_CORE: Final = 4
"""The least, where there is enough to do: cores that end early have something to take."""


class RunSet:
    """Which runs are there; a byte each, so that millions of them are no burden."""

    def __init__(self, runs: int) -> None:
        self._done = bytearray(runs + 1)
        self.count = 0

    def add(self, runs: Iterable[int]) -> None:
        """Some are there now; those beyond the last that is asked for are passed over."""
        for run in runs:
            if 0 < run < len(self._done) and not self._done[run]:
                self._done[run] = 1
                self.count += 1

    def missing(self, first: int = 1, most: int = 0) -> list[tuple[int, int]]:
        """Pieces ``[first, behind the last)`` that are not there, in order; at most so many runs (0: all)."""
        pieces: list[tuple[int, int]] = []
        left = most or len(self._done)
        while left and (begin := self._done.find(0, first)) >= 0:
            end = self._done.find(1, begin)
            first = min(begin + left, end if end >= 0 else len(self._done))
            pieces.append((begin, first))
            left -= first - begin
            if first >= len(self._done):
                break
        return pieces


def how_many(runs: int, seconds_a_run: float, cores: int) -> int:
    """Number of shares for so many runs."""
    total = runs * seconds_a_run
    wanted = max(total / TASK_SECONDS, min(SHARES_A_CORE * cores, total / LEAST_SECONDS), cores)
    return max(1, min(runs, round(wanted)))


def dealt(pieces: Sequence[tuple[int, int]], shares: int) -> list[Share]:
    """Runs in shares that differ by one run at most; each has neighbours, in order."""
    total = sum(end - begin for begin, end in pieces)
    sizes = [total // shares + (number < total % shares) for number in range(shares)]
    found: list[Share] = []
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
        found.append(tuple(own))
    return found


# Work of an executor: the runs of its shares, a row for each, whatever happens.


BATCH: Final = 32
"""Rows that a task holds before it hands them to the file."""


def runs_of(spark: "SparkSession", work: CampaignWorkload, shares: Sequence[Share]) -> "DataFrame":
    """A frame that does the runs when it is written: a task for each share."""
    from playbooks.campaign.parquet_rows import DDL  # noqa: PLC0415 - Arrow

    tasks = spark.range(0, len(shares), 1, len(shares))
    return tasks.mapInArrow(worker(work, tuple(shares)), DDL)


def worker(work: CampaignWorkload, shares: Sequence[Share]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What is sent to the executors: numbers of shares in, rows out."""

    def do(batches: Iterator[Any]) -> Iterator[Any]:
        from playbooks.campaign.parquet_rows import batch_of  # noqa: PLC0415 - of the executor's own floodmark

        for batch in batches:
            for number in batch.column(0).to_pylist():
                runs = [run for begin, end in shares[number] for run in range(begin, end)]
                for first in range(0, len(runs), BATCH):
                    # A run that breaks is a row, too: a task that fails would be tried again, and then end everything.
                    yield batch_of([work.row(run) for run in runs[first : first + BATCH]])

    return do


# Follows the files that executors leave: how many runs are there, and what they found.
#
# Each task commits its file by itself (version 2 of Hadoop's committer), so what has landed stays when the job is
# ended.


COMMIT: Final = {"mapreduce.fileoutputcommitter.algorithm.version": "2", "compression": "zstd"}
"""How Spark is to write the files."""
_DAMAGED: Final = "_{}.damaged"
"""Name of a file that cannot be read; Spark passes over names that begin with an underscore."""


@dataclass(slots=True)
class Landed:
    """What is there of a campaign."""

    folder: Path
    done: RunSet
    stop_on: str = ""
    """Pattern of the keys that are to end it; empty for none."""
    keys: set[str] = field(default_factory=set)
    surprising: set[str] = field(default_factory=set)
    first_hit: int = 0
    """The first run known to have found one of those; 0 none."""
    damaged: list[str] = field(default_factory=list)
    """Names of files that could not be read, and were put out of the way."""
    _seen: set[str] = field(default_factory=set)

    def look(self) -> None:
        """Take in the files that are new."""
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
        """Runs that are kept elsewhere: this machine did them."""
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


# The simulator as one file, for executors that have none: every module of the rooms it needs, and their data.


ROOMS: Final = ("cluster_model", "faults", "playbooks", "spark_report")
_DATA: Final = {".py", ".yaml", ".json", ".tables", ".lark", ".css", ".j2", ".typed"}
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The same file has the same bytes, whenever it is packed."""


def ship(spark: "SparkSession", folder: Path) -> None:
    """Give the executors the simulator; the file has to stay for as long as they may ask for it.

    A Spark that has been given it before takes no other file of that name, and the earlier one may be gone by now.
    """
    spark.addArtifact(str(pack(folder / f"floodmark-{folder.name}.zip")), pyfile=True)


def pack(place: Path) -> Path:
    """Write the rooms, as they are installed here, into a zip file that Python can import from."""
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as file:
        for room in ROOMS:
            spec = find_spec(room)
            assert spec is not None
            assert spec.origin is not None
            root = Path(spec.origin).parent
            for path in sorted(root.rglob("*")):
                if path.suffix in _DATA and "__pycache__" not in path.parts:
                    inside = zipfile.ZipInfo(str(Path(room) / path.relative_to(root)), _EPOCH)
                    file.writestr(inside, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return place


LOOK_SECONDS: Final = 1.0
"""Between two looks at what has landed."""
WAVE_TASKS: Final = 2 * SHARES_A_CORE
"""Tasks a core that are begun at once where a finding is to end the campaign."""


@dataclass(frozen=True, slots=True)
class CampaignOptions:
    """What is to be run, and where."""

    folder: Path
    runs: int
    master: str | None = None
    memory: str | None = None
    stop_on: str = ""
    spark: "SparkSession | None" = None
    """One at hand, which is left running."""


class CampaignJob:
    """One call of the job: runs what is missing, then adds up."""

    def __init__(self, wanted: CampaignOptions, stage: Callable[[str], None]) -> None:
        self._wanted = wanted
        self._stage = stage
        try:
            self._work: CampaignWorkload = read_plan(wanted.folder)
        except FuzzPlanError as error:
            raise ReportError(str(error), code="no_plan") from None
        self.landed = Landed(wanted.folder / PARTS, RunSet(wanted.runs), wanted.stop_on)
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
                raise ReportError(
                    f"{landed.folder}: nothing of what the executors wrote arrived; do they share it?",
                    code="nothing_arrived",
                )

    def _wave(self, spark: "SparkSession", pieces: list[tuple[int, int]], seconds: float, slots: int) -> None:
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
                f"{done:,} of {self._wanted.runs:,} runs, {speed:.1f}/s, {elapsed(round(left))} left: "
                f"{len(self.landed.keys)} found, {len(self.landed.surprising)} surprising"
            )

    def _come(self, spark: "SparkSession") -> Come:
        from spark_report.fleet.sources import read_runs  # noqa: PLC0415

        faults, states = self._work.frame()
        hit = self.landed.first_hit
        if self.interrupted:
            # Whoever pressed Ctrl-C waits for nothing more; what has landed is counted from the files.
            told = Totals(self.landed.done.count, 0, 0, ())
            nothing: tuple[FailureGroup, ...] = ()
            return Come(told, nothing, Coverage(faults, states), interrupted=True)
        runs = read_runs(spark, self._wanted.folder).filter(f"run <= {hit or self._wanted.runs}").persist()
        try:
            return Come(
                totals_at_hand(runs),
                groups_at_hand(groups(runs)),
                coverage_at_hand(met(runs), faults, states),
                stopped=bool(hit),
            )
        finally:
            runs.unpersist()
