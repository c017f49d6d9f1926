"""One record in words: what the command line prints of it, and the screen shows."""

from collections.abc import Sequence
from typing import Final

from playbooks.errors import counted, listed
from playbooks.model.peeking import Peeked
from playbooks.units import duration_text, size_text

GONE: Final = {
    "truncated": "nobody: it was cut off every log that had it",
    "deleted": "nobody: the log begins behind it by now",
    "compacted": "nobody: a newer record of its key has replaced it",
}
"""Why nobody holds a record."""
LABEL: Final = 10
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
    acks = "all" if record.acks < 0 else str(record.acks)
    time = f"{duration_text(record.timestamp_us)}, " if record.timestamp_us >= 0 else ""
    return (
        ("producer", f"{producer}{numbered}{identity}"),
        ("time", f"{time}written by broker {record.broker} at {duration_text(record.appended_us)}"),
        ("acks", f"{acks}, {'acknowledged' if record.acked else 'not acknowledged'}"),
        ("key", "null" if record.key is None else record.key),
        ("value", _value(peeked)),
        ("size", f"{size}{batch}"),
        ("held by", _held(peeked)),
    )


def text(found: Sequence[Peeked], partition: str, offset: int) -> str:
    """All records of an offset, for the clipboard."""
    if not found:
        return f"{partition} offset {offset}: {NOTHING_YET}"
    lines = [(heading(each), [f"{label.ljust(LABEL)}{words}" for label, words in rows(each)]) for each in found]
    return "\n".join("\n".join((head, *rest)) for head, rest in lines)


def _value(peeked: Peeked) -> str:
    if peeked.value is not None:
        return peeked.value
    return "null: a tombstone" if peeked.record.deletes else "the playbook does not say (records: faker:order)"


def _held(peeked: Peeked) -> str:
    record = peeked.record
    if not record.holders:
        return GONE[record.gone]
    return f"broker{'s' if len(record.holders) > 1 else ''} {listed(map(str, record.holders), 'and')}"
