"""The metrics of the report once more in plain Python: one walk over the events with the state spelled out.

Slow and obvious on purpose. Whatever the windows and joins of the Spark transforms say must be what these say.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.support.sessions import Row

Span = tuple[Any, ...]
"""A key, then began_us, began_seq, ended_us, ended_seq, open."""


class _Spells:
    """Intervals in which something was true, per key."""

    def __init__(self) -> None:
        self._since: dict[Any, tuple[int, int]] = {}
        self.spans: list[Span] = []

    def set(self, key: Any, out: bool, row: Row) -> None:
        if out and key not in self._since:
            self._since[key] = (row["at_us"], row["seq"])
        elif not out and key in self._since:
            self.spans.append((*key, *self._since.pop(key), row["at_us"], row["seq"], False))

    def close(self, end_us: int, end_seq: int) -> list[Span]:
        for key, (began_us, began_seq) in self._since.items():
            self.spans.append((*key, began_us, began_seq, max(end_us, began_us), max(end_seq, began_seq) + 1, True))
        return sorted(self.spans)


def partition_unavailability(rows: Iterable[Row], end_us: int, end_seq: int) -> list[Span]:
    """A partition is out while it has nobody to lead, or the broker that took up its lead is down, paused or fenced."""
    serving: dict[str, int] = {}
    newest: dict[str, int] = {}
    dead: set[int] = set()
    fenced: set[int] = set()
    out = _Spells()
    for row in rows:
        kind = row["kind"]
        if kind in ("node_down", "node_paused"):
            dead.add(row["broker"])
        elif kind in ("node_up", "node_resumed"):
            dead.discard(row["broker"])
        elif kind == "broker_fenced":
            fenced.add(row["broker"])
        elif kind == "broker_registered":
            fenced.discard(row["broker"])
        elif kind in ("became_leader", "partition_offline") and row["leader_epoch"] >= newest.get(row["partition"], 0):
            newest[row["partition"]] = row["leader_epoch"]
            serving[row["partition"]] = row["broker"] if kind == "became_leader" else -1
        elif kind == "partition_deleted":
            serving.pop(row["partition"], None)
            newest.pop(row["partition"], None)
            out.set((row["partition"],), False, row)
        for partition, broker in serving.items():
            out.set((partition,), broker < 0 or broker in dead or broker in fenced, row)
    return out.close(end_us, end_seq)


def client_unavailability(rows: Iterable[Row], end_us: int, end_seq: int) -> list[Span]:
    """A client is out from an attempt refused or unanswered to the next acknowledgement."""
    out = _Spells()
    for row in rows:
        if row["kind"] in ("records_acked", "produce_refused", "records_failed", "records_unknown"):
            out.set((row["client"], row["partition"], row["acks"]), row["kind"] != "records_acked", row)
    return out.close(end_us, end_seq)


def phase_of(row: Row, faults: list[tuple[int, int]]) -> str | None:
    """Where a batch's wait lies with respect to the times faults were active."""
    sent, told = row["at_us"] - row["latency_us"], row["at_us"]
    if not faults:
        return None
    if any(sent < ended and began <= told for began, ended in faults):
        return "during"
    return "before" if told < min(began for began, _ended in faults) else "after"


def fault_times(rows: Iterable[Row], end_us: int) -> list[tuple[int, int]]:
    """When faults were active."""
    began = {row["fault_id"]: row["at_us"] for row in rows if row["kind"] == "fault_injected"}
    ended = {row["fault_id"]: row["at_us"] for row in rows if row["kind"] == "fault_healed"}
    return [(since, ended.get(fault, end_us)) for fault, since in began.items()]


def percentile(values: list[int], quantile: float) -> float:
    """Linear between the two nearest ranks."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * quantile
    low, high = math.floor(place), math.ceil(place)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def latencies(rows: list[Row], end_us: int, slices: Callable[[Row, str | None], Iterable[Any]]) -> Iterator[Span]:
    """Records, least, median and greatest latency per kind of latency, client and slice."""
    faults = fault_times(rows, end_us)
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        if row["kind"] in ("records_acked", "records_read"):
            what = "produce" if row["kind"] == "records_acked" else "end_to_end"
            for part in slices(row, phase_of(row, faults)):
                groups.setdefault((what, row["client"], part), []).extend([row["latency_us"]] * row["count"])
    for key, values in groups.items():
        yield (*key, len(values), min(values), percentile(values, 0.5), percentile(values, 0.99), max(values))
