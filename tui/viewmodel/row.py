"""Row of a page or pane as plain data, windows of rows, and labels for jumping."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Final

from rich.cells import cell_len, set_cell_size

MORE: Final = "…"
HEAL: Final = "[heal]"
"""Text at the end of a fault's line that heals it when clicked."""


@dataclass(frozen=True, slots=True)
class Row:
    """Row: (text, role) pieces from the left, an end at the right edge, selection, and for a fault its id."""

    pieces: tuple[tuple[str, str], ...] = ()
    end: tuple[str, str] = ("", "text")
    chosen: bool = False
    fault: int = -1
    about: str = ""
    """Name of the client, group or control-plane node that the row is about."""
    head: bool = False
    """Whether it is the heading of a table."""


def fitted(text: str, width: int, more: str = MORE) -> str:
    """Return ``text`` in at most ``width`` cells; ``more`` marks that it was cut."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - cell_len(more)) + more if width > 0 else ""


def first_shown(first: int, at: int, count: int, height: int) -> int:
    """Return the first line of a window of ``height`` lines that contains line ``at``, moved as little as possible."""
    first = min(max(first, at - height + 1), at)
    return max(0, min(first, count - height))


# Labels for jumping: as few letters as possible.


@dataclass(frozen=True, slots=True)
class LabelPosition:
    """Target of a jump: position of its label in cells of the terminal, kind and key."""

    x: int
    y: int
    kind: str
    """``pane``, ``mode``, ``row``, ``column`` ..."""
    key: str
    """Identifies the target among its kind."""


def jump_labels(count: int) -> tuple[str, ...]:
    """Return ``count`` labels, none a prefix of another: one letter each as far as possible, two for the last ones.

    Raises:
        ValueError: there are more targets than labels of two letters.
    """
    letters = len(ascii_lowercase)
    if count > letters * letters:
        raise ValueError(f"found {count} places, expected {letters * letters}")
    pairs = 0
    while letters - pairs + pairs * letters < count:
        pairs += 1
    firsts = ascii_lowercase[letters - pairs :]
    found = [*ascii_lowercase[: letters - pairs], *(first + second for first in firsts for second in ascii_lowercase)]
    return tuple(found[:count])


def labels_left(named: Sequence[str], typed: str) -> tuple[int, ...]:
    """Return the indexes of the labels that begin with the typed letters."""
    return tuple(number for number, label in enumerate(named) if label.startswith(typed))
