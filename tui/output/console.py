"""Output of the command line: results and documents to stdout, messages and progress to stderr; excerpts of files.

A terminal gets colours, tables, lines that break between words, and progress. A pipe gets none of that: plain lines,
one thing a line.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from playbooks.errors import PlaybookError, lines_of
from playbooks.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress


# An excerpt of a file, with a caret below the column of the mistake.


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


PIPED = 120
"""Columns that a line of a file may take where nobody knows how wide the reader's are."""


NO_BREAK: Final = "\u00a0"
"""The space in numbers of floodmark's own texts."""


class Quiet(Console):
    """A console that shows nothing which a terminal would take for a command, and falls silent when nobody reads it.

    What is written keeps its colours and its lines; all else without a picture is spelled out.
    """

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As ever, with every text that is to be shown spelled out."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text, f"\n{NO_BREAK}"), segment.style)

    def on_broken_pipe(self) -> None:
        """The reader of the pipe left: write no more. What is still buffered goes nowhere, without an error."""
        self.quiet = True
        silence(self.file)


def silence(stream: IO[Any]) -> None:
    """Point a stream whose reader has gone at nothing: Python would complain as it flushes it at the end."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)


def people() -> Console:
    """The console for messages and progress, on stderr."""
    return Quiet(stderr=True, highlight=False, soft_wrap=True)


def answers(*, document: bool = False) -> Console:
    """The console for what was asked for, on stdout; silent where a ``document`` takes its place there."""
    return Quiet(highlight=False, soft_wrap=True, quiet=document)


def say(console: Console, text: str, style: str = "") -> None:
    """Print one line: no markup is read in it, and a terminal that is too narrow breaks it between words."""
    say_parts(console, [(text, style)])


def say_parts(console: Console, parts: Sequence[tuple[str, str]], indent: str | None = None) -> None:
    """Print a line of parts, each with its style; ``indent`` is of its further lines, as :func:`broken` takes it."""
    told = Text(end="")
    for text, style in parts:
        told.append(printable(text, NO_BREAK), style or None)
    lines = [told]
    if console.is_terminal and told.cell_len > console.width:
        lines = broken(told, console.width, indent)
    for line in lines:
        console.print(line)


LABEL: Final = re.compile(r" *(?:\S+(?: \S+){0,2} {2,}|)")
"""What a line begins with that its further lines stay clear of: spaces, and a label that ends with two or more."""


def broken(text: Text, width: int, indent: str | None = None) -> list[Text]:
    """A line in pieces of at most ``width`` columns, broken between words.

    A word longer than a line, such as a path, gets one of its own and stays whole, to be copied. ``indent`` stands
    before all pieces but the first; None: as far in as the first one's text, behind its label.
    """
    plain = text.plain
    if indent is None:
        label = LABEL.match(plain)
        indent = " " * (cell_len(label[0]) if label is not None else 0)
    indent = indent if cell_len(indent) <= width // 2 else "    "
    pieces: list[Text] = []
    inset, start, end, taken = "", 0, 0, 0
    for word in re.finditer(r" *([^ ]+)", plain):
        columns = cell_len(word[0])
        if taken + columns > width and plain[start:end].strip():
            pieces.append(Text(inset, end="").append_text(text[start:end]))
            start, columns = word.start(1), cell_len(word[1])
            inset = indent if cell_len(indent) + columns <= width else ""
            taken = cell_len(inset)
        taken += columns
        end = word.end()
    return [*pieces, Text(inset, end="").append_text(text[start:end])]


def say_lines(console: Console, text: str) -> None:
    """Several lines of floodmark's own; whatever comes from outside in them is spelled out already."""
    for line in text.splitlines():
        say(console, line)


def complain(text: str) -> None:
    """One error for a person."""
    console = people()
    told = escape(printable(text, "\n"))
    console.print(f"[bold red]error[/] {told}" if console.is_terminal else f"error: {told}")


def complain_of(error: PlaybookError) -> None:
    """Every problem of a playbook as ``path:line:column: key: message``, with the line of the file below it."""
    console = people()
    width = console.width if console.is_terminal else PIPED
    for problem in error.problems:
        complain(str(problem))
        excerpt = excerpt_of(error.texts.get(problem.path, ""), problem.line, problem.column, width)
        if excerpt is not None:
            say(console, excerpt.line)
            say(console, excerpt.caret, "bold red" if console.is_terminal else "")


COLUMN_GAP: Final = 3
"""Columns of the terminal between two of a table."""
TABLE_EDGES: Final = 2
"""Columns of the terminal left and right of a table, both."""


def table(console: Console, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows under heads: a table on a terminal, columns padded with spaces elsewhere.

    On a terminal cells break between words, and columns that do not fit beside each other stand in a second table
    below, behind the first column again.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    if console.is_terminal:
        for columns in _tables(heads, cells, console.width):
            drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
            for column, width in columns.items():
                drawn.add_column(escape(heads[column]), overflow="fold", width=width)
            for row in cells:
                drawn.add_row(*(escape(row[column]) for column in columns))
            console.print(drawn, soft_wrap=False)
        return
    widths = [max(len(row[column]) for row in [list(heads), *cells]) for column in range(len(heads))]
    for row in [list(heads), *cells]:
        say(console, "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _tables(heads: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> list[dict[int, int]]:
    """Which columns stand in which table, with their widths; each table fits into ``width``."""
    width -= TABLE_EDGES
    least: list[int] = []
    most: list[int] = []
    for column, head in enumerate(heads):
        texts = [head, *(row[column] for row in cells)]
        word = max(cell_len(word) for text in texts for word in (text.split() or [""]))
        least.append(max(word if word <= width * 5 // 8 else width // 2, 1))
        most.append(max(*map(cell_len, texts), 1))
        if column == 0 and most[0] <= width * 5 // 8:
            least[0] = most[0]
    tables: list[list[int]] = [[0]]
    for column in range(1, len(heads)):
        beside = [*tables[-1], column]
        if sum(least[each] for each in beside) + COLUMN_GAP * (len(beside) - 1) > width and len(beside) > 2:
            tables.append([0])
        tables[-1].append(column)
    return [_widths(columns, least, most, width) for columns in tables]


def _widths(columns: Sequence[int], least: Sequence[int], most: Sequence[int], width: int) -> dict[int, int]:
    """As wide as the texts, and where that is too much the widest columns narrower, down to their longest word."""
    widths = {column: most[column] for column in columns}
    room = width - COLUMN_GAP * (len(columns) - 1)
    while sum(widths.values()) > room:
        wide = [column for column in columns if widths[column] > least[column]]
        if not wide:
            break
        widths[max(wide, key=lambda column: widths[column])] -= 1
    return widths


def print_document(text: str) -> None:
    """A whole document on stdout, and nothing else; a terminal is spared what it would take for a command."""
    if sys.stdout.isatty():
        text = printable(text, f"\n\t{NO_BREAK}")
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)


# Progress: a moving line on a terminal, nothing for short work, and nothing in a pipe.


PATIENCE_S = 1.0
"""Nothing is said about what is done by then."""


class ProgressLine:
    """Progress of one thing, on a console; use it as a context and call :meth:`tell` often."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._started = clock()
        self._bar: Progress | None = None

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hide()

    def hide(self) -> None:
        """Take the moving line away, to print something else."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def tell(self, words: Callable[[], str]) -> None:
        """How far it is, when it is time to say so."""
        now = self._clock()
        if now - self._started >= PATIENCE_S and self._console.is_terminal and not self._console.quiet:
            self._move(words())

    def _move(self, text: str) -> None:
        if self._bar is None:
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - see tell

            columns = (SpinnerColumn("line"), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.add_task(text)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=text)
