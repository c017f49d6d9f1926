"""When an obligation is due: what disturbs a cluster, when it last did, and how long each property may take after."""

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
    ControlSettings,
    QuorumConfig,
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

# What disturbs a cluster, and when it last did: the clock of every obligation starts when that is over.
#
# Only what lies between brokers, controllers and ZooKeeper servers counts; clients and their links are none of it. A
# process that is down does not disturb for good: that it went, and that it came back, is what counts.
#
# Most of what disturbs is over when it is over. After some of it peers go on waiting until their own timeouts: what cut
# a link or lost its messages, a pause and a machine's end told nobody that a connection was dead. Only those are
# *silent*.


Strikes = Callable[[], Iterable[tuple[int, ...]]]
"""Tells what lasting faults are done to: nodes as ``(node,)``, links as ``(one, other)``."""

LONG_AGO = -(1 << 62)


class Weather:
    """Of one cluster's serving nodes. Times are virtual microseconds."""

    __slots__ = (
        "_changed", "_doubtful", "_links", "_mended", "_names", "_network", "_offices", "_silent", "_succeeded",
        "_vanished", "strikes", "unwell",
    )  # fmt: skip

    def __init__(self, network: Network, nodes: Iterable[int], unwell: Callable[[int], bool]) -> None:
        """``unwell`` tells whether something other than a pause slows a node down."""
        self._network = network
        self._names = {network.processes[node].name: node for node in nodes}
        self.unwell = unwell
        self.strikes: Strikes = tuple
        """Given by who keeps faults; without, what can be seen of them in the cluster is all there is."""
        self._changed: dict[int, int] = {}
        """Node → when its process last went or came."""
        self._mended: dict[int, int] = {}
        """Node → when anything else was last seen to disturb it."""
        self._silent: dict[int, int] = {}
        """Node → when it last stood still, and left its peers waiting without a word."""
        self._vanished: dict[int, int] = {}
        """Node → when its machine last went, which tells them nothing either."""
        self._links: dict[tuple[int, int], int] = {}
        """The same of links, the smaller node first."""
        self._offices: dict[int, int] = {}
        """Node → when it was last seen to be the active controller."""
        self._doubtful: list[tuple[int, tuple[int, ...]]] = []
        """(when, nodes) of faults that have just been injected: perhaps they only end processes."""
        self._succeeded = LONG_AGO
        """When a controller last took office."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """Brokers and what belongs to the control plane."""
        return tuple(self._names.values())

    def observe(self, event: TraceEvent) -> None:
        """A rare event."""
        if self._doubtful:
            self._settle()
        if isinstance(event, NodeDown | NodeUp):
            if event.node in self._names:
                self._changed[self._names[event.node]] = event.at_us
                if isinstance(event, NodeDown) and event.detail == POWER_LOSS:
                    self._vanished[self._names[event.node]] = event.at_us
        elif isinstance(event, NodePaused | NodeResumed):
            if event.node in self._names:
                self._mended[self._names[event.node]] = self._silent[self._names[event.node]] = event.at_us
        elif isinstance(event, FaultInjected):
            self._doubtful.append((event.at_us, self._named(event.target)))
        elif isinstance(event, FaultHealed):
            self._shake(event.at_us, [node for node in self._named(event.target) if self.runs(node)])
        elif isinstance(event, ControllerChanged):
            self._succeeded = event.at_us

    def _named(self, target: str) -> tuple[int, ...]:
        return tuple([self._names[name] for name in target.split(", ") if name in self._names])

    def _settle(self) -> None:
        """Nodes that a fault hit and that still exist were disturbed; those that are gone have an event for it."""
        doubtful, self._doubtful = self._doubtful, []
        for at_us, nodes in doubtful:
            self._shake(at_us, [node for node in nodes if self.runs(node)])

    def _shake(self, now: int, nodes: Iterable[int]) -> None:
        for node in nodes:
            self._mended[node] = max(now, self._mended.get(node, LONG_AGO))

    def link_changed(self, one: int, other: int, now: int) -> None:
        """Somebody did something to a link, or undid it."""
        known = self._names.values()
        if one in known and other in known:
            self._links[min(one, other), max(one, other)] = now

    def runs(self, node: int) -> bool:
        """Whether a process is there and handles what comes."""
        return self._network.processes[node].state is ProcessState.RUNNING

    def hears(self, one: int, other: int) -> bool:
        """Whether nothing cuts two nodes off from each other."""
        return not (self._network.is_cut(one, other) or self._network.is_cut(other, one))

    def life_of(self, node: int) -> int:
        """Which process of a node it is."""
        return self._network.processes[node].incarnation

    def look(self, now: int) -> None:
        """Note who is disturbed right now."""
        if self._doubtful and self._doubtful[0][0] < now:
            self._settle()
        processes, known = self._network.processes, self._names.values()
        for node in known:
            state = processes[node].state
            if state is ProcessState.PAUSED:
                self._mended[node] = self._silent[node] = now
            elif state is ProcessState.RUNNING and self.unwell(node):
                self._mended[node] = now
        for one, other in self._network.disturbed_links():
            self.link_changed(one, other, now)
        for struck in self.strikes():
            if len(struck) > 1:
                self.link_changed(struck[0], struck[1], now)
            elif struck[0] in known and self.runs(struck[0]):
                self._mended[struck[0]] = now

    def in_office(self, node: int, now: int) -> None:
        """A node is the active controller."""
        self._offices[node] = now

    def lately_in_office(self, since_us: int) -> tuple[int, ...]:
        """Who has been the active controller since then: somebody may still wait for its answer."""
        return tuple([node for node, seen_us in self._offices.items() if seen_us >= since_us])

    def is_disturbed(self, now: int) -> bool:
        """Whether anything disturbs anybody now, the time of the last look."""
        return bool(self._doubtful) or any(
            now in table.values() for table in (self._mended, self._links)
        )  # fmt: skip

    def is_sound(self, nodes: Iterable[int], now: int) -> bool:
        """Whether all of them run and nothing disturbs them or the links between them; ``now`` is of the last look."""
        return all(self.runs(node) for node in nodes) and self._disturbed_us(tuple(nodes)) < now

    def _disturbed_us(self, scope: tuple[int, ...]) -> int:
        return max(_last(self._mended, scope), self._links_us(scope))

    def _links_us(self, scope: tuple[int, ...]) -> int:
        if not self._links:
            return LONG_AGO
        links = self._links
        return max([links.get(pair, LONG_AGO) for pair in combinations(sorted(dict.fromkeys(scope)), 2)] or [LONG_AGO])

    def calm_since(self, scope: tuple[int, ...], grace_us: int, *, processes_too: bool) -> int:
        """Since when nothing has disturbed any of these, ``grace_us`` after what was silent included.

        A controller that takes office starts every clock anew, as does a process that comes or goes. Peers of a
        machine that went have the grace only if ``processes_too``.
        """
        silent = max(self._links_us(scope), _last(self._silent, scope))
        if processes_too:
            silent = max(silent, _last(self._vanished, scope))
        return max(_last(self._mended, scope), silent + grace_us, _last(self._changed, scope), self._succeeded)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        tables = (self._changed, self._mended, self._silent, self._vanished, self._links, self._offices)
        return (*[tuple(table.items()) for table in tables], tuple(self._doubtful), self._succeeded)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        changed, mended, silent, vanished, links, offices, doubtful, self._succeeded = saved
        self._changed, self._mended, self._links = dict(changed), dict(mended), dict(links)
        self._silent, self._vanished, self._offices = dict(silent), dict(vanished), dict(offices)
        self._doubtful = list(doubtful)


def _last(table: dict[int, int], nodes: tuple[int, ...]) -> int:
    return max([table.get(node, LONG_AGO) for node in nodes]) if table and nodes else LONG_AGO


# How long each property may take: whole microseconds, from the configuration in force and the version.
#
# Where several waits can follow one another they are added up, and where a figure is in doubt the greater one is taken:
# an obligation that is met late is worth less than a false alarm.


SECOND: Final = 1_000_000
ELECTIONS: Final = 5
"""Rounds of voting allowed for: split votes, and voters whose back-off is still running."""
ROUNDS: Final = 20
"""Messages there and back that a controller's decision may take, its commit and its propagation included."""
NEVER_US: Final = 1 << 50
"""Longer than any session."""


@dataclass(frozen=True, slots=True)
class LivenessDeadlines:
    """Microseconds, of one cluster."""

    controller_us: int
    """Until there is an active controller.

    KRaft: a follower's fetch timeout, a request that has to time out, and a few elections of two timeouts and a
    back-off each. ZooKeeper: the ensemble elects and synchronizes, gives every session its whole time again, that of
    the controller that is gone ends, and the next one loads.
    """
    leader_us: int
    """Until a partition whose leader is gone has another: the session, and a second for the controller's work.

    In ZooKeeper mode sessions end by ticks, and elections stand in line with all that the controller does.
    """
    sweep_us: int
    """What comes on top where only an unclean election helps: KRaft controllers look every so often, from 3.9 on; 0:
    they do not."""
    told_us: int
    """Until brokers act on what is committed: metadata fetches of half a second (KRaft), requests one after the other
    (ZooKeeper)."""
    rejoin_us: int
    """Until a follower that has what it needs is proposed for the ISR: metadata is there, and a few fetches.

    While the change waits for its answer the obligation is another one, :attr:`proposal_us`.
    """
    lag_us: int
    """``replica.lag.time.max.ms``: so long a follower out of the ISR that is caught up may hold the high watermark
    back, and up to 0.10.1, where it holds nothing back, load may keep it from reaching that."""
    commit_us: int
    """Until the high watermark is at the log's end: two fetches, and one more."""
    follower_us: int
    """Until a follower has its leader's high watermark: ``replica.fetch.wait.max.ms`` and a fetch."""
    parked_us: int
    """What a request may wait beyond its own time."""
    proposal_us: int
    """Until a proposed ISR is answered, or newer metadata has made it void."""
    preferred_us: int
    """Until the preferred replica leads again: the interval of the task, once all through; 0: the task is off."""
    converge_us: int
    """Until a follower's log is its leader's: until it may rejoin, and a few fetches."""
    silence_us: int
    """Until nobody waits any more for an answer that will never come: the longest of all timeouts. Only after what told
    nobody that connections were dead."""

    @staticmethod
    def of(spec: ClusterSpec) -> "LivenessDeadlines":
        """For a cluster as it was built."""
        profile, config = spec.profile, BrokerConfig.of(spec.profile, spec.config)
        trip = 2 * (spec.network.latency_us + spec.network.jitter_us)
        work = SECOND + ROUNDS * trip
        fetch = config.fetch_wait_us + config.fetch_backoff_us + 2 * trip
        if config.socket_timeout_us <= config.fetch_wait_us + 2 * trip:
            # An idle fetch is given up before it is answered, as may be what goes to the controller: Kafka refuses such
            # a configuration.
            fetch = NEVER_US
        if profile.kraft:
            controller_us, leader_us, told_us, rebalance_us = _kraft(spec, config, trip, work)
        else:
            controller_us, leader_us, told_us, rebalance_us = _zookeeper(spec, config, work)
        sweep_us = ControllerSettings.of(profile, spec.config).unclean_us if profile.kraft else 0
        proposal_us = told_us + 4 * SECOND + work if fetch < NEVER_US else NEVER_US
        rejoin_us = told_us + 3 * fetch
        return LivenessDeadlines(
            controller_us=controller_us,
            leader_us=leader_us,
            sweep_us=sweep_us,
            told_us=told_us,
            rejoin_us=rejoin_us,
            lag_us=config.lag_time_us,
            commit_us=told_us + 3 * fetch,
            follower_us=told_us + 2 * fetch,
            parked_us=SECOND + trip,
            proposal_us=proposal_us,
            preferred_us=rebalance_us + FIRST_REBALANCE_US + leader_us if rebalance_us else 0,
            converge_us=rejoin_us + 4 * fetch,
            silence_us=max(config.socket_timeout_us, GIVEN_UP_US, config.session_us) + fetch + work,
        )


def _kraft(spec: ClusterSpec, config: BrokerConfig, trip: int, work: int) -> tuple[int, int, int, int]:
    quorum = QuorumConfig.of(spec.profile, spec.config)
    election = 2 * quorum.election_timeout_us + quorum.backoff_max_us + RECONNECT_MAX_US + 4 * trip
    controller_us = quorum.fetch_timeout_us + quorum.request_timeout_us + ELECTIONS * election + work
    told_us = quorum.request_timeout_us + work
    return (
        controller_us,
        config.session_us + work,
        told_us,
        ControllerSettings.of(spec.profile, spec.config).rebalance_us,
    )


def _zookeeper(spec: ClusterSpec, config: BrokerConfig, work: int) -> tuple[int, int, int, int]:
    ensemble = ZkSettings()
    session = min(max(config.session_us, ensemble.min_session_us), ensemble.max_session_us) + 2 * ensemble.tick_us
    formed = (ensemble.init_limit + ensemble.sync_limit) * ensemble.tick_us
    work += 4 * SECOND
    return formed + 2 * session + work, session + work, work, ControlSettings.of(spec.profile, spec.config).rebalance_us
