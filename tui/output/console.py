"""Where the command line writes: people's text to stderr, documents and listings to stdout.

On a terminal there are colours and tables; in a pipe plain lines, one thing a line, never wrapped.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import IO, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from playbooks.errors import PlaybookError
from playbooks.exit_codes import BAD_INPUT, FAILED, INCONCLUSIVE, INTERNAL, INTERRUPTED, OK
from tui.output.excerpts import excerpt_of

__all__ = [
    "BAD_INPUT",
    "FAILED",
    "INCONCLUSIVE",
    "INTERNAL",
    "INTERRUPTED",
    "OK",
    "Quiet",
    "answers",
    "complain",
    "complain_of",
    "people",
    "print_document",
    "say",
    "silence",
    "table",
]

PIPED = 120
"""Columns that a line of a file may take where nobody knows how wide the reader's are."""


class Quiet(Console):
    """A console that falls silent when its reader has gone, so that the work behind it still ends well."""

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
    """One line as it is: no markup is read in it."""
    console.print(escape(text), style=style or None)


def complain(text: str) -> None:
    """One error for a person."""
    console = people()
    console.print(f"[bold red]error[/] {escape(text)}" if console.is_terminal else f"error: {escape(text)}")


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
    """A whole document on stdout, and nothing else."""
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
