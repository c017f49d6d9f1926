"""``floodmark fleet``: what can be typed."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

SUMMARY = """Report with Spark over many runs: how likely each finding is, how long recovery takes, what is dangerous.

Reads the directories of campaigns (floodmark storm, of either engine) and of recorded sessions. Every number names
the run that shows it, and the command that runs it again.

Examples:

  floodmark fleet storms/storm-unclean-0

  floodmark fleet storms/new --baseline storms/old --format terminal,md

Exit code 0: it is written. 1: something is worse than in the baseline, for sure. 2: bad input, no Java, or a master or
directory that cannot be used. 70: Spark failed; its log is named. 130, 143: stopped; an earlier report is as it was.
"""


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("fleet", help=SUMMARY)
    def _fleet(
        paths: Annotated[
            list[str],
            typer.Argument(
                metavar="FOLDER...", help="Directories of campaigns, or of recorded sessions; hdfs://... as well."
            ),
        ],
        baseline: Annotated[
            str | None,
            typer.Option(metavar="FOLDER", help="Hold the others against this campaign or these sessions."),
        ] = None,
        out: Annotated[
            Path | None, typer.Option(file_okay=False, help="Where to write; reports/fleet-NAME by default.")
        ] = None,
        formats: Annotated[
            str | None,
            typer.Option("--format", metavar="LIST", help="Some of html,md,json,parquet,terminal; all by default."),
        ] = None,
        master: Annotated[
            str | None,
            typer.Option(
                metavar="URL", help="Spark, as in spark://host:7077 or sc://host:15002; this machine by default."
            ),
        ] = None,
        memory: Annotated[str | None, typer.Option(metavar="SIZE", help="Heap of Spark's driver, as in 4g.")] = None,
    ) -> None:
        from tui.cli.runs.reporting import run_to_its_end  # noqa: PLC0415

        given = (("--baseline", baseline), ("--out", out), ("--format", formats), ("--master", master))
        options = [
            word for name, value in (*given, ("--memory", memory)) if value is not None for word in (name, value)
        ]
        command = [sys.executable, "-m", "spark_report.fleet", *paths, *options]
        end(lambda: run_to_its_end([str(word) for word in command]))
