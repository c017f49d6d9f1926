"""Keeps a session in step with the wall clock: so many virtual seconds for each of the wall's."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tui.output.console import complain
from tui.session.playbook_choice import PlaybookChoice

FRAME_S: Final = 0.1
"""Seconds of the wall between two looks at the session."""
LATE_S: Final = 0.5
"""A model that is so late does not catch up: it would race through what somebody wants to watch."""
SLOWEST: Final = 0.01
FASTEST: Final = 1_000.0


def can_be_told(speed: float, chosen: Sequence[PlaybookChoice], files: int, jobs: int | None, *, dry: bool) -> bool:
    """Whether ``--speed`` stands beside nothing that it contradicts; says what it does."""
    wrong = []
    if not SLOWEST <= speed <= FASTEST:
        wrong.append(f"found {speed:g}, allowed are {SLOWEST:g} to {FASTEST:g} virtual seconds per second")
    if dry:
        wrong.append("found --dry-run beside it, allowed is one of them: a dry run is told as fast as it can")
    if jobs is not None and jobs > 1:
        wrong.append(f"found --jobs {jobs} beside it, allowed is one of them: only one session can be watched")
    if files > 1:
        wrong.append(f"found {files} playbooks, allowed is one: only one session can be watched at a time")
    wrong += [
        f"{each.playbook.path}: time stands still in a manual playbook, so it has no speed"
        for each in chosen
        if each.playbook.spec.manual
    ]
    for each in wrong:
        complain(f"--speed: {each}")
    return not wrong


@dataclass(slots=True)
class Pace:
    """When to go on. The clock and the sleep are handed in, so that a test need not wait."""

    speed: float
    """Virtual seconds per second of the wall; 1 is real time."""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _began: float = field(default=0.0, init=False)
    """The wall's time at which the session would have stood at 0."""

    def begin(self, now_us: int = 0) -> None:
        """The session stands at ``now_us``, and goes on from here."""
        self._began = self.clock() - self.wall_s(now_us)

    def next_us(self, now_us: int) -> int:
        """Up to where the session may run before it has to wait."""
        return now_us + max(1, round(self.speed * FRAME_S * 1_000_000))

    def wait(self, now_us: int) -> None:
        """Sleep until the wall has come to ``now_us``."""
        ahead = self._began + self.wall_s(now_us) - self.clock()
        if ahead > 0:
            self.sleep(ahead)
        elif ahead < -LATE_S:
            self._began -= ahead

    def wall_s(self, span_us: int) -> float:
        """How long a virtual time takes."""
        return span_us / 1_000_000 / self.speed
