"""The keys that act, pressed in the modes: they strike what is selected there."""

from dataclasses import replace

import pytest
from textual.command import CommandPalette

from faults.declarations.fault import Action
from playbooks.engine.session import Session
from tests.tui import fake_views
from tests.tui.driving import driving
from tests.tui.fake_views import session
from tui.keybindings.keymap import KEYS
from tui.screens.base import ModeScreen
from tui.screens.fault_forms import FaultForm
from tui.screens.time_travel import GrowingScreen
from tui.viewmodel.help import MODES, SHEET
from tui.viewmodel.timeline.timeline_rows import stop_at

pytestmark = pytest.mark.slow

ACTING = {"2": "log", "3": "clients", "4": "timeline"}


def struck(driver):
    return [(each.name, each.target) for each in driver.session_controller.view.faults]


async def grown(driver):
    """Frames until the branch has come."""
    await driver.frames(1)
    for _ in range(300):
        if driver.session_controller.growing is None and not isinstance(driver.app.screen, GrowingScreen):
            return
        await driver.frames(1)
    raise AssertionError("the branch did not come")


async def at_the_crash(driver):
    """The timeline with the mark of a crash selected, three seconds after it."""
    await driver.seconds(2)
    driver.session_controller.act(Action("inject", "crash", "broker(2)"))
    await driver.seconds(3)
    await driver.press("4")
    screen = driver.app.screen
    mark = driver.session_controller.tape.lanes["faults"].after(1_900_000)
    screen.selected = ("faults", mark)
    screen.present()
    return screen, mark


# -- log ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_in_the_log_a_fault_affects_the_broker_of_the_replica_under_the_cursor(size):
    async with driving(size) as driver:
        await driver.seconds(1)
        await driver.press("2", "down", "f")
        assert isinstance(driver.app.screen, ModeScreen)
        assert driver.sheet() == ("faults", "b2")
        assert "Impact now" in driver.text()
        await driver.press("c")
        assert struck(driver) == [("crash", "broker 2")]
        assert isinstance(driver.app.screen, ModeScreen)
        assert driver.sheet() is None
        await driver.press("H")
        assert struck(driver) == []


async def test_in_the_log_the_sheet_aims_elsewhere_and_escape_leaves_only_the_sheet():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("2", "f", "right")
        assert driver.sheet() == ("faults", "b2")
        await driver.press("escape")
        assert driver.sheet() is None
        assert isinstance(driver.app.screen, ModeScreen)


async def test_in_the_log_operations_are_for_its_partition_and_replica():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("2", "tab", "down", "a")
        kind, name = driver.sheet()
        assert (kind, name.split(", ")[0]) == ("operations", "orders-1")
        await driver.press("m")
        assert driver.session_controller.view.operations or driver.toasts()


async def test_a_typed_line_in_the_log_affects_what_is_selected_there():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("2", "down", "colon", *"crash", "enter")
        assert struck(driver) == [("crash", "broker 2")]


async def test_the_form_opens_over_the_log_and_closes_its_sheet():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("2", "f", "enter")
        assert isinstance(driver.app.screen, FaultForm)
        await driver.press("enter")
        assert isinstance(driver.app.screen, ModeScreen)
        assert len(struck(driver)) == 1
        assert driver.sheet() is None


async def test_the_right_button_in_the_log_opens_the_sheet_on_that_replica():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("2")
        screen = driver.app.screen
        lanes = [at for at, row in enumerate(screen.microscope.rows) if getattr(row, "broker", -1) == 3]
        await driver.pilot.mouse_down(screen.microscope, offset=(30, lanes[0]), button=3)
        await driver.settle()
        assert driver.sheet() == ("faults", "b3")


async def test_without_any_partition_the_log_says_that_nothing_is_selected(snapshot):
    made = fake_views.playbook(clients=False)
    bare = replace(made, spec=replace(made.spec, topics=()))
    async with driving(session=Session.start(bare, open_ended=True)) as driver:
        await driver.press("2", "f")
        assert driver.toasts() == snapshot
        assert driver.sheet() is None


# -- clients --------------------------------------------------------------------------------------------------------


async def test_among_clients_a_fault_affects_the_producer_the_member_or_the_whole_group():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("3", "f")
        assert driver.sheet() == ("faults", "checkout")
        await driver.press("l")
        places = driver.app.screen._built().places
        group = next(at for at, each in enumerate(places) if each.group)
        await driver.press(*["down"] * group, "f")
        assert driver.sheet() == ("faults", f"all members of {places[group].name}")
        await driver.press("l")
        await driver.press("down", "f", "c")
        members = [each.name for each in places if each.name.startswith(f"{places[group].name}/")]
        assert struck(driver) == [("lag", "checkout"), ("lag", ", ".join(members)), ("crash", members[0])]


async def test_the_arrows_of_the_sheet_lead_from_a_client_to_a_broker():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("3", "f", "left")
        before = driver.app.screen.target
        await driver.press("right")
        assert driver.app.screen.target != before
        nodes = [node for node, _name in driver.main.operator.targets()]
        while driver.app.screen.target != nodes[0]:
            await driver.press("right")
        await driver.press("c")
        assert struck(driver) == [("crash", "broker 1")]


async def test_a_click_selects_a_client_and_the_right_button_opens_the_sheet():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("3")
        table = driver.app.screen._table
        second = driver.app.screen._built().places[1]
        await driver.pilot.click(table, offset=(10, second.first))
        assert driver.app.screen.position.name == second.name
        await driver.pilot.click(table, offset=(10, 1), button=3)
        await driver.settle()
        assert driver.sheet() == ("faults", "checkout")


async def test_operations_among_clients_are_for_the_topic_of_the_client():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("3", "down", "a")
        producer = driver.session_controller.view.producers[1]
        assert driver.sheet() == ("operations", f"{producer.topic}-0, b1")


async def test_with_no_clients_the_table_says_that_none_is_selected(snapshot):
    async with driving(session=session(clients=False)) as driver:
        await driver.press("3", "f")
        assert driver.sheet() is None
        assert driver.toasts() == snapshot


# -- timeline -------------------------------------------------------------------------------------------------------


async def test_a_fault_at_a_mark_goes_there_first_and_begins_a_branch():
    async with driving() as driver:
        screen, mark = await at_the_crash(driver)
        await driver.press("f")
        assert driver.session_controller.view.now_us == mark
        assert driver.sheet() == ("faults", "b2")
        await driver.press("r")
        await grown(driver)
        assert len(driver.session_controller.branches) == 2
        assert driver.session_controller.view.now_us == mark
        assert screen.selected is None
        assert driver.app.screen is screen


async def test_undo_at_a_mark_is_a_branch_without_what_was_done_there():
    async with driving() as driver:
        _screen, mark = await at_the_crash(driver)
        await driver.press("u")
        await grown(driver)
        assert driver.session_controller.branches.current.letter == "B"
        assert driver.session_controller.view.now_us <= mark
        assert struck(driver) == []


async def test_what_if_and_bookmarks_use_the_selected_mark():
    async with driving() as driver:
        screen, mark = await at_the_crash(driver)
        await driver.press("B")
        assert [each.at_us for each in driver.main.branches.bookmarks] == [mark]
        assert screen.selected is not None
        await driver.press("w")
        await grown(driver)
        assert driver.session_controller.branches.current.left_us == mark


async def test_a_typed_fault_at_a_mark_affects_in_its_past():
    async with driving() as driver:
        _screen, mark = await at_the_crash(driver)
        await driver.press("colon", *"crash b1", "enter")
        await grown(driver)
        assert driver.session_controller.branches.current.left_us == mark
        assert isinstance(driver.app.screen, ModeScreen)


async def test_without_a_mark_it_is_about_the_time_on_the_screen_and_says_so(snapshot):
    async with driving() as driver:
        await driver.seconds(2)
        await driver.press("4", "f")
        assert driver.toasts() == snapshot
        assert driver.sheet() == ("faults", "b1")
        await driver.press("c")
        assert struck(driver) == [("crash", "broker 1")]
        assert len(driver.session_controller.branches) == 1


async def test_the_right_button_on_a_mark_opens_the_sheet_there():
    async with driving() as driver:
        screen, mark = await at_the_crash(driver)
        await driver.press("end")
        stop = stop_at(driver.session_controller.tape, "faults", mark, screen.shown().window.unit_us)
        line = next(at for at, row in enumerate(screen.lanes.rows) if row.lane == "faults")
        column = screen.shown().window.column(stop.first_us)
        await driver.pilot.click(
            screen.lanes, offset=(screen.lanes.size.width - screen.lanes.columns + column, line), button=3
        )
        await driver.settle()
        assert driver.session_controller.view.now_us == stop.at_us
        assert driver.sheet() == ("faults", "b2")


# -- all of them ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ACTING)
async def test_every_key_that_acts_works_in_every_acting_mode(mode):
    async with driving() as driver:
        await driver.seconds(1)
        for key in KEYS:
            if key.group != "act" and key.id not in ("bookmark", "bookmarks", "branches", "playbooks", "command"):
                continue
            driver.main.action_mode(ACTING[mode])
            await driver.settle()
            await driver.press(key.keys.split(",")[0])
            await grown(driver)
            assert driver.app.is_running, key.id
            await driver.press("escape")


@pytest.mark.parametrize("mode", ACTING)
async def test_the_help_of_an_acting_mode_reports_what_is_affected(mode, snapshot):
    async with driving() as driver:
        await driver.press(mode, "question_mark")
        assert [line for line in driver.shown("#help") if line.startswith("f H")] == snapshot
        await driver.press("escape", "f", "question_mark")
        assert driver.shown("#help")[0] == SHEET.title


async def test_the_palette_of_a_mode_offers_faults_on_what_is_selected():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("2", "down", "ctrl+p")
        assert isinstance(driver.app.screen, CommandPalette)
        await driver.press(*"crash b2")
        await driver.until(lambda: driver.text().count("crash b2") > 1)
        await driver.press("enter")
        assert struck(driver) == [("crash", "broker 2")]


# -- pages on which nobody is chosen --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["5", "6"])
async def test_faults_operations_and_lines_work_on_the_pages_of_playbooks_and_of_the_report(mode):
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("right", mode)
        page = driver.app.screen
        assert isinstance(page, ModeScreen)
        await driver.press("f")
        assert driver.sheet() == ("faults", "b2")
        await driver.press("right", "c")
        assert struck(driver) == [("crash", "broker 3")]
        assert driver.app.screen is page
        await driver.press("f", "enter")
        assert isinstance(driver.app.screen, FaultForm)
        await driver.press("escape", "escape", "H", "a")
        assert struck(driver) == []
        kind, name = driver.sheet()
        assert (kind, name.split(", ")[0]) == ("operations", "orders-0")
        await driver.press("escape", "colon", *"crash b1", "enter")
        assert struck(driver) == [("crash", "broker 1")]
        assert driver.app.screen is page


async def test_where_two_branches_are_compared_the_one_on_the_screen_is_affected():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("w")
        await grown(driver)
        await driver.seconds(1)
        driver.main.branches.compare(next(iter(driver.session_controller.branches)))
        await driver.settle()
        await driver.press("f")
        leader = driver.session_controller.view.partitions[0].leader
        assert driver.sheet() == ("faults", f"b{leader}")
        await driver.press("c")
        await grown(driver)
        assert struck(driver) == [("crash", f"broker {leader}")]
        assert driver.session_controller.branches.current.letter == "B"
        await driver.press("question_mark")
        assert driver.shown("#help")[0] == MODES["compare"].title


async def test_empty_targets_are_refused_with_a_toast(snapshot):
    async with driving() as driver:
        driver.session_controller.view = replace(driver.session_controller.view, brokers=(), controllers=())
        await driver.press("5", "f", "C")
        assert driver.sheet() is None
        assert driver.toasts()[-2:] == snapshot
