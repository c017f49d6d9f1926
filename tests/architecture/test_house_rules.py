"""Short functions, nothing unfinished, and nothing in the product about one machine."""

import ast
import re
import unicodedata
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.tree import ROOMS, ROOT, nodes, parsed

pytestmark = pytest.mark.slow

LONGEST_TEST_FILE = 650
"""Lines. How long a module of the product may be is not counted: it is one whole idea."""
LONGEST_FUNCTION = 60
SOURCES = (*ROOMS, "tests", "benchmarks")
CHECKED = (*ROOMS, "docs/generate")
"""The product, and what makes the manual of it."""
WRITING = (".py", ".md", ".yaml", ".toml", ".tcss", ".css", ".j2", ".txt", ".json", ".svg", "")


@cache
def every_file() -> tuple[Path, ...]:
    """Files of the product, tests and pages included; deliberately broken samples are not among them."""
    found = [path for name in (*SOURCES, "docs", ".ci") for path in (ROOT / name).rglob("*")]
    found += [path for path in ROOT.glob("*") if path.name != ".git"]
    wanted = [path for path in found if path.suffix in WRITING and not {"__pycache__", "bad"} & set(path.parts)]
    return tuple(sorted(path for path in wanted if path.is_file()))


def files(*suffixes: str) -> list[Path]:
    """Those of them that end so."""
    return [path for path in every_file() if path.suffix in suffixes]


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def place(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_files_of_tests_are_small() -> None:
    long = {
        place(path): count
        for path in files(".py")
        if place(path).startswith("tests/") and (count := len(text_of(path).splitlines())) > LONGEST_TEST_FILE
    }
    assert long == {}


def test_functions_fit_a_screen() -> None:
    long = {
        f"{name}:{node.lineno} {node.name}": lines
        for name, tree in parsed(*CHECKED).items()
        for node in nodes(tree, ast.FunctionDef, ast.AsyncFunctionDef)
        if node.end_lineno is not None and (lines := node.end_lineno - node.lineno + 1) > LONGEST_FUNCTION
    }
    assert long == {}


# Put together here so that this file does not hold what it looks for.
UNFINISHED = "|".join(("TO" + "DO", "FIX" + "ME", "NotImplemented" + "Error"))
MACHINES = r"(?<![\w.])/(home|root|Users|wo" + r"rk|mnt)/|pypi\." + "org|python" + "hosted|--index" + "-url"


@pytest.mark.parametrize(("what", "pattern"), [("unfinished", UNFINISHED), ("about one machine", MACHINES)])
def test_nothing_is(what: str, pattern: str) -> None:
    wanted = re.compile(pattern)
    found = [
        f"{place(path)}:{number}: {line.strip()[:100]}"
        for path in files(*WRITING)
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if wanted.search(line)
    ]
    assert found == [], what


def test_the_lock_names_no_index() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert "--hash=sha256:" in lock
    assert "://" not in lock


def test_no_emoji() -> None:
    found = [
        f"{place(path)}: {unicodedata.name(character, hex(ord(character)))}"
        for path in files(".py", ".md", ".yaml", ".tcss", ".j2")
        for character in set(text_of(path))
        if ord(character) >= 0x1F000 or character in "\ufe0f\u2705\u274c\u26a0\u2728"
    ]
    assert found == []


def test_every_function_says_its_types() -> None:
    bare = [
        f"{name}:{node.lineno} {node.name}"
        for name, tree in parsed(*CHECKED).items()
        for node in nodes(tree, ast.FunctionDef, ast.AsyncFunctionDef)
        if node.returns is None
    ]
    assert bare == []
