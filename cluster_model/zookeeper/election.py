"""Leader election of the ensemble (``FastLeaderElection``). Sans-IO but for sending.

Simplified: a vote that may be lost is repeated at least every tick (up to a minute in ZooKeeper, whose connection
manager delivers it when a connection is restored); no observers, no weights, no reconfiguration.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.configs import ZkSettings
from cluster_model.zookeeper.data_tree import ZkDatabase
from cluster_model.zookeeper.messages import Notification, ServerState, Vote

VOTES: Final = "votes"
FIRST_REPEAT_US: Final = 200_000
"""Interval before the first repetition (``FastLeaderElection.minNotificationInterval``)."""


class FastLeaderElection:
    """Election at one server; ``decide`` is called with the elected leader."""

    __slots__ = (
        "_decide", "_final_at", "_others", "_outside", "_port", "_repeat_at", "_repeat_us", "_round", "_settings",
        "_state", "_store", "_timer", "_vote", "_votes",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        settings: ZkSettings,
        others: tuple[int, ...],
        store: ZkDatabase,
        decide: Callable[[int], None],
    ) -> None:
        self._port = port
        self._settings = settings
        self._others = others
        self._store = store
        self._decide = decide
        self._state = ServerState.LOOKING
        self._round = 0
        """Number of the election round (``logicalclock``)."""
        self._vote = Vote(0, 0, port.node_id)
        self._votes: dict[int, Vote] = {}
        """Votes of this round by server."""
        self._outside: dict[int, tuple[int, ServerState, int]] = {}
        """Servers that are not looking: (their leader, their state, their round)."""
        self._final_at = -1
        self._repeat_at = -1
        self._repeat_us = FIRST_REPEAT_US
        self._timer = DeadlineTimer(port, VOTES)

    @property
    def _majority(self) -> int:
        return (len(self._others) + 1) // 2 + 1

    def _own(self) -> Vote:
        return Vote(self._store.current_epoch, self._store.last_zxid, self._port.node_id)

    def start(self) -> None:
        """Start a new round with a vote for this server."""
        self._state = ServerState.LOOKING
        self._round += 1
        self._vote = self._own()
        self._votes = {self._port.node_id: self._vote}
        self._outside.clear()
        self._final_at = -1
        self._repeat_us = FIRST_REPEAT_US
        self._send_to_all()
        if not self._others:
            self._end(self._port.node_id)

    def begin(self, leader: int, vote: Vote) -> None:
        """Start in a formed ensemble with a leader."""
        self._round = 1
        self._vote = vote
        self._state = ServerState.LEADING if leader == self._port.node_id else ServerState.FOLLOWING

    def forget(self) -> None:
        """The process died."""
        self._round = 0
        self._votes.clear()
        self._outside.clear()
        self._timer.forget()

    def _send_to_all(self) -> None:
        for server in self._others:
            self._send(server)
        self._repeat_at = self._port.now + self._repeat_us
        self._repeat_us = min(2 * self._repeat_us, self._settings.tick_us)
        if self._others:
            self._timer.arm(self._repeat_at)

    def _send(self, server: int) -> None:
        self._port.send(server, Notification(self._round, self._vote, self._state))

    def on_timer(self, name: str) -> None:
        """End the election if no better vote arrived, or repeat the vote."""
        if name != VOTES or not self._timer.take_expired() or self._state is not ServerState.LOOKING:
            return
        now = self._port.now
        if 0 <= self._final_at <= now:
            self._end(self._vote.leader)
            return
        if now >= self._repeat_at:
            self._send_to_all()
        self._timer.arm(self._repeat_at if self._final_at < 0 else min(self._repeat_at, self._final_at))

    def receive(self, source: int, message: Notification) -> None:
        """Handle a vote, or the notification of a server that is not looking."""
        if self._state is not ServerState.LOOKING:
            if message.state is ServerState.LOOKING:
                self._send(source)
        elif message.state is ServerState.LOOKING:
            self._count(source, message)
        else:
            self._outside[source] = (message.vote.leader, message.state, message.round)
            self._check_leader(message.vote.leader, message.round)

    def _count(self, source: int, message: Notification) -> None:
        self._outside.pop(source, None)
        if message.round < self._round:
            self._send(source)
            return
        before = (self._round, self._vote)
        if message.round > self._round:
            self._round = message.round
            self._votes.clear()
            self._vote = self._own()
        self._vote = max(self._vote, message.vote)
        self._votes[self._port.node_id] = self._vote
        self._votes[source] = message.vote
        if (self._round, self._vote) != before:
            self._repeat_us = FIRST_REPEAT_US
            self._final_at = -1
            self._send_to_all()
        agreed = sum(1 for vote in self._votes.values() if vote == self._vote)
        if agreed >= self._majority and self._final_at < 0:
            self._final_at = self._port.now + self._settings.finalize_us
            self._timer.arm(self._final_at)

    def _check_leader(self, leader: int, round_number: int) -> None:
        """Join an acting leader if this server completes its majority (``checkLeader``)."""
        known = self._outside.get(leader)
        if known is None or known[1] is not ServerState.LEADING:
            return
        followers = sum(1 for chosen, _state, _round in self._outside.values() if chosen == leader)
        if followers + 1 >= self._majority:
            self._round = max(self._round, round_number)
            self._vote = self._vote._replace(leader=leader)
            self._end(leader)

    def _end(self, leader: int) -> None:
        self._state = ServerState.LEADING if leader == self._port.node_id else ServerState.FOLLOWING
        self._timer.forget()
        self._decide(leader)

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        votes = (tuple(self._votes.items()), tuple(self._outside.items()))
        times = (self._final_at, self._repeat_at, self._repeat_us, self._timer.save())
        return (self._state, self._round, self._vote, votes, times)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self._state, self._round, self._vote, votes, times = saved
        self._votes, self._outside = dict(votes[0]), dict(votes[1])
        self._final_at, self._repeat_at, self._repeat_us, timer = times
        self._timer.load(timer)
