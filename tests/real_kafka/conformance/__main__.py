"""Command line: compare evidence with the model, run scenarios on real brokers, write the page of results."""

import argparse
import sys
import time
from pathlib import Path

from docs.generate.__main__ import ROOT, page_text
from kafka_logs.segments import KafkaLogsError
from playbooks.errors import PlaybookError
from tests.real_kafka.conformance.results import (
    SEEDS,
    compare_evidence,
    report_comparison,
    write_recording,
)
from tests.real_kafka.conformance.run_queue import RunQueue, jobs_of
from tests.real_kafka.conformance.scenario_table import RELEASES, SCENARIOS
from tests.real_kafka.history import RUN
from tests.real_kafka.run import RunRefusedError, missing, terminable


def main() -> int:
    """Run a command; return its exit code: 0 agreed, 1 differences, 2 refused, 70 a run failed."""
    given = _parser().parse_args()
    if given.command == "compare":
        return _compare(given.evidence, given.seeds, record=given.record)
    if given.command == "page":
        write_pages()
        return 0
    return _conform(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.real_kafka.conformance", description="Real Kafka brokers compared with the model."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    compared = commands.add_parser("compare", help="compare the evidence of real runs with the model")
    compared.add_argument("evidence", nargs="+", type=Path, metavar="DIR", help="directory that `run` wrote")
    compared.add_argument("--seeds", type=int, default=SEEDS, help="runs of the model")
    compared.add_argument("--record", action="store_true", help="keep the facts of runs without new differences")
    conformed = commands.add_parser("conform", help="run scenarios on real brokers and compare them with the model")
    names = [scenario.name for scenario in SCENARIOS]
    conformed.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"default: all; {', '.join(names)}")
    conformed.add_argument("--kafka", action="append", choices=RELEASES, help="default: the releases of each scenario")
    conformed.add_argument("--minutes", type=float, default=40, help="start no run that may take longer; default: 40")
    conformed.add_argument("--parallel", type=int, default=2, choices=(1, 2, 3, 4), help="runs at a time; default: 2")
    conformed.add_argument("--out", type=Path, metavar="DIR", help="directory of the evidence")
    commands.add_parser("page", help="write the pages of the manual that name recorded runs")
    return parser


def write_pages() -> None:
    """Write the pages of the manual that name recorded runs."""
    for page in ("conformance", "fidelity"):
        (ROOT / "docs" / "reference" / f"{page}.md").write_text(page_text(page), encoding="utf-8")


def _report(text: str) -> None:
    print(text, flush=True)


def _compare(directories: list[Path], seeds: int, *, record: bool) -> int:
    code = 0
    for directory in directories:
        if not (directory / RUN).is_file():
            print(f"refused: {directory}: found no {RUN}, expected the evidence of a real run", file=sys.stderr)
            return 2
    for directory in directories:
        try:
            real, found = compare_evidence(directory, seeds)
        except (OSError, ValueError, KafkaLogsError, PlaybookError, RunRefusedError) as error:
            print(f"failed: {error}", file=sys.stderr)
            code = 70
            continue
        report_comparison(found, _report)
        code = max(code, int(bool(found.unknown)))
        if record and not found.unknown:
            _report(f"recorded: {write_recording(real, found.release)}")
    return code


def _conform(given: argparse.Namespace) -> int:
    names: list[str] = given.scenarios
    unknown = [name for name in names if name not in [scenario.name for scenario in SCENARIOS]]
    if unknown:
        known = ", ".join(scenario.name for scenario in SCENARIOS)
        print(f"refused: found scenario {unknown[0]!r}, expected {known}", file=sys.stderr)
        return 2
    jobs = jobs_of(names, given.kafka or ())
    if lacking := missing():
        print(f"refused: all {len(jobs)} runs are skipped: real brokers need {', '.join(lacking)}", file=sys.stderr)
        return 2
    directory = given.out or Path("build/real-kafka") / f"conformance-{time.time_ns() // 10**9}"
    try:
        with terminable():
            return RunQueue(directory, given.minutes, given.parallel, _report).run(jobs)
    except KeyboardInterrupt:
        print(f"interrupted; evidence so far: {directory}", file=sys.stderr)
        return 130
    finally:
        write_pages()


if __name__ == "__main__":
    sys.exit(main())
