"""The which-key sheet: every fault of the catalogue with its letter, what it would hit, and what to expect now."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from faults.declarations.action import Value
from faults.declarations.operation import Operation
from playbooks.model.fault_words import value_text
from tui.terminal.format import wrap

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
class TextRow:
    """A line of words below the faults."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """The open sheet."""

    title: str
    rows: tuple[ItemRow | TextRow, ...]


def build(faults: Sequence[FaultLike], *, chosen: int, title: str, expectation: str, width: int) -> Sheet:
    """The sheet for ``width`` cells with the fault number ``chosen`` marked."""
    items = [Item(each.letter, with_defaults(each), each.summary, index == chosen) for index, each in enumerate(faults)]
    rows: list[ItemRow | TextRow] = []
    if len(items) <= ONE_COLUMN:
        rows += [ItemRow((item,), width) for item in items]
    else:
        column = min(max(len(item.title) for item in items) + 7, max(width, 10))
        across = max(1, width // column)
        down = -(-len(items) // across)
        rows += [ItemRow(tuple(items[at::down]), column) for at in range(down)]
    if len(items) > ONE_COLUMN or len(items[chosen].summary) > width - SUMMARY_AT:
        rows += [TextRow("", line) for line in wrap(items[chosen].summary, max(width - 2, 20))[:2]]
    rows += [TextRow("Expected now: ", line) for line in wrap(expectation, max(width - 16, 20))[:1]]
    rows += [TextRow("              ", line) for line in wrap(expectation, max(width - 16, 20))[1:3]]
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
