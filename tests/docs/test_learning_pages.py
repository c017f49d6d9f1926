"""What the first pages tell people to type ends as they say, in the order in which they tell it."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.generate.command_pages import glossary_page
from playbooks.library.bundled import names
from tests.cli.conftest import here, typed
from tests.cli.running import Typed
from tests.docs.test_readme import ROOT, RUN, SCREEN, Line, blocks, commands, type_here
from tests.docs.test_readme import here as working_in
from tests.support.breadth import EVENING
from tui.viewmodel.help import GLOSSARY

pytestmark = pytest.mark.slow

__all__ = ["here", "typed"]
DOCS = ROOT / "docs"
BEGINNING = DOCS / "learn" / "getting-started.md"
CONCEPTS = list(commands(DOCS / "learn" / "concepts.md"))
FIRST = [line for line in commands(BEGINNING) if not line.command.startswith("make ")]
LONG = f"{SCREEN} why "
"""Runs hundreds of sessions: for an evening, as is what the README tells to type as well."""
TOLD = {line.command for line in RUN}
SHORTER = {f"{SCREEN} run acks-1-lost-tail": (f"{SCREEN} run acks-1-lost-tail --until 6s", 3)}
"""As in the README's tests: it passes with the rest of the library, and here is replayed."""
BUNDLED = [
    line for line in CONCEPTS
    if line.command.removeprefix("floodmark run ") in names() and line.code == 0 and "kip-101" not in line.command
]  # fmt: skip
"""What passes with the rest of the library; one of them is told to run here as well."""


def test_the_glossary_is_up_to_date() -> None:
    """Made by ``python -m docs.generate glossary > docs/reference/glossary.md``."""
    assert (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8") == glossary_page()
    assert glossary_page().count("\n- **") == len(GLOSSARY)


def test_there_is_something_to_type() -> None:
    assert len(CONCEPTS) >= 8
    assert len(FIRST) >= 8
    assert [line.command for line in CONCEPTS if line not in BUNDLED] == [
        line.command.removeprefix(".venv/bin/") for line in FIRST if " kip-101-loss" in line.command
    ], "the first page tells them as well"
    assert set(SHORTER) <= {line.command for line in FIRST}
    assert sum(line.command.startswith(LONG) for line in FIRST) == 1


@pytest.mark.parametrize("line", CONCEPTS if EVENING else [BUNDLED[0]], ids=str)
def test_commands_of_the_concept_pages_run(line: Line, typed: Callable[..., Typed]) -> None:
    program, *words = shlex.split(line.command)
    assert program == "floodmark"
    assert typed(*words).code == line.code


def test_the_first_commands_work_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    working_in(tmp_path, monkeypatch)
    mine = blocks(BEGINNING, "yaml")[0]
    assert "rate: 200/s" in mine
    (tmp_path / "mine.yaml").write_text(mine if EVENING else mine.replace("rate: 200/s", "rate: 20/s"))
    for line in FIRST:
        if EVENING or not (line.command.startswith(LONG) or line.command in TOLD):
            usual = SHORTER.get(line.command, (line.command, line.code))
            command, expected = (line.command, line.code) if EVENING else usual
            code, told = type_here(command)
            assert code == expected, (command, told)
