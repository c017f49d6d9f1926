"""Command-line options of ``floodmark run``, ``live``, ``serve`` and ``web``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from playbooks.session_format.filesystem import Fsync
from tui.cli.commands import options as known
from tui.cli.commands.options import (
    FsyncOption,
    GlyphsOption,
    JsonOption,
    MasterOption,
    MemoryOption,
    OutOption,
    ReadOnlyOption,
    SeedOption,
    SpeedOption,
    ThemeOption,
)

RUN_HELP = """Run playbooks headless and check their expectations.

A grid of settings (vary) runs a session for each cell. With --engine the grid is a campaign instead: it keeps one row
for each cell, uses local cores or Spark tasks, can be resumed with the same command, and ends with a fleet report.

Examples:

  floodmark run acks-matrix

  floodmark run mine.yaml --vary acks=1,all --vary min.insync.replicas=1,2 --repeat 20

  floodmark run mine.yaml --vary acks=1,all --repeat 500 --engine spark --master spark://host:7077

Verdicts and tables (or the JSON document) go to stdout, errors to stderr. Progress and colours appear only on a
terminal.

Exit code 0: all expectations held. 1: one failed. 2: bad input. 3: inconclusive. 70: internal error. 130, 143: stopped.
With --dry-run: 0, or 2 for bad input.
"""

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE|FOLDER|NAME...",
        help="Playbooks: files, folders, or bundled names.",
        autocompletion=known.playbooks,
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a value, such as cluster.kafka=0.10.2.")
]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Stop at this virtual time, such as 90s.")]
Out = Annotated[
    Path | None,
    typer.Option(
        file_okay=False,
        help="Parent directory of sessions (FLOODMARK_SESSIONS, else ./sessions); with --engine the campaign's "
        "directory (grids/NAME-SEED).",
    ),
]
Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML with one case per expectation.")]
Plain = Annotated[bool, typer.Option("--plain", help="Print one line for each notable event.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Do not record; print the expected impact of each fault.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, max=512, help="Number of parallel runs; one per core by default.")
]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="Stop after the first failure.")]
Tag = Annotated[
    list[str] | None,
    typer.Option(metavar="TAG", help="Run only playbooks with this tag; repeat it for any of several."),
]
SkipTag = Annotated[list[str] | None, typer.Option(metavar="TAG", help="Leave out playbooks with this tag.")]
Markdown = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a Markdown summary for a pull request; - is stdout.")
]
Baseline = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Compare with a stored baseline; a regression is exit code 1.")
]
SaveBaseline = Annotated[Path | None, typer.Option(metavar="FILE", help="Store the results as a baseline.")]
Speed = Annotated[
    float | None, typer.Option(metavar="X", help="Print events live, at this many virtual seconds per second.")
]
Vary = Annotated[
    list[str] | None, typer.Option("--vary", metavar="AXIS=A,B", help="Run once for each value, such as acks=1,all.")
]
NoVary = Annotated[bool, typer.Option("--no-vary", help="Ignore the playbook's grid and run it once.")]
Repeat = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Run each cell with N seeds: its own and the next ones.")
]
Engine = Annotated[
    str | None,
    typer.Option(metavar="local|spark", help="Run the grid as a campaign, on local cores or on Spark."),
]
Why = Annotated[
    bool | None,
    typer.Option("--why/--no-why", help="Explain a loss after the run, or not; by default of one short session."),
]


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
                metavar="[FILE|NAME]", help="Playbook; the sandbox by default.", autocompletion=known.playbooks
            ),
        ] = None,
        seed: Annotated[
            int | None, typer.Option(min=0, help="Seed of all random streams; the playbook's by default.")
        ] = None,
        out: Annotated[Path | None, typer.Option(file_okay=False, help="Parent directory of sessions.")] = None,
        speed: Annotated[float, typer.Option(metavar="X", help="Speed in virtual seconds per second.")] = 1.0,
        fsync: Annotated[Fsync, typer.Option("--fsync", help="When the recording is synced to disk.")] = (
            Fsync.INTERVAL
        ),
    ) -> None:
        """Stream a live session as text, and read commands from stdin.

        Commands are those of the TUI's command line, such as crash b2 8s, and status, pause, play, quit. The session
        ends and is sealed at quit or at the end of the input. Exit code 0: sealed. 2: bad input.
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
                help="Playbook; three brokers without load by default.",
                autocompletion=known.playbooks,
            ),
        ] = None,
        port: Annotated[
            int, typer.Option(metavar="N", min=0, max=65_000, help="Port of the first broker; 0 picks free ports.")
        ] = 9092,
        host: Annotated[
            str, typer.Option(metavar="ADDRESS", help="Address to listen on. There is no authentication.")
        ] = "127.0.0.1",
        kafka: Annotated[
            str | None,
            typer.Option(metavar="VERSION", help="Kafka version to emulate, such as 2.8; the playbook's by default."),
        ] = None,
        seed: Annotated[
            int | None, typer.Option(min=0, help="Seed of all random streams; the playbook's by default.")
        ] = None,
        out: Annotated[Path | None, typer.Option(file_okay=False, help="Parent directory of sessions.")] = None,
        tui: Annotated[
            bool, typer.Option("--tui/--plain", help="Show the session in the TUI, or print it and read commands.")
        ] = False,
        metrics: Annotated[
            int | None,
            typer.Option(metavar="PORT", min=0, max=65_535, help="Offer metrics to Prometheus; 0 picks a free port."),
        ] = None,
        fsync: Annotated[Fsync, typer.Option("--fsync", help="When the recording is synced to disk.")] = (
            Fsync.INTERVAL
        ),
    ) -> None:
        """Serve the modelled cluster to real Kafka clients in real time, and inject faults under them.

        Each broker listens on its own port; bootstrap from the first. Type faults on stdin as with live: crash
        leader(orders-0) 8s, gc_pause b1 2s, lag b2 latency=300ms, heal all, status, quit; or use the TUI with --tui.
        The session is recorded, replays without the clients, and is reported like any other. Exit code 0: sealed.
        2: bad input. 130: stopped.
        """
        from tui.cli.sessions.serve import Listening, serve  # noqa: PLC0415

        listening = Listening(host, port, metrics)
        end(lambda: serve(playbook, listening, kafka=kafka, seed=seed, out=out, tui=tui, fsync=fsync))


# ``floodmark web``.


def register_web(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("web")
    def _web(
        host: Annotated[
            str, typer.Option(metavar="ADDRESS", help="Address to listen on; other than loopback it needs a token.")
        ] = "127.0.0.1",
        port: Annotated[int, typer.Option(metavar="N", min=0, max=65_535, help="Port; 0 picks a free one.")] = 8000,
        token: Annotated[
            str | None,
            typer.Option(
                envvar="FLOODMARK_WEB_TOKEN",
                help="Token that visitors need; elsewhere than on loopback a new one by default.",
            ),
        ] = None,
        read_only: ReadOnlyOption = False,
        visitors: Annotated[
            int, typer.Option(metavar="N", min=1, max=200, help="Maximum number of visitors at a time.")
        ] = 8,
        session: Annotated[
            str | None,
            typer.Option(help="Recorded session to open instead of a playbook.", autocompletion=known.sessions),
        ] = None,
        playbook: Annotated[
            str | None,
            typer.Option(help="Playbook to open: a file or a bundled name.", autocompletion=known.playbooks),
        ] = None,
        seed: SeedOption = None,
        out: OutOption = None,
        glyphs: GlyphsOption = None,
        theme: ThemeOption = None,
        speed: SpeedOption = None,
    ) -> None:
        """Serve the TUI to web browsers, on this machine by default.

        Each visitor gets a process and a session of their own: two visitors do not see each other. The session is
        recorded, and sealed when the page is closed. With --read-only visitors can look around, go back in time and
        open autopsies, but change nothing. Elsewhere than on loopback every visitor needs the token, which is printed.
        Needs the package textual-serve: pip install 'floodmark[web]'.

        For example:

          floodmark web --playbook zombie-leader

          floodmark web --host 0.0.0.0 --read-only --playbook zone-loss

        Exit code 0: stopped by SIGTERM. 2: bad input. 130: stopped by ctrl+c.
        """
        from tui.cli.sessions.web import WebRequest, web  # noqa: PLC0415

        request = WebRequest(
            *(host, port, token, read_only, visitors, session, playbook, seed, out, glyphs, theme, speed)
        )
        end(lambda: web(request))
