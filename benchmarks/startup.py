"""Benchmark of startup: CPU milliseconds of a new process until its first frame, and the modules it imports.

Every process finds its bytecode compiled, like an installed program. No terminal is needed.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import NamedTuple

PACKAGES = ("cluster_model", "faults", "playbooks", "tui")


class Start(NamedTuple):
    """Cost of a start, the best of several tries."""

    ms: float
    modules: int
    own: int
    """Imported modules that belong to floodmark."""


def started(function: Callable[[], None], tries: int) -> Start:
    """Return the cost of a whole process that runs this function."""
    code = f"from benchmarks.startup_programs import {function.__name__}; {function.__name__}()"
    with TemporaryDirectory() as compiled:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = compiled
        program = f"{code}\nimport sys; print('read', *sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
        )
        read = done.stdout.splitlines()[-1].split()[1:]
        best = float("inf")
        for _ in range(tries):
            before = _spent()
            subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
            best = min(best, 1_000 * (_spent() - before))
    return Start(best, len(read), sum(each.partition(".")[0] in PACKAGES for each in read))


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
