"""``floodmark report``: what can be typed."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import completed_names as known


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("report")
    def _report(
        sessions: Annotated[
            list[str],
            typer.Argument(
                metavar="SESSION...",
                help="Directories of sessions, on a disk or as in hdfs://namenode/sessions, or ids.",
                autocompletion=known.sessions,
            ),
        ],
        out: Annotated[Path | None, typer.Option(file_okay=False, help="Where to write the report.")] = None,
        formats: Annotated[
            str | None,
            typer.Option(
                "--format", metavar="LIST", help="Some of html,markdown,parquet,json,terminal; all by default."
            ),
        ] = None,
        master: Annotated[
            str | None,
            typer.Option(
                metavar="URL", help="Spark, as in spark://host:7077 or sc://host:15002; this machine by default."
            ),
        ] = None,
        memory: Annotated[
            str | None,
            typer.Option(metavar="SIZE", help="Heap of Spark's driver, as in 4g; a quarter of the machine's."),
        ] = None,
        baseline: Annotated[
            str | None,
            typer.Option(metavar="SESSION", help="Directory of the session, or id, to measure the others against."),
        ] = None,
    ) -> None:
        """Report with Spark what recorded sessions lost, for how long nobody served, and why.

        Exit code 0: at least one session is reported. 2: bad input, no Java, or a master or directory that cannot be
        used. 70: Spark failed; its log is named. 130, 143: stopped. Unless it is 0 an earlier report is as it was.
        """
        from tui.cli.runs.reporting import (
            Report,  # noqa: PLC0415
            report,  # noqa: PLC0415
        )

        end(lambda: report(Report(sessions, out, formats, master, memory, baseline)))
