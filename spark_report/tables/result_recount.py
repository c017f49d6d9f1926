"""Recounts numbers of a session's result from its events: latencies of records by client.

A number is named by its place in ``result.json``: ``clients.producers.pay.latency.p99_us``. What a record waited is
found from when it was sent or appended, and not from what the event of its acknowledgement or of its read says, so
that these are checked, too. The module goes to executors by value, and imports nothing of floodmark.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

KINDS: Final = ("appended", "became_leader", "records_sent", "records_acked", "records_read")
"""Kinds of events that numbers are found from, beside those of anomalies."""

PERCENTILES: Final = {"p50_us": 50, "p95_us": 95, "p99_us": 99}
LATENCY: Final = ("records", "min_us", *PERCENTILES, "max_us")
"""What a result says of the latencies of a client."""


class Event(NamedTuple):
    """What is used of an event here, under the names of the recording."""

    seq: int
    at_us: int
    kind: str
    partition: str
    broker: int
    node: str
    client: str
    group_id: str
    sequence: int
    records: int
    log_offset: int
    end_offset: int
    stint: int
    latency_us: int


class Difference(NamedTuple):
    """An event that says of itself what others show to be wrong."""

    partition: str
    name: str
    found: int
    told: int


class Ranges:
    """Numbered records with the time of each, nearly always in ascending order."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._times: list[int] = []
        self._again: list[tuple[int, int, int]] = []
        """What came a second time under earlier numbers: (first, end, time)."""

    def add(self, start: int, end: int, at_us: int) -> None:
        """Records ``[start, end)`` have this time, whatever they had before."""
        if self._ends and start < self._ends[-1]:
            self._again.append((start, end, at_us))
            return
        self._starts.append(start)
        self._ends.append(end)
        self._times.append(at_us)

    def times(self, start: int, end: int) -> list[tuple[int, int | None]]:
        """(how many, their time) of ``[start, end)`` in order; None for those that nothing is known of."""
        if self._again:
            again = [each for each in self._again if each[0] < end and start < each[1]]
            if again:
                cuts = sorted({start, end, *(cut for each in again for cut in each[:2] if start < cut < end)})
                return [piece for low, high in pairwise(cuts) for piece in self._newest(low, high, again)]
        return self._straight(start, end)

    def _newest(self, start: int, end: int, again: list[tuple[int, int, int]]) -> list[tuple[int, int | None]]:
        at_us = next((at for low, high, at in reversed(again) if low <= start < high), None)
        return [(end - start, at_us)] if at_us is not None else self._straight(start, end)

    def _straight(self, start: int, end: int) -> list[tuple[int, int | None]]:
        found: list[tuple[int, int | None]] = []
        for at in range(max(0, bisect_right(self._starts, start) - 1), len(self._starts)):
            low, high = max(start, self._starts[at]), min(end, self._ends[at])
            if low >= end:
                break
            if low < high:
                found += [(low - start, None)] * (low > start) + [(high - low, self._times[at])]
                start = high
        return found + [(end - start, None)] * (end > start)


class LatencyRecount:
    """Latencies of a session's records, from its events in order."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, str], Ranges] = {}
        """By client and partition."""
        self._appended: dict[tuple[str, int], Ranges] = {}
        """By partition and stint: one broker leading from one ``became_leader`` on, numbered as they first write."""
        self._writing: dict[tuple[str, int], int] = {}
        self._stints: Counter[str] = Counter()
        self._waits: dict[str, Counter[int]] = {}
        """By the place of a client in the result."""
        self._unknown: set[str] = set()
        """Clients of which something is not known."""
        self._wrong: dict[tuple[str, str], Difference] = {}
        """By client and partition, the first."""

    def take(self, event: Event) -> None:
        """An event."""
        if event.kind == "records_sent":
            if event.sequence >= 0:
                ranges = self._sent.setdefault((event.client, event.partition), Ranges())
                ranges.add(event.sequence, event.sequence + event.records, event.at_us)
        elif event.kind == "became_leader":
            self._writing.pop((event.partition, event.broker), None)
        elif event.kind == "appended":
            self._append(event)
        elif event.kind == "records_acked":
            sent = self._sent.get((event.client, event.partition))
            pieces = [] if sent is None else sent.times(event.sequence, event.sequence + event.records)
            self._timed(event, pieces, [f"clients.producers.{event.client}"])
        elif event.kind == "records_read":
            group = f"clients.groups.{event.group_id}"
            self._timed(event, self._read(event), [group, f"{group}.members.{event.client}"])

    def _append(self, event: Event) -> None:
        place = (event.partition, event.broker)
        stint = self._writing.get(place)
        if stint is None:
            stint = self._writing[place] = self._stints[event.partition]
            self._stints[event.partition] += 1
        ranges = self._appended.setdefault((event.partition, stint), Ranges())
        ranges.add(event.log_offset, event.log_offset + event.records, event.at_us)

    def _read(self, event: Event) -> list[tuple[int, int | None]]:
        """Of what compaction has thinned only the time of the newest is looked at: an event has those of one time."""
        ranges = self._appended.get((event.partition, event.stint))
        if ranges is None:
            return []
        if event.end_offset - event.log_offset == event.records:
            return ranges.times(event.log_offset, event.end_offset)
        return [(event.records, at) for _one, at in ranges.times(event.end_offset - 1, event.end_offset)]

    def _timed(self, event: Event, pieces: list[tuple[int, int | None]], clients: Iterable[str]) -> None:
        for client in clients:
            if not pieces or any(at is None for _count, at in pieces):
                self._unknown.add(client)
        for count, at in pieces:
            if at is None:
                continue
            wait = event.at_us - at
            for client in clients:
                self._waits.setdefault(client, Counter())[wait] += count
            if wait != event.latency_us:
                where = (event.client, event.partition)
                name = f"latency_us of {event.kind} by {event.client}, event {event.seq}"
                self._wrong.setdefault(where, Difference(event.partition, name, wait, event.latency_us))

    def differences(self) -> list[Difference]:
        """Of each client and partition the first event that has another latency than its records had."""
        return list(self._wrong.values())

    def numbers(self) -> dict[str, int]:
        """Every number of which all is known, by its place in the result."""
        return {
            f"{client}.latency.{name}": number
            for client, waits in self._waits.items()
            if client not in self._unknown
            for name, number in percentiles(waits).items()
        }


def percentiles(waits: Mapping[int, int]) -> dict[str, int]:
    """What a result says of latencies: rank ``(n - 1) * p / 100``, halfway between neighbours where it is, rounded."""
    values = sorted(waits)
    below: list[int] = []
    total = 0
    for value in values:
        total += waits[value]
        below.append(total)

    def at(rank: int) -> int:
        return values[bisect_right(below, rank)]

    def percentile(percent: int) -> int:
        rank, over = divmod((total - 1) * percent, 100)
        return at(rank) if not over else (at(rank) * (100 - over) + at(rank + 1) * over + 50) // 100

    found = {name: percentile(percent) for name, percent in PERCENTILES.items()}
    return {"records": total, "min_us": values[0], **found, "max_us": values[-1]}


def claimed(result: Mapping[str, Any]) -> dict[str, int]:
    """The numbers of a result that are counted again here; whatever in it is not what it should be is left out."""
    found: dict[str, int] = {}
    clients = _object(result, "clients")
    for kind in ("producers", "groups"):
        for name, client in _object(clients, kind).items():
            found |= _latency(f"clients.{kind}.{name}", client)
            for member, own in _object(client, "members").items():
                found |= _latency(f"clients.{kind}.{name}.members.{member}", own)
    return found


def _latency(place: str, client: Any) -> dict[str, int]:
    told = _object(client, "latency")
    return {f"{place}.latency.{name}": told[name] for name in LATENCY if type(told.get(name)) is int}


def _object(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
