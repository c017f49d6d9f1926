"""Record keys: which record a later one replaces in a compacted topic.

A producer's records have keys if its ``keys`` says how many. The key of a record is drawn once and for all from the
producer's name, the partition and the record's number: no log stores it, and every replica finds the same one. Some
keys may come more often than others (:mod:`cluster_model.log.skew`). Each partition has keys of its own, as with
Kafka's default partitioner, which sends a key always to the same partition.

A hand-stepped trace names its records: ``a=1`` has key ``a``, and ``a=`` is a tombstone. A name without ``=`` is a
record without a key.
"""

from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from cluster_model.load_spec import KeySkew
from cluster_model.log.lineage import Batch
from cluster_model.log.mixing import mixed, number_of
from cluster_model.log.skew import rank

Key = int | str
"""Of a named record, its key; of any other a number that no two producers of a partition share."""

_REMEMBERED: Final = 4_096
"""Batches whose drawn keys are kept: replicas clean the same ones at about the same time."""


class KeyModel(NamedTuple):
    """The keys of one producer's records in one partition: ``distinct`` numbers from ``first`` on.

    One record in ``tombstones`` deletes its key; 0: none does. Without ``skew`` all keys are alike often.
    """

    seed: int
    first: int
    distinct: int
    tombstones: int
    skew: KeySkew | None = None


class BatchKeys(NamedTuple):
    """What compaction looks at: the key of each record of a batch, None for one without, and which delete theirs."""

    keys: Sequence[Key | None]
    deletes: frozenset[int]
    """Places in the batch."""


def key_model(
    client: str, partition: str, first: int, distinct: int, tombstones: int, skew: KeySkew | None = None
) -> KeyModel:
    """Keys of a producer in a partition."""
    return KeyModel(number_of(f"{client}/{partition}"), first, distinct, tombstones, skew)


@lru_cache(maxsize=_REMEMBERED)
def drawn(model: KeyModel, sequence: int, count: int) -> BatchKeys:
    """The keys of ``count`` records from number ``sequence`` on."""
    numbers = [mixed(model.seed + sequence + index) for index in range(count)]
    keys = array("q", [model.first + rank(model.skew, model.distinct, number) for number in numbers])
    if not model.tombstones:
        return BatchKeys(keys, frozenset())
    deletes = [index for index, number in enumerate(numbers) if not mixed(number) * model.tombstones >> 64]
    return BatchKeys(keys, frozenset(deletes))


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
