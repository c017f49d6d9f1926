"""The size of every record of a producer, drawn once and for all by its number in its partition.

Nobody keeps sizes: whoever asks for record 17 of ``orders-0`` gets the same answer, so a batch that is retried, split
or looked at later has the bytes that it always had.
"""

from functools import lru_cache
from itertools import accumulate
from typing import Final, Protocol

from cluster_model.kernel.rng import BLOCK, draws
from cluster_model.spec.cluster_spec import Interceptor, ProducerSpec
from cluster_model.spec.load_spec import Sizes, SpreadSizes, TwoSizes, UniformSizes
from cluster_model.util.deterministic_math import ONE, exp2, log2

MILLION: Final = 1_000_000
SMALLEST: Final = 1
LARGEST: Final = 1024 * 1024
"""A drawn size is cut to these."""
_REMEMBERED: Final = 1_024
"""Blocks of drawn sizes that are kept."""

_P99: Final = 2_326
_NORMAL: Final = (
    5, 15, 24, 34, 44, 54, 64, 74, 83, 93, 103, 113, 123, 133, 142, 152, 162, 172, 182, 192, 202, 212, 222, 232, 242,
    252, 262, 273, 283, 293, 303, 313, 324, 334, 345, 355, 365, 376, 386, 397, 408, 418, 429, 440, 451, 461, 472, 483,
    494, 505, 517, 528, 539, 550, 562, 573, 585, 597, 608, 620, 632, 644, 656, 668, 681, 693, 706, 718, 731, 744, 757,
    770, 783, 796, 810, 824, 837, 851, 866, 880, 894, 909, 924, 939, 954, 970, 986, 1002, 1018, 1035, 1052, 1069, 1086,
    1104, 1122, 1141, 1160, 1179, 1199, 1219, 1240, 1262, 1284, 1306, 1330, 1354, 1379, 1405, 1431, 1459, 1488, 1518,
    1550, 1584, 1619, 1656, 1696, 1739, 1785, 1836, 1891, 1953, 2024, 2107, 2207, 2335, 2521, 2886,
)  # fmt: skip
"""Thousandths of a standard deviation in the middle of each of the upper 128 of 256 equal parts of a normal curve."""


class RecordSizes(Protocol):
    """Sizes of one producer's records, in bytes as serialized, before compression."""

    def of(self, partition: str, sequence: int, records: int) -> int:
        """All bytes of ``records`` records from number ``sequence`` on."""


class OneSize:
    """All records alike."""

    __slots__ = ("_record_bytes",)

    def __init__(self, record_bytes: int) -> None:
        self._record_bytes = record_bytes

    def of(self, partition: str, sequence: int, records: int) -> int:
        """All bytes of so many records."""
        return records * self._record_bytes


def every(step: int, first: int, count: int) -> int:
    """How many of ``count`` numbers from ``first`` on are the last of a group of ``step``; none for step 0."""
    return (first + count) // step - first // step if step else 0


class InterceptedSizes:
    """Sizes of records with what interceptors have added."""

    __slots__ = ("_interceptors", "_sizes")

    def __init__(self, sizes: RecordSizes, interceptors: tuple[Interceptor, ...]) -> None:
        self._sizes = sizes
        self._interceptors = interceptors

    def of(self, partition: str, sequence: int, records: int) -> int:
        """All bytes of those records."""
        size = self._sizes.of(partition, sequence, records)
        for each in self._interceptors:
            size += each.adds * (records - every(each.fails, sequence, records))
        return size


class DrawnSizes:
    """Sizes from a stream of the session for each partition."""

    __slots__ = ("_client", "_seed", "_sizes")

    def __init__(self, sizes: Sizes, client: str, seed: int) -> None:
        """``seed`` is the session's."""
        self._sizes = sizes
        self._client = client
        self._seed = seed

    def of(self, partition: str, sequence: int, records: int) -> int:
        """All bytes of those records."""
        name = f"bytes:{self._client}/{partition}"
        total, end = 0, sequence + records
        while sequence < end:
            number, first = divmod(sequence, BLOCK)
            last = min(BLOCK, first + end - sequence)
            sums = _block(self._sizes, self._seed, name, number)
            total += sums[last] - sums[first]
            sequence += last - first
        return total


@lru_cache(maxsize=_REMEMBERED)
def _block(sizes: Sizes, seed: int, name: str, number: int) -> tuple[int, ...]:
    """Bytes of the first 0, 1, 2 ... records of a block."""
    return tuple(accumulate((drawn(sizes, draw) for draw in draws(seed, name, number)), initial=0))


def drawn(sizes: Sizes, draw: int) -> int:
    """The size that a draw, uniform over 64 bits, stands for."""
    if isinstance(sizes, UniformSizes):
        return sizes.low + (draw * (sizes.high - sizes.low + 1) >> 64)
    if isinstance(sizes, TwoSizes):
        return sizes.large if draw * MILLION >> 64 < sizes.large_ppm else sizes.small
    table = _spread(sizes)
    return table[draw * len(table) >> 64]


@lru_cache(maxsize=64)
def _spread(sizes: SpreadSizes) -> tuple[int, ...]:
    """256 sizes that are equally likely, in ascending order."""
    width = log2(sizes.p99) - log2(sizes.median)
    places = (*(-place for place in reversed(_NORMAL)), *_NORMAL)
    found = (sizes.median * exp2(width * place // _P99) // ONE for place in places)
    return tuple(max(SMALLEST, min(LARGEST, size)) for size in found)


def sizes_of(spec: ProducerSpec, seed: int) -> RecordSizes:
    """The sizes of a producer's records in a session of that seed."""
    made: RecordSizes = OneSize(spec.record_bytes)
    if spec.sizes is not None:
        made = DrawnSizes(spec.sizes, spec.name, seed)
    return InterceptedSizes(made, spec.interceptors) if spec.interceptors else made
