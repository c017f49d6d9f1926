"""The table ``sessions``: one row a session with what it was, its verdict and its totals."""

from typing import Any, Final

import pyarrow as pa

from spark_report.story import SessionStory, Story, headline

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

SESSIONS: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("session_id", "playbook", "title", "profile")),
        ("seed", pa.int64()),
        *((name, pa.string()) for name in ("verdict", "status", "headline")),
        ("problems", pa.list_(pa.string())),
        ("virtual_us", pa.int64()),
        *((name, pa.int64()) for name in _COUNTED),
        ("unavailable_us", pa.int64()),
        ("longest_unavailable_us", pa.int64()),
        ("ledger_agrees", pa.bool_()),
        *((name, pa.string()) for name in ("digest", "tool_version", "wall_start", "path")),
    ]
)
"""``unavailable_us`` adds up all partitions; ``ledger_agrees`` is null where there is no result to compare with."""


def all_tables(story: Story) -> dict[str, Any]:
    """Every table of the report, ``sessions`` first; the raw counts have gone into it."""
    first = pa.Table.from_pylist([_row(session) for session in story.sessions], schema=SESSIONS)
    return {"sessions": first, **{name: table for name, table in story.tables.items() if name != "counts"}}


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
