"""Animation of changes in the TUI, driven by the frame clock.

The module reads no clock, and the model does not depend on it. A number that has just changed is bold for three
frames; a highlight sweeps once over the row of a partition with a new leader; truncated cells of a log disappear one
by one. A number that changes all the time is not highlighted, only one that was constant before.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from cluster_model.observation import EpochRun, LogView, PartitionView, ReplicaLogView
from tui.terminal.frame_clock import FRAME_S
from tui.viewmodel.partition_history import ReplicaTruncation
from tui.viewmodel.partition_matrix import MatrixRow

HIGHLIGHT_S: Final = 3 * FRAME_S
SWEEP_S: Final = 10 * FRAME_S
TRUNCATION_S: Final = 6 * FRAME_S


_Log = tuple[str, str]
"""View that shows a log, and its partition."""


class _Number(NamedTuple):
    value: Hashable
    changed_s: float
    until_s: float
    """Until when the change is highlighted."""


class _RemovedCells(NamedTuple):
    """Truncated part of a log whose cells are disappearing."""

    start_s: float
    start: int
    end: int
    runs: tuple[EpochRun, ...]


class Animation:
    """State of all animations: last values shown, and the changes under way; inactive while ``on`` is False."""

    def __init__(self, *, on: bool = False) -> None:
        self.on = on
        self.until_s = float("-inf")
        """Frame-clock time at which the last running animation ends."""
        self._now_s = 0.0
        self._now_us = -1
        self._before_us = -1
        self._numbers: dict[Hashable, _Number] = {}
        self._leaders: dict[str, int] = {}
        self._sweeps: dict[str, float] = {}
        self._lanes: dict[_Log, Mapping[int, ReplicaLogView]] = {}
        """Lanes as last shown."""
        self._looked: set[_Log] = set()
        self._bites: dict[tuple[_Log, int], _RemovedCells] = {}
        self._bitten_us: dict[tuple[_Log, int], int] = {}
        """Time of the last truncation that was animated."""

    def begin_frame(self, now_s: float, now_us: int) -> None:
        """Begin a frame at ``now_s`` of the frame clock, which shows virtual time ``now_us``.

        Going back in time clears all animations.
        """
        if now_us < self._now_us:
            self.forget()
        self._before_us = self._now_us
        self._now_s, self._now_us = now_s, now_us
        for log in [log for log in self._lanes if log not in self._looked]:
            del self._lanes[log]
        self._looked.clear()

    def forget(self) -> None:
        """Clear all state: the next values are not changes."""
        self._now_us = self._before_us = -1
        for known in (self._numbers, self._leaders, self._sweeps, self._lanes, self._bites, self._bitten_us):
            known.clear()

    def idle(self, painted_s: float) -> bool:
        """Return whether a frame painted at ``painted_s`` has no running animation."""
        return not self.on or painted_s >= self.until_s

    # -- numbers ----------------------------------------------------------------------------------------------------

    def fresh(self, key: Hashable, value: Hashable) -> bool:
        """Return whether a number has just changed after it was constant for a while."""
        if not self.on:
            return False
        change = self._numbers.get(key)
        if change is None:
            self._numbers[key] = _Number(value, float("-inf"), float("-inf"))
            return False
        if value != change.value:
            until_s = change.until_s
            if self._now_s - change.changed_s >= HIGHLIGHT_S:
                until_s = self._lasts(HIGHLIGHT_S)
            self._numbers[key] = change = _Number(value, self._now_s, until_s)
        return self._now_s < change.until_s

    # -- leaders ----------------------------------------------------------------------------------------------------

    def sweep(self, partition: PartitionView, steps: int) -> int:
        """Return the step of ``steps`` that the sweep along a partition's row is at, -1 without a sweep."""
        if not self.on:
            return -1
        name, leader = partition.name, partition.leader
        if leader >= 0:
            if self._leaders.get(name, leader) != leader:
                self._sweeps[name] = self._now_s
                self._lasts(SWEEP_S)
            self._leaders[name] = leader
        begun_s = self._sweeps.get(name)
        if begun_s is None:
            return -1
        step = int((self._now_s - begun_s) / SWEEP_S * steps)
        if step >= steps:
            del self._sweeps[name]
            return -1
        return step

    # -- logs -------------------------------------------------------------------------------------------------------

    def with_truncated(self, where: str, log: LogView, cuts: tuple[ReplicaTruncation, ...]) -> LogView:
        """Return the logs of a partition with the truncated cells that are still visible; ``cuts``: newest first.

        Records that a replica fetched in their place become visible as the cells disappear.
        """
        if not self.on:
            return log
        shown = (where, log.partition)
        before = self._lanes.get(shown, {})
        for cut in cuts:
            if cut.at_us <= self._before_us:
                break
            self._bite((shown, cut.broker), cut, before.get(cut.broker))
        self._lanes[shown] = {lane.broker: lane for lane in log.lanes}
        self._looked.add(shown)
        return replace(log, lanes=tuple(self._with_rest((shown, lane.broker), lane) for lane in log.lanes))

    def _bite(self, key: tuple[_Log, int], cut: ReplicaTruncation, lane: ReplicaLogView | None) -> None:
        if lane is None or self._bitten_us.get(key, -1) >= cut.at_us:
            return
        self._bitten_us[key] = cut.at_us
        self._bites[key] = _RemovedCells(self._now_s, cut.start, cut.end, _between(lane.runs, cut.start, cut.end))
        self._lasts(TRUNCATION_S)

    def _with_rest(self, key: tuple[_Log, int], lane: ReplicaLogView) -> ReplicaLogView:
        bite = self._bites.get(key)
        if bite is None:
            return lane
        gone = int((self._now_s - bite.start_s) / TRUNCATION_S * (bite.end - bite.start))
        end = bite.end - gone
        if end <= bite.start:
            del self._bites[key]
            return lane
        before, after = _between(lane.runs, 0, bite.start), _between(lane.runs, end, max(end, lane.leo))
        return replace(lane, runs=(*before, *_between(bite.runs, bite.start, end), *after))

    def _lasts(self, span_s: float) -> float:
        until_s = self._now_s + span_s
        self.until_s = max(self.until_s, until_s)
        return until_s


def _between(runs: tuple[EpochRun, ...], start: int, end: int) -> tuple[EpochRun, ...]:
    """Return the runs clipped to ``[start, end)``."""
    return tuple(
        replace(run, start=max(run.start, start), end=min(run.end, end))
        for run in runs
        if run.end > start and run.start < end
    )


# Animated changes in the matrix.


NUMBERS: Final = ("epoch", "isr", "hw", "lag", "lost")
"""Fields of a row that are highlighted, besides its cells."""


def highlight_changes(
    rows: Sequence[MatrixRow], partitions: Sequence[PartitionView], motion: Animation, pieces: int
) -> tuple[MatrixRow, ...]:
    """Return the rows of these partitions, each of ``pieces`` pieces, with recent changes marked."""
    if not motion.on:
        return tuple(rows)
    return tuple(_moved(row, each, motion, pieces) for row, each in zip(rows, partitions, strict=True))


def _moved(row: MatrixRow, partition: PartitionView, motion: Animation, pieces: int) -> MatrixRow:
    first = row.columns.first
    fresh = tuple([name for name in NUMBERS if motion.fresh((row.name, name), getattr(row, name))])
    changed = [motion.fresh((row.name, first + at), cell.text) for at, cell in enumerate(row.cells)]
    sweep = motion.sweep(partition, pieces)
    if not fresh and sweep < 0 and not any(changed):
        return row
    cells = tuple(replace(cell, fresh=new) for cell, new in zip(row.cells, changed, strict=True))
    return replace(row, cells=cells, fresh=fresh, sweep=sweep)
