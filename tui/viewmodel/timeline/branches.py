"""Branches of a session as rails and as a table, bookmarks, and the comparison of two branches.

The rail of the current branch is heavy, others are thin; a future that was dropped by undo is dashed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from cluster_model.observation import ClusterView, PartitionView
from cluster_model.util.quantities import clock, compact_count
from tui.terminal import glyphs
from tui.terminal.theme import Over
from tui.viewmodel.row import Row as TextRow
from tui.viewmodel.timeline.timeline_rows import LABEL as LANE_LABEL
from tui.viewmodel.timeline.timeline_rows import Canvas, Span, TimelineView, TimeRow

# Bookmarks: times to return to, each of one branch.


@dataclass(frozen=True, slots=True, order=True)
class Bookmark:
    """Bookmark: a labelled time of a branch."""

    at_us: int
    letter: str

    @property
    def words(self) -> str:
        """Text of the bookmark in the list and in the palette."""
        return f"{clock(self.at_us)}  {self.letter}"


class Bookmarks:
    """Bookmarks in order of time."""

    def __init__(self) -> None:
        self._kept: list[Bookmark] = []

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Bookmark]:
        return iter(self._kept)

    def __getitem__(self, number: int) -> Bookmark:
        return self._kept[number]

    def add(self, mark: Bookmark) -> bool:
        """Add a bookmark; return False if it already exists."""
        if mark in self._kept:
            return False
        self._kept = sorted([*self._kept, mark])
        return True

    def drop(self, mark: Bookmark) -> None:
        """Remove a bookmark."""
        self._kept.remove(mark)


# The branches of a session as a table: where each forked from its parent, its current time, and its result.


Piece = tuple[str, str]
"""Text and role."""
ROOMY: Final = 96
"""From this width on each line has the first action of its branch; below, only the selected one does."""
NAME: Final = 7
LEFT: Final = 18
COME: Final = 10
"""Cells of the first three columns."""
_NUMBERS: Final = (("lost", 5), ("missing", 8), ("failed", 7), ("unknown", 8), ("viol.", 7))


@dataclass(frozen=True, slots=True)
class BranchRow:
    """Branch of the session: origin, current time and counters."""

    letter: str
    parent: str
    """Letter of the branch that it was forked from; empty for the first branch."""
    forked_us: int
    first_action: str
    now_us: int
    lost: int
    missing: int
    failed: int
    unknown: int
    violations: int
    """Number of invariant violations."""
    shown: bool
    """Whether it is the branch that is shown."""


def row(letter: str, parent: str, left_us: int, began: str, view: ClusterView, *, shown: bool) -> BranchRow:
    """Return the row of a branch from the view of its present."""
    ledger = view.ledger
    return BranchRow(
        letter, parent, left_us, began, view.now_us, ledger.acked_lost, ledger.missing, ledger.failed, ledger.unknown,
        view.violations, shown,
    )  # fmt: skip


def heading(width: int) -> list[Piece]:
    """Return the heading of the table."""
    text = f"  {'branch':<{NAME}}{'forked at':<{LEFT}}{'now at':>{COME}}" + "".join(
        f"{name:>{size}}" for name, size in _NUMBERS
    )
    return [(text + ("  first action" if width >= ROOMY else ""), "quiet")]


def line(row: BranchRow, width: int, *, chosen: bool) -> list[Piece]:
    """Return the line of a branch."""
    left = f"{row.parent} at {clock(row.forked_us)}" if row.parent else ""
    pieces = [
        (f"{glyphs.MARKER if chosen else ' '} ", "key"),
        (f"{row.letter} {glyphs.PLAY if row.shown else ''}".ljust(NAME), "strong" if row.shown else "text"),
        (f"{left[: LEFT - 1]:<{LEFT}}", "quiet"),
        (f"{clock(row.now_us):>{COME}}", "text"),
    ]
    roles = ("lost", "warning", "warning", "warning", "alarm")
    numbers = (row.lost, row.missing, row.failed, row.unknown, row.violations)
    for (_name, size), role, number in zip(_NUMBERS, roles, numbers, strict=True):
        text = compact_count(number)
        pieces += [(" " * (size - len(text)), "text"), (text, role if number else "quiet")]
    if width >= ROOMY:
        pieces.append((f"  {row.first_action}"[: max(0, width - sum(len(text) for text, _role in pieces))], "quiet"))
    return pieces


def about_branch(row: BranchRow, width: int) -> str:
    """Return one line about the selected branch, shortened to ``width``."""
    if row.parent:
        text = f"{row.letter}: forked from {row.parent} at {clock(row.forked_us)}, first action: {row.first_action}"
    else:
        text = f"{row.letter}: the original session"
    text += "; shown now" if row.shown else ""
    return text if len(text) <= width else f"{text[: width - 1]}…"


LANE: Final = "branch "
"""Prefix of the lane name of a rail, before the branch letter."""


@dataclass(frozen=True, slots=True)
class BranchLine:
    """Branch drawn as a line; ``dropped_us`` is the time from which undo dropped its future, -1 if it did not."""

    branch: BranchRow
    dropped_us: int = -1

    @property
    def dropped(self) -> bool:
        """Whether undo dropped a future of it."""
        return self.dropped_us >= 0

    @property
    def lane(self) -> str:
        """Name of its lane on the timeline."""
        return f"{LANE}{self.branch.letter}"


def letter_of(lane: str) -> str:
    """Return the branch letter of a lane of the timeline, empty if the lane is no rail."""
    return lane.removeprefix(LANE) if lane.startswith(LANE) else ""


def outcome(row: BranchRow) -> tuple[str, str]:
    """Return the result of a branch in a few words with their role, the worst first."""
    consequences = [
        (f"{compact_count(number)} {word}", role)
        for number, word, role in (
            (row.lost, "lost", "lost"),
            (row.missing if row.missing != row.lost else 0, "missing", "warning"),
            (row.violations, "violation" if row.violations == 1 else "violations", "alarm"),
            (row.unknown, "unknown", "warning"),
            (row.failed, "failed", "warning"),
        )
        if number
    ]
    if not consequences:
        return "nothing lost", "calm"
    return ", ".join(words for words, _role in consequences[:2]), consequences[0][1]


def window(rails: Sequence[BranchLine], limit: int, selected: str = "") -> tuple[BranchLine, ...]:
    """Return at most ``limit`` rails, including the selected one, or else the one shown."""
    if len(rails) <= limit:
        return tuple(rails)
    at = next((number for number, each in enumerate(rails) if each.branch.letter == selected), -1)
    if at < 0:
        at = next((number for number, each in enumerate(rails) if each.branch.shown), 0)
    first = min(max(0, at - limit // 2), len(rails) - limit)
    return tuple(rails[first : first + limit])


def rail_rows(rails: Sequence[BranchLine], shown: TimelineView, selected: str = "") -> tuple[TimeRow, ...]:
    """Return one row for each rail."""
    canvas = Canvas(shown.window.columns, len(rails))
    for line, rail in enumerate(rails):
        _draw(canvas, line, rail, shown)
    by_letter = {each.branch.letter: each.branch for each in rails}
    letters = list(by_letter)
    for line, rail in enumerate(rails):
        parent = _left(rail.branch, by_letter)
        _fork(canvas, (letters.index(parent) if parent in letters else -1, line), rail, shown, rails)
    for line, rail in enumerate(rails):
        _put_outcome(canvas, line, rail, shown)
    return tuple(
        TimeRow(rail.lane, _label(rail, chosen=rail.branch.letter == selected), canvas.spans(line))
        for line, rail in enumerate(rails)
    )


def _left(row: BranchRow, by_letter: dict[str, BranchRow]) -> str:
    """Return the branch whose rail it forks from: an ancestor if it forked before its parent did."""
    letter = row.parent
    while letter in by_letter and by_letter[letter].parent and row.forked_us < by_letter[letter].forked_us:
        letter = by_letter[letter].parent
    return letter


def about_rail(rail: BranchLine, width: int) -> tuple[TextRow, ...]:
    """Return a few lines about a branch."""
    row, (words, role) = rail.branch, outcome(rail.branch)
    if row.parent:
        origin = f"forked from {row.parent} at {clock(row.forked_us)}, first action: {row.first_action}"
    else:
        origin = "the original session"
    numbers = (
        f"{compact_count(row.lost)} lost, {compact_count(row.missing)} missing, {compact_count(row.failed)} failed, "
        f"{compact_count(row.unknown)} unknown, {compact_count(row.violations)} violations"
    )
    rows = [
        TextRow(((f"{glyphs.FORK} {row.letter} ", "strong"), (origin[: max(0, width - 12)], "text"))),
        TextRow((("now at     ", "quiet"), (clock(row.now_us), "text"))),
        TextRow((("outcome    ", "quiet"), (words, role))),
        TextRow((("records    ", "quiet"), (numbers, "text"))),
    ]
    if rail.dropped:
        rows.append(TextRow((("a future dropped by undo; U returns to it", "quiet"),)))
    if row.shown:
        rows.append(TextRow((("shown now", "quiet"),)))
    return tuple(rows)


def _span(rail: BranchLine, shown: TimelineView) -> tuple[int, int]:
    """Return the first and last column of a rail; they may lie outside of the window."""
    window, row = shown.window, rail.branch
    return window.column(row.forked_us) if row.parent else window.column(0), window.column(row.now_us)


def _style(rail: BranchLine, column: int, shown: TimelineView) -> tuple[str, str]:
    """Return glyph and role of a rail at a column."""
    if rail.branch.shown:
        return glyphs.PASSED, "strong"
    dropped = rail.dropped and column > shown.window.column(rail.dropped_us)
    return (glyphs.FUTURE, "faint") if dropped else (glyphs.EDGE, "calm")


def _draw(canvas: Canvas, line: int, rail: BranchLine, shown: TimelineView) -> None:
    first, last = _span(rail, shown)
    for column in range(max(0, first), min(last, canvas.columns - 1) + 1):
        canvas.put(line, column, *_style(rail, column, shown))


def _fork(
    canvas: Canvas, lines: tuple[int, int], rail: BranchLine, shown: TimelineView, rails: Sequence[BranchLine]
) -> None:
    """Draw the fork from its parent: a corner, and a line up to the parent's rail across those between."""
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


def _put_outcome(canvas: Canvas, line: int, rail: BranchLine, shown: TimelineView) -> None:
    """Draw the result after the end of a rail, or on it where there is no room, and the time shown."""
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


def _label(rail: BranchLine, *, chosen: bool) -> tuple[Span, ...]:
    mark = glyphs.PLAY if rail.branch.shown else glyphs.MARKER if chosen else " "
    role = "strong" if rail.branch.shown else "quiet" if rail.dropped else "text"
    over: Over = "cell" if chosen else ""
    return (
        (f"{mark} ", "key", ""),
        (rail.branch.letter, role, over),
        (" " * (LANE_LABEL - 2 - len(rail.branch.letter)), "text", ""),
    )


# Two branches at the same time: their numbers side by side, differences marked.


LABEL: Final = 22
COLUMN: Final = 18
FIRST: Final = 6
"""How many numbers of the whole cluster come before those of the partition."""

T = TypeVar("T")

_OF_PARTITION: Final[tuple[tuple[str, Callable[[PartitionView], str]], ...]] = (
    ("leader", lambda each: f"b{each.leader} epoch {each.leader_epoch}" if each.leader >= 0 else "none"),
    ("in sync", lambda each: f"{len(each.isr)} of {len(each.assignment)}: {','.join(map(str, each.isr)) or 'none'}"),
    ("high watermark", lambda each: str(each.hw)),
    ("log end", lambda each: str(each.leo)),
)
_OF_CLUSTER: Final[tuple[tuple[str, Callable[[ClusterView], int]], ...]] = (
    ("acked lost", lambda view: view.ledger.acked_lost),
    ("acked missing", lambda view: view.ledger.missing),
    ("acked", lambda view: view.ledger.acked),
    ("failed", lambda view: view.ledger.failed),
    ("unknown", lambda view: view.ledger.unknown),
    ("violations", lambda view: view.violations),
    ("under-replicated", lambda view: sum(each.under_replicated for each in view.partitions)),
    ("offline", lambda view: sum(each.offline for each in view.partitions)),
    ("duplicates", lambda view: view.ledger.duplicates),
    ("active faults", lambda view: len(view.faults)),
    ("sent", lambda view: view.ledger.sent),
)


def partition_of(view: ClusterView, name: str) -> PartitionView | None:
    """Return the partition with that name, None without one."""
    return next((each for each in (*view.partitions, *view.internal) if each.name == name), None)


def comparison_rows(
    views: tuple[ClusterView, ClusterView | None], names: tuple[str, str], partition: str
) -> list[TextRow]:
    """Return all numbers, the most important first; a branch that has not reached the time (None) has none."""
    heading = TextRow(((" " * LABEL, "text"), *[(f"{name:>{COLUMN}}", "strong") for name in names]))
    counts = [_row(label, [_of(of, view) for view in views]) for label, of in _OF_CLUSTER]
    found = [None if view is None else partition_of(view, partition) for view in views]
    log = [_row(label, [_of(of, each) for each in found]) for label, of in _OF_PARTITION]
    return [heading, *counts[:FIRST], *log, *counts[FIRST:]]


def _of(of: Callable[[T], object], what: T | None) -> str:
    return "-" if what is None else str(of(what))


def _row(label: str, both: list[str]) -> TextRow:
    differs = both[0] != both[1] and "-" not in both
    role = "warning" if differs else "text"
    numbers = [(f"{each:>{COLUMN}}", role) for each in both]
    return TextRow(((f"{label:<{LABEL}}", "quiet"), *numbers, ("  differs" if differs else "", "warning")))


def ends_before(letter: str, at_us: int, come_us: int) -> str:
    """Return why nothing is shown of a branch."""
    return f"branch {letter} ends at {clock(come_us)}, before {clock(at_us)}"
