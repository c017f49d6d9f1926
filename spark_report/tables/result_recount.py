"""Recount of numbers in a session's result from its events: clients, latencies, epochs, duplicates and reordering.

A number is named by its path in ``result.json``: ``clients.producers.pay.latency.p99_us``. Latencies are computed from
the times of sending or appending, not from the field of the acknowledgement or read event, so that these fields are
checked too. The module is sent to executors by value, and imports no floodmark.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

TIMED: Final = ("appended", "became_leader", "records_sent", "records_acked", "records_read")
"""Kinds of events from which latencies are computed."""
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
"""Kind of event → counter of its producer that it increments, by its records or by one."""
OF_MEMBERS: Final = {
    "records_read": "read",
    "handler_failed": "handler_failed",
    "records_abandoned": "abandoned",
    "commit_failed": "failed_commits",
}
"""Kind of event → counter of its group and member."""
OF_GROUPS: Final = {"group_rebalanced": "rebalances", "truncation_detected": "truncations", "consumer_reset": "resets"}
"""Kind of event → counter of its group."""
IN_RECORDS: Final = frozenset(("handler_failed", "records_abandoned", *(k for k in OF_PRODUCERS if k[:3] == "rec")))
KINDS: Final = tuple(
    dict.fromkeys((*TIMED, *DECIDED, *OF_PRODUCERS, *OF_MEMBERS, *OF_GROUPS, "offsets_expired", "partition_deleted"))
)
"""Kinds of events that are used, besides :data:`LAST`."""
REPEATS: Final = ("duplicates", "reordered")
"""Terms of the ledger that are computed from logs."""
LAST: Final = "final_read"
"""Kind of a part of the final read; its ``records`` is the log start offset, ``log_branch`` -1 means an empty log."""

PERCENTILES: Final = {"p50_us": 50, "p95_us": 95, "p99_us": 99}
LATENCY: Final = ("records", "min_us", *PERCENTILES, "max_us")
"""Fields of a client's latency in a result."""


class Event(NamedTuple):
    """The fields of an event that are used here, with the names of the recording."""

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
    log_branch: int
    latency_us: int
    leader_epoch: int


LedgerTerm = tuple[str, str, str]
"""Client, partition and a term of the ledger."""


class ResultClaims(NamedTuple):
    """The numbers of a result that are recounted here."""

    numbers: Mapping[str, int] = {}
    """Path in the result → number."""
    repeats: Mapping[LedgerTerm, int] = {}
    """Producer, partition and term → number of records."""
    ends: Mapping[str, int] = {}
    """Partition → log end offset of its leader."""


class ClaimMismatch(NamedTuple):
    """A field of an event that contradicts other events."""

    partition: str
    name: str
    found: int
    reported: int


class TimedRecords:
    """Ranges of numbered records with a time each, nearly always added in ascending order."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._times: list[int] = []
        self._again: list[tuple[int, int, int]] = []
        """Ranges added again with earlier numbers: (first, end, time)."""

    def add(self, start: int, end: int, at_us: int) -> None:
        """Set the time of records ``[start, end)``, also if they had another one."""
        if self._ends and start < self._ends[-1]:
            self._again.append((start, end, at_us))
            return
        self._starts.append(start)
        self._ends.append(end)
        self._times.append(at_us)

    def times(self, start: int, end: int) -> list[tuple[int, int | None]]:
        """Return pairs (number, time) of ``[start, end)`` in order; None for an unknown time."""
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
        spans: list[tuple[int, int | None]] = []
        for at in range(max(0, bisect_right(self._starts, start) - 1), len(self._starts)):
            low, high = max(start, self._starts[at]), min(end, self._ends[at])
            if low >= end:
                break
            if low < high:
                spans += [(low - start, None)] * (low > start) + [(high - low, self._times[at])]
                start = high
        return spans + [(end - start, None)] * (end > start)


def with_log_branches(events: Iterable[Event]) -> Iterator[Event]:
    """Yield events in order, each append with the number of its log branch (``log_branch``).

    A branch is what one broker writes as leader after one ``became_leader``; branches are numbered by partition in the
    order of their first append.
    """
    writing: dict[tuple[str, int], int] = {}
    branches: Counter[str] = Counter()
    for event in events:
        leadership = (event.partition, event.broker)
        if event.kind == "became_leader":
            writing.pop(leadership, None)
        if event.kind != "appended":
            yield event
            continue
        if leadership not in writing:
            writing[leadership] = branches[event.partition]
            branches[event.partition] += 1
        yield event._replace(log_branch=writing[leadership])


class CounterRecount:
    """Recount of client counters, and of the epoch of each partition, from a session's events in order."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """Path in the result → count."""
        self.epochs: dict[str, int] = {}
        self._expired: set[tuple[str, str]] = set()
        """Groups and partitions with an expired committed offset: the next reset counts even without a position."""

    def take(self, event: Event) -> None:
        """Process an event."""
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

    def numbers(self, names: Iterable[str]) -> dict[str, int]:
        """Return the recounted numbers for these paths of a result; counters and epochs default to 0."""
        found = {name: self.counts[name] for name in names if name.startswith("clients.") and ".latency." not in name}
        for name in names:
            if name.startswith("partitions.") and name.endswith(".epoch"):
                found[name] = self.epochs.get(name.removeprefix("partitions.").removesuffix(".epoch"), 0)
        return found


class LogRecount:
    """Recount of duplicate and reordered records in the logs at the end of a session.

    Only logs with a final read count. A log that does not start at offset 0, or has gaps, cannot be recounted.
    """

    def __init__(self) -> None:
        self._wrote: dict[tuple[str, int], list[tuple[int, int, str, int]]] = {}
        """Partition and log branch → (offset, end, client, record number of the first)."""
        self._logs: dict[str, list[tuple[int, int, int]]] = {}
        """Partition → (offset, end, log branch) of the final read."""
        self._starts: dict[str, int] = {}

    def take(self, event: Event) -> None:
        """Process an event, or a part of the final read."""
        if event.kind == "appended":
            end = event.log_offset + event.records
            wrote = self._wrote.setdefault((event.partition, event.log_branch), [])
            wrote.append((event.log_offset, end, event.client, event.sequence))
        elif event.kind == LAST:
            self._starts[event.partition] = event.records
            log = self._logs.setdefault(event.partition, [])
            if event.log_branch >= 0:
                log.append((event.log_offset, event.end_offset, event.log_branch))

    def repeats(self, claims: "ResultClaims") -> dict[LedgerTerm, int]:
        """Return the duplicate and reordered records by client and partition, for complete logs."""
        repeats = {
            partition: self._repeats(partition)
            for partition in sorted({partition for _client, partition, _term in claims.repeats})
            if self._starts_at_zero(partition, claims.ends.get(partition, -1))
        }
        return {
            (client, partition, term): repeats[partition][client, term]
            for client, partition, term in claims.repeats
            if partition in repeats
        }

    def _starts_at_zero(self, partition: str, leo: int) -> bool:
        end = 0
        for low, high, _log_branch in sorted(self._logs.get(partition, ())):
            if low != end:
                return False
            end = high
        return self._starts.get(partition) == 0 and end == leo

    def _repeats(self, partition: str) -> Counter[tuple[str, str]]:
        repeats: Counter[tuple[str, str]] = Counter()
        numbers: dict[str, RecordNumbers] = {}
        for low, high, log_branch in sorted(self._logs[partition]):
            wrote = self._wrote.get((partition, log_branch), [])
            first = max(0, bisect_right(wrote, low, key=lambda batch: batch[0]) - 1)
            for start, end, client, sequence in wrote[first:]:
                if start >= high:
                    break
                begin, stop = max(low, start), min(high, end)
                if sequence < 0 or begin >= stop:
                    continue
                number = sequence + begin - start
                again, late = numbers.setdefault(client, RecordNumbers()).add(number, number + stop - begin)
                repeats[client, "duplicates"] += again
                repeats[client, "reordered"] += late
        return repeats


class RecordNumbers:
    """Numbers of one client's records in a log so far, as disjoint ascending ranges."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []

    def add(self, start: int, end: int) -> tuple[int, int]:
        """Append records; return the number of duplicates, and of others that come after a later record."""
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
    """Recount of record latencies from a session's events in order."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, str], TimedRecords] = {}
        """(client, partition) → send times."""
        self._appended: dict[tuple[str, int], TimedRecords] = {}
        """(partition, log branch) → append times."""
        self._waits: dict[str, Counter[int]] = {}
        """Path of a client in the result → latency → number of records."""
        self._unknown: set[str] = set()
        """Clients with unknown latencies."""
        self._mismatches: dict[tuple[str, str], ClaimMismatch] = {}
        """(client, partition) → first event with a wrong latency."""

    def take(self, event: Event) -> None:
        """Process an event."""
        if event.kind == "records_sent":
            if event.sequence >= 0:
                ranges = self._sent.setdefault((event.client, event.partition), TimedRecords())
                ranges.add(event.sequence, event.sequence + event.records, event.at_us)
        elif event.kind == "appended":
            ranges = self._appended.setdefault((event.partition, event.log_branch), TimedRecords())
            ranges.add(event.log_offset, event.log_offset + event.records, event.at_us)
        elif event.kind == "records_acked":
            sent = self._sent.get((event.client, event.partition))
            pieces = [] if sent is None else sent.times(event.sequence, event.sequence + event.records)
            self._timed(event, pieces, [f"clients.producers.{event.client}"])
        elif event.kind == "records_read":
            group = f"clients.groups.{event.group_id}"
            self._timed(event, self._read(event), [group, f"{group}.members.{event.client}"])

    def _read(self, event: Event) -> list[tuple[int, int | None]]:
        """Return the append times of read records; after compaction that of the newest, as an event has one time."""
        ranges = self._appended.get((event.partition, event.log_branch))
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
                self._mismatches.setdefault(where, ClaimMismatch(event.partition, name, wait, event.latency_us))

    def differences(self) -> list[ClaimMismatch]:
        """Return for each client and partition the first event with a latency that differs from the recount."""
        return list(self._mismatches.values())

    def numbers(self) -> dict[str, int]:
        """Return the latency numbers of clients without unknown latencies, by path in the result."""
        return {
            f"{client}.latency.{name}": number
            for client, waits in self._waits.items()
            if client not in self._unknown
            for name, number in percentiles(waits).items()
        }


def percentiles(waits: Mapping[int, int]) -> dict[str, int]:
    """Return latency numbers as in a result: rank ``(n - 1) * p / 100``, interpolated between neighbours, rounded."""
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
    """Return the numbers of a result that are recounted here, without invalid ones."""
    claimed_numbers = _of_clients(_object(result, "clients"))
    ends: dict[str, int] = {}
    for name, partition in _object(result, "partitions").items():
        claimed_numbers |= _whole_numbers(f"partitions.{name}.", partition, ("epoch",))
        leader = partition.get("leader") if isinstance(partition, dict) else None
        log = _object(_object(partition, "replicas"), str(leader))
        ends |= dict.fromkeys((name,), _whole_numbers("", log, ("leo",)).get("leo", -1))
    claimed_numbers |= _whole_numbers("ledger.", result.get("ledger"), REPEATS)
    kept: dict[LedgerTerm, int] = {}
    clients = result.get("ledger_by_partition")
    for book in clients if isinstance(clients, list) else ():
        numbers = _whole_numbers("", book, REPEATS)
        client, partition = (book.get("client"), book.get("partition")) if numbers else (None, None)
        if isinstance(client, str) and isinstance(partition, str):
            kept |= {(client, partition, term): number for term, number in numbers.items()}
    return ResultClaims(claimed_numbers, kept, ends)


def _of_clients(clients: Mapping[str, Any]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for name, client in _object(clients, "producers").items():
        numbers |= _latency(f"clients.producers.{name}", client)
        numbers |= _whole_numbers(f"clients.producers.{name}.", client, OF_PRODUCERS.values())
    for name, group in _object(clients, "groups").items():
        numbers |= _latency(f"clients.groups.{name}", group)
        numbers |= _whole_numbers(f"clients.groups.{name}.", group, (*OF_GROUPS.values(), *OF_MEMBERS.values()))
        for member, own in _object(group, "members").items():
            numbers |= _latency(f"clients.groups.{name}.members.{member}", own)
            numbers |= _whole_numbers(f"clients.groups.{name}.members.{member}.", own, OF_MEMBERS.values())
    return numbers


class Disagreement(NamedTuple):
    """A number in a result, or in an event, that differs from the recount."""

    source: str
    partition: str
    name: str
    found: int
    reported: int


def disagreements(events: Iterable[Event], claims: ResultClaims) -> list[Disagreement]:
    """Return the disagreements of a session; its events come in order, followed by the final read."""
    latencies, counters, logs = LatencyRecount(), CounterRecount(), LogRecount()
    for event in with_log_branches(events):
        for recount in (latencies, counters, logs):
            recount.take(event)
    repeats = logs.repeats(claims)
    numbers = {**counters.numbers(claims.numbers), **latencies.numbers()}
    if repeats and len(repeats) == len(claims.repeats):
        for term in REPEATS:
            numbers[f"ledger.{term}"] = sum(number for (*_place, name), number in repeats.items() if name == term)
    differences = [
        Disagreement("result.json", "", name, numbers[name], reported)
        for name, reported in claims.numbers.items()
        if numbers.get(name, reported) != reported
    ]
    differences += [
        Disagreement("result.json", partition, f"{term} of {client}", number, claims.repeats[client, partition, term])
        for (client, partition, term), number in repeats.items()
        if number != claims.repeats[client, partition, term]
    ]
    # In old sessions, whose results have no latencies, an event's latency is not that of all its records.
    timed = any(".latency." in name for name in claims.numbers)
    return differences + [Disagreement("events", *each) for each in latencies.differences() if timed]


def _latency(path: str, client: Any) -> dict[str, int]:
    return _whole_numbers(f"{path}.latency.", _object(client, "latency"), LATENCY)


def _whole_numbers(prefix: str, value: Any, names: Iterable[str]) -> dict[str, int]:
    reported = value if isinstance(value, dict) else {}
    return {f"{prefix}{name}": reported[name] for name in names if type(reported.get(name)) is int}


def _object(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
