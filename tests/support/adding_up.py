"""Consistency checks between the ledger table of a session and its result: terms, counters, places and losses."""

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
    assert not any(row.location == "missing" for row in table)
    lost = [row for row in table if row.location == "lost"]
    assert all(row.cause for row in lost)
    assert sum(each["count"] for each in result["losses"]) == sum(row.records for row in lost)
    for client, counters in result["clients"]["producers"].items():
        mine = [row for row in table if row.client == client]
        for term in ("acked", "failed", "unknown", "aborted"):
            assert sum(row.records for row in mine if row.outcome == term) == counters[term]
    agrees(table, result["ledger_by_partition"])
    for mine in _by_book(table).values():
        overlap_nowhere(mine)
    return table


def overlap_nowhere(rows: list[LedgerRow]) -> None:
    """Assert that no record number of a client and partition is in two rows; rows without one are negative."""
    held = sorted((row.sequence, row.records) for row in rows if row.sequence >= 0)
    assert all(records > 0 for _sequence, records in held)
    assert all(sequence + records <= after for (sequence, records), (after, _) in pairwise(held))


def _by_book(table: list[LedgerRow]) -> dict[tuple[str, str], list[LedgerRow]]:
    rows: dict[tuple[str, str], list[LedgerRow]] = defaultdict(list)
    for row in table:
        rows[row.client, row.partition].append(row)
    return rows


def agrees(table: list[LedgerRow], results: list[dict[str, Any]]) -> None:
    """Assert that the result has the same numbers per client and partition, sequence by sequence."""
    by_book = _by_book(table)
    assert set(by_book) == {(result["client"], result["partition"]) for result in results}
    for result in results:
        mine = by_book[result["client"], result["partition"]]

        def check(term: str, rows: list[LedgerRow], result: dict[str, Any] = result) -> None:
            assert sum(row.records for row in rows) == result[term], (term, result)
            numbers = sorted(
                at for row in rows if row.sequence >= 0 for at in range(row.sequence, row.sequence + row.records)
            )
            assert numbers == sorted(at for low, high in result["ranges"].get(term, ()) for at in range(low, high)), (
                term
            )

        check("sent", mine)
        for outcome in ("acked", "failed", "unknown", "aborted"):
            check(outcome, [row for row in mine if row.outcome == outcome])
        check("pending", [row for row in mine if row.outcome == "sent"])
        check("acked_lost", [row for row in mine if row.location == "lost"])
        check("committed_lost", [row for row in mine if row.location == "lost" and row.committed])
        check("deleted", [row for row in mine if row.location == "deleted"])
        check("missing", [row for row in mine if row.location == "missing"])
        check("unknown_written", [row for row in mine if row.outcome == "unknown" and row.location == "held"])
        assert not [row for row in mine if row.outcome == "failed" and row.location == "held"]
