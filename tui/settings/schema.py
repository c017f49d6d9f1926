"""Schema of the TUI settings: names, allowed values and defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tui.terminal.frame_clock import AUTO, SPEEDS

Value = str | float | bool

THEMES: Final = ("dark", "light", "ansi")
"""``ansi``: the terminal's own palette."""
GLYPHS: Final = ("auto", "unicode", "ascii")
FRAMES: Final = (AUTO, "4", "8", "15", "30")
"""Frames per second."""
SCREEN: Final = "screen"
KEYS: Final = "keys"


@dataclass(frozen=True, slots=True)
class Option:
    """Option of the table ``[screen]``: name, description, default and choices."""

    name: str
    words: str
    default: Value
    choices: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """Allowed values as text."""
        if self.choices:
            return f"{', '.join(map(quoted, self.choices[:-1]))} or {quoted(self.choices[-1])}"
        return "true or false" if isinstance(self.default, bool) else f"a number from {SPEEDS[0]:g} to {SPEEDS[-1]:g}"

    def takes(self, value: object) -> bool:
        """Return whether a value is allowed."""
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if isinstance(self.default, bool):
            return isinstance(value, bool)
        return isinstance(value, int | float) and not isinstance(value, bool) and SPEEDS[0] <= value <= SPEEDS[-1]


OPTIONS: Final = (
    Option("theme", "Colours: for a dark background, for a light one, or the terminal's own palette.", "dark", THEMES),
    Option("glyphs", "Glyphs; auto is ASCII where the terminal cannot show the others.", "auto", GLYPHS),
    Option("speed", "Virtual seconds per second at the start.", 1.0),
    Option("autopause", "Whether to pause when the first acknowledged record goes missing.", False),
    Option("fps", "Frames per second; auto is 15, and 8 over ssh to save traffic.", AUTO, FRAMES),
    Option("hints", "Whether a Kafka term is explained the first time the pointer or cursor rests on it.", True),
)
"""Options of ``[screen]``."""


def option(name: str) -> Option:
    """Return the option with that name; raises KeyError."""
    return {each.name: each for each in OPTIONS}[name]


@dataclass(frozen=True, slots=True)
class Settings:
    """Values of all settings."""

    theme: str = "dark"
    glyphs: str = "auto"
    speed: float = 1.0
    autopause: bool = False
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Id of an action → its keys in place of the default ones, as Textual names them."""
    fps: str = AUTO
    hints: bool = True

    def value(self, name: str) -> Value:
        """Return the value of one of :data:`OPTIONS`."""
        found: Value = getattr(self, name)
        return found


def quoted(text: str) -> str:
    """Return a text in TOML quotes; it must not contain characters to escape."""
    return f'"{text}"'


def written(value: Value) -> str:
    """Return a value in TOML syntax."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else f"{value:g}"
