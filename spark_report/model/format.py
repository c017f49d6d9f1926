"""Shares, changes and acks levels as text, the same on a page and in a terminal; and which topics are Kafka's own."""

from collections.abc import Callable
from typing import Any

from cluster_model.util.quantities import acks_text, counted


def share(value: float) -> str:
    """A share from 0 to 1 in per cent: ``99.95 %``; only what is whole is printed as ``100 %``."""
    if value >= 1:
        return "100 %"
    return f"{min(value * 100, 99.99):.2f} %"


def signed(value: float, digits: int = 0) -> str:
    """A change with its sign, also of nothing: ``+12``, ``−3.5``, ``±0``."""
    text = f"{abs(value):,.{digits}f}"
    if not float(text.replace(",", "")):
        return "±0"
    return f"{'+' if value > 0 else '−'}{text}"


def three_figures(value: float) -> str:
    """Three figures at most, without trailing zeros: ``1.95``, ``12.5``, ``340``."""
    digits = 2 if value < 10 else 1 if value < 100 else 0
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def acks(level: int | None) -> str:
    """The acks level as a producer's configuration spells it; empty for none."""
    if level is None:
        return ""
    return acks_text(level)


# Kafka's own topics in a report: they move with every broker, and would hide those that a reader looks for.
#
# Kafka calls them internal (``org.apache.kafka.common.internals.Topic``): consumers' offsets and transactions.


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
        name = f"{topic}, the worst of {counted(partitions, 'partition')}" if partitions > 1 else rows[0]["partition"]
        worst: Row = max(rows, key=how_bad)
        told.append({**worst, "partition": name})
    return told
