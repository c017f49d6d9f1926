"""How the screen is shared out: pure arithmetic from the terminal's size and what there is to show."""

from typing import Final, NamedTuple

SMALLEST: Final = (60, 18)
"""Columns and rows below which nothing useful fits."""
WIDE: Final = 110
"""From this width on there are side panes."""
HUGE: Final = 170
"""From this width on the feed stands beside the matrix."""

_REPLICA: Final = 8
"""Height of the pane about the replica under the cursor."""
_MATRIX: Final = 8
"""The matrix keeps so many lines, whatever happens to the others."""


class Box(NamedTuple):
    """A rectangle on the screen, in cells."""

    x: int
    y: int
    width: int
    height: int


def plan(width: int, height: int, *, partitions: int, replicas: int, clients: int) -> dict[str, Box]:
    """Where each pane stands, borders included; a pane without a box is hidden. Empty when nothing fits.

    ``clients`` is how many lines producers and groups take. The first line belongs to the status bar, the last one to
    the keys; the panes fill what is between without gaps.
    """
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return {}
    body = Box(0, 1, width, height - 2)
    if width >= HUGE:
        return _huge(body, partitions, replicas, clients)
    side = min(44, width - 78) if width >= WIDE else 0
    lanes = min(min(replicas, 5) + 4, body.height - _MATRIX)
    wanted = partitions + 3
    if side:
        wanted = max(wanted, clients + 2 + _REPLICA + 5)
    matrix = max(_MATRIX, min(wanted, body.height - lanes - max(5, body.height // 4)))
    feed = body.height - matrix - lanes
    if feed < 3:
        matrix, feed = matrix + feed, 0
    boxes = {
        "matrix-pane": Box(0, 1, width - side, matrix),
        "lanes-pane": Box(0, 1 + matrix, width, lanes),
    }
    if feed:
        boxes["feed-pane"] = Box(0, 1 + matrix + lanes, width, feed)
    if side:
        boxes |= _column(Box(width - side, 1, side, matrix), clients, ("clients-pane", "faults-pane", "replica-pane"))
    return boxes


def _column(box: Box, clients: int, names: tuple[str, ...]) -> dict[str, Box]:
    """Clients, faults and replica below each other; the replica gives way first, faults take what is left."""
    top = min(clients + 2, max(4, box.height - 4))
    replica = _REPLICA if box.height - top - _REPLICA >= 4 else 0
    faults = box.height - top - replica
    heights = (top, faults, replica)
    found = {}
    y = box.y
    for name, height in zip(names, heights, strict=True):
        if height >= 3:
            found[name] = Box(box.x, y, box.width, height)
        y += height
    return found


def _huge(body: Box, partitions: int, replicas: int, clients: int) -> dict[str, Box]:
    """Matrix and lanes on the left, side panes and a tall feed on the right."""
    right = max(66, body.width * 36 // 100)
    left = body.width - right
    matrix = min(partitions + 3, body.height - min(replicas + 4, body.height // 2))
    top = min(body.height - 8, clients + 2 + (_REPLICA + 7 if body.height >= 40 else 6))
    column = _column(Box(left, body.y, right, top), clients, ("clients-pane", "faults-pane", "replica-pane"))
    return {
        "matrix-pane": Box(0, body.y, left, matrix),
        "lanes-pane": Box(0, body.y + matrix, left, body.height - matrix),
        "feed-pane": Box(left, body.y + top, right, body.height - top),
        **column,
    }
