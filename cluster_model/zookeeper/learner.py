"""A follower's part (``Learner``, ``Follower``): join a leader, take over its history, log, acknowledge, commit."""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.kernel.node_context import Alarm, NodeContext
from cluster_model.protocol.configs import ZkSettings
from cluster_model.zookeeper.data_tree import ZkDatabase
from cluster_model.zookeeper.messages import (
    Ack,
    AckEpoch,
    AckNewLeader,
    CloseSession,
    Commit,
    CreateSession,
    FollowerInfo,
    FollowerPing,
    Forward,
    LeaderInfo,
    LeaderPing,
    LearnerDisconnected,
    Proposal,
    RequestOrigin,
    Revalidate,
    Revalidated,
    Sync,
    Touch,
    UpToDate,
    Write,
)
from cluster_model.zookeeper.request_processor import RequestProcessor, Upstream

SILENCE: Final = "leader's silence"
NOBODY: Final = -1
ALREADY: Final = -1
"""Instead of its epoch, from one that has accepted the new epoch before: it may be another leader's."""
CONNECT_US: Final = 5_000_000
"""``Learner.connectToLeader`` tries five times, a second apart; here the one question waits that long."""


class Learner(Upstream):
    """The follower. ``give_up`` is called when it has lost its leader."""

    __slots__ = (
        "_alarm", "_apply", "_deadline", "_give_up", "_join", "_port", "_serving", "_settings", "_store", "_synced",
        "leader",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        settings: ZkSettings,
        store: ZkDatabase,
        serving: RequestProcessor,
        apply: Callable[[int], None],
        give_up: Callable[[], None],
    ) -> None:
        """``apply(zxid)`` applies what is logged up to there."""
        self.leader = NOBODY
        self._port = port
        self._settings = settings
        self._store = store
        self._serving = serving
        self._apply = apply
        self._give_up = give_up
        self._join = 0
        self._synced = False
        """Whether its history is the leader's."""
        self._deadline = 0
        self._alarm = Alarm(port, SILENCE)

    def start(self, leader: int) -> None:
        """Elected: join it."""
        self.leader = leader
        self._synced = False
        self._join = max(self._join, self._port.incarnation << 24) + 1
        self._port.send(leader, FollowerInfo(self._join, self._store.accepted_epoch))
        self._expect(CONNECT_US)

    def begin(self, leader: int) -> int:
        """Stand as an established follower at the first instant; the join."""
        self.leader = leader
        self._synced = True
        self._join += 1
        self._serving.running = True
        self._expect(self._settings.sync_limit * self._settings.tick_us)
        return self._join

    def stop(self) -> None:
        """No longer; the leader is told if there is one."""
        if self.leader != NOBODY:
            self._port.send(self.leader, LearnerDisconnected(self._join))
        self.forget()

    def forget(self) -> None:
        """The process died, or the leader is lost."""
        self.leader = NOBODY
        self._synced = False
        self._alarm.forget()

    def _expect(self, patience_us: int) -> None:
        self._deadline = self._port.now + patience_us
        self._alarm.want(self._deadline)

    def on_timer(self, name: str) -> None:
        """The leader may have been silent for too long."""
        if name == SILENCE and self._alarm.rang() and self.leader != NOBODY:
            if self._port.now >= self._deadline:
                self._give_up()
            else:
                self._alarm.want(self._deadline)

    def receive(self, source: int, message: Any) -> None:
        """A message from the leader, or from one that was."""
        if source != self.leader or message.join != self._join:
            return
        ticks = self._settings.sync_limit if self._serving.running else self._settings.init_limit
        self._deadline = max(self._deadline, self._port.now + ticks * self._settings.tick_us)
        if isinstance(message, Proposal):
            self._log(message)
        elif isinstance(message, Commit):
            self._committed(message.zxid)
        elif isinstance(message, LeaderPing):
            self._ping(message)
        elif isinstance(message, Revalidated):
            self._serving.reopened(message.client, message.attempt, message.session, message.timeout_us)
        elif isinstance(message, LeaderInfo):
            self._accept(message.epoch)
        elif isinstance(message, Sync):
            self._store.take(message)
            self._store.current_epoch = message.epoch
            self._synced = True
            self._port.send(self.leader, AckNewLeader(self._join, self._store.last_zxid))
        elif isinstance(message, UpToDate):
            self._serving.running = True
            self._committed(message.committed)
        elif isinstance(message, LearnerDisconnected):
            self._give_up()

    def _accept(self, epoch: int) -> None:
        """``registerWithLeader``: never an epoch below one that was accepted."""
        if epoch < self._store.accepted_epoch:
            self._give_up()
            return
        current_epoch = self._store.current_epoch if epoch > self._store.accepted_epoch else ALREADY
        self._store.accepted_epoch = epoch
        answer = AckEpoch(self._join, current_epoch, self._store.last_zxid)
        self._port.send(self.leader, answer)

    def _log(self, proposal: Proposal) -> None:
        """A proposal that does not follow on the last is a sign that one was lost: begin anew."""
        if not self._synced or proposal.previous != self._store.last_zxid:
            self._give_up()
            return
        self._store.append(proposal.txn)
        self._port.send(self.leader, Ack(self._join, proposal.txn.zxid))

    def _committed(self, zxid: int) -> None:
        if not self._synced or zxid > self._store.last_zxid:
            self._give_up()
        else:
            self._apply(zxid)

    def _ping(self, ping: LeaderPing) -> None:
        if not self._synced or ping.last > self._store.last_zxid:
            self._give_up()
            return
        self._apply(ping.committed)
        self._port.send(self.leader, FollowerPing(self._join, self._store.last_zxid))

    # -- its clients --------------------------------------------------------------------------------------------------

    def submit(self, origin: RequestOrigin, session: int, operation: Write | CreateSession | CloseSession) -> None:
        """``FollowerRequestProcessor``."""
        self._port.send(self.leader, Forward(self._join, origin, session, operation))

    def touch(self, session: int) -> None:
        """The leader keeps the sessions."""
        self._port.send(self.leader, Touch(self._join, session))

    def reopen(self, session: int, client: int, attempt: int) -> None:
        """The leader knows."""
        self._port.send(self.leader, Revalidate(self._join, session, client, attempt))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.leader, self._join, self._synced, self._deadline, self._alarm.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.leader, self._join, self._synced, self._deadline, alarm = saved
        self._alarm.load(alarm)
