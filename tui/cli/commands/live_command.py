"""What can be typed behind ``floodmark live``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from playbooks.session_format.filesystem import Fsync
from tui.cli.commands import completed_names as known


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
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
