"""One broker's logs as a whole: periodic tasks, checkpoint files, clean and unclean starts (``LogManager``).

What each file says after a crash is what was last written to it: the high watermarks every few seconds, recovery
points and log starts once a minute, all of them at a clean shutdown. The marker ``.kafka_cleanshutdown`` is written
last of all, and removed as soon as a start has read it.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.config import BrokerConfig
from cluster_model.events import Event, RecoveryFinished
from cluster_model.kernel.port import Port
from cluster_model.log.recovery import recovery_us
from cluster_model.replication.replica import Replica


class LogManager:
    """The logs behind one broker's replicas. The marker is on disk and outlives the process."""

    __slots__ = ("_checked", "_config", "_emit", "_port", "_recovery_us", "_replicas", "_was_clean", "loaded", "marker")

    def __init__(
        self, port: Port, replicas: dict[str, Replica], config: BrokerConfig, emit: Callable[[Event], None]
    ) -> None:
        self._port = port
        self._replicas = replicas
        self._config = config
        self._emit = emit
        self.marker = False
        """Whether ``.kafka_cleanshutdown`` is there."""
        self.loaded = True
        """Whether the start has read every log."""
        self._was_clean = True
        self._checked = 0
        self._recovery_us = 0

    def start_timers(self) -> None:
        """The logs are loaded: periodic tasks first run after ``log.initial.task.delay.ms``, 30 s."""
        for task in ("retention", "recovery_points", "log_starts"):
            self._port.timer(self._config.task_delay_us, task)

    def on_timer(self, name: str) -> dict[str, None]:
        """Run the task of that name, if it is one of these; returns the partitions for which it changed anything."""
        if name == "recovered":
            self.loaded = True
            self._told(clean=False)
        elif name == "retention":
            self._port.timer(self._config.retention_check_us, name)
            return self._changed_by(self._retain)
        elif name == "recovery_points":
            self._port.timer(self._config.recovery_checkpoint_us, name)
            return self._changed_by(_checkpoint_recovery)
        elif name == "log_starts":
            self._port.timer(self._config.start_checkpoint_us, name)
            return self._changed_by(_checkpoint_start)
        return {}

    def _changed_by(self, task: Callable[[Replica], bool]) -> dict[str, None]:
        return {partition: None for partition, replica in self._replicas.items() if task(replica)}

    def _retain(self, replica: Replica) -> bool:
        log = replica.log
        before = (log.log_start, log.segments.base, log.disk_bytes)
        replica.retain(self._port.now)
        return before != (log.log_start, log.segments.base, log.disk_bytes)

    def shut_down(self) -> None:
        """SIGTERM: flush and checkpoint everything. No marker if the start was still busy with a crash's remains."""
        for replica in self._replicas.values():
            replica.closed()
        self.marker = self.loaded or self._was_clean

    def start(self) -> int:
        """Load every log as the last stop left it; returns how long recovery takes, 0 after a clean shutdown."""
        clean, self.marker = self.marker, False
        sizes = [replica.recovered(clean=clean) for replica in self._replicas.values()]
        self._was_clean = self.loaded = clean
        self._checked = sum(sizes)
        self._recovery_us = recovery_us(sizes, self._config.recovery_threads)
        if clean:
            self._told(clean=True)
        else:
            self._port.timer(self._recovery_us, "recovered")
        return self._recovery_us

    def _told(self, *, clean: bool) -> None:
        node, logs = self._port.node_id, len(self._replicas)
        detail = "clean shutdown, nothing to check" if clean else f"{self._checked} bytes checked"
        self._emit(RecoveryFinished(self._port.now, node, clean, logs, self._recovery_us, detail))

    def save(self) -> tuple[Any, ...]:
        """All state but the logs."""
        return (self.marker, self.loaded, self._was_clean, self._checked, self._recovery_us)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.marker, self.loaded, self._was_clean, self._checked, self._recovery_us = saved


def _checkpoint_recovery(replica: Replica) -> bool:
    before, replica.checkpointed_recovery = replica.checkpointed_recovery, replica.log.recovery_point
    return before != replica.checkpointed_recovery


def _checkpoint_start(replica: Replica) -> bool:
    before, replica.checkpointed_start = replica.checkpointed_start, replica.log.log_start
    return before != replica.checkpointed_start
