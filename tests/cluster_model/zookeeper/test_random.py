"""Random crashes, power losses, pauses and lag: commits survive, and all servers agree on one order."""

import random
from typing import Any

import pytest

from cluster_model.kernel.process import ProcessState
from cluster_model.zookeeper.messages import Check, Create, GetData, Multi, SetData, Txn, ZkError
from tests.cluster_model.zookeeper.rigs import MS, SECOND, Rig
from tests.support.breadth import sample_count

pytestmark = pytest.mark.slow

NODES = (1, 2, 3)


class Shaken(Rig):
    """A rig that records the transactions each server applies, and compares them between servers."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        start = ((1, Create("/counter", (0,))), (1, Create("/list")))
        servers = self.dice.choice((1, 3, 3, 3, 5))
        super().__init__(servers, NODES, operations=start, timeout=6 * SECOND, jitter=3 * MS, seed=seed, renews=True)
        self.order: dict[int, Txn] = {}
        self.applied = dict.fromkeys(self.servers, 0)
        for server in self.servers:
            self.listen(server)
        self.asked = 0
        self.acked: list[str] = []
        self.slow: list[tuple[int, int]] = []

    def listen(self, server: int) -> None:
        node: Any = self.service.server(server)
        told = node._on_apply

        def check(txn: Txn) -> None:
            assert self.order.setdefault(txn.zxid, txn) == txn
            assert txn.zxid > self.applied[server]
            self.applied[server] = txn.zxid
            told(txn)

        node._on_apply = check

    def shake(self) -> None:
        node = self.dice.choice((*self.servers, *self.servers, *NODES))
        state = self.network.processes[node].state
        if state is ProcessState.PAUSED:
            self.network.resume(node)
        elif state is not ProcessState.RUNNING:
            self.restart(node)
        else:
            fault = self.dice.choice(("crash", "power", "pause", "pause", "slow", "slow"))
            if fault == "slow":
                pair = (node, self.dice.choice([each for each in self.servers if each != node] or list(NODES)))
                self.network.slow_down(*pair, ((1, self.dice.choice((50 * MS, 3 * SECOND, 30 * SECOND)), 0),))
                self.slow.append(pair)
            elif fault == "pause":
                self.network.pause(node)
            else:
                self.crash(node, power=fault == "power")

    def ask_something(self) -> None:
        node = self.dice.choice(NODES)
        if self.network.processes[node].state is ProcessState.RUNNING:
            self.asked += 1
            operation = self.dice.choice(
                (
                    Create("/list/n", (self.asked,), sequential=True),
                    Create(f"/mine-{node}", (), ephemeral=True),
                    SetData("/counter", (self.asked,), len(self.commits) % 7),
                    SetData("/counter", (self.asked,)),
                    Multi((Check("/counter"), Create("/list/m", (self.asked,), sequential=True))),
                    GetData("/counter", watch=True),
                )
            )
            self.clients[node].zk.ask(operation, operation)

    def heal(self) -> None:
        for pair in self.slow:
            self.network.slow_down(*pair, ())
        for node, process in self.network.processes.items():
            if process.state is ProcessState.PAUSED:
                self.network.resume(node)
            elif process.state is not ProcessState.RUNNING:
                self.restart(node)


def shaken(seed: int, rounds: int = 100) -> Shaken:
    rig = Shaken(seed)
    for _round in range(rounds):
        if rig.dice.random() < 0.25:
            rig.shake()
        for _question in range(3):
            rig.ask_something()
        rig.run(rig.dice.choice((2 * MS, 100 * MS, SECOND, 4 * SECOND)))
    rig.heal()
    rig.run(90 * SECOND)
    return rig


def check(rig: Shaken) -> None:
    zxids = [zxid for _at, _path, _data, _version, zxid, _operation in rig.commits]
    assert zxids == sorted(zxids)
    versions = [version for _at, path, _data, version, _zxid, _op in rig.commits if path == "/counter"]
    assert versions == list(range(1, len(versions) + 1))
    trees = [rig.service.server(server).store.tree for server in rig.servers]
    for tree in trees:
        assert tree.nodes == rig.service.tree.nodes
        assert tree.sessions == rig.service.tree.sessions
        assert tree.zxid == rig.service.tree.zxid
    made = dict.fromkeys(path for _at, path, _data, _version, _zxid, operation in rig.commits if operation == "create")
    for client in rig.clients.values():
        for token, result in client.answers():
            for each in (result, *result.results):
                if isinstance(token, Create | Multi) and each.error is ZkError.OK and each.path.startswith("/list/"):
                    assert each.path in made
                    assert each.path in rig.service.tree.nodes
        assert client.zk.connected
    assert rig.service.leader() in rig.servers


@pytest.mark.parametrize("seed", range(sample_count(12, 25)))
def test_committed_transactions_are_durable_and_totally_ordered(seed: int) -> None:
    check(shaken(seed))


@pytest.mark.parametrize("seed", range(1_000, 1_000 + sample_count(50, 300)))
def test_the_same_many_times(seed: int) -> None:
    check(shaken(seed, 150))


@pytest.mark.parametrize("seed", range(3))
def test_the_same_seed_gives_the_same_history(seed: int) -> None:
    first, second = shaken(seed), shaken(seed)
    assert first.commits == second.commits
    assert first.network.kernel.executed == second.network.kernel.executed
