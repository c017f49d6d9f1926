"""What a session came to for its clients, as two small tables: producers, and groups with their members."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from rich.console import Console

from playbooks.engine.expectations import seconds
from playbooks.errors import counted
from playbooks.results.client_stats import (
    Clients,
    Counts,
    GroupSummary,
    MemberSummary,
    ProducerSummary,
    transaction_words,
)
from tui.output.console import say, table

ROWS: Final = 8
"""Lines of a table; the rest is summed up in one more."""
NOTES: Final = 6
"""Lines below both, and one that counts the rest."""
NAMES: Final = 3
"""Errors that a line names."""

T = TypeVar("T")
Columns = dict[str, Callable[[T], int]]

PRODUCER: Final[Columns[ProducerSummary]] = {
    "sent": lambda one: one.sent,
    "acked": lambda one: one.acked,
    "failed": lambda one: one.failed,
    "unknown": lambda one: one.unknown,
    "aborted": lambda one: one.aborted,
    "unanswered": lambda one: one.unanswered,
    "retries": lambda one: one.retries,
    "refused": lambda one: sum(count for _error, count in one.refused),
}
GROUP: Final[Columns[GroupSummary]] = {
    "read": lambda one: one.read,
    "again": lambda one: one.reread,
    "rebalances": lambda one: one.rebalances,
    "idle": lambda one: one.idle_us,
    "commits": lambda one: one.commits,
    "failed": lambda one: one.failed_commits,
    "lag": lambda one: one.lag,
}
MEMBER: Final[Columns[MemberSummary]] = {
    "read": lambda one: one.read,
    "again": lambda one: one.reread,
    "commits": lambda one: one.commits,
    "failed": lambda one: one.failed_commits,
}
MAY_LACK: Final = {"producer": ("aborted", "unanswered", "refused"), "group": ("again", "idle", "failed")}
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
    rows = [[one.name, *(str(value(one)) for value in columns.values())] for one in shown]
    rest = [one for one in found if one not in shown]
    if rest:
        rows.append([f"and {len(rest)} more", *(str(sum(map(value, rest))) for value in columns.values())])
    table(console, ("producer", *columns), rows)


def _groups(console: Console, found: Sequence[GroupSummary]) -> None:
    shown = _worst(found, ROWS, lambda one: (len(one.failures), one.lag))
    columns = _columns("group", GROUP, found)
    room = ROWS - len(shown)
    rows = []
    for one in shown:
        rows.append([f"{one.name} ({len(one.members)})", *_cells(columns, one)])
        if 1 < len(one.members) <= room:
            rows += [
                [f"  {each.name}", *(str(MEMBER[name](each)) if name in MEMBER else "" for name in columns)]
                for each in one.members
            ]
            room -= len(one.members)
    rest = [one for one in found if one not in shown]
    if rest:
        sums = {name: sum(map(value, rest)) for name, value in columns.items()}
        rows.append([f"and {len(rest)} more", *(_cell(name, value) for name, value in sums.items())])
    table(console, ("group", *columns), rows)


def _worst(found: Sequence[T], most: int, trouble: Callable[[T], tuple[int, int]]) -> list[T]:
    """Those with most trouble, in their own order."""
    places = sorted(range(len(found)), key=lambda place: (*[-value for value in trouble(found[place])], place))
    return [found[place] for place in sorted(places[:most])]


def _columns(what: str, columns: Columns[T], found: Sequence[T]) -> Columns[T]:
    return {name: value for name, value in columns.items() if name not in MAY_LACK[what] or any(map(value, found))}


def _cells(columns: Columns[T], one: T) -> list[str]:
    return [_cell(name, value(one)) for name, value in columns.items()]


def _cell(name: str, value: int) -> str:
    return seconds(value) if name == "idle" else str(value)


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
    skipped = [f"{each.name} skipped {counted(each.skipped, 'record')}" for each in groups if each.skipped]
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
    return [*ended, *stopped, *dropped, *skipped, *cut, *reset, *errors, *ends, *refused, *failed, *thrown]


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
