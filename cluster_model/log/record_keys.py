"""The keys of records: key pools by partition, skew, and which record a later one replaces.

Kafka places a record by its key. Here it is the other way round, which comes to the same odds: the partition is drawn
first, by how often its keys come, and then one of its keys, so that the key is a function of the record's place.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from cluster_model.protocol.records import Batch
from cluster_model.spec.cluster_spec import HotKeys, KeySkew, OwnPartitioner
from cluster_model.util.deterministic_math import exp2, log2, mixed, number_of, partition_for_key

# Key skew: the key that a draw stands for, where some keys come more often than others.
#
# One draw of 64 bits decides, by whole numbers alone, so that every replica finds the same key.


_MILLION: Final = 1_000_000
_THOUSAND: Final = 1_000
_EXACT: Final = 256
"""Keys with a weight of their own; the rarer ones share it with neighbours."""
_WIDENING: Final = 16
"""A group of rare keys has one in so many of the keys before it."""


class Weights(NamedTuple):
    """Groups of neighbours that are alike often: where each begins, and all weight up to and including it."""

    begins: tuple[int, ...]
    """And behind the last one."""
    sums: tuple[int, ...]

    def drawn(self, draw: int) -> int:
        """Which one a draw stands for that is uniform over 64 bits."""
        begins, sums = self
        point = draw * sums[-1] >> 64
        group = bisect_right(sums, point)
        before = sums[group - 1] if group else 0
        width = begins[group + 1] - begins[group]
        return begins[group] + (point - before) * width // (sums[group] - before)


def rank(skew: KeySkew | None, distinct: int, draw: int) -> int:
    """The key, from 0 for the most frequent to ``distinct`` - 1, of a draw that is uniform over 64 bits."""
    if skew is None:
        return draw * distinct >> 64
    return weights(skew, distinct).drawn(draw)


@lru_cache(maxsize=64)
def weights(skew: KeySkew | None, distinct: int) -> Weights:
    """How often each of the keys is drawn; a group's weight is a multiple of its number of keys."""
    if skew is None:
        return Weights((0, distinct), (distinct,))
    if distinct == 1:
        return Weights((0, 1), (1,))
    if isinstance(skew, HotKeys):
        rest = distinct - 1
        return Weights((0, 1, distinct), (skew.share_ppm * rest, _MILLION * rest))
    return _zipf(skew.exponent, distinct)


def _zipf(exponent: int, distinct: int) -> Weights:
    """The weight of key ``i`` is ``(i + 1) ** -s``; a group's is that of its middle key, for each of its keys."""
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
        left = _PER_MILLION
        for key, share_ppm in keys.hot:
            self._hot.append((homes[key], key, share_ppm, left * share_ppm // _PER_MILLION))
            left = left * (_PER_MILLION - share_ppm) // _PER_MILLION
        self._rest_ppm = left

    def partition(self, draw: int) -> int:
        """Where the next record goes, by a draw that is uniform over 64 bits."""
        for home, _key, share_ppm, _of_all in self._hot:
            if draw * _PER_MILLION >> 64 < share_ppm:
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


# Record keys: which record a later one replaces in a compacted topic, and which partition it goes to.
#
# A producer's records have keys if its ``keys`` says how many: ``key-0``, ``key-1`` and so on, for all producers
# alike. The key of a record is drawn once and for all from the producer's name, the partition and the record's
# number: no log stores it, and every replica finds the same one. Where keys decide on the partition, it is one of those
# that went there when the record was placed. Some may come more often than others (key skew).
#
# A hand-stepped trace names its records: ``a=1`` has key ``a``, and ``a=`` is a tombstone. A name without ``=`` is a
# record without a key.


Key = int | str
"""Of a named record, its key; of any other N of its key ``key-N``."""

Placed = tuple[int, tuple[int, ...]]
"""How many partitions there were when keys were told apart among them, and from which number on in each partition; from
0 on in those that are not in it."""

Hot = tuple[tuple[int, int], ...]
"""(key, share of all records in millionths) of keys that a fault has made hot."""
Heated = tuple[tuple[int, ...], Hot]
"""From which number on in each partition some keys are hot, as in :data:`Placed`."""

_REMEMBERED: Final = 4_096
"""Batches whose drawn keys are kept: replicas clean the same ones at about the same time."""


class ProducerKeys:
    """The keys of one producer's records. One in ``tombstones`` deletes its key; 0: none does."""

    __slots__ = ("heated", "keys", "placed", "tombstones")

    def __init__(self, keys: KeySet, tombstones: int = 0) -> None:
        self.keys = keys
        self.tombstones = tombstones
        self.placed: tuple[Placed, ...] = ()
        """Oldest first; empty where something else than its key decides where a record goes."""
        self.heated: tuple[Heated, ...] = ()
        """Oldest first; empty while no key was ever made hot."""

    @property
    def hot(self) -> Hot:
        """The keys that are hot now."""
        return self.heated[-1][1] if self.heated else ()


class KeyModel(NamedTuple):
    """The keys of a producer's records in partition ``number`` of its topic."""

    seed: int
    number: int
    of: ProducerKeys


class BatchKeys(NamedTuple):
    """What compaction looks at: the key of each record of a batch, None for one without, and which delete theirs."""

    keys: Sequence[Key | None]
    deletes: frozenset[int]
    """Places in the batch."""


def key_model(client: str, topic: str, number: int, of: ProducerKeys) -> KeyModel:
    """Keys of a producer in a partition."""
    return KeyModel(number_of(f"{client}/{topic}-{number}"), number, of)


def drawn(model: KeyModel, sequence: int, count: int) -> BatchKeys:
    """The keys of ``count`` records from number ``sequence`` on."""
    of, number = model.of, model.number
    end = sequence + count
    totals = [(_start(starts, number), total) for total, starts in of.placed]
    hots = [(_start(starts, number), hot) for starts, hot in of.heated]
    starts = [start for start, _total in totals] + [start for start, _hot in hots]
    cuts = sorted(dict.fromkeys(start for start in starts if sequence < start < end))
    parts: list[BatchKeys] = []
    for first, behind in pairwise((sequence, *cuts, end)):
        total = next((total for start, total in reversed(totals) if start <= first), 0)
        hot = next((hot for start, hot in reversed(hots) if start <= first), ())
        keys = of.keys._replace(hot=hot) if hot else of.keys
        parts.append(_drawn(model.seed, number, keys, of.tombstones, total, first, behind - first))
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
    """Keys of records that were all placed among ``total`` partitions; 0: by something else than their keys."""
    numbers = [mixed(seed + sequence + index) for index in range(count)]
    if total:
        placed = pool(keys, total)
        found = array("q", [placed.key(partition, number) for number in numbers])
    else:
        found = array("q", [rank(keys.skew, keys.distinct, number) for number in numbers])
    if not tombstones:
        return BatchKeys(found, frozenset())
    deletes = [index for index, number in enumerate(numbers) if not mixed(number) * tombstones >> 64]
    return BatchKeys(found, frozenset(deletes))


def named(names: tuple[str, ...]) -> BatchKeys:
    """The keys of the records that a hand-stepped trace calls so."""
    parts = [name.partition("=") for name in names]
    deletes = [index for index, (_key, sign, value) in enumerate(parts) if sign and not value]
    return BatchKeys([key if sign else None for key, sign, _value in parts], frozenset(deletes))


def keys_of(models: dict[str, KeyModel], batch: Batch) -> BatchKeys:
    """The keys of a batch's records."""
    if batch.name:
        return named(batch.name)
    model = models.get(batch.client)
    if model is None:
        return BatchKeys([None] * batch.records, frozenset())
    return drawn(model, batch.sequence, batch.records)


def lacks_key(models: dict[str, KeyModel], client: str, names: tuple[str, ...]) -> bool:
    """Whether any record of a batch about to be written has no key."""
    return None in named(names).keys if names else client not in models
