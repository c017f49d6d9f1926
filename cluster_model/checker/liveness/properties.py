"""The liveness properties: their definitions, and how each finds its pending obligations."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final, NamedTuple

from cluster_model.broker.broker import Broker
from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.liveness.partition_state import (
    LivenessContext,
    LivenessProperty,
    PartitionContext,
    PendingObligation,
    is_blocked,
    known_quick_restart,
    known_small_isr,
    partition_context,
    throttled,
)
from cluster_model.log.leader_epoch_cache import EpochCache
from cluster_model.log.replica_log import ReplicaLog, differing
from cluster_model.observation.views import WaitingByDesign
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.protocol.versions import Profile

FETCHER_RESUMES: Final = LivenessProperty(
    "fetcher-resumes",
    "A partition that a follower's fetcher marked failed (FENCED_LEADER_EPOCH) is fetched again once the follower "
    "learns of a newer leader epoch, and never before.",
    "until metadata is propagated; a fetch without a newer epoch is reported at once.",
    "follower, the active controller and its majority",
)


class _Failure(NamedTuple):
    """A partition that a follower's fetcher has marked failed."""

    first: int
    """Leader epoch in which it was first observed."""
    last: int
    """Leader epoch in which it was last observed."""
    last_us: int
    """Virtual time at which it was first observed in :attr:`last`, in microseconds."""
    life: int
    """Incarnation of the follower's process."""
    stood: bool = False
    """Whether it was observed in that epoch at two times: at first the fetcher may not have acted on the epoch yet."""


class FailedFetchers:
    """Followers whose fetcher marked a partition failed: since which leader epoch, and in which process."""

    __slots__ = ("_failed",)

    def __init__(self) -> None:
        self._failed: dict[tuple[str, int], _Failure] = {}
        """(partition, broker) → the failure."""

    def find(self, context: LivenessContext, partition: PartitionContext) -> Iterator[PendingObligation]:
        """Yield an obligation for each follower that failed in an old epoch, or resumed without a newer one."""
        if not context.cluster_state.profile.kip_320:
            return
        for broker, replica in partition.followers():
            following, key = replica.following, (partition.name, broker)
            if following is not None and following.failed:
                life = context.disturbances.incarnation_of(broker)
                epoch = replica.leader_epoch
                failure = self._failed.get(key)
                if failure is None or failure.life != life:
                    failure = _Failure(epoch, epoch, context.now, life)
                elif failure.last != epoch:
                    failure = failure._replace(last=epoch, last_us=context.now, stood=False)
                elif context.now > failure.last_us:
                    failure = failure._replace(stood=True)
                self._failed[key] = failure
                yield from self._not_resumed(context, partition, replica, failure.first)
            elif key in self._failed:
                yield from self._resumed_early(context, partition, replica, self._failed[key])
                del self._failed[key]

    def _not_resumed(
        self, context: LivenessContext, partition: PartitionContext, replica: Replica, since: int
    ) -> Iterator[PendingObligation]:
        state, leader, broker = partition.state, partition.leader, replica.broker
        if (
            leader is None
            or since >= state.leader_epoch
            or context.controller == NO_LEADER
            or not context.serves(broker)
        ):
            return
        if leader.log.log_start > replica.hw:
            return  # It failed because of records that it may not delete, and will fail again.
        yield PendingObligation(
            partition.name, broker, (since, state.leader_epoch), context.with_plane(broker), context.bounds.informed_us,
            context.bounds.silence_us, "broker {} has not fetched since epoch {}, although leader {} has epoch {}",
            (broker, since, state.leader, state.leader_epoch),
        )  # fmt: skip

    def _resumed_early(
        self, context: LivenessContext, partition: PartitionContext, replica: Replica, failure: _Failure
    ) -> Iterator[PendingObligation]:
        last, life = failure.last, context.disturbances.incarnation_of(replica.broker)
        if replica.following is None or (last, failure.life) != (replica.leader_epoch, life) or not failure.stood:
            return
        yield PendingObligation(
            partition.name, replica.broker, ("by itself", last), (), 0, 0,
            "broker {} marked it failed in epoch {} and fetches again without a newer epoch", (replica.broker, last),
        )  # fmt: skip

    def __bool__(self) -> bool:
        """Return whether any follower had a failed partition at the last check."""
        return bool(self._failed)

    def watches(self, partition: str) -> bool:
        """Return whether any follower had marked this partition failed at the last check."""
        return any(key[0] == partition for key in self._failed)

    def forget(self, partition: str) -> None:
        """Drop the state of a deleted partition."""
        self._failed = {key: value for key, value in self._failed.items() if key[0] != partition}

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return tuple((key, tuple(failure)) for key, failure in self._failed.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._failed = {key: _Failure(*failure) for key, failure in saved}


ACTIVE_CONTROLLER: Final = LivenessProperty(
    "active-controller",
    "There is an active controller.",
    "KRaft: the fetch timeout, a request timeout and five elections. ZooKeeper: an election in the ensemble, two "
    "session timeouts and a reload.",
    "any disturbance of the majority of voters, or of the ensemble and the broker that may become controller; without "
    "a majority the property does not apply",
)


def find_missing_controller(context: LivenessContext) -> Iterator[PendingObligation]:
    """Yield one obligation while a majority exists and there is no active controller."""
    majorities = context.majorities
    if context.cluster_state.profile.kraft:
        if not majorities or any(context.active in some for some in majorities):
            return
        scope, nodes_text = majorities[0], f"voters {_listed(majorities[0])} are connected"
    else:
        if not majorities or context.active != NO_LEADER:
            return
        servers = majorities[0]
        brokers = [
            broker
            for broker in context.cluster_state.brokers
            if context.disturbances.are_undisturbed((broker, *servers), context.now)
        ]
        if not brokers:
            return
        scope = (*servers, brokers[0])
        nodes_text = f"ZooKeeper servers {_listed(servers)} and broker {brokers[0]} are connected"
    epoch = context.plane.controller_epoch()
    bounds = context.bounds
    yield PendingObligation(
        "",
        NO_LEADER,
        epoch,
        scope,
        bounds.controller_us,
        bounds.silence_us,
        "no active controller, although {}",
        (nodes_text,),
    )


def _listed(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))


ALTER_PARTITION: Final = LivenessProperty(
    "alter-partition",
    "An ISR change proposed by a leader (AlterPartition; up to 2.6 its write to ZooKeeper) is accepted, rejected, or "
    "superseded by newer metadata.",
    "until metadata is propagated, and four seconds.",
    "the leader, the members of the proposed ISR, the active controller and its majority; without them the property "
    "does not apply",
    "in ZooKeeper mode from 2.7 on a proposal that took effect but whose response was lost stays pending until a newer "
    "leader epoch",
)


def find_undecided_proposals(context: LivenessContext, partition: PartitionContext) -> Iterator[PendingObligation]:
    """Yield an obligation for a leader with a pending ISR proposal."""
    state, leader = partition.state, partition.leader
    if leader is None or context.controller == NO_LEADER:
        return
    pending = partition.leadership.pending
    if pending is None:
        return
    token = (state.leader_epoch, leader.partition_epoch, state.partition_epoch, pending)
    yield PendingObligation(
        partition.name, state.leader, token, context.with_plane(*{state.leader: None, **dict.fromkeys(pending)}),
        context.bounds.proposal_us, context.bounds.silence_us,
        "leader {} proposed ISR {} and is still waiting for a response", (state.leader, list(pending)),
        _explain_known_retry(context, partition),
    )  # fmt: skip


def _explain_known_retry(context: LivenessContext, partition: PartitionContext) -> str:
    """Return why a proposal may stay pending: a ZooKeeper-mode controller rejects the retry after a lost response."""
    profile, leader = context.cluster_state.profile, partition.leader
    if profile.kraft or leader is None or leader.partition_epoch >= partition.state.partition_epoch:
        return ""
    return (
        f"known for {profile.name}: the retry of a proposal whose response was lost fails with INVALID_UPDATE_VERSION "
        "until a newer leader epoch; fixed by KRaft mode"
    )


CONVERGENCE: Final = LivenessProperty(
    "convergence",
    "A follower's log equals its leader's up to the shorter one's end, with the same leader epochs; trailing epochs "
    "without records may be known to one of them only.",
    "the bound of isr-rejoined, and four fetches.",
    "leader and follower; delays by quotas, a damaged batch or a fetcher that waits for newer metadata are no "
    "violation",
    "up to 0.10.2 logs diverge permanently when followers truncate to their own high watermark (fixed by KIP-101 in "
    "0.11); from 0.11 to 1.1 after consecutive failovers (fixed by KIP-279 in 2.0)",
)


def find_divergent_followers(context: LivenessContext, partition: PartitionContext) -> Iterator[PendingObligation]:
    """Yield an obligation for each follower whose log or epochs differ from its leader's."""
    state, leader = partition.state, partition.leader
    if leader is None:
        return
    profile, bounds = context.cluster_state.profile, context.bounds
    for broker, replica in partition.followers():
        same = replica.log.extents == leader.log.extents and replica.log.epochs.entries == leader.log.epochs.entries
        if same or not context.serves(broker) or is_blocked(replica) or throttled(replica, leader, context.brokers):
            continue
        differences = differing(leader.log, replica.log)
        if differences:
            offset, what = differences[0][0], "different records"
        else:
            offset, what = _epochs_part(leader.log, replica.log, profile), "a different leader epoch"
        if offset >= 0:
            yield PendingObligation(
                partition.name, broker, (state.leader_epoch, what, offset), (state.leader, broker), bounds.converge_us,
                bounds.silence_us, "broker {} follows leader {} but has {} at offset {}",
                (broker, state.leader, what, offset),
                _explain_known_divergence(profile) or known_quick_restart(context, replica),
            )  # fmt: skip


def _explain_known_divergence(profile: Profile) -> str:
    if not profile.epoch_truncation:
        return f"known for {profile.version}: followers truncate to their own high watermark; fixed by KIP-101 in 0.11"
    if not profile.kip_279:
        return f"known for {profile.version}: followers diverge after consecutive failovers; fixed by KIP-279 in 2.0"
    return ""


def _epochs_part(one: ReplicaLog, other: ReplicaLog, profile: Profile) -> int:
    """Return the first offset in both logs for which their epoch caches disagree, -1 for none.

    Only offsets with records count, so cache entries of empty epochs make no difference.
    """
    if not profile.epoch_truncation or one.epochs.entries == other.epochs.entries:
        return -1
    start, end = max(one.log_start, other.log_start), min(one.leo, other.leo)
    for begins, _log_branch in one.extents:
        offset = max(begins, start)
        if offset < end and _epoch_at(one.epochs, offset) != _epoch_at(other.epochs, offset):
            return offset
    return -1


def _epoch_at(cache: EpochCache, offset: int) -> int:
    return max((epoch for epoch, start in cache.entries if start <= offset), default=-1)


FOLLOWER_HW: Final = LivenessProperty(
    "follower-hw",
    "On an idle partition every running in-sync follower has the leader's high watermark.",
    "two fetches of replica.fetch.wait.max.ms with a back-off each: an advancing high watermark completes no delayed "
    "fetch.",
    "leader and follower; delays by quotas are no violation",
    "up to 2.1 a broker that restarts before its session times out receives no leadership information (fixed by "
    "KIP-380 in 2.2)",
)


def find_stale_follower_watermarks(
    context: LivenessContext, partition: PartitionContext
) -> Iterator[PendingObligation]:
    """Yield an obligation for each ISR member with a different high watermark; any progress makes it a new one."""
    state, leader = partition.state, partition.leader
    if leader is None:
        return
    for broker, replica in partition.followers():
        if replica.hw == leader.hw or broker not in state.isr or not context.serves(broker) or is_blocked(replica):
            continue
        if throttled(replica, leader, context.brokers):
            continue
        token = (state.leader_epoch, leader.hw, leader.log.leo, replica.hw, replica.log.leo)
        yield PendingObligation(
            partition.name, broker, token, (state.leader, broker),
            context.bounds.follower_us, context.bounds.silence_us,
            "broker {} has HW {}, but its leader {} has HW {}, and no records are written",
            (broker, replica.hw, state.leader, leader.hw), known_quick_restart(context, replica),
            context.hw_moved.get(partition.name, -1),
        )  # fmt: skip


HW_REACHES_LEO: Final = LivenessProperty(
    "hw-reaches-leo",
    "On an idle partition all records in the leader's log are committed.",
    "until metadata is propagated, and three fetches with a back-off each; with followers out of the ISR also "
    "replica.lag.time.max.ms, since a caught-up one may hold the high watermark back that long.",
    "the leader and every ISR member; a pending ISR proposal, quotas, and since 3.7 an ISR below min.insync.replicas "
    "legitimately hold it back",
    "up to 2.1 a broker that restarts before its session times out receives no leadership information (fixed by "
    "KIP-380 in 2.2); from 2.7 to 3.0 it does not advance as the ISR shrinks (KAFKA-13091)",
)


def find_uncommitted_tails(context: LivenessContext, partition: PartitionContext) -> Iterator[PendingObligation]:
    """Yield an obligation for a leader with uncommitted records; any new record makes it a new one."""
    state, leader = partition.state, partition.leader
    if leader is None or leader.hw >= leader.log.leo or partition.leadership.pending is not None:
        return
    if context.cluster_state.profile.hw_needs_min_isr and len(state.isr) < partition.min_isr:
        return
    members = [partition.replicas.get(broker) for broker in state.isr if broker != state.leader]
    if any(member is None or is_blocked(member) or not context.serves(member.broker) for member in members):
        return
    if any(member is not None and throttled(member, leader, context.brokers) for member in members):
        return
    explanation = next(
        (why for member in members if member is not None and (why := known_quick_restart(context, member))),
        known_small_isr(context, state),
    )
    token = (state.leader_epoch, leader.log.leo, leader.hw, state.isr)
    bound_us = context.bounds.commit_us + (context.bounds.lag_us if len(state.isr) < len(state.replicas) else 0)
    yield PendingObligation(
        partition.name, state.leader, token, (*state.isr,), bound_us, context.bounds.silence_us,
        "the HW of leader {} is {} but its log end offset is {}, with all of ISR {} available",
        (state.leader, leader.hw, leader.log.leo, list(state.isr)), explanation, _written_us(leader.log),
    )  # fmt: skip


def _written_us(log: ReplicaLog) -> int:
    """Return when the last record was appended, in virtual microseconds; -1 if the log is empty."""
    return log.branch_at(log.leo - 1).batch_at(log.leo - 1).appended_us if log.leo > log.log_start else -1


ISR_REJOINED: Final = LivenessProperty(
    "isr-rejoined",
    "A running, registered follower that is connected to its leader catches up, and joins the ISR once it has reached "
    "the leader's high watermark and the start offset of its epoch.",
    "until metadata is propagated, and three fetches with a back-off each; any progress and any ISR proposal restart "
    "it; up to 0.10.1 also replica.lag.time.max.ms, restarted by every record that the leader writes.",
    "leader, follower, the active controller and its majority; delays by quotas, a damaged batch or a fetcher that "
    "waits for newer metadata are no violation",
    "up to 2.1 a broker that restarts before its session times out receives no leadership information (fixed by "
    "KIP-380 in 2.2)",
)


def find_followers_outside_isr(context: LivenessContext, partition: PartitionContext) -> Iterator[PendingObligation]:
    """Yield an obligation for each follower outside the ISR that could be in it."""
    state, leader = partition.state, partition.leader
    if leader is None or context.controller == NO_LEADER or len(state.isr) == len(state.replicas):
        return
    leadership = partition.leadership
    if leadership.pending is not None:
        return
    target = leader.hw
    if context.cluster_state.profile.isr_epoch_start:
        target = max(target, leadership.epoch_start)
    for broker, replica in partition.followers():
        if broker in state.isr or broker in state.removing or not context.eligible(broker) or is_blocked(replica):
            continue
        if throttled(replica, leader, context.brokers):
            continue
        leo = replica.log.leo
        progress = leo if leo < target else -1
        waits = context.cluster_state.profile.hw_waits_caught_up
        pace, lag_us = (-1, 0) if waits else (leader.log.leo, context.bounds.lag_us)
        yield PendingObligation(
            partition.name, broker, (state.leader_epoch, progress, pace), context.with_plane(broker, state.leader),
            context.bounds.rejoin_us + lag_us, context.bounds.silence_us,
            "broker {} is alive but out of the ISR {}, with log end offset {}; leader {} requires {}",
            (broker, list(state.isr), leo, state.leader, target), known_quick_restart(context, replica),
        )  # fmt: skip


LEADER_ELECTED: Final = LivenessProperty(
    "leader-elected",
    "A partition has a leader if an ISR member is alive; with an empty ISR an eligible leader replica (KIP-966); or "
    "any replica if unclean.leader.election.enable is on. The elected replica acts as leader.",
    "broker.session.timeout.ms, or the ZooKeeper session with its ticks, and a second; for an unclean election in "
    "KRaft mode from 3.9 on also unclean.leader.election.interval.ms.",
    "the candidate, the former leader, the active controller and its majority; a new controller restarts every "
    "session; without a controller the property does not apply",
    "up to 2.1 a broker that restarts before its session times out receives no leadership information (fixed by "
    "KIP-380 in 2.2)",
)


def find_missing_leaders(context: LivenessContext, partition: PartitionContext) -> Iterator[PendingObligation]:
    """Yield an obligation while a partition has a candidate but no leader, or its elected leader does not lead."""
    state = partition.state
    if partition.leader is not None or context.controller == NO_LEADER:
        return
    if state.leader != NO_LEADER and context.eligible(state.leader):
        yield from _inactive_leader(context, partition)
        return
    candidates = [
        broker
        for broker in automatic_candidates(context, partition)
        if context.eligible(broker) and broker in partition.replicas
    ]
    if not candidates:
        return
    candidate, unclean = candidates[0], candidates[0] not in (*state.isr, *state.elr)
    problem = "no leader" if state.leader == NO_LEADER else f"leader {state.leader} is gone"
    candidacy = "can be elected uncleanly" if unclean else "can be elected"
    brokers = (candidate,) if state.leader == NO_LEADER else (candidate, state.leader)
    yield PendingObligation(
        partition.name, candidate, state.leader_epoch, context.with_plane(*brokers),
        context.bounds.leader_us + (context.bounds.unclean_check_us if unclean else 0), context.bounds.silence_us,
        "{}; broker {} is alive and {}", (problem, candidate, candidacy),
    )  # fmt: skip


def automatic_candidates(context: LivenessContext, partition: PartitionContext) -> tuple[int, ...]:
    """Return the replicas that may be elected automatically, in assignment order, alive or not."""
    state, profile = partition.state, context.cluster_state.profile
    preferred = state.isr
    if not preferred and profile.elr:
        preferred = state.elr or ((state.last_known,) if state.last_known != NO_LEADER else ())
    clean = [broker for broker in state.replicas if broker in preferred]
    if not partition.unclean or (profile.kraft and not context.bounds.unclean_check_us):
        # KRaft controllers before 3.9 check only when a broker comes or goes: the setting may have changed later.
        return tuple(clean)
    return (*clean, *[broker for broker in state.replicas if broker not in preferred])


def _inactive_leader(context: LivenessContext, partition: PartitionContext) -> Iterator[PendingObligation]:
    """Yield an obligation for an elected leader that is alive and does not act as leader."""
    state = partition.state
    replica = partition.replicas.get(state.leader)
    if replica is None:
        return
    bounds = context.bounds
    yield PendingObligation(
        partition.name, state.leader, state.leader_epoch, context.with_plane(state.leader),
        bounds.leader_us + bounds.informed_us, bounds.silence_us,
        "broker {} was elected leader in epoch {} but does not act as leader", (state.leader, state.leader_epoch),
        known_quick_restart(context, replica),
    )  # fmt: skip


DELAYED_REQUESTS_ANSWERED: Final = LivenessProperty(
    "delayed-requests",
    "A delayed produce request is answered when its request.timeout.ms expires, or at once when the broker loses "
    "leadership; a delayed fetch when its fetch.max.wait.ms expires.",
    "one second after the request's own timeout.",
    "the broker that holds the request",
)


def find_unanswered_requests(context: LivenessContext) -> Iterator[PendingObligation]:
    """Yield an obligation for the oldest overdue delayed request of each kind, per partition and broker.

    Later ones wait for the same reason; followers' fetches are covered by their high watermarks.
    """
    for number, broker in context.brokers.items():
        if (broker.purgatory.produces or broker.purgatory.fetches) and context.disturbances.runs(number):
            yield from _produces(context, number, broker)
            yield from _fetches(context, number, broker)


def _produces(context: LivenessContext, number: int, broker: Broker) -> Iterator[PendingObligation]:
    reported: dict[tuple[str, bool], None] = {}
    bound_us = context.bounds.delayed_us
    for token, produce in broker.purgatory.produces.items():
        replica, expired = broker.replicas.get(produce.partition), produce.deadline < context.now
        if (produce.partition, expired) in reported or not (expired or replica is None or replica.leadership is None):
            continue
        reported[produce.partition, expired] = None
        yield PendingObligation(
            produce.partition, number, ("produce", token, expired), (number,), bound_us, bound_us,
            "a produce request at broker {} is delayed at offset {}, although {}",
            (number, produce.base, "its timeout has expired" if expired else "the broker is no longer leader"),
            since_us=produce.deadline if expired else -1,
        )  # fmt: skip


def _fetches(context: LivenessContext, number: int, broker: Broker) -> Iterator[PendingObligation]:
    reported: dict[str, None] = {}
    bound_us = context.bounds.delayed_us
    for token, fetch in broker.purgatory.fetches.items():
        partition = fetch.request.partitions[0].partition if fetch.request.partitions else ""
        if fetch.deadline >= context.now or partition in reported:
            continue
        reported[partition] = None
        yield PendingObligation(
            partition, number, ("fetch", token), (number,), bound_us, bound_us,
            "a fetch at broker {} is still delayed although its timeout has expired", (number,),
            since_us=fetch.deadline,
        )  # fmt: skip


PREFERRED_LEADER: Final = LivenessProperty(
    "preferred-leader",
    "A partition's first replica becomes its leader once it is alive and in the ISR; in ZooKeeper mode only if more "
    "than leader.imbalance.per.broker.percentage of a broker's partitions are led by others.",
    "leader.imbalance.check.interval.seconds, five seconds, and the time of an election; any change of leader or ISR "
    "restarts it. At the end of the session it counts as not evaluated only if another replica leads.",
    "the preferred replica, the active controller and its majority; without a controller, or with rebalancing off, the "
    "property does not apply",
)


def find_unpreferred_leaders(context: LivenessContext, partition: PartitionContext) -> Iterator[PendingObligation]:
    """Yield an obligation for a partition whose preferred replica could be leader and is not."""
    state, bounds = partition.state, context.bounds
    first = state.replicas[0]
    if not bounds.preferred_us or state.leader in (NO_LEADER, first) or first not in state.isr:
        return
    if context.controller == NO_LEADER or not context.eligible(first) or partition.leader is None:
        return
    if not context.cluster_state.profile.kraft and (state.adding or state.removing or not context.imbalanced(first)):
        return
    yield PendingObligation(
        partition.name, first, (state.leader_epoch, state.isr), context.with_plane(first), bounds.preferred_us,
        bounds.silence_us, "preferred leader {} is alive and in sync, but broker {} is leader", (first, state.leader),
    )  # fmt: skip


# Partitions that are stalled as Kafka intends, with the reason and the remedy: no property is violated.
#
# Only the current state counts, and nothing is remembered. Progress that merely takes time is no stall.


def find_stalls(context: LivenessContext) -> tuple[WaitingByDesign, ...]:
    """Return everything that is stalled now: the control plane first, then by partition, internal topics last."""
    lost = quorum_lost(context)
    stalls: list[WaitingByDesign] = []
    if lost:
        what = "controllers" if context.cluster_state.profile.kraft else "ZooKeeper servers"
        why = (
            f"no majority of the {what} {_listed(context.voters)} is running and connected: no elections, no ISR "
            "changes; current leaders continue"
        )
        stalls.append(WaitingByDesign("", why, f"a majority of the {what}"))
    records = context.cluster_state.records
    for name in sorted(records, key=lambda each: each.startswith("__")):
        partition = partition_context(context, name)
        stalls += [
            *_leaderless(context, partition, lost=lost),
            *_rejecting(context, partition),
            *_waiting(context, partition, lost=lost),
            *_stalled_followers(context, partition),
        ]
    return tuple(stalls)


def quorum_lost(context: LivenessContext) -> bool:
    """Return whether no majority of voters is running and connected to each other."""
    running = [voter for voter in context.voters if context.disturbances.runs(voter)]
    enough = len(context.voters) // 2 + 1
    connected = context.disturbances.connected
    return not any(all(connected(*pair) for pair in combinations(some, 2)) for some in combinations(running, enough))


def _leaderless(context: LivenessContext, partition: PartitionContext, *, lost: bool) -> Iterator[WaitingByDesign]:
    state = partition.state
    if state.leader != NO_LEADER and context.cluster_state.is_up(state.leader):
        return
    able = automatic_candidates(context, partition)
    if lost:
        if any(map(context.disturbances.runs, able)):
            yield WaitingByDesign(
                partition.name, "no leader, and no controller that could elect one", "a majority of the quorum"
            )
        return
    if any(map(context.cluster_state.is_up, able)):
        return
    members = f"of its ISR {list(state.isr)}{f' and ELR {list(state.elr)}' if state.elr else ''}"
    ineligible = [broker for broker in state.replicas if broker not in able and context.cluster_state.is_up(broker)]
    off = ", and unclean.leader.election.enable is off" if ineligible and not partition.unclean else ""
    by_hand = (
        f", or an unclean election of broker {_listed(tuple(ineligible))}, which loses the records that it lacks"
        if ineligible
        else ""
    )
    yield WaitingByDesign(
        partition.name,
        f"no leader: no member {members} is up{off}",
        f"broker {_alternatives(able or state.replicas)} back{by_hand}",
    )


def _rejecting(context: LivenessContext, partition: PartitionContext) -> Iterator[WaitingByDesign]:
    state, needed = partition.state, partition.min_isr
    if len(state.isr) >= needed or partition.leader is None:
        return
    if needed > len(state.replicas):
        why = (
            f"acks=all is always rejected (NOT_ENOUGH_REPLICAS): min.insync.replicas is {needed} with "
            f"{len(state.replicas)} replicas; since 3.7 the effective value is at most the number of replicas"
        )
        yield WaitingByDesign(
            partition.name, why, f"min.insync.replicas of {len(state.replicas)} or less, or more replicas"
        )
        return
    able = [broker for broker in state.replicas if context.cluster_state.is_up(broker)]
    if len(able) < needed:
        why = (
            f"acks=all is rejected (NOT_ENOUGH_REPLICAS): min.insync.replicas is {needed}, and {len(able)} of "
            f"{len(state.replicas)} replicas are up"
        )
        down = tuple(broker for broker in state.replicas if broker not in able)
        yield WaitingByDesign(
            partition.name,
            why,
            f"broker {_alternatives(down)} back and in sync, or a lower min.insync.replicas",
        )


def _waiting(context: LivenessContext, partition: PartitionContext, *, lost: bool) -> Iterator[WaitingByDesign]:
    state, leader = partition.state, partition.leader
    if leader is None:
        return
    if lost and (down := tuple(broker for broker in state.isr if not context.cluster_state.is_up(broker))):
        why = (
            f"acks=all requests time out: broker {_listed(down)} is down and in the ISR, and no controller can remove "
            "it"
        )
        yield WaitingByDesign(partition.name, why, f"a majority of the quorum, or broker {_listed(down)} back")
    pending = partition.leadership.pending
    if (
        pending is not None
        and not context.cluster_state.profile.kraft
        and leader.partition_epoch < state.partition_epoch
    ):
        why = (
            f"leader {state.leader} proposed ISR {list(pending)}, which took effect, but received "
            "INVALID_UPDATE_VERSION"
        )
        yield WaitingByDesign(partition.name, why, "a newer leader epoch: another election, or a restart of the leader")


def _stalled_followers(context: LivenessContext, partition: PartitionContext) -> Iterator[WaitingByDesign]:
    for broker, replica in partition.followers():
        following = replica.following
        if following is None or not context.disturbances.runs(broker):
            continue
        if following.failed and replica.leader_epoch >= partition.state.leader_epoch:
            why = f"broker {broker} stopped fetching in epoch {replica.leader_epoch} (FENCED_LEADER_EPOCH)"
            yield WaitingByDesign(partition.name, why, "metadata with a newer leader epoch")
        elif following.stuck_at >= 0:
            why = f"leader {replica.leader} keeps sending broker {broker} a damaged batch at {following.stuck_at}"
            yield WaitingByDesign(partition.name, why, "another leader with an intact copy")


def _alternatives(nodes: tuple[int, ...]) -> str:
    return " or ".join(map(str, nodes))
