"""The keys of a producer, sorted by the partition that each of them goes to.

Kafka places a record by its key. Here it is the other way round, which comes to the same odds: the partition is drawn
first, by how often its keys come, and then one of its keys, so that the key is a function of the record's place.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from cluster_model.log.skew import Weights, weights
from cluster_model.spec.load_spec import KeySkew, OwnPartitioner
from cluster_model.util.mixing import mixed
from cluster_model.util.murmur import partition_for_key

_MILLION: Final = 1_000_000


class KeySet(NamedTuple):
    """Keys ``key-0`` to ``key-(distinct - 1)``, the frequent ones first, and what decides where each of them goes."""

    distinct: int
    skew: KeySkew | None = None
    """None: all keys are alike often."""
    own: OwnPartitioner | None = None
    """None: Kafka's hash alone."""
    hot: tuple[tuple[int, int], ...] = ()
    """(key, share in millionths): so many of all records have that key, whatever the skew; one after the other."""


class Pool:
    """Which keys each partition has while there are ``total`` of them."""

    __slots__ = ("_keys", "_partitions", "_sums", "_weights")

    def __init__(self, keys: KeySet, total: int) -> None:
        self._keys = _shares(keys, total)
        whole = weights(keys.skew, keys.distinct)
        self._weights = {partition: _within(whole, share) for partition, share in self._keys.items()}
        self._partitions = tuple(self._keys)
        self._sums = tuple(accumulate(each.sums[-1] for each in self._weights.values()))

    def partition(self, draw: int) -> int:
        """Where the next record goes, by a draw that is uniform over 64 bits."""
        return self._partitions[bisect_right(self._sums, draw * self._sums[-1] >> 64)]

    def counts(self, records: int, draw: Callable[[], int]) -> dict[int, int]:
        """How many of the next records go to each partition, in the order of their first ones."""
        partitions, sums = self._partitions, self._sums
        whole = sums[-1]
        found: dict[int, int] = {}
        for _record in range(records):
            partition = partitions[bisect_right(sums, draw() * whole >> 64)]
            found[partition] = found.get(partition, 0) + 1
        return found

    def key(self, partition: int, draw: int) -> int:
        """The key of a record there, by another draw."""
        return self._keys[partition][self._weights[partition].drawn(draw)]

    def keys(self, partition: int) -> tuple[int, ...]:
        """All keys of a partition, the most frequent first."""
        return tuple(self._keys.get(partition, ()))


def _shares(keys: KeySet, total: int) -> dict[int, "array[int]"]:
    """Partition → its keys, both in ascending order."""
    own, others = (dict(keys.own.keys), keys.own.others) if keys.own is not None else ({}, -1)
    shares: dict[int, array[int]] = {}
    for key in range(keys.distinct):
        partition = own.get(key, others)
        if partition < 0:
            partition = partition_for_key(b"key-%d" % key, total)
        share = shares.get(partition)
        if share is None:
            share = shares[partition] = array("L")
        share.append(key)
    return dict(sorted(shares.items()))


def _within(whole: Weights, share: "array[int]") -> Weights:
    """How often each of some keys, in ascending order, is drawn: as often as among all."""
    begins, sums, total, begin, before = [0], [], 0, 0, 0
    for first, end, upto in zip(whole.begins, whole.begins[1:], whole.sums, strict=False):
        width = bisect_left(share, end, begin) - begin
        if width:
            begin += width
            total += (upto - before) // (end - first) * width
            begins.append(begin)
            sums.append(total)
        before = upto
    return Weights(tuple(begins), tuple(sums))


class HotPool(Pool):
    """A pool in which some keys have a share of all records; the rest are as they would be without."""

    __slots__ = ("_hot", "_rest_ppm")

    def __init__(self, keys: KeySet, total: int) -> None:
        super().__init__(keys, total)
        homes = {key: partition for partition, share in self._keys.items() for key in share}
        self._hot: list[tuple[int, int, int, int]] = []
        """(partition, key, share of what is left by the ones before, share of all)."""
        left = _MILLION
        for key, share_ppm in keys.hot:
            self._hot.append((homes[key], key, share_ppm, left * share_ppm // _MILLION))
            left = left * (_MILLION - share_ppm) // _MILLION
        self._rest_ppm = left

    def partition(self, draw: int) -> int:
        """Where the next record goes, by a draw that is uniform over 64 bits."""
        for home, _key, share_ppm, _of_all in self._hot:
            if draw * _MILLION >> 64 < share_ppm:
                return home
            draw = mixed(draw)
        return super().partition(draw)

    def counts(self, records: int, draw: Callable[[], int]) -> dict[int, int]:
        """How many of the next records go to each partition, in the order of their first ones."""
        found: dict[int, int] = {}
        for _record in range(records):
            partition = self.partition(draw())
            found[partition] = found.get(partition, 0) + 1
        return found

    def key(self, partition: int, draw: int) -> int:
        """The key of a record there, by another draw."""
        here = [(key, of_all) for home, key, _share, of_all in self._hot if home == partition]
        if not here:
            return super().key(partition, draw)
        rest = self._rest_ppm * self._weights[partition].sums[-1] // self._sums[-1]
        point = draw * (sum(of_all for _key, of_all in here) + rest) >> 64
        for key, of_all in here:
            if point < of_all:
                return key
            point -= of_all
        return super().key(partition, mixed(draw))


@lru_cache(maxsize=64)
def pool(keys: KeySet, total: int) -> Pool:
    """The one of these keys and so many partitions: producers alike have it together."""
    return HotPool(keys, total) if keys.hot else Pool(keys, total)
