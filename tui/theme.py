"""All colours of the screen, by what they mean. Nothing outside this file names a colour.

The palette stays apart under the three common kinds of colour blindness: blue is calm, orange is trouble, white is
authority. Without colour (``NO_COLOR``) bold, dim and reverse carry what the glyphs do not.
"""

from functools import cache
from typing import Final, Literal

from rich.style import Style
from textual.theme import Theme

from tui.glyphs import GlyphSet, to_ascii

Over = Literal["", "row", "cell"]
"""What lies over a span: nothing, the row under the cursor, or the cell under the cursor."""

BACKGROUND: Final = "#10151C"
BAR: Final = "#1A222D"
ROW: Final = "#1B2531"
CELL: Final = "#34506B"
TEXT: Final = "#D5DBE3"
QUIET: Final = "#8A95A3"
FAINT: Final = "#3A424D"
WHITE: Final = "#FFFFFF"
CALM: Final = "#56B4E9"
WARNING: Final = "#F0C24B"
ALARM: Final = "#E8622C"
EPOCHS: Final = ("#006D8F", "#7A4B3A", "#5C4B9B", "#1F7A70", "#9A6A1C")
"""Backgrounds by leader epoch modulo five; white text on each has a contrast of 4.5 at least."""
EPOCHS_BRIGHT: Final = ("#3FA7C9", "#C08A73", "#9C8BDB", "#5FBDB1", "#D8A552")
"""The same hues for cells above the high watermark, drawn on the dark background."""

_COLOUR: Final[dict[str, tuple[str, str, str]]] = {
    # role: foreground, background ("" is the screen's), attributes
    "text": (TEXT, "", ""),
    "strong": (WHITE, "", "bold"),
    "quiet": (QUIET, "", ""),
    "faint": (FAINT, "", ""),
    "leader": (WHITE, "", "bold"),
    "in_sync": (CALM, "", ""),
    "lagging": (WARNING, "", ""),
    "down": (ALARM, "", ""),
    "truncating": (ALARM, "", ""),
    "diverged": (ALARM, "", "bold"),
    "diverged_cell": (ALARM, "#3A1B10", "bold"),
    "lost": (WHITE, ALARM, "bold"),
    "calm": (CALM, "", ""),
    "warning": (WARNING, "", ""),
    "alarm": (ALARM, "", "bold"),
    "key": (CALM, "", "bold"),
    "bar": (TEXT, BAR, ""),
    "bar_quiet": (QUIET, BAR, ""),
    "bar_strong": (WHITE, BAR, "bold"),
    "bar_calm": (CALM, BAR, ""),
    "bar_warning": (WARNING, BAR, "bold"),
    "bar_alarm": (ALARM, BAR, "bold"),
    "bar_lost": (WHITE, ALARM, "bold"),
    "bar_key": (CALM, BAR, "bold"),
    "pill_live": (BACKGROUND, CALM, "bold"),
    "pill_paused": (BACKGROUND, WARNING, "bold"),
    "pill_seek": (BACKGROUND, WHITE, "bold"),
    **{f"epoch{index}": (WHITE, colour, "") for index, colour in enumerate(EPOCHS)},
    **{f"above{index}": (colour, "", "") for index, colour in enumerate(EPOCHS_BRIGHT)},
}

_MONO: Final[dict[str, str]] = {
    "strong": "bold",
    "quiet": "",
    "faint": "dim",
    "leader": "bold",
    "down": "bold",
    "truncating": "bold",
    "diverged": "bold",
    "diverged_cell": "bold",
    "lost": "bold reverse",
    "alarm": "bold",
    "warning": "bold",
    "key": "bold",
    "bar": "",
    "bar_strong": "bold",
    "bar_warning": "bold",
    "bar_alarm": "bold",
    "bar_lost": "bold reverse",
    "bar_key": "bold",
    "pill_live": "reverse",
    "pill_paused": "bold reverse",
    "pill_seek": "bold reverse",
    # Neighbouring epochs must differ without colour too.
    **{f"epoch{index}": "reverse" if index % 2 else "bold" for index in range(len(EPOCHS))},
}

ROLES: Final = frozenset(_COLOUR)
"""Every role that a painter may name."""


class Look:
    """How to draw: with colour or without, with all glyphs or in ASCII. Immutable; equal looks draw equal screens."""

    def __init__(self, *, colour: bool = True, glyphs: GlyphSet = "unicode") -> None:
        self.colour = colour
        self.glyphs: GlyphSet = glyphs
        self._style = cache(self._colour_style if colour else _mono_style)

    def style(self, role: str, over: Over = "") -> Style:
        """The style of a role, on the plain background or under the cursor.

        Raises:
            KeyError: no such role.
        """
        return self._style(role, over)

    def text(self, text: str) -> str:
        """``text`` as this look can show it: one printable cell stays one cell."""
        if not text.isprintable():
            text = "".join(char if char.isprintable() else " " for char in text)
        return text if self.glyphs == "unicode" else to_ascii(text)

    @staticmethod
    def _colour_style(role: str, over: Over) -> Style:
        foreground, background, attributes = _COLOUR[role]
        if over == "cell":
            background, attributes = CELL, "bold"
            foreground = WHITE if foreground in (QUIET, FAINT) else foreground
        elif over == "row" and not background:
            background = ROW
        return Style.parse(f"{attributes} {foreground} on {background or BACKGROUND}")


def _mono_style(role: str, over: Over) -> Style:
    if role not in ROLES:
        raise KeyError(role)
    attributes = _MONO.get(role, "")
    if over == "cell":
        attributes = "bold reverse"
    elif over == "row" and "bold" not in attributes:
        attributes = f"{attributes} bold"
    return Style.parse(attributes) if attributes else Style.null()


def textual_theme() -> Theme:
    """The theme for Textual's own widgets: toasts, the palette, the help page."""
    return Theme(
        name="floodmark",
        primary=CALM,
        secondary=QUIET,
        accent=WARNING,
        warning=WARNING,
        error=ALARM,
        success=CALM,
        foreground=TEXT,
        background=BACKGROUND,
        surface=BAR,
        panel=ROW,
        dark=True,
        variables={"border": FAINT, "quiet": QUIET, "footer-background": BAR},
    )
