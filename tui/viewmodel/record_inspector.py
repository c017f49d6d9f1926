"""The record inspector: every record that was ever written at one offset, and one record in words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cluster_model.inspection.log_inspector import Inspected, RecordCopy
from cluster_model.observation import ClusterView, GroupView
from cluster_model.util.quantities import acks_text, brokers, clock, counted
from playbooks.model.record_contents import Peeked
from playbooks.units import duration_text, size_text
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.viewmodel.row import Row

# One record in words: what the command line prints of it, and the screen shows.


GONE: Final = {
    "truncated": "nobody: it was cut off every log that had it",
    "deleted": "nobody: the log begins behind it by now",
    "compacted": "nobody: a newer record of its key has replaced it",
}
"""Why nobody holds a record."""
RECORD_LABEL: Final = 10
"""Cells in front of the words."""
NOTHING_YET: Final = "nothing was written here so far"


def heading(peeked: Peeked) -> str:
    """Which record it is."""
    record = peeked.record
    return f"{record.partition} offset {record.offset}, leader epoch {record.epoch}"


def rows(peeked: Peeked) -> tuple[tuple[str, str], ...]:
    """(label, words) of everything that is known of it."""
    record = peeked.record
    producer = f"{record.client}, " if record.client else ""
    numbered = f"its record {record.number} in {record.partition}, counted from 0"
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


def text(found: Sequence[Peeked], partition: str, offset: int) -> str:
    """All records of an offset, for the clipboard."""
    if not found:
        return f"{partition} offset {offset}: {NOTHING_YET}"
    lines = [(heading(each), [f"{label.ljust(RECORD_LABEL)}{words}" for label, words in rows(each)]) for each in found]
    return "\n".join("\n".join((head, *rest)) for head, rest in lines)


def _record_value(peeked: Peeked) -> str:
    if peeked.value is not None:
        return peeked.value
    return "null: a tombstone" if peeked.record.deletes else "the playbook does not say (records: faker:order)"


def _held(peeked: Peeked) -> str:
    record = peeked.record
    if not record.holders:
        return GONE[record.gone]
    return brokers(record.holders)


INSPECTOR_LABEL: Final = 9
"""Cells in front of the words."""
WIDE: Final = 56
"""From this width on every replica has a line of its own."""
_TRANSACTIONS: Final = {
    "": "of none",
    "open": "open: whoever reads committed data waits for it",
    "committed": "committed",
    "aborted": "aborted: whoever reads committed data skips it",
    "gone": "its end is not known: no log has it any more",
}
_WARN: Final = ("open", "aborted", "gone")


@dataclass(frozen=True, slots=True)
class InspectedRecord:
    """A record with everything that is known of it."""

    peeked: Peeked
    inspected: Inspected
    acked_us: int
    """-1: not known."""


class RecordPosition(NamedTuple):
    """What is looked at."""

    partition: str
    offset: int
    broker: int
    """Whose replica the cursor is on."""
    leader: int
    """-1: nobody."""


@dataclass(frozen=True, slots=True)
class OffsetReaders:
    """Who may have read an offset."""

    groups: tuple[GroupView, ...]
    """Those that read the topic."""
    handed: tuple[str, ...]
    """Names of those that were handed the offset, whatever stood there then."""


def readers(view: ClusterView, partition: str, handed: Iterable[str]) -> OffsetReaders:
    """Of all groups those that read a partition."""
    topic = partition.rpartition("-")[0]
    return OffsetReaders(tuple(each for each in view.groups if topic in each.topics), tuple(handed))


def build(
    found: Sequence[InspectedRecord],
    here: Sequence[RecordCopy],
    place: RecordPosition,
    read: OffsetReaders,
    room: tuple[int, int],
) -> tuple[Row, ...]:
    """All lines, in a ``room`` of (width, height); ``here`` are the replicas, for an offset without any record.

    The record that the replica under the cursor holds goes first, then the newest.
    """
    width, height = room
    if not found:
        rows = [Row(((NOTHING_YET, "quiet"),)), *_wrapped("replicas", _copies(here), width)]
        return tuple(rows[: max(1, height)])
    ordered = list(reversed(found))
    ordered.sort(key=lambda each: place.broker not in each.inspected.record.holders)
    rows = []
    for number, seen in enumerate(ordered):
        if number:
            rows.append(Row(()))
        rows += _record(seen, place, read, width)
    return _fitted(rows, height)


def _fitted(rows: list[Row], height: int) -> tuple[Row, ...]:
    if len(rows) <= height or height < 1:
        return tuple(rows)
    more = Row(((f"{len(rows) - height + 1} lines more {glyphs.MORE_BELOW} p: all of it", "quiet"),))
    return (*rows[: height - 1], more)


def _record(seen: InspectedRecord, place: RecordPosition, read: OffsetReaders, width: int) -> list[Row]:
    record, known = seen.peeked.record, seen.inspected
    room = max(10, width - INSPECTOR_LABEL - 2)
    rows = [_heading(seen, place)]
    if known.kind in ("records", "transactional"):
        rows.append(_line("key", _cut("null" if record.key is None else record.key, room)))
        rows.append(_line("value", _cut(_inspected_value(seen.peeked), room)))
    else:
        rows.append(_line("marker", known.kind))
    rows.append(_line("producer", _cut(_producer(seen), room)))
    rows.append(_line("batch", _cut(_batch(seen), room)))
    rows.append(_line("appended", f"{clock(record.appended_us)} by b{record.broker}, acks={acks_text(record.acks)}"))
    rows.append(_acked(seen))
    rows += _where(known, width)
    rows += _wrapped("read by", _read(read, place), width)
    rows.append(_line("txn", _TRANSACTIONS[known.transaction], warned=known.transaction in _WARN))
    return rows


def _heading(seen: InspectedRecord, place: RecordPosition) -> Row:
    record = seen.peeked.record
    pieces = [(f"epoch {record.epoch}", "strong")]
    if record.holders:
        here = place.broker in record.holders
        pieces.append((f", {'' if here else 'not '}on b{place.broker}", "text" if here else "warning"))
    pieces.append(_fate(seen, place))
    return Row(tuple(pieces))


def _fate(seen: InspectedRecord, place: RecordPosition) -> tuple[str, str]:
    """What became of it, with a role."""
    record, known = seen.peeked.record, seen.inspected
    leaders = {each.broker: each.holding for each in known.copies}.get(place.leader, "holds")
    if record.acked and not record.holders and record.gone == "truncated":
        return f" {glyphs.LOST} acknowledged, then lost", "lost"
    if not record.holders:
        return f", {record.gone}", "warning"
    if record.acked and leaders in ("other", "behind"):
        return f" {glyphs.LOST} acked, not on the leader", "lost"
    return (", committed", "calm") if known.committed else (", not committed", "warning")


def _inspected_value(peeked: Peeked) -> str:
    if peeked.value is not None:
        return peeked.value
    return "null: a tombstone" if peeked.record.deletes else "not told by the playbook"


def _producer(seen: InspectedRecord) -> str:
    record, known = seen.peeked.record, seen.inspected
    parts = [record.client] if record.client else []
    parts.append(f"record {record.number}")
    if record.producer_id >= 0:
        numbered = f" seq {known.sequence}" if known.sequence >= 0 else ""
        parts.append(f"id {record.producer_id} epoch {known.producer_epoch}{numbered}")
    return ", ".join(parts)


def _batch(seen: InspectedRecord) -> str:
    record = seen.peeked.record
    alone = f", this one {size_text(seen.peeked.record_bytes)}" if seen.peeked.record_bytes >= 0 else ""
    last = seen.inspected.batch_start + record.batch_records - 1
    span = f"{seen.inspected.batch_start}" if record.batch_records == 1 else f"{seen.inspected.batch_start} to {last}"
    return f"{span}, {size_text(record.batch_bytes)}{alone}"


def _acked(seen: InspectedRecord) -> Row:
    record = seen.peeked.record
    if not record.acked:
        return _line("acked", "not acknowledged", warned=bool(record.client))
    if seen.acked_us < 0:
        return _line("acked", "yes" if record.acks else "nobody answers acks=0")
    return _line("acked", f"{clock(seen.acked_us)}, {(seen.acked_us - record.appended_us) / 1000:.1f}ms later")


def _where(known: Inspected, width: int) -> list[Row]:
    if not known.record.holders and width < WIDE:
        return _wrapped("held by", GONE[known.record.gone], width, warned=True)
    if width < WIDE:
        return _wrapped("held by", _copies(known.copies), width)
    return [
        _line("held by" if not number else "", _copy_words(each), warned=each.holding == "other")
        for number, each in enumerate(known.copies)
    ]


def _copy_words(copy: RecordCopy) -> str:
    if copy.holding != "holds":
        return f"b{copy.broker} {_HOLDING[copy.holding]}"
    below = "below its HW" if copy.below_hw else "above its HW"
    return f"b{copy.broker} has it, {below}, {'on disk' if copy.durable else 'in the page cache only'}"


_HOLDING: Final = {
    "holds": "has it", "other": "has another record here", "behind": "ends before it", "below": "begins behind it",
    "compacted": "compacted it away",
}  # fmt: skip
_BRIEFLY: Final = (
    ("holds", ""),
    ("other", "another one: "),
    ("behind", "end before it: "),
    ("below", "begin behind it: "),
    ("compacted", "compacted it: "),
)


def _copies(copies: Sequence[RecordCopy]) -> str:
    """All replicas in few words: those that have the record, then the others by what they have."""
    told = []
    for holding, words in _BRIEFLY:
        brokers = " ".join(f"b{each.broker}" for each in copies if each.holding == holding)
        if brokers:
            told.append(f"{words}{brokers}")
    return "; ".join(told)


def _read(read: OffsetReaders, place: RecordPosition) -> str:
    if not read.groups:
        return "no group reads this topic"
    told = []
    for group in read.groups:
        committed = dict(group.committed).get(place.partition, -1)
        handed = "was handed it" if group.name in read.handed else "not yet"
        told.append(f"{group.name} {handed}{f', committed {committed}' if committed > place.offset else ''}")
    return "; ".join(told)


def _line(label: str, words: str, *, warned: bool = False) -> Row:
    return Row(((label.ljust(INSPECTOR_LABEL), "key"), (words, "warning" if warned else "text")))


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}{glyphs.MORE}"


def _wrapped(label: str, words: str, width: int, *, warned: bool = False) -> list[Row]:
    lines = wrap(words, max(10, width - INSPECTOR_LABEL - 2)) or [""]
    return [_line(label if not number else "", line, warned=warned) for number, line in enumerate(lines)]
