"""What of a fetch's answer an application gets to see (``CompletedFetch.nextFetchedRecord``, KIP-98).

Markers never reach it. A consumer that reads committed data only also leaves out what was aborted: the broker sends
it all the same, and says which transactions those are.
"""

from collections.abc import Iterator, Sequence

from cluster_model.log.batch_store import Lineages
from cluster_model.protocol.batch import ABORT, TRANSACTIONAL
from cluster_model.protocol.slices import Slice

Range = tuple[int, int]
"""Offsets ``[start, end)``."""


def handed_out(lineages: Lineages, records: Slice, aborted: Sequence[tuple[int, int]] = ()) -> Iterator[Range]:
    """The offsets to hand out, ascending; the position moves to the end of the answer whatever they are.

    ``aborted`` are (producer id, first offset) as the answer lists them; none for who reads uncommitted data too.
    Neighbouring batches are one range.
    """
    if not records.extents:
        return
    start = end = -1
    for low, high in _ranges(lineages, records, aborted):
        if low == end:
            end = high
            continue
        if start < end:
            yield start, end
        start, end = low, high
    if start < end:
        yield start, end


def _ranges(lineages: Lineages, records: Slice, aborted: Sequence[tuple[int, int]]) -> Iterator[Range]:
    cleaned = records.cleaned
    if not lineages.any_transactional(records.extents):
        yield from [(records.start, records.end)] if cleaned is None else cleaned.left(records.start, records.end)
        return
    coming = sorted(aborted, key=lambda each: each[1])
    gone: dict[int, None] = {}
    at = records.start
    for batch, end in lineages.batches_of(records.extents, records.end):
        start, at = at, end
        while coming and coming[0][1] < end:
            gone[coming.pop(0)[0]] = None
        if batch.kind >= ABORT:
            if batch.kind == ABORT and (cleaned is None or not cleaned.gone(batch)):
                gone.pop(batch.producer_id, None)
        elif batch.kind != TRANSACTIONAL or batch.producer_id not in gone:
            yield from [(start, end)] if cleaned is None else cleaned.left(start, end)
