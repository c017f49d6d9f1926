"""The page of settings: what each is set to, what else it takes, and where that is kept."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tui.keybindings.keymap import Key, with_keys
from tui.settings.schema import OPTIONS, Option, Settings, Value
from tui.settings.settings_file import Found
from tui.terminal import glyphs
from tui.terminal.format import speed, wrap
from tui.terminal.speeds import faster, slower

KEYS_WORDS: Final = (
    f"{{setting_up}} {{setting_down}} which {glyphs.NOTHING} {{setting_left}} {{setting_right}} change at once"
    f" {glyphs.NOTHING} {{setting_write}} write the file {glyphs.NOTHING} esc"
)
LABEL: Final = 11
MOST_PROBLEMS: Final = 4
"""Lines about what is wrong in the file; more are counted."""

Piece = tuple[str, str]
"""Text, role."""


def stepped(settings: Settings, name: str, by: int) -> Settings:
    """The settings with the next value of one of them, or with the one before."""
    option = next(each for each in OPTIONS if each.name == name)
    value = settings.value(name)
    if option.choices:
        at = option.choices.index(str(value))
        return replace(settings, **{name: option.choices[(at + by) % len(option.choices)]})  # type: ignore[arg-type]
    if isinstance(option.default, bool):
        return replace(settings, **{name: not value})  # type: ignore[arg-type]
    return replace(settings, speed=faster(settings.speed) if by > 0 else slower(settings.speed))


def lines(
    settings: Settings, marked: int, found: Found, keys: Sequence[Key], said: Piece, width: int
) -> list[tuple[Piece, ...]]:
    """The page as lines of pieces; ``keys`` are those in force, ``said`` is the last answer."""
    rows: list[tuple[Piece, ...]] = []
    for number, option in enumerate(OPTIONS):
        here = number == marked
        mark = (f"{glyphs.MARKER if here else ' '}{option.name:<{LABEL}}", "key" if here else "quiet")
        rows.append((mark, *_values(option, settings.value(option.name))))
    rows += [(("", "text"),), *(((line, "text"),) for line in wrap(OPTIONS[marked].words, width)), (("", "text"),)]
    kept = f"{found.path}{'' if found.there else ', not there yet'}"
    rows.append((("file".ljust(LABEL + 1), "quiet"), (kept, "text")))
    told = (
        ", ".join(f"{key.id} {key.shown}" for key in keys if key.id in settings.keys)
        or "none; the file can change any key, see: floodmark settings --example"
    )
    rows += _labelled("other keys", told, "text", width)
    for problem in found.problems[:MOST_PROBLEMS]:
        rows += _labelled("wrong", problem, "warning", width)
    for note in found.notes[:MOST_PROBLEMS]:
        rows += _labelled("note", note, "text", width)
    if len(found.problems) > MOST_PROBLEMS:
        rows += _labelled("", f"and {len(found.problems) - MOST_PROBLEMS} more: floodmark settings", "warning", width)
    return [*rows, (("", "text"),), (said,), ((with_keys(KEYS_WORDS, keys), "quiet"),)]


def _values(option: Option, value: Value) -> list[Piece]:
    if not option.choices:
        text = "yes" if value is True else "no" if value is False else f"{glyphs.TIMES}{speed(float(value))}"
        return [(text, "strong")]
    return [
        (f"[{choice}] " if choice == value else f" {choice}  ", "strong" if choice == value else "quiet")
        for choice in option.choices
    ]


def _labelled(label: str, text: str, role: str, width: int) -> list[tuple[Piece, ...]]:
    told = wrap(text, max(20, width - LABEL - 1))
    return [((f"{label if not at else '':<{LABEL + 1}}", "quiet"), (line, role)) for at, line in enumerate(told)]
