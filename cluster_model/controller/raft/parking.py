"""Fetches that wait at a leader, one per asker, each on a standing exchange (``fetchPurgatory``).

A fetch is answered when the leader's log grows, when its leadership ends, or when it has waited for its time; a newer
HW alone wakes nobody. Where an asker has every record and knows the HW, its exchange may sleep.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.controller.raft.leading import NEVER
from cluster_model.controller.raft.messages import QuorumFetchRequest, QuorumFetchResponse
from cluster_model.controller.raft.raft import RaftNode
from cluster_model.controller.raft.replicating import answer, says_something, told_high_watermark
from cluster_model.kernel.long_poll import Exchange
from cluster_model.kernel.node_context import Port

EXCHANGE: Final = 255
"""Number of a node's connection for fetches of the metadata log; replica fetchers have the ones below."""
WAIT: Final = "raft wait"
"""Name of the timer of a fetch's wait."""


class Session:
    """One asker's connection. ``parked`` is the request that waits here, None while none does."""

    __slots__ = ("_arrived", "_woken", "armed", "asker", "exchange", "node", "parked")

    def __init__(self, asker: int, exchange: Exchange, node: RaftNode, woken: Callable[[], None]) -> None:
        self.asker = asker
        self.exchange = exchange
        self.node = node
        self._woken = woken
        self.parked: QuorumFetchRequest | None = None
        self.armed = False
        self._arrived = -1

    def park(self, request: QuorumFetchRequest, arrived: int) -> None:
        """The request waits from its arrival on."""
        self.parked = request
        self._arrived = arrived
        if not self.armed:
            self._arm(request)

    def _arm(self, request: QuorumFetchRequest) -> None:
        self.armed = True
        at = self._arrived + request.max_wait_us
        self.exchange.deadline(at, 0, (WAIT, self.asker, at))

    def over(self, now: int) -> bool:
        """No timer is set: True when the parked fetch has waited long enough, else one is."""
        if self.parked is None or self.armed:
            return False
        if self._arrived + self.parked.max_wait_us <= now:
            return True
        self._arm(self.parked)
        return False

    def send(self, request: QuorumFetchRequest, response: QuorumFetchResponse) -> None:
        """Answer; in vain where it says nothing that the asker does not know."""
        self.parked = None
        idle = not says_something(response) and response.high_watermark == request.high_watermark
        self.exchange.answer(request.correlation, response, idle=idle)

    def nothing(self, number: int) -> QuorumFetchResponse:
        """The answer to a fetch that waited in vain."""
        node = self.node
        return QuorumFetchResponse(number, 0, node.epoch, node.leader, told_high_watermark(node), (), None)

    def came(self, _request: QuorumFetchRequest, arrived: int) -> None:
        """Fetches were left out: this one arrived last."""
        if self.node.leading is not None and self.asker in self.node.leading.ends:
            self.node.leading.heard(self.asker, arrived)
        self._woken()

    def woken(self, request: QuorumFetchRequest, arrived: int) -> None:
        """Fetches were left out: this one arrived last, and waits."""
        self.came(request, arrived)
        self.park(request, arrived)

    def save(self) -> tuple[Any, ...]:
        """All state; whether the exchange sleeps is the exchange's."""
        return (self.asker, self.parked, self.armed, -1 if self.parked is None else self._arrived)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after the exchange's."""
        _asker, self.parked, self.armed, self._arrived = saved
        self.exchange.answering = self


class Parking:
    """All sessions of one node. They outlive a leadership; what was parked is answered when it ends."""

    __slots__ = ("_node", "_patience_us", "_port", "_sessions", "_woken", "wake_at")

    def __init__(self, port: Port, node: RaftNode, patience_us: int, woken: Callable[[], None]) -> None:
        """``patience_us``: no fetch may take this long without notice; ``woken``: deadlines have changed."""
        self._port = port
        self._node = node
        self._patience_us = patience_us
        self._woken = woken
        self._sessions: dict[int, Session] = {}
        self.wake_at = NEVER
        """When the leader's next NoOp record would wake those that were not told the HW."""

    def calm(self, asker: int) -> bool:
        """Whether this one's fetches come for certain: both sides run, and nothing happens to either."""
        session = self._sessions.get(asker)
        return session is not None and session.exchange.asleep

    def _session(self, asker: int) -> Session:
        session = self._sessions.get(asker)
        if session is None:
            exchange = self._port.asked(asker, EXCHANGE)
            session = self._sessions[asker] = Session(asker, exchange, self._node, self._woken)
        return session

    def wake(self) -> None:
        """Leave out nothing that has happened so far; to be called before anything changes here."""
        for session in self._sessions.values():
            session.exchange.wake()

    def fetch(self, request: QuorumFetchRequest, now: int) -> None:
        """A fetch arrived: answer it, or let it wait. One that is still parked there has been given up by its asker."""
        session = self._session(request.replica)
        session.parked = None
        response = answer(self._node, request)
        if response.error or response.diverging is not None:
            session.send(request, response)
            return
        voter = request.replica
        leading = self._node.leading
        if leading is not None and leading.ends.get(voter, request.offset) != request.offset:
            self.wake()
        rose = self._node.reached(voter, request.offset, now)
        if rose:
            self._watch_grid(now)
        if says_something(response):
            session.send(request, response._replace(high_watermark=told_high_watermark(self._node)))
        else:
            self._wait(session, request, now)

    def _wait(self, session: Session, request: QuorumFetchRequest, now: int) -> None:
        told = request.high_watermark == told_high_watermark(self._node)
        if not told or not session.exchange.sleep(request.correlation, request.max_wait_us, 0, session):
            session.park(request, now)
            if not told:
                self._watch_grid(now)
        elif now - session.exchange.sent_at + session.exchange.longest_us >= self._patience_us:
            # An idle cycle, or the rest of this one after a slow request, may take too long to be certain of.
            session.exchange.wake()

    def _watch_grid(self, now: int) -> None:
        leading = self._node.leading
        if self.wake_at == NEVER and leading is not None:
            self.wake_at = leading.next_idle_write(now)

    def grid(self, now: int) -> None:
        """A NoOp record is due: whoever waits and was not told the HW is answered."""
        if now < self.wake_at:
            return
        self.wake_at = NEVER
        told = told_high_watermark(self._node)
        for session in self._sessions.values():
            if session.parked is not None and session.parked.high_watermark != told:
                session.send(session.parked, answer(self._node, session.parked))

    def release(self) -> None:
        """The log has grown, or a leadership ended: answer whom that concerns."""
        if self._node.leading is None:
            self.wake_at = NEVER
        for session in self._sessions.values():
            if session.parked is not None:
                response = answer(self._node, session.parked)
                if says_something(response):
                    session.send(session.parked, response)

    def rang(self, asker: int) -> None:
        """The timer of this one rang."""
        self._session(asker).armed = False

    def waited(self, now: int) -> None:
        """Perhaps fetches whose timers rang have waited long enough, and are answered with what there is."""
        for session in self._sessions.values():
            if session.over(now) and session.parked is not None:
                session.send(session.parked, answer(self._node, session.parked))

    def stop(self) -> None:
        """The process died, and every parked fetch and timer with it."""
        for session in self._sessions.values():
            session.parked = None
            session.armed = False
        self.wake_at = NEVER

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.wake_at, tuple([session.save() for session in self._sessions.values()]))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after the network's."""
        self.wake_at, sessions = saved
        self._sessions.clear()
        for state in sessions:
            self._session(state[0]).load(state)
