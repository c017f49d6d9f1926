"""Recounts numbers of a session's result from its events: of clients, latencies, epochs, what stands twice or late.

A number is named by its place in ``result.json``: ``clients.producers.pay.latency.p99_us``. What a record waited is
found from when it was sent or appended, and not from what the event of its acknowledgement or of its read says, so
that these are checked, too. The module goes to executors by value, and imports nothing of floodmark.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

TIMED: Final = ("appended", "became_leader", "records_sent", "records_acked", "records_read")
"""Kinds of events that latencies are found from."""
DECIDED: Final = ("leader_elected", "partition_offline", "isr_changed", "partition_created", "assignment_changed")
"""Kinds of decisions of the controller on a partition."""
OF_PRODUCERS: Final = {
    **{f"records_{outcome}": outcome for outcome in ("sent", "acked", "failed", "unknown", "aborted")},
    "produce_retried": "retries",
    "transaction_begun": "transactions",
    "transaction_committed": "transactions_committed",
    "transaction_aborted": "transactions_aborted",
    "transaction_unknown": "transactions_unknown",
}
"""Kind of event → what it adds to of its producer: its records, or else one."""
OF_MEMBERS: Final = {
    "records_read": "read",
    "handler_failed": "handler_failed",
    "records_abandoned": "abandoned",
    "commit_failed": "failed_commits",
}
"""... of a group and its member."""
OF_GROUPS: Final = {"group_rebalanced": "rebalances", "truncation_detected": "truncations", "consumer_reset": "resets"}
"""... of a group."""
IN_RECORDS: Final = frozenset(("handler_failed", "records_abandoned", *(k for k in OF_PRODUCERS if k[:3] == "rec")))
KINDS: Final = tuple(
    dict.fromkeys((*TIMED, *DECIDED, *OF_PRODUCERS, *OF_MEMBERS, *OF_GROUPS, "offsets_expired", "partition_deleted"))
)
"""All that numbers are found from, beside :data:`LAST`."""
REPEATS: Final = ("duplicates", "reordered")
"""Terms of the ledger that logs tell."""
LAST: Final = "final_read"
"""Kind of a part of the read at the end; its ``records`` is where the log begins by then, stint -1: nothing served."""

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
    leader_epoch: int


BookTerm = tuple[str, str, str]
"""Client, partition and a term of the ledger."""


class ResultClaims(NamedTuple):
    """What a result says that is counted again here."""

    numbers: Mapping[str, int] = {}
    """By their place in it."""
    books: Mapping[BookTerm, int] = {}
    """Of each producer's records in each partition."""
    ends: Mapping[str, int] = {}
    """Partition → the end of its leader's log."""


class ClaimMismatch(NamedTuple):
    """An event that says of itself what others show to be wrong."""

    partition: str
    name: str
    found: int
    told: int


class TimedRecords:
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


def with_stints(events: Iterable[Event]) -> Iterator[Event]:
    """Events in order, each append with the stint that writes it.

    That is one broker leading from one ``became_leader`` on; they are numbered by partition as they first write.
    """
    writing: dict[tuple[str, int], int] = {}
    known: Counter[str] = Counter()
    for event in events:
        place = (event.partition, event.broker)
        if event.kind == "became_leader":
            writing.pop(place, None)
        if event.kind != "appended":
            yield event
            continue
        if place not in writing:
            writing[place] = known[event.partition]
            known[event.partition] += 1
        yield event._replace(stint=writing[place])


class CounterRecount:
    """What each client did, and the epoch of each partition, from a session's events in order."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """By the place in the result."""
        self.epochs: dict[str, int] = {}
        self._expired: set[tuple[str, str]] = set()
        """Group and partition whose committed offset expired: a reset is from there, though nobody had a position."""

    def take(self, event: Event) -> None:
        """An event."""
        kind = event.kind
        if kind == "offsets_expired":
            self._expired.add((event.group_id, event.partition))
        if kind in DECIDED:
            self.epochs[event.partition] = event.leader_epoch
        elif kind == "partition_deleted":
            self.epochs.pop(event.partition, None)
        if kind in OF_PRODUCERS:
            records = event.records if kind in IN_RECORDS else 1
            self.counts[f"clients.producers.{event.client}.{OF_PRODUCERS[kind]}"] += records
        elif kind in OF_MEMBERS:
            group, name = f"clients.groups.{event.group_id}", OF_MEMBERS[kind]
            records = event.records if kind in IN_RECORDS or name == "read" else 1
            self.counts[f"{group}.{name}"] += records
            self.counts[f"{group}.members.{event.client}.{name}"] += records
        elif kind in OF_GROUPS and (kind != "consumer_reset" or self._moved(event)):
            self.counts[f"clients.groups.{event.group_id}.{OF_GROUPS[kind]}"] += 1

    def _moved(self, event: Event) -> bool:
        place = (event.group_id, event.partition)
        known = event.end_offset >= 0 or place in self._expired
        self._expired.discard(place)
        return known

    def numbers(self, told: Iterable[str]) -> dict[str, int]:
        """The numbers that a result has by these names: what never happened is 0, as is the first epoch."""
        found = {name: self.counts[name] for name in told if name.startswith("clients.") and ".latency." not in name}
        for name in told:
            if name.startswith("partitions.") and name.endswith(".epoch"):
                found[name] = self.epochs.get(name.removeprefix("partitions.").removesuffix(".epoch"), 0)
        return found


class LogRecount:
    """Records that stand in a log twice, or behind later ones of their client, when the session ends.

    The logs are those that were read to their end. Of one that does not begin at 0, or has holes, nobody can tell here.
    """

    def __init__(self) -> None:
        self._wrote: dict[tuple[str, int], list[tuple[int, int, str, int]]] = {}
        """Partition and stint → (offset, end, client, number of the first)."""
        self._logs: dict[str, list[tuple[int, int, int]]] = {}
        """Partition → (offset, end, stint) of what was read at the end."""
        self._starts: dict[str, int] = {}

    def take(self, event: Event) -> None:
        """An event, or a part of the read at the end."""
        if event.kind == "appended":
            end = event.log_offset + event.records
            wrote = self._wrote.setdefault((event.partition, event.stint), [])
            wrote.append((event.log_offset, end, event.client, event.sequence))
        elif event.kind == LAST:
            self._starts[event.partition] = event.records
            log = self._logs.setdefault(event.partition, [])
            if event.stint >= 0:
                log.append((event.log_offset, event.end_offset, event.stint))

    def books(self, claims: "ResultClaims") -> dict[BookTerm, int]:
        """Duplicates and reordered records of each book whose log is known."""
        repeats = {
            partition: self._repeats(partition)
            for partition in sorted({partition for _client, partition, _term in claims.books})
            if self._whole(partition, claims.ends.get(partition, -1))
        }
        return {
            (client, partition, term): repeats[partition][client, term]
            for client, partition, term in claims.books
            if partition in repeats
        }

    def _whole(self, partition: str, leo: int) -> bool:
        end = 0
        for low, high, _stint in sorted(self._logs.get(partition, ())):
            if low != end:
                return False
            end = high
        return self._starts.get(partition) == 0 and end == leo

    def _repeats(self, partition: str) -> Counter[tuple[str, str]]:
        found: Counter[tuple[str, str]] = Counter()
        numbers: dict[str, RecordNumbers] = {}
        for low, high, stint in sorted(self._logs[partition]):
            wrote = self._wrote.get((partition, stint), [])
            first = max(0, bisect_right(wrote, low, key=lambda batch: batch[0]) - 1)
            for start, end, client, sequence in wrote[first:]:
                if start >= high:
                    break
                begin, stop = max(low, start), min(high, end)
                if sequence < 0 or begin >= stop:
                    continue
                number = sequence + begin - start
                again, late = numbers.setdefault(client, RecordNumbers()).add(number, number + stop - begin)
                found[client, "duplicates"] += again
                found[client, "reordered"] += late
        return found


class RecordNumbers:
    """Numbers of one client's records that stand in a log so far, as disjoint ranges in ascending order."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []

    def add(self, start: int, end: int) -> tuple[int, int]:
        """Put more behind them; returns how many were there already, and how many others are behind a later one."""
        if not self._ranges or self._ranges[-1][1] <= start:
            if self._ranges and self._ranges[-1][1] == start:
                self._ranges[-1] = (self._ranges[-1][0], end)
            else:
                self._ranges.append((start, end))
            return 0, 0
        highest = self._ranges[-1][1]
        again = sum(max(0, min(end, high) - max(start, low)) for low, high in self._ranges)
        below = min(end, highest) - start
        whole = sorted([*self._ranges, (start, end)])
        self._ranges = whole[:1]
        for low, high in whole[1:]:
            last = self._ranges[-1]
            if low <= last[1]:
                self._ranges[-1] = (last[0], max(last[1], high))
            else:
                self._ranges.append((low, high))
        return again, below - again


class LatencyRecount:
    """Latencies of a session's records, from its events in order."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, str], TimedRecords] = {}
        """By client and partition."""
        self._appended: dict[tuple[str, int], TimedRecords] = {}
        """By partition and stint."""
        self._waits: dict[str, Counter[int]] = {}
        """By the place of a client in the result."""
        self._unknown: set[str] = set()
        """Clients of which something is not known."""
        self._wrong: dict[tuple[str, str], ClaimMismatch] = {}
        """By client and partition, the first."""

    def take(self, event: Event) -> None:
        """An event."""
        if event.kind == "records_sent":
            if event.sequence >= 0:
                ranges = self._sent.setdefault((event.client, event.partition), TimedRecords())
                ranges.add(event.sequence, event.sequence + event.records, event.at_us)
        elif event.kind == "appended":
            ranges = self._appended.setdefault((event.partition, event.stint), TimedRecords())
            ranges.add(event.log_offset, event.log_offset + event.records, event.at_us)
        elif event.kind == "records_acked":
            sent = self._sent.get((event.client, event.partition))
            pieces = [] if sent is None else sent.times(event.sequence, event.sequence + event.records)
            self._timed(event, pieces, [f"clients.producers.{event.client}"])
        elif event.kind == "records_read":
            group = f"clients.groups.{event.group_id}"
            self._timed(event, self._read(event), [group, f"{group}.members.{event.client}"])

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
                self._wrong.setdefault(where, ClaimMismatch(event.partition, name, wait, event.latency_us))

    def differences(self) -> list[ClaimMismatch]:
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


def claimed(result: Mapping[str, Any]) -> ResultClaims:
    """The numbers of a result that are counted again here; whatever in it is not what it should be is left out."""
    found = _of_clients(_object(result, "clients"))
    ends: dict[str, int] = {}
    for name, partition in _object(result, "partitions").items():
        found |= _whole_numbers(f"partitions.{name}.", partition, ("epoch",))
        leader = partition.get("leader") if isinstance(partition, dict) else None
        log = _object(_object(partition, "replicas"), str(leader))
        ends |= dict.fromkeys((name,), _whole_numbers("", log, ("leo",)).get("leo", -1))
    found |= _whole_numbers("ledger.", result.get("ledger"), REPEATS)
    kept: dict[BookTerm, int] = {}
    books = result.get("books")
    for book in books if isinstance(books, list) else ():
        told = _whole_numbers("", book, REPEATS)
        client, partition = (book.get("client"), book.get("partition")) if told else (None, None)
        if isinstance(client, str) and isinstance(partition, str):
            kept |= {(client, partition, term): number for term, number in told.items()}
    return ResultClaims(found, kept, ends)


def _of_clients(clients: Mapping[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, client in _object(clients, "producers").items():
        found |= _latency(f"clients.producers.{name}", client)
        found |= _whole_numbers(f"clients.producers.{name}.", client, OF_PRODUCERS.values())
    for name, group in _object(clients, "groups").items():
        found |= _latency(f"clients.groups.{name}", group)
        found |= _whole_numbers(f"clients.groups.{name}.", group, (*OF_GROUPS.values(), *OF_MEMBERS.values()))
        for member, own in _object(group, "members").items():
            found |= _latency(f"clients.groups.{name}.members.{member}", own)
            found |= _whole_numbers(f"clients.groups.{name}.members.{member}.", own, OF_MEMBERS.values())
    return found


class Disagreement(NamedTuple):
    """A number that the events give otherwise than a result, or an event, says."""

    source: str
    partition: str
    name: str
    found: int
    told: int


def disagreements(events: Iterable[Event], claims: ResultClaims) -> list[Disagreement]:
    """All of a session, whose events come in order, and the read at the end behind them."""
    latencies, counters, logs = LatencyRecount(), CounterRecount(), LogRecount()
    for event in with_stints(events):
        for recount in (latencies, counters, logs):
            recount.take(event)
    books = logs.books(claims)
    numbers = {**counters.numbers(claims.numbers), **latencies.numbers()}
    if books and len(books) == len(claims.books):
        for term in REPEATS:
            numbers[f"ledger.{term}"] = sum(number for (*_place, name), number in books.items() if name == term)
    found = [
        Disagreement("result.json", "", name, numbers[name], told)
        for name, told in claims.numbers.items()
        if numbers.get(name, told) != told
    ]
    found += [
        Disagreement("result.json", partition, f"{term} of {client}", number, claims.books[client, partition, term])
        for (client, partition, term), number in books.items()
        if number != claims.books[client, partition, term]
    ]
    # Of a session from before its result had latencies an event had one for all of its records.
    timed = any(".latency." in name for name in claims.numbers)
    return found + [Disagreement("events", *each) for each in latencies.differences() if timed]


def _latency(place: str, client: Any) -> dict[str, int]:
    return _whole_numbers(f"{place}.latency.", _object(client, "latency"), LATENCY)


def _whole_numbers(place: str, value: Any, names: Iterable[str]) -> dict[str, int]:
    told = value if isinstance(value, dict) else {}
    return {f"{place}{name}": told[name] for name in names if type(told.get(name)) is int}


def _object(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
