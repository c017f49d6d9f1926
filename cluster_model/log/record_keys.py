"""Keys of records: key pools by partition, skew, and which record a later one replaces.

Kafka chooses a record's partition by its key. Here it is the other way round, with the same probabilities: the
partition is drawn first, by the frequency of its keys, and then one of its keys, so that the key is a function of
partition and record number.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from cluster_model.protocol.records import Batch
from cluster_model.spec.cluster_spec import CustomPartitioner, HotKeys, KeySkew
from cluster_model.util.deterministic_math import exp2, log2, mix64, number_of, partition_for_key

# Key skew: the key that a random number selects, where some keys are more frequent than others.
#
# One random number of 64 bits decides, in integer arithmetic alone, so that every replica finds the same key.


_MILLION: Final = 1_000_000
_THOUSAND: Final = 1_000
_EXACT: Final = 256
"""Number of keys with a weight of their own; rarer ones share it with their neighbours."""
_WIDENING: Final = 16
"""A group of rare keys is as large as the number of keys before it, divided by this."""


class Weights(NamedTuple):
    """Groups of equally frequent neighbouring keys: where each begins, and the cumulative weights."""

    begins: tuple[int, ...]
    """First key of each group, and the end of the last one."""
    sums: tuple[int, ...]

    def key_for(self, draw: int) -> int:
        """Return the key that a uniform 64-bit random number selects."""
        begins, sums = self
        point = draw * sums[-1] >> 64
        group = bisect_right(sums, point)
        before = sums[group - 1] if group else 0
        width = begins[group + 1] - begins[group]
        return begins[group] + (point - before) * width // (sums[group] - before)


def rank(skew: KeySkew | None, distinct: int, draw: int) -> int:
    """Return the key of a uniform 64-bit random number, from 0, the most frequent, to ``distinct`` - 1."""
    if skew is None:
        return draw * distinct >> 64
    return weights(skew, distinct).key_for(draw)


@lru_cache(maxsize=64)
def weights(skew: KeySkew | None, distinct: int) -> Weights:
    """Return the weights of the keys; a group's weight is a multiple of its number of keys."""
    if skew is None:
        return Weights((0, distinct), (distinct,))
    if distinct == 1:
        return Weights((0, 1), (1,))
    if isinstance(skew, HotKeys):
        rest = distinct - 1
        return Weights((0, 1, distinct), (skew.share_ppm * rest, _MILLION * rest))
    return _zipf(skew.exponent, distinct)


def _zipf(exponent: int, distinct: int) -> Weights:
    """Return Zipf weights: key ``i`` has ``(i + 1) ** -s``, a group that of its middle key for each key."""
    begins, sums, total, begin = [0], [], 0, 0
    while begin < distinct:
        width = 1 if begin < _EXACT else min(begin // _WIDENING, distinct - begin)
        middle = begin + (width - 1) // 2 + 1
        total += width * exp2(-exponent * log2(middle) // _THOUSAND)
        sums.append(total)
        begin += width
        begins.append(begin)
    return Weights(tuple(begins), tuple(sums))


_PER_MILLION: Final = 1_000_000


class KeySet(NamedTuple):
    """Keys ``key-0`` to ``key-(distinct - 1)``, the most frequent first, and their partitioner."""

    distinct: int
    skew: KeySkew | None = None
    """Skew; None: all keys are equally frequent."""
    own: CustomPartitioner | None = None
    """Custom partitioner; None: Kafka's hash alone."""
    hot: tuple[tuple[int, int], ...] = ()
    """(key, share in millionths) of hot keys: that share of the records not taken by the ones before."""


class KeyPool:
    """Keys of each partition while the topic has ``total`` partitions."""

    __slots__ = ("_keys", "_partitions", "_sums", "_weights")

    def __init__(self, keys: KeySet, total: int) -> None:
        self._keys = _shares(keys, total)
        whole = weights(keys.skew, keys.distinct)
        self._weights = {partition: _within(whole, share) for partition, share in self._keys.items()}
        self._partitions = tuple(self._keys)
        self._sums = tuple(accumulate(each.sums[-1] for each in self._weights.values()))

    def partition(self, draw: int) -> int:
        """Return the partition of the next record, by a uniform 64-bit random number."""
        return self._partitions[bisect_right(self._sums, draw * self._sums[-1] >> 64)]

    def counts(self, records: int, draw: Callable[[], int]) -> dict[int, int]:
        """Return the number of next records for each partition, in the order of their first ones."""
        partitions, sums = self._partitions, self._sums
        whole = sums[-1]
        found: dict[int, int] = {}
        for _record in range(records):
            partition = partitions[bisect_right(sums, draw() * whole >> 64)]
            found[partition] = found.get(partition, 0) + 1
        return found

    def key(self, partition: int, draw: int) -> int:
        """Return the key of a record in a partition, by another random number."""
        return self._keys[partition][self._weights[partition].key_for(draw)]

    def keys(self, partition: int) -> tuple[int, ...]:
        """Return all keys of a partition, the most frequent first."""
        return tuple(self._keys.get(partition, ()))


def _shares(keys: KeySet, total: int) -> dict[int, "array[int]"]:
    """Return partition → its keys, both in ascending order."""
    own, default_partition = (dict(keys.own.keys), keys.own.others) if keys.own is not None else ({}, -1)
    shares: dict[int, array[int]] = {}
    for key in range(keys.distinct):
        partition = own.get(key, default_partition)
        if partition < 0:
            partition = partition_for_key(b"key-%d" % key, total)
        share = shares.get(partition)
        if share is None:
            share = shares[partition] = array("L")
        share.append(key)
    return dict(sorted(shares.items()))


def _within(weights: Weights, share: "array[int]") -> Weights:
    """Return the weights of some keys, in ascending order: the same as among all keys."""
    begins, sums, total, begin, before = [0], [], 0, 0, 0
    for first, end, upto in zip(weights.begins, weights.begins[1:], weights.sums, strict=False):
        width = bisect_left(share, end, begin) - begin
        if width:
            begin += width
            total += (upto - before) // (end - first) * width
            begins.append(begin)
            sums.append(total)
        before = upto
    return Weights(tuple(begins), tuple(sums))


class HotKeyPool(KeyPool):
    """A pool in which hot keys have a fixed share of all records; the rest are distributed as without them."""

    __slots__ = ("_hot", "_rest_ppm")

    def __init__(self, keys: KeySet, total: int) -> None:
        super().__init__(keys, total)
        partition_of = {key: partition for partition, share in self._keys.items() for key in share}
        self._hot: list[tuple[int, int, int, int]] = []
        """(partition, key, share of what the ones before leave, share of all)."""
        left = _PER_MILLION
        for key, share_ppm in keys.hot:
            self._hot.append((partition_of[key], key, share_ppm, left * share_ppm // _PER_MILLION))
            left = left * (_PER_MILLION - share_ppm) // _PER_MILLION
        self._rest_ppm = left

    def partition(self, draw: int) -> int:
        """Return the partition of the next record, by a uniform 64-bit random number."""
        for hot_partition, _key, share_ppm, _of_all in self._hot:
            if draw * _PER_MILLION >> 64 < share_ppm:
                return hot_partition
            draw = mix64(draw)
        return super().partition(draw)

    def counts(self, records: int, draw: Callable[[], int]) -> dict[int, int]:
        """Return the number of next records for each partition, in the order of their first ones."""
        found: dict[int, int] = {}
        for _record in range(records):
            partition = self.partition(draw())
            found[partition] = found.get(partition, 0) + 1
        return found

    def key(self, partition: int, draw: int) -> int:
        """Return the key of a record in a partition, by another random number."""
        hot_keys = [(key, of_all) for hot_partition, key, _share, of_all in self._hot if hot_partition == partition]
        if not hot_keys:
            return super().key(partition, draw)
        rest = self._rest_ppm * self._weights[partition].sums[-1] // self._sums[-1]
        point = draw * (sum(of_all for _key, of_all in hot_keys) + rest) >> 64
        for key, of_all in hot_keys:
            if point < of_all:
                return key
            point -= of_all
        return super().key(partition, mix64(draw))


@lru_cache(maxsize=64)
def pool(keys: KeySet, total: int) -> KeyPool:
    """Return the pool of these keys and that many partitions, which equal producers share."""
    return HotKeyPool(keys, total) if keys.hot else KeyPool(keys, total)


# Record keys: which record a later one replaces in a compacted topic, and its partition.
#
# A producer's records have keys if its ``keys`` gives their number: ``key-0``, ``key-1`` and so on, the same for all
# producers. The key of a record follows from the producer's name, the partition and the record's number: no log stores
# it, and every replica finds the same one. Where keys determine the partition, it is one of the keys of that partition
# at the time the record was sent. Some may be more frequent than others (key skew).
#
# A manual trace names its records: ``a=1`` has key ``a``, and ``a=`` is a tombstone. A name without ``=`` is a record
# without a key.


Key = int | str
"""Key of a named record; of any other record N of its key ``key-N``."""

Placed = tuple[int, tuple[int, ...]]
"""(number of partitions, first record number in each partition from which it applies); 0 for partitions not listed."""

Hot = tuple[tuple[int, int], ...]
"""(key, share of all records in millionths) of keys that a fault has made hot."""
Heated = tuple[tuple[int, ...], Hot]
"""(first record number in each partition, hot keys from there on), as in :data:`ReplicaAssignmentTables`."""

_REMEMBERED: Final = 4_096
"""Number of batches whose keys are cached: replicas clean the same ones at about the same time."""


class ProducerKeys:
    """Keys of one producer's records; one record in ``tombstones`` deletes its key, 0: none does."""

    __slots__ = ("heated", "keys", "placed", "tombstones")

    def __init__(self, keys: KeySet, tombstones: int = 0) -> None:
        self.keys = keys
        self.tombstones = tombstones
        self.placed: tuple[Placed, ...] = ()
        """Oldest first; empty where something else than the key determines the partition."""
        self.heated: tuple[Heated, ...] = ()
        """Oldest first; empty while no key was ever made hot."""

    @property
    def hot(self) -> Hot:
        """Keys that are hot now."""
        return self.heated[-1][1] if self.heated else ()


class KeyModel(NamedTuple):
    """Keys of a producer's records in partition ``number`` of its topic."""

    seed: int
    number: int
    producer: ProducerKeys


class BatchKeys(NamedTuple):
    """Keys of a batch for compaction: each record's key, None without one, and which records are tombstones."""

    keys: Sequence[Key | None]
    deletes: frozenset[int]
    """Indexes of tombstones in the batch."""


def key_model(client: str, topic: str, number: int, of: ProducerKeys) -> KeyModel:
    """Return the keys of a producer in a partition."""
    return KeyModel(number_of(f"{client}/{topic}-{number}"), number, of)


def keys_of_numbers(model: KeyModel, sequence: int, count: int) -> BatchKeys:
    """Return the keys of ``count`` records from number ``sequence`` on."""
    of, number = model.producer, model.number
    end = sequence + count
    totals = [(_start(starts, number), total) for total, starts in of.placed]
    hots = [(_start(starts, number), hot) for starts, hot in of.heated]
    starts = [start for start, _total in totals] + [start for start, _hot in hots]
    cuts = sorted(dict.fromkeys(start for start in starts if sequence < start < end))
    parts: list[BatchKeys] = []
    for first, stop in pairwise((sequence, *cuts, end)):
        total = next((total for start, total in reversed(totals) if start <= first), 0)
        hot = next((hot for start, hot in reversed(hots) if start <= first), ())
        keys = of.keys._replace(hot=hot) if hot else of.keys
        parts.append(_drawn(model.seed, number, keys, of.tombstones, total, first, stop - first))
    return _joined(parts) if len(parts) > 1 else parts[0]


def _start(starts: tuple[int, ...], number: int) -> int:
    return starts[number] if number < len(starts) else 0


def _joined(parts: list[BatchKeys]) -> BatchKeys:
    keys: list[Key | None] = []
    deletes: list[int] = []
    for part in parts:
        deletes += [len(keys) + index for index in sorted(part.deletes)]
        keys += part.keys
    return BatchKeys(keys, frozenset(deletes))


@lru_cache(maxsize=_REMEMBERED)
def _drawn(
    seed: int, partition: int, keys: KeySet, tombstones: int, total: int, sequence: int, count: int
) -> BatchKeys:
    """Return the keys of records placed among ``total`` partitions; 0: placed by something else than their keys."""
    numbers = [mix64(seed + sequence + index) for index in range(count)]
    if total:
        placed = pool(keys, total)
        batch_keys = array("q", [placed.key(partition, number) for number in numbers])
    else:
        batch_keys = array("q", [rank(keys.skew, keys.distinct, number) for number in numbers])
    if not tombstones:
        return BatchKeys(batch_keys, frozenset())
    deletes = [index for index, number in enumerate(numbers) if not mix64(number) * tombstones >> 64]
    return BatchKeys(batch_keys, frozenset(deletes))


def named_keys(names: tuple[str, ...]) -> BatchKeys:
    """Return the keys of a manual trace's named records."""
    parts = [name.partition("=") for name in names]
    deletes = [index for index, (_key, sign, value) in enumerate(parts) if sign and not value]
    return BatchKeys([key if sign else None for key, sign, _value in parts], frozenset(deletes))


def keys_of(models: dict[str, KeyModel], batch: Batch) -> BatchKeys:
    """Return the keys of a batch's records."""
    if batch.name:
        return named_keys(batch.name)
    model = models.get(batch.client)
    if model is None:
        return BatchKeys([None] * batch.records, frozenset())
    return keys_of_numbers(model, batch.sequence, batch.records)


def lacks_key(models: dict[str, KeyModel], client: str, names: tuple[str, ...]) -> bool:
    """Whether any record of a batch to be written has no key."""
    return None in named_keys(names).keys if names else client not in models
