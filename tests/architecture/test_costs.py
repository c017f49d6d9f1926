"""The list of costly tests is of tests that there are, what is measured changes just that, and `make test` has all.

It runs all of it, whatever is red, and shares out what is long.
"""

import ast
import itertools
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression
from syrupy.assertion import SnapshotAssertion

from tests.support.costs import LOOP, Cost, costly, kept, name_of, write
from tests.support.lanes import APART, ONE_BY_ONE, lane_of, longest_first
from tests.support.loop import LEFT_OUT, spread
from tests.support.telling_marks import MARKS

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
    assert len(OTHERS) == 1
    assert re.search(r"^test-fast: .*\n\t.*pytest --quick", MAKEFILE, re.MULTILINE)
    groups = [Expression.compile(each) for each in OTHERS]
    for size in range(len(LEFT_OUT) + 1):
        for marks in itertools.combinations(LEFT_OUT, size):
            chosen = [group.evaluate(lambda name, **_: name in marks) for group in groups]  # noqa: B023
            assert sum(chosen) == bool(marks), marks


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
        ("--quick", ["test-fast"]),
        ("thorough", ["test-thorough"]),
        ("pytest", ["test-fast", "test-thorough"]),
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
    assert [line.removeprefix("==> red: ").split() for line in told] == ([red] if red else [])
    last = made.stdout.splitlines()[-1]
    assert last.endswith(" green") is not bool(red)
    assert [*told, *([] if red else [last])] == snapshot
    asked = (programs / "asked").read_text(encoding="utf-8")
    assert re.findall(r"^(?:ruff \w+|mypy|python .*(?:--quick|thorough))", asked, re.MULTILINE) == [
        "ruff check", "ruff format", "mypy", " ".join(["python", "-m", "pytest", "--quick"]),
        next(line.partition(" or ")[0] for line in asked.splitlines() if "thorough" in line),
    ]  # fmt: skip


class Item:
    """As much of a case as it takes to put it in its place."""

    def __init__(self, nodeid: str, marks: str = "") -> None:
        self.nodeid = f"tests/{nodeid}"
        self.marks = marks

    def get_closest_marker(self, name: str) -> bool:
        return name in self.marks


def test_long_lanes_come_first_and_what_has_to_be_apart_is_one_lane() -> None:
    short, long, other = "cli/test_ask.py::test_x", "cli/test_run.py::test_y", "cli/test_run.py::test_z"
    alone = ["docs/test_readme.py::test_reports_end_as_the_page_says[x]", "tui/test_tmux.py::test_z"]
    compiled = "determinism/test_compiled.py::test_c"
    items = [Item(short), Item(alone[0]), Item(long), Item(other), Item(compiled, "compiled"), Item(alone[1])]
    longest_first(items, {f"tests/{long}": Cost(2.0, 2.0), f"tests/{short}": Cost(1.0, 1.0)})  # type: ignore[arg-type]
    assert [item.nodeid.removeprefix("tests/") for item in items] == [*alone, compiled, long, other, short]
    assert [lane_of(item.nodeid) for item in items[:3]] == [ONE_BY_ONE, ONE_BY_ONE, f"tests/{compiled}".split("::")[0]]


@pytest.mark.thorough
def test_the_loop_and_the_other_groups_have_every_test_once() -> None:
    loop, every = collected("--quick"), collected()
    others = [chosen(every, each) for each in OTHERS]
    assert sorted([*loop, *itertools.chain(*others)]) == sorted(every)
    assert sorted(chosen(every, " or ".join(APART))) == sorted(name for name in every if lane_of(name) == ONE_BY_ONE)
    rooms = Counter(Path(name).parts[1] for name in loop)
    assert all(
        rooms[room] > 20 for room in ("cli", "cluster_model", "docs", "faults", "gateway", "spark_report", "tui")
    ), rooms


def chosen(cases: dict[str, set[str]], expression: str) -> list[str]:
    """What of these cases a group has."""
    group = Expression.compile(expression)
    return [case for case, marks in cases.items() if group.evaluate(lambda name, **_: name in marks)]  # noqa: B023


def collected(*options: str) -> dict[str, set[str]]:
    """Names of all cases that are run with such options, and their markers."""
    quiet = ("-q", "-p", "no:cacheprovider", "--snapshot-warn-unused")  # nothing is compared here
    plugin = ("-p", "tests.support.telling_marks")
    command = [sys.executable, "-m", "pytest", "--collect-only", *quiet, *options]
    done = subprocess.run([*command, *plugin], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [line.split("\t") for line in done.stdout.splitlines() if line.startswith(f"{MARKS}\t")]
    found = {case: set(marks.split()) for _word, marks, case in lines}
    assert len(found) == len(lines)
    return found
