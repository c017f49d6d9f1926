"""Which tests come to which mutant, at what cost: ``SAMPLE=FILE pytest -p tests.mutation.reach --reach DIR``.

The modules that the sample changes are compiled with a call before each statement that a mutant is in, which notes that
it was come to. Of a mutant outside of functions that is so whenever a function of its module is.
"""

import ast
import builtins
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable
from functools import cache, partial
from pathlib import Path
from types import CodeType

import pytest

from tests.mutation.sample import ROOT, Mutant
from tests.mutation.substitute import compile_by

REACH = ROOT / "build" / "mutation" / "reach"
"""One file a process: a line has a test case, its CPU seconds and the numbers of the mutants it comes to."""
NOTE = "_floodmark_mutant_reached"
VARIABLE = "SAMPLE"
"""A path: options are not known yet when plugins import what is to be noted."""
_CACHED = type(cache(int))
_SHARED_RUN = re.compile(r"^@(?:functools\.)?(?:lru_)?cache\b|scope=\"(?:module|session)\"", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mutation")
    group.addoption("--reach", type=Path, default=REACH, help="folder of what is noted")


def read_sample(path: Path) -> list[Mutant]:
    return [Mutant(*fields) for fields in json.loads(path.read_text(encoding="utf-8"))]


class Noting:
    """Notes what each test case comes to."""

    def __init__(self, sample: list[Mutant]) -> None:
        self._reached: set[int] = set()
        self._file = ""
        setattr(builtins, NOTE, self._reached.add)
        by_path: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        for number, mutant in enumerate(sample):
            by_path[str(ROOT / mutant.path)][mutant.line].add(number)
        compile_by({path: partial(noted, Path(path), mutants) for path, mutants in by_path.items()})

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note what a case comes to and what it costs; runs that another file made do not count."""
        if self._file != (file := item.nodeid.partition("::")[0]):
            self._file = file
            forget_runs()
        self._reached.clear()
        before = cpu_seconds()
        done = yield
        folder: Path = item.config.option.reach
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as noted_here:
            row = [item.nodeid, round(cpu_seconds() - before, 4), sorted(self._reached)]
            noted_here.write(json.dumps(row) + "\n")
        return done


def noted(path: Path, mutants: dict[int, set[int]]) -> CodeType:
    """A module that tells when it comes to the statements that these lines are in."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    outside: set[int] = set().union(*mutants.values())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions:
        outside -= _note_within(function, mutants)
    for function in functions:
        first = int(ast.get_docstring(function, clean=False) is not None)
        function.body[first:first] = _calls(outside, function.body[0])
    code: CodeType = compile(ast.fix_missing_locations(tree), str(path), "exec")
    return code


def _note_within(function: ast.FunctionDef | ast.AsyncFunctionDef, mutants: dict[int, set[int]]) -> set[int]:
    """Put calls before statements of a function, without those of functions within; the numbers that have one."""
    done: set[int] = set()
    blocks = [function.body]
    while blocks:
        block = blocks.pop()
        for statement in [*block]:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            inner = [found for found in _blocks(statement) if found]
            blocks += inner
            covered = {line for each in inner for line in range(each[0].lineno, (each[-1].end_lineno or 0) + 1)}
            own = {*range(statement.lineno, (statement.end_lineno or 0) + 1)} - covered
            here = {number for line in own & mutants.keys() for number in mutants[line]}
            place = next(index for index, each in enumerate(block) if each is statement)
            block[place:place] = _calls(here, statement)
            done |= here
    return done


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    parts = [statement, *getattr(statement, "handlers", []), *getattr(statement, "cases", [])]
    return [getattr(part, name, []) for part in parts for name in ("body", "orelse", "finalbody")]


def _calls(numbers: set[int], before: ast.stmt) -> list[ast.stmt]:
    calls = [ast.parse(f"{NOTE}({number})").body[0] for number in sorted(numbers)]
    for call in calls:
        for node in ast.walk(call):
            ast.copy_location(node, before)
    return calls


def forget_runs() -> None:
    """Empty what functions of tests keep, so that each file makes its own runs."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("tests."):
            for value in [*vars(module).values()]:
                if isinstance(value, _CACHED):
                    value.cache_clear()


def cpu_seconds() -> float:
    """What this process took so far, with the processes it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def function_of(nodeid: str) -> str:
    """The test function of a case: without parameters and group."""
    return nodeid.partition("[")[0].partition("@")[0]


class Reach:
    """Test functions by the mutants that they come to."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.costs: dict[str, float] = defaultdict(float)
        """CPU seconds of test functions, of all their cases together."""
        self._found: dict[int, set[str]] = defaultdict(set)
        for line in lines:
            case, seconds, numbers = json.loads(line)
            self.costs[function_of(case)] += seconds
            for number in numbers:
                self._found[number].add(function_of(case))
        self._by_file: dict[str, set[str]] = defaultdict(set)
        for test in self.costs:
            self._by_file[test.partition("::")[0]].add(test)

    def tests(self, number: int, mutant: Mutant) -> list[str]:
        """Names of tests, file by file: those of the mutant's package first, then the cheapest; where the tests of a
        file share runs, all of them.
        """
        found = self._found[number]
        files = {test.partition("::")[0] for test in found}
        found = found.union(*(self._by_file[file] for file in files if shares_runs(file)))
        costs: dict[str, float] = defaultdict(float)
        for test in found:
            costs[test.partition("::")[0]] += self.costs[test]
        near = mutant.path.split("/")[1]

        def rank(test: str) -> tuple[bool, float, str, float, str]:
            file = test.partition("::")[0]
            return near not in file.split("/"), costs[file], file, self.costs[test], test

        return sorted(found, key=rank)


@cache
def shares_runs(file: str) -> bool:
    """Whether a test there may look at a run that another one made."""
    return bool(_SHARED_RUN.search((ROOT / file).read_text(encoding="utf-8")))


if VARIABLE in os.environ:
    NOTING = Noting(read_sample(Path(os.environ[VARIABLE])))

    def pytest_configure(config: pytest.Config) -> None:
        config.pluginmanager.register(NOTING)
