"""The welcome page: what it offers is there, every line leads somewhere, nothing of the model is read for it."""

import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from playbooks.library.index import library_entries
from tests.tui.driving import trimmed
from tui import welcome
from tui.launcher import TOUR
from tui.session.destination import PLAYBOOK, Destination
from tui.terminal.theme import Appearance
from tui.tour import NAME
from tui.welcome import WelcomeApp

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}


@asynccontextmanager
async def welcomed(size=(80, 24), sessions=Path("none"), appearance=None):
    app = WelcomeApp(appearance or Appearance(), sessions)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


def text(app):
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def test_the_page(golden):
    async with welcomed() as (app, pilot):
        for name, size in SIZES.items():
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert trimmed(text(app)) == golden(f"welcome-{name}")


async def test_in_ascii_there_is_nothing_else():
    async with welcomed(appearance=Appearance(glyphs="ascii")) as (app, _pilot):
        assert text(app).isascii()


def test_all_that_is_offered_is_bundled_and_can_be_watched():
    known = {each.name: each for each in library_entries()}
    offered = [offer.key for offer in welcome.OFFERS if offer.key and offer.key != welcome.SESSIONS]
    assert len(welcome.GALLERY) == 8
    assert len(set(offered)) == len(offered)
    assert not any(known[name].manual for name in offered)
    assert welcome.TOUR == TOUR == NAME


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "name"),
    [(["enter"], "tour"), (["down", "enter"], welcome.GALLERY[0][0]), (["t"], "tour"), (["s"], "sandbox"),
     (["pagedown", "up", "enter"], "sandbox"), (["up", "enter"], "tour")],
)  # fmt: skip
async def test_every_choice_is_a_wish(keys, name):
    async with welcomed() as (app, pilot):
        await pilot.press(*keys)
    assert app.return_value == Destination(PLAYBOOK, name)


@pytest.mark.parametrize("key", ["q", "escape", "ctrl+q"])
async def test_leaving_it_wishes_for_nothing(key):
    async with welcomed() as (app, pilot):
        await pilot.press(key)
    assert app.return_value is None


async def test_a_small_terminal_keeps_the_choice_in_sight():
    async with welcomed((60, 12)) as (app, pilot):
        assert "▌ Tour" in text(app)
        await pilot.press("pagedown", "pagedown")
        await pilot.pause()
        assert "▌ Recorded sessions" in text(app)


def lines_about(app, path):
    """The lines of the page that name a path."""
    lines = ["".join(piece for piece, _role in row.pieces) for row in app._rows.rows]
    return [line.strip().replace(str(path), "<tmp>") for line in lines if str(path) in line]


async def test_sessions_that_are_not_there_and_one_that_cannot_be_read(tmp_path, snapshot):
    async with welcomed((120, 40), tmp_path / "none") as (app, pilot):
        await pilot.press("pagedown", "pagedown", "enter", "enter")
        await pilot.pause()
        told = lines_about(app, tmp_path)
        assert len(told) == 1
        assert told[0][:12] in text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "▌ Recorded sessions" in text(app)
    (tmp_path / "session_id=20260131T101500-a").mkdir()
    async with welcomed((160, 40), tmp_path) as (app, pilot):
        await pilot.press("pagedown", "pagedown", "enter", "enter")
        await pilot.pause()
        unreadable = app._error_text.replace(str(tmp_path), "<tmp>")
        assert unreadable.partition(": ")[2][:24] in text(app)
        assert [*told, unreadable] == snapshot


@pytest.mark.slow
def test_nothing_of_the_model_is_read_for_it():
    code = "import sys, tui.welcome\nprint([m for m in sys.modules if m.startswith(('cluster_model', 'playbooks'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
