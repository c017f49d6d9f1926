"""The mouse: a click chooses, two drill in, the right button breaks, the wheel scrolls, words press their keys."""

import pytest

from tests.tui import fake_views
from tests.tui.driving import driving
from tests.tui.pointing import right_click, wheel
from tui.screens.modes.clients import ClientsScreen
from tui.screens.modes.log import LogScreen
from tui.screens.modes.playbooks import PlaybooksScreen
from tui.screens.modes.timeline import TimelineScreen
from tui.screens.time_travel import BranchesScreen
from tui.viewmodel import status_bar
from tui.viewmodel.timeline.timeline_rows import LABEL
from tui.widgets.matrix import lead
from tui.widgets.panes import KeyBar, ModeBar, bar_places

pytestmark = pytest.mark.slow

SECOND = 1_000_000


def small():
    return fake_views.session(orders=2, payments=1)


def sheet_of(driver):
    """What the sheet of faults is open on, empty while it is not."""
    top = driver.main.top_selection()
    return top.target_words() if top.query_one("#whichkey-pane").display else ""


# -- hints -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("v span · e export", {"v": "v", " span": "v", "e": "e", " export": "e"}),
        ("↑↓ cell · + - scale", {"↑": "up", "↓": "down", " cell": "up", "+": "plus", "-": "minus", " scale": "plus"}),
        ("c or esc: cluster", {"c": "c", "esc": "escape", ": cluster": "c"}),
        ("enter: when it was", {"enter": "enter", ": when it was": "enter"}),
        ("t HW · only words", {"t": "t", " HW": "t"}),
    ],
)
def test_the_words_of_hints_press_the_keys_that_they_name(text, keys):
    assert {
        text[start:end]: key for start, end, key in status_bar.places(tuple(text.split(status_bar.BETWEEN)))
    } == keys


def test_hints_that_do_not_fit_are_left_out_whole():
    assert status_bar.fitted(("v span", "e export"), 12) == ("v span",)
    assert status_bar.fitted(("v span", "e export"), 2) == ()


async def test_hints_and_modes_of_the_bar_are_clicked():
    async with driving(session=small()) as driver:
        await driver.seconds(1)
        await driver.press("4")
        bar, screen = driver.app.screen.query_one(ModeBar), driver.app.screen
        at = driver.text().split("\n")[-1].index("v span")
        await driver.pilot.click(bar, offset=(at, 0))
        await driver.settle()
        assert screen.span is not None
        await driver.pilot.click(bar, offset=(at + 3, 0))
        await driver.settle()
        assert screen.span is None
        await driver.pilot.click(bar, offset=(2, 0))
        await driver.settle()
        assert driver.app.screen is driver.main


async def test_both_keys_of_the_speed_are_clicked():
    async with driving(session=small()) as driver:
        bar = driver.main.query_one(KeyBar)
        start = next(start for start, _end, key in bar_places(120) if key.id == "faster")
        await driver.pilot.click(bar, offset=(start + 2, 0))
        await driver.settle()
        assert driver.session_controller.speed == 2.0
        await driver.pilot.click(bar, offset=(start, 0))
        await driver.settle()
        assert driver.session_controller.speed == 1.0


# -- the status bar --------------------------------------------------------------------------------------------------


async def test_words_of_the_status_bar_are_keys(snapshot):
    async with driving((160, 40), session=small()) as driver:
        await driver.seconds(2)

        async def click(word):
            line = driver.text().split("\n")[0]
            await driver.pilot.click("#status", offset=(line.index(word) + 1, 0))
            await driver.settle()

        await click("LIVE")
        assert driver.session_controller.paused
        await click("PAUSED")
        assert not driver.session_controller.paused
        await click("×1")
        assert driver.session_controller.speed == 2.0
        await click("lost")
        assert driver.toasts()[-1] == snapshot
        await driver.press("{")
        await click("PAST")
        assert not driver.session_controller.session.in_past
        driver.session_controller.fork()
        while driver.session_controller.growing is not None:
            await driver.frames(1)
        driver.main.present()
        await driver.settle()
        await click("FORK")
        assert isinstance(driver.app.screen, BranchesScreen)
        await driver.press("escape", "4")
        await click("sandbox")
        assert isinstance(driver.app.screen, PlaybooksScreen)
        await driver.pilot.click("#status", offset=(100, 1))
        assert isinstance(driver.app.screen, PlaybooksScreen)


@pytest.mark.parametrize("width", [80, 100, 132, 160])
async def test_status_bar_fields_are_clickable_where_they_are_drawn(width):
    async with driving((width, 40), session=small()) as driver:
        await driver.seconds(1)
        for past in (False, True):
            if past:
                await driver.press(",")
            bar = driver.main.status.rows[0]
            line = "".join(text for text, _role in bar.fields)
            words = {key: line[start:end] for start, end, key in bar.places}
            assert words["playbooks"].startswith("sa")
            assert "×1" in words["faster"]
            assert "PAST" in words["present"] if past else "LIVE" in words["pause"]


# -- the cluster -----------------------------------------------------------------------------------------------------


async def test_two_clicks_on_a_cell_open_its_log():
    async with driving(session=small()) as driver:
        await driver.seconds(1)
        columns = driver.main.matrix.rows[0].columns
        await driver.pilot.double_click(driver.main.matrix, offset=(lead(columns) + 2 * columns.broker, 2))
        await driver.settle()
        assert isinstance(driver.app.screen, LogScreen)
        assert driver.main.matrix.cursor == (1, 2)


async def test_the_log_at_the_foot_is_pointed_at_scrolled_and_drilled_into():
    async with driving(session=small()) as driver:
        await driver.seconds(3)
        lanes = driver.main.lanes
        broker = lanes.spot(20, 3).broker
        await driver.pilot.click(lanes, offset=(20, 3))
        await driver.settle()
        assert driver.session_controller.view.brokers[driver.main.matrix.cursor[1]].id == broker
        await wheel(driver, lanes, (20, 2), -3)
        assert lanes.start is not None
        await wheel(driver, lanes, (20, 2), 9)
        assert lanes.start is None
        await right_click(driver, lanes, (20, 1))
        assert sheet_of(driver) == f"b{lanes.spot(20, 1).broker}"
        await driver.press("escape")
        await driver.pilot.double_click(lanes, offset=(20, 2))
        await driver.settle()
        assert isinstance(driver.app.screen, LogScreen)


async def test_clients_and_nodes_beside_it_are_broken_by_the_right_button():
    async with driving((200, 60), session=small()) as driver:
        await driver.seconds(2)
        main = driver.main
        await right_click(driver, main.clients, (4, 0))
        assert sheet_of(driver) == "checkout"
        await driver.press("escape")
        line = next(at for at, row in enumerate(main.clients.rows) if row.about == "billing")
        await right_click(driver, main.clients, (4, line))
        assert sheet_of(driver) == "billing/0"
        await driver.press("escape")
        await right_click(driver, main.control, (4, 1))
        assert sheet_of(driver) == "c1002"
        await driver.press("escape")
        await driver.pilot.double_click(main.control, offset=(4, 1))
        assert driver.app.screen is main
        await driver.pilot.double_click(main.clients, offset=(4, 0))
        await driver.settle()
        assert isinstance(driver.app.screen, ClientsScreen)


async def test_the_sheet_is_clicked_once_to_read_and_twice_to_act():
    async with driving(session=small()) as driver:
        await driver.seconds(1)
        await driver.press("f")
        sheet = driver.main.whichkey
        rows = list(sheet.rows)
        line, column, item = next(
            (y, x, each)
            for y, row in enumerate(rows) if hasattr(row, "items")
            for x, each in enumerate(row.items)
            if getattr(each, "title", "").startswith("crash")
        )  # fmt: skip
        spot = (column * rows[line].width + 3, line)
        await driver.pilot.click(sheet, offset=spot)
        await driver.settle()
        assert sheet.choices[sheet.chosen].letter == item.letter
        assert not driver.session_controller.view.faults
        await driver.pilot.double_click(sheet, offset=spot)
        await driver.settle()
        assert [each.name for each in driver.session_controller.view.faults] == ["crash"]
        assert not sheet_of(driver)


# -- modes -----------------------------------------------------------------------------------------------------------


async def test_in_the_log_two_clicks_go_back_to_the_record_and_ctrl_zooms():
    async with driving(session=small()) as driver:
        await driver.seconds(3)
        await driver.press("space", "2", "g")
        scope = driver.app.screen.microscope
        zoom = scope.scope.zoom
        await wheel(driver, scope, (30, 1), 1, ctrl=True)
        assert scope.scope.zoom > zoom
        await wheel(driver, scope, (30, 1), -1, ctrl=True)
        assert scope.scope.zoom == zoom
        await driver.pilot.double_click(scope, offset=(20 + 5, 1))
        await driver.settle()
        assert driver.session_controller.session.in_past
        assert isinstance(driver.app.screen, LogScreen)
        broker = scope.spot(25, 2).broker
        await right_click(driver, scope, (25, 2))
        assert isinstance(driver.app.screen, LogScreen)
        assert sheet_of(driver) == f"b{broker}"


async def test_in_clients_the_right_button_breaks_and_the_wheel_scrolls():
    async with driving((80, 24), session=fake_views.session()) as driver:
        await driver.seconds(2)
        await driver.press("3")
        table = driver.app.screen._table
        line = next(at for at, row in enumerate(table.rows) if row.about == "billing/1")
        await right_click(driver, table, (5, line))
        assert sheet_of(driver) == "billing/1"


async def test_a_mark_of_the_timeline_is_broken_by_the_right_button():
    async with driving(session=small()) as driver:
        await driver.seconds(1)
        await driver.press("f", "c")
        await driver.seconds(2)
        await driver.press("4")
        screen = driver.app.screen
        assert isinstance(screen, TimelineScreen)
        column = screen.shown().window.column(SECOND)
        line = next(at for at, row in enumerate(screen.lanes.rows) if row.lane == "cluster")
        await right_click(driver, screen.lanes, (LABEL + column, line))
        assert sheet_of(driver) == "b1"
        assert driver.session_controller.view.now_us == screen.selected[1]


async def test_the_control_plane_is_broken_from_a_mode_too():
    async with driving(session=small()) as driver:
        await driver.seconds(1)
        await driver.press("4")
        at = driver.text().split("\n")[1].index("c1002")
        await driver.pilot.click("#status", offset=(at, 1))
        await driver.settle()
        assert sheet_of(driver) == "c1002"


async def test_lists_are_clicked_once_to_choose_and_twice_to_take():
    async with driving(session=small()) as driver:
        await driver.seconds(1)
        driver.session_controller.fork()
        while driver.session_controller.growing is not None:
            await driver.frames(1)
        await driver.press("b")
        screen = driver.app.screen
        await driver.settle()
        await driver.pilot.click(screen._page, offset=(4, 2))
        await driver.settle()
        assert screen.chosen == 0
        assert driver.app.screen is screen
        await driver.pilot.double_click(screen._page, offset=(4, 2))
        await driver.settle()
        assert driver.session_controller.branches.current.letter == "main"


async def test_the_report_and_the_text_of_a_playbook_scroll_by_the_wheel():
    async with driving((80, 24), session=small()) as driver:
        await driver.seconds(2)
        await driver.press("6")
        screen = driver.app.screen
        before = driver.text()
        await wheel(driver, screen._table, (5, 5), 2)
        assert driver.text() != before
        await wheel(driver, screen._table, (5, 5), -9)
        assert driver.text() == before
