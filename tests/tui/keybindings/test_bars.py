"""The bars above and below every screen: at any width no word is cut, and nothing moves while numbers grow."""

from dataclasses import replace
from itertools import accumulate

import pytest

from tests.tui import fake_views
from tests.tui.test_paint import LOOKS, text_of
from tui.keybindings.keymap import KEYS, MODES, mode_of, with_keys
from tui.keybindings.scopes import all_keys
from tui.screens.cluster import screen_class
from tui.viewmodel import status_bar
from tui.widgets import panes as paint

WIDTHS = range(60, 221)
STATES = {
    "live": {},
    "held back": {"requested_speed": 1000.0, "real_speed": 0.31},
    "branch": {"branch": "B"},
    "past": {"present_us": 90_000_000, "paused": True},
    "past of a branch, a long one": {"present_us": 5_400_000_000, "branch": "main"},
    "waiting": {"paused": True, "queued": 12},
}


def running(seed=7, playbook="a-playbook-with-quite-a-long-name", **more):
    fields = {"paused": False, "seeking": False, "ended": False, "requested_speed": 1.0, "real_speed": 1.0}
    return status_bar.RunStatus(playbook, seed, **(fields | more))


def bar(view, width, **more):
    return status_bar.build(view, running(**more), width)


def grown(view):
    """The same cluster with everything wrong with it."""
    bad = replace(view.partitions[0], isr=(), leader=-1, missing=99)
    return replace(
        view,
        now_us=35_999_000_000,
        partitions=(bad,) * 1200,
        ledger=replace(view.ledger, missing=99_999, acked_lost=45_000_000),
    )


def _no_later_than(view, present_us):
    return replace(view, now_us=min(view.now_us, present_us)) if present_us else view


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 123_456, 4_294_967_295])
@pytest.mark.parametrize("state", STATES)
def test_no_word_of_the_status_bar_is_cut(state, seed):
    for width in WIDTHS:
        row = bar(fake_views.troubled(), width, seed=seed, **STATES[state])
        told = "".join(text for text, _role in row.fields)
        assert len(told) <= width, width
        assert text_of(paint.status(row, width, LOOKS["colour"])) == told.ljust(width)


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_every_status_bar_shows_mode_and_alarms(state):
    for width in WIDTHS:
        told = "".join(text for text, _role in bar(fake_views.troubled(), width, **STATES[state]).fields)
        assert "urp 2" in told or "under-repl 2" in told, width
        assert "lost 1" in told, width
        assert any(word in told for word in ("LIVE", "PAST", "WAIT")), width


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_nothing_on_the_status_bar_moves_while_numbers_grow(state):
    view = fake_views.view(now_us=0)
    for width in WIDTHS:
        places = [
            list(accumulate(len(text) for text, _role in bar(each, width, **STATES[state]).fields))
            for each in (view, fake_views.troubled(), _no_later_than(grown(view), STATES[state].get("present_us", 0)))
        ]
        assert places[0] == places[1] == places[2], width


def test_words_are_longer_where_there_is_room():
    view = fake_views.troubled()
    sizes = [len("".join(text for text, _role in bar(view, width).fields).rstrip()) for width in WIDTHS]
    assert sizes[0] < sizes[60] < sizes[100]
    assert "floodmark" not in str(bar(view, 99))
    assert "floodmark" in str(bar(view, 120))
    assert "under-repl" in str(bar(view, 160))


def test_a_number_too_great_for_its_field_is_reported_as_more():
    view = grown(fake_views.view())
    told = "".join(text for text, _role in bar(view, 120).fields)
    assert "urp 9+ " in told
    assert "lost 45M" in told
    assert "missing 99+" in told


def test_no_word_of_the_control_line_is_cut():
    many = replace(
        fake_views.troubled(),
        brokers=tuple(replace(each, stale=4, fenced=True) for each in fake_views.view(brokers=9).brokers),
    )
    whole = "".join(text for text, _role in status_bar.bar(many, 500).fields)
    for width in WIDTHS:
        row = status_bar.bar(many, width)
        told = "".join(text for text, _role in row.fields)
        assert len(told) <= width
        for word in told.replace("…", " ").replace(",", " ").split():
            assert word in whole.replace(",", " ").split() or word in ("ctrl", *_narrow_words(many)), (width, word)


def _narrow_words(view):
    return "".join(text for text, _role in status_bar.bar(view, 99).fields).replace("…", " ").replace(",", " ").split()


# -- the bar of a mode ----------------------------------------------------------------------------------------------


OVER = [mode.name for mode in MODES if mode.where]


def hints_of(mode):
    return tuple(with_keys(each, all_keys()) for each in screen_class(mode_of(mode)).HINTS)


@pytest.mark.parametrize("mode", OVER)
def test_the_keys_that_matter_most_are_on_the_bar_of_every_mode(mode):
    hints = hints_of(mode)
    assert hints
    for width in WIDTHS:
        told = text_of(paint.mode_bar(paint.ModeBarRow(mode, hints), width, LOOKS["colour"]))
        assert len(told) == width
        assert hints[0] in told, (width, told)
        if width >= 80:
            assert hints[1] in told, (width, told)
        for digit in "123456":
            assert f" {digit}" in told, (width, told)


@pytest.mark.parametrize("mode", OVER)
def test_no_hint_is_cut_and_wide_bars_have_all_of_them(mode):
    hints = hints_of(mode)
    for width in WIDTHS:
        row = paint.ModeBarRow(mode, hints)
        told = text_of(paint.mode_bar(row, width, LOOKS["colour"]))
        tail = told[paint.mode_places(row, width)[-1][1] :].strip()
        found = tuple(tail.split(" · ")) if tail else ()
        assert found == hints[: len(found)], width
    assert found == hints


def test_a_click_on_the_bar_of_a_mode_finds_what_is_painted_there():
    row = paint.ModeBarRow("log", hints_of("log"))
    for width in (60, 80, 120, 200):
        told = text_of(paint.mode_bar(row, width, LOOKS["colour"]))
        places = paint.mode_places(row, width)
        assert [mode.digit for _start, _end, mode in places] == [mode.digit for mode in MODES]
        for start, end, mode in places:
            assert told[start:end].strip() in (mode.digit, f"{mode.digit} {mode.title}"), width


def test_hints_have_the_keys_that_the_user_wants():
    assert with_keys("{fault} fault") == "f fault"
    assert with_keys("{fault} fault", [replace(next(key for key in KEYS if key.id == "fault"), shown="x")]) == "x fault"
