"""What the palette offers beside faults and keys: five useful things, places, offsets, settings, playbooks, looks."""

import pytest

from faults.declarations.fault import Action
from tests.tui.driving import driving
from tests.tui.fake_views import session
from tui.palette import GoProvider, PlaybookProvider, SettingsProvider, UsefulProvider, ViewProvider, ViolationProvider
from tui.screens.cluster import MainScreen
from tui.screens.fault_forms import ValueForm
from tui.screens.modes.clients import ClientsScreen
from tui.screens.modes.log import LogScreen
from tui.settings.settings_file import read_settings
from tui.viewmodel.partition_history import Violation

pytestmark = pytest.mark.slow

SECOND = 1_000_000
SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}


async def found(driver, provider, query):
    """What it answers, the best first, as the palette gets it."""
    one = provider(driver.app.screen)
    return [hit async for hit in one.search(query)]


async def discovered(driver):
    return [hit async for hit in UsefulProvider(driver.app.screen).discover()]


async def chosen(driver, hits):
    hits[0].command()
    await driver.settle()


def text_of(hit):
    return str(hit.text)


async def test_a_partition_a_broker_and_a_client_are_gone_to_by_name():
    async with driving(session=session(orders=4, payments=2)) as driver:
        await driver.seconds(1)
        await chosen(driver, await found(driver, GoProvider, "payments-1"))
        row, column = driver.main.matrix.cursor
        partition = driver.session_controller.view.partitions[row]
        assert (partition.name, driver.session_controller.view.brokers[column].id) == ("payments-1", partition.leader)
        await chosen(driver, await found(driver, GoProvider, "go b2"))
        assert driver.session_controller.view.brokers[driver.main.matrix.cursor[1]].id == 2
        group = driver.session_controller.view.groups[-1].name
        await chosen(driver, await found(driver, GoProvider, group))
        assert isinstance(driver.app.screen, ClientsScreen)
        assert group in driver.text()
        await chosen(driver, await found(driver, GoProvider, "orders-0"))
        assert isinstance(driver.app.screen, MainScreen), "the palette works over a mode, too"


async def test_an_offset_is_shown_under_the_microscope_and_one_that_is_not_there_is_not_offered():
    async with driving(session=session(orders=2, payments=1)) as driver:
        await driver.seconds(2)
        partition = driver.session_controller.view.partitions[1]
        for query in (f"{partition.name} 5", f"go {partition.name} 5", f"go to {partition.name}:5"):
            await chosen(driver, await found(driver, GoProvider, query))
            await driver.settle()
            assert isinstance(driver.app.screen, LogScreen)
            assert driver.app.screen.partition.name == partition.name
            assert driver.app.screen.microscope.log_offset == 5
        hits = await found(driver, GoProvider, f"{partition.name} {partition.leo + 100}")
        assert not any("offset" in text_of(hit) for hit in hits)


async def test_palette_settings_show_values_and_open_a_validating_form(snapshot):
    async with driving(session=session(orders=1, payments=1)) as driver:
        await driver.seconds(1)
        hits = await found(driver, SettingsProvider, "min.insync.replicas")
        assert text_of(hits[0]).startswith("config ")
        orders = next(hit for hit in hits if text_of(hit) == "config orders min.insync.replicas = 2")
        orders.command()
        await driver.settle()
        form = driver.app.screen
        assert isinstance(form, ValueForm)
        said = [orders.help, driver.shown("#value")]
        await driver.press("backspace", "0")
        said.append(driver.shown("#value-page"))
        await driver.press("enter")
        assert driver.app.screen is form, "what it does not take is not let through"
        await driver.press("backspace", "1")
        said.append(driver.shown("#value-page"))
        await driver.press("enter")
        assert driver.app.screen is driver.main
        assert [*said, driver.toasts()[-1]] == snapshot
        await driver.seconds(1)
        hits = await found(driver, SettingsProvider, "min.insync.replicas")
        assert "config orders min.insync.replicas = 1" in [text_of(hit) for hit in hits]
        assert driver.session_controller.view.partitions[0].min_isr == 1


async def test_brokers_that_differ_are_reported_one_by_one_and_what_is_read_at_the_start_says_so(snapshot):
    async with driving(session=session(orders=1, payments=1)) as driver:
        await driver.seconds(1)
        segments = [text_of(hit) for hit in await found(driver, SettingsProvider, "config brokers log.segment.bytes")]
        assert segments[0] == "config brokers log.segment.bytes = 1073741824"
        change = {"broker": 2, "set": (("log.segment.bytes", 3_000),)}
        driver.session_controller.act(Action("admin", "alter_broker_config", "", change))
        await driver.seconds(1)
        hits = await found(driver, SettingsProvider, "config broker log.segment.bytes")
        two = next(hit for hit in hits if text_of(hit) == "config broker 2 log.segment.bytes = 3000")
        assert "config broker 1 log.segment.bytes = 1073741824" in [text_of(hit) for hit in hits]
        two.command()
        await driver.settle()
        assert "Broker 2: log.segment.bytes" in driver.text()
        await driver.press("escape")
        hits = await found(driver, SettingsProvider, "replica.lag.time.max.ms")
        await chosen(driver, hits)
        assert [hits[0].help, driver.toasts()[-1]] == snapshot


async def test_playbooks_are_started_by_name_and_those_by_hand_are_not_offered():
    async with driving(session=session(orders=1, payments=1)) as driver:
        hits = await found(driver, PlaybookProvider, "acks-1-lost-tail")
        assert text_of(hits[0]).startswith("playbook acks-1-lost-tail")
        assert hits[0].help
        assert not any("kip-101-loss" in text_of(hit) for hit in await found(driver, PlaybookProvider, "kip-101-loss"))
        await chosen(driver, hits)
        assert driver.app.request.text == "acks-1-lost-tail"


async def test_violations_are_gone_to(monkeypatch, snapshot):
    async with driving(session=session(orders=1, payments=1)) as driver:
        await driver.seconds(2)
        broken = Violation(SECOND, "HighWatermarkMonotonic", "orders-0", "it fell from 9 to 3")
        monkeypatch.setattr(type(driver.session_controller.chronicle), "violations", lambda *_: (broken,))
        hits = await found(driver, ViolationProvider, "violation")
        assert [text_of(hit) for hit in hits] == snapshot
        await chosen(driver, hits)
        assert driver.session_controller.view.now_us == SECOND


async def test_the_look_is_changed_by_name():
    async with driving() as driver:
        await chosen(driver, await found(driver, ViewProvider, "view theme light"))
        assert driver.app.appearance.theme == "light"
        await chosen(driver, await found(driver, ViewProvider, "view glyphs ascii"))
        assert (driver.app.appearance.glyphs, driver.app.appearance.theme) == ("ascii", "light")
        kept = read_settings().settings
        assert (kept.theme, kept.glyphs) == ("light", "ascii")


async def test_a_setting_of_the_screen_has_a_form_is_kept_at_once_and_undone(snapshot):
    async with driving() as driver:
        await chosen(driver, await found(driver, ViewProvider, "TUI setting speed"))
        said = [driver.shown("#value")]
        await driver.press("backspace", *"fast", "enter")
        said.append(driver.shown("#value-page"))
        await driver.press(*["backspace"] * 4, "5", "enter")
        assert driver.session_controller.speed == 5
        assert read_settings().settings.speed == 5
        await chosen(driver, await found(driver, ViewProvider, "TUI setting theme"))
        await driver.press("down")
        assert "light" in driver.text()
        await driver.press("enter")
        assert driver.app.appearance.theme == read_settings().settings.theme == "light"
        hits = await found(driver, ViewProvider, "undo TUI setting")
        said.append(text_of(hits[0]))
        await chosen(driver, hits)
        assert driver.app.appearance.theme == read_settings().settings.theme == "dark"
        await driver.press("S", "u")
        assert driver.session_controller.speed == read_settings().settings.speed == 1
        await driver.press("u")
        assert driver.app.screen._message[0] in driver.text()
        assert [*said, driver.app.screen._message[0]] == snapshot


@pytest.mark.parametrize("size", SIZES)
async def test_five_useful_things_are_shown_before_anything_is_typed(size, snapshot):
    async with driving(SIZES[size], session=session(orders=1, payments=1)) as driver:
        await driver.seconds(1)
        healthy = [text_of(hit) for hit in await discovered(driver)]
        await driver.press("f", "c")
        told = [text_of(hit) for hit in await discovered(driver)]
        assert (len(healthy), len(told)) == (5, 5)
        assert [healthy, told] == snapshot
        await driver.press("ctrl+p")
        await driver.until(lambda: f"1 {told[0]}" in driver.text())
        await driver.press("escape", "2")
        assert [text_of(hit) for hit in await discovered(driver)] == told
