"""Pace of a session against the wall clock, in virtual seconds per wall-clock second."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tui.output.console import print_error
from tui.session.playbook_choice import PlaybookChoice

FRAME_S: Final = 0.1
"""Wall-clock seconds between two advances of the session."""
LATE_S: Final = 0.5
"""Seconds of delay from which the session no longer catches up, so that it never races through events."""
SLOWEST: Final = 0.01
FASTEST: Final = 1_000.0


def speed_is_valid(speed: float, chosen: Sequence[PlaybookChoice], files: int, jobs: int | None, *, dry: bool) -> bool:
    """Return whether ``--speed`` is valid with the other options; prints each conflict."""
    problems = []
    if not SLOWEST <= speed <= FASTEST:
        problems.append(f"found {speed:g}, expected {SLOWEST:g} to {FASTEST:g} virtual seconds per second")
    if dry:
        problems.append("found --dry-run too, expected one of them: a dry run prints as fast as it can")
    if jobs is not None and jobs > 1:
        problems.append(f"found --jobs {jobs} too, expected one of them: only one session can be watched")
    if files > 1:
        problems.append(f"found {files} playbooks, expected one: only one session can be watched at a time")
    problems += [
        f"{each.playbook.path}: a manual playbook has no clock, so it has no speed"
        for each in chosen
        if each.playbook.spec.manual
    ]
    for each in problems:
        print_error(f"--speed: {each}")
    return not problems


@dataclass(slots=True)
class Pace:
    """Decides when a session may advance. Clock and sleep are parameters, so that tests need not wait."""

    speed: float
    """Virtual seconds per wall-clock second; 1 is real time."""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _began: float = field(default=0.0, init=False)
    """Wall-clock time that corresponds to virtual time 0."""

    def begin(self, now_us: int = 0) -> None:
        """Start the pace with the session at ``now_us``."""
        self._began = self.clock() - self.wall_s(now_us)

    def next_us(self, now_us: int) -> int:
        """Return the virtual time up to which the session may run before it has to wait."""
        return now_us + max(1, round(self.speed * FRAME_S * 1_000_000))

    def wait(self, now_us: int) -> None:
        """Sleep until the wall clock reaches the virtual time ``now_us``."""
        ahead = self._began + self.wall_s(now_us) - self.clock()
        if ahead > 0:
            self.sleep(ahead)
        elif ahead < -LATE_S:
            self._began -= ahead

    def wall_s(self, span_us: int) -> float:
        """Return the wall-clock seconds that a virtual time span takes."""
        return span_us / 1_000_000 / self.speed
