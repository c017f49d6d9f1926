"""The program as a person meets it: in a terminal of fixed size, by keys, judged by what is on the screen."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cluster_model.protocol.events import NodeDown
from playbooks.session_format import session_files
from tests.tui.driving import in_feed
from tui.welcome import HEADER

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60

pytestmark = pytest.mark.tmux


class Terminal:
    """One window of a tmux server of its own."""

    def __init__(self, socket, width, height):
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        self.run("new-session", "-d", "-x", str(width), "-y", str(height), "sh")

    def run(self, *arguments):
        done = subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    def keys(self, *names):
        self.run("send-keys", *names)

    def text(self):
        return self.run("capture-pane", "-p", "-S", "-200")

    def wait(self, *words):
        """Poll until all words are on the screen."""
        end = time.monotonic() + PATIENCE_S
        while True:
            text = self.text()
            if all(word in text for word in words):
                return text
            assert time.monotonic() < end, f"{words} did not appear:\n{text}"
            time.sleep(0.1)


@pytest.fixture
def terminal(tmp_path):
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: the program was not tried in a terminal")
    window = Terminal(tmp_path / "tmux.sock", 120, 40)
    yield window
    window.run("kill-server")


def command():
    program = Path(sys.executable).with_name("floodmark")
    return [str(program)] if program.exists() else [sys.executable, "-m", "tui.cli.main"]


def start(terminal, sessions):
    settings = {
        "FLOODMARK_SESSIONS": str(sessions),
        "TERM": "tmux-256color",
        "LANG": "C.UTF-8",
        "FLOODMARK_CONFIG": str(sessions / "none.toml"),
    }
    words = ["env"]
    for name in ("NO_COLOR", "LC_ALL", "COLUMNS", "LINES"):
        words += ["-u", name]
    words += [f"{name}={value}" for name, value in settings.items()]
    terminal.keys(f"cd {shlex.quote(os.fspath(ROOT))} && clear", "Enter")
    terminal.keys(f"{shlex.join([*words, *command()])}; echo code=$?", "Enter")


def test_a_person_crashes_a_leader_and_sees_a_new_one(terminal, tmp_path):
    sessions = tmp_path / "sessions"
    start(terminal, sessions)
    terminal.wait(*(text for text, _role in HEADER), "Sandbox")
    terminal.keys("s")
    terminal.wait("▶ LIVE", "Partitions × brokers", "^q quit")
    terminal.wait("orders-0 · epoch 0 · leader b1")
    terminal.keys("f", "c")
    terminal.wait("✕ b1", in_feed(NodeDown(0, "broker 1", 1, "crash")))
    terminal.keys("]", "]")
    # The five lines of events roll on faster than a busy machine is looked at: what stays is waited for.
    text = terminal.wait("orders-0 · epoch 1 · leader b", "fenced b1")
    assert "leader b1" not in text
    terminal.keys("f", "r")
    terminal.wait("● b1")
    terminal.run("resize-window", "-x", "80", "-y", "24")
    terminal.wait("Partitions × brokers")
    terminal.keys("C-q")
    text = terminal.wait("floodmark report", "code=0")
    (directory,) = sessions.iterdir()
    assert str(directory) in text.replace("\n", "")
    assert "Traceback" not in text
    assert (directory / session_files.MANIFEST).exists()
    assert '"name":"crash"' in (directory / session_files.ACTIONS).read_text()
