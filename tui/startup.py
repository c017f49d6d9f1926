"""Startup up to the first picture: garbage collection is off until it is painted, and modules are read ahead.

Nearly everything that is made during startup stays. Looking for garbage meanwhile costs a tenth of the start and finds
none. What exists when the picture is painted is left out of every later look too.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Final, cast

from playbooks.errors import listed, nearest, shown
from tui.output.console import people, say
from tui.settings.schema import THEMES, Settings
from tui.settings.settings_file import read_settings
from tui.terminal.frame_clock import SPEEDS
from tui.terminal.glyphs import GlyphSet
from tui.terminal.glyphs import choose as choose_glyphs

if TYPE_CHECKING:
    from tui.terminal.theme import ThemeName

SESSIONS: Final = ("tui.launcher", "tui.app")
"""What every session on the screen needs, the whole model with it."""


@contextmanager
def starting() -> Iterator[None]:
    """Look for no garbage until :func:`painted` is called, or until this is left."""
    gc.unfreeze()  # of a screen before this one in the same run
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def painted() -> None:
    """The first picture stands. It does nothing where no start was announced."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


class ReadingAhead:
    """Reads modules while somebody makes a choice that will need them."""

    def __init__(self, names: tuple[str, ...] = SESSIONS) -> None:
        self._names = names
        self._thread: Thread | None = None

    def begin(self) -> None:
        """Go on beside what the screen does."""
        self._thread = Thread(target=self._read, name="reading ahead", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until all are read; at once where none are. Whoever reads any of them has to: two at a time may meet."""
        if self._thread is not None:
            self._thread.join()

    def _read(self) -> None:
        for name in self._names:
            import_module(name)


# How the screen is to be: what was typed, else what the user's settings say. Nothing of the model is read for it.


MOST_NOTES: Final = 3
"""Lines about the file of settings that come up on the screen; more are counted."""


class UnusableError(Exception):
    """Bad input: the text says what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class ScreenChoice:
    """How the screen is to be: what was typed, else what the user's settings say."""

    glyphs: GlyphSet
    theme: "ThemeName"
    speed: float
    settings: Settings
    notes: tuple[str, ...] = ()
    """What is wrong with the file of settings."""


def check(glyphs: str | None, theme: str | None, speed: float | None) -> ScreenChoice:
    """How the screen is to be, once everything about the terminal and the options is in order.

    What is wrong in the user's file is told, and everything else in it is in force.
    """
    found = read_settings()
    settings = found.settings
    try:
        chosen = choose_glyphs(glyphs or settings.glyphs)
    except ValueError as error:
        raise UnusableError(str(error)) from error
    if theme not in (None, *THEMES):
        raise UnusableError(
            f"--theme: found {shown(theme)}, allowed are {listed(THEMES, 'and')}{nearest(theme, THEMES)}"
        )
    if speed is not None and not SPEEDS[0] <= speed <= SPEEDS[-1]:
        raise UnusableError(f"--speed: found {speed:g}, allowed are {SPEEDS[0]:g} to {SPEEDS[-1]:g}")
    if not has_terminal():
        raise UnusableError("the screen needs a terminal; without one use: floodmark run PLAYBOOK")
    for problem in found.problems:
        say(people(), f"note: {problem}", "yellow")
    rest = len(found.problems) - MOST_NOTES
    more = [f"and {rest} more: floodmark settings"] if rest > 0 else []
    in_force = replace(settings, glyphs=glyphs or settings.glyphs, theme=theme or settings.theme)
    return ScreenChoice(
        chosen, cast("ThemeName", in_force.theme), settings.speed if speed is None else speed, in_force,
        (*found.problems[:MOST_NOTES], *more),
    )  # fmt: skip


def has_terminal() -> bool:
    """Whether there is somebody to look at a screen: Textual reads stdin and draws on stderr."""
    return sys.stdin.isatty() and sys.stderr.isatty()
