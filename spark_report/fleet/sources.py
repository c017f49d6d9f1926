"""What a fleet report is made of: campaigns, whichever engine ran them, and directories of recorded sessions.

All of them become one frame with a row for each run, :data:`RUNS`.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from playbooks.campaign.store import CAMPAIGN, CampaignError, kept_in, read_head
from playbooks.campaign.work import GRID
from playbooks.campaign.workloads.grid_workload import GridPlan
from playbooks.campaign.workloads.plan_file import PLAN, PlanError, read_plan
from playbooks.errors import counted
from playbooks.model.grid import SEED
from spark_report.fleet.reading import read_runs
from spark_report.input.frames import frame_of
from spark_report.input.sessions import SetAside, collect
from spark_report.spark.errors import ReportError
from spark_report.spark.hadoop_fs import HadoopPath, Somewhere

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from spark_report.input.sessions import Recorded

RUNS: Final = (
    "fleet string, run bigint, seed bigint, settings string, "
    "found array<struct<key: string, expected: string, sentence: string>>, faults array<string>, "
    "recovery_us bigint, longest_unavailable_us bigint, unavailable_us bigint, acked_lost bigint, "
    "error string, again string, session string"
)
"""Columns of the frame that the transforms take; ``recovery_us`` is negative where a run never recovered."""

_KNOWN: Final = pa.schema([("run", pa.int64()), ("again", pa.string()), ("session", pa.string())])


@dataclass(frozen=True, slots=True)
class Source:
    """A campaign, or a directory of sessions."""

    name: str
    path: Somewhere
    head: dict[str, Any] | None
    """What ``campaign.json`` says; None for sessions."""
    sessions: "tuple[Recorded, ...]" = ()

    @property
    def is_grid(self) -> bool:
        """Whether its runs are the cells of a grid."""
        return (self.head or {}).get("kind") == GRID

    @property
    def words(self) -> str:
        """What it is, for people."""
        if self.head is None:
            return counted(len(self.sessions), "session")
        name = f"{self.head.get('playbook')}{' over a grid' if self.is_grid else ''}"
        return f"{name}, seed {self.head.get('seed')}, floodmark {self.head.get('tool_version')}"

    @property
    def command(self) -> str:
        """What repeats it; empty for sessions."""
        head = self.head or {}
        plain = ["floodmark", "storm", str(head.get("path")), "--seed", str(head.get("seed"))]
        return str(head.get("command") or shlex.join(plain)) if head else ""

    @property
    def only(self) -> str:
        """What repeats one of its runs, but for the number; empty where each has a command of its own."""
        return f"{self.command} --only" if self.command and not self.is_grid else ""


def look(paths: Sequence[Somewhere]) -> tuple[list[Source], list[SetAside]]:
    """Find out what the paths are; sessions that cannot be read are listed.

    Raises:
        ReportError: a path is neither of the two.
    """
    found: list[Source] = []
    aside: list[SetAside] = []
    for path in paths:
        name = _unlike(path, [source.name for source in found])
        if isinstance(path, HadoopPath) and path.trouble:
            raise ReportError(f"{path}: {path.trouble}")
        if (path / CAMPAIGN).is_file():
            try:
                found.append(Source(name, path, read_head(path)))
            except CampaignError as error:
                raise ReportError(str(error)) from None
            continue
        if not path.is_dir():
            raise ReportError(f"{path}: found no directory, expected one of a campaign or of recorded sessions")
        if (path / PLAN).is_file():
            raise ReportError(f"{path / CAMPAIGN}: not found, expected in the directory of a campaign")
        sessions, set_aside = collect([path])
        found.append(Source(name, path, None, tuple(sessions)))
        aside += set_aside
    return found, aside


def _unlike(path: Somewhere, names: Sequence[str]) -> str:
    """The directory's name, or where that is taken the whole path."""
    name = path.resolve().name
    return str(path) if name in names else name


def runs_of(spark: "SparkSession", source: Source) -> "DataFrame":
    """Its runs as a frame of :data:`RUNS`."""
    if source.head is None:
        from spark_report.fleet.session_runs import read_sessions  # noqa: PLC0415

        return read_sessions(spark, source.name, source.sessions)
    return campaign_runs(read_runs(spark, source.path), source)


def campaign_runs(rows: "DataFrame", source: Source) -> "DataFrame":
    """Rows of a campaign in the columns that fleets have."""
    cell = F.map_entries(F.from_json("swarm", "struct<cell: map<string, string>>")["cell"])
    settings = F.filter(cell, lambda pair: pair["key"] != SEED)
    value = partial(F.regexp_replace, pattern='^"(.*)"$', replacement="$1")  # quotes say only that it is a text
    words = F.transform(settings, lambda pair: F.concat(pair["key"], F.lit("="), value(pair["value"])))
    only = F.concat(F.lit(f"{source.only} "), F.col("run").cast("string"))
    known = frame_of(rows.sparkSession, _known(source))
    counts = F.col("counts")
    return rows.join(F.broadcast(known), on="run", how="left").select(
        F.lit(source.name).alias("fleet"),
        *("run", "seed"),
        F.coalesce(F.array_join(words, " "), F.lit("")).alias("settings"),
        "found",
        F.map_keys("coverage").alias("faults"),
        *[counts[name].alias(name) for name in ("recovery_us", "longest_unavailable_us", "unavailable_us")],
        counts["acked_lost"].alias("acked_lost"),
        "error",
        F.coalesce("again", only).alias("again"),
        F.coalesce("session", F.lit("")).alias("session"),
    )


def _known(source: Source) -> "pa.Table":
    """The runs that have a session, or a command of their own: those of a storm that were kept, all of a grid."""
    sessions, playbooks = _kept(source)
    if source.is_grid:
        again = _cells_again(source)
    else:
        again = {
            run: f"floodmark run {shlex.quote(str(path))}"
            for run, path in playbooks.items()
            if path is not None and path.is_file()
        }
    rows = [{"run": run, "again": again.get(run), "session": sessions.get(run)} for run in sorted({*again, *sessions})]
    return pa.Table.from_pylist(rows, schema=_KNOWN)


def _kept(source: Source) -> tuple[dict[int, str], dict[int, "Path | None"]]:
    """The runs that have a session, and those that have a playbook that can be run."""
    path = source.path
    if isinstance(path, HadoopPath):
        named = {int(run): path / names[1] for run, names in (source.head or {}).get("kept", {}).items()}
        return {run: str(session) for run, session in named.items() if session.is_dir()}, {}
    kept = kept_in(path)
    sessions = {run: str(each.session) for run, each in kept.items() if each.session.is_dir()}
    return sessions, {run: each.playbook for run, each in kept.items()}


def _cells_again(source: Source) -> dict[int, str]:
    """The command for each cell of a grid."""
    try:
        plan = read_plan(source.path)
    except PlanError as error:
        raise ReportError(str(error)) from None
    if not isinstance(plan, GridPlan):
        raise ReportError(f"{source.path / PLAN}: found the plan of a storm, expected that of a grid")
    word = str((source.head or {}).get("word") or plan.path)
    return {run: plan.again(run, word) for run in range(1, plan.grid.size + 1)}
