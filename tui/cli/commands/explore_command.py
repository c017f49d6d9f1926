"""What can be typed behind ``floodmark explore``."""

from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import completed_names as known

SUMMARY = """Try every order of events within small bounds, and find the shortest one that breaks a promise.

Takes a file, or the name of an exploration that comes along; without either it lists these. What is found is written
as a playbook that is stepped by hand, and run: it must come to the same.

Exit code 0: nothing is broken. 1: something is. 2: bad input. 3: ended before everything was seen, and nothing found.
"""


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("explore", help=SUMMARY)
    def _explore(
        source: Annotated[
            str,
            typer.Argument(
                metavar="[FILE|NAME]",
                help="An exploration: a file, or the name of one.",
                autocompletion=known.explorations,
            ),
        ] = "",
        kafka: Annotated[str | None, typer.Option(metavar="VERSION", help="The rules of this release line.")] = None,
        replicas: Annotated[int | None, typer.Option(help="Replicas, 2 to 5.")] = None,
        log_size: Annotated[int | None, typer.Option("--log-size", help="Records that a log may hold, 1 to 6.")] = None,
        records: Annotated[int | None, typer.Option(help="Records that are ever written, 0 to 6.")] = None,
        epochs: Annotated[int | None, typer.Option(help="Leader epochs, 1 to 6.")] = None,
        restarts: Annotated[
            int | None, typer.Option(help="How often a broker may die and start again, 0 to 4.")
        ] = None,
        symmetry: Annotated[
            bool, typer.Option(help="Count states once that differ in nothing but the numbers of brokers.")
        ] = True,
        fingerprints: Annotated[
            bool, typer.Option(help="Remember 64 bits of a state: less memory, and a small chance to miss something.")
        ] = False,
        most: Annotated[int, typer.Option(min=0, help="End at so many states; 0 for no limit.")] = 2_000_000,
        stop_on_first: Annotated[
            bool, typer.Option("--stop-on-first", help="End with the first thing broken.")
        ] = False,
        out: Annotated[
            str, typer.Option(metavar="FOLDER", help="Where playbooks of what is found go.")
        ] = "explorations",
        json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
    ) -> None:
        from tui.cli.analysis.explore import (
            ExploreRequest,  # noqa: PLC0415
            run_explore,  # noqa: PLC0415
        )

        bounds = {
            "replicas": replicas, "log_size": log_size, "records": records, "epochs": epochs, "restarts": restarts,
        }  # fmt: skip
        request = ExploreRequest(
            source, kafka, {name: value for name, value in bounds.items() if value is not None}, symmetry,
            fingerprints, most, stop_on_first, out, json,
        )  # fmt: skip
        end(lambda: run_explore(request))
