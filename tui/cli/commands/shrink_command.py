"""What can be typed behind ``floodmark shrink``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import completed_names as known

SUMMARY = """Make what went wrong as short as it can be: a playbook that still goes wrong for the same reason.

Takes a recorded session, with all that its operator did, or a playbook. Steps, clients, records, settings and time are
left out as long as the same finding stays; every candidate is run. What is left is written as a playbook, and run.

Examples:

  floodmark shrink SESSION

  floodmark shrink storm.yaml --keep violation:log-matching --out divergence.yaml

  floodmark shrink storm.yaml --budget 2m, and then: floodmark shrink storm.yaml --resume

Exit code 0: nothing more can be left out. 1: what was written does not come to the same. 2: bad input. 3: nothing is
wrong, or the budget was used up first. 130: stopped; the shortest so far is written.
"""


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("shrink", help=SUMMARY)
    def _shrink(
        source: Annotated[
            str,
            typer.Argument(
                metavar="SESSION|FILE|NAME", help="A recorded session, or a playbook.", autocompletion=known.sources
            ),
        ],
        keep: Annotated[
            list[str] | None,
            typer.Option(metavar="KEY", help="What must stay, as in violation:log-matching; the worst by default."),
        ] = None,
        seed: Annotated[int | None, typer.Option(min=0, help="Seed of a playbook; its own by default.")] = None,
        settings: Annotated[
            list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value of a playbook.")
        ] = None,
        out: Annotated[
            Path | None,
            typer.Option("--out", "-o", metavar="FILE", help="Write this file; NAME-shrunk.yaml by default."),
        ] = None,
        force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
        workers: Annotated[
            int | None, typer.Option("--workers", "-j", min=1, max=512, help="How many processes; one for each core.")
        ] = None,
        budget: Annotated[
            str | None, typer.Option(metavar="RUNS|TIME", help="End after so many sessions, or so long, as in 2m.")
        ] = None,
        resume: Annotated[bool, typer.Option("--resume", help="Go on where it was stopped.")] = False,
        plain: Annotated[bool, typer.Option("--plain", help="Print a line whenever it got shorter.")] = False,
        json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
    ) -> None:
        from tui.cli.analysis.shrink import (
            ShrinkRequest,  # noqa: PLC0415
            run_shrink,  # noqa: PLC0415
        )

        request = ShrinkRequest(
            source, keep or (), seed, settings or (), out, force, workers or 0, budget or "", resume, plain, json
        )
        end(lambda: run_shrink(request))
