"""What ``floodmark shrink`` prints: how far it is, the passes, and what was written."""

from pathlib import Path
from typing import Any

from playbooks.errors import counted
from playbooks.shrink.oracle import Verdict
from playbooks.shrink.search import Search
from playbooks.shrink.shrinker import STOPPED, WHOLE, Row, Shrunk, Size
from playbooks.shrink.tree import flow
from playbooks.shrink.written import without_it
from tui.output.console import answers, say, table

HEADS = ("pass", "tried", "kept", "steps", "records", "simulated")


def so_far(search: Search) -> str:
    """How far it is: ``12 runs, 5 steps, 17.2s simulated``."""
    best = search.best
    runs = counted(search.bench.runs, "run")
    limit = f" of {search.budget.runs}" if search.budget.runs >= 0 else ""
    left = search.budget.left_s
    ends = f", {left:.0f} s left" if left >= 0 else ""
    return (
        f"{runs}{limit}{ends}: {counted(len(best.draft.steps), 'step')}, {_tenths(best.verdict.virtual_us)} simulated"
    )


def print_shrunk(shrunk: Shrunk, out: Path, verdict: Verdict) -> None:
    """The table of passes, the steps that are left, and where they were written."""
    console = answers()
    table(console, HEADS, [_row(each) for each in shrunk.rows])
    needed = dict(shrunk.needed)
    say(console, "")
    say(console, shrunk.told)
    for place, step in enumerate(shrunk.draft.steps, 1):
        why = f"   without it: {without_it(needed[step.number], shrunk.found.keys)}" if step.number in needed else ""
        say(console, f"  {place:>3}  {flow(step.keys)[1:-1]}{why}")
    if shrunk.ended == WHOLE:
        say(console, f"shrunk   in {counted(shrunk.runs, 'run')}: without any one of these it is gone", "bold")
    else:
        why = "stopped" if shrunk.ended == STOPPED else "the budget is used up"
        say(console, f"shrunk   {why} after {counted(shrunk.runs, 'run')}: it may go on getting shorter", "bold")
    say(console, f"playbook floodmark run {out}")
    say(console, f"digest   {verdict.digest}")


def _row(row: Row) -> tuple[str, ...]:
    return (
        row.name,
        str(row.tried),
        str(row.kept),
        _change(str(row.before.steps), str(row.after.steps)),
        _change(str(row.before.records), str(row.after.records)),
        _change(_tenths(row.before.virtual_us), _tenths(row.after.virtual_us)),
    )


def _change(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def _tenths(us: int) -> str:
    return f"{us / 1_000_000:.1f}s"


def document(shrunk: Shrunk, out: Path, verdict: Verdict) -> dict[str, Any]:
    """The whole answer for programs."""
    found, needed = shrunk.found, dict(shrunk.needed)
    return {
        "source": found.origin.words,
        "seed": found.origin.seed,
        "keys": list(found.keys),
        "known": [each.known for each in found.wrongs],
        "ended": shrunk.ended,
        "runs": shrunk.runs,
        "finding": shrunk.told,
        "playbook": str(out),
        "digest": verdict.digest,
        "held": verdict.held,
        "steps": [
            {"step": flow(step.keys), "without": list(needed[step.number]) if step.number in needed else None}
            for step in shrunk.draft.steps
        ],
        "passes": [
            {
                "name": row.name,
                "tried": row.tried,
                "kept": row.kept,
                "before": _size(row.before),
                "after": _size(row.after),
            }
            for row in shrunk.rows
        ],
    }


def _size(size: Size) -> dict[str, int]:
    return {"steps": size.steps, "records": size.records, "virtual_us": size.virtual_us}
