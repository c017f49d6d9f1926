"""Layout of the main screen: positions of the panes, computed from the size of the terminal and the content."""

from typing import Final, NamedTuple

SMALLEST: Final = (60, 18)
"""Minimum columns and rows of the terminal."""
WIDE: Final = 110
"""Minimum width for side panes."""
HUGE: Final = 170
"""Minimum width for the feed beside the matrix."""

BARS: Final = 2
"""Lines of the status bar: session and control plane."""

_REPLICA: Final = 9
"""Height of the pane of the replica under the cursor ..."""
_REPLICA_HUGE: Final = 13
"""... and on huge terminals."""
_STRIP: Final = 7
"""Height of the timeline at the foot."""
RAILS: Final = 5
"""Maximum number of branches drawn below the timeline."""
_TALL: Final = 48
"""Minimum lines between the bars for the timeline at the foot."""
_MATRIX: Final = 8
"""Minimum height of the matrix."""


class Box(NamedTuple):
    """Rectangle in cells of the terminal."""

    x: int
    y: int
    width: int
    height: int


def plan(
    width: int, height: int, *, partitions: int, replicas: int, clients: int, controllers: int = 0, rails: int = 0
) -> dict[str, Box]:
    """Return the box of each pane, borders included; panes without a box are hidden. Empty: the terminal is too small.

    ``clients`` is the number of lines of producers and groups, ``controllers`` that of control-plane nodes, ``rails``
    the number of branches to draw below the timeline. The first lines are the status bar, the last one is the key bar;
    the panes fill the space between without gaps.
    """
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return {}
    body = Box(0, BARS, width, height - BARS - 1)
    if body.height >= _TALL:
        strip = _STRIP + min(rails, body.height - _TALL, RAILS)
        above = _panes(Box(0, BARS, width, body.height - strip), partitions, replicas, clients, controllers)
        return above | {"timeline-pane": Box(0, BARS + body.height - strip, width, strip)}
    return _panes(body, partitions, replicas, clients, controllers)


def _panes(body: Box, partitions: int, replicas: int, clients: int, controllers: int) -> dict[str, Box]:
    """Return the boxes of all panes but the timeline."""
    width = body.width
    if width >= HUGE:
        return _huge(body, partitions, replicas, clients, controllers)
    side = min(44, width - 78) if width >= WIDE else 0
    lanes = min(min(replicas, 5) + 4, body.height - _MATRIX)
    wanted = partitions + 3
    if side:
        wanted = max(wanted, clients + 2 + _REPLICA + 5)
    matrix = max(_MATRIX, min(wanted, body.height - lanes - max(5, body.height // 5)))
    feed = body.height - matrix - lanes
    if feed < 3:
        matrix, feed = matrix + feed, 0
    boxes = {
        "matrix-pane": Box(0, body.y, width - side, matrix),
        "lanes-pane": Box(0, body.y + matrix, width, lanes),
    }
    if feed:
        boxes["feed-pane"] = Box(0, body.y + matrix + lanes, width, feed)
    if side:
        boxes |= _column(Box(width - side, body.y, side, matrix), clients, _REPLICA)
    return boxes


def _column(box: Box, clients: int, replica: int) -> dict[str, Box]:
    """Return the boxes of clients, faults and replica; the replica is dropped first, faults take the rest."""
    names = ("clients-pane", "faults-pane", "replica-pane")
    top = min(clients + 2, max(4, box.height - 4))
    replica = replica if box.height - top - replica >= 4 else 0
    faults = box.height - top - replica
    heights = (top, faults, replica)
    boxes = {}
    y = box.y
    for name, height in zip(names, heights, strict=True):
        if height >= 3:
            boxes[name] = Box(box.x, y, box.width, height)
        y += height
    return boxes


def _huge(body: Box, partitions: int, replicas: int, clients: int, controllers: int) -> dict[str, Box]:
    """Return the boxes on huge terminals: matrix and lanes left; side panes, control plane and a tall feed right."""
    right = max(66, body.width * 36 // 100)
    left = body.width - right
    matrix = min(partitions + 3, body.height - min(replicas + 4, body.height // 2))
    roomy = body.height >= 40
    top = min(body.height - 8, clients + 2 + (_REPLICA_HUGE + 7 if roomy else 6))
    column = _column(Box(left, body.y, right, top), clients, _REPLICA_HUGE)
    control = controllers + 2 if controllers and roomy and body.height - top - controllers - 2 >= 8 else 0
    if control:
        column["control-pane"] = Box(left, body.y + top, right, control)
    top += control
    return {
        "matrix-pane": Box(0, body.y, left, matrix),
        "lanes-pane": Box(0, body.y + matrix, left, body.height - matrix),
        "feed-pane": Box(left, body.y + top, right, body.height - top),
        **column,
    }
