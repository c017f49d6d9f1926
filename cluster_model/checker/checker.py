"""The checker: receives every event in order and keeps ledger, history and invariants up to date."""

from collections.abc import Callable
from typing import Any

from cluster_model.checker.anomalies.definitions import ClientSettings
from cluster_model.checker.anomalies.history_checker import NO_CLIENTS, AnomalyChecker
from cluster_model.checker.history.partition_history import ClusterHistory
from cluster_model.checker.invariants.base import Registrations
from cluster_model.checker.invariants.invariant_checker import InvariantChecker
from cluster_model.checker.ledger.consumption import DeliveredRecords
from cluster_model.checker.ledger.delivery_tracker import TransactionOutcomes
from cluster_model.checker.ledger.ledger import Ledger
from cluster_model.checker.liveness.liveness_checker import LivenessChecker
from cluster_model.checker.root_cause.report import FindingCollector
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import (
    Appended,
    BatchCorrupted,
    BecameLeader,
    Event,
    HwAdvanced,
    LeaderElected,
    LogStartMoved,
    OffsetsCommitted,
    PartitionCreated,
    PartitionDeleted,
    PartitionOffline,
    ProduceRefused,
    ProduceRetried,
    RecordsAbandoned,
    RecordsAborted,
    RecordsAcked,
    RecordsFailed,
    RecordsLost,
    RecordsRead,
    RecordsSent,
    RecordsUnknown,
    ReplicaDeleted,
    TraceEvent,
    Truncated,
)


class Checker:
    """All checks of one cluster: invariants, liveness, anomalies, ledger and findings. ``emit`` adds events."""

    __slots__ = (
        "_has_clients", "anomalies", "deleting", "findings", "history", "invariants", "ledger", "liveness", "readings",
        "transacted", "waits",
    )  # fmt: skip

    def __init__(
        self,
        cluster_state: ClusterState,
        emit: Callable[[Event], None],
        plane: Registrations | None = None,
        clients: ClientSettings | None = None,
    ) -> None:
        """``plane`` gives the committed broker registrations; None without a control plane.

        Without ``clients``, as with manual steps, no anomalies are checked.
        """
        self._has_clients = clients is not None
        self.history = ClusterHistory(cluster_state)
        self.ledger = Ledger(cluster_state, self.history, emit)
        self.history.acked_in = self.ledger.acked_in
        self.deleting = False
        """Whether reported losses belong to a partition that is being deleted."""
        self.transacted = TransactionOutcomes(cluster_state, self.ledger.acked_in)
        self.invariants = InvariantChecker(cluster_state, emit, plane)
        allowed_losses, acked_aborted = self.invariants.allowed_losses, self.transacted.acked_aborted
        self.anomalies = AnomalyChecker(cluster_state, clients or NO_CLIENTS, allowed_losses, acked_aborted)
        self.readings = DeliveredRecords(self.anomalies.empty)
        self.findings = FindingCollector(cluster_state, self.history, self.ledger, self.readings, self.transacted)
        self.liveness: LivenessChecker | None = None
        """The liveness checker; None where virtual time does not pass."""

    def handlers(self) -> dict[type[TraceEvent], Callable[[Any], None]]:
        """Return the handlers of frequent event types; :meth:`observe` handles all others."""
        handlers: dict[type[TraceEvent], Callable[[Any], None]] = {
            RecordsSent: self._sent,
            Appended: self._appended,
            HwAdvanced: self._hw_advanced,
            RecordsAcked: self._acked,
            RecordsAborted: self._aborted,
            RecordsRead: self._read,
            RecordsAbandoned: self._abandoned,
            ProduceRefused: self._refused,
            OffsetsCommitted: self._offsets_committed,
            ProduceRetried: _ignored,
        }
        return handlers

    def _sent(self, event: RecordsSent) -> None:
        self.ledger.deliveries.sent(event.client, event.partition, event.sequence, event.count)
        liveness = self.liveness
        if liveness is not None and event.at_us >= liveness.next_us:
            liveness.check(event.at_us)
        if self._has_clients:
            self.anomalies.history.sent(event)

    def _refused(self, event: ProduceRefused) -> None:
        self.findings.attempts.refused(event)
        self._check_liveness(event.at_us)

    def _offsets_committed(self, event: OffsetsCommitted) -> None:
        self.findings.readers.committed(event)
        self._check_liveness(event.at_us)
        if self._has_clients:
            self.anomalies.history.committed(event)

    def _check_liveness(self, now: int) -> None:
        """Check liveness if an obligation may be overdue at ``now``."""
        liveness = self.liveness
        if liveness is not None and now >= liveness.next_us:
            liveness.check(now)

    def _aborted(self, event: RecordsAborted) -> None:
        self.ledger.aborted(event)
        self.transacted.aborted(event)
        self.transacted.changes += 1
        if self._has_clients:
            self.anomalies.history.aborted(event)

    def _acked(self, event: RecordsAcked) -> None:
        self.ledger.acked(event)
        self.transacted.changes += 1
        if event.acks < 0:
            self.invariants.min_isr.acked(event)
        if self._has_clients:
            self.anomalies.history.acked(event)

    def _read(self, event: RecordsRead) -> None:
        self.readings.records_read(event)
        self.findings.readers.read(event)
        self.invariants.read(event)
        if self._has_clients:
            self.anomalies.history.read(event)

    def _abandoned(self, event: RecordsAbandoned) -> None:
        self.readings.records_abandoned(event)
        self.findings.readers.records_abandoned(event)
        if self._has_clients:
            self.anomalies.history.abandoned(event)

    def _appended(self, event: Appended) -> None:
        if event.acks == 0:
            self.ledger.on_unacknowledged_append(event)
        elif event.acks > 0:
            self.ledger.appended(event)
        self.ledger.repeats.appended(event)
        self.transacted.changes += 1
        self.invariants.appended(event)

    def _hw_advanced(self, event: HwAdvanced) -> None:
        self.ledger.exposed.hw_advanced(event)
        self.invariants.hw_advanced(event)
        if self.liveness is not None:
            self.liveness.hw_advanced(event)

    def observe(self, event: TraceEvent) -> None:
        """Handle a rare event, after the cluster state has changed."""
        if isinstance(event, PartitionCreated):
            self.ledger.created(event.partition)
        elif isinstance(event, PartitionDeleted):
            self.deleting = True
            self.ledger.deleted(event)
            self.deleting = False
            self.findings.deleted(event.partition)
            self.transacted.deleted(event)
            self.readings.deleted(event.partition)
        if self._has_clients:
            self.anomalies.observe(event)
        self.history.observe(event)
        if isinstance(event, RecordsLost):
            self._explain_loss(event)
        outer, self.history.trigger = self.history.trigger, event
        self._dispatch(event)
        self.findings.readers.observe(event)
        self.history.trigger = outer

    def _explain_loss(self, event: RecordsLost) -> None:
        if self.deleting:
            self.findings.explain_lost_with_topic(event)
        else:
            self.findings.explain_lost(event)

    def _dispatch(self, event: TraceEvent) -> None:
        self.invariants.observe(event)
        if isinstance(event, RecordsFailed):
            self.ledger.failed(event)
        elif isinstance(event, RecordsUnknown):
            self.ledger.unknown(event)
        elif isinstance(event, Truncated | ReplicaDeleted):
            self.ledger.exposed.changed(event)
            self.ledger.log_lost(event)
        elif isinstance(event, LeaderElected | PartitionOffline | BecameLeader | BatchCorrupted):
            if isinstance(event, BecameLeader):
                self.ledger.exposed.became_leader(event)
            elif isinstance(event, BatchCorrupted):
                self.ledger.log_lost(event)
            self.ledger.leader_changed(event.partition, event)
        elif isinstance(event, LogStartMoved):
            self.ledger.log_start_moved(event)
        if self.liveness is not None:
            self.liveness.observe(event)

    def close(self, now: int) -> None:
        """End the session: make the ledger final and report overdue liveness properties."""
        self.invariants.close()
        self.ledger.close(now)
        if self.liveness is not None:
            self.liveness.close(now)
        if self._has_clients:
            self.anomalies.close(now)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (
            self.history.save(), self.ledger.save(), self.invariants.save(), self.readings.save(),
            self.transacted.save(), self.findings.save(), self.anomalies.save(),
            () if self.liveness is None else self.liveness.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        history, ledger, invariants, readings, transacted, casebook, witness, liveness = saved
        self.anomalies.load(witness)
        self.history.load(history)
        self.ledger.load(ledger)
        self.invariants.load(invariants)
        self.readings.load(readings)
        self.transacted.load(transacted)
        self.findings.load(casebook)
        if self.liveness is not None:
            self.liveness.load(liveness)


def _ignored(_event: TraceEvent) -> None:
    """Ignore an event."""
