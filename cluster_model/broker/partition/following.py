"""A follower's side of one partition: when and where it truncates, and what it makes of its leader's answers.

Four generations of the question "how much of my log agrees with the new leader's?":

- up to 0.10.2: cut the log to the local HW at once, whatever the leader has;
- KIP-101 (0.11): ask where the own latest epoch ended at the leader, cut there;
- KIP-279 (2.0): the leader names the epoch it means, and the follower asks again until they agree; KIP-320 (2.1)
  fences the question by the current epoch;
- KIP-595 (2.7): no question: every fetch carries its last epoch, and the leader answers with the point of divergence.
"""

from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from cluster_model.broker.partition.out_of_range import Seek, settled_by_end, settled_by_start
from cluster_model.broker.partition.replication_rules import truncation_by_epoch_end
from cluster_model.log.leader_epoch_cache import UNDEFINED
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import CorruptBatchFound
from cluster_model.protocol.messages import EpochEnd, FetchData, FetchPartition

if TYPE_CHECKING:
    from cluster_model.broker.partition.partition import Replica


class Outcome(Enum):
    """What the fetcher does next with the partition."""

    GO_ON = "go on"
    BACK_OFF = "back off"
    """Try again after ``replica.fetch.backoff.ms``."""
    FAILED = "failed"
    """Leave it alone until the controller says something new (``markPartitionFailed``)."""
    STOPPED = "stopped"
    """The fetcher thread has ended, and all that it fetched stands still."""
    IGNORED = "ignored"
    EXIT = "exit"
    """The process must end: :attr:`Following.exit_reason` says why."""


_FIRST_TO_GO_ON: Final = (0, 10, 2)
"""KAFKA-4384."""

GO_ON: Final = Outcome.GO_ON
"""Looking a member up takes time, and this is the outcome of nearly every answer."""


class Following:
    """State of a follower; the leader and epoch it believes in stand in the replica."""

    __slots__ = ("_asked_in", "exit_reason", "failed", "lag", "replica", "seek", "stuck_at", "truncating")

    def __init__(self, replica: "Replica") -> None:
        self.replica = replica
        self.truncating = False
        """Must ask the leader where its latest epoch ended before it may fetch."""
        self.failed = False
        self.seek: Seek | None = None
        """Out of its leader's range: must ask where that log ends and begins before it may fetch."""
        self._asked_in = UNDEFINED
        """The leader epoch in which the last question about an epoch's end was asked."""
        self.exit_reason = ""
        self.lag = -1
        """Records below the leader's HW that were missing after the last answer, -1 unknown."""
        self.stuck_at = -1
        """Offset of a batch that its leader keeps sending damaged."""

    def start(self, now: int, *, changed_leader: bool) -> None:
        """Begin to follow (anew): truncate, or find out where."""
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

    def epoch_question(self) -> tuple[str, int, int]:
        """What to ask of the leader while truncating: (partition, own latest epoch, current epoch or -1)."""
        self._asked_in = self._current_epoch()
        return (self.replica.partition, self.replica.log.epochs.latest, self._asked_in)

    def _current_epoch(self) -> int:
        return self.replica.leader_epoch if self.replica.profile.kip_320 else UNDEFINED

    def epoch_answer(self, now: int, answer: EpochEnd) -> Outcome:
        """Truncate by the leader's answer; still :attr:`truncating` when it must be asked again."""
        replica = self.replica
        if not self.truncating or answer.asked != replica.log.epochs.latest:
            return Outcome.IGNORED
        if self._asked_in != self._current_epoch():
            return Outcome.GO_ON  # KIP-320: an answer for an older epoch; it is asked again.
        if answer.error:
            return self._error(KafkaError(answer.error))
        epoch = answer.epoch if replica.profile.kip_279 else UNDEFINED
        rule = "KIP-279 epoch end" if replica.profile.kip_279 else "KIP-101 epoch end"
        self._truncate_by(now, epoch, answer.end, rule)
        return Outcome.GO_ON

    def _truncate_by(self, now: int, epoch: int, end: int, rule: str) -> None:
        replica = self.replica
        offset, settled = truncation_by_epoch_end(replica.log.epochs, replica.log.leo, replica.hw, epoch, end)
        replica.truncate(offset, now, rule)
        self.truncating = not settled and replica.log.epochs.latest != UNDEFINED

    def question(self) -> FetchPartition:
        """What to fetch next."""
        replica = self.replica
        profile = replica.profile
        return FetchPartition(
            replica.partition,
            replica.log.leo,
            replica.leader_epoch if profile.kip_320 else UNDEFINED,
            replica.log.epochs.latest if profile.diverging_fetch else UNDEFINED,
            replica.log.log_start,
        )

    def answer(self, now: int, asked: FetchPartition, data: FetchData) -> Outcome:
        """Take a fetch's answer: append, move the HW, or truncate (``AbstractFetcherThread.processFetchRequest``)."""
        replica = self.replica
        log = replica.log
        if self.truncating or self.failed or self.seek is not None or data.offset != log.leo:
            return Outcome.IGNORED
        if data.error:
            if data.error == KafkaError.OFFSET_OUT_OF_RANGE:
                self.seek = Seek(self._current_epoch(), earliest=False)
                return Outcome.GO_ON
            return self._refused(KafkaError(data.error), asked.current_leader_epoch)
        if data.diverging is not None:
            self._truncate_by(now, *data.diverging, "diverging epoch in fetch")
            self.truncating = False
            return Outcome.GO_ON
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
            return Outcome.FAILED
        return GO_ON

    def _corrupt(self, now: int, offset: int) -> Outcome:
        """A batch's checksum does not match: nothing that came is appended (``UnifiedLog.analyzeAndValidateRecords``).

        It is asked for again, for ever. Before KAFKA-4384 (0.10.2) the thread had gone on to the next offset already,
        at which the log does not end, and that ended it.
        """
        replica = self.replica
        stops = replica.profile.number < _FIRST_TO_GO_ON
        if self.stuck_at != offset:
            self.stuck_at = offset
            detail = "its fetcher thread has ended" if stops else "it will ask for it again"
            replica.emit(CorruptBatchFound(now, replica.partition, replica.broker, offset, "follower", detail))
        return Outcome.STOPPED if stops else Outcome.BACK_OFF

    def _error(self, error: KafkaError) -> Outcome:
        if error is KafkaError.FENCED_LEADER_EPOCH:
            self.failed = True
            return Outcome.FAILED
        return Outcome.BACK_OFF

    def _refused(self, error: KafkaError, asked_in: int) -> Outcome:
        """An error to a question asked in an epoch: a fence that stood in the way of an older one means nothing."""
        if error is KafkaError.FENCED_LEADER_EPOCH and asked_in != self.replica.leader_epoch:
            return Outcome.GO_ON
        return self._error(error)

    def offset_answer(self, now: int, error: int, offset: int) -> Outcome:
        """Where the leader's log ends, or begins (``AbstractFetcherThread.fetchOffsetAndTruncate``).

        A log mismatch at lower offsets is not repaired on this path. Up to 1.0 a broker would rather end than cut its
        log below its leader's end where unclean election is off (``ReplicaFetcherThread.handleOffsetOutOfRange``).
        """
        replica = self.replica
        seek, self.seek = self.seek, None
        if seek is None:
            return Outcome.IGNORED
        if error:
            return self._refused(KafkaError(error), seek.epoch)
        if seek.earliest:
            if settled_by_start(replica.log.leo, offset):
                replica.restart_at(offset, now)
        elif not settled_by_end(replica.log.leo, offset):
            self.seek = seek._replace(earliest=True)
        elif replica.profile.exits_out_of_range and not replica.topic.unclean:
            self.exit_reason = (
                f"exit: {replica.partition} ends at {replica.log.leo} here and at {offset} at its leader, broker "
                f"{replica.leader}, and to cut it is not allowed while unclean.leader.election.enable is false"
            )
            return Outcome.EXIT
        else:
            replica.truncate(offset, now, "out of range, leader is shorter")
        return Outcome.GO_ON

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.truncating, self.failed, self.seek, self.lag, self._asked_in, self.stuck_at)

    @classmethod
    def loaded(cls, replica: "Replica", saved: tuple[Any, ...]) -> "Following":
        """Undo of :meth:`save`."""
        following = cls(replica)
        following.truncating, following.failed, following.seek, following.lag, following._asked_in, stuck_at = saved
        following.stuck_at = stuck_at
        return following
