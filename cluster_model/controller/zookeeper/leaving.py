"""A broker's controlled shutdown (``KafkaServer.controlledShutdown``): it asks to lead nothing before it exits.

It asks the controller that ZooKeeper names, three times with pauses, and then goes anyway. Its session is closed in
order, so that its node goes at once. Without ZooKeeper it waits for it, as Kafka does.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.controller.zookeeper.messages import ControlledShutdownRequest, ControlledShutdownResponse
from cluster_model.controller.zookeeper.settings import ControlSettings
from cluster_model.kernel.node_context import Port
from cluster_model.protocol.messages import NOBODY

AGAIN: Final = "controlled shutdown again"
TIMED_OUT: Final = "controlled shutdown timeout"


class Leaving:
    """One per broker; idle until SIGTERM."""

    __slots__ = ("_asked", "_correlation", "_epoch", "_find", "_finish", "_left", "_looks", "_port", "_settings",
                 "on")  # fmt: skip

    def __init__(
        self,
        port: Port,
        settings: ControlSettings,
        epoch: Callable[[], int],
        find: Callable[[], None],
        finish: Callable[[], None],
    ) -> None:
        """``find`` looks the controller up and calls :meth:`found`; ``finish`` ends the process."""
        self._port = port
        self._settings = settings
        self._epoch = epoch
        self._find = find
        self._finish = finish
        self.on = False
        self._left = 0
        """Attempts."""
        self._asked = NOBODY
        """The controller whose answer is awaited."""
        self._correlation = 0
        self._looks = False
        """Whether ZooKeeper was asked who the controller is."""

    def start(self, *, registered: bool) -> None:
        """SIGTERM; before it has registered there is nothing to hand over."""
        if self.on:
            return
        self.on = True
        self._left = self._settings.shutdown_retries
        if registered and self._settings.controlled_shutdown:
            self._try()
        else:
            self._finish()

    def _try(self) -> None:
        if self._left:
            self._left -= 1
            self._looks = True
            self._find()
        else:
            self._finish()

    def found(self, controller: int) -> None:
        """Who the controller is, NOBODY if there is none."""
        if not self.on:
            return
        self._looks = False
        if controller == NOBODY:
            self._failed()
            return
        self._correlation += 1
        self._asked = controller
        self._port.send(controller, ControlledShutdownRequest(self._correlation, self._port.node_id, self._epoch()))
        self._port.timer(self._settings.socket_timeout_us, TIMED_OUT, self._correlation)

    def session_began(self) -> None:
        """What was asked in the session before is asked again."""
        if self.on and self._looks:
            self._find()

    def receive(self, response: ControlledShutdownResponse) -> None:
        """The controller's answer."""
        if self._asked == NOBODY or response.correlation != self._correlation:
            return
        self._asked = NOBODY
        if response.error or response.remaining:
            self._failed()
        else:
            self._finish()

    def _failed(self) -> None:
        self._asked = NOBODY
        self._port.timer(self._settings.shutdown_backoff_us, AGAIN)

    def on_disconnect(self, peer: int) -> None:
        """The controller's process is gone."""
        if peer == self._asked:
            self._failed()

    def on_timer(self, timer: tuple[Any, ...]) -> bool:
        """Handle a timer; False if it is another's."""
        if timer[0] == AGAIN:
            if self.on and self._asked == NOBODY:
                self._try()
        elif timer[0] == TIMED_OUT:
            if self._asked != NOBODY and timer[1] == self._correlation:
                self._failed()
        else:
            return False
        return True

    def stopped(self) -> None:
        """The process is gone."""
        self.on = self._looks = False
        self._asked = NOBODY

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.on, self._left, self._asked, self._correlation, self._looks)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.on, self._left, self._asked, self._correlation, self._looks = saved
