"""What is told at the end of a suite: a table, then what did not pass and why, then the difference to a baseline."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from playbooks.engine.job import NOT_RUN
from playbooks.errors import counted
from playbooks.exit_codes import OK
from playbooks.results.baseline import Change, Difference
from tui.cli.runs.verdicts import HEADS, STYLES, Ended, cause_lines, row, tally
from tui.output.console import say, table
from tui.output.result import CAUSES_SHOWN, print_checked

SHOWN = 10
"""Failed expectations told of each playbook; the rest is counted."""
LIGHTEST = ("events", "took", "profile", "time")
"""Columns that a narrow terminal does without, in this order."""
GAP = 3
"""Between two columns."""
TREND = {-1: ("better", "green"), 0: ("changed", ""), 1: ("worse", "yellow")}


def print_suite(console: Console, all_ended: Sequence[Ended]) -> None:
    """The table, and every playbook that did not pass."""
    say(console, "")
    heads, rows = fitting(HEADS, [row(each) for each in all_ended], console.width if console.is_terminal else None)
    table(console, heads, rows)
    for each in all_ended:
        if each.outcome.code not in (OK, NOT_RUN):
            say(console, "")
            _print_failed(console, each)
    say(console, "")
    say(console, tally(all_ended), "bold")


def fitting(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int | None
) -> tuple[list[str], list[list[str]]]:
    """A table without the columns that weigh least, as far as the width (None: any) asks for it."""
    kept = list(range(len(heads)))
    for name in LIGHTEST:
        needed = sum(max(len(cells[column]) for cells in [heads, *rows]) + GAP for column in kept)
        if width is None or needed <= width:
            break
        kept.remove(heads.index(name))
    return [heads[column] for column in kept], [[cells[column] for column in kept] for cells in rows]


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
