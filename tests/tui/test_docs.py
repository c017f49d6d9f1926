from pathlib import Path

from cluster_model.views import ReplicaView
from tests.tui.test_paint import LOOKS
from tui import glyphs, keymap
from tui.shots import SHOTS, take
from tui.viewmodel import matrix

ROOT = Path(__file__).resolve().parents[2]
MANUAL = (ROOT / "docs" / "tui.md").read_text(encoding="utf-8")


def test_the_manual_has_the_keys_that_the_program_has():
    assert keymap.manual() in MANUAL


def test_the_manual_explains_every_replica_glyph_in_both_sets():
    for glyph, _role in matrix.STATUS.values():
        assert f"`{glyph}" in MANUAL
        assert f"`{glyphs.ASCII[glyph]}" in MANUAL


def test_every_status_of_a_replica_has_a_glyph():
    statuses = ReplicaView.__annotations__["status"].__args__
    assert set(matrix.STATUS) == set(statuses)
    for _glyph, role in matrix.STATUS.values():
        LOOKS["colour"].style(role)


def test_the_pictures_of_the_manual_are_those_that_are_made():
    for shot in SHOTS:
        assert (ROOT / "docs" / "media" / f"{shot.name}.svg").exists()


def test_no_two_keys_do_different_things_and_ids_are_unique():
    keys = [name for key in keymap.KEYS for name in key.keys.split(",")]
    assert len(keys) == len(set(keys))
    assert len({key.id for key in keymap.KEYS}) == len(keymap.KEYS)


async def test_a_picture_is_the_same_every_time_and_needs_nothing_from_outside():
    first = await take(SHOTS[0])
    assert await take(SHOTS[0]) == first
    assert "†" in first
    assert "@font-face" not in first
    assert "Fira" not in first
    assert "https://" not in first
    assert first.count("http://") == 1  # the name of the SVG namespace
