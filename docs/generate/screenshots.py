"""Several screens as one SVG that shows them one after the other: no script, no fonts, nothing from outside itself.

A line that several screens have in common stands in it once; times are kept by CSS.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.style import Style

from tui.terminal.theme import BACKGROUND, BAR, QUIET, TEXT

CELL: Final = 8.4
"""Width of a character, in the picture's units."""
LINE: Final = 17
MARGIN: Final = 10
TITLE: Final = 34
"""Height of the bar with the words."""

Run = tuple[str, str, str, bool]
"""Text, its colour, the colour behind it, whether it is bold."""


@dataclass(frozen=True, slots=True)
class Beat:
    """One screen, and how long it is looked at."""

    words: str
    seconds: float
    lines: tuple[tuple[Run, ...], ...]


def runs(pieces: Sequence[tuple[str, Style | None]]) -> tuple[Run, ...]:
    """A line of a screen, neighbours of one look together."""
    looks = [(text, *_look(style or Style.null())) for text, style in pieces]
    return tuple(
        ("".join(each[0] for each in same), *look)
        for look, same in groupby(looks, key=lambda each: (each[1], each[2], each[3]))
    )


def _look(style: Style) -> tuple[str, str, bool]:
    colour = TEXT if style.color is None or style.color.is_default else style.color.get_truecolor().hex
    ground = BACKGROUND if style.bgcolor is None or style.bgcolor.is_default else style.bgcolor.get_truecolor().hex
    if style.reverse:
        colour, ground = ground, colour
    return colour, ground, bool(style.bold)


def draw(beats: Sequence[Beat]) -> str:
    """The picture. Where nothing may move, it is the last screen."""
    columns = max(sum(cell_len(run[0]) for run in line) for beat in beats for line in beat.lines)
    width, height = columns * CELL + 2 * MARGIN, len(beats[0].lines) * LINE + TITLE + MARGIN
    known: dict[tuple[Run, ...], int] = {}
    colours: dict[tuple[str, bool], int] = {}
    frames = [_frame(number, beat, known, width) for number, beat in enumerate(beats)]
    shared = [f'<g id="l{number}">{_line(line, colours)}</g>' for line, number in known.items()]
    fills = "".join(
        f".c{number}{{fill:{colour}{';font-weight:bold' * bold}}}" for (colour, bold), number in colours.items()
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}">',
            f"<style>text{{font:14px monospace;white-space:pre}}{_timing(beats)}{fills}</style>",
            f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{BACKGROUND}"/>',
            f'<path d="M0 {TITLE - 8}V8a8 8 0 0 1 8-8H{width - 8:g}a8 8 0 0 1 8 8V{TITLE - 8}z" fill="{BAR}"/>',
            f"<defs>{''.join(shared)}</defs>",
            *frames,
            "</svg>",
            "",
        ]
    )


def _frame(number: int, beat: Beat, known: dict[tuple[Run, ...], int], width: float) -> str:
    lines = []
    for at, line in enumerate(beat.lines):
        if any(text.strip() or ground != BACKGROUND for text, _colour, ground, _bold in line):
            key = known.setdefault(line, len(known))
            lines.append(f'<use href="#l{key}" x="{MARGIN}" y="{TITLE + at * LINE}"/>')
    words = f'<text x="{width / 2:g}" y="18" text-anchor="middle" fill="{QUIET}">{escape(beat.words)}</text>'
    return f'<g class="b b{number}">{words}{"".join(lines)}</g>'


def _line(line: Sequence[Run], colours: dict[tuple[str, bool], int]) -> str:
    """Grounds first, then the words on them; each as wide as its cells, whatever the font is."""
    grounds, words, at = [], [], 0
    for text, colour, ground, bold in line:
        size = cell_len(text)
        if ground != BACKGROUND:
            number = colours.setdefault((ground, False), len(colours))
            grounds.append(f'<rect class="c{number}" x="{at * CELL:g}" width="{size * CELL:g}" height="{LINE}"/>')
        shown = text.strip(" ")
        if shown:
            number = colours.setdefault((colour, bold), len(colours))
            begins = at + len(text) - len(text.lstrip(" "))
            cells = f'x="{begins * CELL:g}" y="13" textLength="{cell_len(shown) * CELL:g}"'
            words.append(f'<text class="c{number}" {cells}>{escape(shown)}</text>')
        at += size
    return "".join(grounds + words)


def _timing(beats: Sequence[Beat]) -> str:
    """Each screen is seen in its part of the whole time."""
    whole, at, rules = sum(beat.seconds for beat in beats), 0.0, []
    for number, beat in enumerate(beats):
        begins, ends = 100 * at / whole, 100 * (at + beat.seconds) / whole
        seen = "" if number == 0 else "0%{visibility:hidden}"
        hidden = "" if number == len(beats) - 1 else f"{ends:.3f}%{{visibility:hidden}}"
        rules.append(f"@keyframes k{number}{{{seen}{begins:.3f}%{{visibility:visible}}{hidden}}}")
        rules.append(f".b{number}{{animation:k{number} {whole:g}s step-end infinite}}")
        at += beat.seconds
    still = f"@media(prefers-reduced-motion){{.b{{animation:none}}.b{len(beats) - 1}{{visibility:visible}}}}"
    return f".b{{visibility:hidden}}{''.join(rules)}{still}"
