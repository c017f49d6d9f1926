"""One member of a quorum, sans-IO (``KafkaRaftClient``, ``QuorumState``): roles, votes, and the rules of the log.

It is given messages and the time, changes its own state, and leaves what it has to say in :attr:`RaftNode.out`. Epoch,
vote, known leader and log are on disk before anything is said; all else dies with the process.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from cluster_model.controller.raft.config import QuorumConfig
from cluster_model.controller.raft.connections import Connections
from cluster_model.controller.raft.election import Election, successor_backoff_us
from cluster_model.controller.raft.leading import NEVER, Leading
from cluster_model.controller.raft.messages import BeginQuorumEpochRequest, EndQuorumEpochRequest, VoteRequest
from cluster_model.controller.raft.raft_log import QuorumLog
from cluster_model.protocol.messages import NOBODY


class Role(IntEnum):
    """What a node is in its epoch. An observer is only ever one of the first two."""

    UNATTACHED = 0
    FOLLOWER = 1
    PROSPECTIVE = 2
    CANDIDATE = 3
    LEADER = 4
    RESIGNED = 5


class RaftNode:
    """A voter or an observer."""

    __slots__ = (
        "_config", "_draw", "_number", "connections", "due_at", "election", "epoch", "heard", "high_watermark", "id",
        "leader", "leading", "log", "others", "out", "role", "successors", "unaware", "voted", "voter", "voters",
    )  # fmt: skip

    def __init__(
        self, node_id: int, voters: tuple[int, ...], log: QuorumLog, config: QuorumConfig, draw: Callable[[int], int]
    ) -> None:
        """``draw(n)`` gives a random number in [0, n)."""
        self.id = node_id
        self.voters = voters
        self.voter = node_id in voters
        self.others = tuple(voter for voter in voters if voter != node_id)
        self.log = log
        self._config = config
        self._draw = draw
        self.connections = Connections(config)
        self.epoch = 0
        self.voted = NOBODY
        """Whom it voted for in its epoch."""
        self.leader = NOBODY
        """Of its epoch, as far as it knows; of a prospective candidate: the one it lost."""
        self._number = 0
        """Of the last request; it outlives the process, so that no answer is taken for another's."""
        self.out: list[tuple[int, Any]] = []
        """(target, message) to be sent."""
        self._forget()

    def _forget(self) -> None:
        self.role = Role.UNATTACHED
        self.high_watermark = 0
        """Everything below is committed, as it knows."""
        self.due_at = NEVER
        """When its role has lasted long enough: the election, fetch or back-off timeout."""
        self.heard = False
        """A follower: whether the leader has answered a fetch."""
        self.leading: Leading | None = None
        self.election: Election | None = None
        self.unaware: dict[int, None] = {}
        """A resigned leader: voters that have not acknowledged that."""
        self.successors: tuple[int, ...] = ()
        self.connections.clear()
        self.out.clear()

    def start(self, now: int) -> None:
        """The process starts, with what is on its disk."""
        self._forget()
        if not self.voter:
            self.voted = NOBODY
            if self.leader != NOBODY:
                self._follow(self.epoch, self.leader, now)
        elif not self.others:
            self._stand(now)
        elif self.leader == self.id:
            self.role = Role.RESIGNED
            self.due_at = now + self._election_timeout()
        elif self.leader != NOBODY:
            self._follow(self.epoch, self.leader, now)
        elif self.voted == self.id:
            self.role = Role.CANDIDATE
            self.election = Election(self.id, self.voters)
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
        """A newer epoch without a known leader. A clock that runs goes on: nobody is kept from standing."""
        if self.role is Role.LEADER or self.due_at == NEVER:
            self.due_at = now + self._election_timeout() if self.voter else NEVER
        self._leave(Role.UNATTACHED)
        if epoch != self.epoch:
            self.voted = NOBODY
        self.epoch = epoch
        self.leader = NOBODY

    def _follow(self, epoch: int, leader: int, now: int) -> None:
        self._leave(Role.FOLLOWER)
        if epoch != self.epoch:
            self.voted = NOBODY
        self.epoch = epoch
        self.leader = leader
        self.heard = False
        self.due_at = now + self._config.fetch_timeout_us

    def follow_on(self, at: int) -> None:
        """The leader answered a fetch."""
        self.heard = True
        self.due_at = at + self._config.fetch_timeout_us

    def _leave(self, role: Role) -> None:
        self.role = role
        self.leading = None
        self.election = None
        self.unaware = {}
        self.successors = ()

    def learn(self, epoch: int, leader: int, now: int) -> None:
        """Somebody's epoch and leader (``maybeTransition``): what is newer than its own is believed."""
        if leader == self.id:
            leader = NOBODY
        if epoch > self.epoch:
            if leader == NOBODY:
                self._unattached(epoch, now)
            else:
                self._follow(epoch, leader, now)
        elif epoch == self.epoch and leader != NOBODY and self.leader == NOBODY:
            self._follow(epoch, leader, now)

    def grant(self, candidate: int, now: int) -> None:
        """Vote for it in this epoch, and give it time."""
        if self.voted != candidate:
            self.voted = candidate
            self.due_at = now + self._election_timeout()

    def count(self, voter: int, now: int, *, granted: bool) -> None:
        """A voter's answer to this round."""
        election = self.election
        if election is None:
            return
        election.record(voter, granted=granted)
        if self.role is Role.PROSPECTIVE:
            if election.won:
                self._become_candidate(now)
            elif election.lost:
                self._lose(now)
        elif election.won:
            self._lead(now)
        elif election.lost and not election.backing_off:
            self._hold_back(election, now)

    def _stand(self, now: int) -> None:
        """Time to get a leader: ask whether one would be elected (KIP-996), or stand at once."""
        if self._config.pre_vote and self.others:
            if self.role is Role.RESIGNED:
                self._unattached(self.epoch + 1, now)
                self.due_at = now + self._election_timeout()
                return
            leader = self.leader
            self._leave(Role.PROSPECTIVE)
            self.leader = leader
            self.election = Election(self.id, self.voters)
            self.due_at = now + self._election_timeout()
            return
        self._become_candidate(now)

    def _become_candidate(self, now: int) -> None:
        election = self.election
        retries = election.retries + 1 if election is not None and self.role is Role.CANDIDATE else 1
        self._leave(Role.CANDIDATE)
        self.epoch += 1
        self.voted = self.id
        self.leader = NOBODY
        self.election = Election(self.id, self.voters, retries)
        self.due_at = now + self._election_timeout()
        for voter in self.others:
            self.connections.answered(voter)
        if self.election.won:
            self._lead(now)

    def _lead(self, now: int) -> None:
        self._leave(Role.LEADER)
        self.leader = self.id
        self.due_at = NEVER
        self.leading = Leading(self.others, self.log.end, now, self._config)
        self.log.write(self.epoch, self.id, (), control=True)
        self._commit()

    def form_leader(self, now: int, batches: tuple[tuple[Any, ...], ...]) -> None:
        """Lead epoch 1 of a quorum whose voters all have these batches."""
        self.voted = self.id
        self.epoch = 1
        self._lead(now)
        for records in batches:
            self.log.write(self.epoch, self.id, records)
        for voter in self.others:
            self.reached(voter, self.log.end, now)
        self._commit()

    def form_follower(self, leader: "RaftNode", now: int) -> None:
        """Follow it from its first epoch on, with all of its log."""
        self._follow(leader.epoch, leader.id, now)
        self.log.take(leader.log.extents(0, leader.log.end))
        self.high_watermark = leader.high_watermark

    def reached(self, voter: int, end: int, now: int) -> bool:
        """A voter's fetch proves that it knows this leader and has everything below ``end``; whether the HW rose."""
        leading = self.leading
        if leading is None or voter not in leading.ends:
            return False
        leading.unaware.pop(voter, None)
        leading.heard(voter, now)
        leading.ends[voter] = end
        before = self.high_watermark
        self._commit()
        return self.high_watermark != before

    def _commit(self) -> None:
        leading = self.leading
        if leading is not None and leading.raise_high_watermark(self.log.end):
            self.high_watermark = max(self.high_watermark, leading.high_watermark)

    def resign(self, now: int) -> None:
        """A leader gives up its epoch and says so to the other voters; nobody else does anything."""
        leading = self.leading
        if leading is None:
            return
        successors = leading.successors()
        self._leave(Role.RESIGNED)
        self.successors = successors
        self.unaware = dict.fromkeys(self.others)
        self.due_at = now + self._election_timeout()

    def succeed(self, leader: int, successors: tuple[int, ...], now: int) -> None:
        """The leader resigned: stand after a while that depends on the place among its successors."""
        if self.role is Role.FOLLOWER and self.leader == leader and self.voter:
            position = successors.index(self.id) if self.id in successors else -1
            self.due_at = now + successor_backoff_us(position, len(successors), self._config)

    def append(self, records: tuple[Any, ...], now: int) -> int:
        """Take records to be written ``append.linger.ms`` after the first; the offset of the last.

        Raises:
            ValueError: it does not lead, or there are none.
        """
        leading = self.leading
        if leading is None or not records:
            raise ValueError(f"node {self.id} appends {len(records)} records as {self.role.name.lower()}")
        if not leading.pending:
            leading.write_at = now + self._config.linger_us
        leading.pending.append(records)
        return self.log.end + sum(map(len, leading.pending)) - 1

    def write(self) -> None:
        """Write what was appended, and force it to disk."""
        leading = self.leading
        if leading is not None:
            for records in leading.pending:
                self.log.write(self.epoch, self.id, records)
            leading.pending = []
            leading.write_at = NEVER
            self._commit()

    def poll(self, now: int, calm: Callable[[int], bool]) -> None:
        """Do what is due. ``calm`` tells voters whose fetches come for certain."""
        leading = self.leading
        if leading is not None and leading.silent_at(calm) <= now:
            self.resign(now)
        elif leading is not None and leading.write_at <= now:
            self.write()
        if self.voter and self.due_at <= now:
            self._time_is_over(now)
        self._ask(now)

    def _time_is_over(self, now: int) -> None:
        election = self.election
        if self.role is Role.PROSPECTIVE:
            self._lose(now)
        elif self.role is Role.CANDIDATE and election is not None and not election.backing_off:
            self._hold_back(election, now)
        elif self.role is Role.CANDIDATE:
            self._become_candidate(now)
        elif self.role is not Role.LEADER:
            self._stand(now)

    def _lose(self, now: int) -> None:
        """A prospective candidate would not be elected: back to the leader it had, if any."""
        if self.leader != NOBODY:
            self._follow(self.epoch, self.leader, now)
        else:
            self._leave(Role.UNATTACHED)
            self.due_at = now + self._election_timeout()

    def _hold_back(self, election: Election, now: int) -> None:
        election.backing_off = True
        self.due_at = now + election.backoff_us(self._config, self._draw)

    def _asked(self) -> list[int]:
        """Voters that are to be asked or told something."""
        if self.leading is not None:
            return list(self.leading.unaware)
        if self.role is Role.RESIGNED:
            return list(self.unaware)
        if self.election is not None and not self.election.backing_off:
            return self.election.unrecorded()
        return []

    def _ask(self, now: int) -> None:
        for voter in self._asked():
            if self.connections.ready(voter, now):
                self._number += 1
                self.connections.sent(voter, self._number, now)
                self.out.append((voter, self._question(self._number)))

    def _question(self, number: int) -> VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest:
        if self.role is Role.LEADER:
            return BeginQuorumEpochRequest(number, self.epoch, self.id)
        if self.role is Role.RESIGNED:
            return EndQuorumEpochRequest(number, self.epoch, self.id, self.successors)
        pre_vote = self.role is Role.PROSPECTIVE
        return VoteRequest(number, self.epoch, self.id, self.log.last_epoch, self.log.end, pre_vote)

    def deadline(self, calm: Callable[[int], bool]) -> int:
        """When :meth:`poll` has something to do next, NEVER if only a message can change anything."""
        at = self.due_at if self.voter else NEVER
        if self.leading is not None:
            at = min(at, self.leading.silent_at(calm), self.leading.write_at)
        return min([at, *[self.connections.ready_at(voter) for voter in self._asked()]])

    def save(self) -> tuple[Any, ...]:
        """All state; nothing is left in :attr:`out` between two events."""
        return (
            self.epoch, self.voted, self.leader, int(self.role), self.high_watermark, self.due_at, self.heard,
            () if self.leading is None else self.leading.save(),
            () if self.election is None else self.election.save(),
            tuple(self.unaware), self.successors, self.connections.save(), self.log.save(), self._number,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after the store's."""
        (
            self.epoch, self.voted, self.leader, role, self.high_watermark, self.due_at, self.heard, leading, election,
            unaware, self.successors, connections, log, self._number,
        ) = saved  # fmt: skip
        self.role = Role(role)
        self.leading = Leading.loaded(leading, self.others, self._config) if leading else None
        self.election = Election.loaded(election, self.id, self.voters) if election else None
        self.unaware = dict.fromkeys(unaware)
        self.connections.load(connections)
        self.log.load(log)
        self.out.clear()
