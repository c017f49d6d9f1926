"""Logs of a partition side by side: lanes, the log microscope, leader-epoch caches and fetches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from cluster_model.inspection.log_inspector import ReplicaLogMarkers
from cluster_model.observation import (
    BrokerState,
    ClusterView,
    EpochRun,
    InflightFetch,
    LogView,
    PartitionView,
    ReplicaLogView,
    ReplicaView,
)
from cluster_model.util.quantities import clock, compact_count, compact_duration, counted
from tui.terminal import glyphs
from tui.terminal.format import records
from tui.terminal.theme import EPOCHS, Over
from tui.viewmodel.partition_history import ReplicaTruncation
from tui.viewmodel.partition_matrix import STATUS, conditions
from tui.viewmodel.row import Row

# The leader-epoch caches of a partition's replicas side by side: epochs and their start offsets.


_LABEL: Final = 7
_LEAST, _MOST = 7, 11
"""Minimum and maximum cells of a column."""
NO_EPOCHS: Final = "no replica has a leader epoch in its cache"


def build_epochs(partition: PartitionView, broker: int, width: int, height: int) -> tuple[Row, ...]:
    """Return a line per epoch, the newest last, a column per replica; differences from the leader are marked."""
    epochs = sorted({epoch for replica in partition.replicas for epoch, _start in replica.epochs})
    if not epochs:
        return (Row(((NO_EPOCHS, "quiet"),)),)
    shown, cell, hidden = _shown(partition, broker, width - 2)
    leader = next((each for each in partition.replicas if each.broker == partition.leader), None)
    heads = [(f"b{each.broker}".rjust(cell), "key" if each.broker == broker else "quiet") for each in shown]
    rest = [(f" +{hidden}", "quiet")] if hidden else []
    rows = [Row((("epoch".ljust(_LABEL), "quiet"), *heads, *rest))]
    room = max(1, height - 1)
    if len(epochs) > room:
        room = max(1, room - 1)
        rows.append(Row(((f"{len(epochs) - room} older {glyphs.MORE_ABOVE}", "quiet"),)))
    rows += [_epoch_row(epoch, shown, leader, cell) for epoch in epochs[-room:]]
    return tuple(rows[: max(1, height)])


def _shown(partition: PartitionView, broker: int, width: int) -> tuple[tuple[ReplicaView, ...], int, int]:
    """Return the replicas that fit (cursor and leader first), the width of a column, and how many are left out."""
    most = max(1, (width - _LABEL) // _LEAST)
    ranked = sorted(partition.replicas, key=lambda each: (each.broker != broker, each.broker != partition.leader))
    kept = {each.broker for each in ranked[:most]}
    shown = tuple(each for each in partition.replicas if each.broker in kept)
    return shown, min(_MOST, (width - _LABEL) // len(shown)), len(partition.replicas) - len(shown)


def _epoch_row(epoch: int, shown: tuple[ReplicaView, ...], leader: ReplicaView | None, cell: int) -> Row:
    right = None if leader is None else dict(leader.epochs).get(epoch)
    pieces = [(str(epoch).ljust(_LABEL), "strong")]
    for replica in shown:
        start = dict(replica.epochs).get(epoch)
        odd = leader is not None and start is not None and start != right
        text = glyphs.NOTHING if start is None else f"{glyphs.DIVERGED if odd else ''}{start}"
        pieces.append((text.rjust(cell), "diverged" if odd else "quiet" if start is None else "text"))
    return Row(tuple(pieces))


# The layout of the log mode.


BARS: Final = 3
"""Lines of the status bar and of the mode bar."""
AROUND: Final = 5
"""Lines of the lanes pane besides the lanes: two of its border, the ruler, the ticks, the truncations."""
LEAST_BELOW: Final = 7
"""Minimum lines of the record pane."""
OVERVIEW: Final = 3
"""Lines of the overview besides its lanes: a blank one, a caption, a ruler."""
MUCH_BELOW: Final = 18
"""Lines that must be left below for the overview to be shown."""
BESIDE_FROM: Final = 72
"""Minimum width for the panes of epochs and fetches beside the record."""


class PaneSizes(NamedTuple):
    """Sizes of the panes of the log mode, borders included."""

    lanes: int
    """Lines of the lanes pane."""
    side_columns: int
    """Columns of the panes to the right of the record, 0: none."""
    epochs: int
    """Lines of the epochs pane, the upper one of these."""


def share(width: int, height: int, replicas: int) -> PaneSizes:
    """Return the sizes of the panes for a number of replicas."""
    body = height - BARS
    lanes = max(AROUND + 1, min(replicas + AROUND, body - LEAST_BELOW))
    if body - lanes - replicas - OVERVIEW >= MUCH_BELOW and lanes == replicas + AROUND:
        lanes += replicas + OVERVIEW
    beside = 0 if width < BESIDE_FROM else max(33, min(width * 2 // 5, 84))
    below = body - lanes
    fetches = max(3, min(replicas + 1, below // 2))
    return PaneSizes(lanes, beside, max(3, below - fetches))


# A record in a log, in every drawing of logs: one character and its role.


def record_look(run: EpochRun, *, sure: bool) -> tuple[str, str]:
    """Return character and role of a record; ``sure``: below its replica's own high watermark. Problems come first."""
    if run.lost:
        return glyphs.LOST, "lost"
    if run.diverged:
        return glyphs.DIVERGED, "diverged_cell"
    hue = run.epoch % len(EPOCHS)
    return (str(run.epoch % 10), f"epoch{hue}") if sure else (glyphs.ABOVE_HW, f"above{hue}")


# The logs of one partition side by side, one cell per offset: the records of each replica and its high watermark.
#
# A lane shows epochs as digits, solid below *that replica's own* high watermark and hatched above it: a high
# watermark that lags is where records get lost.


STEP: Final = 20
"""The window follows the tail in steps of this many offsets, so that the ruler stays readable."""
LABEL: Final = 13
"""Cells before a lane: glyph, broker, replica status."""
NOTE, WIDE_NOTE = 20, 38
"""Cells after a lane, in narrow and wide panes: LEO and problems of the replica."""
WIDE_LANES: Final = 110
"""Minimum width of a pane for problems in words instead of marks."""

_LANE_STATES: Final = {
    "leader": "leader",
    "in_sync": "in-sync",
    "lagging": "lagging",
    "truncating": "trunc.",
    "down": "down",
    "diverged": "differs",
}


@dataclass(frozen=True, slots=True)
class LogLane:
    """Lane of one replica: ``cells`` are (text, role) pieces, together as long as the window."""

    glyph: str
    role: str
    broker: str
    word: str
    cells: tuple[tuple[str, str], ...]
    note: str
    odd: str
    """Problems of the replica as marks, empty without any."""
    cursor: bool


@dataclass(frozen=True, slots=True)
class Ruler:
    """Line of offsets above the lanes."""

    text: str


@dataclass(frozen=True, slots=True)
class LogMarkers:
    """Line below the lanes: the leader's high watermark, and the first offset where logs differ."""

    pieces: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PartitionHeading:
    """Heading of each partition after the first one."""

    text: str


LanesRow = PartitionHeading | Ruler | LogLane | LogMarkers


class LogPosition(NamedTuple):
    """Position in a replica's log: ``offsets`` offsets from ``offset`` on, which is -1 beside the cells."""

    partition: str
    broker: int
    offset: int
    offsets: int = 1


@dataclass(frozen=True, slots=True)
class PartitionLanes:
    """Lanes of a partition, and the title for the border of the pane."""

    title: str
    rows: tuple[LanesRow, ...]


def cells(width: int) -> int:
    """Return how many offsets fit in a pane of ``width`` cells."""
    return max(10, width - LABEL - note_cells(width))


def note_cells(width: int) -> int:
    """Return the cells after a lane in a pane of ``width`` cells."""
    return WIDE_NOTE if width >= WIDE_LANES else NOTE


def tail(leo: int, size: int) -> int:
    """Return the start of the window when it follows the end of the log."""
    beyond = leo + 2 - size
    return 0 if beyond <= 0 else -(-beyond // STEP) * STEP


def window(view: PartitionView, size: int, start: int | None) -> tuple[int, int]:
    """Return the offsets to show: from ``start`` on, or the tail if it is None."""
    if start is None:
        start = tail(max((each.leo for each in view.replicas), default=0), size)
    return start, start + size


def fork(log: LogView) -> int:
    """Return the first offset at which a replica differs from the leader, -1 if none does."""
    return min((run.start for lane in log.lanes for run in lane.runs if run.diverged or run.lost), default=-1)


def build_lanes(
    view: ClusterView, partition: PartitionView, log: LogView, broker: int, note: int = NOTE
) -> PartitionLanes:
    """Return the lanes of ``partition`` over the window of ``log``, with ``note`` cells after each.

    ``broker`` is the id under the cursor.
    """
    leader_leo = next((lane.leo for lane in log.lanes if lane.broker == log.leader), -1)
    rows: list[LanesRow] = [Ruler(_ruler(log.start, log.end))]
    rows += [_replica_lane(lane, log, leader_leo, broker, partition, note) for lane in log.lanes]
    rows.append(LogMarkers(_marks(log, note)))
    return PartitionLanes(title(partition), tuple(rows))


def title(partition: PartitionView) -> str:
    """Return the title of the lanes of a partition."""
    leader = f"leader b{partition.leader}" if partition.leader >= 0 else "no leader"
    isr = ",".join(map(str, partition.isr))
    special = conditions(partition)
    special = f" {glyphs.NOTHING} {special}" if special else ""
    return (
        f"{partition.name}  {glyphs.NOTHING} epoch {partition.leader_epoch} {glyphs.NOTHING} {leader}"
        f" {glyphs.NOTHING} ISR {{{isr}}} {glyphs.NOTHING} min.isr {partition.min_isr}{special}"
    ).replace("  ", " ")


def _replica_lane(
    lane: ReplicaLogView, log: LogView, leader_leo: int, broker: int, partition: PartitionView, note: int
) -> LogLane:
    glyph, role = STATUS[lane.status]
    word = _LANE_STATES[lane.status]
    if lane.broker in partition.leaders and lane.broker != partition.leader:
        glyph, role, word = glyphs.SPLIT, "alarm", "zombie"
    difference = ""
    if lane.broker != log.leader and leader_leo >= 0 and lane.leo != leader_leo:
        behind = leader_leo - lane.leo
        difference = f" {glyphs.MINUS}{behind}" if behind > 0 else f" +{-behind}"
    odd = []
    if lane.diverged:
        odd.append(f"{glyphs.DIVERGED}{lane.diverged}")
    if lane.lost:
        odd.append(f"{glyphs.LOST}{lane.lost}")
    odd += _stale(partition, lane.broker, words=note >= WIDE_NOTE)
    return LogLane(
        glyph=glyph,
        role=role,
        broker=f"b{lane.broker}",
        word=word,
        cells=_cells(lane, log),
        note=f"LEO {lane.leo}{difference}",
        odd=" ".join(odd),
        cursor=lane.broker == broker,
    )


def _stale(partition: PartitionView, broker: int, *, words: bool) -> list[str]:
    """Return the leader and epoch in a broker's metadata of the partition if they are stale, as words or as a mark."""
    texts = []
    for each in partition.beliefs:
        if each.broker == broker and each.leader_epoch < partition.leader_epoch:
            leader = f"b{each.leader}" if each.leader >= 0 else "none"
            mark = f"{glyphs.STALE}{leader} e{each.leader_epoch}"
            texts.append(f"stale: leader {leader}, epoch {each.leader_epoch}" if words else mark)
    return texts


def _cells(lane: ReplicaLogView, log: LogView) -> tuple[tuple[str, str], ...]:
    """Return the window of one lane, in pieces of equal style."""
    pieces: list[tuple[str, str]] = []
    at = log.start
    if log.start < lane.log_start <= log.end:
        pieces.append((" " * (lane.log_start - log.start - 1) + glyphs.LOG_START, "quiet"))
        at = lane.log_start
    for run in lane.runs:
        start, end = max(run.start, at), min(run.end, log.end)
        if start >= end:
            continue
        if start > at:
            pieces.append((" " * (start - at), "text"))
        certain = min(max(lane.hw, start), end)
        for sure, size in ((True, certain - start), (False, end - certain)):
            text, role = record_look(run, sure=sure)
            pieces += [(text * size, role)] if size else []
        at = end
    if at == log.start and lane.leo <= log.start:
        # The whole log is left of the window; an empty lane would look like an empty log.
        text = f"{glyphs.MORE_LEFT} ends at {lane.leo}"[: log.end - log.start]
        pieces.append((text, "quiet"))
        at += len(text)
    mark = _own_hw_beyond_log(lane, log)
    if mark >= at:
        pieces.append((" " * (mark - at) + glyphs.OWN_HW, "warning"))
        at = mark + 1
    if at < log.end:
        pieces.append((" " * (log.end - at), "text"))
    return tuple(pieces)


def _own_hw_beyond_log(lane: ReplicaLogView, log: LogView) -> int:
    """Return the replica's own high watermark if it is beyond its log end (after a truncation), else -1."""
    return lane.hw if lane.hw > lane.leo and log.start <= lane.hw < log.end else -1


def _ruler(start: int, end: int) -> str:
    """Return the ruler: offsets at multiples of 20, a dot at the tens between."""
    line = [" "] * (end - start)
    first = -(-start // 10) * 10
    for offset in range(first, end, 10):
        at = offset - start
        if offset % 20:
            line[at] = glyphs.NOTHING
            continue
        label = f"{glyphs.RULE}{offset}"
        if at + len(label) <= len(line):
            line[at : at + len(label)] = label
    return "".join(line)


def _marks(log: LogView, note: int) -> tuple[tuple[str, str], ...]:
    """Return ``▲ fork 121   ▲ HW 134``, each below its offset; of two that overlap the right one is left out."""
    size = log.end - log.start
    marks = [(log.hw, f"{glyphs.TICK}HW {log.hw}", "calm"), (fork(log), f"{glyphs.TICK}fork {fork(log)}", "alarm")]
    pieces: list[tuple[str, str]] = []
    at = 0
    if 0 <= log.hw < log.start:
        pieces.append((f"{glyphs.MORE_LEFT}HW {log.hw} ", "calm"))
        at = len(pieces[0][0])
    for offset, text, role in sorted(mark for mark in marks if log.start <= mark[0] <= log.end):
        where = offset - log.start
        if where + len(text) > size + note:
            # At the right edge the text comes before the tick.
            text = text[1:] + text[0]  # noqa: PLW2901
            where -= len(text) - 1
        if where < at:
            continue
        pieces += [(" " * (where - at), "text"), (text, role)]
        at = where + len(text)
    return tuple(pieces)


# The position of the microscope: the offset, the window of the log, offsets per cell.


ZOOMS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
"""Allowed numbers of offsets per cell."""


@dataclass(frozen=True, slots=True)
class LogWindow:
    """Window of the microscope: ``size`` cells with ``zoom`` offsets each, and the offset of the cursor."""

    zoom: int = 1
    offset: int | None = None
    """Offset under the cursor; None while it follows the newest record of its replica."""
    start: int = 0
    """First offset of the window, a multiple of the zoom."""
    size: int = 10

    @property
    def end(self) -> int:
        """Offset after the last one of the window."""
        return self.start + self.size * self.zoom

    def cell(self, offset: int) -> int:
        """Return the cell of an offset; it may lie outside of the window."""
        return (offset - self.start) // self.zoom

    def over(self, partition: PartitionView, broker: int, size: int) -> tuple["LogWindow", int]:
        """Return the window fitted to a partition's logs, and the offset under the cursor on the broker's replica."""
        first, last = bounds(partition)
        ends = {each.broker: each.leo for each in partition.replicas}
        at = ends.get(broker, last + 1) - 1 if self.offset is None else self.offset
        at = min(max(at, first), last)
        start = self.start
        if self.offset is None:
            start = tail(-(-(last + 1) // self.zoom), size) * self.zoom
        scope = replace(self, start=start // self.zoom * self.zoom, size=size)
        if not 0 <= scope.cell(at) < size:
            aside = size // 3 if self.offset is not None else size * 2 // 3
            scope = replace(scope, start=max(0, at // self.zoom - aside) * self.zoom)
        return scope, at

    def at(self, offset: int) -> "LogWindow":
        """Return the window with the cursor on an offset; it moves only if it has to."""
        return replace(self, offset=offset)

    def around(self, offset: int) -> "LogWindow":
        """Return the window centred on an offset."""
        start = max(0, offset // self.zoom - self.size // 2) * self.zoom
        return replace(self, offset=offset, start=start)

    def following(self) -> "LogWindow":
        """Return the window with the cursor following the end of the log."""
        return replace(self, offset=None)

    def zoomed(self, steps: int, at: int) -> "LogWindow":
        """Return the window zoomed in (negative) or out; the offset ``at`` keeps its cell."""
        zoom = ZOOMS[min(max(ZOOMS.index(self.zoom) + steps, 0), len(ZOOMS) - 1)]
        return replace(self, zoom=zoom, start=max(0, at // zoom - self.cell(at)) * zoom)


def whole(partition: PartitionView, size: int) -> LogWindow:
    """Return the window that shows the whole logs of a partition in ``size`` cells."""
    first, last = bounds(partition)
    least = -(-(last + 1 - first) // max(1, size - 1))
    zoom = next((each for each in ZOOMS if each >= least), least)
    return LogWindow(zoom=zoom, start=first // zoom * zoom, size=size)


def bounds(partition: PartitionView) -> tuple[int, int]:
    """Return the first and last offset of any replica; of empty logs the offset of the next record."""
    first = min((each.log_start for each in partition.replicas), default=0)
    return first, max(max((each.leo for each in partition.replicas), default=0) - 1, first)


# The cells of one replica's log at any scale: a cell shows the worst record that it covers.


Piece = tuple[str, str, Over]
"""Text, role, and overlay of the cursor."""


class LogCell(NamedTuple):
    """Content of one cell; a greater ``rank`` is worse and takes precedence."""

    rank: int
    text: str
    role: str


EMPTY_CELL: Final = LogCell(0, " ", "text")
HOLE: Final = LogCell(1, glyphs.HOLE, "quiet")
START: Final = LogCell(1, glyphs.LOG_START, "quiet")
_SOLID, _ABOVE, _DIVERGED, _LOST = 2, 4, 5, 6
"""Ranks of cells; control records and holes rank between the first two."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Lane of a replica with the marks to draw on it."""

    lane: ReplicaLogView
    marks: ReplicaLogMarkers
    hw: int
    """High watermark of the leader, -1 without one."""


def pieces(drawing: Drawing, scope: LogWindow, cursor: int) -> tuple[Piece, ...]:
    """Return the lane over the window in pieces of equal style; ``cursor`` is a cell, -1: not on this lane."""
    lane = drawing.lane
    cells = [EMPTY_CELL] * scope.size
    for low, high in drawing.marks.holes:
        _put(cells, scope, (low, high), HOLE)
    for run in lane.runs:
        certain = min(max(lane.hw, run.start), run.end)
        _put(cells, scope, (run.start, certain), _cell(run, sure=True))
        _put(cells, scope, (certain, run.end), _cell(run, sure=False))
    for low, high in drawing.marks.control:
        _over(cells, scope, range(low, high), glyphs.CONTROL)
    for low, high in drawing.marks.open:
        _over(cells, scope, (high - 1,), glyphs.CLOSED)
        _over(cells, scope, (low,), glyphs.OPENED)
    if scope.start < lane.log_start <= scope.end:
        at = scope.cell(lane.log_start - 1)
        cells[at] = START if cells[at] is EMPTY_CELL else cells[at]
    _mark_own_hw(cells, scope, drawing)
    _elsewhere(cells, scope, lane)
    return _joined(cells, cursor)


def _cell(run: EpochRun, *, sure: bool) -> LogCell:
    rank = _LOST if run.lost else _DIVERGED if run.diverged else _SOLID if sure else _ABOVE
    return LogCell(rank, *record_look(run, sure=sure))


def _put(cells: list[LogCell], scope: LogWindow, offsets: tuple[int, int], cell: LogCell) -> None:
    start, end = max(offsets[0], scope.start), min(offsets[1], scope.end)
    if start >= end:
        return
    for at in range(scope.cell(start), scope.cell(end - 1) + 1):
        if cell.rank >= cells[at].rank:
            cells[at] = cell


def _over(cells: list[LogCell], scope: LogWindow, offsets: tuple[int, ...] | range, text: str) -> None:
    """Write over cells without problems, in their colour."""
    for offset in offsets:
        at = scope.cell(offset)
        if 0 <= at < len(cells) and cells[at].rank in (_SOLID, _ABOVE):
            cells[at] = cells[at]._replace(text=text)


def _mark_own_hw(cells: list[LogCell], scope: LogWindow, drawing: Drawing) -> None:
    """Mark this replica's own high watermark if it differs from the leader's."""
    hw = drawing.lane.hw
    at = scope.cell(hw)
    if hw != drawing.hw and drawing.hw >= 0 and 0 <= at < len(cells) and cells[at].rank in (EMPTY_CELL.rank, _ABOVE):
        cells[at] = LogCell(_ABOVE, glyphs.OWN_HW, "warning")


def _elsewhere(cells: list[LogCell], scope: LogWindow, lane: ReplicaLogView) -> None:
    """Write where the log is if it lies outside of the window; an empty lane would look like an empty log."""
    text = ""
    if lane.leo <= scope.start and lane.leo > lane.log_start:
        text = f"{glyphs.MORE_LEFT} ends at {lane.leo}"
    elif lane.log_start >= scope.end:
        text = f"starts at {lane.log_start} {glyphs.MORE_RIGHT}"
    elif lane.leo == lane.log_start and scope.start <= lane.leo:
        text = "empty"
    free = next((at for at, cell in enumerate(cells) if cell is EMPTY_CELL), len(cells))
    room = len(cells) - free
    if text and all(cell is EMPTY_CELL for cell in cells[free:]):
        for at, letter in enumerate(text[:room]):
            cells[free + at] = LogCell(0, letter, "quiet")


def _joined(cells: list[LogCell], cursor: int) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    text, role = "", ""
    for at, cell in enumerate(cells):
        if at == cursor or cell.role != role:
            if text:
                pieces.append((text, role, ""))
            text, role = "", cell.role
        if at == cursor:
            pieces.append((cell.text, cell.role, "cell"))
        else:
            text += cell.text
    if text:
        pieces.append((text, role, ""))
    return tuple(pieces)


_SHORT_STATES: Final = {"down": "down", "truncating": "trunc.", "diverged": "differs"}
TRUNCATED: Final = "no replica has truncated its log so far"


class LaneColumns(NamedTuple):
    """Widths of the parts of a lane."""

    label: int
    """Cells before the log: marker, glyph, broker, replica status."""
    cells: int
    """Cells of the log."""
    note: int
    """Cells after the log."""


@dataclass(frozen=True, slots=True)
class LaneRow:
    """Lane of one replica in the microscope."""

    columns: LaneColumns
    glyph: str
    role: str
    broker: int
    word: str
    cells: tuple[Piece, ...]
    note: str
    odd: str
    """Problems of the replica as marks, empty without any."""
    selected: bool


@dataclass(frozen=True, slots=True)
class MarksRow:
    """Line of marks above or below the lanes."""

    columns: LaneColumns
    pieces: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LogTextRow:
    """Line of plain text below the lanes."""

    text: str
    role: str


MicroscopeRow = LaneRow | MarksRow | LogTextRow


WIDEST_NOTE: Final = 56
"""Cells after a lane of the microscope on wide terminals, where problems are in words."""


def columns(width: int) -> LaneColumns:
    """Return the widths of the parts of a lane; only wide terminals show the high watermark after it."""
    label, note = (17, 15) if width < 100 else (20, 36) if width < 170 else (20, WIDEST_NOTE)
    return LaneColumns(label, max(10, width - label - note), note)


@dataclass(frozen=True, slots=True)
class MicroscopeInput:
    """Data that the microscope shows, and the position of its cursor."""

    partition: PartitionView
    log: LogView
    marks: tuple[ReplicaLogMarkers, ...]
    truncations: tuple[ReplicaTruncation, ...]
    """Truncations so far, the newest first."""
    broker: int
    """Broker whose replica the cursor is on."""
    offset: int
    """Offset under the cursor."""


def build_microscope(
    inputs: MicroscopeInput, scope: LogWindow, shape: LaneColumns, height: int
) -> tuple[MicroscopeRow, ...]:
    """Return all lines; with more replicas than lines, those next to the cursor."""
    lanes = inputs.log.lanes
    at = next((number for number, lane in enumerate(lanes) if lane.broker == inputs.broker), 0)
    room = max(1, min(len(lanes), height - 3))
    first = min(max(0, at - room // 2), len(lanes) - room)
    marks = {each.broker: each for each in inputs.marks}
    rows: list[MicroscopeRow] = [MarksRow(shape, ruler(scope, inputs.offset))]
    rows += [_microscope_lane(lane, marks[lane.broker], inputs, scope, shape) for lane in lanes[first : first + room]]
    rows.append(MarksRow(shape, ticks(inputs, scope, shape)))
    rows.append(_cuts(inputs.truncations))
    return tuple(rows[: max(1, height)])


def overview(
    inputs: MicroscopeInput, scope: LogWindow, shape: LaneColumns, above: LogWindow
) -> tuple[MicroscopeRow, ...]:
    """Return the lanes over the whole log; ``above`` is the window of the detailed lanes above."""
    marks = {each.broker: each for each in inputs.marks}
    caption = f"the whole log, {scale(scope)}; offsets {above.start} to {above.end - 1} are shown above"
    lanes = [
        replace(_microscope_lane(lane, marks[lane.broker], inputs, scope, shape), note="", odd="")
        for lane in inputs.log.lanes
    ]
    return (LogTextRow("", "text"), LogTextRow(caption, "quiet"), MarksRow(shape, ruler(scope, inputs.offset)), *lanes)


def scale(scope: LogWindow) -> str:
    """Return the scale as text."""
    return "1 cell = 1 offset" if scope.zoom == 1 else f"1 cell = {scope.zoom} offsets, showing the worst"


def _microscope_lane(
    lane: ReplicaLogView, marks: ReplicaLogMarkers, inputs: MicroscopeInput, scope: LogWindow, shape: LaneColumns
) -> LaneRow:
    partition, log = inputs.partition, inputs.log
    glyph, role = STATUS[lane.status]
    if lane.broker in partition.leaders and lane.broker != partition.leader:
        glyph, role = glyphs.SPLIT, "alarm"
    selected = lane.broker == inputs.broker
    return LaneRow(
        columns=shape,
        glyph=glyph,
        role=role,
        broker=lane.broker,
        word=_word(lane, partition),
        cells=pieces(Drawing(lane, marks, log.hw), scope, scope.cell(inputs.offset) if selected else -1),
        note=_note(lane, log, shape),
        odd=_odd(lane, inputs, shape),
        selected=selected,
    )


def _word(lane: ReplicaLogView, partition: PartitionView) -> str:
    """Return the status of a replica, and whether it is in the ISR."""
    inside = lane.broker in partition.isr
    if lane.broker in partition.leaders and lane.broker != partition.leader:
        return "zombie"
    if lane.status == "leader":
        return "leader"
    if lane.status in _SHORT_STATES:
        return f"{_SHORT_STATES[lane.status]}{', ISR' if inside else ''}"
    return "in ISR" if inside else "out of ISR"


def _note(lane: ReplicaLogView, log: LogView, shape: LaneColumns) -> str:
    ends = {each.broker: each.leo for each in log.lanes}
    distance = ""
    if lane.broker != log.leader and log.leader in ends and lane.leo != ends[log.leader]:
        behind = ends[log.leader] - lane.leo
        distance = f" {glyphs.MINUS}{compact_count(behind)}" if behind > 0 else f" +{compact_count(-behind)}"
    note = f"LEO {lane.leo}{distance}"
    return note if shape.note < 36 else f"{note.ljust(14)} HW {lane.hw}"


def _odd(lane: ReplicaLogView, inputs: MicroscopeInput, shape: LaneColumns) -> str:
    odd = [f"{glyphs.DIVERGED}{compact_count(lane.diverged)}"] if lane.diverged else []
    if lane.lost:
        odd.append(f"{glyphs.LOST}{compact_count(lane.lost)}")
    partition = inputs.partition
    odd += _stale(partition, lane.broker, words=shape.note >= WIDEST_NOTE)
    return " ".join(odd)


def ruler(scope: LogWindow, offset: int) -> tuple[tuple[str, str], ...]:
    """Return the ruler: offsets at every twentieth cell, a dot at the tens between, and the offset of the cursor."""
    line = [" "] * scope.size
    step = 10 * scope.zoom
    for at in range(-(-scope.start // step) * step, scope.end, step):
        cell = scope.cell(at)
        label = f"{glyphs.RULE}{at}"
        if at // step % 2:
            line[cell] = glyphs.NOTHING
        elif cell + len(label) <= len(line):
            line[cell : cell + len(label)] = label
    cell = scope.cell(offset)
    own = f"{glyphs.MORE_BELOW}{offset}"
    if cell + len(own) > len(line):
        own, cell = f"{offset}{glyphs.MORE_BELOW}", cell - len(own) + 1
    cell = max(0, cell)
    line[cell : cell + len(own)] = own[: len(line)]
    after = cell + len(own)
    while after < len(line) and line[after].isdigit():
        line[after] = " "  # rest of a label that the cursor's offset has overwritten
        after += 1
    before = cell - 1
    while before >= 0 and (line[before].isdigit() or line[before] == glyphs.RULE):
        line[before] = " "
        before -= 1
    return ("".join(line[:cell]), "quiet"), (own, "key"), ("".join(line[cell + len(own) :]), "quiet")


def ticks(inputs: MicroscopeInput, scope: LogWindow, shape: LaneColumns) -> tuple[tuple[str, str], ...]:
    """Return ``▲ fork 121   △ LSO 130   ▲ HW 134``, each below its cell; the fork takes precedence, then the HW."""
    log = inputs.log
    stable = next((each.stable for each in inputs.marks if each.broker == log.leader), log.hw)
    wanted = [(fork(log), glyphs.TICK, "fork", "alarm"), (log.hw, glyphs.TICK, "HW", "calm")]
    if stable < log.hw:
        wanted.append((stable, glyphs.LSO, "LSO", "warning"))
    taken: list[tuple[int, str, str]] = []
    for offset, tick, name, role in wanted:
        where, text = scope.cell(offset), f"{tick}{name} {offset}"
        if offset < 0:
            continue
        if where < 0:
            where, text = 0, f"{glyphs.MORE_LEFT}{name} {offset}"
        elif where > scope.size:
            text = f"{name} {offset}{glyphs.MORE_RIGHT}"
            where = scope.size - len(text)
        elif where + len(text) > scope.size + shape.note:
            where, text = where - len(text) + 1, text[1:] + text[0]
        if all(where > at + len(other) or where + len(text) < at for at, other, _role in taken):
            taken.append((where, text, role))
    pieces: list[tuple[str, str]] = []
    end = 0
    for where, text, role in sorted(taken):
        pieces += [(" " * (where - end), "text"), (text, role)]
        end = where + len(text)
    return tuple(pieces)


def _cuts(cuts: tuple[ReplicaTruncation, ...]) -> LogTextRow:
    if not cuts:
        return LogTextRow(TRUNCATED, "quiet")
    newest = cuts[0]
    dropped = newest.end - newest.start
    more = f"; {counted(len(cuts) - 1, 'truncation')} before it" if len(cuts) > 1 else ""
    what = f"b{newest.broker} truncated {newest.end} {glyphs.ARROW} {newest.start} at {clock(newest.at_us)}"
    return LogTextRow(f"{glyphs.TRUNCATING} {what}: {records(dropped)} by {newest.rule}{more}", "truncating")


# Fetches of a partition as text: which replica fetches which offset since when, and the response.


NO_FETCHES: Final = "no followers, so no fetches"
_STANDING: Final = ("down", "starting", "paused")


def build_fetches(wires: Sequence[InflightFetch], partition: PartitionView, view: ClusterView) -> tuple[Row, ...]:
    """Return a line per follower."""
    states = {each.id: each.state for each in view.brokers}
    rows = [_fetch_row(wire, states.get(wire.follower, "up"), partition, view.now_us) for wire in wires]
    return tuple(rows) or (Row(((NO_FETCHES, "quiet"),)),)


def _fetch_row(wire: InflightFetch, state: BrokerState, partition: PartitionView, now_us: int) -> Row:
    route = f"b{wire.follower}"
    if wire.leader >= 0 and wire.leader != partition.leader:
        route = f"{route}{glyphs.ARROW}b{wire.leader}"
    sign, words, role = _fetch_text(wire, state, now_us)
    age = compact_duration(now_us - wire.sent_us) if wire.sent_us >= 0 else ""
    return Row(
        ((f"{route} ", "strong"), (sign, role), (words, "text" if role == "calm" else role)),
        (f" {age}" if age else "", "quiet"),
    )


def _fetch_text(wire: InflightFetch, state: BrokerState, now_us: int) -> tuple[str, str, str]:
    """Return arrow, text and role of a fetch."""
    asks, answers, lost = f"{glyphs.FETCH_REQUEST} ", f"{glyphs.FETCH_RESPONSE} ", f"{glyphs.DIVERGED} "
    if wire.state == "none":
        return "", f"{state}" if state in _STANDING else "does not fetch", "down" if state == "down" else "warning"
    if wire.state == "pauses":
        return "", f"backing off for {compact_duration(max(0, wire.until_us - now_us))}", "warning"
    question = _question(wire)
    texts = {
        "request": (asks, f"{question} in flight", "calm"),
        "waits": (asks, f"{question} waiting on leader", "calm"),
        "reply": (answers, _reply(wire), "calm"),
        "busy": (answers, f"{_reply(wire)}, processing", "warning"),
        "request_cut": (asks + lost, f"{question} dropped", "alarm"),
        "reply_cut": (answers + lost, f"response to {question} dropped", "alarm"),
        "request_held": (asks, f"{question} delayed", "warning"),
        "reply_held": (answers, f"{_reply(wire)}, delayed", "warning"),
        "unanswered": (asks + lost, f"{question} lost, no response", "alarm"),
    }
    return texts[wire.state]


def _question(wire: InflightFetch) -> str:
    if wire.question != "fetch":
        return "ListOffsets (log end)" if wire.question == "log end" else "OffsetsForLeaderEpoch"
    return f"fetch {wire.offset}" if wire.offset >= 0 else "fetch of other partitions"


def _reply(wire: InflightFetch) -> str:
    if wire.error:
        return f"error {wire.error}"
    if wire.question != "fetch":
        return f"response: {wire.question}"
    if wire.records < 0:
        return f"no records{f' at {wire.offset}' if wire.offset >= 0 else ''}"
    return f"{compact_count(wire.records)} record{'' if wire.records == 1 else 's'} from {wire.offset}, HW {wire.hw}"
