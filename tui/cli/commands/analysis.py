"""Command-line options of ``floodmark storm``, ``ask``, ``explore``, ``shrink``, ``why``, ``upgrade``, ``alerts``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import options as known
from tui.cli.commands.options import JobsOption, JsonOption, MasterOption, MemoryOption

STORM_HELP = """Search for failures: generate random fault schedules over a playbook's cluster and load.

Each run generates its own faults, rates and durations, and times many of them by the state of the cluster. Then every
fault heals, and the cluster has the playbook's 'settle' time to recover. One seed determines everything. Without a
playbook it lists the bundled storm presets.

Examples:

  floodmark storm storm-safe --runs 200

  floodmark storm mine.yaml --runs 5000 --seed 7 --stop-on-first

  floodmark storm storm-0.11 --show 3

  floodmark storm storm-unclean --runs 20000 --engine spark --master spark://host:7077

With --engine spark the runs are Spark tasks, their rows are Parquet files in the campaign directory, and a fleet report
follows (see floodmark fleet). The same seeds give the same rows with either engine.

Exit code 0: nothing surprising. 1: a finding that the Kafka version should not have. 2: bad input. 70: internal error
in a run. 130, 143: stopped; resume with the same command.
"""


def register_storm(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("storm", help=STORM_HELP)
    def _storm(
        source: Annotated[
            str,
            typer.Argument(
                metavar="[FILE|NAME]",
                help="Playbook: a file, a bundled name, or a storm preset.",
                autocompletion=known.storms,
            ),
        ] = "",
        runs: Annotated[int, typer.Option(min=1, max=10_000_000, help="Number of runs.")] = 100,
        seed: Annotated[int | None, typer.Option(min=0, help="Seed of the storm; the playbook's by default.")] = None,
        settings: Annotated[
            list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a value of the playbook.")
        ] = None,
        keep_steps: Annotated[bool, typer.Option("--keep-steps", help="Run the playbook's own steps too.")] = False,
        no_vary: Annotated[
            bool, typer.Option("--no-vary", help="Do not vary settings over the playbook's grid.")
        ] = False,
        only: Annotated[
            int | None, typer.Option(metavar="RUN", min=1, help="Run only this run, and record its session.")
        ] = None,
        show: Annotated[
            int | None, typer.Option(metavar="RUN", min=1, help="Print the schedule of this run without running it.")
        ] = None,
        stop_on_first: Annotated[
            bool, typer.Option("--stop-on-first", help="Stop after the first run with a finding.")
        ] = False,
        stop_on: Annotated[
            str | None, typer.Option(metavar="KEY", help="Stop after the first run with this finding; * is any.")
        ] = None,
        out: Annotated[
            Path | None, typer.Option(metavar="FOLDER", help="Campaign directory; storms/NAME-SEED by default.")
        ] = None,
        resume: Annotated[
            Path | None, typer.Option(metavar="FOLDER", help="Resume the campaign in this directory.")
        ] = None,
        jobs: Annotated[
            int | None,
            typer.Option(
                "--jobs", "--workers", "-j", min=1, max=512, help="Number of processes; one per core by default."
            ),
        ] = None,
        engine: Annotated[str, typer.Option(metavar="local|spark", help="Run on local cores or on Spark.")] = "local",
        master: MasterOption = None,
        memory: MemoryOption = None,
        json: JsonOption = False,
    ) -> None:
        from tui.cli.analysis.storm import StormRequest, run_storm  # noqa: PLC0415

        request = StormRequest(
            source, runs, seed, settings or (), keep_steps, no_vary, only, show, stop_on_first, stop_on, out, resume,
            jobs or 0, json, engine, master, memory,
        )  # fmt: skip
        end(lambda: run_storm(request))


# ``floodmark ask``.


ASK_HELP = """Is it safe? Fork a session or a playbook at a point in time, act, and simulate many seeds.

An action is a fault, an operation or heal, with its target: 'restart broker(2)', 'crash leader(orders-0) for 10s',
'elect_leaders orders-0'. Separate several with semicolons, each with 'after 30s' or 'when CONDITION' in front. Without
an action, the question is about the playbook's remaining steps.

Examples:

  floodmark ask rolling-restart-blind

  floodmark ask rolling-restart-blind --at 9s 'restart broker(2)'

  floodmark ask SESSION --at 12s 'restart broker(1); when under_replicated() == 0 restart broker(2)'

Exit code 0: safe for all seeds. 1: not safe. 2: bad input. 3: the action is refused, or inconclusive.
"""


def register_ask(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("ask", help=ASK_HELP)
    def _ask(
        source: Annotated[
            str,
            typer.Argument(
                metavar="SESSION|PLAYBOOK",
                help="Recorded session, playbook, or bundled name.",
                autocompletion=known.sources,
            ),
        ],
        question: Annotated[
            str | None, typer.Argument(metavar="[QUESTION]", help="Action, such as 'restart broker(2)'.")
        ] = None,
        at: Annotated[
            str | None,
            typer.Option(
                metavar="TIME|EVENTS",
                help="Fork at this virtual time, or after this many events of the model; by default where a session "
                "began to settle, or before a playbook's first step.",
            ),
        ] = None,
        seeds: Annotated[int, typer.Option(min=1, max=10_000, help="Number of seeds to simulate.")] = 20,
        horizon: Annotated[
            str | None,
            typer.Option("--for", metavar="TIME", help="Simulate this long after the last action; at least 60s."),
        ] = None,
        stall: Annotated[
            str | None,
            typer.Option(
                metavar="TIME", help="Count a producer or group that gets nothing for longer as stalled; 2s by default."
            ),
        ] = None,
        steps: Annotated[
            Path | None, typer.Option(metavar="FILE", help="Take the actions from this YAML list of steps.")
        ] = None,
        seed: Annotated[
            int | None, typer.Option(min=0, help="Seed of a playbook until the fork; its own by default.")
        ] = None,
        settings: Annotated[
            list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a value of a playbook.")
        ] = None,
        witness: Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="Write the worst run as a playbook; NAME-witness.yaml if not safe."),
        ] = None,
        no_witness: Annotated[bool, typer.Option("--no-witness", help="Do not write the worst run.")] = False,
        force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
        jobs: JobsOption = None,
        json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
    ) -> None:
        from tui.cli.analysis.ask import AskRequest, run_ask  # noqa: PLC0415

        request = AskRequest(
            *(source, question or "", at, seeds, horizon, stall, steps, seed, settings or ()),
            witness=witness, no_witness=no_witness, force=force, jobs=jobs or 0, json=json,
        )  # fmt: skip
        end(lambda: run_ask(request))


# ``floodmark explore``.


EXPLORE_HELP = """Try every order of events within small bounds, and find the shortest one that violates an invariant.

Takes a file or the name of a bundled exploration; without either it lists these. A counterexample is written as a
playbook with manual steps, and run to confirm it.

Exit code 0: no violation. 1: a violation. 2: bad input. 3: ended before every state was explored, without a violation.
"""


def register_explore(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("explore", help=EXPLORE_HELP)
    def _explore(
        source: Annotated[
            str,
            typer.Argument(
                metavar="[FILE|NAME]",
                help="Exploration: a file or a bundled name.",
                autocompletion=known.explorations,
            ),
        ] = "",
        kafka: Annotated[str | None, typer.Option(metavar="VERSION", help="Kafka version whose rules apply.")] = None,
        replicas: Annotated[int | None, typer.Option(help="Number of replicas, 2 to 5.")] = None,
        log_size: Annotated[
            int | None, typer.Option("--log-size", help="Maximum number of records in a log, 1 to 6.")
        ] = None,
        records: Annotated[int | None, typer.Option(help="Maximum number of records written in all, 0 to 6.")] = None,
        epochs: Annotated[int | None, typer.Option(help="Maximum leader epoch, 1 to 6.")] = None,
        restarts: Annotated[int | None, typer.Option(help="Maximum number of broker restarts, 0 to 4.")] = None,
        symmetry: Annotated[bool, typer.Option(help="Treat states that differ only in broker ids as one.")] = True,
        fingerprints: Annotated[
            bool, typer.Option(help="Keep 64-bit fingerprints of states: less memory, a small chance to miss one.")
        ] = False,
        max_states: Annotated[
            int, typer.Option("--max-states", "--most", min=0, help="Stop after this many states; 0 is no limit.")
        ] = 2_000_000,
        stop_on_first: Annotated[bool, typer.Option("--stop-on-first", help="Stop at the first violation.")] = False,
        out: Annotated[str, typer.Option(metavar="FOLDER", help="Directory for counterexamples.")] = "explorations",
        json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
    ) -> None:
        from tui.cli.analysis.explore import ExploreRequest, run_explore  # noqa: PLC0415

        bounds = {
            "replicas": replicas, "log_size": log_size, "records": records, "epochs": epochs, "restarts": restarts,
        }  # fmt: skip
        request = ExploreRequest(
            source, kafka, {name: value for name, value in bounds.items() if value is not None}, symmetry,
            fingerprints, max_states, stop_on_first, out, json,
        )  # fmt: skip
        end(lambda: run_explore(request))


# ``floodmark shrink``.


SHRINK_HELP = """Minimise a failing session or playbook to the steps needed to reproduce the same finding.

Takes a recorded session with its operator's actions, or a playbook. It removes steps, clients, records, settings and
time as long as the finding stays, and runs every candidate. The result is written as a playbook and run once more.

Examples:

  floodmark shrink SESSION

  floodmark shrink storm.yaml --keep violation:log-matching --out divergence.yaml

  floodmark shrink storm.yaml --budget 2m, and then: floodmark shrink storm.yaml --resume

Exit code 0: nothing more can be removed. 1: the written playbook does not reproduce the finding. 2: bad input. 3: there
is no finding, or the budget was used up. 130, 143: stopped; the shortest playbook so far is written.
"""


def register_shrink(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("shrink", help=SHRINK_HELP)
    def _shrink(
        source: Annotated[
            str,
            typer.Argument(
                metavar="SESSION|FILE|NAME",
                help="Recorded session, playbook, or bundled name.",
                autocompletion=known.sources,
            ),
        ],
        keep: Annotated[
            list[str] | None,
            typer.Option(metavar="KEY", help="Finding to keep, such as violation:log-matching; the worst by default."),
        ] = None,
        seed: Annotated[int | None, typer.Option(min=0, help="Seed of a playbook; its own by default.")] = None,
        settings: Annotated[
            list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a value of a playbook.")
        ] = None,
        out: Annotated[
            Path | None,
            typer.Option("--out", "-o", metavar="FILE", help="File to write; NAME-shrunk.yaml by default."),
        ] = None,
        force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
        jobs: Annotated[
            int | None,
            typer.Option(
                "--jobs", "--workers", "-j", min=1, max=512, help="Number of processes; one per core by default."
            ),
        ] = None,
        budget: Annotated[
            str | None, typer.Option(metavar="RUNS|TIME", help="Stop after this many runs or this time, such as 2m.")
        ] = None,
        resume: Annotated[bool, typer.Option("--resume", help="Resume a stopped run.")] = False,
        plain: Annotated[bool, typer.Option("--plain", help="Print a line for each improvement.")] = False,
        json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
    ) -> None:
        from tui.cli.analysis.shrink import ShrinkRequest, run_shrink  # noqa: PLC0415

        request = ShrinkRequest(
            source, keep or (), seed, settings or (), out, force, jobs or 0, budget or "", resume, plain, json
        )
        end(lambda: run_shrink(request))


# ``floodmark why``.


WHY_HELP = """Why were records lost, when did the loss become inevitable, and what would have prevented it?

Takes a recorded session, a playbook, or a bundled name. It names the known issue of the Kafka release that causes a
loss or another failure, if the session has no such failure once that bug alone is switched off. The point of no return
is the event after which no operator action can keep the record; it is found by forking the session and trying actions.
Then the session runs again with one setting changed at a time (or two, where one is not enough), and each change is
listed with its cost.

Exit code 0: answered, also when nothing was lost. 2: bad input.
"""


def register_why(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("why", help=WHY_HELP)
    def _why(
        source: Annotated[
            str,
            typer.Argument(
                metavar="SESSION|PLAYBOOK|NAME",
                help="Recorded session, playbook, or bundled name.",
                autocompletion=known.sources,
            ),
        ],
        json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
        finding: Annotated[
            int | None,
            typer.Option(
                min=1,
                help="Number of the finding to explain; by default all, with the point of no return of three losses.",
            ),
        ] = None,
        at: Annotated[
            str | None,
            typer.Option(
                metavar="TIME",
                help="Explain the session as of this virtual time; --finding counts its findings until then.",
            ),
        ] = None,
        seed: Annotated[int | None, typer.Option(min=0, help="Seed of a playbook; its own by default.")] = None,
        settings: Annotated[
            list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a value of a playbook.")
        ] = None,
        seeds: Annotated[
            int, typer.Option(min=1, max=1000, help="Number of seeds to confirm the best change with.")
        ] = 5,
        jobs: JobsOption = None,
    ) -> None:
        from tui.cli.runs.why import WhyRequest, run_why  # noqa: PLC0415

        request = WhyRequest(source, json, finding or 0, seed, settings or (), jobs or 0, seeds, at)
        end(lambda: run_why(request))


UPGRADE_HELP = """Show what an upgrade of Kafka fixes and breaks, and compare your playbooks under both versions.

A version is a release line such as 3.6, which stands for its last patch, or a patch such as 3.6.0. Without a playbook
it lists the known issues that the upgrade leaves behind and those that it brings. With playbooks it runs each under
both versions; where the outcomes differ it looks for the rule, the default or the controller mode that makes the
difference alone, or for those that make it together. A cluster file (see floodmark cluster import) stands for typical
failures on that cluster: a crash, a pause and an isolation of the broker that leads the most partitions, a crash of the
controller, the loss of a rack, and a rolling restart.

Examples:

  floodmark upgrade 3.6.0 3.9.2

  floodmark upgrade 3.6.0 4.4 cluster.yaml

  floodmark upgrade 3.6.0 4.4 mine.yaml leader-crash

  floodmark upgrade 3.6.0 4.4 --library --markdown > ticket.md

Exit code 0: no playbook gets worse. 1: a playbook passes before the upgrade and not after it. 2: bad input. 130:
stopped; what is known so far is printed.
"""


def register_upgrade(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("upgrade", help=UPGRADE_HELP)
    def _upgrade(
        before: Annotated[
            str, typer.Argument(metavar="FROM", help="Current Kafka version.", autocompletion=known.versions)
        ],
        after: Annotated[str, typer.Argument(metavar="TO", help="New Kafka version.", autocompletion=known.versions)],
        playbooks: Annotated[
            list[str] | None,
            typer.Argument(
                metavar="PLAYBOOK|CLUSTER",
                help="Playbooks: files or bundled names; or cluster files.",
                autocompletion=known.playbooks,
            ),
        ] = None,
        library: Annotated[
            bool, typer.Option("--library", help="Add all bundled playbooks that are for both versions.")
        ] = False,
        markdown: Annotated[
            bool, typer.Option("--markdown", help="Print Markdown on stdout, for a change ticket.")
        ] = False,
        jobs: JobsOption = None,
        json: JsonOption = False,
    ) -> None:
        from tui.cli.analysis.upgrade import UpgradeRequest, run_upgrade  # noqa: PLC0415

        request = UpgradeRequest(before, after, tuple(playbooks or ()), library, jobs or 0, json, markdown)
        end(lambda: run_upgrade(request))


ALERTS_HELP = """Rehearse alerts: evaluate Prometheus rule files over playbooks and recorded sessions.

The brokers, controllers, clients and kafka_exporter of a session are scraped at a fixed interval of virtual time.
Prometheus' own promtool, which must be installed, evaluates the rules. The result: which alerts fired, when, after
which fault; which faults no alert saw; which alerts fired without a fault; and the time to detect each fault.

RULES is a rule file, a directory of rule files, or 'builtin': rules that public runbooks recommend. With 'builtin' and
no playbook or session, print that rule file.

Examples:

  floodmark alerts rules.yml zone-loss leader-crash

  floodmark alerts builtin sessions/20260131T101500-zone-loss-s0-f483 --markdown alerts.md

  floodmark alerts builtin > rules.yml

Exit code 0: an alert saw every fault, and none fired without one. 1: a fault was not seen, or an alert fired without a
fault. 2: bad input.
"""


def register_alerts(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("alerts", help=ALERTS_HELP)
    def _alerts(
        rules: Annotated[str, typer.Argument(metavar="RULES", help="Rule file, directory of them, or builtin.")],
        sources: Annotated[
            list[str] | None,
            typer.Argument(
                metavar="PLAYBOOK|SESSION",
                help="Playbooks: files or bundled names; recorded sessions: directories or ids.",
                autocompletion=known.sources,
            ),
        ] = None,
        scrape_interval: Annotated[
            str | None, typer.Option(metavar="TIME", help="Virtual time between two scrapes; 5s by default.")
        ] = None,
        evaluation_interval: Annotated[
            str | None,
            typer.Option(metavar="TIME", help="Virtual time between two evaluations; as the scrapes by default."),
        ] = None,
        window: Annotated[
            str | None,
            typer.Option(metavar="TIME", help="How long a fault explains alerts after its end; 5m by default."),
        ] = None,
        seed: Annotated[int | None, typer.Option(min=0, help="Seed of the playbooks; their own by default.")] = None,
        settings: Annotated[
            list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a value of a playbook.")
        ] = None,
        json: JsonOption = False,
        junit: Annotated[
            Path | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit XML document.")
        ] = None,
        markdown: Annotated[
            Path | None, typer.Option("--markdown", metavar="FILE", help="Write a summary in Markdown.")
        ] = None,
    ) -> None:
        from tui.cli.analysis.alerts import BUILTIN, AlertsRequest, print_builtin, run_alerts  # noqa: PLC0415

        if rules == BUILTIN and not sources:
            end(print_builtin)
        request = AlertsRequest(
            rules, tuple(sources or ()), scrape_interval, evaluation_interval, window, seed, tuple(settings or ()),
            json, junit, markdown,
        )  # fmt: skip
        end(lambda: run_alerts(request))
