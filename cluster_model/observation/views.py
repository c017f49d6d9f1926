"""Immutable views of a cluster for people: screens, results and conditions read only these.

A view is omniscient: it shows the true state, beside each broker's metadata. Protocol code must not read one.
"""

from dataclasses import dataclass
from typing import Literal

from cluster_model.controller.cluster_parts import ControllerView

# Statistics of one client's records in one partition, for results and display.


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPartitionStats:
    """Counts in records, and their ranges ``[from, to)`` of the client's own record numbers.

    Records that failed before they got a number are counted, but in none of the ranges. A record that is in the log
    three times counts as two duplicates, and as one number in their ranges.
    """

    client: str
    partition: str
    """Partition, or the topic's name for records that never got a partition."""
    sent: int
    acked: int
    failed: int
    unknown: int
    aborted: int
    pending: int
    """Passed to the producer, without an outcome so far."""
    missing: int
    acked_lost: int
    committed_lost: int
    deleted: int
    """Acknowledged, and deleted on purpose: by retention, DeleteRecords, or with their topic."""
    unknown_written: int
    """Records with an unknown outcome that the leader's log holds."""
    duplicates: int
    reordered: int
    ranges: dict[str, tuple[tuple[int, int], ...]]
    """Count name → ranges, if not empty."""

    @property
    def has_violations(self) -> bool:
        """Whether any guarantee was violated."""
        return bool(self.missing or self.acked_lost or self.duplicates or self.reordered)


BrokerState = Literal["up", "paused", "down", "starting"]
ReplicaStatus = Literal["leader", "in_sync", "lagging", "truncating", "down", "diverged"]


@dataclass(frozen=True, slots=True)
class ReplicaView:
    """One replica of a partition as it is on its broker's disk and in its memory."""

    broker: int
    status: ReplicaStatus
    leo: int
    hw: int
    log_start: int
    epochs: tuple[tuple[int, int], ...]
    """Leader-epoch cache: (epoch, start offset)."""
    believed_leader: int
    believed_epoch: int
    believed_isr: tuple[int, ...]
    """ISR of a leader; empty on a follower."""
    behind: int
    """Records behind the true leader's LEO; negative if ahead of it."""


@dataclass(frozen=True, slots=True)
class CachedMetadataView:
    """State of a partition in one broker's metadata cache; -1 and empty where it is unknown."""

    broker: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A partition in the controller's committed state, with its replicas."""

    name: str
    leader: int
    """Leader, -1 for none."""
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    assignment: tuple[int, ...]
    min_isr: int
    hw: int
    leo: int
    log_start: int
    replicas: tuple[ReplicaView, ...]
    """Replicas in assignment order."""
    missing: int
    """Number of acknowledged records that the current leader's log does not hold."""
    adding: tuple[int, ...] = ()
    """Replicas that a reassignment in progress adds."""
    removing: tuple[int, ...] = ()
    """Replicas that it removes."""
    elr: tuple[int, ...] = ()
    """Eligible leader replicas: not in the ISR, but known to hold all committed records (KIP-966)."""
    recovering: bool = False
    """Whether an uncleanly elected leader has not reported its recovery yet (KIP-704)."""
    beliefs: tuple[CachedMetadataView, ...] = ()
    """Outdated states in running brokers' metadata."""
    leaders: tuple[int, ...] = ()
    """Running brokers that believe they lead: two at once are a split brain."""

    @property
    def internal(self) -> bool:
        """Whether it belongs to an internal topic."""
        return self.name.startswith("__")

    @property
    def under_replicated(self) -> bool:
        """Whether there are fewer in-sync than assigned replicas, not counting added ones."""
        return len(self.isr) < len(self.assignment) - len(self.adding)

    @property
    def split(self) -> bool:
        """Whether more than one broker believes it is leader."""
        return len(self.leaders) > 1

    @property
    def under_min_isr(self) -> bool:
        """Whether there are too few in-sync replicas for acks=all."""
        return len(self.isr) < self.min_isr

    @property
    def offline(self) -> bool:
        """Whether it has no leader in the controller's state."""
        return self.leader < 0


@dataclass(frozen=True, slots=True)
class BrokerView:
    """A broker process and its state at the controller."""

    id: int
    rack: str
    state: BrokerState
    fenced: bool
    leads: int
    """Number of partitions it leads in the controller's state."""
    faults: tuple[str, ...]
    """Names of the faults active on it."""
    stale: int = 0
    """Number of partitions for which its metadata is outdated; 0 while it is down."""
    epoch: int = -1
    """Broker epoch of its registration, as it knows it; -1 for none."""
    shutting_down: bool = False
    """Whether the controller knows it to be in controlled shutdown."""
    controller: int = -1
    """Controller that it knows; -1 for none, or while it is down."""
    release: str = ""
    """Kafka release and protocol that it was upgraded to, empty as long as it runs what the cluster was formed with."""


@dataclass(frozen=True, slots=True)
class ClientView:
    """The process of a producer or of a group's member."""

    node: int
    name: str
    state: BrokerState


@dataclass(frozen=True, slots=True)
class ProducerView:
    """A producer's own statistics; ``acks`` is -1 for all."""

    name: str
    topic: str
    acks: int
    sent: int
    acked: int
    failed: int
    unknown: int
    in_flight: int
    """Number of batches sent without a response so far."""
    queued: int
    """Number of records in the accumulator."""
    refused: int
    """Number of attempts that failed with an error."""
    last_error: str
    unconnected: tuple[tuple[int, str], ...] = ()
    """Leaders without a ready connection for which records wait, with the connection's state."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """A consumer group: its members, records read, and lag."""

    name: str
    topics: tuple[str, ...]
    members: int
    read: int
    lag: int | None
    """Total lag of committed offsets as in kafka-consumer-groups; None without committed offsets.

    It is negative after a truncation or a wrong commit.
    """
    positions: tuple[tuple[str, int], ...]
    generation: int = -1
    """Generation at its coordinator; -1 while none is available, and for a group without one."""
    assignment: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Each consumer with the partitions that it claims."""
    committed: tuple[tuple[str, int], ...] = ()
    position_lag: int = 0
    """Total lag of its consumers' positions."""


@dataclass(frozen=True, slots=True)
class LedgerView:
    """Record counts of all producers together."""

    sent: int
    acked: int
    failed: int
    unknown: int
    missing: int
    """Acknowledged, and absent from the current leader's log now: they may still come back."""
    acked_lost: int
    """In no replica's log any more, or missing after the session has ended."""
    committed_lost: int
    duplicates: int
    reordered: int
    aborted: int = 0
    """Written, or perhaps written, in a transaction that was aborted: neither acknowledged nor lost."""
    acked_aborted: int = 0
    """Acknowledged, but of a transaction aborted in the leader's log; counted only at a session's end."""
    aborted_committed: int = 0
    """Aborted, but of a transaction committed there; counted only at a session's end."""
    unknown_written: int = 0
    """With an unknown outcome, and in the leader's log; counted only at a session's end."""
    clients: tuple[ClientPartitionStats, ...] = ()
    """Counts by client and partition; only at a session's end."""


@dataclass(frozen=True, slots=True)
class FaultView:
    """An active fault with its target and duration."""

    id: int
    name: str
    target: str
    since_us: int
    until_us: int
    """End of the fault, -1 if it lasts until healed."""
    detail: str


@dataclass(frozen=True, slots=True)
class OperationView:
    """An administrator operation under way, with its progress."""

    id: int
    name: str
    detail: str
    """Parameters of the operation."""
    since_us: int
    progress: str
    """Last completed step, empty before the first."""


@dataclass(frozen=True, slots=True)
class WaitingByDesign:
    """A condition in which Kafka waits by design until an action releases it."""

    partition: str
    """Partition, empty for the control plane."""
    reason: str
    released_by: str


@dataclass(frozen=True, slots=True)
class PendingLiveness:
    """A liveness property that was pending, but not overdue, when a session ended; times in microseconds."""

    property: str
    partition: str
    """Partition, empty if it concerns no single one."""
    broker: int
    """Broker that has to fulfil it, -1 for none in particular."""
    pending_us: int
    """Time for which it has been pending."""
    remaining_us: int
    """Undisturbed time that was missing until its deadline; -1: no time is enough."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The whole cluster at one time."""

    now_us: int
    events: int
    """Number of kernel events handled so far."""
    profile: str
    controller: str
    """Name of the active controller, with its state."""
    brokers: tuple[BrokerView, ...]
    partitions: tuple[PartitionView, ...]
    producers: tuple[ProducerView, ...]
    groups: tuple[GroupView, ...]
    ledger: LedgerView
    faults: tuple[FaultView, ...]
    violations: int
    operations: tuple[OperationView, ...] = ()
    """Operations under way, added by the operation runner as faults are by the injector."""
    controller_epoch: int = -1
    controllers: tuple[ControllerView, ...] = ()
    internal: tuple[PartitionView, ...] = ()
    """Partitions of internal topics, if a screen has separated them from ``partitions``."""
    clients: tuple[ClientView, ...] = ()
    stuck: tuple[WaitingByDesign, ...] = ()
    liveness_violations: int = 0
    """Number of liveness violations so far."""
    pending_liveness: tuple[PendingLiveness, ...] = ()
    """Properties pending at the end of the session; empty before."""


@dataclass(frozen=True, slots=True)
class EpochRun:
    """Consecutive offsets ``[start, end)`` written in one leader epoch."""

    start: int
    end: int
    epoch: int
    diverged: bool
    """Whether the true leader's log holds other records, or none, at these offsets."""
    lost: bool
    """Whether the records are acknowledged and missing from the true leader's log."""


@dataclass(frozen=True, slots=True)
class ReplicaLogView:
    """A replica's log as runs, oldest first, clipped to the requested window; the counts are of the whole log."""

    broker: int
    status: ReplicaStatus
    leo: int
    hw: int
    log_start: int
    runs: tuple[EpochRun, ...]
    lost: int = 0
    """Number of acknowledged records that the true leader's log lacks."""
    diverged: int = 0
    """Number of other records that the true leader's log does not hold at their offsets."""


@dataclass(frozen=True, slots=True)
class LogView:
    """The logs of one partition side by side over ``[start, end)``."""

    partition: str
    start: int
    end: int
    leader: int
    hw: int
    lanes: tuple[ReplicaLogView, ...]
