"""What somebody can set for the screen, once and for all: names, what each takes, and what it is without being set."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tui.terminal.frame_clock import AUTO, SPEEDS

Value = str | float | bool

THEMES: Final = ("dark", "light", "ansi")
"""``ansi``: the terminal's own palette."""
GLYPHS: Final = ("auto", "unicode", "ascii")
FRAMES: Final = (AUTO, "4", "8", "15", "30")
"""Frames a second."""
SCREEN: Final = "screen"
KEYS: Final = "keys"


@dataclass(frozen=True, slots=True)
class Option:
    """One entry of the table ``[screen]``."""

    name: str
    words: str
    default: Value
    choices: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """What it takes, in words."""
        if self.choices:
            return f"{', '.join(map(quoted, self.choices[:-1]))} or {quoted(self.choices[-1])}"
        return "true or false" if isinstance(self.default, bool) else f"a number from {SPEEDS[0]:g} to {SPEEDS[-1]:g}"

    def takes(self, value: object) -> bool:
        """Whether that is a value of it."""
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if isinstance(self.default, bool):
            return isinstance(value, bool)
        return isinstance(value, int | float) and not isinstance(value, bool) and SPEEDS[0] <= value <= SPEEDS[-1]


OPTIONS: Final = (
    Option("theme", "Colours: on a dark ground, on a light one, or the terminal's own palette.", "dark", THEMES),
    Option("glyphs", "Glyphs; auto is ASCII where the terminal cannot show the others.", "auto", GLYPHS),
    Option("speed", "Virtual seconds per second at the start.", 1.0),
    Option("autopause", "Whether to pause where the first acknowledged record goes missing.", False),
    Option("fps", "Frames a second; auto is 15, and 8 over ssh, where every frame is traffic.", AUTO, FRAMES),
    Option("hints", "Whether a word of Kafka is explained where you first rest on it, once.", True),
)
"""Everything in ``[screen]``."""


def option(name: str) -> Option:
    """The one of a name; KeyError: there is none."""
    return {each.name: each for each in OPTIONS}[name]


@dataclass(frozen=True, slots=True)
class Settings:
    """What is in force."""

    theme: str = "dark"
    glyphs: str = "auto"
    speed: float = 1.0
    autopause: bool = False
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Id of an action → the keys that it has instead of its own, as Textual names them."""
    fps: str = AUTO
    hints: bool = True

    def value(self, name: str) -> Value:
        """The value of one of :data:`OPTIONS`."""
        found: Value = getattr(self, name)
        return found


def quoted(text: str) -> str:
    """A text as TOML has it; it holds nothing that would have to be escaped."""
    return f'"{text}"'


def written(value: Value) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else f"{value:g}"
