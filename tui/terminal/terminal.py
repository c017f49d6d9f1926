"""The terminal itself: its title, a driver that saves bytes, and a stylesheet that parses nothing twice."""

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
"""Between two titles: faster ones cannot be read."""
UNTITLED: Final = ("linux", "dumb", "")
"""Terminals without a title, by ``TERM``."""
_KEEP: Final = "\x1b[22;2t"
_GIVE_BACK: Final = "\x1b[23;2t"


def animated(environ: Mapping[str, str]) -> bool:
    """Whether anything may move by itself: ``TEXTUAL_ANIMATIONS=none`` says that nothing may."""
    return environ.get("TEXTUAL_ANIMATIONS", "").strip().lower() != "none"


class TerminalTitle:
    """Writes the title where it has changed, and not too often."""

    def __init__(self, write: Callable[[str], None], environ: Mapping[str, str]) -> None:
        self._write = write
        self._there = environ.get("TERM", "") not in UNTITLED
        self._shown = ""
        self._next_s = float("-inf")

    def show(self, text: str, now_s: float, *, at_once: bool) -> None:
        """Have the terminal show a text; the first time it is asked to keep its own."""
        if not self._there or text == self._shown or (now_s < self._next_s and not at_once):
            return
        kept = "" if self._shown else _KEEP
        self._shown, self._next_s = text, now_s + EACH_S
        self._write(f"{kept}\x1b]2;{''.join(char for char in text if char.isprintable())}\x07")

    def give_back(self) -> None:
        """The terminal's own title again."""
        if self._shown:
            self._write(_GIVE_BACK)
            self._shown = ""


# The same picture in fewer bytes: over ssh every byte is traffic, and half of a picture is colours said again.
#
# Every piece of text comes with its whole style before it and a reset behind it. Where the next piece follows at
# once, a terminal only has to be told what is different; and blanks show nothing but what is behind them.


_STYLE: Final = re.compile(r"(?:\x1b\[0m(?:\n?(\x1b\[\d+;\d+H))?)?\x1b\[([\d;]+)m( +(?=\x1b\[0m))?")
"""A style; the move of the cursor, if any, between it and the one before; the blanks that are all it is for."""
_UNSEEN: Final = frozenset("123")
"""Attributes that blanks do not show: bold, dim, italic."""
_RESET: Final = "0"
_WEIGHTS: Final = frozenset("12")
_NORMAL: Final = "22"
"""Neither bold nor dim."""
_END: Final = "\x1b[0m"
_FOREGROUND: Final = "38"
_BACKGROUND: Final = "48"
_TRUE_COLOUR: Final = "2"


def frugal(text: str) -> str:
    """What a terminal may be sent instead of ``text``."""
    before = ""

    def shorter(found: re.Match[str]) -> str:
        nonlocal before
        move, style, blanks = found.groups(default="")
        if style == _RESET:
            before = ""
        elif not before or not found[0].startswith(_END):
            before = style
        elif blanks and _alike(before, style):
            return f"{move}{blanks}"
        else:
            known, before = before, style
            return f"{move}{_change(known, style)}{blanks}"
        return found[0]

    return _STYLE.sub(shorter, text)


@lru_cache(maxsize=4096)
def _alike(before: str, after: str) -> bool:
    """Whether blanks look the same in both styles."""
    old, new = _parts(before), _parts(after)
    return old is not None and new is not None and old[0] | new[0] <= _UNSEEN and old[2] == new[2]


@lru_cache(maxsize=4096)
def _change(before: str, after: str) -> str:
    """What leads from one style to another in the fewest bytes."""
    old, new = _parts(before), _parts(after)
    whole = f"\x1b[0m\x1b[{after}m"
    if old is None or new is None:
        return whole
    gone, added = old[0] - new[0], new[0] - old[0]
    if gone - _WEIGHTS or (gone and new[0] & _WEIGHTS):
        return whole  # what is to be switched off has no code that leaves the rest
    codes = [_NORMAL, *sorted(added)] if gone else sorted(added)
    for was, wanted in zip(old[1:], new[1:], strict=True):
        if was and not wanted:
            return whole
        if was != wanted:
            codes.append(wanted)
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def _parts(style: str) -> tuple[frozenset[str], str, str] | None:
    """Its attributes, foreground and background; None where it says something else."""
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


class Detachable:
    """The file of a terminal that may be closed: from then on what is written to it goes nowhere.

    Textual writes in a thread of its own, which an error would end; the program would wait for it for ever.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write, if there is anybody to read it."""
        with contextlib.suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Have it shown, if there is anybody to see it."""
        with contextlib.suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        """The file's descriptor."""
        return self._file.fileno()


def forget_closed_terminal() -> None:
    """Have what is printed from here on go nowhere where standard output or error is a terminal that was closed."""
    for stream in (1, 2):
        try:
            termios.tcgetattr(stream)
        except termios.error as error:
            if error.args[0] == errno.EIO:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream)
                os.close(nowhere)


def frugal_driver(kind: "type[Driver]") -> "type[Driver]":
    """A driver of that kind that sends less, and ends the program as SIGHUP does when its terminal is closed."""

    class Frugal(kind):  # type: ignore[valid-type, misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            file = getattr(self, "_file", None)
            if file is not None:
                self._file = Detachable(file)

        def write(self, data: str) -> None:
            """Send it, shortened."""
            super().write(frugal(data))

        def run_input_thread(self) -> None:
            """Read keys until the program or the terminal ends."""
            try:
                super().run_input_thread()
            except OSError:
                self._app.call_later(self._app.exit, return_code=128 + signal.SIGHUP)

        def close(self) -> None:
            """Give the terminal back, if it is still there."""
            super().close()
            forget_closed_terminal()

    return Frugal


# A stylesheet that parses nothing twice. Textual's own parses all again at every start, as its theme is set.


class ParsedOnce(Stylesheet):
    """Keeps what is parsed as long as the variables stay the same."""

    def set_variables(self, variables: dict[str, str]) -> None:
        """Other ones mean that everything is parsed anew."""
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        """When it is next asked for, from what is kept."""
        self._require_parse = True
        self._rules_map = None
