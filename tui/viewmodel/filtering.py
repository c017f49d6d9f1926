"""Which partitions the filter of the matrix shows: by name, and by what is the matter with them."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from cluster_model.observation.views import PartitionView
from playbooks.filtering import fits
from tui.terminal import glyphs

FILTER: Final = "names, offline, under, minisr, lost, split, b2 (led by it); ! before a word: without it"
"""What can be typed."""


def said_of(partition: PartitionView) -> str:
    """All that a filter finds in a partition."""
    said = [partition.name]
    if partition.offline:
        said.append("offline")
    else:
        said.append(f"b{partition.leader}")
    if partition.under_replicated:
        said.append("under")
    if partition.under_min_isr:
        said.append("minisr")
    if partition.missing:
        said.append("lost")
    if partition.split:
        said.append("split")
    return " ".join(said)


def fitting(partitions: Sequence[PartitionView], words: str) -> list[int]:
    """The numbers of the partitions that the filter shows, all of them without one."""
    if not words.strip():
        return list(range(len(partitions)))
    return [number for number, each in enumerate(partitions) if fits(words, said_of(each))]


def nearest(numbers: Sequence[int], number: int) -> int:
    """That number, or else the next one that is there, or else the last; as it is where there is none."""
    if not numbers:
        return number
    return numbers[min(bisect_left(numbers, number), len(numbers) - 1)]


def stepped(numbers: Sequence[int], number: int, steps: int, *, around: bool = False) -> int:
    """So many steps on among the numbers that are there; it stops at the ends, or goes around them."""
    if not numbers:
        return number
    place = bisect_left(numbers, number) + steps
    return numbers[place % len(numbers) if around else max(0, min(place, len(numbers) - 1))]


def told(words: str, found: int, total: int) -> str:
    """The filter, for the border of what it filters; empty without one."""
    if not words.strip():
        return ""
    return f"/{words.strip()} {glyphs.NOTHING} {found} of {total} {glyphs.NOTHING} esc: all"
