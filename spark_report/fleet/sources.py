"""Sources of a fleet report: campaigns of either engine, and directories of recorded sessions.

Each is read as a frame with a row for each run, :data:`RUNS`.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from cluster_model.protocol.events import DATA_KINDS
from cluster_model.util.quantities import counted
from playbooks.campaign.parquet_rows import DDL
from playbooks.campaign.store import CAMPAIGN, GRID, PARTS, CampaignError, kept_in, read_head
from playbooks.campaign.store import RUNS as RUNS_FILE
from playbooks.campaign.workloads.fuzz_workload import PLAN, FuzzPlanError, read_plan
from playbooks.campaign.workloads.grid_workload import GridPlan
from playbooks.model import SEED
from spark_report.input import frames
from spark_report.input.frames import frame_of, replica_assignments
from spark_report.input.sessions import SessionInput, SkippedDirectory, collect_sessions
from spark_report.spark.errors import ReportError
from spark_report.spark.hadoop_fs import AnyPath, HadoopPath, escaped_path
from spark_report.tables.compute import ends_of
from spark_report.tables.queries import availability, fault_effects, timeline

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


# The runs of a campaign as a frame, from either engine.


def read_runs(spark: "SparkSession", folder: AnyPath) -> "DataFrame":
    """Return one row for each run in ``runs.jsonl`` and the Parquet files beside it."""
    parts: list[DataFrame] = []
    if any((folder / PARTS).glob("*.parquet")):
        parts.append(spark.read.schema(DDL).parquet(escaped_path(folder / PARTS)))
    if (folder / RUNS_FILE).is_file() and (folder / RUNS_FILE).stat().st_size:
        parts.append(spark.read.schema(DDL).json(escaped_path(folder / RUNS_FILE)))
    if not parts:
        return spark.createDataFrame([], DDL)
    # A retried task, or another engine, may have repeated a run: the rows are the same.
    whole = reduce(lambda one, other: one.unionByName(other), parts).filter("run is not null")
    return whole.dropDuplicates(["run"])


RUNS: Final = (
    "fleet string, run bigint, seed bigint, settings string, "
    "found array<struct<key: string, expected: string, sentence: string>>, faults array<string>, "
    "recovery_us bigint, longest_unavailable_us bigint, unavailable_us bigint, acked_lost bigint, "
    "error string, again string, session string"
)
"""Columns of the frame of runs; ``recovery_us`` is negative if a run never recovered."""

_KNOWN: Final = pa.schema([("run", pa.int64()), ("again", pa.string()), ("session", pa.string())])


@dataclass(frozen=True, slots=True)
class Source:
    """A campaign, or a directory of sessions."""

    name: str
    path: AnyPath
    head: dict[str, Any] | None
    """Contents of ``campaign.json``; None for sessions."""
    sessions: "tuple[SessionInput, ...]" = ()

    @property
    def is_grid(self) -> bool:
        """Whether its runs are the cells of a grid."""
        return (self.head or {}).get("kind") == GRID

    @property
    def words(self) -> str:
        """Description of the source."""
        if self.head is None:
            return counted(len(self.sessions), "session")
        name = f"{self.head.get('playbook')}{' over a grid' if self.is_grid else ''}"
        return f"{name}, seed {self.head.get('seed')}, floodmark {self.head.get('tool_version')}"

    @property
    def command(self) -> str:
        """Command that repeats the campaign; empty for sessions."""
        head = self.head or {}
        plain = ["floodmark", "storm", str(head.get("path")), "--seed", str(head.get("seed"))]
        return str(head.get("command") or shlex.join(plain)) if head else ""

    @property
    def only(self) -> str:
        """Command that repeats one run, without the run number; empty if each run has its own command."""
        return f"{self.command} --only" if self.command and not self.is_grid else ""


def identify_sources(paths: Sequence[AnyPath]) -> tuple[list[Source], list[SkippedDirectory]]:
    """Identify the paths as campaigns or directories of sessions; unreadable sessions are returned as set aside.

    Raises:
        ReportError: a path is neither a campaign nor a directory of sessions.
    """
    sources: list[Source] = []
    aside: list[SkippedDirectory] = []
    for path in paths:
        name = _unlike(path, [source.name for source in sources])
        if isinstance(path, HadoopPath) and path.trouble:
            raise ReportError(f"{path}: {path.trouble}", code="unreachable")
        if (path / CAMPAIGN).is_file():
            try:
                sources.append(Source(name, path, read_head(path)))
            except CampaignError as error:
                raise ReportError(str(error), code="no_campaign") from None
            continue
        if not path.is_dir():
            raise ReportError(
                f"{path}: no such directory, expected one of a campaign or of recorded sessions",
                code="not_a_directory",
            )
        if (path / PLAN).is_file():
            raise ReportError(
                f"{path / CAMPAIGN}: no such file, required in the directory of a campaign", code="no_campaign"
            )
        sessions, set_aside = collect_sessions([path])
        sources.append(Source(name, path, None, tuple(sessions)))
        aside += set_aside
    return sources, aside


def _unlike(path: AnyPath, names: Sequence[str]) -> str:
    """Return the directory's name, or the whole path if that name is taken."""
    name = path.resolve().name
    return str(path) if name in names else name


def runs_of(spark: "SparkSession", source: Source) -> "DataFrame":
    """Return the runs of a source as a frame with the columns :data:`RUNS`."""
    if source.head is None:
        return read_sessions(spark, source.name, source.sessions)
    return campaign_runs(read_runs(spark, source.path), source)


def campaign_runs(rows: "DataFrame", source: Source) -> "DataFrame":
    """Convert the rows of a campaign to the columns :data:`RUNS`."""
    cell = F.map_entries(F.from_json("swarm", "struct<cell: map<string, string>>")["cell"])
    settings = F.filter(cell, lambda pair: pair["key"] != SEED)
    value = partial(F.regexp_replace, pattern='^"(.*)"$', replacement="$1")  # quotes only mark a string
    words = F.transform(settings, lambda pair: F.concat(pair["key"], F.lit("="), value(pair["value"])))
    only = F.concat(F.lit(f"{source.only} "), F.col("run").cast("string"))
    known = frame_of(rows.sparkSession, _known_runs(source))
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


def _known_runs(source: Source) -> "pa.Table":
    """Return the runs with a session or their own command: the recorded runs of a storm, all runs of a grid."""
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
    """Return run → session, and run → playbook, of the recorded runs."""
    path = source.path
    if isinstance(path, HadoopPath):
        named = {int(run): path / names[1] for run, names in (source.head or {}).get("kept", {}).items()}
        return {run: str(session) for run, session in named.items() if session.is_dir()}, {}
    kept = kept_in(path)
    sessions = {run: str(each.session) for run, each in kept.items() if each.session.is_dir()}
    return sessions, {run: each.playbook for run, each in kept.items()}


def _cells_again(source: Source) -> dict[int, str]:
    """Return the command for each cell of a grid."""
    try:
        plan = read_plan(source.path)
    except FuzzPlanError as error:
        raise ReportError(str(error), code="no_plan") from None
    if not isinstance(plan, GridPlan):
        raise ReportError(
            f"{source.path / PLAN}: found the plan of a storm, expected that of a grid", code="another_plan"
        )
    word = str((source.head or {}).get("word") or plan.path)
    return {run: plan.again(run, word) for run in range(1, plan.grid.size + 1)}


# Recorded sessions as runs of a fleet: findings from their results, faults and recovery from their events.


UNJUDGED: Final = "not known for a session whether it is surprising"

_FOUND: Final = pa.struct([("key", pa.string()), ("expected", pa.string()), ("sentence", pa.string())])
_SCHEMA: Final = pa.schema(
    [
        *(("session_id", pa.string()), ("fleet", pa.string()), ("run", pa.int64()), ("seed", pa.int64())),
        *(("settings", pa.string()), ("found", pa.list_(_FOUND)), ("longest_unavailable_us", pa.int64())),
        *(("unavailable_us", pa.int64()), ("acked_lost", pa.int64()), ("error", pa.string())),
        *(("again", pa.string()), ("session", pa.string())),
    ]
)


def read_sessions(spark: "SparkSession", fleet: str, sessions: Sequence[SessionInput]) -> "DataFrame":
    """Return a row for each session; one without a result has the reason as its error."""
    lines = [_line(fleet, place, session) for place, session in enumerate(sessions, 1)]
    known = frames.frame_of(spark, pa.Table.from_pylist(lines, schema=_SCHEMA))
    whole = known.join(_struck(spark, sessions), on="session_id", how="left")
    return whole.select(
        *("fleet", "run", "seed", "settings", "found"),
        F.coalesce("faults", F.array().cast("array<string>")).alias("faults"),
        *("recovery_us", "longest_unavailable_us", "unavailable_us", "acked_lost", "error", "again", "session"),
    )


def _struck(spark: "SparkSession", sessions: Sequence[SessionInput]) -> "DataFrame":
    """Return a row for each session with faults: their names, and the longest recovery time."""
    events = frames.read_events(spark, sessions)
    rare = events.filter(~F.col("kind").isin(sorted(DATA_KINDS)))
    ends, begun = (
        frames.frame_of(spark, table) for table in (ends_of(sessions), replica_assignments(rare, sessions).begun)
    )
    answers = events.filter(F.col("kind").isin(*availability.ANSWERS))
    states = timeline.partition_states(rare, begun, ends)
    troubles = fault_effects.troubles(
        availability.unavailability(rare, answers, ends), availability.isr_conditions(states)
    )
    faults = timeline.faults(rare, ends)
    times = fault_effects.fault_times(faults, fault_effects.signs(events), troubles, None, states, ends)
    return times.groupBy("session_id").agg(
        F.sort_array(F.collect_set("fault")).alias("faults"),
        F.when(F.max(F.col("unrecovered").cast("int")) > 0, F.lit(-1).cast("long"))
        .otherwise(F.max("time_to_recover_us"))
        .alias("recovery_us"),
    )


def _line(fleet: str, run: int, session: SessionInput) -> dict[str, Any]:
    start, result = session.start, session.result
    # Logs of a real cluster do not say what its clients waited for.
    unavailable = None if start.imported else result.get("unavailable")
    ledger = result.get("ledger")
    return {
        "session_id": session.session_id,
        "fleet": fleet,
        "run": run,
        "seed": start.seed,
        "settings": " ".join(f"{name}={value}" for name, value in start.settings.items()),
        "found": list(_finding_keys(result)),
        "longest_unavailable_us": _integer(unavailable, "longest_us"),
        "unavailable_us": _integer(unavailable, "us"),
        "acked_lost": _integer(ledger, "acked_lost"),
        "error": "" if result else "; ".join(session.problems) or "no result",
        "again": _again(session),
        "session": str(session.path),
    }


def _again(session: SessionInput) -> str:
    """Return the command that replays a session, or opens an imported one; a remote one is copied first."""
    command = "open" if session.start.imported else "replay"
    if isinstance(session.path, HadoopPath):
        return session.path.brought_for(command)
    return f"floodmark {command} {shlex.quote(str(session.path))}"


def _finding_keys(result: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield each finding key once, in a storm's format, with the first sentence."""
    seen: dict[str, dict[str, str]] = {}
    for key, expected, sentence in _failures(result):
        seen.setdefault(key, {"key": key, "expected": expected, "sentence": sentence})
        if not expected:
            seen[key]["expected"] = ""
    yield from seen.values()


def _failures(result: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for each in _objects(result, "findings"):
        yield f"finding:{each.get('kind')}/{each.get('cause')}", UNJUDGED, str(each.get("sentence", ""))
    for each in _objects(result, "violations"):
        yield f"violation:{each.get('invariant')}", str(each.get("known") or ""), str(each.get("detail", ""))
    for each in _objects(result, "anomalies"):
        if each.get("legal") is False:
            yield f"anomaly:{each.get('anomaly')}", UNJUDGED, str(each.get("anomaly"))
    for each in _objects(result, "liveness_violations"):
        yield f"liveness:{each.get('property')}", str(each.get("known") or ""), str(each.get("detail", ""))
    for each in _objects(result, "expectations"):
        if each.get("ok") is False:
            yield f"expectation:{each.get('text')}", "", str(each.get("detail", ""))


def _objects(result: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    found = result.get(name)
    yield from (each for each in (found if isinstance(found, list) else ()) if isinstance(each, dict))


def _integer(value_map: object, name: str) -> int | None:
    value = value_map.get(name) if isinstance(value_map, dict) else None
    return value if type(value) is int else None
