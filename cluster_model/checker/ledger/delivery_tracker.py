"""Outcomes of records and transactions as clients received them, by client and partition.

Records acknowledged in order take one range per outcome, however many. Every record number has at most one outcome:
an acknowledgement replaces any earlier outcome, other later outcomes are ignored. A client should report an outcome
once; further reports are counted as contradicted.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import PartitionDeleted, RecordsAborted
from cluster_model.protocol.records import TRANSACTIONAL, Batch
from cluster_model.util.ranges import Range, RangeSet, length, subtract

SENT: Final = 0
ACKED: Final = 1
FAILED: Final = 2
UNKNOWN: Final = 3
ABORTED: Final = 4
COLUMNS: Final = ("sent", "acked", "failed", "unknown", "aborted")
"""The columns of the counts, in order."""


class PartitionDeliveries(NamedTuple):
    """Outcomes of one client's records in one partition, each as ranges of record numbers."""

    client: str
    partition: str
    """The topic name for records that were never assigned to a partition."""
    sent: list[Range]
    acked: list[Range]
    failed: list[Range]
    unknown: list[Range]
    aborted: list[Range]
    pending: list[Range]
    """Sent, without an outcome yet."""
    unnumbered: tuple[int, int, int, int, int]
    """By column, number of records without a record number; they are in none of the ranges."""


class ClientPartitionOutcomes:
    """Outcomes of one client's records in one partition, with totals of the client."""

    __slots__ = ("blind", "decided", "ranges", "sent", "totals", "unnumbered")

    def __init__(self, totals: list[int]) -> None:
        self.totals = totals
        """Totals of the client over all partitions, by column."""
        self.ranges = (RangeSet(), RangeSet(), RangeSet(), RangeSet(), RangeSet())
        """Record numbers, by column."""
        self.sent = self.ranges[SENT]
        self.decided = RangeSet()
        """Record numbers with an outcome."""
        self.blind = RangeSet()
        """Numbers of acks=0 records that are not known to have reached a leader."""
        self.unnumbered = [0, 0, 0, 0, 0]
        """Number of records without a record number, by column."""

    @property
    def entries(self) -> int:
        """Number of ranges kept."""
        return self.decided.entries + self.blind.entries + sum(ranges.entries for ranges in self.ranges)

    def pending(self) -> list[Range]:
        """Return the record numbers without an outcome."""
        return subtract(self.ranges[SENT].ranges(), self.decided.ranges())

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (tuple([each.save() for each in (*self.ranges, self.decided, self.blind)]), tuple(self.unnumbered))

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...], totals: list[int]) -> "ClientPartitionOutcomes":
        """Restore a state that :meth:`save` returned."""
        account = cls(totals)
        sets, unnumbered = saved
        account.unnumbered = list(unnumbered)
        for ranges, state in zip((*account.ranges, account.decided, account.blind), sets, strict=True):
            ranges.load(state)
        return account


class DeliveryTracker:
    """Outcomes of the records of all clients. ``totals``: client → [sent, acked, failed, unknown, aborted], in records.

    Records that an application sends again with the same record numbers count again in the totals; by number only the
    last outcome is kept.
    """

    __slots__ = ("_accounts", "_saved", "contradicted", "totals")

    def __init__(self) -> None:
        self.totals: dict[str, list[int]] = {}
        self.contradicted = 0
        """Number of records with more than one outcome."""
        self._accounts: dict[str, dict[str, ClientPartitionOutcomes]] = {}
        self._saved: dict[tuple[str, str], tuple[Any, ...]] = {}
        """(client, partition) → cached saved state, until it changes."""

    def sent(self, client: str, partition: str, sequence: int, count: int) -> None:
        """Record sent records; ``sequence`` -1: they never got a record number."""
        account = self._account(client, partition)
        account.totals[SENT] += count
        ends, decided = account.sent.ends, account.decided.ends
        if ends and ends[-1] == sequence and (not decided or decided[-1] <= sequence):  # Almost always: the next ones.
            ends[-1] = sequence + count
        elif sequence < 0:
            account.unnumbered[SENT] += count
        else:
            end = sequence + count
            if account.decided.any_within(sequence, end):  # The application resends records with an outcome.
                for ranges in (account.decided, *account.ranges[ACKED:]):
                    ranges.remove(sequence, end)
            account.sent.add(sequence, end)

    def decided(self, column: int, client: str, partition: str, sequence: int, count: int) -> None:
        """Record the outcome of records."""
        account = self._account(client, partition)
        end = sequence + count
        ends = account.decided.ends
        if ends and ends[-1] == sequence:  # Almost always: the next ones.
            ends[-1] = end
            ends = account.ranges[column].ends
            if ends and ends[-1] == sequence:
                ends[-1] = end
            else:
                account.ranges[column].add(sequence, end)
        elif sequence < 0:
            account.unnumbered[column] += count
        elif account.decided.any_within(sequence, end):
            self._contradict(column, account, (sequence, end))
            return
        else:
            account.decided.add(sequence, end)
            account.ranges[column].add(sequence, end)
        account.totals[column] += count

    def _contradict(self, column: int, account: ClientPartitionOutcomes, decided: Range) -> None:
        fresh = subtract([decided], account.decided.ranges())
        again = subtract([decided], fresh)
        self.contradicted += length(again)
        if column == ACKED:
            fresh = subtract([decided], account.ranges[ACKED].ranges())
        for start, end in fresh:
            for other in (FAILED, UNKNOWN, ABORTED):
                before = account.ranges[other].size
                account.ranges[other].remove(start, end)
                account.totals[other] -= before - account.ranges[other].size
            account.decided.add(start, end)
            account.ranges[column].add(start, end)
            account.totals[column] += end - start

    def sent_unacknowledged(self, client: str, partition: str, sequence: int, count: int) -> None:
        """Record that acks=0 records were sent."""
        self._account(client, partition).blind.add(sequence, sequence + count)

    def arrived(self, client: str, partition: str, sequence: int, count: int) -> None:
        """Record that acks=0 records reached a leader."""
        self._account(client, partition).blind.remove(sequence, sequence + count)

    def _account(self, client: str, partition: str) -> ClientPartitionOutcomes:
        """Return an account to be changed, created on first use."""
        if self._saved:
            self._saved.pop((client, partition), None)
        accounts = self._accounts.get(client)
        if accounts is None:
            accounts = self._accounts[client] = {}
            self.totals[client] = [0, 0, 0, 0, 0]
        account = accounts.get(partition)
        if account is None:
            account = accounts[partition] = ClientPartitionOutcomes(self.totals[client])
        return account

    def unplaced(self, client: str | None = None) -> list[tuple[str, str, list[Range]]]:
        """Return acks=0 records that reached no leader: (client, partition, sequences), in order of first send."""
        return [
            (name, partition, account.blind.ranges())
            for name, accounts in self._accounts.items()
            if client in (None, name)
            for partition, account in accounts.items()
            if account.blind.entries
        ]

    def partition_deliveries(self) -> list[PartitionDeliveries]:
        """Return the outcomes of all records, by client and partition."""
        deliveries = []
        for client, accounts in sorted(self._accounts.items()):
            for partition, account in sorted(accounts.items()):
                sent, acked, failed, unknown, aborted = [ranges.ranges() for ranges in account.ranges]
                sent_count, acked_count, failed_count, unknown_count, aborted_count = account.unnumbered
                deliveries.append(
                    PartitionDeliveries(
                        client,
                        partition,
                        sent,
                        acked,
                        failed,
                        unknown,
                        aborted,
                        account.pending(),
                        (sent_count, acked_count, failed_count, unknown_count, aborted_count),
                    )
                )
        return deliveries

    def blind(self, client: str, partition: str) -> list[Range]:
        """Return the numbers of acks=0 records that reached no leader."""
        account = self._accounts.get(client, {}).get(partition)
        return [] if account is None else account.blind.ranges()

    @property
    def entries(self) -> int:
        """Number of ranges kept."""
        return sum(account.entries for accounts in self._accounts.values() for account in accounts.values())

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
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
        """Restore a state that :meth:`save` returned."""
        table, totals, self.contradicted = saved
        self._saved = {}
        self.totals = {client: list(counts) for client, counts in totals}
        self._accounts = {
            client: {
                partition: ClientPartitionOutcomes.from_saved(state, self.totals[client])
                for partition, state in accounts
            }
            for client, accounts in table
        }


# Transaction outcomes that producers received, compared with the logs: commits undone and aborts without effect.
#
# Neither can happen while a transaction is ended by its producer's last request. A delayed request can end the next
# transaction instead if producer epochs do not distinguish them (KIP-890).


class TransactionOutcomes:
    """Records acknowledged as aborted, by record number; compared with the leader's log to find wrong outcomes."""

    __slots__ = ("_aborted", "_acked_in", "_cluster_state", "changes")

    def __init__(self, cluster_state: ClusterState, acked_in: Callable[[str, int], list[Range]]) -> None:
        """``acked_in`` returns the acknowledged offsets of a partition, in one leader epoch's branch of its log."""
        self._cluster_state = cluster_state
        self._acked_in = acked_in
        self._aborted: dict[tuple[str, str], RangeSet] = {}
        """(client, partition) → record numbers."""
        self.changes = 0
        """Counter that grows with every event that may change the results; it is not rewound."""

    def aborted(self, event: RecordsAborted) -> None:
        """Record records that were aborted with their transaction."""
        known = self._aborted.setdefault((event.client, event.partition), RangeSet())
        known.add(event.sequence, event.sequence + event.count)

    def deleted(self, event: PartitionDeleted) -> None:
        """Drop the state of a deleted partition."""
        self._aborted = {key: known for key, known in self._aborted.items() if key[1] != event.partition}

    def acked_aborted(self, client: str | None = None) -> int:
        """Return the number of acknowledged records of transactions that are aborted in the leader's log."""
        return sum(
            _overlap(self._acked_in(partition, log_branch), start, end)
            for partition, log_branch, batch, start, end, committed in self._ended()
            if not committed and client in (None, batch.client)
        )

    def aborted_committed(self, client: str | None = None) -> int:
        """Return the number of aborted records of transactions that are committed in the leader's log."""
        return sum(
            _overlap(self._aborted[batch.client, partition].ranges(), batch.sequence, batch.sequence + batch.records)
            for partition, _log_branch, batch, _start, _end, committed in self._ended()
            if committed and client in (None, batch.client) and (batch.client, partition) in self._aborted
        )

    def contradicted(self) -> Iterator[tuple[str, int, Batch, int, int, bool]]:
        """Yield (partition, log branch, batch, start, end, committed) of transactions with a wrong outcome."""
        for partition, log_branch, batch, start, end, committed in self._ended():
            if not committed:
                acked_ranges = self._acked_in(partition, log_branch)
            else:
                numbers = self._aborted.get((batch.client, partition))
                shift = batch.base - batch.sequence
                acked_ranges = (
                    [] if numbers is None else [(low + shift, high + shift) for low, high in numbers.ranges()]
                )
            for low, high in acked_ranges:
                if max(low, start) < min(high, end):
                    yield partition, log_branch, batch, max(low, start), min(high, end), committed

    def _ended(self) -> Iterator[tuple[str, int, Batch, int, int, bool]]:
        """Yield (partition, log branch, batch, start, end, committed) of every batch of an ended transaction."""
        for partition in self._cluster_state.records:
            leader = self._cluster_state.committed_leader(partition)
            if leader is None or not leader.log.epoch_branches.any_transactional(leader.log.extents):
                continue
            transactions = leader.log.transactions
            for epoch_branch, batch, start, end in leader.log.batches():
                if batch.kind != TRANSACTIONAL or batch.base >= transactions.ongoing.get(batch.producer_id, end):
                    continue
                yield partition, epoch_branch.id, batch, start, end, not transactions.is_aborted(batch)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple([(key, known.save()) for key, known in self._aborted.items()])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._aborted = {}
        for key, known in saved:
            self._aborted[key] = RangeSet()
            self._aborted[key].load(known)


def _overlap(ranges: list[Range], start: int, end: int) -> int:
    return sum(max(0, min(high, end) - max(low, start)) for low, high in ranges)
