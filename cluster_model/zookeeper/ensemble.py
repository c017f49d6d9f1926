"""The ZooKeeper ensemble as the rest of the model sees it, and one server process (``QuorumPeer``).

Servers know each other only by messages; :class:`Ensemble` looks at all of them, for the committed state, for
views, and to build a formed ensemble.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.configs import ZkSettings
from cluster_model.zookeeper.client import ZkClient
from cluster_model.zookeeper.data_tree import DataTree, ZkDatabase, first_zxid
from cluster_model.zookeeper.election import FastLeaderElection
from cluster_model.zookeeper.messages import (
    READS,
    CreateSession,
    Data,
    Delete,
    FollowerInfo,
    FromLeader,
    LearnerDisconnected,
    Notification,
    Operation,
    OpResult,
    Read,
    ServerState,
    Txn,
    Vote,
    ZkError,
)
from cluster_model.zookeeper.request_processor import FROM_CLIENTS, RequestProcessor, Upstream
from cluster_model.zookeeper.zab import NO_NODE, LeaderRole, Learner

# One server process of the ensemble (``QuorumPeer``): it alternates between looking for a leader and leading or
# following.


class QuorumPeer:
    """One server process of the ensemble (``QuorumPeer``)."""

    __slots__ = (
        "_election",
        "_following",
        "_on_apply",
        "_others",
        "_port",
        "_waiting",
        "leader",
        "processor",
        "state",
        "store",
    )

    def __init__(
        self, port: NodeContext, servers: tuple[int, ...], settings: ZkSettings, on_apply: Callable[[Txn], None]
    ) -> None:
        """``on_apply`` receives every transaction that this server applies."""
        self.state = ServerState.LOOKING
        self.store = ZkDatabase()
        self.processor = RequestProcessor(port, settings, self.store.tree, self._upstream)
        self._port = port
        self._others = tuple(server for server in servers if server != port.node_id)
        self._on_apply = on_apply
        self._election = FastLeaderElection(port, settings, self._others, self.store, self._decided)
        self.leader = LeaderRole(
            port, settings, self._others, self.store, self.processor, self._apply, self.start_election
        )
        self._following = Learner(port, settings, self.store, self.processor, self._apply, self.start_election)
        self._waiting: dict[int, FollowerInfo] = {}
        """Servers that want to follow this one before it knows that it leads."""

    def _upstream(self) -> Upstream:
        return self.leader if self.leader.active else self._following

    # -- process lifecycle --------------------------------------------------------------------------------------------

    def started(self) -> None:
        """The process started with the state on its disk."""
        self._election.start()

    def stopped(self) -> None:
        """The process died: only the state on disk is left."""
        self.state = ServerState.LOOKING
        self.processor.forget()
        self.leader.forget()
        self._following.forget()
        self._election.forget()
        self._waiting.clear()

    def shut_down(self) -> None:
        """SIGTERM: the process exits, and its clients and followers lose their connections."""
        self._port.exit("shutdown")

    def begin_following(self, leader: int, vote: Vote) -> int:
        """Start as an established follower in a formed ensemble; return the number of the join."""
        self.state = ServerState.FOLLOWING
        self._election.begin(leader, vote)
        return self._following.begin(leader)

    def begin_leading(self, followers: dict[int, int], vote: Vote) -> None:
        """Start as the established leader of a formed ensemble."""
        self.state = ServerState.LEADING
        self._election.begin(self._port.node_id, vote)
        self.leader.begin(followers)

    # -- roles --------------------------------------------------------------------------------------------------------

    def start_election(self) -> None:
        """Look for a new leader, and drop all clients."""
        self.processor.stop()
        if self.state is ServerState.LEADING:
            self.leader.stop()
        elif self.state is ServerState.FOLLOWING:
            self._following.stop()
        self._reject_waiting()
        self.state = ServerState.LOOKING
        self._election.start()

    def _decided(self, leader: int) -> None:
        waiting = tuple(self._waiting.items())
        if leader != self._port.node_id:
            self._reject_waiting()
            self.state = ServerState.FOLLOWING
            self._following.start(leader)
            return
        self._waiting.clear()
        self.state = ServerState.LEADING
        self.leader.start()
        for server, info in waiting:
            self.leader.receive(server, info)

    def _reject_waiting(self) -> None:
        for server, info in self._waiting.items():
            self._port.send(server, LearnerDisconnected(info.join))
        self._waiting.clear()

    def _apply(self, zxid: int) -> None:
        """Apply logged and committed transactions up to a zxid, in order."""
        store = self.store
        if zxid <= store.committed:
            return
        for txn in store.after(store.committed):
            if txn.zxid > zxid:
                break
            store.tree.apply(txn.changes, txn.zxid, self.processor.trigger)
            self._on_apply(txn)
            self.processor.applied(txn)
        store.trim()

    # -- events -------------------------------------------------------------------------------------------------------

    def receive(self, source: int, message: Any) -> None:
        """Handle a message."""
        if isinstance(message, FROM_CLIENTS):
            self.processor.receive(source, message)
        elif isinstance(message, Notification):
            self._election.receive(source, message)
        elif isinstance(message, FromLeader) and not isinstance(message, LearnerDisconnected):
            self._following.receive(source, message)
        elif self.state is ServerState.LEADING:
            self.leader.receive(source, message)
        elif isinstance(message, LearnerDisconnected):
            self._following.receive(source, message)
        elif isinstance(message, FollowerInfo) and self.state is ServerState.LOOKING:
            self._waiting[source] = message
        else:
            self._port.send(source, LearnerDisconnected(message.join))

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer."""
        name: str = timer[0]
        self._election.on_timer(name)
        self.leader.on_timer(name)
        self._following.on_timer(name)

    def on_disconnect(self, peer: int) -> None:
        """Handle the end of the process at the other end of a connection."""
        if peer not in self._others:
            self.processor.drop(peer)
            return
        self._waiting.pop(peer, None)
        if self.state is ServerState.LEADING:
            self.leader.on_disconnect(peer)
        elif self.state is ServerState.FOLLOWING and peer == self._following.leader:
            self._following.forget()
            self.start_election()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            self.state, self.store.save(), self.processor.save(), self._election.save(), self.leader.save(),
            self._following.save(), tuple(self._waiting.items()),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self.state, store, serving, election, leading, following, waiting = saved
        self.store.load(store)
        self.processor.load(serving)
        self._election.load(election)
        self.leader.load(leading)
        self._following.load(following)
        self._waiting = dict(waiting)


FIRST_SERVER: Final = 1501
"""Node id of the first server."""
OnCommit = Callable[[str, Data, int, int, str], None]
"""Called with (path, data, version, zxid, ``create``, ``set`` or ``delete``); a deleted node's last data."""


def _nothing(_path: str, _data: Data, _version: int, _zxid: int, _operation: str) -> None:
    """Ignore a commit."""


class Ensemble:
    """All servers of the ensemble, and its committed state for observers."""

    __slots__ = ("_committed_tree", "_network", "_published_zxid", "nodes", "on_commit", "servers")

    def __init__(
        self, network: Network, count: int = 3, settings: ZkSettings | None = None, on_commit: OnCommit = _nothing
    ) -> None:
        """``count`` servers, an odd number; their owner adds :attr:`nodes` to the network."""
        if count < 1 or count % 2 == 0:
            raise ValueError(f"found {count} servers, expected an odd number: 1, 3, 5 ...")
        self.servers = tuple(range(FIRST_SERVER, FIRST_SERVER + count))
        self.on_commit = on_commit
        self._network = network
        self._published_zxid = 0
        self._committed_tree = DataTree()
        given = settings or ZkSettings()
        self.nodes: dict[int, tuple[str, QuorumPeer]] = {
            server: (
                f"zookeeper {number}",
                QuorumPeer(NodeContext(network, server), self.servers, given, self._publish),
            )
            for number, server in enumerate(self.servers, 1)
        }
        """Node id → (name, node)."""

    # -- formation of the ensemble ------------------------------------------------------------------------------------

    def begin(
        self, clients: Iterable[tuple[int, ZkClient]], operations: Iterable[tuple[int, Operation]]
    ) -> tuple[OpResult, ...]:
        """Start formed, led by the last server in epoch 1, with clients connected; return the operations' results.

        ``clients`` are (node id, client); ``operations`` are (node id, operation), in order; a read with a watch sets
        it. :attr:`on_commit` is not called for them. The nodes are in the network already. No callback is called;
        ``ValueError`` for an invalid operation.
        """
        zxid = first_zxid(1)
        tree = self._committed_tree
        before = dict(clients)
        sessions: dict[int, int] = {}
        for node, client in before.items():
            zxid += 1
            tree.judge(CreateSession(client.timeout_us, node), 0, zxid)
            sessions[node] = zxid
        results: list[OpResult] = []
        watches: list[tuple[int, Read, OpResult]] = []
        for node, operation in operations:
            if isinstance(operation, READS):
                result = tree.read(operation)
                if operation.watch:
                    watches.append((node, operation, result))
            else:
                zxid += 1
                result = tree.judge(operation, sessions[node], zxid)[1]
                if result.error is not ZkError.OK:
                    raise ValueError(f"{operation} failed: {result.error.name}")
            results.append(result)
        self._published_zxid = tree.zxid = zxid
        self._form()
        for node, client in before.items():
            self._connect(node, client.server)
            attempt = client.begin(sessions[node], tree.sessions[sessions[node]].timeout_us, zxid)
            self.server(client.server).processor.begin(node, attempt, sessions[node])
        for node, operation, result in watches:
            before[node].begin_watching(operation, result)
            self.server(before[node].server).processor.begin_watching(node, operation, result)
        return tuple(results)

    def _connect(self, first: int, second: int) -> None:
        """Mark the connection between two processes as open: the end of either resets it."""
        self._network.link(first, second).used = True
        self._network.link(second, first).used = True

    def _form(self) -> None:
        saved = self._committed_tree.save()
        leader = self.servers[-1]
        vote = Vote(0, 0, leader)
        joins: dict[int, int] = {}
        for server in self.servers:
            self.server(server).store.begin(1, saved)
            if server != leader:
                self._connect(server, leader)
                joins[server] = self.server(server).begin_following(leader, vote)
        self.server(leader).begin_leading(joins, vote)

    # -- committed state ----------------------------------------------------------------------------------------------

    def server(self, server: int) -> QuorumPeer:
        """Return one server."""
        return self.nodes[server][1]

    @property
    def tree(self) -> DataTree:
        """The committed tree, whichever servers have it."""
        return self._committed_tree

    def leader(self) -> int:
        """The server that leads with a majority's history; of two such the newer one, -1 for none."""
        leading = [(self.server(server).leader, server) for server in self.servers]
        return max(((role.epoch, server) for role, server in leading if role.established), default=(0, NO_NODE))[1]

    def session_of(self, client: int) -> int:
        """The newest session of a client, 0 for none."""
        return max(
            (session for session, record in self._committed_tree.sessions.items() if record.client == client), default=0
        )

    def expire_session(self, client: int) -> bool:
        """Expire a client's newest session now; False if it has none, or if there is no running leader."""
        session, leader = self.session_of(client), self._running_leader()
        if not session or leader == NO_NODE:
            return False
        self.server(leader).leader.expire(session)
        return True

    def delete(self, path: str) -> bool:
        """Delete a node as an operator does; False if it does not exist, or if there is no running leader."""
        leader = self._running_leader()
        if path not in self._committed_tree.nodes or leader == NO_NODE:
            return False
        self.server(leader).leader.write_as_operator(Delete(path))
        return True

    def _running_leader(self) -> int:
        leader = self.leader()
        runs = leader != NO_NODE and self._network.processes[leader].state is ProcessState.RUNNING
        return leader if runs else NO_NODE

    def _publish(self, txn: Txn) -> None:
        """Publish a transaction when the first server applies it: the leader, which committed it."""
        if txn.zxid <= self._published_zxid:
            return
        self._published_zxid = txn.zxid
        tree = self._committed_tree
        for change in txn.changes:
            deleted = tree.nodes.get(change.path) if change.kind == "delete" else None
            tree.apply((change,), txn.zxid, _no_trigger)
            node = deleted or tree.nodes.get(change.path)
            if node is not None and change.kind in ("create", "set", "delete"):
                self.on_commit(change.path, node.data, node.version, txn.zxid, change.kind)
        tree.zxid = txn.zxid

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            self._published_zxid,
            self._committed_tree.save(),
            tuple([node.save() for _name, node in self.nodes.values()]),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self._published_zxid, tree, nodes = saved
        self._committed_tree.load(tree)
        for (_name, node), state in zip(self.nodes.values(), nodes, strict=True):
            node.load(state)


def _no_trigger(_path: str, _kind: Any) -> None:
    """Ignore a change: the committed tree has no watches."""
