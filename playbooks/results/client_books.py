"""Books on what clients saw of a session; :mod:`playbooks.results.client_history` enters their events.

A record is *read again* where its group had been handed the same offset before. Offsets that a member found to be
truncated (KIP-320) are forgotten: what stands there later are other records. After compaction a read is taken to lie
at its first offsets, since its event has no more than their number.

A group's *idle* time is that of partitions: it runs for each from the moment its owner gave it up, or found it lost,
until a member was given it. Eager rebalances stop all partitions, cooperative ones those that move.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any


class Handed:
    """Offsets of one partition that a group was handed, as disjoint ranges in ascending order."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in ranges:
            self._starts.append(start)
            self._ends.append(end)

    def add(self, start: int, end: int) -> int:
        """Take ``[start, end)``; returns how many of them were there already."""
        starts, ends = self._starts, self._ends
        if ends and ends[-1] == start:  # a reader that goes on where it was
            ends[-1] = end
            return 0
        first, last = bisect_left(ends, start), bisect_right(starts, end)
        touched = list(zip(starts[first:last], ends[first:last], strict=True))
        again = sum(max(0, min(end, upper) - max(start, lower)) for lower, upper in touched)
        starts[first:last] = [min([start, *(lower for lower, _upper in touched)])]
        ends[first:last] = [max([end, *(upper for _lower, upper in touched)])]
        return again

    def forget(self, start: int) -> None:
        """Forget every offset from ``start`` on."""
        while self._ends and self._ends[-1] > start:
            if self._starts[-1] >= start:
                del self._starts[-1], self._ends[-1]
            else:
                self._ends[-1] = start

    def save(self) -> tuple[tuple[int, int], ...]:
        """The ranges."""
        return tuple(zip(self._starts, self._ends, strict=True))


class ProducerBook:
    """A producer's records by their outcome, its attempts and its transactions."""

    __slots__ = ("aborted", "acked", "errors", "failed", "failure", "interceptor_failures", "refused", "retries",
                 "sent", "transactions", "transactions_aborted", "transactions_committed", "transactions_unknown",
                 "unknown")  # fmt: skip

    def __init__(self) -> None:
        self.sent = self.acked = self.failed = self.unknown = self.aborted = 0
        self.transactions = self.transactions_committed = self.transactions_aborted = self.transactions_unknown = 0
        """Transactions begun, and those of them whose end the producer knows."""
        self.interceptor_failures = 0
        """Records at which an interceptor threw."""
        self.failure = ""
        """The fatal error that ended it, empty while none did."""
        self.retries = 0
        """Attempts beyond the first, of batches."""
        self.refused: dict[str, int] = {}
        """Attempts that ended in an error, by its name."""
        self.errors: dict[str, int] = {}
        """Records failed or unknown, by the error that their callback was given."""

    @property
    def unanswered(self) -> int:
        """Records whose callback has not come."""
        return self.sent - self.acked - self.failed - self.unknown - self.aborted

    def save(self) -> tuple[Any, ...]:
        """All state."""
        values = [getattr(self, name) for name in self.__slots__]
        return tuple([tuple(each.items()) if isinstance(each, dict) else each for each in values])

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "ProducerBook":
        """Undo of :meth:`save`."""
        book = cls()
        for name, value in zip(cls.__slots__, saved, strict=True):
            setattr(book, name, dict(value) if isinstance(value, tuple) else value)
        return book


class MemberBook:
    """One consumer of a group."""

    __slots__ = ("abandoned", "commits", "failed_commits", "failure", "last_commit", "lost", "read", "reread",
                 "skipped")  # fmt: skip

    def __init__(self) -> None:
        self.read = 0
        self.reread = 0
        """Records read that its group had read before."""
        self.commits = 0
        """Commits that moved an offset."""
        self.failed_commits = 0
        self.skipped = 0
        """Records that its handler could not process."""
        self.abandoned = 0
        """Records that it was handed and that its application never came to process."""
        self.lost = 0
        """Partitions that it found to be its own no more."""
        self.failure = ""
        """The exception that ended it, empty while none did."""
        self.last_commit = (-1, "")
        """When and how it committed last: a commit has an event for each partition."""

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple([getattr(self, name) for name in self.__slots__])

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "MemberBook":
        """Undo of :meth:`save`."""
        book = cls()
        for name, value in zip(cls.__slots__, saved, strict=True):
            setattr(book, name, value)
        return book


class GroupBook:
    """A group: its members, and what concerns them together."""

    __slots__ = ("commit_errors", "handed", "idle_since", "idle_us", "members", "owners", "rebalances", "resets",
                 "truncations")  # fmt: skip

    def __init__(self) -> None:
        self.members: dict[str, MemberBook] = {}
        self.rebalances = 0
        """Assignments that came into force."""
        self.idle_us = 0
        """Time that partitions had no owner in rebalances, summed over them."""
        self.truncations = 0
        """Times that a member found what it had read truncated."""
        self.resets = 0
        """Times that ``auto.offset.reset`` moved a member whose offset was out of range."""
        self.commit_errors: dict[str, int] = {}
        self.handed: dict[str, Handed] = {}
        self.owners: dict[str, str] = {}
        """Partition → the member that was given it last."""
        self.idle_since: dict[str, int] = {}

    def member(self, name: str) -> MemberBook:
        """A member's book, made when it is first heard of."""
        book = self.members.get(name)
        if book is None:
            book = self.members[name] = MemberBook()
        return book

    def total(self, column: str) -> int:
        """A column of the members' books, summed up."""
        return sum(getattr(each, column) for each in self.members.values())

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple([(name, each.save()) for name, each in self.members.items()]),
            self.rebalances, self.idle_us, self.truncations, self.resets, tuple(self.commit_errors.items()),
            tuple([(name, each.save()) for name, each in self.handed.items()]),
            tuple(self.owners.items()), tuple(self.idle_since.items()),
        )  # fmt: skip

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "GroupBook":
        """Undo of :meth:`save`."""
        book = cls()
        members, book.rebalances, book.idle_us, book.truncations, book.resets, errors, handed, owners, idle = saved
        book.members = {name: MemberBook.loaded(each) for name, each in members}
        book.handed = {name: Handed(ranges) for name, ranges in handed}
        book.commit_errors, book.owners, book.idle_since = dict(errors), dict(owners), dict(idle)
        return book


class ClientBooks:
    """The books of all clients, by name."""

    __slots__ = ("closed", "groups", "killed", "producers")

    def __init__(self) -> None:
        self.killed: dict[str, int] = {}
        """Process, of a client or another, → how often it was killed, lost power or memory ..."""
        self.closed: dict[str, int] = {}
        """... and how often a client's was closed in order."""
        self.producers: dict[str, ProducerBook] = {}
        self.groups: dict[str, GroupBook] = {}

    def producer(self, name: str) -> ProducerBook:
        """A producer's book, made when it is first heard of."""
        book = self.producers.get(name)
        if book is None:
            book = self.producers[name] = ProducerBook()
        return book

    def group(self, name: str) -> GroupBook:
        """A group's book, made likewise."""
        book = self.groups.get(name)
        if book is None:
            book = self.groups[name] = GroupBook()
        return book

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple([(name, each.save()) for name, each in self.producers.items()]),
            tuple([(name, each.save()) for name, each in self.groups.items()]),
            tuple(self.killed.items()), tuple(self.closed.items()),
        )  # fmt: skip

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "ClientBooks":
        """Undo of :meth:`save`."""
        books = cls()
        producers, groups, killed, closed = saved
        books.killed, books.closed = dict(killed), dict(closed)
        books.producers = {name: ProducerBook.loaded(each) for name, each in producers}
        books.groups = {name: GroupBook.loaded(each) for name, each in groups}
        return books
