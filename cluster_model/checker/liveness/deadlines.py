"""Deadlines of liveness properties: disturbances of a cluster, and how long each property may take after them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from cluster_model.kernel.link import GIVEN_UP_US
from cluster_model.kernel.network import Network
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.configs import (
    FIRST_REBALANCE_US,
    RECONNECT_MAX_US,
    BrokerConfig,
    ControllerSettings,
    QuorumConfig,
    ZkControllerSettings,
    ZkSettings,
)
from cluster_model.protocol.events import (
    POWER_LOSS,
    ControllerChanged,
    FaultHealed,
    FaultInjected,
    NodeDown,
    NodePaused,
    NodeResumed,
    NodeUp,
    TraceEvent,
)
from cluster_model.spec.cluster_spec import ClusterSpec

# Disturbances of a cluster and when they last occurred: the deadline of every obligation starts after the last one.
#
# Only brokers, controllers, ZooKeeper servers and the links between them count, not clients. A process that is down is
# no lasting disturbance: only its end and its start are.
#
# After a *silent* disturbance peers keep waiting until their own timeouts, because no connection was closed: a cut or
# lossy link, a pause, and the loss of a machine. All others end when they end.


FaultTargets = Callable[[], Iterable[tuple[int, ...]]]
"""Callable that returns the targets of active faults: nodes as ``(node,)``, links as ``(one, other)``."""

LONG_AGO = -(1 << 62)


class Disturbances:
    """Disturbances of one cluster's server nodes and their links. Times are virtual microseconds."""

    __slots__ = (
        "_changed",
        "_controllers",
        "_disturbed",
        "_elected_us",
        "_links",
        "_names",
        "_network",
        "_new_faults",
        "_powered_off",
        "_silent",
        "fault_targets",
        "is_slowed",
    )  # fmt: skip

    def __init__(self, network: Network, nodes: Iterable[int], unwell: Callable[[int], bool]) -> None:
        """``unwell`` returns whether anything other than a pause slows a node down."""
        self._network = network
        self._names = {network.processes[node].name: node for node in nodes}
        self.is_slowed = unwell
        self.fault_targets: FaultTargets = tuple
        """Set by the fault injector; without it only faults visible in the cluster state count."""
        self._changed: dict[int, int] = {}
        """Node → when its process last ended or started."""
        self._disturbed: dict[int, int] = {}
        """Node → when any other disturbance was last observed."""
        self._silent: dict[int, int] = {}
        """Node → when it was last paused, which closes no connection."""
        self._powered_off: dict[int, int] = {}
        """Node → when its machine last lost power, which closes no connection either."""
        self._links: dict[tuple[int, int], int] = {}
        """Link → when a disturbance was last observed; the smaller node first."""
        self._controllers: dict[int, int] = {}
        """Node → when it was last observed as the active controller."""
        self._new_faults: list[tuple[int, tuple[int, ...]]] = []
        """(time, nodes) of faults just injected, which may only end processes."""
        self._elected_us = LONG_AGO
        """When a controller was last elected."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """Brokers and nodes of the control plane."""
        return tuple(self._names.values())

    def observe(self, event: TraceEvent) -> None:
        """Update the disturbances by a rare event."""
        if self._new_faults:
            self._resolve_new_faults()
        if isinstance(event, NodeDown | NodeUp):
            if event.node in self._names:
                self._changed[self._names[event.node]] = event.at_us
                if isinstance(event, NodeDown) and event.detail == POWER_LOSS:
                    self._powered_off[self._names[event.node]] = event.at_us
        elif isinstance(event, NodePaused | NodeResumed):
            if event.node in self._names:
                self._disturbed[self._names[event.node]] = self._silent[self._names[event.node]] = event.at_us
        elif isinstance(event, FaultInjected):
            self._new_faults.append((event.at_us, self._nodes_named(event.target)))
        elif isinstance(event, FaultHealed):
            self._mark_disturbed(event.at_us, [node for node in self._nodes_named(event.target) if self.runs(node)])
        elif isinstance(event, ControllerChanged):
            self._elected_us = event.at_us

    def _nodes_named(self, target: str) -> tuple[int, ...]:
        return tuple([self._names[name] for name in target.split(", ") if name in self._names])

    def _resolve_new_faults(self) -> None:
        """Mark running targets of new faults as disturbed; a process that ended has an event of its own."""
        new_faults, self._new_faults = self._new_faults, []
        for at_us, nodes in new_faults:
            self._mark_disturbed(at_us, [node for node in nodes if self.runs(node)])

    def _mark_disturbed(self, now: int, nodes: Iterable[int]) -> None:
        for node in nodes:
            self._disturbed[node] = max(now, self._disturbed.get(node, LONG_AGO))

    def link_changed(self, one: int, other: int, now: int) -> None:
        """Record that a fault of a link began or ended."""
        known = self._names.values()
        if one in known and other in known:
            self._links[min(one, other), max(one, other)] = now

    def runs(self, node: int) -> bool:
        """Return whether a node's process is running and not paused."""
        return self._network.processes[node].state is ProcessState.RUNNING

    def connected(self, one: int, other: int) -> bool:
        """Return whether no partition cuts the link between two nodes, in either direction."""
        return not (self._network.is_cut(one, other) or self._network.is_cut(other, one))

    def incarnation_of(self, node: int) -> int:
        """Return the incarnation of a node's process."""
        return self._network.processes[node].incarnation

    def update(self, now: int) -> None:
        """Record the nodes and links that are disturbed at time ``now``."""
        if self._new_faults and self._new_faults[0][0] < now:
            self._resolve_new_faults()
        processes, node_names = self._network.processes, self._names.values()
        for node in node_names:
            state = processes[node].state
            if state is ProcessState.PAUSED:
                self._disturbed[node] = self._silent[node] = now
            elif state is ProcessState.RUNNING and self.is_slowed(node):
                self._disturbed[node] = now
        for one, other in self._network.disturbed_links():
            self.link_changed(one, other, now)
        for target in self.fault_targets():
            if len(target) > 1:
                self.link_changed(target[0], target[1], now)
            elif target[0] in node_names and self.runs(target[0]):
                self._disturbed[target[0]] = now

    def note_controller(self, node: int, now: int) -> None:
        """Record that a node is the active controller."""
        self._controllers[node] = now

    def recent_controllers(self, since_us: int) -> tuple[int, ...]:
        """Return the nodes that were active controller since a time; brokers may still wait for their responses."""
        return tuple([node for node, seen_us in self._controllers.items() if seen_us >= since_us])

    def is_disturbed(self, now: int) -> bool:
        """Return whether any disturbance is active at ``now``, the time of the last :meth:`update`."""
        return bool(self._new_faults) or any(
            now in table.values() for table in (self._disturbed, self._links)
        )  # fmt: skip

    def are_undisturbed(self, nodes: Iterable[int], now: int) -> bool:
        """Return whether the nodes run, undisturbed like their links, at ``now``, the time of the last look."""
        return all(self.runs(node) for node in nodes) and self._disturbed_us(tuple(nodes)) < now

    def _disturbed_us(self, scope: tuple[int, ...]) -> int:
        return max(_last(self._disturbed, scope), self._links_us(scope))

    def _links_us(self, scope: tuple[int, ...]) -> int:
        if not self._links:
            return LONG_AGO
        links = self._links
        return max([links.get(pair, LONG_AGO) for pair in combinations(sorted(dict.fromkeys(scope)), 2)] or [LONG_AGO])

    def undisturbed_since(self, scope: tuple[int, ...], grace_us: int, *, processes_too: bool) -> int:
        """Return since when no disturbance has affected the nodes; silent ones last ``grace_us`` longer.

        A controller election restarts every deadline, as does the start or end of a process. The loss of a machine
        counts as silent only if ``processes_too``.
        """
        silent = max(self._links_us(scope), _last(self._silent, scope))
        if processes_too:
            silent = max(silent, _last(self._powered_off, scope))
        return max(_last(self._disturbed, scope), silent + grace_us, _last(self._changed, scope), self._elected_us)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        tables = (self._changed, self._disturbed, self._silent, self._powered_off, self._links, self._controllers)
        return (*[tuple(table.items()) for table in tables], tuple(self._new_faults), self._elected_us)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        changed, disturbed, silent, powered_off, links, controllers, new_faults, self._elected_us = saved
        self._changed, self._disturbed, self._links = dict(changed), dict(disturbed), dict(links)
        self._silent, self._powered_off, self._controllers = dict(silent), dict(powered_off), dict(controllers)
        self._new_faults = list(new_faults)


def _last(table: dict[int, int], nodes: tuple[int, ...]) -> int:
    return max([table.get(node, LONG_AGO) for node in nodes]) if table and nodes else LONG_AGO


# Deadlines of each property in whole microseconds, from the effective configuration and the version.
#
# Consecutive waits are added up, and of two possible values the greater one is taken: a false alarm is worse than a
# late one.


SECOND: Final = 1_000_000
ELECTIONS: Final = 5
"""Number of election rounds allowed for, with split votes and back-offs."""
ROUND_TRIPS: Final = 20
"""Round trips that a controller's decision may take, including its commit and propagation."""
NEVER_US: Final = 1 << 50
"""A deadline that is never reached, in microseconds."""


@dataclass(frozen=True, slots=True)
class LivenessDeadlines:
    """Deadlines of the liveness properties of one cluster, in microseconds."""

    controller_us: int
    """Until there is an active controller.

    KRaft: a follower's fetch timeout, a request timeout, and a few elections of two timeouts and a back-off each.
    ZooKeeper: the ensemble elects a leader, synchronizes and restarts every session; the session of the former
    controller expires, and the next controller loads its state.
    """
    leader_us: int
    """Until a partition without a leader has one: the session timeout, and a second for the controller's work.

    In ZooKeeper mode sessions expire at ticks, and elections are queued with the controller's other events.
    """
    unclean_check_us: int
    """Additional time for an unclean election: the interval at which KRaft controllers check for it, from 3.9 on; 0:
    they do not."""
    informed_us: int
    """Until brokers have applied committed metadata: metadata fetches of half a second (KRaft), or requests one after
    another (ZooKeeper)."""
    rejoin_us: int
    """Until a caught-up follower is proposed for the ISR: metadata propagation and a few fetches.

    A pending proposal is an obligation of its own, :attr:`proposal_us`.
    """
    lag_us: int
    """``replica.lag.time.max.ms``: a caught-up follower out of the ISR may hold the high watermark back that long; up
    to 0.10.1, where it does not, load may keep it from catching up."""
    commit_us: int
    """Until the high watermark is at the log end offset: three fetches."""
    follower_us: int
    """Until a follower has its leader's high watermark: ``replica.fetch.wait.max.ms`` and a fetch."""
    delayed_us: int
    """How long a delayed request may exceed its own timeout."""
    proposal_us: int
    """Until an ISR proposal is answered or superseded by newer metadata."""
    preferred_us: int
    """Until the preferred replica leads again: the rebalance interval and an election; 0: the task is off."""
    converge_us: int
    """Until a follower's log equals its leader's: :attr:`rejoin_us` and a few fetches."""
    silence_us: int
    """Until no peer waits for a lost response any more: the longest of all timeouts. Only after silent disturbances."""

    @staticmethod
    def of(spec: ClusterSpec) -> "LivenessDeadlines":
        """Return the deadlines for a cluster's specification."""
        profile, config = spec.profile, BrokerConfig.of(spec.profile, spec.config)
        trip = 2 * (spec.network.latency_us + spec.network.jitter_us)
        work = SECOND + ROUND_TRIPS * trip
        fetch = config.fetch_wait_us + config.fetch_backoff_us + 2 * trip
        if config.socket_timeout_us <= config.fetch_wait_us + 2 * trip:
            # An idle fetch times out before it is answered, as may requests to the controller: Kafka rejects such a
            # configuration.
            fetch = NEVER_US
        if profile.kraft:
            controller_us, leader_us, informed_us, rebalance_us = _kraft(spec, config, trip, work)
        else:
            controller_us, leader_us, informed_us, rebalance_us = _zookeeper(spec, config, work)
        sweep_us = ControllerSettings.of(profile, spec.config).unclean_us if profile.kraft else 0
        proposal_us = informed_us + 4 * SECOND + work if fetch < NEVER_US else NEVER_US
        rejoin_us = informed_us + 3 * fetch
        return LivenessDeadlines(
            controller_us=controller_us,
            leader_us=leader_us,
            unclean_check_us=sweep_us,
            informed_us=informed_us,
            rejoin_us=rejoin_us,
            lag_us=config.lag_time_us,
            commit_us=informed_us + 3 * fetch,
            follower_us=informed_us + 2 * fetch,
            delayed_us=SECOND + trip,
            proposal_us=proposal_us,
            preferred_us=rebalance_us + FIRST_REBALANCE_US + leader_us if rebalance_us else 0,
            converge_us=rejoin_us + 4 * fetch,
            silence_us=max(config.socket_timeout_us, GIVEN_UP_US, config.session_us) + fetch + work,
        )


def _kraft(spec: ClusterSpec, config: BrokerConfig, trip: int, work: int) -> tuple[int, int, int, int]:
    quorum = QuorumConfig.of(spec.profile, spec.config)
    election = 2 * quorum.election_timeout_us + quorum.backoff_max_us + RECONNECT_MAX_US + 4 * trip
    controller_us = quorum.fetch_timeout_us + quorum.request_timeout_us + ELECTIONS * election + work
    informed_us = quorum.request_timeout_us + work
    return (
        controller_us,
        config.session_us + work,
        informed_us,
        ControllerSettings.of(spec.profile, spec.config).rebalance_us,
    )


def _zookeeper(spec: ClusterSpec, config: BrokerConfig, work: int) -> tuple[int, int, int, int]:
    ensemble = ZkSettings()
    session = min(max(config.session_us, ensemble.min_session_us), ensemble.max_session_us) + 2 * ensemble.tick_us
    formed = (ensemble.init_limit + ensemble.sync_limit) * ensemble.tick_us
    work += 4 * SECOND
    return (
        formed + 2 * session + work,
        session + work,
        work,
        ZkControllerSettings.of(spec.profile, spec.config).rebalance_us,
    )
