"""Base of all invariants: their definition, the context that checks share, and the allowed losses.

The loss of acknowledged records is allowed after an unclean election; after the last in-sync replica lost its log; and
with eligible leader replicas (KIP-966) after as many replicas as min.insync.replicas lost theirs. A killed process is
not an exception, since the operating system keeps its pages. Only records up to the leader epoch in which it happened
may be lost, never later ones. A corrupt batch stays until log recovery truncates it, which is a loss like others;
before that only the leader's copy matters, and only the corrupt records may be lost.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Final, Protocol

from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.partition.replication_rules import EPOCH_UNKNOWN
from cluster_model.checker.history.partition_history import early_joins
from cluster_model.controller.committed_state import CommittedPartition
from cluster_model.log.crash_recovery import LOSSY as LOSSY_CRASH_RECOVERY
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import (
    BecameLeader,
    Event,
    HwAdvanced,
    InvariantViolated,
    IsrChanged,
    LeaderElected,
    PartitionOffline,
    TraceEvent,
    Truncated,
)
from cluster_model.protocol.versions import Profile, modes_of
from cluster_model.util.ranges import subtract

EXCUSING_EVENTS = (BecameLeader, IsrChanged, LeaderElected, PartitionOffline, Truncated)
"""Rare events that :class:`AllowedLosses` handles."""


class AllowedLosses:
    """Allowed losses by partition: up to which leader epoch, and which replicas have lost records."""

    __slots__ = (
        "_cluster_state",
        "_early",
        "_early_elected",
        "_excused",
        "_lossy_epochs",
        "_lossy_replicas",
        "_unfenced",
        "_unknown_epochs",
    )

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._excused: dict[str, int] = {}
        self._lossy_epochs: dict[str, int] = {}
        """Partition → its leader epoch when a replica last lost unflushed records."""
        self._lossy_replicas: dict[tuple[str, int], int] = {}
        """(partition, broker) of replicas that lost records → the broker epoch at the loss."""
        self._early: dict[tuple[str, int], tuple[int, int]] = {}
        """(partition, broker) of replicas that joined the ISR too early → (leader epoch, its start offset)."""
        self._early_elected: dict[str, int] = {}
        """Partition → the newest epoch in which such a replica joined that was later elected without the records."""
        self._unknown_epochs: dict[str, int] = {}
        """Partition → the newest epoch that its leader did not know when queried, so that a follower truncated."""
        self._unfenced: dict[str, int] = {}
        """Partition → the newest epoch in which the HW or ISR moved while an ISR member had another leader epoch."""

    def covers(self, partition: str, epoch: int) -> bool:
        """Return whether the loss of records of a leader epoch is allowed."""
        return epoch <= self._excused.get(partition, -1)

    def damaged(self, partition: str, start: int, end: int) -> bool:
        """Return whether all of ``[start, end)`` is corrupt on the leader's disk."""
        leader = self._cluster_state.committed_leader(partition)
        return leader is not None and not subtract([(start, end)], [each[:2] for each in leader.damages])

    def lossy(self, partition: str, epoch: int) -> bool:
        """Return whether a crash that lost records may explain an observation about records of a leader epoch.

        It may if they are no newer than the last such crash, or a replica still lacks what it lost.
        """
        if partition not in self._lossy_epochs:
            return False
        return epoch <= self._lossy_epochs[partition] or self.any_lacks_lost_records_in(partition)

    def joined_early(self, partition: str, epoch: int) -> bool:
        """Return whether records of a leader epoch may be missing because a replica joined the ISR too early."""
        return epoch < self._early_elected.get(partition, -1) or any(
            name == partition and epoch < joined and self._lacks(name, broker, start)
            for (name, broker), (joined, start) in self._early.items()
        )

    def truncated_for_unknown_epoch(self, partition: str, epoch: int) -> bool:
        """Return whether records of a leader epoch may be missing because a later leader did not know its own epoch."""
        return epoch < self._unknown_epochs.get(partition, -1)

    def counted_unfenced(self, partition: str, epoch: int) -> bool:
        """Return whether a replica may lack records of a leader epoch that a leader counted as fetched by it."""
        return epoch <= self._unfenced.get(partition, -1)

    def _lacks(self, partition: str, broker: int, epoch_start: int) -> bool:
        replica = self._cluster_state.replicas.get(partition, {}).get(broker)
        return replica is not None and replica.log.leo < epoch_start

    def any_lacks_lost_records_in(self, partition: str) -> bool:
        """Return whether any replica of a partition lacks records that it lost."""
        return any(name == partition for name, _broker in self._lossy_replicas)

    def ever_lossy(self, partition: str) -> bool:
        """Return whether any replica of a partition ever lost unflushed records."""
        return partition in self._lossy_epochs

    def covered(self, partition: str) -> int:
        """Return the leader epoch up to which losses of a partition are allowed, -1 for none."""
        return self._excused.get(partition, -1)

    def lacks_lost_records(self, partition: str, broker: int) -> bool:
        """Return whether a replica lost records and has not yet reached the HW of a later leader."""
        return (partition, broker) in self._lossy_replicas

    def has_reregistered(self, partition: str, broker: int) -> bool:
        """Return whether a broker has registered again since its replica lost records.

        A late heartbeat or ISR proposal may still concern the former process.
        """
        registration = self._lossy_replicas.get((partition, broker))
        return registration is not None and self._cluster_state.registration(broker) > registration

    @property
    def any_lacks_lost_records(self) -> bool:
        """True if any replica lost records and has not yet caught up."""
        return bool(self._lossy_replicas)

    def before(self, event: TraceEvent) -> None:
        """Update the allowed losses by an event, before the invariants check it."""
        profile = self._cluster_state.profile
        if isinstance(event, HwAdvanced | IsrChanged) and profile.kip_320 and not profile.session_epochs:
            self._note_unfenced(event.partition)
        if isinstance(event, Truncated):
            if event.rule in LOSSY_CRASH_RECOVERY:
                self._record_loss(event.partition, event.broker)
            elif event.rule == EPOCH_UNKNOWN:
                self._unknown_epoch_truncation(event)
        elif isinstance(event, LeaderElected):
            if not event.clean:
                self._excuse(event.partition, event.leader_epoch - 1)
            self._excuse_if_none_left(event.partition, event.isr, event.leader_epoch - 1)
            joined, start = self._early.get((event.partition, event.leader), (-1, -1))
            if self._lacks(event.partition, event.leader, start):
                self._early_elected[event.partition] = joined
        elif isinstance(event, IsrChanged | PartitionOffline):
            self._excuse_if_none_left(event.partition, event.isr, event.leader_epoch)
            if isinstance(event, IsrChanged):
                for broker, _end, start in early_joins(self._cluster_state, event):
                    self._early[event.partition, broker] = (event.leader_epoch, start)

    def after(self, event: TraceEvent) -> None:
        """Update the allowed losses after the invariants checked an event: replicas may have caught up."""
        if self._lossy_replicas and isinstance(event, LeaderElected | IsrChanged | HwAdvanced | BecameLeader):
            self._drop_caught_up(event.partition)

    def _note_unfenced(self, partition: str) -> None:
        leader, record = self._cluster_state.committed_leader(partition), self._cluster_state.records.get(partition)
        if leader is None or record is None:
            return
        replicas = self._cluster_state.replicas[partition]
        if any(replicas[broker].leader_epoch != leader.leader_epoch for broker in record.isr if broker in replicas):
            self._unfenced[partition] = leader.leader_epoch

    def _unknown_epoch_truncation(self, event: Truncated) -> None:
        leader = self._cluster_state.committed_leader(event.partition)
        if leader is not None and leader.leader_epoch == event.leader_epoch:
            self._unknown_epochs[event.partition] = event.leader_epoch

    def _record_loss(self, partition: str, broker: int) -> None:
        record = self._cluster_state.records.get(partition)
        if record is None:
            return
        self._lossy_epochs[partition] = record.leader_epoch
        self._lossy_replicas[partition, broker] = self._cluster_state.registration(broker)
        if self._cluster_state.profile.elr:
            lost = sum(name == partition for name, _broker in self._lossy_replicas)
            if lost >= self._cluster_state.effective_min_isr(partition):
                self._excuse(partition, record.leader_epoch)
        else:
            self._excuse_if_none_left(partition, record.isr, record.leader_epoch)

    def _excuse_if_none_left(self, partition: str, isr: tuple[int, ...], epoch: int) -> None:
        """Allow losses if every replica that may lead has lost records and has not registered again before."""
        if not self._lossy_replicas or not isr:
            return
        record = self._cluster_state.records.get(partition)
        eligible = () if record is None else record.state.elr
        if all(self._lost_records(partition, broker) for broker in (*isr, *eligible)):
            self._excuse(partition, epoch)

    def _lost_records(self, partition: str, broker: int) -> bool:
        return self.lacks_lost_records(partition, broker) and not self.has_reregistered(partition, broker)

    def _excuse(self, partition: str, epoch: int) -> None:
        if epoch > self._excused.get(partition, -1):
            self._excused[partition] = epoch

    def _drop_caught_up(self, partition: str) -> None:
        leader = self._cluster_state.committed_leader(partition)
        if leader is None:
            return
        for broker, replica in self._cluster_state.replicas[partition].items():
            if not self.has_reregistered(partition, broker):
                continue
            leadership = leader.leadership
            start = leader.log.leo if leadership is None else leadership.epoch_start
            if replica is leader or (replica.log.leo >= max(leader.hw, start) and not replica.damages):
                del self._lossy_replicas[partition, broker]

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self._excused.pop(partition, None)
        self._lossy_epochs.pop(partition, None)
        self._lossy_replicas = {key: epoch for key, epoch in self._lossy_replicas.items() if key[0] != partition}
        self._early = {key: join for key, join in self._early.items() if key[0] != partition}
        self._early_elected.pop(partition, None)
        self._unknown_epochs.pop(partition, None)
        self._unfenced.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        tables = (
            self._excused,
            self._lossy_epochs,
            self._lossy_replicas,
            self._early,
            self._early_elected,
            self._unknown_epochs,
            self._unfenced,
        )
        return tuple(tuple(table.items()) for table in tables)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        (
            self._excused,
            self._lossy_epochs,
            self._lossy_replicas,
            self._early,
            self._early_elected,
            self._unknown_epochs,
            self._unfenced,
        ) = map(dict, saved)


# The definition of an invariant: its statement, and the versions that guarantee it.


LOSSY: Final = "lossy"
"""Circumstance: a replica of the partition had lost unflushed records."""
EMPTY: Final = "empty"
"""Circumstance: the ISR is empty."""
ALONG_THE_LOG: Final = "log"
"""Circumstance: the violation concerns the epochs along one log."""
ABOVE_HW: Final = "above hw"
"""Circumstance: a pass of the cleaner reached above the HW."""
HIGH_WATERMARK: Final = "hw"
"""Circumstance: the violation concerns an HW that moved."""
LEAVING: Final = "leaving"
"""Circumstance: the violation concerns a replica that a reassignment removes."""
EARLY_JOIN: Final = "early"
"""Circumstance: a replica had joined the ISR below the start offset of its leader's epoch; it excludes the others."""
LEADER_LACKS_EPOCH: Final = "unknown epoch"
"""Circumstance: a follower truncated to its HW, as its leader did not know its own epoch; it excludes the others."""
FETCH_SESSION: Final = "session"
"""Circumstance: a leader counted fetches of a session in which the follower had another leader epoch."""
KRAFT: Final = "kraft"
"""Profile attribute used as a flag: whether the version runs in KRaft mode."""

_SOLE: Final = (EARLY_JOIN, LEADER_LACKS_EPOCH)
CIRCUMSTANCES: Final = {
    LOSSY: "after an unclean shutdown that loses records",
    EMPTY: "with unclean elections",
    ALONG_THE_LOG: "for the epochs along a log",
    ABOVE_HW: "for passes above the HW",
    HIGH_WATERMARK: "for the HW",
    LEAVING: "for replicas that a reassignment removes",
    EARLY_JOIN: "for replicas that join the ISR",
    LEADER_LACKS_EPOCH: "for followers of a leader that has written nothing yet",
    FETCH_SESSION: "for followers with another leader epoch in a fetch session",
}
"""Circumstance → its description in the manual."""


@dataclass(frozen=True, slots=True)
class ProtocolFix:
    """A protocol change that made an invariant hold, in all or in some circumstances, and the version that has it."""

    flag: str
    """Attribute of the profile that says whether a version has the change."""
    by: str
    """The KIP or Kafka issue of the change."""
    version: str
    when: str = ""
    """The circumstance in which the invariant needs this change; empty for all."""

    def holds(self, profile: Profile) -> bool:
        """Return whether a version has the change."""
        return bool(getattr(profile, self.flag))


@dataclass(frozen=True, slots=True)
class InvariantDefinition:
    """Definition of one invariant: name, statement, source, and the versions that guarantee it."""

    name: str
    title: str
    statement: str
    """The exact statement, one sentence."""
    source: str
    fixes: tuple[ProtocolFix, ...] = ()
    """Changes that the invariant needs, in order of their versions; empty if every version guarantees it."""
    exceptions: str = ""
    """Conditions under which a breach is no violation; empty for none."""

    def missing_fixes(self, profile: Profile, when: tuple[str, ...] = ()) -> tuple[ProtocolFix, ...]:
        """Return the needed changes that a version lacks: those always needed, and the first for these circumstances.

        An early ISR join or a leader that did not know its epoch is the only change returned.
        """
        sole = tuple(fix for fix in self.fixes if fix.when in _SOLE and not fix.holds(profile))
        named = tuple(fix for fix in sole if fix.when in when)[:1]
        if named:
            return named
        always = tuple(fix for fix in self.fixes if not fix.when and not fix.holds(profile))
        special = (fix for fix in self.fixes if fix.when in when and not fix.holds(profile))
        return always + tuple(islice(special, 1))

    def guaranteed_by(self, profile: Profile, when: tuple[str, ...] = ()) -> bool:
        """Return whether a version guarantees the invariant in these circumstances."""
        return not self.missing_fixes(profile, when)

    def known(self, profile: Profile, when: tuple[str, ...] = ()) -> str:
        """Return why a violation is expected: ``known for 0.10.2: fixed by KIP-101 in 0.11``; empty if it is not."""
        lacking = self.missing_fixes(profile, when)
        if not lacking:
            return ""
        *more, last = [f"{fix.by} in {fix.version}" for fix in lacking]
        version = profile.version if len(modes_of(profile.version)) == 1 else profile.name
        if not more:
            return f"known for {version}: fixed by {last}"
        return f"known for {version}: fixed by {', '.join(more)} and {last}"


REASSIGNMENT_FIX: Final = ProtocolFix(KRAFT, "KIP-500 (KRaft mode)", "3.3", LEAVING)
"""A ZooKeeper controller writes assignment and ISR to two znodes, one after the other, and sends the new assignment to
the leader before it writes the ISR (``KafkaController.updateCurrentReassignment``,
``moveReassignedPartitionLeaderIfRequired``); a KRaft controller changes both with one record."""
FENCING_FIXES: Final = (
    ProtocolFix("kip_320", "KIP-320", "2.1"),
    ProtocolFix("session_epochs", "KAFKA-9338", "2.5", FETCH_SESSION),
    ProtocolFix("ignores_diverging_fetches", "KAFKA-13141", "2.8.1"),
)
"""Changes that fence a fetch in another leader epoch; from 2.1 to 2.4 fetches of a session were not fenced, and in
2.7.0, 2.7.1 and 2.8.0 the offset of a diverging fetch counted."""
EARLY_JOIN_FIX: Final = ProtocolFix("isr_epoch_start", "KAFKA-7128", "2.0.1", EARLY_JOIN)
"""Without it, a leader with a lagging HW let followers join the ISR at that HW (``Partition.isFollowerInSync``)."""
UNKNOWN_EPOCH_FIX: Final = ProtocolFix("epoch_on_elect", "KAFKA-7415", "2.0.1", LEADER_LACKS_EPOCH)
"""Without it, a leader entered its epoch into its cache with the first record only, and did not know it before."""
LOSSY_CRASH_FIXES: Final = (
    ProtocolFix("bounce_detected", "KIP-380", "2.2", LOSSY),
    ProtocolFix(KRAFT, "KIP-500 (KRaft mode)", "3.3", LOSSY),
    ProtocolFix("fetch_broker_epoch", "KIP-903", "3.5", LOSSY),
)
"""Changes that detect a replica restarted without its log: a bounce that the controller detects, a registration that a
KRaft controller remembers, and an ISR that only the process that fetched may join."""


# The context that all invariants share: cluster state, registered brokers, excuses for losses, and violations.


KNOWN_FOR_MANUAL_STEPS: Final = (
    "known for manual steps: a replica that lost its log may be elected, which no controller would do"
)


class Registrations(Protocol):
    """Broker registrations as the control plane has committed them."""

    def is_live(self, broker: int) -> bool:
        """Return whether a broker is registered and not fenced."""

    def is_shutting_down(self, broker: int) -> bool:
        """Return whether a broker is in controlled shutdown."""

    def broker_epoch(self, broker: int) -> int:
        """Return the broker epoch of a broker's registration, -1 for none."""

    def accepted_controller_epoch(self, broker: int) -> int:
        """Return the newest controller epoch that a broker's running process has accepted."""


class InvariantContext:
    """Context that all invariants of one cluster share; it counts and emits violations."""

    __slots__ = ("_emit", "_reported", "allowed_losses", "cluster_state", "plane", "unexpected", "violations")

    def __init__(self, cluster_state: ClusterState, emit: Callable[[Event], None], plane: Registrations | None) -> None:
        """``plane`` is None with manual steps, where there is no control plane."""
        self.cluster_state = cluster_state
        self.plane = plane
        self.allowed_losses = AllowedLosses(cluster_state)
        self._emit = emit
        self._reported: dict[tuple[str, str, str, int, int], None] = {}
        self.violations: dict[str, int] = {}
        """Invariant → number of violations."""
        self.unexpected: dict[str, int] = {}
        """Invariant → number of violations that are not known for this version."""

    def circumstances(self, partition: str, epoch: int) -> tuple[str, ...]:
        """Return the circumstances that may have affected records of a leader epoch, such as a crash with losses."""
        conditions = (
            (LOSSY, self.allowed_losses.lossy(partition, epoch)),
            (EARLY_JOIN, self.allowed_losses.joined_early(partition, epoch)),
            (LEADER_LACKS_EPOCH, self.allowed_losses.truncated_for_unknown_epoch(partition, epoch)),
            (FETCH_SESSION, self.allowed_losses.counted_unfenced(partition, epoch)),
        )
        return tuple(name for name, holds in conditions if holds)

    def report(
        self,
        definition: InvariantDefinition,
        at_us: int,
        partition: str,
        broker: int,
        detail: str,
        *,
        fault: str = "",
        offsets: tuple[int, int] = (-1, -1),
        epoch: int = -1,
        when: tuple[str, ...] = (),
        cause: str = "",
    ) -> None:
        """Report a violation, once.

        Two violations are the same if invariant, ``fault``, partition, broker and leader epoch are equal, even if they
        concern different records. ``fault`` distinguishes the ways in which one invariant can be violated.

        With manual steps a replica that lost its log may be elected, which no controller would do: a violation that
        only this explains is known.
        """
        explanation = definition.known(self.cluster_state.profile, when)
        if self.plane is None and LOSSY in when and not explanation:
            explanation = KNOWN_FOR_MANUAL_STEPS
        key = (definition.name, fault, partition, broker, epoch)
        if key in self._reported:
            return
        self._reported[key] = None
        self.violations[definition.name] = self.violations.get(definition.name, 0) + 1
        if not explanation:
            self.unexpected[definition.name] = self.unexpected.get(definition.name, 0) + 1
        self._emit(
            InvariantViolated(at_us, definition.name, partition, broker, detail, cause, *offsets, epoch, explanation)
        )

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        tables = (self.violations, self.unexpected)
        return (tuple(self._reported), *(tuple(table.items()) for table in tables), self.allowed_losses.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        reported, violations, unexpected, allowed_losses = saved
        self._reported = dict.fromkeys(reported)
        self.violations, self.unexpected = dict(violations), dict(unexpected)
        self.allowed_losses.load(allowed_losses)


EventHandlers = dict[type[TraceEvent], Callable[[Any], None]]
"""Rare event type → handler."""
HwHandler = Callable[[HwAdvanced, Replica, CommittedPartition], None]
"""Handler of a leader's HW advance, with the leader's replica and the partition's committed state."""


class Invariant:
    """An invariant, checked event by event. Its state is integers and tuples, saved for rewinds."""

    __slots__ = ("cluster_state", "context")
    definition: ClassVar[InvariantDefinition]

    def __init__(self, context: InvariantContext) -> None:
        self.context = context
        self.cluster_state = context.cluster_state

    def handlers(self) -> EventHandlers:
        """Return the handlers of the rare events that can violate it."""
        return {}

    def logs_differ(self, partition: str, now: int) -> None:
        """Handle an HW advance after which the in-sync replicas do not all hold the same records below it."""

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition; one created again has new epochs and a new log."""

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""


def listed(values: Iterable[Any]) -> str:
    """Return values as a list in brackets, as violations write them."""
    return str(list(values))
