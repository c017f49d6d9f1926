"""What is told at the end of a suite: a table, then what did not pass and why, then the difference to a baseline."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from playbooks.baseline import Change, Difference
from playbooks.exit_codes import OK
from playbooks.job import NOT_RUN
from playbooks.problems import counted
from tui.cli.console import say, table
from tui.cli.printing import CAUSES_SHOWN, print_checked
from tui.cli.verdicts import HEADS, STYLES, Ended, cause_lines, row, tally

SHOWN = 10
"""Failed expectations told of each playbook; the rest is counted."""
TREND = {-1: ("better", "green"), 0: ("changed", ""), 1: ("worse", "yellow")}


def print_suite(console: Console, all_ended: Sequence[Ended]) -> None:
    """The table, and every playbook that did not pass."""
    say(console, "")
    table(console, HEADS, [row(each) for each in all_ended])
    for each in all_ended:
        if each.outcome.code not in (OK, NOT_RUN):
            say(console, "")
            _print_failed(console, each)
    say(console, "")
    say(console, tally(all_ended), "bold")


def _print_failed(console: Console, ended: Ended) -> None:
    outcome, result = ended.outcome, ended.outcome.result
    reason = outcome.error or (result.reason if result else "")
    head = f"{ended.verdict.upper()}  {ended.name}" + (f": {reason}" if reason else "")
    say(console, head, STYLES[ended.verdict])
    failed = [each for each in result.expectations if not each.ok] if result is not None else []
    for checked in failed[:SHOWN]:
        print_checked(console, checked)
    if len(failed) > SHOWN:
        say(console, f"         and {counted(len(failed) - SHOWN, 'more expectation')}")
    causes = cause_lines(ended)
    for cause in causes[:CAUSES_SHOWN]:
        say(console, f"cause    {cause}", "red")
    if len(causes) > CAUSES_SHOWN:
        say(console, f"         and {counted(len(causes) - CAUSES_SHOWN, 'more cause')}", "red")
    if outcome.session:
        say(console, f"session  {outcome.session}")
    if outcome.account:
        say(console, f"account  {outcome.account}")
    say(console, f"again    {ended.command}")


def print_differences(console: Console, path: str, differences: Sequence[Difference]) -> None:
    """How the run differs from the baseline in that file, and what that means for the exit code."""
    changed = [each for each in differences if each.changes]
    say(console, "")
    if not changed:
        say(console, f"baseline {path}: no difference in {counted(len(differences), 'playbook')}")
        return
    say(console, f"baseline {path}: {counted(sum(len(each.changes) for each in changed), 'difference')}")
    for each in changed:
        for change in each.changes:
            _print_change(console, each.playbook, change)
    regressed = [each.playbook for each in changed if each.regression]
    if regressed:
        say(console, regression_words(regressed), "bold red")


def regression_words(playbooks: Sequence[str]) -> str:
    """That the run fails by the baseline, and by which playbooks."""
    return f"REGRESSION: worse than the baseline, so that the run fails (exit code 1): {', '.join(playbooks)}"


def _print_change(console: Console, playbook: str, change: Change) -> None:
    word, style = TREND[change.trend]
    if change.regression:
        style = "bold red"
    start = f"[{style}]{word:<9}[/]" if style else f"{word:<9}"
    console.print(f"{start}{escape(printable(playbook))}  {escape(printable(str(change)))}")


def printable(text: str) -> str:
    """Text of a stored file without what a terminal would take for commands."""
    return "".join(c if c.isprintable() else "?" for c in text)
