"""Writing to readers that may leave, as ``head`` does: the report is made all the same, and ends quietly."""

import os
import sys
from typing import IO, Any, TextIO

from rich.console import Console


class Patient(Console):
    """A console that falls silent when its reader has gone."""

    def on_broken_pipe(self) -> None:
        """Write no more, and let what is still buffered go nowhere."""
        self.quiet = True
        silence(self.file)


def say(text: str, stream: TextIO | None = None) -> None:
    """One line for a person, on stderr unless told otherwise; no error where nobody reads it any more."""
    stream = stream or sys.stderr
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        silence(stream)


def silence(stream: IO[Any]) -> None:
    """Point a stream whose reader has gone at nothing: Python would complain as it flushes it at the end."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)
