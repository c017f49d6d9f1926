"""Builder of the history of client operations from events, and its checker for anomalies.

A *process* is one incarnation of a client; after a crash the next one has another number. A poll is everything that one
consumer received at one time, up to the next event of its application. It counts as successful once the application has
the records, even if their transaction fails later. Every record sent outside a transaction is an operation of its own;
a transaction is one operation from its begin to its end, including, for a member that writes what it reads, the records
that it received for it.

An application that goes back to process records again seeks: records that it receives then are neither out of order nor
duplicates.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.anomalies import rules
from cluster_model.checker.anomalies.anomaly_case import EXAMPLES, AnomalyCase, AnomalyCounter, Example
from cluster_model.checker.anomalies.cycles import Cycles
from cluster_model.checker.anomalies.definitions import KINDS, AllowedAnomalies, ClientSettings
from cluster_model.checker.anomalies.index import KeyIndex, KeyObservations, UnresolvedOperation
from cluster_model.checker.anomalies.operations import (
    ASSIGN,
    COMMITTED,
    CRASH,
    FAIL,
    INFO,
    OK,
    SUBSCRIBE,
    TXN,
    WIRE,
    Begin,
    Empty,
    Op,
    Payload,
    ReadOperation,
    Run,
    Send,
)
from cluster_model.checker.anomalies.order_rules import OffsetJumps, PollOrder, RealtimeLags, RealtimeOrder, SendOrder
from cluster_model.checker.anomalies.rules import ConsumedOffsets, GroupChecks
from cluster_model.checker.invariants.base import AllowedLosses
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import (
    NodeUp,
    OffsetsCommitted,
    PartitionDeleted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RecordsAbandoned,
    RecordsAborted,
    RecordsAcked,
    RecordsFailed,
    RecordsRead,
    RecordsSent,
    RecordsUnknown,
    TraceEvent,
    TransactionAborted,
    TransactionBegun,
    TransactionCommitted,
    TransactionUnknown,
)
from cluster_model.protocol.records import ABORT, TRANSACTIONAL
from cluster_model.util.ranges import subtract

# Checks a history, each operation once, for anomalies.
#
# Anomalies that depend on later observations, such as lost writes, are decided at the end; until then the history is
# kept as ranges. Operations enter by :meth:`HistoryChecker.take`, or part by part by the methods after it, which create
# no objects.


Reader = tuple[str, str]
"""(process, manner): ``assign`` or ``subscribe``, followed by ``committed`` if it uses read_committed."""


class _Part(Protocol):
    def save(self) -> tuple[Any, ...]: ...
    def load(self, saved: tuple[Any, ...]) -> None: ...


class _Counted(Protocol):
    @property
    def entries(self) -> int: ...


class HistoryChecker:
    """Checker of all anomalies in one history of operations."""

    __slots__ = (
        "_closed", "_operations", "_parts", "_sent_in_order", "consumed", "counter", "cycles", "facts", "gaps",
        "groups", "lags", "polls", "realtime",
    )  # fmt: skip

    def __init__(self, payload: Payload, empty: Empty | None = None, begin: Begin | None = None) -> None:
        self.counter = AnomalyCounter()
        """Anomalies that are final."""
        self.facts = KeyIndex(payload, empty, begin)
        self.gaps = OffsetJumps(self.facts, self.counter)
        self.polls = PollOrder(self.gaps, self.counter)
        self._sent_in_order = SendOrder(self.facts, self.gaps)
        self.consumed = ConsumedOffsets(self.facts)
        self.cycles = Cycles(self.facts)
        self.lags = RealtimeLags()
        self.realtime = RealtimeOrder(self.counter)
        self.groups = GroupChecks(self.counter)
        self._operations = 0
        self._closed: tuple[AnomalyCase, ...] | None = None
        self._parts: tuple[_Part, ...] = (
            self.counter, self.facts, self.gaps, self.polls, self._sent_in_order, self.consumed, self.cycles, self.lags,
            self.realtime, self.groups,
        )  # fmt: skip

    # -- operations -------------------------------------------------------------------------------------------------

    def take(self, op: Op, manner: str = ASSIGN) -> None:
        """Check an operation that completed; ``manner`` is how its process reads."""
        if op.f == CRASH:
            self.over(op.process)
        elif op.f in (ASSIGN, SUBSCRIBE):
            if op.type == OK:
                self.polls.keep(op.process, op.keys)
        else:
            self._operations += 1
            self._take_sends(op)
            self._take_reads(op, manner)
            self.transaction(op, manner)

    def _take_sends(self, op: Op) -> None:
        for send in op.sends:
            self.facts.key(send.key).sends(send.client, send.sequence, send.size)
        if op.type == INFO and op.sends:
            self.facts.undecided.append(UnresolvedOperation(op.sends))
        for send in op.sends:
            if op.type == OK:
                self.acked(op.process, *send, self._operations, op.time_us)
            else:
                self.record_outcome(op.type, op.process, send, self._operations)

    def _take_reads(self, op: Op, manner: str) -> None:
        self.polls.begin(op.process)
        for read in op.reads:
            if op.type == OK:
                self.polled((op.process, manner), *read, op.invoked_us, op.time_us, moved=read.key in op.moved)
            else:
                self.polled_unsuccessfully((op.process, manner), read, op.time_us, moved=read.key in op.moved)

    # -- their parts ------------------------------------------------------------------------------------------------

    @property
    def _payload(self) -> Payload:
        return self.facts.payload

    def acked(
        self, process: str, key: str, client: str, sequence: int, count: int, log_branch: int, offset: int,
        operation: int, now: int,
    ) -> None:  # fmt: skip
        """Record a send that was ok; offset -1: its sender got no offset."""
        facts = self.facts.key(key)
        facts.acked(client, sequence, count)
        if offset >= 0:
            facts.observe(log_branch, offset, offset + count)
            self._sent_in_order.record_offset(process, key, sequence, count, offset, operation, now)
            self.lags.record_end_offset(key, offset + count, now)

    def record_outcome(self, outcome: str, process: str, send: Send, operation: int) -> None:
        """Record a send with any other outcome."""
        self.facts.key(send.key).ended_with(outcome, send.client, send.sequence, send.size)
        if outcome == INFO:
            self._sent_in_order.outcome_unknown(process, send, operation)

    def polled(
        self, reader: Reader, key: str, log_branch: int, start: int, end: int, called_us: int, now: int, *,
        moved: bool = False,
    ) -> None:  # fmt: skip
        """Record a range returned by a successful poll called at ``called_us``."""
        process, manner = reader
        facts = self.facts.key(key)
        facts.observe(log_branch, start, end)
        facts.returned(log_branch, start, end)
        if COMMITTED in manner:
            facts.returned_committed(log_branch, start, end)
        self.polls.polled(reader, key, log_branch, start, end, now, moved=moved)
        self.lags.polled(process, key, end - 1, called_us)
        self.lags.record_end_offset(key, end, now)
        if manner.startswith(SUBSCRIBE):
            self.consumed.polled(process, key, log_branch, start, end)

    def polled_unsuccessfully(self, reader: Reader, read: ReadOperation, now: int, *, moved: bool) -> None:
        """Record a range returned by a failed poll: it is in the log but does not count as read."""
        key, log_branch, start, end = read
        self.facts.key(key).observe(log_branch, start, end)
        self.polls.polled(reader, key, log_branch, start, end, now, moved=moved, ok=False)

    def transaction(self, op: Op, manner: str) -> None:
        """Record that sends and reads, which are recorded already, formed one operation."""
        if op.sends and op.reads:
            rules.find_precommitted_reads(op, self._payload, COMMITTED if COMMITTED in manner else "", self.counter)
        if op.f == TXN and op.type != FAIL:
            self.cycles.record_transaction(op, committed_only=COMMITTED in manner)

    def over(self, process: str) -> None:
        """Record that a process has ended."""
        self.polls.process_ended(process)
        self.groups.process_ended(process)

    def deleted(self, key: str, now: int) -> None:
        """Handle the deletion of a key; anomalies observed so far are kept."""
        self.facts.settle()
        facts = self.facts.keys.get(key)
        if facts is None:
            return
        _find_in(facts, self.counter, now)
        consumed = AnomalyCounter()
        self.consumed.find(consumed, now, key)
        self.counter.add(consumed)
        self.facts.reset(key)
        parts = (self.gaps, self.polls, self._sent_in_order, self.consumed, self.cycles, self.lags, self.realtime)
        for part in (*parts, self.groups):
            part.forget(key)

    # -- results ----------------------------------------------------------------------------------------------------

    def close(self, now: int) -> None:
        """End the history and decide all anomalies."""
        counter = self._current(now)
        for facts in self.facts.keys.values():
            rules.find_lost_writes(facts, counter, now)
            rules.find_unseen_writes(facts, counter, now)
        self._sent_in_order.find(counter, now)
        self.gaps.decide(counter)
        self.cycles.find(counter, now)
        self.lags.find(counter)
        self._closed = tuple(counter.cases())

    def cases(self, now: int) -> tuple[AnomalyCase, ...]:
        """Return the anomalies; before the end only those that do not depend on later reads."""
        return self._closed if self._closed is not None else tuple(self._current(now).cases())

    def _current(self, now: int) -> AnomalyCounter:
        self.facts.settle()
        counter = AnomalyCounter()
        counter.add(self.counter)
        for facts in self.facts.keys.values():
            _find_in(facts, counter, now)
        self.consumed.find(counter, now)
        return counter

    @property
    def entries(self) -> int:
        """Number of ranges, offsets and times kept, which determines the memory use."""
        parts: tuple[_Counted, ...] = (
            self.gaps, self.polls, self._sent_in_order, self.consumed, self.cycles, self.lags, self.realtime,
            self.groups, *self.facts.keys.values(),
        )  # fmt: skip
        return sum(part.entries for part in parts)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (self._operations, self._closed, *[part.save() for part in self._parts])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._operations, self._closed, *states = saved
        for part, state in zip(self._parts, states, strict=True):
            part.load(state)


def _find_in(facts: KeyObservations, counter: AnomalyCounter, now: int) -> None:
    """Count the anomalies of a key that can be decided at any time."""
    for find in (rules.find_inconsistent_offsets, rules.find_duplicates, rules.find_aborted_reads, rules.find_phantoms):
        find(facts, counter, now)


# Builds the history of client operations from events and passes it to the checker.


OUTPUT: Final = ".output"
"""Suffix of a group member's name: the producer that writes what the member reads."""


class _OpenTransaction:
    """A transaction that has not ended."""

    __slots__ = ("began_us", "number", "reads", "sends")

    def __init__(self, number: int, began_us: int, reads: tuple[ReadOperation, ...]) -> None:
        self.number = number
        self.began_us = began_us
        self.reads = reads
        self.sends: list[Send] = []


class HistoryBuilder:
    """Translator of trace events into operations for :class:`HistoryChecker`."""

    __slots__ = (
        "_copiers", "_incarnations", "_manner_of", "_newest_log_branch", "_number", "_open", "_poll_times",
        "_processes", "_readers", "_reads", "_started", "anomalies",
    )  # fmt: skip

    def __init__(
        self,
        anomalies: HistoryChecker,
        manner_of: Callable[[str, str], str],
        copiers: frozenset[str],
        newest_log_branch: Callable[[str], int],
    ) -> None:
        """``manner_of`` returns how a client reads as a group member; ``copiers`` are those that write what they read.

        ``newest_log_branch`` returns how many log branches a partition has had.
        """
        self.anomalies = anomalies
        self._manner_of = manner_of
        self._copiers = copiers
        self._newest_log_branch = newest_log_branch
        self._incarnations: dict[str, int] = {}
        self._processes: dict[str, str] = {}
        """Client → the name of its current process, created on first use."""
        self._readers: dict[str, Reader] = {}
        """Client → its current process and manner."""
        self._poll_times: dict[str, int] = {}
        """Client → virtual time of its current poll."""
        self._reads: dict[str, list[ReadOperation]] = {}
        """Client that writes what it reads → reads of its current poll."""
        self._open: dict[str, _OpenTransaction] = {}
        self._number = 0
        self._started: dict[str, int] = {}
        """Deleted partition → the first log branch of a new partition of that name."""

    def process(self, client: str) -> str:
        """Return the name of a client's current process."""
        name = self._processes.get(client)
        if name is None:
            name = self._processes[client] = f"{client}#{self._incarnations.get(client, 0)}"
        return name

    # -- producers

    def sent(self, event: RecordsSent) -> None:
        """Record that an application sends records; without a record number they reached no partition."""
        if event.sequence >= 0:
            anomalies, client, key = self.anomalies, event.client, event.partition
            anomalies.facts.key(key).sends(client, event.sequence, event.count)
            anomalies.realtime.sent(client, key, event.sequence)

    def acked(self, event: RecordsAcked) -> None:
        """Record a send that was ok; in a transaction the event comes together with the commit."""
        client, key, sequence, count, log_branch = (
            event.client,
            event.partition,
            event.sequence,
            event.count,
            event.log_branch,
        )
        anomalies = self.anomalies
        if log_branch >= 0:
            if log_branch < self._started.get(key, 0):
                return
            anomalies.realtime.acknowledged(client, key, sequence, count, event.log_offset, event.at_us)
        else:
            anomalies.realtime.record_outcome(client, key, sequence, count)
        operation, offset = -1, event.log_offset
        txn = self._open.get(client) if self._open else None
        if txn is not None:
            operation = txn.number
            txn.sends.append(Send(key, client, sequence, count, log_branch, offset))
        process = self._processes.get(client) or self.process(client)
        anomalies.acked(process, key, client, sequence, count, log_branch, offset, operation, event.at_us)

    def failed(self, event: RecordsFailed) -> None:
        """Record a send that failed."""
        self._record_outcome(FAIL, event)

    def aborted(self, event: RecordsAborted) -> None:
        """Record a send that was aborted with its transaction."""
        self._record_outcome(FAIL, event)

    def unknown(self, event: RecordsUnknown) -> None:
        """Record a send with unknown outcome."""
        self._record_outcome(INFO, event)

    def _record_outcome(self, outcome: str, event: RecordsFailed | RecordsAborted | RecordsUnknown) -> None:
        if event.sequence < 0:
            return
        client, key = event.client, event.partition
        send = Send(key, client, event.sequence, event.count)
        self.anomalies.realtime.record_outcome(client, key, event.sequence, event.count)
        txn = self._open.get(client)
        if txn is not None:
            txn.sends.append(send)
        self.anomalies.record_outcome(outcome, self.process(client), send, -1 if txn is None else txn.number)

    def _transaction_begun(self, event: TransactionBegun) -> None:
        self._number += 1
        reads = tuple(self._reads.pop(event.client.removesuffix(OUTPUT), ()))
        self._open[event.client] = _OpenTransaction(self._number, event.at_us, reads)

    def _transaction_ended(self, client: str, outcome: str, now: int) -> None:
        txn = self._open.pop(client, None)
        if txn is None or not (txn.sends or txn.reads):
            return
        reader = self._readers.get(client.removesuffix(OUTPUT), ("", ""))
        op = Op(self.process(client), outcome, TXN, tuple(txn.sends), txn.reads, invoked_us=txn.began_us, time_us=now)
        self.anomalies.transaction(op, reader[1])

    # -- consumers

    def read(self, event: RecordsRead) -> None:
        """Record that an application received records."""
        client, key, now = event.client, event.partition, event.at_us
        reader = self._readers.get(client)
        if reader is None:
            reader = self._readers[client] = (self.process(client), self._manner_of(client, event.group_id))
        log_branch, start, end = event.log_branch, event.log_offset, event.end_offset
        # Each response to a real client is a poll of its own: several of its processes may share one name.
        fresh = self._poll_times.get(client) != now or reader[1].startswith(WIRE)
        if fresh:
            self._poll_times[client] = now
            self.anomalies.polls.begin(reader[0])
        if self._copiers and client in self._copiers:
            if fresh:
                self._reads[client] = []
            self._reads.setdefault(client, []).append(ReadOperation(key, log_branch, start, end))
        if log_branch >= self._started.get(key, 0):
            self.anomalies.polled(reader, key, log_branch, start, end, now, now)

    def abandoned(self, event: RecordsAbandoned) -> None:
        """Record that an application left records unprocessed; if it is alive, it reads them again."""
        process = self.process(event.client)
        end = event.log_offset + event.count
        self._poll_times.pop(event.client, None)
        self.anomalies.polls.sought(process, event.partition)
        self.anomalies.consumed.forget_offsets(process, event.partition, event.log_offset, end)

    def committed(self, event: OffsetsCommitted) -> None:
        """Record an accepted commit."""
        self.anomalies.groups.committed(event.group_id, event.client, event.partition, event.log_offset, event.at_us)

    # -- all others

    def observe(self, event: TraceEvent) -> None:
        """Handle a rare event."""
        if isinstance(event, RecordsFailed):
            self.failed(event)
        elif isinstance(event, RecordsUnknown):
            self.unknown(event)
        elif isinstance(event, TransactionBegun):
            self._transaction_begun(event)
        elif isinstance(event, TransactionCommitted):
            self._transaction_ended(event.client, OK, event.at_us)
        elif isinstance(event, TransactionUnknown):
            self._transaction_ended(event.client, INFO, event.at_us)
        elif isinstance(event, TransactionAborted):
            self._transaction_ended(event.client, FAIL, event.at_us)
        elif isinstance(event, NodeUp):
            self._restarted(event)
        elif isinstance(event, PartitionDeleted):
            self.anomalies.deleted(event.partition, event.at_us)
            self._started[event.partition] = self._newest_log_branch(event.partition)
        elif isinstance(event, PartitionsAssigned | PartitionsRevoked | PartitionsLost):
            self._rebalanced(event)

    def _restarted(self, event: NodeUp) -> None:
        """Record that a client's process has restarted."""
        if event.broker < 0:
            client = event.node
            self.anomalies.over(self.process(client))
            self._incarnations[client] = self._incarnations.get(client, 0) + 1
            self._processes.clear()
            self._open.pop(client, None)
            self._readers.pop(client, None)
            self._poll_times.pop(client, None)
            self._reads.pop(client, None)
            if client in self._copiers:
                output = f"{client}{OUTPUT}"
                self._incarnations[output] = self._incarnations.get(output, 0) + 1
                self._open.pop(output, None)

    def _rebalanced(self, event: PartitionsAssigned | PartitionsRevoked | PartitionsLost) -> None:
        """Record that a rebalance changed a member's partitions, which starts a new poll."""
        self._poll_times.pop(event.client, None)
        prefix, _, names = event.detail.rpartition(": ")
        generation = int(prefix.rpartition(" ")[2]) if prefix else -1
        groups, process = self.anomalies.groups, self.process(event.client)
        for key in names.split(", "):
            if not isinstance(event, PartitionsAssigned):
                groups.released(event.group_id, process, key)
            elif generation >= 0:
                groups.owns(event.group_id, process, key, generation, event.at_us)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, including that of the anomalies, to be restored by :meth:`load`."""
        transactions = [
            (client, each.number, each.began_us, each.reads, tuple(each.sends)) for client, each in self._open.items()
        ]
        return (
            self.anomalies.save(), tuple(self._incarnations.items()), tuple(self._readers.items()),
            tuple(self._poll_times.items()),
            tuple([(client, tuple(reads)) for client, reads in self._reads.items()]), tuple(transactions),
            self._number, tuple(self._started.items()),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        anomalies, lives, readers, at, reads, transactions, self._number, started = saved
        self.anomalies.load(anomalies)
        self._processes = {}
        self._incarnations, self._readers, self._poll_times, self._started = (
            dict(lives),
            dict(readers),
            dict(at),
            dict(started),
        )
        self._reads = {client: list(each) for client, each in reads}
        self._open = {}
        for client, number, began_us, txn_reads, sends in transactions:
            self._open[client] = _OpenTransaction(number, began_us, txn_reads)
            self._open[client].sends = list(sends)


# The final read of a session: a new client reads every partition from its log start.
#
# Without it losses after the last record read would go unnoticed. It counts as a successful poll of a new process: of
# the leader's log from its start to its high watermark, without markers, aborted data and damaged batches. After the
# last stable offset it reads uncommitted data. A partition without a leader is not read.


class FinalReadRange(NamedTuple):
    """A range returned by the final read; for a partition without data one entry with log branch -1."""

    partition: str
    caught_up: bool
    """Whether the read reaches the end of the leader's log."""
    log_start: int
    log_branch: int = -1
    log_offset: int = -1
    end_offset: int = -1


def final_read_of(cluster_state: ClusterState, key: str) -> list[FinalReadRange]:
    """Return all ranges that the final read of a partition returns, ascending, adjacent ones merged."""
    leader = cluster_state.committed_leader(key)
    if leader is None or not cluster_state.is_up(leader.broker):
        return [FinalReadRange(key, caught_up=False, log_start=0)]
    caught_up, start = leader.hw == leader.log.leo, leader.log.log_start
    parts: list[FinalReadRange] = []
    for _key, log_branch, low, high in served(leader):
        touches = parts and (parts[-1].log_branch, parts[-1].end_offset) == (log_branch, low)
        first = parts.pop().log_offset if touches else low
        parts.append(FinalReadRange(key, caught_up, start, log_branch, first, high))
    return parts or [FinalReadRange(key, caught_up, start)]


def read_all(cluster_state: ClusterState, anomalies: HistoryChecker, now: int) -> None:
    """Do the final read of every partition that clients have used."""
    for key in tuple(anomalies.facts.keys):
        facts = anomalies.facts.key(key)
        leader = cluster_state.committed_leader(key) if key in cluster_state.records else None
        facts.had_leader = leader is not None and cluster_state.is_up(leader.broker)
        facts.caught_up = facts.had_leader and leader is not None and leader.hw == leader.log.leo
        if leader is None or not cluster_state.is_up(leader.broker):
            continue
        facts.start = leader.log.log_start
        for read in served(leader):
            facts.observe(*read[1:])
            facts.returned(*read[1:])


def served(leader: Replica) -> Iterator[ReadOperation]:
    """Yield the ranges that a leader returns to the final read, split at log branches and holes."""
    log, key = leader.log, leader.partition
    transactional = log.epoch_branches.any_transactional(log.extents)
    damaged = [(each.start, each.end) for each in leader.damages]
    if not transactional:
        for index, (first, log_branch) in enumerate(log.extents):
            end = log.extents[index + 1][0] if index + 1 < len(log.extents) else log.leo
            low, high = max(first, log.log_start), min(end, leader.hw)
            if low < high:
                yield from (ReadOperation(key, log_branch, *part) for part in subtract([(low, high)], damaged))
        return
    for epoch_branch, batch, start, end in log.batches_between(log.log_start, leader.hw):
        if batch.kind >= ABORT or (batch.kind == TRANSACTIONAL and log.transactions.is_aborted(batch)):
            continue
        yield from (ReadOperation(key, epoch_branch.id, *part) for part in subtract([(start, end)], damaged))


# The checker of client-visible anomalies: builds the history from the trace and reports the result.


NO_CLIENTS: Final = ClientSettings()


class AnomalyReport(NamedTuple):
    """An observed anomaly with all clients and partitions for which the same reason allows it, or none does."""

    name: str
    found: int
    """Number of observations; the anomaly's rule says of what."""
    legal: bool
    reason: str
    """Why it is allowed, in one phrase; empty if it is not."""
    where: tuple[tuple[str, str], ...]
    """(client, partition) of each case, either empty if it names none."""
    examples: tuple[Example, ...]


class AnomalyChecker:
    """Checker of client-visible anomalies of one cluster."""

    __slots__ = ("_cluster_state", "allowed_anomalies", "history")

    def __init__(
        self,
        cluster_state: ClusterState,
        clients: ClientSettings,
        allowed_losses: AllowedLosses,
        acked_aborted: Callable[[str | None], int],
    ) -> None:
        """``allowed_losses`` and ``acked_aborted`` decide only whether an observed anomaly is allowed."""
        self._cluster_state = cluster_state
        anomalies = HistoryChecker(self._payload, self.empty, self._begin)
        self.history = HistoryBuilder(
            anomalies, lambda client, group: clients.readers.get(client) or clients.groups.get(group, ASSIGN),
            clients.copiers,
            lambda key: len(cluster_state.epoch_branches[key].by_id) if key in cluster_state.epoch_branches else 0,
        )  # fmt: skip
        self.allowed_anomalies = AllowedAnomalies(
            cluster_state, clients, anomalies.facts, allowed_losses, acked_aborted
        )

    def _payload(self, key: str, log_branch: int, start: int, end: int) -> list[Run]:
        """Return the values of records that were read or acknowledged; others are never looked up."""
        return self._cluster_state.epoch_branches[key].by_id[log_branch].runs(start, end)

    def empty(self, key: str, log_branch: int, start: int, end: int) -> bool:
        """Return whether ``[start, end)`` of a log branch holds only markers."""
        return self._cluster_state.epoch_branches[key].by_id[log_branch].markers_only(start, end)

    def _begin(self, key: str, log_branch: int) -> int:
        """Return the start offset of a log branch, as any log's epoch cache has it."""
        return self._cluster_state.epoch_branches[key].by_id[log_branch].start

    def observe(self, event: TraceEvent) -> None:
        """Handle a rare event."""
        self.history.observe(event)
        self.allowed_anomalies.observe(event)

    def close(self, now: int) -> None:
        """End the session: do the final read and decide all anomalies."""
        read_all(self._cluster_state, self.history.anomalies, now)
        self.history.anomalies.close(now)

    def report(self, now: int) -> tuple[AnomalyReport, ...]:
        """Return the anomalies, those not allowed first; before the end only those independent of later reads."""
        merged: dict[tuple[str, str], list[AnomalyCase]] = {}
        for case in self.history.anomalies.cases(now):
            merged.setdefault((case.name, KINDS[case.name].excuse(case, self.allowed_anomalies)), []).append(case)
        seen = [
            AnomalyReport(
                name, sum(case.found for case in cases), bool(why), why,
                tuple(dict.fromkeys((case.client, case.key) for case in cases)),
                tuple([example for case in cases for example in case.examples])[:EXAMPLES],
            )
            for (name, why), cases in merged.items()
        ]  # fmt: skip
        order = list(KINDS)
        return tuple(sorted(seen, key=lambda each: (each.legal, order.index(each.name))))

    def count(self, now: int, name: str = "") -> int:
        """Return the number of observations of an anomaly, allowed or not; without a name of all not allowed."""
        cases = self.history.anomalies.cases(now)
        if name:
            return sum(case.found for case in cases if case.name == name)
        return sum(case.found for case in cases if not KINDS[case.name].excuse(case, self.allowed_anomalies))

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (self.history.save(), self.allowed_anomalies.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        listening, in_force = saved
        self.history.load(listening)
        self.allowed_anomalies.load(in_force)
