"""One member of a quorum (``KafkaRaftClient``, ``QuorumState``, KIP-595): roles, votes, replication. Sans-IO.

It receives messages and the time, changes its own state, and puts outgoing messages into :attr:`RaftNode.out`. Epoch,
vote, known leader and log are on disk before a message is sent; all other state is lost with the process.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, NamedTuple

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
from cluster_model.controller.raft.raft_log import QuorumLog
from cluster_model.protocol.admin_messages import DescribeQuorumResponse, QuorumReplica
from cluster_model.protocol.configs import MS, RECONNECT_MAX_US, RECONNECT_US, QuorumConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER

FETCH_WAIT_US: Final = 500 * MS
"""Longest wait of a fetch at the leader (``KafkaRaftClient.MAX_FETCH_WAIT_MS``)."""


# Connections to peers: one request in flight to each, and pauses after failures (``RequestManager``).


class PeerConnection(NamedTuple):
    """State of a connection: request ``number`` is in flight since ``sent_at`` (-1: none), the next at ``ready_at``."""

    number: int = 0
    sent_at: int = -1
    ready_at: int = 0
    failures: int = 0


FRESH = PeerConnection()


class RequestManager:
    """Connections of one node, by peer (``RequestManager``)."""

    __slots__ = ("_config", "_peers")

    def __init__(self, config: QuorumConfig) -> None:
        self._config = config
        self._peers: dict[int, PeerConnection] = {}

    def ready_at(self, peer: int) -> int:
        """Earliest time of the next request: after a pause, or when the request in flight times out."""
        known = self._peers.get(peer, FRESH)
        return known.ready_at if known.sent_at < 0 else known.sent_at + self._config.request_timeout_us

    def ready(self, peer: int, now: int) -> bool:
        """Whether a request can be sent to the peer."""
        return self.ready_at(peer) <= now

    def sent(self, peer: int, number: int, now: int) -> None:
        """Record that request ``number`` is in flight."""
        self._peers[peer] = self._peers.get(peer, FRESH)._replace(number=number, sent_at=now)

    def expects(self, peer: int, number: int) -> bool:
        """Whether that request is in flight; responses to any other are ignored."""
        known = self._peers.get(peer, FRESH)
        return known.sent_at >= 0 and known.number == number

    def on_success(self, peer: int) -> None:
        """Record a response without error."""
        self._peers.pop(peer, None)

    def failed(self, peer: int, now: int) -> None:
        """Record an error response or a timeout: pause for ``retry.backoff.ms``."""
        self._peers[peer] = PeerConnection(ready_at=now + self._config.retry_backoff_us)

    def disconnected(self, peer: int, now: int) -> None:
        """Record a broken connection: pause, longer each time in a row; no pause if no request was in flight."""
        known = self._peers.get(peer, FRESH)
        if known.sent_at >= 0:
            pause = max(min(RECONNECT_US << min(known.failures, 8), RECONNECT_MAX_US), self._config.retry_backoff_us)
            self._peers[peer] = PeerConnection(ready_at=now + pause, failures=known.failures + 1)

    def clear(self) -> None:
        """Forget all connections."""
        self._peers.clear()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return tuple([(peer, tuple(known)) for peer, known in self._peers.items()])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self._peers = {peer: PeerConnection(*known) for peer, known in saved}


# A candidate: votes requested and received, and the back-off after a lost election.


_BACKOFF_US: Final = 100_000
_MOST_DOUBLINGS: Final = 20
_JITTERED_BACKOFF_US: Final = 50_000
_MOST_JITTERED_DOUBLINGS: Final = 10


class EpochElection:
    """One round of votes, of a candidate or a prospective candidate."""

    __slots__ = ("_voters", "_votes", "backing_off", "retries")

    def __init__(self, me: int, voters: tuple[int, ...], retries: int = 1) -> None:
        """``retries`` counts the candidate's consecutive rounds, including this one."""
        self._voters = voters
        self._votes: dict[int, bool] = {me: True}
        self.retries = retries
        self.backing_off = False
        """Whether the round is lost, and the candidate waits before the next."""

    def record(self, voter: int, *, granted: bool) -> None:
        """Record a voter's response; only its first one counts."""
        if voter in self._voters:
            self._votes.setdefault(voter, granted)

    def unrecorded(self) -> list[int]:
        """Voters that have not responded."""
        return [voter for voter in self._voters if voter not in self._votes]

    @property
    def won(self) -> bool:
        """Whether a majority granted its vote."""
        return sum(self._votes.values()) > len(self._voters) // 2

    @property
    def is_rejected(self) -> bool:
        """Whether a majority is no longer possible."""
        return len(self._votes) - sum(self._votes.values()) >= (len(self._voters) + 1) // 2

    def backoff_us(self, config: QuorumConfig, draw: Callable[[int], int]) -> int:
        """Return the back-off before the next round in µs (``binaryExponentialElectionBackoffMs``).

        Before 3.9.2 and 4.0.1 candidates that reached the limit stood again after exactly the same time (KAFKA-18345).
        """
        if config.jitters:
            rounds = 2 << min(self.retries - 1, _MOST_JITTERED_DOUBLINGS)
            backoff_us = _JITTERED_BACKOFF_US * (1 + draw(rounds - 1))
            return min(backoff_us, config.backoff_max_us + MS * draw(_JITTERED_BACKOFF_US // MS))
        rounds = 2 << min(self.retries - 1, _MOST_DOUBLINGS)
        return min(_BACKOFF_US * draw(rounds), config.backoff_max_us)

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (tuple(self._votes.items()), self.retries, self.backing_off)

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...], me: int, voters: tuple[int, ...]) -> "EpochElection":
        """Restore the state that :meth:`save` returned."""
        votes, retries, backing_off = saved
        election = cls(me, voters, retries)
        election._votes = dict(votes)
        election.backing_off = backing_off
        return election


def successor_backoff_us(position: int, successors: int, config: QuorumConfig) -> int:
    """Return the wait of a successor before its candidacy, 0 for the first (``strictExponentialElectionBackoffMs``)."""
    if position == 0:
        return 0
    if position < 0:
        return config.backoff_max_us
    return min(config.backoff_max_us, (config.backoff_max_us >> (successors - 1)) << (position - 1))


# State of a leader: offsets of voters, pending writes, acknowledgements of its epoch (``LeaderState``).


NEVER = 1 << 62
"""A deadline that is never reached."""


class ReplicaProgress(NamedTuple):
    """Replication state of one replica at the leader, -1 for unknown (``LeaderState.ReplicaState``, KIP-836)."""

    end: int = -1
    """End of the replica's log: the offset of its last fetch."""
    fetched_at: int = -1
    caught_up_at: int = -1
    """Last time at which the replica had all records of the leader."""
    leader_end: int = -1
    """End of the leader's log at the last fetch."""

    def after(self, offset: int, leader_end: int, at: int) -> "ReplicaProgress":
        """Return the state after one more fetch."""
        caught_up_at = self.caught_up_at
        if offset >= leader_end:
            caught_up_at = max(caught_up_at, at)
        elif 0 < self.leader_end <= offset:
            caught_up_at = max(caught_up_at, self.fetched_at)
        return ReplicaProgress(offset, max(self.fetched_at, at), caught_up_at, leader_end)


class LeaderState:
    """State of a voter while it leads one epoch (``LeaderState``)."""

    __slots__ = (
        "_config", "_last_fetch", "_others", "ends", "epoch_start", "high_watermark", "pending", "progress", "since",
        "unaware", "write_at",
    )  # fmt: skip

    def __init__(self, others: tuple[int, ...], epoch_start: int, now: int, config: QuorumConfig) -> None:
        """``others`` are the other voters, ``epoch_start`` is the offset of the LeaderChange record."""
        self._config = config
        self._others = others
        self.epoch_start = epoch_start
        self.since = now
        self.ends = dict.fromkeys(others, 0)
        """Voter → end offset of its log on disk."""
        self._last_fetch = dict.fromkeys(others, now)
        self.progress = dict.fromkeys(others, ReplicaProgress())
        """Voter or observer → its replication state."""
        self.high_watermark = -1
        """-1 until a majority has a record of this epoch."""
        self.unaware = dict.fromkeys(others)
        """Voters that have not acknowledged this leader."""
        self.pending: list[tuple[Any, ...]] = []
        """Records appended since the last write, one tuple per append."""
        self.write_at = NEVER
        """Time of the next write: ``append.linger.ms`` after the first append."""

    def record_voter_fetch(self, voter: int, at: int) -> None:
        """Record the time of a voter's fetch."""
        self._last_fetch[voter] = max(at, self._last_fetch[voter])

    def record_fetch(self, replica: int, offset: int, leader_end: int, at: int) -> None:
        """Record that a voter or observer fetched from ``offset``."""
        self.progress[replica] = self.progress.get(replica, ReplicaProgress()).after(offset, leader_end, at)

    def quorum_check_deadline(self, calm: Callable[[int], bool]) -> int:
        """Time at which the check of the quorum fails; ``calm``: whether fetches of a voter are certain to arrive."""
        needed = len(self._others) + 1 >> 1
        if not needed or not self._config.check_quorum:
            return NEVER
        latest = sorted([NEVER if calm(voter) else at for voter, at in self._last_fetch.items()], reverse=True)
        last = latest[needed - 1]
        return NEVER if last == NEVER else last + self._config.check_quorum_us

    def raise_high_watermark(self, own_end: int) -> bool:
        """Advance the HW, and return whether it rose: a majority needs a record of this epoch (Raft's commit rule)."""
        ends = sorted((own_end, *self.ends.values()), reverse=True)
        reached = ends[len(self._others) + 1 >> 1]
        if reached <= self.epoch_start or reached <= self.high_watermark:
            return False
        self.high_watermark = reached
        return True

    def successors(self) -> tuple[int, ...]:
        """Other voters, most complete log first."""
        return tuple(sorted(self._others, key=lambda voter: -self.ends[voter]))

    def next_idle_write(self, now: int) -> int:
        """Time of the first NoOp record after ``now``; they are written at a fixed interval."""
        every = self._config.idle_interval_us
        return self.since + ((now - self.since) // every + 1) * every if every else NEVER

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (
            self.epoch_start, self.since, tuple(self.ends.items()), tuple(self._last_fetch.items()),
            self.high_watermark, tuple(self.unaware), tuple(self.pending), self.write_at,
            tuple([(replica, tuple(known)) for replica, known in self.progress.items()]),
        )  # fmt: skip

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...], others: tuple[int, ...], config: QuorumConfig) -> "LeaderState":
        """Restore the state that :meth:`save` returned."""
        epoch_start, since, ends, last_fetch, high_watermark, unaware, pending, write_at, progress = saved
        leading = cls(others, epoch_start, since, config)
        leading.ends = dict(ends)
        leading._last_fetch = dict(last_fetch)
        leading.high_watermark = high_watermark
        leading.unaware = dict.fromkeys(unaware)
        leading.pending = list(pending)
        leading.write_at = write_at
        leading.progress = {replica: ReplicaProgress(*known) for replica, known in progress}
        return leading


class Role(IntEnum):
    """Role of a node in its epoch; an observer is always one of the first two."""

    UNATTACHED = 0
    FOLLOWER = 1
    PROSPECTIVE = 2
    CANDIDATE = 3
    LEADER = 4
    RESIGNED = 5


class RaftNode:
    """A voter or an observer of the quorum, as a state machine without I/O."""

    __slots__ = (
        "_config", "_draw", "_number", "connections", "due_at", "election", "epoch", "fetch_answered", "high_watermark",
        "id", "leader", "leading", "log", "other_voters", "out", "role", "successors", "unaware", "voted", "voter",
        "voters",
    )  # fmt: skip

    def __init__(
        self, node_id: int, voters: tuple[int, ...], log: QuorumLog, config: QuorumConfig, draw: Callable[[int], int]
    ) -> None:
        """``draw(n)`` returns a random number in [0, n)."""
        self.id = node_id
        self.voters = voters
        self.voter = node_id in voters
        self.other_voters = tuple(voter for voter in voters if voter != node_id)
        self.log = log
        self._config = config
        self._draw = draw
        self.connections = RequestManager(config)
        self.epoch = 0
        self.voted = NO_LEADER
        """The candidate that it voted for in its epoch."""
        self.leader = NO_LEADER
        """Leader of its epoch, as far as it knows; for a prospective candidate the leader that it lost."""
        self._number = 0
        """Number of the last request; kept across restarts, so that responses to earlier processes are not accepted."""
        self.out: list[tuple[int, Any]] = []
        """(target, message) pairs to be sent."""
        self._forget()

    def _forget(self) -> None:
        self.role = Role.UNATTACHED
        self.high_watermark = 0
        """End of the log that it knows to be committed."""
        self.due_at = NEVER
        """Time at which the election, fetch or back-off timeout of its role expires."""
        self.fetch_answered = False
        """For a follower: whether the leader has responded to a fetch."""
        self.leading: LeaderState | None = None
        self.election: EpochElection | None = None
        self.unaware: dict[int, None] = {}
        """For a resigned leader: voters that have not acknowledged the resignation."""
        self.successors: tuple[int, ...] = ()
        self.connections.clear()
        self.out.clear()

    def start(self, now: int) -> None:
        """Start the process with the state on its disk."""
        self._forget()
        if not self.voter:
            self.voted = NO_LEADER
            if self.leader != NO_LEADER:
                self._follow(self.epoch, self.leader, now)
        elif not self.other_voters:
            self._stand(now)
        elif self.leader == self.id:
            self.role = Role.RESIGNED
            self.due_at = now + self._election_timeout()
        elif self.leader != NO_LEADER:
            self._follow(self.epoch, self.leader, now)
        elif self.voted == self.id:
            self.role = Role.CANDIDATE
            self.election = EpochElection(self.id, self.voters)
            self.due_at = now + self._election_timeout()
        else:
            self.due_at = now + self._election_timeout()

    def stop(self) -> None:
        """The process died."""
        self._forget()

    def _election_timeout(self) -> int:
        timeout = self._config.election_timeout_us
        return timeout + self._draw(timeout)

    def _unattached(self, epoch: int, now: int) -> None:
        """Move to a newer epoch without a known leader; a running timeout continues, so elections are not delayed."""
        if self.role is Role.LEADER or self.due_at == NEVER:
            self.due_at = now + self._election_timeout() if self.voter else NEVER
        self._leave(Role.UNATTACHED)
        if epoch != self.epoch:
            self.voted = NO_LEADER
        self.epoch = epoch
        self.leader = NO_LEADER

    def _follow(self, epoch: int, leader: int, now: int) -> None:
        self._leave(Role.FOLLOWER)
        if epoch != self.epoch:
            self.voted = NO_LEADER
        self.epoch = epoch
        self.leader = leader
        self.fetch_answered = False
        self.due_at = now + self._config.fetch_timeout_us

    def fetch_succeeded(self, at: int) -> None:
        """Record that the leader responded to a fetch."""
        self.fetch_answered = True
        self.due_at = at + self._config.fetch_timeout_us

    def _leave(self, role: Role) -> None:
        self.role = role
        self.leading = None
        self.election = None
        self.unaware = {}
        self.successors = ()

    def maybe_transition(self, epoch: int, leader: int, now: int) -> None:
        """Apply another node's epoch and leader if they are newer than its own (``maybeTransition``)."""
        if leader == self.id:
            leader = NO_LEADER
        if epoch > self.epoch:
            if leader == NO_LEADER:
                self._unattached(epoch, now)
            else:
                self._follow(epoch, leader, now)
        elif epoch == self.epoch and leader != NO_LEADER and self.leader == NO_LEADER:
            self._follow(epoch, leader, now)

    def grant(self, candidate: int, now: int) -> None:
        """Vote for a candidate in this epoch, and restart the election timeout."""
        if self.voted != candidate:
            self.voted = candidate
            self.due_at = now + self._election_timeout()

    def count(self, voter: int, now: int, *, granted: bool) -> None:
        """Count a voter's response in this round."""
        election = self.election
        if election is None:
            return
        election.record(voter, granted=granted)
        if self.role is Role.PROSPECTIVE:
            if election.won:
                self._become_candidate(now)
            elif election.is_rejected:
                self._lose(now)
        elif election.won:
            self._lead(now)
        elif election.is_rejected and not election.backing_off and not self._config.waits_out:
            self._back_off(election, now)

    @property
    def supports_pre_vote(self) -> bool:
        """Whether the node's release has pre-votes (KIP-996)."""
        return self._config.pre_vote

    @property
    def says_high_watermark(self) -> bool:
        """Whether the node's fetches carry the high watermark that it knows (KIP-1166)."""
        return self._config.hw_push

    def skip_pre_vote(self, now: int) -> None:
        """Become a candidate at once, because a voter does not support pre-votes."""
        if self.role is Role.PROSPECTIVE:
            self._become_candidate(now)

    def _stand(self, now: int) -> None:
        """Start an election: a pre-vote round (KIP-996), or a candidacy at once."""
        if self._config.pre_vote and self.other_voters:
            if self.role is Role.RESIGNED:
                self._unattached(self.epoch + 1, now)
                self.due_at = now + self._election_timeout()
                return
            leader = self.leader
            self._leave(Role.PROSPECTIVE)
            self.leader = leader
            self.election = EpochElection(self.id, self.voters)
            self.due_at = now + self._election_timeout()
            return
        self._become_candidate(now)

    def _become_candidate(self, now: int) -> None:
        election = self.election
        retries = election.retries + 1 if election is not None and self.role is Role.CANDIDATE else 1
        self._leave(Role.CANDIDATE)
        self.epoch += 1
        self.voted = self.id
        self.leader = NO_LEADER
        self.election = EpochElection(self.id, self.voters, retries)
        self.due_at = now + self._election_timeout()
        for voter in self.other_voters:
            self.connections.on_success(voter)
        if self.election.won:
            self._lead(now)

    def _lead(self, now: int) -> None:
        self._leave(Role.LEADER)
        self.leader = self.id
        self.due_at = NEVER
        self.leading = LeaderState(self.other_voters, self.log.end, now, self._config)
        self.log.write(self.epoch, self.id, (), control=True)
        self._commit()

    def form_leader(self, now: int, batches: tuple[tuple[Any, ...], ...]) -> None:
        """Become leader of epoch 1 of a quorum whose voters all have these batches."""
        self.voted = self.id
        self.epoch = 1
        self._lead(now)
        for records in batches:
            self.log.write(self.epoch, self.id, records)
        for voter in self.other_voters:
            self.record_voter_end(voter, self.log.end, now)
        self._commit()

    def form_follower(self, leader: "RaftNode", now: int) -> None:
        """Follow the leader in its first epoch, with all of its log."""
        self._follow(leader.epoch, leader.id, now)
        self.log.append_extents(leader.log.extents(0, leader.log.end))
        self.high_watermark = leader.high_watermark

    def record_voter_end(self, voter: int, end: int, now: int) -> bool:
        """Record the end of a voter's log by its fetch, which also acknowledges the leader; True if the HW advanced."""
        leading = self.leading
        if leading is None or voter not in leading.ends:
            return False
        leading.unaware.pop(voter, None)
        leading.record_voter_fetch(voter, now)
        leading.ends[voter] = end
        before = self.high_watermark
        self._commit()
        return self.high_watermark != before

    def _commit(self) -> None:
        leading = self.leading
        if leading is not None and leading.raise_high_watermark(self.log.end):
            self.high_watermark = max(self.high_watermark, leading.high_watermark)

    def resign(self, now: int) -> None:
        """Resign as leader and notify the other voters; no effect on other nodes' roles."""
        leading = self.leading
        if leading is None:
            return
        successors = leading.successors()
        self._leave(Role.RESIGNED)
        self.successors = successors
        self.unaware = dict.fromkeys(self.other_voters)
        self.due_at = now + self._election_timeout()

    def handle_resignation(self, leader: int, successors: tuple[int, ...], now: int) -> None:
        """Handle the leader's resignation: become a candidate after a wait by the position among its successors."""
        if self.role is Role.FOLLOWER and self.leader == leader and self.voter:
            position = successors.index(self.id) if self.id in successors else -1
            self.due_at = now + successor_backoff_us(position, len(successors), self._config)

    def append(self, records: tuple[Any, ...], now: int) -> int:
        """Queue records to be written ``append.linger.ms`` after the first; return the offset of the last.

        Raises:
            ValueError: the node is not the leader, or there are no records.
        """
        leading = self.leading
        if leading is None or not records:
            raise ValueError(f"node {self.id} cannot append {len(records)} records as {self.role.name.lower()}")
        if not leading.pending:
            leading.write_at = now + self._config.linger_us
        leading.pending.append(records)
        return self.log.end + sum(map(len, leading.pending)) - 1

    def write(self) -> None:
        """Write the queued records, and force them to disk."""
        leading = self.leading
        if leading is not None:
            for records in leading.pending:
                self.log.write(self.epoch, self.id, records)
            leading.pending = []
            leading.write_at = NEVER
            self._commit()

    def poll(self, now: int, calm: Callable[[int], bool]) -> None:
        """Do everything that is due. ``calm`` is true for voters whose fetches are certain to arrive."""
        leading = self.leading
        if leading is not None and leading.quorum_check_deadline(calm) <= now:
            self.resign(now)
        elif leading is not None and leading.write_at <= now:
            self.write()
        if self.voter and self.due_at <= now:
            self._on_timeout(now)
        self._send_requests(now)

    def _on_timeout(self, now: int) -> None:
        election = self.election
        if self.role is Role.PROSPECTIVE:
            self._lose(now)
        elif self.role is Role.CANDIDATE and self._config.waits_out:
            self._stand(now)
        elif self.role is Role.CANDIDATE and election is not None and not election.backing_off:
            self._back_off(election, now)
        elif self.role is Role.CANDIDATE:
            self._become_candidate(now)
        elif self.role is not Role.LEADER:
            self._stand(now)

    def _lose(self, now: int) -> None:
        """End a lost pre-vote round: return to the former leader, if any."""
        if self.leader != NO_LEADER:
            self._follow(self.epoch, self.leader, now)
        else:
            self._leave(Role.UNATTACHED)
            self.due_at = now + self._election_timeout()

    def _back_off(self, election: EpochElection, now: int) -> None:
        election.backing_off = True
        self.due_at = now + election.backoff_us(self._config, self._draw)

    def _unanswered(self) -> list[int]:
        """Voters that still need a request of the current role."""
        if self.leading is not None:
            return list(self.leading.unaware)
        if self.role is Role.RESIGNED:
            return list(self.unaware)
        election = self.election
        if election is not None and not election.backing_off and not (election.is_rejected and self._config.waits_out):
            return election.unrecorded()
        return []

    def _send_requests(self, now: int) -> None:
        for voter in self._unanswered():
            if self.connections.ready(voter, now):
                self._number += 1
                self.connections.sent(voter, self._number, now)
                self.out.append((voter, self._request(self._number)))

    def _request(self, number: int) -> VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest:
        if self.role is Role.LEADER:
            return BeginQuorumEpochRequest(number, self.epoch, self.id)
        if self.role is Role.RESIGNED:
            return EndQuorumEpochRequest(number, self.epoch, self.id, self.successors)
        pre_vote = self.role is Role.PROSPECTIVE
        return VoteRequest(number, self.epoch, self.id, self.log.last_epoch, self.log.end, pre_vote)

    def deadline(self, calm: Callable[[int], bool]) -> int:
        """Time of the next work for :meth:`poll`, NEVER if only a message can cause any."""
        at = self.due_at if self.voter else NEVER
        if self.leading is not None:
            at = min(at, self.leading.quorum_check_deadline(calm), self.leading.write_at)
        return min([at, *[self.connections.ready_at(voter) for voter in self._unanswered()]])

    def save(self) -> tuple[Any, ...]:
        """Return all state; :attr:`out` is empty between two events."""
        return (
            self.epoch, self.voted, self.leader, int(self.role), self.high_watermark, self.due_at, self.fetch_answered,
            () if self.leading is None else self.leading.save(),
            () if self.election is None else self.election.save(),
            tuple(self.unaware), self.successors, self.connections.save(), self.log.save(), self._number,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned, after that of the store."""
        (
            self.epoch, self.voted, self.leader, role, self.high_watermark, self.due_at, self.fetch_answered, leading,
            election, unaware, self.successors, connections, log, self._number,
        ) = saved  # fmt: skip
        self.role = Role(role)
        self.leading = LeaderState.from_saved(leading, self.other_voters, self._config) if leading else None
        self.election = EpochElection.from_saved(election, self.id, self.voters) if election else None
        self.unaware = dict.fromkeys(unaware)
        self.connections.load(connections)
        self.log.load(log)
        self.out.clear()


# Fetches of the metadata log, at the leader and at followers and observers (KIP-595).


def next_fetch(node: RaftNode, correlation_id: int, high_watermark: int) -> QuorumFetchRequest:
    """Return a node's next fetch; ``high_watermark`` is the last that this leader sent to it, -1 for none."""
    log = node.log
    return QuorumFetchRequest(
        correlation_id, node.id, node.epoch, log.end, log.last_epoch, high_watermark, FETCH_WAIT_US,
        node.says_high_watermark,
    )  # fmt: skip


def leader_high_watermark(node: RaftNode) -> int:
    """HW that a leader sends, -1 while no record of its own epoch is committed."""
    return -1 if node.leading is None else node.leading.high_watermark


def fetch_error(node: RaftNode, request: QuorumFetchRequest) -> KafkaError:
    """Error of a fetch that is not served, NONE if it is served (``validateLeaderOnlyRequest``)."""
    if request.epoch < node.epoch:
        return KafkaError.FENCED_LEADER_EPOCH
    if request.epoch > node.epoch:
        return KafkaError.UNKNOWN_LEADER_EPOCH
    return KafkaError.NONE if node.leading is not None else KafkaError.NOT_LEADER_OR_FOLLOWER


def diverging_epoch(node: RaftNode, request: QuorumFetchRequest) -> tuple[int, int] | None:
    """Return (epoch, end offset) to which the fetching node must truncate, None if its log is a prefix."""
    epoch, end = node.log.end_of(request.last_epoch)
    if epoch == request.last_epoch and request.offset <= end:
        return None
    return epoch, end


def fetch_response(node: RaftNode, request: QuorumFetchRequest) -> QuorumFetchResponse:
    """Return the current response to a fetch; see :func:`has_news`."""
    error = fetch_error(node, request)
    diverging = None if error else diverging_epoch(node, request)
    log = node.log
    extents = () if error or diverging is not None else log.extents(request.offset, log.end)
    return QuorumFetchResponse(
        request.correlation_id, error, node.epoch, node.leader, leader_high_watermark(node), extents, diverging
    )  # fmt: skip


def has_news(response: QuorumFetchResponse) -> bool:
    """Whether a response is sent at once in every release; up to 4.0 a newer HW alone is no reason to."""
    return bool(response.error or response.extents or response.diverging is not None)


def handle_fetch_response(node: RaftNode, source: int, response: QuorumFetchResponse, now: int) -> bool:
    """Apply a fetch response; False if it is not the current leader's (``handleFetchResponse``)."""
    node.maybe_transition(response.epoch, response.leader, now)
    if response.error or node.role is not Role.FOLLOWER:
        return False
    if response.epoch != node.epoch or node.leader != source:
        return False
    node.fetch_succeeded(now)
    log = node.log
    if response.diverging is not None:
        if log.truncate(response.diverging) < node.high_watermark:
            raise ValueError(f"node {node.id} would truncate its log to {log.end}, below its HW {node.high_watermark}")
    else:
        log.append_extents(response.extents)
    node.high_watermark = max(node.high_watermark, min(response.high_watermark, log.end))
    return True


# The leader's description of its quorum for an administrator (KIP-595, KIP-836).


OBSERVER_SESSION_US: Final = 300_000 * MS
"""Time without a fetch after which an observer is forgotten (``LeaderState.OBSERVER_SESSION_TIMEOUT_MS``)."""


def describe_quorum(node: RaftNode, correlation_id: int, now: int) -> DescribeQuorumResponse:
    """Return the voters and observers as the leader knows them (``KafkaRaftClient.handleDescribeQuorumRequest``)."""
    leading = node.leading
    if leading is None:
        return DescribeQuorumResponse(correlation_id, KafkaError.NOT_LEADER_OR_FOLLOWER)
    progress = leading.progress
    for replica in [replica for replica, _state in progress.items() if replica not in node.voters]:
        if now - progress[replica].fetched_at >= OBSERVER_SESSION_US:
            del progress[replica]
    own = QuorumReplica(node.id, node.log.end, now, now)
    replicas = {replica: QuorumReplica(replica, *state[:3]) for replica, state in progress.items()}
    return DescribeQuorumResponse(
        correlation_id, KafkaError.NONE, node.id, node.epoch, leading.high_watermark,
        tuple([own if voter == node.id else replicas[voter] for voter in node.voters]),
        tuple([described for replica, described in replicas.items() if replica not in node.voters]),
    )  # fmt: skip


# Messages of elections and their responses (KIP-595, KIP-996).


_Answer = VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse


def handle_vote_request(node: RaftNode, request: VoteRequest, now: int) -> VoteResponse:
    """Respond to a vote request: one vote per epoch, for an up-to-date log only (``handleVoteRequest``).

    A voter before KIP-996 has no pre-votes. In Kafka the sender's network client finds that out, by ApiVersions.
    """
    if request.pre_vote and not node.supports_pre_vote:
        return VoteResponse(
            request.correlation_id, KafkaError.UNSUPPORTED_VERSION, 0, NO_LEADER, granted=False, pre_vote=True
        )
    if request.epoch > node.epoch:
        node.maybe_transition(request.epoch, NO_LEADER, now)
    error = KafkaError.FENCED_LEADER_EPOCH if request.epoch < node.epoch else KafkaError.NONE
    granted = not error and can_grant_vote(node, request)
    if granted and not request.pre_vote:
        node.grant(request.candidate, now)
    return VoteResponse(request.correlation_id, error, node.epoch, node.leader, granted, request.pre_vote)


def can_grant_vote(node: RaftNode, request: VoteRequest) -> bool:
    """Whether the node can vote for a candidate in its own epoch (``EpochState.canGrantVote``)."""
    up_to_date = (request.last_epoch, request.end_offset) >= (node.log.last_epoch, node.log.end)
    if not node.voter or node.role is Role.LEADER:
        return False
    if request.pre_vote:
        return up_to_date and not (node.role is Role.FOLLOWER and node.fetch_answered)
    if node.role in (Role.FOLLOWER, Role.RESIGNED) or (node.role is Role.PROSPECTIVE and node.leader != NO_LEADER):
        return False
    if node.voted != NO_LEADER:
        return node.voted == request.candidate
    return up_to_date


def _expected(node: RaftNode, voter: int, response: _Answer, now: int) -> bool:
    """Whether a response is to the request in flight; if so, apply its epoch and leader."""
    if not node.connections.expects(voter, response.correlation_id):
        return False
    node.connections.on_success(voter)
    node.maybe_transition(response.epoch, response.leader, now)
    return True


def handle_vote_response(node: RaftNode, voter: int, response: VoteResponse, now: int) -> None:
    """Handle a voter's response (``handleVoteResponse``)."""
    if response.error == KafkaError.UNSUPPORTED_VERSION:
        if node.connections.expects(voter, response.correlation_id):
            node.connections.on_success(voter)
            node.skip_pre_vote(now)
        return
    if not _expected(node, voter, response, now):
        return
    requested_as = Role.PROSPECTIVE if response.pre_vote else Role.CANDIDATE
    if node.role is requested_as:
        node.count(voter, now, granted=response.granted)


def handle_begin_quorum_epoch_request(
    node: RaftNode, request: BeginQuorumEpochRequest, now: int
) -> BeginQuorumEpochResponse:
    """Handle the announcement of a leader."""
    if request.epoch < node.epoch:
        return BeginQuorumEpochResponse(request.correlation_id, KafkaError.FENCED_LEADER_EPOCH, node.epoch, node.leader)
    node.maybe_transition(request.epoch, request.leader, now)
    return BeginQuorumEpochResponse(request.correlation_id, KafkaError.NONE, node.epoch, node.leader)


def handle_begin_quorum_epoch_response(
    node: RaftNode, voter: int, response: BeginQuorumEpochResponse, now: int
) -> None:
    """Handle the response to an announcement: the voter knows the leader, or a newer epoch."""
    if not _expected(node, voter, response, now):
        return
    if node.leading is not None and not response.error and response.epoch == node.epoch:
        node.leading.unaware.pop(voter, None)


def handle_end_quorum_epoch_request(node: RaftNode, request: EndQuorumEpochRequest, now: int) -> EndQuorumEpochResponse:
    """Handle the resignation of a leader."""
    if request.epoch < node.epoch:
        return EndQuorumEpochResponse(request.correlation_id, KafkaError.FENCED_LEADER_EPOCH, node.epoch, node.leader)
    node.maybe_transition(request.epoch, request.leader, now)
    node.handle_resignation(request.leader, request.successors, now)
    return EndQuorumEpochResponse(request.correlation_id, KafkaError.NONE, node.epoch, node.leader)


def handle_end_quorum_epoch_response(node: RaftNode, voter: int, response: EndQuorumEpochResponse, now: int) -> None:
    """Handle the response to a resignation: the voter knows it, or a newer epoch."""
    if not _expected(node, voter, response, now):
        return
    if node.role is Role.RESIGNED and response.epoch == node.epoch:
        node.unaware.pop(voter, None)
