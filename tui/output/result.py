"""A session's outcome in words."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from cluster_model.protocol.events import (
    DATA_KINDS,
    AdminAnswered,
    Event,
    FaultSkipped,
    GuardActed,
    RecordsLost,
    StepTaken,
    describe,
)
from playbooks.engine.expectations import NEVER_ASKED, seconds
from playbooks.engine.manual_session import Shown
from playbooks.engine.step_checks import show_rows
from playbooks.engine.trace_rows import TraceTable
from playbooks.errors import counted
from playbooks.model.playbook import Playbook
from playbooks.model.wording import step_name
from playbooks.results.outages import outage_words
from playbooks.results.result import Checked, Result
from tui.output.anomalies import print_anomalies
from tui.output.book_table import print_books
from tui.output.client_tables import print_clients
from tui.output.console import say, table
from tui.output.finding_lines import print_findings
from tui.output.liveness_lines import print_liveness
from tui.output.trace_table import legend_lines, trace_lines
from tui.output.wrapping import say_wrapped

STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}
REFUSALS_SHOWN = 8
KNOWN = "known"
"""Word of a violation that this version of Kafka has."""
CAUSES_SHOWN = 5
"""Losses told one by one; the rest is counted."""


def print_heading(console: Console, playbook: Playbook, seed: int, profile: str) -> None:
    """What is about to run."""
    console.print(f"[bold]{escape(playbook.name)}[/]  {escape(profile)}  seed {seed}")
    if playbook.title != playbook.name:
        say(console, playbook.title, "italic")


def print_result(console: Console, result: Result) -> None:
    """The verdict with everything that led to it."""
    kept = sum(checked.ok and checked.by_step for checked in result.expectations)
    if kept:
        console.print(f"[green]{'ok':<9}[/]{counted(kept, 'assertion')} along the steps")
    for checked in result.expectations:
        if not (checked.ok and checked.by_step):
            print_checked(console, checked)
    if result.refused:
        say(console, f"refused  {refusal_words(result.refused)}")
    for line in guard_lines(result.guards):
        say(console, f"guard    {line}", "yellow")
    if result.skipped:
        say(console, f"skipped  {skip_words(result.skipped)}")
    say(console, f"ledger   {ledger_words(result)}")
    if result.virtual_us:
        print_clients(console, result.clients)
    for line in outage_words(result.unavailable):
        say(console, f"unavailable  {line}", "yellow")
    print_books(console, result.ledger.books)
    print_findings(console, result.findings, timed=bool(result.virtual_us))
    _print_violations(console, result)
    print_anomalies(console, result.anomalies)
    print_liveness(console, result)
    print_verdict(console, result)
    if result.session:
        say(console, f"session  {result.session}")
    took = f", {seconds(result.virtual_us)} of cluster time" if result.virtual_us else ""
    say(console, f"digest   {result.digest}  ({result.events} events{took})")


def print_verdict(console: Console, result: Result) -> None:
    """The verdict, with the reason of one that is inconclusive."""
    style = STYLES[result.verdict]
    reason = f": {result.reason}" if result.reason else ""
    say(console, f"{result.verdict.upper()}{reason}", style)


def _print_violations(console: Console, result: Result) -> None:
    for word, line in violation_lines(result)[:CAUSES_SHOWN]:
        say_wrapped(console, f"{word:<9}{line}", " " * 9, "yellow" if word == KNOWN else "red")
    if len(result.violations) > CAUSES_SHOWN:
        say(console, f"         and {counted(len(result.violations) - CAUSES_SHOWN, 'more violation')}", "yellow")


def violation_lines(result: Result) -> list[tuple[str, str]]:
    """``broken`` or ``known`` with the invariant, when, where and why; those that must not be stand first."""
    told = {loss.cause for loss in result.losses}
    lines = []
    for violation in sorted(result.violations, key=lambda violation: bool(violation.known)):
        cause = f" ({violation.cause})" if violation.cause and violation.cause not in told else ""
        where = f"{violation.partition}: " if violation.partition else ""
        when = f" at {seconds(violation.at_us)}" if result.virtual_us else ""
        known = f" ({violation.known})" if violation.known else ""
        line = f"{violation.invariant}{when}: {where}{violation.detail}{cause}{known}"
        lines.append((KNOWN if violation.known else "broken", line))
    return lines


def print_checked(console: Console, checked: Checked) -> None:
    """One expectation."""
    word, style = ("ok", "green") if checked.ok else ("FAILED", "bold red")
    if checked.detail.endswith(NEVER_ASKED):
        word, style = "unasked", "yellow"
    detail = f"  ({checked.detail})" if checked.detail else ""
    console.print(f"[{style}]{word:<9}[/]{escape(checked.text)}[dim]{escape(detail)}[/]")


def ledger_words(result: Result) -> str:
    """The books on one line, in records; what is nought and harmless is left out."""
    ledger = result.ledger
    parts = [f"{ledger.sent} sent", f"{ledger.acked} acked", f"{ledger.failed} failed", f"{ledger.unknown} unknown"]
    parts += [f"{ledger.aborted} aborted"] if ledger.aborted else []
    waiting = ledger.sent - ledger.acked - ledger.failed - ledger.unknown - ledger.aborted
    parts += [f"{waiting} unanswered"] if waiting else []
    parts += [f"{ledger.acked_lost} acked lost", f"{ledger.committed_lost} committed lost"]
    parts += [f"{ledger.duplicates} duplicates"] if ledger.duplicates else []
    parts += [f"{ledger.reordered} reordered"] if ledger.reordered else []
    parts += [f"{ledger.undone} acked but aborted in the log"] if ledger.undone else []
    parts += [f"{ledger.leaked} aborted but committed in the log"] if ledger.leaked else []
    return ", ".join(parts)


def refusal_words(refused: Sequence[StepTaken | AdminAnswered]) -> str:
    """What Kafka refused: ``1 step: step 3 append (NOT_LEADER_OR_FOLLOWER)``; of many only the first."""
    told = [f"{step.by} {_verb(step)} ({step.error})" for step in refused[:REFUSALS_SHOWN]]
    rest = [f"and {len(refused) - REFUSALS_SHOWN} more"] if len(refused) > REFUSALS_SHOWN else []
    return f"{counted(len(refused), 'step')}: {', '.join([*told, *rest])}"


def guard_lines(acted: Sequence[GuardActed]) -> list[str]:
    """What the guards did, the first of many: ``12.000s max_faults refused crash on broker 2: ...``."""
    lines = []
    for each in acted[:REFUSALS_SHOWN]:
        what = f" {each.fault} on {each.target}" if each.fault else ""
        lines.append(f"{seconds(each.at_us)} {each.rule} {each.detail}{what}: {each.cause}")
    rest = len(acted) - REFUSALS_SHOWN
    return [*lines, f"and {rest} more"] if rest > 0 else lines


def skip_words(skipped: Sequence[FaultSkipped]) -> str:
    """Faults that found nobody: ``1 fault without a target: crash on leader(orders-0) at 5.000s``."""
    told = [f"{each.fault} on {each.target} at {seconds(each.at_us)}" for each in skipped[:REFUSALS_SHOWN]]
    rest = [f"and {len(skipped) - REFUSALS_SHOWN} more"] if len(skipped) > REFUSALS_SHOWN else []
    return f"{counted(len(skipped), 'fault')} without a target: {', '.join([*told, *rest])}"


def _verb(told: StepTaken | AdminAnswered) -> str:
    """The first word of a step, or an operation's name."""
    if isinstance(told, AdminAnswered):
        return told.operation
    first, _, rest = told.detail.partition(" ")
    return rest.partition(" ")[0] if first == "admin" else first.rstrip(":")


def loss_lines(losses: Sequence[RecordsLost]) -> list[str]:
    """Why records were lost, a sentence each; every sentence once."""
    causes = list(dict.fromkeys(loss.cause for loss in losses))
    rest = len(causes) - CAUSES_SHOWN
    return [*causes[:CAUSES_SHOWN], f"and {counted(rest, 'more cause')}"] if rest > 0 else causes


def print_events(console: Console, events: Sequence[Event], *, everything: bool) -> None:
    """One line per event; the ones that come with every batch only when asked for."""
    for event in events:
        if everything or event.kind not in DATA_KINDS:
            say(console, f"{seconds(event.values()[0]):>12}  {describe(event)}")


def print_shown(console: Console, shown: Shown) -> None:
    """The table of a ``show`` step."""
    note = f": {shown.step.note}" if shown.step.note else ""
    of = f" of {shown.partition}" if shown.partition else ""
    say(console, f"state{of} at {step_name(shown.step)}{note}")
    table(console, ("broker", "role", "LEO", "HW", "epochs", "ISR", "log"), show_rows(shown.state))


def print_trace(console: Console, trace: TraceTable, first: int) -> int:
    """The rows of a manual playbook's table from ``first`` (from 0) on; returns how many there are by now."""
    rows = trace.rows[first:]
    if rows:
        for line in [*([] if first else legend_lines(console.width)), *trace_lines(rows, console.width)]:
            say(console, line)
    return len(trace.rows)
