"""Opens a playbook or a recording on the screen, and seals the session at its end (``floodmark open``).

It is never changed: what is done in it begins a branch, a live session with a recording of its own.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cluster_model.protocol.errors import ModelError
from cluster_model.util.quantities import compact_duration
from playbooks.engine.session import Session
from playbooks.errors import BAD_INPUT, FAILED, PlaybookError
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.session_format.filesystem import Fsync
from playbooks.session_format.session_files import SessionError
from playbooks.session_format.session_finder import find_session
from playbooks.text import printable
from playbooks.timetravel.branches import Branches
from playbooks.timetravel.history_view import Reopened
from tui.output.command_end import keep
from tui.output.console import complain, complain_of, people, say_lines
from tui.output.session_end import leave_torn, let_go, seal_all
from tui.program import ProgramOptions, perform
from tui.screen_choice import ScreenChoice, UnusableError, check
from tui.session.destination import PLAYBOOK, SANDBOX, SESSION, ScreenExit, Wish
from tui.session.playbook_choice import begin_live
from tui.settings.settings_file import SeenWords
from tui.terminal.frame_clock import frame_s

if TYPE_CHECKING:
    from tui.app import FloodmarkApp
    from tui.session.session_controller import SimBridge
    from tui.terminal.frame_clock import FrameClock

END = "end of the recording"


def look_at(wish: Wish, asked: ProgramOptions, back: Wish | None) -> ScreenExit:
    """Open the recording that is wished for, by its path or id; ``back`` leads to what was before.

    The code is 0: looked at; 1: it came out differently, told on stderr; 2: bad input; 70: something broke inside.
    """
    try:
        reopened = Reopened(read_session(find_session(wish.text, asked.parent)))
        chosen = check(asked.glyphs, asked.theme, asked.speed)
    except PlaybookError as error:
        complain_of(error)
        return ScreenExit(BAD_INPUT)
    except (UnusableError, ModelError, SessionError) as error:
        complain(str(error))
        return ScreenExit(BAD_INPUT)
    start = reopened.recorded.start
    beside = Recorder(asked.parent, live=True, settings=start.settings, fsync=asked.fsync, root=start.session_id)
    branches = Branches(reopened, beside)
    app = recording_app(reopened, chosen, branches)
    app.back, app.sessions = back, asked.parent
    app.run()
    branches.give_up()
    if app.failure is not None:
        for branch in branches:
            let_go(branch)
        if isinstance(app.failure, RecordingError):  # a full disk is nobody's mistake
            complain(str(app.failure))
            return ScreenExit(BAD_INPUT)
        return ScreenExit(keep(app.failure, branches.current.recorder))
    return _left(reopened, branches, app.return_code or 0, app.wish)


def _left(reopened: Reopened, branches: Branches, code: int, wish: Wish | None) -> ScreenExit:
    """Say how far it was looked at, and seal what branched off it."""
    path = reopened.recorded.path
    if reopened.difference:
        complain(reopened.difference)
        code = FAILED
    else:
        say_lines(people(), parting(reopened))
    failed = seal_all(branches)
    looked_at = branches.current.recorder
    return ScreenExit(
        failed or code, None if failed else wish, Wish(SESSION, str(looked_at.path if looked_at else path))
    )


def recording_app(
    reopened: Reopened, screen: ScreenChoice, branches: Branches | None = None, *, clock: "FrameClock | None" = None
) -> "FloodmarkApp":
    """The app over a recording, in real time unless there is another clock; ``branches`` takes those that begin."""
    from tui.app import FloodmarkApp  # noqa: PLC0415 - bad input is told without waiting for Textual
    from tui.session.session_controller import SimBridge  # noqa: PLC0415
    from tui.terminal.frame_clock import MonotonicClock  # noqa: PLC0415

    bridge = SimBridge(
        branches or reopened,
        clock or MonotonicClock(),
        speed=screen.speed,
        frame_s=frame_s(screen.settings.fps),
        at_end=lambda: words_at_end(reopened),
    )
    bridge.stops_at_loss = screen.settings.autopause
    recorded = reopened.recorded
    return FloodmarkApp(
        bridge, playbook=recorded.start.playbook, seed=recorded.start.seed, glyphs=screen.glyphs,
        theme=screen.theme, settings=screen.settings, keep_errors=True, notes=(*recorded.notes, *screen.notes),
        seen=SeenWords(),
    )  # fmt: skip


def parting(reopened: Reopened) -> str:
    """How far it was looked at, the verdict it was sealed with, and how to read the whole of it."""
    recorded = reopened.recorded
    at = END if reopened.over else f"left at {compact_duration(reopened.cluster.now_us)}"
    verdict = "no verdict, not sealed" if recorded.manifest is None else recorded.manifest.verdict
    path = printable(str(recorded.path))
    return (
        f"{path}: {at}\n"
        f"{printable(recorded.start.playbook)}, seed {recorded.start.seed}: {verdict}\n"
        f"session  {path}\n"
        f"report   floodmark report {path}"
    )


def words_at_end(reopened: Reopened) -> str:
    """What is to be said where the recording ends."""
    if reopened.difference:
        return f"the rerun differs from the recording: {reopened.difference.splitlines()[0]}"
    return f"{END}: it breaks off here" if reopened.recorded.cut_short else END


# From a playbook to a live session on the screen, and from there to a sealed recording on the normal terminal.


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
    return perform(Wish(PLAYBOOK, playbook_path or SANDBOX, seed), ProgramOptions(out, glyphs, theme, speed, fsync))


def play(wish: Wish, asked: ProgramOptions, back: Wish | None) -> ScreenExit:
    """Open the playbook that is wished for, and seal its session when it is left; ``back`` leads to what was before."""
    try:
        screen = check(asked.glyphs, asked.theme, asked.speed)
    except UnusableError as error:
        complain(str(error))
        return ScreenExit(BAD_INPUT)
    session = begin_live(wish.text, seed=wish.seed, parent=asked.parent, fsync=asked.fsync)
    if session is None:
        return ScreenExit(BAD_INPUT)
    branches = Branches(session)
    app = live_app(session, screen, branches)
    app.back, app.sessions = back, asked.parent
    if session.playbook.name == TOUR:
        app.begin_tour()
    app.run()
    branches.give_up()
    if app.failure is None:
        code = seal_all(branches)
        looked_at = branches.current.recorder
        here = Wish(SESSION, str(looked_at.path)) if looked_at is not None else None
        return ScreenExit(code or app.return_code or 0, None if code else app.wish, here)
    return ScreenExit(leave_torn(branches, app.failure, branches.current.recorder))


def live_app(session: Session, screen: ScreenChoice, branches: Branches | None = None) -> "FloodmarkApp":
    """The app over a session, in real time; ``branches`` takes those that begin there."""
    from tui.session.session_controller import SimBridge  # noqa: PLC0415 - bad input is told without waiting for Textual
    from tui.terminal.frame_clock import MonotonicClock  # noqa: PLC0415

    bridge = SimBridge(branches or session, MonotonicClock(), speed=screen.speed, frame_s=frame_s(screen.settings.fps))
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
    """``python -m tui.launcher [PLAYBOOK]``: the live screen with default settings."""
    raise SystemExit(open_live(sys.argv[1] if len(sys.argv) > 1 else None, seed=None, out=None, glyphs=None, speed=1.0))


if __name__ == "__main__":
    main()
