"""The sheet of faults: each with its letter, by family and page, with what the marked one would do now."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from faults.declarations import FAMILIES, ExpectedImpact, Fault, Operation, Value
from playbooks.model import DOWN, expected_lines, value_text
from tui.terminal import glyphs
from tui.terminal.format import wrap

# The which-key sheet: every fault of the catalogue with its letter, what it would hit, and what to expect now.


ONE_COLUMN: Final = 8
"""Up to so many faults, each has a line with its summary; more stand in columns."""
SUMMARY_AT: Final = 26
"""Where a summary begins on its fault's line."""


_TOLD: Final = ("duration", "percent", "throughput", "size")
"""Types of a first parameter whose default a title has beside it."""


class ParamLike(Protocol):
    """A parameter of a fault."""

    @property
    def name(self) -> str:
        """Its name in playbooks."""
        ...

    @property
    def type(self) -> str:
        """``duration``, ``int``, ``bool``, ``choice`` or ``size``."""
        ...

    @property
    def default(self) -> Value | None:
        """Its value unless somebody says otherwise."""
        ...


class FaultLike(Protocol):
    """A fault of the catalogue, as far as the sheet shows it."""

    @property
    def name(self) -> str:
        """Its name in playbooks."""
        ...

    @property
    def letter(self) -> str:
        """The key on the sheet."""
        ...

    @property
    def title(self) -> str:
        """A few words."""
        ...

    @property
    def summary(self) -> str:
        """One sentence."""
        ...

    @property
    def usual_for_us(self) -> int:
        """How long it lasts when a key injects it, -1 until healed."""
        ...

    @property
    def params(self) -> Sequence[ParamLike]:
        """Its parameters."""
        ...


@dataclass(frozen=True, slots=True)
class Item:
    """One fault on the sheet."""

    letter: str
    title: str
    summary: str
    chosen: bool
    glyph: str = ""
    colour: str = "text"
    """Role of the glyph."""
    dim: bool = False
    """Whether it does not fit what is aimed at."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The name of a family above its faults."""

    text: str


@dataclass(frozen=True, slots=True)
class ItemRow:
    """Faults side by side, each ``width`` cells wide; a single one without a glyph shows its summary too."""

    items: tuple[Item | Heading | None, ...]
    width: int


@dataclass(frozen=True, slots=True)
class SheetTextRow:
    """A line of words below the faults."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """The open sheet."""

    title: str
    rows: tuple[ItemRow | SheetTextRow, ...]


def build_list(faults: Sequence[FaultLike], *, chosen: int, title: str, expectation: str, width: int) -> Sheet:
    """The sheet for ``width`` cells with the fault number ``chosen`` marked."""
    items = [Item(each.letter, with_defaults(each), each.summary, index == chosen) for index, each in enumerate(faults)]
    rows: list[ItemRow | SheetTextRow] = []
    if len(items) <= ONE_COLUMN:
        rows += [ItemRow((item,), width) for item in items]
    else:
        column = min(max(len(item.title) for item in items) + 7, max(width, 10))
        across = max(1, width // column)
        down = -(-len(items) // across)
        rows += [ItemRow(tuple(items[at::down]), column) for at in range(down)]
    if len(items) > ONE_COLUMN or len(items[chosen].summary) > width - SUMMARY_AT:
        rows += [SheetTextRow("", line) for line in wrap(items[chosen].summary, max(width - 2, 20))[:2]]
    rows += [SheetTextRow("Expected now: ", line) for line in wrap(expectation, max(width - 16, 20))[:1]]
    rows += [SheetTextRow("              ", line) for line in wrap(expectation, max(width - 16, 20))[1:3]]
    return Sheet(title, tuple(rows))


def with_defaults(fault: FaultLike) -> str:
    """The title with the length of time it will use, or how much of it: ``GC pause 15s``, ``loss 5%``."""
    if isinstance(fault, Operation):
        return fault.title
    if fault.usual_for_us >= 0:
        return f"{fault.title} {value_text('duration', fault.usual_for_us)}"
    lengths = [
        value_text(param.type, param.default)
        for param in fault.params
        if param.type in _TOLD and isinstance(param.default, int) and param.default > 0
    ]
    return " ".join([fault.title, *lengths[:1]])


COLUMN: Final = 26
"""A column is at least so wide: a letter, a glyph, a title, what the title is for."""
COLUMNS: Final = 6
"""More would stand too far apart."""
TALL: Final = 30
"""From this height of the screen on there is room for every line of what is expected."""
DETAILS: Final = 10
"""Lines below the faults where there is room ..."""
FEW_DETAILS: Final = 5
"""... and where there is little."""
LABEL: Final = 15
"""Cells of what a line of the expectation is about."""

Cell = Heading | Item | None


@dataclass(frozen=True, slots=True)
class Room:
    """What the sheet may take: the width inside its border, and the height of the screen."""

    width: int
    height: int

    @property
    def details(self) -> int:
        """Lines for the marked fault."""
        return DETAILS if self.height >= TALL else FEW_DETAILS

    @property
    def across(self) -> int:
        """Columns side by side."""
        return max(1, min(COLUMNS, self.width // COLUMN))

    @property
    def down(self) -> int:
        """Lines for faults at most: two thirds of the screen are the sheet's, so that the cluster stays in sight."""
        return max(3, self.height * 2 // 3 - 2 - self.details)


def build_columns(
    faults: Sequence[Fault], *, chosen: int, title: str, expected: ExpectedImpact, fitting: Collection[str], room: Room
) -> Sheet:
    """The sheet with the fault number ``chosen`` marked; ``fitting`` names those that the target can be struck by."""
    pages = _pages(faults, room)
    at = next(number for number, page in enumerate(pages) if any(faults[chosen] in column for column in page))
    columns = pages[at]
    width = room.width // room.across
    rows: list[ItemRow | SheetTextRow] = []
    for line in range(max(len(column) for page in pages for column in page)):
        cells = [column[line] if line < len(column) else None for column in columns]
        rows.append(ItemRow(tuple(_cell(each, faults[chosen], fitting) for each in cells), width))
    rows += _details(faults[chosen], expected, room)
    where = f" {glyphs.NOTHING} page {at + 1} of {len(pages)}, pgdn" if len(pages) > 1 else ""
    return Sheet(title + where, tuple(rows))


def other_page(faults: Sequence[Fault], chosen: int, step: int, room: Room) -> int:
    """The first fault of another page, counted from the one of ``chosen``; round from the last to the first."""
    pages = _pages(faults, room)
    at = next(number for number, page in enumerate(pages) if any(faults[chosen] in column for column in page))
    page = pages[(at + step) % len(pages)]
    return next(faults.index(each) for column in page for each in column if isinstance(each, Fault))


def _pages(faults: Sequence[Fault], room: Room) -> list[list[list[Fault | str]]]:
    """Pages of columns of faults and of headings, as low as they can be."""
    for down in range(3, room.down + 1):
        columns = _columns(faults, down)
        if len(columns) <= room.across:
            return [columns]
    columns = _columns(faults, room.down)
    return [columns[at : at + room.across] for at in range(0, len(columns), room.across)]


def _columns(faults: Sequence[Fault], down: int) -> list[list[Fault | str]]:
    """Families one after the other; one that goes on in the next column has its heading there again."""
    columns: list[list[Fault | str]] = [[]]
    for family in FAMILIES:
        for number, fault in enumerate(each for each in faults if each.family == family):
            needed = 2 if number == 0 else 1
            if len(columns[-1]) + needed > down:
                columns.append([])
            if not columns[-1] or number == 0:
                columns[-1].append(family)
            columns[-1].append(fault)
    return columns


def _cell(cell: Fault | str | None, marked: Fault, fitting: Collection[str]) -> Cell:
    if cell is None:
        return None
    if isinstance(cell, str):
        return Heading(cell)
    dim = cell.name not in fitting
    return Item(cell.letter, with_defaults(cell), cell.summary, cell == marked, cell.glyph, cell.colour, dim)


def _details(fault: Fault, expected: ExpectedImpact, room: Room) -> list[SheetTextRow]:
    """What the marked fault is, and a line for each kind of thing that it would hit; always as many lines."""
    width = max(room.width - 2, 20)
    tall = room.details == DETAILS
    rows = [SheetTextRow("", "")] if tall else []
    rows += [SheetTextRow("", line) for line in _cut(fault.summary, width, 2 if tall else 1)]
    told = _cut(expected.sentence, width - LABEL, 2)
    rows += [SheetTextRow(f"{'Expected now:' if not at else '':<{LABEL}}", line) for at, line in enumerate(told)]
    left = room.details - len(rows)
    lines = expected_lines(expected, 6 if room.width >= 100 else 4)
    if not tall:  # Who is down is who was aimed at, and the first to go where room is short.
        lines = [(label, text) for label, text in lines if label != DOWN]
    if len(lines) > left:
        rest = f" {glyphs.NOTHING} ".join(f"{label} {text}" for label, text in lines[left:])
        lines = [*lines[: left - 1], (lines[left - 1][0], f"{lines[left - 1][1]} {glyphs.NOTHING} {rest}")]
    rows += [SheetTextRow(f"{label:<{LABEL}}", _one(text, width - LABEL)) for label, text in lines]
    return [*rows, *[SheetTextRow("", "")] * (room.details - len(rows))]


def _cut(text: str, width: int, most: int) -> list[str]:
    """``text`` in ``most`` lines; what does not fit is cut off."""
    lines = wrap(text, width)
    return lines if len(lines) <= most else [*lines[: most - 1], _one(" ".join(lines[most - 1 :]), width)]


def _one(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
