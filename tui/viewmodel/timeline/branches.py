"""The branches of a session as rails below the timeline: each forks off its parent's where it left it.

The rail that is looked at is drawn heavy, others thin, and a future that was dropped by undoing something in dashes
from there on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tui.terminal import glyphs
from tui.terminal.format import clock, count
from tui.terminal.theme import Over
from tui.viewmodel.row import Row
from tui.viewmodel.timeline.branch_list import Row as BranchRow
from tui.viewmodel.timeline.stops import Shown
from tui.viewmodel.timeline.timeline_rows import LABEL, Canvas, Span, TimeRow

LANE: Final = "branch "
"""Before the letter of a branch, the lane of its rail."""


@dataclass(frozen=True, slots=True)
class Rail:
    """A branch, and from when on it is what was dropped when something was undone, -1 where it is not."""

    branch: BranchRow
    dropped_us: int = -1

    @property
    def dropped(self) -> bool:
        """Whether there is a dropped future in it."""
        return self.dropped_us >= 0

    @property
    def lane(self) -> str:
        """What its line on the timeline belongs to."""
        return f"{LANE}{self.branch.letter}"


def letter_of(lane: str) -> str:
    """The branch of a line of the timeline, empty for one that is no rail."""
    return lane.removeprefix(LANE) if lane.startswith(LANE) else ""


def outcome(row: BranchRow) -> tuple[str, str]:
    """What a branch has come to, in one or two words with their role: the worst first."""
    found = [
        (f"{count(number)} {word}", role)
        for number, word, role in (
            (row.lost, "lost", "lost"),
            (row.missing if row.missing != row.lost else 0, "missing", "warning"),
            (row.broken, "broken rule" if row.broken == 1 else "broken rules", "alarm"),
            (row.unknown, "unknown", "warning"),
            (row.failed, "failed", "warning"),
        )
        if number
    ]
    if not found:
        return "nothing lost", "calm"
    return ", ".join(words for words, _role in found[:2]), found[0][1]


def window(rails: Sequence[Rail], most: int, selected: str = "") -> tuple[Rail, ...]:
    """So many of them, with the one that is selected among them, or the one that is looked at."""
    if len(rails) <= most:
        return tuple(rails)
    at = next((number for number, each in enumerate(rails) if each.branch.letter == selected), -1)
    if at < 0:
        at = next((number for number, each in enumerate(rails) if each.branch.shown), 0)
    first = min(max(0, at - most // 2), len(rails) - most)
    return tuple(rails[first : first + most])


def rows(rails: Sequence[Rail], shown: Shown, selected: str = "") -> tuple[TimeRow, ...]:
    """A line for each."""
    canvas = Canvas(shown.window.columns, len(rails))
    for line, rail in enumerate(rails):
        _draw(canvas, line, rail, shown)
    known = {each.branch.letter: each.branch for each in rails}
    letters = list(known)
    for line, rail in enumerate(rails):
        parent = _left(rail.branch, known)
        _fork(canvas, (letters.index(parent) if parent in letters else -1, line), rail, shown, rails)
    for line, rail in enumerate(rails):
        _tell(canvas, line, rail, shown)
    return tuple(
        TimeRow(rail.lane, _label(rail, chosen=rail.branch.letter == selected), canvas.spans(line))
        for line, rail in enumerate(rails)
    )


def _left(row: BranchRow, known: dict[str, BranchRow]) -> str:
    """The branch whose own rail it leaves: its parent may have been on that of another one still."""
    letter = row.parent
    while letter in known and known[letter].parent and row.left_us < known[letter].left_us:
        letter = known[letter].parent
    return letter


def about(rail: Rail, width: int) -> tuple[Row, ...]:
    """A branch in a few lines, each of so many cells."""
    row, (words, role) = rail.branch, outcome(rail.branch)
    if row.parent:
        origin = f"went as {row.parent} up to {clock(row.left_us)}, then: {row.began}"
    else:
        origin = "is the session as it began"
    numbers = (
        f"{count(row.lost)} lost, {count(row.missing)} missing, {count(row.failed)} failed, "
        f"{count(row.unknown)} unknown, {count(row.broken)} rules broken"
    )
    rows = [
        Row(((f"{glyphs.FORK} {row.letter} ", "strong"), (origin[: max(0, width - 12)], "text"))),
        Row((("come to    ", "quiet"), (clock(row.come_us), "text"))),
        Row((("outcome    ", "quiet"), (words, role))),
        Row((("records    ", "quiet"), (numbers, "text"))),
    ]
    if rail.dropped:
        rows.append(Row((("it is a future that was dropped by undoing its last action; U goes back to it", "quiet"),)))
    if row.shown:
        rows.append(Row((("it is the one on the screen", "quiet"),)))
    return tuple(rows)


def _span(rail: Rail, shown: Shown) -> tuple[int, int]:
    """First and last column of its own, which may lie outside of the window."""
    window, row = shown.window, rail.branch
    return window.column(row.left_us) if row.parent else window.column(0), window.column(row.come_us)


def _style(rail: Rail, column: int, shown: Shown) -> tuple[str, str]:
    """Glyph and role of a rail at a column."""
    if rail.branch.shown:
        return glyphs.PASSED, "strong"
    dropped = rail.dropped and column > shown.window.column(rail.dropped_us)
    return (glyphs.AHEAD, "faint") if dropped else (glyphs.EDGE, "calm")


def _draw(canvas: Canvas, line: int, rail: Rail, shown: Shown) -> None:
    first, last = _span(rail, shown)
    for column in range(max(0, first), min(last, canvas.columns - 1) + 1):
        canvas.put(line, column, *_style(rail, column, shown))


def _fork(canvas: Canvas, lines: tuple[int, int], rail: Rail, shown: Shown, rails: Sequence[Rail]) -> None:
    """Where it leaves its parent: a corner, and a line up to that one's rail, across those between."""
    parent, line = lines
    at, _last = _span(rail, shown)
    if not rail.branch.parent or not 0 <= at < canvas.columns:
        return
    role = _style(rail, at, shown)[1]
    canvas.put(line, at, glyphs.CORNERS[2], role)
    for above in range(max(parent, 0), line):
        first, last = _span(rails[above], shown)
        crossed = first <= at <= last
        if above == parent:
            canvas.put(above, at, glyphs.LEAVES, _style(rails[above], at, shown)[1])
        elif crossed:
            canvas.put(above, at, glyphs.CROSSES if first < at else glyphs.JOINS, _style(rails[above], at, shown)[1])
        else:
            canvas.put(above, at, glyphs.SIDE, role)


def _tell(canvas: Canvas, line: int, rail: Rail, shown: Shown) -> None:
    """The outcome behind its end, or on the rail where there is no room; and the instant that is looked at."""
    _first, last = _span(rail, shown)
    words, role = outcome(rail.branch)
    text = f" {words}{', dropped' if rail.dropped else ''} "
    if last >= canvas.columns:
        text += glyphs.MORE_RIGHT
    at = last + 1 if last + 1 + len(text) <= canvas.columns else canvas.columns - len(text)
    canvas.put(line, max(0, at), text, "quiet" if rail.dropped else role)
    looked = shown.window.column(shown.now_us)
    if rail.branch.shown and 0 <= looked < canvas.columns:
        canvas.put(line, looked, glyphs.IN_SYNC, "strong")


def _label(rail: Rail, *, chosen: bool) -> tuple[Span, ...]:
    mark = glyphs.PLAY if rail.branch.shown else glyphs.MARKER if chosen else " "
    role = "strong" if rail.branch.shown else "quiet" if rail.dropped else "text"
    over: Over = "cell" if chosen else ""
    return (
        (f"{mark} ", "key", ""),
        (rail.branch.letter, role, over),
        (" " * (LABEL - 2 - len(rail.branch.letter)), "text", ""),
    )
