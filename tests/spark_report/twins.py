"""When nobody served, by a walk over the events with the state spelled out: slow and obvious on purpose."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

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


CHANGES = {
    "records_sent": 1, "records_acked": -1, "records_aborted": -1, "records_failed": -1, "records_unknown": -1,
    "produce_refused": 0,
}  # fmt: skip
"""How the number of records that wait changes."""
_GOES_ON = ("node_up", "node_resumed")
_STOPS = ("node_down", "node_paused")


class Stretch(NamedTuple):
    """A client's events at a partition between two after which its records begin to wait anew."""

    key: tuple[str, str, int]
    """Client, partition, acks level."""
    head: Row | None
    rows: list[Row]
    end: Row | None
    waiting: list[int]
    """How many records wait after the head and after each row."""

    @property
    def began(self) -> Row | None:
        """Since when some record waits."""
        if self.head is not None and self.waiting[0] > 0 and self.head["kind"] not in _STOPS:
            return self.head
        return next((row for row in self.rows if row["kind"] == "records_sent"), None)

    @property
    def expired(self) -> Row | None:
        """What was given up last, where nothing waits after it."""
        last = None
        for row, waiting in zip(self.rows, self.waiting[1:], strict=True):
            if row["kind"] == "records_sent":
                last = None
            elif CHANGES[row["kind"]] and waiting <= 0:
                last = row
        return last

    def out(self, end_us: int, end_seq: int, bound_us: int) -> tuple[int, int, int, int, bool] | None:
        """Since when and until when the client was out of service, and whether it still is."""
        began, end = self.began, self.expired or self.end
        if began is None:
            return None
        us, seq = (end["at_us"], end["seq"]) if end else (max(end_us, began["at_us"]), max(end_seq, began["seq"]) + 1)
        span = (began["at_us"], began["seq"], us, seq, end is None)
        return span if us - began["at_us"] > self.bound_us(bound_us) else None

    def bound_us(self, least_us: int) -> int:
        """Three times what the last success took are no outage, if that was not more than two seconds."""
        usual_us = 0 if self.head is None or self.head["kind"] not in CHANGES else self.head["latency_us"]
        return max(least_us, min(3 * usual_us, 2_000_000))


def client_unavailability(rows: list[Row], end_us: int, end_seq: int, bounds: Mapping[str, int]) -> list[Span]:
    """A client is out while its records wait for longer than its bound, and nothing is acknowledged."""
    found = [(each.key, each.out(end_us, end_seq, bounds.get(each.key[0], 100_000))) for each in stretches(rows)]
    return sorted((*key, *span) for key, span in found if span)


def stretches(rows: list[Row]) -> Iterator[Stretch]:
    """Those of each client, partition and acks level."""
    for key in {(row["client"], row["partition"], row["acks"]): None for row in rows if row["kind"] in CHANGES}:
        head, own, waiting = None, [], [0]
        for row in rows:
            if row["kind"] in CHANGES and (row["client"], row["partition"], row["acks"]) == key:
                waiting.append(waiting[-1] + CHANGES[row["kind"]] * row["count"])
                turn = _served(row)
            elif row["kind"] in (*_STOPS, *_GOES_ON) and row["broker"] < 0 and row["node"] == key[0]:
                waiting.append(waiting[-1])
                turn = True
            else:
                continue
            if turn:
                yield Stretch(key, head, own, row, waiting[:-1])
                head, own, waiting = row, [], waiting[-1:]
            else:
                own.append(row)
        yield Stretch(key, head, own, None, waiting)


def _served(row: Row) -> bool:
    return row["kind"] == "records_acked" or (row["kind"] == "records_aborted" and row["log_offset"] >= 0)
