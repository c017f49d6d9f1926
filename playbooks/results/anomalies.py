"""Anomalies in a result, as JSON."""

from typing import Any

from cluster_model.checker.anomalies.checker import Seen


def anomaly_json(seen: Seen) -> dict[str, Any]:
    """One anomaly with its verdict; ``first`` and ``end`` are offsets, -1 where there are none."""
    return {
        "anomaly": seen.name,
        "count": seen.found,
        "legal": seen.legal,
        "reason": seen.reason,
        "where": [{"client": client, "partition": partition} for client, partition in seen.where],
        "examples": [
            {"at_us": each.at_us, "first": each.first, "end": each.end, "detail": each.words} for each in seen.examples
        ],
    }
