"""What a killed recording leaves behind, at every instant: the session up to the last flush, or that there is none."""

import errno
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import BrokerFenced, Event, HwAdvanced
from faults.declarations.fault import Action
from playbooks.engine import replay
from playbooks.engine.session import Session
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import SYNC_SECONDS, Recorder, RecordingError
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import FileSystem, Fsync
from playbooks.session_format.session_files import SessionError
from spark_report.input.sessions import check_session
from tests.support.breadth import sample_count
from tests.support.playbooks import timed

ROOT = Path(__file__).parents[2]


class Killed(BaseException):
    """The process is gone: nothing catches this."""


class Mortal(FileSystem):
    """A disk whose process is killed after ``lives`` calls, in the middle of a write if that is the last one."""

    def __init__(self, lives: int, *, halves: bool = False) -> None:
        self.lives = lives
        self.halves = halves
        self.done: list[str] = []

    def _call(self, name: str) -> None:
        if self.lives == len(self.done):
            raise Killed
        self.done.append(name)

    def make_directory(self, path: Path) -> None:
        self._call("mkdir")
        super().make_directory(path)

    def create(self, path: Path, *, truncate: bool = False) -> int:
        self._call(f"create {path.name}")
        return super().create(path, truncate=truncate)

    def open(self, path: Path) -> int:
        self._call(f"open {path.name}")
        return super().open(path)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if self.halves and self.lives == len(self.done):
            super().write(fd, bytes(data)[: len(data) // 2])
        self._call("write")
        return super().write(fd, data)

    def truncate(self, fd: int, size: int) -> None:
        self._call("truncate")
        super().truncate(fd, size)

    def sync_data(self, fd: int) -> None:
        self._call("sync")

    def close(self, fd: int) -> None:
        super().close(fd)  # a dead process lets go of its files as well
        self._call("close")

    def rename(self, old: Path, new: Path) -> None:
        self._call(f"rename {new.name}")
        super().rename(old, new)

    def remove(self, path: Path) -> None:
        self._call("remove")
        super().remove(path)

    def sync_directory(self, path: Path) -> None:
        self._call("sync directory")


def live_session(parent: Path, disk: FileSystem, told: list[int]) -> None:
    """A session with an operator's action, from first call to last; ``told`` takes what each flush returned for."""
    recorder = Recorder(parent, live=True, disk=disk)
    session = Session.start(timed(settle="300ms"), recorder=recorder, open_ended=True)
    for number in range(4):
        session.advance(session.cluster.now_us + 100_000)
        recorder.flush()
        told.append(recorder.events)
        if number == 1:
            session.act(Action("inject", "lag", "broker(2)", {"latency": 5_000}))
    session.finish()


def calls_of_a_whole_session(parent: Path) -> list[str]:
    disk = Mortal(1 << 30)
    live_session(parent, disk, [])
    return disk.done


def test_a_session_is_made_start_last_and_sealed_manifest_last(tmp_path: Path) -> None:
    calls = calls_of_a_whole_session(tmp_path)
    named = [call.split(" ", 1)[1] for call in calls if call.startswith(("rename ", "create events", "create actions"))]
    assert named == [
        *(session_files.PLAYBOOK, session_files.EVENTS, session_files.ACTIONS, session_files.START),
        *(
            session_files.EVENTS_PARQUET,
            session_files.LEDGER,
            session_files.FINAL_READ,
            session_files.RESULT,
            session_files.MANIFEST,
        ),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("halves", [False, True], ids=["between calls", "within a write"])
def test_killed_after_any_call_the_session_is_there_up_to_the_last_flush(
    tmp_path: Path, halves: bool, snapshot: SnapshotAssertion
) -> None:
    calls = calls_of_a_whole_session(tmp_path / "whole")
    count = len(calls)
    states = set()
    said: set[str] = set()
    for lives in [*(number for number, call in enumerate(calls) if call == "write" or not halves), count]:
        parent = tmp_path / str(lives)
        told: list[int] = [0]
        try:
            live_session(parent, Mortal(lives, halves=halves), told)
        except Killed:
            pass
        else:
            assert lives == count
        states.add(state_of(parent, told[-1], said))
        shutil.rmtree(parent)
    assert states == {"nothing", "torn", "sealed", *(() if halves else ("no event",))}
    assert sorted(said) == snapshot


def state_of(parent: Path, told: int, said: set[str]) -> str:
    """Opens what is left as every reader does; ``said`` takes what they say of it."""
    sessions = session_files.sessions_under(parent)
    if not sessions:
        assert told == 0
        return "nothing"
    (session,) = sessions
    if not (session / session_files.START).exists():
        assert told == 0
        for read in (read_session, check_session):
            with pytest.raises((SessionError, session_files.LayoutError), match=session_files.START) as unread:
                read(session)
            said.add(_without_paths(str(unread.value), session, state="nothing"))
        return "nothing"
    recorded = read_session(session)
    assert recorded.count >= told
    if not recorded.count:
        with pytest.raises(SessionError) as unplayed:
            replay.replay(recorded)
        with pytest.raises(session_files.LayoutError) as unreported:
            check_session(session)
        said |= {_without_paths(str(each.value), session, state="no event") for each in (unplayed, unreported)}
        return "no event"
    assert replay.replay(recorded).events == recorded.count
    reported = check_session(session)
    assert reported.last_seq == recorded.count - 1
    if recorded.manifest is None:
        said |= {_without_paths(each, session, state="torn") for each in (*recorded.notes, *reported.problems)}
        assert any("not sealed" in note for note in recorded.notes)
        assert any("no manifest" in problem for problem in reported.problems)
        return "torn"
    assert reported.problems == recorded.notes == ()
    return "sealed"


def _without_paths(text: str, session: Path, *, state: str = "") -> str:
    """A message that no longer says where the session is, nor how many bytes were torn."""
    told = re.sub(r"\d+ bytes", "<n> bytes", text.replace(str(session), "<session>"))
    return f"{state}: {told}" if state else told


@pytest.mark.slow
def test_kill_9_at_any_moment_leaves_what_was_flushed(tmp_path: Path) -> None:
    program = """
        import os
        import sys
        from pathlib import Path
        from tests.playbooks.test_durability import live_session
        from playbooks.session_format.filesystem import FileSystem
        class ReportedLines(list):
            def append(self, count):
                print(count, flush=True)
        for line in sys.stdin:
            if not (child := os.fork()):
                print(os.getpid(), flush=True)
                while True:
                    live_session(Path(line.strip()), FileSystem(), ReportedLines())
                    print("sealed", flush=True)
            print("killed by", os.WTERMSIG(os.waitpid(child, 0)[1]), flush=True)
    """
    draw = random.Random(4)
    states = []
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(sample_count(15, 40)):
            parent = tmp_path / str(number)
            print(parent, file=process.stdin, flush=True)
            recording = int(process.stdout.readline())
            words = []
            try:
                words += [process.stdout.readline().strip() for _ in range(draw.randrange(8))]
                spin = draw.randrange(200_000)
                while spin:
                    spin -= 1
            finally:
                os.kill(recording, signal.SIGKILL)
            words += [line.strip() for line in iter(process.stdout.readline, f"killed by {signal.SIGKILL:d}\n")]
            *_whole, last = session_files.sessions_under(parent) or [None]
            if last is None:
                continue
            since = words[len(words) - words[::-1].index("sealed") :] if "sealed" in words else words
            shown = parent / "last"
            shown.mkdir()
            newest = max(session_files.sessions_under(parent), key=lambda path: path.stat().st_ctime_ns)
            newest.rename(shown / newest.name)
            states.append(state_of(shown, int(since[-1]) if since and since[-1].isdigit() else 0, set()))
    assert "torn" in states


def test_an_empty_directory_and_one_with_a_playbook_have_one_clear_message(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    session = tmp_path / "session_id=x"
    session.mkdir()
    said: dict[str, str] = {}
    for name in (None, session_files.PLAYBOOK, session_files.EVENTS, ".start.json.tmp"):
        if name:
            (session / name).write_text("" if name == session_files.EVENTS else "floodmark: 1\n")
        with pytest.raises(SessionError) as caught:
            read_session(session)
        said[f"with {name or 'nothing'}"] = _without_paths(str(caught.value), session)
    (session / session_files.EVENTS).write_text("{}\n")
    with pytest.raises(SessionError) as caught:
        read_session(session)
    said["with an event"] = _without_paths(str(caught.value), session)
    assert said == snapshot


# -- what is forced to the disk --------------------------------------------------------------------------------------


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def rare(number: int) -> list[Event]:
    return [BrokerFenced(number, 2, "session timed out")]


def begun(tmp_path: Path, fsync: Fsync) -> tuple[Recorder, Mortal, Clock]:
    clock, disk = Clock(), Mortal(1 << 30)
    recorder = Recorder(tmp_path, fsync=fsync, clock=clock, disk=disk)
    playbook = timed()
    recorder.begin(playbook, 5, Session.start(playbook).cluster.view())
    disk.done.clear()
    return recorder, disk, clock


@pytest.mark.parametrize(("fsync", "syncs"), [(Fsync.NEVER, 0), (Fsync.INTERVAL, 3), (Fsync.ALWAYS, 9)])
def test_syncs_of_a_stretch_of_time(tmp_path: Path, fsync: Fsync, syncs: int) -> None:
    recorder, disk, clock = begun(tmp_path, fsync)
    for number in range(9):
        clock.now += SYNC_SECONDS / 3
        recorder.write(rare(number))
    assert disk.done.count("sync") == syncs
    recorder.close()
    assert disk.done.count("sync") == syncs + 2


def test_written_events_are_synced_without_further_events(tmp_path: Path) -> None:
    recorder, disk, clock = begun(tmp_path, Fsync.INTERVAL)
    recorder.write(rare(1))
    assert "sync" not in disk.done
    clock.now += SYNC_SECONDS
    recorder.write([])
    recorder.write([])
    assert disk.done.count("sync") == 1


def test_buffered_events_are_written_without_further_events(tmp_path: Path) -> None:
    recorder, _disk, clock = begun(tmp_path, Fsync.INTERVAL)
    recorder.write([HwAdvanced(1, "orders-0", 1, 0, 1)])
    clock.now += 1
    recorder.write([])
    assert (recorder.path / session_files.EVENTS).read_bytes().count(b"\n") == 1


@pytest.mark.parametrize(("fsync", "syncs"), [(Fsync.NEVER, 0), (Fsync.INTERVAL, 1), (Fsync.ALWAYS, 1)])
def test_an_operators_action_is_forced_before_what_follows_from_it(tmp_path: Path, fsync: Fsync, syncs: int) -> None:
    recorder, disk, _clock = begun(tmp_path, fsync)
    recorder.action({"at_us": 1})
    assert disk.done == ["write", *["sync"] * syncs]


def test_the_names_of_a_new_session_are_forced(tmp_path: Path) -> None:
    clock, disk = Clock(), Mortal(1 << 30)
    recorder = Recorder(tmp_path, clock=clock, disk=disk)
    playbook = timed()
    recorder.begin(playbook, 5, Session.start(playbook).cluster.view())
    assert disk.done[-3:] == [f"rename {session_files.START}", "sync directory", "sync directory"]


# -- a full disk -----------------------------------------------------------------------------------------------------


class Full(FileSystem):
    """A disk with room for so many bytes of events."""

    def __init__(self, room: int, code: int = errno.ENOSPC) -> None:
        self.room = room
        self.code = code
        self.counts: Callable[[int], bool] = lambda fd: False

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if not self.counts(fd):
            return super().write(fd, data)
        if not self.room:
            raise OSError(self.code, "No space left on device")
        taken = super().write(fd, bytes(data)[: self.room])
        self.room -= taken
        return taken


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 1, 3_000, 30_000])
def test_a_full_disk_is_one_clear_error_and_what_fitted_can_be_read(
    tmp_path: Path, room: int, snapshot: SnapshotAssertion
) -> None:
    disk = Full(room)
    recorder = Recorder(tmp_path, disk=disk)
    session = Session.start(timed(settle="20s"), recorder=None)
    recorder.begin(session.playbook, session.cluster.seed, session.cluster.view())
    session.recorder = recorder
    events = recorder._fd
    disk.counts = lambda fd: fd == events
    with pytest.raises(RecordingError) as caught:
        session.finish()
    assert recorder.failure == str(caught.value)
    told = recorder.failure.replace(str(recorder.path), "<session>")
    assert re.sub(r"the first \S+ events?", "the first <n> events", told) == snapshot  # by when it was flushed
    text = (recorder.path / session_files.EVENTS).read_bytes()
    assert len(text) <= room
    assert not text or text.endswith(b"\n")
    assert read_session(recorder.path).count == text.count(b"\n")
    for again in (lambda: recorder.write(rare(1)), lambda: recorder.action({})):
        with pytest.raises(RecordingError) as caught:
            again()
        assert str(caught.value) == recorder.failure
    recorder.close()
