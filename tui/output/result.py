"""A session's outcome as text and tables: verdict, findings, liveness, anomalies, clients, the worked table."""

import os
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final, TypeVar

from rich.console import Console

from cluster_model.checker.anomalies import AnomalyReport
from cluster_model.checker.root_cause import ABANDONED, DUPLICATE, REORDERED, SKIPPED, ChainEvent, Finding
from cluster_model.observation import BookView, Stuck, Unjudged
from cluster_model.protocol.events import (
    DATA_KINDS,
    AdminAnswered,
    Event,
    FaultSkipped,
    GuardActed,
    LivenessOverdue,
    RecordsLost,
    StepTaken,
    describe,
)
from cluster_model.util.quantities import compact_duration, counted, time_in_seconds
from playbooks.engine.expectations import NEVER_ASKED
from playbooks.engine.manual_session import ShowResult, TraceRow, TraceTable
from playbooks.engine.step_scheduler import State, show_rows
from playbooks.model import Playbook, step_name
from playbooks.results.client_stats import (
    Clients,
    Counts,
    GroupSummary,
    MemberSummary,
    ProducerSummary,
    transaction_words,
)
from playbooks.results.expected_losses import allowing_losses, unexpected_words
from playbooks.results.outages import outage_words
from playbooks.results.result import ExpectationResult, SessionResult
from playbooks.units import duration_text
from tui.output.console import say, say_parts, table

# Records that were lost or damaged, by producer and partition: a small table, empty when all is well.


ROWS_SHOWN = 8
TERMS_SHOWN = (("acked_lost", "acked lost"), ("committed_lost", "committed lost"), ("duplicates", "duplicates"),
               ("reordered", "reordered"), ("unknown_written", "unknown, but written"))  # fmt: skip
RANGES_SHOWN = 2


def print_books(console: Console, books: Sequence[BookView]) -> None:
    """A row for each producer and partition whose records are lost, where any are."""
    lost = sorted(
        (each for each in books if each.acked_lost), key=lambda each: (-each.acked_lost, each.client, each.partition)
    )
    if not lost:
        return
    shown = [(term, title) for term, title in TERMS_SHOWN if any(getattr(each, term) for each in lost)]
    rows = [
        (each.client, each.partition, str(each.acked), *(str(getattr(each, term)) for term, _title in shown),
         numbers(each))
        for each in lost[:ROWS_SHOWN]
    ]  # fmt: skip
    table(console, ("producer", "partition", "acked", *(title for _term, title in shown), "lost, by its numbers"), rows)
    if len(lost) > ROWS_SHOWN:
        say(console, f"         and {counted(len(lost) - ROWS_SHOWN, 'more row')} like these")


def numbers(book: BookView) -> str:
    """Which records are lost, as their producer numbers them: ``120 to 131, 140``."""
    ranges = book.ranges.get("acked_lost", ())
    told = [str(low) if high == low + 1 else f"{low} to {high - 1}" for low, high in ranges[:RANGES_SHOWN]]
    rest = len(ranges) - RANGES_SHOWN
    return ", ".join([*told, f"and {counted(rest, 'more range')}"] if rest > 0 else told)


# Statistics of clients as two small tables: producers, and groups with their members.


ROWS: Final = 8
"""Lines of a table; the rest is summed up in one more."""
NOTES: Final = 6
"""Lines below both, and one that counts the rest."""
NAMES: Final = 3
"""Errors that a line names."""

T = TypeVar("T")
Columns = dict[str, Callable[[T], int | None]]
"""Column → its value of a client; None is shown as kafka-consumer-groups shows it."""

P99: Final = "p99"
"""Latency that 99 % of records did not exceed: from send to acknowledgement, and from append to hand-out."""
POSITION_LAG: Final = "position lag"
"""What the members have not been handed yet; left out where every group has committed, and so has a lag."""
TIMES: Final[dict[str, Callable[[int], str]]] = {"idle": time_in_seconds, P99: compact_duration}
"""Columns that are times."""

PRODUCER: Final[Columns[ProducerSummary]] = {
    "sent": lambda one: one.sent,
    "acked": lambda one: one.acked,
    "failed": lambda one: one.failed,
    "unknown": lambda one: one.unknown,
    "aborted": lambda one: one.aborted,
    "unanswered": lambda one: one.unanswered,
    "retries": lambda one: one.retries,
    "refused": lambda one: sum(count for _error, count in one.refused),
    P99: lambda one: one.latency.p99_us,
}
GROUP: Final[Columns[GroupSummary]] = {
    "read": lambda one: one.read,
    "again": lambda one: one.reread,
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
    "again": lambda one: one.reread,
    "commits": lambda one: one.commits,
    "failed": lambda one: one.failed_commits,
    P99: lambda one: one.latency.p99_us,
}
MAY_LACK: Final = {
    "producer": ("aborted", "unanswered", "refused", P99),
    "group": ("again", "idle", "failed", POSITION_LAG, P99),
}
"""Columns of either table that are left out where all is nought."""


def print_clients(console: Console, clients: Clients) -> None:
    """Both tables, then what does not fit into them: error names, exceptions, what was skipped."""
    if clients.producers:
        _producers(console, clients.producers)
    if clients.groups:
        _groups(console, clients.groups)
    notes = _notes(clients)
    for note in notes[:NOTES]:
        say(console, f"         {note}")
    if len(notes) > NOTES:
        say(console, f"         and {counted(len(notes) - NOTES, 'more line')} like these, in --json")


def _producers(console: Console, found: Sequence[ProducerSummary]) -> None:
    shown = _worst(found, ROWS, lambda one: (one.failed + one.unknown, sum(count for _error, count in one.refused)))
    columns = _columns("producer", PRODUCER, found)
    rows = [[one.name, *_cells(columns, one)] for one in shown]
    rest = [one for one in found if one not in shown]
    if rest:
        rows.append([f"and {len(rest)} more", *_rest_cells(columns, rest)])
    table(console, ("producer", *columns), rows)


def _groups(console: Console, found: Sequence[GroupSummary]) -> None:
    shown = _worst(found, ROWS, lambda one: (len(one.failures), one.lag or one.position_lag))
    columns = _columns("group", GROUP, found)
    if all(one.lag is not None for one in found):
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
    rest = [one for one in found if one not in shown]
    if rest:
        rows.append([f"and {len(rest)} more", *_rest_cells(columns, rest)])
    table(console, ("group", *columns), rows)


def _worst(found: Sequence[T], most: int, trouble: Callable[[T], tuple[int, int]]) -> list[T]:
    """Those with most trouble, in their own order."""
    places = sorted(range(len(found)), key=lambda place: (*[-value for value in trouble(found[place])], place))
    return [found[place] for place in sorted(places[:most])]


def _columns(what: str, columns: Columns[T], found: Sequence[T]) -> Columns[T]:
    return {name: value for name, value in columns.items() if name not in MAY_LACK[what] or any(map(value, found))}


def _cells(columns: Columns[T], one: T) -> list[str]:
    return [_counter_cell(name, value(one)) for name, value in columns.items()]


def _rest_cells(columns: Columns[T], rest: Sequence[T]) -> list[str]:
    """Sums over several; percentiles have none."""
    return [
        "" if name == P99 else _counter_cell(name, sum(value(one) or 0 for one in rest))
        for name, value in columns.items()
    ]


def _counter_cell(name: str, value: int | None) -> str:
    if value is None:
        return "-"
    return TIMES[name](value) if name in TIMES else str(value)


def _notes(clients: Clients) -> list[str]:
    """What a number cannot tell, the worst first."""
    groups, producers = clients.groups, clients.producers
    ended = [f"{each.name} ended with {each.failure}" for each in producers if each.failure]
    ended += [f"{name} ended with {error}" for each in groups for name, error in each.failures]
    stopped = [f"{each.name}: {_stopped((each,))}" for each in producers if _stopped((each,))]
    stopped += [f"{each.name}: {_stopped(each.members)}" for each in groups if _stopped(each.members)]
    dropped = [
        f"{each.name} had {counted(each.abandoned, 'record')} in hand when members ended"
        for each in groups
        if each.abandoned
    ]
    failed_in_handlers = [
        f"{each.name}'s handler could not process {counted(each.handler_failed, 'record')}"
        for each in groups
        if each.handler_failed
    ]
    cut = [
        f"{each.name} found what it had read truncated {counted(each.truncations, 'time')}"
        for each in groups
        if each.truncations
    ]
    reset = [f"{each.name} was reset {counted(each.resets, 'time')}" for each in groups if each.resets]
    errors = [f"{each.name}: records given up with {_named(each.errors)}" for each in producers if each.errors]
    ends = [f"{each.name}: {transaction_words(each)}" for each in producers if each.transactions]
    thrown = [
        f"{each.name}: an interceptor threw at {counted(each.interceptor_failures, 'record')}"
        for each in producers
        if each.interceptor_failures
    ]
    refused = [f"{each.name}: attempts refused with {_named(each.refused)}" for each in producers if each.refused]
    failed = [f"{each.name}: commits failed with {_named(each.commit_errors)}" for each in groups if each.commit_errors]
    return [*ended, *stopped, *dropped, *failed_in_handlers, *cut, *reset, *errors, *ends, *refused, *failed, *thrown]


def _stopped(of: Sequence[ProducerSummary | MemberSummary]) -> str:
    """How often processes ended, one way or the other; empty where none did."""
    ends = {"killed": sum(each.killed for each in of), "closed": sum(each.closed for each in of)}
    told = ", ".join(f"{how} {counted(times, 'time')}" for how, times in ends.items() if times)
    return f"{'processes' if len(of) > 1 else 'process'} {told}" if told else ""


def _named(errors: Counts) -> str:
    """The most frequent errors with their numbers."""
    most = sorted(errors, key=lambda each: (-each[1], each[0]))
    told = ", ".join(f"{error} {count}" for error, count in most[:NAMES])
    return told if len(most) <= NAMES else f"{told} and {sum(count for _error, count in most[NAMES:])} others"


# Liveness: what was violated, and expected stalls.


SECOND = 1_000_000
SHOWN = 5
"""Of either told one by one; the rest is counted."""


def print_liveness(console: Console, result: SessionResult) -> None:
    """``overdue  leader-elected: orders-0 ..., since 12 s, bound 10 s``, and who is stuck."""
    for late in result.overdue[:SHOWN]:
        say(console, f"overdue  {overdue_words(late)}", "yellow")
    if len(result.overdue) > SHOWN:
        say(console, f"         and {counted(len(result.overdue) - SHOWN, 'more overdue promise')}", "yellow")
    if result.unjudged:
        say_parts(console, [(f"unjudged {unjudged_words(result.unjudged)}", "dim")], _INDENT)
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


# The worked table of a manual playbook as lines of text: what happened, and what each broker then holds and believes.
#
# A broker's cell says ``LEO/HW``, ``*`` where it acts as leader, and the leader epoch that it acts in; below that its
# newest records as ``name(epoch)``, its leader-epoch cache as ``[epoch@start ...]``, and on a leader where it takes
# its followers to be (``2:10``, or ``2:?`` before their first fetch).


GAP: Final = "  "
LEAST_EVENT: Final = 16
MOST_EVENT: Final = 46
NARROW_CELL: Final = 12
WIDE_CELL: Final = 18
LEGEND: Final = (
    "LEO/HW, * acts as leader, e leader epoch, p partition epoch; record(its epoch); "
    "[leader epoch@its start offset]; where a leader takes its followers to be"
)
NOTE_INDENT: Final = "     "


def legend_lines(width: int) -> list[str]:
    """What stands in the cells, blank lines around it."""
    return ["", *textwrap.wrap(LEGEND, width, break_on_hyphens=False), ""]


def trace_lines(rows: Sequence[TraceRow], width: int) -> list[str]:
    """The table, a blank line behind each row; ``width`` is in columns of the terminal."""
    partitions = list(rows[0].state)
    brokers = [who for who in _brokers(rows[0].state) if who.isdigit()]
    named = [max(map(len, [*partitions, "partition"]))] if len(partitions) > 1 else []
    control = max(len("controller"), *(len(line) for state in _states(rows) for line in _control(state)))
    fixed = [3, *named, control]
    room = width - sum(fixed) - len(GAP) * (len(fixed) + len(brokers))
    narrow = max(
        NARROW_CELL, *(len(_ends(states[who])) for states in _states(rows) for who in brokers if who in states)
    )
    cell = max(narrow, min(WIDE_CELL, (room - LEAST_EVENT - 6) // max(1, len(brokers))))
    event = max(LEAST_EVENT, min(MOST_EVENT, room - cell * len(brokers)))
    widths = [3, event, *named, *([cell] * len(brokers)), control]
    heads = ["#", "event", *(["partition"] if named else []), *(f"broker {who}" for who in brokers), "controller"]
    lines = [_table_line(heads, widths), _table_line(["-" * each for each in widths], widths)]
    before: Mapping[str, State] = {}
    for row in rows:
        lines += _row(row, before, brokers, widths, width)
        before = row.state
    return lines


def _states(rows: Sequence[TraceRow]) -> Iterator[State]:
    return (state for row in rows for state in row.state.values())


def _brokers(state: Mapping[str, State]) -> list[str]:
    """Every broker that holds a replica of any partition."""
    found = {who: None for states in state.values() for who in states if who.isdigit()}
    return sorted(found, key=int)


def _row(row: TraceRow, before: Mapping[str, State], brokers: list[str], widths: list[int], width: int) -> list[str]:
    """A block of lines for each partition that the row changed, all of them in the first."""
    several = len(row.state) > 1
    changed = [name for name, state in row.state.items() if state != before.get(name)]
    lines: list[str] = []
    for index, name in enumerate(changed if several and changed else list(row.state)[:1]):
        state = row.state[name]
        first = [[str(row.number)], textwrap.wrap(row.event, widths[1])] if index == 0 else [[""], [""]]
        cells = [*first, *([[name]] if several else [])]
        for who in brokers:
            lines_of = _replica_cell(state[who], state["controller"], widths[-2]) if who in state else [""]
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
    """A line that is too long for its cell, such as a record with a long name, in pieces."""
    return [line[at : at + width] for at in range(0, max(1, len(line)), width)]


def _table_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _control(state: State) -> list[str]:
    """What the controller has decided: leader, leader epoch, partition epoch, ISR, and who else may lead."""
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
            lines.append(f"asks {_ids(state['pending'])}")
    lines += _tail(state["log"], width, older=state["older"])
    if state["log_start"]:
        lines.append(f"from {state['log_start']}")
    lines += _fold([f"{epoch}@{start}" for epoch, start in state["epochs"]], "[", "]", width)
    lines += _fold(
        [f"{who}:{'?' if leo < 0 else leo}" for who, leo in sorted(state["followers"].items(), key=_by_id)],
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
    """The newest records that fit, two dots in front where there are more."""
    words: list[str] = []
    for epoch, record in reversed(log):
        word = f"{record}({epoch})"
        more = 2 if older or len(words) + 1 < len(log) else 0
        if words and more + len(" ".join([word, *words])) > width:
            break
        words.insert(0, word)
    if not words:
        return []
    return [(".." if older or len(words) < len(log) else "") + " ".join(words)]


def _fold(words: Sequence[str], opening: str, closing: str, width: int) -> list[str]:
    if not words:
        return []
    return textwrap.wrap(f"{opening}{' '.join(words)}{closing}", width)


def _consumer(state: Mapping[str, State], before: Mapping[str, State]) -> list[str]:
    """Where the consumer stands, if the row moved it."""
    return [
        f"consumer of {name}: position {states['consumer']['position']}, last read {_last(states['consumer']['read'])}"
        for name, states in state.items()
        if "consumer" in states and states["consumer"] != before.get(name, {}).get("consumer")
    ]


def _last(read: Sequence[Sequence[Any]]) -> str:
    return f"{read[-1][1]}({read[-1][0]})" if read else "nothing"


# Long sentences on a terminal that may be narrow.


PIPED: Final = 110
"""Columns of a wrapped line where nobody knows how wide the reader's are, unless COLUMNS says less."""


def width_of(console: Console) -> int:
    """Columns that a wrapped line may take."""
    if console.is_terminal:
        return console.width
    said = os.environ.get("COLUMNS", "")
    return min(PIPED, int(said)) if said.isdecimal() and int(said) else PIPED


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """A sentence in lines, all but the first indented; what has no blank in it stays whole, to be copied."""
    return textwrap.wrap(
        text, max(width, len(indent) + 20), subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    ) or [text]


def say_wrapped(console: Console, text: str, indent: str, style: str = "") -> None:
    """The same, printed."""
    for line in wrapped(text, width_of(console), indent):
        say(console, line, style)


# Client-side anomalies, for a terminal.


WHERE_SHOWN: Final = 3
"""Clients and partitions of an anomaly that are named."""


def print_anomalies(console: Console, anomalies: Sequence[AnomalyReport]) -> None:
    """What must not be line by line, and what may be in one."""
    for line in illegal_lines(anomalies):
        say_wrapped(console, f"anomaly  {line}", " " * 9, "red")
    legal = legal_words(anomalies)
    if legal:
        say_wrapped(console, f"seen     {legal}", " " * 9, "dim")


def illegal_lines(anomalies: Sequence[AnomalyReport]) -> list[str]:
    """Each that must not be, with an example: ``lost-write (8) of checkout at orders-0: ...``."""
    return [
        f"{each.name} ({each.found}){_where(each)} at {time_in_seconds(each.examples[0].at_us)}: "
        f"{each.examples[0].words}"
        for each in anomalies
        if not each.legal
    ]


def _where(seen: AnomalyReport) -> str:
    named = [" at ".join(part for part in where if part) for where in seen.where if any(where)]
    rest = len(named) - WHERE_SHOWN
    more = [f"{rest} more"] if rest > 0 else []
    return f" of {', '.join([*named[:WHERE_SHOWN], *more])}" if named else ""


def legal_words(anomalies: Sequence[AnomalyReport]) -> str:
    """All that may be, in one line; empty for none."""
    told = [f"{each.name} {each.found} ({each.reason})" for each in anomalies if each.legal]
    return f"{counted(len(told), 'kind')} that may be: {', '.join(told)}" if told else ""


# Findings on a terminal: each a sentence, and the chain of events that it is built from.


FINDINGS_SHOWN = 5
"""Findings told one by one; the rest is counted."""
LINKS_SHOWN = 12
"""Links of a chain that are told; of a longer one the middle is counted."""
_INDENT = " " * 9
_STYLES = {DUPLICATE: "yellow", REORDERED: "yellow", SKIPPED: "yellow", ABANDONED: "yellow"}


def print_findings(console: Console, findings: Sequence[Finding], *, timed: bool) -> None:
    """Every finding, in full; where time stands still the links have none."""
    for finding in findings[:FINDINGS_SHOWN]:
        style = _STYLES.get(finding.kind, "red")
        for line in finding_lines(finding, timed=timed, width=width_of(console)):
            say(console, line, style if not line.startswith(_INDENT + "  ") else "dim")
    rest = len(findings) - FINDINGS_SHOWN
    if rest > 0:
        say(console, f"{_INDENT}and {counted(rest, 'more finding')}", "yellow")


def finding_lines(finding: Finding, *, timed: bool, width: int = 0) -> list[str]:
    """The sentence, wrapped, then the chain, indented."""
    sentence = f"{finding.kind:<8} {finding.sentence} [{finding.cause}]"
    return [
        *wrapped(sentence, width or PIPED, _INDENT),
        *chain_lines(finding.chain, timed=timed, width=width or 10_000),
    ]


def chain_lines(chain: Sequence[ChainEvent], *, timed: bool, width: int = 10_000) -> list[str]:
    """A line for each link, at most :data:`LINKS_SHOWN` of them."""
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
    return f"{_INDENT}  {when}{link.words}"


STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}
REFUSALS_SHOWN = 8
KNOWN = "known"
"""Word of a violation that this version of Kafka has."""
CAUSES_SHOWN = 5
"""Losses told one by one; the rest is counted."""


def print_heading(console: Console, playbook: Playbook, seed: int, profile: str) -> None:
    """What is about to run."""
    say_parts(console, [(playbook.name, "bold"), (f"  {profile}  seed {seed}", "")], "")
    if playbook.title != playbook.name:
        say(console, playbook.title, "italic")


def print_result(console: Console, result: SessionResult) -> None:
    """The verdict with everything that led to it."""
    kept = sum(checked.ok and checked.by_step for checked in result.expectations)
    if kept:
        say_parts(console, [(f"{'ok':<9}", "green"), (f"{counted(kept, 'assertion')} along the steps", "")])
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
    took = f", {time_in_seconds(result.virtual_us)} of cluster time" if result.virtual_us else ""
    say(console, f"digest   {result.digest}  ({result.events} events{took})")


def print_verdict(console: Console, result: SessionResult) -> None:
    """The verdict, with the reason of one that is inconclusive, and whether losses were expected."""
    say_wrapped(console, verdict_words(result), "", STYLES[result.verdict])


def loss_expected(result: SessionResult) -> bool:
    """Whether it passed with losses, and its playbook has an expectation that allows them."""
    return result.verdict == "pass" and bool(result.ledger.acked_lost) and bool(allowing_losses(_rules(result)))


def verdict_words(result: SessionResult) -> str:
    """``PASS``, or ``PASS, as expected: 4 of 4 expectations held; 331 acknowledged records lost``."""
    word = result.verdict.upper()
    if result.reason:
        return f"{word}: {result.reason}"
    if result.verdict != "pass" or not result.ledger.acked_lost:
        return word
    lost = f"{counted(result.ledger.acked_lost, 'acknowledged record')} lost"
    held = sum(checked.ok for checked in result.expectations)
    said = f"{held} of {counted(len(result.expectations), 'expectation')} held" if held else "nothing was expected"
    if loss_expected(result):
        return f"{word}, as expected: {said}; {lost}"
    return f"{word}: {said}{f', {unexpected_words(_rules(result))}' if held else ''}; {lost}"


def _rules(result: SessionResult) -> list[str]:
    return [checked.text for checked in result.expectations]


def _print_violations(console: Console, result: SessionResult) -> None:
    for word, line in violation_lines(result)[:CAUSES_SHOWN]:
        say_wrapped(console, f"{word:<9}{line}", " " * 9, "yellow" if word == KNOWN else "red")
    if len(result.violations) > CAUSES_SHOWN:
        say(console, f"         and {counted(len(result.violations) - CAUSES_SHOWN, 'more violation')}", "yellow")


def violation_lines(result: SessionResult) -> list[tuple[str, str]]:
    """``broken`` or ``known`` with the invariant, when, where and why; those that must not be stand first."""
    told = {loss.cause for loss in result.losses}
    lines = []
    for violation in sorted(result.violations, key=lambda violation: bool(violation.known)):
        cause = f" ({violation.cause})" if violation.cause and violation.cause not in told else ""
        where = f"{violation.partition}: " if violation.partition else ""
        when = f" at {time_in_seconds(violation.at_us)}" if result.virtual_us else ""
        known = f" ({violation.known})" if violation.known else ""
        line = f"{violation.invariant}{when}: {where}{violation.detail}{cause}{known}"
        lines.append((KNOWN if violation.known else "broken", line))
    return lines


def print_checked(console: Console, checked: ExpectationResult) -> None:
    """One expectation."""
    word, style = ("ok", "green") if checked.ok else ("FAILED", "bold red")
    if checked.detail.endswith(NEVER_ASKED):
        word, style = "unasked", "yellow"
    detail = f"  ({checked.detail})" if checked.detail else ""
    say_parts(console, [(f"{word:<9}", style), (checked.text, ""), (detail, "dim")], _INDENT)


def ledger_words(result: SessionResult) -> str:
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
        lines.append(f"{time_in_seconds(each.at_us)} {each.rule} {each.detail}{what}: {each.cause}")
    rest = len(acted) - REFUSALS_SHOWN
    return [*lines, f"and {rest} more"] if rest > 0 else lines


def skip_words(skipped: Sequence[FaultSkipped]) -> str:
    """Faults that found nobody: ``1 fault without a target: crash on leader(orders-0) at 5.000s``."""
    told = [f"{each.fault} on {each.target} at {time_in_seconds(each.at_us)}" for each in skipped[:REFUSALS_SHOWN]]
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
            say(console, f"{time_in_seconds(event.values()[0]):>12}  {describe(event)}")


def print_shown(console: Console, shown: ShowResult) -> None:
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
