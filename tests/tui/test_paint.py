import pytest
from rich.cells import cell_len

from playbooks.results.client_stats import ClientStats
from tests.tui import fake_views
from tui.keybindings.keymap import KEYS
from tui.terminal import glyphs
from tui.terminal.theme import ROLES, Appearance
from tui.viewmodel import fault_sheet, log_view, partition_matrix, side_panes, status_bar
from tui.viewmodel.timeline.event_feed import FeedLine
from tui.widgets import line_widget as paint_rows
from tui.widgets import log as paint_lanes
from tui.widgets import matrix as paint_matrix
from tui.widgets import panes as paint_panes
from tui.widgets.line_widget import left, right, strip

LOOKS = {
    "colour": Appearance(),
    "ascii": Appearance(glyphs="ascii"),
    "mono": Appearance(colour=False),
    "mono ascii": Appearance(colour=False, glyphs="ascii"),
}


def every_row(width):
    """(painter, row) of each kind of line there is, built for ``width`` cells."""
    view = fake_views.troubled()
    built = partition_matrix.build_matrix(view, width=width, height=10, cursor=(1, 1))
    yield from ((paint_matrix.paint, row) for row in (built.head, *built.rows))
    shown = log_view.build_lanes(view, view.partitions[1], fake_views.log(100, 100 + log_view.cells(width)), 3)
    yield from ((paint_lanes.paint_lanes, row) for row in (*shown.rows, log_view.PartitionHeading("orders-9")))
    running = status_bar.RunStatus("a-playbook-with-quite-a-long-name", 7, False, False, False, 1000.0, 3.1)
    yield paint_panes.status, status_bar.build(view, running, width)
    yield paint_panes.feed, FeedLine("00:10.126", glyphs.LEADER, "strong", "b2 elected for 日本-0, epoch 1")
    for rows in (
        side_panes.clients(view, {"checkout": 200.0}, ClientStats()),
        side_panes.faults(view),
        side_panes.replica(view, 1, 0),
    ):
        yield from ((paint_rows.side, row) for row in rows)
    for columns in (1, 3):
        opened = fault_sheet.build_list(
            FAULTS * columns, chosen=1, title="Inject on b2", expectation="word " * 40, width=width
        )
        yield from ((paint_panes.sheet, row) for row in opened.rows)
    yield paint_panes.key_bar, paint_panes.KeyBarRow(width)


class _Fault:
    def __init__(self, letter):
        self.name = self.title = f"fault {letter}"
        self.letter = letter
        self.summary = "It breaks something."
        self.params = ()
        self.default_duration_us = -1


FAULTS = [_Fault(letter) for letter in "abcd"]


def text_of(line):
    return "".join(segment.text for segment in line)


@pytest.mark.slow
@pytest.mark.parametrize("appearance", LOOKS.values(), ids=LOOKS)
def test_every_line_has_exactly_the_requested_width(appearance):
    for width in range(1, 201):
        for painter, row in every_row(width):
            line = painter(row, width, appearance)
            assert line.cell_length == width, (width, row)
            assert cell_len(text_of(line)) == width, (width, row)


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_ascii_differs_from_unicode_by_the_glyph_map_alone(width):
    for painter, row in every_row(width):
        full = text_of(painter(row, width, LOOKS["colour"]))
        plain = text_of(painter(row, width, LOOKS["ascii"]))
        assert plain.isascii(), plain
        assert plain == glyphs.to_ascii(full)


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_without_colour_the_text_is_the_same_and_no_style_has_a_colour(width):
    for painter, row in every_row(width):
        line = painter(row, width, LOOKS["mono"])
        assert text_of(line) == text_of(painter(row, width, LOOKS["colour"]))
        assert all(each.style.color is None and each.style.bgcolor is None for each in line)


def test_with_colour_every_cell_has_a_background():
    """The Line API paints nothing under a span by itself."""
    for painter, row in every_row(100):
        assert all(each.style.bgcolor is not None for each in painter(row, 100, LOOKS["colour"]))


def test_every_role_has_a_style_in_every_look():
    for appearance in LOOKS.values():
        for role in ROLES:
            for over in ("", "row", "cell"):
                appearance.style(role, over)
        with pytest.raises(KeyError):
            appearance.style("no such role")


def test_every_glyph_and_its_ascii_fallback_are_one_cell_wide():
    for glyph, plain in glyphs.ASCII.items():
        assert cell_len(glyph) == 1
        assert len(plain) == 1
        assert plain.isascii()


def test_the_meaning_of_a_replica_shows_without_colour_in_its_glyph():
    shown = {glyph for glyph, _role in partition_matrix.STATUS.values()}
    assert len(shown) == len(partition_matrix.STATUS)
    assert len({glyphs.ASCII[glyph] for glyph in shown}) == len(partition_matrix.STATUS)


def test_neighbouring_epochs_differ_without_colour():
    appearance = LOOKS["mono"]
    for epoch in range(4):
        assert appearance.style(f"epoch{epoch}") != appearance.style(f"epoch{epoch + 1}")


def test_neighbours_of_equal_style_are_one_segment():
    appearance = LOOKS["colour"]
    assert len(list(strip([("a", "text"), ("b", "text"), ("c", "text")], 10, appearance))) == 1
    built = partition_matrix.build_matrix(fake_views.view(), width=80, height=6, cursor=(0, 0))
    healthy = paint_matrix.paint(built.rows[1], 80, appearance)
    assert len(list(healthy)) <= 8


def test_control_characters_never_reach_the_terminal():
    for appearance in LOOKS.values():
        assert text_of(strip([("a\x1b[31m\nb", "text")], 10, appearance)) == "a [31m b  "


@pytest.mark.parametrize(("text", "width"), [("orders", 4), ("日本語", 5), ("", 3), ("ab", 6)])
def test_left_and_right_fill_or_cut_to_the_width(text, width):
    assert cell_len(left(text, width)) == width
    assert cell_len(right(text, width)) == width


def test_a_click_finds_the_broker_that_is_painted_there():
    built = partition_matrix.build_matrix(fake_views.view(), width=80, height=6, cursor=(0, 0))
    line = text_of(paint_matrix.paint(built.head, 80, LOOKS["colour"]))
    for index in range(3):
        assert paint_matrix.broker_at(built.head.columns, line.index(f"b{index + 1}")) == index
    assert paint_matrix.broker_at(built.head.columns, 0) == -1
    assert paint_matrix.broker_at(built.head.columns, 79) == -1


def test_the_key_bar_keeps_the_most_important_keys_when_it_is_narrow():
    for width in range(60, 200):
        shown = {key.id for _start, _end, key in paint_panes.bar_places(width)}
        assert {"quit", "help", "fault", "pause"} <= shown
    assert {key.id for _start, _end, key in paint_panes.bar_places(200)} == {key.id for key in KEYS if key.bar}


def test_the_key_bar_lists_each_key_at_its_position():
    line = text_of(paint_panes.key_bar(paint_panes.KeyBarRow(120), 120, LOOKS["colour"]))
    for start, end, key in paint_panes.bar_places(120):
        assert line[start:end].rstrip() == f"{paint_panes.bar_keys(key)} {key.bar}"
