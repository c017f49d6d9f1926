"""The screen of a session that real clients use: what is done there, sockets feel; time is not the screen's."""

import asyncio
import socket
from typing import Any

import pytest

from cluster_model.protocol.events import Event
from faults.declarations.fault import Action, FaultError
from gateway.server import Gateway
from playbooks.engine.session import Session
from tests.gateway.hosting import playbook
from tui.gateway_session import COMPLAINTS, WALL_CLOCK_ONLY, GatewaySessionController
from tui.terminal.frame_clock import MonotonicClock

pytestmark = pytest.mark.sockets


async def _shown(what: Any) -> None:
    session = Session.start(playbook(), open_ended=True)
    gateway = Gateway(session)
    heard: list[Event] = []
    gateway.on_events = heard.extend
    await gateway.open(0)
    try:
        await what(GatewaySessionController(session, gateway, heard, MonotonicClock()), gateway)
    finally:
        await gateway.close()


def test_a_fault_on_the_screen_closes_the_door() -> None:
    async def what(bridge: GatewaySessionController, gateway: Gateway) -> None:
        host, port = gateway.context.addresses[2]
        _reader, client = await asyncio.open_connection(host, port)
        bridge.act(Action("inject", "crash", "broker(2)"))
        bridge.frame()
        assert [each.id for each in bridge.view.brokers if each.state != "up"] == [2]
        assert "b2 crashed" in "\n".join(line.text for line in bridge.feed.lines(100))
        with pytest.raises(OSError, match="refused"), socket.socket() as stranger:
            stranger.connect((host, port))
        client.close()

    asyncio.run(_shown(what))


def test_time_goes_with_the_wall_whatever_is_pressed() -> None:
    async def what(bridge: GatewaySessionController, gateway: Gateway) -> None:
        for press in (lambda: bridge.pause(True), bridge.step, bridge.seek, bridge.back, bridge.previous, bridge.faster,
                      lambda: bridge.move_time(-1_000_000), lambda: bridge.to_time(0)):  # fmt: skip
            bridge.queued_results.clear()
            press()
            assert bridge.queued_results == [(WALL_CLOCK_ONLY, False)]
        for branch in (bridge.fork, bridge.undo, bridge.redo, lambda: bridge.branch_with_settings("", {})):
            with pytest.raises(FaultError) as caught:
                branch()
            assert caught.value.code == "wall_clock"
            assert str(caught.value) == WALL_CLOCK_ONLY
        before = gateway.session.cluster.now_us
        while gateway.session.cluster.now_us == before:
            await asyncio.sleep(0.01)
            assert bridge.frame().delay is not None
        assert not bridge.paused
        assert not bridge.session.in_past

    asyncio.run(_shown(what))


def test_noise_is_reported_but_not_without_end() -> None:
    async def what(bridge: GatewaySessionController, gateway: Gateway) -> None:
        for number in range(COMPLAINTS + 5):
            gateway.listeners.on_error(1, f"noise {number}")
        assert len(bridge.queued_results) == COMPLAINTS

    asyncio.run(_shown(what))
