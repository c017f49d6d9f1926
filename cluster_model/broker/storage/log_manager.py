"""A broker's logs as a whole: checkpoints, starts, the cleaner thread and damaged batches (``LogManager``).

After a crash each checkpoint file has its last written content: high watermarks every few seconds, recovery points and
log starts once a minute, all of them at a clean shutdown. The marker ``.kafka_cleanshutdown`` is written last, and
removed as soon as a start has read it.
"""

from collections.abc import Callable, Iterable
from typing import Any

from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.storage.disk import WriteCache
from cluster_model.kernel.node_context import NodeContext
from cluster_model.log.crash_recovery import reading_us, recovery_us
from cluster_model.log.log_cleaner import lacks_keys, to_clean
from cluster_model.protocol.configs import NEVER, BrokerConfig
from cluster_model.protocol.events import BatchCorrupted, CorruptBatchFound, Event, RecoveryFinished
from cluster_model.protocol.records import CORRUPT_BATCH, LENGTH_CORRUPT, Batch, CorruptBatchRange, with_damage
from cluster_model.util.ranges import Range, subtract

# Damaged batches of a replica: which batch, where recovery truncates, where the cleaner fails.


BEFORE_HW = -1
"""Placeholder for the offset of the last record below the high watermark."""


def batch_to_damage(replica: Replica, offset: int) -> Batch | None:
    """Return the batch that holds ``offset``, with :data:`BEFORE_HW` the last one below the HW; None for none."""
    log = replica.log
    wanted = min(replica.hw, log.leo) - 1 if offset == BEFORE_HW else offset
    if not log.log_start <= wanted < log.leo:
        return None
    kept = [batch for _branch, batch, _size, _start, _end in log.kept_between(wanted, wanted + 1)]
    return kept[0] if kept else None


def damage(replica: Replica, offset: int, kind: str, now: int) -> None:
    """Flip bits of that batch; raises ValueError if :func:`batch_to_damage` finds none."""
    batch = batch_to_damage(replica, offset)
    if batch is None:
        raise ValueError(f"broker {replica.broker} has no batch of {replica.partition} at offset {offset}")
    replica.damages = with_damage(replica.damages, CorruptBatchRange(batch.base, batch.end, kind))
    replica.emit(BatchCorrupted(now, replica.partition, replica.broker, batch.base, batch.end, kind))


def undamaged_ranges(replica: Replica, log_branch: int) -> list[Range]:
    """Return the offset ranges of a log branch that this log holds undamaged."""
    held = replica.log.ranges_of(log_branch)
    return subtract(held, [each[:2] for each in replica.damages]) if replica.damages else held


def truncate_at_damage(replica: Replica, now: int) -> None:
    """Verify the checksums of all segments that an unclean start reads (``LogSegment.recover``).

    Segments below the recovery point are not read. The log is truncated at the first damaged batch.
    """
    checked = next(replica.log.segments.reaching(replica.checkpointed_recovery)).base
    bad = [each.start for each in replica.damages if each.start >= checked]
    if bad:
        replica.emit(CorruptBatchFound(now, replica.partition, replica.broker, bad[0], "recovery", ""))
        replica.truncate_log(bad[0], now, CORRUPT_BATCH)


def stops_cleaner(replica: Replica, end: int) -> int:
    """Return the offset at which cleaning up to ``end`` fails, -1 if it succeeds: the cleaner parses batches."""
    return next((each.start for each in replica.damages if each.kind == LENGTH_CORRUPT and each.start < end), -1)


# The cleaner thread of one broker, which cleans compacted logs in turn (``LogCleaner``).
#
# The dirtiest log goes first. A pass takes effect at once, and the next one begins after the time needed to read its
# segments; when no log is dirty enough, the thread waits for ``log.cleaner.backoff.ms``. It also applies retention to
# compacted logs, which the broker's retention task skips. Each broker cleans by itself, so replicas of a partition need
# not have the same remaining records.


def is_needed(replicas: Iterable[Replica], config: BrokerConfig) -> bool:
    """Whether the cleaner is enabled and there is a compacted log."""
    return config.cleaner and any(replica.log.rules.compact for replica in replicas)


def run_cleaner(replicas: Iterable[Replica], config: BrokerConfig, now: int) -> int:
    """Run one round of the cleaner; returns the pause until the next in microseconds, -1 if the thread has ended."""
    compacted = [replica for replica in replicas if replica.log.rules.compact and not replica.uncleanable]
    dirtiest: Replica | None = None
    dirtiest_ppm = end = -1
    for replica in compacted:
        work = to_clean(replica.log, replica.cleanable_to, replica.cleaner_offset, replica.wall_time(now))
        if work is not None and work.dirty_ppm > dirtiest_ppm:
            dirtiest, dirtiest_ppm, end = replica, work.dirty_ppm, work.first_uncleanable
    if dirtiest is not None and dirtiest.damages and (bad := stops_cleaner(dirtiest, end)) >= 0:
        return _failed(dirtiest, bad, config, now)
    if dirtiest is not None and not dirtiest.profile.compaction_needs_keys and lacks_keys(dirtiest.log, end):
        return -1  # The cleaner does not expect a record without a key, and its thread ends (KAFKA-1755).
    read = -1 if dirtiest is None else dirtiest.clean(now, config.cleaner_keys)
    for replica in compacted:
        replica.retain(now)
    return config.cleaner_backoff_us if read < 0 else max(1, reading_us(read))


def _failed(replica: Replica, offset: int, config: BrokerConfig, now: int) -> int:
    """Handle a batch that cannot be parsed: the log becomes uncleanable; before KIP-346 (2.1) the thread ends."""
    marks_uncleanable = replica.profile.uncleanable_partitions
    detail = "log marked uncleanable" if marks_uncleanable else "cleaner thread stopped"
    replica.emit(CorruptBatchFound(now, replica.partition, replica.broker, offset, "cleaner", detail))
    replica.uncleanable = True
    return config.cleaner_backoff_us if marks_uncleanable else -1


class LogManager:
    """Logs of one broker's replicas. The marker is on disk and outlives the process."""

    __slots__ = (
        "_checked",
        "_cleaner_started",
        "_config",
        "_deleted",
        "_emit",
        "_port",
        "_recovery_us",
        "_replicas",
        "_tasks_started",
        "_torn",
        "_was_clean",
        "cache",
        "loaded",
        "marker",
        "on_delete",
    )

    def __init__(
        self, port: NodeContext, replicas: dict[str, Replica], config: BrokerConfig, emit: Callable[[Event], None]
    ) -> None:
        self._port = port
        self._replicas = replicas
        self._config = config
        self._emit = emit
        self.marker = False
        """Whether the file ``.kafka_cleanshutdown`` exists."""
        self.cache = WriteCache()
        """Actual content of a disk that loses confirmed writes."""
        self.loaded = True
        """Whether the start has loaded every log."""
        self._was_clean = True
        self._checked = self._torn = 0
        self._recovery_us = 0
        self._tasks_started = False
        """Whether the periodic tasks have started."""
        self._cleaner_started = False
        """Whether the cleaner thread has started."""
        self.on_delete: Callable[[], object] | None = None
        """Called when a log directory is renamed."""
        self._deleted: list[tuple[int, int]] = []
        """(time of unlinking, bytes) of logs renamed to ``-delete``."""

    def reconfigure(self, config: BrokerConfig) -> None:
        """Use another broker config from here on."""
        self._config = config

    def wake_cleaner(self, changed: Iterable[Replica]) -> None:
        """Start the cleaner if the new or reconfigured replicas include the first compacted log."""
        if self._tasks_started and not self._cleaner_started and is_needed(changed, self._config):
            self._cleaner_started = True
            self._port.timer(self._config.cleaner_backoff_us, "cleaner")

    def delete(self, replica: Replica) -> None:
        """Rename a log directory; its files are unlinked after ``file.delete.delay.ms`` (``asyncDelete``)."""
        self.cache.forget(replica.partition)
        now = self._port.now
        if self.on_delete is not None:
            self.on_delete()
        self._deleted = [entry for entry in self._deleted if entry[0] > now]
        self._deleted.append((now + replica.log.rules.delete_delay_us, replica.log.disk_bytes))

    @property
    def disk_bytes(self) -> int:
        """Bytes of all logs, including renamed ones that are not unlinked yet."""
        renamed = sum(size for at, size in self._deleted if at > self._port.now)
        return renamed + sum(replica.log.disk_bytes for replica in self._replicas.values())

    @property
    def was_clean(self) -> bool:
        """Whether the last start found the marker."""
        return self._was_clean

    def start_timers(self) -> None:
        """Start the periodic tasks, which first run after ``log.initial.task.delay.ms``, 30 s."""
        for task in ("retention", "recovery_points", "log_starts"):
            self._port.timer(self._config.task_delay_us, task)
        if self._config.flush_check_us < NEVER:
            self._port.timer(self._config.task_delay_us, "flush")
        self._tasks_started = True
        self.wake_cleaner(self._replicas.values())

    def on_timer(self, name: str) -> dict[str, None]:
        """Run the task of that name, if it is one of these; returns the partitions it changed."""
        if name == "recovered":
            self.loaded = True
            self._report_recovery(clean=False)
        elif name == "retention":
            self._port.timer(self._config.retention_check_us, name)
            return self._changed_by(self._retain)
        elif name == "recovery_points":
            self._port.timer(self._config.recovery_checkpoint_us, name)
            return self._changed_by(_checkpoint_recovery)
        elif name == "log_starts":
            self._port.timer(self._config.start_checkpoint_us, name)
            return self._changed_by(_checkpoint_start)
        elif name == "flush":
            self._port.timer(self._config.flush_check_us, name)
            return self._changed_by(self._flush)
        elif name == "cleaner":
            pause = run_cleaner(self._replicas.values(), self._config, self._port.now)
            if pause >= 0:
                self._port.timer(pause, name)
            return dict.fromkeys(self._replicas)
        return {}

    def _changed_by(self, task: Callable[[Replica], bool]) -> dict[str, None]:
        return {partition: None for partition, replica in self._replicas.items() if task(replica)}

    def _retain(self, replica: Replica) -> bool:
        log = replica.log
        if log.rules.compact:
            return False
        before = (log.log_start, log.segments.base, log.disk_bytes)
        replica.retain(self._port.now)
        return before != (log.log_start, log.segments.base, log.disk_bytes)

    def _flush(self, replica: Replica) -> bool:
        before = replica.log.flushed_us
        replica.flush_if_due(self._port.now)
        return before != replica.log.flushed_us

    def shut_down(self) -> None:
        """Flush and checkpoint everything at SIGTERM; no marker if recovery after a crash was still running."""
        for replica in self._replicas.values():
            replica.closed(self._port.now)
        self.marker = self.loaded or self._was_clean

    def power_lost(self, keep: int, tail: str) -> None:
        """Apply a power loss of the machine; ``keep`` and ``tail`` as in :func:`lose_power`."""
        if self.cache.power_lost(self._replicas, self._port.now, keep, tail):
            self.marker = self.cache.marker

    def disk_lost(self) -> None:
        """Discard logs, checkpoints and marker."""
        self.marker = False
        self.cache.clear()
        self._deleted.clear()
        for replica in self._replicas.values():
            replica.disk_lost(self._port.now)

    def start(self, reading_us: Callable[[int], int]) -> int:
        """Load every log as the last stop left it; returns the duration of recovery, 0 after a clean shutdown.

        ``reading_us`` returns the least time the disk needs to read that many bytes.
        """
        clean, self.marker = self.marker, False
        self._tasks_started = self._cleaner_started = False
        self._torn = sum(replica.log.torn > 0 for replica in self._replicas.values())
        for replica in self._replicas.values() if not clean else ():
            if replica.damages:
                truncate_at_damage(replica, self._port.now)
        sizes = [replica.recovered(clean=clean) for replica in self._replicas.values()]
        self._was_clean = self.loaded = clean
        self._checked = sum(sizes)
        self._recovery_us = max(recovery_us(sizes, self._config.recovery_threads), reading_us(self._checked))
        if clean:
            self._report_recovery(clean=True)
        else:
            self._port.timer(self._recovery_us, "recovered")
        return self._recovery_us

    def _report_recovery(self, *, clean: bool) -> None:
        node, logs = self._port.node_id, len(self._replicas)
        detail = "clean shutdown, nothing to check" if clean else f"{self._checked} bytes checked"
        if self._torn:
            detail += f", {self._torn} torn {'batch' if self._torn == 1 else 'batches'} truncated"
        self._emit(RecoveryFinished(self._port.now, node, clean, logs, self._recovery_us, detail))

    def save(self) -> tuple[Any, ...]:
        """Return all state except the logs."""
        return (
            self.marker, self.loaded, self._was_clean, self._checked, self._torn, self._recovery_us,
            self._tasks_started, self._cleaner_started, tuple(self._deleted), self.cache.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            self.marker, self.loaded, self._was_clean, self._checked, self._torn, self._recovery_us,
            self._tasks_started, self._cleaner_started, deleted, cache,
        ) = saved  # fmt: skip
        self.cache.load(cache)
        self._deleted = list(deleted)


def _checkpoint_recovery(replica: Replica) -> bool:
    before, replica.checkpointed_recovery = replica.checkpointed_recovery, replica.log.recovery_point
    return before != replica.checkpointed_recovery


def _checkpoint_start(replica: Replica) -> bool:
    before, replica.checkpointed_start = replica.checkpointed_start, replica.log.log_start
    return before != replica.checkpointed_start
