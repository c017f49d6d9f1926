"""Records as a read of a log found them."""

from typing import NamedTuple

from cluster_model.log.cleaned import Cleaned

Extent = tuple[int, int]
"""(first offset, lineage id); it ends where the next begins."""


class Slice(NamedTuple):
    """Records as a read found them: extents over ``[start, end)``, frozen when the fetch was served."""

    start: int
    end: int
    extents: tuple[Extent, ...]
    cleaned: Cleaned | None = None
    """Which of them compaction had removed."""
