"""What the commands that run Spark have in common: their exit codes, how they fail, and options of theirs."""

import argparse
import os
import re
import signal
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from spark_report.model.format import clean
from spark_report.pipes import say
from spark_report.spark.errors import JobError, ReportError, first_line
from spark_report.spark.hadoop_fs import place

EXIT_BAD_INPUT: Final = 2
EXIT_INTERNAL: Final = 70
EXIT_INTERRUPTED: Final = 128 + signal.SIGINT


def guarded(work: Callable[[], int], stopped: str = "") -> int:
    """Do it; every way to fail is one line and an exit code. ``stopped`` is said after Ctrl-C."""
    # What is stopped by its terminal or its CI job must still take Spark and its temporary files down.
    signal.signal(signal.SIGTERM, _stop)
    try:
        return work()
    except ReportError as error:
        for line in str(error).splitlines():
            say(f"error: {clean(line)}")
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        if stopped:
            say(stopped)
        return EXIT_INTERRUPTED
    except Exception as error:
        if not isinstance(error, JobError) or os.environ.get("FLOODMARK_DEBUG"):
            traceback.print_exc()
        say(f"internal error: {clean(first_line(error))}")
        return EXIT_INTERNAL


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    """End as a signal would, by way of every clean-up."""
    raise SystemExit(128 + number)


def memory_size(text: str) -> str:
    """A heap as Java takes it. Raises ArgumentTypeError for what is none."""
    if re.fullmatch(r"[1-9]\d{0,5}[mg]", text) is None:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected megabytes or gigabytes, such as 800m or 4g")
    return text


def some_of(allowed: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """What reads a list with commas of names that are allowed, and gives them in the order of ``allowed``."""

    def names(text: str) -> tuple[str, ...]:
        wanted = [name.strip() for name in text.split(",") if name.strip()]
        for name in wanted or ["nothing"]:
            if name not in allowed:
                found = repr(name) if wanted else name
                raise argparse.ArgumentTypeError(f"found {found}, allowed are {', '.join(allowed)}")
        return tuple(name for name in allowed if name in wanted)

    return names


def local_directory(text: str) -> Path:
    """A directory to write to. Raises ArgumentTypeError where it is behind a scheme."""
    found = place(text)
    if not isinstance(found, Path):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a directory on a disk, to be copied from there")
    return found
