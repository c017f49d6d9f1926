"""A follower whose log its leader's does not reach: two questions, in turn (``fetchOffsetAndTruncate``).

First where the leader's log ends: if before the follower's end, the follower cuts its own there. Only otherwise where
it begins: if behind the follower's end, the follower drops everything and begins there. Else the leader's log has
grown back into reach meanwhile, and the follower goes on as it is.
"""

from typing import NamedTuple


class Seek(NamedTuple):
    """Which of the two questions stands, and the leader epoch it is asked in (-1 where the version tells none)."""

    epoch: int
    earliest: bool


def settled_by_end(own_end: int, leader_end: int) -> bool:
    """Whether the follower is too long: it must cut."""
    return leader_end < own_end


def settled_by_start(own_end: int, leader_start: int) -> bool:
    """Whether the follower is too far behind: it must begin anew at the leader's start."""
    return leader_start > own_end
