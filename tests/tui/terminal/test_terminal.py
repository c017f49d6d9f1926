"""Fewer bytes for the same picture: read by a terminal, both come to the same text in the same styles."""

import re

import pytest
from textual._compositor import CompositorUpdate

from faults.declarations.fault import Action
from tests.tui.driving import driving
from tui.keybindings.keymap import MODES
from tui.terminal.terminal import frugal, reduced_output_driver

UNSEEN = {1, 2, 3, 38}
"""What blanks do not show."""
RED, BLUE, DARK = "38;2;255;0;0", "38;2;0;0;255", "48;2;16;21;28"


def read(data):
    """Characters with what holds for each: attributes and colours; and what else is told, in its place."""
    shown, state = [], {}
    for codes, other, character in re.findall(r"\x1b\[([\d;]*)m|(\x1b\[[\d;?]*[A-Za-z])|([^\x1b])", data):
        if other:
            shown.append(other)
        elif character == "\n":
            pass  # only ever before a move to the place where the next line begins
        elif character:
            seen = {code: value for code, value in state.items() if character != " " or code not in UNSEEN}
            shown.append((character, tuple(sorted(seen.items()))))
        else:
            told(codes.split(";"), state)
    return shown


def told(codes, state):
    """Take a style as a terminal does."""
    rest = list(codes)
    while rest:
        code = int(rest.pop(0) or 0)
        if code == 0:
            state.clear()
        elif code in (38, 48):
            kind = rest.pop(0)
            count = 3 if kind == "2" else 1
            state[code] = (kind, *rest[:count])
            del rest[:count]
        elif 30 <= code <= 37 or 90 <= code <= 97 or code == 39:
            state[38] = code
        elif 40 <= code <= 47 or 100 <= code <= 107 or code == 49:
            state[48] = code
        elif code == 22:
            state.pop(1, None)
            state.pop(2, None)
        else:
            state[code] = True


def piece(text, *codes):
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m"


@pytest.mark.parametrize(
    ("pieces", "sent"),
    [
        ([("a", RED, DARK), ("b", BLUE, DARK)], f"\x1b[{RED};{DARK}ma\x1b[{BLUE}mb\x1b[0m"),
        ([("a", RED, DARK), ("b", "1", RED, DARK)], f"\x1b[{RED};{DARK}ma\x1b[1mb\x1b[0m"),
        ([("a", "1", RED, DARK), ("b", RED, DARK)], f"\x1b[1;{RED};{DARK}ma\x1b[22mb\x1b[0m"),
        ([("a", "4", RED, DARK), ("b", RED, DARK)], f"\x1b[4;{RED};{DARK}ma\x1b[0m\x1b[{RED};{DARK}mb\x1b[0m"),
        ([("a", "1", "2", RED), ("b", "2", RED)], f"\x1b[1;2;{RED}ma\x1b[0m\x1b[2;{RED}mb\x1b[0m"),
        ([("a", "1", RED), ("b", "7", BLUE)], f"\x1b[1;{RED}ma\x1b[22;7;{BLUE}mb\x1b[0m"),
        ([("a", RED, DARK), ("b", RED, DARK)], f"\x1b[{RED};{DARK}mab\x1b[0m"),
        ([("a", RED, DARK), ("b", RED)], f"\x1b[{RED};{DARK}ma\x1b[0m\x1b[{RED}mb\x1b[0m"),
        ([("a", RED, DARK), ("  ", "1", BLUE, DARK), ("b", RED, DARK)], f"\x1b[{RED};{DARK}ma  b\x1b[0m"),
        ([("a", RED, DARK), (" ", "4", RED, DARK)], f"\x1b[{RED};{DARK}ma\x1b[4m \x1b[0m"),
        ([("a", RED, DARK), (" ", RED)], f"\x1b[{RED};{DARK}ma\x1b[0m\x1b[{RED}m \x1b[0m"),
        ([("a", "31"), ("b", "92"), ("c", "39", "49")], "\x1b[31ma\x1b[92mb\x1b[39;49mc\x1b[0m"),
        ([("a", "38;5;7"), ("b", "38;5;9", "7")], "\x1b[38;5;7ma\x1b[7;38;5;9mb\x1b[0m"),
        ([("a", RED), ("b", RED, "53")], f"\x1b[{RED}ma\x1b[0m\x1b[{RED};53mb\x1b[0m"),
    ],
)
def test_only_what_is_different_is_said(pieces, sent):
    whole = "".join(piece(*each) for each in pieces)
    assert frugal(whole) == sent
    assert read(sent) == read(whole)


def test_a_move_of_the_cursor_changes_no_style():
    for move in ("\x1b[2;1H", "\n\x1b[2;1H"):
        whole = f"{piece('a', RED, DARK)}{move}{piece('b', BLUE, DARK)}"
        assert frugal(whole) == f"\x1b[{RED};{DARK}ma\x1b[2;1H\x1b[{BLUE}mb\x1b[0m"


@pytest.mark.parametrize("between", ["plain", "\n", "\x1b[2J", "\x1b[?25l", "\x1b[0m"])
def test_behind_anything_else_a_style_is_said_in_full(between):
    whole = f"{piece('a', RED, DARK)}{between}{piece('b', BLUE, DARK)}"
    assert frugal(whole) == whole
    assert frugal("") == ""


@pytest.mark.slow
@pytest.mark.parametrize("glyphs", ["unicode", "ascii"])
async def test_frugal_output_shows_the_same_picture_in_fewer_bytes(glyphs):
    async with driving((120, 40), glyphs=glyphs) as driver:
        await driver.seconds(1)
        driver.session_controller.act(Action("inject", "crash", "broker(1)"))
        await driver.seconds(1)
        for mode in MODES:
            await driver.press(mode.digit)
            await driver.frames(1)
            update = driver.app.screen._compositor.render_update(full=True)
            assert isinstance(update, CompositorUpdate)
            whole = update.render_segments(driver.app.console)
            sent = frugal(whole)
            assert read(sent) == read(whole), mode.name
            assert len(sent) < len(whole) * 0.9, mode.name


def test_a_driver_sends_what_is_left():
    sent = []

    class Kind:
        def write(self, data):
            sent.append(data)

    reduced_output_driver(Kind)().write(piece("a", RED, DARK) + piece("b", BLUE, DARK))
    assert sent == [f"\x1b[{RED};{DARK}ma\x1b[{BLUE}mb\x1b[0m"]
