"""What tests cost: those in ``tests/costly.txt`` are left out of the everyday loop, with all that is marked thorough.

After a change of what tests do, ``pytest --measure tests/some/test_file.py`` (in one process, on its own) measures them
again: CPU seconds, with those of processes that a test starts.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

COSTLY = Path(__file__).parents[1] / "costly.txt"
CASE, ALL = 0.3, 1.0
"""CPU seconds that the costliest case of a test may take in the everyday loop, and all of its cases together."""
ALONE = ("spark", "tmux", "browser", "compiled")
"""Markers of what never is in the everyday loop."""


def name_of(nodeid: str) -> str:
    """The test of a case."""
    return nodeid.partition("[")[0]


def costly(path: Path = COSTLY) -> dict[str, float]:
    """Tests that are left out of the everyday loop, with the CPU seconds of all their cases."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {name: float(seconds) for seconds, _, name in (line.partition(" ") for line in lines)}


def kept(known: dict[str, float], measured: dict[str, list[float]]) -> dict[str, float]:
    """What is known to be costly, after these were measured case by case."""
    found = {name: seconds for name, seconds in known.items() if name not in measured}
    found |= {name: sum(cases) for name, cases in measured.items() if max(cases) > CASE or sum(cases) > ALL}
    return dict(sorted(found.items()))


def write(found: dict[str, float], path: Path = COSTLY) -> None:
    """Keep it for all that come after."""
    path.write_text("".join(f"{seconds:.1f} {name}\n" for name, seconds in found.items()), encoding="utf-8")


class Meter:
    """Measures what runs, and writes it down at the end."""

    def __init__(self) -> None:
        self._cases: dict[str, list[float]] = defaultdict(list)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = _cpu_seconds()
        done = yield
        if not any(item.get_closest_marker(name) for name in ALONE):
            self._cases[name_of(item.nodeid)].append(_cpu_seconds() - before)
        return done

    def pytest_sessionfinish(self) -> None:
        write(kept(costly(), self._cases))


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
