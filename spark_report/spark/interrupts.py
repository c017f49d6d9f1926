"""Ctrl-C while Spark runs: one quiet KeyboardInterrupt, and an end that a second one cannot break.

PySpark puts a handler of its own in place that talks to the JVM in the middle of another call, and Py4J logs a
traceback for the call that was cut off.
"""

import contextlib
import logging
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType


@contextlib.contextmanager
def handler_kept() -> Iterator[None]:
    """Put whatever the block does to the handler of SIGINT back the way it was."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Let Ctrl-C wait until the block is through: inside it there is nothing yet that could be taken down."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = False

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal came
        came = True

    with handler_kept():
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, note)
        yield
    if came:
        raise KeyboardInterrupt


@contextlib.contextmanager
def ignored() -> Iterator[None]:
    """Let Ctrl-C pass while things are being taken down: they would be left half taken down."""
    with handler_kept():
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        yield


@contextlib.contextmanager
def py4j_silent() -> Iterator[None]:
    """Drop what Py4J logs: each of its failures reaches us as an exception as well."""
    # It logs most of its tracebacks to the root logger, and only some to its own.
    root, own = logging.getLogger(), logging.getLogger("py4j")
    before = own.propagate
    root.addFilter(_not_py4j)
    own.propagate = False
    try:
        yield
    finally:
        own.propagate = before
        root.removeFilter(_not_py4j)


def _not_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"
