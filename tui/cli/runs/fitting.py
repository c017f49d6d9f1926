"""Makes a matrix fit a terminal: heads are broken at their dots, and if that is not enough rows get letters.

Nothing inside a cell is ever broken: numbers stay whole.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from playbooks.results.matrix_table import Table

GAP: Final = "  "
HEAD: Final = 13
"""Characters of a head's line, where it can be broken."""


def fitted(told: Table, width: int) -> list[str]:
    """The lines of a table; wider than ``width`` only if its measures alone are."""
    broken = _lines(told.heads, told.rows)
    if max(map(len, broken)) <= width or not told.axes:
        return broken
    named, heads, rows = [], [], []
    heads = [told.heads[0], "", *told.heads[1 + told.axes :]]
    for number, row in enumerate(told.rows):
        letter = _letter(number)
        pairs = zip(told.heads[1 : 1 + told.axes], row[1 : 1 + told.axes], strict=True)
        named.append(f"{letter}{GAP}{' '.join(f'{name}={value}' for name, value in pairs)}")
        rows.append((row[0], letter, *row[1 + told.axes :]))
    return [*named, "", *_lines(heads, rows)]


def _lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    tops = [list(_broken(head)) for head in heads]
    widths = [
        max(map(len, [*top, *(row[column] for row in rows)]), default=0) for column, top in enumerate(tops)
    ]  # fmt: skip
    depth = max(map(len, tops))
    above = [[""] * (depth - len(top)) + top for top in tops]
    lines = [*zip_longest(*above, fillvalue=""), tuple("-" * width for width in widths), *rows]
    return [GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _broken(head: str) -> Iterator[str]:
    """A head in lines, broken behind dots, dashes and spaces."""
    line = ""
    for word in head.replace(".", ".\0").replace(" ", " \0").replace("-", "-\0").split("\0"):
        if line and len(line) + len(word) > HEAD:
            yield line.rstrip()
            line = ""
        line += word
    yield line.rstrip()


def _letter(number: int) -> str:
    """``a`` to ``z``, then ``aa`` and so on."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters
