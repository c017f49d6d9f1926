"""Duplicate and reordered records of a client in a log, and the retries that caused them.

A client numbers its records per partition without gaps, so an append that does not exceed its highest record number
so far is a duplicate or reordered; only then is the log searched. Adjacent duplicates are kept as one entry.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from cluster_model.broker.partition.producer_state_manager import REMEMBERED
from cluster_model.checker.history.fault_history import FaultHistory, FaultRecord, about
from cluster_model.log.batch_store import EpochBranch
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Appended, ProduceRefused
from cluster_model.protocol.records import Batch
from cluster_model.util.ranges import Range, length, subtract


class _Copy(NamedTuple):
    """``records`` appended to a log that already held them."""

    sequence: int
    first_log_branch: int
    first: int
    second_log_branch: int
    second: int
    records: int


class _Late(NamedTuple):
    """``records`` appended to a log after later ones of their client."""

    sequence: int
    log_branch: int
    offset: int
    records: int


_ClientPartition = tuple[str, str]
"""(client, partition)."""


class DuplicateTracker:
    """Duplicated and reordered appends, checked against the current leader's log on request."""

    __slots__ = ("_cluster_state", "_copies", "_highest", "_late", "changes", "written_again")

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._highest: dict[_ClientPartition, int] = {}
        self._copies: dict[_ClientPartition, list[_Copy]] = {}
        self._late: dict[_ClientPartition, list[_Late]] = {}
        self.changes = 0
        """Counter that grows with every append that may be either; it is not rewound."""
        self.written_again: Callable[[_ClientPartition, Appended], None] = lambda key, event: None
        """Callback for those appends."""

    def appended(self, event: Appended) -> None:
        """Check an append; negative sequences are unnumbered and ignored."""
        if event.sequence < 0:
            return
        key = (event.client, event.partition)
        highest = self._highest.get(key, -1)
        end = event.sequence + event.count
        if event.sequence > highest:
            self._highest[key] = end - 1
            return
        self._highest[key] = max(highest, end - 1)
        self.changes += 1
        self.written_again(key, event)
        self._classify(key, event, self._cluster_state.replicas[event.partition][event.broker].log)

    def _classify(self, key: _ClientPartition, event: Appended, log: ReplicaLog) -> None:
        """Classify each record: a copy of the nearest earlier one of its number, or late if a later one precedes it."""
        log_branch = log.branch_at(event.log_offset).id
        highest = -1
        fresh = [(event.sequence, event.sequence + event.count)]
        shift_back = event.log_offset - event.sequence
        for epoch_branch, batch, start, end in batches_backwards(log):
            if batch.client != event.client or batch.base >= event.log_offset:
                continue
            shift = batch.sequence - batch.base
            present = [(start + shift, end + shift)]
            highest = max(highest, end + shift - 1)
            left = subtract(fresh, present)
            for low, high in subtract(fresh, left):
                self._add_copy(key, _Copy(low, epoch_branch.id, low - shift, log_branch, low + shift_back, high - low))
            fresh = left
            if not fresh:
                return
        for low, high in fresh:
            if low < highest:
                self._add_late(key, _Late(low, log_branch, low + shift_back, min(high, highest) - low))

    def _add_copy(self, key: _ClientPartition, copy: _Copy) -> None:
        copies = self._copies.setdefault(key, [])
        if copies:
            last = copies[-1]
            count = last.records
            if last[:5] == (
                copy.sequence - count,
                copy.first_log_branch,
                copy.first - count,
                copy.second_log_branch,
                copy.second - count,
            ):
                copies[-1] = last._replace(records=last.records + copy.records)
                return
        copies.append(copy)

    def _add_late(self, key: _ClientPartition, late: _Late) -> None:
        batches = self._late.setdefault(key, [])
        if batches:
            last = batches[-1]
            if last[:3] == (late.sequence - last.records, late.log_branch, late.offset - last.records):
                batches[-1] = last._replace(records=last.records + late.records)
                return
        batches.append(late)

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self._highest = {key: last for key, last in self._highest.items() if key[1] != partition}
        self._copies = {key: copies for key, copies in self._copies.items() if key[1] != partition}
        self._late = {key: late for key, late in self._late.items() if key[1] != partition}

    def duplicates(self, client: str | None = None) -> int:
        """Return the number of records at two offsets of the current leader's log."""
        return sum(length(self.duplicates_in(*key)) for key in self._copies if client in (None, key[0]))

    def reordered(self, client: str | None = None) -> int:
        """Return the number of records after later ones of their client in the current leader's log."""
        return sum(length(self.reordered_in(*key)) for key in self._late if client in (None, key[0]))

    def duplicates_in(self, client: str, partition: str) -> list[Range]:
        """Return the numbers of a client's duplicate records, once for every copy beyond the first."""
        log = self._leader(partition)
        if log is None:
            return []
        return [
            (copy.sequence + low, copy.sequence + high)
            for copy in self._copies.get((client, partition), ())
            for one in _held_parts(log, copy.first_log_branch, copy.first, copy.records)
            for other in _held_parts(log, copy.second_log_branch, copy.second, copy.records)
            for low, high in _intersection(one, other)
        ]

    def reordered_in(self, client: str, partition: str) -> list[Range]:
        """Return the numbers of a client's records after later ones."""
        log = self._leader(partition)
        if log is None:
            return []
        return [
            (late.sequence + low, late.sequence + high)
            for late in self._late.get((client, partition), ())
            for low, high in _held_parts(log, late.log_branch, late.offset, late.records)
        ]

    def copies(self) -> Iterator[tuple[str, str, int, tuple[int, int], tuple[int, int], int]]:
        """Yield every duplicate: (client, partition, sequence, (log branch, offset) of first and second, count)."""
        for (client, partition), copies in self._copies.items():
            log = self._leader(partition)
            if log is None:
                continue
            for copy in copies:
                for one in _held_parts(log, copy.first_log_branch, copy.first, copy.records):
                    for other in _held_parts(log, copy.second_log_branch, copy.second, copy.records):
                        for low, high in _intersection(one, other):
                            first = (copy.first_log_branch, copy.first + low)
                            again = (copy.second_log_branch, copy.second + low)
                            yield client, partition, copy.sequence + low, first, again, high - low

    def late(self) -> Iterator[tuple[str, str, int, tuple[int, int], int]]:
        """Yield all records after later ones: (client, partition, sequence, (log branch, offset), count)."""
        for (client, partition), known in self._late.items():
            log = self._leader(partition)
            if log is None:
                continue
            for late in known:
                for low, high in _held_parts(log, late.log_branch, late.offset, late.records):
                    yield client, partition, late.sequence + low, (late.log_branch, late.offset + low), high - low

    def _leader(self, partition: str) -> ReplicaLog | None:
        leader = self._cluster_state.committed_leader(partition) if partition in self._cluster_state.records else None
        return None if leader is None else leader.log

    @property
    def count(self) -> int:
        """Number of entries kept."""
        return len(self._highest) + sum(map(len, self._copies.values())) + sum(map(len, self._late.values()))

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (
            self._highest.copy(),
            tuple([(key, tuple(copies)) for key, copies in self._copies.items()]),
            tuple([(key, tuple(late)) for key, late in self._late.items()]),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        highest, copies, late = saved
        self._highest = dict(highest)
        self._copies = {key: list(entries) for key, entries in copies}
        self._late = {key: list(entries) for key, entries in late}


def _held_parts(log: ReplicaLog, log_branch: int, start: int, count: int) -> Iterator[Range]:
    """Yield the ranges of ``count`` records of a log branch that a log still holds, relative to the first."""
    for first, last in log.ranges_of(log_branch):
        low, high = max(first, start), min(last, start + count)
        if low < high:
            for left, right in log.remaining(low, high):
                yield left - start, right - start


def batches_backwards(log: ReplicaLog) -> Iterator[tuple[EpochBranch, Batch, int, int]]:
    """Yield the batches of ``log.batches()`` newest first, lazily."""
    end = log.leo
    for first, branch_id in reversed(log.extents):
        epoch_branch = log.epoch_branches.by_id[branch_id]
        low = max(first, log.log_start)
        if low < end:
            for index in range(epoch_branch.index_at(end - 1), epoch_branch.index_at(low) - 1, -1):
                batch = epoch_branch.batch(index)
                yield epoch_branch, batch, max(low, batch.base), min(end, batch.end)
        end = first
        if end <= log.log_start:
            return


def _intersection(one: Range, other: Range) -> Iterator[Range]:
    low, high = max(one[0], other[0]), min(one[1], other[1])
    if low < high:
        yield low, high


# Retries of producers and their causes, kept where a retry duplicated or reordered records.
#
# An append that does not exceed its client's highest record number may be either. The errors that the client received
# for those records until then are kept with it. A run of such appends with equal errors is one entry with the times of
# all of them; the times between the two writes of a record are its own. Attempts of one batch follow each other, so the
# attempt that wrote it is the first that failed after the write; failures before and after are of attempts that wrote
# nothing.


REFUSALS_KEPT: Final = 64
"""Number of batches of one client and partition whose errors are kept: more than can be in flight."""
RUNS_KEPT: Final = 8
"""Number of first runs of equal errors of one batch that are kept, and of last ones."""
TIMES_KEPT: Final = 32
"""Number of first times of one run that are kept, and of last ones."""
RECENT_FAULT_US: Final = 1_000_000
"""How long before an error, in microseconds, its fault may have ended: a paused broker rejects when it resumes."""
_CLOSED: Final = (KafkaError.REQUEST_TIMED_OUT.name, KafkaError.NETWORK_EXCEPTION.name)
"""Errors of requests whose connection the client has closed."""
REPEATS_KEPT: Final = 512
"""Number of runs of duplicated or reordered appends kept per client and partition."""


_Kept = TypeVar("_Kept")


class FailedAttempts(NamedTuple):
    """Consecutive attempts of a batch, or of adjacent ones, that failed with one error at one broker."""

    error: str
    broker: int
    times: tuple[int, ...]
    """Virtual times at which the client received the error or timed out, ascending."""
    fault_record: FaultRecord | None = None
    """The fault active on the client or that broker at the first attempt."""


class _Refused(NamedTuple):
    """A batch and all errors that its client has received for it so far."""

    sequence: int
    end: int
    runs: tuple[FailedAttempts, ...]


class FailedAttempt(NamedTuple):
    """One failed produce attempt, with its error and the fault active then."""

    at_us: int
    broker: int
    error: str
    fault_record: FaultRecord | None


class LateAppends(NamedTuple):
    """Consecutive records that were written late or again, with the errors of their attempts."""

    sequence: int
    end: int
    written_us: int
    """Virtual time at which the first was written."""
    last_us: int
    broker: int
    failures: tuple[FailedAttempts, ...]
    """Errors common to all of them, in order; empty if no attempt failed."""

    def refused_between(self, first_us: int, again_us: int) -> FailedAttempt | None:
        """Return the failure of the attempt that first wrote the records, before a second write; None if unknown.

        A broker may read a request after its client has closed the connection: such an attempt failed before the first
        write.
        """
        for each in self.failures:
            for failed_us in each.times:
                if first_us <= failed_us <= again_us:
                    return FailedAttempt(failed_us, each.broker, each.error, each.fault_record)
        earlier = self.last_refusal(first_us)
        return earlier if earlier is not None and earlier.error in _CLOSED else None

    def last_refusal(self, again_us: int) -> FailedAttempt | None:
        """Return the last failure before records were written again at a time; None if no attempt failed."""
        for each in reversed(self.failures):
            for failed_us in reversed(each.times):
                if failed_us <= again_us:
                    return FailedAttempt(failed_us, each.broker, each.error, each.fault_record)
        return None


class ProduceAttempts:
    """Failed produce attempts, and appends that were late or repeated, by client and partition."""

    __slots__ = ("_failures", "_fault_records", "_late_appends")

    def __init__(self, faults: FaultHistory) -> None:
        self._fault_records = faults
        self._failures: dict[_ClientPartition, tuple[_Refused, ...]] = {}
        self._late_appends: dict[_ClientPartition, tuple[LateAppends, ...]] = {}

    def refused(self, event: ProduceRefused) -> None:
        """Record a failed attempt."""
        key = (event.client, event.partition)
        before: tuple[FailedAttempts, ...] = ()
        refusals = []
        for each in self._failures.get(key, ()):
            if each.sequence == event.sequence:
                before = each.runs
            else:
                refusals.append(each)
        last = before[-1] if before else None
        if last is not None and (last.error, last.broker) == (event.error, event.broker):
            runs = (*before[:-1], last._replace(times=_first_and_last((*last.times, event.at_us), TIMES_KEPT)))
        else:
            fault = self._fault_of(event.client, event.broker, event.at_us)
            runs = _first_and_last(
                (*before, FailedAttempts(event.error, event.broker, (event.at_us,), fault)), RUNS_KEPT
            )
        self._failures[key] = (
            *refusals[1 - REFUSALS_KEPT :],
            _Refused(event.sequence, event.sequence + event.count, runs),
        )

    def written_again(self, key: _ClientPartition, event: Appended) -> None:
        """Record an append that does not exceed the highest record number of its client."""
        end = event.sequence + event.count
        refused = [each for each in self._failures.get(key, ()) if each.sequence < end and each.end > event.sequence]
        fresh = LateAppends(
            event.sequence, end, event.at_us, event.at_us, event.broker, refused[-1].runs if refused else ()
        )  # fmt: skip
        appends = self._late_appends.get(key, ())
        last = appends[-1] if appends else None
        if last is not None and last.end == fresh.sequence and _mergeable(last, fresh):
            refusals = tuple(map(_merged, last.failures, fresh.failures))
            self._late_appends[key] = (*appends[:-1], last._replace(end=end, last_us=event.at_us, failures=refusals))
        else:
            self._late_appends[key] = (*appends[1 - REPEATS_KEPT :], fresh)

    def _fault_of(self, client: str, broker: int, at_us: int) -> FaultRecord | None:
        """Return the newest fault of the client, else of the broker, that had not ended then."""
        if at_us < 0:
            return None
        begun = [fault for fault in self._fault_records.records() if fault.at_us <= at_us]
        for node in (client, f"broker {broker}"):
            found = about(tuple(begun), node, at_us - RECENT_FAULT_US)
            if found:
                return found[-1]
        return None

    def of(self, client: str, partition: str, sequence: int, at_us: int) -> LateAppends | None:
        """Return the late or repeated append of a record at a time, None if there is none."""
        for each in reversed(self._late_appends.get((client, partition), ())):
            if each.sequence <= sequence < each.end and each.written_us <= at_us <= each.last_us:
                return each
        return None

    def bounds(self, client: str, partition: str) -> list[int]:
        """Return the record numbers at which the explanation may change."""
        return [
            bound for each in self._late_appends.get((client, partition), ()) for bound in (each.sequence, each.end)
        ]

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        for table in (self._failures, self._late_appends):
            for key in [key for key in table if key[1] == partition]:
                del table[key]

    @property
    def entries(self) -> int:
        """Number of entries kept."""
        return sum(len(each) for table in (self._failures, self._late_appends) for each in table.values())

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (tuple(self._failures.items()), tuple(self._late_appends.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        refused, again = saved
        self._failures, self._late_appends = dict(refused), dict(again)


def _first_and_last(examples: tuple[_Kept, ...], kept: int) -> tuple[_Kept, ...]:
    """Return the first and the last ``kept`` items."""
    return examples if len(examples) <= 2 * kept else (*examples[:kept], *examples[-kept:])


def _merged(one: FailedAttempts, other: FailedAttempts) -> FailedAttempts:
    """Merge equal errors of two batches, with the times of both."""
    return one._replace(times=tuple(sorted({*one.times, *other.times})))


def _mergeable(one: LateAppends, other: LateAppends) -> bool:
    """Return whether two appends have equal errors and fit in one entry."""
    return (
        one.broker == other.broker
        and len(one.failures) == len(other.failures)
        and all(
            (first.error, first.broker, first.fault_record) == (second.error, second.broker, second.fault_record)
            and len({*first.times, *second.times}) <= 2 * TIMES_KEPT
            for first, second in zip(one.failures, other.failures, strict=True)
        )
    )


# Whether an idempotent producer had more batches in flight than a leader remembers.
#
# A leader remembers a producer's last five batches (``ProducerStateEntry.NUM_BATCHES_TO_RETAIN``), and a producer has
# at most five in flight per connection. When leadership moves it has two connections: batches to the old leader are
# still in flight while it sends more to the new one, which it learned of at once from leader hints (KIP-951). If the
# first of them must be retried then, it is no longer among the five: it is rejected as out of order and sent as new
# with another epoch (KIP-360).


BATCHES_SEARCHED: Final = 64
"""Number of newest batches of one producer that are searched: more than can be in flight."""


def exceeded_remembered_batches(log: ReplicaLog, epoch: int, again: Batch, offset: int) -> bool:
    """Return whether five later batches followed, in a log, the one because of which a producer changed its epoch.

    ``again`` is a batch of its new epoch that contains ``offset``; its ``origin`` is the sequence that was retried.
    """
    newest = islice(_batches_before(log, again.producer_id, epoch, offset), BATCHES_SEARCHED)
    for later, batch in enumerate(newest):
        if batch.sequence <= again.origin:
            return later >= REMEMBERED and batch.sequence + batch.records > again.origin
    return False


def _batches_before(log: ReplicaLog, producer_id: int, epoch: int, offset: int) -> Iterator[Batch]:
    """Yield a producer's batches of an epoch before an offset, newest first."""
    end = offset
    for start, log_branch in reversed([extent for extent in log.extents if extent[0] < offset]):
        epoch_branch = log.epoch_branches.by_id[log_branch]
        for index in range(
            epoch_branch.index_at(end - 1), epoch_branch.index_at(max(start, epoch_branch.start)) - 1, -1
        ):
            batch = epoch_branch.batch(index)
            if (batch.producer_id, batch.producer_epoch) == (producer_id, epoch):
                yield batch
        end = start
