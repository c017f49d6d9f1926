"""A session's result as text and tables: verdict, findings, liveness, anomalies, clients, the step table."""

import os
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final, TypeVar

from rich.console import Console

from cluster_model.checker.anomalies import AnomalyReport
from cluster_model.checker.root_cause import ABANDONED, DUPLICATE, REORDERED, SKIPPED, ChainEvent, Finding
from cluster_model.observation import ClientPartitionStats, PendingLiveness, WaitingByDesign
from cluster_model.protocol.events import (
    DATA_KINDS,
    AdminAnswered,
    Event,
    FaultSkipped,
    GuardActed,
    LivenessViolated,
    RecordsLost,
    StepTaken,
    describe,
)
from cluster_model.util.quantities import compact_duration, counted, exact_duration, thousands, time_in_seconds
from playbooks.engine.expectations import NEVER_EVALUATED
from playbooks.engine.manual_session import ShowResult, TraceRow, TraceTable
from playbooks.engine.step_scheduler import State, show_rows
from playbooks.model import Playbook, step_name
from playbooks.results.client_stats import (
    Clients,
    Counts,
    GroupSummary,
    MemberSummary,
    ProducerSummary,
    transactions_text,
)
from playbooks.results.expected_losses import allowing_losses, unexpected_loss_text
from playbooks.results.outages import outage_texts
from playbooks.results.result import ExpectationResult, SessionResult
from playbooks.units import duration_text
from tui.output.console import print_line, print_parts, table

# Lost or damaged records by producer and partition: a small table, empty if no acknowledged record is lost.


ROWS_SHOWN = 8
TERMS_SHOWN = (("acked_lost", "acked lost"), ("committed_lost", "committed lost"), ("duplicates", "duplicates"),
               ("reordered", "reordered"), ("unknown_written", "unknown, but written"))  # fmt: skip
RANGES_SHOWN = 2


def print_losses(console: Console, stats: Sequence[ClientPartitionStats]) -> None:
    """Print a row for each producer and partition with lost acknowledged records, if there are any."""
    lost = sorted(
        (each for each in stats if each.acked_lost), key=lambda each: (-each.acked_lost, each.client, each.partition)
    )
    if not lost:
        return
    shown = [(term, title) for term, title in TERMS_SHOWN if any(getattr(each, term) for each in lost)]
    rows = [
        (each.client, each.partition, str(each.acked), *(str(getattr(each, term)) for term, _title in shown),
         lost_ranges(each))
        for each in lost[:ROWS_SHOWN]
    ]  # fmt: skip
    heads = ("producer", "partition", "acked", *(title for _term, title in shown), "lost record numbers")
    table(console, heads, rows)
    if len(lost) > ROWS_SHOWN:
        print_line(console, f"         and {counted(len(lost) - ROWS_SHOWN, 'more row')}")


def lost_ranges(book: ClientPartitionStats) -> str:
    """Return the numbers of the lost records, counted by client and partition, as ranges: ``120 to 131, 140``."""
    ranges = book.ranges.get("acked_lost", ())
    shown = [str(low) if high == low + 1 else f"{low} to {high - 1}" for low, high in ranges[:RANGES_SHOWN]]
    rest = len(ranges) - RANGES_SHOWN
    return ", ".join([*shown, f"and {counted(rest, 'more range')}"] if rest > 0 else shown)


# Statistics of clients as two small tables: producers, and groups with their members.


ROWS: Final = 8
"""Rows of a table; one more row has the sums of the rest."""
NOTES: Final = 6
"""Notes below both tables; one more line counts the rest."""
NAMES: Final = 3
"""Errors that a note names."""

T = TypeVar("T")
Columns = dict[str, Callable[[T], int | None]]
"""Column → function that returns its value for a client; None is shown as ``-``, as by kafka-consumer-groups."""

P99: Final = "p99"
"""99th percentile of latency: from send to acknowledgement, and from append to delivery to the application."""
POSITION_LAG: Final = "position lag"
"""Records not yet delivered to the members; left out if every group has committed, because then each has a lag."""
TIMES: Final[dict[str, Callable[[int], str]]] = {"idle": time_in_seconds, P99: compact_duration}
"""Formatter of each column that is a time."""

PRODUCER: Final[Columns[ProducerSummary]] = {
    "sent": lambda one: one.sent,
    "acked": lambda one: one.acked,
    "failed": lambda one: one.failed,
    "unknown": lambda one: one.unknown,
    "aborted": lambda one: one.aborted,
    "unanswered": lambda one: one.unanswered,
    "retries": lambda one: one.retries,
    "errors": lambda one: sum(count for _error, count in one.refused),
    P99: lambda one: one.latency.p99_us,
}
GROUP: Final[Columns[GroupSummary]] = {
    "read": lambda one: one.read,
    "reread": lambda one: one.reread,
    "rebalances": lambda one: one.rebalances,
    "idle": lambda one: one.idle_us,
    "commits": lambda one: one.commits,
    "failed": lambda one: one.failed_commits,
    "lag": lambda one: one.lag,
    POSITION_LAG: lambda one: one.position_lag,
    P99: lambda one: one.latency.p99_us,
}
MEMBER: Final[Columns[MemberSummary]] = {
    "read": lambda one: one.read,
    "reread": lambda one: one.reread,
    "commits": lambda one: one.commits,
    "failed": lambda one: one.failed_commits,
    P99: lambda one: one.latency.p99_us,
}
MAY_LACK: Final = {
    "producer": ("aborted", "unanswered", "errors", P99),
    "group": ("reread", "idle", "failed", POSITION_LAG, P99),
}
"""Columns of each table that are left out if all values are zero."""


def print_clients(console: Console, clients: Clients) -> None:
    """Print the tables of producers and groups, then notes: error names, exceptions, unprocessed records."""
    if clients.producers:
        _producers(console, clients.producers)
    if clients.groups:
        _groups(console, clients.groups)
    notes = _notes(clients)
    for note in notes[:NOTES]:
        print_line(console, f"         {note}")
    if len(notes) > NOTES:
        print_line(console, f"         and {counted(len(notes) - NOTES, 'more note')}; --json has all")


def _producers(console: Console, producers: Sequence[ProducerSummary]) -> None:
    shown = _worst(producers, ROWS, lambda one: (one.failed + one.unknown, sum(count for _error, count in one.refused)))
    columns = _columns("producer", PRODUCER, producers)
    rows = [[one.name, *_cells(columns, one)] for one in shown]
    rest = [one for one in producers if one not in shown]
    if rest:
        rows.append([f"and {len(rest)} more", *_rest_cells(columns, rest)])
    table(console, ("producer", *columns), rows)


def _groups(console: Console, groups: Sequence[GroupSummary]) -> None:
    shown = _worst(groups, ROWS, lambda one: (len(one.failures), one.lag or one.position_lag))
    columns = _columns("group", GROUP, groups)
    if all(one.lag is not None for one in groups):
        columns.pop(POSITION_LAG, None)
    room = ROWS - len(shown)
    rows = []
    for one in shown:
        rows.append([f"{one.name} ({len(one.members)})", *_cells(columns, one)])
        if 1 < len(one.members) <= room:
            rows += [
                [
                    f"  {each.name}",
                    *(_counter_cell(name, MEMBER[name](each)) if name in MEMBER else "" for name in columns),
                ]
                for each in one.members
            ]
            room -= len(one.members)
    rest = [one for one in groups if one not in shown]
    if rest:
        rows.append([f"and {len(rest)} more", *_rest_cells(columns, rest)])
    table(console, ("group", *columns), rows)


def _worst(items: Sequence[T], limit: int, trouble: Callable[[T], tuple[int, int]]) -> list[T]:
    """Return the ``limit`` items with the greatest ``trouble``, in their original order."""
    indices = sorted(range(len(items)), key=lambda index: (*[-value for value in trouble(items[index])], index))
    return [items[index] for index in sorted(indices[:limit])]


def _columns(what: str, columns: Columns[T], items: Sequence[T]) -> Columns[T]:
    return {name: value for name, value in columns.items() if name not in MAY_LACK[what] or any(map(value, items))}


def _cells(columns: Columns[T], one: T) -> list[str]:
    return [_counter_cell(name, value(one)) for name, value in columns.items()]


def _rest_cells(columns: Columns[T], others: Sequence[T]) -> list[str]:
    """Return the sums over several clients; a percentile has no sum."""
    return [
        "" if name == P99 else _counter_cell(name, sum(value(one) or 0 for one in others))
        for name, value in columns.items()
    ]


def _counter_cell(name: str, value: int | None) -> str:
    if value is None:
        return "-"
    return TIMES[name](value) if name in TIMES else str(value)


def _notes(clients: Clients) -> list[str]:
    """Return notes on errors, ended processes and unprocessed records, the most severe kinds first."""
    groups, producers = clients.groups, clients.producers
    ended = [f"{each.name} ended with {each.failure}" for each in producers if each.failure]
    ended += [f"{name} ended with {error}" for each in groups for name, error in each.failures]
    stopped = [f"{each.name}: {_stopped((each,))}" for each in producers if _stopped((each,))]
    stopped += [f"{each.name}: {_stopped(each.members)}" for each in groups if _stopped(each.members)]
    dropped = [
        f"{each.name}: {counted(each.abandoned, 'record')} fetched but not processed when members ended"
        for each in groups
        if each.abandoned
    ]
    failed_in_handlers = [
        f"{each.name}'s handler could not process {counted(each.handler_failed, 'record')}"
        for each in groups
        if each.handler_failed
    ]
    cut = [
        f"{each.name} detected log truncation {counted(each.truncations, 'time')}"
        for each in groups
        if each.truncations
    ]
    reset = [f"{each.name}: offset reset {counted(each.resets, 'time')}" for each in groups if each.resets]
    errors = [f"{each.name}: {_failed('record', each.errors)}" for each in producers if each.errors]
    ends = [f"{each.name}: {transactions_text(each)}" for each in producers if each.transactions]
    thrown = [
        f"{each.name}: an interceptor threw an exception for {counted(each.interceptor_failures, 'record')}"
        for each in producers
        if each.interceptor_failures
    ]
    refused = [f"{each.name}: {_failed('attempt', each.refused)}" for each in producers if each.refused]
    failed = [f"{each.name}: {_failed('commit', each.commit_errors)}" for each in groups if each.commit_errors]
    return [*ended, *stopped, *dropped, *failed_in_handlers, *cut, *reset, *errors, *ends, *refused, *failed, *thrown]


def _stopped(of: Sequence[ProducerSummary | MemberSummary]) -> str:
    """Return how often the processes were killed and closed; empty if never."""
    ends = {"killed": sum(each.killed for each in of), "closed": sum(each.closed for each in of)}
    counts = ", ".join(f"{how} {counted(times, 'time')}" for how, times in ends.items() if times)
    return f"{'processes' if len(of) > 1 else 'process'} {counts}" if counts else ""


def _failed(noun: str, errors: Counts) -> str:
    """Return the most frequent errors with their counts: ``2 attempts failed with A, 1 with B``."""
    most = sorted(errors, key=lambda each: (-each[1], each[0]))
    (error, count), *rest = most[:NAMES]
    parts = [f"{counted(count, noun)} failed with {error}"]
    parts += [f"{thousands(count)} with {error}" for error, count in rest]
    others = sum(count for _error, count in most[NAMES:])
    return ", ".join([*parts, f"{thousands(others)} with other errors"] if others else parts)


# Liveness: violated checks, pending checks, and expected stalls.


SECOND = 1_000_000
SHOWN = 5
"""Violations, and stalls, that are printed one by one; the rest is counted."""


def print_liveness(console: Console, result: SessionResult) -> None:
    """Print violated and pending liveness checks, and expected stalls, a line each; of many the first."""
    for late in result.liveness_violations[:SHOWN]:
        print_line(console, f"liveness {liveness_violation_text(late)}", "yellow")
    if len(result.liveness_violations) > SHOWN:
        print_line(
            console,
            f"         and {counted(len(result.liveness_violations) - SHOWN, 'more liveness violation')}",
            "yellow",
        )
    if result.pending_liveness:
        print_parts(console, [(f"pending  {pending_liveness_text(result.pending_liveness)}", "dim")], _INDENT)
    for each in result.stuck[:SHOWN]:
        print_line(console, f"stuck    {stall_text(each)}", "yellow")
    if len(result.stuck) > SHOWN:
        print_line(console, f"         and {len(result.stuck) - SHOWN} more stuck", "yellow")


def liveness_violation_text(late: LivenessViolated) -> str:
    """Return a liveness violation as one line, with how long it had lasted when detected, in whole milliseconds."""
    where = f"{late.partition}: " if late.partition else ""
    known = f" ({late.known})" if late.known else ""
    return (
        f"{late.property}: {where}{late.detail}, for {_in_milliseconds(late.at_us - late.since_us)}, "
        f"limit {_in_milliseconds(late.bound_us)}{known}"
    )


def pending_liveness_text(pending: tuple[PendingLiveness, ...]) -> str:
    """Return one line on checks not due at the end: each property with the settle time that it lacks, in seconds."""
    missing: dict[str, int] = {}
    for each in pending:
        never = each.remaining_us < 0 or missing.get(each.property, 0) < 0
        missing[each.property] = -1 if never else max(missing.get(each.property, 0), each.remaining_us)
    needs = [
        f"settle {exact_duration(-(-us // SECOND) * SECOND)} longer to evaluate {name}"
        if us >= 0
        else f"{name} has no deadline"
        for name, us in missing.items()
    ]
    their = "their deadlines are" if len(pending) > 1 else "its deadline is"
    checks = counted(len(pending), "liveness check")
    return f"{checks} not evaluated, because {their} after the end; {'; '.join(needs)}"


def _in_milliseconds(span_us: int) -> str:
    return duration_text(span_us // 1_000 * 1_000)


def stall_text(each: WaitingByDesign) -> str:
    """Return the reason of an expected stall, and the event that releases it."""
    where = f"{each.partition}: " if each.partition else ""
    return f"{where}{each.reason}; released by {each.released_by}"


# The step table of a manual playbook as lines of text: each event, and the state of every broker after it.
#
# A broker's cell shows ``LEO/HW``, ``*`` if it acts as leader, and its leader epoch; below that its newest records as
# ``name(epoch)``, its leader-epoch cache as ``[epoch@start ...]``, and on a leader the follower LEOs that it knows
# (``2:10``, or ``2:?`` before the first fetch).


GAP: Final = "  "
LEAST_EVENT: Final = 16
MOST_EVENT: Final = 46
NARROW_CELL: Final = 12
WIDE_CELL: Final = 18
LEGEND: Final = (
    "LEO/HW, * acts as leader, e leader epoch, p partition epoch; record(leader epoch); "
    "[leader epoch@start offset]; follower:LEO as the leader knows it"
)
NOTE_INDENT: Final = "     "


def legend_lines(width: int) -> list[str]:
    """Return the legend of the cells, with blank lines around it."""
    return ["", *textwrap.wrap(LEGEND, width, break_on_hyphens=False), ""]


def trace_lines(rows: Sequence[TraceRow], width: int) -> list[str]:
    """Return the lines of the table, with a blank line after each row; ``width`` is in terminal columns."""
    partitions = list(rows[0].state)
    brokers = [broker for broker in _brokers(rows[0].state) if broker.isdigit()]
    named = [max(map(len, [*partitions, "partition"]))] if len(partitions) > 1 else []
    control = max(len("controller"), *(len(line) for state in _states(rows) for line in _control(state)))
    fixed = [3, *named, control]
    room = width - sum(fixed) - len(GAP) * (len(fixed) + len(brokers))
    narrow = max(
        NARROW_CELL,
        *(len(_ends(states[broker])) for states in _states(rows) for broker in brokers if broker in states),
    )
    cell = max(narrow, min(WIDE_CELL, (room - LEAST_EVENT - 6) // max(1, len(brokers))))
    event = max(LEAST_EVENT, min(MOST_EVENT, room - cell * len(brokers)))
    widths = [3, event, *named, *([cell] * len(brokers)), control]
    heads = ["#", "event", *(["partition"] if named else []), *(f"broker {broker}" for broker in brokers), "controller"]
    lines = [_table_line(heads, widths), _table_line(["-" * each for each in widths], widths)]
    before: Mapping[str, State] = {}
    for row in rows:
        lines += _row(row, before, brokers, widths, width)
        before = row.state
    return lines


def _states(rows: Sequence[TraceRow]) -> Iterator[State]:
    return (state for row in rows for state in row.state.values())


def _brokers(state: Mapping[str, State]) -> list[str]:
    """Return the ids of all brokers that hold a replica of any partition."""
    found = {broker: None for states in state.values() for broker in states if broker.isdigit()}
    return sorted(found, key=int)


def _row(row: TraceRow, before: Mapping[str, State], brokers: list[str], widths: list[int], width: int) -> list[str]:
    """Return a block of lines for each partition that the row changed; the first row has every partition."""
    several = len(row.state) > 1
    changed = [name for name, state in row.state.items() if state != before.get(name)]
    lines: list[str] = []
    for index, name in enumerate(changed if several and changed else list(row.state)[:1]):
        state = row.state[name]
        first = [[str(row.number)], textwrap.wrap(row.event, widths[1])] if index == 0 else [[""], [""]]
        cells = [*first, *([[name]] if several else [])]
        for broker in brokers:
            lines_of = _replica_cell(state[broker], state["controller"], widths[-2]) if broker in state else [""]
            cells.append([part for line in lines_of for part in _chopped(line, widths[-2])])
        cells.append(_control(state))
        lines += [_table_line(parts, widths) for parts in zip_longest(*cells, fillvalue="")]
    notes = [*row.notes, *_consumer(row.state, before)]
    for note in notes:
        lines += textwrap.wrap(
            note, width, initial_indent=f"{NOTE_INDENT}- ", subsequent_indent=f"{NOTE_INDENT}  ", break_on_hyphens=False
        )
    return [*lines, ""]


def _chopped(line: str, width: int) -> list[str]:
    """Split a line that is too long for its cell, such as a record with a long name."""
    return [line[at : at + width] for at in range(0, max(1, len(line)), width)]


def _table_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _control(state: State) -> list[str]:
    """Return the controller's state of a partition: leader, leader epoch, partition epoch, ISR and ELR."""
    fields = state["controller"]
    leader = "none" if fields["leader"] < 0 else str(fields["leader"])
    lines = [f"{leader} e{fields['epoch']} p{fields['partition_epoch']}", _ids(fields["isr"])]
    return [*lines, f"elr {_ids(fields['elr'])}"] if fields["elr"] else lines


def _ids(brokers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, brokers)) + "}"


def _replica_cell(state: Mapping[str, Any], controller: Mapping[str, Any], width: int) -> list[str]:
    lines = [_ends(state)]
    if state["fetcher"] in ("truncating", "failed"):
        lines.append(state["fetcher"])
    if state["role"] == "leader":
        if state["isr"] != controller["isr"]:
            lines.append(f"ISR {_ids(state['isr'])}")
        if state["pending"]:
            lines.append(f"want {_ids(state['pending'])}")
    lines += _tail(state["log"], width, older=state["older"])
    if state["log_start"]:
        lines.append(f"from {state['log_start']}")
    lines += _fold([f"{epoch}@{start}" for epoch, start in state["epochs"]], "[", "]", width)
    lines += _fold(
        [f"{follower}:{'?' if leo < 0 else leo}" for follower, leo in sorted(state["followers"].items(), key=_by_id)],
        "",
        "",
        width,
    )
    return lines


def _by_id(follower: tuple[str, int]) -> int:
    return int(follower[0])


def _ends(state: Mapping[str, Any]) -> str:
    if not state["up"]:
        return f"down ({state['leo']})"
    epoch = f" e{state['epoch']}" if state["epoch"] >= 0 else ""
    return f"{state['leo']}/{state['hw']}{'*' if state['role'] == 'leader' else ''}{epoch}"


def _tail(log: Sequence[Sequence[Any]], width: int, *, older: bool) -> list[str]:
    """Return the newest records that fit, with two dots in front if there are more."""
    shown: list[str] = []
    for epoch, record in reversed(log):
        text = f"{record}({epoch})"
        more = 2 if older or len(shown) + 1 < len(log) else 0
        if shown and more + len(" ".join([text, *shown])) > width:
            break
        shown.insert(0, text)
    if not shown:
        return []
    return [(".." if older or len(shown) < len(log) else "") + " ".join(shown)]


def _fold(items: Sequence[str], opening: str, closing: str, width: int) -> list[str]:
    if not items:
        return []
    return textwrap.wrap(f"{opening}{' '.join(items)}{closing}", width)


def _consumer(state: Mapping[str, State], before: Mapping[str, State]) -> list[str]:
    """Return the consumer's position and last record, if the row changed them."""
    return [
        f"consumer of {name}: position {states['consumer']['position']}, last read {_last(states['consumer']['read'])}"
        for name, states in state.items()
        if "consumer" in states and states["consumer"] != before.get(name, {}).get("consumer")
    ]


def _last(read: Sequence[Sequence[Any]]) -> str:
    return f"{read[-1][1]}({read[-1][0]})" if read else "nothing"


# Long sentences on a terminal that may be narrow.


PIPED: Final = 110
"""Columns of a wrapped line when the output is not a terminal, unless COLUMNS is less."""


def width_of(console: Console) -> int:
    """Return the columns that a wrapped line may take."""
    if console.is_terminal:
        return console.width
    columns = os.environ.get("COLUMNS", "")
    return min(PIPED, int(columns)) if columns.isdecimal() and int(columns) else PIPED


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Wrap a sentence, with continuation lines indented; words such as paths stay whole, so that they can be copied."""
    return textwrap.wrap(
        text, max(width, len(indent) + 20), subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    ) or [text]


def print_wrapped(console: Console, text: str, indent: str, style: str = "") -> None:
    """Print a sentence as :func:`wrapped` makes it."""
    for line in wrapped(text, width_of(console), indent):
        print_line(console, line, style)


# Client-side anomalies.


WHERE_SHOWN: Final = 3
"""Clients and partitions of an anomaly that are named."""


def print_anomalies(console: Console, anomalies: Sequence[AnomalyReport]) -> None:
    """Print a line for each anomaly that the settings do not allow, and one line for all that they allow."""
    for line in disallowed_anomaly_lines(anomalies):
        print_wrapped(console, f"anomaly  {line}", " " * 9, "red")
    legal = allowed_anomalies_text(anomalies)
    if legal:
        print_wrapped(console, f"allowed  {legal}", " " * 9, "dim")


def disallowed_anomaly_lines(anomalies: Sequence[AnomalyReport]) -> list[str]:
    """Return the anomalies that the settings do not allow, with an example: ``lost-write (8) of checkout at ...``."""
    return [
        f"{each.name} ({each.found}){_where(each)} at {time_in_seconds(each.examples[0].at_us)}: "
        f"{each.examples[0].text}"
        for each in anomalies
        if not each.legal
    ]


def _where(seen: AnomalyReport) -> str:
    named = [" at ".join(part for part in where if part) for where in seen.where if any(where)]
    rest = len(named) - WHERE_SHOWN
    more = [f"{rest} more"] if rest > 0 else []
    return f" of {', '.join([*named[:WHERE_SHOWN], *more])}" if named else ""


def allowed_anomalies_text(anomalies: Sequence[AnomalyReport]) -> str:
    """Return the anomalies that the settings allow, in one line; empty for none."""
    legal = [f"{each.name} {each.found} ({each.reason})" for each in anomalies if each.legal]
    return f"anomalies under these settings: {', '.join(legal)}" if legal else ""


# Findings: each a sentence, and the chain of events that led to it.


FINDINGS_SHOWN = 5
"""Findings printed one by one; the rest is counted."""
LINKS_SHOWN = 12
"""Events of a chain that are printed; in a longer chain the middle is counted."""
_INDENT = " " * 9
_STYLES = {DUPLICATE: "yellow", REORDERED: "yellow", SKIPPED: "yellow", ABANDONED: "yellow"}


def print_findings(console: Console, findings: Sequence[Finding], *, timed: bool) -> None:
    """Print findings in full; ``timed``: with the times of events, which a manual session does not have."""
    for finding in findings[:FINDINGS_SHOWN]:
        style = _STYLES.get(finding.kind, "red")
        for line in finding_lines(finding, timed=timed, width=width_of(console)):
            print_line(console, line, style if not line.startswith(_INDENT + "  ") else "dim")
    rest = len(findings) - FINDINGS_SHOWN
    if rest > 0:
        print_line(console, f"{_INDENT}and {counted(rest, 'more finding')}", "yellow")


def finding_lines(finding: Finding, *, timed: bool, width: int = 0) -> list[str]:
    """Return the lines of a finding: the sentence, wrapped, then the chain of events, indented."""
    sentence = f"{finding.kind:<8} {finding.sentence} [{finding.cause}]"
    return [
        *wrapped(sentence, width or PIPED, _INDENT),
        *chain_lines(finding.chain, timed=timed, width=width or 10_000),
    ]


def chain_lines(chain: Sequence[ChainEvent], *, timed: bool, width: int = 10_000) -> list[str]:
    """Return a line for each event of a chain, at most :data:`LINKS_SHOWN` of them."""
    shown = list(chain)
    left_out = len(shown) - LINKS_SHOWN
    lines = []
    if left_out > 0:
        half = LINKS_SHOWN // 2
        lines = _lines(shown[:half], width, timed=timed)
        lines.append(f"{_INDENT}  {'':>9}  ... {left_out} more ...")
        shown = shown[-half:]
    return lines + _lines(shown, width, timed=timed)


def _lines(links: Sequence[ChainEvent], width: int, *, timed: bool) -> list[str]:
    hanging = _INDENT + " " * (13 if timed else 4)
    return [line for link in links for line in wrapped(_link_line(link, timed=timed), width, hanging)]


def _link_line(link: ChainEvent, *, timed: bool) -> str:
    when = f"{time_in_seconds(link.at_us):>9}  " if timed else ""
    return f"{_INDENT}  {when}{link.text}"


STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}
REFUSALS_SHOWN = 8
KNOWN = "known"
"""Label of a violation that is known for the Kafka version."""
CAUSES_SHOWN = 5
"""Causes and violations printed one by one; the rest is counted."""


def print_heading(console: Console, playbook: Playbook, seed: int, profile: str) -> None:
    """Print the name, Kafka version, seed and title of a playbook that is about to run."""
    print_parts(console, [(playbook.name, "bold"), (f"  {profile}  seed {seed}", "")], "")
    if playbook.title != playbook.name:
        print_line(console, playbook.title, "italic")


def print_result(console: Console, result: SessionResult) -> None:
    """Print a session's result: expectations, ledger, clients, findings, violations, verdict, session."""
    kept = sum(checked.ok and checked.by_step for checked in result.expectations)
    if kept:
        print_parts(console, [(f"{'ok':<9}", "green"), (f"{counted(kept, 'assertion')} in the steps", "")])
    for checked in result.expectations:
        if not (checked.ok and checked.by_step):
            print_checked(console, checked)
    if result.refused:
        print_line(console, f"refused  {refusal_text(result.refused)}")
    for line in guard_lines(result.guards):
        print_line(console, f"guard    {line}", "yellow")
    if result.skipped:
        print_line(console, f"skipped  {skipped_faults_text(result.skipped)}")
    print_line(console, f"ledger   {ledger_text(result)}")
    if result.virtual_us:
        print_clients(console, result.clients)
    for line in outage_texts(result.unavailable):
        print_line(console, f"unavailable  {line}", "yellow")
    print_losses(console, result.ledger.clients)
    print_findings(console, result.findings, timed=bool(result.virtual_us))
    _print_violations(console, result)
    print_anomalies(console, result.anomalies)
    print_liveness(console, result)
    print_verdict(console, result)
    if result.session:
        print_line(console, f"session  {result.session}")
    took = f", {time_in_seconds(result.virtual_us)} of cluster time" if result.virtual_us else ""
    print_line(console, f"digest   {result.digest}  ({result.events} events{took})")


def print_verdict(console: Console, result: SessionResult) -> None:
    """Print the verdict, with the reason of an inconclusive one, and whether a loss was expected."""
    print_wrapped(console, verdict_text(result), "", STYLES[result.verdict])


def loss_expected(result: SessionResult) -> bool:
    """Return whether the session passed with a loss that an expectation of its playbook allows."""
    return result.verdict == "pass" and bool(result.ledger.acked_lost) and bool(allowing_losses(_rules(result)))


def verdict_text(result: SessionResult) -> str:
    """Return the verdict, such as ``PASS, as expected: 4 of 4 expectations held; 331 acknowledged records lost``."""
    word = result.verdict.upper()
    if result.reason:
        return f"{word}: {result.reason}"
    if result.verdict != "pass" or not result.ledger.acked_lost:
        return word
    lost = f"{counted(result.ledger.acked_lost, 'acknowledged record')} lost"
    held = sum(checked.ok for checked in result.expectations)
    came = f"{held} of {counted(len(result.expectations), 'expectation')} held" if held else "no expectations"
    if loss_expected(result):
        return f"{word}, as expected: {came}; {lost}"
    return f"{word}, loss not expected: {came}{f', {unexpected_loss_text(_rules(result))}' if held else ''}; {lost}"


def _rules(result: SessionResult) -> list[str]:
    return [checked.text for checked in result.expectations]


def _print_violations(console: Console, result: SessionResult) -> None:
    for word, line in violation_lines(result)[:CAUSES_SHOWN]:
        print_wrapped(console, f"{word:<9}{line}", " " * 9, "yellow" if word == KNOWN else "red")
    if len(result.violations) > CAUSES_SHOWN:
        print_line(
            console, f"         and {counted(len(result.violations) - CAUSES_SHOWN, 'more violation')}", "yellow"
        )


def violation_lines(result: SessionResult) -> list[tuple[str, str]]:
    """Return pairs of ``violated`` or ``known``, and invariant, time, partition and detail; unknown ones first."""
    printed = {loss.cause for loss in result.losses}
    lines = []
    for violation in sorted(result.violations, key=lambda violation: bool(violation.known)):
        cause = f" ({violation.cause})" if violation.cause and violation.cause not in printed else ""
        where = f"{violation.partition}: " if violation.partition else ""
        when = f" at {time_in_seconds(violation.at_us)}" if result.virtual_us else ""
        known = f" ({violation.known})" if violation.known else ""
        line = f"{violation.invariant}{when}: {where}{violation.detail}{cause}{known}"
        lines.append((KNOWN if violation.known else "violated", line))
    return lines


def print_checked(console: Console, checked: ExpectationResult) -> None:
    """Print one expectation with its verdict: ``ok``, ``FAILED`` or ``untested``."""
    word, style = ("ok", "green") if checked.ok else ("FAILED", "bold red")
    if checked.detail.endswith(NEVER_EVALUATED):
        word, style = "untested", "yellow"
    detail = f"  ({checked.detail})" if checked.detail else ""
    print_parts(console, [(f"{word:<9}", style), (checked.text, ""), (detail, "dim")], _INDENT)


def ledger_text(result: SessionResult) -> str:
    """Return the ledger in one line, in records; rare terms are left out if zero."""
    ledger = result.ledger
    parts = [f"{ledger.sent} sent", f"{ledger.acked} acked", f"{ledger.failed} failed", f"{ledger.unknown} unknown"]
    parts += [f"{ledger.aborted} aborted"] if ledger.aborted else []
    waiting = ledger.sent - ledger.acked - ledger.failed - ledger.unknown - ledger.aborted
    parts += [f"{waiting} unanswered"] if waiting else []
    parts += [f"{ledger.acked_lost} acked lost", f"{ledger.committed_lost} committed lost"]
    parts += [f"{ledger.duplicates} duplicates"] if ledger.duplicates else []
    parts += [f"{ledger.reordered} reordered"] if ledger.reordered else []
    parts += [f"{ledger.acked_aborted} acked but aborted in the log"] if ledger.acked_aborted else []
    parts += [f"{ledger.aborted_committed} aborted but committed in the log"] if ledger.aborted_committed else []
    return ", ".join(parts)


def refusal_text(refused: Sequence[StepTaken | AdminAnswered]) -> str:
    """Return the first refused steps: ``1 step: step 3 append (NOT_LEADER_OR_FOLLOWER)``."""
    shown = [f"{step.by} {_verb(step)} ({step.error})" for step in refused[:REFUSALS_SHOWN]]
    rest = [f"and {len(refused) - REFUSALS_SHOWN} more"] if len(refused) > REFUSALS_SHOWN else []
    return f"{counted(len(refused), 'step')}: {', '.join([*shown, *rest])}"


def guard_lines(acted: Sequence[GuardActed]) -> list[str]:
    """Return the first actions of guards: ``12.000s max_faults refused crash on broker 2: ...``."""
    lines = []
    for each in acted[:REFUSALS_SHOWN]:
        what = f" {each.fault} on {each.target}" if each.fault else ""
        lines.append(f"{time_in_seconds(each.at_us)} {each.rule} {each.detail}{what}: {each.cause}")
    rest = len(acted) - REFUSALS_SHOWN
    return [*lines, f"and {rest} more"] if rest > 0 else lines


def skipped_faults_text(skipped: Sequence[FaultSkipped]) -> str:
    """Return the first skipped faults: ``1 fault without a target: crash on leader(orders-0) at 5.000s``."""
    shown = [f"{each.fault} on {each.target} at {time_in_seconds(each.at_us)}" for each in skipped[:REFUSALS_SHOWN]]
    rest = [f"and {len(skipped) - REFUSALS_SHOWN} more"] if len(skipped) > REFUSALS_SHOWN else []
    return f"{counted(len(skipped), 'fault')} without a target: {', '.join([*shown, *rest])}"


def _verb(step: StepTaken | AdminAnswered) -> str:
    """Return the first word of a step, or an operation's name."""
    if isinstance(step, AdminAnswered):
        return step.operation
    first, _, rest = step.detail.partition(" ")
    return rest.partition(" ")[0] if first == "admin" else first.rstrip(":")


def loss_lines(losses: Sequence[RecordsLost]) -> list[str]:
    """Return the causes of losses, one sentence each, without repetition."""
    causes = list(dict.fromkeys(loss.cause for loss in losses))
    rest = len(causes) - CAUSES_SHOWN
    return [*causes[:CAUSES_SHOWN], f"and {counted(rest, 'more cause')}"] if rest > 0 else causes


def print_events(console: Console, events: Sequence[Event], *, everything: bool) -> None:
    """Print one line per event; ``everything``: also events that occur with every batch."""
    for event in events:
        if everything or event.kind not in DATA_KINDS:
            print_line(console, f"{time_in_seconds(event.values()[0]):>12}  {describe(event)}")


def print_shown(console: Console, shown: ShowResult) -> None:
    """Print the state table of a ``show`` step."""
    note = f": {shown.step.note}" if shown.step.note else ""
    of = f" of {shown.partition}" if shown.partition else ""
    print_line(console, f"state{of} at {step_name(shown.step)}{note}")
    table(console, ("broker", "role", "LEO", "HW", "epochs", "ISR", "log"), show_rows(shown.state))


def print_trace(console: Console, trace: TraceTable, first: int) -> int:
    """Print the rows of a manual playbook's step table from index ``first`` on; return the number of rows."""
    rows = trace.rows[first:]
    if rows:
        for line in [*([] if first else legend_lines(console.width)), *trace_lines(rows, console.width)]:
            print_line(console, line)
    return len(trace.rows)
