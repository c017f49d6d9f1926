"""A follower has its leader's high watermark once the partition is idle."""

from collections.abc import Iterator
from typing import Final

from cluster_model.checker.liveness.owed import Owed, Property
from cluster_model.checker.liveness.partition_state import Scene, Sight, held_up, never_told, throttled

PROPERTY: Final = Property(
    "follower-hw",
    "On an idle partition every in-sync follower that runs knows the leader's high watermark.",
    "two fetches of replica.fetch.wait.max.ms with a back-off each: a rising high watermark wakes no parked fetch.",
    "leader and follower; quotas are no broken promise",
    "up to 2.1 a broker that is back before its session has ended is told nothing (KIP-380)",
)


def owed(sight: Sight, scene: Scene) -> Iterator[Owed]:
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
