"""The branches of a session as a table: which left which other one when, how far each has come, and what came of it."""

from dataclasses import dataclass
from typing import Final

from cluster_model.observation.views import ClusterView
from tui.terminal import glyphs
from tui.terminal.format import clock, count

Piece = tuple[str, str]
"""Text and role."""
ROOMY: Final = 96
"""From this width on a line says what its branch began with; below, only the line of the chosen one does."""
NAME: Final = 7
LEFT: Final = 18
COME: Final = 10
"""Cells of the first columns."""
_NUMBERS: Final = (("lost", 5), ("missing", 8), ("failed", 7), ("unknown", 8), ("broken", 7))


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of a branch."""

    letter: str
    parent: str
    """Empty for the first of all."""
    left_us: int
    began: str
    come_us: int
    lost: int
    missing: int
    failed: int
    unknown: int
    broken: int
    """Rules that were found broken."""
    shown: bool
    """Whether it is the one on the screen."""


def row(letter: str, parent: str, left_us: int, began: str, view: ClusterView, *, shown: bool) -> Row:
    """A branch by the view of its present."""
    books = view.ledger
    return Row(
        letter, parent, left_us, began, view.now_us, books.acked_lost, books.missing, books.failed, books.unknown,
        view.violations, shown,
    )  # fmt: skip


def heading(width: int) -> list[Piece]:
    """Above the table."""
    text = f"  {'branch':<{NAME}}{'left':<{LEFT}}{'come to':>{COME}}" + "".join(
        f"{name:>{size}}" for name, size in _NUMBERS
    )
    return [(text + ("  began with" if width >= ROOMY else ""), "quiet")]


def line(row: Row, width: int, *, chosen: bool) -> list[Piece]:
    """A branch."""
    left = f"{row.parent} at {clock(row.left_us)}" if row.parent else ""
    pieces = [
        (f"{glyphs.MARKER if chosen else ' '} ", "key"),
        (f"{row.letter} {glyphs.PLAY if row.shown else ''}".ljust(NAME), "strong" if row.shown else "text"),
        (f"{left[: LEFT - 1]:<{LEFT}}", "quiet"),
        (f"{clock(row.come_us):>{COME}}", "text"),
    ]
    roles = ("lost", "warning", "warning", "warning", "alarm")
    numbers = (row.lost, row.missing, row.failed, row.unknown, row.broken)
    for (_name, size), role, number in zip(_NUMBERS, roles, numbers, strict=True):
        text = count(number)
        pieces += [(" " * (size - len(text)), "text"), (text, role if number else "quiet")]
    if width >= ROOMY:
        pieces.append((f"  {row.began}"[: max(0, width - sum(len(text) for text, _role in pieces))], "quiet"))
    return pieces


def about(row: Row, width: int) -> str:
    """The chosen branch in a sentence, cut where it is too long."""
    if row.parent:
        text = f"{row.letter} went as {row.parent} up to {clock(row.left_us)}, then: {row.began}"
    else:
        text = f"{row.letter} is the session as it began"
    text += "; on the screen now" if row.shown else ""
    return text if len(text) <= width else f"{text[: width - 1]}…"
