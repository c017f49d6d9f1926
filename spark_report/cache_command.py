"""``python -m spark_report.cache_command warm|status|clear``: the JVM's cache as a command.

Exit codes: 0 done (``status``: there is one that fits), 1 ``status`` found none, 2 no Java for it or no place to keep
it, 70 an internal error, 130 after Ctrl-C.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from spark_report.commanding import guarded
from spark_report.job import Stages
from spark_report.model.format import clean
from spark_report.pipes import say
from spark_report.spark import warmth

_COLD: Final = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="floodmark spark", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("warm", "status", "clear"))
    action = parser.parse_args(arguments).action
    work = {"warm": _warm, "status": _status, "clear": _clear}[action]
    return guarded(work, stopped="stopped; an earlier cache is as it was")


def _warm() -> int:
    from spark_report.aot_cache import warm  # noqa: PLC0415 - imports PySpark's neighbours

    made = warm(Stages())
    say(f"warm: {made.bytes >> 20} MB for Java {made.version} from {made.origin}; every report uses it from now on")
    return 0


def _status() -> int:
    for file, warm in warmth.all_warm(os.environ):
        state = "fits" if warmth.fits(file, warm) else "does not fit any more"
        what = f"Java {warm.version} from {warm.origin}, PySpark {warm.pyspark}, {warm.environment}"
        print(f"{file}  {warm.bytes >> 20} MB  {state}: {clean(what)}")
    if warmth.usable(os.environ):
        return 0
    say("cold: `floodmark spark warm` makes a cache with which reports start faster")
    return _COLD


def _clear() -> int:
    say(f"removed {warmth.forget(os.environ) >> 20} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
