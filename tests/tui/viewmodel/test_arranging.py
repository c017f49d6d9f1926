"""The filter of the matrix, heat, the whole room for one pane, labels to jump by, and copying."""

from itertools import pairwise

import pytest
from textual.widgets import Input

from faults.declarations.fault import Action
from tests.tui.driving import driving, trimmed
from tests.tui.fake_views import partition, replica, session, troubled, view
from tests.tui.terminal.test_theme import BLIND, EPOCHS_APART, distance
from tests.tui.test_paint import LOOKS, text_of
from tui.screens.base import JumpScreen
from tui.terminal.theme import HEAT
from tui.viewmodel import clipboard_text, partition_matrix, row
from tui.viewmodel.partition_matrix import filter_text_of, fitting, nearest, stepped
from tui.widgets import matrix as paint_matrix

pytestmark = pytest.mark.slow

SIZES = {"80x24": (80, 24), "120x40": (120, 40)}


def inject(driver, name, broker):
    """Without a toast."""
    driver.session_controller.act(Action("inject", name, f"broker({broker})"))


async def behind(driver):
    """Followers fall behind, and one of the brokers is down."""
    await driver.seconds(3)
    for broker in (1, 2, 3):
        inject(driver, "lag", broker)
    await driver.seconds(2)
    inject(driver, "crash", 1)
    await driver.seconds(4)


# -- the filter, without a screen ----------------------------------------------------------------------------------


def test_a_filter_finds_names_and_what_is_the_matter():
    sound, sick, cut = troubled().partitions
    assert filter_text_of(sound).split() == ["orders-0", "b1"]
    assert filter_text_of(sick).split() == ["orders-1", "b2", "under", "minisr", "lost"]
    assert filter_text_of(cut).split() == ["orders-2", "offline", "under", "minisr"]
    partitions = (sound, sick, cut)
    assert fitting(partitions, "") == fitting(partitions, "  ") == fitting(partitions, "!") == [0, 1, 2]
    assert fitting(partitions, "LOST") == [1]
    assert fitting(partitions, "!under") == [0]
    assert fitting(partitions, "under !offline") == [1]
    assert fitting(partitions, "nonsense") == []


def test_the_cursor_finds_its_way_among_what_is_left():
    assert nearest([2, 5, 7], 3) == 5
    assert nearest([2, 5, 7], 9) == 7
    assert nearest([], 4) == 4
    assert [stepped([2, 5, 7], 5, steps) for steps in (-9, -1, 0, 1, 9)] == [2, 2, 5, 7, 7]
    assert [stepped([2, 5, 7], 7, steps, around=True) for steps in (-1, 1)] == [5, 2]
    assert stepped([], 3, 1) == 3


# -- the filter on the screen --------------------------------------------------------------------------------------


def shown(driver):
    return [row.name for row in driver.main.matrix.rows if isinstance(row, partition_matrix.MatrixRow)]


async def test_typing_filters_at_once_and_escape_clears_the_filter(snapshot):
    async with driving(session=session()) as driver:
        await driver.press(*["down"] * 3, "slash", *"pay")
        assert shown(driver) == [f"payments-{number}" for number in range(4)]
        assert driver.main.matrix.cursor == (6, 0), "the next one that is left"
        filtered = driver.main.query_one("#matrix-pane").border_subtitle
        assert filtered in driver.text()
        assert filtered == snapshot
        await driver.press("down")
        assert driver.main.matrix.cursor == (7, 0)
        await driver.press("escape")
        assert len(shown(driver)) == 10
        assert driver.main.matrix.cursor == (7, 0)
        assert filtered not in driver.text()
        assert "of 10" not in driver.text()


async def test_a_filter_is_kept_by_enter_and_keys_are_keys_again():
    async with driving() as driver:
        await driver.press("slash", *"!pay", "enter", "space")
        assert driver.session_controller.paused
        assert not driver.main.filter_bar.display
        assert shown(driver) == [f"orders-{number}" for number in range(6)]
        await driver.press("pagedown")
        assert driver.main.matrix.cursor == (5, 0), "it stops at the last one that is shown"
        await driver.press("slash")
        assert driver.main.query_one("#filter-prompt", Input).value == "!pay"
        await driver.press("enter", "escape")
        assert len(shown(driver)) == 10
        await driver.press("escape")
        assert driver.app.is_running


async def test_a_filter_that_fits_nothing_says_so_and_leaves_the_cursor_where_it_is(snapshot):
    async with driving() as driver:
        await driver.press("down", "slash", *"zzz")
        assert shown(driver) == []
        assert driver.shown("#matrix")[-1] == snapshot
        assert driver.main.matrix.cursor == (1, 0)
        await driver.press("enter", "f", "c")
        await driver.frames(2)
        assert [fault.name for fault in driver.session_controller.view.faults] == ["crash"]


async def test_the_log_goes_around_what_is_shown():
    async with driving() as driver:
        await driver.press("slash", *"orders !0", "enter", "2")
        assert "orders-1 ·" in driver.text()
        await driver.press("shift+tab")
        assert "orders-5 ·" in driver.text()
        await driver.press("tab")
        assert "orders-1 ·" in driver.text()


async def test_a_click_finds_the_partition_that_is_shown():
    async with driving() as driver:
        await driver.press("slash", *"pay", "enter")
        await driver.pilot.click(driver.main.matrix, offset=(20, 3))
        await driver.settle()
        assert driver.main.matrix.cursor[0] == 8


async def test_a_filter_by_what_is_the_matter_follows_the_cluster():
    async with driving(session=session(orders=2, payments=1)) as driver:
        await driver.press("slash", *"under", "enter")
        assert shown(driver) == []
        inject(driver, "crash", 1)
        for _ in range(14):
            await driver.seconds(1)
            if shown(driver):
                break
        assert len(shown(driver)) == 3


async def test_clients_are_filtered_too(snapshot):
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("c", "slash", *"!clicks")
        assert "● checkout" in driver.text()
        assert "● clicks" not in driver.text()
        await driver.press("enter")
        filtered = driver.app.screen._pane.border_subtitle
        assert filtered in driver.text()
        await driver.press("slash", "space", *"zz", "enter")
        assert [filtered, *driver.shown("#clients-all-pane")] == snapshot
        await driver.press("escape")
        assert "● clicks" in driver.text()
        await driver.press("escape")
        assert driver.app.screen is driver.main


async def test_a_filter_looks_so(golden):
    async with driving(session=session()) as driver:
        await driver.seconds(3)
        await driver.press("slash", *"ord !0")
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"filter-{size}")


# -- heat ----------------------------------------------------------------------------------------------------------


def test_steps_are_of_ten_and_each_has_its_own_bar_and_role():
    numbers = (0, 1, 9, 10, 99, 100, 999, 1_000, 9_999, 10_000, 5_000_000)
    assert [partition_matrix.heat_step(number) for number in numbers] == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert len(set(partition_matrix.BARS)) == len(set(partition_matrix.ROLES)) == 6
    assert partition_matrix.heat_text(0).strip() == "="
    assert partition_matrix.heat_text(87).endswith("-87")


@pytest.mark.parametrize("appearance", LOOKS.values(), ids=LOOKS)
def test_heat_is_as_wide_as_asked_and_without_colour_its_bars_show_the_steps(appearance):
    held = tuple(
        replica(broker, "leader" if broker == 1 else "in_sync", behind=number)
        for broker, number in enumerate((0, 3, 30, 300, 3_000, 30_000), 1)
    )
    hot = view(brokers=6, partitions=(partition(replicas=held),))
    for width in range(1, 201, 7):
        built = partition_matrix.build_matrix(hot, width=width, height=5, cursor=(0, 0), heat=True)
        said = partition_matrix.MatrixTextRow(built.head.columns, partition_matrix.heat_legend(width))
        for painted in (built.head, *built.rows, said):
            assert paint_matrix.paint(painted, width, appearance).cell_length == width
    row = partition_matrix.build_matrix(hot, width=150, height=5, cursor=(0, 0), heat=True).rows[0]
    told = text_of(paint_matrix.paint(row, 150, appearance))
    for bar, number in zip(partition_matrix.BARS[1:], ("3", "30", "300", "3000", "30000"), strict=True):
        assert f"{appearance.text(bar)}-{number}" in told
    assert appearance.text("★100") in told


def test_a_cell_reports_the_worst_of_a_partition(snapshot):
    sick = (*troubled().partitions, partition(isr=(1, 2)), partition(isr=(1,)))
    assert [partition_matrix.state_of(each).words for each in sick] == snapshot


@pytest.mark.parametrize("appearance", LOOKS.values(), ids=LOOKS)
def test_a_thousand_partitions_are_seen_at_a_glance(appearance):
    many = [partition(f"orders-{number}", isr=(1,) if number % 100 == 7 else (1, 2, 3)) for number in range(1_000)]
    for width in (40, 80, 130):
        for cursor in (0, 500, 999):
            built = partition_matrix.build_overview(many, cursor, width, 12)
            assert len(built.rows) <= 11
            assert sum(row.cursor >= 0 for row in built.rows) == 1
            for painted in built.rows:
                assert paint_matrix.paint(painted, width, appearance).cell_length == width
    whole = partition_matrix.build_overview(many, 999, 130, 12)
    assert sum(len(row.cells) for row in whole.rows) == 1_000
    told = "".join(text for text, _role in whole.legend)
    assert f"orders-999: {partition_matrix.state_of(partition()).words}" in told
    assert f"! 10 {partition_matrix.state_of(partition(isr=(1,))).words}" in told
    assert partition_matrix.build_overview([], 0, 80, 5).rows == ()


@pytest.mark.parametrize("kind", BLIND)
def test_steps_side_by_side_are_distinguished_by_everybody(kind):
    near = [distance(one, other, kind) for one, other in pairwise(HEAT)]
    assert min(near) >= EPOCHS_APART - 2


async def test_z_shows_how_far_behind_then_a_cell_for_each_partition_and_no_more():
    async with driving() as driver:
        await behind(driver)
        await driver.press("z")
        assert "records behind:" in driver.text()
        assert any(cell.role.startswith("heat") for row in driver.main.matrix.rows[1:-1] for cell in row.cells)
        await driver.press("z")
        assert "records behind:" not in driver.text()
        assert "orders-0: healthy" in driver.text()
        await driver.press("right", "right", "right")
        assert driver.main.matrix.cursor == (3, 0)
        assert "orders-3: healthy" in driver.text()
        await driver.pilot.click(driver.main.matrix, offset=(2 + 7, 0))
        await driver.settle()
        assert driver.main.matrix.cursor == (7, 0)
        await driver.press("slash", *"orders", "enter")
        assert "orders-5: healthy" in driver.text()
        await driver.press("z", "escape")
        assert "★" in driver.text()


async def test_heat_looks_so(golden):
    async with driving(session=session()) as driver:
        await behind(driver)
        await driver.press("z")
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"heat-{size}")


async def test_heat_in_ascii(golden):
    async with driving(SIZES["80x24"], session=session(), glyphs="ascii") as driver:
        await behind(driver)
        await driver.press("z")
        assert trimmed(driver.text()) == golden("heat-ascii-80x24")


# -- panes ---------------------------------------------------------------------------------------------------------


async def test_tab_chooses_a_pane_m_gives_it_the_room_and_escape_gives_it_back():
    async with driving() as driver:
        await driver.seconds(1)
        before = driver.text()
        names = [pane.id for pane in driver.main.panes()]
        assert names[:2] == ["matrix-pane", "clients-pane"]
        await driver.press("tab")
        assert driver.main.chosen_pane == "clients-pane"
        await driver.press("shift+tab", "shift+tab")
        assert driver.main.chosen_pane == names[-1] == "feed-pane"
        await driver.press("m")
        assert [pane.id for pane in driver.main.panes()] == ["feed-pane"]
        assert driver.main.query_one("#feed-pane").region.height == 37
        await driver.press("escape")
        assert driver.text() == before
        await driver.press("m", "m")
        assert driver.text() == before


async def test_a_pane_that_is_gone_at_another_size_gives_its_room_back():
    async with driving() as driver:
        await driver.press("tab", "m")
        assert [pane.id for pane in driver.main.panes()] == ["clients-pane"]
        await driver.pilot.resize_terminal(80, 24)
        await driver.settle()
        assert [pane.id for pane in driver.main.panes()] == ["matrix-pane", "lanes-pane", "feed-pane"]
        assert driver.main.chosen_pane == "matrix-pane"


async def test_a_click_chooses_a_pane():
    async with driving() as driver:
        await driver.pilot.click("#feed")
        await driver.settle()
        assert driver.main.chosen_pane == "feed-pane"


async def test_in_every_mode_a_pane_can_have_the_whole_room():
    async with driving(session=session(orders=2, payments=1)) as driver:
        await driver.seconds(1)
        await driver.press("space")
        for mode in "23456":
            await driver.press(mode)
            await driver.frames(1)
            before, names = driver.text(), [pane.id for pane in driver.app.screen.panes()]
            for name in names:
                driver.app.screen.choose_pane(name)
                await driver.press("m")
                assert [pane.id for pane in driver.app.screen.panes()] == [name]
                assert driver.app.screen.query_one(f"#{name}").region.size == (120, 37)
                await driver.press("escape")
                assert driver.text() == before
            await driver.press("escape")
            assert driver.app.screen is driver.main


# -- jumping -------------------------------------------------------------------------------------------------------


def test_labels_are_as_short_as_can_be_and_none_begins_another(snapshot):
    assert row.jump_labels(3) == ("a", "b", "c")
    for count in (0, 1, 26, 27, 60, 200, 676):
        found = row.jump_labels(count)
        assert len(set(found)) == count
        assert not any(one != other and other.startswith(one) for one in found for other in found)
    assert sum(len(label) == 1 for label in row.jump_labels(60)) == 24
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its whole message is compared
        row.jump_labels(677)
    assert str(caught.value) == snapshot
    assert row.labels_left(("a", "za", "zb"), "z") == (1, 2)


def label_of(driver, kind, key):
    screen = driver.app.screen
    return next(
        name
        for name, place in zip(screen._names, screen._places, strict=True)
        if (place.kind, place.key) == (kind, key)
    )


async def test_a_letter_goes_to_a_partition_a_broker_or_a_pane():
    async with driving() as driver:
        await driver.press("ctrl+o", "escape")
        assert driver.app.screen is driver.main
        await driver.press("ctrl+o")
        await driver.press(*label_of(driver, "row", "4"))
        assert driver.main.matrix.cursor == (4, 0)
        await driver.press("ctrl+o")
        await driver.press(*label_of(driver, "column", "2"))
        assert driver.main.matrix.cursor == (4, 2)
        await driver.press("ctrl+o")
        await driver.press(*label_of(driver, "pane", "feed-pane"))
        assert driver.main.chosen_pane == "feed-pane"
        assert driver.app.screen is driver.main


async def test_keys_without_a_label_close_the_jump_mode():
    async with driving() as driver:
        await driver.press("ctrl+o", "H")
        assert driver.app.screen is driver.main
        await driver.press("ctrl+o", "space")
        assert driver.app.screen is driver.main
        assert not driver.session_controller.paused
        await driver.press("ctrl+o")
        assert isinstance(driver.app.screen, JumpScreen)
        await driver.pilot.resize_terminal(100, 30)
        await driver.settle()
        assert driver.app.screen is driver.main


async def test_in_a_mode_letters_lead_to_other_modes_and_to_what_it_shows():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("2", "ctrl+o")
        await driver.press(*label_of(driver, "lane", "3"))
        assert driver.main.matrix.cursor[1] == 2
        await driver.press("ctrl+o")
        await driver.press(*label_of(driver, "mode", "playbooks"))
        assert driver.app.screen.MODE == "playbooks"
        await driver.press("ctrl+o")
        label = label_of(driver, "line", "3")
        await driver.press(*label)
        await driver.press("y")
        assert driver.app.clipboard == "acks-0-leader-crash"


async def test_labels_look_so(golden):
    async with driving(session=session()) as driver:
        await driver.seconds(3)
        async for size in driver.at_sizes(SIZES):
            await driver.press("ctrl+o")
            assert trimmed(driver.text()) == golden(f"jump-{size}")
            await driver.press("escape")


# -- copying -------------------------------------------------------------------------------------------------------


def test_a_cell_is_a_line_that_can_be_understood_by_itself(snapshot):
    sick, four = troubled(), view(brokers=4)
    assert [
        clipboard_text.replica_line(sick, sick.partitions[1], sick.brokers[2]),
        clipboard_text.replica_line(sick, sick.partitions[2], sick.brokers[0]),
        clipboard_text.replica_line(four, sick.partitions[0], four.brokers[3]),
    ] == snapshot


async def test_y_copies_the_cell_or_the_chosen_pane_and_says_so(snapshot):
    async with driving() as driver:
        await driver.seconds(2)
        await driver.press("down", "right", "y")
        cluster = driver.session_controller.view
        assert driver.app.clipboard == clipboard_text.replica_line(cluster, cluster.partitions[1], cluster.brokers[1])
        await driver.press("tab", "y")
        assert "checkout" in driver.app.clipboard
        assert driver.toasts() == snapshot


async def test_y_copies_in_every_mode(snapshot):
    async with driving(session=session(orders=2, payments=1)) as driver:
        await driver.seconds(1)
        inject(driver, "crash", 1)
        await driver.seconds(1)
        copied = {}
        for mode in "23456":
            await driver.press(mode, "y")
            copied[mode] = driver.app.clipboard
        assert copied["2"].startswith("orders-0 offset ")
        assert "appended" in copied["2"]
        assert "billing/0" in copied["3"]
        assert "crash b1" in copied["4"]
        assert copied["5"] == "sandbox.yaml"
        assert copied["6"].startswith("Verdict")
        await driver.press("4", "left", "y")
        assert driver.toasts()[-1] == snapshot
        assert driver.app.clipboard != copied["4"]


async def test_findings_and_records_are_copied(snapshot):
    async with driving() as driver:
        await behind(driver)
        await driver.seconds(10)
        await driver.press("n", "y")
        sentence = driver.app.screen.case.finding.sentence
        assert driver.app.clipboard == sentence
        await driver.press("escape", "p", "y")
        assert driver.app.clipboard != sentence
        await driver.press("escape", "6", "right", "y")
        assert driver.app.clipboard == sentence
        assert driver.toasts()[-1] == snapshot
        await driver.press("escape", "p", "y")
        assert driver.app.clipboard.startswith("orders-0 offset ")
        assert "producer" in driver.app.clipboard
