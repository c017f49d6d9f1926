"""Who runs what beside whom, and what is first: ``pytest --lanes -n auto --dist loadfile``.

Spark, terminals, browsers and sockets each want a machine without another of their kind, not an idle one: one process
has all of them, and begins with them. The files of the rest are dealt out to the others, the longest first, so that no
process works alone in the end.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from math import fsum
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support.costs import Cost, name_of

ROOT = Path(__file__).parents[2]
APART = ("spark", "tmux", "browser", "sockets")
"""Markers of what never runs beside another of them."""
ONE_BY_ONE = "one by one"
"""The lane of those."""
_MARKED = re.compile(rf"\bmark\.(?:{'|'.join(APART)})\b")


class Lanes(LoadScopeScheduling):
    """Deals out lanes, in the order in which all processes have collected them."""

    def _split_scope(self, nodeid: str) -> str:
        return lane_of(nodeid)


def lane_of(nodeid: str) -> str:
    """What one process has to run, one after the other: a file, or all that needs to be apart."""
    file, *names = name_of(nodeid).split("::")
    apart = apart_in(ROOT / file)
    return ONE_BY_ONE if any("::".join(names[:depth]) in apart for depth in range(len(names) + 1)) else file


@cache
def apart_in(path: Path) -> frozenset[str]:
    """Names of the functions and classes of a file that need to be apart; nothing is the name of all of it.

    It is read from the text: who deals out has the names of the tests, not their markers.
    """
    text = path.read_text(encoding="utf-8") if path.suffix == ".py" else ""
    return frozenset(_apart(ast.parse(text))) if _MARKED.search(text) else frozenset()


def _apart(node: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[str]:
    for each in node.body:
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "pytestmark" and _is_marked(each.value):
            yield prefix.removesuffix("::")
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if any(map(_is_marked, each.decorator_list)):
                yield f"{prefix}{each.name}"
            if isinstance(each, ast.ClassDef):
                yield from _apart(each, f"{prefix}{each.name}::")


def _is_marked(expression: ast.expr) -> bool:
    return bool(_MARKED.search(ast.unparse(expression)))


def longest_first(items: list[pytest.Item], known: dict[str, Cost]) -> None:
    """Put the longest lanes first; within a lane all stays as it was."""
    lanes: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        lanes[lane_of(item.nodeid)].append(item)
    # Compiling is a minute, and is not in the list.
    first = {lane for lane, its in lanes.items() if any(item.get_closest_marker("compiled") for item in its)}
    cost = {
        lane: fsum(known[name].together for name in {name_of(item.nodeid) for item in its} & known.keys())
        for lane, its in lanes.items()
    }
    # Every process has to come to the same order.
    order = sorted(lanes, key=lambda lane: (lane != ONE_BY_ONE, lane not in first, -cost[lane], lane))
    items[:] = [item for lane in order for item in lanes[lane]]
