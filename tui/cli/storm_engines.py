"""Who does the runs of a campaign: the cores of this machine, or Spark in a process of its own."""

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from playbooks.problems import nearest
from playbooks.storms.campaign import Come
from playbooks.storms.come_file import take_come
from playbooks.storms.plan import Plan
from playbooks.storms.plan_file import write_plan
from tui.cli.reporting import SIGNALLED, run_to_its_end

LOCAL: Final = "local"
SPARK: Final = "spark"
ENGINES: Final = (LOCAL, SPARK)


class EngineError(Exception):
    """The engine did not get to the end; ``code`` is the exit code, and it has said why itself."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


def why_not(engine: str, master: str | None, memory: str | None, *, workers: int) -> str:
    """What is wrong with the options of an engine, empty if nothing is."""
    if engine not in ENGINES:
        return f"--engine: found {engine!r}, allowed are {', '.join(ENGINES)}{nearest(engine, ENGINES)}"
    given = [name for name, value in (("--master", master), ("--memory", memory)) if value is not None]
    if engine == LOCAL and given:
        return f"found {given[0]} with --engine local, allowed is it with --engine spark"
    if engine == SPARK and workers:
        return "found --workers with --engine spark, allowed is --master, such as local[4] or spark://host:7077"
    return ""


def run_on_spark(folder: Path, plan: Plan, runs: int, master: str | None, memory: str | None, stop_on: str) -> Come:
    """Do the runs that are missing; what they came to, as Spark added it up.

    Raises:
        EngineError: it failed; what has landed stays.
    """
    write_plan(folder, plan)
    take_come(folder)
    command: Sequence[object] = (
        *(sys.executable, "-m", "spark_report.campaigns", folder, "--runs", runs),
        *(("--stop-on", stop_on) if stop_on else ()),
        *(("--master", master) if master is not None else ()),
        *(("--memory", memory) if memory is not None else ()),
    )
    code = run_to_its_end([str(word) for word in command])
    come = take_come(folder)
    if come is None or code not in (0, SIGNALLED + signal.SIGINT):
        raise EngineError(code or SIGNALLED)
    return come
