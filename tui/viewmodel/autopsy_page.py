"""The page of one finding: a plain sentence, the pictures, the records, who saw them, the broken rule, the remedies."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.checker.root_cause.findings import (
    ABANDONED,
    DUPLICATE,
    LEAKED,
    LOST,
    MISSING,
    REORDERED,
    SKIPPED,
    UNDONE,
    Finding,
)
from playbooks.errors import counted
from playbooks.model.peeking import Peeked
from tui.terminal import glyphs
from tui.terminal.format import acks, clock, names, wrap
from tui.viewmodel.finding_page import Frame, said, strip
from tui.viewmodel.partition_history import Broken
from tui.viewmodel.row import Row

LABEL: Final = 14
"""Cells in front of a section's words."""
MOST_PLACES: Final = 3
"""Ranges of records that are told one by one."""
LONGEST_VALUE: Final = 60
MARKED: Final = (f"{glyphs.MARKER} ", "key")
"""In front of a marked line."""

_HEADS: Final = {
    LOST: ("{count} acknowledged {records} of {where} {are} gone: no leader has {them}", "alarm"),
    MISSING: (
        "{count} acknowledged {records} of {where} {are} missing so far, and not lost yet: another replica has {them}",
        "warning",
    ),
    DUPLICATE: ("{count} {records} of {where} {stand} in the log twice", "warning"),
    REORDERED: ("{count} {records} of {where} {stand} behind later ones of the same producer", "warning"),
    SKIPPED: ("{count} {records} of {where} {were} passed over by {group}", "warning"),
    ABANDONED: ("{count} {records} of {where} {were} handed to {group} and never processed", "warning"),
    UNDONE: ("{count} acknowledged {records} of {where} {were} aborted with a transaction not {their} own", "alarm"),
    LEAKED: ("{count} aborted {records} of {where} {are} committed in the log", "alarm"),
}
_RULES: Final = {
    LOST: "what a producer was told is saved stays with whoever leads, as long as a replica has it",
    MISSING: "what a producer was told is saved stays with whoever leads, as long as a replica has it",
    DUPLICATE: "a record is written once, however often it is sent; Kafka promises that of idempotent producers",
    REORDERED: "a producer's records stand in the order in which it sent them; with several requests in flight Kafka"
    " promises that of idempotent producers",
    SKIPPED: "a group is handed every record from where it began",
    ABANDONED: "what a group commits as done has been processed",
    UNDONE: "a transaction that was committed stays so",
    LEAKED: "what was aborted is never read as committed",
}


@dataclass(frozen=True, slots=True)
class Case:
    """All that the page tells of a finding, as of one moment."""

    number: int
    """From 1, of ``total``."""
    total: int
    finding: Finding
    now_us: int
    frames: tuple[Frame, ...]
    partition: str
    """The one that is drawn."""
    peeked: tuple[Peeked, ...]
    """The first records of the first places."""
    readers: tuple[str, ...]
    """Groups that were handed these offsets."""
    broken: tuple[Broken, ...]


def title(case: Case) -> str:
    """Words for the border."""
    return (
        f"Autopsy {glyphs.NOTHING} finding {case.number} of {case.total} {glyphs.NOTHING} {case.finding.kind}"
        f" {glyphs.NOTHING} as of {clock(case.now_us)}"
    )


def headline(finding: Finding) -> tuple[str, str]:
    """One plain sentence, and its role."""
    words, role = _HEADS[finding.kind]
    one = finding.count == 1
    told = words.format(
        count=f"{finding.count:,}",
        records="record" if one else "records",
        where=names(finding.partitions, 2),
        are="is" if one else "are",
        were="was" if one else "were",
        stand="stands" if one else "stand",
        them="it" if one else "them",
        their="its" if one else "their",
        group=f"group {finding.group_id}" if finding.group_id else "a group",
    )
    return told, role


def build(
    case: Case, at: int, width: int, saved: Sequence[tuple[str, str]], marked: int = -1
) -> tuple[Row, ...]:  # fmt: skip
    """The whole page over ``width`` cells, frame ``at`` marked; ``saved`` are lines on what would have saved it.

    ``marked`` is the one of them that is marked, -1 for none.
    """
    width = max(20, width)
    finding = case.finding
    head, role = headline(finding)
    rows = [Row(((line, role),)) for line in wrap(head, width)]
    rows += [Row(((line, "text"),)) for line in wrap(said(finding.sentence, finding.kind), width)]
    rows.append(_BLANK)
    rows += strip(case.frames, at, width)
    if case.frames:
        shown = case.frames[at]
        rows += _section(f"{at + 1} of {len(case.frames)}", [f"{clock(shown.at_us)} {shown.words}"], width)
        rows += [Row(((line, "quiet"),)) for line in _key(case, width)]
    rows.append(_BLANK)
    rows += _section("The records" if finding.count > 1 else "The record", _records(case), width)
    rows += _section("Who saw them" if finding.count > 1 else "Who saw it", [_seen(case)], width)
    rows += _section("Broken rule", _rule(case), width)
    rows.append(_BLANK)
    rows.append(Row((("What would have saved it", "strong"),)))
    for number, (text, line_role) in enumerate(saved):
        mark = MARKED if number == marked else ("  ", "text")
        rows += [Row((mark, (line, line_role))) for line in wrap(text, width - 2)]
    rows.append(_BLANK)
    rows.append(Row((("All that led there", "strong"),)))
    for link in finding.chain:
        lines = wrap(said(link.words, finding.kind), width - LABEL)
        rows += [
            Row((((clock(link.at_us) if not place else "").ljust(LABEL), "quiet"), (line, "text")))
            for place, line in enumerate(lines)
        ]
    return tuple(rows)


def place_of_mark(rows: Sequence[Row]) -> int:
    """The first row that is marked, -1 where none is."""
    return next((number for number, row in enumerate(rows) if row.pieces and row.pieces[0] == MARKED), -1)


def frames_on(row: Row) -> list[tuple[int, int]]:
    """Cell and number of each frame whose upper border is on the row."""
    found, at = [], 0
    for text, _role in row.pieces:
        number = _FRAME.match(text)
        if number is not None:
            found.append((at, int(number[1])))
        at += len(text)
    return found


_BLANK: Final = Row(())
_FRAME: Final = re.compile(rf"{glyphs.CORNERS[0]}\D* (\d+)  ")


def _section(label: str, texts: Sequence[str], width: int) -> list[Row]:
    rows: list[Row] = []
    for text in texts:
        for line in wrap(text, width - LABEL):
            rows.append(Row(((("" if rows else label).ljust(LABEL), "key"), (line, "text"))))
    return rows


def _key(case: Case, width: int) -> list[str]:
    """What the marks in the pictures mean."""
    if case.finding.kind not in (LOST, MISSING):
        return []
    text = f"{glyphs.BULLET} has the records {glyphs.NOTHING} {glyphs.LOST} had them, dropped them"
    return wrap(f"{case.partition}: {text}", width)


def _records(case: Case) -> list[str]:
    finding = case.finding
    texts = []
    peeked = {(each.record.partition, each.record.offset, each.record.epoch): each for each in case.peeked}
    for place in finding.places[:MOST_PLACES]:
        span = ""
        if place.log_offset >= 0:
            end = place.log_offset + place.count - 1
            span = f"offset {place.log_offset}" if place.count == 1 else f"offsets {place.log_offset} to {end}"
        epoch = f", epoch {place.leader_epoch}" if place.leader_epoch >= 0 else ""
        whose = f" of {place.client}" if place.client else ""
        where = f"{place.partition} {span}{epoch}" if span else f"{place.partition}, at no offset"
        texts.append(f"{where}: {counted(place.count, 'record')}{whose}, acks={acks(place.acks)}")
        found = peeked.get((place.partition, place.log_offset, place.leader_epoch))
        if found is not None:
            texts.append(_contents(found, several=place.count > 1))
    rest = len(finding.places) - MOST_PLACES
    if rest > 0:
        texts.append(f"and {counted(rest, 'more range')}")
    return texts


def _contents(peeked: Peeked, *, several: bool) -> str:
    record = peeked.record
    told = [f"written by b{record.broker} at {clock(record.appended_us)}"]
    told.append("acknowledged" if record.acked else "not acknowledged")
    told.append(f"key {record.key}" if record.key is not None else "no key")
    if peeked.value is not None:
        value = peeked.value
        cut = value if len(value) <= LONGEST_VALUE else f"{value[: LONGEST_VALUE - 1]}…"
        told.append(f"value {cut}")
    return f"{'the first: ' if several else ''}{', '.join(told)}"


def _seen(case: Case) -> str:
    finding = case.finding
    if finding.kind in (SKIPPED, ABANDONED):
        handed = "was handed them" if finding.kind == ABANDONED else "was handed what stood before and behind them"
        return f"group {finding.group_id} {handed}"
    committed = finding.committed
    if finding.kind in (LOST, MISSING) and not committed:
        return "nobody could: they were never below the high watermark"
    groups = f"group{'s' if len(case.readers) > 1 else ''} {names(case.readers)}" if case.readers else "no group"
    if finding.kind not in (LOST, MISSING):
        return f"{groups} so far"
    could = "all of them" if committed == finding.count else f"{committed:,} of them"
    handed = f"{groups} {'were' if len(case.readers) > 1 else 'was'} handed offsets of theirs"
    return f"{could} could be read, below the high watermark; {handed}"


def _rule(case: Case) -> list[str]:
    finding = case.finding
    texts = [_RULES[finding.kind]]
    if finding.kind in (LOST, MISSING):
        if all(place.acks == 0 for place in finding.places):
            texts.append("with acks=0 nobody said so: the producer counted them as sent")
        elif all(place.acks == 1 for place in finding.places):
            texts.append("with acks=1 that is the word of one broker alone, and Kafka promises no more")
    texts.append(f"cause: {finding.cause}")
    texts += [f"{clock(each.at_us)} {each.name} ({each.partition}): {each.detail}" for each in case.broken]
    return texts
