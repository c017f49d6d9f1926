"""Partitions that stand still as Kafka means them to, why, and what sets them free: no promise is broken by it.

It looks at how things are now and remembers nothing. What merely takes its time is not stuck.
"""

from collections.abc import Iterator
from itertools import combinations

from cluster_model.checker.liveness.partition_state import Scene, Sight, scene_of
from cluster_model.checker.liveness.properties import may_lead
from cluster_model.observation.views import Stuck
from cluster_model.protocol.messages import NOBODY


def stuck(sight: Sight) -> tuple[Stuck, ...]:
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


def quorum_lost(sight: Sight) -> bool:
    """Whether no majority of voters runs whose members hear each other."""
    running = [voter for voter in sight.voters if sight.weather.runs(voter)]
    enough = len(sight.voters) // 2 + 1
    hears = sight.weather.hears
    return not any(all(hears(*pair) for pair in combinations(some, 2)) for some in combinations(running, enough))


def _leaderless(sight: Sight, scene: Scene, *, lost: bool) -> Iterator[Stuck]:
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


def _refusing(sight: Sight, scene: Scene) -> Iterator[Stuck]:
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


def _waiting(sight: Sight, scene: Scene, *, lost: bool) -> Iterator[Stuck]:
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


def _following(sight: Sight, scene: Scene) -> Iterator[Stuck]:
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


def _listed(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))


def _or(nodes: tuple[int, ...]) -> str:
    return " or ".join(map(str, nodes))
