"""Command-line options of ``floodmark report``, ``fleet`` and ``spark``."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import options as known
from tui.terminal.self_command import command

FLEET_HELP = """\
Report with Spark over many runs: probability of each finding, recovery times, dangerous settings.

Reads campaign directories (of floodmark storm, with either engine) and recorded sessions. Each number names a run that
shows it, and the command that repeats that run.

Examples:

  floodmark fleet storms/storm-unclean-0

  floodmark fleet storms/new --baseline storms/old --format terminal,md

Exit code 0: written. 1: significantly worse than the baseline. 2: bad input, no Java, or an unusable master or
directory. 70: Spark failed; the path of its log is printed. 130, 143: stopped; an earlier report is unchanged.
"""


def register_fleet(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("fleet", help=FLEET_HELP)
    def _fleet(
        paths: Annotated[
            list[str],
            typer.Argument(
                metavar="FOLDER...", help="Directories of campaigns or recorded sessions, on disk or hdfs://."
            ),
        ],
        baseline: Annotated[
            str | None,
            typer.Option(metavar="FOLDER", help="Compare the others with this campaign or these sessions."),
        ] = None,
        out: Annotated[
            Path | None, typer.Option(file_okay=False, help="Output directory; reports/fleet-NAME by default.")
        ] = None,
        formats: Annotated[
            str | None,
            typer.Option(
                "--format", metavar="LIST", help="Output formats of html,md,json,parquet,terminal; all by default."
            ),
        ] = None,
        master: Annotated[
            str | None,
            typer.Option(
                metavar="URL", help="Spark master, such as spark://host:7077 or sc://host:15002; local by default."
            ),
        ] = None,
        memory: Annotated[
            str | None, typer.Option(metavar="SIZE", help="Heap of the Spark driver, such as 4g.")
        ] = None,
    ) -> None:
        from tui.cli.runs.spark_jobs import run_subprocess  # noqa: PLC0415

        given = (("--baseline", baseline), ("--out", out), ("--format", formats), ("--master", master))
        options = [
            word for name, value in (*given, ("--memory", memory)) if value is not None for word in (name, value)
        ]
        command = [sys.executable, "-m", "spark_report.fleet", *paths, *options]
        end(lambda: run_subprocess([str(word) for word in command]))


# ``floodmark report``.


def register_report(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("report")
    def _report(
        sessions: Annotated[
            list[str],
            typer.Argument(
                metavar="SESSION...",
                help="Session directories, on disk or such as hdfs://namenode/sessions, or ids.",
                autocompletion=known.sessions,
            ),
        ],
        out: Annotated[Path | None, typer.Option(file_okay=False, help="Output directory of the report.")] = None,
        formats: Annotated[
            str | None,
            typer.Option(
                "--format",
                metavar="LIST",
                help="Output formats of html,markdown,parquet,json,terminal; all by default.",
            ),
        ] = None,
        master: Annotated[
            str | None,
            typer.Option(
                metavar="URL", help="Spark master, such as spark://host:7077 or sc://host:15002; local by default."
            ),
        ] = None,
        memory: Annotated[
            str | None,
            typer.Option(
                metavar="SIZE", help="Heap of the Spark driver, such as 4g; a quarter of the memory by default."
            ),
        ] = None,
        baseline: Annotated[
            str | None,
            typer.Option(metavar="SESSION", help="Session directory or id to compare the others with."),
        ] = None,
        why: Annotated[
            bool | None,
            typer.Option(
                "--why/--no-why",
                help="Explain losses as floodmark why does; by default for one short session.",
            ),
        ] = None,
    ) -> None:
        """Report with Spark what recorded sessions lost, how long partitions were unavailable, and why.

        Exit code 0: at least one session is reported. 2: bad input, no Java, or an unusable master or directory. 70:
        Spark failed; the path of its log is printed. 130, 143: stopped. An earlier report changes only with code 0.
        """
        from tui.cli.runs.spark_jobs import Report, report  # noqa: PLC0415

        end(lambda: report(Report(sessions, out, formats, master, memory, baseline, why)))


# ``floodmark spark``: the class cache that makes Spark start faster.


def register_spark(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the commands; ``end`` does what a command does and leaves with its exit code."""
    group = typer.Typer(
        help="Make reports start faster with a cache of the classes that Spark loads.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.add_typer(group, name="spark")

    @group.command("warm")
    def _warm() -> None:
        """Build the cache once: about a minute and 200 MB. Every later report uses it.

        The cache fits this Java, PySpark and environment; rebuild it when one of them changes. It needs Java 25, such
        as the one bundled with floodmark. Exit code 0: built. 2: no such Java, or no writable cache directory.
        """
        end(lambda: _run("warm"))

    @group.command("status")
    def _status() -> None:
        """List the caches and whether one fits. Exit code 0: one fits. 1: none fits."""
        end(lambda: _run("status"))

    @group.command("clear")
    def _clear() -> None:
        """Remove every cache."""
        end(lambda: _run("clear"))


def _run(action: str) -> int:
    from tui.cli.runs.spark_jobs import run_subprocess  # noqa: PLC0415

    return run_subprocess([*command("spark_report.aot_cache"), action])
