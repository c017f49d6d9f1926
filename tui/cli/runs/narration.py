"""Runs one session and prints what happens: at full speed, at the pace of a clock, or as a dry run.

Nothing here changes what happens: the session is only advanced in smaller pieces, and its digest does not know of them.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from cluster_model.protocol.events import DATA_KINDS, Event, describe
from cluster_model.spec import INTERNAL
from faults.declarations import Action
from playbooks.engine.dry_run import Foretold, foretell
from playbooks.engine.expectations import seconds
from playbooks.engine.session import SLICE_US, Session
from playbooks.engine.session_runner import Next, coming
from playbooks.results.result import SessionResult
from tui.cli.runs.dry_run import INDENT, foretold_lines
from tui.cli.runs.pace import Pace
from tui.output.console import people, say

MARKS_S: Final = (30.0, 10.0, 3.0)
"""Seconds of the wall before something comes at which it is told again."""
TOLD: Final = frozenset(
    {
        *("step_taken", "expectation_checked", "fault_healed", "fault_skipped", "guard_acted", "admin_answered"),
        *("leader_elected", "partition_offline", "controller_changed", "broker_fenced", "invariant_violated"),
        "liveness_overdue",
    }
)
"""Kinds that are told where not every notable event is asked for; of Kafka's own topics none."""
STYLES: Final = {"expected": "cyan", "next": "bold", "fault_healed": "green", "step_taken": "bold yellow"}


@dataclass(slots=True)
class Narrating:
    """How a session is told: at what pace, to whom, and how much."""

    pace: Pace
    console: Console
    """Where lines go; the line that moves is progress, and goes to stderr."""
    everything: bool = False
    """Every notable event, and no status line."""
    stopped: bool = field(default=False, init=False)
    """Whether somebody asked it to stop."""
    _foretold: list[Foretold] = field(default_factory=list, init=False)
    _marked: tuple[Next | None, float] = field(default=(None, 0.0), init=False)
    """What was told to come last, and the least seconds left at which it was."""
    _live: Live | None = field(default=None, init=False)

    def run(self, session: Session) -> SessionResult:
        """Play a session to its end, or until somebody stops it; either way it is sealed.

        Raises:
            KeyboardInterrupt: somebody asked twice.
            RecordingError: the session cannot be written.
        """
        session.board.before = self._expecter(session)
        with self._interrupts(), self._status():
            self.pace.begin(session.cluster.now_us)
            self._show(session)
            while not self.stopped and session.advance(self.pace.next_us(session.cluster.now_us)):
                self._show(session)
                self._wait(session)
            self._show(session)
        if self.stopped:
            rest = (
                "the rest runs untold"
                if session.phase == "settling"
                else "faults heal, and the session settles at once"
            )
            self._say(seconds(session.cluster.now_us), f"stopped: {rest}")
            session.settle()
        while session.advance(session.cluster.now_us + SLICE_US):
            self._tell(session.drain())
        result = session.finish()
        if self.everything:  # else the verdict, which follows, is all that is left to tell
            self._tell(session.drain())
        return result

    def stop(self) -> None:
        """Ask it to stop at the next frame.

        Raises:
            KeyboardInterrupt: it was asked before.
        """
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True

    def _wait(self, session: Session) -> None:
        try:
            self.pace.wait(session.cluster.now_us)
        except KeyboardInterrupt:  # where signals are not ours to handle
            self.stop()

    def _expecter(self, session: Session) -> Callable[[Action], None]:
        def before(action: Action) -> None:
            step = session.next_step
            if step is not None:
                self._foretold.append(foretell(session.board, step, action))

        return before

    # -- what is said -----------------------------------------------------------------------------------------------

    def _show(self, session: Session) -> None:
        self._tell(session.drain())
        following, now = coming(session), session.cluster.now_us
        if following is None:
            return
        if self._live is not None:
            told = f"{seconds(now)}  next: {following.told(now)}{_trouble(session)}"
            self._live.update(Text(told, no_wrap=True, overflow="ellipsis"), refresh=True)
        if self._is_due(following, now):
            self._say(seconds(now), f"next: {following.told(now)}", STYLES["next"])

    def _is_due(self, following: Next, now_us: int) -> bool:
        """Whether it is time to say what comes: when that is another thing, and as it draws near."""
        left = self.pace.wall_s(following.at_us - now_us) if following.at_us >= 0 else float("inf")
        known, least = self._marked
        passed = [mark for mark in MARKS_S if left <= mark < least]
        if known == following and (not passed or self._live is not None):
            return False
        self._marked = (following, left)
        return True

    def _tell(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.kind in DATA_KINDS or not (self.everything or _matters(event)):
                continue
            text, style = _words(event)
            self._say(seconds(event.values()[0]), text, style)
            self._tell_expected(event)

    def _tell_expected(self, event: Event) -> None:
        """What the fault of a step was expected to do, right behind the step."""
        if event.kind != "step_taken" or not self._foretold:
            return
        if self._foretold[0].name == event.values()[1]:
            for line in foretold_lines(self._foretold.pop(0))[1:]:
                self._say("", line.removeprefix(INDENT), STYLES["expected"])

    def _say(self, at: str, text: str, style: str = "") -> None:
        if self._live is not None:
            self._live.update(Text(), refresh=True)  # both may be on one terminal
        say(self.console, f"{at:>12}  {text}", style)
        self.console.file.flush()

    # -- the terminal -----------------------------------------------------------------------------------------------

    @contextmanager
    def _status(self) -> Iterator[None]:
        """A line that moves below the others, where something can move."""
        moving = people()
        if self.everything or not moving.is_terminal:
            yield
            return
        with Live(
            console=moving, transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        ) as self._live:
            yield
        self._live = None

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Ctrl-C only asks: a session that is stopped in the middle of an event could not be sealed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def ask(number: int, frame: FrameType | None) -> None:
            del number, frame
            self.stop()

        before = signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _matters(event: Event) -> bool:
    partition = getattr(event, "partition", "")
    return event.kind in TOLD and partition.rpartition("-")[0] not in INTERNAL


def _words(event: Event) -> tuple[str, str]:
    """An event on one line, and how it looks."""
    values = dict(zip(event.fields(), event.values(), strict=True))
    if event.kind == "step_taken":
        refused = f" ({values['error']})" if values["error"] else ""
        by = "" if values["by"] == "playbook" else f"{values['by']}  "
        return f"{by}{values['detail']}{refused}", STYLES["step_taken"]
    if event.kind == "expectation_checked":
        detail = f"  ({values['detail']})" if values["detail"] else ""
        word, style = ("ok", "green") if values["ok"] else ("FAILED", "bold red")
        return f"{word}  {values['rule']}{detail}", style
    if event.kind == "fault_healed":
        return f"healed  {values['fault']} on {values['target']}", STYLES["fault_healed"]
    return describe(event), ""


def _trouble(session: Session) -> str:
    """What is broken now, for the status line."""
    active = session.board.active()
    return f"  [{', '.join(fault.name for fault in active[:3])}{' ...' if len(active) > 3 else ''}]" if active else ""
