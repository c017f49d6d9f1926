"""The liveness properties: what must come true in time once nothing disturbs the cluster."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final, NamedTuple

from cluster_model.broker.broker import Broker
from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.liveness.partition_state import (
    LivenessContext,
    LivenessProperty,
    Owed,
    PartitionContext,
    held_up,
    never_told,
    scene_of,
    throttled,
)
from cluster_model.log.leader_epoch_cache import EpochCache
from cluster_model.log.replica_log import ReplicaLog, differing
from cluster_model.observation.views import Stuck
from cluster_model.protocol.messages import NOBODY
from cluster_model.protocol.versions import Profile

FETCHER_RESUMES: Final = LivenessProperty(
    "fetcher-resumes",
    "A partition that a follower's fetcher gave up (FENCED_LEADER_EPOCH) is fetched again when the follower hears of a "
    "newer leader epoch, never by itself.",
    "until metadata is there; that it resumed by itself is told at once.",
    "follower, the active controller and its majority",
)


class _Failure(NamedTuple):
    """A partition that a fetcher has given up."""

    first: int
    """Epoch it was first seen in."""
    last: int
    """Epoch it was last seen in ..."""
    last_us: int
    """... when it was first seen in that."""
    life: int
    """In which process."""
    stood: bool = False
    """Whether it was seen in that epoch at two times: within an instant an epoch is new before it is acted on."""


class FailedFetchers:
    """Followers that were seen to have given a partition up: since which epoch, and in which process."""

    __slots__ = ("_failed",)

    def __init__(self) -> None:
        self._failed: dict[tuple[str, int], _Failure] = {}
        """By partition and broker."""

    def owed(self, sight: LivenessContext, scene: PartitionContext) -> Iterator[Owed]:
        """An obligation for each follower that failed in an older epoch than the committed one, or went on unasked."""
        if not sight.world.profile.kip_320:
            return
        for broker, replica in scene.followers():
            following, key = replica.following, (scene.name, broker)
            if following is not None and following.failed:
                life = sight.weather.life_of(broker)
                epoch = replica.leader_epoch
                failure = self._failed.get(key)
                if failure is None or failure.life != life:
                    failure = _Failure(epoch, epoch, sight.now, life)
                elif failure.last != epoch:
                    failure = failure._replace(last=epoch, last_us=sight.now, stood=False)
                elif sight.now > failure.last_us:
                    failure = failure._replace(stood=True)
                self._failed[key] = failure
                yield from self._late(sight, scene, replica, failure.first)
            elif key in self._failed:
                yield from self._unasked(sight, scene, replica, self._failed[key])
                del self._failed[key]

    def _late(self, sight: LivenessContext, scene: PartitionContext, replica: Replica, since: int) -> Iterator[Owed]:
        state, leader, broker = scene.state, scene.leader, replica.broker
        if leader is None or since >= state.leader_epoch or sight.controller == NOBODY or not sight.serves(broker):
            return
        if leader.log.log_start > replica.hw:
            return  # It failed by what it may not delete, and will again.
        yield Owed(
            scene.name, broker, (since, state.leader_epoch), sight.with_plane(broker), sight.bounds.told_us,
            sight.bounds.silence_us, "broker {} fetches no more since epoch {}, and leader {} has epoch {}",
            (broker, since, state.leader, state.leader_epoch),
        )  # fmt: skip

    def _unasked(
        self, sight: LivenessContext, scene: PartitionContext, replica: Replica, failure: _Failure
    ) -> Iterator[Owed]:
        last, life = failure.last, sight.weather.life_of(replica.broker)
        if replica.following is None or (last, failure.life) != (replica.leader_epoch, life) or not failure.stood:
            return
        yield Owed(
            scene.name, replica.broker, ("by itself", last), (), 0, 0,
            "broker {} had given it up in epoch {}, and fetches again without a newer one", (replica.broker, last),
        )  # fmt: skip

    def __bool__(self) -> bool:
        """Whether any follower had given anything up when last looked at."""
        return bool(self._failed)

    def watches(self, partition: str) -> bool:
        """Whether any follower of it had given it up when last looked at."""
        return any(key[0] == partition for key in self._failed)

    def forget(self, partition: str) -> None:
        """It is deleted."""
        self._failed = {key: value for key, value in self._failed.items() if key[0] != partition}

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple((key, tuple(failure)) for key, failure in self._failed.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._failed = {key: _Failure(*failure) for key, failure in saved}


ACTIVE_CONTROLLER: Final = LivenessProperty(
    "active-controller",
    "Somebody acts as the controller.",
    "KRaft: fetch timeout, a request's timeout and five elections. ZooKeeper: a new leader of the ensemble, two "
    "sessions and a reload.",
    "whatever touches the majority of voters, or of the ensemble and the broker that may take office; without a "
    "majority nothing is owed",
)


def find_missing_controller(sight: LivenessContext) -> Iterator[Owed]:
    """One obligation, while a majority is there and nobody it knows of acts."""
    majorities = sight.majorities
    if sight.world.profile.kraft:
        if not majorities or any(sight.active in some for some in majorities):
            return
        scope, who = majorities[0], f"voters {_listed(majorities[0])} hear each other"
    else:
        if not majorities or sight.active != NOBODY:
            return
        servers = majorities[0]
        brokers = [broker for broker in sight.world.brokers if sight.weather.is_sound((broker, *servers), sight.now)]
        if not brokers:
            return
        scope = (*servers, brokers[0])
        who = f"ZooKeeper servers {_listed(servers)} and broker {brokers[0]} hear each other"
    epoch = sight.plane.controller_epoch()
    bounds = sight.bounds
    yield Owed(
        "",
        NOBODY,
        epoch,
        scope,
        bounds.controller_us,
        bounds.silence_us,
        "nobody acts as controller, though {}",
        (who,),
    )


def _listed(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))


ALTER_PARTITION: Final = LivenessProperty(
    "alter-partition",
    "What a leader proposes (AlterPartition; up to 2.6 its write to ZooKeeper) is confirmed, refused, or made void by "
    "newer metadata.",
    "until metadata is there, and four seconds.",
    "the leader, whoever is in the proposal, the active controller and its majority; without them nothing is owed",
    "in ZooKeeper mode from 2.7 on a proposal that took effect, and whose answer was lost, waits for a newer leader "
    "epoch",
)


def find_undecided_proposals(sight: LivenessContext, scene: PartitionContext) -> Iterator[Owed]:
    """An obligation for a leader with a proposal."""
    state, leader = scene.state, scene.leader
    if leader is None or sight.controller == NOBODY:
        return
    pending = scene.leadership.pending
    if pending is None:
        return
    token = (state.leader_epoch, leader.partition_epoch, state.partition_epoch, pending)
    yield Owed(
        scene.name, state.leader, token, sight.with_plane(*{state.leader: None, **dict.fromkeys(pending)}),
        sight.bounds.proposal_us, sight.bounds.silence_us,
        "leader {} proposed the ISR {}, and goes on waiting for an answer", (state.leader, list(pending)),
        _explain_known_retry(sight, scene),
    )  # fmt: skip


def _explain_known_retry(sight: LivenessContext, scene: PartitionContext) -> str:
    """Asking again after a lost answer, a ZooKeeper-mode controller finds its own write, and takes it for another's."""
    profile, leader = sight.world.profile, scene.leader
    if profile.kraft or leader is None or leader.partition_epoch >= scene.state.partition_epoch:
        return ""
    return (
        f"known for {profile.name}: a controller that lost the answer to its own write answers INVALID_UPDATE_VERSION, "
        "and only a newer leader epoch frees the leader; KRaft mode fixed it"
    )


CONVERGENCE: Final = LivenessProperty(
    "convergence",
    "A follower's log is its leader's as far as both reach, and both have the same epochs for it; trailing epochs in "
    "which nothing was written may be known to one of them only.",
    "what isr-rejoined takes, and four fetches.",
    "leader and follower; quotas, a damaged batch and a fetcher that waits for newer metadata are no broken promise",
    "up to 0.10.2 logs part for good when followers cut to their own high watermark (KIP-101, 0.11); from 0.11 to 1.1 "
    "after failovers in a row (KIP-279, 2.0)",
)


def find_divergent_followers(sight: LivenessContext, scene: PartitionContext) -> Iterator[Owed]:
    """An obligation for each follower that holds anything else than its leader."""
    state, leader = scene.state, scene.leader
    if leader is None:
        return
    profile, bounds = sight.world.profile, sight.bounds
    for broker, replica in scene.followers():
        same = replica.log.extents == leader.log.extents and replica.log.epochs.entries == leader.log.epochs.entries
        if same or not sight.serves(broker) or held_up(replica) or throttled(replica, leader, sight.brokers):
            continue
        parted = differing(leader.log, replica.log)
        if parted:
            offset, what = parted[0][0], "other records"
        else:
            offset, what = _epochs_part(leader.log, replica.log, profile), "another epoch"
        if offset >= 0:
            yield Owed(
                scene.name, broker, (state.leader_epoch, what, offset), (state.leader, broker), bounds.converge_us,
                bounds.silence_us, "broker {} follows leader {}, and has {} at offset {}",
                (broker, state.leader, what, offset), _explain_known_divergence(profile) or never_told(sight, replica),
            )  # fmt: skip


def _explain_known_divergence(profile: Profile) -> str:
    if not profile.epoch_truncation:
        return f"known for {profile.version}: followers cut to their own high watermark; KIP-101 fixed it in 0.11"
    if not profile.kip_279:
        return f"known for {profile.version}: failovers in a row mislead followers; KIP-279 fixed it in 2.0"
    return ""


def _epochs_part(one: ReplicaLog, other: ReplicaLog, profile: Profile) -> int:
    """First offset of a stint, in both logs, whose record is of another epoch by one cache than by the other; -1: none.

    Only what was written counts, so entries of empty epochs make no difference.
    """
    if not profile.epoch_truncation or one.epochs.entries == other.epochs.entries:
        return -1
    start, end = max(one.log_start, other.log_start), min(one.leo, other.leo)
    for begins, _stint in one.extents:
        offset = max(begins, start)
        if offset < end and _epoch_at(one.epochs, offset) != _epoch_at(other.epochs, offset):
            return offset
    return -1


def _epoch_at(cache: EpochCache, offset: int) -> int:
    return max((epoch for epoch, start in cache.entries if start <= offset), default=-1)


FOLLOWER_HW: Final = LivenessProperty(
    "follower-hw",
    "On an idle partition every in-sync follower that runs knows the leader's high watermark.",
    "two fetches of replica.fetch.wait.max.ms with a back-off each: a rising high watermark wakes no parked fetch.",
    "leader and follower; quotas are no broken promise",
    "up to 2.1 a broker that is back before its session has ended is told nothing (KIP-380)",
)


def find_stale_follower_watermarks(sight: LivenessContext, scene: PartitionContext) -> Iterator[Owed]:
    """An obligation for each member of the ISR with another high watermark; whatever moves makes it another."""
    state, leader = scene.state, scene.leader
    if leader is None:
        return
    for broker, replica in scene.followers():
        if replica.hw == leader.hw or broker not in state.isr or not sight.serves(broker) or held_up(replica):
            continue
        if throttled(replica, leader, sight.brokers):
            continue
        token = (state.leader_epoch, leader.hw, leader.log.leo, replica.hw, replica.log.leo)
        yield Owed(
            scene.name, broker, token, (state.leader, broker), sight.bounds.follower_us, sight.bounds.silence_us,
            "broker {} has HW {}, its leader {} has {}, and nothing is written",
            (broker, replica.hw, state.leader, leader.hw), never_told(sight, replica),
            sight.hw_moved.get(scene.name, -1),
        )  # fmt: skip


HW_REACHES_LEO: Final = LivenessProperty(
    "hw-reaches-leo",
    "On a partition that nobody writes to, everything in the leader's log is committed.",
    "until metadata is there, and three fetches with a back-off each; while there are followers out of the ISR "
    "replica.lag.time.max.ms besides, for which one that is caught up may hold it back.",
    "the leader and every member of the ISR; a proposed change of the ISR, and since 3.7 an ISR below "
    "min.insync.replicas, and quotas hold it back rightly",
    "up to 2.1 a broker that is back before its session has ended is told nothing (KIP-380)",
)


def find_uncommitted_tails(sight: LivenessContext, scene: PartitionContext) -> Iterator[Owed]:
    """An obligation for a leader with records that are not committed; any new record makes it another."""
    state, leader = scene.state, scene.leader
    if leader is None or leader.hw >= leader.log.leo or scene.leadership.pending is not None:
        return
    if sight.world.profile.hw_needs_min_isr and len(state.isr) < scene.min_isr:
        return
    members = [scene.replicas.get(broker) for broker in state.isr if broker != state.leader]
    if any(member is None or held_up(member) or not sight.serves(member.broker) for member in members):
        return
    if any(member is not None and throttled(member, leader, sight.brokers) for member in members):
        return
    known = next((why for member in members if member is not None and (why := never_told(sight, member))), "")
    token = (state.leader_epoch, leader.log.leo, leader.hw, state.isr)
    bound_us = sight.bounds.commit_us + (sight.bounds.lag_us if len(state.isr) < len(state.replicas) else 0)
    yield Owed(
        scene.name, state.leader, token, (*state.isr,), bound_us, sight.bounds.silence_us,
        "the HW of leader {} stands at {}, its log ends at {}, and all of ISR {} are there",
        (state.leader, leader.hw, leader.log.leo, list(state.isr)), known, _written_us(leader.log),
    )  # fmt: skip


def _written_us(log: ReplicaLog) -> int:
    """When the last record was appended; nothing has been written since."""
    return log.lineage_at(log.leo - 1).batch_at(log.leo - 1).appended_us if log.leo > log.log_start else -1


ISR_REJOINED: Final = LivenessProperty(
    "isr-rejoined",
    "A follower that runs, is registered and hears its leader gets nearer to it, and is in the ISR once it has reached "
    "the leader's high watermark and the start of its epoch.",
    "until metadata is there, and three fetches with a back-off each; every step nearer and every proposed ISR start "
    "it anew, and up to 0.10.1, where replica.lag.time.max.ms comes on top, every record that the leader writes.",
    "leader, follower, the active controller and its majority; quotas, a damaged batch and a fetcher "
    "that waits for newer metadata are no broken promise",
    "up to 2.1 a broker that is back before its session has ended is told nothing (KIP-380)",
)


def find_followers_outside_isr(sight: LivenessContext, scene: PartitionContext) -> Iterator[Owed]:
    """An obligation for each follower outside the ISR that could be in it."""
    state, leader = scene.state, scene.leader
    if leader is None or sight.controller == NOBODY or len(state.isr) == len(state.replicas):
        return
    leadership = scene.leadership
    if leadership.pending is not None:
        return
    target = leader.hw
    if sight.world.profile.isr_epoch_start:
        target = max(target, leadership.epoch_start)
    for broker, replica in scene.followers():
        if broker in state.isr or broker in state.removing or not sight.eligible(broker) or held_up(replica):
            continue
        if throttled(replica, leader, sight.brokers):
            continue
        leo = replica.log.leo
        place = leo if leo < target else -1
        waits = sight.world.profile.hw_waits_caught_up
        pace, lag_us = (-1, 0) if waits else (leader.log.leo, sight.bounds.lag_us)
        yield Owed(
            scene.name, broker, (state.leader_epoch, place, pace), sight.with_plane(broker, state.leader),
            sight.bounds.rejoin_us + lag_us, sight.bounds.silence_us,
            "broker {} is out of the ISR {}, lives, and has {} of what leader {} has up to {}",
            (broker, list(state.isr), leo, state.leader, target), never_told(sight, replica),
        )  # fmt: skip


LEADER_ELECTED: Final = LivenessProperty(
    "leader-elected",
    "A partition has a leader if a member of its ISR is alive, without any an eligible leader replica (KIP-966), or "
    "any replica where unclean.leader.election.enable is on; and who was elected leads.",
    "broker.session.timeout.ms, or the ZooKeeper session with its ticks, and a second; for an unclean election in "
    "KRaft mode unclean.leader.election.interval.ms besides, from 3.9 on.",
    "the broker that may lead, the one that led, the active controller and its majority; a new controller starts every "
    "session anew; without one nothing is owed",
    "up to 2.1 a broker that is back before its session has ended is told nothing (KIP-380)",
)


def find_missing_leaders(sight: LivenessContext, scene: PartitionContext) -> Iterator[Owed]:
    """One obligation, while there is no leader and somebody who may be it, or the leader does not know."""
    state = scene.state
    if scene.leader is not None or sight.controller == NOBODY:
        return
    if state.leader != NOBODY and sight.eligible(state.leader):
        yield from _to_be_told(sight, scene)
        return
    candidates = [broker for broker in may_lead(sight, scene) if sight.eligible(broker) and broker in scene.replicas]
    if not candidates:
        return
    candidate, unclean = candidates[0], candidates[0] not in (*state.isr, *state.elr)
    gone = "nobody leads" if state.leader == NOBODY else f"broker {state.leader}, which leads, is gone"
    standing = "may lead by an unclean election" if unclean else "may lead"
    brokers = (candidate,) if state.leader == NOBODY else (candidate, state.leader)
    yield Owed(
        scene.name, candidate, state.leader_epoch, sight.with_plane(*brokers),
        sight.bounds.leader_us + (sight.bounds.sweep_us if unclean else 0), sight.bounds.silence_us,
        "{}, and broker {}, which lives, {}", (gone, candidate, standing),
    )  # fmt: skip


def may_lead(sight: LivenessContext, scene: PartitionContext) -> tuple[int, ...]:
    """Replicas that the rules let be elected without anybody's asking, in assignment order, alive or not."""
    state, profile = scene.state, sight.world.profile
    known = state.isr
    if not known and profile.elr:
        known = state.elr or ((state.last_known,) if state.last_known != NOBODY else ())
    clean = [broker for broker in state.replicas if broker in known]
    if not scene.unclean or (profile.kraft and not sight.bounds.sweep_us):
        # KRaft controllers before 3.9 look only when a broker comes or goes: the setting may have come later.
        return tuple(clean)
    return (*clean, *[broker for broker in state.replicas if broker not in known])


def _to_be_told(sight: LivenessContext, scene: PartitionContext) -> Iterator[Owed]:
    """Its leader runs and is alive, and has not taken office."""
    state = scene.state
    replica = scene.replicas.get(state.leader)
    if replica is None:
        return
    bounds = sight.bounds
    yield Owed(
        scene.name, state.leader, state.leader_epoch, sight.with_plane(state.leader),
        bounds.leader_us + bounds.told_us, bounds.silence_us,
        "broker {} is its leader in epoch {}, and does not lead", (state.leader, state.leader_epoch),
        never_told(sight, replica),
    )  # fmt: skip


DELAYED_REQUESTS_ANSWERED: Final = LivenessProperty(
    "parked-requests",
    "A parked produce is answered when its request.timeout.ms is over and at once when the broker leads no more, a "
    "parked fetch when its fetch.max.wait.ms is over.",
    "a second beyond the request's own time.",
    "the broker that it waits at",
)


def find_unanswered_requests(sight: LivenessContext) -> Iterator[Owed]:
    """An obligation for the oldest request of each kind that waits too long for a partition at a broker.

    Those behind it wait for the same reason; followers' fetches show by their high watermarks.
    """
    for number, broker in sight.brokers.items():
        if (broker.purgatory.produces or broker.purgatory.fetches) and sight.weather.runs(number):
            yield from _produces(sight, number, broker)
            yield from _fetches(sight, number, broker)


def _produces(sight: LivenessContext, number: int, broker: Broker) -> Iterator[Owed]:
    told: dict[tuple[str, bool], None] = {}
    bound_us = sight.bounds.parked_us
    for token, produce in broker.purgatory.produces.items():
        replica, late = broker.replicas.get(produce.partition), produce.deadline < sight.now
        if (produce.partition, late) in told or not (late or replica is None or replica.leadership is None):
            continue
        told[produce.partition, late] = None
        yield Owed(
            produce.partition, number, ("produce", token, late), (number,), bound_us, bound_us,
            "a produce at broker {} waits for offset {}, and {}",
            (number, produce.base, "its time is over" if late else "the broker leads no more"),
            since_us=produce.deadline if late else -1,
        )  # fmt: skip


def _fetches(sight: LivenessContext, number: int, broker: Broker) -> Iterator[Owed]:
    told: dict[str, None] = {}
    bound_us = sight.bounds.parked_us
    for token, fetch in broker.purgatory.fetches.items():
        partition = fetch.request.partitions[0].partition if fetch.request.partitions else ""
        if fetch.deadline >= sight.now or partition in told:
            continue
        told[partition] = None
        yield Owed(
            partition, number, ("fetch", token), (number,), bound_us, bound_us,
            "a fetch at broker {} waits on, and its time is over", (number,), since_us=fetch.deadline,
        )  # fmt: skip


PREFERRED_LEADER: Final = LivenessProperty(
    "preferred-leader",
    "A partition's first replica leads it once it is alive and in the ISR; in ZooKeeper mode only where more than "
    "leader.imbalance.per.broker.percentage of a broker's partitions are led by others.",
    "leader.imbalance.check.interval.seconds, five seconds, and an election's time; any other leader or ISR starts it "
    "anew. At the end it is unjudged only where another replica leads.",
    "the preferred replica, the active controller and its majority; without a controller, and where "
    "rebalancing is off, nothing is owed",
)


def find_unpreferred_leaders(sight: LivenessContext, scene: PartitionContext) -> Iterator[Owed]:
    """An obligation for a partition that its preferred replica could lead, and does not."""
    state, bounds = scene.state, sight.bounds
    first = state.replicas[0]
    if not bounds.preferred_us or state.leader in (NOBODY, first) or first not in state.isr:
        return
    if sight.controller == NOBODY or not sight.eligible(first) or scene.leader is None:
        return
    if not sight.world.profile.kraft and (state.adding or state.removing or not sight.imbalanced(first)):
        return
    yield Owed(
        scene.name, first, (state.leader_epoch, state.isr), sight.with_plane(first), bounds.preferred_us,
        bounds.silence_us, "broker {} should lead, lives and is in sync, and broker {} leads", (first, state.leader),
    )  # fmt: skip


# Partitions that stand still as Kafka means them to, why, and what sets them free: no promise is broken by it.
#
# It looks at how things are now and remembers nothing. What merely takes its time is not stuck.


def stuck(sight: LivenessContext) -> tuple[Stuck, ...]:
    """Everything that stands still now, the control plane first, then by partition, Kafka's own last."""
    lost = quorum_lost(sight)
    found: list[Stuck] = []
    if lost:
        what = "controllers" if sight.world.profile.kraft else "ZooKeeper servers"
        why = (
            f"too few of the {what} {_listed(sight.voters)} run and hear each other: nobody is elected, no ISR "
            "changes, leaders go on"
        )
        found.append(Stuck("", why, f"a majority of the {what}"))
    records = sight.world.records
    for name in sorted(records, key=lambda each: each.startswith("__")):
        scene = scene_of(sight, name)
        found += [
            *_leaderless(sight, scene, lost=lost),
            *_refusing(sight, scene),
            *_waiting(sight, scene, lost=lost),
            *_following(sight, scene),
        ]
    return tuple(found)


def quorum_lost(sight: LivenessContext) -> bool:
    """Whether no majority of voters runs whose members hear each other."""
    running = [voter for voter in sight.voters if sight.weather.runs(voter)]
    enough = len(sight.voters) // 2 + 1
    hears = sight.weather.hears
    return not any(all(hears(*pair) for pair in combinations(some, 2)) for some in combinations(running, enough))


def _leaderless(sight: LivenessContext, scene: PartitionContext, *, lost: bool) -> Iterator[Stuck]:
    state = scene.state
    if state.leader != NOBODY and sight.world.is_up(state.leader):
        return
    able = may_lead(sight, scene)
    if lost:
        if any(map(sight.weather.runs, able)):
            yield Stuck(scene.name, "nobody leads, and no controller can elect anybody", "a majority of the quorum")
        return
    if any(map(sight.world.is_up, able)):
        return
    standing = f"of its ISR {list(state.isr)}{f' and ELR {list(state.elr)}' if state.elr else ''}"
    others = [broker for broker in state.replicas if broker not in able and sight.world.is_up(broker)]
    off = ", and unclean.leader.election.enable is off" if others and not scene.unclean else ""
    by_hand = f", or an unclean election of broker {_listed(tuple(others))} with what it lacks lost" if others else ""
    yield Stuck(
        scene.name, f"nobody leads: nobody {standing} is up{off}", f"broker {_or(able or state.replicas)} back{by_hand}"
    )


def _refusing(sight: LivenessContext, scene: PartitionContext) -> Iterator[Stuck]:
    state, needed = scene.state, scene.min_isr
    if len(state.isr) >= needed or scene.leader is None:
        return
    if needed > len(state.replicas):
        why = (
            f"acks=all is refused, always (NOT_ENOUGH_REPLICAS): min.insync.replicas is {needed}, and there are "
            f"{len(state.replicas)} replicas; since 3.7 no more are asked for than there are"
        )
        yield Stuck(scene.name, why, f"min.insync.replicas of {len(state.replicas)} or less, or more replicas")
        return
    able = [broker for broker in state.replicas if sight.world.is_up(broker)]
    if len(able) < needed:
        why = (
            f"acks=all is refused (NOT_ENOUGH_REPLICAS): min.insync.replicas is {needed}, and of {len(state.replicas)} "
            f"replicas {len(able)} are up"
        )
        down = tuple(broker for broker in state.replicas if broker not in able)
        yield Stuck(scene.name, why, f"broker {_or(down)} back and in sync, or a lower min.insync.replicas")


def _waiting(sight: LivenessContext, scene: PartitionContext, *, lost: bool) -> Iterator[Stuck]:
    state, leader = scene.state, scene.leader
    if leader is None:
        return
    if lost and (gone := tuple(broker for broker in state.isr if not sight.world.is_up(broker))):
        why = (
            f"acks=all waits in vain: broker {_listed(gone)} is down and in the ISR, and no controller can take it out"
        )
        yield Stuck(scene.name, why, f"a majority of the quorum, or broker {_listed(gone)} back")
    pending = scene.leadership.pending
    if pending is not None and not sight.world.profile.kraft and leader.partition_epoch < state.partition_epoch:
        why = (
            f"leader {state.leader} proposed the ISR {list(pending)}, which was taken, and was told it was "
            "of an old version (INVALID_UPDATE_VERSION)"
        )
        yield Stuck(scene.name, why, "a newer leader epoch: another election, or the leader started again")


def _following(sight: LivenessContext, scene: PartitionContext) -> Iterator[Stuck]:
    for broker, replica in scene.followers():
        following = replica.following
        if following is None or not sight.weather.runs(broker):
            continue
        if following.failed and replica.leader_epoch >= scene.state.leader_epoch:
            why = f"broker {broker} has given up fetching in epoch {replica.leader_epoch}"
            yield Stuck(scene.name, why, "metadata with a newer leader epoch")
        elif following.stuck_at >= 0:
            why = f"leader {replica.leader} keeps sending broker {broker} a damaged batch at {following.stuck_at}"
            yield Stuck(scene.name, why, "another leader, whose copy is intact")


def _or(nodes: tuple[int, ...]) -> str:
    return " or ".join(map(str, nodes))
