"""A follower's side of one partition: when and where it truncates, and what it makes of its leader's answers.

Four generations of the question "how much of my log agrees with the new leader's?":

- up to 0.10.2: cut the log to the local HW at once, whatever the leader has;
- KIP-101 (0.11): ask where the own latest epoch ended at the leader, cut there;
- KIP-279 (2.0): the leader names the epoch it means, and the follower asks again until they agree; KIP-320 (2.1)
  fences the question by the current epoch;
- KIP-595 (2.7): no question: every fetch carries its last epoch, and the leader answers with the point of divergence.
"""

from enum import Enum
from typing import TYPE_CHECKING

from cluster_model.errors import KafkaError
from cluster_model.log.epochs import UNDEFINED
from cluster_model.messages import EpochEnd, FetchData, FetchPartition
from cluster_model.replication.rules import truncation_by_epoch_end

if TYPE_CHECKING:
    from cluster_model.replication.replica import Replica


class Outcome(Enum):
    """What the fetcher does next with the partition."""

    GO_ON = "go on"
    BACK_OFF = "back off"
    """Try again after ``replica.fetch.backoff.ms``."""
    FAILED = "failed"
    """Leave it alone until the controller says something new (``markPartitionFailed``)."""
    IGNORED = "ignored"


class Following:
    """State of a follower; the leader and epoch it believes in stand in the replica."""

    __slots__ = ("failed", "replica", "truncating")

    def __init__(self, replica: "Replica") -> None:
        self.replica = replica
        self.truncating = False
        """Must ask the leader where its latest epoch ended before it may fetch."""
        self.failed = False

    def start(self, now: int, *, changed_leader: bool) -> None:
        """Begin to follow (anew): truncate, or find out where."""
        replica = self.replica
        profile = replica.profile
        self.failed = False
        self.truncating = False
        if not profile.epoch_truncation:
            if changed_leader:
                replica.truncate(replica.hw, now, "high watermark")
        elif replica.log.epochs.latest == UNDEFINED:
            replica.truncate(replica.hw, now, "high watermark, no epoch known")
        elif not profile.diverging_fetch:
            self.truncating = True

    def epoch_question(self) -> tuple[str, int, int]:
        """What to ask of the leader while truncating: (partition, own latest epoch, current epoch or -1)."""
        replica = self.replica
        current = replica.leader_epoch if replica.profile.kip_320 else UNDEFINED
        return (replica.partition, replica.log.epochs.latest, current)

    def epoch_answer(self, now: int, answer: EpochEnd) -> Outcome:
        """Truncate by the leader's answer; still :attr:`truncating` when it must be asked again."""
        replica = self.replica
        if not self.truncating or answer.asked != replica.log.epochs.latest:
            return Outcome.IGNORED
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
        if self.truncating or self.failed or data.offset != log.leo:
            return Outcome.IGNORED
        if data.error:
            if data.error == KafkaError.OFFSET_OUT_OF_RANGE:
                return self._out_of_range(now, data)
            if data.error == KafkaError.FENCED_LEADER_EPOCH and asked.current_leader_epoch != replica.leader_epoch:
                return Outcome.GO_ON
            return self._error(KafkaError(data.error))
        if data.diverging is not None:
            self._truncate_by(now, *data.diverging, "diverging epoch in fetch")
            self.truncating = False
            return Outcome.GO_ON
        if data.records.end > data.records.start:
            log.append_slice(data.records, now)
        replica.hw = max(log.log_start, min(data.hw, log.leo))
        if data.log_start > log.log_start and not replica.follow_start(data.log_start, now):
            self.failed = True
            return Outcome.FAILED
        return Outcome.GO_ON

    def _error(self, error: KafkaError) -> Outcome:
        if error is KafkaError.FENCED_LEADER_EPOCH:
            self.failed = True
            return Outcome.FAILED
        return Outcome.BACK_OFF

    def _out_of_range(self, now: int, data: FetchData) -> Outcome:
        """The leader's log does not reach here (``fetchOffsetAndTruncate``); ``records`` carry its end.

        A log mismatch at lower offsets is not repaired on this path.
        """
        replica = self.replica
        leader_end = data.records.end
        if leader_end < replica.log.leo:
            replica.truncate(leader_end, now, "out of range, leader is shorter")
        elif data.log_start > replica.log.leo:
            replica.restart_at(data.log_start, now)
        return Outcome.GO_ON

    def save(self) -> tuple[bool, bool]:
        """All state."""
        return (self.truncating, self.failed)

    @classmethod
    def loaded(cls, replica: "Replica", saved: tuple[bool, bool]) -> "Following":
        """Undo of :meth:`save`."""
        following = cls(replica)
        following.truncating, following.failed = saved
        return following
