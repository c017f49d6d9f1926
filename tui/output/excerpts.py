"""A line of a file with a caret below the column that something is wrong at."""

from typing import Final, NamedTuple

from rich.cells import cell_len

from playbooks.errors import lines_of, printable

TAB: Final = "    "
CUT: Final = "..."
LEAST: Final = 20
"""Columns of the file that are shown however narrow the terminal is."""


class Excerpt(NamedTuple):
    """Two lines to print, one below the other."""

    line: str
    caret: str


def excerpt_of(text: str, line: int, column: int, width: int) -> Excerpt | None:
    """Line and column, from 1, of a text, cut to ``width`` columns of a terminal; None where there is no such line.

    Tabs become spaces and characters that are not printed become escapes; wide ones take the two columns they have.
    """
    lines = lines_of(text)
    if not text or not 1 <= line <= len(lines):
        return None
    cells = [_cell(character) for character in lines[line - 1]]
    at = min(max(column, 1) - 1, len(cells))
    gutter = f"{line:>5} | "
    before, after = _cut(cells, at, max(width - len(gutter) - 1, LEAST))
    return Excerpt(gutter + before + after, " " * (len(gutter) - 2) + "| " + " " * cell_len(before) + "^")


def _cell(character: str) -> str:
    """What stands for a character on the screen."""
    return TAB if character == "\t" else printable(character)


def _cut(cells: list[str], at: int, room: int) -> tuple[str, str]:
    """The line before the place and from it on, both cut where the whole does not fit."""
    before, after = "".join(cells[:at]), "".join(cells[at:])
    if cell_len(before) + cell_len(after) <= room:
        return before, after
    kept = max(room * 2 // 3, room - cell_len(after))  # more of what leads there than of what follows
    if cell_len(before) > kept:
        start = at
        left = kept - len(CUT)
        while start and cell_len(cells[start - 1]) <= left:
            start -= 1
            left -= cell_len(cells[start])
        before = CUT + "".join(cells[start:at])
    if cell_len(after) > room - cell_len(before):
        end, left = at, room - cell_len(before) - len(CUT)
        while end < len(cells) and cell_len(cells[end]) <= left:
            left -= cell_len(cells[end])
            end += 1
        after = "".join(cells[at:end]) + CUT
    return before, after
