"""What a bridge does with branches: it grows them by slices, changes over to them, keeps another one beside.

Nothing here moves the branch that is looked at.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from cluster_model.observation.views import ClusterView
from faults.declarations.fault import FaultError
from playbooks.timetravel.branches import Branch, Branches, Growing
from playbooks.timetravel.looking_back import LookingBack
from playbooks.timetravel.otherwise import Otherwise
from tui.session.companion import Companion
from tui.session.seen import Seen
from tui.terminal.frame_clock import FrameClock
from tui.terminal.slices import BATCH, SLICE_S
from tui.viewmodel.log_book import LogBook
from tui.viewmodel.partition_history import Chronicle
from tui.viewmodel.timeline.event_feed import Tape


class Branching(ABC):
    """The part of a bridge that is about branches."""

    clock: FrameClock
    view: ClusterView
    _fraction_us: float
    _seek_until_us: int

    def __init__(self, branches: Branches) -> None:
        self.branches = branches
        self.companion: Companion | None = None
        """Another branch that is kept at the instant of this one, to be compared with it."""
        self.news: list[tuple[str, bool]] = []
        """What to say of a branch that has come about, and whether that is good."""
        self.beside: Branch | None = None
        """The branch that one which has just come about is to be compared with."""
        self._seen = {branches.current: Seen()}

    @abstractmethod
    def look(self) -> ClusterView:
        """Take a fresh view."""

    @abstractmethod
    def pause(self, paused: bool) -> None:
        """Stop or go on."""

    @property
    def session(self) -> LookingBack:
        """The branch that is looked at, at the instant that is."""
        return self.branches.current.session

    @property
    def chronicle(self) -> Chronicle:
        """Who led, who was in sync and who was down in it."""
        return self._now.chronicle

    @property
    def log_book(self) -> LogBook:
        """When records were acknowledged and logs cut: of the whole branch, also while the past is shown."""
        return self._now.log_book

    @property
    def tape(self) -> Tape:
        """What the timeline shows, up to the present."""
        return self._now.tape

    @property
    def growing(self) -> Growing | Otherwise | None:
        """A branch on its way, None where there is none."""
        return self.branches.growing

    @property
    def _now(self) -> Seen:
        return self._seen[self.branches.current]

    def fork(self) -> str:
        """Begin a branch at this instant, as it is."""
        self.branches.fork()
        return self._begun()

    def otherwise(self, name: str, settings: Mapping[str, str]) -> str:
        """Begin a branch that has come to this instant with other settings; ``name`` tells them in a few words."""
        self.branches.otherwise(name, settings)
        return self._begun()

    def undo(self) -> str:
        """Go back to right before the operator's last action, without it; paused."""
        self.pause(True)
        return self._begun() if self.branches.undo() is not None else self._switched()

    def redo(self) -> str:
        """Back to the branch in which the last action stands."""
        self.branches.redo()
        return self._switched()

    def switch(self, branch: Branch) -> str:
        """Look at another branch, at its present, paused."""
        self.branches.switch(branch)
        return self._switched()

    def compare(self, branch: Branch | None) -> None:
        """Keep another branch at this one's instant; None: no longer."""
        if self.companion is not None:
            self.companion.leave()
        self.companion = Companion(branch) if branch is not None else None
        if self.companion is not None:
            self.pause(True)
            self.companion.jump(self.view.now_us)

    def _abreast(self, end: float) -> bool:
        """Bring what is compared with to this instant; False when the slice does not do for it."""
        if self.companion is None:
            return True
        return self.companion.follow(self.session.cluster.now_us, self._until(end))

    def _begun(self) -> str:
        """The first slice: a short way is over by then."""
        self._seek_until_us = -1
        growing = self.growing
        assert growing is not None
        self._seen[growing.branch] = Seen()
        self._grow(self.clock.now() + SLICE_S)
        return ""

    def _switched(self) -> str:
        self.compare(None)
        self.pause(True)
        self._fraction_us = 0.0
        self.look()
        branch = self.branches.current
        return f"branch {branch.letter}"

    def _grow(self, end: float) -> None:
        """Bring the branch that is on its way on for a slice; when it has come, it is looked at."""
        growing = self.growing
        assert growing is not None
        out_of_time, seen, session = self._until(end), self._seen[growing.branch], growing.branch.session
        try:
            while not (come := growing.on(BATCH)) and not out_of_time():
                pass
            seen.take(session.drain(), session.cluster.trace.count)
            if come:
                told = self.branches.arrive()
                self._switched()
                self.news.append((growing.words(told), True))
                self.beside = growing.beside
        except FaultError as error:
            self.branches.give_up()
            self.news.append((f"no branch: {error}", False))

    def _until(self, end: float) -> Callable[[], bool]:
        return lambda: self.clock.now() >= end
