import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
from dataclasses import replace
from pathlib import Path

import pytest

from cluster_model.protocol.events import InvariantViolated
from playbooks.engine.session import Session
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.session_format.session_files import read_manifest
from tests.tui.driving import driving
from tests.tui.fake_views import playbook, session
from tui import launcher, screen_choice
from tui.launcher import open_live
from tui.output.session_end import verdict_text

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def terminal(monkeypatch):
    """Pretend that there is a terminal; the app itself is not opened by these tests."""
    monkeypatch.setattr(screen_choice, "has_terminal", lambda: True)


def opened(playbook_path=None, **more):
    settings = {"seed": None, "out": None, "glyphs": None, "speed": 1.0}
    return open_live(playbook_path, **(settings | more))


@pytest.mark.parametrize(
    "arguments",
    [
        {"glyphs": "emoji"},
        {"speed": 0.0},
        {"speed": float("nan")},
        {"playbook_path": "sandbx"},
        {"playbook_path": "kip-101-scenario-1-3.9"},
    ],
    ids=str,
)
def test_bad_input_is_one_line_and_two(arguments, terminal, capsys, tmp_path, snapshot):
    assert opened(out=tmp_path / "sessions", **arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.replace(str(ROOT), "<floodmark>") == snapshot
    assert not (tmp_path / "sessions").exists()


def test_without_a_terminal_it_says_what_to_use_instead(monkeypatch, capsys, tmp_path, snapshot):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert opened(out=tmp_path) == 2
    assert capsys.readouterr().err == snapshot
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_reported_before_the_screen_opens(terminal, capsys, tmp_path, snapshot):
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert opened(out=blocked) == 2
    assert capsys.readouterr().err.replace(str(tmp_path), "<tmp>") == snapshot


class FakeApp:
    """Stands for the screen: what the person did there, and how it ended."""

    request = None

    def __init__(self, fault_record, failure=None, return_code=0):
        self.fault_record, self.failure, self.return_code = fault_record, failure, return_code

    def run(self):
        self.fault_record()


def with_app(monkeypatch, **more):
    monkeypatch.setattr(launcher, "live_app", lambda session, *_: FakeApp(lambda: session.advance(2_000_000), **more))


def test_leaving_seals_the_session_and_names_it_with_its_report(monkeypatch, terminal, capsys, tmp_path, snapshot):
    with_app(monkeypatch)
    assert opened(out=tmp_path, seed=5) == 0
    (directory,) = tmp_path.iterdir()
    assert read_manifest(directory).verdict == "pass"
    assert capsys.readouterr().out.replace(str(directory), "<session>") == snapshot
    assert (directory / "manifest.json").exists()


def test_a_signal_seals_all_the_same_and_shows_in_the_exit_code(monkeypatch, terminal, capsys, tmp_path):
    with_app(monkeypatch, return_code=143)
    assert opened(out=tmp_path) == 143
    (directory,) = tmp_path.iterdir()
    assert (directory / "manifest.json").exists()


def told_torn(err, directory):
    """However a session is left: that it has no verdict, where it is, and the commands to read and to mend it."""
    lines = [line.rstrip() for line in err.splitlines()]
    assert lines.count(f"session  {directory}") == 1
    return [line.replace(str(directory), "<session>") for line in lines[-4:]]


@pytest.mark.parametrize("where", ["on the screen", "while it is sealed"])
def test_a_full_disk_is_reported_with_what_is_left_of_the_session(
    where, monkeypatch, terminal, capsys, tmp_path, snapshot
):
    full = RecordingError("disk full", code="cannot_go_on")
    if where == "on the screen":
        with_app(monkeypatch, failure=full)
    else:
        with_app(monkeypatch)
        monkeypatch.setattr(Session, "finish", lambda _session: (_ for _ in ()).throw(full))
    assert opened(out=tmp_path) == 2
    (directory,) = tmp_path.iterdir()
    err = capsys.readouterr().err
    assert "disk full" in err
    assert "Traceback" not in err
    assert told_torn(err, directory) == snapshot


def test_an_error_inside_keeps_the_session_and_is_no_traceback(monkeypatch, terminal, capsys, tmp_path, snapshot):
    with_app(monkeypatch, failure=RuntimeError("wheel off"))
    assert opened(out=tmp_path) == 70
    out, err = capsys.readouterr()
    (directory,) = tmp_path.iterdir()
    (failed,) = [line.rstrip() for line in err.splitlines() if "RuntimeError" in line]
    assert "wheel off" in failed
    assert [failed.replace(str(directory), "<session>"), *told_torn(err, directory)] == snapshot
    assert "Traceback" not in out + err
    assert "wheel off" in (directory / "crash.log").read_text()
    assert (directory / "events.jsonl").exists()


def test_interrupted_sealing_leaves_a_readable_session(monkeypatch, terminal, capsys, tmp_path, snapshot):
    def interrupt(_session):
        raise KeyboardInterrupt

    with_app(monkeypatch)
    monkeypatch.setattr(Session, "finish", interrupt)
    assert opened(out=tmp_path) == 130
    (directory,) = tmp_path.iterdir()
    assert told_torn(capsys.readouterr().err, directory) == snapshot
    lines = (directory / "events.jsonl").read_text().splitlines()
    assert lines
    assert all(line.endswith("}") for line in lines)


def test_farewell_reports_losses_violations_and_why(snapshot):
    live = session(orders=1, payments=1, settle_us=0)
    live.advance(1_000_000)
    result = live.finish()
    bad = replace(
        result,
        verdict="inconclusive",
        reason="cut off",
        ledger=replace(result.ledger, acked_lost=3),
        violations=(InvariantViolated(0, "x", "orders-0", 1, "", ""),),
    )
    assert [verdict_text(each).splitlines()[0] for each in (result, bad)] == snapshot


async def test_an_error_in_a_frame_leaves_the_screen_with_the_error_in_hand(monkeypatch):
    async with driving() as driver:
        driver.app._keep_errors = True

        def broken():
            raise RuntimeError("wheel off")

        monkeypatch.setattr(driver.session_controller, "refresh_view", broken)
        driver.app.simulate_key("right_square_bracket")
        while driver.app.failure is None:
            await asyncio.sleep(0)
    assert isinstance(driver.app.failure, RuntimeError)
    assert driver.app.return_code == 70


@pytest.mark.evening
def test_the_screen_opens_without_spark_and_the_libraries_of_the_report():
    """What a start reads is told module by module in test_start.py."""
    code = (
        "import sys\n"
        "from tui.launcher import live_app as make_app\nfrom tui.screen_choice import ScreenChoice\n"
        "from tui.settings.schema import Settings\n"
        "from playbooks.engine.session import Session\n"
        "from tui.session.playbook_choice import choose\n"
        "session = Session.start(choose('sandbox', None, {}).playbook, open_ended=True)\n"
        "make_app(session, ScreenChoice('unicode', 'dark', 1.0, Settings()))\n"
        "heavy = ('pyspark', 'py4j', 'pyarrow', 'pandas', 'numpy', 'jinja2', 'spark_report', 'faker')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@contextlib.contextmanager
def on_a_terminal(sessions, **options):
    """The program on a pseudo-terminal of its own: its process, and the descriptor of the terminal."""
    primary, secondary = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "tui.launcher"],
        cwd=ROOT,
        stdin=secondary,
        stdout=secondary,
        stderr=secondary,
        env=os.environ | {"FLOODMARK_SESSIONS": str(sessions), "COLUMNS": "100", "LINES": "30"},
        start_new_session=True,
        **options,
    ) as process:
        os.close(secondary)
        yield process, primary


def test_sigterm_on_a_real_terminal_seals_and_gives_the_terminal_back(tmp_path):
    with on_a_terminal(tmp_path) as (process, terminal):
        seen = read_until(terminal, b"LIVE", process)
        process.send_signal(signal.SIGTERM)
        seen += read_until(terminal, b"floodmark report", process)
        assert process.wait(60) == 128 + signal.SIGTERM
        os.close(terminal)
    assert b"\x1b[?1049l" in seen, "the alternate screen was not left"
    assert b"\x1b[?25h" in seen, "the cursor stayed hidden"
    (directory,) = tmp_path.iterdir()
    assert (directory / "manifest.json").exists()


def test_a_terminal_that_is_closed_ends_the_program_and_the_session_is_sealed(tmp_path):
    """As a closed window does, or a lost connection of ssh."""
    with on_a_terminal(tmp_path, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) as (process, terminal):
        read_until(terminal, b"LIVE", process)
        os.close(terminal)
        assert process.wait(60) == 128 + signal.SIGHUP
    (directory,) = tmp_path.iterdir()
    assert (directory / "manifest.json").exists()


def read_until(fd, wanted, process):
    """What a pseudo-terminal shows up to and with some bytes; the test ends if the program does so first."""
    seen = b""
    while wanted not in seen:
        try:
            chunk = os.read(fd, 65536)
        except OSError:
            chunk = b""
        assert chunk, f"the program ended with {process.poll()} before it showed {wanted!r}: {seen[-500:]!r}"
        seen += chunk
    return seen


def test_the_recording_of_a_live_session_says_that_it_was_live(tmp_path):
    recorder = Recorder(tmp_path, live=True)
    live = Session.start(playbook(orders=1, payments=1, settle_us=0), recorder=recorder, open_ended=True)
    live.advance(100_000)
    live.finish()
    assert '"live": true' in (recorder.path / "start.json").read_text()
