"""One server process of the ensemble (``QuorumPeer``): it looks for a leader, then leads or follows, and so on."""

from collections.abc import Callable
from typing import Any

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import Port
from cluster_model.zookeeper.election import Election
from cluster_model.zookeeper.leader import Leading
from cluster_model.zookeeper.learner import Following
from cluster_model.zookeeper.messages import Txn
from cluster_model.zookeeper.peers import FollowerInfo, FromLeader, Notification, Refused, ServerState, Vote
from cluster_model.zookeeper.request_processor import FROM_CLIENTS, Serving, Upstream
from cluster_model.zookeeper.settings import ZkSettings
from cluster_model.zookeeper.store import Store


class ZooKeeperServer:
    """The node."""

    __slots__ = (
        "_election",
        "_following",
        "_others",
        "_port",
        "_told",
        "_waiting",
        "leading",
        "serving",
        "state",
        "store",
    )

    def __init__(self, port: Port, servers: tuple[int, ...], settings: ZkSettings, told: Callable[[Txn], None]) -> None:
        """``told`` gets every transaction that this server applies."""
        self.state = ServerState.LOOKING
        self.store = Store()
        self.serving = Serving(port, settings, self.store.tree, self._upstream)
        self._port = port
        self._others = tuple(server for server in servers if server != port.node_id)
        self._told = told
        self._election = Election(port, settings, self._others, self.store, self._decided)
        self.leading = Leading(port, settings, self._others, self.store, self.serving, self._apply, self.look)
        self._following = Following(port, settings, self.store, self.serving, self._apply, self.look)
        self._waiting: dict[int, FollowerInfo] = {}
        """Who wants to follow this one, which does not know yet that it will lead."""

    def _upstream(self) -> Upstream:
        return self.leading if self.leading.on else self._following

    # -- the process's life -------------------------------------------------------------------------------------------

    def started(self) -> None:
        """The process starts, with what is on its disk."""
        self._election.start()

    def stopped(self) -> None:
        """The process died, by whatever means: only what is on disk is left."""
        self.state = ServerState.LOOKING
        self.serving.forget()
        self.leading.forget()
        self._following.forget()
        self._election.forget()
        self._waiting.clear()

    def shut_down(self) -> None:
        """SIGTERM: the process exits; its clients and followers find their connections closed."""
        self._port.exit("shutdown")

    def begin_following(self, leader: int, vote: Vote) -> int:
        """Stand as an established follower at the first instant; the join."""
        self.state = ServerState.FOLLOWING
        self._election.begin(leader, vote)
        return self._following.begin(leader)

    def begin_leading(self, followers: dict[int, int], vote: Vote) -> None:
        """Stand as the established leader at the first instant."""
        self.state = ServerState.LEADING
        self._election.begin(self._port.node_id, vote)
        self.leading.begin(followers)

    # -- roles --------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """No leader any more: drop all clients and look for another."""
        self.serving.stop()
        if self.state is ServerState.LEADING:
            self.leading.stop()
        elif self.state is ServerState.FOLLOWING:
            self._following.stop()
        self._refuse_waiting()
        self.state = ServerState.LOOKING
        self._election.start()

    def _decided(self, leader: int) -> None:
        waiting = tuple(self._waiting.items())
        if leader != self._port.node_id:
            self._refuse_waiting()
            self.state = ServerState.FOLLOWING
            self._following.start(leader)
            return
        self._waiting.clear()
        self.state = ServerState.LEADING
        self.leading.start()
        for server, info in waiting:
            self.leading.receive(server, info)

    def _refuse_waiting(self) -> None:
        for server, info in self._waiting.items():
            self._port.send(server, Refused(info.join))
        self._waiting.clear()

    def _apply(self, zxid: int) -> None:
        """Apply what is logged and committed up to there, in order."""
        store = self.store
        if zxid <= store.committed:
            return
        for txn in store.after(store.committed):
            if txn.zxid > zxid:
                break
            store.tree.apply(txn.changes, txn.zxid, self.serving.trigger)
            self._told(txn)
            self.serving.applied(txn)
        store.trim()

    # -- events -------------------------------------------------------------------------------------------------------

    def receive(self, source: int, message: Any) -> None:
        """Handle a message."""
        if isinstance(message, FROM_CLIENTS):
            self.serving.receive(source, message)
        elif isinstance(message, Notification):
            self._election.receive(source, message)
        elif isinstance(message, FromLeader) and not isinstance(message, Refused):
            self._following.receive(source, message)
        elif self.state is ServerState.LEADING:
            self.leading.receive(source, message)
        elif isinstance(message, Refused):
            self._following.receive(source, message)
        elif isinstance(message, FollowerInfo) and self.state is ServerState.LOOKING:
            self._waiting[source] = message
        else:
            self._port.send(source, Refused(message.join))

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer."""
        name: str = timer[0]
        self._election.on_timer(name)
        self.leading.on_timer(name)
        self._following.on_timer(name)

    def on_disconnect(self, peer: int) -> None:
        """A process at the other end of a connection is gone."""
        if peer not in self._others:
            self.serving.drop(peer)
            return
        self._waiting.pop(peer, None)
        if self.state is ServerState.LEADING:
            self.leading.lost(peer)
        elif self.state is ServerState.FOLLOWING and peer == self._following.leader:
            self._following.forget()
            self.look()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.state, self.store.save(), self.serving.save(), self._election.save(), self.leading.save(),
            self._following.save(), tuple(self._waiting.items()),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.state, store, serving, election, leading, following, waiting = saved
        self.store.load(store)
        self.serving.load(serving)
        self._election.load(election)
        self.leading.load(leading)
        self._following.load(following)
        self._waiting = dict(waiting)
