"""Says how far a long thing is: a moving line on a terminal, a line now and then elsewhere, nothing for short ones."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console

from tui.output.console import say

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_S = 1.0
"""Nothing is said about what is done by then."""
EVERY_S = 5.0
"""Between two lines where nothing can move."""


class Telling:
    """Progress of one thing, on a console; use it as a context and call :meth:`tell` often."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._started = clock()
        self._said = self._started
        self._bar: Progress | None = None

    def __enter__(self) -> "Telling":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hide()

    def hide(self) -> None:
        """Take the moving line away, to print something else."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def tell(self, words: Callable[[], str]) -> None:
        """How far it is, when it is time to say so."""
        now = self._clock()
        if now - self._started < PATIENCE_S or self._console.quiet:
            return
        if self._console.is_terminal:
            self._move(words())
        elif now - self._said >= EVERY_S:
            self._said = now
            say(self._console, words())

    def _move(self, text: str) -> None:
        if self._bar is None:
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - see tell

            columns = (SpinnerColumn("line"), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.add_task(text)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=text)
