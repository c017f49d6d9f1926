"""``floodmark live``: a live session printed line by line without a TUI, with commands read from stdin.

For a screen reader, a log, or another program: one line per event, no cursor movement, no drawing. The commands are
those of the TUI's command line and are recorded in the same way; further words travel in time and switch branches.
"""

import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, TextIO

from rich.console import Console

from cluster_model.cluster import Cluster
from cluster_model.observation import ClusterView
from cluster_model.protocol.events import Event
from cluster_model.util.quantities import clock, compact_duration, listed
from faults.declarations import Action, FaultError
from faults.injector import FaultInjector
from playbooks.errors import BAD_INPUT, INTERRUPTED, OK, nearest, shown
from playbooks.recording.recorder import RecordingError
from playbooks.session_format.filesystem import Fsync
from playbooks.session_format.session_files import sessions_root
from playbooks.timetravel.branches import Branch, Branches
from playbooks.timetravel.history_view import HistoryView
from tui.cli.runs.pace import FASTEST, SLOWEST, Pace
from tui.output.command_end import report_internal_error
from tui.output.console import print_error, print_line, stdout_console
from tui.output.session_end import close_unsealed, seal_all
from tui.session.destination import SANDBOX
from tui.session.playbook_choice import begin_live
from tui.session.typed_commands import (
    ActionCommand,
    CommandContext,
    JumpCommand,
    KeyCommand,
    PlayCommand,
    Speed,
    Typed,
    TypedError,
    place_in,
    read_line,
)
from tui.viewmodel.timeline.event_feed import Feed

# Common to commands that print a session line by line.


class LinePrinter:
    """Prints lines, each with its virtual time."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def line(self, at: str, text: str) -> None:
        """Print one line with the time ``at``."""
        print_line(self._console, f"{at}  {text}")
        self._console.file.flush()

    def say(self, cluster: Cluster, *texts: str) -> None:
        """Print lines with the current virtual time."""
        for text in texts:
            self.line(clock(cluster.now_us), text)

    def events(self, events: Iterable[Event]) -> None:
        """Print notable events as the TUI's event feed shows them: equal events of one time are one line."""
        fresh = Feed()
        fresh.take(events)
        if fresh.notable:
            for line in fresh.lines(1_000):
                self.line(line.at, line.text)


def status_lines(view: ClusterView, board: FaultInjector) -> Iterable[str]:
    """Yield the counts of records so far, and the active faults."""
    ledger = view.ledger
    yield f"acknowledged {ledger.acked}, missing now {ledger.missing}, lost {ledger.acked_lost}"
    for each in board.active():
        left = f", {compact_duration(each.until_us - view.now_us)} left" if each.until_us >= 0 else ""
        yield f"fault {each.id}: {each.name} on {each.target}{left}"


# Time travel in a session that is printed line by line: going back, undoing, switching branches.
#
# The TUI uses keys for this, here words are typed. An action in the past starts a branch; everything else waits until
# its replay is complete.


EVENTS: Final = 20_000
"""Kernel events between two checks of a branch's replay."""
TOLD_EVERY: Final = 20
"""Percent of a branch's replay between two progress lines."""
PAST: Final = "in the past, paused: play replays what happened, present returns, any action starts a branch"
PRESENT: Final = "at the present"

Say = Callable[[str], None]


class TimeTravel:
    """Time travel and branches of a session; ``say`` prints one line."""

    def __init__(self, branches: Branches, say: Say) -> None:
        self.branches = branches
        self._say = say
        self.ways: dict[str, Callable[[], None]] = {
            "present": self.to_present,
            "beginning": lambda: self.to_time(self.session.timeline.first_us),
            "back": self._back,
            "step": self._step,
            "undo": self._undo,
            "redo": self._redo,
            "what_if": self._fork,
            "fork": self._fork,
            "branches": self._list,
        }
        """Word → what it does."""

    @property
    def session(self) -> HistoryView:
        """The current branch, at the time that is shown."""
        return self.branches.current.session

    def act(self, action: Action) -> str:
        """Execute an action, in the past on a new branch, and return its result; raises what the session raises."""
        if not self.session.in_past:
            return f"done: {self.session.act(action)}"
        self.branches.fork(action)
        return self._grown()

    # -- time -------------------------------------------------------------------------------------------------------

    def to_time(self, at_us: int) -> None:
        """Go back to a time in the past."""
        self.session.to_time(at_us)
        self.session.drain()
        self._here()

    def to_present(self) -> None:
        """Return to the present."""
        self.session.to_present()
        self._here()

    def _back(self) -> None:
        moved = self.session.one_event_back()
        self.session.drain()
        self._here() if moved else self._say("at the beginning: no earlier event")

    def _step(self) -> None:
        session = self.session
        due = session.cluster.next_event_us()
        if session.in_past:
            session.one_event_on()
        elif due < 0 or not session.advance(due, 1):
            self._say("no event is pending")

    def _here(self) -> None:
        past = f"present is {clock(self.session.present_us)}; {PAST}" if self.session.in_past else PRESENT
        self._say(past)

    # -- branches ---------------------------------------------------------------------------------------------------

    def change_to(self, letter: str) -> None:
        """Switch to another branch, at its present.

        Raises:
            TypedError: there is no such branch.
        """
        by_letter = {branch.letter.lower(): branch for branch in self.branches}
        if letter.lower() not in by_letter:
            names = [branch.letter for branch in self.branches]
            raise TypedError(
                f"branch: found {shown(letter) if letter else 'nothing'}; known branches: {listed(names, 'and')}"
                f"{nearest(letter, names)}"
            )
        self.branches.switch(by_letter[letter.lower()])
        self._changed_over()

    def _undo(self) -> None:
        if self.branches.undo() is None:
            self._changed_over()
        else:
            self._say(self._grown())

    def _redo(self) -> None:
        self.branches.redo()
        self._changed_over()

    def _fork(self) -> None:
        self.branches.fork()
        self._say(self._grown())

    def _list(self) -> None:
        for branch in self.branches:
            self._say(_line(branch, here=branch is self.branches.current))

    def _changed_over(self) -> None:
        self._say(f"branch {self.branches.current.letter}, paused")

    def _grown(self) -> str:
        """Wait for the replay of a new branch, and switch to it; return the text about it."""
        growing = self.branches.growing
        assert growing is not None
        printed = 0
        try:
            while not growing.advance(EVENTS):
                growing.branch.session.drain()
                if growing.percent >= printed + TOLD_EVERY:
                    printed = growing.percent
                    self._say(f"replaying for branch {growing.branch.letter}, {printed} %")
            growing.branch.session.drain()  # these events are printed already, in the parent branch
            return growing.words(self.branches.adopt())
        except BaseException:
            self.branches.discard()
            raise


def _line(branch: Branch, *, here: bool) -> str:
    """Return a branch as a line: its fork, its current time, its record counts."""
    view = branch.live.cluster.view()
    left = f", forked from {branch.parent.letter} at {clock(branch.left_us)}: {branch.began}" if branch.parent else ""
    ledger = view.ledger
    return (
        f"branch {branch.letter}{' (current)' if here else ''}{left}; now at {clock(view.now_us)},"
        f" lost {ledger.acked_lost}, missing {ledger.missing}, failed {ledger.failed}, unknown {ledger.unknown},"
        f" violations {view.violations}"
    )


FARTHEST_US: Final = 3_600_000_000
"""Greatest virtual time span that ``go`` advances."""
WAIT_S: Final = 0.1
"""Timeout of reading stdin while the session is paused."""
HERE: Final = (
    *("help", "status", "pause", "play", "go", "speed", "heal", "take_over", "quit"),
    *("step", "back", "beginning", "present", "undo", "redo", "fork", "branches", "branch"),
)
HELP: Final = (
    "a fault with its target: crash b2, gc_pause leader(orders-0) 8s, lag b1 latency=300ms; all: floodmark faults",
    "an operation: elect_leaders orders-0; heal, heal 2 or heal all",
    "pause, play, go 30s (to that time, forward or back), speed 10, take_over (skip the remaining steps), quit",
    "back and step (one event), beginning, present; undo, redo, fork (a branch from here), branches, branch B; status",
)

Lines = SimpleQueue[str | None]
"""Queue of input lines; None is the end of the input."""


def open_plain(playbook: str | None, *, seed: int | None, out: Path | None, speed: float, fsync: Fsync) -> int:
    """Print a live session until stdin ends or ``quit``; return 0 sealed, 2 bad input, 70 internal, 130 interrupted."""
    if not SLOWEST <= speed <= FASTEST:
        print_error(f"--speed: found {speed:g}, expected {SLOWEST:g} to {FASTEST:g} virtual seconds per second")
        return BAD_INPUT
    session = begin_live(playbook or SANDBOX, seed=seed, parent=out or sessions_root(), fsync=fsync)
    if session is None:
        return BAD_INPUT
    branches = Branches(session)
    try:
        interrupted = LiveSession(Pace(speed), LinePrinter(stdout_console()), lines_of(sys.stdin)).run(branches)
        sealed = seal_all(branches)
    except RecordingError as error:
        for branch in branches:
            close_unsealed(branch)
        print_error(str(error))
        return BAD_INPUT
    except Exception as error:
        return report_internal_error(error, branches.current.recorder)
    return sealed or (INTERRUPTED if interrupted else OK)


def lines_of(stream: TextIO) -> Lines:
    """Return a queue of the lines of a stream, filled by a thread."""
    lines: Lines = SimpleQueue()

    def read() -> None:
        try:
            for line in stream:
                lines.put(line)
        except (OSError, ValueError):  # closed while it is read, or not text
            pass
        lines.put(None)

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return lines


@dataclass(slots=True)
class LiveSession:
    """Prints a live session, and executes typed commands."""

    pace: Pace
    printer: LinePrinter
    lines: Lines
    paused: bool = field(default=False, init=False)
    left: bool = field(default=False, init=False)
    """Whether to quit."""
    travel: TimeTravel = field(init=False)

    def run(self, branches: Branches) -> bool:
        """Run until the user quits; return whether that was by an interrupt."""
        self.travel = TimeTravel(branches, self._say)
        live = branches.current.live
        self._say(f"{live.playbook.name}, seed {live.cluster.seed}; help lists the commands")
        self._begin()
        try:
            while not self.left:
                self._listen()
                if not self.paused and not self.left:
                    self._play()
        except KeyboardInterrupt:
            self._say("stopped")
            return True
        return False

    @property
    def _session(self) -> HistoryView:
        """The current branch's session."""
        return self.travel.session

    def _play(self) -> None:
        session = self._session
        was_past = session.in_past
        session.advance(self.pace.next_us(session.cluster.now_us))
        self._tell()
        if was_past and not session.in_past:
            self._say(PRESENT)
        self.pace.wait(session.cluster.now_us)

    def _begin(self) -> None:
        """Restart the pace at the virtual time that is shown."""
        self.pace.begin(self._session.cluster.now_us)

    # -- what is typed ----------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Execute the lines typed so far; while paused, wait for lines."""
        while not self.left:
            try:
                line = self.lines.get(timeout=WAIT_S) if self.paused else self.lines.get_nowait()
            except Empty:
                return
            if line is None:
                self.left = True
            elif line.strip():
                self._receive(line.strip())

    def _receive(self, line: str) -> None:
        word = line.removeprefix(":").strip()
        verb, _blank, argument = word.partition(" ")
        own: dict[str, Callable[[], None]] = {"status": self._status, "help": self._help}
        try:
            if word in own:
                own[word]()
            elif word in self.travel.ways:
                self._travel(self.travel.ways[word])
            elif verb == "branch":
                self._travel(lambda: self.travel.change_to(argument.strip()))
            else:
                self._do(read_line(line, self._context()), line)
        except (TypedError, FaultError) as error:
            self._say(f"refused: {error}")

    def _do(self, typed: Typed, line: str) -> None:
        if isinstance(typed, ActionCommand):
            for action in typed.actions:
                self._travel(partial(self._act, action), pause=self._session.in_past)
        elif isinstance(typed, Speed):
            self.pace.speed = typed.speed
            self._begin()
            self._say(f"speed {typed.speed:g}")
        elif isinstance(typed, PlayCommand) or (isinstance(typed, KeyCommand) and typed.id == "pause" and self.paused):
            self._pause(paused=False)
        elif isinstance(typed, JumpCommand):
            self._go(typed.at_us)
        else:
            self._press(typed.id if isinstance(typed, KeyCommand) else "", line)

    def _act(self, action: Action) -> None:
        self._say(self.travel.act(action))

    def _press(self, name: str, line: str) -> None:
        if name == "quit":
            self.left = True
        elif name == "pause":
            self._pause(paused=True)
        elif name == "heal":
            self._receive("heal all")
        elif name == "take_over":
            self._say(self._session.take_over())
            self._tell()
        else:
            raise TypedError(f"found {shown(line)}, which only the TUI has; allowed here are {listed(HERE, 'and')}")

    def _travel(self, move: Callable[[], None], *, pause: bool = True) -> None:
        """Go to another time or branch, paused, and print the events there."""
        self.paused = self.paused or pause
        move()
        self._tell()
        self._begin()

    def _pause(self, *, paused: bool) -> None:
        self.paused = paused
        self._begin()
        self._say("paused" if paused else "running")

    def _go(self, at_us: int) -> None:
        """Advance to a time as fast as possible, or go back to it."""
        if at_us < self._session.present_us:
            self._travel(lambda: self.travel.to_time(at_us))
            return
        session = self._session
        session.to_present()
        while session.cluster.now_us < at_us and session.viewed_session.phase == "steps":
            if not session.advance(min(at_us, session.cluster.now_us + 1_000_000)):
                break
            self._tell()
        self._begin()
        self._say("here")

    def _context(self) -> CommandContext:
        session = self._session
        return place_in(session, session.cluster.view(), ahead_us=FARTHEST_US)

    # -- output -----------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        """Print the events since the last call."""
        self.printer.events(self._session.drain())

    def _status(self) -> None:
        session, branches = self._session, self.travel.branches
        view = session.cluster.view()
        if session.in_past or len(branches) > 1:
            when = f"in the past, present is {clock(session.present_us)}" if session.in_past else "at the present"
            self._say(f"branch {branches.current.letter}, {when}")
        states = [f"broker {each.id} {each.state}" for each in view.brokers]
        everything = (*view.partitions, *view.internal)
        under = sum(each.under_replicated for each in everything)
        offline = sum(each.offline for each in everything)
        self._say(f"{', '.join(states)}; under-replicated {under}, offline {offline}")
        self._say(*status_lines(view, session.board))

    def _help(self) -> None:
        self._say(*HELP)

    def _say(self, *texts: str) -> None:
        self.printer.say(self._session.cluster, *texts)
