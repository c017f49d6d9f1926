"""Ask Kafka's own classes and record their answers, or print how the model compares with recorded ones.

python -m tests.real_kafka.vectors [--release R] [SUBJECT...]   records answers (needs Maven and a JDK)
python -m tests.real_kafka.vectors table [SUBJECT...]           release x subject: equal, stated (needs neither)
python -m tests.real_kafka.vectors differences [SUBJECT...]     each difference
"""

import argparse
import difflib
import sys
import time
from collections.abc import Iterable, Sequence

from tests.real_kafka.kafka_jars import KafkaUnavailableError
from tests.real_kafka.vectors.comparison_table import differences, table
from tests.real_kafka.vectors.java_program import ask
from tests.real_kafka.vectors.recorded import path_of, record_answers
from tests.real_kafka.vectors.registry import SUBJECTS
from tests.real_kafka.vectors.subject import RELEASES, Subject

BAD_INPUT = 2
VIEWS = {"table": table, "differences": differences}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = _parser().parse_args(arguments)
    names: list[str] = given.subject
    view = VIEWS.get(names[0]) if names else None
    names = names[1:] if view else names
    if unknown := [name for name in names if name not in SUBJECTS]:
        return _refuse("subject", unknown[0], SUBJECTS)
    if unknown := [name for name in given.release if name not in RELEASES]:
        return _refuse("release", unknown[0], RELEASES)
    subjects = [SUBJECTS[name] for name in names] or list(SUBJECTS.values())
    if view:
        print(view(subjects))
        return 0
    return max((_record(subject, given.release) for subject in subjects), default=0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.real_kafka.vectors", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="subjects:\n" + "\n".join(f"  {subject.name:24} {subject.doc}" for subject in SUBJECTS.values())
        + f"\n\nreleases: {', '.join(RELEASES)}",
    )  # fmt: skip
    parser.add_argument("subject", nargs="*", metavar="SUBJECT", help="subjects, all if none is named; or a view first")
    parser.add_argument("--release", action="append", default=[], metavar="R", help="only this release (repeatable)")
    return parser


def _record(subject: Subject, only: Sequence[str]) -> int:
    """Record a subject's answers in all its releases, or in those named."""
    releases = [release for release in subject.releases if not only or release in only]
    found, failed = {}, 0
    for release in releases:
        begun = time.monotonic()
        print(f"{subject.name} {release} ...", end=" ", flush=True)
        try:
            found[release] = ask(subject, release)
        except KafkaUnavailableError as error:
            failed = 1
            print("failed", flush=True)
            print(error, file=sys.stderr, flush=True)
        else:
            print(f"{len(found[release])} answers in {time.monotonic() - begun:.1f} s", flush=True)
    if found:
        changed = record_answers(subject.name, found)
        print(f"{path_of(subject.name).name}: {'written' if changed else 'unchanged'}", flush=True)
    return failed


def _refuse(kind: str, name: str, known: Iterable[str]) -> int:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    print(f"unknown {kind} {name!r}; known: {', '.join(known)}{hint}", file=sys.stderr)
    return BAD_INPUT


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # the reader, such as head, has seen enough
        sys.stderr.close()
