"""The keys of branches and bookmarks: acting in the past, undoing, and going from one branch to another."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from faults.declarations.action import Action
from faults.declarations.fault import FaultError
from playbooks.timetravel.branches import Branch
from tui.keybindings.keymap import key_of, word_of
from tui.screens.times import Times
from tui.terminal import glyphs
from tui.viewmodel.timeline.bookmarks import Bookmark, Bookmarks

if TYPE_CHECKING:
    from tui.screens.finding import Onward

LONG_S: Final = 8
"""How long what is to be tried stands on the screen."""


class Forking(Times):
    """A screen over a session that others branch off from."""

    def __init__(self) -> None:
        super().__init__()
        self.bookmarks = Bookmarks()

    # -- branches ---------------------------------------------------------------------------------------------------

    def action_undo(self) -> None:
        """Back to right before the last action, without it."""
        self._branch(self.bridge.undo)

    def action_redo(self) -> None:
        """Back to the branch in which it stands."""
        self._branch(self.bridge.redo)

    def action_what_if(self) -> None:
        """A branch from this instant on, in which nothing is done yet."""
        self._branch(self.bridge.fork)

    def action_branches(self) -> None:
        """The list of branches."""
        from tui.screens.branches import BranchesScreen  # noqa: PLC0415 - first paint does without it

        if not self.toosmall.display:
            self.app.push_screen(BranchesScreen(self.look, self.bridge, self.switch, self.compare, self.keys))

    def switch(self, branch: Branch) -> None:
        """Change over to another branch."""
        if branch is not self.bridge.branches.current:
            self._branch(lambda: self.bridge.switch(branch))

    def compare(self, branch: Branch) -> None:
        """Put another branch beside this one."""
        from tui.screens.time_travel import CompareScreen  # noqa: PLC0415 - first paint does without it

        self.action_mode("cluster")
        self.bridge.compare(branch)
        self.app.push_screen(CompareScreen(self.look, self.bridge))

    def go_onward(self, onward: "Onward") -> None:
        """From an autopsy to the instant of a frame, to a branch from there on, or to one with something else set."""
        change = onward.change
        if change is not None:
            self._branch(lambda: self.bridge.otherwise(change.name, change.settings))
        elif not onward.branches:
            self.go_to(onward.at_us)
        else:
            self.bridge.to_time(onward.at_us)
            self._jumped()
            self._branch(self.bridge.fork)
            if onward.told:
                self.toast(onward.told, seconds=LONG_S)

    def acted(self, action: Action) -> str:
        """Do what is asked, and say what came of it; why not, where it was refused. In the past a branch begins."""
        refused = ""
        try:
            told = self.bridge.act(action)
            if told:
                self.toast(f"{told} {glyphs.NOTHING} {key_of('undo', self.keys)}: undo")
        except FaultError as error:
            refused = f"refused: {error}"
        self._moved()
        self.branched()
        return refused

    def branched(self) -> None:
        """After something that may have begun a branch: show it on its way, or say that it has come."""
        from tui.screens.growing import GrowingScreen  # noqa: PLC0415 - first paint does without it

        if self.bridge.growing is not None:
            self.app.push_screen(GrowingScreen(self.look, self.bridge))
            self._moved()
        else:
            self.tell_news()

    def tell_news(self) -> None:
        """Of branches that have come, or did not."""
        from tui.screens.growing import GrowingScreen  # noqa: PLC0415 - first paint does without it

        if not self.bridge.news:
            return
        if isinstance(self.app.screen, GrowingScreen):
            self.app.screen.dismiss()
        for text, good in self.bridge.news:
            self.toast(text, "information" if good else "warning")
        self.bridge.news.clear()
        self._changed_over()
        beside, self.bridge.beside = self.bridge.beside, None
        if beside is not None:
            self.compare(beside)

    def _branch(self, begin: Callable[[], str]) -> None:
        try:
            told = begin()
        except FaultError as error:
            self.toast(str(error), "warning")
            return
        if told:
            self.toast(told)
            self._changed_over()
        else:
            self.branched()

    def _changed_over(self) -> None:
        """Another session may be looked at: what belongs to the one before is forgotten."""
        self.finding = 0
        self.app.recorder = self.bridge.branches.current.recorder  # type: ignore[attr-defined]
        self._jumped()

    # -- bookmarks --------------------------------------------------------------------------------------------------

    def action_bookmark(self) -> None:
        """Remember this instant."""
        mark = Bookmark(self.bridge.view.now_us, self.bridge.branches.current.letter)
        new = self.bookmarks.put(mark)
        listed = f"bookmark {mark.words}; {word_of('bookmarks', self.keys)}: all of them"
        self.toast(listed if new else f"there is a bookmark at {mark.words}")

    def action_bookmarks(self) -> None:
        """The list of bookmarks."""
        from tui.screens.bookmarks import BookmarksScreen  # noqa: PLC0415 - first paint does without it

        if not self.toosmall.display:
            self.app.push_screen(BookmarksScreen(self.look, self.bookmarks, self.go_to_bookmark, self.keys))

    def go_to_bookmark(self, mark: Bookmark) -> None:
        """Show that instant of that branch."""
        for branch in self.bridge.branches:
            if branch.letter == mark.letter:
                self.switch(branch)
        self.go_to(mark.at_us)
