"""The sheet of forty faults at every size: by family, page by page, dim where it does not fit, what to expect."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from faults.catalogue import CATALOGUE
from faults.declarations.fault import FAMILIES, ExpectedImpact
from tests.tui.driving import driving
from tests.tui.test_paint import LOOKS, text_of
from tui.terminal.theme import Appearance
from tui.viewmodel import fault_sheet
from tui.viewmodel.fault_sheet import Heading, Item, ItemRow, SheetSize, SheetTextRow
from tui.widgets import panes

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN"
SIZES = {
    "80x24": SheetSize(78, 24),
    "120x40": SheetSize(118, 40),
    "200x60": SheetSize(198, 60),
    "60x18": SheetSize(58, 18),
}
EXPECTED = ExpectedImpact(
    "a sentence about it", ("orders-1", "orders-2"), ("orders-3",), ("orders-4",), ("checkout", "billing/0"),
    ("orders-5",), ("billing",), ("till",), (1, 2), controller_moves=True,
)  # fmt: skip


def forty():
    """As many faults as there are letters here, in all families, the longest of titles among them."""
    one, found = CATALOGUE["lag"], []
    for at, letter in enumerate(LETTERS):
        title = f"{'duplicate responses' if letter == 'm' else 'fault'} {letter}"
        family = FAMILIES[at * len(FAMILIES) // len(LETTERS)]
        found.append(replace(one, name=f"fault_{letter}", letter=letter, title=title, family=family, params=()))
    return found


FORTY = forty()


def built(room, chosen=0, expected=EXPECTED, fitting=tuple(each.name for each in FORTY)):
    return fault_sheet.build_columns(FORTY, chosen=chosen, title="on b1", expected=expected, fitting=fitting, size=room)


def cells(sheet, kind):
    return [cell for row in sheet.rows if isinstance(row, ItemRow) for cell in row.items if isinstance(cell, kind)]


def pages_of(room):
    found, chosen = [], 0
    for _turn in range(20):
        found.append(built(room, chosen))
        chosen = fault_sheet.other_page(FORTY, chosen, 1, room)
        if chosen == 0:
            return found
    raise AssertionError("the pages have no end")


@pytest.mark.parametrize("size", SIZES)
def test_every_fault_stands_on_one_page_under_its_family(size):
    pages = pages_of(SIZES[size])
    letters = [cell.letter for page in pages for cell in cells(page, Item)]
    assert sorted(letters) == sorted(LETTERS)
    for page in pages:
        rows = [row for row in page.rows if isinstance(row, ItemRow)]
        for column in range(len(rows[0].items)):
            family = None
            for row in rows:
                cell = row.items[column]
                if isinstance(cell, Heading):
                    family = cell.text
                elif isinstance(cell, Item):
                    assert family == next(each.family for each in FORTY if each.letter == cell.letter)
    assert ("page 1 of" in pages[0].title) == (len(pages) > 1)
    assert len(pages) == {"80x24": 2, "120x40": 1, "200x60": 1, "60x18": 5}[size]


@pytest.mark.parametrize("size", SIZES)
def test_the_sheet_keeps_its_height_and_leaves_a_third_of_the_screen(size):
    room = SIZES[size]
    heights = {
        len(built(room, chosen, expected).rows) for chosen in range(40) for expected in (EXPECTED, ExpectedImpact("x"))
    }
    assert len(heights) == 1
    assert heights.pop() + 2 <= max(room.height * 2 // 3, 10)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("appearance", LOOKS.values(), ids=LOOKS)
def test_every_line_is_as_wide_as_the_sheet(size, appearance):
    room = SIZES[size]
    for page in pages_of(room):
        for row in page.rows:
            assert cell_len(text_of(panes.sheet(row, room.width, appearance))) == room.width


def test_the_marked_one_is_on_the_page_that_is_shown():
    for chosen in range(40):
        (marked,) = [cell for cell in cells(built(SIZES["80x24"], chosen), Item) if cell.chosen]
        assert marked.letter == LETTERS[chosen]


def test_faults_that_do_not_fit_the_target_are_dim():
    page = built(SIZES["120x40"], fitting=("fault_a", "fault_N"))
    assert [cell.letter for cell in cells(page, Item) if not cell.dim] == ["a", "N"]
    appearance = Appearance()
    row = next(row for row in page.rows if isinstance(row, ItemRow) and isinstance(row.items[0], Item))
    dim = next(
        row for row in page.rows if isinstance(row, ItemRow) and isinstance(row.items[0], Item) and row.items[0].dim
    )
    styles = [{segment.style.color.name for segment in panes.sheet(each, 118, appearance)} for each in (row, dim)]
    assert styles[0] != styles[1]


def test_where_there_is_room_each_kind_of_thing_has_its_line(snapshot):
    told = [row for row in built(SIZES["120x40"]).rows if isinstance(row, SheetTextRow) and row.label.strip()]
    assert [(row.label.strip(), row.text) for row in told] == snapshot


def test_where_there_is_little_the_rest_shares_a_line(snapshot):
    told = [row for row in built(SIZES["80x24"]).rows if isinstance(row, SheetTextRow) and row.label.strip()]
    assert [(row.label.strip(), row.text) for row in told] == snapshot


@pytest.mark.slow
async def test_the_screen_dims_what_is_not_for_the_node_aimed_at():
    async with driving() as driver:
        await driver.press("f")
        board, main = driver.session_controller.session.board, driver.main
        for _node in range(4):
            shown = {cell.letter: cell.dim for row in main.whichkey.rows if isinstance(row, ItemRow)
                     for cell in row.items if isinstance(cell, Item)}  # fmt: skip
            fits = board.applicable_faults(main.target)
            assert shown == {each.letter: each.name not in fits for each in CATALOGUE.values()}
            await driver.press("right")
        assert main.target not in driver.session_controller.session.cluster.brokers
        assert any(shown.values())


@pytest.mark.slow
async def test_the_sheet_reports_what_is_hit_under_the_cursor_and_follows_it():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("f")
        board = driver.session_controller.session.board
        for _broker in range(3):
            expected = board.predict("crash", driver.main.target)
            own = [each for each in expected.leaders_moved if not each.startswith("__")]
            assert own
            line = next(line for line in driver.text().split("\n") if "leader change" in line)
            assert all(each in line for each in own[:6])
            await driver.press("right")


@pytest.mark.slow
async def test_the_palette_puts_the_target_under_the_cursor_first():
    async with driving() as driver:
        await driver.press("right", "ctrl+p")
        await driver.press(*"crash")
        await driver.until(lambda: "crash b2" in driver.text() and "crash b1" in driver.text())
        text = driver.text()
        assert text.index("crash b2") < text.index("crash b1")
        assert "poll stall b2" not in text
