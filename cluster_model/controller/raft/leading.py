"""What only a leader knows: how far each voter is, what waits to be written, who has heard of it (``LeaderState``)."""

from collections.abc import Callable
from typing import Any

from cluster_model.controller.raft.config import QuorumConfig

NEVER = 1 << 62
"""A deadline that does not come."""


class Leading:
    """One epoch's leadership of one voter."""

    __slots__ = (
        "_config", "_heard", "_others", "ends", "epoch_start", "high_watermark", "pending", "since", "unaware",
        "write_at",
    )  # fmt: skip

    def __init__(self, others: tuple[int, ...], epoch_start: int, now: int, config: QuorumConfig) -> None:
        """``others`` are the other voters, ``epoch_start`` the offset of the LeaderChange record."""
        self._config = config
        self._others = others
        self.epoch_start = epoch_start
        self.since = now
        self.ends = dict.fromkeys(others, 0)
        """Voter → everything below is on its disk."""
        self._heard = dict.fromkeys(others, now)
        self.high_watermark = -1
        """-1 until a record of this epoch is on a majority."""
        self.unaware = dict.fromkeys(others)
        """Voters that have not acknowledged this leader."""
        self.pending: list[tuple[Any, ...]] = []
        """Records appended since the last write, by append."""
        self.write_at = NEVER
        """When they are written: ``append.linger.ms`` after the first."""

    def heard(self, voter: int, at: int) -> None:
        """A fetch of a voter arrived."""
        self._heard[voter] = max(at, self._heard[voter])

    def silent_at(self, calm: Callable[[int], bool]) -> int:
        """When a majority will have been silent for too long; ``calm`` tells voters that are heard of for certain."""
        needed = len(self._others) + 1 >> 1
        if not needed or not self._config.check_quorum:
            return NEVER
        latest = sorted([NEVER if calm(voter) else at for voter, at in self._heard.items()], reverse=True)
        last = latest[needed - 1]
        return NEVER if last == NEVER else last + self._config.check_quorum_us

    def raise_high_watermark(self, own_end: int) -> bool:
        """Whether a majority has more than before, and a record of this epoch (Raft's commit rule)."""
        ends = sorted((own_end, *self.ends.values()), reverse=True)
        reached = ends[len(self._others) + 1 >> 1]
        if reached <= self.epoch_start or reached <= self.high_watermark:
            return False
        self.high_watermark = reached
        return True

    def successors(self) -> tuple[int, ...]:
        """The other voters, those with most of the log first."""
        return tuple(sorted(self._others, key=lambda voter: -self.ends[voter]))

    def next_idle_write(self, now: int) -> int:
        """The next time on the grid of NoOp records after ``now``."""
        every = self._config.idle_interval_us
        return self.since + ((now - self.since) // every + 1) * every if every else NEVER

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.epoch_start, self.since, tuple(self.ends.items()), tuple(self._heard.items()), self.high_watermark,
            tuple(self.unaware), tuple(self.pending), self.write_at,
        )  # fmt: skip

    @classmethod
    def loaded(cls, saved: tuple[Any, ...], others: tuple[int, ...], config: QuorumConfig) -> "Leading":
        """Undo of :meth:`save`."""
        epoch_start, since, ends, heard, high_watermark, unaware, pending, write_at = saved
        leading = cls(others, epoch_start, since, config)
        leading.ends = dict(ends)
        leading._heard = dict(heard)
        leading.high_watermark = high_watermark
        leading.unaware = dict.fromkeys(unaware)
        leading.pending = list(pending)
        leading.write_at = write_at
        return leading
