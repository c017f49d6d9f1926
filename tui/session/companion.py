"""Another branch beside the one on the screen, kept at the same virtual time as far as it has come."""

from collections.abc import Callable

from playbooks.timetravel.branches import Branch
from tui.terminal.slices import BATCH


class Companion:
    """Looks into the branch's past only: its session stands still."""

    def __init__(self, branch: Branch) -> None:
        self.branch = branch
        self.at_us = 0
        """The instant wanted."""
        self.lags = False
        """Whether it has yet to come there."""

    @property
    def reaches(self) -> bool:
        """Whether the branch has come as far as that."""
        return self.at_us <= self.branch.session.present_us

    def jump(self, at_us: int) -> None:
        """Show an instant; one that it has not come to is its present."""
        self.at_us, self.lags = at_us, False
        self.branch.session.to_time(at_us)

    def follow(self, at_us: int, out_of_time: Callable[[], bool]) -> bool:
        """Go on to a later instant; False when the time did not do for it."""
        self.at_us = max(at_us, self.at_us)
        self.lags = not self._come(out_of_time)
        return not self.lags

    def _come(self, out_of_time: Callable[[], bool]) -> bool:
        session = self.branch.session
        while session.in_past:
            before = session.cluster.executed
            session.advance(self.at_us, BATCH)
            if not session.in_past:
                break
            session.drain()
            if session.cluster.now_us >= self.at_us and session.cluster.executed - before < BATCH:
                break
            if out_of_time():
                return False
        return True

    def leave(self) -> None:
        """Show its present again."""
        self.branch.session.to_present()
