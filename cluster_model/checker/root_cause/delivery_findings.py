"""Findings about delivery: skipped, duplicated or reordered records, and transactions with a wrong outcome."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from cluster_model.checker.history.fault_history import FaultRecord, about, fault_text
from cluster_model.checker.history.partition_history import ClusterHistory
from cluster_model.checker.ledger.consumption import DeliveredRecords, OffsetResetJump, ReaderEvents, UnprocessedRecords
from cluster_model.checker.ledger.delivery_tracker import TransactionOutcomes
from cluster_model.checker.ledger.duplicates import (
    DuplicateTracker,
    FailedAttempt,
    ProduceAttempts,
    exceeded_remembered_batches,
)
from cluster_model.checker.root_cause import findings
from cluster_model.checker.root_cause.finding_text import RECORDS_PLACEHOLDER, SESSION_END_KIND, RangeExplanation, at
from cluster_model.checker.root_cause.findings import (
    ABANDONED,
    ABORTED_COMMITTED,
    ACKED_ABORTED,
    DUPLICATE,
    HANGING,
    LATE_MARKER,
    REORDERED,
    SKIPPED,
    UNEXPLAINED,
    ChainEvent,
    RecordBlock,
)
from cluster_model.log.batch_store import EpochBranch
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import (
    Appended,
    ConsumerReset,
    NodeDown,
    OffsetsCommitted,
    PartitionCreated,
    ProduceRefused,
    RecordsAbandoned,
)
from cluster_model.protocol.records import Batch
from cluster_model.util.quantities import offsets, thousands
from cluster_model.util.ranges import Range

REJECTED_BY_SEQUENCE: Final = (findings.FORGOTTEN_STATE, findings.TOO_MANY_IN_FLIGHT)
"""Causes of duplicates with idempotence: batches are rejected by sequence number before they are sent as new."""


class RepeatFindings:
    """Explanations of duplicated and reordered records (:class:`DuplicateTracker`) from produce attempts."""

    def __init__(
        self, cluster_state: ClusterState, history: ClusterHistory, repeats: DuplicateTracker, attempts: ProduceAttempts
    ) -> None:
        self._cluster_state = cluster_state
        self._history = history
        self._repeats = repeats
        self._attempts = attempts

    def explanations(self) -> Iterator[RangeExplanation]:
        """Yield the explanations of all ranges, split where the evidence changes."""
        for client, partition, sequence, first, again, count in self._repeats.copies():
            for low, high in self._parts(client, partition, sequence, count):
                by = low - sequence
                yield self._duplicate(
                    client, partition, low, high - low, (first[0], first[1] + by), (again[0], again[1] + by)
                )
        for client, partition, sequence, where, count in self._repeats.late():
            for low, high in self._parts(client, partition, sequence, count):
                yield self._reordered(client, partition, low, high - low, (where[0], where[1] + low - sequence))

    def _parts(self, client: str, partition: str, sequence: int, count: int) -> Iterator[tuple[int, int]]:
        bounds = {sequence, sequence + count, *self._attempts.bounds(client, partition)}
        yield from pairwise(sorted(bound for bound in bounds if sequence <= bound <= sequence + count))

    def _epoch_branch(self, partition: str, log_branch: int) -> EpochBranch:
        return self._cluster_state.epoch_branches[partition].by_id[log_branch]

    def _block(self, client: str, partition: str, sequence: int, count: int, where: tuple[int, int]) -> RecordBlock:
        epoch_branch = self._epoch_branch(partition, where[0])
        batch = epoch_branch.batch_at(where[1])
        return RecordBlock(
            partition, client, sequence, count, where[1], epoch_branch.epoch, batch.acks, committed=False
        )

    def _duplicate(
        self, client: str, partition: str, sequence: int, count: int, first: tuple[int, int], again: tuple[int, int]
    ) -> RangeExplanation:
        one, other = self._epoch_branch(partition, first[0]), self._epoch_branch(partition, again[0])
        first_us, again_us = one.appended_at(first[1]), other.appended_at(again[1])
        append = self._attempts.of(client, partition, sequence, again_us)
        refusal = None if append is None else append.refused_between(first_us, again_us)
        before, after = one.batch_at(first[1]), other.batch_at(again[1])
        name = client or "an unknown client"
        restart = self._restart_event(client, first_us, again_us)
        if before.producer_id < 0 or after.producer_id < 0:
            plain = findings.PRODUCER_RESTART if restart else findings.UNEXPLAINED
            cause = findings.NO_IDEMPOTENCE if refusal is not None else plain
        elif (before.producer_id, before.producer_epoch) == (after.producer_id, after.producer_epoch):
            cause = findings.FORGOTTEN_STATE
        else:
            cause = findings.PRODUCER_RESTART if restart else self._rejection_cause(partition, before, after, again[1])
        last = None if append is None or cause not in REJECTED_BY_SEQUENCE else append.last_refusal(again_us)
        later_failure = (
            [] if last is None or refusal is None or last.error == refusal.error else [self._failure_event(name, last)]
        )
        links = [
            self._append_event(one, partition, first[1], count, "wrote"),
            *self._failure_events(name, refusal),
            *later_failure,
            self._append_event(other, partition, again[1], count, "wrote", "again"),
        ]
        if restart is not None:
            links.insert(1, restart)
        links.sort(key=lambda link: link.at_us)
        clauses = (
            f"broker {one.broker} had already written {RECORDS_PLACEHOLDER}",
            *self._failure_clauses(name, refusal, restart),
            *map(_with_time, later_failure),
            (
                f"{name} sent {RECORDS_PLACEHOLDER} again, and broker {other.broker}{_deduplication_clause(cause)} "
                f"wrote {RECORDS_PLACEHOLDER} again"
            ),
        )
        block = self._block(client, partition, sequence, count, again)
        return RangeExplanation(DUPLICATE, cause, _grouping_key(refusal, restart), block, None, clauses, tuple(links))

    def _rejection_cause(self, partition: str, before: Batch, after: Batch, offset: int) -> str:
        """Return why a producer wrote records again with another producer epoch."""
        leader = self._cluster_state.committed_leader(partition)
        if leader is None or before.producer_id != after.producer_id:
            return findings.FORGOTTEN_STATE
        many = exceeded_remembered_batches(leader.log, before.producer_epoch, after, offset)
        return findings.TOO_MANY_IN_FLIGHT if many else findings.FORGOTTEN_STATE

    def _reordered(
        self, client: str, partition: str, sequence: int, count: int, where: tuple[int, int]
    ) -> RangeExplanation:
        epoch_branch = self._epoch_branch(partition, where[0])
        append = self._attempts.of(client, partition, sequence, epoch_branch.appended_at(where[1]))
        refusal = None if append is None else append.last_refusal(epoch_branch.appended_at(where[1]))
        cause = findings.RETRY_IN_FLIGHT if refusal is not None else findings.UNEXPLAINED
        name = client or "an unknown client"
        links = [
            *self._failure_events(name, refusal),
            self._append_event(epoch_branch, partition, where[1], count, "appended", "after later ones"),
        ]
        links.sort(key=lambda link: link.at_us)
        clauses = (
            *self._failure_clauses(name, refusal, None),
            (
                f"later records were written meanwhile, and broker {epoch_branch.broker} appended "
                f"{RECORDS_PLACEHOLDER} after those"
            ),
        )
        block = self._block(client, partition, sequence, count, where)
        return RangeExplanation(REORDERED, cause, _grouping_key(refusal, None), block, None, clauses, tuple(links))

    def _append_event(
        self, epoch_branch: EpochBranch, partition: str, offset: int, count: int, verb: str, suffix: str = ""
    ) -> ChainEvent:
        text = (
            f"broker {epoch_branch.broker}, leader in epoch {epoch_branch.epoch}, {verb} "
            f"{RECORDS_PLACEHOLDER}{' ' * bool(suffix)}{suffix}"
        )
        text += f" at {offsets(offset, offset + count)} of {partition}"
        return ChainEvent(epoch_branch.appended_at(offset), Appended.kind, partition, epoch_branch.broker, text)

    def _failure_events(self, name: str, refusal: FailedAttempt | None) -> list[ChainEvent]:
        links: list[ChainEvent] = []
        if refusal is None:
            return links
        fault = refusal.fault_record
        if fault is not None:
            broker = -1 if name in fault.node.split(", ") else refusal.broker
            links.append(ChainEvent(fault.at_us, fault.event_kind, "", broker, self._fault_text(refusal, fault, name)))
        links.append(self._failure_event(name, refusal))
        return links

    @staticmethod
    def _failure_event(name: str, refusal: FailedAttempt) -> ChainEvent:
        text = f"a request of {name} to broker {refusal.broker} failed with {refusal.error}"
        return ChainEvent(refusal.at_us, ProduceRefused.kind, "", -1, text)

    def _fault_text(self, refusal: FailedAttempt, fault: FaultRecord, name: str) -> str:
        node = name if name in fault.node.split(", ") else f"broker {refusal.broker}"
        return fault_text(fault, node, self._history.fault_records.step_of(fault.moment, fault.at_us))

    def _failure_clauses(self, name: str, refusal: FailedAttempt | None, restart: ChainEvent | None) -> list[str]:
        found = [] if restart is None else [restart.text]
        if refusal is not None:
            found += [self._fault_text(refusal, refusal.fault_record, name)] if refusal.fault_record is not None else []
            found.append(_with_time(self._failure_event(name, refusal)))
        return found

    def _restart_event(self, client: str, since_us: int, until_us: int) -> ChainEvent | None:
        """Return the event by which the producer's process ended between two writes, else None."""
        for fault in about(self._history.fault_records.records(), client, since_us):
            if fault.event_kind == NodeDown.kind and since_us <= fault.at_us <= until_us:
                step = self._history.fault_records.step_of(fault.moment, fault.at_us)
                return ChainEvent(fault.at_us, fault.event_kind, "", -1, fault_text(fault, client, step))
        return None


def _with_time(link: ChainEvent) -> str:
    return f"{link.text}{at(link.at_us)}"


def _deduplication_clause(cause: str) -> str:
    if cause == findings.TOO_MANY_IN_FLIGHT:
        return ", which remembers only a producer's last five batches,"
    return ", which could not recognise the retry (no sequence numbers)," if cause == findings.NO_IDEMPOTENCE else ""


def _grouping_key(refusal: FailedAttempt | None, restart: ChainEvent | None) -> tuple[object, ...]:
    if restart is not None:
        return ("restart", restart.at_us)
    if refusal is None:
        return ("unknown",)
    return refusal.fault_record.key if refusal.fault_record is not None else ("refused", refusal.error)


# Explanations of records that a consumer group skipped or never processed.


class ReaderFindings:
    """Explanations of skipped and abandoned records, from the offset resets and commits of the groups."""

    def __init__(
        self, cluster_state: ClusterState, history: ClusterHistory, readings: DeliveredRecords, events: ReaderEvents
    ) -> None:
        self._cluster_state = cluster_state
        self._history = history
        self._readings = readings
        self._events = events

    def explanations(self, now_us: int) -> Iterator[RangeExplanation]:
        """Yield the explanations of all skipped and abandoned ranges."""
        for group, partition, jump, missed in self._events.jumps():
            for low, high in missed:
                deleted = min(high, jump.log_start)
                if low < deleted:
                    yield self._jumped(group, partition, jump, (low, deleted), findings.RETENTION_OVERTOOK)
                if deleted < high:
                    cause = findings.RESET_LATEST if jump.created_us < 0 else findings.PARTITIONS_ADDED
                    cause = cause if jump.expired is None else findings.OFFSETS_EXPIRED
                    yield self._jumped(group, partition, jump, (max(low, deleted), high), cause)
        for group, partition, log_branch, part in self._events.overwritten():
            yield self._overwritten(group, partition, log_branch, part)
        for group, partition, left in self._events.abandoned():
            for low, high in self._readings.abandoned_in(group, partition):
                start, end = max(low, left.start), min(high, left.end)
                if start < end and left.committed > start:
                    yield self._abandoned(group, partition, left, (start, min(end, left.committed)))
        del now_us

    def _block(self, group: str, partition: str, offsets: Range) -> RecordBlock:
        return RecordBlock(partition, group, -1, offsets[1] - offsets[0], offsets[0], -1, 0, committed=True)

    def _jumped(
        self, group: str, partition: str, jump: OffsetResetJump, offsets: Range, cause: str
    ) -> RangeExplanation:
        moved = f"auto.offset.reset moved {jump.client} to offset {jump.end} of {partition}"
        links = [ChainEvent(jump.at_us, ConsumerReset.kind, partition, -1, f"{moved}, past {RECORDS_PLACEHOLDER}")]
        if cause == findings.RETENTION_OVERTOOK:
            why = f"retention had deleted everything below offset {jump.log_start} of {partition}"
            links.insert(0, ChainEvent(jump.at_us, "log_start_moved", partition, -1, why))
            clauses = [f"group {group} had read up to offset {jump.start}", why, moved]
        elif cause == findings.PARTITIONS_ADDED:
            why = f"{partition} was created{at(jump.created_us)}"
            links.insert(
                0, ChainEvent(jump.created_us, PartitionCreated.kind, partition, -1, f"{partition} was created")
            )
            clauses = [why, f"group {group} discovered it{at(jump.at_us)}", moved]
        elif jump.expired is not None:
            expiration = jump.expired
            age = f"{expiration.latency_us // 1_000_000} s after it had been committed"
            offset = f"the committed offset {expiration.log_offset} of {partition}"
            why = f"{offset} expired{at(expiration.at_us)}, {age} ({expiration.detail})"
            links.insert(0, ChainEvent(expiration.at_us, expiration.kind, partition, expiration.broker, why))
            clauses = [why, moved]
        elif jump.uncommitted:
            clauses = [f"group {group} had read up to offset {jump.start}, and had no committed offset", moved]
        else:
            why = f"the position of group {group}, offset {jump.start}, was out of range"
            clauses = [why, moved]
        all_clauses = (*clauses, f"no member of the group has received {RECORDS_PLACEHOLDER}")
        key = (cause, jump.at_us // 60_000_000)
        return RangeExplanation(
            SKIPPED, cause, key, self._block(group, partition, offsets), None, all_clauses, tuple(links), group
        )

    def _overwritten(self, group: str, partition: str, log_branch: int, offsets: Range) -> RangeExplanation:
        epoch_branch = self._cluster_state.epoch_branches[partition].by_id[log_branch]
        where = f"wrote {RECORDS_PLACEHOLDER} at offsets that had held other records"
        text = f"broker {epoch_branch.broker}, leader in epoch {epoch_branch.epoch}, {where}"
        written = epoch_branch.appended_at(offsets[0])
        links = [ChainEvent(written, Appended.kind, partition, epoch_branch.broker, text)]
        for cut in self._history.truncations_at(partition, offsets, written):
            text = f"broker {cut.event.broker} truncated its log to offset {cut.event.log_offset} ({cut.event.rule})"
            links.append(ChainEvent(cut.event.at_us, cut.event.kind, partition, cut.event.broker, text))
        links.sort(key=lambda link: link.at_us)
        clauses = (
            f"group {group} had read other records at these offsets",
            text,
            f"the group continued after {RECORDS_PLACEHOLDER}",
        )
        key = ("log_branch", log_branch)
        block = self._block(group, partition, offsets)
        return RangeExplanation(SKIPPED, findings.TRUNCATION_SKIP, key, block, None, clauses, tuple(links), group)

    def _abandoned(self, group: str, partition: str, left: UnprocessedRecords, offsets: Range) -> RangeExplanation:
        when = f"{at(left.committed_us)} ({left.commit_kind})"
        committed = f"offset {thousands(left.committed)} of {partition} had been committed{when}"
        unprocessed = f"{left.client} left {RECORDS_PLACEHOLDER} unprocessed ({left.by})"
        links = [
            ChainEvent(
                left.committed_us, OffsetsCommitted.kind, partition, -1, f"{committed}, after {RECORDS_PLACEHOLDER}"
            ),
            ChainEvent(left.at_us, RecordsAbandoned.kind, partition, -1, unprocessed),
        ]
        happened = ""
        if left.fault_record is not None:
            step = self._history.fault_records.step_of(left.fault_record.moment, left.fault_record.at_us)
            happened = fault_text(left.fault_record, left.client, step)
            links.insert(1, ChainEvent(left.fault_record.at_us, left.fault_record.event_kind, "", -1, happened))
        links.sort(key=lambda link: link.at_us)
        clauses = [
            f"group {group} had fetched {RECORDS_PLACEHOLDER} but not processed {RECORDS_PLACEHOLDER}",
            committed,
            happened,
            f"{unprocessed}, and no consumer has received {RECORDS_PLACEHOLDER} since",
        ]
        key = left.fault_record.key if left.fault_record is not None else ("left", left.at_us)
        block = self._block(group, partition, offsets)
        all_clauses = tuple(each for each in clauses if each)
        return RangeExplanation(ABANDONED, findings.COMMIT_FIRST, key, block, None, all_clauses, tuple(links), group)


# Explanations of transactions whose outcome in the log differs from the one acknowledged to their producer.


BEFORE_US = 60_000_000
"""How long before the write, in microseconds, a fault that delayed a transaction's end may have ended: the default
transaction timeout."""


class TransactionFindings:
    """Explanations of transactions with a wrong outcome, from the faults of their producers."""

    def __init__(
        self,
        cluster_state: ClusterState,
        history: ClusterHistory,
        transacted: TransactionOutcomes,
        attempts: ProduceAttempts,
    ) -> None:
        self._cluster_state = cluster_state
        self._history = history
        self._transacted = transacted
        self._attempts = attempts

    def explanations(self, now_us: int) -> Iterator[RangeExplanation]:
        """Yield the explanations of all ranges with a wrong outcome."""
        for partition, log_branch, batch, start, end, committed in self._transacted.contradicted():
            epoch_branch = self._cluster_state.epoch_branches[partition].by_id[log_branch]
            yield self._explain(partition, epoch_branch, batch, start, end, now_us, committed=committed)

    def _explain(
        self,
        partition: str,
        epoch_branch: EpochBranch,
        batch: Batch,
        start: int,
        end: int,
        now_us: int,
        *,
        committed: bool,
    ) -> RangeExplanation:
        sequence = batch.sequence + start - batch.base
        written = epoch_branch.appended_at(start)
        name = batch.client
        acknowledged, logged = ("aborted", "committed") if committed else ("committed", "aborted")
        cause = LATE_MARKER if self._attempts.of(name, partition, sequence, written) is None else HANGING
        if self._cluster_state.profile.transactions_v2:
            cause = UNEXPLAINED
        fault = self._fault_of_producer(name, written)
        text = (
            f"broker {epoch_branch.broker} wrote {RECORDS_PLACEHOLDER} at {offsets(start, end)} of {partition} "
            f"in a transaction of {name}"
        )
        links = [ChainEvent(written, Appended.kind, partition, epoch_branch.broker, text)]
        happened = ""
        if fault is not None:
            happened = fault_text(fault, name, self._history.fault_records.step_of(fault.moment, fault.at_us))
            links.append(ChainEvent(fault.at_us, fault.event_kind, "", -1, happened))
        links.sort(key=lambda link: link.at_us)
        end_words = f"the transaction of {name} was acknowledged as {acknowledged}, but is {logged} in the leader's log"
        links.append(ChainEvent(now_us, SESSION_END_KIND, partition, -1, end_words))
        late = "a delayed request to end an earlier transaction ended this one instead"
        late = late if cause == LATE_MARKER else ""
        clauses = [happened, late, end_words]
        block = RecordBlock(
            partition, name, sequence, end - start, start, epoch_branch.epoch, batch.acks, committed=committed
        )
        key = fault.key if fault is not None else ("producer", name)
        kind = ABORTED_COMMITTED if committed else ACKED_ABORTED
        return RangeExplanation(kind, cause, key, block, None, tuple(each for each in clauses if each), tuple(links))

    def _fault_of_producer(self, name: str, written_us: int) -> FaultRecord | None:
        recorded = about(self._history.fault_records.records(), name, written_us - BEFORE_US)
        before = [fault for fault in recorded if fault.at_us <= written_us]
        return before[-1] if before else None
