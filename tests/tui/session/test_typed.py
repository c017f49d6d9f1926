"""Typed commands: what they stand for, what is told of wrong ones, what completes them, and the line on the screen."""

import re
from pathlib import Path

import pytest

from faults.catalogue import CATALOGUE
from faults.declarations.fault import Action
from faults.declarations.operation import OPERATIONS
from playbooks.parser.steps.timed_steps import facts_of
from tests.tui import fake_views
from tests.tui.driving import driving, trimmed
from tui.keybindings.keymap import KEYS
from tui.screens.command_line import CommandScreen
from tui.screens.help import HelpScreen
from tui.session.typed_commands import (
    ActionCommand,
    CommandContext,
    JumpCommand,
    KeyCommand,
    PlayCommand,
    ShowCommand,
    Speed,
    TypedError,
    completed,
    facts_now,
    hints,
    read_line,
)

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
PLACE = CommandContext(
    facts_of(fake_views.playbook().spec), ("checkout", "clicks", "billing/0"), lambda target: target == "broker(3)",
    "broker(2)", 0, 60_000_000,
)  # fmt: skip


def actions(text):
    found = read_line(text, PLACE)
    assert isinstance(found, ActionCommand)
    return found.actions


@pytest.mark.parametrize(
    ("text", "action"),
    [
        (":gc_pause b3 8s", Action("inject", "gc_pause", "broker(3)", for_us=8_000_000)),
        ("gc-pause b3 for 8s", Action("inject", "gc_pause", "broker(3)", for_us=8_000_000)),
        ("crash leader(orders-0)", Action("inject", "crash", "leader(orders-0)")),
        ("crash", Action("inject", "crash", "broker(2)")),
        ("crash 5s", Action("inject", "crash", "broker(2)", for_us=5_000_000)),
        ("crash checkout", Action("inject", "crash", "client(checkout)")),
        ("crash c1001", Action("inject", "crash", "controller(1001)")),
        ("lag b1 latency=300ms 10s", Action("inject", "lag", "broker(1)", {"latency": 300_000}, 10_000_000)),
        ("lag latency=300ms", Action("inject", "lag", "broker(2)", {"latency": 300_000})),
        ("restart b3", Action("inject", "restart", "broker(3)")),
        ("restart b1", Action("inject", "bounce", "broker(1)")),
        ("heal all", Action("heal", "all")),
        ("heal 2", Action("heal", "2")),
        ("heal crash", Action("heal", "crash")),
        (
            "elect_leaders orders-0 unclean=true",
            Action("admin", "elect_leaders", "", {"partition": "orders-0", "unclean": True}),
        ),
        ("shutdown b2", Action("admin", "shutdown", "", {"broker": 2})),
    ],
)  # fmt: skip
def test_typed_lines_become_playbook_actions(text, action):
    assert actions(text) == (action,)


def test_semicolons_separate_commands():
    assert [each.name for each in actions("crash b1; lag b2 5s; heal all")] == ["crash", "lag", "all"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("go 12.5s", JumpCommand(12_500_000)),
        ("go 00:12.5", JumpCommand(12_500_000)),
        ("speed 10", Speed(10)),
        ("speed x0.5", Speed(0.5)),
        ("play", PlayCommand()),
        ("quit", KeyCommand("quit")),
        ("heal", KeyCommand("heal")),
        (":mode_clients", KeyCommand("mode_clients")),
        (":timeline", KeyCommand("mode_timeline")),
        (":groups", KeyCommand("mode_clients")),
        (":q!", KeyCommand("quit")),
        (":orders", ShowCommand("topic", "orders")),
        (":orders-0", ShowCommand("partition", "orders-0")),
        (":b2", ShowCommand("broker", "2")),
        (":billing", ShowCommand("client", "billing")),
    ],
)
def test_other_commands(text, found):
    assert read_line(text, PLACE) == found


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "",
        "crsh b1",
        "crash b9",
        "crash nobody",
        "lag b1 latancy=3s",
        "lag b1 latency=30",
        "crash (b1",
        "crash b1 at=",
        "after 3s crash b1",
        "crash b1; after 3s crash broker(2)",
        "crash b1;",
        "go 2m",
        "go",
        "speed",
        "speed 5000",
        "speed ٣",
        "quit now",
        "play on",
        "crash \x1b[0m",
        "x" * 3_000,
    ],
    ids=lambda text: ascii(text[:40]),
)
def test_typed_errors_are_one_line(text, snapshot):
    with pytest.raises(TypedError) as caught:
        read_line(text, PLACE)
    assert "\n" not in str(caught.value)
    assert str(caught.value) == snapshot


def test_a_topic_that_was_created_since_can_be_spoken_of():
    fresh = fake_views.partition("fresh-0")
    facts = facts_now(PLACE.facts, fake_views.view(partitions=(fresh,)))
    assert facts.wrong_partition("fresh-0") == ""
    assert "fresh-0 " in facts.wrong_partition("fresh-1").replace("'", " ") or facts.wrong_partition("fresh-1")
    assert PLACE.facts.wrong_partition("fresh-0") != ""


def test_no_action_of_a_key_is_called_like_a_fault_or_an_operation():
    taken = {*CATALOGUE, *OPERATIONS, "go", "speed", "play"}
    assert [key.id for key in KEYS if key.id in taken] == []


# -- completing ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gc_", ("gc_pause",)),
        ("elect", ("elect_leaders",)),
        ("crash b", ("b1", "b2", "b3")),
        ("crash leader(orders-1", ("leader(orders-1)",)),
        ("crash c", ("controller", "clients", "consumers")),
        ("crash b1 ", ("torn=", "for")),
        ("lag b1 la", ("latency=",)),
        ("elect_leaders orders-3", ("orders-3",)),
        ("elect_leaders orders-3 u", ("unclean=",)),
        ("elect_leaders orders-3 unclean=t", ("unclean=true",)),
        ("heal ", ("all", "1", "2", "3", "crash", "gc_pause", "lag")),
        ("crash b1; heal a", ("all",)),
        ("quit", ("quit",)),
        ("nothing b", ()),
    ],
)
def test_hints_come_from_the_registry_and_the_cluster(text, words):
    view = fake_views.view(faults=fake_views.troubled().faults)
    found = hints(text, view).words
    assert found == words


def test_hints_explain_the_typed_command(snapshot):
    view = fake_views.view()
    assert hints("gc_pause b1", view).about == CATALOGUE["gc_pause"].summary
    assert [hints(typed, view).about for typed in ("lag b1 latency=", "lag b1 nothing=", "go 1", "quit")] == snapshot


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("gc_", "gc_pause "),
        (":gc_", ":gc_pause "),
        ("lag b1 lat", "lag b1 latency="),
        ("crash leader(o", "crash leader(orders-"),
        ("crash b1;heal", "crash b1;heal "),
        ("zzz", "zzz"),
        ("crash b", "crash b"),
    ],
)
def test_tab_completes_as_far_as_only_one_thing_can_be_meant(text, after):
    assert completed(text, fake_views.view()) == after


def test_every_fault_and_operation_can_be_completed_and_explained():
    view = fake_views.view()
    for name, declared in {**CATALOGUE, **OPERATIONS}.items():
        assert name in hints(name, view).words
        assert hints(f"{name} ", view).about == declared.summary
        for param in declared.params:
            assert param.doc in hints(f"{name} {param.name}=", view).about


# -- the screen ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_the_line_of_commands(golden):
    async with driving(session=fake_views.session()) as driver:
        await driver.press("colon", *"crash b9", "enter")
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"command-{size}")


@pytest.mark.slow
async def test_a_line_is_done_a_wrong_one_is_kept_and_earlier_ones_come_back(snapshot):
    async with driving((80, 24)) as driver:
        await driver.seconds(1)
        await driver.press("colon", *"gc_", "tab", *"b9 8s", "enter")
        assert isinstance(driver.app.screen, CommandScreen)
        assert driver.shown("#command-page")[0] == snapshot
        assert ":gc_pause b9 8s" in driver.text()
        await driver.press(*["backspace"] * 4, *"2 8s", "enter")
        assert not isinstance(driver.app.screen, CommandScreen)
        assert [(each.name, each.target) for each in driver.session_controller.view.faults] == [
            ("gc_pause", "broker 2")
        ]
        await driver.press("colon", *"speed 5", "enter", "colon", "up")
        assert driver.session_controller.speed == 5
        assert ":speed 5" in driver.text()
        await driver.press(*["backspace"] * 7, *"heal 7", "enter")
        assert isinstance(driver.app.screen, CommandScreen)
        assert driver.shown("#command-page")[0] == snapshot
        await driver.press("backspace", "1", "enter")
        assert driver.session_controller.view.faults == ()
        await driver.press("colon", *"help", "enter")
        assert isinstance(driver.app.screen, HelpScreen)
        await driver.press("escape", "c", "colon", *"go 0s", "enter")
        assert driver.session_controller.session.in_past
        assert driver.session_controller.session.cluster.now_us == 0
        await driver.press("colon", "escape", "colon", *"quit", "enter")
    assert driver.app.return_code == 0


async def test_a_name_shows_what_it_names():
    async with driving() as driver:
        await driver.seconds(1)
        for name in ("orders-1", "b2"):
            await driver.press("colon", *name, "enter")
        assert driver.main.partition.name == "orders-1"
        assert driver.main.broker_under_cursor == 2
        await driver.press("colon", *"payments", "enter")
        assert driver.main.filter_words == "payments"
        await driver.press("colon", *"billing", "enter")
        assert driver.app.screen.MODE == "clients"
        assert driver.app.screen.position.name == "billing"
        await driver.press("colon", *"orders-99", "enter")
        assert isinstance(driver.app.screen, CommandScreen)


def test_the_examples_of_the_manual_can_be_typed():
    page = Path(__file__).parents[3] / "docs" / "run" / "tui.md"
    section = page.read_text(encoding="utf-8").partition("## Type a command")[2].partition("\n## ")[0]
    examples = [*section.split("```")[1].strip().splitlines(), *re.findall(r"`:(\S+)`", section)]
    views = re.search(r"name of a view opens it \((.*?)\)", section, re.DOTALL)[1]
    opened = [read_line(name, PLACE) for name in re.findall(r"`(\w+)`", views)]
    assert len(examples) >= 10
    assert [type(read_line(each, PLACE)).__name__ for each in examples].count("ShowCommand") == 4
    assert {type(each) for each in opened} == {KeyCommand}
