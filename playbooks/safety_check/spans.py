"""Intervals of virtual time and what is left of them where others are taken away."""

from bisect import bisect_right
from itertools import islice

from cluster_model.util.ranges import subtract

Spans = tuple[tuple[int, int], ...]
"""Intervals, each from its beginning to its end, in order and apart from each other."""


def without(spans: Spans, others: Spans) -> Spans:
    """What is left of intervals where those others are taken away."""
    return tuple((start, end) for start, end in subtract(spans, others) if start < end)


def longest(spans: Spans) -> int:
    """The longest of them, 0 for none."""
    return max((end - start for start, end in spans), default=0)


def longest_added(spans: Spans, others: Spans) -> int:
    """By how much the longest of these waits is longer than the one of the others in the same time.

    A wait ends when something comes. Where one of these covers several of the others, something came in between
    without the action, so only the longest time in common with one of them is taken away.
    """
    ends = [end for _start, end in others]
    most = 0
    for start, end in spans:
        if end - start <= most:
            continue
        common = 0
        for low, high in islice(others, bisect_right(ends, start), None):
            if low >= end:
                break
            common = max(common, min(end, high) - max(start, low))
        most = max(most, end - start - common)
    return most
