"""Helpers that import nothing else of the model.

quantities: numbers, durations, times and lists as text.
ranges: ranges of offsets as pairs, and sets of such ranges.
deterministic_math: hashes, murmur2 and powers in whole numbers, the same on every machine and in every run.
latency: exact percentiles of latencies, and how long records may wait before their producer is out of service.
"""

__all__ = ["deterministic_math", "latency", "quantities", "ranges"]
