import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.cells import cell_len

from cluster_model.observation.views import ReplicaView
from docs.generate import screenshots
from docs.generate.command_pages import tui_keys_page
from docs.generate.screenshots import SHOTS, SIZE, STORY, WELCOME, AnimationFrame, beats, draw, take, welcome
from tests.support.breadth import EVENING
from tests.tui.test_paint import LOOKS
from tui.keybindings import keymap, scopes
from tui.terminal import glyphs
from tui.viewmodel import partition_matrix

ROOT = Path(__file__).resolve().parents[2]
MEDIA = ROOT / "docs" / "media"
MANUAL = (ROOT / "docs" / "run" / "tui.md").read_text(encoding="utf-8")
KEYS = ROOT / "docs" / "reference" / "tui-keys.md"


def test_the_manual_has_the_keys_that_the_program_has():
    """Made by ``python -m docs.generate tui-keys > docs/reference/tui-keys.md``."""
    text = KEYS.read_text(encoding="utf-8")
    assert text == tui_keys_page()
    assert scopes.manual() in text


def test_the_manual_explains_every_replica_glyph_in_both_sets():
    for glyph, _role in partition_matrix.STATUS.values():
        assert f"`{glyph}" in MANUAL
        assert f"`{glyphs.ASCII[glyph]}" in MANUAL


def test_every_status_of_a_replica_has_a_glyph():
    statuses = ReplicaView.__annotations__["status"].__args__
    assert set(partition_matrix.STATUS) == set(statuses)
    for _glyph, role in partition_matrix.STATUS.values():
        LOOKS["colour"].style(role)


def pictures():
    """Every picture that a page names, as its path, with the page."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))):
        for name in re.findall(r"\]\(([^)\s]+\.(?:svg|png|gif|webp))\)", page.read_text(encoding="utf-8")):
            yield page, (page.parent / name).resolve()


def test_no_page_names_a_picture_that_is_not_there_and_every_picture_is_on_a_page():
    named = {path for _page, path in pictures()}
    assert [str(path) for _page, path in pictures() if not path.exists()] == []
    assert {path.name for path in MEDIA.iterdir()} == {path.name for path in named}


def test_the_pictures_that_there_are_are_those_that_are_made():
    made = {*(shot.name for shot in SHOTS), WELCOME, STORY}
    assert {path.stem for path in MEDIA.iterdir()} == made


def test_no_picture_needs_or_reports_anything_from_outside():
    for path in MEDIA.iterdir():
        text = path.read_text(encoding="utf-8")
        assert path.stat().st_size < 400_000, path
        assert re.findall(r"https?://[^\s\"'<]+", text) == ["http://www.w3.org/2000/svg"], path
        assert "font-face" not in text, path
        assert str(ROOT) not in text, path


def test_no_two_keys_do_different_things_and_ids_are_unique():
    keys = [name for key in keymap.KEYS for name in key.keys.split(",")]
    assert len(keys) == len(set(keys))
    assert len({key.id for key in keymap.KEYS}) == len(keymap.KEYS)


def committed(name):
    return (MEDIA / f"{name}.svg").read_text(encoding="utf-8")


LOSS = [each for each in SHOTS if each.play.__name__ in ("lost", "log", "timeline", "clients", "report", "compare")]
"""Pictures that begin with the same loss of records; the last one goes on from there."""


@pytest.mark.slow
async def test_pictures_of_one_loss_are_as_they_were_committed(monkeypatch):
    """The session is played once, in few long frames, and every picture is taken of it."""

    async def again(stage):
        stage.select_lost()
        stage.app.main.action_fork()

    monkeypatch.setattr(screenshots, "FRAME_S", 1 / 4)
    async with screenshots.staged((120, 40)) as stage:
        await screenshots.lost(stage)
        monkeypatch.setattr(screenshots, "lost", again)
        for shot in LOSS:
            stage.app.main.action_mode("cluster")
            await stage._pilot.resize_terminal(*shot.size)
            await stage.pause()
            await (again if shot.play.__name__ == "lost" else shot.play)(stage)
            await stage.settled()
            drawn = screenshots.standalone(stage.app.export_screenshot(title="floodmark"))
            assert drawn == committed(shot.name), shot.name
    assert "†" in committed(LOSS[0].name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shot", [each for each in SHOTS if EVENING or not (each.recorded or each in LOSS)], ids=lambda shot: shot.name
)
async def test_every_picture_is_as_it_was_committed(shot, monkeypatch):
    """Made by ``python -m docs.generate pictures docs/media``.

    What is asked about a recording takes minutes: for an evening.
    """
    if not EVENING:
        monkeypatch.setattr(screenshots, "FRAME_S", 1 / 4)
    assert await take(shot) == committed(shot.name)


@pytest.mark.slow
async def test_the_welcome_page_is_as_it_was_committed():
    assert await welcome() == committed(WELCOME)


def test_the_autopsy_says_what_would_have_saved_the_records(snapshot):
    drawn = (MEDIA / "autopsy.svg").read_text(encoding="utf-8").replace("&#160;", " ")
    texts = [text.strip() for text in re.findall(r">([^<>]+)<", drawn)]
    assert [text for text in texts if "acks=all:" in text or "no return" in text] == snapshot


@pytest.mark.slow
async def test_the_story_goes_from_a_healthy_cluster_to_the_autopsy_of_a_loss(snapshot):
    told = await beats()
    texts = ["\n".join("".join(run[0] for run in line) for line in beat.lines) for beat in told]
    assert "missing 0" in texts[0] or "miss 0" in texts[0]
    assert [line.strip("╭─╮ ") for line in texts[2].split("\n") if " on b1 " in line] == snapshot
    assert "✕ b1" in texts[3]
    assert "†" in texts[4]
    assert "leader" in texts[5]
    assert "Autopsy" in texts[-1]
    assert "lost" in texts[-1]
    assert all(sum(cell_len(run[0]) for run in line) == SIZE[0] for beat in told for line in beat.lines)
    assert draw(told) == committed(STORY)


def test_a_moving_picture_shows_each_screen_in_its_time_and_common_lines_once():
    line, other = (("same", "#FFFFFF", "#10151C", False),), (("a < b", "#FF0000", "#000000", True),)
    picture = draw([AnimationFrame("one", 1, (line, line)), AnimationFrame("two & more", 3, (line, other))])
    tree = ElementTree.fromstring(picture)
    assert picture.count(">same<") == 1
    assert picture.count("<use ") == 4
    assert "a &lt; b" in picture
    assert "two &amp; more" in picture
    assert tree.tag.endswith("svg")
    assert "@keyframes k0{0.000%{visibility:visible}25.000%{visibility:hidden}}" in picture
    assert "@keyframes k1{0%{visibility:hidden}25.000%{visibility:visible}}" in picture
    moves = [each.split() for each in re.findall(r"animation:([^;}]+)", picture)]
    assert ["k1", "4s", "step-end", "infinite"] in moves
    assert "prefers-reduced-motion" in picture
