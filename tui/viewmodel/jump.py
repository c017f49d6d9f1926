"""Labels over what is in sight, and the way to it: as few letters as there can be."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase


@dataclass(frozen=True, slots=True)
class Place:
    """Something that can be gone to: where its label stands, in cells of the screen, and what it is."""

    x: int
    y: int
    kind: str
    """``pane``, ``mode``, ``row``, ``column`` ..."""
    key: str
    """Which one of its kind."""


def labels(count: int) -> tuple[str, ...]:
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


def left(named: Sequence[str], typed: str) -> tuple[int, ...]:
    """Numbers of the labels that begin with what was typed."""
    return tuple(number for number, label in enumerate(named) if label.startswith(typed))
