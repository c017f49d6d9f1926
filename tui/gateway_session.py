"""``floodmark serve --tui``: the gateway and the screen over one session, which the wall clock moves.

A client on a socket cannot be paused, hurried or taken back, so the keys for that say why they do nothing. Faults and
operations go through the gateway, so that sockets feel them at once.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from cluster_model.protocol.events import Event
from faults.declarations import Action, FaultError
from gateway.server import Gateway
from playbooks.engine.session import Session
from playbooks.timetravel.branches import Branch, Branches
from tui.launcher import app_over
from tui.screen_choice import ScreenChoice
from tui.session.session_controller import FrameResult, SimBridge
from tui.terminal.frame_clock import FRAME_S, FrameClock, MonotonicClock, frame_s

WITH_THE_WALL: Final = "real clients are served: time goes with the wall's, and neither stands still nor goes back"
COMPLAINTS: Final = 20
"""How often bad requests are told one by one."""


class ServingBridge(SimBridge):
    """Shows what a gateway does to a session, and does to it what is asked for on the screen."""

    def __init__(
        self, session: Session, gateway: Gateway, heard: list[Event], clock: FrameClock, *, frame_s: float = FRAME_S
    ) -> None:
        """The gateway is open; ``heard`` takes its events, and has those so far."""
        self._gateway = gateway
        self._heard = heard
        self._complaints = 0
        gateway.doors.on_complaint = self._complain
        super().__init__(Branches(session), clock, frame_s=frame_s)

    def frame(self) -> FrameResult:
        """Bring the model to the wall's time, and look."""
        self._gateway.engine.pump()
        if self._gateway.engine.failure is not None:
            raise self._gateway.engine.failure
        self._now.ended = self._gateway.engine.over
        if self._now.ended:
            self.look()
            return FrameResult(True, None)
        now = self.clock.now()
        if now - self._painted < self._rest_s():
            return FrameResult(False, self.frame_s)
        self._painted = now
        self.look()
        return FrameResult(True, self.frame_s)

    def _listen(self) -> None:
        self._gateway.engine.collect()
        fresh = self._heard.copy()
        self._heard.clear()
        self._now.take(fresh, self.session.cluster.trace.count)

    def _complain(self, broker: int, text: str) -> None:
        self._complaints += 1
        if self._complaints <= COMPLAINTS:
            self.fired.append((f"broker {broker} closed a connection: {text}"[:300], False))

    def act(self, action: Action) -> str:
        """An operator's action, now. Refusals come as the session raises them."""
        try:
            return self._gateway.act(action)
        finally:
            self.look()

    # -- what cannot be done to real clients ------------------------------------------------------------------------

    def _say_why(self) -> None:
        if not any(text == WITH_THE_WALL for text, _good in self.fired):
            self.fired.append((WITH_THE_WALL, False))

    def pause(self, paused: bool) -> None:
        """Time cannot be stopped."""
        if paused:
            self._say_why()

    def set_speed(self, speed: float) -> float:
        """Nor can it go otherwise."""
        if speed != self.speed:
            self._say_why()
        return self.speed

    def step(self) -> bool:
        """Nor event by event."""
        self._say_why()
        return True

    def seek(self) -> bool:
        """Nor ahead."""
        self._say_why()
        return True

    def to_time(self, at_us: int) -> None:
        """Nor back."""
        if at_us != self.session.present_us:
            self._say_why()

    def back(self) -> bool:
        """Nor an event back."""
        self._say_why()
        return True

    def previous(self) -> bool:
        """Nor to what was notable."""
        self._say_why()
        return True

    def by(self, span_us: int) -> bool:
        """Nor by any span."""
        self._say_why()
        return True

    def fork(self) -> str:
        """No branches: its clients would be in none. Raises :class:`FaultError`, as all that makes one."""
        raise FaultError(WITH_THE_WALL, code="wall_clock")

    def otherwise(self, name: str, settings: Mapping[str, str]) -> str:
        """As :meth:`fork`."""
        raise FaultError(WITH_THE_WALL, code="wall_clock")

    def undo(self) -> str:
        """As :meth:`fork`."""
        raise FaultError(WITH_THE_WALL, code="wall_clock")

    def redo(self) -> str:
        """As :meth:`fork`."""
        raise FaultError(WITH_THE_WALL, code="wall_clock")

    def compare(self, branch: Branch | None) -> None:
        """There is nothing to compare with."""
        if branch is not None:
            self._say_why()


# ``floodmark serve --tui``: the gateway and the screen in one loop, over one session.


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
    bridge = ServingBridge(session, gateway, heard, MonotonicClock(), frame_s=frame_s(screen.settings.fps))
    app = app_over(bridge, session, screen, name=session.playbook.name)
    bridge.fired.append((f"bootstrap.servers={gateway.bootstrap}", True))
    try:
        await app.run_async()
    finally:
        await gateway.close()
    return app.failure
