"""Output of the command line: results and documents to stdout, messages and progress to stderr; excerpts of files.

A terminal gets colours, tables, word wrap and progress. A pipe gets plain lines, one item per line.
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


# An excerpt of a file, with a caret below the column of the error.


TAB: Final = "    "
CUT: Final = "..."
LEAST: Final = 20
"""Least number of columns of the file to show, even on a narrower terminal."""


class Excerpt(NamedTuple):
    """A line of a file, and the line with the caret to print below it."""

    line: str
    caret: str


def excerpt_of(text: str, line: int, column: int, width: int) -> Excerpt | None:
    """Return the excerpt at a line and column (from 1), cut to ``width`` terminal columns; None if no such line.

    Tabs become spaces and unprintable characters become escapes; wide characters count as two columns.
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
    """Return the text that the terminal shows for a character."""
    return TAB if character == "\t" else printable(character)


def _cut(cells: list[str], at: int, room: int) -> tuple[str, str]:
    """Split the line at ``at`` and shorten both parts if the whole does not fit into ``room`` columns."""
    before, after = "".join(cells[:at]), "".join(cells[at:])
    if cell_len(before) + cell_len(after) <= room:
        return before, after
    kept = max(room * 2 // 3, room - cell_len(after))  # the text before the error matters more than the text after
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
"""Columns for a line of a file when the output is not a terminal."""


NO_BREAK: Final = "\u00a0"
"""No-break space, used in numbers such as ``99 %``."""


class SafeConsole(Console):
    """A console that escapes control characters, and stops writing when the reader of the pipe is gone.

    Colours and line breaks are kept; every other unprintable character is written as an escape sequence.
    """

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as the base class does, with unprintable characters escaped."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text, f"\n{NO_BREAK}"), segment.style)

    def on_broken_pipe(self) -> None:
        """Stop writing, because the reader of the pipe is gone; discard what is buffered without an error."""
        self.quiet = True
        redirect_to_null(self.file)


def redirect_to_null(stream: IO[Any]) -> None:
    """Redirect a stream without a reader to the null device, so that the flush at exit does not fail."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)


def discard_unwritable(stream: IO[Any] | None) -> None:
    """Flush a stream; if that fails, discard what is buffered, so that the flush at exit does not set the exit code.

    None is a stream that was closed before the program started.
    """
    if stream is None or stream.closed:
        return
    try:
        stream.flush()
    except OSError:
        redirect_to_null(stream)


def stderr_console() -> Console:
    """Return the console for messages and progress, on stderr."""
    return SafeConsole(stderr=True, highlight=False, soft_wrap=True)


def stdout_console(*, document: bool = False) -> Console:
    """Return the console for results, on stdout; silent if a ``document`` is printed there instead."""
    return SafeConsole(highlight=False, soft_wrap=True, quiet=document)


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print one line without interpreting markup; a narrow terminal wraps it between words."""
    print_parts(console, [(text, style)])


def print_parts(console: Console, parts: Sequence[tuple[str, str]], indent: str | None = None) -> None:
    """Print a line of (text, style) parts; ``indent`` is that of continuation lines, see :func:`wrap_line`."""
    full_text = Text(end="")
    for text, style in parts:
        full_text.append(printable(text, NO_BREAK), style or None)
    lines = [full_text]
    if console.is_terminal and full_text.cell_len > console.width:
        lines = wrap_line(full_text, console.width, indent)
    for line in lines:
        console.print(line)


LABEL: Final = re.compile(r" *(?:\S+(?: \S+){0,2} {2,}|)")
"""Prefix of a line that sets the indent of its continuation lines: spaces, and a label followed by two spaces."""


def wrap_line(text: Text, width: int, indent: str | None = None) -> list[Text]:
    """Wrap a line into pieces of at most ``width`` columns, between words.

    A word longer than a line, such as a path, gets a line of its own and stays whole, so that it can be copied.
    ``indent`` is put before every piece but the first; None: the width of the first piece's label.
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


def print_lines(console: Console, text: str) -> None:
    """Print several lines; text from outside in them must be escaped already."""
    for line in text.splitlines():
        print_line(console, line)


def print_error(text: str) -> None:
    """Print one error message on stderr."""
    console = stderr_console()
    message = escape(printable(text, "\n"))
    console.print(f"[bold red]error[/] {message}" if console.is_terminal else f"error: {message}")


def print_problems(error: PlaybookError) -> None:
    """Print every problem of a playbook as ``path:line:column: key: message``, with an excerpt of the file."""
    console = stderr_console()
    width = console.width if console.is_terminal else PIPED
    for problem in error.problems:
        print_error(str(problem))
        excerpt = excerpt_of(error.texts.get(problem.path, ""), problem.line, problem.column, width)
        if excerpt is not None:
            print_line(console, excerpt.line)
            print_line(console, excerpt.caret, "bold red" if console.is_terminal else "")


COLUMN_GAP: Final = 3
"""Terminal columns between two columns of a table."""
TABLE_EDGES: Final = 2
"""Terminal columns left and right of a table, in total."""


def table(console: Console, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table with a heading row: drawn on a terminal, columns padded with spaces in a pipe.

    On a terminal cells wrap between words; columns that do not fit go into a second table below, which repeats the
    first column.
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
        print_line(console, "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _tables(heads: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> list[dict[int, int]]:
    """Distribute columns over tables that fit into ``width``; each table maps column index to width."""
    width -= TABLE_EDGES
    least: list[int] = []
    widest: list[int] = []
    for column, head in enumerate(heads):
        texts = [head, *(row[column] for row in cells)]
        word = max(cell_len(word) for text in texts for word in (text.split() or [""]))
        least.append(max(word if word <= width * 5 // 8 else width // 2, 1))
        widest.append(max(*map(cell_len, texts), 1))
        if column == 0 and widest[0] <= width * 5 // 8:
            least[0] = widest[0]
    tables: list[list[int]] = [[0]]
    for column in range(1, len(heads)):
        beside = [*tables[-1], column]
        if sum(least[each] for each in beside) + COLUMN_GAP * (len(beside) - 1) > width and len(beside) > 2:
            tables.append([0])
        tables[-1].append(column)
    return [_widths(columns, least, widest, width) for columns in tables]


def _widths(columns: Sequence[int], least: Sequence[int], widest: Sequence[int], width: int) -> dict[int, int]:
    """Return column widths: those of the texts, with the widest columns narrowed to their longest word if needed."""
    widths = {column: widest[column] for column in columns}
    room = width - COLUMN_GAP * (len(columns) - 1)
    while sum(widths.values()) > room:
        wide = [column for column in columns if widths[column] > least[column]]
        if not wide:
            break
        widths[max(wide, key=lambda column: widths[column])] -= 1
    return widths


def print_document(text: str) -> None:
    """Print a whole document on stdout, if there is one; on a terminal, control characters are escaped."""
    if sys.stdout is None:
        return
    if sys.stdout.isatty():
        text = printable(text, f"\n\t{NO_BREAK}")
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        redirect_to_null(sys.stdout)


# Progress: a moving line on a terminal, nothing for short work, and nothing in a pipe.


PATIENCE_S = 1.0
"""Seconds before progress is shown; shorter work shows none."""


class ProgressLine:
    """Progress line of one task on a terminal; use it as a context manager and call :meth:`update` often."""

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
        """Remove the progress line, so that something else can be printed."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def update(self, words: Callable[[], str]) -> None:
        """Show ``words()`` as progress, if the task has taken long enough and the console is a terminal."""
        now = self._clock()
        if now - self._started >= PATIENCE_S and self._console.is_terminal and not self._console.quiet:
            self._move(words())

    def _move(self, text: str) -> None:
        if self._bar is None:
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - only a terminal needs it

            columns = (SpinnerColumn("line"), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.add_task(text)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=text)
