"""Every client in a table: producers with their books and attempts, groups with their members."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from cluster_model.observation.views import ClusterView, GroupView
from playbooks.filtering import fits
from playbooks.results.client_stats import (
    Clients,
    Counts,
    GroupSummary,
    MemberSummary,
    ProducerSummary,
    transaction_words,
)
from tui.terminal import glyphs
from tui.terminal.format import acks, count, duration
from tui.viewmodel.row import Row
from tui.viewmodel.side import NO_CLIENTS

Piece = tuple[str, str]

WIDE: Final = 100
"""From this width on names have more room, and lines have words behind their numbers."""


class Columns(NamedTuple):
    """How a table is shared out at a width."""

    name: int
    """Cells of a name ..."""
    cell: int
    """... and of a number."""
    producer: tuple[str, ...]
    group: tuple[str, ...]
    rate: str


NARROW: Final = Columns(
    14, 7, ("sent", "acked", "failed", "unkn.", "retry", "refus.", "queue"),
    ("read", "again", "lag", "gen.", "rebal.", "idle", "commit"), "rate",
)  # fmt: skip
ROOMY: Final = Columns(
    22, 8, ("sent", "acked", "failed", "unknown", "retries", "refused", "queued"),
    ("read", "again", "lag", "gener.", "rebal.", "idle", "commits"), "per second",
)  # fmt: skip


class Place(NamedTuple):
    """Where a client stands in the table: its own line, and the last of those about it."""

    name: str
    group: bool
    """Whether it is a whole group."""
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Table:
    """The lines of the table, and who can be chosen in it."""

    rows: tuple[Row, ...]
    places: tuple[Place, ...]

    def chosen(self, name: str) -> Place | None:
        """The place of a client, else the first; None where there is nobody."""
        return next((each for each in self.places if each.name == name), self.places[0] if self.places else None)

    def marked(self, place: Place | None) -> tuple[Row, ...]:
        """The lines, with one of them marked."""
        if place is None:
            return self.rows
        return tuple(replace(row, chosen=at == place.first) for at, row in enumerate(self.rows))


def fitting(clients: Clients, words: str) -> Clients:
    """Those that the words of a filter fit; a group by the names of its members, too."""
    return replace(
        clients,
        producers=tuple(each for each in clients.producers if fits(words, each.name)),
        groups=tuple(each for each in clients.groups if fits(words, _said_of(each))),
    )


def _said_of(group: GroupSummary) -> str:
    return " ".join((group.name, *(member.name for member in group.members)))


def build(clients: Clients, view: ClusterView, rates: dict[str, float], width: int, words: str = "") -> Table:
    """All of them; ``rates`` as the bridge has them, ``words`` of the filter by which clients were left out."""
    columns = ROOMY if width >= WIDE else NARROW
    rows: list[Row] = []
    places: list[Place] = []
    if clients.producers:
        rows.append(_head("producer", columns.producer, columns))
        levels = {each.name: acks(each.acks) for each in view.producers}
        for one in clients.producers:
            told = _producer(one, levels.get(one.name, ""), rates.get(one.name), columns)
            places.append(Place(one.name, False, len(rows), len(rows) + len(told) - 1))
            rows += [replace(row, about=one.name) for row in told]
    if clients.groups:
        rows += [Row(())] * bool(rows)
        rows.append(_head("group", columns.group, columns))
        views = {each.name: each for each in view.groups}
        for group in clients.groups:
            told = _group(group, views.get(group.name), rates.get(group.name), columns)
            names = [(group.name, True), *[(each.name, False) for each in group.members]]
            places += [Place(name, whole, len(rows) + at, len(rows) + at) for at, (name, whole) in enumerate(names)]
            places[-1] = places[-1]._replace(last=len(rows) + len(told) - 1)
            rows += told
    nothing = f"no producer and no group fits {words}" if words.strip() else NO_CLIENTS
    return Table(tuple(rows) or (Row(((nothing, "quiet"),)),), tuple(places))


def window(rows: Sequence[Row], first: int, height: int) -> tuple[Row, ...]:
    """``height`` rows from ``first`` on, the last of them with how many follow."""
    shown = list(rows[first : first + height])
    rest = len(rows) - first - height
    if rest > 0 and shown:
        shown[-1] = Row(((f"and {rest + 1} lines more {glyphs.MORE_BELOW}", "quiet"),))
    return tuple(shown)


def shown_from(first: int, place: Place | None, height: int, total: int) -> int:
    """The first line of a window with a client in it, moved as little as can be; the first has its heading too."""
    if place is not None:
        first = max(first, min(place.first, place.last + 2 - height))
        first = min(first, place.first if place.first > 1 else 0)
    return max(0, min(first, total - height))


def last_window(rows: Sequence[Row], height: int) -> int:
    """The first row of the last window."""
    return max(0, len(rows) - height)


def _head(what: str, names: Sequence[str], columns: Columns) -> Row:
    heads = [(name.rjust(columns.cell), "quiet") for name in names]
    return Row(((what.ljust(columns.name + 2), "calm"), *heads), (columns.rate, "quiet"))


def _producer(one: ProducerSummary, level: str, rate: float | None, columns: Columns) -> list[Row]:
    trouble = bool(one.failed or one.unknown or one.failure)
    numbers = (
        _number(columns, one.sent),
        _number(columns, one.acked),
        _number(columns, one.failed, "warning"),
        _number(columns, one.unknown, "warning"),
        _number(columns, one.retries, "warning"),
        _number(columns, sum(times for _error, times in one.refused), "warning"),
        _number(columns, one.queued),
    )
    name = f"{one.name} acks={level}"
    if not level or len(name) >= columns.name:
        name = one.name
    rows = [Row((*_named(columns, name, trouble=trouble), *numbers), _rate(rate))]
    if one.failure:
        rows.append(Row((("    ended with ", "quiet"), (one.failure, "alarm"))))
    if one.transactions:
        told = [transaction_words(one), f"{count(one.aborted)} records aborted" if one.aborted else ""]
        wrong = one.transactions_unknown or one.failure
        rows.append(_told([each for each in told if each], "warning" if wrong else "text"))
    stopped = _stopped(one.killed, one.closed)
    thrown = f"an interceptor threw at {count(one.interceptor_failures)}" if one.interceptor_failures else ""
    rows += [_told([each for each in (stopped, thrown) if each], "warning")] if stopped or thrown else []
    rows += _errors("refused", one.refused, columns) + _errors("gave up", one.errors, columns)
    return rows


def _told(words: Sequence[str], role: str) -> Row:
    return Row((("    ", "text"), (", ".join(words), role)))


def _stopped(killed: int, closed: int) -> str:
    """How often processes ended, one way or the other."""
    return ", ".join(f"{how} {times}" for how, times in (("killed", killed), ("closed", closed)) if times)


def _group(one: GroupSummary, view: GroupView | None, rate: float | None, columns: Columns) -> list[Row]:
    behind = one.lag > 1000
    numbers = (
        _number(columns, one.read),
        _number(columns, one.reread, "warning"),
        _number(columns, one.lag, "warning" if behind else "text"),
        _number(columns, one.generation) if one.generation >= 0 else _blank(columns, "-"),
        _number(columns, one.rebalances),
        _time(columns, one.idle_us),
        _number(columns, one.commits),
    )
    named = _named(columns, f"{one.name} ({len(one.members)})", trouble=behind or bool(one.failures))
    rows = [Row((*named, *numbers), _rate(rate), about=one.name)]
    owned = dict(view.assignment) if view is not None else {}
    rows += [_member(each, owned.get(each.name, ()), columns) for each in one.members]
    told = [
        f"truncated under it {one.truncations}" if one.truncations else "",
        f"reset {one.resets}" if one.resets else "",
        f"skipped {one.skipped}" if one.skipped else "",
        f"unprocessed {one.abandoned}" if one.abandoned else "",
        _stopped(sum(each.killed for each in one.members), sum(each.closed for each in one.members)),
    ]
    if any(told):
        rows.append(_told([each for each in told if each], "warning"))
    return rows + _errors("not committed", one.commit_errors, columns)


def _member(one: MemberSummary, owned: Sequence[str], columns: Columns) -> Row:
    pieces: list[Piece] = [
        (f"    {one.name}"[: columns.name + 1].ljust(columns.name + 2), "text"),
        _number(columns, one.read),
        _number(columns, one.reread, "warning"),
        *[_blank(columns, "")] * 4,
        _number(columns, one.commits),
    ]
    words = one.failure or (", ".join(owned) if owned else "no partitions")
    role = "alarm" if one.failure else "quiet"
    if columns is NARROW:  # the columns that a member has no number in
        pieces[3:7] = [(f"  {words}"[: columns.cell * 4].ljust(columns.cell * 4), role)]
    else:
        pieces.append((f"  {words}", role))
    return Row(tuple(pieces), about=one.name)


def _errors(what: str, errors: Counts, columns: Columns) -> list[Row]:
    """Error names with their numbers, the most frequent first."""
    if not errors:
        return []
    most = sorted(errors, key=lambda each: (-each[1], each[0]))[: 2 if columns is NARROW else 4]
    told = ", ".join(f"{name} {count(times)}" for name, times in most)
    more = f" and {len(errors) - len(most)} kinds more" if len(errors) > len(most) else ""
    return [Row(((f"    {what} ", "quiet"), (told + more, "warning")))]


def _named(columns: Columns, name: str, *, trouble: bool) -> tuple[Piece, Piece]:
    glyph, role = (glyphs.LAGGING, "lagging") if trouble else (glyphs.IN_SYNC, "in_sync")
    return (f"{glyph} ", role), (name[: columns.name - 1].ljust(columns.name), "strong")


def _number(columns: Columns, value: int, role: str = "text") -> Piece:
    """A number; what is nought is quiet."""
    return count(value).rjust(columns.cell), role if value else "quiet"


def _time(columns: Columns, span_us: int) -> Piece:
    return (duration(span_us) if span_us else "0").rjust(columns.cell), "text" if span_us else "quiet"


def _blank(columns: Columns, text: str) -> Piece:
    return text.rjust(columns.cell), "quiet"


def _rate(rate: float | None) -> Piece:
    return f"{rate:.0f}/s" if rate is not None else "", "text"
