"""From a playbook to a live session on the screen, and from there to a sealed recording on the normal terminal."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from playbooks.engine.session import Session
from playbooks.exit_codes import BAD_INPUT
from playbooks.session_format.filesystem import Fsync
from playbooks.timetravel.branches import Branches
from tui.output.console import complain
from tui.output.session_end import leave_torn, seal_all
from tui.program import Asked, perform
from tui.screen_choice import ScreenChoice, UnusableError, check
from tui.session.beginning import begin_live
from tui.session.destination import PLAYBOOK, SANDBOX, SESSION, Left, Wish
from tui.settings.seen_words import SeenWords
from tui.terminal.framerate import frame_s

if TYPE_CHECKING:
    from tui.app import FloodmarkApp
    from tui.session.session_controller import SimBridge

TOUR: Final = "tour"
"""The bundled playbook through which somebody is led."""


def open_live(
    playbook_path: str | None,
    *,
    seed: int | None,
    out: Path | None,
    glyphs: str | None,
    speed: float | None,
    theme: str | None = None,
    fsync: Fsync = Fsync.INTERVAL,
) -> int:
    """Open a live session on the screen; returns the exit code of the program.

    ``playbook_path`` is a file or the name of a bundled playbook, ``None`` for the sandbox; ``out`` the directory that
    holds sessions; options of the screen that are ``None`` are as the user's settings have them. 0: left and sealed;
    2: bad input, told on stderr; 70: something broke inside, the session is kept; 128 + n: told to stop by signal n,
    sealed all the same; 130: sealing was interrupted, the session can be read.
    """
    return perform(Wish(PLAYBOOK, playbook_path or SANDBOX, seed), Asked(out, glyphs, theme, speed, fsync))


def play(wish: Wish, asked: Asked, back: Wish | None) -> Left:
    """Open the playbook that is wished for, and seal its session when it is left; ``back`` leads to what was before."""
    try:
        screen = check(asked.glyphs, asked.theme, asked.speed)
    except UnusableError as error:
        complain(str(error))
        return Left(BAD_INPUT)
    session = begin_live(wish.text, seed=wish.seed, parent=asked.parent, fsync=asked.fsync)
    if session is None:
        return Left(BAD_INPUT)
    branches = Branches(session)
    app = make_app(session, screen, branches)
    app.back, app.sessions = back, asked.parent
    if session.playbook.name == TOUR:
        app.begin_tour()
    app.run()
    branches.give_up()
    if app.failure is None:
        code = seal_all(branches)
        looked_at = branches.current.recorder
        here = Wish(SESSION, str(looked_at.path)) if looked_at is not None else None
        return Left(code or app.return_code or 0, None if code else app.wish, here)
    return Left(leave_torn(branches, app.failure, branches.current.recorder))


def make_app(session: Session, screen: ScreenChoice, branches: Branches | None = None) -> "FloodmarkApp":
    """The app over a session, in real time; ``branches`` takes those that begin there."""
    from tui.session.session_controller import SimBridge  # noqa: PLC0415 - bad input is told without waiting for Textual
    from tui.terminal.frame_clock import WallClock  # noqa: PLC0415

    bridge = SimBridge(branches or session, WallClock(), speed=screen.speed, frame_s=frame_s(screen.settings.fps))
    bridge.stops_at_loss = screen.settings.autopause
    return app_over(bridge, session, screen, name=session.playbook.name)


def app_over(bridge: "SimBridge", session: Session, screen: ScreenChoice, *, name: str) -> "FloodmarkApp":
    """The app over a bridge; ``name`` is what its session is called on the screen."""
    from tui.app import FloodmarkApp  # noqa: PLC0415

    return FloodmarkApp(
        bridge, playbook=name, seed=session.cluster.seed, glyphs=screen.glyphs, theme=screen.theme,
        settings=screen.settings, keep_errors=True, recorder=session.recorder, notes=screen.notes,
        seen=SeenWords(),
    )  # fmt: skip


def main() -> None:
    """``python -m tui.launch [PLAYBOOK]``: the live screen with default settings."""
    raise SystemExit(open_live(sys.argv[1] if len(sys.argv) > 1 else None, seed=None, out=None, glyphs=None, speed=1.0))


if __name__ == "__main__":
    main()
