"""The main screen's own filter, heat and panes, what there is to jump to, and what there is to copy."""

from typing import Final

from tui.screens.filtering import Filtering
from tui.screens.layout import BARS, Box
from tui.screens.paned import Paned
from tui.screens.times import Times
from tui.terminal import glyphs
from tui.viewmodel import filtering, yank
from tui.viewmodel.animation import Motion
from tui.viewmodel.jump import Place
from tui.widgets.filterbar import FilterBar
from tui.widgets.panes import Pane

SHEETS: Final = ("whichkey-pane", "operations-pane")
"""Panes that lie over the others while they are open."""
MATRIX: Final = "matrix-pane"


class Arranged(Paned, Filtering, Times):
    """A screen around the matrix."""

    chosen_pane = MATRIX
    motion: Motion

    def __init__(self) -> None:
        super().__init__()
        self.filter_bar = FilterBar(filtering.FILTER)

    def panes(self) -> list[Pane]:
        """Those in sight; a sheet is none of them."""
        return [pane for pane in super().panes() if pane.display and pane.id not in SHEETS]

    def arranged(self, boxes: dict[str, Box]) -> dict[str, Box]:
        """The places of the panes, of which one may have the whole room."""
        if not boxes:
            return boxes
        if self.maximised not in boxes:
            self.maximised = ""
        if self.chosen_pane not in boxes:
            self.choose_pane(MATRIX)
        width, height = self.size
        return {self.maximised: Box(0, BARS, width, height - BARS - 1)} if self.maximised else boxes

    def lay_out(self) -> None:
        """Share the room out anew."""
        self.share_out()

    def action_out(self) -> None:
        """One step back: out of the filter's line, of the pane that has the whole room, of the filter."""
        if self.filter_bar.display or not self.minimised():
            self.unfiltered()

    def _jumped(self) -> None:
        """Another instant is another picture: nothing has moved in it."""
        self.motion.forget()
        super()._jumped()

    # -- the filter, and heat ---------------------------------------------------------------------------------------

    @property
    def filter_words(self) -> str:
        """Of the matrix."""
        return self.matrix.words

    def filter_by(self, words: str) -> None:
        """Show the partitions that fit, and no others."""
        self.matrix.words = words
        self.present()

    def action_filter(self) -> None:
        """Type a filter, where there is a matrix to see it in."""
        if not self.toosmall.display:
            super().action_filter()

    def on_filter_bar_left(self, message: FilterBar.Left) -> None:
        """The keys are the matrix's again."""
        super().on_filter_bar_left(message)
        self.set_focus(self.matrix)

    def on_filter_bar_stepped(self, message: FilterBar.Stepped) -> None:
        """Move the cursor among what is shown."""
        self.matrix.move(message.lines, 0)

    def action_heat(self) -> None:
        """Tell by colour and bars how far behind replicas and groups are; then all partitions at a glance; no more."""
        shown = self.matrix
        shown.heat, shown.glance = not (shown.heat or shown.glance), shown.heat
        self.motion.forget()
        self.present()

    # -- going there ------------------------------------------------------------------------------------------------

    def places(self) -> list[Place]:
        """Partitions and brokers of the matrix, where that is in sight."""
        return self.matrix.places() if any(pane.id == MATRIX for pane in self.panes()) else []

    def go_to_place(self, place: Place) -> None:
        """A partition, or a broker."""
        partition, broker = self.matrix.cursor
        number = int(place.key)
        self.matrix.place(*((number, broker) if place.kind == "row" else (partition, number)))
        self.choose_pane(MATRIX)

    # -- copying ----------------------------------------------------------------------------------------------------

    def under_cursor(self) -> tuple[str, str]:
        """The cell of the matrix."""
        view = self.bridge.view
        if self.chosen_pane != MATRIX or not view.partitions or not view.brokers:
            return "", ""
        partition, broker = view.partitions[self.matrix.cursor[0]], view.brokers[self.matrix.cursor[1]]
        return f"{partition.name} {glyphs.NOTHING} b{broker.id}", yank.replica(view, partition, broker)
