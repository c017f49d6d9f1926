"""Helpers that import nothing else of the model.

quantities: numbers, durations, times and lists as text.
ranges: ranges of offsets as pairs, and sets of such ranges.
deterministic_math: hashes, murmur2 and powers in integers, the same on every machine and in every run.
latency: exact percentiles of latencies, and the longest wait of a producer that still counts as service.
"""

__all__ = ["deterministic_math", "latency", "quantities", "ranges"]
