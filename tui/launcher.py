"""Opens a playbook or a recording in the TUI, and seals the session at its end (``floodmark open``).

A recording is never changed: any action in it starts a branch, a live session with a recording of its own.
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
from playbooks.timetravel.history_view import ReopenedSession
from tui.output.command_end import report_internal_error
from tui.output.console import print_error, print_lines, print_problems, stderr_console
from tui.output.session_end import close_after_failure, close_unsealed, seal_all
from tui.program import ProgramOptions, run_destinations
from tui.screen_choice import ScreenChoice, ScreenChoiceError, check
from tui.session.destination import PLAYBOOK, SANDBOX, SESSION, Destination, ScreenExit
from tui.session.playbook_choice import begin_live
from tui.settings.settings_file import ExplainedTerms
from tui.terminal.frame_clock import frame_s

if TYPE_CHECKING:
    from tui.app import FloodmarkApp
    from tui.session.session_controller import SessionController
    from tui.terminal.frame_clock import FrameClock

END = "end of the recording"


def open_recording(request: Destination, options: ProgramOptions, back: Destination | None) -> ScreenExit:
    """Open a recording by its path or id; ``back`` is the previous destination.

    Exit codes: 0: closed; 1: the replay differs from the recording (details on stderr); 2: bad input; 70: internal
    error.
    """
    try:
        recorded = read_session(find_session(request.text, options.parent))
        if recorded.start.imported:
            from tui.imported import open_imported  # noqa: PLC0415 - few sessions are imported

            return open_imported(recorded, check(options.glyphs, options.theme, options.speed))
        reopened = ReopenedSession(recorded)
        chosen = check(options.glyphs, options.theme, options.speed)
    except PlaybookError as error:
        print_problems(error)
        return ScreenExit(BAD_INPUT)
    except (ScreenChoiceError, ModelError, SessionError) as error:
        print_error(str(error))
        return ScreenExit(BAD_INPUT)
    start = reopened.recorded.start
    beside = Recorder(options.parent, live=True, settings=start.settings, fsync=options.fsync, root=start.session_id)
    branches = Branches(reopened, beside)
    app = recording_app(reopened, chosen, branches)
    app.previous_destination, app.sessions, app.read_only = back, options.parent, options.read_only
    app.run()
    branches.discard()
    if app.failure is not None:
        for branch in branches:
            close_unsealed(branch)
        if isinstance(app.failure, RecordingError):  # such as a full disk, not an internal error
            print_error(str(app.failure))
            return ScreenExit(BAD_INPUT)
        return ScreenExit(report_internal_error(app.failure, branches.current.recorder))
    return _left(reopened, branches, app.return_code or 0, app.request)


def _left(reopened: ReopenedSession, branches: Branches, code: int, request: Destination | None) -> ScreenExit:
    """Print how far the recording was viewed, and seal its branches."""
    path = reopened.recorded.path
    if reopened.difference:
        print_error(reopened.difference)
        code = FAILED
    else:
        print_lines(stderr_console(), exit_summary(reopened))
    failed = seal_all(branches)
    looked_at = branches.current.recorder
    return ScreenExit(
        failed or code, None if failed else request, Destination(SESSION, str(looked_at.path if looked_at else path))
    )


def recording_app(
    reopened: ReopenedSession,
    screen: ScreenChoice,
    branches: Branches | None = None,
    *,
    clock: "FrameClock | None" = None,
) -> "FloodmarkApp":
    """Return the app over a recording, in real time unless ``clock`` is given; ``branches`` takes new branches."""
    from tui.app import FloodmarkApp  # noqa: PLC0415 - reports bad input without importing Textual
    from tui.session.session_controller import SessionController  # noqa: PLC0415
    from tui.terminal.frame_clock import MonotonicClock  # noqa: PLC0415

    session_controller = SessionController(
        branches or reopened,
        clock or MonotonicClock(),
        speed=screen.speed,
        frame_s=frame_s(screen.settings.fps),
        at_end=lambda: end_message(reopened),
    )
    session_controller.stops_at_loss = screen.settings.autopause
    recorded = reopened.recorded
    return FloodmarkApp(
        session_controller, playbook=recorded.start.playbook, seed=recorded.start.seed, glyphs=screen.glyphs,
        theme=screen.theme, settings=screen.settings, keep_errors=True, notes=(*recorded.notes, *screen.notes),
        seen=ExplainedTerms(),
    )  # fmt: skip


def exit_summary(reopened: ReopenedSession) -> str:
    """Return how far the recording was viewed, its verdict, and the command for its report."""
    recorded = reopened.recorded
    at = END if reopened.over else f"left at {compact_duration(reopened.cluster.now_us)}"
    verdict = "no verdict (incomplete recording)" if recorded.manifest is None else recorded.manifest.verdict
    path = printable(str(recorded.path))
    return (
        f"{path}: {at}\n"
        f"{printable(recorded.start.playbook)}, seed {recorded.start.seed}: {verdict}\n"
        f"session  {path}\n"
        f"report   floodmark report {path}"
    )


def end_message(reopened: ReopenedSession) -> str:
    """Return the message at the end of the recording."""
    if reopened.difference:
        return f"the replay differs from the recording: {reopened.difference.splitlines()[0]}"
    return f"{END}, which is incomplete" if reopened.recorded.cut_short else END


# From a playbook to a live session in the TUI, and from there to a sealed recording.


TOUR: Final = "tour"
"""Name of the bundled playbook of the guided tour."""


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
    """Open a live session in the TUI; returns the exit code of the program.

    ``playbook_path`` is a file or the name of a bundled playbook, ``None`` for the sandbox; ``out`` is the directory of
    sessions; options that are ``None`` are taken from the user's settings. Exit codes: 0: closed and sealed; 2: bad
    input (message on stderr); 70: internal error, the session is kept; 128 + n: stopped by signal n, and sealed; 130:
    sealing was interrupted, the session can be read.
    """
    return run_destinations(
        Destination(PLAYBOOK, playbook_path or SANDBOX, seed), ProgramOptions(out, glyphs, theme, speed, fsync)
    )


def open_playbook(request: Destination, options: ProgramOptions, back: Destination | None) -> ScreenExit:
    """Open a playbook, and seal its session at the end; ``back`` is the previous destination."""
    try:
        screen = check(options.glyphs, options.theme, options.speed)
    except ScreenChoiceError as error:
        print_error(str(error))
        return ScreenExit(BAD_INPUT)
    session = begin_live(request.text, seed=request.seed, parent=options.parent, fsync=options.fsync)
    if session is None:
        return ScreenExit(BAD_INPUT)
    branches = Branches(session)
    app = live_app(session, screen, branches)
    app.previous_destination, app.sessions, app.read_only = back, options.parent, options.read_only
    if session.playbook.name == TOUR:
        app.begin_tour()
    app.run()
    branches.discard()
    if app.failure is None:
        code = seal_all(branches)
        looked_at = branches.current.recorder
        here = Destination(SESSION, str(looked_at.path)) if looked_at is not None else None
        return ScreenExit(code or app.return_code or 0, None if code else app.request, here)
    return ScreenExit(close_after_failure(branches, app.failure, branches.current.recorder))


def live_app(session: Session, screen: ScreenChoice, branches: Branches | None = None) -> "FloodmarkApp":
    """Return the app over a live session, in real time; ``branches`` takes new branches."""
    from tui.session.session_controller import SessionController  # noqa: PLC0415 - reports bad input without importing Textual
    from tui.terminal.frame_clock import MonotonicClock  # noqa: PLC0415

    session_controller = SessionController(
        branches or session, MonotonicClock(), speed=screen.speed, frame_s=frame_s(screen.settings.fps)
    )
    session_controller.stops_at_loss = screen.settings.autopause
    return app_over(session_controller, session, screen, name=session.playbook.name)


def app_over(
    session_controller: "SessionController", session: Session, screen: ScreenChoice, *, name: str
) -> "FloodmarkApp":
    """Return the app over a session controller; ``name`` is the name of the session in the TUI."""
    from tui.app import FloodmarkApp  # noqa: PLC0415

    return FloodmarkApp(
        session_controller, playbook=name, seed=session.cluster.seed, glyphs=screen.glyphs, theme=screen.theme,
        settings=screen.settings, keep_errors=True, recorder=session.recorder, notes=screen.notes,
        seen=ExplainedTerms(),
    )  # fmt: skip


def main() -> None:
    """``python -m tui.launcher [PLAYBOOK]``: open a live session with default settings."""
    raise SystemExit(open_live(sys.argv[1] if len(sys.argv) > 1 else None, seed=None, out=None, glyphs=None, speed=1.0))


if __name__ == "__main__":
    main()
