"""Helpers without any knowledge of Kafka.

ranges: ranges of offsets as pairs, and sets of such ranges.
deterministic_math: hashes, murmur2 and powers in whole numbers, the same on every machine and in every run.

This package imports nothing else of the model.
"""

from cluster_model.util.deterministic_math import partition_for_key
from cluster_model.util.ranges import Range, subtract, union

__all__ = [
    "Range",
    "partition_for_key",
    "subtract",
    "union",
]
