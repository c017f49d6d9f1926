"""Command line of runs on real brokers: ``python -m tests.real_kafka run PLAYBOOK --kafka 4.1.2``."""

import argparse
import sys
import time
from pathlib import Path

from playbooks.errors import PlaybookError
from playbooks.parser.settings import SettingError, parse_setting
from tests.real_kafka.run import FAILURES, RunOptions, RunRefusedError, run


def main() -> int:
    """Run the command; return its exit code: 0 completed, 2 refused, 3 a ``when`` did not hold in time, 70 failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_kafka", description="Playbooks on real Kafka brokers.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "run",
        help="run a playbook on real brokers and collect the evidence",
        description="Start real brokers and controllers in network namespaces, take the steps of a playbook at wall "
        "time, and write metadata log, partition logs and the clients' history into a directory.",
        epilog="exit codes: 0 completed, 2 refused before anything started, 3 a condition of a step did not hold in "
        "time, 70 failed while running",
    )
    command.add_argument("playbook", help="file or library name of the playbook")
    command.add_argument("--kafka", required=True, metavar="RELEASE", help="release of the brokers, such as 4.1.2")
    command.add_argument(
        "--out", type=Path, metavar="DIR", help="directory of the evidence; default: one named by time"
    )
    command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting; repeatable")
    command.add_argument("--controllers", type=int, default=0, choices=(0, 1, 3, 5), help="default: as the steps need")
    given = parser.parse_args()
    output = (
        given.out or Path("build/real-kafka") / f"{Path(given.playbook).stem}-{given.kafka}-{time.time_ns() // 10**9}"
    )
    try:
        settings = dict(map(parse_setting, given.set))
        options = RunOptions(given.playbook, given.kafka, output, settings, given.controllers, _progress)
        outcome = run(options)
    except (RunRefusedError, PlaybookError, SettingError) as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    except FAILURES as error:
        print(f"failed: {error}" + (f"\nevidence so far: {output}" if output.exists() else ""), file=sys.stderr)
        return 70
    except KeyboardInterrupt:
        print(f"interrupted; evidence so far: {output}", file=sys.stderr)
        return 130
    print(f"{outcome}: {output}")
    return 0 if outcome == "completed" else 3


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
