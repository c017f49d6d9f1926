"""Pages of time travel: go to a time, bookmarks, branches, progress of a new branch, comparison of branches."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Input, Static

from cluster_model.observation import ClusterView
from cluster_model.util.quantities import clock
from playbooks.timetravel.branches import Branch
from tui.keybindings.keymap import KEYS, KeyBinding, key_of, word_of
from tui.keybindings.scopes import bindings_of
from tui.screens.base import ChoiceScreen, LiveScreen, ModeScreen, OverlayPage, Piece, leader_of
from tui.session.session_controller import ComparisonBranch, SessionController
from tui.terminal import glyphs
from tui.terminal.format import InstantError, instant_us
from tui.terminal.theme import Appearance
from tui.viewmodel import log_view
from tui.viewmodel.row import LabelPosition
from tui.viewmodel.timeline import branches
from tui.viewmodel.timeline.branches import Bookmark, Bookmarks
from tui.widgets.log import Lanes
from tui.widgets.panes import Pane, SidePane

ABREAST: Final = 110
"""Minimum width for the logs side by side, else one above the other."""


class Log(Lanes):
    """Log lanes of one branch in the comparison."""

    def on_resize(self) -> None:
        """Present the comparison for the new size."""
        if isinstance(self.screen, CompareScreen):
            self.screen.present()


class CompareScreen(ModeScreen):
    """Comparison of the current branch with another one at the same time."""

    MODE = "cluster"
    SCOPE = "compare"
    HINTS = ("{compare_up} {compare_down} partition", "esc back", "{fault} fault", "{help} help", "{undo} undo")
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("compare")

    def __init__(self, appearance: Appearance, session_controller: SessionController) -> None:
        super().__init__(appearance, session_controller)
        self._lanes = (Log(appearance), Log(appearance))
        self._panes = tuple(Pane(each, appearance, title="", id=f"compare-{at}") for at, each in enumerate(self._lanes))
        self._numbers = SidePane(appearance, "compare-numbers")
        self._own_comparison = session_controller.comparison
        self._arranged = (False, 0)
        """Whether the logs are side by side, and their height."""

    def body(self) -> list[Widget]:
        """Return the logs, and the numbers below."""
        numbers = Pane(self._numbers, self.appearance, title="Both branches at this time", id="compare-numbers-pane")
        return [Container(*self._panes, id="compare-logs"), numbers]

    def on_unmount(self) -> None:
        """Release the other branch, unless a later page has replaced it."""
        if self.session_controller.comparison is self._own_comparison:
            self.session_controller.compare(None)

    def resized(self) -> None:
        """Reset the height of the logs."""
        self._arranged = (False, 0)

    def show(self) -> None:
        """Show both branches at the current time."""
        comparison = self.session_controller.comparison
        if comparison is None:  # the comparison has ended
            if self.is_current:
                self.dismiss()
            return
        if not self._lanes[0].size.width:
            return
        here = self.session_controller.view
        there = comparison.branch.session.cluster.view() if comparison.reaches else None
        partition = self._partition(here)
        self._arrange(here, partition)
        letters = (self.session_controller.branches.current.letter, comparison.branch.letter)
        start = self._show_log(0, letters[0], here, partition, None)
        if there is not None:
            self._show_log(1, letters[1], there, partition, start)
        else:
            self._say_not_so_far(comparison)
        self._numbers.show(branches.comparison_rows((here, there), letters, partition)[: self._numbers.size.height])

    def chosen(self) -> int:
        """Return the leader of the partition in the current branch."""
        return leader_of(self.session_controller.view, self.partition_name(), super().chosen())

    def action_partition(self, partitions: int) -> None:
        """Select another partition."""
        self.main.action_move(partitions, 0)
        self.present()

    def _partition(self, view: ClusterView) -> str:
        return str(view.partitions[self.main.matrix.cursor[0]].name) if view.partitions else ""

    def _arrange(self, view: ClusterView, partition: str) -> None:
        found = branches.partition_of(view, partition)
        height = (len(found.replicas) if found is not None else 1) + 4
        arranged = (self.size.width >= ABREAST, height)
        if arranged == self._arranged:
            return
        self._arranged = arranged
        logs = self.query_one("#compare-logs", Container)
        logs.set_class(arranged[0], "-abreast")
        logs.styles.height = height if arranged[0] else 2 * height

    def _show_log(self, at: int, letter: str, view: ClusterView, name: str, start: int | None) -> int:
        """Show one of the logs from ``start`` on, or its tail if None; return the first offset."""
        widget, partition = self._lanes[at], branches.partition_of(view, name)
        if partition is None:
            widget.show([log_view.PartitionHeading(f"{letter} has no partition {name}" if name else "no partitions")])
            self._panes[at].caption(letter)
            return start or 0
        widget.start = start
        source = (self.session_controller.session if at == 0 else self._comparison.branch.session).cluster.log_view
        widget.present(view, (partition,), -1, source)
        self._panes[at].caption(f"{letter} {glyphs.NOTHING} {clock(view.now_us)} {glyphs.NOTHING} {widget.title}")
        return log_view.window(partition, log_view.cells(widget.size.width), start)[0]

    @property
    def _comparison(self) -> ComparisonBranch:
        assert self.session_controller.comparison is not None
        return self.session_controller.comparison

    def _say_not_so_far(self, comparison: ComparisonBranch) -> None:
        letter = comparison.branch.letter
        words = branches.ends_before(letter, self.session_controller.view.now_us, comparison.branch.session.present_us)
        self._lanes[1].show([log_view.PartitionHeading(words)])
        self._panes[1].caption(letter)


# The list of bookmarks.


class BookmarksScreen(ChoiceScreen):
    """List of bookmarks; ``go`` is called with the selected one after the list is closed."""

    TITLE_WORDS = "Bookmarks"
    KEYS_WORDS = f"{{marks_take}}: go there {glyphs.NOTHING} {{marks_forget}}: delete {glyphs.NOTHING} esc"
    SCOPE = "marks"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("marks")

    def __init__(
        self,
        appearance: Appearance,
        marks: Bookmarks,
        go: Callable[[Bookmark], None],
        keys: Sequence[KeyBinding] = KEYS,
    ) -> None:
        super().__init__(appearance)
        self._keys = keys
        self._marks = marks
        self._go = go

    def lines(self, width: int) -> list[list[Piece]]:
        """Return a line for each bookmark."""
        return [
            [
                (f"{glyphs.MARKER if at == self.chosen else ' '} ", "key"),
                (f"{self._marks[at].words:<{width - 2}}", "text"),
            ]
            for at in range(len(self._marks))
        ]

    def foot(self, width: int) -> str:
        """Return the note below the list."""
        none = f"no bookmarks yet: {word_of('bookmark', self._keys)} adds one at the time shown"
        return "kept until you quit" if self._marks else none

    def action_take(self) -> None:
        """Go to the selected bookmark."""
        if self._marks:
            mark = self._marks[self.chosen]
            self.dismiss()
            self._go(mark)

    def action_forget(self) -> None:
        """Delete the selected bookmark."""
        if self._marks:
            self._marks.drop(self._marks[self.chosen])
            self.action_choose(0)


# The list of branches.


class BranchesScreen(ChoiceScreen):
    """List of branches; ``switch`` or ``compare`` is called with the selected one after the list is closed."""

    TITLE_WORDS = "Branches"
    KEYS_WORDS = (
        f"{{branch_take}}: switch to it {glyphs.NOTHING} {{branch_compare}}: compare with the current one"
        f" {glyphs.NOTHING} esc"
    )
    SCOPE = "branch"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("branch")

    def __init__(
        self,
        appearance: Appearance,
        session_controller: SessionController,
        switch: Callable[[Branch], None],
        compare: Callable[[Branch], None],
        keys: Sequence[KeyBinding] = KEYS,
    ) -> None:
        super().__init__(appearance)
        self._keys = keys
        self._session_controller = session_controller
        self._switch = switch
        self._compare = compare
        self._row_cache: dict[Branch, branches.BranchRow] = {}
        self.chosen = list(session_controller.branches).index(session_controller.branches.current)

    def head(self, width: int) -> list[Piece]:
        """Return the heading of the table."""
        return branches.heading(width)

    def lines(self, width: int) -> list[list[Piece]]:
        """Return a line for each branch."""
        return [branches.line(row, width, chosen=at == self.chosen) for at, row in enumerate(self._rows())]

    def foot(self, width: int) -> str:
        """Return one line about the selected branch."""
        rows = self._rows()
        if len(rows) == 1:
            what_if, undo = key_of("what_if", self._keys), key_of("undo", self._keys)
            return f"only {rows[0].letter} so far: {what_if} starts a branch, as do {undo} and actions in the past"
        return branches.about_branch(rows[self.chosen], width)

    def action_take(self) -> None:
        """Switch to the selected branch."""
        branch = self._branch()
        self.dismiss()
        self._switch(branch)

    def action_compare(self) -> None:
        """Compare the selected branch with the current one."""
        branch = self._branch()
        if branch is self._session_controller.branches.current:
            self.notify("this is the current branch: select another one to compare", severity="warning")
            return
        self.dismiss()
        self._compare(branch)

    def _branch(self) -> Branch:
        return list(self._session_controller.branches)[self.chosen]

    def _rows(self) -> list[branches.BranchRow]:
        return [self._row(each) for each in self._session_controller.branches]

    def _row(self, branch: Branch) -> branches.BranchRow:
        """Return the row of a branch; branches other than the current one do not change, so they are read once."""
        shown = branch is self._session_controller.branches.current
        cached = self._row_cache.get(branch)
        if cached is None or shown:
            parent = branch.parent.letter if branch.parent is not None else ""
            view = branch.live.cluster.view()
            cached = branches.row(branch.letter, parent, branch.left_us, branch.began, view, shown=shown)
            self._row_cache[branch] = cached
        return cached


# The prompt for a time to go to.


TITLE: Final = "Go to"
MOST: Final = 8
"""Maximum number of bookmarks shown."""


class GotoScreen(ModalScreen[int | Bookmark | None], OverlayPage):
    """Prompt for a time; its result is a time in microseconds, a bookmark, or None if it is cancelled."""

    SCOPE = "to_time"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("to_time")

    def __init__(
        self, appearance: Appearance, first_us: int, present_us: Callable[[], int], marks: Sequence[Bookmark] = ()
    ) -> None:  # fmt: skip
        super().__init__()
        self._appearance = appearance
        self._marks = marks
        self._list = Static()
        self.chosen = -1
        """Index of the marked bookmark, -1: none."""
        self._first_us = first_us
        self._present_us = present_us
        self._prompt = Input(id="goto-prompt")
        self._page = Static()

    def compose(self) -> ComposeResult:
        """Yield the prompt, and the lines below it."""
        with VerticalScroll(id="goto"):
            yield Static(self._styled(TITLE, "calm"))
            yield self._prompt
            yield self._page
            yield self._list

    def on_mount(self) -> None:
        """Focus the prompt."""
        first, last = clock(self._first_us), clock(self._present_us())
        self._tell(f"a time from {first} to {last}: 12.5s, 1m or 00:12.5; esc", "text")
        self._show()
        self._prompt.focus()

    def action_choose(self, marks: int) -> None:
        """Mark another bookmark, or none above the first one."""
        self.chosen = max(-1, min(self.chosen + marks, len(self._marks) - 1))
        self._show()

    def on_input_changed(self, _message: Input.Changed) -> None:
        """Unmark the bookmark, as typed text takes precedence."""
        self.chosen = -1
        self._show()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Go to the time or bookmark, or show the error."""
        if self.chosen >= 0:
            self.dismiss(self._marks[self.chosen])
            return
        try:
            self.dismiss(instant_us(message.value.strip(), self._first_us, self._present_us()))
        except InstantError as error:
            self._tell(str(error), "warning")

    def action_leave(self) -> None:
        """Close the prompt."""
        self.dismiss(None)

    def spots(self) -> list[LabelPosition]:
        """Return the visible bookmarks as jump targets."""
        left, top = self._list.region.offset
        shown = range(self._start, min(self._start + MOST, len(self._marks)))
        return [LabelPosition(left, top + 1 + at - self._start, "bookmark", str(at)) for at in shown]

    def go_to_spot(self, position: LabelPosition) -> None:
        """Mark that bookmark."""
        self.chosen = int(position.key)
        self._show()

    @property
    def _start(self) -> int:
        """Index of the first bookmark shown."""
        return max(0, min(self.chosen - MOST // 2, len(self._marks) - MOST))

    def _show(self) -> None:
        """Show the bookmarks around the marked one."""
        start = self._start
        lines = []
        for at, mark in enumerate(self._marks[start : start + MOST], start):
            here = at == self.chosen
            lines.append(self._styled(f"{glyphs.MARKER if here else ' '} {mark.words}", "strong" if here else "text"))
        heading = (
            [self._styled(self.keyed("bookmarks: {to_time_up} {to_time_down} mark one, enter goes to it"), "quiet")]
            if lines
            else []
        )
        self._list.update(Content("\n").join([*heading, *lines]))

    def _tell(self, text: str, role: str) -> None:
        self._page.update(self._styled(text, role))

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._appearance.text(text), Style.from_rich_style(self._appearance.style(role)))


# The progress of a new branch; escape cancels it.


WIDTH: Final = 40
"""Cells of the progress bar."""


class GrowingScreen(LiveScreen):
    """Progress of a new branch; closes when the branch is ready."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("growing")

    def __init__(self, appearance: Appearance, session_controller: SessionController) -> None:
        super().__init__()
        self._appearance = appearance
        self._session_controller = session_controller
        self._page = Static()

    def compose(self) -> ComposeResult:
        """Yield the page."""
        with VerticalScroll(id="growing", can_focus=False):
            yield self._page

    def on_mount(self) -> None:
        """Show the progress."""
        self.present()

    def present(self) -> None:
        """Show the current progress."""
        growing = self._session_controller.growing
        if growing is None or not self._page.is_attached:
            return
        letter, percent = growing.branch.letter, growing.percent
        done = min(WIDTH, percent * WIDTH // 100)
        progress_bar = f"{glyphs.ABOVE_HW * done}{glyphs.NOTHING * (WIDTH - done)} {percent:>3} %"
        lines = (
            (f"Replaying to {clock(growing.until_us)} for branch {letter}", "calm"),
            (progress_bar, "text"),
            ("other views are paused; esc cancels", "quiet"),
        )
        self._page.update(Content("\n").join([self._styled(*line) for line in lines]))

    def action_give_up(self) -> None:
        """Cancel the new branch, and stay in the current one."""
        self._session_controller.branches.discard()
        self.dismiss()

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._appearance.text(text), Style.from_rich_style(self._appearance.style(role)))
