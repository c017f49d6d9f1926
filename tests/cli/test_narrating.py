"""``floodmark run --speed``: a session at the pace of a clock, counted down, stopped cleanly, and the same as ever."""

import io
import json
import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.replay import replay
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.session_format import session_files
from tests.cli.running import Typed
from tests.support.playbooks import CRASH, MANUAL, timed
from tui.cli.runs.narration import LivePrinter
from tui.cli.runs.pace import FRAME_S, Pace

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]


@dataclass
class Wall:
    """A clock that goes on when somebody sleeps, and not otherwise."""

    now: float = 100.0
    slept: list[float] = field(default_factory=list)
    on_sleep: Callable[[], None] = lambda: None
    work: float = 0.0
    """What each look at the clock costs."""

    def clock(self) -> float:
        self.now += self.work
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        self.on_sleep()


def told(session: Session, speed: float, wall: Wall, *, everything: bool = False) -> tuple[LivePrinter, list[str]]:
    out = io.StringIO()
    narrating = LivePrinter(
        Pace(speed, wall.clock, wall.sleep), Console(file=out, soft_wrap=True, highlight=False), everything
    )
    narrating.run(session)
    return narrating, out.getvalue().splitlines()


@pytest.mark.parametrize("speed", [0.5, 1.0, 7.0, 1000.0])
def test_it_keeps_pace_and_changes_nothing(speed: float) -> None:
    playbook = loads(CRASH, "crash.yaml")
    free = Session.start(playbook).finish()
    wall = Wall()
    session = Session.start(playbook)
    told(session, speed, wall)
    result = session.finish()
    assert result.digest == free.digest
    assert result.expectations == free.expectations
    # The last piece ends the session, and is not waited for.
    assert 0 <= result.virtual_us / 1e6 / speed - sum(wall.slept) <= FRAME_S + 1e-6
    assert max(wall.slept, default=0) <= FRAME_S + 1e-6


def test_a_model_that_is_late_does_not_race_afterwards() -> None:
    slow = Wall(work=1.0)
    session = Session.start(timed(settle="5s"))
    told(session, 1.0, slow)
    assert slow.slept == []
    pace = Pace(1.0, (wall := Wall()).clock, wall.sleep)
    pace.begin()
    wall.now += 60.0
    pace.wait(1_000_000)
    pace.wait(1_100_000)
    assert wall.slept == [pytest.approx(0.1)]


def test_it_counts_down_and_reports_what_a_fault_was_expected_to_do(snapshot: SnapshotAssertion) -> None:
    _, lines = told(Session.start(loads(CRASH, "crash.yaml")), 1.0, Wall())
    assert not any("__consumer_offsets" in line and "expected" not in line and "leader " not in line for line in lines
                   if line[12:14] == "  " and line[:12].strip())  # fmt: skip
    assert lines == snapshot


def test_a_long_wait_is_reported_again_as_it_ends() -> None:
    session = Session.start(timed("- at: 20s\n  heal: all\n"))
    _, lines = told(session, 1.0, Wall())
    assert [line.split()[-2:] for line in lines if "next: step 1" in line] == [
        ["20.0", "s"],
        ["10.0", "s"],
        ["3.0", "s"],
    ]
    _, lines = told(Session.start(timed("- at: 20s\n  heal: all\n")), 10.0, Wall())
    assert [line.split()[-2:] for line in lines if "next: step 1" in line] == [["20.0", "s"]]


def test_an_expectation_is_reported_when_it_turns_and_the_cut_is_counted_down_to(snapshot: SnapshotAssertion) -> None:
    playbook = timed("- at: 1s\n  inject: crash\n  target: leader(orders-0)\n- at: 15s\n  heal: all\n",
                     "- always: offline_partitions() == 0\n- always: leader(orders-0) == 1\n")  # fmt: skip
    _, failing = told(Session.start(playbook, until_us=18_000_000), 1.0, Wall())
    session = Session.start(playbook, until_us=4_000_000)
    _, cut = told(session, 1.0, Wall())
    turned = [line for line in failing if line[14:].startswith(("FAILED", "step"))]
    assert {"turned": turned, "before the cut": cut[-1]} == snapshot
    assert session.finish().virtual_us == 4_000_000


def interrupting(at: int) -> Wall:
    wall = Wall()

    def interrupt() -> None:
        if len(wall.slept) == at:
            os.kill(os.getpid(), signal.SIGINT)

    wall.on_sleep = interrupt
    return wall


@pytest.mark.parametrize("at", [5, 35, 60])
def test_stopping_it_seals_a_session_that_replays(tmp_path: Path, at: int) -> None:
    before = signal.getsignal(signal.SIGINT)
    recorder = Recorder(tmp_path)
    session = Session.start(loads(CRASH, "crash.yaml"), recorder=recorder)
    narrating, lines = told(session, 1.0, interrupting(at))
    result = session.finish()
    assert narrating.stopped
    assert sum(line[14:].startswith("stopped: ") for line in lines) == 1
    recorded = read_session(recorder.path)
    assert recorded.manifest is not None
    assert replay(recorded).digest == result.digest
    assert result.verdict == "inconclusive" or session.steps_taken == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_a_sleep_that_is_interrupted_only_asks_and_twice_is_enough() -> None:
    wall = Wall()
    wall.on_sleep = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    session = Session.start(loads(CRASH, "crash.yaml"))
    narrating, _ = told(session, 1.0, wall)
    assert len(wall.slept) == 1
    with pytest.raises(KeyboardInterrupt):
        narrating.stop()


def test_the_status_line_moves_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:  # fmt: skip
    moving, lines = io.StringIO(), io.StringIO()
    stderr = Console(file=moving, force_terminal=True, width=80, soft_wrap=True, highlight=False)
    monkeypatch.setattr("tui.cli.runs.narration.stderr_console", lambda: stderr)
    wall = Wall()
    narrating = LivePrinter(Pace(1.0, wall.clock, wall.sleep), Console(file=lines, soft_wrap=True, highlight=False))
    narrating.run(Session.start(loads(CRASH, "crash.yaml")))
    drawn = moving.getvalue().split("\r\x1b[2K")
    assert [status for status in drawn if status.startswith(("0.900s  ", "1.000s  "))] == snapshot
    assert "\x1b" not in lines.getvalue()
    _, lines = told(Session.start(loads(CRASH, "crash.yaml")), 1.0, Wall())
    assert sum("next: step 1" in line for line in lines) == 1


def kinds_of(out: str) -> set[str]:
    """What begins the text of lines with a time in front."""
    return {found[1] for line in out.splitlines() if (found := re.match(r" *\d+\.\d+s  (\w+)", line))}


def test_typed(typed: Type, here: Path) -> None:
    (here / "crash.yaml").write_text(CRASH)
    plain = typed("run", "crash.yaml", "--plain", "--speed", 1000)
    free = typed("run", "crash.yaml", "--plain")
    assert plain.code == free.code == 0
    sessions = session_files.sessions_under(here / "sessions")
    assert len({read_session(path).manifest.digest for path in sessions}) == 1  # type: ignore[union-attr]
    kinds = kinds_of(free.out) - {"step_taken", "expectation_checked", "fault_healed"}
    assert "leader_elected" in kinds
    assert kinds <= kinds_of(plain.out)
    assert "next: step 1" in plain.out
    assert "next: step 1" in typed("run", "crash.yaml", "--speed", 1000).out


def test_refused(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    (here / "crash.yaml").write_text(CRASH)
    (here / "hand.yaml").write_text(MANUAL)
    told = {}
    for words in (
        "crash.yaml --speed 0",
        "crash.yaml --speed nan",
        "crash.yaml --speed 1 --dry-run",
        "crash.yaml --speed 1 --jobs 2",
        "crash.yaml crash.yaml --speed 1",
        "hand.yaml --speed 1",
    ):
        done = typed("run", *words.split())
        assert (done.code, done.out) == (2, "")
        told[words] = done.err
    assert told == snapshot
    assert not (here / "sessions").exists()


def test_typed_stopped_is_130_and_kept(
    typed: Type, here: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    (here / "crash.yaml").write_text(CRASH)
    wall = interrupting(5)
    monkeypatch.setattr("tui.cli.runs.run.Pace", lambda speed: Pace(speed, wall.clock, wall.sleep))
    done = typed("run", "crash.yaml", "--speed", 1)
    assert done.code == 130
    lines = done.out.splitlines()
    assert [line for line in lines if line.startswith("INCONCLUSIVE") or line[14:].startswith("stopped")] == snapshot
    (session,) = session_files.sessions_under(here / "sessions")
    assert json.loads((session / session_files.RESULT).read_text())["verdict"] == "inconclusive"
    assert typed("replay", session).code == 0
