"""Immutable views of a cluster for people: the screen, results and conditions read these and nothing else.

A view is omniscient: it shows what *is*, beside what each broker believes. No protocol code may read one.
"""

from dataclasses import dataclass
from typing import Literal

from cluster_model.controller.cluster_parts import ControllerView

# A picture of one client's records in one partition, for results and people.


@dataclass(frozen=True, slots=True, kw_only=True)
class BookView:
    """Counts in records, and the ranges ``[from, to)`` of the client's own numbers behind them.

    Records that failed before they got a number are counted, and in none of the ranges. A record that stands in the log
    three times is two duplicates, and one number in their ranges.
    """

    client: str
    partition: str
    """A topic's name for records that never got as far as a partition."""
    sent: int
    acked: int
    failed: int
    unknown: int
    aborted: int
    pending: int
    """Handed over, and no outcome yet."""
    missing: int
    acked_lost: int
    committed_lost: int
    deleted: int
    """Acked, and taken on purpose: by retention, DeleteRecords, or with their topic."""
    unknown_written: int
    """Of the unknown ones, those that the leader's log holds after all."""
    duplicates: int
    reordered: int
    ranges: dict[str, tuple[tuple[int, int], ...]]
    """By term, those that are not empty."""

    @property
    def harmed(self) -> bool:
        """Whether anything went against what was promised."""
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
    """Only a leader keeps one; empty on a follower."""
    behind: int
    """Records behind the true leader's LEO; negative when ahead of it."""


@dataclass(frozen=True, slots=True)
class BeliefView:
    """What one broker's metadata cache says of a partition; -1 and nothing where it does not know it."""

    broker: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A partition by the controller's committed state, with its replicas."""

    name: str
    leader: int
    """-1 when nobody leads."""
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    assignment: tuple[int, ...]
    min_isr: int
    hw: int
    leo: int
    log_start: int
    replicas: tuple[ReplicaView, ...]
    """In assignment order."""
    missing: int
    """Acknowledged records that the current leader's log does not hold."""
    adding: tuple[int, ...] = ()
    """Replicas that a reassignment under way brings."""
    removing: tuple[int, ...] = ()
    """Replicas that it takes away."""
    elr: tuple[int, ...] = ()
    """Eligible leader replicas: out of the ISR, but known to hold all that is committed (KIP-966)."""
    recovering: bool = False
    """Led by the winner of an unclean election that has not reported since (KIP-704)."""
    beliefs: tuple[BeliefView, ...] = ()
    """Running brokers whose metadata is older than what is decided, with what it says."""
    leaders: tuple[int, ...] = ()
    """Running brokers that take themselves to lead: two at once are a split view."""

    @property
    def internal(self) -> bool:
        """Of a topic of Kafka's own."""
        return self.name.startswith("__")

    @property
    def under_replicated(self) -> bool:
        """Fewer in-sync replicas than assigned ones, those that are only being added not counted."""
        return len(self.isr) < len(self.assignment) - len(self.adding)

    @property
    def split(self) -> bool:
        """More than one broker takes itself to lead."""
        return len(self.leaders) > 1

    @property
    def under_min_isr(self) -> bool:
        """Too few in-sync replicas for acks=all."""
        return len(self.isr) < self.min_isr

    @property
    def offline(self) -> bool:
        """No leader by the controller's state."""
        return self.leader < 0


@dataclass(frozen=True, slots=True)
class BrokerView:
    """A broker process and what the controller thinks of it."""

    id: int
    rack: str
    state: BrokerState
    fenced: bool
    leads: int
    """Partitions the controller has it lead."""
    faults: tuple[str, ...]
    """Names of the faults active on it."""
    stale: int = 0
    """Partitions of which its metadata is older than what is decided; 0 while it is down."""
    epoch: int = -1
    """Broker epoch of its registration, as it knows it; -1 for none."""
    shutting_down: bool = False
    """Whether the controller knows it to be in controlled shutdown."""
    controller: int = -1
    """Whom it takes for the controller; -1 while it knows none, or is down."""


@dataclass(frozen=True, slots=True)
class ClientView:
    """The process of a producer or of a group's member."""

    node: int
    name: str
    state: BrokerState


@dataclass(frozen=True, slots=True)
class ProducerView:
    """A producer's own books; ``acks`` is -1 for all."""

    name: str
    topic: str
    acks: int
    sent: int
    acked: int
    failed: int
    unknown: int
    in_flight: int
    """Batches sent and not yet answered."""
    queued: int
    """Records waiting in the accumulator."""
    refused: int
    """Attempts answered with an error."""
    last_error: str
    unconnected: tuple[tuple[int, str], ...] = ()
    """Leaders for which records wait without a ready connection, with the state that it is in."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """A consumer group: members, what it has read, and how far behind it is."""

    name: str
    topics: tuple[str, ...]
    members: int
    read: int
    lag: int | None
    """Of what is committed, as kafka-consumer-groups adds it up; negative after a truncation or a bad commit, None
    where nothing is committed."""
    positions: tuple[tuple[str, int], ...]
    generation: int = -1
    """By its coordinator; -1 while nobody knows, and for a group without one."""
    assignment: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Each consumer with the partitions that it takes for its own."""
    committed: tuple[tuple[str, int], ...] = ()
    position_lag: int = 0
    """Of its consumers' positions instead."""


@dataclass(frozen=True, slots=True)
class LedgerView:
    """The books over all producers, in records."""

    sent: int
    acked: int
    failed: int
    unknown: int
    missing: int
    """Acked, and absent from the current leader's log right now: it may still come back."""
    acked_lost: int
    """Held by no replica's log any more, or missing once the session has ended."""
    committed_lost: int
    duplicates: int
    reordered: int
    aborted: int = 0
    """Written, or perhaps written, in a transaction that was aborted: neither acked nor lost."""
    undone: int = 0
    """Acked, and of a transaction that stands aborted in the leader's log; counted at a session's end only."""
    leaked: int = 0
    """Aborted, and of a transaction that stands committed there; likewise."""
    unknown_written: int = 0
    """Unknown, and in the leader's log after all; likewise."""
    books: tuple[BookView, ...] = ()
    """The same by client and partition; likewise."""


@dataclass(frozen=True, slots=True)
class FaultView:
    """An active fault."""

    id: int
    name: str
    target: str
    since_us: int
    until_us: int
    """-1 when it lasts until healed."""
    detail: str


@dataclass(frozen=True, slots=True)
class OperationView:
    """An operation of the administrator that is under way."""

    id: int
    name: str
    detail: str
    """Its parameters."""
    since_us: int
    progress: str
    """What was done last, empty while nothing was."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """Something that stands still as Kafka means it to, until somebody sets it free."""

    partition: str
    """Empty where it concerns the control plane."""
    why: str
    what_releases: str


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A promise of liveness that was still owed when a session ended, and whose time was not over. Microseconds."""

    property: str
    partition: str
    """Empty where it concerns no single one."""
    broker: int
    """Who owes it, -1 for nobody in particular."""
    owed_us: int
    """For how long."""
    missing_us: int
    """How much longer the session would have had to go on, undisturbed; -1: no time is enough."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """Everything at one instant."""

    now_us: int
    events: int
    """Kernel events handled so far."""
    profile: str
    controller: str
    """Name of the node acting as controller, with its state."""
    brokers: tuple[BrokerView, ...]
    partitions: tuple[PartitionView, ...]
    producers: tuple[ProducerView, ...]
    groups: tuple[GroupView, ...]
    ledger: LedgerView
    faults: tuple[FaultView, ...]
    violations: int
    operations: tuple[OperationView, ...] = ()
    """Added by who keeps them, as the faults are."""
    controller_epoch: int = -1
    controllers: tuple[ControllerView, ...] = ()
    internal: tuple[PartitionView, ...] = ()
    """Partitions of Kafka's own topics where a screen has set them apart from ``partitions``."""
    clients: tuple[ClientView, ...] = ()
    stuck: tuple[Stuck, ...] = ()
    overdue: int = 0
    """Liveness properties found overdue so far."""
    unjudged: tuple[Unjudged, ...] = ()
    """Those that were owed and not yet due at the close; none before."""


@dataclass(frozen=True, slots=True)
class EpochRun:
    """Consecutive offsets ``[start, end)`` written in one leader epoch."""

    start: int
    end: int
    epoch: int
    diverged: bool
    """The true leader's log does not hold these very records at these offsets."""
    lost: bool
    """Acknowledged, and missing from the true leader's log."""


@dataclass(frozen=True, slots=True)
class LaneView:
    """A replica's log as runs, oldest first, cut to the window asked for; the counts are of the whole log."""

    broker: int
    status: ReplicaStatus
    leo: int
    hw: int
    log_start: int
    runs: tuple[EpochRun, ...]
    lost: int = 0
    """Records that were acknowledged and that the true leader's log lacks."""
    diverged: int = 0
    """Others that the true leader's log does not hold at their offsets."""


@dataclass(frozen=True, slots=True)
class LogView:
    """The logs of one partition side by side over ``[start, end)``."""

    partition: str
    start: int
    end: int
    leader: int
    hw: int
    lanes: tuple[LaneView, ...]
