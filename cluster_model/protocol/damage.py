"""Batches of one replica's log that are not what was written: bits have turned on the disk, or in the page cache.

The checksum of such a batch no longer matches, and nobody knows until somebody reckons it: a follower before it
appends, a consumer before it hands out, a start that recovers. A leader sends what it has as it stands (zero copy).
"""

from typing import Final, NamedTuple

VALUE: Final = "value"
"""In a record's value: nothing but the checksum tells."""
LENGTH: Final = "length"
"""In a record's length: whoever takes the batch apart fails, with or without a look at the checksum."""
KINDS: Final = (VALUE, LENGTH)

CORRUPT_BATCH: Final = "corrupt batch"
"""Rule of a truncation at the first batch that a recovery found damaged."""


class Damage(NamedTuple):
    """The damaged batch over the offsets ``[start, end)``, as far as the log holds them."""

    start: int
    end: int
    kind: str


Damages = tuple[Damage, ...]
"""Disjoint, ascending."""


def with_damage(damages: Damages, fresh: Damage) -> Damages:
    """Another one; a batch that is damaged already gets no better, and one whose length is wrong stays that."""
    known = next((each for each in damages if each.start == fresh.start), None)
    if known is not None and LENGTH in (known.kind, fresh.kind):
        fresh = fresh._replace(kind=LENGTH)
    return tuple(sorted((*(each for each in damages if each is not known), fresh)))


def up_to(damages: Damages, end: int) -> Damages:
    """What is left of them in a log that ends at ``end``: a log is cut between batches."""
    return tuple(each for each in damages if each.end <= end)
