"""Fault sheet: the faults with their letters, by family and page, and the predicted impact of the marked one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from faults.declarations import FAMILIES, ExpectedImpact, Fault, Operation, Value
from playbooks.model import DOWN, expected_lines, value_text
from tui.terminal import glyphs
from tui.terminal.format import wrap

# The which-key sheet: every fault of the catalogue with its letter, and the predicted impact of the marked one.


ONE_COLUMN: Final = 8
"""Up to this many items each has a line with its summary; more are arranged in columns."""
SUMMARY_AT: Final = 26
"""Cell at which a summary begins."""


_TOLD: Final = ("duration", "percent", "throughput", "size")
"""Types of a parameter whose default is shown after the title."""


class ParamLike(Protocol):
    """Parameter of a fault, as far as the sheet shows it."""

    @property
    def name(self) -> str:
        """Name in playbooks."""
        ...

    @property
    def type(self) -> str:
        """``duration``, ``int``, ``bool``, ``choice`` or ``size``."""
        ...

    @property
    def default(self) -> Value | None:
        """Default value."""
        ...


class FaultLike(Protocol):
    """Fault of the catalogue, as far as the sheet shows it."""

    @property
    def name(self) -> str:
        """Name in playbooks."""
        ...

    @property
    def letter(self) -> str:
        """Key on the sheet."""
        ...

    @property
    def title(self) -> str:
        """Title of a few words."""
        ...

    @property
    def summary(self) -> str:
        """Description in one sentence."""
        ...

    @property
    def default_duration_us(self) -> int:
        """Duration when a key injects it, -1 until healed."""
        ...

    @property
    def params(self) -> Sequence[ParamLike]:
        """Parameters of the fault."""
        ...


@dataclass(frozen=True, slots=True)
class Item:
    """Fault or operation on the sheet."""

    letter: str
    title: str
    summary: str
    chosen: bool
    glyph: str = ""
    colour: str = "text"
    """Role of the glyph."""
    dim: bool = False
    """Whether it cannot be injected on the target."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Name of a family above its faults."""

    text: str


@dataclass(frozen=True, slots=True)
class ItemRow:
    """Faults side by side, each ``width`` cells wide; a single one without a glyph shows its summary too."""

    items: tuple[Item | Heading | None, ...]
    width: int


@dataclass(frozen=True, slots=True)
class SheetTextRow:
    """Line of text below the faults."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """Title and rows of the open sheet."""

    title: str
    rows: tuple[ItemRow | SheetTextRow, ...]


def build_list(faults: Sequence[FaultLike], *, chosen: int, title: str, expectation: str, width: int) -> Sheet:
    """Return the sheet for ``width`` cells with item number ``chosen`` marked."""
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
    rows += [SheetTextRow("Impact now:   ", line) for line in wrap(expectation, max(width - 16, 20))[:1]]
    rows += [SheetTextRow("              ", line) for line in wrap(expectation, max(width - 16, 20))[1:3]]
    return Sheet(title, tuple(rows))


def with_defaults(fault: FaultLike) -> str:
    """Return the title with the default duration or amount: ``GC pause 15s``, ``loss 5%``."""
    if isinstance(fault, Operation):
        return fault.title
    if fault.default_duration_us >= 0:
        return f"{fault.title} {value_text('duration', fault.default_duration_us)}"
    lengths = [
        value_text(param.type, param.default)
        for param in fault.params
        if param.type in _TOLD and isinstance(param.default, int) and param.default > 0
    ]
    return " ".join([fault.title, *lengths[:1]])


COLUMN: Final = 26
"""Minimum cells of a column: letter, glyph, title."""
COLUMNS: Final = 6
"""Maximum number of columns."""
TALL: Final = 30
"""Minimum terminal height for all lines of the predicted impact."""
DETAILS: Final = 10
"""Lines below the faults on tall terminals ..."""
FEW_DETAILS: Final = 5
"""... and on others."""
LABEL: Final = 17
"""Cells of the label of a line of the predicted impact."""

Cell = Heading | Item | None


@dataclass(frozen=True, slots=True)
class SheetSize:
    """Space for the sheet: the width inside its border, and the height of the terminal."""

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
        """Maximum lines for faults: the sheet takes two thirds of the height, so that the cluster stays visible."""
        return max(3, self.height * 2 // 3 - 2 - self.details)


def build_columns(
    faults: Sequence[Fault],
    *,
    chosen: int,
    title: str,
    expected: ExpectedImpact,
    fitting: Collection[str],
    size: SheetSize,
) -> Sheet:
    """Return the sheet with fault number ``chosen`` marked; ``fitting`` names the faults that apply to the target."""
    pages = _pages(faults, size)
    at = next(number for number, page in enumerate(pages) if any(faults[chosen] in column for column in page))
    columns = pages[at]
    width = size.width // size.across
    rows: list[ItemRow | SheetTextRow] = []
    for line in range(max(len(column) for page in pages for column in page)):
        cells = [column[line] if line < len(column) else None for column in columns]
        rows.append(ItemRow(tuple(_cell(each, faults[chosen], fitting) for each in cells), width))
    rows += _details(faults[chosen], expected, size)
    where = f" {glyphs.NOTHING} page {at + 1} of {len(pages)}, pgdn" if len(pages) > 1 else ""
    return Sheet(title + where, tuple(rows))


def other_page(faults: Sequence[Fault], chosen: int, step: int, size: SheetSize) -> int:
    """Return the first fault of the page ``step`` pages after that of ``chosen``, wrapping around."""
    pages = _pages(faults, size)
    at = next(number for number, page in enumerate(pages) if any(faults[chosen] in column for column in page))
    page = pages[(at + step) % len(pages)]
    return next(faults.index(each) for column in page for each in column if isinstance(each, Fault))


def _pages(faults: Sequence[Fault], size: SheetSize) -> list[list[list[Fault | str]]]:
    """Return pages of columns of faults and headings, with as few lines as possible."""
    for down in range(3, size.down + 1):
        columns = _columns(faults, down)
        if len(columns) <= size.across:
            return [columns]
    columns = _columns(faults, size.down)
    return [columns[at : at + size.across] for at in range(0, len(columns), size.across)]


def _columns(faults: Sequence[Fault], down: int) -> list[list[Fault | str]]:
    """Return columns of families in order; a family that continues in the next column repeats its heading."""
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


def _details(fault: Fault, expected: ExpectedImpact, size: SheetSize) -> list[SheetTextRow]:
    """Return summary and predicted impact of the marked fault, always the same number of lines."""
    width = max(size.width - 2, 20)
    tall = size.details == DETAILS
    rows = [SheetTextRow("", "")] if tall else []
    rows += [SheetTextRow("", line) for line in _cut(fault.summary, width, 2 if tall else 1)]
    impact = _cut(expected.sentence, width - LABEL, 2)
    rows += [SheetTextRow(f"{'Impact now:' if not at else '':<{LABEL}}", line) for at, line in enumerate(impact)]
    left = size.details - len(rows)
    lines = expected_lines(expected, 6 if size.width >= 100 else 4)
    if not tall:  # The node that goes down is the target, so this line is dropped first.
        lines = [(label, text) for label, text in lines if label != DOWN]
    if len(lines) > left:
        rest = f" {glyphs.NOTHING} ".join(f"{label} {text}" for label, text in lines[left:])
        lines = [*lines[: left - 1], (lines[left - 1][0], f"{lines[left - 1][1]} {glyphs.NOTHING} {rest}")]
    rows += [SheetTextRow(f"{label:<{LABEL}}", _one(text, width - LABEL)) for label, text in lines]
    return [*rows, *[SheetTextRow("", "")] * (size.details - len(rows))]


def _cut(text: str, width: int, limit: int) -> list[str]:
    """Return ``text`` in at most ``limit`` lines; the rest is cut off."""
    lines = wrap(text, width)
    return lines if len(lines) <= limit else [*lines[: limit - 1], _one(" ".join(lines[limit - 1 :]), width)]


def _one(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
