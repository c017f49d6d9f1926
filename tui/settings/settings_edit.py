"""Changes single values in the user's settings file, and keeps the list of words that were explained."""

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from playbooks.session_format.filesystem import put_in_place
from tui.settings.schema import SCREEN, Value, written
from tui.settings.settings_file import config_path


class SettingsWriteError(Exception):
    """The file was left as it is; the message says why."""


def write(path: Path, values: Mapping[str, Value]) -> None:
    """Have the file say those values of ``[screen]``; it and its folder are made where there are none.

    Raises:
        SettingsWriteError: it cannot be read, changed, or written.
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
        raise SettingsWriteError(f"{path} cannot be written: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SettingsWriteError(f"{path} is no UTF-8, and stays as it is") from None


def changed(text: str, values: Mapping[str, Value]) -> str:
    """The text with those values in ``[screen]``, and nothing else different.

    Raises:
        SettingsWriteError: it is no TOML, or written in a way that a program cannot change.
    """
    try:
        before = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsWriteError(f"the file is no TOML, and stays as it is: {error}") from None
    table = before.get(SCREEN, {})
    if not isinstance(table, dict):
        raise SettingsWriteError(f"{SCREEN} is no table in the file, which stays as it is")
    new = {
        name: value
        for name, value in values.items()
        if table.get(name) != value or isinstance(table.get(name), bool) != isinstance(value, bool)
    }
    if not new:
        return text
    result = "" if any(isinstance(table.get(name), dict | list) for name in new) else _edited(text, new)
    with suppress(tomllib.TOMLDecodeError):
        if tomllib.loads(result) == {**before, SCREEN: {**table, **values}}:
            return result
    raise SettingsWriteError(
        f"[{SCREEN}] is written in a way that is not changed by a program; the file stays as it is"
    )


def _edited(text: str, values: Mapping[str, Value]) -> str:
    """The text with other values; empty where the library cannot change it."""
    import tomlkit  # noqa: PLC0415 - only a changed setting needs it

    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    try:
        document = tomlkit.parse(text)
        if SCREEN not in document:
            header = tomlkit.table()
            header.trivia.trail = newline
            if text:
                document.add(tomlkit.ws(newline if text.endswith("\n") else newline * 2))
            document.add(SCREEN, header)
        table: Any = document[SCREEN]
        for name, value in values.items():
            item = tomlkit.value(written(value))
            if name in table or not isinstance(table, tomlkit.items.Table):
                table[name] = item
                continue
            # A new entry stands before the comments at the end of its table, which may be about the next one.
            item.trivia.trail = newline
            body = table.value.body
            end = max([number for number, (key, _item) in enumerate(body, 1) if key is not None], default=0)
            comments = body[end:]
            del body[end:]
            table.append(name, item)
            body += comments
        return tomlkit.dumps(document)
    except (tomlkit.exceptions.TOMLKitError, RecursionError):
        return ""


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
