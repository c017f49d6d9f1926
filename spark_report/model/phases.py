"""Service before, during and after each fault: the share of the time that partitions were served, and clients."""

from typing import Final

from spark_report.model.own_topics import of_users
from spark_report.model.report import Row, SessionStory

PHASES: Final = ("before", "during", "after")
LEAST_US: Final = 1_000_000
"""Before and after are as long as the fault was, and at least this; as for latencies."""


def windows(fault: Row, end_us: int) -> dict[str, tuple[int, int]]:
    """When the phases of a fault were, within the session; the empty ones left out."""
    began, ended = fault["began_us"], fault["ended_us"]
    length = max(LEAST_US, ended - began)
    found = {
        "before": (max(0, began - length), began),
        "during": (began, ended),
        "after": (ended, min(end_us, ended + length)),
    }
    return {phase: (begin, end) for phase, (begin, end) in found.items() if begin < end}


def served(story: SessionStory, scope: str) -> list[Row]:
    """For each fault and phase the share of time served, over all partitions or all of clients' partitions."""
    end_us = story.recorded.end_us
    observed = of_users([row for row in story.tables["availability"] if row["scope"] == scope])
    since = {_whom(row): end_us - row["observed_us"] for row in observed if row["observed_us"]}
    spans = [row for row in story.unavailable(scope) if _whom(row) in since]
    rows = []
    for fault in story.tables["faults"]:
        for phase, (begin, end) in windows(fault, end_us).items():
            time = sum(max(0, end - max(begin, first)) for first in since.values())
            if not time:
                continue
            out = sum(_overlap(row, max(begin, since[_whom(row)]), end) for row in spans)
            rows.append({"fault_id": fault["fault_id"], "scope": scope, "phase": phase, "availability": 1 - out / time})
    return rows


def _whom(row: Row) -> tuple[str, str, int | None]:
    return row["partition"], row["client"], row["acks"]


def _overlap(row: Row, begin: int, end: int) -> int:
    return max(0, int(min(end, row["ended_us"])) - int(max(begin, row["began_us"])))
