"""The colours of whole screens in every theme, without colour and in ASCII, as runs of styles by their roles."""

import pytest

from docs.generate import screenshots
from tests.tui.driving import driving, trimmed
from tests.tui.fake_views import session
from tests.tui.style_runs import runs
from tui.terminal.theme import Appearance

pytestmark = pytest.mark.slow

SCREENS = ("main", "log", "timeline", "autopsy")
THEMES = ("dark", "light", "ansi")


async def lose(driver, monkeypatch):
    """In few long frames: nobody looks in between."""
    monkeypatch.setattr(screenshots, "FRAME_S", 1 / 4)
    await screenshots.lost(screenshots.ScreenshotHarness(driver.app, driver.clock))
    driver.session_controller.pause(True)
    await driver.settle()
    driver.main.action_fork()


async def show(driver, screen):
    """One of the screens, over the session as it is."""
    driver.main.action_mode("cluster" if screen in ("main", "autopsy") else screen)
    if screen == "autopsy":
        driver.main.action_finding(1)
    await driver.settle()
    driver.app.screen.present()  # panes have their sizes now
    await driver.settle()


async def test_every_theme_on_every_showpiece(golden, monkeypatch):
    """Looks are changed on the very session, so ASCII must have the colours of the glyphs that it stands for."""
    async with driving((120, 40), session=session()) as driver:
        await lose(driver, monkeypatch)
        for theme in THEMES:
            appearance = Appearance(theme=theme)
            driver.app.set_look(appearance)
            for screen in SCREENS:
                await show(driver, screen)
                found = runs(driver.app, appearance)
                assert trimmed(found) == golden(f"styles-{theme}-{screen}")
                plain = Appearance(theme=theme, glyphs="ascii")
                driver.app.set_look(plain)
                await driver.settle()
                assert driver.text().isascii(), screen
                assert runs(driver.app, plain) == found, (theme, screen)
                driver.app.set_look(appearance)
                await driver.settle()


async def test_without_colour(golden, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with driving((120, 40), session=session()) as driver:
        await lose(driver, monkeypatch)
        for screen in SCREENS:
            await show(driver, screen)
            found = runs(driver.app, driver.app.appearance)
            assert "#" not in found, "a colour"
            assert trimmed(found) == golden(f"styles-mono-{screen}")


@pytest.mark.parametrize("theme", THEMES)
def test_no_two_meanings_of_a_glyphs_column_have_one_style(theme):
    """In colours; without them the glyph tells."""
    appearance = Appearance(theme=theme)
    for roles in (("leader", "in_sync", "lagging", "down"), ("epoch0", "epoch1", "epoch2", "epoch3", "epoch4")):
        assert len({str(appearance.style(role)) for role in roles}) == len(roles)
