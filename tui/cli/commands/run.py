"""Options of ``floodmark run``, ``live`` and ``serve``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from playbooks.session_format.filesystem import Fsync
from tui.cli.commands import options as known
from tui.cli.commands.options import FsyncOption, JsonOption, MasterOption, MemoryOption, SeedOption

RUN_HELP = """Run playbooks without a screen.

A grid of settings (vary) runs a session for each cell. With --engine it is kept as a campaign instead: a row for each
cell, that the same command goes on with, by this machine's cores or as tasks of Spark, and then a fleet report.

Examples:

  floodmark run acks-matrix

  floodmark run mine.yaml --vary acks=1,all --vary min.insync.replicas=1,2 --repeat 20

  floodmark run mine.yaml --vary acks=1,all --repeat 500 --engine spark --master spark://host:7077

Verdict and tables go to stdout, or the document of --json in their place. Errors go to stderr, and progress if that is
a terminal; a pipe gets neither progress nor colours.

Exit code 0: every expectation held. 1: one failed. 2: bad input. 3: inconclusive. 70: internal error. 130, 143:
stopped. With --dry-run it is 0 whatever a run would end with, 2 for bad input.
"""

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE|FOLDER|NAME...",
        help="Playbooks: files, folders of them, bundled names.",
        autocompletion=known.playbooks,
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value, as in cluster.kafka=0.10.2.")
]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Cut off at this virtual time, as in 90s.")]
Out = Annotated[
    Path | None,
    typer.Option(
        file_okay=False,
        help="Parent directory of sessions (FLOODMARK_SESSIONS, else ./sessions); with --engine the campaign's own "
        "(grids/NAME-SEED).",
    ),
]
Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML, one case per expectation.")]
Plain = Annotated[bool, typer.Option("--plain", help="Print one line per notable event.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Keep nothing; tell before each fault what it is expected to do.")
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, max=512, help="How many run at a time; one for each core.")
]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="Begin no more after one that did not pass.")]
Tag = Annotated[list[str] | None, typer.Option(metavar="TAG", help="Only playbooks that have it, or one of several.")]
SkipTag = Annotated[list[str] | None, typer.Option(metavar="TAG", help="No playbook that has it.")]
Markdown = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a summary for a pull request; - for stdout.")
]
Baseline = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Compare with what was stored; worse than that is exit code 1.")
]
SaveBaseline = Annotated[Path | None, typer.Option(metavar="FILE", help="Store what to compare with later.")]
Speed = Annotated[float | None, typer.Option(metavar="X", help="Tell it live, at so many virtual seconds per second.")]
Vary = Annotated[
    list[str] | None, typer.Option("--vary", metavar="AXIS=A,B", help="Run it over these values, as in acks=1,all.")
]
NoVary = Annotated[bool, typer.Option("--no-vary", help="Run it once as it stands, without its grid.")]
Repeat = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Run each cell with N seeds: its own, and those that follow.")
]
Engine = Annotated[
    str | None,
    typer.Option(metavar="local|spark", help="Keep the grid as a campaign, run by this machine's cores, or by Spark."),
]
Why = Annotated[bool | None, typer.Option("--why/--no-why", help="Explain what was lost, or leave it out.")]


def register_run(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("run", help=RUN_HELP)
    def _run(
        files: Files,
        seed: SeedOption = None,
        settings: Settings = None,
        until: Until = None,
        out: Out = None,
        json: JsonOption = False,
        junit: Junit = None,
        plain: Plain = False,
        dry_run: DryRun = False,
        jobs: Jobs = None,
        fail_fast: FailFast = False,
        tag: Tag = None,
        skip_tag: SkipTag = None,
        markdown: Markdown = None,
        baseline: Baseline = None,
        save_baseline: SaveBaseline = None,
        speed: Speed = None,
        fsync: FsyncOption = Fsync.INTERVAL,
        vary: Vary = None,
        no_vary: NoVary = False,
        repeat: Repeat = None,
        engine: Engine = None,
        master: MasterOption = None,
        memory: MemoryOption = None,
        why: Why = None,
    ) -> None:
        from tui.cli.runs.request import RunRequest  # noqa: PLC0415
        from tui.cli.runs.run import run  # noqa: PLC0415

        request = RunRequest(
            *(files, seed, settings or (), until, out, json, junit, plain, dry_run, speed, jobs, fail_fast),
            fsync=fsync, tags=tag or (), skip_tags=skip_tag or (), markdown=markdown, baseline=baseline,
            save_baseline=save_baseline, vary=vary or (), no_vary=no_vary, repeat=repeat, engine=engine,
            master=master, memory=memory, why=why,
        )  # fmt: skip
        end(lambda: run(request))


# ``floodmark live``.


def register_live(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("live")
    def _live(
        playbook: Annotated[
            str | None,
            typer.Argument(
                metavar="[FILE|NAME]", help="A playbook; the sandbox by default.", autocompletion=known.playbooks
            ),
        ] = None,
        seed: Annotated[int | None, typer.Option(min=0, help="Seed; the playbook's by default.")] = None,
        out: Annotated[Path | None, typer.Option(file_okay=False, help="Parent directory of sessions.")] = None,
        speed: Annotated[float, typer.Option(metavar="X", help="Virtual seconds per second.")] = 1.0,
        fsync: Annotated[Fsync, typer.Option("--fsync", help="When the recording is forced to the disk.")] = (
            Fsync.INTERVAL
        ),
    ) -> None:
        """Tell a live session line by line, without a screen, and do what is typed on stdin.

        Commands are those behind : on the screen, such as crash b2 8s, and status, pause, play, quit. It ends with
        quit or with its input, and is sealed then. Exit code 0: sealed. 2: bad input.
        """
        from tui.cli.sessions.live import open_plain  # noqa: PLC0415

        end(lambda: open_plain(playbook, seed=seed, out=out, speed=speed, fsync=fsync))


# ``floodmark serve``.


def register_serve(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("serve")
    def _serve(
        playbook: Annotated[
            str | None,
            typer.Argument(
                metavar="[FILE|NAME]",
                help="A playbook; three brokers without any load by default.",
                autocompletion=known.playbooks,
            ),
        ] = None,
        port: Annotated[
            int, typer.Option(metavar="N", min=0, max=65_000, help="The first broker's; 0: wherever there is room.")
        ] = 9092,
        host: Annotated[
            str, typer.Option(metavar="ADDRESS", help="Where to listen. Anybody who reaches it can do anything.")
        ] = "127.0.0.1",
        kafka: Annotated[
            str | None,
            typer.Option(metavar="VERSION", help="The release to be, such as 2.8; the playbook's by default."),
        ] = None,
        seed: Annotated[int | None, typer.Option(min=0, help="Seed; the playbook's by default.")] = None,
        out: Annotated[Path | None, typer.Option(file_okay=False, help="Parent directory of sessions.")] = None,
        tui: Annotated[
            bool, typer.Option("--tui/--plain", help="The session on the screen, or line by line with commands typed.")
        ] = False,
        fsync: Annotated[Fsync, typer.Option("--fsync", help="When the recording is forced to the disk.")] = (
            Fsync.INTERVAL
        ),
    ) -> None:
        """Let real Kafka clients talk to a modelled cluster, in real time, and break it under them.

        Each broker listens on a port of its own. Point any client at the first; type faults on stdin, as in live:
        crash leader(orders-0) 8s, gc_pause b1 2s, lag b2 latency=300ms, heal all, status, quit; or press them on the
        screen with --tui. Everything is recorded, replays without the clients, and is reported as any session.
        Exit code 0: sealed. 2: bad input. 130: stopped.
        """
        from tui.cli.sessions.serve import serve  # noqa: PLC0415

        end(lambda: serve(playbook, port=port, host=host, kafka=kafka, seed=seed, out=out, tui=tui, fsync=fsync))
