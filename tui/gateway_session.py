"""``floodmark serve --tui``: the gateway and the TUI over one session, which runs in wall-clock time.

Clients on sockets cannot be paused, sped up or rewound, so the keys for that only show the reason. Faults and
operations go through the gateway, so that they affect sockets at once.
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
from tui.session.session_controller import FrameResult, SessionController
from tui.terminal.frame_clock import FRAME_S, FrameClock, MonotonicClock, frame_s

WALL_CLOCK_ONLY: Final = "not available while serving real clients: time follows the wall clock"
COMPLAINTS: Final = 20
"""Maximum number of bad requests reported one by one."""


class GatewaySessionController(SessionController):
    """Session controller over a gateway's session, which performs actions through the gateway."""

    def __init__(
        self, session: Session, gateway: Gateway, received: list[Event], clock: FrameClock, *, frame_s: float = FRAME_S
    ) -> None:
        """``gateway`` is open; ``received`` is the list that receives its events."""
        self._gateway = gateway
        self._received = received
        self._complaints = 0
        gateway.listeners.on_error = self._complain
        super().__init__(Branches(session), clock, frame_s=frame_s)

    def frame(self) -> FrameResult:
        """Advance the model to the wall-clock time, and update the view."""
        self._gateway.engine.advance()
        if self._gateway.engine.failure is not None:
            raise self._gateway.engine.failure
        self._now.ended = self._gateway.engine.over
        if self._now.ended:
            self.refresh_view()
            return FrameResult(True, None)
        now = self.clock.now()
        if now - self._painted < self._rest_s():
            return FrameResult(False, self.frame_s)
        self._painted = now
        self.refresh_view()
        return FrameResult(True, self.frame_s)

    def _listen(self) -> None:
        self._gateway.engine.collect()
        fresh = self._received.copy()
        self._received.clear()
        self._now.take(fresh, self.session.cluster.trace.count)

    def _complain(self, broker: int, text: str) -> None:
        self._complaints += 1
        if self._complaints <= COMPLAINTS:
            self.queued_results.append((f"broker {broker} closed a connection: {text}"[:300], False))

    def act(self, action: Action) -> str:
        """Perform an operator's action now. Raises :class:`FaultError` as the session does."""
        try:
            return self._gateway.act(action)
        finally:
            self.refresh_view()

    # -- not available with real clients ----------------------------------------------------------------------------

    def _say_why(self) -> None:
        if not any(text == WALL_CLOCK_ONLY for text, _good in self.queued_results):
            self.queued_results.append((WALL_CLOCK_ONLY, False))

    def pause(self, paused: bool) -> None:
        """Show that time cannot be paused."""
        if paused:
            self._say_why()

    def set_speed(self, speed: float) -> float:
        """Show that the speed cannot be changed."""
        if speed != self.speed:
            self._say_why()
        return self.speed

    def step(self) -> bool:
        """Show that stepping is not available."""
        self._say_why()
        return True

    def seek(self) -> bool:
        """Show that seeking is not available."""
        self._say_why()
        return True

    def to_time(self, at_us: int) -> None:
        """Show that the past is not available."""
        if at_us != self.session.present_us:
            self._say_why()

    def back(self) -> bool:
        """Show that stepping back is not available."""
        self._say_why()
        return True

    def previous(self) -> bool:
        """Show that going back is not available."""
        self._say_why()
        return True

    def move_time(self, span_us: int) -> bool:
        """Show that moving time is not available."""
        self._say_why()
        return True

    def fork(self) -> str:
        """Raise :class:`FaultError`: branches are not available, as real clients cannot be in them."""
        raise FaultError(WALL_CLOCK_ONLY, code="wall_clock")

    def branch_with_settings(self, name: str, settings: Mapping[str, str]) -> str:
        """Raise :class:`FaultError`, as :meth:`fork`."""
        raise FaultError(WALL_CLOCK_ONLY, code="wall_clock")

    def undo(self) -> str:
        """Raise :class:`FaultError`, as :meth:`fork`."""
        raise FaultError(WALL_CLOCK_ONLY, code="wall_clock")

    def redo(self) -> str:
        """Raise :class:`FaultError`, as :meth:`fork`."""
        raise FaultError(WALL_CLOCK_ONLY, code="wall_clock")

    def compare(self, branch: Branch | None) -> None:
        """Show that comparing is not available."""
        if branch is not None:
            self._say_why()


# ``floodmark serve --tui``: the gateway and the TUI in one event loop, over one session.


def show_serving(
    session: Session, screen: ScreenChoice, host: str, port: int, metrics: int | None = None
) -> BaseException | None:
    """Serve until the TUI is closed; return the error that ended it, or None. The caller seals the session.

    Raises :class:`OSError` if the gateway cannot listen.
    """
    return asyncio.run(_show(session, screen, host, port, metrics))


async def _show(
    session: Session, screen: ScreenChoice, host: str, port: int, metrics: int | None
) -> BaseException | None:
    gateway = Gateway(session, host=host)
    received: list[Event] = []
    gateway.on_events = received.extend
    metrics_server = None
    if metrics is None:
        await gateway.open(port)
    else:
        from gateway.metrics_server import open_gateway  # noqa: PLC0415 - few gateways have metrics

        metrics_server = await open_gateway(gateway, host, port, metrics)
    session_controller = GatewaySessionController(
        session, gateway, received, MonotonicClock(), frame_s=frame_s(screen.settings.fps)
    )
    app = app_over(session_controller, session, screen, name=session.playbook.name)
    session_controller.queued_results.append((f"bootstrap.servers={gateway.bootstrap}", True))
    try:
        await app.run_async()
    finally:
        await gateway.close()
        if metrics_server is not None:
            metrics_server.close()
    return app.failure
