"""What can be typed behind ``floodmark why``."""

from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import completed_names as known

SUMMARY = """Why were records lost, when did that become inevitable, and what would have saved them?

Takes a recorded session, a playbook, or the name of a bundled one. The point of no return is the last event after
which nothing that an operator can do would have kept the record; it is found by forking the session and trying. Then
the session is run again with one thing set otherwise at a time, each with its price.

Exit code 0: answered, also where nothing was lost. 2: bad input.
"""


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("why", help=SUMMARY)
    def _why(
        source: Annotated[
            str,
            typer.Argument(
                metavar="SESSION|PLAYBOOK|NAME", help="A recorded session, or a playbook.", autocompletion=known.sources
            ),
        ],
        json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
        finding: Annotated[
            int | None,
            typer.Option(
                min=1,
                help="Only this one; else all, with the point of no return of 3 losses.",
            ),
        ] = None,
        at: Annotated[
            str | None,
            typer.Option(
                metavar="TIME",
                help="Explain a session as it stood at this virtual time; --finding counts what it had by then.",
            ),
        ] = None,
        seed: Annotated[int | None, typer.Option(min=0, help="Seed of a playbook; its own by default.")] = None,
        settings: Annotated[
            list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value of a playbook.")
        ] = None,
        seeds: Annotated[int, typer.Option(min=1, max=1000, help="Over how many seeds the best is confirmed.")] = 5,
        jobs: Annotated[
            int | None, typer.Option("--jobs", "-j", min=1, max=512, help="How many run at a time; one for each core.")
        ] = None,
    ) -> None:
        from tui.cli.runs.why import (
            WhyRequest,  # noqa: PLC0415
            run_why,  # noqa: PLC0415
        )

        request = WhyRequest(source, json, finding or 0, seed, settings or (), jobs or 0, seeds, at)
        end(lambda: run_why(request))
