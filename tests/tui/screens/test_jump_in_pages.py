"""Letters over what a page has to go to, and over whatever can be typed in."""

import pytest
from textual.widgets import Input

from tests.tui.driving import driving
from tests.tui.viewmodel.test_arranging import label_of
from tests.tui.viewmodel.timeline.test_timeline import lost, over  # noqa: F401 - fixtures
from tui.screens.autopsy import AutopsyScreen
from tui.screens.base import FOCUS, JumpScreen, OverlayPage
from tui.screens.time_travel import BranchesScreen
from tui.settings.schema import OPTIONS

pytestmark = pytest.mark.slow


async def test_every_field_of_a_form_has_a_letter_and_typing_continues_there():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("f", "down", "enter")
        form = driver.app.screen
        fields = list(form.query(Input))
        assert len(fields) > 1
        await driver.press("ctrl+o")
        await driver.press(*label_of(driver, FOCUS, "0"))
        assert driver.app.screen is form
        assert form.focused is fields[0]


async def test_lines_of_a_list_settings_and_bookmarks_have_letters():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("w", "b")
        assert isinstance(driver.app.screen, BranchesScreen)
        before = driver.app.screen.chosen
        await driver.press("ctrl+o")
        await driver.press(*label_of(driver, "line", str(1 - before)))
        assert driver.app.screen.chosen == 1 - before
        await driver.press("escape", "S", "ctrl+o")
        await driver.press(*label_of(driver, "setting", str(len(OPTIONS) - 1)))
        assert driver.app.screen.marked == len(OPTIONS) - 1
        await driver.press("escape", "B", "full_stop", "B", "ctrl+g", "ctrl+o")
        await driver.press(*label_of(driver, "bookmark", "1"))
        assert driver.app.screen.chosen == 1
        assert "12.5s" in driver.text()


async def test_autopsy_frames_have_jump_labels(lost):  # noqa: F811
    async with over(lost) as driver:
        await driver.press("n")
        page = driver.app.screen
        assert isinstance(page, AutopsyScreen)
        await driver.press("ctrl+o")
        labels = driver.app.screen
        assert isinstance(labels, JumpScreen)
        frames = [each for each in labels._places if each.kind == "frame"]
        assert len(frames) >= 2
        assert len({each.y for each in frames}) == 1
        other = next(each for each in frames if int(each.key) != page.at)
        await driver.press(*label_of(driver, "frame", other.key))
        assert page.at == int(other.key)


async def test_pages_without_places_say_so_or_scroll():
    async with driving() as driver:
        await driver.press("question_mark", "ctrl+o")
        assert isinstance(driver.app.screen, JumpScreen)
        await driver.press("escape")
        assert isinstance(driver.app.screen, OverlayPage)
