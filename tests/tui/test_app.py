import pytest
from textual.command import CommandPalette

from cluster_model.protocol.events import InvariantViolated
from faults.catalogue import CATALOGUE
from faults.declarations.fault import FAMILIES
from faults.declarations.operation import OPERATIONS
from tests.support.breadth import EVENING
from tests.tui.driving import driving, in_feed
from tests.tui.fake_views import session
from tui.keybindings.keymap import GROUPS, KEYS
from tui.screens.help import HelpScreen
from tui.screens.layout import SMALLEST
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel.partition_matrix import ORDERS
from tui.viewmodel.timeline.event_feed import ALARMS, ALL, LEVELS, level_title
from tui.widgets.matrix import lead

pytestmark = pytest.mark.slow


def leaders(driver):
    return {each.name: each.leader for each in driver.session_controller.view.partitions}


async def test_the_first_picture_shows_the_cluster_under_load(snapshot):
    async with driving() as driver:
        await driver.seconds(2)
        text = driver.text()
        assert "▶ LIVE" in text
        assert "00:02.000" in text
        for name in ("orders-0", "payments-3", "checkout", "clicks", "billing"):
            assert name in text
        assert driver.shown("#faults") == snapshot
        assert text.count("★") >= 11  # ten partitions and one lane


async def test_two_keys_crash_the_broker_under_the_cursor_and_a_new_leader_appears():
    async with driving() as driver:
        await driver.seconds(1)
        before = leaders(driver)
        led = [name for name, leader in before.items() if leader == 1]
        assert led
        await driver.press("f", "c")
        await driver.seconds(0.25)
        assert "✕ b1" in driver.text()
        (crashed,) = driver.happened("node_down")
        assert (crashed.broker, crashed.detail) == (1, "crash")
        assert in_feed(crashed) in driver.text()
        while leaders(driver)[led[0]] == 1:
            await driver.seconds(1)
        elected = [each for each in driver.happened("leader_elected") if each.at_us > crashed.at_us]
        assert {each.partition for each in elected} >= set(led)
        told = [line.text for line in driver.session_controller.feed.lines(100) if line.glyph == glyphs.LEADER]
        assert all(any(f"b{each.leader} " in text for text in told) for each in elected)
        after = leaders(driver)
        assert all(after[name] in (2, 3) for name in led)
        await driver.press("f", "r")
        await driver.seconds(0.25)
        started = driver.happened("node_up")[-1]
        assert started.broker == 1
        assert in_feed(started) in driver.text()
        for _ in range(20):
            await driver.seconds(1)
            if not any(each.under_replicated for each in driver.session_controller.view.partitions):
                break
        assert driver.session_controller.view.brokers[0].state == "up"
        assert not any(each.under_replicated for each in driver.session_controller.view.partitions)


async def test_letters_typed_in_one_go_are_not_lost():
    """A terminal hands over both keys at once, before the sheet has the focus."""
    async with driving() as driver:
        await driver.seconds(1)
        for key in ("f", "c"):
            driver.app.simulate_key(key)
        for _ in range(4):
            await driver.settle()
        assert [fault.name for fault in driver.session_controller.view.faults] == ["crash"]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_sheet_names_every_fault_and_what_to_expect_and_escape_leaves_it(size):
    async with driving(size) as driver:
        await driver.press("f")
        first = text = driver.text()
        assert driver.sheet() == ("faults", "b1")
        assert "Impact now" in text
        for _page in range(4):
            await driver.press("pagedown")
            text += driver.text()
        for fault in CATALOGUE.values():
            assert f" {fault.letter} {fault.glyph} {fault.title[:17]}" in text
        assert all(family in text for family in FAMILIES if any(each.family == family for each in CATALOGUE.values()))
        assert "GC pause 15s" in first
        await driver.press("escape", "f", "right")
        assert driver.sheet() == ("faults", "b2")
        await driver.press("escape")
        assert driver.sheet() is None
        assert driver.session_controller.view.faults == ()


async def test_a_letter_acts_on_any_page_and_a_capital_is_another_than_its_small_one():
    async with driving((80, 24)) as driver:
        await driver.seconds(1)
        capital = next(each for each in CATALOGUE.values() if each.letter.isupper() and each.accepts == "brokers")
        await driver.press("f", "pagedown")
        await driver.press("c")
        assert [each.name for each in driver.session_controller.view.faults] == ["crash"]
        await driver.press("H", "right", "f", capital.letter)
        assert [each.name for each in driver.session_controller.view.faults] == [capital.name]


async def test_every_letter_of_the_catalogue_is_bound():
    async with driving() as driver:
        bound = driver.main.whichkey._bindings.key_to_bindings
        for fault in CATALOGUE.values():
            assert [each.action for each in bound[fault.letter]] == [f"pick('{fault.name}')"]


async def test_the_arrows_reach_clients_and_a_dead_one_is_shown_as_down():
    async with driving() as driver:
        await driver.seconds(2)
        clients = driver.session_controller.view.clients
        await driver.press("f", "left")
        assert driver.sheet() == ("faults", clients[-1].name)
        await driver.press(*["left"] * (len(clients) - 1))
        assert driver.sheet() == ("faults", clients[0].name)
        await driver.press("c")
        assert driver.session_controller.view.clients[0].state == "down"
        assert f"✕ {clients[0].name} down" in driver.text()
        await driver.press("f", "left", "x")
        await driver.seconds(2)
        assert driver.session_controller.view.clients[-1].state == "down"
        assert f"{clients[-1].name.partition('/')[0]} position lag" in driver.text()
        assert " 1 down" in driver.text()


async def test_a_pause_counts_down_and_ends_by_itself():
    async with driving() as driver:
        await driver.seconds(1)
        quiet = driver.shown("#faults")
        await driver.press("f", "g")
        assert "15.0s [heal]" in driver.text()
        assert driver.session_controller.view.brokers[0].state == "paused"
        await driver.seconds(5)
        assert "10.0s [heal]" in driver.text()
        await driver.seconds(10)
        assert driver.session_controller.view.brokers[0].state == "up"
        assert driver.shown("#faults") == quiet


async def test_heal_all_ends_every_fault(snapshot):
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("f", "c", "right", "f", "l")
        assert len(driver.session_controller.view.faults) == 2
        await driver.press("H")
        assert driver.session_controller.view.faults == ()
        await driver.press("H")
        assert driver.toasts()[-1] == snapshot


async def test_a_click_on_heal_heals_one_fault():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("f", "l", "right", "f", "l")
        faults = driver.main.faults
        await driver.pilot.click(faults, offset=(2, 0))
        assert len(driver.session_controller.view.faults) == 2
        await driver.pilot.click(faults, offset=(faults.size.width - 3, 0))
        await driver.settle()
        assert [fault.id for fault in driver.session_controller.view.faults] == [1]


async def test_a_refusal_is_a_toast_with_the_reason(snapshot):
    async with driving() as driver:
        await driver.press("f", "r")
        assert driver.toasts() == snapshot
        assert driver.app.is_running


async def test_every_operator_action_has_a_toast():
    async with driving() as driver:
        await driver.press("f", "c")
        await driver.press("H")
        assert len(driver.toasts()) == 2


async def test_space_stops_time_and_a_step_is_one_event():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("space")
        at = driver.session_controller.session.cluster.executed
        await driver.seconds(1)
        assert driver.session_controller.session.cluster.executed == at
        assert "‖ PAUSED" in driver.text()
        await driver.press("full_stop")
        assert driver.session_controller.session.cluster.executed == at + 1
        await driver.press("space")
        await driver.seconds(1)
        assert driver.session_controller.session.cluster.executed > at + 1


async def test_seek_stops_at_the_next_notable_event():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("f", "c", "greater_than_sign")
        for _ in range(200):
            await driver.frames(1)
            if not driver.session_controller.seeking:
                break
        assert driver.session_controller.paused
        (fenced,) = driver.happened("broker_fenced")
        assert fenced.broker == 1
        assert in_feed(fenced) in driver.text()


async def test_speed_keys():
    async with driving() as driver:
        await driver.press("right_square_bracket", "right_square_bracket")
        assert driver.session_controller.speed == 5
        await driver.press("left_square_bracket")
        assert driver.session_controller.speed == 2
        assert "×2" in driver.text()
        await driver.press("backslash")
        assert driver.session_controller.speed == 1


async def test_the_cursor_moves_by_arrows_letters_and_mouse():
    async with driving() as driver:
        await driver.press("down", "j", "right", "l")
        assert driver.main.matrix.cursor == (2, 2)
        assert "orders-2 · epoch 0" in driver.text()
        await driver.press("up", "h")
        assert driver.main.matrix.cursor == (1, 1)
        await driver.press("pagedown")
        assert driver.main.matrix.cursor == (9, 1), "Kafka's own partitions are not shown"
        columns = driver.main.matrix.rows[0].columns
        await driver.pilot.click(driver.main.matrix, offset=(lead(columns) + 2 * columns.broker, 4))
        await driver.settle()
        assert driver.main.matrix.cursor == (3, 2)


async def test_the_right_button_opens_the_sheet_on_that_cell():
    async with driving() as driver:
        await driver.pilot.mouse_down(driver.main.matrix, offset=(20, 3), button=3)
        await driver.settle()
        assert driver.sheet() == ("faults", "b1")
        assert driver.main.matrix.cursor == (2, 0)


async def test_a_click_on_the_key_bar_presses_the_key():
    async with driving() as driver:
        bar = driver.app.screen.query_one("#keybar")
        await driver.pilot.click(bar, offset=(2, 0))
        await driver.settle()
        assert driver.session_controller.paused


async def test_the_log_scrolls_and_follows_again(snapshot):
    async with driving(session=session(orders=1, payments=1)) as driver:
        await driver.seconds(1)
        tail = driver.text()
        await driver.press("shift+left", "shift+left", "shift+left")
        way_back = driver.main.query_one("#lanes-pane").border_subtitle
        assert way_back in driver.text()
        assert driver.text() != tail
        await driver.press("end")
        assert way_back not in driver.text()
        await driver.press("F")
        assert [way_back, driver.toasts()[-1]] == snapshot


async def test_many_partitions_scroll_with_the_cursor():
    async with driving((80, 24), session=session(orders=30, payments=1)) as driver:
        assert "orders-25" not in driver.text()
        await driver.press(*["pagedown"] * 3)
        assert "payments-0" in driver.text()
        assert " of 31 ▴" in driver.text()


async def test_help_is_made_from_the_keys():
    async with driving((120, 170)) as driver:
        await driver.press("question_mark")
        assert isinstance(driver.app.screen, HelpScreen)
        text = " ".join(driver.text().replace("│", " ").split())  # long words go on in the next line
        for key in KEYS:
            assert key.description in text
        await driver.press("escape")
        assert not isinstance(driver.app.screen, HelpScreen)


async def test_the_session_continues_behind_the_help():
    async with driving() as driver:
        await driver.press("question_mark")
        await driver.seconds(1)
        assert driver.session_controller.session.cluster.now_us == 1_000_000


async def test_the_palette_offers_every_fault_on_every_broker():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("ctrl+p")
        assert isinstance(driver.app.screen, CommandPalette)
        await driver.press(*"crash b2")
        await driver.until(lambda: driver.text().count("crash b2") > 1)
        await driver.press("enter")
        await driver.until(lambda: driver.session_controller.view.faults)
        assert [(fault.name, fault.target) for fault in driver.session_controller.view.faults] == [
            ("crash", "broker 2")
        ]


@pytest.mark.parametrize("group", GROUPS)
async def test_every_key_can_be_pressed_at_any_time(group):
    async with driving((80, 24), session=session(orders=2, payments=1, calm=True)) as driver:
        for key in (key for key in KEYS if key.group == group and key.id not in ("quit", "close")):
            for name in key.keys.split(","):
                await driver.press(name, "escape", name, "escape")
            await driver.press("f", *key.keys.split(","), "escape", "escape")
            await driver.frames(1)
            assert driver.app.is_running, key.id


@pytest.mark.parametrize("part", range(5))
async def test_every_fault_can_be_injected_twice_on_every_broker(part):
    async with driving((80, 24), session=session(orders=2, payments=1, calm=True)) as driver:
        for number, fault in enumerate(list(CATALOGUE.values())[part::5]):
            for broker in range(3) if EVENING else [number % 3]:
                aimed = [*["right"] * broker, "f", fault.letter, *["left"] * broker]
                await driver.press(*aimed, *aimed)
            await driver.frames(1)
            assert driver.app.is_running, fault.name


async def test_every_line_is_as_wide_as_the_terminal():
    sizes = {size: size for size in [(80, 24), (120, 40), (200, 60), (60, 18), (300, 100)]}
    async with driving() as driver:
        await driver.seconds(1)
        async for size in driver.at_sizes(sizes):
            lines = driver.text().split("\n")
            assert {len(line) for line in lines} == {size[0]}
            assert len(lines) == size[1]


async def test_a_terminal_that_is_too_small_is_reported_so_and_the_session_continues(snapshot):
    async with driving((80, 24)) as driver:
        await driver.pilot.resize_terminal(50, 15)
        await driver.seconds(1)
        assert f"{SMALLEST[0]}x{SMALLEST[1]}" in driver.text()
        assert driver.shown("#toosmall") == snapshot
        assert driver.session_controller.session.cluster.now_us == 1_000_000
        await driver.press("f", "c")
        await driver.pilot.resize_terminal(120, 40)
        await driver.seconds(1)
        assert "Partitions × brokers" in driver.text()
        assert "Active faults" in driver.text()
        await driver.pilot.resize_terminal(80, 24)
        await driver.seconds(1)
        assert "Active faults" not in driver.text()


async def test_ascii_mode_shows_nothing_else():
    async with driving((120, 40), glyphs="ascii") as driver:
        await driver.seconds(1)
        await driver.press("f", "c")
        await driver.seconds(1)
        assert driver.text().isascii()
        await driver.press("f")
        assert driver.text().isascii()
        await driver.press("escape", "question_mark")
        assert driver.text().isascii()


async def test_no_color_sends_no_colour(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with driving((120, 40)) as driver:
        await driver.seconds(1)
        await driver.press("f", "c")
        await driver.seconds(1)
        strips = driver.app.screen._compositor.render_strips()
        styles = [segment.style for strip in strips for segment in strip if segment.style]
        for style in styles:
            assert style.color is None or style.color.is_default
            assert style.bgcolor is None or style.bgcolor.is_default
        assert any(style.bold for style in styles)
        assert any(style.reverse for style in styles)


async def test_only_lines_that_changed_are_painted_again():
    async with driving((200, 60)) as driver:
        await driver.seconds(1)
        for _ in range(8):
            before = {grid.id: (grid.built, grid.dirtied) for grid in driver.main.grids()}
            await driver.frames(1)
            for grid in driver.main.grids():
                built = grid.built - before[grid.id][0]
                dirty = grid.dirtied - before[grid.id][1]
                assert built <= dirty + 2, grid.id


async def test_a_frame_in_which_nothing_happened_paints_nothing():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("space")
        before = sum(grid.built for grid in driver.main.grids())
        driver.main.present()
        await driver.settle()
        assert sum(grid.built for grid in driver.main.grids()) == before


async def test_moving_the_cursor_paints_two_rows_of_the_matrix():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("space")
        before = driver.main.matrix.built
        await driver.press("down")
        assert driver.main.matrix.built == before + 2


async def test_a_new_look_paints_everything_anew():
    async with driving() as driver:
        await driver.press("space")
        matrix = driver.main.matrix
        before = matrix.built
        matrix.set_look(Appearance(glyphs="ascii"))
        await driver.settle()
        assert matrix.built == before + len(matrix.rows)


async def test_a_violation_is_reported_in_the_feed(snapshot):
    async with driving() as driver:
        broken = InvariantViolated(0, "leader-completeness", "orders-0", 2, "two leaders", "a test")
        driver.session_controller.session.cluster.emit(broken)
        await driver.seconds(1)
        assert in_feed(broken) in driver.text()
        assert in_feed(broken) == snapshot


async def test_ctrl_q_leaves_with_zero():
    async with driving() as driver:
        await driver.press("ctrl+q")
    assert driver.app.return_code == 0


async def test_ctrl_c_does_not_kill_the_session(snapshot):
    async with driving() as driver:
        await driver.press("ctrl+c")
        assert driver.toasts() == snapshot
        assert driver.app.is_running


async def test_a_key_shows_warnings_only_then_alarms_only_then_all_events():
    async with driving() as driver:
        await driver.press("f", "g")
        await driver.seconds(1)
        pane = driver.main.query_one("#feed-pane")
        seen = {}
        for _ in LEVELS:
            seen[driver.main.level.name] = driver.shown("#feed")
            assert pane.border_title in driver.text()
            assert pane.border_title == level_title(driver.main.level, "e")
            await driver.press("e")
        assert driver.main.level == ALL
        assert len(seen["all"]) >= len(seen["warnings"]) > 0
        assert seen["alarms"] == [ALARMS.nothing]


async def test_events_are_searched_by_their_key_or_in_their_pane_beside_the_filter_of_partitions():
    async with driving() as driver:
        await driver.press("f", "g")
        await driver.seconds(1)
        everything = driver.shown("#feed")
        await driver.press("slash", *"orders-1", "enter", "ctrl+f", *"paused", "enter")
        assert (driver.main.matrix.words, driver.main.searched) == ("orders-1", "paused")
        found = driver.shown("#feed")
        assert 0 < len(found) < len(everything)
        assert all("paused" in line for line in found)
        await driver.press("slash", *"x", "enter")
        assert (driver.main.searched, driver.main.matrix.words) == ("pausedx", "orders-1")
        assert len(driver.shown("#feed")) == 1
        await driver.press("escape")
        assert (driver.main.searched, driver.main.matrix.words) == ("", "orders-1")
        assert driver.shown("#feed") == everything
        await driver.press("escape")
        assert driver.main.matrix.words == ""


async def test_partitions_are_sorted_by_keys_and_headings_with_the_cursor_on_its_own():
    async with driving((200, 60)) as driver:
        await driver.seconds(3)
        await driver.press("down", "down", "f", "c")
        await driver.seconds(8)
        name, usual = driver.main.partition.name, [each.name for each in driver.session_controller.view.partitions]
        seen = []
        for column in (*ORDERS[1:], ""):
            await driver.press("o")
            seen.append(driver.session_controller.order.column)
            assert seen[-1] == column
            await driver.frames(3)
            assert driver.main.partition.name == name
            assert f"▌ {name} " in driver.text()
            assert (f"{column}▾" in driver.shown("#matrix")[0]) == (column in ("epoch", "HW", "lag"))
        assert [each.name for each in driver.session_controller.view.partitions] == usual
        await driver.press("O")
        assert [each.name for each in driver.session_controller.view.partitions] == usual[::-1]
        await driver.click_heading("#matrix", "HW")
        marks = [each.hw for each in driver.session_controller.view.partitions]
        assert marks == sorted(marks, reverse=True)
        await driver.click_heading("#matrix", "HW")
        assert [each.hw for each in driver.session_controller.view.partitions] == marks[::-1]
        await driver.press("down")
        assert driver.main.partition.name != name


async def test_q_goes_one_step_back_and_quits_only_at_the_second_press_on_the_main_screen():
    async with driving() as driver:
        driver.main.filter_by("orders")
        await driver.press("c", "q")
        assert driver.app.screen is driver.main
        await driver.press("q")
        assert (driver.main.filter_words, driver.toasts()) == ("", [])
        await driver.press("ctrl+c", "q")
        told, again = driver.toasts()
        assert told != again
        await driver.frames(60)
        await driver.press("q")
        assert driver.app.is_running
        await driver.press("q")
        assert not driver.app.is_running
        assert driver.app.return_code == 0


async def test_the_operations_sheet_names_every_operation_and_what_it_would_do(snapshot):
    async with driving() as driver:
        await driver.press("a")
        text = driver.text()
        for operation in OPERATIONS.values():
            assert f" {operation.letter}  {operation.title}" in text
        assert driver.sheet() == ("operations", "orders-0, b1")
        first = driver.shown("#operations")[-3:]
        await driver.press("down", "down")
        assert [*first, *driver.shown("#operations")[-3:]] == snapshot
        await driver.press("escape")
        assert driver.sheet() is None
        assert driver.session_controller.view.operations == ()


async def test_two_keys_begin_an_operation_and_its_answer_comes_later(snapshot):
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("a", "e")
        (operation,) = driver.session_controller.view.operations
        assert (operation.name, operation.detail) == ("elect_leaders", "partition=orders-0")
        running = driver.shown("#faults")
        await driver.seconds(1)
        assert driver.session_controller.view.operations == ()
        (answered,) = driver.happened("admin_answered")
        assert (answered.operation, answered.error) == ("elect_leaders", "ELECTION_NOT_NEEDED")
        assert in_feed(answered) in driver.text()
        assert [*running, in_feed(answered)] == snapshot
        await driver.press("a", "s")
        await driver.seconds(4)
        assert driver.session_controller.view.brokers[0].state == "down"
        assert "shutdown" in driver.text()
        for _ in range(12):
            await driver.seconds(1)
            if driver.session_controller.view.brokers[0].state == "up":
                break
        assert driver.session_controller.view.brokers[0].state == "up"
