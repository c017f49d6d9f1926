"""The start: CPU milliseconds of a new process until its first picture, and what it read for that.

Every process finds its bytecode compiled, as one of an installed program does. A terminal is not needed.
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
    """What a start cost, at best."""

    ms: float
    modules: int
    own: int
    """Of them, the program's."""


def started(what: Callable[[], None], tries: int) -> Start:
    """What a whole process takes for that."""
    code = f"from benchmarks.starts import {what.__name__}; {what.__name__}()"
    with TemporaryDirectory() as compiled:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = compiled
        told = f"{code}\nimport sys; print('read', *sys.modules)"
        done = subprocess.run([sys.executable, "-c", told], env=environment, check=True, capture_output=True, text=True)
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
