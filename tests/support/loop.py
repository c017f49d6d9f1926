"""The everyday loop, ``pytest --quick``: without what is costly, and without even reading the files of nothing else.

Of a test with many cheap cases it has some, evenly spread. What it leaves out carries a marker, and is run by the other
groups of ``make test``.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.costs import ALONE, LOOP, Cost, costly, name_of

LEFT_OUT = ("thorough", *ALONE)
_TESTS = re.compile(r"^ *(?:async )?def test_\w+", re.MULTILINE)
_OTHER_TESTS = re.compile(r"^Test\w+ *=|^from tests.* import .*\btest_", re.MULTILINE)
_ALL_MARKED = re.compile(rf"^pytestmark = pytest\.mark\.(?:{'|'.join(LEFT_OUT)})$", re.MULTILINE)


def mark_costly(items: Sequence[pytest.Item], known: dict[str, Cost]) -> None:
    """Make those cases thorough that are too much for the loop."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        name = name_of(item.nodeid)
        if name in known:
            cases[name].append(item)
    for name, found in cases.items():
        stay = spread(len(found), known[name].stay(len(found)))
        for place, item in enumerate(found):
            if place not in stay:
                item.add_marker(pytest.mark.thorough)


def spread(cases: int, stay: int) -> frozenset[int]:
    """Places of the cases that stay, from the first to the last."""
    stay = min(stay, cases)
    return frozenset(number * (cases - 1) // max(1, stay - 1) for number in range(stay))


class Loop:
    """Leaves out what is not of the loop, as early as that can be known."""

    def __init__(self) -> None:
        self._known = costly()
        self._out = {name for name, cost in self._known.items() if cost.slowest > LOOP}
        self._out_of_file = Counter(name.partition("::")[0] for name in self._out)

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Whether a file has nothing that is of the loop."""
        if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
            return None
        text = collection_path.read_text(encoding="utf-8")
        out = self._out_of_file[collection_path.relative_to(config.rootpath).as_posix()]
        every = out > 0 and out == len(_TESTS.findall(text)) and not _OTHER_TESTS.search(text)
        return True if every or _ALL_MARKED.search(text) else None

    def pytest_pycollect_makeitem(self, collector: pytest.Collector, name: str) -> list[pytest.Item] | None:
        """Nothing for a test that is left out with all of its cases."""
        return [] if f"{collector.nodeid}::{name}" in self._out else None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what is marked."""
        out = [item for item in items if any(item.get_closest_marker(name) for name in LEFT_OUT)]
        config.hook.pytest_deselected(items=out)
        gone = set(map(id, out))
        items[:] = [item for item in items if id(item) not in gone]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was left out, and who runs it."""
        some = len(self._known) - len(self._out)
        terminalreporter.write_line(
            f"left out, and run by `make test`: {len(self._out)} costly tests and most cases of {some} more "
            f"(tests/costly.txt), and what is marked {', '.join(LEFT_OUT[:-1])} or {LEFT_OUT[-1]}"
        )
