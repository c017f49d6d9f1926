"""What a new coordinator finds in the log of a partition of ``__consumer_offsets``.

Commits of a transaction count from its COMMIT marker on; an ABORT drops them; those of an open one stay pending
(``GroupMetadataManager.doLoadGroupsAndOffsets``).
"""

from collections.abc import Iterable
from typing import NamedTuple

from cluster_model.coordinators.group.consumer_protocol.records import ModernRecord, is_modern
from cluster_model.coordinators.group.consumer_protocol.records import decode as decode_modern
from cluster_model.coordinators.group.records import GroupRecord, GroupValue, OffsetAndMetadata, decode
from cluster_model.protocol.batch import ABORT, COMMIT, TRANSACTIONAL, Batch

Place = tuple[str, str]
"""(group, partition)."""
Offsets = dict[Place, tuple[OffsetAndMetadata, int]]
"""What is committed, and where in the log it says so."""


class Found(NamedTuple):
    """Groups and offsets as they stand, and by producer id what is pending."""

    groups: dict[str, GroupValue]
    offsets: Offsets
    pending: dict[int, Offsets]
    modern: list[ModernRecord]
    """Those of groups by the consumer protocol (KIP-848)."""


def found_in(batches: Iterable[tuple[Batch, list[tuple[int, str]]]]) -> Found:
    """Go over batches, each with (offset, record) of what is left of it."""
    found = Found({}, {}, {}, [])
    for batch, records in batches:
        if batch.kind >= ABORT:
            staged = found.pending.pop(batch.producer_id, {})
            for place, (value, offset) in staged.items() if batch.kind == COMMIT else ():
                if place not in found.offsets or found.offsets[place][1] < offset:
                    found.offsets[place] = (value, offset)
            continue
        in_transaction = batch.kind == TRANSACTIONAL
        for offset, text in records:
            _note(found, text, offset, found.pending.setdefault(batch.producer_id, {}) if in_transaction else None)
    return found


def _note(found: Found, text: str, offset: int, staged: Offsets | None) -> None:
    if is_modern(text):
        found.modern.append(decode_modern(text))
        return
    record = decode(text)
    if isinstance(record, GroupRecord):
        found.groups.pop(record.group_id, None)
        if record.value is not None:
            found.groups[record.group_id] = record.value
        return
    offsets = found.offsets if staged is None else staged
    place = (record.group_id, record.partition)
    offsets.pop(place, None)
    if record.value is not None:
        offsets[place] = (record.value, offset)
