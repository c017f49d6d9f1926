"""What has been committed: records below the high watermark of a broker that led, so that a consumer could read them.

It does not matter whether the controller had meanwhile chosen another leader: whoever had not heard of it, broker and
consumer, served and read up to that broker's high watermark (``Partition.readRecords``), and what acks=all promises
there goes by it, too. A leader lays its records open as it becomes one, by the high watermark that it had as a
follower, and then as its high watermark rises.
"""

from typing import Any

from cluster_model.checker.ledger.ack_evidence import AckedRecords
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import BecameLeader, HwAdvanced, ReplicaDeleted, Truncated


class Exposed:
    """Enters commitment into the books of acknowledged records, each offset of a leadership once."""

    __slots__ = ("_acked", "_stands", "_world")

    def __init__(self, world: World, acked: dict[str, AckedRecords]) -> None:
        self._world = world
        self._acked = acked
        self._stands: dict[tuple[str, int], int] = {}
        """(partition, broker that leads or thinks so) → the high watermark up to which its log has been entered."""

    def hw_advanced(self, event: HwAdvanced) -> None:
        """A leader's high watermark rose."""
        key = (event.partition, event.broker)
        before = self._stands.get(key)
        if before is None:
            self._enter(event.partition, event.broker, event.hw)
            return
        self._stands[key] = event.hw
        if event.hw <= before:
            return  # it must not fall; what has been shown stays shown
        log = self._world.replicas[event.partition][event.broker].log
        start, stint = log.extents[-1]
        if start <= before:  # almost always: the high watermark stands in the newest stint
            self._acked[event.partition].commit(stint, before, event.hw)
        else:
            self._commit(event.partition, log, before, event.hw)

    def became_leader(self, event: BecameLeader) -> None:
        """A broker leads, or leads on: what stands below its high watermark is served from here on."""
        self._enter(event.partition, event.broker, event.hw)

    def changed(self, event: Truncated | ReplicaDeleted) -> None:
        """A log is another: should its broker lead, it is looked at from its start."""
        self._stands.pop((event.partition, event.broker), None)

    def forget(self, partition: str) -> None:
        """A partition is gone."""
        self._stands = {key: hw for key, hw in self._stands.items() if key[0] != partition}

    def _enter(self, partition: str, broker: int, hw: int) -> None:
        if partition not in self._acked or self._world.is_stale(partition, broker):
            return
        log = self._world.replicas[partition][broker].log
        self._stands[partition, broker] = hw
        self._commit(partition, log, log.log_start, hw)

    def _commit(self, partition: str, log: ReplicaLog, start: int, end: int) -> None:
        acked = self._acked[partition]
        for stint, low, high in log.pieces(start, end):
            acked.commit(stint, low, high)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._stands.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._stands = dict(saved)
