"""Record keys: which record a later one replaces in a compacted topic, and which partition it goes to.

A producer's records have keys if its ``keys`` says how many: ``key-0``, ``key-1`` and so on, for all producers alike.
The key of a record is drawn once and for all from the producer's name, the partition and the record's number: no log
stores it, and every replica finds the same one. Where keys decide on the partition (:mod:`cluster_model.log.record_keys`),
it is one of those that went there when the record was placed. Some may come more often than others
(:mod:`cluster_model.log.skew`).

A hand-stepped trace names its records: ``a=1`` has key ``a``, and ``a=`` is a tombstone. A name without ``=`` is a
record without a key.
"""

from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from cluster_model.log.record_keys import KeySet, pool
from cluster_model.log.skew import rank
from cluster_model.protocol.batch import Batch
from cluster_model.util.mixing import mixed, number_of

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
