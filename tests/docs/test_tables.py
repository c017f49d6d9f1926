"""The tables of the pages: a row stands once."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
CELLS = re.compile(r"(?<!\\)\|")


def repeated(text: str) -> list[str]:
    """First words of first cells that two neighbouring rows of a table share: a whole cell, or the same command."""
    found, before = [], ""
    for line in text.splitlines():
        first = CELLS.split(line)[1].strip() if line.startswith("|") else ""
        if first and first == before:
            found.append(first)
        before = first
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_two_neighbouring_rows_begin_alike(page: Path) -> None:
    assert repeated(page.read_text(encoding="utf-8")) == []


def test_each_command_is_listed_once() -> None:
    page = (ROOT / "docs" / "run" / "cli.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\| `floodmark (\w+(?: --(?:bundle|openmetrics))?)", page, re.MULTILINE)
    assert "run" in commands
    assert len(commands) == len(set(commands))


def test_a_repeated_row_is_seen() -> None:
    assert repeated("| a | x |\n|---|---|\n| `b\\|c` | 1 |\n| `b\\|c` | 2 |\n\n| d | 1 |\n\n| d | 2 |") == ["`b\\|c`"]
