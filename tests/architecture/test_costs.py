"""The list of costly tests is of tests that there are, and what is measured changes just that."""

import ast
from functools import cache
from pathlib import Path

from tests.support.costs import costly, kept, name_of, write

ROOT = Path(__file__).parents[2]


@cache
def defined_in(path: Path) -> frozenset[str]:
    """Functions, and test cases that are made from state machines."""
    body = ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else []
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    made = {
        each.id for node in body if isinstance(node, ast.Assign) for each in node.targets if isinstance(each, ast.Name)
    }
    return frozenset(functions | made)


def test_every_costly_test_is_there() -> None:
    gone = [name for name in costly() if name.split("::")[1] not in defined_in(ROOT / name.split("::")[0])]
    assert gone == [], "take these lines out of tests/costly.txt"


def test_a_test_is_costly_by_one_case_or_by_all_of_them(tmp_path: Path) -> None:
    known = {"a.py::test_old": 2.0, "a.py::test_mended": 3.0}
    measured = {
        "a.py::test_mended": [0.1, 0.2],
        "b.py::test_of_one_case": [0.1, 0.4],
        "b.py::test_of_many": [0.25] * 5,
        "b.py::test_cheap": [0.2],
    }
    found = kept(known, measured)
    assert found == {"a.py::test_old": 2.0, "b.py::test_of_many": 1.25, "b.py::test_of_one_case": 0.5}
    write(found, tmp_path / "costly.txt")
    assert list(costly(tmp_path / "costly.txt")) == sorted(found)


def test_cases_are_of_one_test() -> None:
    assert name_of("a.py::test_one[x::y-[1]]") == name_of("a.py::test_one") == "a.py::test_one"
