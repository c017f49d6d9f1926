"""Who runs what beside whom in the thorough group: ``pytest --dist loadgroup``, in the order that ``costly.txt`` tells.

Spark, terminals, browsers and sockets each want a machine without another of their kind, not an idle one: one process
has all of them, and begins with them. The files of the rest are dealt out to the others, the longest first, so that no
process works alone in the end.
"""

from collections import defaultdict

import pytest

from tests.support.costs import Cost, name_of

APART = ("spark", "tmux", "browser", "sockets")
"""Markers of what never runs beside another of them."""
ONE_BY_ONE = "one-by-one"
"""The lane of those."""


def lane_of(item: pytest.Item) -> str:
    """What has to be run by one process, one after the other: a file, or all that needs to be apart."""
    return ONE_BY_ONE if any(item.get_closest_marker(name) for name in APART) else item.nodeid.partition("::")[0]


def share_out(items: list[pytest.Item], known: dict[str, Cost]) -> None:
    """Give every test its lane, and put the longest lanes first; within a lane all stays as it was."""
    lanes: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        lanes[lane_of(item)].append(item)
    for lane, its in lanes.items():
        for item in its:
            item.add_marker(pytest.mark.xdist_group(lane))
    # Compiling is a minute, and is not in the list.
    first = {lane for lane, its in lanes.items() if lane == ONE_BY_ONE or its[0].get_closest_marker("compiled")}
    cost = {
        lane: sum(known[name].together for name in {name_of(item.nodeid) for item in its} & known.keys())
        for lane, its in lanes.items()
    }
    order = sorted(lanes, key=lambda lane: (lane != ONE_BY_ONE, lane not in first, -cost[lane]))
    items[:] = [item for lane in order for item in lanes[lane]]
