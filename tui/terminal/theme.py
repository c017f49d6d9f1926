"""Colours of the TUI by meaning (role); no other module names a colour.

The palette is distinguishable with the three common kinds of colour blindness: blue is normal, orange is a problem,
white is a leader. Without colour (``NO_COLOR``) bold, dim and reverse complement the glyphs.

Roles are defined once, in the colours of the dark theme. The light theme maps each colour to another one, and the
theme of the terminal's own palette maps it to one of sixteen names.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Final, Literal

from rich.color import Color
from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from tui.terminal.glyphs import GlyphSet, to_ascii

ThemeName = Literal["dark", "light", "ansi"]

Over = Literal["", "row", "cell", "fresh", "fresh row"]
"""Overlay of a span: none, the row or the cell under the cursor; a recent change is bold."""

BOLD: Final = Style(bold=True)
BACKGROUND: Final = "#10151C"
BAR: Final = "#1A222D"
ROW: Final = "#1B2531"
CELL: Final = "#34506B"
TEXT: Final = "#D5DBE3"
QUIET: Final = "#8A95A3"
FAINT: Final = "#76828F"
LINE: Final = "#3A424D"
"""Colour of borders, which need little contrast."""
WHITE: Final = "#FFFFFF"
CALM: Final = "#56B4E9"
WARNING: Final = "#F0C24B"
ALARM: Final = "#E8622C"
LOST: Final = "#BF4310"
"""Background of white text."""
DIVERGED: Final = "#3A1B10"
EPOCHS: Final = ("#006D8F", "#7A4B3A", "#5C4B9B", "#1F7A70", "#9A6A1C")
"""Backgrounds by leader epoch modulo five; white text on each has a contrast of 4.5 at least."""
EPOCHS_BRIGHT: Final = ("#3FA7C9", "#C08A73", "#9C8BDB", "#5FBDB1", "#D8A552")
"""The same hues for cells above the high watermark, drawn on the dark background."""
HEAT: Final = ("#46525F", "#1D6FA3", "#7C780E", "#522809", "#C50B46")
"""Backgrounds by lag, the smallest first; readable with white text, and distinguishable with colour blindness."""

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
    "diverged_cell": (ALARM, DIVERGED, "bold"),
    "lost": (WHITE, LOST, "bold"),
    "calm": (CALM, "", ""),
    "warning": (WARNING, "", ""),
    "alarm": (ALARM, "", "bold"),
    "key": (CALM, "", "bold"),
    "link": (CALM, "", "bold underline"),
    "bar": (TEXT, BAR, ""),
    "bar_quiet": (QUIET, BAR, ""),
    "bar_strong": (WHITE, BAR, "bold"),
    "bar_calm": (CALM, BAR, ""),
    "bar_warning": (WARNING, BAR, "bold"),
    "bar_alarm": (ALARM, BAR, "bold"),
    "bar_lost": (WHITE, LOST, "bold"),
    "bar_key": (CALM, BAR, "bold"),
    "pill_live": (BACKGROUND, CALM, "bold"),
    "pill_paused": (BACKGROUND, WARNING, "bold"),
    "pill_seek": (BACKGROUND, WHITE, "bold"),
    "jump": (BACKGROUND, WARNING, "bold"),
    **{f"epoch{index}": (WHITE, colour, "") for index, colour in enumerate(EPOCHS)},
    **{f"above{index}": (colour, "", "") for index, colour in enumerate(EPOCHS_BRIGHT)},
    **{f"heat{index}": (WHITE, colour, "") for index, colour in enumerate(HEAT, 1)},
}

GROUNDS: Final = (LOST, *EPOCHS, *HEAT)
"""Backgrounds of white text, the same in the dark and the light theme."""

LIGHT: Final[Mapping[str, str]] = {
    BACKGROUND: "#FAFAF7",
    BAR: "#E3E6EA",
    ROW: "#E6EDF5",
    CELL: "#C9D9EA",
    TEXT: "#20262E",
    QUIET: "#59636F",
    FAINT: "#66707C",
    LINE: "#B4BCC6",
    WHITE: "#000000",
    CALM: "#0063A6",
    WARNING: "#806200",
    ALARM: "#800015",
    DIVERGED: "#F7DDD3",
    **{colour: colour for colour in GROUNDS},
    **dict(zip(EPOCHS_BRIGHT, ("#005E7C", "#6E3F31", "#4C3A8F", "#136358", "#7D520B"), strict=True)),
}
"""Colour of the dark theme → colour of the light theme."""

_ANSI_EPOCHS: Final = ("cyan", "yellow", "magenta", "green", "blue")
ANSI: Final[Mapping[str, str]] = {
    TEXT: "default",
    QUIET: "default",
    FAINT: "default",
    WHITE: "default",
    CALM: "cyan",
    WARNING: "yellow",
    ALARM: "red",
    LOST: "red",
    **dict(zip(EPOCHS, _ANSI_EPOCHS, strict=True)),
    **dict(zip(EPOCHS_BRIGHT, _ANSI_EPOCHS, strict=True)),
    **dict(zip(HEAT, ("blue", "cyan", "green", "yellow", "red"), strict=True)),
}
"""Colour → name in the terminal's palette. Backgrounds are written reversed, so that text on them has the terminal's
own background colour."""

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
    "link": "bold underline",
    "bar": "",
    "bar_strong": "bold",
    "bar_warning": "bold",
    "bar_alarm": "bold",
    "bar_lost": "bold reverse",
    "bar_key": "bold",
    "pill_live": "reverse",
    "pill_paused": "bold reverse",
    "pill_seek": "bold reverse",
    "jump": "bold reverse",
    "heat3": "bold",
    "heat4": "reverse",
    "heat5": "bold reverse",
    # Neighbouring epochs must differ without colour too.
    **{f"epoch{index}": "reverse" if index % 2 else "bold" for index in range(len(EPOCHS))},
}

ROLES: Final = frozenset(_COLOUR)
"""All roles that a painter may use."""


class Appearance:
    """Appearance of the TUI: colours and glyph set. Immutable; equal ones draw the same output."""

    def __init__(self, *, colour: bool = True, glyphs: GlyphSet = "unicode", theme: ThemeName = "dark") -> None:
        self.colour = colour
        self.glyphs: GlyphSet = glyphs
        self.theme: ThemeName = theme
        coloured = _ansi_style if theme == "ansi" else partial(_colour_style, light=theme == "light")
        self._style = cache(partial(_fresh_style, coloured if colour else _mono_style))

    def style(self, role: str, over: Over = "") -> Style:
        """Return the style of a role, with an overlay.

        Raises:
            KeyError: no such role.
        """
        return self._style(role, over)

    def text(self, text: str) -> str:
        """Return ``text`` in the glyph set of this appearance; each printable cell stays one cell."""
        if not text.isprintable():
            text = "".join(char if char.isprintable() else " " for char in text)
        return text if self.glyphs == "unicode" else to_ascii(text)


READABLE: Final = 4.5
"""Minimum contrast of text with its background."""


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21, as in the WCAG."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [part / 255 for part in Color.parse(colour).get_truecolor()]
    red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _fresh_style(style: Callable[[str, Over], Style], role: str, over: Over) -> Style:
    """Return a style in bold for a recent change."""
    if over == "fresh":
        return style(role, "") + BOLD
    return style(role, "row") + BOLD if over == "fresh row" else style(role, over)


def _colour_style(role: str, over: Over, *, light: bool) -> Style:
    foreground, background, attributes = _COLOUR[role]
    if over == "cell":
        background, attributes = CELL, "bold"
    elif over == "row" and not background:
        background = ROW
    fixed = background in GROUNDS
    background = background or BACKGROUND
    if light:
        foreground, background = foreground if fixed else LIGHT[foreground], LIGHT[background]
    if over and contrast(foreground, background) < READABLE:  # Under the cursor readability matters more than the hue.
        foreground = LIGHT[WHITE] if light and not fixed else WHITE
    return Style.parse(f"{attributes} {foreground} on {background}")


def _ansi_style(role: str, over: Over) -> Style:
    foreground, background, attributes = _COLOUR[role]
    if over == "cell":
        return Style.parse(f"bold reverse {ANSI.get(foreground, 'default')}")
    if over == "row" and "bold" not in attributes:
        attributes = f"{attributes} bold"
    if background in ANSI:  # A background of its own: written reversed.
        return Style.parse(f"{attributes} reverse {ANSI[background]}")
    dim = "dim" if foreground == FAINT else ""
    return Style.parse(f"{attributes} {dim} {ANSI.get(foreground, 'default')}")


def _mono_style(role: str, over: Over) -> Style:
    if role not in ROLES:
        raise KeyError(role)
    attributes = _MONO.get(role, "")
    if over == "cell":
        attributes = "bold reverse"
    elif over == "row" and "bold" not in attributes:
        attributes = f"{attributes} bold"
    return Style.parse(attributes) if attributes else Style.null()


def textual_themes() -> tuple[Theme, ...]:
    """Return the themes for Textual's own widgets: toasts, the palette, pages. See :func:`textual_name`."""
    dark = {colour: colour for colour in LIGHT}
    return _coloured_theme("dark", dark), _coloured_theme("light", LIGHT), _ansi_theme()


def textual_name(theme: ThemeName) -> str:
    """Return Textual's name of one of our themes."""
    return f"floodmark-{theme}"


def _coloured_theme(name: ThemeName, colours: Mapping[str, str]) -> Theme:
    return Theme(
        name=textual_name(name),
        primary=colours[CALM],
        secondary=colours[QUIET],
        accent=colours[WARNING],
        warning=colours[WARNING],
        error=colours[ALARM],
        success=colours[CALM],
        foreground=colours[TEXT],
        background=colours[BACKGROUND],
        surface=colours[BAR],
        panel=colours[ROW],
        dark=name == "dark",
        variables={"border": colours[LINE], "quiet": colours[QUIET], "footer-background": colours[BAR]},
    )


def _ansi_theme() -> Theme:
    plain = "ansi_default"
    return Theme(
        name=textual_name("ansi"), ansi=True,
        primary="ansi_cyan", secondary=plain, accent="ansi_yellow", warning="ansi_yellow", error="ansi_red",
        success="ansi_cyan", foreground=plain, background=plain, surface=plain, panel=plain, boost=plain,
        variables={
            **BUILTIN_THEMES["ansi-dark"].variables,
            "border": "ansi_bright_black", "quiet": plain, "footer-background": plain,
            "block-cursor-foreground": "ansi_black", "block-cursor-background": "ansi_cyan",
            "input-cursor-foreground": "ansi_black", "input-cursor-background": "ansi_white",
            "input-selection-foreground": "ansi_black", "input-selection-background": "ansi_cyan",
        },
    )  # fmt: skip
