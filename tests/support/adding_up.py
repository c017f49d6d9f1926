"""The table of what became of every record must add up to the result beside it: terms, books, places and losses."""

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from playbooks.recording.seal import LedgerRow, sums
from playbooks.session_format import session_files

TERMS = ("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost")


def table_of(session: Path) -> list[LedgerRow]:
    return [LedgerRow(**row) for row in pq.read_table(session / session_files.LEDGER).to_pylist()]


def result_of(session: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((session / session_files.RESULT).read_text())
    return found


def adds_up(session: Path) -> list[LedgerRow]:
    table, result = table_of(session), result_of(session)
    ledger = result["ledger"]
    assert sums(table) == {term: ledger[term] for term in TERMS}
    assert not any(row.place == "missing" for row in table)
    lost = [row for row in table if row.place == "lost"]
    assert all(row.cause for row in lost)
    assert sum(each["count"] for each in result["losses"]) == sum(row.records for row in lost)
    for client, books in result["clients"]["producers"].items():
        told = [row for row in table if row.client == client]
        for term in ("acked", "failed", "unknown", "aborted"):
            assert sum(row.records for row in told if row.outcome == term) == books[term]
    agrees(table, result["books"])
    for mine in _by_book(table).values():
        overlap_nowhere(mine)
    return table


def overlap_nowhere(rows: list[LedgerRow]) -> None:
    """Of one client's numbers in one partition, none is in two rows; rows of no numbers have a sequence below 0."""
    held = sorted((row.sequence, row.records) for row in rows if row.sequence >= 0)
    assert all(records > 0 for _sequence, records in held)
    assert all(sequence + records <= after for (sequence, records), (after, _) in pairwise(held))


def _by_book(table: list[LedgerRow]) -> dict[tuple[str, str], list[LedgerRow]]:
    found: dict[tuple[str, str], list[LedgerRow]] = defaultdict(list)
    for row in table:
        found[row.client, row.partition].append(row)
    return found


def agrees(table: list[LedgerRow], books: list[dict[str, Any]]) -> None:
    """The result tells the same by client and partition, number by number."""
    by_book = _by_book(table)
    assert set(by_book) == {(book["client"], book["partition"]) for book in books}
    for book in books:
        mine = by_book[book["client"], book["partition"]]

        def told(term: str, rows: list[LedgerRow], book: dict[str, Any] = book) -> None:
            assert sum(row.records for row in rows) == book[term], (term, book)
            numbers = sorted(
                at for row in rows if row.sequence >= 0 for at in range(row.sequence, row.sequence + row.records)
            )
            assert numbers == sorted(at for low, high in book["ranges"].get(term, ()) for at in range(low, high)), term

        told("sent", mine)
        for outcome in ("acked", "failed", "unknown", "aborted"):
            told(outcome, [row for row in mine if row.outcome == outcome])
        told("pending", [row for row in mine if row.outcome == "sent"])
        told("acked_lost", [row for row in mine if row.place == "lost"])
        told("committed_lost", [row for row in mine if row.place == "lost" and row.committed])
        told("deleted", [row for row in mine if row.place == "deleted"])
        told("missing", [row for row in mine if row.place == "missing"])
        told("unknown_written", [row for row in mine if row.outcome == "unknown" and row.place == "held"])
        assert not [row for row in mine if row.outcome == "failed" and row.place == "held"]
