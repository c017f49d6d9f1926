"""What tests cost, in CPU seconds: ``tests/costly.txt`` lists those that are too much for the everyday loop.

A line is what all cases of a test take, what the slowest takes, and the test. After a change of what tests do, ``pytest
--measure tests/some/test_file.py`` (in one process, on its own) measures them again, with the processes that a test
starts; without a path it makes the whole list anew, which takes as long as ``make test``.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import pytest

COSTLY = Path(__file__).parents[1] / "costly.txt"
LOOP = 0.12
"""CPU seconds that all cases of a test together may take in the everyday loop."""
CASE = 0.003
"""What it costs besides to hand a case out to a process, and to write down what came of it."""
ALONE = ("spark", "tmux", "browser", "sockets", "compiled")
"""Markers of what never is in the everyday loop."""


class Cost(NamedTuple):
    """CPU seconds."""

    together: float
    slowest: float

    def stay(self, cases: int) -> int:
        """How many of so many cases are cheap enough together to stay in the loop."""
        return 0 if self.slowest > LOOP else int(LOOP * cases / self.together)


def name_of(nodeid: str) -> str:
    """The test of a case."""
    return nodeid.partition("[")[0]


def costly(path: Path = COSTLY) -> dict[str, Cost]:
    """Tests of which the everyday loop leaves out some cases, or all."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {name: Cost(float(together), float(slowest)) for together, slowest, name in (line.split() for line in lines)}


def kept(known: dict[str, Cost], measured: dict[str, list[float]]) -> dict[str, Cost]:
    """What is known to be costly, after these were measured case by case."""
    found = {name: cost for name, cost in known.items() if name not in measured}
    found |= {name: Cost(sum(cases), max(cases)) for name, cases in measured.items() if sum(cases) > LOOP}
    return dict(sorted(found.items()))


def write(found: dict[str, Cost], path: Path = COSTLY) -> None:
    """Keep it for all that come after."""
    lines = [f"{cost.together:.2f} {cost.slowest:.2f} {name}\n" for name, cost in found.items()]
    path.write_text("".join(lines), encoding="utf-8")


class Meter:
    """Measures what runs, and writes it down at the end."""

    def __init__(self) -> None:
        self._cases: dict[str, list[float]] = defaultdict(list)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = cpu_seconds()
        done = yield
        if not any(item.get_closest_marker(name) for name in ALONE):
            self._cases[name_of(item.nodeid)].append(cpu_seconds() - before + CASE)
        return done

    def pytest_sessionfinish(self) -> None:
        write(kept(costly(), self._cases))


def cpu_seconds() -> float:
    """CPU time of this process and of those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
