"""The lines of a TOML file: on which one a key stands, and where its value begins and ends there.

Just enough of TOML to find and change a plain value without touching anything else; whoever changes something reads the
result with a real parser and compares (:mod:`tui.settings.writing`).
"""

import re
from typing import Final, NamedTuple

_HEADER: Final = re.compile(r"\s*\[\s*([A-Za-z0-9_\"'. -]+?)\s*\]\s*(#.*)?$")
_ENTRY: Final = re.compile(r"\s*([A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(\s*\.\s*([A-Za-z0-9_-]+))?\s*=\s*")


class Entry(NamedTuple):
    """A key of a table, the line from 0 that it begins on, and where its value stands there."""

    table: str
    key: str
    line: int
    start: int
    end: int


def entries(text: str) -> list[Entry]:
    """All that look like one, in order; a value that goes on over several lines ends with its first."""
    found: list[Entry] = []
    table = ""
    for number, line in enumerate(text.splitlines()):
        header = _HEADER.match(line)
        if header is not None:
            table = _bare(header[1])
            continue
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        first, second = _bare(entry[1]), entry[3]
        here, key = (first, second) if second and not table else (table, first)
        found.append(Entry(here, key, number, entry.end(), _end(line, entry.end())))
    return found


def header(text: str, table: str) -> int:
    """The line from 0 of ``[table]``, -1 where there is none."""
    for number, line in enumerate(text.splitlines()):
        found = _HEADER.match(line)
        if found is not None and _bare(found[1]) == table:
            return number
    return -1


def line_of(text: str, table: str, key: str = "") -> int:
    """The line from 1 of a key, else of its table; 0 where neither is found."""
    for each in entries(text):
        if (each.table, each.key) in ((table, key), ("", table)):
            return each.line + 1
    return header(text, table) + 1


def _bare(name: str) -> str:
    return name.strip().strip("\"'")


def _end(line: str, start: int) -> int:
    """Where the value ends that begins there: before a comment and the blanks in front of it."""
    quote = ""
    for at in range(start, len(line)):
        each = line[at]
        if quote:
            quote = "" if each == quote and line[at - 1] != "\\" else quote
        elif each in "\"'":
            quote = each
        elif each == "#":
            return start + len(line[start:at].rstrip())
    return start + len(line[start:].rstrip())
