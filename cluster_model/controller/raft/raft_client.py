"""A member of a quorum on the kernel: it drives a :class:`RaftNode` by messages and one timer.

While nothing happens, fetches and answers are left out (:mod:`cluster_model.kernel.long_poll`), and with them the
deadlines that they would have moved: a fetch timeout and a leader's check of its quorum are timers only while somebody
may be silent.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.controller.raft import votes
from cluster_model.controller.raft.config import QuorumConfig
from cluster_model.controller.raft.fetching import Fetching
from cluster_model.controller.raft.leading import NEVER
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
from cluster_model.controller.raft.metadata_log import MetadataListener
from cluster_model.controller.raft.parking import EXCHANGE, WAIT, Parking
from cluster_model.controller.raft.raft import RaftNode
from cluster_model.controller.raft.raft_log import QuorumLog
from cluster_model.controller.raft.store import QuorumStore
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import LateAlarm, Port
from cluster_model.kernel.rng import Stream
from cluster_model.protocol.messages import NOBODY

ALARM: Final = "raft"
"""Name of the timer of everything but waits."""
LATE: Final = "raft late"
"""Name of the timer that follows late ones, behind all that was held back with them."""
GONE: Final = "raft gone"
"""Name of the timer after which a voter ends that has not heard of another leader."""
LEAVING_US: Final = 5_000_000
"""How long that takes (``KafkaRaftClientDriver.shutdown``)."""


class QuorumPeer:
    """A :class:`~cluster_model.controller.raft.metadata_log.MetadataLog`, inside the process that owns ``port``."""

    __slots__ = (
        "_alarm",
        "_delivered",
        "_fetching",
        "_late",
        "_leaves",
        "_listener",
        "_parking",
        "_port",
        "_shown",
        "_told",
        "node",
        "on_left",
    )

    def __init__(
        self,
        port: Port,
        voters: tuple[int, ...],
        store: QuorumStore,
        config: QuorumConfig,
        stream: Stream,
        listener: MetadataListener,
    ) -> None:
        """``store`` is the one that all peers of a quorum share; a node that is not among ``voters`` is an observer."""
        self._port = port
        self._listener = listener
        self.node = RaftNode(port.node_id, voters, QuorumLog(store), config, stream.below)
        self._parking = Parking(port, self.node, config.patience_us, self._arm)
        self._fetching = Fetching(port, self.node, config, stream.below, self._arm)
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
        """Have records written; see :class:`~cluster_model.controller.raft.metadata_log.MetadataLog`."""
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
            send(source, votes.vote(node, message, now))
        elif isinstance(message, VoteResponse):
            votes.voted(node, source, message, now)
        elif isinstance(message, BeginQuorumEpochRequest):
            send(source, votes.begin(node, message, now))
        elif isinstance(message, BeginQuorumEpochResponse):
            votes.begun(node, source, message, now)
        elif isinstance(message, EndQuorumEpochRequest):
            send(source, votes.end(node, message, now))
        elif isinstance(message, EndQuorumEpochResponse):
            votes.ended(node, source, message, now)

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
            self._port.send(target, message)
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
            self._parking.release()

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
