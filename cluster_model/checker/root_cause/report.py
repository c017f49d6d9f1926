"""All findings of a cluster, computed on request.

The number of findings is cached until an event may change it, because conditions query it after every event.
"""

from collections.abc import Callable, Iterable
from typing import Any

from cluster_model.checker.history.partition_history import ClusterHistory
from cluster_model.checker.ledger.consumption import DeliveredRecords, ReaderEvents
from cluster_model.checker.ledger.delivery_tracker import TransactionOutcomes
from cluster_model.checker.ledger.duplicates import ProduceAttempts
from cluster_model.checker.ledger.ledger import Ledger
from cluster_model.checker.root_cause.delivery_findings import ReaderFindings, RepeatFindings, TransactionFindings
from cluster_model.checker.root_cause.finding_text import RangeExplanation, group_findings
from cluster_model.checker.root_cause.findings import LOST, Finding, RecordBlock
from cluster_model.checker.root_cause.loss_chain import LostFindings
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import RecordsLost
from cluster_model.util.ranges import length, union


class FindingCollector:
    """Findings of one cluster: those decided already, and the sources to compute the others."""

    __slots__ = (
        "_counted", "_decided", "_history", "_ledger", "_lost", "_read", "_readings", "_repeated", "_transacted",
        "_transactions", "attempts", "readers",
    )  # fmt: skip

    def __init__(
        self,
        cluster_state: ClusterState,
        history: ClusterHistory,
        ledger: Ledger,
        readings: DeliveredRecords,
        transacted: TransactionOutcomes,
    ) -> None:
        self._history, self._ledger, self._transactions = history, ledger, transacted
        self._lost = LostFindings(cluster_state, history, ledger)
        self.attempts = ProduceAttempts(history.fault_records)
        ledger.repeats.written_again = self.attempts.written_again
        self._repeated = RepeatFindings(cluster_state, history, ledger.repeats, self.attempts)
        self._transacted = TransactionFindings(cluster_state, history, transacted, self.attempts)
        self.readers = ReaderEvents(cluster_state, history.fault_records)
        self._readings = readings
        self._read = ReaderFindings(cluster_state, history, readings, self.readers)
        self._decided: tuple[RangeExplanation, ...] = ()
        """Losses that cannot be explained later: of deleted partitions, and of acks=0."""
        self._counted: dict[str, tuple[tuple[object, ...], tuple[str, ...]]] = {}
        """Group of findings → (the state they were computed from, the cause of each)."""

    def explain_lost(self, event: RecordsLost) -> None:
        """Explain lost records that the ledger of no partition will contain later (acks=0)."""
        if event.log_offset < 0:
            self._decided = (*self._decided, self._lost.explain_unplaced(event))

    def explain_lost_with_topic(self, event: RecordsLost) -> None:
        """Explain lost records of a partition that is being deleted."""
        block = RecordBlock(
            event.partition, event.client, event.sequence, event.count, event.log_offset, event.leader_epoch,
            event.acks, event.committed,
        )  # fmt: skip
        self._decided = (*self._decided, *self._lost.explain_block(LOST, block, event.at_us))

    def deleted(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self.attempts.forget(partition)
        self.readers.forget(partition)

    def findings(self, now_us: int) -> tuple[Finding, ...]:
        """Return all findings as of ``now_us``, the gravest kinds first."""
        explanations = [
            *self._decided,
            *self._lost.explanations(now_us),
            *self._repeated.explanations(),
            *self._read.explanations(now_us),
        ]
        explanations += self._transacted.explanations(now_us)
        return group_findings(explanations)

    def count(self, now_us: int, cause: str | None = None) -> int:
        """Return the number of findings, of one cause or of all."""
        ledger, read, tried = self._ledger, self._read, self._repeated
        return sum(
            cause in (None, each)
            for causes in (
                self._causes("lost", (len(self._decided), self._lost.input_state()),
                             lambda: [*self._decided, *self._lost.explanations(now_us)]),
                self._causes("repeated", (ledger.repeats.changes,), tried.explanations),
                self._causes("read", (self.readers.changes,), lambda: read.explanations(now_us)),
                self._causes("transacted", (self._transactions.changes,), lambda:
                self._transacted.explanations(now_us)),
            )
            for each in causes
        )  # fmt: skip

    def skipped_records(self, group: str) -> int:
        """Return how many records a group skipped: gaps between delivered records, and offset resets.

        Records that replaced others at offsets the group had already read are included.
        """
        deleted, ranges = self._readings.gaps(group)
        for name, partition, _jump, missed in self.readers.jumps():
            if name == group:
                ranges[partition] = [*ranges.get(partition, ()), *missed]
        overwritten = length(part for *_where, part in self.readers.overwritten(group))
        return deleted + overwritten + sum(length(union(each)) for each in ranges.values())

    def _causes(
        self, sort: str, state: tuple[object, ...], explanations: Callable[[], Iterable[RangeExplanation]]
    ) -> tuple[str, ...]:
        """Return the cause of each finding of one group; no kind belongs to two groups."""
        state = (self._history.moment, *state)
        counted = self._counted.get(sort)
        if counted is None or counted[0] != state:
            counted = self._counted[sort] = (
                state,
                tuple(finding.cause for finding in group_findings(list(explanations()))),
            )
        return counted[1]

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (self._decided, self.attempts.save(), self.readers.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._decided, attempts, readers = saved
        self._counted = {}
        self.readers.load(readers)
        self.attempts.load(attempts)
