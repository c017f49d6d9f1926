"""acks=1 loss is bounded: only the end of what the old leader wrote goes."""

from typing import Any, Final

from cluster_model.checker.invariants.ground import Ground, Heard, Property
from cluster_model.checker.invariants.promise import LOSSY_MENDS, Mend, Promise
from cluster_model.protocol.events import RecordsMissing

ACKS_ONE: Final = Promise(
    "acks-one-bounded",
    "Loss of acks=1 is bounded",
    "Records acknowledged with acks=1 that go missing are the end of what their leader wrote in its epoch, at or "
    "behind the start of a later one: the leader that lacks them holds no record of their epoch at or behind them.",
    "KIP-101, KIP-279, KIP-320",
    (
        Mend("epoch_truncation", "KIP-101", "0.11"),
        Mend("kip_279", "KIP-279", "2.0"),
        Mend("kip_320", "KIP-320", "2.1"),
        *LOSSY_MENDS,
    ),
    "Damage on the leader's own disk. The loss itself is what acks=1 allows, and is told as a loss.",
)

RANGES_KEPT: Final = 256
"""Of a partition."""

Lost = tuple[int, int, int, int]
"""(offset, end offset, epoch of the records, epoch that took their place)."""


class AcksOneBounded(Property):
    """Looked at when the ledger misses acknowledged records; keeps what went last, in ranges."""

    __slots__ = ("_lost",)
    promise = ACKS_ONE

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._lost: dict[str, list[Lost]] = {}

    def lost(self, partition: str) -> tuple[Lost, ...]:
        """Which records acknowledged with acks=1 have gone missing, and in which epoch.

        Neighbours are one range, and the last :data:`RANGES_KEPT` are kept.
        """
        return tuple(self._lost.get(partition, ()))

    def hears(self) -> Heard:
        """What the leader's log does not hold."""
        return {RecordsMissing: self._missing}

    def _missing(self, event: RecordsMissing) -> None:
        if event.acks != 1:
            return
        partition, start, end = event.partition, event.log_offset, event.log_offset + event.count
        leader = self.world.true_leader(partition)
        if leader is None or leader.damages:
            return
        new_epoch = self.world.records[partition].leader_epoch
        self._note(partition, start, end, event.leader_epoch, new_epoch)
        log = leader.log
        if start >= log.leo:
            return
        by_id = log.lineages.by_id
        index = log.extent_index(max(start, log.log_start))
        held = next((at for at, stint in log.extents[index:] if by_id[stint].epoch == event.leader_epoch), -1)
        if held < 0:
            return
        detail = (
            f"records acknowledged with acks=1 in epoch {event.leader_epoch} are missing from offset {start} on, and "
            f"broker {leader.broker} holds others of that epoch at offset {max(held, start)}"
        )
        self.ground.report(
            self.promise, event.at_us, partition, leader.broker, detail, offsets=(start, end),
            epoch=event.leader_epoch, when=self.ground.circumstances(partition, event.leader_epoch), cause=event.cause,
        )  # fmt: skip

    def _note(self, partition: str, start: int, end: int, epoch: int, new_epoch: int) -> None:
        known = self._lost.setdefault(partition, [])
        if known and known[-1][1:] == (start, epoch, new_epoch):
            known[-1] = (known[-1][0], end, epoch, new_epoch)
            return
        known.append((start, end, epoch, new_epoch))
        if len(known) > RANGES_KEPT:
            del known[0]

    def forget(self, partition: str) -> None:
        """It is deleted."""
        self._lost.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple([(name, tuple(known)) for name, known in self._lost.items()])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._lost = {name: list(known) for name, known in saved}
