"""Glyphs of the TUI and their ASCII replacements.

Painters write the Unicode glyphs; for a terminal that cannot show them each one is replaced by an ASCII character of
the same width at the last moment, so that both variants have the same layout. The help page has a legend of all marks
(:data:`tui.viewmodel.help.LEGEND`).
"""

import locale
import os
from collections.abc import Mapping
from typing import Final, Literal

from rich.cells import cell_len

GlyphSet = Literal["unicode", "ascii"]

LEADER: Final = "★"
IN_SYNC: Final = "●"
LAGGING: Final = "◔"
DOWN: Final = "✕"
TRUNCATING: Final = "↺"
DIVERGED: Final = "╳"
LOST: Final = "†"
"""Acknowledged records that are not in the leader's log; used for nothing else."""
VIOLATION: Final = "§"
"""Violation of an invariant, or a missed liveness deadline."""
NOTHING: Final = "·"
ABOVE_HW: Final = "▒"
TICK: Final = "▲"
OWN_HW: Final = "ˇ"
RULE: Final = "┊"
LOG_START: Final = "╎"
MARKER: Final = "▌"
PLAY: Final = "▶"
PAUSED: Final = "‖"
SEEK: Final = "»"
MINUS: Final = "−"
TIMES: Final = "×"
MORE_BELOW: Final = "▾"
MORE_ABOVE: Final = "▴"
MORE_LEFT: Final = "◂"
MORE_RIGHT: Final = "▸"
LOGO: Final = "▚▞"
BULLET: Final = "◆"
ARROW: Final = "→"
OK: Final = "✓"
FORK: Final = "Y"
"""Branch: plain text, so it is its own replacement."""
SPLIT: Final = "☆"
FENCED: Final = "⊘"
LEAVING: Final = "↓"
STALE: Final = "?"
ABOUT: Final = "~"
CORNERS: Final = "╭╮╰╯"
"""Corners of a frame: top left, top right, bottom left, bottom right."""
EDGE: Final = "─"
SIDE: Final = "│"
LEAVES: Final = "┬"
CROSSES: Final = "┼"
JOINS: Final = "├"
"""Line junctions: fork, crossing, and fork at the start of a line."""
LSO: Final = "△"
HOLE: Final = "_"
CONTROL: Final = "c"
OPENED: Final = "["
CLOSED: Final = "]"
"""First and last record of an open transaction; both ends of a time span."""
FETCH_REQUEST: Final = "⇠"
FETCH_RESPONSE: Final = "⇢"
MORE: Final = "…"
PASSED: Final = "━"
FUTURE: Final = "╌"
SPARK: Final = "▁▂▃▄▅▆▇█"
"""Heights of a bar, the lowest first."""

ASCII: Final[Mapping[str, str]] = {
    LEADER: "L",
    IN_SYNC: "o",
    LAGGING: "~",
    DOWN: "x",
    TRUNCATING: "<",
    DIVERGED: "%",
    LOST: "#",
    VIOLATION: "$",
    NOTHING: ".",
    ABOVE_HW: ":",
    TICK: "^",
    OWN_HW: "'",
    RULE: "|",
    LOG_START: "!",
    MARKER: ">",
    PLAY: ">",
    PAUSED: "=",
    SEEK: ">",
    MINUS: "-",
    TIMES: "x",
    MORE_BELOW: "v",
    MORE_ABOVE: "^",
    MORE_LEFT: "<",
    MORE_RIGHT: ">",
    "▚": "#",
    "▞": "#",
    BULLET: "*",
    ARROW: ">",
    OK: "y",
    SPLIT: "Z",
    FENCED: "f",
    LEAVING: "v",
    **dict.fromkeys(CORNERS, "+"),
    EDGE: "-",
    SIDE: "|",
    LEAVES: "+",
    CROSSES: "+",
    JOINS: "+",
    LSO: "^",
    FETCH_REQUEST: "<",
    FETCH_RESPONSE: ">",
    PASSED: "=",
    FUTURE: ".",
    **dict(zip(SPARK, "_.,-+*%#", strict=True)),
    "←": "<",
    "↑": "^",
    # Faults, where a glyph is not one of the above.
    "≈": "~",
    "≠": "/",
    "⊖": "-",
    "◐": "(",
    "∩": "n",
    "○": "O",
    "∿": "~",
    "▼": "v",
    "–": "-",
    "…": "~",
    "›": ">",
    "♛": "k",
    "∅": "0",
    "◷": "c",
    "◴": "s",
    "◌": "o",
    "↻": "b",
    "⋯": "t",
    "◵": "u",
    "≂": "w",
    "∵": "k",
    "↩": "r",
    "⇇": "2",
    "⌁": "z",
    "◶": "e",
    "▽": "d",
    "▣": "F",
    "▤": "R",
    "◇": "a",
    "↗": "v",
    "∆": "h",
    "⇄": "j",
    "∥": "q",
}
"""Glyph → its ASCII replacement, one cell each."""

_TABLE: Final = str.maketrans(dict(ASCII))


def to_ascii(text: str) -> str:
    """Return ``text`` with every glyph replaced, and ``?`` for each cell of other non-ASCII characters."""
    text = text.translate(_TABLE)
    if text.isascii():
        return text
    return "".join(char if char.isascii() else "?" * cell_len(char) for char in text)


def choose(requested: str | None, environ: Mapping[str, str] | None = None, encoding: str | None = None) -> GlyphSet:
    """Return the glyph set to use: the requested one, else ASCII if locale or terminal cannot show Unicode.

    Raises:
        ValueError: ``requested`` is neither ``unicode`` nor ``ascii`` nor empty.
    """
    if requested in ("unicode", "ascii"):
        return "ascii" if requested == "ascii" else "unicode"
    if requested not in (None, "", "auto"):
        raise ValueError(f"--glyphs: found {requested!r}, expected auto, unicode and ascii")
    environ = os.environ if environ is None else environ
    encoding = locale.getpreferredencoding(False) if encoding is None else encoding
    plain = environ.get("TERM") == "linux" or encoding.lower().replace("-", "") != "utf8"
    return "ascii" if plain else "unicode"
