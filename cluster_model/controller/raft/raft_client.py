"""A quorum member on the kernel: drives a :class:`RaftNode` by messages and one timer.

While nothing happens, fetches and answers are left out (:mod:`cluster_model.kernel.long_poll`), and with them the
deadlines that they would have moved: a fetch timeout and a leader's check of its quorum are timers only while somebody
may be silent.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

from cluster_model.connections.network_client import NetworkClient
from cluster_model.controller.raft import raft
from cluster_model.controller.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    QuorumFetchRequest,
    QuorumFetchResponse,
    VoteRequest,
    VoteResponse,
)
from cluster_model.controller.raft.raft import (
    NEVER,
    Connections,
    RaftNode,
    Role,
    answer,
    fetched,
    question,
    says_something,
    told_high_watermark,
)
from cluster_model.controller.raft.raft_log import QuorumLog, QuorumStore
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.long_poll import Exchange
from cluster_model.kernel.node_context import LateAlarm, NodeContext
from cluster_model.kernel.rng import Stream
from cluster_model.protocol.admin_messages import DescribeQuorumResponse
from cluster_model.protocol.configs import QuorumConfig
from cluster_model.protocol.messages import NOBODY

# The quorum as its users see it: a log to append to while leading, and its committed part.


class MetadataListener(Protocol):
    """Who lives above the log: a controller, or a broker's metadata."""

    def on_leader(self, epoch: int) -> None:
        """The node leads, and everything up to its own LeaderChange record has been handed over, committed."""

    def on_resigned(self) -> None:
        """It leads no longer, after :meth:`on_leader`; what it appended and was not handed over may be lost."""

    def on_committed(self, base_offset: int, epoch: int, records: tuple[Any, ...]) -> None:
        """A committed batch: all of them in order, each once in a process's life, from offset 0 after a restart.

        LeaderChange records are not handed over, so offsets may skip one.
        """


class MetadataLog(Protocol):
    """What the owner of a peer may ask and do. Offsets are exclusive ends, as everywhere."""

    @property
    def leader(self) -> int:
        """The leader it knows of, NOBODY for none."""

    @property
    def epoch(self) -> int:
        """The newest epoch it knows of, 0 before the first."""

    @property
    def is_leader(self) -> bool:
        """Whether it leads and has told its listener so (``on_leader``): only then may anything be appended."""

    @property
    def high_watermark(self) -> int:
        """Everything below is known to be committed."""

    @property
    def end(self) -> int:
        """Where its own log ends."""

    def append(self, records: tuple[Any, ...]) -> int:
        """Have records written, in one batch; the offset of the last one. They may yet be lost.

        Raises:
            ValueError: it does not lead, or there are none.
        """

    def resign(self) -> None:
        """Clean shutdown: a leader says goodbye (EndQuorumEpoch), and the first successor stands at once."""

    def describe(self, correlation: int) -> DescribeQuorumResponse:
        """The answer to an administrator's question about the quorum."""


# Delayed fetches at a leader, one for each fetching node, on a standing exchange (``fetchPurgatory``).
#
# A fetch is answered when the leader's log grows, when its leadership ends, or when it has waited for its time. Since
# KIP-1166 (4.1) it names the HW that its sender knows and is answered as soon as the leader's is higher, all that wait
# with it (``KafkaRaftClient.onUpdateLeaderHighWatermark``, ``isHighWatermarkUpdated``); before, a newer HW alone wakes
# nobody. Where an asker has every record and knows the HW, its exchange may sleep.


EXCHANGE: Final = 255
"""Number of a node's connection for fetches of the metadata log; replica fetchers have the ones below."""
WAIT: Final = "raft wait"
"""Name of the timer of a fetch's wait."""


class FetchConnection:
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

    def came(self, request: QuorumFetchRequest, arrived: int) -> None:
        """Fetches were left out: this one arrived last."""
        leading = self.node.leading
        if leading is not None:
            leading.note_fetch(self.asker, request.offset, self.node.log.end, arrived)
            if self.asker in leading.ends:
                leading.heard(self.asker, arrived)
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

    __slots__ = ("_hw_push", "_node", "_patience_us", "_port", "_sessions", "_woken", "wake_at")

    def __init__(self, port: NodeContext, node: RaftNode, config: QuorumConfig, woken: Callable[[], None]) -> None:
        """``woken``: deadlines have changed."""
        self._port = port
        self._node = node
        self._hw_push = config.hw_push
        self._patience_us = config.patience_us
        """No fetch may take this long without notice."""
        self._woken = woken
        self._sessions: dict[int, FetchConnection] = {}
        self.wake_at = NEVER
        """When the leader's next NoOp record would wake those that were not told the HW."""

    def calm(self, asker: int) -> bool:
        """Whether this one's fetches come for certain: both sides run, and nothing happens to either."""
        session = self._sessions.get(asker)
        return session is not None and session.exchange.asleep

    def _session(self, asker: int) -> FetchConnection:
        session = self._sessions.get(asker)
        if session is None:
            exchange = self._port.asked(asker, EXCHANGE)
            session = self._sessions[asker] = FetchConnection(asker, exchange, self._node, self._woken)
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
        if leading is not None:
            leading.note_fetch(voter, request.offset, self._node.log.end, now)
        rose = self._node.reached(voter, request.offset, now)
        told = told_high_watermark(self._node)
        if rose and self._hw_push:
            self._push(now)
        elif rose:
            self._watch_grid(now)
        if says_something(response) or (self._hw_push and request.high_watermark < told):
            session.send(request, response._replace(high_watermark=told))
        else:
            self._wait(session, request, now)

    def _push(self, now: int) -> None:
        """Answer all waiting fetches, as the HW rose and they know a lower one (``fetchPurgatory.completeAll``)."""
        leading = self._node.leading
        for session in self._sessions.values():
            parked = session.parked
            if parked is not None:
                if leading is not None:
                    leading.note_fetch(session.asker, parked.offset, self._node.log.end, now)
                session.send(parked, answer(self._node, parked))

    def _wait(self, session: FetchConnection, request: QuorumFetchRequest, now: int) -> None:
        told = request.high_watermark == told_high_watermark(self._node)
        if not told or not session.exchange.sleep(request.correlation, request.max_wait_us, 0, session):
            session.park(request, now)
            if not told and not self._hw_push:
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

    def release(self, now: int) -> None:
        """The log has grown, or a leadership ended: answer whom that concerns."""
        leading = self._node.leading
        if leading is None:
            self.wake_at = NEVER
        for session in self._sessions.values():
            if session.parked is not None:
                response = answer(self._node, session.parked)
                if leading is not None and response.extents:
                    leading.note_fetch(session.asker, session.parked.offset, self._node.log.end, now)
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


# The standing fetch of a voter or an observer (``KafkaRaftClient.pollFollower``).
#
# A voter asks the leader it knows. An observer that knows none, or whose leader is silent or gone, asks any voter,
# and learns from the refusal who leads.


_LIFE_BITS = 40
"""Room for the fetches of one life of a process in their numbers."""


class Fetching:
    """One node's fetches, one under way at a time."""

    __slots__ = (
        "_asked", "_connections", "_draw", "_exchange", "_node", "_number", "_port", "_requests", "_steady", "_target",
        "_told", "_waits", "_woken",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        node: RaftNode,
        config: QuorumConfig,
        draw: Callable[[int], int],
        woken: Callable[[], None],
        requests: NetworkClient | None = None,
    ) -> None:
        """``woken``: deadlines have changed. ``requests``: see :class:`QuorumPeer`."""
        self._port = port
        self._requests = requests
        self._waits = False
        """The request under way waits for a connection."""
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
        self._waits = False
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
        exchange, requests = self._bind(target), self._requests
        if requests is None or requests.ready(target):
            exchange.ask(self._number, self._asked, idle=no_news)
        else:
            self._waits = True
            requests.await_connection(target)

    def opened(self, peer: int) -> None:
        """There is a connection: what has waited for it is sent."""
        if self._waits and peer == self._target and self._asked is not None and self._exchange is not None:
            self._waits = False
            self._exchange.ask(self._asked.correlation, self._asked, idle=False)

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
        self._waits = False

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
            (self._requests or self._port).abandon(self._target, self._exchange)
            self._asked = None
            self._waits = False

    def broke(self, peer: int, now: int) -> None:
        """The connection to ``peer`` is gone, and the answer with it."""
        if self._asked is not None and peer == self._target:
            self._connections.broke(peer, now)
            self._asked = None
            self._waits = False

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
        return (
            self._number, self._target, self._asked, self._steady, self._told, self._waits, self._connections.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after the network's."""
        self._number, self._target, self._asked, self._steady, self._told, self._waits, connections = saved
        self._connections.load(connections)
        self._exchange = None
        if self._target != NOBODY:
            self._bind(self._target)


ALARM: Final = "raft"
"""Name of the timer of everything but waits."""
LATE: Final = "raft late"
"""Name of the timer that follows late ones, behind all that was held back with them."""
GONE: Final = "raft gone"
"""Name of the timer after which a voter ends that has not heard of another leader."""
LEAVING_US: Final = 5_000_000
"""How long that takes (``KafkaRaftClientDriver.shutdown``)."""


class QuorumPeer:
    """A :class:`MetadataLog`, inside the process that owns ``port``."""

    __slots__ = (
        "_alarm",
        "_delivered",
        "_fetching",
        "_late",
        "_leaves",
        "_listener",
        "_parking",
        "_port",
        "_requests",
        "_shown",
        "_told",
        "node",
        "on_left",
    )

    def __init__(
        self,
        port: NodeContext,
        voters: tuple[int, ...],
        store: QuorumStore,
        config: QuorumConfig,
        stream: Stream,
        listener: MetadataListener,
        requests: NetworkClient | None = None,
    ) -> None:
        """``store`` is the one that all peers of a quorum share; a node that is not among ``voters`` is an observer.

        ``requests`` is what its requests are sent by (``KafkaNetworkChannel``); None: all connections stand, always.
        """
        self._port = port
        self._requests: NodeContext = requests or port
        self._listener = listener
        self.node = RaftNode(port.node_id, voters, QuorumLog(store), config, stream.below)
        self._parking = Parking(port, self.node, config, self._arm)
        self._fetching = Fetching(port, self.node, config, stream.below, self._arm, requests)
        self._alarm = LateAlarm(port, EXCHANGE, ALARM)
        self._late = False
        """Whether a timer came late, and all of them are to be looked at again."""
        self.on_left: Callable[[], None] = lambda: None
        """Called when a member that :meth:`leave` was called for is done."""
        self._leaves = False
        self._delivered = 0
        """The listener has got everything below."""
        self._told = 0
        """The epoch that the listener was told it leads, 0 none."""
        self._shown = (0, False, 0)
        """(epoch, whether it leads, end) that parked fetches have been measured by."""

    @property
    def leader(self) -> int:
        """The leader it knows of, NOBODY for none."""
        return self.node.leader

    @property
    def epoch(self) -> int:
        """The newest epoch it knows of, 0 before the first."""
        return self.node.epoch

    @property
    def is_leader(self) -> bool:
        """Whether it leads and has told its listener so."""
        return self.node.leading is not None and self._told == self.node.epoch

    @property
    def high_watermark(self) -> int:
        """Everything below is known to be committed."""
        return self.node.high_watermark

    @property
    def end(self) -> int:
        """Where its own log ends."""
        return self.node.log.end

    def append(self, records: tuple[Any, ...]) -> int:
        """Have records written; see :class:`MetadataLog`."""
        if not self.is_leader:
            raise ValueError(f"node {self.node.id} is not the active leader of epoch {self.node.epoch}")
        offset = self.node.append(records, self._port.now)
        self._arm()
        return offset

    def leave(self) -> None:
        """SIGTERM: a leader resigns; who has or hears of another leader, or has nobody to hear of it from, is done.

        After :data:`LEAVING_US` it is done all the same (``KafkaRaftClient.GracefulShutdown``).
        """
        if not self._leaves:
            self._leaves = True
            self._port.timer(LEAVING_US, GONE)
            self.resign()

    def _goodbye(self, *, late: bool = False) -> None:
        node = self.node
        if self._leaves and (late or not node.voter or not node.others or node.leader not in (NOBODY, node.id)):
            self._leaves = False
            self.on_left()

    def resign(self) -> None:
        """A leader gives its epoch up and says so, and the first successor stands at once."""
        self._disturb()
        self.node.resign(self._port.now)
        self._turn()

    def describe(self, correlation: int) -> DescribeQuorumResponse:
        """The voters and observers, fetches that were left out included."""
        self._disturb()
        return raft.describe_quorum(self.node, correlation, self._port.now)

    def started(self) -> None:
        """The process runs, with what is on its disk."""
        self._fetching.start()
        self.node.start(self._port.now)
        self._turn()

    def stopped(self) -> None:
        """The process died, by whatever cause: the log and the vote stay, the rest is gone."""
        self._disturb()
        self.node.stop()
        self._parking.stop()
        self._fetching.stop()
        self._alarm.forget()
        self._late = self._leaves = False
        self._delivered = 0
        self._told = 0

    @property
    def handlers(self) -> dict[type[Any], Callable[[int, Any], None]]:
        """Message type → what handles it, for an owner that keeps a table."""

        def handle(source: int, message: Any) -> None:
            self.receive(source, message)

        return dict.fromkeys((QuorumFetchRequest, QuorumFetchResponse, *_ELECTIONS), handle)

    def receive(self, source: int, message: Any) -> bool:
        """Handle a message; False if it is none of the quorum's."""
        now = self._port.now
        if isinstance(message, QuorumFetchRequest):
            self._parking.fetch(message, now)
        elif isinstance(message, QuorumFetchResponse):
            self._fetching.answered(source, message, now)
        elif isinstance(message, _ELECTIONS):
            self._disturb()
            self._election(source, message, now)
        else:
            return False
        self._turn()
        return True

    def _election(self, source: int, message: Any, now: int) -> None:
        node, send = self.node, self._port.send
        if isinstance(message, VoteRequest):
            send(source, raft.vote(node, message, now))
        elif isinstance(message, VoteResponse):
            raft.voted(node, source, message, now)
        elif isinstance(message, BeginQuorumEpochRequest):
            send(source, raft.begin(node, message, now))
        elif isinstance(message, BeginQuorumEpochResponse):
            raft.begun(node, source, message, now)
        elif isinstance(message, EndQuorumEpochRequest):
            send(source, raft.end(node, message, now))
        elif isinstance(message, EndQuorumEpochResponse):
            raft.ended(node, source, message, now)

    def on_timer(self, timer: Payload) -> bool:
        """Handle a timer; False if it is none of the quorum's."""
        now = self._port.now
        if timer[0] == WAIT:
            _name, asker, at = timer
            self._parking.rang(asker)
        elif timer[0] == ALARM:
            at = self._alarm.at
            if not self._alarm.rang():
                return True
        elif timer[0] == LATE:
            at = now
            self._late = False
        elif timer[0] == GONE:
            self._goodbye(late=True)
            return True
        else:
            return False
        if at < now:
            self._be_late()
            return True
        self._parking.waited(now)
        if timer[0] != WAIT:
            self._turn()
        return True

    def _be_late(self) -> None:
        """The process was paused: what came meanwhile is handled first, and then what is still due.

        Timers may ring before what they are for is due, and then again; a late one thus tells nothing of the order.
        """
        if not self._late:
            self._late = True
            self._port.timer(0, LATE)

    def on_disconnect(self, peer: int) -> None:
        """Whatever was asked of ``peer`` will not be answered; only voters are ever asked."""
        if peer not in self.node.voters:
            return
        self._disturb()
        now = self._port.now
        self.node.connections.broke(peer, now)
        self._fetching.broke(peer, now)
        self._turn()

    def opened(self, peer: int) -> None:
        """A connection to ``peer`` has been made: a fetch may have waited for it."""
        self._disturb()
        self._fetching.opened(peer)

    def _disturb(self) -> None:
        """Something may change here: what others have left out comes first."""
        self._fetching.wake()
        self._parking.wake()

    def _turn(self) -> None:
        """After anything that happened: do what is due, say what there is to say, tell the listener."""
        now = self._port.now
        node = self.node
        if self._deadline() <= now:
            self._disturb()
        self._parking.grid(now)
        if not self._fetching.calm:
            self._fetching.due(now)
            node.poll(now, self._parking.calm)
            self._fetching.pump(now)
        for target, message in node.out:
            self._requests.send(target, message)
        node.out.clear()
        self._release()
        self._deliver()
        self._arm()
        if self._leaves:
            self._goodbye()

    def _release(self) -> None:
        shown = (self.node.epoch, self.node.leading is not None, self.node.log.end)
        if shown != self._shown:
            self._shown = shown
            self._parking.release(self._port.now)

    def _deliver(self) -> None:
        node, listener = self.node, self._listener
        leads = node.leading is not None
        if self._told and not (leads and node.epoch == self._told):
            self._told = 0
            listener.on_resigned()
        if self._delivered < node.high_watermark:
            for batch in node.log.batches(self._delivered, node.high_watermark):
                self._delivered = batch.end
                if not batch.control:
                    listener.on_committed(batch.base, batch.epoch, batch.records)
        leading = node.leading
        if leading is not None and not self._told and leading.high_watermark > leading.epoch_start:
            self._told = node.epoch
            listener.on_leader(node.epoch)

    def _deadline(self) -> int:
        """When there is something to do next."""
        if self._fetching.calm:
            return NEVER
        return min(self.node.deadline(self._parking.calm), self._fetching.deadline(), self._parking.wake_at)

    def _arm(self) -> None:
        at = self._deadline()
        if at < NEVER:
            self._alarm.want(at)

    def save(self) -> tuple[Any, ...]:
        """All state but the shared store's."""
        return (
            self.node.save(), self._parking.save(), self._fetching.save(), self._alarm.save(), self._delivered,
            self._told, self._shown, self._late, self._leaves,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after the network's, the streams' and the store's."""
        node, parking, fetching, alarm, self._delivered, self._told, self._shown, self._late, self._leaves = saved
        self.node.load(node)
        self._parking.load(parking)
        self._fetching.load(fetching)
        self._alarm.load(alarm)


_ELECTIONS: Final = (
    VoteRequest, VoteResponse, BeginQuorumEpochRequest, BeginQuorumEpochResponse, EndQuorumEpochRequest,
    EndQuorumEpochResponse,
)  # fmt: skip


def form_quorum(peers: tuple[QuorumPeer, ...], leader: int, records: tuple[tuple[Any, ...], ...]) -> None:
    """Stand in a formed cluster at the first instant: ``leader`` leads epoch 1, and everybody has all of it, committed.

    ``records`` are batches that it wrote before anybody looked; the listeners get them as ever, then the leader's word.
    """
    first = next(peer for peer in peers if peer.node.id == leader)
    first.node.form_leader(first._port.now, records)
    for peer in peers:
        peer._fetching.start()
        if peer is not first:
            peer.node.form_follower(first.node, peer._port.now)
    for peer in peers:
        peer._turn()
