"""Types commands at floodmark, in a process of its own or right here."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

FLOODMARK = (sys.executable, "-m", "tui.cli.main")
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Typed:
    """What came of a command."""

    code: int
    out: str
    err: str


Steady = Callable[[str], str]
"""What a command printed, without what is another at every run."""


def floodmark(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Typed:
    """Run a command in a process, its input closed and its output piped."""
    done = subprocess.run(
        [*FLOODMARK, *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return Typed(done.returncode, done.stdout, done.stderr)
