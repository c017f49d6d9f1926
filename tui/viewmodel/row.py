"""A line of a page or a pane as plain data, labels to jump by, and text for the clipboard."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase
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


# Labels over what is in sight, and the way to it: as few letters as there can be.


@dataclass(frozen=True, slots=True)
class LabelPosition:
    """Something that can be gone to: where its label stands, in cells of the screen, and what it is."""

    x: int
    y: int
    kind: str
    """``pane``, ``mode``, ``row``, ``column`` ..."""
    key: str
    """Which one of its kind."""


def jump_labels(count: int) -> tuple[str, ...]:
    """So many labels, none of which begins another: one letter each while there are letters, then two for the last.

    Raises:
        ValueError: there are not so many.
    """
    letters = len(ascii_lowercase)
    if count > letters * letters:
        raise ValueError(f"found {count} places, allowed are {letters * letters}")
    pairs = 0
    while letters - pairs + pairs * letters < count:
        pairs += 1
    firsts = ascii_lowercase[letters - pairs :]
    found = [*ascii_lowercase[: letters - pairs], *(first + second for first in firsts for second in ascii_lowercase)]
    return tuple(found[:count])


def labels_left(named: Sequence[str], typed: str) -> tuple[int, ...]:
    """Numbers of the labels that begin with what was typed."""
    return tuple(number for number, label in enumerate(named) if label.startswith(typed))
