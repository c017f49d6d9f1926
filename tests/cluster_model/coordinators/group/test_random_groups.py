"""Groups under random crashes, pauses and partitions: invariants at any time, and recovery afterwards.

- In one generation of a group no partition is given to two members.
- A commit that was acknowledged is there after any failover, or one that was asked for later.
- Once everything is whole again, every member has an assignment of the same generation.

A static member may come to its end without a fault of its own: when the coordinator that gave it its newest id died
before it wrote that down, its successor does not know that id.
"""

import random

import pytest

from cluster_model.coordinators.group.group_metadata import GroupState
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.group_messages import OffsetCommitResponse, OffsetFetchRequest, SyncGroupResponse
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import OFFSETS, coordinator_partition
from tests.cluster_model.coordinators.group.members import Member, Talk
from tests.support.breadth import sample_count

pytestmark = pytest.mark.slow

GROUPS = ("g", "h")


class Storm:
    """A cluster with two groups, and random faults."""

    def __init__(self, kafka: str, seed: int) -> None:
        self.dice = random.Random(seed)
        self.static = Profile.of(kafka).static_members
        self.talk = Talk(kafka, offsets={"min.insync.replicas": 2}, seed=seed)
        self.talk.run(1)
        self.members: list[Member] = []
        self.owners: dict[tuple[str, int, str], str] = {}
        self.asked: dict[str, list[int]] = {group: [] for group in GROUPS}
        self.cuts = 0
        for index in range(4):
            self._new_member(index)

    def _new_member(self, index: int) -> None:
        instance = f"pod-{index}" if index % 4 == 3 and self.static else ""
        group = GROUPS[index % 2]
        self.members.append(self.talk.member(f"m{index}", group=group, instance=instance))

    def step(self) -> None:
        """Run one random action, then let some time pass."""
        cluster, dice = self.talk.cluster, self.dice
        broker = dice.choice((1, 2, 3))
        state = cluster.state_of(broker)
        act = dice.choice(("crash", "pause", "heal", "cut", "member", "silence", "commit", "commit", "commit"))
        running = [number for number in (1, 2, 3) if cluster.state_of(number) is ProcessState.RUNNING]
        if act == "crash" and state is ProcessState.RUNNING and len(running) == 3:
            cluster.crash(broker)
        elif act == "pause" and state is ProcessState.RUNNING and len(running) == 3:
            cluster.pause(broker)
        elif act == "heal":
            self._heal()
        elif act == "cut" and len(running) == 3:
            self.cuts += 1
            for other in (1, 2, 3):
                if other != broker:
                    cluster.cut(broker, other, 1)
        elif act == "member" and len(self.members) < 9:
            self._new_member(len(self.members))
        elif act == "silence" and sum(not each.stopped for each in self.members) > 3:
            dice.choice([each for each in self.members[2:] if not each.stopped]).stopped = True
        elif act == "commit":
            self._commit()
        self.talk.run(dice.choice((0.003, 0.2, 1, 4, 11)))
        self._look()

    def _commit(self) -> None:
        """Have one member of each group commit, so that a later request is also later in the log."""
        member = self.dice.choice(self.members[:2])
        if member.coordinator < 0 or member.assignment is None:
            return
        values = self.asked[member.group]
        values.append(len(values) + 1)
        member.commit("orders-0", values[-1])

    def _heal(self) -> None:
        cluster = self.talk.cluster
        for broker in (1, 2, 3):
            if cluster.state_of(broker) is ProcessState.DOWN:
                cluster.restart(broker)
            elif cluster.state_of(broker) is ProcessState.PAUSED:
                cluster.resume(broker)
            for other in (1, 2, 3):
                if other != broker:
                    cluster.heal_cut(broker, other, 1)

    def _look(self) -> None:
        """Check that no partition has two owners in one generation, in the members' own view."""
        for member in self.members:
            if member.assignment is None or not any(isinstance(each, SyncGroupResponse) for each in member.got):
                continue
            for partition in member.assignment.partitions:
                key = (member.group, member.generation, partition)
                owner = member.instance or member.member_id
                assert self.owners.setdefault(key, owner) == owner, key

    def acked(self, group: str) -> int:
        """Newest acknowledged commit, in the order of the members' requests."""
        best = 0
        for member in self.members:
            if member.group == group:
                sent = member.sent_commits
                for each in member.got:
                    if isinstance(each, OffsetCommitResponse) and not each.partitions[0][1]:
                        best = max(best, sent[each.correlation_id])
        return best


@pytest.mark.parametrize("kafka", ["0.9", "2.3", "2.8", "3.9"])
@pytest.mark.parametrize("seed", range(sample_count(3, 5)))
def test_groups_survive_whatever_happens(kafka: str, seed: int) -> None:
    storm = Storm(kafka, seed)
    for _ in range(40):
        storm.step()
    storm._heal()
    storm.talk.run(100)
    cluster = storm.talk.cluster
    for group_id in GROUPS:
        leader = cluster.query.leader(f"{OFFSETS}-{coordinator_partition(group_id, 3)}")
        group = cluster.coordinators[leader].registry.groups[group_id]
        members = [member for member in storm.members if member.group == group_id and not member.stopped]
        alive = {member.member_id: member for member in members}
        assert group.state is (GroupState.STABLE if alive else GroupState.EMPTY)
        assert set(group.members) == set(alive)
        assert {member.generation for member in alive.values()} <= {group.generation}
        given = [partition for member in alive.values() for partition in (member.assignment or ((),))[0]]
        assert sorted(given) == (["orders-0", "orders-1"] if alive else [])
        answer = storm.talk.ask(leader, OffsetFetchRequest(0, group_id, ("orders-0",)))
        assert answer.error == 0
        # Offsets increase in the order of requests, so an older one would be a lost commit.
        assert answer.partitions[0].offset >= (storm.acked(group_id) or -1)
