"""From a playbook to a live session on the screen, and from there to a sealed recording on the normal terminal."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from cluster_model.errors import ModelError
from playbooks.branches import Branches
from playbooks.disk import Fsync
from playbooks.loader import PlaybookError
from playbooks.problems import listed, nearest, shown
from playbooks.recorder import Recorder, RecordingError
from playbooks.session import Session
from tui.cli.chosen import choose
from tui.cli.console import BAD_INPUT, complain, complain_of, people, say
from tui.farewell import leave_torn, seal_all
from tui.glyphs import GlyphSet
from tui.glyphs import choose as choose_glyphs
from tui.program import Asked, perform
from tui.settings.reading import read_settings
from tui.settings.schema import THEMES, Settings
from tui.viewmodel.words import SPEEDS
from tui.wish import PLAYBOOK, SESSION, Left, Wish

if TYPE_CHECKING:
    from tui.app import FloodmarkApp
    from tui.theme import ThemeName

SANDBOX: Final = "sandbox"
"""The bundled playbook that opens when nobody names one."""
TOUR: Final = "tour"
"""The bundled playbook through which somebody is led."""
SSH_FRAME_S: Final = 1 / 8
"""Between frames over ssh, where every frame is traffic."""


class UnusableError(Exception):
    """Bad input: the text says what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class ScreenChoice:
    """How the screen is to be: what was typed, else what the user's settings say."""

    glyphs: GlyphSet
    theme: "ThemeName"
    speed: float
    settings: Settings
    notes: tuple[str, ...] = ()
    """What is wrong with the file of settings."""


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
        chosen = choose(wish.text, wish.seed, {})
        if chosen.playbook.spec.manual:
            raise UnusableError(f"{chosen.playbook.path}: a manual playbook stands still; play it with: floodmark run")
        recorder = Recorder(asked.parent, live=True, fsync=asked.fsync)
        session = Session.start(chosen.playbook, seed=chosen.seed, recorder=recorder, open_ended=True)
    except PlaybookError as error:
        complain_of(error)
        return Left(BAD_INPUT)
    except (UnusableError, ModelError, RecordingError) as error:
        complain(str(error))
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
        looked_at = branches.current.recorder or recorder
        return Left(code or app.return_code or 0, None if code else app.wish, Wish(SESSION, str(looked_at.path)))
    return Left(leave_torn(branches, app.failure, branches.current.recorder))


def make_app(session: Session, screen: ScreenChoice, branches: Branches | None = None) -> "FloodmarkApp":
    """The app over a session, in real time; ``branches`` takes those that begin there."""
    from tui.app import FloodmarkApp  # noqa: PLC0415 - bad input is told without waiting for Textual
    from tui.bridge import SimBridge  # noqa: PLC0415
    from tui.frameclock import WallClock  # noqa: PLC0415

    bridge = SimBridge(branches or session, WallClock(), speed=screen.speed, frame_s=frame_s())
    bridge.stops_at_loss = screen.settings.autopause
    return FloodmarkApp(
        bridge, playbook=session.playbook.name, seed=session.cluster.seed, glyphs=screen.glyphs, theme=screen.theme,
        settings=screen.settings, keep_errors=True, recorder=session.recorder, notes=screen.notes,
    )  # fmt: skip


def frame_s() -> float:
    """Seconds between frames: over ssh every frame is traffic."""
    from tui.bridge import FRAME_S  # noqa: PLC0415 - bad input is told without waiting for what the screen needs

    return SSH_FRAME_S if os.environ.get("SSH_CONNECTION") else FRAME_S


MOST_NOTES: Final = 3
"""Lines about the file of settings that come up on the screen; more are counted."""


def check(glyphs: str | None, theme: str | None, speed: float | None) -> ScreenChoice:
    """How the screen is to be, once everything about the terminal and the options is in order.

    What is wrong in the user's file is told, and everything else in it is in force.
    """
    found = read_settings()
    settings = found.settings
    try:
        chosen = choose_glyphs(glyphs or settings.glyphs)
    except ValueError as error:
        raise UnusableError(str(error)) from error
    if theme not in (None, *THEMES):
        raise UnusableError(
            f"--theme: found {shown(theme)}, allowed are {listed(THEMES, 'and')}{nearest(theme, THEMES)}"
        )
    if speed is not None and not SPEEDS[0] <= speed <= SPEEDS[-1]:
        raise UnusableError(f"--speed: found {speed:g}, allowed are {SPEEDS[0]:g} to {SPEEDS[-1]:g}")
    if not has_terminal():
        raise UnusableError("the screen needs a terminal; without one use: floodmark run PLAYBOOK")
    for problem in found.problems:
        say(people(), f"note: {problem}", "yellow")
    rest = len(found.problems) - MOST_NOTES
    more = [f"and {rest} more: floodmark settings"] if rest > 0 else []
    in_force = replace(settings, glyphs=glyphs or settings.glyphs, theme=theme or settings.theme)
    return ScreenChoice(
        chosen, cast("ThemeName", in_force.theme), settings.speed if speed is None else speed, in_force,
        (*found.problems[:MOST_NOTES], *more),
    )  # fmt: skip


def has_terminal() -> bool:
    """Whether there is somebody to look at a screen: Textual reads stdin and draws on stderr."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def main() -> None:
    """``python -m tui.launch [PLAYBOOK]``: the live screen with default settings."""
    raise SystemExit(open_live(sys.argv[1] if len(sys.argv) > 1 else None, seed=None, out=None, glyphs=None, speed=1.0))


if __name__ == "__main__":
    main()
