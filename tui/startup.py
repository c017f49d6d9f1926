"""Startup up to the first paint: garbage collection is off, and modules are imported ahead.

Nearly all objects created during startup stay alive, and collections would take a tenth of the startup time. Objects
that exist at the first paint are frozen, so later collections skip them.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Thread
from typing import Final

SESSIONS: Final = ("tui.launcher", "tui.app")
"""Modules that every session in the TUI needs, including the whole model."""


@contextmanager
def no_gc_until_painted() -> Iterator[None]:
    """Disable garbage collection until :func:`painted` is called, or the context is left."""
    gc.unfreeze()  # objects of a previous session in the same run
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def painted() -> None:
    """Enable garbage collection after the first paint; does nothing outside of :func:`no_gc_until_painted`."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


class BackgroundImport:
    """Imports modules in a thread while the user makes a choice that will need them."""

    def __init__(self, names: tuple[str, ...] = SESSIONS) -> None:
        self._names = names
        self._thread: Thread | None = None

    def begin(self) -> None:
        """Start the thread."""
        self._thread = Thread(target=self._read, name="reading ahead", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until all modules are imported; required before importing any of them, to avoid concurrent imports."""
        if self._thread is not None:
            self._thread.join()

    def _read(self) -> None:
        for name in self._names:
            import_module(name)
