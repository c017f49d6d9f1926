"""Anomalies of single values: lost writes, aborted reads, duplicates, phantoms, unseen values and others."""

from typing import Any, Final

from cluster_model.checker.anomalies.anomaly_case import AnomalyCounter, Example
from cluster_model.checker.anomalies.index import KeyIndex, KeyObservations, ValueExtent
from cluster_model.checker.anomalies.operations import COMMITTED, FAIL, OK, Op, Payload
from cluster_model.checker.anomalies.order_rules import client_of
from cluster_model.util.ranges import Range, RangeSet, add_range, load_all, save_all

CONSUME_DUP: Final = "consume-dup"

_Who = tuple[str, str]
"""(process, key)."""


class ConsumedOffsets:
    """Offsets that each process received, and received again, by process and key (consume-dup)."""

    __slots__ = ("_facts", "_received", "_received_again")

    def __init__(self, facts: KeyIndex) -> None:
        self._facts = facts
        self._received: dict[_Who, dict[int, RangeSet]] = {}
        self._received_again: dict[_Who, dict[int, RangeSet]] = {}

    def polled(self, process: str, key: str, log_branch: int, start: int, end: int) -> None:
        """Record that a process received ``[start, end)`` of a log branch."""
        by_log_branch = self._received.get((process, key))
        if by_log_branch is None:
            by_log_branch = self._received[process, key] = {}
        spans = by_log_branch.get(log_branch)
        if spans is None:
            spans = by_log_branch[log_branch] = RangeSet()
        elif spans.ends and spans.ends[-1] == start:
            spans.ends[-1] = end
            return
        if not spans.ends or start >= spans.ends[-1]:
            self._facts.key(key).put(by_log_branch, log_branch, start, end)
            return
        for low, high in spans.within(start, end):
            add_range(self._received_again.setdefault((process, key), {}), log_branch, low, high)
        spans.add(start, end)

    def forget_offsets(self, process: str, key: str, start: int, end: int) -> None:
        """Forget offsets that the application did not process and will read again."""
        for spans in self._received.get((process, key), {}).values():
            spans.remove(start, end)

    def find(self, counter: AnomalyCounter, now: int, only: str = "") -> None:
        """Count duplicated deliveries per process, of all keys or of one."""
        for process, key in self._received:
            if only not in ("", key):
                continue
            again = self._received_again.get((process, key), {})
            if self._facts.key(key).duplicated:
                self._by_value((process, key), again, counter, now)
            else:
                for log_branch, spans in again.items():
                    for low, high in spans.ranges():
                        for run in self._facts.key(key).payload(key, log_branch, low, high):
                            self._report(counter, (process, key), ValueExtent(*run[1:], log_branch, run[0]), now)

    def _by_value(self, owner_key: _Who, again: dict[int, RangeSet], counter: AnomalyCounter, now: int) -> None:
        """Count each value once, even if it is at several offsets."""
        process, key = owner_key
        facts = self._facts.key(key)
        extents: dict[tuple[str, int], ValueExtent] = {}
        for log_branch, spans in again.items():
            for low, high in spans.ranges():
                for offset, client, sequence, count in facts.payload(key, log_branch, low, high):
                    for index in range(count):
                        extent = ValueExtent(client, sequence + index, 1, log_branch, offset + index)
                        extents.setdefault((client, sequence + index), extent)
        returned: dict[tuple[str, int], None] = {}
        for extent in facts.places(facts.duplicated, self._received[owner_key]):
            for index in range(extent.size):
                value = (extent.client, extent.sequence + index)
                if value in returned:
                    extents.setdefault(value, ValueExtent(*value, 1, extent.log_branch, extent.offset + index))
                returned[value] = None
        for extent in extents.values():
            self._report(counter, (process, key), extent, now)

    def _report(self, counter: AnomalyCounter, owner_key: _Who, extent: ValueExtent, now: int) -> None:
        process, key = owner_key
        name = client_of(process)
        end = extent.sequence + extent.size
        text = f"{name} received records {extent.sequence} to {end - 1} of {extent.client} more than once"
        example = Example(now, extent.offset, extent.offset + extent.size, text)
        counter.count(CONSUME_DUP, name, key, example, extent.size)

    def forget(self, key: str) -> None:
        """Drop the state of a deleted key."""
        self._received = {owner_key: spans for owner_key, spans in self._received.items() if owner_key[1] != key}
        self._received_again = {
            owner_key: spans for owner_key, spans in self._received_again.items() if owner_key[1] != key
        }

    @property
    def entries(self) -> int:
        """Number of ranges kept."""
        kept = (*self._received.values(), *self._received_again.values())
        return sum(len(spans.starts) for by_log_branch in kept for spans in by_log_branch.values())

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple(
            tuple([(owner_key, save_all(by_log_branch)) for owner_key, by_log_branch in kept.items()])
            for kept in (self._received, self._received_again)
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        once, again = saved
        self._received = {owner_key: load_all(by_log_branch) for owner_key, by_log_branch in once}
        self._received_again = {owner_key: load_all(by_log_branch) for owner_key, by_log_branch in again}


# G1a, an aborted read: a poll returned a value whose send definitely failed.


ABORTED_READ: Final = "G1a"


def find_aborted_reads(facts: KeyObservations, counter: AnomalyCounter, now: int) -> None:
    """Count values by the client that sent them; those that a read_committed reader received separately."""
    aborted: dict[str, RangeSet] = {}
    for client, failed in facts.ended[FAIL].items():
        again = facts.resent.get(client)
        for start, end in failed.common(facts.values.get(client)):
            for low, high in again.without(start, end) if again else [(start, end)]:
                add_range(aborted, client, low, high)
    committed: dict[str, RangeSet] = {}
    if facts.read_committed:
        for place in facts.places(aborted, facts.read_committed):
            add_range(committed, place.client, place.sequence, place.sequence + place.size)
    for client, spans in aborted.items():
        known = committed.get(client)
        for manner, parts in ((COMMITTED, known.ranges() if known else []), ("", spans.minus(known))):
            for start, end in parts:
                text = f"records {start} to {end - 1} of {client} were read although their send failed or was aborted"
                counter.count(ABORTED_READ, client, facts.key, Example(now, -1, -1, text), end - start, manner)


# duplicate: one value is at two offsets of a key's log.


DUPLICATE: Final = "duplicate"


def offsets_of_doubles(facts: KeyObservations) -> dict[tuple[str, int], list[int]]:
    """Return the offsets, ascending, of every value at more than one offset: (client, sequence) → offsets."""
    found: dict[tuple[str, int], dict[int, None]] = {}
    for place in facts.places(facts.duplicated):
        for index in range(place.size):
            found.setdefault((place.client, place.sequence + index), {})[place.offset + index] = None
    return {value: sorted(offsets) for value, offsets in found.items() if len(offsets) > 1}


def find_duplicates(facts: KeyObservations, counter: AnomalyCounter, now: int) -> None:
    """Count values at several offsets, by the client that sent them."""
    for (client, sequence), offsets in offsets_of_doubles(facts).items():
        text = f"record {sequence} of {client} is at offsets {', '.join(map(str, offsets))}"
        counter.count(DUPLICATE, client, facts.key, Example(now, offsets[0], offsets[-1] + 1, text))


# commit-regression and two-owners: contradictions in the commits and assignments of a group's members.


COMMIT_REGRESSION: Final = "commit-regression"
TWO_OWNERS: Final = "two-owners"


class GroupChecks:
    """Last committed offset and owner of each key, by group (commit-regression, two-owners)."""

    __slots__ = ("_committed", "_counter", "_owners")

    def __init__(self, counter: AnomalyCounter) -> None:
        self._counter = counter
        self._committed: dict[tuple[str, str], int] = {}
        self._owners: dict[tuple[str, str], tuple[int, str]] = {}
        """(group, key) → (newest generation with an owner, the owning process)."""

    def committed(self, group: str, client: str, key: str, offset: int, now: int) -> None:
        """Check an accepted commit of a member."""
        before = self._committed.get((group, key), -1)
        self._committed[group, key] = offset
        if offset < before:
            text = f"{client} committed offset {offset} of {key} for {group} after offset {before}"
            self._counter.count(COMMIT_REGRESSION, client, key, Example(now, offset, before, text))

    def owns(self, group: str, process: str, key: str, generation: int, now: int) -> None:
        """Check the assignment of a key to a member in a generation of its group."""
        known, owner = self._owners.get((group, key), (-1, ""))
        if known == generation and owner not in ("", process):
            text = f"{process} and {owner} both own {key} in generation {generation} of {group}"
            self._counter.count(TWO_OWNERS, process.partition("#")[0], key, Example(now, -1, -1, text))
        elif generation >= known:
            self._owners[group, key] = (generation, process)

    def released(self, group: str, process: str, key: str) -> None:
        """Record that a member no longer owns a key."""
        known, owner = self._owners.get((group, key), (-1, ""))
        if owner == process:
            self._owners[group, key] = (known, "")

    def process_ended(self, process: str) -> None:
        """Record that a process has ended."""
        for group, key in [owner_key for owner_key, (_generation, owner) in self._owners.items() if owner == process]:
            self.released(group, process, key)

    def forget(self, key: str) -> None:
        """Drop the state of a deleted key."""
        self._committed = {owner_key: offset for owner_key, offset in self._committed.items() if owner_key[1] != key}
        self._owners = {owner_key: owner for owner_key, owner in self._owners.items() if owner_key[1] != key}

    @property
    def entries(self) -> int:
        """Number of entries kept."""
        return len(self._committed) + len(self._owners)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (tuple(self._committed.items()), tuple(self._owners.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        committed, owners = saved
        self._committed, self._owners = dict(committed), dict(owners)


# inconsistent-offsets: one offset of a key was observed with two values.


INCONSISTENT_OFFSETS: Final = "inconsistent-offsets"


def find_inconsistent_offsets(facts: KeyObservations, counter: AnomalyCounter, now: int) -> None:
    """Count offsets observed with two values, by the client whose value was observed first."""
    for start, end in facts.contested.ranges():
        earliest: dict[int, tuple[str, int, int]] = {}
        differ: dict[int, tuple[tuple[str, int, int], tuple[str, int, int]]] = {}
        for log_branch in facts.log_branches:
            for low, high in facts.log[log_branch].within(start, end):
                for offset, value in _values(facts, log_branch, (low, high)):
                    first = earliest.setdefault(offset, (*value, log_branch))
                    if first[:2] != value:
                        differ.setdefault(offset, (first, (*value, log_branch)))
        for offset in sorted(differ):
            (client, sequence, _log_branch), (other, another, _other) = differ[offset]
            text = f"offset {offset} held record {sequence} of {client} and record {another} of {other}"
            counter.count(INCONSISTENT_OFFSETS, client, facts.key, Example(now, offset, offset + 1, text))


def _values(facts: KeyObservations, log_branch: int, part: Range) -> list[tuple[int, tuple[str, int]]]:
    return [
        (offset + index, (client, sequence + index))
        for offset, client, sequence, count in facts.payload(facts.key, log_branch, *part)
        for index in range(count)
    ]


# lost-write: a committed value at or below the highest offset read was never read.
#
# For each key with reads, the bound is the highest offset at which a read value is *first*, so that a duplicate written
# further up cannot raise it. A value must have been read if its *last* offset is at or below the bound, so one that is
# also further up need not have been. A value that must have been read and was not is lost if its send is committed: it
# was acknowledged, or its outcome is unknown and another value of it was read.


LOST_WRITE: Final = "lost-write"


def find_lost_writes(facts: KeyObservations, counter: AnomalyCounter, now: int) -> None:
    """Count lost values, by the client that sent them."""
    doubles = offsets_of_doubles(facts)
    bound = _bound(facts, doubles)
    if bound < 0:
        return
    for log_branch in facts.log_branches:
        for start, end in facts.log[log_branch].minus(facts.read.get(log_branch)):
            if start > bound:
                continue
            for offset, client, sequence, count in facts.payload(facts.key, log_branch, start, min(end, bound + 1)):
                for index in range(count):
                    value, at = (client, sequence + index), offset + index
                    if at < facts.start or not _is_lost(facts, value):
                        continue
                    offsets = doubles.get(value, [at])
                    if (
                        offsets[-1] <= bound
                        and at == offsets[-1]
                        and log_branch == _last_log_branch(facts, value, at, log_branch)
                    ):
                        text = (
                            f"record {sequence + index} of {client}, written at offset {at}, was never read, although "
                            f"offset {bound} was"
                        )
                        counter.count(LOST_WRITE, client, facts.key, Example(now, at, at + 1, text))


def _is_lost(facts: KeyObservations, value: tuple[str, int]) -> bool:
    """Return whether a value's send is committed and no poll returned it."""
    client, sequence = value
    read = facts.values.get(client)
    if read is not None and read.has(sequence):
        return False
    return any(client in sent and sent[client].has(sequence) for sent in (facts.ended[OK], facts.found_committed))


def _last_log_branch(facts: KeyObservations, value: tuple[str, int], at: int, log_branch: int) -> int:
    """Return the newest log branch with the value at an offset, so that it is reported once."""
    if not facts.contested.has(at):
        return log_branch
    client, sequence = value
    latest = log_branch
    for other in facts.log_branches:
        if facts.log[other].has(at):
            for _offset, owner, first, _count in facts.payload(facts.key, other, at, at + 1):
                if (owner, first) == (client, sequence):
                    latest = max(latest, other)
    return latest


def _bound(facts: KeyObservations, doubles: dict[tuple[str, int], list[int]]) -> int:
    """Return the highest offset at which a read value is first; -1 if nothing was read."""
    best = -1
    for log_branch, spans in facts.read.items():
        for start, end in reversed(spans.ranges()):
            if end - 1 <= best:
                continue
            best = max(best, _first_in(facts, log_branch, max(start, best + 1), end, doubles))
    for (client, sequence), offsets in doubles.items():
        read = facts.values.get(client)
        if read is not None and read.has(sequence):
            best = max(best, offsets[0])
    return best


def _first_in(
    facts: KeyObservations, log_branch: int, start: int, end: int, doubles: dict[tuple[str, int], list[int]]
) -> int:
    """Return the highest offset of ``[start, end)`` whose value is at no lower offset; -1 for none."""
    step, at = 1, end
    while start < at:
        # Nearly always it is the last one; more are examined only after many duplicates.
        low = max(start, at - step)
        for offset, client, sequence, count in reversed(facts.payload(facts.key, log_branch, low, at)):
            for index in range(count - 1, -1, -1):
                offsets = doubles.get((client, sequence + index))
                if offsets is None or offsets[0] == offset + index:
                    return offset + index
        at, step = low, step * 4
    return -1


# phantom: a poll returned a value that no client has sent.


PHANTOM: Final = "phantom"


def find_phantoms(facts: KeyObservations, counter: AnomalyCounter, now: int) -> None:
    """Count phantom values, by the client that they name as their sender."""
    for client, read in facts.log_values.items():
        for start, end in read.minus(facts.sent.get(client)):
            text = f"records {start} to {end - 1} of {client} were read, but it has sent none of these"
            counter.count(PHANTOM, client, facts.key, Example(now, -1, -1, text), end - start)


# precommitted-read: one operation both sends a value and reads it, before its send can have been committed.


PRECOMMITTED_READ: Final = "precommitted-read"


def find_precommitted_reads(op: Op, payload: Payload, manner: str, counter: AnomalyCounter) -> None:
    """Count values that an operation both sent and read, by its client."""
    for key in dict.fromkeys(send.key for send in op.sends):
        premature: dict[str, RangeSet] = {}
        for read in op.reads:
            if read.key != key:
                continue
            for _offset, client, sequence, count in payload(*read):
                for send in op.sends:
                    low = max(sequence, send.sequence)
                    high = min(sequence + count, send.sequence + send.size)
                    if (send.key, send.client) == (key, client) and low < high:
                        premature.setdefault(client, RangeSet()).add(low, high)
        for spans in premature.values():
            text = f"{client_of(op.process)} sent {spans.size} records to {key} and read them in one operation"
            example = Example(op.time_us, -1, -1, text)
            counter.count(PRECOMMITTED_READ, client_of(op.process), key, example, spans.size, manner)


# unseen: a value whose send was ok and that no successful poll has returned.


UNSEEN: Final = "unseen"


def unread(facts: KeyObservations) -> dict[str, RangeSet]:
    """Return client → acknowledged values that were never read, without those deleted on purpose."""
    missing: dict[str, RangeSet] = {}
    for client, sent in facts.ended[OK].items():
        for start, end in sent.minus(facts.values.get(client)):
            missing.setdefault(client, RangeSet()).add(start, end)
    if facts.start and missing:
        for place in list(facts.places(missing)):
            gone = min(place.size, facts.start - place.offset)
            if gone > 0:
                missing[place.client].remove(place.sequence, place.sequence + gone)
    return missing


def find_unseen_writes(facts: KeyObservations, counter: AnomalyCounter, now: int) -> None:
    """Count unread values, by the client that sent them."""
    for client, spans in unread(facts).items():
        for start, end in spans.ranges():
            text = f"records {start} to {end - 1} of {client} were acknowledged but returned by no poll"
            counter.count(UNSEEN, client, facts.key, Example(now, -1, -1, text), end - start)
