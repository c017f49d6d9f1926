"""The page of settings, other keys, and themes on the live screen."""

from contextlib import asynccontextmanager

import pytest

from tests.tui.driving import Driver, driving, trimmed
from tests.tui.fake_views import session
from tui.app import FloodmarkApp
from tui.screens.help import HelpScreen
from tui.screens.settings import SettingsScreen
from tui.session.session_controller import SessionController
from tui.settings.schema import Settings
from tui.terminal.frame_clock import StepClock
from tui.terminal.theme import Appearance
from tui.widgets.line_widget import LineGrid

pytestmark = pytest.mark.slow

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
KEYS = {"pause": ("p",), "peek": ("space",), "quit": ("f10",), "palette": ("f2",), "slower": ("minus",)}


@asynccontextmanager
async def with_settings(settings, size=(120, 40), theme="dark"):
    clock = StepClock()
    session_controller = SessionController(session(), clock)
    app = FloodmarkApp(session_controller, playbook="sandbox", seed=7, settings=settings, theme=theme)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Driver(pilot, app, clock)


def said(driver):
    """What the page says of what was done last."""
    text, _role = driver.app.screen._message
    assert text in driver.text()
    return text


async def test_the_page_of_settings(golden, monkeypatch):
    monkeypatch.setenv("FLOODMARK_CONFIG", "/settings/config.toml")
    async with driving(session=session()) as driver:
        await driver.press("S", "down")
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"settings-{size}")


async def test_a_chosen_setting_is_effective_at_once_and_saved_on_request(tmp_path, snapshot):
    path = tmp_path / "config.toml"
    mine = "# mine\n[keys]\nhelm = 1\n"
    path.write_text(mine)
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("S")
        (problem,) = driver.app.screen._settings_file.problems
        assert "keys.helm:" in driver.text().replace("\n", "")
        told = [problem.removeprefix(str(path))]
        await driver.press("right", "down", "left", "down", "right", "right", "down", "right")
        assert (driver.app.appearance.theme, driver.app.appearance.glyphs) == ("light", "ascii")
        assert driver.session_controller.speed == 5
        assert driver.session_controller.stops_at_loss
        assert path.read_text() == mine
        await driver.press("w")
        told.append(said(driver))
        await driver.press("w")
        assert [*told, said(driver)] == snapshot
        await driver.press("escape")
        assert "o=" in driver.text()
        assert driver.text().isascii()
        grids = driver.main.query(LineGrid).results(LineGrid)
        assert all(each.appearance is driver.app.appearance for each in grids)
    assert path.read_text().startswith(f"{mine}\n[screen]\n")
    assert 'theme = "light"' in path.read_text()


async def test_a_mode_below_the_page_changes_its_look_too():
    async with driving((80, 24)) as driver:
        await driver.seconds(1)
        await driver.press("c", "S")
        assert isinstance(driver.app.screen, SettingsScreen)
        await driver.press("down", "left", "escape")
        assert "o checkout" in driver.text()
        await driver.press("escape")
        assert driver.text().isascii()


async def test_other_keys_do_what_the_file_says_and_every_page_shows_them(snapshot):
    async with with_settings(Settings(keys=KEYS)) as driver:
        bar = driver.text().splitlines()[-1]
        assert " p pause" in bar
        assert "- ] speed" in bar
        assert "f10 quit" in bar
        await driver.press("p")
        assert driver.session_controller.paused
        await driver.press("c", "p")
        assert not driver.session_controller.paused
        await driver.press("escape", "minus")
        assert driver.session_controller.speed == 0.5
        await driver.press("question_mark")
        assert isinstance(driver.app.screen, HelpScreen)
        told = [line for line in driver.shown("#help") if line.startswith("p ")]
        await driver.press("escape", "left_square_bracket")
        assert driver.session_controller.speed == 0.5
        await driver.press("ctrl+c")
        assert [*told, *driver.toasts()] == snapshot
        await driver.press("f10")
    assert driver.app.return_code == 0


async def test_the_terminals_palette_leaves_the_screen_without_a_colour_of_its_own():
    async with with_settings(Settings(theme="ansi"), theme="ansi") as driver:
        await driver.seconds(1)
        styles = [
            segment.style
            for strip in driver.app.screen._compositor.render_strips()
            for segment in strip
            if segment.style is not None
        ]
        for style in styles:
            for colour in (style.color, style.bgcolor):
                assert colour is None or colour.is_default or colour.number is not None, style


async def test_without_colour_a_theme_changes_nothing(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with with_settings(Settings(), theme="light") as driver:
        await driver.seconds(1)
        assert driver.app.appearance.style("lost") == Appearance(colour=False).style("lost")
        styles = [
            segment.style
            for strip in driver.app.screen._compositor.render_strips()
            for segment in strip
            if segment.style
        ]
        assert all(style.color is None or style.color.is_default for style in styles)
