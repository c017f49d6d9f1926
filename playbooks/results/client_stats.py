"""Statistics of a session as its clients observed it.

Counts are taken from the client events. Three values have no event: the queued and in-flight counts of a producer come
from its state at that moment, and a group's generation and lag from an administrator's ``describe``.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from cluster_model.observation import ClusterView, GroupView, ProducerView
from cluster_model.protocol.events import CRASH, OUT_OF_MEMORY, POWER_LOSS
from cluster_model.util.latency import LatencyHistogram
from cluster_model.util.quantities import counted
from playbooks.results.group_progress import DeliveredOffsets, ReadStalls

# Definitions of the statistics.
#
# A record is *read again* if its group had received that very record before: the same offset, written by the same
# leader in the same epoch. A record that replaced it after a truncation is a different one. After compaction a read
# is assumed to cover its first offsets, since its event has only the number of records.
#
# A group's *idle* time is summed over partitions: for each it runs from the moment its owner revoked it, found it lost,
# or its process ended, until a member was assigned it. Eager rebalances stop all partitions, cooperative ones those
# that move; both stop those of a member that died until they are reassigned. Partitions never reassigned do not count.


class PartitionLatencies:
    """Latencies of a client's records, by partition and together."""

    __slots__ = ("_by_partition", "overall")

    def __init__(self, saved: tuple[Any, ...] = ()) -> None:
        """``saved`` is the state returned by :meth:`save`."""
        self._by_partition = {name: LatencyHistogram(counts) for name, counts in saved}
        self.overall = LatencyHistogram()
        """Latencies over all partitions."""
        for known in self._by_partition.values():
            self.overall.include(known)

    def add(self, partition: str, latency_us: int, records: int) -> None:
        """Record the latency of ``records`` records of a partition."""
        known = self._by_partition.get(partition)
        if known is None:
            known = self._by_partition[partition] = LatencyHistogram()
        known.add(latency_us, records)
        self.overall.add(latency_us, records)

    def of(self, partition: str | None) -> LatencyHistogram:
        """Return the latencies of one partition, or of all."""
        return self.overall if partition is None else self._by_partition.get(partition, _NONE)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return tuple([(name, known.save()) for name, known in self._by_partition.items()])


_NONE: Final = LatencyHistogram()


class ProducerStats:
    """Counts of one producer: records by outcome, attempts and transactions."""

    __slots__ = ("aborted", "acked", "errors", "failed", "failure", "interceptor_failures", "latencies", "refused",
                 "retries", "sent", "transactions", "transactions_aborted", "transactions_committed",
                 "transactions_unknown", "unknown")  # fmt: skip

    def __init__(self) -> None:
        self.sent = self.acked = self.failed = self.unknown = self.aborted = 0
        self.transactions = self.transactions_committed = self.transactions_aborted = self.transactions_unknown = 0
        """Transactions begun, and how many of them have an end known to the producer."""
        self.interceptor_failures = 0
        """Records for which an interceptor threw an exception."""
        self.failure = ""
        """The fatal error that stopped the producer, empty if none."""
        self.retries = 0
        """Attempts to send a batch after the first."""
        self.refused: dict[str, int] = {}
        """Attempts that ended in an error, by error name."""
        self.errors: dict[str, int] = {}
        """Records failed or unknown, by the error passed to their callback."""
        self.latencies = PartitionLatencies()
        """Latency of acknowledged records from send to acknowledgement."""

    @property
    def unanswered(self) -> int:
        """Records whose callback has not been called."""
        return self.sent - self.acked - self.failed - self.unknown - self.aborted

    def save(self) -> tuple[Any, ...]:
        """Return all state as plain values."""
        return tuple([_saved(getattr(self, name)) for name in self.__slots__])

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "ProducerStats":
        """Restore the state of :meth:`save`."""
        book = cls()
        _fill(book, saved)
        return book


class MemberStats:
    """Counts of one consumer of a group."""

    __slots__ = (
        "abandoned", "commits", "failed_commits", "failure", "handler_failed", "last_commit", "latencies", "lost",
        "read", "reread",
    )  # fmt: skip

    def __init__(self) -> None:
        self.read = 0
        self.reread = 0
        """Records read that the group had read before."""
        self.commits = 0
        """Commits that changed an offset."""
        self.failed_commits = 0
        self.handler_failed = 0
        """Records that the application's handler failed to process."""
        self.abandoned = 0
        """Records returned by ``poll`` that the application never processed."""
        self.lost = 0
        """Partitions found to be no longer assigned to it."""
        self.failure = ""
        """The exception that stopped the consumer, empty if none."""
        self.last_commit = (-1, "")
        """Time and kind of the last commit: a commit has an event for each partition."""
        self.latencies = LatencyHistogram()
        """Latency of records from append to return by ``poll``."""

    def save(self) -> tuple[Any, ...]:
        """Return all state as plain values."""
        return tuple([_saved(getattr(self, name)) for name in self.__slots__])

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "MemberStats":
        """Restore the state of :meth:`save`."""
        book = cls()
        _fill(book, saved)
        return book


def _saved(value: Any) -> Any:
    if isinstance(value, LatencyHistogram | PartitionLatencies):
        return value.save()
    return tuple(value.items()) if isinstance(value, dict) else value


def _fill(book: ProducerStats | MemberStats, saved: tuple[Any, ...]) -> None:
    """Restore a new object from the state that :func:`_saved` made of each attribute."""
    for name, value in zip(book.__slots__, saved, strict=True):
        kind = type(getattr(book, name))
        setattr(book, name, kind(value) if kind in (dict, LatencyHistogram, PartitionLatencies) else value)


class GroupStats:
    """Counts of one consumer group, and of its members."""

    __slots__ = ("commit_errors", "expired", "handed", "idle_since", "idle_us", "latencies", "members", "owners",
                 "rebalances", "resets", "stalls", "truncations")  # fmt: skip

    def __init__(self) -> None:
        self.members: dict[str, MemberStats] = {}
        self.rebalances = 0
        """Assignments that took effect."""
        self.idle_us = 0
        """Time in which partitions had no owner with a running process, summed over partitions."""
        self.truncations = 0
        """Number of log truncations that members detected."""
        self.resets = 0
        """Number of times ``auto.offset.reset`` moved a member: after an out-of-range offset or an expiry."""
        self.expired: dict[str, None] = {}
        """Partitions whose committed offset has expired and for which no position has been reset since."""
        self.latencies = PartitionLatencies()
        """Latency of the members' records from append to return by ``poll``."""
        self.stalls = ReadStalls()
        self.commit_errors: dict[str, int] = {}
        self.handed: dict[str, dict[int, DeliveredOffsets]] = {}
        """Partition → log branch → offsets that any member has received."""
        self.owners: dict[str, str] = {}
        """Partition → the member it was last assigned to."""
        self.idle_since: dict[str, int] = {}

    def member(self, name: str) -> MemberStats:
        """Return a member's counts, created on first use."""
        book = self.members.get(name)
        if book is None:
            book = self.members[name] = MemberStats()
        return book

    def total(self, column: str) -> int:
        """Return the sum of one attribute over all members."""
        return sum(getattr(each, column) for each in self.members.values())

    def save(self) -> tuple[Any, ...]:
        """Return all state as plain values."""
        return (
            tuple([(name, each.save()) for name, each in self.members.items()]),
            self.rebalances, self.idle_us, self.truncations, self.resets, tuple(self.commit_errors.items()),
            tuple(
                [
                    (name, tuple([(log_branch, each.save()) for log_branch, each in log_branches.items()]))
                    for name, log_branches in self.handed.items()
                ]
            ),
            tuple(self.owners.items()), tuple(self.idle_since.items()), tuple(self.expired), self.stalls.save(),
            self.latencies.save(),
        )  # fmt: skip

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "GroupStats":
        """Restore the state of :meth:`save`."""
        book = cls()
        members, book.rebalances, book.idle_us, book.truncations, book.resets, errors, handed, *rest = saved
        owners, idle, expired, stalls, latencies = rest
        book.latencies = PartitionLatencies(latencies)
        book.expired, book.stalls = dict.fromkeys(expired), ReadStalls.from_saved(stalls)
        book.members = {name: MemberStats.from_saved(each) for name, each in members}
        book.handed = {
            name: {log_branch: DeliveredOffsets(ranges) for log_branch, ranges in log_branches}
            for name, log_branches in handed
        }
        book.commit_errors, book.owners, book.idle_since = dict(errors), dict(owners), dict(idle)
        return book


class ClientStats:
    """Counts of all clients, by name."""

    __slots__ = ("closed", "groups", "killed", "latencies", "producers", "readable")

    def __init__(self) -> None:
        self.killed: dict[str, int] = {}
        """Process, of a client or another, → how often it was killed, lost power or ran out of memory ..."""
        self.closed: dict[str, int] = {}
        """... and how often a client was closed in order."""
        self.producers: dict[str, ProducerStats] = {}
        self.latencies = LatencyHistogram()
        """Latency over the records of all producers."""
        self.groups: dict[str, GroupStats] = {}
        self.readable: dict[str, tuple[int, int]] = {}
        """Partition → (leader epoch, high watermark) of its newest leader, for read stalls."""

    def producer(self, name: str) -> ProducerStats:
        """Return a producer's counts, created on first use."""
        book = self.producers.get(name)
        if book is None:
            book = self.producers[name] = ProducerStats()
        return book

    def group(self, name: str) -> GroupStats:
        """Return a group's counts, created on first use."""
        book = self.groups.get(name)
        if book is None:
            book = self.groups[name] = GroupStats()
        return book

    def save(self) -> tuple[Any, ...]:
        """Return all state as plain values."""
        return (
            tuple([(name, each.save()) for name, each in self.producers.items()]),
            tuple([(name, each.save()) for name, each in self.groups.items()]),
            tuple(self.killed.items()), tuple(self.closed.items()), tuple(self.readable.items()),
        )  # fmt: skip

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "ClientStats":
        """Restore the state of :meth:`save`."""
        stats = cls()
        producers, groups, killed, closed, readable = saved
        stats.readable = dict(readable)
        stats.killed, stats.closed = dict(killed), dict(closed)
        stats.producers = {name: ProducerStats.from_saved(each) for name, each in producers}
        for producer in stats.producers.values():
            stats.latencies.include(producer.latencies.overall)
        stats.groups = {name: GroupStats.from_saved(each) for name, each in groups}
        return stats


Counts = tuple[tuple[str, int], ...]
"""Pairs of an error name and a count, sorted by name."""


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """Percentiles of the latencies of records, in microseconds; all 0 without records."""

    records: int = 0
    min_us: int = 0
    p50_us: int = 0
    p95_us: int = 0
    p99_us: int = 0
    max_us: int = 0

    @classmethod
    def of(cls, histogram: LatencyHistogram) -> "LatencySummary":
        """Summarise a histogram of latencies."""
        p50, p95, p99 = [histogram.percentile(percent) for percent in (50, 95, 99)]
        return cls(histogram.records, histogram.least, p50, p95, p99, histogram.greatest)

    def to_json(self) -> dict[str, int]:
        """Return the JSON object of the published document."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ProducerSummary:
    """One producer: records by outcome, attempts, and records still pending."""

    name: str
    sent: int
    acked: int
    failed: int
    unknown: int
    unanswered: int
    """Records whose callback had not been called."""
    queued: int
    """Records waiting in the accumulator."""
    in_flight: int
    """Batches in flight."""
    retries: int
    """Attempts to send a batch after the first."""
    refused: Counts
    """Attempts that ended in an error."""
    errors: Counts
    """Records failed or unknown, by the error passed to their callback."""
    aborted: int = 0
    """Records aborted with their transaction."""
    transactions: int = 0
    """Transactions begun."""
    transactions_committed: int = 0
    transactions_aborted: int = 0
    transactions_unknown: int = 0
    """Transactions whose outcome the producer does not know."""
    interceptor_failures: int = 0
    """Records for which an interceptor threw an exception."""
    killed: int = 0
    """How often its process was killed ..."""
    closed: int = 0
    """... or closed in order."""
    failure: str = ""
    """The fatal error that stopped the producer, empty if none."""
    latency: LatencySummary = field(default_factory=LatencySummary)
    """Latency of acknowledged records from send to acknowledgement."""

    @property
    def transactions_open(self) -> int:
        """Transactions without a known end: still open, or ended after the producer did."""
        ended = self.transactions_committed + self.transactions_aborted + self.transactions_unknown
        return self.transactions - ended

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        return {
            "sent": self.sent,
            "acked": self.acked,
            "failed": self.failed,
            "unknown": self.unknown,
            "aborted": self.aborted,
            "unanswered": self.unanswered,
            "queued": self.queued,
            "in_flight": self.in_flight,
            "retries": self.retries,
            "refused": dict(self.refused),
            "errors": dict(self.errors),
            "transactions": self.transactions,
            "transactions_committed": self.transactions_committed,
            "transactions_aborted": self.transactions_aborted,
            "transactions_unknown": self.transactions_unknown,
            "interceptor_failures": self.interceptor_failures,
            "killed": self.killed,
            "closed": self.closed,
            "failure": self.failure,
            "latency": self.latency.to_json(),
        }


@dataclass(frozen=True, slots=True)
class MemberSummary:
    """One consumer of a group: records read, commits and failures."""

    name: str
    read: int
    reread: int
    handler_failed: int
    commits: int
    failed_commits: int
    lost: int
    """Partitions found to be no longer assigned to it."""
    failure: str
    """The exception that stopped the consumer, empty if none."""
    abandoned: int = 0
    """Records returned by ``poll`` that the application never processed."""
    killed: int = 0
    """How often its process was killed ..."""
    closed: int = 0
    """... or closed in order."""
    latency: LatencySummary = field(default_factory=LatencySummary)
    """Latency of records from append to return by ``poll``."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        return {
            "read": self.read,
            "reread": self.reread,
            "handler_failed": self.handler_failed,
            "commits": self.commits,
            "failed_commits": self.failed_commits,
            "lost": self.lost,
            "abandoned": self.abandoned,
            "killed": self.killed,
            "closed": self.closed,
            "failure": self.failure,
            "latency": self.latency.to_json(),
        }


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One consumer group with its consumers."""

    name: str
    read: int
    reread: int
    """Records returned to the group again."""
    lag: int | None
    """LAG of the committed offsets as kafka-consumer-groups prints it; may be negative. None: no committed offset."""
    generation: int
    """Generation of the group, -1 if it has none."""
    rebalances: int
    idle_us: int
    """Time in which partitions had no owner during rebalances, summed over partitions."""
    commits: int
    commit_errors: Counts
    handler_failed: int
    truncations: int
    resets: int
    members: tuple[MemberSummary, ...]
    skipped: int = 0
    """Records below the group's position that it never received, from the findings."""
    position_lag: int = 0
    """Records between the positions of its consumers and the high watermarks."""
    read_stall_us: int = 0
    """Longest time in which the group received nothing of a partition that had records for it."""
    latency: LatencySummary = field(default_factory=LatencySummary)
    """Latency of the members' records from append to return by ``poll``."""

    @property
    def failed_commits(self) -> int:
        """Commits that failed or have an unknown outcome."""
        return sum(each.failed_commits for each in self.members)

    @property
    def abandoned(self) -> int:
        """Records returned by ``poll`` that no application processed."""
        return sum(each.abandoned for each in self.members)

    @property
    def failures(self) -> tuple[tuple[str, str], ...]:
        """Consumers stopped by an exception, with its name."""
        return tuple([(each.name, each.failure) for each in self.members if each.failure])

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        return {
            "read": self.read,
            "reread": self.reread,
            "lag": self.lag,
            "position_lag": self.position_lag,
            "skipped": self.skipped,
            "generation": self.generation,
            "rebalances": self.rebalances,
            "idle_us": self.idle_us,
            "commits": self.commits,
            "failed_commits": self.failed_commits,
            "commit_errors": dict(self.commit_errors),
            "handler_failed": self.handler_failed,
            "abandoned": self.abandoned,
            "truncations": self.truncations,
            "resets": self.resets,
            "read_stall_us": self.read_stall_us,
            "latency": self.latency.to_json(),
            "members": {each.name: each.to_json() for each in self.members},
        }


@dataclass(frozen=True, slots=True)
class Clients:
    """Statistics of all clients, by name."""

    producers: tuple[ProducerSummary, ...] = ()
    groups: tuple[GroupSummary, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        return {
            "producers": {each.name: each.to_json() for each in self.producers},
            "groups": {each.name: each.to_json() for each in self.groups},
        }


def summarize(stats: ClientStats, view: ClusterView) -> Clients:
    """Summarise the counts at this time; clients without activity have zeros."""
    producers = {each.name: each for each in view.producers}
    groups = {each.name: each for each in view.groups}
    return Clients(
        tuple([_producer(name, stats, producers.get(name)) for name in sorted({*stats.producers, *producers})]),
        tuple([_group(name, stats, groups.get(name), view.now_us) for name in sorted({*stats.groups, *groups})]),
    )


def transactions_text(one: ProducerSummary) -> str:
    """Return ``12 transactions, 9 committed, 2 aborted, 1 open``; only the outcomes that occurred."""
    ends = {
        "committed": one.transactions_committed,
        "aborted": one.transactions_aborted,
        "unknown": one.transactions_unknown,
        "open": one.transactions_open,
    }
    parts = [f"{times} {how}" if times < one.transactions else f"all {how}" for how, times in ends.items() if times]
    return ", ".join([counted(one.transactions, "transaction"), *parts])


def _producer(name: str, stats: ClientStats, view: ProducerView | None) -> ProducerSummary:
    book = stats.producers.get(name) or ProducerStats()
    return ProducerSummary(
        name=name,
        sent=book.sent,
        acked=book.acked,
        failed=book.failed,
        unknown=book.unknown,
        aborted=book.aborted,
        unanswered=book.unanswered,
        queued=0 if view is None else view.queued,
        in_flight=0 if view is None else view.in_flight,
        retries=book.retries,
        refused=tuple(sorted(book.refused.items())),
        errors=tuple(sorted(book.errors.items())),
        transactions=book.transactions,
        transactions_committed=book.transactions_committed,
        transactions_aborted=book.transactions_aborted,
        transactions_unknown=book.transactions_unknown,
        interceptor_failures=book.interceptor_failures,
        killed=stats.killed.get(name, 0),
        closed=stats.closed.get(name, 0),
        failure=book.failure,
        latency=LatencySummary.of(book.latencies.overall),
    )


def _group(name: str, stats: ClientStats, view: GroupView | None, now: int) -> GroupSummary:
    book = stats.groups.get(name) or GroupStats()
    assigned = () if view is None else [member for member, _partitions in view.assignment]
    return GroupSummary(
        name=name,
        read=book.total("read"),
        reread=book.total("reread"),
        lag=None if view is None else view.lag,
        position_lag=0 if view is None else view.position_lag,
        generation=-1 if view is None else view.generation,
        rebalances=book.rebalances,
        idle_us=book.idle_us,
        commits=book.total("commits"),
        commit_errors=tuple(sorted(book.commit_errors.items())),
        handler_failed=book.total("handler_failed"),
        truncations=book.truncations,
        resets=book.resets,
        read_stall_us=book.stalls.longest(now),
        members=tuple([_member(each, stats, book.members.get(each)) for each in sorted({*book.members, *assigned})]),
        latency=LatencySummary.of(book.latencies.overall),
    )


def _member(name: str, stats: ClientStats, kept: MemberStats | None) -> MemberSummary:
    book = kept or MemberStats()
    return MemberSummary(
        name=name,
        read=book.read,
        reread=book.reread,
        handler_failed=book.handler_failed,
        commits=book.commits,
        failed_commits=book.failed_commits,
        lost=book.lost,
        failure=book.failure,
        abandoned=book.abandoned,
        killed=stats.killed.get(name, 0),
        closed=stats.closed.get(name, 0),
        latency=LatencySummary.of(book.latencies),
    )


# Effect of each kind of event on the statistics of clients.
#
# Only what a client learned counts here, at the time it learned it, and never what the model knows beyond that.


def process_events(stats: ClientStats, events: Iterable[Any]) -> None:
    """Process trace events in order; events of no client are ignored."""
    handlers = _HANDLERS
    for event in events:
        handler = handlers.get(event.kind)
        if handler is not None:
            handler(stats, event)


def _sent(stats: ClientStats, event: Any) -> None:
    stats.producer(event.client).sent += event.count


def _acked(stats: ClientStats, event: Any) -> None:
    book = stats.producer(event.client)
    book.acked += event.count
    book.latencies.add(event.partition, event.latency_us, event.count)
    stats.latencies.add(event.latency_us, event.count)


def _failed(stats: ClientStats, event: Any) -> None:
    book = stats.producer(event.client)
    book.failed += event.count
    book.errors[event.error] = book.errors.get(event.error, 0) + event.count


def _aborted(stats: ClientStats, event: Any) -> None:
    stats.producer(event.client).aborted += event.count


def _unknown(stats: ClientStats, event: Any) -> None:
    book = stats.producer(event.client)
    book.unknown += event.count
    book.errors[event.error] = book.errors.get(event.error, 0) + event.count


def _begun(stats: ClientStats, event: Any) -> None:
    stats.producer(event.client).transactions += 1


def _transaction_committed(stats: ClientStats, event: Any) -> None:
    stats.producer(event.client).transactions_committed += 1


def _transaction_aborted(stats: ClientStats, event: Any) -> None:
    stats.producer(event.client).transactions_aborted += 1


def _transaction_unknown(stats: ClientStats, event: Any) -> None:
    stats.producer(event.client).transactions_unknown += 1


def _producer_failed(stats: ClientStats, event: Any) -> None:
    stats.producer(event.client).failure = event.error


def _intercepted(stats: ClientStats, event: Any) -> None:
    stats.producer(event.client).interceptor_failures += event.count


def _refused(stats: ClientStats, event: Any) -> None:
    refused = stats.producer(event.client).refused
    refused[event.error] = refused.get(event.error, 0) + 1


def _retried(stats: ClientStats, event: Any) -> None:
    stats.producer(event.client).retries += 1


def _read(stats: ClientStats, event: Any) -> None:
    group = stats.group(event.group_id)
    member = group.member(event.client)
    member.read += event.count
    member.latencies.add(event.latency_us, event.count)
    group.latencies.add(event.partition, event.latency_us, event.count)
    log_branches = group.handed.setdefault(event.partition, {})
    handed = log_branches.get(event.log_branch)
    if handed is None:
        handed = log_branches[event.log_branch] = DeliveredOffsets()
    member.reread += handed.add(event.log_offset, event.log_offset + event.count)
    _moved(stats, event, read_up_to(event))


def read_up_to(event: Any) -> int:
    """Return the position of a group in a partition after this event; -1 if the event has none."""
    if event.kind in ("records_read", "truncation_detected"):
        return int(event.end_offset)
    return int(event.log_offset) if event.kind == "consumer_reset" else -1


def _moved(stats: ClientStats, event: Any, read_to: int) -> None:
    _epoch, hw = stats.readable.get(event.partition, (-1, 0))
    stats.group(event.group_id).stalls.moved(event.partition, read_to, hw, event.at_us)


def _advanced(stats: ClientStats, event: Any) -> None:
    epoch, _hw = stats.readable.get(event.partition, (-1, 0))
    if event.leader_epoch < epoch:
        return  # of a zombie
    stats.readable[event.partition] = (event.leader_epoch, event.hw)
    for group in stats.groups.values():
        group.stalls.advanced(event.partition, event.hw, event.at_us)


def _deleted(stats: ClientStats, event: Any) -> None:
    stats.readable.pop(event.partition, None)
    for group in stats.groups.values():
        group.stalls.partition_deleted(event.partition)


def _truncation(stats: ClientStats, event: Any) -> None:
    group = stats.group(event.group_id)
    if (read_to := read_up_to(event)) >= 0:
        _moved(stats, event, read_to)
    group.member(event.client)
    group.truncations += 1


def _reset(stats: ClientStats, event: Any) -> None:
    group = stats.group(event.group_id)
    group.member(event.client)
    group.resets += event.end_offset >= 0 or event.partition in group.expired
    group.expired.pop(event.partition, None)
    _moved(stats, event, read_up_to(event))


def _expired(stats: ClientStats, event: Any) -> None:
    stats.group(event.group_id).expired[event.partition] = None


def _rebalanced(stats: ClientStats, event: Any) -> None:
    stats.group(event.group_id).rebalances += 1


def partitions_of(event: Any) -> list[str]:
    """Return the partitions that a member was assigned, revoked or lost."""
    return [name for name in str(event.detail).rpartition(": ")[2].split(", ") if name]


def _assigned(stats: ClientStats, event: Any) -> None:
    group = stats.group(event.group_id)
    group.member(event.client)
    for name in partitions_of(event):
        group.owners[name] = event.client
        if name in group.idle_since:
            group.idle_us += event.at_us - group.idle_since.pop(name)


def _partitions_released(stats: ClientStats, event: Any) -> None:
    group = stats.group(event.group_id)
    if event.kind == "partitions_lost":
        group.member(event.client).lost += event.count
    for name in partitions_of(event):
        # Another member may own it by now: the previous owner is the last to learn of the loss.
        if group.owners.get(name) == event.client:
            group.idle_since.setdefault(name, event.at_us)


def _committed(stats: ClientStats, event: Any) -> None:
    member = stats.group(event.group_id).member(event.client)
    if member.last_commit != (event.at_us, event.by):
        member.last_commit = (event.at_us, event.by)
        member.commits += 1


def _commit_failed(stats: ClientStats, event: Any) -> None:
    group = stats.group(event.group_id)
    group.member(event.client).failed_commits += 1
    group.commit_errors[event.error] = group.commit_errors.get(event.error, 0) + 1


def _handler_failed(stats: ClientStats, event: Any) -> None:
    stats.group(event.group_id).member(event.client).handler_failed += event.count


def _abandoned(stats: ClientStats, event: Any) -> None:
    stats.group(event.group_id).member(event.client).abandoned += event.count


def _went_down(stats: ClientStats, event: Any) -> None:
    killed = dict.fromkeys((CRASH, POWER_LOSS, OUT_OF_MEMORY), stats.killed)
    ends = {**killed, "close": stats.closed}.get(event.detail)
    if event.broker < 0 and ends is not None:
        ends[event.node] = ends.get(event.node, 0) + 1
    for group in stats.groups.values():
        for name in [name for name, owner in group.owners.items() if owner == event.node]:
            group.idle_since.setdefault(name, event.at_us)


def _consumer_failed(stats: ClientStats, event: Any) -> None:
    stats.group(event.group_id).member(event.client).failure = event.error


_HANDLERS: Final[dict[str, Callable[[ClientStats, Any], None]]] = {
    "records_sent": _sent,
    "records_acked": _acked,
    "records_failed": _failed,
    "records_unknown": _unknown,
    "records_aborted": _aborted,
    "transaction_begun": _begun,
    "transaction_committed": _transaction_committed,
    "transaction_aborted": _transaction_aborted,
    "transaction_unknown": _transaction_unknown,
    "producer_fenced": _producer_failed,
    "interceptor_failed": _intercepted,
    "produce_refused": _refused,
    "produce_retried": _retried,
    "records_read": _read,
    "hw_advanced": _advanced,
    "became_leader": _advanced,
    "partition_deleted": _deleted,
    "truncation_detected": _truncation,
    "consumer_reset": _reset,
    "offsets_expired": _expired,
    "group_rebalanced": _rebalanced,
    "partitions_assigned": _assigned,
    "partitions_revoked": _partitions_released,
    "partitions_lost": _partitions_released,
    "offsets_committed": _committed,
    "commit_failed": _commit_failed,
    "handler_failed": _handler_failed,
    "records_abandoned": _abandoned,
    "node_down": _went_down,
    "consumer_failed": _consumer_failed,
}
"""Kind of event → the function that updates the statistics."""
