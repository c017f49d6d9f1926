"""Terminal support: the title, a driver that saves bytes, and a stylesheet that caches its parse."""

import contextlib
import errno
import os
import re
import signal
import termios
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TextIO

from textual.css.stylesheet import Stylesheet

if TYPE_CHECKING:
    from textual.driver import Driver

EACH_S: Final = 0.5
"""Minimum seconds between two titles; faster changes are unreadable."""
UNTITLED: Final = ("linux", "dumb", "")
"""Values of ``TERM`` of terminals without a title."""
_KEEP: Final = "\x1b[22;2t"
_GIVE_BACK: Final = "\x1b[23;2t"


def animated(environ: Mapping[str, str]) -> bool:
    """Return whether animations are enabled, which ``TEXTUAL_ANIMATIONS=none`` disables."""
    return environ.get("TEXTUAL_ANIMATIONS", "").strip().lower() != "none"


class TerminalTitle:
    """Title of the terminal, written only when it has changed, and not too often."""

    def __init__(self, write: Callable[[str], None], environ: Mapping[str, str]) -> None:
        self._write = write
        self._titles_work = environ.get("TERM", "") not in UNTITLED
        self._shown = ""
        self._next_s = float("-inf")

    def show(self, text: str, now_s: float, *, at_once: bool) -> None:
        """Show a title; the first time, have the terminal save its own."""
        if not self._titles_work or text == self._shown or (now_s < self._next_s and not at_once):
            return
        kept = "" if self._shown else _KEEP
        self._shown, self._next_s = text, now_s + EACH_S
        self._write(f"{kept}\x1b]2;{''.join(char for char in text if char.isprintable())}\x07")

    def give_back(self) -> None:
        """Restore the terminal's own title."""
        if self._shown:
            self._write(_GIVE_BACK)
            self._shown = ""


# The same output in fewer bytes: over ssh every byte is traffic, and half of the output repeats colours.
#
# Textual writes the whole style before each piece of text and a reset after it. If the next piece follows directly,
# only the difference of styles is needed; and for blanks only the background matters.


_STYLE: Final = re.compile(r"(?:\x1b\[0m(?:\n?(\x1b\[\d+;\d+H))?)?\x1b\[([\d;]+)m( +(?=\x1b\[0m))?")
"""Style; the cursor movement, if any, between it and the previous one; blanks that are its only text."""
_UNSEEN: Final = frozenset("123")
"""Attributes without effect on blanks: bold, dim, italic."""
_RESET: Final = "0"
_WEIGHTS: Final = frozenset("12")
_NORMAL: Final = "22"
"""Code that turns off bold and dim."""
_END: Final = "\x1b[0m"
_FOREGROUND: Final = "38"
_BACKGROUND: Final = "48"
_TRUE_COLOUR: Final = "2"


def frugal(text: str) -> str:
    """Return a shorter equivalent of terminal output."""
    before = ""

    def shorter(match: re.Match[str]) -> str:
        nonlocal before
        move, style, blanks = match.groups(default="")
        if style == _RESET:
            before = ""
        elif not before or not match[0].startswith(_END):
            before = style
        elif blanks and _alike(before, style):
            return f"{move}{blanks}"
        else:
            known, before = before, style
            return f"{move}{_change(known, style)}{blanks}"
        return match[0]

    return _STYLE.sub(shorter, text)


@lru_cache(maxsize=4096)
def _alike(before: str, after: str) -> bool:
    """Return whether blanks look the same in both styles."""
    old, new = _parts(before), _parts(after)
    return old is not None and new is not None and old[0] | new[0] <= _UNSEEN and old[2] == new[2]


@lru_cache(maxsize=4096)
def _change(before: str, after: str) -> str:
    """Return the shortest codes that change from one style to another."""
    old, new = _parts(before), _parts(after)
    full = f"\x1b[0m\x1b[{after}m"
    if old is None or new is None:
        return full
    removed, added = old[0] - new[0], new[0] - old[0]
    if removed - _WEIGHTS or (removed and new[0] & _WEIGHTS):
        return full  # attributes to turn off have no separate code
    codes = [_NORMAL, *sorted(added)] if removed else sorted(added)
    for was, wanted in zip(old[1:], new[1:], strict=True):
        if was and not wanted:
            return full
        if was != wanted:
            codes.append(wanted)
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def _parts(style: str) -> tuple[frozenset[str], str, str] | None:
    """Return attributes, foreground and background of a style; None if it contains other codes."""
    codes = style.split(";")
    attributes, colours, at = set(), {_FOREGROUND: "", _BACKGROUND: ""}, 0
    while at < len(codes):
        code = codes[at]
        if code in colours:
            size = 5 if codes[at + 1 : at + 2] == [_TRUE_COLOUR] else 3
            colours[code] = ";".join(codes[at : at + size])
            at += size
            continue
        number = int(code or 0)
        if 1 <= number <= 9:
            attributes.add(code)
        elif 30 <= number <= 37 or 90 <= number <= 97 or number == 39:
            colours[_FOREGROUND] = code
        elif 40 <= number <= 47 or 100 <= number <= 107 or number == 49:
            colours[_BACKGROUND] = code
        else:
            return None
        at += 1
    return frozenset(attributes), colours[_FOREGROUND], colours[_BACKGROUND]


class DetachableFile:
    """File of a terminal that may be closed; writes after that are discarded.

    Textual writes in a separate thread, which an error would end, and the program would then wait for it forever.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write, unless the terminal is closed."""
        with contextlib.suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, unless the terminal is closed."""
        with contextlib.suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._file.fileno()


def forget_closed_terminal() -> None:
    """Redirect stdout and stderr to the null device where they are a terminal that was closed."""
    for stream in (1, 2):
        try:
            termios.tcgetattr(stream)
        except termios.error as error:
            if error.args[0] == errno.EIO:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream)
                os.close(nowhere)


def reduced_output_driver(kind: "type[Driver]") -> "type[Driver]":
    """Return a driver class that sends less, and ends the program as SIGHUP does when the terminal is closed."""

    class ReducedOutputDriver(kind):  # type: ignore[valid-type, misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            file = getattr(self, "_file", None)
            if file is not None:
                self._file = DetachableFile(file)

        def write(self, data: str) -> None:
            """Send shortened output."""
            super().write(frugal(data))

        def run_input_thread(self) -> None:
            """Read keys until the program ends or the terminal is closed."""
            try:
                super().run_input_thread()
            except OSError:
                self._app.call_later(self._app.exit, return_code=128 + signal.SIGHUP)

        def close(self) -> None:
            """Restore the terminal, unless it is closed."""
            super().close()
            forget_closed_terminal()

    return ReducedOutputDriver


# A stylesheet that caches its parse; Textual's own parses again at every start when the theme is set.


class CachedStylesheet(Stylesheet):
    """Stylesheet that keeps parsed rules as long as the variables stay the same."""

    def set_variables(self, variables: dict[str, str]) -> None:
        """Set the variables; parse again only if they changed."""
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        """Reparse from the cache on the next use."""
        self._require_parse = True
        self._rules_map = None
