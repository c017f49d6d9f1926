"""Text helpers: escaping for terminals and Markdown, tables, shell commands, and search filters."""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

_NOT_ASCII: Final = re.compile(r"[^\x00-\x7e]")


def printable(text: str, keep: str = "") -> str:
    """Escape all characters of external text that a terminal could take for a command, line breaks included.

    Text of files, sessions and peers passes through it before it reaches a terminal. ``keep`` are characters that are
    not escaped, such as the end of a line.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode("ascii") for each in text
    )


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON that a terminal can show: unprintable characters have JSON escapes."""
    return printable_json(json.dumps(value, indent=indent, ensure_ascii=False))


def printable_json(text: str) -> str:
    """Return a serialised JSON document with JSON escapes for unprintable characters."""
    return text if text.isascii() else _NOT_ASCII.sub(lambda match: _in_json(match[0]), text)


def _in_json(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


_SPECIAL: Final = frozenset("\\`*_{}[]#!|~<>&@:$^")
"""Characters that may have a meaning inside a line of Markdown or HTML: links, formulas, emoji, entities."""
_WEB: Final = re.compile(r"(www)\.", re.IGNORECASE)
_APART: Final = "<!-- -->"
"""An empty comment between a sign and a word, so that they do not form a mention or an issue reference."""


def safe(text: str) -> str:
    """Escape text for the manual but keep its source readable: ``__consumer_offsets`` is no emphasis."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("__", "\\_\\_")


def escaped(text: str) -> str:
    """Escape all Markdown and HTML on one line, except at its start; unprintable characters become ``?``."""
    line = "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text).strip()
    line_text = "".join(f"&#{ord(c)};{_APART if c in '@#' else ''}" if c in _SPECIAL else c for c in line)
    return _WEB.sub(r"\1&#46;", line_text)


def table_text(heads: Sequence[str], rows: Iterable[Sequence[str]], write: Callable[[str], str] = safe) -> str:
    """Return a Markdown table ending in a line feed; ``write`` escapes heads and cells."""
    lines = [f"| {' | '.join(map(write, heads))} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(map(write, row))} |" for row in rows]
    return "\n".join([*lines, ""])


# Shell commands.


def command_of(word: str, seed: int, settings: Sequence[str], until: str | None) -> str:
    """Return the command that runs one playbook again with the same seed and settings."""
    words = ["floodmark", "run", word, "--seed", str(seed)]
    for setting in settings:
        words += ["--set", setting]
    return shlex.join([*words, *(["--until", until] if until else [])])


# The line by which an editor finds the JSON Schema of a playbook.


MODELINE = "# yaml-language-server:"
"""Beginning of the first line of a playbook, with a path from its own directory."""


def without_modeline(text: str) -> str:
    """Return a playbook without that line, for a copy in another directory, where its path would lead nowhere."""
    return text.partition("\n")[2] if text.startswith(MODELINE) else text


# Search filters: words that must occur, and words (with ``!``) that must not.


INVERSE = "!"


def fits(words: str, text: str) -> bool:
    """Return whether ``text`` contains every word, and none of the words that begin with ``!``."""
    text = text.lower()
    return all(_word_fits(word, text) for word in words.lower().split())


def _word_fits(word: str, text: str) -> bool:
    if not word.startswith(INVERSE):
        return word in text
    return word == INVERSE or word[1:] not in text
