"""``floodmark open``: a recorded session on the screen, run again to be looked at.

It is never changed: what is done in it begins a branch, a live session with a recording of its own.
"""

from typing import TYPE_CHECKING

from cluster_model.protocol.errors import ModelError
from playbooks.errors import PlaybookError
from playbooks.exit_codes import BAD_INPUT, FAILED
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.session_format.session_errors import SessionError
from playbooks.session_format.session_finder import find_session
from playbooks.timetravel.branches import Branches
from playbooks.timetravel.history_view import Reopened
from tui.output.console import complain, complain_of, people, say
from tui.output.crash import keep
from tui.output.session_end import let_go, seal_all
from tui.program import Asked
from tui.screen_choice import ScreenChoice, UnusableError, check
from tui.session.destination import SESSION, Left, Wish
from tui.settings.seen_words import SeenWords
from tui.terminal.format import duration
from tui.terminal.framerate import frame_s

if TYPE_CHECKING:
    from tui.app import FloodmarkApp
    from tui.terminal.frame_clock import FrameClock

END = "end of the recording"


def look_at(wish: Wish, asked: Asked, back: Wish | None) -> Left:
    """Open the recording that is wished for, by its path or id; ``back`` leads to what was before.

    The code is 0: looked at; 1: it came out differently, told on stderr; 2: bad input; 70: something broke inside.
    """
    try:
        reopened = Reopened(read_session(find_session(wish.text, asked.parent)))
        chosen = check(asked.glyphs, asked.theme, asked.speed)
    except PlaybookError as error:
        complain_of(error)
        return Left(BAD_INPUT)
    except (UnusableError, ModelError, SessionError) as error:
        complain(str(error))
        return Left(BAD_INPUT)
    start = reopened.recorded.start
    beside = Recorder(asked.parent, live=True, settings=start.settings, fsync=asked.fsync, root=start.session_id)
    branches = Branches(reopened, beside)
    app = make_app(reopened, chosen, branches)
    app.back, app.sessions = back, asked.parent
    app.run()
    branches.give_up()
    if app.failure is not None:
        for branch in branches:
            let_go(branch)
        if isinstance(app.failure, RecordingError):  # a full disk is nobody's mistake
            complain(str(app.failure))
            return Left(BAD_INPUT)
        return Left(keep(app.failure, branches.current.recorder))
    return _left(reopened, branches, app.return_code or 0, app.wish)


def _left(reopened: Reopened, branches: Branches, code: int, wish: Wish | None) -> Left:
    """Say how far it was looked at, and seal what branched off it."""
    path = reopened.recorded.path
    if reopened.difference:
        complain(reopened.difference)
        code = FAILED
    else:
        say(people(), parting(reopened))
    failed = seal_all(branches)
    looked_at = branches.current.recorder
    return Left(failed or code, None if failed else wish, Wish(SESSION, str(looked_at.path if looked_at else path)))


def make_app(
    reopened: Reopened, screen: ScreenChoice, branches: Branches | None = None, *, clock: "FrameClock | None" = None
) -> "FloodmarkApp":
    """The app over a recording, in real time unless there is another clock; ``branches`` takes those that begin."""
    from tui.app import FloodmarkApp  # noqa: PLC0415 - bad input is told without waiting for Textual
    from tui.session.session_controller import SimBridge  # noqa: PLC0415
    from tui.terminal.frame_clock import WallClock  # noqa: PLC0415

    bridge = SimBridge(
        branches or reopened,
        clock or WallClock(),
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
    at = END if reopened.over else f"left at {duration(reopened.cluster.now_us)}"
    verdict = "no verdict, not sealed" if recorded.manifest is None else recorded.manifest.verdict
    return (
        f"{recorded.path}: {at}\n"
        f"{recorded.start.playbook}, seed {recorded.start.seed}: {verdict}\n"
        f"session  {recorded.path}\n"
        f"report   floodmark report {recorded.path}"
    )


def words_at_end(reopened: Reopened) -> str:
    """What is to be said where the recording ends."""
    if reopened.difference:
        return f"the rerun differs from the recording: {reopened.difference.splitlines()[0]}"
    return f"{END}: it breaks off here" if reopened.recorded.cut_short else END
