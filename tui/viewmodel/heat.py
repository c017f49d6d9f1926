"""How far behind, in steps of ten, so that a glance over many partitions finds those that are."""

from bisect import bisect_right
from typing import Final

from tui.terminal import glyphs
from tui.terminal.format import count

LIMITS: Final = (1, 10, 100, 1_000, 10_000)
"""From so many records on begins each step after nought."""
BARS: Final = f" {glyphs.SPARK[1]}{glyphs.SPARK[2]}{glyphs.SPARK[4]}{glyphs.SPARK[6]}{glyphs.SPARK[7]}"
"""What each step looks like without its colour."""
ROLES: Final = ("quiet", "heat1", "heat2", "heat3", "heat4", "heat5")


def step(behind: int) -> int:
    """Which step so many records are, from 0."""
    return bisect_right(LIMITS, behind)


def role(behind: int) -> str:
    """The role of so many records."""
    return ROLES[step(behind)]


def text(behind: int) -> str:
    """So many records, with the bar of their step."""
    return f"{BARS[step(behind)]}-{count(behind)}" if behind > 0 else f"{BARS[0]}="


def legend(width: int) -> tuple[tuple[str, str], ...]:
    """The steps in words, as many words as there is room for."""
    names = [f" {BARS[number]} {low}+ " for number, low in enumerate(("1", "10", "100", "1k", "10k"), 1)]
    before, after = "  records behind: ", f"  {glyphs.LEADER} leads, = even; lag: of the slowest group"
    steps = tuple((name, ROLES[number]) for number, name in enumerate(names, 1))
    room = width - len(before) - sum(map(len, names))
    return ((before, "quiet"), *steps, (after if len(after) <= room else "", "quiet"))
