"""What the terminal itself is told, beside the picture: its title, of which it gets its own back at the end."""

from collections.abc import Callable, Mapping
from typing import Final

EACH_S: Final = 0.5
"""Between two titles: faster ones cannot be read."""
UNTITLED: Final = ("linux", "dumb", "")
"""Terminals without a title, by ``TERM``."""
_KEEP: Final = "\x1b[22;2t"
_GIVE_BACK: Final = "\x1b[23;2t"


def animated(environ: Mapping[str, str]) -> bool:
    """Whether anything may move by itself: ``TEXTUAL_ANIMATIONS=none`` says that nothing may."""
    return environ.get("TEXTUAL_ANIMATIONS", "").strip().lower() != "none"


class Title:
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
