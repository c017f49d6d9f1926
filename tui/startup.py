"""Startup up to the first picture: garbage collection is off until it is painted, and modules are read ahead.

Nearly everything that is made during startup stays. Looking for garbage meanwhile costs a tenth of the start and finds
none. What exists when the picture is painted is left out of every later look too.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Thread
from typing import Final

SESSIONS: Final = ("tui.launcher", "tui.app")
"""What every session on the screen needs, the whole model with it."""


@contextmanager
def starting() -> Iterator[None]:
    """Look for no garbage until :func:`painted` is called, or until this is left."""
    gc.unfreeze()  # of a screen before this one in the same run
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def painted() -> None:
    """The first picture stands. It does nothing where no start was announced."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


class ReadingAhead:
    """Reads modules while somebody makes a choice that will need them."""

    def __init__(self, names: tuple[str, ...] = SESSIONS) -> None:
        self._names = names
        self._thread: Thread | None = None

    def begin(self) -> None:
        """Go on beside what the screen does."""
        self._thread = Thread(target=self._read, name="reading ahead", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until all are read; at once where none are. Whoever reads any of them has to: two at a time may meet."""
        if self._thread is not None:
            self._thread.join()

    def _read(self) -> None:
        for name in self._names:
            import_module(name)
