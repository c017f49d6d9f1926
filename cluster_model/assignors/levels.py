"""Who is next to get a partition of a topic, and who to give one up (``MemberAssignmentBalancer``)."""

from collections.abc import Sequence


class Levels:
    """A topic's subscribers by how many partitions they have, of any topic.

    At the low end stands a stretch of members with the fewest, at the high end one with the most. A stretch is gone
    through once, each member in it getting or giving one partition; then its level is one higher or lower, and members
    that are at that level already join it. Sizes are looked up as they are now: the caller keeps them up to date.
    """

    __slots__ = (
        "_high",
        "_high_end",
        "_high_next",
        "_high_start",
        "_low",
        "_low_end",
        "_low_next",
        "_members",
        "_sizes",
    )

    def __init__(self, sizes: Sequence[int], members: Sequence[int]) -> None:
        """``members`` are places in ``sizes``; at least one."""
        self._sizes = sizes
        self._members = sorted(members, key=lambda place: (sizes[place], place))
        self._low = sizes[self._members[0]] - 1
        """The level of the low stretch before this turn through it."""
        self._low_end = 0
        self._low_next = 0
        self._high = sizes[self._members[-1]] + 1
        self._high_start = self._high_end = len(members)
        self._high_next = len(members) - 1

    @property
    def difference(self) -> int:
        """Between the most and the fewest that a member has."""
        return self._sizes[self._members[-1]] - self._sizes[self._members[0]]

    @property
    def level(self) -> bool:
        """Whether handing over from high to low gains nothing any more."""
        return self._high - self._low <= 1

    def least(self) -> int:
        """The member that is next to get a partition."""
        if self._low_next >= self._low_end:
            self._low += 1
            while self._low_end < len(self._members) and self._size_at(self._low_end) == self._low:
                self._low_end += 1
            self._low_next = 0
        self._low_next += 1
        return self._members[self._low_next - 1]

    def most(self) -> int | None:
        """The member that is next to give one up, None if there is no other."""
        if self._high_next < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                # All of the stretch were left out: go down to the next member there is.
                self._high = self._size_at(self._high_start - 1)
            else:
                self._high -= 1
            while self._high_start > 0 and self._size_at(self._high_start - 1) == self._high:
                self._high_start -= 1
            self._high_next = self._high_end - 1
        if self._high_next < 0:
            return None
        self._high_next -= 1
        return self._members[self._high_next + 1]

    def leave_out(self) -> None:
        """The member that :meth:`most` named has nothing to give: it leaves the high stretch."""
        members, place, end = self._members, self._high_next + 1, self._high_end - 1
        members[place], members[end] = members[end], members[place]
        self._high_end -= 1

    def _size_at(self, place: int) -> int:
        return self._sizes[self._members[place]]
