"""Changes single values in the user's settings file, and keeps the list of words that were explained."""

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from playbooks.session_format.filesystem import put_in_place
from tui.settings.schema import SCREEN, Value, written
from tui.settings.settings_file import config_path, entries, header


class WritingError(Exception):
    """The file was left as it is; the message says why."""


def write(path: Path, values: Mapping[str, Value]) -> None:
    """Have the file say those values of ``[screen]``; it and its folder are made where there are none.

    Raises:
        WritingError: it cannot be read, changed line by line, or written.
    """
    try:
        # A link to a file elsewhere, as people have who keep such files together, stays one.
        path = path.resolve()
        raw = path.read_bytes() if path.exists() else b""
        text = changed(raw.decode(), values)
        if text.encode() != raw:
            path.parent.mkdir(parents=True, exist_ok=True)
            put_in_place(path, text)
    except OSError as error:
        raise WritingError(f"{path} cannot be written: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise WritingError(f"{path} is no UTF-8, and stays as it is") from None


def changed(text: str, values: Mapping[str, Value]) -> str:
    """The text with those values in ``[screen]``, and nothing else different.

    Raises:
        WritingError: it is no TOML, or written in a way that cannot be changed line by line.
    """
    try:
        before = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise WritingError(f"the file is no TOML, and stays as it is: {error}") from None
    table = before.get(SCREEN, {})
    if not isinstance(table, dict):
        raise WritingError(f"{SCREEN} is no table in the file, which stays as it is")
    result = text
    for name, value in values.items():
        if table.get(name) != value or isinstance(table.get(name), bool) != isinstance(value, bool):
            result = _with(result, name, written(value))
    wanted: dict[str, Any] = {**before, SCREEN: {**table, **values}} if values else before
    with suppress(tomllib.TOMLDecodeError):
        if tomllib.loads(result) == wanted:
            return result
    raise WritingError(f"[{SCREEN}] is written in a way that is not changed by a program; the file stays as it is")


def _with(text: str, name: str, value: str) -> str:
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    here = [each for each in entries(text) if each.table == SCREEN]
    for each in here:
        if each.key == name:
            line = lines[each.line]
            lines[each.line] = line[: each.start] + value + line[each.end :]
            return "".join(lines)
    entry = f"{name} = {value}{newline}"
    at = header(text, SCREEN)
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += newline
    if at >= 0:
        lines.insert(max([at, *(each.line for each in here if each.line > at)]) + 1, entry)
    else:
        lines += [*([newline] if lines else []), f"[{SCREEN}]{newline}", entry]
    return "".join(lines)


# The words that have been explained to somebody once, kept beside the file of settings, one a line.


SEEN_WORDS_FILE: Final = "seen-words.txt"
MAX_SEEN_WORDS_BYTES: Final = 1 << 16
"""Bytes that are read; more are not such a list."""


class SeenWords:
    """A list that is not there, or cannot be written, is empty: nothing depends on it but a hint told twice."""

    def __init__(self, path: Path | None = None) -> None:
        """``path`` is the user's own by default."""
        self._path = path or config_path().parent / SEEN_WORDS_FILE
        self._words = self._read()

    def __contains__(self, word: str) -> bool:
        return word in self._words

    def add(self, word: str) -> None:
        """It has been explained."""
        if word in self._words:
            return
        self._words.append(word)
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            put_in_place(self._path, "".join(f"{each}\n" for each in self._words))

    def _read(self) -> list[str]:
        with suppress(OSError, UnicodeDecodeError), self._path.open("rb") as file:
            return list(dict.fromkeys(file.read(MAX_SEEN_WORDS_BYTES).decode().splitlines()))
        return []
