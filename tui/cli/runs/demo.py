"""``floodmark demo``: a short tour of floodmark's results, from playbooks to the report, in one terminal page."""

import io
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from cluster_model.util.quantities import counted, short_seconds
from playbooks.errors import BAD_INPUT, CODES, OK, worst
from playbooks.recording.recorder import Recorder
from playbooks.results.result import SessionResult
from playbooks.session_format.session_files import read_object, sessions_root
from tui.cli.runs.session_driver import SessionDriver
from tui.cli.runs.spark_jobs import Report, report
from tui.output import command_end
from tui.output.console import SafeConsole, print_line, print_parts, stdout_console
from tui.output.result import PIPED, STYLES, loss_lines, print_checked, print_result, print_wrapped
from tui.session.playbook_choice import choose

FORMATS: Final = "html,parquet,json"
FULL_TEXT: Final = "demo.txt"
"""File beside the report with the full output of ``floodmark run`` for each playbook."""
_INDENT: Final = " " * 9


@dataclass(frozen=True, slots=True)
class Chapter:
    """A few playbooks that demonstrate one point."""

    title: str
    point: str
    playbooks: tuple[str, ...]
    conclusion: str
    """Format string of the conclusion; its fields are the playbooks' lost and acknowledged records and downtimes."""


CHAPTERS: Final = (
    Chapter(
        "KIP-101: an acknowledged record is lost under 0.10.2 and kept under 3.9",
        "The same crashes under two Kafka versions. Before KIP-101 a follower truncated its log to its own high "
        "watermark, which may be stale.",
        ("kip-101-scenario-1-0.10.2", "kip-101-scenario-1-3.9"),
        "the same crashes lose {lost[0]} of {acked[0]} acknowledged records under Kafka 0.10.2 and {lost[1]} under 3.9",
    ),
    Chapter(
        "Two replicas differ at one offset, undetected",
        "A power loss under the same two versions. Both lose the record, but do the replicas agree afterwards?",
        ("kip-101-scenario-2-0.10.2", "kip-101-scenario-2-3.9"),
        "a power loss before the flush loses {lost[1]} of {acked[1]} in both, and only 0.10.2 leaves diverged replicas",
    ),
    Chapter(
        "A leader crashes under load",
        "Three brokers, a producer with acks=all, and the leader is killed under load.",
        ("leader-crash",),
        "a leader crash with acks=all costs {out[0]} of availability and {lost[0]} of {acked[0]} records",
    ),
)


def demo(out: Path) -> int:
    """Run the chapters, report on them, and print where to look next; return the worst exit code."""
    text = io.StringIO()
    console, full = stdout_console(), SafeConsole(file=text, width=PIPED, highlight=False, soft_wrap=True)
    chapters: list[list[SessionResult]] = []
    driver = SessionDriver(full)
    for number, chapter in enumerate(CHAPTERS, start=1):
        for output in (console, full):
            _head(output, f"{number}. {chapter.title}", first=number == 1)
            print_line(output, chapter.point)
        chapters.append([])
        for name in chapter.playbooks:
            print_line(full, "")
            recorder = Recorder(sessions_root())
            try:
                result = driver.run(choose(name, None, {}), recorder)
            except Exception as error:
                return command_end.report_internal_error(error, recorder)
            print_result(full, result)
            _print_short(console, result, earlier=[each for each in chapters[-1] if each.losses])
            chapters[-1].append(result)
    _head(console, f"{len(CHAPTERS) + 1}. The report, by Spark")
    console.file.flush()
    of = [result for chapter in chapters for result in chapter]
    code = report(Report([result.session for result in of], out, FORMATS, why=False))
    if not command_end.write_file("--out", out / FULL_TEXT, text.getvalue()):
        code = code or BAD_INPUT
    if code != OK:
        return code
    _print_next(console, out, of)
    _print_conclusions(console, chapters)
    return worst(CODES[result.verdict] for result in of)


def _head(console: Console, title: str, *, first: bool = False) -> None:
    if not first:
        print_line(console, "")
    print_line(console, title, "bold")


def _print_short(console: Console, result: SessionResult, earlier: Sequence[SessionResult]) -> None:
    """Print the result in one line, and the causes of losses that no run in ``earlier`` had."""
    held = sum(checked.ok for checked in result.expectations)
    word = "as expected" if result.verdict == "pass" else result.verdict.upper()
    lost = f"{counted(result.ledger.acked_lost, 'acknowledged record')} lost"
    came = f": {held} of {counted(len(result.expectations), 'expectation')} held; {lost}"
    version = result.profile.partition("-")[0]
    print_parts(console, [(f"{version:<9}", "bold"), (word, STYLES[result.verdict]), (came, "")], _INDENT)
    for checked in result.expectations:
        if not checked.ok:
            print_checked(console, checked)
    known = {cause for each in earlier for cause in loss_lines(each.losses)}
    for cause in loss_lines(result.losses):
        print_wrapped(console, f"{'because':<9}{'the same cause' if cause in known else cause}", _INDENT)


def _print_next(console: Console, out: Path, of: Sequence[SessionResult]) -> None:
    command = "floodmark" if shutil.which("floodmark") else shlex.quote(sys.argv[0])
    print_line(console, "")
    rows = (
        ("summary", str(read_object(out / "report.json").get("headline", ""))),
        ("report", str(out / "report.html")),
        ("full output", str(out / FULL_TEXT)),
        ("replay", f"{command} replay {of[0].session}"),
        ("TUI", command),
    )
    for what, where in rows:
        print_parts(console, [(f"{what:<12}", ""), (where, "bold")])


def _print_conclusions(console: Console, chapters: Sequence[Sequence[SessionResult]]) -> None:
    """Print the conclusions with the numbers of this run, a line for each chapter."""
    print_line(console, "")
    print_line(console, "Conclusions", "bold")
    for chapter, of in zip(CHAPTERS, chapters, strict=True):
        text = chapter.conclusion.format(
            lost=[each.ledger.acked_lost for each in of],
            acked=[each.ledger.acked for each in of],
            out=[short_seconds(each.unavailable.us) for each in of],
        )
        print_parts(console, [(f"- {text}", "")], "  ")
