"""What each client was told of its records and transactions, by client and partition.

A run in which all is acknowledged in order is one range per outcome, however long. Every number has at most one
outcome: an acknowledgement outweighs whatever was told before, as it is a promise, and nothing outweighs it or what was
told first. No client tells twice; should one do so, it is counted as contradicted.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import PartitionDeleted, RecordsAborted
from cluster_model.protocol.records import TRANSACTIONAL, Batch
from cluster_model.util.ranges import Range, RangeSet, length, subtract

SENT: Final = 0
ACKED: Final = 1
FAILED: Final = 2
UNKNOWN: Final = 3
ABORTED: Final = 4
TERMS: Final = ("sent", "acked", "failed", "unknown", "aborted")
"""The columns of the books, in order."""


class PartitionDeliveries(NamedTuple):
    """What one client was told of its records in one partition, each a list of ranges of numbers."""

    client: str
    partition: str
    """A topic's name for records that never got as far as a partition."""
    sent: list[Range]
    acked: list[Range]
    failed: list[Range]
    unknown: list[Range]
    aborted: list[Range]
    pending: list[Range]
    """Handed over, and nothing told yet."""
    unnumbered: tuple[int, int, int, int, int]
    """By column, records that never got a number; in none of the ranges."""


class Account:
    """One client's records in one partition."""

    __slots__ = ("blind", "ranges", "sent", "told", "totals", "unnumbered")

    def __init__(self, totals: list[int]) -> None:
        self.totals = totals
        """Of its client, over all partitions."""
        self.ranges = (RangeSet(), RangeSet(), RangeSet(), RangeSet(), RangeSet())
        """By column."""
        self.sent = self.ranges[SENT]
        self.told = RangeSet()
        """Numbers with an outcome."""
        self.blind = RangeSet()
        """Acknowledged by acks=0, where nobody answers, and not known to have reached a leader."""
        self.unnumbered = [0, 0, 0, 0, 0]
        """By column."""

    @property
    def entries(self) -> int:
        """Ranges that it takes."""
        return self.told.entries + self.blind.entries + sum(ranges.entries for ranges in self.ranges)

    def pending(self) -> list[Range]:
        """Numbers without an outcome."""
        return subtract(self.ranges[SENT].ranges(), self.told.ranges())

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple([each.save() for each in (*self.ranges, self.told, self.blind)]), tuple(self.unnumbered))

    @classmethod
    def loaded(cls, saved: tuple[Any, ...], totals: list[int]) -> "Account":
        """Undo of :meth:`save`."""
        account = cls(totals)
        sets, unnumbered = saved
        account.unnumbered = list(unnumbered)
        for ranges, state in zip((*account.ranges, account.told, account.blind), sets, strict=True):
            ranges.load(state)
        return account


class DeliveryTracker:
    """Of all clients. ``totals``: client → [sent, acked, failed, unknown, aborted], in records.

    What an application hands over again, by the same numbers, counts again in the totals; by number the outcome of the
    last time is kept.
    """

    __slots__ = ("_accounts", "_saved", "contradicted", "totals")

    def __init__(self) -> None:
        self.totals: dict[str, list[int]] = {}
        self.contradicted = 0
        """Records of which a client was told twice."""
        self._accounts: dict[str, dict[str, Account]] = {}
        self._saved: dict[tuple[str, str], tuple[Any, ...]] = {}
        """What was saved of accounts that have not changed since."""

    def sent(self, client: str, partition: str, sequence: int, count: int) -> None:
        """Records were handed over; ``sequence`` -1: they never got a number."""
        account = self._account(client, partition)
        account.totals[SENT] += count
        ends, told = account.sent.ends, account.told.ends
        if ends and ends[-1] == sequence and (not told or told[-1] <= sequence):  # almost always: the next ones
            ends[-1] = sequence + count
        elif sequence < 0:
            account.unnumbered[SENT] += count
        else:
            end = sequence + count
            if account.told.any_within(sequence, end):  # an application hands over again what it was told of before
                for ranges in (account.told, *account.ranges[ACKED:]):
                    ranges.remove(sequence, end)
            account.sent.add(sequence, end)

    def ended(self, column: int, client: str, partition: str, sequence: int, count: int) -> None:
        """An outcome was told."""
        account = self._account(client, partition)
        end = sequence + count
        ends = account.told.ends
        if ends and ends[-1] == sequence:  # almost always: what comes next, told in its turn
            ends[-1] = end
            ends = account.ranges[column].ends
            if ends and ends[-1] == sequence:
                ends[-1] = end
            else:
                account.ranges[column].add(sequence, end)
        elif sequence < 0:
            account.unnumbered[column] += count
        elif account.told.any_within(sequence, end):
            self._again(column, account, (sequence, end))
            return
        else:
            account.told.add(sequence, end)
            account.ranges[column].add(sequence, end)
        account.totals[column] += count

    def _again(self, column: int, account: Account, told: Range) -> None:
        fresh = subtract([told], account.told.ranges())
        again = subtract([told], fresh)
        self.contradicted += length(again)
        if column == ACKED:
            fresh = subtract([told], account.ranges[ACKED].ranges())
        for start, end in fresh:
            for other in (FAILED, UNKNOWN, ABORTED):
                before = account.ranges[other].size
                account.ranges[other].remove(start, end)
                account.totals[other] -= before - account.ranges[other].size
            account.told.add(start, end)
            account.ranges[column].add(start, end)
            account.totals[column] += end - start

    def left(self, client: str, partition: str, sequence: int, count: int) -> None:
        """Records of acks=0 went off."""
        self._account(client, partition).blind.add(sequence, sequence + count)

    def arrived(self, client: str, partition: str, sequence: int, count: int) -> None:
        """... and reached a leader."""
        self._account(client, partition).blind.remove(sequence, sequence + count)

    def _account(self, client: str, partition: str) -> Account:
        """For a change."""
        if self._saved:
            self._saved.pop((client, partition), None)
        accounts = self._accounts.get(client)
        if accounts is None:
            accounts = self._accounts[client] = {}
            self.totals[client] = [0, 0, 0, 0, 0]
        account = accounts.get(partition)
        if account is None:
            account = accounts[partition] = Account(self.totals[client])
        return account

    def unplaced(self, client: str | None = None) -> list[tuple[str, str, list[Range]]]:
        """Records of acks=0 that reached no leader: (client, partition, numbers), as they first sent."""
        return [
            (name, partition, account.blind.ranges())
            for name, accounts in self._accounts.items()
            if client in (None, name)
            for partition, account in accounts.items()
            if account.blind.entries
        ]

    def told(self) -> list[PartitionDeliveries]:
        """All of it, by client and partition."""
        found = []
        for client, accounts in sorted(self._accounts.items()):
            for partition, account in sorted(accounts.items()):
                sent, acked, failed, unknown, aborted = [ranges.ranges() for ranges in account.ranges]
                a, b, c, d, e = account.unnumbered
                found.append(
                    PartitionDeliveries(
                        client, partition, sent, acked, failed, unknown, aborted, account.pending(), (a, b, c, d, e)
                    )
                )
        return found

    def blind(self, client: str, partition: str) -> list[Range]:
        """Numbers of acks=0 that reached no leader."""
        account = self._accounts.get(client, {}).get(partition)
        return [] if account is None else account.blind.ranges()

    @property
    def entries(self) -> int:
        """Ranges that all accounts take."""
        return sum(account.entries for accounts in self._accounts.values() for account in accounts.values())

    def save(self) -> tuple[Any, ...]:
        """All state."""
        kept = self._saved
        for client, accounts in self._accounts.items():
            for partition, account in accounts.items():
                if (client, partition) not in kept:
                    kept[client, partition] = account.save()
        table = tuple(
            [
                (client, tuple([(partition, kept[client, partition]) for partition in accounts]))
                for client, accounts in self._accounts.items()
            ]
        )
        totals = tuple([(client, tuple(counts)) for client, counts in self.totals.items()])
        return (table, totals, self.contradicted)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        table, totals, self.contradicted = saved
        self._saved = {}
        self.totals = {client: list(counts) for client, counts in totals}
        self._accounts = {
            client: {partition: Account.loaded(state, self.totals[client]) for partition, state in accounts}
            for client, accounts in table
        }


# What producers were told of their transactions, held against the logs: a commit undone, an abort that did not help.
#
# Neither can happen while a transaction is ended by what its producer asked last. A request that comes late can end the
# next transaction in its place where epochs do not tell them apart (KIP-890).


class Transacted:
    """Records that a producer was told to be aborted, by its own numbers: whether and where they are is not told."""

    __slots__ = ("_aborted", "_acked_in", "_world", "changes")

    def __init__(self, world: World, acked_in: Callable[[str, int], list[Range]]) -> None:
        """``acked_in`` returns the acknowledged offsets of a partition, in one leader epoch's branch of its log."""
        self._world = world
        self._acked_in = acked_in
        self._aborted: dict[tuple[str, str], RangeSet] = {}
        """(client, partition) → numbers."""
        self.changes = 0
        """Grows with all that may change what is found, rewinds or not."""

    def aborted(self, event: RecordsAborted) -> None:
        """Records went with their transaction."""
        known = self._aborted.setdefault((event.client, event.partition), RangeSet())
        known.add(event.sequence, event.sequence + event.count)

    def deleted(self, event: PartitionDeleted) -> None:
        """A partition is gone."""
        self._aborted = {key: known for key, known in self._aborted.items() if key[1] != event.partition}

    def undone(self, client: str | None = None) -> int:
        """Acknowledged records of transactions that are aborted in the leader's log."""
        return sum(
            _overlap(self._acked_in(partition, stint), start, end)
            for partition, stint, batch, start, end, committed in self._ended()
            if not committed and client in (None, batch.client)
        )

    def leaked(self, client: str | None = None) -> int:
        """Aborted records of transactions that are committed in the leader's log."""
        return sum(
            _overlap(self._aborted[batch.client, partition].ranges(), batch.sequence, batch.sequence + batch.records)
            for partition, _stint, batch, _start, _end, committed in self._ended()
            if committed and client in (None, batch.client) and (batch.client, partition) in self._aborted
        )

    def contradicted(self) -> Iterator[tuple[str, int, Batch, int, int, bool]]:
        """What :meth:`undone` and :meth:`leaked` count: (partition, stint, batch, start, end, whether committed)."""
        for partition, stint, batch, start, end, committed in self._ended():
            if not committed:
                known = self._acked_in(partition, stint)
            else:
                numbers = self._aborted.get((batch.client, partition))
                ahead = batch.base - batch.sequence
                known = [] if numbers is None else [(low + ahead, high + ahead) for low, high in numbers.ranges()]
            for low, high in known:
                if max(low, start) < min(high, end):
                    yield partition, stint, batch, max(low, start), min(high, end), committed

    def _ended(self) -> Iterator[tuple[str, int, Batch, int, int, bool]]:
        """(partition, stint, batch, start, end, whether committed) of every batch of a transaction that has ended."""
        for partition in self._world.records:
            leader = self._world.true_leader(partition)
            if leader is None or not leader.log.lineages.any_transactional(leader.log.extents):
                continue
            transactions = leader.log.transactions
            for lineage, batch, start, end in leader.log.batches():
                if batch.kind != TRANSACTIONAL or batch.base >= transactions.ongoing.get(batch.producer_id, end):
                    continue
                yield partition, lineage.id, batch, start, end, not transactions.is_aborted(batch)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple([(key, known.save()) for key, known in self._aborted.items()])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._aborted = {}
        for key, known in saved:
            self._aborted[key] = RangeSet()
            self._aborted[key].load(known)


def _overlap(ranges: list[Range], start: int, end: int) -> int:
    return sum(max(0, min(high, end) - max(low, start)) for low, high in ranges)
