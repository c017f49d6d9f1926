"""Mode log on the screen: what it shows healthy, with records lost and with logs that differ, and its keys."""

from dataclasses import replace
from pathlib import Path

import pytest

from cluster_model.spec.cluster_spec import GroupSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import Action
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder
from tests.tui import fake_views
from tests.tui.driving import driving, trimmed
from tests.tui.test_opening import opened
from tui.screens.modes.log import LogScreen
from tui.screens.record import RecordScreen
from tui.viewmodel.log_view import TRUNCATED, LogTextRow, scale

pytestmark = pytest.mark.slow

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}


def small(**more):
    """Two partitions and nobody who reads: no topics of Kafka's own."""
    book = fake_views.playbook()
    topics = tuple(
        TopicSpec(name, placement=((1, 2, 3),), config={"min.insync.replicas": 1}) for name in ("orders", "payments")
    )
    producers = (
        ProducerSpec("checkout", "orders", 40_000, config={"acks": "all"}, keys=100, records="faker:order"),
        ProducerSpec("clicks", "payments", 20_000, config={"acks": "1", "linger.ms": 0}, keys=100),
    )
    spec = replace(book.spec, **{"topics": topics, "producers": producers, "groups": (), **more})
    return Session.start(replace(book, spec=spec), open_ended=True)


async def at_every_size(driver, golden, name):
    async for size in driver.at_sizes(SIZES):
        assert trimmed(driver.text()) == golden(f"{name}-{size}")


async def lose_records(driver):
    """Slow replication, then the leader dies; the others go on without its last records."""
    await driver.seconds(1)
    for broker in (1, 2, 3):
        driver.session_controller.act(Action("inject", "lag", f"broker({broker})"))
    await driver.seconds(1)
    driver.session_controller.act(Action("inject", "crash", "broker(1)"))
    await driver.seconds(2)
    driver.session_controller.act(Action("heal", "lag"))
    while not driver.session_controller.view.partitions[1].missing:
        await driver.seconds(0.5)
    driver.main.matrix.move_to(1, 0)


async def test_a_healthy_partition(golden):
    async with driving(session=small()) as driver:
        await driver.seconds(2)
        await driver.press("space", "enter")
        assert isinstance(driver.app.screen, LogScreen)
        assert driver.app.screen.partition.name == "orders-0"
        await at_every_size(driver, golden, "log-healthy")


async def test_records_lost_then_logs_that_differ_then_the_moment_of_writing(golden, snapshot):
    async with driving(session=small()) as driver:
        await lose_records(driver)
        await driver.press("2", "F")
        screen = driver.app.screen
        fork = screen.microscope.log_offset
        assert f"fork {fork}" in driver.text()
        lost = [line for line in driver.shown("#log-record-pane") if "†" in line]
        await at_every_size(driver, golden, "log-lost")
        driver.session_controller.act(Action("heal", "crash"))
        while screen.microscope.lanes[0].status != "diverged":
            await driver.frames(1)
        await at_every_size(driver, golden, "log-diverged")
        while not driver.session_controller.log_history.truncations(
            "payments-0", driver.session_controller.view.now_us
        ):
            await driver.seconds(0.5)
        assert "↺ b1 truncated" in driver.text()
        gone = [line for line in driver.shown("#log-record-pane") if "†" in line]
        assert (len(lost), len(gone)) == (1, 1)
        assert [*lost, *gone] == snapshot
        await driver.press("down", "enter")
        assert driver.session_controller.session.in_past
        assert screen.microscope.log_offset == fork
        text = driver.text()
        assert "PAST" in text
        assert TRUNCATED in text
        written_us = driver.session_controller.view.now_us
        (record,) = [each for each in screen.microscope.lanes if each.broker == 2]
        assert record.leo > fork
        await driver.press("comma")
        assert driver.session_controller.view.now_us <= written_us
        assert driver.app.screen is screen
        await driver.press("backspace")
        assert not driver.session_controller.session.in_past
        assert "↺ b1 truncated" in driver.text()


async def test_it_is_drawn_in_ascii_too(golden):
    async with driving(session=small(), glyphs="ascii") as driver:
        await lose_records(driver)
        await driver.press("2", "F")
        text = driver.text()
        assert text.isascii()
        assert trimmed(text) == golden("log-ascii-120x40")


async def test_keys_move_over_offsets_replicas_partitions_and_scales(snapshot):
    async with driving((80, 24), session=small()) as driver:
        await driver.seconds(3)
        await driver.press("space", "2")
        screen = driver.app.screen
        scope = screen.microscope
        newest = driver.session_controller.view.partitions[0].leo - 1
        assert scope.log_offset == newest > 40
        await driver.press("left", "h")
        assert scope.log_offset == newest - 2
        await driver.press("shift+left", "l")
        assert scope.log_offset == newest - 11
        await driver.press("pageup", "pageup", "pageup")
        assert scope.log_offset == 0
        await driver.press("left")
        assert scope.log_offset == 0
        await driver.press("t")
        assert scope.log_offset == min(driver.session_controller.view.partitions[0].hw, newest)
        await driver.press("g")
        assert scope.log_offset == 0
        await driver.press("plus", "plus")
        assert scope.scope.zoom == 5
        assert scale(scope.scope) in driver.text()
        await driver.press("right")
        assert scope.log_offset == 5
        await driver.press("minus", "minus", "minus")
        assert scope.scope.zoom == 1
        assert scale(scope.scope) in driver.text()
        await driver.press("down", "j", "down")
        assert driver.main.matrix.cursor == (0, 2)
        assert screen.broker(screen.partition) == 3
        await driver.press("k")
        assert screen.broker(screen.partition) == 2
        await driver.press("tab")
        assert "payments-0" in driver.text()
        assert driver.main.matrix.cursor[0] == 1
        await driver.press("tab")
        assert screen.partition.name == "orders-0"
        await driver.press("shift+tab")
        assert screen.partition.name == "payments-0"
        await driver.press("end")
        assert scope.scope.offset is None
        await driver.press("F")
        assert driver.toasts()[-1] == snapshot
        await driver.press("g", "p")
        assert isinstance(driver.app.screen, RecordScreen)
        assert driver.app.screen.log_offset == 0
        await driver.press("escape", "escape")
        assert driver.app.screen is driver.main


async def test_the_mouse_points_at_cells():
    async with driving((80, 24), session=small()) as driver:
        await driver.seconds(2)
        await driver.press("space", "2", "g")
        scope = driver.app.screen.microscope
        await driver.pilot.click(scope, offset=(17 + 4, 2))
        assert scope.log_offset == 4
        assert driver.main.matrix.cursor[1] == 1
        await driver.pilot.click(scope, offset=(3, 3))
        assert scope.log_offset == 4
        scope.post_message(scope.WheelTurned(3, zooms=False))
        await driver.settle()
        assert scope.log_offset == 7


async def test_a_click_into_the_whole_log_goes_there(snapshot):
    async with driving((200, 60), session=small()) as driver:
        await driver.seconds(5)
        await driver.press("space", "2")
        scope = driver.app.screen.microscope
        told = [row.text for row in scope.rows if isinstance(row, LogTextRow)]
        assert told[-1] in driver.text()
        assert told[-1] == snapshot
        last = len(scope.rows) - 1
        await driver.pilot.click(scope, offset=(20 + 3, last))
        assert scope.log_offset == 3 * scope._over.zoom
        assert driver.main.matrix.cursor[1] == 2


RECORDED = """
floodmark: 1
name: small
title: A leader goes down
seed: 3
cluster: {brokers: 3}
topics:
  - {name: orders, placement: [[1, 2, 3]]}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 25/s, config: {acks: all}}
steps:
  - {at: 1s, inject: crash, target: broker(1)}
settle: 1s
"""


def acknowledged(driver):
    """What the pane of the record says of its acknowledgement."""
    (line,) = [line for line in driver.shown("#log-record-pane") if line.startswith("acked")]
    return line


async def test_a_recording_can_be_looked_at_and_back_into(tmp_path, snapshot):
    session = Session.start(loads(RECORDED, "small.yaml"), recorder=Recorder(tmp_path, live=True), open_ended=True)
    session.advance(2_000_000)
    async with opened(Path(session.finish().session)) as driver:
        await driver.seconds(0.5)
        await driver.press("2", "g")
        assert "orders-0 offset 0" in driver.text()
        assert "committed" in driver.text()
        now = acknowledged(driver)
        now_us = driver.session_controller.view.now_us
        await driver.press("enter")
        assert driver.session_controller.session.in_past
        assert driver.session_controller.view.now_us < now_us
        then = acknowledged(driver)
        assert [now, then] == snapshot
        await driver.press("backspace")
        assert driver.session_controller.view.now_us == now_us
        assert acknowledged(driver) == now != then


async def test_it_paints_only_what_changed():
    async with driving(session=small()) as driver:
        await driver.seconds(1)
        await driver.press("2", "g")
        screen = driver.app.screen
        grids = [screen.microscope, screen._record, screen._epochs, screen._wires]
        await driver.frames(1)
        for _ in range(12):
            before = [(grid.dirtied, grid.built) for grid in grids]
            await driver.frames(1)
            after = [(grid.dirtied, grid.built) for grid in grids]
            dirty, built = (sum(now[at] - then[at] for now, then in zip(after, before, strict=True)) for at in (0, 1))
            assert built <= dirty + 2
            # The record pointed at stands still, and so do the epochs.
            assert after[1] == before[1]
            assert after[2] == before[2]
        await driver.press("space")
        still = [(grid.dirtied, grid.built) for grid in grids]
        await driver.frames(3)
        assert [(grid.dirtied, grid.built) for grid in grids] == still


async def test_without_any_partition_it_says_so_and_no_key_fails(snapshot):
    async with driving((80, 24), session=small(topics=(), producers=())) as driver:
        await driver.seconds(0.5)
        await driver.press("2")
        assert driver.shown("#log-pane") == snapshot
        keys = ("left", "right", "up", "down", "tab", "t", "F", "g", "end", "plus", "minus", "enter", "p", "i")
        await driver.press(*keys)
        assert isinstance(driver.app.screen, LogScreen)


async def test_topics_of_kafkas_own_can_be_looked_at():
    group = GroupSpec("billing", ("orders",), 1, 2_000)
    async with driving((80, 24), session=small(groups=(group,))) as driver:
        await driver.seconds(2)
        await driver.press("space", "2", "g")
        assert "billing" in driver.text()
        own = len(driver.session_controller.view.partitions)
        await driver.press("i")
        assert len(driver.session_controller.view.partitions) > own
        driver.main.matrix.move_to(len(driver.session_controller.view.partitions) - 1, 0)
        await driver.press("end")
        assert "__consumer_offsets" in driver.text()
        await driver.press("i")
        assert driver.app.screen.partition.name == "orders-0"


@pytest.mark.parametrize("size", [(60, 18), (70, 20), (250, 50)])
async def test_it_fits_whatever_the_terminal(size):
    async with driving(size, session=small()) as driver:
        await driver.seconds(1)
        await driver.press("space", "2")
        lines = driver.text().split("\n")
        assert len(lines) == size[1]
        assert "LEO" in driver.text()
        assert ("Leader epochs" in driver.text()) == (size[0] >= 72)
