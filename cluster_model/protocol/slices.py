"""Records as a read of a log found them."""

from typing import NamedTuple

from cluster_model.protocol.damage import LENGTH, Damages
from cluster_model.protocol.records import Cleaned

Extent = tuple[int, int]
"""(first offset, lineage id); it ends where the next begins."""


class Slice(NamedTuple):
    """Records as a read found them: extents over ``[start, end)``, frozen when the fetch was served."""

    start: int
    end: int
    extents: tuple[Extent, ...]
    cleaned: Cleaned | None = None
    """Which of them compaction had removed."""
    damages: Damages = ()
    """Which batches of them were not what had been written."""


def as_stored(records: Slice, damages: Damages) -> Slice:
    """The same with the damage that the log they were read from has."""
    found = tuple(each for each in damages if each.start < records.end and each.end > records.start)
    return records._replace(damages=found) if found else records


def readable(records: Slice, *, checks: bool) -> Slice:
    """The records up to the first batch that cannot be read; ``checks``: checksums are looked at.

    What it leaves of the damage is that which nobody will notice.
    """
    bad = next((each.start for each in records.damages if checks or each.kind == LENGTH), records.end)
    end = max(bad, records.start)
    if end == records.end:
        return records
    cleaned = records.cleaned and records.cleaned.clip(records.start, end)
    extents = tuple(extent for extent in records.extents if extent[0] < end)
    return Slice(records.start, end, extents, cleaned)
