"""Kafka's own topics in a report: they move with every broker, and would hide those that a reader looks for.

Kafka calls them internal (``org.apache.kafka.common.internals.Topic``): consumers' offsets and transactions.
"""

from collections.abc import Callable
from typing import Any

from spark_report.model.format import several

Row = dict[str, Any]


def is_own(partition: str) -> bool:
    """Whether a partition is of one of Kafka's own topics."""
    return partition.startswith("__")


def of_users(found: list[Row]) -> list[Row]:
    """Rows of the topics that somebody made; all where there are no such rows."""
    return [row for row in found if not is_own(row["partition"])] or found


def folded(found: list[Row], how_bad: Callable[[Row], Any]) -> list[Row]:
    """Users' rows in their order; then of each of Kafka's own topics the worst row, which says of how many it is."""
    topics: dict[tuple[str, str, str], list[Row]] = {}
    for row in found:
        if is_own(row["partition"]):
            key = (row["partition"].rpartition("-")[0], row["scope"], row["client"])
            topics.setdefault(key, []).append(row)
    told = [row for row in found if not is_own(row["partition"])]
    for (topic, _scope, _client), rows in topics.items():
        partitions = len({row["partition"] for row in rows})
        name = f"{topic}, the worst of {several(partitions, 'partition')}" if partitions > 1 else rows[0]["partition"]
        worst: Row = max(rows, key=how_bad)
        told.append({**worst, "partition": name})
    return told
