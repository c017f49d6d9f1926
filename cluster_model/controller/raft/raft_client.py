"""A quorum member on the kernel: drives a :class:`RaftNode` by messages and one timer.

While the quorum is idle, fetches and responses are not simulated (:mod:`cluster_model.kernel.long_poll`), and neither
are the deadlines that they would extend: a fetch timeout and a leader's check of its quorum need timers only while a
node may be silent.
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
    RaftNode,
    RequestManager,
    Role,
    fetch_response,
    handle_fetch_response,
    has_news,
    leader_high_watermark,
    next_fetch,
)
from cluster_model.controller.raft.raft_log import QuorumLog, QuorumStore
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.long_poll import LongPoll
from cluster_model.kernel.node_context import LateDeadlineTimer, NodeContext
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.admin_messages import DescribeQuorumResponse
from cluster_model.protocol.configs import QuorumConfig
from cluster_model.protocol.messages import NO_LEADER

# The quorum as its users see it: a log, appended to by the leader, and its committed part.


class MetadataListener(Protocol):
    """Listener of the metadata log: a controller, or the metadata of a broker."""

    def on_leader(self, epoch: int) -> None:
        """The node became leader; every record up to its own LeaderChange record is committed and delivered."""

    def on_resigned(self) -> None:
        """The node lost the leadership, after :meth:`on_leader`; its undelivered records may be lost."""

    def on_committed(self, base_offset: int, epoch: int, records: tuple[Any, ...]) -> None:
        """A batch was committed: batches come in order, each once per process, from offset 0 after a restart.

        LeaderChange records are not delivered, so offsets may skip one.
        """


class MetadataLog(Protocol):
    """Interface of a quorum member to its owner. End offsets are exclusive, as everywhere."""

    @property
    def leader(self) -> int:
        """The leader that the node knows, NO_LEADER for none."""

    @property
    def epoch(self) -> int:
        """The newest epoch that the node knows, 0 before the first."""

    @property
    def is_leader(self) -> bool:
        """Whether the node leads and its listener knows it (``on_leader``): only then can records be appended."""

    @property
    def high_watermark(self) -> int:
        """End of the log that the node knows to be committed."""

    @property
    def end(self) -> int:
        """End of the node's own log."""

    def append(self, records: tuple[Any, ...]) -> int:
        """Append records as one batch, and return the offset of the last one; until committed they may be lost.

        Raises:
            ValueError: the node is not the leader, or there are no records.
        """

    def resign(self) -> None:
        """Clean shutdown: a leader sends EndQuorumEpoch, and the first successor becomes a candidate at once."""

    def describe(self, correlation_id: int) -> DescribeQuorumResponse:
        """Return the response to an administrator's DescribeQuorum request."""


# Delayed fetches at a leader, one per fetching node, on a long-poll exchange (``fetchPurgatory``). A fetch is answered
# when the leader's log grows, when its leadership ends, or after its longest wait. Since KIP-1166 (4.1) it carries the
# HW that its sender knows, and is answered as soon as the leader's is higher, together with all other waiting fetches
# (``KafkaRaftClient.onUpdateLeaderHighWatermark``, ``isHighWatermarkUpdated``); before, a newer HW alone completes no
# fetch. Where the fetching node has every record and knows the HW, its exchange can sleep.


EXCHANGE: Final = 255
"""Number of a node's connection for metadata log fetches; replica fetchers have the lower numbers."""
WAIT: Final = "raft wait"
"""Name of the timer of a delayed fetch."""


class FetchConnection:
    """Connection of one fetching node to the leader. ``delayed_request`` may be None."""

    __slots__ = ("_arrived", "_on_change", "armed", "delayed_request", "exchange", "node", "replica")

    def __init__(self, asker: int, exchange: LongPoll, node: RaftNode, on_change: Callable[[], None]) -> None:
        self.replica = asker
        self.exchange = exchange
        self.node = node
        self._on_change = on_change
        self.delayed_request: QuorumFetchRequest | None = None
        self.armed = False
        self._arrived = -1

    def delay(self, request: QuorumFetchRequest, arrived: int) -> None:
        """Delay a fetch, counted from its arrival."""
        self.delayed_request = request
        self._arrived = arrived
        if not self.armed:
            self._arm(request)

    def _arm(self, request: QuorumFetchRequest) -> None:
        self.armed = True
        at = self._arrived + request.max_wait_us
        self.exchange.deadline(at, 0, (WAIT, self.replica, at))

    def over(self, now: int) -> bool:
        """Whether the delayed fetch has waited its longest time; otherwise its timer is set again if it is not set."""
        if self.delayed_request is None or self.armed:
            return False
        if self._arrived + self.delayed_request.max_wait_us <= now:
            return True
        self._arm(self.delayed_request)
        return False

    def send(self, request: QuorumFetchRequest, response: QuorumFetchResponse) -> None:
        """Send a response; it counts as idle if it holds nothing new for the fetching node."""
        self.delayed_request = None
        idle = not has_news(response) and response.high_watermark == request.high_watermark
        self.exchange.answer(request.correlation_id, response, idle=idle)

    def empty_response(self, number: int) -> QuorumFetchResponse:
        """Return the empty response to a fetch whose wait is over."""
        node = self.node
        return QuorumFetchResponse(number, 0, node.epoch, node.leader, leader_high_watermark(node), (), None)

    def account_skipped(self, request: QuorumFetchRequest, arrived: int) -> None:
        """Account for fetches that were not simulated; this one arrived last."""
        leading = self.node.leading
        if leading is not None:
            leading.record_fetch(self.replica, request.offset, self.node.log.end, arrived)
            if self.replica in leading.ends:
                leading.record_voter_fetch(self.replica, arrived)
        self._on_change()

    def on_wake(self, request: QuorumFetchRequest, arrived: int) -> None:
        """Account for fetches that were not simulated; this one arrived last and is delayed."""
        self.account_skipped(request, arrived)
        self.delay(request, arrived)

    def save(self) -> tuple[Any, ...]:
        """Return all state; whether the exchange sleeps is saved with the exchange."""
        return (self.replica, self.delayed_request, self.armed, -1 if self.delayed_request is None else self._arrived)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned, after that of the exchange."""
        _asker, self.delayed_request, self.armed, self._arrived = saved
        self.exchange.answering = self


class DelayedFetches:
    """Delayed fetches at one node, by fetching node; they outlive a leadership, at whose end they are answered."""

    __slots__ = ("_hw_push", "_node", "_on_change", "_patience_us", "_port", "_sessions", "wake_at")

    def __init__(self, port: NodeContext, node: RaftNode, config: QuorumConfig, on_change: Callable[[], None]) -> None:
        """``on_change`` is called when deadlines have changed."""
        self._port = port
        self._node = node
        self._hw_push = config.hw_push
        self._patience_us = config.shortest_timeout_us
        """Longest time in µs that a fetch may go unnoticed."""
        self._on_change = on_change
        self._sessions: dict[int, FetchConnection] = {}
        self.wake_at = NEVER
        """Time of the leader's next NoOp record, which completes fetches that do not know the HW."""

    def is_calm(self, asker: int) -> bool:
        """Whether a node's fetches are certain to arrive: both sides run undisturbed."""
        session = self._sessions.get(asker)
        return session is not None and session.exchange.asleep

    def _session(self, asker: int) -> FetchConnection:
        session = self._sessions.get(asker)
        if session is None:
            exchange = self._port.incoming_exchange(asker, EXCHANGE)
            session = self._sessions[asker] = FetchConnection(asker, exchange, self._node, self._on_change)
        return session

    def wake(self) -> None:
        """Simulate all skipped fetches up to now; to be called before any change of state."""
        for session in self._sessions.values():
            session.exchange.wake()

    def fetch(self, request: QuorumFetchRequest, now: int) -> None:
        """Handle a fetch: respond, or delay it. An earlier fetch of that node that is still delayed is dropped."""
        session = self._session(request.replica)
        session.delayed_request = None
        response = fetch_response(self._node, request)
        if response.error or response.diverging is not None:
            session.send(request, response)
            return
        voter = request.replica
        leading = self._node.leading
        if leading is not None and leading.ends.get(voter, request.offset) != request.offset:
            self.wake()
        if leading is not None:
            leading.record_fetch(voter, request.offset, self._node.log.end, now)
        rose = self._node.record_voter_end(voter, request.offset, now)
        high_watermark = leader_high_watermark(self._node)
        if rose and self._hw_push:
            self._push(now)
        elif rose:
            self._schedule_idle_write(now)
        awaited = self._hw_push and request.awaits_high_watermark
        if has_news(response) or (awaited and request.high_watermark < high_watermark):
            session.send(request, response._replace(high_watermark=high_watermark))
        else:
            self._wait(session, request, now)

    def _push(self, now: int) -> None:
        """Answer all delayed fetches with a lower HW after the HW advanced (``fetchPurgatory.completeAll``)."""
        leading = self._node.leading
        for session in self._sessions.values():
            delayed_request = session.delayed_request
            if delayed_request is not None:
                if leading is not None:
                    leading.record_fetch(session.replica, delayed_request.offset, self._node.log.end, now)
                session.send(delayed_request, fetch_response(self._node, delayed_request))

    def _wait(self, session: FetchConnection, request: QuorumFetchRequest, now: int) -> None:
        knows_hw = request.high_watermark == leader_high_watermark(self._node)
        if not knows_hw or not session.exchange.sleep(request.correlation_id, request.max_wait_us, 0, session):
            session.delay(request, now)
            if not knows_hw and not (self._hw_push and request.awaits_high_watermark):
                self._schedule_idle_write(now)
        elif now - session.exchange.sent_at + session.exchange.longest_us >= self._patience_us:
            # An idle cycle, or the rest of this one after a slow request, may be too long to be certain.
            session.exchange.wake()

    def _schedule_idle_write(self, now: int) -> None:
        leading = self._node.leading
        if self.wake_at == NEVER and leading is not None:
            self.wake_at = leading.next_idle_write(now)

    def write_idle(self, now: int) -> None:
        """A NoOp record is due: answer the delayed fetches that do not know the HW."""
        if now < self.wake_at:
            return
        self.wake_at = NEVER
        high_watermark = leader_high_watermark(self._node)
        for session in self._sessions.values():
            if session.delayed_request is not None and session.delayed_request.high_watermark != high_watermark:
                session.send(session.delayed_request, fetch_response(self._node, session.delayed_request))

    def release(self, now: int) -> None:
        """Answer delayed fetches after the log has grown or a leadership has ended."""
        leading = self._node.leading
        if leading is None:
            self.wake_at = NEVER
        for session in self._sessions.values():
            if session.delayed_request is not None:
                response = fetch_response(self._node, session.delayed_request)
                if leading is not None and response.extents:
                    leading.record_fetch(session.replica, session.delayed_request.offset, self._node.log.end, now)
                if has_news(response):
                    session.send(session.delayed_request, response)

    def on_timer(self, asker: int) -> None:
        """Record that the timer of a node's delayed fetch fired."""
        self._session(asker).armed = False

    def waited(self, now: int) -> None:
        """Answer the delayed fetches whose longest wait is over."""
        for session in self._sessions.values():
            if session.over(now) and session.delayed_request is not None:
                session.send(session.delayed_request, fetch_response(self._node, session.delayed_request))

    def stop(self) -> None:
        """The process died with all its delayed fetches and timers."""
        for session in self._sessions.values():
            session.delayed_request = None
            session.armed = False
        self.wake_at = NEVER

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (self.wake_at, tuple([session.save() for session in self._sessions.values()]))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned, after that of the network."""
        self.wake_at, sessions = saved
        self._sessions.clear()
        for state in sessions:
            self._session(state[0]).load(state)


# The continuous fetch of a voter or an observer (``KafkaRaftClient.pollFollower``). A voter fetches from the leader
# that it knows. An observer that knows none, or whose leader is silent or down, fetches from any voter, and learns the
# leader from the error response.


_LIFE_BITS = 40
"""Bits reserved for the fetches of one process in their numbers."""


class FollowerFetches:
    """Fetches of one node, one in flight at a time."""

    __slots__ = (
        "_connections", "_draw", "_exchange", "_in_flight", "_last_hw", "_node", "_number", "_on_change", "_port",
        "_requests", "_steady", "_target", "_waits",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        node: RaftNode,
        config: QuorumConfig,
        draw: Callable[[int], int],
        on_change: Callable[[], None],
        requests: NetworkClient | None = None,
    ) -> None:
        """``on_change`` is called when deadlines have changed. ``requests``: see :class:`RaftClient`."""
        self._port = port
        self._requests = requests
        self._waits = False
        """Whether the request in flight waits for a connection."""
        self._node = node
        self._draw = draw
        self._on_change = on_change
        self._connections = RequestManager(config)
        self._exchange: LongPoll | None = None
        self._number = 0
        self._target = NO_LEADER
        self._in_flight: QuorumFetchRequest | None = None
        """The request in flight."""
        self._steady = False
        """Whether it was sent at the moment of the leader's previous response."""
        self._last_hw = (NO_LEADER, 0, -1)
        """(leader, epoch, last HW received from it)."""

    @property
    def calm(self) -> bool:
        """Whether responses are certain to arrive: both sides run undisturbed."""
        return self._in_flight is not None and self._exchange is not None and self._exchange.asleep

    def wake(self) -> None:
        """Simulate all skipped fetches up to now; to be called before any change of state."""
        if self._exchange is not None:
            self._exchange.wake()

    def start(self) -> None:
        """The process started again."""
        self._number = self._port.incarnation << _LIFE_BITS

    def stop(self) -> None:
        """The process died."""
        self._in_flight = None
        self._target = NO_LEADER
        self._last_hw = (NO_LEADER, 0, -1)
        self._waits = False
        self._connections.clear()

    def repeats(self, number: int) -> bool:
        """Whether the node would repeat its fetch after an empty response to request ``number``."""
        request, node = self._in_flight, self._node
        return (
            request is not None
            and request.correlation_id == number
            and self._steady
            and node.role is Role.FOLLOWER
            and node.leader == self._target
            and node.epoch == request.epoch
        )

    def skipped(self, number: int) -> None:
        """Account for idle fetches and responses that were not simulated, up to this number."""
        if self._in_flight is not None:
            self._number = number
            self._in_flight = self._in_flight._replace(correlation_id=number)

    def request(self, number: int) -> QuorumFetchRequest:
        """Return the fetch in flight when the exchange wakes; the leader's last response was when it was sent."""
        request, exchange = self._in_flight, self._exchange
        if request is None or exchange is None:
            raise ValueError(f"node {self._node.id} has no fetch {number} in flight")
        self._node.fetch_succeeded(exchange.sent_at)
        self._connections.sent(self._target, number, exchange.sent_at)
        self._on_change()
        return request._replace(correlation_id=number)

    def send_fetch(self, now: int, *, no_news: bool = False, steady: bool = False) -> None:
        """Fetch, unless one is in flight; ``no_news``: the last response was empty, ``steady``: it has just arrived."""
        if self._in_flight is not None and self._stale(self._in_flight):
            self._abandon()
        if self._in_flight is not None:
            return
        target = self._choose(now)
        if target == NO_LEADER:
            return
        node = self._node
        leader, epoch, high_watermark = self._last_hw
        known_hw = high_watermark if (leader, epoch) == (target, node.epoch) else -1
        self._number += 1
        self._target = target
        self._steady = steady and target == node.leader
        self._in_flight = next_fetch(node, self._number, known_hw)
        self._connections.sent(target, self._number, now)
        exchange, requests = self._bind(target), self._requests
        if requests is None or requests.ready(target):
            exchange.ask(self._number, self._in_flight, idle=no_news)
        else:
            self._waits = True
            requests.await_connection(target)

    def opened(self, peer: int) -> None:
        """A connection was opened: send the fetch that waited for it."""
        if self._waits and peer == self._target and self._in_flight is not None and self._exchange is not None:
            self._waits = False
            self._exchange.ask(self._in_flight.correlation_id, self._in_flight, idle=False)

    def _bind(self, target: int) -> LongPoll:
        self._exchange = exchange = self._port.outgoing_exchange(target, EXCHANGE)
        exchange.asking = self
        return exchange

    def _stale(self, request: QuorumFetchRequest) -> bool:
        node = self._node
        return not self._wants or request.epoch != node.epoch or (node.voter and node.leader != self._target)

    @property
    def _wants(self) -> bool:
        return self._node.role is Role.FOLLOWER or not self._node.voter

    def _abandon(self) -> None:
        """Stop waiting for the response to the fetch in flight."""
        self._connections.on_success(self._target)
        self._in_flight = None
        self._waits = False

    def _choose(self, now: int) -> int:
        node, ready = self._node, self._connections.ready
        if not self._wants:
            return NO_LEADER
        if node.leader != NO_LEADER and (node.voter or node.due_at > now) and ready(node.leader, now):
            return node.leader
        if node.voter:
            return NO_LEADER
        voters = [voter for voter in node.voters if ready(voter, now)]
        return voters[self._draw(len(voters))] if voters else NO_LEADER

    def on_response(self, source: int, response: QuorumFetchResponse, now: int) -> None:
        """Apply a response, and send the next fetch."""
        request = self._in_flight
        if request is None or source != self._target or response.correlation_id != request.correlation_id:
            return
        self._in_flight = None
        if not handle_fetch_response(self._node, source, response, now):
            self._connections.failed(source, now)
            self.send_fetch(now)
            return
        self._connections.on_success(source)
        self._last_hw = (source, response.epoch, response.high_watermark)
        news = response.extents or response.diverging is not None or response.high_watermark != request.high_watermark
        self.send_fetch(now, no_news=not news, steady=True)

    def check_timeout(self, now: int) -> None:
        """Time out the fetch in flight, if it is due."""
        if self._in_flight is not None and not self.calm and self._connections.ready(self._target, now):
            self._connections.failed(self._target, now)
            (self._requests or self._port).abandon(self._target, self._exchange)
            self._in_flight = None
            self._waits = False

    def broke(self, peer: int, now: int) -> None:
        """The connection to ``peer`` broke, and the response is lost."""
        if self._in_flight is not None and peer == self._target:
            self._connections.disconnected(peer, now)
            self._in_flight = None
            self._waits = False

    def deadline(self) -> int:
        """Time of the next work, NEVER if only a message can cause any."""
        if self.calm or not self._wants:
            return NEVER
        if self._in_flight is not None:
            return self._connections.ready_at(self._target)
        node = self._node
        targets = (node.leader,) if node.voter else node.voters
        return min([self._connections.ready_at(voter) for voter in targets])

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            self._number, self._target, self._in_flight, self._steady, self._last_hw, self._waits,
            self._connections.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned, after that of the network."""
        self._number, self._target, self._in_flight, self._steady, self._last_hw, self._waits, connections = saved
        self._connections.load(connections)
        self._exchange = None
        if self._target != NO_LEADER:
            self._bind(self._target)


ALARM: Final = "raft"
"""Name of the timer of everything but delayed fetches."""
LATE: Final = "raft late"
"""Name of the timer that runs after late timers and after all messages that were held back with them."""
GONE: Final = "raft gone"
"""Name of the timer after which a stopping voter exits without having learned of another leader."""
LEAVING_US: Final = 5_000_000
"""Delay of that timer (``KafkaRaftClientDriver.shutdown``)."""


class RaftClient:
    """Quorum member inside the process that owns ``port``; implements :class:`MetadataLog` (``KafkaRaftClient``)."""

    __slots__ = (
        "_active_epoch",
        "_delaying",
        "_delivered",
        "_fetching",
        "_late",
        "_leaves",
        "_listener",
        "_port",
        "_requests",
        "_shown",
        "_timer",
        "node",
        "on_left",
    )

    def __init__(
        self,
        port: NodeContext,
        voters: tuple[int, ...],
        store: QuorumStore,
        config: QuorumConfig,
        stream: RandomStream,
        listener: MetadataListener,
        requests: NetworkClient | None = None,
    ) -> None:
        """``store`` is shared by all members of the quorum; a node that is not among ``voters`` is an observer.

        ``requests`` sends its requests (``KafkaNetworkChannel``); None: all connections exist permanently.
        """
        self._port = port
        self._requests: NodeContext = requests or port
        self._listener = listener
        self.node = RaftNode(port.node_id, voters, QuorumLog(store), config, stream.below)
        self._delaying = DelayedFetches(port, self.node, config, self._arm)
        self._fetching = FollowerFetches(port, self.node, config, stream.below, self._arm, requests)
        self._timer = LateDeadlineTimer(port, EXCHANGE, ALARM)
        self._late = False
        """Whether a timer fired late, so that all deadlines are to be checked again."""
        self.on_left: Callable[[], None] = lambda: None
        """Called when a member that is leaving (:meth:`leave`) can exit."""
        self._leaves = False
        self._delivered = 0
        """End offset of what the listener has received."""
        self._active_epoch = 0
        """Epoch of leadership that the listener knows of, 0 for none."""
        self._shown = (0, False, 0)
        """(epoch, whether it leads, end of the log) at the last check of delayed fetches."""

    @property
    def leader(self) -> int:
        """The leader that the node knows, NO_LEADER for none."""
        return self.node.leader

    @property
    def epoch(self) -> int:
        """The newest epoch that the node knows, 0 before the first."""
        return self.node.epoch

    @property
    def is_leader(self) -> bool:
        """Whether the node leads and its listener knows it."""
        return self.node.leading is not None and self._active_epoch == self.node.epoch

    @property
    def high_watermark(self) -> int:
        """End of the log that the node knows to be committed."""
        return self.node.high_watermark

    @property
    def end(self) -> int:
        """End of the node's own log."""
        return self.node.log.end

    def append(self, records: tuple[Any, ...]) -> int:
        """Append records; see :class:`MetadataLog`."""
        if not self.is_leader:
            raise ValueError(f"node {self.node.id} is not the active leader of epoch {self.node.epoch}")
        offset = self.node.append(records, self._port.now)
        self._arm()
        return offset

    def leave(self) -> None:
        """SIGTERM: a leader resigns; the member exits once it knows another leader, or if no voter can report one.

        It exits after :data:`LEAVING_US` in any case (``KafkaRaftClient.GracefulShutdown``).
        """
        if not self._leaves:
            self._leaves = True
            self._port.timer(LEAVING_US, GONE)
            self.resign()

    def _maybe_leave(self, *, late: bool = False) -> None:
        node = self.node
        if self._leaves and (
            late or not node.voter or not node.other_voters or node.leader not in (NO_LEADER, node.id)
        ):
            self._leaves = False
            self.on_left()

    def resign(self) -> None:
        """Resign as leader and notify the voters; the first successor becomes a candidate at once."""
        self._wake()
        self.node.resign(self._port.now)
        self._turn()

    def describe(self, correlation_id: int) -> DescribeQuorumResponse:
        """Return the voters and observers, including fetches that were not simulated."""
        self._wake()
        return raft.describe_quorum(self.node, correlation_id, self._port.now)

    def started(self) -> None:
        """The process started with the state on its disk."""
        self._fetching.start()
        self.node.start(self._port.now)
        self._turn()

    def stopped(self) -> None:
        """The process died: the log and the vote are kept, everything else is lost."""
        self._wake()
        self.node.stop()
        self._delaying.stop()
        self._fetching.stop()
        self._timer.forget()
        self._late = self._leaves = False
        self._delivered = 0
        self._active_epoch = 0

    @property
    def handlers(self) -> dict[type[Any], Callable[[int, Any], None]]:
        """Handlers by message type, for an owner that keeps such a table."""

        def handle(source: int, message: Any) -> None:
            self.receive(source, message)

        return dict.fromkeys((QuorumFetchRequest, QuorumFetchResponse, *_ELECTIONS), handle)

    def receive(self, source: int, message: Any) -> bool:
        """Handle a message; False if it is not one of the quorum."""
        now = self._port.now
        if isinstance(message, QuorumFetchRequest):
            self._delaying.fetch(message, now)
        elif isinstance(message, QuorumFetchResponse):
            self._fetching.on_response(source, message, now)
        elif isinstance(message, _ELECTIONS):
            self._wake()
            self._election(source, message, now)
        else:
            return False
        self._turn()
        return True

    def _election(self, source: int, message: Any, now: int) -> None:
        node, send = self.node, self._port.send
        if isinstance(message, VoteRequest):
            send(source, raft.handle_vote_request(node, message, now))
        elif isinstance(message, VoteResponse):
            raft.handle_vote_response(node, source, message, now)
        elif isinstance(message, BeginQuorumEpochRequest):
            send(source, raft.handle_begin_quorum_epoch_request(node, message, now))
        elif isinstance(message, BeginQuorumEpochResponse):
            raft.handle_begin_quorum_epoch_response(node, source, message, now)
        elif isinstance(message, EndQuorumEpochRequest):
            send(source, raft.handle_end_quorum_epoch_request(node, message, now))
        elif isinstance(message, EndQuorumEpochResponse):
            raft.handle_end_quorum_epoch_response(node, source, message, now)

    def on_timer(self, timer: Payload) -> bool:
        """Handle a timer; False if it is not one of the quorum."""
        now = self._port.now
        if timer[0] == WAIT:
            _name, asker, at = timer
            self._delaying.on_timer(asker)
        elif timer[0] == ALARM:
            at = self._timer.at
            if not self._timer.take_expired():
                return True
        elif timer[0] == LATE:
            at = now
            self._late = False
        elif timer[0] == GONE:
            self._maybe_leave(late=True)
            return True
        else:
            return False
        if at < now:
            self._be_late()
            return True
        self._delaying.waited(now)
        if timer[0] != WAIT:
            self._turn()
        return True

    def _be_late(self) -> None:
        """Handle late timers after a pause: messages received during the pause first, then what is still due.

        Timers can fire early and then again, so the time of a late one gives no order.
        """
        if not self._late:
            self._late = True
            self._port.timer(0, LATE)

    def on_disconnect(self, peer: int) -> None:
        """The connection to ``peer`` broke: fail its requests in flight; requests go to voters only."""
        if peer not in self.node.voters:
            return
        self._wake()
        now = self._port.now
        self.node.connections.disconnected(peer, now)
        self._fetching.broke(peer, now)
        self._turn()

    def opened(self, peer: int) -> None:
        """A connection to ``peer`` was opened: send a fetch that waited for it."""
        self._wake()
        self._fetching.opened(peer)

    def _wake(self) -> None:
        """Simulate skipped fetches up to now, because state may change."""
        self._fetching.wake()
        self._delaying.wake()

    def _turn(self) -> None:
        """After any event: do what is due, send messages, and notify the listener."""
        now = self._port.now
        node = self.node
        if self._deadline() <= now:
            self._wake()
        self._delaying.write_idle(now)
        if not self._fetching.calm:
            self._fetching.check_timeout(now)
            node.poll(now, self._delaying.is_calm)
            self._fetching.send_fetch(now)
        for target, message in node.out:
            self._requests.send(target, message)
        node.out.clear()
        self._release()
        self._deliver()
        self._arm()
        if self._leaves:
            self._maybe_leave()

    def _release(self) -> None:
        shown = (self.node.epoch, self.node.leading is not None, self.node.log.end)
        if shown != self._shown:
            self._shown = shown
            self._delaying.release(self._port.now)

    def _deliver(self) -> None:
        node, listener = self.node, self._listener
        leads = node.leading is not None
        if self._active_epoch and not (leads and node.epoch == self._active_epoch):
            self._active_epoch = 0
            listener.on_resigned()
        if self._delivered < node.high_watermark:
            for batch in node.log.batches(self._delivered, node.high_watermark):
                self._delivered = batch.end
                if not batch.control:
                    listener.on_committed(batch.base, batch.epoch, batch.records)
        leading = node.leading
        if leading is not None and not self._active_epoch and leading.high_watermark > leading.epoch_start:
            self._active_epoch = node.epoch
            listener.on_leader(node.epoch)

    def _deadline(self) -> int:
        """Time of the next work of this member."""
        if self._fetching.calm:
            return NEVER
        return min(self.node.deadline(self._delaying.is_calm), self._fetching.deadline(), self._delaying.wake_at)

    def _arm(self) -> None:
        at = self._deadline()
        if at < NEVER:
            self._timer.arm(at)

    def save(self) -> tuple[Any, ...]:
        """Return all state but that of the shared store."""
        return (
            self.node.save(), self._delaying.save(), self._fetching.save(), self._timer.save(), self._delivered,
            self._active_epoch, self._shown, self._late, self._leaves,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned, after the network, the random streams and the store."""
        (
            node, delaying, fetching, timer, self._delivered, self._active_epoch, self._shown, self._late, self._leaves
        ) = saved  # fmt: skip
        self.node.load(node)
        self._delaying.load(delaying)
        self._fetching.load(fetching)
        self._timer.load(timer)


_ELECTIONS: Final = (
    VoteRequest, VoteResponse, BeginQuorumEpochRequest, BeginQuorumEpochResponse, EndQuorumEpochRequest,
    EndQuorumEpochResponse,
)  # fmt: skip


def form_quorum(peers: tuple[RaftClient, ...], leader: int, records: tuple[tuple[Any, ...], ...]) -> None:
    """Start in a formed cluster: ``leader`` leads epoch 1, and every node has its whole log, committed.

    ``records`` are batches that it wrote before the start; the listeners get them as usual, then the leader becomes
    active.
    """
    first = next(peer for peer in peers if peer.node.id == leader)
    first.node.form_leader(first._port.now, records)
    for peer in peers:
        peer._fetching.start()
        if peer is not first:
            peer.node.form_follower(first.node, peer._port.now)
    for peer in peers:
        peer._turn()
