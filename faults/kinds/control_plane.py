"""Faults of the control plane: sessions, controllers, quorums, metadata, clocks, and lagging replicas."""

from typing import Final

from cluster_model.broker.fetch import Busy
from cluster_model.broker.partition import Replica
from cluster_model.cluster import Cluster
from cluster_model.protocol.messages import NOBODY
from cluster_model.spec import FIRST_ZOOKEEPER
from faults.declarations.fault import (
    HOUR,
    MS,
    SECOND,
    Aim,
    Alias,
    Behaviour,
    ExpectedImpact,
    Fault,
    FaultContext,
    FaultError,
    Injury,
    Param,
    table,
)
from faults.declarations.impact import group_of, hit, leader_of_group, losses, names, runs, spare, what_it_is
from faults.declarations.targets import TARGETS, between

AHEAD: Final = "ahead"
BEHIND: Final = "behind"
_DAY: Final = 24 * HOUR
_MILLION: Final = 1_000_000


def _off_by(injury: Injury, now: int) -> int:
    """µs, negative behind: what it was set by, and what it has drifted since."""
    params = injury.params
    off = int(params["by"]) + (now - injury.since_us) * int(params["drift"]) // _MILLION
    return off if params["direction"] == AHEAD else -off


class ClockSkew(Behaviour):
    """The machine's clock is set; a drift is steps of a second."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """A clock that is neither off nor drifts is right."""
        del stage
        if not aim.params["by"] and not aim.params["drift"]:
            raise FaultError("clock_skew needs by or drift, found neither", code="no_skew")

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Set each machine's clock."""
        self._set(stage, injury, _off_by(injury, stage.cluster.now_us))

    def woken(self, stage: FaultContext, injury: Injury) -> None:
        """It has drifted for another second."""
        self._set(stage, injury, _off_by(injury, stage.cluster.now_us))

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Set it right."""
        self._step(stage.cluster, injury, 0)

    def _set(self, stage: FaultContext, injury: Injury, off_us: int) -> None:
        self._step(stage.cluster, injury, off_us)
        if injury.params["drift"]:
            stage.wake(injury, SECOND)

    def _step(self, cluster: Cluster, injury: Injury, off_us: int) -> None:
        for node in injury.nodes:
            for each in cluster.clients.together(node):
                cluster.network.skew(each, injury.id, off_us)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What its retention deletes, and whose records are refused."""
        ahead = int(aim.params["by"]) * (1 if aim.params["direction"] == AHEAD else -1)
        brokers = [node for node in aim.nodes if node in cluster.brokers]
        doomed = [
            replica.partition
            for node in brokers
            for replica in cluster.brokers[node].replicas.values()
            if _deletes(replica, cluster.now_us, ahead)
        ]
        refused = _refused(cluster, aim.nodes, ahead)
        found = []
        if doomed:
            known = dict.fromkeys(doomed)
            what = doomed[0] if len(known) == 1 else f"{len(known)} partitions"
            found.append(f"its next look at retention.ms deletes segments of {what}")
        if refused:
            found.append(f"records of {', '.join(refused)} are refused with INVALID_TIMESTAMP")
        way = AHEAD if ahead >= 0 else BEHIND
        told = "; ".join(found) or "timestamps, and ages that go by them, are off by it"
        return ExpectedImpact(
            f"{names(cluster, aim.nodes)}: clock {abs(ahead) // 1_000} ms {way}; {told}",
            clients=tuple(dict.fromkeys((*refused, *hit(cluster, aim.nodes, doomed)))),
        )


def _deletes(replica: Replica, now: int, ahead: int) -> bool:
    """Whether the oldest segment would be too old by such a clock, and is not by the one that is."""
    log = replica.log
    rules = log.rules
    oldest = log.segments.all[0]
    if not rules.delete or not rules.by_timestamp or rules.retention_us < 0 or not oldest.size:
        return False
    age = replica.wall_time(now) - oldest.newest_us
    return age <= rules.retention_us < age + ahead


def _refused(cluster: Cluster, nodes: tuple[int, ...], ahead: int) -> tuple[str, ...]:
    """Producers whose timestamps a leader would not take: theirs or the leader's clock is among those that are set."""
    found: dict[str, None] = {}
    clocks = cluster.network.clocks
    by_node = {name: node for node, name in cluster.clients.names.items()}
    for spec in cluster.spec.producers:
        producer = by_node[spec.name]
        for partition, record in cluster.world.records.items():
            if partition.rpartition("-")[0] != spec.topic or record.leader not in cluster.brokers:
                continue
            rules = cluster.brokers[record.leader].replicas[partition].log.rules
            apart = clocks.of(producer).ahead_us - clocks.of(record.leader).ahead_us
            apart += ahead * ((producer in nodes) - (record.leader in nodes))
            if not rules.log_append_time and not -rules.oldest_us <= apart <= rules.newest_us:
                found[spec.name] = None
    return tuple(found)


CLOCK_FAULTS: Final = table(
    Fault(
        name="clock_skew",
        letter="K",
        title="clock skew",
        family="control plane",
        summary="The machine's wall clock jumps ahead or back, and back again when healed: timestamps of records, "
        "retention, compaction lags, look-ups by time and the timeouts that Kafka reckons by Time.milliseconds go by "
        "it; timers and whatever goes by a monotonic clock do not.",
        params=(
            Param("by", "duration", "How far it jumps.", default=2 * HOUR, high=3_650 * _DAY),
            Param("direction", "choice", "Which way it is off.", default=AHEAD, choices=(AHEAD, BEHIND)),
            Param(
                "drift",
                "percent",
                "How much faster, or slower if it is behind, it goes from then on.",
                default=0,
                high=_MILLION // 2,
            ),
        ),
        accepts="hosts",
        lasting=True,
        heals="the clock jumps back to the right time; what was deleted or refused by the wrong one stays so",
        glyph="◴",
        colour="warning",
        cause="no NTP, a virtual machine that was suspended or moved, a wrong time zone in the hardware clock",
        may_break="retention, which deletes segments before their time or never; producers that are refused with "
        "INVALID_TIMESTAMP; the ISR, transactions and members that are timed out by a jump",
        aliases=(
            Alias("clock_jump"),
            Alias("bump_time"),
        ),
        behaviour=ClockSkew(),
        example="leader(orders-0)",
    ),
)
"""Faults by name."""


# Expired sessions, and controllers that lose their role.


def _refuse_without_decider(cluster: Cluster) -> None:
    if leader_of_group(cluster) == NOBODY or spare(cluster, group_of(cluster)) < 0:
        raise FaultError(
            f"{what_it_is(cluster)} has no leader with a majority now, so nobody can do it",
            code="no_leader_with_majority",
        )


class SessionExpiry(Behaviour):
    """Brokers are given up at once."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Somebody must be there to give up a broker that is counted on."""
        _refuse_without_decider(stage.cluster)
        for node in aim.nodes:
            if not stage.cluster.plane.is_live(node):
                raise FaultError(f"{stage.cluster.name_of(node)} has no session that could expire", code="no_session")

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """End each session."""
        for node in injury.nodes:
            stage.cluster.plane.expire_session(node)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Whose leaderships go, and how the broker comes back."""
        if not all(cluster.plane.is_live(node) for node in aim.nodes):
            return ExpectedImpact(f"nothing: {names(cluster, aim.nodes)} has no session that could end")
        moved, offline, under = losses(cluster, aim.nodes)
        leads = len(moved) + len(offline)
        loses = f"loses {leads} leadership{'s' if leads > 1 else ''}" if leads else "leads nothing"
        if not cluster.profile.kraft and cluster.plane.active() in aim.nodes:
            loses += ", the controller's office too"
        back = "its next heartbeat unfences it" if cluster.profile.kraft else "it registers anew once it is told"
        clients = hit(cluster, aim.nodes, (*moved, *offline, *under))
        return ExpectedImpact(f"{names(cluster, aim.nodes)} {loses}; {back}", moved, offline, under, clients)


class ControllerFailover(Behaviour):
    """The office is taken from who has it."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Only who has the office can lose it."""
        cluster = stage.cluster
        if aim.nodes != (cluster.plane.active(),):
            raise FaultError(
                f"{names(cluster, aim.nodes)} is not the active controller alone", code="not_the_active_controller"
            )
        _refuse_without_decider(cluster)

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Take it away."""
        del injury
        stage.cluster.plane.depose_controller()

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Who may follow."""
        if aim.nodes != (cluster.plane.active(),):
            return ExpectedImpact(f"nothing: {names(cluster, aim.nodes)} is not the active controller")
        able = sum(runs(cluster, node) for node in cluster.plane.controllers())
        how = "resigns its epoch" if cluster.profile.kraft else "loses /controller"
        who = f"one of {able} is elected, itself among them" if able > 1 else "it is elected again, being the only one"
        return ExpectedImpact(f"{names(cluster, aim.nodes)} {how}; {who}; leaders and ISRs stay as they are")


CONTROLLER_FAULTS: Final = table(
    Fault(
        name="session_expiry",
        letter="E",
        title="session expiry",
        family="control plane",
        summary="The broker is given up at once, its process being well: in ZooKeeper mode the ensemble ends its "
        "session, so that its ephemeral nodes go and it registers anew when it next hears from ZooKeeper; in KRaft "
        "mode the active controller fences it as if its heartbeats had been late, and its next heartbeat unfences it.",
        params=(),
        accepts="brokers",
        lasting=False,
        heals="",
        glyph="◌",
        colour="warning",
        cause="a session that an operator closes, an overloaded ensemble or controller that handles pings too late",
        may_break="its leaderships, which go to others while it still believes in them; in ZooKeeper mode the "
        "controller, if it is the broker",
        behaviour=SessionExpiry(),
        example="leader(orders-0)",
    ),
    Fault(
        name="controller_failover",
        letter="O",
        title="controller failover",
        family="control plane",
        summary="The active controller loses its office though its process is well, and another election is held, "
        "which it may win: in ZooKeeper mode an operator deletes /controller, in KRaft mode the quorum's leader "
        "resigns its epoch.",
        params=(),
        accepts="controllers",
        lasting=False,
        heals="",
        glyph="♛",
        colour="warning",
        cause="an operator who moves the controller, a leader of the quorum that lost touch with the other voters",
        may_break="operations under way; ISR changes and elections wait until the new controller has taken over",
        behaviour=ControllerFailover(),
        target="controller",
    ),
)
"""Faults by name."""


# Slow followers: their fetcher threads are busy.


class SlowFollower(Behaviour):
    """Time on top of every answer to a replica fetcher."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """The partition, if one is named, must be one that every target follows."""
        partition = str(aim.params["partition"])
        for node in aim.nodes if partition else ():
            if partition not in _followed(stage.cluster, node, partition):
                raise FaultError(
                    f"{stage.cluster.name_of(node)} does not follow {partition}, so it fetches none of it",
                    code="not_a_follower",
                )

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Answers that come from here on are handled later."""
        params = injury.params
        busy = Busy(int(params["extra"]), int(params["throughput"]), str(params["partition"]))
        for node in injury.nodes:
            stage.cluster.harm.slow_fetchers(node, injury.id, busy)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Answers that come from then on are handled at once."""
        for node in injury.nodes:
            stage.cluster.harm.quicken_fetchers(node, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Whether the ISR waits for it, or does without."""
        world, params = cluster.world, aim.params
        touched = [
            name for node in aim.nodes for name in _followed(cluster, node, str(params["partition"]))
            if node in world.records[name].isr
        ]  # fmt: skip
        followed = tuple(dict.fromkeys(touched))
        under = tuple(
            name
            for name in followed
            if sum(each not in aim.nodes for each in world.records[name].isr) < world.effective_min_isr(name)
        )
        what = followed[0] if len(followed) == 1 else f"{len(followed)} partitions"
        who = names(cluster, aim.nodes)
        if not followed:
            return ExpectedImpact(f"{who} follows nobody in any ISR")
        # A follower counts as caught up as of its last fetch but one: two rounds are what it may take.
        if any(2 * int(params["extra"]) > _lag_time_us(cluster, name) for name in followed):
            short = f"; {len(under)} would be under min.insync.replicas" if under else ""
            return ExpectedImpact(
                f"{who} leaves the ISR of {what} after replica.lag.time.max.ms{short}",
                under_min_isr=under, clients=hit(cluster, (), followed),
            )  # fmt: skip
        return ExpectedImpact(
            f"{who} stays in the ISR of {what} while it keeps up; acks=all waits for it",
            clients=hit(cluster, (), followed),
        )


def _followed(cluster: Cluster, node: int, partition: str) -> list[str]:
    """Partitions that a broker follows: all, or those of the fetcher that is meant, in which the named one is."""
    records = cluster.world.records
    mine = [name for name, record in records.items() if node in record.assignment and record.leader not in (node, -1)]
    if not partition:
        return mine
    return [name for name in mine if partition in mine and records[name].leader == records[partition].leader]


def _lag_time_us(cluster: Cluster, partition: str) -> int:
    """``replica.lag.time.max.ms`` of the leader."""
    replica = cluster.world.true_leader(partition)
    return replica.config.lag_time_us if replica is not None else 0


SLOW_FOLLOWER_FAULTS: Final = table(
    Fault(
        name="slow_follower",
        letter="S",
        title="slow follower",
        family="processes",
        summary="The target's replica fetcher threads are busy: each handles an answer of its leader so much later, "
        "and asks again only then.",
        params=(
            Param("extra", "duration", "Added to the handling of every answer.", default=500 * MS),
            Param("throughput", "throughput", "What a thread handles at most; 0: as much as comes.", default=0),
            Param("partition", "partition", "Only the thread that fetches this one; all by default.", default=""),
        ),
        accepts="brokers",
        lasting=True,
        heals="answers that come from then on are handled at once, and the replicas catch up",
        glyph="»",
        colour="warning",
        cause="too few num.replica.fetchers, a busy processor, a slow disk under a follower, recompression",
        may_break="latency of acks=all; the ISR once a replica has not caught up for replica.lag.time.max.ms",
        behaviour=SlowFollower(),
    ),
)
"""Faults by name."""


# A quorum or an ensemble without a majority.


CRASH: Final = "crash"
PAUSE: Final = "pause"
PARTITION: Final = "partition"


class QuorumLoss(Behaviour):
    """As many members are struck as it takes, the leader among them."""

    def ends(self, injury: Injury) -> bool:
        """Where they die."""
        return bool(injury.params["how"] == CRASH)

    def holds(self, injury: Injury) -> bool:
        """Where they stand still."""
        return bool(injury.params["how"] == PAUSE)

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """Draw who is struck; in ZooKeeper mode brokers stand for the ensemble that they depend on."""
        cluster = stage.cluster
        group, what = group_of(cluster), what_it_is(cluster)
        brokers = not cluster.profile.kraft and all(node < FIRST_ZOOKEEPER for node in aim.nodes)
        able = [node for node in (group if brokers else aim.nodes) if node in group and runs(cluster, node)]
        needed = spare(cluster, group) + 1
        if needed <= 0:
            raise FaultError(f"{what} has no majority already", code="no_majority")
        if len(able) < needed:
            known = names(cluster, able) or "nobody"
            raise FaultError(
                f"{needed} running members must go before {what} loses its majority, named is {known}",
                code="too_few_members",
            )
        leader = leader_of_group(cluster)
        struck = [leader] if leader in able else []
        others = [node for node in able if node not in struck]
        stream = cluster.stream(TARGETS)
        while len(struck) < needed:
            struck.append(others.pop(stream.below(len(others))))
        nodes = tuple(sorted(struck))
        links = between(nodes, cluster.nodes(), "both") if aim.params["how"] == PARTITION else ()
        return Aim(nodes, aim.params, links)

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Strike each, in the way that was asked for."""
        cluster = stage.cluster
        for source, target in injury.links:
            cluster.cut(source, target, injury.id)
        for node in injury.nodes:
            if injury.params["how"] == CRASH:
                stage.take_away(node)
                cluster.crash(node)
            elif injury.params["how"] == PAUSE:
                stage.pause(injury, node)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Bring each back."""
        for source, target in injury.links:
            stage.cluster.mend(source, target, injury.id)
        for node in injury.nodes:
            if injury.params["how"] == PAUSE:
                stage.unpause(injury, node)
            elif injury.params["how"] == CRASH and not stage.cluster.is_up(node):
                stage.restart(node)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Nothing changes any more; brokers that go with their controllers leave their partitions leaderless."""
        struck = [node for node in aim.nodes if node in group_of(cluster) and runs(cluster, node)]
        needed = spare(cluster, group_of(cluster)) + 1
        if len(struck) < needed:
            return ExpectedImpact(f"nothing: {needed} running members must go before {what_it_is(cluster)} is lost")
        offline = tuple(
            partition for partition, record in cluster.world.records.items() if record.leader in aim.nodes
        )  # Nobody is there to elect another.
        under = losses(cluster, aim.nodes)[2]
        short = tuple(partition for partition in under if partition not in offline)
        held = f"; {len(offline)} partitions go with their leaders" if offline else ""
        return ExpectedImpact(
            f"{what_it_is(cluster)} loses its majority with {names(cluster, aim.nodes)}: no elections, no ISR "
            f"changes, no topics; leaders serve on{held}",
            (),
            offline,
            short,
            hit(cluster, aim.nodes, offline),
            down=tuple(node for node in aim.nodes if node in cluster.brokers),
            quorum_lost=True,
        )


QUORUM_FAULTS: Final = table(
    Fault(
        name="quorum_loss",
        letter="Q",
        title="quorum loss",
        family="control plane",
        summary="As many controllers, in ZooKeeper mode servers of the ensemble, are struck as it takes to leave no "
        "majority, their leader among them, the others drawn by the seed.",
        params=(
            Param(
                "how",
                "choice",
                "What befalls them: they die, stand still, or hear nobody and are heard by nobody.",
                default=PAUSE,
                choices=(CRASH, PAUSE, PARTITION),
            ),
        ),
        accepts="plane",
        lasting=True,
        heals="those that were struck start, go on, or hear the others again; a leader is elected",
        glyph="∅",
        colour="alarm",
        cause="a zone with most of the controllers that is lost, a bad rollout to all of them, full disks under them",
        may_break="elections and ISR changes, which wait: a leader that dies now has no successor, and a follower "
        "that dies is waited for by acks=all",
        behaviour=QuorumLoss(),
        usual_for_us=30 * SECOND,
        target="controllers",
    ),
)
"""Faults by name."""


# Stale metadata: late or withheld, while everything else continues.


ALL: Final = "all"
CACHE: Final = "cache"


class StaleMetadata(Behaviour):
    """News of the cluster are held back from the target."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Only ZooKeeper mode tells the cache and the roles of a broker apart."""
        cluster = stage.cluster
        brokers = [node for node in aim.nodes if node in cluster.brokers]
        if aim.params["what"] == CACHE and cluster.profile.kraft and brokers:
            raise FaultError(
                "what: cache is for ZooKeeper mode; a KRaft broker has cache and roles from one log",
                code="no_cache_in_kraft",
            )

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Hold them back from now on."""
        cluster, delay = stage.cluster, int(injury.params["delay"])
        for node in injury.nodes:
            if node in cluster.brokers:
                cache_only = injury.params["what"] == CACHE
                cluster.plane.hold_metadata(node, injury.id, delay, cache_only=cache_only)
            else:
                for metadata in cluster.clients.metadata_of(node):
                    metadata.hear_late(injury.id, delay)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Let them through; what waits is taken up at once."""
        cluster = stage.cluster
        for node in injury.nodes:
            if node in cluster.brokers:
                cluster.plane.pass_metadata(node, injury.id)
            else:
                for metadata in cluster.clients.metadata_of(node):
                    metadata.hear(injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What it goes on believing."""
        delay = int(aim.params["delay"])
        when = f"{delay // 1_000} ms late" if delay else "not until healed"
        leads = [
            partition
            for partition, record in cluster.world.records.items()
            if record.leader in aim.nodes and aim.params["what"] == ALL
        ]
        zombie = ""
        if leads:
            known = leads[0] if len(leads) == 1 else f"{len(leads)} partitions"
            zombie = f"; whoever else is elected meanwhile, it goes on leading {known}"
        return ExpectedImpact(
            f"{names(cluster, aim.nodes)} hears of new leaders {when}{zombie}",
            clients=hit(cluster, aim.nodes, leads),
        )


METADATA_FAULTS: Final = table(
    Fault(
        name="stale_metadata",
        letter="M",
        title="stale metadata",
        family="control plane",
        summary="News of leaders, replicas and brokers take effect late at the target, or not until healed, while "
        "heartbeats, fetches and records go on: a KRaft broker does not apply the metadata log's records; a ZooKeeper "
        "broker keeps the controller's requests waiting; a client is answered from an old snapshot.",
        params=(
            Param("delay", "duration", "How late they take effect; 0: not until healed.", default=0),
            Param(
                "what",
                "choice",
                "What a broker in ZooKeeper mode keeps waiting: all of the controller's requests, or UpdateMetadata "
                "alone, so that it leads and follows as it is told while it tells clients of old leaders.",
                default=ALL,
                choices=(ALL, CACHE),
            ),
        ),
        accepts="hosts",
        lasting=True,
        heals="what waits is taken up at once, in order; a client's next answer is a new one",
        glyph="◷",
        colour="warning",
        cause="a metadata loader or a request handler that is stuck, a full control-plane queue, a client that asks a "
        "broker which is behind",
        may_break="who believes in a leader that was replaced: a broker goes on as one, and acknowledges acks=1 that "
        "is lost; clients go to the wrong broker and try again",
        behaviour=StaleMetadata(),
        example="leader(orders-0)",
    ),
)
"""Faults by name."""
