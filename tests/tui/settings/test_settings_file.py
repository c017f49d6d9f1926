"""The user's file: what it may say, what is told where it is wrong, and that writing never damages it."""

import re
import tomllib

import pytest
from textual.keys import _character_to_key

from tui.cli.reference.catalogue import example
from tui.keybindings import keymap
from tui.keybindings.scopes import all_keys, remapped, without_conflicts
from tui.settings.schema import OPTIONS, Settings
from tui.settings.settings_file import SettingsWriteError, changed, config_path, read_settings, write


def read(tmp_path, text):
    path = tmp_path / "config.toml"
    path.write_text(text)
    found = read_settings(path)
    return found.settings, [each.removeprefix(f"{path}") for each in found.problems]


# -- where --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({"HOME": "/h"}, "/h/.config/floodmark/config.toml"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/floodmark/config.toml"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "relative"}, "/h/.config/floodmark/config.toml"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/x", "FLOODMARK_CONFIG": "/f.toml"}, "/f.toml"),
    ],
)
def test_the_file_is_where_the_base_directories_have_it(environ, path):
    assert str(config_path(environ)) == path


# -- reading ------------------------------------------------------------------------------------------------------


def test_without_a_file_everything_is_at_its_default(tmp_path):
    found = read_settings(tmp_path / "none" / "config.toml")
    assert (found.settings, found.problems, found.exists) == (Settings(), (), False)


def test_settings_of_the_file_are_effective(tmp_path):
    text = '[screen]\ntheme = "light"\nspeed = 5\nautopause = true\n'
    text += '[keys]\npause = ["p", "F5"]\npeek = "ctrl+g"\ngoto = "#"\n'
    settings, problems = read(tmp_path, text)
    assert problems == []
    assert settings == Settings(
        "light", "auto", 5.0, True, {"pause": ("p", "f5"), "peek": ("ctrl+g",), "goto": ("number_sign",)}
    )


@pytest.mark.parametrize(
    "text",
    [
        '[screen]\n\ntheme = "lihgt"',
        "[screen]\nspeed = true",
        "[screen]\nspeed = 0",
        "[screen]\nspeed = nan",
        "[screen]\nfps = 30",
        "[screen]\nautopause = 1",
        "[screen]\nglyphs = [1]",
        "[screen]\nteme = 1",
        "screen = 1",
        "[key]\npause = 1",
        '[keys]\npaus = "p"',
        '[keys]\npause = "alt+x"',
        '[keys]\npause = "Escape"',
        '[keys]\npause = ["p", "ctrl+m"]',
        "[keys]\npause = []",
        '[keys]\nheal = "x"\npause = "f"',
        "theme = ",
    ],
)
def test_an_invalid_setting_is_one_line_and_the_others_are_effective(tmp_path, text, snapshot):
    settings, problems = read(tmp_path, text)
    (problem,) = problems
    assert "\n" not in problem
    assert problem == snapshot
    assert settings == Settings(keys={"heal": ("x",)} if "heal" in text else {})


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"#" * ((1 << 20) + 1)], ids=["no text", "too long"])
def test_settings_files_that_are_not_text_are_reported(tmp_path, raw, snapshot):
    path = tmp_path / "config.toml"
    path.write_bytes(raw)
    (problem,) = read_settings(path).problems
    assert problem.removeprefix(f"{path}") == snapshot


def test_a_directory_in_its_place_is_reported(tmp_path, snapshot):
    (problem,) = read_settings(tmp_path).problems
    assert problem.removeprefix(f"{tmp_path}") == snapshot


def test_the_example_says_nothing_and_with_its_comments_taken_off_all_defaults(tmp_path):
    assert read(tmp_path, example()) == (Settings(), [])
    settings, problems = read(tmp_path, re.sub(r"(?m)^# (\w+ = )", r"\1", example()))
    assert problems == []
    assert settings == Settings(keys={key.id: tuple(key.keys.split(",")) for key in all_keys()})


# -- keys ---------------------------------------------------------------------------------------------------------


def test_characters_are_called_as_the_terminal_library_calls_them():
    for number in range(33, 127):
        assert keymap.of_character(chr(number)) == _character_to_key(chr(number))
        assert keymap.key_named(chr(number)) == _character_to_key(chr(number))


def test_the_screen_writes_keys_as_the_key_map_does():
    assert [keymap.shown(key.keys) for key in all_keys()] == [key.shown for key in all_keys()]


def test_two_actions_can_change_places():
    wanted = {"pause": ("f",), "fault": ("space",)}
    assert without_conflicts(wanted) == (wanted, [])
    shown = {key.id: key.shown for key in remapped(wanted)}
    assert (shown["pause"], shown["fault"], shown["heal"]) == ("f", "space", "H")


def test_giving_a_key_back_can_bring_the_next_conflict_and_in_the_end_there_is_none():
    """Pause wants the key of fault, which stays there because what fault wants is taken; heal wants that of pause."""
    kept, told = without_conflicts({"fault": ("a",), "pause": ("f",), "heal": ("space",)})
    assert kept == {}
    assert [(each.id, each.key, each.other) for each in told] == [
        ("fault", "a", "admin"),
        ("pause", "f", "fault"),
        ("heal", "space", "pause"),
    ]


# -- writing ------------------------------------------------------------------------------------------------------

FILE = """# mine
[keys]  # few
pause = "p"
colour = "kept, though nobody knows it"

[screen] # see below
theme = "dark"   # "light" hurts
# speed = 2

[other]
theme = "dark"
"""


def test_only_the_value_changes():
    after = changed(FILE, {"theme": "light"})
    assert after == FILE.replace('theme = "dark"   #', 'theme = "light"   #', 1)


def test_new_values_are_appended_to_their_table():
    after = changed(FILE, {"speed": 5.0, "autopause": True})
    assert after.replace("autopause = true\nspeed = 5\n", "").replace("speed = 5\nautopause = true\n", "") == FILE
    assert tomllib.loads(after)["screen"] == {"theme": "dark", "speed": 5, "autopause": True}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[screen]\ntheme = "light"\n'),
        ("# mine", '# mine\n\n[screen]\ntheme = "light"\n'),
        ("[screen]", '[screen]\ntheme = "light"\n'),
        ("[screen]\r\nspeed = 2\r\n", '[screen]\r\nspeed = 2\r\ntheme = "light"\r\n'),
        ('screen.theme = "dark"\n', 'screen.theme = "light"\n'),
        ("[screen]\n'theme' = 'dark'# mine\n", "[screen]\n'theme' = \"light\"# mine\n"),
        ('screen = {theme = "dark"} # mine\n', 'screen = {theme = "light"} # mine\n'),
        ('[screen]\ntheme = """\ndark"""\n', '[screen]\ntheme = "light"\n'),
        ("[screen]\nspeed = 2\n\n# keys\n[keys]\n", '[screen]\nspeed = 2\ntheme = "light"\n\n# keys\n[keys]\n'),
        ("[screen]\n# none yet\n", '[screen]\ntheme = "light"\n# none yet\n'),
        ("[keys]\r\n", '[keys]\r\n\r\n[screen]\r\ntheme = "light"\r\n'),
    ],
)
def test_however_little_there_is_the_result_says_it(before, after):
    assert changed(before, {"theme": "light"}) == after


@pytest.mark.parametrize(
    "text",
    [
        "[screen.theme] # mine\ncolour = 1\n",
        "[screen]\ntheme = [ # mine\n]\n",
        "[screen]\nscreen.sub.x = 1",
        "x = " + "[" * 300 + "]" * 300,
        "x = [\n",
        "screen = 5\n",
    ],
    ids=["table", "list", "dotted", "deep", "no TOML", "no table"],
)
def test_settings_files_that_cannot_be_edited_are_left_unchanged(tmp_path, text, snapshot):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(SettingsWriteError) as caught:
        write(path, {"theme": "light"})
    assert str(caught.value).replace(str(tmp_path), "<tmp>") == snapshot
    assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_one_and_so_do_the_permissions(tmp_path):
    real, path = tmp_path / "dotfiles.toml", tmp_path / "a" / "config.toml"
    real.write_text(FILE)
    real.chmod(0o600)
    path.parent.mkdir()
    path.symlink_to(real)
    write(path, {"theme": "ansi"})
    assert path.is_symlink()
    assert 'theme = "ansi"' in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "dotfiles.toml"]


def test_a_folder_that_is_not_there_is_made_and_one_that_cannot_be_is_reported(tmp_path, snapshot):
    write(tmp_path / "new" / "config.toml", {"speed": 2.0})
    assert read_settings(tmp_path / "new" / "config.toml").settings.speed == 2
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsWriteError) as caught:
        write(tmp_path / "file" / "config.toml", {"speed": 2.0})
    assert str(caught.value).replace(str(tmp_path), "<tmp>") == snapshot


def test_every_option_takes_its_default():
    assert all(each.takes(each.default) and Settings().value(each.name) == each.default for each in OPTIONS)
