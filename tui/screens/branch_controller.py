"""Branches of the session on the main screen (create, switch, compare), and bookmarks in them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from faults.declarations import FaultError
from playbooks.timetravel.branches import Branch
from tui.keybindings.keymap import word_of
from tui.viewmodel.timeline.branches import Bookmark, Bookmarks

if TYPE_CHECKING:
    from tui.screens.autopsy import AutopsyRequest
    from tui.screens.cluster import MainScreen


LONG_S: Final = 8
"""Seconds that the message with a change to try is shown."""


class BranchController:
    """Creates and switches branches for the main screen; keeps the bookmarks."""

    def __init__(self, screen: "MainScreen") -> None:
        self._screen = screen
        self._session_controller = screen.session_controller
        self.bookmarks = Bookmarks()

    def undo(self) -> None:
        """Start a branch from right before the last action, without it."""
        self.begin(self._session_controller.undo)

    def redo(self) -> None:
        """Return to the branch that contains the undone action."""
        self.begin(self._session_controller.redo)

    def what_if(self) -> None:
        """Start a branch at the current time."""
        self.begin(self._session_controller.fork)

    def open_branches(self) -> None:
        """Open the list of branches."""
        from tui.screens.time_travel import BranchesScreen  # noqa: PLC0415 - first paint does without it

        if not self._screen.toosmall.display:
            self._screen.app.push_screen(
                BranchesScreen(
                    self._screen.appearance, self._session_controller, self.switch, self.compare, self._screen.keys
                )
            )

    def switch(self, branch: Branch) -> None:
        """Switch to another branch."""
        if branch is not self._session_controller.branches.current:
            self.begin(lambda: self._session_controller.switch(branch))

    def compare(self, branch: Branch) -> None:
        """Open the comparison with another branch."""
        from tui.screens.time_travel import CompareScreen  # noqa: PLC0415 - first paint does without it

        self._screen.action_mode("cluster")
        self._session_controller.compare(branch)
        self._screen.app.push_screen(CompareScreen(self._screen.appearance, self._session_controller))

    def go_onward(self, onward: "AutopsyRequest") -> None:
        """Leave an autopsy for the time of a frame, for a branch from there, or for a branch with a changed setting."""
        change = onward.change
        if change is not None:
            self.begin(lambda: self._session_controller.branch_with_settings(change.name, change.settings))
        elif not onward.branches:
            self._screen.go_to(onward.at_us)
        else:
            self._session_controller.to_time(onward.at_us)
            self._screen.jumped()
            self.begin(self._session_controller.fork)
            if onward.message:
                self._screen.toast(onward.message, seconds=LONG_S)

    def branched(self) -> None:
        """After an action that may have started a branch: show its progress, or report that it is ready."""
        from tui.screens.time_travel import GrowingScreen  # noqa: PLC0415 - first paint does without it

        if self._session_controller.growing is not None:
            self._screen.app.push_screen(GrowingScreen(self._screen.appearance, self._session_controller))
            self._screen.moved()
        else:
            self.report_news()

    def report_news(self) -> None:
        """Report branches that are ready, or failed."""
        from tui.screens.time_travel import GrowingScreen  # noqa: PLC0415 - first paint does without it

        if not self._session_controller.news:
            return
        if isinstance(self._screen.app.screen, GrowingScreen):
            self._screen.app.screen.dismiss()
        for text, good in self._session_controller.news:
            self._screen.toast(text, "information" if good else "warning")
        self._session_controller.news.clear()
        self.switched()
        beside, self._session_controller.compare_next = self._session_controller.compare_next, None
        if beside is not None:
            self.compare(beside)

    def begin(self, begin: Callable[[], str]) -> None:
        """Start or switch to a branch; an error is shown as a toast."""
        try:
            message = begin()
        except FaultError as error:
            self._screen.toast(str(error), "warning")
            return
        if message:
            self._screen.toast(message)
            self.switched()
        else:
            self.branched()

    def switched(self) -> None:
        """Reset state of the previous branch after a switch."""
        self._screen.finding = 0
        self._screen.app.recorder = self._session_controller.branches.current.recorder  # type: ignore[attr-defined]
        self._screen.jumped()

    # -- bookmarks ----------------------------------------------------------------------------------------------

    def put_bookmark(self) -> None:
        """Bookmark the current time."""
        mark = Bookmark(self._session_controller.view.now_us, self._session_controller.branches.current.letter)
        new = self.bookmarks.add(mark)
        listed = f"bookmark added: {mark.words}; {word_of('bookmarks', self._screen.keys)} lists all"
        self._screen.toast(listed if new else f"already bookmarked: {mark.words}")

    def open_bookmarks(self) -> None:
        """Open the list of bookmarks."""
        from tui.screens.time_travel import BookmarksScreen  # noqa: PLC0415 - first paint does without it

        if not self._screen.toosmall.display:
            self._screen.app.push_screen(
                BookmarksScreen(self._screen.appearance, self.bookmarks, self.go_to_bookmark, self._screen.keys)
            )

    def go_to_bookmark(self, mark: Bookmark) -> None:
        """Go to the time and branch of a bookmark."""
        for branch in self._session_controller.branches:
            if branch.letter == mark.letter:
                self.switch(branch)
        self._screen.go_to(mark.at_us)
