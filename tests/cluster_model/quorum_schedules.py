"""Random lives of a quorum, and what must hold in every one of them."""

import random
from collections.abc import Callable
from typing import Any

from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.messages import NO_LEADER
from tests.cluster_model.quorums import MS, SECOND, QuorumRig

Step = Callable[[QuorumRig], None]
PAUSES = (1, 300, 20 * MS, 90 * MS, 450 * MS, SECOND, 2_100 * MS, 4 * SECOND)


class Promises:
    """What is committed once is committed for good; an epoch has one leader; logs match."""

    def __init__(self) -> None:
        self.committed: list[tuple[int, int, Any]] = []
        self.leaders: dict[int, int] = {}

    def check(self, rig: QuorumRig) -> None:
        for node, member in rig.members.items():
            ours = member.applied
            common = min(len(ours), len(self.committed))
            assert ours[:common] == self.committed[:common]
            self.committed += ours[common:]
            for _at, epoch in rig.heard(node, "leader"):
                assert self.leaders.setdefault(epoch, node) == node
            peer = member.peer
            assert peer.high_watermark <= peer.end
            assert sum(len(records) for _base, _epoch, records in ours) <= peer.high_watermark
        logs = [member.peer.node.log.extents(0, member.peer.end) for member in rig.members.values()]
        for one in logs:
            for other in logs:
                self._match(one, other)

    @staticmethod
    def _match(one: Any, other: Any) -> None:
        """From the newest epoch that both have at the same offset, everything before is the same."""
        starts = {(epoch, start) for epoch, start, _end in other}
        shared = [index for index, (epoch, start, _end) in enumerate(one) if (epoch, start) in starts]
        if shared:
            assert one[: shared[-1]] == other[: shared[-1]]
        epochs = {epoch: start for epoch, start, _end in other}
        assert all(epochs.get(epoch, start) == start for epoch, start, _end in one)


def script(seed: int, steps: int, voters: int, observers: int) -> list[Step]:
    """What happens, as a list of actions; each looks at the rig only for what is the same in every kind of run."""
    chance = random.Random(seed)
    nodes = [*range(1001, 1001 + voters), *range(1, observers + 1)]
    return [_step(chance, nodes, number) for number in range(steps)]


def _step(chance: random.Random, nodes: list[int], number: int) -> Step:
    kind = chance.choice(("append", "append", "append", "append", "down", "up", "up", "pause", "resume", "resume",
                          "lag", "lag", "isolate", "heal", "heal"))  # fmt: skip
    node, other = chance.choice(nodes), chance.choice(nodes)
    wait, latency = chance.choice(PAUSES), chance.choice((0, 0, 5 * MS, 700 * MS, 3 * SECOND))
    how = chance.choice(("crash", "power_off", "shut_down"))
    leader_too = chance.random() < 0.5

    def act(rig: QuorumRig) -> None:
        state = rig.network.processes[node].state
        target = rig.leader() if leader_too and rig.leader() != NO_LEADER else node
        if kind == "append" and rig.leader() != NO_LEADER:
            rig.append(f"record {number}")
        elif kind == "down" and rig.runs(target):
            getattr(rig, how)(target)
        elif kind == "up" and state in (ProcessState.DOWN, ProcessState.OFF):
            rig.restart(node)
        elif kind == "pause" and rig.runs(target):
            rig.pause(target)
        elif kind == "resume" and state is ProcessState.PAUSED:
            rig.resume(node)
        elif kind == "lag" and node != other:
            rig.lag(node, other, latency, latency // 2)
        elif kind == "isolate":
            rig.isolate(target)
        elif kind == "heal":
            rig.reconnect(node)
        rig.run(wait)

    return act


def recover(rig: QuorumRig) -> None:
    """Everything runs and is connected again, and has had time."""
    for node in rig.members:
        state = rig.network.processes[node].state
        if state is ProcessState.PAUSED:
            rig.resume(node)
        elif state is not ProcessState.RUNNING:
            rig.restart(node)
    for node in rig.members:
        rig.reconnect(node)
        for other in rig.members:
            if other != node:
                rig.lag(node, other, 0)
    rig.run(40 * SECOND)
