"""``python -m spark_report.fleet CAMPAIGN|SESSIONS...``: the fleet report as a command.

Exit codes: 0 written, 1 written and worse than the baseline, 2 bad input or usage, 70 Spark failed.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from spark_report.fleet.tables import FORMATS, HTML, JSON, MARKDOWN
from spark_report.job import REPORTS, SparkOptions, Stages, local_directory, memory_size, run_guarded, say, some_of
from spark_report.spark.errors import ReportError
from spark_report.spark.hadoop_fs import Address, parse_path

EXIT_WORSE = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    return run_guarded(lambda: _run(options, Stages()))


def _run(options: Any, stage: Callable[[str], None]) -> int:
    paths: list[Path | Address] = options.paths
    for path in [*paths, *([options.baseline] if options.baseline else [])]:
        if isinstance(path, Path) and not path.is_dir():  # checked before the slow imports of Arrow and Spark
            raise ReportError(
                f"{path}: no such directory, expected one of a campaign or of recorded sessions",
                code="not_a_directory",
            )
    out = (
        options.out
        or REPORTS
        / f"fleet-{'-'.join((path.resolve() if isinstance(path, Path) else path).name for path in paths)}"[:100]
    )
    from spark_report.fleet.report import run  # noqa: PLC0415 - imports PySpark

    wanted = SparkOptions(options.master, options.memory)
    story = run(paths, out, wanted, stage, baseline=options.baseline, formats=options.format)
    say("")
    for name, kind in ((HTML, "html"), (MARKDOWN, "md"), (JSON, "json"), ("tables", "parquet")):
        if kind in options.format:
            say(f"  {out / name}")
    return EXIT_WORSE if story.worse else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="floodmark fleet",
        description="Report over many runs: probability of findings, recovery times, dangerous settings.",
    )
    parser.add_argument("paths", metavar="CAMPAIGN|SESSIONS", nargs="+", type=parse_path)
    parser.add_argument("--baseline", metavar="CAMPAIGN|SESSIONS", type=parse_path)
    parser.add_argument("--out", metavar="DIR", type=local_directory)
    parser.add_argument("--format", metavar="LIST", type=some_of(FORMATS), default=FORMATS)
    parser.add_argument("--master", metavar="URL")
    parser.add_argument("--memory", metavar="SIZE", type=memory_size)
    return parser


if __name__ == "__main__":
    sys.exit(main())
