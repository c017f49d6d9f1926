"""``floodmark demo``: what floodmark is for, shown once from end to end."""

import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from playbooks.exit_codes import CODES, OK
from playbooks.recording.recorder import Recorder
from playbooks.results.result import Result
from playbooks.session_format.session_files import read_object, sessions_root
from tui.cli.runs.driving import Driving
from tui.cli.runs.reporting import Report, report
from tui.output import crash
from tui.output.console import people, say
from tui.output.result import STYLES, loss_lines, print_verdict
from tui.session.chosen import choose

FORMATS = "html,parquet,json"


@dataclass(frozen=True, slots=True)
class Chapter:
    """Some playbooks that make one point."""

    title: str
    point: str
    playbooks: tuple[str, ...]


CHAPTERS = (
    Chapter(
        "An acknowledged record dies, and then it does not",
        "The same crashes under two Kafka versions: before KIP-101 a follower cut its log back to a high watermark "
        "that it had not heard was out of date.",
        ("kip-101-scenario-1-0.10.2", "kip-101-scenario-1-3.9"),
    ),
    Chapter(
        "Two logs differ at one offset, and nobody notices",
        "A power loss under the same two versions: what is lost stays lost, but do the replicas agree afterwards?",
        ("kip-101-scenario-2-0.10.2", "kip-101-scenario-2-3.9"),
    ),
    Chapter(
        "A leader crashes under load",
        "Three brokers, a producer with acks=all, and the leader killed at full speed.",
        ("leader-crash",),
    ),
)


def demo(out: Path) -> int:
    """Run the chapters, report on them, and say where to look next. Returns the worst exit code."""
    console = people()
    results: list[Result] = []
    driving = Driving(console)
    for chapter in CHAPTERS:
        _head(console, chapter.title)
        say(console, chapter.point, "italic")
        for name in chapter.playbooks:
            say(console, "")
            recorder = Recorder(sessions_root())
            try:
                result = driving.run(choose(name, None, {}), recorder)
            except Exception as error:
                return crash.keep(error, recorder)
            _tell(console, result)
            results.append(result)
    _head(console, "The report, by Spark")
    code = report(Report([result.session for result in results], out, FORMATS))
    if code != OK:
        return code
    _next(console, out, results)
    return max(CODES[result.verdict] for result in results)


def _head(console: Console, title: str) -> None:
    say(console, "")
    if console.is_terminal:
        console.print(Rule(title, align="left"), soft_wrap=False)
    else:
        say(console, f"== {title} ==")


def _tell(console: Console, result: Result) -> None:
    """The verdict and why, in as few lines as it takes."""
    for checked in result.expectations:
        if not checked.by_step:
            say(console, f"{'ok' if checked.ok else 'FAILED':<9}{checked.text}", "" if checked.ok else "red")
    lost = loss_lines(result.losses)
    say(console, f"{'lost':<9}{result.ledger.acked_lost} of {result.ledger.acked} acknowledged records")
    for line in lost:
        say(console, f"{'because':<9}{line}", "red")
    if result.verdict == "pass":
        say(console, f"{'PASS':<9}all of it as the playbook expects", STYLES["pass"])
    else:
        print_verdict(console, result)


def _next(console: Console, out: Path, results: list[Result]) -> None:
    command = _command()
    _head(console, "Look around")
    rows = (
        ("in short", str(read_object(out / "report.json").get("headline", ""))),
        ("the report", str(out / "report.html")),
        ("once more", f"{command} replay {results[0].session}"),
        ("the screen", command),
    )
    for what, where in rows:
        console.print(f"{what:<12}", end="")
        say(console, where, "bold")


def _command() -> str:
    """How to type floodmark here: as it was just typed, unless a shell finds it by name."""
    return "floodmark" if shutil.which("floodmark") else shlex.quote(sys.argv[0])
