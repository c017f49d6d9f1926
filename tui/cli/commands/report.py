"""Options of ``floodmark report``, ``fleet`` and ``spark``."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import options as known
from tui.terminal.self_command import command

FLEET_HELP = """\
Report with Spark over many runs: how likely each finding is, how long recovery takes, what is dangerous.

Reads the directories of campaigns (floodmark storm, of either engine) and of recorded sessions. Every number names
the run that shows it, and the command that runs it again.

Examples:

  floodmark fleet storms/storm-unclean-0

  floodmark fleet storms/new --baseline storms/old --format terminal,md

Exit code 0: it is written. 1: something is worse than in the baseline, for sure. 2: bad input, no Java, or a master or
directory that cannot be used. 70: Spark failed; its log is named. 130, 143: stopped; an earlier report is as it was.
"""


def register_fleet(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("fleet", help=FLEET_HELP)
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
        from tui.cli.runs.spark_jobs import run_to_its_end  # noqa: PLC0415

        given = (("--baseline", baseline), ("--out", out), ("--format", formats), ("--master", master))
        options = [
            word for name, value in (*given, ("--memory", memory)) if value is not None for word in (name, value)
        ]
        command = [sys.executable, "-m", "spark_report.fleet", *paths, *options]
        end(lambda: run_to_its_end([str(word) for word in command]))


# ``floodmark report``.


def register_report(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
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
        why: Annotated[
            bool | None,
            typer.Option(
                "--why/--no-why",
                help="Ask sessions that lost records why, as floodmark why does; one short one by default.",
            ),
        ] = None,
    ) -> None:
        """Report with Spark what recorded sessions lost, for how long nobody served, and why.

        Exit code 0: at least one session is reported. 2: bad input, no Java, or a master or directory that cannot be
        used. 70: Spark failed; its log is named. 130, 143: stopped. Unless it is 0 an earlier report is as it was.
        """
        from tui.cli.runs.spark_jobs import Report, report  # noqa: PLC0415

        end(lambda: report(Report(sessions, out, formats, master, memory, baseline, why)))


# ``floodmark spark``: the cache with which Spark starts faster.


def register_spark(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the commands; ``end`` does what a command does and leaves with its exit code."""
    group = typer.Typer(
        help="Make reports start faster, by a cache of what Spark's JVM loads.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.add_typer(group, name="spark")

    @group.command("warm")
    def _warm() -> None:
        """Make the cache, once: about a minute and 200 MB. Every report uses it from then on.

        It is for this Java, PySpark and environment; make it again when one of them is another. Needs Java 25, such as
        the one that came with floodmark. Exit code 0: it is made. 2: no such Java, or no place to keep it.
        """
        end(lambda: _run("warm"))

    @group.command("status")
    def _status() -> None:
        """Tell which caches there are, and whether one fits. Exit code 0: one does. 1: none."""
        end(lambda: _run("status"))

    @group.command("clear")
    def _clear() -> None:
        """Remove every cache."""
        end(lambda: _run("clear"))


def _run(action: str) -> int:
    from tui.cli.runs.spark_jobs import run_to_its_end  # noqa: PLC0415

    return run_to_its_end([*command("spark_report.aot_cache"), action])
