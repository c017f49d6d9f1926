"""The roles of ZAB: leader (``Leader``, ``LearnerHandler``) with its sessions, and follower (``Learner``).

The leader judges writes in order of arrival, logs and proposes each, and commits it when a majority has logged it and
all before it. It serves clients once a majority has its history. Only the leader tracks sessions.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.configs import ZkSettings
from cluster_model.zookeeper.data_tree import DataTree, ZkDatabase, first_zxid
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
    OpResult,
    Proposal,
    RequestOrigin,
    Revalidate,
    Revalidated,
    Sync,
    Touch,
    Txn,
    UpToDate,
    Write,
    ZkError,
)
from cluster_model.zookeeper.request_processor import RequestProcessor, Upstream

# Client sessions at the leader (``SessionTrackerImpl``, ``ExpiryQueue``). Sans-IO. A session expires at the first
# multiple of the tick after its timeout has passed since its last activity, so between one timeout and one timeout plus
# a tick. There is no periodic timer: the leader's alarm is set to the earliest deadline.


class SessionTracker:
    """Deadlines of all sessions, and the client connection that each belongs to."""

    __slots__ = ("_deadlines", "_owners", "_tick_us", "_timeouts")

    def __init__(self, tick_us: int) -> None:
        self._tick_us = tick_us
        self._timeouts: dict[int, int] = {}
        self._deadlines: dict[int, int] = {}
        self._owners: dict[int, int] = {}

    def add(self, session: int, timeout_us: int, now: int, attempt: int = 0) -> None:
        """Add a new session, or one that a new leader takes over with a full timeout."""
        self._timeouts[session] = timeout_us
        self._owners[session] = attempt
        self.touch(session, now)

    def touch(self, session: int, now: int) -> None:
        """Extend a session after activity of its client; ignored after its end."""
        timeout_us = self._timeouts.get(session)
        if timeout_us is not None:
            self._deadlines[session] = (now + timeout_us) // self._tick_us * self._tick_us + self._tick_us

    def reopen(self, session: int, attempt: int, now: int) -> int:
        """Record a client's reconnection; return the session timeout, 0 if the session has ended."""
        if session not in self._timeouts:
            return 0
        self._owners[session] = max(attempt, self._owners[session])
        self.touch(session, now)
        return self._timeouts[session]

    def has_moved(self, session: int, attempt: int) -> bool:
        """Whether the session's client has since used a newer connection (``SessionMovedException``)."""
        return attempt < self._owners.get(session, 0)

    def remove(self, session: int) -> None:
        """Remove a session that has ended."""
        self._timeouts.pop(session, None)
        self._deadlines.pop(session, None)
        self._owners.pop(session, None)

    def expired(self, now: int) -> list[int]:
        """Sessions to expire now, earliest deadline first."""
        late = [(deadline, session) for session, deadline in self._deadlines.items() if deadline <= now]
        return [session for _deadline, session in sorted(late)]

    def next_at(self) -> int:
        """Earliest deadline, -1 without sessions."""
        return min(self._deadlines.values(), default=-1)

    def clear(self) -> None:
        """Forget all sessions: no longer the leader."""
        self._timeouts.clear()
        self._deadlines.clear()
        self._owners.clear()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return tuple(
            [
                (session, timeout_us, self._deadlines[session], self._owners[session])
                for session, timeout_us in self._timeouts.items()
            ]
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self.clear()
        for session, timeout_us, deadline, owner in saved:
            self._timeouts[session] = timeout_us
            self._deadlines[session] = deadline
            self._owners[session] = owner


TICK: Final = "leader's tick"
SESSIONS: Final = "sessions"
JOINED, ACKED, SYNCED, ACTIVE = range(4)
"""Stages of a follower: connected; epoch accepted; history sent to it; history on its disk."""
NO_ORIGIN: Final = RequestOrigin(-1, -1, 0, 0)


class Follower:
    """State of one follower at its leader (``LearnerHandler``)."""

    __slots__ = ("counts", "join", "logged", "received_at", "stage")

    def __init__(self, join: int, now: int) -> None:
        self.join = join
        self.stage = JOINED
        self.logged = 0
        self.received_at = now
        self.counts = False
        """Whether it first accepted the epoch from this leader."""


class LeaderRole(Upstream):
    """Leader role of a server; ``resign`` is called when it can no longer lead."""

    __slots__ = (
        "_accepted", "_ahead", "_apply", "_followers", "_others", "_port", "_resign", "_serving", "_session_alarm",
        "_settings", "_since", "_store", "_summary", "_tick_alarm", "_tracker", "active", "epoch", "established",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        settings: ZkSettings,
        others: tuple[int, ...],
        store: ZkDatabase,
        serving: RequestProcessor,
        apply: Callable[[int], None],
        resign: Callable[[], None],
    ) -> None:
        """``apply(zxid)`` applies the log up to that zxid."""
        self.active = False
        self.epoch = 0
        """Epoch that it leads, 0 until it is settled."""
        self.established = False
        """Whether a majority has its history."""
        self._port = port
        self._settings = settings
        self._others = others
        self._store = store
        self._serving = serving
        self._apply = apply
        self._resign = resign
        self._followers: dict[int, Follower] = {}
        self._accepted: dict[int, int] = {}
        """Epochs that followers had accepted when they joined."""
        self._ahead = DataTree()
        """The tree with all proposals applied (``outstandingChanges``)."""
        self._tracker = SessionTracker(settings.tick_us)
        self._since = 0
        self._summary = (0, 0)
        """Its epoch and last zxid at its election."""
        self._tick_alarm = DeadlineTimer(port, TICK)
        self._session_alarm = DeadlineTimer(port, SESSIONS)

    @property
    def _majority(self) -> int:
        return (len(self._others) + 1) // 2 + 1

    # -- taking the lead -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start as elected leader: wait ``initLimit`` ticks for a majority to follow."""
        self.active = True
        self._since = self._port.now
        self._summary = (self._store.current_epoch, self._store.last_zxid)
        if self._others:
            self._tick_alarm.arm(self._port.now + self._settings.tick_us)
        self._settle_epoch()

    def stop(self) -> None:
        """Stop leading, and close the followers' connections."""
        for follower, known in self._followers.items():
            self._port.send(follower, LearnerDisconnected(known.join))
        self.forget()

    def forget(self) -> None:
        """The process died or lost the leadership."""
        self.active = self.established = False
        self.epoch = 0
        self._followers.clear()
        self._accepted.clear()
        self._tracker.clear()
        self._ahead = DataTree()
        self._tick_alarm.forget()
        self._session_alarm.forget()

    def begin(self, followers: dict[int, int]) -> None:
        """Start as the established leader of a formed ensemble; ``followers`` maps servers to joins."""
        self.active = True
        self.epoch = self._store.current_epoch
        for follower, join in followers.items():
            self._followers[follower] = known = Follower(join, self._port.now)
            known.stage = ACTIVE
            known.counts = True
            known.logged = self._store.last_zxid
        if self._others:
            self._tick_alarm.arm(self._port.now + self._settings.tick_us)
        self._open()

    def _settle_epoch(self) -> None:
        """Choose an epoch above all that a majority has accepted (``getEpochToPropose``)."""
        if self.epoch or len(self._accepted) + 1 < self._majority:
            return
        self.epoch = max(self._store.accepted_epoch, *self._accepted.values(), 0) + 1
        self._store.accepted_epoch = self.epoch
        if self._majority == 1:
            self._store.current_epoch = self.epoch
        for follower, known in self._followers.items():
            self._port.send(follower, LeaderInfo(known.join, self.epoch))
        self._establish()

    def _establish(self) -> None:
        """Commit this history once a majority has it, and open for clients (``waitForNewLeaderAck``)."""
        if self.established or not self.epoch or self._count(ACTIVE) < self._majority:
            return
        self._apply(self._store.last_zxid)
        self._open()
        for follower, known in self._followers.items():
            if known.stage == ACTIVE:
                self._port.send(follower, UpToDate(known.join, self._store.committed))

    def _open(self) -> None:
        self.established = True
        self._ahead = self._store.tree.copy()
        for session, record in self._ahead.sessions.items():
            self._tracker.add(session, record.timeout_us, self._port.now)
        self._set_session_alarm()
        self._serving.running = True

    def _count(self, stage: int) -> int:
        return 1 + sum(1 for known in self._followers.values() if known.stage >= stage)

    # -- followers ----------------------------------------------------------------------------------------------------

    def receive(self, source: int, message: Any) -> None:
        """Handle a message of a server that follows, or wants to."""
        if isinstance(message, FollowerInfo):
            self._join(source, message)
            return
        follower_state = self._followers.get(source)
        if follower_state is None or follower_state.join != message.join:
            if not isinstance(message, LearnerDisconnected):
                self._port.send(source, LearnerDisconnected(message.join))
            return
        follower_state.received_at = self._port.now
        if isinstance(message, FollowerPing | Ack):
            self._logged(follower_state, message.zxid)
        elif isinstance(message, Forward):
            self.submit(message.origin, message.session, message.operation)
        elif isinstance(message, Touch):
            self.touch(message.session)
        elif isinstance(message, Revalidate):
            timeout_us = self._tracker.reopen(message.session, message.attempt, self._port.now)
            self._port.send(source, Revalidated(*message, timeout_us))
        elif isinstance(message, AckEpoch):
            self._acknowledged(source, follower_state, message)
        elif isinstance(message, AckNewLeader):
            self._has_history(source, follower_state, message.zxid)
        elif isinstance(message, LearnerDisconnected):
            self.on_disconnect(source)

    def _join(self, source: int, message: FollowerInfo) -> None:
        self._followers[source] = Follower(message.join, self._port.now)
        self._accepted[source] = message.accepted_epoch
        if self.epoch and message.accepted_epoch > self.epoch:
            # ZooKeeper lets such a follower retry in vain until the leader changes; the model changes it at once.
            self._resign()
        elif self.epoch:
            self._port.send(source, LeaderInfo(message.join, self.epoch))
        else:
            self._settle_epoch()

    def _acknowledged(self, source: int, follower_state: Follower, message: AckEpoch) -> None:
        """Handle ACKEPOCH; resign if a follower has a longer history, which must not be lost (``waitForEpochAck``).

        Only when a majority has acknowledged the epoch is it in force, and no follower gets a history before.
        """
        if (
            not self.established
            and message.current_epoch >= 0
            and (message.current_epoch, message.last_zxid) > self._summary
        ):
            self._resign()
            return
        follower_state.stage = ACKED
        follower_state.logged = message.last_zxid
        follower_state.counts = message.current_epoch >= 0
        if self._store.current_epoch == self.epoch:
            self._synchronize(source, follower_state)
        elif 1 + sum(1 for follower in self._followers.values() if follower.counts) >= self._majority:
            self._store.current_epoch = self.epoch
            for server, follower in self._followers.items():
                if follower.stage == ACKED:
                    self._synchronize(server, follower)

    def _synchronize(self, follower: int, follower_state: Follower) -> None:
        sync = self._store.sync_for(follower_state.join, self.epoch, follower_state.logged)
        follower_state.stage = SYNCED
        follower_state.logged = 0
        self._port.send(follower, sync)

    def _has_history(self, source: int, follower_state: Follower, zxid: int) -> None:
        follower_state.stage = ACTIVE
        follower_state.logged = zxid
        if self.established:
            self._port.send(source, UpToDate(follower_state.join, self._store.committed))
            self._commit()
        else:
            self._establish()

    def on_disconnect(self, follower: int) -> None:
        """Remove a follower whose connection broke."""
        if self._followers.pop(follower, None) is not None and not self.epoch:
            self._accepted.pop(follower, None)

    def on_timer(self, name: str) -> None:
        """Handle the tick, or the timer of sessions."""
        if name == TICK and self._tick_alarm.take_expired() and self.active:
            self._tick()
        elif name == SESSIONS and self._session_alarm.take_expired() and self.active:
            for session in self._tracker.expired(self._port.now):
                self.submit(NO_ORIGIN, session, CloseSession(expired=True))
            self._set_session_alarm()

    def _tick(self) -> None:
        """Drop silent followers; without a majority, resign (``Leader.lead``). ZooKeeper pings twice a tick."""
        now = self._port.now
        settings = self._settings
        limit = settings.sync_limit if self.established else settings.init_limit
        for follower, state in tuple(self._followers.items()):
            if now - state.received_at > limit * settings.tick_us:
                self._port.send(follower, LearnerDisconnected(state.join))
                self.on_disconnect(follower)
        late = now - self._since >= settings.init_limit * settings.tick_us
        if self._count(ACTIVE) < self._majority and (self.established or late):
            self._resign()
            return
        for follower, state in self._followers.items():
            if state.stage == ACTIVE:
                ping = LeaderPing(state.join, self._store.last_zxid, self._store.committed)
                self._port.send(follower, ping)
        self._tick_alarm.arm(now + settings.tick_us)

    # -- broadcast ----------------------------------------------------------------------------------------------------

    def submit(self, origin: RequestOrigin, session: int, operation: Write | CreateSession | CloseSession) -> None:
        """Judge, log and propose an operation (``PrepRequestProcessor``); a failed one also, to keep the order."""
        if not self.established:
            return
        zxid = max(self._store.last_zxid, first_zxid(self.epoch)) + 1
        if isinstance(operation, CreateSession):
            changes, result = self._ahead.judge(operation, session, zxid)
            self._tracker.add(zxid, operation.timeout_us, self._port.now, origin.attempt)
            self._set_session_alarm()
        elif session not in self._ahead.sessions:
            changes, result = (), OpResult(ZkError.SESSION_EXPIRED)
        elif origin is not NO_ORIGIN and self._tracker.has_moved(session, origin.attempt):
            changes, result = (), OpResult(ZkError.SESSION_MOVED)
        else:
            changes, result = self._ahead.judge(operation, session, zxid)
            if isinstance(operation, CloseSession):
                self._tracker.remove(session)
            self._tracker.touch(session, self._port.now)
        self._propose(Txn(zxid, origin, session, changes, result))

    def write_as_operator(self, operation: Write) -> None:
        """Propose an operator's write, whose session is not modelled."""
        if self.established:
            zxid = max(self._store.last_zxid, first_zxid(self.epoch)) + 1
            self._propose(Txn(zxid, NO_ORIGIN, 0, *self._ahead.judge(operation, 0, zxid)))

    def _propose(self, txn: Txn) -> None:
        previous = self._store.last_zxid
        self._store.append(txn)
        for follower, known in self._followers.items():
            if known.stage >= SYNCED:
                self._port.send(follower, Proposal(known.join, previous, txn))
        self._commit()

    def _logged(self, follower_state: Follower, zxid: int) -> None:
        if zxid > follower_state.logged and follower_state.stage == ACTIVE:
            follower_state.logged = zxid
            self._commit()

    def _commit(self) -> None:
        """Commit what a majority has logged, in order (``tryToCommit``)."""
        logged = [state.logged for state in self._followers.values() if state.stage == ACTIVE]
        logged.append(self._store.last_zxid)
        if not self.established or len(logged) < self._majority:
            return
        zxid = sorted(logged, reverse=True)[self._majority - 1]
        if zxid <= self._store.committed:
            return
        for follower, state in self._followers.items():
            if state.stage == ACTIVE:
                self._port.send(follower, Commit(state.join, zxid))
        self._apply(zxid)

    # -- sessions -----------------------------------------------------------------------------------------------------

    def touch(self, session: int) -> None:
        """Record activity of a session's client."""
        self._tracker.touch(session, self._port.now)

    def reopen(self, session: int, client: int, attempt: int) -> None:
        """Revalidate the session of one of its own clients."""
        timeout_us = self._tracker.reopen(session, attempt, self._port.now)
        self._serving.reopened(client, attempt, session, timeout_us)

    def expire(self, session: int) -> None:
        """Expire a session as an operator does."""
        self.submit(NO_ORIGIN, session, CloseSession(expired=True))

    def _set_session_alarm(self) -> None:
        at = self._tracker.next_at()
        if at >= 0:
            self._session_alarm.arm(at)

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        followers = tuple(
            [
                (server, known.join, known.stage, known.counts, known.logged, known.received_at)
                for server, known in self._followers.items()
            ]
        )
        state = (self.active, self.epoch, self.established, self._since, self._summary, tuple(self._accepted.items()))
        alarms = (self._tick_alarm.save(), self._session_alarm.save())
        return (state, followers, self._ahead.save() if self.established else (), self._tracker.save(), alarms)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        state, followers, ahead, tracker, alarms = saved
        self.active, self.epoch, self.established, self._since, self._summary, accepted = state
        self._accepted = dict(accepted)
        self._followers.clear()
        for follower, join, stage, counts, logged, received_at in followers:
            self._followers[follower] = known = Follower(join, received_at)
            known.stage, known.counts, known.logged = stage, counts, logged
        self._ahead = DataTree()
        if ahead:
            self._ahead.load(ahead)
        self._tracker.load(tracker)
        self._tick_alarm.load(alarms[0])
        self._session_alarm.load(alarms[1])


# The follower role (``Learner``, ``Follower``): join a leader, adopt its history, log, acknowledge, commit.


LEADER_TIMEOUT: Final = "leader's silence"
NO_NODE: Final = -1
EPOCH_ALREADY_ACCEPTED: Final = -1
"""Sent in place of its epoch by a follower that had accepted the new epoch before, perhaps of another leader."""
CONNECT_US: Final = 5_000_000
"""Wait for a connection: ``Learner.connectToLeader`` tries five times, a second apart; the model waits that long."""


class Learner(Upstream):
    """Follower role of a server; ``give_up`` is called when it has lost its leader."""

    __slots__ = (
        "_apply", "_deadline", "_give_up", "_join", "_port", "_serving", "_settings", "_store", "_synced", "_timer",
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
        """``apply(zxid)`` applies the log up to that zxid."""
        self.leader = NO_NODE
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
        self._timer = DeadlineTimer(port, LEADER_TIMEOUT)

    def start(self, leader: int) -> None:
        """Join the elected leader."""
        self.leader = leader
        self._synced = False
        self._join = max(self._join, self._port.incarnation << 24) + 1
        self._port.send(leader, FollowerInfo(self._join, self._store.accepted_epoch))
        self._set_deadline(CONNECT_US)

    def begin(self, leader: int) -> int:
        """Start as an established follower in a formed ensemble; return the number of the join."""
        self.leader = leader
        self._synced = True
        self._join += 1
        self._serving.running = True
        self._set_deadline(self._settings.sync_limit * self._settings.tick_us)
        return self._join

    def stop(self) -> None:
        """Stop following, and notify the leader if there is one."""
        if self.leader != NO_NODE:
            self._port.send(self.leader, LearnerDisconnected(self._join))
        self.forget()

    def forget(self) -> None:
        """The process died, or the leader is lost."""
        self.leader = NO_NODE
        self._synced = False
        self._timer.forget()

    def _set_deadline(self, timeout_us: int) -> None:
        self._deadline = self._port.now + timeout_us
        self._timer.arm(self._deadline)

    def on_timer(self, name: str) -> None:
        """Give up the leader if it has been silent for too long."""
        if name == LEADER_TIMEOUT and self._timer.take_expired() and self.leader != NO_NODE:
            if self._port.now >= self._deadline:
                self._give_up()
            else:
                self._timer.arm(self._deadline)

    def receive(self, source: int, message: Any) -> None:
        """Handle a message of the leader; those of a former one are ignored."""
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
        """Accept an epoch, unless a newer one was accepted (``registerWithLeader``)."""
        if epoch < self._store.accepted_epoch:
            self._give_up()
            return
        current_epoch = self._store.current_epoch if epoch > self._store.accepted_epoch else EPOCH_ALREADY_ACCEPTED
        self._store.accepted_epoch = epoch
        answer = AckEpoch(self._join, current_epoch, self._store.last_zxid)
        self._port.send(self.leader, answer)

    def _log(self, proposal: Proposal) -> None:
        """Log a proposal; a gap before it means that one was lost: give up and rejoin."""
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
        """Forward an operation to the leader (``FollowerRequestProcessor``)."""
        self._port.send(self.leader, Forward(self._join, origin, session, operation))

    def touch(self, session: int) -> None:
        """Report activity of a session to the leader, which tracks sessions."""
        self._port.send(self.leader, Touch(self._join, session))

    def reopen(self, session: int, client: int, attempt: int) -> None:
        """Have the leader revalidate a session."""
        self._port.send(self.leader, Revalidate(self._join, session, client, attempt))

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (self.leader, self._join, self._synced, self._deadline, self._timer.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self.leader, self._join, self._synced, self._deadline, timer = saved
        self._timer.load(timer)
