"""The words that have been explained to somebody once, kept beside the file of settings, one a line."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from playbooks.session_format.filesystem import put_in_place
from tui.settings.settings_file import config_path

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
