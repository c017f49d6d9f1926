"""Theme, glyphs and speed of the TUI from command-line options and settings; does not import the model."""

import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from cluster_model.util.quantities import listed
from playbooks.errors import nearest, shown
from tui.output.console import print_line, stderr_console
from tui.settings.schema import THEMES, Settings
from tui.settings.settings_file import read_settings
from tui.terminal.frame_clock import SPEEDS
from tui.terminal.glyphs import GlyphSet
from tui.terminal.glyphs import choose as choose_glyphs
from tui.terminal.self_command import BROWSER_DRIVER

if TYPE_CHECKING:
    from tui.terminal.theme import ThemeName


MOST_NOTES: Final = 3
"""Maximum number of notes about the settings file shown in the TUI; more are counted."""


class ScreenChoiceError(Exception):
    """Invalid option, or no terminal; the message has what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class ScreenChoice:
    """Glyphs, theme and speed of the TUI, from options or else from the user's settings."""

    glyphs: GlyphSet
    theme: "ThemeName"
    speed: float
    settings: Settings
    notes: tuple[str, ...] = ()
    """Problems of the settings file."""


def check(glyphs: str | None, theme: str | None, speed: float | None) -> ScreenChoice:
    """Check the terminal and the options, and return the resolved choice.

    Problems in the user's settings file are printed; valid entries apply.
    """
    settings_file = read_settings()
    settings = settings_file.settings
    try:
        chosen = choose_glyphs(glyphs or settings.glyphs)
    except ValueError as error:
        raise ScreenChoiceError(str(error)) from error
    if theme not in (None, *THEMES):
        raise ScreenChoiceError(f"--theme: found {shown(theme)}, expected {listed(THEMES)}{nearest(theme, THEMES)}")
    if speed is not None and not SPEEDS[0] <= speed <= SPEEDS[-1]:
        raise ScreenChoiceError(f"--speed: found {speed:g}, expected {SPEEDS[0]:g} to {SPEEDS[-1]:g}")
    if not has_terminal():
        raise ScreenChoiceError("the TUI needs a terminal; without one use: floodmark run PLAYBOOK")
    for problem in settings_file.problems:
        print_line(stderr_console(), f"note: {problem}", "yellow")
    rest = len(settings_file.problems) - MOST_NOTES
    more = [f"and {rest} more: floodmark settings"] if rest > 0 else []
    in_force = replace(settings, glyphs=glyphs or settings.glyphs, theme=theme or settings.theme)
    return ScreenChoice(
        chosen, cast("ThemeName", in_force.theme), settings.speed if speed is None else speed, in_force,
        (*settings_file.problems[:MOST_NOTES], *more),
    )  # fmt: skip


def has_terminal() -> bool:
    """Return whether there is a terminal: Textual reads stdin and draws on stderr, or serves a browser's terminal."""
    return os.environ.get("TEXTUAL_DRIVER") == BROWSER_DRIVER or (sys.stdin.isatty() and sys.stderr.isatty())
