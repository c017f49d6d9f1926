"""The checker: hears every event in order and keeps ledger, history and invariants up to date."""

from collections.abc import Callable
from typing import Any

from cluster_model.checker.control_plane import Registrations
from cluster_model.checker.history import History
from cluster_model.checker.invariants import Invariants
from cluster_model.checker.ledger import Ledger
from cluster_model.checker.readings import Readings
from cluster_model.checker.transacted import Transacted
from cluster_model.events import (
    Appended,
    BatchDamaged,
    BecameLeader,
    Event,
    HwAdvanced,
    LeaderElected,
    LogStartMoved,
    PartitionCreated,
    PartitionDeleted,
    PartitionOffline,
    ProduceRefused,
    ProduceRetried,
    RecordsAbandoned,
    RecordsAborted,
    RecordsAcked,
    RecordsFailed,
    RecordsRead,
    RecordsSent,
    RecordsUnknown,
    TraceEvent,
)
from cluster_model.world import World


class Checker:
    """Everything omniscient in one place. ``emit`` takes the events that it adds: findings and violations."""

    __slots__ = ("history", "invariants", "ledger", "readings", "transacted")

    def __init__(self, world: World, emit: Callable[[Event], None], plane: Registrations | None = None) -> None:
        """``plane`` tells what is committed of brokers; None where there is none."""
        self.history = History(world)
        self.ledger = Ledger(world, self.history, emit)
        self.transacted = Transacted(world, self.ledger.acked_in)
        self.invariants = Invariants(world, self.history, emit, plane)
        self.readings = Readings()

    def listeners(self) -> dict[type[TraceEvent], Callable[[Any], None]]:
        """Who hears the frequent kinds of events; :meth:`observe` hears all others."""
        return {
            RecordsSent: self.ledger.sent,
            Appended: self._appended,
            HwAdvanced: self._hw_advanced,
            RecordsAcked: self.ledger.acked,
            RecordsAborted: self._aborted,
            RecordsRead: self.readings.handed,
            RecordsAbandoned: self.readings.left_behind,
            ProduceRefused: _ignored,
            ProduceRetried: _ignored,
        }

    def _aborted(self, event: RecordsAborted) -> None:
        self.ledger.aborted(event)
        self.transacted.aborted(event)

    def _appended(self, event: Appended) -> None:
        self.ledger.appended(event)
        self.invariants.appended(event)

    def _hw_advanced(self, event: HwAdvanced) -> None:
        self.ledger.committed(event)
        self.invariants.hw_advanced(event)

    def observe(self, event: TraceEvent) -> None:
        """Hear a rare event, in the state that it left behind."""
        if isinstance(event, PartitionCreated):
            self.ledger.created(event.partition)
        elif isinstance(event, PartitionDeleted):
            self.ledger.deleted(event)
            self.transacted.deleted(event)
            self.readings.deleted(event.partition)
        self.history.observe(event)
        self.invariants.observe(event)
        if isinstance(event, RecordsFailed):
            self.ledger.failed(event)
        elif isinstance(event, RecordsUnknown):
            self.ledger.unknown(event)
        elif isinstance(event, LeaderElected | PartitionOffline | BecameLeader | BatchDamaged):
            self.ledger.leader_changed(event.partition, event)
        elif isinstance(event, LogStartMoved):
            self.ledger.log_start_moved(event)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.history.save(), self.ledger.save(), self.invariants.save(), self.readings.save(),
            self.transacted.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        history, ledger, invariants, readings, transacted = saved
        self.history.load(history)
        self.ledger.load(ledger)
        self.invariants.load(invariants)
        self.readings.load(readings)
        self.transacted.load(transacted)


def _ignored(_event: TraceEvent) -> None:
    """Nothing to learn from."""
