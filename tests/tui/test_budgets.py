"""What a frame may cost, counted: strips, segments, bytes, rows. Milliseconds are for the benchmarks to tell."""

from contextlib import asynccontextmanager
from dataclasses import replace as replaced

import pytest
from textual._compositor import CompositorUpdate

from benchmarks.tui_frames import session_of
from tests.tui import fake_views
from tests.tui.driving import driving
from tui.keybindings.keymap import MODES
from tui.terminal.terminal import frugal
from tui.terminal.theme import Appearance
from tui.viewmodel import partition_matrix
from tui.widgets import matrix as paint_matrix
from tui.widgets.line_widget import LineGrid

pytestmark = pytest.mark.slow

LARGE = (200, 60)
WHOLE_BYTES = 30_000
PARTITIONS = 1_000


async def into(driver, digit):
    """Another mode, which has been painted."""
    await driver.press(digit)
    await driver.frames(2)


@asynccontextmanager
async def in_mode(digit):
    async with driving(LARGE) as driver:
        await driver.seconds(1)
        await into(driver, digit)
        yield driver


async def every_mode(driver):
    """One after the other, a second after the start."""
    await driver.seconds(1)
    for mode in MODES:
        await into(driver, mode.digit)
        yield mode


def counted(screen):
    """Strips built and rows found changed so far, over all live panes of a screen."""
    grids = list(screen.query(LineGrid).results(LineGrid))
    return sum(each.built for each in grids), sum(each.dirtied for each in grids)


def grids_on(screen):
    return list(screen.query(LineGrid).results(LineGrid))


async def test_a_frame_builds_no_more_strips_than_rows_changed():
    async with driving(LARGE) as driver:
        async for _mode in every_mode(driver):
            for _ in range(10):
                before = {grid: (grid.built, grid.dirtied) for grid in grids_on(driver.app.screen)}
                await driver.frames(1)
                for grid, (built, dirtied) in before.items():
                    assert grid.built - built <= grid.dirtied - dirtied + 2, grid


async def test_paused_sessions_build_nothing_and_request_no_frames():
    async with driving(LARGE) as driver:
        async for mode in every_mode(driver):
            await driver.press("space")
            assert driver.session_controller.paused
            before, frames = counted(driver.app.screen), driver.app.frames
            for _ in range(5):
                driver.clock.tick(1.0)
                assert driver.app.frame() is None
            await driver.settle()
            assert counted(driver.app.screen) == before, mode.name
            assert driver.app.frames == frames, mode.name
            await driver.press("space")


async def test_a_whole_picture_of_a_large_cluster_is_at_most_thirty_kilobytes():
    async with driving(LARGE, session=session_of(12, 60)) as driver:
        async for mode in every_mode(driver):
            update = driver.app.screen._compositor.render_update(full=True)
            assert isinstance(update, CompositorUpdate)
            sent = frugal(update.render_segments(driver.app.console)).encode()
            assert 1_000 < len(sent) <= WHOLE_BYTES, mode.name


async def test_a_frame_of_a_large_cluster_sends_a_part_of_that(monkeypatch):
    sent = []

    def display(_app, _screen, update):
        if isinstance(update, CompositorUpdate):
            sent.append(len(frugal(update.render_segments(_app.console)).encode()))

    async with driving(LARGE, session=session_of(12, 60)) as driver:
        await driver.seconds(1)
        monkeypatch.setattr(type(driver.app), "_display", display)
        for _ in range(10):
            await driver.frames(1)
        assert 0 < sum(sent) / 10 <= WHOLE_BYTES / 2


async def test_covered_panes_are_not_built(monkeypatch):
    """The status bar is asked for once a frame, by the mode; the panes underneath stand still and know it."""
    asked = []
    async with driving(LARGE) as driver:
        main = driver.main
        rows = main.status_rows
        monkeypatch.setattr(main, "status_rows", lambda width: asked.append(width) or rows(width))
        async for mode in every_mode(driver):
            if mode.where:
                assert main.covered
                before = counted(main)
                asked.clear()
                await driver.frames(4)
                assert len(asked) == 4, mode.name
                assert counted(main) == before, mode.name


async def test_uncovered_panes_are_up_to_date():
    async with in_mode("4") as driver:
        await driver.seconds(2)
        await driver.press("space", "1")
        shown = driver.main.status.rows
        assert list(shown) == list(driver.main.status_rows(LARGE[0]))
        assert not driver.main.covered


async def test_the_cursor_stays_on_what_there_is_while_it_is_covered():
    """A mode goes by the cursor of the matrix: with the internal topics gone there are fewer partitions under it."""
    async with driving((120, 40)) as driver:
        await driver.seconds(3)
        await driver.press("i", *["pagedown"] * 12)
        many = driver.main.matrix.cursor[0]
        await driver.press("2", "i")
        await driver.frames(2)
        assert driver.main.covered
        assert driver.main.matrix.cursor[0] < len(driver.session_controller.view.partitions) <= many


async def test_a_page_that_is_seen_through_leaves_the_main_screen_moving():
    async with driving(LARGE) as driver:
        await driver.seconds(1)
        await driver.press("?")
        assert driver.app.screen is not driver.main
        before = driver.main.matrix.rows
        await driver.seconds(1)
        assert (driver.main.matrix.rows == before) is driver.main.covered


def many_partitions(count=PARTITIONS):
    view = fake_views.view()
    first = view.partitions[0]
    made = [replaced(first, name=f"orders-{number}") for number in range(count)]
    return replaced(view, partitions=tuple(made))


def test_only_visible_partitions_are_built(monkeypatch):
    made = []
    row = partition_matrix._row
    monkeypatch.setattr(partition_matrix, "_row", lambda *what, **more: made.append(what[0].name) or row(*what, **more))
    view = many_partitions()
    for height, at in ((24, 0), (24, 500), (60, 999)):
        made.clear()
        built = partition_matrix.build_matrix(view, width=80, height=height, cursor=(at, 0))
        assert len(built.rows) == len(made) == height - 1
        assert view.partitions[at].name in made


async def test_scrolling_a_thousand_partitions_builds_the_rows_in_sight_and_no_others():
    view = many_partitions()
    async with driving((80, 24)) as driver:
        grid = driver.main.matrix
        await driver.press("space")
        grid.present(view)
        await driver.settle()
        for _ in range(5):
            before = grid.built
            grid.cursor = (grid.cursor[0] + 40, 0)
            grid.present(view)
            await driver.settle()
            assert 0 < grid.built - before <= grid.size.height
            assert len(grid.rows) <= grid.size.height


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize(("place", "most"), [(0, 6), (1, 7), (2, 6)])
def test_a_healthy_row_is_at_most_six_segments(width, place, most):
    """Name, epoch, leader, followers, ISR, offsets; a leader in the middle parts its followers."""
    view = fake_views.view()
    healthy = min(view.partitions, key=lambda each: (each.missing, each.under_replicated, each.name))
    replicas = healthy.replicas
    assert [each.status for each in replicas] == ["leader", "in_sync", "in_sync"]
    brokers = [each.id for each in view.brokers]
    brokers.insert(place, brokers.pop(brokers.index(healthy.leader)))
    view = replaced(
        view,
        partitions=(healthy,) * 2,
        brokers=tuple(next(b for b in view.brokers if b.id == each) for each in brokers),
    )
    built = partition_matrix.build_matrix(view, width=width, height=6, cursor=(0, 0))
    for appearance in (Appearance(), Appearance(colour=False), Appearance(glyphs="ascii")):
        painted = list(paint_matrix.paint(built.rows[1], width, appearance))
        assert len(painted) <= most, [segment.text for segment in painted]
