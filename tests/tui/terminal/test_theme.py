"""Every role of every theme can be read, and what stands side by side can be told apart, by everybody."""

from itertools import combinations, pairwise

import pytest
from rich.color import Color

from tui.terminal import theme
from tui.terminal.theme import EPOCHS, EPOCHS_BRIGHT, LIGHT, ROLES, Appearance, contrast, textual_name, textual_themes

COLOURED = ("dark", "light")
STATUS = ("leader", "in_sync", "lagging", "down")
"""Whose glyphs stand in one column."""
STATUS_APART, EPOCHS_APART = 20, 25
"""Distances in CIELAB; 2 is the least that an eye sees side by side."""

BLIND = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900),
    ),
}  # fmt: skip
"""What is left of linear red, green and blue: matrices of Machado, Oliveira and Fernandes (2009)."""


def seen(colour, kind):
    """CIELAB of a colour as that kind of eye has it."""
    parts = [part / 255 for part in Color.parse(colour).get_truecolor()]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    red, green, blue = (
        min(1, max(0, sum(by * part for by, part in zip(row, linear, strict=True)))) for row in BLIND[kind]
    )
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one, other, kind):
    return sum((a - b) ** 2 for a, b in zip(seen(one, kind), seen(other, kind), strict=True)) ** 0.5


def context(style):
    return style.bgcolor.get_truecolor().hex


@pytest.mark.parametrize("name", COLOURED)
@pytest.mark.parametrize("over", ["", "row", "cell"])
def test_every_role_can_be_read_on_what_is_behind_it(name, over):
    appearance = Appearance(theme=name)
    poor = {
        role: round(found, 2)
        for role in sorted(ROLES)
        for style in [appearance.style(role, over)]
        if (found := contrast(style.color.get_truecolor().hex, context(style))) < theme.READABLE
    }
    assert poor == {}


def test_contrast_is_counted_as_the_guidelines_count_it():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)
    assert contrast("#777777", "#777777") == 1


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("name", COLOURED)
def test_the_statuses_of_replicas_are_distinguished_by_everybody(name, kind):
    appearance = Appearance(theme=name)
    colours = {role: appearance.style(role).color.get_truecolor().hex for role in STATUS}
    near = {
        pair: round(found)
        for pair in combinations(STATUS, 2)
        if (found := distance(colours[pair[0]], colours[pair[1]], kind)) < STATUS_APART
    }
    assert near == {}


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("colours", [EPOCHS, EPOCHS_BRIGHT, tuple(LIGHT[each] for each in EPOCHS_BRIGHT)])
def test_epochs_that_follow_each_other_are_distinguished_by_everybody(colours, kind):
    near = [round(distance(*pair, kind)) for pair in pairwise((*colours, colours[0]))]
    assert min(near) >= EPOCHS_APART


def test_a_distance_is_none_where_an_eye_sees_no_difference():
    assert distance("#E8622C", "#E8622C", "protanopia") == 0
    assert distance("#FF0000", "#00FF00", "all colours") > 3 * distance("#C05A00", "#6B8000", "deuteranopia")


def test_the_light_theme_has_another_colour_for_each_of_the_dark_one():
    used = {colour for foreground, background, _ in theme._COLOUR.values() for colour in (foreground, background)}
    assert used - {""} <= set(LIGHT)
    assert {each for each in LIGHT if LIGHT[each] == each} == set(theme.GROUNDS)


@pytest.mark.parametrize("over", ["", "row", "cell"])
def test_the_terminals_palette_is_all_that_its_theme_has(over):
    appearance = Appearance(theme="ansi")
    for role in sorted(ROLES):
        style = appearance.style(role, over)
        assert style.bgcolor is None
        assert style.color is None or style.color.is_default or style.color.number < 16, role


def test_epochs_and_losses_are_distinct_in_the_terminal_palette():
    appearance = Appearance(theme="ansi")
    for role in ("lost", "bar_lost", "pill_live", "pill_paused", *(f"epoch{at}" for at in range(5))):
        assert appearance.style(role).reverse, role
    grounds = [appearance.style(f"epoch{at}").color.name for at in range(5)]
    assert len(set(grounds)) == 5


@pytest.mark.parametrize("name", ["dark", "light", "ansi"])
def test_without_colour_a_theme_changes_nothing(name):
    plain, themed = Appearance(colour=False), Appearance(colour=False, theme=name)
    assert all(plain.style(role) == themed.style(role) for role in sorted(ROLES))


def test_every_theme_has_one_for_the_widgets_too():
    assert [each.name for each in textual_themes()] == [textual_name(name) for name in ("dark", "light", "ansi")]
    assert [each.dark for each in textual_themes()][:2] == [True, False]
    assert textual_themes()[2].ansi


@pytest.mark.parametrize("name", COLOURED)
def test_widget_texts_have_readable_contrast(name):
    """Toasts, prompts, pages and the palette have their colours from Textual's theme."""
    made = next(each for each in textual_themes() if each.name == textual_name(name))
    words = {"foreground": made.foreground, "primary": made.primary, "warning": made.warning, "error": made.error}
    grounds = {"background": made.background, "surface": made.surface, "panel": made.panel}
    poor = {
        (word, behind): round(found, 2)
        for word, colour in (words | {"quiet": made.variables["quiet"]}).items()
        for behind, ground_colour in grounds.items()
        if (found := contrast(colour, ground_colour)) < theme.READABLE
    }
    assert poor == {}
