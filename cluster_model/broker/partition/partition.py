"""One replica of one partition: its log, its HW, and the role it believes it has. Sans-IO.

A replica knows its own log and what the controller's decisions and the other side's answers told it. It never
schedules, sends or draws: callers hand it ``now`` and messages, and pass on what it returns. The timed broker and the
hand-stepped driver call the very same methods.

The HW may legally go down: on truncation it follows the log's end, and a follower takes its leader's HW as it comes
(``UnifiedLog.truncateTo``, ``ReplicaFetcherThread.processPartitionData``). It never moves back within a leadership.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.broker.partition.append_validation import usual_size
from cluster_model.broker.partition.completed import Completed
from cluster_model.broker.partition.fetch_sessions import FetchSessions
from cluster_model.broker.partition.following import Following
from cluster_model.broker.partition.leadership import Leadership
from cluster_model.broker.partition.replication_rules import restarts_fetcher
from cluster_model.kernel.wall_clocks import WallClock
from cluster_model.log.batch_store import Lineages
from cluster_model.log.crash_recovery import DISK_LOSS, POWER_LOSS, WRITTEN_BACK, lose_power, wipe
from cluster_model.log.log_cleaner import clean, to_clean
from cluster_model.log.recovery import bytes_to_check
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.retention import retain
from cluster_model.protocol.batch import UNTOLD
from cluster_model.protocol.configs import BrokerConfig, TopicConfig
from cluster_model.protocol.damage import Damages, up_to
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import (
    BecameFollower,
    BecameLeader,
    Event,
    LogCleaned,
    LogStartMoved,
    SegmentRolled,
    Truncated,
)
from cluster_model.protocol.messages import NOBODY, PartitionState, ProduceRequest
from cluster_model.protocol.records import Swept
from cluster_model.protocol.versions import Profile


class BrokerMetadata:
    """A broker's own metadata cache: what the controller last told it of the brokers."""

    __slots__ = ("live", "racks", "wall")

    def __init__(self) -> None:
        self.live: dict[int, int] = {}
        """Live broker → its broker epoch."""
        self.racks: dict[int, str] = {}
        """Live broker → its rack; empty where no broker has one."""
        self.wall = WallClock()
        """The machine's clock."""


class Replica:
    """A replica with its durable part (log, checkpointed HW) and its memory (role, epochs)."""

    __slots__ = (
        "assignment", "broker", "by_hand", "checkpointed_hw", "checkpointed_recovery", "checkpointed_start",
        "cleaner_offset", "config", "damages", "done", "emit", "following", "hw", "keeps_stamps", "leader",
        "leader_epoch", "leadership", "log", "metadata", "min_isr", "partition", "partition_epoch", "producer_snapshot",
        "profile", "swept", "topic",
        "topic_id", "uncleanable", "usual_size",
    )  # fmt: skip

    def __init__(
        self,
        broker: int,
        partition: str,
        assignment: tuple[int, ...],
        profile: Profile,
        config: BrokerConfig,
        topic: TopicConfig,
        lineages: Lineages,
        metadata: BrokerMetadata,
        emit: Callable[[Event], None],
        topic_id: int = 0,
    ) -> None:
        self.broker = broker
        self.topic_id = topic_id
        """Of ``partition.metadata``, beside the log (KIP-516); versions before go by the name alone."""
        self.partition = partition
        self.profile = profile
        self.config = config
        self.topic = topic
        self.min_isr = 0
        """In-sync replicas that acks=all needs here."""
        self.assignment: tuple[int, ...] = ()
        self._assign(assignment)
        self.metadata = metadata
        self.emit = emit
        self.log = ReplicaLog(lineages, uses_epochs=profile.epoch_truncation, replaces=profile.kip_320, rules=topic.log)
        self.log.on_roll = self._rolled
        self.usual_size = self._usual_size()
        """Batches up to this size are taken without a closer look."""
        self.keeps_stamps = profile.number >= (0, 10, 0) and not topic.log.log_append_time
        """Whether batches keep the timestamps that they come with."""
        self.by_hand = False
        """Hand-stepped: the ISR changes only when a step says so."""
        self.hw = 0
        self.checkpointed_hw = 0
        self.checkpointed_recovery = 0
        self.checkpointed_start = 0
        self.cleaner_offset = 0
        """First dirty offset in the cleaner-offset-checkpoint, written by each cleaning."""
        self.swept: Swept | None = None
        """What a pass of the cleaner found: for the observer, at that very moment."""
        self.damages: Damages = ()
        """Batches that are not what was written."""
        self.uncleanable = False
        """The cleaner failed here, and leaves it alone until the process is another (KIP-346)."""
        self.producer_snapshot = 0
        """Up to here producers are known from a snapshot file only (``ProducerStateManager.truncateAndReload``)."""
        self.leader = NOBODY
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.leadership: Leadership | None = None
        self.done: list[Completed] = []
        """Produces that were waiting and are settled; whoever calls takes them from here."""
        self.following: Following | None = None

    def _assign(self, assignment: tuple[int, ...]) -> None:
        self.assignment = assignment
        self.min_isr = self.topic.effective_min_isr(self.profile, len(assignment))

    def configure(self, topic: TopicConfig) -> None:
        """Go by other settings of the topic from here on (``LogManager.updateTopicConfig``)."""
        self.topic = topic
        self._assign(self.assignment)
        self.log.configure(topic.log)
        self.usual_size = self._usual_size()
        self.keeps_stamps = self.profile.number >= (0, 10, 0) and not topic.log.log_append_time

    def _usual_size(self) -> int:
        return 0 if self.metadata.wall.differ else usual_size(self.log)

    def wall_time(self, now: int) -> int:
        """What the broker's clock shows."""
        return now + self.metadata.wall.ahead_us

    def clock_stepped(self, by: int) -> None:
        """The broker's clock was set: what it noted of files and followers is so much older."""
        self.usual_size = self._usual_size()
        self.log.segments.clock_stepped(by)
        self.log.flush_aged_us += by
        if self.leadership is not None:
            self.leadership.disturb()
            for remote in self.leadership.remotes.values():
                remote.clock_stepped(by)

    @property
    def unsettled(self) -> bool:
        """Whether somebody waits for an answer that is ready, or an ISR change for being sent."""
        return bool(self.done) or (self.leadership is not None and self.leadership.proposal is not None)

    @property
    def lso(self) -> int:
        """The last stable offset: below it every transaction has ended (``UnifiedLog.lastStableOffset``)."""
        log = self.log
        return max(log.log_start, min(self.hw, log.transactions.first_unstable(self.hw)))

    def apply(self, state: PartitionState, now: int) -> bool:
        """Take up a decision of the controller; False when it is older than what this replica knows.

        ZooKeeper-mode brokers ignore an equal leader epoch (``ReplicaManager.becomeLeaderOrFollower``); in KRaft mode
        an equal one may carry a newer ISR, told by the partition epoch.
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
            self.leadership = Leadership(self, state, now)
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
            self.following = Following(self)
        if restart and state.leader != NOBODY:
            self.following.start(now, changed_leader=changed_leader)

    def retire(self) -> None:
        """Lead and follow no more; waiting produces end. Decisions older than the last one stay without effect."""
        if self.leadership is not None:
            self.leadership.disturb()
            self.leadership.resign()
        self.leadership = None
        self.following = None
        self.leader = NOBODY

    def truncate(self, offset: int, now: int, rule: str) -> None:
        """Drop records from ``offset`` on; the HW follows the log's end down."""
        if offset < self.log.leo:
            self.cut_off(offset, now, rule)
            self.checkpointed_recovery = self.log.recovery_point
        else:
            self.log.truncate(offset, now)

    def cut_off(self, offset: int, now: int, rule: str) -> None:
        """The same but for the recovery point: what the end of a machine does, or a start that recovers."""
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
        """From the newest snapshot file that the log still reaches: each roll writes one, and each clean shutdown."""
        before = self.producer_snapshot if self.producer_snapshot <= self.log.leo else 0
        self.producer_snapshot = max(before, self.log.segments.base)

    def checkpoint(self, now: int) -> None:
        """Write the HW to the replication-offset-checkpoint, and age the dirty pages."""
        self.checkpointed_hw = self.hw
        self.log.mark(now)

    def power_lost(self, now: int, keep: int, tail: str = WRITTEN_BACK) -> None:
        """The page cache is gone: what had reached the disk stays, or the first ``keep`` records if that is not -1."""
        self.log.age(now)
        self.cut_off(lose_power(self.log, keep, tail), now, POWER_LOSS)

    def disk_lost(self, now: int) -> None:
        """The log directory is gone, checkpoints included: what starts here next has never been here."""
        end = self.log.leo
        wipe(self.log, now)
        self.damages = ()
        self.hw = self.checkpointed_hw = self.checkpointed_recovery = self.checkpointed_start = self.cleaner_offset = 0
        if end:
            self.emit(Truncated(now, self.partition, self.broker, self.leader_epoch, 0, end, 0, DISK_LOSS))

    def restart_at(self, offset: int, now: int) -> None:
        """The leader's log begins behind this one's end: drop everything and begin there."""
        before = self.log.log_start
        self.log.restart_at(offset, now)
        self.damages = ()
        self.checkpointed_recovery = self.hw = offset
        self.emit(LogStartMoved(now, self.partition, self.broker, before, offset, "out of range"))

    def _rolled(self, now: int, base: int, rule: str) -> None:
        self.emit(SegmentRolled(now, self.partition, self.broker, base, rule))

    def timestamp_of(self, request: ProduceRequest, now: int) -> int:
        """The timestamp that a batch gets (KIP-32): its own or the append's; -1 before message format 1."""
        if self.profile.number < (0, 10, 0):
            return -1
        stamp = request.timestamp_us
        return self.wall_time(now) if self.log.rules.log_append_time or stamp == UNTOLD else stamp

    def retain(self, now: int) -> None:
        """Delete what retention lets go; leaders and followers do so alike, each by its own HW."""
        for rule, before in retain(self.log, self.hw, now, self.metadata.wall.ahead_us):
            self._start_moved()
            self.emit(LogStartMoved(now, self.partition, self.broker, before, self.log.log_start, rule))

    def _start_moved(self) -> None:
        """Followers hear of it with their next fetch."""
        if self.leadership is not None:
            self.leadership.disturb()

    def clean(self, now: int, keys: int) -> int:
        """One pass of the cleaner, mapping up to ``keys`` keys; returns the bytes read, -1 if nothing was to do."""
        work = to_clean(self.log, self.lso, self.cleaner_offset, self.wall_time(now))
        if work is None:
            return -1
        done = clean(
            self.log, work, now, room=keys, horizons=self.profile.delete_horizon,
            expiry_us=self.config.producer_expiry_us, ahead_us=self.metadata.wall.ahead_us,
        )  # fmt: skip
        self.cleaner_offset, self.swept = done.cleaned_to, done.swept
        detail = f"{done.read_bytes} bytes read, {self.log.segments.total} left"
        self.emit(LogCleaned(now, self.partition, self.broker, done.first_dirty, done.cleaned_to, done.removed, detail))
        self.swept = None
        return done.read_bytes

    def delete_records(self, offset: int, now: int) -> KafkaError:
        """DeleteRecords (KIP-107, 0.11): readers begin at ``offset`` from now on, -1 stands for the HW.

        Segments below go with the next retention run; followers hear of it with their next fetch.
        """
        if self.profile.number < (0, 11, 0):
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
        """Take up the leader's log start (KIP-107, 0.11); False if it is above the own HW: the partition fails."""
        if self.profile.number < (0, 11, 0):
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
        """Force the log to disk if ``flush.ms`` is over since it last was (``LogManager.flushDirtyLogs``)."""
        if now - self.log.flushed_us + self.log.flush_aged_us >= self.log.rules.flush_us:
            self.log.flush(now)

    def closed(self, now: int) -> None:
        """A clean shutdown: everything flushed, every checkpoint current."""
        self.log.flush(now)
        self.checkpointed_hw = self.hw
        self.checkpointed_recovery = self.log.recovery_point
        self.checkpointed_start = self.log.log_start

    def stopped(self) -> None:
        """The process is gone, and with it everything that was only in memory."""
        self.leadership = None
        self.following = None
        self.uncleanable = False
        self.done.clear()
        self.leader = NOBODY
        self.leader_epoch = -1
        self.partition_epoch = -1

    def recovered(self, *, clean: bool = False) -> int:
        """The process is back: LEO by scanning the log, the rest from checkpoints (``LogLoader``, ``createLog``).

        Returns the bytes that had to be checked for it, none after a clean shutdown.
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
        """All state."""
        return (
            self.topic_id, self.assignment, self.log.save(), self.hw, self.checkpointed_hw, self.checkpointed_recovery,
            self.checkpointed_start, self.cleaner_offset, self.leader, self.leader_epoch, self.partition_epoch,
            self.producer_snapshot, tuple(self.done), self.damages, self.uncleanable,
            None if self.leadership is None else self.leadership.save(),
            None if self.following is None else self.following.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...], sessions: FetchSessions) -> None:
        """Undo of :meth:`save`; the partition's lineages and the broker's fetch sessions are loaded first."""
        (
            self.topic_id, assignment, log, self.hw, self.checkpointed_hw, self.checkpointed_recovery,
            self.checkpointed_start,
            self.cleaner_offset, self.leader, self.leader_epoch, self.partition_epoch, self.producer_snapshot, done,
            self.damages, self.uncleanable, leadership, following,
        ) = saved  # fmt: skip
        self._assign(assignment)
        self.done = list(done)
        self.log.load(log)
        self.leadership = None if leadership is None else Leadership.loaded(self, leadership, sessions)
        self.following = None if following is None else Following.loaded(self, following)
        self.usual_size = self._usual_size()
