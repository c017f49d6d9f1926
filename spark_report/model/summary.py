"""The tables that come before all others: a row a session with its verdict and totals, and what was set aside."""

from typing import Any, Final

import pyarrow as pa

from spark_report.model.comparison import compare
from spark_report.model.report import SessionStory, Story, headline
from spark_report.tables.registry import TABLES

_COUNTED: Final = (
    "events",
    "sent",
    "acked",
    "failed",
    "unknown",
    "acked_lost",
    "committed_lost",
    "consumed",
    "elections_clean",
    "elections_unclean",
    "elections_offline",
    "isr_shrinks",
    "isr_expands",
    "faults",
    "truncations",
    "attempts_refused",
    "violations",
)


def all_tables(story: Story) -> dict[str, Any]:
    """Every table of the report, ``sessions`` first; the raw counts have gone into it."""
    first = {
        "sessions": [_row(session) for session in story.sessions],
        "quarantine": _quarantine(story),
        "comparison": compare(story),
    }
    made = {name: pa.Table.from_pylist(rows, schema=TABLES[name].schema) for name, rows in first.items()}
    return {**made, **{name: table for name, table in story.tables.items() if name != "counts"}}


def _quarantine(story: Story) -> list[dict[str, Any]]:
    """Directories that were set aside, and what is wrong with sessions that were reported all the same."""
    whole = [
        {"session_id": "", "what": "directory", "path": str(aside.path), "reason": aside.reason}
        for aside in story.set_aside
    ]
    parts = [
        {"session_id": session.session_id, "what": "part", "path": str(session.recorded.path), "reason": problem}
        for session in story.sessions
        for problem in session.problems
    ]
    return whole + parts


def _row(story: SessionStory) -> dict[str, Any]:
    start, manifest = story.recorded.start, story.recorded.manifest
    spans = [row["duration_us"] for row in story.unavailable("partition")]
    compared = [row["agrees"] for row in story.tables["ledger"] if row["agrees"] is not None]
    return {
        "session_id": story.session_id,
        "playbook": start.playbook,
        "title": story.name,
        "profile": start.profile,
        "seed": start.seed,
        "verdict": story.verdict,
        "status": story.status,
        "headline": headline(story),
        "problems": list(story.problems),
        "virtual_us": story.recorded.end_us,
        **{name: story.counts.get(name, 0) for name in _COUNTED},
        "unavailable_us": sum(spans),
        "longest_unavailable_us": max(spans, default=0),
        "ledger_agrees": all(compared) if compared else None,
        "digest": manifest.digest if manifest else "",
        "tool_version": start.tool_version,
        "wall_start": start.wall_start,
        "path": str(story.recorded.path),
    }
