"""Types commands at floodmark, in a process of its own or right here."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tui.cli.runs import spark_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def report_here(monkeypatch: pytest.MonkeyPatch, spark: "SparkSession") -> None:
    """Have a report that is asked for made in this process, on a Spark that runs already, and not in one of its own.

    What lost records is not asked why: that takes a minute, and has tests of its own.
    """
    from spark_report import __main__ as program  # noqa: PLC0415 - loads Spark
    from spark_report import job  # noqa: PLC0415
    from spark_report.spark.session import RunningSpark  # noqa: PLC0415

    @contextmanager
    def at_hand(*_: Any, **__: Any) -> Iterator[RunningSpark]:
        yield RunningSpark(spark, "at hand", None)

    def run(command: list[str]) -> int:
        assert command[:4] == [sys.executable, "-P", "-m", "spark_report"]
        before = signal.getsignal(signal.SIGTERM)
        try:
            return program.main(command[4:])
        finally:
            signal.signal(signal.SIGTERM, before)

    monkeypatch.setattr(job, "start", at_hand)
    monkeypatch.setattr(spark_jobs, "explain_losses", lambda _paths, wanted: None)
    monkeypatch.setattr(spark_jobs, "run_subprocess", run)
