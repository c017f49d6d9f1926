"""Clients and an ensemble on a real network."""

from typing import Any

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import RandomStreams
from cluster_model.protocol.configs import ZkSettings
from cluster_model.zookeeper.client import ZkClient
from cluster_model.zookeeper.ensemble import Ensemble
from cluster_model.zookeeper.messages import Operation, OpResult, WatchKind

MS = 1_000
SECOND = 1_000_000
TIMEOUT = 18 * SECOND
TICK = 2 * SECOND
LATENCY = MS


class ClientNode:
    """A process that is only a client and records its callbacks; ``renews`` a session that has expired."""

    def __init__(self, network: Network, node: int, servers: tuple[int, ...], timeout: int, *, renews: bool) -> None:
        self.port = NodeContext(network, node)
        self.zk = ZkClient(self.port, servers, timeout, self)
        self.renews = renews
        self.seen: list[tuple[Any, ...]] = []

    def note(self, *what: Any) -> None:
        self.seen.append((self.port.now, *what))

    def on_connected(self) -> None:
        self.note("connected", self.zk.server)

    def on_disconnected(self) -> None:
        self.note("disconnected")

    def on_expired(self) -> None:
        self.note("expired")
        if self.renews:
            self.zk.connect()

    def on_answer(self, token: Any, result: OpResult) -> None:
        self.note("answer", token, result)

    def on_watch(self, path: str, kind: WatchKind) -> None:
        self.note("watch", path, kind)

    def receive(self, source: int, message: Any) -> None:
        assert self.zk.receive(source, message)

    def on_timer(self, timer: Payload) -> None:
        assert self.zk.on_timer(timer)

    def on_disconnect(self, peer: int) -> None:
        self.zk.on_disconnect(peer)

    def answers(self) -> list[tuple[Any, OpResult]]:
        return [(entry[2], entry[3]) for entry in self.seen if entry[1] == "answer"]

    def what(self) -> list[tuple[Any, ...]]:
        """Return the callbacks without responses and times."""
        return [entry[1:] for entry in self.seen if entry[1] != "answer"]

    def times(self, what: str) -> list[int]:
        return [entry[0] for entry in self.seen if entry[1] == what]


class Rig:
    """``clients`` of an ensemble that is formed at the start with ``operations`` done."""

    def __init__(
        self,
        servers: int = 3,
        clients: tuple[int, ...] = (1, 2, 3),
        *,
        operations: tuple[tuple[int, Operation], ...] = (),
        timeout: int = TIMEOUT,
        jitter: int = 0,
        seed: int = 0,
        formed: bool = True,
        renews: bool = False,
    ) -> None:
        self.network = Network(RandomStreams(seed), LATENCY, jitter, lambda _target, _payload: None)
        self.commits: list[tuple[Any, ...]] = []
        self.service = Ensemble(self.network, servers, ZkSettings(), self._commit)
        for node, (name, server) in self.service.nodes.items():
            self.network.add(node, name, server)
        self.clients: dict[int, ClientNode] = {}
        for node in clients:
            self.clients[node] = client = ClientNode(self.network, node, self.service.servers, timeout, renews=renews)
            self.network.add(node, f"client {node}", client)
        if formed:
            self.begun = self.service.begin([(n, c.zk) for n, c in self.clients.items()], operations)
        else:
            for _name, server in self.service.nodes.values():
                server.started()
            for client in self.clients.values():
                client.zk.started()

    def _commit(self, *what: Any) -> None:
        self.commits.append((self.now, *what))

    @property
    def now(self) -> int:
        return self.network.kernel.now

    @property
    def servers(self) -> tuple[int, ...]:
        return self.service.servers

    def run(self, duration: int) -> None:
        self.network.kernel.run_until(self.now + duration)

    def ask(self, client: int, operation: Operation) -> OpResult:
        """Send an operation and wait for the result."""
        node = self.clients[client]
        token = ("asked", self.now, len(node.seen))
        node.zk.ask(operation, token)
        for _step in range(100):
            self.run(10 * MS)
            found = [result for each, result in node.answers() if each == token]
            if found:
                return found[0]
        raise AssertionError(f"no answer to {operation}")

    def crash(self, node: int, *, power: bool = False) -> None:
        if power:
            self.network.power_off(node)
        else:
            self.network.crash(node)
        if node in self.service.nodes:
            self.service.server(node).stopped()
        else:
            self.clients[node].zk.stopped()

    def restart(self, node: int) -> None:
        self.network.restart(node)
        if node in self.service.nodes:
            self.service.server(node).started()
        else:
            self.clients[node].zk.started()

    def save(self) -> tuple[Any, ...]:
        return (self.network.save(), self.service.save(), tuple([c.zk.save() for c in self.clients.values()]))

    def load(self, saved: tuple[Any, ...]) -> None:
        network, service, clients = saved
        self.network.load(network)
        self.service.load(service)
        for client, state in zip(self.clients.values(), clients, strict=True):
            client.zk.load(state)
