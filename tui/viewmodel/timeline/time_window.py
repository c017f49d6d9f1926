"""Which stretch of virtual time a timeline shows: columns of equal width on a grid that stays where it is."""

from typing import Final, NamedTuple

from tui.terminal.format import clock, duration

UNITS: Final[tuple[int, ...]] = tuple(step * 10**power for power in range(1, 11) for step in (10, 15, 20, 30, 50))
"""Microseconds that a column may stand for, from a tenth of a millisecond on."""
_TICK: Final = 20
"""Columns between two times on the ruler."""


class Window(NamedTuple):
    """So many columns, the first of them the one of that number."""

    unit_us: int
    first: int
    columns: int

    @property
    def start_us(self) -> int:
        """Where it begins ..."""
        return self.first * self.unit_us

    @property
    def end_us(self) -> int:
        """... and what it does not reach."""
        return (self.first + self.columns) * self.unit_us

    def column(self, at_us: int) -> int:
        """The column of a time, counted from the left edge; it may lie outside."""
        return at_us // self.unit_us - self.first

    def instant(self, column: int, present_us: int) -> int:
        """The time that a column stands for: when it begins, and the present from that one's column on."""
        return present_us if column >= self.column(present_us) else (self.first + column) * self.unit_us

    def holds(self, at_us: int) -> bool:
        """Whether a time lies inside."""
        return 0 <= self.column(at_us) < self.columns


def fit(present_us: int, columns: int) -> int:
    """The smallest unit at which the whole session can be seen, with some room behind the present."""
    room = max(1, columns - columns // 8)
    return next((unit for unit in UNITS if present_us // unit < room), UNITS[-1])


def zoomed(unit_us: int, steps: int, widest_us: int) -> int:
    """A unit so many steps nearer (or farther, below nought), and none that is wider than the whole session needs."""
    place = UNITS.index(unit_us) - steps
    return UNITS[min(max(0, place), UNITS.index(widest_us))]


def around(at_us: int, unit_us: int, columns: int, shown: Window | None = None) -> Window:
    """The window with a time in it: the one that is shown if it will do, else the time stands in its second half.

    It moves by a quarter of its width, so that a session that goes on can be read.
    """
    if shown is not None and (shown.unit_us, shown.columns) == (unit_us, columns) and shown.holds(at_us):
        return shown
    quarter, column = max(1, columns // 4), at_us // unit_us
    return Window(unit_us, max(0, (column // quarter - 2) * quarter, column - columns + 1), columns)


def ticks(window: Window) -> list[tuple[int, str]]:
    """Columns of the ruler with their times."""
    first = -(-window.first // _TICK) * _TICK
    return [
        (number - window.first, tick_text(number * window.unit_us))
        for number in range(first, window.first + window.columns, _TICK)
    ]


def unit_text(unit_us: int) -> str:
    """How much time a column stands for."""
    if unit_us < 1000:
        return f"{unit_us}us"
    return f"{unit_us / 1000:g}ms" if unit_us < 1_000_000 else duration(unit_us).replace(".0s", "s")


def tick_text(at_us: int) -> str:
    """A time as short as it can be told: ``0s``, ``2.5s``, ``01:20``."""
    if at_us < 60_000_000:
        whole, rest = divmod(at_us, 1_000_000)
        return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + "s"
    return clock(at_us).removesuffix(".000")
