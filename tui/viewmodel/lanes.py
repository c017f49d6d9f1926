"""The logs of one partition side by side, one cell an offset: what each replica holds, and up to where it is sure.

A lane shows epochs as digits, solid below *that replica's own* high watermark and hatched above it, because the delay
between the two is where records are lost.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from cluster_model.observation.views import ClusterView, LaneView, LogView, PartitionView
from tui.terminal import glyphs
from tui.viewmodel.beliefs import conditions
from tui.viewmodel.partition_matrix import STATUS
from tui.viewmodel.record_look import record_look

STEP: Final = 20
"""The window follows the tail in steps of this many offsets, so that the ruler can be read."""
LABEL: Final = 13
"""Cells in front of a lane: glyph, broker, what it is."""
NOTE: Final = 20
"""Cells behind a lane: LEO and what is odd about it."""

_WORDS: Final = {
    "leader": "leader",
    "in_sync": "in-sync",
    "lagging": "lagging",
    "truncating": "cuts",
    "down": "down",
    "diverged": "differs",
}


@dataclass(frozen=True, slots=True)
class Lane:
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
class Marks:
    """Below the lanes: the leader's high watermark, and where logs part."""

    pieces: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Title:
    """Heading of a further partition below the first one."""

    text: str


Row = Title | Ruler | Lane | Marks


class Spot(NamedTuple):
    """A place in a log: that of a broker's replica, and so many offsets from one on; -1 beside the cells."""

    partition: str
    broker: int
    offset: int
    offsets: int = 1


@dataclass(frozen=True, slots=True)
class Lanes:
    """A partition's lanes with the words for the pane's border."""

    title: str
    rows: tuple[Row, ...]


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


def build(view: ClusterView, partition: PartitionView, log: LogView, broker: int) -> Lanes:
    """The lanes of ``partition`` over the window of ``log``; ``broker`` is the id under the cursor."""
    leader_leo = next((lane.leo for lane in log.lanes if lane.broker == log.leader), -1)
    rows: list[Row] = [Ruler(_ruler(log.start, log.end))]
    rows += [_lane(lane, log, leader_leo, broker, partition) for lane in log.lanes]
    rows.append(Marks(_marks(log)))
    return Lanes(title(partition), tuple(rows))


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


def _lane(lane: LaneView, log: LogView, leader_leo: int, broker: int, partition: PartitionView) -> Lane:
    glyph, role = STATUS[lane.status]
    word = _WORDS[lane.status]
    if lane.broker in partition.leaders and lane.broker != partition.leader:
        glyph, role, word = glyphs.SPLIT, "alarm", "zombie"
    difference = ""
    if lane.broker != log.leader and leader_leo >= 0 and lane.leo != leader_leo:
        behind = leader_leo - lane.leo
        difference = f" {glyphs.MINUS}{behind}" if behind > 0 else f" +{-behind}"
    lost = sum(run.end - run.start for run in lane.runs if run.lost)
    diverged = sum(run.end - run.start for run in lane.runs if run.diverged and not run.lost)
    odd = []
    if diverged:
        odd.append(f"{glyphs.DIVERGED}{diverged}")
    if lost:
        odd.append(f"{glyphs.LOST}{lost}")
    odd += [
        f"{glyphs.STALE}{f'b{each.leader}' if each.leader >= 0 else 'none'} e{each.leader_epoch}"
        for each in partition.beliefs
        if each.broker == lane.broker and each.leader_epoch < partition.leader_epoch
    ]
    return Lane(
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
    mark = _own_hw(lane, log)
    if mark >= at:
        pieces.append((" " * (mark - at) + glyphs.OWN_HW, "warning"))
        at = mark + 1
    if at < log.end:
        pieces.append((" " * (log.end - at), "text"))
    return tuple(pieces)


def _own_hw(lane: LaneView, log: LogView) -> int:
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
