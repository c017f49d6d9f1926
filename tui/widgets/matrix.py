"""Matrix widget of partitions and brokers with a cursor; it scrolls by moving its window over the rows."""

from dataclasses import replace
from typing import Final

from textual import events
from textual.message import Message
from textual.strip import Strip

from cluster_model.observation import ClusterView, PartitionView
from tui.terminal import glyphs
from tui.terminal.theme import Appearance, Over
from tui.viewmodel import partition_matrix
from tui.viewmodel.activity import ActivityHistory
from tui.viewmodel.animation import Animation, highlight_changes
from tui.viewmodel.partition_matrix import (
    TREND_WORDS,
    MatrixColumns,
    MatrixHeading,
    MatrixRow,
    MatrixTextRow,
    OverviewRow,
)
from tui.viewmodel.row import LabelPosition
from tui.widgets.line_widget import RIGHT, LineGrid, Span, left, right, strip

# Rows of the matrix as strips.


LOST: Final = 6
"""Cells of the column of missing records, before the sparklines."""


def paint(row: MatrixHeading | MatrixRow | MatrixTextRow | OverviewRow, width: int, appearance: Appearance) -> Strip:
    """Paint one line of the matrix."""
    if isinstance(row, OverviewRow):
        return _glance(row, width, appearance)
    if isinstance(row, MatrixTextRow):
        return strip(row.pieces, width, appearance)
    return _head(row, width, appearance) if isinstance(row, MatrixHeading) else _row(row, width, appearance)


def _glance(row: OverviewRow, width: int, appearance: Appearance) -> Strip:
    cells: list[Span] = [(text, role, "cell" if at == row.cursor else "") for at, (text, role) in enumerate(row.cells)]
    return strip([(f"{glyphs.MARKER if row.cursor >= 0 else ' '} ", "key"), *cells], width, appearance)


def broker_at(parts: MatrixColumns, x: int) -> int:
    """Return the index (among all) of the broker at cell ``x``, -1 for none."""
    offset = x - lead(parts)
    if offset < 0 or offset >= parts.broker * parts.shown:
        return -1
    return parts.first + offset // parts.broker


def lead(parts: MatrixColumns) -> int:
    """Return the number of cells before the first broker."""
    return 2 + parts.name + 1 + 5


def _head(head: MatrixHeading, width: int, appearance: Appearance) -> Strip:
    parts = head.columns
    more_left = glyphs.MORE_LEFT if parts.first else " "
    more_right = glyphs.MORE_RIGHT if parts.first + parts.shown < parts.total else " "
    arrow = glyphs.MORE_BELOW if head.order.descending else glyphs.MORE_ABOVE

    def words(column: str, text: str) -> str:
        """Return a heading, with an arrow behind it if the partitions are sorted by that column."""
        return text + arrow if column == head.order.column and head.order != partition_matrix.IN_ORDER else text

    first = words("", "") and f"{arrow} name"[: lead(parts) - 6]
    epoch = words("epoch", "epoch").rjust(lead(parts) - 1 - len(first))
    spans: list[Span] = [(first, "calm"), (epoch + more_left, "quiet")]
    for index, cell in enumerate(head.brokers):
        text = left(cell.text, parts.broker)
        spans.append((text, "strong" if index == head.cursor and cell.role == "in_sync" else cell.role))
    isr = left(f" {words('ISR', 'ISR')}", parts.isr)
    numbers = f"{right(words('HW', 'HW'), 7)}{right(words('lag', 'lag'), 7)}"
    lost = f" {words('lost', glyphs.LOST)}" if head.order.column == "lost" else ""
    trend = f"{right('acked', TREND_WORDS - 1)}{' ' * (1 + parts.trend)}{right('latency', TREND_WORDS - 1)}"
    spans.append((f"{more_right}{isr}{numbers}{f'{left(lost, LOST)}{trend}' if parts.trend else lost}", "quiet"))
    return strip(spans, width, appearance)


def column_at(parts: MatrixColumns, x: int) -> str | None:
    """Return the column that a click on cell ``x`` of the heading sorts by, None over a broker."""
    after = lead(parts) + parts.broker * parts.shown + 1
    ends = {"": 2 + parts.name, "epoch": lead(parts)}
    if x >= after:
        ends |= {"ISR": after + parts.isr, "HW": after + parts.isr + 7, "lag": after + parts.isr + 14, "lost": 1 << 30}
    elif x >= lead(parts):
        return None
    return next(column for column, end in ends.items() if x < end)


def pieces(parts: MatrixColumns) -> int:
    """Return the number of pieces of a row, which a sweep highlights one after the other."""
    return 2 + parts.shown + bool(parts.isr) + 2


def _row(row: MatrixRow, width: int, appearance: Appearance) -> Strip:
    parts = row.columns
    here = row.cursor >= 0
    over: Over = "row" if here else ""
    fresh: Over = "fresh row" if here else "fresh"

    def lies(name: str, piece: int) -> Over:
        return "cell" if piece == row.sweep else fresh if name in row.fresh else over

    name = left(row.name, parts.name) + " "
    spans: list[Span] = (
        [(f"{glyphs.MARKER if here else ' '} ", "key", over), (name, "strong" if here else "text", lies("name", 0))]
        if here or row.fresh or row.sweep >= 0
        else [(f"  {name}", "text", over)]
    )
    spans.append((left(row.epoch, 5), row.epoch_role, lies("epoch", 1)))
    for index, cell in enumerate(row.cells):
        if index == row.cursor:
            # The cursor is as wide as its text, so that the columns stay apart.
            text = left(cell.text, parts.broker - 1).rstrip()
            spans.append((text, cell.role, "cell"))
            spans.append((" " * (parts.broker - len(text)), "text", over))
        else:
            swept = row.sweep == index + 2
            spans.append((left(cell.text, parts.broker), cell.role, "cell" if swept else fresh if cell.fresh else over))
    at = 2 + len(row.cells)
    if parts.isr:
        spans.append((left(f"  {row.isr}", parts.isr + 1), row.isr_role, lies("isr", at)))
        at += 1
    spans.append((f"{'' if parts.isr else ' '}{right(row.hw, 7)}", "text", lies("hw", at)))
    spans.append((right(row.lag, 7), row.lag_role, lies("lag", at + 1)))
    if row.lost:
        spans += [(" ", "text", over), (row.lost, "lost", fresh if "lost" in row.fresh else over)]
    if row.trend:
        spans.append((" " * max(0, LOST - (1 + len(row.lost) if row.lost else 0)), "text", over))
        spans += [(text, role, over) for text, role in row.trend]
    return strip(spans, width, appearance, over=over)


class Matrix(
    LineGrid[
        partition_matrix.MatrixHeading
        | partition_matrix.MatrixRow
        | partition_matrix.MatrixTextRow
        | partition_matrix.OverviewRow
    ],
    can_focus=True,
):
    """Matrix of partitions and brokers. The cursor is a (partition, broker) pair of indexes from 0.

    With a filter the cursor is on a partition that matches, as long as there is one.
    """

    class Moved(Message):
        """Message: the cursor of the matrix moved."""

    class HeadingClicked(Message):
        """The heading of a column was clicked."""

        def __init__(self, column: str) -> None:
            super().__init__()
            self.column = column

    class PartitionRightClicked(Message):
        """A cell was clicked with the right button, which requests its fault sheet."""

    class PartitionDoubleClicked(Message):
        """Message: a cell of the matrix was double-clicked."""

    def __init__(self, appearance: Appearance, motion: Animation | None = None) -> None:
        super().__init__(paint, appearance, id="matrix")
        self._motion = motion or Animation()
        self.cursor = (0, 0)
        self.position = ""
        """Visible part of the partitions, for the border."""
        self.words = ""
        """Words of the filter."""
        self.heat = False
        """Whether cells show the lag of replicas as a heat map."""
        self.overview = False
        """Whether the overview with one cell per partition is shown."""
        self.order = partition_matrix.IN_ORDER
        """Order of the partitions in the view."""
        self._name = ""
        """Name of the partition under the cursor."""
        self._partitions: tuple[PartitionView, ...] = ()
        """Partitions in their order."""
        self._follows = False
        """Whether the cursor follows its partition, which other values may move."""
        self._fitting: list[int] = []
        """Indexes of the partitions that match the filter."""
        self._first = (0, 0)
        self._first_line = 0
        self._sizes = (0, 0)

    def present(self, view: ClusterView, activity: ActivityHistory | None = None) -> None:
        """Show the view, with the cursor visible; with ``activity``, sparklines where there is room."""
        before = self.cursor
        self.keep_within(view)
        if self.words and self.cursor != before:
            self.post_message(self.Moved())
        shown = view
        if len(self._fitting) < len(view.partitions):
            shown = replace(view, partitions=tuple(view.partitions[number] for number in self._fitting))
        position = (self._fitting.index(self.cursor[0]) if self._fitting else 0, self.cursor[1])
        if self.overview:
            self._present_glance(shown, position[0], len(view.partitions))
            return
        width, height = self.size
        built = partition_matrix.build_matrix(
            shown,
            width=width,
            height=height - self.heat,
            cursor=position,
            before=self._first,
            heat=self.heat,
            activity=activity,
        )
        self._first = (built.first, built.head.columns.first)
        self._set_position(built.position, len(view.partitions))
        seen = shown.partitions[built.first : built.first + len(built.rows)]
        rows = highlight_changes(built.rows, seen, self._motion, pieces(built.head.columns))
        self.show((replace(built.head, order=self.order), *rows, *self._below(built.head.columns)))

    def _set_position(self, position: str, total: int) -> None:
        filtered = partition_matrix.filter_text(self.words, len(self._fitting), total)
        self.position = f" {glyphs.NOTHING} ".join(each for each in (filtered, position) if each)

    def _present_glance(self, view: ClusterView, row: int, total: int) -> None:
        width, height = self.size
        built = partition_matrix.build_overview(view.partitions, row, width, height, self._first_line)
        self._first_line = built.first
        self._set_position("", total)
        parts = partition_matrix.columns(view, width, self.cursor[1])
        legend = built.legend or (
            (f"  no partition matches {self.words}" if self.words else "  no partitions", "quiet"),
        )
        self.show((*built.rows, partition_matrix.MatrixTextRow(parts, legend)))

    def _below(self, columns: partition_matrix.MatrixColumns) -> list[partition_matrix.MatrixTextRow]:
        """Return the lines below the partitions."""
        rows: list[partition_matrix.MatrixTextRow] = []
        if self.words and not self._fitting:
            rows.append(partition_matrix.MatrixTextRow(columns, ((f"  no partition matches {self.words}", "quiet"),)))
        if self.heat:
            rows.append(partition_matrix.MatrixTextRow(columns, partition_matrix.heat_legend(self.size.width)))
        return rows

    def in_turn(self, view: ClusterView) -> tuple[PartitionView, ...]:
        """Return the partition under the cursor, then those after it, wrapping around."""
        at = self.cursor[0]
        others = [number for number in self._fitting if number != at]
        return tuple(
            view.partitions[number] for number in (at, *(n for n in others if n > at), *(n for n in others if n < at))
        )

    def places(self) -> list[LabelPosition]:
        """Return the visible partitions and brokers as jump targets."""
        labels, left, top = [], self.region.x, self.region.y
        for number, row in enumerate(self.rows):
            if isinstance(row, partition_matrix.MatrixRow):
                partition = self._fitting[self._first[0] + number - 1]
                labels.append(LabelPosition(left, top + number, "row", str(partition)))
            elif isinstance(row, partition_matrix.MatrixHeading):
                parts = row.columns
                start = left + lead(parts)
                labels += [
                    LabelPosition(start + at * parts.broker, top, "column", str(parts.first + at))
                    for at in range(parts.shown)
                ]
        return labels

    def keep_within(self, view: ClusterView) -> None:
        """Move the cursor into the current partitions and brokers, without presenting the matrix."""
        self._sizes = (len(view.partitions), len(view.brokers))
        self._fitting = partition_matrix.fitting(view.partitions, self.words)
        at = self.cursor[0]
        if self._follows and self._name and not (at < len(view.partitions) and view.partitions[at].name == self._name):
            at = next((number for number, each in enumerate(view.partitions) if each.name == self._name), at)
        self._follows = self.order != partition_matrix.IN_ORDER
        self.cursor = self._within((at, self.cursor[1]))
        self._partitions = view.partitions
        self._name = view.partitions[self.cursor[0]].name if view.partitions else ""

    def follow(self) -> None:
        """Keep the cursor on its partition when the view has another order next."""
        self._follows = True

    def move(self, partitions: int, brokers: int) -> None:
        """Move the cursor; it stops at the edges. In the overview it moves over cells and lines of them."""
        if self.overview:
            lines = partitions if abs(partitions) == 1 else partitions // 5
            partitions, brokers = brokers + lines * partition_matrix.per_row(self.size.width), 0
        partition = (
            partition_matrix.stepped(self._fitting, self.cursor[0], partitions) if partitions else self.cursor[0]
        )
        self._go((partition, self.cursor[1] + brokers))

    def turn(self, partitions: int) -> None:
        """Move the cursor over partitions, wrapping around."""
        self._go((partition_matrix.stepped(self._fitting, self.cursor[0], partitions, around=True), self.cursor[1]))

    def move_to(self, partition: int, broker: int) -> None:
        """Set the cursor."""
        self._go((partition, broker))

    def spot(self, x: int, y: int) -> tuple[int, int] | None:
        """Return partition and broker at a cell, -1 for the heading and for none; None below all lines."""
        row = self.rows[y] if 0 <= y < len(self.rows) else None
        if row is None:
            return None
        if isinstance(row, partition_matrix.OverviewRow):
            inside = 2 <= x < 2 + len(row.cells)
            cell = (self._first_line + y) * partition_matrix.per_row(self.size.width) + x - 2
            return (self._fitting[cell] if inside else -1, -1)
        partition = self._fitting[self._first[0] + y - 1] if isinstance(row, partition_matrix.MatrixRow) else -1
        return partition, broker_at(row.columns, x)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Select the cell; with the right button request its fault sheet."""
        spot = self.spot(event.x, event.y)
        if spot is None:
            return
        partition, broker = spot
        row = self.rows[event.y]
        if isinstance(row, MatrixHeading) and event.button != RIGHT:
            column = column_at(row.columns, event.x)
            if column is not None:
                self.post_message(self.HeadingClicked(column))
                return
        self._go((partition if partition >= 0 else self.cursor[0], broker if broker >= 0 else self.cursor[1]))
        if event.button == RIGHT:
            self.post_message(self.PartitionRightClicked())

    def on_click(self, event: events.Click) -> None:
        """Open the log of the replica on a double click."""
        spot = self.spot(event.x, event.y)
        if event.chain == 2 and event.button != RIGHT and spot is not None and spot[0] >= 0:
            self.post_message(self.PartitionDoubleClicked())

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move the cursor."""
        event.stop()
        self.move(1, 0)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move the cursor."""
        event.stop()
        self.move(-1, 0)

    def _within(self, cursor: tuple[int, int]) -> tuple[int, int]:
        partitions, brokers = self._sizes
        partition = max(0, min(cursor[0], partitions - 1))
        return partition_matrix.nearest(self._fitting, partition), max(0, min(cursor[1], brokers - 1))

    def _go(self, cursor: tuple[int, int]) -> None:
        cursor = self._within(cursor)
        if cursor != self.cursor:
            self.cursor = cursor
            self._name = self._partitions[cursor[0]].name if self._partitions else ""
            self.post_message(self.Moved())
