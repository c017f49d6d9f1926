"""A single leader per epoch: no two brokers append as leader in the same one."""

from typing import Any, Final

from cluster_model.checker.invariants.ground import Ground, Property
from cluster_model.checker.invariants.promise import Promise
from cluster_model.protocol.events import Appended

ONE_LEADER: Final = Promise(
    "single-leader-per-epoch",
    "Single leader per epoch",
    "At most one broker ever appends as leader in a leader epoch of a partition.",
    "KIP-101; leader epochs as the controller assigns them",
)

EPOCHS_KEPT: Final = 64
"""Of a partition: an append in an epoch that is older is by a zombie of dozens of elections ago."""


class SingleLeader(Property):
    """Looked at with every append: almost all are of the newest epoch and its leader."""

    __slots__ = ("_leaders", "_newest")
    promise = ONE_LEADER

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._newest: dict[str, tuple[int, int]] = {}
        """Partition → (epoch, broker) of the newest append."""
        self._leaders: dict[str, dict[int, int]] = {}
        """Partition → epoch → who appended first, for the newest epochs."""

    def appended(self, event: Appended) -> None:
        """By a leader, or who believes to be one."""
        newest = self._newest.get(event.partition)
        if newest is None or newest[0] != event.leader_epoch or newest[1] != event.broker:
            self._by_another(event)

    def _by_another(self, event: Appended) -> None:
        epoch, broker = event.leader_epoch, event.broker
        self._newest[event.partition] = (epoch, broker)
        leaders = self._leaders.setdefault(event.partition, {})
        known = leaders.setdefault(epoch, broker)
        if len(leaders) > EPOCHS_KEPT:
            del leaders[min(leaders)]
        if known != broker:
            detail = f"brokers {known} and {broker} both appended as leader in epoch {epoch}"
            offsets = (event.log_offset, event.log_offset + event.count)
            self.ground.report(self.promise, event.at_us, event.partition, broker, detail, offsets=offsets, epoch=epoch)

    def forget(self, partition: str) -> None:
        """It is deleted."""
        self._newest.pop(partition, None)
        self._leaders.pop(partition, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        leaders = tuple([(name, tuple(known.items())) for name, known in self._leaders.items()])
        return (tuple(self._newest.items()), leaders)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._newest, self._leaders = dict(saved[0]), {name: dict(known) for name, known in saved[1]}
