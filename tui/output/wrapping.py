"""Long sentences on a terminal that may be narrow."""

import os
import textwrap
from typing import Final

from rich.console import Console

from tui.output.console import say

PIPED: Final = 110
"""Columns of a wrapped line where nobody knows how wide the reader's are, unless COLUMNS says less."""


def width_of(console: Console) -> int:
    """Columns that a wrapped line may take."""
    if console.is_terminal:
        return console.width
    said = os.environ.get("COLUMNS", "")
    return min(PIPED, int(said)) if said.isdecimal() and int(said) else PIPED


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """A sentence in lines, all but the first indented; what has no blank in it stays whole, to be copied."""
    return textwrap.wrap(
        text, max(width, len(indent) + 20), subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    ) or [text]


def say_wrapped(console: Console, text: str, indent: str, style: str = "") -> None:
    """The same, printed."""
    for line in wrapped(text, width_of(console), indent):
        say(console, line, style)
