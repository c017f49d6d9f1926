"""The preferred replica leads again, where ``auto.leader.rebalance.enable`` is on."""

from collections.abc import Iterator
from typing import Final

from cluster_model.checker.liveness.owed import Owed, Property
from cluster_model.checker.liveness.partition_state import Scene, Sight
from cluster_model.protocol.messages import NOBODY

PROPERTY: Final = Property(
    "preferred-leader",
    "A partition's first replica leads it once it is alive and in the ISR; in ZooKeeper mode only where more than "
    "leader.imbalance.per.broker.percentage of a broker's partitions are led by others.",
    "leader.imbalance.check.interval.seconds, five seconds, and an election's time; any other leader or ISR starts it "
    "anew. At the end it is unjudged only where another replica leads.",
    "the preferred replica, the active controller and its majority; without a controller, and where "
    "rebalancing is off, nothing is owed",
)


def owed(sight: Sight, scene: Scene) -> Iterator[Owed]:
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
