"""``ledger.parquet``: every record that a producer was given, in ranges, with what it was told and where they are.

What a client was told stands in the trace; where acknowledged records are is the checker's to say. Nothing is counted
here that they have not counted: the sums of the table are those of the result's ledger.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from cluster_model.checker.ledger.ack_evidence import RangeSet
from cluster_model.checker.ledger.record_ranges import DELETED, HELD, LOST, RecordRange, Survey
from cluster_model.util.ranges import Range, subtract

NOWHERE: Final = "nowhere"
"""Not in the leader's log, and nothing was promised."""
OPEN: Final = "sent"
"""Outcome of records of which nobody was told anything by the end."""

OUTCOMES: Final = (OPEN, "acked", "failed", "unknown", "aborted")

_KINDS: Final[dict[str, str]] = {f"records_{outcome}": outcome for outcome in OUTCOMES}


class Row(NamedTuple):
    """A row of the table; its fields are :data:`playbooks.session_format.sealed_columns.LEDGER`."""

    partition: str
    client: str
    outcome: str
    sequence: int
    records: int
    acks: int
    error: str
    place: str
    log_offset: int
    leader_epoch: int
    committed: bool
    cause: str


@dataclass(slots=True)
class _Told:
    """What one client was told of its records in one partition."""

    sent: RangeSet = field(default_factory=RangeSet)
    outcomes: dict[tuple[str, str, int], RangeSet] = field(default_factory=dict)
    """(outcome, error, acks) → numbers."""
    acks: int = 0
    unnumbered: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """(outcome, error, acks) → records that ended before they got a number."""
    lost: list[Any] = field(default_factory=list)
    """Lines of kind ``records_lost``."""


def rows(lines: Iterable[Any], survey: Survey | None) -> list[Row]:
    """The table of a session: its event lines, and what stands where at its end."""
    told = _gathered(lines)
    placed: dict[tuple[str, str], list[RecordRange]] = {}
    for found in survey.acknowledged() if survey else ():
        placed.setdefault((found.partition, found.client), []).append(found)
    table: list[Row] = []
    standing: tuple[str, Mapping[str, Sequence[Range]]] = ("", {})
    for partition, client in sorted(told.keys() | placed.keys()):
        books = told.get((partition, client), _Told())
        mine = placed.get((partition, client), [])
        table += [_acked_row(found) for found in mine]
        table += _unplaced(partition, client, books, mine)
        if survey is not None and standing[0] != partition and _not_acked(books):
            standing = (partition, survey.standing(partition))
        held = standing[1].get(client, ()) if standing[0] == partition else ()
        table += _others(partition, client, books, held)
    return sorted(table)


def sums(table: Iterable[Row]) -> dict[str, int]:
    """The terms of the result's ledger that the table tells."""
    found = dict.fromkeys(("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost"), 0)
    for row in table:
        found["sent"] += row.records
        if row.outcome != OPEN:
            found[row.outcome] += row.records
        if row.place == LOST:
            found["acked_lost"] += row.records
            found["committed_lost"] += row.records * row.committed
    return found


def _gathered(lines: Iterable[Any]) -> dict[tuple[str, str], _Told]:
    told: dict[tuple[str, str], _Told] = {}
    for line in lines:
        outcome = _KINDS.get(line.kind)
        if outcome is None and line.kind != "records_lost":
            continue
        books = told.setdefault((line.partition, line.client), _Told())
        if outcome is None:
            books.lost.append(line)
        elif outcome == OPEN:
            books.acks = line.acks
            if line.sequence >= 0:
                books.sent.add(line.sequence, line.sequence + line.count)
        else:
            key = (outcome, getattr(line, "error", None) or "", line.acks if line.acks is not None else books.acks)
            if line.sequence < 0:
                books.unnumbered[key] = books.unnumbered.get(key, 0) + line.count
                continue
            books.outcomes.setdefault(key, RangeSet()).add(line.sequence, line.sequence + line.count)
    return told


def _acked_row(found: RecordRange) -> Row:
    return Row(
        found.partition, found.client, "acked", found.sequence, found.records, found.acks, "", found.place,
        found.log_offset, found.leader_epoch, found.committed, found.cause,
    )  # fmt: skip


def _unplaced(partition: str, client: str, books: _Told, placed: list[RecordRange]) -> Iterator[Row]:
    """Acknowledged records that no leader is known to have written, or whose partition is gone."""
    known = _ranges((found.sequence, found.sequence + found.records) for found in placed)
    for (outcome, _error, acks), numbers in books.outcomes.items():
        if outcome != "acked":
            continue
        rest = subtract(numbers.ranges(), known)
        for line in books.lost:
            whole = _ranges([(line.sequence, line.sequence + line.count)]) if line.sequence >= 0 else rest
            gone = subtract(rest, subtract(rest, whole))
            rest = subtract(rest, gone)
            for start, end in gone:
                yield Row(
                    partition, client, "acked", start, end - start, acks, "", LOST, line.log_offset + start
                    - line.sequence if line.sequence >= 0 else -1, line.leader_epoch, line.committed, line.cause,
                )  # fmt: skip
        place = NOWHERE if acks == 0 else DELETED
        for start, end in rest:
            yield Row(partition, client, "acked", start, end - start, acks, "", place, -1, -1, False, "")


def _others(partition: str, client: str, books: _Told, held: Sequence[Range]) -> Iterator[Row]:
    """Records that were not acknowledged; those in the leader's log are told apart."""
    ended = _ranges(part for numbers in books.outcomes.values() for part in numbers.ranges())
    still = subtract(books.sent.ranges(), ended)
    told = [(key, numbers.ranges()) for key, numbers in books.outcomes.items() if key[0] != "acked"]
    for (outcome, error, acks), ranges in (*told, ((OPEN, "", books.acks), still)):
        absent = subtract(ranges, held)
        for place, parts in ((HELD, subtract(ranges, absent)), (NOWHERE, absent)):
            for start, end in parts:
                yield Row(partition, client, outcome, start, end - start, acks, error, place, -1, -1, False, "")
    for (outcome, error, acks), count in books.unnumbered.items():
        yield Row(partition, client, outcome, -1, count, acks, error, NOWHERE, -1, -1, False, "")


def _not_acked(books: _Told) -> bool:
    acked = sum(numbers.size for key, numbers in books.outcomes.items() if key[0] == "acked")
    return books.sent.size > acked


def _ranges(parts: Iterable[Range]) -> list[Range]:
    found = RangeSet()
    for start, end in parts:
        found.add(start, end)
    return found.ranges()
