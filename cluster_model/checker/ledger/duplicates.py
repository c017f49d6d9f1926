"""Duplicate and reordered records of one client in a log, and the retries that put them there.

A client's records carry gapless sequences per partition, so an append that does not go beyond everything seen so far
is one or the other; only then is the log searched. Neighbours that repeat neighbours are kept as one.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from cluster_model.broker.partition.producer_state_manager import REMEMBERED
from cluster_model.checker.history.fault_history import Deeds, FaultRecord, about
from cluster_model.log.batch_store import Lineage
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import Appended, ProduceRefused
from cluster_model.protocol.records import Batch
from cluster_model.util.ranges import Range, length, subtract


class _Copy(NamedTuple):
    """``records`` that stood in a log already as they were appended to it."""

    sequence: int
    first_stint: int
    first: int
    second_stint: int
    second: int
    records: int


class _Late(NamedTuple):
    """``records`` that were appended to a log behind later ones."""

    sequence: int
    stint: int
    offset: int
    records: int


_ClientPartition = tuple[str, str]
"""(client, partition)."""


class Repeats:
    """Suspicious appends, judged against the current leader's log when asked."""

    __slots__ = ("_copies", "_highest", "_late", "_world", "changes", "written_again")

    def __init__(self, world: World) -> None:
        self._world = world
        self._highest: dict[_ClientPartition, int] = {}
        self._copies: dict[_ClientPartition, list[_Copy]] = {}
        self._late: dict[_ClientPartition, list[_Late]] = {}
        self.changes = 0
        """Grows with every append that may be either, rewinds or not."""
        self.written_again: Callable[[_ClientPartition, Appended], None] = lambda key, event: None
        """Who else is told of those."""

    def appended(self, event: Appended) -> None:
        """Look at an append; sequences below zero are unnumbered."""
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
        self._judge(key, event, self._world.replicas[event.partition][event.broker].log)

    def _judge(self, key: _ClientPartition, event: Appended, log: ReplicaLog) -> None:
        """Each record is a copy of the nearest earlier one of its number, else late if a later one stands before."""
        stint = log.lineage_at(event.log_offset).id
        highest = -1
        fresh = [(event.sequence, event.sequence + event.count)]
        ahead = event.log_offset - event.sequence
        for lineage, batch, start, end in batches_backwards(log):
            if batch.client != event.client or batch.base >= event.log_offset:
                continue
            shift = batch.sequence - batch.base
            there = [(start + shift, end + shift)]
            highest = max(highest, end + shift - 1)
            left = subtract(fresh, there)
            for low, high in subtract(fresh, left):
                self._add_copy(key, _Copy(low, lineage.id, low - shift, stint, low + ahead, high - low))
            fresh = left
            if not fresh:
                return
        for low, high in fresh:
            if low < highest:
                self._add_late(key, _Late(low, stint, low + ahead, min(high, highest) - low))

    def _add_copy(self, key: _ClientPartition, copy: _Copy) -> None:
        copies = self._copies.setdefault(key, [])
        if copies:
            last = copies[-1]
            behind = last.records
            if last[:5] == (
                copy.sequence - behind, copy.first_stint, copy.first - behind, copy.second_stint, copy.second - behind,
            ):  # fmt: skip
                copies[-1] = last._replace(records=last.records + copy.records)
                return
        copies.append(copy)

    def _add_late(self, key: _ClientPartition, late: _Late) -> None:
        known = self._late.setdefault(key, [])
        if known:
            last = known[-1]
            if last[:3] == (late.sequence - last.records, late.stint, late.offset - last.records):
                known[-1] = last._replace(records=last.records + late.records)
                return
        known.append(late)

    def forget(self, partition: str) -> None:
        """It is deleted, and its records with it."""
        self._highest = {key: last for key, last in self._highest.items() if key[1] != partition}
        self._copies = {key: copies for key, copies in self._copies.items() if key[1] != partition}
        self._late = {key: late for key, late in self._late.items() if key[1] != partition}

    def duplicates(self, client: str | None = None) -> int:
        """Records that stand at two offsets of the current leader's log."""
        return sum(length(self.duplicates_in(*key)) for key in self._copies if client in (None, key[0]))

    def reordered(self, client: str | None = None) -> int:
        """Records that stand behind later ones of the same client in the current leader's log."""
        return sum(length(self.reordered_in(*key)) for key in self._late if client in (None, key[0]))

    def duplicates_in(self, client: str, partition: str) -> list[Range]:
        """The numbers of one client's duplicates, once for every copy beyond the first."""
        log = self._leader(partition)
        if log is None:
            return []
        return [
            (copy.sequence + low, copy.sequence + high)
            for copy in self._copies.get((client, partition), ())
            for one in _standing(log, copy.first_stint, copy.first, copy.records)
            for other in _standing(log, copy.second_stint, copy.second, copy.records)
            for low, high in _common(one, other)
        ]

    def reordered_in(self, client: str, partition: str) -> list[Range]:
        """The numbers of one client's records that stand behind later ones."""
        log = self._leader(partition)
        if log is None:
            return []
        return [
            (late.sequence + low, late.sequence + high)
            for late in self._late.get((client, partition), ())
            for low, high in _standing(log, late.stint, late.offset, late.records)
        ]

    def copies(self) -> Iterator[tuple[str, str, int, tuple[int, int], tuple[int, int], int]]:
        """Every duplicate: (client, partition, number, (stint, offset) of either, how many)."""
        for (client, partition), copies in self._copies.items():
            log = self._leader(partition)
            if log is None:
                continue
            for copy in copies:
                for one in _standing(log, copy.first_stint, copy.first, copy.records):
                    for other in _standing(log, copy.second_stint, copy.second, copy.records):
                        for low, high in _common(one, other):
                            first = (copy.first_stint, copy.first + low)
                            again = (copy.second_stint, copy.second + low)
                            yield client, partition, copy.sequence + low, first, again, high - low

    def late(self) -> Iterator[tuple[str, str, int, tuple[int, int], int]]:
        """Every record behind later ones: (client, partition, number, (stint, offset), how many)."""
        for (client, partition), known in self._late.items():
            log = self._leader(partition)
            if log is None:
                continue
            for late in known:
                for low, high in _standing(log, late.stint, late.offset, late.records):
                    yield client, partition, late.sequence + low, (late.stint, late.offset + low), high - low

    def _leader(self, partition: str) -> ReplicaLog | None:
        leader = self._world.true_leader(partition) if partition in self._world.records else None
        return None if leader is None else leader.log

    @property
    def count(self) -> int:
        """Entries that are kept."""
        return len(self._highest) + sum(map(len, self._copies.values())) + sum(map(len, self._late.values()))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self._highest.copy(),
            tuple([(key, tuple(copies)) for key, copies in self._copies.items()]),
            tuple([(key, tuple(late)) for key, late in self._late.items()]),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        highest, copies, late = saved
        self._highest = dict(highest)
        self._copies = {key: list(entries) for key, entries in copies}
        self._late = {key: list(entries) for key, entries in late}


def _standing(log: ReplicaLog, stint: int, start: int, count: int) -> Iterator[Range]:
    """Which of ``count`` records from an offset of a stint a log has left, counted from the first."""
    for first, last in log.held(stint):
        low, high = max(first, start), min(last, start + count)
        if low < high:
            for left, right in log.left(low, high):
                yield left - start, right - start


def batches_backwards(log: ReplicaLog) -> Iterator[tuple[Lineage, Batch, int, int]]:
    """Like ``log.batches()``, newest first; only as much of the log is gone through as is asked for."""
    end = log.leo
    for first, lineage_id in reversed(log.extents):
        lineage = log.lineages.by_id[lineage_id]
        low = max(first, log.log_start)
        if low < end:
            for index in range(lineage.index_at(end - 1), lineage.index_at(low) - 1, -1):
                batch = lineage.batch(index)
                yield lineage, batch, max(low, batch.base), min(end, batch.end)
        end = first
        if end <= log.log_start:
            return


def _common(one: Range, other: Range) -> Iterator[Range]:
    low, high = max(one[0], other[0]), min(one[1], other[1])
    if low < high:
        yield low, high


# Retries of producers and their reasons: kept where a retry duplicated or reordered records.
#
# An append that does not go beyond its client's highest number so far may be one or the other. What the client was
# told of those records until then is noted with it. A run of such appends that were refused alike is one entry with
# the times of all of them, of which those between the two writes of a record are its own.
# Attempts of one batch follow each other, so the attempt that wrote it is the one that was refused first after that:
# refusals before and after it are of attempts that wrote nothing.


REFUSALS_KEPT: Final = 64
"""Batches of one client and partition whose refusals are kept: more than can be under way."""
RUNS_KEPT: Final = 8
"""The first runs of equal refusals of one batch that are kept, and as many of the last."""
TIMES_KEPT: Final = 32
"""The same of the times of one run."""
JUST_OVER_US: Final = 1_000_000
"""How long ago what led to a refusal may have ended: a paused broker refuses when it goes on."""
REPEATS_KEPT: Final = 512
"""Runs of late appends of one client and partition."""


_Kept = TypeVar("_Kept")


class Refusals(NamedTuple):
    """Attempts in a row that a broker answered with one error, or did not answer: of a batch, or of neighbours."""

    error: str
    broker: int
    times: tuple[int, ...]
    """When the client was told, or gave the answer up, ascending."""
    deed: FaultRecord | None = None
    """What stood against the client, or that broker, at the first."""


class _Refused(NamedTuple):
    """A batch, and all that its client was told of it so far."""

    sequence: int
    end: int
    runs: tuple[Refusals, ...]


class Refusal(NamedTuple):
    """One of them."""

    at_us: int
    broker: int
    error: str
    deed: FaultRecord | None


class Again(NamedTuple):
    """Consecutive records that were written late, or again."""

    sequence: int
    end: int
    written_us: int
    """The first of them."""
    last_us: int
    broker: int
    refusals: tuple[Refusals, ...]
    """Of all of them, in order; empty: they were never refused."""

    def refused_between(self, first_us: int, again_us: int) -> Refusal | None:
        """The answer of the attempt that wrote some of them first, before they were written again; None: not known."""
        for each in self.refusals:
            for told_us in each.times:
                if first_us <= told_us <= again_us:
                    return Refusal(told_us, each.broker, each.error, each.deed)
        return None

    def last_refusal(self, again_us: int) -> Refusal | None:
        """The last answer to those of them that were written again at a time; None: they were never refused."""
        for each in reversed(self.refusals):
            for told_us in reversed(each.times):
                if told_us <= again_us:
                    return Refusal(told_us, each.broker, each.error, each.deed)
        return None


class Attempts:
    """By client and partition."""

    __slots__ = ("_again", "_deeds", "_refused")

    def __init__(self, deeds: Deeds) -> None:
        self._deeds = deeds
        self._refused: dict[_ClientPartition, tuple[_Refused, ...]] = {}
        self._again: dict[_ClientPartition, tuple[Again, ...]] = {}

    def refused(self, event: ProduceRefused) -> None:
        """An attempt failed."""
        key = (event.client, event.partition)
        before: tuple[Refusals, ...] = ()
        known = []
        for each in self._refused.get(key, ()):
            if each.sequence == event.sequence:
                before = each.runs
            else:
                known.append(each)
        last = before[-1] if before else None
        if last is not None and (last.error, last.broker) == (event.error, event.broker):
            runs = (*before[:-1], last._replace(times=_ends((*last.times, event.at_us), TIMES_KEPT)))
        else:
            deed = self._against(event.client, event.broker, event.at_us)
            runs = _ends((*before, Refusals(event.error, event.broker, (event.at_us,), deed)), RUNS_KEPT)
        self._refused[key] = (*known[1 - REFUSALS_KEPT :], _Refused(event.sequence, event.sequence + event.count, runs))

    def written_again(self, key: _ClientPartition, event: Appended) -> None:
        """A leader wrote records that do not go beyond the highest number of their client there."""
        end = event.sequence + event.count
        refused = [each for each in self._refused.get(key, ()) if each.sequence < end and each.end > event.sequence]
        fresh = Again(
            event.sequence, end, event.at_us, event.at_us, event.broker, refused[-1].runs if refused else ()
        )  # fmt: skip
        known = self._again.get(key, ())
        last = known[-1] if known else None
        if last is not None and last.end == fresh.sequence and _alike(last, fresh):
            refusals = tuple(map(_together, last.refusals, fresh.refusals))
            self._again[key] = (*known[:-1], last._replace(end=end, last_us=event.at_us, refusals=refusals))
        else:
            self._again[key] = (*known[1 - REPEATS_KEPT :], fresh)

    def _against(self, client: str, broker: int, at_us: int) -> FaultRecord | None:
        """The newest deed on the client, or else on the broker, that was not over then."""
        if at_us < 0:
            return None
        standing = [deed for deed in self._deeds.standing() if deed.at_us <= at_us]
        for node in (client, f"broker {broker}"):
            found = about(tuple(standing), node, at_us - JUST_OVER_US)
            if found:
                return found[-1]
        return None

    def of(self, client: str, partition: str, sequence: int, at_us: int) -> Again | None:
        """The late append of a record at a time."""
        for each in reversed(self._again.get((client, partition), ())):
            if each.sequence <= sequence < each.end and each.written_us <= at_us <= each.last_us:
                return each
        return None

    def bounds(self, client: str, partition: str) -> list[int]:
        """Numbers at which one run ends and another may begin."""
        return [bound for each in self._again.get((client, partition), ()) for bound in (each.sequence, each.end)]

    def forget(self, partition: str) -> None:
        """A partition is gone."""
        for table in (self._refused, self._again):
            for key in [key for key in table if key[1] == partition]:
                del table[key]

    @property
    def entries(self) -> int:
        """How many are kept."""
        return sum(len(each) for table in (self._refused, self._again) for each in table.values())

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._refused.items()), tuple(self._again.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        refused, again = saved
        self._refused, self._again = dict(refused), dict(again)


def _ends(found: tuple[_Kept, ...], kept: int) -> tuple[_Kept, ...]:
    """The first and the last of them."""
    return found if len(found) <= 2 * kept else (*found[:kept], *found[-kept:])


def _together(one: Refusals, other: Refusals) -> Refusals:
    """Equal refusals of two batches, with the times of both."""
    return one._replace(times=tuple(sorted({*one.times, *other.times})))


def _alike(one: Again, other: Again) -> bool:
    """Whether the same led to both, and the times of both are not too many for one entry."""
    return (
        one.broker == other.broker
        and len(one.refusals) == len(other.refusals)
        and all(
            (mine.error, mine.broker, mine.deed) == (theirs.error, theirs.broker, theirs.deed)
            and len({*mine.times, *theirs.times}) <= 2 * TIMES_KEPT
            for mine, theirs in zip(one.refusals, other.refusals, strict=True)
        )
    )


# Whether an idempotent producer had more batches under way than a leader can know again.
#
# A leader keeps a producer's last five batches (``ProducerStateEntry.NUM_BATCHES_TO_RETAIN``), and a producer has no
# more than five under way on a connection. As leadership moves it has two: what was sent to the old leader is still
# awaited while the new one, which hints made known at once (KIP-951), is sent more. If the first of them must be sent
# once more then, it is no longer among the five: it is refused as out of order, and goes as new under another epoch
# (KIP-360).


LOOKED_AT: Final = 64
"""Batches of one producer that are looked through, the newest first: more than can be under way."""


def outran(log: ReplicaLog, epoch: int, again: Batch, offset: int) -> bool:
    """Whether five later batches stood in a log behind the one for which a producer left an epoch.

    ``again`` is a batch of its new epoch, which holds ``offset``: its ``origin`` is the number that was sent once more.
    """
    newest = islice(_before(log, again.producer_id, epoch, offset), LOOKED_AT)
    for later, batch in enumerate(newest):
        if batch.sequence <= again.origin:
            return later >= REMEMBERED and batch.sequence + batch.records > again.origin
    return False


def _before(log: ReplicaLog, producer_id: int, epoch: int, offset: int) -> Iterator[Batch]:
    """A producer's batches of an epoch, the newest first."""
    end = offset
    for start, stint in reversed([extent for extent in log.extents if extent[0] < offset]):
        lineage = log.lineages.by_id[stint]
        for index in range(lineage.index_at(end - 1), lineage.index_at(max(start, lineage.start)) - 1, -1):
            batch = lineage.batch(index)
            if (batch.producer_id, batch.producer_epoch) == (producer_id, epoch):
                yield batch
        end = start
