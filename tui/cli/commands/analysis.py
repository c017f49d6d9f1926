"""Options of ``floodmark storm``, ``ask``, ``explore``, ``shrink`` and ``why``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import options as known
from tui.cli.commands.options import JsonOption, MasterOption, MemoryOption

STORM_HELP = """Draw random schedules of faults over a playbook's cluster and load, and find what nobody thought of.

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

Exit code 0: nothing surprising. 1: something is. 2: bad input. 70: a run broke inside. 130, 143: stopped; go on with
the same command.
"""


def register_storm(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("storm", help=STORM_HELP)
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
        from tui.cli.analysis.storm import StormRequest, run_storm  # noqa: PLC0415

        request = StormRequest(
            source, runs, seed, settings or (), keep_steps, no_vary, only, show, stop_on_first, stop_on, out, resume,
            workers or 0, json, engine, master, memory,
        )  # fmt: skip
        end(lambda: run_storm(request))


# ``floodmark ask``.


ASK_HELP = """Is it safe? Fork a session or a playbook at an instant, act, and look at many possible futures.

An action is a fault, an operation or heal, with its target: 'restart broker(2)', 'crash leader(orders-0) for 10s',
'elect_leaders orders-0'. Several stand between semicolons, each with 'after 30s' or 'when CONDITION' in front.
Without one, it is asked what the playbook would still do.

Examples:

  floodmark ask rolling-restart-blind

  floodmark ask rolling-restart-blind --at 9s 'restart broker(2)'

  floodmark ask SESSION --at 12s 'restart broker(1); when under_replicated() == 0 restart broker(2)'

Exit code 0: safe over all seeds. 1: not safe. 2: bad input. 3: refused, or nothing can be said.
"""


def register_ask(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("ask", help=ASK_HELP)
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
        from tui.cli.analysis.ask import AskRequest, run_ask  # noqa: PLC0415

        request = AskRequest(
            *(source, question or "", at, seeds, horizon, stall, steps, seed, settings or ()),
            witness=witness, no_witness=no_witness, force=force, jobs=jobs or 0, json=json,
        )  # fmt: skip
        end(lambda: run_ask(request))


# ``floodmark explore``.


EXPLORE_HELP = """Try every order of events within small bounds, and find the shortest one that breaks a promise.

Takes a file, or the name of an exploration that comes along; without either it lists these. What is found is written
as a playbook that is stepped by hand, and run: it must come to the same.

Exit code 0: nothing is broken. 1: something is. 2: bad input. 3: ended before everything was seen, and nothing found.
"""


def register_explore(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("explore", help=EXPLORE_HELP)
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
        from tui.cli.analysis.explore import ExploreRequest, run_explore  # noqa: PLC0415

        bounds = {
            "replicas": replicas, "log_size": log_size, "records": records, "epochs": epochs, "restarts": restarts,
        }  # fmt: skip
        request = ExploreRequest(
            source, kafka, {name: value for name, value in bounds.items() if value is not None}, symmetry,
            fingerprints, most, stop_on_first, out, json,
        )  # fmt: skip
        end(lambda: run_explore(request))


# ``floodmark shrink``.


SHRINK_HELP = """Make what went wrong as short as it can be: a playbook that still goes wrong for the same reason.

Takes a recorded session, with all that its operator did, or a playbook. Steps, clients, records, settings and time are
left out as long as the same finding stays; every candidate is run. What is left is written as a playbook, and run.

Examples:

  floodmark shrink SESSION

  floodmark shrink storm.yaml --keep violation:log-matching --out divergence.yaml

  floodmark shrink storm.yaml --budget 2m, and then: floodmark shrink storm.yaml --resume

Exit code 0: nothing more can be left out. 1: what was written does not come to the same. 2: bad input. 3: nothing is
wrong, or the budget was used up first. 130, 143: stopped; the shortest so far is written.
"""


def register_shrink(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("shrink", help=SHRINK_HELP)
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
        from tui.cli.analysis.shrink import ShrinkRequest, run_shrink  # noqa: PLC0415

        request = ShrinkRequest(
            source, keep or (), seed, settings or (), out, force, workers or 0, budget or "", resume, plain, json
        )
        end(lambda: run_shrink(request))


# ``floodmark why``.


WHY_HELP = """Why were records lost, when did that become inevitable, and what would have saved them?

Takes a recorded session, a playbook, or the name of a bundled one. The point of no return is the last event after
which nothing that an operator can do would have kept the record; it is found by forking the session and trying. Then
the session is run again with one thing changed at a time, or two where none saves, each with its price.

Exit code 0: answered, also where nothing was lost. 2: bad input.
"""


def register_why(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("why", help=WHY_HELP)
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
        from tui.cli.runs.why import WhyRequest, run_why  # noqa: PLC0415

        request = WhyRequest(source, json, finding or 0, seed, settings or (), jobs or 0, seeds, at)
        end(lambda: run_why(request))
