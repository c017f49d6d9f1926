"""Text formats of shares, changes and acks levels for every output, and the distinction of internal topics."""

from collections.abc import Callable
from typing import Any

from cluster_model.util.quantities import acks_text, counted


def share(value: float) -> str:
    """Format a share from 0 to 1 in per cent: ``99.95 %``; only exactly 1 is printed as ``100 %``."""
    if value >= 1:
        return "100 %"
    return f"{min(value * 100, 99.99):.2f} %"


def signed(value: float, digits: int = 0) -> str:
    """Format a change with its sign: ``+12``, ``−3.5``, ``±0``."""
    text = f"{abs(value):,.{digits}f}"
    if not float(text.replace(",", "")):
        return "±0"
    return f"{'+' if value > 0 else '−'}{text}"


def three_figures(value: float) -> str:
    """Format a number with at most three significant figures: ``1.95``, ``12.5``, ``340``."""
    digits = 2 if value < 10 else 1 if value < 100 else 0
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def acks(level: int | None) -> str:
    """Format an acks level as in a producer's configuration; empty for none."""
    if level is None:
        return ""
    return acks_text(level)


# Internal topics in a report: every broker fault affects them, so that they would hide the user's topics.
#
# ``org.apache.kafka.common.internals.Topic`` names them: consumer offsets and transaction state.


Row = dict[str, Any]


def is_internal(partition: str) -> bool:
    """Return whether a partition belongs to an internal topic."""
    return partition.startswith("__")


def user_topic_rows(rows: list[Row]) -> list[Row]:
    """Return the rows of user topics; all rows if there are none."""
    return [row for row in rows if not is_internal(row["partition"])] or rows


def fold_internal_topics(all_rows: list[Row], how_bad: Callable[[Row], Any]) -> list[Row]:
    """Return the rows of user topics, then the worst row of each internal topic, with its number of partitions."""
    topics: dict[tuple[str, str, str], list[Row]] = {}
    for row in all_rows:
        if is_internal(row["partition"]):
            key = (row["partition"].rpartition("-")[0], row["scope"], row["client"])
            topics.setdefault(key, []).append(row)
    kept = [row for row in all_rows if not is_internal(row["partition"])]
    for (topic, _scope, _client), rows in topics.items():
        partitions = len({row["partition"] for row in rows})
        name = f"{topic}, worst of {counted(partitions, 'partition')}" if partitions > 1 else rows[0]["partition"]
        worst: Row = max(rows, key=how_bad)
        kept.append({**worst, "partition": name})
    return kept
