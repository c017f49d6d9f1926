"""The record under the log, on the screen."""

import json
import re
from dataclasses import replace

import pytest

from tests.tui.driving import driving
from tests.tui.fake_views import session
from tui.screens.record import RecordScreen

pytestmark = pytest.mark.slow


async def test_p_shows_the_newest_record_of_the_replica_under_the_cursor(snapshot):
    async with driving(session=session()) as driver:
        await driver.seconds(3)
        await driver.press("space", "right")
        broker = driver.session_controller.view.brokers[driver.main.matrix.cursor[1]].id
        (newest,) = [
            each.leo - 1 for each in driver.session_controller.view.partitions[0].replicas if each.broker == broker
        ]
        await driver.press("p")
        assert isinstance(driver.app.screen, RecordScreen)
        assert driver.app.screen.log_offset == newest > 0
        assert str(newest) in driver.shown("#record")[0].replace(",", "").split()
        assert driver.shown("#record")[0] == snapshot
        assert any(line.startswith("held by") for line in driver.shown("#record"))
        await driver.press("escape")
        assert not isinstance(driver.app.screen, RecordScreen)


async def test_arrows_go_to_other_offsets_and_stop_at_the_first(snapshot):
    async with driving(session=session(orders=1, payments=1)) as driver:
        await driver.seconds(1)
        await driver.press("shift+left", "p")
        screen = driver.app.screen
        first = screen.log_offset
        assert first == driver.main.lanes.start > 40
        await driver.press("right", "right", "left", "shift+right")
        assert screen.log_offset == first + 11
        await driver.press(*["shift+left"] * (first // 10 + 2))
        assert screen.log_offset == 0
        assert "0" in driver.shown("#record")[0].replace(",", "").split()
        await driver.press(*["shift+right"] * 20)
        assert driver.shown("#record")[1] == snapshot


async def test_contents_are_those_of_the_playbook():
    async with driving() as driver:
        cluster = driver.session_controller.session.cluster
        spec = cluster.spec
        fields = (("n", "sequence"), ("who", "producer"))
        cluster.spec = replace(spec, producers=tuple(replace(each, fields=fields) for each in spec.producers))
        await driver.seconds(3)
        await driver.press("shift+left", "p")
        value = json.loads(re.findall(r'\{"n".*?\}', driver.text())[0])
        assert value["who"] in {each.name for each in spec.producers}


async def test_the_session_continues_behind_it():
    async with driving(session=session()) as driver:
        await driver.press("p")
        before = driver.session_controller.session.cluster.now_us
        await driver.seconds(1)
        assert driver.session_controller.session.cluster.now_us > before
