"""Text that people type or read: what is safe to show, Markdown and tables, commands to type again, and filters."""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

_NOT_ASCII: Final = re.compile(r"[^\x00-\x7e]")


def printable(text: str, keep: str = "") -> str:
    """Text from outside, with all that a terminal could take for a command spelled out, line breaks among it.

    Whatever a file, a session or a peer said goes through it before it reaches a terminal. ``keep`` are characters that
    stay as they are, such as the end of a line.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode("ascii") for each in text
    )


def json_text(value: Any, indent: int | None = None) -> str:
    """A document that a terminal can show: JSON, with its own escapes for what has no picture."""
    return printable_json(json.dumps(value, indent=indent, ensure_ascii=False))


def printable_json(text: str) -> str:
    """The same of a document that is written already."""
    return text if text.isascii() else _NOT_ASCII.sub(lambda found: _in_json(found[0]), text)


def _in_json(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


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


# Commands to type again.


def command_of(word: str, seed: int, settings: Sequence[str], until: str | None) -> str:
    """What to type to run one playbook again as it ran."""
    words = ["floodmark", "run", word, "--seed", str(seed)]
    for setting in settings:
        words += ["--set", setting]
    return shlex.join([*words, *(["--until", until] if until else [])])


# Filters that people type: words that have to be there, and words that must not.


INVERSE = "!"


def fits(words: str, said: str) -> bool:
    """Whether each of the words is part of what is said, and none of those that begin with ``!`` is."""
    said = said.lower()
    return all(_word_fits(word, said) for word in words.lower().split())


def _word_fits(word: str, said: str) -> bool:
    if not word.startswith(INVERSE):
        return word in said
    return word == INVERSE or word[1:] not in said
