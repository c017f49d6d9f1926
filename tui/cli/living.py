"""``floodmark live``: a live session without a screen, told line by line, with commands typed on stdin.

For a screen reader, a log, or another program: one line an event, nothing that moves, nothing drawn. The commands are
those of the screen's line of commands, and what they do is recorded as there.
"""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, TextIO

from rich.console import Console

from cluster_model.errors import ModelError
from faults.fault import FaultError
from playbooks.disk import Fsync
from playbooks.layout import sessions_root
from playbooks.loader import PlaybookError
from playbooks.problems import listed, shown
from playbooks.reading.live import facts_of
from playbooks.recorder import Recorder, RecordingError
from playbooks.session import Session
from tui.cli.chosen import choose
from tui.cli.console import BAD_INPUT, INTERRUPTED, OK, answers, complain, complain_of, say
from tui.cli.crash import keep
from tui.cli.pacing import FASTEST, SLOWEST, Pace
from tui.farewell import farewell, seal
from tui.typed.language import Act, Go, Place, Play, Press, Speed, Typed, TypedError, facts_now, read_line
from tui.viewmodel.feed import Feed
from tui.viewmodel.words import clock, duration
from tui.wish import SANDBOX

FARTHEST_US: Final = 3_600_000_000
"""How far ahead ``go`` goes."""
WAIT_S: Final = 0.1
"""Between two looks at stdin while time stands still."""
HERE: Final = ("help", "status", "pause", "play", "go", "speed", "heal", "quit")
HELP: Final = (
    "a fault with its target: crash b2, gc_pause leader(orders-0) 8s, lag b1 latency=300ms; all: floodmark faults",
    "an operation: elect_leaders orders-0; heal, heal 2 or heal all",
    "pause, play, go 30s (on to that time), speed 10, status, quit",
)

Lines = SimpleQueue[str | None]
"""Lines as they are typed; None: there are no more."""


def open_plain(playbook: str | None, *, seed: int | None, out: Path | None, speed: float, fsync: Fsync) -> int:
    """Tell a live session until stdin ends or ``quit``; 0 sealed, 2 bad input, 70 internal, 130 interrupted."""
    if not SLOWEST <= speed <= FASTEST:
        complain(f"--speed: found {speed:g}, allowed are {SLOWEST:g} to {FASTEST:g} virtual seconds per second")
        return BAD_INPUT
    try:
        chosen = choose(playbook or SANDBOX, seed, {})
        if chosen.playbook.spec.manual:
            complain(f"{chosen.playbook.path}: a manual playbook stands still; play it with: floodmark run")
            return BAD_INPUT
        recorder = Recorder(out or sessions_root(), live=True, fsync=fsync)
        session = Session.start(chosen.playbook, seed=chosen.seed, recorder=recorder, open_ended=True)
    except PlaybookError as error:
        complain_of(error)
        return BAD_INPUT
    except (ModelError, RecordingError) as error:
        complain(str(error))
        return BAD_INPUT
    try:
        interrupted = Living(Pace(speed), answers(), lines_of(sys.stdin)).run(session)
        print(farewell(seal(session)))
    except KeyboardInterrupt:
        recorder.close()
        complain(f"sealing interrupted; the events so far can be read in {recorder.path}")
        return INTERRUPTED
    except RecordingError as error:
        complain(str(error))
        return BAD_INPUT
    except Exception as error:
        return keep(error, recorder)
    return INTERRUPTED if interrupted else OK


def lines_of(stream: TextIO) -> Lines:
    """The lines of a stream as they come, read beside everything else."""
    lines: Lines = SimpleQueue()

    def read() -> None:
        try:
            for line in stream:
                lines.put(line)
        except (OSError, ValueError):  # closed while it is read, or no text
            pass
        lines.put(None)

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return lines


@dataclass(slots=True)
class Living:
    """Tells a session, and does what is typed."""

    pace: Pace
    console: Console
    lines: Lines
    paused: bool = field(default=False, init=False)
    left: bool = field(default=False, init=False)
    """Whether somebody wants to quit."""

    def run(self, session: Session) -> bool:
        """Go on until somebody quits; whether that was by an interrupt."""
        self._say(session, f"{session.playbook.name}, seed {session.cluster.seed}; help tells what can be typed")
        self.pace.begin(session.cluster.now_us)
        try:
            while not self.left:
                self._listen(session)
                if not self.paused and not self.left:
                    session.advance(self.pace.next_us(session.cluster.now_us))
                    self._tell(session)
                    self.pace.wait(session.cluster.now_us)
        except KeyboardInterrupt:
            self._say(session, "stopped")
            return True
        return False

    # -- what is typed ----------------------------------------------------------------------------------------------

    def _listen(self, session: Session) -> None:
        """Do what was typed meanwhile; while time stands still, wait for it."""
        while not self.left:
            try:
                line = self.lines.get(timeout=WAIT_S) if self.paused else self.lines.get_nowait()
            except Empty:
                return
            if line is None:
                self.left = True
            elif line.strip():
                self._hear(session, line.strip())

    def _hear(self, session: Session, line: str) -> None:
        ways: dict[str, Callable[[Session], None]] = {"status": self._status, "help": self._help}
        way = ways.get(line.removeprefix(":").strip())
        if way is not None:
            way(session)
            return
        try:
            self._do(session, read_line(line, self._place(session)), line)
        except (TypedError, FaultError) as error:
            self._say(session, f"refused: {error}")

    def _do(self, session: Session, typed: Typed, line: str) -> None:
        if isinstance(typed, Act):
            for action in typed.actions:
                self._say(session, f"done: {session.act(action)}")
            self._tell(session)
        elif isinstance(typed, Speed):
            self.pace.speed = typed.speed
            self.pace.begin(session.cluster.now_us)
            self._say(session, f"speed {typed.speed:g}")
        elif isinstance(typed, Play) or (isinstance(typed, Press) and typed.id == "pause" and self.paused):
            self._pause(session, paused=False)
        elif isinstance(typed, Go):
            self._go(session, typed.at_us)
        elif isinstance(typed, Press):
            self._press(session, typed.id, line)

    def _press(self, session: Session, name: str, line: str) -> None:
        if name == "quit":
            self.left = True
        elif name == "pause":
            self._pause(session, paused=True)
        elif name == "heal":
            self._hear(session, "heal all")
        else:
            raise TypedError(f"found {shown(line)}, which is for the screen; allowed here are {listed(HERE, 'and')}")

    def _pause(self, session: Session, *, paused: bool) -> None:
        self.paused = paused
        self.pace.begin(session.cluster.now_us)
        self._say(session, "paused" if paused else "time goes on")

    def _go(self, session: Session, at_us: int) -> None:
        """On to a time, as fast as can be."""
        while session.cluster.now_us < at_us and session.phase == "steps":
            if not session.advance(min(at_us, session.cluster.now_us + 1_000_000)):
                break
            self._tell(session)
        self.pace.begin(session.cluster.now_us)
        self._say(session, "here")

    def _place(self, session: Session) -> Place:
        view, now = session.cluster.view(), session.cluster.now_us
        down = [f"broker({each.id})" for each in view.brokers if each.state == "down"]
        down += [f"client({each.name})" for each in view.clients if each.state == "down"]
        facts = facts_now(facts_of(session.cluster.spec), view)
        clients = tuple(each.name for each in view.clients)
        return Place(facts, clients, lambda target: target in down, "", now, now + FARTHEST_US)

    # -- what is told -----------------------------------------------------------------------------------------------

    def _tell(self, session: Session) -> None:
        """What is rare, in the words of the screen's list of events: equal things of one moment are one line."""
        fresh = Feed()
        fresh.take(session.drain())
        if fresh.notable:
            for line in fresh.lines(1_000):
                self._line(line.at, line.text)

    def _status(self, session: Session) -> None:
        view = session.cluster.view()
        states = [f"broker {each.id} {each.state}" for each in view.brokers]
        everything = (*view.partitions, *view.internal)
        under = sum(each.under_replicated for each in everything)
        offline = sum(each.offline for each in everything)
        self._say(session, f"{', '.join(states)}; under-replicated {under}, offline {offline}")
        ledger = view.ledger
        self._say(session, f"acknowledged {ledger.acked}, missing now {ledger.missing}, lost {ledger.acked_lost}")
        for each in session.board.active():
            left = f", {duration(each.until_us - view.now_us)} left" if each.until_us >= 0 else ""
            self._say(session, f"fault {each.id}: {each.name} on {each.target}{left}")

    def _help(self, session: Session) -> None:
        for line in HELP:
            self._say(session, line)

    def _say(self, session: Session, text: str) -> None:
        self._line(clock(session.cluster.now_us), text)

    def _line(self, at: str, text: str) -> None:
        say(self.console, f"{at}  {text}")
        self.console.file.flush()
