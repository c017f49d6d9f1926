"""Driver of a terminal in a browser, for several Textual apps in one process (``floodmark web``).

textual-serve starts the process, and exchanges packets with it on stdin and stdout. Textual's own driver ends the page
with the first app; here the page stays while the program goes from the welcome page to a session and on.
"""

import os
import signal
from functools import partial
from typing import Any, Final

from textual.drivers.web_driver import WebDriver

JOIN_S: Final = 1.0
"""Seconds to wait for the thread that reads input, which looks ten times a second whether it has to end."""
PRELUDE: Final = b"__GANGLION__\n"
"""Line before the first packet, expected once."""


class Packets:
    """Private copy of stdout for packets; everything else that the process prints goes to stderr."""

    def __init__(self) -> None:
        self.fileno = os.dup(1)
        os.dup2(2, 1)
        self._begun = False

    def write(self, data: bytes) -> int:
        """Write a packet, and return its size; the prelude only once."""
        if data != PRELUDE or not self._begun:
            self._begun = True
            view = memoryview(data)
            while view:
                view = view[os.write(self.fileno, view) :]
        return len(data)


_packets: Packets | None = None


def packets() -> Packets:
    """Return the packets of this process."""
    global _packets  # noqa: PLW0603 - a process has one stdout
    if _packets is None:
        _packets = Packets()
    return _packets


class BrowserDriver(WebDriver):
    """Textual's driver for browsers, which leaves the page open for the next app of the process."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        found = packets()
        self.fileno = found.fileno
        self._write = partial(found.write)

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Handle a message of the server; a new size is also that of the next app."""
        if packet_type == "resize":
            os.environ["COLUMNS"], os.environ["ROWS"] = str(payload["width"]), str(payload["height"])
        super().on_meta(packet_type, payload)

    def run_input_thread(self) -> None:
        """Read input until the app ends; the end of the input, as the server is gone, ends the program."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._app.call_later(self._app.exit, return_code=128 + signal.SIGHUP)

    def stop_application_mode(self) -> None:
        """Stop reading; the server closes the page when the process ends."""
        self.exit_event.set()
        self._input_reader.close()
        if self._key_thread.is_alive():
            self._key_thread.join(JOIN_S)
