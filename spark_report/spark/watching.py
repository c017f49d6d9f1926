"""Watches that a cluster works at all: without executors Spark waits for ever, and says so only in its log."""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark import SparkContext

WAIT_SECONDS: Final = 60
"""How long a job waits for executors, at the beginning or after the last one died."""
_LOOK_SECONDS: Final = 1.0


class Watch:
    """Cancels what runs when there has been no executor for :data:`WAIT_SECONDS`."""

    def __init__(self, context: "SparkContext", wait: float = WAIT_SECONDS) -> None:
        self.starved = False
        """Whether it has cancelled the jobs."""
        self.had_any = False
        """Whether there ever was an executor."""
        self._context = context
        self._wait = wait
        self._over = threading.Event()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch for as long as the block runs."""
        thread = threading.Thread(target=self._watch, name="floodmark-watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _watch(self) -> None:
        last_seen = time.monotonic()
        # A bridge to Java that breaks ends the job by itself.
        with contextlib.suppress(Exception):
            while not self._over.wait(_LOOK_SECONDS):
                if executors(self._context) > 0:
                    self.had_any, last_seen = True, time.monotonic()
                elif time.monotonic() - last_seen > self._wait:
                    self.starved = True
                    self._context.cancelAllJobs()

    def why(self, master: str) -> str:
        """What to tell a person once it has cancelled."""
        waited = f"in {self._wait:g} s"
        if self.had_any:
            return f"--master: every worker of {master} that ran the job is gone, and none came back {waited}"
        return f"--master: no worker of {master} took the job {waited}: it has none with a core and the memory free"


def executors(context: "SparkContext") -> int:
    """How many processes work for this driver, itself not counted."""
    status: Any = context._jsc.sc().statusTracker()
    return len(status.getExecutorInfos()) - 1
