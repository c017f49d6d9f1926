"""Faults of the control plane: sessions, controllers, quorums, metadata, clocks, and slow followers."""

from typing import Final

from cluster_model.broker.fetch import FetcherDelay
from cluster_model.broker.partition import Replica
from cluster_model.cluster import Cluster
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.spec import FIRST_ZOOKEEPER
from cluster_model.util.quantities import counted
from faults.declarations.fault import (
    HOUR,
    MS,
    SECOND,
    ActiveFault,
    Alias,
    Behaviour,
    ExpectedImpact,
    Fault,
    FaultContext,
    FaultError,
    Param,
    ResolvedTarget,
    table,
)
from faults.declarations.impact import (
    affected_clients,
    is_running,
    losses,
    names,
    quorum_leader,
    quorum_members,
    quorum_name,
    spare_members,
)
from faults.declarations.targets import TARGET_STREAM, between

AHEAD: Final = "ahead"
BEHIND: Final = "behind"
_DAY: Final = 24 * HOUR
_MILLION: Final = 1_000_000


def _off_by(active_fault: ActiveFault, now: int) -> int:
    """Return the offset of the clock in microseconds, negative if behind: the jump plus the drift since then."""
    params = active_fault.params
    off = int(params["by"]) + (now - active_fault.since_us) * int(params["drift"]) // _MILLION
    return off if params["direction"] == AHEAD else -off


class ClockSkew(Behaviour):
    """Wrong wall clock of a machine; a drift is applied in steps of one second."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse a fault with neither a jump nor a drift."""
        del context
        if not resolved.params["by"] and not resolved.params["drift"]:
            raise FaultError("clock_skew needs by or drift, found neither", code="no_skew")

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Set each machine's clock."""
        self._set(context, active_fault, _off_by(active_fault, context.cluster.now_us))

    def on_timer(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Apply the drift of another second."""
        self._set(context, active_fault, _off_by(active_fault, context.cluster.now_us))

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Set the clock back to the correct time."""
        self._step(context.cluster, active_fault, 0)

    def _set(self, context: FaultContext, active_fault: ActiveFault, off_us: int) -> None:
        self._step(context.cluster, active_fault, off_us)
        if active_fault.params["drift"]:
            context.schedule(active_fault, SECOND)

    def _step(self, cluster: Cluster, active_fault: ActiveFault, off_us: int) -> None:
        for node in active_fault.nodes:
            for each in cluster.clients.nodes_of_process(node):
                cluster.network.skew(each, active_fault.id, off_us)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return which partitions retention deletes, and which producers are rejected."""
        ahead = int(resolved.params["by"]) * (1 if resolved.params["direction"] == AHEAD else -1)
        brokers = [node for node in resolved.nodes if node in cluster.brokers]
        deleted = [
            replica.partition
            for node in brokers
            for replica in cluster.brokers[node].replicas.values()
            if _deletes(replica, cluster.now_us, ahead)
        ]
        rejected = _refused(cluster, resolved.nodes, ahead)
        consequences = []
        if deleted:
            known = dict.fromkeys(deleted)
            what = deleted[0] if len(known) == 1 else f"{len(known)} partitions"
            consequences.append(f"its next retention check deletes segments of {what}")
        if rejected:
            consequences.append(f"records of {', '.join(rejected)} are rejected with INVALID_TIMESTAMP")
        direction = AHEAD if ahead >= 0 else BEHIND
        effects = "; ".join(consequences) or "timestamps, and ages computed from them, are off by that"
        return ExpectedImpact(
            f"{names(cluster, resolved.nodes)}: clock {abs(ahead) // 1_000} ms {direction}; {effects}",
            clients=tuple(dict.fromkeys((*rejected, *affected_clients(cluster, resolved.nodes, deleted)))),
        )


def _deletes(replica: Replica, now: int, ahead: int) -> bool:
    """Return whether the oldest segment is expired by the skewed clock but not by the current one."""
    log = replica.log
    rules = log.rules
    oldest = log.segments.all[0]
    if not rules.delete or not rules.by_timestamp or rules.retention_us < 0 or not oldest.size:
        return False
    age = replica.wall_time(now) - oldest.newest_us
    return age <= rules.retention_us < age + ahead


def _refused(cluster: Cluster, nodes: tuple[int, ...], ahead: int) -> tuple[str, ...]:
    """Return the producers whose timestamps a leader would reject, with skewed clocks of either."""
    rejected: dict[str, None] = {}
    clocks = cluster.network.clocks
    by_node = {name: node for node, name in cluster.clients.names.items()}
    for spec in cluster.spec.producers:
        producer = by_node[spec.name]
        for partition, record in cluster.cluster_state.records.items():
            if partition.rpartition("-")[0] != spec.topic or record.leader not in cluster.brokers:
                continue
            rules = cluster.brokers[record.leader].replicas[partition].log.rules
            apart = clocks.of(producer).ahead_us - clocks.of(record.leader).ahead_us
            apart += ahead * ((producer in nodes) - (record.leader in nodes))
            if not rules.log_append_time and not -rules.oldest_us <= apart <= rules.newest_us:
                rejected[spec.name] = None
    return tuple(rejected)


CLOCK_FAULTS: Final = table(
    Fault(
        name="clock_skew",
        letter="K",
        title="clock skew",
        family="control plane",
        summary="The machine's wall clock jumps ahead or back, and back again when healed. Record timestamps, "
        "retention, compaction lags, lookups by time and the timeouts for which Kafka uses Time.milliseconds are "
        "affected; timers and everything on a monotonic clock are not.",
        params=(
            Param("by", "duration", "How far the clock jumps.", default=2 * HOUR, high=3_650 * _DAY),
            Param(
                "direction", "choice", "Whether the clock is ahead or behind.", default=AHEAD, choices=(AHEAD, BEHIND)
            ),
            Param(
                "drift",
                "percent",
                "How much faster the clock runs from then on; how much slower, if it is behind.",
                default=0,
                high=_MILLION // 2,
            ),
        ),
        accepts="hosts",
        is_lasting=True,
        heals="the clock jumps back to the correct time; records deleted or rejected meanwhile stay so",
        glyph="◴",
        colour="warning",
        cause="no NTP, a virtual machine that was suspended or migrated, a wrong time zone in the hardware clock",
        may_break="retention, which deletes segments too early or never; producers, whose records are rejected with "
        "INVALID_TIMESTAMP; the ISR, transactions and group members that a jump times out",
        aliases=(
            Alias("clock_jump"),
            Alias("bump_time"),
        ),
        behaviour=ClockSkew(),
        example="leader(orders-0)",
    ),
)
"""Faults by name."""


# Expired sessions and controller failovers.


def _refuse_without_decider(cluster: Cluster) -> None:
    if quorum_leader(cluster) == NO_LEADER or spare_members(cluster, quorum_members(cluster)) < 0:
        raise FaultError(
            f"{quorum_name(cluster)} has no leader with a majority now, which this fault needs",
            code="no_leader_with_majority",
        )


class SessionExpiry(Behaviour):
    """Expiry of brokers' sessions while their processes are healthy."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Require a leader of the control plane, and a live session of each broker."""
        _refuse_without_decider(context.cluster)
        for node in resolved.nodes:
            if not context.cluster.plane.is_live(node):
                raise FaultError(f"{context.cluster.name_of(node)} has no session to expire", code="no_session")

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Expire each session."""
        for node in active_fault.nodes:
            context.cluster.plane.expire_session(node)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return which leaderships move, and how the broker returns."""
        if not all(cluster.plane.is_live(node) for node in resolved.nodes):
            return ExpectedImpact(f"nothing: {names(cluster, resolved.nodes)} has no session to expire")
        moved, offline, under = losses(cluster, resolved.nodes)
        leads = len(moved) + len(offline)
        loses = f"loses {leads} leadership{'s' if leads > 1 else ''}" if leads else "leads no partition"
        if not cluster.profile.kraft and cluster.plane.active() in resolved.nodes:
            loses += ", loses the controller role"
        back = "its next heartbeat unfences it" if cluster.profile.kraft else "it registers again when it learns of it"
        clients = affected_clients(cluster, resolved.nodes, (*moved, *offline, *under))
        return ExpectedImpact(f"{names(cluster, resolved.nodes)} {loses}; {back}", moved, offline, under, clients)


class ControllerFailover(Behaviour):
    """Resignation of the active controller, followed by an election."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Require the target to be the active controller."""
        cluster = context.cluster
        if resolved.nodes != (cluster.plane.active(),):
            raise FaultError(
                f"the target must be the active controller alone, found {names(cluster, resolved.nodes)}",
                code="not_the_active_controller",
            )
        _refuse_without_decider(cluster)

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Depose the controller."""
        del active_fault
        context.cluster.plane.resign_controller()

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return which nodes may be elected."""
        if resolved.nodes != (cluster.plane.active(),):
            return ExpectedImpact(f"nothing: {names(cluster, resolved.nodes)} is not the active controller")
        candidates = sum(is_running(cluster, node) for node in cluster.plane.controllers())
        event = "resigns its epoch" if cluster.profile.kraft else "loses /controller"
        successor = (
            f"one of {candidates} nodes is elected, possibly itself"
            if candidates > 1
            else "it is elected again, as the only one"
        )
        return ExpectedImpact(f"{names(cluster, resolved.nodes)} {event}; {successor}; leaders and ISRs do not change")


CONTROLLER_FAULTS: Final = table(
    Fault(
        name="session_expiry",
        letter="E",
        title="session expiry",
        family="control plane",
        summary="The broker is fenced at once although its process is healthy. In ZooKeeper mode the ensemble expires "
        "its session, so its ephemeral nodes disappear and it registers again when ZooKeeper next answers it. In "
        "KRaft mode the active controller fences it as if its heartbeats were late, and its next heartbeat unfences "
        "it.",
        params=(),
        accepts="brokers",
        is_lasting=False,
        heals="",
        glyph="◌",
        colour="warning",
        cause="a session that an operator closes, an overloaded ensemble or controller that handles pings too late",
        may_break="the partitions it leads, which move to other brokers while it still believes it leads them; in "
        "ZooKeeper mode also the controller role, if the broker has it",
        behaviour=SessionExpiry(),
        example="leader(orders-0)",
    ),
    Fault(
        name="controller_failover",
        letter="O",
        title="controller failover",
        family="control plane",
        summary="The active controller resigns although its process is healthy, and a new election is held, which it "
        "may win. In ZooKeeper mode an operator deletes /controller; in KRaft mode the quorum leader resigns its "
        "epoch.",
        params=(),
        accepts="controllers",
        is_lasting=False,
        heals="",
        glyph="♛",
        colour="warning",
        cause="an operator who moves the controller, a quorum leader that lost contact with the other voters",
        may_break="operations in progress; ISR changes and elections, which wait until the new controller is active",
        behaviour=ControllerFailover(),
        target="controller",
    ),
)
"""Faults by name."""


# Slow followers: busy fetcher threads.


class SlowFollower(Behaviour):
    """Extra handling time for every response to a replica fetcher."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Require every target to follow the given partition, if any."""
        partition = str(resolved.params["partition"])
        for node in resolved.nodes if partition else ():
            if partition not in _followed(context.cluster, node, partition):
                raise FaultError(
                    f"{context.cluster.name_of(node)} does not follow {partition}, so it does not fetch it",
                    code="not_a_follower",
                )

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Handle responses later from now on."""
        params = active_fault.params
        busy = FetcherDelay(int(params["extra"]), int(params["throughput"]), str(params["partition"]))
        for node in active_fault.nodes:
            context.cluster.broker_faults.slow_fetchers(node, active_fault.id, busy)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Handle responses at once from now on."""
        for node in active_fault.nodes:
            context.cluster.broker_faults.quicken_fetchers(node, active_fault.id)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return whether the follower stays in the ISR."""
        cluster_state, params = cluster.cluster_state, resolved.params
        in_sync = [
            name for node in resolved.nodes for name in _followed(cluster, node, str(params["partition"]))
            if node in cluster_state.records[name].isr
        ]  # fmt: skip
        followed = tuple(dict.fromkeys(in_sync))
        under = tuple(
            name
            for name in followed
            if sum(each not in resolved.nodes for each in cluster_state.records[name].isr)
            < cluster_state.effective_min_isr(name)
        )
        what = followed[0] if len(followed) == 1 else f"{len(followed)} partitions"
        shown = names(cluster, resolved.nodes)
        if not followed:
            return ExpectedImpact(f"{shown} is a follower in no ISR")
        # A follower counts as caught up as of its last fetch but one, so it may take two rounds.
        if any(2 * int(params["extra"]) > _lag_time_us(cluster, name) for name in followed):
            short = f"; {len(under)} would be under min.insync.replicas" if under else ""
            return ExpectedImpact(
                f"{shown} leaves the ISR of {what} after replica.lag.time.max.ms{short}",
                under_min_isr=under, clients=affected_clients(cluster, (), followed),
            )  # fmt: skip
        return ExpectedImpact(
            f"{shown} stays in the ISR of {what} while it keeps up; acks=all waits for it",
            clients=affected_clients(cluster, (), followed),
        )


def _followed(cluster: Cluster, node: int, partition: str) -> list[str]:
    """Return the partitions that a broker follows: all, or those of the fetcher thread of the given one."""
    records = cluster.cluster_state.records
    mine = [name for name, record in records.items() if node in record.assignment and record.leader not in (node, -1)]
    if not partition:
        return mine
    return [name for name in mine if partition in mine and records[name].leader == records[partition].leader]


def _lag_time_us(cluster: Cluster, partition: str) -> int:
    """Return ``replica.lag.time.max.ms`` of the leader in microseconds."""
    replica = cluster.cluster_state.committed_leader(partition)
    return replica.config.lag_time_us if replica is not None else 0


SLOW_FOLLOWER_FAULTS: Final = table(
    Fault(
        name="slow_follower",
        letter="S",
        title="slow follower",
        family="processes",
        summary="The target's replica fetcher threads are busy: each handles a response of its leader late and sends "
        "the next fetch only after that.",
        params=(
            Param("extra", "duration", "Added to the handling of every response.", default=500 * MS),
            Param("throughput", "throughput", "Maximum throughput of a thread; 0: unlimited.", default=0),
            Param(
                "partition",
                "partition",
                "Only the thread that fetches this partition; all threads by default.",
                default="",
            ),
        ),
        accepts="brokers",
        is_lasting=True,
        heals="later responses are handled at once, and the replicas catch up",
        glyph="»",
        colour="warning",
        cause="too few num.replica.fetchers, a busy CPU, a slow disk on a follower, recompression",
        may_break="latency of acks=all; the ISR once a replica has not caught up for replica.lag.time.max.ms",
        behaviour=SlowFollower(),
    ),
)
"""Faults by name."""


# Loss of the majority of a quorum or an ensemble.


CRASH: Final = "crash"
PAUSE: Final = "pause"
PARTITION: Final = "partition"


class QuorumLoss(Behaviour):
    """Failure of just enough members, including the leader, to lose the majority."""

    def ends(self, active_fault: ActiveFault) -> bool:
        """Return whether the members crash."""
        return bool(active_fault.params["method"] == CRASH)

    def holds(self, active_fault: ActiveFault) -> bool:
        """Return whether the members are paused."""
        return bool(active_fault.params["method"] == PAUSE)

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Choose the members at random; in ZooKeeper mode brokers select their ensemble."""
        cluster = context.cluster
        group, what = quorum_members(cluster), quorum_name(cluster)
        brokers = not cluster.profile.kraft and all(node < FIRST_ZOOKEEPER for node in resolved.nodes)
        candidates = [
            node for node in (group if brokers else resolved.nodes) if node in group and is_running(cluster, node)
        ]
        needed = spare_members(cluster, group) + 1
        if needed <= 0:
            raise FaultError(f"{what} has lost its majority already", code="no_majority")
        if len(candidates) < needed:
            known = names(cluster, candidates) or "none"
            raise FaultError(
                f"{what} loses its majority only with {needed} running members; the target has {known}",
                code="too_few_members",
            )
        leader = quorum_leader(cluster)
        chosen = [leader] if leader in candidates else []
        others = [node for node in candidates if node not in chosen]
        stream = cluster.stream(TARGET_STREAM)
        while len(chosen) < needed:
            chosen.append(others.pop(stream.below(len(others))))
        nodes = tuple(sorted(chosen))
        links = between(nodes, cluster.nodes(), "both") if resolved.params["method"] == PARTITION else ()
        return ResolvedTarget(nodes, resolved.params, links)

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Crash, pause or isolate each member."""
        cluster = context.cluster
        for source, target in active_fault.links:
            cluster.cut(source, target, active_fault.id)
        for node in active_fault.nodes:
            if active_fault.params["method"] == CRASH:
                context.release_process(node)
                cluster.crash(node)
            elif active_fault.params["method"] == PAUSE:
                context.pause(active_fault, node)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Restart, resume or reconnect each member."""
        for source, target in active_fault.links:
            context.cluster.heal_cut(source, target, active_fault.id)
        for node in active_fault.nodes:
            if active_fault.params["method"] == PAUSE:
                context.unpause(active_fault, node)
            elif active_fault.params["method"] == CRASH and not context.cluster.is_up(node):
                context.restart(node)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact: no elections or ISR changes, and no leader for partitions of affected brokers."""
        affected = [node for node in resolved.nodes if node in quorum_members(cluster) and is_running(cluster, node)]
        needed = spare_members(cluster, quorum_members(cluster)) + 1
        if len(affected) < needed:
            return ExpectedImpact(
                f"nothing: {quorum_name(cluster)} loses its majority only with {needed} running members"
            )
        offline = tuple(
            partition for partition, record in cluster.cluster_state.records.items() if record.leader in resolved.nodes
        )  # No controller is left to elect another leader.
        under = losses(cluster, resolved.nodes)[2]
        short = tuple(partition for partition in under if partition not in offline)
        held = f"; {counted(len(offline), 'partition')} without a leader" if offline else ""
        return ExpectedImpact(
            f"{quorum_name(cluster)} loses its majority with {names(cluster, resolved.nodes)}: no elections, no ISR "
            f"changes, no new topics; leaders continue{held}",
            (),
            offline,
            short,
            affected_clients(cluster, resolved.nodes, offline),
            down=tuple(node for node in resolved.nodes if node in cluster.brokers),
            quorum_lost=True,
        )


QUORUM_FAULTS: Final = table(
    Fault(
        name="quorum_loss",
        letter="Q",
        title="quorum loss",
        family="control plane",
        summary="The quorum loses its majority: just enough controllers, in ZooKeeper mode servers of the ensemble, "
        "fail, including the leader; the others are chosen at random (by the seed).",
        params=(
            Param(
                "method",
                "choice",
                "How they fail: they crash, are paused, or are isolated from all other nodes.",
                default=PAUSE,
                choices=(CRASH, PAUSE, PARTITION),
                old="how",
            ),
        ),
        accepts="plane",
        is_lasting=True,
        heals="the affected nodes restart, resume or are reconnected; a leader is elected",
        glyph="∅",
        colour="alarm",
        cause="loss of a zone with most of the controllers, a bad rollout to all of them, full disks",
        may_break="elections and ISR changes, which wait: a leader that crashes now is not replaced, and acks=all "
        "waits for a follower that crashes",
        behaviour=QuorumLoss(),
        default_duration_us=30 * SECOND,
        target="controllers",
    ),
)
"""Faults by name."""


# Stale metadata: delayed or withheld, while everything else continues.


ALL: Final = "all"
CACHE: Final = "cache"


class StaleMetadata(Behaviour):
    """Delay of metadata updates to the target."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse ``requests: cache`` in KRaft mode: only ZooKeeper mode separates a broker's cache and roles."""
        cluster = context.cluster
        brokers = [node for node in resolved.nodes if node in cluster.brokers]
        if resolved.params["requests"] == CACHE and cluster.profile.kraft and brokers:
            raise FaultError(
                "requests: cache requires ZooKeeper mode; a KRaft broker has its cache and roles from one log",
                code="no_cache_in_kraft",
            )

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Delay updates from now on."""
        cluster, delay = context.cluster, int(active_fault.params["delay"])
        for node in active_fault.nodes:
            if node in cluster.brokers:
                cache_only = active_fault.params["requests"] == CACHE
                cluster.plane.delay_metadata(node, active_fault.id, delay, cache_only=cache_only)
            else:
                for metadata in cluster.clients.metadata_of(node):
                    metadata.delay_metadata(active_fault.id, delay)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Deliver updates again; delayed ones take effect at once."""
        cluster = context.cluster
        for node in active_fault.nodes:
            if node in cluster.brokers:
                cluster.plane.stop_delaying_metadata(node, active_fault.id)
            else:
                for metadata in cluster.clients.metadata_of(node):
                    metadata.stop_delay(active_fault.id)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return which roles a broker keeps that others may take."""
        delay = int(resolved.params["delay"])
        when = f"{delay // 1_000} ms late" if delay else "only when healed"
        leads = [
            partition
            for partition, record in cluster.cluster_state.records.items()
            if record.leader in resolved.nodes and resolved.params["requests"] == ALL
        ]
        zombie = ""
        if leads:
            known = leads[0] if len(leads) == 1 else f"{len(leads)} partitions"
            zombie = f"; if another leader is elected, it continues to lead {known}"
        return ExpectedImpact(
            f"{names(cluster, resolved.nodes)} learns of new leaders {when}{zombie}",
            clients=affected_clients(cluster, resolved.nodes, leads),
        )


METADATA_FAULTS: Final = table(
    Fault(
        name="stale_metadata",
        letter="M",
        title="stale metadata",
        family="control plane",
        summary="Metadata updates about leaders, replicas and brokers take effect late at the target, or not until "
        "healed, while heartbeats, fetches and records continue. A KRaft broker does not apply records of the "
        "metadata log; a ZooKeeper broker delays the controller's requests; a client receives an old snapshot.",
        params=(
            Param("delay", "duration", "How late updates take effect; 0: not until healed.", default=0),
            Param(
                "requests",
                "choice",
                "What a broker in ZooKeeper mode delays: all requests of the controller, or only UpdateMetadata, so "
                "that it leads and follows as instructed but reports old leaders to clients.",
                default=ALL,
                choices=(ALL, CACHE),
                old="what",
            ),
        ),
        accepts="hosts",
        is_lasting=True,
        heals="delayed updates take effect at once, in order; a client's next metadata response is current",
        glyph="◷",
        colour="warning",
        cause="a stuck metadata loader or request handler, a full control-plane queue, a client that asks a broker "
        "with outdated metadata",
        may_break="nodes that still believe in a replaced leader: a broker continues as leader and acknowledges "
        "acks=1 records that are lost; clients send to the wrong broker and retry",
        behaviour=StaleMetadata(),
        example="leader(orders-0)",
    ),
)
"""Faults by name."""
