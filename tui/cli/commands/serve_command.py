"""What can be typed behind ``floodmark serve``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from playbooks.session_format.filesystem import Fsync
from tui.cli.commands import completed_names as known


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
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
