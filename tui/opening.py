"""``floodmark open``: a recorded session on the screen, run again to be looked at and not to be changed."""

from typing import TYPE_CHECKING

from cluster_model.errors import ModelError
from playbooks.loader import PlaybookError
from playbooks.reading_sessions import SessionError, find_session, read_session
from playbooks.reopening import Reopened
from tui.cli.console import BAD_INPUT, FAILED, complain, complain_of, people, say
from tui.cli.crash import keep
from tui.launch import ScreenChoice, UnusableError, check, frame_s
from tui.program import Asked, perform
from tui.viewmodel.words import duration
from tui.wish import SESSION, Left, Wish

if TYPE_CHECKING:
    from tui.app import FloodmarkApp
    from tui.frameclock import FrameClock

END = "end of the recording"


def open_recorded(text: str, *, glyphs: str | None, speed: float | None, theme: str | None = None) -> int:
    """Open the session at a path or of an id; returns the exit code of the program.

    0: looked at; 1: it came out differently, told on stderr; 2: bad input; 70: something broke inside.
    """
    return perform(Wish(SESSION, text), Asked(None, glyphs, theme, speed))


def look_at(wish: Wish, asked: Asked, back: Wish | None) -> Left:
    """Open the recording that is wished for; ``back`` leads to what was before."""
    try:
        reopened = Reopened(read_session(find_session(wish.text, asked.parent)))
        chosen = check(asked.glyphs, asked.theme, asked.speed)
    except PlaybookError as error:
        complain_of(error)
        return Left(BAD_INPUT)
    except (UnusableError, ModelError, SessionError) as error:
        complain(str(error))
        return Left(BAD_INPUT)
    app = make_app(reopened, chosen)
    app.back, app.sessions = back, asked.parent
    app.run()
    here = Wish(SESSION, str(reopened.recorded.path))
    if app.failure is not None:
        return Left(keep(app.failure))
    if reopened.difference:
        complain(reopened.difference)
        return Left(FAILED, app.wish, here)
    say(people(), parting(reopened))
    return Left(app.return_code or 0, app.wish, here)


def make_app(reopened: Reopened, screen: ScreenChoice, *, clock: "FrameClock | None" = None) -> "FloodmarkApp":
    """The app over a recording, in real time unless there is another clock."""
    from tui.app import FloodmarkApp  # noqa: PLC0415 - bad input is told without waiting for Textual
    from tui.bridge import SimBridge  # noqa: PLC0415
    from tui.frameclock import WallClock  # noqa: PLC0415

    bridge = SimBridge(
        reopened, clock or WallClock(), speed=screen.speed, frame_s=frame_s(), at_end=lambda: words_at_end(reopened)
    )
    bridge.stops_at_loss = screen.settings.autopause
    recorded = reopened.recorded
    return FloodmarkApp(
        bridge, playbook=recorded.start.playbook, seed=recorded.start.seed, glyphs=screen.glyphs,
        theme=screen.theme, settings=screen.settings, keep_errors=True, notes=(*recorded.notes, *screen.notes),
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
