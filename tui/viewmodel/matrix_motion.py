"""What has just changed in the matrix."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cluster_model.observation.views import PartitionView
from tui.viewmodel.animation import Motion
from tui.viewmodel.partition_matrix import Row

NUMBERS: Final = ("epoch", "isr", "hw", "lag", "lost")
"""Of a row, beside its cells."""


def moved(rows: Sequence[Row], partitions: Sequence[PartitionView], motion: Motion, pieces: int) -> tuple[Row, ...]:
    """The rows of these partitions, each in so many pieces, with what has just changed in them marked."""
    if not motion.on:
        return tuple(rows)
    return tuple(_moved(row, each, motion, pieces) for row, each in zip(rows, partitions, strict=True))


def _moved(row: Row, partition: PartitionView, motion: Motion, pieces: int) -> Row:
    first = row.columns.first
    fresh = tuple([name for name in NUMBERS if motion.fresh((row.name, name), getattr(row, name))])
    changed = [motion.fresh((row.name, first + at), cell.text) for at, cell in enumerate(row.cells)]
    sweep = motion.sweep(partition, pieces)
    if not fresh and sweep < 0 and not any(changed):
        return row
    cells = tuple(replace(cell, fresh=new) for cell, new in zip(row.cells, changed, strict=True))
    return replace(row, cells=cells, fresh=fresh, sweep=sweep)
