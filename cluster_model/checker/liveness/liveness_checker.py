"""Checker of all liveness properties: which obligations are pending, since when, and which are overdue.

A check covers all partitions. It runs on events of the trace: at most every :data:`MIN_CHECK_INTERVAL_US` after a rare
event; otherwise at most every :data:`LOAD_CHECK_INTERVAL_US`, when the next obligation falls due or
:data:`MAX_CHECK_INTERVAL_US` after the last check; and once more at the end. Times are virtual and the events are the
model's own, so the results do not depend on how a session is advanced. Events that a playbook adds do not trigger a
check.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.liveness import properties
from cluster_model.checker.liveness.deadlines import NEVER_US
from cluster_model.checker.liveness.partition_state import (
    ClusterProperty,
    LivenessContext,
    LivenessProperty,
    PartitionContext,
    PartitionProperty,
    PendingObligation,
    partition_context,
)
from cluster_model.checker.liveness.properties import FailedFetchers
from cluster_model.observation.event_log import PLAYBOOK_KINDS
from cluster_model.observation.views import PendingLiveness
from cluster_model.protocol.events import (
    AssignmentChanged,
    BecameFollower,
    BecameLeader,
    BrokerConfigChanged,
    BrokerFenced,
    BrokerRegistered,
    ControllerChanged,
    ElrChanged,
    Event,
    FaultHealed,
    FaultInjected,
    HwAdvanced,
    InvariantViolated,
    IsrChanged,
    LeaderElected,
    LivenessViolated,
    NodeDown,
    NodePaused,
    NodeResumed,
    NodeUp,
    PartitionCreated,
    PartitionDeleted,
    PartitionOffline,
    RecordsLost,
    RecordsMissing,
    ReplicaDeleted,
    TopicConfigChanged,
    TraceEvent,
    Truncated,
)

MIN_CHECK_INTERVAL_US: Final = 100_000
"""Minimum time between two checks after rare events, in microseconds."""
LOAD_CHECK_INTERVAL_US: Final = 1_000_000
"""Minimum time between two checks under load while a disturbance is active or an obligation falls due."""
MAX_CHECK_INTERVAL_US: Final = 5_000_000
"""Maximum time between two checks while no disturbance is active and nothing falls due before."""

PROPERTIES: Final[tuple[LivenessProperty, ...]] = (
    properties.ACTIVE_CONTROLLER,
    properties.LEADER_ELECTED,
    properties.ISR_REJOINED,
    properties.HW_REACHES_LEO,
    properties.FOLLOWER_HW,
    properties.DELAYED_REQUESTS_ANSWERED,
    properties.FETCHER_RESUMES,
    properties.ALTER_PARTITION,
    properties.PREFERRED_LEADER,
    properties.CONVERGENCE,
)
NAMES: Final = tuple(each.name for each in PROPERTIES)

_OWN_EVENTS: Final = (LivenessViolated, InvariantViolated, RecordsMissing, RecordsLost)
"""Events that the checker adds itself, possibly during a check."""

_DECISIONS: Final = (
    LeaderElected, IsrChanged, PartitionOffline, ElrChanged, AssignmentChanged, BecameLeader, BecameFollower, Truncated,
)  # fmt: skip

_RELEVANT: Final = (
    *_DECISIONS, NodeDown, NodeUp, NodePaused, NodeResumed, FaultInjected, FaultHealed, ControllerChanged, BrokerFenced,
    BrokerRegistered, PartitionCreated, PartitionDeleted, ReplicaDeleted, TopicConfigChanged, BrokerConfigChanged,
)  # fmt: skip
"""Events that may change the pending obligations; none is caused by clients alone."""

_BRIEF: Final = (properties.HW_REACHES_LEO.name, properties.FOLLOWER_HW.name)
"""Properties that are pending briefly after every record; at the end they count as not evaluated only if it lasts."""

_WITHOUT_GRACE: Final = properties.LEADER_ELECTED.name
"""The property that the end of a process triggers: it needs no grace, since the session expires in any case."""


class LivenessChecker:
    """Liveness checker of one cluster. ``emit`` adds :class:`LivenessViolated` events to the trace."""

    __slots__ = (
        "_decided", "_emit", "_expected_counts", "_failed", "_idle", "_next_rare_us", "_of_cluster", "_of_partition",
        "_reported", "_since", "context", "next_us", "overdue", "pending_liveness",
    )  # fmt: skip

    def __init__(self, context: LivenessContext, emit: Callable[[Event], None]) -> None:
        self.context = context
        self._emit = emit
        self._failed = FailedFetchers()
        self._of_cluster: dict[str, ClusterProperty] = {
            properties.ACTIVE_CONTROLLER.name: properties.find_missing_controller,
            properties.DELAYED_REQUESTS_ANSWERED.name: properties.find_unanswered_requests,
        }
        self._of_partition: dict[str, PartitionProperty] = {
            properties.LEADER_ELECTED.name: properties.find_missing_leaders,
            properties.ISR_REJOINED.name: properties.find_followers_outside_isr,
            properties.HW_REACHES_LEO.name: properties.find_uncommitted_tails,
            properties.FOLLOWER_HW.name: properties.find_stale_follower_watermarks,
            properties.FETCHER_RESUMES.name: self._failed.find,
            properties.ALTER_PARTITION.name: properties.find_undecided_proposals,
            properties.PREFERRED_LEADER.name: properties.find_unpreferred_leaders,
            properties.CONVERGENCE.name: properties.find_divergent_followers,
        }
        self._since: dict[tuple[Any, ...], int] = {}
        """(property, partition, broker, token) of obligations pending at the last check → when first observed."""
        self._reported: dict[tuple[Any, ...], None] = {}
        """Pending obligations that were reported as overdue."""
        self._idle: dict[str, tuple[PartitionContext, Replica, int]] = {}
        """Idle, fully replicated partitions with their leader and log end offset, which need no new check."""
        self._decided: dict[str, int] = {}
        """Partition → when the last decision about it was made or applied."""
        self.next_us = 0
        """Time from which the next frequent event triggers a check."""
        self._next_rare_us = 0
        """Time from which the next rare event triggers a check."""
        self.overdue: dict[str, int] = {}
        """Property → number of overdue reports."""
        self._expected_counts: dict[str, int] = {}
        """Property → number of overdue reports that are known for the version."""
        self.pending_liveness: tuple[PendingLiveness, ...] = ()
        """Obligations pending at the end whose deadline had not passed: not evaluated."""

    def observe(self, event: TraceEvent) -> None:
        """Handle a rare event, after the cluster state has changed."""
        if isinstance(event, _OWN_EVENTS) or event.kind in PLAYBOOK_KINDS:
            return
        at_us: int = event.at_us  # type: ignore[attr-defined]
        if not isinstance(event, _RELEVANT):
            if at_us >= self.next_us:
                self.check(at_us)
            return
        self._idle.clear()
        self.context.disturbances.observe(event)
        if isinstance(event, _DECISIONS):
            self._decided[event.partition] = at_us
        elif isinstance(event, TopicConfigChanged):
            self._decided = dict.fromkeys(self.context.cluster_state.records, at_us)
        if isinstance(event, IsrChanged):
            self._rejoined(event)
        elif isinstance(event, PartitionDeleted):
            self._failed.forget(event.partition)
            self._decided.pop(event.partition, None)
            self.context.hw_moved.pop(event.partition, None)
        if at_us >= self._next_rare_us:
            self.check(at_us)
        else:
            self.next_us = self._next_rare_us

    def hw_advanced(self, event: HwAdvanced) -> None:
        """Handle an HW advance of a leader."""
        self.context.hw_moved[event.partition] = event.at_us
        if event.at_us >= self.next_us:
            self.check(event.at_us)

    def _rejoined(self, event: IsrChanged) -> None:
        """Drop the rejoin obligations of replicas that are or were in the ISR: their deadlines restart."""
        rejoined = properties.ISR_REJOINED.name
        dropped = [
            key
            for key in self._since
            if key[:2] == (rejoined, event.partition) and (key[2] in event.isr or key[2] in event.previous_isr)
        ]
        for key in dropped:
            del self._since[key]

    def check(self, now: int) -> list[PendingLiveness]:
        """Check all properties, report overdue obligations, and return those whose deadline has not passed."""
        self.context.update(now)
        seen: dict[tuple[Any, ...], int] = {}
        overdue: list[tuple[tuple[Any, ...], PendingObligation, int]] = []
        open_yet: list[PendingLiveness] = []
        for name, obligation in self._pending():
            key = (name, obligation.partition, obligation.broker, obligation.token)
            since = self._since.get(key, -1)
            if since < 0:
                since = (
                    now
                    if obligation.since_us < 0
                    else max(obligation.since_us, self._decided.get(obligation.partition, 0))
                )
            seen[key] = since
            if key not in self._reported:
                from_us = self._counts_from(name, obligation, since)
                remaining_us = from_us + obligation.bound_us - now
                if remaining_us <= 0:
                    overdue.append((key, obligation, from_us))
                else:
                    remaining_us = remaining_us if obligation.bound_us < NEVER_US else -1
                    open_yet.append(
                        PendingLiveness(name, obligation.partition, obligation.broker, now - since, remaining_us)
                    )
        watchful = self._failed or self.context.disturbances.is_disturbed(now)
        falls_due_us = min(
            [each.remaining_us for each in open_yet if each.remaining_us >= 0], default=MAX_CHECK_INTERVAL_US
        )
        self._next_rare_us = now + MIN_CHECK_INTERVAL_US
        self.next_us = now + (
            LOAD_CHECK_INTERVAL_US
            if watchful
            else min(max(falls_due_us, LOAD_CHECK_INTERVAL_US), MAX_CHECK_INTERVAL_US)
        )
        self._since = seen
        self._reported = {key: None for key in self._reported if key in seen}
        for key, obligation, from_us in overdue:
            self._reported[key] = None
            self.overdue[key[0]] = self.overdue.get(key[0], 0) + 1
            if obligation.known:
                self._expected_counts[key[0]] = self._expected_counts.get(key[0], 0) + 1
            detail = obligation.text.format(*obligation.text_arguments)
            explanation, bound_us = obligation.known, obligation.bound_us
            self._emit(
                LivenessViolated(
                    now, key[0], obligation.partition, obligation.broker, detail, from_us, bound_us, explanation
                )
            )  # fmt: skip
        return open_yet

    def _counts_from(self, name: str, obligation: PendingObligation, since: int) -> int:
        calm = self.context.disturbances.undisturbed_since(
            obligation.scope, obligation.grace_us, processes_too=name != _WITHOUT_GRACE
        )  # fmt: skip
        return max(since, calm) if obligation.bound_us else since

    def _pending(self) -> Iterator[tuple[str, PendingObligation]]:
        context = self.context
        for name, of_cluster in self._of_cluster.items():
            for obligation in of_cluster(context):
                yield name, obligation
        for name in context.cluster_state.records:
            partition = self._idle_state(name)
            if partition is None:
                partition = partition_context(context, name)
                if partition.leader is None or not _is_idle(partition) or self._failed.watches(name):
                    yield from self._pending_of(partition)
                    continue
                self._idle[name] = (partition, partition.leader, partition.leader.log.leo)
            if partition.state.leader != partition.state.replicas[0]:
                for obligation in properties.find_unpreferred_leaders(context, partition):
                    yield properties.PREFERRED_LEADER.name, obligation

    def _pending_of(self, partition: PartitionContext) -> Iterator[tuple[str, PendingObligation]]:
        for name, of_partition in self._of_partition.items():
            for obligation in of_partition(self.context, partition):
                yield name, obligation

    def count(self, name: str | None = None, *, unexpected: bool = False) -> int:
        """Return the number of overdue reports of one property or all; ``unexpected``: without those that are known."""
        total = sum(self.overdue.values()) if name is None else self.overdue.get(name, 0)
        known = sum(self._expected_counts.values()) if name is None else self._expected_counts.get(name, 0)
        return total - known if unexpected else total

    def _idle_state(self, partition: str) -> PartitionContext | None:
        """Return a partition's cached state if it is still idle and fully replicated, else None."""
        known = self._idle.get(partition)
        if known is None:
            return None
        partition_state, leader, leo = known
        unchanged = (
            leader.log.leo == leo == leader.hw
            and partition_state.state is self.context.cluster_state.records[partition].state
        )
        return partition_state if unchanged else None

    def close(self, now: int) -> None:
        """End the session: check a last time and set :attr:`pending_liveness`."""
        self.pending_liveness = tuple(
            [
                each
                for each in self.check(now)
                if each.property not in _BRIEF or each.pending_us >= LOAD_CHECK_INTERVAL_US
            ]
        )

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (
            self.context.disturbances.save(), self._failed.save(), tuple(self._since.items()), tuple(self._reported),
            (self.next_us, self._next_rare_us), tuple(self.overdue.items()), tuple(self._expected_counts.items()),
            tuple(self._decided.items()),
            tuple(self.context.hw_moved.items()),
            self.pending_liveness,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        disturbances, failed, since, reported, (self.next_us, self._next_rare_us), overdue, *tables = saved
        explanations, decided, moved, self.pending_liveness = tables
        self._idle.clear()
        self.context.disturbances.load(disturbances)
        self._failed.load(failed)
        self._since, self._reported = dict(since), dict.fromkeys(reported)
        self.overdue, self._expected_counts = dict(overdue), dict(explanations)
        self._decided, self.context.hw_moved = dict(decided), dict(moved)


def _is_idle(partition: PartitionContext) -> bool:
    """Return whether only the preferred-leader property can be pending: all replicas in sync and caught up."""
    state, leader = partition.state, partition.leader
    if leader is None or len(state.isr) != len(state.replicas):
        return False
    log, hw = leader.log, leader.hw
    if hw != log.leo or partition.leadership.pending is not None or len(partition.replicas) != len(state.replicas):
        return False
    return all(
        replica is leader
        or (
            replica.hw == hw
            and replica.log.extents == log.extents
            and replica.log.epochs.entries == log.epochs.entries
            and (replica.following is None or not replica.following.failed)
        )
        for replica in partition.replicas.values()
    )
