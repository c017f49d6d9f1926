"""Runs tests against mutants: ``pytest -p tests.mutation.run --mutants SAMPLE --reach DIR --outcomes FILE.jsonl``.

All tests are collected once. For each mutant a child process is forked, gets the changed functions, and runs the tests
that come to it, until one is red. What is changed outside of functions cannot be put into a process that
has imported it: such a mutant is tried in a process of its own, which reads the changed source.
"""

import gc
import json
import math
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from inspect import CO_NEWLOCALS
from itertools import accumulate
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import CodeType, FunctionType
from typing import NamedTuple

import pytest

from tests.mutation.reach import REACH, Reach, function_of, read_sample
from tests.mutation.sample import ROOT, Mutant
from tests.mutation.substitute import VARIABLE

PATIENCE = 10
"""Tests may take so many times what they usually take, and a minute more, before a mutant counts as one that hangs."""


class Outcome(NamedTuple):
    """What became of a mutant."""

    mutant: Mutant
    verdict: str
    """``killed``, ``timeout``, ``survived`` or ``unreached``: no test comes to it."""
    by: str
    """The first test that was red."""
    tests: int
    """How many test functions were to be tried, of those that come to it."""
    cpu_s: float
    """What these usually take."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mutation")
    group.addoption("--mutants", type=Path, help="the sample to be tried")
    group.addoption("--outcomes", type=Path, help="where it is noted what becomes of each")
    group.addoption("--reach", type=Path, default=REACH, help="folder of what a run with tests.mutation.reach noted")
    group.addoption("--most", type=float, default=math.inf, help="CPU seconds of tests that a mutant is tried with")
    group.addoption("--children", type=int, default=os.cpu_count(), help="how many are tried at the same time")


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Instead of running the tests once, run those that matter once a mutant."""
    options = session.config.option
    reach = Reach(line for path in options.reach.glob("*.jsonl") for line in path.read_text("utf-8").splitlines())
    items: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in session.items:
        items[function_of(item.nodeid)].append(item)
    noted = options.outcomes.read_text("utf-8").splitlines() if options.outcomes.exists() else []
    known = {tuple(json.loads(line)["key"]) for line in noted}
    children = Children(options.children, items, reach, options.most)
    sample = [*enumerate(read_sample(options.mutants))]
    with options.outcomes.open("a", encoding="utf-8", buffering=1) as file:
        for outcome in children.try_all([each for each in sample if key_of(each[1]) not in known]):
            file.write(json.dumps({"key": key_of(outcome.mutant), **outcome._asdict()}) + "\n")
            mutant = outcome.mutant
            print(f"{outcome.verdict:9} {mutant.path}:{mutant.line} {mutant.operator} {outcome.by}", flush=True)
    return True


def key_of(mutant: Mutant) -> tuple[str, str, int]:
    """What tells a mutant from all others."""
    return mutant.path, mutant.operator, mutant.occurrence


class Child(NamedTuple):
    """A process that tries a mutant."""

    mutant: Mutant
    pid: int
    pipe: int
    until: float
    tests: int
    cpu_s: float


class Children:
    """The processes that try mutants, some at a time."""

    def __init__(self, most: int, items: dict[str, list[pytest.Item]], reach: Reach, most_cpu_s: float) -> None:
        self._most = most
        self._items = items
        self._reach = reach
        self._most_cpu_s = most_cpu_s
        self._running: list[Child] = []

    def try_all(self, mutants: list[tuple[int, Mutant]]) -> Iterator[Outcome]:
        """What becomes of each, in the order in which it is known."""
        for number, mutant in mutants:
            tests = self._tests(number, mutant)
            if not tests:
                yield Outcome(mutant, "unreached", "", 0, 0.0)
                continue
            while len(self._running) >= self._most:
                yield from self._ended()
            cpu_s = sum(self._reach.costs[test] for test in tests)
            chosen = [item for test in tests for item in self._items[test]]
            self._running.append(self._fork(mutant, chosen, len(tests), cpu_s))
        while self._running:
            yield from self._ended()

    def _tests(self, number: int, mutant: Mutant) -> list[str]:
        """Those that are here and come to a mutant, one at least and as many as there is time for."""
        tests = [test for test in self._reach.tests(number, mutant) if test in self._items]
        until = list(accumulate(self._reach.costs[test] for test in tests))
        return [test for test, cpu_s in zip(tests, until, strict=True) if cpu_s <= max(self._most_cpu_s, *until[:1])]

    def _fork(self, mutant: Mutant, chosen: list[pytest.Item], tests: int, cpu_s: float) -> Child:
        reads, writes = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            os.setsid()
            os.close(reads)
            try:
                told = verdict_of(mutant, chosen)
            except BaseException as error:  # a child never goes on with what its parent does
                told = f"killed {type(error).__name__}"
            os.write(writes, told.encode())
            os._exit(0)
        os.close(writes)
        return Child(mutant, pid, reads, time.monotonic() + PATIENCE * cpu_s + 60, tests, round(cpu_s, 2))

    def _ended(self) -> Iterator[Outcome]:
        """Those that have ended, or have run for too long."""
        ready, _, _ = select.select([child.pipe for child in self._running], [], [], 1.0)
        for child in [*self._running]:
            late = time.monotonic() > child.until
            if child.pipe not in ready and not late:
                continue
            told = os.read(child.pipe, 10_000).decode() if child.pipe in ready else "timeout"
            os.killpg(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
            os.close(child.pipe)
            self._running.remove(child)
            verdict, _, by = (told or "killed").partition(" ")
            yield Outcome(child.mutant, verdict, by, child.tests, child.cpu_s)


def verdict_of(mutant: Mutant, chosen: list[pytest.Item]) -> str:
    """In the child: change the functions and run the tests; the verdict and the test that was red."""
    if not put_in(mutant):
        return in_new_process(mutant, chosen)
    red: list[str] = []

    class Watch:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                red.append(report.nodeid)

    config = chosen[0].config
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(Watch())
    for item, following in zip(chosen, [*chosen[1:], None], strict=True):
        config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if red:
            return f"killed {red[0]}"
    return "survived"


def in_new_process(mutant: Mutant, chosen: list[pytest.Item]) -> str:
    """Import everything anew, with the mutant, and run the tests; the verdict and the test that was red."""
    with NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as names:
        names.write("\n".join(dict.fromkeys(function_of(item.nodeid) for item in chosen)))
        names.flush()
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "tests.mutation.substitute"]
        command += ["-m", chosen[0].config.option.markexpr, f"@{names.name}"]
        environment = {**os.environ, VARIABLE: json.dumps(mutant)}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    red = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    nothing_red = done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    return "survived" if nothing_red else f"killed {red.group(1) if red else 'import'}"


def put_in(mutant: Mutant) -> bool:
    """Give the functions of a module, which is imported, the code of its changed source; whether that can be done."""
    path = ROOT / mutant.path
    text = path.read_text(encoding="utf-8")
    was, now = (compile(source, str(path), "exec") for source in (text, mutant.apply(text)))
    changed = [(old, new) for old, new in zip(codes_of(was), codes_of(now), strict=True) if _own(old) != _own(new)]
    if not changed or not all(old.co_flags & CO_NEWLOCALS for old, _ in changed):
        return False
    outer = {(old.co_qualname, old.co_firstlineno): new for old, new in zip(codes_of(was), codes_of(now), strict=True)}
    gc.unfreeze()  # what is frozen is not among the objects
    for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
        code = function.__code__
        if code.co_filename.endswith(f"/{mutant.path}") and (code.co_qualname, code.co_firstlineno) in outer:
            function.__code__ = outer[code.co_qualname, code.co_firstlineno]
    return True


def codes_of(code: CodeType) -> list[CodeType]:
    """A code object and all within it, in the order of the source."""
    return [code, *(inner for const in code.co_consts if isinstance(const, CodeType) for inner in codes_of(const))]


def _own(code: CodeType) -> tuple[object, ...]:
    """What a code object does itself, without those within it."""
    consts = tuple((type(const), const) for const in code.co_consts if not isinstance(const, CodeType))
    return code.co_code, consts, code.co_names, code.co_varnames
