"""`make test` runs all there is, whatever is red; a marker says what the everyday loop leaves out."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
MOST_OWN_LINES = 120
"""How much code the plugin of the tests may have: pytest, xdist and syrupy do the rest."""


def fake_programs(place: Path, broken: str) -> Path:
    """A directory to take for ``.venv``: its programs write down what is asked of them, and some of it fails."""
    programs = place / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "ruff", "mypy"):
        program = programs / name
        program.write_text(
            f'#!/bin/sh\necho "{name} $*" >> {place}/asked\ncase "{name} $*" in *{broken}*) exit 1;; esac\n'
        )
        program.chmod(0o755)
    (place / ".ready").touch()
    return place


@pytest.mark.parametrize(
    ("broken", "red"),
    [
        ("nothing", []),
        ("mypy", ["lint"]),
        ("check", ["lint"]),
        ("pytest", ["test-all"]),
        ("m", ["lint", "test-all"]),
    ],
)
def test_make_test_runs_every_group_and_ends_by_saying_which_were_red(
    tmp_path: Path, broken: str, red: list[str], snapshot: SnapshotAssertion
) -> None:
    programs = fake_programs(tmp_path / "programs", broken)
    known = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    made = subprocess.run(
        ["make", "test", f"VENV={programs}"], cwd=ROOT, env=known, capture_output=True, text=True, check=False
    )
    assert (made.returncode != 0) is bool(red)
    told = [line for line in made.stderr.splitlines() if line.startswith("==>")]
    assert [line.removeprefix("==> failed: ").split() for line in told] == ([red] if red else [])
    last = made.stdout.splitlines()[-1]
    assert last.endswith(" passed") is not bool(red)
    assert [*told, *([] if red else [last])] == snapshot
    asked = (programs / "asked").read_text(encoding="utf-8")
    every = ["ruff check", "ruff format", "mypy", "python -m pytest"]
    begun = re.findall(r"^(?:ruff \w+|mypy|python -m \w+)\b(?! --collect-only)", asked, re.MULTILINE)
    assert begun == every
    assert " -m pytest" in asked
    assert not re.search(r"pytest.* -[mk] ", asked)


def test_the_everyday_loop_leaves_out_what_a_marker_names(pytestconfig: pytest.Config) -> None:
    (left_out,) = re.findall(r'^test-fast: .*\n\t.*pytest -m "not \(([^)]+)\)"', MAKEFILE, re.MULTILINE)
    known = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert set(left_out.split(" or ")) <= known
    assert {"slow", "spark", "tmux", "browser", "sockets"} == set(left_out.split(" or "))


def test_the_plugin_of_the_tests_stays_small() -> None:
    own = [ROOT / "tests" / "conftest.py", ROOT / "tests" / "support" / "golden.py"]
    lines = [line for path in own for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) <= MOST_OWN_LINES
