"""Tooltips: exact numbers of what is pointed at, from what the screen shows."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets._tooltip import Tooltip

from cluster_model.observation.inflight_fetches import FetchWire
from faults.declarations.fault import Action
from tests.tui import fake_views
from tests.tui.driving import Driver, driving
from tests.tui.fake_views import log, partition, replica, troubled, view
from tui.app import FloodmarkApp
from tui.session.session_controller import SimBridge
from tui.terminal.frame_clock import StepClock
from tui.viewmodel.timeline.timeline_rows import LABEL, TIME
from tui.widgets import tooltips
from tui.widgets.matrix import lead

SECOND = 1_000_000
LOST = "acknowledged, and the leader does not have it"


def told(home, broker, cluster, *fetching):
    node = next(each for each in cluster.brokers if each.id == broker)
    return tooltips.replica_tip(home, node, cluster, fetching).split("\n")


def test_a_follower_tells_its_ends_the_leaders_its_epoch_and_its_fetch():
    follower = replica(2, leo=136, hw=131, behind=3, epochs=((0, 0), (5, 104)))
    home = partition(replicas=(replica(1, "leader", leo=139), follower, replica(3)))
    wire = FetchWire(2, 1, "waits", offset=136, sent_us=53_408_000)
    first, second = told(home, 2, view(), wire)
    assert first == "b2 orders-0: LEO 136, HW 131 (leader 98), epoch 5, in ISR, 3 behind"
    assert "fetch 136 waits" in second
    assert second.endswith("4ms")


def test_what_is_wrong_with_a_replica_is_told():
    cluster = troubled()
    sick, cut = cluster.partitions[1:]
    down = told(sick, 1, cluster)
    assert down[0].endswith("out of ISR, 30 ahead")
    assert down[1] == "its process is down: this is what its disk holds"
    assert told(sick, 2, cluster)[0] == "b2 orders-1: LEO 100, HW 98, epoch 3, leads"
    assert told(cut, 1, cluster)[0].endswith("cuts its log back")
    assert told(cut, 2, cluster)[0].endswith("holds other records than the leader")
    split = replace(sick, leaders=(1, 2))
    assert "takes itself to lead in epoch 3" in told(split, 1, cluster)[0]
    nowhere = replace(sick, replicas=sick.replicas[1:], assignment=(2, 3))
    assert told(nowhere, 1, cluster) == ["b1 keeps no replica of orders-1: b2, b3 do"]


def test_partitions_and_brokers_are_told_exactly():
    cluster = troubled()
    lines = tooltips.partition_tip(cluster.partitions[1], cluster.groups).split("\n")
    assert lines == [
        "orders-1: led by b2 in epoch 3, ISR b2 of b1, b2, b3, min.isr 2",
        "log from 0 to LEO 100, HW 98, slowest group 0 behind",
        "4 acknowledged records are not in the leader's log",
    ]
    assert "led by nobody" in tooltips.partition_tip(cluster.partitions[2], ())
    assert tooltips.broker_tip(cluster.brokers[0], cluster).split("\n") == [
        "b1 down, fenced, leads 0, keeps 3 replicas, 2 in ISR", "under crash",
    ]  # fmt: skip
    stale = replace(cluster.brokers[2], stale=4)
    assert "older than what is decided for 4 partitions" in tooltips.broker_tip(stale, cluster)


@pytest.mark.parametrize(
    ("broker", "offset", "words"),
    [
        (2, 110, "epoch 5, below its HW 134\nb3 has the same; b1 has another record"),
        (2, 138, "epoch 5, above its HW 134\nb3, b1 have none"),
        (3, 92, "its log begins at 95"),
        (3, 137, "its log ends at LEO 136"),
        (1, 122, "epoch 4, above its HW 121, differs from the leader's\nb2, b3 have another record"),
        (
            1,
            125,
            f"epoch 4, above its HW 121, {LOST}\nb2, b3 have another record",
        ),
    ],
)
def test_a_cell_of_a_log_tells_its_record_and_who_has_it(broker, offset, words):
    assert tooltips.offsets_tip(log(), broker, offset) == f"orders-3 offset {offset} on b{broker}: {words}"


def test_a_cell_of_many_offsets_tells_how_many_of_them_are_what():
    words = tooltips.offsets_tip(log(), 1, 120, 10)
    assert words.startswith("orders-3 offsets 120 to 129 on b1: 10 offsets written, epoch 4, 4 acknowledged and not")
    assert words.endswith("5 differ from the leader's")
    assert tooltips.offsets_tip(log(), 3, 140, 10).endswith("its log ends at LEO 136")


@given(st.integers(80, 160), st.sampled_from([1, 2, 3, 9]), st.sampled_from([1, 2, 10, 50]))
def test_every_cell_can_be_told(offset, broker, count):
    words = tooltips.offsets_tip(log(), broker, offset, count)
    assert (not words) == (broker == 9)


def test_clients_are_told_by_name():
    cluster = view()
    assert tooltips.who("clicks", cluster).split("\n") == [
        "clicks acks=1 on orders: sent 300, acked 280, failed 2, unknown 5",
        "0 records wait, 1 batches in flight",
        "3 refused, last NOT_LEADER_OR_FOLLOWER",
    ]
    assert tooltips.who("billing", cluster).startswith("billing: 2 members, no coordinator, read 150, lag 12\n")
    member = replace(cluster.groups[0], assignment=(("billing/0", ("orders-0",)), ("billing/1", ())))
    assert tooltips.who("billing/0", view(groups=(member,))) == "billing/0 of group billing owns orders-0"
    assert tooltips.who("billing/1", view(groups=(member,))).endswith("owns no partitions")
    assert tooltips.who("nobody", cluster) == ""


# -- the screen ------------------------------------------------------------------------------------------------------


def small():
    return fake_views.session(orders=2, payments=1)


def tip(widget):
    return "" if widget.tooltip is None else str(widget.tooltip)


async def hovered(driver, widget, x, y):
    await driver.pilot.hover(widget, offset=(x, y))
    await driver.pilot.pause()
    return tip(widget)


async def test_the_matrix_tells_heads_rows_and_cells_and_goes_on_telling():
    async with driving(session=small()) as driver:
        await driver.seconds(2)
        matrix, view_then = driver.main.matrix, driver.bridge.view
        columns = matrix.rows[0].columns
        at = lead(columns) + columns.broker
        assert (await hovered(driver, matrix, at, 0)).startswith("b2 up, leads")
        assert (await hovered(driver, matrix, 4, 1)).startswith(f"{view_then.partitions[0].name}: led by")
        words = await hovered(driver, matrix, at, 1)
        held = next(each for each in view_then.partitions[0].replicas if each.broker == 2)
        assert words.startswith(f"b2 {view_then.partitions[0].name}: LEO {held.leo}, HW {held.hw}")
        await driver.seconds(1)
        later = next(each for each in driver.bridge.view.partitions[0].replicas if each.broker == 2)
        assert later.leo > held.leo
        assert f"LEO {later.leo}, HW {later.hw}" in tip(matrix)
        assert not await hovered(driver, driver.main.feed, 2, 1)
        assert not tip(matrix), "the pointer has left it"


async def test_clients_faults_logs_and_the_control_plane_are_told():
    async with driving((200, 60), session=small()) as driver:
        await driver.seconds(2)
        driver.bridge.act(Action("inject", "lag", "broker(2)"))
        await driver.frames(1)
        main = driver.main
        assert (await hovered(driver, main.clients, 4, 1)).startswith("checkout acks=all on orders: sent ")
        assert not await hovered(driver, main.faults, 3, 0)
        assert await hovered(driver, main.faults, main.faults.size.width - 2, 0) == "a click heals it"
        assert "controller 1001: active, knows epoch 1" in await hovered(driver, main.control, 3, 0)
        spot = main.lanes.spot(13 + 8, 1)
        assert (await hovered(driver, main.lanes, 13 + 8, 1)).startswith(
            f"{spot.partition} offset {spot.offset} on b{spot.broker}: epoch 0"
        )
        assert (await hovered(driver, main.timeline, LABEL + 5, 3)).endswith(" of 00:02.062")


async def test_the_modes_tell_as_well():
    async with driving(session=small()) as driver:
        await driver.seconds(2)
        driver.bridge.act(Action("inject", "crash", "broker(1)"))
        await driver.seconds(1)
        await driver.press("2", "g")
        assert "offset 4 on b" in await hovered(driver, driver.app.screen.microscope, 20 + 4, 1)
        await driver.press("plus", "plus")
        assert "offsets 20 to 24 on b" in await hovered(driver, driver.app.screen.microscope, 20 + 4, 1)
        await driver.press("3")
        assert (await hovered(driver, driver.app.screen._table, 4, 1)).startswith("checkout acks=all")
        await driver.press("4")
        screen = driver.app.screen
        window = screen.shown().window
        words = await hovered(driver, screen.lanes, LABEL + window.column(2 * SECOND), 0)
        assert words.split("\n") == ["00:02.000, 1 event", "fault #1 crash on broker 1"]
        line = next(at for at, row in enumerate(screen.lanes.rows) if row.lane == TIME)
        there = f"00:{10 * window.unit_us / 1e6:06.3f} of 00:03.000"
        assert await hovered(driver, screen.lanes, LABEL + 10, line) == there


async def test_a_tooltip_is_shown_when_the_pointer_rests_and_in_ascii_too(monkeypatch):
    monkeypatch.setattr(FloodmarkApp, "TOOLTIP_DELAY", 0.01)
    bridge = SimBridge(small(), StepClock())
    app = FloodmarkApp(bridge, playbook="sandbox", seed=7, glyphs="ascii")
    async with app.run_test(size=(120, 40), tooltips=True) as pilot:
        driver = Driver(pilot, app, bridge.clock)
        await driver.seconds(1)
        assert await hovered(driver, driver.main.matrix, lead(driver.main.matrix.rows[0].columns), 1)
        tooltip = app.screen.get_child_by_type(Tooltip)
        for _ in range(200):
            if tooltip.display:
                break
            await asyncio.sleep(0.01)
        assert tooltip.display
        await pilot.pause()
        assert "b1 orders-0: LEO" in driver.text()
        assert driver.text().isascii()


def test_a_tooltip_comes_after_half_a_second():
    assert FloodmarkApp.TOOLTIP_DELAY == 0.5
