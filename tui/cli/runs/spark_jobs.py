"""Who does the runs of a campaign: the cores of this machine, or Spark in a process of its own."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from playbooks.campaign.come_file import take_come
from playbooks.campaign.runner import Come
from playbooks.campaign.work import Work
from playbooks.campaign.workloads.plan_file import write_plan
from playbooks.errors import nearest
from playbooks.exit_codes import INTERNAL, INTERRUPTED
from tui.cli.runs.reporting import run_to_its_end
from tui.output.console import people, say

LOCAL: Final = "local"
SPARK: Final = "spark"
ENGINES: Final = (LOCAL, SPARK)
_HEAP: Final = re.compile(r"[1-9]\d{0,5}[mg]")
"""What Spark's own process takes; refused here so that no campaign's directory is made for it."""


class EngineError(Exception):
    """The engine did not get to the end; ``code`` is the exit code, and it has said why itself."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


def why_not(engine: str | None, master: str | None, memory: str | None, *, workers: str = "") -> str:
    """What is wrong with the options of an engine, empty if nothing is.

    ``workers`` is the option by which a number of processes was asked for, empty if none was.
    """
    if engine is not None and engine not in ENGINES:
        return f"--engine: found {engine!r}, allowed are {', '.join(ENGINES)}{nearest(engine, ENGINES)}"
    given = [name for name, value in (("--master", master), ("--memory", memory)) if value is not None]
    if engine != SPARK and given:
        beside = "without --engine" if engine is None else f"with --engine {engine}"
        return f"found {given[0]} {beside}, allowed is it with --engine spark"
    if memory is not None and _HEAP.fullmatch(memory) is None:
        return f"--memory: found {memory!r}, expected megabytes or gigabytes, such as 800m or 4g"
    if engine == SPARK and workers:
        return f"found {workers} with --engine spark, allowed is --master, such as local[4] or spark://host:7077"
    return ""


def run_on_spark(
    folder: Path,
    work: Work,
    runs: int,
    master: str | None,
    memory: str | None,
    *,
    stop_on: str = "",
    quiet: bool = False,
) -> Come:
    """Do the runs that are missing; what they came to, as Spark added it up. ``quiet`` prints no fleet report.

    Raises:
        EngineError: it failed; what has landed stays.
    """
    write_plan(folder, work)
    take_come(folder)
    command: Sequence[object] = (
        *(sys.executable, "-m", "spark_report.campaigns", folder, "--runs", runs),
        *(("--stop-on", stop_on) if stop_on else ()),
        *(("--master", master) if master is not None else ()),
        *(("--memory", memory) if memory is not None else ()),
        *(("--quiet",) if quiet else ()),
    )
    code = run_to_its_end([str(word) for word in command])
    come = take_come(folder)
    if come is None and code == INTERRUPTED:
        say(people(), "stopped; the same command goes on")
    if come is None or code not in (0, INTERRUPTED):
        raise EngineError(code or INTERNAL)
    come.interrupted = come.interrupted or code == INTERRUPTED  # its report is missing, if nothing else
    return come
