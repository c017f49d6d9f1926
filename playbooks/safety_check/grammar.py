"""A question as it is typed, in its parts: words with their columns, and whatever brackets and quotes hold together."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from playbooks.errors import PlaybookError, Problem

PATH: Final = "question"
"""What a question is called in messages."""
LONGEST: Final = 2_000
"""Characters of a question."""

_OPEN: Final = "([{"
_CLOSE: Final = ")]}"


class Piece(NamedTuple):
    """A stretch of the question, and the column from 1 at which it begins."""

    text: str
    column: int


def wrong(text: str, column: int, message: str) -> PlaybookError:
    """The one error about a question."""
    return PlaybookError([Problem(PATH, 1, column, "", message)], {PATH: text})


def pieces(text: str) -> list[Piece]:
    """The actions of a question, which stand between semicolons or the word ``then``.

    Raises:
        PlaybookError: it is too long, on several lines, or a bracket or a quote is left open.
    """
    if len(text) > LONGEST:
        raise wrong("", 1, f"found {len(text)} characters, allowed are at most {LONGEST}")
    unprintable = next((place for place, each in enumerate(text) if not each.isprintable()), -1)
    if unprintable >= 0:
        raise wrong(text, unprintable + 1, "found a character that is not printed, allowed is one line of text")
    found: list[Piece] = []
    start = 0
    for word in words(Piece(text, 1), text):
        at = word.column - 1
        if word.text in (";", "then"):
            found.append(_stripped(text[start:at], start))
            start = at + len(word.text)
    found.append(_stripped(text[start:], start))
    return found


def _stripped(text: str, start: int) -> Piece:
    return Piece(text.strip(), start + len(text) - len(text.lstrip()) + 1)


def words(piece: Piece, whole: str) -> list[Piece]:
    """What stands between blanks outside of brackets and quotes; a semicolon there is a word of its own.

    Raises:
        PlaybookError: a bracket or a quote is left open.
    """
    return list(_words(piece, whole))


def _words(piece: Piece, whole: str) -> Iterator[Piece]:
    text, first = piece
    start, quote, opened = 0, "", list[int]()
    for at, each in enumerate(text):
        if quote:
            if each == quote:
                quote = ""
                opened.pop()
        elif each in "\"'":
            quote = each
            opened.append(at)
        elif each in _OPEN:
            opened.append(at)
        elif each in _CLOSE:
            if not opened:
                raise wrong(whole, first + at, f"found {each!r} without its opening bracket")
            if _CLOSE[_OPEN.index(text[opened[-1]])] != each:
                raise wrong(whole, first + at, f"found {each!r}, which is not the bracket that is open")
            opened.pop()
        elif not opened and each in " ;":
            if start < at:
                yield Piece(text[start:at], first + start)
            if each == ";":
                yield Piece(each, first + at)
            start = at + 1
    if opened:
        raise wrong(whole, first + opened[-1], f"found {text[opened[-1]]!r} without its end")
    if start < len(text):
        yield Piece(text[start:], first + start)


ASSIGNED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)=(?!=)(.*)", re.DOTALL)
"""A parameter with its value."""
