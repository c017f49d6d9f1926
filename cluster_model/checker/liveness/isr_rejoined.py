"""Every live follower that catches up returns to the ISR."""

from collections.abc import Iterator
from typing import Final

from cluster_model.checker.liveness.owed import Owed, Property
from cluster_model.checker.liveness.partition_state import Scene, Sight, held_up, never_told, throttled
from cluster_model.protocol.messages import NOBODY

PROPERTY: Final = Property(
    "isr-rejoined",
    "A follower that runs, is registered and hears its leader gets nearer to it, and is in the ISR once it has reached "
    "the leader's high watermark and the start of its epoch.",
    "until metadata is there, and three fetches with a back-off each; every step nearer and every proposed ISR start "
    "it anew, and up to 0.10.1, where replica.lag.time.max.ms comes on top, every record that the leader writes.",
    "leader, follower, the active controller and its majority; quotas, a damaged batch and a fetcher "
    "that waits for newer metadata are no broken promise",
    "up to 2.1 a broker that is back before its session has ended is told nothing (KIP-380)",
)


def owed(sight: Sight, scene: Scene) -> Iterator[Owed]:
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
