"""What a session's own result says went wrong, as tables to set beside what is counted again.

A result comes out of a file: whatever in it is not what it should be is left out.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from spark_report.input.sessions import Recorded
from spark_report.tables.running import Said

MOST_FINDINGS: Final = 2_000
"""Of a session, so many are told at most."""


def anomalies(sessions: Sequence[Recorded]) -> list[dict[str, Any]]:
    """Each anomaly of each session, with its verdict."""
    return [
        {
            "session_id": session.session_id,
            "anomaly": each["anomaly"],
            "legal": each["legal"],
            "reason": _text(each, "reason"),
            "found": each["count"],
        }
        for session, each in _objects(sessions, "anomalies")
        if _has(each, anomaly=str, legal=bool, count=int)
    ]


def said(session: Recorded) -> Said:
    """What a session says of itself, to be held against its events."""
    told = session.result.get("anomalies")
    counts: Counter[str] | None = None
    if session.final_read is not None and isinstance(told, list):
        counts = Counter()
        for row in anomalies([session]):
            counts[row["anomaly"]] += row["found"]
    return Said(dict(session.start.readers), counts, session.ledger is not None, not session.timeless)


def otherwise(ledger: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The terms of the ledger on which events and result differ, as disagreements."""
    return [
        {
            "session_id": row["session_id"],
            "source": "result.json",
            "name": row["term"],
            "partition": "",
            "found": row["from_events"],
            "told": row["from_result"],
        }
        for row in ledger
        if row["agrees"] is False
    ]


def findings(sessions: Sequence[Recorded]) -> list[dict[str, Any]]:
    """What went wrong with records and why, once for each cause."""
    return [
        {
            "session_id": session.session_id,
            "kind": each["kind"],
            "cause": each["cause"],
            "sentence": each["sentence"],
            "records": each["count"],
            "committed_records": each.get("committed", 0) if type(each.get("committed", 0)) is int else 0,
            "partitions_named": [name for name in each.get("partitions", ()) if isinstance(name, str)],
        }
        for session, each in _objects(sessions, "findings")
        if _has(each, kind=str, cause=str, sentence=str, count=int)
    ]


def _objects(sessions: Sequence[Recorded], name: str) -> Iterator[tuple[Recorded, Mapping[str, Any]]]:
    for session in sessions:
        told = session.result.get(name)
        for each in told[:MOST_FINDINGS] if isinstance(told, list) else ():
            if isinstance(each, dict):
                yield session, each


def _has(found: Mapping[str, Any], **kinds: type) -> bool:
    return all(type(found.get(name)) is kind for name, kind in kinds.items())


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""
