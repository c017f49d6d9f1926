"""What should have come true in time, and what stands still as it must, in words."""

from rich.console import Console

from cluster_model.observation.views import Stuck, Unjudged
from cluster_model.protocol.events import LivenessOverdue
from playbooks.errors import counted
from playbooks.results.result import Result
from playbooks.units import duration_text
from tui.output.console import say

SECOND = 1_000_000
SHOWN = 5
"""Of either told one by one; the rest is counted."""


def print_liveness(console: Console, result: Result) -> None:
    """``overdue  leader-elected: orders-0 ..., since 12 s, bound 10 s``, and who is stuck."""
    for late in result.overdue[:SHOWN]:
        say(console, f"overdue  {overdue_words(late)}", "yellow")
    if len(result.overdue) > SHOWN:
        say(console, f"         and {counted(len(result.overdue) - SHOWN, 'more overdue promise')}", "yellow")
    if result.unjudged:
        say(console, f"unjudged {unjudged_words(result.unjudged)}", "dim")
    for each in result.stuck[:SHOWN]:
        say(console, f"stuck    {stuck_words(each)}", "yellow")
    if len(result.stuck) > SHOWN:
        say(console, f"         and {len(result.stuck) - SHOWN} more stuck", "yellow")


def overdue_words(late: LivenessOverdue) -> str:
    """One line; times are whole milliseconds, the first counts back from when it was noticed."""
    where = f"{late.partition}: " if late.partition else ""
    known = f" ({late.known})" if late.known else ""
    return (
        f"{late.property}: {where}{late.detail}, since {_told(late.at_us - late.since_us)}, "
        f"bound {_told(late.bound_us)}{known}"
    )


def unjudged_words(unjudged: tuple[Unjudged, ...]) -> str:
    """One line: each property with the longest time that it lacks; without fractions of a second, rounded up."""
    missing: dict[str, int] = {}
    for each in unjudged:
        never = each.missing_us < 0 or missing.get(each.property, 0) < 0
        missing[each.property] = -1 if never else max(missing.get(each.property, 0), each.missing_us)
    needs = [
        f"{name} needs {duration_text(-(-us // SECOND) * SECOND)} more of settle" if us >= 0 else f"{name} never is"
        for name, us in missing.items()
    ]
    return f"{counted(len(unjudged), 'promise')} still owed at the end and not yet due: {', '.join(needs)}"


def _told(span_us: int) -> str:
    return duration_text(span_us // 1_000 * 1_000)


def stuck_words(each: Stuck) -> str:
    """Why, and what sets it free."""
    where = f"{each.partition}: " if each.partition else ""
    return f"{where}{each.why}; released by {each.what_releases}"
