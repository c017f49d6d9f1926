"""When nobody served, by a walk over the events with the state spelled out: slow and obvious on purpose."""

from collections.abc import Iterable
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
    """A partition is out while nobody leads it, or the broker that took up its lead is paused or fenced.

    Nobody does from the end of its leader's process on, until somebody takes up the lead.
    """
    serving: dict[str, int] = {}
    newest: dict[str, int] = {}
    dead: set[int] = set()
    fenced: set[int] = set()
    out = _Spells()
    for row in rows:
        kind = row["kind"]
        if kind in ("node_down", "node_paused"):
            dead.add(row["broker"])
            if kind == "node_down":
                serving |= {name: -1 for name, leader in serving.items() if leader == row["broker"]}
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
