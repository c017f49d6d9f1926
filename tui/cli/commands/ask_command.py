"""What can be typed behind ``floodmark ask``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import completed_names as known

SUMMARY = """Is it safe? Fork a session or a playbook at an instant, act, and look at many possible futures.

An action is a fault, an operation or heal, with its target: 'restart broker(2)', 'crash leader(orders-0) for 10s',
'elect_leaders orders-0'. Several stand between semicolons, each with 'after 30s' or 'when CONDITION' in front.
Without one, it is asked what the playbook would still do.

Examples:

  floodmark ask rolling-restart-blind

  floodmark ask rolling-restart-blind --at 9s 'restart broker(2)'

  floodmark ask SESSION --at 12s 'restart broker(1); when under_replicated() == 0 restart broker(2)'

Exit code 0: safe over all seeds. 1: not safe. 2: bad input. 3: refused, or nothing can be said.
"""


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("ask", help=SUMMARY)
    def _ask(
        source: Annotated[
            str,
            typer.Argument(
                metavar="SESSION|PLAYBOOK", help="A recorded session, or a playbook.", autocompletion=known.sources
            ),
        ],
        question: Annotated[
            str | None, typer.Argument(metavar="[QUESTION]", help="What is to be done, as in 'restart broker(2)'.")
        ] = None,
        at: Annotated[
            str | None,
            typer.Option(
                metavar="TIME|EVENTS",
                help="Ask at this virtual time, or after so many kernel events; before settling, or a playbook's first "
                "step, by default.",
            ),
        ] = None,
        seeds: Annotated[int, typer.Option(min=1, max=10_000, help="How many possible futures to look at.")] = 20,
        horizon: Annotated[
            str | None, typer.Option("--for", metavar="TIME", help="Watch so long after the last action; 60s or more.")
        ] = None,
        stall: Annotated[
            str | None, typer.Option(metavar="TIME", help="What is longer than this is a stall; 2s by default.")
        ] = None,
        steps: Annotated[Path | None, typer.Option(metavar="FILE", help="Ask about a YAML list of steps.")] = None,
        seed: Annotated[int | None, typer.Option(min=0, help="Seed of a playbook up to the instant.")] = None,
        settings: Annotated[
            list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value of a playbook.")
        ] = None,
        witness: Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="Write the worst future as a playbook; NAME-witness.yaml if not safe."),
        ] = None,
        no_witness: Annotated[bool, typer.Option("--no-witness", help="Write none.")] = False,
        force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
        jobs: Annotated[
            int | None, typer.Option("--jobs", "-j", min=1, max=512, help="How many processes; one for each core.")
        ] = None,
        json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
    ) -> None:
        from tui.cli.analysis.ask import (
            Request,  # noqa: PLC0415
            run_ask,  # noqa: PLC0415
        )

        request = Request(
            *(source, question or "", at, seeds, horizon, stall, steps, seed, settings or ()),
            witness=witness, no_witness=no_witness, force=force, jobs=jobs or 0, json=json,
        )  # fmt: skip
        end(lambda: run_ask(request))
