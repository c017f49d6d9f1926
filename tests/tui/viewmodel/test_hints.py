"""A word of Kafka is explained once, where somebody first rests on it, unless that is not wanted."""

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.tui import fake_views
from tests.tui.driving import Driver
from tests.tui.fake_views import partition, replica
from tui.app import FloodmarkApp
from tui.session.session_controller import SessionController
from tui.settings.schema import Settings
from tui.settings.settings_file import ExplainedTerms
from tui.terminal.frame_clock import StepClock
from tui.viewmodel.help import GLOSSARY, TOKENS, term, word_at, word_of

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}


@asynccontextmanager
async def hinted(seen, size=(120, 40), settings=None):
    clock = StepClock()
    session_controller = SessionController(fake_views.session(orders=2, payments=1), clock)
    app = FloodmarkApp(session_controller, playbook="sandbox", seed=7, settings=settings, seen=seen)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Driver(pilot, app, clock)


def place_of(driver, word):
    """Where it stands on the screen."""
    for y, line in enumerate(driver.text().split("\n")):
        if word in line:
            return line.index(word), y
    raise AssertionError(word)


async def rest_on(driver, word):
    x, y = place_of(driver, word)
    await driver.pilot.hover(offset=(x, y))
    driver.app.hinting.rested()
    await driver.settle()


def test_every_word_is_in_the_glossary_and_there_are_twenty_at_least():
    words = {each.word for each in GLOSSARY}
    assert set(TOKENS.values()) <= words
    assert len(set(TOKENS.values())) >= 20


@pytest.mark.parametrize(
    ("line", "column", "word"),
    [
        ("  orders-0 ISR {1,2}", 11, "ISR"), ("HW 87", 0, "HW"), ("HW 87", 4, ""), ("acks=all", 2, "acks"),
        ("urp 0", 1, "under-replicated"), ("min.isr 2.", 3, "min.insync.replicas"), ("nothing", 3, ""), ("", 0, ""),
    ],
)  # fmt: skip
def test_the_word_under_the_pointer(line, column, word):
    assert word_at(line, column) == word


def test_the_word_of_a_cell_is_about_what_is_amiss():
    healthy = partition()
    assert word_of(healthy, 1) == ""
    assert word_of(replace(healthy, isr=(1, 2)), 2) == "under-replicated"
    assert word_of(partition(missing=3), 1) == "missing"
    for status, word in (("lagging", "ISR"), ("diverged", "diverged"), ("truncating", "truncation")):
        assert word_of(partition(replicas=(replica(1, "leader"), replica(2, status))), 2) == word


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
async def test_a_word_is_explained_once_and_that_is_kept(tmp_path, size, snapshot):
    path = tmp_path / "folder" / "seen"
    async with hinted(ExplainedTerms(path), SIZES[size]) as driver:
        await rest_on(driver, "ISR")
        assert term("ISR").meaning in driver.toasts()[0]
        assert driver.toasts() == snapshot
        await rest_on(driver, "HW")
        await rest_on(driver, "ISR")
        assert len(driver.toasts()) == 2
    assert path.read_text() == "ISR\nHW\n"
    async with hinted(ExplainedTerms(path), SIZES[size]) as driver:
        await rest_on(driver, "ISR")
        assert driver.toasts() == []


async def test_hints_can_be_turned_off(tmp_path):
    async with hinted(ExplainedTerms(tmp_path / "seen"), settings=Settings(hints=False)) as driver:
        await rest_on(driver, "ISR")
        assert driver.toasts() == []
    assert not (tmp_path / "seen").exists()


@pytest.mark.slow
async def test_the_settings_switch_them_off_and_on(tmp_path):
    async with hinted(ExplainedTerms(tmp_path / "seen")) as driver:
        await driver.press("S", "up")
        assert "hints" in driver.text()
        await driver.press("right", "escape")
        await rest_on(driver, "ISR")
        assert driver.toasts() == []
        await driver.press("S", "up", "right", "escape")
        driver.app.hinting.looked_at("ISR")
        await driver.settle()
        assert len(driver.toasts()) == 1


@pytest.mark.slow
async def test_the_cursor_explains_what_is_amiss(tmp_path, monkeypatch):
    async with hinted(ExplainedTerms(tmp_path / "seen")) as driver:
        await driver.press("right")
        assert driver.toasts() == []
        monkeypatch.setattr("tui.viewmodel.help.word_of", lambda *_: "diverged")
        await driver.press("right", "left")
        assert len(driver.toasts()) == 1
        assert driver.toasts()[0].startswith("diverged: ")


@pytest.mark.slow
async def test_a_pointer_that_continues_explains_nothing(tmp_path):
    async with hinted(ExplainedTerms(tmp_path / "seen")) as driver:
        await driver.pilot.hover(offset=place_of(driver, "ISR"))
        await driver.pilot.hover(offset=place_of(driver, "HW"))
        await driver.until(driver.toasts)  # what was passed before would have been explained before
        (told,) = driver.toasts()
        assert term("HW").meaning in told


def test_a_list_that_cannot_be_read_or_written_hinders_nothing(tmp_path):
    (tmp_path / "file").write_bytes(b"\xff\xfe")
    seen = ExplainedTerms(tmp_path / "file")
    assert "ISR" not in seen
    seen = ExplainedTerms(tmp_path / "file" / "below")
    seen.add("ISR")
    assert "ISR" in seen
    assert "ISR" not in ExplainedTerms(tmp_path / "file" / "below")
