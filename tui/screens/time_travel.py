"""Pages of time travel: go to a time, bookmarks, branches, a branch as it is built, two branches compared."""

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
from tui.screens.base import ChoiceScreen, LiveScreen, ModeScreen, Piece, Reachable, led_by
from tui.session.session_controller import Companion, SimBridge
from tui.terminal import glyphs
from tui.terminal.format import InstantError, instant_us
from tui.terminal.theme import Look
from tui.viewmodel import log_view
from tui.viewmodel.row import LabelPosition
from tui.viewmodel.timeline import branches
from tui.viewmodel.timeline.branches import Bookmark, Bookmarks
from tui.widgets.log import Lanes
from tui.widgets.panes import Pane, SidePane

ABREAST: Final = 110
"""From this width on the logs stand side by side, below it one above the other."""


class Log(Lanes):
    """One of the logs; what of it is shown goes by its width."""

    def on_resize(self) -> None:
        """It has become wider or narrower: another part of the log fits."""
        if isinstance(self.screen, CompareScreen):
            self.screen.present()


class CompareScreen(ModeScreen):
    """The branch on the screen, and the companion that the bridge keeps beside it."""

    MODE = "cluster"
    SCOPE = "compare"
    HINTS = ("{compare_up} {compare_down} other partition", "esc back", "{fault} fault", "{help} help", "{undo} undo")
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("compare")

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__(look, bridge)
        self._lanes = (Log(look), Log(look))
        self._panes = tuple(Pane(each, look, title="", id=f"compare-{at}") for at, each in enumerate(self._lanes))
        self._numbers = SidePane(look, "compare-numbers")
        self._mine = bridge.companion
        self._arranged = (False, 0)
        """Whether the logs stand side by side, and how high they are."""

    def body(self) -> list[Widget]:
        """The logs, and below them the numbers."""
        numbers = Pane(self._numbers, self.look, title="Both at this instant", id="compare-numbers-pane")
        return [Container(*self._panes, id="compare-logs"), numbers]

    def on_unmount(self) -> None:
        """The other one is let go, unless a page after this one has another."""
        if self.bridge.companion is self._mine:
            self.bridge.compare(None)

    def resized(self) -> None:
        """The logs have to be given their height again."""
        self._arranged = (False, 0)

    def show(self) -> None:
        """Show both as they are now."""
        companion = self.bridge.companion
        if companion is None:  # one of the two is looked at by itself now
            if self.is_current:
                self.dismiss()
            return
        if not self._lanes[0].size.width:
            return
        here = self.bridge.view
        there = companion.branch.session.cluster.view() if companion.reaches else None
        partition = self._partition(here)
        self._arrange(here, partition)
        letters = (self.bridge.branches.current.letter, companion.branch.letter)
        start = self._show_log(0, letters[0], here, partition, None)
        if there is not None:
            self._show_log(1, letters[1], there, partition, start)
        else:
            self._say_not_so_far(companion)
        self._numbers.show(branches.comparison_rows((here, there), letters, partition)[: self._numbers.size.height])

    def chosen(self) -> int:
        """Whoever leads that partition in the branch on the screen."""
        return led_by(self.bridge.view, self.partition_name(), super().chosen())

    def action_partition(self, partitions: int) -> None:
        """Another partition of both."""
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
        """One of the logs from an offset on, or its tail where that is None; the offset."""
        widget, found = self._lanes[at], branches.partition_of(view, name)
        if found is None:
            widget.show([log_view.PartitionHeading(f"{letter} has no partition {name}" if name else "no partitions")])
            self._panes[at].caption(letter)
            return start or 0
        widget.start = start
        source = (self.bridge.session if at == 0 else self._companion.branch.session).cluster.log_view
        widget.present(view, (found,), -1, source)
        self._panes[at].caption(f"{letter} {glyphs.NOTHING} {clock(view.now_us)} {glyphs.NOTHING} {widget.title}")
        return log_view.window(found, log_view.cells(widget.size.width), start)[0]

    @property
    def _companion(self) -> Companion:
        assert self.bridge.companion is not None
        return self.bridge.companion

    def _say_not_so_far(self, companion: Companion) -> None:
        letter = companion.branch.letter
        words = branches.not_so_far(letter, self.bridge.view.now_us, companion.branch.session.present_us)
        self._lanes[1].show([log_view.PartitionHeading(words)])
        self._panes[1].caption(letter)


# The bookmarks of a session: a list to go to one of them.


class BookmarksScreen(ChoiceScreen):
    """``go`` is told which, after the list is gone."""

    TITLE_WORDS = "Bookmarks"
    KEYS_WORDS = f"{{marks_take}}: go there {glyphs.NOTHING} {{marks_forget}}: forget it {glyphs.NOTHING} esc"
    SCOPE = "marks"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("marks")

    def __init__(
        self, look: Look, marks: Bookmarks, go: Callable[[Bookmark], None], keys: Sequence[KeyBinding] = KEYS
    ) -> None:  # fmt: skip
        super().__init__(look)
        self._keys = keys
        self._marks = marks
        self._go = go

    def lines(self, width: int) -> list[list[Piece]]:
        """A bookmark each."""
        return [
            [
                (f"{glyphs.MARKER if at == self.chosen else ' '} ", "key"),
                (f"{self._marks[at].words:<{width - 2}}", "text"),
            ]
            for at in range(len(self._marks))
        ]

    def foot(self, width: int) -> str:
        """What there is to say."""
        none = f"no bookmarks yet: {word_of('bookmark', self._keys)} puts one at the instant on the screen"
        return "kept until you quit" if self._marks else none

    def action_take(self) -> None:
        """Go there."""
        if self._marks:
            mark = self._marks[self.chosen]
            self.dismiss()
            self._go(mark)

    def action_forget(self) -> None:
        """Take it out of the list."""
        if self._marks:
            self._marks.drop(self._marks[self.chosen])
            self.action_choose(0)


# The branches of a session: a list to change over, and to compare two of them.


class BranchesScreen(ChoiceScreen):
    """``switch`` and ``compare`` are told what was chosen, after the list is gone."""

    TITLE_WORDS = "Branches"
    KEYS_WORDS = (
        f"{{branch_take}}: change over {glyphs.NOTHING} {{branch_compare}}: compare with the one on the screen"
        f" {glyphs.NOTHING} esc"
    )
    SCOPE = "branch"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("branch")

    def __init__(
        self, look: Look, bridge: SimBridge, switch: Callable[[Branch], None], compare: Callable[[Branch], None],
        keys: Sequence[KeyBinding] = KEYS,
    ) -> None:  # fmt: skip
        super().__init__(look)
        self._keys = keys
        self._bridge = bridge
        self._switch = switch
        self._compare = compare
        self._known: dict[Branch, branches.BranchRow] = {}
        self.chosen = list(bridge.branches).index(bridge.branches.current)

    def head(self, width: int) -> list[Piece]:
        """Names of the columns."""
        return branches.heading(width)

    def lines(self, width: int) -> list[list[Piece]]:
        """A branch each."""
        return [branches.line(row, width, chosen=at == self.chosen) for at, row in enumerate(self._rows())]

    def foot(self, width: int) -> str:
        """What the chosen one is."""
        rows = self._rows()
        if len(rows) == 1:
            what_if, undo = key_of("what_if", self._keys), key_of("undo", self._keys)
            return f"only {rows[0].letter} so far: {what_if} begins a branch, and so does {undo} or acting in the past"
        return branches.about_branch(rows[self.chosen], width)

    def action_take(self) -> None:
        """Change over."""
        branch = self._branch()
        self.dismiss()
        self._switch(branch)

    def action_compare(self) -> None:
        """Compare it with the one on the screen."""
        branch = self._branch()
        if branch is self._bridge.branches.current:
            self.notify("this one is on the screen: choose another one to compare it with", severity="warning")
            return
        self.dismiss()
        self._compare(branch)

    def _branch(self) -> Branch:
        return list(self._bridge.branches)[self.chosen]

    def _rows(self) -> list[branches.BranchRow]:
        return [self._row(each) for each in self._bridge.branches]

    def _row(self, branch: Branch) -> branches.BranchRow:
        """Those that stand still are looked at once."""
        shown = branch is self._bridge.branches.current
        known = self._known.get(branch)
        if known is None or shown:
            parent = branch.parent.letter if branch.parent is not None else ""
            view = branch.live.cluster.view()
            known = branches.row(branch.letter, parent, branch.left_us, branch.began, view, shown=shown)
            self._known[branch] = known
        return known


# A time to go to: a prompt over the main screen, with what is allowed below it.


TITLE: Final = "Go to"
MOST: Final = 8
"""Bookmarks shown at once."""


class GotoScreen(ModalScreen[int | Bookmark | None], Reachable):
    """Returns a time of the session in microseconds, a bookmark that was chosen, None when it is left."""

    SCOPE = "to_time"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("to_time")

    def __init__(
        self, look: Look, first_us: int, present_us: Callable[[], int], marks: Sequence[Bookmark] = ()
    ) -> None:  # fmt: skip
        super().__init__()
        self._look = look
        self._marks = marks
        self._list = Static()
        self.chosen = -1
        """Which bookmark is marked, -1: none."""
        self._first_us = first_us
        self._present_us = present_us
        self._prompt = Input(id="goto-prompt")
        self._page = Static()

    def compose(self) -> ComposeResult:
        """The prompt, and a line."""
        with VerticalScroll(id="goto"):
            yield Static(self._styled(TITLE, "calm"))
            yield self._prompt
            yield self._page
            yield self._list

    def on_mount(self) -> None:
        """Ready to be typed at."""
        first, last = clock(self._first_us), clock(self._present_us())
        self._tell(f"a time from {first} to {last}: 12.5s, 1m or 00:12.5; esc", "text")
        self._show()
        self._prompt.focus()

    def action_choose(self, marks: int) -> None:
        """Mark another bookmark; above the first one there is none."""
        self.chosen = max(-1, min(self.chosen + marks, len(self._marks) - 1))
        self._show()

    def on_input_changed(self, _message: Input.Changed) -> None:
        """What is typed goes before what is marked."""
        self.chosen = -1
        self._show()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Go there, or say what is wrong."""
        if self.chosen >= 0:
            self.dismiss(self._marks[self.chosen])
            return
        try:
            self.dismiss(instant_us(message.value.strip(), self._first_us, self._present_us()))
        except InstantError as error:
            self._tell(str(error), "warning")

    def action_leave(self) -> None:
        """Stay where we are."""
        self.dismiss(None)

    def spots(self) -> list[LabelPosition]:
        """The bookmarks in sight."""
        left, top = self._list.region.offset
        shown = range(self._start, min(self._start + MOST, len(self._marks)))
        return [LabelPosition(left, top + 1 + at - self._start, "bookmark", str(at)) for at in shown]

    def go_to_spot(self, place: LabelPosition) -> None:
        """Mark that one."""
        self.chosen = int(place.key)
        self._show()

    @property
    def _start(self) -> int:
        """The first bookmark that is shown."""
        return max(0, min(self.chosen - MOST // 2, len(self._marks) - MOST))

    def _show(self) -> None:
        """The bookmarks around the marked one."""
        start = self._start
        lines = []
        for at, mark in enumerate(self._marks[start : start + MOST], start):
            here = at == self.chosen
            lines.append(self._styled(f"{glyphs.MARKER if here else ' '} {mark.words}", "strong" if here else "text"))
        heading = (
            [self._styled(self.keyed("bookmarks: {to_time_up} {to_time_down} mark one, enter goes there"), "quiet")]
            if lines
            else []
        )
        self._list.update(Content("\n").join([*heading, *lines]))

    def _tell(self, text: str, role: str) -> None:
        self._page.update(self._styled(text, role))

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._look.text(text), Style.from_rich_style(self._look.style(role)))


# A branch as it is built: its progress. Nothing else moves meanwhile; escape gives it up.


WIDTH: Final = 40
"""Cells of the whole way."""


class GrowingScreen(LiveScreen):
    """It closes by itself when the branch has come."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("growing")

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__()
        self._look = look
        self._bridge = bridge
        self._page = Static()

    def compose(self) -> ComposeResult:
        """Three lines."""
        with VerticalScroll(id="growing", can_focus=False):
            yield self._page

    def on_mount(self) -> None:
        """The first look."""
        self.present()

    def present(self) -> None:
        """How far it is."""
        growing = self._bridge.growing
        if growing is None or not self._page.is_attached:
            return
        letter, percent = growing.branch.letter, growing.percent
        done = min(WIDTH, percent * WIDTH // 100)
        way = f"{glyphs.ABOVE_HW * done}{glyphs.NOTHING * (WIDTH - done)} {percent:>3} %"
        lines = (
            (f"Branch {letter} runs again what happened up to {clock(growing.until_us)}", "calm"),
            (way, "text"),
            ("everything else stands still meanwhile; esc: never mind", "quiet"),
        )
        self._page.update(Content("\n").join([self._styled(*line) for line in lines]))

    def action_give_up(self) -> None:
        """Forget the branch; what was looked at before is looked at still."""
        self._bridge.branches.give_up()
        self.dismiss()

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._look.text(text), Style.from_rich_style(self._look.style(role)))
