"""The standing fetch of a voter or an observer: whom it asks, and when again (``KafkaRaftClient.pollFollower``).

A voter asks the leader it knows. An observer that knows none, or whose leader is silent or gone, asks any voter, and
learns from the refusal who leads.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.controller.raft.config import QuorumConfig
from cluster_model.controller.raft.connections import Connections
from cluster_model.controller.raft.leading import NEVER
from cluster_model.controller.raft.messages import QuorumFetchRequest, QuorumFetchResponse
from cluster_model.controller.raft.parking import EXCHANGE
from cluster_model.controller.raft.raft import RaftNode, Role
from cluster_model.controller.raft.replicating import fetched, question
from cluster_model.kernel.long_poll import Exchange
from cluster_model.kernel.node_context import Port
from cluster_model.protocol.messages import NOBODY

_LIFE_BITS = 40
"""Room for the fetches of one life of a process in their numbers."""


class Fetching:
    """One node's fetches, one under way at a time."""

    __slots__ = (
        "_asked", "_connections", "_draw", "_exchange", "_node", "_number", "_port", "_steady", "_target", "_told",
        "_woken",
    )  # fmt: skip

    def __init__(
        self, port: Port, node: RaftNode, config: QuorumConfig, draw: Callable[[int], int], woken: Callable[[], None]
    ) -> None:
        """``woken``: deadlines have changed."""
        self._port = port
        self._node = node
        self._draw = draw
        self._woken = woken
        self._connections = Connections(config)
        self._exchange: Exchange | None = None
        self._number = 0
        self._target = NOBODY
        self._asked: QuorumFetchRequest | None = None
        """The request under way."""
        self._steady = False
        """Whether it was sent the moment the leader answered the one before."""
        self._told = (NOBODY, 0, -1)
        """(leader, epoch, the HW it told last)."""

    @property
    def calm(self) -> bool:
        """Whether answers come for certain: both sides run, and nothing happens to either."""
        return self._asked is not None and self._exchange is not None and self._exchange.asleep

    def wake(self) -> None:
        """Leave out nothing that has happened so far; to be called before anything changes here."""
        if self._exchange is not None:
            self._exchange.wake()

    def start(self) -> None:
        """A new life of the process."""
        self._number = self._port.incarnation << _LIFE_BITS

    def stop(self) -> None:
        """The process died."""
        self._asked = None
        self._target = NOBODY
        self._told = (NOBODY, 0, -1)
        self._connections.clear()

    def repeats(self, number: int) -> bool:
        """Whether it would ask the same again if request ``number`` brought no news."""
        asked, node = self._asked, self._node
        return (
            asked is not None
            and asked.correlation == number
            and self._steady
            and node.role is Role.FOLLOWER
            and node.leader == self._target
            and node.epoch == asked.epoch
        )

    def skipped(self, number: int) -> None:
        """Questions and empty answers were left out up to this one."""
        if self._asked is not None:
            self._number = number
            self._asked = self._asked._replace(correlation=number)

    def request(self, number: int) -> QuorumFetchRequest:
        """The question that stands there as the exchange wakes; the leader was last heard of when it was sent."""
        asked, exchange = self._asked, self._exchange
        if asked is None or exchange is None:
            raise ValueError(f"node {self._node.id} has no fetch {number} under way")
        self._node.follow_on(exchange.sent_at)
        self._connections.sent(self._target, number, exchange.sent_at)
        self._woken()
        return asked._replace(correlation=number)

    def pump(self, now: int, *, no_news: bool = False, steady: bool = False) -> None:
        """Ask, unless a request is under way; ``no_news``: the last was answered by nothing, ``steady``: just now."""
        if self._asked is not None and self._stale(self._asked):
            self._give_up()
        if self._asked is not None:
            return
        target = self._choose(now)
        if target == NOBODY:
            return
        node = self._node
        leader, epoch, high_watermark = self._told
        told = high_watermark if (leader, epoch) == (target, node.epoch) else -1
        self._number += 1
        self._target = target
        self._steady = steady and target == node.leader
        self._asked = question(node, self._number, told)
        self._connections.sent(target, self._number, now)
        self._bind(target).ask(self._number, self._asked, idle=no_news)

    def _bind(self, target: int) -> Exchange:
        self._exchange = exchange = self._port.asking(target, EXCHANGE)
        exchange.asking = self
        return exchange

    def _stale(self, asked: QuorumFetchRequest) -> bool:
        node = self._node
        return not self._wants or asked.epoch != node.epoch or (node.voter and node.leader != self._target)

    @property
    def _wants(self) -> bool:
        return self._node.role is Role.FOLLOWER or not self._node.voter

    def _give_up(self) -> None:
        """Nobody waits for its answer any more."""
        self._connections.answered(self._target)
        self._asked = None

    def _choose(self, now: int) -> int:
        node, ready = self._node, self._connections.ready
        if not self._wants:
            return NOBODY
        if node.leader != NOBODY and (node.voter or node.due_at > now) and ready(node.leader, now):
            return node.leader
        if node.voter:
            return NOBODY
        voters = [voter for voter in node.voters if ready(voter, now)]
        return voters[self._draw(len(voters))] if voters else NOBODY

    def answered(self, source: int, response: QuorumFetchResponse, now: int) -> None:
        """An answer arrived: take it, and ask on."""
        asked = self._asked
        if asked is None or source != self._target or response.correlation != asked.correlation:
            return
        self._asked = None
        if not fetched(self._node, source, response, now):
            self._connections.refused(source, now)
            self.pump(now)
            return
        self._connections.answered(source)
        self._told = (source, response.epoch, response.high_watermark)
        news = response.extents or response.diverging is not None or response.high_watermark != asked.high_watermark
        self.pump(now, no_news=not news, steady=True)

    def due(self, now: int) -> None:
        """A request may have waited for too long."""
        if self._asked is not None and not self.calm and self._connections.ready(self._target, now):
            self._connections.refused(self._target, now)
            self._port.abandon(self._target, self._exchange)
            self._asked = None

    def broke(self, peer: int, now: int) -> None:
        """The connection to ``peer`` is gone, and the answer with it."""
        if self._asked is not None and peer == self._target:
            self._connections.broke(peer, now)
            self._asked = None

    def deadline(self) -> int:
        """When there is something to do next, NEVER if only a message can change anything."""
        if self.calm or not self._wants:
            return NEVER
        if self._asked is not None:
            return self._connections.ready_at(self._target)
        node = self._node
        whom = (node.leader,) if node.voter else node.voters
        return min([self._connections.ready_at(voter) for voter in whom])

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._number, self._target, self._asked, self._steady, self._told, self._connections.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after the network's."""
        self._number, self._target, self._asked, self._steady, self._told, connections = saved
        self._connections.load(connections)
        self._exchange = None
        if self._target != NOBODY:
            self._bind(self._target)
