"""The logs of a partition side by side: lanes, the log microscope, epochs and fetches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from cluster_model.inspection.log_inspector import LaneMarks
from cluster_model.observation import (
    BrokerState,
    ClusterView,
    EpochRun,
    FetchWire,
    LaneView,
    LogView,
    PartitionView,
    ReplicaView,
)
from cluster_model.util.quantities import clock, compact_count, compact_duration, counted
from tui.terminal import glyphs
from tui.terminal.format import records
from tui.terminal.theme import EPOCHS, Over
from tui.viewmodel.partition_history import ReplicaTruncation
from tui.viewmodel.partition_matrix import STATUS, conditions
from tui.viewmodel.row import Row

# The leader-epoch caches of a partition's replicas side by side: where each says that an epoch began.


_LABEL: Final = 7
_LEAST, _MOST = 7, 11
"""Cells of a column."""
NO_EPOCHS: Final = "no replica knows of any epoch"


def build_epochs(partition: PartitionView, broker: int, width: int, height: int) -> tuple[Row, ...]:
    """A line per epoch, the newest last, a column per replica; what is not as the leader has it is marked."""
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
    """The replicas that fit, that under the cursor and the leader first, with the width of a column."""
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
"""Lines of the status bar and of the bar of modes."""
AROUND: Final = 5
"""Lines of the lanes' pane besides the lanes: two of its border, the ruler, the ticks, the truncations."""
LEAST_BELOW: Final = 7
"""Lines that what is known of a record gets at least."""
OVERVIEW: Final = 3
"""Lines of the lanes over the whole log besides those lanes: a blank one, a caption, a ruler."""
MUCH_BELOW: Final = 18
"""They are shown where this much is left below."""
BESIDE_FROM: Final = 72
"""Narrower terminals show no epochs and no fetches: the record goes first."""


class Shares(NamedTuple):
    """Sizes with borders."""

    lanes: int
    """Lines of the lanes' pane."""
    beside: int
    """Columns of the panes right of the record, 0: none."""
    epochs: int
    """Lines of the upper one of these."""


def share(width: int, height: int, replicas: int) -> Shares:
    """For so many replicas."""
    body = height - BARS
    lanes = max(AROUND + 1, min(replicas + AROUND, body - LEAST_BELOW))
    if body - lanes - replicas - OVERVIEW >= MUCH_BELOW and lanes == replicas + AROUND:
        lanes += replicas + OVERVIEW
    beside = 0 if width < BESIDE_FROM else max(33, min(width * 2 // 5, 84))
    below = body - lanes
    fetches = max(3, min(replicas + 1, below // 2))
    return Shares(lanes, beside, max(3, below - fetches))


# A record in a log, wherever logs are drawn: one character and its role.


def record_look(run: EpochRun, *, sure: bool) -> tuple[str, str]:
    """A record of a run; ``sure``: below its replica's own high watermark. What is wrong with it comes first."""
    if run.lost:
        return glyphs.LOST, "lost"
    if run.diverged:
        return glyphs.DIVERGED, "diverged_cell"
    hue = run.epoch % len(EPOCHS)
    return (str(run.epoch % 10), f"epoch{hue}") if sure else (glyphs.ABOVE_HW, f"above{hue}")


# The logs of one partition side by side, one cell an offset: what each replica holds, and up to where it is sure.
#
# A lane shows epochs as digits, solid below *that replica's own* high watermark and hatched above it, because the
# delay between the two is where records are lost.


STEP: Final = 20
"""The window follows the tail in steps of this many offsets, so that the ruler can be read."""
LABEL: Final = 13
"""Cells in front of a lane: glyph, broker, what it is."""
NOTE: Final = 20
"""Cells behind a lane: LEO and what is odd about it."""

_LANE_STATES: Final = {
    "leader": "leader",
    "in_sync": "in-sync",
    "lagging": "lagging",
    "truncating": "cuts",
    "down": "down",
    "diverged": "differs",
}


@dataclass(frozen=True, slots=True)
class LogLane:
    """One replica: ``cells`` are (text, role) pieces, together as long as the window."""

    glyph: str
    role: str
    broker: str
    word: str
    cells: tuple[tuple[str, str], ...]
    note: str
    odd: str
    """What is wrong with it, empty for a sound replica."""
    cursor: bool


@dataclass(frozen=True, slots=True)
class Ruler:
    """Offsets above the lanes."""

    text: str


@dataclass(frozen=True, slots=True)
class LogMarkers:
    """Below the lanes: the leader's high watermark, and where logs part."""

    pieces: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PartitionHeading:
    """Heading of a further partition below the first one."""

    text: str


LanesRow = PartitionHeading | Ruler | LogLane | LogMarkers


class LogPosition(NamedTuple):
    """A place in a log: that of a broker's replica, and so many offsets from one on; -1 beside the cells."""

    partition: str
    broker: int
    offset: int
    offsets: int = 1


@dataclass(frozen=True, slots=True)
class PartitionLanes:
    """A partition's lanes with the words for the pane's border."""

    title: str
    rows: tuple[LanesRow, ...]


def cells(width: int) -> int:
    """How many offsets fit in a pane of ``width`` cells."""
    return max(10, width - LABEL - NOTE)


def tail(leo: int, size: int) -> int:
    """Where the window starts when it follows the end of the log."""
    beyond = leo + 2 - size
    return 0 if beyond <= 0 else -(-beyond // STEP) * STEP


def window(view: PartitionView, size: int, start: int | None) -> tuple[int, int]:
    """The offsets to show: from ``start``, or the tail when that is None."""
    if start is None:
        start = tail(max((each.leo for each in view.replicas), default=0), size)
    return start, start + size


def fork(log: LogView) -> int:
    """The first offset at which a replica holds something else than the leader, -1 when they agree."""
    return min((run.start for lane in log.lanes for run in lane.runs if run.diverged or run.lost), default=-1)


def build_lanes(view: ClusterView, partition: PartitionView, log: LogView, broker: int) -> PartitionLanes:
    """The lanes of ``partition`` over the window of ``log``; ``broker`` is the id under the cursor."""
    leader_leo = next((lane.leo for lane in log.lanes if lane.broker == log.leader), -1)
    rows: list[LanesRow] = [Ruler(_ruler(log.start, log.end))]
    rows += [_replica_lane(lane, log, leader_leo, broker, partition) for lane in log.lanes]
    rows.append(LogMarkers(_marks(log)))
    return PartitionLanes(title(partition), tuple(rows))


def title(partition: PartitionView) -> str:
    """What stands above the lanes of a partition."""
    leader = f"leader b{partition.leader}" if partition.leader >= 0 else "no leader"
    isr = ",".join(map(str, partition.isr))
    special = conditions(partition)
    special = f" {glyphs.NOTHING} {special}" if special else ""
    return (
        f"{partition.name}  {glyphs.NOTHING} epoch {partition.leader_epoch} {glyphs.NOTHING} {leader}"
        f" {glyphs.NOTHING} ISR {{{isr}}} {glyphs.NOTHING} min.isr {partition.min_isr}{special}"
    ).replace("  ", " ")


def _replica_lane(lane: LaneView, log: LogView, leader_leo: int, broker: int, partition: PartitionView) -> LogLane:
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
    odd += [
        f"{glyphs.STALE}{f'b{each.leader}' if each.leader >= 0 else 'none'} e{each.leader_epoch}"
        for each in partition.beliefs
        if each.broker == lane.broker and each.leader_epoch < partition.leader_epoch
    ]
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


def _cells(lane: LaneView, log: LogView) -> tuple[tuple[str, str], ...]:
    """The window of one lane, in pieces of equal look."""
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
        # All of it lies left of the window: an empty lane would look like an empty log.
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


def _own_hw_beyond_log(lane: LaneView, log: LogView) -> int:
    """Where a replica's own high watermark stands beyond its log's end (after a truncation), -1 otherwise."""
    return lane.hw if lane.hw > lane.leo and log.start <= lane.hw < log.end else -1


def _ruler(start: int, end: int) -> str:
    """Offsets at every twentieth cell with a rule, and a dot at the tens between."""
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


def _marks(log: LogView) -> tuple[tuple[str, str], ...]:
    """``▲ fork 121   ▲ HW 134``, each under its offset; the fork gives way when the two would overlap."""
    size = log.end - log.start
    marks = [(log.hw, f"{glyphs.TICK}HW {log.hw}", "calm"), (fork(log), f"{glyphs.TICK}fork {fork(log)}", "alarm")]
    pieces: list[tuple[str, str]] = []
    at = 0
    if 0 <= log.hw < log.start:
        pieces.append((f"{glyphs.MORE_LEFT}HW {log.hw} ", "calm"))
        at = len(pieces[0][0])
    for offset, text, role in sorted(mark for mark in marks if log.start <= mark[0] <= log.end):
        where = offset - log.start
        if where + len(text) > size + NOTE:
            # At the right edge the words stand in front of the tick.
            text = text[1:] + text[0]  # noqa: PLW2901
            where -= len(text) - 1
        if where < at:
            continue
        pieces += [(" " * (where - at), "text"), (text, role)]
        at = where + len(text)
    return tuple(pieces)


# The position of the microscope: which offset, which part of the log, how many offsets to a cell.


ZOOMS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
"""Offsets to a cell."""


@dataclass(frozen=True, slots=True)
class LogWindow:
    """A window of ``size`` cells with a cursor in it."""

    zoom: int = 1
    offset: int | None = None
    """Under the cursor; None while it follows the newest record of its replica."""
    start: int = 0
    """First offset of the window, always at the edge of a cell."""
    size: int = 10

    @property
    def end(self) -> int:
        """Behind the window's last offset."""
        return self.start + self.size * self.zoom

    def cell(self, offset: int) -> int:
        """The cell of an offset; it may lie outside."""
        return (offset - self.start) // self.zoom

    def over(self, partition: PartitionView, broker: int, size: int) -> tuple["LogWindow", int]:
        """The window as it lies over a partition's logs now, with the offset under the cursor on that broker's."""
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
        """Point at an offset; the window moves only if it has to."""
        return replace(self, offset=offset)

    def around(self, offset: int) -> "LogWindow":
        """Point at an offset, in the middle of the window."""
        start = max(0, offset // self.zoom - self.size // 2) * self.zoom
        return replace(self, offset=offset, start=start)

    def following(self) -> "LogWindow":
        """Follow the end of the log."""
        return replace(self, offset=None)

    def zoomed(self, steps: int, at: int) -> "LogWindow":
        """So many steps nearer (negative) or further; ``at`` is what stays under the cursor, in its place."""
        zoom = ZOOMS[min(max(ZOOMS.index(self.zoom) + steps, 0), len(ZOOMS) - 1)]
        return replace(self, zoom=zoom, start=max(0, at // zoom - self.cell(at)) * zoom)


def whole(partition: PartitionView, size: int) -> LogWindow:
    """The window that shows all of a partition's logs in so many cells."""
    first, last = bounds(partition)
    least = -(-(last + 1 - first) // max(1, size - 1))
    zoom = next((each for each in ZOOMS if each >= least), least)
    return LogWindow(zoom=zoom, start=first // zoom * zoom, size=size)


def bounds(partition: PartitionView) -> tuple[int, int]:
    """The first and the last offset that any replica has; of an empty log where its first record will stand."""
    first = min((each.log_start for each in partition.replicas), default=0)
    return first, max(max((each.leo for each in partition.replicas), default=0) - 1, first)


# The cells of one replica's log at any scale: of all that a cell covers, the worst is shown.


Piece = tuple[str, str, Over]
"""Text, role, and whether the cursor lies on it."""


class LogCell(NamedTuple):
    """What one cell shows; the greater ``rank`` is worse, and wins."""

    rank: int
    text: str
    role: str


EMPTY_CELL: Final = LogCell(0, " ", "text")
HOLE: Final = LogCell(1, glyphs.HOLE, "quiet")
START: Final = LogCell(1, glyphs.LOG_START, "quiet")
_SOLID, _ABOVE, _DIVERGED, _LOST = 2, 4, 5, 6
"""Ranks; between the first two stands a marker."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A lane with what is drawn into it."""

    lane: LaneView
    marks: LaneMarks
    hw: int
    """The leader's, -1 without one."""


def pieces(drawing: Drawing, scope: LogWindow, cursor: int) -> tuple[Piece, ...]:
    """The lane over the window, neighbours of equal look together; ``cursor`` is a cell, -1: not on this lane."""
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
        _over(cells, scope, (high - 1,), glyphs.UNENDED)
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
    """Write over sound cells, in their colour."""
    for offset in offsets:
        at = scope.cell(offset)
        if 0 <= at < len(cells) and cells[at].rank in (_SOLID, _ABOVE):
            cells[at] = cells[at]._replace(text=text)


def _mark_own_hw(cells: list[LogCell], scope: LogWindow, drawing: Drawing) -> None:
    """A tick where this replica's own high watermark stands, when it is not the leader's."""
    hw = drawing.lane.hw
    at = scope.cell(hw)
    if hw != drawing.hw and drawing.hw >= 0 and 0 <= at < len(cells) and cells[at].rank in (EMPTY_CELL.rank, _ABOVE):
        cells[at] = LogCell(_ABOVE, glyphs.OWN_HW, "warning")


def _elsewhere(cells: list[LogCell], scope: LogWindow, lane: LaneView) -> None:
    """An empty lane would look like an empty log."""
    text = ""
    if lane.leo <= scope.start and lane.leo > lane.log_start:
        text = f"{glyphs.MORE_LEFT} ends at {lane.leo}"
    elif lane.log_start >= scope.end:
        text = f"begins at {lane.log_start} {glyphs.MORE_RIGHT}"
    elif lane.leo == lane.log_start and scope.start <= lane.leo:
        text = "empty"
    free = next((at for at, cell in enumerate(cells) if cell is EMPTY_CELL), len(cells))
    room = len(cells) - free
    if text and all(cell is EMPTY_CELL for cell in cells[free:]):
        for at, letter in enumerate(text[:room]):
            cells[free + at] = LogCell(0, letter, "quiet")


def _joined(cells: list[LogCell], cursor: int) -> tuple[Piece, ...]:
    found: list[Piece] = []
    text, role = "", ""
    for at, cell in enumerate(cells):
        if at == cursor or cell.role != role:
            if text:
                found.append((text, role, ""))
            text, role = "", cell.role
        if at == cursor:
            found.append((cell.text, cell.role, "cell"))
        else:
            text += cell.text
    if text:
        found.append((text, role, ""))
    return tuple(found)


_SHORT_STATES: Final = {"down": "down", "truncating": "cuts", "diverged": "differs"}
TRUNCATED: Final = "no replica has cut its log so far"


class LaneColumns(NamedTuple):
    """How a line is shared out at a width."""

    label: int
    """Cells in front of a lane: marker, glyph, broker, what it is ..."""
    cells: int
    """... of the log ..."""
    note: int
    """... and behind it."""


@dataclass(frozen=True, slots=True)
class LaneRow:
    """One replica."""

    columns: LaneColumns
    glyph: str
    role: str
    broker: int
    word: str
    cells: tuple[Piece, ...]
    note: str
    odd: str
    """What is wrong with it, empty for a sound replica."""
    selected: bool


@dataclass(frozen=True, slots=True)
class MarksRow:
    """A line above or below the lanes."""

    columns: LaneColumns
    pieces: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LogTextRow:
    """A sentence."""

    text: str
    role: str


MicroscopeRow = LaneRow | MarksRow | LogTextRow


def columns(width: int) -> LaneColumns:
    """Narrow terminals lose the high watermarks behind the lanes first."""
    label, note = (17, 15) if width < 100 else (20, 36) if width < 170 else (20, 46)
    return LaneColumns(label, max(10, width - label - note), note)


@dataclass(frozen=True, slots=True)
class MicroscopeInput:
    """What the microscope looks at."""

    partition: PartitionView
    log: LogView
    marks: tuple[LaneMarks, ...]
    cuts: tuple[ReplicaTruncation, ...]
    """Truncations so far, the newest first."""
    broker: int
    """Whose replica the cursor is on."""
    offset: int
    """Under the cursor."""


def build_microscope(
    sight: MicroscopeInput, scope: LogWindow, shape: LaneColumns, height: int
) -> tuple[MicroscopeRow, ...]:
    """All lines; where there are more replicas than lines those next to the cursor are shown."""
    lanes = sight.log.lanes
    at = next((number for number, lane in enumerate(lanes) if lane.broker == sight.broker), 0)
    room = max(1, min(len(lanes), height - 3))
    first = min(max(0, at - room // 2), len(lanes) - room)
    marks = {each.broker: each for each in sight.marks}
    rows: list[MicroscopeRow] = [MarksRow(shape, ruler(scope, sight.offset))]
    rows += [_microscope_lane(lane, marks[lane.broker], sight, scope, shape) for lane in lanes[first : first + room]]
    rows.append(MarksRow(shape, ticks(sight, scope, shape)))
    rows.append(_cuts(sight.cuts))
    return tuple(rows[: max(1, height)])


def overview(
    sight: MicroscopeInput, scope: LogWindow, shape: LaneColumns, above: LogWindow
) -> tuple[MicroscopeRow, ...]:
    """The same lanes over another window, that of the whole log; ``above`` is the one that the other lanes show."""
    marks = {each.broker: each for each in sight.marks}
    caption = f"the whole log, {scale(scope)}; above are {above.start} to {above.end - 1}"
    lanes = [
        replace(_microscope_lane(lane, marks[lane.broker], sight, scope, shape), note="", odd="")
        for lane in sight.log.lanes
    ]
    return (LogTextRow("", "text"), LogTextRow(caption, "quiet"), MarksRow(shape, ruler(scope, sight.offset)), *lanes)


def scale(scope: LogWindow) -> str:
    """How much a cell is."""
    return "1 cell = 1 offset" if scope.zoom == 1 else f"1 cell = {scope.zoom} offsets, the worst is shown"


def _microscope_lane(
    lane: LaneView, marks: LaneMarks, sight: MicroscopeInput, scope: LogWindow, shape: LaneColumns
) -> LaneRow:
    partition, log = sight.partition, sight.log
    glyph, role = STATUS[lane.status]
    if lane.broker in partition.leaders and lane.broker != partition.leader:
        glyph, role = glyphs.SPLIT, "alarm"
    selected = lane.broker == sight.broker
    return LaneRow(
        columns=shape,
        glyph=glyph,
        role=role,
        broker=lane.broker,
        word=_word(lane, partition),
        cells=pieces(Drawing(lane, marks, log.hw), scope, scope.cell(sight.offset) if selected else -1),
        note=_note(lane, log, shape),
        odd=_odd(lane, sight),
        selected=selected,
    )


def _word(lane: LaneView, partition: PartitionView) -> str:
    """What a replica is, and whether the ISR counts on it."""
    inside = lane.broker in partition.isr
    if lane.broker in partition.leaders and lane.broker != partition.leader:
        return "zombie"
    if lane.status == "leader":
        return "leader"
    if lane.status in _SHORT_STATES:
        return f"{_SHORT_STATES[lane.status]}{', ISR' if inside else ''}"
    return "in ISR" if inside else "out of ISR"


def _note(lane: LaneView, log: LogView, shape: LaneColumns) -> str:
    ends = {each.broker: each.leo for each in log.lanes}
    distance = ""
    if lane.broker != log.leader and log.leader in ends and lane.leo != ends[log.leader]:
        behind = ends[log.leader] - lane.leo
        distance = f" {glyphs.MINUS}{compact_count(behind)}" if behind > 0 else f" +{compact_count(-behind)}"
    note = f"LEO {lane.leo}{distance}"
    return note if shape.note < 36 else f"{note.ljust(14)} HW {lane.hw}"


def _odd(lane: LaneView, sight: MicroscopeInput) -> str:
    odd = [f"{glyphs.DIVERGED}{compact_count(lane.diverged)}"] if lane.diverged else []
    if lane.lost:
        odd.append(f"{glyphs.LOST}{compact_count(lane.lost)}")
    partition = sight.partition
    odd += [
        f"{glyphs.STALE}{f'b{each.leader}' if each.leader >= 0 else 'none'} e{each.leader_epoch}"
        for each in partition.beliefs
        if each.broker == lane.broker and each.leader_epoch < partition.leader_epoch
    ]
    return " ".join(odd)


def ruler(scope: LogWindow, offset: int) -> tuple[tuple[str, str], ...]:
    """Offsets at every twentieth cell with a rule, a dot at the tens between, and the cursor's own."""
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
        line[after] = " "  # of a label that the cursor's has cut
        after += 1
    before = cell - 1
    while before >= 0 and (line[before].isdigit() or line[before] == glyphs.RULE):
        line[before] = " "
        before -= 1
    return ("".join(line[:cell]), "quiet"), (own, "key"), ("".join(line[cell + len(own) :]), "quiet")


def ticks(sight: MicroscopeInput, scope: LogWindow, shape: LaneColumns) -> tuple[tuple[str, str], ...]:
    """``▲ fork 121   △ LSO 130   ▲ HW 134``, each under its cell; what would overlap gives way, the fork last."""
    log = sight.log
    stable = next((each.stable for each in sight.marks if each.broker == log.leader), log.hw)
    wanted = [(fork(log), glyphs.TICK, "fork", "alarm"), (log.hw, glyphs.TICK, "HW", "calm")]
    if stable < log.hw:
        wanted.append((stable, glyphs.STABLE, "LSO", "warning"))
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
    found: list[tuple[str, str]] = []
    end = 0
    for where, text, role in sorted(taken):
        found += [(" " * (where - end), "text"), (text, role)]
        end = where + len(text)
    return tuple(found)


def _cuts(cuts: tuple[ReplicaTruncation, ...]) -> LogTextRow:
    if not cuts:
        return LogTextRow(TRUNCATED, "quiet")
    newest = cuts[0]
    dropped = newest.end - newest.start
    more = f"; {counted(len(cuts) - 1, 'cut')} before it" if len(cuts) > 1 else ""
    what = f"b{newest.broker} cut {newest.end} {glyphs.ARROW} {newest.start} at {clock(newest.at_us)}"
    return LogTextRow(f"{glyphs.TRUNCATING} {what}: {records(dropped)} by {newest.rule}{more}", "truncating")


# Fetches of a partition in words: which replica fetches which offset since when, and the response.


NOBODY: Final = "no other replica, so nobody fetches"
_STANDING: Final = ("down", "starting", "paused")


def build_fetches(wires: Sequence[FetchWire], partition: PartitionView, view: ClusterView) -> tuple[Row, ...]:
    """A line per follower."""
    states = {each.id: each.state for each in view.brokers}
    rows = [_fetch_row(wire, states.get(wire.follower, "up"), partition, view.now_us) for wire in wires]
    return tuple(rows) or (Row(((NOBODY, "quiet"),)),)


def _fetch_row(wire: FetchWire, state: BrokerState, partition: PartitionView, now_us: int) -> Row:
    who = f"b{wire.follower}"
    if wire.leader >= 0 and wire.leader != partition.leader:
        who = f"{who}{glyphs.ARROW}b{wire.leader}"
    sign, words, role = _told(wire, state, now_us)
    age = compact_duration(now_us - wire.sent_us) if wire.sent_us >= 0 else ""
    return Row(
        ((f"{who} ", "strong"), (sign, role), (words, "text" if role == "calm" else role)),
        (f" {age}" if age else "", "quiet"),
    )


def _told(wire: FetchWire, state: BrokerState, now_us: int) -> tuple[str, str, str]:
    """An arrow, words, and their role."""
    asks, answers, lost = f"{glyphs.ASKS} ", f"{glyphs.ANSWERS} ", f"{glyphs.DIVERGED} "
    if wire.state == "none":
        return "", f"is {state}" if state in _STANDING else "fetches nothing", "down" if state == "down" else "warning"
    if wire.state == "pauses":
        return "", f"backs off for {compact_duration(max(0, wire.until_us - now_us))} more", "warning"
    question = _question(wire)
    told = {
        "request": (asks, f"{question} on its way", "calm"),
        "waits": (asks, f"{question} waits", "calm"),
        "reply": (answers, _reply(wire), "calm"),
        "busy": (answers, f"{_reply(wire)}, works on it", "warning"),
        "request_cut": (asks + lost, f"{question} dropped", "alarm"),
        "reply_cut": (answers + lost, f"reply to {question} dropped", "alarm"),
        "request_held": (asks, f"{question} held up", "warning"),
        "reply_held": (answers, f"{_reply(wire)}, held up", "warning"),
        "unanswered": (asks + lost, f"{question} lost, no answer", "alarm"),
    }
    return told[wire.state]


def _question(wire: FetchWire) -> str:
    if wire.question != "fetch":
        return f"asks for its {wire.question}" if wire.question == "log end" else "asks where epochs end"
    return f"fetch {wire.offset}" if wire.offset >= 0 else "fetch of others"


def _reply(wire: FetchWire) -> str:
    if wire.error:
        return f"error {wire.error}"
    if wire.question != "fetch":
        return f"answer: {wire.question}"
    if wire.records < 0:
        return f"nothing new{f' at {wire.offset}' if wire.offset >= 0 else ''}"
    return f"{compact_count(wire.records)} record{'' if wire.records == 1 else 's'} from {wire.offset}, HW {wire.hw}"
