"""Which tests come to a line of the source, and what they cost: noted in one run of the suite.

``pytest -p tests.mutation.reach --cov --cov-context=test`` leaves ``.coverage`` and a file of costs for each process.
"""

import json
import os
from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest
from coverage import CoverageData

from tests.mutation.sample import ROOT, Mutant
from tests.support.costs import cpu_seconds, name_of

COSTS = ROOT / "build" / "mutation" / "costs"
"""One file a process: a line has a test case and its CPU seconds."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note what a case costs."""
    before = cpu_seconds()
    done = yield
    COSTS.mkdir(parents=True, exist_ok=True)
    with (COSTS / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps([item.nodeid, round(cpu_seconds() - before, 4)]) + "\n")
    return done


def function_of(context: str) -> str:
    """The test function of a case, or of a context of the coverage: without phase, parameters and group."""
    return name_of(context.partition("|")[0]).partition("@")[0]


def costs_of(lines: Iterable[str]) -> dict[str, float]:
    """CPU seconds of test functions, of all their cases together."""
    found: dict[str, float] = defaultdict(float)
    for line in lines:
        node, seconds, *_ = json.loads(line)
        found[function_of(node)] += seconds
    return dict(found)


class Reach:
    """Test functions by the lines that they come to."""

    def __init__(self, coverage: Path, costs: dict[str, float]) -> None:
        self._data = CoverageData(str(coverage))
        self._data.read()
        self._costs = costs
        self._files = {_relative(name): name for name in self._data.measured_files()}
        self._known: dict[str, dict[int, set[str]]] = {}

    def tests(self, mutant: Mutant) -> list[str]:
        """Names of tests, those of the package first, then the cheapest; of a line that only an import comes to: all
        that come to the file.
        """
        lines = self._lines(mutant.path)
        found = lines.get(mutant.line) or {test for tests in lines.values() for test in tests}
        near = mutant.path.split("/")[1]
        known = found & self._costs.keys()
        return sorted(known, key=lambda test: (near not in test.partition("::")[0].split("/"), self._costs[test], test))

    def _lines(self, path: str) -> dict[int, set[str]]:
        if path not in self._known:
            found: dict[int, set[str]] = defaultdict(set)
            if path in self._files:
                for line, contexts in self._data.contexts_by_lineno(self._files[path]).items():
                    found[line].update(map(function_of, filter(None, contexts)))
            self._known[path] = {line: tests for line, tests in found.items() if tests}
        return self._known[path]


def _relative(name: str) -> str:
    """``.../cluster_model/log/x.py`` as the mutants name it, whichever checkout it was measured in."""
    package = "cluster_model" if "/cluster_model/" in name else "playbooks"
    return f"{package}/{name.rpartition(f'/{package}/')[2]}"
