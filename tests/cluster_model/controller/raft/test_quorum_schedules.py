"""Random schedules: crashes, power losses, shutdowns, pauses, lag and isolation, on quorums of every size."""

from typing import Any

import pytest

from cluster_model.controller.raft.raft_client import RaftClient
from cluster_model.protocol.messages import NO_LEADER
from tests.cluster_model.quorum_schedules import Promises, recover, script
from tests.cluster_model.quorums import SECOND, QuorumRig

pytestmark = pytest.mark.slow

SHAPES = [
    (1, 2, "3.9"),
    (3, 0, "3.3"),
    (3, 3, "3.9"),
    (5, 2, "3.9"),
    (3, 2, "4.1"),
    (5, 0, "4.1"),
    (2, 1, "3.9"),
    (3, 1, "4.0"),
]


@pytest.mark.parametrize(("voters", "observers", "kafka"), SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_guarantees_hold_whatever_happens(voters: int, observers: int, kafka: str, seed: int) -> None:
    rig = QuorumRig(voters, observers, kafka=kafka, seed=seed)
    promises = Promises()
    for step in script(seed, 120, voters, observers):
        step(rig)
        promises.check(rig)
    recover(rig)
    promises.check(rig)
    assert rig.leader() != NO_LEADER
    before = len(promises.committed)
    rig.append("the end")
    rig.run(2 * SECOND)
    promises.check(rig)
    assert len(promises.committed) > before
    for node, member in rig.members.items():
        assert member.applied == promises.committed, node
        assert member.peer.leader == rig.leader()


def history(rig: QuorumRig) -> Any:
    """Everything that listeners received and when, and the state of every node."""
    return [(member.heard, stand(member.peer)) for member in rig.members.values()]


def stand(peer: RaftClient) -> Any:
    node = peer.node
    return (node.role, node.epoch, node.voted, peer.leader, peer.high_watermark, peer.end, peer.is_leader)


@pytest.mark.parametrize(("voters", "observers", "kafka"), SHAPES)
@pytest.mark.parametrize(("seed", "jitter"), [(11, 300), (12, 0), (302, 300), (364, 0)])
def test_skipped_idle_polls_do_not_change_the_outcome(
    voters: int, observers: int, kafka: str, seed: int, jitter: int
) -> None:
    quick, naive = [
        QuorumRig(voters, observers, kafka=kafka, seed=seed, jitter=jitter, naive=naive) for naive in (False, True)
    ]
    for number, step in enumerate(script(seed, 100, voters, observers)):
        step(quick)
        step(naive)
        assert history(quick) == history(naive), number
    for rig in (quick, naive):
        recover(rig)
    assert history(quick) == history(naive)
    assert quick.network.kernel.executed < naive.network.kernel.executed


@pytest.mark.parametrize(("voters", "observers", "kafka"), SHAPES)
@pytest.mark.parametrize("seed", [21, 22])
def test_going_back_and_on_again_is_going_straight_on(voters: int, observers: int, kafka: str, seed: int) -> None:
    straight = QuorumRig(voters, observers, kafka=kafka, seed=seed)
    steps = script(seed, 90, voters, observers)
    for number, step in enumerate(steps):
        if number == 40:
            saved = straight.save()
        step(straight)
    end = (straight.save(), history(straight), straight.network.kernel.executed)
    twin = QuorumRig(voters, observers, kafka=kafka, seed=seed, whole=straight.store)
    twin.load(saved)
    straight.load(saved)
    for rig in (twin, straight):
        assert rig.save() == saved
        for step in steps[40:]:
            step(rig)
        assert (rig.save(), history(rig), rig.network.kernel.executed) == end
