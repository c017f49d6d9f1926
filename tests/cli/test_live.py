"""``floodmark live``: a session told line by line, with commands typed on stdin."""

import io
import subprocess
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.replay import replay
from playbooks.engine.session import Session
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.timetravel.branches import Branches
from tests.cli.running import FLOODMARK, Steady, Typed
from tests.support.playbooks import CLUSTER
from tests.tui.fake_views import playbook
from tui.cli.runs.pace import Pace
from tui.cli.sessions.live import LinePrinter, LiveSession, lines_of
from tui.session.playbook_choice import choose

pytestmark = pytest.mark.slow


class Wall:
    """A clock that goes on when somebody sleeps; after so many sleeps somebody types."""

    def __init__(self) -> None:
        self.now = 0.0
        self.typing: dict[int, str] = {}
        self.lines: SimpleQueue[str | None] = SimpleQueue()
        self.slept = 0

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += 1
        if self.slept in self.typing:
            self.lines.put(self.typing[self.slept])
        if self.slept >= max(self.typing, default=0):
            self.lines.put(None)


def told(*lines: str, later: dict[int, str] | None = None, session: Session | None = None) -> tuple[list[str], Session]:
    wall = Wall()
    wall.typing = later or {}
    for line in lines:
        wall.lines.put(f"{line}\n")
    if not later:
        wall.lines.put(None)
    out = io.StringIO()
    session = session or Session.start(playbook(orders=1, payments=1), open_ended=True)
    LiveSession(
        Pace(1.0, lambda: wall.now, wall.sleep), LinePrinter(Console(file=out, soft_wrap=True)), wall.lines
    ).run(Branches(session))
    return out.getvalue().splitlines(), session


def test_typed_commands_are_executed_and_events_printed(snapshot: SnapshotAssertion) -> None:
    lines, session = told("crash b1 4s", "go 6s", "status", "quit")
    assert lines == snapshot
    assert session.cluster.now_us == 6_000_000


def test_time_advances_pauses_on_request_and_the_end_of_input_quits() -> None:
    lines, session = told(later={10: "pause\n"})
    assert session.cluster.now_us == 1_000_000  # ten frames, and then a pause that nobody ends but the end of input
    assert lines[-1] == "00:01.000  paused"


@pytest.mark.parametrize(
    "line", ["crsh b1", "crash b9", "crash", "restart b1 x=1", "heal 7", "clients", "speed 0", "go 0s; x", "\x1b[31m"]
)
def test_invalid_commands_are_refused_in_one_line_and_the_session_continues(
    line: str, snapshot: SnapshotAssertion
) -> None:
    lines, _session = told(line, "status")
    (refused,) = (each for each in lines if "refused: " in each)
    assert refused == snapshot
    assert any("broker 1 up" in each for each in lines)


def test_faults_are_listed_with_their_numbers_and_healed_by_them(snapshot: SnapshotAssertion) -> None:
    lines, session = told("lag b2 latency=300ms", "gc_pause b3 8s", "status", "heal 1", "heal", ":speed 10", "help")
    assert session.board.active() == ()
    assert lines == snapshot


def test_lines_of_a_stream_end_with_the_end() -> None:
    lines = lines_of(io.StringIO("a\nb\n"))
    assert [lines.get(timeout=5) for _ in range(3)] == ["a\n", "b\n", None]


def test_the_recording_is_that_of_any_live_session(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, live=True)
    session = Session.start(choose("sandbox", None, {}).playbook, recorder=recorder, open_ended=True)
    told("crash b1 2s", "go 3s", session=session)
    result = session.finish()
    recorded = read_session(recorder.path)
    assert [each.verb for each in recorded.actions] == ["inject", "settle"]
    assert replay(recorded).digest == result.digest


def test_a_manual_playbook_and_a_bad_speed_are_refused(
    typed: Callable[..., Typed], steady: Steady, snapshot: SnapshotAssertion
) -> None:
    told = {}
    for words in ("kip-101-scenario-1-3.9", "--speed 0", "sandbx"):
        done = typed("live", *words.split())
        assert done.code == 2
        told[words] = steady(done.err)
    assert told == snapshot


# -- the past, and branches -------------------------------------------------------------------------------------------


def travelled(*lines: str, session: Session | None = None) -> tuple[list[str], Branches]:
    """What is told, with time standing still to begin with."""
    wall = Wall()
    for line in ("pause", *lines):
        wall.lines.put(f"{line}\n")
    wall.lines.put(None)
    out = io.StringIO()
    branches = Branches(session or Session.start(playbook(orders=1, payments=1), open_ended=True))
    LiveSession(
        Pace(1.0, lambda: wall.now, wall.sleep), LinePrinter(Console(file=out, soft_wrap=True)), wall.lines
    ).run(branches)
    return out.getvalue().splitlines()[2:], branches


def test_going_back_pauses_and_changes_nothing(snapshot: SnapshotAssertion) -> None:
    lines, branches = travelled("go 3s", "go 1s", "status", "present", "beginning")
    assert lines == snapshot
    assert len(branches) == 1
    assert branches.current.live.cluster.now_us == 3_000_000


def test_the_past_is_played_on_into_the_present(snapshot: SnapshotAssertion) -> None:
    wall = Wall()
    wall.typing = {8: "status\n"}
    for line in ("go 1s", "go 500ms", "play"):
        wall.lines.put(f"{line}\n")
    out = io.StringIO()
    branches = Branches(Session.start(playbook(orders=1, payments=1), open_ended=True))
    LiveSession(
        Pace(1.0, lambda: wall.now, wall.sleep), LinePrinter(Console(file=out, soft_wrap=True)), wall.lines
    ).run(branches)
    assert [line for line in out.getvalue().splitlines() if line.startswith("00:01.000  ")] == snapshot
    assert branches.current.live.cluster.now_us > 1_000_000


def test_acting_in_the_past_begins_a_branch_and_reports_what_happens_there_only(snapshot: SnapshotAssertion) -> None:
    lines, branches = travelled("go 1s", "crash b1", "go 3s", "go 2s", "crash b2", "status", "branches", "branch main")
    assert [each.letter for each in branches] == ["main", "B"]
    assert [line for line in lines if line.endswith("b1 crashed")] == ["00:01.000  b1 crashed"]
    assert lines == snapshot


def test_undo_redo_and_fork_are_words(snapshot: SnapshotAssertion) -> None:
    lines, branches = travelled(
        "go 1s", "crash b1", "go 2s", "undo", "redo", "fork", "branch x", "branch", "branch main", "undo"
    )
    assert [each.letter for each in branches] == ["main", "B", "C"]
    assert branches.current.letter == "B", "what is undone there already is gone to"
    assert lines == snapshot


def test_one_event_on_and_back_and_what_there_is_nothing_of_is_refused(snapshot: SnapshotAssertion) -> None:
    lines, branches = travelled("undo", "redo", "back", "step", "step", "step", "back", "take_over")
    assert branches.current.live.cluster.executed == 3
    assert branches.current.session.cluster.executed == 2
    assert lines == snapshot


def test_every_branch_is_sealed_and_replays(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "small.yaml").write_text(CLUSTER + "settle: 1s\n")
    sessions = tmp_path / "sessions"
    ran = subprocess.run(
        [*FLOODMARK, "live", tmp_path / "small.yaml", "--out", sessions],
        input="pause\ngo 1s\ncrash b1 1s\ngo 500ms\ncrash b2 1s\nquit\n",
        capture_output=True,
        text=True,
        check=True,
    )
    paths = sorted(sessions.iterdir())
    assert len(paths) == 2
    assert paths[1].name == f"{paths[0].name}-B"
    assert [line for line in ran.stdout.splitlines() if line.startswith("branch ")] == snapshot
    for path in paths:
        recorded = read_session(path)
        assert recorded.manifest is not None
        assert replay(recorded).digest == recorded.manifest.digest
