"""``python -m spark_report SESSION...``: the report as a command.

Exit codes: 0 at least one session was reported, 2 bad input or usage, 70 an internal error.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from cluster_model.util.quantities import counted
from playbooks.session_format.session_files import BundleError, SessionError, sessions_root
from playbooks.session_format.session_finder import find_session
from playbooks.text import printable
from spark_report.job import FORMATS, JobResult, local_directory, memory_size, run, run_guarded, say, some_of
from spark_report.spark.errors import ReportError
from spark_report.spark.hadoop_fs import Address, parse_path

EXIT_CODES: Final = (
    "Exit code 0: at least one session is reported. 2: bad input, no Java, or an unusable master or directory. "
    "70: Spark failed; the path of its log is printed. 130, 143: stopped. An earlier report changes only with code 0."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    return run_guarded(lambda: _run(options), stopped="stopped; an earlier report is unchanged")


def _run(options: Any) -> int:
    outcome = run(
        [_meant(path) for path in options.sessions],
        out=options.out,
        formats=options.format,
        master=options.master,
        memory=options.memory,
        baseline=_meant(options.baseline) if options.baseline else None,
    )
    _tell(outcome)
    return 0


def _meant(path: Path | Address) -> Path | Address:
    """Return the session of a path, id or bundle; a path that is none of these is reported later with the others."""
    if isinstance(path, Address):
        return path
    try:
        return find_session(str(path), sessions_root())
    except BundleError as error:
        raise ReportError(str(error), code=error.code) from error
    except SessionError:
        return path


def _tell(outcome: JobResult) -> None:
    """Print the paths of the report, and what it leaves out."""
    say("")
    if outcome.set_aside:
        say(f"{counted(len(outcome.set_aside), 'session')} set aside, see above")
    for session_id in outcome.contradicted:
        say(f"{printable(session_id)}: its results disagree with its events, see the table disagreements")
    say(f"reported {counted(outcome.reported, 'session')}")
    for file in outcome.files:
        say(f"  {file}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="floodmark report",
        description="Report what recorded sessions lost, how long partitions were unavailable, and why; with PySpark.",
        epilog=EXIT_CODES,
    )
    parser.add_argument(
        "sessions",
        metavar="SESSION",
        nargs="+",
        type=parse_path,
        help="directory of a recorded session, or a directory of such directories, hdfs://... as well; an id, a bundle",
    )
    parser.add_argument(
        "--out", metavar="DIR", type=local_directory, help="where to write (default: reports/<session id>)"
    )
    parser.add_argument(
        "--format",
        metavar="LIST",
        type=some_of(FORMATS),
        default=FORMATS,
        help=f"any of {','.join(FORMATS)} (default: all)",
    )
    parser.add_argument(
        "--baseline", metavar="SESSION", type=parse_path, help="session to compare the others with; it is reported too"
    )
    parser.add_argument(
        "--master", metavar="URL", help="Spark, such as spark://host:7077 or sc://host:15002 (default: this machine)"
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        type=memory_size,
        help="heap of Spark's driver, such as 4g (default: a quarter of the machine, at most 4g)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
