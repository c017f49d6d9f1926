"""Branches as rails below the timeline: how they fork, what they tell, and going to one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.declarations.fault import Action
from tests.tui import fake_views
from tests.tui.driving import driving, trimmed
from tests.tui.viewmodel.timeline.test_timeline import SIZES, shown, text
from tui.screens import layout
from tui.session.session_controller import RailCache
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel.timeline.branches import BranchLine, BranchRow, about_rail, letter_of, outcome, rail_rows, window
from tui.viewmodel.timeline.timeline_rows import LABEL
from tui.widgets.timeline import paint

SECOND = 1_000_000


def row(letter="B", parent="main", left=10, come=30, *, shown=False, **numbers):
    told = {"lost": 0, "missing": 0, "failed": 0, "unknown": 0, "violations": 0, **numbers}
    return BranchRow(letter, parent, left * SECOND, "crash on broker(1)", come * SECOND, **told, shown=shown)


MAIN = BranchLine(row("main", "", -1, 40, shown=True, lost=4))


def drawn(*rails, **where):
    return [text(each) for each in rail_rows(rails, shown(**where))]


def test_a_branch_forks_off_its_parents_rail_and_reports_what_it_came_to():
    main, branch = drawn(MAIN, BranchLine(row(failed=31)))
    assert main[:42] == "━" * 10 + "┬" + "━" * 19 + "●" + "━" * 10 + " "
    assert main[42:].strip() == "4 lost"
    assert branch.startswith(" " * 10 + "╰" + "─" * 20 + " 31 failed")


def test_a_fork_crosses_the_rails_between():
    lines = drawn(MAIN, BranchLine(row("B", left=5)), BranchLine(row("C", left=12)), BranchLine(row("D", "B", left=20)))
    assert lines[0][5] == lines[0][12] == lines[1][20] == "┬"
    assert lines[1][12] == lines[2][20] == "┼"
    assert lines[2][12] == lines[3][20] == "╰"


def test_a_dropped_future_is_dashed_and_says_so(snapshot):
    (line,) = drawn(BranchLine(row(), 15 * SECOND))
    assert line[10:31] == "╰" + "─" * 5 + "╌" * 15
    assert line.split("╌")[-1].strip() == snapshot


def test_a_branch_of_the_shared_past_leaves_the_rail_that_it_was_on():
    """C began on B, at an instant before B left main: B went as main then."""
    lines = drawn(MAIN, BranchLine(row("B", left=20)), BranchLine(row("C", "B", left=12)))
    assert lines[0][12] == lines[0][20] == "┬"
    assert lines[1][12] == "│"
    assert lines[2][12] == "╰"


def test_one_that_comes_farther_than_the_window_says_so_and_one_before_it_begins_at_the_edge():
    (line,) = drawn(BranchLine(row(left=0, come=100, lost=2)), first=20)
    assert line.startswith("─")
    assert line.rstrip().endswith("2 lost ▸")


@pytest.mark.parametrize(
    ("numbers", "role"),
    [
        ({}, "calm"),
        ({"lost": 4, "missing": 4, "failed": 31}, "lost"),
        ({"missing": 3, "unknown": 2, "failed": 1}, "warning"),
        ({"violations": 1}, "alarm"),
    ],
    ids=["nothing", "lost", "missing", "broken"],
)
def test_the_outcome_is_a_word_or_two_with_the_worst_first(numbers, role, snapshot):
    told = outcome(row(**numbers))
    assert told[1] == role
    assert told[0] == snapshot


def test_of_many_rails_those_around_the_one_looked_at_are_shown():
    rails = [BranchLine(row(letter, shown=letter == "F")) for letter in "BCDEFGHIJ"]
    assert [each.branch.letter for each in window(rails, 3)] == ["E", "F", "G"]
    assert [each.branch.letter for each in window(rails, 3, "J")] == ["H", "I", "J"]
    assert window(rails, 20) == tuple(rails)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 9), st.booleans()), max_size=6),
    st.integers(1, 150),
    st.integers(0, 40),
)
def test_every_rail_is_as_wide_as_the_lanes(made, columns, first):
    rails = [MAIN]
    for number, (left, more, lost, dropped) in enumerate(made):
        parent = rails[number // 2].branch.letter
        rails.append(
            BranchLine(row("BCDEFGH"[number], parent, left, left + more, lost=lost), left * SECOND if dropped else -1)
        )
    for each in rail_rows(rails, shown(columns, first=first), "C"):
        assert len(text(each)) == columns
        assert sum(len(piece) for piece, *_appearance in each.label) == LABEL
        assert letter_of(each.lane)
        for appearance in (Appearance(), Appearance(colour=False), Appearance(glyphs="ascii")):
            assert paint(each, LABEL + columns, appearance).cell_length == LABEL + columns
        assert "".join(part.text for part in paint(each, LABEL + columns, Appearance(glyphs="ascii"))).isascii()


def about(rail):
    return ["".join(piece for piece, _role in line.pieces) for line in about_rail(rail, 100)]


def test_a_branch_is_reported_in_words(snapshot):
    assert about(BranchLine(row(lost=2), 12 * SECOND)) == snapshot


def test_the_strip_gives_rails_room_where_there_is_some():
    few = layout.plan(200, 60, partitions=10, replicas=3, clients=7)["timeline-pane"].height
    assert layout.plan(200, 60, partitions=10, replicas=3, clients=7, rails=3)["timeline-pane"].height == few + 3
    assert layout.plan(200, 51, partitions=10, replicas=3, clients=7, rails=3)["timeline-pane"].height == few
    assert "timeline-pane" not in layout.plan(120, 40, partitions=10, replicas=3, clients=7, rails=3)


# -- the screen ------------------------------------------------------------------------------------------------------


async def forked(driver):
    """Four seconds with a crash at three, and a branch from the second without it."""
    await driver.seconds(3)
    driver.session_controller.act(Action("inject", "crash", "broker(1)"))
    await driver.seconds(1)
    driver.session_controller.to_time(2 * SECOND)
    driver.session_controller.act(Action("inject", "lag", "broker(2)"))
    await driver.frames(1)
    while driver.session_controller.growing is not None:
        await driver.frames(1)
    driver.session_controller.pause(False)
    await driver.seconds(1)
    driver.main.place_panes()
    await driver.settle()


def small():
    return fake_views.session(orders=2, payments=1)


@pytest.mark.slow
async def test_the_timeline_with_branches(golden):
    async with driving(SIZES["200x60"], session=small()) as driver:
        await forked(driver)
        driver.app.clear_notifications()
        await driver.settle()
        assert trimmed(driver.text()) == golden("rails-strip-200x60")
        await driver.press("4")
        async for size in driver.at_sizes(SIZES):
            await driver.press("up", "up", "down", "down", "down", "down", "down", "down")
            assert trimmed(driver.text()) == golden(f"rails-{size}")


@pytest.mark.slow
async def test_rails_are_gone_through_by_keys_and_one_is_entered():
    async with driving(session=small()) as driver:
        await forked(driver)
        await driver.press("4")
        screen = driver.app.screen
        main, other = RailCache().rails(driver.session_controller)
        assert (main.branch.letter, other.branch.letter) == ("main", "B")
        assert not screen.rail
        while not screen.rail:
            await driver.press("down")
        assert screen.rail == "main"
        await driver.press("down")
        assert screen.rail == "B"
        await driver.press("down")
        assert screen.rail == "B"
        assert about(other)[0] in driver.text()
        await driver.press("up")
        assert about(other)[0] not in driver.text()
        assert about(main)[0] in driver.text()
        await driver.press("enter")
        assert driver.session_controller.branches.current.letter == "main"
        assert not driver.session_controller.session.in_past
        assert not screen.rail
        await driver.press("up")
        assert not screen.rail


@pytest.mark.slow
async def test_a_click_on_a_rail_goes_to_that_time_of_it_and_on_its_name_to_its_present():
    async with driving(session=small()) as driver:
        await forked(driver)
        await driver.press("4")
        screen = driver.app.screen
        lines = {letter_of(each.lane): at for at, each in enumerate(screen.lanes.rows) if letter_of(each.lane)}
        window = screen.shown().window
        column = window.column(1_500_000)
        await driver.pilot.click(screen.lanes, offset=(LABEL + column, lines["main"]))
        await driver.settle()
        assert driver.session_controller.branches.current.letter == "main"
        assert driver.session_controller.view.now_us == (window.first + column) * window.unit_us
        await driver.pilot.click(screen.lanes, offset=(2, lines["B"]))
        await driver.settle()
        assert driver.session_controller.branches.current.letter == "B"
        assert not driver.session_controller.session.in_past


@pytest.mark.slow
async def test_undone_actions_are_drawn_as_a_dropped_future():
    async with driving(session=small()) as driver:
        await driver.seconds(2)
        driver.session_controller.act(Action("inject", "crash", "broker(1)"))
        await driver.seconds(1)
        await driver.press("u")
        while driver.session_controller.growing is not None:
            await driver.frames(1)
        main, without = RailCache().rails(driver.session_controller)
        assert main.dropped
        assert not without.dropped
        await driver.press("4")
        assert "dropped" in driver.text()
        assert glyphs.FUTURE * 10 in text(driver.app.screen.lanes.rows[-2])
        await driver.press("U")


@pytest.mark.slow
async def test_with_one_branch_there_are_no_rails():
    async with driving(session=small()) as driver:
        await driver.seconds(1)
        await driver.press("4")
        assert not any(letter_of(each.lane) for each in driver.app.screen.lanes.rows)
