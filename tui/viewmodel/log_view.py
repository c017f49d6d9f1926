"""The log microscope: every replica of one partition, an offset or some thousands of them to a cell."""

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from cluster_model.inspection.log_marks import LaneMarks
from cluster_model.observation.views import LaneView, LogView, PartitionView
from playbooks.errors import counted
from tui.terminal import glyphs
from tui.terminal.format import clock, count, records
from tui.viewmodel.lanes import fork
from tui.viewmodel.log_book import Cut
from tui.viewmodel.log_cells import Drawing, Piece, pieces
from tui.viewmodel.partition_matrix import STATUS
from tui.viewmodel.scope import Scope

_WORDS: Final = {"down": "down", "truncating": "cuts", "diverged": "differs"}
TRUNCATED: Final = "no replica has cut its log so far"


class Columns(NamedTuple):
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

    columns: Columns
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

    columns: Columns
    pieces: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TextRow:
    """A sentence."""

    text: str
    role: str


Row = LaneRow | MarksRow | TextRow


def columns(width: int) -> Columns:
    """Narrow terminals lose the high watermarks behind the lanes first."""
    label, note = (17, 15) if width < 100 else (20, 36) if width < 170 else (20, 46)
    return Columns(label, max(10, width - label - note), note)


@dataclass(frozen=True, slots=True)
class Sight:
    """What the microscope looks at."""

    partition: PartitionView
    log: LogView
    marks: tuple[LaneMarks, ...]
    cuts: tuple[Cut, ...]
    """Truncations so far, the newest first."""
    broker: int
    """Whose replica the cursor is on."""
    offset: int
    """Under the cursor."""


def build(sight: Sight, scope: Scope, shape: Columns, height: int) -> tuple[Row, ...]:
    """All lines; where there are more replicas than lines those next to the cursor are shown."""
    lanes = sight.log.lanes
    at = next((number for number, lane in enumerate(lanes) if lane.broker == sight.broker), 0)
    room = max(1, min(len(lanes), height - 3))
    first = min(max(0, at - room // 2), len(lanes) - room)
    marks = {each.broker: each for each in sight.marks}
    rows: list[Row] = [MarksRow(shape, ruler(scope, sight.offset))]
    rows += [_lane(lane, marks[lane.broker], sight, scope, shape) for lane in lanes[first : first + room]]
    rows.append(MarksRow(shape, ticks(sight, scope, shape)))
    rows.append(_cuts(sight.cuts))
    return tuple(rows[: max(1, height)])


def overview(sight: Sight, scope: Scope, shape: Columns, above: Scope) -> tuple[Row, ...]:
    """The same lanes over another window, that of the whole log; ``above`` is the one that the other lanes show."""
    marks = {each.broker: each for each in sight.marks}
    caption = f"the whole log, {scale(scope)}; above are {above.start} to {above.end - 1}"
    lanes = [replace(_lane(lane, marks[lane.broker], sight, scope, shape), note="", odd="") for lane in sight.log.lanes]
    return (TextRow("", "text"), TextRow(caption, "quiet"), MarksRow(shape, ruler(scope, sight.offset)), *lanes)


def scale(scope: Scope) -> str:
    """How much a cell is."""
    return "1 cell = 1 offset" if scope.zoom == 1 else f"1 cell = {scope.zoom} offsets, the worst is shown"


def _lane(lane: LaneView, marks: LaneMarks, sight: Sight, scope: Scope, shape: Columns) -> LaneRow:
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
    if lane.status in _WORDS:
        return f"{_WORDS[lane.status]}{', ISR' if inside else ''}"
    return "in ISR" if inside else "out of ISR"


def _note(lane: LaneView, log: LogView, shape: Columns) -> str:
    ends = {each.broker: each.leo for each in log.lanes}
    distance = ""
    if lane.broker != log.leader and log.leader in ends and lane.leo != ends[log.leader]:
        behind = ends[log.leader] - lane.leo
        distance = f" {glyphs.MINUS}{count(behind)}" if behind > 0 else f" +{count(-behind)}"
    note = f"LEO {lane.leo}{distance}"
    return note if shape.note < 36 else f"{note.ljust(14)} HW {lane.hw}"


def _odd(lane: LaneView, sight: Sight) -> str:
    lost = sum(run.end - run.start for run in lane.runs if run.lost)
    diverged = sum(run.end - run.start for run in lane.runs if run.diverged and not run.lost)
    odd = [f"{glyphs.DIVERGED}{count(diverged)}"] if diverged else []
    if lost:
        odd.append(f"{glyphs.LOST}{count(lost)}")
    partition = sight.partition
    odd += [
        f"{glyphs.STALE}{f'b{each.leader}' if each.leader >= 0 else 'none'} e{each.leader_epoch}"
        for each in partition.beliefs
        if each.broker == lane.broker and each.leader_epoch < partition.leader_epoch
    ]
    return " ".join(odd)


def ruler(scope: Scope, offset: int) -> tuple[tuple[str, str], ...]:
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


def ticks(sight: Sight, scope: Scope, shape: Columns) -> tuple[tuple[str, str], ...]:
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


def _cuts(cuts: tuple[Cut, ...]) -> TextRow:
    if not cuts:
        return TextRow(TRUNCATED, "quiet")
    newest = cuts[0]
    dropped = newest.end - newest.start
    more = f"; {counted(len(cuts) - 1, 'cut')} before it" if len(cuts) > 1 else ""
    what = f"b{newest.broker} cut {newest.end} {glyphs.ARROW} {newest.start} at {clock(newest.at_us)}"
    return TextRow(f"{glyphs.TRUNCATING} {what}: {records(dropped)} by {newest.rule}{more}", "truncating")
