"""The list of costly tests is of tests that there are, what is measured changes just that, and `make test` has all."""

import ast
import itertools
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from tests.support.costs import LOOP, Cost, costly, kept, name_of, write
from tests.support.loop import LEFT_OUT, spread

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
OTHERS = re.findall(r'pytest .*-m "([^"]*(?:thorough|tmux)[^"]*)"', MAKEFILE)
"""What `make test` runs besides the everyday loop."""


@cache
def defined_in(path: Path) -> frozenset[str]:
    """Functions and classes, and test cases that are made from state machines."""
    body = ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else []
    named = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    made = {
        each.id for node in body if isinstance(node, ast.Assign) for each in node.targets if isinstance(each, ast.Name)
    }
    return frozenset(named | made)


def test_every_costly_test_is_there() -> None:
    gone = [name for name in costly() if name.split("::")[1] not in defined_in(ROOT / name.split("::")[0])]
    assert gone == [], "take these lines out of tests/costly.txt"


def test_a_test_is_costly_by_all_of_its_cases(tmp_path: Path) -> None:
    known = {"a.py::test_old": Cost(2.0, 1.0), "a.py::test_mended": Cost(3.0, 3.0)}
    measured = {
        "a.py::test_mended": [LOOP / 3, LOOP / 2],
        "b.py::test_of_one_case": [0.5],
        "b.py::test_of_many": [0.25] * 5,
        "b.py::test_cheap": [LOOP],
    }
    found = kept(known, measured)
    assert found == {
        "a.py::test_old": Cost(2.0, 1.0),
        "b.py::test_of_many": Cost(1.25, 0.25),
        "b.py::test_of_one_case": Cost(0.5, 0.5),
    }
    write(found, tmp_path / "costly.txt")
    assert costly(tmp_path / "costly.txt") == found


def test_cases_are_of_one_test() -> None:
    assert name_of("a.py::test_one[x::y-[1]]") == name_of("a.py::test_one") == "a.py::test_one"


def test_of_many_cheap_cases_some_stay() -> None:
    assert Cost(10 * LOOP, LOOP / 2).stay(30) == 3
    assert sorted(spread(30, 3)) == [0, 14, 29]
    assert Cost(10 * LOOP, 1.01 * LOOP).stay(30) == 0
    assert spread(30, 0) == frozenset()
    assert spread(2, 5) == {0, 1}


def test_a_test_with_any_markers_is_in_just_one_group() -> None:
    """The everyday loop has what has none of them, whatever the reason why it is left out."""
    assert len(OTHERS) == 2
    assert re.search(r"^test: .*\btest-fast$", MAKEFILE, re.MULTILINE)
    assert re.search(r"^test-fast: .*\n\t.*pytest --quick", MAKEFILE, re.MULTILINE)
    groups = [Expression.compile(each) for each in OTHERS]
    for size in range(len(LEFT_OUT) + 1):
        for marks in itertools.combinations(LEFT_OUT, size):
            chosen = [group.evaluate(lambda name, **_: name in marks) for group in groups]  # noqa: B023
            assert sum(chosen) == bool(marks), marks


@pytest.mark.thorough
def test_the_loop_and_the_other_groups_have_every_test_once() -> None:
    loop, *others = [collected(*options) for options in (("--quick",), *(("-m", each) for each in OTHERS))]
    every = collected()
    assert sorted([*loop, *itertools.chain(*others)]) == sorted(every)
    rooms = Counter(Path(name).parts[1] for name in loop)
    assert all(
        rooms[room] > 20 for room in ("cli", "cluster_model", "docs", "faults", "gateway", "spark_report", "tui")
    ), rooms


def collected(*options: str) -> list[str]:
    """Names of all cases that a group has."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]
