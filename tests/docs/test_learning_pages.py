"""What the first pages tell people to type ends as they say, in the order in which they tell it."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.generate.command_pages import glossary_page
from tests.cli.conftest import here, typed
from tests.cli.running import Typed
from tests.docs.test_readme import ROOT, Line, blocks, commands
from tui.viewmodel.help import GLOSSARY

__all__ = ["here", "typed"]
DOCS = ROOT / "docs"
BEGINNING = DOCS / "getting-started.md"
CONCEPTS = list(commands(DOCS / "concepts.md"))
FIRST = [line for line in commands(BEGINNING) if not line.command.startswith("make ")]


def test_the_glossary_is_up_to_date() -> None:
    """Made by ``python -m docs.generate glossary > docs/glossary.md``."""
    assert (DOCS / "glossary.md").read_text(encoding="utf-8") == glossary_page()
    assert glossary_page().count("\n- **") == len(GLOSSARY)


def test_there_is_something_to_type() -> None:
    assert len(CONCEPTS) >= 8
    assert len(FIRST) >= 8


@pytest.mark.thorough
@pytest.mark.parametrize("line", CONCEPTS, ids=str)
def test_what_the_concepts_tell_to_run(line: Line, typed: Callable[..., Typed]) -> None:
    program, *words = shlex.split(line.command)
    assert program == "floodmark"
    assert typed(*words).code == line.code


@pytest.mark.thorough
def test_the_first_commands_work_one_after_the_other(tmp_path: Path) -> None:
    program = tmp_path / ".venv" / "bin" / "floodmark"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tui.cli.main "$@"\n')
    program.chmod(0o755)
    (tmp_path / "mine.yaml").write_text(blocks(BEGINNING, "yaml")[0])
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for line in FIRST:
        done = subprocess.run(
            ["sh", "-c", line.command], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == line.code, (line.command, done.stderr)
