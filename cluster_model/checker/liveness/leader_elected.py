"""Every partition with somebody who may lead it has a leader that knows of it."""

from collections.abc import Iterator
from typing import Final

from cluster_model.checker.liveness.owed import Owed, Property
from cluster_model.checker.liveness.partition_state import Scene, Sight, never_told
from cluster_model.protocol.messages import NOBODY

PROPERTY: Final = Property(
    "leader-elected",
    "A partition has a leader if a member of its ISR is alive, without any an eligible leader replica (KIP-966), or "
    "any replica where unclean.leader.election.enable is on; and who was elected leads.",
    "broker.session.timeout.ms, or the ZooKeeper session with its ticks, and a second; for an unclean election in "
    "KRaft mode unclean.leader.election.interval.ms besides, from 3.9 on.",
    "the broker that may lead, the one that led, the active controller and its majority; a new controller starts every "
    "session anew; without one nothing is owed",
    "up to 2.1 a broker that is back before its session has ended is told nothing (KIP-380)",
)


def owed(sight: Sight, scene: Scene) -> Iterator[Owed]:
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


def may_lead(sight: Sight, scene: Scene) -> tuple[int, ...]:
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


def _to_be_told(sight: Sight, scene: Scene) -> Iterator[Owed]:
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
