"""How the panes of the log's mode share a terminal."""

from typing import Final, NamedTuple

BARS: Final = 3
"""Lines of the status bar and of the bar of modes."""
AROUND: Final = 5
"""Lines of the lanes' pane besides the lanes: two of its border, the ruler, the ticks, the truncations."""
LEAST_BELOW: Final = 7
"""Lines that what is known of a record gets at least."""
OVERVIEW: Final = 3
"""Lines of the lanes over the whole log besides those lanes: a blank one, a caption, a ruler."""
MUCH_BELOW: Final = 18
"""They are shown where this much is left below."""
BESIDE_FROM: Final = 72
"""Narrower terminals show no epochs and no fetches: the record goes first."""


class Shares(NamedTuple):
    """Sizes with borders."""

    lanes: int
    """Lines of the lanes' pane."""
    beside: int
    """Columns of the panes right of the record, 0: none."""
    epochs: int
    """Lines of the upper one of these."""


def share(width: int, height: int, replicas: int) -> Shares:
    """For so many replicas."""
    body = height - BARS
    lanes = max(AROUND + 1, min(replicas + AROUND, body - LEAST_BELOW))
    if body - lanes - replicas - OVERVIEW >= MUCH_BELOW and lanes == replicas + AROUND:
        lanes += replicas + OVERVIEW
    beside = 0 if width < BESIDE_FROM else max(33, min(width * 2 // 5, 84))
    below = body - lanes
    fetches = max(3, min(replicas + 1, below // 2))
    return Shares(lanes, beside, max(3, below - fetches))
