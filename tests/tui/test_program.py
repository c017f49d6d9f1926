"""One run of the program: wishes follow each other, each screen is left in order before the next is opened."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder
from tests.support.playbooks import CLUSTER
from tests.tui.test_launch import ROOT, read_until
from tui import launcher, program, screen_choice, welcome
from tui.program import ProgramOptions, run_destinations
from tui.session.destination import PLAYBOOK, SESSION, WELCOME, Destination, ScreenExit

pytestmark = pytest.mark.slow

QUIET = f"{CLUSTER}settle: 1s\nexpect:\n  - acked_lost() == 0\n"


class FakeApp:
    """Stands for a screen on which somebody wished for something."""

    failure = None
    return_code = 0
    toured = False

    def __init__(self, fault_record, request):
        self.run, self.request, self.previous_destination, self.sessions = fault_record, request, None, None

    def begin_tour(self):
        self.toured = True


@pytest.fixture
def apps(monkeypatch):
    """The screens that were opened, in order; each leaves for the next of the wishes."""
    monkeypatch.setattr(screen_choice, "has_terminal", lambda: True)
    made, wishes = [], []

    def make(session, *_, **__):
        made.append(FakeApp(lambda: session.advance(1_000_000), wishes.pop(0) if wishes else None))
        return made[-1]

    monkeypatch.setattr(launcher, "live_app", make)
    monkeypatch.setattr(launcher, "recording_app", make)
    return made, wishes


@pytest.fixture
def quiet(tmp_path):
    path = tmp_path / "quiet.yaml"
    path.write_text(QUIET)
    return path


def test_each_session_is_sealed_and_printed_before_the_next_opens(apps, quiet, tmp_path, capsys):
    made, wishes = apps
    old = Session.start(loads(QUIET, "q.yaml"), recorder=Recorder(tmp_path / "old")).finish().session
    wishes += [Destination(SESSION, old), Destination(PLAYBOOK, str(quiet), 9)]
    out = tmp_path / "sessions"
    assert run_destinations(Destination(PLAYBOOK, str(quiet)), ProgramOptions(out, None, None, 1.0)) == 0
    told = [line.split()[-1] for line in capsys.readouterr().out.splitlines() if line.startswith("session ")]
    assert len(told) == 2
    assert all((Path(path) / "manifest.json").exists() for path in told)
    assert ["-s3-" in told[0], "-s9-" in told[1]] == [True, True]
    assert [app.previous_destination for app in made] == [
        None,
        Destination(SESSION, told[0]),
        Destination(SESSION, old),
    ]
    assert [app.sessions for app in made] == [out] * 3


def test_an_internal_error_ends_the_program(apps, quiet, tmp_path, capsys):
    made, wishes = apps
    wishes.append(Destination(PLAYBOOK, str(tmp_path / "none.yaml")))
    assert (
        run_destinations(Destination(PLAYBOOK, str(quiet)), ProgramOptions(tmp_path / "sessions", None, None, 1.0)) == 2
    )
    assert len(made) == 1
    assert "none.yaml" in capsys.readouterr().err


def test_only_the_tour_has_a_guide(apps, quiet, tmp_path):
    made, _wishes = apps
    run_destinations(Destination(PLAYBOOK, str(quiet)), ProgramOptions(tmp_path, None, None, 1.0))
    run_destinations(Destination(PLAYBOOK, "tour"), ProgramOptions(tmp_path, None, None, 1.0))
    assert [app.toured for app in made] == [False, True]


def test_the_welcome_page_can_be_come_back_to(monkeypatch):
    seen = []
    answers = [ScreenExit(0, Destination(PLAYBOOK, "x"), Destination(WELCOME)), ScreenExit(0)]

    def opener(request, _settings, back):
        seen.append((request.kind, back))
        return answers.pop(0)

    monkeypatch.setattr(welcome, "welcome", opener)
    monkeypatch.setattr(launcher, "open_playbook", opener)
    assert program.run_destinations(Destination(WELCOME), ProgramOptions(None, None, None, 1.0)) == 0
    assert seen == [(WELCOME, None), (PLAYBOOK, Destination(WELCOME))]


def test_without_a_terminal_the_welcome_page_says_what_to_use(monkeypatch, capsys, snapshot):
    monkeypatch.setattr(screen_choice, "has_terminal", lambda: False)
    assert run_destinations(Destination(WELCOME), ProgramOptions(None, None, None, 1.0)) == 2
    assert capsys.readouterr().err == snapshot


def test_from_the_welcome_page_to_a_session_on_a_real_terminal(tmp_path):
    primary, secondary = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "tui.cli.main"], cwd=ROOT, stdin=secondary, stdout=secondary, stderr=secondary,
        env=os.environ | {"FLOODMARK_SESSIONS": str(tmp_path), "COLUMNS": "100", "LINES": "30"},
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(secondary)
        read_until(primary, b"Recorded sessions", process)
        os.write(primary, b"s")
        read_until(primary, b"LIVE", process)
        os.write(primary, b"\x11")
        read_until(primary, b"floodmark report", process)
        assert process.wait(60) == 0
    os.close(primary)
    (directory,) = tmp_path.iterdir()
    assert (directory / "manifest.json").exists()
