"""A proposed change of the ISR is decided while there is a controller to decide it."""

from collections.abc import Iterator
from typing import Final

from cluster_model.checker.liveness.owed import Owed, Property
from cluster_model.checker.liveness.partition_state import Scene, Sight
from cluster_model.protocol.messages import NOBODY

PROPERTY: Final = Property(
    "alter-partition",
    "What a leader proposes (AlterPartition; up to 2.6 its write to ZooKeeper) is confirmed, refused, or made void by "
    "newer metadata.",
    "until metadata is there, and four seconds.",
    "the leader, whoever is in the proposal, the active controller and its majority; without them nothing is owed",
    "in ZooKeeper mode from 2.7 on a proposal that took effect, and whose answer was lost, waits for a newer leader "
    "epoch",
)


def owed(sight: Sight, scene: Scene) -> Iterator[Owed]:
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
        _known(sight, scene),
    )  # fmt: skip


def _known(sight: Sight, scene: Scene) -> str:
    """Asking again after a lost answer, a ZooKeeper-mode controller finds its own write, and takes it for another's."""
    profile, leader = sight.world.profile, scene.leader
    if profile.kraft or leader is None or leader.partition_epoch >= scene.state.partition_epoch:
        return ""
    return (
        f"known for {profile.name}: a controller that lost the answer to its own write answers INVALID_UPDATE_VERSION, "
        "and only a newer leader epoch frees the leader; KRaft mode mended it"
    )
