"""How the TUI is to be drawn: what was typed, else what the user's settings say. It loads nothing of the model."""

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from cluster_model.util.quantities import listed
from playbooks.errors import nearest, shown
from tui.output.console import people, say
from tui.settings.schema import THEMES, Settings
from tui.settings.settings_file import read_settings
from tui.terminal.frame_clock import SPEEDS
from tui.terminal.glyphs import GlyphSet
from tui.terminal.glyphs import choose as choose_glyphs

if TYPE_CHECKING:
    from tui.terminal.theme import ThemeName


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
