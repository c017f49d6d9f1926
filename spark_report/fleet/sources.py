"""What a fleet report is made of: campaigns, whichever engine ran them, and directories of recorded sessions.

All of them become one frame with a row for each run, :data:`RUNS`.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812

from playbooks.problems import counted
from playbooks.storms.keeping import CAMPAIGN, CampaignError, kept_in, read_head
from playbooks.storms.plan_file import PLAN
from spark_report.campaigns.reading import read_runs
from spark_report.errors import ReportError
from spark_report.recorded import SetAside, collect

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from spark_report.recorded import Recorded

RUNS: Final = (
    "fleet string, run bigint, seed bigint, settings string, "
    "found array<struct<key: string, expected: string, sentence: string>>, faults array<string>, "
    "recovery_us bigint, longest_unavailable_us bigint, unavailable_us bigint, acked_lost bigint, "
    "error string, again string, session string"
)
"""Columns of the frame that the transforms take; ``recovery_us`` is negative where a run never recovered."""


@dataclass(frozen=True, slots=True)
class Source:
    """A campaign, or a directory of sessions."""

    name: str
    path: Path
    head: dict[str, Any] | None
    """What ``campaign.json`` says; None for sessions."""
    sessions: "tuple[Recorded, ...]" = ()

    @property
    def words(self) -> str:
        """What it is, for people."""
        if self.head is None:
            return counted(len(self.sessions), "session")
        return f"{self.head.get('playbook')}, seed {self.head.get('seed')}, floodmark {self.head.get('tool_version')}"

    @property
    def command(self) -> str:
        """What repeats it, or with ``--only`` one of its runs; empty for sessions."""
        head = self.head or {}
        plain = ["floodmark", "storm", str(head.get("path")), "--seed", str(head.get("seed"))]
        return str(head.get("command") or shlex.join(plain)) if head else ""


def look(paths: Sequence[Path]) -> tuple[list[Source], list[SetAside]]:
    """Find out what the paths are; sessions that cannot be read are listed.

    Raises:
        ReportError: a path is neither of the two.
    """
    found: list[Source] = []
    aside: list[SetAside] = []
    for path in paths:
        name = _unlike(path, [source.name for source in found])
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


def _unlike(path: Path, names: Sequence[str]) -> str:
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
    kept = {run: each for run, each in kept_in(source.path).items() if each.playbook.is_file()}
    cell = F.map_entries(F.from_json("swarm", "struct<cell: map<string, string>>")["cell"])
    words = F.transform(cell, lambda pair: F.concat(pair["key"], F.lit("="), pair["value"]))
    only = F.concat(F.lit(f"{source.command} --only "), F.col("run").cast("string"))
    again = {run: f"floodmark run {shlex.quote(str(each.playbook))}" for run, each in kept.items()}
    counts = F.col("counts")
    return rows.select(
        F.lit(source.name).alias("fleet"),
        *("run", "seed"),
        F.coalesce(F.array_join(words, " "), F.lit("")).alias("settings"),
        "found",
        F.map_keys("coverage").alias("faults"),
        *[counts[name].alias(name) for name in ("recovery_us", "longest_unavailable_us", "unavailable_us")],
        counts["acked_lost"].alias("acked_lost"),
        "error",
        F.coalesce(_chosen(again), only).alias("again"),
        F.coalesce(_chosen({run: str(each.session) for run, each in kept.items()}), F.lit("")).alias("session"),
    )


def _chosen(values: dict[int, str]) -> "Column":
    """A value for some of the runs, null for the others."""
    if not values:
        return F.lit(None).cast("string")
    text = json.dumps({str(run): value for run, value in values.items()})
    return F.element_at(F.from_json(F.lit(text), "map<string, string>"), F.col("run").cast("string"))
