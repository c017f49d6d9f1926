"""Tooltips: exact numbers of what is pointed at, from what the screen shows."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets._tooltip import Tooltip

from cluster_model.observation.inflight_fetches import InflightFetch
from faults.declarations.fault import Action
from tests.tui import fake_views
from tests.tui.driving import Driver, driving
from tests.tui.fake_views import log, partition, replica, troubled, view
from tui.app import FloodmarkApp
from tui.session.session_controller import SessionController
from tui.terminal.frame_clock import StepClock
from tui.viewmodel.timeline.timeline_rows import LABEL, TIME
from tui.widgets import tooltips
from tui.widgets.matrix import lead

SECOND = 1_000_000


def told(home, broker, cluster, *fetching):
    node = next(each for each in cluster.brokers if each.id == broker)
    return tooltips.replica_tip(home, node, cluster, fetching).split("\n")


def test_a_follower_reports_its_ends_the_leaders_its_epoch_and_its_fetch(snapshot):
    follower = replica(2, leo=136, hw=131, behind=3, epochs=((0, 0), (5, 104)))
    home = partition(replicas=(replica(1, "leader", leo=139), follower, replica(3)))
    wire = InflightFetch(2, 1, "waits", offset=136, sent_us=53_408_000)
    assert told(home, 2, view(), wire) == snapshot


def test_tooltips_describe_unhealthy_replicas(snapshot):
    cluster = troubled()
    sick, cut = cluster.partitions[1:]
    split = replace(sick, leaders=(1, 2))
    nowhere = replace(sick, replicas=sick.replicas[1:], assignment=(2, 3))
    assert {
        "down": told(sick, 1, cluster),
        "leads": told(sick, 2, cluster),
        "truncating": told(cut, 1, cluster),
        "diverged": told(cut, 2, cluster),
        "second leader": told(split, 1, cluster),
        "no replica": told(nowhere, 1, cluster),
    } == snapshot


def test_partitions_and_brokers_are_reported_exactly(snapshot):
    cluster = troubled()
    stale = replace(cluster.brokers[2], stale=4)
    tips = {
        "under min ISR": tooltips.partition_tip(cluster.partitions[1], cluster.groups),
        "offline": tooltips.partition_tip(cluster.partitions[2], ()),
        "down": tooltips.broker_tip(cluster.brokers[0], cluster),
        "stale": tooltips.broker_tip(stale, cluster),
    }
    assert {name: tip.split("\n") for name, tip in tips.items()} == snapshot


@pytest.mark.parametrize(("broker", "offset"), [(2, 110), (2, 138), (3, 92), (3, 137), (1, 122), (1, 125)])
def test_a_cell_of_a_log_reports_its_record_and_who_has_it(broker, offset, snapshot):
    assert tooltips.offsets_tip(log(), broker, offset).split("\n") == snapshot


def test_a_cell_of_many_offsets_reports_how_many_of_them_are_what(snapshot):
    assert [tooltips.offsets_tip(log(), 1, 120, 10), tooltips.offsets_tip(log(), 3, 140, 10)] == snapshot


@given(st.integers(80, 160), st.sampled_from([1, 2, 3, 9]), st.sampled_from([1, 2, 10, 50]))
def test_every_cell_can_be_reported(offset, broker, count):
    words = tooltips.offsets_tip(log(), broker, offset, count)
    assert (not words) == (broker == 9)


def test_clients_are_reported_by_name(snapshot):
    cluster = view()
    member = replace(cluster.groups[0], assignment=(("billing/0", ("orders-0",)), ("billing/1", ())))
    told = {name: tooltips.client_tip(name, cluster) for name in ("clicks", "billing")}
    told |= {name: tooltips.client_tip(name, view(groups=(member,))) for name in ("billing/0", "billing/1")}
    assert {name: tip.split("\n") for name, tip in told.items()} == snapshot
    assert tooltips.client_tip("nobody", cluster) == ""


# -- the screen ------------------------------------------------------------------------------------------------------


def small():
    return fake_views.session(orders=2, payments=1)


def tip(widget):
    return "" if widget.tooltip is None else str(widget.tooltip)


def replica_told(driver, broker):
    """The first line about a replica of the first partition, as it is now."""
    cluster = driver.session_controller.view
    node = next(each for each in cluster.brokers if each.id == broker)
    return tooltips.replica_tip(cluster.partitions[0], node, cluster).split("\n")[0]


def offsets_told(driver, spot):
    """What is told of a cell of a log."""
    cut = driver.session_controller.session.cluster.log_view(spot.partition, spot.offset, spot.offset + spot.offsets)
    return tooltips.offsets_tip(cut, spot.broker, spot.offset, spot.offsets)


async def hovered(driver, widget, x, y):
    await driver.pilot.hover(widget, offset=(x, y))
    await driver.settle()
    return tip(widget)


@pytest.mark.slow
async def test_the_matrix_reports_heads_rows_and_cells_and_continues_telling():
    async with driving(session=small()) as driver:
        await driver.seconds(2)
        matrix, view_then = driver.main.matrix, driver.session_controller.view
        columns = matrix.rows[0].columns
        at = lead(columns) + columns.broker
        assert await hovered(driver, matrix, at, 0) == tooltips.broker_tip(view_then.brokers[1], view_then)
        home = tooltips.partition_tip(view_then.partitions[0], view_then.groups)
        assert await hovered(driver, matrix, 4, 1) == home
        words = await hovered(driver, matrix, at, 1)
        held = next(each for each in view_then.partitions[0].replicas if each.broker == 2)
        assert words.startswith(replica_told(driver, 2))
        assert str(held.leo) in words.replace(",", "").split()
        await driver.seconds(1)
        later = next(each for each in driver.session_controller.view.partitions[0].replicas if each.broker == 2)
        assert later.leo > held.leo
        assert tip(matrix).startswith(replica_told(driver, 2))
        assert str(later.leo) in tip(matrix).replace(",", "").split()
        assert not await hovered(driver, driver.main.feed, 2, 1)
        assert not tip(matrix), "the pointer has left it"


@pytest.mark.slow
async def test_clients_faults_logs_and_the_control_plane_are_reported(snapshot):
    async with driving((200, 60), session=small()) as driver:
        await driver.seconds(2)
        driver.session_controller.act(Action("inject", "lag", "broker(2)"))
        await driver.frames(1)
        main, cluster = driver.main, driver.session_controller.view
        assert await hovered(driver, main.clients, 4, 1) == tooltips.client_tip("checkout", cluster)
        assert not await hovered(driver, main.faults, 3, 0)
        heals = await hovered(driver, main.faults, main.faults.size.width - 2, 0)
        active = await hovered(driver, main.control, 3, 0)
        assert active == tooltips.client_tip("controller 1001", cluster)
        assert [heals, active] == snapshot
        spot = main.lanes.spot(13 + 8, 1)
        assert spot.offset >= 0
        assert await hovered(driver, main.lanes, 13 + 8, 1) == offsets_told(driver, spot)
        assert (await hovered(driver, main.timeline, LABEL + 5, 3)).endswith(" of 00:02.062")


@pytest.mark.slow
async def test_the_modes_show_as_well(snapshot):
    async with driving(session=small()) as driver:
        await driver.seconds(2)
        driver.session_controller.act(Action("inject", "crash", "broker(1)"))
        await driver.seconds(1)
        await driver.press("2", "g")
        scope = driver.app.screen.microscope
        for first, count in ((4, 1), (20, 5)):
            spot = scope.spot(20 + 4, 1)
            assert (spot.offset, spot.offsets) == (first, count)
            assert await hovered(driver, scope, 20 + 4, 1) == offsets_told(driver, spot)
            await driver.press("plus", "plus")
        await driver.press("3")
        assert await hovered(driver, driver.app.screen._table, 4, 1) == tooltips.client_tip(
            "checkout", driver.session_controller.view
        )
        await driver.press("4")
        screen = driver.app.screen
        window = screen.shown().window
        words = await hovered(driver, screen.lanes, LABEL + window.column(2 * SECOND), 0)
        assert words.split("\n") == snapshot
        line = next(at for at, row in enumerate(screen.lanes.rows) if row.lane == TIME)
        there = f"00:{10 * window.unit_us / 1e6:06.3f} of 00:03.000"
        assert await hovered(driver, screen.lanes, LABEL + 10, line) == there


@pytest.mark.slow
async def test_a_tooltip_is_shown_when_the_pointer_rests_and_in_ascii_too(monkeypatch):
    monkeypatch.setattr(FloodmarkApp, "TOOLTIP_DELAY", 0.01)
    session_controller = SessionController(small(), StepClock())
    app = FloodmarkApp(session_controller, playbook="sandbox", seed=7, glyphs="ascii")
    async with app.run_test(size=(120, 40), tooltips=True) as pilot:
        driver = Driver(pilot, app, session_controller.clock)
        await driver.seconds(1)
        assert await hovered(driver, driver.main.matrix, lead(driver.main.matrix.rows[0].columns), 1)
        tooltip = app.screen.get_child_by_type(Tooltip)
        await driver.until(lambda: tooltip.display)
        await pilot.pause()
        assert replica_told(driver, 1)[:16] in driver.text()
        assert driver.text().isascii()


@pytest.mark.slow
def test_a_tooltip_comes_after_half_a_second():
    assert FloodmarkApp.TOOLTIP_DELAY == 0.5
