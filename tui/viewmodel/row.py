"""A line of a page or of a side pane as plain data."""

from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len, set_cell_size

MORE: Final = "…"
HEAL: Final = "[heal]"
"""What is clicked to heal a fault, at the end of its line."""


@dataclass(frozen=True, slots=True)
class Row:
    """(text, role) pieces from the left, an end at the right edge, whether it is chosen, and for a fault its number."""

    pieces: tuple[tuple[str, str], ...] = ()
    end: tuple[str, str] = ("", "text")
    chosen: bool = False
    fault: int = -1
    about: str = ""
    """Name of a client, a group or a node of the control plane."""


def fitted(text: str, width: int, more: str = MORE) -> str:
    """``text`` in so many cells at most; what is cut is told by ``more``."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - cell_len(more)) + more if width > 0 else ""


def first_shown(first: int, at: int, count: int, height: int) -> int:
    """The first line of a window of ``height`` lines that has line ``at`` in it, moved as little as can be."""
    first = min(max(first, at - height + 1), at)
    return max(0, min(first, count - height))
