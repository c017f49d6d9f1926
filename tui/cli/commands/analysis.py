"""What can be typed behind ``floodmark storm``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import completed_names as known
from tui.cli.commands.options import JsonOption, MasterOption, MemoryOption

SUMMARY = """Draw random schedules of faults over a playbook's cluster and load, and find what nobody thought of.

Every run draws its own faults, how often they come and how long they last, and looks at the cluster to strike when it
matters. Then everything heals, and the cluster has the time of 'settle' to come back. One seed draws everything.
Without a playbook it lists those that come along for storms.

Examples:

  floodmark storm storm-safe --runs 200

  floodmark storm mine.yaml --runs 5000 --seed 7 --stop-on-first

  floodmark storm storm-0.11 --show 3

  floodmark storm storm-unclean --runs 20000 --engine spark --master spark://host:7077

With --engine spark the runs are tasks, their rows are Parquet files in the campaign's directory, and a fleet report
follows (see: floodmark fleet). The same seeds come to the same rows with either engine.

Exit code 0: nothing surprising. 1: something is. 2: bad input. 70: a run broke inside. 130: stopped; go on with the
same command.
"""


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("storm", help=SUMMARY)
    def _storm(
        source: Annotated[
            str,
            typer.Argument(
                metavar="[FILE|NAME]",
                help="A playbook: a file, a bundled one, or one for storms.",
                autocompletion=known.storms,
            ),
        ] = "",
        runs: Annotated[int, typer.Option(min=1, max=10_000_000, help="How many runs.")] = 100,
        seed: Annotated[int | None, typer.Option(min=0, help="Its seed; the playbook's by default.")] = None,
        settings: Annotated[
            list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the playbook.")
        ] = None,
        keep_steps: Annotated[bool, typer.Option("--keep-steps", help="Take the playbook's own steps, too.")] = False,
        no_vary: Annotated[bool, typer.Option("--no-vary", help="Draw no settings from the playbook's grid.")] = False,
        only: Annotated[
            int | None, typer.Option(metavar="RUN", min=1, help="Do this run alone, and keep its session.")
        ] = None,
        show: Annotated[
            int | None, typer.Option(metavar="RUN", min=1, help="Print what this run draws, and run nothing.")
        ] = None,
        stop_on_first: Annotated[
            bool, typer.Option("--stop-on-first", help="End with the first run that finds anything.")
        ] = False,
        stop_on: Annotated[
            str | None, typer.Option(metavar="KEY", help="End with the first run that finds this; * for anything.")
        ] = None,
        out: Annotated[
            Path | None, typer.Option(metavar="FOLDER", help="The campaign's directory; storms/NAME-SEED by default.")
        ] = None,
        resume: Annotated[
            Path | None, typer.Option(metavar="FOLDER", help="Go on with the campaign of this directory.")
        ] = None,
        workers: Annotated[
            int | None, typer.Option("--workers", "-j", min=1, max=512, help="Processes; one for each core by default.")
        ] = None,
        engine: Annotated[
            str, typer.Option(metavar="local|spark", help="Who does the runs: this machine's cores, or Spark.")
        ] = "local",
        master: MasterOption = None,
        memory: MemoryOption = None,
        json: JsonOption = False,
    ) -> None:
        from tui.cli.analysis.storm import (
            StormRequest,  # noqa: PLC0415
            run_storm,  # noqa: PLC0415
        )

        request = StormRequest(
            source, runs, seed, settings or (), keep_steps, no_vary, only, show, stop_on_first, stop_on, out, resume,
            workers or 0, json, engine, master, memory,
        )  # fmt: skip
        end(lambda: run_storm(request))
