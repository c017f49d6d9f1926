"""Output of the command line: people's text to stderr, documents to stdout; excerpts of files, progress.

On a terminal there are colours and tables; in a pipe plain lines, one thing a line, never wrapped.
"""

import os
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
    """The console for people, on stderr."""
    return Quiet(stderr=True, highlight=False, soft_wrap=True)


def answers() -> Console:
    """The console for what was asked for, on stdout."""
    return Quiet(highlight=False, soft_wrap=True)


def say(console: Console, text: str, style: str = "") -> None:
    """One line as it is: no markup is read in it, and it stays one whatever is in it."""
    console.print(escape(printable(text, NO_BREAK)), style=style or None)


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


def table(console: Console, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows under heads: a table on a terminal, columns padded with spaces elsewhere.

    The first column holds names, which stay whole where the terminal is wide enough for it.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    if console.is_terminal:
        drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        whole = max(len(row[0]) for row in [list(heads), *cells]) <= console.width * 5 // 8
        for column, head in enumerate(heads):
            drawn.add_column(head, overflow="fold", no_wrap=column == 0 and whole)
        for row in cells:
            drawn.add_row(*map(escape, row))
        console.print(drawn, soft_wrap=False)
        return
    widths = [max(len(row[column]) for row in [list(heads), *cells]) for column in range(len(heads))]
    for row in [list(heads), *cells]:
        say(console, "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def print_document(text: str) -> None:
    """A whole document on stdout, and nothing else; a terminal is spared what it would take for a command."""
    if sys.stdout.isatty():
        text = printable(text, f"\n\t{NO_BREAK}")
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)


# Progress: a moving line on a terminal, a line now and then elsewhere, nothing for short work.


PATIENCE_S = 1.0
"""Nothing is said about what is done by then."""
EVERY_S = 5.0
"""Between two lines where nothing can move."""


class Telling:
    """Progress of one thing, on a console; use it as a context and call :meth:`tell` often."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._started = clock()
        self._said = self._started
        self._bar: Progress | None = None

    def __enter__(self) -> "Telling":
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
        if now - self._started < PATIENCE_S or self._console.quiet:
            return
        if self._console.is_terminal:
            self._move(words())
        elif now - self._said >= EVERY_S:
            self._said = now
            say(self._console, words())

    def _move(self, text: str) -> None:
        if self._bar is None:
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - see tell

            columns = (SpinnerColumn("line"), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.add_task(text)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=text)
