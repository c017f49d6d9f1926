"""The help page begins with what is looked at; the glossary behind it explains the words."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tui import fake_views
from tests.tui.driving import driving, trimmed
from tui.keybindings import keymap
from tui.keybindings.keymap import KEYS
from tui.keybindings.scopes import remapped
from tui.screens.help import GlossaryScreen
from tui.terminal import glyphs
from tui.terminal.theme import ROLES
from tui.viewmodel import finding_page, partition_matrix, playbook_pages, status_bar
from tui.viewmodel import help as help_text
from tui.viewmodel.help import CLUSTER, GLOSSARY, MODES, OPERATIONS, SHEET, lines, search_terms, term

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
HERE = (CLUSTER, SHEET, OPERATIONS, *MODES.values())


def text(here, keys=KEYS):
    return "\n".join("".join(piece for piece, _role in line) for line in lines(here, keys))


@pytest.mark.parametrize("here", HERE, ids=lambda here: here.title)
def test_help_shows_the_current_mode_first(here):
    told = text(here)
    assert told.startswith(f"{here.title}\n{here.shows}\n")
    for key in KEYS:
        assert key.description in told
    for _glyph, _role, words in help_text.LEGEND:
        assert words in told
    before_keys = told[: told.index("\nTime\n")]
    assert all(term(word).meaning in before_keys for word in here.terms)
    assert all(words in before_keys for mark, _role, words in help_text.LEGEND if mark in here.glyphs)


def test_roles_exist_and_modes_are_modes(snapshot):
    assert [here.title for here in HERE] == snapshot
    assert all(role in ROLES for here in HERE for line in lines(here, KEYS) for _text, role in line)
    assert set(MODES) == {"compare", *(mode.name for mode in keymap.MODES if mode.where)}


def test_other_keys_are_shown_as_they_are(snapshot):
    told = text(CLUSTER, remapped({"pause": ("x",)})).split("\n")
    assert [line for line in told if line.startswith("x ")] == snapshot


LINES = {"CORNERS", "EDGE", "SIDE", "LEAVES", "CROSSES", "JOINS", "LOGO", "ASCII"}
"""Names in glyphs of what is no mark: lines of frames and branches, the logo, the table of replacements."""
TUI = Path(help_text.__file__).parents[1]


def marks():
    return "".join(mark for mark, _role, _meaning in help_text.LEGEND)


def glyphs_drawn():
    """Names of the glyphs that any module of the TUI uses."""
    for path in TUI.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "glyphs":
                yield node.attr


def test_the_legend_explains_every_glyph_that_is_drawn():
    drawn = {name for name in glyphs_drawn() if isinstance(getattr(glyphs, name), str)} - LINES
    declared = {name for name, value in vars(glyphs).items() if name.isupper() and isinstance(value, str)} - LINES
    assert drawn
    assert {name for name in drawn | declared if not set(getattr(glyphs, name)) <= set(marks())} == set()


def test_the_legend_explains_every_state_that_is_drawn():
    tables = (
        partition_matrix.STATUS, partition_matrix.BROKER_STATUS, status_bar.ROLE, finding_page._MARKS,
        finding_page._GLYPHS, playbook_pages.GLYPHS, playbook_pages.VERDICTS,
    )  # fmt: skip
    shown = {glyph for table in tables for glyph, _role in table.values()}
    shown |= {state.glyph for state in partition_matrix.STATES}
    assert {glyph for glyph in shown if glyph not in marks()} == set()


def test_the_legend_explains_the_marks_after_a_broker_and_fits_the_help_page():
    broker = fake_views.view().brokers[0]
    for changed in ({"fenced": True}, {"shutting_down": True}, {"stale": 60}):
        (mark,) = {partition_matrix.marks(replace(broker, **changed), room).strip() for room in (3, 4)}
        assert mark in [each for each, _role, _meaning in help_text.LEGEND]
    assert max(len(mark) for mark, _role, _meaning in help_text.LEGEND) < help_text.GLYPH


def test_there_are_words_enough_in_order_each_once_and_none_explains_itself_by_nothing():
    words = [each.word for each in GLOSSARY]
    assert len(words) >= 20
    assert words == sorted(words, key=str.lower)
    assert len(set(words)) == len(words)
    assert all(each.meaning.endswith(".") and len(each.meaning) > 20 for each in GLOSSARY)
    assert {"ISR", "HW", "LEO", "epoch", "unclean election", "ELR", "LSO", "fencing"} <= set(words)


@pytest.mark.parametrize(
    ("typed", "first"), [("is", "ISR"), ("Unclean", "unclean election"), ("last stable", "LSO"), ("kip-966", "ELR")]
)
def test_a_word_is_found_by_its_beginning_or_by_what_it_means(typed, first):
    assert search_terms(typed)[0].word == first


def test_nothing_typed_is_everything_and_nonsense_is_nothing():
    assert search_terms("") == search_terms("  ") == GLOSSARY
    assert search_terms("zzz") == ()


@pytest.mark.slow
async def test_the_pages(golden, snapshot):
    async with driving() as driver:
        await driver.press("c", "question_mark")
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"help-{size}")
        await driver.press("g", *"leader")
        assert isinstance(driver.app.screen, GlossaryScreen)
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"glossary-{size}")
        await driver.press(*"zz")
        assert driver.shown("#glossary-page") == snapshot
        await driver.press("escape", "escape")
        assert driver.app.screen.MODE == "clients"


@pytest.mark.slow
async def test_the_session_is_seen_to_move_beneath_two_pages():
    async with driving() as driver:
        await driver.press("question_mark", "g")
        assert len(driver.app.screen_stack) == 3
        await driver.seconds(1)
        assert "00:01.000" in driver.text().split("\n")[0]
