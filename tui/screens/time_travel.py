"""Two branches side by side at one instant: the logs of a partition, and the numbers. The keys of time move both."""

from typing import ClassVar, Final

from textual.binding import BindingType
from textual.containers import Container
from textual.widget import Widget

from cluster_model.observation.views import ClusterView
from tui.keybindings.scopes import bindings_of
from tui.screens.acting import ActingMode, led_by
from tui.session.companion import Companion
from tui.session.session_controller import SimBridge
from tui.terminal import glyphs
from tui.terminal.format import clock
from tui.terminal.theme import Look
from tui.viewmodel import lanes
from tui.viewmodel.timeline import comparison
from tui.widgets.lanes_part import Lanes
from tui.widgets.panes import Pane, SidePane

ABREAST: Final = 110
"""From this width on the logs stand side by side, below it one above the other."""


class Log(Lanes):
    """One of the logs; what of it is shown goes by its width."""

    def on_resize(self) -> None:
        """It has become wider or narrower: another part of the log fits."""
        if isinstance(self.screen, CompareScreen):
            self.screen.present()


class CompareScreen(ActingMode):
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
        self._numbers.show(comparison.rows((here, there), letters, partition)[: self._numbers.size.height])

    def chosen(self) -> int:
        """Whoever leads that partition in the branch on the screen."""
        return led_by(self.bridge.view, self.partition_name(), super().chosen())

    def action_partition(self, partitions: int) -> None:
        """Another partition of both."""
        self._main.action_move(partitions, 0)
        self.present()

    def _partition(self, view: ClusterView) -> str:
        return str(view.partitions[self._main.matrix.cursor[0]].name) if view.partitions else ""

    def _arrange(self, view: ClusterView, partition: str) -> None:
        found = comparison.partition_of(view, partition)
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
        widget, found = self._lanes[at], comparison.partition_of(view, name)
        if found is None:
            widget.show([lanes.Title(f"{letter} has no partition {name}" if name else "no partitions")])
            self._panes[at].caption(letter)
            return start or 0
        widget.start = start
        source = (self.bridge.session if at == 0 else self._companion.branch.session).cluster.log_view
        widget.present(view, (found,), -1, source)
        self._panes[at].caption(f"{letter} {glyphs.NOTHING} {clock(view.now_us)} {glyphs.NOTHING} {widget.title}")
        return lanes.window(found, lanes.cells(widget.size.width), start)[0]

    @property
    def _companion(self) -> Companion:
        assert self.bridge.companion is not None
        return self.bridge.companion

    def _say_not_so_far(self, companion: Companion) -> None:
        letter = companion.branch.letter
        words = comparison.not_so_far(letter, self.bridge.view.now_us, companion.branch.session.present_us)
        self._lanes[1].show([lanes.Title(words)])
        self._panes[1].caption(letter)
