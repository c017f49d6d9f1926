"""One replica of a partition as leader or follower: its log, its HW and its role (``Partition``). Sans-IO.

A replica knows its own log, and everything else from the controller's metadata and from requests and responses. It
never schedules, sends or draws random numbers: callers pass it ``now`` and messages, and send what it returns. The
timed broker and the manual driver call the same methods.

Invariants: log start <= HW <= LEO. The HW never goes back within a leadership, but it may go down otherwise: it follows
the log end on truncation, and a follower takes its leader's HW (``UnifiedLog.truncateTo``,
``ReplicaFetcherThread.processPartitionData``).
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NamedTuple

from cluster_model.broker.partition.fetch_sessions import FetchSession, FetchSessions
from cluster_model.broker.partition.producer_state_manager import (
    NONE,
    batch_error,
    producer_state,
    unchecked_size,
    validate_append,
)
from cluster_model.broker.partition.replication_rules import (
    DIVERGING_EPOCH,
    EPOCH_UNKNOWN,
    LEADER_IS_SHORTER,
    LONG_AGO,
    UNKNOWN_LEO,
    OffsetLookup,
    RemoteReplicaState,
    caught_up,
    high_watermark,
    loaded_remotes,
    may_join_isr,
    out_of_sync,
    restarts_fetcher,
    settled_by_end,
    settled_by_start,
    truncation_by_epoch_end,
)
from cluster_model.kernel.wall_clocks import WallClock
from cluster_model.log.batch_store import BatchStore, EpochBranch
from cluster_model.log.crash_recovery import DISK_LOSS, POWER_LOSS, WRITTEN_BACK, bytes_to_check, lose_power, wipe
from cluster_model.log.leader_epoch_cache import UNDEFINED
from cluster_model.log.log_cleaner import clean, retain, to_clean
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.configs import PRODUCERS_CODEC, BrokerConfig, TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import (
    Appended,
    BecameFollower,
    BecameLeader,
    CorruptBatchFound,
    Event,
    HwAdvanced,
    LogCleaned,
    LogStartMoved,
    SegmentRolled,
    Truncated,
)
from cluster_model.protocol.messages import (
    ALL,
    NO_LEADER,
    AlterPartitionRequest,
    AlterPartitionResponse,
    EpochEnd,
    FetchData,
    FetchPartition,
    PartitionState,
    ProduceRequest,
)
from cluster_model.protocol.records import ABORT, NO_TIMESTAMP, Batch, CleanerInput, Damages, recompressed_size, up_to
from cluster_model.protocol.versions import Profile

# Delayed produce requests that are complete.


class CompletedProduce(NamedTuple):
    """Result of a delayed produce with acks=all; ``token`` is the caller's, from when the delay began."""

    token: int
    error: KafkaError


# The follower side of a partition: when and where it truncates, and how it handles its leader's responses.
#
# Four generations of the protocol find how much of the follower's log agrees with the new leader's:
#
# - up to 0.10.2: truncate to the local HW at once, whatever the leader has;
# - KIP-101 (0.11): ask where the own latest epoch ended at the leader, truncate there;
# - KIP-279 (2.0): the leader names the epoch it means, and the follower asks again until they agree; KIP-320 (2.1)
#   fences the request by the current epoch;
# - KIP-595 (2.7): no extra request: every fetch carries its last epoch, and the leader responds with the point of
#   divergence.


class FetcherAction(Enum):
    """Next action of the fetcher thread for a partition."""

    CONTINUE = "continue"
    BACK_OFF = "back off"
    """Try again after ``replica.fetch.backoff.ms``."""
    FAILED = "failed"
    """Stop fetching it until the controller sends a new state (``markPartitionFailed``)."""
    STOPPED = "stopped"
    """The fetcher thread has ended, and replication of all its partitions stops."""
    IGNORED = "ignored"
    EXIT = "exit"
    """The process must end: :attr:`FollowerState.exit_reason` has the reason."""


GO_ON: Final = FetcherAction.CONTINUE
"""A local alias, as looking up an enum member takes time, and this is the result of nearly every response."""


class FollowerState:
    """State of a follower; its leader and leader epoch are in the replica."""

    __slots__ = ("_requested_in", "exit_reason", "failed", "lag", "replica", "seek", "stuck_at", "truncating")

    def __init__(self, replica: "Replica") -> None:
        self.replica = replica
        self.truncating = False
        """Whether it must ask the leader for the end of its latest epoch before it may fetch."""
        self.failed = False
        self.seek: OffsetLookup | None = None
        """Set while out of its leader's range: it must ask for the end and start of that log before it may fetch."""
        self._requested_in = UNDEFINED
        """Leader epoch of the last request for an epoch's end."""
        self.exit_reason = ""
        self.lag = -1
        """Number of records below the leader's HW that were missing after the last response, -1 unknown."""
        self.stuck_at = -1
        """Offset of a batch that its leader keeps sending damaged."""

    def start(self, now: int, *, changed_leader: bool) -> None:
        """Start to follow, newly or again: truncate, or find out where."""
        replica = self.replica
        profile = replica.profile
        self.failed = False
        self.truncating = False
        self.seek = None
        self.lag = self.stuck_at = -1
        if not profile.epoch_truncation:
            if changed_leader:
                replica.truncate(replica.hw, now, "high watermark")
        elif replica.log.epochs.latest == UNDEFINED:
            replica.truncate(replica.hw, now, "high watermark, no epoch known")
        elif not profile.diverging_fetch:
            self.truncating = True

    def epoch_request(self) -> tuple[str, int, int]:
        """Return the truncation request: (partition, own latest epoch, current epoch or -1)."""
        self._requested_in = self._current_epoch()
        return (self.replica.partition, self.replica.log.epochs.latest, self._requested_in)

    def _current_epoch(self) -> int:
        return self.replica.leader_epoch if self.replica.profile.kip_320 else UNDEFINED

    def apply_epoch_end(self, now: int, answer: EpochEnd) -> FetcherAction:
        """Truncate by the leader's response; still :attr:`truncating` if it must be asked again."""
        replica = self.replica
        if not self.truncating or answer.requested_epoch != replica.log.epochs.latest:
            return FetcherAction.IGNORED
        if self._requested_in != self._current_epoch() and not replica.profile.applies_old_responses:
            # A response for an older epoch, after which the request is sent again. 2.1.0 takes it for one of the new
            # epoch, and if it is FENCED_LEADER_EPOCH, fetching of the partition ends (KAFKA-7786).
            return FetcherAction.CONTINUE
        if answer.error:
            return self._error(KafkaError(answer.error))
        epoch = answer.epoch if replica.profile.kip_279 else UNDEFINED
        rule = "KIP-279 epoch end" if replica.profile.kip_279 else "KIP-101 epoch end"
        if answer.end == UNDEFINED:
            rule = EPOCH_UNKNOWN
        self._truncate_by(now, epoch, answer.end, rule)
        return FetcherAction.CONTINUE

    def _truncate_by(self, now: int, epoch: int, end: int, rule: str) -> None:
        replica = self.replica
        offset, settled = truncation_by_epoch_end(replica.log.epochs, replica.log.leo, replica.hw, epoch, end)
        replica.truncate(offset, now, rule)
        self.truncating = not settled and replica.log.epochs.latest != UNDEFINED

    def next_fetch(self) -> FetchPartition:
        """Return the partition's next fetch."""
        replica = self.replica
        profile = replica.profile
        return FetchPartition(
            replica.partition,
            replica.log.leo,
            replica.leader_epoch if profile.kip_320 else UNDEFINED,
            replica.log.epochs.latest if profile.diverging_fetch else UNDEFINED,
            replica.log.log_start,
        )

    def apply_fetch(self, now: int, fetch: FetchPartition, data: FetchData) -> FetcherAction:
        """Apply a fetch response: append, move the HW, or truncate (``AbstractFetcherThread.processFetchRequest``)."""
        replica = self.replica
        log = replica.log
        if self.truncating or self.failed or self.seek is not None or data.offset != log.leo:
            return FetcherAction.IGNORED
        if data.error:
            if data.error == KafkaError.OFFSET_OUT_OF_RANGE:
                self.seek = OffsetLookup(self._current_epoch(), earliest=False)
                return FetcherAction.CONTINUE
            return self._refused(KafkaError(data.error), fetch.current_leader_epoch)
        if data.diverging is not None:
            self._truncate_by(now, *data.diverging, DIVERGING_EPOCH)
            self.truncating = False
            return FetcherAction.CONTINUE
        records = data.records
        if records.extents:
            if records.damages:
                return self._corrupt(now, records.damages[0].start)
            log.append_slice(records, now)
        hw, leo = data.hw, log.leo
        if hw <= leo:
            self.lag = 0
            replica.hw = hw if hw >= log.log_start else log.log_start
        else:
            self.lag = hw - leo
            replica.hw = leo
        if log.transactions.ended:
            log.transactions.replicated(replica.hw)
        if data.log_start > log.log_start and not replica.follow_start(data.log_start, now):
            self.failed = True
            return FetcherAction.FAILED
        return GO_ON

    def _corrupt(self, now: int, offset: int) -> FetcherAction:
        """Reject a response with a bad checksum: nothing is appended (``UnifiedLog.analyzeAndValidateRecords``).

        It is fetched again, forever. Before KAFKA-4384 (0.10.1.1) the thread had advanced to the next offset already,
        which is not the log's end, and that ended the thread.
        """
        replica = self.replica
        stops = not replica.profile.refetches_corrupt
        if self.stuck_at != offset:
            self.stuck_at = offset
            detail = "fetcher thread stopped" if stops else "the follower fetches it again"
            replica.emit(CorruptBatchFound(now, replica.partition, replica.broker, offset, "follower", detail))
        return FetcherAction.STOPPED if stops else FetcherAction.BACK_OFF

    def _error(self, error: KafkaError) -> FetcherAction:
        if error is KafkaError.FENCED_LEADER_EPOCH:
            self.failed = True
            return FetcherAction.FAILED
        return FetcherAction.BACK_OFF

    def _refused(self, error: KafkaError, requested_in: int) -> FetcherAction:
        """Handle a response's error; a fence of an older epoch than the current one has no effect."""
        if error is KafkaError.FENCED_LEADER_EPOCH and requested_in != self.replica.leader_epoch:
            return FetcherAction.CONTINUE
        return self._error(error)

    def apply_offset(self, now: int, error: int, offset: int) -> FetcherAction:
        """Apply the end or the start of the leader's log (``AbstractFetcherThread.fetchOffsetAndTruncate``).

        A log mismatch at lower offsets is not repaired on this path. Up to 2.0.0 a broker exits instead of truncating
        below its leader's log end if unclean election is off (``ReplicaFetcherThread.handleOffsetOutOfRange``).
        """
        replica = self.replica
        seek, self.seek = self.seek, None
        if seek is None:
            return FetcherAction.IGNORED
        if error:
            return self._refused(KafkaError(error), seek.epoch)
        if seek.earliest:
            if settled_by_start(replica.log.leo, offset):
                replica.restart_at(offset, now)
        elif not settled_by_end(replica.log.leo, offset):
            self.seek = seek._replace(earliest=True)
        elif replica.profile.exits_out_of_range and not replica.topic.unclean:
            self.exit_reason = (
                f"exit: {replica.partition} ends at {replica.log.leo} here and at {offset} on its leader, broker "
                f"{replica.leader}; truncation is not allowed while unclean.leader.election.enable is false"
            )
            return FetcherAction.EXIT
        else:
            replica.truncate(offset, now, LEADER_IS_SHORTER)
        return FetcherAction.CONTINUE

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (self.truncating, self.failed, self.seek, self.lag, self._requested_in, self.stuck_at)

    @classmethod
    def from_saved(cls, replica: "Replica", saved: tuple[Any, ...]) -> "FollowerState":
        """Return a follower state with the state returned by :meth:`save`."""
        following = cls(replica)
        following.truncating, following.failed, following.seek, following.lag, following._requested_in, stuck_at = saved
        following.stuck_at = stuck_at
        return following


# The leader side of a partition: appends, follower state, high watermark, ISR changes, delayed produces.
#
# The rules are those of ``kafka.cluster.Partition``. There are two ISRs: the *committed* one, as the controller last
# confirmed it, and the *maximal* one, which also includes a member that was proposed to join, and keeps one that was
# proposed to leave, until the controller confirms (KIP-497). The HW uses the maximal one, so nothing is committed that
# a member of either lacks.


_STAY_PENDING: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PARTITION,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.INVALID_UPDATE_VERSION,
        KafkaError.INVALID_REQUEST,
        KafkaError.NEW_LEADER_ELECTED,
    }
)
"""AlterPartition errors after which a leader waits for new metadata, with its maximal ISR frozen."""

_REVERT: Final = frozenset({KafkaError.OPERATION_NOT_ATTEMPTED, KafkaError.INELIGIBLE_REPLICA})
"""AlterPartition errors after which a leader returns to the committed ISR; any other is retried."""


class AppendResult(NamedTuple):
    """Result of an append; ``waits``: it is acknowledged later, when the HW reaches ``required``.

    ``epoch_branch`` is the id of the log branch that holds the records.
    """

    error: KafkaError
    base: int
    epoch_branch: int
    required: int
    waits: bool


class PartitionLeaderState:
    """State of a leader, from the start of its leadership to its end."""

    __slots__ = (
        "_epoch_branch", "_followers", "_members", "_needed", "_waiting", "epoch_start", "isr", "pending", "producers",
        "proposal", "proposals", "remotes", "replica",
    )  # fmt: skip

    def __init__(self, replica: "Replica", state: PartitionState, now: int, *, is_new: bool = True) -> None:
        """Start a leadership; ``is_new``: rebuild the state of idempotent producers by reading the log."""
        self.replica = replica
        self.isr = state.isr
        self.pending: tuple[int, ...] | None = None
        self.proposals = 0
        """Number of ISR proposals so far, which is the correlation id of the last one."""
        self.proposal: AlterPartitionRequest | None = None
        """An ISR change to be sent to the controller; see :meth:`take_proposal`."""
        self.epoch_start = replica.log.leo
        self.remotes = {broker: self._new_remote(broker, now) for broker in state.replicas if broker != replica.broker}
        self.producers = producer_state(replica.profile, replica.config.producer_expiry_us, replica.log.transactions)
        if is_new:
            self.producers.rebuild(replica.log, replica.producer_snapshot)
        self._waiting: list[tuple[int, int]] = []
        self._epoch_branch: EpochBranch | None = None
        self._needed: tuple[RemoteReplicaState, ...] = ()
        """Followers in the maximal ISR."""
        self._followers = tuple(self.remotes.values())
        self._members = 0
        """Size of the maximal ISR, including the leader."""
        self._members_changed()

    def _members_changed(self) -> None:
        maximal = self.maximal_isr
        self._members = len(maximal)
        self._needed = tuple([self.remotes[broker] for broker in maximal if broker in self.remotes])

    def _new_remote(self, broker: int, now: int) -> RemoteReplicaState:
        """Return a follower's state before its first fetch; up to 0.10.1 an election does not count as caught up."""
        profile = self.replica.profile
        caught_up = now if broker in self.isr and profile.caught_up_previous else LONG_AGO
        return RemoteReplicaState(caught_up, now if profile.lag_messages else LONG_AGO)

    def renew(self, state: PartitionState, now: int, *, new_epoch: bool) -> None:
        """Continue the leadership with newer metadata; a new epoch resets the followers, by the rule of the version.

        0.8.2 forgets their offsets, 0.9 to 0.10.1 keep everything, later versions count them as caught up from now.
        """
        self.end_idle()
        self.isr = state.isr
        self.pending = None
        self.proposal = None
        self._reassign(state, now)
        self._members_changed()
        if not new_epoch:
            return
        self.epoch_start = self.replica.log.leo
        self._epoch_branch = None
        profile = self.replica.profile
        for broker, remote in self.remotes.items():
            if profile.lag_messages:
                remote.leo = UNKNOWN_LEO
                remote.last_fetch = now
            if not profile.caught_up_previous:
                continue
            remote.last_fetch_leader_leo = self.replica.log.leo
            remote.last_fetch = remote.last_caught_up = now if broker in state.isr else LONG_AGO

    def _reassign(self, state: PartitionState, now: int) -> None:
        """Add and remove replicas; the state of the others stays (``Partition.updateAssignmentAndIsr``)."""
        followers = [broker for broker in state.replicas if broker != self.replica.broker]
        if sorted(followers) != sorted(self.remotes):
            known = self.remotes
            self.remotes = {broker: known.get(broker) or self._new_remote(broker, now) for broker in followers}
            self._followers = tuple(self.remotes.values())

    def end_idle(self) -> None:
        """End the idle state of all followers before a change that their fetches depend on."""
        for remote in self._followers:
            remote.end_idle()

    @property
    def rests(self) -> bool:
        """Whether every follower is idle."""
        return all(remote.idle for remote in self._followers)

    def rest(self, follower: int, session: FetchSession, slot: int) -> None:
        """Make a follower idle if it has everything, is in the ISR and knows the HW."""
        remote = self.remotes[follower]
        if remote.leo == self.replica.log.leo and follower in self.isr:
            remote.rest(session, slot)

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        """Committed ISR and any broker that is proposed to join it."""
        if self.pending is None:
            return self.isr
        return self.isr + tuple(broker for broker in self.pending if broker not in self.isr)

    def append(self, now: int, request: ProduceRequest) -> AppendResult:
        """Append a batch if the rules allow it (``Partition.appendRecordsToLeader``)."""
        error, duplicate = validate_append(self, request, now)
        if duplicate >= 0:
            return self._result(request.acks, duplicate, request.records)
        wanted = self.replica.log.rules.codec
        if error is NONE and wanted not in (PRODUCERS_CODEC, request.codec):
            request, error = self._recompressed(now, request, wanted)
        if error is not NONE:
            return AppendResult(error, -1, -1, -1, waits=False)
        base = self._write(now, request)
        self.maybe_advance_hw(now)
        return self._result(request.acks, base, request.records)

    def _recompressed(self, now: int, request: ProduceRequest, codec: int) -> tuple[ProduceRequest, KafkaError]:
        """Return a batch with the topic's codec, and the error of its new size (``LogValidator``); markers stay plain.

        The gateway has already recompressed a real client's batch, with the settings at that time.
        """
        if request.kind >= ABORT or request.payload:
            return request, NONE
        size = recompressed_size(request.size, request.codec, codec)
        request = request._replace(size=size, codec=codec)
        replica = self.replica
        return request, batch_error(replica.profile, replica.log, request, replica.wall_time(now))

    def _write(self, now: int, request: ProduceRequest) -> int:
        replica = self.replica
        log = replica.log
        for remote in self._followers:
            if remote.idle:
                remote.end_idle()
        base = log.leo
        epoch_branch = self._epoch_branch
        if epoch_branch is None:
            epoch_branch = self._epoch_branch = log.epoch_branches.begin(
                replica.broker, replica.leader_epoch, base, replica.topic_id
            )
        (
            _, partition, acks, _, client, pid, sequence, records, size, names, stamp, codec, epoch, origin, _, kind,
            coordinator_epoch, _, _, payload, *_,
        ) = request  # fmt: skip
        if stamp == NO_TIMESTAMP or not replica.keeps_stamps:
            stamp = replica.timestamp_of(request, now)
        batch = Batch(
            base, records, size, now, client, pid, sequence, acks, names, stamp, codec, epoch, origin, kind,
            coordinator_epoch,
        )  # fmt: skip
        log.append_batch(epoch_branch, batch)
        if payload:
            epoch_branch.set_payload(payload)
        if pid >= 0:
            self.producers.written(batch, now)
        replica.emit(
            Appended(now, partition, replica.broker, replica.leader_epoch, base, records, client, sequence, acks)
        )
        return base

    def _result(self, acks: int, base: int, count: int) -> AppendResult:
        required = base + count
        epoch_branch = self._epoch_branch
        branch = (
            epoch_branch.id
            if epoch_branch is not None and epoch_branch.start <= base
            else self.replica.log.branch_at(base).id
        )
        settled = self._settled(required) if acks == ALL else NONE
        return AppendResult(settled or NONE, base, branch, required, settled is None)

    def _settled(self, required: int) -> KafkaError | None:
        """Return the result of a delayed produce, None while it waits (``checkEnoughReplicasReachOffset``)."""
        if self.replica.hw < required:
            return None
        if self._members < self.replica.min_isr:
            return KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return NONE

    def wait(self, required: int, token: int) -> None:
        """Report ``token`` in the replica's ``done`` when the HW reaches ``required`` or leadership ends."""
        self._waiting.append((required, token))

    def _complete_waiting(self) -> None:
        if not self._waiting:
            return
        remaining: list[tuple[int, int]] = []
        for required, token in self._waiting:
            settled = self._settled(required)
            if settled is None:
                remaining.append((required, token))
            else:
                self.replica.done.append(CompletedProduce(token, settled))
        self._waiting = remaining

    def give_up(self, token: int) -> bool:
        """Stop waiting for ``token``, whose timeout is over; False if it was complete before."""
        remaining = [entry for entry in self._waiting if entry[1] != token]
        found = len(remaining) < len(self._waiting)
        self._waiting = remaining
        return found

    def resign(self) -> None:
        """End the leadership: every delayed produce fails with NOT_LEADER_OR_FOLLOWER."""
        self.replica.done.extend(
            CompletedProduce(token, KafkaError.NOT_LEADER_OR_FOLLOWER) for _at, token in self._waiting
        )
        self._waiting = []

    def update_follower_fetch_state(
        self, now: int, follower: int, remote: RemoteReplicaState, broker_epoch: int, fetch: FetchPartition
    ) -> None:
        """Apply a follower's fetch to its state (``Partition.updateFollowerFetchState``)."""
        remote.log_start = fetch.log_start
        changed = remote.fetched(self.replica.profile, fetch.offset, self.replica.log.leo, now)
        remote.broker_epoch = broker_epoch
        if follower not in self.isr:
            self._maybe_expand(follower, remote)
        if changed:
            self.maybe_advance_hw(now)

    def maybe_advance_hw(self, now: int) -> bool:
        """Move the HW up to what every needed replica has; True if it moved (``maybeIncrementLeaderHW``)."""
        replica = self.replica
        candidate = high_watermark(replica.log.leo, self._needed)
        if candidate <= replica.hw:
            return False
        profile = replica.profile
        if profile.hw_needs_min_isr and len(self.isr) < replica.min_isr:
            return False
        if profile.hw_waits_caught_up and len(self._needed) < len(self.remotes):
            candidate = self._without_caught_up(now, candidate)
            if candidate <= replica.hw:
                return False
        for remote in self._followers:
            if remote.idle:
                remote.end_idle()
        replica.hw = candidate
        if replica.log.transactions.ended:
            replica.log.transactions.replicated(candidate)
        replica.emit(HwAdvanced(now, replica.partition, replica.broker, replica.leader_epoch, candidate))
        if self._waiting:
            self._complete_waiting()
        return True

    def _without_caught_up(self, now: int, candidate: int) -> int:
        """Limit the HW to caught-up replicas outside the ISR, since 3.6 only eligible ones (KAFKA-15021)."""
        replica = self.replica
        profile = replica.profile
        needed = self.maximal_isr
        for broker, remote in self.remotes.items():
            if (
                remote.leo < candidate
                and broker not in needed
                and (not profile.hw_waits_eligible or self._eligible(broker, remote))
                and caught_up(profile, remote, replica.log.leo, now, replica.config.lag_time_us)
            ):
                candidate = remote.leo
        return candidate

    def _eligible(self, broker: int, remote: RemoteReplicaState) -> bool:
        """Whether a replica may be in the ISR as far as this broker knows (``Partition.isReplicaIsrEligible``)."""
        if not self.replica.profile.eligible_isr:
            return True
        known = self.replica.metadata.live.get(broker)
        if known is None:
            return False
        checked = self.replica.profile.kraft and self.replica.profile.fetch_broker_epoch
        return not checked or remote.broker_epoch in (-1, known)

    def _maybe_expand(self, follower: int, remote: RemoteReplicaState) -> None:
        if self.replica.by_hand or self.pending is not None:
            return
        if self.may_join(follower, remote):
            self.propose((*self.isr, follower))

    def may_join(self, follower: int, remote: RemoteReplicaState) -> bool:
        """Whether a follower may join the ISR now, by the rule of the version."""
        hw = self.replica.hw
        return self._eligible(follower, remote) and may_join_isr(self.replica.profile, remote.leo, hw, self.epoch_start)

    def shrink(self, now: int) -> None:
        """Propose an ISR without the members that are out of sync (task ``isr-expiration``)."""
        if self.pending is not None:
            return
        replica = self.replica
        config = replica.config
        out = [
            broker
            for broker in self.isr
            if broker in self.remotes
            and out_of_sync(
                replica.profile, self.remotes[broker], replica.log.leo, now, config.lag_time_us, config.lag_messages
            )
        ]
        if out:
            self.propose(tuple(broker for broker in self.isr if broker not in out))

    def mark_out_of_sync(self, brokers: tuple[int, ...]) -> None:
        """Mark members as not caught up for longer than any lag time, as a manual shrink does."""
        for broker in brokers:
            self.remotes[broker].last_caught_up = LONG_AGO

    def propose(self, isr: tuple[int, ...]) -> None:
        """Propose an ISR; until the response no other change is proposed."""
        replica = self.replica
        self.pending = isr
        self._members_changed()
        own = replica.metadata.live.get(replica.broker, -1)
        checked = replica.profile.fetch_broker_epoch
        epochs = tuple(
            (own if broker == replica.broker else self.remotes[broker].broker_epoch) if checked else -1
            for broker in isr
        )
        self.proposals += 1
        self.proposal = AlterPartitionRequest(
            replica.partition, replica.broker, own, replica.leader_epoch, replica.partition_epoch, isr, epochs,
            self.proposals,
        )  # fmt: skip

    def take_proposal(self) -> AlterPartitionRequest | None:
        """Return the change to send, once."""
        proposal, self.proposal = self.proposal, None
        return proposal

    def confirmed(self, now: int, response: AlterPartitionResponse) -> bool:
        """Handle the response to an ISR proposal (``Partition.submitAlterPartition``); True: send it again later.

        Newer metadata may have arrived before, and another proposal may be in flight: the response does not apply to
        that one.
        """
        replica = self.replica
        if response.leader_epoch != replica.leader_epoch or self.pending is None:
            return False
        if response.correlation_id != self.proposals:
            return False
        if not response.error:
            if response.partition_epoch >= replica.partition_epoch:
                self.end_idle()
                self.isr = response.isr
                replica.partition_epoch = response.partition_epoch
                self.pending = None
                self._members_changed()
                if not replica.profile.keeps_hw_at_shrink:
                    self.maybe_advance_hw(now)
                self._complete_waiting()
            return False
        error = KafkaError(response.error)
        if not replica.profile.alter_partition or error in _REVERT:
            # Before KIP-497 a failed conditional write left the ISR unchanged, to be tried again at the next occasion.
            self.pending = None
            self._members_changed()
            return False
        return error not in _STAY_PENDING

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        remotes = tuple((broker, remote.save()) for broker, remote in self.remotes.items())
        epoch_branch = -1 if self._epoch_branch is None else self._epoch_branch.id
        return (
            self.isr, self.pending, self.proposal, self.epoch_start, remotes, self.producers.save(),
            tuple(self._waiting), epoch_branch, self.proposals,
        )  # fmt: skip

    @classmethod
    def from_saved(cls, replica: "Replica", saved: tuple[Any, ...], sessions: FetchSessions) -> "PartitionLeaderState":
        """Return a leadership with the state returned by :meth:`save`."""
        isr, pending, proposal, epoch_start, remotes, producers, waiting, epoch_branch, proposals = saved
        epoch, partition_epoch = replica.leader_epoch, replica.partition_epoch
        state = PartitionState(replica.partition, replica.broker, epoch, isr, partition_epoch, replica.assignment)
        self = cls(replica, state, 0, is_new=False)
        self.pending, self.proposal, self.epoch_start = pending, proposal, epoch_start
        self.remotes = loaded_remotes(remotes, sessions.watching(replica.partition))
        self.producers.load(producers)
        self._waiting = list(waiting)
        self.proposals = proposals
        self._epoch_branch = None if epoch_branch < 0 else replica.log.epoch_branches.by_id[epoch_branch]
        self._followers = tuple(self.remotes.values())
        self._members_changed()
        return self


class BrokerMetadata:
    """A broker's cached metadata of the brokers, as the controller last sent it."""

    __slots__ = ("live", "racks", "wall")

    def __init__(self) -> None:
        self.live: dict[int, int] = {}
        """Live broker → its broker epoch."""
        self.racks: dict[int, str] = {}
        """Live broker → its rack; empty if no broker has one."""
        self.wall = WallClock()
        """Clock of the broker's machine."""


class Observer:
    """The checker's view of followers, which emit no event for their appends. It is not protocol code."""

    __slots__ = ("out_of_bounds",)

    def __init__(self) -> None:
        self.out_of_bounds: Callable[[int, Replica], None] = lambda _now, _replica: None
        """Called with (time, follower) if a moved HW or LEO leaves the HW outside the log's bounds."""

    def check_follower(self, now: int, replica: "Replica") -> None:
        """Check a follower that has applied a fetch response."""
        log = replica.log
        if not log.log_start <= replica.hw <= log.leo:
            self.out_of_bounds(now, replica)


class Replica:
    """A replica with its durable part (log, checkpoints) and its in-memory part (role, epochs)."""

    __slots__ = (
        "assignment", "broker", "by_hand", "checkpointed_hw", "checkpointed_recovery", "checkpointed_start",
        "cleaner_offset", "config", "damages", "done", "emit", "following", "hw", "keeps_stamps", "last_swept",
        "leader", "leader_epoch", "leadership", "log", "metadata", "min_isr", "observer", "partition",
        "partition_epoch", "producer_snapshot", "profile", "topic", "topic_id", "uncleanable", "usual_size",
    )  # fmt: skip

    def __init__(
        self,
        broker: int,
        partition: str,
        assignment: tuple[int, ...],
        profile: Profile,
        config: BrokerConfig,
        topic: TopicConfig,
        epoch_branches: BatchStore,
        metadata: BrokerMetadata,
        emit: Callable[[Event], None],
        topic_id: int = 0,
    ) -> None:
        self.broker = broker
        self.topic_id = topic_id
        """Topic id in ``partition.metadata``, beside the log (KIP-516); earlier versions know only the name."""
        self.partition = partition
        self.profile = profile
        self.config = config
        self.topic = topic
        self.min_isr = 0
        """Effective min.insync.replicas."""
        self.assignment: tuple[int, ...] = ()
        self._assign(assignment)
        self.metadata = metadata
        self.emit = emit
        self.observer = Observer()
        self.log = ReplicaLog(
            epoch_branches, uses_epochs=profile.epoch_truncation, replaces=profile.epoch_on_elect, rules=topic.log
        )
        self.log.on_roll = self._rolled
        self.usual_size = self._usual_size()
        """Batches up to this size are accepted without full validation."""
        self.keeps_stamps = profile.timestamps and not topic.log.log_append_time
        """Whether batches keep the producer's timestamps."""
        self.by_hand = False
        """Whether it is stepped manually: the ISR then changes only by a step."""
        self.hw = 0
        self.checkpointed_hw = 0
        self.checkpointed_recovery = 0
        self.checkpointed_start = 0
        self.cleaner_offset = 0
        """First dirty offset in the cleaner-offset-checkpoint, written by each cleaning."""
        self.last_swept: CleanerInput | None = None
        """Result of a cleaning pass, set only while the observer is notified."""
        self.damages: Damages = ()
        """Damaged batches."""
        self.uncleanable = False
        """Whether cleaning failed here, which lasts until the next process (KIP-346)."""
        self.producer_snapshot = 0
        """Producers below this offset are known from a snapshot file (``ProducerStateManager.truncateAndReload``)."""
        self.leader = NO_LEADER
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.leadership: PartitionLeaderState | None = None
        self.done: list[CompletedProduce] = []
        """Completed delayed produces, to be taken by the caller."""
        self.following: FollowerState | None = None

    def _assign(self, assignment: tuple[int, ...]) -> None:
        self.assignment = assignment
        self.min_isr = self.topic.effective_min_isr(self.profile, len(assignment))

    def configure(self, topic: TopicConfig) -> None:
        """Use another topic configuration from here on (``LogManager.updateTopicConfig``)."""
        self.topic = topic
        self._assign(self.assignment)
        self.log.configure(topic.log)
        self.usual_size = self._usual_size()
        self.keeps_stamps = self.profile.timestamps and not topic.log.log_append_time

    def _usual_size(self) -> int:
        return 0 if self.metadata.wall.differ else unchecked_size(self.log)

    def wall_time(self, now: int) -> int:
        """Return the time that the broker's clock shows."""
        return now + self.metadata.wall.ahead_us

    def clock_stepped(self, by: int) -> None:
        """Handle a change of the broker's clock: times noted for files and followers shift by it."""
        self.usual_size = self._usual_size()
        self.log.segments.clock_stepped(by)
        self.log.flush_aged_us += by
        if self.leadership is not None:
            self.leadership.end_idle()
            for remote in self.leadership.remotes.values():
                remote.clock_stepped(by)

    @property
    def unsettled(self) -> bool:
        """Whether a response or an ISR proposal is ready to be sent."""
        return bool(self.done) or (self.leadership is not None and self.leadership.proposal is not None)

    @property
    def lso(self) -> int:
        """Last stable offset: every transaction below it has ended (``UnifiedLog.lastStableOffset``)."""
        log = self.log
        return max(log.log_start, min(self.hw, log.transactions.first_unstable(self.hw)))

    @property
    def cleanable_to(self) -> int:
        """Offset from which on nothing is cleaned: the last stable offset.

        Up to 3.0 it is the first offset of an open transaction, and without one nothing is excluded (KAFKA-13194).
        """
        return self.lso if self.profile.cleans_committed else self.log.transactions.first_unstable(self.hw)

    def apply(self, state: PartitionState, now: int) -> bool:
        """Apply a partition state of the controller; False if it is older than the known one.

        ZooKeeper-mode brokers ignore an equal leader epoch (``ReplicaManager.becomeLeaderOrFollower``); in KRaft mode
        an equal one may carry a newer ISR, with a newer partition epoch.
        """
        if state.leader_epoch < self.leader_epoch:
            return False
        if state.leader_epoch == self.leader_epoch and (
            not self.profile.kraft or state.partition_epoch <= self.partition_epoch
        ):
            return False
        if state.leader == self.broker:
            self._lead(state, now)
        else:
            self._follow(state, now)
        return True

    def _lead(self, state: PartitionState, now: int) -> None:
        new_epoch = state.leader_epoch > self.leader_epoch
        if self.leadership is None:
            self.leadership = PartitionLeaderState(self, state, now)
        else:
            self.leadership.renew(state, now, new_epoch=new_epoch)
        self.following = None
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self._assign(state.replicas)
        if new_epoch:
            if self.profile.epoch_on_elect:
                self.log.epochs.assign(state.leader_epoch, self.log.leo)
            event = BecameLeader(now, self.partition, self.broker, state.leader_epoch, self.log.leo, self.hw)
            self.emit(event)
        self.leadership.maybe_advance_hw(now)

    def _follow(self, state: PartitionState, now: int) -> None:
        restart = self.following is None or restarts_fetcher(
            self.profile, self.leader, self.leader_epoch, state.leader, state.leader_epoch
        )
        new_epoch = state.leader_epoch > self.leader_epoch
        if self.leadership is not None:
            self.leadership.resign()
            self.leadership = None
        changed_leader = state.leader != self.leader
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self._assign(state.replicas)
        if new_epoch:
            self.emit(BecameFollower(now, self.partition, self.broker, state.leader, state.leader_epoch))
        if self.following is None:
            self.following = FollowerState(self)
        if restart and state.leader != NO_LEADER:
            self.following.start(now, changed_leader=changed_leader)

    def retire(self) -> None:
        """Stop leading and following; delayed produces fail. States older than the last one stay without effect."""
        if self.leadership is not None:
            self.leadership.end_idle()
            self.leadership.resign()
        self.leadership = None
        self.following = None
        self.leader = NO_LEADER

    def truncate(self, offset: int, now: int, rule: str) -> None:
        """Truncate the log to ``offset``; the HW follows the log end down."""
        if offset < self.log.leo:
            self.truncate_log(offset, now, rule)
            self.checkpointed_recovery = self.log.recovery_point
        elif not self.profile.keeps_empty_epochs:
            # Up to 2.6.0 this dropped no epochs either. If the leader lacks the last one, the follower asks for its end
            # again and again (KAFKA-10706).
            self.log.truncate(offset, now)

    def truncate_log(self, offset: int, now: int, rule: str) -> None:
        """Truncate without moving the recovery-point checkpoint, as after a power loss or during recovery."""
        end = self.log.leo
        self.log.truncate(offset, now)
        if offset < end:
            self.damages = up_to(self.damages, self.log.leo)
            self._producers_reloaded()
            self.hw = min(self.hw, self.log.leo)
            self.cleaner_offset = min(self.cleaner_offset, self.log.leo)
            self.emit(
                Truncated(now, self.partition, self.broker, self.leader_epoch, offset, end, self.hw, rule),
            )

    def _producers_reloaded(self) -> None:
        """Reload producers from the newest snapshot file in the log: each roll and each clean shutdown writes one."""
        before = self.producer_snapshot if self.producer_snapshot <= self.log.leo else 0
        self.producer_snapshot = max(before, self.log.segments.base)

    def checkpoint(self, now: int) -> None:
        """Write the HW to the replication-offset-checkpoint, and age the dirty pages."""
        self.checkpointed_hw = self.hw
        self.log.record_dirty_end(now)

    def power_lost(self, now: int, keep: int, tail: str = WRITTEN_BACK) -> None:
        """Lose the page cache: what was on disk survives, or the first ``keep`` records if that is not -1."""
        self.log.update_durable(now)
        self.truncate_log(lose_power(self.log, keep, tail), now, POWER_LOSS)

    def disk_lost(self, now: int) -> None:
        """Lose the log directory, checkpoints included; the next start finds an empty log."""
        end = self.log.leo
        wipe(self.log, now)
        self.damages = ()
        self.hw = self.checkpointed_hw = self.checkpointed_recovery = self.checkpointed_start = self.cleaner_offset = 0
        if end:
            self.emit(Truncated(now, self.partition, self.broker, self.leader_epoch, 0, end, 0, DISK_LOSS))

    def restart_at(self, offset: int, now: int) -> None:
        """Drop everything and restart the log at ``offset``: the leader's log starts after this one's end."""
        before = self.log.log_start
        self.log.restart_at(offset, now)
        self.damages = ()
        self.checkpointed_recovery = self.hw = offset
        self.emit(LogStartMoved(now, self.partition, self.broker, before, offset, "out of range"))

    def _rolled(self, now: int, base: int, rule: str) -> None:
        self.emit(SegmentRolled(now, self.partition, self.broker, base, rule))

    def timestamp_of(self, request: ProduceRequest, now: int) -> int:
        """Return a batch's timestamp (KIP-32): its own or the append time; -1 before message format 1."""
        if not self.profile.timestamps:
            return -1
        stamp = request.timestamp_us
        return self.wall_time(now) if self.log.rules.log_append_time or stamp == NO_TIMESTAMP else stamp

    def retain(self, now: int) -> None:
        """Delete expired segments; leaders and followers do so alike, each limited by its own HW.

        Up to 0.11.0.0 the HW was no limit (KAFKA-5634, ``Log.deletableSegments``).
        """
        limit = self.hw if self.profile.retention_waits_hw else self.log.leo
        for rule, before in retain(self.log, limit, now, self.metadata.wall.ahead_us):
            self._start_moved()
            self.emit(LogStartMoved(now, self.partition, self.broker, before, self.log.log_start, rule))

    def _start_moved(self) -> None:
        """End the followers' idle state, so that their next fetch returns the new log start.

        Until KAFKA-7190 the producers of deleted records are forgotten (``ProducerStateManager.truncateHead``).
        """
        leadership = self.leadership
        if self.profile.forgets_deleted_producers:
            self.log.forget_deleted_transactions()
            if leadership is not None:
                leadership.producers.truncate_head(self.log.log_start)
        if leadership is not None:
            leadership.end_idle()

    def clean(self, now: int, keys: int) -> int:
        """Run one cleaning pass with up to ``keys`` keys; returns the bytes read, -1 if there was nothing to clean."""
        work = to_clean(self.log, self.cleanable_to, self.cleaner_offset, self.wall_time(now))
        if work is None:
            return -1
        done = clean(
            self.log, work, now, room=keys, horizons=self.profile.delete_horizon,
            expiry_us=self.config.producer_expiry_us, ahead_us=self.metadata.wall.ahead_us,
        )  # fmt: skip
        self.cleaner_offset, self.last_swept = done.cleaned_to, done.swept
        detail = f"{done.read_bytes} bytes read, {self.log.segments.total} left"
        self.emit(LogCleaned(now, self.partition, self.broker, done.first_dirty, done.cleaned_to, done.removed, detail))
        self.last_swept = None
        return done.read_bytes

    def delete_records(self, offset: int, now: int) -> KafkaError:
        """Advance the log start to ``offset`` (DeleteRecords, KIP-107, 0.11); -1 stands for the HW.

        Segments below are deleted by the next retention run; followers learn of it with their next fetch.
        """
        if not self.profile.delete_records:
            return KafkaError.UNSUPPORTED_VERSION
        if self.leadership is None:
            return KafkaError.NOT_LEADER_OR_FOLLOWER
        if not self.log.rules.delete:
            return KafkaError.POLICY_VIOLATION
        wanted = self.hw if offset == -1 else offset
        if not 0 <= wanted <= self.hw:
            return KafkaError.OFFSET_OUT_OF_RANGE
        self._move_start(wanted, now, "DeleteRecords")
        return KafkaError.NONE

    def follow_start(self, offset: int, now: int) -> bool:
        """Apply the leader's log start (KIP-107, 0.11); False if it is above the own HW: the partition fails."""
        if not self.profile.delete_records:
            return True
        if offset > self.hw:
            return False
        self._move_start(offset, now, "leader")
        return True

    def _move_start(self, offset: int, now: int, by: str) -> None:
        before = self.log.log_start
        if self.log.move_start(offset):
            self._start_moved()
            self.emit(LogStartMoved(now, self.partition, self.broker, before, offset, by))

    def flush_if_due(self, now: int) -> None:
        """Flush the log if ``flush.ms`` has passed since the last flush (``LogManager.flushDirtyLogs``)."""
        if now - self.log.flushed_us + self.log.flush_aged_us >= self.log.rules.flush_us:
            self.log.flush(now)

    def closed(self, now: int) -> None:
        """Flush and write every checkpoint at a clean shutdown."""
        self.log.flush(now)
        self.checkpointed_hw = self.hw
        self.checkpointed_recovery = self.log.recovery_point
        self.checkpointed_start = self.log.log_start

    def stopped(self) -> None:
        """Discard everything that a process that died had in memory."""
        self.leadership = None
        self.following = None
        self.uncleanable = False
        self.done.clear()
        self.leader = NO_LEADER
        self.leader_epoch = -1
        self.partition_epoch = -1

    def recovered(self, *, clean: bool = False) -> int:
        """Recover after a start: LEO by scanning the log, the rest from checkpoints (``LogLoader``, ``createLog``).

        Returns the number of bytes checked, 0 after a clean shutdown.
        """
        checked = 0 if clean else bytes_to_check(self.log.segments, self.checkpointed_recovery) + self.log.torn
        self.log.torn = 0
        self.log.reload(self.checkpointed_start, self.log.leo if clean else self.checkpointed_recovery)
        self.hw = max(self.log.log_start, min(self.checkpointed_hw, self.log.leo))
        self._producers_reloaded()
        if clean:
            self.producer_snapshot = self.log.leo
        return checked

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (
            self.topic_id, self.assignment, self.log.save(), self.hw, self.checkpointed_hw, self.checkpointed_recovery,
            self.checkpointed_start, self.cleaner_offset, self.leader, self.leader_epoch, self.partition_epoch,
            self.producer_snapshot, tuple(self.done), self.damages, self.uncleanable,
            None if self.leadership is None else self.leadership.save(),
            None if self.following is None else self.following.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...], sessions: FetchSessions) -> None:
        """Restore the state returned by :meth:`save`; batch stores and fetch sessions are loaded first."""
        (
            self.topic_id, assignment, log, self.hw, self.checkpointed_hw, self.checkpointed_recovery,
            self.checkpointed_start,
            self.cleaner_offset, self.leader, self.leader_epoch, self.partition_epoch, self.producer_snapshot, done,
            self.damages, self.uncleanable, leadership, following,
        ) = saved  # fmt: skip
        self._assign(assignment)
        self.done = list(done)
        self.log.load(log)
        self.leadership = None if leadership is None else PartitionLeaderState.from_saved(self, leadership, sessions)
        self.following = None if following is None else FollowerState.from_saved(self, following)
        self.usual_size = self._usual_size()
