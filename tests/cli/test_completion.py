"""Shells complete what can be typed: each question of theirs is answered by the program itself."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cluster_model.protocol.releases import RELEASE_LINES
from faults.catalogue import CATALOGUE
from playbooks.library import bundled
from playbooks.session_format.filesystem import Fsync
from tests.cli.running import ROOT, Typed
from tui.cli.main import ASKS, answering, app, is_asked

COMMANDS = {each.name or "" for each in app.registered_commands} | {each.name or "" for each in app.registered_groups}


def completed(line: str) -> list[str]:
    """What bash is told at a tab behind this line."""
    answering()
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), ASKS: "complete_bash"}
    done = CliRunner().invoke(app, [], env=asked, prog_name="floodmark", catch_exceptions=False)
    return done.stdout.split()


def test_every_command_is_completed() -> None:
    assert {"run", "replay", "spark", "completion"} <= COMMANDS
    assert set(completed("floodmark ")) == COMMANDS
    assert completed("floodmark repl") == ["replay"]


def test_options_are_completed() -> None:
    assert completed("floodmark run --save") == ["--save-baseline"]
    assert completed("floodmark run --fsync ") == list(Fsync)
    assert completed("floodmark completion f") == ["fish"]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("floodmark run kip-279", [name for name in bundled.names() if name.startswith("kip-279")]),
        ("floodmark check kip-279", [name for name in bundled.names() if name.startswith("kip-279")]),
        ("floodmark library --kafka 0.", [each for each in RELEASE_LINES if each.startswith("0.")]),
        ("floodmark profiles 4", [each for each in RELEASE_LINES if each.startswith("4")]),
        ("floodmark profiles 4.0.", ["4.0.0", "4.0.1", "4.0.2"]),
        ("floodmark issues KAFKA-1952", ["KAFKA-19522"]),
        ("floodmark issues 3.9.", ["3.9.0", "3.9.1", "3.9.2"]),
        ("floodmark faults gc", [name for name in CATALOGUE if name.startswith("gc")]),
        ("floodmark explore kip-1", ["kip-101"]),
        ("floodmark storm storm-acks", ["storm-acks-1"]),
        ("floodmark invariants log-m", ["log-matching"]),
    ],
)
def test_names_are_completed(line: str, names: list[str]) -> None:
    assert names
    assert completed(line) == names


def test_sessions_are_completed(here: Path) -> None:
    for name in ("session_id=20300101-one", "session_id=20300102-two"):
        (here / "sessions" / name).mkdir(parents=True)
    both = ["sessions/session_id=20300102-two", "sessions/session_id=20300101-one"]
    assert completed("floodmark replay ") == both
    assert completed("floodmark diff sessions/session_id=20300101-one sess") == both
    assert completed("floodmark why sessions") == both


def test_where_nothing_fits_files_are_the_shells_own_business(here: Path) -> None:
    assert completed("floodmark run my-own-f") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(typed: Callable[..., Typed], shell: str) -> None:
    done = typed("completion", shell)
    assert done.code == 0
    assert f"{ASKS}=complete_{shell}" in done.out


def test_another_shell_is_refused(typed: Callable[..., Typed]) -> None:
    done = typed("completion", "tcsh")
    assert done.code == 2
    assert "'bash', 'zsh'" in done.err


def test_only_a_question_is_answered() -> None:
    assert not is_asked({})
    assert is_asked({ASKS: "complete_zsh"})


@pytest.mark.slow
def test_bash_itself_completes(tmp_path: Path, typed: Callable[..., Typed]) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "floodmark"  # as a console script: its name is the one that was typed
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom tui.cli.main import main\nsys.argv[0] = 'floodmark'\nmain()\n"
    )
    program.chmod(0o755)
    script = typed("completion", "bash").out
    asking = (
        'COMP_WORDS=(floodmark run leader-cr); COMP_CWORD=2; _floodmark_completion floodmark; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{asking}"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{program.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "leader-crash" in done.stdout.split()
