"""Every key has an id and can be another one, in the place where it works and without touching the others."""

import pkgutil
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

import tui
from tests.tui import fake_views
from tests.tui.driving import Driver
from tui.app import FloodmarkApp
from tui.keybindings.keymap import KEYS
from tui.keybindings.scopes import (
    all_keys,
    hidden,
    keymap_of,
    keys_of,
    remapped,
    scope_of,
    scoped_id,
    scopes,
    without_conflicts,
)
from tui.screens.command_line import CommandScreen
from tui.screens.help import HelpScreen
from tui.screens.modes.timeline import TimelineScreen
from tui.screens.time_travel import BranchesScreen
from tui.session.session_controller import SessionController
from tui.settings.schema import Settings
from tui.settings.settings_file import read_settings
from tui.terminal.frame_clock import StepClock

MODES = [each for each in scopes() if each.kind == "mode"]


def own_nodes():
    """Every screen, widget and app of this program."""
    for module in pkgutil.walk_packages(tui.__path__, "tui."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    found, waiting = [], [DOMNode]
    while waiting:
        each = waiting.pop()
        waiting += each.__subclasses__()
        if each.__module__.startswith("tui."):
            found.append(each)
    return found


def test_every_binding_of_every_screen_and_widget_has_an_id_of_the_key_map():
    known = {key.id for key in all_keys()} | {
        scoped_id(scope.name, name) for scope in scopes() for name in scope.shared
    }
    bound = set()
    for node in own_nodes():
        for each in node.__dict__.get("BINDINGS", []):
            assert isinstance(each, Binding), (node, each)
            assert each.id in known, (node, each)
            bound.add(each.id)
    assert bound == known


def test_every_action_of_a_scope_is_one_of_the_screens_that_have_it():
    for node in own_nodes():
        for each in node.__dict__.get("BINDINGS", []):
            name = each.action.split("(")[0]
            if not name.startswith("app."):
                assert hasattr(node, f"action_{name}"), (node, each)


def test_ids_are_unique_and_no_scope_has_a_key_twice():
    assert len({key.id for key in all_keys()}) == len(all_keys())
    for scope in scopes():
        names = [name for key in scope.keys for name in key.keys.split(",")]
        assert len(names) == len(set(names)), scope.name


@pytest.mark.parametrize("scope", MODES, ids=lambda each: each.name)
def test_in_a_mode_every_key_does_one_thing(scope):
    keymap = keymap_of(remapped({"fault": ("v",), "branches": ("x", "z")}))
    ids = [*(key.id for key in scope.keys), *(scoped_id(scope.name, name) for name in scope.shared)]
    names = [name for each in ids for name in keymap[each].split(",") if name != "unbound"]
    assert len(names) == len(set(names))


def test_conflicts_are_those_of_one_scope():
    assert without_conflicts({"timeline_span": ("p",)}) == ({"timeline_span": ("p",)}, [])
    kept, told = without_conflicts({"timeline_span": ("e",)})
    assert kept == {}
    assert [(each.id, each.other) for each in told] == [("timeline_span", "timeline_export")]
    kept, told = without_conflicts({"palette": ("f5",), "autopsy_copy": ("f5",)})
    assert [each.id for each in told] == ["autopsy_copy"]
    assert kept == {"palette": ("f5",)}


def test_one_key_declared_twice_is_named_with_both_of_its_actions():
    twice = [replace(each, keys="q") if each.id == "pause" else each for each in all_keys()]
    with pytest.raises(ValueError, match=r"'q' .*(pause.*close|close.*pause)"):
        without_conflicts({"timeline_span": ("p",)}, twice)


def test_a_mode_that_hides_a_key_of_the_main_screen_is_reported_where_the_user_did_it(snapshot):
    assert hidden({}) == []
    ((changed, words),) = hidden({"timeline_span": ("f",)})
    assert changed == "timeline_span"
    (on_the_timeline,) = [text for name, text in hidden({"fault": ("v",)}) if name == "fault" and "_span" in text]
    assert [words, on_the_timeline] == snapshot


def read(folder, text):
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return read_settings(path)


def test_a_file_gives_keys_to_places_keeps_the_way_out_and_reports_what_is_hidden(tmp_path, snapshot):
    found = read(tmp_path, '[keys]\ntimeline_span = "f"\nrecord_out = "f4"\n')
    assert found.problems == ()
    assert found.settings.keys == {"timeline_span": ("f",), "record_out": ("f4", "escape")}
    assert [note.removeprefix(f"{tmp_path}/") for note in found.notes] == snapshot


@pytest.mark.parametrize("key", ["x", "7", " ", "/"])
def test_printable_keys_cannot_be_bound_in_text_fields(tmp_path, key, snapshot):
    found = read(tmp_path, f'[keys]\nform_queue = "{key}"\n')
    assert found.settings.keys == {}
    assert [problem.removeprefix(f"{tmp_path}/") for problem in found.problems] == snapshot
    assert read(tmp_path, '[keys]\nform_queue = "f5"\n').settings.keys == {"form_queue": ("f5",)}


@asynccontextmanager
async def with_keys(**wanted):
    clock = StepClock()
    session_controller = SessionController(fake_views.session(orders=2, payments=1), clock)
    app = FloodmarkApp(session_controller, playbook="sandbox", seed=7, settings=Settings(keys=wanted))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        driver = Driver(pilot, app, clock)
        await driver.seconds(1)
        yield driver


@pytest.mark.slow
async def test_a_key_of_one_mode_alone_is_the_users_there_and_nowhere_else():
    async with with_keys(timeline_span=("f",), timeline_lane_faults=("q",)) as driver:
        await driver.press("4", "f")
        assert isinstance(driver.app.screen, TimelineScreen)
        assert driver.app.screen.span is not None
        assert not driver.app.screen.sheet.has_focus
        assert " f span" in driver.text()
        assert "q faults" in driver.text()
        await driver.press("escape", "v")
        assert driver.app.screen.span is None, "the old key does nothing any more"
        await driver.press("q")
        assert "hidden" in driver.text()
        await driver.press("1", "f")
        assert driver.main.sheet.has_focus


@pytest.mark.slow
async def test_a_key_of_the_main_screen_does_not_take_one_from_a_mode(snapshot):
    async with with_keys(fault=("v",), branches=("x",)) as driver:
        await driver.press("v")
        assert driver.main.sheet.has_focus
        await driver.press("escape", "4", "v")
        assert driver.app.screen.span is not None
        await driver.press("escape", "5", "x")
        assert isinstance(driver.app.screen, BranchesScreen), "though the page has b for itself"
        await driver.press("escape", "b")
        assert driver.app.request is None
        assert driver.shown("#plays-said") == snapshot


@pytest.mark.slow
async def test_the_letters_of_a_sheet_can_be_others():
    async with with_keys(faults_crash=("1",)) as driver:
        await driver.press("f")
        assert " 1 " in driver.text()
        await driver.press("1")
        await driver.frames(1)
        assert [each.name for each in driver.session_controller.view.faults] == ["crash"]


@pytest.mark.slow
async def test_a_page_has_help_about_itself_and_the_line_of_commands(snapshot):
    async with with_keys(branch_compare=("x",)) as driver:
        await driver.press("b")
        assert driver.shown("#choice")[-1] == snapshot
        await driver.press("question_mark")
        assert isinstance(driver.app.screen, HelpScreen)
        page = driver.shown("#help")
        assert [page[0], *(line for line in page if line.startswith("x "))] == snapshot
        await driver.press("question_mark", "colon")
        assert isinstance(driver.app.screen, CommandScreen)


@pytest.mark.slow
async def test_the_glossary_finds_keys_too(snapshot):
    async with with_keys(timeline_span=("x",)) as driver:
        await driver.press("question_mark", "g", *"begin a span")
        assert driver.shown("#glossary-page") == snapshot


def test_keys_of_a_scope_are_its_own():
    assert keys_of("timeline", all_keys()) == scope_of("timeline").keys
    assert not {key.id for key in KEYS} & {key.id for scope in scopes() for key in scope.keys}
