"""The fleet job: reads campaigns and sessions, computes probabilities, and writes the fleet report."""

import contextlib
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console

from cluster_model.util.quantities import counted
from playbooks.text import json_text
from spark_report.fleet import render
from spark_report.fleet.render import FleetModel, ordered, sentences, verdict
from spark_report.fleet.sources import RUNS, Source, identify_sources, runs_of
from spark_report.fleet.tables import (
    FORMATS,
    HTML,
    JSON,
    MARKDOWN,
    TABLES,
    TERMINAL,
    changes,
    fault_pairs,
    finding_rates,
    ranked_settings,
    recovery_times,
    words_of,
)
from spark_report.job import PipeSafeConsole, SparkOptions
from spark_report.render.output import TABLES as FOLDER
from spark_report.render.output import Staging, write_parquet
from spark_report.spark.errors import ReportError
from spark_report.spark.hadoop_fs import Address, AnyPath, resolve_remote
from spark_report.spark.session import failures_converted, start, under_spark_submit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def report(
    paths: Sequence[AnyPath],
    out: Path,
    *,
    spark: "SparkSession",
    stage: Callable[[str], None],
    baseline: AnyPath | None = None,
    formats: Sequence[str] = FORMATS,
    console: Console | None = None,
) -> FleetModel:
    """Report campaigns and directories of sessions on an existing Spark session.

    Raises:
        ReportError: nothing can be read, or the report cannot be written.
    """
    sources, aside = identify_sources([*paths, *([baseline] if baseline is not None else [])])
    for each in aside:
        stage(f"set aside: {each.reason}")
    against = sources[-1].name if baseline is not None else ""
    with Staging(out) as staging:
        stage(f"aggregating {counted(len(sources), 'fleet')}")
        tables, counts = compute(spark, sources, against)
        rows = ordered({name: table.to_pylist() for name, table in tables.items()})
        runs, errors = (
            {name: each[0] for name, each in counts.items()},
            {name: each[1] for name, each in counts.items()},
        )
        story = FleetModel(tuple(sources), against, runs, errors, rows, tuple(aside))
        try:
            _write(staging.path, story, formats)
        except OSError as error:
            raise ReportError(
                f"{out}: cannot write the report: {error.strerror or error}", code="unwritable"
            ) from error
        staging.publish()
    if TERMINAL in formats:
        render.show_in_terminal(console or PipeSafeConsole(), story)
    return story


def run(
    paths: Sequence[Path | Address],
    out: Path,
    wanted: SparkOptions,
    stage: Callable[[str], None],
    *,
    baseline: Path | Address | None = None,
    **options: Any,
) -> FleetModel:
    """Report campaigns and directories of sessions on a new Spark session.

    Raises:
        ReportError: nothing can be read, or the report cannot be written.
        JobError: Spark failed.
    """
    given = [*paths, *([baseline] if baseline is not None else [])]
    identify_sources([path for path in given if isinstance(path, Path)])
    if not under_spark_submit():
        stage("starting Spark")
    with start(wanted.master, memory=wanted.memory) as started, failures_converted(started, wanted.master):
        fleets = resolve_remote(started, given)
        against = fleets.pop() if baseline is not None else None
        return report(fleets, out, spark=started.spark, stage=stage, baseline=against, **options)


def compute(
    spark: "SparkSession", sources: Sequence[Source], baseline: str = ""
) -> tuple[dict[str, Any], dict[str, tuple[int, int]]]:
    """Return the tables in Arrow format, and for each fleet its number of runs and of runs with internal errors."""
    frames = [runs_of(spark, source) for source in sources]
    union: DataFrame = reduce(lambda one, other: one.unionByName(other), frames, spark.createDataFrame([], RUNS))
    runs = union.persist()
    try:
        rates = finding_rates(runs)
        made = {
            "fleet_findings": rates,
            "fleet_times": recovery_times(runs),
            "fleet_pairs": fault_pairs(runs),
            "fleet_settings": ranked_settings(runs),
            **({"fleet_changes": changes(rates, runs, baseline)} if baseline else {}),
        }
        tables = {name: _answer(name, frame) for name, frame in made.items()}
        totals = runs.groupBy("fleet").agg(
            F.count(F.lit(1)).alias("runs"), F.count_if(F.col("error") != "").alias("errors")
        )
        return tables, {row.fleet: (row.runs, row.errors) for row in totals.collect()}
    finally:
        # After Ctrl-C the JVM may not respond any more, and this must not hide the interrupt.
        with contextlib.suppress(Exception):
            runs.unpersist()


def _answer(name: str, frame: "DataFrame") -> Any:
    schema = TABLES[name].schema
    return frame.select(*schema.names).toArrow().cast(schema)


def _write(folder: Path, model: FleetModel, formats: Sequence[str]) -> None:
    from spark_report.fleet.render import html_page, markdown_page  # noqa: PLC0415 - templates are not for every format

    if "html" in formats:
        (folder / HTML).write_text(html_page(model), encoding="utf-8")
    if "md" in formats:
        (folder / MARKDOWN).write_text(markdown_page(model), encoding="utf-8")
    if "json" in formats:
        (folder / JSON).write_text(json_text(document(model), indent=1) + "\n", encoding="utf-8")
    if "parquet" in formats:
        tables = {name: pa.Table.from_pylist(rows, schema=TABLES[name].schema) for name, rows in model.tables.items()}
        write_parquet(folder / FOLDER, tables, words_of)


def document(model: FleetModel) -> dict[str, Any]:
    """Return the fleet report as a JSON document."""
    tone, headline = verdict(model)
    return {
        "verdict": headline,
        "tone": tone,
        "sentences": sentences(model),
        "baseline": model.baseline,
        "fleets": [
            {
                "fleet": source.name,
                "path": str(source.path),
                "what": source.words,
                "runs": model.runs.get(source.name, 0),
                "errors": model.errors.get(source.name, 0),
                "command": source.command,
            }
            for source in model.sources
        ],
        "set_aside": [{"path": str(each.path), "reason": each.reason} for each in model.set_aside],
        "tables": model.tables,
    }
