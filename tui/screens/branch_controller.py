"""Branches of the session that the main screen shows: begun, changed to, compared, and bookmarks in them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from faults.declarations import FaultError
from playbooks.timetravel.branches import Branch
from tui.keybindings.keymap import word_of
from tui.viewmodel.timeline.branches import Bookmark, Bookmarks

if TYPE_CHECKING:
    from tui.screens.autopsy import Onward
    from tui.screens.cluster import MainScreen


LONG_S: Final = 8
"""How long what is to be tried stands on the screen."""


class BranchController:
    """Begins branches for the main screen and changes over to them; keeps the bookmarks."""

    def __init__(self, screen: "MainScreen") -> None:
        self._screen = screen
        self._bridge = screen.bridge
        self.bookmarks = Bookmarks()

    def undo(self) -> None:
        """Back to right before the last action, without it."""
        self.begin(self._bridge.undo)

    def redo(self) -> None:
        """Back to the branch in which it stands."""
        self.begin(self._bridge.redo)

    def what_if(self) -> None:
        """A branch from this instant on, in which nothing is done yet."""
        self.begin(self._bridge.fork)

    def open_branches(self) -> None:
        """The list of branches."""
        from tui.screens.time_travel import BranchesScreen  # noqa: PLC0415 - first paint does without it

        if not self._screen.toosmall.display:
            self._screen.app.push_screen(
                BranchesScreen(self._screen.look, self._bridge, self.switch, self.compare, self._screen.keys)
            )

    def switch(self, branch: Branch) -> None:
        """Change over to another branch."""
        if branch is not self._bridge.branches.current:
            self.begin(lambda: self._bridge.switch(branch))

    def compare(self, branch: Branch) -> None:
        """Put another branch beside this one."""
        from tui.screens.time_travel import CompareScreen  # noqa: PLC0415 - first paint does without it

        self._screen.action_mode("cluster")
        self._bridge.compare(branch)
        self._screen.app.push_screen(CompareScreen(self._screen.look, self._bridge))

    def go_onward(self, onward: "Onward") -> None:
        """From an autopsy to the instant of a frame, to a branch from there on, or to one with something else set."""
        change = onward.change
        if change is not None:
            self.begin(lambda: self._bridge.otherwise(change.name, change.settings))
        elif not onward.branches:
            self._screen.go_to(onward.at_us)
        else:
            self._bridge.to_time(onward.at_us)
            self._screen.jumped()
            self.begin(self._bridge.fork)
            if onward.told:
                self._screen.toast(onward.told, seconds=LONG_S)

    def branched(self) -> None:
        """After something that may have begun a branch: show it on its way, or say that it has come."""
        from tui.screens.time_travel import GrowingScreen  # noqa: PLC0415 - first paint does without it

        if self._bridge.growing is not None:
            self._screen.app.push_screen(GrowingScreen(self._screen.look, self._bridge))
            self._screen.moved()
        else:
            self.tell_news()

    def tell_news(self) -> None:
        """Of branches that have come, or did not."""
        from tui.screens.time_travel import GrowingScreen  # noqa: PLC0415 - first paint does without it

        if not self._bridge.news:
            return
        if isinstance(self._screen.app.screen, GrowingScreen):
            self._screen.app.screen.dismiss()
        for text, good in self._bridge.news:
            self._screen.toast(text, "information" if good else "warning")
        self._bridge.news.clear()
        self.changed_over()
        beside, self._bridge.beside = self._bridge.beside, None
        if beside is not None:
            self.compare(beside)

    def begin(self, begin: Callable[[], str]) -> None:
        """Begin a branch, or change over to one; why not is a toast."""
        try:
            told = begin()
        except FaultError as error:
            self._screen.toast(str(error), "warning")
            return
        if told:
            self._screen.toast(told)
            self.changed_over()
        else:
            self.branched()

    def changed_over(self) -> None:
        """Another session may be looked at: what belongs to the one before is forgotten."""
        self._screen.finding = 0
        self._screen.app.recorder = self._bridge.branches.current.recorder  # type: ignore[attr-defined]
        self._screen.jumped()

    # -- bookmarks ----------------------------------------------------------------------------------------------

    def put_bookmark(self) -> None:
        """Remember this instant."""
        mark = Bookmark(self._bridge.view.now_us, self._bridge.branches.current.letter)
        new = self.bookmarks.put(mark)
        listed = f"bookmark {mark.words}; {word_of('bookmarks', self._screen.keys)}: all of them"
        self._screen.toast(listed if new else f"there is a bookmark at {mark.words}")

    def open_bookmarks(self) -> None:
        """The list of bookmarks."""
        from tui.screens.time_travel import BookmarksScreen  # noqa: PLC0415 - first paint does without it

        if not self._screen.toosmall.display:
            self._screen.app.push_screen(
                BookmarksScreen(self._screen.look, self.bookmarks, self.go_to_bookmark, self._screen.keys)
            )

    def go_to_bookmark(self, mark: Bookmark) -> None:
        """Show that instant of that branch."""
        for branch in self._bridge.branches:
            if branch.letter == mark.letter:
                self.switch(branch)
        self._screen.go_to(mark.at_us)
