"""Text and tables that Markdown takes as they are: the manual's own, and those with other people's words in them."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

_SPECIAL: Final = frozenset("\\`*_{}[]#!|~<>&@:$^")
"""What could begin something inside a line of Markdown or HTML: a link, a formula, an emoji, an entity."""
_WEB: Final = re.compile(r"(www)\.", re.IGNORECASE)
_APART: Final = "<!-- -->"
"""Shows as nothing, and keeps a sign from the word that it would make a mention or a reference with."""


def safe(text: str) -> str:
    """Text of the manual, which is read as it is written, too: names like ``__consumer_offsets`` are no emphasis."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("__", "\\_\\_")


def escaped(text: str) -> str:
    """Text on one line in which nothing means anything, unless it stands first; what cannot be shown becomes ``?``."""
    line = "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text).strip()
    told = "".join(f"&#{ord(c)};{_APART if c in '@#' else ''}" if c in _SPECIAL else c for c in line)
    return _WEB.sub(r"\1&#46;", told)


def table_text(heads: Sequence[str], rows: Iterable[Sequence[str]], write: Callable[[str], str] = safe) -> str:
    """A table with a line feed at its end; ``write`` is what makes heads and cells safe."""
    lines = [f"| {' | '.join(map(write, heads))} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(map(write, row))} |" for row in rows]
    return "\n".join([*lines, ""])
