"""The user's settings file: location, reading, changing single values; and the list of terms already explained."""

import os
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cluster_model.util.quantities import listed
from playbooks.errors import nearest, shown
from playbooks.session_format.filesystem import put_in_place
from playbooks.text import printable
from tui.keybindings.keymap import ALLOWED, RESERVED, UNAVAILABLE, in_file, key_named
from tui.keybindings.scopes import all_keys, hidden, scopes, without_conflicts
from tui.settings.schema import KEYS as KEY_TABLE
from tui.settings.schema import OPTIONS, SCREEN, Settings, Value, written

# Line numbers of keys in a TOML file, for error messages; neither tomllib nor tomlkit provides them.


_HEADER: Final = re.compile(r"\s*\[\s*([A-Za-z0-9_\"'. -]+?)\s*\]\s*(#.*)?$")
_ENTRY: Final = re.compile(r"\s*([A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(\s*\.\s*([A-Za-z0-9_-]+))?\s*=\s*")


def line_of(text: str, table: str, key: str = "") -> int:
    """Return the line, from 1, of a key, else of its table; 0 if neither is found."""
    here, header = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if found := _HEADER.match(line):
            here = _bare(found[1])
            header = header or (number if here == table else 0)
        elif found := _ENTRY.match(line):
            first, second = _bare(found[1]), found[3]
            entry = (first, second) if second and not here else (here, first)
            if entry in ((table, key), ("", table)):
                return number
    return header


def _bare(name: str) -> str:
    return name.strip().strip("\"'")


# The location of the settings file, by the XDG base directory specification.


VARIABLE: Final = "FLOODMARK_CONFIG"
"""Environment variable with the path of another settings file."""
SETTINGS_FILE: Final = "config.toml"


def config_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return the path of the settings file, by default ``~/.config/floodmark/config.toml``; it may not exist."""
    environ = os.environ if environ is None else environ
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE])
    folder = environ.get("XDG_CONFIG_HOME", "")
    # The specification says to ignore a relative path.
    root = Path(folder) if Path(folder).is_absolute() else Path(environ.get("HOME") or Path.home()) / ".config"
    return root / "floodmark" / SETTINGS_FILE


OUT: Final = "escape"
"""Key that an action with it always keeps, as it is the way out."""
UNTYPED: Final = 'a key that types nothing, such as "f5" or "ctrl+x"'
MAX_SETTINGS_BYTES: Final = 1 << 20
"""Maximum size of a settings file in bytes."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """Content of a settings file: settings, problems and notes."""

    path: Path
    exists: bool
    settings: Settings
    problems: tuple[str, ...] = ()
    """Problems, each on one line: file, line, key, what was found, what is allowed."""
    notes: tuple[str, ...] = ()
    """Notes on valid entries: keys that a mode uses for something else."""
    given: tuple[str, ...] = ()
    """Names of the options that the file sets."""


def read_settings(path: Path | None = None) -> SettingsFile:
    """Return the settings of a file, by default the user's; defaults if it does not exist."""
    path = config_path() if path is None else path
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_SETTINGS_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return SettingsFile(path, False, Settings())
    except OSError as error:
        return _unreadable(path, f"cannot be read: {error.strerror or error}")
    if len(raw) > MAX_SETTINGS_BYTES:
        return _unreadable(path, f"found more than {MAX_SETTINGS_BYTES} bytes, expected a settings file")
    try:
        text = raw.decode()
        data = tomllib.loads(text)
    except UnicodeDecodeError:
        return _unreadable(path, "found bytes that are not UTF-8, expected TOML text")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return _unreadable(path, f"is not valid TOML: {error}")
    return _Reading(path, text, data).found()


def _unreadable(path: Path, why: str) -> SettingsFile:
    return SettingsFile(path, True, Settings(), (f"{printable(str(path))}: {why}; the file is ignored",))


class _Reading:
    """Parser of one settings file."""

    def __init__(self, path: Path, text: str, data: Mapping[str, Any]) -> None:
        self._path, self._text, self._data = path, text, data
        self._problems: list[str] = []
        self._notes: list[str] = []

    def found(self) -> SettingsFile:
        """Return the content of the file."""
        for name in self._data:
            if name not in (SCREEN, KEY_TABLE):
                self._problem(
                    name, "", f"unknown, expected [{SCREEN}] and [{KEY_TABLE}]{nearest(name, (SCREEN, KEY_TABLE))}"
                )
        values = self._screen(self._table(SCREEN))
        keys = self._keys(self._table(KEY_TABLE))
        settings = Settings(**values, keys=keys)
        return SettingsFile(self._path, True, settings, tuple(self._problems), tuple(self._notes), tuple(values))

    def _table(self, name: str) -> Mapping[str, Any]:
        table = self._data.get(name, {})
        if isinstance(table, Mapping):
            return table
        self._problem(name, "", f"found {_value_text(table)}, expected a table [{name}]")
        return {}

    def _screen(self, table: Mapping[str, Any]) -> dict[str, Any]:
        options = {each.name: each for each in OPTIONS}
        good: dict[str, Any] = {}
        for name, value in table.items():
            if name not in options:
                self._problem(SCREEN, name, f"unknown, expected {listed(options)}{nearest(name, options)}")
            elif not options[name].takes(value):
                self._problem(SCREEN, name, f"found {_value_text(value)}, expected {options[name].allowed}")
            else:
                good[name] = float(value) if name == "speed" else value
        return good

    def _keys(self, table: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        if not table:  # usual: then the fault catalogue is not imported
            return {}
        names = [each.id for each in all_keys()]
        wanted: dict[str, tuple[str, ...]] = {}
        for name, value in table.items():
            if name not in names:
                hint = nearest(name, names) or "; for a list see: floodmark settings --example"
                self._problem(KEY_TABLE, name, f"unknown, expected the id of an action{hint}")
                continue
            keys = self._keys_of(name, value)
            if keys:
                wanted[name] = keys
        kept, conflicts = without_conflicts(wanted)
        for each in conflicts:
            self._problem(KEY_TABLE, each.id, each.words)
        self._notes += [self._located(KEY_TABLE, name, words) for name, words in hidden(kept)]
        return kept

    def _keys_of(self, name: str, value: object) -> tuple[str, ...]:
        """Return the keys of an action; none if one of them is invalid."""
        texts = value if isinstance(value, list) else [value]
        action = next(each for each in all_keys() if each.id == name)
        own = action.keys.split(",")
        typed = any(scope.typed and scope.name == action.group for scope in scopes())
        keys: list[str] = []
        for text in texts:
            key = text if text in own else key_named(text) if isinstance(text, str) else None
            if key is None:
                self._problem(KEY_TABLE, name, f"found {_value_text(text)}, expected {ALLOWED}{_why_not(text)}")
                return ()
            if typed and (len(key) == 1 or in_file(key) != key or key == "space"):
                self._problem(KEY_TABLE, name, f"found {_value_text(text)}, which is typed there; expected {UNTYPED}")
                return ()
            keys.append(key)
        if not keys:
            self._problem(KEY_TABLE, name, f"found an empty list, expected {ALLOWED}")
        out = [each for each in own if each == OUT]
        return tuple(dict.fromkeys([*keys, *out])) if keys else ()

    def _problem(self, table: str, key: str, message: str) -> None:
        self._problems.append(self._located(table, key, message))

    def _located(self, table: str, key: str, message: str) -> str:
        line = line_of(self._text, table, key)
        at = f":{line}" if line else ""
        name = printable(f"{table}.{key}" if key else table)
        return f"{printable(str(self._path))}{at}: {name}: {message}"


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, int | float):
        return shown(str(value))[1:-1]
    return "a list" if isinstance(value, list) else "a table" if isinstance(value, Mapping) else "a date"


def _why_not(text: object) -> str:
    if isinstance(text, str) and text.lower() in RESERVED:
        return "; that key is reserved"
    return (
        "; terminals do not pass that key to programs" if isinstance(text, str) and text.lower() in UNAVAILABLE else ""
    )


# Changing single values in the settings file, and the list of terms already explained.


class SettingsWriteError(Exception):
    """The settings file could not be changed; the message has the reason."""


def write(path: Path, values: Mapping[str, Value]) -> None:
    """Set values of ``[screen]`` in the file; the file and its folder are created if missing.

    Raises:
        SettingsWriteError: it cannot be read, changed, or written.
    """
    try:
        # A symbolic link, as in a dotfiles repository, is kept.
        path = path.resolve()
        raw = path.read_bytes() if path.exists() else b""
        text = changed(raw.decode(), values)
        if text.encode() != raw:
            path.parent.mkdir(parents=True, exist_ok=True)
            put_in_place(path, text)
    except OSError as error:
        raise SettingsWriteError(f"{path} cannot be written: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SettingsWriteError(f"{path} is not UTF-8; it was not changed") from None


def changed(text: str, values: Mapping[str, Value]) -> str:
    """Return the text with those values in ``[screen]``, and no other change.

    Raises:
        SettingsWriteError: it is not valid TOML, or cannot be changed by a program.
    """
    try:
        before = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsWriteError(f"the file is not valid TOML, so it was not changed: {error}") from None
    table = before.get(SCREEN, {})
    if not isinstance(table, dict):
        raise SettingsWriteError(f"{SCREEN} is not a table in the file, so it was not changed")
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
    raise SettingsWriteError(f"[{SCREEN}] has a form that cannot be changed automatically, so the file was not changed")


def _edited(text: str, values: Mapping[str, Value]) -> str:
    """Return the text with other values; empty if tomlkit cannot change it."""
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
            # Put a new entry before the comments at the end of its table, which may be about the next table.
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


# The terms that were already explained, kept beside the settings file, one per line.


SEEN_WORDS_FILE: Final = "seen-words.txt"
MAX_SEEN_WORDS_BYTES: Final = 1 << 16
"""Maximum size of the list in bytes."""


class ExplainedTerms:
    """Terms that were already explained; a missing or unwritable list is empty, so that a hint may be repeated."""

    def __init__(self, path: Path | None = None) -> None:
        """``path`` is that of the user by default."""
        self._path = path or config_path().parent / SEEN_WORDS_FILE
        self._words = self._read()

    def __contains__(self, word: str) -> bool:
        return word in self._words

    def add(self, word: str) -> None:
        """Add a term that was explained."""
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
