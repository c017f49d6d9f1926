"""All partitions at a glance: a cell each, in their order, that tells the worst of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cluster_model.observation.views import PartitionView
from tui.terminal import glyphs
from tui.viewmodel.partition_matrix import window


class State(NamedTuple):
    """How a partition can be."""

    glyph: str
    role: str
    words: str


FINE: Final = State(glyphs.NOTHING, "quiet", "fine")
STATES: Final = (
    State(glyphs.LOST, "lost", "acked, missing"),
    State(glyphs.DOWN, "down", "offline"),
    State("!", "alarm", "under min.isr"),
    State(glyphs.LAGGING, "lagging", "under-replicated"),
    FINE,
)
"""The worst first."""


@dataclass(frozen=True, slots=True)
class GlanceRow:
    """A line of cells, (glyph, role) each."""

    cells: tuple[tuple[str, str], ...]
    cursor: int
    """Which of them the cursor is on, -1: none."""


@dataclass(frozen=True, slots=True)
class Glance:
    """What fits."""

    rows: tuple[GlanceRow, ...]
    first: int
    """The line that is the first one shown."""
    legend: tuple[tuple[str, str], ...]
    """What the cursor is on, and what the glyphs mean that are there, with their numbers."""


def state_of(partition: PartitionView) -> State:
    """The worst of it."""
    troubles = (partition.missing, partition.offline, partition.under_min_isr, partition.under_replicated)
    return next((state for state, there in zip(STATES, troubles, strict=False) if there), FINE)


def per_row(width: int) -> int:
    """Cells of a line."""
    return max(1, width - 4)


def build(partitions: Sequence[PartitionView], cursor: int, width: int, height: int, before: int = 0) -> Glance:
    """The lines of ``height``, the last of which is the legend, with the cursor in sight."""
    size = per_row(width)
    total = -(-len(partitions) // size)
    shown = max(1, min(total, height - 1))
    first = window(before, shown, total, cursor // size) if total else 0
    rows = []
    for start in range(first * size, min(len(partitions), (first + shown) * size), size):
        states = [state_of(each) for each in partitions[start : start + size]]
        here = cursor - start if 0 <= cursor - start < len(states) else -1
        rows.append(GlanceRow(tuple((each.glyph, each.role) for each in states), here))
    return Glance(tuple(rows), first, _legend(partitions, cursor, width))


def _legend(partitions: Sequence[PartitionView], cursor: int, width: int) -> tuple[tuple[str, str], ...]:
    if not partitions:
        return ()
    counts = dict.fromkeys(STATES, 0)
    for each in partitions:
        counts[state_of(each)] += 1
    chosen = partitions[cursor]
    pieces = [(f"  {chosen.name}: {state_of(chosen).words}  ", "strong")]
    used = len(pieces[0][0])
    for state, number in counts.items():
        text = f" {number} {state.words}  "
        if not number or used + 1 + len(text) > width:
            continue
        pieces += [(state.glyph, state.role), (text, "quiet")]
        used += 1 + len(text)
    return tuple(pieces)
