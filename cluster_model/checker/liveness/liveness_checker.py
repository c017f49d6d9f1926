"""Checks all liveness properties: which obligations are pending, since when, and which are violated.

A look goes over all partitions; it is taken when an event of the trace comes by, at most every :data:`OFTEN_US` after a
rare event, when the next obligation falls due or :data:`QUIET_US` after the last look, at most every :data:`SELDOM_US`
otherwise, and once more at the close. Both are virtual times and the events are
the model's own, so what is noticed and when does not depend on how a session is advanced. What a playbook did or found
is no event of the model, and nothing is looked at then.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.liveness import properties
from cluster_model.checker.liveness.deadlines import NEVER_US
from cluster_model.checker.liveness.partition_state import (
    LivenessContext,
    LivenessProperty,
    OfCluster,
    OfPartition,
    Owed,
    PartitionContext,
    scene_of,
)
from cluster_model.checker.liveness.properties import FailedFetchers
from cluster_model.observation.event_log import NARRATION
from cluster_model.observation.views import Unjudged
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
    LivenessOverdue,
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

OFTEN_US: Final = 100_000
"""Between two looks when much happens."""
SELDOM_US: Final = 1_000_000
"""Between two looks while records come and go, and something disturbs or falls due."""
QUIET_US: Final = 5_000_000
"""Between two looks while nothing disturbs anybody, and nothing falls due before."""

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

_OWN: Final = (LivenessOverdue, InvariantViolated, RecordsMissing, RecordsLost)
"""What the checker adds itself: it may come in the middle of a look."""

_DECISIONS: Final = (
    LeaderElected, IsrChanged, PartitionOffline, ElrChanged, AssignmentChanged, BecameLeader, BecameFollower, Truncated,
)  # fmt: skip

_MATTERS: Final = (
    *_DECISIONS, NodeDown, NodeUp, NodePaused, NodeResumed, FaultInjected, FaultHealed, ControllerChanged, BrokerFenced,
    BrokerRegistered, PartitionCreated, PartitionDeleted, ReplicaDeleted, TopicConfigChanged, BrokerConfigChanged,
)  # fmt: skip
"""Events after which something else may be owed. What clients do is not among them."""

_MOMENTARY: Final = (properties.HW_REACHES_LEO.name, properties.FOLLOWER_HW.name)
"""Owed for a moment after every record: that is no news unless it lasts."""

_WHILE_LEADER_DIES: Final = properties.LEADER_ELECTED.name
"""The one property that a process's end is the occasion of: no peer has to find out first, its session ends anyway."""


class Liveness:
    """Obligations of one cluster. ``emit`` takes what it adds to the trace."""

    __slots__ = (
        "_decided",
        "_emit",
        "_failed",
        "_known",
        "_of_cluster",
        "_of_partition",
        "_reported",
        "_rested_us",
        "_resting",
        "_since",
        "next_us",
        "overdue",
        "sight",
        "unjudged",
    )

    def __init__(self, sight: LivenessContext, emit: Callable[[Event], None]) -> None:
        self.sight = sight
        self._emit = emit
        self._failed = FailedFetchers()
        self._of_cluster: dict[str, OfCluster] = {
            properties.ACTIVE_CONTROLLER.name: properties.find_missing_controller,
            properties.DELAYED_REQUESTS_ANSWERED.name: properties.find_unanswered_requests,
        }
        self._of_partition: dict[str, OfPartition] = {
            properties.LEADER_ELECTED.name: properties.find_missing_leaders,
            properties.ISR_REJOINED.name: properties.find_followers_outside_isr,
            properties.HW_REACHES_LEO.name: properties.find_uncommitted_tails,
            properties.FOLLOWER_HW.name: properties.find_stale_follower_watermarks,
            properties.FETCHER_RESUMES.name: self._failed.owed,
            properties.ALTER_PARTITION.name: properties.find_undecided_proposals,
            properties.PREFERRED_LEADER.name: properties.find_unpreferred_leaders,
            properties.CONVERGENCE.name: properties.find_divergent_followers,
        }
        self._since: dict[tuple[Any, ...], int] = {}
        """(property, partition, broker, token) → when it was first seen, of all that was owed at the last look."""
        self._reported: dict[tuple[Any, ...], None] = {}
        """Those of them that were reported."""
        self._resting: dict[str, tuple[PartitionContext, Replica, int]] = {}
        """Partitions that were at rest, with their leader and its log's end: only to look at fewer."""
        self._decided: dict[str, int] = {}
        """Partition → when something about it was last decided, or taken up."""
        self.next_us = 0
        """When the next frequent event is to have :meth:`look` called."""
        self._rested_us = 0
        """When the next rare event is to."""
        self.overdue: dict[str, int] = {}
        """Reports by property."""
        self._known: dict[str, int] = {}
        """... of which the version is known for."""
        self.unjudged: tuple[Unjudged, ...] = ()
        """What was owed at the close, and not yet due."""

    def observe(self, event: TraceEvent) -> None:
        """A rare event, in the state that it left behind."""
        if isinstance(event, _OWN) or event.kind in NARRATION:
            return
        at_us: int = event.at_us  # type: ignore[attr-defined]
        if not isinstance(event, _MATTERS):
            if at_us >= self.next_us:
                self.look(at_us)
            return
        self._resting.clear()
        self.sight.weather.observe(event)
        if isinstance(event, _DECISIONS):
            self._decided[event.partition] = at_us
        elif isinstance(event, TopicConfigChanged):
            self._decided = dict.fromkeys(self.sight.world.records, at_us)
        if isinstance(event, IsrChanged):
            self._rejoined(event)
        elif isinstance(event, PartitionDeleted):
            self._failed.forget(event.partition)
            self._decided.pop(event.partition, None)
            self.sight.hw_moved.pop(event.partition, None)
        if at_us >= self._rested_us:
            self.look(at_us)
        else:
            self.next_us = self._rested_us

    def hw_advanced(self, event: HwAdvanced) -> None:
        """A leader's high watermark moved."""
        self.sight.hw_moved[event.partition] = event.at_us
        if event.at_us >= self.next_us:
            self.look(event.at_us)

    def _rejoined(self, event: IsrChanged) -> None:
        """Whoever was in the ISR until now owes nothing for before."""
        rejoined = properties.ISR_REJOINED.name
        gone = [
            key
            for key in self._since
            if key[:2] == (rejoined, event.partition) and (key[2] in event.isr or key[2] in event.previous_isr)
        ]
        for key in gone:
            del self._since[key]

    def look(self, now: int) -> list[Unjudged]:
        """See what is owed, and tell what is overdue; what is not yet due is answered."""
        self.sight.look(now)
        seen: dict[tuple[Any, ...], int] = {}
        overdue: list[tuple[tuple[Any, ...], Owed, int]] = []
        open_yet: list[Unjudged] = []
        for name, owed in self._owed():
            key = (name, owed.partition, owed.broker, owed.token)
            since = self._since.get(key, -1)
            if since < 0:
                since = now if owed.since_us < 0 else max(owed.since_us, self._decided.get(owed.partition, 0))
            seen[key] = since
            if key not in self._reported:
                from_us = self._counts_from(name, owed, since)
                missing_us = from_us + owed.bound_us - now
                if missing_us <= 0:
                    overdue.append((key, owed, from_us))
                else:
                    missing_us = missing_us if owed.bound_us < NEVER_US else -1
                    open_yet.append(Unjudged(name, owed.partition, owed.broker, now - since, missing_us))
        watchful = self._failed or self.sight.weather.is_disturbed(now)
        falls_due_us = min([each.missing_us for each in open_yet if each.missing_us >= 0], default=QUIET_US)
        self._rested_us = now + OFTEN_US
        self.next_us = now + (SELDOM_US if watchful else min(max(falls_due_us, SELDOM_US), QUIET_US))
        self._since = seen
        self._reported = {key: None for key in self._reported if key in seen}
        for key, owed, from_us in overdue:
            self._reported[key] = None
            self.overdue[key[0]] = self.overdue.get(key[0], 0) + 1
            if owed.known:
                self._known[key[0]] = self._known.get(key[0], 0) + 1
            detail = owed.words.format(*owed.facts)
            self._emit(
                LivenessOverdue(
                    now, key[0], owed.partition, owed.broker, detail, from_us, owed.bound_us, owed.known
                )
            )  # fmt: skip
        return open_yet

    def _counts_from(self, name: str, owed: Owed, since: int) -> int:
        calm = self.sight.weather.calm_since(
            owed.scope, owed.grace_us, processes_too=name != _WHILE_LEADER_DIES
        )  # fmt: skip
        return max(since, calm) if owed.bound_us else since

    def _owed(self) -> Iterator[tuple[str, Owed]]:
        sight = self.sight
        for name, of_cluster in self._of_cluster.items():
            for owed in of_cluster(sight):
                yield name, owed
        for partition in sight.world.records:
            scene = self._resting_scene(partition)
            if scene is None:
                scene = scene_of(sight, partition)
                if scene.leader is None or not _at_rest(scene) or self._failed.watches(partition):
                    yield from self._owed_of(scene)
                    continue
                self._resting[partition] = (scene, scene.leader, scene.leader.log.leo)
            if scene.state.leader != scene.state.replicas[0]:
                for owed in properties.find_unpreferred_leaders(sight, scene):
                    yield properties.PREFERRED_LEADER.name, owed

    def _owed_of(self, scene: PartitionContext) -> Iterator[tuple[str, Owed]]:
        for name, of_partition in self._of_partition.items():
            for owed in of_partition(self.sight, scene):
                yield name, owed

    def count(self, name: str | None = None, *, unexpected: bool = False) -> int:
        """Reports of one property, or of all; ``unexpected``: but for those that the version is known for."""
        total = sum(self.overdue.values()) if name is None else self.overdue.get(name, 0)
        known = sum(self._known.values()) if name is None else self._known.get(name, 0)
        return total - known if unexpected else total

    def _resting_scene(self, partition: str) -> PartitionContext | None:
        """What a partition looks like, if nothing has happened to it since it was last seen at rest."""
        known = self._resting.get(partition)
        if known is None:
            return None
        scene, leader, leo = known
        still = leader.log.leo == leo == leader.hw and scene.state is self.sight.world.records[partition].state
        return scene if still else None

    def close(self, now: int) -> None:
        """The session ends: a last look, after which :attr:`unjudged` stands."""
        self.unjudged = tuple(
            [each for each in self.look(now) if each.property not in _MOMENTARY or each.owed_us >= SELDOM_US]
        )

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.sight.weather.save(), self._failed.save(), tuple(self._since.items()), tuple(self._reported),
            (self.next_us, self._rested_us), tuple(self.overdue.items()), tuple(self._known.items()),
            tuple(self._decided.items()),
            tuple(self.sight.hw_moved.items()),
            self.unjudged,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        weather, failed, since, reported, (self.next_us, self._rested_us), overdue, *rest = saved
        known, decided, moved, self.unjudged = rest
        self._resting.clear()
        self.sight.weather.load(weather)
        self._failed.load(failed)
        self._since, self._reported = dict(since), dict.fromkeys(reported)
        self.overdue, self._known = dict(overdue), dict(known)
        self._decided, self.sight.hw_moved = dict(decided), dict(moved)


def _at_rest(scene: PartitionContext) -> bool:
    """Whether nothing but its preferred leader can be owed of a partition: all in sync, nobody behind."""
    state, leader = scene.state, scene.leader
    if leader is None or len(state.isr) != len(state.replicas):
        return False
    log, hw = leader.log, leader.hw
    if hw != log.leo or scene.leadership.pending is not None or len(scene.replicas) != len(state.replicas):
        return False
    return all(
        replica is leader
        or (
            replica.hw == hw
            and replica.log.extents == log.extents
            and replica.log.epochs.entries == log.epochs.entries
            and (replica.following is None or not replica.following.failed)
        )
        for replica in scene.replicas.values()
    )
