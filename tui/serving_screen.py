"""``floodmark serve --tui``: the gateway and the screen in one loop, over one session."""

import asyncio

from cluster_model.protocol.events import Event
from gateway.gateway import Gateway
from playbooks.engine.session import Session
from tui.gateway_session import ServingBridge
from tui.launch import app_over
from tui.screen_choice import ScreenChoice
from tui.terminal.frame_clock import WallClock
from tui.terminal.framerate import frame_s


def show_serving(session: Session, screen: ScreenChoice, host: str, port: int) -> BaseException | None:
    """Serve until the screen is left; what broke it, None where nothing did. Raises :class:`OSError` as listening does.

    The session is left as it stands, for whoever began it to seal.
    """
    return asyncio.run(_show(session, screen, host, port))


async def _show(session: Session, screen: ScreenChoice, host: str, port: int) -> BaseException | None:
    gateway = Gateway(session, host=host)
    heard: list[Event] = []
    gateway.on_events = heard.extend
    await gateway.open(port)
    bridge = ServingBridge(session, gateway, heard, WallClock(), frame_s=frame_s(screen.settings.fps))
    app = app_over(bridge, session, screen, name=session.playbook.name)
    bridge.fired.append((f"bootstrap.servers={gateway.bootstrap}", True))
    try:
        await app.run_async()
    finally:
        await gateway.close()
    return app.failure
