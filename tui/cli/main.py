"""Entry point of ``floodmark``: registers every command, and prints plain help.

Commands import their modules when they run, so that ``floodmark --help`` and input errors respond fast.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from playbooks.errors import BAD_INPUT, INTERRUPTED, TERMINATED
from playbooks.session_format.filesystem import Fsync
from tui.cli.commands import options as known
from tui.cli.commands.analysis import (
    register_alerts,
    register_ask,
    register_explore,
    register_shrink,
    register_storm,
    register_upgrade,
    register_why,
)
from tui.cli.commands.cluster import register_cluster, register_new
from tui.cli.commands.options import (
    FsyncOption,
    GlyphsOption,
    JsonOption,
    OutOption,
    ReadOnlyOption,
    SeedOption,
    SpeedOption,
    ThemeOption,
)
from tui.cli.commands.reference import register_reference, register_settings
from tui.cli.commands.report import register_fleet, register_report, register_spark
from tui.cli.commands.run import register_live, register_run, register_serve, register_web
from tui.output.console import discard_unwritable, print_error, redirect_to_null

# ``floodmark completion``: shell completion of commands, options and names.
#
# At each tab the shell runs the program with an environment variable set, and the program prints the completions.


PROGRAM: Final = "floodmark"
ASKS: Final = "_FLOODMARK_COMPLETE"
"""Environment variable that a shell sets to request completions."""


class Shell(StrEnum):
    """Shells for which there is a completion script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def register_completion(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("completion")
    def _completion(
        shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="Your shell: bash, zsh or fish.")],
    ) -> None:
        """Print the shell completion script: commands, options, playbooks, faults, sessions.

        For bash, put `source <(floodmark completion bash)` into ~/.bashrc. For zsh, put `source <(floodmark completion
        zsh)` into ~/.zshrc, after compinit. For fish, write it to ~/.config/fish/completions/floodmark.fish.
        """
        end(lambda: print_script(app, shell))


def print_script(app: typer.Typer, shell: Shell) -> int:
    """Print a shell's completion script on stdout; return the exit code."""
    answering()
    from typer.completion import shell_complete  # noqa: PLC0415 - other commands do not need it

    return shell_complete(typer.main.get_command(app), {}, PROGRAM, ASKS, f"source_{shell}")


def is_asked(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether a shell started this process to complete a command line."""
    return ASKS in environ


def answering() -> None:
    """Register Typer's completion classes, which it does itself only with its own completion options."""
    from typer.completion import get_completion_inspect_parameters  # noqa: PLC0415

    get_completion_inspect_parameters()


# Plain help without frames: Typer's rich help imports a Markdown parser, which takes longer than the rest.


VALUE_NAMES: Final = {
    "<int range>": "N", "<int>": "N", "<dir>": "DIR", "<path>": "FILE", "<str>": "TEXT", "<float>": "X",
}  # fmt: skip
"""The parser's name of a value type → its name in the help."""
OLD_OPTIONS: Final = re.compile(r", --(?:most|workers)\b")
"""Earlier names of options, which are still accepted and not shown."""


def parameter_name(name: str) -> str:
    """Return a parameter as the help shows it: an option with the name of its value, an argument without its type."""
    if not name.startswith("-"):
        return re.sub(r"^\[(.*)\]$", r"\1", re.sub(r" <.*>$", "", name))
    for kind, value_name in VALUE_NAMES.items():
        name = name.replace(kind, value_name)
    return re.sub(r"<(.*)>", r"\1", OLD_OPTIONS.sub("", name))


def usage_line(usage: str) -> str:
    """Return a command's usage without the parser's marks for required parameters."""
    return re.sub(r"[{}]", "", usage).replace("......", "...").replace("[[", "[").replace("]]", "]")


def plain_formatter(**size: Any) -> Any:
    """Return a formatter of help that shows values as :func:`parameter_name` does."""
    formatter: Any = TyperGroup.context_class.formatter_class(**size)
    write_dl, write_usage = formatter.write_dl, formatter.write_usage

    def parameters(rows: Iterable[tuple[str, str]], *args: Any, **options: Any) -> None:
        write_dl([(parameter_name(name), meaning) for name, meaning in rows], *args, **options)

    formatter.write_dl = parameters
    formatter.write_usage = lambda prog, args="", prefix=None: write_usage(prog, usage_line(args), prefix)
    return formatter


HelpContext: Final[Any] = type(
    "HelpContext", (TyperGroup.context_class,), {"formatter_class": staticmethod(plain_formatter)}
)
"""Context of a command, whose help is plain."""


class Commands(TyperGroup):
    """Command group whose help lists each command with its whole first paragraph."""

    context_class = HelpContext

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, which prints plain help."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            command.context_class = HelpContext
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with the first paragraph of its help."""
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, " ".join((each.help or "").split("\n\n")[0].split())) for name, each in named if each is not None
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


app = typer.Typer(
    name="floodmark",
    help="A terminal chaos lab for Kafka. Without a command it opens the TUI: a guided tour, incidents, a sandbox.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SessionArgument = Annotated[
    str,
    typer.Argument(
        metavar="SESSION", help="Directory of a recorded session, or its id.", autocompletion=known.sessions
    ),
]


def _end(work: Callable[[], int]) -> NoReturn:
    """Run a command and exit with its code, or with that of SIGTERM if SIGTERM stopped it."""
    from tui.output.command_end import interrupted_by_sigterm  # noqa: PLC0415

    with interrupted_by_sigterm() as signals:
        try:
            code = work()
        except KeyboardInterrupt:
            print_error("stopped")
            code = INTERRUPTED
    raise typer.Exit(TERMINATED if signals and code == INTERRUPTED else code)


def _version(wanted: bool) -> None:
    if wanted:
        from playbooks.version import VERSION  # noqa: PLC0415

        typer.echo(f"floodmark {VERSION}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _screen(
    context: typer.Context,
    playbook: Annotated[str | None, typer.Option(help="Playbook to open: a file or a bundled name.")] = None,
    seed: SeedOption = None,
    out: OutOption = None,
    glyphs: GlyphsOption = None,
    theme: ThemeOption = None,
    speed: SpeedOption = None,
    fsync: FsyncOption = Fsync.INTERVAL,
    read_only: ReadOnlyOption = False,
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is not None:
        return
    from tui.program import ProgramOptions, run_destinations  # noqa: PLC0415
    from tui.session.destination import PLAYBOOK, SANDBOX, WELCOME, Destination  # noqa: PLC0415

    request = Destination(PLAYBOOK, playbook or SANDBOX, seed)
    if playbook is None and seed is None:
        request = Destination(WELCOME)
    _end(lambda: run_destinations(request, ProgramOptions(out, glyphs, theme, speed, fsync, read_only)))


register_run(app, _end)


@app.command("check")
def _check(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Playbooks, or folders of them.", autocompletion=known.playbooks),
    ],
    json: JsonOption = False,
) -> None:
    """Validate playbooks without running them; report each error with its line and column."""
    from tui.cli.reference.library import check  # noqa: PLC0415

    _end(lambda: check(files, json=json))


register_cluster(app, _end)
register_new(app, _end)
register_reference(app, _end)


@app.command("replay")
def _replay(
    session: SessionArgument,
    json: JsonOption = False,
) -> None:
    """Replay a recorded session and compare it with the recording.

    Exit code 0: every event is the same. 1: an event differs. 2: the session cannot be read.
    """
    from tui.cli.sessions.recorded import run_replay  # noqa: PLC0415

    _end(lambda: run_replay(session, json=json))


@app.command("diff")
def _diff(
    left: SessionArgument,
    right: Annotated[
        str, typer.Argument(metavar="OTHER", help="Session to compare with.", autocompletion=known.sessions)
    ],
    json: JsonOption = False,
    everything: Annotated[bool, typer.Option("--all", help="Show equal results too.")] = False,
) -> None:
    """Compare two recorded sessions: the first event that differs, then the results side by side.

    Exit code 0: the sessions are the same. 1: they differ. 2: a session cannot be read.
    """
    from tui.cli.analysis.diff import run_diff  # noqa: PLC0415

    _end(lambda: run_diff(left, right, json=json, everything=everything))


@app.command("recover")
def _recover(
    sessions: Annotated[
        list[str],
        typer.Argument(metavar="SESSION...", help="Session directories or ids.", autocompletion=known.sessions),
    ],
) -> None:
    """Seal the sessions of crashed processes, by replaying them up to the last complete event.

    Exit code 0: all are sealed. 1: a replay differs from its recording, which is left unchanged. 2: a session cannot be
    read.
    """
    from tui.cli.sessions.recorded import run_recover  # noqa: PLC0415

    _end(lambda: run_recover(sessions))


@app.command("export")
def _export(
    session: SessionArgument,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="File to write instead of stdout.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the playbook; the session's own with '-exported' by default.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    bundle: Annotated[bool, typer.Option("--bundle", help="Write the session itself as one file instead.")] = False,
    openmetrics: Annotated[
        Path | None,
        typer.Option("--openmetrics", metavar="FILE", help="Write the session's metrics as OpenMetrics text instead."),
    ] = None,
    scrape_interval: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --openmetrics: virtual time between two scrapes; 5s by default."),
    ] = None,
) -> None:
    """Turn a recorded session into a playbook: the operator's actions as steps, the observed results as expectations.

    With --bundle, pack the session into one file to send. Every command that takes a session accepts that file.

    With --openmetrics, write the time series that Prometheus would have scraped from the session's brokers and clients.

    Exit code 0: the playbook is written and has the digest of the session. 1: its digest differs. 2: bad input; nothing
    is written.
    """
    from tui.cli.sessions.recorded import Export, run_export  # noqa: PLC0415

    _end(lambda: run_export(Export(session, out, name, force, bundle, openmetrics, scrape_interval)))


@app.command("open")
def _open(
    session: SessionArgument,
    glyphs: GlyphsOption = None,
    theme: ThemeOption = None,
    speed: SpeedOption = None,
    out: OutOption = None,
    read_only: ReadOnlyOption = False,
) -> None:
    """Open a recorded session in the TUI. The recording never changes: any action starts a recorded branch.

    Exit code 0: the session was closed. 1: its replay differs. 2: it cannot be read, or there is no terminal.
    """
    from tui.program import ProgramOptions, run_destinations  # noqa: PLC0415
    from tui.session.destination import SESSION, Destination  # noqa: PLC0415

    options = ProgramOptions(out, glyphs, theme, speed, read_only=read_only)
    _end(lambda: run_destinations(Destination(SESSION, session), options))


IMPORT_HELP: Final = """\
Add sessions to the sessions directory: bundles, or the logs of a real Kafka cluster.

With --kafka-logs DIR, read the metadata log and the partition logs of brokers that were copied to DIR, a subdirectory
for each node with its log directories as they lie on disk:

  DIR/node-1/meta.properties, DIR/node-1/orders-0/00000000000000000000.log, ...

  DIR/node-100/__cluster_metadata-0/00000000000000000000.log, ...

The session has the leaders, epochs, ISRs and truncations of each partition, and the records that only a deposed leader
has. It can be opened, reported and compared; it cannot be run again. Nothing is sent anywhere.

Example:

  floodmark import --kafka-logs incident-42 --topic orders

Exit code 0: imported. 2: a file cannot be read; its session is not written.
"""


@app.command("import", help=IMPORT_HELP)
def _import(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="Bundles written by export --bundle.")
    ] = None,
    kafka_logs: Annotated[
        Path | None, typer.Option("--kafka-logs", metavar="DIR", help="Directory of copied log directories.")
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="NAME", help="With --kafka-logs: only this topic; repeatable."),
    ] = None,
    clients: Annotated[
        Path | None,
        typer.Option(
            "--clients",
            metavar="FILE",
            help="With --kafka-logs: acknowledgements that producers received, as JSON lines.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="With --kafka-logs: name of the session; the directory's by default.")
    ] = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    def work() -> int:
        if kafka_logs is not None and not files:
            from tui.cli.sessions.kafka_import import KafkaImport, run_kafka_import  # noqa: PLC0415

            return run_kafka_import(KafkaImport(kafka_logs, tuple(topics or ()), clients, name, out, json))
        options = {"--topic": topics, "--clients": clients, "--name": name, "--json": json}
        given = [option for option, value in options.items() if value]
        if kafka_logs is not None or not files or given:
            found = "FILE and --kafka-logs" if files and kafka_logs else given[0] if given else "neither"
            print_error(f"found {found}, expected FILE..., or --kafka-logs DIR with its options")
            return BAD_INPUT
        from tui.cli.sessions.recorded import run_import  # noqa: PLC0415

        return run_import(files, out)

    _end(work)


@app.command("peek")
def _peek(
    session: SessionArgument,
    partition: Annotated[str, typer.Argument(metavar="PARTITION", help="Partition, such as orders-0.")],
    offset: Annotated[int, typer.Argument(metavar="OFFSET", min=0, help="Offset of the record.")],
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Show the state at this virtual time, such as 12s; the end by default."),
    ] = None,
    records: Annotated[int, typer.Option(min=1, max=1_000, help="Number of offsets to show.")] = 1,
    json: JsonOption = False,
) -> None:
    """Show the record at an offset of a recorded session: key, contents, producer, and the replicas that hold it.

    Exit code 0: a record is shown. 1: no record was ever written there. 2: bad input.
    """
    from tui.cli.sessions.recorded import run_peek  # noqa: PLC0415

    _end(lambda: run_peek(session, partition, offset, at=at, records=records, json=json))


@app.command("groups")
def _groups(
    session: SessionArgument,
    group: Annotated[
        str | None,
        typer.Argument(
            metavar="[GROUP]", help="Group to describe; without it all groups are listed with their states."
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Show the state at this virtual time, such as 12s; the end by default."),
    ] = None,
    members: Annotated[bool, typer.Option("--members", help="Show members and their assignments.")] = False,
    state: Annotated[bool, typer.Option("--state", help="Show the state and the coordinator.")] = False,
    json: JsonOption = False,
) -> None:
    """Describe the consumer groups of a recorded session, as kafka-consumer-groups.sh does.

    Exit code 0: a group is shown. 1: there is no such group at that time. 2: bad input.
    """
    from tui.cli.sessions.recorded import run_groups  # noqa: PLC0415

    def work() -> int:
        if members and state:
            print_error("found --members and --state together, expected one of them")
            return BAD_INPUT
        show = "members" if members else "state" if state else "offsets"
        return run_groups(session, group, at=at, show=show, json=json)

    _end(work)


_PARTS = (
    *(register_ask, register_why, register_explore, register_storm, register_shrink, register_upgrade, register_alerts),
    *(register_settings, register_live, register_report, register_fleet, register_spark, register_serve),
    register_web,
    register_completion,
)
for _register in _PARTS:
    _register(app, _end)


@app.command("demo")
def _demo(
    out: Annotated[Path, typer.Option(file_okay=False, help="Directory of the report.")] = Path("reports/demo"),
) -> None:
    """Show in about a minute what floodmark does: two losses of old releases, a live crash, and their report.

    The output is one page; the full output of each run is in demo.txt beside the report.
    """
    from tui.cli.runs.demo import demo  # noqa: PLC0415

    _end(lambda: demo(out))


def main() -> None:
    """Run the console script ``floodmark``."""
    if is_asked():
        answering()
    try:
        app()
    except SystemExit:
        discard_unwritable(sys.stdout)
        raise
    except BrokenPipeError:
        redirect_to_null(sys.stdout)
        raise SystemExit(0) from None
    except RecursionError as error:
        print_error(f"nested too deeply: {error}")
        raise SystemExit(BAD_INPUT) from None
    except Exception as error:
        from tui.output import command_end as crash  # noqa: PLC0415

        code = crash.report_internal_error(error)
        discard_unwritable(sys.stdout)
        raise SystemExit(code) from None


if __name__ == "__main__":
    main()
