"""Clients in threads of their own, each with a log of what it was told and given."""

import contextlib
import threading
from collections.abc import Callable
from typing import NamedTuple

PATIENCE_S = 120.0
"""After which what has not happened never will, however busy the machine is."""


class AckedMessage(NamedTuple):
    """A record that was acknowledged."""

    partition: int
    offset: int
    value: bytes


class Log:
    """What one client can say for itself."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.sent = 0
        self.acked: list[AckedMessage] = []
        self.failed: list[tuple[bytes, str]] = []
        self.read: list[AckedMessage] = []
        self.notices: list[str] = []
        """Errors that it told its application about, and went on."""


class Running:
    """A client in a thread."""

    def __init__(self, what: Callable[["Running"], None], partition: int) -> None:
        self.log = Log(partition)
        self.leave = threading.Event()
        self.failure: BaseException | None = None
        self.drop: Callable[[], object] = lambda: None
        """Ends the client at once, whatever it waits for; from any thread."""
        self._what = what
        self._thread = threading.Thread(target=self._run, daemon=True)
        _STARTED.append(self)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._what(self)
        except BaseException as error:
            self.failure = error

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> Log:
        self.leave.set()
        self._thread.join(PATIENCE_S)
        assert not self.is_alive(), "a client does not come to its end"
        if self.failure is not None:
            raise self.failure
        return self.log

    def abandon(self) -> None:
        """Of a test that failed: a client left behind would ask for its cluster, and log, for ever."""
        self.leave.set()
        while self.is_alive():
            with contextlib.suppress(RuntimeError):  # of an event loop that has just been closed
                self.drop()
            self._thread.join(1)


_STARTED: list[Running] = []


def abandon_all() -> None:
    """End whoever still runs."""
    while _STARTED:
        _STARTED.pop().abandon()
