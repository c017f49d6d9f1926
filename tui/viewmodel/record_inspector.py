"""Record inspector: every record ever written at one offset, and one record as text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cluster_model.inspection.log_inspector import RecordCopy, RecordInspection
from cluster_model.observation import ClusterView, GroupView
from cluster_model.util.quantities import acks_text, brokers, clock, counted
from playbooks.model.record_contents import PeekedRecord
from playbooks.units import duration_text, size_text
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.viewmodel.row import Row

# One record as text, for the command line and the TUI.


GONE: Final = {
    "truncated": "no replica: truncated from every log that had it",
    "deleted": "no replica: deleted, the log now starts after it",
    "compacted": "no replica: compacted, a newer record of its key replaced it",
}
"""Why no replica holds a record."""
RECORD_LABEL: Final = 10
"""Cells of a label."""
NOTHING_YET: Final = "no record was written at this offset so far"


def heading(peeked: PeekedRecord) -> str:
    """Return partition, offset and leader epoch of the record as text."""
    record = peeked.record
    return f"{record.partition} offset {record.offset}, leader epoch {record.epoch}"


def rows(peeked: PeekedRecord) -> tuple[tuple[str, str], ...]:
    """Return (label, text) for each property of the record."""
    record = peeked.record
    producer = f"{record.client}, " if record.client else ""
    numbered = f"record {record.number} of this producer in {record.partition} (from 0)"
    identity = f", producer id {record.producer_id}" if record.producer_id >= 0 else ""
    size = f"{size_text(peeked.record_bytes)}, in " if peeked.record_bytes >= 0 else ""
    batch = f"a batch of {counted(record.batch_records, 'record')}, {size_text(record.batch_bytes)}"
    acks = acks_text(record.acks)
    time = f"{duration_text(record.timestamp_us)}, " if record.timestamp_us >= 0 else ""
    return (
        ("producer", f"{producer}{numbered}{identity}"),
        ("time", f"{time}written by broker {record.broker} at {duration_text(record.appended_us)}"),
        ("acks", f"{acks}, {'acknowledged' if record.acked else 'not acknowledged'}"),
        ("key", "null" if record.key is None else record.key),
        ("value", _record_value(peeked)),
        ("size", f"{size}{batch}"),
        ("held by", _held(peeked)),
    )


def text(records: Sequence[PeekedRecord], partition: str, offset: int) -> str:
    """Return all records of an offset as text for the clipboard."""
    if not records:
        return f"{partition} offset {offset}: {NOTHING_YET}"
    lines = [
        (heading(each), [f"{label.ljust(RECORD_LABEL)}{words}" for label, words in rows(each)]) for each in records
    ]
    return "\n".join("\n".join((head, *rest)) for head, rest in lines)


def _record_value(peeked: PeekedRecord) -> str:
    if peeked.value is not None:
        return peeked.value
    return "null: a tombstone" if peeked.record.deletes else "not set by the playbook (see records: faker:order)"


def _held(peeked: PeekedRecord) -> str:
    record = peeked.record
    if not record.holders:
        return GONE[record.gone]
    return brokers(record.holders)


INSPECTOR_LABEL: Final = 9
"""Cells of a label."""
WIDE: Final = 56
"""Minimum width for one line per replica."""
_TRANSACTIONS: Final = {
    "": "none",
    "open": "open: read_committed consumers wait for it",
    "committed": "committed",
    "aborted": "aborted: read_committed consumers skip it",
    "gone": "outcome unknown: no log has its marker any more",
}
_WARN: Final = ("open", "aborted", "gone")


@dataclass(frozen=True, slots=True)
class InspectedRecord:
    """Record with its contents, its copies and its acknowledgement."""

    peeked: PeekedRecord
    inspected: RecordInspection
    acked_us: int
    """Virtual time of the acknowledgement, -1: unknown."""


class RecordPosition(NamedTuple):
    """Partition, offset and replica under the cursor."""

    partition: str
    offset: int
    broker: int
    """Broker whose replica the cursor is on."""
    leader: int
    """Broker that leads the partition, -1: none."""


@dataclass(frozen=True, slots=True)
class OffsetReaders:
    """Consumer groups that may have read an offset."""

    groups: tuple[GroupView, ...]
    """Groups that read the topic."""
    fetched_by: tuple[str, ...]
    """Names of the groups that fetched the offset, whichever record it held then."""


def readers(view: ClusterView, partition: str, handed: Iterable[str]) -> OffsetReaders:
    """Return the groups that read a partition, and those that fetched the offset."""
    topic = partition.rpartition("-")[0]
    return OffsetReaders(tuple(each for each in view.groups if topic in each.topics), tuple(handed))


def build(
    records: Sequence[InspectedRecord],
    here: Sequence[RecordCopy],
    position: RecordPosition,
    read: OffsetReaders,
    room: tuple[int, int],
) -> tuple[Row, ...]:
    """Return all lines for ``room`` (width, height); ``here`` are the replicas, for an offset without any record.

    The record of the replica under the cursor comes first, then the others, newest first.
    """
    width, height = room
    if not records:
        rows = [Row(((NOTHING_YET, "quiet"),)), *_wrapped("replicas", _copies(here), width)]
        return tuple(rows[: max(1, height)])
    ordered = list(reversed(records))
    ordered.sort(key=lambda each: position.broker not in each.inspected.record.holders)
    rows = []
    for number, seen in enumerate(ordered):
        if number:
            rows.append(Row(()))
        rows += _record(seen, position, read, width)
    return _fitted(rows, height)


def _fitted(rows: list[Row], height: int) -> tuple[Row, ...]:
    if len(rows) <= height or height < 1:
        return tuple(rows)
    more = Row(((f"{len(rows) - height + 1} more lines {glyphs.MORE_BELOW} p: show all", "quiet"),))
    return (*rows[: height - 1], more)


def _record(seen: InspectedRecord, position: RecordPosition, read: OffsetReaders, width: int) -> list[Row]:
    record, inspection = seen.peeked.record, seen.inspected
    room = max(10, width - INSPECTOR_LABEL - 2)
    rows = [_heading(seen, position)]
    if inspection.kind in ("records", "transactional"):
        rows.append(_line("key", _cut("null" if record.key is None else record.key, room)))
        rows.append(_line("value", _cut(_inspected_value(seen.peeked), room)))
    else:
        rows.append(_line("marker", inspection.kind))
    rows.append(_line("producer", _cut(_producer(seen), room)))
    rows.append(_line("batch", _cut(_batch(seen), room)))
    rows.append(_line("appended", f"{clock(record.appended_us)} by b{record.broker}, acks={acks_text(record.acks)}"))
    rows.append(_acked(seen))
    rows += _where(inspection, width)
    rows += _wrapped("read by", _read(read, position), width)
    rows.append(_line("txn", _TRANSACTIONS[inspection.transaction], warned=inspection.transaction in _WARN))
    return rows


def _heading(seen: InspectedRecord, position: RecordPosition) -> Row:
    record = seen.peeked.record
    pieces = [(f"epoch {record.epoch}", "strong")]
    if record.holders:
        here = position.broker in record.holders
        pieces.append((f", {'' if here else 'not '}on b{position.broker}", "text" if here else "warning"))
    pieces.append(_outcome(seen, position))
    return Row(tuple(pieces))


def _outcome(seen: InspectedRecord, position: RecordPosition) -> tuple[str, str]:
    """Return the current state of the record, with a role."""
    record, inspection = seen.peeked.record, seen.inspected
    leaders = {each.broker: each.holding for each in inspection.copies}.get(position.leader, "holds")
    if record.acked and not record.holders and record.gone == "truncated":
        return f" {glyphs.LOST} acknowledged, then lost", "lost"
    if not record.holders:
        return f", {record.gone}", "warning"
    if record.acked and leaders in ("other", "behind"):
        return f" {glyphs.LOST} acked, not on the leader", "lost"
    return (", committed", "calm") if inspection.committed else (", not committed", "warning")


def _inspected_value(peeked: PeekedRecord) -> str:
    if peeked.value is not None:
        return peeked.value
    return "null: a tombstone" if peeked.record.deletes else "not set by the playbook"


def _producer(seen: InspectedRecord) -> str:
    record, inspection = seen.peeked.record, seen.inspected
    parts = [record.client] if record.client else []
    parts.append(f"record {record.number}")
    if record.producer_id >= 0:
        numbered = f" seq {inspection.sequence}" if inspection.sequence >= 0 else ""
        parts.append(f"id {record.producer_id} epoch {inspection.producer_epoch}{numbered}")
    return ", ".join(parts)


def _batch(seen: InspectedRecord) -> str:
    record = seen.peeked.record
    alone = f", this record {size_text(seen.peeked.record_bytes)}" if seen.peeked.record_bytes >= 0 else ""
    last = seen.inspected.batch_start + record.batch_records - 1
    span = f"{seen.inspected.batch_start}" if record.batch_records == 1 else f"{seen.inspected.batch_start} to {last}"
    return f"{span}, {size_text(record.batch_bytes)}{alone}"


def _acked(seen: InspectedRecord) -> Row:
    record = seen.peeked.record
    if not record.acked:
        return _line("acked", "not acknowledged", warned=bool(record.client))
    if seen.acked_us < 0:
        return _line("acked", "yes" if record.acks else "never: acks=0 has no response")
    return _line("acked", f"{clock(seen.acked_us)}, {(seen.acked_us - record.appended_us) / 1000:.1f}ms later")


def _where(inspection: RecordInspection, width: int) -> list[Row]:
    if not inspection.record.holders and width < WIDE:
        return _wrapped("held by", GONE[inspection.record.gone], width, warned=True)
    if width < WIDE:
        return _wrapped("held by", _copies(inspection.copies), width)
    return [
        _line("held by" if not number else "", _copy_words(each), warned=each.holding == "other")
        for number, each in enumerate(inspection.copies)
    ]


def _copy_words(copy: RecordCopy) -> str:
    if copy.holding != "holds":
        return f"b{copy.broker} {_HOLDING[copy.holding]}"
    below = "below its HW" if copy.below_hw else "above its HW"
    return f"b{copy.broker} has it, {below}, {'on disk' if copy.durable else 'in the page cache only'}"


_HOLDING: Final = {
    "holds": "has it", "other": "has another record here", "behind": "ends before it", "below": "starts after it",
    "compacted": "compacted it",
}  # fmt: skip
_BRIEFLY: Final = (
    ("holds", ""),
    ("other", "another record: "),
    ("behind", "log ends before: "),
    ("below", "log starts after: "),
    ("compacted", "compacted: "),
)


def _copies(copies: Sequence[RecordCopy]) -> str:
    """Return all replicas in short: those that have the record, then the others by what they have instead."""
    texts = []
    for holding, words in _BRIEFLY:
        brokers = " ".join(f"b{each.broker}" for each in copies if each.holding == holding)
        if brokers:
            texts.append(f"{words}{brokers}")
    return "; ".join(texts)


def _read(read: OffsetReaders, position: RecordPosition) -> str:
    if not read.groups:
        return "no group reads this topic"
    texts = []
    for group in read.groups:
        committed = dict(group.committed).get(position.partition, -1)
        fetched = "fetched it" if group.name in read.fetched_by else "not yet"
        texts.append(f"{group.name} {fetched}{f', committed {committed}' if committed > position.offset else ''}")
    return "; ".join(texts)


def _line(label: str, words: str, *, warned: bool = False) -> Row:
    return Row(((label.ljust(INSPECTOR_LABEL), "key"), (words, "warning" if warned else "text")))


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}{glyphs.MORE}"


def _wrapped(label: str, words: str, width: int, *, warned: bool = False) -> list[Row]:
    lines = wrap(words, max(10, width - INSPECTOR_LABEL - 2)) or [""]
    return [_line(label if not number else "", line, warned=warned) for number, line in enumerate(lines)]
